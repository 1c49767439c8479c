"""The pages around the lessons: questions and notation."""

import functools
import math
import re

import pytest
from run_pages import CELL, ROOT, run

DOCS = ROOT / "docs"
CLAIM = re.compile(r"^torch\.allclose\(", re.MULTILINE)
QUESTIONS = (DOCS / "questions.md").read_text("utf-8")
# What torch says of two answers, which say it, too.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
]


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """Run the cells of a page as one script, with its shape comments checked.

    A cell may end with a claim, which the notebook shows without print; here it is asserted.
    """

    @functools.cache
    def run_page(name):
        source = "\n".join(CELL.findall((DOCS / f"{name}.md").read_text("utf-8")))
        script = tmp_path_factory.mktemp("pages") / f"{name}.py"
        script.write_text(CLAIM.sub(r"assert \g<0>", source), "utf-8")
        return run(script)

    return run_page


@pytest.fixture(scope="module")
def questions(executed):
    return executed("questions")


@pytest.mark.parametrize("name", ["questions", "notation", "sheet"])
def test_every_shape_comment_of_a_page_is_true(name, executed):
    page = executed(name)
    assert page.problems == []
    assert len(page.checked) >= 3
    # What a cell ends with is asserted.
    assert len(CLAIM.findall("\n".join(CELL.findall(QUESTIONS)))) >= 3


@pytest.mark.parametrize(
    "line",
    [
        "one layer, the last word is the same:  True",
        "two layers, the last word is the same: False",
        "halves, columns reordered: True",
        "halves, the same columns:  False",
        "keys that the last token reaches in 1 and 2 layers: 3 5",
        "norm_first: torch False · here True",
        "module, need_weights=True: tensor([nan, nan, nan, nan])",
        "module, need_weights=False: tensor([0., 0., 0., 0.])",
        "layers: 1, the last token is the same: True",
        "layers: 2, the last token is the same: False",
        "batch_first=False: weights (5, 2, 2)",
        "batch_first=True: weights (2, 5, 5)",
        "RuntimeError: Need attn_mask if specifying the is_causal hint",
        "need_weights=True: the mask counts: True",
        "need_weights=False: the mask counts: False",
        "sums to the logits: True",
        "other tokens change it: False",
        "imshow: an image is embedded: True",
        "pcolormesh: an image is embedded: False",
        "[True, True, True]",
    ],
)
def test_the_answers_say_what_their_cells_print(questions, line):
    """Torch may change what it does with a mask or a hint; then the page has to change, too."""
    assert f"\n{line}\n" in f"\n{questions.printed}"


def test_without_the_shift_a_decoder_repeats_a_token_and_without_the_mask_it_cheats(questions):
    found = re.findall(r"^(.+?) +loss ([\d.]+), writes (\[.*\])$", questions.printed, re.MULTILINE)
    loss = {name: float(number) for name, number, _ in found}
    written = {name: text for name, _, text in found}
    floor = math.log(3) / 8
    assert floor < loss["right"] < 1.5 * floor
    assert max(loss["no shift"], loss["no mask"]) < floor / 5
    assert written["right"] == "[1, 3, 5, 7, 9, 1, 3, 5]"
    assert written["no shift"] == "[1, 3, 5, 5, 5, 5, 5, 5]"


def test_the_first_token_gets_more_than_its_share_and_not_always_half(questions):
    short, longer = questions.names["on_first"]
    assert (short[1:] > 0.5).all()
    assert short[0] < 0.5
    assert longer[1:].min() > 10 / 64
    assert longer.max() < 0.4
    assert questions.names["with_sink"].softmax(-1)[0] > 0.85
    assert questions.names["no_match"].softmax(-1).unique().numel() == 1
    # Heads that share a key differ, and rollout names what is never read.
    (difference,) = re.findall(r"weights of two heads differ by up to ([\d.]+)", questions.printed)
    assert float(difference) > 0.005
    assert questions.names["from_others"] > 0.5


def test_a_thread_is_named_by_the_number_that_it_has():
    threads = re.findall(r"\[([^\]]*?#(\d+))\]\(https://github\.com/([^)]+)\)", QUESTIONS)
    assert len(threads) >= 20
    for text, number, address in threads:
        owner, repository, kind, linked = address.split("/")
        assert owner
        assert kind in ("issues", "pull")
        assert linked == number
        name = text.rpartition("#")[0].split()
        assert not name or name == [repository], text


def test_a_letter_has_one_meaning_in_the_tables_of_notation():
    tables = (DOCS / "notation.md").read_text("utf-8").split("## Where a letter means")[0]
    letters = []
    for row in re.findall(r"^\| (\$.*?) \|", tables, re.MULTILINE):
        # "$Q = X W$" defines Q; a row of a formula defines no letter.
        names = re.findall(r"\$(\\?[A-Za-z]+)(?:_\w|\^2)?(?: =[^$]*|_\{[^$]*)?\$", row)
        letters += sorted(set(names))
    assert {"n", "k", "M", "\\omega"} <= set(letters)
    assert len(letters) > 30
    assert sorted(letters) == sorted(set(letters))


def pairs(page, pattern):
    """Find a name and a number on each line that looks so, as a dictionary."""
    return {
        name.strip(): float(number)
        for name, number in re.findall(pattern, page.printed, re.MULTILINE)
    }


def test_the_order_of_norm_and_rotation_matters_where_the_answer_says_so(questions):
    found = pairs(questions, r"^(.+?) the two orders differ by up to (\S+)$")
    same, other = ("RMS norm without gain", "with a gain per pair"), ("layer norm",)
    assert max(found[name] for name in same) < 1e-5
    assert min(found[name] for name in (*other, "with a gain per channel")) > 0.1


def test_what_leaks_and_what_shifts_is_told_from_rounding(questions):
    leaks = pairs(questions, r"^(.+?) +the second document changes by (\S+)$")
    assert min(leaks["causal mask alone"], leaks["positions counted anew"]) > 0.1
    shifts = pairs(questions, r"^(.+?) +differs from the text alone by (\S+)$")
    assert shifts["added, counted from the padding"] > 0.1
    assert max(shifts["rotary"], shifts["added, with position ids"]) < 1e-5


def test_the_numbers_of_the_answers_are_as_large_as_they_say(questions):
    gradients = pairs(questions, r"^(\w+) +gradient of the first word / .*: (\S+)$")
    assert gradients["LSTM"] < 1e-9 < 0.1 < gradients["attention"]
    saved = pairs(questions, r"^ *([\d,]+) tokens: attention is .* alternating saves (\d+)%$")
    assert saved == {"512": 6, "8,192": 45}
    read = pairs(questions, r"^(input|last block) +(\d+)% of the positions")
    assert read["last block"] > 0.8 * read["input"] > 3 * 100 / 16 * 0.8
    loss = pairs(questions, r"^(as it .*|learning .*|sees .*?) +([\d.]+)$")
    assert loss["as it should be"] < 0.1
    ln_2 = pytest.approx(math.log(2), abs=0.03)
    assert loss["learning rate 1e-5"] == ln_2 == loss["sees only padding"]
    fused = pairs(questions, r"^torch\.(\w+): fused off by up to (\S+),")
    formula = pairs(questions, r"^torch\.(\w+): .*formula by (\S+)$")
    assert fused["float16"] < formula["float16"] < 1 / 500
    assert max(fused["bfloat16"], formula["bfloat16"]) < 1 / 64
    (wrong,) = re.findall(r"^scale=1 .*by up to (\d+)$", questions.printed, re.MULTILINE)
    assert int(wrong) >= 2


def test_torch_says_which_kernel_ran_and_when_it_warns(questions):
    lines = questions.printed.splitlines()
    assert "all → aten::_scaled_dot_product_flash_attention_for_cpu" in lines
    assert "MATH → aten::_scaled_dot_product_attention_math" in lines
    assert any(line.startswith("EFFICIENT_ATTENTION → RuntimeError") for line in lines)
    assert {"{} warnings: 1", "{'enable_nested_tensor': False} warnings: 0"} <= set(lines)

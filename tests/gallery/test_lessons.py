"""Every lesson runs, its shape comments are true, and its figures have alternative texts."""

import math
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from run_pages import GALLERY, check_lesson, run
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from torch.testing import assert_close

from attention.analysis import rank_correlation
from attention.sentiment.tokenizer import UNK_ID

LESSONS = {
    path.relative_to(GALLERY).with_suffix("").as_posix() for path in GALLERY.rglob("plot_*.py")
}
# A lesson with tests in another file is checked there, so that it is executed once.
ELSEWHERE = {
    name
    for path in Path(__file__).parent.glob("test_*.py")
    for name in re.findall(r'(?:check_lesson\(|LESSON = )"([\w/]+)"', path.read_text("utf-8"))
}


def test_each_lesson_is_checked():
    assert ELSEWHERE < LESSONS


@pytest.mark.parametrize("name", sorted(LESSONS - ELSEWHERE))
def test_a_lesson_runs_and_its_shapes_and_figures_are_described(name):
    check_lesson(name)


def lesson(name):
    return run(GALLERY / name).names


def test_the_pitfalls_do_what_their_page_says():
    page = lesson("cases/plot_1_ten_pitfalls.py")
    negative, positive = (
        [mark for mark in page["possible"] if page["marks"][mark, label]] for label in (0, 1)
    )
    assert len(set(negative) | set(positive)) > 2  # more than the two ends
    assert page["sizes"]["as in Lab 13"] > page["sizes"]["cleaned first"]
    assert page["ids"].flat.min() > UNK_ID  # each review counted twice: nothing is unknown
    assert page["with_holes"] == {"a": 2, "soup": 4}
    assert len(page["both"]) == 2 * len(page["alone"])
    assert page["tokens"][1] / page["tokens"][0] == pytest.approx(3, abs=0.5)
    assert page["agree"] == pytest.approx(0.5, abs=0.2)
    lost = [
        max(256 - len(page["words"][d]), 0) < len(page["words"][i])
        for i, d in enumerate(page["distractor"].tolist())
    ]
    assert sum(lost) == (page["review"] > page["room"].clamp(min=0)).sum()
    # Untrained models give the padding about its share of the positions.
    for kind in ("energy", "qkv"):
        padding = 1 - page["batches"]["alone"].lengths / 256
        assert (page["shares"][kind, "alone"].mean(dim=0) - padding).abs().mean() < 0.1
        assert (
            page["shares"][kind, "alone"].mean()
            > page["shares"][kind, "behind a distractor"].mean()
        )
    assert page["starts"][0] != page["starts"][1]


def test_without_a_mask_a_model_copies_the_answer_and_with_one_it_stays_at_chance():
    page = check_lesson("core/plot_4_masks").names
    accuracy, ids = page["accuracy"], page["vectors"](page["ids"])
    assert accuracy(page["sees_all"](ids)[:, :-1]) > 0.99
    chance = [
        accuracy(page["predict_as_generator"](page[layer])) for layer in ("sees_all", "honest")
    ]
    chance.append(accuracy(page["honest"](ids)[:, :-1]))
    assert chance == pytest.approx([1 / 6] * 3, abs=0.03)
    assert page["next_word_loss"](page["honest"]).item() == pytest.approx(math.log(6), abs=0.05)


def test_rows_that_were_generated_with_a_cache_are_those_of_one_pass():
    page = check_lesson("core/plot_4_masks").names
    assert_close(torch.cat(page["rows"]), page["layer"](page["x"]).detach())
    assert (page["moved"] > 0).tolist() == [False, False, False, True, True, True]


def test_two_heads_meet_two_targets_and_one_does_not():
    page = check_lesson("core/plot_5_multi_head").names
    assert page["missed"][1] > 0.3
    assert page["missed"][2] < 0.005
    first, previous = page["weights"][0]
    assert first[1:, 0].min() > 0.9
    assert previous[range(1, 6), range(5)].min() > 0.8


def test_cross_attention_finds_the_translation_or_everything_but_it():
    page = check_lesson("core/plot_5_multi_head").names
    assert_close(page["cross_weights"], page["translation"], atol=0.02, rtol=0)
    missed, weight = torch.tensor(page["found"]).T
    assert missed.max() < 0.01
    found, avoided = weight > 0.9, weight < 0.1
    assert (found | avoided).all()
    assert found.any()
    assert avoided.sum() > 2


READING = "core/plot_9_reading_attention.py"


def test_other_weights_give_the_same_answer():
    page = lesson(READING)
    other = page["other"]
    _, a, s = page["read"](page["models"]["energy", 1], page["ids_of_ours"])
    assert (other >= 0).all()
    assert other.sum().item() == pytest.approx(1, abs=1e-5)
    assert (other @ s).item() == pytest.approx((a @ s).item(), abs=1e-4)


def test_every_correlation_is_printed_with_its_null():
    page = run(GALLERY / READING)
    assert len(page.names["sizes"]) == 10
    for (kind, label), numbers in page.names["sizes"].items():
        row = rf"^{kind} +{re.escape(label)} +(-?\d\.\d+) +(-?\d\.\d+) +([-+]\d\.\d+) "
        printed = map(float, re.search(row, page.printed, re.MULTILINE).groups())
        rho, _, null, _ = torch.tensor(numbers).mean(dim=0).tolist()
        assert [*printed] == pytest.approx([rho, null, rho - null], abs=1e-3)
    for line in page.printed.splitlines():
        assert "ρ" not in line or "null" in line


def uneven(n, spread):
    """Draw weights whose logarithms spread so far, and evidence independent of them."""
    scores, evidence = torch.randn(2, n, dtype=torch.float64)
    return (spread * scores).softmax(dim=-1), evidence


def test_weights_at_random_agree_with_deletion_as_they_become_uneven():
    """The old claim took such an agreement for a finding."""
    torch.manual_seed(5)
    means = []
    for spread in (0.05, 0.5, 1.3):
        pairs = []
        for _ in range(60):
            weights, evidence = uneven(101, spread)
            effects = lesson(READING)["deletion_from_weights"](weights, evidence)
            shuffled = lesson(READING)["shuffled_effects"](weights, evidence)
            pairs.append([rank_correlation(weights, each.abs()) for each in (effects, shuffled)])
        means.append(torch.tensor(pairs).mean(dim=0).tolist())
        assert means[-1][0] == pytest.approx(means[-1][1], abs=0.04)
    assert means[0][0] < 0.15 < 0.3 < means[1][0] < 0.5 < 0.7 < means[2][0]
    # Where weights follow the evidence, the null is left behind.
    torch.manual_seed(0)
    _, evidence = uneven(101, 1)
    weights = (0.5 * evidence.abs()).softmax(dim=-1)
    shuffled = lesson(READING)["shuffled_effects"](weights, evidence)
    exact = lesson(READING)["deletion_from_weights"](weights, evidence)
    assert rank_correlation(weights, exact.abs()) > 0.9
    assert rank_correlation(weights, shuffled.abs()) < 0.6


@pytest.mark.parametrize("shape", [(7,), (7, 7)])
def test_shuffled_effects_are_those_of_other_pairs(shape):
    page = lesson(READING)
    weights = torch.randn(shape, dtype=torch.float64).softmax(dim=-1)
    evidence = torch.randn(7, dtype=torch.float64)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(3))
    back = order.argsort()
    moved = weights[back] if weights.dim() == 1 else weights[back][:, back]
    for shuffle, pair in (("evidence", (weights, evidence[order])), ("weights", (moved, evidence))):
        page["generator"].manual_seed(3)
        effects = page["shuffled_effects"](weights, evidence, shuffle=shuffle)
        assert_close(effects, page["deletion_from_weights"](*pair))


def test_what_is_free_depends_on_what_comes_before_the_dot_product():
    page = lesson("deeper/plot_2_gauge_and_biases.py")
    free = {key for key, change in page["changed"].items() if change < 1e-12}
    assert all(change > 0.05 for key, change in page["changed"].items() if key not in free)
    by_kind = {name: {gauge for gauge, of in free if of == name} for name in page["between"]}
    assert by_kind == {
        "plain": set(page["gauges"]),
        "RoPE": {"a rotation and a scale per pair"},
        "QK-norm": {"a rotation of all coordinates", "signs"},
        "with gains": {"signs"},
    }


def test_heads_are_worth_what_the_page_on_their_bottleneck_says():
    page = lesson("deeper/plot_8_multi_head_bottleneck.py")
    error, sizes, d = page["error"], page["sizes"], page["d"]
    linear = 1 - page["HARMONICS"][0][1]
    for (comparisons, h, k), measured in error.items():
        if k >= page["r"]:
            assert (measured < 0.05) is (h >= comparisons)
        elif comparisons == 1 and k in sizes and h * k < d:
            assert measured > linear + 0.2
        elif comparisons == 1 and k in sizes:
            assert 0.2 < measured < linear + 0.02
    same = {h: error[2, h, 32 // h] for h in sizes}
    assert min(same, key=same.get) == 2
    assert same[1] > 0.5
    for h, k in page["live"]:  # narrow heads end a little above their bound, after more steps
        assert 0 <= error[1, h, k] - page["bound"](h, k) < 0.05
    exact = page["x"] @ page["X_plus"] @ page["log_weights"](page["P"])
    assert_close(exact.softmax(-1), page["P"])


def test_a_false_comment_is_found(tmp_path):
    cases = [
        ("y = x.T  # (2, 3)", "says (2, 3), is [(3, 2)]"),
        ("y = x.T  # (k, 2)", "name 'k' is not defined"),
        ("y = x.T", "y has a new shape (3, 2) and no comment"),
        ("x = x.T", "x has a new shape (3, 2) and no comment"),
        ("a, b = x  # (3,), (2,)", "says (3,), (2,), is [(3,), (3,)]"),
        ("def f(t):\n    return t.T  # (2, 3)\nf(x)", "says (2, 3), is [(3, 2)]"),
        ("d = {}\nd[0] = x.T  # (2, 3)", "says (2, 3), is [(3, 2)]"),
        ("a, b = (t for t in x)", "b has a new shape (3,) and no comment"),
        ("if n > 5:\n    y = x + 1  # (2, 3)", "(2, 3) was never reached"),
    ]
    missed = []
    for i, (line, problem) in enumerate(cases):
        path = tmp_path / f"plot_false_{i}.py"
        path.write_text(f"import torch\nn = 3\nx = torch.rand(2, n)  # (2, n)\n{line}\n")
        problems = run(path).problems
        if not any(problem in reported for reported in problems):
            missed.append((line, problem, problems))
    assert missed == []


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("QUICK = False\nn = 3\n", "never read"),
        ("QUICK = True\nn = 1 if QUICK else 3\n", "not False for the reader"),
        ("QUICK = False\nQUICK = False\nn = 1 if QUICK else 3\n", "set 2 times"),
    ],
)
def test_a_constant_without_effect_is_found(tmp_path, source, problem):
    path = tmp_path / "plot_slow.py"
    path.write_text("QUICK = False\nn = 1 if QUICK else 3\n")
    assert run(path).names["n"] == 1
    wrong = tmp_path / "plot_wrong.py"
    wrong.write_text(source)
    with pytest.raises(AssertionError, match=problem):
        run(wrong)


def test_a_page_that_fails_leaves_no_figure_to_the_next(tmp_path):
    path = tmp_path / "plot_fails.py"
    path.write_text("import matplotlib.pyplot as plt\nplt.figure()\nassert False\n")
    with pytest.raises(AssertionError):
        run(path)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", sorted(path.name for path in GALLERY.rglob("plot_*.py")))
def test_a_lesson_that_measures_time_is_run_alone(name):
    (path,) = GALLERY.rglob(name)
    settings, _ = split_code_and_text_blocks(path)
    measures = "perf_counter" in path.read_text(encoding="utf-8")
    assert settings.get("parallel", True) is not measures

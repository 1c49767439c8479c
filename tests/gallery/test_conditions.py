"""What the lessons claim under a condition: true where it holds, and not where it does not."""

import re
from pathlib import Path

import pytest
import torch
from run_pages import GALLERY, PACKAGE, ROOT, check_lesson

from attention.sentiment.batches import distractor_indices
from attention.sentiment.evaluation import wilson_interval

LESSONS = sorted(path for part in ("core", "cases") for path in (GALLERY / part).glob("plot_*.py"))


def test_one_causal_layer_gives_the_last_word_a_bag_and_two_do_not():
    page = check_lesson("core/plot_6_positions").names
    moved = page["last_moved"]
    for seen_as_a_bag in (("SelfAttention", 1), ("SelfAttention", 2), ("CausalSelfAttention", 1)):
        assert moved[seen_as_a_bag] < 1e-12
    assert moved["CausalSelfAttention", 2] > 0.01
    # The slowest hand is faster than 1 / base.
    assert page["speed"][-1].item() == pytest.approx(1000 ** (-14 / 16))
    assert page["speed"][-1] > 2 / page["base"]


@pytest.mark.parametrize("name", ["core/plot_8_sentiment_training", "cases/plot_1_ten_pitfalls"])
def test_a_lesson_leaves_the_test_reviews_alone(name):
    assert not re.search(r"""\[["']test["']\]""", (GALLERY / f"{name}.py").read_text())


def test_attention_is_compared_with_the_mean_on_the_same_validation_reviews(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the page saves its models
    page = check_lesson("core/plot_8_sentiment_training")
    assert len(page.figures) == 10
    names, (clean, distractor) = page.names, page.names["prepared"].validation.values()
    assert len(clean) == len(names["reviews"]["validation"])
    for kind, model in names["models"].items():
        for examples, title in ((clean, "clean"), (distractor, "distractor")):
            right = names["is_right"](model, examples).mean().item()
            assert right == pytest.approx(names["history"][kind][-1][title]["accuracy"])
    for name, model in names["own_models"].items():
        right = names["is_right"](model, names["examples"]["validation"]).mean().item()
        assert right == pytest.approx(names["curves"][name][-1][-1])
    # One draw for all epochs, from all reviews: what the page says of its distractors.
    again = names["prepare"](names["config"], names["reviews"]).examples.distractor
    assert torch.equal(again, names["prepared"].examples.distractor)
    own = sum(
        (distractor_indices(100, seed) == torch.arange(100)).sum().item() for seed in range(200)
    )
    assert own / 200 == pytest.approx(1, abs=0.3)


def equations_of(text):
    maths = re.findall(r":math:`([^`]*)`|(?<!\\)\$([^$`]+)\$", text)
    maths += re.findall(r"\.\. math::(.*?)\n#?\s*\n", text, re.S)
    return " ".join("".join(part) for part in maths)


def symbols(text):
    """List the single letters, Latin and Greek, of all equations of a page."""
    equations = re.sub(r"\\(mathrm|text|begin|end)\{[^}]*\}", " ", equations_of(text))
    greek = r"\\(?:delta|Delta|omega|sigma|rho|Phi)\b"
    return set(re.findall(rf"{greek}|(?<![\\A-Za-z])[A-Za-z](?![A-Za-z])", equations))


def test_every_letter_of_the_equations_is_on_the_page_of_notation():
    known = symbols((ROOT / "docs/notation.md").read_text("utf-8"))
    pages = [*LESSONS, *(ROOT / "docs" / name for name in ("glossary.md", "questions.md"))]
    pages += [PACKAGE / "functional.py", *(PACKAGE / "layers").glob("*.py")]
    missing = {
        Path(page).name: sorted(unknown)
        for page in pages
        if (unknown := symbols(page.read_text("utf-8")) - known)
    }
    assert missing == {}


def test_an_interval_covers_the_truth_more_often_than_it_holds_new_draws():
    # What the glossary says of a 95 % interval, for an accuracy of 80 % on 2,000 reviews.
    generator = torch.Generator().manual_seed(0)
    first, second = torch.binomial(
        torch.full((2, 4_000), 2_000.0), torch.tensor(0.8), generator=generator
    ).tolist()
    intervals = [wilson_interval(correct, 2_000) for correct in first]
    covering = sum(low <= 0.8 <= high for low, high in intervals) / 4_000
    holding = sum(
        low <= correct / 2_000 <= high
        for (low, high), correct in zip(intervals, second, strict=True)
    )
    assert covering == pytest.approx(0.95, abs=0.015)
    assert holding / 4_000 == pytest.approx(0.834, abs=0.025)


def test_a_letter_that_belongs_to_one_page_alone_is_on_no_other():
    notation = (ROOT / "docs/notation.md").read_text("utf-8")
    alone = re.search(r"belong to one page alone(.*?)and others", notation, re.S)[1]
    stated = re.findall(r"(\$[^[]*)\[[^]]*\]\(([^)]*)\.rst\)", alone)
    assert len(stated) == 2
    for letters, page in stated:
        for letter in re.findall(r"\$([^$]+)\$", letters):
            used = re.compile(rf"(?<![\\\w]){re.escape(letter)}(?!\w)")
            pages = {
                path.stem
                for path in GALLERY.rglob("plot_*.py")
                if used.search(equations_of(path.read_text("utf-8")))
            }
            assert pages == {Path(page).name}, letter

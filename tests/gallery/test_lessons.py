"""Every lesson runs, its shape comments are true, and its figures have alternative texts."""

import re
import textwrap

import pytest
import torch
from run_pages import GALLERY, run

from attention.sentiment.tokenizer import UNK_ID

# Pages that train or measure for seconds or more. Here they read few reviews and take few steps.
SMALLER = {
    "deeper/plot_1_low_rank_qk.py": (
        (r"(?<=\nSTEPS, RATE, SEEDS = )300", "30"),
        (r"(?<=steps=)1000", "100"),
    ),
    "deeper/plot_2_gauge_and_biases.py": (
        (r"(?<=\nSTEPS = )1000", "100"),
        (r"(?<=in range\()1000", "10"),
    ),
    "deeper/plot_5_cost_of_the_product.py": ((r"(?<=seconds=)0\.5", "0.01"),),
    "deeper/plot_8_multi_head_bottleneck.py": ((r"(?<=steps=)300", "3"),),
    "deeper/plot_6_real_model.py": ((r"(?<=\.texts\[:)300", "60"),),
    "cases/plot_1_ten_pitfalls.py": (
        (r"limit=[\d_]+, epochs=\d+", "limit=40, epochs=1"),
        (r'(?<=\nreviews = )load_reviews\("imdb"\)', 'load_reviews("imdb", limit=100)'),
        (r"(?<=\nNETS, TEXTS, known = )\d+, \d+", "2, 7"),
    ),
    "core/plot_7_transformer_block.py": (
        (r"(?<=\nROOMS, SEEDS, STEPS = )8, 5, 120", "8, 2, 3"),
        (r"(?<=steps=)500", "3"),
    ),
    "core/plot_9_reading_attention.py": (
        (r"limit=[\d_]+, epochs=\d+", "limit=40, epochs=2"),
        (r"(?<=\nreviews = )load_reviews\(config.data\)", "load_reviews(config.data, limit=200)"),
        (r"(?<=\nHELD, SOME = )\d+, \d+", "7, 3"),
    ),
}
PAGES = sorted(path.relative_to(GALLERY).as_posix() for path in GALLERY.rglob("plot_*.py"))
PAGES.remove("core/plot_8_sentiment_training.py")  # trains for minutes, too; the docs build runs it


@pytest.mark.parametrize("name", PAGES)
def test_every_new_shape_has_a_true_comment(name):
    page = run(GALLERY / name, SMALLER.get(name, ()))
    assert page.problems == []
    assert len(page.checked) >= 3


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_has_its_own_alternative_text(name):
    figures = run(GALLERY / name, SMALLER.get(name, ())).figures
    assert all(len(text) > 40 for text in figures)
    assert len(set(figures)) == len(figures)


def test_the_pitfalls_do_what_their_page_says():
    name = "cases/plot_1_ten_pitfalls.py"
    page = run(GALLERY / name, SMALLER[name]).names
    negative, positive = (
        [mark for mark in page["possible"] if page["marks"][mark, label]] for label in (0, 1)
    )
    assert len(set(negative) | set(positive)) > 2  # more than the two ends
    assert page["sizes"]["as in the lab"] > page["sizes"]["cleaned first"]
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
        assert (page["shares"][kind, "alone"].mean(dim=0) - padding).abs().mean() < 0.15
        assert (
            page["shares"][kind, "alone"].mean()
            > page["shares"][kind, "behind a distractor"].mean()
        )
    assert page["starts"][0] != page["starts"][1]


def test_attention_is_compared_with_other_explanations_as_the_page_says():
    name = "core/plot_9_reading_attention.py"
    page = run(GALLERY / name, SMALLER[name]).names
    assert page["agree"] == 944
    assert torch.equal(page["x"], run(GALLERY / "core/plot_1_qkv_derivation.py").names["x"])
    for kind in ("energy", "qkv"):
        for a, s, effect in zip(
            page["weights"][kind], page["evidences"][kind], page["effects"][kind], strict=True
        ):
            assert a.sum().item() == pytest.approx(1, abs=1e-5)
            if kind == "energy":
                torch.testing.assert_close(a / (1 - a) * (s - a @ s), effect, atol=1e-4, rtol=1e-3)
    a, other, s = page["a"], page["other"], page["s"]
    assert (other >= 0).all()
    assert other.sum().item() == pytest.approx(1, abs=1e-5)
    assert (other @ s).item() == pytest.approx((a @ s).item(), abs=1e-4)
    correlations = page["correlations"]["energy", "weight"]
    interval = page["mean_with_interval"](correlations)
    mean, low, high = (float(number) for number in re.findall(r"-?\d\.\d+", interval))
    assert low <= mean <= high
    assert mean == pytest.approx(correlations.mean().item(), abs=1e-3)


def test_heads_are_worth_what_the_page_on_their_bottleneck_says():
    name = "deeper/plot_8_multi_head_bottleneck.py"
    page = run(GALLERY / name, SMALLER[name]).names
    error, sizes, d = page["error"], page["sizes"], page["d"]
    linear = 1 - page["HARMONICS"][0][1]
    for (comparisons, h, k), measured in error.items():
        if k >= page["r"]:
            assert (measured < 0.05) is (h >= comparisons)
        elif comparisons == 1 and h * k < d - 1:
            assert measured > linear + 0.02
        elif comparisons == 1 and k in sizes:
            assert 0.2 < measured < linear + 0.02
    same = {h: error[2, h, 32 // h] for h in sizes}
    assert min(same, key=same.get) == 2
    assert same[1] > 0.5
    for h, k in page["live"]:  # narrow heads end a little above their bound, after more steps
        assert 0 <= error[1, h, k] - page["bound"](h, k) < 0.05
    exact = page["x"] @ page["X_plus"] @ page["log_weights"](page["P"])
    torch.testing.assert_close(exact.softmax(-1), page["P"])


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


def test_true_comments_pass(tmp_path):
    path = tmp_path / "plot_true.py"
    path.write_text(
        textwrap.dedent("""
        import torch
        n = 3
        x = torch.rand(2, n)  # (2, n)
        y = x + 1  # (2, n), and words
        total = y.sum()
        _, z = x, x.T  # (2, 3), (3, 2)
        def mix(k):
            free = torch.rand(k, 2)
            return free[:, 0]
        for k in (4, 5):  # (no shape at all)
            w = mix(
                k,
            )  # (k,)
        """)
    )
    page = run(path)
    assert page.problems == []
    assert len(page.checked) == 4

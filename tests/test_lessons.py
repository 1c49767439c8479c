import textwrap

import pytest
from pages import GALLERY, run

# Pages that train for a minute or more. Here they read few reviews, once.
SMALLER = {
    "plot_4a_what_went_wrong_in_the_lab.py": (
        (r"limit=[\d_]+, epochs=\d+", "limit=40, epochs=1"),
        (r'(?<=\nreviews = )load_reviews\("imdb"\)', 'load_reviews("imdb", limit=100)'),
        (r"(?<=\nNETS, TEXTS, known = )\d+, \d+", "2, 7"),
    ),
    "plot_5_reading_attention.py": (
        (r"limit=[\d_]+, epochs=\d+", "limit=40, epochs=2"),
        (r"(?<=\nreviews = )load_reviews\(config.data\)", "load_reviews(config.data, limit=200)"),
        (r"(?<=\nHELD, SOME = )\d+, \d+", "7, 3"),
    ),
}
# plot_4 trains for minutes, too; the docs build runs it.
PAGES = sorted(path.name for path in GALLERY.glob("plot_*.py") if "plot_4_" not in path.name)


@pytest.mark.parametrize("name", PAGES)
def test_every_line_that_makes_a_new_shape_says_the_true_one(name):
    page = run(GALLERY / name, SMALLER.get(name, ()))
    assert page.problems == []
    assert len(page.held) >= 3


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_has_its_own_words(name):
    figures = run(GALLERY / name, SMALLER.get(name, ())).figures
    assert all(len(text) > 40 for text in figures)
    assert len(set(figures)) == len(figures)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("y = x.T  # (2, 3)", "says (2, 3), is [(3, 2)]"),
        ("y = x.T  # (k, 2)", "name 'k' is not defined"),
        ("y = x.T", "y has a new shape (3, 2) and no comment"),
        ("x = x.T", "x has a new shape (3, 2) and no comment"),
        ("a, b = x  # (3,), (2,)", "says (3,), (2,), is [(3,), (3,)]"),
        ("def f(t):\n    return t.T  # (2, 3)\nf(x)", "says (2, 3), is [(3, 2)]"),
        ("d = {}\nd[0] = x.T  # (2, 3)", "says (2, 3), is [(3, 2)]"),
        ("a, b = (t for t in x)", "b has a new shape (3,) and no comment"),
        ("if n > 5:\n    y = x + 1  # (2, 3)", "(2, 3) was never reached"),
    ],
)
def test_a_false_comment_is_found(tmp_path, line, problem):
    path = tmp_path / "plot_false.py"
    path.write_text(f"import torch\nn = 3\nx = torch.rand(2, n)  # (2, n)\n{line}\n")
    assert any(problem in found for found in run(path).problems)


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
    assert len(page.held) == 4

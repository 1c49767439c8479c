"""A lesson's pictures become figures with captions, and the code that draws them is folded."""

import re

import pytest

LESSON = "gallery/core/plot_a"
CODE = ".. code-block:: Python\n\n    {}"
PICTURE = ".. image:: /a.svg\n   :alt: a picture"
PRINTED = ".. rst-class:: sphx-glr-script-out\n\n .. code-block:: none\n\n    0.5"
ANIMATION = """.. raw:: html

    <div class="output_subarea output_html rendered_html output_result">
    <details><img alt="it moves" src="data:,"></details>
    </div>
    <br />
    <br />"""
DRAWN = CODE.format("fig, ax = plt.subplots()")
# Three cells that draw, and text below
PARTS = [DRAWN, PICTURE, PRINTED, ".. A remark", "*Figure 1.* What to :math:`see`.", "More."]
PARTS += [DRAWN, PICTURE, ANIMATION, "*Figure 2.* It moves."]
PARTS += [DRAWN, PICTURE, PICTURE, "*Figure 3.* Two."]


@pytest.fixture
def lesson(site):
    def build(*parts: str, name: str = LESSON):
        text = "\n\n".join([":orphan:\n", "Title\n=====\n", *parts])
        picture = "<svg xmlns='http://www.w3.org/2000/svg'/>"
        app = site("Text.", "figures", pages={name: text, "a.svg": picture}, numfig=True).build()
        return app.page(name), app.warnings

    return build


def figures(page: str) -> list[str]:
    return re.findall("<figure.*?</figure>", page, re.DOTALL)


def test_a_cells_pictures_and_the_caption_below_them_become_one_figure(lesson):
    page, warnings = lesson(*PARTS)
    assert warnings == ""
    first, second, third = figures(page)
    assert "caption-number" not in page  # it has its own
    assert "0.5" not in first  # what the cell printed stays above it
    assert page.index("plt") < page.index("0.5") < page.index("<figure")
    assert 'id="figure-1"' in first
    assert first.index('alt="a picture"') < first.index("<figcaption")
    assert re.search(r"<em>Figure 1\.</em> What to .*see", first)
    assert "More." not in first
    assert "it moves" in second
    assert "a picture" in second
    assert "<br" not in second
    assert [first.count("<img"), third.count("<img")] == [1, 2]


def test_the_code_of_a_figure_stands_below_it_except_for_what_prints_above(lesson):
    remark = ".. GENERATED FROM PYTHON SOURCE LINES 1-2"
    page, _ = lesson(*PARTS[:6], DRAWN, remark, *PARTS[7:])
    printing, second, third = [match.start() for match in re.finditer("<details class", page)]
    figure = [page.index(f'id="figure-{number}"') for number in (1, 2, 3)]
    assert printing < page.index("0.5") < figure[0] < figure[1] < second < figure[2] < third


def test_a_page_that_is_no_lesson_or_was_not_executed_has_no_figures(lesson):
    page, _ = lesson(*PARTS, name="page")
    assert figures(page) == []
    assert "folded-code" not in page
    page, warnings = lesson(DRAWN, "*Figure 1.* What to see.")
    assert figures(page) == []
    assert "What to see." in page
    assert warnings == ""


def test_what_a_lesson_begins_with_is_folded_and_what_opens_windows_is_left_out(lesson):
    imports, show = CODE.format("import torch\n    import math"), CODE.format("plt.show()")
    page, _ = lesson(imports, "Text.", CODE.format("import os"), show)
    (folded,) = re.findall(r"<details.*?</details>", page, re.DOTALL)
    assert "<summary>Show the setup (2 lines)</summary>" in folded
    assert "torch" in folded
    assert "os</span>" in page
    assert "show" not in page.replace("Show the setup", "")


def test_a_caption_without_picture_is_warned_of(lesson):
    _, warnings = lesson(DRAWN, PICTURE, "Text.", "*Figure 2.* Too late.")
    assert "figure 2: no picture above its caption" in warnings


def test_the_figures_of_every_page_are_numbered_from_1(site):
    text = "T\n=\n\n.. figure:: a.png\n\n   Here.\n\n.. figure:: a.png\n\n   There.\n"
    pages = {"one": text, "two": text, "a.png": ""}
    app = site(".. toctree::\n\n   one\n   two", "figures", pages=pages, numfig=True).build()
    for name in ("one", "two"):
        assert re.findall(r"caption-number\">\D*(\d+)", app.page(name)) == ["1", "2"]


def test_code_that_draws_is_folded_and_code_that_computes_is_not(lesson):
    draws = ["fig, ax = plt.subplots(2)", "plt.figure(figsize=(5, 3))", 'draw().set_label("a bar")']
    computes = ["x = 1", "subplots(2)", "plt.show()"]
    page, _ = lesson(
        *map(CODE.format, [*draws, *computes]), ".. code-block:: python\n\n    plt.subplots()"
    )
    folds = re.findall(r"<details class=.folded-code.>(.*?)</details>", page, re.DOTALL)
    for fold, line in zip(folds, draws, strict=True):
        assert fold.startswith("<summary>Show the code of this figure</summary>")
        assert line in re.sub("<[^>]*>", "", fold).replace("&quot;", '"')


def test_a_cell_that_says_what_it_is_for_is_folded(lesson):
    cells = [
        "# Setup: the words.\n    x = 1",
        "# Check: torch.\n    x = 2",
        "# Table: all.\n    x = 3",
    ]
    page, _ = lesson(
        *map(CODE.format, [*cells, "# Setup of none\n    x = 4", "x = 5  # Setup: no"])
    )
    folds = re.findall(r"<details class=.folded-code.>.*?<summary>(.*?)</summary>", page)
    assert folds == [f"Show the {what} (2 lines)" for what in ("setup", "code of this check")] + [
        "Show the code of this table (2 lines)"
    ]


def test_of_a_long_output_the_page_shows_the_first_lines(lesson):
    def printed(lines):
        text = "\n    ".join(map(str, range(lines)))
        return PRINTED.replace("0.5", text)

    page, _ = lesson(CODE.format("x = 1"), printed(9), CODE.format("x = 2"), printed(10))
    (long,) = re.findall(r"<details class=.long-output.*?</details>", page, re.DOTALL)
    assert " open=" in long.partition(">")[0]  # for a page without scripts
    assert "<summary>All 10 lines</summary>" in long

"""A lesson's pictures become figures with captions, and the code that draws them is folded."""

import re

import pytest

LESSON = "gallery/core/plot_a"
CODE = ".. code-block:: Python\n\n    {}\n"
PICTURE = ".. image:: /a.png\n   :alt: a picture\n"
PRINTED = ".. rst-class:: sphx-glr-script-out\n\n .. code-block:: none\n\n    0.5\n"
ANIMATION = """.. raw:: html

    <div class="output_subarea output_html rendered_html output_result">
    <details><img alt="it moves" src="data:,"></details>
    </div>
    <br />
    <br />"""
DRAWN = CODE.format("fig, ax = plt.subplots()")


@pytest.fixture
def lesson(site):
    def build(*parts: str, name: str = LESSON, **settings) -> tuple[str, str]:
        app = site("Text.", "figures", **settings)
        path = app.srcdir / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "\n\n".join([":orphan:\n", "Title\n=====\n", *parts])
        path.write_text(text.replace("/a.png", "/a.svg"), encoding="utf-8")
        (app.srcdir / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        app.build()
        return (app.outdir / f"{name}.html").read_text(encoding="utf-8"), app.warning.getvalue()

    return build


def figures(page: str) -> list[str]:
    return re.findall("<figure.*?</figure>", page, re.DOTALL)


def test_a_picture_and_the_caption_below_it_become_one_figure(lesson):
    parts = [DRAWN, PICTURE, PRINTED, ".. A remark", "*Figure 1.* What to :math:`see`.", "More."]
    page, warnings = lesson(*parts, numfig=True)
    (figure,) = figures(page)
    assert "caption-number" not in page  # it has its own
    assert "0.5" not in figure  # what the cell printed stays above it
    assert page.index("plt") < page.index("0.5") < page.index("<figure")
    assert 'id="figure-1"' in figure
    assert figure.index('alt="a picture"') < figure.index("<figcaption")
    assert re.search(r"<em>Figure 1\.</em> What to .*see", figure)
    assert "More." not in figure
    assert warnings == ""
    page, _ = lesson(*parts, name="page")  # which is no lesson
    assert figures(page) == []
    assert "<details" not in page


def test_the_figures_of_every_page_are_numbered_from_1(site):
    app = site("Text.", "figures", numfig=True)
    (app.srcdir / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    for name in ("one", "two"):
        text = "T\n=\n\n.. figure:: a.svg\n\n   Here.\n\n.. figure:: a.svg\n\n   There.\n"
        (app.srcdir / f"{name}.rst").write_text(text)
    (app.srcdir / "index.rst").write_text("T\n=\n\n.. toctree::\n\n   one\n   two\n")
    app.build()
    for name in ("one", "two"):
        page = (app.outdir / f"{name}.html").read_text(encoding="utf-8")
        assert re.findall(r"caption-number\">\D*(\d+)", page) == ["1", "2"]


def test_an_animation_is_a_figure_too(lesson):
    page, warnings = lesson(DRAWN, PICTURE, ANIMATION, "*Figure 1.* It moves.")
    (figure,) = figures(page)
    assert "it moves" in figure
    assert "a picture" in figure
    assert "<br" not in figure
    assert warnings == ""


def test_each_caption_takes_the_pictures_of_its_own_cell(lesson):
    parts = [DRAWN, PICTURE, "*Figure 1.* One.", DRAWN, PICTURE, PICTURE, "*Figure 2.* Two."]
    page, _ = lesson(*parts)
    assert [figure.count("<img") for figure in figures(page)] == [1, 2]


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ((DRAWN, PICTURE, "Text.", "*Figure 1.* Too late."), "figure 1: no picture above"),
        ((DRAWN, PICTURE, "*Figure 2.* Skipped one."), r"figures are numbered \[2\]"),
    ],
)
def test_a_caption_without_picture_and_a_gap_in_the_numbers_are_warned_of(lesson, parts, complaint):
    assert re.search(complaint, lesson(*parts)[1])


def test_a_page_that_was_not_executed_keeps_its_captions_as_text(lesson):
    page, warnings = lesson(DRAWN, "*Figure 1.* What to see.")
    assert figures(page) == []
    assert "What to see." in page
    assert warnings == ""


@pytest.mark.parametrize(
    "line", ["fig, ax = plt.subplots(2)", "plt.figure(figsize=(5, 3))", 'draw().set_label("a bar")']
)
def test_code_that_draws_is_folded(lesson, line):
    page, _ = lesson(CODE.format(line), "Text.")
    fold = re.search(r"<details class=.folded-code.>(.*?)</details>", page, re.DOTALL)[1]
    assert fold.startswith("<summary>Show the code of this figure</summary>")
    assert "highlight" in fold


@pytest.mark.parametrize("line", ["x = 1", "subplots(2)", "plt.show()"])
def test_code_that_computes_is_not(lesson, line):
    page, _ = lesson(CODE.format(line), ".. code-block:: python\n\n    plt.subplots()\n")
    assert "<details" not in page

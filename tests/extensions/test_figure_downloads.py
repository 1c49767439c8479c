"""Each figure can be downloaded as SVG, which says what it is and under which licence."""

import io
import json
import re
from base64 import b64encode
from hashlib import sha256
from xml.etree import ElementTree as ET

import pytest
from figure_downloads import describe
from matplotlib.figure import Figure

SVG = "{http://www.w3.org/2000/svg}"
DC = "{http://purl.org/dc/elements/1.1/}"
EXTENSIONS = ("figures", "figure_downloads")
TITLE = 'Is "a" < b & c?'


def drawn() -> str:
    figure = Figure()
    figure.add_subplot().plot([0, 1], [1 / 3, 2 / 3])
    figure.savefig(written := io.StringIO(), format="svg")
    return written.getvalue()


PICTURE = drawn()


def described(**said: str) -> str:
    said = {"title": TITLE, "text": r"A \g<0> & b.", "author": "We", "source": "a.html"} | said
    return describe(PICTURE, **said)


def test_a_file_says_what_it_is_under_which_licence_and_no_more():
    root = ET.fromstring(described())
    assert [part.tag.removeprefix(SVG) for part in root][:3] == ["title", "desc", "metadata"]
    assert [part.text for part in root][:2] == [TITLE, r"A \g<0> & b."]

    def said(name: str) -> str:
        return "".join(root.find(f".//{DC}{name}").itertext())

    assert (said("creator"), said("source"), said("title")) == ("We", "a.html", TITLE)
    assert said("rights") == "© We, MIT License, https://opensource.org/license/mit"
    for gone in ("dc:date", "DOCTYPE", "matplotlib.org"):
        assert gone in PICTURE
        assert gone not in described()


def test_the_picture_keeps_its_shapes_to_a_hundredth_of_a_point():
    def paths(svg: str) -> list[str]:
        return [path.get("d") for path in ET.fromstring(svg).iter(f"{SVG}path")]

    before, after = paths(PICTURE), paths(described())
    assert len(before) == len(after) > 3
    for old, new in zip(before, after, strict=True):
        assert re.sub(r"[-\d.]+", "", old) == re.sub(r"[-\d.]+", "", new)
        for was, now in zip(*(re.findall(r"[-\d.]+", path) for path in (old, new)), strict=True):
            assert float(now) == pytest.approx(float(was), abs=0.01)
            assert len(now.partition(".")[2]) <= 2


@pytest.fixture
def page(site):
    """Build a page of which some pictures have an SVG beside them."""

    def build(text: str, *drawn: str, name: str = "page", builder: str = "html"):
        app = site("Text.", *EXTENSIONS, builder=builder)
        for picture in ("a", "b", "still"):
            (app.srcdir / f"{picture}.png").write_bytes(picture.encode())
        for picture in drawn:
            (app.srcdir / f"{picture}.svg").write_text(PICTURE)
        path = app.srcdir / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f":orphan:\n\nThe scale\n=========\n\n{text}", encoding="utf-8")
        app.build()
        return app

    return build


def links(app, name: str = "page") -> list[tuple[str, ...]]:
    text = (app.outdir / f"{name}.html").read_text(encoding="utf-8")
    return re.findall(r'<a href="([^"]*)" download aria-label="([^"]*)">([^<]*)</a>', text)


IMAGE = ".. image:: /{}.png\n   :alt: a picture\n\n"
FIGURE = ".. figure:: /a.png\n   :alt: a picture\n\n   Divide by :math:`\\sqrt{d}`, *always*.\n\n"


def test_a_figure_links_to_its_file_which_has_the_caption(page):
    app = page(FIGURE, "a", name="deep/page")
    ((file, name, label),) = links(app, "deep/page")
    assert (file, name, label) == (
        "../_downloads/figures/deep/page-figure-1.svg",
        "Download figure 1 as SVG",
        "SVG",
    )
    root = ET.parse(app.outdir / "deep" / file).getroot()
    assert root.find(f"{SVG}title").text == "The scale, Figure 1"
    assert root.find(f"{SVG}desc").text == "Divide by √d, always."
    assert "deep/page.html" in root.find(f".//{DC}source").text
    # The search does not find SVG on every page, and a book has no links.
    assert '"svg"' not in (app.outdir / "searchindex.js").read_text(encoding="utf-8")
    app = page(FIGURE, "a", name="deep/page", builder="epub")
    assert "svg-links" not in (app.outdir / "deep/page.xhtml").read_text(encoding="utf-8")


def test_a_picture_without_caption_has_its_alternative_text(page):
    app = page(IMAGE.format("a") + IMAGE.format("b"), "a", "b")
    files = [file for file, _, _ in links(app)]
    assert [file.rpartition("/")[2] for file in files] == ["page-figure-1.svg", "page-figure-2.svg"]
    assert ET.parse(app.outdir / files[1]).getroot().find(f"{SVG}desc").text == "a picture"


def test_a_picture_that_no_code_drew_has_no_link(page):
    app = page(IMAGE.format("still") + FIGURE, "a")
    assert [name for _, name, _ in links(app)] == ["Download figure 1 as SVG"]


LESSON = "Text.\n\n" + IMAGE.format("a") + IMAGE.format("b") + "*Figure {}.* What to see.\n"


def test_pictures_under_one_caption_have_a_link_each_and_the_captions_number(page):
    # Figure 1 of a lesson may be no picture, but words in colours.
    app = page(LESSON.format(3), "a", "b", name="gallery/core/plot_a")
    found = links(app, "gallery/core/plot_a")
    assert [file.rpartition("/")[2] for file, _, _ in found] == [
        "plot_a-figure-3-1.svg",
        "plot_a-figure-3-2.svg",
    ]
    assert [shown for _, *shown in found] == [
        ["Download figure 3 as SVG 1", "SVG 1"],
        ["Download figure 3 as SVG 2", "SVG 2"],
    ]


def test_what_the_cell_of_a_page_drew_is_found_in_its_outputs(site):
    app = site("Text.", *EXTENSIONS)
    png = b"a picture"
    stem = sha256(png).hexdigest()
    executed = app.outdir.parent / ".jupyter_cache/executed/0f"
    executed.mkdir(parents=True)
    (app.srcdir / f"{stem}.png").write_bytes(png)
    data = {"image/png": b64encode(png).decode() + "\n", "image/svg+xml": PICTURE.splitlines(True)}
    cells = [{"outputs": [{"data": data}, {"text": "printed"}]}, {"source": "no code"}]
    (executed / "base.ipynb").write_text(json.dumps({"cells": cells}))
    (app.srcdir / "index.rst").write_text(f"Page\n====\n\n{IMAGE.format(stem)}")
    app.build()
    assert [label for *_, label in links(app, "index")] == ["SVG"]

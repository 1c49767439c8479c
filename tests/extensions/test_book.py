import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch
from book import Page

from attention.plotting import head_atlas

# ziamath finds its fonts in a way that importlib means to drop.
pytestmark = pytest.mark.filterwarnings("ignore:path is deprecated:DeprecationWarning")

ADDRESS = "https://example.org/site/"


@pytest.fixture
def bind(site):
    """Build a book of one page; return that page, the names of all files, and the warnings."""

    def bind_(text: str, address: str = "", **settings) -> tuple[str, set[str], str]:
        app = site(text, "book", builder="epub", html_baseurl=address, **settings)
        app.build()
        with zipfile.ZipFile(next(Path(app.outdir).glob("*.epub"))) as archive:
            page = archive.read("index.xhtml").decode()
            return page, set(archive.namelist()), app.warning.getvalue()

    return bind_


def raw(html: str) -> str:
    return f".. raw:: html\n\n   {html}\n"


LAB = raw('<section class="lab" id="writer-lab" hidden><button>Write</button></section>')


def test_what_needs_a_browser_is_a_sentence_in_the_book(bind):
    page, _, _ = bind(LAB)
    assert "<p>On the site the model continues a text of yours here.</p>" in page
    assert "button" not in page


def test_the_sentence_leads_to_the_site_where_its_address_is_known(bind):
    page, _, _ = bind(LAB, ADDRESS)
    (link,) = re.findall("<a [^>]*>the site</a>", page)
    assert f'href="{ADDRESS}index.html#writer-lab"' in link


def test_scripts_and_boxes_are_left_out_and_what_is_for_readers_without_scripts_is_kept(bind):
    page, _, _ = bind(
        raw("<script>alert(1)</script>")
        + raw('<form class="answer" hidden><input></form>')
        + raw("<noscript><p>Without a script.</p></noscript>")
    )
    assert "script>" not in page
    assert "form" not in page
    assert "<p>Without a script.</p>" in page


LINKS = "`one <index.html#page>`__ `two <wheel.whl>`__ `three <https://b.org/c.html>`__"


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_a_link_leads_into_the_book_or_to_the_site_or_nowhere(bind, address):
    page, _, _ = bind(LINKS, address)
    links = dict(re.findall(r'<a(?: [^>]*?href="([^"]*)")?[^>]*>(one|two|three)<', page))
    leads = {"index.xhtml#page": "one", "https://b.org/c.html": "three"}
    assert links == leads | {f"{ADDRESS}wheel.whl" if address else "": "two"}


def test_html_that_is_no_xml_is_mended(bind):
    page, _, _ = bind(
        raw('a<br>b<img alt="x > y" src="data:,"><a href="#page"\n   download>c</a><b>never closed')
    )
    assert 'a<br/>b<img alt="x &gt; y" src="data:,"/><a href="#page">c</a><b>never closed' in page
    ET.fromstring(page)


def test_files_that_no_page_shows_stay_out_of_the_book(bind):
    _, files, _ = bind("Text.")
    assert {name.rpartition("/")[2] for name in files if name.startswith("_static/")} == {
        "stix-two-math.woff",
    }


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


def test_paragraphs_do_not_nest_and_a_summary_says_one_thing():
    page = Page(
        None,
        "index",
        "<p><p>a</p></p><details><summary><p class='collapsed'>b</p><p class='expanded'>c</p>"
        "</summary></details>",
    )
    summary = '<summary><span class="collapsed">b</span></summary>'
    assert page.write() == f"<div><p>a</p></div><details>{summary}</details>"


def test_a_card_is_its_title_with_a_link():
    page = Page(
        None,
        "index",
        '<div class="sd-card"><div class="sd-card-title">Learn</div><p>Begin.</p>'
        '<a class="sd-stretched-link" href="#first">first</a></div>',
    )
    assert page.write() == (
        '<div class="sd-card"><div class="sd-card-title"><a href="#first">Learn</a></div>'
        "<p>Begin.</p></div>"
    )

import re
from xml.etree import ElementTree as ET

import pytest

ADDRESS = "https://example.org/site/"
LONG = 60 * "words " + "end."
LONG_SENTENCE = f"It is this, {20 * 'and this, '}and that."
# Texts, and how a page that begins so is described
TEXTS = {
    f"One.\nTwo.\n\nWhat is it? {LONG_SENTENCE}\n\nMore.": "One. Two. What is it?",
    ".. note:: Old.\n\nFirst.\n\nPart\n----\n\nSecond.": "First.",
    ".. rst-class:: run-it-yourself\n\n    Download it.\n\nWhat is it?": "What is it?",
    LONG: f"{LONG[:197]} …",  # cut between words
    r"Divide by :math:`\sqrt{k}`.": "Divide by √k.",
    "First. See :doc:`index` here. Third.": "First.",  # before a title not known yet
    'Is ``"a" < b``?': "Is &quot;a&quot; &lt; b?",
    ".. rubric:: Nothing": None,
}


def description(app, name):
    found = re.findall(r'<meta name="description" content="(.*?)">', app.page(name))
    return found[0] if found else None


def test_a_page_is_described_by_its_first_sentences(site):
    pages = {f"{i}": f":orphan:\n\nT\n=\n\n{text}\n" for i, text in enumerate(TEXTS)}
    app = site("Text.", "descriptions", pages=pages).build()
    assert "WARNING" not in app.warnings
    assert [description(app, name) for name in pages] == [*TEXTS.values()]
    assert description(app, "genindex") is description(app, "search") is None


TREE = """First sentence.

.. toctree::
   :caption: Lessons

   one
   folder/two
"""
PAGES = {
    "one": "One :math:`Q`\n=============\n\nAbout it.\n",
    "folder/two": "Two\n===\n\nAbout it.\n\n.. toctree::\n\n   three\n",
    "folder/three": "Three\n=====\n\nAbout it.\n",
}


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_every_page_is_in_llms_txt_and_in_the_sitemap_after_a_second_build_too(site, address):
    for _ in range(2):
        app = site(TREE, "descriptions", pages=PAGES, html_baseurl=address).build()
    assert "WARNING" not in app.warnings
    assert (app.outdir / "llms.txt").read_text(encoding="utf-8") == (
        "# Page\n\n> First sentence.\n\n## Lessons\n\n"
        f"- [One Q]({address}one.html): About it.\n"
        f"- [Two]({address}folder/two.html): About it.\n"
        f"- [Three]({address}folder/three.html): About it.\n"
    )
    assert (app.outdir / "sitemap.xml").exists() == bool(address)
    if address:
        root = ET.parse(app.outdir / "sitemap.xml").getroot()
        found = [element.text for element in root.iter() if element.tag.endswith("}loc")]
        names = ["folder/three", "folder/two", "index", "one"]
        assert found == [f"{address}{name}.html" for name in names]
        assert root.tag == "{http://www.sitemaps.org/schemas/sitemap/0.9}urlset"

import re
from xml.etree import ElementTree as ET

import pytest

LONG = 60 * "words " + "end."


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (
            f"One.\nTwo.\n\nWhat is it? It is this, {20 * 'and this, '}and that.\n\nMore.",
            "One. Two. What is it?",
        ),
        (".. note:: Old.\n\nFirst.\n\nPart\n----\n\nSecond.", "First."),
        (".. rst-class:: run-it-yourself\n\n    Download it.\n\nWhat is it?", "What is it?"),
        (LONG, f"{LONG[:197]} …"),  # cut between words
        (r"Divide by :math:`\sqrt{k}`.", "Divide by √k."),
        ("First. See :doc:`index` here. Third.", "First."),  # before a title not known yet
        ('Is ``"a" < b``?', "Is &quot;a&quot; &lt; b?"),
        (".. rubric:: Nothing", None),
    ],
)
def test_a_page_is_described_by_its_first_sentences(site, text, description):
    app = site(text, "descriptions")
    app.build()
    assert "WARNING" not in app.warning.getvalue()
    found = {}
    for name in ("index", "genindex", "search"):
        page = (app.outdir / f"{name}.html").read_text(encoding="utf-8")
        found[name] = re.findall(r'<meta name="description" content="(.*?)">', page)
    assert found == {"index": [description] * bool(description), "genindex": [], "search": []}


TREE = """First sentence.

.. toctree::
   :caption: Lessons

   one
   folder/two
"""


@pytest.fixture
def lists(site):
    """Build a site of several pages, twice if asked to, and return its folder."""

    def build(address: str, times: int = 1):
        app = site(TREE, "descriptions", html_baseurl=address)
        (app.srcdir / "folder").mkdir()
        pages = {"one": "One :math:`Q`", "folder/two": "Two", "folder/three": "Three"}
        for name, title in pages.items():
            below = "\n.. toctree::\n\n   three\n" if name.endswith("two") else ""
            text = f"{title}\n=============\n\nAbout it.\n{below}"
            (app.srcdir / f"{name}.rst").write_text(text)
        for _ in range(times):
            app.build()
        assert "WARNING" not in app.warning.getvalue()
        return app.outdir

    return build


def test_the_sitemap_lists_every_page_and_nothing_else_in_a_second_build_too(lists):
    root = ET.parse(lists("https://example.org/site/", times=2) / "sitemap.xml").getroot()
    names = ["folder/three", "folder/two", "index", "one"]
    found = [element.text for element in root.iter() if element.tag.endswith("}loc")]
    assert found == [f"https://example.org/site/{name}.html" for name in names]
    assert root.tag == "{http://www.sitemaps.org/schemas/sitemap/0.9}urlset"


@pytest.mark.parametrize("address", ["", "https://example.org/site/"])
def test_llms_txt_lists_every_page_under_its_heading(lists, address):
    folder = lists(address)
    assert (folder / "sitemap.xml").exists() == bool(address)
    text = (folder / "llms.txt").read_text(encoding="utf-8")
    assert text == (
        "# Page\n\n> First sentence.\n\n## Lessons\n\n"
        f"- [One Q]({address}one.html): About it.\n"
        f"- [Two]({address}folder/two.html): About it.\n"
        f"- [Three]({address}folder/three.html): About it.\n"
    )

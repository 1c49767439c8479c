from xml.etree import ElementTree as ET

import pytest

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
        app = site(TREE, "descriptions", "page_lists", html_baseurl=address)
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


@pytest.mark.parametrize("times", [1, 2])
def test_the_sitemap_lists_every_page_and_nothing_else(lists, times):
    root = ET.parse(lists("https://example.org/site/", times) / "sitemap.xml").getroot()
    names = ["folder/three", "folder/two", "index", "one"]
    found = [element.text for element in root.iter() if element.tag.endswith("}loc")]
    assert found == [f"https://example.org/site/{name}.html" for name in names]
    assert root.tag == "{http://www.sitemaps.org/schemas/sitemap/0.9}urlset"


def test_a_site_that_does_not_know_its_address_has_no_sitemap(lists):
    assert not (lists("") / "sitemap.xml").exists()


@pytest.mark.parametrize("address", ["", "https://example.org/site/"])
def test_llms_txt_lists_every_page_under_its_heading(lists, address):
    text = (lists(address) / "llms.txt").read_text(encoding="utf-8")
    assert text == (
        "# Page\n\n> First sentence.\n\n## Lessons\n\n"
        f"- [One Q]({address}one.html): About it.\n"
        f"- [Two]({address}folder/two.html): About it.\n"
        f"- [Three]({address}folder/three.html): About it.\n"
    )

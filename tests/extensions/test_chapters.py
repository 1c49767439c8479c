import re

import pytest

HOME = """Text.

.. toctree::
   :caption: Going deeper

   one
   gallery/two

.. toctree::
   :caption: Reference

   three
"""


@pytest.fixture
def pages(site):
    app = site(HOME, "chapters")
    (app.srcdir / "gallery").mkdir()
    for name in ("one", "gallery/two", "three"):
        (app.srcdir / f"{name}.rst").write_text("Title\n=====\n\nText.\n")
    app.build()
    assert "WARNING" not in app.warning.getvalue()
    return {path.stem: path.read_text(encoding="utf-8") for path in app.outdir.rglob("*.html")}


@pytest.mark.parametrize(
    ("name", "link", "place"),
    [
        ("one", "gallery/index.html", "1 of 2"),
        ("two", "index.html", "2 of 2"),
    ],
)
def test_a_lesson_says_above_its_title_which_of_how_many_it_is(pages, name, link, place):
    ((address, part, number),) = re.findall(
        r'<p class="chapter"><a href="(.*?)">(.*?)</a> · (.*?)</p>', pages[name]
    )
    assert (address, part, number) == (f"{link}#going-deeper", "Going deeper", place)
    assert pages[name].index('class="chapter"') < pages[name].index("<h1")


@pytest.mark.parametrize("name", ["index", "three"])
def test_a_page_that_nobody_reads_in_an_order_has_no_number(pages, name):
    assert 'class="chapter"' not in pages[name]

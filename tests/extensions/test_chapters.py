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
def prepare(site):
    def prepare_(home: str = HOME, names: tuple[str, ...] = ("one", "gallery/two", "three")):
        app = site(home, "chapters")
        (app.srcdir / "gallery").mkdir(exist_ok=True)
        for name in names:
            (app.srcdir / f"{name}.rst").write_text("Title\n=====\n\nText.\n")
        return app

    return prepare_


@pytest.fixture
def pages(prepare):
    app = prepare()
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


def test_every_page_is_written_again_when_one_comes_or_has_another_title(prepare):
    def written(home: str = HOME, *names: str) -> list[str]:
        app, pages = prepare(home, names), []
        app.connect("html-page-context", lambda app, page, *_: pages.append(page))
        app.build()
        assert "2 of 3" in (app.outdir / "one.html").read_text() or home == HOME
        return [page for page in sorted(pages) if page in app.env.found_docs]

    all_of_them = ["gallery/two", "index", "one", "three"]
    assert written(HOME, "one", "gallery/two", "three") == all_of_them
    assert written() == []
    more = HOME.replace("   one\n", "   new\n   one\n")
    all_of_them.insert(2, "new")
    assert written(more, "new") == all_of_them
    assert written(more) == []
    app = prepare(more, ())
    (app.srcdir / "three.rst").write_text("Another title\n=============\n")
    assert written(more) == all_of_them

import json


def index_of(app) -> dict:
    """Read what a site's search reads."""
    index = (app.outdir / "searchindex.js").read_text().removeprefix("Search.setIndex(")
    return json.loads(index.removesuffix(")"))


def test_a_page_is_found_by_its_words(site):
    app = site("Text.", "search_words")
    docname = "gallery/core/plot_4_masks"
    path = app.srcdir / f"{docname}.rst"
    path.parent.mkdir(parents=True)
    path.write_text(":orphan:\n\nMasks\n=====\n\nText.\n")
    app.build()
    assert "WARNING" not in app.warning.getvalue()
    found = index_of(app)
    # The search quotes the place that an entry leads to, so it must not be empty.
    ((file, place, is_main),) = found["indexentries"]["padding mask"]
    assert found["docnames"][file] == docname
    assert place == "masks"
    assert is_main
    assert {entry[0][0] for entry in found["indexentries"].values()} == {file}


def test_a_second_build_keeps_the_entries_of_pages_that_it_does_not_write(site):
    glossary = ".. glossary::\n\n   KV cache\n      Keys and values so far.\n"
    app = site(glossary, "search_words")
    other = app.srcdir / "other.rst"
    other.write_text(":orphan:\n\nOther\n=====\n\nBefore.\n")
    app.build()
    first, page = index_of(app), app.outdir / "index.html"
    assert "kv cache" in first["indexentries"]
    written = page.stat().st_mtime_ns
    other.write_text(":orphan:\n\nOther\n=====\n\nChanged.\n")
    app = site(glossary, "search_words")
    app.build()
    second = index_of(app)
    assert page.stat().st_mtime_ns == written
    assert "chang" in second["terms"]
    assert second["indexentries"] == first["indexentries"]
    assert second["terms"].keys() >= first["terms"].keys() - {"before"}

import json


def test_a_page_is_found_by_its_words(site):
    app = site("Text.", "search_words")
    docname = "gallery/core/plot_4_masks"
    path = app.srcdir / f"{docname}.rst"
    path.parent.mkdir(parents=True)
    path.write_text(":orphan:\n\nMasks\n=====\n\nText.\n")
    app.build()
    assert "WARNING" not in app.warning.getvalue()
    index = (app.outdir / "searchindex.js").read_text().removeprefix("Search.setIndex(")
    found = json.loads(index.removesuffix(")"))
    # The search quotes the place that an entry leads to, so it must not be empty.
    ((file, place, is_main),) = found["indexentries"]["padding mask"]
    assert found["docnames"][file] == docname
    assert place == "masks"
    assert is_main
    assert {entry[0][0] for entry in found["indexentries"].values()} == {file}

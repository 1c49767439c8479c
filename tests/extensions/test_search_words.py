import json

GLOSSARY = ".. glossary::\n\n   KV cache\n      Keys and values so far.\n"
LESSON = "gallery/core/plot_4_masks"


def test_a_page_is_found_by_its_words_in_a_second_build_too_that_does_not_write_it(site):
    indices, written = [], []
    for text in ("Before", "Changed"):
        pages = {
            LESSON: ":orphan:\n\nMasks\n=====\n\nText.\n",
            "other": f":orphan:\n\nOther\n=====\n\n{text}.\n",
        }
        app = site(GLOSSARY, "search_words", pages=pages).build()
        assert "WARNING" not in app.warnings
        index = (app.outdir / "searchindex.js").read_text().removeprefix("Search.setIndex(")
        indices.append(json.loads(index.removesuffix(")")))
        written.append((app.outdir / "index.html").stat().st_mtime_ns)
    first, second = indices
    # The search quotes the place that an entry leads to, so it must not be empty.
    ((file, place, is_main),) = first["indexentries"]["padding mask"]
    assert (first["docnames"][file], place) == (LESSON, "masks")
    assert is_main
    assert "kv cache" in first["indexentries"]
    assert written[0] == written[1]
    assert "chang" in second["terms"]
    assert second["indexentries"] == first["indexentries"]
    assert second["terms"].keys() >= first["terms"].keys() - {"before"}

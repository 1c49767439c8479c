import json
from xml.etree import ElementTree as ET

import pytest
import walk_stills

NUMBERS = {
    "words": ["a", "<b>", "film"],
    "x": [[0.5, -1.0, 2.0], [0.1, 0.2, 0.3], [1.0, 1.5, -0.5]],
    "W_query": [[1.0, 0.5], [0.2, -0.3], [0.4, 0.1]],
    "W_key": [[0.3, 0.1], [-0.2, 0.6], [0.9, 0.2]],
    "W_value": [[0.7, 0.2], [0.1, 0.4], [-0.5, 0.8]],
    "at": 2,
}
PLAYER = '<section id="walk"><form>F</form><svg data-part="stage"></svg></section>'


def page_with(site, *numbers: str) -> str:
    text = "\n\n".join(f".. raw:: html\n\n   {part}" for part in (*numbers, PLAYER))
    app = site(text, "walk_stills").build()
    assert app.warnings == ""
    return app.page()


def script(kind: str = "walk", **more: object) -> str:
    numbers = json.dumps({"first": NUMBERS | more, "second": {}}).replace("<", "\\u003c")
    return f'<script type="application/json" class="{kind}-numbers">{numbers}</script>'


def pictures_of(html: str) -> list[ET.Element]:
    start = html.index('<div class="walk-stills">')
    box = ET.fromstring(html[start : html.index("</div>", start) + len("</div>")])
    assert [cell.text for cell in box.findall("table/tr[4]/*")][:1] == ["film"]
    return box.findall("figure/svg")


def test_seven_pictures_with_words_and_a_table_stand_behind_the_walk(site):
    pictures = pictures_of(page_with(site, script("workbench")))
    spoken = [picture.get("aria-label") for picture in pictures]
    assert len(spoken) == len(set(spoken)) == 7
    assert spoken[0].startswith("1. A word asks the others. “film” collects")
    for picture in pictures:
        texts = [text.text for text in picture.iter("text")]
        assert {"a", "<b>", "film"} <= set(texts)  # text stays text
    styles = {part.get("style") for part in pictures[-1].iter("rect")}
    assert "fill:var(--weight-fill, #5a2ca0);stroke:none" in styles


@pytest.mark.parametrize("more", [{"vectors": "tiny"}, {}])
def test_the_first_picture_stands_on_the_stage_in_two_widths(site, more):
    page = page_with(site, script(**more))
    stage = page[page.index('id="walk"') : page.index('data-part="stage"')]
    for name, size in {"wide": "720 440", "narrow": "358 332"}.items():
        assert f'viewBox="0 0 {size}"' in stage
        assert f'class="walk-{name}"' in stage
    assert ("<form>" in page) == bool(more)


def test_a_page_that_has_other_numbers_first_walks_with_its_own(site):
    page = page_with(site, script("workbench", words=["one", "two", "third"]), script())
    assert "“film” collects" in page
    assert "third" not in page[page.index("walk-stills") :]


def test_a_page_that_was_not_executed_has_no_stills(site):
    assert "walk-stills" not in page_with(site, "<p>Nothing has run.</p>")


def test_another_script_makes_the_page_another(site, monkeypatch, tmp_path):
    copies = []
    for source in walk_stills.SCRIPTS:
        copies.append(tmp_path / source.name)
        copies[-1].write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(walk_stills, "SCRIPTS", copies)
    assert "A word asks the others" in page_with(site, script())
    changed = copies[-2].read_text(encoding="utf-8").replace("A word asks", "One asks")
    copies[-2].write_text(changed, encoding="utf-8")
    assert "One asks the others" in page_with(site, script())

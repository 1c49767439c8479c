from pathlib import Path

import lessons
import pytest
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[2]
HEADER = """
.. lesson:: Masks
   :minutes: 40
   :extra: plot
   :exercises: masks
   :search: padding mask;
      query, key and value

Masks: what is hidden
=====================
"""
MASKS, BLOCK = "gallery/core/plot_4_masks", "gallery/core/plot_7_transformer_block"


@pytest.fixture
def script(tmp_path):
    return tmp_path / "plot_1.py"


@pytest.mark.parametrize("raw", ["", "r"])
def test_a_lesson_says_what_it_is(script, raw):
    script.write_text(f'{raw}"""{HEADER}"""\n')
    search = ["padding mask", "query, key and value"]
    lesson = lessons.Lesson("Masks: what is hidden", "Masks", 40, "plot", "masks", search)
    assert lessons.read(script) == lesson


def test_exercises_and_search_may_be_missing(script):
    lines = HEADER.splitlines()
    del lines[4:7]
    script.write_text('"""' + "\n".join(lines) + '\n"""')
    lesson = lessons.read(script)
    assert (lesson.exercises, lesson.search) == ("", [])


@pytest.mark.parametrize("line", [".. lesson:: Masks", "   :minutes: 40", "   :extra: plot"])
def test_a_header_that_lacks_something_is_refused(script, line):
    script.write_text('"""' + HEADER.replace(f"{line}\n", "") + '"""\n')
    with pytest.raises(ExtensionError, match=r"plot_1\.py: a lesson begins as"):
        lessons.read(script)


def test_a_lesson_without_a_place_is_refused(script, monkeypatch):
    new = script.parent / "core" / "plot_10_new.py"
    new.parent.mkdir()
    new.write_text(HEADER)
    monkeypatch.setattr(lessons, "GALLERY", script.parent)
    with pytest.raises(ExtensionError, match=r"plot_10_new\.py: the lesson has no place"):
        lessons.miss_nothing(None, None)


def test_lessons_are_sorted_as_they_are_to_be_read():
    paths = ["../gallery/deeper", "plot_2_attention_layer.py", "../gallery/core/plot_9_reading.py"]
    paths[2:] = ["gallery/cases", "gallery/core/plot_1_qkv_derivation.py"]
    ordered = [paths[i] for i in (3, 1, 0, 2)]
    assert sorted(paths, key=lessons.reading_order) == ordered


def test_each_page_of_exercises_is_there():
    pages = {lesson.exercises for lesson in lessons.lessons().values()} - {""}
    assert {f"{page}.md" for page in pages} <= {
        path.name for path in ROOT.glob("docs/exercises/*.md")
    }


@pytest.fixture
def built(site):
    """Build a site of two lessons and one more page."""
    app = site(".. lessons:: core\n\n   More <more>\n", "lessons")
    for name, title in {MASKS: "Masks: all", BLOCK: "The block: all", "more": "More: all"}.items():
        path = app.srcdir / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        header = ".. lesson:: Not read here\n   :minutes: 3\n\n" if name != "more" else ""
        path.write_text(f"{header}{title}\n{'=' * len(title)}\n\nText.\n")
    app.build()
    return app


def test_the_sidebar_has_the_lessons_of_a_part_under_their_short_titles(built):
    page = (built.outdir / "index.html").read_text(encoding="utf-8")
    links = [f'href="{MASKS}.html">Attention masks<', f'href="{BLOCK}.html">The transformer block<']
    places = [page.index(link) for link in [*links, 'href="more.html">More<']]
    assert places == sorted(places)
    assert "Core lessons" in page


def test_above_a_lesson_stand_its_place_and_its_minutes_and_the_header_prints_nothing(built):
    page = (built.outdir / f"{MASKS}.html").read_text(encoding="utf-8")
    assert ">Core lessons</a> · 4 of 9 · 40 minutes</p>" in page
    assert "Not read here" not in page
    assert 'href="../index.html#core-lessons"' in page
    assert page.index('class="chapter"') < page.index("<h1")
    more = (built.outdir / "more.html").read_text(encoding="utf-8")
    assert 'class="chapter"' not in more


def test_the_table_has_minutes_and_exercises():
    rows = lessons.table().splitlines()
    assert len(rows) == 2 + 9
    masks = (
        "| 4 | [Attention masks](gallery/core/plot_4_masks.rst) | 40 min | [](exercises/masks.md) |"
    )
    assert rows[5] == masks

import lessons
import pytest
from sphinx.errors import ExtensionError

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


def test_a_lesson_says_what_it_is_exercises_and_search_if_it_has_some(script):
    script.write_text(f'r"""{HEADER}"""\n')
    search = ["padding mask", "query, key and value"]
    lesson = lessons.Lesson("Masks: what is hidden", "Masks", 40, "plot", "masks", search)
    assert lessons.read(script) == lesson
    lines = HEADER.splitlines()
    script.write_text("\n".join(['"""', *lines[1:4], *lines[7:], '"""']))
    assert lessons.read(script) == lesson._replace(exercises="", search=[])


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


def test_lessons_have_short_titles_in_the_sidebar_and_their_place_above_them(site):
    header = ".. lesson:: Not read here\n   :minutes: 3\n\n"
    pages = {
        MASKS: f"{header}Masks: all\n==========\n",
        BLOCK: f"{header}The block\n=========\n",
        "more": "More: all\n=========\n",
    }
    app = site(".. lessons:: core\n\n   More <more>\n", "lessons", pages=pages).build()
    page = app.page()
    links = [f'href="{MASKS}.html">Attention masks<', f'href="{BLOCK}.html">The transformer block<']
    places = [page.index(link) for link in [*links, 'href="more.html">More<']]
    assert places == sorted(places)
    assert "Core lessons" in page
    page = app.page(MASKS)
    assert ">Core lessons</a> · 4 of 9 · 40 minutes</p>" in page
    assert "Not read here" not in page
    assert 'href="../index.html#core-lessons"' in page
    assert page.index('class="chapter"') < page.index("<h1")
    assert 'class="chapter"' not in app.page("more")


def test_the_table_has_minutes_and_exercises():
    rows = lessons.table().splitlines()
    assert len(rows) == 2 + 9
    masks = (
        "| 4 | [Attention masks](gallery/core/plot_4_masks.rst) | 40 min | [](exercises/masks.md) |"
    )
    assert rows[5] == masks

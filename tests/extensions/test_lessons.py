import re
from html import unescape
from pathlib import Path

import lessons
import pytest
from sphinx.errors import ExtensionError

from attention.exercises import EXERCISES

HEADER = """
.. lesson:: Masks
   :minutes: 40
   :extra: plot
   :needs: core/plot_2 core/plot_3
   :exercises: masks
   :tasks: causal-by-hand
      blind-row
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
    lesson = lessons.Lesson(
        title="Masks: what is hidden",
        short_title="Masks",
        minutes=40,
        extra="plot",
        needs=["core/plot_2", "core/plot_3"],
        exercises="masks",
        tasks=["causal-by-hand", "blind-row"],
        search=["padding mask", "query, key and value"],
        first_minutes=40,
    )
    assert lessons.read(script) == lesson
    lines = HEADER.splitlines()
    script.write_text("\n".join(['"""', *lines[1:4], *lines[10:], '"""']))
    assert lessons.read(script) == lesson._replace(needs=[], exercises="", tasks=[], search=[])
    script.write_text(f'r"""{HEADER}\nThe first reading takes nine minutes, and all more."""\n')
    assert lessons.read(script) == lesson._replace(first_minutes=9)
    script.write_text(f'"""{HEADER.replace(":needs:", ":need:")}"""\n')
    with pytest.raises(ExtensionError, match="begins as"):
        lessons.read(script)


@pytest.mark.parametrize("line", [".. lesson:: Masks", "   :minutes: 40", "   :extra: plot"])
def test_a_header_that_lacks_something_is_refused(script, line):
    script.write_text('"""' + HEADER.replace(f"{line}\n", "") + '"""\n')
    with pytest.raises(ExtensionError, match=r"plot_1\.py: a lesson begins as"):
        lessons.read(script)


def test_every_lesson_has_a_place_on_a_line_and_the_last_are_executed_first():
    scripts = {path.stem: path for path in lessons.GALLERY.glob("*/plot_*.py")}
    places = {stem: -lessons.last_first(str(path)) for stem, path in scripts.items()}
    assert sorted(places, key=places.get) == [Path(page).stem for page in lessons.lessons()]


@pytest.mark.parametrize("need", ["core/plot_5", "core/plot_4", "core/plot_10"])
def test_a_lesson_needs_only_what_comes_before_it(monkeypatch, need):
    read = lessons.read

    def read_other(script):
        lesson = read(script)
        return lesson._replace(needs=[need]) if "plot_4_masks" in script.name else lesson

    monkeypatch.setattr(lessons, "read", read_other)
    message = rf"core/plot_4_masks needs \['{need}'\], of which only \[\] come before it"
    with pytest.raises(ExtensionError, match=message):
        lessons.lessons.__wrapped__()


def test_needs_are_what_a_lesson_links_to_where_it_says_what_its_reader_needs():
    for page, lesson in lessons.lessons().items():
        text = (lessons.GALLERY.parent / f"{page}.py").read_text(encoding="utf-8")
        said = re.search(r"You need.*?Running", text.partition("# %%")[0], re.DOTALL)[0]
        assert sorted(re.findall(r"</(gallery/\w+/\w+)>", said)) == sorted(lesson.needs), page


def test_every_exercise_belongs_to_one_lesson():
    tasks = [task for lesson in lessons.lessons().values() for task in lesson.tasks]
    assert sorted(tasks) == sorted(EXERCISES)


def test_a_subtitle_is_what_a_title_says_beyond_the_name():
    found = lessons.lessons()
    subtitle = {name.rpartition("/")[2]: lesson.subtitle for name, lesson in found.items()}
    assert subtitle["plot_3_scaling_variance"] == "why the scores are divided by √k"
    assert subtitle["plot_2_gauge_and_biases"] == "numbers that change nothing"
    assert subtitle["plot_9g_variants"] == "every attention of today, one changed line each"
    assert all(subtitle.values())


def test_the_home_page_says_how_long_the_first_lesson_takes():
    text = (lessons.GALLERY.parent / "docs" / "index.md").read_text(encoding="utf-8")
    minutes = lessons.lessons()["gallery/core/plot_1_qkv_derivation"].minutes
    assert f"lesson 1 takes {minutes} minutes." in text


def test_the_map_has_each_lesson_once_and_a_branch_leaves_what_its_first_lesson_needs(site):
    pages = {page: f":orphan:\n\n{page}\n{'=' * 60}\n" for page in lessons.lessons()}
    page = site(".. lesson-map::\n", "lessons", pages=pages).build().page()
    nav = page.partition('<nav class="lesson-map"')[2].partition("</nav>")[0]
    link = r'href="(gallery/\S+)\.html" title="(.+?)">.*?<span>(.*?)</span>'
    links = re.findall(link, nav.replace("<wbr>", ""), re.DOTALL)
    titles = [(page, one.title, one.short_title) for page, one in lessons.lessons().items()]
    assert [(page, unescape(title), short) for page, title, short in links] == titles
    assert nav.count("data:image/svg+xml,%3Csvg") == len(titles)
    cases, today, real, rank, trunk = re.findall(r'<path d="(.*?)"', nav)
    assert trunk == "M0.50 0.16H8.50"
    # behind lesson 2, lesson 7, the second lesson on rank, lesson 8
    starts = [path.partition("V")[0] for path in (rank, real, today, cases)]
    assert starts == ["M2.00 0.16", "M7.00 0.16", "M4.00 1.16", "M8.00 0.16"]
    # and none doubles back
    for path in (rank, real, today, cases):
        across = [float(number) for number in re.findall(r"[MH]([\d.]+)", path)]
        assert across == sorted(across)


def test_lessons_have_short_titles_in_the_sidebar_and_their_place_above_them(site):
    header = ".. lesson:: Not read here\n   :minutes: 3\n\n"
    pages = {
        MASKS: f"{header}Masks: all\n==========\n",
        BLOCK: f"{header}The block\n=========\n",
        "more": "More: all\n=========\n",
        "index": "Home: here\n==========\n\n.. lessons:: core\n\n   More <more>\n",
    }
    app = site("", "lessons", pages=pages).build()
    page = app.page()
    assert '<span class="subtitle">here</span>' in page
    links = [f'href="{MASKS}.html">Attention masks<', f'href="{BLOCK}.html">Transformer block<']
    places = [page.index(link) for link in [*links, 'href="more.html">More<']]
    assert places == sorted(places)
    assert "Core lessons" in page
    page = app.page(MASKS)
    assert ">Core lessons</a> · 4 of 9 · 9 to 40 minutes<" in page
    assert "Not read here" not in page
    assert 'Masks<span class="colon">: </span><span class="subtitle">all</span>' in page
    assert "<title>Masks: all" in page
    assert ">More: all<" in app.page("more")  # neither a lesson nor the home page
    assert 'href="../index.html"' in page
    stops = page.partition('class="stops"')[2].partition("</div>")[0]
    assert stops.count("<span ") == 9
    assert f'data-page="{MASKS}" title="Attention masks" class=here' in stops
    assert page.index('class="chapter"') < page.index("<h1")
    assert 'class="chapter"' not in app.page("more")


def test_the_table_has_minutes_and_exercises():
    table = lessons.render("lesson-table.md", {"lessons": lessons.lessons()})
    rows = table.splitlines()
    assert len(rows) == 2 + 9
    masks = (
        "| 4 | [Attention masks](gallery/core/plot_4_masks.rst) | 40 min | [](exercises/masks.md) |"
    )
    assert rows[5] == masks

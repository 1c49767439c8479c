"""The map of the lessons and what marks them, on a page that shows it and on all others."""

import pytest
from accessibility import unsound
from lessons import lessons
from playwright.sync_api import expect

from attention.exercises import EXERCISES

PAGE = "gallery/index.html"
PAGES = ["index.html", PAGE]
MAP = "[data-testid=lesson-map]"
SCALE = "gallery/core/plot_3_scaling_variance"
HEADS = "gallery/core/plot_5_multi_head"
ROTARY = "gallery/deeper/plot_9a_rotary"
GROUPED = "gallery/deeper/plot_9b_grouped_and_latent"
LINES = "all => all.map((one) => one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight))"
DIRECTORIES = "link => link.href.replace(document.baseURI.replace(/[^/]*$/, ''), '')"


def station(page, lesson):
    return page.locator(f'{MAP} a[href$="{lesson.removeprefix("gallery/")}.html"]')


def solve_one(page, http_root):
    """Solve one of the exercises on the scale, in the page."""
    page.goto(http_root + "exercises/scale.html")
    page.locator("#answer-ex-divide-by").fill(str(EXERCISES["divide-by"].right))
    page.locator("form[data-task=ex-divide-by] button").click()
    page.locator("form[data-verdict=right]").wait_for()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scripts", [True, False])
def test_each_lesson_is_once_on_the_map_as_a_link_with_its_minutes(visit, http_root, name, scripts):
    page = visit(http_root + name, java_script_enabled=scripts).page
    links = page.locator(f"{MAP} a")
    names = page.locator(f"{MAP} a > span:first-of-type").all_text_contents()
    assert names == [lesson.short_title for lesson in lessons().values()]
    for link, (lesson, said) in zip(links.all(), lessons().items(), strict=True):
        assert link.get_attribute("href").endswith(f"{lesson.removeprefix('gallery/')}.html")
        text = "one => getComputedStyle(one.querySelector('small'), '::after').content"
        assert link.evaluate(text) == f'"{said.first_minutes} min"'
    links.nth(3).click()
    page.wait_for_url("**/plot_4_masks.html")


@pytest.mark.parametrize("name", PAGES)
def test_it_is_a_network_on_a_wide_screen_and_a_line_on_a_phone(visit, http_root, name):
    page = visit(http_root + name).page
    more = page.get_by_role("button", name="16 more lessons, in 4 branches")
    if name == "index.html":
        more.click()
    boxes = "links => links.map((link) => link.getBoundingClientRect()).map(({ x, y }) => [x, y])"
    places = page.locator(f"{MAP} a").evaluate_all(boxes)
    assert len({round(y) for _, y in places[:9]}) == 1
    assert len({round(y) for _, y in places}) == 3
    assert page.locator(f"{MAP} path").count() == 5
    lines = page.locator(f"{MAP} a > span:first-of-type").evaluate_all(LINES)
    assert max(lines) < 2.1, list(zip(lessons(), lines, strict=True))
    page.set_viewport_size({"width": 390, "height": 844})
    if name != "index.html":
        more.click()
    places = page.locator(f"{MAP} a").evaluate_all(boxes)
    assert len({x for x, _ in places}) == 1
    assert [y for _, y in places] == sorted({y for _, y in places})
    expect(page.locator(f"{MAP} path").first).to_be_hidden()


@pytest.mark.parametrize("name", PAGES)
def test_what_is_solved_elsewhere_changes_a_station_without_a_reload(visit, http_root, name):
    seen = visit(http_root + name)
    page, other = seen.page, seen.context.new_page()
    mark = station(page, SCALE).locator(".mark")
    page.evaluate("doneStore.mark('mission-only')")  # which is of no lesson
    expect(page.locator(f"{MAP} .mark")).to_have_text([" start here"])
    solve_one(other, http_root)
    expect(mark).to_have_text(" 1 of 5 done")
    other.evaluate("page => LESSON_TASKS[page].forEach((task) => doneStore.mark(task))", SCALE)
    expect(mark).to_have_text(" ✓ done")
    sidebar = '.sidebar-tree a[href$="plot_3_scaling_variance.html"] .mark'
    for one in (page, other):
        expect(one.locator(sidebar)).to_have_text(" ✓")
        expect(one.locator(".sidebar-tree .mark")).to_have_count(1)
    for lesson in [*lessons()][:3]:
        other.evaluate("page => LESSON_TASKS[page].forEach((task) => doneStore.mark(task))", lesson)
    expect(station(page, [*lessons()][3]).locator(".mark")).to_have_text(" next")
    assert unsound(page, "desktop", "phone", within=MAP) == []
    other.evaluate("[...doneStore.done].forEach((task) => doneStore.mark(task, false))")
    expect(page.locator(f"{MAP} .mark")).to_have_text([" start here"])
    other.close()


def test_who_comes_to_the_end_of_a_lesson_has_read_it(visit, http_root):
    seen = visit(f"{http_root}{SCALE}.html")
    page, other = seen.page, seen.context.new_page()
    other.goto(http_root + "index.html")
    marks = other.locator(f"{MAP} .mark")
    expect(marks).to_have_text([" start here"])
    assert page.evaluate("localStorage.length") == 0  # a visit alone leaves nothing
    page.locator("#takeaways").scroll_into_view_if_needed()
    expect(station(other, SCALE)).to_have_class("read")
    expect(marks).to_have_text([" read", " next"])
    expect(station(other, [*lessons()][3])).to_have_attribute("aria-current", "step")
    expect(other.locator(f"{MAP} .about")).to_contain_text(lessons()[[*lessons()][3]].subtitle)
    expect(page.locator(".stops .read")).to_have_count(1)
    other.reload()
    expect(marks).to_have_text([" read", " next"])
    other.close()


def test_what_is_no_list_of_lessons_counts_as_none(visit, http_root):
    page = visit(http_root + "index.html").page
    page.evaluate("localStorage.setItem('attention-read', '5')")
    page.reload()
    expect(page.locator(f"{MAP} .mark")).to_have_text([" start here"])


def test_a_lesson_shows_how_far_one_is(visit, http_root):
    page = visit(f"{http_root}{HEADS}.html").page
    chapter = page.locator("article .chapter")
    expect(chapter).to_have_text("Core lessons · 5 of 9 · 9 to 50 minutes")
    page.evaluate("doneStore.mark('ex-split-heads')")
    expect(chapter).to_have_text("Core lessons · 5 of 9 · 9 to 50 minutes")
    page.locator(".prediction summary").first.click()
    expect(chapter).to_have_text("Core lessons · 5 of 9 · 9 to 50 minutes · 1 done")
    expect(page.locator(".stops .done")).to_have_count(1)
    expect(page.locator(".stops span")).to_have_count(9)


def test_a_station_that_is_pointed_at_shows_what_it_needs(page):
    station(page, HEADS).focus()
    needed = page.locator(f"{MAP} .needed").evaluate_all(f"all => all.map({DIRECTORIES})")
    assert [f"gallery/{one.removesuffix('.html')}" for one in needed] == lessons()[HEADS].needs
    way, found = list(lessons()[HEADS].needs), []
    while way:
        found.append(way.pop())
        way += lessons()[found[-1]].needs
    lit = page.locator(f"{MAP} a.on-the-way").evaluate_all(f"all => all.map({DIRECTORIES})")
    assert {f"gallery/{one.removesuffix('.html')}" for one in lit} == set(found)
    station(page, lessons()[HEADS].needs[0]).hover()
    expect(page.locator(f"{MAP} .needed")).to_have_count(2)


def test_a_station_that_is_pointed_at_says_what_it_shows(page):
    about = page.locator(f"{MAP} .about")
    rotary, scale = lessons()[ROTARY], lessons()[SCALE]
    first, second = (lessons()[need].short_title for need in rotary.needs)
    station(page, ROTARY).focus()
    assert about.inner_text().splitlines() == [
        rotary.short_title,
        rotary.subtitle[0].upper() + rotary.subtitle[1:],
        f"{rotary.first_minutes} min · after {first} and {second}",
    ]
    assert page.locator(f"{MAP} a[title]:not([title=''])").count() == 0  # would cover it
    assert station(page, ROTARY).evaluate("link => link.ariaDescription") == rotary.title
    station(page, SCALE).hover()
    expect(about).to_contain_text(f"{scale.short_title}{scale.subtitle}")
    page.mouse.move(0, 0)  # the one with the focus is shown again
    expect(about).to_contain_text(rotary.subtitle)
    expect(page.locator(f"{MAP} .needed")).to_have_count(len(rotary.needs))
    station(page, ROTARY).press("ArrowRight")
    expect(station(page, GROUPED)).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(station(page, ROTARY)).to_be_focused()
    station(page, ROTARY).blur()
    first = next(iter(lessons().values()))  # at rest, where one begins
    expect(about).to_contain_text(f"{first.short_title}{first.subtitle}")
    expect(page.locator(f"{MAP} .needed")).to_have_count(0)
    about.click()
    page.wait_for_url("**/plot_1_qkv_derivation.html")


def test_what_a_station_shows_covers_no_other_and_its_way_stays_dark(page):
    about = page.locator(f"{MAP} .about")
    place = about.bounding_box()
    for lesson, lines in (
        (HEADS, ["Core lessons"]),
        ("gallery/deeper/plot_8_multi_head_bottleneck", ["Core lessons", "Rank", "Real models"]),
        (ROTARY, ["Attention today", "Core lessons", "Rank"]),
    ):
        station(page, lesson).hover()
        expect(about).to_contain_text(lessons()[lesson].short_title)
        card = about.bounding_box()
        assert (card["x"], card["y"]) == (place["x"], place["y"]), lesson
        for part in page.locator(f"{MAP} a > *").locator("visible=true").all():
            box = part.bounding_box()
            beside = box["x"] + box["width"] <= card["x"] or card["x"] + card["width"] <= box["x"]
            below = box["y"] + box["height"] <= card["y"] or card["y"] + card["height"] <= box["y"]
            assert beside or below, (lesson, part.inner_text())
        dark = page.locator(f"{MAP} path.on-the-way").evaluate_all(
            "all => all.map((one) => one.dataset.line)"
        )
        assert sorted(dark) == lines


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_the_home_page_begins_with_the_core_lessons(visit, http_root, size):
    page = visit(http_root + "index.html", size=size).page
    seen = page.locator(f"{MAP} a").locator("visible=true")
    expect(seen).to_have_count(9)
    more = page.get_by_role("button", name="16 more lessons, in 4 branches")
    more.press("ArrowRight")
    expect(more).to_be_focused()
    more.press("Enter")
    expect(seen).to_have_count(25)
    expect(more).to_be_hidden()
    expect(station(page, list(lessons())[9])).to_be_focused()
    assert unsound(page, size, within=MAP) == []
    core = [lesson for lesson in lessons() if "/core/" in lesson]
    page.evaluate("pages => localStorage.setItem('attention-read', JSON.stringify(pages))", core)
    page.reload()  # whoever goes on in a branch sees it
    expect(seen).to_have_count(25)
    still = visit(http_root + "index.html", size=size, java_script_enabled=False).page
    expect(still.locator(f"{MAP} a").locator("visible=true")).to_have_count(25)


def test_a_legend_counts_what_is_solved(page, visit, http_root):
    legend = page.locator(f"{MAP} .legend")
    expect(legend).to_contain_text(f"0 of {len(lessons())} lessons read (tinted), 0 with all")
    page.evaluate("page => localStorage.setItem('attention-read', JSON.stringify([page]))", SCALE)
    page.reload()
    page.evaluate("page => LESSON_TASKS[page].forEach((task) => doneStore.mark(task))", SCALE)
    expect(legend).to_contain_text("1 of 25 lessons read (tinted), 1 with all exercises solved")
    page.emulate_media(media="print")
    expect(legend).to_be_hidden()
    page = visit(http_root + "gallery/index.html", java_script_enabled=False).page
    expect(page.locator(f"{MAP} .legend")).to_be_hidden()  # it would count nothing


def test_on_a_phone_a_lesson_says_what_it_shows_and_leads_to_what_it_needs(visit, http_root):
    page = visit(http_root + "gallery/index.html", size="phone", motion="reduce").page
    page.get_by_role("button", name="16 more lessons").click()
    says = """link => ["::before", "::after"].map(
      (where) => getComputedStyle(link.querySelector("small"), where).content)"""
    rotary, heads = (station(page, name).evaluate(says) for name in (ROTARY, HEADS))
    assert rotary == ['"45 min"', '"positions as rotations"']
    minutes = lessons()[HEADS].first_minutes
    assert heads == [f'"{minutes} min"', '"several sets of weights side by side"']
    button = page.get_by_role("button", name="needs 6 and Gauge freedom")
    button.click()
    needed = page.locator(f"{MAP} .needed")
    expect(needed).to_have_count(2)
    expect(needed.first).to_be_in_viewport()
    expect(button).to_be_focused()
    assert unsound(page, "phone", within=MAP) == []
    page.set_viewport_size({"width": 1440, "height": 900})  # there one points at a lesson
    assert station(page, ROTARY).evaluate(says) == ["none", '"45 min"']
    expect(button).to_be_hidden()

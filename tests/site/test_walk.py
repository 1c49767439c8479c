"""The walk, one sentence in seven steps: by mouse, keys and touch, and without scripts."""

import ast
import json
import re
import subprocess
import sys

import pytest
import torch
from accessibility import unsound
from built_site import SIZES
from playwright.sync_api import expect
from touch import swipe
from trained_models import attention_between
from workbench import cell

LESSON = "gallery/core/plot_1_qkv_derivation.html"
FIRST = "a lovely film with a weak ending"
LONG = "an extraordinarily unimaginative but wonderfully photographed documentary about nothing"
MODEL = """() => { const [numbers] = Object.values(JSON.parse(
    (document.querySelector("script.walk-numbers") ??
      document.querySelector("script.workbench-numbers")).textContent));
  return lab.walkFrames.modelOf(numbers, numbers.at); }"""
# Where each part is, and what it shows
DRAWN = """() => [...document.querySelectorAll(".walk-stage svg g > *")]
  .map((part) => part.outerHTML)"""
# True when a tenth of a second changes nothing of that, by the clock of the frames, which the walk
# reads too: on a busy machine that clock runs behind the timers'. In a frame the walk may have its
# turn after this function, so there is one frame more.
AT_REST = f"""async () => {{
  const drawn = {DRAWN};
  const frame = () => new Promise(requestAnimationFrame);
  const [began, before] = [await frame(), String(drawn())];
  while (await frame() < began + 100);
  await frame();
  return before === String(drawn());
}}"""
# How many pairs of numbers can be seen where they lie on each other
PILED = """() => {
  const seen = [...document.querySelectorAll(".walk-stage svg g > text")]
    .filter((part) => /\\d$/.test(part.textContent) && part.parentElement.style.opacity > 0.1)
    .map((part) => part.getBoundingClientRect());
  const apart = (a, b) => Math.hypot(a.x - b.x, a.y - b.y);
  return seen.flatMap((a, i) => seen.slice(i + 1).filter((b) => apart(a, b) < 10)).length;
}"""


@pytest.fixture
def walk(visit, http_root):
    """Open the walk of a page; nothing moves unless a test wants it to."""

    def open_(name="index.html", size="desktop", motion="reduce", **options):
        page = visit(http_root + name, size=size, motion=motion, **options).page
        page.locator(".walk.is-live").wait_for()
        return page

    return open_


@pytest.fixture
def page(walk):
    return walk()


def step(page):
    return int(page.get_by_test_id("walk-step").get_attribute("data-value"))


def asker(page):
    return page.locator("[data-testid=walk-word][aria-pressed=true]").get_attribute("aria-label")


def shown_words(page):
    return [one.get_attribute("aria-label") for one in page.get_by_test_id("walk-word").all()]


def go_to(page, last):
    while step(page) < last:
        page.get_by_test_id("walk-next").click()


def come_to_rest(page):
    # Not `wait_for_function`, for which a promise is true, whatever becomes of it.
    assert any(page.evaluate(AT_REST) for _ in range(100))


def weights(page):
    """Read the last step's weights, row by row."""
    found = page.get_by_test_id("walk-weight").evaluate_all(
        "all => all.map(({ dataset }) => [dataset.query, dataset.key, dataset.value].map(Number))"
    )
    n = len(shown_words(page))
    assert len(found) == n**2
    grid = [[0.0] * n for _ in range(n)]
    for i, j, weight in found:
        grid[int(i)][int(j)] = weight
    return grid


def test_in_a_lesson_the_picture_and_what_turns_it_fit_a_laptops_screen(walk):
    page = walk(LESSON)
    page.set_viewport_size({"width": 1280, "height": 720})
    for name in (".walk-stage", "[data-testid=walk-next]", "[data-part=title]", "[data-part=text]"):
        box = page.locator(f"#walk {name}").bounding_box()
        assert box["y"] + box["height"] <= 720, name


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_the_first_screen_has_title_field_arcs_caption_and_next(page, size):
    page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    page.reload()
    page.locator(".walk.is-live").wait_for()
    height = page.evaluate("innerHeight")
    parts = ["h1", "[data-testid=walk-sentence]", "[data-testid=walk-next]", ".walk-stage"]
    for name in [*parts, ".walk [data-part=title]", ".walk [data-part=text]"]:
        box = page.locator(name).first.bounding_box()
        assert box["height"] > 0, name
        assert 0 <= box["y"] <= box["y"] + box["height"] <= height, name
    bar = page.locator(".walk-nav").bounding_box()
    stage = page.locator(".walk-stage").bounding_box()
    assert size[0] > 1000 or stage["y"] + stage["height"] <= bar["y"] + 1  # nothing lies under it
    assert page.locator(".walk-stage path").count() >= len(FIRST.split())


def test_seven_steps_by_mouse_and_back(page):
    titles = set()
    for k in range(1, 8):
        assert step(page) == k
        titles.add(page.locator(".walk-title").inner_text())
        assert shown_words(page) == FIRST.split()
        if k < 7:
            page.get_by_test_id("walk-next").click()
    assert len(titles) == 7
    page.get_by_test_id("walk-back").click()
    assert step(page) == 6
    go_to(page, 7)
    page.get_by_test_id("walk-next").click()
    assert step(page) == 1
    expect(page.get_by_test_id("walk-back")).to_be_disabled()


@pytest.mark.parametrize("height", [844, 664])
def test_on_a_phone_a_step_and_the_doors_at_the_end_come_into_sight(walk, height):
    page = walk(size="phone")
    page.set_viewport_size({"width": 390, "height": height})
    for k in range(1, 8):
        go_to(page, k)
        title, nav, stage, door = (
            page.locator(name).bounding_box()
            for name in ("#walk-title", ".walk-nav", ".walk-stage", ".walk-begin")
        )
        assert title["y"] > 48  # below the bar
        assert nav["y"] + nav["height"] <= height
        assert k == 1 or stage["y"] + stage["height"] <= nav["y"]
        assert k < 7 or door["y"] + door["height"] <= height


def test_the_last_step_shows_what_the_layer_computes_and_python_prints_it(page):
    go_to(page, 7)
    grid = weights(page)
    for row, wanted in zip(grid, page.evaluate(MODEL)["weights"], strict=True):
        assert row == pytest.approx(wanted, abs=1e-12)
        assert sum(row) == pytest.approx(1, abs=1e-9)
    door = page.get_by_text("These numbers in Python")
    place = door.bounding_box()
    door.click()
    assert door.bounding_box() == place  # so that a second press closes it
    code = page.locator(".walk pre").inner_text()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    printed = re.search(r"weights:\s*tensor\((\[\[.*?\]\])", done.stdout, re.DOTALL)[1]
    for row, wanted in zip(ast.literal_eval(printed), grid, strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)


def test_the_other_door_opens_the_workbench_with_this_sentence_and_asker(page):
    page.get_by_test_id("walk-sentence").fill("the music saved a boring film")
    page.get_by_role("button", name="boring", exact=True).click()
    go_to(page, 7)
    grid = weights(page)
    page.get_by_role("link", name="The workbench with this sentence").click()
    cell(page, "map.0.0").wait_for()
    sentence = page.locator("#workbench [data-part=sentence]")
    assert sentence.input_value() == "the music saved a boring film"
    for i, row in enumerate(grid):
        for j, weight in enumerate(row):
            value = cell(page, f"map.{i}.{j}").get_attribute("data-value")
            assert float(value) == pytest.approx(weight, abs=1e-9)
    assert page.locator("#workbench .asks th").inner_text() == "boring"


def test_the_readers_sentence_has_trained_vectors_and_what_is_unknown_is_named(page):
    field = page.get_by_test_id("walk-sentence")
    field.fill("an extraordinary and unforgettable film")
    expect(page.get_by_role("button", name="unforgettable")).to_be_visible()
    assert asker(page) == "unforgettable"
    go_to(page, 7)
    wanted = attention_between("an extraordinary and unforgettable film")  # (5, 5)
    torch.testing.assert_close(torch.tensor(weights(page)), wanted, atol=1e-3, rtol=0)
    assert 0.6 < wanted[3, 1] < 0.7  # not what random vectors give
    field.fill("Zzzz film!")
    note = page.locator(".walk-note")
    expect(note).to_have_text("All unknown words share one vector, here: “zzzz”.")
    assert shown_words(page) == ["zzzz", "film"]
    field.fill("a zzzz film 12 times")
    told = "All unknown words share one vector, here: “zzzz”. Left out: “12”."
    expect(note).to_have_text(told)
    assert shown_words(page) == ["a", "zzzz", "film", "times"]
    field.fill("Ein schöner film")
    expect(note).to_contain_text("“schöner”")
    assert shown_words(page) == ["ein", "schöner", "film"]
    page.reload()
    expect(page.get_by_role("button", name="schöner", exact=True)).to_be_visible()


def test_what_is_no_sentence_is_refused_where_nothing_moves(page):
    boxes = [page.locator(name) for name in (".walk-nav", "article")]
    before = [box.bounding_box() for box in boxes]
    field, note = page.get_by_test_id("walk-sentence"), page.locator(".walk-note")
    for text, message in (
        ("film", "Expected 2 to 9 words, got 1."),
        ("", "got none."),
        ("1 !", "got none. Only letters make words."),
        ("😀 film", "got 1. Only letters make words."),
        ("a b c d e f g h i j", "got 10."),
        (f"a {'b' * 21}", "Expected at most 20 letters per word, got 21."),
    ):
        field.fill(text)
        expect(note).to_contain_text(message)
        # It is said where it was typed.
        assert abs(note.bounding_box()["y"] - field.bounding_box()["y"]) < 40, text
        expect(field).to_have_attribute("aria-invalid", "true")
        assert [box.bounding_box() for box in boxes] == before, text
        assert shown_words(page) == FIRST.split()
        field.press("Enter")
        assert step(page) == 1
        field.fill(FIRST)
        expect(note).to_have_text("")
        expect(field).to_have_attribute("aria-invalid", "false")


def test_what_is_typed_takes_the_place_of_the_example_and_its_answer_comes_first(page):
    page.get_by_test_id("walk-sentence").click()
    page.wait_for_function("getSelection().toString().startsWith('a lovely')")
    page.keyboard.type("f")
    assert page.locator(".walk-note").inner_text() == ""  # half a word is no mistake yet
    expect(page.locator(".walk-note")).to_contain_text("got 1.")
    page.keyboard.type("ilms I loved")
    expect(page.get_by_role("button", name="loved", exact=True)).to_be_visible()
    assert shown_words(page) == ["films", "i", "loved"]
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("walk-next")).to_be_focused()
    assert step(page) == 1
    page.keyboard.press("Enter")
    assert step(page) == 2


def test_back_leads_step_by_step_with_the_sentence_of_now(page):
    go_to(page, 4)
    page.get_by_test_id("walk-sentence").fill("my own lovely film")
    expect(page.get_by_role("button", name="lovely", exact=True)).to_be_visible()
    for left in (3, 2):
        page.go_back()
        expect(page.get_by_test_id("walk-step")).to_have_attribute("data-value", str(left))
        assert shown_words(page) == ["my", "own", "lovely", "film"]
    page.reload()
    expect(page.get_by_role("button", name="lovely", exact=True)).to_be_visible()
    assert step(page) == 2


def test_who_goes_on_from_what_cannot_be_read_sees_which_sentence_that_is(page):
    field = page.get_by_test_id("walk-sentence")
    field.fill("great")
    expect(field).to_have_attribute("aria-invalid", "true")
    page.get_by_test_id("walk-next").click()
    expect(field).to_be_focused()
    assert (step(page), field.input_value()) == (1, "great")
    expect(page.locator(".walk-note")).to_contain_text("got 1.")


def test_on_a_phone_next_stays_under_the_thumb(walk):
    page = walk(size="phone", has_touch=True, is_mobile=True)
    go_on = page.get_by_test_id("walk-next")
    before = go_on.bounding_box()
    for k in range(2, 7):
        go_on.tap()
        expect(page.get_by_test_id("walk-step")).to_have_attribute("data-value", str(k))
        come_to_rest(page)
        assert abs(go_on.bounding_box()["y"] - before["y"]) <= 2
        title = page.locator(".walk-title").bounding_box()
        assert title["y"] >= 0


def test_a_ready_sentence_is_read_at_a_press_from_a_folder_too(visit, root):
    seen = visit(root + "index.html", motion="reduce")
    page = seen.page
    page.get_by_role("button", name="we watched a wonderful film").click()
    expect(page.get_by_role("button", name="wonderful", exact=True)).to_be_visible()
    assert shown_words(page) == ["we", "watched", "a", "wonderful", "film"]
    assert page.get_by_test_id("walk-sentence").input_value() == "we watched a wonderful film"
    pressed = page.locator(".walk-tries [aria-pressed=true]")
    expect(pressed).to_have_text("we watched a wonderful film")
    page.get_by_role("button", name="I have never seen a worse film").click()
    expect(pressed).to_have_text("I have never seen a worse film")
    go_to(page, 7)
    page.get_by_test_id("walk-sentence").fill("")
    expect(pressed).to_have_count(0)
    assert seen.troubles(root) == []


def test_another_word_asks_by_a_press_in_every_step(page):
    page.locator(".walk-stage g[data-ask='5']:not([data-testid])").click()  # its share
    assert asker(page) == "weak"
    for k, word in enumerate(FIRST.split()[1:4] * 2 + ["ending"], 1):
        go_to(page, k)
        page.get_by_test_id("walk-word").filter(has_text=word).first.click()
        assert asker(page) == word
        assert page.locator("[data-testid=walk-word][aria-pressed=true]").count() == 1
    page.locator("[data-testid=walk-weight][data-query='1']").first.click()  # a row's word asks
    assert asker(page) == "lovely"


def test_keys_lead_from_the_field_to_the_last_step(page):
    page.get_by_test_id("walk-sentence").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("walk-step")).to_have_attribute("data-value", "2")
    for key in ("Enter", "ArrowRight", "ArrowRight", "ArrowLeft", "Enter", "Enter", "Enter"):
        page.keyboard.press(key)
    assert step(page) == 7
    page.keyboard.press("ArrowRight")  # ends here, whereas the button starts again
    assert step(page) == 7
    page.locator("[data-testid=walk-word][tabindex='0']").focus()
    page.keyboard.press("ArrowLeft")
    assert step(page) == 6
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert asker(page) == "weak"
    page.keyboard.press(" ")
    assert step(page) == 7


def test_keys_mean_the_walk_only_where_it_is_seen_and_nothing_is_typed(page):
    page.get_by_test_id("walk-sentence").focus()
    page.keyboard.press("ArrowRight")
    assert step(page) == 1
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    assert step(page) == 2
    # A field chooses its text in the frame after it has the focus, unless it is left by then.
    left_at_once = """async (field) => {
      field.focus();
      field.blur();
      await new Promise(requestAnimationFrame);
      return document.activeElement === document.body;
    }"""
    assert page.get_by_test_id("walk-sentence").evaluate(left_at_once)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    gone = "document.querySelector('.walk-stage').getBoundingClientRect().bottom < 0"
    page.wait_for_function(gone)
    page.keyboard.press("ArrowRight")
    assert step(page) == 2


def test_a_finger_turns_pages_and_still_scrolls(walk):
    page = walk(size="phone", has_touch=True, is_mobile=True)
    stage = page.locator(".walk-stage")
    swipe(page, stage, -120, 5)
    assert step(page) == 2
    swipe(page, stage, 120, -5)
    assert step(page) == 1
    swipe(page, stage, 10, -150)
    assert step(page) == 1
    page.wait_for_function("scrollY > 50")


@pytest.mark.parametrize("name", ["index.html", LESSON])
def test_the_address_holds_sentence_asker_and_step(walk, visit, name):
    page = walk(name)
    if name == "index.html":
        page.get_by_test_id("walk-sentence").fill(LONG)
        expect(page.get_by_test_id("walk-word")).to_have_count(9)
    go_to(page, 4)
    page.get_by_test_id("walk-word").nth(2).click()
    address = page.url
    assert len(address) <= 300
    again = walk(address.partition("/")[2].partition("/")[2].partition("/")[2])
    assert (step(again), shown_words(again), asker(again)) == (4, shown_words(page), asker(page))
    again.evaluate("location.hash = location.hash.replace('walk=4', 'walk=6')")
    expect(again.get_by_test_id("walk-step")).to_have_attribute("data-value", "6")
    again.go_back()
    expect(again.get_by_test_id("walk-step")).to_have_attribute("data-value", "4")
    again.go_forward()
    expect(again.get_by_test_id("walk-step")).to_have_attribute("data-value", "6")


def test_an_address_that_holds_no_state_leaves_the_walk_as_it_is(walk):
    page = walk("index.html#walk=9.1.a-film")
    page.wait_for_load_state("networkidle")  # a sentence is read with words that are fetched
    # The address of a page that is there already is read in an event.
    go = """async (text) => {
      const heard = new Promise((done) => addEventListener("hashchange", done, { once: true }));
      location.hash = `walk=${text}`;
      await heard;
    }"""
    for broken in (None, "1", "3.7.film", "2.0.a-<b>", ""):
        if broken is not None:
            page.evaluate(go, broken)
        come_to_rest(page)
        assert (step(page), shown_words(page)) == (1, FIRST.split()), broken
        expect(page.locator(".walk-told")).to_have_text("That link can’t be read.")
    page.evaluate(go, "2.0.a-film")
    expect(page.get_by_test_id("walk-step")).to_have_attribute("data-value", "2")


def test_share_copies_the_link(visit, http_root):
    seen = visit("about:blank")
    seen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = seen.page
    page.goto(http_root + "index.html")
    go_to(page, 3)
    page.locator(".walk [data-part=share]").click()
    expect(page.locator(".walk-told")).to_contain_text("Copied")
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == page.url
    assert link.endswith("#walk=3.6.a-lovely-film-with-a-weak-ending")


def test_who_wants_no_motion_sees_each_picture_at_once(page):
    for k in range(2, 8):
        page.get_by_test_id("walk-next").click()
        first = page.evaluate(DRAWN)
        page.wait_for_timeout(300)
        assert page.evaluate(DRAWN) == first, k


def test_a_word_that_is_pressed_can_be_read_at_once(walk):
    page = walk(motion="no-preference")
    come_to_rest(page)
    page.get_by_role("button", name="weak", exact=True).click()
    # Whatever the frame, a word's letters and its ground are not of one colour.
    same = """async () => { let same = 0;
      for (let i = 0; i < 20; i += 1) {
        await new Promise(requestAnimationFrame);
        for (const word of document.querySelectorAll("[data-testid=walk-word]"))
          same += getComputedStyle(word.querySelector("rect")).fill ===
            getComputedStyle(word.querySelector("text")).fill;
      }
      return same; }"""
    assert page.evaluate(same) == 0


def test_parts_move_between_two_pictures_and_come_to_rest(walk):
    page = walk(motion="no-preference")
    come_to_rest(page)
    places = []
    page.get_by_test_id("walk-next").click()
    page.get_by_test_id("walk-next").click()
    for _ in range(8):
        places.append(page.evaluate(DRAWN))
        page.wait_for_timeout(60)
    assert len({json.dumps(place) for place in places}) >= 4
    come_to_rest(page)
    rest = page.evaluate(DRAWN)
    calm = walk()
    go_to(calm, 3)
    come_to_rest(calm)
    assert sorted(calm.evaluate(DRAWN)) == sorted(rest)


@pytest.mark.parametrize(
    ("name", "themes"),
    [("index.html", ("light", "dark")), (LESSON, ("light",))],  # whose colours are the same
)
def test_every_step_is_accessible_and_fits(walk, name, themes):
    page = walk(name)
    for k in range(1, 8):
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(SIZES["desktop"])
        go_to(page, k)
        assert unsound(page, "desktop", "narrow", themes=themes, within="#walk") == [], k


@pytest.mark.parametrize("name", ["index.html", LESSON])
def test_without_scripts_and_on_paper_stand_seven_pictures_and_a_table(visit, http_root, name):
    page = visit(http_root + name, java_script_enabled=False).page
    stills = page.locator(".walk-stills svg:visible")
    assert stills.count() == 7
    assert all(one.get_attribute("aria-label") for one in stills.all())
    rows = page.locator(".walk-stills tr:visible")
    assert rows.count() == 1 + (7 if name == "index.html" else 6)
    expect(page.locator("#walk")).to_be_hidden()
    page = visit(http_root + name).page
    page.locator(".walk.is-live").wait_for()
    assert page.locator(".walk-stills svg:visible").count() == 0
    page.emulate_media(media="print")
    assert page.locator(".walk-stills svg:visible").count() == 7
    expect(page.locator("#walk")).to_be_hidden()


@pytest.mark.parametrize(("size", "kind"), [("desktop", "wide"), ("phone", "narrow")])
def test_the_still_picture_is_what_the_script_draws_in_its_place(visit, http_root, size, kind):
    # Before the script has run, the stage shows a picture of the same size.
    page = visit("about:blank", size=size).page
    page.route("**/all-of-index.js*", lambda route: route.abort())
    page.goto(http_root + "index.html")
    still = page.locator(f".walk-stage svg.walk-{kind}")
    expect(still).to_be_visible()
    texts = still.locator("text").all_text_contents()
    assert page.locator(".walk-stage > svg:visible[viewBox]").count() == 1
    before = [page.locator(name).bounding_box() for name in (".walk-stage", ".walk-nav")]
    page.unroute("**/all-of-index.js*")
    page.reload()
    page.locator(".walk.is-live").wait_for()
    assert [page.locator(name).bounding_box() for name in (".walk-stage", ".walk-nav")] == before
    assert sorted(page.locator(".walk-stage text").all_text_contents()) == sorted(texts)


def test_the_lesson_walks_with_its_own_numbers(walk):
    page = walk(LESSON)
    assert asker(page) == "journey"
    assert page.get_by_test_id("walk-sentence").count() == 0
    go_to(page, 7)
    # As the lesson prints them
    assert weights(page)[1] == pytest.approx(
        [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820], abs=5e-5
    )


def test_each_step_of_a_lesson_fits_the_first_screen_of_a_phone(walk):
    page = walk(LESSON, size="phone", has_touch=True, is_mobile=True)
    for number in range(1, 8):
        assert step(page) == number
        page.evaluate("scrollTo(0, 0)")
        button = page.get_by_test_id("walk-next").bounding_box()
        assert button["y"] + button["height"] <= 844
        page.get_by_test_id("walk-next").click()


def test_numbers_that_come_out_of_a_word_are_seen_once_they_are_apart(visit, http_root):
    page = visit("about:blank").page
    page.goto(http_root + "index.html")
    page.locator(".walk.is-live").wait_for()
    page.clock.install()
    page.clock.run_for(3_000)
    for _ in range(2):  # words become numbers, and these queries, keys and values
        page.get_by_test_id("walk-next").click()
        for _ in range(30):
            page.clock.run_for(50)
            assert page.evaluate(PILED) == 0
    assert step(page) == 3

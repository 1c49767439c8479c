"""What a finger, a mouse or a keyboard does to the page, and that the page lets it."""

import itertools
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from touch import swipe
from trained_models import attention_between
from workbench import cell, field, open_bench, shown, state

from experiments.playground import trained

SCRIPT = Path(__file__).with_name("gestures.js").read_text(encoding="utf-8")
PHONE = {"size": "phone", "has_touch": True, "is_mobile": True}


@pytest.mark.parametrize(("handle", "dx", "dy"), [("query", -30, -40), ("key.3", 25, 30)])
def test_a_finger_on_an_arrow_drags_it(visit, http_root, handle, dx, dy):
    page = open_bench(visit, http_root + "playground.html", **PHONE)
    grip = page.locator(f'#workbench [data-handle="{handle}"] .grip')
    page.locator('[data-part="plane-scores"]').scroll_into_view_if_needed()
    before, place = state(page), page.evaluate("scrollY")
    heard = swipe(page, grip, dx, dy)
    assert heard.count("pointermove") == 10
    assert heard[-1] == "pointerup"
    assert abs(page.evaluate("scrollY") - place) < 5
    assert state(page)["x"] != before["x"]


def test_a_finger_beside_the_arrows_scrolls_the_page(visit, http_root):
    page = open_bench(visit, http_root + "playground.html", **PHONE)
    plane = page.locator('[data-part="plane-values"]')
    plane.scroll_into_view_if_needed()
    before, place = state(page), page.evaluate("scrollY")
    swipe(page, plane, 0, -120)
    page.wait_for_function("place => scrollY > place + 50", arg=place)
    assert state(page) == before


# Where a refused entry is, and what is pressed next
REFUSED = {"x.1.0": "1000", "W_key.0.0": "", "sentence": "alone"}


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_the_first_click_after_a_refused_entry_counts(visit, http_root, size):
    page = open_bench(visit, http_root + "playground.html", size=size)
    fold = page.get_by_text("Gradients of the loss")
    is_open = True
    others = cell(page, "map.4.2"), page.get_by_role("button", name="Draw random")
    for (name, text), part in itertools.product(REFUSED.items(), (fold, *others)):
        wrong = page.locator('[data-part="sentence"]') if name == "sentence" else field(page, name)
        before = state(page)
        wrong.fill(text)
        expect(page.get_by_role("alert")).to_contain_text("xpected" if name != "sentence" else "2")
        part.evaluate("part => part.scrollIntoView({ block: 'center' })")
        box = part.bounding_box()
        page.mouse.move(box["x"] + 20, box["y"] + 3)  # near its upper edge
        page.mouse.down()
        page.wait_for_timeout(60)
        page.mouse.up()
        expect(page.get_by_role("alert")).to_have_text("")
        assert wrong.get_attribute("aria-invalid") is None, name
        if part is fold:
            is_open = not is_open
            expect(page.locator("#bench-gradients")).to_have_js_property("open", is_open)
        else:
            assert state(page) != before, name


def test_a_sentence_is_read_with_trained_vectors(visit, root):
    seen = visit(root + "playground.html")
    page = seen.page
    page.locator("#workbench").wait_for()
    page.get_by_label("Start from").select_option("trained")
    words = ["an", "extraordinary", "and", "unforgettable", "film"]
    page.get_by_label("Your sentence").fill(" ".join(words))
    expect(page.get_by_test_id("weight")).to_have_count(25)
    wanted = trained.sentence(words)["x"]
    for row, numbers in zip(state(page)["x"], wanted, strict=True):
        assert row == pytest.approx(numbers, rel=2e-3, abs=2e-3)
    weight = attention_between(" ".join(words))[1, 3]
    assert shown(page, "map.1.3") == [f"{weight:.2f}"]
    assert seen.troubles(root) == []


def test_the_menu_says_what_the_page_started_from(visit, http_root):
    page = open_bench(visit, http_root + "playground.html")
    page.get_by_label("Start from").select_option("trained")
    text = page.evaluate("lab.benchState.encode(lab.workbench.bench.state())")
    page = open_bench(visit, http_root + f"playground.html#bench={text}")
    menu = page.get_by_label("Start from")
    linked = state(page)
    expect(menu.locator("option:checked")).to_have_text("a link")
    expect(page.locator("#workbench [data-part=drawn]")).to_contain_text("came from a link")
    field(page, "x.0.0").fill("2")
    page.get_by_test_id("reset-workbench").click()
    assert state(page) == linked
    menu.select_option("lesson")
    page.get_by_test_id("reset-workbench").click()
    assert state(page)["words"][0] == "Your"
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
    expect(menu.locator("option:checked")).to_have_text("a link")
    assert state(page) == linked
    # The link's matrices are the trained ones, so new words have trained vectors.
    page.get_by_label("Your sentence").fill("a masterpiece")
    expect(page.get_by_test_id("weight")).to_have_count(4)
    wanted = trained.sentence(["masterpiece"])["x"][0]
    assert state(page)["x"][1] == pytest.approx(wanted, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize(
    ("size", "spellings"),
    [
        ("desktop", ["#bench={}", "#bench%3D{}", "#bench={}).", "#&bench={}"]),
        ("phone", ["#bench={}"]),
    ],
)
def test_a_link_shows_what_it_holds(visit, http_root, size, spellings):
    page = open_bench(visit, http_root + "playground.html", size=size)
    text = page.evaluate("lab.benchState.encode({ ...lab.workbench.bench.state(), at: 4 })")
    for spelling in spellings:
        page.goto("about:blank")
        page.goto(http_root + "playground.html" + spelling.format(text))
        expect(page.locator("#workbench tr.asks th")).to_have_text("one")
        page.wait_for_function(
            "Math.abs(document.querySelector('#workbench').getBoundingClientRect().top) < 80"
        )


def test_the_address_of_the_state_keeps_the_place(visit, http_root):
    page = open_bench(visit, http_root + "playground.html#takeaways")
    page.evaluate("lab.workbench.bench.set({ at: 4 })")
    page.wait_for_url("**#takeaways&bench=1.*")
    changed, place = state(page), page.evaluate("scrollY")
    page.reload()
    page.locator("#workbench").wait_for()
    assert state(page) == changed
    chosen = page.get_by_label("Start from").locator("option:checked")
    expect(chosen).to_have_text("a trained model")
    page.wait_for_function("place => Math.abs(scrollY - place) < 50", arg=place)
    other = open_bench(visit, page.url)
    other.wait_for_function(
        "Math.abs(document.querySelector('#takeaways').getBoundingClientRect().top) < 80"
        "|| scrollY + innerHeight > document.documentElement.scrollHeight - 2"
    )


def test_what_was_typed_on_the_home_page_is_not_lost(visit, http_root):
    page = visit(http_root + "index.html").page
    review = "A dull start, but a wonderful ending"
    page.get_by_test_id("review-input").fill(review)
    page.get_by_role("link", name="Compare three models").click()
    page.wait_for_url("**/your_review.html")
    expect(page.locator("#review-lab").get_by_test_id("review-input")).to_have_value(review)
    page.go_back()
    expect(page.get_by_test_id("review-input")).to_have_value(review)
    expect(page.get_by_test_id("probability")).to_contain_text("positive")


def test_the_slider_does_not_run_away(bench):
    field(bench, "x.1.0").fill("80")
    slider = bench.locator('[data-part="slider"]')
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    bench.mouse.move(box["x"] + box["width"] - 8, y)
    bench.mouse.down()
    values = []
    for share in (0.85, 0.8, 0.75, 0.7):
        bench.mouse.move(box["x"] + share * box["width"], y)
        values.append(state(bench)["x"][1][0])
    bench.mouse.up()
    steps = [one - other for one, other in itertools.pairwise(values)]
    assert steps == pytest.approx([steps[0]] * 3, abs=1.5)


def test_in_a_field_the_arrow_keys_move_the_caret_before_they_lead_on(bench):
    number = field(bench, "x.0.1")
    number.fill("0.25")
    for key in ("Home", "ArrowRight", "ArrowRight", "Delete"):
        number.press(key)
    expect(number).to_have_value("0.5")
    number.press("End")
    number.press("Backspace")
    number.press_sequentially("75")
    expect(number).to_have_value("0.75")
    number.press("ArrowRight")
    expect(field(bench, "x.0.2")).to_be_focused()
    for key, name in (("ArrowLeft", "x.0.1"), ("ArrowLeft", "x.0.0"), ("ArrowRight", "x.0.1")):
        bench.keyboard.press(key)
        expect(field(bench, name)).to_be_focused()
    bench.keyboard.press("ArrowUp")
    expect(number).to_have_value("0.8")
    assert state(bench)["x"][0] == [0.43, 0.8, 0.89]


def test_paper_keeps_the_colours_that_mean_something_and_nothing_else(visit, http_root):
    page = open_bench(visit, http_root + "playground.html", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    look = "part => getComputedStyle(part).printColorAdjust"
    for part in (cell(page, "map.0.0"), cell(page, "weight.0")):
        assert part.evaluate(look) == "exact"
    ink = cell(page, "query.0").evaluate("part => getComputedStyle(part).color")
    assert ink == "rgb(168, 62, 6)"  # as on a light page
    assert not page.locator("#workbench .lab-where").is_visible()
    page = visit("about:blank").page
    page.route("**/lab-*.js", lambda route: route.abort())
    page.goto(http_root + "your_review.html")
    page.emulate_media(media="print")
    assert page.locator(".lab-scale").first.evaluate(look) == "exact"
    expect(page.locator(".lab-verdict .lab-small").first).to_be_hidden()  # no model, no verdict


@pytest.mark.parametrize("name", re.findall(r'^  "(.*)":', SCRIPT, re.MULTILINE))
def test_a_page_does_what_it_promises(visit, http_root, name):
    page = visit(http_root + name.partition(": ")[0]).page
    page.evaluate(f"async (name) => {{ {SCRIPT} await gestures[name](); }}", name)

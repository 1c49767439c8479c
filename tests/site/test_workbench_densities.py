"""The workbench shows as much as its reader asks for, and sets missions."""

import json
import re

import pytest
from accessibility import unsound
from playwright.sync_api import expect
from touch import middle
from workbench import cell, field, show, state

SEEN = """(selector) => [...document.querySelectorAll(`#workbench ${selector}`)].filter((one) =>
  one.checkVisibility() && !one.closest("details:not([open]) > div"))"""
NUMBERS, CONTROLS = "[data-name]", ":is(button, input, select, summary, textarea)"


def count(page, selector):
    return page.evaluate(f"(selector) => ({SEEN})(selector).length", selector)


@pytest.fixture
def first(visit, http_root):
    """Open the playground as somebody who was never here."""
    page = visit(http_root + "playground.html", size="laptop", is_first=True).page
    page.locator("#workbench").wait_for()
    return page


def test_who_comes_first_sees_few_numbers_and_few_controls(first):
    expect(first.locator("[data-testid=density]:checked")).to_have_attribute("data-value", "look")
    assert 36 <= count(first, NUMBERS) <= 60
    assert count(first, f".bench > :not(.bench-missions) {CONTROLS}") <= 7
    first.set_viewport_size({"width": 390, "height": 844})
    assert count(first, NUMBERS) <= 60
    assert first.locator("#workbench").bounding_box()["height"] <= 844


def test_training_begins_with_a_target_and_ends_with_a_loss_in_one_window(first):
    show(first, "train", folded=True)
    assert count(first, NUMBERS) <= 60
    first.locator("#workbench").evaluate("box => box.scrollIntoView()")
    target, steps = (first.get_by_role("button", name=name) for name in ("Target:", "A hundred"))
    before = first.locator(".bench-map").bounding_box()["y"]
    target.click()
    steps.click()
    loss = cell(first, "loss")
    expect(loss).not_to_have_text("none")
    assert abs(first.locator(".bench-map").bounding_box()["y"] - before) <= 24  # one looks at it
    for part in (target, steps, loss, cell(first, "map.5.5")):
        assert part.bounding_box()["y"] < 900 - 20


def test_on_a_phone_learning_stands_above_the_weights_that_it_changes(visit, http_root):
    page = visit(http_root + "playground.html", size="phone").page
    show(page, "train", folded=True)
    parts = ".bench-panel > .lab-buttons", ".bench-learn", ".bench-map"
    places = [page.locator(name).bounding_box()["y"] for name in parts]
    assert places == sorted(places)


@pytest.mark.parametrize("density", ["look", "change", "train"])
def test_each_density_is_accessible_and_fits(bench, density):
    show(bench, density)
    assert unsound(bench, "desktop", "phone", within="#workbench") == []


def test_another_density_keeps_the_state_and_is_kept_itself(bench):
    show(bench, "change")
    bench.locator("#workbench [data-part=matrices]").evaluate("part => (part.open = false)")
    expect(field(bench, "x.0.0")).to_be_hidden()  # only those of the word that was chosen
    field(bench, "x.1.0").fill("1.5")
    weight = cell(bench, "map.1.1").get_attribute("data-value")
    bench.get_by_test_id("density").nth(1).press("ArrowRight")
    expect(bench.locator("[data-testid=density]:checked")).to_have_attribute("data-value", "train")
    expect(field(bench, "x.0.0")).to_be_hidden()
    bench.get_by_text("All numbers", exact=True).click()
    expect(field(bench, "x.0.0")).to_be_visible()
    show(bench, "look")
    assert cell(bench, "map.1.1").get_attribute("data-value") == weight
    bench.wait_for_url("**#bench=1.*")
    bench.reload()
    bench.locator("#workbench").wait_for()
    expect(bench.locator("[data-testid=density]:checked")).to_have_attribute("data-value", "look")
    assert cell(bench, "map.1.1").get_attribute("data-value") == weight


def test_a_mission_has_its_number_whatever_else_is_shown(visit, http_root):
    numbers = """() => [...document.querySelectorAll(".bench-missions button")]
      .filter((made) => made.checkVisibility())
      .map((made) => getComputedStyle(made, "::before").content.split(" / ")[0])"""
    page = visit(http_root + "playground.html", size="phone").page
    show(page, "change", folded=True)
    assert page.evaluate(numbers) == ['"2/5"', '"3"', '"4"']
    page.set_viewport_size({"width": 1440, "height": 900})
    assert page.evaluate(numbers) == [f'"{number}"' for number in range(1, 6)]


def test_a_mission_marks_itself_done_and_the_mark_is_kept(bench):
    missions = bench.locator(".bench-missions li")
    done = bench.locator(".bench-missions .mark")
    assert missions.count() == 5
    assert done.count() == 0
    bench.locator("#workbench [data-part=causal]").check()
    expect(done).to_have_text([" ✓ done"])
    bench.locator("#workbench [data-part=causal]").uncheck()
    bench.reload()
    expect(done).to_have_text([" ✓ done"])
    assert missions.filter(has=bench.locator(".mark")).inner_text().startswith("Change")


def test_a_mission_that_is_pressed_shows_what_it_needs(first):
    first.get_by_label("Your sentence").fill("the good film was not the good one")
    expect(first.locator(".bench-missions .mark")).to_have_text([" ✓ done"])
    expect(first.get_by_test_id("weight")).to_have_count(64)
    twins = first.locator(".bench-map tr.twin .name")
    expect(twins).to_have_text(["the", "the"])  # "Do its two rows differ?"
    assert first.get_by_test_id("weight").first.bounding_box()["width"] >= 40  # to look at
    first.locator(".bench-missions button").nth(1).click()
    expect(first.locator("[data-testid=density]:checked")).to_have_attribute("data-value", "change")
    expect(twins).to_have_count(0)
    said = first.locator(".bench-missions .next .text")
    weight = cell(first, "map.2.7").get_attribute("data-value")
    expect(said).to_contain_text("Make “film” attend only to “one”")
    expect(said).to_contain_text(f"Now it is {float(weight):.2f}.")
    first.locator(".bench-missions button").nth(4).click()
    expect(first.locator("[data-testid=density]:checked")).to_have_attribute("data-value", "train")
    expect(first.locator(".bench-missions .next")).to_contain_text("Set a target")
    expect(first.locator(".bench-missions button").first).to_contain_text("They are the same")


def test_what_a_sentence_or_a_row_does_by_itself_is_no_deed(first):
    sentence, done = first.get_by_label("Your sentence"), first.locator(".bench-missions .mark")
    said = first.locator(".bench-missions .next .text")
    met = re.compile(r"Now it is (0\.9\d|1\.00)\.")
    sentence.fill("zorblax qwerty")  # unknown words, whose weights are equal
    expect(first.get_by_test_id("weight")).to_have_count(4)
    expect(done).to_have_count(0)
    show(first, "change")
    sentence.fill("the plot was boring")
    expect(said).to_contain_text("Make “was” attend only to “boring”")
    rows = first.locator("#workbench [data-part=map] th")
    rows.nth(1).click()
    expect(said).to_contain_text("Make “plot” attend only to “boring”")
    expect(said).to_contain_text(met)
    rows.nth(2).click()
    sentence.fill("a boring film")  # to which the model gives more than 0.9 at once
    expect(said).to_contain_text(met)
    first.locator("[data-part=x] input:visible").first.press("ArrowUp")
    expect(done).to_have_count(0)
    first.evaluate("lab.workbench.bench.set({ temperature: 3 })")
    expect(said).to_contain_text(re.compile(r"Now it is 0\.[0-8]\d\."))
    first.evaluate("lab.workbench.bench.set({ temperature: 0.1 })")
    expect(done).to_have_count(1)


def test_on_a_phone_what_trains_stays_in_sight_of_the_weights(visit, http_root):
    page = visit(http_root + "playground.html", size="phone").page
    show(page, "train", folded=True)
    page.get_by_role("button", name="Target:").click()
    top = page.locator(".bench-map").bounding_box()["y"]
    assert top > 450
    page.evaluate("by => scrollBy({ top: by, behavior: 'instant' })", top - 150)
    for part in (page.get_by_role("button", name="A hundred steps"), cell(page, "map.2.2")):
        place = part.bounding_box()
        assert 40 <= place["y"] <= 844 - place["height"]
    page.evaluate("scrollTo(0, 0)")
    page.get_by_text("Take it away").click()
    page.get_by_role("button", name="Save as SVG, dark").click(trial=True)  # nothing lies above it


def test_each_density_names_a_mission_of_its_own_until_all_of_them_are_done(first):
    for density in ("change", "train", "look"):
        show(first, density)
        expect(first.locator(".bench-missions .next b")).to_have_text(density, ignore_case=True)
    first.locator(".bench-missions button").nth(2).click()
    expect(first.locator(".bench-missions .ahead")).to_have_count(0)  # a press alone does nothing
    show(first, "look")
    first.locator("[data-part=sentence]").fill("good film good music")
    first.locator("[data-part=sentence]").press("Enter")
    expect(first.locator(".bench-missions .mark")).to_have_count(1)
    expect(first.locator(".bench-missions .ahead b")).to_have_text("Change")  # what to do next
    show(first, "change")
    show(first, "look")  # whose only mission is done
    expect(first.locator(".bench-missions .next b")).to_have_text("change", ignore_case=True)


def test_all_steps_of_a_word_fit_on_a_phone_and_the_explanation_has_all_digits(visit, http_root):
    page = visit(http_root + "playground.html", size="phone").page
    show(page, "change")
    table = page.locator("#bench-steps table").bounding_box()
    box = page.locator("#bench-steps").bounding_box()
    assert table["width"] <= box["width"]
    weight = cell(page, "weight.4")
    assert re.fullmatch(r"0\.\d\d", weight.inner_text())
    weight.click()
    expect(page.get_by_test_id("origin")).to_have_text(re.compile(r"≈ 0\.\d{4}$"))
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(weight).to_have_text(re.compile(r"^0\.\d{4}$"))


def test_a_pressed_number_keeps_its_explanation_until_it_is_closed_and_comes_again(bench):
    show(bench, "change")
    where, close = bench.get_by_test_id("origin"), bench.locator("[data-part=where-close]")
    asked, number = bench.locator("#workbench .asked"), cell(bench, "score.2")
    for dismiss in (close.click, lambda: bench.keyboard.press("Escape")):
        cell(bench, "score.1").hover()  # before a press, pointing is enough
        expect(where).to_contain_text("key of “journey”")
        number.click()
        cell(bench, "score.1").hover()
        expect(where).to_contain_text("key of “starts”")
        number.hover()
        dismiss()
        expect(asked).to_have_count(0)
        expect(where).to_have_text("")
        expect(bench.locator("[data-part=where-box]")).to_be_hidden()
        expect(close).to_be_hidden()
        assert number.evaluate("cell => cell === document.activeElement")
    cell(bench, "map.2.4").click()
    bench.locator("#workbench [data-part=map] th").nth(3).click()
    expect(asked).to_have_count(0)  # another row is asked for


def test_the_numbers_to_set_are_those_of_the_word_that_moves(visit, http_root):
    page = visit(http_root + "playground.html").page
    show(page, "change", folded=True)
    name = page.locator("[data-part=x] tr:visible .name")
    sliders = page.locator("[data-part=x] tr:visible").get_by_role("slider")
    expect(name).to_have_text("pizza")
    handle = page.locator("[data-part=plane-scores] .handle[aria-label*=rather]")
    before = field(page, "x.4.0").input_value()
    handle.press("ArrowRight")
    expect(name).to_have_text("rather")
    expect(sliders).to_have_count(3)
    sliders.nth(2).fill("1.5")
    assert page.evaluate("lab.workbench.bench.state().x[4][2]") == 1.5
    sliders.nth(2).fill("-1.5")
    expect(field(page, "x.4.2")).to_have_value("−1.5")  # with the minus of all other numbers
    sliders.nth(2).fill("1.5")
    expect(field(page, "x.4.2")).to_have_value("1.5")
    expect(page.locator("[data-part=slider]")).to_be_hidden()
    field(page, "x.4.1").focus()  # which shows more decimals
    field(page, "x.4.1").fill("0")
    field(page, "x.4.1").press("ArrowDown")
    expect(field(page, "x.4.1")).to_have_value(re.compile("^−0"))
    expect(field(page, "x.4.0")).not_to_have_value(before)
    page.locator("#workbench [data-part=map] th").first.click()
    expect(name).to_have_text("the")


def test_the_largest_gradient_of_a_matrix_has_the_full_tint(bench):
    bench.get_by_role("button", name="Target:").click()
    values = "cells => cells.map(cell => Math.abs(cell.dataset.value))"
    shares = "cells => cells.map(cell => Number(cell.style.getPropertyValue('--share')))"
    for name in ("dW_query", "dKey", "dValue"):
        cells = bench.locator(f'#bench-gradients [data-name^="{name}."]')
        found, most = cells.evaluate_all(values), max(cells.evaluate_all(values)) or 1
        assert cells.evaluate_all(shares) == pytest.approx([x / most for x in found], abs=1e-3)


def test_a_mission_begins_without_what_another_one_needed(bench):
    bench.evaluate("lab.workbench.bench.set({ temperature: 10, isCausal: true })")
    bench.locator(".bench-missions button").nth(4).click()
    found = state(bench)
    assert (found["temperature"], found["isCausal"]) == (1, False)


def test_the_weight_that_a_mission_is_about_is_framed_until_it_is_done(first):
    wanted = first.locator("#workbench [data-part=map] .wanted")
    key = first.locator("#workbench .handle.wanted")
    assert wanted.count() == key.count() == 0
    show(first, "change", folded=True)
    expect(wanted).to_have_attribute("data-name", "map.2.5")
    expect(key).to_have_attribute("data-handle", "key.5")
    first.locator("#workbench [data-part=map] th").first.click()
    expect(wanted).to_have_attribute("data-name", "map.0.5")
    first.locator(".bench-missions button").nth(2).click()  # that of the causal mask
    expect(wanted).to_have_count(0)
    first.locator(".bench-missions button").nth(1).click()
    expect(wanted).to_have_count(1)
    first.evaluate("doneStore.mark('mission-only')")
    expect(wanted).to_have_count(0)
    expect(key).to_have_count(0)


def test_what_a_step_would_take_as_its_target_is_framed_until_there_is_one(first):
    wanted = first.locator("#workbench [data-part=map] .wanted")
    show(first, "train", folded=True)
    expect(wanted).to_have_attribute("data-name", "map.2.3")
    first.locator("#workbench [data-part=one-step]").click()
    expect(wanted).to_have_count(0)
    assert state(first)["targets"] == [[0, 2, 3]]
    first.evaluate("lab.workbench.bench.set({ targets: [], forbidden: [[2, 3]] })")
    expect(wanted).to_have_count(0)  # what is masked is no target, and has no loss
    expect(first.locator("[data-part=curve-said]")).to_have_text("no step yet")


def test_whoever_moves_an_arrow_reads_what_moves_with_it(first):
    hint = first.locator("#workbench [data-part=hint]")
    show(first, "change")
    expect(hint).to_contain_text("Choose a row")
    field(first, "x.2.0").fill("0.9")
    expect(hint).to_have_text("“pizza” has another embedding, so its query, key and value moved.")
    field(first, "x.2.0").fill("1.5")
    expect(hint).to_have_text(
        "The key of “pizza” moved with its query, so “pizza” gives itself the most, 0.95."
    )
    field(first, "x.2.0").fill("0.9")
    field(first, "x.4.1").click()  # selects the old number once it has all its digits
    field(first, "x.4.1").fill("1.9")
    expect(hint).to_contain_text("2 words have other embeddings")
    first.locator("#workbench [data-part=undo]").click()
    first.locator("#workbench [data-part=undo]").click()
    expect(hint).to_contain_text("Choose a row")
    first.get_by_label("Your sentence").fill("a tasty pizza")
    expect(first.locator("#workbench [data-part=map] tr")).to_have_count(3)
    expect(hint).to_contain_text("Choose a row")
    field(first, "x.0.0").fill("0.9")
    expect(hint).to_contain_text("“a” has another embedding")  # it led its row before, too


def test_a_new_sentence_gives_the_numbers_to_the_word_that_asks(first):
    show(first, "change")
    moves = first.locator("#workbench [data-part=map] tr.moves .name")
    expect(moves).to_have_text("pizza")
    first.locator("#workbench [data-handle='key.1']").focus()
    first.keyboard.press("ArrowUp")
    expect(moves).to_have_text("cheap")
    first.get_by_label("Your sentence").fill("dogs chase cats and cats chase mice")
    asks = first.locator("#workbench [data-part=map] tr.asks .name").inner_text()
    expect(moves).to_have_text(asks)


def test_what_is_said_of_unknown_words_does_not_hide_what_to_do(first):
    first.get_by_label("Your sentence").fill("my tired zorblat slept")
    expect(first.locator("#workbench [data-part=drawn]")).to_contain_text("zorblat")
    hint = first.locator("#workbench [data-part=hint]")
    expect(hint).to_be_visible()
    first.get_by_label("Your sentence").fill("one")
    expect(first.get_by_role("alert")).to_contain_text("2 to 12 words")
    expect(hint).to_be_hidden()


def test_what_is_handed_over_is_shown_with_its_numbers_or_for_a_target_of_it(first):
    show(first, "train", folded=True)
    inside = first.locator("#workbench").locator
    shown = [
        inside(one).first for one in ("[data-part=plane-values]", ".for-context", "td.context")
    ]
    for part in shown:
        expect(part).to_be_hidden()
    settings = first.locator("summary", has_text="Targets and learning rate")
    settings.click()
    for part in shown:
        expect(part).to_be_visible()
    shown[0].click(position={"x": 60, "y": 40})
    settings.click()
    expect(shown[0]).to_be_visible()  # the target is in it
    first.get_by_role("button", name="Undo").click()
    expect(shown[0]).to_be_hidden()
    settings.click()
    show(first, "change", folded=True)  # where these settings are out of sight
    for part in (shown[0], shown[2]):
        expect(part).to_be_hidden()
    first.get_by_text("Step by step", exact=True).click()
    for part in (shown[0], shown[2]):
        expect(part).to_be_visible()


def test_what_is_shown_for_a_sentence_that_is_refused_is_pale(bench):
    weights, sentence = bench.locator("#workbench .bench-map"), bench.get_by_label("Your sentence")
    sentence.fill("one")
    expect(weights).to_have_css("opacity", "0.4")
    sentence.fill("one two")
    expect(weights).to_have_css("opacity", "1")
    show(bench, "change")
    field(bench, "x.1.0").fill("many")
    expect(bench.locator("#workbench [data-part=problem]")).not_to_have_text("")
    expect(weights).to_have_css("opacity", "1")  # it is that of the sentence


def test_planes_have_titles_and_the_heads_of_short_words_are_whole(bench):
    titles = bench.locator("#workbench figcaption").all_inner_texts()
    assert titles == ["Do keys fit the query?", "What is handed over"]
    bench.get_by_label("Your sentence").fill("a b c d e f g h i j k l")
    heads = bench.locator(".bench-map th[scope=col] span")
    expect(heads).to_have_count(12)
    assert all(head.bounding_box()["height"] >= 12 for head in heads.all())


def test_what_was_changed_can_be_reset_where_one_looks(first):
    reset = first.get_by_test_id("reset-workbench")
    expect(reset).to_be_hidden()
    show(first, "train", folded=True)
    before = state(first)
    first.get_by_role("button", name="One step").click()
    show(first, "look")
    reset.click()
    assert state(first)["heads"] == before["heads"]


@pytest.mark.parametrize("density", ["look", "change", "train"])
def test_an_explanation_that_comes_moves_nothing(first, density):
    show(first, density, folded=True)
    below = first.locator("#workbench .bench-from")
    before = below.bounding_box()
    cell(first, "map.2.3").hover()
    expect(first.get_by_test_id("origin")).to_contain_text("weight that")
    assert below.bounding_box() == before


def test_what_was_refused_is_said_where_nothing_moves(bench):
    show(bench, "change")
    before = bench.locator(".bench-map").bounding_box()
    field(bench, "x.1.0").fill("many")
    expect(bench.locator("#workbench [data-part=problem]")).not_to_have_text("")
    assert bench.locator(".bench-map").bounding_box() == before
    cell(bench, "map.0.3").click()  # works at once
    assert json.loads(cell(bench, "map.0.3").get_attribute("data-value")) > 0
    expect(bench.locator("#workbench .asks th")).to_have_text("Your")


def test_a_hundred_steps_take_the_next_word_where_there_is_no_target(first):
    show(first, "train", folded=True)
    first.get_by_role("button", name="A hundred steps").click()
    expect(first.locator("[data-part=hint]")).to_contain_text("“pizza” gives “was” 0.9")
    assert first.evaluate("lab.workbench.bench.state().targets") == [[0, 2, 3]]
    first.get_by_role("button", name="Undo").click()  # the target came with its steps
    assert first.evaluate("lab.workbench.bench.state().targets") == []
    first.get_by_text("Masks, scale and temperature").click()
    first.get_by_label("causal mask").check()
    first.get_by_role("button", name="A hundred steps").click()
    said = first.get_by_role("alert")
    expect(said).to_contain_text("“pizza” can't attend to “was”, which is masked")
    assert first.evaluate("lab.workbench.bench.state().targets") == []
    first.get_by_label("causal mask").uncheck()
    first.get_by_role("button", name="One step").click()
    first.get_by_label("causal mask").check()  # all targets are masked
    expect(first.get_by_role("button", name="One step")).to_be_disabled()


def test_the_mission_of_training_leaves_the_click_that_sets_a_target(first):
    show(first, "train", folded=True)
    target, query = (
        first.locator(f"[name=bench-tool][value={tool}]") for tool in ("target", "query")
    )
    expect(target).to_be_checked()
    first.locator(".bench-missions button").nth(4).click()
    expect(target).to_be_checked()
    cell(first, "map.0.1").click()
    first.get_by_role("button", name="One step").click()
    cell(first, "map.1.2").click()  # the next target, for which nothing has to be chosen again
    assert state(first)["targets"] == [[0, 0, 1], [0, 1, 2]]
    show(first, "change", folded=True)
    expect(query).to_be_checked()


def test_a_finger_does_what_it_presses_and_nothing_opens_below_it(visit, http_root):
    page = visit(http_root + "playground.html", size="phone", has_touch=True, is_mobile=True).page
    where = page.locator(".lab-where")
    for density, target in (("change", []), ("train", [[0, 5, 0]])):
        show(page, density, folded=True)
        x, y = middle(cell(page, "map.5.0"))
        page.set_viewport_size({"width": 390, "height": int(y) + 40})  # an explanation opens there
        page.touchscreen.tap(x, y)  # once: a locator would try again
        expect(page.locator("#workbench .asks th")).to_have_text("tasty")
        assert state(page)["targets"] == target
        expect(where).to_be_visible(visible=density == "change")
        page.locator("#workbench [data-part=map] th").first.click()


def test_what_learning_reaches_is_no_deed_of_another_mission(first):
    show(first, "train", folded=True)
    cell(first, "map.2.5").click()  # the weight of the mission in "Change"
    first.get_by_role("button", name="A hundred steps").click()
    expect(first.locator("[data-part=hint]")).to_contain_text("“pizza” gives “tasty” 0.9")
    done = first.locator(".bench-missions .mark")
    expect(done).to_have_count(1)
    expect(first.locator(".bench-missions .next b")).to_have_text("Train")
    # What was learned stays, without its target.
    first.locator(".bench-missions button").nth(1).click()
    expect(done).to_have_count(1)
    expect(first.locator(".bench-missions .next")).to_contain_text("Now it is 0.9")
    first.evaluate("lab.workbench.bench.set({ temperature: 3 })")
    first.evaluate("lab.workbench.bench.set({ temperature: 1 })")  # undone, and done
    expect(done).to_have_count(2)


def test_a_row_has_one_target_and_the_button_names_it(first):
    show(first, "train", folded=True)
    button, asks = first.get_by_role("button", name="Target:"), first.locator("#workbench .asks th")
    expect(button).to_have_attribute("aria-pressed", "false")
    cell(first, "map.3.0").click()
    expect(asks).to_have_text("was")
    expect(button).to_have_text("Target: “the”")
    expect(button).to_have_attribute("aria-pressed", "true")
    cell(first, "map.3.5").click()  # in its place: a row's weights add up to 1
    expect(button).to_have_text("Target: “tasty”")
    assert state(first)["targets"] == [[0, 3, 5]]
    cell(first, "map.3.4").click(modifiers=["Shift"])  # unless one asks for both
    assert state(first)["targets"] == [[0, 3, 5], [0, 3, 4]]
    button.click()
    assert state(first)["targets"] == []
    expect(button).to_have_text("Target: “rather”")


def test_the_curve_has_its_own_proportions_before_the_first_step(first):
    show(first, "train", folded=True)
    shape = """svg => [svg.viewBox.baseVal.width / svg.viewBox.baseVal.height,
      svg.clientWidth / svg.clientHeight]"""
    drawn, seen = first.locator("[data-part=curve]").evaluate(shape)
    assert drawn == pytest.approx(seen, rel=0.02)
    # What the target of the button would cost is said before it is set.
    said = first.locator("[data-part=curve-said]")
    expect(said).to_have_text(re.compile(r"^loss \d\.\d+ before the first step$"))
    wanted = said.inner_text().split()[1]
    expect(first.get_by_role("grid", name="Loss")).to_be_hidden()
    first.get_by_role("button", name="One step").click()
    expect(said).to_have_text(f"{wanted} before 1 step")
    expect(first.get_by_role("grid", name="Loss")).to_be_visible()


def test_one_press_sets_a_target_and_another_one_reaches_it(first):
    show(first, "train", folded=True)
    target = first.get_by_role("button", name="Target:")
    expect(target).to_have_text("Target: “was”")
    target.click()
    targets = "lab.workbench.bench.state().targets"
    assert first.evaluate(targets) == [[0, 2, 3]]
    first.get_by_role("button", name="A hundred steps").click()
    expect(first.locator("[data-part=hint]")).to_contain_text("“pizza” gives “was” 0.9")
    expect(first.locator(".bench-missions .mark")).to_have_count(1)
    first.locator("#workbench [data-part=map] th").first.click()
    expect(target).to_have_text("Target: “cheap”")
    target.click()
    assert first.evaluate(targets) == [[0, 2, 3], [0, 0, 1]]
    first.locator("#workbench [data-part=settings]").evaluate("part => (part.open = true)")
    first.get_by_role("button", name="The next word in all rows").click()
    assert first.evaluate(targets) == [[0, i, (i + 1) % 6] for i in range(6)]

"""The workbench: the lessons' digits, where each number comes from, what a reader can change."""

from accessibility import unsound
from playwright.sync_api import expect
from workbench import SIX, cell, field, open_bench, show, shown, state

from attention.exercises import EXERCISES

LESSON = "gallery/core/plot_1_qkv_derivation.html"


def test_it_starts_with_the_digits_of_the_first_lesson_or_of_the_exercises(bench):
    assert shown(bench, "query.0", "query.1") == ["0.4306", "1.4551"]
    assert shown(bench, "key.1.0", "key.1.1") == ["0.4433", "1.1419"]
    assert shown(bench, "value.1.0", "value.1.1") == ["0.3951", "1.0037"]
    scores = ["1.2705", "1.8524", "1.8111", "1.0795", "0.5577", "1.5440"]
    assert shown(bench, *(f"score.{j}" for j in SIX)) == scores
    weights = ["0.1500", "0.2264", "0.2199", "0.1311", "0.0906", "0.1820"]
    assert shown(bench, *(f"weight.{j}" for j in SIX)) == weights
    assert shown(bench, "context.0", "context.1") == ["0.3061", "0.8210"]
    assert shown(bench, "context.1.0", "context.1.1") == ["0.31", "0.82"]
    bench.get_by_label("Start from").select_option("exercises")
    contexts = [f"{number:.2f}" for row in EXERCISES["all-contexts"].right for number in row]
    assert shown(bench, *(f"context.{i}.{c}" for i in SIX for c in range(2))) == contexts


def test_words_that_stay_keep_their_vectors_and_the_drawn_ones_are_named(bench):
    bench.get_by_label("Start from").select_option("trained")
    drawn = bench.locator('[data-part="drawn"]')
    expect(drawn).to_have_text("")
    before = state(bench)
    sentence = bench.get_by_label("Your sentence")
    sentence.focus()
    # Typed letter by letter, the last word is for a moment a shorter one.
    sentence.press("End")
    for _ in range(2):
        sentence.press("Backspace")
    sentence.press_sequentially(before["words"][-1][-2:] + " flabbergasting")
    after = state(bench)
    assert after["words"] == [*before["words"], "flabbergasting"]
    assert after["x"][:-1] == before["x"]
    expect(drawn).to_have_text("All unknown words share one vector, here: flabbergasting.")
    bench.get_by_label("Start from").select_option("lesson")
    sentence.fill("Your other things")
    expect(drawn).to_have_text("Vectors drawn from letters: other, things.")
    sentence.fill("other things")
    expect(drawn).to_have_text("Vectors drawn from letters: all words.")
    bench.get_by_role("button", name="Undo").click()
    expect(drawn).to_have_text("")


def test_a_changed_number_changes_all_that_follows_and_reset_and_undo_take_it_back(bench):
    names = ["score.0", "weight.5", "context.1", "map.0.0"]
    before = shown(bench, *names)
    drawn = bench.locator('[data-part="plane-scores"]').inner_html()
    for take_back in ("Undo", "Reset"):
        field(bench, "W_key.0.1").fill("3")
        assert all(a != b for a, b in zip(before, shown(bench, *names), strict=True))
        assert bench.locator('[data-part="plane-scores"]').inner_html() != drawn
        bench.locator("#workbench").get_by_role("button", name=take_back).click()
        assert shown(bench, *names) == before
        bench.wait_for_function(
            "drawn => document.querySelector('[data-part=plane-scores]').innerHTML === drawn",
            arg=drawn,
        )
        assert field(bench, "W_key.0.1").input_value() == "0.1"


def test_undo_goes_back_gesture_by_gesture(bench):
    undo = bench.get_by_role("button", name="Undo")
    expect(undo).to_be_disabled()
    field(bench, "x.0.0").fill("1.25")
    field(bench, "x.0.1").fill("2")
    undo.click()
    assert bench.evaluate("lab.workbench.bench.state().x[0]") == [1.25, 0.15, 0.89]
    undo.click()
    assert bench.evaluate("lab.workbench.bench.state().x[0]") == [0.43, 0.15, 0.89]
    expect(undo).to_be_disabled()


def test_the_slider_moves_the_number_in_use(bench):
    field(bench, "W_value.2.1").focus()
    slider = bench.locator("#workbench [data-part=slider]")
    expect(slider).to_have_accessible_name("W_value, row 3, number 2")
    expect(slider).to_have_attribute("type", "range")
    slider.fill("1.5")
    assert bench.evaluate("lab.workbench.bench.state().heads[0].W_value[2][1]") == 1.5
    expect(field(bench, "W_value.2.1")).to_have_value("1.5")


ORIGINS = """(cells) => cells.map((cell) => {
  cell.focus();
  return [cell.dataset.value, document.querySelector("[data-testid=origin]").innerText];
})"""


def test_every_number_says_where_it_comes_from(bench):
    where = bench.get_by_test_id("origin")
    cell(bench, "query.0").focus()
    expect(where).to_have_text(
        "query of “journey”, number 1 = “journey” · column 1 of W_query = "
        "0.5500 × 0.2961 + 0.8700 × 0.2517 + 0.6600 × 0.0740 ≈ 0.4306"
    )
    assert bench.locator("#workbench .source").count() == 6  # a row of three and a column of three
    cell(bench, "score.1").hover()
    expect(where).to_have_text(
        "score of “journey” = query of “journey” · key of “journey” = "
        "0.4306 × 0.4433 + 1.4551 × 1.1419 ≈ 1.8524"
    )
    bench.get_by_role("radio", name="a target").check()
    cell(bench, "map.1.3").click()
    bench.get_by_role("radio", name="the query").check()  # else a weight is asked for by keys alone
    cells = bench.locator("#workbench td[data-name]").locator("visible=true")
    origins = cells.evaluate_all(ORIGINS)
    for value, text in origins:
        assert f"{float(value):.4f}".replace("-", "−").replace("−0.0000", "0.0000") in text
    assert len({text for _, text in origins}) > 90
    field(bench, "W_key.0.1").focus()
    expect(where).to_contain_text("one step of learning makes it 0.1025 − 1 × ")


def test_the_scale_the_temperature_and_the_masks(bench):
    bench.get_by_label("divide by").uncheck()
    assert shown(bench, "scaled.1") == ["1.8524"]
    cell(bench, "scaled.1").focus()
    expect(bench.get_by_test_id("origin")).to_contain_text("scale is off")
    bench.locator("#workbench").get_by_label("temperature").fill("1")
    assert shown(bench, "scaled.1") == ["0.1852"]
    bench.get_by_label("causal mask").check()
    masked = shown(bench, "weight.2", "scaled.2", "map.0.0", "map.0.1")
    assert masked == ["0.0000", "−∞", "1.00", "0.00"]
    bench.get_by_label("causal mask").uncheck()
    bench.get_by_label("padding words").fill("2")
    assert shown(bench, "weight.3", "weight.4", "weight.5")[1:] == ["0.0000", "0.0000"]
    assert shown(bench, "weight.3") != ["0.0000"]
    bench.get_by_label("padding words").fill("6")
    expect(bench.get_by_role("alert")).to_contain_text("at most 5 words")
    assert shown(bench, "weight.3") != ["0.0000"]


def test_what_a_click_on_a_weight_does(bench):
    expect(bench.get_by_role("radio", name="a target")).to_be_checked()  # to train towards
    bench.get_by_role("radio", name="the query").check()
    cell(bench, "map.5.3").click()
    expect(bench.locator("#workbench tr.asks th")).to_have_text("step")
    weight = float(cell(bench, "map.5.3").get_attribute("data-value"))
    assert shown(bench, "weight.3") == [f"{weight:.4f}"]
    bench.get_by_role("radio", name="a mask").check()
    bench.locator(".bench-map tbody th").first.click()  # a word asks, whatever a weight would do
    expect(bench.locator("#workbench tr.asks th")).to_have_text("Your")
    bench.locator(".bench-map tbody th").last.click()
    cell(bench, "map.5.3").click()
    assert shown(bench, "map.5.3", "scaled.3") == ["0.00", "−∞"]
    cell(bench, "map.5.3").click()
    assert shown(bench, "map.5.3") != ["0.00"]
    bench.get_by_role("radio", name="a target").check()
    cell(bench, "map.0.1").focus()
    bench.keyboard.press("Enter")
    assert bench.evaluate("lab.workbench.bench.state().targets") == [[0, 0, 1]]
    expect(cell(bench, "map.0.1")).to_have_attribute(
        "aria-label", "Your to journey: 0.21, a target, the largest of its row"
    )


def test_a_target_on_a_masked_cell_is_not_counted(bench):
    bench.get_by_role("button", name="The next word in all rows").click()
    bench.get_by_label("causal mask").check()
    expect(bench.locator('[data-part="lesson-of-loss"]')).to_contain_text(
        "made of 1 target weight alone. 5 more targets are masked and have no part in it."
    )
    assert bench.locator("#workbench .target").count() == 1
    expect(cell(bench, "map.0.1")).to_have_attribute("aria-label", "Your to journey: 0.00, masked")
    bench.get_by_label("causal mask").uncheck()
    assert bench.locator("#workbench .target").count() == 6


def test_a_second_head_has_its_own_weights(bench):
    first = shown(bench, "map.0.0", "score.1")
    bench.get_by_label("second head").check()
    expect(cell(bench, "map.0.0")).to_have_attribute("data-head", "1")
    assert shown(bench, "map.0.0", "score.1") != first
    bench.get_by_role("combobox", name="head", exact=True).select_option("0")
    assert shown(bench, "map.0.0", "score.1") == first


def test_the_numbers_of_a_table_are_one_stop_of_the_keyboard(bench):
    grids = bench.locator("#workbench [role=grid]")
    for i in range(grids.count()):
        assert grids.nth(i).locator("[tabindex='0']").count() == 1
    for name in ("x", "W_query", "W_key", "W_value", "plane-scores"):
        assert bench.locator(f'[data-part="{name}"] [tabindex="0"]').count() == 1
    cell(bench, "map.0.0").focus()
    for key, name in [("ArrowRight", "map.0.1"), ("ArrowDown", "map.1.1"), ("End", "context.1.1")]:
        bench.keyboard.press(key)
        expect(cell(bench, name)).to_be_focused()
    assert bench.locator(".lab-map [tabindex='0']").count() == 1


def test_random_matrices_are_other_matrices(bench):
    before = state(bench)["heads"]
    bench.get_by_role("button", name="Draw random").click()
    for name, matrix in state(bench)["heads"][0].items():
        assert matrix != before[0][name], name


def test_the_first_lesson_has_its_weights_and_arrows_and_leads_to_the_rest(visit, http_root):
    seen = visit("about:blank")
    page = seen.page
    page.goto(http_root + "playground.html")
    show(page, "train", folded=True)  # which a lesson does not take over
    page.goto(http_root + LESSON)
    bench = page.locator("#workbench")
    bench.wait_for()
    assert shown(page, "map.1.1", "map.3.5") == ["0.23", "0.18"]
    expect(bench.locator("[data-part=plane-scores]")).to_be_visible()
    expect(bench.locator("input, select, button, summary").locator("visible=true")).to_have_count(0)
    cell(page, "map.3.5").click()
    assert state(page)["at"] == 3
    expect(bench.get_by_test_id("origin")).to_contain_text("weight")
    bench.get_by_role("button", name="key of “one”").press("ArrowUp")
    bench.get_by_test_id("reset-workbench").click()
    assert shown(page, "map.3.5") == ["0.18"]
    # Weights have just been computed where it stands, and the formula comes after it.
    before = page.evaluate(
        """() => { const range = document.createRange(), box = document.querySelector("#workbench");
        range.setStart(document.querySelector("article"), 0); range.setEndBefore(box);
        return range.toString(); }"""
    )
    assert "print(weights.sum(dim=-1))" in before
    assert "scaled dot-product attention" not in before
    page.get_by_role("link", name="Change and train").click()
    page.wait_for_url("**/playground.html#bench=lesson")
    assert state(page)["words"][1] == "journey"
    assert seen.troubles(http_root) == []


def test_it_is_accessible_in_the_lesson_and_fits(visit, http_root):
    page = open_bench(visit, http_root + LESSON)
    cell(page, "map.1.1").click()
    assert unsound(page, "desktop", "phone", within="#workbench") == []

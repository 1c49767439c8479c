"""The sentence lab: the lessons' digits, where they come from, and the keyboard."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect


def cell(page, name):
    return page.locator(f'#sentence-lab td[data-name="{name}"]')


def shown(page, *names):
    return [cell(page, name).inner_text() for name in names]


SIX = range(6)


def test_it_starts_with_the_digits_of_the_first_lesson(lab):
    assert shown(lab, "query.0", "query.1") == ["0.4306", "1.4551"]
    assert shown(lab, "key.1.0", "key.1.1") == ["0.4433", "1.1419"]
    assert shown(lab, "value.1.0", "value.1.1") == ["0.3951", "1.0037"]
    scores = ["1.2705", "1.8524", "1.8111", "1.0795", "0.5577", "1.5440"]
    assert shown(lab, *(f"score.{j}" for j in SIX)) == scores
    weights = ["0.1500", "0.2264", "0.2199", "0.1311", "0.0906", "0.1820"]
    assert shown(lab, *(f"weight.{j}" for j in SIX)) == weights
    assert shown(lab, "context.0", "context.1") == ["0.3061", "0.8210"]


def test_the_other_table_shows_the_digits_of_the_exercises(lab):
    lab.get_by_label("Numbers from").select_option("B")
    assert shown(lab, "query.0", "query.1") == ["0.3427", "0.9429"]
    scores = ["0.9411", "0.3438", "0.3838", "0.7801", "0.2483", "0.6807"]
    assert shown(lab, *(f"score.{j}" for j in SIX)) == scores
    weights = ["0.2143", "0.1405", "0.1445", "0.1912", "0.1313", "0.1782"]
    assert shown(lab, *(f"weight.{j}" for j in SIX)) == weights
    assert shown(lab, "context.0", "context.1") == ["1.1783", "1.3425"]


@pytest.mark.parametrize("lesson", ["A", "B"])
def test_its_numbers_are_those_of_the_lesson_and_of_the_exercises(lab, lesson):
    from built_site import SITE  # the script as the site offers it

    if lesson == "A":
        (path,) = SITE.glob("_downloads/*/plot_1_qkv_derivation.py")
        source = path.read_text(encoding="utf-8")
    else:  # the page begins with another sentence
        path = Path(__file__).parents[2] / "docs/exercises/sentence.md"
        source = path.read_text(encoding="utf-8").partition('"journey"')[2]
    numbers = lab.evaluate("JSON.parse(document.getElementById('lessons').textContent)")[lesson]
    for name in ("x", "W_query", "W_key", "W_value"):
        literal = re.search(rf"^{name} = torch\.tensor\(\s*(\[.*?\])\s*\)", source, re.M | re.S)[1]
        without_comments = re.sub(r"#.*", "", literal)
        found = [float(number) for number in re.findall(r"-?\d+\.\d+", without_comments)]
        assert found == [number for row in numbers[name] for number in row]


def test_a_changed_number_changes_all_that_follows_and_reset_takes_it_back(lab):
    names = ["score.0", "weight.5", "context.1", "map.0.0"]
    before = shown(lab, *names)
    drawn = lab.locator('[data-part="plane-scores"]').inner_html()
    lab.get_by_label("W_key, row 1, number 2").fill("3")
    assert all(a != b for a, b in zip(before, shown(lab, *names), strict=True))
    assert lab.locator('[data-part="plane-scores"]').inner_html() != drawn
    lab.get_by_test_id("reset-sentence").click()
    assert shown(lab, *names) == before
    assert lab.locator('[data-part="plane-scores"]').inner_html() == drawn


def test_the_page_reset_takes_everything_back(lab):
    lab.get_by_label("Numbers from").select_option("B")
    review = lab.get_by_test_id("review-input").input_value()
    lab.get_by_test_id("review-input").fill("other words")
    lab.get_by_test_id("reset").click()
    assert shown(lab, "score.1") == ["1.8524"]
    assert lab.get_by_test_id("review-input").input_value() == review


def test_every_number_says_where_it_comes_from(lab):
    where = lab.locator("#where")
    cell(lab, "query.0").focus()
    expect(where).to_have_text(
        "query of journey, number 1 = journey · column 1 of W_query = "
        "0.5500 × 0.2961 + 0.8700 × 0.2517 + 0.6600 × 0.0740 = 0.4306"
    )
    sources = lab.locator("#sentence-lab .source")
    assert sources.count() == 6  # a row of three and a column of three
    cell(lab, "score.1").hover()
    expect(where).to_have_text(
        "score of journey = query of journey · key of journey = "
        "0.4306 × 0.4433 + 1.4551 × 1.1419 = 1.8524"
    )
    texts = set()
    cells = lab.locator("#sentence-lab td[data-name]")
    for i in range(cells.count()):
        cells.nth(i).focus()
        text = where.inner_text()
        value = float(cells.nth(i).get_attribute("data-value"))
        assert text.count(f"{value:.4f}".replace("-", "−")) >= 1
        texts.add(text)
    assert len(texts) > 0.8 * cells.count()  # a row of the map may repeat a row of the steps


def test_the_scale_and_the_mask(lab):
    lab.get_by_label("divide scores").uncheck()
    assert shown(lab, "scaled.1") == ["1.8524"]
    cell(lab, "scaled.1").focus()
    expect(lab.locator("#where")).to_contain_text("scale is off")
    lab.get_by_label("causal mask").check()
    assert shown(lab, "weight.2", "scaled.2", "map.0.0", "map.0.1") == [
        "0.0000",
        "−∞",
        "1.00",
        "0.00",
    ]
    cell(lab, "weight.2").focus()
    expect(lab.locator("#where")).to_contain_text("hidden")


def test_another_word_asks(lab):
    lab.get_by_role("radio", name="step").check()
    assert shown(lab, "weight.3") == [
        f"{float(cell(lab, 'map.5.3').get_attribute('data-value')):.4f}"
    ]
    expect(lab.locator(".lab-map tr.asks th")).to_have_text("step")


def test_what_is_no_number_is_said_and_does_not_count(lab):
    field = lab.get_by_label("W_value, row 3, number 1")
    before = shown(lab, "context.0")
    for wrong in ("", "12"):
        field.fill(wrong)
        expect(lab.locator('[data-part="problem"]')).to_contain_text(
            "W_value, row 3, number 1: expected"
        )
        assert field.get_attribute("aria-invalid") is not None
        assert shown(lab, "context.0") == before
    field.fill("1")
    expect(lab.locator('[data-part="problem"]')).to_have_text("")
    assert shown(lab, "context.0") != before


def test_the_numbers_of_a_table_are_one_stop_of_the_keyboard(lab):
    grids = lab.locator("#sentence-lab [role=grid]")
    for i in range(grids.count()):
        assert grids.nth(i).locator("[tabindex='0']").count() == 1
    cell(lab, "map.0.0").focus()
    for key, name in [("ArrowRight", "map.0.1"), ("ArrowDown", "map.1.1"), ("End", "map.1.5")]:
        lab.keyboard.press(key)
        expect(cell(lab, name)).to_be_focused()
        assert "gives to" in lab.locator("#where").inner_text()
    assert lab.locator(".lab-map [tabindex='0']").count() == 1


def test_random_matrices_are_other_matrices(lab):
    before = shown(lab, *(f"map.{i}.0" for i in SIX))
    lab.get_by_role("button", name="Draw random").click()
    assert shown(lab, *(f"map.{i}.0" for i in SIX)) != before

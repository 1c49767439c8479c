"""The workbench inside the first lesson and on the home page."""

import pytest
from accessibility import unsound
from playwright.sync_api import expect
from workbench import cell, field, open_bench, shown

LESSON = "gallery/core/plot_1_qkv_derivation.html"


def test_the_first_lesson_has_it_with_the_lessons_numbers(visit, root):
    seen = visit(root + LESSON)
    page = seen.page
    page.locator("#workbench").wait_for()
    assert shown(page, "query.0", "score.1", "weight.1") == ["0.4306", "1.8524", "0.2264"]
    field(page, "W_key.0.1").fill("3")
    assert shown(page, "score.1") != ["1.8524"]
    # Weights have just been computed where it stands, and the formula comes after it.
    before = page.evaluate(
        """() => { const range = document.createRange(), box = document.querySelector("#workbench");
        range.setStart(document.querySelector("article"), 0); range.setEndBefore(box);
        return range.toString(); }"""
    )
    assert "print(weights)" in before
    assert "scaled dot-product attention" not in before
    assert seen.complaints == []
    assert seen.foreign(root) == []


@pytest.mark.parametrize("name", ["index.html", LESSON])
def test_it_is_accessible_there_and_fits(visit, http_root, name):
    page = open_bench(visit, http_root + name)
    cell(page, "map.1.1").click()
    assert unsound(page, "desktop", "phone") == []


def test_the_home_page_shows_trained_weights(visit, http_root):
    page = open_bench(visit, http_root + "index.html")
    words = page.evaluate("lab.workbench.bench.state().words")
    weights = page.evaluate("lab.workbench.bench.view().head.weights")
    # Weights of random matrices are nearly even; this model has learned what to attend to.
    assert max(weights[words.index("plot")]) > 0.5
    assert words[weights[words.index("plot")].index(max(weights[words.index("plot")]))] == "dull"
    cell(page, "map.2.1").click()
    expect(page.get_by_test_id("origin")).to_contain_text(
        "weight that “plot” gives to “dull” = exp("
    )
    page.get_by_label("Your sentence").fill("any words of mine")
    expect(page.get_by_test_id("weight")).to_have_count(16)


def test_the_link_to_the_whole_takes_the_state_along(visit, http_root):
    page = open_bench(visit, http_root + "index.html")
    page.get_by_label("Your sentence").fill("any words of mine")
    expect(page.get_by_test_id("weight")).to_have_count(16)
    state = page.evaluate("lab.workbench.bench.state()")
    page.get_by_role("link", name="open the whole workbench").click()
    page.wait_for_url("**/playground.html#bench=1.*")
    page.locator("#workbench").wait_for()
    assert page.evaluate("lab.workbench.bench.state()") == state

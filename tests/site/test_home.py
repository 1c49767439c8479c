"""The home page: short, with three promises, and two models that wait for their reader."""

import pytest

PAGE = "index.html"
SHADES = """all => all.map((map) => new Set(
  map.getContext("2d").getImageData(0, 0, map.width, map.height).data).size)"""
# True when the model has written its text
AT_REST = "document.querySelector('[data-testid=write]').ariaDisabled === 'false'"


@pytest.mark.parametrize(("width", "most"), [(1440, 3_000), (390, 4_500)])
def test_it_is_short(page, width, most):
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_test_id("review-input").scroll_into_view_if_needed()
    page.get_by_test_id("token").first.wait_for()
    # The map and the walk's stage, whose numbers stand in a hidden table, too, are pictures; what
    # is to be read are the sentences around them.
    parts = "article", "[data-testid=lesson-map]", ".walk-stage", ".walk table"
    whole, *pictures = [len(page.locator(part).inner_text().split()) for part in parts]
    assert whole - sum(pictures) <= 350
    assert page.evaluate("document.documentElement.scrollHeight") <= most


def test_each_promise_has_a_picture_and_the_next_page_is_the_first_lesson(page):
    cards = page.locator(".sd-card")
    assert cards.count() == 3
    for card in cards.all():
        assert card.locator("img, svg").first.bounding_box()["height"] > 50
    page.locator(".next-page").click()
    page.wait_for_url("**/plot_1_qkv_derivation.html")


@pytest.mark.parametrize(
    ("root", "motion"), [("http", "no-preference"), ("file", "reduce")], indirect=["root"]
)
def test_the_model_that_writes_comes_when_it_is_asked(visit, root, motion):
    seen = visit(root + "index.html", motion=motion)
    page = seen.page
    text, maps = page.locator("#home-writer [data-part=text]"), page.locator("#home-writer canvas")
    button = page.get_by_test_id("write")
    button.scroll_into_view_if_needed()
    shown = text.inner_text()  # written when the site was built, as its heads were drawn
    assert shown.startswith("The film is")
    assert maps.count() == 16
    tokens = maps.first.evaluate("map => map.width")
    assert tokens > 10
    assert not any("lab-writer" in url for url in seen.requests)
    button.click()
    page.wait_for_function(AT_REST)
    written = text.inner_text()
    assert written.startswith("The film")
    assert len(written) > len("The film") + 20
    assert written != shown
    assert maps.first.evaluate("map => map.width") > tokens
    assert min(maps.evaluate_all(SHADES)) > 5
    button.click()
    page.wait_for_function(AT_REST)
    assert text.inner_text() != written  # by another seed
    assert seen.troubles(root) == []

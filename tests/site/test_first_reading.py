"""Closer looks on the site: folded for a first reading, open wherever nobody could unfold them."""

from accessibility import unsound
from playwright.sync_api import expect

PAGE = "gallery/core/plot_7_transformer_block.html"
NEXT = "gallery/core/plot_8_sentiment_training.html"
LOOK = "details.closer-look"
ALL_OPEN = f"document.querySelectorAll('{LOOK}:not([open])').length === 0"


def switch(page):
    return page.get_by_test_id("closer-looks").locator("input")


def test_a_first_reading_leaves_closer_looks_out_until_one_asks(page):
    looks = page.locator(LOOK)
    assert looks.count() > 3
    assert page.locator(f"{LOOK}[open]").count() == 0
    assert all("Closer look: " in text for text in looks.locator("> summary").all_inner_texts())
    inside = looks.first.locator("p").first
    expect(inside).to_be_hidden()
    looks.first.locator("summary").press("Enter")
    expect(inside).to_be_visible()


def test_one_switch_unfolds_those_of_all_lessons_and_is_remembered(page, http_root):
    expect(page.get_by_test_id("closer-looks")).to_contain_text(str(page.locator(LOOK).count()))
    listed = page.locator(".toc-tree a.closer").first
    expect(listed).to_be_hidden()
    switch(page).check()
    assert page.evaluate(ALL_OPEN)
    expect(listed).to_be_visible()
    page.goto(http_root + NEXT)
    assert page.evaluate(ALL_OPEN)
    switch(page).uncheck()
    page.reload()
    expect(switch(page)).not_to_be_checked()
    assert page.locator(f"{LOOK}[open]").count() == 0


def test_a_link_to_a_closer_look_opens_it_alone(page, http_root):
    name = page.locator(f"section:has(> {LOOK})").nth(1).get_attribute("id")
    for address in (f"{http_root}{PAGE}#{name}", f"{http_root}{NEXT}"):
        page.goto(address)
    page.goto(f"{http_root}{PAGE}#{name}")
    expect(page.locator(f"[id='{name}'] > {LOOK}")).to_have_attribute("open", "")
    assert page.locator(f"{LOOK}[open]").count() == 1


def test_whoever_has_no_scripts_or_prints_has_them_open(visit, http_root):
    page = visit(http_root + PAGE, java_script_enabled=False).page
    looks = page.locator(LOOK)
    assert page.locator(f"{LOOK}[open]").count() == looks.count() > 3
    page = visit(http_root + PAGE).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(ALL_OPEN)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(f"{LOOK}[open]").count() == 0


def test_an_unfolded_lesson_is_accessible(page):
    switch(page).set_checked(True)
    assert unsound(page, "phone", "desktop", themes=["light", "dark"]) == []

"""A term's meaning opens beside its link, which stays a link: pointer, keyboard and finger."""

import json
import re

from built_site import SITE
from playwright.sync_api import expect

PAGE = "gallery/core/plot_2_attention_layer.html"
TERM = "article a[href*='#term-']"


def test_a_card_opens_for_the_pointer_and_says_what_the_glossary_says(visit, root):
    seen = visit(root + PAGE)
    page, card = seen.page, seen.page.locator("#term-card")
    link = page.locator(TERM).first
    assert card.count() == 0  # a page that nobody asks loads no meanings
    link.hover()
    card.wait_for(state="visible")
    address = link.get_attribute("href")
    assert link.get_attribute("aria-describedby") == "term-card"
    box, around = card.bounding_box(), link.bounding_box()
    assert box["x"] >= 0
    assert abs(box["y"] - around["y"]) < 40 + box["height"]
    card.hover()  # who reads it may point at it
    expect(card).to_be_visible()
    page.mouse.move(1, 1)
    card.wait_for(state="hidden")
    term = card.locator("strong").text_content()
    meaning = card.text_content().removeprefix(term).strip()
    page.goto(root + PAGE.rsplit("/", 1)[0] + "/" + address)
    entry = page.locator(f"dt[id='{address.split('#')[1]}']")
    assert entry.text_content().startswith(term)
    definition = entry.locator("xpath=following-sibling::dd[1]").text_content()
    assert " ".join(definition.split()).startswith(meaning[:60])
    assert not seen.complaints


def test_every_term_has_a_card_that_opens_by_focus_and_closes_by_escape(page):
    page.get_by_test_id("closer-looks").locator("input").check()
    card, links = page.locator("#term-card"), page.locator(TERM)
    page.keyboard.press("Tab")  # the keyboard is what is used
    for i in range(links.count()):
        links.nth(i).focus()
        card.wait_for(state="visible")
        assert links.nth(i).get_attribute("aria-describedby") == "term-card"
        page.keyboard.press("Escape")
        expect(card).to_be_hidden()
        assert links.nth(i).get_attribute("aria-describedby") is None
    assert links.count() > 5


def test_a_card_is_plain_text():
    written = (SITE / "_static/term-cards.js").read_text("utf-8")
    cards = json.loads(written.removeprefix("receiveTerms(").removesuffix(");\n"))
    assert len(cards) > 150
    marked = {term: text for term, text in cards.values() if re.search(r"[\\{}^]|[a-z]\d{4}", text)}
    assert marked == {}


def test_a_first_tap_opens_the_card_and_a_second_the_glossary(visit, http_root):
    page = visit(http_root + PAGE, size="phone", has_touch=True, is_mobile=True).page
    card, link = page.locator("#term-card"), page.locator(TERM).first
    link.tap()
    card.wait_for(state="visible")
    box = card.bounding_box()
    assert 0 <= box["x"] <= 390 - box["width"]
    assert "Tap the word again" in card.text_content()
    page.locator("article h1").tap()
    card.wait_for(state="hidden")
    link.tap()
    card.wait_for(state="visible")
    link.tap()
    page.wait_for_url("**/glossary.html#term-*")

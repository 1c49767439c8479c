"""A page's old address leads to its new one: with or without scripts, by HTTP or by file."""

import re

import pytest
from accessibility import violations
from built_site import SITE, redirect_names

OLD, NEW = "gallery/plot_2b_masks_and_heads.html", "gallery/core/plot_4_masks.html"


PAGES = {
    "api.html": "API",
    "exercises_low_rank.html": "Exercises on low rank",
    "lab.html": "Playground",
    "promises.html": "",
    "gallery/plot_1b_same_steps_other_numbers.html": "Exercises on one sentence",
    "gallery/core/plot_1b_same_steps_other_numbers.html": "Exercises on one sentence",
    "gallery/core/index.html": "Lessons",
    "gallery/deeper/index.html": "Lessons",
    "gallery/cases/index.html": "Lessons",
}


def test_every_page_that_moved_left_a_redirect():
    assert len(redirect_names()) == 13 + len(PAGES)
    assert {OLD, *PAGES} < set(redirect_names())


@pytest.mark.parametrize("name", redirect_names())
def test_an_old_address_leads_to_its_page(visit, root, name):
    seen = visit(root + name)
    seen.page.wait_for_url(lambda url: url != root + name)
    if name in PAGES:
        assert PAGES[name] in seen.page.locator("h1").inner_text()
    else:
        assert seen.page.locator("article .run-it-yourself").count() == 1
    # A browser that leaves before the old page has arrived in full reports its request as failed.
    assert [complaint for complaint in seen.complaints if complaint != root + name] == []
    assert seen.foreign(root) == []


def test_the_place_on_the_page_is_kept(visit, root):
    page = visit(f"{root}{OLD}?a=b#a-model-that-cheats").page
    page.wait_for_url(f"{root}{NEW}?a=b#a-model-that-cheats")


def test_it_works_without_scripts(visit, root):
    page = visit(root + OLD, java_script_enabled=False).page
    page.wait_for_url(root + NEW)


def test_a_redirect_is_accessible_while_it_is_shown(visit):
    text = (SITE / OLD).read_text(encoding="utf-8")
    still, count = re.subn(r"<(script|noscript)>.*?</\1>", "", text)  # what leads on
    assert count == 2
    page = visit("about:blank").page
    page.set_content(still)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == []
    assert page.get_by_role("link").get_attribute("href") == "core/plot_4_masks.html"

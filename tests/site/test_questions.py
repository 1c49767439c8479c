"""The page of questions: an address for each, and all at a glance.

That each is found in the words of who asks is tested in test_site.py, with all other searches.
"""

import re
from pathlib import Path

from bs4 import BeautifulSoup
from built_site import SITE
from playwright.sync_api import expect

PAGE = "questions.html"
# A line per question: its address, and others that somebody may have been sent. None is ever lost.
ANCHORS = Path(__file__).with_name("question_anchors.txt").read_text(encoding="utf-8").splitlines()


SOUP = BeautifulSoup((SITE / PAGE).read_text(encoding="utf-8"), "html.parser")
# The addresses of each question
QUESTIONS = [
    [title.parent["id"], *(span["id"] for span in title.find_previous_siblings("span", id=True))]
    for title in SOUP("h3")
]


def test_every_question_keeps_its_addresses_and_has_a_short_one():
    assert len(QUESTIONS) > 100
    kept = {line.split()[0]: line.split() for line in ANCHORS}
    assert sorted(each[0] for each in QUESTIONS) == sorted(kept), "a line each in the list"
    for first, *others in QUESTIONS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){0,4}", first), first
        assert set(kept[first]) <= {first, *others}


def test_all_titles_are_listed_as_links_in_their_order_under_the_parts():
    questions = [each[0] for each in QUESTIONS]
    listed = [link["href"].removeprefix("#") for link in SOUP.select("div.titles a")]
    assert [target for target in listed if target in set(questions)] == questions
    assert 8 <= len(listed) - len(questions) <= 12  # the parts


def test_a_question_that_is_found_is_opened_at_its_own_address(visit, root):
    page = visit(root + "search.html?q=tril+or+triu").page
    hit = page.locator("ul.search > li").filter(has_text="Questions readers ask").first
    expect(hit).to_contain_text("tril or triu")
    hit.locator("a").click()
    page.wait_for_url("**/questions.html#tril-or-triu")
    expect(page.locator("#tril-or-triu > h3")).to_be_in_viewport()

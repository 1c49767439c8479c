"""The page of questions: an address for each, and all at a glance.

That each is found in the words of who asks is tested in test_site.py, with all other searches.
"""

import re
from html.parser import HTMLParser
from pathlib import Path

from built_site import SITE
from playwright.sync_api import expect

PAGE = "questions.html"
# A line per question: its address, and others that somebody may have been sent. None is ever lost.
ANCHORS = Path(__file__).with_name("question_anchors.txt").read_text(encoding="utf-8").splitlines()


class Sections(HTMLParser):
    """The addresses of each question, and where the list of titles leads."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[list[str]] = []
        self.questions: list[list[str]] = []
        self.listed: list[str] = []
        self.divisions: list[bool] = []  # for each open one: is it the list, or in it?
        self.feed((SITE / PAGE).read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        in_list = bool(self.divisions and self.divisions[-1])
        if tag == "div":
            self.divisions.append(in_list or "titles" in (found.get("class") or "").split())
        elif tag == "section":
            self.open.append([found.get("id") or ""])
        elif tag == "span" and self.open and found.get("id"):
            self.open[-1].append(found["id"] or "")
        elif tag == "h3":
            # What follows is text, with ids of citations.
            self.questions.append(list(self.open[-1]))
        elif tag == "a" and in_list:
            self.listed.append((found["href"] or "").removeprefix("#"))

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.divisions.pop()
        elif tag == "section":
            self.open.pop()


def test_every_question_keeps_its_addresses_and_has_a_short_one():
    questions = Sections().questions
    assert len(questions) > 100
    kept = {line.split()[0]: line.split() for line in ANCHORS}
    assert sorted(each[0] for each in questions) == sorted(kept), "a line each in the list"
    for first, *others in questions:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+){0,4}", first), first
        assert set(kept[first]) <= {first, *others}


def test_all_titles_are_listed_as_links_in_their_order_under_the_parts():
    found = Sections()
    questions = [each[0] for each in found.questions]
    assert [target for target in found.listed if target in set(questions)] == questions
    assert 8 <= len(found.listed) - len(questions) <= 12  # the parts


def test_a_question_that_is_found_is_opened_at_its_own_address(visit, root):
    page = visit(root + "search.html?q=tril+or+triu").page
    hit = page.locator("ul.search > li").filter(has_text="Questions readers ask").first
    expect(hit).to_contain_text("tril or triu")
    hit.locator("a").click()
    page.wait_for_url("**/questions.html#tril-or-triu")
    expect(page.locator("#tril-or-triu > h3")).to_be_in_viewport()

"""What others see of the site: search engines, language models, whoever is sent a link.

A site knows its own address or does not, by SITE_URL; either way all of its pages agree.
"""

import re
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
from accessibility import violations
from bs4 import BeautifulSoup
from built_site import SITE, page_names
from playwright.sync_api import expect

HEAD = {"og:title", "og:type", "og:url", "og:site_name", "og:description", "og:image"}
HEAD |= {"og:image:alt", "og:image:width", "og:image:height", "twitter:card"}
MADE = {"404.html", "genindex.html", "search.html"}  # by Sphinx, of no source
PAGES = [name for name in page_names() if name not in MADE and not name.startswith("_modules/")]


def head(name: str) -> tuple[dict[str, str], str]:
    """Read the tags of a page's head, each of which is there once, and the page's address."""
    page, _, _ = (SITE / name).read_text(encoding="utf-8").partition("</head>")
    soup = BeautifulSoup(page, "html.parser")
    tags = [(tag.get("property") or tag.get("name"), tag.get("content")) for tag in soup("meta")]
    names = [name for name, _ in tags if name not in (None, "viewport")]
    assert sorted(names) == sorted(set(names))
    canonical = soup.find("link", rel="canonical")
    return dict(tags), canonical["href"] if canonical else ""


ADDRESS = head("index.html")[1].removesuffix("index.html")
with_address = pytest.mark.skipif(not ADDRESS, reason="the site was built without SITE_URL")


def test_every_description_is_of_one_page_alone():
    texts = [head(name)[0]["description"] for name in PAGES]
    assert len(texts) > 10
    assert all(20 < len(text) <= 200 for text in texts)
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_what_is_shown_when_it_is_shared(name):
    tags, canonical = head(name)
    if not ADDRESS:
        assert canonical == ""
        assert not HEAD & set(tags)
        return
    assert canonical == tags["og:url"] == ADDRESS + name
    assert set(tags) >= HEAD
    assert tags["og:description"] == tags["description"]
    assert tags["og:image"].startswith(ADDRESS)
    assert (SITE / tags["og:image"].removeprefix(ADDRESS)).is_file()


@with_address
def test_a_card_is_drawn_in_the_browser_at_its_size(visit, http_root):
    for name in ("index.html", "glossary.html"):
        tags, _ = head(name)
        page = visit(http_root + tags["og:image"].removeprefix(ADDRESS)).page
        size = page.evaluate("[document.images[0].naturalWidth, document.images[0].naturalHeight]")
        assert size == [1200, 630] == [int(tags[f"og:image:{s}"]) for s in ("width", "height")]


def test_the_sitemap_lists_the_pages_of_a_site_that_knows_its_address():
    if not ADDRESS:
        assert not (SITE / "sitemap.xml").exists()
        return
    listed = [part.text for part in ET.parse(SITE / "sitemap.xml").iter() if "loc" in part.tag]
    assert listed == [ADDRESS + name for name in PAGES]


def test_language_models_are_given_every_page():
    text = (SITE / "llms.txt").read_text(encoding="utf-8")
    assert re.match(r"# .+\n\n> .+\n\n", text)
    targets = re.findall(r"^- \[.+?\]\(([^)\s]+)\): .", text, re.MULTILINE)
    assert sorted(targets) == sorted(ADDRESS + name for name in PAGES if name != "index.html")


def test_a_page_that_is_not_there_leads_back_from_any_address(visit, http_root):
    if not ADDRESS:
        assert not (SITE / "404.html").exists()
        return
    seen = visit(http_root + "404.html")
    for scheme in ("light", "dark"):
        seen.page.emulate_media(color_scheme=scheme)
        assert violations(seen.page) == []
    links = seen.page.locator("a").evaluate_all("links => links.map((link) => link.href)")
    links.append(seen.page.locator("form").evaluate("form => form.action"))
    assert len(links) == 4
    for link in links:
        assert link.startswith(ADDRESS)
        assert (SITE / link.removeprefix(ADDRESS)).is_file()
    assert seen.requests == [http_root + "404.html", "data:,"][: len(seen.requests)]
    assert seen.complaints == []


@pytest.mark.parametrize("name", ["index.html", "glossary.html", "genindex.html"])
def test_a_page_is_edited_and_reported_where_the_repository_is(visit, root, name):
    page = visit(root + name).page
    edit = page.get_by_role("link", name="Edit this page")
    report = page.get_by_role("link", name="Report a problem")
    if report.count() == 0:  # the site was built without REPOSITORY_URL
        assert edit.count() == 0
        return
    assert unquote(urlsplit(report.get_attribute("href")).query).endswith(f"page={ADDRESS}{name}")
    assert edit.count() == (name != "genindex.html")
    if edit.count():
        assert edit.get_attribute("href").endswith(f"/docs/{name.removesuffix('html')}md")
    expect(report).to_be_visible()

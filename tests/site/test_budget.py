"""What a page costs its reader, and what every browser and search engine expects of one."""

import pytest
from built_site import page_names

# The views of the source are one template: the longest of them stands for all.
PAGES = [name for name in page_names() if not name.startswith("_modules/")]
PAGES.append("_modules/attention/sentiment/trainer.html")
KB = 1000
COST = """() => {
  const fetched = performance.getEntriesByType("resource");
  const page = performance.getEntriesByType("navigation")[0];
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {
    bytes: [page, ...fetched].reduce((sum, each) => sum + each.encodedBodySize, 0),
    requests: 1 + fetched.length,
    paint: paint.startTime,
  };
}"""
EXPECTED = """() => {
  const head = (selector) => document.head.querySelectorAll(selector).length;
  const stretched = [...document.querySelectorAll("article img")].filter((image) => {
    const shown = image.clientWidth / image.clientHeight;
    const natural = image.naturalWidth / image.naturalHeight;
    const isBroken = !image.naturalWidth || Math.abs(shown / natural - 1) > 0.05;
    return image.complete && isBroken;
  });
  const empty = [...document.querySelectorAll("a[href]")].filter(
    (link) => !(link.textContent.trim() || link.ariaLabel || link.querySelector("img[alt]"))
  );
  return {
    doctype: document.doctype?.name,
    charset: document.characterSet,
    language: document.documentElement.lang,
    viewport: head("meta[name=viewport]") > 0,
    title: document.title.length > 5,
    icon: head("link[rel~=icon]") > 0,
    headings: document.querySelectorAll("h1").length,
    cookies: document.cookie,
    stored: Object.keys(localStorage).filter((key) => key !== "theme"),
    stretched: stretched.map((image) => image.src),
    empty: empty.map((link) => link.outerHTML),
  };
}"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light_and_soon_there(visit, http_root, name):
    # What slows one visit on a busy machine is not the page: the quickest of five counts.
    paints = []
    for _ in range(5):
        page = visit(http_root + name, until="load").page
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        cost = page.evaluate(COST)
        paints.append(cost["paint"])
        if cost["paint"] <= 1000:
            break
    print(f"{name}: {cost['bytes']:,} bytes, {cost['requests']} requests, {min(paints):.0f} ms")
    assert cost["bytes"] <= 1000 * KB
    assert cost["requests"] <= 40
    assert min(paints) <= 1000


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_browsers_and_search_engines_expect(visit, http_root, name):
    seen = visit(http_root + name, until="load").page.evaluate(EXPECTED)
    assert seen == {
        "doctype": "html",
        "charset": "UTF-8",
        "language": "en-GB",
        "viewport": True,
        "title": True,
        "icon": True,
        "headings": 1,
        "cookies": "",
        "stored": [],
        "stretched": [],
        "empty": [],
    }

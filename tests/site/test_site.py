"""What the site does as a whole: search, themes, weight."""

from pathlib import Path

import pytest
from built_site import SITE
from playwright.sync_api import expect
from trained_models import KINDS
from workbench import field, unfold

MB = 1_000_000
# The query, and pages of which one must be among the first three; a term's entry in the glossary is
# such a page. What people typed and did not find belongs here: a line each.
QUERIES = {
    "positional encoding": ["plot_6_positions"],
    "RoPE": ["plot_9a_rotary"],
    "KV cache": ["plot_9c_cache"],
    "layer norm": ["plot_7_transformer_block"],
    "GPT": ["plot_9f_writing"],
    "padding mask": ["plot_4_masks"],
    "causal mask": ["plot_4_masks"],
    "residual connection": ["plot_7_transformer_block"],
    "how does attention work": ["plot_1_qkv_derivation"],
    "self attention": ["plot_1_qkv_derivation"],
    "why divide by sqrt": ["plot_3_scaling_variance"],
    "why sqrt": ["plot_3_scaling_variance"],
    "pytorch MultiheadAttention": ["plot_5_multi_head"],
    "csv": ["training.html"],
    "gpu": ["training.html"],
    "own data": ["training.html"],
    "train on my data": ["training.html"],
    "what is a query": ["glossary.html#term-query"],
    "mask": ["plot_4_masks"],
    "flash attention": ["plot_9d_fused_kernel"],
    "sofmax": ["glossary.html#term-softmax"],
    "atention mask": ["plot_4_masks"],
    "apply_rotary": ["core.html#attention.apply_rotary"],
}
# Titles as they were typed where they were asked, each behind the question that it should find
TYPED = Path(__file__).with_name("questions_as_typed.txt").read_text(encoding="utf-8").splitlines()


def test_search_finds_and_leads_to_what_it_found(visit, root):
    # Leaving a page that still loads breaks its requests off.
    seen = visit(root + "index.html", until="networkidle")
    page = seen.page
    page.fill("input[name=q]", "softmax")
    page.press("input[name=q]", "Enter")
    hits = page.locator("ul.search > li a")
    hits.first.wait_for()
    assert "search.html" in page.url
    page.wait_for_load_state("networkidle")  # results are still being read
    hits.first.click()
    page.wait_for_url(lambda url: "search.html" not in url)
    assert "softmax" in page.locator("article").inner_text().lower()
    assert seen.troubles(root) == []


def test_what_is_searched_for_is_found_among_the_first_three(visit, root):
    page = visit(root + "search.html?q=softmax").page
    page.locator("ul.search > li").first.wait_for()
    first_three = """(query) => findPages(query).found.slice(0, 3).map(
        (one) => `${one.name}.html#${one.anchor}`)"""
    missed = {}
    for query, targets in QUERIES.items():
        first = page.evaluate(first_three, query)
        if not any(target in place for place in first for target in targets):
            missed[query] = first
    for anchor, title in (line.split(": ", 1) for line in TYPED):
        first = page.evaluate(first_three, title)
        if f"questions.html#{anchor}" not in first:
            missed[title] = first
    assert len(TYPED) > 40
    assert missed == {}


def test_search_says_what_it_did_and_quotes_what_a_page_says_of_itself(visit, root):
    page = visit(root + "search.html?q=sqare+root").page
    first = page.locator("ul.search > li").first
    expect(first).to_contain_text("√k")
    expect(page.locator(".search-summary")).to_contain_text("searched for “square”")
    quoted = first.locator("p.context").inner_text()
    first.locator("a").click()
    description = page.locator("meta[name=description]").get_attribute("content")
    assert description.startswith("Why does attention divide")
    assert quoted == description


def test_search_does_not_find_what_is_not_there(visit, root):
    page = visit(root + "search.html?q=xylophonist").page
    page.get_by_text("did not match any documents").wait_for()
    assert page.locator("ul.search > li").count() == 0


def test_every_part_of_the_playground_works_from_a_folder(visit):
    root = SITE.as_uri() + "/"
    seen = visit(root + "playground.html")
    page = seen.page
    page.locator("#workbench").wait_for()
    unfold(page)
    field(page, "x.0.0").fill("1.5")
    page.wait_for_url("**#bench=1.*")
    page.get_by_role("link", name="three classifiers").click()
    page.get_by_test_id("review-input").fill("a wonderful film")
    expect(page.get_by_test_id("token")).to_have_count(3 * len(KINDS))
    page.locator(".next-page").click()
    page.get_by_test_id("writer-token").first.wait_for()
    page.get_by_test_id("write-one").click()
    expect(page.get_by_test_id("writer-text")).not_to_have_value("The film")
    assert seen.troubles(root) == []


@pytest.mark.parametrize(
    ("root", "widths"), [("http", [390, 1280, 1440, 1920]), ("file", [1280])], indirect=["root"]
)
def test_the_switch_turns_the_page_dark_and_light(visit, root, widths):
    page = visit(root + "playground.html", "light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        seen = {}
        for _ in range(3):
            seen[page.evaluate("document.body.dataset.theme")] = page.evaluate(ground)
            page.locator(".theme-toggle:visible").first.click()
        assert set(seen) == {"auto", "light", "dark"}, width
        assert seen["auto"] == seen["light"] != seen["dark"], width


@pytest.mark.parametrize(
    ("name", "field", "answer", "count"),
    [
        ("index.html", "[data-testid=review-input]", "[data-testid=token]", 3),
        ("playground.html", "[data-part=sentence]", "[data-testid=weight]", 9),
        ("your_review.html", "[data-testid=review-input]", "[data-testid=token]", 3 * len(KINDS)),
        ("writer.html", "[data-testid=writer-text]", "[data-testid=writer-token]", 4),
    ],
)
def test_a_page_stays_small_with_its_models(visit, http_root, name, field, answer, count):
    seen = visit("about:blank")
    responses = []
    seen.page.on("response", lambda response: responses.append(response))
    seen.page.goto(http_root + name)
    seen.page.locator(field).first.fill("a wonderful film")
    expect(seen.page.locator(answer)).to_have_count(count)
    seen.page.wait_for_load_state("networkidle")
    # A body is asked for when the sum is: a listener that waits for it may come too late.
    size = sum(len(response.body()) for response in responses) / MB
    print(f"{name}: {size:.3f} MB with its models")
    assert size < 1

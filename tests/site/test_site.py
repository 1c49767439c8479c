"""What the site does as a whole: search, themes, weight."""

MB = 1_000_000


def weigh(seen):
    """Return a function that counts the bytes of all that a page has fetched from now on."""
    responses = []
    seen.page.on("response", lambda response: responses.append(response))
    # a body is asked for when the sum is, because a listener that waits for it may come too late
    return lambda: sum(len(response.body()) for response in list(responses))


def test_search_finds_and_leads_to_what_it_found(visit, root):
    seen = visit(root + "index.html")
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
    assert seen.complaints == []
    assert seen.foreign(root) == []


def test_search_does_not_find_what_is_not_there(visit, root):
    page = visit(root + "search.html?q=xylophonist").page
    page.get_by_text("did not match any documents").wait_for()
    assert page.locator("ul.search > li").count() == 0


def test_the_switch_turns_the_page_dark_and_light(visit, root):
    page = visit(root + "playground.html", "light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for _ in range(3):
        seen[page.evaluate("document.body.dataset.theme")] = page.evaluate(ground)
        page.locator(".theme-toggle:visible").first.click()
    assert set(seen) == {"auto", "light", "dark"}
    assert seen["auto"] == seen["light"] != seen["dark"]


def test_the_home_page_stays_below_one_megabyte_with_its_model(visit, http_root):
    seen = visit("about:blank")
    fetched = weigh(seen)
    seen.page.goto(http_root + "index.html", wait_until="networkidle")
    bare = fetched()
    seen.page.get_by_test_id("review-input").fill("wonderful")
    seen.page.get_by_test_id("token").wait_for()
    whole = fetched()
    print(f"home page: {bare:,} bytes, with the model {whole:,}")
    assert bare < whole < MB


def test_the_lab_stays_below_one_and_a_half_megabytes_with_both_models(visit, http_root):
    seen = visit("about:blank")
    fetched = weigh(seen)
    page = seen.page
    page.goto(http_root + "playground.html", wait_until="networkidle")
    before = fetched()
    page.get_by_test_id("review-input").scroll_into_view_if_needed()
    page.get_by_test_id("token").first.wait_for()
    page.get_by_test_id("model-select").select_option("qkv")
    page.locator("#review-lab canvas").wait_for()
    whole = fetched()
    print(f"lab: {before:,} bytes, with both models {whole:,}")
    assert before < 0.6 * MB
    assert whole < 1.5 * MB

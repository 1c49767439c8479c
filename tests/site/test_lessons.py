"""A lesson in a browser: its figures have captions, and the code that draws them is folded."""

import pytest
from built_site import SIZES
from playwright.sync_api import expect

FOLDED = "details.folded-code"
PAGE = "gallery/core/plot_7_transformer_block.html"


def test_drawing_code_is_opened_from_the_keyboard_and_copied(page):
    fold = page.locator(FOLDED).first
    code = fold.locator("pre")
    expect(code).to_be_hidden()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(code).to_be_visible()
    page.keyboard.press("Tab")
    assert fold.evaluate("(fold) => fold.contains(document.activeElement)")
    assert fold.locator("button.copybtn").count() == 1


@pytest.mark.parametrize("scripts", [True, False])
def test_drawing_code_is_on_paper_and_opens_without_scripts_too(visit, root, scripts):
    page = visit(root + PAGE, java_script_enabled=scripts).page
    fold = page.locator(FOLDED).first
    page.emulate_media(media="print")
    assert fold.locator("pre").bounding_box()["height"] > 50
    expect(fold.locator("summary")).to_be_hidden()
    page.emulate_media(media="screen")
    expect(fold.locator("pre")).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("pre")).to_be_visible()


def test_a_link_into_folded_code_opens_it(visit, http_root):
    """The browser's own search finds text in a closed fold as a link to that text does."""
    page = visit(http_root + PAGE).page
    assert page.locator(f"{FOLDED}[open]").count() == 0
    page.goto(f"{http_root}{PAGE}#:~:text=draw_block()")
    page.wait_for_function(f"document.querySelectorAll('{FOLDED}[open]').length === 1")


def test_the_sidebar_lists_the_tracks_and_numbers_the_core_lessons(page):
    captions = page.locator(".sidebar-tree .caption").all_inner_texts()
    tracks = ["Core lessons", "Practice", "Going deeper", "Case studies", "Reference"]
    assert [caption.lower() for caption in captions] == [track.lower() for track in tracks]
    core = page.locator(".sidebar-tree ul").nth(1).locator("li").all_inner_texts()
    assert [text.partition(".")[0] for text in core] == [str(i + 1) for i in range(len(core))]
    place = page.locator("article .chapter").inner_text()
    assert place == "Core lessons · 7 of 9 · 10 to 60 minutes"


@pytest.mark.parametrize("name", ["index.html", PAGE, "credits.html"])
def test_the_sidebar_shows_the_page_one_reads(visit, http_root, name):
    page = visit(http_root + name).page
    own = page.locator(".sidebar-tree .current-page")
    if name == "index.html":
        assert own.count() == 0
        assert page.locator(".sidebar-scroll").evaluate("box => box.scrollTop") == 0
    else:
        # What scrolls there runs when the page has loaded, which may be after the visit says so.
        seen = """() => {
          const own = document.querySelector(".sidebar-tree .current-page");
          const { top, bottom } = own.getBoundingClientRect();
          return top >= 0 && bottom <= innerHeight;
        }"""
        page.wait_for_function(seen)


def test_a_page_is_cited_without_leaving_its_column(page):
    page.locator("summary", has_text="Cite this page").click()
    entry = page.locator(".about-this-page pre")
    assert entry.inner_text().startswith("@misc{attention-gallery-core-plot-7-transformer-block,")
    for size in ("desktop", "phone"):
        page.set_viewport_size(SIZES[size])
        column = page.locator("article").bounding_box()
        assert entry.bounding_box()["width"] <= column["width"] + 1
        assert page.evaluate(TOO_WIDE) <= 0


TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"
SIGNS = """() => [...document.querySelectorAll("h1, h2, h3")].filter((heading) => {
  const sign = heading.querySelector(".headerlink");
  const before = heading.offsetHeight;
  if (sign) sign.style.display = "none";
  const isOnALine = heading.offsetHeight !== before;
  if (sign) sign.style.display = "";
  return isOnALine;
}).map((heading) => heading.textContent)"""
CUT = """(selector) => [...document.querySelectorAll(selector)]
  .filter((code) => code.scrollWidth > code.clientWidth).map((code) => code.textContent)"""


def test_contents_headings_and_code_fit_every_width(page):
    open_all = "for (const fold of document.querySelectorAll('article details')) fold.open = true;"
    page.evaluate(open_all)
    for width in (1440, 1280, 1024, 780, 640, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(TOO_WIDE) <= 0
        assert page.evaluate(SIGNS) == []  # the sign of a heading's link takes no line
        if width >= 1024:
            box = page.locator(".toc-tree").bounding_box()
            assert (box["x"] + box["width"] <= width) is (width > 1024)
        if width > 1024:
            assert page.evaluate(CUT, "article .highlight-Python pre") == []


def test_on_paper_no_line_is_cut_and_nothing_covers_the_text(page):
    page.set_viewport_size({"width": 700, "height": 1000})  # about a sheet's width
    page.emulate_media(media="print")
    assert page.evaluate(CUT, "article pre") == []
    for fixed in (".skip-to-content", "button.copybtn"):
        expect(page.locator(fixed).first).to_be_hidden()


@pytest.mark.parametrize("name", ["core/plot_1_qkv_derivation", "deeper/plot_9d_fused_kernel"])
def test_on_a_phone_no_line_of_code_goes_beyond_the_edge(visit, http_root, name):
    page = visit(f"{http_root}gallery/{name}.html", size="phone").page
    page.locator("details").evaluate_all("all => all.forEach((fold) => (fold.open = true))")
    code = page.locator("article .highlight-Python pre")
    assert code.count() > 10
    beyond = "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
    assert code.evaluate_all(beyond) == 0
    longest = """all => Math.max(
      ...all.flatMap((one) => one.textContent.split("\\n")).map((line) => line.length))"""
    assert code.evaluate_all(longest) > 60

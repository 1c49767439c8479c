"""A core lesson on a desktop: pictures near the text, and code that leaves them room."""

import pytest
from lessons import lessons
from playwright.sync_api import expect

CORE = [name for name in lessons() if name.startswith("gallery/core/")]
FIRST, FURTHEST, MOST_CODE = 900, 2500, 1 / 3  # pixels, pixels, and a share of the page
# What a reader looks at or touches; a table and an icon are neither.
RHYTHM = """async () => {
  await document.fonts.ready;
  const article = document.querySelector("article");
  const place = (part) => {
    const { top, bottom, width, height } = part.getBoundingClientRect();
    return { top: top + scrollY, bottom: bottom + scrollY, width, height };
  };
  const seen = (selector) => [...article.querySelectorAll(selector)]
    .filter((part) => part.checkVisibility());
  const pictures = seen("img, svg, .lab, .prediction, form.answer, .attention-words, .head-atlas")
    .filter((part) => !part.closest("button") && !part.closest(".chapter"))
    .map(place)
    .filter(({ width, height }) => width > 100 && height > 30)
    .sort((one, other) => one.top - other.top);
  const { bottom: end, height: whole } = place(article);
  const gaps = [];
  let below = pictures[0].bottom;
  for (const { top, bottom } of [...pictures, { top: end, bottom: end }]) {
    gaps.push([Math.round(top - below), Math.round(below)]);
    below = Math.max(below, bottom);
  }
  const isInner = (part) => part.parentElement.closest("div.highlight, .long-output");
  const code = seen("div.highlight, .long-output").filter((part) => !isInner(part));
  const covered = code.reduce((sum, part) => sum + place(part).height, 0);
  return { first: pictures[0].top, gap: gaps.sort(([a], [b]) => b - a)[0], code: covered / whole };
}"""
LONG = "details.long-output"
LESSON = "gallery/core/plot_3_scaling_variance.html"
TABLES = "gallery/deeper/plot_7_qk_of_a_real_model.html"


@pytest.mark.parametrize("name", CORE)
def test_a_picture_is_near_wherever_one_reads(visit, http_root, name):
    page = visit(f"{http_root}{name}.html", size="laptop").page
    page.wait_for_load_state("networkidle")
    found = page.evaluate(RHYTHM)
    assert found["first"] <= FIRST
    assert found["gap"][0] <= FURTHEST, found["gap"]
    assert found["code"] <= MOST_CODE


@pytest.mark.parametrize("scripts", [True, False])
def test_a_long_output_is_short_until_one_asks_for_it(visit, http_root, scripts):
    page = visit(http_root + TABLES, java_script_enabled=scripts).page
    output = page.locator(f"{LONG}:not(details details)").first
    lines = output.locator("pre")
    whole = lines.evaluate("(pre) => pre.scrollHeight")
    assert (lines.bounding_box()["height"] < whole / 1.5) is scripts
    below = output.locator("summary").bounding_box()["y"] - lines.bounding_box()["y"]
    assert below > 0  # what unfolds the rest stands where the lines end
    output.locator("summary").click()
    assert (lines.bounding_box()["height"] > whole / 1.1) is scripts
    page.emulate_media(media="print")
    assert lines.bounding_box()["height"] > whole / 1.5
    expect(output.locator("summary")).to_be_hidden()


def test_a_short_output_is_in_sight(visit, http_root):
    page = visit(http_root + LESSON).page
    outputs = page.locator(".sphx-glr-script-out pre").all()
    short = [out for out in outputs if len(out.text_content().splitlines()) <= 8]
    assert len(short) > 3
    assert all(out.evaluate("(pre) => !pre.closest('.long-output')") for out in short)


def test_a_figure_takes_the_width_of_the_page(visit, http_root):
    page = visit(http_root + LESSON, size="laptop").page
    page.wait_for_load_state("networkidle")
    picture = page.locator("#figure-2 img")
    assert picture.bounding_box()["width"] >= 736
    assert picture.evaluate("(image) => image.currentSrc").endswith("_wide.png")
    page.set_viewport_size({"width": 390, "height": 844})
    assert picture.bounding_box()["width"] <= 390

"""The site's type and its colours: few sizes, short lines, one meaning for each colour."""

import itertools
import re
from pathlib import Path

import pytest
from built_site import SITE
from built_site import SIZES as SCREENS
from contrasts import contrast, least_distance, luminance
from matplotlib.colors import to_rgb
from workbench import cell, open_bench

from attention.plotting import style

STATIC = Path(__file__).parents[2] / "docs" / "_static"
MEANINGS = ["query", "key", "value", "weight", "for", "against", "error"]
# What stands together, and is told apart by its colour
TOGETHER = [("query", "key", "value", "weight"), ("for", "against", "weight")]
LESSON = "gallery/core/plot_1_qkv_derivation.html"
# A colour of any notation, as red, green and blue
RGB = """(color) => {
  const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d");
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""
TOKENS = f"""(names) => names.map((name) => {{
  const part = document.body.appendChild(document.createElement("i"));
  part.style.color = `var(${{name}})`;
  return ({RGB})(getComputedStyle(part).color);
}})"""
# The sizes of all text that is read, with one place of each. Equations have their own: the serif is
# as tall at 16 pixels as the other letters are at 14.
SIZES = """() => {
  const sizes = { page: {}, lab: {} };
  const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const part = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !part.checkVisibility()) continue;
    if (part.closest("math, .equation, svg, sup, script, style, .visually-hidden")) continue;
    const size = parseFloat(getComputedStyle(part).fontSize);
    if (size === 0) continue; // of a link that covers its card
    sizes[part.closest(".lab") ? "lab" : "page"][size] ??= part.outerHTML.slice(0, 100);
  }
  return sizes;
}"""
# How many letters each line has, the last of a paragraph left out
LINES = """() => [...document.querySelectorAll("article section > p")].flatMap((paragraph) => {
  const lines = new Map(), range = new Range();
  const walker = document.createTreeWalker(paragraph, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    if (text.parentElement.closest("math")) continue;
    for (let i = 0; i < text.length; i += 1) {
      range.setStart(text, i);
      range.setEnd(text, i + 1);
      const { bottom } = range.getBoundingClientRect();
      const line = [...lines.keys()].find((one) => Math.abs(one - bottom) < 9) ?? bottom;
      lines.set(line, (lines.get(line) ?? 0) + 1);
    }
  }
  return [...lines.values()].slice(0, -1);
})"""


def colours_of(page):
    grounds = ("--color-background-primary", "--color-background-secondary")
    names = [*grounds, *(f"--{meaning}" for meaning in MEANINGS)]
    found = page.evaluate(TOKENS, names)
    return found[:2], dict(zip(MEANINGS, found[2:], strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_can_be_read_and_is_told_from_its_neighbours(visit, http_root, scheme):
    grounds, colours = colours_of(visit(http_root + "glossary.html", scheme).page)
    for ground, (meaning, colour) in itertools.product(grounds, colours.items()):
        assert contrast(ground, colour) >= 4.5, meaning
    for group in TOGETHER:
        for pair in itertools.combinations(group, 2):
            assert least_distance(*(colours[meaning] for meaning in pair)) > 0.09, pair


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_on_the_tints_of_the_walk_can_be_read(visit, http_root, scheme):
    page = visit(http_root + "index.html", scheme).page
    grounds, colours = colours_of(page)
    look = f"""part => {{
      const probe = part.appendChild(document.createElement("i"));
      probe.style.color = "var(--weight-fill)";
      const [stage, page, tile] = [part, document.body, probe].map((one) => getComputedStyle(one));
      return [stage.backgroundColor, page.color, tile.color].map({RGB});
    }}"""
    stage, ink, fill = page.locator(".walk-stage").evaluate(look)
    assert stage == grounds[1]
    # Ink on a tint of less than .72, and white beyond
    on_tiles = [(ink, fill, 0.07), (ink, fill, 0.72)]
    on_tiles += [([255] * 3, fill, 0.72), ([255] * 3, fill, 0.95)]
    on_tiles += [(ink, colours[role], 0.36) for role in ("query", "key", "value")]
    for text, colour, tint in on_tiles:
        mixed = [tint * a + (1 - tint) * b for a, b in zip(colour, stage, strict=True)]
        assert contrast(text, mixed) >= 4.5, (colour, tint)


def test_figures_have_the_colours_of_the_page(visit, http_root):
    _, colours = colours_of(visit(http_root + "glossary.html").page)
    for meaning in MEANINGS[:-1]:
        drawn = [round(255 * part) for part in to_rgb(getattr(style, meaning.upper()))]
        assert drawn == colours[meaning], meaning


@pytest.mark.parametrize("role", ["query", "key", "value"])
def test_the_colour_of_a_role_is_given_to_what_bears_its_name(role):
    places = []
    for sheet in STATIC.rglob("*.css"):
        rules = re.findall(r"([^{}]+)\{([^{}]*)\}", sheet.read_text(encoding="utf-8"))
        places += [selector for selector, looks in rules if f"var(--{role})" in looks]
    for script in STATIC.rglob("*.js"):
        lines = script.read_text(encoding="utf-8").splitlines()
        places += [line.replace(f"--{role}", "") for line in lines if f"--{role}" in line]
    assert len(places) > 2
    assert [place for place in places if role not in place] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_heatmap_shows_small_differences_and_digits_that_can_be_read(visit, http_root, scheme):
    page = open_bench(visit, http_root + "playground.html", scheme=scheme)
    look = f"""(part, share) => {{
      if (share != null) part.style.setProperty("--share", share);
      const {{ backgroundColor, color }} = getComputedStyle(part);
      return [backgroundColor, color].map({RGB});
    }}"""
    shown = {"map.1.4": "0.09", "map.1.1": "0.23"}
    assert all(cell(page, name).text_content() == text for name, text in shown.items())
    low, high = sorted(luminance(cell(page, name).evaluate(look)[0]) for name in shown)
    assert high / low > 1.15
    for percent in range(101):
        assert contrast(*cell(page, "map.0.0").evaluate(look, percent / 100)) >= 4.5


@pytest.mark.parametrize(
    "name", ["index.html", "playground.html", "your_review.html", "writer.html", LESSON]
)
def test_text_has_few_sizes_and_none_too_small(visit, http_root, name):
    page = visit(http_root + name).page
    page.wait_for_load_state("networkidle")
    for size in ("desktop", "phone"):
        page.set_viewport_size(SCREENS[size])
        page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
        sizes = page.evaluate(SIZES)
        assert len(sizes["page"]) <= 8, sizes["page"]
        assert len(sizes["lab"]) <= 4, sizes["lab"]
        assert min(float(each) for each in {**sizes["page"], **sizes["lab"]}) >= 12


@pytest.mark.parametrize("name", ["glossary.html", LESSON])
def test_lines_are_short_enough_to_find_the_next(visit, http_root, name):
    page = visit(http_root + name, size="wide").page
    page.evaluate("document.fonts.ready")
    lengths = sorted(page.evaluate(LINES))
    assert 60 < lengths[len(lengths) // 2] < lengths[len(lengths) * 19 // 20] <= 75


def test_fonts_are_small_and_ours_and_nothing_moves_when_they_come(visit, root):
    # The font of equations comes only where there are some.
    fonts = {font.name: font.stat().st_size for font in SITE.glob("_static/*.woff2")}
    assert fonts.pop("stix-two-math.woff2") <= 120_000
    assert sum(fonts.values()) <= 130_000
    seen = visit(root + LESSON)
    moved = seen.page.evaluate("""async () => {
      await document.fonts.ready;
      const entries = new PerformanceObserver(() => {});
      entries.observe({ type: "layout-shift", buffered: true });
      await new Promise((done) => setTimeout(done, 500));
      return entries.takeRecords().reduce((sum, one) => sum + one.value, 0);
    }""")
    assert moved < 0.02
    loaded = seen.page.evaluate("""[...document.fonts].filter((font) => font.status === "loaded")
      .map((font) => [font.family.replaceAll('"', ""), font.display])""")
    for family in ("Inter", "JetBrains Mono", "Source Serif 4"):
        assert [family, "swap"] in loaded
    assert seen.troubles(root) == []

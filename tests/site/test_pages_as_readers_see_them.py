"""What a reader with a browser once found wrong on the pages, and what must not come back."""

import re

import pytest
from built_site import SITE, page_names

PAGES = [name for name in page_names() if not name.startswith(("_modules/", "api/"))]
TEXTS = {name: (SITE / name).read_text(encoding="utf-8") for name in PAGES}
WITH_BARS = [name for name, text in TEXTS.items() if re.search(r"<mo[^>]*>[|‖]</mo>", text)]
WITH_WORDS = [name for name, text in TEXTS.items() if 'class="attention-words"' in text]

RAW_MARKUP = re.compile(
    r"\]\(|\[[^\]\n]*\]\[|\{\w+\}`|:\w+:`|`__?\b|\*\*\w|^\(\S+\)=$", re.MULTILINE
)
TEXT = """() => {
  const article = document.querySelector("article");
  for (const code of article.querySelectorAll("pre, code, math, script, style, svg")) code.remove();
  return article.textContent;
}"""
BARS = """() => [...document.querySelectorAll("article math")]
  .map((math) => [...math.querySelectorAll("mo")].filter((sign) => "|‖".includes(sign.textContent))
    .map((sign) => Math.round(sign.getBoundingClientRect().height)))
  .filter((heights) => heights.length > 0)"""
# A field scrolls, and a name that ends in three dots is whole in the sentence above it.
ANY = "article *:not(.math-wrapper, input)"
CUT = f"""() => [...document.querySelectorAll("{ANY}")].filter((box) => {{
  const {{ overflowX, overflowY, textOverflow }} = getComputedStyle(box);
  if (textOverflow === "ellipsis") return false;
  const isCut = (overflow, excess) => ["hidden", "clip"].includes(overflow) && excess > 1;
  return box.clientWidth > 2 && (isCut(overflowX, box.scrollWidth - box.clientWidth)
    || isCut(overflowY, box.scrollHeight - box.clientHeight));
}}).map((box) => `${{box.tagName}}.${{box.className}}: ${{box.textContent.slice(0, 40)}}`)"""
# From a caption down to its own words, and up to what is above it, in pixels
GAPS = """() => [...document.querySelectorAll(".attention-words > figcaption")].map((caption) => {
  let part = caption.parentElement;
  while (!part.previousElementSibling) part = part.parentElement;
  const { bottom, top } = caption.getBoundingClientRect();
  return [
    caption.nextElementSibling.getBoundingClientRect().top - bottom,
    top - part.previousElementSibling.getBoundingClientRect().bottom,
  ];
})"""
SHADES = re.compile(r"\b(dark|light|black|white)(er|est)\b")


@pytest.mark.parametrize("name", PAGES)
def test_no_page_shows_markup_that_was_not_understood(visit, http_root, name):
    text = visit(http_root + name, until="domcontentloaded").page.evaluate(TEXT)
    assert RAW_MARKUP.findall(text) == []


def test_raw_markup_would_be_found():
    for raw in ("[A\nnotebook](https://a.b)", "{ref}`a`", ":term:`a`", "`a <b>`__", "**bold"):
        assert RAW_MARKUP.search(raw)


@pytest.mark.parametrize("name", WITH_BARS)
def test_the_bars_of_a_norm_are_equally_tall(visit, http_root, name):
    for heights in visit(http_root + name, until="load").page.evaluate(BARS):
        assert max(heights) < 1.3 * min(heights)


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off(visit, http_root, name, size):
    assert visit(http_root + name, size=size, until="load").page.evaluate(CUT) == []


@pytest.mark.parametrize("name", WITH_WORDS)
def test_a_caption_of_coloured_words_is_nearer_to_its_words_than_to_what_is_above(
    visit, http_root, name
):
    gaps = visit(http_root + name, until="load").page.evaluate(GAPS)
    assert gaps
    for to_its_words, to_what_is_above in gaps:
        assert to_its_words < to_what_is_above


def test_no_lesson_names_a_shade_that_the_dark_theme_turns_round():
    """What is darkest in one theme is lightest in the other; prose says "largest" instead."""
    found = {}
    for name, text in TEXTS.items():
        prose = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        prose = re.sub("<[^>]*>", " ", prose)
        said = [match[0] for match in SHADES.finditer(prose)]
        if said and "dark mode" not in prose:  # one page explains just that
            found[name] = said
    assert found == {}

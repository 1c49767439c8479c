"""Every page of the site: one visit, in both themes and on two widths, finds all that is wrong."""

import re

import pytest
from accessibility import unsound
from built_site import SITE, SIZES, page_names

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
# What does not depend on the width of the screen
ONCE = r"""() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const outside = (part) => part.outerHTML.slice(0, 200);
  const article = document.querySelector("article");
  const prose = article.cloneNode(true);
  for (const code of all("pre, code, math, script, style, svg, .sig", prose)) code.remove();
  const head = (selector) => document.head.querySelector(selector);
  const expected = {
    doctype: document.doctype?.name === "html",
    charset: document.characterSet === "UTF-8",
    language: document.documentElement.lang === "en-GB",
    viewport: head("meta[name=viewport]"),
    title: document.title.length > 5,
    icon: head("link[rel~=icon]"),
    "one h1": all("h1").length === 1,
    "no cookies": document.cookie === "",
    "nothing stored": Object.keys(localStorage).every((key) => key === "theme"),
  };
  return {
    unexpected: Object.keys(expected).filter((name) => !expected[name]),
    maths: all("merror, .math:not(:has(math)):not(math *)", article).map(outside)
      .concat(prose.textContent.match(/\$\$|\\(frac|mathrm|sqrt|sum|text|top)\b/g) ?? []),
    // Directives and roles that were not understood
    markup: prose.textContent.match(
      /\]\(|\[[^\]\n]*\]\[|\{\w+\}`|:\w+:`|`__?\b|\*\*\w|^\(\S+\)=$/gm) ?? [],
    // What a cell returns is shown by this name if it has nothing to show, such as Markdown("").
    objects: document.body.innerText.match(/<IPython\.core.*/g) ?? [],
    wordless: all("img", article)
      .filter((image) => !image.alt && !image.closest(".sphx-glr-thumbcontainer")).map(outside),
    stretched: all("img", article).filter((image) => {
      const shown = image.clientWidth / image.clientHeight;
      const natural = image.naturalWidth / image.naturalHeight;
      const isBroken = !image.naturalWidth || Math.abs(shown / natural - 1) > 0.05;
      return image.complete && isBroken;
    }).map(outside),
    empty: all("a[href]").filter(
      (link) => !(link.textContent.trim() || link.ariaLabel || link.querySelector("img[alt]")),
    ).map(outside),
    // The bars of a norm are equally tall.
    bars: all("math", article).filter((math) => {
      const bars = all("mo", math).filter((sign) => "|‖".includes(sign.textContent));
      const heights = bars.map((sign) => Math.round(sign.getBoundingClientRect().height));
      return Math.max(0, ...heights) >= 1.3 * Math.min(...heights);
    }).map(outside),
    // A caption of coloured words is nearer to its words than to what is above.
    captions: all(".attention-words > figcaption").filter((caption) => {
      let part = caption.parentElement;
      while (!part.previousElementSibling) part = part.parentElement;
      const { bottom, top } = caption.getBoundingClientRect();
      return caption.nextElementSibling.getBoundingClientRect().top - bottom
        >= top - part.previousElementSibling.getBoundingClientRect().bottom;
    }).map(outside),
  };
}"""
# A field scrolls, and a name that ends in three dots is whole in the sentence above it.
CUT = """() => Array.from(
  document.querySelectorAll("article *:not(.math-wrapper, input)")
).filter((box) => {
  const across = box.scrollWidth - box.clientWidth;
  const down = box.scrollHeight - box.clientHeight;
  if (box.clientWidth <= 2 || (across <= 1 && down <= 1)) return false;
  const { overflowX, overflowY, textOverflow } = getComputedStyle(box);
  const isCut = (overflow, excess) => ["hidden", "clip"].includes(overflow) && excess > 1;
  return textOverflow !== "ellipsis" && (isCut(overflowX, across) || isCut(overflowY, down));
}).map((box) => `${box.tagName}.${box.className}: ${box.textContent.slice(0, 40)}`)"""


def open_soon(visit, address):
    """Open a page until it is soon there: what slows one visit of five is not the page."""
    for _ in range(5):
        seen = visit(address)
        seen.page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        cost = seen.page.evaluate(COST)
        if cost["paint"] <= 1000:
            break
    return seen, cost


def wrong(page, sizes, themes):
    """List what is wrong with a page, each with its kind."""
    found = [f"{kind}: {part}" for kind, parts in page.evaluate(ONCE).items() for part in parts]
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        found += [f"cut: {part}" for part in page.evaluate(CUT)]
    return found + unsound(page, *sizes, themes=themes)


@pytest.mark.parametrize("name", page_names())
def test_a_page_is_sound_light_and_soon_there(visit, http_root, name):
    seen, cost = open_soon(visit, http_root + name)
    print(f"{name}: {cost}")
    # The views of the source are one template with other code in it: one is for every reader.
    is_source = name.startswith("_modules/") and name != "_modules/attention/functional.html"
    found = wrong(seen.page, ["desktop", "phone"], [] if is_source else ["light", "dark"])
    found += seen.complaints + seen.foreign(http_root)
    assert not found, "\n".join(found)
    assert cost["bytes"] <= 1_000_000
    assert cost["requests"] <= 40
    assert cost["paint"] <= 1000


# Of each kind one thing that is wrong
BROKEN = r"""
<p>[A notebook](https://a.b), {ref}`a`, :term:`a`, `a <b>`__, **bold, $$ and &lt;IPython.core</p>
<img src="data:,"><a href="index.html"></a><math><merror></merror></math>
<math><mo style="font-size: 9px">|</mo><mo style="font-size: 40px">|</mo></math>
<p>above</p>
<figure class="attention-words" style="margin-top: -1em">
<figcaption>a caption</figcaption><p>its words</p></figure>
<p style="height: 5px; overflow: hidden">too high</p><h1 style="width: 9999px">too wide</h1>
<p style="color: #777; background: #888">pale</p>
"""


def test_what_is_wrong_would_be_found(visit, http_root):
    page = visit(http_root + "credits.html").page
    put = "html => document.querySelector('article').insertAdjacentHTML('beforeend', html)"
    page.evaluate(put, BROKEN)
    page.evaluate("localStorage.setItem('name', 'value')")
    found = wrong(page, ["phone"], ["light", "dark"])
    for kind in [
        *("unexpected: one h1", "unexpected: nothing stored", "maths", "markup", "objects"),
        *("wordless", "stretched", "empty", "bars", "captions", "cut"),
        *("phone: light: color-contrast", "phone: dark: color-contrast", "phone: light: image-alt"),
    ]:
        assert [one for one in found if one.startswith(kind)], kind
    assert [one for one in found if "pixels too wide" in one]


SHADES = re.compile(r"\b(dark|light|black|white)(er|est)\b")


def test_no_page_names_a_shade_that_the_dark_theme_turns_round():
    """What is darkest in one theme is lightest in the other; prose says "largest" instead."""
    found = {}
    for name in page_names():
        text = (SITE / name).read_text(encoding="utf-8")
        prose = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        prose = re.sub("<[^>]*>", " ", prose)
        said = [match[0] for match in SHADES.finditer(prose)]
        # One page explains just that.
        if said and "dark mode" not in prose and not name.startswith(("_modules/", "api/")):
            found[name] = said
    assert found == {}

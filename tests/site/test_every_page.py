"""Every page of the site: one visit, in both themes and on two widths, finds all that is wrong."""

from pathlib import Path

import pytest
from accessibility import unsound
from built_site import SITE, SIZES, page_names

SCRIPT = Path(__file__).with_name("every_page.js").read_text(encoding="utf-8")


def ask(page, name):
    """Call a function of the script in a page."""
    return page.evaluate(f"{SCRIPT}\n{name}")


def open_soon(visit, address):
    """Open a page until it is soon there: what slows one visit of five is not the page."""
    for _ in range(5):
        seen = visit(address)
        seen.page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        cost = ask(seen.page, "cost")
        if cost["paint"] <= 1000:
            break
    return seen, cost


def wrong(page, sizes, themes):
    """List what is wrong with a page, each with its kind."""
    found = [f"{kind}: {part}" for kind, parts in ask(page, "mistakes").items() for part in parts]
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        found += [f"cut: {part}" for part in ask(page, "cutOff")]
    return found + unsound(page, *sizes, themes=themes)


# The views of the source are one template with other code in it: the longest stands for them all.
SOURCES = [name for name in page_names() if name.startswith("_modules/attention")]
LONGEST = sorted(SOURCES, key=lambda name: (SITE / name).stat().st_size)[-1:]
PAGES = [name for name in page_names() if name not in SOURCES] + LONGEST


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_sound_light_and_soon_there(visit, http_root, name):
    seen, cost = open_soon(visit, http_root + name)
    print(f"{name}: {cost}")
    found = wrong(seen.page, ["desktop", "phone"], ["light", "dark"])
    found += seen.troubles(http_root)
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

"""What keeps readers out of a page, as axe-core finds it, and what does not fit on the screen."""

from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT
from built_site import SIZES

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def load(page):
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        page.add_script_tag(content=SCRIPT)


def violations(page, of_the_theme_alone=False):
    """List what violates a rule, or one that depends on the theme, each with a remedy."""
    load(page)
    return page.evaluate("(ofThemeAlone) => violationsOf(ofThemeAlone)", of_the_theme_alone)


def unsound(page, *sizes, themes=("light", "dark"), boxes=".lab"):
    """List what keeps readers out of a page, or does not fit, on these screens in these themes."""
    found = []
    load(page)
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        here = page.evaluate("tooWide()") + page.evaluate("(boxes) => sticksOut(boxes)", boxes)
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            seen = violations(page, of_the_theme_alone=theme != themes[0])
            here += [f"{theme}: {one}" for one in seen]
        found += [f"{size}: {one}" for one in here]
    return found

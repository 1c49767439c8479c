"""What keeps readers out of a page, as axe-core finds it, and what does not fit on the screen."""

from pathlib import Path

from axe_playwright_python.base import AXE_SCRIPT
from built_site import SIZES

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
SOUND = set()  # the looks of texts whose colours can be read


def load(page):
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        page.add_script_tag(content=SCRIPT)


def violations(page, colours=True, others=True, within="html"):
    """List what violates a rule on colours, or any other one, each with a remedy."""
    load(page)
    asked = [colours, others, within, list(SOUND)]
    found, looks = page.evaluate("(asked) => violationsOf(...asked)", asked)
    if not found:
        SOUND.update(looks)
    return found


def unsound(page, size, *sizes, themes=("light", "dark"), within="html"):
    """List what keeps readers out of a page, or does not fit, on these screens in these themes.

    Colours follow the theme alone, so they are looked at on the first screen; all else follows the
    screen alone. Whoever changes one part of a page, such as a lab, asks for that part: the rest
    is as ``test_every_page.py`` has found it, and takes most of the time.
    """
    boxes = ".lab" if within == "html" else within
    sizes = size, *sizes
    found = []
    load(page)
    for size in sizes:
        page.set_viewport_size(SIZES[size])
        # The page hears of its new size before it draws its next frame.
        page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
        here = page.evaluate("tooWide()") + page.evaluate("(boxes) => sticksOut(boxes)", boxes)
        for theme in themes if size == sizes[0] else themes[:1]:
            page.emulate_media(color_scheme=theme)
            seen = violations(page, size == sizes[0], theme == themes[0], within)
            here += [f"{theme}: {one}" for one in seen]
        found += [f"{size}: {one}" for one in here]
    return found

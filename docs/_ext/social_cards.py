"""Draw the picture that a chat or a feed shows where somebody shares a page.

The cards of ``sphinxext.opengraph`` are 1146 by 600 pixels and set every title in one size, which
cuts our longest. Ours are 1200 by 630, the size that the networks ask for. The library writes their
addresses, which it takes from the page's metadata.
"""

import html
import textwrap
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from descriptions import FIELD
from gallery_pages import title_of
from lessons import PARTS
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve
from sphinx.application import Sphinx

WIDTH, HEIGHT = 1200, 630
MARGIN = 72
BLUE, PALE = "#1f4e79", "#c9d9e8"  # the mark's own, and what has a contrast of 5.9 on it
FONT = "DejaVu Sans"  # comes with matplotlib, so that a card is the same on every machine
# The size of a title in pixels, and how many letters of it a line holds: what fits is drawn large.
TITLES = [(66, 25), (56, 29), (46, 36)]
LINES = 3


def lay_out(title: str) -> tuple[int, list[str]]:
    """Choose the largest size in which a title needs three lines at most."""
    for size, letters in TITLES:
        lines = textwrap.wrap(title, letters)
        if len(lines) <= LINES:
            return size, lines
    return size, textwrap.wrap(title, letters, max_lines=LINES, placeholder=" …")


def draw_mark(figure: Figure, left: float, top: float, side: float) -> None:
    """Draw ``_static/favicon.svg``, whose field is 32 by 32, with white and blue exchanged."""
    width, height = figure.bbox.size
    ax = figure.add_axes((left / width, 1 - (top + side) / height, side / width, side / height))
    ax.set(xlim=(0, 32), ylim=(32, 0))
    ax.axis("off")
    ax.add_patch(FancyBboxPatch((7, 7), 18, 18, "round,pad=7", fc="white", lw=0))
    moves = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    dot = side / 32 * 0.72  # a unit of the mark, in points
    for middle, end, width, alpha in ((6, 25, 3, 1), (14, 16, 1.8, 0.55)):
        curve = Curve([(7, 22), (7, middle), (end, middle), (end, 22)], moves)
        ax.add_patch(PathPatch(curve, fc="none", ec=BLUE, lw=width * dot, alpha=alpha))
    for x, radius in ((7, 3.6), (16, 2.6), (25, 3.6)):
        ax.add_patch(Circle((x, 23), radius, fc=BLUE, lw=0))


def draw_card(title: str, part: str, text: str, site: str, address: str) -> Figure:
    """Draw a page's card."""
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=BLUE)

    def write(words: str, left: float, top: float, size: float, **looks: Any) -> None:
        figure.text(
            left / WIDTH,
            1 - top / HEIGHT,
            words,
            size=0.72 * size,  # in points, of which an inch has 72, at 100 pixels an inch
            family=FONT,
            parse_math=False,
            **{"va": "top"} | looks,
        )

    draw_mark(figure, MARGIN, 56, 56)
    write(f"{site} · {part}" if part else site, MARGIN + 76, 68, 30, color=PALE)
    size, lines = lay_out(title)
    write("\n".join(lines), MARGIN, 164, size, color="white", weight="bold", linespacing=1.15)
    below = textwrap.wrap(text, 60, max_lines=3, placeholder=" …")
    write("\n".join(below), MARGIN, 524, 29, color="white", linespacing=1.3, va="bottom")
    write(address, MARGIN, 562, 24, color=PALE)
    return figure


def add_card(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Draw a page's card, if anyone can find it: a card is shown by its address alone."""
    site = app.config.html_baseurl
    if doctree is None or not site or app.builder.name != "html":
        return
    title = title_of(app, page)
    part = PARTS.get(Path(page).parent.name, "") if page.startswith("gallery/") else ""
    meta = context["meta"] or {}
    text = html.unescape(meta.get(FIELD, ""))
    address = site.partition("://")[2].rstrip("/")
    path = f"_images/cards/{page}.png"
    file = Path(app.outdir, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with plt.style.context("default"):  # whatever the lessons before it have set
        draw_card(title, part, text, app.config.html_title, address).savefig(file)
    card = {
        "og:image": path,
        "og:image:alt": html.escape(f"{app.config.html_title}: {title}"),
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
    }
    context["meta"] = meta | card


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_card, priority=400)  # opengraph, at 500, reads the meta
    return {"parallel_read_safe": True}

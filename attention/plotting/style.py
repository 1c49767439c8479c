"""The palette and the style that all figures share.

Figures are drawn on white, at most 5 inches wide, so that their text stays legible on a phone.
The dark theme inverts lightness and keeps hue, so a map of colours that starts at white keeps its
order: the larger a number, the more its cell differs from the page, in either theme. A figure's
label (``fig.set_label``) is its alternative text.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.font_manager import fontManager

from attention._console import show_any_character

# One meaning each, as on the site, whose tokens.css has them for a dark page, too.
QUERY = "#a83e06"
KEY = "#0070c9"
VALUE = "#0a6b58"
WEIGHT = "#5a2ca0"
FOR = "#94600a"
AGAINST = "#a8195b"
# From no weight, which has the colour of the page, to the largest.
WEIGHTS = LinearSegmentedColormap.from_list("weights", ["white", WEIGHT])
mpl.colormaps.register(WEIGHTS)
# Of lines that a legend names: Okabe & Ito's palette, which colour-blind readers can tell apart,
# and in grey by its lightness.
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
SKY = "#56b4e9"
BLACK = "#000000"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)
# For numbers of both signs, with white at zero. Its ends are no darker than they are, because the
# dark theme would turn a very dark red, as in matplotlib's RdBu, into pink.
DIVERGING = LinearSegmentedColormap.from_list(
    "OrangeBlue", ["#a84300", ORANGE, "white", BLUE, "#004f7d"]
)


def tint(color: str, amount: float = 0.14) -> tuple[float, float, float]:
    """Mix a colour with the white of the page, for an area that has text on it.

    Args:
        color: The colour, as matplotlib names it.
        amount: Its share, from 0 for white to 1 for the colour itself.

    Returns:
        Red, green and blue, from 0 to 1 each.

    Example:
        >>> tint("#000000", 0.5)
        (0.5, 0.5, 0.5)
    """
    red, green, blue = (1 - amount * (1 - part) for part in to_rgb(color))
    return red, green, blue


# matplotlib's defaults as the pages set them.
STYLE: dict[Any, Any] = {
    "axes.prop_cycle": cycler(color=PALETTE),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.facecolor": "white",
    "figure.figsize": (5.0, 3.5),
    "font.size": 11,
    "image.cmap": "weights",
    "legend.frameon": False,
    "lines.linewidth": 2,
}


def use_style() -> None:
    """Set matplotlib's defaults to the project's palette, sizes and plain axes.

    Figures are set in Inter, like the site, where it or the package ``fontpkg-inter`` is installed.
    Where the console lacks a character that is printed, as Windows' may, its escape is printed.

    Example:
        >>> import matplotlib as mpl
        >>> use_style()
        >>> mpl.rcParams["figure.figsize"]
        [5.0, 3.5]
    """
    mpl.rcParams.update(STYLE)
    if "Inter" not in fontManager.get_font_names() and (found := find_spec("fontpkg_inter")):
        fontManager.addfont(Path(str(found.origin)).parent / "files" / "Inter[opsz,wght].ttf")
    if "Inter" in fontManager.get_font_names():
        mpl.rcParams["font.family"] = ["Inter", "DejaVu Sans"]  # the latter has more signs
    show_any_character()

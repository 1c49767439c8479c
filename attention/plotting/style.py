"""The palette and the style that all figures share.

Figures are drawn on white, at most 5 inches wide, so that their text stays legible on a phone.
The dark theme inverts lightness and keeps hue, so a map of colours that starts at white keeps its
order: the larger a number, the more its cell differs from the page, in either theme. A figure's
label (``fig.set_label``) is its alternative text.
"""

from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap

from attention._console import show_any_character

# Okabe & Ito's palette, which colour-blind readers can tell apart, and in grey by its lightness.
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
    "image.cmap": "Blues",
    "legend.frameon": False,
    "lines.linewidth": 2,
}


def use_style() -> None:
    """Set matplotlib's defaults to the project's palette, sizes and plain axes.

    Where the console lacks a character that is printed, as Windows' may, its escape is printed.

    Example:
        >>> import matplotlib as mpl
        >>> from attention.plotting import use_style
        >>> use_style()
        >>> mpl.rcParams["figure.figsize"]
        [5.0, 3.5]
    """
    mpl.rcParams.update(STYLE)
    show_any_character()

"""The palette and the style that all pictures share.

Figures are drawn on white, at most 5 inches wide, so that their text stays legible on a phone;
the dark theme inverts them. A figure's label (``fig.set_label``) is its alternative text.
"""

from typing import Any

import matplotlib as mpl
from cycler import cycler

# Okabe & Ito's palette: told apart by colour-blind eyes, and by lightness alone in grey.
BLUE = "#0072b2"
ORANGE = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
SKY = "#56b4e9"
BLACK = "#000000"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)


# matplotlib's defaults, as the pages have them.
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
    """Set matplotlib's defaults to the project's palette, sizes and quiet axes.

    Example:
        >>> import matplotlib as mpl
        >>> from attention.plotting import use_style
        >>> use_style()
        >>> mpl.rcParams["figure.figsize"]
        [5.0, 3.5]
    """
    mpl.rcParams.update(STYLE)

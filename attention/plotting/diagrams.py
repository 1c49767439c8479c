"""The parts of a diagram: boxes and arrows of a flow chart, and products of matrices."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from attention.plotting.style import BLACK, tint

_GREY = "0.25"

# What is written there is data: "$5-$10" is no formula.
_as_it_is = mpl.rc_context({"text.parse_math": False})


@_as_it_is
def draw_box(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    color: str | None = BLACK,
    *,
    width: float | None = None,
) -> None:
    """Draw a part of a flow chart as a text in a box.

    Args:
        ax: Where to draw; its frame and its ticks are hidden.
        x: Where the middle of the box is, horizontally.
        y: The same, vertically.
        text: What the box says.
        color: Its colour, of which the box has a tint; None means the text without a box.
        width: Its width in units of the axis, with a height of one unit; None means that the box
            fits the text.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import draw_flow
        >>> _, ax = plt.subplots()
        >>> draw_box(ax, 0.5, 0.5, "softmax")
        >>> draw_flow(ax, (0.5, 0.9), (0.5, 0.6), "(n, d)")
    """
    ax.set_axis_off()
    look: dict[str, Any] = {"fc": tint(color), "ec": "none"} if color else {}
    fits = {"boxstyle": "round,pad=0.5", **look} if color and width is None else None
    ax.text(x, y, text, ha="center", va="center", fontsize=10.5, bbox=fits, zorder=3)
    if color and width is not None:
        style = "round,pad=0,rounding_size=0.15"
        ax.add_patch(FancyBboxPatch((x - width / 2, y - 0.5), width, 1, boxstyle=style, **look))


@_as_it_is
def draw_flow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], shape: str = ""
) -> None:
    """Draw an arrow between two parts of a flow chart, underneath the boxes of :func:`draw_box`.

    The shape of what flows is written to the right of the arrow's middle.
    """
    style = {"arrowstyle": "-|>", "color": _GREY, "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=end, xytext=start, arrowprops=style, zorder=1)
    x, y = (start[0] + end[0]) / 2 + 0.15, (start[1] + end[1]) / 2
    ax.text(x, y, shape, va="center", fontsize=10, color=_GREY, zorder=3)


@_as_it_is
def draw_matrices(
    ax: Axes, y: float, parts: Sequence[str | tuple[str, str, float, float, str]]
) -> list[tuple[float, float]]:
    """Draw matrices to scale in a row that starts at 0, with the signs between them.

    Args:
        ax: Where to draw; it gets equal units on both axes, and its frame and ticks are hidden.
        y: Where the middle of the row is, vertically.
        parts: The signs and matrices from left to right. A matrix is a tuple of its name, its shape
            in words, the numbers of rows and columns to draw it with, and its colour, as a tint.

    Returns:
        The left and the right end of each matrix.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import KEY, QUERY
        >>> _, ax = plt.subplots()
        >>> pair = ("W_query", "(d, k)", 3, 1, QUERY), "·", ("W_keyᵀ", "(k, d)", 1, 3, KEY)
        >>> draw_matrices(ax, 0, pair)
        [(0.0, 1.0), (1.6, 4.6)]
    """
    ax.set_axis_off()
    ax.set_aspect("equal")
    x, ends = 0.0, []
    for part in parts:
        if isinstance(part, str):
            ax.text(x + 0.3, y, part, ha="center", va="center", fontsize=13)
            x += 0.6
        else:
            name, shape, rows, columns, color = part
            corner, middle = (x, y - rows / 2), x + columns / 2
            ax.add_patch(Rectangle(corner, columns, rows, fc=tint(color), ec="none"))
            turn = 90 if rows > columns and len(name) > 3 else 0
            ax.text(middle, y, name, ha="center", va="center", fontsize=10, rotation=turn)
            ax.text(middle, y + rows / 2 + 0.3, shape, ha="center", fontsize=9, color=_GREY)
            ends.append((x, x + columns))
            x += columns
    return ends

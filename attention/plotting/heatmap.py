"""Attention weights as a heatmap."""

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import FancyBboxPatch
from matplotlib.patheffects import withStroke
from torch import Tensor

from attention._console import spelled
from attention.plotting.style import WEIGHTS


def draw_weights(
    ax: Axes,
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str] | None = None,
    *,
    vmax: float | None = None,
) -> None:
    """Draw attention weights as a heatmap, one row per query, words on both axes.

    A weight of 0 has the colour of the page, and the largest weight differs most from it, in the
    light theme as in the dark one. Heatmaps that are to be compared need one scale, so give them
    the same ``vmax``, for example 1.

    Args:
        ax: Where to draw.
        weights: The weights, one row per query, as a tensor or an array.
        queries: The words that attend.
        keys: The words that are attended to; None means the same words.
        vmax: The weight that gets the strongest colour; None means the largest of these weights.

    Shape:
        - weights: :math:`(n, m)`

    Raises:
        TypeError: If ``ax`` is no ``Axes``.
        ValueError: If the words do not fit the weights, or a weight is negative or exceeds
            ``vmax``, because its colour would be that of another weight.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> _, ax = plt.subplots()
        >>> draw_weights(ax, torch.eye(2), ["good", "film"])
    """
    if not isinstance(ax, Axes):
        raise TypeError(f"ax: expected matplotlib's Axes, got {type(ax).__name__}")
    weights = torch.as_tensor(weights)
    keys = queries if keys is None else keys
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights: expected shape ({len(queries)}, {len(keys)}), one row per query and one "
            f"column per key, got {tuple(weights.shape)}"
        )
    weights = weights.detach().cpu().float()
    smallest, largest = weights.min().item(), weights.max().item()
    if smallest < 0:
        raise ValueError(f"weights: expected none below 0, got {smallest:.4g}")
    if vmax is not None and vmax < largest:
        raise ValueError(f"vmax: expected at least the largest weight, {largest:.4g}, got {vmax}")
    top = largest if vmax is None else vmax
    # Shapes with a gap between them, as on the site; in a vector file they stay shapes.
    style = "round, pad=0, rounding_size=0.09"
    cells = []
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            cells.append(FancyBboxPatch((j - 0.47, i - 0.46), 0.94, 0.92, boxstyle=style))
            is_dark = weight > 0.72 * top
            text = ax.text(j, i, f"{weight:.2f}", ha="center", va="center", fontsize=10)
            text.set_color("white" if is_dark else "black")
            # Inverted, a cell of medium lightness is too near to its number without this rim.
            if weight > 0.5 * top and not is_dark:
                text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
    shown = PatchCollection(cells, cmap=WEIGHTS, linewidth=0)
    shown.set_array(weights.flatten().numpy())
    shown.set_clim(0, top)
    ax.add_collection(shown)
    ax.set(xlim=(-0.5, len(keys) - 0.5), ylim=(len(queries) - 0.5, -0.5))
    # A word such as "$5-$10" is no formula.
    ax.set_xticks(range(len(keys)), [*map(spelled, keys)], parse_math=False)
    ax.set_yticks(range(len(queries)), [*map(spelled, queries)], parse_math=False)
    ax.set_xlabel("key: the word attended to")
    ax.set_ylabel("query: the word that attends")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)

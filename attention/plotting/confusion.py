"""The confusion matrix as a picture."""

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from attention.plotting.heatmap import draw_weights
from attention.plotting.style import STYLE

_MOST = 20  # labels that can be told apart in a picture


@mpl.rc_context(STYLE)  # the reader's own settings are not changed
def confusion_heatmap(
    confusion: Sequence[Sequence[int]], names: Sequence[str], figure: Figure | None = None
) -> Figure:
    """Draw which share of the reviews of each label gets which answer.

    Args:
        confusion: One row per label, one column per answer, with numbers of reviews.
        names: What the labels are called. Of more than 20, those with the most reviews are drawn.
        figure: Where to draw; None means a new figure from pyplot.

    Returns:
        The figure, whose label says the same in words.

    Example:
        >>> confusion_heatmap([[3, 1], [0, 4]], ["tea", "coffee"]).get_label()
        'Confusion matrix: of tea 75%, of coffee 100% are answered rightly.'
    """
    counts = torch.tensor(confusion, dtype=torch.float64)  # (C, C)
    shares = counts / counts.sum(dim=1, keepdim=True).clamp(min=1)  # (C, C)
    drawn = counts.sum(dim=1).argsort(descending=True, stable=True)[:_MOST].sort().values  # (c,)
    some = [names[i] for i in drawn]
    figure = plt.figure() if figure is None else figure
    figure.set_size_inches(2 + 0.7 * len(some), 1.5 + 0.5 * len(some))
    ax = figure.subplots()
    draw_weights(ax, shares[drawn][:, drawn], some, vmax=1)
    ax.set_xlabel("answer")
    ax.set_ylabel("label")
    ax.tick_params(axis="x", rotation=30 if max(map(len, some)) > 6 else 0)
    right = ", of ".join(f"{names[i]} {shares[i, i]:.0%}" for i in drawn)
    figure.set_label(f"Confusion matrix: of {right} are answered rightly.")
    return figure

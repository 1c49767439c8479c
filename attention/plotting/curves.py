"""Training curves."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attention.plotting.style import BLUE, GREEN, ORANGE, STYLE

# Each line has a colour, a dash and a marker, so that nothing depends on the colour alone.
_LINES = {
    "train": (BLUE, "--", "o", "training"),
    "clean": (ORANGE, "-", "s", "validation, alone"),
    "distractor": (GREEN, "-", "^", "validation, behind another"),
}


@mpl.rc_context(STYLE)  # the reader's own settings are not changed
def training_curves(metrics: Sequence[dict[str, Any]], figure: Figure | None = None) -> Figure:
    """Draw loss and accuracy over the epochs, one panel each.

    Args:
        metrics: One line per epoch, as :class:`attention.sentiment.trainer.Trainer` returns them.
        figure: Where to draw; None means a new figure from pyplot.

    Returns:
        The figure, with the loss in nats per review and the accuracy as a share.

    Raises:
        ValueError: If there is no epoch yet.

    Example:
        >>> line = {"epoch": 1, "train": {"loss": 0.6, "accuracy": 0.7},
        ...         "clean": {"loss": 0.5, "accuracy": 0.8}}
        >>> len(training_curves([line]).axes)
        2
    """
    if not metrics:
        raise ValueError("metrics: expected one line per epoch, got none")
    figure = plt.figure() if figure is None else figure
    figure.set_size_inches(5, 6)
    panels = figure.subplots(2, 1, sharex=True)
    results = []
    epochs = [line["epoch"] for line in metrics]
    for name, (color, dash, marker, label) in _LINES.items():
        if name not in metrics[0]:
            continue
        style = {"color": color, "linestyle": dash, "marker": marker, "markersize": 5}
        for panel, measure in zip(panels, ("loss", "accuracy"), strict=True):
            panel.plot(epochs, [line[name][measure] for line in metrics], label=label, **style)
        last = metrics[-1][name]
        results.append(f"{label} {last['loss']:.2f} and {last['accuracy']:.1%}")
    panels[0].set_ylabel("loss (nats per review)")
    panels[1].set_ylabel("accuracy")
    panels[1].set_xlabel("epoch")
    panels[1].xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[1].legend()
    figure.set_label(
        f"Training curves: loss above, accuracy below, over {len(metrics)} epochs. "
        f"After the last: {'; '.join(results)}."
    )
    return figure

"""What a run shows of itself: its curves, and a review's words in the colour of their weights."""

import html
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attention.plotting import BLUE, GREEN, ORANGE, use_style

# One colour, dash and marker a line, so that no line hangs on its colour alone.
_LINES = {
    "train": (BLUE, "--", "o", "training"),
    "clean": (ORANGE, "-", "s", "validation, clean"),
    "distractor": (GREEN, "-", "^", "validation, with distractor"),
}


def training_curves(metrics: Sequence[dict[str, Any]], title: str = "") -> Figure:
    """Draw loss and accuracy over the epochs, one panel each.

    Args:
        metrics: A line an epoch, as :class:`attention.trainer.Trainer` returns them.
        title: Stands above; part of the picture's alternative text.

    Returns:
        The figure. Loss is in nats a review, accuracy a share.

    Example:
        >>> line = {"epoch": 1, "train": {"loss": 0.6, "accuracy": 0.7},
        ...         "clean": {"loss": 0.5, "accuracy": 0.8}}
        >>> len(training_curves([line]).axes)
        2
    """
    use_style()
    figure, panels = plt.subplots(2, 1, figsize=(5, 6), sharex=True)
    said = []
    epochs = [line["epoch"] for line in metrics]
    for name, (color, dash, marker, label) in _LINES.items():
        if name not in metrics[0]:
            continue
        style = {"color": color, "linestyle": dash, "marker": marker, "markersize": 5}
        for panel, figure_of in zip(panels, ("loss", "accuracy"), strict=True):
            panel.plot(epochs, [line[name][figure_of] for line in metrics], label=label, **style)
        last = metrics[-1][name]
        said.append(f"{label} {last['loss']:.2f} and {last['accuracy']:.1%}")
    panels[0].set_ylabel("loss (nats a review)")
    panels[1].set_ylabel("accuracy")
    panels[1].set_xlabel("epoch")
    panels[1].xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[1].legend()
    if title:
        panels[0].set_title(title)
    figure.set_label(
        f"{title or 'Training curves'}: loss above, accuracy below, over {len(metrics)} epochs. "
        f"After the last: {'; '.join(said)}."
    )
    return figure


class Html(str):
    """Markup that a notebook, or a page of the gallery, shows as what it means."""

    def _repr_html_(self) -> str:
        return str(self)


def words_as_html(tokens: Sequence[str], weights: Sequence[float], caption: str = "") -> Html:
    """Write words as HTML, each underlaid as strongly as its weight, which is also its title.

    The ink keeps its contrast: the largest weight gets a light blue, half transparent, so that
    the words can be read on white and on black.

    Args:
        tokens: The words.
        weights: A weight for each.
        caption: A line above.

    Returns:
        One ``<figure>``, in which all text is escaped.

    Raises:
        ValueError: If there are not as many weights as words.

    Example:
        >>> words_as_html(["<b>", "good"], [0.25, 0.75]).count("&lt;b&gt;")
        1
    """
    if len(tokens) != len(weights):
        raise ValueError(f"weights: expected {len(tokens)}, one a word, got {len(weights)}")
    top = max(weights, default=0.0) or 1.0
    words = " ".join(
        f'<span title="{weight:.3f}" style="padding:.1em .15em;border-radius:.2em;'
        f'background:rgba(86,180,233,{weight / top * 0.4:.2f})">{html.escape(token)}</span>'
        for token, weight in zip(tokens, weights, strict=True)
    )
    above = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return Html(f'<figure class="attention-words">{above}<p>{words}</p></figure>')


def words_as_ansi(tokens: Sequence[str], weights: Sequence[float]) -> str:
    """Write words for a terminal, the heavier the darker blue, and bold from half the largest on.

    Args:
        tokens: The words.
        weights: A weight for each.

    Returns:
        A line with ANSI colours.

    Example:
        >>> "good" in words_as_ansi(["good"], [1.0])
        True
    """
    top = max(weights, default=0.0) or 1.0
    # Five steps of the 256-colour cube, light to dark blue, each with an ink that can be read.
    shades = ("0", "30;48;5;195", "30;48;5;153", "1;30;48;5;111", "1;97;48;5;25")
    words = []
    for token, weight in zip(tokens, weights, strict=True):
        shade = shades[min(int(weight / top * len(shades)), len(shades) - 1)]
        words.append(f"\033[{shade}m{token}\033[0m")
    return " ".join(words)

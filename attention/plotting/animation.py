"""The attention of one query, step by step, as a GIF that plays when the reader opens it."""

import base64
import html
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.animation import PillowWriter
from matplotlib.figure import Figure
from torch import Tensor

from attention.plotting.figures import draw_arrows, label_points
from attention.plotting.style import BLACK, BLUE, GREEN


class Animation:
    """Hold a GIF that a page or a notebook plays when the reader opens it.

    It needs neither a script nor a file beside the page, and nothing moves before it is opened. The
    figure stays open and shows the last frame.

    Args:
        figure: The figure that is animated.
        draw: Called with 0, 1, …; changes the figure into that frame.
        n_frames: The number of frames, of which two are shown per second.
        alt: What happens in the animation, as alternative text.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import Animation
        >>> figure, ax = plt.subplots(figsize=(1, 1))
        >>> (line,) = ax.plot([0, 1])
        >>> animation = Animation(figure, lambda i: line.set_ydata([0, i]), 2, "A line rises.")
        >>> animation._repr_html_()[:9]
        '<details>'
    """

    def __init__(
        self, figure: Figure, draw: Callable[[int], None], n_frames: int, alt: str
    ) -> None:
        self.figure = figure
        self.alt = alt
        writer = PillowWriter(fps=2)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "animation.gif")
            with writer.saving(figure, path, dpi=80):
                for frame in range(n_frames):
                    draw(frame)
                    writer.grab_frame()
            self.gif = path.read_bytes()

    def __repr__(self) -> str:
        return f"Animation({self.alt!r}, {len(self.gif):,} bytes)"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.gif).decode()
        return (
            "<details><summary>Play it step by step</summary>"
            f'<img class="sphx-glr-single-img" alt="{html.escape(self.alt)}" '
            f'src="data:image/gif;base64,{data}"></details>'
        )


def animate_attention(
    words: Sequence[str], scores: Tensor, weights: Tensor, values: Tensor
) -> Animation:
    """Animate the attention of one query: its scores, then its weights, then the weighted sum.

    Args:
        words: The words that the query attends to.
        scores: The query's score with each word.
        weights: The softmax of the scores.
        values: The value of each word, as a vector in the plane.

    Shape:
        - scores, weights: :math:`(n)`
        - values: :math:`(n, 2)`

    Returns:
        The animation, whose last frame shows all three steps.

    Example:
        >>> from attention.plotting import animate_attention
        >>> animation = animate_attention(["film"], torch.ones(1), torch.ones(1), torch.ones(1, 2))
        >>> [ax.get_title() for ax in animation.figure.axes]
        ['1. scores', '2. weights', '3. the weighted values, tip to tail']
    """
    n = len(words)
    fig, (top, middle, plane) = plt.subplots(3, figsize=(5, 7.5), height_ratios=[2, 2, 4])
    bars, labels = [], []
    for ax, numbers, title in ((top, scores, "1. scores"), (middle, weights, "2. weights")):
        bars.append(ax.bar(words, numbers.tolist(), color=BLUE))
        labels.append(ax.bar_label(bars[-1], fmt="%.2f"))
        ax.set_title(title, fontsize=11)
        ax.margins(y=0.25)
        ax.tick_params(axis="x", length=0)

    plane.set_title("3. the weighted values, tip to tail", fontsize=11)
    tails = torch.cat([torch.zeros(1, 2), (weights[:, None] * values).cumsum(0)])  # (n + 1, 2)
    draw_arrows(plane, values, color="0.8")
    draw_arrows(plane, tails[1:], starts=tails[:-1], color=GREEN)
    chain = plane.texts[n:]
    plane.set_aspect("auto")
    reach = values.max(dim=0).values.tolist()
    plane.set(xlim=(0, 1.5 * reach[0]), ylim=(0, 1.2 * reach[1]))
    label_points(plane, values, words, 1.2 * reach[0], reach[1] / 9)
    (end,) = plane.plot(*tails[-1].tolist(), "o", color=BLACK)
    name = plane.annotate("context", tails[-1].tolist(), (-8, 0), textcoords="offset points")
    name.set(ha="right", va="center")
    # Lay out once, because doing it for every frame costs a hundred times as much as drawing.
    fig.draw_without_rendering()
    fig.set_layout_engine("none")

    def draw(frame: int) -> None:
        # One frame per score, one for the softmax, one per value, and then a pause.
        scored, weighed, added = frame, n * (frame > n), frame - n - 1
        for drawn, texts, count in zip(bars, labels, (scored, weighed), strict=True):
            for j, (bar, text) in enumerate(zip(drawn, texts, strict=True)):
                bar.set_visible(j < count)
                text.set_visible(j < count)
        for j, step in enumerate(chain):
            step.set_visible(j < added)
        end.set_visible(added >= n)
        name.set_visible(added >= n)

    alt = "The scores appear one by one, the weights all at once, then the weighted values add up."
    return Animation(fig, draw, 2 * n + 6, alt)

"""The figures that the pages share: heatmaps, arrows in the plane, branches."""

from collections.abc import Sequence
from itertools import accumulate

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from torch import Tensor

from attention.plotting.style import BLACK, BLUE, GREEN, ORANGE


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
        weights: The weights, one row per query.
        queries: The words that attend.
        keys: The words that are attended to; None means the same words.
        vmax: The weight that gets the strongest colour; None means the largest of these weights.

    Shape:
        - weights: :math:`(n, m)`

    Raises:
        ValueError: If the words do not fit the weights, or a weight exceeds ``vmax``.

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import draw_weights
        >>> _, ax = plt.subplots()
        >>> draw_weights(ax, torch.eye(2), ["good", "film"])
    """
    keys = queries if keys is None else keys
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights: expected shape ({len(queries)}, {len(keys)}), one row per query and one "
            f"column per key, got {tuple(weights.shape)}"
        )
    weights = weights.detach().cpu().float()
    largest = weights.max().item()
    if vmax is not None and vmax < largest:
        raise ValueError(f"vmax: expected at least the largest weight, {largest:.4g}, got {vmax}")
    top = largest if vmax is None else vmax
    ax.imshow(weights.numpy(), vmin=0, vmax=top, aspect="auto")
    for i, row in enumerate(weights.tolist()):
        for j, weight in enumerate(row):
            colour, other = ("white", "black") if weight > 0.715 * top else ("black", "white")
            text = ax.text(j, i, f"{weight:.2f}", ha="center", va="center", fontsize=10)
            text.set_color(colour)
            # Inverted, a cell of medium lightness is too near to its number without this rim.
            text.set_path_effects([withStroke(linewidth=1.5, foreground=other)])
    ax.set_xticks(range(len(keys)), keys)
    ax.set_yticks(range(len(queries)), queries)
    ax.set_xlabel("key: the word attended to")
    ax.set_ylabel("query: the word that attends")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def draw_arrows(
    ax: Axes, tips: Tensor, *, starts: Tensor | None = None, color: str = BLUE, width: float = 1.5
) -> None:
    """Draw vectors in the plane as arrows, which start at the origin unless ``starts`` is given.

    Args:
        ax: Where to draw; it gets equal units on both axes.
        tips: Where the arrows end.
        starts: Where they start; None means the origin.
        color: Their colour.
        width: Their width in points.

    Shape:
        - tips: :math:`(n, 2)`
        - starts: :math:`(n, 2)`

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import draw_arrows
        >>> _, ax = plt.subplots()
        >>> draw_arrows(ax, torch.tensor([[1.0, 0.0], [1.0, 1.0]]))
    """
    starts = torch.zeros_like(tips) if starts is None else starts
    style = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0}
    for tip, start in zip(tips.tolist(), starts.tolist(), strict=True):
        ax.annotate("", xy=tip, xytext=start, arrowprops=style)
    # Matplotlib ignores annotations when it chooses the limits, but not invisible points.
    corners = torch.cat([tips, starts])  # (2n, 2)
    ax.scatter(corners[:, 0], corners[:, 1], s=0)
    ax.set_aspect("equal")


def label_points(ax: Axes, points: Tensor, words: Sequence[str], x: float, gap: float) -> None:
    """Write words in a column at x, joined to their points, so that close points stay readable.

    Args:
        ax: Where to draw.
        points: The points in the plane.
        words: A word for each point.
        x: Where the column starts.
        gap: The smallest distance between two words, in units of the axis.

    Shape:
        - points: :math:`(n, 2)`

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import label_points
        >>> _, ax = plt.subplots()
        >>> label_points(ax, torch.tensor([[0.0, 0.0], [0.0, 0.1]]), ["one", "step"], 1.0, 0.5)
    """
    order = points[:, 1].argsort().tolist()
    heights = points[order, 1].tolist()
    spread = list(accumulate(heights, lambda below, own: max(own, below + gap)))
    shift = (sum(heights) - sum(spread)) / len(order)
    for i, height in zip(order, spread, strict=True):
        ax.annotate(
            words[i],
            xy=(points[i, 0].item(), points[i, 1].item()),
            xytext=(x, height + shift),
            va="center",
            arrowprops={"arrowstyle": "-", "color": "0.6", "lw": 0.8},
        )


def draw_scores(ax: Axes, query: Tensor, keys: Tensor, words: Sequence[str]) -> None:
    """Draw scores as projections of the keys onto the line of the query, like shadows.

    The signed length of a projection, times the query's length, is the score.

    Args:
        ax: Where to draw.
        query: One query.
        keys: The keys.
        words: A word for each key.

    Shape:
        - query: :math:`(2)`
        - keys: :math:`(n, 2)`

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import draw_scores
        >>> _, ax = plt.subplots()
        >>> draw_scores(ax, torch.tensor([1.0, 1.0]), torch.eye(2), ["good", "film"])
    """
    direction = query / query.norm()  # (2,)
    shadows = (keys @ direction)[:, None] * direction  # (n, 2)
    tips = torch.cat([keys, query[None]])  # (n + 1, 2)
    right, top = tips.clamp(min=0).max(dim=0).values.tolist()
    ax.axline((0, 0), tuple(direction.tolist()), color=ORANGE, ls=":", lw=1)
    draw_arrows(ax, query[None], color=ORANGE, width=2.5)
    draw_arrows(ax, keys, color=BLUE)
    for key, shadow in zip(keys.tolist(), shadows.tolist(), strict=True):
        ax.plot(*zip(key, shadow, strict=True), color="0.4", lw=1)
    ax.plot(shadows[:, 0], shadows[:, 1], "o", color=ORANGE, ms=5)
    name = ax.annotate("query", tuple(query.tolist()), (8, 0), textcoords="offset points")
    name.set_color(ORANGE)
    label_points(ax, keys, words, x=right + 0.12 * top, gap=0.07 * top)
    ax.set(xlim=(min(0, tips[:, 0].min().item()), right + 0.4 * top), ylim=(None, 1.05 * top))
    ax.set(xlabel="first dimension", ylabel="second dimension")


def draw_mixture(ax: Axes, values: Tensor, context: Tensor, words: Sequence[str]) -> None:
    r"""Draw values as arrows, their convex hull as an area, and the context vector as a dot.

    Args:
        ax: Where to draw.
        values: The values, not all on one line.
        context: The weighted sum of the values.
        words: A word for each value.

    Shape:
        - values: :math:`(n, 2)`, with :math:`n \ge 3`
        - context: :math:`(2)`

    Example:
        >>> import matplotlib.pyplot as plt
        >>> from attention.plotting import draw_mixture
        >>> _, ax = plt.subplots()
        >>> values = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> draw_mixture(ax, values, values.mean(dim=0), ["a", "good", "film"])
    """
    right, top = values.clamp(min=0).max(dim=0).values.tolist()
    # The triangles between neighbouring tips fill the hull.
    x, y = values.T.tolist()
    ax.tripcolor(x, y, [1.0] * len(x), cmap="Greens", vmin=0, vmax=5)
    draw_arrows(ax, values, color=GREEN)
    ax.plot(*context.tolist(), "o", color=BLACK)
    line = {"arrowstyle": "-", "lw": 0.8, "shrinkB": 3}
    at = tuple(context.tolist())
    name = ax.annotate("context", at, (-70, 30), textcoords="offset points", arrowprops=line)
    name.set(ha="right")
    label_points(ax, values, words, x=right + 0.12 * top, gap=0.07 * top)
    ax.set(xlim=(min(0, *x), right + 0.4 * top), ylim=(None, 1.05 * top))
    ax.set(xlabel="first dimension", ylabel="second dimension")


def draw_branches(
    word: str, x: Tensor, query: Tensor, key: Tensor, value: Tensor, scores: dict[str, float]
) -> Figure:
    """Draw how one word becomes a query, a key and a value, and the scores of its query.

    Args:
        word: The word.
        x: Its embedding.
        query: Its query.
        key: Its key.
        value: Its value.
        scores: The score of its query with the key of each word.

    Shape:
        - x: :math:`(d)`
        - query, key: :math:`(k)`
        - value: :math:`(v)`

    Returns:
        The figure, without alternative text.

    Example:
        >>> from attention.plotting import draw_branches
        >>> one = torch.ones(2)
        >>> figure = draw_branches("film", one, one, one, one, {"good": 1.0, "film": 2.0})
    """
    fig, (tree, bars) = plt.subplots(2, figsize=(5, 6.2), height_ratios=[3, 2])
    tree.set(xlim=(0, 3), ylim=(0, 3))
    tree.axis("off")

    def box(text: str, x: float, y: float, color: str) -> None:
        frame = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": color, "lw": 2}
        tree.text(x, y, text, ha="center", va="center", bbox=frame, fontsize=10)

    branches = (
        ("query", "what do I\nlook for?", query, ORANGE),
        ("key", "what am I\nfound by?", key, BLUE),
        ("value", "what do I\nhand over?", value, GREEN),
    )
    for i, (name, question, vector, color) in enumerate(branches):
        arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 14, "shrinkB": 0}
        tree.annotate("", xy=(i + 0.5, 1.12), xytext=(1.5, 2.7), arrowprops=arrow)
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        middle = (1.5 + 1.2 * (i - 1) * 0.5, 1.9)
        tree.text(*middle, f"× $W_{{{name}}}$", ha="center", color=color, bbox=behind)
        box(f"{name}\n{question}\n{_numbers(vector)}", i + 0.5, 0.7, color)
    box(f"“{word}”  {_numbers(x)}", 1.5, 2.7, BLACK)

    bars.set_title(f"scores of the query of “{word}” with every key", fontsize=11)
    bars.bar_label(bars.barh(list(scores), list(scores.values()), color=BLUE), fmt=" %.2f")
    bars.invert_yaxis()
    bars.set_xlabel("score")
    bars.margins(x=0.15)
    bars.tick_params(axis="y", length=0)
    return fig


def _numbers(vector: Tensor) -> str:
    """Write a short vector as one line of text."""
    return "(" + ", ".join(f"{number:.2f}" for number in vector.tolist()) + ")"

"""The pictures of the page of results, each from what has been measured so far."""

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from ladder_page import RUNGS, SETS, Results
from ladder_statistics import Estimate, accuracy, reliability
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention.plotting import BLUE, GREEN, ORANGE, PURPLE

# A colour and a marker each, so that nothing hangs on the colour alone.
LOOKS = {"clean": (BLUE, "o"), "distractor": (ORANGE, "s")}
MODELS = {
    "tfidf": (PURPLE, "D", ":"),
    "mean": (GREEN, "^", "--"),
    "energy": (BLUE, "o", "-"),
    "qkv": (ORANGE, "s", "-."),
    "default": ("black", "v", "-"),
}


def draw_intervals(
    ax: Axes, rows: Sequence[str], find: Callable[[int, str], Estimate | None], factor: float = 100
) -> None:
    """Draw a row's figures with their intervals, one for each set of reviews, the first on top.

    Args:
        ax: Where to draw.
        rows: What stands at the left.
        find: Gives the figure of a row and a set, None for one that is not there yet.
        factor: On the figures; 100 makes them per cent.
    """
    for shift, (of, (colour, marker)) in zip((-0.14, 0.14), LOOKS.items(), strict=True):
        label = SETS[of]
        for i in range(len(rows)):
            found = find(i, of)
            if found is None:
                if of == "clean":
                    ax.annotate("not run yet", (0.5, i), xycoords=("axes fraction", "data"),
                                ha="center", va="center", color="0.4")  # fmt: skip
                continue
            reach = [[found.mean - found.low], [found.high - found.mean]]
            ax.errorbar(
                factor * found.mean, i + shift, xerr=factor * np.array(reach), color=colour,
                marker=marker, ms=6, capsize=3, lw=1.5, label=label,
            )  # fmt: skip
            label = None
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")


def ladder(results: Results, group: str = "ladder") -> Figure:
    """Draw the rungs' accuracies, without the majority's, which would squeeze the others."""
    rungs = [rung for rung in RUNGS if rung != "majority"]
    fig, ax = plt.subplots(figsize=(5, 4.4))
    draw_intervals(
        ax,
        [RUNGS[rung] for rung in rungs],
        lambda i, of: results.accuracy(f"{group}/{rungs[i]}", of),
    )
    ax.set_xlabel("reviews read right (%)")
    _legend(fig, ax, title="the review stands")
    return fig


def fixes(results: Results, panels: Sequence[Sequence[tuple[str, str, str]]]) -> Figure:
    """Draw what each fix gains, in panels of their own scale.

    Args:
        results: What has been measured.
        panels: For each panel its rows: words, the cell with the fix, the cell without.
    """
    counts = [len(rows) for rows in panels]
    fig, axes = plt.subplots(
        len(panels), figsize=(5, 1.6 + 0.48 * sum(counts)), height_ratios=counts
    )
    for ax, rows in zip(axes, panels, strict=True):

        def find(i: int, of: str, rows: Sequence[tuple[str, str, str]] = rows) -> Estimate | None:
            _, with_, without = rows[i]
            return results.gain(with_, without, of, same_seeds=True)

        draw_intervals(ax, [words for words, _, _ in rows], find)
        ax.axvline(0, color="black", lw=1)
    axes[-1].set_xlabel("gained by the fix (percentage points)")
    _legend(fig, axes[0], title="the review stands")
    return fig


def learning_curves(results: Results, names: dict[str, dict[int, str]]) -> Figure:
    """Draw accuracy over the number of training reviews: by model, the cell of each size."""
    fig, panels = plt.subplots(2, figsize=(5, 6), sharex=True)
    for panel, of in zip(panels, SETS, strict=True):
        for model, cells in names.items():
            found = {n: results.accuracy(name, of) for n, name in cells.items()}
            found = {n: each for n, each in found.items() if each is not None}
            _line(panel, model, list(found), list(found.values()))
        panel.set_ylabel(f"right, {SETS[of]} (%)")
        panel.set_xscale("log")
        panel.grid(color="0.9")
    sizes = sorted({n for cells in names.values() for n in cells})
    panels[1].set_xticks(sizes, [f"{n:,}" for n in sizes])
    panels[1].minorticks_off()
    panels[1].set_xlabel("reviews to train on")
    _legend(fig, panels[0])
    return fig


def over_lengths(
    results: Results, lengths: dict[str, np.ndarray], labels: dict[str, str], slices: int = 5
) -> Figure:
    """Draw accuracy over a length, in slices of equally many reviews: a panel for each set.

    Args:
        results: What has been measured.
        lengths: For each set of reviews the length, in words, that its answers are sorted by.
        labels: What that length is.
        slices: How many.
    """
    fig, panels = plt.subplots(2, figsize=(5, 6.4))
    for panel, of in zip(panels, SETS, strict=True):
        parts = np.array_split(np.argsort(lengths[of], kind="stable"), slices)
        middles = [float(np.median(lengths[of][part])) for part in parts]
        for model in ("mean", "energy", "qkv", "default"):
            answers = results.answers(f"ladder/{model}", of)
            if answers is not None:
                _line(panel, model, middles, [accuracy(answers[:, part]) for part in parts])
        panel.set_xlabel(labels[of])
        panel.set_ylabel(f"right, {SETS[of]} (%)")
        panel.set_xscale("log")
        panel.set_xticks(middles, [f"{middle:.0f}" for middle in middles])
        panel.minorticks_off()
        panel.grid(color="0.9")
    _legend(fig, panels[0])
    return fig


def reliability_diagram(results: Results, name: str) -> Figure:
    """Draw how often reviews are positive over how sure the model was, all seeds together."""
    fig, ax = plt.subplots(figsize=(5, 4.4))
    ax.plot([0, 100], [0, 100], color="0.6", lw=1, label="sure as often as right")
    for of, (colour, marker) in LOOKS.items():
        runs = results.cell(name)["runs"]
        bins = reliability([run[of]["calibration"] for run in runs]) if runs else []
        if bins:
            sure, share, counts = (np.array(each) for each in zip(*bins, strict=True))
            # The area of a marker goes with how many answers it stands for.
            ax.plot(100 * sure, 100 * share, color=colour, lw=1)
            ax.scatter(100 * sure, 100 * share, s=20 + 300 * counts / counts.sum(),
                       color=colour, marker=marker, label=SETS[of])  # fmt: skip
    ax.set_xlabel("probability of positive, as the model says (%)")
    ax.set_ylabel("reviews that are positive (%)")
    ax.legend(markerscale=0.6)
    ax.set_aspect("equal")
    return fig


def _line(ax: Axes, model: str, x: Sequence[float], found: Sequence[Estimate]) -> None:
    if not found:
        return
    colour, marker, dash = MODELS[model]
    mean, low, high = (
        100 * np.array([getattr(each, end) for each in found]) for end in ("mean", "low", "high")
    )
    ax.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
    ax.plot(x, mean, color=colour, marker=marker, ls=dash, ms=5, lw=1.5, label=RUNGS[model])


def _legend(fig: Figure, ax: Axes, title: str = "") -> None:
    handles, words = ax.get_legend_handles_labels()
    if handles:  # nothing may have been run yet
        fig.legend(handles, words, loc="outside upper center", ncols=3, title=title or None)

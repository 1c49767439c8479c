"""The pictures of the page of results, each from what has been measured so far."""

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention.plotting import BLUE, GREEN, ORANGE, PURPLE
from experiments.comparison.page import LABELS, SETS, Results
from experiments.comparison.statistics import Estimate, Floats, accuracy, reliability

# A colour and a marker each, so that nothing depends on the colour alone.
SET_STYLES = {"clean": (BLUE, "o"), "distractor": (ORANGE, "s")}
MODEL_STYLES = {
    "tfidf": (PURPLE, "D", ":"),
    "mean": (GREEN, "^", "--"),
    "energy": (BLUE, "o", "-"),
    "qkv": (ORANGE, "s", "-."),
    "default": ("black", "v", "-"),
}


def draw_intervals(
    ax: Axes, rows: Sequence[str], estimate: Callable[[int, str], Estimate | None]
) -> None:
    """Draw a row's estimates in per cent, one for each set of reviews, the first row on top.

    Args:
        ax: Where to draw.
        rows: Labels for the left.
        estimate: Returns the estimate of a row and a set, None for one that is not there yet.
    """
    for shift, (of, (colour, marker)) in zip((-0.14, 0.14), SET_STYLES.items(), strict=True):
        label: str | None = SETS[of]
        for i in range(len(rows)):
            figure = estimate(i, of)
            if figure is None:
                if of == "clean":
                    ax.annotate("not run yet", (0.5, i), xycoords=("axes fraction", "data"),
                                ha="center", va="center", color="0.4")  # fmt: skip
                continue
            reach = [[figure.mean - figure.low], [figure.high - figure.mean]]
            ax.errorbar(
                100 * figure.mean, i + shift, xerr=100 * np.array(reach), color=colour,
                marker=marker, ms=6, capsize=3, lw=1.5, label=label,
            )  # fmt: skip
            label = None
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")


def accuracies(results: Results, group: str = "ladder") -> Figure:
    """Draw the models' accuracies, without the majority's, which would squeeze the others."""
    labels = {name: label for name, label in results.labels(group).items() if name != "majority"}
    names = list(labels)
    fig, ax = plt.subplots(figsize=(5, 4.4))
    draw_intervals(
        ax, list(labels.values()), lambda i, of: results.accuracy(f"{group}/{names[i]}", of)
    )
    ax.set_xlabel("reviews read right (%)")
    _legend(fig, ax, title="the review stands")
    return fig


def fixes(results: Results, panels: Sequence[Sequence[tuple[str, str, str]]]) -> Figure:
    """Draw what each fix gains, in panels of their own scale.

    Args:
        results: What has been measured.
        panels: For each panel its rows: a label, the cell with the fix, the cell without.
    """
    counts = [len(rows) for rows in panels]
    fig, axes = plt.subplots(
        len(panels), figsize=(5, 1.6 + 0.48 * sum(counts)), height_ratios=counts
    )
    for ax, rows in zip(axes, panels, strict=True):

        def gain(i: int, of: str, rows: Sequence[tuple[str, str, str]] = rows) -> Estimate | None:
            _, fixed, faulty = rows[i]
            return results.gain(fixed, faulty, of)

        draw_intervals(ax, [label for label, _, _ in rows], gain)
        ax.axvline(0, color="black", lw=1)
    axes[-1].set_xlabel("gained by the fix (percentage points)")
    _legend(fig, axes[0], title="the review stands")
    return fig


def learning_curves(results: Results, names: dict[str, dict[int, str]]) -> Figure:
    """Draw accuracy over the number of training reviews: by model, the cell of each size."""
    fig, panels = plt.subplots(2, figsize=(5, 6), sharex=True)
    for panel, of in zip(panels, SETS, strict=True):
        for model, cells in names.items():
            estimates = {
                n: estimate
                for n, name in cells.items()
                if (estimate := results.accuracy(name, of)) is not None
            }
            _line(panel, model, list(estimates), list(estimates.values()))
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
    results: Results, lengths: dict[str, Floats], labels: dict[str, str], slices: int = 5
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
    for of, (colour, marker) in SET_STYLES.items():
        runs = results.cell(name)["runs"]
        bins = reliability([run[of]["calibration"] for run in runs]) if runs else []
        if bins:
            probability, share, counts = (np.array(each) for each in zip(*bins, strict=True))
            # The area of a marker grows with the number of its answers.
            ax.plot(100 * probability, 100 * share, color=colour, lw=1)
            ax.scatter(100 * probability, 100 * share, s=20 + 300 * counts / counts.sum(),
                       color=colour, marker=marker, label=SETS[of])  # fmt: skip
    ax.set_xlabel("probability of positive, as the model says (%)")
    ax.set_ylabel("reviews that are positive (%)")
    ax.legend(markerscale=0.6)
    ax.set_aspect("equal")
    return fig


def _line(ax: Axes, model: str, x: Sequence[float], estimates: Sequence[Estimate]) -> None:
    if not estimates:
        return
    colour, marker, dash = MODEL_STYLES[model]
    ends = np.array([(each.mean, each.low, each.high) for each in estimates])
    mean, low, high = 100 * ends.T
    ax.fill_between(x, low, high, color=colour, alpha=0.12, lw=0)
    ax.plot(x, mean, color=colour, marker=marker, ls=dash, ms=5, lw=1.5, label=LABELS[model])


def _legend(fig: Figure, ax: Axes, title: str = "") -> None:
    handles, words = ax.get_legend_handles_labels()
    if handles:  # nothing may have been run yet
        fig.legend(handles, words, loc="outside upper center", ncols=3, title=title or None)

"""The figures of the page of results."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attention.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE
from experiments.comparison.hypotheses import FIRST, outcomes
from experiments.comparison.page import CURVES, FAMILIES, FIXES, READS, SETS, Results
from experiments.comparison.statistics import Estimate, reliability

# Each set has a colour and a marker, so that nothing depends on the colour alone.
SET_STYLES = {"clean": (BLUE, "o"), "distractor": (ORANGE, "s")}
MODEL_STYLES = {
    "tfidf-marked": (PURPLE, "D", ":"),
    "mean": (GREEN, "^", "--"),
    "energy": (BLUE, "o", "-"),
    "qkv": (ORANGE, "s", "-."),
    "encoder-frozen": ("black", "v", "-"),
}
BARS: dict[str, Any] = {"ms": 5, "capsize": 2.5, "lw": 1.5}


def draw_intervals(
    ax: Axes, rows: Sequence[str], estimates: Mapping[str, Sequence[Estimate]]
) -> None:
    """Draw each row's estimates in per cent, one per set of reviews, with the first row on top."""
    for shift, (of, (colour, marker)) in zip((-0.14, 0.14), SET_STYLES.items(), strict=True):
        mean, errors = _bars(estimates[of])
        look = {"color": colour, "marker": marker, "label": SETS[of], "ls": "", **BARS}
        ax.errorbar(mean, np.arange(len(rows)) + shift, xerr=errors, **look)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")


def first_gains(results: Results) -> Figure:
    """Draw what each step gains, the first row on top; an empty marker stands for no difference."""
    tested = outcomes(results)
    fig, ax = plt.subplots(figsize=(5, 3.6))
    for i, each in enumerate(FIRST.values()):
        mean, errors = _bars([tested[each].gain])
        fill = BLACK if tested[each].is_significant else "white"
        ax.errorbar(mean, [i], xerr=errors, fmt="o", color=BLACK, mfc=fill, **BARS)
    ax.axvline(0, color="0.6", lw=1)
    ax.set_yticks(range(len(FIRST)), list(FIRST))
    ax.set_ylim(len(FIRST) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")
    ax.set_xlabel("gain (percentage points)")
    return fig


def accuracies(results: Results) -> Figure:
    """Draw the models' accuracies, without the majority, whose row would squeeze the others."""
    families = [[name for name in each if name != "majority"] for each in FAMILIES.values()]
    names = [name for family in families for name in family]
    fig, ax = plt.subplots(figsize=(5, 1.4 + 0.31 * len(names)))
    estimates = {of: [results.accuracy(name, of) for name in names] for of in SETS}
    draw_intervals(ax, names, estimates)
    for last in np.cumsum([len(family) for family in families])[:-1]:
        ax.axhline(last - 0.5, color="0.6", lw=0.8)
    ax.set_xlabel("accuracy on the test reviews (%)")
    _legend(fig, ax)
    return fig


def factorial(results: Results) -> Figure:
    """Draw what three ways of weighting words gain from bigrams and from the mark."""
    fig, panels = plt.subplots(2, figsize=(5, 6.2), sharex=True)
    for panel, of in zip(panels, SETS, strict=True):
        for shift, model in zip((-0.08, 0, 0.08), ("mean", "energy", "qkv"), strict=True):
            at = [i + shift for i in range(len(READS))]
            _line(panel, model, at, [results.accuracy(model + ending, of) for ending in READS])
        panel.set_ylabel(f"accuracy {SETS[of]} (%)")
        panel.grid(axis="y", color="0.9")
    panels[-1].set_xticks(range(len(READS)), list(READS.values()))
    panels[-1].set_xlim(-0.4, len(READS) - 0.6)
    _legend(fig, panels[0])
    return fig


def fixes(results: Results) -> Figure:
    """Draw what each fix gains, in panels with their own scales."""
    counts = [len(rows) for rows in FIXES]
    fig, axes = plt.subplots(
        len(FIXES), figsize=(5, 1.6 + 0.48 * sum(counts)), height_ratios=counts
    )
    for ax, rows in zip(axes, FIXES, strict=True):
        gains = {of: [results.gain(*pair, of) for pair in rows.values()] for of in SETS}
        draw_intervals(ax, list(rows), gains)
        ax.axvline(0, color="black", lw=1)
    axes[-1].set_xlabel("gained by the fix (percentage points)")
    _legend(fig, axes[0])
    return fig


def learning_curves(results: Results) -> Figure:
    """Draw accuracy over the number of training reviews."""
    fig, panels = plt.subplots(2, figsize=(5, 6), sharex=True)
    for panel, of in zip(panels, SETS, strict=True):
        for model, cells in CURVES.items():
            _line(panel, model, [*cells], [results.accuracy(name, of) for name in cells.values()])
        panel.set_ylabel(f"accuracy {SETS[of]} (%)")
        panel.set_xscale("log")
        panel.grid(color="0.9")
    sizes = [*CURVES["mean"]]
    panels[1].set_xticks(sizes, [f"{size:,}" for size in sizes])
    panels[1].minorticks_off()
    panels[1].set_xlabel("training reviews")
    _legend(fig, panels[0])
    return fig


def reliability_diagram(results: Results, name: str) -> Figure:
    """Draw the share of positive reviews over the predicted probability, all seeds together."""
    runs = results.runs(name)
    fig, ax = plt.subplots(figsize=(5, 4.4))
    ax.plot([0, 100], [0, 100], color="0.6", lw=1, label="calibrated")
    for of, (colour, marker) in SET_STYLES.items():
        bins = reliability([run[of]["calibration"] for run in runs])
        probability, share, counts = (np.array(each) for each in zip(*bins, strict=True))
        # The area of a marker grows with the number of its answers.
        ax.plot(100 * probability, 100 * share, color=colour, lw=1)
        ax.scatter(
            100 * probability,
            100 * share,
            s=20 + 300 * counts / counts.sum(),
            color=colour,
            marker=marker,
            label=SETS[of],
        )
    ax.set_xlabel("predicted probability of positive (%)")
    ax.set_ylabel("reviews that are positive (%)")
    ax.legend(markerscale=0.6)
    ax.set_aspect("equal")
    return fig


def _line(ax: Axes, model: str, at: Sequence[float], estimates: Sequence[Estimate]) -> None:
    colour, marker, dash = MODEL_STYLES[model]
    mean, errors = _bars(estimates)
    look = {"color": colour, "marker": marker, "label": model, "ls": dash, **BARS}
    ax.errorbar(at, mean, yerr=errors, **look)


def _bars(estimates: Sequence[Estimate]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means in per cent, (N,), and how far their intervals reach below and above."""
    mean, low, high = np.array([(e.mean, e.low, e.high) for e in estimates]).T * 100  # 3 of (N,)
    return mean, np.stack([mean - low, high - mean])  # (N,), (2, N)


def _legend(fig: Figure, ax: Axes) -> None:
    handles, words = ax.get_legend_handles_labels()
    fig.legend(handles, words, loc="outside upper center", ncols=3)

"""The figures of the page of results, which show what has been measured so far.

A figure for which nothing has been measured is None.
"""

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention.plotting import BLUE, GREEN, ORANGE, PURPLE
from experiments.comparison.page import FAMILIES, SETS, Results
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
# What a model reads, by the ending of its name.
READS = {
    "": "words",
    "-bigrams": "and\nbigrams",
    "-marked": "and the\nmark",
    "-bigrams-marked": "and\nboth",
}


def draw_intervals(
    ax: Axes, rows: Sequence[str], estimate: Callable[[int, str], Estimate | None]
) -> None:
    """Draw each row's estimates in per cent, one per set of reviews, with the first row on top.

    Args:
        ax: Where to draw.
        rows: Labels for the left.
        estimate: Returns the estimate of a row and a set, or None.
    """
    for shift, (of, (colour, marker)) in zip((-0.14, 0.14), SET_STYLES.items(), strict=True):
        found = [(i, each) for i in range(len(rows)) if (each := estimate(i, of)) is not None]
        mean, low, high = np.array([(e.mean, e.low, e.high) for _, e in found]).T * 100
        ax.errorbar(
            mean,
            [i + shift for i, _ in found],
            xerr=[mean - low, high - mean],
            color=colour,
            marker=marker,
            ls="",
            ms=5,
            capsize=2.5,
            lw=1.5,
            label=SETS[of],
        )
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color="0.9")


def accuracies(results: Results) -> Figure | None:
    """Draw the models' accuracies, without the majority, whose row would squeeze the others."""
    run = [results.run_of(names) for names in FAMILIES.values()]
    families = [[name for name in family if name != "majority"] for family in run]
    names = [name for family in families for name in family]
    if not names:
        return None
    fig, ax = plt.subplots(figsize=(5, 1.4 + 0.31 * len(names)))
    draw_intervals(ax, names, lambda i, of: results.accuracy(names[i], of))
    for last in np.cumsum([len(family) for family in families])[:-1]:
        ax.axhline(last - 0.5, color="0.6", lw=0.8)
    ax.set_xlabel("accuracy on the test reviews (%)")
    _legend(fig, ax)
    return fig


def factorial(results: Results) -> Figure | None:
    """Draw what three ways of weighting words gain from bigrams and from the mark."""
    fig, panels = plt.subplots(2, figsize=(5, 6.2), sharex=True)
    for panel, of in zip(panels, SETS, strict=True):
        for shift, model in zip((-0.08, 0, 0.08), ("mean", "energy", "qkv"), strict=True):
            found = {
                i + shift: estimate
                for i, ending in enumerate(READS)
                if (estimate := results.accuracy(model + ending, of)) is not None
            }
            _line(panel, model, found)
        panel.set_ylabel(f"accuracy {SETS[of]} (%)")
        panel.grid(axis="y", color="0.9")
    panels[-1].set_xticks(range(len(READS)), list(READS.values()))
    panels[-1].set_xlim(-0.4, len(READS) - 0.6)
    return _finished(fig, panels[0])


def fixes(results: Results, panels: Sequence[dict[str, tuple[str, str]]]) -> Figure | None:
    """Draw what each fix gains, in panels with their own scales.

    Args:
        results: What has been measured.
        panels: For each panel, by the label of a row: the cell with the fix, and that without.
    """
    every = [{k: v for k, v in rows.items() if len(results.run_of(v)) == 2} for rows in panels]
    run = [rows for rows in every if rows]
    if not run:
        return None
    counts = [len(rows) for rows in run]
    fig, axes = plt.subplots(
        len(run), figsize=(5, 1.6 + 0.48 * sum(counts)), height_ratios=counts, squeeze=False
    )
    for ax, rows in zip(axes[:, 0], run, strict=True):
        pairs = list(rows.values())

        def gain(i: int, of: str, pairs: Sequence[tuple[str, str]] = pairs) -> Estimate | None:
            return results.gain(*pairs[i], of)

        draw_intervals(ax, list(rows), gain)
        ax.axvline(0, color="black", lw=1)
    axes[-1, 0].set_xlabel("gained by the fix (percentage points)")
    _legend(fig, axes[0, 0])
    return fig


def learning_curves(results: Results, curves: dict[str, dict[int, str]]) -> Figure | None:
    """Draw accuracy over the number of training reviews, by model and its cell of each size."""
    fig, panels = plt.subplots(2, figsize=(5, 6), sharex=True)
    for panel, of in zip(panels, SETS, strict=True):
        for model, cells in curves.items():
            found = {
                float(size): estimate
                for size, name in cells.items()
                if (estimate := results.accuracy(name, of)) is not None
            }
            _line(panel, model, found)
        panel.set_ylabel(f"accuracy {SETS[of]} (%)")
        panel.set_xscale("log")
        panel.grid(color="0.9")
    sizes = sorted({size for cells in curves.values() for size in cells})
    panels[1].set_xticks(sizes, [f"{size:,}" for size in sizes])
    panels[1].minorticks_off()
    panels[1].set_xlabel("training reviews")
    return _finished(fig, panels[0])


def reliability_diagram(results: Results, name: str) -> Figure | None:
    """Draw the share of positive reviews over the predicted probability, all seeds together."""
    runs = results.runs(name)
    if not runs:
        return None
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


def _line(ax: Axes, model: str, found: dict[float, Estimate]) -> None:
    if not found:
        return
    colour, marker, dash = MODEL_STYLES[model]
    mean, low, high = np.array([(e.mean, e.low, e.high) for e in found.values()]).T * 100
    ax.errorbar(
        list(found),
        mean,
        yerr=[mean - low, high - mean],
        color=colour,
        marker=marker,
        ls=dash,
        ms=5,
        capsize=2.5,
        lw=1.5,
        label=model,
    )


def _legend(fig: Figure, ax: Axes) -> None:
    handles, words = ax.get_legend_handles_labels()
    fig.legend(handles, words, loc="outside upper center", ncols=3)


def _finished(fig: Figure, ax: Axes) -> Figure | None:
    """Add the legend, or close a figure in which nothing has been drawn and return None."""
    if not ax.get_legend_handles_labels()[0]:
        plt.close(fig)
        return None
    _legend(fig, ax)
    return fig

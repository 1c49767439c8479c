"""What the page of results reads from ``results.json``, and how it writes numbers."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.comparison.statistics import Bools, Estimate, accuracy, correct, gain

# The compared models by family, in the order of the page's tables and figures.
FAMILIES = {
    "baselines": ("majority", "tfidf", "tfidf-marked", "after-separator"),
    "the mean": ("mean", "mean-bigrams", "mean-marked", "mean-bigrams-marked"),
    "one learned query": (
        "energy",
        "energy-bigrams",
        "energy-marked",
        "energy-bigrams-marked",
        "keys",
        "default",
    ),
    "self-attention": (
        "qk",
        "qkv",
        "qkv-bigrams",
        "qkv-marked",
        "qkv-bigrams-marked",
        "multihead",
        "transformer-1",
        "transformer-2",
    ),
    "pretrained": ("encoder-frozen", "encoder-fine-tuned"),
}
MODELS = tuple(name for names in FAMILIES.values() for name in names)
# The sets of reviews that all answer, by their names in the file.
SETS = {"clean": "alone", "distractor": "behind a distractor"}


def _fix(faulty: str, fixed: str = "corrected") -> tuple[str, str]:
    return f"ablations/{fixed}", f"ablations/{faulty}"


# By panel of the figure: the cell with the fix, and that without.
FIXES = (
    {
        "padding masked": _fix("no-mask"),
        "positions from the end,\nnot from the start": _fix("positions-start"),
        "positions from the end,\nnot none": _fix("positions-none"),
        "a separator": _fix("no-separator"),
        "the mark,\nbesides a separator": _fix("corrected", "segments"),
        "rare words as <unk>": _fix("every-word"),
        "scores scaled": _fix("no-scale"),
    },
    {
        "the tail kept,\nnot the head": _fix("head"),
        "the tail, and five more\n(see the text)": _fix("all-but-batch-and-rate"),
        "64 examples per step,\nnot 1,024": _fix("batch"),
        "64 examples and a tuned,\nfalling learning rate": _fix("batch-and-rate"),
        "all of it": _fix("all"),
    },
)
# What a model reads, by the ending of its name.
READS = {
    "": "words",
    "-bigrams": "and\nbigrams",
    "-marked": "and the\nmark",
    "-bigrams-marked": "and\nboth",
}
CURVES = {
    model: {size: f"curves/{model}-{size}" for size in (1_000, 2_500, 5_000)} | {20_000: model}
    for model in ("tfidf-marked", "mean", "energy", "encoder-frozen")
}
# In narrow tables, lines may break before an interval, never within.
JOINER, SPACE = "\u2060", "\u00a0"


class Results:
    """The file, and what the page reads from it.

    Args:
        cells: What was recorded, by the name of the cell.
    """

    def __init__(self, cells: dict[str, dict[str, Any]]) -> None:
        self.cells = cells

    def runs(self, name: str) -> list[dict[str, Any]]:
        """Return what a cell's runs measured, one entry per seed."""
        runs: list[dict[str, Any]] = self.cells[name]["runs"]
        return runs

    def accuracy(self, name: str, of: str) -> Estimate:
        """Estimate a cell's accuracy."""
        return accuracy(np.stack([correct(run[of]) for run in self.runs(name)]))

    def gain(self, name: str, than: str, of: str) -> Estimate:
        """Estimate by how much one cell is more accurate than another, on the same reviews."""
        return gain(*self.answers(name, than, of))

    def answers(self, name: str, than: str, of: str) -> tuple[Bools, Bools]:
        """Read which answers of two cells were right, (S, N), with the seeds that both have."""
        first, second = (
            {run["seed"]: correct(run[of]) for run in self.runs(each)} for each in (name, than)
        )
        seeds = [seed for seed in first if seed in second]
        return np.stack([first[seed] for seed in seeds]), np.stack([second[seed] for seed in seeds])

    def models(self, group: str) -> list[dict[str, Any]]:
        """List all models that a group has trained, tuning included."""
        cells = [cell for cell in self.cells.values() if cell["group"] == group]
        return [each for cell in cells for each in [*cell["trials"], *cell["runs"]]]

    def core_hours(self, group: str) -> float:
        """Sum up the hours of one core that a group has taken."""
        return sum(float(each["cpu_seconds"]) for each in self.models(group)) / 3600

    def rate_at_end(self, name: str) -> str:
        """Say whether the lowest or the highest of its learning rates was chosen for a model."""
        cell = self.cells[name]
        rates = cell["config"]["tune"].get("lr", [0])
        return {min(rates): "lowest", max(rates): "highest"}.get(cell["chosen"].get("lr"), "")


def read_results() -> Results:
    """Read the committed results."""
    path = Path(__file__).with_name("results.json")
    return Results(json.loads(path.read_text("utf-8"))["cells"])


def percent(estimate: Estimate) -> str:
    """Write an accuracy, in per cent, with its interval."""
    ends = (estimate.mean, estimate.low, estimate.high)
    mean, low, high = (f"{100 * each:.1f}" for each in ends)
    return f"{mean} ({low}{JOINER}–{JOINER}{high})"


def signed(share: float) -> str:
    """Write a difference in percentage points, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "−")


def points(estimate: Estimate, *, bold: bool | None = None) -> str:
    """Write a gain, in percentage points, with its interval.

    Args:
        estimate: The gain.
        bold: Whether to write it in bold; without it, where the interval excludes 0.
    """
    low, high = signed(estimate.low), signed(estimate.high)
    text = f"{signed(estimate.mean)} ({low}{SPACE}to{SPACE}{high})"
    excludes_0 = estimate.is_above_0 or estimate.is_below_0
    return f"**{text}**" if (excludes_0 if bold is None else bold) else text


def p_value(p: float, less: str = "<") -> str:
    """Write a p-value; ``less`` is how "less than" is written for one that is very small."""
    return f"{less} 0.001" if p < 0.001 else f"{p:.3f}"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, with words in the first column and numbers in the others."""
    lines = [header, [":---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

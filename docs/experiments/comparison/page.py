"""What the page of results reads out of ``results.json``: figures, tables, and words for them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from attention.analysis import parameter_count
from attention.layers.variants import VARIANTS, AttentionConfig
from attention.sentiment.config import ModelConfig
from experiments.comparison.statistics import Bools, Estimate, accuracy, correct, gain

# What the page calls the models, in its order: baselines, every variant of attention, the default.
LABELS = {
    "majority": "majority",
    "tfidf": "TF-IDF",
    **{name: variant.label for name, variant in VARIANTS.items()},
    "default": "our default",
}
# In narrow tables, lines may break before an interval, never within.
JOINER, SPACE = "\u2060", "\u00a0"
# The page's sets of reviews, by their names in the file.
SETS = {"clean": "alone", "distractor": "behind a distractor"}


@dataclass(frozen=True)
class Results:
    """The file, and what the page reads out of it.

    Args:
        path: ``results.json``.
    """

    path: Path

    @cached_property
    def file(self) -> dict[str, Any]:
        """The whole of it."""
        content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    def cell(self, name: str) -> dict[str, Any]:
        """Find a cell; one that was never requested has no runs either."""
        nothing: dict[str, Any] = {"runs": [], "seeds": [], "error": None}
        cell: dict[str, Any] = self.file["cells"].get(name, nothing)
        return cell

    def labels(self, group: str) -> dict[str, str]:
        """Label a group's models, without the variants of attention that it does not compare."""
        cells = self.file["cells"]
        return {
            name: label
            for name, label in LABELS.items()
            if name not in VARIANTS or f"{group}/{name}" in cells
        }

    def attending(self, group: str) -> list[str]:
        """Name a group's models that weigh words by attention, from the simplest up."""
        return [name for name in self.labels(group) if name in VARIANTS and name != "mean"]

    def runs(self, name: str, *, split: str = "validation") -> list[dict[str, Any]]:
        """Find what was measured of a cell, one entry per seed."""
        if split == "test":
            runs: list[dict[str, Any]] = (self.file["test"] or {"cells": {}})["cells"].get(name, [])
            return runs
        return list(self.cell(name)["runs"])

    def answers(self, name: str, of: str, *, split: str = "validation") -> Bools | None:
        """Read which answers were right, one row per seed, (S, N); None before the cell has run."""
        runs = self.runs(name, split=split)
        return np.stack([correct(run[of]) for run in runs]) if runs else None

    def accuracy(self, name: str, of: str, *, split: str = "validation") -> Estimate | None:
        """Estimate a cell's accuracy."""
        answers = self.answers(name, of, split=split)
        return None if answers is None else accuracy(answers)

    def gain(self, name: str, than: str, of: str, *, split: str = "validation") -> Estimate | None:
        """Estimate how much one cell gains over another, on the same reviews, seed by seed.

        Of two cells with several seeds, those seeds count that both have been trained with. A cell
        of one run is compared with every run of the other.
        """
        first, second = (
            {run["seed"]: correct(run[of]) for run in self.runs(each, split=split)}
            for each in (name, than)
        )
        if not (first and second):
            return None
        if len(first) > 1 and len(second) > 1:
            common = sorted(first.keys() & second.keys())
            first, second = ({seed: each[seed] for seed in common} for each in (first, second))
        return gain(np.stack([*first.values()]), np.stack([*second.values()]))

    def state(self, name: str) -> str:
        """Describe what keeps a cell from being complete; an empty string if nothing does."""
        cell = self.cell(name)
        if cell["error"]:
            return f"failed with seed {cell['error']['seed']}: {cell['error']['message']}"
        if not cell["runs"]:
            return "not run yet"
        left = len(cell["seeds"]) - len(cell["runs"])
        return f"{len(cell['runs'])} of {len(cell['seeds'])} seeds" if left else ""

    def without_a_win(self, over: str, of: str, *, group: str = "ladder") -> list[str]:
        """Label the models with attention whose gain over another is not above 0."""
        labels = []
        for name in self.attending(group):
            estimate = self.gain(f"{group}/{name}", f"{group}/{over}", of)
            if estimate is not None and not estimate.is_above_0:
                labels.append(LABELS[name])
        return labels

    def core_minutes(self, group: str) -> float:
        """Sum up the minutes of one core that a group's models took, with those only tried out."""
        seconds = 0.0
        for cell in self.file["cells"].values():
            if cell["group"] == group:
                tried = [each["run"] for each in cell["choice"]]
                kept = {run["date"] for run in cell["runs"]}
                # The best of what was tried is among the runs, too.
                seconds += sum(run["cpu_seconds"] for run in tried if run["date"] not in kept)
                seconds += sum(run["cpu_seconds"] for run in cell["runs"])
        return seconds / 60

    def origin(self) -> str:
        """State when and with what the numbers were made."""
        runs = [run for cell in self.file["cells"].values() for run in cell["runs"]]
        if not runs:
            return "Nothing has been run yet."
        dates = sorted(run["date"][:10] for run in runs)
        days = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        versions = sorted({f"torch {run['versions']['torch']}" for run in runs})
        hardware = sorted({run["hardware"] for run in runs})
        return f"Made on {days} with {', '.join(versions)}, on {'; '.join(hardware)}."


def own_parameters(config: ModelConfig) -> int:
    """Count what a model's attention learns, biases apart."""
    names = {field.name for field in fields(AttentionConfig)} - {"bias"}
    return parameter_count(config.attention, **{name: getattr(config, name) for name in names})


def percent(estimate: Estimate | None) -> str:
    """Write an accuracy, in per cent, with its interval."""
    if estimate is None:
        return "not run yet"
    ends = (estimate.mean, estimate.low, estimate.high)
    mean, low, high = (f"{100 * each:.1f}" for each in ends)
    return f"{mean} ({low}{JOINER}–{JOINER}{high})"


def points(estimate: Estimate | None) -> str:
    """Write a gain, in percentage points, with its interval; bold if it is significant."""
    if estimate is None:
        return "not run yet"
    ends = (estimate.mean, estimate.low, estimate.high)
    mean, low, high = (f"{100 * each:+.1f}".replace("-", "−") for each in ends)
    text = f"{mean} ({low}{SPACE}to{SPACE}{high})"
    return f"**{text}**" if estimate.is_above_0 or estimate.is_below_0 else text


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, its first column of words, the others of figures."""
    lines = [header, [":---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    if len(words) < 2:
        return "".join(words) or "none"
    return f"{', '.join(words[:-1])} and {words[-1]}"

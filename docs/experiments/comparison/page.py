"""What the page of results reads from ``results.json``, and how it writes numbers."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from experiments.comparison.statistics import (
    Bools,
    Estimate,
    accuracy,
    correct,
    detectable_gain,
    gain,
)

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
# In narrow tables, lines may break before an interval, never within.
JOINER, SPACE = "\u2060", "\u00a0"
NOT_RUN = "not run yet"


@dataclass(frozen=True)
class Results:
    """The file, and what the page reads from it.

    A cell counts once it has been trained with all its seeds. Until then it has no figures, so
    that no page compares some of the seeds of one model with all those of another.

    Args:
        path: ``results.json``.
    """

    path: Path

    @cached_property
    def cells(self) -> dict[str, dict[str, Any]]:
        """What was recorded, by the name of the cell."""
        cells: dict[str, dict[str, Any]] = json.loads(self.path.read_text("utf-8"))["cells"]
        return cells

    def runs(self, name: str) -> list[dict[str, Any]]:
        """Find what a cell's runs measured, one entry per seed; none before all are complete."""
        cell = self.cells.get(name, {"runs": [], "seeds": []})
        by_seed = {run["seed"]: run for run in cell["runs"]}
        return (
            [by_seed[seed] for seed in cell["seeds"]] if by_seed.keys() >= {*cell["seeds"]} else []
        )

    def state(self, name: str) -> str:
        """Describe what keeps a cell from being complete; an empty string if nothing does."""
        if self.runs(name):
            return ""
        cell = self.cells.get(name, {"runs": [], "error": None})
        if cell["error"]:
            return f"failed with seed {cell['error']['seed']}: {cell['error']['message']}"
        return f"{len(cell['runs'])} of {len(cell['seeds'])} seeds run" if cell["runs"] else NOT_RUN

    def run_of(self, names: Iterable[str]) -> list[str]:
        """Keep the names of the cells that are complete."""
        return [name for name in names if self.runs(name)]

    def answers(self, name: str, of: str) -> Bools | None:
        """Read which answers were right, one row per seed (S, N); None before the cell has run."""
        runs = self.runs(name)
        return np.stack([correct(run[of]) for run in runs]) if runs else None

    def accuracy(self, name: str, of: str) -> Estimate | None:
        """Estimate a cell's accuracy."""
        answers = self.answers(name, of)
        return None if answers is None else accuracy(answers)

    def gain(self, name: str, than: str, of: str) -> Estimate | None:
        """Estimate by how much one cell is more accurate than another, on the same reviews."""
        pair = self._pair(name, than, of)
        return gain(*pair) if pair else None

    def detectable_gain(
        self, name: str, than: str, of: str, *, seeds: int, reviews: int
    ) -> float | None:
        """Estimate the smallest gain that so many seeds and reviews would mostly find."""
        pair = self._pair(name, than, of)
        return detectable_gain(*pair, seeds=seeds, reviews=reviews) if pair else None

    def _pair(self, name: str, than: str, of: str) -> tuple[Bools, Bools] | None:
        """Read the answers of two cells with the seeds that both have been trained with."""
        first, second = (
            {run["seed"]: correct(run[of]) for run in self.runs(each)} for each in (name, than)
        )
        seeds = [seed for seed in first if seed in second]
        if not seeds:
            return None
        return np.stack([first[seed] for seed in seeds]), np.stack([second[seed] for seed in seeds])

    def models(self, group: str) -> list[dict[str, Any]]:
        """List all that a group has trained, complete or not, tuning included."""
        cells = [cell for cell in self.cells.values() if cell["group"] == group]
        return [each for cell in cells for each in [*cell["trials"], *cell["runs"]]]

    def core_hours(self, group: str, *, reviews: int | None = None) -> float:
        """Sum up the hours of one core that a group has taken.

        Args:
            group: Which.
            reviews: Return instead the hours that its reported runs would take if each trained
                on so many reviews, with time in proportion to their number.
        """
        if reviews is None:
            return sum(float(each["cpu_seconds"]) for each in self.models(group)) / 3600
        runs = [
            run for cell in self.cells.values() if cell["group"] == group for run in cell["runs"]
        ]
        return (
            sum(float(run["cpu_seconds"] / run["data"]["train"]) for run in runs) * reviews / 3600
        )

    def cost(self, name: str) -> list[str]:
        """List a cell's chosen options, its trained parameters, and its seconds of one core."""
        runs = self.runs(name)
        if not runs:
            return [self.state(name), "", ""]
        chosen = ", ".join(f"{option} {value:g}" for option, value in runs[0]["options"].items())
        seconds = np.median([run["cpu_seconds"] for run in runs])
        count = f"{runs[0]['parameters']:,}" if "parameters" in runs[0] else ""
        return [chosen, count, f"{seconds:,.0f}"]

    def origin(self, group: str) -> list[str]:
        """List how many models a group has trained, in how many hours, when and with which code."""
        models = self.models(group)
        if not models:
            return [NOT_RUN, "", "", ""]
        days = sorted({each["date"][:10] for each in models})
        commits = dict.fromkeys(
            f"`{each['commit']['sha'][:10]}`" + ("" if each["commit"]["clean"] else " with changes")
            for each in models
        )
        period = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
        return [f"{len(models):,}", f"{self.core_hours(group):.1f}", period, ", ".join(commits)]

    def fingerprints(self, group: str) -> list[str]:
        """List how the SHA-256 of the reviews begins for which a group reports accuracies."""
        cells = [cell for cell in self.cells.values() if cell["group"] == group]
        found = {run["data"]["sha256"]["reported"] for cell in cells for run in cell["runs"]}
        return sorted(f"`{each[:12]}`" for each in found)


def percent(estimate: Estimate | None) -> str:
    """Write an accuracy, in per cent, with its interval."""
    if estimate is None:
        return NOT_RUN
    ends = (estimate.mean, estimate.low, estimate.high)
    mean, low, high = (f"{100 * each:.1f}" for each in ends)
    return f"{mean} ({low}{JOINER}–{JOINER}{high})"


def signed(share: float) -> str:
    """Write a difference in percentage points, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "−")


def points(estimate: Estimate | None, *, bold: bool | None = None) -> str:
    """Write a gain, in percentage points, with its interval.

    Args:
        estimate: The gain, None if something has not been run yet.
        bold: Whether to write it in bold; without it, where the interval excludes 0.
    """
    if estimate is None:
        return NOT_RUN
    low, high = signed(estimate.low), signed(estimate.high)
    text = f"{signed(estimate.mean)} ({low}{SPACE}to{SPACE}{high})"
    excludes_0 = estimate.is_above_0 or estimate.is_below_0
    return f"**{text}**" if (excludes_0 if bold is None else bold) else text


def p_value(p: float, less: str = "<") -> str:
    """Write a p-value; ``less`` is how "less than" is written for one that is very small."""
    return f"{less} 0.001" if p < 0.001 else f"{p:.3f}"


def listed(words: Sequence[str]) -> str:
    """Write words as a list in a sentence, and "none" if there is none."""
    if len(words) < 2:
        return words[0] if words else "none"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def names(cells: Sequence[str]) -> str:
    """Write the names of cells as a list in a sentence."""
    return listed([f"`{cell}`" for cell in cells])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, with words in the first column and numbers in the others."""
    lines = [header, [":---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

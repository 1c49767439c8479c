"""What the page of results reads out of ``ladder.json``: figures, tables, and words for them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from ladder_statistics import Estimate, accuracy, correct, gain

# In the order of the ladder, with what stands on the page.
RUNGS = {
    "majority": "majority",
    "tfidf": "TF-IDF",
    "mean": "mean",
    "energy": "energy",
    "keys": "keys",
    "qk": "QK",
    "qkv": "QKV",
    "multihead": "multi-head",
    "default": "our default",
}
ATTENDING = ("energy", "keys", "qk", "qkv", "multihead")
# In narrow tables, lines may break before an interval, never within.
JOINER, SPACE = "\u2060", "\u00a0"
# The page's sets of reviews, by their names in the file.
SETS = {"clean": "alone", "distractor": "behind a distractor"}


@dataclass(frozen=True)
class Results:
    """The file, and the questions that the page has for it.

    Args:
        path: ``ladder.json``.
    """

    path: Path

    @cached_property
    def file(self) -> dict[str, Any]:
        """The whole of it."""
        return json.loads(self.path.read_text(encoding="utf-8"))

    def cell(self, name: str) -> dict[str, Any]:
        """Find a cell; one that was never asked for has no runs either."""
        return self.file["cells"].get(name, {"runs": [], "seeds": [], "error": None})

    def answers(self, name: str, of: str, *, split: str = "validation") -> np.ndarray | None:
        """Read which answers were right, a row a seed, (S, N); None before the cell has run."""
        if split == "test":
            runs = (self.file["test"] or {"cells": {}})["cells"].get(name, [])
        else:
            runs = self.cell(name)["runs"]
        return np.stack([correct(run[of]) for run in runs]) if runs else None

    def accuracy(self, name: str, of: str, *, split: str = "validation") -> Estimate | None:
        """Estimate a cell's accuracy."""
        answers = self.answers(name, of, split=split)
        return None if answers is None else accuracy(answers)

    def gain(
        self, name: str, than: str, of: str, *, same_seeds: bool = False, split: str = "validation"
    ) -> Estimate | None:
        """Estimate how much one cell gains over another, on the same reviews."""
        first, second = (self.answers(each, of, split=split) for each in (name, than))
        if first is None or second is None:
            return None
        if same_seeds and len(first) != len(second):
            first, second = (each[: min(len(first), len(second))] for each in (first, second))
        return gain(first, second, same_seeds=same_seeds)

    def state(self, name: str) -> str:
        """Say what keeps a cell from being whole: nothing, an error, seeds or all."""
        cell = self.cell(name)
        if cell["error"]:
            return f"failed with seed {cell['error']['seed']}: {cell['error']['message']}"
        if not cell["runs"]:
            return "not run yet"
        left = len(cell["seeds"]) - len(cell["runs"])
        return f"{len(cell['runs'])} of {len(cell['seeds'])} seeds" if left else ""

    def without_a_win(self, over: str, of: str, *, group: str = "ladder") -> list[str]:
        """Name the attending rungs whose gain over another is not above 0."""
        names = []
        for rung in ATTENDING:
            found = self.gain(f"{group}/{rung}", f"{group}/{over}", of)
            if found is not None and not found.is_above_0:
                names.append(RUNGS[rung])
        return names

    def core_minutes(self, group: str) -> float:
        """Sum up what a group's models took of one core, what was tried out included."""
        seconds = 0.0
        for cell in self.file["cells"].values():
            if cell["group"] == group:
                tried = [each["run"] for each in cell["choice"]]
                kept = {run["date"] for run in cell["runs"]}
                # The best of what was tried stands among the runs, too.
                seconds += sum(run["cpu_seconds"] for run in tried if run["date"] not in kept)
                seconds += sum(run["cpu_seconds"] for run in cell["runs"])
        return seconds / 60

    def origin(self) -> str:
        """Say when and with what the numbers were made."""
        runs = [run for cell in self.file["cells"].values() for run in cell["runs"]]
        if not runs:
            return "Nothing has been run yet."
        dates = sorted(run["date"][:10] for run in runs)
        days = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        versions = sorted({f"torch {run['versions']['torch']}" for run in runs})
        hardware = sorted({run["hardware"] for run in runs})
        return f"Made on {days} with {', '.join(versions)}, on {'; '.join(hardware)}."


def percent(found: Estimate | None) -> str:
    """Write an accuracy, in per cent, with its interval."""
    if found is None:
        return "not run yet"
    mean, low, high = (f"{100 * each:.1f}" for each in (found.mean, found.low, found.high))
    return f"{mean} ({low}{JOINER}–{JOINER}{high})"


def points(found: Estimate | None) -> str:
    """Write a gain, in percentage points, with its interval; bold if it is not by chance."""
    if found is None:
        return "not run yet"
    mean, low, high = (f"{100 * each:+.1f}".replace("-", "−") for each in
                       (found.mean, found.low, found.high))  # fmt: skip
    told = f"{mean} ({low}{SPACE}to{SPACE}{high})"
    return f"**{told}**" if found.is_above_0 or found.is_below_0 else told


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table in Markdown, its first column of words, the others of figures."""
    lines = [header, [":---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does: a, b and c."""
    if len(words) < 2:
        return "".join(words) or "none"
    return f"{', '.join(words[:-1])} and {words[-1]}"

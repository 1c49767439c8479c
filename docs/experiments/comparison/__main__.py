"""Run the experiments of ``cells.toml`` and keep what they measured in ``results.json``.

``nox -s experiments`` runs what is missing for an hour; the same command again resumes. With
``-- --group NAME`` it keeps to one group, with ``-- --data FOLDER`` it takes the Yelp reviews from
there, ``-- --test`` reads the test split, once, and ``-- --check`` trains a small piece again and
compares.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from attention._files import write_text
from attention.sentiment.reviews import fingerprint
from attention.sentiment.sources import load_reviews
from experiments.comparison.cells import Cell, read_cells, with_defaults
from experiments.comparison.models import now, run, test
from experiments.comparison.statistics import correct, prediction_interval

HERE = Path(__file__).parent
TABLE = HERE / "cells.toml"
OUT = HERE / "results.json"
# Weights wait here for the test split; a model that is not here is trained again.
MODELS = HERE.parents[2] / "runs" / "comparison"


@dataclass(frozen=True)
class Job:
    """One model to train: a cell, with its choice made or still being made, and a seed."""

    cell: Cell
    seed: int
    chosen: dict[str, Any]
    """What the job tries out or, once that is done, what was best."""
    is_choice: bool


def load(path: Path) -> dict[str, Any]:
    """Read what has been measured so far."""
    if path.exists():
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return results
    schema, command = "results.schema.json", "nox -s experiments"
    return {"$schema": schema, "command": command, "cells": {}, "test": None}


def save(path: Path, results: dict[str, Any]) -> None:
    """Replace the file; a process that is killed leaves the old one."""
    write_text(path, json.dumps(results, indent=1, ensure_ascii=False))


def add_entries(results: dict[str, Any], cells: Sequence[Cell]) -> None:
    """Give each cell its entry; one that was recorded for another request starts anew."""
    for cell in cells:
        entry = results["cells"].get(cell.name)
        if entry is None or not is_as_requested(entry, cell, results):
            entry = {"group": cell.group, "method": cell.method, "config": cell.requested()}
            entry |= {"seeds": [], "data": None, "choice": [], "chosen": {}, "runs": []}
            entry |= {"error": None}
        entry["seeds"] = list(cell.seeds)
        results["cells"][cell.name] = entry


def is_as_requested(entry: dict[str, Any], cell: Cell, results: dict[str, Any]) -> bool:
    """Compare the whole of what an entry was recorded for with what its cell requests now."""
    recorded = (entry["method"], with_defaults(entry["config"]))
    if recorded != (cell.method, with_defaults(cell.requested())):
        return False
    if not (entry["runs"] and cell.choice_of):
        return True
    chosen: dict[str, Any] = results["cells"].get(cell.choice_of, {"chosen": {}})["chosen"]
    return bool(entry["chosen"] == chosen)


def missing(results: dict[str, Any], cells: Sequence[Cell]) -> Iterator[Job]:
    """List the models that are still to be trained, in the order of the table.

    A cell that chooses tries each value with its first seed; the best value's run is the first
    of the cell's runs. A cell that takes over another's choice waits until that is made.
    """
    for cell in cells:
        entry = results["cells"][cell.name]
        tried = [each["value"] for each in entry["choice"]]
        for value in cell.values:
            if value not in tried:
                yield Job(cell, cell.seeds[0], {cell.choose: value}, is_choice=True)
        done = [each["seed"] for each in entry["runs"]]
        if cell.values and not done:
            done = [cell.seeds[0]]  # the choice will leave it
        for seed in cell.seeds:
            if seed not in done:
                yield Job(cell, seed, entry["chosen"], is_choice=False)


def train_and_record(results: dict[str, Any], job: Job, models: Path) -> None:
    """Train one model and record its result, or its error."""
    entry = results["cells"][job.cell.name]
    try:
        if job.cell.choice_of:
            entry["chosen"] = _choice_of(results, job.cell)
        chosen = job.chosen if job.is_choice else entry["chosen"]
        result, data = run(job.cell, job.seed, chosen, models)
    except Exception as error:  # whatever it is, it belongs into the table
        message = f"{type(error).__name__}: {error}"
        entry["error"] = {"seed": job.seed, "chosen": job.chosen, "message": message, "date": now()}
        return
    entry |= {"data": data, "error": None}
    if not job.is_choice:
        entry["runs"].append(result)
        return
    (value,) = job.chosen.values()
    entry["choice"].append({"value": value, "run": result})
    if len(entry["choice"]) == len(job.cell.values):
        best = max(entry["choice"], key=lambda each: _score(each["run"]))
        entry["chosen"] = {job.cell.choose: best["value"]}
        entry["runs"] = [best["run"]]
        for each in entry["choice"]:  # the best run is kept in full, of the others the figures
            each["run"] = _figures(each["run"])


def _choice_of(results: dict[str, Any], cell: Cell) -> dict[str, Any]:
    other = results["cells"].get(cell.choice_of, {"chosen": {}})
    if not other["chosen"]:
        raise ValueError(f"{cell.choice_of} has chosen nothing yet; run it first")
    return dict(other["chosen"])


def _score(run: dict[str, Any]) -> float:
    """Mean accuracy, clean and with a distractor: the one number a choice goes by."""
    return float(run["clean"]["accuracy"] + run["distractor"]["accuracy"]) / 2


def _figures(run: dict[str, Any]) -> dict[str, Any]:
    kept = {"seed", "seconds", "cpu_seconds", "date"}
    figures = {k: v for k, v in run.items() if k in kept}
    for name in ("clean", "distractor"):
        figures[name] = {k: run[name][k] for k in ("accuracy", "loss")}
    return figures


def run_missing(
    results: dict[str, Any],
    cells: Sequence[Cell],
    save_results: Callable[[], None],
    *,
    minutes: float,
    models: Path = MODELS,
) -> bool:
    """Run what is missing until the time is up; return whether nothing failed."""
    add_entries(results, cells)
    started, done = time.monotonic(), 0
    failed: set[str] = set()
    while True:
        jobs = [job for job in missing(results, cells) if job.cell.name not in failed]
        seconds = [_expected_seconds(results, job) for job in jobs]
        spent = time.monotonic() - started
        if not jobs:
            print(f"failed: {', '.join(sorted(failed))}" if failed else "nothing is missing")
            return not failed
        if done and spent + seconds[0] > 60 * minutes:
            print(f"the time is up; {len(jobs)} models are missing, {sum(seconds) / 60:.0f} min")
            return not failed
        job = jobs[0]
        print(
            f"{spent / 60:5.1f} min; {len(jobs)} models and about {sum(seconds) / 60:.0f} min "
            f"left; {job.cell.name}, seed {job.seed} {job.chosen or ''}",
            flush=True,
        )
        train_and_record(results, job, models)
        save_results()
        done += 1
        error = results["cells"][job.cell.name]["error"]
        if error:
            failed.add(job.cell.name)
            print(f"FAILED {job.cell.name}: {error['message']}", flush=True)


def _expected_seconds(results: dict[str, Any], job: Job) -> float:
    """Expect what the cell's other runs took, else what runs took in general."""

    def taken(entry: dict[str, Any]) -> list[float]:
        return [r["cpu_seconds"] for r in [*entry["runs"], *(c["run"] for c in entry["choice"])]]

    own = taken(results["cells"][job.cell.name])
    every = own or [second for entry in results["cells"].values() for second in taken(entry)]
    return sum(every) / len(every) if every else 0.0


def read_test(results: dict[str, Any], cells: Sequence[Cell], models: Path = MODELS) -> None:
    """Measure the models on the test split and record when; once, for good.

    Raises:
        SystemExit: If that has been done, or a model is missing.
    """
    if results["test"]:
        raise SystemExit(f"the test split was read on {results['test']['read']}; not again")
    add_entries(results, cells)
    left = [job.cell.name for job in missing(results, cells)]
    if left:
        raise SystemExit(f"run these first, the test split is read once: {', '.join(set(left))}")
    measured: dict[str, Any] = {}
    for cell in cells:
        print(f"test split: {cell.name}", flush=True)
        entry = results["cells"][cell.name]
        measured[cell.name] = [test(cell, seed, entry["chosen"], models) for seed in cell.seeds]
    results["test"] = {
        "command": "nox -s experiments -- --test",
        "read": now(),
        "sha256": fingerprint(load_reviews(cells[0].config.data)["test"]),
        "cells": measured,
    }


def check(results: dict[str, Any], cells: Sequence[Cell], models: Path) -> bool:
    """Train some cells' first seed again and compare with what is expected of one more seed."""
    passed = True
    for cell in cells:
        entry = results["cells"][cell.name]
        again, _ = run(cell, cell.seeds[0], entry["chosen"], models)
        for name in ("clean", "distractor"):
            low, high = prediction_interval([each[name]["accuracy"] for each in entry["runs"]])
            accuracy, recorded = again[name]["accuracy"], entry["runs"][0][name]["accuracy"]
            same = (correct(again[name]) == correct(entry["runs"][0][name])).mean()
            verdict = "ok" if low <= accuracy <= high else "WORSE" if accuracy < low else "BETTER"
            print(
                f"{verdict:6} {cell.name}, {name}: {accuracy:.4f}, committed {recorded:.4f}, one "
                f"more seed expected in {low:.4f} to {high:.4f}; {same:.1%} of the answers the same"
            )
            passed &= verdict != "WORSE"
    return passed


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s experiments --", description=__doc__)
    parser.add_argument("--group", help="run this group only")
    parser.add_argument("--minutes", type=float, default=60, help="start no model beyond")
    parser.add_argument("--data", help="yelp (from the hub) or a folder, for the group yelp")
    parser.add_argument("--test", action="store_true", help="read the test split, once")
    parser.add_argument("--check", action="store_true", help="train a small piece again, compare")
    parser.add_argument("--table", type=Path, default=TABLE, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=OUT, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, default=MODELS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # so that sums round alike wherever it runs
    cells, checked = read_cells(options.table, options.data)
    results = load(options.out)
    if options.check:
        cells = [cell for cell in cells if cell.name in checked]
        return 0 if check(results, cells, options.models) else 1
    if options.test:
        read_test(results, [cell for cell in cells if cell.group == "ladder"], options.models)
        save(options.out, results)
        return 0
    if options.group:
        cells = [cell for cell in cells if cell.group == options.group]
    nothing_failed = run_missing(
        results,
        cells,
        lambda: save(options.out, results),
        minutes=options.minutes,
        models=options.models,
    )
    return 0 if nothing_failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

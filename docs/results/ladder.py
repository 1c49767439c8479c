"""Run the experiments of ``ladder.toml`` and keep what they measured in ``ladder.json``.

``nox -s ladder`` runs what is missing for an hour; the same command again goes on. With
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
from attention.sentiment.reviews import fingerprint
from attention.sentiment.sources import load_reviews
from ladder_cells import Cell, read_cells
from ladder_models import now, run, test
from ladder_statistics import correct, prediction_interval

from attention._files import write_text

HERE = Path(__file__).parent
SPEC = HERE / "ladder.toml"
OUT = HERE / "ladder.json"
# Weights wait here for the test split; a model that is not here is trained again.
MODELS = HERE.parents[1] / "runs" / "ladder"


@dataclass(frozen=True)
class Job:
    """One model to train: a cell, with its choice made or still being made, and a seed."""

    cell: Cell
    seed: int
    chosen: dict[str, Any]
    """What the job tries out or, once that is done, what was found best."""
    is_choice: bool


def load(path: Path) -> dict[str, Any]:
    """Read what has been measured so far."""
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    return {"$schema": "ladder.schema.json", "command": "nox -s ladder", "cells": {}, "test": None}


def save(path: Path, results: dict[str, Any]) -> None:
    """Write the file anew; whoever is killed leaves the old one."""
    write_text(path, json.dumps(results, indent=1, ensure_ascii=False))


def entry_of(results: dict[str, Any], cell: Cell) -> dict[str, Any]:
    """Find a cell's place in the file; a cell that is asked for otherwise now starts anew."""
    asked = cell.asked()
    entry = results["cells"].get(cell.name)
    other = results["cells"].get(cell.choice_of, {"chosen": {}})["chosen"]
    if (
        entry is None
        or any(asked.get(k) != v for k, v in entry["config"].items())
        or (entry["runs"] and cell.choice_of and entry["chosen"] != other)
    ):
        entry = {"group": cell.group, "method": cell.method, "config": asked, "seeds": []}
        entry |= {"data": None, "choice": [], "chosen": {}, "runs": [], "error": None}
    entry["seeds"] = list(cell.seeds)
    results["cells"][cell.name] = entry
    return entry


def missing(results: dict[str, Any], cells: Sequence[Cell]) -> Iterator[Job]:
    """Say which models are still to be trained, in the order of the list.

    A cell that chooses tries each value with its first seed; the best value's run is the first
    of the cell's runs. A cell that takes over another's choice waits until that is made.
    """
    for cell in cells:
        entry = entry_of(results, cell)
        tried = [each["value"] for each in entry["choice"]]
        left = [value for value in cell.values if value not in tried]
        for value in left:
            yield Job(cell, cell.seeds[0], {cell.choose: value}, is_choice=True)
        done = [each["seed"] for each in entry["runs"]]
        if cell.values and not done:
            done = [cell.seeds[0]]  # the choice will leave it
        for seed in cell.seeds:
            if seed not in done:
                yield Job(cell, seed, entry["chosen"], is_choice=False)


def carry_out(results: dict[str, Any], job: Job, models: Path) -> None:
    """Train one model and note what came of it, be it an error."""
    entry = entry_of(results, job.cell)
    try:
        if job.cell.choice_of:
            entry["chosen"] = _choice_of(results, job.cell)
        chosen = job.chosen if job.is_choice else entry["chosen"]
        found, about = run(job.cell, job.seed, chosen, models)
    except Exception as error:  # whatever it is, it belongs into the table
        said = f"{type(error).__name__}: {error}"
        entry["error"] = {"seed": job.seed, "chosen": job.chosen, "message": said, "date": now()}
        return
    entry |= {"data": about, "error": None}
    if not job.is_choice:
        entry["runs"].append(found)
        return
    (value,) = job.chosen.values()
    entry["choice"].append({"value": value, "run": found})
    if len(entry["choice"]) == len(job.cell.values):
        best = max(entry["choice"], key=lambda each: _score(each["run"]))
        entry["chosen"] = {job.cell.choose: best["value"]}
        entry["runs"] = [best["run"]]
        for each in entry["choice"]:  # the best run is told in full, of the others the figures
            each["run"] = _figures(each["run"])


def _choice_of(results: dict[str, Any], cell: Cell) -> dict[str, Any]:
    other = results["cells"].get(cell.choice_of, {"chosen": {}})
    if not other["chosen"]:
        raise ValueError(f"{cell.choice_of} has chosen nothing yet; run it first")
    return dict(other["chosen"])


def _score(found: dict[str, Any]) -> float:
    """Mean accuracy, clean and with a distractor: the one number a choice goes by."""
    return (found["clean"]["accuracy"] + found["distractor"]["accuracy"]) / 2


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    kept = {"seed", "seconds", "cpu_seconds", "date"}
    figures = {k: v for k, v in found.items() if k in kept}
    for name in ("clean", "distractor"):
        figures[name] = {k: found[name][k] for k in ("accuracy", "loss")}
    return figures


def go_on(
    results: dict[str, Any],
    cells: Sequence[Cell],
    keep: Callable[[], None],
    *,
    minutes: float,
    models: Path = MODELS,
    say: Callable[[str], None] = print,
) -> bool:
    """Run what is missing until the time is up; return whether nothing failed."""
    started, done, failed = time.monotonic(), 0, set()
    while True:
        jobs = [job for job in missing(results, cells) if job.cell.name not in failed]
        seconds = [_expected(results, job) for job in jobs]
        spent = time.monotonic() - started
        if not jobs:
            say("nothing is missing" if not failed else f"failed: {', '.join(sorted(failed))}")
            return not failed
        if done and spent + seconds[0] > 60 * minutes:
            say(f"the time is up; {len(jobs)} models are missing, {sum(seconds) / 60:.0f} min")
            return not failed
        job = jobs[0]
        say(
            f"{spent / 60:5.1f} min; {len(jobs)} models and about {sum(seconds) / 60:.0f} min "
            f"left; {job.cell.name}, seed {job.seed} {job.chosen or ''}"
        )
        carry_out(results, job, models)
        keep()
        done += 1
        error = results["cells"][job.cell.name]["error"]
        if error:
            failed.add(job.cell.name)
            say(f"FAILED {job.cell.name}: {error['message']}")


def _expected(results: dict[str, Any], job: Job) -> float:
    """Expect what the cell's other runs took, else what runs took in general."""

    def took(entry: dict[str, Any]) -> list[float]:
        return [r["cpu_seconds"] for r in [*entry["runs"], *(c["run"] for c in entry["choice"])]]

    own = took(results["cells"][job.cell.name])
    every = own or [second for entry in results["cells"].values() for second in took(entry)]
    return sum(every) / len(every) if every else 0.0


def read_test(results: dict[str, Any], cells: Sequence[Cell], models: Path = MODELS) -> None:
    """Measure the ladder on the test split and note when; once, for good.

    Raises:
        SystemExit: If that has been done, or a model is missing.
    """
    if results["test"]:
        raise SystemExit(f"the test split was read on {results['test']['read']}; not again")
    left = [job.cell.name for job in missing(results, cells)]
    if left:
        raise SystemExit(f"run these first, the test split is read once: {', '.join(set(left))}")
    found: dict[str, Any] = {}
    for cell in cells:
        print(f"test split: {cell.name}", flush=True)
        entry = results["cells"][cell.name]
        found[cell.name] = [test(cell, seed, entry["chosen"], models) for seed in cell.seeds]
    results["test"] = {
        "command": "nox -s ladder -- --test",
        "read": now(),
        "sha256": fingerprint(load_reviews(cells[0].config.data)["test"]),
        "cells": found,
    }


def check(results: dict[str, Any], cells: Sequence[Cell], models: Path) -> bool:
    """Train some cells' first seed again and hold it to what the file lets one expect of a seed."""
    passed = True
    for cell in cells:
        entry = results["cells"][cell.name]
        again, _ = run(cell, cell.seeds[0], entry["chosen"], models)
        for name in ("clean", "distractor"):
            low, high = prediction_interval([each[name]["accuracy"] for each in entry["runs"]])
            accuracy, then = again[name]["accuracy"], entry["runs"][0][name]["accuracy"]
            same = (correct(again[name]) == correct(entry["runs"][0][name])).mean()
            verdict = "ok" if low <= accuracy <= high else "WORSE" if accuracy < low else "BETTER"
            print(
                f"{verdict:6} {cell.name}, {name}: {accuracy:.4f}, committed {then:.4f}, one more "
                f"seed expected in {low:.4f} to {high:.4f}; {same:.1%} of the answers the same"
            )
            passed &= verdict != "WORSE"
    return passed


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s ladder --", description=__doc__)
    parser.add_argument("--group", help="run this group only")
    parser.add_argument("--minutes", type=float, default=60, help="start no model beyond")
    parser.add_argument("--data", help="yelp (from the hub) or a folder, for the group yelp")
    parser.add_argument("--test", action="store_true", help="read the test split, once")
    parser.add_argument("--check", action="store_true", help="train a small piece again, compare")
    parser.add_argument("--spec", type=Path, default=SPEC, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=OUT, help=argparse.SUPPRESS)
    parser.add_argument("--models", type=Path, default=MODELS, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)  # so that sums round alike wherever it runs
    cells, checked = read_cells(asked.spec, asked.data)
    results = load(asked.out)
    if asked.check:
        return 0 if check(results, [c for c in cells if c.name in checked], asked.models) else 1
    if asked.test:
        read_test(results, [cell for cell in cells if cell.group == "ladder"], asked.models)
        save(asked.out, results)
        return 0
    if asked.group:
        cells = [cell for cell in cells if cell.group == asked.group]
    out = asked.out
    ok = go_on(
        results,
        cells,
        lambda: save(out, results),
        minutes=asked.minutes,
        models=asked.models,
        say=lambda line: print(line, flush=True),
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

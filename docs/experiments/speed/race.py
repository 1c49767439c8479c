"""Time Lab 13's procedure against ours: ``nox -s experiments -- speed race --data FOLDER``.

It takes an hour. The parts are measured one after the other, and each is written as soon as it is
known, so that a run that was stopped can be resumed by giving the missing parts to ``--parts``:

- ``sides``: preparation, one epoch, peak memory; the two sides take turns in separate processes,
  and medians over the rounds are compared.
- ``lab_curve``: Lab 13's 20 epochs, for the accuracy that is to be reached.
- ``our_curves``: ours until that accuracy is reached, at the learning rate of the preset and at
  that of Lab 13.
- ``ceilings``: the speed of a large matrix product and of a large copy on this machine, and what
  an epoch of ours would need.
- ``scale``: memory and time of the preparation against the number of reviews.
"""

import argparse
import hashlib
import json
import os
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from experiments.speed.processes import origin, read, run_module, spread, start, write

SIDES = ("lab13", "lab13-corrected")
PARTS = ("sides", "lab_curve", "our_curves", "ceilings", "scale")

Answers = dict[str, list[dict[str, Any]]]


class Worker:
    """A process that runs one step of a side at a time."""

    def __init__(self, args: argparse.Namespace, side: str, *options: str) -> None:
        data = ("--data", str(args.data), "--threads", str(args.threads))
        self.process = start("side", side, *options, *data, threads=args.threads)
        self.side = side

    def do(self, step: str) -> dict[str, Any]:
        """Request a step and wait for its measurements."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        print(step, file=stdin, flush=True)
        line = stdout.readline()
        if not line:
            raise SystemExit(f"{self.side}: {step} failed")
        print(self.side, line, end="", flush=True)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


def compare(answers: Answers, key: str) -> dict[str, Any]:
    """Compare the two sides' medians of a figure."""
    lab, ours = ([answer[key] for answer in answers[side]] for side in SIDES)
    return {
        "lab13": spread(lab),
        "lab13-corrected": spread(ours),
        "ratio": median(lab) / median(ours),
    }


def measure_sides(args: argparse.Namespace) -> dict[str, Any]:
    """Prepare in fresh processes, then train epochs, the sides taking turns."""
    prepared: Answers = {side: [] for side in SIDES}
    epochs: Answers = {side: [] for side in SIDES}
    for left in reversed(range(args.rounds)):
        workers = [Worker(args, side) for side in SIDES]
        for worker in workers:
            prepared[worker.side].append(worker.do("prepare"))
        if not left:
            for worker in workers:
                worker.do("start")
            for _ in range(args.rounds):
                for worker in workers:
                    epochs[worker.side].append(worker.do("epoch"))
        for worker in workers:
            worker.close()
    peaks = {side: epochs[side][-1]["peak_mib"] for side in SIDES}
    torch_alone = {side: epochs[side][-1]["peak_mib_of_torch"] for side in SIDES}
    beyond = {side: peaks[side] - torch_alone[side] for side in SIDES}
    return {
        "prepare": {
            "seconds": compare(prepared, "total_seconds"),
            "cpu_seconds": compare(prepared, "total_cpu_seconds"),
        },
        "epoch": {
            "seconds": compare(epochs, "seconds"),
            "cpu_seconds": compare(epochs, "cpu_seconds"),
        },
        "peak_mib": {
            **peaks,
            "ratio": peaks["lab13"] / peaks["lab13-corrected"],
            "torch_alone": torch_alone,
            "beyond_torch": beyond,
            "ratio_beyond_torch": beyond["lab13"] / beyond["lab13-corrected"],
        },
    }


def curve(
    args: argparse.Namespace, side: str, epochs: int, *options: str, until: float = 1.0
) -> list[dict[str, Any]]:
    """Train from the files; the time includes preparation, epochs and their validation."""
    worker = Worker(args, side, *options)
    spent = [worker.do("prepare"), worker.do("start")]
    points: list[dict[str, Any]] = []
    while len(points) < epochs and (not points or points[-1]["validation_accuracy"] < until):
        answer = worker.do("epoch")
        spent.append(answer)
        points.append(
            {
                "epoch": len(points) + 1,
                "elapsed": sum(each["total_seconds"] for each in spent),
                "elapsed_cpu": sum(each["total_cpu_seconds"] for each in spent),
                **{k: v for k, v in answer.items() if "accuracy" in k or "loss" in k or k == "lr"},
            }
        )
    worker.close()
    return points


def our_curves(args: argparse.Namespace, until: float) -> list[dict[str, Any]]:
    """Train ours until it is as accurate as Lab 13's model, at several learning rates."""
    curves = []
    for lr in (None, *args.lrs):
        options = [] if lr is None else ["--lr", str(lr)]
        points = curve(args, "lab13-corrected", args.lab_epochs, *options, until=until)
        curves.append({"lr": lr or points[0]["lr"], "is_preset": lr is None, "points": points})
    return curves


def time_to_accuracy(results: dict[str, Any]) -> dict[str, Any] | None:
    """Compare the times until Lab 13's final accuracy is reached."""
    if not {"lab_curve", "our_curves"} <= results.keys():
        return None
    lab = results["lab_curve"][-1]
    accuracy = lab["validation_accuracy"]
    figures = ("epoch", "elapsed", "elapsed_cpu")
    times = []
    for ours in results["our_curves"]:
        end = ours["points"][-1]
        reached = end["validation_accuracy"] >= accuracy
        times.append(
            {
                "lr": ours["lr"],
                "reached": reached,
                **{k: end[k] for k in figures},
                "ratio": lab["elapsed"] / end["elapsed"] if reached else None,
                "ratio_cpu": lab["elapsed_cpu"] / end["elapsed_cpu"] if reached else None,
            }
        )
    return {"accuracy": accuracy, "lab13": {k: lab[k] for k in figures}, "lab13-corrected": times}


def origin_of(args: argparse.Namespace) -> dict[str, Any]:
    """Describe how, where and on what the figures were measured."""
    files = {split: args.data / f"{split}.parquet" for split in ("train", "validation")}
    return {
        **origin(f"race --data {args.data.name}", args.threads),
        "data": {
            "name": args.data.name,
            "reviews": {split: pq.read_metadata(path).num_rows for split, path in files.items()},
            "sha256": {
                split: hashlib.sha256(path.read_bytes()).hexdigest()
                for split, path in files.items()
            },
        },
        "gpu": None,  # no machine with one was at hand
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this measurement."""
    parser.add_argument("--data", type=Path, required=True, help="folder with .parquet files")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of each side")
    parser.add_argument("--lab-epochs", type=int, default=20)
    parser.add_argument("--lrs", type=float, nargs="*", default=[0.001], help="beside the preset's")
    parser.add_argument("--threads", type=int, default=1, help="of each side")


def run(args: argparse.Namespace) -> None:
    """Measure the requested parts and write each one."""
    args.data = args.data.resolve()
    if not (args.data / "train.parquet").exists():
        raise SystemExit(f"--data: expected a folder with train.parquet, got {args.data}")
    for part in args.parts:
        load = [os.getloadavg()[0]]
        if part == "sides":
            value: Any = measure_sides(args)
        elif part == "lab_curve":
            value = curve(args, "lab13", args.lab_epochs)
        elif part == "our_curves":
            lab = read(args.out)["lab_curve"][-1]
            value = our_curves(args, until=lab["validation_accuracy"])
        else:
            value = run_module(part, "--data", str(args.data), threads=args.threads)
        load.append(os.getloadavg()[0])
        # Read again, since another part may have been written meanwhile.
        results = read(args.out)
        loads = results.get("load_average", {}) | {part: load}
        results |= {"origin": origin_of(args), "load_average": loads, part: value}
        results["time_to_accuracy"] = time_to_accuracy(results)
        write(args.out, results)

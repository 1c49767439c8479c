"""Time lab 13's procedure against ours, side by side: ``nox -s bench -- --data FOLDER``.

The parts are measured one after the other, and each is written as soon as it is known, so that
a run that stopped goes on with ``--parts`` of what is missing:

- ``sides``: preparation, one epoch, peak memory; the two sides take turns in processes of their
  own, and medians over the rounds are compared.
- ``lab_curve``: the lab's 20 epochs, for the accuracy that is to be reached.
- ``our_curves``: ours until that accuracy is reached, at the preset's learning rate and at
  the lab's.
- ``ceilings``: what a large matrix product, a large copy and exponentials reach here, and what
  a step of ours would need.
- ``scale``: memory and time of the preparation against the number of reviews.

This process imports no torch: on Linux the peak memory of a child starts at that of its parent.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

HERE = Path(__file__).parent
SIDES = ("lab13", "lab13-corrected")
PARTS = ("sides", "lab_curve", "our_curves", "ceilings", "scale")


class Worker:
    """A process that does one step at a time."""

    def __init__(self, args: argparse.Namespace, side: str, *options: str) -> None:
        command = [sys.executable, str(HERE / "side.py"), side, *options]
        command += ["--data", str(args.data), "--threads", str(args.threads)]
        threads = {"OMP_NUM_THREADS": str(args.threads)}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | threads,
        )
        self.side = side

    def do(self, step: str) -> dict[str, Any]:
        """Ask for a step and wait for what it took."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        print(step, file=stdin, flush=True)
        line = stdout.readline()
        if not line:
            raise SystemExit(f"{self.side}: {step} failed")
        print(self.side, line, end="", flush=True)
        return json.loads(line)

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


def spread(values: list[float]) -> dict[str, Any]:
    """Sum up repeated measurements."""
    return {"median": median(values), "min": min(values), "max": max(values), "n": len(values)}


def compare(found: dict[str, list[dict]], key: str) -> dict[str, Any]:
    """Put the two sides' medians of a figure beside each other."""
    lab, ours = ([answer[key] for answer in found[side]] for side in SIDES)
    return {
        "lab13": spread(lab),
        "lab13-corrected": spread(ours),
        "ratio": median(lab) / median(ours),
    }


def measure_sides(args: argparse.Namespace) -> dict[str, Any]:
    """Prepare in fresh processes, then train epochs, the sides taking turns."""
    prepared: dict[str, list[dict]] = {side: [] for side in SIDES}
    epochs: dict[str, list[dict]] = {side: [] for side in SIDES}
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
    """Train from the files on; time adds up over preparation, epochs and their validation."""
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


def time_to_accuracy(results: dict[str, Any]) -> dict[str, Any] | None:
    """Compare the times to the accuracy that the lab ends at."""
    if not {"lab_curve", "our_curves"} <= results.keys():
        return None
    lab = results["lab_curve"][-1]
    accuracy = lab["validation_accuracy"]
    figures = ("epoch", "elapsed", "elapsed_cpu")
    found = {"accuracy": accuracy, "lab13": {k: lab[k] for k in figures}, "lab13-corrected": []}
    for ours in results["our_curves"]:
        end = ours["points"][-1]
        reached = end["validation_accuracy"] >= accuracy
        found["lab13-corrected"].append(
            {
                "lr": ours["lr"],
                "reached": reached,
                **{k: end[k] for k in figures},
                "ratio": lab["elapsed"] / end["elapsed"] if reached else None,
                "ratio_cpu": lab["elapsed_cpu"] / end["elapsed_cpu"] if reached else None,
            }
        )
    return found


def run_script(args: argparse.Namespace, *command: str) -> Any:
    """Run one of the scripts beside this one, and read the JSON it prints."""
    threads = {"OMP_NUM_THREADS": str(args.threads)}
    printed = subprocess.run(
        [sys.executable, *command],
        cwd=HERE,
        env=os.environ | threads,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    print(printed, flush=True)
    return json.loads(printed)


def about(args: argparse.Namespace) -> dict[str, Any]:
    """Say how, where and on what the figures were made."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [s for s in cpuinfo.read_text().splitlines() if s.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "command": f"nox -s bench -- --data {args.data.name}",
        "date": datetime.date.today().isoformat(),
        "data": {
            "name": args.data.name,
            "reviews": {
                split: pq.read_metadata(args.data / f"{split}.parquet").num_rows
                for split in ("train", "validation")
            },
            "sha256": {
                split: hashlib.sha256((args.data / f"{split}.parquet").read_bytes()).hexdigest()
                for split in ("train", "validation")
            },
        },
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("torch", "numpy", "tokenizers")},
        },
        "hardware": {"cpu": cpu, "cores": os.cpu_count(), "threads_used": args.threads},
        "gpu": None,  # no machine with one was at hand
    }


def read(out: Path) -> dict[str, Any]:
    """Read what is known so far."""
    return json.loads(out.read_text()) if out.exists() else {}


def main() -> None:
    """Measure the parts that were asked for and write each down."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with .parquet files")
    parser.add_argument("--out", type=Path, default=Path("docs/results/benchmark.json"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, default=3, help="repetitions of each side")
    parser.add_argument("--lab-epochs", type=int, default=20)
    parser.add_argument("--lrs", type=float, nargs="*", default=[0.001], help="beside the preset's")
    parser.add_argument("--threads", type=int, default=1, help="of each side")
    args = parser.parse_args()
    args.data = args.data.resolve()
    if not (args.data / "train.parquet").exists():
        parser.error(f"--data: expected a folder with train.parquet, got {args.data}")
    for part in args.parts:
        load = [os.getloadavg()[0]]
        if part == "sides":
            value: Any = measure_sides(args)
        elif part == "lab_curve":
            value = curve(args, "lab13", args.lab_epochs)
        elif part == "our_curves":
            target = read(args.out)["lab_curve"][-1]["validation_accuracy"]
            value = []
            for lr in (None, *args.lrs):
                options = [] if lr is None else ["--lr", str(lr)]
                points = curve(args, "lab13-corrected", args.lab_epochs, *options, until=target)
                value.append(
                    {"lr": lr or points[0]["lr"], "is_preset": lr is None, "points": points}
                )
        else:
            value = run_script(args, f"{part}.py", "--data", str(args.data))
        load.append(os.getloadavg()[0])
        # Read again, since another part may have been written meanwhile.
        results = read(args.out)
        loads = results.get("load_average", {}) | {part: load}
        results |= {"about": about(args), "load_average": loads, part: value}
        results["time_to_accuracy"] = time_to_accuracy(results)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""What a record says about its origin: the date, the code, the versions and the machine."""

import datetime
import functools
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from attention.sentiment.run_folder import environment

HERE = Path(__file__).parent


def provenance(method: str) -> dict[str, Any]:
    """Describe the run that has just ended."""
    versions = {k: v for k, v in environment().items() if k not in ("machine", "gpu")}
    if method == "tfidf":
        versions["scikit-learn"] = metadata.version("scikit-learn")
    return {"date": now(), "commit": commit(), "versions": versions, "hardware": _hardware()}


def now() -> str:
    """Return the date and time, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@functools.cache  # a process runs the code that it has loaded, whatever is committed meanwhile
def commit() -> dict[str, Any]:
    """Name the commit of the code, and tell whether the code was changed since.

    The results themselves do not count, because every run changes them.
    """
    results = ":(top,exclude)docs/experiments/comparison/results.json"
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ":/", results)
    return {"sha": _git("rev-parse", "HEAD"), "clean": not changes}


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=HERE, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.strip()


def _hardware() -> str:
    cores = f"{torch.get_num_threads()} thread on a machine of {os.cpu_count()} cores"
    cpuinfo = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    models = [line.partition(": ")[2] for line in cpuinfo.splitlines() if "model name" in line]
    return f"{cores}, {models[0] if models else platform.machine()}, no GPU"

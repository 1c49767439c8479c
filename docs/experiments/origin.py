"""The origin of results, which their file records: the code, the versions and the machine."""

import datetime
import functools
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from attention.sentiment.run_folder import environment


def origin(command: str, results: Path) -> dict[str, Any]:
    """Record the command, the commit, the date, the versions and the hardware of a run."""
    code = commit(results)
    return {
        "command": command,
        "commit": code["sha"] + (", with changes" if code["clean"] is False else ""),
        "date": datetime.date.today().isoformat(),
        "versions": environment(),
        "hardware": hardware(),
    }


@functools.cache  # a process runs the code that it has loaded, whatever is committed meanwhile
def commit(results: Path) -> dict[str, Any]:
    """Name the commit of the code, and tell whether the code was changed since.

    The file of results does not count, because runs change it.
    """
    git = ("git", "-C", str(results.parent))
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return {"sha": "unknown, not a git repository", "clean": None}
    status = [*git, "status", "--porcelain", "--untracked-files=no"]
    status += ["--", ":/", f":(exclude){results.name}"]
    changes = subprocess.run(status, stdout=subprocess.PIPE, check=True).stdout
    return {"sha": head.stdout.strip(), "clean": not changes}


def hardware() -> str:
    """Name the processor, and how many of its cores torch uses."""
    path = Path("/proc/cpuinfo")
    cpuinfo = path.read_text(encoding="utf-8") if path.exists() else ""
    models = [line.partition(": ")[2] for line in cpuinfo.splitlines() if "model name" in line]
    cores = f"{torch.get_num_threads()} thread on a machine of {os.cpu_count()} cores"
    return f"{cores}, {models[0] if models else platform.machine()}, no GPU"

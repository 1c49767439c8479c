"""The origin of a file of results, which the file itself records."""

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

from attention.sentiment.run_folder import environment

ROOT = Path(__file__).parents[2]


def origin(command: str) -> dict[str, Any]:
    """Record the command, the commit, the date, the versions and the hardware of a run."""
    return {
        "command": command,
        "commit": commit(),
        "date": datetime.date.today().isoformat(),
        "versions": environment(),
        "hardware": hardware(),
    }


def commit(root: Path = ROOT) -> str:
    """Name the commit that is checked out, and tell whether tracked files differ from it."""
    git = ("git", "-C", str(root))
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        return "unknown, not a git repository"
    status = [*git, "status", "--porcelain", "--untracked-files=no"]
    changes = subprocess.run(status, capture_output=True, text=True, check=True).stdout
    return head.stdout.strip() + (", with changes" if changes else "")


def hardware() -> str:
    """Name the processor, and how many of its cores torch uses."""
    path = Path("/proc/cpuinfo")
    cpuinfo = path.read_text(encoding="utf-8") if path.exists() else ""
    models = [line.partition(": ")[2] for line in cpuinfo.splitlines() if "model name" in line]
    processor = models[0] if models else platform.machine()
    return f"{torch.get_num_threads()} of {os.cpu_count()} cores, {processor}, no GPU used"

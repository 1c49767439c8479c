"""What the measurements share: child processes, the machine, the file of results.

Everything is measured in child processes, and the process that starts them does not import torch,
because on Linux the peak memory of a child starts at that of its parent.
"""

import datetime
import json
import os
import platform
import resource
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

OUT = Path(__file__).with_name("results.json")
DOCS = Path(__file__).parents[2]  # where the package of the experiments is found
MIB = 2**20 if sys.platform == "darwin" else 2**10  # of ru_maxrss, which macOS counts in bytes


def start(module: str, *options: str, threads: int = 1) -> subprocess.Popen[str]:
    """Start one of the modules beside this one."""
    return subprocess.Popen(
        [sys.executable, "-m", f"experiments.speed.{module}", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONPATH": str(DOCS)},
    )


def run_module(module: str, *options: str, threads: int = 1, lines: str = "") -> Any:
    """Run one of the modules beside this one, and read the JSON it prints."""
    process = start(module, *options, threads=threads)
    printed, _ = process.communicate(lines)
    if process.returncode:
        raise SystemExit(f"{module} failed")
    print(printed, end="", file=sys.stderr, flush=True)
    return json.loads(printed)


def peak_mib() -> float:
    """Return the most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB


def spread(values: list[float]) -> dict[str, float]:
    """Summarise repeated measurements."""
    return {"median": median(values), "min": min(values), "max": max(values), "n": len(values)}


def origin(command: str, threads: int) -> dict[str, Any]:
    """Describe how, when and where figures were measured, and with what."""
    cpu = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [s for s in cpuinfo.read_text().splitlines() if s.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    return {
        "command": f"nox -s experiments -- speed {command}",
        "date": datetime.date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in ("torch", "numpy", "tokenizers")},
        },
        "hardware": {"cpu": cpu, "cores": os.cpu_count(), "threads_used": threads},
    }


def read(out: Path) -> dict[str, Any]:
    """Read what has been measured so far."""
    content: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
    return content


def write(out: Path, results: dict[str, Any]) -> None:
    """Write what has been measured."""
    out.write_text(json.dumps(results, indent=1) + "\n")

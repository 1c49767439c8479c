"""The device that computes, and its memory."""

import os
from pathlib import Path

import torch
from torch import nn


def choose_device(name: str) -> torch.device:
    """Return the configured device; ``auto`` takes this process's GPU if there is one."""
    wanted = name
    if name == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda":
        wanted = f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
    try:
        device = torch.device(wanted)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError("only cpu and cuda are known")
        torch.empty(1, device=device)
        device = torch.device("cpu") if device.type == "cpu" else device  # a CPU has no number
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device: expected a device of this machine, got {name}: {reason}"
        ) from None
    return device


def check_memory(outline: nn.Module) -> None:
    """Refuse to train a model, given on the meta device, that does not fit into memory.

    The system grants more memory than there is, and kills the process that uses too much of it.
    """
    weights = sum(table.nbytes for table in outline.parameters())
    tables = sum(table.nbytes for table in outline.buffers())
    # Each weight has a gradient and two numbers of Adam's state; tables are computed in 64 bits.
    needed = 4 * weights + 3 * tables
    available = memory_limit()
    if available is not None and needed > available:
        raise ValueError(
            f"the model of this configuration can't be made: training it takes "
            f"{needed / 1e9:,.1f} GB of memory, and this machine has {available / 1e9:,.1f}; "
            "lower --embed-dim, --num-layers, --bigram-buckets or --max-length"
        )


def memory_limit(root: Path = Path("/")) -> int | None:
    """Return how many bytes this process may hold, or None if the system does not say."""
    if not hasattr(os, "sysconf"):  # Windows; there the allocation itself fails
        return None
    limit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    groups = root / "sys/fs/cgroup"  # a container's limit, of version 2 or 1
    for path in groups / "memory.max", groups / "memory/memory.limit_in_bytes":
        if path.is_file() and (text := path.read_text().strip()).isdigit():  # else "max"
            limit = min(limit, int(text))
    return limit

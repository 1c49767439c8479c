"""The device that computes: its memory, and the precision of its matrix products."""

import os
from pathlib import Path
from typing import Literal

import torch
from torch import nn

Precision = Literal["auto", "float32", "bfloat16"]


def choose_device(name: str) -> torch.device:
    """Return the configured device; ``auto`` takes this process's GPU if there is one.

    Raises:
        ValueError: If there is no such device.

    Example:
        >>> from attention._device import choose_device
        >>> choose_device("cpu")
        device(type='cpu')
    """
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
            f"--device: expected a device of this machine, got {name}: {reason}"
        ) from None
    return device


def choose_precision(
    precision: Precision, device: torch.device, *, is_pretrained: bool
) -> Literal["float32", "bfloat16"]:
    """Choose the precision of matrix products; ``"auto"`` depends on the device.

    A GPU uses bfloat16 if it has units for it. A CPU does so only for a pretrained encoder, which
    spends most of its time on large products, while our own small models gain nothing from it.

    Args:
        precision: The requested precision.
        device: The device of the model.
        is_pretrained: Whether the model is a pretrained encoder.

    Returns:
        ``"float32"`` or ``"bfloat16"``.

    Example:
        >>> from attention._device import choose_precision
        >>> choose_precision("auto", torch.device("cpu"), is_pretrained=False)
        'float32'
    """
    if precision != "auto":
        return precision
    if device.type == "cuda":
        has_units = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        has_units = is_pretrained and _cpu_has_bfloat16()
    return "bfloat16" if has_units else "float32"


def autocast(device: torch.device, precision: Precision, *, is_pretrained: bool) -> torch.autocast:
    """Multiply matrices in the requested precision; arguments as in :func:`choose_precision`."""
    chosen = choose_precision(precision, device, is_pretrained=is_pretrained)
    return torch.autocast(device.type, torch.bfloat16, enabled=chosen == "bfloat16")


def precision_note(
    precision: Precision, device: torch.device, *, is_pretrained: bool
) -> str | None:
    """Return a note that ``"auto"`` chose bfloat16, or None if it did not."""
    chosen = choose_precision(precision, device, is_pretrained=is_pretrained)
    if precision != "auto" or chosen == "float32":
        return None
    return (
        "multiplying in bfloat16, for which this machine has units; "
        "--precision float32 multiplies in full precision"
    )


def _cpu_has_bfloat16() -> bool:
    # Versions of torch before 2.10 do not say.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


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

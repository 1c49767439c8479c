"""Files that are written completely or not at all."""

import os
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

# As the format spells them.
_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int8: "I8",
}


def write_bytes(path: Path, content: bytes) -> None:
    """Write a temporary file that then replaces the old one, which stays if this is interrupted.

    Raises:
        OSError: If there is no space for it; the message names the file, and the old one stays.
    """
    beside = path.with_name(path.name + ".part")
    try:
        beside.unlink(missing_ok=True)
        with open(beside, "xb") as file:  # x, as a link of that name would lead elsewhere
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        # A full disk is noticed while writing, when the system's message names no file.
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_text(path: Path, text: str) -> None:
    """Write a text file that ends in a newline."""
    write_bytes(path, text.rstrip("\n").encode() + b"\n")


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file."""
    write_bytes(path, save({k: t.contiguous() for k, t in tensors.items()}, metadata))


def check_tensors(path: Path, expected: dict[str, Tensor]) -> None:
    """Compare the header of a safetensors file with what is expected, before any tensor is read.

    Args:
        path: The file.
        expected: The tensors by name, of which only shapes and dtypes count, so that they may be on
            the meta device.

    Raises:
        ValueError: If names, shapes or dtypes differ; the message names the first difference.
        SafetensorError: If it is not a safetensors file, or too short for its header.
        OSError: If it can't be read.
    """
    with safe_open(path, "pt") as file:
        stored = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 — no dict
    if missing := expected.keys() - stored:
        raise ValueError(f"{path.name} lacks {min(missing)}")
    if beyond := stored.keys() - expected:
        raise ValueError(f"{path.name} holds {min(beyond)}, which the configuration doesn't")
    for name, tensor in expected.items():
        shape, dtype = tuple(stored[name].get_shape()), stored[name].get_dtype()
        required = tuple(tensor.shape), _DTYPES.get(tensor.dtype)
        if (shape, dtype) != required:
            raise ValueError(
                f"{path.name} holds {name} as {shape} {dtype}, "
                f"the configuration requires {required[0]} {required[1]}"
            )

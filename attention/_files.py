"""Files that are there whole or not at all."""

import os
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

# As the format spells them.
_DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


def write_bytes(path: Path, content: bytes) -> None:
    """Write beside the file, then take its place: whoever is killed leaves the old one.

    Raises:
        OSError: If there is no place for it; the message names the file, and the old one stays.
    """
    beside = path.with_name(path.name + ".part")
    try:
        beside.unlink(missing_ok=True)
        with open(beside, "xb") as file:  # x: a link of that name would lead elsewhere
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        # A full disk is noticed while writing, where the system's message names no file.
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
    """Hold a safetensors file's own table of contents to what is expected, before any is read.

    Args:
        path: The file.
        expected: By name; only shapes and dtypes matter, so the meta device serves.

    Raises:
        ValueError: If names, shapes or dtypes differ; the message names the first that does.
        SafetensorError: If it is no such file, or too short for what its header says.
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
                f"the configuration asks for {required[0]} {required[1]}"
            )

"""Files that are there whole or not at all."""

import os
from pathlib import Path

from safetensors.torch import save
from torch import Tensor


def write_bytes(path: Path, content: bytes) -> None:
    """Write beside the file, then take its place: whoever is killed leaves the old one.

    Raises:
        OSError: If there is no place for it; the message names the file, and the old one stays.
    """
    beside = path.with_name(path.name + ".part")
    try:
        with open(beside, "wb") as file:
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

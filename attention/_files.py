"""Files that are written completely or not at all, and read if they are what was expected."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors.torch import load_file, save
from torch import Tensor

from attention._console import shown


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


def check_sha256(path: Path, expected: str, package: str) -> None:
    """Refuse a file that is not the published one, which this package installs."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ValueError(
            f"{shown(path)}: is not the published file: its SHA-256 is {digest}, "
            f"expected {expected}; install {package}"
        )


def write_text(path: Path, text: str) -> None:
    """Write a text file that ends in a newline."""
    write_bytes(path, text.rstrip("\n").encode() + b"\n")


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file."""
    write_bytes(path, save({k: t.contiguous() for k, t in tensors.items()}, metadata))


@contextmanager
def openable(path: Path) -> Iterator[str]:
    """Yield a name by which a library in Rust can open a file, whose path need not be UTF-8."""
    if str(path).encode(errors="ignore").decode() == str(path):
        yield str(path)
    else:
        with path.open("rb") as file:
            yield f"/dev/fd/{file.fileno()}"


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read all tensors of a safetensors file."""
    with openable(path) as name:
        return load_file(name)


def read_tensors(path: Path, expected: dict[str, Tensor]) -> dict[str, Tensor]:
    """Read a safetensors file that must hold tensors of the expected names, shapes and dtypes.

    It takes no more memory than the file has bytes, so that a model whose configuration asks for
    more is refused before it is made. The expected tensors may be on the meta device.
    """
    stored = load_tensors(path)
    if missing := expected.keys() - stored:
        raise ValueError(f"{path.name} lacks {min(missing)}")
    if beyond := stored.keys() - expected:
        raise ValueError(f"{path.name} holds {min(beyond)}, which the configuration doesn't")
    for name, tensor in expected.items():
        held, required = (
            f"{tuple(each.shape)} {str(each.dtype).removeprefix('torch.')}"
            for each in (stored[name], tensor)
        )
        if held != required:
            raise ValueError(
                f"{path.name} holds {name} as {held}, the configuration requires {required}"
            )
    return stored

"""What the folders of all models have in common: a config.json, a tokenizer.json, its errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from tokenizers import Tokenizer

from attention._console import one_line, shown


def as_pythons_own(value: Any) -> Any:
    """Take the numbers of NumPy and torch, and fractions, for what they are."""
    if getattr(value, "ndim", None) == 0:
        return value.item()
    return float(value) if isinstance(value, Real) and not isinstance(value, int) else value


@contextmanager
def read_errors(folder: Path, kind: str) -> Iterator[None]:
    """Say in one line which folder, and where possible which file and field, can't be read."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"])) or "the file"
        got = "" if first["type"] in ("missing", "value_error") else f", got {first['input']!r:.40}"
        reason = first["msg"].removeprefix("Value error, ") + got
        raise ValueError(
            f"{shown(folder / 'config.json')}: is not that of {kind}: {name}: {reason}"
        ) from None
    except Exception as error:  # each library has its own for a file that it can't read
        reason = one_line(f"{type(error).__name__}: {error}")[:300]
        raise ValueError(
            f"{shown(folder)}: does not hold {kind} that can be read: {reason}"
        ) from error


def read_tokenizer(folder: Path, vocab_size: int, *, may_be_padded: bool = False) -> Tokenizer:
    """Read the tokenizer of a model that knows this many ids, more than there are if padded."""
    try:
        # By its content, as a path need not be UTF-8.
        tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
    except Exception as error:  # a bare one, which names no file
        raise ValueError(f"tokenizer.json: {error}") from error
    ids = sorted(tokenizer.get_vocab().values())
    if may_be_padded and ids and ids[-1] < vocab_size:
        return tokenizer
    if ids != list(range(vocab_size)):
        raise ValueError(f"tokenizer.json has {len(ids)} ids, config.json {vocab_size}, from 0 on")
    return tokenizer

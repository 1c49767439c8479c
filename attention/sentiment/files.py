"""Files of texts and labels: which there are, how a row is read, and where a fault is.

A file is CSV with any separator, JSON lines or Parquet, and may be compressed. It is checked once,
row by row, before anything is trained on it. Its texts are then read again at each pass, so that a
million of them are never in memory together.
"""

import csv
import io
import json
import math
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, combinations
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from attention._console import shown
from attention._distributed import print_status
from attention._files import openable
from attention.sentiment.reviews import SENTIMENT, Reviews, StreamedTexts, stratified_order

SPLITS = "train", "validation", "test"
KINDS = ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"
PACKED = {".gz": "gzip", ".bz2": "bz2", ".lz4": "lz4", ".zst": "zstd"}
KINDS_HELP = f"{', '.join(KINDS)}, also with {', '.join(PACKED)}"
ENDINGS = tuple(kind + packed for kind in KINDS for packed in ("", *PACKED))
MOST_LABELS = 1_000
_LONGEST_LABEL = 100  # characters
# As a table writes whole numbers, if one is missing
_WHOLE = re.compile(r"^(-?(?:0|[1-9]\d*))\.0+$")
_SEPARATORS = ",\t;|"
_ROWS_AT_ONCE = 1024
_LONGEST_FIELD = 1 << 26  # characters; csv's own limit is less than a review of 30,000 words


class _Misfit(ValueError):
    """What is wrong with the columns of a file, which says enough by itself."""


class Columns(NamedTuple):
    """The names of the two columns that are read; the others are not."""

    text: str = "text"
    label: str = "label"


def load_files(path: Path, columns: Columns, seed: int) -> dict[str, Reviews]:
    """Check and load a file, or a folder's ``train``, ``validation`` and ``test`` file.

    A file ends in .csv, .tsv, .jsonl, .ndjson or .parquet, in letters of any case, and may be
    compressed, as ``train.csv.gz`` is. CSV is in UTF-8, and whichever of comma, tab, semicolon and
    bar makes both columns of its header separates all of them. Labels 0 and 1, which the false and
    true of JSON lines and Parquet count as, or 1 and 2 as in the original files of Yelp Reviews
    Polarity, are negative and positive. Those files have no header (label, then text) and are read
    as they are. Any other labels, from two to a thousand, keep their names, in the order of their
    numbers or of the alphabet; the training file says which there are.

    Where there is no validation file, a tenth of the training rows validates. Equal texts stay
    together, and the draw is the same each time. A line on the standard error says so, and how many
    texts splits have in common.

    Args:
        path: The file, which is then that of ``train``, or the folder.
        columns: What the two columns are called.
        seed: The seed of the rows that validate.

    Returns:
        The splits by name, whose texts are read from the files again at each pass.

    Raises:
        ValueError: If a file is missing or cannot be read, if a column is missing, if a row is
            broken, without text, without label, not UTF-8, or has a label that the training file
            lacks, or if there is one label alone. The message names file, row and column; rows
            count from 1, without the header.
    """
    splits: dict[str, Reviews] = {}
    texts: dict[str, np.ndarray] = {}
    files = files_of(path) if path.is_dir() else {"train": path}
    if "train" not in files:
        others = ", ".join(shown(each.name) for each in sorted(path.iterdir())[:9])
        raise ValueError(
            f"{shown(path)} has no train file ({KINDS_HELP}); it has {others or 'no file'}"
        )
    if path.is_dir():
        _say_unread(path, files)
    for name, file in files.items():
        names = splits["train"].names if splits else None  # the training file comes first
        splits[name], texts[name] = _check_file(file, columns, names)
    if "validation" not in splits:
        _draw_validation(path, splits, texts, seed)
    for one, other in combinations(splits, 2):
        if shared := int(np.isin(texts[other], texts[one]).sum()):
            count = f"{shared:,} of {len(texts[other]):,}"
            print_status(f"{shown(path)}: {count} {other} texts are in {one}, too")
    return splits


def files_of(folder: Path) -> dict[str, Path]:
    """Find the file of each split."""
    found = {}
    every = sorted(folder.iterdir())
    for name in SPLITS:
        names = [name + end for end in ENDINGS]
        existing = [each for each in every if each.name.lower() in names]
        if len(existing) > 1:
            listed = " and ".join(each.name for each in existing)
            raise ValueError(f"{shown(folder)} has {listed}; keep one of them")
        if existing:
            found[name] = existing[0]
    return found


def _say_unread(folder: Path, files: dict[str, Path]) -> None:
    """Say which files of reviews are those of no split."""
    others = {each.name for each in folder.iterdir() if each.name.lower().endswith(ENDINGS)}
    if left := sorted(others - {each.name for each in files.values()}):
        are = "is" if len(left) == 1 else "are"
        print_status(
            f"{shown(folder)}: {', '.join(map(shown, left[:9]))} {are} not read; the file of a "
            "split is called train, validation or test"
        )


def _draw_validation(
    path: Path, splits: dict[str, Reviews], texts: dict[str, np.ndarray], seed: int
) -> None:
    """Let a tenth of the training rows validate, and with them all rows of an equal text."""
    every, hashes = splits["train"], texts["train"]
    count = len(every.names)
    drawn = stratified_order(every.labels, seed)[: max(len(every) // 10, count)]
    validates = np.isin(hashes, hashes[drawn])
    for name, rows in {"train": ~validates, "validation": validates}.items():
        splits[name], texts[name] = every.select(np.flatnonzero(rows)), hashes[rows]
        if lacking := {*range(count)} - {*splits[name].labels}:
            raise ValueError(
                f"{shown(path)}: has no validation file, and too few different texts of the label "
                f"{shown(every.names[min(lacking)])} to draw one; each label needs two"
            )
    print_status(
        f"{shown(path)}: has no validation file; {validates.sum():,} of {len(every):,} training "
        "rows validate, the same ones each time"
    )


def load_file(path: Path, columns: Columns, names: Sequence[str]) -> Reviews:
    """Check and load one file with labels of these names; errors as for :func:`load_files`."""
    return _check_file(path, columns, tuple(names))[0]


def _check_file(
    path: Path, columns: Columns, names: tuple[str, ...] | None
) -> tuple[Reviews, np.ndarray]:
    """Check every row of a file; keep its labels, and of each text a hash, (N,)."""
    where = shown(path)
    labels: list[str] = []
    hashes: list[int] = []
    first: dict[str, int] = {}  # label → its first row
    for i, row in enumerate(read_rows(path, columns), 1):
        text, given = row[columns.text], row[columns.label]
        label = _label(given)
        check_text(path, i, columns.text, text)
        if label is None:
            raise ValueError(
                f"{where}, row {i}, column {columns.label}: expected a label, of at most "
                f"{_LONGEST_LABEL} characters, got {given!r:.60}"
            )
        labels.append(label)
        hashes.append(hash(text))
        first.setdefault(label, i)
        if len(first) > MOST_LABELS:
            raise ValueError(
                f"{where}, row {i}, column {columns.label}: expected at most {MOST_LABELS:,} "
                f"different labels, got another one, {shown(label)}"
            )
    found = sorted(first, key=_order)
    if len(found) < 2 and (names is None or {*found} <= {*names, "0", "1", "2"}):
        raise ValueError(
            f"{where}, column {columns.label}: expected at least two labels, got "
            f"{'only ' + shown(found[0]) if found else 'no rows'}"
        )
    is_sentiment = found in (["0", "1"], ["1", "2"])
    if names is None:
        _say_doubts(where, labels, hashes, found)
        names = SENTIMENT if is_sentiment else tuple(found)
    if is_sentiment and names == SENTIMENT:
        number_of = {label: i for i, label in enumerate(found)}
    else:
        number_of = {label: i for i, label in enumerate(names)}
        if others := first.keys() - number_of.keys():
            label = min(others, key=first.__getitem__)
            raise ValueError(
                f"{where}, row {first[label]}, column {columns.label}: expected one of "
                f"{_listed(names)}, got {shown(label)}"
            )

    def texts() -> Iterator[str]:
        return (row[columns.text] for row in read_rows(path, columns))

    read = StreamedTexts(texts, np.ones(len(labels), bool))
    return Reviews(read, [number_of[label] for label in labels], names), np.array(hashes)


def _say_doubts(
    where: str, labels: Sequence[str], hashes: Sequence[int], found: Sequence[str]
) -> None:
    """Say which labels may be one, and how many texts have several."""
    alike: dict[str, list[str]] = {}
    for label in found:
        alike.setdefault(unicodedata.normalize("NFKC", label).casefold(), []).append(label)
    for same in alike.values():
        if len(same) > 1:
            print_status(f"{where}: {' and '.join(map(shown, same))} count as different labels")
    if several := len({*zip(hashes, labels, strict=True)}) - len({*hashes}):
        print_status(f"{where}: texts repeated with a different label: {several:,}")


def _label(value: Any) -> str | None:
    """Spell a label, so that 1, "1", 1.0 and "1.0" are one; None stands for what can't be one.

    Zero is one, too, whatever its sign.
    """
    if isinstance(value, bool):
        value = int(value)
    if isinstance(value, (int, float)):
        value = str(value)
    label = _WHOLE.sub(r"\1", value.strip()) if isinstance(value, str) else ""
    label = "0" if label == "-0" else label
    is_missing = not label or label.lower() == "nan"
    return None if is_missing or len(label) > _LONGEST_LABEL else label


def _order(label: str) -> tuple[float, str]:
    try:
        return float(label), label
    except ValueError:
        return math.inf, label


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 9} more" if len(names) > 9 else ""
    spelled = " (0 and 1, or 1 and 2)" if names == SENTIMENT else more
    return ", ".join(shown(name[:30]) for name in names[:9]) + spelled


def check_text(path: Path, row: int, column: str, text: object) -> None:
    """Refuse a row, counted from 1, that has no text."""
    if not isinstance(text, str) or not text or text.isspace():
        raise ValueError(
            f"{shown(path)}, row {row}, column {column}: expected text, got {text!r:.60}"
        )


def read_rows(
    path: Path, columns: Sequence[str], *, every: bool = False
) -> Iterator[dict[str, Any]]:
    """Read a file row by row, these columns or ``every`` one, and say where it can't be read."""
    if not path.is_file():
        found = "expected one file, got a path that does not exist"
        if path.is_dir():
            found = "expected one file, got a folder, such as Spark writes"
        elif path.is_symlink() or path.exists():
            found = "expected one file, got a link to nothing, or a device"
        raise ValueError(f"{shown(path)}: {found}")
    kind = Path(path.stem if _packing(path) else path).suffix.lower()
    if kind not in READERS:
        raise ValueError(f"{shown(path)}: expected a file that ends in {KINDS_HELP}")
    (name, read), rows = READERS[kind], 0
    try:
        for row in read(path, columns, every):
            yield row
            rows += 1
    except MemoryError:
        raise
    except _Misfit as error:
        where = f", row {rows + 1}" if rows else ""
        raise ValueError(f"{shown(path)}{where}: {error}") from None
    except Exception as error:  # each library has its own
        is_text = name.endswith("UTF-8") and isinstance(error, UnicodeDecodeError)
        remedy = "; save it as UTF-8" if is_text else ""
        raise ValueError(
            f"{shown(path)} cannot be read as {name} after row {rows}: {error}{remedy}"
        ) from error


def _packing(path: Path) -> str | None:
    """Tell by a file's ending how it is compressed, if it is."""
    return PACKED.get(path.suffix.lower())


def _check_columns(names: Sequence[str], columns: Sequence[str]) -> None:
    if not names:
        raise _Misfit("expected names of columns, got none")
    for name in columns:
        if name not in names:
            there = ", ".join(
                # Letters of another script may look the same.
                ascii(each)
                if len(each.strip()) == len(name) and not each.isascii()
                else shown(each[:40])
                for each in names[:20]
            )
            option = "--text-column" if name == columns[0] else "--label-column"
            raise _Misfit(f"no column {shown(name)} for {option}; it has {there}")


def _decoded(field: str) -> str:
    return field.encode(errors="surrogateescape").decode()


@contextmanager
def _opened(path: Path) -> Iterator[IO[Any]]:
    """Open a file for its bytes, which are unpacked if it is compressed."""
    with path.open("rb") as raw:
        if packing := _packing(path):
            import pyarrow as pa  # 30 MB that other files do not need

            with pa.input_stream(raw, compression=packing) as unpacked:
                yield unpacked
        else:
            yield raw


@contextmanager
def _text_of(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a file whose lines are decoded one by one.

    Decoded strictly, the bytes of a whole block would be refused before its first row is read.
    """
    with _opened(path) as file:
        yield io.TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="")


def read_csv(
    path: Path, columns: Sequence[str] = Columns(), every: bool = True
) -> Iterator[dict[str, str]]:
    """Read a CSV file row by row; strictly, as pyarrow's reader does not.

    Without ``every``, a row has only these columns. Of several columns with one name the first is
    read, with a warning. The longest field that the module ``csv`` accepts in this process is
    raised, if it is shorter.
    """
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    with _text_of(path) as file:
        first = file.readline()
        if first.startswith("sep="):  # as Excel writes in front of the header
            first = file.readline()
        headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in _SEPARATORS}
        fitting = [mark for mark, names in headers.items() if {*columns} <= {*names}]
        splitting = [mark for mark, names in headers.items() if len(names) > 1]
        mark = [*fitting, *splitting, ","][0]
        lines = csv.reader(chain([first], file), strict=True, delimiter=mark)
        rows: Iterator[list[str]] = ([_decoded(field) for field in row] for row in lines if row)
        header = next(rows, [])
        if len(header) == 2 and header[0] in ("1", "2"):  # an original file of Yelp's
            label = columns[1] if len(columns) > 1 else "label"
            rows, header = chain([header], rows), [label, columns[0]]
        _check_columns(header, columns)
        for name in columns:
            if header.count(name) > 1:
                where = f"{shown(path)}: of {header.count(name)} columns {name}"
                warnings.warn(f"{where}, the first is read", stacklevel=2)
        for fields in rows:
            if len(fields) != len(header):
                raise ValueError(f"expected {len(header)} columns, got {len(fields)}")
            row = dict(zip(header[::-1], fields[::-1], strict=True))  # of one name, the first
            yield {name: row[name] for name in (header if every else columns)}


def _read_json_lines(path: Path, columns: Sequence[str], every: bool) -> Iterator[dict[str, Any]]:
    with _text_of(path) as file:
        for line in file:
            if line.isspace():
                continue
            try:
                row = json.loads(_decoded(line))
            except json.JSONDecodeError as error:  # which counts the lines of what it was given
                raise ValueError(f"{error.msg} at character {error.pos + 1} of the line") from None
            if not isinstance(row, dict):
                raise ValueError(f"expected an object with columns, got {line.strip():.40}")
            _check_columns([*row], columns)
            yield row if every else {name: row[name] for name in columns}


def _read_parquet(path: Path, columns: Sequence[str], every: bool) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq  # 30 MB that other files do not need

    # One row group may be the whole file; without the buffer it would be read in one piece.
    with (
        _seekable(path) as source,
        pq.ParquetFile(source, buffer_size=1 << 20, pre_buffer=False) as file,
    ):
        names = file.schema_arrow.names
        _check_columns(names, columns)
        if double := [name for name in columns if names.count(name) > 1]:
            raise ValueError(f"expected one column {double[0]}, got {names.count(double[0])}")
        read = names if every else [*columns]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=read):
            for values in zip(*(batch[name] for name in read), strict=True):
                yield {name: value.as_py() for name, value in zip(read, values, strict=True)}


@contextmanager
def _seekable(path: Path) -> Iterator[Any]:
    """Open a file that is read from its end; unpacked, it has to be in memory as a whole."""
    if _packing(path):
        with _opened(path) as file:
            yield io.BytesIO(file.read())
    else:
        with openable(path) as name:
            yield name


Read = Callable[[Path, Sequence[str], bool], Iterator[dict[str, Any]]]
READERS: dict[str, tuple[str, Read]] = {
    ".csv": ("CSV in UTF-8", read_csv),
    ".tsv": ("CSV in UTF-8", read_csv),
    ".jsonl": ("JSON lines in UTF-8", _read_json_lines),
    ".ndjson": ("JSON lines in UTF-8", _read_json_lines),
    ".parquet": ("Parquet", _read_parquet),
}
"""What each kind of file is called, and how it is read."""

"""Reviews from a folder of Parquet or CSV files, which are checked row by row."""

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from attention.sentiment.reviews import DataError, Reviews, StreamedTexts

COLUMNS = "text", "label"
_ROWS_AT_ONCE = 1024
_LONGEST_FIELD = 1 << 26  # characters; csv's own limit is less than a review of 30,000 words

# The position of a row, for messages, and the contents of its columns.
Row = tuple[str, dict[str, Any]]


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
            f'no folder {folder}; the data must be "yelp", "imdb" or a folder with train and '
            "validation as .parquet or .csv"
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


@contextmanager
def _long_fields() -> Iterator[None]:
    """Allow fields longer than csv's limit for a while, as the limit is that of the process."""
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def read_csv(path: Path) -> Iterator[Row]:
    """Read a CSV file row by row, each with its position in the file.

    Raises:
        DataError: If there is no column ``text`` or ``label``, or a row is not UTF-8, badly quoted,
            or longer or shorter than the header.
    """
    undecodable: list[int] = []

    def decoded(lines: Iterable[bytes]) -> Iterator[str]:
        for number, line in enumerate(lines):
            try:
                yield line.decode("utf-8" if number else "utf-8-sig")
            except UnicodeDecodeError:
                undecodable.append(number)
                yield line.decode("utf-8", "surrogateescape")

    with path.open("rb") as file:
        reader = csv.reader(decoded(file), strict=True)
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
            if undecodable:
                bad = [name for name, field in zip(header, fields, strict=False) if _bad(field)]
                column = f", column {bad[0]}" if bad else ""
                raise DataError(f"{path}, {where}{column}: not UTF-8")
            if not fields:
                continue
            if not header:
                original = len(fields) == 2 and _number(fields[0]) in (1, 2)
                header = ["label", "text"] if original else fields
                _check_columns(path, header)
                if not original:
                    continue
                where = "row 1 (line 1)"
            rows += 1
            if len(fields) != len(header):
                raise DataError(
                    f"{path}, {where}: broken row, {len(fields)} columns; expected {len(header)}"
                )
            yield where, dict(zip(header, fields, strict=True))


def _read_parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa  # 30 MB that other sources do not need
    import pyarrow.parquet as pq

    try:
        # One row group may be the whole file; without the buffer it would be read in one piece.
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            _check_columns(path, file.schema_arrow.names)
            rows = 0
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(COLUMNS)):
                try:
                    texts = batch["text"].to_pylist()
                except UnicodeDecodeError as error:
                    row = rows + 1 + _first_undecodable(batch["text"])
                    raise DataError(f"{path}, row {row}, column text: not UTF-8") from error
                for text, label in zip(texts, batch["label"].to_pylist(), strict=True):
                    rows += 1
                    yield f"row {rows}", {"text": text, "label": label}
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error


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


def _check_columns(path: Path, columns: list[str]) -> None:
    for name in COLUMNS:
        if name not in columns:
            raise DataError(f"{path}: no column {name}; it has {', '.join(columns)}")


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _bad(field: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in field)


def _first_undecodable(column: Iterable[Any]) -> int:
    for row, scalar in enumerate(column):
        try:
            scalar.as_py()
        except UnicodeDecodeError:
            return row
    raise AssertionError("every text decodes")

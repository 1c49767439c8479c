"""Answer a file: its rows with two more columns, in memory that does not grow with it."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from tqdm import tqdm

from attention._console import shown
from attention._distributed import print_status
from attention.sentiment.classify import TEXTS_AT_ONCE, Classifier
from attention.sentiment.files import KINDS, check_text, read_rows


def classify_file(classify: Classifier, file: Path, out: Path, text_column: str) -> int:
    """Write the rows of a file with two more columns, the predicted label and its probability.

    Rows are read and written as they come, so a file of any size takes the same memory. The new
    file is written under another name, and takes its own once it is whole.

    Args:
        classify: The classifier.
        file: CSV, JSON lines or Parquet, which may be compressed.
        out: The file to write, whose ending says its kind; it may be of another kind.
        text_column: The column that holds the texts.

    Returns:
        The number of rows.

    Raises:
        ValueError: If a row can't be read, has no text or a column that the first one lacks, a
            column has the name of a new one, a value can't be written as that kind of file, there
            are no rows, or ``out`` has no ending that is known.
    """
    if out.suffix not in KINDS:
        raise ValueError(
            f"--out: expected a file that ends in {', '.join(KINDS)}, got {shown(out)}"
        )
    rows = _with_text(file, text_column)
    beside, count, unknown = out.with_name(out.name + ".part"), 0, 0
    try:
        with _writer(beside, out.suffix, file) as write, tqdm(unit="row", disable=None) as bar:
            while some := [*islice(rows, TEXTS_AT_ONCE)]:
                answers = classify(row[text_column] for row in some)
                write(
                    [
                        {**row, "predicted": each["label"], "probability": each["probability"]}
                        for row, each in zip(some, answers, strict=True)
                    ]
                )
                count += len(some)
                unknown += sum(each["known"] == 0 for each in answers)
                bar.update(len(some))
        if not count:
            raise ValueError(f"{shown(file)}: has no rows")
        beside.replace(out)
    finally:
        beside.unlink(missing_ok=True)
    if unknown:
        print_status(f"{shown(file)}: {unknown:,} of {count:,} hold no word that the model knows")
    return count


def _with_text(file: Path, text_column: str) -> Iterator[dict[str, Any]]:
    columns: set[str] = set()
    for i, row in enumerate(read_rows(file, [text_column], every=True), 1):
        check_text(file, i, text_column, row[text_column])
        columns = columns or {*row}
        if beyond := row.keys() - columns:
            raise ValueError(
                f"{shown(file)}, row {i}: has a column {shown(min(beyond))}, which row 1 lacks"
            )
        if taken := {"predicted", "probability"} & row.keys():
            name = min(taken)
            raise ValueError(f"{shown(file)}: has a column {name}, which is that of the answer")
        yield row


@contextmanager
def _writer(path: Path, kind: str, source: Path) -> Iterator[Callable[[list[dict[str, Any]]], Any]]:
    """Open a file to write rows to; the first ones decide which columns it has."""
    if kind == ".parquet":
        import pyarrow as pa  # 30 MB that other files do not need
        import pyarrow.parquet as pq

        with path.open("wb") as raw:
            table: list[pq.ParquetWriter] = []

            def write(rows: list[dict[str, Any]]) -> None:
                if not table:
                    table.append(pq.ParquetWriter(raw, schema_of(rows)))
                schema = table[0].schema
                try:
                    found = pa.Table.from_pylist(
                        [{n: row.get(n) for n in schema.names} for row in rows]
                    )
                    table[0].write_table(found.cast(schema))  # refuses 1.5 in a column of integers
                except pa.ArrowException as error:
                    raise ValueError(
                        f"{shown(source)}: a column has values of several types, which Parquet "
                        f"can't hold: {error}; let --out end in .jsonl"
                    ) from error

            def schema_of(rows: list[dict[str, Any]]) -> pa.Schema:
                given = pq.read_schema(source) if source.suffix == ".parquet" else pa.schema([])
                found = pa.Table.from_pylist(rows).schema
                # What is empty in the first rows need not be so in later ones.
                fields = [
                    each.with_type(pa.string()) if pa.types.is_null(each.type) else each
                    for each in found
                ]
                names = given.names
                return pa.schema([given.field(f.name) if f.name in names else f for f in fields])

            try:
                yield write
            finally:
                for each in table:
                    each.close()
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if kind in (".jsonl", ".ndjson"):

            def write_json(rows: list[dict[str, Any]]) -> None:
                try:
                    for row in rows:
                        file.write(json.dumps(row, ensure_ascii=False, default=_spell) + "\n")
                except ValueError as error:
                    raise ValueError(f"{shown(source)}: {error}") from None

            yield write_json
            return
        lines: list[csv.DictWriter[str]] = []

        def write_csv(rows: list[dict[str, Any]]) -> None:
            if not lines:
                mark = "\t" if kind == ".tsv" else ","
                lines.append(csv.DictWriter(file, [*rows[0]], delimiter=mark))
                lines[0].writeheader()
            for row in rows:
                for name, value in row.items():
                    if isinstance(value, (bytes, list, dict)):
                        raise ValueError(
                            f"{shown(source)}, column {shown(name)}: a value of type "
                            f"{type(value).__name__} can't be written as CSV; let --out end in "
                            ".parquet"
                        )
            lines[0].writerows(rows)

        yield write_csv


def _spell(value: object) -> str:
    """Spell for JSON what Parquet has beyond it, such as a day or an exact number."""
    if isinstance(value, (date, time, timedelta, Decimal)):
        return str(value)
    raise ValueError(
        f"a value of type {type(value).__name__} can't be written as JSON lines; let --out end in "
        ".parquet"
    )

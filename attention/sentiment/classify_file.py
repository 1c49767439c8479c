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
    """Write a file's rows with two more columns, the label and its probability; return how many.

    Rows are read and written as they come, so a file of any size takes the same memory. The new
    file, which may be of another kind, is written under another name, and takes its own once it is
    whole.
    """
    kind = out.suffix.lower()
    if kind not in KINDS:
        raise ValueError(
            f"--out: expected a file that ends in {', '.join(KINDS)}, got {shown(out)}"
        )
    rows = _with_text(file, text_column)
    some = [*islice(rows, TEXTS_AT_ONCE)]
    if not some:
        raise ValueError(f"{shown(file)}: has no rows")
    beside, count, unknown = out.with_name(out.name + ".part"), 0, 0
    try:
        with (
            _writer(beside, kind, file, some) as write,
            tqdm(unit="row", disable=None) as bar,
        ):
            while some:
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
                some = [*islice(rows, TEXTS_AT_ONCE)]
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
def _writer(
    path: Path, kind: str, source: Path, first: list[dict[str, Any]]
) -> Iterator[Callable[[list[dict[str, Any]]], Any]]:
    """Open a file to write answered rows to; the first rows decide which columns it has."""
    names = [*first[0], "predicted", "probability"]
    if kind == ".parquet":
        import pyarrow as pa  # 30 MB that other files do not need
        import pyarrow.parquet as pq

        read = pq.read_schema(source) if source.suffix.lower() == ".parquet" else ()
        answers = pa.field("predicted", pa.string()), pa.field("probability", pa.float64())
        given = {field.name: field for field in (*read, *answers)}

        def table_of(rows: list[dict[str, Any]]) -> pa.Table:
            types = {name: field.type for name, field in given.items()}  # the others are inferred
            columns = {name: [row.get(name) for row in rows] for name in names}
            return pa.table({n: pa.array(values, types.get(n)) for n, values in columns.items()})

        try:
            schema = pa.schema(
                # What is empty in the first rows need not be so in later ones.
                given.get(n, each.with_type(pa.string()) if pa.types.is_null(each.type) else each)
                for n, each in zip(names, table_of(first).schema, strict=True)
            )
            with path.open("wb") as raw, pq.ParquetWriter(raw, schema) as table:
                # The cast refuses 1.5 in a column of integers.
                yield lambda rows: table.write_table(table_of(rows).cast(schema))
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(
                f"{shown(source)}: a column has values of several types, which Parquet can't "
                f"hold: {error}; let --out end in .jsonl"
            ) from error
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
        lines = csv.DictWriter(file, names, delimiter="\t" if kind == ".tsv" else ",")
        lines.writeheader()

        def write_csv(rows: list[dict[str, Any]]) -> None:
            for row in rows:
                for name, value in row.items():
                    if isinstance(value, (bytes, list, dict)):
                        raise ValueError(
                            f"{shown(source)}, column {shown(name)}: a value of type "
                            f"{type(value).__name__} can't be written as CSV; let --out end in "
                            ".parquet"
                        )
            lines.writerows(rows)

        yield write_csv


def _spell(value: object) -> str:
    """Spell for JSON what Parquet has beyond it, such as a day or an exact number."""
    if isinstance(value, (date, time, timedelta, Decimal)):
        return str(value)
    raise ValueError(
        f"a value of type {type(value).__name__} can't be written as JSON lines; let --out end in "
        ".parquet"
    )

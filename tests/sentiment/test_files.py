"""Folders of files: what is read, and what each kind of fault says about where it is."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import check_refused

from attention.sentiment.files import read_csv
from attention.sentiment.reviews import DataError
from attention.sentiment.sources import load_reviews

GOOD = "text,label\nLovely soup.,1\nCold soup.,0\n"
TEXTS, LABELS = ["Lovely soup.", "Cold soup."], [1, 0]


def write(folder: Path, train: str | bytes | pa.Table, kind: str = ".csv") -> Path:
    """Write a train file beside a good validation file."""
    (folder / "validation.csv").write_text(GOOD)
    path = folder / f"train{kind}"
    if isinstance(train, pa.Table):
        pq.write_table(train, path)
    else:
        path.write_bytes(train.encode() if isinstance(train, str) else train)
    return path


def error_message(folder: Path) -> str:
    with pytest.raises(DataError) as caught:
        load_reviews(folder)
    return str(caught.value)


def test_csv_and_parquet_and_an_optional_test_file(tmp_path: Path) -> None:
    write(tmp_path, pa.table({"stars": [5, 1], "label": LABELS, "text": TEXTS}), ".parquet")
    splits = load_reviews(str(tmp_path))
    assert sorted(splits) == ["train", "validation"]
    for reviews in splits.values():
        assert list(reviews.texts) == list(reviews.texts) == TEXTS
        assert reviews.labels == LABELS
    (tmp_path / "test.csv").write_text(GOOD)
    assert load_reviews(tmp_path)["test"].labels == LABELS


@pytest.mark.parametrize(
    "content",
    [
        'text,label\n"Two\nlines, ""quoted"".",1\n\nPlain,0\n',
        '\ufefflabel,text\r\n1,"Two\nlines, ""quoted""."\r\n0,Plain\r\n\r\n',
        'text,stars,label\n"Two\nlines, ""quoted"".",5,2\nPlain,1,1\n',
        '"2","Two\nlines, ""quoted""."\n"1","Plain"\n',
    ],
    ids=["plain", "byte order mark", "1 and 2", "original"],
)
def test_csv_dialects(tmp_path: Path, content: str) -> None:
    write(tmp_path, content)
    train = load_reviews(tmp_path)["train"]
    assert list(train.texts) == ['Two\nlines, "quoted".', "Plain"]
    assert train.labels == [1, 0]


def test_parquet_labels_of_any_type(tmp_path: Path) -> None:
    for labels, kind in (
        ([1, 0], pa.int8()),
        ([True, False], pa.bool_()),
        ([1.0, 0.0], pa.float32()),
        (["1", "0"], pa.string()),
        ([2, 1], pa.int64()),
    ):
        write(tmp_path, pa.table({"text": TEXTS, "label": pa.array(labels, kind)}), ".parquet")
        assert load_reviews(tmp_path)["train"].labels == [1, 0], kind


def test_texts_are_read_again_not_kept(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    train = load_reviews(tmp_path)["train"]
    path.write_text(GOOD.replace("Lovely", "Superb"))
    assert train.texts[0] == "Superb soup."


CSV_FAULTS = [
    ("", "train.csv has no rows"),
    ("text,label\n", "train.csv has no rows"),
    ("text,stars\nLovely,1\n", "train.csv: no column label; it has text, stars"),
    ("review,label\nLovely,1\n", "train.csv: no column text; it has review, label"),
    ("text,label\na,1\nb,3\n", "train.csv, row 2 (line 3), column label: '3', expected 0 or 1"),
    ("text,label\na,1\nb,\n", "train.csv, row 2 (line 3), column label: '', expected 0 or 1"),
    ("text,label\na,good\n", "train.csv, row 1 (line 2), column label: 'good', expected"),
    ("text,label\na,0.5\n", "train.csv, row 1 (line 2), column label: '0.5', expected"),
    ("text,label\na,2\nb,1\nc,0\n", "train.csv, row 1, column label: 2, but 0 in row 3"),
    ("text,label\na,1\nb,1\n", "train.csv, column label: only one class, 1 in every row"),
    ("2,a\n2,b\n", "train.csv, column label: only one class, 2 in every row"),
    ('text,label\n"a\nb",1\nb,0,x\n', "train.csv, row 2 (line 4): broken row, 3 columns; expe"),
    ("text,label\na,1\nb\n", "train.csv, row 2 (line 3): broken row, 1 columns; expected 2"),
    ('text,label\na,1\n"b,0\nc,1\n', "train.csv, row 2 (line 3): broken row, unexpected end"),
    ('text,label\na,1\n"b"c,0\n', "train.csv, row 2 (line 3): broken row, ',' expected after"),
    ("text,label\na,1\n,0\n", "train.csv, row 2 (line 3), column text: empty"),
    ("text,label\na,1\n \t\u3000,0\n", "train.csv, row 2 (line 3), column text: empty"),
    (b"text,label\na,1\ncaf\xe9,0\n", "train.csv, row 2 (line 3), column text: not UTF-8"),
    (b"text,label\na,1\nb,0\xff\n", "train.csv, row 2 (line 3), column label: not UTF-8"),
    (GOOD.encode("utf-16"), "train.csv, header: not UTF-8"),
]


def test_csv_faults(tmp_path: Path) -> None:
    def load(content: str | bytes) -> None:
        write(tmp_path, content)
        load_reviews(tmp_path)

    cases = [(content, [f"{tmp_path}/{message}"]) for content, message in CSV_FAULTS]
    check_refused(load, cases, DataError)


def not_utf8() -> pa.Array:
    offsets, raw = pa.py_buffer(b"\0\0\0\0\1\0\0\0\5\0\0\0"), pa.py_buffer(b"acaf\xe9")
    return pa.StringArray.from_buffers(2, offsets, raw)


PARQUET_FAULTS = [
    ({"text": TEXTS}, "train.parquet: no column label; it has text"),
    ({"text": ["a", None], "label": LABELS}, "row 2, column text: None, expected text"),
    ({"text": ["a", " "], "label": LABELS}, "row 2, column text: empty"),
    ({"text": [b"a", b"b"], "label": LABELS}, "row 1, column text: b'a', expected text"),
    ({"text": not_utf8(), "label": LABELS}, "train.parquet, row 2, column text: not UTF-8"),
    ({"text": TEXTS, "label": [1, None]}, "row 2, column label: None, expected 0 or 1"),
    ({"text": TEXTS, "label": [[1], [0]]}, "row 1, column label: [1], expected 0 or 1"),
    ({"text": TEXTS, "label": [1, -1]}, "row 2, column label: -1, expected 0 or 1"),
    ({"text": TEXTS, "label": [0, 0]}, "column label: only one class, 0 in every row"),
    ({"text": pa.array([], pa.string()), "label": []}, "train.parquet has no rows"),
]


def test_parquet_faults(tmp_path: Path) -> None:
    def load(columns: dict) -> None:
        write(tmp_path, pa.table(columns), ".parquet")
        load_reviews(tmp_path)

    check_refused(load, [(c, [message]) for c, message in PARQUET_FAULTS], DataError)


def test_parquet_rows_count_through_the_batches(tmp_path: Path) -> None:
    texts = [f"soup {i}" for i in range(2503)]
    texts[2111] = ""
    table = pa.table({"text": texts, "label": [i % 2 for i in range(2503)]})
    write(tmp_path, table, ".parquet")
    assert "row 2112, column text: empty" in error_message(tmp_path)


def test_parquet_that_cannot_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, pa.table({"text": TEXTS, "label": LABELS}), ".parquet")
    for damaged in b"", b"PAR1 not really", path.read_bytes()[:-9]:
        path.write_bytes(damaged)
        assert "train.parquet cannot be read as Parquet" in error_message(tmp_path), damaged


def test_parquet_damaged_in_the_middle(tmp_path: Path) -> None:
    texts = [f"soup {i * 7919}" for i in range(997)]
    table = pa.table({"text": texts, "label": [i % 2 for i in range(997)]})
    path = write(tmp_path, table, ".parquet")
    raw = bytearray(path.read_bytes())
    raw[40:400] = bytes(360)
    path.write_bytes(raw)
    assert "train.parquet" in error_message(tmp_path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    assert "no folder" in error_message(tmp_path / "nowhere")
    assert "has neither train.parquet nor train.csv" in error_message(tmp_path)
    write(tmp_path, GOOD)
    (tmp_path / "train.parquet").touch()
    assert "has both train.parquet and train.csv" in error_message(tmp_path)
    (tmp_path / "train.parquet").unlink()
    (tmp_path / "validation.csv").unlink()
    assert "has neither validation.parquet nor validation.csv" in error_message(tmp_path)


def test_a_faulty_test_file_is_found_before_training(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    (tmp_path / "test.csv").write_text("text,label\nLovely,7\n")
    assert "test.csv, row 1 (line 2), column label: '7'" in error_message(tmp_path)


def test_read_csv_gives_every_column(tmp_path: Path) -> None:
    path = write(tmp_path, "text,label,source\na,1,here\n")
    assert list(read_csv(path)) == [
        ("row 1 (line 2)", {"text": "a", "label": "1", "source": "here"})
    ]


def test_the_limit_of_csv_stays_the_caller_s(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    long = "soup " * 100_000  # more than the limit
    path = write(tmp_path, f"text,label\n{long},1\nb,0\n")
    rows = read_csv(path)
    assert next(rows)[1]["text"] == long
    assert csv.field_size_limit() == limit  # between two rows, while the file is open
    with pytest.raises(csv.Error, match="larger than field limit"):
        next(csv.reader([long]))
    rows.close()
    assert csv.field_size_limit() == limit
    write(tmp_path, 'text,label\na,1\n"b"c,0\n')
    assert "broken row" in error_message(tmp_path)
    assert csv.field_size_limit() == limit

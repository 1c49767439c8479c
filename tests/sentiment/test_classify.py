"""What was learnt, used from Python and from file to file."""

import csv
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small_run
import torch
from refusals import check_refused
from small_run import write_table

from attention import load_classifier
from attention.sentiment import classify as module
from attention.sentiment import classify_file as of_files
from attention.sentiment.classify_file import classify_file
from attention.sentiment.evaluation import predict

TEXTS = [*small_run.reviews(37, 5)[0], "good", "", "東京", "good " * 60]


@pytest.fixture(scope="module")
def classify(tmp_path_factory):
    out = small_run.train(tmp_path_factory.mktemp("classify") / "run", "--epochs", "9")
    return load_classifier(str(out), device="cpu")


def test_each_text_has_the_answer_that_it_has_alone(classify, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 7)
    monkeypatch.setattr(module, "BATCH_SIZE", 3)
    answers = classify(iter(TEXTS))
    assert len(answers) == len(TEXTS)
    for text, found in zip(TEXTS, answers, strict=True):
        alone = predict(classify.model, classify.tokenizer, text)
        assert found["label"] == alone["label"]
        assert found["probability"] == pytest.approx(alone["probability"], abs=1e-6)
        assert found["probability"] >= 0.5
        assert found["known"] == pytest.approx(alone["known"])
    assert {found["label"] for found in answers} == {"negative", "positive"}
    shares = classify(["good wonky soup", "wonky", "", "東京", "good"])
    assert [one["known"] for one in shares] == pytest.approx([2 / 3, 0, 0, 0, 1])
    assert classify([]) == []


def test_any_number_of_texts_is_read_as_they_come(classify, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 4)
    taken = []

    def endless():
        while True:
            taken.append(None)
            yield "good soup"

    answers = classify.stream(endless())
    assert [next(answers)["label"] for _ in range(6)] == ["positive"] * 6
    assert len(taken) == 8


@pytest.mark.parametrize("texts", ["good soup", {"text": ["good"]}, np.array([["good"], ["bad"]])])
def test_what_is_no_list_of_texts_is_refused(classify, texts):
    """A table of pandas has two dimensions, and would yield the names of its columns."""
    with pytest.raises(
        TypeError, match=f"expected several texts.*, got one {type(texts).__name__}"
    ):
        classify(texts)


@pytest.mark.parametrize("text", ["the good soup came late", "good", "good " * 30])
def test_a_contribution_is_what_the_logit_loses_without_the_word(classify, text):
    def logit(words):
        found = classify([" ".join(words)])[0]
        p = found["probability"]
        return (1 if found["label"] == "positive" else -1) * torch.tensor(p).logit().item()

    found = classify.explain(text)
    words = text.split()[-classify.model.config.max_length :]
    assert found["words"] == [w if classify.tokenizer.token_to_id(w) else "<unk>" for w in words]
    assert found["label"] == classify([text])[0]["label"]
    for i, effect in enumerate(found["contributions"]):
        rest = [*words[:i], *words[i + 1 :]]
        assert effect == pytest.approx(logit(words) - logit(rest), abs=2e-4)
    assert classify.explain("")["contributions"] == []
    assert classify.labels == ("negative", "positive")


ROWS = [{"id": i, "review": text, "städte": "Köln"} for i, text in enumerate(TEXTS) if text]


def read(path: Path) -> list[dict]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(newline="", encoding="utf-8") as file:
        return [*csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")]


@pytest.mark.parametrize("source", ["in.csv", "in.jsonl", "in.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.tsv", "out.jsonl", "out.parquet"])
def test_a_file_is_read_and_written_with_all_its_columns(
    classify, tmp_path, monkeypatch, capsys, source, target
):
    monkeypatch.setattr(of_files, "TEXTS_AT_ONCE", 7)
    file, out = write_table(tmp_path / source, ROWS, ";"), tmp_path / target
    assert classify_file(classify, file, out, "review") == len(ROWS)
    assert f"1 of {len(ROWS)} hold no word that the model knows" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source, target])
    answers = classify(row["review"] for row in ROWS)
    for row, found, expected in zip(ROWS, read(out), answers, strict=True):
        assert {name: str(found.pop(name)) for name in row} == {k: str(v) for k, v in row.items()}
        assert found.pop("predicted") == expected["label"]
        assert float(found.pop("probability")) == pytest.approx(expected["probability"], abs=1e-6)
        assert not found


def test_a_column_may_be_empty_at_first(classify, tmp_path, monkeypatch):
    monkeypatch.setattr(of_files, "TEXTS_AT_ONCE", 3)
    rows = [{"review": "good", "stars": None, "note": None} for _ in range(5)]
    rows.append({"review": "bad", "stars": 2, "note": "late"})
    table = pa.Table.from_pylist(
        rows, pa.schema({"review": "string", "stars": "int8", "note": "string"})
    )
    pq.write_table(table, tmp_path / "in.parquet")
    classify_file(classify, tmp_path / "in.parquet", tmp_path / "out.parquet", "review")
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.select(table.column_names) == table
    source = write_table(tmp_path / "in.jsonl", [row | {"stars": None} for row in rows])
    classify_file(classify, source, tmp_path / "other.parquet", "review")
    assert read(tmp_path / "other.parquet")[-1]["note"] == "late"


def test_what_parquet_holds_is_spelled_or_refused_elsewhere(classify, tmp_path):
    day, cent = datetime(2026, 11, 28, 9, 30), Decimal("1.10")
    file = write_table(tmp_path / "in.parquet", [{"review": "good", "day": day, "price": cent}])
    for name in "out.jsonl", "out.csv":
        classify_file(classify, file, tmp_path / name, "review")
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert (row["day"], row["price"]) == (str(day), "1.10")
    with (tmp_path / "out.csv").open() as read:
        assert next(csv.DictReader(read))["day"] == str(day)
    for value, kinds in (b"\xff", (".jsonl", ".csv")), ([1, 2], (".csv",)):
        file = write_table(tmp_path / "raw.parquet", [{"review": "good", "raw": value}])
        for kind in kinds:
            with pytest.raises(
                ValueError, match=r"raw\.parquet.*type (bytes|list) can't be written as .*parquet"
            ):
                classify_file(classify, file, tmp_path / f"raw{kind}", "review")
            assert not [*tmp_path.glob(f"raw{kind}*")]


@pytest.mark.parametrize("end", ["parquet", "PARQUET"])
def test_a_column_of_parquet_keeps_its_type_whatever_it_is(classify, tmp_path, monkeypatch, end):
    monkeypatch.setattr(of_files, "TEXTS_AT_ONCE", 1)
    types = {"review": pa.string(), "tags": pa.map_(pa.string(), pa.int8()), "id": pa.uint64()}
    rows = [
        {"review": "good", "tags": [("x", 1), ("x", 2)], "id": 2**64 - 1},
        {"review": "bad", "tags": None, "id": 0},
    ]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(types)), tmp_path / f"in.{end}")
    classify_file(classify, tmp_path / f"in.{end}", tmp_path / f"out.{end}", "review")
    given, written = (pq.read_table(tmp_path / f"{name}.{end}") for name in ("in", "out"))
    assert written.select([*types]) == given
    classify_file(classify, tmp_path / f"in.{end}", tmp_path / "out.jsonl", "review")
    assert read(tmp_path / "out.jsonl")[0]["tags"] == [["x", 1], ["x", 2]]
    with pytest.raises(ValueError, match=r"column tags: a value of type list can't be written as"):
        classify_file(classify, tmp_path / f"in.{end}", tmp_path / "out.csv", "review")


def numbered(*numbers):
    return [{"review": "good", "n": each} for each in numbers]


NOT_WRITTEN = [
    ([*ROWS, ROWS[0] | {"review": " "}], f", row {len(ROWS) + 1}, column review: expected text"),
    ([{"review": "good", "probability": 1}], ": has a column probability, which is that of"),
    ([{"review": "good"}, *numbered(1)], ", row 2: has a column n, which row 1 lacks"),
    ([], ": has no rows"),
]
NOT_IN_PARQUET = [
    (numbered(1, "one"), ": a column has .*; let --out end in .jsonl"),
    (numbered(2**70, 1), ": a column has .*; let --out end in .jsonl"),
    # 4.5 comes when the type is known, to which it must not be rounded.
    (numbered(0, 1, 2, 3, 4.5), ": a column has values of several types"),
]


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet"])
def test_rows_that_can_not_be_answered_leave_no_file(classify, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(of_files, "TEXTS_AT_ONCE", 3)

    def answer(rows):
        file = write_table(tmp_path / "in.jsonl", rows)
        classify_file(classify, file, tmp_path / f"out{kind}", "review")

    cases = NOT_WRITTEN + (NOT_IN_PARQUET if kind == ".parquet" else [])
    check_refused(answer, [(rows, r"in\.jsonl" + message) for rows, message in cases])
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("text", [None, float("nan"), ["good"]])
def test_a_text_that_is_no_string_is_named(classify, text):
    with pytest.raises(TypeError, match=r"texts: expected strings, got .* as number 2$"):
        classify(["good", text])
    with pytest.raises(TypeError, match=r"text: expected one string, got "):
        classify.explain(text)

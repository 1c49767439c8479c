"""Few enough reviews to train on in a test, and a small run."""

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from attention.train import main

GOOD = ["good", "lovely", "superb", "warm", "kind", "fresh"]
BAD = ["bad", "cold", "rude", "stale", "bland", "awful"]
OTHER = ["the", "soup", "waiter", "table", "evening", "street", "we", "came", "back", "again"]

# 23 reviews, alone and in pairs, are 46 examples: 10 batches, the last of a single example.
OPTIONS = [
    "--device=cpu",
    "--model=energy",
    "--epochs=3",
    "--batch-size=5",
    "--min-steps=1",
    "--lr=0.01",
    "--seed=42",
    "--embed-dim=6",
    "--bigram-buckets=0",
    "--no-segments",
    "--dropout=0",
    "--word-dropout=0",
    "--max-length=13",
    "--min-frequency=1",
]
BATCHES = 10
DROPOUT = ["--dropout", "0.3", "--word-dropout", "0.2", "--bigram-buckets", "17"]


def reviews(count: int, seed: int) -> tuple[list[str], list[int]]:
    generator = random.Random(seed)
    labels = [i % 2 for i in range(count)]
    texts = []
    for label in labels:
        words = generator.choices(OTHER, k=generator.randint(2, 11)) + generator.choices(
            GOOD if label else BAD, k=2
        )
        generator.shuffle(words)
        texts.append(" ".join(words))
    return texts, labels


def rows(count: int, seed: int, text: str = "text", label: str = "label") -> list[dict]:
    """Return reviews as the rows of a table, whose two columns have these names."""
    texts, labels = reviews(count, seed)
    return [{text: words, label: given} for words, given in zip(texts, labels, strict=True)]


def write_table(path: Path, rows: list[dict], delimiter: str = ",") -> Path:
    """Write rows of the same columns as Parquet, JSON lines or CSV, as the path ends."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, [*rows[0]], delimiter=delimiter)
            lines.writeheader()
            lines.writerows(rows)
    return path


def write_reviews(folder: Path) -> Path:
    """Write train and test as CSV, validation as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train.csv", 23), ("validation.parquet", 11), ("test.csv", 7)):
        write_table(folder / name, rows(count, count))
    return folder


def line(out: Path, *options: str, data: Path | None = None) -> list[str]:
    """Spell the arguments of a run, whose reviews are in a folder beside its own."""
    data = data or write_reviews(out.parent / "reviews")
    return ["--data", str(data), "--out", str(out), *OPTIONS, *options]


def train(out: Path, *options: str, data: Path | None = None) -> Path:
    """Train as the command does."""
    assert main(line(out, *options, data=data)) == 0
    return out

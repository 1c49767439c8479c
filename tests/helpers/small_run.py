"""Few enough reviews to train on in a test, and a small run."""

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


def write_reviews(folder: Path) -> Path:
    """Write train and test as CSV, validation as Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 23), ("test", 7)):
        rows = [f"{text},{label}" for text, label in zip(*reviews(count, count), strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    texts, labels = reviews(11, 11)
    pq.write_table(pa.table({"text": texts, "label": labels}), folder / "validation.parquet")
    return folder


def train(out: Path, *options: str, data: Path | None = None) -> Path:
    """Train as the command does, with the reviews in a folder beside the run folder."""
    data = data or write_reviews(out.parent / "reviews")
    assert main(["--data", str(data), "--out", str(out), *OPTIONS, *options]) == 0
    return out

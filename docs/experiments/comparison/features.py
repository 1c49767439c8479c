"""The output of the frozen encoder for each text, kept in a file, so that no text is read twice.

Most texts occur several times: each review alone, whatever the seed, and each long one behind any
distractor, because only its own last words fit in. Features are therefore looked up by the ids that
the encoder reads, not by the example that they belong to.
"""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from attention._evaluating import evaluating
from attention.sentiment.batches import Batch, EncodedExamples, Examples, plan_batches
from attention.sentiment.evaluation import cut, read_lengths
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.precision import Precision, autocast

_AT_ONCE = 64


@torch.no_grad()
def encode(
    model: SentimentClassifier, examples: Examples, folder: Path, precision: Precision
) -> EncodedExamples:
    """Return the features of all examples, and compute those that no earlier run has computed.

    Args:
        model: A model with a frozen encoder.
        examples: The examples to encode.
        folder: The folder with the files, one per precision.
        precision: The precision of the encoder's products.
    """
    lengths = read_lengths(examples, model.config)  # (E,)
    features = torch.empty(len(examples), model.classifier.in_features)  # (E, d)
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / f"{precision}.sqlite")) as store, evaluating(model):
        store.execute("CREATE TABLE IF NOT EXISTS features (ids BLOB PRIMARY KEY, vector BLOB)")
        for rows in plan_batches(lengths, _AT_ONCE, shuffle=False):
            batch = cut(examples, rows, model.config, torch.device("cpu"))
            features[rows] = _features(model, batch, store, precision)
            store.commit()
    return EncodedExamples(features, lengths, examples.labels[examples.review.long()])


def _features(
    model: SentimentClassifier, batch: Batch, store: sqlite3.Connection, precision: Precision
) -> Tensor:
    """Look up the features of a batch, (B, d), after adding those that are missing."""
    keys = [_key(ids[:length]) for ids, length in zip(batch.ids, batch.lengths, strict=True)]
    look_up = "SELECT vector FROM features WHERE ids = ?"
    missing = [i for i, key in enumerate(keys) if not store.execute(look_up, (key,)).fetchone()]
    if missing:
        lengths = batch.lengths[missing]  # (M,)
        ids = batch.ids[missing, : max(int(lengths.max()), 1)]  # (M, n)
        with autocast(ids.device, precision, is_pretrained=True):
            vectors = model.features(ids, lengths).float().numpy()  # (M, d)
        new = [(keys[i], vector.tobytes()) for i, vector in zip(missing, vectors, strict=True)]
        store.executemany("INSERT OR REPLACE INTO features VALUES (?, ?)", new)
    found = b"".join(store.execute(look_up, (key,)).fetchone()[0] for key in keys)
    return torch.from_numpy(np.frombuffer(found, np.float32).copy()).view(len(keys), -1)


def _key(ids: Tensor) -> bytes:
    return hashlib.sha256(ids.numpy().tobytes()).digest()

"""The baselines that count words: TF-IDF and a logistic regression, on what other models read."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from attention.sentiment.batches import Examples
from attention.sentiment.tokenizer import SEP_ID
from experiments.comparison.cells import Cell
from experiments.comparison.data import draw

# The tokenizer's words have letters alone, so none begins like this.
FRONT = "<front>"


def count_words(cell: Cell, seed: int, options: dict[str, Any]) -> Callable[[Examples], Tensor]:
    """Fit a logistic regression on word counts, and return the function that gives its logits.

    Args:
        cell: Determines how much of an example is read, and how words in front of a separator are
            treated: with ``segments`` each counts apart from the same word behind it, and without
            ``reads_front`` they are left out.
        seed: The seed of the split and of the distractors; the fit itself draws nothing.
        options: ``ngrams``, the largest number of neighbouring words that are counted as one, and
            ``C``, the inverse of the penalty.
    """
    from sklearn.linear_model import LogisticRegression

    vectorizer, counts, labels = _counted(cell, seed, options["ngrams"])
    classifier = LogisticRegression(max_iter=1_000, C=options["C"]).fit(counts, labels)
    words = draw(cell, seed).prepared.tokenizer.get_vocab()

    def answer(examples: Examples) -> Tensor:
        counts = vectorizer.transform(texts_of(examples, cell, words))
        return torch.from_numpy(classifier.decision_function(counts)).float()  # (E,)

    return answer


@functools.lru_cache(maxsize=1)  # the values of C share their counts
def _counted(cell: Cell, seed: int, ngrams: int) -> tuple[Any, Any, Any]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    prepared = draw(cell, seed).prepared
    examples, words = prepared.examples, prepared.tokenizer.get_vocab()
    vectorizer = TfidfVectorizer(
        token_pattern=r"\S+", ngram_range=(1, ngrams), min_df=2, sublinear_tf=True
    )
    counts = vectorizer.fit_transform(texts_of(examples, cell, words))
    return vectorizer, counts, examples.labels[examples.review.long()].numpy()


def texts_of(examples: Examples, cell: Cell, words: dict[str, int]) -> Iterator[str]:
    """Write what a cell reads of each example, with its words separated by spaces."""
    config = cell.config.model
    by_id = {i: word for word, i in words.items()}
    for rows in torch.arange(len(examples)).split(1_000):
        batch = examples.batch(rows, config.reading)
        for padded, length in zip(batch.ids.tolist(), batch.lengths.tolist(), strict=True):
            ids = padded[:length]
            end = ids.index(SEP_ID) + 1 if SEP_ID in ids else 0
            front, review = [by_id[i] for i in ids[:end]], [by_id[i] for i in ids[end:]]
            if not cell.reads_front:
                front = []
            elif config.segments:
                front = [FRONT + word for word in front]
            yield " ".join(front + review)

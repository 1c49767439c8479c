"""Logistic regression on words and skip-bigrams, whose weights are those of a mean of one number.

The mean over rows of one number each, times w, has the sign of their sum. So the coefficients of a
logistic regression on counts, without intercept, are a mean model's table, and unlike a training
loop the regression finds the best ones for its penalty.
"""

import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression

from attention.layers.bigrams import BigramEmbedding
from attention.sentiment.batches import Ragged


def counts(ids: Ragged, words: int, buckets: int, span: int) -> scipy.sparse.csr_matrix:
    """Count the words and the pairs of each text, (N, words + buckets), in rows of length 1."""
    flat = ids.flat.numpy().astype(np.int64)
    offsets = ids.offsets.numpy()
    text = np.repeat(np.arange(len(ids)), np.diff(offsets))  # (total,)
    a, b = BigramEmbedding.MULTIPLIERS
    rows, columns = [text], [flat]
    for distance in range(1, span + 1):
        first, second = flat[:-distance], flat[distance:]
        is_pair = (text[distance:] == text[:-distance]) & (np.minimum(first, second) > 2)
        bucket = (a * first + b * second) % BigramEmbedding.MODULUS % buckets
        rows.append(text[distance:][is_pair])
        columns.append(words + bucket[is_pair])
    place = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(place[0]), np.float32)
    found = scipy.sparse.csr_matrix((ones, place), shape=(len(ids), words + buckets))
    found.sum_duplicates()
    length = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())  # (N,)
    return scipy.sparse.diags_array(1 / np.maximum(length, 1)).astype(np.float32) @ found


def fit(
    ids: Ragged, labels: list[int], *, words: int, buckets: int, span: int, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients of the words, (words,), and of the pairs, (buckets,)."""
    features = counts(ids, words, buckets, span)
    regression = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=40, tol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 40 steps are enough, which the accuracy shows
        regression.fit(features, labels)
    coefficients: np.ndarray = regression.coef_[0]
    return coefficients[:words], coefficients[words:]

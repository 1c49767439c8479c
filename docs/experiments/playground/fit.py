"""Logistic regression on words, whose coefficients are the vectors of a mean of one number.

The mean over words of one number each has the sign of their sum. So the coefficients of a logistic
regression on counts, without intercept, are a mean model's table, and unlike a training loop the
regression finds the best ones for its penalty.
"""

import math

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.nn import functional as F

from attention.sentiment.tokenizer import Ragged


def fit(ids: Ragged, labels: list[int], *, rows: int, penalty: float) -> Tensor:
    """Return the coefficients of ids 0 … rows − 1, (rows,)."""
    from sklearn.linear_model import LogisticRegression  # only the experiments have it

    flat, text = ids.flat.numpy(), np.repeat(np.arange(len(ids)), ids.lengths.numpy())  # (total,)
    counts = scipy.sparse.csr_matrix(
        (np.ones(len(flat), np.float32), (text, flat)), shape=(len(ids), rows)
    )
    counts.sum_duplicates()
    # Rows of length 1, or long texts would decide everything
    length = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())  # (N,)
    counts = scipy.sparse.diags_array(1 / np.maximum(length, 1)).astype(np.float32) @ counts
    regression = LogisticRegression(C=1 / penalty, fit_intercept=False, max_iter=200, tol=1e-4)
    regression.fit(counts, labels)
    return torch.from_numpy(regression.coef_[0]).float()


def best_scale(table: Tensor, ids: Ragged, labels: list[int]) -> float:
    """Choose the factor of a mean's logits that fits the labels best."""
    text = torch.arange(len(ids)).repeat_interleave(ids.lengths)  # (total,)
    sums = torch.zeros(len(ids)).index_add_(0, text, table[ids.flat.long()])  # (N,)
    means = sums / ids.lengths.clamp(min=1)
    scales = [math.exp(power / 10) for power in range(60)]
    targets = torch.tensor(labels, dtype=torch.float32)
    losses = [float(F.binary_cross_entropy_with_logits(s * means, targets)) for s in scales]
    return scales[losses.index(min(losses))]

r"""Vectors of words from the words that they stand near, as a start for training.

A model of two labels needs one number per word, and from drawn vectors it learned little else: its
queries, keys and values lay nearly on one line. These vectors begin apart: words with similar
neighbours have similar ones.

Sources: Church & Hanks (1990), Word association norms, mutual information, and lexicography,
https://aclanthology.org/J90-1003/; Bullinaria & Levy (2007), Extracting semantic representations
from word co-occurrence statistics, for positive values alone; Levy, Goldberg & Dagan (2015),
Improving distributional similarity with lessons learned from word embeddings,
https://aclanthology.org/Q15-1016/, for the power.
"""

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import svds
from torch import Tensor

from attention.sentiment.tokenizer import SPECIALS, Ragged


def count_neighbours(ids: Ragged, rows: int, window: int) -> scipy.sparse.csr_matrix:
    """Count how often two words stand at most ``window`` words apart in one text, (rows, rows)."""
    flat, text = ids.flat.numpy(), np.repeat(np.arange(len(ids)), ids.lengths.numpy())  # (total,)
    counts = scipy.sparse.csr_matrix((rows, rows))
    for distance in range(1, window + 1):
        together = text[distance:] == text[:-distance]
        pair = flat[:-distance][together], flat[distance:][together]
        counts += scipy.sparse.csr_matrix((np.ones(len(pair[0])), pair), shape=(rows, rows))
    return counts + counts.T


def word_vectors(ids: Ragged, rows: int, dims: int, window: int, power: float) -> Tensor:
    r"""Return singular vectors of the positive pointwise mutual information of neighbours.

    .. math:: M_{ij} = \max\left(0, \log \frac{p(i, j)}{p(i) \, \tilde p(j)}\right), \qquad
              \tilde p(j) \propto p(j)^\mathrm{power}

    The first singular vector is left out, because all its numbers have one sign, so that it tells
    no groups of words apart.

    Args:
        ids: The texts.
        rows: The size of the vocabulary.
        dims: How many numbers a word gets.
        window: How many words on either side are neighbours.
        power: Less than 1 makes rare neighbours count for less.

    Returns:
        A matrix of ``rows`` rows and ``dims`` columns, each of mean 0 and variance 1.
    """
    counts = count_neighbours(ids, rows, window).tocoo()
    often = np.asarray(counts.sum(axis=1)).ravel()
    share = often**power / (often**power).sum()
    information = np.log(counts.data / (often[counts.row] * share[counts.col]))
    words = (counts.row >= len(SPECIALS)) & (counts.col >= len(SPECIALS))
    kept = words & (information > 0)
    pair = counts.row[kept], counts.col[kept]
    matrix = scipy.sparse.csr_matrix((information[kept], pair), shape=(rows, rows))
    left, size, _ = svds(matrix, k=dims + 1, rng=0)
    order = np.argsort(-size)[1:]
    vectors = torch.from_numpy(left[:, order].copy()).float()  # (rows, dims)
    return (vectors - vectors.mean(dim=0)) / vectors.std(dim=0)

"""Vectors for pairs of words: which pairs share one, and which get none."""

from itertools import pairwise

import pytest
import torch
from loops import for_each

from attention import BigramEmbedding

BUCKETS = 89


def spelled_out(embedding, ids):
    """The equation for one text, in Python's integers, which never overflow."""
    a, b = 1_000_003, 7_919
    buckets = [(a * first + b * second) % (2**31 - 1) % BUCKETS for first, second in pairwise(ids)]
    return embedding.table.weight[buckets]


@for_each(dtype=(torch.int32, torch.int64))
def test_each_pair_gets_the_vector_of_its_bucket(dtype):
    embedding = BigramEmbedding(5, buckets=BUCKETS)
    # Ids whose product with a leaves 32 bits.
    texts = [[3, 4, 3, 4, 7, 9, 3], [70_000, 5, 9, 2_000_000, 9, 560_000, 70_000]]
    x = embedding(torch.tensor(texts, dtype=dtype))
    assert x.shape == (2, 7, 5)
    torch.testing.assert_close(x[:, 1:], torch.stack([spelled_out(embedding, t) for t in texts]))


def test_only_two_words_are_a_pair():
    ids = torch.tensor([[3, 4, 1, 4, 2, 7, 8, 0, 0], [0, 5, 3, 9, 9, 9, 2, 2, 6]])
    is_pair = BigramEmbedding(5, buckets=BUCKETS).is_pair(ids)
    for row, pairs in zip(ids.tolist(), is_pair.tolist(), strict=True):
        assert pairs == [False] + [min(two) >= 3 for two in pairwise(row)]


@for_each(shape=((0, 4), (2, 0), (1,)))
def test_fewer_than_two_words_have_no_pair(shape):
    embedding = BigramEmbedding(5, buckets=BUCKETS)
    assert embedding(torch.full(shape, 5)).shape == (*shape, 5)
    is_pair = embedding.is_pair(torch.full(shape, 5))
    assert is_pair.shape == shape
    assert not is_pair.any()


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="buckets"):
        BigramEmbedding(5, buckets=0)
    with pytest.raises(TypeError, match="embed_dim"):
        BigramEmbedding(5.0, buckets=3)
    embedding = BigramEmbedding(5, buckets=BUCKETS)
    for ids in (torch.tensor([3.0, 4.0]), torch.tensor([True, False]), [3, 4]):
        for call in (embedding, embedding.is_pair):
            with pytest.raises(TypeError, match="ids: expected a tensor"):
                call(ids)

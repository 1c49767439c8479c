"""Vectors for pairs of words: which pairs share one, and which get none."""

import pytest
import torch

from attention import BigramEmbedding

BUCKETS = 89


def spelled_out(embedding, ids):
    """The equation for one text, in Python's integers, which never overflow."""
    a, b = 1_000_003, 7_919
    rows = []
    for i, word in enumerate(ids):
        before = ids[i - 1] if i else 0
        if min(word, before) < 3:
            rows.append(torch.zeros(5))
        else:
            rows.append(embedding.table.weight[(a * before + b * word) % (2**31 - 1) % BUCKETS])
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_each_pair_gets_the_vector_of_its_bucket(dtype):
    embedding = BigramEmbedding(5, buckets=BUCKETS)
    # Special ids in the midst, and ids whose product with a leaves 32 bits.
    texts = [[3, 4, 3, 4, 0, 0, 0], [70_000, 1, 9, 2, 9, 560_000, 70_000]]
    x = embedding(torch.tensor(texts, dtype=dtype))
    assert x.shape == (2, 7, 5)
    torch.testing.assert_close(x, torch.stack([spelled_out(embedding, ids) for ids in texts]))


def test_the_first_word_is_no_neighbour_of_the_last():
    x = BigramEmbedding(5, buckets=BUCKETS)(torch.tensor([[7, 8], [8, 7]]))
    assert not x[:, 0].any()
    assert x[:, 1].all()


def test_order_counts_and_repeats_agree():
    x = BigramEmbedding(5, buckets=BUCKETS)(torch.tensor([7, 8, 7, 8]))
    assert torch.equal(x[1], x[3])
    assert not torch.equal(x[1], x[2])


def test_pairs_spread_over_the_buckets():
    ids = torch.cartesian_prod(torch.arange(3, 203), torch.arange(3, 203))  # (40000, 2)
    embedding = BigramEmbedding(1, buckets=997)
    with torch.no_grad():
        embedding.table.weight[:] = torch.arange(997.0)[:, None]
    hits = embedding(ids)[:, 1, 0].long().bincount(minlength=997)
    # 40 a bucket on average; a Poisson draw of 997 would lie between 21 and 63 almost surely.
    assert hits.min() > 15
    assert hits.max() < 80


def test_only_pairs_pass_a_gradient():
    embedding = BigramEmbedding(5, buckets=BUCKETS)
    embedding(torch.tensor([[5, 0, 6], [1, 5, 2]])).sum().backward()
    assert not embedding.table.weight.grad.any()
    embedding(torch.tensor([[5, 6]])).sum().backward()
    assert embedding.table.weight.grad.sum() == 5


@pytest.mark.parametrize("shape", [(0, 4), (2, 0), (1,)])
def test_nothing_to_read(shape):
    x = BigramEmbedding(5, buckets=BUCKETS)(torch.full(shape, 5))
    assert x.shape == (*shape, 5)
    assert not x.any()


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="buckets"):
        BigramEmbedding(5, buckets=0)
    with pytest.raises(TypeError, match="embed_dim"):
        BigramEmbedding(5.0, buckets=3)

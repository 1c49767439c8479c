"""What a cache holds, and what it refuses."""

import pytest
import torch

from attention import KVCache, LatentAttention, MultiHeadAttention, TransformerEncoder


def test_the_bytes_are_those_of_all_keys_and_values():
    layer = MultiHeadAttention(12, num_heads=6, num_kv_heads=2, head_dim=5)
    cache = KVCache(max_length=7)
    assert cache.nbytes == 0
    with torch.no_grad():
        layer(torch.randn(3, 4, 12), is_causal=True, cache=cache)
    assert cache.nbytes == 3 * 7 * 2 * (5 + 5) * 4
    latent, cache = LatentAttention(12, 6, latent_dim=5, rotary_dim=2), KVCache(max_length=7)
    with torch.no_grad():
        latent(torch.randn(3, 4, 12), is_causal=True, cache=cache)
    assert cache.nbytes == 3 * 7 * (5 + 2) * 4


@pytest.fixture
def filled():
    """A layer, and its cache with 3 of 5 tokens."""
    layer, cache = MultiHeadAttention(8, 2), KVCache(5)
    with torch.no_grad():
        layer(torch.randn(2, 3, 8), is_causal=True, cache=cache)
    return layer, cache


def refused(layer, x, error, message, cache, **options):
    before = cache.length
    with torch.no_grad(), pytest.raises(error) as raised:
        layer(x, **{"is_causal": True, "cache": cache, **options})
    assert message in str(raised.value)
    assert cache.length == before


def test_a_full_cache_is_an_error(filled):
    layer, cache = filled
    message = "cache: expected at most max_length = 5 tokens, got 3 + 3"
    refused(layer, torch.randn(2, 3, 8), ValueError, message, cache)
    with torch.no_grad():
        layer(torch.randn(2, 2, 8), is_causal=True, cache=cache)
    message = "cache: expected at most max_length = 5 tokens, got 5 + 1"
    refused(layer, torch.randn(2, 1, 8), ValueError, message, cache)


def test_a_cache_is_refused_where_it_would_give_other_numbers_or_lose_a_gradient(filled):
    layer, cache = filled
    x = torch.randn(2, 1, 8)
    with pytest.raises(RuntimeError, match=r"call the layer within torch\.no_grad\(\)"):
        layer(x, is_causal=True, cache=cache)
    assert cache.length == 3
    refused(layer, x, ValueError, "is_causal: expected True", cache, is_causal=False)
    with pytest.raises(TypeError, match="cache: expected a KVCache, got list"):
        layer(x, is_causal=True, cache=[cache])
    other = torch.randn(1, 1, 8)
    refused(layer, other, ValueError, "key, value: expected shape (2, 2, 1, 4)", cache)
    refused(layer.double(), x.double(), ValueError, "torch.float32", cache)
    mask = torch.ones(1, 1, dtype=torch.bool)
    layer.float()
    refused(layer, x, ValueError, "(2, 1, 4)", cache, attn_mask=mask.expand(1, 3))


def test_a_stack_takes_one_cache_per_block_and_fills_all_or_none():
    encoder, x = TransformerEncoder(8, 2, 3), torch.randn(4, 8)
    for caches, message in (
        ([KVCache(4)] * 3, "expected one per block, 3, got 3, of which 1 are different"),
        ([KVCache(4), KVCache(4)], "expected one per block, 3, got 2"),
        ([KVCache(4), KVCache(4), KVCache(3)], "at most max_length = 3 tokens, got 0 + 4"),
    ):
        with torch.no_grad(), pytest.raises(ValueError, match="cache") as raised:
            encoder(x, is_causal=True, caches=caches)
        assert message in str(raised.value)
        assert not any(cache.length for cache in caches)


def test_positions_beside_a_cache_are_refused():
    x, at, caches = torch.randn(3, 5, 8), torch.arange(5), [KVCache(9), KVCache(9)]
    for layer, options in (
        (MultiHeadAttention(8, 2), {"cache": caches[0]}),
        (LatentAttention(8, 2), {"cache": caches[0]}),
        (TransformerEncoder(8, 2, 2), {"caches": caches}),
    ):
        with pytest.raises(ValueError, match="positions: expected None with a cache"):
            layer(x, is_causal=True, positions=at, **options)
    assert not any(cache.length for cache in caches)

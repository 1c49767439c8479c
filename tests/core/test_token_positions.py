"""Positions that the caller gives to a layer."""

import pytest
import torch

from attention import KVCache, LatentAttention, MultiHeadAttention, TransformerEncoder


@pytest.mark.parametrize(
    "layer",
    [
        MultiHeadAttention(8, 2, rotary=True, window=3),
        LatentAttention(8, 2, rotary_dim=2),
        TransformerEncoder(8, 2, 3, rotary=True, window=3),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_tokens_may_be_listed_in_another_order(layer):
    x, order = torch.randn(2, 7, 8), torch.randperm(7)
    listed, weights = layer(x[:, order], positions=order, need_weights=True)
    right, right_weights = layer(x, need_weights=True)
    torch.testing.assert_close(listed, right[:, order])
    torch.testing.assert_close(weights, right_weights[..., order, :][..., order])
    assert not torch.allclose(layer(x[:, order]), listed, atol=1e-4)
    shifted = layer(x, positions=torch.arange(7)[None] + torch.tensor([[0], [100]]))
    torch.testing.assert_close(shifted, right, rtol=1e-4, atol=1e-5)


def test_positions_that_fit_no_call_are_refused():
    layer = MultiHeadAttention(8, 2, rotary=True)
    stack, caches = TransformerEncoder(8, 2, 2, rotary=True), [KVCache(9), KVCache(9)]
    x, at = torch.randn(3, 5, 8), torch.arange(5)
    shape = r"positions: expected a shape that broadcasts to \(3, 5\), got "
    for given, error, message in (
        (at[:4], ValueError, shape + r"\(4,\)"),
        (at.expand(2, 5), ValueError, shape + r"\(2, 5\)"),
        (at.expand(3, 1, 5), ValueError, shape + r"\(3, 1, 5\)"),
        (at.double(), TypeError, "positions: expected a tensor of integers, got torch.float64"),
        (at.to("meta"), ValueError, "positions: expected device cpu, x's, got meta"),
        ([0, 1, 2, 3, 4], TypeError, "positions: expected a tensor, got list"),
    ):
        with pytest.raises(error, match=message):
            layer(x, positions=given)
    for call in (
        lambda: layer(x, is_causal=True, positions=at, cache=caches[0]),
        lambda: stack(x, is_causal=True, positions=at, caches=caches),
        lambda: LatentAttention(8, 2)(x, is_causal=True, positions=at, cache=caches[0]),
    ):
        with pytest.raises(ValueError, match="positions: expected None with a cache"):
            call()
    assert not any(cache.length for cache in caches)

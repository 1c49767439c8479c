"""Positions that the caller gives to a layer, against loops over the tokens."""

import math

import pytest
import torch

from attention import KVCache, LatentAttention, MultiHeadAttention, TransformerEncoder


def rotated(vector, position):
    """Rotate one vector, whose two halves are the real and imaginary parts."""
    half = len(vector) // 2
    angles = [position * 10_000 ** (-i / half) for i in range(half)]
    unit = [complex(math.cos(a), math.sin(a)) for a in angles]
    turned = torch.complex(vector[:half], vector[half:]) * torch.tensor(
        unit, dtype=torch.complex128
    )
    return torch.cat((turned.real, turned.imag))


def loop(layer, x, positions, is_causal):
    """Attend with one head after the other, and one query after the other, of one text."""
    k, contexts = layer.head_dim, []
    for i in range(len(x)):
        heads = []
        for h in range(layer.num_heads):
            rows = slice(h * k, (h + 1) * k)
            queries, keys, values = (
                x @ each.weight[rows].T for each in (layer.W_query, layer.W_key, layer.W_value)
            )
            seen = [
                j
                for j in range(i + 1 if is_causal else len(x))
                if layer.window is None or abs(positions[i] - positions[j]) < layer.window
            ]
            if layer.rotary:
                queries = [rotated(q, p) for q, p in zip(queries, positions, strict=True)]
                keys = [rotated(q, p) for q, p in zip(keys, positions, strict=True)]
            powers = torch.stack([(queries[i] @ keys[j] / k**0.5).exp() for j in seen])
            heads.append(powers / powers.sum() @ values[seen])
        contexts.append(torch.cat(heads) @ layer.W_out.weight.T)
    return torch.stack(contexts)


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_rotation_and_window_go_by_the_positions_of_each_text(rotary, window, is_causal):
    layer = MultiHeadAttention(8, 2, rotary=rotary, window=window).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64, requires_grad=True)
    # The second text has pairs of words behind its words; the third is shifted.
    positions = torch.tensor([[0, 1, 2, 3, 4], [0, 1, 2, 1, 2], [3, 4, 5, 6, 7]])
    right = torch.stack(
        [loop(layer, *each, is_causal) for each in zip(x, positions.tolist(), strict=True)]
    )
    inputs, upstream = [x, *layer.parameters()], torch.randn_like(right)
    right_grads = torch.autograd.grad(right, inputs, upstream)
    for dtype in (torch.int64, torch.uint8):
        options = {"positions": positions.to(dtype), "is_causal": is_causal}
        spelled, _ = layer(x, need_weights=True, **options)
        for context in (layer(x, **options), spelled):
            torch.testing.assert_close(context, right, rtol=0, atol=1e-12)
            grads = torch.autograd.grad(context, inputs, upstream)
            torch.testing.assert_close(grads, right_grads, rtol=0, atol=1e-12)
    counted = layer(x, is_causal=is_causal)
    one_row = layer(x, is_causal=is_causal, positions=torch.arange(5))
    torch.testing.assert_close(one_row, counted, rtol=0, atol=0)


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

"""Grouped-query attention against torch's own, and against heads whose keys are copies."""

import pytest
import torch
from torch.nn import functional as F

from attention import MultiHeadAttention


def reference(layer, x, **options):
    """Attend through torch's kernel, which groups by itself."""

    def heads(projected, count):
        return projected.unflatten(-1, (count, layer.head_dim)).transpose(-3, -2)

    context = F.scaled_dot_product_attention(
        heads(layer.W_query(x), layer.num_heads),
        heads(layer.W_key(x), layer.num_kv_heads),
        heads(layer.W_value(x), layer.num_kv_heads),
        enable_gqa=True,
        **options,
    )
    return layer.W_out(context.transpose(-3, -2).flatten(-2))


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_values_and_gradients_are_torchs(num_kv_heads, is_causal, need_weights):
    layer = MultiHeadAttention(
        7, num_heads=6, num_kv_heads=num_kv_heads, head_dim=5, bias=True
    ).double()
    x = torch.randn(3, 11, 7, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(3, 11, 7, dtype=torch.float64)
    ours = layer(x, is_causal=is_causal, need_weights=need_weights)
    ours = ours[0] if need_weights else ours
    theirs = reference(layer, x, is_causal=is_causal)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    leaves = [x, *layer.parameters()]
    for a, b in zip(
        torch.autograd.grad(ours, leaves, upstream),
        torch.autograd.grad(theirs, leaves, upstream),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-11)


def test_neighbouring_heads_share_keys_and_values():
    grouped = MultiHeadAttention(8, num_heads=4, num_kv_heads=2)
    copies = MultiHeadAttention(8, num_heads=4)
    state = grouped.state_dict()
    for name in ("W_key.weight", "W_value.weight"):
        shared = state[name].unflatten(0, (2, 2))  # (num_kv_heads, head_dim, d)
        state[name] = shared.repeat_interleave(2, dim=0).flatten(0, 1)  # (8, 8)
    copies.load_state_dict(state)
    x = torch.randn(3, 5, 8)
    (context, weights), (expected, expected_weights) = (
        layer(x, need_weights=True) for layer in (grouped, copies)
    )
    torch.testing.assert_close(context, expected)
    torch.testing.assert_close(weights, expected_weights)


def test_fewer_keys_need_fewer_parameters():
    every, half = (MultiHeadAttention(8, 4, num_kv_heads=count) for count in (4, 2))
    assert half.W_key.weight.shape == half.W_value.weight.shape == (4, 8)
    assert half.W_query.weight.shape == every.W_query.weight.shape == (8, 8)


def test_a_head_may_have_a_width_of_its_own():
    layer = MultiHeadAttention(5, num_heads=3, head_dim=7)
    context, weights = layer(torch.randn(2, 11, 5), need_weights=True)
    assert context.shape == (2, 11, 5)
    assert weights.shape == (2, 3, 11, 11)
    assert layer.W_out.weight.shape == (5, 21)


def test_numbers_of_heads_that_do_not_divide_are_refused():
    for options, message in (
        ({"num_kv_heads": 4}, "num_kv_heads: expected a divisor of num_heads = 6, got 4"),
        ({"num_kv_heads": 0}, "num_kv_heads: expected at least 1, got 0"),
        ({"head_dim": 0}, "head_dim: expected at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            MultiHeadAttention(12, num_heads=6, **options)

"""What several heads are, beyond what every layer keeps to."""

import math

import pytest
import torch
from loops import for_each

from attention import (
    MultiHeadAttention,
    causal_mask,
    fused_attention,
    scaled_dot_product_attention,
)


def test_a_mask_and_causality_together_may_forbid_every_key():
    layer, x = MultiHeadAttention(10, 5, bias=True), torch.randn(7, 10)
    later = ~causal_mask(7)  # allows just what causality forbids
    assert not layer(x, later, is_causal=True).any()
    assert not layer(x, later)[6].any()
    assert layer(x, later)[:6].any(-1).all()


@for_each(attend=(scaled_dot_product_attention, fused_attention))
def test_dropout_drops_its_share_and_keeps_the_mean(attend):
    query, key = torch.randn(2, 101, 3)
    mask = causal_mask(101)
    weights = scaled_dot_product_attention(query, key, torch.eye(101), mask)[1]

    def dropped():  # values that are unit vectors show the weights, of the kernel too
        context = attend(query, key, torch.eye(101), mask, dropout_p=0.3)
        return context[0] if isinstance(context, tuple) else context

    mean = torch.zeros(101, 101)
    for _ in range(200):
        once = dropped()
        kept = once[mask] > 0
        torch.testing.assert_close(once[mask][kept], weights[mask][kept] / 0.7)
        assert not once[~mask].any()
        # The share of 5,151 weights has a standard deviation of 0.0064.
        assert kept.float().mean().item() == pytest.approx(0.7, abs=0.03)
        mean += once / 200
    # A row's sum has standard deviation √(Σw² · 0.3/0.7 / 200), and Σw² ≤ 1.
    assert (mean.sum(-1) - 1).abs().max() < 5 * math.sqrt(0.3 / 0.7 / 200)
    assert mean.sum(-1).mean().item() == pytest.approx(1, abs=0.01)


def test_dropout_is_drawn_per_head_and_shows_in_the_weights_that_are_returned():
    layer, x = MultiHeadAttention(10, 5, dropout=0.5), torch.randn(2, 7, 10)
    context, weights = layer(x, need_weights=True)
    patterns = (weights > 0).flatten(2)
    assert all(len(text.unique(dim=0)) == 5 for text in patterns)
    value = layer.W_value(x).unflatten(-1, (5, 2)).transpose(1, 2)
    torch.testing.assert_close(layer.W_out((weights @ value).transpose(1, 2).flatten(2)), context)


def test_numbers_of_heads_that_do_not_fit_are_refused():
    for embed_dim, num_heads, options, message in (
        (10, 3, {}, "num_heads: expected a divisor of embed_dim = 10, got 3"),
        (10, 20, {}, "num_heads: expected a divisor of embed_dim = 10, got 20"),
        (12, 6, {"num_kv_heads": 4}, "num_kv_heads: expected a divisor of num_heads = 6, got 4"),
    ):
        with pytest.raises(ValueError, match=message):
            MultiHeadAttention(embed_dim, num_heads, **options)

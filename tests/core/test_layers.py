"""What each layer is, beyond what every layer keeps to, and the sizes that fit none."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from refusals import check_refused
from torch import nn

from attention import (
    CausalSelfAttention,
    EnergyPooling,
    KeyedPooling,
    KVCache,
    LatentAttention,
    MeanPooling,
    MultiHeadAttention,
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    TransformerBlock,
    causal_mask,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
    window_mask,
)


def test_v1_starts_uniform_and_v2_as_linear_does():
    start = torch.cat([w.flatten() for w in SelfAttentionV1(31, 29).parameters()])
    assert start.min() >= 0
    assert start.max() <= 1
    assert 0.45 < start.mean() < 0.55
    start = torch.cat([w.flatten() for w in SelfAttentionV2(31, 29).parameters()])
    assert start.abs().max() <= 31**-0.5
    assert start.std().item() == pytest.approx((31 * 3) ** -0.5, rel=0.05)


def test_causal_attention_is_causal_by_default():
    layer, free = CausalSelfAttention(5, 3), SelfAttention(5, key_dim=3)
    free.load_state_dict(layer.state_dict())
    x = torch.randn(2, 7, 5)
    torch.testing.assert_close(layer(x), free(x, attn_mask=causal_mask(7)))
    torch.testing.assert_close(layer(x, is_causal=False), free(x))


def test_mean_of_the_infinite_is_infinite():
    x = torch.randn(7, 5)
    x[3, 0] = torch.inf
    assert MeanPooling(5)(x)[0] == torch.inf
    assert MeanPooling(5)(x)[1:].isfinite().all()


def test_learned_parts_start_as_linear_does():
    pooling = KeyedPooling(5, key_dim=997)
    assert pooling.query.abs().max() <= 997**-0.5
    assert pooling.query.std().item() == pytest.approx((997 * 3) ** -0.5, rel=0.1)
    assert pooling.W_key.weight.shape == (997, 5)
    assert [p.shape for p in EnergyPooling(5).parameters()] == [(1, 5)]


@given(n=st.integers(0, 9), past=st.integers(0, 5), window=st.integers(1, 12))
def test_masks_of_the_last_tokens_are_the_last_rows(n, past, window):
    m = n + past
    near = torch.tensor([[abs(i - j) < window for j in range(m)] for i in range(m)]).reshape(m, m)
    assert torch.equal(window_mask(n, window, m), near[past:])
    assert torch.equal(causal_mask(n, m), torch.ones(m, m, dtype=torch.bool).tril()[past:])
    assert causal_mask(n, m, device="meta").is_meta


def test_keys_are_as_wide_as_the_tokens_unless_told_otherwise():
    for kind in KeyedPooling, QKSelfAttention, SelfAttention, CausalSelfAttention:
        assert kind(10).key_dim == 10


def test_a_mask_and_causality_together_may_forbid_every_key():
    layer, x = MultiHeadAttention(10, 5, bias=True), torch.randn(7, 10)
    later = ~causal_mask(7)  # allows just what causality forbids
    assert not layer(x, attn_mask=later, is_causal=True).any()
    assert not layer(x, attn_mask=later)[6].any()
    assert layer(x, attn_mask=later)[:6].any(-1).all()


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


@pytest.mark.parametrize("rotary_dim", [0, 4])
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_absorbed_form_is_the_other_in_value_and_gradient(rotary_dim, is_causal):
    layer = LatentAttention(8, 2, latent_dim=3, rotary_dim=rotary_dim).double()
    x = torch.randn(5, 7, 8, dtype=torch.float64, requires_grad=True)
    mask = padding_mask(torch.tensor([7, 5, 3, 1, 0]), 7)
    options = {"is_causal": is_causal, "need_weights": True}
    trained, absorbed = (layer(x, attn_mask=mask, absorbed=a, **options) for a in (False, True))
    torch.testing.assert_close(absorbed, trained, rtol=0, atol=1e-12)
    fused = layer(x, attn_mask=mask, absorbed=True, is_causal=is_causal)
    torch.testing.assert_close(fused, trained[0], rtol=0, atol=1e-12)
    upstream, inputs = torch.randn_like(fused), [x, *layer.parameters()]
    right = torch.autograd.grad(trained[0], inputs, upstream)
    for context in (absorbed[0], fused):
        grads = torch.autograd.grad(context, inputs, upstream, retain_graph=True)
        torch.testing.assert_close(grads, right, rtol=0, atol=1e-11)


def test_what_is_no_matrix_is_not_absorbed():
    layer, x = LatentAttention(8, 2), torch.randn(5, 8)
    for other in (nn.Linear(4, 8), nn.Sequential(layer.W_value, nn.GELU())):
        layer.W_value = other
        context, _ = layer(x, need_weights=True)
        torch.testing.assert_close(layer(x), context)
        with pytest.raises(ValueError, match="multiplies by a matrix alone, got"):
            layer(x, absorbed=True)


MULTI, LATENT, BLOCK = MultiHeadAttention, LatentAttention, TransformerBlock
# A layer, its arguments, and how it refuses them.
WRONG_SIZES = (
    (MULTI, (10, 3), {}, "num_heads: expected a divisor of embed_dim = 10, got 3"),
    (
        MULTI,
        (12, 6),
        {"num_kv_heads": 4},
        "num_kv_heads: expected a divisor of num_heads = 6, got 4",
    ),
    (MULTI, (6, 2), {"rotary": True}, "rotary: expected heads of an even width, got 3"),
    (LATENT, (8, 2), {"rotary_dim": 3}, "rotary_dim: expected an even number, got 3"),
    (LATENT, (8, 3), {}, "num_heads: expected a divisor of embed_dim = 8, got 3"),
    (BLOCK, (6, 2), {"activation": "swish"}, "activation: expected gelu or relu, got 'swish'"),
    (BLOCK, (6, 2), {"eps": 0.0}, "eps: expected a number above 0"),
    (causal_mask, (3, 2), {}, "m: expected at least 3, got 2"),
    (KVCache, (0,), {}, "max_length: expected"),
)


def test_sizes_that_do_not_fit_are_refused():
    def make(call, sizes, options):
        call(*sizes, **options)

    check_refused(make, WRONG_SIZES, ValueError)
    wrong_types = (
        (MULTI, (6, 2), {"window": 1.5}, "window: expected an integer, got float"),
        (KVCache, (2.5,), {}, "max_length: expected"),
    )
    check_refused(make, wrong_types, TypeError)

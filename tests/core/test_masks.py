"""One convention for masks: every layer takes boolean and added ones, and causality beside them."""

import math

import torch
from loops import for_each
from oracles import made_causal, spelled, torchs

from attention import (
    CausalSelfAttention,
    EnergyPooling,
    KeyedPooling,
    MeanPooling,
    MultiHeadAttention,
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    causal_mask,
    fused_attention,
)

POOLINGS = {
    "mean": lambda: MeanPooling(6),
    "energy": lambda: EnergyPooling(6),
    "keys": lambda: KeyedPooling(6, key_dim=3),
}
LAYERS = {
    "v1": lambda: SelfAttentionV1(6, 3),
    "v2": lambda: SelfAttentionV2(6, 3, qkv_bias=True),
    "qk": lambda: QKSelfAttention(6, key_dim=3),
    "qkv": lambda: SelfAttention(6, key_dim=3, value_dim=2, bias=True),
    "qkv unscaled": lambda: SelfAttention(6, key_dim=3, scale=1.0),
    "causal": lambda: CausalSelfAttention(6, key_dim=3, scale=0.3),
    "heads": lambda: MultiHeadAttention(6, 3, bias=True),
    "grouped heads": lambda: MultiHeadAttention(6, 6, num_kv_heads=2, bias=True),
}
every_layer = for_each(name=[*LAYERS, *POOLINGS])
every_self_attention = for_each(name=LAYERS)
every_attention = for_each(attend=[spelled, fused_attention])


def build(name):
    return (LAYERS | POOLINGS)[name]()


def queries(name, n):
    """Return how many rows a layer's scores have."""
    return 1 if name in POOLINGS else n


def called(layer, x, mask, *, need_weights=False, **options):
    """Return the context alone, whichever way it is computed."""
    result = layer(x, mask, need_weights=need_weights, **options)
    return result[0] if need_weights else result


def random_mask(*shape, dtype=torch.float32):
    """Draw a mask that is added; a third of it is −∞, but the first key is always allowed."""
    mask = torch.randn(shape).masked_fill(torch.rand(shape) < 0.3, -math.inf)
    mask[..., 0] = 0.5
    return mask.to(dtype)


@every_layer
def test_added_mask_has_the_right_gradient(name):
    layer, rows = build(name).double(), queries(name, 5)
    x = torch.randn(2, 5, 6, dtype=torch.float64, requires_grad=True)
    mask = random_mask(2, rows, 5, dtype=torch.float64).requires_grad_()
    for need_weights in (False, True):
        assert torch.autograd.gradcheck(
            lambda x, mask, w=need_weights: called(layer, x, mask, need_weights=w), (x, mask)
        )


@every_layer
def test_zero_and_minus_infinity_are_true_and_false(name):
    layer, rows, x = build(name), queries(name, 7), torch.randn(2, 7, 6)
    allowed = torch.rand(2, rows, 7) < 0.6
    allowed[0, 0] = False
    added = torch.zeros(2, rows, 7).masked_fill(~allowed, -math.inf)
    (context, weights), (right, right_weights) = (
        layer(x, mask, need_weights=True) for mask in (added, allowed)
    )
    torch.testing.assert_close(context, right)
    torch.testing.assert_close(weights, right_weights)
    torch.testing.assert_close(called(layer, x, added), right)
    torch.testing.assert_close(called(layer, x, allowed), right)


@for_each(name=[*LAYERS, *POOLINGS], is_added=(False, True))
def test_query_that_may_attend_to_nothing_gets_zeros_without_nan(name, is_added):
    rows = queries(name, 7)
    mask = random_mask(3, rows, 7)
    mask[1] = -math.inf  # a whole text
    mask[0, -1] = -math.inf  # a query; for a pooling the whole text
    mask = mask.requires_grad_() if is_added else mask != -math.inf
    for need_weights in (False, True):
        layer = build(name)
        x = torch.randn(3, 7, 6, requires_grad=True)
        # Anomaly mode looks at each step's gradient, also at those a later step sets to zero.
        with torch.autograd.set_detect_anomaly(True):
            context = called(layer, x, mask, need_weights=need_weights)
            inputs = [x, *layer.parameters(), *([mask] if is_added else [])]
            x_grad, *grads = torch.autograd.grad(
                context.square().sum(), inputs, materialize_grads=True
            )
        assert context.isfinite().all()
        assert not context[1].any()
        assert not (context[0] if rows == 1 else context[0, -1]).any()
        assert context[2].any()
        assert x_grad.isfinite().all()
        assert not x_grad[1].any()
        assert x_grad[2].any()
        assert all(grad.isfinite().all() for grad in grads)
        if is_added:
            assert not grads[-1][1].any()
            assert not grads[-1][0, -1].any()
            assert grads[-1][2].any()


@every_layer
def test_mask_broadcasts_to_the_scores(name):
    layer, rows, x = build(name), queries(name, 5), torch.randn(2, 3, 5, 6)
    shapes = [(5,), (1, 5), (1, 1), (rows, 5), (rows, 1), (3, 1, 5), (3, rows, 5), (2, 1, 1, 5)]
    shapes += [(1, 3, rows, 5), (2, 3, rows, 5)]
    for shape in shapes:
        for mask in (random_mask(*shape), torch.rand(shape) < 0.6):
            expanded = mask.expand(2, 3, rows, 5)
            for need_weights in (False, True):
                context = called(layer, x, mask, need_weights=need_weights)
                torch.testing.assert_close(
                    context, called(layer, x, expanded), msg=lambda s, n=shape: f"{n}: {s}"
                )


@every_self_attention
def test_is_causal_is_the_causal_mask_alone_and_with_others(name):
    layer, x = build(name), torch.randn(2, 7, 6)
    for mask in (None, random_mask(2, 7, 7), random_mask(7), torch.rand(2, 7, 7) < 0.7):
        for need_weights in (False, True):
            right = called(layer, x, made_causal(mask, 7, 7), is_causal=False)
            context = called(layer, x, mask, is_causal=True, need_weights=need_weights)
            torch.testing.assert_close(context, right)
    _, weights = layer(x, is_causal=True, need_weights=True)
    assert not weights.masked_select(~causal_mask(7)).any()
    _, weights = layer(x, is_causal=False, need_weights=True)
    assert (weights > 0).all()


@for_each(name=[*LAYERS, *POOLINGS], need_weights=(False, True))
def test_very_unlikely_is_not_forbidden(name, need_weights):
    # In float16 −1e9 would overflow to −∞, and a query that has nothing else would get zeros.
    options = {"is_causal": False} if name in LAYERS else {}
    rows = queries(name, 7)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        layer, x = build(name).to(dtype), torch.randn(7, 6).to(dtype)
        # Where all keys are as unlikely, their scores are lost in rounding and the weights equal.
        mean = called(layer, x, torch.full((rows, 7), -1e9), need_weights=need_weights, **options)
        equal = layer(x, torch.full((rows, 7), -1e9), need_weights=True, **options)[1]
        torch.testing.assert_close(equal, torch.full_like(equal, 1 / 7), rtol=0.01, atol=0)
        assert mean.any(), dtype
        # Where other keys are likely, it is as if they were alone.
        mask = torch.zeros(rows, 7)
        mask[:, 2:] = -1e9
        context = called(layer, x, mask, need_weights=need_weights, **options)
        alone = called(layer, x, mask == 0, need_weights=need_weights, **options)
        torch.testing.assert_close(context, alone, rtol=0.01, atol=0.01)


@every_attention
def test_formula_adds_masks_as_torchs_kernel_does(attend):
    tensors = [torch.randn(2, 3, length, 5) for length in (5, 7, 7)]
    for mask in (random_mask(5, 7), random_mask(2, 1, 1, 7), random_mask(3, 5, 7)):
        for scale in (None, 0.3, -1.0):
            right = torchs(*tensors, mask, scale=scale)
            torch.testing.assert_close(attend(*tensors, mask, scale=scale), right)

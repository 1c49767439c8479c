"""The layers of self-attention against their own equations, written out in the tests."""

import copy
import functools
import pickle

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import DTYPES, draw_mask, made_causal, mask_values, shapes_within, torchs
from torch import nn

from attention import (
    CausalSelfAttention,
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    causal_mask,
    padding_mask,
)

LAYERS = {
    "v1": lambda: SelfAttentionV1(5, 3),
    "v2": lambda: SelfAttentionV2(5, 3),
    "v2 with bias": lambda: SelfAttentionV2(5, 3, qkv_bias=True),
    "qk": lambda: QKSelfAttention(5, key_dim=3),
    "qk with bias": lambda: QKSelfAttention(5, key_dim=3, bias=True),
    "qkv": lambda: SelfAttention(5, key_dim=3),
    "qkv narrow": lambda: SelfAttention(5, key_dim=3, value_dim=2, bias=True),
    "qkv unscaled": lambda: SelfAttention(5, key_dim=3, scale=1.0),
}
every_layer = for_each(name=LAYERS)


def projections(layer, x):
    """Multiply by the layer's matrices; a layer without values takes its tokens for them."""
    projected = []
    for matrix in ("W_query", "W_key", "W_value"):
        weight = getattr(layer, matrix, None)
        if weight is None:
            projected.append(x)
        elif isinstance(weight, nn.Parameter):
            projected.append(torch.einsum("...nd,dk->...nk", x, weight))
        else:
            bias = 0 if weight.bias is None else weight.bias
            projected.append(torch.einsum("...nd,kd->...nk", x, weight.weight) + bias)
    return projected


@st.composite
def cases(draw):
    leading = tuple(draw(st.lists(st.sampled_from((2, 3, 1, 0)), max_size=3)))
    n = draw(st.sampled_from((7, 11, 1, 0)))
    dtype = draw(st.sampled_from(DTYPES))
    return {
        "name": draw(st.sampled_from(list(LAYERS))),
        "leading": leading,
        "n": n,
        "dtype": dtype,
        "mask_shape": draw(st.none() | shapes_within((*leading, n, n))),
        "is_causal": draw(st.booleans()),
        "need_weights": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**16)),
    } | draw(mask_values(dtype))


@given(case=cases())
def test_layer_is_its_equation_in_value_and_gradient(case):
    torch.manual_seed(case["seed"])
    dtype = case["dtype"]
    layer = LAYERS[case["name"]]().to(dtype)
    x = torch.randn(*case["leading"], case["n"], 5).to(dtype).requires_grad_()
    mask = draw_mask(case)
    context = layer(x, mask, is_causal=case["is_causal"], need_weights=case["need_weights"])
    if case["need_weights"]:
        context, weights = context
        assert weights.shape == (*case["leading"], case["n"], case["n"])
        assert weights.dtype == dtype
    assert context.dtype == dtype
    upstream = torch.randn(context.shape).to(dtype)
    inputs = [x, *layer.parameters()]
    grads = torch.autograd.grad(context, inputs, upstream)

    exact = copy.deepcopy(layer).double()
    x_exact = x.detach().double().requires_grad_()
    whole = made_causal(mask, case["n"], case["n"]) if case["is_causal"] else mask
    right = torchs(*projections(exact, x_exact), whole, scale=getattr(layer, "scale", None))
    right_grads = torch.autograd.grad(right, [x_exact, *exact.parameters()], upstream.double())

    copies = max(1, x.numel() // 5)  # how many numbers a parameter's gradient sums
    # Scores as large as the mask's carry the rounding of float32 into the weights.
    wide = torch.finfo(torch.promote_types(dtype, torch.float32)).eps
    atol = 30 * (torch.finfo(dtype).eps + wide * case["mask_size"])
    torch.testing.assert_close(context.double(), right, rtol=0.0, atol=atol)
    for grad, right_grad in zip(grads, right_grads, strict=True):
        torch.testing.assert_close(grad.double(), right_grad, rtol=0.0, atol=atol * copies)


@every_layer
def test_requesting_weights_changes_no_context(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([7, 3]), 7) & causal_mask(7)
    context, weights = layer(x, mask, need_weights=True)
    torch.testing.assert_close(layer(x, mask), context)
    value = projections(layer, x)[2]
    torch.testing.assert_close(weights @ value, context)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 7))
    assert not weights[~mask.expand(2, 7, 7)].any()


@for_each(name=LAYERS, need_weights=(False, True))
def test_fully_masked_query_gets_zeros_and_passes_no_gradient(name, need_weights):
    for dtype in DTYPES:
        check_fully_masked_query(LAYERS[name]().to(dtype), dtype, need_weights)


def check_fully_masked_query(layer, dtype, need_weights):
    x = torch.randn(2, 7, 5).to(dtype).requires_grad_()
    mask = torch.rand(2, 7, 7) < 0.7
    mask[0, 3] = False
    mask[1] = False
    context = layer(x, mask, need_weights=need_weights)
    context = context[0] if need_weights else context
    assert not context[0, 3].any()
    assert not context[1].any()
    assert context[0, 0].any()
    context.sum().backward()
    assert x.grad.isfinite().all()
    assert not x.grad[1].any()
    assert x.grad[0].any()
    for parameter in layer.parameters():
        assert parameter.grad.isfinite().all()


@every_layer
def test_permuted_tokens_give_permuted_contexts(name):
    layer, x, order = LAYERS[name](), torch.randn(2, 7, 5), torch.randperm(7)
    mask = torch.rand(7, 7) < 0.7
    context, weights = layer(x, mask, need_weights=True)
    permuted_mask = mask[order][:, order]
    torch.testing.assert_close(layer(x[:, order], permuted_mask), context[:, order])
    _, permuted_weights = layer(x[:, order], permuted_mask, need_weights=True)
    torch.testing.assert_close(permuted_weights, weights[:, order][:, :, order])


@every_layer
def test_texts_of_a_batch_do_not_affect_each_other(name):
    # Sizes with batch = tokens = widths too, where a transposition of all axes would run.
    for layer, x in (
        (LAYERS[name](), torch.randn(2, 3, 7, 5)),
        (LAYERS[name](), torch.randn(5, 5, 5)),
    ):
        one_by_one = [layer(text) for text in x.flatten(0, -3)]
        torch.testing.assert_close(layer(x).flatten(0, -3), torch.stack(one_by_one))


def test_square_batch_is_right_where_transposing_all_axes_is_wrong():
    layer, x = SelfAttentionV1(5, 5), torch.randn(5, 5, 5)
    keys, values, queries = x @ layer.W_key, x @ layer.W_value, x @ layer.W_query
    wrong = torch.softmax(queries @ keys.permute(2, 1, 0) / 5**0.5, dim=-1) @ values  # keys.T
    right = torch.stack(
        [
            torch.softmax(q @ k.T / 5**0.5, dim=-1) @ v
            for q, k, v in zip(queries, keys, values, strict=True)
        ]
    )
    torch.testing.assert_close(layer(x), right)
    torch.testing.assert_close(layer(x, need_weights=True)[0], right)
    assert (wrong - right).abs().max() > 0.1


@every_layer
def test_padding_never_changes_a_context(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([4, 7]), 7)
    before = layer(x, mask)
    x[0, 4:] = 1e4
    torch.testing.assert_close(layer(x, mask)[0, :4], before[0, :4], rtol=0, atol=0)
    torch.testing.assert_close(layer(x[:1, :4])[0], before[0, :4])


def test_v2_is_v1_with_its_matrices_transposed():
    v1, v2, x = SelfAttentionV1(5, 3), SelfAttentionV2(5, 3), torch.randn(2, 7, 5)
    v2.load_state_dict({f"{name}.weight": w.T for name, w in v1.state_dict().items()})
    torch.testing.assert_close(v1(x), v2(x))


def test_queries_and_keys_are_not_exchanged():
    layer, x = QKSelfAttention(5, key_dim=3), torch.randn(7, 5)
    _, weights = layer(x, need_weights=True)
    scores = (x @ layer.W_query.weight.T) @ (x @ layer.W_key.weight.T).T / 3**0.5
    torch.testing.assert_close(weights, scores.softmax(-1))
    assert not torch.allclose(weights, scores.T.softmax(-1), atol=1e-3)


def test_value_dim_is_embed_dim_by_default():
    assert SelfAttention(5, key_dim=3)(torch.randn(7, 5)).shape == (7, 5)
    assert SelfAttention(5, key_dim=3, value_dim=2)(torch.randn(7, 5)).shape == (7, 2)
    assert SelfAttentionV2(5, 3)(torch.randn(7, 5)).shape == (7, 3)
    assert SelfAttentionV1(5, 3)(torch.randn(7, 5)).shape == (7, 3)


def test_layer_has_the_parameters_of_its_equation():
    counts = {name: sum(p.numel() for p in LAYERS[name]().parameters()) for name in LAYERS}
    assert counts == {
        "v1": 45,
        "v2": 45,
        "v2 with bias": 54,
        "qk": 30,
        "qk with bias": 36,
        "qkv": 55,
        "qkv narrow": 48,
        "qkv unscaled": 55,
    }


def test_v1_starts_uniform_and_v2_as_linear_does():
    start = torch.cat([w.flatten() for w in SelfAttentionV1(31, 29).parameters()])
    assert start.min() >= 0
    assert start.max() <= 1
    assert 0.45 < start.mean() < 0.55
    start = torch.cat([w.flatten() for w in SelfAttentionV2(31, 29).parameters()])
    assert start.abs().max() <= 31**-0.5
    assert start.std().item() == pytest.approx((31 * 3) ** -0.5, rel=0.05)


@every_layer
def test_layer_survives_copying_saving_and_modes(name, tmp_path):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    context = layer(x)
    other = LAYERS[name]()
    assert not torch.equal(other(x), context)
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    other.load_state_dict(torch.load(tmp_path / "layer.pt", weights_only=True))
    for twin in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), layer.eval()):
        assert torch.equal(twin(x), context)


@every_layer
def test_autocast(name):
    for dtype in (torch.bfloat16, torch.float16):
        for need_weights in (False, True):
            check_autocast(LAYERS[name](), dtype, need_weights)


def check_autocast(layer, dtype, need_weights):
    x = torch.randn(2, 7, 5)
    right = layer(x)
    mask = torch.ones(7, dtype=torch.bool)
    with torch.autocast("cpu", dtype=dtype):
        context = layer(x, mask, need_weights=need_weights)
    context = context[0] if need_weights else context
    torch.testing.assert_close(context.float(), right, rtol=0.1, atol=0.1)
    context.sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


# The others are made of the same parts.
@for_each(name=("v1", "qkv narrow"))
def test_compiles_into_one_graph(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([4, 0]), 7)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, mask), layer(x, mask))


WRONG_TOKENS = (
    ([[1.0] * 5], TypeError, ("list", "tensor")),
    (torch.zeros(7, 4), ValueError, ("(7, 4)", "(..., n, 5)")),
    (torch.zeros(5, 7), ValueError, ("(5, 7)", "(..., n, 5)")),
    (torch.zeros(5), ValueError, ("(5,)", "(..., n, 5)")),
    (torch.tensor(1.0), ValueError, ("()", "(..., n, 5)")),
    (torch.zeros(7, 5, dtype=torch.int64), TypeError, ("int64", "floating-point")),
    (torch.zeros(7, 5, dtype=torch.bool), TypeError, ("bool", "floating-point")),
    (torch.zeros(7, 5, dtype=torch.complex64), TypeError, ("complex64", "floating-point")),
    (torch.zeros(7, 5, dtype=torch.float64), TypeError, ("float64", "float32")),
    (torch.zeros(7, 5, dtype=torch.float16), TypeError, ("float16", "float32")),
    (torch.zeros(7, 5, device="meta"), ValueError, ("meta", "cpu")),
)
WRONG_MASKS = (
    ([True] * 7, TypeError, ("list", "tensor")),
    (torch.ones(7, 7, dtype=torch.complex64), TypeError, ("complex64", "boolean")),
    (torch.ones(7, 7, dtype=torch.int64), TypeError, ("int64", "boolean", "floating-point")),
    (torch.ones(2, 7, dtype=torch.bool), ValueError, ("(2, 7)", "(2, 7, 7)")),
    (torch.ones(3, 7, 7, dtype=torch.bool), ValueError, ("(3, 7, 7)", "(2, 7, 7)")),
    (torch.ones(1, 2, 7, 7, dtype=torch.bool), ValueError, ("(1, 2, 7, 7)", "(2, 7, 7)")),
    (torch.ones(3, 7, 7), ValueError, ("(3, 7, 7)", "(2, 7, 7)")),
    (torch.ones(7, 7, dtype=torch.bool, device="meta"), ValueError, ("meta", "cpu")),
)
SIZES = {
    "d_in of v1": ("d_in", lambda size: SelfAttentionV1(size, 3)),
    "d_out of v1": ("d_out", lambda size: SelfAttentionV1(5, size)),
    "d_in of v2": ("d_in", lambda size: SelfAttentionV2(size, 3)),
    "d_out of v2": ("d_out", lambda size: SelfAttentionV2(5, size)),
    "embed_dim of qk": ("embed_dim", lambda size: QKSelfAttention(size, key_dim=3)),
    "key_dim of qk": ("key_dim", lambda size: QKSelfAttention(5, key_dim=size)),
    "embed_dim of qkv": ("embed_dim", lambda size: SelfAttention(size, key_dim=3)),
    "key_dim of qkv": ("key_dim", lambda size: SelfAttention(5, key_dim=size)),
    "value_dim of qkv": (
        "value_dim",
        lambda size: SelfAttention(5, key_dim=3, value_dim=size),
    ),
}


def test_wrong_input_is_refused():
    assert not unexpected_errors(
        (f"{name}, {words}", functools.partial(build(), x), error, "x: expected", words)
        for name, build in LAYERS.items()
        for x, error, words in WRONG_TOKENS
    )


def test_wrong_masks_are_refused():
    x = torch.zeros(2, 7, 5)
    assert not unexpected_errors(
        (
            f"{name}, {words}, need_weights={need_weights}",
            functools.partial(build(), x, mask, need_weights=need_weights),
            error,
            "attn_mask: expected",
            words,
        )
        for name, build in LAYERS.items()
        for need_weights in (False, True)
        for mask, error, words in WRONG_MASKS
    )


def test_wrong_sizes_are_refused():
    for size in (0, -1, 2.0, "3", True):
        is_integer = isinstance(size, int) and not isinstance(size, bool)
        error, got = (ValueError, size) if is_integer else (TypeError, type(size).__name__)
        assert not unexpected_errors(
            (name, functools.partial(build, size), error, f"{argument}: expected", (f"got {got}",))
            for name, (argument, build) in SIZES.items()
        )


def test_wrong_scales_are_refused():
    for scale in ("half", torch.tensor(1.0)):
        with pytest.raises(TypeError, match="scale: expected a number"):
            SelfAttention(5, key_dim=3, scale=scale)(torch.zeros(7, 5))


def test_causal_attention_is_causal_by_default_and_keeps_its_scale():
    x = torch.randn(2, 7, 5)
    for scale in (None, 1.0, -0.3):
        layer = CausalSelfAttention(5, key_dim=3, scale=scale)
        free = SelfAttention(5, key_dim=3, scale=scale)
        free.load_state_dict(layer.state_dict())
        torch.testing.assert_close(layer(x), free(x, causal_mask(7)))
        torch.testing.assert_close(layer(x, is_causal=False), free(x))
        scores = layer.W_query(x) @ layer.W_key(x).mT * (3**-0.5 if scale is None else scale)
        weights = scores.masked_fill(~causal_mask(7), float("-inf")).softmax(-1)
        torch.testing.assert_close(layer(x, need_weights=True)[1], weights)

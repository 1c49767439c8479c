"""The self-attention layers against their own equations, written out in the tests."""

import copy
import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attention import (
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    causal_mask,
    padding_mask,
)

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
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
every_layer = pytest.mark.parametrize("name", LAYERS)


def projections(layer, x):
    """Multiply by the layer's matrices, and let a layer without values hand over its tokens."""
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
    scores = (*leading, n, n)
    kept = scores[draw(st.integers(0, len(scores))) :]
    return {
        "name": draw(st.sampled_from(list(LAYERS))),
        "leading": leading,
        "n": n,
        "dtype": draw(st.sampled_from(DTYPES)),
        "mask_shape": draw(st.none() | st.tuples(*(st.sampled_from((size, 1)) for size in kept))),
        "share": draw(st.sampled_from((0.0, 0.3, 0.8, 1.0))),
        "need_weights": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**16)),
    }


@given(case=cases())
def test_layer_is_its_equation_in_value_and_gradient(case):
    torch.manual_seed(case["seed"])
    dtype = case["dtype"]
    layer = LAYERS[case["name"]]().to(dtype)
    x = torch.randn(*case["leading"], case["n"], 5).to(dtype).requires_grad_()
    mask = None
    if case["mask_shape"] is not None:
        mask = torch.rand(case["mask_shape"]) < case["share"]
    context = layer(x, mask, need_weights=case["need_weights"])
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
    allowed = None if mask is None else mask.expand(*case["leading"], case["n"], case["n"])
    right = F.scaled_dot_product_attention(
        *projections(exact, x_exact), attn_mask=allowed, scale=getattr(layer, "scale", None)
    )
    right_grads = torch.autograd.grad(right, [x_exact, *exact.parameters()], upstream.double())

    copies = max(1, x.numel() // 5)  # how many numbers a parameter's gradient sums
    atol = 30 * torch.finfo(dtype).eps
    torch.testing.assert_close(context.double(), right, rtol=0.0, atol=atol)
    for grad, right_grad in zip(grads, right_grads, strict=True):
        torch.testing.assert_close(grad.double(), right_grad, rtol=0.0, atol=atol * copies)


@every_layer
def test_asking_for_weights_changes_nothing_else(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([7, 3]), 7) & causal_mask(7)
    context, weights = layer(x, mask, need_weights=True)
    torch.testing.assert_close(layer(x, mask), context)
    value = projections(layer, x)[2]
    torch.testing.assert_close(weights @ value, context)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 7))
    assert not weights[~mask.expand(2, 7, 7)].any()


@every_layer
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("need_weights", [False, True])
def test_blind_query_gives_zeros_and_passes_none_back(name, dtype, need_weights):
    layer = LAYERS[name]().to(dtype)
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
    turned = mask[order][:, order]
    torch.testing.assert_close(layer(x[:, order], turned), context[:, order])
    _, turned_weights = layer(x[:, order], turned, need_weights=True)
    torch.testing.assert_close(turned_weights, weights[:, order][:, :, order])


@every_layer
def test_texts_of_a_batch_are_strangers(name):
    # Sizes with batch = tokens = widths too, where a transposition of all axes would run.
    for layer, x in (
        (LAYERS[name](), torch.randn(2, 3, 7, 5)),
        (LAYERS[name](), torch.randn(5, 5, 5)),
    ):
        one_by_one = [layer(text) for text in x.flatten(0, -3)]
        torch.testing.assert_close(layer(x).flatten(0, -3), torch.stack(one_by_one))


def test_square_batch_is_right_where_the_seeds_is_wrong():
    layer, x = SelfAttentionV1(5, 5), torch.randn(5, 5, 5)
    keys, values, queries = x @ layer.W_key, x @ layer.W_value, x @ layer.W_query
    seeds = torch.softmax(queries @ keys.permute(2, 1, 0) / 5**0.5, dim=-1) @ values  # keys.T
    right = torch.stack(
        [
            torch.softmax(q @ k.T / 5**0.5, dim=-1) @ v
            for q, k, v in zip(queries, keys, values, strict=True)
        ]
    )
    torch.testing.assert_close(layer(x), right)
    torch.testing.assert_close(layer(x, need_weights=True)[0], right)
    assert (seeds - right).abs().max() > 0.1


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


def test_queries_and_keys_have_parts_of_their_own():
    layer, x = QKSelfAttention(5, key_dim=3), torch.randn(7, 5)
    _, weights = layer(x, need_weights=True)
    scores = (x @ layer.W_query.weight.T) @ (x @ layer.W_key.weight.T).T / 3**0.5
    torch.testing.assert_close(weights, scores.softmax(-1))
    assert not torch.allclose(weights, scores.T.softmax(-1), atol=1e-3)


def test_value_dim_is_embed_dim_unless_said():
    assert SelfAttention(5, key_dim=3)(torch.randn(7, 5)).shape == (7, 5)
    assert SelfAttention(5, key_dim=3, value_dim=2)(torch.randn(7, 5)).shape == (7, 2)
    assert SelfAttentionV2(5, 3)(torch.randn(7, 5)).shape == (7, 3)
    assert SelfAttentionV1(5, 3)(torch.randn(7, 5)).shape == (7, 3)


@pytest.mark.parametrize(
    ("name", "count"),
    [("v1", 45), ("v2", 45), ("v2 with bias", 54), ("qk", 30), ("qk with bias", 36), ("qkv", 55),
     ("qkv narrow", 48)],
)  # fmt: skip
def test_layer_has_the_parameters_of_its_equation(name, count):
    assert sum(p.numel() for p in LAYERS[name]().parameters()) == count


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
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("need_weights", [False, True])
def test_autocast(name, dtype, need_weights):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    right = layer(x)
    mask = torch.ones(7, dtype=torch.bool)
    with torch.autocast("cpu", dtype=dtype):
        context = layer(x, mask, need_weights=need_weights)
    context = context[0] if need_weights else context
    torch.testing.assert_close(context.float(), right, rtol=0.1, atol=0.1)
    context.sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@pytest.mark.parametrize("name", ["v1", "qkv narrow"])  # the others are made of the same parts
def test_compiles_into_one_graph(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 5)
    mask = padding_mask(torch.tensor([4, 0]), 7)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, mask), layer(x, mask))


@every_layer
@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
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
    ],
)  # fmt: skip
def test_bad_tokens_are_named(name, x, error, words):
    with pytest.raises(error) as caught:
        LAYERS[name]()(x)
    assert str(caught.value).startswith("x: expected")
    for word in words:
        assert word in str(caught.value)


@every_layer
@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    ("mask", "error", "words"),
    [
        ([True] * 7, TypeError, ("list", "tensor")),
        (torch.ones(7, 7), TypeError, ("float32", "boolean")),
        (torch.ones(7, 7, dtype=torch.int64), TypeError, ("int64", "boolean")),
        (torch.ones(2, 7, dtype=torch.bool), ValueError, ("(2, 7)", "(2, 7, 7)")),
        (torch.ones(3, 7, 7, dtype=torch.bool), ValueError, ("(3, 7, 7)", "(2, 7, 7)")),
        (torch.ones(1, 2, 7, 7, dtype=torch.bool), ValueError, ("(1, 2, 7, 7)", "(2, 7, 7)")),
        (torch.ones(7, 7, dtype=torch.bool, device="meta"), ValueError, ("meta", "cpu")),
    ],
)
def test_bad_masks_are_named(name, need_weights, mask, error, words):
    with pytest.raises(error) as caught:
        LAYERS[name]()(torch.zeros(2, 7, 5), mask, need_weights=need_weights)
    assert str(caught.value).startswith("attn_mask: expected")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("size", [0, -1, 2.0, "3", True])
@pytest.mark.parametrize(
    ("argument", "build"),
    [
        ("d_in", lambda size: SelfAttentionV1(size, 3)),
        ("d_out", lambda size: SelfAttentionV1(5, size)),
        ("d_in", lambda size: SelfAttentionV2(size, 3)),
        ("d_out", lambda size: SelfAttentionV2(5, size)),
        ("embed_dim", lambda size: QKSelfAttention(size, key_dim=3)),
        ("key_dim", lambda size: QKSelfAttention(5, key_dim=size)),
        ("embed_dim", lambda size: SelfAttention(size, key_dim=3)),
        ("key_dim", lambda size: SelfAttention(5, key_dim=size)),
        ("value_dim", lambda size: SelfAttention(5, key_dim=3, value_dim=size)),
    ],
)
def test_bad_sizes_are_named(argument, build, size):
    whole = isinstance(size, int) and not isinstance(size, bool)
    with pytest.raises(ValueError if whole else TypeError) as caught:
        build(size)
    assert str(caught.value).startswith(f"{argument}: expected")
    assert str(caught.value).endswith(f"got {size if whole else type(size).__name__}")


@pytest.mark.parametrize("scale", ["half", torch.tensor(1.0)])
def test_bad_scale_is_named(scale):
    with pytest.raises(TypeError, match="scale: expected a number"):
        SelfAttention(5, key_dim=3, scale=scale)(torch.zeros(7, 5))

"""The core and every layer against two oracles, over thousands of generated cases."""

import math

import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from loops import for_each
from oracles import (
    DTYPES,
    LAYOUTS,
    allowed_by,
    cases,
    check_against_oracles,
    draw_mask,
    largest,
    lay_out,
    made_causal,
    mask_values,
    reference,
    shapes_within,
    spelled,
    torchs,
)
from torch import nn

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
    fused_attention,
    scaled_dot_product_attention,
)

CASES = 2_000
many = settings(max_examples=CASES)


@many
@given(case=cases())
def test_formula_over_2000_cases(case):
    check_against_oracles(spelled, case)


@many
@given(case=cases())
def test_fused_over_2000_cases(case):
    check_against_oracles(fused_attention, case)


# Each layer for a width d of tokens. Widths inside are primes that d is not.
LAYERS = {
    "v1": lambda d: SelfAttentionV1(d, 5),
    "v2": lambda d: SelfAttentionV2(d, 5, qkv_bias=True),
    "qk": lambda d: QKSelfAttention(d, key_dim=5, bias=True),
    "qk unscaled": lambda d: QKSelfAttention(d, key_dim=3, scale=1.0),
    "qkv": lambda d: SelfAttention(d, key_dim=3, value_dim=7, bias=True),
    "causal": lambda d: CausalSelfAttention(d, key_dim=3, value_dim=5),
    "heads": lambda d: MultiHeadAttention(2 * d, num_heads=2, bias=True),
    "causal heads": lambda d: MultiHeadAttention(3 * d, num_heads=3),
    "grouped heads": lambda d: MultiHeadAttention(2 * d, 4, num_kv_heads=2, head_dim=3),
    "mean": MeanPooling,
    "energy": EnergyPooling,
    "keys": lambda d: KeyedPooling(d, key_dim=3),
}
POOLINGS = ("mean", "energy", "keys")


def options_of(kind):
    return {"is_causal": True} if kind == "causal heads" else {}


def project(layer, name, x):
    """Multiply by one of a layer's matrices, a linear layer's or a bare one."""
    matrix = getattr(layer, name)
    if isinstance(matrix, nn.Linear):
        product = x @ matrix.weight.T
        return product if matrix.bias is None else product + matrix.bias
    return x @ matrix


def written_out(kind, layer, x, mask, attend):
    """Compute a layer's equation, head by head, with an oracle in place of our attention."""
    *leading, n, d = x.shape
    if kind in POOLINGS:
        whole = torch.ones(1, n, dtype=torch.bool) if mask is None else mask
        keys = {"mean": torch.zeros_like(x), "energy": x}.get(kind)
        keys = project(layer, "W_key", x) if keys is None else keys
        query = {"mean": x.new_zeros(d), "energy": getattr(layer, "energy", None)}.get(kind)
        query = layer.query if kind == "keys" else getattr(query, "weight", query)
        query = query.reshape(-1, keys.shape[-1]).expand(*leading, 1, keys.shape[-1])
        return attend(query, keys, x, whole, 1.0).squeeze(-2)
    whole = torch.ones(n, n, dtype=torch.bool) if mask is None else mask
    if kind.startswith("causal"):
        whole = made_causal(mask, n, n)
    query, key = project(layer, "W_query", x), project(layer, "W_key", x)
    value = x if kind.startswith("qk") and kind != "qkv" else project(layer, "W_value", x)
    if not kind.endswith("heads"):
        scale = getattr(layer, "scale", None) or query.shape[-1] ** -0.5
        return attend(query, key, value, whole, scale)
    k, group = layer.head_dim, layer.num_heads // layer.num_kv_heads
    columns = [slice(i * k, (i + 1) * k) for i in range(layer.num_heads)]
    heads = [
        attend(
            query[..., columns[i]],
            key[..., columns[i // group]],
            value[..., columns[i // group]],
            whole,
            k**-0.5,
        )
        for i in range(layer.num_heads)
    ]
    context = project(layer, "W_out", torch.cat(heads, -1))
    return context * allowed_by(whole).any(-1, keepdim=True)


@st.composite
def layer_cases(draw):
    kind = draw(st.sampled_from(sorted(LAYERS)))
    leading = tuple(draw(st.lists(st.sampled_from((2, 3, 1, 0)), max_size=2)))
    n = draw(st.sampled_from((7, 5, 1, 0)))
    rows = 1 if kind in POOLINGS else n
    dtype = draw(st.sampled_from(DTYPES))
    return {
        "kind": kind,
        "leading": leading,
        "n": n,
        "d": draw(st.sampled_from((2, 11, 1))),
        "layout": draw(st.sampled_from(LAYOUTS)),
        "dtype": dtype,
        "size": draw(st.sampled_from((1.0, 0.01, 30.0))),
        "mask_shape": draw(st.none() | shapes_within((*leading, rows, n))),
        "need_weights": draw(st.booleans()),
        "seed": draw(st.integers(0, 2**16)),
    } | draw(mask_values(dtype))


def results(call, layer, leaf, view, dtype, upstream):
    """Return the context and the gradients of the tokens and of all parameters."""
    layer = layer.to(dtype)
    leaf = leaf.to(dtype, copy=True).requires_grad_()
    context = call(layer, view(leaf))
    leaves = [leaf, *layer.parameters()]
    grads = torch.autograd.grad(context, leaves, upstream.to(dtype), allow_unused=True)
    grads = [torch.zeros_like(t) if g is None else g for t, g in zip(leaves, grads, strict=True)]
    return [context.detach().double(), *(grad.double() for grad in grads)]


@many
@given(case=layer_cases())
def test_every_layer_over_2000_cases(case):
    kind, dtype = case["kind"], case["dtype"]
    torch.manual_seed(case["seed"])
    layer = LAYERS[kind](case["d"]).to(dtype)
    width = getattr(layer, "embed_dim", case["d"])
    leaf, view = lay_out(
        (*case["leading"], case["n"], width), case["layout"], dtype, torch.default_generator
    )
    leaf = leaf * case["size"]
    mask = draw_mask(case)
    is_added = mask is not None and mask.is_floating_point()
    tops = [case["mask_size"] if is_added else 0.0]

    def ours(layer, x):
        result = layer(x, mask, need_weights=case["need_weights"], **options_of(kind))
        return result[0] if case["need_weights"] else result

    def exactly(layer, x):
        def attend(query, key, value, mask, scale):
            tops.append(largest((query @ key.transpose(-2, -1) * scale).detach()))
            leading = torch.broadcast_shapes(query.shape[:-2], value.shape[:-2])
            context = reference(query, key, value, mask, scale)[0]
            return context.expand(*leading, *context.shape[-2:])

        return written_out(kind, layer, x, mask.double() if is_added else mask, attend)

    def theirs(layer, x):
        return written_out(
            kind, layer, x, mask, lambda q, k, v, m, scale: torchs(q, k, v, m, scale=scale)
        )

    shape = ours(layer, view(leaf)).shape
    upstream = torch.randn(shape).to(dtype)
    result = results(ours, layer, leaf, view, dtype, upstream)
    other = results(theirs, layer, leaf, view, dtype, upstream)
    exact = results(exactly, layer.double(), leaf, view, torch.float64, upstream)
    assume(max(map(largest, exact)) < torch.finfo(dtype).max / 8)  # else 16 bits can't hold it
    # Rounding: queries and keys are rounded to the dtype, and scores as large as the top one
    # carry that into the weights.
    top = max(tops)
    magnitude = max((largest(t) for t in exact), default=0.0) + 1
    tolerance = 64 * torch.finfo(dtype).eps * (1 + top) * magnitude
    for name, our, their, right in zip(
        ("context", "x", *(name for name, _ in layer.named_parameters())),
        result,
        other,
        exact,
        strict=True,
    ):
        assert our.isfinite().all(), name
        for oracle, answer in (("float64", right), ("torch", their)):
            if our.numel():
                assert float((our - answer).abs().max()) <= tolerance, (name, oracle)
            assert our.shape == answer.shape


@for_each(kind=LAYERS, masked=(False, True))
def test_gradcheck_of_every_layer(kind, masked):
    layer = LAYERS[kind](3).double()
    width = getattr(layer, "embed_dim", 3)
    x = torch.randn(2, 5, width, dtype=torch.float64, requires_grad=True)
    mask = None
    if masked:
        mask = torch.rand(2, 1 if kind in POOLINGS else 5, 5) < 0.6
        mask[0, 0] = False  # a query that may attend to nothing
    names, values = zip(*layer.named_parameters(), strict=True) if kind != "mean" else ((), ())

    def call(x, *values):
        parameters = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, parameters, (x, mask), options_of(kind))

    assert torch.autograd.gradcheck(call, (x, *values))


@for_each(kind=("qkv", "causal heads", "energy"))
def test_compiled_layers_are_the_plain_ones(kind):
    # aot_eager traces forward and backward as the full compiler does, and needs none for C++.
    layer = LAYERS[kind](3)
    x = torch.randn(2, 5, getattr(layer, "embed_dim", 3), requires_grad=True)
    mask = torch.arange(5) < torch.tensor([5, 0])[:, None, None]  # (2, 1, 5), one text is empty
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for need_weights in (False, True):
        options = options_of(kind) | {"need_weights": need_weights}
        plain, fast = (call(x, mask, **options) for call in (layer, compiled))
        if need_weights:
            torch.testing.assert_close(fast[1], plain[1])
            plain, fast = plain[0], fast[0]
        torch.testing.assert_close(fast, plain)
        grads = [torch.autograd.grad(context.sum(), x)[0] for context in (plain, fast)]
        torch.testing.assert_close(*grads)


def finite(scale):
    return st.floats(-scale, scale, width=32)


@many
@given(
    numbers=st.lists(finite(1e4), min_size=1, max_size=40),
    added=st.none() | finite(1e4),
    n=st.sampled_from((7, 1)),
    m=st.sampled_from((7, 1, 0)),
    allowed=st.lists(st.booleans(), min_size=1, max_size=35),
    is_causal=st.booleans(),
)
def test_finite_numbers_never_make_nan(numbers, added, n, m, allowed, is_causal):
    def fill(*shape):
        count = math.prod(shape)
        cycle = torch.tensor(numbers * (count // len(numbers) + 1))[:count]
        return cycle.reshape(shape).requires_grad_()

    is_causal = is_causal and n == m
    mask = torch.tensor(allowed * (n * m + 1))[: n * m].reshape(n, m)
    if added is not None:
        mask = torch.full((n, m), added).masked_fill(~mask, -math.inf)
    tensors = fill(n, 3), fill(m, 3), fill(m, 2)
    for attend in (spelled, fused_attention):
        context = attend(*tensors, mask, is_causal=is_causal)
        assert context.isfinite().all()
        for grad in torch.autograd.grad(context.sum(), tensors):
            assert grad.isfinite().all()
    _, weights = scaled_dot_product_attention(*tensors, mask, is_causal=is_causal)
    assert (weights >= 0).all()

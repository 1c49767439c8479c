"""Causal and multi-head attention against torch's module, its kernel and loops over the heads."""

import copy
import functools
import itertools
import math

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import allowed_by, draw_mask, made_causal, mask_values
from torch import nn

from attention import (
    CausalSelfAttention,
    MultiHeadAttention,
    SelfAttention,
    causal_mask,
    functional,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
)

LAYERS = {
    "causal": lambda **more: CausalSelfAttention(10, key_dim=3, **more),
    "causal narrow": lambda **more: CausalSelfAttention(
        10, key_dim=3, value_dim=2, bias=True, **more
    ),
    "heads": lambda **more: MultiHeadAttention(10, 5, **more),
    "heads with bias": lambda **more: MultiHeadAttention(10, 2, bias=True, **more),
}
every_layer = for_each(name=LAYERS)


def causally(layer, x, mask=None, **more):
    """Call the layer so that it is causal, whichever it is: one class is by default."""
    more |= {} if isinstance(layer, CausalSelfAttention) else {"is_causal": True}
    return layer(x, mask, **more)


def torch_module(layer):
    """Put the layer's weights into torch's module, whose dropout and training mode are its own."""
    bias = layer.W_out.bias is not None
    theirs = nn.MultiheadAttention(layer.embed_dim, layer.num_heads, bias=bias, batch_first=True)
    projections = (layer.W_query, layer.W_key, layer.W_value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.out_proj.weight.copy_(layer.W_out.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
            theirs.out_proj.bias.copy_(layer.W_out.bias)
    return theirs.to(layer.W_out.weight.dtype)


@given(
    heads=st.sampled_from((1, 2, 3, 6)),
    bias=st.booleans(),
    is_causal=st.booleans(),
    padded=st.booleans(),
    need_weights=st.booleans(),
    training=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_heads_are_torchs_in_value_and_gradient(
    heads, bias, is_causal, padded, need_weights, training, seed
):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(6, heads, bias=bias).double().train(training)
    theirs = torch_module(layer).train(training)
    x = torch.randn(5, 7, 6, dtype=torch.float64, requires_grad=True)
    lengths = torch.randint(1, 8, (5,)) if padded else torch.full((5,), 7)
    mask = padding_mask(lengths, 7) if padded else None
    # In torch's module True forbids.
    right, right_weights = theirs(
        x,
        x,
        x,
        key_padding_mask=~mask[:, 0] if padded else None,
        attn_mask=~causal_mask(7) if is_causal else None,
        average_attn_weights=False,
    )
    context = layer(x, mask, is_causal=is_causal, need_weights=need_weights)
    if need_weights:
        context, weights = context
        torch.testing.assert_close(weights, right_weights)
    torch.testing.assert_close(context, right)

    upstream = torch.randn_like(right)
    check_gradients(layer, theirs, context, right, [x], upstream)


def check_gradients(layer, theirs, context, right, inputs, upstream):
    """Compare the gradients of the inputs and of all weights, which torch keeps stacked."""
    names = ["W_query", "W_key", "W_value", "W_out"]
    has_bias = layer.W_out.bias is not None
    kinds = ["weight", "bias"] if has_bias else ["weight"]
    ours = [getattr(getattr(layer, name), kind) for kind in kinds for name in names]
    grads = torch.autograd.grad(context, [*inputs, *ours], upstream)
    parts = [theirs.in_proj_weight, theirs.out_proj.weight]
    parts += [theirs.in_proj_bias, theirs.out_proj.bias] if has_bias else []
    torch_grads = torch.autograd.grad(right, [*inputs, *parts], upstream)
    right_grads = [*torch_grads[: len(inputs)]]
    part_grads = torch_grads[len(inputs) :]
    for projected, out in zip(part_grads[::2], part_grads[1::2], strict=True):
        right_grads += [*projected.chunk(3), out]
    for grad, right_grad in zip(grads, right_grads, strict=True):
        torch.testing.assert_close(grad, right_grad)


@given(
    heads=st.sampled_from((1, 2, 3)),
    bias=st.booleans(),
    is_causal=st.booleans(),
    need_weights=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_added_mask_is_torchs_in_value_and_gradient(heads, bias, is_causal, need_weights, seed):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(6, heads, bias=bias).double()
    theirs = torch_module(layer)
    x = torch.randn(5, 7, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.randn(7, 7, dtype=torch.float64)
    # The diagonal stays: torch's module gives NaN to a query that may attend to nothing.
    mask = mask.masked_fill((torch.rand(7, 7) < 0.3) & ~torch.eye(7, dtype=torch.bool), -math.inf)
    mask = mask.requires_grad_()
    right, right_weights = theirs(
        x,
        x,
        x,
        attn_mask=made_causal(mask, 7, 7) if is_causal else mask,
        average_attn_weights=False,
    )
    context = layer(x, mask, is_causal=is_causal, need_weights=need_weights)
    if need_weights:
        context, weights = context
        torch.testing.assert_close(weights, right_weights)
    torch.testing.assert_close(context, right)
    check_gradients(layer, theirs, context, right, [x, mask], torch.randn_like(right))


@for_each(leading=((), (3,), (2, 3), (0,)))
def test_heads_are_a_loop_over_columns(leading):
    layer, x = MultiHeadAttention(10, 5), torch.randn(*leading, 7, 10)
    mask = torch.rand(*leading, 7, 7) < 0.7
    heads = []
    for i in range(5):
        columns = slice(2 * i, 2 * i + 2)
        q, k, v = (
            x @ projection.weight[columns].T
            for projection in (layer.W_query, layer.W_key, layer.W_value)
        )
        heads.append(scaled_dot_product_attention(q, k, v, mask))
    right = torch.cat([head for head, _ in heads], dim=-1) @ layer.W_out.weight.T
    context, weights = layer(x, mask, need_weights=True)
    torch.testing.assert_close(context, right)
    torch.testing.assert_close(weights, torch.stack([w for _, w in heads], dim=-3))
    assert layer.head_dim == 2


@given(
    name=st.sampled_from(list(LAYERS)),
    leading=st.lists(st.sampled_from((2, 3, 1, 0)), max_size=2),
    n=st.sampled_from((7, 11, 1, 0)),
    mask_shape=st.sampled_from((None, "n", "1n", "nn", "n1", "11", "all")),
    values=mask_values(torch.float32),
    seed=st.integers(0, 2**16),
)
def test_fused_is_spelled_in_value_and_gradient(name, leading, n, mask_shape, values, seed):
    torch.manual_seed(seed)
    layer, x = LAYERS[name](), torch.randn(*leading, n, 10, requires_grad=True)
    shapes = {"n": (n,), "1n": (1, n), "nn": (n, n), "n1": (n, 1), "11": (1, 1)}
    shape = shapes.get(mask_shape, (*leading, n, n))
    mask = draw_mask({"mask_shape": None if mask_shape is None else shape, **values})
    fused = causally(layer, x, mask)
    spelled, weights = causally(layer, x, mask, need_weights=True)
    torch.testing.assert_close(fused, spelled)
    assert not weights.masked_select(~causal_mask(n)).any()
    if mask is not None:
        per_token = allowed_by(mask).expand(*leading, n, n)
        per_head = per_token.unsqueeze(-3) if isinstance(layer, MultiHeadAttention) else per_token
        assert not weights.masked_select(~per_head).any()
    upstream, inputs = torch.randn_like(fused), [x, *layer.parameters()]
    for grad, right in zip(
        torch.autograd.grad(fused, inputs, upstream),
        torch.autograd.grad(spelled, inputs, upstream),
        strict=True,
    ):
        torch.testing.assert_close(grad, right, rtol=1e-4, atol=1e-4)


def test_causal_is_self_attention_under_the_causal_mask():
    causal = CausalSelfAttention(5, key_dim=3, value_dim=2, bias=True)
    free, x = SelfAttention(5, key_dim=3, value_dim=2, bias=True), torch.randn(2, 7, 5)
    free.load_state_dict(causal.state_dict())
    torch.testing.assert_close(causal(x), free(x, causal_mask(7)))
    padding = padding_mask(torch.tensor([4, 7]), 7)
    torch.testing.assert_close(causal(x, padding), free(x, padding & causal_mask(7)))
    torch.testing.assert_close(
        causal(x)[0, 0], causal.W_value(x)[0, 0]
    )  # it attends to itself alone


@for_each(name=LAYERS, need_weights=(False, True))
def test_no_context_depends_on_a_later_token(name, need_weights):
    def contexts(x):
        context = causally(layer, x, need_weights=need_weights)
        return context[0] if need_weights else context

    layer, x = LAYERS[name](), torch.randn(2, 7, 10)
    before = contexts(x)
    for j in range(7):
        changed = x.clone()
        changed[:, j] += torch.randn(2, 10)
        after = contexts(changed)
        assert torch.equal(after[:, :j], before[:, :j])
        assert ((after - before)[:, j:].abs().amax(-1) > 1e-4).all()
        torch.testing.assert_close(contexts(x[:, : j + 1]), before[:, : j + 1])


def test_heads_are_not_causal_by_default():
    layer, x = MultiHeadAttention(10, 5), torch.randn(7, 10)
    changed = x.clone()
    changed[6] += 1
    assert ((layer(changed) - layer(x)).abs().amax(-1) > 1e-5).all()


@for_each(name=LAYERS, need_weights=(False, True))
def test_fully_masked_query_gets_zeros_and_passes_no_gradient(name, need_weights):
    layer = LAYERS[name]()
    x = torch.randn(2, 7, 10, requires_grad=True)
    mask = torch.rand(2, 7, 7) < 0.7
    mask[0] |= torch.eye(7, dtype=torch.bool)
    mask[0, 3] = False
    mask[1] = False
    context = causally(layer, x, mask, need_weights=need_weights)
    context = context[0] if need_weights else context
    assert not context[0, 3].any()
    assert not context[1].any()
    assert context[0, [0, 1, 2, 4, 5, 6]].any(-1).all()
    masked_grads = torch.autograd.grad(
        context[0, 3].sum() + context[1].sum(), [x, *layer.parameters()], retain_graph=True
    )
    assert not any(grad.any() for grad in masked_grads)
    context.sum().backward()
    assert not x.grad[1].any()
    for tensor in (x, *layer.parameters()):
        assert tensor.grad.isfinite().all()


def test_a_mask_and_causality_together_may_forbid_every_key():
    layer, x = MultiHeadAttention(10, 5, bias=True), torch.randn(7, 10)
    later = ~causal_mask(7)  # allows just what causality forbids
    assert not layer(x, later, is_causal=True).any()
    assert not layer(x, later)[6].any()
    assert layer(x, later)[:6].any(-1).all()


@for_each(name=LAYERS, need_weights=(False, True))
def test_dropout_acts_in_training_alone(name, need_weights):
    layer, x = LAYERS[name](dropout=0.5), torch.randn(2, 7, 10)
    whole = LAYERS[name]()
    whole.load_state_dict(layer.state_dict())

    def context(layer):
        result = causally(layer, x, need_weights=need_weights)
        return result[0] if need_weights else result

    torch.manual_seed(3)
    first, other = context(layer), context(layer)
    torch.manual_seed(3)
    assert torch.equal(context(layer), first)
    assert not torch.allclose(first, other, atol=1e-3)
    layer.eval()
    assert torch.equal(context(layer), context(whole))
    assert torch.equal(context(layer), context(layer))


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


@every_layer
def test_padding_never_changes_a_context(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 10)
    mask = padding_mask(torch.tensor([4, 7]), 7)
    before = causally(layer, x, mask)
    x[0, 4:] = 1e4
    assert torch.equal(causally(layer, x, mask)[0, :4], before[0, :4])


def test_batch_heads_and_tokens_of_one_size_are_not_confused():
    layer, x = MultiHeadAttention(25, 5), torch.randn(5, 5, 25)
    lengths = torch.tensor([1, 2, 3, 4, 5])
    batch = layer(x, padding_mask(lengths, 5))
    for text, expected, length in zip(x, batch, lengths, strict=True):
        torch.testing.assert_close(layer(text, padding_mask(length, 5)), expected)


def test_parameters_do_not_depend_on_the_heads():
    for heads in (1, 2, 5, 10):
        with_bias = MultiHeadAttention(10, heads, bias=True).parameters()
        assert sum(p.numel() for p in with_bias) == 4 * (10 * 10 + 10), heads
        assert sum(p.numel() for p in MultiHeadAttention(10, heads).parameters()) == 400, heads


def test_one_head_is_self_attention_before_the_last_matrix():
    heads, one, x = MultiHeadAttention(5, 1), SelfAttention(5, key_dim=5), torch.randn(2, 7, 5)
    one.load_state_dict({k: v for k, v in heads.state_dict().items() if "out" not in k})
    torch.testing.assert_close(heads(x), heads.W_out(one(x)))


@every_layer
def test_autocast(name):
    for dtype in (torch.bfloat16, torch.float16):
        for need_weights in (False, True):
            check_autocast(LAYERS[name](dropout=0.3), dtype, need_weights)


def check_autocast(layer, dtype, need_weights):
    x = torch.randn(2, 7, 10)
    right = causally(layer.eval(), x)
    with torch.autocast("cpu", dtype=dtype):
        context = causally(layer, x, need_weights=need_weights)
    context = context[0] if need_weights else context
    torch.testing.assert_close(context.float(), right, rtol=0.1, atol=0.1)
    context.sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


@for_each(name=("causal narrow", "heads with bias"))
def test_compiles_into_one_graph(name):
    layer, x = LAYERS[name](), torch.randn(2, 7, 10)
    mask = padding_mask(torch.tensor([4, 0]), 7)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, mask), layer(x, mask))


@every_layer
def test_layer_survives_copying_and_saving(name, tmp_path):
    layer, x = LAYERS[name](), torch.randn(2, 7, 10)
    other = LAYERS[name]()
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    other.load_state_dict(torch.load(tmp_path / "layer.pt", weights_only=True))
    for twin in (other, copy.deepcopy(layer)):
        assert torch.equal(twin(x), layer(x))


@for_each(num_heads=(1, 5))
def test_causality_alone_builds_no_mask(num_heads, monkeypatch):
    layer, x = (
        MultiHeadAttention(10, num_heads, bias=True),
        torch.randn(3, 7, 10, requires_grad=True),
    )
    masked = layer(x, causal_mask(7))
    upstream, inputs = torch.randn_like(masked), [x, *layer.parameters()]
    right = torch.autograd.grad(masked, inputs, upstream)

    def refuse(*args, **kwargs):
        raise AssertionError("an (n, n) mask was built, which the kernel does not need")

    kernel, masks = functional.F.scaled_dot_product_attention, []

    def recorded(query, key, value, attn_mask=None, *more, **options):
        masks.append(attn_mask)
        return kernel(query, key, value, attn_mask, *more, **options)

    monkeypatch.setattr(functional, "causal_mask", refuse)
    monkeypatch.setattr(functional.F, "scaled_dot_product_attention", recorded)
    context = layer(x, is_causal=True, need_weights=False)
    assert masks == [None]
    torch.testing.assert_close(context, masked)
    torch.testing.assert_close(torch.autograd.grad(context, inputs, upstream), right)


def test_wrong_input_is_refused():
    cases = [
        ([[1.0] * 10], None, TypeError, "x:", ("list", "tensor")),
        (torch.zeros(7, 9), None, ValueError, "x:", ("(7, 9)", "(..., n, 10)")),
        (torch.zeros(10), None, ValueError, "x:", ("(10,)", "(..., n, 10)")),
        (torch.zeros(7, 10).long(), None, TypeError, "x:", ("int64", "floating-point")),
        (torch.zeros(7, 10).double(), None, TypeError, "x:", ("float64", "float32")),
        (None, [True] * 7, TypeError, "attn_mask:", ("list", "tensor")),
        (None, torch.ones(7, 7).int(), TypeError, "attn_mask:", ("int32", "boolean")),
        (None, torch.ones(2, 7) > 0, ValueError, "attn_mask:", ("(2, 7)", "(2, 7, 7)")),
        (None, torch.ones(5, 7, 7) > 0, ValueError, "attn_mask:", ("(5, 7, 7)", "(2, 7, 7)")),
        (None, torch.ones(2, 1, 7, 7) > 0, ValueError, "attn_mask:", ("(2, 1, 7, 7)",)),
        (None, torch.ones(5, 7, 7), ValueError, "attn_mask:", ("(5, 7, 7)", "(2, 7, 7)")),
    ]
    assert not unexpected_errors(
        (
            f"{name}, {words}",
            functools.partial(build(), torch.zeros(2, 7, 10) if x is None else x, mask),
            error,
            f"{argument} expected",
            words,
        )
        for name, build in LAYERS.items()
        for x, mask, error, argument, words in cases
    )


def test_wrong_sizes_are_refused():
    def heads(embed_dim, num_heads):
        return lambda: MultiHeadAttention(embed_dim, num_heads)

    def causal(embed_dim, key_dim):
        return lambda: CausalSelfAttention(embed_dim, key_dim=key_dim)

    divisor = "num_heads: expected a divisor of embed_dim = 10, got "
    assert not unexpected_errors(
        (start, call, error, start, ())
        for call, error, start in (
            (heads(10, 3), ValueError, divisor + "3"),
            (heads(10, 20), ValueError, divisor + "20"),
            (heads(10, 0), ValueError, "num_heads: expected at least 1, got 0"),
            (heads(10, 2.0), TypeError, "num_heads: expected an integer"),
            (heads(0, 1), ValueError, "embed_dim: expected at least 1"),
            (causal(0, 3), ValueError, "embed_dim: expected at least 1"),
            (causal(5, 0), ValueError, "key_dim: expected at least 1"),
        )
    )


def test_wrong_dropout_is_refused():
    qkv = torch.ones(3, 7, 5)
    calls = {
        "heads": ("dropout", lambda p: MultiHeadAttention(10, 2, dropout=p)),
        "causal": ("dropout", lambda p: CausalSelfAttention(10, key_dim=3, dropout=p)),
        "formula": ("dropout_p", lambda p: scaled_dot_product_attention(*qkv, dropout_p=p)),
        "fused": ("dropout_p", lambda p: fused_attention(*qkv, dropout_p=p)),
    }
    chances = (
        (-0.1, ValueError, "at least 0 and less than 1, got -0.1"),
        (1.0, ValueError, "at least 0 and less than 1, got 1.0"),
        (math.nan, ValueError, "a finite number, got nan"),
        ("half", TypeError, "a number, got str"),
        (True, TypeError, "a number, got bool"),
    )
    assert not unexpected_errors(
        (
            f"{name}, {chance}",
            functools.partial(call, chance),
            error,
            f"{argument}: expected ",
            (words,),
        )
        for (name, (argument, call)), (chance, error, words) in itertools.product(
            calls.items(), chances
        )
    )

"""What every layer keeps to, under all pairs of its options.

A layer's options are read from its constructor. One that is new needs values in ``VALUES``, and a
new layer an equation in ``layer_oracle``; without them these tests fail.
"""

import copy
import functools
import inspect
import itertools
import json
import math
import pickle
from fractions import Fraction

import layer_oracle
import numpy as np
import pytest
import torch
from loops import for_each
from torch import nn
from wrapped import wrap

from attention import (
    AttentionLayer,
    CausalSelfAttention,
    KVCache,
    MultiHeadAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    SentimentClassifier,
    SinusoidalPositions,
    TransformerBlock,
    TransformerEncoder,
    causal_mask,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
)
from attention.layers.pooling import Pooling
from attention.layers.positions import positions_from_end
from attention.layers.self_attention import OneHead
from attention.layers.variants import VARIANTS
from attention.rotary import apply_rotary
from attention.sentiment.config import ModelConfig

D = 8
VALUES = {
    "d_out": (3, 8),
    "qkv_bias": (False, True),
    "key_dim": (3, 8),
    "value_dim": (None, 2),
    "bias": (False, True),
    "scale": (None, 0.7, -0.3),
    "num_heads": (2, 4),
    "num_kv_heads": (None, 1, 2),
    "head_dim": (None, 6),
    "rotary": (False, True),
    "window": (None, 1, 3),
    "latent_dim": (None, 3),
    "rotary_dim": (0, 2),
    "num_layers": (1, 2),
    "hidden_dim": (None, 5),
    "norm_first": (True, False),
    "activation": ("gelu", "relu"),
    "eps": (1e-5, 0.3),
}
WIDTHS = ("embed_dim", "d_in")
LESSONS = (SelfAttentionV1, SelfAttentionV2, CausalSelfAttention, TransformerBlock)
LAYERS = {each.__name__: each for each in (*(v.layer for v in VARIANTS.values()), *LESSONS)}


PASSES_ON_TO = {TransformerEncoder: TransformerBlock, TransformerBlock: MultiHeadAttention}


def parameters_of(layer):
    """List the arguments of a layer, and of what it passes its options on to."""
    names = list(inspect.signature(layer).parameters)
    if "options" in names:
        names.remove("options")
        names += [each for each in parameters_of(PASSES_ON_TO[layer]) if each not in names]
    return names


def takes(layer):
    passed_on = takes(PASSES_ON_TO[layer]) if layer in PASSES_ON_TO else set()
    return {*inspect.signature(layer.forward).parameters, *passed_on}


def options_of(layer):
    """Give the values of each option, except dropout, which makes results random."""
    names = [name for name in parameters_of(layer) if name not in (*WIDTHS, "dropout")]
    return {name: VALUES[name] for name in names}


def all_pairs(values):
    """Choose options so that every pair of values of two options occurs together."""
    wholes = [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]

    def pairs(whole):
        return set(itertools.combinations(whole.items(), min(2, len(whole))))

    left, chosen = set().union(*map(pairs, wholes)), []
    while left or not chosen:
        chosen.append(max(wholes, key=lambda whole: len(pairs(whole) & left)))
        left -= pairs(chosen[-1])
    return chosen


class Case:
    def __init__(self, name, options):
        self.name, self.options = name, options
        self.kind = LAYERS[name]
        self.pools = issubclass(self.kind, Pooling)
        self.takes = takes(self.kind)

    def __str__(self):
        return f"{self.name}({', '.join(f'{k}={v}' for k, v in self.options.items())})"

    def build(self, dtype=torch.float64, **more):
        layer = self.kind(D, **self.options, **more).to(dtype)
        with torch.no_grad():  # biases and norms must not be what they could be left out as
            for name, each in layer.named_parameters():
                if "bias" in name or "norm" in name:
                    each.uniform_(0.5, 1.5)
        return layer

    def rows(self, n):
        return 1 if self.pools else n

    def causal(self, is_causal):
        return {} if self.pools else {"is_causal": is_causal}

    @property
    def is_block(self):
        return self.kind in (TransformerBlock, TransformerEncoder)


CASES = [Case(name, each) for name, kind in LAYERS.items() for each in all_pairs(options_of(kind))]
# For what depends on a layer and not on its options: that with the last values, the unusual ones.
ONE_EACH = [
    Case(name, {option: values[-1] for option, values in options_of(kind).items()})
    for name, kind in LAYERS.items()
]
every_case, every_layer = for_each(case=CASES), for_each(case=ONE_EACH)


def masks(case, n, dtype=torch.float64):
    """Make a mask of each kind; in those of two texts, a query and a whole text see nothing."""
    rows = case.rows(n)
    allowed = torch.rand(2, rows, n) < 0.6
    allowed[..., 0] = True
    allowed[0, -1] = allowed[1] = False
    added = torch.randn(2, rows, n).to(dtype).masked_fill(~allowed, -math.inf)
    return {"none": None, "boolean": allowed, "added": added}


def results(call, inputs, upstream):
    context, weights = call()
    grads = torch.autograd.grad(context, inputs, upstream, materialize_grads=True)
    return context, weights, *grads


def test_every_layer_and_every_option_is_covered():
    def below(kind):
        return {kind}.union(*map(below, kind.__subclasses__()))

    ours = {each for each in below(AttentionLayer) if each.__module__.startswith("attention.")}
    assert ours - {AttentionLayer, OneHead, Pooling} <= set(LAYERS.values())
    for variant in VARIANTS.values():
        assert set(variant.options) <= set(options_of(variant.layer))


@every_case
def test_context_weights_and_gradients_are_those_of_the_formula(case):
    n, rows = 5, case.rows(5)
    layer = case.build()
    x = torch.randn(2, n, D, dtype=torch.float64, requires_grad=True)
    positions = torch.tensor([[0, 1, 2, 1, 2], [3, 4, 6, 7, 9]])
    for i, (kind, mask) in enumerate(masks(case, n).items()):
        # Each mask once with and once without causality, and once with other positions.
        for is_causal, at in ((False, None), (True, positions if i else None)):
            if is_causal and case.pools:
                continue
            options = case.causal(is_causal)
            if at is not None and "positions" in case.takes:
                options["positions"] = at
            inputs = [x, *layer.parameters()]
            if kind == "added":
                mask = mask.requires_grad_()
                inputs.append(mask)

            def exact(mask=mask, more=options):
                return layer_oracle.of_layer(layer, x, mask, **more)

            def spelled(mask=mask, more=options):
                return layer(x, attn_mask=mask, need_weights=True, **more)

            def fused(mask=mask, more=options):
                return layer(x, attn_mask=mask, **more), None

            upstream = torch.randn_like(exact()[0])
            right = results(exact, inputs, upstream)
            for call in (spelled, fused):
                ours = results(call, inputs, upstream)
                for mine, exactly in zip(ours, right, strict=True):
                    if mine is not None:
                        torch.testing.assert_close(mine, exactly, rtol=1e-9, atol=1e-11)
                context, _, x_grad = ours[:3]
                if kind != "none" and not case.is_block:  # those that see nothing
                    assert not context[1].any()
                    assert not x_grad[1].any()
                    assert rows == 1 or not context[0, -1].any()
            weights = right[1]
            sums = weights.sum(-1)
            torch.testing.assert_close(sums, sums.round())
            assert weights.shape[-1] == n


@every_case
def test_an_answer_is_the_same_alone_and_in_any_padded_batch(case):
    layer, lengths = case.build(), (5, 3, 1)
    texts = [torch.randn(length, D, dtype=torch.float64) for length in lengths]
    for is_causal in (False,) if case.pools else (False, True):
        options = case.causal(is_causal)
        alone = [layer(text, **options) for text in texts]
        for width in (5, 9):
            x = torch.full((3, width, D), 1e4, dtype=torch.float64)
            for row, text in zip(x, texts, strict=True):
                row[: len(text)] = text
            x.requires_grad_()
            context = layer(x, attn_mask=padding_mask(torch.tensor(lengths), width), **options)
            if case.pools:
                torch.testing.assert_close(context, torch.stack(alone), rtol=1e-9, atol=1e-11)
                continue
            words = [row[:length] for row, length in zip(context, lengths, strict=True)]
            for own, right in zip(words, alone, strict=True):
                torch.testing.assert_close(own, right, rtol=1e-9, atol=1e-11)
            (grad,) = torch.autograd.grad(sum(own.sum() for own in words), x)
            assert not any(g[length:].any() for g, length in zip(grad, lengths, strict=True))


@every_case
def test_every_dtype_keeps_its_own_and_comes_near(case):
    exact = case.build()
    x = torch.randn(2, 5, D, dtype=torch.float64)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        layer = copy.deepcopy(exact).to(dtype)
        for mask in masks(case, 5, dtype).values():
            for need_weights in (False, True):
                tokens = x.to(dtype).requires_grad_()
                context = layer(tokens, attn_mask=mask, need_weights=need_weights)
                context, weights = context if need_weights else (context, None)
                wide = mask.double() if mask is not None and mask.dtype == dtype else mask
                limit = 1e-4 if dtype == torch.float32 else 0.2
                torch.testing.assert_close(
                    context.double(), exact(x, attn_mask=wide), rtol=limit, atol=limit
                )
                assert context.dtype == dtype
                assert weights is None or weights.dtype == dtype
                # Anomaly mode looks at each step, also at one that is zeroed later. It is slow.
                with torch.autograd.set_detect_anomaly(dtype == torch.float32):
                    context.float().square().sum().backward()
                parameters = [each.grad for each in layer.parameters()]
                assert all(g.isfinite().all() for g in (tokens.grad, *parameters) if g is not None)


@every_layer
def test_autocast(case):
    layer, x = case.build(torch.float32), torch.randn(2, 5, D, requires_grad=True)
    for dtype in (torch.bfloat16, torch.float16):
        for mask in masks(case, 5, torch.float32).values():
            right = layer(x, attn_mask=mask)
            for need_weights in (False, True):
                with torch.autocast("cpu", dtype=dtype):
                    context = layer(x, attn_mask=mask, need_weights=need_weights)
                context = context[0] if need_weights else context
                torch.testing.assert_close(context.float(), right, rtol=0.2, atol=0.2)
                context.float().sum().backward()
                assert x.grad.isfinite().all()
    with torch.autocast("cpu", dtype=torch.float16):  # whose largest number is 65,504
        context, _ = layer(4e3 * x, need_weights=True)
    assert context.isfinite().all()


@every_layer
def test_a_part_may_be_replaced_by_what_computes_the_same(case):
    layer, x = case.build(), torch.randn(2, 5, D, dtype=torch.float64)
    wrapped = wrap(layer)
    calls = [{"need_weights": True}] + [{"absorbed": True}] * ("absorbed" in case.takes)
    for options in calls:
        torch.testing.assert_close(wrapped(x, **options), layer(x, **options))


def test_a_hook_may_prepare_the_tokens_for_the_first_matrix():
    layer = MultiHeadAttention(D, 2)
    for linear in (layer.W_query, layer.W_key, layer.W_value):
        linear.register_forward_pre_hook(lambda _, inputs: inputs[0].float())
    x = torch.randn(2, 5, D, dtype=torch.float64)
    torch.testing.assert_close(layer(x), layer(x.float()))


def test_exports_for_texts_of_any_number_and_length():
    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = TransformerEncoder(D, 2, 1, rotary=True, window=3)

        def forward(self, x, lengths):
            mask = padding_mask(lengths, x.shape[-2])
            return self.layer(x, attn_mask=mask, need_weights=True, is_causal=True)

    batch, n = torch.export.Dim("batch", min=2), torch.export.Dim("n", min=2, max=99)
    example = torch.randn(2, 5, D), torch.tensor([5, 3])
    shapes = {"x": {0: batch, 1: n}, "lengths": {0: batch}}
    model = Padded().eval()
    exported = torch.export.export(model, example, dynamic_shapes=shapes, strict=False).module()
    other = torch.randn(3, 9, D), torch.tensor([9, 1, 4])
    torch.testing.assert_close(exported(*other), model(*other))


@for_each(size=(np.int64(6), np.uint8(6), torch.tensor(6)))
def test_a_size_may_be_any_integer(size):
    for layer in (MultiHeadAttention(size, size, window=size), SelfAttention(6, key_dim=size)):
        assert layer(torch.randn(5, 6)).shape == (5, 6)
    assert torch.equal(causal_mask(size), causal_mask(6))
    lengths = torch.tensor([6, 2])
    assert torch.equal(padding_mask(lengths, size), padding_mask(lengths, 6))
    assert torch.equal(padding_mask(lengths), padding_mask(lengths, 6))  # the longest of them
    narrow = np.uint8(200)  # whose product with 4 is 32
    assert TransformerBlock(narrow, num_heads=2).feed_forward[0].out_features == 800
    assert MultiHeadAttention(6, 2, head_dim=narrow).W_query.out_features == 400
    assert MultiHeadAttention(6, 2, dropout=np.float32(0.5)).dropout == 0.5
    model = SentimentClassifier(size, embed_dim=np.int64(6))
    assert json.dumps([model.vocab_size, model.config.embed_dim]) == "[6, 6]"
    for kind in (torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64):
        assert torch.equal(padding_mask(lengths.to(kind), 6), padding_mask(lengths, 6))
        assert torch.equal(positions_from_end(lengths.to(kind), 6), positions_from_end(lengths, 6))
    for wrong in (True, np.bool_(True), 6.0, np.float32(6), torch.tensor(6.0), torch.tensor(True)):
        with pytest.raises(TypeError, match="embed_dim: expected a"):
            MultiHeadAttention(wrong, 2)


@for_each(half=(np.float32(0.5), Fraction(1, 2)))
def test_a_factor_may_be_any_number(half):
    query, key, value = torch.randn(3, 5, D)
    for attend in (scaled_dot_product_attention, fused_attention):
        right = attend(query, key, value, scale=0.5)
        torch.testing.assert_close(attend(query, key, value, scale=half), right)
    layer = MultiHeadAttention(D, 2, dropout=half)
    assert layer(query).shape == layer(query, need_weights=True)[0].shape == (5, D)
    assert TransformerBlock(D, 2, eps=half).norm1.eps == 0.5
    assert ModelConfig(dropout=half, bigram_buckets=np.int64(7), segments=np.True_).dropout == 0.5
    torch.testing.assert_close(apply_rotary(query, base=3 * half), apply_rotary(query, base=1.5))
    for wrong in (10**400, math.inf, math.nan):
        with pytest.raises(ValueError, match="base: expected a finite number, got "):
            SinusoidalPositions(D, base=wrong)


@for_each(case=[case for case in CASES if {"cache", "caches"} & case.takes])
def test_a_cache_changes_nothing(case):
    layer, n = case.build(), 7
    x = torch.randn(3, n, D, dtype=torch.float64)
    blocks = getattr(layer, "blocks", [layer])
    for pad in (False, True):
        # The start of a text is padded, as in a batch of prompts of different lengths.
        mask = ~padding_mask(torch.tensor([0, 2, 4]), n) if pad else None
        for absorbed in (False, True) if "absorbed" in case.takes else (None,):
            options = {"is_causal": True} | ({} if absorbed is None else {"absorbed": absorbed})
            caches = [KVCache(n) for _ in blocks]
            with_cache = {"caches": caches} if "caches" in case.takes else {"cache": caches[0]}
            with torch.no_grad():
                whole, whole_weights = layer(x, attn_mask=mask, need_weights=True, **options)
                for i, (start, end) in enumerate(((0, 3), (3, 4), (4, 5), (5, n))):
                    seen = None if mask is None else mask[..., :end]
                    piece = functools.partial(
                        layer, x[:, start:end], attn_mask=seen, **options, **with_cache
                    )
                    if i % 2:
                        context = piece()
                    else:
                        context, weights = piece(need_weights=True)
                        torch.testing.assert_close(
                            weights, whole_weights[..., start:end, :end], rtol=0, atol=1e-11
                        )
                    torch.testing.assert_close(context, whole[:, start:end], rtol=0, atol=1e-11)
            assert {cache.length for cache in caches} == {n}


@every_layer
def test_masks_broadcast_to_the_scores(case):
    n, rows = 5, case.rows(5)
    layer, x = case.build(), torch.randn(2, 3, n, D, dtype=torch.float64)
    shapes = [(n,), (1, n), (1, 1), (rows, n), (rows, 1), (3, 1, n), (3, rows, n), (2, 1, 1, n)]
    for shape in (*shapes, (1, 3, rows, n), (2, 3, rows, n)):
        allowed = torch.rand(shape) < 0.6
        added = torch.randn(shape, dtype=torch.float64).masked_fill(~allowed, -math.inf)
        for mask, need_weights in itertools.product((allowed, added), (False, True)):
            context, right = (
                layer(x, attn_mask=each, need_weights=need_weights)
                for each in (mask, mask.expand(2, 3, rows, n))
            )
            torch.testing.assert_close(context, right, msg=lambda s, n=shape: f"{n}: {s}")


@for_each(case=ONE_EACH, leading=((), (3,), (2, 3), (5, 5), (0,), (1, 0)), n=(5, 1, 0))
def test_leading_dimensions_are_texts_by_themselves(case, leading, n):
    layer, x = case.build(), torch.randn(*leading, n, D, dtype=torch.float64)
    context, weights = layer(x, need_weights=True)
    assert context.shape[: len(leading)] == leading
    assert context.shape[len(leading) : -1] == (() if case.pools else (n,))
    torch.testing.assert_close(layer(x), context)
    assert weights.isfinite().all()
    if leading and context.numel():
        one_by_one = torch.stack([layer(text) for text in x.flatten(0, -3)])
        torch.testing.assert_close(one_by_one.unflatten(0, leading), context)


@every_layer
def test_very_unlikely_is_not_forbidden(case):
    # In float16 −1e9 would overflow to −∞, and a query that has nothing else would get zeros.
    seeing_all = {"window": None} if "window" in case.options else {}
    layer, x = Case(case.name, case.options | seeing_all).build(), torch.randn(7, D)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        layer.to(dtype)
        tokens, rows = x.to(dtype), case.rows(7)
        # Where all keys are as unlikely, their scores are lost in rounding and the weights equal.
        options = case.causal(False)
        lost = torch.full((rows, 7), -1e9)
        equal = layer(tokens, attn_mask=lost, need_weights=True, **options)[1]
        torch.testing.assert_close(equal, torch.full_like(equal, 1 / 7), rtol=0.01, atol=0)
        assert layer(tokens, attn_mask=lost, **options).any(), dtype
        # Where other keys are likely, it is as if they were alone.
        lost[:, :2] = 0
        for need_weights in (False, True):
            context, alone = (
                layer(tokens, attn_mask=mask, need_weights=need_weights, **options)
                for mask in (lost, lost == 0)
            )
            torch.testing.assert_close(context, alone, rtol=0.02, atol=0.02)


@every_layer
def test_compiles_into_one_graph(case):
    torch.compiler.reset()  # what other tests compiled would decide which sizes are symbols here
    # aot_eager traces forward and backward and needs no C++ compiler.
    layer = case.build(torch.float32)
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    # At the second length, that of x is a symbol, and that of the new mask a number.
    for n, length in ((5, None), (7, 4)):
        x = torch.randn(2, n, D, requires_grad=True)
        mask = None if length is None else padding_mask(torch.tensor([length, 0]), n)
        plain, fast = (each(x, attn_mask=mask, need_weights=True) for each in (layer, compiled))
        torch.testing.assert_close(fast, plain)
        grads = [torch.autograd.grad(context.sum(), x)[0] for context, _ in (plain, fast)]
        torch.testing.assert_close(*grads)


@every_layer
def test_a_layer_survives_copying_and_saving(case, tmp_path):
    layer, x = case.build(), torch.randn(2, 5, D, dtype=torch.float64)
    context, other = layer(x), case.build()
    torch.save(layer.state_dict(), tmp_path / "layer.pt")
    other.load_state_dict(torch.load(tmp_path / "layer.pt", weights_only=True))
    for twin in (other, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), layer.eval()):
        assert torch.equal(twin(x), context)


@for_each(case=[each for each in ONE_EACH if "dropout" in parameters_of(each.kind)])
def test_dropout_acts_in_training_alone(case):
    layer, whole = case.build(dropout=0.5), case.build()
    whole.load_state_dict(layer.state_dict())
    x = torch.randn(2, 5, D, dtype=torch.float64)
    mask = torch.ones(5, 5, dtype=torch.bool)
    for need_weights in (False, True):

        def context(layer, w=need_weights):
            result = layer.train()(x, attn_mask=mask, need_weights=w)
            return result[0] if w else result

        torch.manual_seed(3)
        first, other = context(layer), context(layer)
        torch.manual_seed(3)
        assert torch.equal(context(layer), first)
        assert not torch.allclose(first, other, atol=1e-3)
        assert torch.equal(layer.eval()(x, attn_mask=mask), whole.eval()(x, attn_mask=mask))


TOKENS = (
    ([[1.0] * D], TypeError, ("list", "tensor")),
    (torch.zeros(5, 7), ValueError, ("(5, 7)", f"(..., n, {D})")),
    (torch.zeros(D), ValueError, (f"({D},)", f"(..., n, {D})")),
    (torch.tensor(1.0), ValueError, ("()", f"(..., n, {D})")),
    (torch.zeros(5, D, dtype=torch.int64), TypeError, ("int64", "floating-point")),
    (torch.zeros(5, D, dtype=torch.complex64), TypeError, ("complex64", "floating-point")),
)
OF_ANOTHER_KIND = (  # a layer without parameters has no dtype
    (torch.zeros(5, D, dtype=torch.float64), TypeError, ("float64", "float32")),
    (torch.zeros(5, D, dtype=torch.float16), TypeError, ("float16", "float32")),
)


@every_layer
def test_wrong_tokens_and_masks_are_refused(case):
    layer, rows = case.build(torch.float32), case.rows(5)
    scores = f"(2, {rows}, 5)"
    wrong_masks = (
        ([True] * 5, TypeError, ("list", "tensor")),
        (torch.ones(5, dtype=torch.complex64), TypeError, ("complex64", "boolean")),
        (torch.ones(2, 5, dtype=torch.bool), ValueError, ("(2, 5)", scores)),
        (torch.ones(3, rows, 5, dtype=torch.bool), ValueError, (f"(3, {rows}, 5)", scores)),
        (torch.ones(2, rows + 1, 5), ValueError, (f"(2, {rows + 1}, 5)", scores)),
        (torch.ones(5, dtype=torch.bool, device="meta"), ValueError, ("meta", "cpu")),
    )
    wrong_tokens = TOKENS + (OF_ANOTHER_KIND if list(layer.parameters()) else ())
    for x, error, words in wrong_tokens:
        check_message(error, "x", words, layer, x)
    for mask, error, words in wrong_masks:
        for need_weights in (False, True):
            x = torch.zeros(2, 5, D)
            check_message(
                error, "attn_mask", words, layer, x, attn_mask=mask, need_weights=need_weights
            )


@every_layer
def test_other_tokens_to_attend_to_are_not_taken_for_a_mask(case):
    x = torch.zeros(2, D, D)
    with pytest.raises(TypeError, match="positional"):
        case.build(torch.float32)(x, x)  # in their place there is a mask that would fit


def check_message(error, argument, words, call, *arguments, **options):
    with pytest.raises(error, match=f"^{argument}: expected") as caught:
        call(*arguments, **options)
    assert all(word in str(caught.value) for word in words), caught.value


@every_layer
def test_wrong_options_are_refused_and_none_means_the_default(case):
    """A size of 0 is an error, not the default."""
    whole_numbers = {name for name, values in VALUES.items() if type(values[-1]) is int}
    sizes = [name for name in parameters_of(case.kind) if name in {*WIDTHS, *whole_numbers}]
    good = {"embed_dim" if "d_in" not in sizes else "d_in": D, **case.options}
    for name, size in itertools.product(sizes, (0, -1, 2.0, "3", True)):
        if name == "rotary_dim" and size == 0:
            continue
        error = ValueError if type(size) is int else TypeError
        check_message(error, name, ["got"], case.kind, **{**good, name: size})
    if "dropout" in parameters_of(case.kind):
        for chance, error in ((-0.1, ValueError), (1.0, ValueError), ("half", TypeError)):
            with pytest.raises(error, match="dropout: expected"):
                case.kind(**good, dropout=chance)

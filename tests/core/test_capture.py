"""Weights taken out of any model are those that it would return."""

import copy
import pickle

import pytest
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook

from attention import (
    AttentionLayer,
    CausalSelfAttention,
    EnergyPooling,
    MultiHeadAttention,
    SelfAttentionV1,
    TransformerEncoder,
    capture,
)


def test_our_layers_by_name():
    layers = nn.ModuleDict(
        {
            "v1": SelfAttentionV1(6, 3),
            "causal": CausalSelfAttention(6, key_dim=3),
            "heads": MultiHeadAttention(6, num_heads=2),
            "pooling": EnergyPooling(6),
        }
    )
    x = torch.randn(5, 7, 6)
    with capture(layers) as weights:
        contexts = {name: layer(x) for name, layer in layers.items()}
        pair = layers["heads"](x, need_weights=True)
    for name, layer in layers.items():
        context, expected = layer(x, need_weights=True)
        torch.testing.assert_close(weights[name], expected)
        torch.testing.assert_close(contexts[name], context)
    assert isinstance(pair, tuple)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("grad", [True, False])
def test_torchs_encoder_though_its_fast_path_skips_the_attention(norm_first, grad):
    layer = nn.TransformerEncoderLayer(6, 2, 13, norm_first=norm_first, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).eval()
    ours = TransformerEncoder(6, 2, 3, hidden_dim=13, norm_first=norm_first)
    ours.blocks = nn.ModuleList(
        type(block).from_torch(each)
        for block, each in zip(ours.blocks, encoder.layers, strict=True)
    )
    ours.norm = None
    x = torch.randn(5, 7, 6)
    with torch.set_grad_enabled(grad):
        plain = encoder(x)
        with capture(encoder) as weights:
            hidden = encoder(x)
    torch.testing.assert_close(hidden, plain, rtol=1e-5, atol=1e-5)
    assert list(weights) == [f"layers.{i}.self_attn" for i in range(3)]
    _, expected = ours(x, need_weights=True)
    torch.testing.assert_close(torch.stack(list(weights.values())), expected)


class Passing(nn.MultiheadAttention):
    def forward(self, *arguments, **options):
        return super().forward(*arguments, **options)


@pytest.mark.parametrize("kind", [nn.MultiheadAttention, Passing])
def test_torchs_attention_returns_what_its_caller_requested(kind):
    layer = kind(6, 2, batch_first=True)
    x = torch.randn(5, 7, 6)
    with capture(layer) as weights:
        averaged = layer(x, x, x)[1]
        by_head = layer(x, x, x, average_attn_weights=False)[1]
        by_position = layer(x, x, x, None, False)[1]
    assert averaged.shape == (5, 7, 7)
    assert by_head.shape == weights[""].shape == (5, 2, 7, 7)
    torch.testing.assert_close(by_head.mean(1), averaged)
    torch.testing.assert_close(weights[""], by_head)
    assert by_position is None


def test_nothing_stays_behind():
    layer = MultiHeadAttention(6, num_heads=2)
    with pytest.raises(RuntimeError, match="stop"), capture(layer):
        raise RuntimeError("stop")
    assert "forward" not in vars(layer)
    assert torch.backends.mha.get_fastpath_enabled()
    message = "expected one with attention in it, got Linear"
    with pytest.raises(ValueError, match=message), capture(nn.Linear(2, 2)):
        pass


def test_a_layer_that_gives_no_weights_is_refused_and_one_not_called_is_named():
    class Silent(AttentionLayer):
        def forward(self, x):
            return x

    class OfTorchs(nn.MultiheadAttention):
        def forward(self, x):
            return super().forward(x, x, x)

    for model in (Silent(), OfTorchs(6, 2)):
        message = f"need_weights, got 0, a {type(model).__name__}, whose forward does not take it"
        with pytest.raises(TypeError, match=message), capture(nn.Sequential(model)):
            pass
    layers = nn.ModuleList([EnergyPooling(6), EnergyPooling(6)])
    with pytest.warns(UserWarning, match=r"got none of \['1'\]") as warned, capture(layers):
        layers[0](torch.randn(7, 6))
    assert warned[0].filename == __file__


def test_a_class_of_the_readers_own_is_found():
    class Uniform(AttentionLayer):
        def forward(self, x, attn_mask=None, *, need_weights=False):
            weights = torch.full((*x.shape[:-1], x.shape[-2]), 1 / x.shape[-2])
            context = weights @ x
            return (context, weights) if need_weights else context

    model, x = nn.Sequential(nn.Linear(6, 6), Uniform()), torch.randn(5, 7, 6)
    with capture(model) as weights:
        context = model(x)
    assert context.shape == (5, 7, 6)
    torch.testing.assert_close(weights, {"1": torch.full((5, 7, 7), 1 / 7)})


def test_what_else_watches_a_layer_sees_what_it_sees_outside():
    layer, x = MultiHeadAttention(6, num_heads=2), torch.randn(2, 7, 6)
    context, expected = layer(x, need_weights=True)
    seen = []
    watch = layer.register_forward_hook(lambda layer, x, output: seen.append(output))
    watch_all = register_module_forward_hook(
        lambda module, x, output: seen.append(output) if module is layer else None
    )
    with watch, watch_all, capture(layer) as outer, capture(layer) as inner:
        layer.register_forward_hook(lambda layer, x, output: seen.append(output))
        seen.append(layer(x))
    assert len(seen) == 4
    for output in seen:
        torch.testing.assert_close(output, context)
    for weights in (outer, inner):
        torch.testing.assert_close(weights[""], expected)


@pytest.mark.parametrize("in_place", [True, False])
def test_a_compiled_model_that_has_run(in_place):
    model, x = TransformerEncoder(6, 2, 2), torch.randn(2, 7, 6)
    _, expected = model(x, need_weights=True)
    compiled = torch.compile(model, backend="eager")
    if in_place:
        model.compile(backend="eager")
        compiled = model
    compiled(x)
    for target in (model, compiled):
        with capture(target) as weights:
            compiled(x)
        torch.testing.assert_close(torch.stack(list(weights.values())), expected)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_copy_made_in_the_block_computes_by_itself(copied):
    layer, x = MultiHeadAttention(6, num_heads=2), torch.randn(2, 7, 6)
    with capture(layer), capture(layer):
        other = copied(layer)
        layer(x)
    torch.nn.init.zeros_(layer.W_value.weight)
    assert other(x).all()
    with capture(other) as weights:
        other(x)
    assert weights[""].shape == (2, 2, 7, 7)


def test_blocks_that_end_in_the_order_in_which_they_began():
    layer, x = MultiHeadAttention(6, num_heads=2), torch.randn(2, 7, 6)
    _, expected = layer(x, need_weights=True)
    compiled = torch.compile(layer, backend="eager")
    compiled(x)
    first, second = capture(layer), capture(layer)
    weights, later = first.__enter__(), second.__enter__()
    compiled(x)
    first.__exit__(None, None, None)
    weights.clear()
    later.clear()
    compiled(x)
    second.__exit__(None, None, None)
    torch.testing.assert_close(later, {"": expected})
    assert not weights
    assert "forward" not in vars(layer)
    assert torch.backends.mha.get_fastpath_enabled()
    compilations = []
    torch.compile(
        MultiHeadAttention(6, 3), backend=lambda graph, _: compilations.append(1) or graph
    )(x)
    assert compilations


def test_padding_that_no_text_reaches_keeps_its_columns():
    layer = nn.TransformerEncoderLayer(6, 2, 13, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()
    with torch.no_grad(), capture(encoder) as weights:
        encoder(torch.randn(2, 5, 6), src_key_padding_mask=torch.arange(5).expand(2, 5) > 2)
    assert weights["layers.1.self_attn"].shape == (2, 2, 5, 5)
    assert not weights["layers.1.self_attn"][..., 3:].any()

"""What each layer of self-attention is, beyond what every layer keeps to."""

import pytest
import torch

from attention import (
    CausalSelfAttention,
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    causal_mask,
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


def test_v2_is_v1_with_its_matrices_transposed():
    v1, v2, x = SelfAttentionV1(5, 3), SelfAttentionV2(5, 3), torch.randn(2, 7, 5)
    v2.load_state_dict({f"{name}.weight": w.T for name, w in v1.state_dict().items()})
    torch.testing.assert_close(v1(x), v2(x))


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


def test_causal_attention_is_causal_by_default():
    layer, free = CausalSelfAttention(5, key_dim=3), SelfAttention(5, key_dim=3)
    free.load_state_dict(layer.state_dict())
    x = torch.randn(2, 7, 5)
    torch.testing.assert_close(layer(x), free(x, causal_mask(7)))
    torch.testing.assert_close(layer(x, is_causal=False), free(x))

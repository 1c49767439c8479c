"""What each layer of self-attention is, beyond what every layer keeps to."""

import pytest
import torch

from attention import (
    CausalSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SelfAttentionV2,
    causal_mask,
)


def test_v2_is_v1_with_its_matrices_transposed():
    v1, v2, x = SelfAttentionV1(5, 3), SelfAttentionV2(5, 3), torch.randn(2, 7, 5)
    v2.load_state_dict({f"{name}.weight": w.T for name, w in v1.state_dict().items()})
    torch.testing.assert_close(v1(x), v2(x))


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

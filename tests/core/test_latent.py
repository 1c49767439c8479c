"""Latent attention: the absorbed form, and what a latent can hold."""

import pytest
import torch
from torch import nn

from attention import LatentAttention, MultiHeadAttention, padding_mask


@pytest.mark.parametrize("rotary_dim", [0, 4])
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_absorbed_form_is_the_other_in_value_and_gradient(rotary_dim, is_causal):
    layer = LatentAttention(8, 2, latent_dim=3, rotary_dim=rotary_dim).double()
    x = torch.randn(5, 7, 8, dtype=torch.float64, requires_grad=True)
    mask = padding_mask(torch.tensor([7, 5, 3, 1, 0]), 7)
    options = {"is_causal": is_causal, "need_weights": True}
    trained, absorbed = (layer(x, mask, absorbed=a, **options) for a in (False, True))
    torch.testing.assert_close(absorbed, trained, rtol=0, atol=1e-12)
    fused = layer(x, mask, absorbed=True, is_causal=is_causal)
    torch.testing.assert_close(fused, trained[0], rtol=0, atol=1e-12)
    upstream, inputs = torch.randn_like(fused), [x, *layer.parameters()]
    right = torch.autograd.grad(trained[0], inputs, upstream)
    for context in (absorbed[0], fused):
        grads = torch.autograd.grad(context, inputs, upstream, retain_graph=True)
        torch.testing.assert_close(grads, right, rtol=0, atol=1e-11)


def test_a_latent_as_wide_as_the_tokens_holds_any_multi_head_attention():
    full, latent = MultiHeadAttention(8, 2), LatentAttention(8, 2, latent_dim=8)
    state = full.state_dict() | {"W_latent.weight": torch.eye(8)}
    latent.load_state_dict(state)
    x = torch.randn(5, 7, 8)
    torch.testing.assert_close(latent(x), full(x))


def test_all_heads_together_have_keys_of_rank_r():
    layer = LatentAttention(8, 4, latent_dim=3).double()
    x = torch.randn(50, 8, dtype=torch.float64)
    keys = layer.W_key(layer.W_latent(x))  # (50, h k)
    assert torch.linalg.matrix_rank(keys) == 3


def test_what_is_no_matrix_is_not_absorbed():
    layer, x = LatentAttention(8, 2), torch.randn(5, 8)
    for other in (nn.Linear(4, 8), nn.Sequential(layer.W_value, nn.GELU())):
        layer.W_value = other
        context, _ = layer(x, need_weights=True)
        torch.testing.assert_close(layer(x), context)
        with pytest.raises(ValueError, match="multiplies by a matrix alone, got"):
            layer(x, absorbed=True)


def test_widths_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="rotary_dim: expected an even number, got 3"):
        LatentAttention(8, 2, rotary_dim=3)
    with pytest.raises(ValueError, match="num_heads: expected a divisor of embed_dim = 8, got 3"):
        LatentAttention(8, 3)

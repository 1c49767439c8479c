"""Latent attention: trained form, absorbed form, and a loop over the heads."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import reference

from attention import LatentAttention, MultiHeadAttention, apply_rotary, causal_mask, padding_mask


def loop(layer, x, mask):
    """Make the keys and values of one head after the other, and attend by the formula."""
    h, k, e = layer.num_heads, layer.head_dim, layer.rotary_dim
    latent, key_rotary = (x @ layer.W_latent.weight.T).split((layer.latent_dim, e), dim=-1)
    heads = []
    for i in range(h):
        rows = slice(i * (k + e), (i + 1) * (k + e))
        query = x @ layer.W_query.weight[rows].T
        key = latent @ layer.W_key.weight[i * k : (i + 1) * k].T
        value = latent @ layer.W_value.weight[i * k : (i + 1) * k].T
        if e:
            query = torch.cat((query[..., :k], apply_rotary(query[..., k:])), dim=-1)
            key = torch.cat((key, apply_rotary(key_rotary)), dim=-1)
        heads.append(reference(query, key, value, mask, 1 / math.sqrt(k + e))[0])
    return torch.cat(heads, dim=-1) @ layer.W_out.weight.T


@given(
    heads=st.sampled_from((1, 2, 3)),
    head_dim=st.sampled_from((None, 5)),
    latent_dim=st.sampled_from((1, 4, 11)),
    rotary_dim=st.sampled_from((0, 2, 6)),
    leading=st.sampled_from(((), (3,), (2, 3))),
    is_causal=st.booleans(),
    padded=st.booleans(),
    dtype=st.sampled_from((torch.float32, torch.float64)),
    seed=st.integers(0, 2**16),
)
def test_both_forms_are_a_loop_in_value_and_gradient(
    heads, head_dim, latent_dim, rotary_dim, leading, is_causal, padded, dtype, seed
):
    torch.manual_seed(seed)
    layer = LatentAttention(
        6, heads, latent_dim=latent_dim, head_dim=head_dim, rotary_dim=rotary_dim
    ).double()
    x = torch.randn(*leading, 7, 6, dtype=torch.float64)
    mask = padding_mask(torch.randint(0, 8, leading), 7) if padded else None
    whole = torch.ones(7, 7, dtype=torch.bool) if mask is None else mask
    whole = whole & causal_mask(7) if is_causal else whole
    upstream = torch.randn(*leading, 7, 6, dtype=torch.float64)

    def results(attend, dtype):
        layer.to(dtype)
        leaf = x.to(dtype).requires_grad_()
        context = attend(leaf)
        leaves = [leaf, *(p for p in layer.parameters() if p.numel())]
        return context, *torch.autograd.grad(context, leaves, upstream.to(dtype))

    right = results(lambda x: loop(layer, x, whole), torch.float64)
    for absorbed in (False, True):
        ours = results(lambda x, a=absorbed: layer(x, mask, is_causal=is_causal, absorbed=a), dtype)
        tolerance = 1e-12 if dtype == torch.float64 else 1e-6
        for i, (a, b) in enumerate(zip(ours, right, strict=True)):
            size = max(float(b.detach().abs().max()) if b.numel() else 0.0, 1.0)
            # A gradient is a sum over all tokens of all texts, whose roundings add up.
            atol = tolerance * size * (4 if i else 1)
            torch.testing.assert_close(a.double(), b, rtol=0, atol=atol)


@pytest.mark.parametrize("rotary_dim", [0, 4])
def test_the_weights_do_not_depend_on_the_form(rotary_dim):
    layer = LatentAttention(8, 2, latent_dim=3, rotary_dim=rotary_dim).double()
    x = torch.randn(5, 7, 8, dtype=torch.float64)
    trained, absorbed = (
        layer(x, is_causal=True, need_weights=True, absorbed=a) for a in (False, True)
    )
    assert trained[1].shape == (5, 2, 7, 7)
    torch.testing.assert_close(trained, absorbed, rtol=0, atol=1e-12)
    torch.testing.assert_close(trained[0], layer(x, is_causal=True), rtol=0, atol=1e-12)


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


def test_without_a_rotated_part_the_order_of_tokens_plays_no_role():
    x = torch.randn(7, 8, dtype=torch.float64)
    order = torch.randperm(7)
    plain, rotated = (LatentAttention(8, 2, latent_dim=3, rotary_dim=e).double() for e in (0, 4))
    torch.testing.assert_close(plain(x)[order], plain(x[order]))
    assert not torch.allclose(rotated(x)[order], rotated(x[order]))


def test_widths_that_do_not_fit_are_refused():
    for options, error, message in (
        ({"latent_dim": 0}, ValueError, "latent_dim: expected at least 1, got 0"),
        ({"latent_dim": 2, "rotary_dim": 3}, ValueError, "rotary_dim: expected an even number"),
        ({"latent_dim": 2, "rotary_dim": -2}, ValueError, "rotary_dim: expected at least 0"),
        ({"latent_dim": 2, "head_dim": 0}, ValueError, "head_dim: expected at least 1, got 0"),
        ({"latent_dim": 2.0}, TypeError, "latent_dim: expected an integer, got float"),
    ):
        with pytest.raises(error, match=message):
            LatentAttention(8, 2, **options)
    with pytest.raises(ValueError, match="num_heads: expected a divisor of embed_dim = 8, got 3"):
        LatentAttention(8, 3, latent_dim=2)

"""Windows against the mask that they are."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import made_causal

from attention import MultiHeadAttention, TransformerEncoder, causal_mask, window_mask


def near(n, window):
    """Compare every pair of tokens by itself."""
    return torch.tensor([[abs(i - j) < window for j in range(n)] for i in range(n)])


@given(
    window=st.sampled_from((1, 2, 5, 7, 100)),
    heads=st.sampled_from(((4, 4), (4, 2), (3, 1))),
    rotary=st.booleans(),
    bias=st.booleans(),
    is_causal=st.booleans(),
    need_weights=st.booleans(),
    kind=st.sampled_from(("none", "boolean", "added", "row")),
    seed=st.integers(0, 2**16),
)
def test_a_window_is_a_mask_in_value_and_gradient(
    window, heads, rotary, bias, is_causal, need_weights, kind, seed
):
    torch.manual_seed(seed)
    options = {"num_kv_heads": heads[1], "head_dim": 4, "rotary": rotary, "bias": bias}
    windowed = MultiHeadAttention(6, heads[0], window=window, **options).double()
    plain = MultiHeadAttention(6, heads[0], **options).double()
    plain.load_state_dict(windowed.state_dict())
    x = torch.randn(3, 7, 6, dtype=torch.float64, requires_grad=True)
    mask = {
        "none": None,
        "boolean": torch.rand(3, 7, 7) < 0.6,
        "added": torch.randn(7, 7, dtype=torch.float64).masked_fill(
            torch.rand(7, 7) < 0.3, -torch.inf
        ),
        "row": torch.rand(7) < 0.6,
    }[kind]
    whole = near(7, window) if mask is None else mask
    if mask is not None:
        whole = (
            mask & near(7, window)
            if mask.dtype == torch.bool
            else mask.masked_fill(~near(7, window), -torch.inf)
        )
    whole = made_causal(whole, 7, 7) if is_causal else whole
    upstream = torch.randn(3, 7, 6, dtype=torch.float64)
    results = []
    for layer, attn_mask, causal in ((windowed, mask, is_causal), (plain, whole, False)):
        context = layer(x, attn_mask, is_causal=causal, need_weights=need_weights)
        context, weights = context if need_weights else (context, None)
        grads = torch.autograd.grad(context, [x, *layer.parameters()], upstream)
        results.append((context, *grads) if weights is None else (context, weights, *grads))
    for ours, right in zip(*results, strict=True):
        torch.testing.assert_close(ours, right, rtol=0, atol=1e-12)


@given(n=st.integers(0, 9), past=st.integers(0, 5), window=st.integers(1, 12))
def test_masks_of_the_last_tokens_are_the_last_rows(n, past, window):
    m = n + past
    assert torch.equal(window_mask(n, window, m), near(m, window).reshape(m, m)[past:])
    assert torch.equal(causal_mask(n, m), torch.ones(m, m, dtype=torch.bool).tril()[past:])


def test_a_causal_window_sees_the_token_and_those_just_before_it():
    layer = MultiHeadAttention(6, 2, window=3)
    _, weights = layer(torch.randn(5, 6), is_causal=True, need_weights=True)
    seen = [row.nonzero().flatten().tolist() for row in weights[0]]
    assert seen == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_a_stack_of_windows_sees_further_than_one():
    x = torch.randn(9, 8, dtype=torch.float64, requires_grad=True)
    direction = torch.randn(8, dtype=torch.float64)
    for layers, reach in ((1, 2), (2, 4), (3, 6)):
        stack = TransformerEncoder(8, 2, layers, window=3).double()
        (grad,) = torch.autograd.grad(stack(x, is_causal=True)[8] @ direction, x)
        assert grad.any(dim=1).nonzero().flatten().tolist() == list(range(8 - reach, 9))


def test_sizes_that_fit_no_window_are_refused():
    for options, error, message in (
        ({"window": 0}, ValueError, "window: expected at least 1, got 0"),
        ({"window": 1.5}, TypeError, "window: expected an integer, got float"),
        ({"rotary": True}, ValueError, "rotary: expected heads of an even width, got 3"),
    ):
        with pytest.raises(error, match=message):
            MultiHeadAttention(6, 2, **options)
    with pytest.raises(ValueError, match="m: expected at least 3, got 2"):
        causal_mask(3, 2)

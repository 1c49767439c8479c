"""Windows: their masks, and how far a stack of them sees."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention import MultiHeadAttention, TransformerEncoder, causal_mask, window_mask


def near(n, window):
    """Compare every pair of tokens by itself."""
    return torch.tensor([[abs(i - j) < window for j in range(n)] for i in range(n)])


@given(n=st.integers(0, 9), past=st.integers(0, 5), window=st.integers(1, 12))
def test_masks_of_the_last_tokens_are_the_last_rows(n, past, window):
    m = n + past
    assert torch.equal(window_mask(n, window, m), near(m, window).reshape(m, m)[past:])
    assert torch.equal(causal_mask(n, m), torch.ones(m, m, dtype=torch.bool).tril()[past:])
    assert causal_mask(n, m, device="meta").is_meta


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

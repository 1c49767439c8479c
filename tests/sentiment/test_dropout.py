"""Dropout from parts of a draw: how often, how much larger, and in training alone."""

import pytest
import torch

from attention.sentiment.dropout import Dropout


@pytest.mark.parametrize("p", [0.001, 0.3, 0.9])
def test_numbers_are_dropped_as_often_as_requested_and_independently(p):
    torch.manual_seed(1)
    x = torch.ones(400, 1_003, requires_grad=True)
    y = Dropout(p)(x)
    kept = y != 0
    n = x.numel()
    assert abs((~kept).sum().item() - n * p) < 5 * (n * p * (1 - p)) ** 0.5
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 1 / (1 - p)), rtol=2e-4, atol=0)
    y.sum().backward()
    assert torch.equal(x.grad, y)
    # Neighbours come from one draw: a number says nothing about the next, nor about the one after.
    dropped = (~kept).float().flatten() - p
    for shift in (1, 2, 3, 4):
        correlation = (dropped[:-shift] * dropped[shift:]).mean() / (p * (1 - p))
        assert abs(correlation.item()) < 5 / n**0.5


def test_it_follows_the_seed_and_the_mode():
    x, dropout = torch.randn(7, 5), Dropout(0.5)
    torch.manual_seed(3)
    first, second = dropout(x), dropout(x)
    torch.manual_seed(3)
    assert torch.equal(dropout(x), first)
    assert not torch.equal(first, second)
    assert dropout.eval()(x) is x
    assert Dropout(0.0)(x) is x
    assert not Dropout(1.0)(x).any()
    assert not Dropout(1 - 1e-6)(x).any()
    assert Dropout(0.5)(x.bfloat16()).dtype == torch.bfloat16
    assert Dropout(0.5)(torch.empty(0, 3)).shape == (0, 3)
    assert Dropout(0.5)(x.to("meta")).is_meta

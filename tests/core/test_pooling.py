"""What each pooling is, beyond what every layer keeps to."""

import pytest
import torch

from attention import EnergyPooling, KeyedPooling, MeanPooling


def test_mean_of_the_infinite_is_infinite():
    x = torch.randn(7, 5)
    x[3, 0] = torch.inf
    assert MeanPooling(5)(x)[0] == torch.inf
    assert MeanPooling(5)(x)[1:].isfinite().all()


def test_learned_parts_start_as_linear_does():
    pooling = KeyedPooling(5, key_dim=997)
    assert pooling.query.abs().max() <= 997**-0.5
    assert pooling.query.std().item() == pytest.approx((997 * 3) ** -0.5, rel=0.1)
    assert pooling.W_key.weight.shape == (997, 5)
    assert [p.shape for p in EnergyPooling(5).parameters()] == [(1, 5)]

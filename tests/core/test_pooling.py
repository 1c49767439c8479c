"""What each pooling is, beyond what every layer keeps to."""

import pytest
import torch

from attention import EnergyPooling, KeyedPooling, MeanPooling, padding_mask


def test_mean_is_the_mean_of_the_words_alone():
    x = torch.randn(2, 7, 5)
    torch.testing.assert_close(MeanPooling(5)(x), x.mean(-2))
    mask = padding_mask(torch.tensor([4, 7]), 7)
    torch.testing.assert_close(MeanPooling(5)(x, mask)[0], x[0, :4].mean(-2))
    assert not list(MeanPooling(5).parameters())


def test_mean_of_the_infinite_is_infinite():
    x = torch.randn(7, 5)
    x[3, 0] = torch.inf
    assert MeanPooling(5)(x)[0] == torch.inf
    assert MeanPooling(5)(x)[1:].isfinite().all()


def test_keyed_pooling_is_an_energy_pooling():
    keyed, energy, x = KeyedPooling(5, key_dim=3), EnergyPooling(5), torch.randn(2, 7, 5)
    w = keyed.query @ keyed.W_key.weight
    energy.load_state_dict({"energy.weight": w[None]})
    mask = padding_mask(torch.tensor([4, 7]), 7)
    for ours, theirs in zip(
        keyed(x, mask, need_weights=True), energy(x, mask, need_weights=True), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


def test_learned_parts_start_as_linear_does():
    pooling = KeyedPooling(5, key_dim=997)
    assert pooling.query.abs().max() <= 997**-0.5
    assert pooling.query.std().item() == pytest.approx((997 * 3) ** -0.5, rel=0.1)
    assert pooling.W_key.weight.shape == (997, 5)
    assert [p.shape for p in EnergyPooling(5).parameters()] == [(1, 5)]

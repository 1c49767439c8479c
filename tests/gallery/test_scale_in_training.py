"""What the lesson on the scale in training says of its runs, in every seed."""

import math

import pytest
import torch
from torch.testing import assert_close

LESSON = "deeper/plot_9e_scale_in_training"
SPREAD, COSINE, FOUND = range(3)  # of the pairs, in the coordinate check
LOSS, ENTROPY, RIGHT = range(3)  # at each step, in the runs


def uneven(means):
    """Return the largest of some numbers over the smallest."""
    return (means.max() / means.min()).item()


def test_the_root_keeps_the_start_level_and_lets_the_widths_run_apart(page):
    spread = page["checked"]["1/√k"][..., SPREAD]  # (widths, seeds, marks)
    assert uneven(spread[:, :, 0].mean(dim=1)) < 1.2
    trained = spread[:, :, -1]
    means = trained.mean(dim=1).tolist()
    assert means == sorted(means)
    assert 2 < means[-1] / means[0] < math.sqrt(128 / 8)
    assert trained[-1].min() > 2 * trained[0].max()


def test_one_over_k_keeps_the_widths_together_once_they_are_trained(page):
    spread = page["checked"]["1/k"][..., SPREAD].mean(dim=1)  # (widths, marks)
    assert uneven(spread[:, 0]) > 3
    assert spread[:, 0].tolist() == sorted(spread[:, 0].tolist(), reverse=True)
    assert uneven(spread[:, -1]) < 1.3
    from_zero = page["checked"]["1/k, queries from 0"][..., SPREAD].mean(dim=1)
    assert (from_zero[:, 0] == 0).all()
    assert uneven(from_zero[:, 1]) < 1.5
    assert uneven(from_zero[:, 2]) < 1.3


def test_both_scales_are_one_at_width_8_and_turn_queries_and_keys_by_the_same_angle(page):
    root, by_width = (page["checked"][name] for name in ("1/√k", "1/k"))
    assert_close(root[0], by_width[0], atol=1e-3, rtol=1e-3)
    root, by_width = (each.mean(dim=1)[:, -1] for each in (root, by_width))
    assert_close(root[:, COSINE], by_width[:, COSINE], atol=0.05, rtol=0)
    assert uneven(root[:, COSINE]) < 1.2
    assert root[-1, FOUND] > 3 * root[0, FOUND]
    assert by_width[:, FOUND].max() - by_width[:, FOUND].min() < 0.1


def test_under_gradient_descent_the_root_keeps_the_widths_together_and_one_over_k_does_not(page):
    descended, adam = page["descended"], page["checked"]["1/√k"][:, :, -1].mean(dim=1)

    def wide_over_narrow(name, power):
        return (descended[name, power, 128] / descended[name, power, 8]).tolist()

    assert 0.8 < wide_over_narrow("1/√k", 0)[FOUND] < 1.1
    assert wide_over_narrow("1/√k", 0)[SPREAD] < 1 < 2 < adam[-1, SPREAD] / adam[0, SPREAD]
    assert wide_over_narrow("1/k", 0)[FOUND] < 1 / 5
    assert wide_over_narrow("1/k", 1) == pytest.approx([1, 1, 1], abs=0.15)  # the rate grows with k


def test_the_entropy_of_normal_scores_follows_its_formula_up_to_half_the_freezing_spread(page):
    for length in (64, 1024, 16384):
        for share in (0.25, 0.5):
            formula = math.log(length) * (1 - share**2)  # σ² / 2 is share² ln m
            assert page["entropies"][length, share] == pytest.approx(formula, abs=0.15)
        assert 1.8 < page["entropies"][length, 1.0] < 3.3  # where the formula says 0
    errors = [
        abs(page["entropies"][length, 0.5] - 0.75 * math.log(length))
        for length in (64, 1024, 16384)
    ]
    assert errors == sorted(errors, reverse=True)
    # With the root of the logarithm, random scores stay sharp.
    fixed, root, logarithm = (page["largest"][name][1:] for name in page["growths"])
    assert fixed == sorted(fixed, reverse=True)
    assert fixed[-1] < fixed[0] / 2
    assert max(root) / min(root) < 1.15
    assert logarithm == sorted(logarithm)
    assert logarithm[-1] > logarithm[0] + 0.1


def test_qk_norm_has_a_gain_times_a_cosine_for_its_scores(page):
    torch.manual_seed(0)
    layer = page["QKNormSelfAttention"](11, key_dim=5, value_dim=3).double()
    x = 7 * torch.randn(2, 13, 11, dtype=torch.float64)
    with torch.no_grad():
        layer.gain.fill_(1.7)
        layer.W_key.weight *= 100
        query, key = layer.W_query(x), layer.W_key(x)
        cosine = torch.cosine_similarity(query[:, :, None], key[:, None], dim=-1)
        context, weights = layer(x, need_weights=True)
        assert_close(weights, (1.7 * cosine).softmax(dim=-1))
        assert_close(context, weights @ layer.W_value(x))
        assert_close(layer(x), context)
        assert layer(x, is_causal=True, need_weights=True)[1].triu(1).abs().max() == 0
    gaps = page["gaps"]  # larger matrices move the scores of the plain layer alone
    assert gaps["plain", 10] == pytest.approx(100 * gaps["plain", 1], rel=1e-6)
    assert gaps["plain", 100] == math.inf
    assert gaps["QK-norm", 100] == pytest.approx(gaps["QK-norm", 1], rel=1e-6)
    assert gaps["QK-norm", 1] < 2 * math.sqrt(16)


def test_at_a_high_rate_the_plain_layer_collapses_before_it_knows_the_right_key_alone(page):
    plain, normed = (page["runs"][name][page["high"]] for name in ("plain", "QK-norm"))
    assert plain[:, 10:, ENTROPY].max() < 0.1
    assert plain[:, 10, RIGHT].max() < 0.1
    assert plain[:, -20:, LOSS].mean(dim=1).min() > 1.1
    assert plain[:, -1, RIGHT].max() < 0.5
    assert normed[:, :30, ENTROPY].min() > 2
    assert normed[..., RIGHT][normed[..., ENTROPY] < 1].min() > 0.6
    assert normed[:, -1, RIGHT].min() > 0.8
    assert page["final"]["QK-norm"][page["high"]].max() < 0.3
    learned = page["runs"]["plain"][page["RATES"].index(0.03)]  # a low entropy is no collapse here
    assert learned[:, -1, ENTROPY].max() < 0.1
    assert learned[:, -1, RIGHT].min() > 0.98


def test_the_scores_and_not_the_values_are_to_blame(page):
    collapsed, learned, normed = page["controls"].values()
    assert collapsed[:, 10, ENTROPY].max() < 0.1
    assert collapsed[:, -20:, LOSS].mean() > 0.8
    for runs in (learned, normed):
        assert runs[:, 10, ENTROPY].min() > 2
        assert runs[:, -20:, LOSS].mean(dim=1).max() < 0.1


def test_qk_norm_learns_at_higher_rates_and_learns_less_at_low_ones(page):
    plain, normed = page["final"]["plain"], page["final"]["QK-norm"]  # (rates, seeds)
    assert page["RATES"] == (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    assert (plain[:2].amax(dim=1) < normed[:2].amin(dim=1) / 5).all()
    assert (normed[3:5].amax(dim=1) < plain[3:5].amin(dim=1) / 3).all()
    assert plain[4:].min() > 1.1
    assert normed[5].min() > 1.1
    assert page["runs"]["QK-norm"][5, :, -1, ENTROPY].min() > 0.98 * math.log(16)
    assert page["runs"]["plain"][5, :, -1, ENTROPY].max() < 0.1

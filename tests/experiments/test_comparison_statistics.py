"""The comparison's intervals, gains, p-values and calibration."""

from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_answers import GAIN, Condition, check_coverage

from experiments.comparison import statistics


def draws(share, seeds, n, spread=0.0, seed=0):
    """Draw right answers: seeds differ in their share, and find the same reviews hard."""
    generator = np.random.default_rng(seed)
    shares = share + spread * generator.standard_normal((seeds, 1))
    return generator.random(n) < shares


def test_interval_of_one_run_is_that_of_a_share():
    right = np.arange(1_000)[None] < 900
    found = statistics.accuracy(right)
    half = 1.9623 * (0.9 * 0.1 / 999) ** 0.5  # t for 999 degrees of freedom
    assert found.mean == pytest.approx(0.9)
    assert found.degrees_of_freedom == pytest.approx(999)
    assert found.low == pytest.approx(0.9 - half, abs=1e-6)
    assert found.high == pytest.approx(0.9 + half, abs=1e-6)


def test_interval_of_two_seeds_against_a_worked_example():
    right = np.tile([[1, 1, 0, 1], [1, 0, 0, 1]], 10).astype(bool)  # (2, 40)
    # Mean squares: seeds 1.25, reviews 13.75 / 39 = 0.3526, rest 3.75 / 39 = 0.0962. The seeds'
    # share of (1.25 + 0.3526 - 0.0962) / 80 = 0.01883 is 0.8298; t for 1.1988 degrees is 8.6647.
    found = statistics.gain(right, np.zeros((1, 40), bool))
    assert found.mean == 0.625
    assert found.degrees_of_freedom == pytest.approx(1 / (0.829787 + 0.170213 / 39), rel=1e-5)
    half = (found.high - found.low) / 2
    assert half == pytest.approx(8.66475 * 0.0188301**0.5, rel=1e-4)


def test_seeds_that_agree_leave_the_interval_to_the_reviews():
    right = np.tile([[1, 1, 0, 0, 0, 1], [1, 1, 0, 0, 1, 0]], 10).astype(bool)  # (2, 60)
    # Mean squares: seeds 0, reviews 20 / 59, rest 10 / 59.
    found = statistics.gain(right, np.zeros((1, 60), bool))
    assert found.degrees_of_freedom == pytest.approx(59)
    assert found.high - found.mean == pytest.approx(2.0010 * (10 / 59 / 120) ** 0.5, rel=1e-4)


def test_reviews_that_vary_less_than_chance_leave_the_interval_to_the_seeds():
    # No review is right for both seeds, so that the reviews' component would be negative.
    right = np.arange(100) < 60
    found = statistics.gain(np.stack([right, np.arange(100) >= 70]), np.zeros((1, 100), bool))
    assert found.degrees_of_freedom == pytest.approx(1)
    assert found.high - found.mean == pytest.approx(12.706 * 0.15, rel=1e-4)


def test_intervals_cover_as_often_as_they_say():
    condition = Condition(seeds=3, reviews=2_000, accuracy=0.94, seed_sd=0.01)
    check_coverage(condition, repeats=600)  # the whole grid: tests/faults


def test_a_pair_is_told_apart_where_two_intervals_overlap():
    right = draws(0.85, 5, 2_000)
    better = right | (np.arange(2_000) < 40)
    assert statistics.accuracy(better).low < statistics.accuracy(right).high
    found = statistics.gain(better, right)
    assert found.is_above_0
    assert found.mean == pytest.approx(better.mean() - right.mean())
    assert statistics.gain(right, better).is_below_0


def test_what_has_no_seed_is_compared_with_every_seed():
    right, fixed = draws(0.85, 5, 2_000, spread=0.02), draws(0.8, 1, 2_000, seed=1)
    assert statistics.gain(right, fixed) == statistics.gain(right, np.tile(fixed, (5, 1)))


def test_other_reviews_may_differ_where_these_do_not():
    right = draws(0.85, 5, 2_000)
    same = statistics.gain(right, right)
    assert same.mean == 0
    assert same.p_value == 1
    assert same.high == -same.low == pytest.approx(3 / 2_000, rel=0.03)
    # Models that agree always could show any gain.
    assert statistics.detectable_gain(right, right, seeds=5, reviews=300) == 0
    every = statistics.accuracy(np.ones((3, 2_000), bool))
    assert every.high == every.mean == 1
    assert every.low == pytest.approx(1 - 3 / 2_000, abs=1e-4)
    assert statistics.accuracy(np.zeros((3, 2_000), bool)).low == 0


@given(st.integers(0, 1_000), st.sampled_from([1, 3, 5]), st.floats(0, 0.04))
def test_p_values_and_intervals_agree(seed, seeds, spread):
    found = statistics.gain(draws(0.85, seeds, 500, spread, seed), draws(0.83, seeds, 500))
    assert (found.p_value < 0.05) == (found.is_above_0 or found.is_below_0)


def test_detectable_gain_against_a_worked_example():
    right = np.tile([[1, 1, 0, 1], [1, 0, 0, 1]], 10).astype(bool)  # (2, 40)
    # As in the worked example above, with components 0.0288 of the seeds, 0.1282 of the reviews and
    # 0.0962 of the rest; t for 9.3949 degrees is 2.2477 and 0.8816.
    found = statistics.detectable_gain(right, np.zeros((2, 40), bool), seeds=10, reviews=1_000)
    of_seeds = 0.028846 / 10 + 0.096154 / 10_000
    of_reviews = 0.128205 / 1_000
    assert found == pytest.approx((2.2477 + 0.8816) * (of_seeds + of_reviews) ** 0.5, rel=1e-3)


def test_a_detectable_gain_is_mostly_found():
    large = Condition(seeds=5, reviews=20_000, accuracy=0.9, seed_sd=0.003)
    generator = np.random.default_rng(0)
    plans = range(500, 8_000, 250)
    pair = large.draw(generator)[::-1]
    # How many reviews the simulated gain takes by the formula, and how often they then show it.
    gains = {n: statistics.detectable_gain(*pair, seeds=5, reviews=n) for n in plans}
    reviews = min(n for n in plans if gains[n] <= GAIN)
    planned = replace(large, reviews=reviews)
    found = [statistics.gain(*planned.draw(generator)[::-1]).is_above_0 for _ in range(400)]
    assert 0.7 < np.mean(found) < 0.9


@given(st.lists(st.floats(0, 1), max_size=6))
def test_holm_is_bonferroni_closed(p_values):
    every = range(len(p_values))
    sets = [chosen for size in every for chosen in combinations(every, size + 1)]
    # A hypothesis is rejected where Bonferroni rejects each set of hypotheses that it belongs to.
    of_sets = {chosen: min(len(chosen) * min(p_values[i] for i in chosen), 1) for chosen in sets}
    expected = [max(p for chosen, p in of_sets.items() if i in chosen) for i in every]
    assert statistics.holm(p_values) == pytest.approx(expected)


def test_prediction_interval_against_a_worked_example():
    # Mean 3, s = √2.5; t = 2.776 for 4 degrees of freedom.
    low, high = statistics.prediction_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert low == pytest.approx(3 - 2.776 * 2.5**0.5 * 1.2**0.5, abs=1e-3)
    assert high == pytest.approx(3 + 2.776 * 2.5**0.5 * 1.2**0.5, abs=1e-3)
    assert statistics.prediction_interval([0.9]) == (-inf, inf)  # of one run it is everything


def test_reliability_sums_seeds_up():
    one = [[4, 1.0, 1], [0, 0.0, 0], [6, 5.4, 3]]
    other = [[0, 0.0, 0], [0, 0.0, 0], [4, 3.6, 3]]
    bins = statistics.reliability([one, other])
    assert bins == [(0.25, 0.25, 4), (0.9, 0.6, 10)]
    assert statistics.calibration_error(bins) == pytest.approx(0.3 * 10 / 14)

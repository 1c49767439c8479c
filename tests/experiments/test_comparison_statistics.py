"""The comparison's intervals, gains and calibration, and the words for them."""

import json
from math import inf
from statistics import fmean

import numpy as np
import pytest

from experiments.comparison import statistics
from experiments.comparison.page import Results, listed, percent, points


def draws(share, seeds, n, spread=0.0, seed=0):
    """Draw right answers: seeds differ in their share, and find the same reviews hard."""
    generator = np.random.default_rng(seed)
    shares = share + spread * generator.standard_normal((seeds, 1))
    return generator.random(n) < shares


def test_bits_come_back():
    right = np.random.default_rng(0).random(2_003) < 0.9
    packed = statistics.pack(right)
    assert len(packed) < 2_003 / 5
    assert np.array_equal(statistics.correct({"correct": packed, "n": 2_003}), right)


def test_interval_of_one_run_is_that_of_a_share():
    right = np.arange(1_000)[None] < 900
    found = statistics.accuracy(right)
    half = 1.96 * (0.9 * 0.1 / 1_000) ** 0.5
    assert found.mean == 0.9
    assert found.low == pytest.approx(0.9 - half, abs=0.002)
    assert found.high == pytest.approx(0.9 + half, abs=0.002)


def test_interval_of_seeds_is_as_wide_as_students():
    # Each seed is right on every review or on none: nothing is left to the reviews.
    shares = np.array([0.80, 0.82, 0.84, 0.86, 0.88])
    n = 1_000
    right = np.arange(n)[None] < (shares * n)[:, None]
    found = statistics.accuracy(right)
    of_reviews = 1.96 * (0.84 * 0.16 / n) ** 0.5
    of_seeds = 2.776 * shares.std(ddof=1) / 5**0.5
    both = (of_reviews**2 + of_seeds**2) ** 0.5
    assert (found.high - found.low) / 2 == pytest.approx(both, rel=0.1)


def test_intervals_hold_what_they_promise():
    missed = 0
    for seed in range(200):
        found = statistics.accuracy(draws(0.85, 5, 500, spread=0.03, seed=seed))
        missed += not found.low <= 0.85 <= found.high
    assert 2 <= missed <= 18  # 5 % of 200, and what chance makes of it


def test_a_pair_is_told_apart_where_two_intervals_overlap():
    right = draws(0.85, 5, 2_000)
    better = right.copy()
    better[:, :40] = True
    one, other = statistics.accuracy(right), statistics.accuracy(better)
    assert other.low < one.high
    found = statistics.gain(better, right, same_seeds=True)
    assert found.is_above_0
    assert not found.is_below_0
    assert found.mean == pytest.approx(better.mean() - right.mean())
    assert statistics.gain(right, better, same_seeds=True).is_below_0


def test_no_difference_is_no_gain():
    right = draws(0.85, 5, 2_000)
    same = statistics.gain(right, right, same_seeds=True)
    assert (same.low, same.mean, same.high) == (0, 0, 0)
    other = statistics.gain(right, draws(0.85, 5, 2_000, seed=1))
    assert not other.is_above_0
    assert not other.is_below_0
    assert statistics.gain(right, draws(0.85, 1, 2_000, seed=1)).low < 0


def test_intervals_are_the_same_each_time():
    right = draws(0.85, 5, 503, spread=0.02)
    assert statistics.accuracy(right) == statistics.accuracy(right)


def test_prediction_interval_against_a_worked_example():
    # Mean 3, s = √2.5; t = 2.776 for 4 degrees of freedom.
    low, high = statistics.prediction_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    assert low == pytest.approx(3 - 2.776 * 2.5**0.5 * 1.2**0.5, abs=1e-3)
    assert high == pytest.approx(3 + 2.776 * 2.5**0.5 * 1.2**0.5, abs=1e-3)


def test_prediction_interval_of_one_run_is_everything():
    assert statistics.prediction_interval([0.9]) == (-inf, inf)


def test_prediction_interval_of_eleven_runs():
    figures = [0.8 + i / 100 for i in range(11)]
    low, high = statistics.prediction_interval(figures)
    # s = 0.1 √0.11; t = 2.228 for 10 degrees of freedom (Student, 1908).
    half = 2.228 * (0.11 * 0.01) ** 0.5 * (12 / 11) ** 0.5
    assert low == pytest.approx(fmean(figures) - half, abs=1e-4)
    assert high == pytest.approx(fmean(figures) + half, abs=1e-4)


def test_reliability_sums_seeds_up():
    one = [[4, 1.0, 1], [0, 0.0, 0], [6, 5.4, 3]]
    other = [[0, 0.0, 0], [0, 0.0, 0], [4, 3.6, 3]]
    bins = statistics.reliability([one, other])
    assert bins == [(0.25, 0.25, 4), (0.9, 0.6, 10)]
    assert statistics.calibration_error(bins) == pytest.approx(0.3 * 10 / 14)


def plain(text):
    return text.replace("\u2060", "").replace("\u00a0", " ")


def test_words_for_figures():
    found = statistics.Estimate(0.8812, 0.8699, 0.9)
    assert plain(percent(found)) == "88.1 (87.0–90.0)"
    assert plain(points(statistics.Estimate(0.013, -0.002, 0.03))) == "+1.3 (−0.2 to +3.0)"
    gone = points(statistics.Estimate(-0.013, -0.02, -0.003))
    assert plain(gone) == "**−1.3 (−2.0 to −0.3)**"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_a_page_of_nothing_says_so(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"cells": {}, "test": None}))
    results = Results(tmp_path / "results.json")
    assert results.state("ladder/mean") == "not run yet"
    assert percent(results.accuracy("ladder/mean", "clean")) == "not run yet"
    assert points(results.gain("ladder/qk", "ladder/mean", "clean")) == "not run yet"
    assert results.without_a_win("mean", "clean") == []
    assert results.origin() == "Nothing has been run yet."

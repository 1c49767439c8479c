"""Intervals of the comparison's figures: over reviews and over seeds at once, by one bootstrap."""

import base64
import functools
from dataclasses import dataclass
from math import inf
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, t

RESAMPLES = 4_000
_UPPER = 0.975  # a two-sided interval of 95 % ends here

Bools = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Estimate:
    """A figure, and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def is_above_0(self) -> bool:
        """Tell whether a difference is one, in favour of the first."""
        return self.low > 0

    @property
    def is_below_0(self) -> bool:
        """Tell whether a difference is one, in favour of the second."""
        return self.high < 0


def pack(correct: Bools) -> str:
    """Write true and false as bits in base 64, eight to a byte."""
    return base64.b64encode(np.packbits(correct).tobytes()).decode()


def correct(measured: dict[str, Any]) -> Bools:
    """Read which of a run's answers were right, (N,), boolean."""
    packed = np.frombuffer(base64.b64decode(measured["correct"]), np.uint8)
    return np.unpackbits(packed, count=measured["n"]).astype(bool)


@functools.lru_cache(maxsize=4)
def _draws_of_reviews(n: int, seed: int) -> Floats:
    """Draw n reviews of n with replacement, often: how often each came, (R, n)."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float32)


def _resampled(answers: Bools | NDArray[np.int8], seed: int) -> Floats:
    """Draw reviews and seeds anew, often, and average: (S, N) → (R,)."""
    seeds, n = answers.shape
    each = _draws_of_reviews(n, seed=0) @ answers.T.astype(np.float32) / n  # (R, S)
    centre: Floats = each.mean(axis=1)  # (R,)
    if seeds == 1:
        return centre
    generator = np.random.default_rng(seed)
    drawn = generator.integers(seeds, size=each.shape)  # (R, S)
    # Seeds drawn from a handful vary less than new ones would: by √((S − 1)/S), and with tails
    # that are the normal distribution's where they should be Student's.
    tails = float(t.ppf(_UPPER, seeds - 1) / norm.ppf(_UPPER))
    stretch = tails * (seeds / (seeds - 1)) ** 0.5
    of_seeds: Floats = np.take_along_axis(each, drawn, axis=1).mean(axis=1)  # (R,)
    resampled: Floats = centre + stretch * (of_seeds - centre)  # (R,)
    return resampled


def accuracy(answers: Bools) -> Estimate:
    r"""Estimate the accuracy on other reviews like these, of a model trained with another seed.

    Args:
        answers: Which answers were right, one row per seed. With one row, as for what has no seed,
            the interval covers the reviews alone.

    Shape:
        - answers: :math:`(S, N)`
    """
    return _estimate(answers.mean(), _resampled(answers, seed=1))


def gain(answers: Bools, than: Bools, *, same_seeds: bool = False) -> Estimate:
    r"""Estimate how much more often the first is right than the second, on the same reviews.

    Args:
        answers: Which answers of the first were right.
        than: Likewise of the second.
        same_seeds: Whether a row of the first and a row of the second had the same seed, which
            is then drawn for both.

    Shape:
        - answers, than: :math:`(S, N)`; the numbers of rows may differ without ``same_seeds``
    """
    mean = answers.mean() - than.mean()
    if same_seeds:
        return _estimate(mean, _resampled(answers.astype(np.int8) - than.astype(np.int8), seed=1))
    return _estimate(mean, _resampled(answers, seed=1) - _resampled(than, seed=2))


def _estimate(mean: float, resampled: Floats) -> Estimate:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Estimate(float(mean), float(low), float(high))


def prediction_interval(figures: list[float]) -> tuple[float, float]:
    r"""Predict where one more figure lies, with 95 %, if seeds differ normally.

    .. math:: \bar x \pm t_{S-1}\, s \sqrt{1 + 1/S}

    One figure says nothing of how much they vary, so any other is possible.
    """
    count = len(figures)
    if count == 1:
        return -inf, inf
    half = float(t.ppf(_UPPER, count - 1)) * stdev(figures) * (1 + 1 / count) ** 0.5
    return fmean(figures) - half, fmean(figures) + half


def reliability(calibrations: list[list[list[float]]]) -> list[tuple[float, float, int]]:
    """Sum several seeds up: for each bin the mean probability, the share of positives, the count.

    Empty bins are left out.
    """
    rows = np.array(calibrations).sum(axis=0)  # (bins, 3)
    return [(total / n, positive / n, int(n)) for n, total, positive in rows if n]


def calibration_error(bins: list[tuple[float, float, int]]) -> float:
    """Average how far a bin's share of positives is from its mean probability, by its count."""
    every = sum(n for _, _, n in bins)
    return sum(n * abs(share - probability) for probability, share, n in bins) / every

"""How sure the ladder's figures are: over reviews and over seeds at once, by one bootstrap."""

import base64
import functools
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

import numpy as np

RESAMPLES = 4_000
# Two-sided 95 % quantiles of Student's t, by degrees of freedom (Student, 1908).
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
Z95 = NormalDist().inv_cdf(0.975)


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


def pack(correct: np.ndarray) -> str:
    """Write true and false as bits in base 64, eight to a byte."""
    return base64.b64encode(np.packbits(correct)).decode()


def correct(measured: dict) -> np.ndarray:
    """Read which of a run's answers were right, (N,), boolean."""
    packed = np.frombuffer(base64.b64decode(measured["correct"]), np.uint8)
    return np.unpackbits(packed, count=measured["n"]).astype(bool)


@functools.lru_cache(maxsize=4)
def _draws_of_reviews(n: int, seed: int) -> np.ndarray:
    """Draw n reviews of n with replacement, often: how often each came, (R, n)."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(n, np.full(n, 1 / n), size=RESAMPLES).astype(np.float32)


def _resampled(answers: np.ndarray, seed: int) -> np.ndarray:
    """Draw reviews and seeds anew, often, and average: (S, N) → (R,)."""
    seeds, n = answers.shape
    each = _draws_of_reviews(n, seed=0) @ answers.T.astype(np.float32) / n  # (R, S)
    centre = each.mean(axis=1)  # (R,)
    if seeds == 1:
        return centre
    generator = np.random.default_rng(seed)
    drawn = generator.integers(seeds, size=each.shape)  # (R, S)
    # Seeds drawn from a handful vary less than new ones would: by √((S − 1)/S), and with tails
    # that are the normal distribution's where they should be Student's.
    stretch = T95[min(seeds - 1, 9)] / Z95 * (seeds / (seeds - 1)) ** 0.5
    return centre + stretch * (np.take_along_axis(each, drawn, axis=1).mean(axis=1) - centre)


def accuracy(answers: np.ndarray) -> Estimate:
    r"""Estimate the accuracy on other reviews like these, of a model trained with another seed.

    Args:
        answers: Which answers were right, a row a seed. With one row, as for what has no seed,
            the interval speaks of reviews alone.

    Shape:
        - answers: :math:`(S, N)`
    """
    return _estimate(answers.mean(), _resampled(answers, seed=1))


def gain(answers: np.ndarray, than: np.ndarray, *, same_seeds: bool = False) -> Estimate:
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


def _estimate(mean: float, resampled: np.ndarray) -> Estimate:
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Estimate(float(mean), float(low), float(high))


def prediction_interval(figures: list[float]) -> tuple[float, float]:
    r"""Say where one more figure is to be expected, with 95 %, if seeds differ normally.

    .. math:: \bar x \pm t_{S-1}\, s \sqrt{1 + 1/S}
    """
    count = len(figures)
    half = T95[count - 1] * stdev(figures) * (1 + 1 / count) ** 0.5
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

"""The comparison's statistics: intervals over reviews and seeds, Holm's correction, calibration."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

_UPPER = 0.975  # a two-sided interval of 95 % ends here
_POWER = 0.8

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % confidence interval, as a share: 0.01 is one percentage point."""

    mean: float
    low: float
    high: float
    degrees_of_freedom: float
    """Degrees of freedom of the t distribution that interval and p-value are taken from."""
    p_value: float
    """Two-sided, of the hypothesis that the figure is 0; below 0.05 where the interval has no 0."""

    @property
    def is_above_0(self) -> bool:
        """Tell whether a difference is significant, in favour of the first."""
        return self.low > 0

    @property
    def is_below_0(self) -> bool:
        """Tell whether a difference is significant, in favour of the second."""
        return self.high < 0


def pack(correct: Bools) -> str:
    """Write true and false as bits in base 64, eight to a byte."""
    return base64.b64encode(np.packbits(correct).tobytes()).decode()


def correct(measured: dict[str, Any]) -> Bools:
    """Read which of a run's answers were right, (N,), boolean."""
    packed = np.frombuffer(base64.b64decode(measured["correct"]), np.uint8)
    return np.unpackbits(packed, count=measured["n"]).astype(bool)


def accuracy(answers: Bools) -> Estimate:
    r"""Estimate the accuracy on other reviews like these, of a model trained with other seeds.

    A crossed random-effects model takes an answer apart, because every seed meets the same reviews,
    and a review that is hard for one seed is mostly hard for another:

    .. math::
        y_{si} &= \mu + \alpha_s + \beta_i + \varepsilon_{si} \\
        \operatorname{Var} \bar y &= \frac{\sigma_\mathrm{seed}^2}{S}
        + \frac{\sigma_\mathrm{review}^2}{N} + \frac{\sigma_\mathrm{rest}^2}{SN}

    A seed stands for all that it draws: the initial weights and the order of the batches, and the
    split and the distractors where these differ among the seeds. The effects of the seeds are taken
    as normally distributed, and the reviews as independent of each other.

    Args:
        answers: Which answers were right, one row per seed, at least two reviews. With one row,
            the interval covers the reviews alone, because nothing shows how much seeds vary.

    Shape:
        - answers: :math:`(S, N)`
    """
    estimate = _estimate(answers)
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def gain(answers: Bools, than: Bools) -> Estimate:
    r"""Estimate by how much the first is more accurate than the second, on the same reviews.

    The differences :math:`y_{si} - y'_{si}`, each within a seed and a review, are estimated as
    :func:`accuracy` estimates answers. What makes a seed or a review easy for both models cancels.

    Args:
        answers: Which answers of the first were right, one row per seed.
        than: Likewise of the second, with the same seeds in the same order. One row, as of a model
            that has no seed, is compared with every row of the other.

    Shape:
        - answers, than: :math:`(S, N)` or :math:`(1, N)`
    """
    return _estimate(answers.astype(np.int8) - than.astype(np.int8))


def _estimate(answers: Bools | NDArray[np.int8]) -> Estimate:
    r"""Estimate a mean over seeds and reviews, both drawn at random, (S, N).

    The variance is estimated from the mean squares of the two-way analysis of variance (Searle,
    Casella and McCulloch, *Variance Components*, 1992, chapter 4),

    .. math::
        \widehat{\operatorname{Var}}\, \bar y = \frac{1}{SN} \bigl(\mathrm{MS}_\mathrm{seed}
        + \max(\mathrm{MS}_\mathrm{review} - \mathrm{MS}_\mathrm{rest}, 0)\bigr)

    where only the component of the reviews is kept from being negative. If that of the seeds were,
    too, the intervals of gains would be too wide. The term of the seeds is the share :math:`w` of
    this variance, which determines the degrees of freedom of Student's t,

    .. math:: \frac{1}{\nu} = \frac{w}{S - 1} + \frac{1 - w}{N - 1}

    Satterthwaite (*Biometrics Bulletin* 2, 1946) squares the shares. These are estimates, however,
    and if three seeds happen to agree, their share is too small and the degrees of freedom are too
    many, so that the intervals contain the truth less often than they should. Shares that are not
    squared keep the coverage between 93 and 97 %, by the simulation in
    ``tests/faults/test_interval_coverage.py``.
    """
    seeds, n = answers.shape
    mean, of_seed, of_review, ms_rest = _apart(answers)
    of_seeds = of_seed / seeds
    of_reviews = max(of_review - ms_rest / seeds, 0) / n
    # Where all answers agree, 3 of N other reviews may still differ, by the rule of three (Hanley
    # and Lippman-Hand, JAMA 249, 1983); this is half of that, because t is about 2.
    variance = max(of_seeds + of_reviews, (1.5 / n) ** 2)
    degrees_of_freedom = _degrees_of_freedom(of_seeds / variance, seeds, n)
    standard_error = float(variance**0.5)
    half = float(t.ppf(_UPPER, degrees_of_freedom)) * standard_error
    p_value = 2 * float(t.sf(abs(mean) / standard_error, degrees_of_freedom))
    return Estimate(mean, mean - half, mean + half, degrees_of_freedom, p_value)


def _apart(answers: Bools | NDArray[np.int8]) -> tuple[float, float, float, float]:
    """Return the mean, the variances of the seeds' and the reviews' means, and the rest's."""
    seeds, n = answers.shape
    by_seed, by_review = answers.mean(axis=1), answers.mean(axis=0)  # (S,), (N,)
    mean = float(by_seed.mean())
    rest = answers - by_seed[:, None] - by_review + mean  # (S, N)
    other_seeds = max(seeds - 1, 1)  # of one seed, what is divided by this is 0
    of_seed = float(((by_seed - mean) ** 2).sum() / other_seeds)
    ms_rest = float((rest**2).sum() / (other_seeds * (n - 1)))
    return mean, of_seed, float(by_review.var(ddof=1)), ms_rest


def _degrees_of_freedom(share_of_seeds: float, seeds: int, n: int) -> float:
    return 1 / (share_of_seeds / max(seeds - 1, 1) + (1 - share_of_seeds) / (n - 1))


def detectable_gain(answers: Bools, than: Bools, *, seeds: int, reviews: int) -> float:
    r"""Estimate how large a gain must be for so many seeds and reviews to find it mostly.

    A test at 5 % finds it with a power of about 80 %,

    .. math::
        \delta = (t_{0.975, \nu} + t_{0.8, \nu}) \sqrt{\frac{\sigma_\mathrm{seed}^2}{S}
        + \frac{\sigma_\mathrm{review}^2}{N} + \frac{\sigma_\mathrm{rest}^2}{SN}}

    where the components of the variance are those of the differences in what was measured, none
    of them below 0, and :math:`\nu` is as for :func:`gain`.

    Args:
        answers: Which answers of the first model were right, one row per seed, at least two.
        than: Likewise of the second, with the same seeds in the same order.
        seeds: The number of seeds of the planned experiment, at least two.
        reviews: The number of its reviews.

    Shape:
        - answers, than: :math:`(S, N)`

    Source:
        The sum of two quantiles is the usual approximation of the non-central t distribution, as in
        Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 1988.
    """
    measured, n = answers.shape
    _, of_seed, of_review, of_rest = _apart(answers.astype(np.int8) - than.astype(np.int8))
    of_seed, of_review = max(of_seed - of_rest / n, 0), max(of_review - of_rest / measured, 0)
    of_seeds = of_seed / seeds + of_rest / (seeds * reviews)
    variance = of_seeds + of_review / reviews
    if not variance:
        return 0.0
    degrees_of_freedom = _degrees_of_freedom(of_seeds / variance, seeds, reviews)
    quantiles = t.ppf([_UPPER, _POWER], degrees_of_freedom)
    return float(quantiles.sum() * variance**0.5)


def holm(p_values: Sequence[float]) -> list[float]:
    r"""Adjust p-values for the number of hypotheses (Holm, *Scand. J. Statist.* 6, 1979).

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl((m - j + 1)\, p_{(j)},\, 1\bigr)

    If the hypotheses with an adjusted p-value below 0.05 are rejected, a true one is among them
    with a probability of at most 5 %, however many are true and however they depend on each other.

    Args:
        p_values: One per hypothesis.

    Returns:
        The adjusted p-values, in the same order.
    """
    p = np.asarray(p_values)  # (m,)
    order = np.argsort(p)  # (m,)
    adjusted = np.empty(len(p))  # (m,)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return [float(each) for each in adjusted]


def prediction_interval(figures: list[float]) -> tuple[float, float]:
    r"""Predict with 95 % where one more figure will be, if seeds are normally distributed.

    .. math:: \bar x \pm t_{S-1}\, s \sqrt{1 + 1/S}

    A single figure says nothing about how much seeds vary, so any other figure is possible.
    """
    count = len(figures)
    if count == 1:
        return -inf, inf
    half = float(t.ppf(_UPPER, count - 1)) * stdev(figures) * (1 + 1 / count) ** 0.5
    return fmean(figures) - half, fmean(figures) + half


def reliability(calibrations: list[list[list[float]]]) -> list[tuple[float, float, int]]:
    """Sum over seeds, and return for each bin its mean probability, share of positives and count.

    Empty bins are left out.
    """
    rows = np.array(calibrations).sum(axis=0)  # (bins, 3)
    return [(total / n, positive / n, int(n)) for n, total, positive in rows if n]


def calibration_error(bins: list[tuple[float, float, int]]) -> float:
    """Average the distance of a bin's share of positives from its mean probability, by count."""
    every = sum(n for _, _, n in bins)
    return sum(n * abs(share - probability) for probability, share, n in bins) / every

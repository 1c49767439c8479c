"""Simulated answers of two models with known accuracies, and the coverage of their intervals."""

from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np

from experiments.comparison import statistics

NORMAL = NormalDist()
GAIN = 0.01
# The share of an answer's variance due to reviews, which is how much seeds agree on the hard ones.
OF_REVIEWS = 0.9
# How much the effects of the two models correlate.
SAME_REVIEWS, SAME_SEEDS = 0.9, 0.5


@dataclass(frozen=True)
class Condition:
    """The condition under which answers are drawn.

    An answer is right if the sum of a constant, the effect of its seed, that of its review and its
    own effect is above 0. The effects are normal and their variances add up to 1, so the accuracy
    over all seeds and reviews is exactly the given one.
    """

    seeds: int
    reviews: int
    accuracy: float
    """The accuracy of the first model; that of the second is higher by GAIN."""
    seed_sd: float
    """The standard deviation of a model's accuracy among seeds."""

    def draw(self, generator):
        """Draw whether each of both models' answers is right, (2, S, N)."""

        def normal(*shape):
            return generator.standard_normal(shape, dtype=np.float32)

        def correlated(correlation, *shape):
            shared, own = normal(1, *shape), normal(2, *shape)
            return correlation**0.5 * shared + (1 - correlation) ** 0.5 * own  # (2, *shape)

        constant = np.array([NORMAL.inv_cdf(self.accuracy + each) for each in (0, GAIN)])
        constant = constant.astype(np.float32)[:, None, None]  # (2, 1, 1)
        # At the constant, an effect on the sum changes the accuracy by the normal density.
        of_seeds = (self.seed_sd * (2 * np.pi) ** 0.5 * np.exp(constant**2 / 2)) ** 2  # (2, 1, 1)
        effects = of_seeds**0.5 * correlated(SAME_SEEDS, self.seeds, 1)  # (2, S, 1)
        effects = effects + OF_REVIEWS**0.5 * correlated(SAME_REVIEWS, 1, self.reviews)  # (2, S, N)
        rest = (1 - OF_REVIEWS - of_seeds) ** 0.5 * normal(2, self.seeds, self.reviews)  # (2, S, N)
        return constant + effects + rest > 0  # (2, S, N)


# Around what was measured: three or five seeds, thousands of reviews, accuracies and deviations.
CONDITIONS = product((3, 5), (2_000, 3_000), (0.85, 0.9, 0.94), (0.0, 0.003, 0.006, 0.01))
GRID = [Condition(*each) for each in CONDITIONS]


def check_coverage(condition, repeats):
    """Check that between 93 and 97 % of the nominal 95 % intervals contain the truth."""
    generator = np.random.default_rng(0)
    held = np.zeros(2)
    for _ in range(repeats):
        first, second = condition.draw(generator)
        accuracy, gain = statistics.accuracy(first), statistics.gain(second, first)
        held += (accuracy.low <= condition.accuracy <= accuracy.high, gain.low <= GAIN <= gain.high)
    allowance = 2.58 * (0.05 * 0.95 / repeats) ** 0.5  # 99 of 100 simulations are within it
    of_accuracy, of_gain = held / repeats
    assert 0.93 - allowance <= of_accuracy <= 0.97 + allowance
    assert 0.93 - allowance <= of_gain <= 0.97 + allowance

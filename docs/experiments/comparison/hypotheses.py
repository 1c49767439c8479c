"""The hypotheses, stated before the models were trained, and their tests."""

from typing import NamedTuple

from experiments.comparison.page import Results
from experiments.comparison.statistics import Estimate, holm

LEVEL = 0.05


class Hypothesis(NamedTuple):
    """The claim that two models differ in accuracy on a set of reviews."""

    first: str
    second: str
    on: str
    """A name of :data:`experiments.comparison.page.SETS`."""


class Tested(NamedTuple):
    """What was measured of a hypothesis."""

    gain: Estimate
    p_value: float
    """Adjusted for the number of hypotheses."""

    @property
    def is_significant(self) -> bool:
        """Whether the two models differ, at the level that was fixed beforehand."""
        return self.p_value < LEVEL


PRIMARY = Hypothesis("energy", "mean", "distractor")
SECONDARY = (
    Hypothesis("energy", "mean", "clean"),
    Hypothesis("qkv", "energy", "distractor"),
    Hypothesis("multihead", "qkv", "distractor"),
    Hypothesis("transformer-1", "qkv", "distractor"),
    Hypothesis("transformer-2", "transformer-1", "distractor"),
    Hypothesis("mean-bigrams", "mean", "clean"),
    Hypothesis("energy-marked", "energy", "distractor"),
    Hypothesis("energy-marked", "tfidf-marked", "distractor"),
    Hypothesis("energy-bigrams-marked", "tfidf-marked", "distractor"),
    Hypothesis("energy-bigrams-marked", "mean-bigrams-marked", "distractor"),
    Hypothesis("encoder-frozen", "tfidf-marked", "clean"),
    Hypothesis("encoder-fine-tuned", "encoder-frozen", "distractor"),
)
# What the page begins with: each step, in words.
FIRST = {
    "a learned weight per word": PRIMARY,
    "the same, reviews alone": SECONDARY[0],
    "queries, keys and values instead": SECONDARY[1],
    "four heads instead": SECONDARY[2],
    "a transformer block instead": SECONDARY[3],
    "a second block": SECONDARY[4],
    "words to ignore are marked": SECONDARY[6],
    "not word counts but attention,\nboth with the mark": SECONDARY[7],
}


def outcomes(results: Results) -> dict[Hypothesis, Tested]:
    """Test the primary hypothesis by itself, and the secondary ones together by Holm's method."""
    gains = [results.gain(*each) for each in (PRIMARY, *SECONDARY)]
    adjusted = [gains[0].p_value, *holm([each.p_value for each in gains[1:]])]
    tested = map(Tested, gains, adjusted)
    return dict(zip((PRIMARY, *SECONDARY), tested, strict=True))

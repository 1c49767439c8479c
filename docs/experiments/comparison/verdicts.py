"""The hypotheses, stated before the models were trained, and the sentences that results allow."""

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.comparison.page import MODELS, SETS, Results, listed, names, signed
from experiments.comparison.statistics import Estimate, holm

LEVEL = 0.05
COUNTS = ("none", "one", "two", "three", "all")  # of four
WORD_COUNTS = ("tfidf", "tfidf-marked", "after-separator")


@dataclass(frozen=True)
class Hypothesis:
    """The claim that two models differ in accuracy on a set of reviews."""

    first: str
    second: str
    on: str
    """A name of :data:`experiments.comparison.page.SETS`."""

    def gain(self, results: Results) -> Estimate | None:
        """Estimate by how much the first is more accurate than the second."""
        return results.gain(self.first, self.second, self.on)


@dataclass(frozen=True)
class Tested:
    """A hypothesis with what was measured."""

    hypothesis: Hypothesis
    gain: Estimate | None
    """None while one of the models is missing."""
    p_value: float
    """Adjusted for the number of hypotheses; 1 while one of the models is missing."""

    @property
    def is_significant(self) -> bool:
        """Whether the two models differ, at the level that was fixed beforehand."""
        return self.p_value < LEVEL

    @property
    def is_gain(self) -> bool:
        """Whether they differ, and the first is the more accurate one."""
        return self.is_significant and self.gain is not None and self.gain.mean > 0


PRIMARY = Hypothesis("energy", "mean", "distractor")
ALONE = Hypothesis("energy", "mean", "clean")
# Each adds something to one learned weight per word, or to the model of the step before.
STEPS = (
    Hypothesis("qkv", "energy", "distractor"),
    Hypothesis("multihead", "qkv", "distractor"),
    Hypothesis("transformer-1", "qkv", "distractor"),
    Hypothesis("transformer-2", "transformer-1", "distractor"),
)
SAME_MARK = Hypothesis("energy-marked", "tfidf-marked", "distractor")
SAME_INPUT = Hypothesis("energy-bigrams-marked", "tfidf-marked", "distractor")
SECONDARY = (
    ALONE,
    *STEPS,
    Hypothesis("mean-bigrams", "mean", "clean"),
    Hypothesis("energy-marked", "energy", "distractor"),
    SAME_MARK,
    SAME_INPUT,
    Hypothesis("energy-bigrams-marked", "mean-bigrams-marked", "distractor"),
    Hypothesis("encoder-frozen", "tfidf-marked", "clean"),
    Hypothesis("encoder-fine-tuned", "encoder-frozen", "distractor"),
)


def test_primary(results: Results) -> Tested:
    """Test the one hypothesis that is not adjusted."""
    gain = PRIMARY.gain(results)
    return Tested(PRIMARY, gain, gain.p_value if gain else 1.0)


def test_secondary(results: Results) -> dict[Hypothesis, Tested]:
    """Test the other hypotheses together.

    One that is missing counts as if it had a p-value of 1, so that the others are adjusted for all
    of them from the start, and only ever become more significant by what is run later.
    """
    gains = [each.gain(results) for each in SECONDARY]
    adjusted = holm([gain.p_value if gain else 1.0 for gain in gains])
    rows = zip(SECONDARY, gains, adjusted, strict=True)
    return {each: Tested(each, gain, p) for each, gain, p in rows}


def interval(gain: Estimate) -> str:
    """Write an interval of a gain in a sentence."""
    return f"95 % interval {signed(gain.low)} to {signed(gain.high)}"


def verdict(
    gain: Estimate | None,
    first: str,
    second: str,
    where: str,
    *,
    is_significant: bool | None = None,
) -> str:
    """Say in a sentence, without its full stop, whether the first model is more accurate.

    Args:
        gain: Of the first over the second.
        first: What the sentence calls the first.
        second: What it calls the second.
        where: On which reviews, as in :data:`experiments.comparison.page.SETS`.
        is_significant: Whether they differ; without it, whether the interval excludes 0.
    """
    if gain is None:
        return f"{where}, {first} has not been compared with {second} yet"
    excludes_0 = gain.is_above_0 or gain.is_below_0
    if excludes_0 if is_significant is None else is_significant:
        direction = "more" if gain.mean > 0 else "less"
        by = f"{100 * abs(gain.mean):.1f} percentage points"
        return f"{where}, {first} is {direction} accurate than {second}, by {by} ({interval(gain)})"
    corrected = ", which is not significant after Holm's correction" if excludes_0 else ""
    return (
        f"{where}, no significant difference between {first} and {second} is found "
        f"({signed(gain.mean)} percentage points, {interval(gain)}{corrected})"
    )


def answer(results: Results) -> str:
    """Answer the page's question in a few sentences, as far as the models have been trained."""
    distractor = "A distractor is another review, in front of the review whose label counts."
    return (
        f"{_primary(results)} {distractor} {_above_one_weight(results)} "
        f"{_against_word_counts(results)}"
    )


def progress(results: Results) -> str:
    """Say how many of the registered comparisons have been run, while some are missing."""
    tests = [test_primary(results), *test_secondary(results).values()]
    run = sum(each.gain is not None for each in tests)
    if run == len(tests):
        return ""
    return (
        f":::{{note}}\nOf the {len(tests)} preregistered comparisons, {run} have been run so far. "
        "The rest of the page answers the questions as far as these allow, and says of each "
        "missing model that it has not been run yet.\n:::"
    )


def _primary(results: Results) -> str:
    tested = test_primary(results)
    if tested.gain is None:
        return (
            "The two models that will answer this question, the mean of all words and energy "
            "pooling, which gives each word a learned weight, have not both been trained yet."
        )
    said = verdict(
        tested.gain,
        "energy pooling, which gives each word a learned weight,",
        "the mean of all words",
        SETS["distractor"],
        is_significant=tested.is_significant,
    )
    if not tested.is_significant:
        return f"Not as far as five seeds show: {said}."
    return f"{'Yes' if tested.gain.mean > 0 else 'No'}, where a review has to be found: {said}."


def _above_one_weight(results: Results) -> str:
    tested = test_secondary(results)
    alone = tested[ALONE]
    steps = [tested[each] for each in STEPS]
    gaining = [
        f"`{each.hypothesis.first}` over `{each.hypothesis.second}`"
        for each in steps
        if each.is_gain
    ]
    missing = sum(each.gain is None for each in steps)
    said = verdict(
        alone.gain,
        "energy pooling",
        "the mean",
        "on film reviews without a distractor, with 20,000 to learn from",
        is_significant=alone.is_significant,
    )
    on_yelp = results.gain("yelp/energy", "yelp/mean", "clean")
    if on_yelp and (on_yelp.is_below_0 or on_yelp.is_above_0):
        how = "less" if on_yelp.is_below_0 else "more"
        by = f"{signed(on_yelp.mean)}, {interval(on_yelp)}"
        said += f". On Yelp reviews without a distractor it is {how} accurate than the mean ({by})"
    if missing == len(steps):
        above = "None of the four steps above one learned query has been run yet"
    else:
        run = len(steps) - missing
        of = (
            f"{COUNTS[run]} {'has' if run == 1 else 'have'} been run, and of these "
            if missing
            else ""
        )
        which = {0: "none gains anything significant", 1: "one gains significantly"}
        gain = which.get(len(gaining), f"{COUNTS[len(gaining)]} gain significantly")
        named = f", {listed(gaining)}" if gaining else ""
        above = (
            "Of the four steps from the one learned query of energy pooling up to two transformer "
            f"blocks, {of}{gain} behind a distractor{named}"
        )
    return f"{said[0].upper()}{said[1:]}. {above}."


def _against_word_counts(results: Results) -> str:
    counts = results.accuracy("tfidf-marked", "distractor")
    if counts is None:
        return (
            "Word counts in which the words of the distractor are marked have not been trained yet."
        )
    counted = "word counts that mark the words of the distractor"
    tested = test_secondary(results)[SAME_MARK]
    if tested.gain is None:
        said = (
            f"{counted.capitalize()} have not yet been compared with energy pooling with the same "
            "mark."
        )
    elif tested.is_significant:
        less_or_more = "less" if tested.gain.mean > 0 else "more"
        said = (
            f"Behind a distractor, {counted} are right {less_or_more} often than energy pooling "
            "with the same mark."
        )
    else:
        said = (
            f"Behind a distractor, for {counted}, no significant difference from energy pooling "
            "with the same mark is found."
        )
    with_pairs = test_secondary(results)[SAME_INPUT]
    if with_pairs.gain and not with_pairs.is_significant:
        said += (
            " Once energy pooling also reads pairs of words, no difference from these word counts "
            "is found."
        )
    found = {name: results.accuracy(name, "distractor") for name in MODELS}
    shown = {name: f"{100 * each.mean:.1f}" for name, each in found.items() if each}
    highest = max(shown.values(), key=float)
    # A lead that the printed figure does not show is no lead.
    title = {
        "after-separator": "word counts that read only what follows the distractor",
        "default": "our preset `default`",
        "encoder-fine-tuned": "the fine-tuned encoder",
    }
    called = [title.get(name, f"`{name}`") for name in MODELS if shown.get(name) == highest]
    return (
        f"{said} These word counts are right for {100 * counts.mean:.1f} % of the reviews behind a "
        f"distractor. The highest accuracy there, {highest} %, is that of {listed(called[::-1])}."
    )


def most_accurate(results: Results, cells: Iterable[str], of: str) -> str:
    """Name the cell with the highest accuracy of those that have been run."""
    found = {name: results.accuracy(name, of) for name in cells}
    return max(found, key=lambda name: each.mean if (each := found[name]) else -1.0)


def sorted_by_gain(
    results: Results, cells: Iterable[str], than: str, of: str
) -> tuple[list[str], list[str], list[str]]:
    """Sort cells by the interval of their gain over another: above 0, with 0 in it, below 0."""
    above: list[str] = []
    neither: list[str] = []
    below: list[str] = []
    for name in cells:
        gain = results.gain(name, than, of)
        if gain and name != than:
            (above if gain.is_above_0 else below if gain.is_below_0 else neither).append(name)
    return above, neither, below


def against(results: Results, baseline: str, of: str) -> str:
    """Say how many models a baseline beats, and name those that it does not."""
    models = [name for name in MODELS if name not in ("majority", *WORD_COUNTS)]
    above, neither, below = sorted_by_gain(results, models, baseline, of)
    count = len(above) + len(neither) + len(below)
    if not count:
        return f"`{baseline}` has not been compared with other models yet."
    if len(below) == count:
        beaten = {1: "the one model", 2: "both models"}.get(count, f"all {count} models")
    else:
        beaten = f"{len(below) or 'none'} of the {count} models"
    less = f", less accurate than {names(above)}" if above else ""
    undecided = (
        f" No significant difference is found between `{baseline}` and {names(neither)}."
        if neither
        else ""
    )
    return (
        f"`{baseline}` is more accurate than {beaten} with word vectors that "
        f"{'has' if count == 1 else 'have'} been run{less}.{undecided}"
    )


def leaders(results: Results, curves: dict[str, dict[int, str]], of: str) -> str:
    """Say which model is the most accurate at each number of training reviews."""
    sizes = sorted({size for cells in curves.values() for size in cells})
    best: dict[str, list[int]] = {}
    for size in sizes:
        cells = {cells[size]: model for model, cells in curves.items() if results.runs(cells[size])}
        if cells:
            best.setdefault(cells[most_accurate(results, cells, of)], []).append(size)
    if not best:
        return f"On reviews {SETS[of]}, nothing has been run yet."
    if sizes in best.values():
        (name,) = best
        return (
            f"On reviews {SETS[of]}, `{name}` is the most accurate of these models at every number "
            "of training reviews."
        )
    parts = [f"`{name}` with {listed([f'{n:,}' for n in at])} reviews" for name, at in best.items()]
    return f"On reviews {SETS[of]}, the most accurate of these models is {listed(parts)}."


def by_size(results: Results, first: dict[int, str], second: dict[int, str], of: str) -> str:
    """Say with how many training reviews one model is more or less accurate than another.

    Args:
        results: What was measured.
        first: The cells of one model, by their number of training reviews.
        second: Those of the other.
        of: A name of :data:`experiments.comparison.page.SETS`.
    """
    gains = {size: results.gain(first[size], second[size], of) for size in second}
    sizes = {
        "is more accurate than": [
            f"{n:,}" for n, gain in gains.items() if gain and gain.is_above_0
        ],
        "is less accurate than": [
            f"{n:,}" for n, gain in gains.items() if gain and gain.is_below_0
        ],
    }
    decided = [size for found in sizes.values() for size in found]
    sizes["is not found to differ from"] = [
        f"{n:,}" for n, gain in gains.items() if gain and f"{n:,}" not in decided
    ]
    first_name, second_name = first[max(first)], second[max(second)]
    parts = [
        f"{how} `{second_name}` with {listed(found)} reviews"
        for how, found in sizes.items()
        if found
    ]
    return f"On reviews {SETS[of]}, `{first_name}` {listed(parts)}." if parts else ""


def takeaways(results: Results) -> str:
    """Answer the page's question once more, without figures, as far as the models are trained."""
    primary, secondary = test_primary(results), test_secondary(results)
    lines = [
        _takeaway(primary, "A learned weight for each word", "behind a distractor"),
        _takeaway(secondary[ALONE], "The same weight", "on film reviews without a distractor"),
    ]
    steps = [secondary[each] for each in STEPS]
    if all(each.gain for each in steps):
        gaining = [each for each in steps if each.is_gain]
        lines.append(
            f"{COUNTS[len(gaining)].capitalize()} of the four steps above one learned query made a "
            "model of this size significantly more accurate behind a distractor. The steps are "
            "self-attention with queries, keys and values, then several heads or a transformer "
            "block, and then a second block."
        )
    effects = [
        f"{_effect(gain)} {where}"
        for of, where in (("distractor", SETS["distractor"]), ("clean", "on reviews alone"))
        if (gain := results.gain("yelp/energy", "yelp/mean", of))
    ]
    if effects:
        lines.append(f"On Yelp the learned weight {' and '.join(effects)}, with three seeds.")
    return "\n".join(f"- {line}" for line in lines)


def _effect(gain: Estimate) -> str:
    if not (gain.is_above_0 or gain.is_below_0):
        return "makes no significant difference"
    return "raises accuracy" if gain.is_above_0 else "lowers accuracy"


def _takeaway(tested: Tested, subject: str, where: str) -> str:
    if tested.gain is None:
        return f"{subject} has not been compared with the mean {where} yet."
    if not tested.is_significant:
        return (
            f"{subject} makes no significant difference {where}, compared with the mean of all "
            "words."
        )
    better = "raises accuracy" if tested.gain.mean > 0 else "lowers accuracy"
    return f"{subject} {better} {where}, compared with the mean of all words."

"""The numbers in the text of the page of results, by the names that the text has for them."""

from experiments.comparison.hypotheses import LEVEL, PRIMARY, SECONDARY, outcomes
from experiments.comparison.page import FAMILIES, MODELS, SETS, Results, p_value, signed
from experiments.comparison.statistics import holm
from experiments.comparison.tables import mean_distance

YELP_TRAIN = 540_000  # of the official set, without the validation reviews cut from it
# What an earlier comparison had found on test reviews, over five seeds, on a random split of the
# same reviews: its file is in the history, as `git show 3dcb912:docs/results/ladder.json`.
EARLIER_REVIEWS = 24_904
EARLIER = {
    "behind": {"energy": 0.8670, "mean": 0.8145, "qkv": 0.8624, "multihead": 0.8618},
    "alone": {"energy": 0.8891, "mean": 0.8917},
}
WITH_VECTORS = tuple(name for name in MODELS if name not in FAMILIES["baselines"])
# By its name: the models and the set of reviews that a gain is of.
GAINS = {
    "primary": PRIMARY,
    "mark": SECONDARY[6],
    "same-mark": SECONDARY[7],
    "weights": SECONDARY[9],
    "frozen": SECONDARY[10],
    "fine-tuned": SECONDARY[11],
    "default-alone": ("default", "energy-bigrams-marked", "clean"),
    "default-behind": ("default", "energy-bigrams-marked", "distractor"),
    "yelp-alone": ("yelp/energy", "yelp/mean", "clean"),
    "yelp-behind": ("yelp/energy", "yelp/mean", "distractor"),
    "curve-1000": ("curves/energy-1000", "curves/mean-1000", "clean"),
    "curve-2500": ("curves/energy-2500", "curves/mean-2500", "clean"),
    "padding": ("ablations/corrected", "ablations/no-mask", "distractor"),
    "positions": ("ablations/corrected", "ablations/positions-none", "distractor"),
    "segments": ("ablations/segments", "ablations/corrected", "distractor"),
    "tail": ("ablations/corrected", "ablations/head", "distractor"),
    "tail-and-five": ("ablations/corrected", "ablations/all-but-batch-and-rate", "distractor"),
    "batch": ("ablations/corrected", "ablations/batch", "distractor"),
    "batch-and-rate": ("ablations/corrected", "ablations/batch-and-rate", "distractor"),
    "all-fixes": ("ablations/corrected", "ablations/all", "distractor"),
}


def numbers(results: Results) -> dict[str, str]:
    """Write each number of the text.

    A gain has three: itself, ``…-by``, which has no sign, and ``…-interval``.
    """
    found = {}
    for name, compared in GAINS.items():
        gain = results.gain(*compared)
        found[name] = signed(gain.mean)
        found[f"{name}-by"] = f"{100 * abs(gain.mean):.1f}"
        found[f"{name}-interval"] = f"{signed(gain.low)} to {signed(gain.high)}"

    tested = outcomes(results)
    significant = [each for each in tested.values() if each.is_significant]
    losses = sum(each.gain.mean < 0 for each in significant)
    found["primary-p"] = p_value(tested[PRIMARY].p_value, "less than")
    found["significant"] = str(sum(tested[each].is_significant for each in SECONDARY))
    found["no-gain"] = str(len(tested) - len(significant) + losses)
    found["losses"] = str(losses)
    found["no-difference"] = str(len(tested) - len(significant))

    for name in ("tfidf-marked", "energy-marked"):
        found[f"{name}-behind"] = f"{100 * results.accuracy(name, 'distractor').mean:.1f}"
    found["highest-behind"] = leaders(results)[0]
    found["beaten"] = str(len(compared_with(results, "tfidf-marked", "distractor")["below"]))
    corrected = beaten_after_correction(results)
    found["baseline-intervals"] = str(len(corrected) * len(WITH_VECTORS))
    for of, where in (("clean", "alone"), ("distractor", "behind")):
        found[f"beaten-corrected-{where}"] = str(len(corrected["tfidf-marked", of]))
        found[f"calibration-{where}"] = mean_distance(results, "energy", of)
        found[f"earlier-{where}"] = signed(EARLIER[where]["energy"] - EARLIER[where]["mean"])
    found["earlier-reviews"] = f"{EARLIER_REVIEWS:,}"
    majority = results.accuracy("majority", "clean").mean
    found["frequent-label"] = f"{100 * max(majority, 1 - majority):.0f}"

    first = results.runs("yelp/energy")[0]
    found["yelp-train"] = f"{first['data']['train']:,}"
    found["yelp-train-fine-tuned"] = (
        f"{results.runs('yelp/encoder-fine-tuned')[0]['data']['train']:,}"
    )
    found["yelp-measured"] = f"{first['clean']['n']:,}"
    for name in ("energy", "mean"):
        found[f"yelp-last-epoch-{name}"] = str(last_epochs(results, name))
    found["yelp-hours"] = f"{results.core_hours('yelp'):.1f}"
    found["yelp-official"] = f"{YELP_TRAIN:,}"
    found["yelp-official-hours"] = f"{official_hours(results):,.0f}"

    models = [each for cell in results.cells.values() for each in [*cell["trials"], *cell["runs"]]]
    found["hardware"] = "; ".join(sorted({each["hardware"] for each in models}))
    found["torch"] = " and ".join(sorted({each["versions"]["torch"] for each in models}))
    return found


def leaders(results: Results) -> tuple[str, set[str]]:
    """Find the highest accuracy behind a distractor, as it is printed, and the models that have it.

    A lead that the printed figure does not show is no lead.
    """
    shown = {name: f"{100 * results.accuracy(name, 'distractor').mean:.1f}" for name in MODELS}
    highest = max(shown.values(), key=float)
    return highest, {name for name, each in shown.items() if each == highest}


def compared_with(results: Results, baseline: str, of: str) -> dict[str, set[str]]:
    """Sort models with word vectors by the interval of their gain: above 0, with 0 in it, below."""
    found: dict[str, set[str]] = {"above": set(), "neither": set(), "below": set()}
    for name in WITH_VECTORS:
        gain = results.gain(name, baseline, of)
        side = "above" if gain.is_above_0 else "below" if gain.is_below_0 else "neither"
        found[side].add(name)
    return found


def beaten_after_correction(results: Results) -> dict[tuple[str, str], set[str]]:
    """Find the models less accurate than each baseline on each set of reviews, by Holm's method.

    It corrects all these comparisons together.
    """
    pairs = [(baseline, of) for baseline in ("tfidf-marked", "after-separator") for of in SETS]
    compared = [(name, *pair) for pair in pairs for name in WITH_VECTORS]
    gains = [results.gain(*each) for each in compared]
    found: dict[tuple[str, str], set[str]] = {pair: set() for pair in pairs}
    adjusted = holm([gain.p_value for gain in gains])
    for (name, *pair), gain, p in zip(compared, gains, adjusted, strict=True):
        if gain.mean < 0 and p < LEVEL:
            found[pair[0], pair[1]].add(name)
    return found


def last_epochs(results: Results, name: str) -> int:
    """Count the runs of a model on Yelp whose last epoch was the best."""
    epochs = results.cells[f"yelp/{name}"]["config"]["epochs"]
    return sum(run["best_epoch"] == epochs for run in results.runs(f"yelp/{name}"))


def official_hours(results: Results) -> float:
    """Estimate the hours of one core if each run on Yelp read all of the official set.

    The time is taken to grow in proportion to the number of reviews.
    """
    runs = [run for name in MODELS for run in results.runs(f"yelp/{name}")]
    seconds = sum(float(run["cpu_seconds"] / run["data"]["train"]) for run in runs)
    return seconds * YELP_TRAIN / 3600

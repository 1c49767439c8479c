"""The tables of the page of results, in Markdown."""

from itertools import pairwise

import numpy as np

from attention.sentiment.reviews import Reviews
from attention.sentiment.sources import load_reviews
from experiments.comparison.grouping import FILM
from experiments.comparison.hypotheses import FIRST, SECONDARY, outcomes
from experiments.comparison.leak import name_leak
from experiments.comparison.page import (
    CURVES,
    FIXES,
    MODELS,
    READS,
    SETS,
    Results,
    p_value,
    percent,
    points,
    table,
)
from experiments.comparison.statistics import calibration_error, detectable_gain, reliability

GROUPS = ("models", "curves", "ablations", "yelp")
CALIBRATED = ("tfidf-marked", "mean", "energy", "qkv", "default", "encoder-frozen")


def first_gains(results: Results) -> str:
    """Tabulate what each step gains on both kinds of reviews, significant gains in bold."""
    tested, rows = outcomes(results), []
    for label, each in FIRST.items():
        on_film = points(tested[each].gain, bold=tested[each].is_significant)
        on_yelp = points(results.gain(f"yelp/{each.first}", f"yelp/{each.second}", each.on))
        step = f"{' '.join(label.split())}: `{each.first}` over `{each.second}`"
        rows.append([step, on_film, on_yelp])
    return table(["gain in percentage points", "film reviews", "Yelp reviews"], rows)


def costs(results: Results) -> str:
    """Tabulate all accuracies, with what was chosen and what a run costs."""
    rows = []
    for name in MODELS:
        first, *_ = runs = results.runs(name)
        chosen = ", ".join(f"{option} {value:g}" for option, value in first["options"].items())
        parameters = f"{first['parameters']:,}" if "parameters" in first else ""
        seconds = f"{np.median([run['cpu_seconds'] for run in runs]):,.0f}"
        accuracies = [percent(results.accuracy(name, of)) for of in SETS]
        rows.append([f"`{name}`", *accuracies, chosen, parameters, seconds])
    header = ["model", *(f"{where} (%)" for where in SETS.values())]
    text = table([*header, "chosen", "parameters", "seconds per run"], rows)
    return folded("All accuracies as a table, with what was chosen and what a run costs", text)


def secondary(results: Results) -> str:
    """Tabulate the secondary hypotheses; a gain or loss is bold if it is significant."""
    tested, rows = outcomes(results), []
    for i, each in enumerate(SECONDARY, 1):
        gain, adjusted = tested[each]
        compared = f"{i}. `{each.first}` over `{each.second}`, {SETS[each.on]}"
        shown = points(gain, bold=tested[each].is_significant)
        rows.append([compared, shown, p_value(gain.p_value), p_value(adjusted)])
    return table(["compared", "gain, in percentage points", "p", "p, adjusted"], rows)


def inputs(results: Results) -> str:
    """Tabulate what attention gains with each input, and what each input adds to a model."""
    reads = {ending: label.replace("\n", " ") for ending, label in READS.items()}
    models = ("mean", "energy", "qkv")

    def gain(first: str, second: str) -> str:
        return points(results.gain(first, second, "distractor"))

    steps = (
        [f"`{model}` over `{other}`", *(gain(model + each, other + each) for each in reads)]
        for other, model in pairwise(models)
    )
    added = (
        [f"{label.removeprefix('and ')} added", *(gain(model + each, model) for model in models)]
        for each, label in reads.items()
        if each
    )
    header = ["gain behind a distractor", *(f"`{model}`" for model in models)]
    first = table(["gain behind a distractor", *reads.values()], steps)
    return f"{first}\n\n{table(header, added)}"


def fixes(results: Results) -> str:
    """Tabulate what each fix gains."""
    rows = (
        [label.replace("\n", " ").replace("<unk>", "`<unk>`")]
        + [points(results.gain(*pair, of)) for of in SETS]
        for panel in FIXES
        for label, pair in panel.items()
    )
    text = table(["gain of the fix, in percentage points", *SETS.values()], rows)
    return folded("The same figures as a table", text)


def curves(results: Results) -> str:
    """Tabulate what energy pooling gains at each number of training reviews."""
    energy, mean = CURVES["energy"], CURVES["mean"]
    rows = (
        [f"`energy` over `mean`, {where}"]
        + [points(results.gain(energy[size], mean[size], of)) for size in mean]
        for of, where in SETS.items()
    )
    return table(["gain in points, by training reviews", *(f"{size:,}" for size in mean)], rows)


def smaller_gains(results: Results) -> str:
    """Tabulate what would be found, of each registered comparison that found no difference."""
    n = results.runs("energy")[0]["clean"]["n"]
    plans = ((5, n), (20, n), (5, 25_000), (20, 25_000))
    rows = []
    for each, tested in outcomes(results).items():
        if not tested.is_significant:
            answers = results.answers(*each)
            found = [detectable_gain(*answers, seeds=s, reviews=reviews) for s, reviews in plans]
            compared = f"`{each.first}` over `{each.second}`, {SETS[each.on]}"
            rows.append([compared, *(f"{100 * gain:.1f}" for gain in found)])
    header = ["smallest gain that would be found in about four of five experiments, in points"]
    return table([*header, *(f"{s} seeds, {reviews:,} reviews" for s, reviews in plans)], rows)


def calibration(results: Results) -> str:
    """Tabulate how far predicted probabilities are from the observed shares."""
    rows = (
        [f"`{name}`", *(mean_distance(results, name, of) for of in SETS)] for name in CALIBRATED
    )
    text = table(["mean distance from the diagonal, in points", *SETS.values()], rows)
    return folded("The calibration error of other models", text)


def mean_distance(results: Results, name: str, of: str) -> str:
    """Write a model's calibration error, in percentage points, with all seeds together."""
    bins = reliability([run[of]["calibration"] for run in results.runs(name)])
    return f"{100 * calibration_error(bins):.1f}"


def yelp(results: Results) -> str:
    """Tabulate how accurate the same models are on Yelp."""
    rows = (
        [f"`{name}`", *(percent(results.accuracy(f"yelp/{name}", of)) for of in SETS)]
        for name in MODELS
    )
    return table(["accuracy on Yelp (%)", *SETS.values()], rows)


def known_names() -> str:
    """Tabulate how much of the label rare names reveal, in a random split and in ours."""
    reviews = load_reviews("imdb", seed=0)
    train, test = reviews["train"], reviews["test"]
    texts = [text for split in reviews.values() for text in split.texts]
    labels = [label for split in reviews.values() for label in split.labels]
    order = np.random.default_rng(0).permutation(len(texts))
    cuts = np.split(order, [len(train), len(train) + len(test)])[:2]
    at_random = map(Reviews(texts, labels).select, cuts)
    leaks = {"random": name_leak(*at_random), "ours": name_leak(train, test)}
    rows = ([split, f"{share:.0%}", f"{right:.0%}"] for split, (share, right) in leaks.items())
    header = f"test reviews with a name that 3 to {FILM} training reviews contain"
    return table(["split", header, "accuracy of a guess from that name"], rows)


def origin(results: Results) -> str:
    """Tabulate when, by which code, on which machine and reviews the models were trained."""
    rows = []
    for group in GROUPS:
        models = results.models(group)
        days = sorted({each["date"][:10] for each in models})
        cells = [cell for cell in results.cells.values() if cell["group"] == group]
        reported = {run["data"]["sha256"]["reported"] for cell in cells for run in cell["runs"]}
        commits = dict.fromkeys(f"`{each['commit']['sha'][:10]}`" for each in models)
        rows.append(
            [
                f"`{group}`",
                f"{len(models):,}",
                f"{results.core_hours(group):.1f}",
                " to ".join(dict.fromkeys((days[0], days[-1]))),
                ", ".join(f"`{each[:12]}`" for each in sorted(reported)),
                ", ".join(commits),
            ]
        )
    header = ["group", "models trained", "hours of one core", "date", "reviews", "commit"]
    return table(header, rows)


def folded(title: str, text: str) -> str:
    """Fold a table under its title."""
    return f":::{{dropdown}} {title}\n{text}\n:::"

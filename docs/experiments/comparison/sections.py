"""The sections of the page of results: tables and the sentences around them, in Markdown."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from attention.sentiment.grouping import FILM
from attention.sentiment.reviews import Reviews
from attention.sentiment.sources import load_reviews
from experiments.comparison.leak import name_leak
from experiments.comparison.page import (
    MODELS,
    NOT_RUN,
    SETS,
    Results,
    listed,
    names,
    p_value,
    percent,
    points,
    table,
)
from experiments.comparison.statistics import Estimate, calibration_error, reliability
from experiments.comparison.verdicts import (
    STEPS,
    Tested,
    against,
    by_size,
    leaders,
    test_primary,
    test_secondary,
    verdict,
)

GROUPS = ("models", "curves", "ablations", "yelp")
YELP_TRAIN = 540_000  # of the official set, without the validation reviews cut from it


def _fix(faulty: str, fixed: str = "corrected") -> tuple[str, str]:
    return f"ablations/{fixed}", f"ablations/{faulty}"


# By panel of the figure: the cell with the fix, and that without.
FIXES = (
    {
        "padding masked": _fix("no-mask"),
        "positions from the end,\nnot from the start": _fix("positions-start"),
        "positions from the end,\nnot none": _fix("positions-none"),
        "a separator": _fix("no-separator"),
        "the mark,\nbesides a separator": _fix("corrected", "segments"),
        "rare words as <unk>": _fix("every-word"),
        "scores scaled": _fix("no-scale"),
    },
    {
        "the tail kept,\nnot the head": _fix("head"),
        "the tail, and five more\n(see the text)": _fix("all-but-batch-and-rate"),
        "64 examples per step,\nnot 1,024": _fix("batch"),
        "64 examples and a tuned,\nfalling learning rate": _fix("batch-and-rate"),
        "all of it": _fix("all"),
    },
)
CURVES = {
    model: {size: f"curves/{model}-{size}" for size in (1_000, 2_500, 5_000)} | {20_000: model}
    for model in ("tfidf-marked", "mean", "energy", "encoder-frozen")
}


def costs(results: Results) -> str:
    """Tabulate all accuracies, with what was chosen and what a run costs."""
    header = ["model", *(f"{where} (%)" for where in SETS.values())]
    rows = (_accuracies(results, name) + results.cost(name) for name in MODELS)
    text = table([*header, "chosen", "parameters", "seconds per run"], rows)
    return _folded("All accuracies as a table, with what was chosen and what a run costs", text)


def primary(results: Results) -> str:
    """Say whether the primary hypothesis holds."""
    tested = test_primary(results)
    said = verdict(
        tested.gain, "`energy`", "`mean`", SETS["distractor"], is_significant=tested.is_significant
    )
    p = f" Its p-value is {p_value(tested.p_value, 'less than')}." if tested.gain else ""
    return f"{_sentence(said)} This is the primary hypothesis.{p}"


def secondary(results: Results) -> str:
    """Tabulate the secondary hypotheses."""
    every = test_secondary(results).values()
    rows = [[f"{i}. {_compared(each)}", *_tested(each)] for i, each in enumerate(every, 1)]
    missing = sum(each.gain is None for each in every)
    significant = sum(each.is_significant for each in every)
    untested = f" Not yet tested, because a model is missing: {missing}." if missing else ""
    are = "is" if significant == 1 else "are"
    lowest = [step.first for step in STEPS if _end_of_the_rates(results, step.first) == "lowest"]
    slower = (
        f" For {names(lowest)}, the tuning chose the lowest of the learning rates, so an even "
        "lower one might help."
        if lowest
        else ""
    )
    return (
        table(["compared", "gain, in percentage points", "p", "p, adjusted"], rows)
        + f"\n\nAfter Holm's correction, {significant} of the {len(rows)} comparisons {are} "
        "significant at 5 %; a significant gain or loss is in bold."
        f"{untested} An adjusted p-value allows for all {len(rows)} comparisons, whereas an "
        "interval is about its own row only. An interval may therefore exclude 0 in a "
        f"row that is not significant.{slower}"
    )


def _end_of_the_rates(results: Results, name: str) -> str:
    """Say whether the lowest or the highest of its learning rates was chosen for a model."""
    runs = results.runs(name)
    rates = results.cells[name]["config"]["tune"].get("lr") if runs else None
    if not rates:
        return ""
    return {min(rates): "lowest", max(rates): "highest"}.get(runs[0]["options"].get("lr"), "")


def _tested(tested: Tested) -> list[str]:
    if tested.gain is None:
        return [NOT_RUN, "", ""]
    gain = points(tested.gain, bold=tested.is_significant)
    return [gain, p_value(tested.gain.p_value), p_value(tested.p_value)]


def inputs(results: Results) -> str:
    """Tabulate what attention, bigrams and the mark gain, and how far the default is from both."""
    reads = {"": "words", "-bigrams": "and bigrams", "-marked": "and the mark"}
    reads["-bigrams-marked"] = "and both"
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
    alike = ("default", "energy-bigrams-marked")
    said = "The two have not been compared yet"
    if any(results.gain(*alike, of) for of in SETS):
        said = _sentence("; ".join(_between(results, *alike, of) for of in SETS)).removesuffix(".")
    return "\n\n".join(
        [
            _decided(results, models, reads),
            table(["gain behind a distractor", *reads.values()], steps),
            table(["gain behind a distractor", *(f"`{model}`" for model in models)], added),
            f"The default differs from `{alike[1]}` in four things: it reads more words, it reads "
            "no positions, it has more vectors for bigrams, and it is trained in another way. The "
            "difference in accuracy between the two models measures what these four contribute "
            f"together. {said}.",
        ]
    )


def _decided(results: Results, models: Sequence[str], reads: Iterable[str]) -> str:
    """Say where the interval of a model's gain over the one before it excludes 0."""
    called = {"": "on words only", "-bigrams": "with bigrams", "-marked": "with the mark"}
    called["-bigrams-marked"] = "with bigrams and the mark"
    said = []
    for other, model in pairwise(models):
        gains = {
            called[each]: results.gain(model + each, other + each, "distractor") for each in reads
        }
        above = [what for what, gain in gains.items() if gain and gain.is_above_0]
        below = [what for what, gain in gains.items() if gain and gain.is_below_0]
        for direction, what in (("more", above), ("less", below)):
            if what:
                said.append(f"`{model}` is {direction} accurate than `{other}` {listed(what)}")
    if not said:
        return "Behind a distractor, no significant difference from the model before is found."
    return (
        f"Behind a distractor, {'; '.join(said)}. These statements rest on intervals that are not "
        "corrected for the number of comparisons. A gain is in bold if its interval excludes 0."
    )


def baselines(results: Results) -> str:
    """List which models beat word counts that know where the review begins."""
    found: dict[str, list[str]] = {}
    for baseline in ("tfidf-marked", "after-separator"):
        for of, where in SETS.items():
            found.setdefault(against(results, baseline, of), []).append(where)
    return "\n".join(f"- On reviews {listed(where)}, {each}" for each, where in found.items())


def fixes(results: Results) -> str:
    """Say which fixes pay, and tabulate all."""
    every = {
        label.replace("\n", " ").replace("<unk>", "`<unk>`"): pair
        for panel in FIXES
        for label, pair in panel.items()
    }
    gains = {label: results.gain(*pair, "distractor") for label, pair in every.items()}
    rows = ([k, *(points(results.gain(*pair, of)) for of in SETS)] for k, pair in every.items())
    text = table(["gain of the fix, in percentage points", *SETS.values()], rows)

    found = {
        "gain accuracy": [label for label, gain in gains.items() if gain and gain.is_above_0],
        "lose accuracy": [label for label, gain in gains.items() if gain and gain.is_below_0],
    }
    decided = [label for labels in found.values() for label in labels]
    found["make no significant difference"] = [
        k for k, v in gains.items() if v and k not in decided
    ]
    found["have not been run yet"] = [label for label, gain in gains.items() if not gain]
    said = [
        f"- These {what}: {listed([f'“{label}”' for label in labels])}."
        for what, labels in found.items()
        if labels
    ]
    if decided or found["make no significant difference"]:
        said = [
            "Behind a distractor, the fixes fall into these groups, by intervals that are not "
            "corrected for the number of comparisons:\n",
            *said,
        ]
    lines = "\n".join(said)
    return f"{lines}\n\n{_folded('The same figures as a table', text)}"


def curves(results: Results) -> str:
    """Say which model leads at which size, and tabulate what attention gains."""
    pairs = {size: (CURVES["energy"][size], CURVES["mean"][size]) for size in CURVES["mean"]}
    rows = (
        [f"`energy` over `mean`, {where}"]
        + [points(results.gain(*pair, of)) for pair in pairs.values()]
        for of, where in SETS.items()
    )
    said = [leaders(results, CURVES, of) for of in SETS]
    said += [by_size(results, CURVES["energy"], CURVES["mean"], of) for of in SETS]
    header = ["gain in points, by training reviews", *(f"{size:,}" for size in pairs)]
    text = " ".join(filter(None, said))
    return (
        f"{text} The statements on gains rest on intervals that are not corrected for the number "
        f"of comparisons, and nothing here was preregistered.\n\n{table(header, rows)}"
    )


def smaller_gains(results: Results) -> str:
    """List the preregistered comparisons without a significant gain, and what would show one."""
    tests = [test_primary(results), *test_secondary(results).values()]
    run = [each for each in tests if each.gain]
    without = [each for each in run if not each.is_gain]
    if not run:
        return "None of the preregistered comparisons has been run yet."
    which = "" if len(run) == len(tests) else " that have been run"
    said = (
        f"Of the {len(run)} preregistered comparisons{which}, {len(without)} "
        f"{'shows' if len(without) == 1 else 'show'} no "
        "significant gain of the first model over the second."
    )
    losses = sum(each.is_significant for each in without)
    if losses:
        said += (
            f" In {losses} of these the first is significantly less accurate, and in the other "
            f"{len(without) - losses} no significant difference is found."
        )
    without = [each for each in without if not each.is_significant]
    if not without:
        return said
    count = results.runs(without[0].hypothesis.first)[0]["clean"]["n"]
    plans = ((5, count), (20, count), (5, 25_000), (20, 25_000))
    rows = (
        [_compared(each), *(_smallest(results, each, *plan) for plan in plans)] for each in without
    )
    header = ["smallest gain that would be found in about four of five experiments, in points"]
    header += [f"{seeds} seeds, {reviews:,} reviews" for seeds, reviews in plans]
    return f"{said}\n\n{table(header, rows)}"


def _smallest(results: Results, tested: Tested, seeds: int, reviews: int) -> str:
    each = tested.hypothesis
    gain = results.detectable_gain(each.first, each.second, each.on, seeds=seeds, reviews=reviews)
    return NOT_RUN if gain is None else f"{100 * gain:.1f}"


def ends_of_the_tuning(results: Results) -> str:
    """Name the models for which the lowest or the highest learning rate was chosen."""
    lowest, highest = (
        [name for name in MODELS if _end_of_the_rates(results, name) == end]
        for end in ("lowest", "highest")
    )
    chosen = [f"the lowest of the learning rates for {names(lowest)}"] if lowest else []
    chosen += [f"the highest for {names(highest)}"] if highest else []
    if not chosen:
        return "- The tuning chose neither the lowest nor the highest learning rate for any model."
    return f"- The tuning chose {' and '.join(chosen)}, so a rate beyond these may be better."


def calibration(results: Results) -> str:
    """Tabulate how far predicted probabilities are from the observed shares."""

    def error(name: str, of: str) -> str:
        bins = reliability([run[of]["calibration"] for run in results.runs(name)])
        return f"{100 * calibration_error(bins):.1f}"

    compared = ("tfidf-marked", "mean", "energy", "qkv", "default", "encoder-frozen")
    names = results.run_of(compared)
    if not names:
        return "No model has been run yet."
    rows = ([f"`{name}`", *(error(name, of) for of in SETS)] for name in names)
    text = table(["mean distance from the diagonal, in points", *SETS.values()], rows)
    folded = _folded("The calibration error of other models", text)
    if "energy" not in names:
        return folded
    alone, behind = (error("energy", of) for of in SETS)
    return (
        "The probabilities that energy pooling predicts are, on average, "
        f"{alone} points away from the share of positive reviews when reviews are read alone, and "
        f"{behind} points when they are read behind a distractor.\n\n{folded}"
    )


def yelp(results: Results) -> str:
    """Say how accurate the same models are on Yelp, and how long it takes to train them there."""
    names = results.run_of(f"yelp/{name}" for name in MODELS)
    if not names:
        return "The models have not been run on Yelp yet."
    cell = results.cells[names[0]]
    run = cell["runs"][0]
    train = {name: results.runs(name)[0]["data"]["train"] for name in names}
    most = max(train.values())
    fewer = [
        f"`{name.removeprefix('yelp/')}`, which sees only {n:,}"
        for name, n in train.items()
        if n < most
    ]
    but_for = f" (except for {listed(fewer)})" if fewer else ""
    private = (
        " These reviews may not be passed on, so nobody else can reproduce the table."
        if cell["data"]["private"]
        else ""
    )
    where = {"distractor": SETS["distractor"], "clean": f"on reviews {SETS['clean']}"}
    said = " ".join(
        _sentence(verdict(results.gain("yelp/energy", "yelp/mean", of), "`energy`", "`mean`", at))
        for of, at in where.items()
    )
    last = [
        f"{_best_at_the_end(results, f'yelp/{name}')} of `{name}`"
        for name in ("energy", "mean")
        if f"yelp/{name}" in names
    ]
    unfinished = (
        f" The last of the epochs was the best in {listed(last)}, so more epochs, or a learning "
        "rate chosen on Yelp, might change these differences."
        if last
        else ""
    )
    rows = ([f"`{name}`", *_accuracies(results, f"yelp/{name}")[1:]] for name in MODELS)
    taken, whole = results.core_hours("yelp"), results.core_hours("yelp", reviews=YELP_TRAIN)
    return (
        f"{said} Both differences were measured on {cell['data']['name']}: {most:,} reviews train "
        f"each model{but_for} and {run['clean']['n']:,} others measure its accuracy."
        f"{unfinished}{private}\n\n"
        + table(["accuracy on Yelp (%)", *SETS.values()], rows)
        + f"\n\nTogether, these runs took {taken:.1f} hours of one core. If each run trained on "
        f"all {YELP_TRAIN:,} reviews of the official set, they would take about {whole:,.0f} "
        "hours, provided that time grows in proportion to the number of reviews. To train on so "
        "many, raise the setting `reviews` in `cells.toml`."
    )


def _best_at_the_end(results: Results, name: str) -> str:
    runs, epochs = results.runs(name), results.cells[name]["config"]["epochs"]
    return f"{sum(run['best_epoch'] == epochs for run in runs)} of the {len(runs)} runs"


def known_names() -> str:
    """Tabulate how much of the label rare names reveal, in a random split and in ours."""
    reviews = load_reviews("imdb", seed=0)
    train, test = reviews["train"], reviews["test"]
    texts = [text for split in reviews.values() for text in split.texts]
    labels = [label for split in reviews.values() for label in split.labels]
    order = np.random.default_rng(0).permutation(len(texts))
    at_random = (
        Reviews([texts[i] for i in rows], [labels[i] for i in rows])
        for rows in np.split(order, [len(train), len(train) + len(test)])[:2]
    )
    leaks = {"random": name_leak(*at_random), "ours": name_leak(train, test)}
    rows = ([split, f"{share:.0%}", f"{right:.0%}"] for split, (share, right) in leaks.items())
    positive = sum(test.labels) / len(test)
    return (
        table(
            ["split", "test reviews with a known name", "accuracy of a guess from that name"], rows
        )
        + f"\n\nA name is known if 3 to {FILM} training reviews contain it, and the guess is the "
        "label of most of these reviews. For comparison, always guessing the more frequent "
        "label of the test reviews, whatever names they contain, is right for "
        f"{max(positive, 1 - positive):.0%}. The advantage that known names still give under our "
        "split may be due to people who work on several films."
    )


def origin(results: Results) -> str:
    """Tabulate when, by which code, on which machine and reviews the models were trained."""
    rows = ([f"`{group}`", *results.origin(group)] for group in GROUPS)
    text = table(["group", "models trained", "hours of one core", "date", "commit"], rows)
    trained = [each for group in GROUPS for each in results.models(group)]
    if not trained:
        return f"{text}\n\nNothing has been run yet."
    hardware = sorted({each["hardware"] for each in trained})
    versions = sorted({each["versions"]["torch"] for each in trained})
    prints = [
        f"{listed(found)} (`{group}`)" for group in GROUPS if (found := results.fingerprints(group))
    ]
    lacking = {name: state for name in [*MODELS, *results.cells] if (state := results.state(name))}
    missing = [f"`{name}` ({state})" for name, state in lacking.items()]
    incomplete = f" Cells that are not complete: {listed(missing)}." if missing else ""
    return (
        f"{text}\n\nThe runs used {'; '.join(hardware)}, and torch {listed(versions)}. The "
        f"SHA-256 of the reviews on which accuracies are reported begins with {listed(prints)}."
        f"{incomplete}"
    )


def _accuracies(results: Results, name: str) -> list[str]:
    return [f"`{name}`", *(percent(results.accuracy(name, of)) for of in SETS)]


def _between(results: Results, first: str, second: str, of: str) -> str:
    gain: Estimate | None = results.gain(first, second, of)
    return verdict(gain, f"`{first}`", f"`{second}`", f"on reviews {SETS[of]}")


def _compared(tested: Tested) -> str:
    each = tested.hypothesis
    return f"`{each.first}` over `{each.second}`, {SETS[each.on]}"


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _folded(title: str, text: str) -> str:
    return f":::{{dropdown}} {title}\n{text}\n:::"

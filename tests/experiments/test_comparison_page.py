"""The page of results: its figures, its tables, and that its sentences are true of what is run."""

import json
import random
import re

import jsonschema
import matplotlib.pyplot as plt
import pytest
import simulated_results
from simulated_results import CELLS, write_results

from experiments.comparison import __main__ as comparison
from experiments.comparison import page, pictures, sections, statistics, verdicts
from experiments.comparison.page import MODELS, Results, percent, points

EVERY = [
    verdicts.answer,
    verdicts.takeaways,
    sections.costs,
    sections.primary,
    sections.secondary,
    sections.inputs,
    sections.baselines,
    sections.fixes,
    sections.curves,
    sections.smaller_gains,
    sections.calibration,
    sections.yelp,
    sections.origin,
    sections.ends_of_the_tuning,
]
SAME = (0.88, 0.84)


@pytest.fixture
def simulated(tmp_path):
    """Results in which all cells are equally accurate, apart from those that are named."""

    def write(changed=(), *, missing=(), seeds=None):
        accuracies = {name: SAME for name in CELLS if name not in missing} | dict(changed)
        write_results(tmp_path / "results.json", accuracies, seeds=seeds)
        return Results(tmp_path / "results.json")

    return write


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    plt.close("all")


def plain(text):
    return text.replace("\u2060", "").replace("\u00a0", " ")


def test_the_simulation_keeps_to_the_record(simulated):
    schema = json.loads((comparison.HERE / "results.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(simulated().path.read_text()), schema)


def test_the_page_compares_the_cells_of_the_list():
    assert sorted(MODELS) == sorted(name for name, cell in CELLS.items() if cell.group == "models")
    named = [pair for panel in sections.FIXES for cells in panel.values() for pair in cells]
    named += [cell for cells in sections.CURVES.values() for cell in cells.values()]
    assert [name for name in named if name not in CELLS] == []
    unused = {name for name, cell in CELLS.items() if cell.group != "yelp"} - {*named, *MODELS}
    assert unused == set()


def test_what_is_tested_is_what_the_page_registered():
    text = (comparison.HERE.parents[1] / "results.md").read_text(encoding="utf-8")
    registered = re.findall(r"^\| \d+ \| `(.+)`, `(.+)` \| \((.)\) \|$", text, flags=re.M)
    letters = {"clean": "a", "distractor": "d"}
    tested = [(each.first, each.second, letters[each.on]) for each in verdicts.SECONDARY]
    assert registered == tested
    primary = r"On test reviews that stand behind a distractor,.*?\(`(.+?)`\).*?\(`(.+?)`\)"
    (pair,) = re.findall(primary, text, flags=re.S)
    assert verdicts.Hypothesis(*pair, "distractor") == verdicts.PRIMARY


def test_a_clear_gain_is_answered_with_yes(simulated):
    results = simulated({"mean": (0.88, 0.70), "tfidf-marked": (0.9, 0.93)})
    gain = results.gain("energy", "mean", "distractor")
    said = verdicts.answer(results)
    assert said.startswith("Yes, where a review has to be found: behind a distractor, energy pool")
    by = f"{100 * gain.mean:.1f} percentage points"
    assert f"is more accurate than the mean of all words, by {by}" in said
    assert "blocks, none gains anything significant" in said
    assert "more often than energy pooling with the same mark" in said
    assert re.search(r"The highest accuracy there, 9\d\.\d %, is that of `tfidf-marked`\.", said)
    said = verdicts.answer(simulated({"after-separator": (0.95, 0.95)}))
    assert said.endswith("is that of word counts that read only what follows the distractor.")
    assert "**" in points(gain)
    said = verdicts.takeaways(results)
    assert "A learned weight for each word raises accuracy behind a distractor" in said
    assert "The same weight makes no significant difference" in said
    assert "None of the four steps" in said


def test_a_lead_that_is_not_printed_is_shared(simulated):
    results = simulated({"tfidf-marked": (0.9, 0.93), "default": (0.9, 0.6)})
    for run, other in zip(
        results.cells["default"]["runs"], results.cells["tfidf-marked"]["runs"], strict=True
    ):
        run["distractor"] = other["distractor"]
    said = verdicts.answer(results)
    assert said.endswith("%, is that of our preset `default` and `tfidf-marked`.")


def test_what_a_model_reads_decides_between_attention_and_none(simulated):
    said = sections.inputs(simulated({"qkv-bigrams": (0.7, 0.6), "energy": (0.95, 0.95)}))
    assert "`energy` is more accurate than `mean` on words only" in said
    assert "`qkv` is less accurate than `energy` on words only and with bigrams." in said
    assert "Behind a distractor, no significant difference" in sections.inputs(simulated())


def test_a_null_result_is_answered_with_how_large_a_difference_it_leaves(simulated):
    results = simulated()
    gain = results.gain("energy", "mean", "distractor")
    assert gain.low < 0 < gain.high
    said = verdicts.answer(results)
    assert said.startswith("Not as far as five seeds show: behind a distractor, no significant")
    shown = f"({page.signed(gain.mean)} percentage points, {verdicts.interval(gain)})"
    assert f"and the mean of all words is found {shown}" in said
    assert "no significant difference from energy pooling with the same mark is found" in said
    assert "A learned weight for each word makes no significant difference" in verdicts.takeaways(
        results
    )
    table = sections.smaller_gains(results)
    assert "Of the 13 preregistered comparisons, 13 show no significant" in table
    losses = sum(each.is_significant for each in verdicts.test_secondary(results).values())
    assert table.count("\n| `") == 13 - losses  # by chance, one model is significantly worse
    assert f"In {losses} of these the first is significantly less accurate, and" in table


def test_a_loss_is_answered_with_no(simulated):
    results = simulated({"mean": (0.88, 0.93), "multihead": (0.88, 0.6)})
    said = verdicts.answer(results)
    assert said.startswith("No, where a review has to be found: behind a distractor, energy pool")
    assert "is less accurate than the mean of all words, by" in said
    # A significant loss of a step is no gain.
    assert verdicts.test_secondary(results)[verdicts.STEPS[1]].is_significant
    assert "none gains anything significant" in said
    said = verdicts.takeaways(results)
    assert "A learned weight for each word lowers accuracy behind a distractor" in said


def test_steps_that_gain_are_named(simulated):
    results = simulated({"qkv": (0.88, 0.93), "transformer-1": (0.88, 0.98)})
    said = verdicts.answer(results)
    gains = "two gain significantly behind a distractor, `qkv` over `energy` and `transformer-1`"
    assert gains in said
    assert "Two of the four steps" in verdicts.takeaways(results)


def test_a_rate_at_an_end_of_its_list_is_said(simulated):
    results = simulated(missing=["encoder-fine-tuned"])
    assert sections.ends_of_the_tuning(results) == (
        "- The tuning chose neither the lowest nor the highest learning rate for any model."
    )
    for name, rate in (("qkv", 0.001), ("multihead", 0.001), ("encoder-frozen", 0.03)):
        results.runs(name)[0]["options"]["lr"] = rate
    assert sections.ends_of_the_tuning(results) == (
        "- The tuning chose the lowest of the learning rates for `qkv` and `multihead` and the "
        "highest for `encoder-frozen`, so a rate beyond these may be better."
    )


def test_a_missing_model_is_said_to_be_missing(simulated):
    results = simulated(missing=("mean", "multihead"))
    said = verdicts.answer(results)
    assert "have not both been trained yet" in said
    assert "energy pooling has not been compared with the mean yet" in said
    assert "transformer blocks, three have been run, and of these none gains anything" in said
    assert "has not been compared with `mean` yet" in sections.primary(results)
    assert "| 3. `multihead` over `qkv`, behind a distractor | not run yet |  |  |" in (
        sections.secondary(results)
    )
    assert "a model is missing: 3." in sections.secondary(results)
    assert "a model is missing" not in sections.secondary(simulated())
    assert "Of the 9 preregistered comparisons that have been run, " in (
        sections.smaller_gains(results)
    )
    assert "`mean` (not run yet)" in sections.origin(results)
    assert "not been compared with the mean behind a distractor yet" in verdicts.takeaways(results)
    assert "steps" not in verdicts.takeaways(results)
    drawn = [label.get_text() for label in pictures.accuracies(results).axes[0].get_yticklabels()]
    assert set(MODELS) - set(drawn) == {"majority", "mean", "multihead"}


def test_a_part_of_the_seeds_counts_for_nothing(simulated):
    results = simulated(seeds={"energy": 2})
    assert results.state("energy") == "2 of 5 seeds run"
    assert results.accuracy("energy", "clean") is None
    assert "have not both been trained yet" in verdicts.answer(results)


def test_what_is_missing_makes_no_other_hypothesis_more_significant(simulated):
    changed = {"transformer-2": (0.9, 0.86), "encoder-frozen": (0.95, 0.9), "energy": (0.9, 0.86)}
    whole = verdicts.test_secondary(simulated(changed))
    for missing in ("energy", "encoder-frozen", "tfidf-marked"):
        left = {k: v for k, v in changed.items() if k != missing}
        part = verdicts.test_secondary(simulated(left, missing=[missing]))
        for each, tested in part.items():
            if tested.gain:
                assert tested.p_value >= whole[each].p_value
            else:
                assert missing in (each.first, each.second)
                assert not tested.is_significant


def test_the_adjusted_p_value_decides(simulated):
    results = simulated({"transformer-2": (0.88, 0.856)})
    tested = verdicts.test_secondary(results)[verdicts.STEPS[3]]
    assert tested.gain.is_above_0
    assert tested.p_value > 0.05  # what the test is about: the row's own interval excludes 0
    row = next(line for line in sections.secondary(results).splitlines() if line.startswith("| 5."))
    assert "**" not in row
    assert "none gains anything significant" in verdicts.answer(results)


def test_an_interval_without_0_that_is_not_significant_is_said_to_be_that(simulated):
    results = simulated({"energy": (0.895, 0.84)})
    assert results.gain("energy", "mean", "clean").is_above_0
    assert not verdicts.test_secondary(results)[verdicts.ALONE].is_significant
    assert "which is not significant after Holm's correction)" in verdicts.answer(results)
    assert "Holm" not in verdicts.answer(simulated())


def test_the_fine_tuned_encoder_is_compared_over_the_seeds_that_both_have(simulated):
    results = simulated({"encoder-fine-tuned": (0.9, 0.9)})
    first, second = (
        results.answers(f"encoder-{each}", "clean") for each in ("fine-tuned", "frozen")
    )
    assert (len(first), len(second)) == (3, 5)
    found = results.gain("encoder-fine-tuned", "encoder-frozen", "clean")
    assert found == statistics.gain(first, second[:3])


def test_word_counts_are_said_to_beat_what_they_beat(simulated):
    results = simulated({"tfidf-marked": (0.93, 0.70), "mean": (0.98, 0.70)})
    alone, behind = (verdicts.against(results, "tfidf-marked", of) for of in page.SETS)
    assert alone.startswith("`tfidf-marked` is more accurate than 19 of the 20 models")
    assert alone.endswith("have been run, less accurate than `mean`.")
    assert "more accurate than none of the 20" in behind
    assert behind.endswith(" No significant difference is found between `tfidf-marked` and `mean`.")
    assert "`energy`" in behind
    results = simulated({"tfidf-marked": (0.93, 0.93)})
    assert "more accurate than all 20 models with word vectors that have been run." in (
        verdicts.against(results, "tfidf-marked", "clean")
    )


def test_one_sentence_says_what_holds_alone_and_behind_a_distractor(simulated):
    same = sections.baselines(simulated({"tfidf-marked": (0.93, 0.93)})).splitlines()
    assert same[0].startswith(
        "- On reviews alone and behind a distractor, `tfidf-marked` is more accurate"
    )
    assert sum("`tfidf-marked` is more" in line for line in same) == 1
    different = sections.baselines(simulated({"tfidf-marked": (0.93, 0.70)})).splitlines()
    assert different[0].startswith(
        "- On reviews alone, `tfidf-marked` is more accurate than all 20"
    )
    assert different[1].startswith(
        "- On reviews behind a distractor, `tfidf-marked` is more accurate than"
    )


def test_what_is_missing_is_said_first(simulated):
    assert verdicts.progress(simulated()) == ""
    assert "13 preregistered comparisons, 10 have been run" in (
        verdicts.progress(simulated(missing=("mean",)))
    )


def test_the_fixes_that_pay_are_named(simulated):
    results = simulated({"ablations/no-mask": (0.88, 0.70), "ablations/segments": (0.88, 0.70)})
    said = sections.fixes(results).splitlines()
    assert "- These gain accuracy: “padding masked”." in said
    assert "- These lose accuracy: “the mark, besides a separator”." in said
    assert not any("not been run" in line for line in said)
    results = simulated(missing=["ablations/all"])
    assert "- These have not been run yet: “all of it”." in sections.fixes(results).splitlines()


def test_the_leader_of_each_size_is_named(simulated):
    results = simulated(
        {
            "curves/mean-1000": (0.95, 0.9),
            "curves/mean-2500": (0.95, 0.9),
            "curves/energy-5000": (0.95, 0.9),
            "tfidf-marked": (0.95, 0.9),
        }
    )
    said = verdicts.leaders(results, sections.CURVES, "clean")
    expected = "`mean` with 1,000 and 2,500 reviews, `energy` with 5,000 reviews and `tfidf-marked`"
    assert expected in said


def test_a_model_that_leads_at_every_size_is_named_once(simulated):
    tfidf = dict.fromkeys(sections.CURVES["tfidf-marked"].values(), (0.95, 0.9))
    said = verdicts.leaders(simulated(tfidf), sections.CURVES, "clean")
    assert "`tfidf-marked` is the most accurate of these models at every number of" in said
    not_run = [cells[1000] for cells in sections.CURVES.values()]
    larger = {cell: shares for cell, shares in tfidf.items() if cell not in not_run}
    said = verdicts.leaders(simulated(larger, missing=not_run), sections.CURVES, "clean")
    assert "`tfidf-marked` with 2,500" in said


def test_the_sizes_at_which_a_model_gains_are_named(simulated):
    results = simulated(
        {"curves/energy-1000": (0.70, 0.6), "curves/mean-1000": (0.88, 0.6)},
        missing=["curves/mean-5000"],
    )
    cells = sections.CURVES["energy"], sections.CURVES["mean"]
    said = verdicts.by_size(results, *cells, "clean")
    assert "`energy` is less accurate than `mean` with 1,000 reviews and is" in said
    assert "5,000" not in said
    assert said in sections.curves(results)


def test_on_yelp_a_loss_alone_is_said_beside_a_gain_behind_a_distractor(simulated):
    results = simulated({"yelp/energy": (0.70, 0.88), "yelp/mean": (0.88, 0.70)})
    said = sections.yelp(results)
    assert said.startswith("Behind a distractor, `energy` is more accurate than `mean`, by ")
    assert "On reviews alone, `energy` is less accurate than `mean`, by " in said


def test_the_answer_says_where_yelp_is_different(simulated):
    assert "Yelp" not in verdicts.answer(simulated())
    results = simulated({"yelp/energy": (0.70, 0.88), "yelp/mean": (0.88, 0.70)})
    assert "is found (" in verdicts.answer(results)
    assert (
        ". On Yelp reviews without a distractor it is less accurate than the mean (−"
        in verdicts.answer(results)
    )
    said = verdicts.takeaways(results)
    assert (
        "On Yelp the learned weight raises accuracy behind a distractor and lowers accuracy on "
        "reviews alone" in said
    )


def test_the_best_epoch_that_is_the_last_one_is_counted(simulated):
    results = simulated()
    for run, epoch in zip(results.cells["yelp/energy"]["runs"], (6, 6, 2), strict=True):
        run["best_epoch"] = epoch
    assert "was the best in 2 of the 3 runs of `energy` and " in sections.yelp(results)


def test_steps_with_the_lowest_rate_are_named(simulated):
    results = simulated()
    assert "even lower" not in sections.secondary(results)
    results.runs("qkv")[0]["options"]["lr"] = 0.001
    said = "For `qkv`, the tuning chose the lowest of the learning rates, so an even lower one"
    assert said in sections.secondary(results)


def test_a_model_that_sees_fewer_reviews_of_yelp_is_named(simulated):
    results = simulated()
    assert "1,000 reviews train each model and" in sections.yelp(results)
    for run in results.cells["yelp/encoder-fine-tuned"]["runs"]:
        run["data"]["train"] = 500
    said = sections.yelp(results)
    assert (
        "1,000 reviews train each model (except for `encoder-fine-tuned`, which sees only 500)"
        in said
    )


def test_time_grows_with_the_reviews(simulated):
    results = simulated()
    runs = sum(len(cell.seeds) for cell in CELLS.values() if cell.group == "yelp")
    assert results.core_hours("yelp") == pytest.approx(runs * 36 / 3600)
    # Each run took 36 seconds for a thousand reviews.
    assert results.core_hours("yelp", reviews=540_000) == pytest.approx(runs * 36 * 540 / 3600)
    assert f"about {runs * 36 * 540 / 3600:,.0f} hours" in sections.yelp(results)


def test_how_the_numbers_were_made(simulated):
    said = sections.origin(simulated())
    assert "2026-01-02 | `0000000000` |" in said
    assert f"`{simulated_results.SHA256[:12]}` (`models`)" in said
    assert "not complete" not in said


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_any_part_of_the_cells_makes_a_page(simulated, share, seed):
    draw = random.Random(f"{share} {seed}")
    results = simulated(missing=[name for name in CELLS if draw.random() >= share])
    for section in EVERY:
        text = section(results)
        assert text
        assert not re.search(r"\bnan\b|\bNone\b(?! of)|\binf\b", text)
    for picture in (pictures.accuracies, pictures.factorial):
        assert (picture(results) is None) <= (share < 1)
    pictures.fixes(results, sections.FIXES)
    pictures.learning_curves(results, sections.CURVES)
    pictures.reliability_diagram(results, "energy")


def test_nothing_makes_no_figure(simulated):
    results = simulated(missing=[*CELLS])
    assert pictures.accuracies(results) is None
    assert pictures.factorial(results) is None
    assert pictures.fixes(results, sections.FIXES) is None
    assert pictures.learning_curves(results, sections.CURVES) is None
    assert pictures.reliability_diagram(results, "energy") is None
    assert plt.get_fignums() == []


def test_what_is_compared_was_measured_on_the_same_reviews():
    results = Results(comparison.OUT)
    groups = {"imdb": ("models", "curves", "ablations"), "yelp": ("yelp",)}
    for of in groups.values():
        assert len({each for group in of for each in results.fingerprints(group)}) <= 1


def estimate(mean, low, high):
    return statistics.Estimate(mean, low, high, degrees_of_freedom=4, p_value=0.5)


def test_words_for_figures():
    assert plain(percent(estimate(0.8812, 0.8699, 0.9))) == "88.1 (87.0–90.0)"
    assert plain(points(estimate(0.013, -0.002, 0.03))) == "+1.3 (−0.2 to +3.0)"
    gone = estimate(-0.013, -0.02, -0.003)
    assert plain(points(gone)) == "**−1.3 (−2.0 to −0.3)**"
    assert plain(points(gone, bold=False)) == "−1.3 (−2.0 to −0.3)"
    assert page.listed([]) == "none"
    assert page.listed(["a"]) == "a"
    assert page.names(["a", "b", "c"]) == "`a`, `b` and `c`"
    assert (page.p_value(0.0004), page.p_value(0.0312)) == ("< 0.001", "0.031")

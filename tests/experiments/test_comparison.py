"""The comparison: what it may read, what must follow the seed, how it runs, what it wrote."""

import json

import jsonschema
import numpy as np
import pytest
import small_run
import torch

from attention.sentiment.batches import Examples, distractor_indices
from attention.sentiment.config import TrainConfig
from attention.sentiment.sources import Reviews, fingerprint
from attention.sentiment.tokenizer import Ragged
from attention.sentiment.training import prepare
from experiments.comparison import __main__ as comparison
from experiments.comparison import data, models, provenance, statistics
from experiments.comparison.cells import TUNING_SEED, Cell, read_cells
from experiments.comparison.word_counts import FRONT, texts_of

SCHEMA = json.loads((comparison.HERE / "results.schema.json").read_text(encoding="utf-8"))
COMMITTED = json.loads(comparison.OUT.read_text(encoding="utf-8"))
TABLE = """
check = ["mean"]
[shared]
data = "{data}"
seeds = [0, 1, 2]
reviews = 20
epochs = 2
batch_size = 5
embed_dim = 6
key_dim = 3
max_length = 13
min_frequency = 1
[groups.models.shared]
tune = {{ lr = [0.001, 0.05], dropout = [0.1] }}
[groups.models.cells]
majority = {{ method = "majority", tune = {{}} }}
mean = {{ model = "mean" }}
[groups.curves.cells]
qk-7 = {{ model = "qk", reviews = 7, tune = {{ lr = [0.01, 0.02] }}, chosen_by = "mean" }}
[groups.yelp]
needs_data = true
cells_of = "models"
[groups.yelp.shared]
seeds = [0, 1]
reported = "validation"
reviews = 9
"""
COMMIT = {"sha": "0" * 40, "clean": True}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A comparison of a few models on a few made-up reviews: its table, its file, how to run it."""

    class Small:
        data = small_run.write_reviews(tmp_path / "reviews")
        table, out, features = (tmp_path / name for name in ("cells.toml", "out.json", "features"))

        def run(self, *options):
            paths = ["--table", self.table, "--out", self.out, "--features", self.features]
            return comparison.main([str(each) for each in [*paths, *options]])

        @property
        def cells(self):
            return json.loads(self.out.read_text())["cells"]

    made = Small()
    made.table.write_text(TABLE.format(data=made.data))
    monkeypatch.setattr(provenance, "commit", lambda results: COMMIT)
    threads = torch.get_num_threads()
    yield made
    torch.set_num_threads(threads)
    data._drawn.cache_clear()


@pytest.fixture
def imdb(monkeypatch):
    """Reviews whose split follows a seed, as those of films do; the test reviews are fixed."""
    texts, labels = small_run.reviews(60, seed=1)

    def load_reviews(source, *, seed):
        order = np.random.default_rng(seed).permutation(48)
        rows = {"train": order[:36], "validation": order[36:], "test": np.arange(48, 60)}
        return {
            name: Reviews([texts[i] for i in some], [labels[i] for i in some])
            for name, some in rows.items()
        }

    monkeypatch.setattr(data, "load_reviews", load_reviews)
    yield
    data._drawn.cache_clear()


def cell(name="qkv", group="models", own=None, **options):
    settings = {"model": "qkv", "data": "imdb"} | options
    if settings["model"] != "minilm":  # it has a vocabulary of its own
        settings.setdefault("min_frequency", 1)
    return Cell(name, group, TrainConfig().with_options(**settings), **(own or {}))


def test_the_committed_file_keeps_to_the_schema():
    jsonschema.validate(COMMITTED, SCHEMA)


def test_the_committed_file_is_of_this_list():
    cells, checked = read_cells(comparison.TABLE, data="a folder")
    assert [name for name in COMMITTED["cells"] if name not in {c.name for c in cells}] == []
    for each in cells:
        if each.name in COMMITTED["cells"]:
            entry = COMMITTED["cells"][each.name]
            assert comparison.is_as_requested(entry, each, COMMITTED), each.name
    # What is trained again in CI must have been recorded, with all of its seeds.
    assert checked
    for name in checked:
        entry = COMMITTED["cells"][name]
        assert [run["seed"] for run in entry["runs"]] == entry["seeds"], name


def test_committed_runs_of_a_seed_read_the_same_reviews():
    train, reported = {}, {}
    for entry in COMMITTED["cells"].values():
        of = entry["config"]["data"]
        for each in [*entry["trials"], *entry["runs"]]:
            sha256 = each["data"]["sha256"]
            key = of, each["seed"], entry["config"]["reviews"]
            train.setdefault(key, set()).add(sha256["train"])
            if each in entry["runs"]:
                reported.setdefault(of, set()).add(sha256["reported"])
    assert {len(of_seed) for of_seed in train.values()} == {1}
    assert len(set.union(*train.values())) == len(train)
    assert [len(each) for each in reported.values()] == [1, 1]


def test_committed_figures_fit_their_bits():
    for name, entry in COMMITTED["cells"].items():
        for run in entry["runs"]:
            for each in (run["clean"], run["distractor"]):
                right = statistics.correct(each)
                assert len(right) == each["n"]
                assert right.mean() == pytest.approx(each["accuracy"], abs=1e-6), name
                # The last bits of the last byte belong to no review.
                assert statistics.pack(right) == each["correct"]
                assert sum(row[0] for row in each["calibration"]) == each["n"]


def test_every_model_of_the_comparison_has_one_budget():
    cells, _ = read_cells(comparison.TABLE, data=None)
    trials = {each.name: len(each.trials()) for each in cells if each.group == "models"}
    untuned = {"majority": 0, "default": 0, "encoder-fine-tuned": 2}
    assert {name: count for name, count in trials.items() if count != 8} == untuned
    for each in cells:
        if each.group == "models" and each.method == "attention" and each.name not in untuned:
            config = each.config
            assert (each.reviews, config.epochs, config.batch_size) == (20_000, 6, 64)
            assert (config.model.max_length, config.model.embed_dim) == (256, 32)
            assert each.seeds == (0, 1, 2, 3, 4)


def test_yelp_chooses_nothing():
    cells, _ = read_cells(comparison.TABLE, data="a folder")
    on_films = {each.name: each for each in cells if each.group == "models"}
    on_yelp = {each.name: each for each in cells if each.group == "yelp"}
    assert [*on_yelp] == [f"yelp/{name}" for name in on_films]
    for name, other in on_films.items():
        each = on_yelp[f"yelp/{name}"]
        assert (each.tune, each.takes) == ({}, tuple(other.tune))
        assert (each.seeds, each.reported, each.private) == ((0, 1, 2), "validation", True)
        assert each.reviews == min(10_000, other.reviews)


def without_time(cells):
    """Leave out of the cells what differs from run to run."""
    if isinstance(cells, list):
        return [without_time(each) for each in cells]
    if not isinstance(cells, dict):
        return cells
    times = {"seconds", "cpu_seconds", "tokens_per_second", "date"}
    return {k: without_time(v) for k, v in cells.items() if k not in times}


def test_runs_what_is_missing_and_nothing_twice(small, capsys):
    assert small.run() == 0
    cells = small.cells
    assert list(cells) == ["majority", "mean", "curves/qk-7"]
    assert [each["seed"] for each in cells["mean"]["runs"]] == [0, 1, 2]
    assert [each["options"]["lr"] for each in cells["mean"]["trials"]] == [0.001, 0.05]
    assert cells["curves/qk-7"]["runs"][0]["data"]["train"] == 7
    assert small.run() == 0
    assert small.cells == cells
    assert capsys.readouterr().out.endswith("nothing is missing\n")


def test_group_and_cell_select(small, capsys):
    small.run("--group", "models")
    assert list(small.cells) == ["majority", "mean"]
    small.run("--cell", "curves/qk-7")
    assert len(small.cells["curves/qk-7"]["runs"]) == 3
    for wrong in (["--cell", "means"], ["--group", "yelp"]):
        with pytest.raises(SystemExit):
            small.run(*wrong)
    assert "there is no yelp; the group yelp needs --data" in capsys.readouterr().err


def test_the_trial_with_the_best_mean_accuracy_is_chosen():
    given = cell(own={"tune": {"lr": (0.1, 0.2, 0.3)}})
    results = {"cells": {}}
    comparison.add_entries(results, [given])
    for lr, clean, distractor in ((0.1, 0.9, 0.6), (0.2, 0.8, 0.8), (0.3, 0.7, 0.7)):
        assert results["cells"]["qkv"]["chosen"] == {}
        trial = {"clean": {"accuracy": clean}, "distractor": {"accuracy": distractor}}
        job = comparison.Job(given, TUNING_SEED, {"lr": lr})
        comparison.record(results, job, trial | {"options": job.options})
    assert results["cells"]["qkv"]["chosen"] == {"lr": 0.2}


def test_the_tuning_seed_chooses_and_is_never_reported(small):
    small.run("--group", "models")
    mean = small.cells["mean"]
    assert {each["seed"] for each in mean["trials"]} == {TUNING_SEED}
    assert TUNING_SEED not in [each["seed"] for each in mean["runs"]]
    assert [each["options"] for each in mean["runs"]] == [mean["chosen"]] * 3
    with pytest.raises(ValueError, match="seed 100 tunes"):
        cell(own={"seeds": (0, TUNING_SEED)})


def test_trials_read_no_reported_review(imdb, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda results: COMMIT)
    read = []
    original = data.measured_examples
    monkeypatch.setattr(
        data, "measured_examples", lambda *a, **k: read.append(a) or original(*a, **k)
    )
    given = cell(model="mean", epochs=1, batch_size=5)
    trial = models.run(given, TUNING_SEED, {"lr": 0.01}, tmp_path)
    assert (read, sorted(trial["data"]["sha256"])) == ([], ["train", "validation"])
    assert sorted(trial["clean"]) == ["accuracy", "loss"]
    run = models.run(given, 0, {"lr": 0.01}, tmp_path)
    test = data.draw(given, 0).reported_reviews
    assert [a[1] for a in read] == [test]
    assert run["data"]["sha256"]["reported"] == fingerprint(test)
    assert run["clean"]["n"] == run["distractor"]["n"] == 12


def test_split_distractors_and_weights_follow_the_seed(imdb, tmp_path):
    given = cell(model="mean", epochs=1, batch_size=5)
    first, again, other = (data.draw(given, seed) for seed in (0, 0, 1))
    assert first is again
    for seed, drawn in ((0, first), (1, other)):
        train = drawn.prepared.examples
        assert train.distractor[36:].tolist() == distractor_indices(36, seed).tolist()
        for some in (drawn.prepared.validation, drawn.reported):
            assert some["distractor"].distractor.tolist() == distractor_indices(12, seed).tolist()
    same = {
        name: sha == other.fingerprints(is_trial=False)[name]
        for name, sha in first.fingerprints(is_trial=False).items()
    }
    assert same == {"train": False, "validation": False, "reported": True}
    # The weights are drawn by the seed even where the reviews are the same.
    examples = first.prepared.validation["clean"]
    answers = [
        models._trained(given, seed, {"lr": 1e-6}, first.prepared, tmp_path).answer(examples)
        for seed in (0, 0, 1)
    ]  # 3 of (12,)
    assert torch.equal(answers[0], answers[1])
    assert not torch.allclose(answers[0], answers[2], atol=1e-2)


def test_fewer_reviews_are_drawn_by_the_seed(small):
    # The split of a folder is fixed, so that nothing else can draw them.
    given = cell(data=str(small.data), own={"reviews": 8})
    drawn = [data.draw(given, seed).prepared for seed in (0, 1)]
    assert [len(each.examples.ids) for each in drawn] == [8, 8]
    assert [each.examples.labels.sum() for each in drawn] == [4, 4]
    first, other = (each.fingerprints for each in drawn)
    assert first["train"] != other["train"]
    assert first["validation"] == other["validation"]  # keeps its size


def test_a_trial_trains_on_as_many_reviews_as_what_is_reported(small):
    small.run()
    sizes = {
        name: {kind: [each["data"]["train"] for each in cell[kind]] for kind in ("trials", "runs")}
        for name, cell in small.cells.items()
    }
    assert sizes["mean"] == {"trials": [20, 20], "runs": [20, 20, 20]}
    assert sizes["curves/qk-7"] == {"trials": [7, 7], "runs": [7, 7, 7]}


def test_a_tenth_of_the_training_reviews_stops_where_validation_is_reported(small):
    given = cell(data=str(small.data), own={"reported": "validation"})
    first, other = (data.draw(given, seed) for seed in (0, 1))
    assert len(first.prepared.examples.ids) == 21
    assert len(first.prepared.validation["clean"]) == 2
    assert len(first.reported["clean"]) == 11
    first, other = (each.fingerprints(is_trial=False) for each in (first, other))
    assert first["validation"] != other["validation"]
    assert first["reported"] == other["reported"]


def test_the_best_epoch_s_weights_are_kept_and_two_worse_ones_end_the_run(imdb, tmp_path):
    given = cell(model="mean", epochs=6, batch_size=5, lr=1e-2)
    prepared = data.draw(given, 0).prepared
    scores = iter([0.7, 0.9, 0.8, 0.9])
    answers = []

    class Scored(models.BestEpoch):
        def __call__(self, trainer):
            score = next(scores)
            for name in trainer.validation:
                trainer.state.metrics[-1][name]["accuracy"] = score
            answers.append(models.logits(trainer.model, prepared.validation["clean"], "float32"))
            return super().__call__(trainer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "BestEpoch", Scored)
        trained = models.train(given.config, prepared, tmp_path)
    assert trained.figures["best_epoch"] == 2
    assert [each["clean"] for each in trained.figures["epochs"]] == [0.7, 0.9, 0.8, 0.9]
    answer = trained.answer(prepared.validation["clean"])  # (12,)
    assert torch.equal(answer, answers[1])
    assert not torch.equal(answer, answers[2])


def test_stopped_at_any_place_it_ends_the_same(small, monkeypatch):
    small.run()
    jsonschema.validate(json.loads(small.out.read_text()), SCHEMA)
    whole = without_time(small.cells)
    assert sum(len(each["runs"]) for each in whole.values()) == 9
    assert sum(len(each["trials"]) for each in whole.values()) == 4
    small.out.unlink()
    original, trained = comparison.run, []

    def run_one(*arguments):
        if trained:
            raise KeyboardInterrupt
        trained.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(comparison, "run", run_one)
    for _ in range(9 + 4 - 1):
        trained.clear()
        with pytest.raises(KeyboardInterrupt):
            small.run()
    trained.clear()
    assert small.run() == 0
    assert without_time(small.cells) == whole


def test_another_cell_s_choice_is_taken_over(small):
    small.run()
    chosen = small.cells["curves/qk-7"]["chosen"]
    assert chosen["dropout"] == small.cells["mean"]["chosen"]["dropout"] == 0.1
    assert chosen["lr"] in (0.01, 0.02)
    # A choice that has changed makes all that took it over anew.
    small.table.write_text(small.table.read_text().replace("dropout = [0.1]", "dropout = [0.2]"))
    small.run()
    assert {each["options"]["dropout"] for each in small.cells["curves/qk-7"]["runs"]} == {0.2}
    assert {each["options"]["dropout"] for each in small.cells["curves/qk-7"]["trials"]} == {0.2}


def test_a_choice_that_is_not_made_cannot_be_taken_over(small, capsys):
    with pytest.raises(SystemExit) as refused:
        small.run("--group", "curves")
    assert refused.value.code == 2
    message = "curves/qk-7: mean has chosen nothing yet; run it first"
    assert capsys.readouterr().err.endswith(f"{message}\n")
    assert not small.out.exists()


def test_another_setting_makes_another_cell(small):
    small.run("--group", "models")
    before = small.cells
    small.table.write_text(small.table.read_text().replace('model = "mean"', 'model = "energy"'))
    small.run("--group", "models")
    after = small.cells
    assert after["majority"] == before["majority"]
    assert after["mean"]["config"]["model"] == "energy"
    assert len(after["mean"]["runs"]) == 3
    trials = without_time(after["mean"]["trials"]), without_time(before["mean"]["trials"])
    assert trials[0] != trials[1]


def entry_of(cell, **changes):
    """Record a finished entry for a cell, as its file has it."""
    run = {"seed": 0, "options": {}}
    entry = {"method": cell.method, "config": cell.requested(), "trials": [], "runs": [run]}
    return json.loads(json.dumps(entry | {"chosen": {}} | changes))


@pytest.mark.parametrize(
    "other",
    [
        {"own": {"reviews": 7}},
        {"own": {"tune": {"lr": [0.1]}}},
        {"own": {"chosen_by": "mean", "takes": ("lr",)}},
        {"own": {"reads_front": False}},
        {"own": {"reported": "validation"}},
        {"own": {"method": "tfidf"}},
        {"segments": True},
        {"epochs": 7},
        {"precision": "float32"},
    ],
)
def test_the_whole_configuration_is_compared(other):
    nothing = {"cells": {}}
    assert comparison.is_as_requested(entry_of(cell()), cell(), nothing)
    assert not comparison.is_as_requested(entry_of(cell()), cell(**other), nothing)


def test_an_option_that_came_later_counts_as_its_default():
    entry = entry_of(cell())
    del entry["config"]["segments"]
    assert comparison.is_as_requested(entry, cell(segments=False), {"cells": {}})
    assert not comparison.is_as_requested(entry, cell(segments=True), {"cells": {}})


def test_a_record_says_what_made_it(small):
    small.run("--group", "models")
    mean = small.cells["mean"]
    assert mean["command"] == "nox -s experiments -- comparison --cell mean --data FOLDER"
    assert mean["config"]["embed_dim"] == 6
    run = mean["runs"][1]
    assert (run["commit"], run["precision"], run["data"]["train"]) == (COMMIT, "float32", 20)
    assert {"date", "versions", "hardware", "cpu_seconds"} <= run.keys()
    assert cell("curves/mean-1000").command.endswith(" --cell curves/mean-1000")


def test_reviews_that_may_not_be_passed_on_are_marked(small):
    small.run("--group", "models")
    assert small.run("--group", "yelp", "--data", small.data) == 0
    cells = small.cells
    assert cells["yelp/mean"]["data"]["private"]
    assert cells["yelp/mean"]["chosen"] == cells["mean"]["chosen"]
    assert cells["yelp/mean"]["trials"] == []
    assert [each["seed"] for each in cells["yelp/mean"]["runs"]] == [0, 1]
    assert cells["yelp/mean"]["runs"][0]["clean"]["n"] == 11
    assert str(small.data) not in small.out.read_text()
    assert not cells["mean"]["data"]["private"]


def test_check_notices_lost_accuracy(small, capsys, monkeypatch):
    small.run("--group", "models")
    assert small.run("--check") == 0
    assert "100.0% of the answers the same" in capsys.readouterr().out
    monkeypatch.setattr(models, "logits", lambda model, some, precision: -torch.ones(len(some)))
    results = json.loads(small.out.read_text())
    for each in results["cells"]["mean"]["runs"]:
        each["clean"]["accuracy"] = 0.9
    small.out.write_text(json.dumps(results))
    assert small.run("--check") == 1
    assert "WORSE  mean, clean: 0.5714, committed 0.9000" in capsys.readouterr().out


def word_counts_read(own=None, **options):
    texts, labels = ["good soup", "bad tea bad"], [1, 0]
    reviews = {name: Reviews(texts, labels) for name in ("train", "validation")}
    given = cell(own=own, **options)
    prepared = prepare(given.config, reviews, distractor_seed=4)
    assert prepared.examples.distractor.tolist() == [-1, -1, 0, 1]
    return list(texts_of(prepared.examples, given, prepared.tokenizer.get_vocab()))


def test_marked_word_counts_tell_the_front_from_the_review():
    plain = [
        "good soup",
        "bad tea bad",
        "good soup <sep> good soup",
        "bad tea bad <sep> bad tea bad",
    ]
    assert word_counts_read() == plain
    marked = [text.split(" <sep> ") for text in plain]
    marked = [
        " ".join([*(FRONT + word for word in [*front[0].split(), "<sep>"]), front[1]])
        if len(front) == 2
        else front[0]
        for front in marked
    ]
    assert word_counts_read(segments=True) == marked
    assert marked[2] == "<front>good <front>soup <front><sep> good soup"
    # Where no separator is left, what is read is all of the review.
    assert word_counts_read(segments=True, max_length=2)[3] == "tea bad"


def test_after_the_separator_only_the_review_is_read():
    read = word_counts_read({"reads_front": False})
    assert read == ["good soup", "bad tea bad"] * 2


def test_a_frozen_encoder_trains_on_features_that_are_computed_once(imdb, tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "commit", lambda results: COMMIT)
    encoded = []
    original = models.SentimentClassifier.features

    def count(self, ids, lengths):
        encoded.append(len(ids))
        return original(self, ids, lengths)

    monkeypatch.setattr(models.SentimentClassifier, "features", count)
    given = cell(model="minilm", precision="float32", max_length=64, epochs=8, batch_size=8)
    run = models.run(given, 0, {"lr": 3e-2}, tmp_path)
    assert run["parameters"] == 385
    assert run["epochs"][-1]["train"] > 0.7
    assert sum(encoded) == 2 * (36 + 12 + 12)  # alone and behind a distractor
    models.run(given, 0, {"lr": 1e-2, "dropout": 0.1}, tmp_path)
    assert sum(encoded) == 2 * (36 + 12 + 12)
    models.run(given, 1, {"lr": 3e-2}, tmp_path)  # other reviews train, with other distractors
    assert sum(encoded) > 3 * (36 + 12 + 12)


def test_figures_of_logits():
    answers = torch.tensor([2.0, -1.0, 0.5, -3.0])
    examples = Examples(
        Ragged.from_lists([[3], [4]]),
        torch.tensor([1.0, 0.0]),
        torch.tensor([0, 1, 1, 0]),
        torch.tensor([-1, -1, -1, -1]),
    )
    measured = models.measured(answers, examples)  # labels 1, 0, 0, 1
    assert measured["accuracy"] == 0.5
    assert statistics.correct(measured).tolist() == [True, True, False, False]
    # 0.88, 0.27, 0.62 and 0.05
    assert [row[0] for row in measured["calibration"]] == [1, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    assert [row[2] for row in measured["calibration"]] == [1, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    losses = np.log1p(np.exp([-2.0, -1.0, 0.5, 3.0]))
    assert measured["loss"] == pytest.approx(losses.mean(), abs=1e-6)

"""The comparison: what it may read, what must follow the seed, how it runs, what it wrote."""

import json
from collections import defaultdict

import jsonschema
import numpy as np
import pytest
import small_run
import torch

from attention.sentiment.batches import Examples, distractor_indices
from attention.sentiment.config import TrainConfig
from attention.sentiment.reviews import Reviews, fingerprint
from attention.sentiment.tokenizer import Ragged
from attention.sentiment.training import prepare
from experiments.comparison import __main__ as comparison
from experiments.comparison import data, models, statistics
from experiments.comparison.cells import TUNING_SEED, Cell, read_cells
from experiments.comparison.word_counts import texts_of

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


class Small:
    """A comparison of a few models on a few made-up reviews: its table, its file, how to run it."""

    def __init__(self, folder):
        self.data = small_run.write_reviews(folder / "reviews")
        self.table, self.out, self.features = (folder / n for n in ("t.toml", "o.json", "features"))
        self.table.write_text(TABLE.format(data=self.data))

    def run(self, *options):
        paths = ["--table", self.table, "--out", self.out, "--features", self.features]
        return comparison.main([str(each) for each in [*paths, *options]])

    @property
    def cells(self):
        return json.loads(self.out.read_text())["cells"]


@pytest.fixture(scope="module", autouse=True)
def one_thread_and_commit():
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "commit", lambda results: COMMIT)
        yield
    torch.set_num_threads(threads)
    data._drawn.cache_clear()


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A comparison that has run, for reading only: all that needs no Yelp, and then that."""
    made = Small(tmp_path_factory.mktemp("done"))
    assert made.run() == 0
    assert made.run("--group", "yelp", "--data", made.data) == 0
    return made


@pytest.fixture
def small(tmp_path):
    return Small(tmp_path)


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
    settings = {"model": "qkv", "data": "imdb", "min_frequency": 1} | options
    return Cell(name, group, TrainConfig().with_options(**settings), **(own or {}))


def test_the_committed_file_keeps_to_the_schema_and_is_of_this_list():
    jsonschema.validate(COMMITTED, SCHEMA)
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
    train, reported = defaultdict(set), defaultdict(set)
    for entry in COMMITTED["cells"].values():
        of, reviews = (entry["config"][name] for name in ("data", "reviews"))
        for each in [*entry["trials"], *entry["runs"]]:
            train[of, each["seed"], reviews].add(each["data"]["sha256"]["train"])
        for each in entry["runs"]:
            reported[of].add(each["data"]["sha256"]["reported"])
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


def test_what_ran_is_complete_and_says_what_made_it(done, capsys):
    jsonschema.validate(json.loads(done.out.read_text()), SCHEMA)
    cells = done.cells
    assert list(cells) == ["majority", "mean", "curves/qk-7", "yelp/majority", "yelp/mean"]
    mean, curve, yelp = cells["mean"], cells["curves/qk-7"], cells["yelp/mean"]
    # The tuning seed chooses, and is never reported; what is tried reads as many reviews.
    assert [each["seed"] for each in mean["trials"]] == [TUNING_SEED] * 2
    assert [each["options"]["lr"] for each in mean["trials"]] == [0.001, 0.05]
    assert [each["seed"] for each in mean["runs"]] == [0, 1, 2]
    assert [each["options"] for each in mean["runs"]] == [mean["chosen"]] * 3
    for cell, size in ((mean, 20), (curve, 7)):
        assert {each["data"]["train"] for each in cell["trials"] + cell["runs"]} == {size}
    assert curve["chosen"]["dropout"] == mean["chosen"]["dropout"] == 0.1  # taken over
    assert curve["chosen"]["lr"] in (0.01, 0.02)
    assert mean["command"] == "nox -s experiments -- comparison --cell mean --data FOLDER"
    assert (mean["runs"][1]["commit"], mean["runs"][1]["precision"]) == (COMMIT, "float32")
    # Yelp chooses nothing, and its reviews may not be passed on.
    assert (yelp["trials"], yelp["chosen"]) == ([], mean["chosen"])
    assert (yelp["data"]["private"], mean["data"]["private"]) == (True, False)
    assert str(done.data) not in done.out.read_text()
    assert done.run() == 0
    assert done.cells == cells
    assert capsys.readouterr().out == "nothing is missing\n"


def measured(cells):
    """Keep of the cells what does not differ from run to run."""
    kept = ("seed", "options", "clean", "distractor", "data")
    return {
        name: [[each[part] for part in kept] for each in [*cell["trials"], *cell["runs"]]]
        for name, cell in cells.items()
    }


def test_stopped_in_a_trial_and_in_a_run_it_ends_the_same(small, done, monkeypatch):
    run = comparison.run
    for left in (4, 3):  # three jobs are the majority's, then two trials and three runs
        jobs = iter(range(left))

        def run_some(*arguments, jobs=jobs):
            if next(jobs, None) is None:
                raise KeyboardInterrupt
            return run(*arguments)

        monkeypatch.setattr(comparison, "run", run_some)
        with pytest.raises(KeyboardInterrupt):
            small.run("--group", "models")
    monkeypatch.setattr(comparison, "run", run)
    small.run("--group", "models")
    whole = {name: done.cells[name] for name in ("majority", "mean")}
    assert measured(small.cells) == measured(whole)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--cell", "means"], "there is no means; cells on Yelp need --data"),
        (["--group", "yelp"], "there is no yelp; the group yelp needs --data"),
        (["--group", "curves"], "curves/qk-7: mean has chosen nothing yet; run it first"),
    ],
)
def test_what_cannot_be_run_is_refused(small, capsys, wrong, message):
    with pytest.raises(SystemExit) as refused:
        small.run(*wrong)
    assert refused.value.code == 2
    assert capsys.readouterr().err.endswith(f"{message}\n")
    assert not small.out.exists()


def test_check_notices_lost_accuracy(done, small, capsys, monkeypatch):
    small.out.write_text(done.out.read_text())
    small.table.write_text(done.table.read_text())
    assert small.run("--check") == 0
    assert "100.0% of the answers the same" in capsys.readouterr().out
    monkeypatch.setattr(models, "logits", lambda model, some, precision: -torch.ones(len(some)))
    results = json.loads(small.out.read_text())
    for each in results["cells"]["mean"]["runs"]:
        each["clean"]["accuracy"] = 0.9
    small.out.write_text(json.dumps(results))
    assert small.run("--check") == 1
    assert "WORSE  mean, clean: 0.5714, committed 0.9000" in capsys.readouterr().out


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


def test_trials_read_no_reported_review(imdb, tmp_path, monkeypatch):
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


def entry_of(cell):
    """Record a finished entry for a cell, as its file has it."""
    run = {"seed": 0, "options": {}}
    entry = {"method": cell.method, "config": cell.requested(), "trials": [], "runs": [run]}
    return json.loads(json.dumps(entry))


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
        {"precision": "float32"},
    ],
)
def test_the_whole_configuration_is_compared_and_an_option_that_came_later_by_its_default(other):
    entry, nothing = entry_of(cell()), {"cells": {}}
    del entry["config"]["segments"]
    assert comparison.is_as_requested(entry, cell(), nothing)
    assert not comparison.is_as_requested(entry, cell(**other), nothing)


def word_counts_read(own=None, **options):
    texts, labels = ["good soup", "bad tea bad"], [1, 0]
    reviews = {name: Reviews(texts, labels) for name in ("train", "validation")}
    given = cell(own=own, **options)
    prepared = prepare(given.config, reviews)
    examples = data.redraw(prepared.examples, seed=4)
    assert examples.distractor.tolist() == [-1, -1, 0, 1]
    return list(texts_of(examples, given, prepared.tokenizer.get_vocab()))


def test_marked_word_counts_tell_the_front_from_the_review():
    alone = ["good soup", "bad tea bad"]
    assert word_counts_read() == [*alone, *(f"{text} <sep> {text}" for text in alone)]
    assert word_counts_read(segments=True) == [
        *alone,
        "<front>good <front>soup <front><sep> good soup",
        "<front>bad <front>tea <front>bad <front><sep> bad tea bad",
    ]
    # Where no separator is left, what is read is all of the review.
    assert word_counts_read(segments=True, max_length=2)[3] == "tea bad"
    assert word_counts_read({"reads_front": False}) == alone * 2


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

"""The comparison's runner and the file it wrote."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest
import small_run
import torch

from attention.layers.variants import VARIANTS
from attention.sentiment.batches import Examples, Ragged
from attention.sentiment.config import TrainConfig
from experiments.comparison import __main__ as comparison
from experiments.comparison import models, statistics
from experiments.comparison.cells import Cell, read_cells
from experiments.comparison.page import LABELS, Results, own_parameters

SCHEMA = json.loads((comparison.HERE / "results.schema.json").read_text(encoding="utf-8"))
COMMITTED = json.loads(comparison.OUT.read_text(encoding="utf-8"))
TABLE = """
check = ["ladder/mean"]
[shared]
data = "{data}"
seeds = [0, 1, 2]
epochs = 2
batch_size = 5
embed_dim = 6
key_dim = 3
max_length = 13
min_frequency = 1
[groups.ladder.shared]
choose = "lr"
values = [0.001, 0.05]
[groups.ladder.cells]
majority = {{ method = "majority", seeds = [0], choose = "", values = [] }}
mean = {{ model = "mean", mistakes = 2 }}
[groups.curves.cells]
qk-7 = {{ model = "qk", reviews = 7, choice_of = "ladder/mean" }}
[groups.yelp]
needs_data = true
cells_of = "ladder"
"""


@pytest.fixture
def small(tmp_path):
    """A comparison of two models on a few made-up reviews: its table, its file, how to run it."""

    class Small:
        data = small_run.write_reviews(tmp_path / "reviews")
        table, out, models = (tmp_path / name for name in ("cells.toml", "out.json", "models"))

        def run(self, *options):
            paths = ["--table", self.table, "--out", self.out, "--models", self.models]
            return comparison.main([str(each) for each in [*paths, *options]])

        @property
        def results(self):
            return json.loads(self.out.read_text())

    made = Small()
    made.table.write_text(TABLE.format(data=made.data))
    threads = torch.get_num_threads()
    yield made
    torch.set_num_threads(threads)
    models._prepared.cache_clear()


def test_the_committed_file_keeps_to_the_schema():
    jsonschema.validate(COMMITTED, SCHEMA)


def test_the_committed_file_is_of_this_list():
    cells, checked = read_cells(comparison.TABLE, data="a folder")
    assert [name for name in COMMITTED["cells"] if name not in {c.name for c in cells}] == []
    for cell in cells:
        if cell.name in COMMITTED["cells"]:
            entry = COMMITTED["cells"][cell.name]
            assert comparison.is_as_requested(entry, cell, COMMITTED), cell.name
            assert [run["seed"] for run in entry["runs"]] == list(cell.seeds)[: len(entry["runs"])]
    assert len(checked) > 1


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


def test_each_interval_is_of_five_seeds():
    # What has no seed is trained once.
    for name, entry in COMMITTED["cells"].items():
        if entry["runs"] and entry["method"] == "attention":
            assert len(entry["seeds"]) >= 5, name


def without_time(results):
    """Leave out of the cells what differs from run to run."""
    if isinstance(results, list):
        return [without_time(each) for each in results]
    if not isinstance(results, dict):
        return results
    times = {"seconds", "cpu_seconds", "tokens_per_second", "date"}
    return {k: without_time(v) for k, v in results.items() if k not in times}


def test_runs_what_is_missing_and_nothing_twice(small, capsys):
    assert small.run() == 0
    results = small.results
    cells = results["cells"]
    assert list(cells) == ["ladder/majority", "ladder/mean", "curves/qk-7"]
    assert [each["seed"] for each in cells["ladder/mean"]["runs"]] == [0, 1, 2]
    assert [each["value"] for each in cells["ladder/mean"]["choice"]] == [0.001, 0.05]
    # Five reviews of eleven are positive, and the training reviews are split like them.
    assert cells["ladder/majority"]["runs"][0]["clean"]["accuracy"] == pytest.approx(6 / 11)
    assert cells["curves/qk-7"]["data"]["train"] == 7
    assert cells["curves/qk-7"]["chosen"] == cells["ladder/mean"]["chosen"]
    assert small.run() == 0
    assert small.results == results
    assert capsys.readouterr().out.endswith("nothing is missing\n")


def test_the_best_of_what_was_tried_is_taken(small):
    small.run("--group", "ladder")
    mean = small.results["cells"]["ladder/mean"]
    scores = [
        each["run"]["clean"]["accuracy"] + each["run"]["distractor"]["accuracy"]
        for each in mean["choice"]
    ]
    best = mean["choice"][scores.index(max(scores))]
    assert mean["chosen"] == {"lr": best["value"]}
    assert mean["runs"][0]["clean"]["accuracy"] == best["run"]["clean"]["accuracy"]


def test_stopped_at_any_place_it_ends_the_same(small, monkeypatch):
    small.run()
    jsonschema.validate(small.results, SCHEMA)
    whole = without_time(small.results)
    small.out.unlink()
    for _ in range(20):
        small.run("--minutes", "0")  # one model a time
        if without_time(small.results) == whole:
            break
    assert without_time(small.results) == whole
    assert sum(len(cell["runs"]) for cell in whole["cells"].values()) == 7
    small.out.unlink()
    trained = []

    def stop(*arguments):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(arguments)
        return original(*arguments)

    original = comparison.train_and_record
    monkeypatch.setattr(comparison, "train_and_record", stop)
    with pytest.raises(KeyboardInterrupt):
        small.run()
    monkeypatch.setattr(comparison, "train_and_record", original)
    small.run()
    assert without_time(small.results) == whole


def test_a_failed_cell_is_shown_and_tried_again(small, monkeypatch, capsys):
    def fail(self):
        if self.model.config.attention == "mean" and self.config.seed == 1:
            raise ValueError("out of luck")
        return original(self)

    original = models.Trainer.run
    monkeypatch.setattr(models.Trainer, "run", fail)
    assert small.run() == 1
    jsonschema.validate(small.results, SCHEMA)
    mean = small.results["cells"]["ladder/mean"]
    assert mean["error"]["message"] == "ValueError: out of luck"
    assert mean["error"]["seed"] == 1
    assert len(mean["runs"]) == 1
    assert len(small.results["cells"]["curves/qk-7"]["runs"]) == 3  # the others are trained
    assert "FAILED ladder/mean: ValueError: out of luck" in capsys.readouterr().out
    monkeypatch.setattr(models.Trainer, "run", original)
    assert small.run() == 0
    mean = small.results["cells"]["ladder/mean"]
    assert (mean["error"], len(mean["runs"])) == (None, 3)


def test_a_choice_that_is_not_made_cannot_be_taken_over(small):
    assert small.run("--group", "curves") == 1
    message = small.results["cells"]["curves/qk-7"]["error"]["message"]
    assert message == "ValueError: ladder/mean has chosen nothing yet; run it first"


def test_another_setting_makes_another_cell(small):
    small.run("--group", "ladder")
    before = small.results["cells"]
    small.table.write_text(small.table.read_text().replace('"mean", mis', '"energy", mis'))
    small.run("--group", "ladder")
    after = small.results["cells"]
    assert after["ladder/majority"] == before["ladder/majority"]
    assert after["ladder/mean"]["config"]["model"] == "energy"
    assert len(after["ladder/mean"]["runs"]) == 3


def entry_of(cell, **changes):
    """Record a finished entry for a cell, as its file has it."""
    entry = {"method": cell.method, "config": cell.requested(), "chosen": {}, "runs": [{"seed": 0}]}
    return entry | changes


def cell(**options):
    return Cell("ladder/qkv", "ladder", TrainConfig().with_options(model="qkv", **options))


def test_an_option_that_came_later_counts_as_its_default():
    entry = entry_of(cell())
    del entry["config"]["segments"]
    results = {"cells": {"ladder/qkv": entry}}
    comparison.add_entries(results, [cell(segments=False)])
    assert results["cells"]["ladder/qkv"]["runs"]
    comparison.add_entries(results, [cell(segments=True)])
    assert results["cells"]["ladder/qkv"]["runs"] == []
    assert results["cells"]["ladder/qkv"]["config"]["segments"]


def test_a_learning_rate_that_was_chosen_is_not_the_default():
    given = cell()
    chosen = entry_of(dataclasses.replace(given, choice_of="ladder/mean"), chosen={"lr": 0.03})
    assert "lr" not in chosen["config"]
    assert not comparison.is_as_requested(chosen, given, {"cells": {}})


def test_another_method_makes_another_cell():
    of_words = dataclasses.replace(cell(), method="tfidf")
    assert not comparison.is_as_requested(entry_of(cell()), of_words, {"cells": {}})


def test_a_variant_that_was_not_measured_is_left_out(small):
    small.run("--group", "ladder")
    results = Results(small.out)
    assert list(results.labels("ladder")) == ["majority", "tfidf", "mean", "default"]
    assert results.attending("ladder") == []
    small.table.write_text(small.table.read_text() + "\n[groups.ladder.cells.qk]\nmodel = 'qk'\n")
    small.run("--group", "ladder")
    assert Results(small.out).attending("ladder") == ["qk"]


def test_every_variant_has_its_label_and_its_count():
    assert {name: LABELS[name] for name in VARIANTS} == {k: v.label for k, v in VARIANTS.items()}
    config = cell(embed_dim=16, key_dim=8, bias=True).config.model
    assert own_parameters(config) == 16 * 8 + 16 * 8 + 16 * 16


def test_reviews_that_may_not_be_passed_on_are_marked(small):
    small.run()
    small.run("--group", "yelp", "--data", small.data)
    cells = small.results["cells"]
    assert cells["yelp/mean"]["data"]["private"]
    assert cells["yelp/mean"]["chosen"] == cells["ladder/mean"]["chosen"]
    assert cells["yelp/mean"]["choice"] == []
    assert str(small.data) not in json.dumps(small.results)
    assert not cells["ladder/mean"]["data"]["private"]


def test_the_test_split_is_read_once(small):
    small.run("--group", "ladder")
    trained = []
    small.run("--test")
    jsonschema.validate(small.results, SCHEMA)
    recorded = small.results["test"]
    assert recorded["command"] == "nox -s experiments -- --test"
    assert recorded["read"]
    assert [each["clean"]["n"] for each in recorded["cells"]["ladder/mean"]] == [7, 7, 7]
    with pytest.raises(SystemExit, match=f"was read on {recorded['read'][:10]}"):
        small.run("--test")
    # Without the weights that waited for it, the same models are trained again.
    for path in small.models.iterdir():
        trained.append(path)
        path.unlink()
    assert trained
    results = small.results
    small.out.write_text(json.dumps(results | {"test": None}))
    small.run("--test")
    assert small.results["test"]["cells"] == recorded["cells"]


def test_the_test_split_waits_for_all_models(small):
    small.run("--group", "ladder", "--minutes", "0")
    with pytest.raises(SystemExit, match=r"run these first.*ladder/mean"):
        small.run("--test")
    assert small.results["test"] is None


def test_mistakes_hold_no_text(small):
    small.run("--group", "ladder")
    runs = small.results["cells"]["ladder/mean"]["runs"]
    assert "mistakes" not in runs[1]
    for mistake in runs[0].get("mistakes", []):
        assert (mistake["probability"] > 0.5) != mistake["label"]
        assert all(isinstance(weight, float) for weight in mistake["weights"])


def test_check_notices_lost_accuracy(small, capsys, monkeypatch):
    small.run("--group", "ladder")
    assert small.run("--check") == 0
    assert "100.0% of the answers the same" in capsys.readouterr().out
    monkeypatch.setattr(models, "logits", lambda model, some: -torch.ones(len(some)))
    results = small.results
    for each in results["cells"]["ladder/mean"]["runs"]:
        each["clean"]["accuracy"] = 0.9
    small.out.write_text(json.dumps(results))
    assert small.run("--check") == 1
    assert "WORSE  ladder/mean, clean: 0.5455, committed 0.9000" in capsys.readouterr().out


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

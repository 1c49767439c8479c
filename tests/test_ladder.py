"""The ladder's runner, its statistics, and the file it wrote."""

import json
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import tiny
import torch
from attention.sentiment.batches import Examples, Ragged

RESULTS = Path(__file__).parents[1] / "docs" / "results"
sys.path.insert(0, str(RESULTS))

import ladder  # noqa: E402 — stands beside the pages, in no package
import ladder_models  # noqa: E402 — likewise
import ladder_statistics as statistics  # noqa: E402 — likewise

SCHEMA = json.loads((RESULTS / "ladder.schema.json").read_text(encoding="utf-8"))
COMMITTED = json.loads((RESULTS / "ladder.json").read_text(encoding="utf-8"))
SPEC = """
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
    """A ladder of two rungs on a few made-up reviews: its list, its file, and a way to run it."""

    class Small:
        data = tiny.write_reviews(tmp_path / "reviews")
        spec, out, models = (tmp_path / name for name in ("ladder.toml", "out.json", "models"))

        def run(self, *options):
            paths = ["--spec", self.spec, "--out", self.out, "--models", self.models]
            return ladder.main([str(each) for each in [*paths, *options]])

        @property
        def results(self):
            return json.loads(self.out.read_text())

    made = Small()
    made.spec.write_text(SPEC.format(data=made.data))
    threads = torch.get_num_threads()
    yield made
    torch.set_num_threads(threads)
    ladder_models._prepared.cache_clear()


def test_the_committed_file_keeps_to_the_schema():
    jsonschema.validate(COMMITTED, SCHEMA)


def test_the_committed_file_is_of_this_list():
    cells, checked = ladder.read_cells(ladder.SPEC, data="a folder")
    assert [name for name in COMMITTED["cells"] if name not in {c.name for c in cells}] == []
    for cell in cells:
        if cell.name in COMMITTED["cells"]:
            entry = COMMITTED["cells"][cell.name]
            now = cell.asked()
            # A field that came later was not asked for then.
            assert {k: now[k] for k in entry["config"]} == entry["config"], cell.name
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
    carried = []

    def stop(*arguments):
        if len(carried) == 3:
            raise KeyboardInterrupt
        carried.append(arguments)
        return original(*arguments)

    original = ladder.carry_out
    monkeypatch.setattr(ladder, "carry_out", stop)
    with pytest.raises(KeyboardInterrupt):
        small.run()
    monkeypatch.setattr(ladder, "carry_out", original)
    small.run()
    assert without_time(small.results) == whole


def test_a_failed_cell_is_shown_and_tried_again(small, monkeypatch, capsys):
    def fail(self):
        if self.config.model == "mean" and self.config.seed == 1:
            raise ValueError("out of luck")
        return original(self)

    original = ladder_models.Trainer.run
    monkeypatch.setattr(ladder_models.Trainer, "run", fail)
    assert small.run() == 1
    jsonschema.validate(small.results, SCHEMA)
    mean = small.results["cells"]["ladder/mean"]
    assert mean["error"]["message"] == "ValueError: out of luck"
    assert mean["error"]["seed"] == 1
    assert len(mean["runs"]) == 1
    assert len(small.results["cells"]["curves/qk-7"]["runs"]) == 3  # the others go on
    assert "FAILED ladder/mean: ValueError: out of luck" in capsys.readouterr().out
    monkeypatch.setattr(ladder_models.Trainer, "run", original)
    assert small.run() == 0
    mean = small.results["cells"]["ladder/mean"]
    assert (mean["error"], len(mean["runs"])) == (None, 3)


def test_a_choice_that_is_not_made_cannot_be_taken_over(small):
    assert small.run("--group", "curves") == 1
    said = small.results["cells"]["curves/qk-7"]["error"]["message"]
    assert said == "ValueError: ladder/mean has chosen nothing yet; run it first"


def test_another_setting_makes_another_cell(small):
    small.run("--group", "ladder")
    before = small.results["cells"]
    small.spec.write_text(small.spec.read_text().replace('"mean", mis', '"energy", mis'))
    small.run("--group", "ladder")
    after = small.results["cells"]
    assert after["ladder/majority"] == before["ladder/majority"]
    assert after["ladder/mean"]["config"]["model"] == "energy"
    assert len(after["ladder/mean"]["runs"]) == 3


def test_reviews_that_are_no_ones_to_give_are_marked(small):
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
    told = small.results["test"]
    assert told["command"] == "nox -s ladder -- --test"
    assert told["read"]
    assert [each["clean"]["n"] for each in told["cells"]["ladder/mean"]] == [7, 7, 7]
    with pytest.raises(SystemExit, match=f"was read on {told['read'][:10]}"):
        small.run("--test")
    # Without the weights that waited for it, the same models are trained again.
    for path in small.models.iterdir():
        trained.append(path)
        path.unlink()
    assert trained
    results = small.results
    small.out.write_text(json.dumps(results | {"test": None}))
    small.run("--test")
    assert small.results["test"]["cells"] == told["cells"]


def test_the_test_split_waits_for_the_whole_ladder(small):
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
    monkeypatch.setattr(ladder_models, "logits", lambda model, config, some: -torch.ones(len(some)))
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
    found = ladder_models.measured(answers, examples)  # labels 1, 0, 0, 1
    assert found["accuracy"] == 0.5
    assert statistics.correct(found).tolist() == [True, True, False, False]
    # 0.88, 0.27, 0.62 and 0.05
    assert [row[0] for row in found["calibration"]] == [1, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    assert [row[2] for row in found["calibration"]] == [1, 0, 0, 0, 0, 0, 0, 0, 1, 0]
    losses = np.log1p(np.exp([-2.0, -1.0, 0.5, 3.0]))
    assert found["loss"] == pytest.approx(losses.mean(), abs=1e-6)

"""Measuring from the command line: the table, the last line, and what it measured."""

import json
import shutil

import small_run
import torch
from processes import read_metrics

from attention import evaluate
from attention.sentiment.batches import SETS, measured_examples
from attention.sentiment.evaluation import Measured, measure
from attention.sentiment.run_folder import load_run
from attention.sentiment.sources import load_reviews

CPU = torch.device("cpu")


def result_of(capsys, *options):
    capsys.readouterr()
    assert evaluate.main([*map(str, options), "--device", "cpu"]) == 0
    table, last = capsys.readouterr().out.rstrip("\n").rsplit("\n", 1)
    return table, json.loads(last)


def test_last_line_is_json_with_every_figure(finished, capsys):
    table, result = result_of(
        capsys, finished, "--data", finished.parent / "reviews", "--split", "test"
    )
    assert list(result) == ["clean", "distractor"]
    assert table.startswith("test ")
    for name, row in result.items():
        assert set(row) == set(Measured.__annotations__)
        assert sum(map(sum, row["confusion"])) == row["n"]
        assert row["n"] == 7
        low, high = row["accuracy_interval"]
        assert low < row["accuracy"] < high or row["accuracy"] in (0, 1)
        assert row["loss_interval"][0] < row["loss"] < row["loss_interval"][1]
        printed = next(line for line in table.splitlines() if line.startswith(SETS[name]))
        assert f"{row['accuracy']:.4f}" in printed
        assert f"{row['loss']:.4f}" in printed
        assert f"{low:.4f} to {high:.4f}" in printed


def test_it_measures_the_split_with_the_lab_s_pairs(finished, capsys):
    _, result = result_of(capsys, finished, "--split", "test")
    model, tokenizer, _ = load_run(finished, CPU)
    reviews = load_reviews(finished.parent / "reviews")["test"]
    for name, examples in measured_examples(tokenizer, reviews).items():
        assert result[name] == measure(model, examples)
    assert (examples.distractor >= 0).all()


def test_validation_figures_are_those_of_training(finished, capsys):
    table, result = result_of(capsys, finished)  # test reviews are read on request alone
    assert table.startswith("validation ")
    (line,) = read_metrics(finished)
    assert result == {name: line[name] for name in ("clean", "distractor")}


def test_a_run_that_does_not_say_what_it_read_is_measured(finished, capsys, tmp_path):
    """Whatever stands in its place, since a folder may come from anywhere."""
    run = shutil.copytree(finished, tmp_path / "run")
    config = json.loads((run / "config.json").read_text()) | {"data": 5}
    (run / "config.json").write_text(json.dumps(config))
    assert result_of(capsys, run)[1] == result_of(capsys, finished)[1]


def test_the_names_of_columns_are_remembered(tmp_path, capsys):
    own = small_run.write_table(tmp_path / "own.jsonl", small_run.rows(60, 3, "review", "stars"))
    out = small_run.train(
        tmp_path / "run", "--text-column", "review", "--label-column", "stars", data=own
    )
    assert "6 of 60 training rows validate" in capsys.readouterr().err
    _, result = result_of(capsys, out, "--split", "validation")
    line = read_metrics(out)[-1]
    assert result["clean"] == line["clean"]
    rows = small_run.rows(60, 3, label="stars")
    other = small_run.write_table(tmp_path / "other.csv", rows, ";")
    _, result = result_of(capsys, out, "--data", other, "--text-column", "text")
    assert result["clean"]["n"] == 60  # a file is measured whole


def test_a_folder_needs_only_the_split_that_is_measured(finished, capsys, tmp_path):
    shutil.copy(finished.parent / "reviews" / "test.csv", tmp_path / "test.csv")
    _, expected = result_of(capsys, finished, "--split", "test")
    assert result_of(capsys, finished, "--data", tmp_path, "--split", "test")[1] == expected


def test_reviews_that_the_model_was_trained_on_are_no_measure_of_it(tmp_path, capsys):
    data = small_run.write_table(tmp_path / "all.csv", small_run.rows(40, 1))
    run = small_run.train(tmp_path / "run", "--no-distractors", data=data)
    other = small_run.write_table(tmp_path / "other.csv", small_run.rows(40, 2))
    for name, options, is_known in (
        ("file", ("--data", data), True),
        ("train", ("--split", "train"), True),
        ("validation", (), False),
        ("file", ("--data", other), False),
        ("file", ("--data", other, "--split", "train"), False),
    ):
        capsys.readouterr()
        assert evaluate.main([str(run), *map(str, options), "--device", "cpu"]) == 0
        printed = capsys.readouterr()
        assert ("the model was trained on some or all of these" in printed.err) == is_known
        assert printed.out.startswith(f"{name} ")
        assert "distractor" not in printed.out  # as in training


def test_validation_reviews_that_have_changed_are_noticed(tmp_path, capsys):
    """A drawn tenth was drawn anew where the file had grown, and with it what was trained on."""
    data = small_run.write_table(tmp_path / "all.csv", small_run.rows(40, 1))
    run = small_run.train(tmp_path / "run", data=data)
    _, before = result_of(capsys, run, "--split", "validation")
    assert evaluate.main([str(run), "--split", "validation", "--device", "cpu"]) == 0
    assert "other validation reviews" not in capsys.readouterr().err
    assert before["clean"]["n"] == 4
    data.write_text(data.read_text() + "\nlovely soup,1\nbad soup,0\n")
    assert evaluate.main([str(run), "--split", "validation", "--device", "cpu"]) == 0
    assert "all.csv: now has other validation reviews than those" in capsys.readouterr().err

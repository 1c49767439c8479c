"""Two processes: the model of one, a common end, nothing left behind."""

import signal

import pytest
import tiny
import torch
from processes import PROMISED, STOPPING, lines, python, two_processes, weights

from attention import train


def test_two_processes_train_the_model_of_one(tmp_path):
    one = tiny.run(tmp_path / "one", "--epochs", "2", "--model", "qkv")
    options = ["--data", tmp_path / "reviews", "--out", tmp_path / "two", *tiny.OPTIONS]
    process = python(
        "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2,
        "-m", "attention.train", *options, "--epochs", 2, "--model", "qkv",
    )  # fmt: skip
    _, said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    assert said.count("epoch 1/2") == said.count("finished") == 1
    assert {path.name for path in (tmp_path / "two").iterdir()} == PROMISED
    for a, b in zip(weights(one).values(), weights(tmp_path / "two").values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    for a, b in zip(lines(one), lines(tmp_path / "two"), strict=True):
        for name in ("train", "clean", "distractor"):
            assert a[name]["n"] == b[name]["n"]
            assert a[name]["accuracy"] == b[name]["accuracy"]
            assert a[name]["loss"] == pytest.approx(b[name]["loss"], rel=1e-5)
        tokens = [line["tokens_per_second"] * line["seconds"] for line in (a, b)]
        assert tokens[0] == pytest.approx(tokens[1])


def test_all_processes_stop_together_and_one_can_go_on(tmp_path):
    one = tiny.run(tmp_path / "one", "--epochs", "2")
    two = tmp_path / "two"
    options = ["--data", tmp_path / "reviews", "--out", two, *tiny.OPTIONS, "--epochs", 2]
    # The second process alone is asked to stop, in the midst of the second epoch. Until then
    # each batch is followed by a checkpoint, with the figures of both.
    codes, said = two_processes("-c", STOPPING, "SIGTERM", tiny.BATCHES + 4, -1, *options)
    assert codes == [128 + signal.SIGTERM] * 2, said
    assert "stopped by SIGTERM, saved" in said[0]
    assert said[1] == ""
    assert train.main(["--resume", str(two)]) == 0
    for a, b in zip(weights(one).values(), weights(two).values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    # Both processes' batches before the stop are in the second epoch's figures.
    for a, b in zip(lines(one), lines(two), strict=True):
        assert a["train"]["n"] == b["train"]["n"]
        assert a["train"]["loss"] == pytest.approx(b["train"]["loss"], rel=1e-5)


def test_without_yelp_all_processes_end_and_one_says_the_three_ways_on(tmp_path):
    nowhere = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    codes, said = two_processes(
        "-m", "attention.train", "--out", tmp_path / "run", "--device", "cpu", **nowhere
    )
    assert codes == [2, 2], said
    assert said[0].count("\n") == 1
    assert "Three ways on: connect to the network once" in said[0]
    assert "--data FOLDER" in said[0]
    assert "--data imdb" in said[0]
    assert said[1] == ""
    assert not (tmp_path / "run").exists()

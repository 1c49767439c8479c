"""Two processes that are stopped or refused: the same end, nothing left behind."""

import signal

import pytest
import small_run
import torch
from processes import STOPPING, load_weights, read_metrics, two_processes

from attention.train import main


def test_all_processes_stop_at_the_same_step_and_one_can_resume(tmp_path):
    one = small_run.train(tmp_path / "one", "--epochs", "2")
    two = tmp_path / "two"
    line = small_run.line(two, "--epochs", "2")
    # The second process alone gets the signal, in the midst of the second epoch. Until then
    # each batch is followed by a checkpoint, with the figures of both.
    codes, errors = two_processes("-c", STOPPING, "SIGTERM", small_run.BATCHES + 4, -1, *line)
    assert codes == [128 + signal.SIGTERM] * 2, errors
    assert "stopped by SIGTERM, saved" in errors[0]
    assert errors[1] == ""
    assert main(["--resume", str(two)]) == 0
    for a, b in zip(load_weights(one).values(), load_weights(two).values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    # Both processes' batches before the stop are in the second epoch's figures.
    for a, b in zip(read_metrics(one), read_metrics(two), strict=True):
        assert a["train"]["n"] == b["train"]["n"]
        assert a["train"]["loss"] == pytest.approx(b["train"]["loss"], rel=1e-5)


def test_without_yelp_all_processes_end_and_one_says_the_three_ways_on(tmp_path):
    nowhere = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    codes, errors = two_processes(
        "-m", "attention.train", "--out", tmp_path / "run", "--device", "cpu", **nowhere
    )
    assert codes == [2, 2], errors
    assert errors[0].count("\n") == 1
    assert "You can connect to the network once" in errors[0]
    assert "--data FOLDER" in errors[0]
    assert "--data imdb" in errors[0]
    assert errors[1] == ""
    assert not (tmp_path / "run").exists()

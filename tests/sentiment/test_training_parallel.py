"""Two processes: the model of one, and the same files."""

import pytest
import small_run
import torch
from processes import RUN_FILES, load_weights, python, read_metrics


def test_two_processes_train_the_model_of_one(tmp_path):
    one = small_run.train(tmp_path / "one", "--epochs", "2", "--model", "qkv")
    options = ["--data", tmp_path / "reviews", "--out", tmp_path / "two", *small_run.OPTIONS]
    process = python(
        *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
        *("-m", "attention.train", *options, "--epochs=2", "--model=qkv"),
    )
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert errors.count("epoch 1/2") == errors.count("finished") == 1
    assert {path.name for path in (tmp_path / "two").iterdir()} == RUN_FILES
    for a, b in zip(
        load_weights(one).values(), load_weights(tmp_path / "two").values(), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    for a, b in zip(read_metrics(one), read_metrics(tmp_path / "two"), strict=True):
        for name in ("train", "clean", "distractor"):
            assert a[name]["n"] == b[name]["n"]
            assert a[name]["accuracy"] == b[name]["accuracy"]
            assert a[name]["loss"] == pytest.approx(b[name]["loss"], rel=1e-5)
        tokens = [line["tokens_per_second"] * line["seconds"] for line in (a, b)]
        assert tokens[0] == pytest.approx(tokens[1])

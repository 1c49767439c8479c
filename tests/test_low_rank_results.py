"""The committed results say where they come from, and fit the script that makes them."""

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[1] / "docs" / "results" / "low_rank.py"
RESULTS = json.loads(SCRIPT.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("low_rank", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_origin_is_told():
    told = {"command", "date", "seeds", "data", "sha256", "versions", "hardware", "config"}
    assert told <= RESULTS["origin"].keys()


def test_configuration_is_the_scripts(script):
    now = asdict(script.CONFIG)
    assert {name: now[name] for name in RESULTS["origin"]["config"]} == RESULTS["origin"]["config"]


def test_every_model_is_there_once(script):
    found = [(run["kind"], run["key_dim"], run["seed"]) for run in RESULTS["runs"]]
    assert len(set(found)) == len(found)
    trained = {each for each in found if each[0] != "mean"}
    kinds, seeds = ("qk", "qkv"), script.SEEDS
    assert trained == {(kind, k, s) for kind in kinds for k in script.KEY_DIMS for s in seeds}


def test_ranks_are_bounded_by_k():
    for run in RESULTS["runs"]:
        if run["kind"] == "mean":
            continue
        for when in ("spectrum_before", "spectrum_after"):
            sigma = torch.tensor(run[when])
            assert len(sigma) == run["key_dim"]
            assert (sigma.diff() <= 0).all()
        if "cut_accuracy" in run:
            assert len(run["cut_accuracy"]) == run["key_dim"] + 1
            assert run["cut_accuracy"][-1] == run["test"]["accuracy"]

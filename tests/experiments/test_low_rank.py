"""The committed results say where they come from, and fit the script that makes them."""

import json

import torch

from attention.sentiment.config import TrainConfig
from experiments.low_rank import __main__ as low_rank

RESULTS = json.loads(low_rank.OUT.read_text(encoding="utf-8"))


def test_the_origin_is_recorded():
    origin = {"command", "date", "seeds", "data", "sha256", "versions", "hardware", "config"}
    assert origin <= RESULTS["origin"].keys()


def test_the_configuration_is_the_scripts():
    # An option that came later was as its default.
    varied = dict.fromkeys(("model", "key_dim", "seed", "out"))
    recorded = TrainConfig().options() | RESULTS["origin"]["config"]
    assert recorded | varied == low_rank.CONFIG.options() | varied


def test_every_model_is_there_once():
    models = [(run["kind"], run["key_dim"], run["seed"]) for run in RESULTS["runs"]]
    assert len(set(models)) == len(models)
    trained = {each for each in models if each[0] != "mean"}
    kinds, widths, seeds = ("qk", "qkv"), low_rank.KEY_DIMS, low_rank.SEEDS
    assert trained == {(kind, k, seed) for kind in kinds for k in widths for seed in seeds}


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

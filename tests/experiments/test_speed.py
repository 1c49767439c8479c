"""Both sides of the race: Lab 13's model is ours under its preset, and both train; the kernel."""

import json
from argparse import Namespace

import pytest
import small_run
import torch

from attention.sentiment.batches import distractor_indices
from attention.sentiment.config import PRESETS
from attention.sentiment.model import build_model
from experiments.speed import alternatives, causal, lab13, race, side


def test_the_lab_written_out_computes_what_its_preset_computes():
    torch.manual_seed(5)
    lab, ours = lab13.Net(23), build_model(PRESETS["lab13"], 23).eval()
    names = {"W_query": "Q", "W_key": "K", "W_value": "V"}
    with torch.no_grad():
        ours.embedding.weight.copy_(lab.embedding.weight)
        for here, there in names.items():
            getattr(ours.attention, here).load_state_dict(getattr(lab, there).state_dict())
    ours.classifier.load_state_dict(lab.classifier.state_dict())
    lengths = torch.tensor([256, 1, 17])
    ids = torch.randint(1, 23, (3, 256)) * (torch.arange(256) < lengths[:, None])
    torch.testing.assert_close(ours(ids[:, :256], lengths), lab(ids))


def test_the_lab_cuts_words_and_rows_as_it_does():
    tokens = [lab13.tokenize("<b>Good</b> food,\ngood  WINE!"), ["bad"], ["bad", "wine"]]
    assert tokens[0] == ["good", "food", "good", "wine"]
    vocabulary = lab13.make_vocabulary(tokens)
    assert vocabulary == {"good": 2, "wine": 4, "bad": 5, "<PAD>": 0, "<UNK>": 1}
    short, long = lab13.numbered(["Good food.", "bad " * 300], vocabulary)
    assert (short, long) == ([2, 1] + [0] * 254, [5] * 256)


@pytest.mark.parametrize("name", ["lab13", "lab13-corrected"])
def test_a_side_prepares_trains_and_measures(name, tmp_path):
    for split, count in (("train", 23), ("validation", 11)):
        small_run.write_table(tmp_path / f"{split}.parquet", small_run.rows(count, count))
    one = lab13.Lab13(tmp_path) if name == "lab13" else side.Corrected(tmp_path, lr=0.01)
    one.prepare()
    one.start()
    losses = [one.epoch() for _ in range(3)]
    assert losses[-1]["train_loss"] < losses[0]["train_loss"]
    assert all(0 <= epoch["validation_accuracy"] <= 1 for epoch in losses)
    assert all(epoch["seconds"] > 0 for epoch in losses)


def test_time_to_accuracy_counts_only_what_reached_it():
    def point(accuracy, seconds):
        times = {"epoch": 1, "elapsed": seconds, "elapsed_cpu": seconds / 2}
        return {"validation_accuracy": accuracy, **times}

    curves = [{"lr": 0.1, "points": [point(0.5, 1.0), point(0.9, 4.0)]}]
    curves.append({"lr": 0.2, "points": [point(0.7, 3.0)]})
    times = race.time_to_accuracy({"lab_curve": [point(0.8, 20.0)], "our_curves": curves})
    assert [ours["ratio"] for ours in times["lab13-corrected"]] == [5.0, None]


def test_ways_of_causality_take_turns_and_their_medians_are_recorded(tmp_path, monkeypatch):
    """What they need of memory is measured by nox -s faults, each in a process of its own."""
    monkeypatch.setattr(causal, "SIZES", {"batch": 1, "n": 16, "embed_dim": 8, "num_heads": 2})
    order = []

    def measure(module, way, repeats):
        order.append(way)
        mib = len(order) if way == "is_causal" else 10 * len(order)
        return causal.measure(way, int(repeats)) | {"mib": mib}

    monkeypatch.setattr(causal, "run_module", measure)
    out = tmp_path / "results.json"
    out.write_text('{"kept": 1}')
    causal.run(Namespace(rounds=3, repeats=1, out=out))
    assert order == ["is_causal", "attn_mask"] * 3
    results = json.loads(out.read_text())
    assert results["kept"] == 1
    assert results["causal"]["mib"]["is_causal"] == {"median": 3, "min": 1, "max": 5, "n": 3}
    assert results["causal"]["mib"]["ratio"] == 3 / 40
    assert results["causal"]["cpu_seconds"]["attn_mask"]["min"] > 0


def test_alternatives_read_the_same_words_and_mark_those_of_the_distractor(tmp_path):
    for split, count in (("train", 23), ("validation", 11)):
        small_run.write_table(tmp_path / f"{split}.parquet", small_run.rows(count, count))
    plain = alternatives.read_words(str(tmp_path), marked=False)
    marked = alternatives.read_words(str(tmp_path), marked=True)
    assert [len(plain[name][0]) for name in ("train", "clean", "distractor")] == [23, 11, 11]
    assert marked["train"] == (plain["train"][0] + marked["train"][0][23:], plain["train"][1] * 2)
    fronts = distractor_indices(11).tolist()
    for text, pair, front in zip(plain["clean"][0], marked["distractor"][0], fronts, strict=True):
        words = plain["clean"][0][front].split()
        assert pair == " ".join([*(f"front_{word}" for word in words), text])


def test_alternatives_take_turns_and_keep_what_was_measured_before(tmp_path, monkeypatch):
    order = []

    def measure(module, way, data, seed, threads_given, *, threads):
        order.append((way, int(seed)))
        return {"clean": 0.9, "distractor": 0.8, "cpu_seconds": 1.0}

    monkeypatch.setattr(alternatives, "run_module", measure)
    out = tmp_path / "results.json"
    options = {"data": tmp_path, "threads": 2, "out": out}
    alternatives.run(Namespace(ways=["counts", "default"], seeds=[0, 1], **options))
    alternatives.run(Namespace(ways=["default"], seeds=[1, 2], **options))
    assert order[:4] == [("counts", 0), ("default", 0), ("counts", 1), ("default", 1)]
    ways = json.loads(out.read_text())["alternatives"]["ways"]
    assert [each["seed"] for each in ways["default"]] == [0, 1, 2]
    assert [each["seed"] for each in ways["counts"]] == [0, 1]
    assert all(each["seconds"] >= 0 for each in ways["default"])

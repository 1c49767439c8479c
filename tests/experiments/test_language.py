"""The record of the model that writes goes with its settings and with the model beside it."""

import json

import pytest
import torch

from attention.language import load_language_model
from experiments.language.__main__ import CONFIG, MODEL, OUT, SETTINGS
from experiments.language.data import repeat_passages

RESULTS = json.loads(OUT.read_text(encoding="utf-8"))


def test_the_record_is_of_todays_settings_and_of_the_model_beside_it():
    assert RESULTS["settings"] == SETTINGS
    assert RESULTS["config"] == vars(CONFIG)
    assert RESULTS["cpu_seconds"] < 2 * 3_600
    model, tokenizer = load_language_model(MODEL)
    assert model.config == CONFIG
    assert sum(weight.numel() for weight in model.parameters()) == RESULTS["parameters"]
    assert tokenizer.get_vocab_size() == CONFIG.vocab_size


def test_the_losses_are_of_one_kind_and_rounding_costs_little():
    validation = RESULTS["validation"]
    positions = validation["loss per position"]
    assert len(positions) == CONFIG.max_length
    mean = sum(positions) / len(positions)
    assert mean == pytest.approx(validation["loss in 8 bits"], abs=1e-3)
    assert abs(validation["loss in 8 bits"] - validation["loss"]) < 0.01
    assert RESULTS["curve"][-1]["step"] == SETTINGS["steps"]
    assert RESULTS["curve"][-1]["loss"] < RESULTS["curve"][0]["loss"]


def test_some_rows_repeat_a_passage_of_8_to_64_tokens_and_the_others_are_as_they_were():
    before = torch.arange(5 * 129).reshape(5, 129)
    after = before.clone()
    repeat_passages(after, 3, torch.Generator().manual_seed(0))
    assert torch.equal(after[3:], before[3:])
    assert torch.equal(after[:, 0], before[:, 0])
    periods = [len(set(row.tolist())) for row in after[:3, 1:]]
    assert all(8 <= period <= 64 for period in periods)
    assert len(set(periods)) > 1
    for row, old, period in zip(after[:3, 1:], before[:, 1:], periods, strict=False):
        assert torch.equal(row[:period], old[:period])
        assert torch.equal(row[period:], row[:-period])

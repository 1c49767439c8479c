"""The experiment on variants: models that are what they say, and a record that goes on."""

import json

import pytest
import torch

from attention import MultiHeadAttention
from attention.language import LanguageModel
from experiments.variants import __main__ as experiment
from experiments.variants.measure import cached_numbers
from experiments.variants.model import LENGTH, VARIANTS, VariantAttention, build


def test_the_model_with_softmax_is_the_one_that_writes():
    torch.manual_seed(0)
    ours = build("softmax")
    theirs = LanguageModel(ours.config)
    theirs.load_state_dict(ours.state_dict())
    ids = torch.randint(1, 2_048, (2, 20))
    ids[:, 0] = 0
    assert isinstance(theirs.encoder.blocks[0].attention, MultiHeadAttention)
    torch.testing.assert_close(ours(ids), theirs(ids))


@pytest.mark.parametrize("name", VARIANTS)
def test_each_variant_is_causal_and_mixes_values_with_its_weights(name):
    torch.manual_seed(0)
    model = build(name).requires_grad_(False)
    ids = torch.randint(1, 2_048, (2, 24))
    changed = ids.clone()
    changed[:, 12:] = 5
    torch.testing.assert_close(model(ids)[:, :12], model(changed)[:, :12])
    layer = model.encoder.blocks[0].attention
    assert isinstance(layer, VariantAttention)
    x = torch.randn(1, 24, 64)
    weights = layer.weights(x)  # (1, h, n, n)
    assert not weights.triu(1).any()
    tensors, options = layer.inputs(x)
    mixed = weights @ tensors["value"]  # (1, h, n, k)
    if layer.kind == "gate":
        mixed = torch.sigmoid(options["gate"]) * mixed
    torch.testing.assert_close(mixed, layer.attend(tensors, options))


def test_a_gate_is_compared_with_a_model_of_the_same_size():
    counts = {
        name: sum(weight.numel() for weight in build(name).parameters())
        for name in ("softmax", "gate", "gate, as many parameters")
    }
    assert counts["gate"] == counts["softmax"] + 4 * 64**2
    assert counts["gate, as many parameters"] == counts["softmax"]


def test_what_is_kept_grows_with_the_text_or_not_at_all():
    assert cached_numbers("softmax", 128) == 4 * 128 * 2 * 64
    assert cached_numbers("window", 4_096) == 4 * 16 * 2 * 64
    assert cached_numbers("linear", 4_096) == cached_numbers("linear", 128) == 4 * 4 * 16 * 17
    assert cached_numbers("hybrid", 128) == 3 * 4 * 16 * 16 + 128 * 2 * 64


def test_each_variant_is_trained_with_each_seed_and_some_at_other_rates():
    keys = [key.split("|") for key in experiment.wanted()]
    assert len({*map(tuple, keys)}) == len(keys)
    for name in VARIANTS:
        seeds = [int(seed) for one, lr, seed in keys if (one, float(lr)) == (name, experiment.RATE)]
        assert seeds == list(experiment.SEEDS)
    others = {(name, float(lr)) for name, lr, _ in keys if float(lr) != experiment.RATE}
    assert others == {(n, lr) for lr, names in experiment.OTHER_RATES.items() for n in names}


def test_a_piece_of_it_trains_and_is_measured(monkeypatch):
    few = {"steps": 2, "pieces": 8, "warm_up": 1}
    monkeypatch.setattr(experiment, "SETTINGS", experiment.SETTINGS | few)
    some = experiment.load_reviews("imdb", limit=500)
    monkeypatch.setattr(experiment, "load_reviews", lambda name: some)
    experiment.data.cache_clear()
    key, found = experiment.run_one("linear|0.01|1")
    assert key == "linear|0.01|1"
    assert found["parameters"] == 262_720
    assert 0 < found["weight on the first token"] < 1
    assert 1 <= found["effective rank of the weights"] <= LENGTH
    experiment.data.cache_clear()


def test_the_record_is_of_todays_settings():
    found = json.loads(experiment.OUT.read_text(encoding="utf-8"))
    settings = dict(found["settings"])
    assert settings.pop("lr") == experiment.RATE
    assert settings.pop("seeds") == list(experiment.SEEDS)
    assert settings.pop("length") == LENGTH
    assert settings == experiment.SETTINGS
    assert set(found["runs"]) <= set(experiment.wanted())


def test_results_of_other_settings_are_not_mixed_with_todays(monkeypatch, tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"runs": {}, "settings": {"steps": 7}}))
    monkeypatch.setattr(experiment, "OUT", path)
    monkeypatch.setattr(experiment, "origin", lambda *_: {})
    with pytest.raises(SystemExit, match="expected results of today's settings"):
        experiment.run(1)
    assert json.loads(path.read_text())["settings"] == {"steps": 7}

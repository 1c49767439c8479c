"""What a model and a run may vary: who reads an option, its range, and what is saved of it."""

import json

import pytest
from other_values import OF_MODEL, OF_RUN
from refusals import check_refused

from attention.layers.variants import VARIANTS
from attention.sentiment.config import (
    MINILM,
    PRESETS,
    ModelConfig,
    TrainConfig,
    config_json,
    models_reading,
    read_model_config,
    read_train_config,
)

# The lab's procedure (Nowakowski, 2024), written down anew: what it trains on, reads, computes.
LAB_WITHOUT_FAULTS = {
    "model": "qkv",
    "epochs": 4,
    "batch_size": 1_024,
    "lr": 0.02,
    "schedule": "linear",
    "warmup": 0.0,
    "seed": 42,
    "embed_dim": 16,
    "key_dim": 8,
    "value_dim": None,
    "bias": False,
    "scale": None,
    "bigram_buckets": 0,
    "embedding_std": 1.0,
    "dropout": 0.0,
    "word_dropout": 0.0,
    "max_length": 256,
    "keep": "tail",
    "positions": "end",
    "position_base": 1_000.0,
    "mask_padding": True,
    "distractors": True,
    "separator": False,
    "clean_text": True,
    "words": "a-z",
    "min_frequency": 2,
    "min_steps": 1,
    "optimizer": "adam",
}
LAB_FAULTS = {
    "epochs": 20,
    "lr": 1e-3,
    "schedule": "constant",
    "bias": True,
    "scale": 1.0,
    "keep": "head",
    "positions": "start",
    "mask_padding": False,
    "clean_text": False,
    "min_frequency": 1,
}
WHERE = {"data", "out", "device", "precision", "limit"}
# No options: a model's dtype changes after training only, and the data say its labels.
FIXED = {"dtype", "labels"}
MODELS = [*VARIANTS, MINILM]
# For each field of a model a value that is not its default.
OTHER_VALUES = OF_MODEL | {
    "rotary": True,
    "bias": True,
    "fine_tune": True,
    "keep": "head",
    "positions": "start",
    "mask_padding": False,
    "separator": False,
    "segments": True,
    "dtype": "float64",
    "labels": ("tea", "coffee", "milk"),
}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("lab13-corrected", LAB_WITHOUT_FAULTS), ("lab13", LAB_WITHOUT_FAULTS | LAB_FAULTS)],
)
def test_a_preset_is_the_lab_in_every_field(preset, expected):
    options = PRESETS[preset].options()
    # A field that is new must be decided for the lab, too, whatever its default.
    assert {k: v for k, v in options.items() if k not in WHERE | FIXED} == expected
    assert {options[k] for k in WHERE} == {"yelp-lab13", None, "auto"}


def test_the_default_trains_on_all_of_yelp():
    default = PRESETS["default"]
    assert (default.data, default.limit) == ("yelp", None)


def test_frozen_words_have_no_gradient_to_be_lazy_about():
    for optimizer in ("adam", "lazy-adam"):
        with pytest.raises(ValueError, match="optimizer: expected fine_tune with it, got a frozen"):
            PRESETS["minilm"].with_options(optimizer=optimizer)
    tuned = PRESETS["minilm-fine-tuned"].with_options(optimizer="lazy-adam")
    assert tuned.optimizer == "lazy-adam"
    assert "optimizer" not in tuned.with_options(fine_tune=False).options()


def test_every_field_has_a_value_to_test():
    assert OTHER_VALUES.keys() == ModelConfig.model_fields.keys() - {"attention"}


@pytest.mark.parametrize("attention", MODELS)
def test_what_a_model_does_not_read_is_refused_with_the_models_that_do(attention):
    """Of 90 pairs of a variant and an option 67 used to be ignored."""
    for name, value in OTHER_VALUES.items():
        models = models_reading(name)
        if attention in models:
            assert getattr(ModelConfig(attention=attention, **{name: value}), name) == value
            continue
        *others, last = models
        expected = f"{', '.join(others)} or {last}, which read it" if others else last
        for given in (value, ModelConfig(attention=models[0]).options()[name]):  # the default, too
            with pytest.raises(ValueError, match=f"^{name}: expected {expected}.*got {attention}$"):
                ModelConfig(attention=attention, **{name: given})
    assert ModelConfig(attention=attention).options().keys() == {"attention"} | {
        name for name in OTHER_VALUES if attention in models_reading(name)
    }


def test_what_the_run_does_not_read_is_refused():
    cases = [
        ({"model": "minilm", "min_frequency": 3}, "^min_frequency: expected mean, .*got minilm$"),
        ({"positions": "none", "position_base": 9.0}, "^position_base: .* got none$"),
    ]
    check_refused(lambda options: TrainConfig().with_options(**options), cases)


def test_what_another_model_does_not_read_is_left_out_of_a_preset():
    for preset in PRESETS.values():
        for attention in MODELS:
            options = preset.with_options(model=attention).options()
            assert options["model"] == attention
            kept = preset.options().keys() & options.keys() - {"model"}
            if attention == MINILM:  # which reads 510 words at most
                kept -= {"max_length"}
                assert options["max_length"] == min(preset.model.max_length, 256)
            assert {k: options[k] for k in kept} == {k: preset.options()[k] for k in kept}
    # The default has segments, which need a separator.
    assert not PRESETS["default"].with_options(separator=False).model.segments
    with pytest.raises(ValueError, match=r"^segments: expected a separator with it, got none$"):
        PRESETS["default"].with_options(separator=False, segments=True)
    with pytest.raises(ValueError, match=r"^key_dim: expected .* got mean$"):
        PRESETS["lab13"].with_options(model="mean", key_dim=8)


# Of the model, and of the run; each value is out of the field's range.
OUT_OF_RANGE = {
    ModelConfig: {
        "attention": ["bert", ["energy"]],
        "embed_dim": [0, -3, "6", 6.5, True, None],
        "bigram_buckets": [-1, 2**63],
        "embedding_std": [0.0, float("inf")],
        "dropout": [-0.1, 1.0, float("nan"), "half"],
        "word_dropout": [-0.1, 1.0, float("nan")],
        "max_length": [0, -3, 5_000_000, 2**63],
        "keep": ["middle"],
        "positions": ["centre"],
        "position_base": [0.0, float("inf")],
        "mask_padding": [0, "no"],
        "dtype": ["int8"],
        "temperature": [2],
    },
    TrainConfig: {
        "epochs": [0, -3, "many"],
        "min_steps": [0, -3],
        "batch_size": [0, -3, 2**63],
        "lr": [0.0, -1.0, float("inf"), float("nan"), None],
        "schedule": ["cosine"],
        "warmup": [-0.1, 1.0],
        "precision": ["float16"],
        "seed": [-1, 2**32],
        "limit": [1, 0, -5],
        "min_frequency": [0, -3],
        "data": [["reviews"]],
        "model": [7],
        "momentum": [3],
    },
}
OF_A_LAYER = {
    "keys": {"key_dim": [0, -3]},
    "qkv": {"value_dim": [0, -3], "scale": [float("nan")]},
    "multihead": {"num_heads": [0, 5], "num_kv_heads": [0, 3], "window": [0]},
    "latent": {"latent_dim": [0, -3]},
    "transformer": {"num_layers": [0, 1_001]},
}


def test_out_of_range_names_the_field():
    cases = [
        (config, {name: value}, f"^{name}: expected .*, got ")
        for config, fields in OUT_OF_RANGE.items()
        for name, values in fields.items()
        for value in values
    ] + [
        (ModelConfig, {"attention": attention, name: value}, f"^{name}: expected .*, got ")
        for attention, fields in OF_A_LAYER.items()
        for name, values in fields.items()
        for value in values
    ]
    check_refused(lambda config, fields: config(**fields), cases)


def test_ends_of_ranges_are_allowed():
    ModelConfig(attention="qkv", embed_dim=1, key_dim=1, value_dim=1, max_length=1)
    ModelConfig(dropout=0.0, word_dropout=0.99, bigram_buckets=0)
    TrainConfig(epochs=1, batch_size=1, limit=2, seed=0, lr=1)


def test_options_are_set_and_listed_by_their_flat_names():
    config = TrainConfig().with_options(model="qkv", key_dim=8, epochs=2)
    assert (config.model.attention, config.model.key_dim, config.epochs) == ("qkv", 8, 2)
    options = config.options()
    assert (options["model"], options["key_dim"], options["epochs"]) == ("qkv", 8, 2)
    assert options.keys() >= LAB_WITHOUT_FAULTS.keys()
    assert TrainConfig().with_options(**options) == config


@pytest.mark.parametrize("attention", MODELS)
def test_every_field_comes_back(attention, tmp_path):
    ours = {
        name: value
        for name, value in OTHER_VALUES.items()
        if attention in models_reading(name) and name != "separator"
    }
    for fields in (ours, {}):
        of_run = OF_RUN | {"schedule": "constant", "distractors": False, "clean_text": False}
        if attention == MINILM:
            del of_run["min_frequency"], of_run["words"]
        config = TrainConfig(model=ModelConfig(attention=attention, **fields), **of_run)
        content = config_json(config)
        assert content["model"].keys() == config.model.options().keys()  # and nothing unread
        content["model"]["vocab_size"] = 23
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert read_train_config(tmp_path) == config
        assert read_model_config(tmp_path)[0] == 23

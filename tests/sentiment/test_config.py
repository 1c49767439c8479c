"""What a run may vary: the lab's settings field by field, and ranges."""

import pytest
from refusals import check_refused

from attention.sentiment.config import PRESETS, ModelConfig, TrainConfig

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
    "num_heads": 1,
    "num_kv_heads": None,
    "latent_dim": None,
    "rotary": False,
    "window": None,
    "num_layers": 2,
    "fine_tune": False,
    "bias": False,
    "scale": True,
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
    "segments": False,
    "clean_text": True,
    "min_frequency": 2,
    "lab_sample": True,
}
LAB_FAULTS = {
    "epochs": 20,
    "lr": 1e-3,
    "schedule": "constant",
    "bias": True,
    "scale": False,
    "keep": "head",
    "positions": "start",
    "mask_padding": False,
    "clean_text": False,
    "min_frequency": 1,
}
WHERE = {"data", "out", "device", "precision", "limit"}
# Not an option: a model's dtype changes after training only.
FIXED = {"dtype"}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("lab13-corrected", LAB_WITHOUT_FAULTS), ("lab13", LAB_WITHOUT_FAULTS | LAB_FAULTS)],
)
def test_a_preset_is_the_lab_in_every_field(preset, expected):
    options = PRESETS[preset].options()
    # A field that is new must be decided for the lab, too, whatever its default.
    assert {k: v for k, v in options.items() if k not in WHERE | FIXED} == expected
    assert {options[k] for k in WHERE} == {"yelp", None, "auto"}


def test_the_default_trains_on_all_of_yelp():
    default = PRESETS["default"]
    assert (default.data, default.limit, default.lab_sample) == ("yelp", None, False)


# Of the model, and of the run; each value is out of the field's range.
OUT_OF_RANGE = {
    ModelConfig: {
        "attention": ["bert"],
        "embed_dim": [0, -3],
        "key_dim": [0, -3],
        "value_dim": [0, -3],
        "num_heads": [0, -3],
        "num_kv_heads": [0, -3],
        "bigram_buckets": [-1, 2**63],
        "embedding_std": [0.0, float("inf")],
        "dropout": [-0.1, 1.0, float("nan")],
        "word_dropout": [-0.1, 1.0, float("nan")],
        "max_length": [0, -3, 2**63],
        "keep": ["middle"],
        "positions": ["centre"],
        "position_base": [0.0, float("inf")],
        "dtype": ["int8"],
    },
    TrainConfig: {
        "epochs": [0, -3],
        "batch_size": [0, -3, 2**63],
        "lr": [0.0, -1.0, float("inf"), float("nan")],
        "schedule": ["cosine"],
        "warmup": [-0.1, 1.0],
        "precision": ["float16"],
        "seed": [-1, 2**32],
        "limit": [1, 0, -5],
        "min_frequency": [0, -3],
    },
}


def test_out_of_range_names_field_and_value():
    cases = [
        (config, name, value, f"^{name}: expected .*got {value}")
        for config, fields in OUT_OF_RANGE.items()
        for name, values in fields.items()
        for value in values
    ]
    check_refused(lambda config, name, value: config(**{name: value}), cases)


def test_segments_need_a_separator():
    ModelConfig(segments=True, separator=True)
    with pytest.raises(ValueError, match=r"^segments: expected a separator"):
        ModelConfig(segments=True, separator=False)


def test_heads_share_the_width():
    ModelConfig(attention="multihead", embed_dim=6, num_heads=3)
    ModelConfig(attention="qkv", embed_dim=7, num_heads=3)
    with pytest.raises(ValueError, match=r"num_heads: .* embed_dim = 7, got 3"):
        ModelConfig(attention="multihead", embed_dim=7, num_heads=3)


def test_ends_of_ranges_are_allowed():
    ModelConfig(embed_dim=1, key_dim=1, value_dim=1, max_length=1)
    ModelConfig(dropout=0.0, word_dropout=0.99, bigram_buckets=0)
    TrainConfig(epochs=1, batch_size=1, limit=2, seed=0)


def test_options_are_set_and_listed_by_their_flat_names():
    config = TrainConfig().with_options(model="qkv", key_dim=8, epochs=2)
    assert (config.model.attention, config.model.key_dim, config.epochs) == ("qkv", 8, 2)
    options = config.options()
    assert (options["model"], options["key_dim"], options["epochs"]) == ("qkv", 8, 2)
    assert options.keys() >= LAB_WITHOUT_FAULTS.keys()
    assert TrainConfig().with_options(**options) == config
    with pytest.raises(TypeError, match="momentum"):
        config.with_options(momentum=3)

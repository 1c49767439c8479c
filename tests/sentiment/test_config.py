"""What a run may vary: the lab's settings field by field, and ranges."""

import dataclasses

import pytest
from attention.sentiment.config import PRESETS, TrainConfig, option

# The lab's procedure (Nowakowski, 2024), written down anew: what it trains on, reads, computes.
LAB_WITHOUT_FAULTS = {
    "model": "qkv",
    "epochs": 4,
    "batch_size": 1_024,
    "lr": 0.02,
    "schedule": "linear",
    "seed": 42,
    "embed_dim": 16,
    "key_dim": 8,
    "value_dim": None,
    "num_heads": 1,
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
WHERE = {"data", "out", "device", "limit"}


@pytest.mark.parametrize(
    ("preset", "expected"),
    [("lab13-corrected", LAB_WITHOUT_FAULTS), ("lab13", LAB_WITHOUT_FAULTS | LAB_FAULTS)],
)
def test_a_preset_is_the_lab_in_every_field(preset, expected):
    fields = dataclasses.asdict(PRESETS[preset])
    # A field that is new must be decided for the lab, too, whatever its default.
    assert {k: v for k, v in fields.items() if k not in WHERE} == expected
    assert {fields[k] for k in WHERE} == {"yelp", None, "auto"}


def test_the_default_trains_on_all_of_yelp():
    default = PRESETS["default"]
    assert (default.data, default.limit, default.lab_sample) == ("yelp", None, False)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *[
            (name, [0, -3])
            for name in (
                "epochs", "batch_size", "embed_dim", "key_dim", "value_dim", "num_heads",
                "max_length", "min_frequency",
            )
        ],
        ("limit", [1, 0, -5]),
        ("seed", [-1, 2**32]),
        ("dropout", [-0.1, 1.0, float("nan")]),
        ("word_dropout", [-0.1, 1.0, float("nan")]),
        ("lr", [0.0, -1.0, float("inf"), float("nan")]),
        ("embedding_std", [0.0, float("inf")]),
        ("position_base", [0.0, float("inf")]),
        ("bigram_buckets", [-1]),
        ("model", ["bert"]),
        ("schedule", ["cosine"]),
        ("keep", ["middle"]),
        ("positions", ["centre"]),
    ],
)  # fmt: skip
def test_out_of_range_names_option_and_value(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"{option(name)}: expected .*got {value}"):
            TrainConfig(**{name: value})


def test_segments_need_a_separator():
    TrainConfig(segments=True, separator=True)
    with pytest.raises(ValueError, match="--segments"):
        TrainConfig(segments=True, separator=False)


def test_heads_share_the_width():
    TrainConfig(model="multihead", embed_dim=6, num_heads=3)
    TrainConfig(model="qkv", embed_dim=7, num_heads=3)
    with pytest.raises(ValueError, match=r"--num-heads: .* --embed-dim = 7, got 3"):
        TrainConfig(model="multihead", embed_dim=7, num_heads=3)


def test_ends_of_ranges_are_allowed():
    TrainConfig(epochs=1, batch_size=1, embed_dim=1, key_dim=1, value_dim=1, max_length=1)
    TrainConfig(limit=2, seed=0, dropout=0.0, word_dropout=0.99, bigram_buckets=0)

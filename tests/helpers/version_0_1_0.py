"""The command line of version 0.1.0, on which a later version must not surprise anyone."""

PRESETS = ("default", "lab13", "lab13-corrected")
# Each option with its default, by preset.
_DEFAULTS = {
    "data": ("yelp", "yelp", "yelp"),
    "model": ("energy", "qkv", "qkv"),
    "out": (None, None, None),
    "epochs": (6, 20, 4),
    "batch_size": (256, 1_024, 1_024),
    "lr": (0.003, 0.001, 0.02),
    "schedule": ("linear", "constant", "linear"),
    "seed": (42, 42, 42),
    "device": ("auto", "auto", "auto"),
    "limit": (None, None, None),
    "embed_dim": (32, 16, 16),
    "key_dim": (32, 8, 8),
    "value_dim": (None, None, None),
    "num_heads": (4, 1, 1),
    "bias": (False, True, False),
    "scale": (True, False, True),
    "bigram_buckets": (262_144, 0, 0),
    "embedding_std": (0.1, 1.0, 1.0),
    "dropout": (0.3, 0.0, 0.0),
    "word_dropout": (0.2, 0.0, 0.0),
    "max_length": (512, 256, 256),
    "keep": ("tail", "head", "tail"),
    "positions": ("none", "start", "end"),
    "position_base": (1_000.0, 1_000.0, 1_000.0),
    "mask_padding": (True, False, True),
    "distractors": (True, True, True),
    "separator": (True, False, False),
    "segments": (True, False, False),
    "clean_text": (True, False, True),
    "min_frequency": (2, 1, 2),
    "lab_sample": (False, True, True),
}
OPTIONS = {
    preset: {name: values[i] for name, values in _DEFAULTS.items()}
    for i, preset in enumerate(PRESETS)
}

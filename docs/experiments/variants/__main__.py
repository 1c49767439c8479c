"""Train the model that writes with every attention of today, and measure what each one changes.

``nox -s experiments -- variants`` trains each variant three times at one learning rate, and a few
of them once more at half this rate and at twice, to see what the choice of the rate does. What is
done is kept in ``results.json`` after every training, so that a run which was interrupted goes on
where it was. All of it takes less than four hours of one core. ``--check`` trains a small piece
again and compares its losses with the recorded ones. IMDB's test reviews are not used.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention._files import write_text
from attention.language import LanguageModel
from attention.sentiment.reviews import fingerprint
from attention.sentiment.sources import load_reviews
from experiments.language.data import pieces, sentence_starts, stream, tidy
from experiments.language.train import train
from experiments.origin import origin
from experiments.variants.measure import cached_numbers, mean_losses, measure, seconds
from experiments.variants.model import LENGTH, VARIANTS, build

HERE = Path(__file__).parent
OUT = HERE / "results.json"
TOKENIZER = HERE.parent / "language" / "model" / "tokenizer.json"
COMMAND = "nox -s experiments -- variants"
RATE = 1e-2
OTHER_RATES = {
    5e-3: ("softmax", "gate", "linear"),
    2e-2: (
        "softmax",
        "one in the denominator",
        "sink",
        "gate",
        "gate, as many parameters",
        "linear",
    ),
}
SEEDS = (1, 2, 3)
SETTINGS: dict[str, Any] = {
    "steps": 1_500,
    "batch_size": 8,
    "repeated": 2,  # of the rows of a batch
    "warm_up": 100,
    "pieces": 300,
}
CHECK: dict[str, Any] = {
    "variants": ("softmax", "linear"),
    "steps": 40,
    "warm_up": 10,
    "pieces": 50,
}

Data = dict[str, tuple[Tensor, Tensor]]


@cache
def data() -> Data:
    """Return the tokens and the starts of pieces: to train, and to measure."""
    torch.set_num_threads(1)  # so that sums round alike wherever it runs
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    splits = load_reviews("imdb")
    ids = {
        name: stream(tokenizer, [tidy(text) for text in splits[name].texts])
        for name in ("train", "validation")
    }
    starts = {name: sentence_starts(tokenizer, each, 2 * LENGTH + 1) for name, each in ids.items()}
    half = len(starts["validation"]) // 2  # what was tried before was measured on the first half
    return {
        "train": (ids["train"], starts["train"]),
        "measure": (ids["validation"], thin(starts["validation"][half:])),
    }


def thin(starts: Tensor) -> Tensor:
    """Take as many pieces as are measured, from everywhere."""
    return starts[:: max(1, len(starts) // SETTINGS["pieces"])][: SETTINGS["pieces"]]


def trained(name: str, lr: float, seed: int, **fewer: Any) -> LanguageModel:
    """Train one model from its seed; ``fewer`` replaces settings."""
    torch.manual_seed(seed)
    model = build(name)
    settings = SETTINGS | {"lr": lr} | fewer
    train(model, *data()["train"], settings, seed=seed)
    return model


def run_one(key: str) -> tuple[str, dict[str, Any]]:
    """Train and measure what a key such as "softmax|0.01|2" names."""
    name, lr, seed = key.split("|")
    began = time.process_time()
    model = trained(name, float(lr), int(seed))
    found = measure(model, *data()["measure"])
    found["parameters"] = sum(weight.numel() for weight in model.parameters())
    return key, found | {"cpu seconds": round(time.process_time() - began, 1)}


def wanted() -> list[str]:
    """List all keys: each variant with each seed, and then the other rates."""
    names = [*reversed(VARIANTS)]  # the last ones take longest
    return [
        *(f"{name}|{RATE}|{seed}" for seed in SEEDS for name in names),
        *(f"{name}|{lr}|{SEEDS[0]}" for lr, checked in OTHER_RATES.items() for name in checked),
    ]


def run(jobs: int) -> None:
    """Run what is missing of the results, and write them after each training."""
    found = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {"runs": {}}
    runs = found["runs"]
    where = origin(COMMAND, OUT)  # before anything is written, which would change tracked files
    settings = SETTINGS | {"lr": RATE, "seeds": list(SEEDS), "length": LENGTH}
    if found.get("settings", settings) != settings:
        sys.exit(f"{OUT}: expected results of today's settings, got those of others; remove it")
    if "origin" in found:  # what was trained earlier has an origin of its own
        found.setdefault("earlier", []).append(found["origin"])
    splits = load_reviews("imdb")
    found |= {
        "settings": settings,
        "data": {name: fingerprint(splits[name]) for name in ("train", "validation")},
        "origin": where,
    }
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [key for key in wanted() if key not in runs]
        for done in as_completed([pool.submit(run_one, key) for key in waiting]):
            key, measured = done.result()
            runs[key] = measured
            left = sum(key not in runs for key in waiting)
            print(f"{key}: loss {measured['loss']:.3f}, {left} left", flush=True)
            write_text(OUT, json.dumps(found, indent=1) + "\n")
    found["costs"] = {
        name: {
            "numbers kept after 128 tokens": cached_numbers(name, 128),
            "numbers kept after 4,096 tokens": cached_numbers(name, 4_096),
            "seconds for token 1,024": seconds(name, 1_024),
        }
        for name in VARIANTS
    }
    found["check"] = {name: small_loss(name) for name in CHECK["variants"]}
    write_text(OUT, json.dumps(found, indent=1) + "\n")


def small_loss(name: str) -> float:
    """Train a few steps, and measure the loss."""
    model = trained(name, RATE, 1, steps=CHECK["steps"], warm_up=CHECK["warm_up"])
    ids, starts = data()["measure"]
    batch = pieces(ids, starts[: CHECK["pieces"]], LENGTH)
    return mean_losses(model.eval(), batch).mean().item()


def check() -> bool:
    """Compare small trainings with the recorded ones; other versions may move them a little."""
    recorded: dict[str, float] = json.loads(OUT.read_text(encoding="utf-8"))["check"]
    again = {name: small_loss(name) for name in recorded}
    for name, loss in again.items():
        print(f"{name}: loss {loss:.4f}, recorded {recorded[name]:.4f}")
    return all(abs(again[name] - recorded[name]) <= 0.05 for name in recorded)


def main(arguments: Sequence[str]) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--check", action="store_true", help="train a small piece again, compare")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trainings at once")
    options = parser.parse_args(arguments)
    if options.check:
        return 0 if check() else 1
    run(options.jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

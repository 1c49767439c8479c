"""Train the model that writes on the embedded reviews, and record what it predicts.

``nox -s experiments -- language`` writes the folder ``model`` and ``results.json``, in about an
hour of one core. ``--check`` trains a small piece again and compares its loss with the recorded
one. IMDB's test reviews are not used.
"""

import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from attention._files import write_text
from attention.language import LanguageConfig, LanguageModel, load_language_model
from attention.sentiment.reviews import fingerprint
from attention.sentiment.sources import load_reviews
from experiments.command import run_or_check
from experiments.language.data import sentence_starts, stream, tidy, train_tokenizer
from experiments.language.train import loss_per_position, save_language_model, train
from experiments.origin import origin

HERE = Path(__file__).parent
OUT = HERE / "results.json"
MODEL = HERE / "model"
COMMAND = "nox -s experiments -- language"
CONFIG = LanguageConfig(vocab_size=2_048)
SETTINGS: dict[str, Any] = {
    "seed": 1,
    "tokenizer_texts": 5_000,
    "steps": 20_000,
    "batch_size": 16,
    "repeated": 4,  # of the rows of a batch
    "lr": 1e-2,
    "warm_up": 200,
    "validation_pieces": 1_000,
}
SMALL = {
    "reviews": 300,
    "steps": 40,
    "batch_size": 8,
    "repeated": 2,
    "warm_up": 10,
    "validation_pieces": 50,
}


def run() -> None:
    """Train the model, write it in 8 bits, and measure both."""
    where = origin(COMMAND, OUT)  # before anything is written, which would change tracked files
    splits = load_reviews("imdb")
    texts = {name: [tidy(text) for text in splits[name].texts] for name in ("train", "validation")}
    tokenizer = train_tokenizer(texts["train"][: SETTINGS["tokenizer_texts"]], CONFIG.vocab_size)
    ids = {name: stream(tokenizer, each) for name, each in texts.items()}
    starts = {
        name: sentence_starts(tokenizer, each, CONFIG.max_length) for name, each in ids.items()
    }
    print(f"{len(ids['train']):,} tokens", flush=True)
    curve: list[dict[str, float]] = []
    started = time.process_time()

    def report(step: int, loss: float) -> None:
        seconds = time.process_time() - started
        curve.append({"step": step, "loss": round(loss, 4)})
        left = seconds / step * (SETTINGS["steps"] - step) / 60
        print(
            f"step {step:,} of {SETTINGS['steps']:,}: loss {loss:.3f}, {left:.0f} min left",
            flush=True,
        )

    torch.manual_seed(SETTINGS["seed"])
    model = LanguageModel(CONFIG)
    train(model, ids["train"], starts["train"], SETTINGS, report=report, seed=SETTINGS["seed"])
    seconds = round(time.process_time() - started)
    save_language_model(model, tokenizer, MODEL)
    rounded, _ = load_language_model(MODEL)
    rows = starts["validation"]
    rows = rows[:: max(1, len(rows) // SETTINGS["validation_pieces"])]
    positions = loss_per_position(rounded, ids["validation"], rows)
    results: dict[str, Any] = {
        "settings": SETTINGS,
        "config": asdict(CONFIG),
        "data": {name: fingerprint(splits[name]) for name in texts},
        "tokens": {name: len(each) for name, each in ids.items()},
        "words": {name: sum(len(t.split()) for t in each) for name, each in texts.items()},
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "validation": {
            "pieces": len(rows),
            "loss": loss_per_position(model, ids["validation"], rows).mean().item(),
            "loss in 8 bits": positions.mean().item(),
            "loss per position": [round(loss, 4) for loss in positions.tolist()],
        },
        "curve": curve,
        "cpu_seconds": seconds,
        "check": small_loss(),
        "origin": where,
    }
    write_text(OUT, json.dumps(results, indent=1) + "\n")
    print(f"validation loss {results['validation']['loss in 8 bits']:.3f}, {seconds} s")


def small_loss() -> float:
    """Train a smaller model for a few steps on a few reviews, and measure its loss."""
    reviews = load_reviews("imdb")["train"].texts[: SMALL["reviews"]]
    texts = [tidy(text) for text in reviews]
    config = replace(CONFIG, vocab_size=512)
    tokenizer = train_tokenizer(texts, config.vocab_size)
    ids = stream(tokenizer, texts)
    starts = sentence_starts(tokenizer, ids, config.max_length)
    cut = len(starts) - SMALL["validation_pieces"]
    torch.manual_seed(SETTINGS["seed"])
    model = LanguageModel(config)
    train(model, ids, starts[:cut], SETTINGS | SMALL, seed=SETTINGS["seed"])
    return loss_per_position(model, ids, starts[cut:]).mean().item()


def check() -> bool:
    """Compare the small model's loss with the recorded one; other versions may move it a little."""
    expected: float = json.loads(OUT.read_text(encoding="utf-8"))["check"]
    again = small_loss()
    print(f"loss {again:.4f}, recorded {expected:.4f}")
    return abs(again - expected) <= 0.05


if __name__ == "__main__":
    run_or_check(COMMAND, __doc__, run, check)

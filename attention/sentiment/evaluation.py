"""What a trained model answers: its accuracy and loss on examples, and its prediction for a text.

One loop, ``run_batches``, serves the measuring, the prediction and the encoding of examples by
a frozen encoder.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from statistics import NormalDist
from typing import Any, TypedDict

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch import distributed as dist
from torch.nn import functional as F

from attention._distributed import rank_and_size
from attention._evaluating import evaluating
from attention._precision import Precision, autocast
from attention.sentiment.batches import (
    Batch,
    Examples,
    FeatureExamples,
    make_examples,
    plan_batches,
    to_device,
)
from attention.sentiment.confusion import macro_f1, per_label
from attention.sentiment.model import SentimentClassifier, logits_of
from attention.sentiment.tokenizer import encode_reviews, known_shares

# Standard normal quantile of a two-sided 95 % interval.
Z95 = NormalDist().inv_cdf(0.975)

_MEASURED_AT_ONCE = 256
_ENCODED_AT_ONCE = 64


class Measured(TypedDict):
    """What :func:`measure` returns."""

    accuracy: float
    accuracy_interval: list[float]
    loss: float
    loss_interval: list[float]
    macro_f1: float
    confusion: list[list[int]]
    labels: dict[str, dict[str, float]]
    n: int


class Answer(TypedDict):
    """A label, its probability, and the share of the text's words that the model knows."""

    label: str
    probability: float
    known: float


class Prediction(Answer):
    """What :func:`predict` returns."""

    tokens: list[str]
    weights: list[float]


def run_batches(
    model: SentimentClassifier,
    examples: Examples | FeatureExamples,
    plan: Iterable[Tensor],
    *,
    precision: Precision = "auto",
    forward: Callable[[SentimentClassifier, Any], Any] = logits_of,
) -> Iterator[tuple[Any, Any]]:
    """Let a model read the planned batches, in evaluation mode and without gradients.

    Yields:
        Each batch, on the model's device, and what ``forward`` computed of it.
    """
    device = next(model.parameters()).device
    is_pretrained = model.config.is_pretrained
    with evaluating(model):
        for rows in plan:
            batch = to_device(examples.batch(rows, model.config.reading), device)
            with torch.no_grad(), autocast(device, precision, is_pretrained=is_pretrained):
                output = forward(model, batch)
            yield batch, output


def losses_of(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss of each example in nats, (B,), and the label that is answered, (B,)."""
    logits = logits.float()  # (B,) or (B, C)
    if logits.dim() == 1:
        losses = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")  # (B,)
        return losses, (logits.detach() > 0).long()
    losses = F.cross_entropy(logits, labels.long(), reduction="none")  # (B,)
    return losses, logits.detach().argmax(dim=-1)


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    r"""Compute Wilson's 95 % interval of a share; unlike the normal interval, it stays in [0, 1].

    .. math::
        \frac{\hat p + \frac{z^2}{2n} \pm z \sqrt{\frac{\hat p (1 - \hat p)}{n}
        + \frac{z^2}{4n^2}}}{1 + \frac{z^2}{n}}

    Here :math:`\hat p` is the share of successes in n trials, and z is the quantile of the standard
    normal distribution for a two-sided 95 % interval.

    Raises:
        ValueError: If ``n`` < 1, or there are more successes than trials.

    Example:
        >>> low, high = wilson_interval(90, 100)
        >>> round(low, 3), round(high, 3)
        (0.826, 0.945)

    Source:
        Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"successes: expected 0 to n, and n at least 1, got {successes} of {n}")
    p, z2 = successes / n, Z95**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(p * (1 - p) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    # Rounding can carry an end of the interval past 0 or 1.
    return max(centre - half, 0.0), min(centre + half, 1.0)


def measure(
    model: SentimentClassifier,
    examples: Examples | FeatureExamples,
    *,
    precision: Precision = "auto",
) -> Measured:
    r"""Measure accuracy and mean loss, each with its 95 % interval.

    .. math:: \mathrm{loss} = -\frac{1}{N}\sum_i \ln p_i

    Here :math:`p_i` is the probability that the model gives to the label of example i. The interval
    of the accuracy is Wilson's, and that of the loss is normal. Both say how far the result may
    differ on other reviews drawn like these, not with other training seeds.

    Args:
        model: Read in evaluation mode; afterwards it is in its previous mode.
        examples: The examples to measure on.
        precision: As in :func:`~attention._precision.choose_precision`.

    Returns:
        ``accuracy``, ``accuracy_interval``, ``loss`` (in nats), ``loss_interval``, ``macro_f1``,
        ``confusion`` (a row per label, a column per answer), ``n``, and for each of the ``labels``
        its ``precision``, ``recall``, ``f1`` and ``n``.

    Raises:
        ValueError: If there are no examples.

    Example:
        >>> from attention import SentimentClassifier
        >>> from attention.sentiment.tokenizer import Ragged
        >>> from attention.sentiment.batches import make_examples
        >>> examples = make_examples(Ragged.from_lists([[3, 4], [5]]), [1, 0])
        >>> model = SentimentClassifier(6, embed_dim=4, attention="mean")
        >>> measure(model, examples)["n"]
        2
    """
    if not len(examples):
        raise ValueError("examples: expected at least one, got none")
    rank, world_size = rank_and_size()
    device, count = next(model.parameters()).device, len(model.config.labels)
    sums = torch.zeros(2, dtype=torch.float64, device=device)  # of losses, and of their squares
    confusion = torch.zeros(count**2, dtype=torch.int64, device=device)
    plan = plan_batches(examples.lengths(model.config.reading), _MEASURED_AT_ONCE, shuffle=False)
    shares = (rows[rank::world_size] for rows in plan)
    for batch, logits in run_batches(model, examples, shares, precision=precision):
        losses, answers = losses_of(logits, batch.labels)  # (B,), (B,)
        sums += torch.stack([losses.sum(), (losses**2).sum()])
        pairs = batch.labels.long() * count + answers  # (B,)
        confusion += torch.bincount(pairs, minlength=count**2)
    if world_size > 1:
        dist.all_reduce(sums)
        dist.all_reduce(confusion)
    total, squares = sums.tolist()
    table = confusion.view(count, count)  # (C, C)
    correct_count, n = int(table.trace()), len(examples)
    loss = total / n
    half = Z95 * math.sqrt(max(squares / n - loss**2, 0.0) / n)
    return {
        "accuracy": correct_count / n,
        "accuracy_interval": list(wilson_interval(correct_count, n)),
        "loss": loss,
        "loss_interval": [loss - half, loss + half],
        "macro_f1": macro_f1(table.tolist()),
        "confusion": table.tolist(),
        "labels": per_label(table.tolist(), model.config.labels),
        "n": n,
    }


def predict(
    model: SentimentClassifier, tokenizer: Tokenizer, text: str, *, precision: Precision = "auto"
) -> Prediction:
    r"""Classify one review, and return the attention weight of each of its words.

    .. math:: \mathrm{probability} = \frac{1}{1 + e^{-|\mathrm{logit}|}}

    With more than two labels, it is the softmax of their logits.

    Args:
        model: As in :func:`measure`.
        tokenizer: The tokenizer of the same run.
        text: The review. If it is too long, the model reads only its first or its last
            ``max_length`` words, as its configuration says and as in training.
        precision: As in :func:`measure`.

    Returns:
        ``label``, ``probability``, ``known`` (the share of the words that the model knows),
        ``tokens`` and ``weights``. The probability is that of the
        label, which is the more probable one. There is one weight per token, which with
        self-attention is the mean over queries.

    Example:
        >>> from attention import SentimentClassifier
        >>> from attention.sentiment.tokenizer import train_tokenizer
        >>> tokenizer = train_tokenizer(["good food", "good wine"])
        >>> model = SentimentClassifier(4, embed_dim=2, attention="energy").eval()
        >>> predict(model, tokenizer, "Good beer")["tokens"]
        ['good', '<unk>']
    """
    ids = encode_reviews(tokenizer, [text])
    [(batch, (logits, weights))] = run_batches(
        model,
        make_examples(ids, [0]),  # a text without a word is read as one padding token
        [torch.zeros(1, dtype=torch.int64)],
        precision=precision,
        forward=lambda model, batch: model(batch.ids, batch.lengths, need_weights=True),
    )  # (1,), (1, n) or (1, n, n)
    if weights.dim() == 3:
        weights = weights.mean(dim=1)  # (1, n), over the queries
    length = int(batch.lengths[0])
    return {
        **answer(logits[0], model.config.labels, known_shares(tokenizer, ids)[0]),
        "tokens": [tokenizer.id_to_token(i) or "" for i in batch.ids[0, :length].tolist()],
        "weights": weights[0, :length].tolist(),
    }


def answer(logits: Tensor, labels: Sequence[str], known: Tensor) -> Answer:
    """Turn the logits of one review, () or (C,), into the most probable label."""
    logits = logits.float()
    if logits.dim() == 0:
        logits = torch.stack([torch.zeros_like(logits), logits])  # (2,)
    probability, i = logits.softmax(dim=-1).max(dim=-1)
    return {"label": labels[int(i)], "probability": probability.item(), "known": known.item()}


def encode_examples(
    model: SentimentClassifier,
    examples: Examples,
    path: Path,
    *,
    precision: Precision,
    after_batch: Callable[[int], None] = lambda count: None,
) -> FeatureExamples:
    """Compute what a frozen encoder makes of all examples that a file does not hold yet.

    Examples of similar length go through the encoder together, and the output is appended to the
    file, so that a run that is stopped keeps what it has computed. A file that exists must have
    been written for the same model and examples. ``after_batch`` is called with the number of
    examples that the file already held, and then with those of each batch.
    """
    lengths = examples.lengths(model.config.reading)  # (E,)
    plan = plan_batches(lengths, _ENCODED_AT_ONCE, shuffle=False)
    row_bytes = 4 * model.classifier.in_features

    def encode(model: SentimentClassifier, batch: Batch) -> Tensor:
        return model.features(batch.ids, batch.lengths)  # (B, d)

    with path.open("ab") as file:
        ends = [0, *accumulate(len(rows) for rows in plan)]  # rows, after each batch
        done = bisect_right(ends, file.tell() // row_bytes) - 1
        file.truncate(ends[done] * row_bytes)  # a killed run may leave part of a batch
        after_batch(ends[done])
        encoded = run_batches(model, examples, plan[done:], precision=precision, forward=encode)
        for _, features in encoded:
            file.write(features.float().cpu().numpy().tobytes())
            after_batch(len(features))
    stored = torch.from_numpy(np.fromfile(path, np.float32)).view(len(examples), -1)  # (E, d)
    features = stored[torch.cat(plan).argsort()]
    return FeatureExamples(features, lengths, examples.labels[examples.review.long()])

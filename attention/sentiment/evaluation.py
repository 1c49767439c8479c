"""The accuracy and loss of a model on some examples, with confidence intervals."""

import math
from statistics import NormalDist
from typing import TypedDict

import torch
from torch import Tensor
from torch import distributed as dist
from torch.nn import functional as F

from attention._evaluating import evaluating
from attention.sentiment.batches import (
    Batch,
    EncodedExamples,
    Examples,
    assemble,
    plan_batches,
)
from attention.sentiment.config import ModelConfig
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.precision import Precision, autocast

# Standard normal quantile of a two-sided 95 % interval.
Z95 = NormalDist().inv_cdf(0.975)


class Measured(TypedDict):
    """What :func:`measure` returns."""

    accuracy: float
    accuracy_interval: list[float]
    loss: float
    loss_interval: list[float]
    n: int


def cut(
    examples: Examples | EncodedExamples, rows: Tensor, config: ModelConfig, device: torch.device
) -> Batch:
    """Make a batch of the given examples, each shortened to what the model reads of it."""
    if isinstance(examples, EncodedExamples):
        batch = examples.batch(rows)
    else:
        batch = assemble(
            examples,
            rows,
            max_length=config.max_length,
            keep=config.keep,
            separator_id=config.separator_id,
        )
    return Batch(*(part.to(device, non_blocking=True) for part in batch))


def read_lengths(examples: Examples | EncodedExamples, config: ModelConfig) -> Tensor:
    """Count the tokens that the model will read, or has read, of each example."""
    if isinstance(examples, EncodedExamples):
        return examples.lengths
    return examples.lengths(config.separator_id).clamp(max=config.max_length)  # (E,)


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    r"""Compute Wilson's 95 % interval of a share; unlike the normal interval, it stays in [0, 1].

    .. math::
        \frac{\hat p + \frac{z^2}{2n} \pm z \sqrt{\frac{\hat p (1 - \hat p)}{n}
        + \frac{z^2}{4n^2}}}{1 + \frac{z^2}{n}}

    Here :math:`\hat p` is the share of successes, and z is the quantile of the standard normal
    distribution for a two-sided 95 % interval.

    Args:
        successes: The number of successes.
        n: The number of trials.

    Returns:
        The lower and the upper end.

    Raises:
        ValueError: If ``n`` < 1, or there are more successes than trials.

    Example:
        >>> from attention.sentiment.evaluation import wilson_interval
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


@torch.no_grad()
def measure(
    model: SentimentClassifier,
    examples: Examples | EncodedExamples,
    *,
    batch_size: int = 256,
    precision: Precision = "auto",
) -> Measured:
    r"""Measure accuracy and mean loss, each with its 95 % interval.

    .. math:: \mathrm{loss} = -\frac{1}{N}\sum_i \big(y_i \ln p_i + (1 - y_i) \ln (1 - p_i)\big)

    Here :math:`y_i` is the label of example i, and :math:`p_i` is the probability that the model
    gives to the label 1. The interval of the accuracy is Wilson's, and that of the loss is normal.
    Both say how far the result may differ on other reviews drawn like these, not with other
    training seeds.

    Args:
        model: Called in evaluation mode, and then put back into its previous mode.
        examples: The examples to measure on.
        batch_size: The number of examples per batch.
        precision: The precision of the model's products, see
            :func:`~attention.sentiment.precision.choose_precision`.

    Returns:
        ``accuracy``, ``accuracy_interval``, ``loss`` (in nats), ``loss_interval``, ``n``.

    Raises:
        ValueError: If there are no examples.

    Example:
        >>> from attention import SentimentClassifier
        >>> from attention.sentiment.tokenizer import Ragged
        >>> from attention.sentiment.batches import make_examples
        >>> from attention.sentiment.evaluation import measure
        >>> examples = make_examples(Ragged.from_lists([[3, 4], [5]]), [1, 0])
        >>> model = SentimentClassifier(6, embed_dim=4, attention="mean")
        >>> measure(model, examples)["n"]
        2
    """
    if not len(examples):
        raise ValueError("examples: expected at least one, got none")
    with evaluating(model):
        sums = _sums(model, examples, batch_size, precision)  # (4,)
    total, squares, correct_count, n = sums.tolist()
    low, high = wilson_interval(correct_count, int(n))
    loss = total / n
    half = Z95 * math.sqrt(max(squares / n - loss**2, 0.0) / n)
    return {
        "accuracy": correct_count / n,
        "accuracy_interval": [low, high],
        "loss": loss,
        "loss_interval": [loss - half, loss + half],
        "n": int(n),
    }


def _sums(
    model: SentimentClassifier,
    examples: Examples | EncodedExamples,
    batch_size: int,
    precision: Precision,
) -> Tensor:
    """Add up losses, their squares, correct answers and examples, over all processes."""
    device = next(model.parameters()).device
    rank, world_size = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)
    sums = torch.zeros(4, dtype=torch.float64, device=device)
    for rows in plan_batches(read_lengths(examples, model.config), batch_size, shuffle=False):
        batch = cut(examples, rows[rank::world_size], model.config, device)
        with autocast(device, precision, is_pretrained=model.config.is_pretrained):
            logits = model(batch.ids, batch.lengths).float()  # (B,)
        losses = F.binary_cross_entropy_with_logits(logits, batch.labels, reduction="none")  # (B,)
        correct = (logits > 0) == (batch.labels > 0.5)  # (B,)
        for i, part in enumerate((losses.sum(), (losses**2).sum(), correct.sum(), len(losses))):
            sums[i] += part
    if world_size > 1:
        dist.all_reduce(sums)
    return sums

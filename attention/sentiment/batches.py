"""From ids to batches: distractor pairs, batches of similar length, the features of an encoder.

A distractor is a review, drawn at random, that is put in front of the one to be classified. A pair
of a distractor and a review is two indices rather than a copy. *Which* examples form a batch is
decided separately from *cutting* it from the ids of all reviews, so that a resumed run can skip
batches, and each of several processes cuts its share of every batch.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention.sentiment.reviews import Reviews
from attention.sentiment.tokenizer import Ragged, check_words, encode_reviews

#: The number of batches whose examples are sorted by length together. A larger pool needs less
#: padding, while in a smaller one each batch mixes long and short examples more.
POOL = 32


def distractor_indices(n: int, seed: int = 42) -> Tensor:
    """Draw for each of ``n`` reviews the index of its distractor, (n,), int32; it may be itself.

    The draw is that of Lab 13 (``random.randint`` after ``random.seed(seed)``), but from a separate
    generator.
    """
    draw = random.Random(seed).randint
    return torch.from_numpy(np.fromiter((draw(0, n - 1) for _ in range(n)), np.int32, n))


class Reading(NamedTuple):
    """What a model reads of an example.

    Args:
        max_length: The number of tokens that are kept of an example.
        keep: Which end is kept of a longer example. The review that counts is at the tail, although
            Lab 13 keeps the head.
        separator_id: The id between distractor and review; None means no separator.
    """

    max_length: int = 256
    keep: Literal["tail", "head"] = "tail"
    separator_id: int | None = None


class Batch(NamedTuple):
    """Ids (B, n), where 0 is padding at the right, their lengths (B,), and the labels (B,)."""

    ids: Tensor
    lengths: Tensor
    labels: Tensor


class FeatureBatch(NamedTuple):
    """Of :class:`FeatureExamples`: features (B, d), lengths (B,) and labels (B,)."""

    features: Tensor
    lengths: Tensor
    labels: Tensor


def to_device(batch: Batch | FeatureBatch, device: torch.device) -> Batch | FeatureBatch:
    """Move a batch to a device, without waiting for it."""
    return type(batch)(*(part.to(device, non_blocking=True) for part in batch))


@dataclass(frozen=True, eq=False)
class Examples:
    """Describe what a model classifies: reviews, alone or behind a distractor.

    Args:
        ids: The ids of the reviews.
        labels: For each review, the index of its label.
        review: For each example, the index of the review whose label counts.
        distractor: For each example, the index of the review in front of that one, or -1 for none.

    Shape:
        - labels: :math:`(N,)`, float32
        - review, distractor: :math:`(E,)`, integers
    """

    ids: Ragged
    labels: Tensor
    review: Tensor
    distractor: Tensor

    def __len__(self) -> int:
        return len(self.review)

    def to(self, device: torch.device | str) -> "Examples":
        """Move the flat ids to a device, where batches are then cut."""
        return replace(self, ids=Ragged(self.ids.flat.to(device), self.ids.offsets))

    def lengths(self, reading: Reading) -> Tensor:
        """Count the tokens that are read of every example, (E,), int64."""
        one = self.ids.lengths
        lengths = one[self.distractor.clamp(min=0)]
        lengths += reading.separator_id is not None
        lengths.masked_fill_(self.distractor < 0, 0)
        lengths += one[self.review]
        return lengths.clamp_(max=reading.max_length)

    def batch(self, rows: Tensor, reading: Reading) -> Batch:
        """Cut one batch from the flat ids; a row is distractor, separator, review and padding.

        The rows, (B,), are on the CPU and say which of the examples to take. The batch is as wide
        as its longest example (at least 1), and on the device of the flat ids, which this function
        does not wait for.

        Example:
            >>> from attention.sentiment.batches import Reading, make_examples
            >>> from attention.sentiment.tokenizer import Ragged
            >>> ids = Ragged.from_lists([[7, 8, 9], [4], [5]])
            >>> pairs = make_examples(ids, [1, 0, 1], clean=False, pairs=True)
            >>> pairs.batch(torch.tensor([1, 2]), Reading(max_length=4, separator_id=2)).ids
            tensor([[8, 9, 2, 4],
                    [8, 9, 2, 5]])
        """
        flat, offsets = self.ids.flat, self.ids.offsets
        review, distractor = self.review[rows].long(), self.distractor[rows].long()
        paired = distractor >= 0
        distractor = distractor.clamp(min=0)
        start, front_start = offsets[review], offsets[distractor]
        front = (offsets[distractor + 1] - front_start) * paired  # the distractor's length
        gap = paired.long() * (reading.separator_id is not None)
        total = front + gap + offsets[review + 1] - start
        lengths = total.clamp(max=reading.max_length)
        skipped = total - lengths if reading.keep == "tail" else torch.zeros_like(total)
        width = max(int(lengths.max()), 1) if len(rows) else 1

        # The rest is computed on the device of the ids, after a single transfer.
        numbers = torch.stack([skipped, front, gap, lengths, front_start, start - front - gap])
        numbers = numbers.to(flat.device, non_blocking=True)
        skipped, front, gap, ends, front_shift, shift = numbers.unsqueeze(-1)  # each (B, 1)
        column = torch.arange(width, device=flat.device)  # (n,)
        place = column + skipped  # (B, n), counted in the example before truncation
        source = place + torch.where(place < front, front_shift, shift)
        padding = column >= ends
        if not len(flat):
            flat = flat.new_zeros(1)
        ids = flat[source.clamp_(0, len(flat) - 1)].long().masked_fill_(padding, 0)
        if reading.separator_id is not None:
            # If truncation has cut the separator off, place never reaches it.
            ids.masked_fill_((place == front) & (gap > 0), reading.separator_id)
        labels = self.labels[review].to(flat.device, non_blocking=True)
        return Batch(ids, numbers[3], labels)


@dataclass(frozen=True, eq=False)
class FeatureExamples:
    """Hold what a frozen encoder made of each example, which is read instead of the ids.

    That is features (E, d), the number of tokens that it read (E,), and the labels (E,).
    """

    features: Tensor
    read: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.features)

    def to(self, device: torch.device | str) -> "FeatureExamples":
        """Move the features to a device."""
        return replace(self, features=self.features.to(device))

    def lengths(self, reading: Reading) -> Tensor:
        """Count the tokens that were read of every example, (E,), whatever is read now."""
        return self.read

    def batch(self, rows: Tensor, reading: Reading) -> FeatureBatch:
        """Take some examples, (B,), as a batch, whatever is read now."""
        return FeatureBatch(self.features[rows], self.read[rows], self.labels[rows])


def make_examples(
    ids: Ragged, labels: Sequence[int] | Tensor, *, clean: bool = True, pairs: bool = False
) -> Examples:
    """Make examples of reviews alone, of reviews behind distractors, or of both.

    Args:
        ids: The ids of the reviews.
        labels: For each review, the index of its label.
        clean: Whether to take every review alone.
        pairs: Whether to take every review behind one drawn at random, which may be itself. With
            ``clean``, these examples come after those of reviews alone, as in Lab 13.

    Returns:
        The examples.

    Raises:
        ValueError: If neither is requested, or the labels are not one per review.

    Example:
        >>> from attention.sentiment.tokenizer import Ragged
        >>> ids = Ragged.from_lists([[7, 8, 9], [4], [5]])
        >>> examples = make_examples(ids, [1, 0, 1], pairs=True)
        >>> len(examples), examples.review.tolist(), examples.distractor.tolist()
        (6, [0, 1, 2, 0, 1, 2], [-1, -1, -1, 2, 0, 0])
    """
    if not (clean or pairs):
        raise ValueError("clean, pairs: expected at least one, got neither")
    every = torch.arange(len(ids), dtype=torch.int32)
    review, distractor = [every] * (clean + pairs), [torch.full_like(every, -1)] * clean
    if pairs:
        distractor.append(distractor_indices(len(ids)))
    labels = torch.as_tensor(labels, dtype=torch.float32)
    if labels.shape != (len(ids),):
        raise ValueError(f"labels: expected {len(ids)}, one per review, got {tuple(labels.shape)}")
    return Examples(ids, labels, torch.cat(review), torch.cat(distractor))


SETS = {"clean": "alone", "distractor": "behind another"}
"""What a model is measured on, with the words that a command prints for it."""


def measured_examples(
    tokenizer: Tokenizer, reviews: Reviews, *, distractors: bool = True
) -> dict[str, Examples]:
    """Make examples of one split to measure on: ``clean`` and, if requested, ``distractor``."""
    ids = encode_reviews(tokenizer, reviews.texts)
    check_words(tokenizer, ids, "the reviews to measure on")
    examples = {"clean": make_examples(ids, reviews.labels)}
    if distractors:
        examples["distractor"] = make_examples(ids, reviews.labels, clean=False, pairs=True)
    return examples


@dataclass(frozen=True)
class Prepared:
    """What training needs of the data."""

    tokenizer: Tokenizer
    examples: Examples
    """The training reviews, each alone and, if the run has distractors, also behind one."""
    validation: dict[str, Examples]
    """The validation examples by name: ``clean``, and ``distractor`` if the run has any."""
    labels: tuple[str, ...]
    """What the labels are called."""
    fingerprints: dict[str, str]
    """The SHA-256 of each split's texts and labels."""


def plan_batches(
    lengths: Tensor, batch_size: int, *, shuffle: bool = True, seed: int = 0, epoch: int = 0
) -> list[Tensor]:
    """Decide which examples, of these lengths (E,), form each batch of one epoch, by their indices.

    The examples are shuffled, sorted by length within pools of :data:`POOL` batches, which avoids
    most padding, and cut into batches, which are shuffled again. The plan depends on the arguments
    only. Training that was stopped in the middle of an epoch therefore plans the epoch again and
    resumes at the batch that it had reached, and each process of a parallel run takes
    ``rows[rank::world_size]`` of every batch.
    """
    count = len(lengths)
    # Modulo 2**32 because torch's CPU generator uses no more bits of its seed.
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**32)
    order = torch.randperm(count, generator=generator) if shuffle else torch.arange(count)
    pools = order.split(POOL * min(batch_size, max(count, 1)))
    order = torch.cat([rows[lengths[rows].argsort(stable=True)] for rows in pools])
    batches = list(order.split(batch_size)) if count else []
    if shuffle:
        batches = [batches[i] for i in torch.randperm(len(batches), generator=generator)]
    return batches

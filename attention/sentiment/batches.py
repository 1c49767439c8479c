"""From ids to batches: ragged storage, distractor pairs, batches of similar length.

The ids of all reviews are concatenated in one tensor. A distractor is a review, drawn at random,
that is put in front of the one to be classified. A pair of a distractor and a review is two indices
into this tensor rather than a copy, and the padded ids that a model reads are cut from the tensor
one batch at a time. *Which* examples form a batch (:func:`plan_batches`) is decided separately from
*cutting* them (:func:`assemble`), so that a resumed run can skip batches without cutting them, and
each of several processes cuts its share of every batch.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attention.sentiment.tokenizer import Ragged

#: The number of batches whose examples are sorted by length together. A larger pool needs less
#: padding, while in a smaller one each batch mixes long and short examples more.
POOL = 32


def distractor_indices(n: int, seed: int = 42) -> Tensor:
    """Draw for each of ``n`` reviews its distractor, the review that is put in front of it.

    The draw is that of Lab 13 (``random.randint`` after ``random.seed(seed)``), but from a separate
    generator. A review may draw itself.

    Args:
        n: The number of reviews.
        seed: The seed of the draw, which is 42 in Lab 13.

    Returns:
        For each review the index of its distractor.

    Shape:
        - returns: :math:`(n,)`, int32

    Example:
        >>> distractor_indices(100, seed=42)[:5].tolist()
        [81, 14, 3, 94, 35]
    """
    draw = random.Random(seed).randint
    return torch.from_numpy(np.fromiter((draw(0, n - 1) for _ in range(n)), np.int32, n))


@dataclass(frozen=True, eq=False)
class Examples:
    """Describe what a model classifies: reviews, alone or behind a distractor.

    Args:
        ids: The ids of the reviews.
        labels: 0 or 1 for each review.
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

    def __post_init__(self) -> None:
        n = len(self.ids)
        if self.labels.shape != (n,):
            raise ValueError(
                f"labels must be ({n},), one per review; got {tuple(self.labels.shape)}"
            )
        if self.review.dim() != 1 or self.review.shape != self.distractor.shape:
            raise ValueError(
                "review and distractor must be vectors of one length; "
                f"got {tuple(self.review.shape)} and {tuple(self.distractor.shape)}"
            )
        for name, index, lowest in ("review", self.review, 0), ("distractor", self.distractor, -1):
            if len(index) and not lowest <= int(index.min()) <= int(index.max()) < n:
                raise ValueError(
                    f"{name} must lie in {lowest} ... {n - 1}; "
                    f"got {int(index.min())} ... {int(index.max())}"
                )

    def __len__(self) -> int:
        return len(self.review)

    def to(self, device: torch.device | str) -> "Examples":
        """Move the flat ids to a device, so that batches are cut there."""
        return replace(self, ids=Ragged(self.ids.flat.to(device), self.ids.offsets))

    def lengths(self, separator_id: int | None = None) -> Tensor:
        """Length of every example before truncation, (E,), int64."""
        one = self.ids.lengths
        lengths = one[self.distractor.clamp(min=0)]
        lengths += separator_id is not None
        lengths.masked_fill_(self.distractor < 0, 0)
        lengths += one[self.review]
        return lengths


def make_examples(
    ids: Ragged,
    labels: Sequence[int] | Tensor,
    *,
    clean: bool = True,
    pairs: bool = False,
    seed: int = 42,
) -> Examples:
    """Make examples of reviews alone, of reviews behind distractors, or of both.

    Args:
        ids: The ids of the reviews.
        labels: 0 or 1 for each review.
        clean: Whether to take every review alone.
        pairs: Whether to take every review behind one drawn at random, which may be itself. With
            ``clean``, these examples come after those of reviews alone, as in Lab 13.
        seed: The seed of the distractors.

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
        raise ValueError("make_examples needs clean=True, pairs=True or both")
    every = torch.arange(len(ids), dtype=torch.int32)
    alone, drawn = torch.full_like(every, -1), distractor_indices(len(ids), seed) if pairs else None
    review = [every] * (clean + pairs)
    distractor = [alone] * clean + ([drawn] if drawn is not None else [])
    labels = torch.as_tensor(labels, dtype=torch.float32)
    return Examples(ids, labels, torch.cat(review), torch.cat(distractor))


class Batch(NamedTuple):
    """Padded ids, the lengths that tell where the padding starts, and the labels.

    Shape:
        - ids: :math:`(B, n)`, int64; 0 is padding, always at the right
        - lengths: :math:`(B,)`, int64
        - labels: :math:`(B,)`, float32
    """

    ids: Tensor
    lengths: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False)
class EncodedExamples:
    """Hold one vector per example, instead of its ids.

    Args:
        features: The encoder's output for each example.
        lengths: The number of tokens that the encoder read of each example.
        labels: 0 or 1 for each example.

    Shape:
        - features: :math:`(E, d)`, float32
        - lengths: :math:`(E,)`
        - labels: :math:`(E,)`, float32
    """

    features: Tensor
    lengths: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.features)

    def to(self, device: torch.device | str) -> "EncodedExamples":
        """Move the features to a device, so that batches are cut there."""
        return replace(self, features=self.features.to(device))

    def batch(self, rows: Tensor) -> Batch:
        """Take some examples, (B,), as a batch."""
        return Batch(self.features[rows], self.lengths[rows], self.labels[rows])


def plan_batches(
    lengths: Tensor,
    batch_size: int,
    *,
    shuffle: bool = True,
    bucket: bool = True,
    seed: int = 0,
    epoch: int = 0,
) -> list[Tensor]:
    """Decide which examples form each batch of one epoch.

    The examples are shuffled, sorted by length within pools of :data:`POOL` batches, and cut into
    batches, which are shuffled again. The plan depends on the arguments only. Training that was
    stopped in the middle of an epoch therefore plans the epoch again and resumes at the batch that
    it had reached, and each process of a parallel run takes ``rows[rank::world_size]`` of every
    batch.

    Args:
        lengths: The lengths of the examples, in tokens.
        batch_size: The number of examples per batch; one batch of an epoch may be smaller.
        shuffle: Whether each epoch has another order; if not, pools follow the examples' order.
        bucket: Whether to put examples of similar length together, which avoids most padding.
        seed: Determines the order, together with the epoch.
        epoch: Determines the order, together with the seed.

    Returns:
        The indices of each batch's examples. Every example is in exactly one batch.

    Shape:
        - lengths: :math:`(E,)`
        - returns: vectors of at most ``batch_size`` indices, int64

    Example:
        >>> [rows.tolist() for rows in plan_batches(torch.tensor([9, 2, 8, 3]), 2, shuffle=False)]
        [[1, 3], [2, 0]]
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    count = len(lengths)
    # Modulo 2**32 because torch's CPU generator uses no more bits of its seed.
    generator = torch.Generator().manual_seed((seed * 1_000_003 + epoch) % 2**32)
    order = torch.randperm(count, generator=generator) if shuffle else torch.arange(count)
    if bucket:
        pools = order.split(POOL * batch_size)
        order = torch.cat([rows[lengths[rows].argsort(stable=True)] for rows in pools])
    batches = list(order.split(batch_size)) if count else []
    if shuffle:
        batches = [batches[i] for i in torch.randperm(len(batches), generator=generator)]
    return batches


def assemble(
    examples: Examples,
    rows: Tensor,
    *,
    max_length: int = 256,
    keep: Literal["tail", "head"] = "tail",
    separator_id: int | None = None,
) -> Batch:
    """Cut one batch from the flat ids; a row is distractor, separator, review and padding.

    Args:
        examples: The examples.
        rows: Which of the examples to take.
        max_length: The number of tokens that are kept of an example.
        keep: Which end is kept of a longer example. The review that counts is at the tail, although
            Lab 13 keeps the head.
        separator_id: The id between distractor and review; None means no separator.

    Returns:
        The batch, as wide as its longest example (at least 1), on the device of the flat ids. The
        function does not wait for that device.

    Raises:
        ValueError: If ``keep`` is neither of the two, or ``max_length`` < 1.

    Shape:
        - rows: :math:`(B,)`, on the CPU
        - returns: ids :math:`(B, n)`, lengths :math:`(B,)`, labels :math:`(B,)`

    Example:
        >>> from attention.sentiment.tokenizer import Ragged
        >>> from attention.sentiment.batches import make_examples
        >>> ids = Ragged.from_lists([[7, 8, 9], [4], [5]])
        >>> pairs = make_examples(ids, [1, 0, 1], clean=False, pairs=True)
        >>> assemble(pairs, torch.tensor([1, 2]), max_length=4, separator_id=2).ids
        tensor([[8, 9, 2, 4],
                [8, 9, 2, 5]])
    """
    if keep not in ("tail", "head"):
        raise ValueError(f'keep must be "tail" or "head", got {keep!r}')
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1, got {max_length}")
    flat, offsets = examples.ids.flat, examples.ids.offsets
    review, distractor = examples.review[rows].long(), examples.distractor[rows].long()
    paired = distractor >= 0
    distractor = distractor.clamp(min=0)
    start, front_start = offsets[review], offsets[distractor]
    front = (offsets[distractor + 1] - front_start) * paired  # the distractor's length
    gap = paired.long() * (separator_id is not None)
    total = front + gap + offsets[review + 1] - start
    lengths = total.clamp(max=max_length)
    skipped = total - lengths if keep == "tail" else torch.zeros_like(total)
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
    if separator_id is not None:
        # If truncation has cut the separator off, place never reaches it.
        ids.masked_fill_((place == front) & (gap > 0), separator_id)
    labels = examples.labels[review].to(flat.device, non_blocking=True)
    return Batch(ids, numbers[3], labels)

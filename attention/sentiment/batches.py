"""From ids to batches: ragged storage, distractor pairs, batches of similar length.

The ids of all reviews are concatenated in one tensor. A pair of a distractor and a review is two
indices into it, never a copy, and the padded rectangle a model needs is cut out of it one batch
at a time. *Which* examples form a batch (:func:`plan_batches`) is decided apart from *cutting*
them (:func:`assemble`): a run that resumes skips batches it never has to cut, and each of
several processes cuts its share of every batch.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

#: Batches whose examples are sorted by length together. More of them means less padding; fewer
#: means batches that mix long and short examples more.
POOL = 32


@dataclass(frozen=True, eq=False)
class Ragged:
    """Hold sequences of unequal length, concatenated in one tensor.

    Args:
        flat: The ids of all sequences, one after the other.
        offsets: Where each sequence starts, and at the end where the last one stops.

    Shape:
        - flat: (total,), one id per token, int32
        - offsets: :math:`(N + 1,)`, int64

    Example:
        >>> ids = Ragged.from_lists([[7, 8, 9], [], [5]])
        >>> len(ids), ids.lengths.tolist(), ids[0].tolist()
        (3, [3, 0, 1], [7, 8, 9])
    """

    flat: Tensor
    offsets: Tensor

    def __post_init__(self) -> None:
        offsets, total = self.offsets, self.flat.numel()
        if self.flat.dim() != 1 or offsets.dim() != 1 or not len(offsets):
            raise ValueError(
                "flat must be (total,) and offsets (N + 1,); "
                f"got {tuple(self.flat.shape)} and {tuple(offsets.shape)}"
            )
        if offsets[0] != 0 or offsets[-1] != total or bool((offsets.diff() < 0).any()):
            raise ValueError(f"offsets must rise from 0 to {total}, the length of flat")

    @classmethod
    def from_lists(cls, sequences: Sequence[Sequence[int]]) -> "Ragged":
        """Concatenate a few Python sequences."""
        flat = torch.tensor([i for ids in sequences for i in ids], dtype=torch.int32)
        offsets = torch.zeros(len(sequences) + 1, dtype=torch.int64)
        offsets[1:] = torch.tensor([len(ids) for ids in sequences], dtype=torch.int64).cumsum(0)
        return cls(flat, offsets)

    @property
    def lengths(self) -> Tensor:
        """Length of every sequence, (N,), int64."""
        return self.offsets.diff()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Tensor:
        if not -len(self) <= i < len(self):
            raise IndexError(f"sequence {i} of {len(self)}")
        i %= len(self)
        return self.flat[self.offsets[i] : self.offsets[i + 1]]


def distractor_indices(n: int, seed: int = 42) -> Tensor:
    """Draw for each of ``n`` reviews the review that will stand before it.

    The draw is the lab's own (``random.randint`` after ``random.seed(seed)``), from a generator
    of its own. A review may draw itself.

    Args:
        n: How many reviews there are.
        seed: The lab's is 42.

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
    """Point at what a model classifies: a review, alone or behind a distractor.

    Args:
        ids: The reviews.
        labels: 0 or 1 for each review.
        review: For each example the review whose label counts.
        distractor: For each example the review that stands before it, -1 for none.

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
        """Put the flat ids on a device, so that batches are cut there."""
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
        ids: The reviews.
        labels: 0 or 1 for each review.
        clean: Take every review alone.
        pairs: Take every review behind one drawn at random, which may be itself; after the clean
            ones when both are requested, as in the lab.
        seed: Of the distractors' draw.

    Raises:
        ValueError: If neither is requested, or the labels are not one per review.

    Example:
        >>> from attention.sentiment.batches import Ragged
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
    """Padded ids with the lengths that say where the padding starts, and the labels.

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
    """Hold one vector for each example, in place of its ids.

    Args:
        features: What the encoder made of them.
        lengths: How many tokens it read of each.
        labels: 0 or 1 for each.

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
        """Put the features on a device, so that batches are cut there."""
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

    Shuffle, sort by length within pools of :data:`POOL` batches, cut, shuffle the batches. The
    plan follows from the arguments alone, so training that stopped in the middle of an epoch
    plans it again and resumes at the batch it had reached, and the processes of a parallel
    run each take ``rows[rank::world_size]`` of every batch.

    Args:
        lengths: Of the examples, in tokens.
        batch_size: Examples in a batch; one batch of an epoch may be smaller.
        shuffle: Another order each epoch; without it the pools follow the examples' own order.
        bucket: Put examples of similar length together, which spares most of the padding.
        seed: Of the order.
        epoch: Of the order, too.

    Returns:
        The indices of each batch's examples. Every example stands in exactly one batch.

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
    # Modulo 2**32 because torch's CPU generator looks at no more of its seed.
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
    """Cut one batch out of the flat ids: distractor, separator, review, padding.

    Args:
        examples: What to cut from.
        rows: Which examples.
        max_length: Tokens kept of an example.
        keep: The end that survives truncation. The review that counts is at the tail; the lab
            keeps the head.
        separator_id: The id between distractor and review; None for nothing there.

    Returns:
        The batch, as wide as its longest example (at least 1), on the device of the flat ids.
        Nothing in here waits for that device.

    Raises:
        ValueError: If ``keep`` or ``max_length`` is none of the possible.

    Shape:
        - rows: :math:`(B,)`, on the CPU
        - returns: ids :math:`(B, n)`, lengths :math:`(B,)`, labels :math:`(B,)`

    Example:
        >>> from attention.sentiment.batches import Ragged, make_examples
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

    # The rest is done where the ids are; one transfer carries all that it needs there.
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
        # Where truncation has cut the separator off, place never reaches it.
        ids.masked_fill_((place == front) & (gap > 0), separator_id)
    labels = examples.labels[review].to(flat.device, non_blocking=True)
    return Batch(ids, numbers[3], labels)

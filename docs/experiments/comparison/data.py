"""What a seed draws: which reviews train, which validate, which distractor each gets."""

import functools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from attention.sentiment.batches import (
    Examples,
    Prepared,
    distractor_indices,
    measured_examples,
)
from attention.sentiment.config import MINILM, ModelConfig, TrainConfig
from attention.sentiment.reviews import Reviews, fingerprint, stratified_order
from attention.sentiment.sources import load_reviews
from attention.sentiment.training import prepare
from experiments.comparison.cells import Cell


@dataclass(frozen=True)
class Data:
    """The reviews of one seed; those that are reported are left alone until a run asks for them."""

    prepared: Prepared
    reported_reviews: Reviews
    seed: int

    @cached_property
    def reported(self) -> dict[str, Examples]:
        """The reviews that are reported, by name: ``clean`` and ``distractor``."""
        measured = measured_examples(self.prepared.tokenizer, self.reported_reviews)
        return {name: redraw(examples, self.seed) for name, examples in measured.items()}

    def fingerprints(self, *, is_trial: bool) -> dict[str, str]:
        """Of each split that was read: texts and labels."""
        seen = self.prepared.fingerprints
        return seen if is_trial else seen | {"reported": fingerprint(self.reported_reviews)}


def draw(cell: Cell, seed: int) -> Data:
    """Split a cell's reviews by a seed, and draw the distractors by the same."""
    config = cell.config
    names = {"data", "min_frequency", "clean_text", "distractors"} - config.unread().keys()
    model = ModelConfig(attention=MINILM) if config.model.is_pretrained else ModelConfig()
    reads = TrainConfig(model=model, **{name: getattr(config, name) for name in names})
    return _drawn(reads, cell.reviews, cell.reported, seed)


@functools.lru_cache(maxsize=8)  # a cell's seeds, which the next cell mostly shares
def _drawn(reads: TrainConfig, limit: int | None, reported: str, seed: int) -> Data:
    splits = load_reviews(reads.data, seed=seed)
    train, validation = splits["train"], splits["validation"]
    order = stratified_order(train.labels, seed)
    if reported == "validation":
        held_out, order = np.split(order, [len(order) // 10])
        validation = choose(train, held_out)
    train = choose(train, order[:limit])
    prepared = prepare(reads, {"train": train, "validation": validation})
    measured = {name: redraw(examples, seed) for name, examples in prepared.validation.items()}
    drawn = replace(prepared, examples=redraw(prepared.examples, seed), validation=measured)
    return Data(drawn, splits[reported], seed)


def redraw(examples: Examples, seed: int) -> Examples:
    """Draw the distractors anew, where there are any, by a seed."""
    drawn = distractor_indices(len(examples.ids), seed)[examples.review]
    return replace(examples, distractor=drawn.where(examples.distractor >= 0, examples.distractor))


def choose(reviews: Reviews, rows: np.ndarray) -> Reviews:
    """Keep some reviews, in their own order, in one pass over texts that may come from a file."""
    chosen = reviews.select(np.sort(rows))
    return replace(chosen, texts=list(chosen.texts))

"""Ragged storage, pairs and batches, against plain Python."""

import random
import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention.sentiment.batches import (
    POOL,
    Reading,
    distractor_indices,
    make_examples,
    plan_batches,
)
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import Ragged, encode_reviews, train_tokenizer

lists = st.lists(st.lists(st.integers(3, 99), max_size=7), min_size=1, max_size=13)


def make(reviews, seed, clean=True, pairs=True):
    labels = [i % 2 for i in range(len(reviews))]
    examples = make_examples(Ragged.from_lists(reviews), labels, clean=clean, pairs=pairs)
    drawn = distractor_indices(len(reviews), seed)[examples.review]
    return replace(examples, distractor=torch.where(examples.distractor < 0, -1, drawn))


def reference(reviews, examples, row, max_length, keep, separator_id):
    """Build one example as a list."""
    front = int(examples.distractor[row])
    ids = list(reviews[int(examples.review[row])])
    if front >= 0:
        ids = reviews[front] + ([] if separator_id is None else [separator_id]) + ids
    return ids[-max_length:] if keep == "tail" else ids[:max_length]


@given(lists, st.integers(0, 5), st.integers(1, 17), st.sampled_from(["tail", "head"]), st.data())
def test_a_batch_is_what_plain_python_would_build(reviews, seed, max_length, keep, data):
    separator_id = data.draw(st.sampled_from([None, 2]))
    clean, pairs = data.draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    examples = make(reviews, seed, clean, pairs)
    rows = data.draw(st.lists(st.integers(0, len(examples) - 1), min_size=1, max_size=11))
    reading = Reading(max_length, keep, separator_id)
    batch = examples.batch(torch.tensor(rows), reading)
    expected = [reference(reviews, examples, r, max_length, keep, separator_id) for r in rows]
    assert batch.lengths.tolist() == [len(ids) for ids in expected]
    width = max(1, *(len(ids) for ids in expected)) if len(rows) > 1 else max(1, len(expected[0]))
    assert batch.ids.tolist() == [ids + [0] * (width - len(ids)) for ids in expected]
    assert batch.labels.tolist() == [float(examples.review[r] % 2) for r in rows]
    assert (batch.ids.dtype, batch.lengths.dtype, batch.labels.dtype) == (
        torch.int64,
        torch.int64,
        torch.float32,
    )
    assert examples.lengths(reading)[rows].tolist() == [len(ids) for ids in expected]


@given(st.lists(st.integers(0, 40), max_size=200), st.integers(1, 11), st.booleans())
def test_every_example_once_per_epoch(lengths, batch_size, shuffle):
    plan = plan_batches(torch.tensor(lengths), batch_size, shuffle=shuffle, epoch=3)
    assert sorted(i for rows in plan for i in rows.tolist()) == list(range(len(lengths)))
    assert sum(len(rows) < batch_size for rows in plan) <= 1
    assert all(0 < len(rows) <= batch_size for rows in plan)


def test_no_padding_beyond_the_longest_and_little_below_it():
    generator = random.Random(7)
    examples = make([[3] * generator.randint(1, 97) for _ in range(1009)], seed=5)
    lengths, cells = examples.lengths(Reading()), 0
    for rows in plan_batches(lengths, 31):
        batch = examples.batch(rows, Reading())
        assert batch.ids.shape[1] == batch.lengths.max()
        cells += batch.ids.numel()
    assert int(lengths.sum()) / cells > 0.9


def test_batches_come_in_any_order_of_length():
    lengths = torch.arange(5 * POOL)  # one pool
    widths = [int(lengths[rows].max()) for rows in plan_batches(lengths, 5)]
    assert sorted(widths) == list(range(4, 5 * POOL, 5))
    assert widths != sorted(widths)


def test_pools_are_sorted_apart():
    lengths = torch.arange(2 * 5 * POOL).flip(0)
    widths = [int(lengths[rows].max()) for rows in plan_batches(lengths, 5, shuffle=False)]
    assert widths[:POOL] == sorted(widths[:POOL])
    assert widths[0] > widths[-1]


def test_the_plan_follows_from_seed_and_epoch_alone():
    lengths = torch.randint(1, 50, (211,), generator=torch.Generator().manual_seed(1))

    def plan(**kwargs):
        return [rows.tolist() for rows in plan_batches(lengths, 13, **kwargs)]

    first = plan(seed=3, epoch=2)
    torch.manual_seed(99)
    torch.rand(5)
    assert plan(seed=3, epoch=2) == first
    assert plan(seed=3, epoch=1) != first
    assert plan(seed=2, epoch=2) != first
    assert plan(seed=2, epoch=2) != plan(seed=3, epoch=1)
    assert plan(shuffle=False, seed=3, epoch=2) == plan(shuffle=False, seed=4, epoch=1)


@pytest.mark.parametrize("n", [1, 3, 1009])
def test_distractors_are_the_labs_draw(n):
    state = random.getstate()
    drawn = distractor_indices(n, seed=42).tolist()
    assert random.getstate() == state
    random.seed(42)
    assert drawn == [random.randint(0, n - 1) for _ in range(n)]
    random.setstate(state)


def test_pairs_come_after_the_clean_and_copy_nothing():
    ids = Ragged.from_lists([[7, 8], [9], []])
    examples = make_examples(ids, [1, 0, 1], pairs=True)
    assert examples.review.tolist() == [0, 1, 2, 0, 1, 2]
    assert examples.distractor.tolist() == [-1, -1, -1, *distractor_indices(3).tolist()]
    assert examples.ids.flat.data_ptr() == ids.flat.data_ptr()
    pairs = make_examples(ids, [1, 0, 1], clean=False, pairs=True)
    assert pairs.distractor.tolist() == distractor_indices(3).tolist()


def test_nothing_at_all():
    examples = make_examples(Ragged.from_lists([]), [], pairs=True)
    assert len(examples) == 0
    assert list(plan_batches(examples.lengths(Reading()), 3)) == []


def test_bad_input():
    ids = Ragged.from_lists([[7], [8]])
    with pytest.raises(ValueError, match=r"^labels: expected 2, one per review, got \(3,\)$"):
        make_examples(ids, [1, 0, 1])
    with pytest.raises(ValueError, match=r"^clean, pairs: expected at least one, got neither$"):
        make_examples(ids, [1, 0], clean=False)


def test_the_labs_settings_give_the_labs_rows():
    reviews = load_reviews("imdb", limit=131)["train"]
    texts, n = list(reviews.texts), len(reviews)
    draw = random.Random(42)
    texts += [f"{texts[draw.randint(0, n - 1)]} {text}" for text in texts]
    words = [re.findall("[a-z]+", re.sub("<[^>]+>", " ", text.lower())) for text in texts]

    tokenizer = train_tokenizer(reviews.texts, min_frequency=1, clean_text=False)
    ids = encode_reviews(tokenizer, reviews.texts)
    examples = make_examples(ids, reviews.labels, pairs=True)
    batch = examples.batch(torch.arange(2 * n), Reading(256, "head"))
    for row, expected in enumerate(words):
        tokens = [tokenizer.id_to_token(i) for i in batch.ids[row].tolist()]
        assert tokens == expected[:256] + ["<pad>"] * (256 - len(expected))
    assert batch.labels.tolist() == 2 * reviews.labels


def test_cutting_never_waits_for_the_device():
    # The meta device holds no numbers: reading one from it would fail.
    examples = make([[7, 8, 9], [], [5]], seed=4)
    rows, reading = torch.tensor([0, 4, 5]), Reading(separator_id=2)
    batch, expected = examples.to("meta").batch(rows, reading), examples.batch(rows, reading)
    for part, like in zip(batch, expected, strict=True):
        assert part.is_meta
        assert (part.shape, part.dtype) == (like.shape, like.dtype)

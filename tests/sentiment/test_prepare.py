"""From reviews to examples: what is learned from the training reviews alone, and what is drawn."""

import torch

from attention.sentiment.batches import distractor_indices, measured_examples
from attention.sentiment.config import TrainConfig
from attention.sentiment.reviews import Reviews, fingerprint
from attention.sentiment.training import prepare

TRAIN = Reviews(
    ["Good soup, good wine.", "Bad soup.", r"Cold\nwine", "Good!", "bad, bad"], [1, 0, 0, 1, 0]
)
VALIDATION = Reviews(["Good tea", "", "Bad wine, warm soup"], [1, 0, 0])
SPLITS = {"train": TRAIN, "validation": VALIDATION}


def test_the_vocabulary_is_the_training_reviews_own():
    prepared = prepare(TrainConfig(min_frequency=2, clean_text=True), SPLITS)
    words = prepared.tokenizer.get_vocab()
    assert set(words) == {"<pad>", "<unk>", "<sep>", "good", "bad", "soup", "wine"}
    ids = prepared.validation["clean"].ids
    assert [ids[i].tolist() for i in range(3)] == [
        [words["good"], 1],
        [],
        [words["bad"], words["wine"], 1, words["soup"]],
    ]
    lab = prepare(TrainConfig(min_frequency=1, clean_text=False), SPLITS)
    assert "nwine" in lab.tokenizer.get_vocab()


def test_each_review_alone_then_behind_the_lab_s_distractor():
    prepared = prepare(TrainConfig(seed=5), SPLITS)
    drawn = distractor_indices(5, seed=42)  # whatever the run's own seed
    assert prepared.examples.review.tolist() == [0, 1, 2, 3, 4] * 2
    assert prepared.examples.distractor.tolist() == [-1] * 5 + drawn.tolist()
    assert prepared.examples.labels.tolist() == [1, 0, 0, 1, 0]
    pairs = prepared.validation["distractor"]
    assert pairs.review.tolist() == [0, 1, 2]
    assert torch.equal(pairs.distractor, distractor_indices(3, seed=42))
    assert prepared.validation["clean"].distractor.tolist() == [-1] * 3


def test_without_distractors_there_are_none():
    prepared = prepare(TrainConfig(distractors=False), SPLITS)
    assert len(prepared.examples) == 5
    assert list(prepared.validation) == ["clean"]
    assert list(measured_examples(prepared.tokenizer, VALIDATION)) == ["clean", "distractor"]


def test_fingerprints_tell_the_reviews_apart():
    test = Reviews(["Good cake"], [1])
    prepared = prepare(TrainConfig(), SPLITS | {"test": test})
    assert prepared.fingerprints == {
        "train": fingerprint(TRAIN),
        "validation": fingerprint(VALIDATION),
        "test": fingerprint(test),
    }


def test_the_source_is_read_as_the_configuration_says(monkeypatch):
    requested = {}
    monkeypatch.setattr(
        "attention.sentiment.training.load_reviews",
        lambda data, **more: requested.update(more, data=data) or SPLITS,
    )
    config = TrainConfig(data="somewhere", text_column="review", limit=8, seed=9)
    prepare(config)
    columns = ("review", "label")
    assert requested == {"data": "somewhere", "columns": columns, "limit": 8}

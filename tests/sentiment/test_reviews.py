"""Texts and labels, and what sums them up."""

import itertools

import numpy as np
import pytest

from attention.sentiment.reviews import Reviews, StreamedTexts, clean, fingerprint


def test_clean() -> None:
    assert clean(r"Lovely.\nWill<br /><br />come < back\n\n") == "Lovely. Will  come < back  "


def test_fingerprint_sees_every_change() -> None:
    reviews = [
        Reviews(["ab", "c"], [1, 0]),
        Reviews(["a", "bc"], [1, 0]),
        Reviews(["ab", "c"], [0, 1]),
        Reviews(["c", "ab"], [1, 0]),
        Reviews(["ab", "c\ud800"], [1, 0]),
    ]
    assert len({fingerprint(each) for each in reviews}) == 5
    streamed = Reviews(StreamedTexts(lambda: ["ab", "c"], np.ones(2, bool)), [1, 0])
    assert fingerprint(streamed) == fingerprint(reviews[0])


def test_choosing_of_what_was_chosen() -> None:
    texts = StreamedTexts(lambda: iter("abcdefg"), np.ones(7, bool)).choose(np.array([1, 3, 4, 6]))
    assert list(texts) == ["b", "d", "e", "g"]
    assert list(texts.choose(np.array([0, 3]))) == ["b", "g"]
    assert texts[1:3] == ["d", "e"]
    assert texts[5:] == []


def test_streamed_texts_are_indexed_as_a_list_is() -> None:
    keep = np.array([True, False, True, True, False, True, True])
    texts, expected = StreamedTexts(lambda: iter("abcdefg"), keep), list("acdfg")
    for i in range(-5, 5):
        assert texts[i] == expected[i]
    bounds = [None, *range(-6, 7)]
    for start, stop, step in itertools.product(bounds, bounds, (None, -3, -1, 2)):
        part = slice(start, stop, step)
        assert texts[part] == expected[part]
    with pytest.raises(IndexError):
        texts[5]


def test_texts_and_labels_must_match() -> None:
    with pytest.raises(ValueError, match="2 texts but 1 labels"):
        Reviews(["a", "b"], [1])

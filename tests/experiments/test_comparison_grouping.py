"""Reviews that may be of one film stay in one split: the rule on few rows, and on the real ones."""

import importlib.resources

import numpy as np
import pytest

from attention.sentiment.reviews import Reviews
from attention.sentiment.sources import read_groups, read_imdb
from experiments.comparison import grouping
from experiments.comparison.grouping import format_groups, group_films, order_groups
from experiments.comparison.leak import name_leak


@pytest.fixture(scope="module")
def imdb() -> Reviews:
    return read_imdb()


def group(negative: dict[int, str], positive: dict[int, str], n: int = 100) -> list[list[int]]:
    """Group n negative and n positive rows, of which these hold names; give groups of two up."""
    texts = [negative.get(row, "dull") for row in range(n)]
    texts += [positive.get(row, "lovely") for row in range(n)]
    first = group_films(texts, [0] * n + [1] * n)
    groups = [np.flatnonzero(first == row).tolist() for row in np.unique(first)]
    return [rows for rows in groups if len(rows) > 1]


def test_neighbours_with_a_name_take_the_rows_between_them() -> None:
    assert group({5: "Tony Leung", 8: "with Tony Leung."}, {}) == [[5, 6, 7, 8]]
    assert group({5: "Tony Leung", 35: "Tony Leung"}, {}) == [list(range(5, 36))]
    assert group({5: "Tony Leung", 36: "Tony Leung"}, {}) == []
    assert group({99: "Tony Leung"}, {0: "Tony Leung"}) == []  # neighbours, but of two labels
    chain = {5: "Tony Leung", 6: "Tony Leung, Maggie Cheung", 8: "Maggie Cheung"}
    assert group(chain, {}) == [[5, 6, 7, 8]]
    # A name of many reviews is no film's.
    rows = dict.fromkeys(range(30), "Tony Leung")
    assert group(rows, {}) == [list(range(30))]
    assert group(rows | {30: "Tony Leung"}, {}) == []


def test_labels_are_joined_by_two_reviews_of_each() -> None:
    two = {5: "Tony Leung", 6: "Tony Leung"}
    assert group(two, two) == [[5, 6, 105, 106]]
    assert group(two, {5: "Tony Leung"}) == [[5, 6]]
    assert group(two, two | {60: "Tony Leung"}) == [[5, 6], [105, 106]]  # he plays in another


def test_groups_are_read_from_three_lists_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "MIXED", 2)
    labels = [0] * 6 + [1] * 4  # lists of 2, 4 and 4
    order = order_groups(labels, np.arange(10))
    assert [rows.tolist() for rows in order] == [[r] for r in (0, 2, 6, 3, 7, 1, 4, 8, 5, 9)]
    first = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 1])
    order = order_groups(labels, first)
    assert [rows.tolist() for rows in order] == [[0], [2], [6], [3], [7], [1, 9], [4], [8], [5]]


def test_the_table_is_what_the_rule_gives(imdb) -> None:
    groups = order_groups(imdb.labels, group_films(imdb.texts, imdb.labels))
    table = importlib.resources.files("attention.sentiment") / "imdb_groups.txt"
    assert table.read_text(encoding="ascii") == format_groups(groups) + "\n"
    for rows, expected in zip(read_groups(), groups, strict=True):
        assert rows.tolist() == expected.tolist()
    # One that held a large part of the reviews would leave the splits no choice.
    assert 50 < max(map(len, groups)) < 200


def test_names_leak_the_majority_of_the_training_reviews() -> None:
    hit, flop, even = "Tony Leung", "Ed Wood", "Bob Hope"
    training = Reviews(
        [hit] * 3 + [flop] * 4 + [even] * 4 + ["Rare Name"] * 2 + ["The Movie"] * 31,
        [1, 1, 0] + [0, 0, 0, 1] + [0, 1, 0, 1] + [1] * 2 + [1] * 31,
    )
    held_out = Reviews(
        [hit, hit, f"{flop}, {hit}", even, "Rare Name", "The Movie", "none", "New Name"],
        [1, 0, 0, 1, 1, 1, 1, 1],
    )
    assert name_leak(training, held_out) == (4 / 8, 2.5 / 4)

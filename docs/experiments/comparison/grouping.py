"""Which of the IMDB reviews stay in one split, because they may be of one film.

Reviews of one film share its names and often its verdict, so a model that has met some of them in
training can answer the others from memory. Maas et al. (2011) therefore keep the films of their
two halves apart. All our reviews are from one half. Their file does not name the films, but shows
them in two ways: reviews of one film and one label are neighbours, and they share *names*, which
are two capitalised words in a row. The rule that follows from this is:

- A name counts if at most 30 reviews contain it, because Maas et al. took at most 30 per film.
- Two reviews of one label that share a name and are at most 30 rows apart belong to one group,
  together with the rows between them.
- Reviews of both labels belong to one group if they share a name that is found in at least two
  reviews of each label, and only within 30 rows of each.

Finding the names takes longer than loading the reviews, so the groups are stored in a table,
``attention/sentiment/imdb_groups.txt``, in the order in which the splits take them, which
``python -m experiments.comparison.grouping`` prints (in ``docs/``).
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from attention.sentiment.sources import read_imdb

FILM = 30  # the most reviews of a film, and therefore the most rows from its first to its last
MIXED = 4_000  # the first negative rows: of films with positive reviews as well, in that order


def find_names(text: str) -> set[str]:
    """Find all pairs of capitalised words in a row.

    Example:
        >>> sorted(find_names("Sad Tony Leung. Maggie Cheung shines."))
        ['Maggie Cheung', 'Sad Tony', 'Tony Leung']
    """
    rows = re.findall(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)+\b", text)
    return {" ".join(pair) for row in rows for pair in pairwise(row.split(" "))}


def group_films(texts: Sequence[str], labels: Sequence[int]) -> np.ndarray:
    """Group reviews that may be of one film, by the rule above.

    Args:
        texts: The reviews in the order of the file, the negative ones first.
        labels: 0 or 1 for each review.

    Returns:
        For each review, the first row of its group.

    Example:
        >>> texts = ["Tony Leung!", "Dull.", "Sad Tony Leung.", "Loud."]
        >>> group_films(texts, [0, 0, 0, 0]).tolist()
        [0, 0, 0, 3]
    """
    group = list(range(len(texts)))

    def first(row: int) -> int:
        while group[row] != row:
            group[row] = row = group[group[row]]
        return row

    def join(one: int, other: int) -> None:
        low, high = sorted((first(one), first(other)))
        group[high] = low

    rows_of = defaultdict(list)
    for row, text in enumerate(texts):
        for name in find_names(text):
            rows_of[name].append(row)
    for rows in rows_of.values():
        if len(rows) > FILM:
            continue
        sides = [[row for row in rows if labels[row] == label] for label in (0, 1)]
        for side in sides:
            for one, other in pairwise(side):
                if other - one <= FILM:
                    for row in range(one, other):
                        join(row, row + 1)
        if all(len(side) > 1 and side[-1] - side[0] <= FILM for side in sides):
            join(sides[0][0], sides[1][0])
    return np.array([first(row) for row in group])


def order_groups(labels: Sequence[int], group: np.ndarray) -> list[np.ndarray]:
    """Put groups in the order of the file, so that consecutive groups hold whole films.

    The file has three lists of reviews: negative ones of films that also have positive ones, other
    negative ones, and positive ones. The first and the last have the films in nearly the same
    order. All three are read in parallel, each at such a pace that they end together.

    Args:
        labels: The labels of the reviews in the order of the file, the negative ones first.
        group: For each review, the first row of its group.

    Returns:
        The rows of each group.
    """
    lists = np.split(np.arange(len(labels)), [MIXED, len(labels) - sum(labels)])
    place = np.concatenate([np.arange(len(rows)) / len(rows) for rows in lists])
    order = np.lexsort((group, place[group]))  # by group where places are equal
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def format_groups(groups: Sequence[np.ndarray]) -> str:
    """Write one line per group, with its ranges of rows.

    Example:
        >>> import numpy as np
        >>> print(format_groups([np.array([0, 1, 2, 4]), np.array([3])]))
        0-2 4
        3
    """
    lines = []
    for rows in groups:
        stretches = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        ends = [(stretch[0], stretch[-1])[: len(stretch)] for stretch in stretches]
        lines.append(" ".join("-".join(map(str, pair)) for pair in ends))
    return "\n".join(lines)


if __name__ == "__main__":
    every = read_imdb()
    films = group_films(every.texts, every.labels)
    print(format_groups(order_groups(every.labels, films)))

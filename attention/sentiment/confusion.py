"""Which labels a model takes for which, from its confusion matrix."""

from collections.abc import Sequence

import numpy as np

from attention._console import shown

Confusion = Sequence[Sequence[int]]
"""One row per label, one column per answer: how many reviews with that label got that answer."""


def per_label(confusion: Confusion, names: Sequence[str]) -> dict[str, dict[str, float]]:
    r"""Compute precision, recall and F1 of each label.

    .. math:: \mathrm{precision} = \frac{\mathrm{right}}{\mathrm{answered}}, \qquad
        \mathrm{recall} = \frac{\mathrm{right}}{n}, \qquad
        F_1 = \frac{2 \cdot \mathrm{right}}{\mathrm{answered} + n}

    Of the n reviews that have a label, and of those that are answered with it, so many are right. A
    share of no reviews is 0.

    Example:
        >>> per_label([[3, 1], [0, 4]], ["tea", "coffee"])["tea"]
        {'precision': 1.0, 'recall': 0.75, 'f1': 0.8571428571428571, 'n': 4}

    Source:
        van Rijsbergen (1979), Information Retrieval, chapter 7.
    """
    table = np.asarray(confusion)
    right, answered, n, f1 = np.diag(table), table.sum(0), table.sum(1), _f1(table)
    return {
        name: {
            "precision": float(right[i] / max(answered[i], 1)),
            "recall": float(right[i] / max(n[i], 1)),
            "f1": float(f1[i]),
            "n": int(n[i]),
        }
        for i, name in enumerate(names)
    }


def macro_f1(confusion: Confusion) -> float:
    """Compute the mean of F1 over the labels that a review has or is answered with."""
    table = np.asarray(confusion)
    occurs = (table.sum(0) + table.sum(1)) > 0
    return float(_f1(table)[occurs].mean())


def _f1(table: np.ndarray) -> np.ndarray:
    f1: np.ndarray = 2 * np.diag(table) / np.maximum(table.sum(0) + table.sum(1), 1)  # (C,)
    return f1


def in_words(confusion: Confusion, names: Sequence[str]) -> list[str]:
    """Say of each label how many of its reviews are right, and what most others are taken for."""
    lines = []
    for i, (name, row) in enumerate(zip(names, confusion, strict=True)):
        others = sorted((-count, j) for j, count in enumerate(row) if j != i and count)[:3]
        wrong = ", ".join(f"{-count:,} answered {shown(names[j])}" for count, j in others)
        lines.append(f"{shown(name)}: {row[i]:,} of {sum(row):,} right{'; ' * bool(wrong)}{wrong}")
    return lines

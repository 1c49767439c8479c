"""How much of a label the names in a review reveal, by training reviews of the same film."""

from collections import Counter

from attention.sentiment.reviews import Reviews
from experiments.comparison.grouping import FILM, find_names


def name_leak(training: Reviews, held_out: Reviews) -> tuple[float, float]:
    """Guess the label of each held-out review from the training reviews that share its rare names.

    A rare name is two capitalised words in a row that 3 to 30 training reviews contain. The guess
    is the label of most training reviews that share a rare name with the review; a tie counts half.

    Returns:
        The share of held-out reviews that contain such a name, and the accuracy of the guesses.
    """
    found, positive = Counter[str](), Counter[str]()
    for text, label in zip(training.texts, training.labels, strict=True):
        for name in find_names(text):
            found[name] += 1
            positive[name] += label
    points = []
    for text, label in zip(held_out.texts, held_out.labels, strict=True):
        if names := [name for name in find_names(text) if 3 <= found[name] <= FILM]:
            excess = sum(2 * positive[name] - found[name] for name in names)
            points.append(0.5 if excess == 0 else float((excess > 0) == label))
    return len(points) / len(held_out), sum(points) / len(points)

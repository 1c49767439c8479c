"""The leak through names, on reviews few enough to count it by hand."""

from attention.sentiment.sources import Reviews
from experiments.comparison.leak import name_leak


def test_the_majority_of_the_training_reviews_is_the_guess() -> None:
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

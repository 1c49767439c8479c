"""Exercises on data, training, and what a weight says about the answer."""

from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.judging import Exercise, draw

REVIEWS = [text.split() for text in ("a fine soup fine", "the soup was cold", "was it a soup")]


def _number(
    reviews: list[list[str]], least: int, times: int = 1, has_gaps: bool = False
) -> dict[str, int]:
    counts = Counter(word for words in reviews * times for word in words)
    kept = [word for word in counts if counts[word] >= least]
    return {word: i for i, word in enumerate(counts if has_gaps else kept, 2) if word in kept}


def _logit(ids: Tensor) -> Tensor:
    """Attend, so that what a word does depends on the others."""
    table = torch.linspace(-2, 2, 23, dtype=torch.float64)[ids]  # (n,)
    return (3 * table).sin().softmax(-1) @ table + 0.1 * len(ids)


def _delete(
    logit: Callable[[Tensor], Tensor],
    ids: Tensor,
    rest: Callable[[Tensor, int], Tensor] = lambda ids, i: torch.cat([ids[:i], ids[i + 1 :]]),
) -> Tensor:
    return torch.stack([logit(ids) - logit(rest(ids, i)) for i in range(len(ids))])  # (n,)


def _agree(
    weights: list[Tensor],
    effects: list[Tensor],
    top: Callable[[Tensor], Tensor] = lambda effect: effect.abs().argmax(),
) -> float:
    pairs = zip(weights, effects, strict=True)
    return sum(int(w.argmax() == top(e)) for w, e in pairs) / len(weights)


def _draw_reviews(count: int) -> tuple[list[Tensor], list[Tensor]]:
    """Draw reviews whose words mostly speak against the film."""
    effects = [draw(5) - 1 for _ in range(count)]
    weights = [(effect.abs() + draw(5) / 2).softmax(-1) for effect in effects]
    return weights, effects


EXERCISES = {
    "keep-the-end": Exercise(
        right=lambda front, review, most: (front + review)[-most:],
        slips={
            "You kept the head, which may lose the review.": lambda a, b, most: (a + b)[:most],
            "The distractor should be in front.": lambda a, b, most: (b + a)[-most:],
            "You truncated the review, so the pair is too long.": lambda a, b, most: a + b[-most:],
        },
        praise="Only words of the distractor are lost, or of a review that is too long by itself.",
        cases=lambda: [
            (list(range(10, 10 + a)), list(range(100, 100 + b)), most)
            for a, b, most in ((3, 5, 11), (5, 7, 11), (5, 13, 11), (2, 3, 5))
        ],
    ),
    "bug-vocabulary": Exercise(
        right=_number,
        slips={
            "Every review is still counted twice, so no word is rare.": {"times": 2},
            "The ids have gaps where rare words were left out.": {"has_gaps": True},
            "Reviews are counted twice, and ids have gaps.": {"times": 2, "has_gaps": True},
        },
        praise="Rare words share the id of the unknown word, and the ids have no gap.",
        cases=lambda: [(REVIEWS, 2), (REVIEWS, 3), (REVIEWS * 2 + [["new"]], 2), (REVIEWS, 1)],
    ),
    "deletion": Exercise(
        right=_delete,
        slips={
            "The sign is wrong: a word that raises the logit is positive.": lambda f, x: (
                -_delete(f, x)
            ),
            "You wrote 0, which is padding: leave the word out.": {
                "rest": lambda ids, i: ids.index_fill(0, torch.tensor([i]), 0)
            },
            "Leave out one position, not both words.": {"rest": lambda ids, i: ids[ids != ids[i]]},
        },
        praise="That is what each word did, whatever its weight was.",
        cases=lambda: [
            (_logit, torch.tensor(ids)) for ids in ([3, 11, 7, 19, 2], [5, 22, 5, 13, 1, 8, 22])
        ],
    ),
    "deletion-from-weights": Exercise(
        right=lambda a, s: a / (1 - a) * (s - a @ s),  # (n,)
        slips={
            "That is what a word contributes. Without it, others share its weight.": torch.mul,
            "Nearly. The others' weights must sum to 1 again.": lambda a, s: a * (s - a @ s),
            "Take the weighted mean of the evidence.": lambda a, s: a / (1 - a) * (s - s.mean()),
        },
        praise="It is weight / (1 − weight), times evidence less the weighted mean of evidence.",
        cases=lambda: [((2 * draw(n)).softmax(-1), draw(n)) for n in (3, 7, 11)],
    ),
    "bug-top-word": Exercise(
        right=_agree,
        slips={
            "It still passes over words against the film: compare sizes.": {"top": torch.argmax},
            "That finds the word most against the film: compare sizes.": {"top": torch.argmin},
            "Divide by the number of reviews.": lambda w, e: len(w) * _agree(w, e),
        },
        praise="The weights seemed to disagree only because strong negative effects were missed.",
        cases=lambda: [_draw_reviews(5), _draw_reviews(11)],
        use=lambda function, *case: torch.as_tensor(function(*case), dtype=torch.float64),
    ),
}

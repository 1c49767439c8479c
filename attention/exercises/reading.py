"""Checkers of the exercises on what a weight says about the answer."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention.analysis import rank_correlation
from attention.exercises.judging import Checker, judge_function, judge_number

WEIGHTS = torch.tensor([0.40, 0.25, 0.20, 0.10, 0.05])  # (5,)
EFFECTS = torch.tensor([-0.9, 0.1, 1.5, -0.3, 0.2])  # (5,)


def rank_by_hand(answer: object) -> str:
    """Judge the rank correlation of five weights with the sizes of five deletion effects."""
    ranks, sizes = torch.tensor([5.0, 4, 3, 2, 1]), torch.tensor([4.0, 1, 5, 3, 2])
    difference = ranks - sizes  # (5,)
    squares, n = difference.square().sum().item(), len(ranks)
    right = rank_correlation(WEIGHTS, EFFECTS.abs())
    slips = {
        "You ranked the effects with their sign, but −0.9 is a large effect. Rank by size.": (
            rank_correlation(WEIGHTS, EFFECTS)
        ),
        "That is the correlation of the numbers themselves. Replace them by their ranks first.": (
            torch.corrcoef(torch.stack([WEIGHTS, EFFECTS.abs()]))[0, 1].item()
        ),
        "The sign is wrong. Did you rank one side from the largest, one from the smallest?": -right,
        "The 1 − in front of the fraction is missing.": 6 * squares / (n * (n**2 - 1)),
        "The factor 6 is missing from the numerator.": 1 - squares / (n * (n**2 - 1)),
        "Square the differences of the ranks before you add them up.": (
            1 - 6 * difference.abs().sum().item() / (n * (n**2 - 1))
        ),
        "The denominator is n (n² − 1), with n = 5 words, and not n³.": 1 - 6 * squares / n**3,
    }
    judge_number(answer, right, slips)
    return "Five words prove little: of their 120 orders, 47 agree as well or better."


def deletion_from_weights(answer: object) -> str:
    """Judge a function from the weights and evidence of energy pooling to deletion effects."""

    def right(weights: Tensor, evidence: Tensor) -> Tensor:
        return weights / (1 - weights) * (evidence - weights @ evidence)

    slips: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "That is what each word contributes. When it is left out, the others share its weight.": (
            lambda a, s: a * s
        ),
        "Nearly. The others' weights must sum to 1 again, so divide by 1 − weight.": (
            lambda a, s: a * (s - a @ s)
        ),
        "You divided the word's own contribution by 1 − weight. Divide the others' sum by it, and "
        "subtract the result from the logit of the review.": lambda a, s: a / (1 - a) * s,
        "Compare the evidence with its weighted mean, in which each word counts by its weight, "
        "and not with the plain mean.": lambda a, s: a / (1 - a) * (s - s.mean()),
        "The sign is wrong, because a word that raised the logit should get a positive number.": (
            lambda a, s: -right(a, s)
        ),
        "Those are the logits without each word. Subtract them from the logit of the review.": (
            lambda a, s: (a @ s - a * s) / (1 - a)
        ),
    }
    g = torch.Generator().manual_seed(41)
    cases = [
        (torch.softmax(2 * one, dim=-1), other)
        for n in (3, 7, 11)
        for one, other in [torch.randn(2, n, generator=g, dtype=torch.float64)]
    ]
    judge_function(answer, right, cases, slips)
    return (
        "So a word's effect is a product: weight / (1 − weight), times the difference between the "
        "word's evidence and the weighted mean of all evidence."
    )


def bug_top_word(answer: object) -> str:
    """Judge a repaired count of reviews whose top word by weight is top by deletion."""

    def share(
        weights: list[Tensor],
        effects: list[Tensor],
        top: Callable[[Tensor], Tensor] = lambda effect: effect.abs().argmax(),
    ) -> float:
        pairs = zip(weights, effects, strict=True)
        return sum(bool(a.argmax() == top(e)) for a, e in pairs) / len(weights)

    slips = {
        "It still passes over words that speak against the film. Their effects are negative, so "
        "compare sizes.": lambda a, e: share(a, e, lambda effect: effect.argmax()),
        "That finds the word that speaks most against the film. Compare sizes, not signs.": (
            lambda a, e: share(a, e, lambda effect: effect.argmin())
        ),
        "That is how many reviews agree. Divide it by the number of all reviews.": (
            lambda a, e: share(a, e) * len(a)
        ),
        "That finds the word with the smallest effect.": (
            lambda a, e: share(a, e, lambda effect: effect.abs().argmin())
        ),
        "That is the share of reviews that disagree.": lambda a, e: 1 - share(a, e),
        "In percent, that is right. The function should return a share between 0 and 1.": (
            lambda a, e: 100 * share(a, e)
        ),
    }

    def use(function: Callable[..., object], *case: object) -> Tensor:
        return torch.as_tensor(function(*case), dtype=torch.float64)

    cases = []
    for largest in ((0, 1, 2, 2), (1, 1, 0, 2, 2, 1, 2)):
        weights, effects = [], []
        for i, top in enumerate(largest):
            effect = torch.tensor([0.3, -0.2, 0.1, -0.4, 0.05])  # (5,)
            effect[top] = 1.0 if i == 1 else -1.0  # most top words speak against the film
            weight = torch.full((5,), 0.1)  # (5,)
            weight[top if i % 3 else 3] = 0.6
            weights.append(weight)
            effects.append(effect)
        cases.append((weights, effects))
    judge_function(answer, share, cases, slips, use=use, tolerance=1e-4)
    return "The weights seemed to disagree only because strong negative effects were missed."


CHECKERS: dict[str, Checker] = {
    "rank-by-hand": rank_by_hand,
    "deletion-from-weights": deletion_from_weights,
    "bug-top-word": bug_top_word,
}

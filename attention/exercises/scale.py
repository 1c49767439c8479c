"""Checkers of the exercises on the scale √k."""

import torch
from torch import Tensor

from attention.exercises.judging import Checker, judge_function, judge_number
from attention.functional import scaled_dot_product_attention


def product_variance(answer: object) -> str:
    """Judge Var(query · key) for 50 numbers of variances 4 and 9."""
    slips = {
        "You multiplied the standard deviations 2 and 3. Variances are their squares.": 300,
        "That is the variance of one product. A score adds up k of them.": 36,
        "That is the standard deviation. The variance is its square.": 1800**0.5,
        "That is the variance of one product, times √k. The sum of k products has k times this "
        "variance.": 36 * 50**0.5,
        "You added the variances. For a product of independent numbers of mean 0 they multiply.": (
            13 * 50
        ),
        "That is right for variances of 1. These are 4 and 9.": 50,
        "A sum of k independent numbers has k times the variance of one, not k squared.": 90_000,
    }
    judge_number(answer, 1800, slips)
    return "A product has variance 4 · 9, and 50 of them are added."


def divide_by(answer: object) -> str:
    """Judge the number that brings those scores to variance 1."""
    slips = {
        "That is the variance. Dividing by c divides a variance by c squared.": 1800,
        "√k is right where queries and keys have variance 1, which here they do not.": 50**0.5,
        "That is k, but here queries and keys have variances other than 1.": 50,
        "That brings one product to variance 1. A score is a sum of k of them.": 6,
        "That is the factor, but the question asks for the divisor.": 1800**-0.5,
    }
    judge_number(answer, 1800**0.5, slips, tolerance=0.01)
    return "The scores now have variance 1, and standard deviation 1."


def jacobian(answer: object) -> str:
    """Judge a function from softmax weights to the softmax's Jacobian."""

    def right(weights: Tensor) -> Tensor:
        return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]

    def diagonal(weights: Tensor) -> Tensor:
        return torch.diag_embed(weights * (1 - weights))

    def outer(weights: Tensor) -> Tensor:
        return torch.diag(weights) - torch.outer(weights, weights)

    slips = {
        "That is the diagonal, but raising one score also lowers the other weights.": diagonal,
        "The sign is wrong: raising a score raises its own weight.": lambda w: -right(w),
        "The outer product is right, but the diagonal term diag(w) is missing.": (
            lambda w: right(w) - torch.diag_embed(w)
        ),
        "One row of weights is right. If several rows come at once, make one table for each and "
        "leave the leading dimensions alone.": outer,
        "That is the derivative of each weight with respect to its own score. The Jacobian has a "
        "row and a column for each key.": lambda w: w * (1 - w),
    }
    g = torch.Generator().manual_seed(3)
    cases = [
        (torch.randn(*shape, generator=g, dtype=torch.float64).softmax(-1),)
        for shape in ((5,), (3, 7), (2, 3, 11))
    ]
    judge_function(answer, right, cases, slips)
    return "Each row and each column sums to 0: what one weight gains, the others lose."


def bug_width(answer: object) -> str:
    """Judge a repaired function from queries and keys to weights."""

    def right(query: Tensor, key: Tensor) -> Tensor:
        return scaled_dot_product_attention(query, key, key)[1]

    def weights(query: Tensor, key: Tensor, by: float) -> Tensor:
        return torch.softmax(query @ key.mT / by**0.5, dim=-1)

    slips = {
        "It still divides by the global d_out = 2, whatever the width of the keys.": (
            lambda query, key: weights(query, key, 2)
        ),
        "shape[1] is the width for one sentence, but the number of words in a batch: take "
        "shape[-1].": lambda query, key: weights(query, key, key.shape[1]),
        "shape[0] is the number of words, or of sentences: take shape[-1].": (
            lambda query, key: weights(query, key, key.shape[0])
        ),
        "shape[-2] is the number of words: take shape[-1].": (
            lambda query, key: weights(query, key, key.shape[-2])
        ),
        "The scale is gone. It should be the root of the keys' width.": (
            lambda query, key: weights(query, key, 1)
        ),
        "The root is missing: divide by √k.": (
            lambda query, key: weights(query, key, key.shape[-1] ** 2)
        ),
    }
    g = torch.Generator().manual_seed(5)
    cases = []
    for shape, k in (((5,), 2), ((5,), 13), ((7, 3), 11)):
        query, key = torch.randn(2, *shape, k, generator=g, dtype=torch.float64)
        cases.append((query, key))
    judge_function(answer, right, cases, slips)
    return "The width now comes from the tensor that has it."


CHECKERS: dict[str, Checker] = {
    "product-variance": product_variance,
    "divide-by": divide_by,
    "jacobian": jacobian,
    "bug-width": bug_width,
}

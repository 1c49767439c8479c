"""Exercises on one sentence (scores, weights, _contexts, a layer), and on the scale."""

from typing import Any

import torch
from torch import Tensor

from attention.exercises.judging import Exercise, draw, use_layer
from attention.layers.self_attention import SelfAttentionV1, SelfAttentionV2

# "cold tea please", with numbers that are small enough for paper.
X = torch.tensor([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]])  # (3, 2)
W_QUERY = torch.tensor([[0.0, 1.0], [1.0, 1.0]])  # (2, 2)
W_KEY = torch.tensor([[0.0, 0.5], [0.5, 0.0]])  # (2, 2)
W_VALUE = torch.tensor([[3.0, 1.0], [0.0, 2.0]])  # (2, 2)
QUERY, KEY, VALUE = X @ W_QUERY, X @ W_KEY, X @ W_VALUE  # (3, 2), (3, 2), (3, 2)
SCORES = QUERY @ KEY.T  # (3, 3)
WEIGHTS = (SCORES / 2**0.5).softmax(-1)  # (3, 3)
TEA, PLEASE = 1, 2

# "Your journey starts with one step", with the numbers of the chapter in the credits.
X_OF_SIX = torch.tensor(
    [
        [0.8938, 0.9003, 0.8978],
        [0.7165, 0.3428, 0.2553],
        [0.1042, 0.5163, 0.3753],
        [0.0445, 0.3091, 0.9763],
        [0.1554, 0.1614, 0.2700],
        [0.8089, 0.9435, 0.5480],
    ]
)  # (6, 3)
MATRICES_OF_SIX = torch.tensor(
    [
        [[0.111664, 0.815843], [0.262562, 0.483878], [0.676504, 0.753911]],
        [[0.262691, 0.042840], [0.208029, 0.118037], [0.121695, 0.735599]],
        [[0.711765, 0.787581], [0.418305, 0.901415], [0.996886, 0.756515]],
    ]
)  # (3, 3, 2)
QUERIES, KEYS, VALUES = X_OF_SIX @ MATRICES_OF_SIX  # (6, 2), (6, 2), (6, 2)
SCORES_OF_SIX = QUERIES @ KEYS.T  # (6, 6)
JOURNEY = 1


def _contexts(scale: float = 2**0.5, dim: int = -1, decimals: int = 6) -> Any:
    query, key, value = X_OF_SIX @ MATRICES_OF_SIX.round(decimals=decimals)  # (6, 2) each
    return (query @ key.T / scale).softmax(dim) @ value  # (6, 2)


def _error(typed: Tensor) -> Any:
    return (typed - _contexts()).abs()  # (6, 2)


def weigh(query: Tensor, key: Tensor, turn: str = "mT", axis: int = -1, **slip: Any) -> Any:
    """Turn queries and keys into weights, with one slip at a time on request."""
    width = key.shape[axis] ** slip.get("power", 0.5)
    return (query @ getattr(key, turn) / width).softmax(slip.get("dim", -1))  # (..., n, m)


def _attend(x: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor, **slip: Any) -> Any:
    return weigh(x @ W_query, x @ W_key, **slip) @ (x @ W_value)  # (..., n, k)


def _convert(v1: SelfAttentionV1, order: str = "qkv", turn: str = "T") -> SelfAttentionV2:
    v2 = SelfAttentionV2(*v1.W_query.shape)
    matrices = {"q": v1.W_query, "k": v1.W_key, "v": v1.W_value}
    for linear, letter in zip((v2.W_query, v2.W_key, v2.W_value), order, strict=True):
        linear.weight.data.copy_(getattr(matrices[letter].data, turn))
    return v2


def _jacobian(w: Tensor) -> Tensor:
    return torch.diag_embed(w) - w[..., :, None] * w[..., None, :]  # (..., m, m)


EXERCISES = {
    "score-by-hand": Exercise(
        right=SCORES[TEA, PLEASE],
        slips={
            'That is what "please" asks of "tea", but here "tea" asks.': SCORES[PLEASE, TEA],
            "That compares the embeddings, without W_query and W_key.": X[TEA] @ X[PLEASE],
            "That is already divided by √k. Give the score before.": SCORES[TEA, PLEASE] / 2**0.5,
        },
        praise='This is how well the key of "please" matches the query of "tea".',
    ),
    "weights-by-hand": Exercise(
        right=WEIGHTS[TEA],
        slips={
            "You forgot the scale: divide the scores by √k first.": SCORES[TEA].softmax(-1),
            "There is no softmax: exponentiate each score first.": SCORES[TEA] / SCORES[TEA].sum(),
            "These do not sum to 1: divide each by their sum.": torch.exp(SCORES[TEA] / 2**0.5),
        },
        praise="They sum to 1, and the largest score has the largest weight.",
    ),
    "context-by-hand": Exercise(
        right=WEIGHTS[TEA] @ VALUE,
        slips={
            "That mixes the embeddings, but a word hands over its value.": WEIGHTS[TEA] @ X,
            "That is the plain mean of the values, without the weights.": VALUE.mean(dim=0),
            "You mixed the values by the scores. Mix them by the weights.": SCORES[TEA] @ VALUE,
        },
        praise="It lies inside the triangle of the three values, as every mixture of them does.",
    ),
    "journey-scores": Exercise(
        right=SCORES_OF_SIX[JOURNEY],
        slips={
            "Those compare the embeddings, without W_query and W_key.": X_OF_SIX[1] @ X_OF_SIX.T,
            'Those are the scores of all queries for "journey".': SCORES_OF_SIX[:, JOURNEY],
            "Those are already divided by √k. Give those before.": SCORES_OF_SIX[JOURNEY] / 2**0.5,
        },
        praise='"Your" has the highest score, because its key is the longest.',
    ),
    "all-contexts": Exercise(
        right=_contexts(),
        slips={
            "You forgot the scale: divide the scores by √k before the softmax.": _contexts(1),
            "The softmax runs over the queries, but each row should sum to 1.": _contexts(dim=0),
            "There is no softmax.": SCORES_OF_SIX / 2**0.5 @ VALUES,
        },
        praise="The steps are the same for any numbers, and you have now taken them on your own.",
    ),
    # What the seeds 0 to 999 give. A test draws the matrices again.
    "count-favourites": Exercise(
        right=[1000, 377],
        slips={
            "The two numbers are exchanged: torch.rand comes first.": [377, 1000],
            "Those are the counts for the embeddings of the lesson, not of this page.": [944, 331],
            "You drew the key matrix first, but here the query matrix comes first.": [999, 371],
        },
        praise="What the words agree on says how the matrices were drawn, not what they mean.",
        tolerance=0.5,
    ),
    "global-width": Exercise(
        right=(SCORES_OF_SIX[JOURNEY] / 200**0.5).softmax(-1),
        slips={
            "Those are the weights for d_out = 2.": (SCORES_OF_SIX[JOURNEY] / 2**0.5).softmax(-1),
            "The layer divides by the root of d_out.": (SCORES_OF_SIX[JOURNEY] / 200).softmax(-1),
            "The softmax is still to come.": SCORES_OF_SIX[JOURNEY] / 200**0.5,
        },
        praise="No error is raised, and yet the weights are now nearly equal.",
        tolerance=1e-4,
    ),
    "run-order": Exercise(
        right=[10, 11, 13, 14],
        slips={
            "That is their order on the page. What do the brackets count?": [14, 13, 10, 11],
            "That is the reverse order, from the last run to the first.": [14, 13, 11, 10],
            "Those are ranks, one for each cell. Give the numbers in the brackets.": [4, 3, 1, 2],
        },
        praise="The cell at the top was run last, after all three outputs had been printed.",
    ),
    "typed-decimals": Exercise(
        right=_error(_contexts(decimals=4)).max(),
        slips={
            "You rounded the contexts, not the matrices.": _error(
                _contexts().round(decimals=4)
            ).max(),
            "You kept three decimals, but print shows four.": _error(_contexts(decimals=3)).max(),
            "They do differ, although by less than allclose or four decimals show.": 0.0,
        },
        praise="That is enough to change a fourth decimal here and there.",
        tolerance=2e-6,
    ),
    "all-at-once": Exercise(
        right=_attend,
        slips={
            "On a batch .T reverses all dimensions: use .mT.": {"turn": "T"},
            "shape[1] is the number of words in a batch: take shape[-1].": {"axis": 1},
            "You forgot the scale: divide the scores by √k.": {"power": 0},
        },
        praise="For one sentence and for a batch of them, it is the package's function.",
        # The last batch has as many sentences as words and dimensions.
        cases=lambda: [
            (draw(*shape, d), *draw(3, d, k))
            for shape, d, k in (((5,), 3, 2), ((7, 5), 3, 2), ((3, 3), 3, 3))
        ],
    ),
    "copy-layer": Exercise(
        right=_convert,
        slips={
            "nn.Linear stores the transpose: transpose each of the three.": {"turn": "data"},
            "Query and key are exchanged, which transposes the scores.": {"order": "kqv"},
            "It still holds its own random matrices.": lambda v1: SelfAttentionV2(
                *v1.W_query.shape
            ),
        },
        praise="The two classes now compute the same function.",
        cases=lambda: [(SelfAttentionV1(3, k), torch.randn(5, 3)) for k in (3, 2)],
        use=use_layer(SelfAttentionV2),
    ),
    "product-variance": Exercise(
        right=50 * 4 * 9,
        slips={
            "You multiplied the standard deviations. Variances are their squares.": 50 * 2 * 3,
            "That is the variance of one product. A score adds up k of them.": 4 * 9,
            "You added the variances. Those of independent numbers multiply.": 50 * (4 + 9),
        },
        praise="A product has variance 4 · 9, and 50 of them are added.",
    ),
    "divide-by": Exercise(
        right=1800**0.5,
        slips={
            "That is the variance. Dividing by c divides a variance by c squared.": 1800,
            "√k is right where queries and keys have variance 1. Here they do not.": 50**0.5,
            "That is the factor, but the question asks for the divisor.": 1800**-0.5,
        },
        praise="The scores now have variance 1, and standard deviation 1.",
        tolerance=0.01,
    ),
    "jacobian": Exercise(
        right=_jacobian,
        slips={
            "A score also moves the other weights.": lambda w: torch.diag_embed(w * (1 - w)),
            "The diagonal term diag(w) is missing.": lambda w: -w[..., None] * w[..., None, :],
            "Make one table for each row of weights.": lambda w: w.diag() - w.outer(w),
        },
        praise="Each row and each column sums to 0: what one weight gains, the others lose.",
        cases=lambda: [(draw(*shape).softmax(-1),) for shape in ((5,), (3, 7), (2, 3, 11))],
    ),
    "bug-width": Exercise(
        right=weigh,
        slips={
            "It still divides by the global √2.": lambda q, k: (q @ k.mT / 2**0.5).softmax(-1),
            "shape[1] is the number of words in a batch: take shape[-1].": {"axis": 1},
            "The scale is gone. It should be the root of the keys' width.": {"power": 0},
        },
        praise="The width now comes from the tensor that has it.",
        cases=lambda: [draw(2, *shape) for shape in ((5, 2), (5, 13), (7, 3, 11))],
    ),
}

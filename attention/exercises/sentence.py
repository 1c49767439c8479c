"""Exercises on one sentence (scores, weights, contexts, a layer), and on the scale."""

from typing import Any

import torch
from torch import Tensor

from attention.exercises.judging import Exercise, draw, use_layer
from attention.layers.self_attention import SelfAttentionV1, SelfAttentionV2


def weigh(query: Tensor, key: Tensor, turn: str = "mT", axis: int = -1, **slip: Any) -> Any:
    """Turn queries and keys into weights, with one slip at a time on request."""
    width = key.shape[axis] ** slip.get("power", 0.5)
    return (query @ getattr(key, turn) / width).softmax(slip.get("dim", -1))  # (..., n, m)


def _convert(v1: SelfAttentionV1, order: str = "qkv", turn: str = "T") -> SelfAttentionV2:
    v2 = SelfAttentionV2(*v1.W_query.shape)
    matrices = {"q": v1.W_query, "k": v1.W_key, "v": v1.W_value}
    for linear, letter in zip((v2.W_query, v2.W_key, v2.W_value), order, strict=True):
        linear.weight.data.copy_(getattr(matrices[letter].data, turn))
    return v2


EXERCISES = {
    "all-at-once": Exercise(
        right=lambda x, q, k, v, **slip: weigh(x @ q, x @ k, **slip) @ (x @ v),  # (..., n, k)
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
    "jacobian": Exercise(
        right=lambda w: torch.diag_embed(w) - w[..., :, None] * w[..., None, :],  # (..., m, m)
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

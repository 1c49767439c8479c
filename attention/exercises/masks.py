"""Exercises on masks, heads, positions and the transformer block."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention.exercises.judging import Exercise, draw
from attention.layers.positions import positions_from_end
from attention.masks import padding_mask

INF = float("inf")
LENGTHS = torch.tensor([2, 5, 3]), torch.tensor([7, 1, 4, 1, 2]), torch.tensor([1, 1])


def _is_word(lengths: Tensor, n: int) -> Tensor:
    return padding_mask(lengths, n)[:, 0]  # (B, n)


def _add(x: Tensor, lengths: Tensor) -> Tensor:
    return (x * _is_word(lengths, x.shape[1])[..., None]).sum(1)  # (B, d)


def _average(x: Tensor, lengths: Tensor, least: int = 1) -> Tensor:
    return _add(x, lengths) / lengths[:, None].clamp(min=least)  # (B, d)


def _fill(scores: Tensor, mask: Tensor, value: float = -INF) -> Tensor:
    return scores.masked_fill(~mask, value).softmax(-1)


def _masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    blind = ~mask.any(dim=-1, keepdim=True)  # (..., n, 1)
    return _fill(scores, mask | blind).masked_fill(blind, 0.0)


def _with_gradient(function: Any, scores: Tensor, mask: Tensor) -> Any:
    weights = function(scores.requires_grad_() * 1, mask)
    probe = torch.linspace(-1, 1, weights.numel(), dtype=weights.dtype).view_as(weights)
    return weights, *torch.autograd.grad((weights * probe).sum(), scores)


def _draw_blind(*shape: int) -> tuple[Tensor, Tensor]:
    mask = torch.rand(shape) < 0.6
    mask[..., -1, :] = False
    return draw(*shape), mask


def _block(x: Tensor, attend: Any, feed: Any, norm1: Any, norm2: Any) -> Any:
    x = x + attend(norm1(x))
    return x + feed(norm2(x))


def _draw_block(*shape: int) -> tuple[Any, ...]:
    d = shape[-1]
    mix, hidden, scales = draw(d, d), draw(d, d), draw(2, d)  # (d, d), (d, d), (2, d)
    return (
        draw(*shape),
        lambda x: x.mean(dim=-2, keepdim=True) @ mix,
        lambda x: F.gelu(x @ hidden),
        lambda x: F.layer_norm(x, (d,), scales[0]),
        lambda x: F.layer_norm(x, (d,), scales[1]),
    )


EXERCISES = {
    "true-means-ignore": Exercise(
        right=lambda lengths, n: ~_is_word(lengths, n),
        slips={
            "That mask is True for words, but here True means leave out.": _is_word,
            "That is this project's mask, (B, 1, n) and True = may attend.": padding_mask,
            "The last word is left out, too: count from 0.": lambda size, n: ~_is_word(size - 1, n),
        },
        praise="It is padding_mask with True and False exchanged, one row per text.",
        cases=lambda: [(lengths, 7) for lengths in LENGTHS],
    ),
    "bug-mean": Exercise(
        right=_average,
        slips={
            "It still counts the padding.": lambda x, lengths: x.mean(1),
            "The division still counts the padding.": lambda x, size: _add(x, size) / x.shape[1],
            "A text without a word gives 0/0 instead of zeros.": {"least": 0},
        },
        praise="What the padding holds no longer matters.",
        cases=lambda: [(draw(3, 7, 3), LENGTHS[0]), (draw(3, 5, 2), torch.tensor([4, 0, 1]))],
    ),
    "bug-padding": Exercise(
        right=lambda s, lengths, by=_fill: by(s, padding_mask(lengths, s.shape[-1])),
        slips={
            "Mask the scores, not the weights.": {"by": lambda s, mask: s.softmax(-1) * mask},
            "A score of 0 is one like any other: use -inf.": {"by": lambda s, m: _fill(s, m, 0.0)},
            "The mask is inverted: all attention is on padding.": {"by": lambda s, m: _fill(s, ~m)},
        },
        praise="The words share all of the weight, and padding gets none.",
        # The last batch holds as many texts as queries: a mask without its 1 fits, and is wrong.
        cases=lambda: [
            (draw(len(lengths), n, 7), lengths)
            for lengths, n in zip(LENGTHS, (11, 7, 2), strict=True)
        ],
    ),
    "blind-row": Exercise(
        right=_masked_softmax,
        slips={
            "A row that may attend to nothing becomes NaN, which is what 0/0 gives.": _fill,
            "A row with nothing to see sees everything.": lambda s, mask: _fill(s, mask, -1e9),
            "The weights are right, but the gradient is NaN: 0/0 is still in the backward pass.": (
                lambda s, mask: (s + torch.where(mask, 0.0, -INF)).softmax(-1).nan_to_num()
            ),
        },
        praise="A row that may attend to nothing gets zeros, forward and backward.",
        cases=lambda: [_draw_blind(5, 7), _draw_blind(3, 2, 11)],
        use=_with_gradient,
    ),
    "split-heads": Exercise(
        right=lambda x, h: x.unflatten(-1, (h, -1)).transpose(1, 2),
        slips={
            "A bare view gives a head all of some words: split the width, then exchange axes.": (
                lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1)
            ),
            "Exchange the axes of words and heads.": lambda x, h: x.unflatten(-1, (h, -1)),
            "Each head takes every h-th number: split the width into (heads, head_dim).": (
                lambda x, h: x.unflatten(-1, (-1, h)).permute(0, 3, 1, 2)
            ),
        },
        praise="Each head sees every word, and its own part of the width.",
        cases=lambda: [(draw(2, 5, 21), 3), (draw(3, 7, 10), 2)],
    ),
    "count-from-end": Exercise(
        right=positions_from_end,
        slips={
            "That counts from the start.": lambda size, n: torch.arange(n).repeat(len(size), 1),
            "You count from the end of the row, not from the last word.": (
                lambda size, n: torch.arange(n).flip(0).repeat(len(size), 1)
            ),
            "Padding gets negative positions.": lambda size, n: size[:, None] - 1 - torch.arange(n),
        },
        praise="Whatever is in front of a review, its last word is at position 0.",
        cases=lambda: [(lengths, 7) for lengths in LENGTHS],
    ),
    "transformer-block": Exercise(
        right=_block,
        slips={
            "That is post-norm.": lambda x, a, f, m, n: n((y := m(x + a(x))) + f(y)),
            "The residual connections are missing.": lambda x, a, f, m, n: f(n(a(m(x)))),
            "Feed forward the sum, not x before it.": lambda x, a, f, m, n: x + a(m(x)) + f(n(x)),
        },
        praise="Each part reads normalised tokens, and the residual path holds only additions.",
        cases=lambda: [_draw_block(3, 5), _draw_block(2, 7, 11)],
    ),
}

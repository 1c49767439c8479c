"""Checkers of the exercises on masks, heads and positions."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention.exercises.judging import Checker, judge_function, judge_numbers
from attention.functional import causal_mask, padding_mask, scaled_dot_product_attention
from attention.layers.pooling import MeanPooling
from attention.layers.positions import positions_from_end as package_positions

CAUSAL_SCORES = torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 3.0], [2.0, 1.0, 0.0]])  # (3, 3)


def causal_by_hand(answer: object) -> str:
    """Judge the second word's weights under a causal mask, its scores being scaled already."""
    row = CAUSAL_SCORES[1]  # (3,)

    def shares(allowed: list[bool]) -> Tensor:
        return torch.softmax(row.masked_fill(~torch.tensor(allowed), float("-inf")), dim=-1)

    cut = torch.softmax(row, -1) * torch.tensor([1.0, 1.0, 0.0])  # (3,)
    slips = {
        "You masked after the softmax: the row no longer sums to 1. Mask the scores.": cut,
        "There is no mask: the second word sees the third.": shares([True] * 3),
        "A word may attend to itself, too: the mask includes its diagonal.": shares(
            [True, False, False]
        ),
        "The mask is the wrong way round: the word sees those after it, not those before.": (
            shares([False, True, True])
        ),
        "You set the forbidden score to 0, which is a score like any other: use -inf.": (
            torch.softmax(row * torch.tensor([1.0, 1.0, 0.0]), -1)
        ),
        "That is the softmax along a column. The weights of a query are along its row.": (
            torch.softmax(CAUSAL_SCORES.masked_fill(~causal_mask(3), float("-inf")), 0)[:, 1]
        ),
        "These scores are scaled already.": torch.softmax(
            (row / 2**0.5).masked_fill(torch.tensor([False, False, True]), float("-inf")), -1
        ),
    }
    judge_numbers(answer, shares([True, True, False]), slips)
    return "The two words that may be attended to share the weight, and the third has none."


def _lengths(least: int = 1) -> list[Tensor]:
    return [torch.tensor([2, 5, 3]), torch.tensor([7, least, 4, 1, 2]), torch.tensor([least] * 2)]


def true_means_ignore(answer: object) -> str:
    """Judge a function from lengths to nn.MultiheadAttention's key_padding_mask."""

    def right(lengths: Tensor, n: int) -> Tensor:
        return ~padding_mask(lengths, n)[..., 0, :]

    slips = {
        "That mask is True for words, but in nn.MultiheadAttention True means leave out.": (
            lambda lengths, n: padding_mask(lengths, n)[..., 0, :]
        ),
        "That is this project's mask, (B, 1, n) and True = may attend. "
        "nn.MultiheadAttention wants (B, n), and True = leave out.": padding_mask,
        "It is True for the right positions, but the shape should be (B, n).": (
            lambda lengths, n: ~padding_mask(lengths, n)
        ),
        "The last word of each text is left out, too: positions count from 0.": (
            lambda lengths, n: torch.arange(n) >= lengths[:, None] - 1
        ),
        "The first position of padding is let in: positions count from 0.": (
            lambda lengths, n: torch.arange(n) > lengths[:, None]
        ),
    }
    cases = [(lengths, 7) for lengths in _lengths()]
    judge_function(answer, right, cases, slips)
    return "It is padding_mask with True and False exchanged, one row per text."


def bug_mean(answer: object) -> str:
    """Judge a repaired mean over the words of padded texts."""

    def right(x: Tensor, lengths: Tensor) -> Tensor:
        pooled = MeanPooling(x.shape[-1])(x, padding_mask(lengths, x.shape[-2]))
        assert isinstance(pooled, Tensor)
        return pooled

    def kept(x: Tensor, lengths: Tensor) -> Tensor:
        return x * padding_mask(lengths, x.shape[-2]).mT  # (B, n, d)

    slips = {
        "It still counts the padding.": lambda x, lengths: x.mean(-2),
        "The sum leaves padding out, but the division still counts it: divide by the lengths.": (
            lambda x, lengths: kept(x, lengths).mean(-2)
        ),
        "The division is by the lengths, but the sum still has the padding in it.": (
            lambda x, lengths: x.sum(-2) / lengths[:, None].clamp(min=1)
        ),
        "Every text with a word is right, but one without a word gives 0/0 instead of zeros.": (
            lambda x, lengths: kept(x, lengths).sum(-2) / lengths[:, None]
        ),
        "That is the sum over the words, which is still to be divided by their number.": (
            lambda x, lengths: kept(x, lengths).sum(-2)
        ),
    }
    g = torch.Generator().manual_seed(11)
    cases = [
        (torch.randn(len(lengths), 7, 3, generator=g, dtype=torch.float64), lengths)
        for lengths in _lengths(least=0)
    ]
    judge_function(answer, right, cases, slips)
    return "What the padding holds no longer matters."


def _score_weights(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Let the package's function do a softmax: keys that are the identity leave scores alone."""
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype)  # (m, m)
    return scaled_dot_product_attention(scores, eye, eye, mask, scale=1.0)[1]


def bug_padding(answer: object) -> str:
    """Judge a repaired function from scores and lengths to weights."""

    def right(scores: Tensor, lengths: Tensor) -> Tensor:
        return _score_weights(scores, padding_mask(lengths, scores.shape[-1]))

    def fill(scores: Tensor, forbidden: Tensor, value: float = float("-inf")) -> Tensor:
        return torch.softmax(scores.masked_fill(forbidden, value), dim=-1)

    def padding(scores: Tensor, lengths: Tensor) -> Tensor:
        return ~padding_mask(lengths, scores.shape[-1])  # (B, 1, m)

    slips = {
        "There is still weight on the padding.": lambda s, lengths: torch.softmax(s, dim=-1),
        "You masked after the softmax: no weight on padding, but rows no longer sum to 1. Mask "
        "the scores.": lambda s, lengths: torch.softmax(s, -1).masked_fill(padding(s, lengths), 0),
        "You set forbidden scores to 0, which is a score like any other: use -inf.": (
            lambda s, lengths: fill(s, padding(s, lengths), 0.0)
        ),
        "The mask is inverted: all attention is on the padding.": (
            lambda s, lengths: fill(s, ~padding(s, lengths))
        ),
        "You masked the queries of the padding, but it is its keys that must get no attention.": (
            lambda s, lengths: fill(s, padding(s, lengths).mT)
        ),
        "The mask has shape (B, m), so B is aligned with the queries. It should be (B, 1, m).": (
            lambda s, lengths: fill(s, padding(s, lengths)[:, 0])
        ),
        "The softmax runs over the queries. Each row should sum to 1: dim=-1.": (
            lambda s, lengths: torch.softmax(
                s.masked_fill(padding(s, lengths), float("-inf")), dim=-2
            )
        ),
    }
    g = torch.Generator().manual_seed(13)
    # The last batch holds as many texts as queries: there a mask without its 1 fits, and is wrong.
    cases = [
        (torch.randn(len(lengths), n, 7, generator=g, dtype=torch.float64), lengths)
        for lengths, n in zip(_lengths(), (11, 7, 2), strict=True)
    ]
    judge_function(answer, right, cases, slips)
    return "The words share all of the weight, and padding gets none."


def blind_row(answer: object) -> str:
    """Judge a masked softmax whose rows may have nothing to attend to, with its gradient."""

    def use(function: Callable[..., Tensor], scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        leaf = scores.clone().requires_grad_()
        weights = function(leaf * 1, mask)
        probe = torch.linspace(-1, 1, weights.numel(), dtype=weights.dtype)
        (gradient,) = torch.autograd.grad((weights.flatten() * probe).sum(), leaf)
        return weights.detach(), gradient

    def minus_inf(scores: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)

    slips = {
        "A row that may attend to nothing becomes NaN, which is what 0/0 gives.": minus_inf,
        "A row that may attend to nothing attends to everything equally, but should get zeros.": (
            lambda s, mask: torch.softmax(s.masked_fill(~mask, -1e9), dim=-1)
        ),
        "The weights are right, but the gradient is NaN: replacing NaN afterwards does not undo "
        "the 0/0 in the backward pass.": (
            lambda s, mask: torch.softmax(
                s + torch.where(mask, 0.0, float("-inf")), dim=-1
            ).nan_to_num(0.0)
        ),
        "You masked after the softmax: rows no longer sum to 1.": (
            lambda s, mask: torch.softmax(s, dim=-1) * mask
        ),
        "The mask is inverted. True means may attend.": lambda s, mask: _score_weights(s, ~mask),
    }
    g = torch.Generator().manual_seed(17)
    cases = []
    for shape in ((5, 7), (3, 2, 11)):
        scores = torch.randn(*shape, generator=g, dtype=torch.float64)
        mask = torch.rand(shape, generator=g) < 0.6
        mask[..., -1, :] = False
        cases.append((scores, mask))
    judge_function(answer, _score_weights, cases, slips, use=use)
    return "A row that may attend to nothing gets zeros, forward and backward."


def split_heads(answer: object) -> str:
    """Judge a function from (B, n, d) to (B, h, n, d/h)."""

    def right(x: Tensor, num_heads: int) -> Tensor:
        return torch.stack(x.chunk(num_heads, dim=-1), dim=1)

    slips = {
        "The shape is right, but the numbers are not: a bare view takes them as they are stored, "
        "so a head gets all of some words. Split the width first, then exchange axes.": (
            lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1)
        ),
        "The axis of the heads comes after that of the words: exchange the two axes.": (
            lambda x, h: x.unflatten(-1, (h, -1))
        ),
        "You split the width into (head_dim, heads): each head then takes every h-th number. "
        "Split it into (heads, head_dim).": lambda x, h: x.unflatten(-1, (-1, h)).permute(
            0, 3, 1, 2
        ),
    }
    g = torch.Generator().manual_seed(19)
    cases = [
        (torch.randn(B, n, h * width, generator=g, dtype=torch.float64), h)
        for B, n, h, width in ((2, 5, 3, 7), (3, 7, 2, 5))
    ]
    judge_function(answer, right, cases, slips)
    return "Each head sees every word, and its own part of the width."


def count_from_end(answer: object) -> str:
    """Judge a function from lengths to positions that are 0 at the last word."""
    slips = {
        "That counts from the start.": lambda lengths, n: torch.arange(n).expand(len(lengths), n),
        "That counts from the end of the padded row. Count from the last word.": (
            lambda lengths, n: torch.arange(n).flip(0).expand(len(lengths), n)
        ),
        "Words are right, but padding gets negative positions, which no table has: give it 0.": (
            lambda lengths, n: lengths[:, None] - 1 - torch.arange(n)
        ),
        "The last word has position 1, but it should have 0.": (
            lambda lengths, n: (lengths[:, None] - torch.arange(n)).clamp(min=0)
        ),
    }
    judge_function(answer, package_positions, [(lengths, 7) for lengths in _lengths()], slips)
    return "Whatever is in front of a review, its last word is at position 0."


CHECKERS: dict[str, Checker] = {
    "causal-by-hand": causal_by_hand,
    "true-means-ignore": true_means_ignore,
    "bug-mean": bug_mean,
    "bug-padding": bug_padding,
    "blind-row": blind_row,
    "split-heads": split_heads,
    "count-from-end": count_from_end,
}

"""Exercises on attention as language models use it today."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from attention.exercises.judging import Exercise, NotYet, draw
from attention.functional import scaled_dot_product_attention
from attention.masks import causal_mask, window_mask
from attention.rotary import apply_rotary

Triple = tuple[Tensor, Tensor, Tensor]


def _rotate(
    query: Tensor, key: Tensor, value: Tensor, start: int, turn: Any = apply_rotary
) -> Triple:
    positions = torch.arange(start, start + query.shape[-2])  # (n,)
    return turn(query, positions), turn(key, positions), value


def _turn_by_neighbours_angles(x: Tensor, positions: Tensor) -> Tensor:
    k = x.shape[-1]
    angle = positions[:, None] * 10_000.0 ** -(torch.arange(k) // 2 * 2 / k)  # (n, k)
    a, b = x.chunk(2, dim=-1)  # (..., n, k / 2), (..., n, k / 2)
    return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()


def _window(n: int, m: int, w: int, wider: int = 0) -> Tensor:
    return causal_mask(n, m) & window_mask(n, w + wider, m)  # (n, m)


def _step(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    turn: Any = apply_rotary,
    turn_cache: Any = lambda keys: keys,
    new: int = 1,
) -> Tensor:
    position = torch.tensor([keys.shape[-2]])  # (1,)
    keys = torch.cat([turn_cache(keys), turn(key, position)[..., :new, :]], dim=-2)
    values = torch.cat([values, value[..., :new, :]], dim=-2)  # (..., m + 1, v)
    return scaled_dot_product_attention(turn(query, position), keys, values)[0]


def _absorb(
    q: Tensor, C: Tensor, W_key: Tensor, W_value: Tensor, *, width: int = -1, last: bool = True
) -> Tensor:
    scale = W_key.shape[width] ** -0.5
    mixture, _ = scaled_dot_product_attention(q @ W_key.mT, C, C, scale=scale)  # (h, n, r)
    return mixture @ W_value if last else mixture


def _without_keys(function: Any, *case: Tensor) -> Any:
    """Call the function, and refuse it if it multiplies more than latents need."""
    with FlopCounterMode(display=False) as least:
        _absorb(*case)
    with FlopCounterMode(display=False) as counter:
        context = function(*case)
    if counter.get_total_flops() > least.get_total_flops():
        raise NotYet(
            "You made keys or values of all tokens. Latents are enough: move the brackets."
        )
    return context


def _merge(first: Triple, second: Triple, **slip: Callable[..., Tensor]) -> Triple:
    (s1, total1, context1), (s2, total2, context2) = first, second
    s, contexts = torch.maximum(s1, s2), torch.stack([context1, context2])  # (n,), (2, n, v)
    rescale: Any = slip.get("rescale", lambda total, old: total * (old - s).exp())
    totals = torch.stack([rescale(total1, s1), rescale(total2, s2)])  # (2, n)
    divide: Any = slip.get("share", lambda totals: totals / totals.sum(0))
    share = divide(totals)  # (2, n)
    return s, totals.sum(0), (share[..., None] * contexts).sum(0)


def _draw_block(m: int, lift: float) -> Triple:
    """Draw the scores of 7 queries and the values of m keys, and sum them up."""
    scores, value = draw(7, m) + lift, draw(m, 2)  # (7, m), (m, 2)
    s = scores.amax(dim=-1)  # (7,)
    return s, (scores - s[:, None]).exp().sum(-1), scores.softmax(-1) @ value


EXERCISES = {
    "bug-rotary": Exercise(
        right=_rotate,
        slips={
            "The angles are still those of neighbours.": {"turn": _turn_by_neighbours_angles},
            "That is the interleaved layout, and the weights were trained with halves.": {
                "turn": partial(apply_rotary, interleaved=True)
            },
            "Positions begin at 0 and ignore start.": lambda q, k, v, start: _rotate(q, k, v, 0),
        },
        praise="Each pair is rotated by one angle, so scores depend on differences of positions.",
        cases=lambda: [(*draw(3, 5, 4), 0), (*draw(3, 2, 3, 7, 10), 11)],
    ),
    "share-keys": Exercise(
        right=lambda key, h, dim=-3: key.repeat_interleave(h // key.shape[-3], dim),
        slips={
            "That is the order of repeat: use repeat_interleave.": (
                lambda key, h: torch.cat([key] * (h // key.shape[-3]), dim=-3)
            ),
            "You repeated the tokens. The axis of the heads is -3.": {"dim": -2},
            "A group has h / num_kv_heads heads.": lambda key, h: key.repeat_interleave(h, dim=-3),
        },
        praise="Neighbouring heads share, so the cache holds one key per group.",
        cases=lambda: [(draw(2, 5, 3), 6), (draw(7, 2, 5, 3), 4), (draw(5, 2, 3, 7, 11), 9)],
    ),
    "causal-window": Exercise(
        right=_window,
        slips={
            "The window is one too wide: the token itself is one of its tokens.": {"wider": 1},
            "That window is not causal.": lambda n, m, w: window_mask(n, w, m),
            "The queries are the last n of m tokens.": lambda n, m, w: _window(m, m, w)[:n],
        },
        praise="A query reads no more keys than its window holds, however long the text is.",
        cases=lambda: [(5, 5, 2), (1, 7, 3), (3, 11, 5)],
    ),
    "cached-step": Exercise(
        right=_step,
        slips={
            "The new query and key are not rotated.": {"turn": lambda x, position: x},
            "The keys of the cache were rotated already.": {"turn_cache": apply_rotary},
            "The new key and value are missing: a token may attend to itself.": {"new": 0},
        },
        praise="One query, key and value are computed, and the rest is read from the cache.",
        cases=lambda: [
            [draw(*leading, *size) for size in ((1, k), (1, k), (1, v), (m, k), (m, v))]
            for leading, m, k, v in (((), 3, 4, 5), ((2, 3), 7, 10, 11))
        ],
    ),
    "absorbed-query": Exercise(
        right=_absorb,
        slips={
            "Transpose W_key to go from keys to latents.": lambda q, C, W, V: _absorb(
                q, C, W.mT, V
            ),
            "The scale is √r, but a score is still a product of vectors of width k.": {"width": -2},
            "That is the mixture of latents, to which W_value is still to be applied.": {
                "last": False
            },
        },
        praise="The cache holds r numbers per token, and neither keys nor values are ever made.",
        # The last case lets a W_key that is not transposed pass, to be told from an error.
        cases=lambda: [
            (draw(h, n, k), draw(m, r), draw(h, r, k), draw(h, r, v))
            for h, n, m, k, r, v in (
                (2, 3, 11, 5, 7, 13),
                (3, 1, 17, 7, 5, 11),
                (2, 3, 7, 5, 5, 11),
            )
        ],
        use=_without_keys,
    ),
    "merge-blocks": Exercise(
        right=_merge,
        slips={
            "No sum is rescaled to the new highest score.": {"rescale": lambda total, old: total},
            "The contexts are not yet divided by the new sum.": {"share": lambda totals: totals},
            "exp(highest score) overflows.": {"rescale": lambda total, old: total * old.exp()},
        },
        praise="The blocks can come in any order, and no row of weights is held as a whole.",
        cases=lambda: [(_draw_block(5, up), _draw_block(3, 0)) for up in (0, 2, -3, 1000)],
    ),
}

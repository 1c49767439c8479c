"""Checkers of the exercises on the transformer block."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention.exercises.judging import Checker, judge_function, judge_number

Part = Callable[[Tensor], Tensor]

WIDTH = 32
HIDDEN = 4 * WIDTH


def count_block(answer: object) -> str:
    """Judge the number of parameters of one block."""
    heads = 4 * WIDTH * (WIDTH + 1)
    feed_forward = HIDDEN * (WIDTH + 1) + WIDTH * (HIDDEN + 1)
    norms = 2 * 2 * WIDTH
    biases = 4 * WIDTH + HIDDEN + WIDTH
    slips = {
        "Count the biases, too: each linear layer has one number per output.": (
            heads + feed_forward + norms - biases
        ),
        "Count the two norms, too: each has a scale and a shift per number of a token.": (
            heads + feed_forward
        ),
        "A block has two norms, and each has a scale and a shift per number of a token.": (
            heads + feed_forward + norms / 2
        ),
        "Do not forget W_out, which mixes the heads.": (
            heads + feed_forward + norms - WIDTH * (WIDTH + 1)
        ),
        "The heads share the width, so all of them together have d × d numbers per projection.": (
            4 * heads + feed_forward + norms
        ),
    }
    judge_number(answer, heads + feed_forward + norms, slips, tolerance=0.5)
    return "Two thirds of them belong to the feed-forward layer."


def transformer_block(answer: object) -> str:
    """Judge a function that puts the parts of a pre-norm block together."""

    def right(x: Tensor, attend: Part, feed_forward: Part, norm1: Part, norm2: Part) -> Tensor:
        x = x + attend(norm1(x))
        return x + feed_forward(norm2(x))

    def post_norm(x: Tensor, attend: Part, feed_forward: Part, norm1: Part, norm2: Part) -> Tensor:
        x = norm1(x + attend(x))
        return norm2(x + feed_forward(x))

    def rescaled(x: Tensor, attend: Part, feed_forward: Part, norm1: Part, norm2: Part) -> Tensor:
        x = norm1(x)
        x = norm2(x + attend(x))
        return x + feed_forward(x)

    def unnormalised(
        x: Tensor, attend: Part, feed_forward: Part, norm1: Part, norm2: Part
    ) -> Tensor:
        x = x + attend(norm1(x))
        return x + feed_forward(x)

    def one_norm(x: Tensor, attend: Part, feed_forward: Part, norm1: Part, norm2: Part) -> Tensor:
        x = x + attend(norm1(x))
        return x + feed_forward(norm1(x))

    slips: dict[str, Callable[..., Tensor]] = {
        "That is post-norm. In pre-norm the norm comes before each part, not after the sum.": (
            post_norm
        ),
        "The residual connections are missing: add x to what each part returns.": (
            lambda x, attend, feed_forward, norm1, norm2: feed_forward(norm2(attend(norm1(x))))
        ),
        "Your norms replace x itself, so the residual path is rescaled, too. Only the parts may "
        "read the normalised tokens.": rescaled,
        "Your feed-forward layer reads x as it was before the attention. It should read the sum.": (
            lambda x, attend, feed_forward, norm1, norm2: (
                x + attend(norm1(x)) + feed_forward(norm2(x))
            )
        ),
        "Your feed-forward layer reads tokens that are not normalised.": unnormalised,
        "The second sum adds the block's input, so what the attention returned is lost from the "
        "residual path.": (
            lambda x, attend, feed_forward, norm1, norm2: (
                x + feed_forward(norm2(x + attend(norm1(x))))
            )
        ),
        "You used norm1 twice, but each part has a norm of its own.": one_norm,
    }
    judge_function(answer, right, _blocks(), slips)
    return "Each part reads normalised tokens, and the residual path holds nothing but additions."


def _blocks() -> list[tuple[Any, ...]]:
    """Draw tokens and the four parts, which are simple, for two shapes."""
    generator = torch.Generator().manual_seed(0)

    def parts(d: int) -> tuple[Part, Part, Part, Part]:
        A, W = torch.randn(2, d, d, dtype=torch.float64, generator=generator)  # (d, d), (d, d)
        scale1, scale2 = torch.rand(2, d, dtype=torch.float64, generator=generator) + 0.5  # (d,)
        return (
            lambda x: x.mean(dim=-2, keepdim=True) @ A,
            lambda x: F.gelu(x @ W),
            lambda x: F.layer_norm(x, (d,), scale1),
            lambda x: F.layer_norm(x, (d,), scale2),
        )

    shapes = [(3, 5), (2, 7, 11)]
    drawn = [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]
    return [(x, *parts(x.shape[-1])) for x in drawn]


CHECKERS: dict[str, Checker] = {
    "count-block": count_block,
    "transformer-block": transformer_block,
}

"""Checkers of the exercises on attention as language models use it today."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attention.exercises.judging import Checker, NotYet, judge_function
from attention.functional import causal_mask, scaled_dot_product_attention, window_mask
from attention.rotary import apply_rotary

Triple = tuple[Tensor, Tensor, Tensor]


def _draw(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def bug_rotary(answer: object) -> str:
    """Judge a repaired rotation of queries and keys, whose pairs are (i, i + k/2)."""

    def rotating(
        rotate: Callable[[Tensor, Tensor], Tensor], *, parts: int = 2, shift: int = 0
    ) -> Callable[..., Triple]:
        def answer(query: Tensor, key: Tensor, value: Tensor, start: int) -> Triple:
            at = torch.arange(query.shape[-2]) + start + shift  # (n,)
            key = rotate(key, at) if parts > 1 else key
            value = rotate(value, at) if parts > 2 else value
            return rotate(query, at), key, value

        return answer

    def angles(x: Tensor, at: Tensor) -> Tensor:
        k = x.shape[-1]
        return at[:, None] * 10_000.0 ** -(torch.arange(0, k, 2) / k)  # (n, k / 2)

    def halves_with_neighbours_angles(x: Tensor, at: Tensor) -> Tensor:
        angle = angles(x, at).repeat_interleave(2, dim=-1)  # (n, k)
        a, b = x.chunk(2, dim=-1)  # (..., n, k / 2)
        return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()

    def neighbours_with_halves_angles(x: Tensor, at: Tensor) -> Tensor:
        angle = angles(x, at).repeat(1, 2)  # (n, k)
        partner = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)  # (..., n, k)
        return x * angle.cos() + partner * angle.sin()

    slips = {
        "The pairs are the halves, but the angles are still those of neighbours: numbers i and "
        "i + k/2 should share an angle.": rotating(halves_with_neighbours_angles),
        "Now the angles are those of the halves, but the pairs are neighbours.": (
            rotating(neighbours_with_halves_angles)
        ),
        "That is a correct rotation in the interleaved layout, (2i, 2i + 1), but weights trained "
        "with halves, (i, i + k/2), do not fit this layout.": rotating(
            lambda x, at: apply_rotary(x, at, interleaved=True)
        ),
        "You rotate the other way: the sign of the angle, or of the sine, is wrong.": rotating(
            lambda x, at: apply_rotary(x, -at)
        ),
        "The exponent of the base is i/k, but it should be 2i/k, so that it runs from 0 to nearly "
        "1.": rotating(lambda x, at: apply_rotary(x, at, base=100.0)),
        "The values are rotated, too. Only queries and keys, of which the scores are made, have a "
        "position.": rotating(apply_rotary, parts=3),
        "The keys are not rotated, so a score depends on the query's position alone.": rotating(
            apply_rotary, parts=1
        ),
        "Positions are off by one: the first token has position start.": rotating(
            apply_rotary, shift=1
        ),
        "Positions begin at 0 and ignore start.": lambda query, key, value, start: rotating(
            apply_rotary
        )(query, key, value, 0),
    }
    cases = [
        (*_draw(23, (5, 4), (5, 4), (5, 4)), 0),
        (*_draw(29, (2, 3, 7, 10), (2, 3, 7, 10), (2, 3, 7, 6)), 11),
    ]
    judge_function(answer, rotating(apply_rotary), cases, slips, tolerance=1e-5)
    return "Each pair is rotated by one angle, so scores depend on differences of positions."


def share_keys(answer: object) -> str:
    """Judge a function that gives each query head the key of its group."""

    def right(key: Tensor, num_heads: int) -> Tensor:
        return key.repeat_interleave(num_heads // key.shape[-3], dim=-3)

    def along(dim: int) -> Callable[[Tensor, int], Tensor]:
        return lambda key, h: key.repeat_interleave(h // key.shape[-3], dim=dim)

    def everywhere(part: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int], Tensor]:
        return lambda key, h: part(key).expand(*key.shape[:-3], h, -1, -1)

    slips = {
        "That is the order of repeat, in which the groups take turns. Neighbouring heads share: "
        "repeat_interleave.": lambda key, h: torch.cat([key] * (h // key.shape[-3]), dim=-3),
        "You averaged the keys of all groups, which leaves one key for all heads.": everywhere(
            lambda key: key.mean(dim=-3, keepdim=True)
        ),
        "All heads got the first group's key.": everywhere(lambda key: key[..., :1, :, :]),
        "You repeated the tokens. The axis of the heads is -3.": along(-2),
        "You repeated the numbers of each key. The axis of the heads is -3.": along(-1),
        "You counted the axis of the heads from the front, so it is right with one number of "
        "leading dimensions only. Count from the end: -3.": along(1),
        "You repeated the first axis, which is that of the heads only if there is no batch. Count "
        "from the end: -3.": along(0),
        "You repeated num_heads times, but a group has num_heads / num_kv_heads heads.": (
            lambda key, h: key.repeat_interleave(h, dim=-3)
        ),
        "Nothing is shared yet: there are as many keys as groups.": lambda key, h: key,
    }
    cases = [
        (each, h)
        for each, h in zip(
            _draw(31, (2, 5, 3), (7, 2, 5, 3), (5, 2, 3, 7, 11)), (6, 4, 9), strict=True
        )
    ]
    judge_function(answer, right, cases, slips)
    return "Neighbouring heads share, so the cache holds one key per group."


def causal_window(answer: object) -> str:
    """Judge a function from sizes to the mask of a causal sliding window."""

    def distance(n: int, m: int) -> Tensor:
        return torch.arange(m - n, m)[:, None] - torch.arange(m)  # (n, m), query's minus key's

    def right(n: int, m: int, window: int) -> Tensor:
        return causal_mask(n, m) & window_mask(n, window, m)

    slips = {
        "The window is one too wide: the token itself is one of its tokens.": (
            lambda n, m, window: right(n, m, window + 1)
        ),
        "The window is one too narrow: the token itself is one of its tokens, and may be attended "
        "to.": lambda n, m, window: (distance(n, m) >= 0) & (distance(n, m) < window - 1),
        "A token should be in its own window, but the mask leaves the diagonal out.": (
            lambda n, m, window: (distance(n, m) > 0) & (distance(n, m) < window)
        ),
        "The mask is a window, but not causal: it lets a token see those after it.": (
            lambda n, m, window: window_mask(n, window, m)
        ),
        "The window looks forward: it holds a token and those after it.": (
            lambda n, m, window: (distance(n, m) <= 0) & (distance(n, m) > -window)
        ),
        "The mask is causal, but there is no window: old keys are still seen.": (
            lambda n, m, window: causal_mask(n, m)
        ),
        "The mask is aligned at the top left, as if the first query were the first token. The "
        "queries are the last n of m tokens.": lambda n, m, window: right(m, m, window)[:n],
        "The mask is inverted. True means may attend.": lambda n, m, w: ~right(n, m, w),
    }
    judge_function(answer, right, [(5, 5, 2), (1, 7, 3), (3, 11, 5)], slips)
    return "A query reads no more keys than its window holds, however long the text is."


def cached_step(answer: object) -> str:
    """Judge one step of decoding with rotary positions and a cache."""

    def step(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        cached_keys: Tensor,
        cached_values: Tensor,
        *,
        at: Callable[[int], int] = lambda past: past,
        rotate_query: bool = True,
        rotate_key: bool = True,
        sees: int | None = None,
    ) -> Tensor:
        position = torch.tensor([at(cached_keys.shape[-2])])  # (1,)
        keys = torch.cat(
            [cached_keys, apply_rotary(key, position) if rotate_key else key], dim=-2
        )  # (..., m + 1, k)
        values = torch.cat([cached_values, value], dim=-2)  # (..., m + 1, v)
        query = apply_rotary(query, position) if rotate_query else query
        keys, values = keys[..., :sees, :], values[..., :sees, :]
        return scaled_dot_product_attention(query, keys, values)[0]

    def all_again(
        query: Tensor, key: Tensor, value: Tensor, cached_keys: Tensor, cached_values: Tensor
    ) -> Tensor:
        keys = apply_rotary(torch.cat([cached_keys, key], dim=-2))  # (..., m + 1, k)
        values = torch.cat([cached_values, value], dim=-2)  # (..., m + 1, v)
        at = torch.tensor([cached_keys.shape[-2]])  # (1,)
        return scaled_dot_product_attention(apply_rotary(query, at), keys, values)[0]

    def not_appended(
        query: Tensor, key: Tensor, value: Tensor, cached_keys: Tensor, cached_values: Tensor
    ) -> Tensor:
        at = torch.tensor([cached_keys.shape[-2]])  # (1,)
        return scaled_dot_product_attention(apply_rotary(query, at), cached_keys, cached_values)[0]

    slips: dict[str, Callable[..., Tensor]] = {
        "The new query and key are not rotated, or rotated as at position 0, which is the same. "
        "The new token comes after those of the cache.": (
            lambda *case: step(*case, at=lambda past: 0)
        ),
        "The position is one too large: with m tokens in the cache, the new one has position m.": (
            lambda *case: step(*case, at=lambda past: past + 1)
        ),
        "The position is one too small: with m tokens in the cache, the new one has position m.": (
            lambda *case: step(*case, at=lambda past: past - 1)
        ),
        "The keys of the cache are rotated already, and you rotated them again.": all_again,
        "The new token's key and value are missing, but a token may attend to itself.": (
            not_appended
        ),
        "The new key is not rotated, while those of the cache are.": (
            lambda *case: step(*case, rotate_key=False)
        ),
        "The new query is not rotated, while the keys are.": (
            lambda *case: step(*case, rotate_query=False)
        ),
        "is_causal aligns queries and keys at their first tokens, so the one query sees the first "
        "key only. A single new query needs no mask.": lambda *case: step(*case, sees=1),
    }
    cases: list[tuple[Tensor, ...]] = []
    for seed, leading, past, width, value_width in ((37, (), 3, 4, 5), (41, (2, 3), 7, 10, 11)):
        sizes = ((1, width), (1, width), (1, value_width), (past, width), (past, value_width))
        cases.append(tuple(_draw(seed, *((*leading, *size) for size in sizes))))
    judge_function(answer, step, cases, slips)
    return "One query, one key and one value are computed, and the rest is read from the cache."


KEYS_MADE = (
    "You made the keys of all tokens, which the latents make unnecessary. Multiply the query by "
    "the transpose of W_key instead."
)
VALUES_MADE = (
    "You made the values of all tokens, which the latents make unnecessary. Mix the latents by the "
    "weights first, and apply W_value to the mixture."
)


class _Products(TorchFunctionMode):
    """Record the size of every tensor that a torch function returns."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: set[int] = set()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        returned = func(*args, **(kwargs or {}))
        if isinstance(returned, Tensor):
            self.sizes.add(returned.numel())
        return returned


def absorbed_query(answer: object) -> str:
    """Judge attention to latents that makes neither their keys nor their values."""

    def right(query: Tensor, latent: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
        scale = query.shape[-1] ** -0.5
        absorbed = query @ W_key.mT  # (h, n, r)
        return scaled_dot_product_attention(absorbed, latent, latent, scale=scale)[0] @ W_value

    def scaled_by(scale: Callable[[int, int], float]) -> Callable[..., Tensor]:
        def answer(query: Tensor, latent: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
            (r, k) = W_key.shape[-2:]
            return right(query * k**0.5 * scale(r, k), latent, W_key, W_value)

        return answer

    def untransposed(query: Tensor, latent: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
        return right(query, latent, W_key.mT, W_value)

    def mixed_latents(query: Tensor, latent: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
        return right(query, latent, W_key, torch.eye(latent.shape[-1], dtype=latent.dtype))

    def use(function: Callable[..., Tensor], *case: Tensor) -> Tensor:
        _, latent, W_key, W_value = case
        m, (r, k), v = latent.shape[-2], W_key.shape[-2:], W_value.shape[-1]
        with _Products() as products:
            context = function(*case)
        # Sizes are different primes, so a tensor with both factors has both axes. Where k = r, the
        # latents themselves have the shape of keys.
        for width, problem in ((k, KEYS_MADE), (v, VALUES_MADE)):
            if width != r and any(size % (m * width) == 0 for size in products.sizes):
                raise NotYet(problem)
        return context

    slips: dict[str, Callable[..., Tensor]] = {
        "W_key is not transposed. It makes a key from a latent, and the query goes the other way: "
        "query @ W_key.mT.": untransposed,
        "The scale is √r, but each score is still the product of a query and a key of width k.": (
            scaled_by(lambda r, k: r**-0.5)
        ),
        "There is no scale: divide the scores by √k.": scaled_by(lambda r, k: 1.0),
        "You divided by k, but the scale is its square root.": scaled_by(lambda r, k: 1 / k),
        "That is the mixture of latents, to which W_value is still to be applied.": mixed_latents,
    }
    cases = []
    # The last case lets a W_key that is not transposed pass, so that it can be told from an error.
    for h, n, m, k, r, v in ((2, 3, 11, 5, 7, 13), (3, 1, 17, 7, 5, 11), (2, 3, 7, 5, 5, 11)):
        cases.append(tuple(_draw(43, (h, n, k), (m, r), (h, r, k), (h, r, v))))
    judge_function(answer, right, cases, slips, use=use)
    return "The cache holds r numbers per token, and neither keys nor values are ever made."


def merge_blocks(answer: object) -> str:
    """Judge a function that merges what attention found in two blocks of keys."""

    def weighted_mean(total1: Tensor, total2: Tensor, context1: Tensor, context2: Tensor) -> Tensor:
        return (total1 * context1 + total2 * context2) / (total1 + total2)

    def merging(
        highest: Callable[[Tensor, Tensor], Tensor] = torch.maximum,
        *,
        rescale_total: bool = True,
        rescale_context: bool = True,
        mix: Callable[..., Tensor] = weighted_mean,
    ) -> Callable[[Triple, Triple], Triple]:
        def answer(first: Triple, second: Triple) -> Triple:
            (s1, total1, context1), (s2, total2, context2) = first, second
            s = highest(s1, s2)  # (n,)
            true1, true2 = total1 * (s1 - s).exp(), total2 * (s2 - s).exp()  # (n,), (n,)
            by = (true1, true2) if rescale_context else (total1, total2)
            total = true1 + true2 if rescale_total else total1 + total2  # (n,)
            return s, total, mix(*(each[:, None] for each in by), context1, context2)

        return answer

    def absolute(first: Triple, second: Triple) -> Triple:
        (s1, total1, context1), (s2, total2, context2) = first, second
        true1, true2 = total1 * s1.exp(), total2 * s2.exp()  # (n,), (n,)
        context = weighted_mean(true1[:, None], true2[:, None], context1, context2)  # (n, v)
        return torch.maximum(s1, s2), true1 + true2, context

    slips = {
        "Neither the sums nor the contexts are rescaled: each sum still refers to the highest "
        "score of its own block.": merging(rescale_total=False, rescale_context=False),
        "The context is right, but the sum is not rescaled: multiply each block's sum by exp(its "
        "highest score − the new one).": merging(rescale_total=False),
        "The sum is right, but the contexts are weighted by sums that are not rescaled.": (
            merging(rescale_context=False)
        ),
        "You added the contexts. Each is a mean already, so weight them by their shares of the "
        "sum.": merging(mix=lambda total1, total2, context1, context2: context1 + context2),
        "You averaged the contexts, but the blocks have unequal shares of the sum.": merging(
            mix=lambda total1, total2, context1, context2: (context1 + context2) / 2
        ),
        "The contexts are weighted, but not yet divided by the new sum.": merging(
            mix=lambda total1, total2, context1, context2: total1 * context1 + total2 * context2
        ),
        "The shares are exchanged: each context got the share of the other.": merging(
            mix=lambda total1, total2, context1, context2: weighted_mean(
                total2, total1, context1, context2
            )
        ),
        "You took the lower of the two highest scores, with which the exponentials can overflow.": (
            merging(torch.minimum)
        ),
        "You undid the subtraction: exp(highest score) overflows where scores are large.": absolute,
    }
    cases = [(_block(47, 5, lift), _block(53, 3, 0.0)) for lift in (0.0, 2.0, -3.0, 1000.0)]
    judge_function(answer, merging(), cases, slips)
    return "The blocks can come in any order, and no row of weights is ever held as a whole."


def _block(seed: int, m: int, lift: float) -> Triple:
    """Draw scores of 7 queries and the values of m keys, and sum them up."""
    scores, value = _draw(seed, (7, m), (m, 2))  # (7, m), (m, 2)
    s = scores.amax(dim=-1) + lift  # (7,)
    return s, (scores + lift - s[:, None]).exp().sum(dim=-1), scores.softmax(dim=-1) @ value


CHECKERS: dict[str, Checker] = {
    "bug-rotary": bug_rotary,
    "share-keys": share_keys,
    "causal-window": causal_window,
    "cached-step": cached_step,
    "absorbed-query": absorbed_query,
    "merge-blocks": merge_blocks,
}

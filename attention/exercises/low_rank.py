"""Checkers of the exercises on low rank, Lab 13's own two tasks among them."""

import torch
from torch import Tensor, nn

from attention.exercises.judging import Checker, NotYet, judge_function, judge_number
from attention.layers.pooling import EnergyPooling, KeyedPooling
from attention.layers.self_attention import QKSelfAttention


def fold_keys(answer: object) -> str:
    """Judge a function that makes an EnergyPooling of the same function as a KeyedPooling."""

    def use(function: object, keyed: KeyedPooling, x: Tensor) -> tuple[Tensor, Tensor]:
        made = function(keyed)  # type: ignore[operator]  # the reader's
        if function is not right and not isinstance(made, EnergyPooling):
            raise NotYet(f"Expected an EnergyPooling back, got {type(made).__name__}.")
        context, weights = made(x, need_weights=True)
        return context.detach(), weights.detach()

    def right(keyed: KeyedPooling) -> KeyedPooling:
        return keyed

    def energy(w: Tensor) -> EnergyPooling:
        made = EnergyPooling(len(w))
        made.energy.weight.data.copy_(w)
        return made

    slips = {
        "nn.Linear stores the transpose of W_key, so w = W_key q is W_key.weight.T @ query in "
        "code.": lambda p: energy(p.W_key.weight @ p.query),
        "You left the query out, but a score needs query and key: w = W_key q.": lambda p: energy(
            p.W_key.weight.sum(0)
        ),
        "A pooling with one learned query has no scale √k here, so w needs none.": (
            lambda p: energy(p.query @ p.W_key.weight * p.key_dim**-0.5)
        ),
        "The new pooling still has its own random energy, where w = W_key q should be.": (
            lambda p: EnergyPooling(p.embed_dim)
        ),
    }
    cases = []
    for seed, (n, d, k) in enumerate(((7, 5, 5), (11, 5, 3), (5, 3, 7))):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            cases.append((KeyedPooling(d, key_dim=k), torch.randn(2, n, d)))
    judge_function(answer, right, cases, slips, tolerance=1e-5, use=use)
    return "The keys are gone and no weight has changed, so they were redundant."


def largest_saving_width(answer: object) -> str:
    """Judge the largest k at which a pair is cheaper than a free matrix, for d = 48."""
    slips = {
        "At k = d/2 the pair has 2dk = d² numbers, so it saves nothing yet.": 24,
        "There are two matrices, so the pair has 2dk numbers.": 47,
        "At k = d the pair has twice the numbers of a free matrix of shape (d, d).": 48,
        "With k = 1 the pair is cheaper, but that is not the largest such k.": 1,
        "At k = d/4 the pair still saves half of the numbers, so k may be larger.": 12,
    }
    judge_number(answer, 23, slips)
    return "The pair holds 2 · 48 · 23 numbers, which is 96 fewer than 48 · 48."


def other_pair(answer: object) -> str:
    """Judge a function that writes query and key matrix in other coordinates."""

    def right(W_query: Tensor, W_key: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
        return W_query @ R, W_key @ torch.linalg.inv(R).T

    slips = {
        "The keys were changed like the queries. To keep the product, they need R⁻ᵀ.": (
            lambda Q, K, R: (Q @ R, K @ R)
        ),
        "The inverse is there, but its transpose is not: the product has R R⁻ᵀ in the middle.": (
            lambda Q, K, R: (Q @ R, K @ torch.linalg.inv(R))
        ),
        "A transpose is not an inverse: the product has R R in the middle. The keys need R⁻ᵀ.": (
            lambda Q, K, R: (Q @ R, K @ R.T)
        ),
        "The product is the same because nothing has changed, but the new W_query should be "
        "W_query R.": lambda Q, K, R: (Q, K),
        "Queries and keys are exchanged, but the new W_query should be W_query R.": (
            lambda Q, K, R: (Q @ torch.linalg.inv(R).T, K @ R)
        ),
    }
    g = torch.Generator().manual_seed(23)
    cases = []
    for d, k in ((5, 2), (7, 3), (5, 5)):
        Q, K = torch.randn(2, d, k, generator=g, dtype=torch.float64)  # (d, k), (d, k)
        R = torch.randn(k, k, generator=g, dtype=torch.float64) + 2 * torch.eye(k)  # (k, k)
        cases.append((Q, K, R))
    judge_function(answer, right, cases, slips)
    return "The entries of both matrices are new, and the product W_query W_keyᵀ is what it was."


def drop_dead_bias(answer: object) -> str:
    """Judge a function that sets those biases to zero that no weight depends on."""

    def use(function: object, layer: QKSelfAttention, x: Tensor) -> tuple[Tensor, Tensor]:
        made = function(layer)  # type: ignore[operator]  # the reader's
        if not isinstance(made, QKSelfAttention):
            raise NotYet(f"Expected the layer back, got {type(made).__name__}.")
        _, weights = made(x, need_weights=True)
        bias = torch.zeros(made.key_dim) if made.W_key.bias is None else made.W_key.bias
        return weights.detach(), bias.detach()

    def zeroed(layer: QKSelfAttention, *names: str) -> QKSelfAttention:
        for name in names:
            nn.init.zeros_(layer.get_parameter(name))
        return layer

    slips = {
        "No attention weight has changed, but the dead bias is still there.": lambda layer: layer,
        "The weights have changed, because the query bias favours some keys whichever token asks. "
        "The other bias is the dead one.": lambda layer: zeroed(layer, "W_query.bias"),
        "The weights have changed, because one of the two biases was alive: the one that meets "
        "the key of token j.": lambda layer: zeroed(layer, "W_query.bias", "W_key.bias"),
        "You also changed a matrix, which the weights need. The question is about the biases.": (
            lambda layer: zeroed(layer, "W_key.weight", "W_key.bias")
        ),
    }
    cases = []
    for seed, (d, k) in enumerate(((5, 3), (7, 2))):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layer = QKSelfAttention(d, key_dim=k, bias=True)
            for linear in (layer.W_query, layer.W_key):
                nn.init.normal_(linear.bias, std=3)
            cases.append((layer, torch.randn(2, 11, d)))
    judge_function(
        answer, lambda layer: zeroed(layer, "W_key.bias"), cases, slips, tolerance=1e-5, use=use
    )
    return "The key bias is gone, and no attention weight has changed."


def nearest_of_rank(answer: object) -> str:
    """Judge a function that truncates a matrix to the nearest one of rank r."""

    def cut(M: Tensor, r: int, *, first: bool = True, sigma: bool = True) -> Tensor:
        U, s, Vh = torch.linalg.svd(M, full_matrices=False)  # (a, c), (c,), (c, b)
        if not first:
            U, s, Vh = U.flip(1), s.flip(0), Vh.flip(0)
        kept: Tensor = (U[:, :r] * (s[:r] if sigma else 1)) @ Vh[:r]  # (a, b)
        return kept

    def corner(M: Tensor, r: int) -> Tensor:
        kept = torch.zeros_like(M)
        kept[:r] = M[:r]
        return kept

    slips = {
        "You kept the smallest singular values, but the largest carry most of the matrix.": (
            lambda M, r: cut(M, r, first=False)
        ),
        "The singular values are missing between U and Vᵀ.": lambda M, r: cut(M, r, sigma=False),
        "You kept r rows of M, which is a matrix of rank r but not the nearest one.": corner,
        "torch.linalg.svd gives Vᵀ, not V, so take its first r rows.": (
            lambda M, r: (lambda U, s, Vh: (U[:, :r] * s[:r]) @ Vh[:, :r].T)(
                *torch.linalg.svd(M, full_matrices=False)
            )
        ),
        "You kept one singular value too few.": lambda M, r: cut(M, r - 1),
        "You kept one singular value too many.": lambda M, r: cut(M, r + 1),
        "Nothing was truncated: this is M itself.": lambda M, r: M,
    }
    g = torch.Generator().manual_seed(29)
    cases = [
        (torch.randn(*shape, generator=g, dtype=torch.float64), r)
        for shape, r in (((5, 5), 2), ((7, 7), 3), ((11, 11), 1))
    ]
    judge_function(answer, cut, cases, slips)
    return "No matrix of rank r is nearer to M."


class _Queries(nn.Module):
    """The layer of the second task, with one slip at a time on request."""

    def __init__(self, embed_dim: int, key_dim: int, slip: str) -> None:
        super().__init__()
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)
        self.slip = slip

    def forward(self, x: Tensor) -> Tensor:
        query, key = self.W_query(x), self.W_key(x)  # (..., n, k), (..., n, k)
        if self.slip == "one matrix":
            query = key
        if self.slip == "exchanged":
            query, key = key, query
        width = {"no scale": 1, "divided by k": key.shape[-1] ** 2, "by d": x.shape[-1]}
        scores = query @ (key.T if self.slip == ".T" else key.mT)  # (..., n, n)
        scores = scores / width.get(self.slip, key.shape[-1]) ** 0.5  # (..., n, n)
        weights = torch.softmax(scores, dim=-2 if self.slip == "queries" else -1)
        if self.slip == "weights":
            return weights
        context = weights @ (key if self.slip == "keys" else x)  # (..., n, d)
        return context.mean(-2) if self.slip == "pooled" else context


def add_queries(answer: object) -> str:
    """Judge a module in which every token has a query of its own."""

    def use(cls: type[nn.Module], d: int, k: int, x: Tensor) -> Tensor:
        layer = cls(d, k)
        g = torch.Generator().manual_seed(31)
        for name in ("W_query", "W_key"):
            linear = getattr(layer, name, None)
            if not isinstance(linear, nn.Linear):
                raise NotYet(f"Expected self.{name} to be an nn.Linear.")
            if linear.bias is not None:
                raise NotYet(f"self.{name} has a bias. Make it without: bias=False.")
            if linear.weight.shape != (k, d):
                raise NotYet(
                    f"self.{name} should map embed_dim to key_dim: expected a weight of shape "
                    f"{(k, d)}, got {tuple(linear.weight.shape)}."
                )
            linear.weight.data.copy_(2 * torch.randn(k, d, generator=g))
        return layer(x).detach()  # type: ignore[no-any-return]  # a layer's

    slips = {
        "There is no scale: divide the scores by √k.": "no scale",
        "You divided by k, but the scale is its square root.": "divided by k",
        "You scaled by the width d of the tokens. Take k, the width of the keys, instead.": "by d",
        "The softmax runs over the queries, but each row should sum to 1, with dim=-1.": "queries",
        "One text is right, but on a batch .T reverses all dimensions, so use .mT.": ".T",
        "Queries and keys come from one matrix, but each should have its own.": "one matrix",
        "Queries and keys are exchanged, so each row of scores belongs to a key.": "exchanged",
        "That mixes the keys, but in this task the tokens themselves are mixed.": "keys",
        "Those are the weights, and the tokens are still to be mixed by them.": "weights",
        "That is one vector for the text, but each token should get its own context.": "pooled",
    }
    if not (isinstance(answer, type) and issubclass(answer, nn.Module)):
        raise NotYet("Expected a class, a subclass of torch.nn.Module, and not an object of it.")
    g = torch.Generator().manual_seed(37)
    cases = [
        (d, k, torch.randn(*shape, d, generator=g))
        for shape, d, k in (((5,), 3, 2), ((2, 7), 5, 3), ((3, 3), 3, 3))
    ]
    judge_function(
        answer,
        lambda d, k: QKSelfAttention(d, key_dim=k),
        cases,
        {m: lambda d, k, slip=slip: _Queries(d, k, slip) for m, slip in slips.items()},
        tolerance=1e-5,
        use=use,
    )
    return "Every token has a query of its own. This is QKSelfAttention."


CHECKERS: dict[str, Checker] = {
    "fold-keys": fold_keys,
    "largest-saving-width": largest_saving_width,
    "other-pair": other_pair,
    "drop-dead-bias": drop_dead_bias,
    "nearest-of-rank": nearest_of_rank,
    "add-queries": add_queries,
}

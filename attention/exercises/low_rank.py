"""Exercises on low rank, Lab 13's own two tasks among them."""

from typing import Any

import torch
from torch import Tensor, nn

from attention.exercises.judging import Exercise, NotYet, draw, use_layer
from attention.exercises.sentence import weigh
from attention.layers.pooling import EnergyPooling, KeyedPooling
from attention.layers.self_attention import QKSelfAttention


def _energy(w: Tensor) -> EnergyPooling:
    pooling = EnergyPooling(len(w))
    pooling.energy.weight.data.copy_(w)
    return pooling


def _zero(layer: QKSelfAttention, names: tuple[str, ...] = ("W_key.bias",)) -> QKSelfAttention:
    for name in names:
        nn.init.zeros_(layer.get_parameter(name))
    return layer


def _draw_biased(d: int, k: int) -> tuple[QKSelfAttention, Tensor]:
    layer = QKSelfAttention(d, key_dim=k, bias=True)
    for linear in (layer.W_query, layer.W_key):
        nn.init.normal_(linear.bias, std=3)
    return layer, torch.randn(2, 11, d)


def _weights_and_bias(layer: QKSelfAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    _, weights = layer(x, need_weights=True)
    bias = layer.W_key.bias
    return weights, torch.zeros(layer.key_dim) if bias is None else bias


def _truncate(M: Tensor, r: int, power: int = 1, turn: bool = False) -> Any:
    U, sigma, Vh = torch.linalg.svd(M)  # (d, d), (d,), (d, d)
    return U[:, :r] * sigma[:r] ** power @ (Vh.T if turn else Vh)[:r]  # (d, d)


class _Queries(nn.Module):
    def __init__(self, embed_dim: int, key_dim: int, **slip: Any) -> None:
        super().__init__()
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)
        self.slip = slip

    def forward(self, x: Tensor) -> Any:
        return weigh(self.W_query(x), self.W_key(x), **self.slip) @ x  # (..., n, d)


def _with_matrices(make: Any, x: Tensor, W_query: Tensor, W_key: Tensor) -> Any:
    layer = make(x.shape[-1], len(W_key))
    for name, W in (("W_query", W_query), ("W_key", W_key)):
        linear = getattr(layer, name, None)
        parameters = dict(linear.named_parameters()) if isinstance(linear, nn.Linear) else {}
        if {key: value.shape for key, value in parameters.items()} != {"weight": W.shape}:
            raise NotYet(f"Expected self.{name} = nn.Linear(embed_dim, key_dim, bias=False).")
        parameters["weight"].data.copy_(W)
    return layer(x)


EXERCISES = {
    "fold-keys": Exercise(
        right=lambda p: _energy(p.query @ p.W_key.weight),
        slips={
            "w is W_key.weight.T @ query in code.": lambda p: _energy(p.W_key.weight @ p.query),
            "A pooling with one learned query has no scale √k here, so w needs none.": (
                lambda p: _energy(p.query @ p.W_key.weight / p.key_dim**0.5)
            ),
            "It still has its own random energy.": lambda p: EnergyPooling(p.embed_dim),
        },
        praise="The keys are gone and no weight has changed, so they were redundant.",
        cases=lambda: [(KeyedPooling(5, key_dim=k), torch.randn(2, 7, 5)) for k in (5, 3, 7)],
        use=use_layer(EnergyPooling, lambda pooling, x: pooling(x, need_weights=True)),
    ),
    "other-pair": Exercise(
        right=lambda Q, K, R: (Q @ R, K @ R.inverse().T),
        slips={
            "You changed the keys like the queries. They need R⁻ᵀ.": lambda Q, K, R: (Q @ R, K @ R),
            "The inverse is still to be transposed.": lambda Q, K, R: (Q @ R, K @ R.inverse()),
            "A transpose is not an inverse: the keys need R⁻ᵀ.": lambda Q, K, R: (Q @ R, K @ R.T),
        },
        praise="The entries of both matrices are new, and W_query W_keyᵀ is what it was.",
        cases=lambda: [(*draw(2, d, k), draw(k, k)) for d, k in ((5, 2), (7, 3), (5, 5))],
    ),
    "drop-dead-bias": Exercise(
        right=_zero,
        slips={
            "No attention weight has changed, but the dead bias is still there.": {"names": ()},
            "The other bias is the dead one.": {"names": ("W_query.bias",)},
            "One of the two was alive.": {"names": ("W_query.bias", "W_key.bias")},
        },
        praise="The key bias is gone, and no attention weight has changed.",
        cases=lambda: [_draw_biased(5, 3), _draw_biased(7, 2)],
        use=use_layer(QKSelfAttention, _weights_and_bias),
    ),
    "nearest-of-rank": Exercise(
        right=_truncate,
        slips={
            "You kept the smallest singular values.": lambda M, r: M - _truncate(M, len(M) - r),
            "The singular values are missing between U and Vᵀ.": {"power": 0},
            "torch.linalg.svd gives Vᵀ, not V, so take its first r rows.": {"turn": True},
        },
        praise="No matrix of rank r is nearer to M.",
        cases=lambda: [(draw(d, d), r) for d, r in ((5, 2), (7, 3), (11, 1))],
    ),
    "add-queries": Exercise(
        right=_Queries,
        slips={
            "There is no scale: divide the scores by √k.": {"power": 0},
            "The softmax runs over the queries, but each row should sum to 1: dim=-1.": {"dim": -2},
            "On a batch .T reverses all dimensions: use .mT.": {"turn": "T"},
        },
        praise="Every token has a query of its own. This is QKSelfAttention.",
        cases=lambda: [
            (torch.randn(*shape, d), *torch.randn(2, k, d) * 2)
            for shape, d, k in (((5,), 3, 2), ((2, 7), 5, 3), ((3, 3), 3, 3))
        ],
        use=_with_matrices,
    ),
}

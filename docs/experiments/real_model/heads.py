"""The matrices of one head and how to truncate them, with k × k matrices in float64."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from attention import MultiHeadAttention
from attention.pretrained import PretrainedEncoder


@dataclass
class Head:
    """The matrices of one head as the equations have them: a token is a row, x W + b."""

    query: Tensor  # (d, k)
    key: Tensor  # (d, k)
    value: Tensor  # (d, k)
    out: Tensor  # (k, d)
    query_bias: Tensor  # (k,)
    key_bias: Tensor  # (k,)


def heads_of(layer: MultiHeadAttention) -> list[Head]:
    """Split a layer into its heads."""

    def split(weight: Tensor) -> Iterator[Tensor]:
        return iter(weight.detach().double().unflatten(0, (layer.num_heads, -1)))  # (k, …) each

    parts = zip(
        split(layer.W_query.weight),
        split(layer.W_key.weight),
        split(layer.W_value.weight),
        split(layer.W_out.weight.T),
        split(layer.W_query.bias),
        split(layer.W_key.bias),
        strict=True,
    )
    return [Head(q.T, k.T, v.T, out, b, c) for q, k, v, out, b, c in parts]


def product_spectrum(left: Tensor, right: Tensor) -> Tensor:
    """Return the k singular values of left @ right.T, for two (d, k) matrices, without d × d."""
    triangles = [torch.linalg.qr(matrix).R for matrix in (left, right)]  # (k, k) each
    sigma: Tensor = torch.linalg.svdvals(triangles[0] @ triangles[1].T)  # (k,)
    return sigma


def root(gram: Tensor) -> Tensor:
    """Return the symmetric square root of a positive semidefinite matrix."""
    values, vectors = torch.linalg.eigh(gram)  # (k,), (k, k)
    result: Tensor = vectors * values.clamp(min=0).sqrt() @ vectors.T  # (k, k)
    return result


def weighted_spectrum(queries: Tensor, keys: Tensor) -> Tensor:
    """Return the singular values of C_q^½ M C_k^½ from the covariances of queries and keys.

    With Σ_q = W_queryᵀ C_q W_query, and Σ_k likewise, they are those of Σ_q^½ Σ_k^½: k × k.
    """
    sigma: Tensor = torch.linalg.svdvals(root(queries) @ root(keys))  # (k,)
    return sigma


def truncation(queries: Tensor, keys: Tensor, r: int) -> tuple[Tensor, Tensor]:
    """Return A and B, (k, r) each, so that q A (key B)ᵀ is the best approximation of rank r.

    It is the nearest to q · key in the norm of the two (k, k) matrices. With W_queryᵀ W_query and
    W_keyᵀ W_key it is the truncated singular value decomposition of M, and with the covariances of
    queries and keys that of C_q^½ M C_k^½, transformed back.
    """
    left, right = root(queries), root(keys)  # (k, k), (k, k)
    U, sigma, Vh = torch.linalg.svd(left @ right)  # (k, k), (k,), (k, k)
    kept = sigma[:r].sqrt()  # (r,)
    return torch.linalg.solve(left, U[:, :r] * kept), torch.linalg.solve(right, Vh[:r].T * kept)


def truncated_pair(
    head: Head, queries: Tensor, keys: Tensor, whole: Tensor, r: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return new W_query, W_key and query bias, (d, k), (d, k), (k,), for scores of rank r.

    ``whole`` is a query whose scores are kept exactly. It is the same for all queries, so it needs
    one more column but no rank. The key bias is dropped, which changes no weight.
    """
    k = head.query.shape[1]
    A, B = truncation(queries, keys, r)  # (k, r), (k, r)
    new_query, new_key, bias = (torch.zeros_like(t) for t in (head.query, head.key, whole))
    if r == k:  # nothing is truncated, so nothing has to be kept separately
        return head.query.clone(), head.key.clone(), head.query_bias.clone()
    new_query[:, :r], new_key[:, :r] = head.query @ A, head.key @ B
    bias[:r] = (head.query_bias - whole) @ A
    new_key[:, r], bias[r] = head.key @ whole, 1
    return new_query, new_key, bias


def replace_head(layer: MultiHeadAttention, h: int, pair: tuple[Tensor, Tensor, Tensor]) -> None:
    """Write a truncated pair into a layer, in place."""
    k = layer.head_dim
    rows = slice(h * k, (h + 1) * k)
    query, key, bias = pair
    with torch.no_grad():
        layer.W_query.weight[rows] = query.T.to(layer.W_query.weight)
        layer.W_key.weight[rows] = key.T.to(layer.W_key.weight)
        layer.W_query.bias[rows] = bias.to(layer.W_query.bias)
        layer.W_key.bias[rows] = 0


def effective_rank(sigma: Tensor) -> float:
    """Return exp of the entropy of σ / Σσ (Roy and Vetterli, 2007)."""
    return float(torch.special.entr(sigma / sigma.sum()).sum().exp())


def directions(sigma: Tensor, share: float = 0.9) -> int:
    """Count the largest singular values whose squares make up a share of all squares."""
    energy = sigma.square().cumsum(0) / sigma.square().sum()  # (k,)
    return int((energy < share).sum()) + 1


def attentions(encoder: PretrainedEncoder) -> list[MultiHeadAttention]:
    """List the attention layers of an encoder, first to last."""
    return [part for part in encoder.modules() if isinstance(part, MultiHeadAttention)]

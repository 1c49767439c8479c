r"""The low-rank product of query and key matrix, and what can be changed without changing scores.

The score of query i with key j is :math:`x_i W_\mathrm{query} W_\mathrm{key}^\top x_j^\top /
\sqrt{k}`. Scores depend on the two matrices only through their product, so the product is what
these functions read, truncate and factor anew. They compute in float64 on the CPU, whatever the
layer's dtype and device, and what they return is detached from the graph.

A function that takes a :class:`Layer` takes a :class:`~attention.SelfAttentionV1`, a
:class:`~attention.QKSelfAttention` or one of its subclasses, which have one head, and returns a new
layer of the same kind. It raises a TypeError for any other, and a ValueError for one with biases.
"""

import copy
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attention._checks import check_floating, check_size
from attention.layers.base import matrix_of
from attention.layers.multihead import MultiHeadAttention
from attention.layers.self_attention import QKSelfAttention, SelfAttentionV1
from attention.layers.variants import VARIANTS, readers, refusal

Layer = TypeVar("Layer", SelfAttentionV1, QKSelfAttention)


def bilinear_form(layer: nn.Module) -> Tensor:
    r"""Multiply query and key matrix into the one matrix on which the scores depend.

    .. math:: M = W_\mathrm{query} W_\mathrm{key}^\top, \qquad
        \mathrm{scores}_{ij} = \frac{x_i M x_j^\top}{\sqrt{k}}

    M includes neither biases nor the scale, which is :math:`1/\sqrt{k}` or the layer's own. A query
    bias b adds :math:`b W_\mathrm{key}^\top x_j^\top` to the scores of key j; what a key bias adds
    is the same for every key of a query and cancels in the softmax. With rotary positions or
    normalised queries and keys, the scores are not a bilinear form of the tokens.

    Args:
        layer: A :class:`~attention.analysis.low_rank.Layer`, which may have biases, or a
            :class:`~attention.MultiHeadAttention`.

    Shape:
        - returns: :math:`(d, d)`; for several heads :math:`(h, d, d)`, one matrix per head

    Returns:
        The matrix M, of rank at most k, in the layer's dtype.

    Example:
        >>> from attention import QKSelfAttention
        >>> layer = QKSelfAttention(5, key_dim=2)
        >>> M = bilinear_form(layer)
        >>> M.shape, torch.linalg.matrix_rank(M).item()
        (torch.Size([5, 5]), 2)

    Source:
        Lab 13 (Nowakowski, 2024); Elhage et al. (2021), A mathematical framework for transformer
        circuits, call it the QK circuit.
    """
    query, key = _matrices(layer, MultiHeadAttention)
    if isinstance(layer, MultiHeadAttention):  # (d, h k), (d, num_kv_heads k)
        query = query.unflatten(1, (layer.num_heads, -1)).transpose(0, 1)  # (h, d, k)
        key = key.unflatten(1, (layer.num_kv_heads, -1)).transpose(0, 1)  # (num_kv_heads, d, k)
        group = layer.num_heads // layer.num_kv_heads
        key = key.repeat_interleave(group, dim=0)  # (h, d, k)
    form: Tensor = query @ key.mT  # (d, d) or (h, d, d)
    return form.to(next(layer.parameters()))


def effective_rank(matrix: Tensor) -> Tensor:
    r"""Compute the effective rank, which weights each direction by its share of the spectrum.

    .. math::
        p_i = \frac{\sigma_i}{\sum_j \sigma_j}, \qquad
        \mathrm{erank} = \exp\Big(-\sum_i p_i \ln p_i\Big)

    The singular values :math:`\sigma_i` are the spectrum of the matrix. The effective rank is a
    rank without a threshold: it is r for r equal singular values, and approaches 1 as one of them
    outgrows the others.

    Args:
        matrix: Any matrix, or a stack of them.

    Shape:
        - matrix: :math:`(..., a, b)`
        - returns: :math:`(...)`, each from 1 to :math:`\min(a, b)`

    Raises:
        TypeError: If ``matrix`` is not a floating-point tensor.
        ValueError: If it has fewer than two dimensions, is not finite, or contains a matrix of
            zeros, which has no effective rank.

    Example:
        >>> effective_rank(torch.diag(torch.tensor([2.0, 2.0, 2.0, 0.0])))
        tensor(3.)

    Source:
        Roy and Vetterli (2007), The effective rank: a measure of effective dimensionality,
        EUSIPCO.
    """
    check_floating("matrix", matrix)
    if matrix.dim() < 2:
        raise ValueError(f"matrix: expected a matrix, got shape {tuple(matrix.shape)}")
    if not bool(matrix.isfinite().all()):
        raise ValueError("matrix: expected finite numbers, got some that are not")
    sigma = torch.linalg.svdvals(_wide(matrix))  # (..., min(a, b))
    total = sigma.sum(dim=-1, keepdim=True)  # (..., 1)
    if bool((total == 0).any()):
        raise ValueError("matrix: expected one that is not zero everywhere, got zeros")
    entropy: Tensor = torch.special.entr(sigma / total).sum(dim=-1)  # (...)
    return entropy.exp().to(matrix)


def balance(layer: Layer) -> Layer:
    r"""Replace the query and the key matrix by a pair with the same product and equal norms.

    .. math::
        M = U \Sigma V^\top, \qquad
        W_\mathrm{query}' = U \Sigma^{1/2}, \qquad W_\mathrm{key}' = V \Sigma^{1/2}

    Then :math:`W_\mathrm{query}'^\top W_\mathrm{query}' = W_\mathrm{key}'^\top W_\mathrm{key}'
    = \Sigma`, so the columns are orthogonal, ordered by length, and as long in the query matrix as
    in the key matrix. Among all pairs with product M this one has the smallest sum of squares,
    which is :math:`2 \lVert M \rVert_*`, twice the nuclear norm.

    Example:
        >>> from attention import SelfAttentionV1
        >>> layer = balance(SelfAttentionV1(5, 2))
        >>> Q, K = layer.W_query, layer.W_key
        >>> torch.allclose(Q.T @ Q, K.T @ K, atol=1e-5)
        True

    Source:
        Srebro, Rennie and Jaakkola (2004), Maximum-margin matrix factorization, for the smallest
        sum of squares.
    """
    query, key = _matrices(layer)
    U, root, V = _roots(query, key)
    return _rebuild(layer, U * root, V * root)


def truncate_rank(layer: Layer, r: int) -> Layer:
    r"""Replace the product of query and key matrix with the nearest matrix of rank r.

    .. math::
        M_r = \sum_{i=1}^{r} \sigma_i u_i v_i^\top, \qquad
        \lVert M - M_r \rVert_F^2 = \sum_{i>r} \sigma_i^2

    The new layer keeps its ``key_dim`` k, and with it the scale :math:`1/\sqrt{k}`; the columns
    it no longer needs are zero. With r = k it is a copy.

    Args:
        layer: A layer with one head.
        r: The rank to keep. With 0, the scores are the same for every query.

    Raises:
        TypeError: If r is not an integer.
        ValueError: If r is not in 0 … min(d, k).

    Example:
        >>> from attention import QKSelfAttention
        >>> from attention.analysis import bilinear_form
        >>> layer = truncate_rank(QKSelfAttention(7, key_dim=5), 2)
        >>> torch.linalg.matrix_rank(bilinear_form(layer)).item(), layer.key_dim
        (2, 5)

    Source:
        Eckart and Young (1936), The approximation of one matrix by another of lower rank,
        Psychometrika 1, 211–218.
    """
    query, key = _matrices(layer)
    d, k = query.shape
    r = check_size("r", r, at_least=0)
    if r > min(d, k):
        raise ValueError(f"r: expected 0 to min(embed_dim, key_dim) = {min(d, k)}, got {r}")
    if r == k:
        return copy.deepcopy(layer)
    U, root, V = (kept[..., :r] for kept in _roots(query, key))  # (d, r), (r,), (d, r)
    return _rebuild(layer, U * root, V * root)


def parameter_count(kind: str, embed_dim: int, **options: Any) -> int:
    r"""Count the parameters of a variant of attention, without biases.

    .. math::
        \text{mean: } 0, \quad \text{energy: } d, \quad \text{keys: } dk + k, \quad
        \text{qk: } 2dk, \quad \text{qkv: } 2dk + d^2, \quad
        \text{multihead: } 2d^2 (1 + g/h), \quad \text{latent: } 2d^2 + 3dr, \quad
        \text{transformer: } L (2d^2 (1 + g/h) + 8 d^2 + 2d) + d

    Args:
        kind: One of :data:`attention.layers.variants.VARIANTS`.
        embed_dim: Width ``d`` of a token vector.
        options: The options of this variant, such as k = ``key_dim``; others are refused.
            ``"qkv"`` has values of width d unless ``value_dim`` is given. In ``"multihead"``,
            h = ``num_heads`` heads share g = ``num_kv_heads`` keys and values. ``"latent"`` makes
            keys and values from a vector of width r = ``latent_dim``. ``"transformer"`` has
            L = ``num_layers`` blocks, including their feed-forward layers and norms.

    Raises:
        TypeError: If a width is not an integer.
        ValueError: If a width < 1, there is no such variant, or it does not read an option.

    Example:
        >>> parameter_count("energy", 16)
        16
        >>> [parameter_count(kind, 16, key_dim=8) for kind in ("keys", "qk", "qkv")]
        [136, 256, 512]
    """
    if kind not in VARIANTS:
        raise ValueError(f"kind: expected one of {', '.join(VARIANTS)}, got {kind!r}")
    for option in options.keys() - VARIANTS[kind].options.keys():
        raise ValueError(refusal(option, kind, readers(option)))
    with torch.device("meta"):  # shapes without memory
        layer = VARIANTS[kind].build(embed_dim, **options)
    return sum(weights.numel() for weights in layer.parameters())


def _wide(tensor: Tensor) -> Tensor:
    # On the CPU, because not every accelerator has float64.
    return tensor.detach().cpu().double()


def _matrices(layer: Any, *others: type[nn.Module]) -> tuple[Tensor, Tensor]:
    """Read W_query and W_key as the equations have them, (d, k) each; of one head, or of others."""
    if isinstance(layer, SelfAttentionV1):
        return _wide(layer.W_query), _wide(layer.W_key)
    read: bool = isinstance(layer, (QKSelfAttention, *others))
    if not read:
        raise TypeError(
            "layer: expected SelfAttentionV1, QKSelfAttention or one of its subclasses, "
            f"got {type(layer).__name__}"
        )
    linears, like = (layer.W_query, layer.W_key), next(layer.parameters())
    query, key = (matrix_of(linear, layer.embed_dim, like, bias=True) for linear in linears)
    return _wide(query), _wide(key)


def _roots(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split the product into U (d, r), the roots of its r singular values, and V (d, r)."""
    d, k = query.shape
    U, sigma, Vh = torch.linalg.svd(query @ key.T)
    # The rank is at most k; below that, whatever rounding could have caused counts as zero.
    r = int((sigma[:k] > sigma[0] * d * torch.finfo(sigma.dtype).eps).sum())
    return U[:, :r], sigma[:r].sqrt(), Vh[:r].T


def _rebuild(layer: Layer, query: Tensor, key: Tensor) -> Layer:
    """Copy the layer with other query and key matrices, padded with columns of zeros."""
    if isinstance(layer, QKSelfAttention) and getattr(layer.W_query, "bias", None) is not None:
        raise ValueError(
            f"layer: expected one without biases, got {type(layer).__name__} with them"
        )
    layer = copy.deepcopy(layer)
    for linear, matrix in ((layer.W_query, query), (layer.W_key, key)):
        is_linear = type(linear) is nn.Linear
        stored = getattr(linear, "weight", None) if is_linear else linear
        if not isinstance(stored, nn.Parameter):  # what computes it would overwrite what is written
            name = type(linear).__name__
            raise TypeError(f"layer: expected matrices that are parameters, got a {name}")
        new = stored.data.T if is_linear else stored.data  # (d, k)
        new.zero_()[:, : matrix.shape[1]] = matrix
    return layer

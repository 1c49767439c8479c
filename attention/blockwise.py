"""Attention block by block with an online softmax, which never holds the matrix of weights.

Shapes use the letters of :mod:`attention.functional`.
"""

import torch
from torch import Tensor

from attention._checks import check_attention_inputs, check_size
from attention.functional import without_autocast
from attention.masks import allowed_keys, restrict


def online_softmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    block_size: int = 64,
) -> Tensor:
    r"""Compute attention in one pass over blocks of keys, without an (n, m) matrix of weights.

    .. math::
        \mathrm{largest}'_i &= \max(\mathrm{largest}_i,\ \max_j s_{ij}) \\
        \mathrm{total}'_i &= e^{\mathrm{largest}_i - \mathrm{largest}'_i}\, \mathrm{total}_i
            + \sum_j e^{s_{ij} - \mathrm{largest}'_i} \\
        \mathrm{mixed}'_i &= e^{\mathrm{largest}_i - \mathrm{largest}'_i}\, \mathrm{mixed}_i
            + \sum_j e^{s_{ij} - \mathrm{largest}'_i}\, V_j

    Here :math:`s_{ij}` is the scaled score of query i and key j, and j runs over the keys of one
    block. Each query keeps three results from block to block, and a prime marks them after the
    block: its largest score so far, the total of the exponentials, and the sum of the values
    weighted by these exponentials. After the last block,
    :math:`\mathrm{mixed}_i / \mathrm{total}_i` is the context of query i, the same as that of
    :func:`scaled_dot_product_attention`. Masks, queries that may attend to nothing, and inputs of
    16 bits are also treated as they are there.

    This saves memory only if no gradients are needed. Otherwise, autograd keeps the exponentials of
    every block, which are n · m numbers again.

    Arguments, shapes and errors are those of :func:`scaled_dot_product_attention`;
    ``block_size``, at least 1, is how many keys are read at once.

    Returns:
        The context, without the weights.

    Example:
        >>> from attention import scaled_dot_product_attention
        >>> query, key, value = torch.rand(3, 5, 2)
        >>> context, _ = scaled_dot_product_attention(query, key, value)
        >>> torch.allclose(context, online_softmax_attention(query, key, value, block_size=2))
        True

    Source:
        Milakov and Gimelshein (2018), Online normalizer calculation for softmax, algorithm 3; Rabe
        and Staats (2021), Self-attention does not need O(n²) memory; Dao et al. (2022),
        FlashAttention, algorithm 1.
    """
    scale = check_attention_inputs(query, key, value, attn_mask, scale, is_causal)
    block_size = check_size("block_size", block_size)
    dtype = query.dtype
    wide = torch.promote_types(dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    (n, k), (m, v) = query.shape[-2:], value.shape[-2:]
    scale = k**-0.5 if scale is None else scale
    at = torch.arange(m, device=query.device)  # (m,)
    if attn_mask is not None:  # a view, so that one column which serves all keys can be cut, too
        attn_mask = attn_mask.expand(torch.broadcast_shapes(attn_mask.shape, (m,)))  # (..., m)

    # The lowest finite number and not −∞, because −∞ minus itself would be NaN.
    largest = query.new_full((n, 1), torch.finfo(wide).min)  # (n, 1)
    total, mixed = query.new_zeros(n, 1), query.new_zeros(n, v)  # (n, 1), (n, v)
    with without_autocast(query.device):
        for start in range(0, max(m, 1), block_size):  # one block even of no keys, for autograd
            block = slice(start, start + block_size)
            scores = query @ key[..., block, :].mT * scale  # (..., n, block)
            part = None if attn_mask is None else attn_mask[..., block]  # (..., block)
            allowed = allowed_keys(part, scores.shape[-1], False, query.device)  # (..., n, block)
            if is_causal:  # of as many keys as queries
                allowed = restrict(allowed, at[block] <= at[:, None])
            if part is not None and part.is_floating_point():
                scores = scores + part.to(wide)
            if allowed is not None:
                scores = scores.masked_fill(~allowed, float("-inf"))
            # The context doesn't depend on what is subtracted, so no gradient passes through it.
            both = largest.expand(*scores.shape[:-1], 1), scores.detach()
            higher = torch.cat(both, dim=-1).amax(dim=-1, keepdim=True)  # (..., n, 1)
            shrink, powers = (largest - higher).exp(), (scores - higher).exp()
            total = shrink * total + powers.sum(dim=-1, keepdim=True)  # (..., n, 1)
            mixed = shrink * mixed + powers @ value[..., block, :]  # (..., n, v)
            largest = higher
    return (mixed / total.masked_fill(total == 0, 1.0)).to(dtype)

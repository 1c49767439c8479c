"""Scaled dot-product attention: spelled out, and with torch's fused kernel.

Shapes use the same letters throughout the project. There are ``n`` queries, ``m`` keys and ``m``
values; a query or key has width ``k``, and a value width ``v``. ``...`` stands for any number of
leading dimensions, such as a batch.
"""

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from attention._checks import check_attention_inputs, check_dropout
from attention.masks import allowed_keys, restrict

Attended = Tensor | tuple[Tensor, Tensor]
"""What a layer returns: the context, or (context, weights) with ``need_weights=True``."""


def without_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Keep autocast from computing in 16 bits what is computed in 32."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


MOST_SCORES = 1 << 25
"""Up to this many scores at once, a CPU computes gradients in bfloat16 without the kernel. A batch
of a fine-tuned encoder has as many, for which ``nox -s experiments -- speed alternatives`` compares
both ways; longer texts need the kernel, which stores no scores."""

SCORES_AT_ONCE = 1 << 21
"""The scores computed in one go there: 4 MB in bfloat16, which the cache of a processor holds."""


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor]:
    r"""Compute for each query a mean of the values, weighted by how well each key matches it.

    .. math::
        \mathrm{scores} = \frac{Q K^\top}{\sqrt{k}}, \qquad
        \mathrm{weights} = \mathrm{softmax}(\mathrm{scores}), \qquad
        \mathrm{context} = \mathrm{weights}\, V

    The softmax runs over the keys that a query may attend to. A query that may attend to nothing
    gets weights and a context of zeros instead of NaN, and passes no gradient back. With inputs
    of 16 bits, the computation runs in 32 bits, also under autocast, as in torch's fused kernel.

    Args:
        query: What each token looks for.
        key: What each token can be found by.
        value: What each token hands over when it is attended to.
        attn_mask: A boolean mask, in which True means "may attend", or a floating-point mask, which
            is added to the scaled scores, so that −∞ keeps a query from attending to a key. None
            lets every query attend to every key.
        is_causal: Whether query i sees keys 0 … i only, of as many keys as queries; otherwise see
            :func:`causal_mask`. Combines with ``attn_mask``.
        scale: The factor on :math:`Q K^\top`. None means :math:`1/\sqrt{k}`.
        dropout_p: The probability with which each weight is set to 0. The others are divided by
            ``1 - dropout_p``, so that the context stays the same on average.

    Shape:
        - query: :math:`(..., n, k)`
        - key: :math:`(..., m, k)`
        - value: :math:`(..., m, v)`
        - attn_mask: anything that broadcasts to :math:`(..., n, m)`
        - context: :math:`(..., n, v)`
        - weights: :math:`(..., n, m)`, each row sums to 1, or to 0 if its query may attend to
          nothing

    Returns:
        The pair (context, weights). The weights are those after dropout, so with dropout a row
        sums to 1 only on average.

    Raises:
        TypeError: If an input is not a floating-point tensor, the dtypes differ, the mask is
            neither boolean nor floating-point, or ``scale`` or ``dropout_p`` is not a number.
        ValueError: If shapes do not fit together, devices differ, ``scale`` is not finite,
            ``dropout_p`` is not in [0, 1), or ``is_causal`` is True and n ≠ m.

    Example:
        >>> query = torch.tensor([[1.0, 0.0]])
        >>> key = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> value = torch.tensor([[10.0], [20.0]])
        >>> context, weights = scaled_dot_product_attention(query, key, value)
        >>> weights
        tensor([[0.6698, 0.3302]])
        >>> context
        tensor([[13.3024]])

    Source:
        Vaswani et al. (2017), Attention is all you need, equation 1.
    """
    scale = check_attention_inputs(query, key, value, attn_mask, scale, is_causal)
    dropout_p = check_dropout("dropout_p", dropout_p)
    dtype = query.dtype
    wide = torch.promote_types(dtype, torch.float32)
    query, key, value = query.to(wide), key.to(wide), value.to(wide)
    if scale is None:
        scale = query.shape[-1] ** -0.5

    with without_autocast(query.device):
        scores = query @ key.transpose(-2, -1) * scale  # (..., n, m)
        allowed = allowed_keys(attn_mask, key.shape[-2], is_causal, query.device)
        if allowed is None:
            weights = torch.softmax(scores, dim=-1)  # (..., n, m)
        else:
            # A row that holds only -inf would make the softmax divide 0 by 0, forward and backward.
            # Such a row keeps its scores, which are finite, and its weights are zeroed afterwards.
            blind = ~allowed.any(dim=-1, keepdim=True)  # (..., n, 1)
            if attn_mask is not None and attn_mask.is_floating_point():
                scores = scores + attn_mask.masked_fill(~allowed, 0.0).to(wide)  # (..., n, m)
            scores = scores.masked_fill(~(allowed | blind), float("-inf"))
            weights = torch.softmax(scores, dim=-1).masked_fill(blind, 0.0)
        if dropout_p:
            weights = F.dropout(weights, dropout_p)
        context = weights @ value  # (..., n, v)
    return context.to(dtype), weights.to(dtype)


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> Tensor:
    """Compute attention with torch's fused kernel, which never stores the weights.

    Arguments, shapes and errors are those of :func:`scaled_dot_product_attention`. Where a CPU
    computes gradients in bfloat16, and there are at most ``attention.functional.MOST_SCORES``
    scores, two products and a softmax in bfloat16 take the kernel's place, because its backward
    pass is slow there.

    Returns:
        The context, without the weights.

    Example:
        >>> fused_attention(*torch.ones(3, 5, 2)).shape
        torch.Size([5, 2])

    Source:
        :func:`torch.nn.functional.scaled_dot_product_attention`.
    """
    scale = check_attention_inputs(query, key, value, attn_mask, scale, is_causal)
    dropout_p = check_dropout("dropout_p", dropout_p)
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    # The kernel expects four dimensions: (batch, heads, n, k).
    *outer, heads = leading if len(leading) > 1 else (*leading, 1)
    batch = math.prod(outer)
    (n, k), (m, v) = query.shape[-2:], value.shape[-2:]
    # Without another mask the kernel can be causal by itself. However, it masks before it scales,
    # and a factor of 0 or less turns its −∞ into NaN or +∞.
    in_kernel = is_causal and attn_mask is None and (scale is None or scale > 0)
    mask = None if in_kernel else _join(attn_mask, m, is_causal, query)
    if mask is not None:
        # The kernel holds a mask in the size it is given, so one shared by all is passed as one.
        if len(leading) < 2:
            mask = mask.unsqueeze(-3)  # (..., 1, n or 1, m)
        *sizes, rows, columns = mask.shape
        if math.prod(sizes) == 1:
            mask = mask.reshape(1, 1, rows, columns)
        else:
            mask = mask.expand(*outer, *sizes[-1:], rows, columns)
            mask = mask.reshape(batch, sizes[-1], rows, columns)  # (batch, heads or 1, n or 1, m)
    query, key, value = (
        t.expand(*leading, -1, -1).reshape(batch, heads, *t.shape[-2:]) for t in (query, key, value)
    )
    if query.device.type == "cpu" and not dropout_p:
        # On a CPU the kernel that stores no weights needs queries, keys and values of the same
        # width, and is fastest at 16 or more. Padding with zeros changes neither a product nor a
        # sum, as long as the factor 1/√k uses the k before padding.
        scale = k**-0.5 if scale is None else scale
        width = max(k, v, 16)
        query, key, value = (
            F.pad(t, (0, width - t.shape[-1])) if t.shape[-1] < width else t
            for t in (query, key, value)
        )
        # In bfloat16 it trains faster with two products and a softmax than with the kernel.
        is_few = query.shape[:-1].numel() * m <= MOST_SCORES
        if query.dtype == torch.bfloat16 and query.requires_grad and is_few and not in_kernel:
            context = _attend_by_products(query, key, value, mask, scale)
            return context[..., :v].reshape(*leading, n, v)  # (..., n, v)
    try:
        context = F.scaled_dot_product_attention(
            query, key, value, mask, dropout_p, in_kernel, scale=scale
        )
    except NotImplementedError as error:  # in forward mode, as by torch.func.jvp
        raise NotImplementedError(
            "torch's fused kernel can't compute this; scaled_dot_product_attention can, and so can "
            "a layer with need_weights=True"
        ) from error
    return context[..., :v].reshape(*leading, n, v)  # (..., n, v)


def _attend_by_products(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
) -> Tensor:
    """Compute what the kernel computes, with scores and weights in the dtype of the query."""
    batch, heads, n, _ = query.shape
    if mask is None:
        mask = query.new_ones(1, 1, 1, 1, dtype=torch.bool)
    is_added = mask.is_floating_point()
    allowed = mask > float("-inf") if is_added else mask
    bias = mask if is_added else torch.zeros_like(mask, dtype=query.dtype)
    # The softmax would turn −∞ into NaN where a query sees nothing.
    bias = bias.masked_fill(~allowed, torch.finfo(bias.dtype).min).expand(batch, -1, -1, -1)
    # A few rows of the batch at a time, whose scores stay in the processor's cache.
    rows = max(1, SCORES_AT_ONCE // max(1, heads * n * key.shape[-2]))
    context = torch.cat(
        [
            torch.softmax(q * scale @ k.transpose(-2, -1) + b, dim=-1).to(v.dtype) @ v
            for q, k, v, b in zip(*(t.split(rows) for t in (query, key, value, bias)), strict=True)
        ]
    )  # (batch, heads, n, v)
    return context.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    need_weights: bool,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> tuple[Tensor, Tensor | None]:
    """Spell the formula out where the weights are needed, and use the fused kernel otherwise.

    Every layer attends through this function. Arguments, shapes and errors are those of
    :func:`scaled_dot_product_attention`.

    Returns:
        The pair (context, weights), or (context, None) without ``need_weights=True``.
    """
    tensors = query, key, value, attn_mask
    if need_weights:
        return scaled_dot_product_attention(
            *tensors, is_causal=is_causal, scale=scale, dropout_p=dropout_p
        )
    return fused_attention(*tensors, is_causal=is_causal, scale=scale, dropout_p=dropout_p), None


def _join(attn_mask: Tensor | None, m: int, is_causal: bool, query: Tensor) -> Tensor | None:
    """Combine both kinds of mask into the single one that torch's kernel takes."""
    allowed = allowed_keys(attn_mask, m, is_causal, query.device)
    if allowed is None or attn_mask is None or not attn_mask.is_floating_point():
        return allowed
    # In 16 bits −1e9 would turn into −∞, and forbid what it should only make unlikely.
    is_exact = torch.promote_types(attn_mask.dtype, query.dtype) == query.dtype
    return restrict(attn_mask.to(query.dtype if is_exact else torch.float32), allowed)

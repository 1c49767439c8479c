"""What marks a layer as one that attends, and how all such layers are called."""

from typing import cast

import torch
from torch import Tensor, nn


class AttentionLayer(nn.Module):
    """Be recognised as a layer that attends by itself: every such layer derives from this class.

    :func:`capture` finds a layer in a model by it, and relies on what ``need_weights`` returns.
    Layers are called as ``layer(x, attn_mask=…, is_causal=…, need_weights=…)``.

    Args:
        x: The token vectors, :math:`(..., n, d)`.
        attn_mask: Which key a query may attend to, the same for all heads, in any shape that
            broadcasts to :math:`(..., n, m)`. A boolean mask is True where it may; a floating-point
            mask is added to the scores. A token that may attend to nothing gets zeros.
        is_causal: Whether token i sees tokens 0 … i only, in addition to the mask. Poolings, which
            have one query for all tokens, do not take it.
        need_weights: Whether the weights are needed. The formula is then spelled out; otherwise
            torch's fused kernel computes the same context.

    Returns:
        The context, or the pair (context, weights) with ``need_weights=True``.

    Raises:
        TypeError: If a width is not an integer, or ``x`` or the mask has another dtype.
        ValueError: If a width is less than 1, or shapes or devices do not fit together.
    """


def matrix_of(linear: nn.Module, width: int, like: Tensor, *, bias: bool = False) -> Tensor:
    """Return the matrix, (width, out), that a linear layer, or what is in its place, multiplies by.

    That may hold no weight, or compute it when it is called, as pruning and a low-rank addition do;
    so it tells what it makes of the unit vectors, in the dtype and on the device of ``like``. What
    it adds, with ``bias``, is left out.
    """
    is_plain = type(linear) is nn.Linear and not linear._forward_pre_hooks
    if is_plain and (bias or linear.bias is None):
        return cast(nn.Linear, linear).weight.mT
    unit = torch.eye(width).to(like)
    matrix, opposite, zeros = linear(torch.cat((unit, -unit, 0 * unit))).chunk(3)  # (width, out)
    matrix, opposite = matrix - zeros, opposite - zeros
    rough = 0.02 * matrix.abs().amax()  # what 8 bits may change
    if (zeros.any() and not bias) or (opposite + matrix).abs().amax() > rough:
        name = type(linear).__name__
        raise ValueError(f"layer: expected one that multiplies by a matrix alone, got a {name}")
    return cast(Tensor, matrix)

r"""The mean of all contexts, without the contexts: how much attention each word receives.

A mean of mixtures is the mixture by the mean weights,

.. math::
    \frac{1}{n} \sum_i \sum_j w_{ij} v_j = \sum_j a_j v_j, \qquad a_j = \frac{1}{n} \sum_i w_{ij},

and a value is a linear function of its token, so the values of single tokens are never needed.
A classifier that averages its contexts needs only :math:`a`. On a CPU this saves a fifth of
the time of a training step, which is why it exists: nothing here holds more weights than the
cache does.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

SCORES_AT_ONCE = 1 << 19
"""Two MiB of them: what a core's caches hold."""


def attention_received(query: Tensor, key: Tensor, is_word: Tensor, scale: float) -> Tensor:
    r"""Say how much attention each word receives, on average over the words of its text.

    .. math:: a_j = \frac{1}{n} \sum_{i=1}^{n} \mathrm{softmax}(\mathrm{scale}\, Q K^\top)_{ij}

    Args:
        query: What each token looks for.
        key: What each token offers to be found by.
        is_word: Which tokens are words; the others neither ask nor receive.
        scale: The factor on the scores.

    Shape:
        - query, key: :math:`(B, n, k)`
        - is_word: :math:`(B, n)`, boolean
        - returns: :math:`(B, n)`; each row sums to 1, or to 0 if the text has no word

    Example:
        >>> query, key = torch.rand(2, 1, 5, 3)
        >>> attention_received(query, key, torch.arange(5)[None] < 4, scale=1.0)[0, 4]
        tensor(0.)
    """
    received: Tensor = _Received.apply(query, key, is_word, scale)  # type: ignore[no-untyped-call]
    return received


class _Received(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, is_word: Tensor, scale: float) -> Tensor:
        # Finite, so that a text without words has no NaN; far below any score, so that the
        # weight of what is no word is exactly 0 beside a word's.
        low = torch.finfo(query.dtype).min / 2
        bias = torch.zeros_like(is_word, dtype=query.dtype).masked_fill_(~is_word, low)  # (B, n)
        share = is_word / is_word.sum(-1, keepdim=True).clamp(min=1)  # (B, n)
        share = share.to(query.dtype)
        ctx.save_for_backward(query, key, bias, share)
        ctx.scale = scale
        received = torch.empty_like(bias)  # (B, n)
        for rows, weights in _weights(query, key, bias, scale):
            received[rows] = (share[rows, None] @ weights).squeeze(1)
        return received

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        """Go back from c, the gradient of a.

        With a word's share p_i = 1/n and r_i = Σ_j w_ij c_j,

        dS_ij = p_i w_ij (c_j − r_i), and so
        dQ_i = scale · p_i (Σ_j w_ij c_j k_j − r_i Σ_j w_ij k_j),
        dK_j = scale · (c_j Σ_i w_ij p_i q_i − Σ_i w_ij r_i p_i q_i).
        """
        query, key, bias, share = ctx.saved_tensors
        k = key.shape[-1]
        c = grad[..., None]  # (B, n, 1)
        mixed = torch.cat([c * key, key, c], -1)  # (B, n, 2k + 1)
        asked = ctx.scale * share[..., None] * query  # (B, n, k)
        p = ctx.scale * share[..., None]  # (B, n, 1)
        d_query, d_key = torch.empty_like(query), torch.empty_like(key)
        for rows, weights in _weights(query, key, bias, ctx.scale):
            with_c, plain, r = (weights @ mixed[rows]).split([k, k, 1], -1)
            d_query[rows] = p[rows] * (with_c - r * plain)
            both = torch.cat([asked[rows], r * asked[rows]], -1)  # (rows, n, 2k)
            plain, with_r = (both.mT @ weights).mT.chunk(2, -1)
            d_key[rows] = c[rows] * plain - with_r
        return d_query, d_key, None, None


def _weights(query: Tensor, key: Tensor, bias: Tensor, scale: float) -> Any:
    """Go through the weights of a few texts at a time, all in the same place in memory."""
    count, n = bias.shape
    step = max(1, SCORES_AT_ONCE // max(1, n * n))
    buffer = query.new_empty(min(step, count), n, n)
    for start in range(0, count, step):
        rows = slice(start, start + step)
        some = buffer[: len(query[rows])]
        torch.baddbmm(bias[rows, None], query[rows], key[rows].mT, alpha=scale, out=some)
        yield rows, torch.softmax(some, -1, out=some)

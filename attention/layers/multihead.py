"""Attention with several heads, which may share their keys and values in groups.

``h`` heads attend side by side, each with queries, keys and values of width ``head_dim``, which is
``embed_dim / h`` unless it is given.
"""

import copy
from typing import Self

import torch
from torch import Tensor, nn

from attention._checks import (
    check_divisor,
    check_dropout,
    check_heads,
    check_mask,
    check_positions,
    check_size,
    check_tokens,
    check_torchs,
)
from attention.functional import Attended, attend
from attention.layers.base import AttentionLayer
from attention.layers.cache import KVCache, check_cache
from attention.masks import allowed_keys, causal_mask, restrict
from attention.rotary import apply_rotary


class MultiHeadAttention(AttentionLayer):
    r"""Let several heads attend in parallel, and project what they return to one context.

    .. math::
        \mathrm{head}_i = \mathrm{softmax}\!\left(\frac{Q_i K_{g(i)}^\top}{\sqrt{k}}\right)
        V_{g(i)}, \qquad
        \mathrm{context} = [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_\mathrm{out}

    Head i uses the i-th block of :math:`k` = ``head_dim`` columns of :math:`Q = XW_\mathrm{query}`.
    If there are as many key–value heads, then :math:`g(i) = i`, and head i also has its own columns
    of :math:`K = X W_\mathrm{key}` and :math:`V = X W_\mathrm{value}`. With fewer, neighbouring
    heads share keys and values (grouped-query attention), and with 1 all of them do (multi-query
    attention). All are made from ``x``; cross-attention is in no layer of the package, but in
    ``gallery/core/plot_5_multi_head.py``. Calls, returns and errors are those of
    :class:`AttentionLayer`. With a ``cache``, ``x`` holds the new tokens only, which also attend to
    the tokens in the cache.

    Args:
        embed_dim: Width ``d`` of a token vector.
        num_heads: The number of heads.
        num_kv_heads: The number of key–value heads that the ``num_heads`` heads share, a divisor
            of ``num_heads``; None means ``num_heads``.
        head_dim: Width ``k`` of a head's queries, keys and values; None means
            ``embed_dim / num_heads``, which ``num_heads`` must then divide.
        rotary: Whether :func:`apply_rotary` rotates queries and keys, of an even width, by their
            positions.
        window: The width ``w`` of the window: query i sees only keys j with
            :math:`|p_i - p_j| < w`. None means all keys.
        dropout: The probability, in [0, 1), of setting an attention weight to 0 in training.
        bias: Whether the four projections add a bias.

    Shape:
        - x: :math:`(..., n, d)`
        - attn_mask: broadcasts to :math:`(..., n, m)`, where :math:`m = n` without a cache
        - positions: broadcasts to :math:`(..., n)`: where each token stands, :math:`p_i`, as an
          integer. Only rotation and window read it. None counts 0, 1, …, on from the cache's tokens
        - context: :math:`(..., n, d)`
        - weights: :math:`(..., h, n, m)`

    Raises:
        ValueError: If a cache is full, or given with ``positions`` or without ``is_causal=True``.

    Example:
        >>> layer = MultiHeadAttention(6, num_heads=2)
        >>> context, weights = layer(torch.rand(5, 7, 6), is_causal=True, need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([5, 7, 6]), torch.Size([5, 2, 7, 7]))
        >>> MultiHeadAttention(8, num_heads=4, num_kv_heads=2).W_key.weight.shape
        torch.Size([4, 8])

    Source:
        Vaswani et al. (2017), section 3.2.2; :class:`torch.nn.MultiheadAttention`. Shared keys and
        values: Shazeer (2019), Fast transformer decoding; Ainslie et al. (2023), GQA. Rotation: Su
        et al. (2021), RoFormer. Window: Beltagy, Peters & Cohan (2020), Longformer.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        rotary: bool = False,
        window: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        embed_dim, num_heads, head_dim = check_heads(embed_dim, num_heads, head_dim)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        num_kv_heads = check_divisor("num_kv_heads", num_kv_heads, "num_heads", num_heads)
        if rotary and head_dim % 2:
            raise ValueError(f"rotary: expected heads of an even width, got {head_dim}")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.num_kv_heads = num_kv_heads
        self.rotary = rotary
        self.window = None if window is None else check_size("window", window)
        self.dropout = check_dropout("dropout", dropout)
        self.W_query = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.W_key = nn.Linear(embed_dim, num_kv_heads * head_dim, bias=bias)
        self.W_value = nn.Linear(embed_dim, num_kv_heads * head_dim, bias=bias)
        self.W_out = nn.Linear(num_heads * head_dim, embed_dim, bias=bias)

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        positions: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Attended:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, self.W_query)
        n = x.shape[-2]
        m = check_cache(cache, n, is_causal, positions) + n
        key_at = token_positions(positions, x, m)  # (..., m)
        query_at = key_at[..., m - n :]  # (..., n)
        mask, in_kernel = join_masks(attn_mask, x, key_at, is_causal=is_causal, window=self.window)
        query = split_heads(self.W_query(x), self.num_heads)  # (..., h, n, head_dim)
        key = split_heads(self.W_key(x), self.num_kv_heads)  # (..., num_kv_heads, n, head_dim)
        value = split_heads(self.W_value(x), self.num_kv_heads)  # (..., num_kv_heads, n, head_dim)
        if self.rotary:
            at = query_at[..., None, :]  # (..., 1, n)
            query, key = apply_rotary(query, at), apply_rotary(key, at)
        if cache is not None:
            key, value = cache.append(key, value)  # (..., num_kv_heads, m, head_dim) each
        heads, weights = attend(
            query,
            self._repeat(key),
            self._repeat(value),
            for_heads(mask),
            need_weights=need_weights,
            is_causal=in_kernel,
            dropout_p=self.dropout if self.training else 0.0,
        )  # (..., h, n, head_dim)
        context = self.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)
        if attn_mask is not None:
            # Without this, a token that may attend to nothing would get W_out's bias.
            allowed = allowed_keys(mask, m, in_kernel, x.device)  # (..., n or 1, m)
            assert allowed is not None  # as there is a mask
            context = context.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)
        return context if weights is None else (context, weights)

    @classmethod
    def from_torch(cls, layer: nn.MultiheadAttention) -> Self:
        """Copy torch's multi-head attention, whatever its ``batch_first``.

        What is frozen stays frozen. In our layer the batch always comes first. Boolean masks have
        the opposite meaning in torch's layer, where True forbids.

        Raises:
            TypeError, ValueError: If it is another layer, or has a ``forward`` or hooks of its own,
                or if its keys or values are not made from the tokens alone, as wide as they are.

        Example:
            >>> from torch import nn
            >>> layer = nn.MultiheadAttention(6, num_heads=2, batch_first=True)
            >>> x = torch.rand(5, 7, 6)
            >>> ours = MultiHeadAttention.from_torch(layer)(x)
            >>> torch.allclose(ours, layer(x, x, x, need_weights=False)[0], atol=1e-6)
            True
        """
        check_torchs(layer, nn.MultiheadAttention)
        if layer.in_proj_weight is None or layer.bias_k is not None or layer.add_zero_attn:
            raise ValueError(
                "layer: expected keys and values made from the tokens alone, as wide as they are, "
                f"got kdim {layer.kdim}, vdim {layer.vdim}, add_bias_kv "
                f"{layer.bias_k is not None}, add_zero_attn {layer.add_zero_attn}"
            )
        options = {"dropout": layer.dropout, "bias": layer.in_proj_bias is not None}
        ours = cls(layer.embed_dim, layer.num_heads, **options).to(layer.in_proj_weight)
        projections = ours.W_query, ours.W_key, ours.W_value
        for name, stacked in (("weight", layer.in_proj_weight), ("bias", layer.in_proj_bias)):
            if stacked is not None:
                for linear, part in zip(projections, stacked.detach().chunk(3), strict=True):
                    setattr(linear, name, nn.Parameter(part.clone(), stacked.requires_grad))
        ours.W_out = copy.deepcopy(layer.out_proj)
        return ours.train(layer.training)

    def _repeat(self, heads: Tensor) -> Tensor:
        """Give each head of a group the same keys or values."""
        group = self.num_heads // self.num_kv_heads
        return heads if group == 1 else heads.repeat_interleave(group, dim=-3)  # (..., h, m, …)


def token_positions(positions: Tensor | None, x: Tensor, m: int) -> Tensor:
    """Tell where m tokens stand, (..., m), of which the tokens x are the last or, if given, all."""
    if positions is None:
        return torch.arange(m, device=x.device)  # (m,)
    check_positions(positions, x)
    return positions.expand(torch.broadcast_shapes(positions.shape, (m,))).long()  # (..., m)


def join_masks(
    attn_mask: Tensor | None,
    x: Tensor,
    key_at: Tensor,
    *,
    is_causal: bool,
    window: int | None = None,
) -> tuple[Tensor | None, bool]:
    """Join what restricts n tokens x, the last of m at these positions: mask, window, causality.

    Returns:
        The pair (mask, is_causal) for :func:`attention.functional.attend`, which leaves plain
        causality to the kernel.
    """
    n, m = x.shape[-2], key_at.shape[-1]
    if attn_mask is not None:
        check_mask(attn_mask, (*x.shape[:-1], m), x.device, "the scores of every head")
    if window is not None:
        distance = key_at[..., m - n :, None] - key_at[..., None, :]  # (..., n, m)
        attn_mask = restrict(attn_mask, distance.abs() < window)
    if n == m or not is_causal:
        return attn_mask, is_causal
    # The kernel's own causal mask takes the queries for the first tokens, not for the last. A
    # single query is the last token, which may see all others.
    if n > 1:
        attn_mask = restrict(attn_mask, causal_mask(n, m, device=x.device))  # (..., n, m)
    return attn_mask, False


def split_heads(projected: Tensor, num_heads: int) -> Tensor:
    """Cut the width into heads, and put the heads before the tokens."""
    split: Tensor = projected.unflatten(-1, (num_heads, -1))  # (..., n, h, head_dim)
    return split.transpose(-3, -2)  # (..., h, n, head_dim)


def for_heads(mask: Tensor | None) -> Tensor | None:
    """Make one mask serve all heads."""
    return mask if mask is None or mask.dim() < 2 else mask.unsqueeze(-3)  # (..., 1, n or 1, m)

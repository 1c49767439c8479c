"""Attention whose keys and values are made from one narrow latent vector per token.

``h`` heads attend side by side, each with queries, keys and values of width ``k`` = ``head_dim``.
The latent has width ``r`` = ``latent_dim``.
"""

import torch
from torch import Tensor, nn

from attention._checks import check_heads, check_size, check_tokens
from attention.functional import Attended, attend
from attention.layers.base import AttentionLayer, matrix_of
from attention.layers.cache import KVCache, check_cache
from attention.layers.multihead import for_heads, join_masks, split_heads, token_positions
from attention.rotary import apply_rotary


class LatentAttention(AttentionLayer):
    r"""Project each token to a latent vector, and make the keys and values of all heads from it.

    .. math::
        C &= X W_\mathrm{latent}, \qquad
        K_i = C W_{\mathrm{key},i}, \qquad V_i = C W_{\mathrm{value},i} \\
        \mathrm{scores}_i &= \frac{Q_i K_i^\top}{\sqrt{k}}
        = \frac{(Q_i W_{\mathrm{key},i}^\top)\, C^\top}{\sqrt{k}}

    The second form of the scores is the *absorbed* one: each query is multiplied by the matrix that
    would have made the keys, and is compared with the latents themselves. The matrix of the values
    is likewise applied later, to the weighted mean of the latents. A cache then has to hold ``r``
    numbers per token for all heads together, instead of :math:`2hk`.

    With rotary positions, a rotation that depends on both positions would stand between
    :math:`Q_i` and :math:`W_{\mathrm{key},i}^\top`, so the matrix could not be absorbed. Each query
    therefore has ``rotary_dim`` additional numbers, which are rotated and multiplied with one
    rotated key that all heads share. The scores are then divided by
    :math:`\sqrt{k + \mathrm{rotary\_dim}}`.

    Args:
        embed_dim, num_heads, head_dim: As in :class:`MultiHeadAttention`.
        latent_dim: Width ``r`` of the latent; None means half of ``embed_dim``.
        rotary_dim: Width of the rotated part of a query and of the shared key, an even number.

    Calls, shapes, returns and errors are those of :class:`MultiHeadAttention`; ``absorbed=True``
    computes the same context by the second form of the scores.

    Example:
        >>> layer = LatentAttention(8, num_heads=2, latent_dim=3).double()
        >>> x = torch.rand(5, 7, 8, dtype=torch.float64)
        >>> torch.allclose(layer(x), layer(x, absorbed=True), rtol=1e-12)
        True

    Source:
        DeepSeek-AI (2024), DeepSeek-V2, section 2.1, whose layer also makes the queries from a
        latent and normalises both latents.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        latent_dim: int | None = None,
        head_dim: int | None = None,
        rotary_dim: int = 0,
    ) -> None:
        super().__init__()
        embed_dim, num_heads, head_dim = check_heads(embed_dim, num_heads, head_dim)
        latent_dim = max(embed_dim // 2, 1) if latent_dim is None else latent_dim
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.latent_dim = latent_dim = check_size("latent_dim", latent_dim)
        self.rotary_dim = rotary_dim = check_size("rotary_dim", rotary_dim, at_least=0)
        if rotary_dim % 2:
            raise ValueError(f"rotary_dim: expected an even number, got {rotary_dim}")
        self.W_query = nn.Linear(embed_dim, num_heads * (head_dim + rotary_dim), bias=False)
        # The last rotary_dim columns make the shared rotated key.
        self.W_latent = nn.Linear(embed_dim, latent_dim + rotary_dim, bias=False)
        self.W_key = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_value = nn.Linear(latent_dim, num_heads * head_dim, bias=False)
        self.W_out = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        absorbed: bool = False,
        positions: Tensor | None = None,
        cache: KVCache | None = None,
    ) -> Attended:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, self.W_query)
        n, k = x.shape[-2], self.head_dim
        m = check_cache(cache, n, is_causal, positions) + n
        key_at = token_positions(positions, x, m)  # (..., m)
        mask, in_kernel = join_masks(attn_mask, x, key_at, is_causal=is_causal)

        both = split_heads(self.W_query(x), self.num_heads)  # (..., h, n, k + rotary_dim)
        query, query_rotary = both.split((k, self.rotary_dim), dim=-1)
        widths = self.latent_dim, self.rotary_dim
        latent, key_rotary = self.W_latent(x).split(widths, dim=-1)  # (..., n, r), (..., n, …)
        if self.rotary_dim:
            at = key_at[..., m - n :]  # (..., n)
            query_rotary = apply_rotary(query_rotary, at[..., None, :])  # (..., h, n, rotary_dim)
            key_rotary = apply_rotary(key_rotary, at)  # (..., n, rotary_dim)
        if cache is not None:
            latent, key_rotary = cache.append(latent, key_rotary)  # (..., m, r), (..., m, …)
        key_rotary = key_rotary.unsqueeze(-3)  # (..., 1, m, rotary_dim)
        if absorbed:
            W_key, W_value = (
                split_heads(matrix_of(layer, self.latent_dim, latent), self.num_heads)
                for layer in (self.W_key, self.W_value)
            )  # (h, r, k) each
            query = query @ W_key.mT  # (..., h, n, r)
            key = value = latent.unsqueeze(-3)  # (..., 1, m, r)
        else:
            key = split_heads(self.W_key(latent), self.num_heads)  # (..., h, m, k)
            value = split_heads(self.W_value(latent), self.num_heads)  # (..., h, m, k)
            key_rotary = key_rotary.expand(*key.shape[:-1], -1)  # (..., h, m, rotary_dim)
        heads, weights = attend(
            torch.cat((query, query_rotary), dim=-1),
            torch.cat((key, key_rotary), dim=-1),
            value,
            for_heads(mask),
            need_weights=need_weights,
            is_causal=in_kernel,
            scale=(k + self.rotary_dim) ** -0.5,
        )
        if absorbed:
            heads = heads @ W_value  # (..., h, n, k)
        context = self.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)
        return context if weights is None else (context, weights)

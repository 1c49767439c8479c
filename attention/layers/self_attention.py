"""Self-attention: every token attends with its own query.

The layers are in the order in which the pages build them, each called as :class:`AttentionLayer`
says. The tokens ``x`` are ``n`` vectors of width ``d`` = ``embed_dim``; queries and keys have width
``k`` = ``key_dim``, and values ``v`` = ``value_dim``. In an equation, :math:`W` is a matrix (d, k),
whose transpose ``nn.Linear`` stores.
"""

import torch
from torch import Tensor, nn

from attention._checks import check_dropout, check_size, check_tokens
from attention.functional import Attended, attend
from attention.layers.base import AttentionLayer


class OneHead(AttentionLayer):
    """What self-attention with one head shares: tokens become Q, K and V, and then attend."""

    embed_dim: int
    scale: float | None = None
    dropout = 0.0

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Attended:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, self.W_query)
        query, key, value = self.query_key_value(x)  # (..., n, k), (..., n, k), (..., n, v)
        context, weights = attend(
            query,
            key,
            value.to(key.dtype),  # under autocast the keys have 16 bits, the tokens still 32
            attn_mask,
            need_weights=need_weights,
            is_causal=is_causal,
            scale=self.scale,
            dropout_p=self.dropout if self.training else 0.0,
        )
        return context if weights is None else (context, weights)

    def query_key_value(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the query, the key and the value of each token."""
        raise NotImplementedError


class SelfAttentionV1(OneHead):
    r"""Compute self-attention, with queries, keys and values from three bare matrices.

    .. math::
        Q = X W_\mathrm{query}, \quad K = X W_\mathrm{key}, \quad V = X W_\mathrm{value},
        \qquad \mathrm{context} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{k}}\right) V

    The matrices are initialised uniformly in [0, 1), which keeps a worked example positive and
    readable but is a poor start for training. :class:`SelfAttentionV2` uses the initialisation of
    ``nn.Linear``.

    Args:
        d_in: Width of a token vector.
        d_out: Width of queries, keys and values.

    Shape:
        - x: :math:`(..., n, d_\mathrm{in})`
        - context: :math:`(..., n, d_\mathrm{out})`
        - weights: :math:`(..., n, n)`

    Example:
        >>> layer = SelfAttentionV1(3, 2)
        >>> layer(torch.rand(6, 3)).shape
        torch.Size([6, 2])

    Source:
        Raschka (2024), Build a Large Language Model (From Scratch), section 3.4.
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__()
        self.embed_dim = d_in = check_size("d_in", d_in)
        d_out = check_size("d_out", d_out)
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def query_key_value(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Multiply the tokens by each matrix."""
        query = x @ self.W_query  # (..., n, d_out)
        key = x @ self.W_key  # (..., n, d_out)
        value = x @ self.W_value  # (..., n, d_out)
        return query, key, value


class QKSelfAttention(OneHead):
    r"""Let every token attend with its own query, with the tokens themselves as the values.

    .. math::
        Q = X W_\mathrm{query}, \quad K = X W_\mathrm{key}, \qquad
        \mathrm{context} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{k}}\right) X

    Args:
        embed_dim: Width ``d`` of a token vector.
        key_dim: Width ``k`` of queries and keys; None means ``embed_dim``.
        bias: Whether the projections add a bias.
        scale: The factor on :math:`Q K^\top`. None means :math:`1/\sqrt{k}`.
        dropout: The probability, in [0, 1), of setting an attention weight to 0 in training.

    Shape:
        - x: :math:`(..., n, d)`
        - context: :math:`(..., n, d)`
        - weights: :math:`(..., n, n)`

    Example:
        >>> layer = QKSelfAttention(5, key_dim=3)
        >>> context, weights = layer(torch.rand(2, 7, 5), need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([2, 7, 5]), torch.Size([2, 7, 7]))

    Source:
        Lab 13 (Nowakowski, 2024).
    """

    def __init__(
        self,
        embed_dim: int,
        key_dim: int | None = None,
        *,
        bias: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed_dim = embed_dim = check_size("embed_dim", embed_dim)
        width = embed_dim if key_dim is None else key_dim
        self.key_dim = key_dim = check_size("key_dim", width)
        self.scale = scale
        self.dropout = check_dropout("dropout", dropout)
        self.W_query = nn.Linear(embed_dim, key_dim, bias=bias)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=bias)

    def query_key_value(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project the tokens to queries and keys; each token is its own value."""
        return self.W_query(x), self.W_key(x), x  # (..., n, k), (..., n, k), (..., n, d)


class SelfAttention(QKSelfAttention):
    r"""Let every token attend with its own query to the keys and values of all tokens.

    .. math::
        Q = X W_\mathrm{query}, \quad K = X W_\mathrm{key}, \quad V = X W_\mathrm{value},
        \qquad \mathrm{context} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{k}}\right) V

    Args:
        value_dim: Width ``v`` of values; None means ``embed_dim``.
        embed_dim, key_dim, bias, scale, dropout: As in :class:`QKSelfAttention`.

    Shape:
        - context: :math:`(..., n, v)`; otherwise as in :class:`QKSelfAttention`

    Example:
        >>> layer = SelfAttention(5, key_dim=3, value_dim=2)
        >>> layer(torch.rand(7, 5)).shape
        torch.Size([7, 2])

    Source:
        Vaswani et al. (2017), section 3.2, with one head; Lab 13 (Nowakowski, 2024).
    """

    def __init__(
        self,
        embed_dim: int,
        key_dim: int | None = None,
        *,
        value_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(embed_dim, key_dim=key_dim, bias=bias, scale=scale, dropout=dropout)
        width = self.embed_dim if value_dim is None else value_dim
        self.value_dim = check_size("value_dim", width)
        self.W_value = nn.Linear(self.embed_dim, self.value_dim, bias=bias)

    def query_key_value(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project the tokens to queries, keys and values."""
        return self.W_query(x), self.W_key(x), self.W_value(x)  # (..., n, k) twice, (..., n, v)


class SelfAttentionV2(SelfAttention):
    r"""Compute the same as :class:`SelfAttentionV1`, with the matrices held by ``nn.Linear``.

    If V1's matrices are transposed and copied in, the two classes return the same numbers. They
    differ in initialisation: ``nn.Linear`` draws uniformly between
    :math:`\pm 1/\sqrt{d_\mathrm{in}}`.

    Args:
        d_in, d_out: As in :class:`SelfAttentionV1`, as are shapes and source.
        qkv_bias: Whether the projections add a bias.

    Example:
        >>> layer = SelfAttentionV2(3, 2)
        >>> layer(torch.rand(6, 3)).shape
        torch.Size([6, 2])
    """

    def __init__(self, d_in: int, d_out: int, *, qkv_bias: bool = False) -> None:
        d_in = check_size("d_in", d_in)
        d_out = check_size("d_out", d_out)
        super().__init__(d_in, key_dim=d_out, value_dim=d_out, bias=qkv_bias)


class CausalSelfAttention(SelfAttention):
    r"""Let every token attend to itself and the tokens before it, never to one after it.

    .. math::
        \mathrm{context}_i = \sum_{j \le i} w_{ij} V_j, \qquad
        w_{ij} = \frac{e^{s_{ij}}}{\sum_{l \le i} e^{s_{il}}}, \qquad
        s = \frac{Q K^\top}{\sqrt{k}}

    The layer is causal unless it is called with ``is_causal=False``. Arguments and shapes are
    those of :class:`SelfAttention`; the weights are zeros above the diagonal.

    Example:
        >>> layer = CausalSelfAttention(5, key_dim=3)
        >>> _, weights = layer(torch.rand(3, 5), need_weights=True)
        >>> (weights > 0).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)

    Source:
        Vaswani et al. (2017), section 3.2.3; Raschka (2024), section 3.5.
    """

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = True,
        need_weights: bool = False,
    ) -> Attended:
        """Return the context, and the weights if they are needed."""
        return super().forward(
            x, attn_mask=attn_mask, is_causal=is_causal, need_weights=need_weights
        )

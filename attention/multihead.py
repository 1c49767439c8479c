"""Attention as language models use it: no word sees what comes after it, and several look at once.

``h`` heads share the width ``d`` = ``embed_dim``: each has ``head_dim`` = ``d / h`` of it for its
queries, keys and values.
"""

from torch import Tensor, nn

from attention._checks import check_dropout, check_mask, check_size, check_tokens
from attention.functional import _allowed
from attention.layers import SelfAttention, _attend


class CausalSelfAttention(SelfAttention):
    r"""Let every token attend to itself and the tokens before it, never to one after it.

    .. math::
        \mathrm{context}_i = \sum_{j \le i} w_{ij} V_j, \qquad
        w_{ij} = \frac{e^{s_{ij}}}{\sum_{l \le i} e^{s_{il}}}, \qquad
        s = \frac{Q K^\top}{\sqrt{k}}

    Args:
        embed_dim: Width ``d`` of a token vector.
        key_dim: Width ``k`` of queries and keys.
        value_dim: Width ``v`` of values; None means ``embed_dim``.
        dropout: The chance with which training sets a weight to 0.
        bias: Whether the projections add a bias.

    Shape:
        - x: :math:`(..., n, d)`
        - attn_mask: broadcasts to :math:`(..., n, n)`, True = may attend; forbids more than the
          order of the tokens does
        - context: :math:`(..., n, v)`
        - weights: :math:`(..., n, n)`, zeros above the diagonal

    Returns:
        The context, or (context, weights) with ``need_weights=True``.

    Raises:
        TypeError: If a width is no integer, ``dropout`` no number, or dtypes differ.
        ValueError: If a width < 1, ``dropout`` is not in [0, 1), or shapes do not fit.

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

    def __init__(
        self,
        embed_dim: int,
        *,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__(embed_dim, key_dim=key_dim, value_dim=value_dim, bias=bias)
        check_dropout("dropout", dropout)
        self.dropout = dropout

    def forward(
        self, x: Tensor, attn_mask: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, self.W_query.weight)
        query = self.W_query(x)  # (..., n, k)
        key = self.W_key(x)  # (..., n, k)
        value = self.W_value(x)  # (..., n, v)
        dropout_p = self.dropout if self.training else 0.0
        return _attend(
            query, key, value, attn_mask, need_weights, is_causal=True, dropout_p=dropout_p
        )


class MultiHeadAttention(nn.Module):
    r"""Let every token attend in several ways at once, and mix what they bring.

    .. math::
        \mathrm{head}_i = \mathrm{softmax}\!\left(\frac{Q_i K_i^\top}{\sqrt{d/h}}\right) V_i,
        \qquad \mathrm{context} =
        [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_\mathrm{out}

    Head i has the i-th ``head_dim`` columns of :math:`Q = X W_\mathrm{query}`, :math:`K = X
    W_\mathrm{key}` and :math:`V = X W_\mathrm{value}`. So the number of heads changes neither the
    number of parameters nor, but for the softmax, that of multiplications.

    Args:
        embed_dim: Width ``d`` of a token vector, a multiple of ``num_heads``.
        num_heads: How many heads share that width.
        dropout: The chance with which training sets a weight to 0.
        bias: Whether the four projections add a bias.

    Shape:
        - x: :math:`(..., n, d)`
        - attn_mask: broadcasts to :math:`(..., n, n)`, True = may attend; the same for all heads
        - context: :math:`(..., n, d)`
        - weights: :math:`(..., h, n, n)`

    Returns:
        The context, or (context, weights) with ``need_weights=True``. ``is_causal=True`` lets
        token i see tokens 0 … i only, and combines with ``attn_mask``.

    Raises:
        TypeError: If a width is no integer, ``dropout`` no number, or dtypes differ.
        ValueError: If a width < 1, ``num_heads`` does not divide ``embed_dim``, ``dropout`` is
            not in [0, 1), or shapes do not fit.

    Example:
        >>> layer = MultiHeadAttention(6, num_heads=2)
        >>> context, weights = layer(torch.rand(5, 7, 6), is_causal=True, need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([5, 7, 6]), torch.Size([5, 2, 7, 7]))

    Source:
        Vaswani et al. (2017), section 3.2.2; :class:`torch.nn.MultiheadAttention`.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, *, dropout: float = 0.0, bias: bool = False
    ) -> None:
        super().__init__()
        check_size("embed_dim", embed_dim)
        check_size("num_heads", num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"num_heads: expected a divisor of embed_dim = {embed_dim}, got {num_heads}"
            )
        check_dropout("dropout", dropout)
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.dropout = dropout
        self.W_query = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_key = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_value = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_out = nn.Linear(embed_dim, embed_dim, bias=bias)

    def forward(
        self,
        x: Tensor,
        attn_mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, self.W_query.weight)
        if attn_mask is not None:
            check_mask(attn_mask, (*x.shape[:-1], x.shape[-2]), x.device)
        allowed = _allowed(x, x, attn_mask, is_causal)  # broadcasts to (..., n, n)
        attended = _attend(
            self._split(self.W_query(x)),
            self._split(self.W_key(x)),
            self._split(self.W_value(x)),
            None if allowed is None else allowed.unsqueeze(-3),  # one mask for all heads
            need_weights,
            dropout_p=self.dropout if self.training else 0.0,
        )
        heads = attended[0] if isinstance(attended, tuple) else attended  # (..., h, n, head_dim)
        context = self.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)
        if allowed is not None:
            # W_out's bias would speak for a token that saw nothing.
            context = context.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)
        return (context, attended[1]) if isinstance(attended, tuple) else context

    def _split(self, projected: Tensor) -> Tensor:
        """Cut the width into heads, and put the heads before the tokens."""
        heads = (self.num_heads, self.head_dim)
        cut: Tensor = projected.unflatten(-1, heads)  # (..., n, h, head_dim)
        return cut.transpose(-3, -2)  # (..., h, n, head_dim)

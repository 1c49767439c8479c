"""Attention with several heads.

``h`` heads share the width ``d`` = ``embed_dim``: each has ``head_dim`` = ``d / h`` of it for its
queries, keys and values.
"""

from torch import Tensor, nn

from attention._checks import check_dropout, check_mask, check_size, check_tokens
from attention.functional import Attended, allowed_keys, attend


class MultiHeadAttention(nn.Module):
    r"""Let every token attend in several ways at once, and mix what the heads return.

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
        - attn_mask: broadcasts to :math:`(..., n, n)`, boolean or added to the scores; the same for
          all heads
        - context: :math:`(..., n, d)`
        - weights: :math:`(..., h, n, n)`

    Returns:
        The context, or (context, weights) with ``need_weights=True``. ``is_causal=True`` lets
        token i see tokens 0 … i only, and combines with ``attn_mask``.

    Raises:
        TypeError: If a width is not an integer, ``dropout`` not a number, or dtypes differ.
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
    ) -> Attended:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, self.W_query.weight)
        n = x.shape[-2]
        allowed = None
        if attn_mask is not None:
            check_mask(attn_mask, (*x.shape[:-1], n), x.device)
            allowed = allowed_keys(attn_mask, n, n, is_causal, x.device)  # (..., n or 1, n)
            if attn_mask.dim() > 1:
                attn_mask = attn_mask.unsqueeze(-3)  # one mask for all heads
        attended = attend(
            self._split(self.W_query(x)),
            self._split(self.W_key(x)),
            self._split(self.W_value(x)),
            attn_mask,
            need_weights=need_weights,
            is_causal=is_causal,
            dropout_p=self.dropout if self.training else 0.0,
        )
        heads = attended[0] if isinstance(attended, tuple) else attended  # (..., h, n, head_dim)
        context = self.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)
        if allowed is not None:
            # W_out's bias would speak for a token that saw nothing.
            context = context.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)
        return (context, attended[1]) if isinstance(attended, tuple) else context

    def _split(self, projected: Tensor) -> Tensor:
        """Split the width into heads, and put the heads before the tokens."""
        heads = (self.num_heads, self.head_dim)
        split: Tensor = projected.unflatten(-1, heads)  # (..., n, h, head_dim)
        return split.transpose(-3, -2)  # (..., h, n, head_dim)

"""The transformer block: attention, feed-forward layer, residual connections, layer norms.

The tokens ``x`` are ``n`` vectors of width ``d`` = ``embed_dim``, and ``h`` heads attend.
"""

import copy
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention._checks import check_positive, check_size, check_tokens, check_torchs
from attention.functional import Attended
from attention.layers.cache import KVCache
from attention.layers.multihead import MultiHeadAttention

ACTIVATIONS: dict[str, type[nn.Module]] = {"gelu": nn.GELU, "relu": nn.ReLU}
# The functions that torch's own layer may hold in their place.
FUNCTIONS = {F.gelu: nn.GELU, F.relu: nn.ReLU, torch.relu: nn.ReLU}


class TransformerBlock(nn.Module):
    r"""Add to each token what attention returns for it, then what a feed-forward layer returns.

    .. math::
        y &= x + \mathrm{attention}(\mathrm{norm}_1(x)) \\
        \mathrm{block}(x) &= y + W_2\, \mathrm{activation}(W_1\, \mathrm{norm}_2(y) + b_1) + b_2

    With ``norm_first=False`` the norms follow the sums, as in the first transformers:
    :math:`y = \mathrm{norm}_1(x + \mathrm{attention}(x))`, and likewise for the feed-forward layer.

    Args:
        embed_dim: Width ``d`` of a token vector, a multiple of ``num_heads``.
        num_heads: The number of heads.
        hidden_dim: Width between the two matrices of the feed-forward layer; None means ``4 d``.
        norm_first: Whether the norms come before attention and feed-forward layer (pre-norm) or
            after the sums (post-norm).
        activation: The function in the middle of the feed-forward layer, ``"gelu"`` or ``"relu"``.
        dropout: The probability of setting a number to 0 in training. This applies to the attention
            weights, to the numbers in the middle of the feed-forward layer, and to those that are
            added to the residual stream.
        bias: Whether projections, feed-forward layers and norms have a bias.
        eps: The number that the norms add to the variance.
        options: Those of :class:`MultiHeadAttention`, such as ``num_kv_heads``, ``rotary`` and
            ``window``.

    Shape:
        - x: :math:`(..., n, d)`
        - returns: :math:`(..., n, d)`

    Returns:
        The tokens after the block, or (tokens, weights) with ``need_weights=True``. Calls, weights
        and errors are those of :class:`MultiHeadAttention`.

    Example:
        >>> block = TransformerBlock(6, num_heads=2)
        >>> block(torch.rand(5, 7, 6), is_causal=True).shape
        torch.Size([5, 7, 6])

    Source:
        Vaswani et al. (2017), section 3; for pre-norm, Xiong et al. (2020), On layer normalization
        in the transformer architecture; :class:`torch.nn.TransformerEncoderLayer`.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        hidden_dim: int | None = None,
        norm_first: bool = True,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        eps: float = 1e-5,
        **options: Any,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(
            embed_dim, num_heads, dropout=dropout, bias=bias, **options
        )
        self.embed_dim = embed_dim = self.attention.embed_dim
        hidden_dim = 4 * embed_dim if hidden_dim is None else hidden_dim
        hidden_dim = check_size("hidden_dim", hidden_dim)
        eps = check_positive("eps", eps)
        if activation not in ACTIVATIONS:
            expected = " or ".join(ACTIVATIONS)
            raise ValueError(f"activation: expected {expected}, got {activation!r}")
        self.norm_first = norm_first
        self.norm1 = nn.LayerNorm(embed_dim, eps=eps, bias=bias)
        self.norm2 = nn.LayerNorm(embed_dim, eps=eps, bias=bias)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_dim, hidden_dim, bias=bias),
            ACTIVATIONS[activation](),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, embed_dim, bias=bias),
        )
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        need_weights: bool = False,
        **options: Any,
    ) -> Attended:
        """Return the tokens after the block, and the weights if they are needed.

        The options ``is_causal``, ``positions`` and ``cache`` reach the attention.
        """
        check_tokens(x, self.embed_dim, self.norm1 if self.norm_first else None)
        before = self.norm1(x) if self.norm_first else x  # (..., n, d)
        attended = self.attention(before, attn_mask=attn_mask, need_weights=need_weights, **options)
        context, weights = attended if need_weights else (attended, None)  # (..., n, d)
        x = x + self.dropout(context)  # (..., n, d)
        if self.norm_first:
            x = x + self.dropout(self.feed_forward(self.norm2(x)))  # (..., n, d)
        else:
            x = self.norm1(x)
            x = self.norm2(x + self.dropout(self.feed_forward(x)))  # (..., n, d)
        return x if weights is None else (x, weights)

    @classmethod
    def from_torch(cls, layer: nn.TransformerEncoderLayer) -> Self:
        """Copy one of torch's encoder layers, whatever its ``batch_first``.

        What is frozen stays frozen. In our layer the batch always comes first. Masks have the
        opposite meaning in torch's layer, where True forbids.

        Raises:
            TypeError, ValueError: If it is another layer, or has a ``forward`` or hooks of its own,
                or if its activation, dropout or attention is one that ours does not support.

        Example:
            >>> from torch import nn
            >>> layer = nn.TransformerEncoderLayer(6, nhead=2, batch_first=True)
            >>> block = TransformerBlock.from_torch(layer.eval())
            >>> x = torch.rand(5, 7, 6)
            >>> torch.allclose(block(x), layer(x), atol=1e-6)
            True
        """
        check_torchs(layer, nn.TransformerEncoderLayer)
        dropouts = layer.dropout1, layer.dropout2
        kinds = {(type(each), getattr(each, "p", None), each.training) for each in dropouts}
        if len(kinds) > 1 or type(layer.dropout1) is not nn.Dropout:
            raise ValueError(
                "layer: expected an nn.Dropout as dropout1, and dropout2 the same, "
                f"got {layer.dropout1} and {layer.dropout2}"
            )
        activation = layer.activation
        if not isinstance(activation, nn.Module):
            if activation not in FUNCTIONS:
                raise ValueError(f"layer: expected the activation gelu or relu, got {activation}")
            activation = FUNCTIONS[activation]()
        attention = MultiHeadAttention.from_torch(layer.self_attn)
        # What it is made with is replaced below, but for the order of the norms.
        block = cls(
            attention.embed_dim, attention.num_heads, hidden_dim=1, norm_first=layer.norm_first
        )
        block.attention = attention
        block.norm1, block.norm2 = copy.deepcopy(layer.norm1), copy.deepcopy(layer.norm2)
        parts = layer.linear1, activation, layer.dropout, layer.linear2
        block.feed_forward = nn.Sequential(*copy.deepcopy(parts))
        block.dropout = copy.deepcopy(layer.dropout1)
        block.training = layer.training  # each part has its own mode already
        return block


class TransformerEncoder(nn.Module):
    r"""Stack transformer blocks, each of which reads what the block before it returned.

    .. math:: x^{(l)} = \mathrm{block}_l(x^{(l-1)}), \qquad l = 1, \ldots, L

    With ``norm_first=True`` the last sum is not normalised, so another norm follows the stack.

    Args:
        num_layers: The number of blocks ``L``.
        embed_dim, num_heads, norm_first, options: As in :class:`TransformerBlock`.

    Shape:
        - weights: :math:`(L, ..., h, n, m)`; otherwise as in :class:`TransformerBlock`

    Returns:
        The tokens after the last block, or (tokens, weights) with ``need_weights=True``. Calls and
        errors are those of :class:`MultiHeadAttention`, with ``caches``, one per block.

    Example:
        >>> encoder = TransformerEncoder(6, num_heads=2, num_layers=3)
        >>> hidden, weights = encoder(torch.rand(5, 7, 6), need_weights=True)
        >>> hidden.shape, weights.shape
        (torch.Size([5, 7, 6]), torch.Size([3, 5, 2, 7, 7]))

    Source:
        Vaswani et al. (2017), section 3.1; :class:`torch.nn.TransformerEncoder`.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        num_layers: int,
        *,
        norm_first: bool = True,
        **options: Any,
    ) -> None:
        super().__init__()
        num_layers = check_size("num_layers", num_layers)
        blocks = [
            TransformerBlock(embed_dim, num_heads, norm_first=norm_first, **options)
            for _ in range(num_layers)
        ]
        self.blocks = nn.ModuleList(blocks)
        # A norm as those of the blocks; one that was made has drawn nothing and learned nothing.
        self.norm = copy.deepcopy(blocks[0].norm1) if norm_first else None

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        need_weights: bool = False,
        caches: Sequence[KVCache] | None = None,
        **options: Any,
    ) -> Attended:
        """Return the tokens after the last block, and all weights if they are needed.

        The options ``is_causal`` and ``positions`` reach the attention of every block.
        """
        count = len(self.blocks)
        different = {id(cache) for cache in caches or ()}
        if caches is not None and not count == len(caches) == len(different):
            raise ValueError(
                f"caches: expected one per block, {count}, got {len(caches)}, of which "
                f"{len(different)} are different"
            )
        for each in caches or ():  # before the first of them holds new tokens
            each.check_room(x.shape[-2])
        collected = []
        for block, cache in zip(self.blocks, caches or count * [None], strict=True):
            x = block(x, attn_mask=attn_mask, need_weights=need_weights, cache=cache, **options)
            if need_weights:
                x, weights = x
                collected.append(weights)
        if self.norm is not None:
            x = self.norm(x)  # (..., n, d)
        return (x, torch.stack(collected)) if need_weights else x

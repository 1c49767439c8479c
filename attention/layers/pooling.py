"""Attention pooling, which turns many token vectors into one, and the mean as its baseline.

The tokens ``x`` are ``n`` vectors of width ``d`` = ``embed_dim``.
"""

import torch
from torch import Tensor, nn

from attention._checks import check_size, check_tokens
from attention.functional import Attended, scaled_dot_product_attention
from attention.layers.base import AttentionLayer


class Pooling(AttentionLayer):
    """What all poolings share: one query, n keys, and the tokens themselves as values."""

    def __init__(self, embed_dim: int) -> None:
        super().__init__()
        self.embed_dim = check_size("embed_dim", embed_dim)

    def forward(
        self, x: Tensor, *, attn_mask: Tensor | None = None, need_weights: bool = False
    ) -> Attended:
        """Return the context, and the weights if they are needed."""
        check_tokens(x, self.embed_dim, next(self.children(), None))
        query, keys = self.query_and_keys(x)
        query = query.to(keys.dtype).expand(*x.shape[:-2], 1, -1)  # (..., 1, k)
        # The scale is 1, because a learned query can take up any factor.
        # Under autocast the keys come from a linear layer in 16 bits, the tokens still in 32.
        value = x.to(keys.dtype)  # (..., n, d)
        context, weights = scaled_dot_product_attention(query, keys, value, attn_mask, scale=1.0)
        context, weights = context.squeeze(-2), weights.squeeze(-2)  # (..., d), (..., n)
        return (context, weights) if need_weights else context

    def query_and_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the query of all texts, (k) or (1, k), and the tokens' keys, (..., n, k)."""
        raise NotImplementedError


class MeanPooling(Pooling):
    r"""Average the tokens, as attention does when all scores are equal.

    .. math:: \mathrm{context} = \frac{1}{n} \sum_{i=1}^{n} x_i

    Calls, arguments and shapes are those of :class:`EnergyPooling`.

    Example:
        >>> MeanPooling(2)(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([2., 3.])

    Source:
        The baseline to which Lab 13 (Nowakowski, 2024) compares attention.
    """

    def query_and_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return a query and keys whose scores are all 0."""
        return x.new_zeros(1), torch.zeros_like(x[..., :1])  # (1), (..., n, 1)


class EnergyPooling(Pooling):
    r"""Average the tokens with the attention weights of a single learned query.

    .. math::
        e_i = x_i \cdot w, \qquad
        \mathrm{context} = \sum_{i=1}^{n} \mathrm{softmax}(e)_i \, x_i

    All texts share the learned query w. Its score with token i, :math:`e_i`, is called the energy
    in Lab 13. The score has no bias, because a bias would add the same number to every score of a
    text, which does not change their softmax. Calls, returns and errors are
    those of :class:`AttentionLayer`, without ``is_causal``.

    Args:
        embed_dim: Width ``d`` of a token vector.

    Shape:
        - x: :math:`(..., n, d)`
        - attn_mask: broadcasts to :math:`(..., 1, n)`
        - context: :math:`(..., d)`
        - weights: :math:`(..., n)`

    Example:
        >>> pooling = EnergyPooling(3)
        >>> context, weights = pooling(torch.rand(5, 7, 3), need_weights=True)
        >>> context.shape, weights.shape
        (torch.Size([5, 3]), torch.Size([5, 7]))

    Source:
        Lab 13 (Nowakowski, 2024), after Olbratowski; Bahdanau et al. (2015) without the decoder.
    """

    def __init__(self, embed_dim: int) -> None:
        super().__init__(embed_dim)
        self.energy = nn.Linear(embed_dim, 1, bias=False)

    def query_and_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the learned query, and the tokens as keys."""
        if type(self.energy) is nn.Linear and not self.energy._forward_pre_hooks:
            return self.energy.weight, x  # (1, d), (..., n, d)
        # What was put in its place need not hold a weight: it tells the scores itself.
        return x.new_ones(1), self.energy(x)  # (1), (..., n, 1)


class KeyedPooling(Pooling):
    r"""Average the tokens with attention weights from comparing their keys with a learned query.

    .. math::
        e_i = (x_i W_\mathrm{key}) \cdot q, \qquad
        \mathrm{context} = \sum_{i=1}^{n} \mathrm{softmax}(e)_i \, x_i

    All texts share the learned query q. This is the same function as :class:`EnergyPooling` with
    :math:`w = W_\mathrm{key}\, q`, whose calls and shapes it has.

    Args:
        embed_dim: Width ``d`` of a token vector.
        key_dim: Width ``k`` of a key and of the query; None means ``embed_dim``.

    Example:
        >>> from attention import EnergyPooling
        >>> pooling = KeyedPooling(3, key_dim=2)
        >>> energy = EnergyPooling(3)
        >>> w = pooling.query @ pooling.W_key.weight
        >>> _ = energy.load_state_dict({"energy.weight": w[None]})
        >>> x = torch.rand(5, 7, 3)
        >>> torch.allclose(pooling(x), energy(x))
        True

    Source:
        Lab 13 (Nowakowski, 2024).
    """

    def __init__(self, embed_dim: int, key_dim: int | None = None) -> None:
        super().__init__(embed_dim)
        width = self.embed_dim if key_dim is None else key_dim
        self.key_dim = key_dim = check_size("key_dim", width)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)
        # The range that nn.Linear(key_dim, 1) draws from, as in Lab 13.
        self.query = nn.Parameter(torch.empty(key_dim).uniform_(-1, 1) * key_dim**-0.5)

    def query_and_keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the learned query, and the projected keys."""
        return self.query, self.W_key(x)  # (k), (..., n, k)

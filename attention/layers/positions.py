"""Positional encodings: the position of a word as a vector that is added to the word's own."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention._checks import (
    check_lengths,
    check_positions,
    check_positive,
    check_range,
    check_size,
    check_tokens,
)
from attention.rotary import angles


def positions_from_end(lengths: Tensor, n: int) -> Tensor:
    r"""Number the words of each sequence backwards from its last word, which gets position 0.

    .. math:: p_{bj} = \max(\mathrm{lengths}_b - 1 - j,\; 0)

    Arguments and errors are those of :func:`padding_mask`.

    Shape:
        - lengths: :math:`(...)`
        - returns: :math:`(..., n)`, integers; the padding gets position 0

    Example:
        >>> positions_from_end(torch.tensor([4, 2]), 4)
        tensor([[3, 2, 1, 0],
                [1, 0, 0, 0]])
    """
    lengths, n = check_lengths(lengths, n)
    from_start = torch.arange(n, device=lengths.device)  # (n)
    return (lengths[..., None] - 1 - from_start).clamp(min=0)  # (..., n)


class SinusoidalPositions(nn.Module):
    r"""Add to each token the sines and cosines of its position, at falling frequencies.

    .. math::
        S_{p,\,2i} = \sin\!\left(p \,/\, \mathrm{base}^{2i/d}\right), \qquad
        S_{p,\,2i+1} = \cos\!\left(p \,/\, \mathrm{base}^{2i/d}\right)

    Args:
        embed_dim: Width ``d`` of a token vector.
        max_length: The number of positions that the table holds.
        base: Sets the lowest frequency: pair ``i`` of sine and cosine advances by
            ``base ** (-2 * i / d)`` radians per position.

    Shape:
        - x: :math:`(..., n, d)`
        - positions: broadcasts to :math:`(..., n)`, integers below ``max_length``; None counts
          0, 1, … from the start
        - returns: :math:`(..., n, d)`

    Raises:
        TypeError, ValueError: If a size or position is not an integer, or not in the table.

    Example:
        >>> add_positions = SinusoidalPositions(4, max_length=10)
        >>> add_positions(torch.zeros(2, 4))
        tensor([[0.0000, 1.0000, 0.0000, 1.0000],
                [0.8415, 0.5403, 0.0100, 0.9999]])

    Source:
        Vaswani et al. (2017), section 3.5; Lab 13 (Nowakowski, 2024) uses base 1,000.
    """

    def __init__(self, embed_dim: int, *, max_length: int = 512, base: float = 10_000.0) -> None:
        super().__init__()
        self.embed_dim = check_size("embed_dim", embed_dim)
        self.max_length = check_size("max_length", max_length)
        self.base = check_positive("base", base)

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        """Return the tokens with their positions added."""
        check_tokens(x, self.embed_dim)
        n = x.shape[-2]
        if n > self.max_length:
            raise ValueError(f"x: expected at most max_length = {self.max_length} tokens, got {n}")
        # Made anew in each call, the table is on every device and exact in every dtype.
        if positions is None:
            positions = torch.arange(n, device=x.device)  # (n,)
        check_positions(positions, x)
        check_range("positions", positions, 0, self.max_length - 1, "max_length - 1")
        if positions.numel() < self.max_length:
            return x + self._waves(positions, x.dtype)  # (..., n, d)
        table = self._waves(torch.arange(self.max_length, device=x.device), x.dtype)
        return x + F.embedding(positions.long(), table)  # (..., n, d)

    def _waves(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        angle = angles(positions, self.embed_dim, self.base)  # (..., d / 2), rounded up
        pairs = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # (..., d or d + 1)
        return pairs[..., : self.embed_dim].to(dtype)  # (..., d)

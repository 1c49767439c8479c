"""Rotary positions: a query and a key are rotated by angles that grow with their positions."""

import torch
from torch import Tensor

from attention._checks import check_floating, check_positions, check_positive


def apply_rotary(
    x: Tensor, positions: Tensor | None = None, *, base: float = 10_000.0, interleaved: bool = False
) -> Tensor:
    r"""Rotate each pair of numbers in a query or key by an angle that grows with the position.

    .. math::
        \begin{pmatrix} x'_a \\ x'_b \end{pmatrix} =
        \begin{pmatrix} \cos p\,\theta_i & -\sin p\,\theta_i \\
        \sin p\,\theta_i & \phantom{-}\cos p\,\theta_i \end{pmatrix}
        \begin{pmatrix} x_a \\ x_b \end{pmatrix}, \qquad
        \theta_i = \mathrm{base}^{-2i/k}, \qquad i = 0, \ldots, \tfrac{k}{2} - 1

    Pair i is :math:`(a, b) = (i,\, i + k/2)`, or :math:`(2i,\, 2i + 1)` if ``interleaved``. The
    dot product of a rotated query and a rotated key depends on their two positions only through the
    difference between these. Values are not rotated.

    Args:
        x: The queries or keys, of one head or of several.
        positions: The position ``p`` of each query or key; None counts 0, 1, … from the start.
        base: The base of the angles in the equation; it sets how slowly the slowest pair rotates.
        interleaved: If True, neighbouring numbers form a pair; if False, each number in the first
            half forms a pair with one in the second. Weights trained with one layout do not fit the
            other.

    Shape:
        - x: :math:`(..., n, k)`, with an even ``k``
        - positions: broadcasts to :math:`(..., n)`, integers or fractions
        - returns: :math:`(..., n, k)`

    Returns:
        The rotated queries or keys. The angles are computed in 64 bits (in 32 on MPS), because in
        32 bits an angle near 10,000 is rounded by up to 0.0005.

    Raises:
        TypeError: If ``x``, ``positions`` or ``base`` has another type.
        ValueError: If ``k`` is odd, ``base`` is not above 0, or shapes do not fit.

    Example:
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> apply_rotary(x)
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])

        Scores stay the same when all positions are shifted:

        >>> query, key = torch.randn(2, 7, 4, dtype=torch.float64)
        >>> at = torch.arange(7)
        >>> scores = apply_rotary(query, at) @ apply_rotary(key, at).T
        >>> shifted = apply_rotary(query, at + 100) @ apply_rotary(key, at + 100).T
        >>> torch.allclose(scores, shifted)
        True

    Source:
        Su et al. (2021), RoFormer: Enhanced transformer with rotary position embedding, equation 34
        (interleaved). GPT-NeoX pairs the two halves, and so does LLaMA as Hugging Face ships it.
    """
    check_floating("x", x)
    if x.dim() < 2 or x.shape[-1] % 2 or not x.shape[-1]:
        raise ValueError(f"x: expected shape (..., n, k) with an even k, got {tuple(x.shape)}")
    base = check_positive("base", base)
    k = x.shape[-1]
    if positions is None:
        positions = torch.arange(x.shape[-2], device=x.device)  # (n,)
    check_positions(positions, x, fractions=True)
    angle = angles(positions, k, base)  # (..., n, k / 2)
    wide = torch.promote_types(x.dtype, torch.float32)
    cos, sin = angle.cos().to(wide), angle.sin().to(wide)
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]  # (..., n, k / 2)
    else:
        a, b = x.chunk(2, dim=-1)  # (..., n, k / 2)
    pairs = a * cos - b * sin, a * sin + b * cos  # (..., n, k / 2), (..., n, k / 2)
    rotated = torch.stack(pairs, -1).flatten(-2) if interleaved else torch.cat(pairs, dim=-1)
    return rotated.to(x.dtype)  # (..., n, k)


def angles(positions: Tensor, width: int, base: float) -> Tensor:
    """Compute the angle of each pair of numbers at each position, p · base^(−2i/width)."""
    device = positions.device
    exact = torch.float32 if device.type == "mps" else torch.float64  # MPS has no 64 bits
    theta = base ** -(torch.arange(0, width, 2, device=device, dtype=exact) / width)  # (pairs)
    return positions.to(exact)[..., None] * theta  # (..., pairs)

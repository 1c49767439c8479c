"""The masks: which keys a query may attend to."""

import torch
from torch import Tensor

from attention._checks import check_integers, check_lengths, check_size


def causal_mask(
    n: int, m: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    r"""Make the causal mask, which lets each token attend only to itself and the tokens before it.

    .. math:: \mathrm{mask}_{ij} = (j \le i + m - n)

    Args:
        n: The number of queries, which are the last of the ``m`` tokens.
        m: The number of keys; None means ``n``, so that token i attends to tokens 0 … i.
        device: The device of the mask.

    Shape:
        - returns: :math:`(n, m)`, boolean, True = may attend, for any leading dimensions

    Raises:
        TypeError: If ``n`` or ``m`` is not an integer.
        ValueError: If ``n`` is negative, or ``m`` less than ``n``.

    Where queries and keys differ in number, torch has two causal masks: this one, which it calls
    ``causal_lower_right`` (``torch.nn.attention.bias``), and ``causal_upper_left``, which is
    ``causal_mask(m)[:n]`` here and what ``is_causal=True`` means in torch's own functions. Ours
    refuse ``is_causal=True`` there, so that nobody gets one for the other.

    Example:
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)

        Two new tokens after one whose key is already in a cache:

        >>> causal_mask(2, 3).int()
        tensor([[1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)

    Source:
        Vaswani et al. (2017), Attention is all you need, section 3.2.3.
    """
    query, key = _token_numbers(n, m, device)  # (n, 1), (m,)
    return key <= query  # (n, m)


def window_mask(
    n: int, window: int, m: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    r"""Make the mask of a sliding window: a token attends to tokens less than w positions away.

    .. math:: \mathrm{mask}_{ij} = (|i + m - n - j| < w)

    Combined by ``&`` with :func:`causal_mask`, it lets each token attend to itself and to the
    w − 1 tokens before it. ``window`` is w, at least 1; the other arguments, shape and errors are
    those of :func:`causal_mask`.

    Example:
        >>> window_mask(4, 2).int()
        tensor([[1, 1, 0, 0],
                [1, 1, 1, 0],
                [0, 1, 1, 1],
                [0, 0, 1, 1]], dtype=torch.int32)

    Source:
        Beltagy, Peters & Cohan (2020), Longformer, section 3.1.
    """
    window = check_size("window", window)
    query, key = _token_numbers(n, m, device)  # (n, 1), (m,)
    return (key > query - window) & (key < query + window)  # (n, m)


def _token_numbers(
    n: int, m: int | None, device: torch.device | str | None
) -> tuple[Tensor, Tensor]:
    """Number the queries, which are the last n tokens, and the keys."""
    n = check_size("n", n, at_least=0)
    m = n if m is None else m
    m = check_size("m", m, at_least=n)
    key = torch.arange(m, device=device)  # (m,)
    return key[m - n :, None], key


def padding_mask(lengths: Tensor, n: int | None = None) -> Tensor:
    r"""Make the padding mask, which keeps queries from attending to the padding after a sequence.

    .. math:: \mathrm{mask}_{b1j} = (j < \mathrm{lengths}_b)

    Args:
        lengths: How many of the ``n`` positions of each sequence hold a word.
        n: The padded length; None means the longest of the lengths.

    Shape:
        - lengths: :math:`(...)`, integers from 0 to :math:`n`
        - returns: :math:`(..., 1, n)`, boolean, True = may attend; all queries share it, and ``&``
          combines it with :func:`causal_mask`

    Raises:
        TypeError: If ``lengths`` is not a tensor of integers, or ``n`` not an integer.
        ValueError: If a length is negative or exceeds ``n``.

    Example:
        >>> padding_mask(torch.tensor([1, 3]), 3).int()
        tensor([[[1, 0, 0]],
        <BLANKLINE>
                [[1, 1, 1]]], dtype=torch.int32)
    """
    if n is None:
        check_integers("lengths", lengths)
        n = max([0, *lengths.flatten().tolist()])
    lengths, n = check_lengths(lengths, n)
    return torch.arange(n, device=lengths.device) < lengths[..., None, None]  # (..., 1, n)


def allowed_keys(
    attn_mask: Tensor | None, m: int, is_causal: bool, device: torch.device
) -> Tensor | None:
    """Tell which of m keys each query may attend to, (..., n, m); None means all of them."""
    allowed = attn_mask
    if allowed is not None:
        if allowed.is_floating_point():
            allowed = allowed != float("-inf")
        if allowed.dim() < 2:
            allowed = allowed.expand(1, m)  # (1, m)
    if not is_causal:
        return allowed
    return restrict(allowed, causal_mask(m, device=device))  # (..., m, m), of as many queries


def restrict(attn_mask: Tensor | None, allowed: Tensor) -> Tensor:
    """Forbid in a mask of either kind what a boolean one does not allow."""
    if attn_mask is None:
        return allowed
    if attn_mask.dtype == torch.bool:
        return attn_mask & allowed
    return attn_mask.masked_fill(~allowed, float("-inf"))

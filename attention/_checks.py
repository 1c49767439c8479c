"""Errors that name the argument, the expected value and the actual one.

What is checked is what torch would accept in silence, or refuse without naming the argument. That
tensors lie on different devices, torch says by itself.
"""

import math
import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any, cast

import torch
from torch import Tensor, nn

# NumPy's and torch.compile's numbers, too
_NUMBERS: Any = Real, torch.SymFloat, torch.SymInt


def check_size(name: str, size: Any, *, at_least: int = 1) -> int:
    """Return a width or count as Python's own integer; refuse what is none, or too small.

    NumPy's integers of 8 bits, for one, would make 200 + 100 = 44.
    """
    if type(size) is not int and not isinstance(size, torch.SymInt):  # torch.export's
        is_boolean = isinstance(size, bool) or getattr(size, "dtype", None) == torch.bool
        if is_boolean or not hasattr(size, "__index__"):
            raise TypeError(f"{name}: expected an integer, got {kind(size)}")
        try:
            size = operator.index(size)
        except TypeError:  # a tensor or an array of something else, or of several
            raise TypeError(f"{name}: expected an integer, got {kind(size)}") from None
    if size < at_least:
        raise ValueError(f"{name}: expected at least {at_least}, got {size}")
    return cast(int, size)


def check_heads(embed_dim: int, num_heads: int, head_dim: int | None) -> tuple[int, int, int]:
    """Refuse widths that don't fit together; return all three, with the width of a head."""
    embed_dim = check_size("embed_dim", embed_dim)
    num_heads = check_size("num_heads", num_heads)
    if head_dim is None:
        check_divisor("num_heads", num_heads, "embed_dim", embed_dim)
        return embed_dim, num_heads, embed_dim // num_heads
    return embed_dim, num_heads, check_size("head_dim", head_dim)


def check_divisor(name: str, divisor: int, of_name: str, of: int) -> int:
    """Refuse a number that does not divide another one, and return it."""
    divisor = check_size(name, divisor)
    if of % divisor:
        raise ValueError(f"{name}: expected a divisor of {of_name} = {of}, got {divisor}")
    return divisor


def check_number(name: str, number: Any) -> float:
    """Return a number as one that torch can read; refuse what is none, or not finite."""
    if isinstance(number, bool) or not isinstance(number, _NUMBERS):
        raise TypeError(f"{name}: expected a number, got {type(number).__name__}")
    try:
        symbol = isinstance(number, torch.SymFloat | torch.SymInt)
        checked = cast(float, number) if symbol else float(number)
    except OverflowError:  # an integer beyond all floats
        checked = math.inf
    if not abs(checked) < math.inf:  # math.isfinite would break a compiled graph in two
        raise ValueError(f"{name}: expected a finite number, got {str(number)[:40]}")
    return checked


def check_positive(name: str, number: Any) -> float:
    """Return a finite number above 0; refuse anything else."""
    checked = check_number(name, number)
    if checked <= 0:
        raise ValueError(f"{name}: expected a number above 0, got {number}")
    return checked


def check_dropout(name: str, chance: Any) -> float:
    """Return a dropout probability, a number in [0, 1); refuse anything else."""
    checked = check_number(name, chance)
    if not 0 <= checked < 1:
        raise ValueError(f"{name}: expected at least 0 and less than 1, got {chance}")
    return checked


def check_floating(name: str, tensor: Tensor) -> None:
    """Refuse anything but a tensor of floating-point numbers."""
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise TypeError(f"{name}: expected a floating-point tensor, got {kind(tensor)}")


def check_integers(name: str, tensor: Tensor) -> None:
    """Refuse anything but a tensor of integers."""
    is_integer = isinstance(tensor, Tensor) and not torch.is_floating_point(tensor)
    if not is_integer or tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{name}: expected a tensor of integers, got {kind(tensor)}")


def kind(value: object) -> str:
    """Name the dtype of a tensor, and the type of anything else."""
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__


def broadcasts(shape: Sequence[int], to: Sequence[int]) -> bool:
    """Tell whether one shape broadcasts to another without widening it."""
    behind = to[len(to) - len(shape) :]
    return len(shape) <= len(to) and all(
        a == 1 or a == b  # "in" would miss a number among the symbols of torch.compile
        for a, b in zip(shape, behind, strict=True)
    )


def check_range(name: str, tensor: Tensor, low: int, high: int, high_name: str) -> None:
    """Refuse integers below low or above high."""
    # Reading a value on an accelerator would make the host wait for it at every step, and would
    # break a compiled graph in two.
    if tensor.device.type != "cpu" or not tensor.numel() or torch.compiler.is_compiling():
        return
    try:
        smallest, largest = (int(end) for end in tensor.aminmax())
    except RuntimeError:  # torch.vmap hides the values of what it maps over
        return
    if smallest < low or largest > high:
        raise ValueError(
            f"{name}: expected {low} to {high_name} = {high}, got {smallest} to {largest}"
        )


def check_lengths(lengths: Tensor, n: int) -> tuple[Tensor, int]:
    """Refuse lengths that are not integers, or do not fit into n positions; return both."""
    n = check_size("n", n, at_least=0)
    check_integers("lengths", lengths)
    lengths = lengths.long()  # torch can do little with unsigned integers
    check_range("lengths", lengths, 0, n, "n")
    return lengths, n


def check_positions(positions: Tensor, x: Tensor, *, fractions: bool = False) -> None:
    """Refuse positions that are not integers, or don't go with the tokens' shape."""
    if not (fractions and isinstance(positions, Tensor) and positions.is_floating_point()):
        check_integers("positions", positions)
    if not broadcasts(positions.shape, x.shape[:-1]):
        raise ValueError(
            f"positions: expected a shape that broadcasts to {tuple(x.shape[:-1])}, "
            f"got {tuple(positions.shape)}"
        )


def check_ids(ids: Tensor, lengths: Tensor | None, vocab_size: int) -> None:
    """Refuse ids that the vocabulary doesn't hold, or lengths that don't go with them."""
    check_integers("ids", ids)
    if ids.dim() < 1:
        raise ValueError(f"ids: expected shape (..., n), got {tuple(ids.shape)}")
    check_range("ids", ids, 0, vocab_size - 1, "vocab_size - 1")
    if lengths is None:
        return
    check_integers("lengths", lengths)
    if lengths.shape != ids.shape[:-1]:
        raise ValueError(
            f"lengths: expected shape {tuple(ids.shape[:-1])}, one per row of ids, "
            f"got {tuple(lengths.shape)}"
        )


def check_tokens(x: Tensor, width: int, first: nn.Module | Tensor | None = None) -> None:
    """Refuse token vectors that don't fit a layer, given the parameter or module it begins with."""
    check_floating("x", x)
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"x: expected shape (..., n, {width}), got {tuple(x.shape)}")
    # What was put in its place, or is called before it, knows best what it can read.
    if isinstance(first, nn.Module) and not first._forward_pre_hooks:
        first = first.weight if type(first) in (nn.Linear, nn.LayerNorm) else None
    if not isinstance(first, Tensor) or x.dtype == first.dtype:
        return
    if not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"x: expected {first.dtype}, the layer's dtype, got {x.dtype}")


def check_torchs(layer: nn.Module, kind: type[nn.Module]) -> None:
    """Refuse what is not torch's own layer of this kind, or computes something else."""
    if not isinstance(layer, kind):
        raise TypeError(f"layer: expected an nn.{kind.__name__}, got {type(layer).__name__}")
    own = [
        name
        for name in ("forward", "_sa_block", "_ff_block")
        if name in vars(layer) or getattr(type(layer), name, None) is not getattr(kind, name, None)
    ]
    own += ["hooks"] if layer._forward_hooks or layer._forward_pre_hooks else []
    if own:
        raise TypeError(
            f"layer: expected an nn.{kind.__name__} as torch makes it, got a "
            f"{type(layer).__name__} with {own[0]} of its own"
        )


def check_attention_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    scale: float | None,
    is_causal: bool,
) -> float | None:
    """Refuse queries, keys, values, a mask and a scale that do not fit together; give the scale."""
    tensors = {"query": query, "key": key, "value": value}
    for name, tensor in tensors.items():
        check_floating(name, tensor)
        if tensor.dtype != query.dtype:
            raise TypeError(
                f"{name}: expected {query.dtype}, the query's dtype, got {tensor.dtype}"
            )
    try:
        leading = torch.broadcast_shapes(*(tensor.shape[:-2] for tensor in tensors.values()))
        (n, k), (m, _) = query.shape[-2:], value.shape[-2:]
        fit = k > 0 and key.shape[-2:] == (m, k)
    except (RuntimeError, ValueError):  # no common leading dimensions, or fewer than two
        fit = False
    if not fit:
        raise ValueError(
            "query, key, value: expected shapes (..., n, k), (..., m, k) and (..., m, v), got "
            + ", ".join(str(tuple(tensor.shape)) for tensor in tensors.values())
        )
    scale = None if scale is None else check_number("scale", scale)
    if is_causal and n != m:
        raise ValueError(
            f"is_causal: expected as many keys as queries, {n}, got {m}; give attn_mask instead: "
            "causal_mask(n, m) for queries that are the last tokens (torch's causal_lower_right), "
            "or causal_mask(m)[:n] for the first (causal_upper_left, torch's is_causal)"
        )
    if attn_mask is not None:
        check_mask(attn_mask, (*leading, n, m), query.device)
    return scale


def check_mask(
    attn_mask: Tensor,
    scores_shape: tuple[int, ...],
    device: torch.device,
    scores: str = "the scores",
) -> None:
    """Refuse a mask that is neither boolean nor added, or does not broadcast to the scores."""
    is_tensor = isinstance(attn_mask, Tensor)
    if not is_tensor or not (attn_mask.dtype == torch.bool or attn_mask.is_floating_point()):
        raise TypeError(
            "attn_mask: expected a tensor, boolean, True = may attend, or floating-point, added to "
            f"the scores, got {kind(attn_mask)}"
        )
    if attn_mask.device != device:
        raise ValueError(
            f"attn_mask: expected device {device}, the query's, got {attn_mask.device}"
        )
    if not broadcasts(attn_mask.shape, scores_shape):
        is_row_per_text = attn_mask.shape == (*scores_shape[:-2], scores_shape[-1])
        raise ValueError(
            f"attn_mask: expected a shape that broadcasts to {scores}, {scores_shape}, "
            f"got {tuple(attn_mask.shape)}"
            + ("; one row of keys per text is attn_mask[..., None, :]" if is_row_per_text else "")
        )

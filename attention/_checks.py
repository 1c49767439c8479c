"""Errors that name the argument, what came and what was expected."""

import torch
from torch import Tensor


def check_size(name: str, size: object) -> None:
    """Refuse a width or count that is no integer of at least 1."""
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"{name}: expected an integer, got {type(size).__name__}")
    if size < 1:
        raise ValueError(f"{name}: expected at least 1, got {size}")


def check_lengths(lengths: Tensor, n: int) -> None:
    """Refuse lengths that are no integers, or do not fit into n positions."""
    if not isinstance(lengths, Tensor):
        raise TypeError(f"lengths: expected a tensor, got {type(lengths).__name__}")
    if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool:
        raise TypeError(f"lengths: expected a tensor of integers, got {lengths.dtype}")
    # Looking at a value on an accelerator would make the host wait for it at every step.
    if lengths.device.type == "cpu" and lengths.numel():
        low, high = (int(end) for end in lengths.aminmax())
        if low < 0 or high > n:
            raise ValueError(f"lengths: expected 0 to n = {n}, got {low} to {high}")


def check_tokens(x: Tensor, width: int, parameter: Tensor) -> None:
    """Refuse token vectors that a layer with this width and these parameters can't read."""
    if not isinstance(x, Tensor):
        raise TypeError(f"x: expected a tensor, got {type(x).__name__}")
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"x: expected shape (..., n, {width}), got {tuple(x.shape)}")
    if x.device != parameter.device:
        raise ValueError(f"x: expected device {parameter.device}, the layer's, got {x.device}")
    if x.dtype != parameter.dtype and not torch.is_autocast_enabled(x.device.type):
        raise TypeError(f"x: expected {parameter.dtype}, the layer's dtype, got {x.dtype}")


def check_attention_inputs(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None
) -> None:
    """Refuse queries, keys, values and a mask that do not fit together."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}: expected a tensor, got {type(tensor).__name__}")
        if not tensor.is_floating_point():
            raise TypeError(f"{name}: expected a floating-point tensor, got {tensor.dtype}")
        if tensor.dtype != query.dtype:
            raise TypeError(
                f"{name}: expected {query.dtype}, the query's dtype, got {tensor.dtype}"
            )
        if tensor.device != query.device:
            raise ValueError(
                f"{name}: expected device {query.device}, the query's, got {tensor.device}"
            )
        if tensor.dim() < 2:
            raise ValueError(
                f"{name}: expected at least 2 dimensions, (..., length, width), "
                f"got shape {tuple(tensor.shape)}"
            )
    n, k = query.shape[-2:]
    m = key.shape[-2]
    if k < 1:
        raise ValueError(f"query: expected a width of at least 1, got shape {tuple(query.shape)}")
    if key.shape[-1] != k:
        raise ValueError(
            f"key: expected width {k}, the query's, got {key.shape[-1]} in shape {tuple(key.shape)}"
        )
    if value.shape[-2] != m:
        raise ValueError(
            f"value: expected length {m}, the key's, got {value.shape[-2]} "
            f"in shape {tuple(value.shape)}"
        )
    shapes = [tensor.shape[:-2] for tensor in (query, key, value)]
    try:
        leading = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise ValueError(
            "query, key, value: expected leading dimensions that broadcast, got "
            + ", ".join(str(tuple(shape)) for shape in shapes)
        ) from None
    if attn_mask is not None:
        check_mask(attn_mask, (*leading, n, m), query.device)


def check_mask(attn_mask: Tensor, scores_shape: tuple[int, ...], device: torch.device) -> None:
    """Refuse a mask that is not boolean or does not broadcast to the scores."""
    if not isinstance(attn_mask, Tensor):
        raise TypeError(f"attn_mask: expected a tensor, got {type(attn_mask).__name__}")
    if attn_mask.dtype != torch.bool:
        raise TypeError(
            f"attn_mask: expected a boolean tensor, True = may attend, got {attn_mask.dtype}"
        )
    if attn_mask.device != device:
        raise ValueError(
            f"attn_mask: expected device {device}, the query's, got {attn_mask.device}"
        )
    try:
        fits = torch.broadcast_shapes(attn_mask.shape, scores_shape) == torch.Size(scores_shape)
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            f"attn_mask: expected a shape that broadcasts to the scores, {scores_shape}, "
            f"got {tuple(attn_mask.shape)}"
        )

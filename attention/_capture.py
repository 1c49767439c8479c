"""The attention weights of any model, captured while it runs."""

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from attention.layers.base import AttentionLayer


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    r"""Capture the attention weights of every attention layer in a model while the model runs.

    Inside the ``with`` block the model returns the same as outside, but its attention layers
    compute the formula step by step, because the fused kernel stores no weights.

    Args:
        model: Any module that contains attention layers, either those of this package or
            ``nn.MultiheadAttention``, which may also be inside an ``nn.TransformerEncoder``.

    Shape:
        - weights: :math:`(..., h, n, m)` for layers with several heads, :math:`(..., n, n)` for
          self-attention with one head, :math:`(..., n)` for pooling

    Returns:
        A context manager. It gives a dictionary that maps the name of each layer to the weights of
        its last call, as ``need_weights=True`` returns them. For torch's layers, too, the weights
        are per head.

    Raises:
        ValueError: If the model contains no attention layer.

    Example:
        >>> from torch import nn
        >>> layer = nn.TransformerEncoderLayer(6, nhead=2, batch_first=True)
        >>> encoder = nn.TransformerEncoder(layer, num_layers=3).eval()
        >>> with capture(encoder) as weights:
        ...     _ = encoder(torch.rand(5, 7, 6))
        >>> list(weights)
        ['layers.0.self_attn', 'layers.1.self_attn', 'layers.2.self_attn']
        >>> weights["layers.0.self_attn"].shape
        torch.Size([5, 2, 7, 7])
    """
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, AttentionLayer | nn.MultiheadAttention)
    }
    if not layers:
        raise ValueError(f"model: expected one with attention in it, got {type(model).__name__}")
    captured: dict[str, Tensor] = {}
    with ExitStack() as hooks:
        for name, module in layers.items():
            keep = _Keeper(captured, name)
            before = module.register_forward_pre_hook(keep.request, with_kwargs=True)
            after = module.register_forward_hook(keep.store)
            hooks.callback(before.remove)
            hooks.callback(after.remove)
        yield captured


class _Keeper:
    """Request the weights of one layer, and return to its caller what the caller requested."""

    def __init__(self, captured: dict[str, Tensor], name: str) -> None:
        self.captured, self.name = captured, name
        self.requested: dict[str, Any] = {}

    def request(
        self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        is_torchs = isinstance(module, nn.MultiheadAttention)
        if is_torchs:  # which takes them all by position, too
            call = inspect.signature(module.forward).bind(*arguments, **options)
            arguments, options = (), call.arguments
        self.requested = {"need_weights": is_torchs, "average_attn_weights": True} | options
        options = options | {"need_weights": True}
        return arguments, options | ({"average_attn_weights": False} if is_torchs else {})

    def store(self, module: nn.Module, arguments: tuple[Any, ...], output: Any) -> Any:
        context, weights = output
        self.captured[self.name] = weights
        need_weights = self.requested["need_weights"]
        if not isinstance(module, nn.MultiheadAttention):
            return output if need_weights else context
        if need_weights and self.requested["average_attn_weights"]:
            weights = weights.mean(dim=-3)
        return context, weights if need_weights else None

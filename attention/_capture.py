"""The attention weights of any model, captured while it runs."""

import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention.layers.base import AttentionLayer


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    r"""Capture the attention weights of every attention layer in a model while the model runs.

    Inside the ``with`` block the model returns the same as outside, but its attention layers
    compute the formula step by step, because the fused kernel stores no weights; a compiled model
    runs as it was before. Blocks may be nested, and what else watches a layer sees no difference.

    Args:
        model: Any module that contains attention layers, either those of this package or
            ``nn.MultiheadAttention``, which may also be inside an ``nn.TransformerEncoder``.

    Shape:
        - weights: :math:`(..., h, n, m)` for layers with several heads, :math:`(..., n, n)` for
          self-attention with one head, :math:`(..., n)` for pooling

    Returns:
        A context manager. It gives a dictionary that maps the name of each layer to the weights of
        its last call, as ``need_weights=True`` returns them. For torch's layers, too, the weights
        are per head. A layer that was not called in the block is named in a warning.

    Raises:
        TypeError, ValueError: If the model contains no attention layer, or one whose ``forward``
            does not take ``need_weights``.

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
    with ExitStack() as stack:
        stack.enter_context(_no_shortcuts())
        for name, module in layers.items():
            try:
                inspect.signature(module.forward).bind_partial(need_weights=True)
            except TypeError:
                raise TypeError(
                    f"model: expected layers called with need_weights, got {name or 'one'}, a "
                    f"{type(module).__name__}, whose forward does not take it"
                ) from None
            stack.callback(_Capturing(module, partial(captured.__setitem__, name)).close)
        yield captured
    if missing := [name for name in layers if name not in captured]:
        warnings.warn(
            f"capture: expected a call of every attention layer, got none of {missing}",
            stacklevel=3,
        )


_open_blocks: set[object] = set()
_after_the_last = ExitStack()


@contextmanager
def _no_shortcuts() -> Iterator[None]:
    """Switch off what calls no layer, compiled code and torch's fast path, until no block is open.

    Blocks of several threads or generators need not end in the order in which they began.
    """
    block = object()
    if not _open_blocks:
        if "torch._dynamo" in sys.modules:  # else nothing is compiled, and importing it takes long
            _after_the_last.enter_context(torch.compiler.set_stance("force_eager"))
        before = torch.backends.mha.get_fastpath_enabled()
        _after_the_last.callback(torch.backends.mha.set_fastpath_enabled, before)
        torch.backends.mha.set_fastpath_enabled(False)
    _open_blocks.add(block)
    try:
        yield
    finally:
        _open_blocks.remove(block)
        if not _open_blocks:
            _after_the_last.close()


class _Capturing:
    """A layer's ``forward`` that stores the weights, and returns to its caller what it requested.

    Unlike a hook, it changes nothing for the hooks of others.
    """

    def __init__(self, module: nn.Module, store: Callable[[Tensor], None]) -> None:
        self.module, self.store, self.forward = module, store, module.forward
        self.before, self.is_open = vars(module).get("forward"), True
        module.forward = self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not self.is_open:
            return self.forward(*arguments, **options)
        if not isinstance(self.module, nn.MultiheadAttention):
            context, weights = self.forward(*arguments, **options | {"need_weights": True})
            self.store(weights)
            return (context, weights) if options.get("need_weights") else context
        # torch's takes all options by position, too.
        options = _TORCHS.bind(self.module, *arguments, **options).arguments
        del options["self"]
        needed = {"need_weights": True, "average_attn_weights": False}
        context, weights = self.forward(**options | needed)
        self.store(weights)
        if options.get("average_attn_weights", True):
            weights = weights.mean(dim=-3)
        return context, weights if options.get("need_weights", True) else None

    def close(self) -> None:
        """Store no more, and give the layer back the ``forward`` below all that is closed."""
        self.is_open = False
        top = vars(self.module).pop("forward", None)
        while isinstance(top, _Capturing) and not top.is_open:
            top = top.before
        if top is not None:
            self.module.forward = top

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a copy of the layer, which nobody captures, compute by itself."""
        return getattr, (self.module, "forward")  # a new module has none of its own yet


_TORCHS = inspect.signature(nn.MultiheadAttention.forward)

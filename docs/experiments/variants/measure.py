"""What is measured of a trained model: losses, the first token, sizes, ranks, copying, costs."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor

from attention.analysis import effective_rank
from attention.language import LanguageModel
from attention.layers.block import TransformerBlock
from experiments.language.data import pieces
from experiments.language.train import losses
from experiments.variants.model import (
    LENGTH,
    WINDOW,
    VariantAttention,
    attentions,
    build,
    functions,
)

BINS = ((1, 8), (8, 32), (32, 64), (64, 128))  # positions of a piece
PASSAGE = 63


@torch.no_grad()
def mean_losses(model: LanguageModel, batch: Tensor) -> Tensor:
    """Average the loss of each position over a batch (B, n + 1)."""
    return torch.cat([losses(model, some) for some in batch.split(50)]).mean(dim=0)  # (n,)


@torch.no_grad()
def measure(model: LanguageModel, ids: Tensor, starts: Tensor) -> dict[str, Any]:
    """Measure a model on pieces of reviews that it was not trained on.

    Shape:
        - ids: :math:`(N)`, all tokens in a row
        - starts: :math:`(B)`, where the pieces begin
    """
    model.eval()
    batch = pieces(ids, starts, LENGTH)  # (B, n + 1)
    at = mean_losses(model, batch)  # (n,)
    passage = batch[:, 1 : PASSAGE + 1]  # (B, PASSAGE)
    twice = torch.cat([batch[:, :1], passage, passage], dim=1)  # (B, 2 * PASSAGE + 1)
    copied = mean_losses(model, twice)  # (2 * PASSAGE,)
    longer = pieces(ids, starts, 2 * LENGTH)  # (B, 2n + 1)
    config, model.config = model.config, replace(model.config, max_length=2 * LENGTH)
    beyond = mean_losses(model, longer)  # (2n,)
    model.config = config
    found = {
        "loss": at.mean().item(),
        "loss by position": {f"{a} to {b - 1}": at[a:b].mean().item() for a, b in BINS},
        "loss of a passage, first time": copied[1:PASSAGE].mean().item(),
        "loss of a passage, second time": copied[PASSAGE + 1 :].mean().item(),
        "loss within the trained length": beyond[LENGTH // 2 : LENGTH].mean().item(),
        "loss beyond the trained length": beyond[LENGTH:].mean().item(),
    }
    return found | inside(model, batch[:20, :-1])


@torch.no_grad()
def inside(model: LanguageModel, batch: Tensor) -> dict[str, float]:
    """Look at the weights, the values and the activations of all layers and heads."""
    first, largest_first, norms, ranks, largest = [], [], [], [], []
    x = model.embedding(batch)  # (B, n, d)
    for block, attention in zip(model.encoder.blocks, attentions(model), strict=True):
        before = cast(TransformerBlock, block).norm1(x)  # (B, n, d)
        weights = attention.weights(before)  # (B, h, n, n)
        on_first = weights[..., LENGTH // 4 :, 0].mean(dim=(0, 2))  # (h,)
        first.append(on_first.mean())
        largest_first.append(on_first.max())
        norm = attention.inputs(before)[0]["value"].norm(dim=-1)  # (B, h, n)
        norms.append(norm[..., 0].mean() / norm[..., 1:].mean())
        ranks.append(effective_rank(weights.double()).mean())
        x = block(x, is_causal=True)  # (B, n, d)
        largest.append(x.abs().max() / x.abs().median())
    stacked = torch.stack
    return {
        "weight on the first token": stacked(first).mean().item(),
        "weight on the first token, largest head": stacked(largest_first).max().item(),
        "norm of the first value, relative": stacked(norms).mean().item(),
        "effective rank of the weights": stacked(ranks).mean().item(),
        "largest activation over the median": stacked(largest).max().item(),
    }


def cached_numbers(name: str, n: int) -> int:
    """Count the numbers that all layers keep after n tokens."""
    model = build(name)
    count = 0
    for layer in attentions(model):
        k = model.config.embed_dim // layer.num_heads
        if layer.kind == "linear":
            count += layer.num_heads * k * (k + 1)
        elif layer.kind == "delta rule":
            count += layer.num_heads * k * k
        else:
            held = min(WINDOW, n) if layer.kind == "window" else n
            count += 2 * layer.num_heads * k * held
    return count


@torch.no_grad()
def seconds(name: str, n: int) -> dict[str, float]:
    """Time the attention of all layers, for a new token behind n − 1 others."""
    layers = attentions(build(name).eval())
    x = torch.randn(1, n, 64)  # (1, n, d)
    return {
        "with a cache": fastest(lambda: [_step(layer, x) for layer in layers]),
        "without a cache": fastest(lambda: [layer(x) for layer in layers]),
    }


def fastest(run: Callable[[], Any], repeats: int = 15) -> float:
    """Return the shortest of several times, in seconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return min(times)


def _step(layer: VariantAttention, x: Tensor) -> Tensor:
    """Attend with the last token alone, to what is kept of the others."""
    lesson, n = functions(), x.shape[-2]
    tensors, options = layer.inputs(x[..., -1:, :])  # what one new token needs
    k = tensors["key"].shape[-1]
    shape = (*x.shape[:-2], layer.num_heads)
    context: Tensor
    if layer.kind == "delta rule":
        context, _ = lesson.delta_rule(**tensors, **options, state=torch.ones(*shape, k, k))
        return context
    if layer.kind == "linear":
        context, _ = lesson.linear_recurrence(**tensors, state=torch.ones(*shape, k, k + 1))
        return context
    held = min(WINDOW, n) if layer.kind == "window" else n
    tensors["key"] = torch.ones(*shape, held, k)
    tensors["value"] = torch.ones(*shape, held, k)
    if layer.kind == "window":  # what is kept is the window
        context = lesson.softmax_attention(**tensors)
        return context
    return layer.attend(tensors, options, is_causal=False)

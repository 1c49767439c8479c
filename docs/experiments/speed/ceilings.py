"""Compare an epoch of ours with what this machine can do at best, and print JSON.

The operations and bytes that an epoch cannot do without are counted. How fast this machine
multiplies two large matrices and copies a large array is measured in the same process. The
quotients are the times that an epoch would take if both ran at their ceilings, one after the other.
Exponentials are counted, too, but have no ceiling, because a kernel may approximate them.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from torch.profiler import ProfilerActivity, profile

from attention import SelfAttention
from attention.sentiment.batches import Batch
from attention.sentiment.trainer import split_batch
from experiments.speed.side import Corrected

FLOAT = 4  # bytes

# The groups to which torch's operations belong; the rest is "everything else".
GROUPS = {
    "attention, forward": ("_scaled_dot_product_flash_attention_for_cpu",),
    "attention, backward": ("_scaled_dot_product_flash_attention_for_cpu_backward",),
    "projections": ("mm", "addmm", "bmm"),
    "padding widths, copies": ("fill_", "copy_", "constant_pad_nd"),
    "gradient of the embedding": ("embedding_dense_backward",),
    "Adam": ("_fused_adam_",),
}


def best_rate(work: float, do: Callable[[], object], repeats: int = 7) -> dict[str, float]:
    """Time something a few times; its ceiling is the best, and the median shows how it varies."""
    do()
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        do()
        taken.append(time.process_time() - started)
    return {"best": work / min(taken), "median": work / median(taken), "n": repeats}


def ceilings() -> dict[str, dict[str, float]]:
    """Measure both ceilings."""
    size = 2_048
    a, b = torch.randn(2, size, size)
    x, y = torch.randn(2, 1 << 26)  # 256 MiB each, too large for any cache
    return {
        "flops_per_second": best_rate(2 * size**3, lambda: a @ b),
        "bytes_per_second": best_rate(2 * x.nbytes, lambda: y.copy_(x)),
    }


def count(side: Corrected) -> dict[str, float]:
    """Count what an epoch cannot do without."""
    trainer = side.trainer
    config = trainer.model.config
    attention = trainer.model.attention
    assert isinstance(attention, SelfAttention)  # the preset's
    d, k, v = config.embed_dim, attention.key_dim, attention.value_dim
    batches = [batch for batch, _ in trainer._batches() if isinstance(batch, Batch)]
    pieces = [p.ids.shape for batch in batches for p in split_batch(batch)]
    tokens = sum(rows * n for rows, n in pieces)
    cells = sum(rows * n * n for rows, n in pieces)
    parameters = sum(p.numel() for p in trainer.model.parameters())
    # Per cell of the scores: QKᵀ and weights V forward; backward QKᵀ once more, since the weights
    # are not stored, then the gradients of V, of the weights, of Q and of K.
    flops_of_attention = cells * 2 * ((k + v) + (k + v + v + k + k))
    # Per token: X W forward, and two products of the same size backward.
    flops_of_projections = tokens * 3 * 2 * d * (k + k + v)
    # Numbers read or written per token: the word's vector looked up and written, its position
    # added, X read, Q, K, V written and read, the context written and averaged. Backward reads
    # and writes about twice as much.
    numbers = tokens * 3 * (2 * d + 3 * d + d + 2 * (2 * k + v) + 2 * v)
    # Per parameter: a piece's gradient cleared and added; Adam reads 4 numbers and writes 3.
    numbers += parameters * (2 * len(pieces) + 7 * trainer.batches_per_epoch)
    return {
        "tokens": tokens,
        "tokens_without_padding": int(trainer.lengths.sum()),
        "cells": cells,
        "cells_of_the_lab": len(trainer.lengths) * config.max_length**2,
        "parameters": parameters,
        "flops": flops_of_attention + flops_of_projections,
        "exps": 2 * cells,
        "bytes": FLOAT * numbers,
    }


def profiled(side: Corrected) -> dict[str, float]:
    """Measure what share of an epoch's time each kind of operation takes."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        side.train_only()
    seconds = {event.key: event.self_cpu_time_total for event in profiler.key_averages()}
    whole = sum(seconds.values())
    shares = {
        name: sum(seconds.get(f"aten::{operation}", 0.0) for operation in operations) / whole
        for name, operations in GROUPS.items()
    }
    return shares | {"everything else": 1 - sum(shares.values())}


def main() -> None:
    """Print ceilings, counts, and how far an epoch is from them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    torch.set_num_threads(1)
    side = Corrected(args.data)
    side.prepare()
    side.start()
    ceiling = ceilings()
    needed = count(side)
    epochs = [side.train_only() for _ in range(3)]
    floor = {
        "products": needed["flops"] / ceiling["flops_per_second"]["best"],
        "memory": needed["bytes"] / ceiling["bytes_per_second"]["best"],
    }
    print(
        json.dumps(
            {
                "ceilings": ceiling,
                "needed_an_epoch": needed,
                "floor_seconds": floor,
                "epoch_cpu_seconds": {
                    "median": median(epochs),
                    "min": min(epochs),
                    "max": max(epochs),
                    "n": len(epochs),
                },
                "share_of_ceiling": sum(floor.values()) / median(epochs),
                "shares_of_time": profiled(side),
            }
        )
    )


if __name__ == "__main__":
    main()

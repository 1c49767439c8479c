"""Time a causal layer that leaves causality to the kernel against one that is given a mask.

``nox -s experiments -- speed causal`` takes a minute. The layer is the same ``MultiHeadAttention``,
once with ``is_causal=True`` and once with ``causal_mask(n)`` as its ``attn_mask``, without
gradients. The two ways take turns, each time in a new process. Memory is what the first call adds
to the peak of the process, including the mask; time is the median processor time of later calls.
"""

import argparse
import json
import sys
import time
from statistics import median
from typing import Any

from experiments.speed.processes import origin, peak_mib, read, run_module, spread, write

SIZES = {"batch": 1, "n": 2_048, "embed_dim": 256, "num_heads": 8}
WAYS = ("is_causal", "attn_mask")


def measure(way: str, repeats: int) -> dict[str, float]:
    """Measure one way in this process: the time of a call, and the memory that it needs."""
    import torch

    from attention import MultiHeadAttention, causal_mask

    torch.set_num_threads(1)
    n, width = SIZES["n"], SIZES["embed_dim"]
    layer = MultiHeadAttention(width, SIZES["num_heads"]).eval()
    x = torch.randn(SIZES["batch"], n, width)  # (B, n, d)

    def options(n: int) -> dict[str, Any]:
        return {"is_causal": True} if way == "is_causal" else {"attn_mask": causal_mask(n)}

    seconds = []
    with torch.no_grad():
        layer(x[:, :16], **options(16))  # a first call has costs that are not the layer's
        before = peak_mib()
        causality = options(n)
        layer(x, **causality)
        mib = peak_mib() - before
        for _ in range(repeats):
            started = time.process_time()
            layer(x, **causality)
            seconds.append(time.process_time() - started)
    return {"cpu_seconds": median(seconds), "mib": mib}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this measurement."""
    parser.add_argument("--rounds", type=int, default=5, help="processes of each way")
    parser.add_argument("--repeats", type=int, default=10, help="timed calls of each process")


def run(args: argparse.Namespace) -> None:
    """Let the two ways take turns, print both and their ratio, and write them."""
    measured: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(args.rounds):
        for way in WAYS:
            measured[way].append(run_module("causal", way, str(args.repeats)))
    result: dict[str, Any] = {
        "origin": origin("causal", threads=1),
        "sizes": {**SIZES, "dtype": "float32"},
    }
    for figure in ("cpu_seconds", "mib"):
        of = {way: spread([each[figure] for each in measured[way]]) for way in WAYS}
        ratio = of["is_causal"]["median"] / of["attn_mask"]["median"]
        result[figure] = {**of, "ratio": ratio}
        print(
            f"{figure}: {of['is_causal']['median']:.3g} with is_causal=True, "
            f"{of['attn_mask']['median']:.3g} with a mask: {ratio:.2f} of it"
        )
    write(args.out, read(args.out) | {"causal": result})


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))

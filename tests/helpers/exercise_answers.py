"""Answers to the exercises: the solutions of the pages, and what likely slips give."""

import contextlib
import functools
import io
import math
import re
import warnings

import torch
from run_pages import ROOT

import attention.exercises
from attention import QKSelfAttention, SelfAttentionV2, apply_rotary

FOLDER = ROOT / "docs/exercises"
EXERCISE = re.compile(
    r"^::::\{exercise\}\n:label: ex-([\w-]+)\n(.*?)^::::\n+"
    r"^:::\{solution-start\} ex-\1\n:label: sol-\1\n:::\n(.*?)^:::\{solution-end\}",
    re.DOTALL | re.MULTILINE,
)
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)?(.*?)^```", re.DOTALL | re.MULTILINE)
TEXTS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.md"))
    if path.stem != "index"
}
INF = math.inf


@functools.cache
def executed():
    """Run all pages; return what each exercise's solution is and is told, and each page's names."""
    found, names_of = {}, {}
    check = attention.exercises.check

    def recording(name, answer):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            check(name, answer)
        found.setdefault(name, (answer, out.getvalue()))

    attention.exercises.check = recording
    try:
        for page, text in TEXTS.items():
            names = names_of[page] = {}
            with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the bug on show
                for cell in CELL.findall(text):
                    exec(compile(cell, f"{page}.md", "exec"), names)
    finally:
        attention.exercises.check = check
    return found, names_of


def solution(name):
    found, _ = executed()
    return found[name][0]


def sentence(cell):
    """Read the embeddings and the three matrices that a cell of the first page writes down."""
    names = {"torch": torch}
    exec(CELL.findall(TEXTS["sentence"])[cell], names)
    return names["x"], torch.stack([names["W_query"], names["W_key"], names["W_value"]])


def contexts(decimals=6, scale=2**0.5, dim=-1):
    query, key, value = X_OF_SIX @ W_OF_SIX.round(decimals=decimals)
    return (query @ key.T / scale).softmax(dim) @ value


X, W = sentence(0)  # of "cold tea please"
QUERY, KEY, VALUE = X @ W
SCORES = QUERY @ KEY.T
X_OF_SIX, W_OF_SIX = sentence(4)
QUERIES, KEYS, VALUES = X_OF_SIX @ W_OF_SIX
SCORES_OF_SIX = QUERIES @ KEYS.T
ROW = torch.tensor([1.0, 0.0, 3.0])  # the scores of the second word


def attend_with(scale=lambda x, key: key.shape[-1] ** 0.5, dim=-1, turn=lambda t: t.mT):
    def answer(x, W_query, W_key, W_value):
        query, key, value = x @ W_query, x @ W_key, x @ W_value
        return torch.softmax(query @ turn(key) / scale(x, key), dim=dim) @ value

    return answer


def copy_with(turn=True, exchange=False):
    def answer(v1):
        v2 = SelfAttentionV2(*v1.W_query.shape)
        query, key = (v1.W_key, v1.W_query) if exchange else (v1.W_query, v1.W_key)
        pairs = {"W_query": query, "W_key": key, "W_value": v1.W_value}
        v2.load_state_dict({f"{name}.weight": W.T if turn else W for name, W in pairs.items()})
        return v2

    return answer


def weigh_by(width):
    return lambda query, key: torch.softmax(query @ key.mT / width(key), dim=-1)


def is_word(lengths, n):
    return torch.arange(n) < lengths[:, None]  # (B, n)


def words_of(x, lengths):
    return x * is_word(lengths, x.shape[1])[..., None]  # (B, n, d)


def pad_with(change):
    return lambda scores, n: change(scores, is_word(n, scores.shape[-1])[:, None, :]).softmax(-1)


def halves_with_angles_of_neighbours(query, key, value, start):
    def turn(x):
        k = x.shape[-1]
        omega = 10_000.0 ** -(torch.arange(0, k, 2).double() / k).repeat_interleave(2)
        angle = torch.arange(start, start + x.shape[-2])[:, None] * omega
        a, b = x.chunk(2, dim=-1)
        return x * angle.cos() + torch.cat([-b, a], dim=-1) * angle.sin()

    return turn(query), turn(key), value


def rotate_with(first=lambda start: start, **layout):
    def answer(query, key, value, start):
        at = torch.arange(query.shape[-2]) + first(start)
        return *(apply_rotary(x, at, **layout) for x in (query, key)), value

    return answer


def window_by(allows):
    def answer(n, m, window):
        return torch.tensor([[allows(i + m - n, j, window) for j in range(m)] for i in range(n)])

    return answer


def step_with(position=lambda m: m, cached=lambda keys: keys, seen=None):
    def answer(query, key, value, keys, values):
        at = torch.tensor([position(keys.shape[-2])])
        query, key = apply_rotary(query, at), apply_rotary(key, at)
        keys = torch.cat([cached(keys), key], dim=-2)[..., :seen, :]
        weights = (query @ keys.mT / query.shape[-1] ** 0.5).softmax(-1)
        return weights @ torch.cat([values, value], dim=-2)[..., :seen, :]

    return answer


def absorb_with(
    turn=lambda W: W.mT, scale=lambda k, r: k**0.5, last=lambda mixture, W: mixture @ W
):
    def answer(query, latent, W_key, W_value):
        r, k = W_key.shape[-2:]
        scores = query @ turn(W_key) @ latent.T / scale(k, r)
        return last(scores.softmax(-1) @ latent, W_value)

    return answer


def merge_with(mix=lambda a, b, x, y: (a * x + b * y) / (a + b), base=torch.maximum):
    def answer(first, second):
        (top1, total1, x), (top2, total2, y) = first, second
        a, b = total1 * (top1 - base(top1, top2)).exp(), total2 * (top2 - base(top1, top2)).exp()
        return torch.maximum(top1, top2), a + b, mix(a[:, None], b[:, None], x, y)

    return answer


def merge_without_rescaling(first, second):
    (top1, a, x), (top2, b, y) = first, second
    return torch.maximum(top1, top2), a + b, (a * x.T + b * y.T).T / (a + b)[:, None]


def svd_with(build):
    return lambda M, r: build(*torch.linalg.svd(M), r)


def queries_with(weigh):
    class Queries(QKSelfAttention):
        def __init__(self, embed_dim, key_dim):
            super().__init__(embed_dim, key_dim=key_dim)

        def forward(self, x):
            return weigh(self.W_query(x), self.W_key(x)) @ x

    return Queries


def vocabulary_with_gaps(reviews, least, times=1):
    counts = {}
    for word in (word for review in reviews for word in review):
        counts[word] = counts.get(word, 0) + times
    return {w: i + 2 for i, (w, count) in enumerate(counts.items()) if count >= least}


def effects_by(change):
    return lambda logit, ids: torch.stack(
        [logit(ids) - logit(change(ids, i)) for i in range(len(ids))]
    )


def agree_by(top):
    return lambda weights, effects: solution("bug-top-word")(
        weights, [(e == top(e)).float() for e in effects]
    )


# A wrong answer for each hint, in their order, by other means than the package's. Exercises whose
# slips can be written in one way alone are missing.
WRONG = {
    "score-by-hand": [SCORES[2, 1], X[1] @ X[2], SCORES[1, 2] / 2**0.5],
    "weights-by-hand": [
        SCORES[1].softmax(-1),
        SCORES[1] / SCORES[1].sum(),
        (SCORES[1] / 2**0.5).exp(),
    ],
    "context-by-hand": [
        (SCORES[1] / 2**0.5).softmax(-1) @ X,
        VALUE.mean(0),
        SCORES[1] @ VALUE,
    ],
    "journey-scores": [X_OF_SIX[1] @ X_OF_SIX.T, SCORES_OF_SIX[:, 1], SCORES_OF_SIX[1] / 2**0.5],
    "all-contexts": [contexts(scale=1), contexts(dim=0), SCORES_OF_SIX / 2**0.5 @ VALUES],
    "count-favourites": [[377, 1000], [944, 331], [999, 371]],
    "global-width": [
        (SCORES_OF_SIX[1] / 2**0.5).softmax(-1),
        (SCORES_OF_SIX[1] / 200).softmax(-1),
        SCORES_OF_SIX[1] / 200**0.5,
    ],
    "run-order": [[14, 13, 10, 11], [14, 13, 11, 10], [4, 3, 1, 2]],
    "typed-decimals": [
        (contexts().round(decimals=4) - contexts()).abs().max(),
        (contexts(decimals=3) - contexts()).abs().max(),
        0.0,
    ],
    "all-at-once": [
        attend_with(turn=lambda t: t.T),
        attend_with(scale=lambda x, key: key.shape[1] ** 0.5),
        attend_with(scale=lambda x, key: 1),
    ],
    "copy-layer": [
        copy_with(turn=False),
        copy_with(exchange=True),
        lambda v1: SelfAttentionV2(*v1.W_query.shape),
    ],
    "product-variance": [50 * 2 * 3, 4 * 9, 50 * (4 + 9)],
    "divide-by": [50 * 4 * 9, 50**0.5, 1800**-0.5],
    "bug-width": [
        weigh_by(lambda key: 2**0.5),
        weigh_by(lambda key: key.shape[1] ** 0.5),
        weigh_by(lambda key: 1),
    ],
    "causal-by-hand": [
        ROW.softmax(-1) * torch.tensor([1, 1, 0]),
        ROW.softmax(-1),
        torch.tensor([1.0, 0.0, 0.0]).softmax(-1),
    ],
    "bug-mean": [
        lambda x, lengths: x.sum(1) / x.shape[1],
        lambda x, lengths: words_of(x, lengths).mean(1),
        lambda x, lengths: words_of(x, lengths).sum(1) / lengths[:, None],
    ],
    "bug-padding": [
        lambda s, lengths: s.softmax(-1) * is_word(lengths, s.shape[-1])[:, None, :],
        pad_with(lambda s, words: s * words),
        pad_with(lambda s, words: s.masked_fill(words, -INF)),
    ],
    "count-block": [12 * 32**2 + 4 * 32, 12 * 32**2 + 9 * 32, 11 * 32**2 + 12 * 32],
    "bug-rotary": [
        halves_with_angles_of_neighbours,
        rotate_with(interleaved=True),
        rotate_with(first=lambda start: 0),
    ],
    "causal-window": [
        window_by(lambda i, j, w: i - w <= j <= i),
        window_by(lambda i, j, w: abs(i - j) < w),
        lambda n, m, w: torch.ones(n, m, dtype=torch.bool).tril().triu(1 - w),
    ],
    "cached-step": [
        step_with(lambda m: 0),
        step_with(cached=apply_rotary),
        step_with(seen=-1),
    ],
    "absorbed-query": [
        absorb_with(turn=lambda W: W),
        absorb_with(scale=lambda k, r: r**0.5),
        absorb_with(last=lambda mixture, W: mixture),
    ],
    "merge-blocks": [
        merge_without_rescaling,
        merge_with(lambda a, b, x, y: a * x + b * y),
        merge_with(base=lambda top1, top2: 0 * top1),
    ],
    "largest-saving-width": [24, 47, 48],
    "nearest-of-rank": [
        svd_with(lambda U, s, Vh, r: U[:, -r:] * s[-r:] @ Vh[-r:]),
        svd_with(lambda U, s, Vh, r: U[:, :r] @ Vh[:r]),
        svd_with(lambda U, s, Vh, r: U[:, :r] * s[:r] @ Vh[:, :r].T),
    ],
    "add-queries": [
        queries_with(lambda q, k: (q @ k.mT).softmax(-1)),
        queries_with(lambda q, k: (q @ k.mT / k.shape[-1] ** 0.5).softmax(-2)),
        queries_with(lambda q, k: (q @ k.T / k.shape[-1] ** 0.5).softmax(-1)),
    ],
    "bug-vocabulary": [
        lambda reviews, least: solution("bug-vocabulary")(reviews * 2, least),
        vocabulary_with_gaps,
        lambda reviews, least: vocabulary_with_gaps(reviews, least, times=2),
    ],
    "deletion": [
        lambda logit, ids: -solution("deletion")(logit, ids),
        effects_by(lambda ids, i: torch.cat([ids[:i], ids.new_zeros(1), ids[i + 1 :]])),
        effects_by(lambda ids, i: ids[ids != ids[i]]),
    ],
    "margin": [0.006, 2 * 1.96 * 0.006, 1.96 * 0.3],
    "rank-by-hand": [-0.5, 0.3858, 0.6],
    "bug-top-word": [
        agree_by(torch.max),
        agree_by(torch.min),
        lambda weights, effects: len(weights) * solution("bug-top-word")(weights, effects),
    ],
}

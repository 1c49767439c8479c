"""Checkers of the exercises on one sentence: scores, weights, contexts, and a layer."""

import torch
from torch import Tensor

from attention.exercises.judging import Checker, NotYet, judge_function, judge_number, judge_numbers
from attention.functional import scaled_dot_product_attention
from attention.layers import SelfAttentionV1, SelfAttentionV2

# "cold tea please"; numbers small enough for paper.
X = torch.tensor([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]])  # (3, 2)
W_QUERY = torch.tensor([[0.0, 1.0], [1.0, 1.0]])  # (2, 2)
W_KEY = torch.tensor([[0.0, 0.5], [0.5, 0.0]])  # (2, 2)
W_VALUE = torch.tensor([[3.0, 1.0], [0.0, 2.0]])  # (2, 2)
QUERY, KEY, VALUE = X @ W_QUERY, X @ W_KEY, X @ W_VALUE  # (3, 2), (3, 2), (3, 2)
SCORES = QUERY @ KEY.T  # (3, 3)
TEA, PLEASE = 1, 2


def score_by_hand(answer: object) -> str:
    """Judge the score of "tea" for "please"."""
    right = SCORES[TEA, PLEASE].item()
    slips: dict[str, Tensor | float] = {
        'That is "please" asking "tea". The query belongs to the word that asks.': SCORES[
            PLEASE, TEA
        ],
        "That compares the embeddings. Multiply by W_query and W_key first.": X[TEA] @ X[PLEASE],
        "That is query with query. The word that answers has a key.": QUERY[TEA] @ QUERY[PLEASE],
        "That is key with key. The word that asks has a query.": KEY[TEA] @ KEY[PLEASE],
        "That is already divided by √k. The score comes before the scale.": right / 2**0.5,
        "That is query with value. Scores are made from keys.": QUERY[TEA] @ VALUE[PLEASE],
        "Its sign is wrong.": -right,
    }
    judge_number(answer, right, {message: float(slip) for message, slip in slips.items()})
    return '"tea" has asked, "please" has answered.'


def weights_by_hand(answer: object) -> str:
    """Judge the weights of "tea"."""
    s = SCORES[TEA]  # (3,)
    right = torch.softmax(s / 2**0.5, dim=-1)  # (3,)
    slips = {
        "You forgot the scale: divide the scores by √k before the softmax.": torch.softmax(s, -1),
        "You divided by k. The scale is its square root.": torch.softmax(s / 2, -1),
        "Those shares are not from a softmax: exponentiate each score first.": s / s.sum(),
        "Not yet shares: divide each exponential by their sum.": torch.exp(s / 2**0.5),
        "That is the softmax along a column. A query shares its attention along its row.": (
            torch.softmax(SCORES[:, TEA] / 2**0.5, -1)
        ),
        "You divided the weights by √k. Divide the scores, before the softmax.": (
            torch.softmax(s, -1) / 2**0.5
        ),
    }
    judge_numbers(answer, right, slips)
    return "They sum to 1, and the largest score has the largest weight."


def context_by_hand(answer: object) -> str:
    """Judge the context vector of "tea"."""
    weights = torch.softmax(SCORES / 2**0.5, dim=-1)  # (3, 3)
    right = weights[TEA] @ VALUE  # (2,)
    slips = {
        "That mixes the embeddings. What a word hands over is its value.": weights[TEA] @ X,
        "That mixes the keys. What a word hands over is its value.": weights[TEA] @ KEY,
        "That is the plain mean of the values. Use the weights.": VALUE.mean(0),
        "That is the plain sum of the values. Use the weights.": VALUE.sum(0),
        "That mixes by the scores. The shares are the weights.": SCORES[TEA] @ VALUE,
        "That used a column of the weights. Each query has a row.": weights[:, TEA] @ VALUE,
        "The weights lack the scale √k.": torch.softmax(SCORES[TEA], -1) @ VALUE,
    }
    judge_numbers(answer, right, slips)
    return "It lies inside the triangle of the three values."


def _sentences() -> list[tuple[Tensor, ...]]:
    """Draw one sentence, a batch, and a batch as long as its sentences are and as they are wide."""
    g = torch.Generator().manual_seed(7)
    sizes = [((5,), 3, 2), ((7, 5), 3, 2), ((3, 3), 3, 3)]
    cases = []
    for shape, d, k in sizes:
        x = torch.randn(*shape, d, generator=g, dtype=torch.float64)  # (..., n, d)
        W = torch.randn(3, d, k, generator=g, dtype=torch.float64)  # (3, d, k)
        cases.append((x, *W))
    return cases


def _attend(
    x: Tensor,
    W_query: Tensor,
    W_key: Tensor,
    W_value: Tensor,
    *,
    power: float = 0.5,
    width: str = "key",
    dim: int = -1,
    turn: str = "last",
    share: bool = True,
) -> Tensor:
    """Attend, with one slip at a time on request."""
    query, key, value = x @ W_query, x @ W_key, x @ W_value  # (..., n, k) each
    by = {"key": key.shape[-1], "embedding": x.shape[-1], "second": key.shape[1]}[width]
    scores = query @ (key.T if turn == "all" else key.mT) / by**power  # (..., n, n)
    return (torch.softmax(scores, dim=dim) if share else scores) @ value  # (..., n, k)


def all_at_once(answer: object) -> str:
    """Judge a function from tokens and three matrices to contexts, for any leading dimensions."""

    def right(x: Tensor, W_query: Tensor, W_key: Tensor, W_value: Tensor) -> Tensor:
        return scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value)[0]

    slips = {
        "You forgot the scale: divide the scores by √k.": {"power": 0.0},
        "You divided by k. The scale is its square root.": {"power": 1.0},
        "You scaled by the width d of the embeddings. Take k, the width of the keys.": {
            "width": "embedding"
        },
        "You took the width from shape[1], which in a batch is the number of words. Take "
        "shape[-1].": {"width": "second"},
        "The softmax runs over the queries. Each row should sum to 1: dim=-1.": {"dim": -2},
        "The softmax runs over dim 0, which in a batch is the sentences: dim=-1.": {"dim": 0},
        "The softmax runs over dim 1, which in a batch is the queries: dim=-1.": {"dim": 1},
        "One sentence is right. On a batch, .T turns all dimensions round: use .mT, or "
        ".transpose(-2, -1).": {"turn": "all"},
        "There is no softmax.": {"share": False},
    }
    judge_function(
        answer,
        right,
        _sentences(),
        {
            message: lambda *case, slip=slip: _attend(*case, **slip)
            for message, slip in slips.items()
        },
    )
    return "One sentence or a batch of them, it is the package's function."


def copy_layer(answer: object) -> str:
    """Judge a function that makes a SelfAttentionV2 of the same function as a SelfAttentionV1."""

    def use(function: object, layer: SelfAttentionV1, x: Tensor) -> Tensor:
        made = function(layer)  # type: ignore[operator]  # the reader's
        if function is not right and not isinstance(made, SelfAttentionV2):
            raise NotYet(f"Expected a SelfAttentionV2 back, got {type(made).__name__}.")
        return made(x).detach()  # type: ignore[no-any-return]  # a layer's

    def right(layer: SelfAttentionV1) -> SelfAttentionV1:
        return layer

    def copied(layer: SelfAttentionV1, order: tuple[int, int, int], turn: bool) -> SelfAttentionV2:
        made = SelfAttentionV2(*layer.W_query.shape)
        matrices = [W.detach().T if turn else W.detach() for W in layer.parameters()]
        for linear, i in zip((made.W_query, made.W_key, made.W_value), order, strict=True):
            linear.weight.data.copy_(matrices[i])
        return made

    slips = {
        "nn.Linear keeps the transpose of the equation's matrix: turn each one round.": (
            lambda layer: copied(layer, (0, 1, 2), False)
        ),
        "Query and key are exchanged: that turns the scores round.": (
            lambda layer: copied(layer, (1, 0, 2), True)
        ),
        "The new layer still holds its own random matrices: copy the three over.": (
            lambda layer: SelfAttentionV2(*layer.W_query.shape)
        ),
    }
    cases = []
    for seed, (n, d, k) in enumerate(((5, 3, 3), (7, 3, 2))):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            cases.append((SelfAttentionV1(d, k), torch.randn(n, d)))
    judge_function(answer, right, cases, slips, tolerance=1e-5, use=use)
    return "Two modules, one function."


CHECKERS: dict[str, Checker] = {
    "score-by-hand": score_by_hand,
    "weights-by-hand": weights_by_hand,
    "context-by-hand": context_by_hand,
    "all-at-once": all_at_once,
    "copy-layer": copy_layer,
}

"""Checkers of the exercises on one sentence: scores, weights, contexts, and a layer."""

import functools

import torch
from torch import Tensor

from attention.exercises.judging import Checker, NotYet, judge_function, judge_number, judge_numbers
from attention.functional import scaled_dot_product_attention
from attention.layers.self_attention import SelfAttentionV1, SelfAttentionV2

# "cold tea please", with numbers that are small enough for paper.
X = torch.tensor([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]])  # (3, 2)
W_QUERY = torch.tensor([[0.0, 1.0], [1.0, 1.0]])  # (2, 2)
W_KEY = torch.tensor([[0.0, 0.5], [0.5, 0.0]])  # (2, 2)
W_VALUE = torch.tensor([[3.0, 1.0], [0.0, 2.0]])  # (2, 2)
QUERY, KEY, VALUE = X @ W_QUERY, X @ W_KEY, X @ W_VALUE  # (3, 2), (3, 2), (3, 2)
SCORES = QUERY @ KEY.T  # (3, 3)
TEA, PLEASE = 1, 2

# "Your journey starts with one step", with the numbers of the chapter in the credits.
X_OF_SIX = torch.tensor(
    [
        [0.8938, 0.9003, 0.8978],
        [0.7165, 0.3428, 0.2553],
        [0.1042, 0.5163, 0.3753],
        [0.0445, 0.3091, 0.9763],
        [0.1554, 0.1614, 0.2700],
        [0.8089, 0.9435, 0.5480],
    ]
)  # (6, 3)
MATRICES_OF_SIX = torch.tensor(
    [
        [[0.111664, 0.815843], [0.262562, 0.483878], [0.676504, 0.753911]],
        [[0.262691, 0.042840], [0.208029, 0.118037], [0.121695, 0.735599]],
        [[0.711765, 0.787581], [0.418305, 0.901415], [0.996886, 0.756515]],
    ]
)  # (3, 3, 2)
QUERIES, KEYS, VALUES = X_OF_SIX @ MATRICES_OF_SIX  # (6, 2), (6, 2), (6, 2)
SCORES_OF_SIX = QUERIES @ KEYS.T  # (6, 6)
# The first lesson's embeddings of the same words: an answer for them is a likely slip.
X_OF_LESSON = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)  # (6, 3)
YOUR, JOURNEY = 0, 1


def score_by_hand(answer: object) -> str:
    """Judge the score of "tea" for "please"."""
    right = SCORES[TEA, PLEASE].item()
    slips: dict[str, Tensor | float] = {
        'That is the query of "please" with the key of "tea", but here it is "tea" that asks.': (
            SCORES[PLEASE, TEA]
        ),
        "That compares the embeddings, which W_query and W_key have to multiply first.": (
            X[TEA] @ X[PLEASE]
        ),
        "That is query with query, but the word that answers does so with its key.": (
            QUERY[TEA] @ QUERY[PLEASE]
        ),
        "That is key with key, but the word that asks does so with its query.": (
            KEY[TEA] @ KEY[PLEASE]
        ),
        "That is already divided by √k. Give the score before this division.": right / 2**0.5,
        "That is query with value, but scores are made from keys.": QUERY[TEA] @ VALUE[PLEASE],
        "The number is right, but its sign is wrong.": -right,
    }
    judge_number(answer, right, {message: float(slip) for message, slip in slips.items()})
    return 'This is how well the key of "please" matches the query of "tea".'


def weights_by_hand(answer: object) -> str:
    """Judge the weights of "tea"."""
    s = SCORES[TEA]  # (3,)
    right = torch.softmax(s / 2**0.5, dim=-1)  # (3,)
    slips = {
        "You forgot the scale: divide the scores by √k before the softmax.": torch.softmax(s, -1),
        "You divided by k, but the scale is its square root.": torch.softmax(s / 2, -1),
        "Those shares are not from a softmax: exponentiate each score first.": s / s.sum(),
        "These do not sum to 1 yet: divide each exponential by their sum.": torch.exp(s / 2**0.5),
        "That is the softmax along a column, but the weights of a query are along its row.": (
            torch.softmax(SCORES[:, TEA] / 2**0.5, -1)
        ),
        "You divided the weights by √k, but it is the scores that are divided, before the "
        "softmax.": torch.softmax(s, -1) / 2**0.5,
    }
    judge_numbers(answer, right, slips)
    return "They sum to 1, and the largest score has the largest weight."


def context_by_hand(answer: object) -> str:
    """Judge the context vector of "tea"."""
    weights = torch.softmax(SCORES / 2**0.5, dim=-1)  # (3, 3)
    right = weights[TEA] @ VALUE  # (2,)
    slips = {
        "That mixes the embeddings, but what a word hands over is its value.": weights[TEA] @ X,
        "That mixes the keys, but what a word hands over is its value.": weights[TEA] @ KEY,
        "That is the plain mean of the values, in which the weights are missing.": VALUE.mean(0),
        "That is the plain sum of the values, in which the weights are missing.": VALUE.sum(0),
        "You mixed the values by the scores. Mix them by the weights.": SCORES[TEA] @ VALUE,
        "You used a column of the weights, but the weights of a query are a row.": (
            weights[:, TEA] @ VALUE
        ),
        "The weights lack the scale: divide the scores by √k.": (
            torch.softmax(SCORES[TEA], -1) @ VALUE
        ),
    }
    judge_numbers(answer, right, slips)
    return "It lies inside the triangle of the three values, as every mixture of them does."


def journey_scores(answer: object) -> str:
    """Judge the six scores of "journey"."""
    right = SCORES_OF_SIX[JOURNEY]  # (6,)
    slips = {
        "Those compare the embeddings, which W_query and W_key have to multiply first.": (
            X_OF_SIX[JOURNEY] @ X_OF_SIX.T
        ),
        'Those are the scores of all queries for the key of "journey", a column of the table.': (
            SCORES_OF_SIX[:, JOURNEY]
        ),
        "Those are already divided by √k. Give the scores before this division.": right / 2**0.5,
        "That is query with query, but the words that answer do so with their keys.": (
            QUERIES[JOURNEY] @ QUERIES.T
        ),
        "That is query with value, but scores are made from keys.": QUERIES[JOURNEY] @ VALUES.T,
        'That is the row of "Your". Python counts from 0, so "journey" is x[1].': (
            SCORES_OF_SIX[YOUR]
        ),
    }
    judge_numbers(answer, right, slips)
    return '"Your" has the highest score, because its key is the longest.'


def all_contexts(answer: object) -> str:
    """Judge the context vectors of all six words."""
    scaled = SCORES_OF_SIX / 2**0.5  # (6, 6)
    right = torch.softmax(scaled, dim=-1) @ VALUES  # (6, 2)
    slips = {
        "You forgot the scale: divide the scores by √k before the softmax.": (
            torch.softmax(SCORES_OF_SIX, dim=-1) @ VALUES
        ),
        "You divided by k, but the scale is its square root.": (
            torch.softmax(SCORES_OF_SIX / 2, dim=-1) @ VALUES
        ),
        "You scaled by the width 3 of the embeddings, but k is the width of the keys.": (
            torch.softmax(SCORES_OF_SIX / 3**0.5, dim=-1) @ VALUES
        ),
        "The softmax runs over the queries, but each row should sum to 1: dim=-1.": (
            torch.softmax(scaled, dim=0) @ VALUES
        ),
        "Query and key are exchanged, which transposes the scores.": (
            torch.softmax(scaled.T, dim=-1) @ VALUES
        ),
        "That mixes the keys, but what a word hands over is its value.": (
            torch.softmax(scaled, dim=-1) @ KEYS
        ),
        "There is no softmax.": scaled @ VALUES,
    }
    judge_numbers(answer, right, slips)
    return "The steps are the same for any numbers, and you have now taken them on your own."


@functools.cache
def _drawn(name: str) -> Tensor:
    """Draw two matrices (3, 2) for each of 1,000 seeds, by torch.rand or torch.randn."""
    with torch.random.fork_rng(devices=[]):
        return torch.stack(
            [
                torch.stack([getattr(torch, name)(3, 2) for _ in range(2)])
                for seed in range(1000)
                if torch.manual_seed(seed)
            ]
        )  # (1000, 2, 3, 2)


def _agreeing(
    x: Tensor = X_OF_SIX, *, key_first: bool = False, favourite: int | None = None
) -> Tensor:
    """Count the seeds for which all words agree on one favourite, or on a given one."""
    counts = []
    for name in ("rand", "randn"):
        first, second = (x @ _drawn(name)[:, i] for i in range(2))  # (1000, 6, 2) each
        query, key = (second, first) if key_first else (first, second)
        best = (query @ key.mT).argmax(dim=-1)  # (1000, 6)
        wanted = best[:, :1] if favourite is None else torch.tensor(favourite)
        counts.append((best == wanted).all(dim=-1).sum())
    return torch.stack(counts)  # (2,)


def count_favourites(answer: object) -> str:
    """Judge for how many of 1,000 seeds all words agree, with torch.rand and with torch.randn."""
    right = _agreeing()  # (2,)
    slips = {
        "The two numbers are exchanged: torch.rand comes first.": right.flip(0),
        "Those are the counts for the embeddings of the lesson. Take those of this page.": (
            _agreeing(X_OF_LESSON)
        ),
        "You drew the key matrix first, but here the query matrix comes first.": (
            _agreeing(key_first=True)
        ),
        'Those are the seeds with "Your" as the favourite. Count every favourite.': (
            _agreeing(favourite=YOUR)
        ),
    }
    judge_numbers(answer, right, slips, tolerance=0.5)
    return "What the words agree on says how the matrices were drawn, and nothing about language."


def global_width(answer: object) -> str:
    """Judge the weights of "journey" in a layer that divides by the root of a global d_out."""
    s = SCORES_OF_SIX[JOURNEY]  # (6,)
    slips = {
        "Those are the weights for the width of the keys. Which d_out does the layer read now?": (
            torch.softmax(s / 2**0.5, dim=-1)
        ),
        "You divided by d_out, but the layer divides by its square root.": (
            torch.softmax(s / 200, dim=-1)
        ),
        "They are nearly equal, but not quite: the scores still differ a little.": (
            torch.full_like(s, 1 / 6)
        ),
        "The scale is missing altogether.": torch.softmax(s, dim=-1),
        "Those are the scaled scores, and the softmax is still to come.": s / 200**0.5,
    }
    judge_numbers(answer, torch.softmax(s / 200**0.5, dim=-1), slips, tolerance=1e-4)
    return "No error is raised, and yet the weights are now nearly equal."


def run_order(answer: object) -> str:
    """Judge the order in which four cells of a notebook were run."""
    slips = {
        "That is their order on the page. What does the number in brackets count?": [
            14,
            13,
            10,
            11,
        ],
        "That is the reverse order, from the last run to the first.": [14, 13, 11, 10],
        "Those are ranks, one for each cell. Give the numbers in the brackets.": [4, 3, 1, 2],
        "Those are positions on the page. Give the numbers in the brackets.": [3, 4, 2, 1],
    }
    judge_numbers(
        answer,
        torch.tensor([10, 11, 13, 14]),
        {message: torch.tensor(slip) for message, slip in slips.items()},
    )
    return "The cell at the top was run last, after all three outputs had been printed."


def typed_decimals(answer: object) -> str:
    """Judge how far four printed decimals of the matrices move the contexts."""

    def contexts(decimals: int) -> Tensor:
        query, key, value = X_OF_SIX @ MATRICES_OF_SIX.round(decimals=decimals)  # (6, 2) each
        return scaled_dot_product_attention(query, key, value)[0]

    exact = contexts(6)  # (6, 2)
    moved = (contexts(4) - exact).abs()  # (6, 2)
    slips = {
        "You rounded the contexts, but it is the matrices that were typed with four decimals.": (
            (exact.round(decimals=4) - exact).abs().max()
        ),
        "You kept three decimals of the matrices, but print shows four.": (
            (contexts(3) - exact).abs().max()
        ),
        "That is the mean difference, but the question asks for the largest.": moved.mean(),
        "They do differ, although by less than allclose or four decimals show.": torch.zeros(()),
    }
    judge_number(
        answer,
        moved.max().item(),
        {message: slip.item() for message, slip in slips.items()},
        tolerance=2e-6,
    )
    return "That is enough to change a fourth decimal here and there."


def _sentences() -> list[tuple[Tensor, ...]]:
    """Draw one sentence, a batch, and a batch of as many sentences as words and dimensions."""
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
        "You divided by k, but the scale is its square root.": {"power": 1.0},
        "You scaled by the width d of the embeddings, but k is the width of the keys.": {
            "width": "embedding"
        },
        "You took the width from shape[1], which in a batch is the number of words. Take "
        "shape[-1].": {"width": "second"},
        "The softmax runs over the queries, but each row should sum to 1: dim=-1.": {"dim": -2},
        "The softmax runs over dim 0, which in a batch is the sentences: take dim=-1.": {"dim": 0},
        "The softmax runs over dim 1, which in a batch is the queries: take dim=-1.": {"dim": 1},
        "One sentence is right, but on a batch .T reverses all dimensions: use .mT, or "
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
    return "For one sentence and for a batch of them, it is the package's function."


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
        "nn.Linear stores the transpose of the equation's matrix: transpose each of the three.": (
            lambda layer: copied(layer, (0, 1, 2), False)
        ),
        "Query and key are exchanged, which transposes the scores.": (
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
    return "The two classes now compute the same function."


CHECKERS: dict[str, Checker] = {
    "score-by-hand": score_by_hand,
    "weights-by-hand": weights_by_hand,
    "context-by-hand": context_by_hand,
    "journey-scores": journey_scores,
    "all-contexts": all_contexts,
    "count-favourites": count_favourites,
    "global-width": global_width,
    "run-order": run_order,
    "typed-decimals": typed_decimals,
    "all-at-once": all_at_once,
    "copy-layer": copy_layer,
}

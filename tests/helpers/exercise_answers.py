"""Answers to the exercises: the solutions of the pages, and what likely slips give."""

import contextlib
import functools
import io
import re
import warnings
from unittest.mock import patch

import torch
from run_pages import CELL, ROOT

import attention.exercises

FOLDER = ROOT / "docs/exercises"
EXERCISE = re.compile(
    r"^::::\{exercise\}\n:label: ex-([\w-]+)\n(.*?)^::::\n+"
    r"^:::\{solution-start\} ex-\1\n:label: sol-\1\n:::\n(.*?)^:::\{solution-end\}",
    re.DOTALL | re.MULTILINE,
)
TEXTS = {
    path.stem: path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.md"))
    if path.stem != "index"
}


@functools.cache
def executed(page):
    """Run a page; return the solution of each exercise, and the page's names."""
    found, names = {}, {}
    with (
        patch.object(attention.exercises, "check", found.setdefault),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # the bug on show
        for cell in CELL.findall(TEXTS[page]):
            exec(compile(cell, f"{page}.md", "exec"), names)
    return found, names


def solutions():
    return {name: each for page in TEXTS for name, each in executed(page)[0].items()}


def solution(name):
    return solutions()[name]


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


def weigh_by(width):
    return lambda query, key: torch.softmax(query @ key.mT / width(key), dim=-1)


def words_of(x, lengths):
    return x * (torch.arange(x.shape[1]) < lengths[:, None])[..., None]  # (B, n, d)


# A wrong answer for each hint, in their order, computed here: the package has the numbers as they
# are. A slip in code is code there, too, so that two exercises of this kind will do.
WRONG = {
    "score-by-hand": [SCORES[2, 1], X[1] @ X[2], SCORES[1, 2] / 2**0.5],
    "weights-by-hand": [
        SCORES[1].softmax(-1),
        SCORES[1] / SCORES[1].sum(),
        (SCORES[1] / 2**0.5).exp(),
    ],
    "context-by-hand": [(SCORES[1] / 2**0.5).softmax(-1) @ X, VALUE.mean(0), SCORES[1] @ VALUE],
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
    "count-block": [12 * 32**2 + 4 * 32, 12 * 32**2 + 9 * 32, 11 * 32**2 + 12 * 32],
    "largest-saving-width": [24, 47, 48],
    "margin": [0.006, 2 * 1.96 * 0.006, 1.96 * 0.3],
    "rank-by-hand": [-0.5, 0.3858, 0.6],
}

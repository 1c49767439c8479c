"""A model with vectors of three numbers, as data for pages that show every number of a sentence.

The experiment of this folder trains it on sentences of film reviews, from vectors of words with
similar neighbours. It has no positions, no pairs of words, and queries, keys and values of two
numbers.
"""

import csv
from functools import cache
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from attention import scaled_dot_product_attention
from attention.sentiment.tokenizer import UNK_ID
from experiments.playground.model import encode

MODELS = Path(__file__).with_name("models")
STRANGERS = MODELS.with_name("strangers.csv")
MATRICES = ("W_query", "W_key", "W_value")


@cache
def _load() -> tuple[dict[str, Tensor], Tokenizer]:
    weights = load_file(MODELS / "tiny" / "model.safetensors")
    return weights, Tokenizer.from_file(str(MODELS / "tokenizer.json"))


def sentence(words: list[str]) -> dict[str, Any]:
    """Return a sentence's words, their trained vectors, and the trained matrices, as lists.

    A word outside the vocabulary has the vector of the unknown word.

    Args:
        words: The words of the sentence.

    Returns:
        ``words``; ``x``, three numbers per word; ``W_query``, ``W_key`` and ``W_value``, each with
        three rows of two numbers; and ``rate``, a learning rate for more steps of training.

    Example:
        >>> found = sentence(["Not", "bad"])
        >>> len(found["x"]), len(found["W_query"]), len(found["W_query"][0])
        (2, 3, 2)
    """
    weights, tokenizer = _load()
    ids = [tokenizer.encode(word).ids for word in words]
    # A word such as "don't" is two words to the tokenizer.
    rows = [found[0] if len(found) == 1 else UNK_ID for found in ids]
    return {
        "words": list(words),
        "x": weights["embedding.weight"][rows].tolist(),
        # nn.Linear holds its matrix transposed.
        **{name: weights[f"attention.{name}.weight"].T.tolist() for name in MATRICES},
        "rate": 0.1,  # larger steps overshoot where a word has a long query
    }


def right_answers() -> tuple[int, int]:
    """Count the sentences of somebody else that the model gets right, and all of them."""
    weights, tokenizer = _load()
    with STRANGERS.open(encoding="utf-8", newline="") as file:
        sentences = list(csv.DictReader(file))
    right = 0
    for one in sentences:
        x = weights["embedding.weight"][encode(tokenizer, one["text"])]  # (n, 3)
        made = (x @ weights[f"attention.{name}.weight"].T for name in MATRICES)  # each (n, 2)
        context, _ = scaled_dot_product_attention(*made)  # (n, 2)
        logit = context.mean(dim=0) @ weights["classifier.weight"][0] + weights["classifier.bias"]
        right += (logit.item() > 0) is (one["label"] == "positive")
    return right, len(sentences)

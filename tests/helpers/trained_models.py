"""The models of the playground in Python, with the words and the rounded numbers of the page."""

import functools
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from attention import scaled_dot_product_attention
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import SEP_ID
from experiments.playground import trained
from experiments.playground.model import PageModel, Reading, clause_starts, encode, read_model

MODELS = Path(__file__).parents[2] / "docs" / "experiments" / "playground" / "models"
KINDS = ("mean", "energy", "qkv")


@functools.cache
def model(kind: str) -> PageModel:
    """Load the numbers that the page has, to compute with 64 bits."""
    return read_model(MODELS / kind)


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(MODELS / "tokenizer.json"))


def attention_between(sentence: str) -> Tensor:
    """Compute the weights of the tiny model, (n, n), of a sentence of n words without marks."""
    found = trained.sentence(sentence.split())
    x = torch.tensor(found["x"])  # (n, 3)
    made = (x @ torch.tensor(found[name]) for name in trained.MATRICES)  # each (n, 2)
    weights: Tensor = scaled_dot_product_attention(*made)[1]  # (n, n)
    return weights


def ids_of(text: str) -> list[int]:
    """Encode a text, in which words that the page leaves out are unknown."""
    return encode(tokenizer(), text)


def answer(kind: str, text: str, distractor: str = "") -> Reading:
    """Let a model read a text, if there is one behind a distractor, as far as it reads back."""
    ids, starts = ids_of(text), clause_starts(text)
    if distractor:
        ids = [*ids_of(distractor), SEP_ID, *ids]
        starts = [*clause_starts(distractor), True, *starts]
    return model(kind).read(ids, starts)


@functools.cache
def reviews(n: int) -> list[str]:
    return list(load_reviews("imdb")["test"].texts[:n])

"""The models of the playground in Python, with the words and the rounding of the page."""

import functools

import torch
from built_site import BUILD
from tokenizers import Tokenizer

from attention.sentiment.model import SentimentClassifier
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import SEP_ID, UNK_ID

KINDS = ("energy", "qkv")
WORDS = 8_000
IDS = WORDS + 3  # padding, unknown, separator
MAX_LENGTH = 256


@functools.cache
def model(kind: str) -> SentimentClassifier:
    """Load a model, round its parameters to 16 bits, and compute with 64."""
    loaded = SentimentClassifier.from_pretrained(BUILD / "live" / kind).double()
    for parameter in loaded.parameters():
        parameter.data = parameter.data.half().double()
    return loaded


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(BUILD / "live" / "energy" / "tokenizer.json"))


def ids_of(text: str) -> list[int]:
    """Encode a text, in which words that the page leaves out are unknown."""
    return [i if i < IDS else UNK_ID for i in tokenizer().encode(text).ids]


@torch.no_grad()
def answer(kind: str, text: str, distractor: str = "") -> tuple[float, torch.Tensor]:
    """Return the probability and the weights, (n,) or (n, n)."""
    front = [*ids_of(distractor), SEP_ID] if distractor else []
    ids = torch.tensor([front + ids_of(text)])[:, -MAX_LENGTH:]  # (1, n)
    logit, weights = model(kind)(ids, need_weights=True)
    return logit.sigmoid().item(), weights[0]


@functools.cache
def reviews(n: int) -> list[str]:
    return list(load_reviews("imdb")["test"].texts[:n])

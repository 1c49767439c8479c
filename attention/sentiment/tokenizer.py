r"""From texts to ids: a word-level vocabulary, and every text read once.

The rule is that of Lab 13: text is lower-cased, HTML tags become spaces, and whatever is not one of
the 26 letters separates words. Lab 13 takes everything between ``<`` and ``>`` for a tag, even in
"I <3 this film, 10 > 5", whereas here a tag begins with ``<`` and a letter, ``/`` or ``!``, as in
HTML. The rule is implemented twice. The ``tokenizers`` object is saved in
``tokenizer.json`` and reads one text at a time. ``_number_words`` applies the same rule to whole
data sets, in a few passes over raw bytes, because the library spends most of its time on offsets
and objects that a data set does not need. A test checks that both, and three regular expressions
like those of Lab 13, find the same words.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from attention.sentiment.batches import Ragged

#: Padding, words outside the vocabulary, and the separator between a distractor and its review.
SPECIALS = ("<pad>", "<unk>", "<sep>")
PAD_ID, UNK_ID, SEP_ID = range(3)

_TEXTS_AT_ONCE = 1024
_IDS_AT_ONCE = 1 << 20

# A byte that UTF-8 never uses ends each text, so that many texts are one string of bytes.
_END = b"\xff"
# The only two characters outside ASCII whose lower case contains one of the 26 letters.
_KELVIN, _DOTTED_I = "\u212a".encode(), "\u0130".encode()
_LETTERS = bytes(
    byte | 32 if chr(byte).isascii() and chr(byte).isalpha() else byte if byte == 255 else 32
    for byte in range(256)
)


class Rule(NamedTuple):
    r"""What may differ between two of our tokenizers, besides their words.

    Args:
        reads_newlines: Whether the two characters ``\n`` become a space.
        tag: A regular expression for a tag in a lower-cased text.
    """

    reads_newlines: bool
    tag: str

    def components(self) -> tuple[normalizers.Normalizer, pre_tokenizers.PreTokenizer]:
        """Express the rule with the library's components."""
        newlines = [normalizers.Replace(r"\n", " ")] if self.reads_newlines else []
        lower_without_tags = [normalizers.Lowercase(), normalizers.Replace(Regex(self.tag), " ")]
        words = pre_tokenizers.Split(Regex("[a-z]+"), "removed", invert=True)
        return normalizers.Sequence(newlines + lower_without_tags), words


_OURS, _LAB_13 = Rule(True, "<[a-z/!][^>]*>"), Rule(False, "<[^>]+>")
#: The rules by ``clean_text``, today's first. The older one takes anything in brackets for a tag.
RULES = {True: [_OURS, Rule(True, _LAB_13.tag)], False: [_LAB_13]}


def rule_of(tokenizer: Tokenizer) -> Rule:
    """Find the rule by which a tokenizer of ours splits texts.

    Raises:
        ValueError: If the tokenizer follows another rule than ours.

    Example:
        >>> from attention.sentiment.tokenizer import train_tokenizer
        >>> rule_of(train_tokenizer(["good food"])).reads_newlines
        True
    """
    parts = tokenizer.normalizer, tokenizer.pre_tokenizer
    for rule in chain.from_iterable(RULES.values()):
        if list(map(repr, parts)) == list(map(repr, rule.components())):
            return rule
    raise ValueError(
        "tokenizer must come from attention.sentiment.tokenizer.train_tokenizer; this one has "
        f"normalizer {tokenizer.normalizer} and pre_tokenizer {tokenizer.pre_tokenizer}"
    )


def _number_words(texts: Iterable[str], rule: Rule) -> tuple[Ragged, list[str]]:
    """Number words in the order in which they first appear, from 1."""
    if isinstance(texts, str):
        raise TypeError("texts must be several texts; got one str")
    numbers: defaultdict[bytes, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # an unseen word gets the next number
    numbers[_END]  # 0
    # Letters are still as they were typed, and no tag reaches beyond the end of its text.
    tag = re.compile(rule.tag.replace("[^>", r"[^>\xff").encode(), re.IGNORECASE)
    # An array grows in place, whereas concatenating tensors would hold every id twice.
    flat, lengths = array("i"), array("q", [0])
    texts = iter(texts)
    while chunk := list(islice(texts, _TEXTS_AT_ONCE)):
        # A lone surrogate has no UTF-8; the "?" that replaces it separates words as well.
        raw = b"".join([text.encode("utf-8", "replace") + b" \xff " for text in chunk])
        if rule.reads_newlines:
            raw = raw.replace(rb"\n", b" ")
        raw = tag.sub(b" ", raw.replace(_KELVIN, b"k").replace(_DOTTED_I, b"i "))
        words = raw.translate(_LETTERS).split()
        numbered = np.fromiter(map(numbers.__getitem__, words), np.int32, len(words))
        is_end = numbered == 0
        flat.frombytes(numbered[~is_end].tobytes())
        lengths.frombytes((np.diff(np.flatnonzero(is_end), prepend=-1) - 1).tobytes())
    ids = torch.frombuffer(flat, dtype=torch.int32) if flat else torch.empty(0, dtype=torch.int32)
    offsets = torch.frombuffer(lengths, dtype=torch.int64).cumsum(0)
    return Ragged(ids, offsets), [word.decode("ascii") for word in islice(numbers, 1, None)]


def _slices(ids: Ragged) -> Iterator[np.ndarray]:
    """Cut the flat ids into views small enough to widen or look up."""
    for part in ids.flat.split(_IDS_AT_ONCE):
        yield part.numpy()


def _renumber(ids: Ragged, words: list[str], vocabulary: dict[str, int]) -> None:
    """Replace the numbers of words with their ids in the vocabulary, in place."""
    lookup = np.array([PAD_ID] + [vocabulary.get(word, UNK_ID) for word in words], np.int32)
    for part in _slices(ids):
        part[:] = lookup[part]


def train_and_encode(
    texts: Iterable[str],
    *,
    min_frequency: int = 2,
    max_size: int | None = None,
    clean_text: bool = True,
) -> tuple[Tokenizer, Ragged]:
    r"""Build the vocabulary of some texts, and encode these texts, in one pass over them.

    Words get provisional numbers in the order in which they appear. Once all are counted, the
    numbers are replaced with ids in place. In addition to the words, this takes 4 bytes per token.

    Args:
        texts: The texts, which are read once and not kept.
        min_frequency: Words that occur less often are left out, and become ``<unk>``.
        max_size: The maximum number of ids, including the three special ones.
        clean_text: Whether to read the two characters ``\n`` as a newline, and to take for a tag
            only what begins like one. In Lab 13 these characters become a letter n that is attached
            to the following word, and whatever is between ``<`` and ``>`` is lost.

    Returns:
        The tokenizer, and the ids of the texts. Ids have no gaps: the special ones come first, then
        words from the most frequent to the rarest, in alphabetical order if they are equally
        frequent.

    Raises:
        ValueError: If ``min_frequency`` or ``max_size`` leaves no room for the vocabulary.

    Example:
        >>> tokenizer, ids = train_and_encode(["Good, GOOD food!", "good<br />service"])
        >>> tokenizer.get_vocab_size(), ids[0].tolist(), ids[1].tolist()
        (4, [3, 3, 1], [3, 1])
    """
    if min_frequency < 1:
        raise ValueError(f"min_frequency must be at least 1, got {min_frequency}")
    if max_size is not None and max_size < len(SPECIALS):
        raise ValueError(f"max_size must be at least {len(SPECIALS)}, got {max_size}")
    rule = RULES[clean_text][0]
    ids, words = _number_words(texts, rule)
    counts = np.zeros(len(words) + 1, np.int64)
    for part in _slices(ids):
        counts += np.bincount(part, minlength=len(counts))
    frequent = [(-c, w) for c, w in zip(counts[1:].tolist(), words, strict=True)]
    ranked = [word for count, word in sorted(frequent) if -count >= min_frequency]
    vocabulary = {word: i for i, word in enumerate([*SPECIALS, *ranked][:max_size])}
    _renumber(ids, words, vocabulary)

    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIALS[UNK_ID]))
    tokenizer.normalizer, tokenizer.pre_tokenizer = rule.components()
    return tokenizer, ids


def train_tokenizer(
    texts: Iterable[str],
    *,
    min_frequency: int = 2,
    max_size: int | None = None,
    clean_text: bool = True,
) -> Tokenizer:
    """Build the vocabulary of some texts, like :func:`train_and_encode` without the ids.

    Example:
        >>> tokenizer = train_tokenizer(["good food", "good service"])
        >>> encoded = tokenizer.encode("Good wine")
        >>> encoded.tokens, encoded.ids
        (['good', '<unk>'], [3, 1])
    """
    return train_and_encode(
        texts, min_frequency=min_frequency, max_size=max_size, clean_text=clean_text
    )[0]


def encode_reviews(tokenizer: Tokenizer, texts: Iterable[str]) -> Ragged:
    """Encode many texts with a tokenizer of :func:`train_tokenizer`.

    The ids are those that ``tokenizer.encode`` gives, but they are found several times as fast.

    Args:
        tokenizer: A tokenizer of ours, which may be loaded from its file.
        texts: The texts, which are read once and not kept.

    Returns:
        The ids of each text. A text without a single letter has none.

    Raises:
        ValueError: If the tokenizer follows another rule than ours.

    Example:
        >>> from attention.sentiment.tokenizer import train_tokenizer
        >>> tokenizer = train_tokenizer(["good food", "good service"])
        >>> encode_reviews(tokenizer, ["good good", "123", "no good"]).flat.tolist()
        [3, 3, 1, 3]
    """
    ids, words = _number_words(texts, rule_of(tokenizer))
    _renumber(ids, words, tokenizer.get_vocab())
    return ids

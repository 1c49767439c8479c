r"""From texts to ids: a vocabulary of whole words, or the word pieces of a pretrained encoder.

Text is lower-cased, and HTML tags become spaces. The rule ``"a-z"`` is that of Lab 13: whatever is
not one of the 26 letters separates words. With ``"unicode"``, words are of any script, and each
number and each emoji is a word, too; in a script that has no spaces, such as that of Japanese, each
character is one. Lab 13 takes everything between ``<`` and ``>`` for a
tag, even in "I <3 this film, 10 > 5", whereas in all else here a tag is what :data:`TAG` describes.
"""

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Literal

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from torch.nn import functional as F

from attention._checks import check_size
from attention._distributed import print_status

#: Padding, words outside the vocabulary, and the separator between a distractor and its review.
SPECIALS = ("<pad>", "<unk>", "<sep>")
UNK_ID, SEP_ID = 1, 2

#: Of the pretrained encoder: the special id before each text, and that between a distractor and its
#: review and at the end.
PIECE_CLS_ID, PIECE_SEP_ID = 101, 102
#: Pieces that an encoder of 512 positions reads, in addition to the special ones around them.
LONGEST_TEXT = 510

#: A tag begins with ``<`` and a letter, ``/`` or ``!``, as in HTML, so there is none in "I <3 it".
#: It holds no other ``<``, so that a text is read only once, however many there are.
TAG = "<[A-Za-z/!][^<>]*>"
# Lab 13's <[^>]+> would look for its end from every < on. This one looks once, because it begins
# where the last tag ended, which is \G, and passes over what is no tag, up to \K.
_LAB_13_TAG = r"\G(?:[^<]++|<>)*+\K<[^>]++>"

_TEXTS_AT_ONCE = 1024

Words = Literal["a-z", "unicode"]
# Lao, Thai, Burmese and Khmer have spaces between sentences alone.
_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}"
_RULES: dict[Words, str] = {
    "a-z": "[a-z]+",
    "unicode": rf"[{_ALONE}]\p{{M}}*|(?:(?![{_ALONE}])\p{{L}}\p{{M}}*)+|\p{{N}}+"
    r"|\p{Extended_Pictographic}",
}
FOREIGN = 0.002
"""Share of letters other than a to z from which on words of any script are read. In English reviews
there are 0.00003 of them, in German some 0.02."""


@dataclass(frozen=True, eq=False)
class Ragged:
    """Hold sequences of unequal length, concatenated in one tensor.

    Args:
        flat: The ids of all sequences, one after the other.
        offsets: Where each sequence starts, followed by where the last one ends.

    Shape:
        - flat: (total,), one id per token, int32
        - offsets: :math:`(N + 1,)`, int64

    Example:
        >>> ids = Ragged.from_lists([[7, 8, 9], [], [5]])
        >>> len(ids), ids.lengths.tolist(), ids[0].tolist()
        (3, [3, 0, 1], [7, 8, 9])
    """

    flat: Tensor
    offsets: Tensor

    @classmethod
    def from_lists(cls, sequences: Sequence[Sequence[int]]) -> "Ragged":
        """Concatenate a few Python sequences."""
        flat = torch.tensor([i for ids in sequences for i in ids], dtype=torch.int32)
        return cls(flat, torch.tensor([0, *accumulate(map(len, sequences))]))

    @property
    def lengths(self) -> Tensor:
        """Length of every sequence, (N,), int64."""
        return self.offsets.diff()

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Tensor:
        i = range(len(self))[i]  # also from the end; beyond it is an IndexError
        return self.flat[self.offsets[i] : self.offsets[i + 1]]


def clean(text: str) -> str:
    r"""Turn the two characters ``\n``, and HTML tags, into spaces.

    Example:
        >>> clean(r"Lovely.\nWill<br />come back, I <3 it!")
        'Lovely. Will come back, I <3 it!'
    """
    return re.sub(TAG, " ", text.replace(r"\n", " "))


def word_tokenizer(
    vocabulary: Iterable[str], *, clean_text: bool = True, words: Words = "a-z"
) -> Tokenizer:
    """Make a tokenizer of the special ids and these words, in lower case and each once.

    The other arguments are those of :func:`train_tokenizer`.
    """
    id_of = {word: i for i, word in enumerate([*SPECIALS, *vocabulary])}
    tokenizer = Tokenizer(models.WordLevel(id_of, unk_token=SPECIALS[UNK_ID]))
    newlines = [normalizers.Replace(r"\n", " ")] if clean_text else []
    tags = normalizers.Replace(Regex(TAG if clean_text else _LAB_13_TAG), " ")
    forms = [normalizers.NFKC()] if words == "unicode" else []
    tokenizer.normalizer = normalizers.Sequence([*newlines, *forms, normalizers.Lowercase(), tags])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_RULES[words]), "removed", invert=True)
    return tokenizer


def clean_tokenizer(tokenizer: Tokenizer, clean_text: bool) -> Tokenizer:
    r"""Let a pretrained tokenizer drop tags, and newlines written as ``\n``, as our own does.

    It is changed in place and returned.
    """
    newlines = [normalizers.Replace(r"\n", " ")] if clean_text else []
    tags = normalizers.Replace(Regex(TAG), " ")
    case = normalizers.BertNormalizer(lowercase=True)
    tokenizer.normalizer = normalizers.Sequence([*newlines, tags, case])
    # Decoded, each piece stays the word or mark that was read.
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return tokenizer


def train_tokenizer(
    texts: Iterable[str], *, min_frequency: int = 2, clean_text: bool = True, words: Words = "a-z"
) -> Tokenizer:
    r"""Build the vocabulary of some texts.

    Args:
        texts: The texts, which are read once and not kept.
        min_frequency: Words that occur less often are left out, and become ``<unk>``.
        clean_text: Whether to read the two characters ``\n`` as a newline, and to take for a tag
            only what begins like one. In Lab 13 these characters become a letter n that is attached
            to the following word, and whatever is between ``<`` and ``>`` is lost.
        words: What a word is: a run of the letters ``"a-z"``, or ``"unicode"``, a word of any
            script, a number or an emoji, all in their normal form NFKC.

    Returns:
        The tokenizer. Ids have no gaps: the special ones come first, then words from the most
        frequent to the rarest, in alphabetical order if they are equally frequent.

    Raises:
        TypeError, ValueError: If ``min_frequency`` is not an integer, or below 1.

    Example:
        >>> tokenizer = train_tokenizer(["good food", "good service"])
        >>> encoded = tokenizer.encode("Good wine")
        >>> encoded.tokens, encoded.ids
        (['good', '<unk>'], [3, 1])
    """
    min_frequency = check_size("min_frequency", min_frequency)
    tokenizer = word_tokenizer((), clean_text=clean_text, words=words)
    trainer = trainers.WordLevelTrainer(
        vocab_size=2**31, min_frequency=min_frequency, show_progress=False
    )
    tokenizer.train_from_iterator(_readable(texts), trainer)
    id_of = tokenizer.get_vocab()
    return word_tokenizer(sorted(id_of, key=id_of.__getitem__), clean_text=clean_text, words=words)


def foreign_share(texts: Iterable[str]) -> float:
    """Compute which share of all characters are letters other than a to z."""
    foreign = total = 0
    for text in texts:
        total += len(text)
        if not text.isascii():
            foreign += sum(not letter.isascii() and letter.isalpha() for letter in text)
    return foreign / max(total, 1)


def encode_reviews(tokenizer: Tokenizer, texts: Iterable[str]) -> Ragged:
    """Encode many texts, without special ids around them.

    A special token that is spelled out in a text, such as ``[SEP]``, is read like any other text.

    Args:
        tokenizer: Any tokenizer, which stays as it is.
        texts: The texts, which are read once and not kept.

    Returns:
        The ids of each text. A text without a single letter may have none.

    Example:
        >>> from attention.sentiment.tokenizer import train_tokenizer
        >>> tokenizer = train_tokenizer(["good food", "good service"])
        >>> encode_reviews(tokenizer, ["good good", "123", "no good"]).flat.tolist()
        [3, 3, 1, 3]
    """
    flat, lengths = array("i"), array("q")
    readable, before = _readable(texts), tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    try:
        while chunk := list(islice(readable, _TEXTS_AT_ONCE)):
            for each in tokenizer.encode_batch_fast(chunk, add_special_tokens=False):
                flat.extend(each.ids)
                lengths.append(len(each.ids))
    finally:
        tokenizer.encode_special_tokens = before
    # As tensors, both arrays, which grew in place, need no copy.
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64)
    torch.cumsum(torch.from_numpy(np.asarray(lengths)), 0, out=offsets[1:])
    return Ragged(torch.from_numpy(np.asarray(flat)), offsets)


def known_shares(tokenizer: Tokenizer, ids: Ragged) -> Tensor:
    """Compute which share of each text's words the tokenizer knows, (N,); of no word it is 0."""
    unknown = tokenizer.token_to_id(tokenizer.model.unk_token)
    known = F.pad(ids.flat.ne(-1 if unknown is None else unknown).long().cumsum(0), (1, 0))
    counts = known[ids.offsets].diff()  # (N,)
    return counts.double() / ids.lengths.clamp(min=1)


def check_words(tokenizer: Tokenizer, ids: Ragged, what: str) -> None:
    """Refuse texts if a model knows no word of any, and say if it knows none of over a tenth."""
    count, read = len(ids), int((known_shares(tokenizer, ids) > 0).sum())
    if not read:
        reads = "the word pieces of its pretrained encoder"
        if isinstance(tokenizer.model, models.WordLevel):
            is_any_script = bool(tokenizer.pre_tokenizer.pre_tokenize_str("é"))
            letters = "" if is_any_script else " of the letters a to z"
            where = "at least --min-frequency times in the training reviews"
            reads = f"words{letters} that occur {where}"
        raise ValueError(f"{what}: expected words that the model knows, got none; it reads {reads}")
    if 10 * (count - read) > count:
        print_status(f"{what}: {count - read} of {count} hold no word that the model knows")


def _readable(texts: Iterable[str]) -> Iterator[str]:
    """Replace lone surrogates, which have no UTF-8, with a sign that separates words as well."""
    if isinstance(texts, str):
        raise TypeError("texts must be several texts; got one str")
    for i, text in enumerate(texts, 1):
        if not isinstance(text, str):
            raise TypeError(f"texts: expected strings, got {text!r:.40} as number {i}")
        yield text.encode("utf-8", "replace").decode()

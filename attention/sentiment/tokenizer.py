r"""From texts to ids: a vocabulary of whole words, or the word pieces of a pretrained encoder.

The rule for words is that of Lab 13: text is lower-cased, HTML tags become spaces, and whatever is
not one of the 26 letters separates words. Lab 13 takes everything between ``<`` and ``>`` for a
tag, even in "I <3 this film, 10 > 5", whereas in all else here a tag is what :data:`TAG` describes.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from torch import Tensor

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
_IDS_AT_ONCE = 1 << 20
_WORD = "[a-z]+"


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


def word_tokenizer(words: Iterable[str], *, clean_text: bool = True) -> Tokenizer:
    r"""Make a tokenizer whose vocabulary is the special ids and these words, in this order.

    Args:
        words: The words, in lower case and each once.
        clean_text: Whether to read the two characters ``\n`` as a newline, and to take for a tag
            only what begins like one. In Lab 13 these characters become a letter n that is attached
            to the following word, and whatever is between ``<`` and ``>`` is lost.

    Example:
        >>> word_tokenizer(["good", "food"]).encode(r"Good\nwine").ids
        [3, 1]
    """
    vocabulary = {word: i for i, word in enumerate([*SPECIALS, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIALS[UNK_ID]))
    newlines = [normalizers.Replace(r"\n", " ")] if clean_text else []
    tags = normalizers.Replace(Regex(TAG if clean_text else _LAB_13_TAG), " ")
    tokenizer.normalizer = normalizers.Sequence([*newlines, normalizers.Lowercase(), tags])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_WORD), "removed", invert=True)
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


def train_and_encode(
    texts: Iterable[str], *, min_frequency: int = 2, clean_text: bool = True
) -> tuple[Tokenizer, Ragged]:
    r"""Build the vocabulary of some texts, and encode these texts, in one pass over them.

    Words get provisional numbers in the order in which they appear. Once all are counted, the
    numbers are replaced with ids in place. In addition to the words, this takes 4 bytes per token.

    Args:
        texts: The texts, which are read once and not kept.
        min_frequency: Words that occur less often are left out, and become ``<unk>``.
        clean_text: As in :func:`word_tokenizer`.

    Returns:
        The tokenizer, and the ids of the texts. Ids have no gaps: the special ones come first, then
        words from the most frequent to the rarest, in alphabetical order if they are equally
        frequent.

    Raises:
        ValueError: If ``min_frequency`` < 1.

    Example:
        >>> tokenizer, ids = train_and_encode(["Good, GOOD food!", "good<br />service"])
        >>> tokenizer.get_vocab_size(), ids[0].tolist(), ids[1].tolist()
        (4, [3, 3, 1], [3, 1])
    """
    if min_frequency < 1:
        raise ValueError(f"min_frequency must be at least 1, got {min_frequency}")
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # an unseen word gets the next number
    split = re.compile(_WORD).findall
    normalize = word_tokenizer((), clean_text=clean_text).normalizer.normalize_str
    flat, lengths = array("i"), array("q")
    for text in _readable(texts):
        words = split(normalize(text))
        flat.extend(map(numbers.__getitem__, words))
        lengths.append(len(words))
    ids = _ragged(flat, lengths)
    counts = torch.bincount(ids.flat, minlength=len(numbers)).tolist()
    ranked = sorted((-count, word) for count, word in zip(counts, numbers, strict=True))
    kept = [word for count, word in ranked if -count >= min_frequency]
    tokenizer = word_tokenizer(kept, clean_text=clean_text)
    id_of = tokenizer.get_vocab()
    lookup = torch.tensor([id_of.get(word, UNK_ID) for word in numbers], dtype=torch.int32)
    for part in ids.flat.split(_IDS_AT_ONCE):  # an index takes 8 bytes
        part.copy_(lookup[part.long()])
    return tokenizer, ids


def train_tokenizer(
    texts: Iterable[str], *, min_frequency: int = 2, clean_text: bool = True
) -> Tokenizer:
    """Build the vocabulary of some texts, like :func:`train_and_encode` without the ids.

    Example:
        >>> tokenizer = train_tokenizer(["good food", "good service"])
        >>> encoded = tokenizer.encode("Good wine")
        >>> encoded.tokens, encoded.ids
        (['good', '<unk>'], [3, 1])
    """
    return train_and_encode(texts, min_frequency=min_frequency, clean_text=clean_text)[0]


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
    return _ragged(flat, lengths)


def check_words(tokenizer: Tokenizer, ids: Ragged, what: str) -> None:
    """Refuse texts of which a model would read nothing, such as those in another script.

    If that holds for more than a tenth of them, it is printed.

    Raises:
        ValueError: If not one id is that of a word or piece that the tokenizer knows.
    """
    unknown = tokenizer.token_to_id(tokenizer.model.unk_token)
    known = ids.flat.ne(-1 if unknown is None else unknown).numpy()
    starts = ids.offsets[:-1][ids.lengths > 0].numpy()
    count, read = len(ids), int(np.logical_or.reduceat(known, starts).sum()) if len(starts) else 0
    if not read:
        reads = "the word pieces of its pretrained encoder"
        if isinstance(tokenizer.model, models.WordLevel):
            where = "at least --min-frequency times in the training reviews"
            reads = f"words of the letters a to z that occur {where}"
        raise ValueError(f"{what}: expected words that the model knows, got none; it reads {reads}")
    if 10 * (count - read) > count:
        print_status(f"{what}: {count - read} of {count} hold no word that the model knows")


def _ragged(flat: "array[int]", lengths: "array[int]") -> Ragged:
    """Take both arrays, which grew in place, as tensors without a copy."""
    offsets = torch.zeros(len(lengths) + 1, dtype=torch.int64)
    torch.cumsum(torch.from_numpy(np.asarray(lengths)), 0, out=offsets[1:])
    return Ragged(torch.from_numpy(np.asarray(flat)), offsets)


def _readable(texts: Iterable[str]) -> Iterator[str]:
    """Replace lone surrogates, which have no UTF-8, with a sign that separates words as well."""
    if isinstance(texts, str):
        raise TypeError("texts must be several texts; got one str")
    return (text.encode("utf-8", "replace").decode() for text in texts)

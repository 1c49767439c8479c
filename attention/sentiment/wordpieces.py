"""From texts to the word pieces that a pretrained encoder reads."""

import json
from collections.abc import Iterable
from itertools import islice

import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from attention.sentiment.batches import Ragged

#: The special id before each text, and that between a distractor and its review and at the end.
CLS_ID, SEP_ID = 101, 102

#: Pieces that an encoder of 512 positions reads, in addition to the special ones around them.
LONGEST_TEXT = 510

_TEXTS_AT_ONCE = 1024


def clean_tokenizer(tokenizer: Tokenizer, clean_text: bool) -> Tokenizer:
    r"""Let a pretrained tokenizer drop tags, and newlines written as ``\n``, as our own does.

    Args:
        tokenizer: The tokenizer, which is changed in place.
        clean_text: Whether the two characters ``\n`` become a space.

    Returns:
        The tokenizer.
    """
    tokenizer.normalizer = _normalizer(clean_text)
    return tokenizer


def _normalizer(clean_text: bool) -> normalizers.Normalizer:
    newlines = [normalizers.Replace(r"\n", " ")] if clean_text else []
    tags = normalizers.Replace(Regex("<[^>]+>"), " ")
    return normalizers.Sequence([*newlines, tags, normalizers.BertNormalizer(lowercase=True)])


def encode_pieces(tokenizer: Tokenizer, texts: Iterable[str]) -> Ragged:
    """Encode many texts, without the special ids around them.

    A special token that is spelled out in a text, such as ``[SEP]``, is read like any other text.

    Args:
        tokenizer: The tokenizer of the encoder.
        texts: The texts, which are read once and not kept.

    Returns:
        The ids of each text.
    """
    texts = iter(texts)
    tokenizer.encode_special_tokens = True
    flat, lengths = [torch.empty(0, dtype=torch.int32)], [0]
    while chunk := list(islice(texts, _TEXTS_AT_ONCE)):
        # A lone surrogate can't be written in UTF-8.
        readable = [text.encode("utf-8", "replace").decode() for text in chunk]
        encoded = [
            each.ids for each in tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        ]
        flat += [torch.tensor(ids, dtype=torch.int32) for ids in encoded]
        lengths += [len(ids) for ids in encoded]
    return Ragged(torch.cat(flat), torch.tensor(lengths).cumsum(0))


def check_pieces(tokenizer: Tokenizer, clean_text: bool) -> None:
    """Refuse a tokenizer that differs from the encoder's in more than its vocabulary.

    Raises:
        ValueError: If it differs.
    """
    expected = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    expected.normalizer = _normalizer(clean_text)
    expected.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    theirs, ours = (json.loads(each.to_str()) for each in (tokenizer, expected))
    for rule in (theirs, ours):
        del rule["model"]["vocab"]
    parts = "model", "normalizer", "pre_tokenizer", "truncation", "padding"
    if other := [part for part in parts if theirs.get(part) != ours[part]]:
        raise ValueError(f"tokenizer.json has another {', '.join(other)} than the encoder's")
    for token, id in (("[PAD]", 0), ("[CLS]", CLS_ID), ("[SEP]", SEP_ID)):
        if tokenizer.token_to_id(token) != id:
            raise ValueError(
                f"tokenizer.json has {token} at {tokenizer.token_to_id(token)}, expected {id}"
            )

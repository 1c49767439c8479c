"""The embedded reviews as one row of tokens, and pieces of it."""

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from attention.language import START, START_ID
from attention.sentiment.tokenizer import clean

# What the scripts of the site can do as well: a word with the space before it, a number, the rest.
PATTERN = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"


def train_tokenizer(texts: list[str], vocab_size: int) -> Tokenizer:
    """Learn a byte-level BPE, which can spell any text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[START],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tidy(text: str) -> str:
    """Clean a review, and leave single spaces."""
    return " ".join(clean(text).split())


def stream(tokenizer: Tokenizer, texts: list[str]) -> Tensor:
    """Concatenate the ids of all texts, with ``<start>`` before each."""
    encoded = tokenizer.encode_batch(texts, add_special_tokens=False)
    return torch.tensor(
        [i for each in encoded for i in (START_ID, *each.ids)], dtype=torch.int16
    )  # (N,)


def sentence_starts(tokenizer: Tokenizer, ids: Tensor, length: int) -> Tensor:
    """Find where a sentence begins that is followed by enough tokens for a piece."""
    vocabulary = tokenizer.get_vocab()
    ends = [i for token, i in vocabulary.items() if token[-1] in ".!?"] + [START_ID]
    is_end = torch.zeros(len(vocabulary), dtype=torch.bool)
    is_end[ends] = True
    starts = is_end[ids[:-length].long()].nonzero().squeeze(-1) + 1  # (…,)
    # "..." has only one sentence behind it
    return starts[~is_end[ids[starts].long()]]


def pieces(ids: Tensor, starts: Tensor, length: int) -> Tensor:
    """Cut pieces of so many tokens, and put ``<start>`` in front of each."""
    rows = ids[starts[:, None] + torch.arange(length)].long()  # (B, length)
    return torch.nn.functional.pad(rows, (1, 0), value=START_ID)  # (B, length + 1)


def repeat_passages(batch: torch.Tensor, count: int, generator: torch.Generator) -> None:
    """Overwrite the first rows by their first 8 to 64 tokens, again and again, in place.

    Reviews seldom repeat themselves, so without such rows copying is not worth learning.
    """
    n = batch.shape[-1] - 1
    for row in batch[:count, 1:]:  # each (n,), behind <start>
        length = int(torch.randint(8, 65, (), generator=generator))
        row[:] = row[torch.arange(n) % length]

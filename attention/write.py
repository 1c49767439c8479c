"""Let a language model write: ``python -m attention.write RUN "The film" --tokens 40``."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import torch

from attention._command import Positional, arg, parse, run_command
from attention.language import continuation, encode, load_language_model


@dataclass(frozen=True)
class WriteConfig:
    """Continue a text, one token after another."""

    run: Annotated[Path, Positional, arg(metavar="RUN")]
    """The folder of a language model, such as docs/experiments/language/model."""
    text: Annotated[str, Positional, arg(metavar="TEXT")]
    """The text to continue; an empty one lets the model begin."""
    tokens: int | None = None
    """Number of tokens to write, each a word or a part of one; without it 40, or as many as there
    is room for."""
    temperature: float = 0.8
    """Below 1 favours likely tokens, above 1 evens out their chances, 0 takes the most likely."""
    seed: int = 0
    """The seed of the draws."""

    def __post_init__(self) -> None:
        if self.tokens is not None and self.tokens < 1:
            raise ValueError(f"tokens: expected at least 1, got {self.tokens}")


def main(arguments: Sequence[str]) -> int:
    """Write from the command line."""
    config = parse(WriteConfig, arguments, prog="python -m attention.write")
    model, tokenizer = load_language_model(config.run)
    ids = encode(tokenizer, config.text)
    most = model.config.max_length
    space = most - len(ids)
    if space < 1:
        raise ValueError(
            f"TEXT: expected at most {most - 2} tokens, because the model reads {most} with "
            f"<start> and one that it writes, got {len(ids) - 1}"
        )
    if config.tokens is not None and config.tokens > space:
        raise ValueError(
            f"--tokens: expected at most {space} after a text of {len(ids) - 1} tokens, because "
            f"the model reads {most}; got {config.tokens}"
        )
    count = min(40, space) if config.tokens is None else config.tokens
    generator = torch.Generator().manual_seed(config.seed)
    drawn = continuation(model, ids, temperature=config.temperature, generator=generator)
    printed = ""
    for token in islice(drawn, count):
        ids.append(token)
        text = tokenizer.decode(ids)
        # The last character may need more bytes, which the next token brings.
        if not text.endswith("\ufffd"):
            print(text[len(printed) :], end="", flush=True)
            printed = text
    print()
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

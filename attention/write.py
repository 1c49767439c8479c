"""Let a language model write: ``python -m attention.write RUN "The film" --tokens 40``."""

import sys
from collections.abc import Sequence
from itertools import islice

import torch

from attention._command import RUN, click, parse, run_command
from attention._console import spelled
from attention.language import continuation, encode, load_language_model

_PARAMETERS = (
    RUN,
    click.Argument(["text"], metavar="TEXT"),
    click.Option(
        ["--tokens"],
        type=click.IntRange(min=1),
        help="Number of tokens to write, each a word or a part of one; without it 40, or as many "
        "as there is room for.",
    ),
    click.Option(
        ["--temperature"],
        type=click.FloatRange(min=0),
        default=0.8,
        show_default=True,
        help="Below 1 favours likely tokens, above 1 evens out their chances, 0 takes the most "
        "likely.",
    ),
    click.Option(
        ["--seed"],
        type=click.IntRange(0, 2**63 - 1),
        default=0,
        show_default=True,
        help="The seed of the draws.",
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Write from the command line."""
    about = (
        "Continue a text, one token after another. RUN is the folder of a language model, such as "
        "docs/experiments/language/model; an empty TEXT lets the model begin."
    )
    given = parse("attention.write", arguments, _PARAMETERS, about)
    model, tokenizer = load_language_model(given["run"])
    ids = encode(tokenizer, given["text"])
    most, requested = model.config.max_length, given.get("tokens")
    space = most - len(ids)
    if space < 1:
        raise ValueError(
            f"TEXT: expected at most {most - 2} tokens, because the model reads {most} with "
            f"<start> and one that it writes, got {len(ids) - 1}"
        )
    if requested is not None and requested > space:
        raise ValueError(
            f"--tokens: expected at most {space} after a text of {len(ids) - 1} tokens, because "
            f"the model reads {most}; got {requested}"
        )
    generator = torch.Generator().manual_seed(given["seed"])
    drawn = continuation(model, ids, temperature=given["temperature"], generator=generator)
    printed = ""
    for token in islice(drawn, min(40, space) if requested is None else requested):
        ids.append(token)
        text = tokenizer.decode(ids)
        # The last character may need more bytes, which the next token brings.
        if not text.endswith("\ufffd"):
            print(spelled(text[len(printed) :]), end="", flush=True)
            printed = text
    print()
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

"""Apply a trained model to a text: ``python -m attention.predict RUN "A wonderful film."``."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import torch

from attention._command import parse, run_command
from attention._files import write_text
from attention.evaluate import PRECISION, RUN
from attention.plotting.words import words_as_ansi
from attention.sentiment.precision import precision_note
from attention.sentiment.prediction import predict, standalone_page
from attention.sentiment.run_folder import load_run

__all__ = ["main", "predict"]

_PARAMETERS = (
    RUN,
    # The review; - reads one per line from the standard input.
    click.Argument(["text"], metavar="TEXT"),
    click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object per review."),
    click.Option(
        ["--html"],
        type=click.Path(path_type=Path),
        help="A file to write the weights to, as a self-contained HTML page.",
    ),
    PRECISION,
)


def _lines() -> Iterator[str]:
    try:
        yield from sys.stdin
    except UnicodeDecodeError as error:
        raise ValueError(f"-: expected lines of UTF-8 on the standard input, got {error}") from None


def main(arguments: Sequence[str]) -> int:
    """Predict from the command line."""
    about = (
        "Predict whether a review is positive, with its probability and its attention weights. RUN "
        "is the folder that training wrote, TEXT the review; - reads one per line from the "
        "standard input."
    )
    given: dict[str, Any] = parse("attention.predict", arguments, _PARAMETERS, about)
    page: Path | None = given.get("html")
    if page and not page.parent.is_dir():
        raise ValueError(f"--html: there is no folder {page.parent}")
    if page and page.is_dir():
        raise ValueError(f"--html: {page} is a folder; give a file")
    device, precision = torch.device("cpu"), given["precision"]
    model, tokenizer, _ = load_run(given["run"], device)
    if note := precision_note(precision, device, is_pretrained=model.config.is_pretrained):
        print(note, file=sys.stderr, flush=True)
    texts = _lines() if given["text"] == "-" else [given["text"]]
    # Colours are for a terminal only: a file or another program gets the plain words.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    kept = []
    for text in texts:
        prediction = predict(model, tokenizer, text.rstrip("\n"), precision=precision)
        if page:
            kept.append(prediction)
        if given["as_json"]:
            print(json.dumps(prediction), flush=True)
        else:
            print(f"{prediction['label']} ({prediction['probability']:.1%} positive)")
            tokens, weights = prediction["tokens"], prediction["weights"]
            print(words_as_ansi(tokens, weights) if coloured else " ".join(tokens), flush=True)
    if page:
        write_text(page, standalone_page(kept))
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

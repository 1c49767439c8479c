"""Apply a trained model to a text: ``python -m attention.predict RUN "A wonderful film."``."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch

from attention._command import Positional, arg, parse, run_command
from attention._files import write_text
from attention.plotting.words import words_as_ansi
from attention.sentiment.precision import Precision, precision_note
from attention.sentiment.prediction import predict, standalone_page
from attention.sentiment.run_folder import load_run

__all__ = ["main", "predict"]


@dataclass(frozen=True)
class PredictConfig:
    """Predict whether a review is positive, with its probability and its attention weights."""

    run: Annotated[Path, Positional, arg(metavar="RUN")]
    """The run folder that training wrote."""
    text: Annotated[str, Positional, arg(metavar="TEXT")]
    """The review; - reads one per line from the standard input."""
    json: bool = False
    """Whether to print one JSON object per review."""
    html: Path | None = None
    """A file to write the weights to, as a self-contained HTML page."""
    precision: Precision = "auto"
    """Precision of matrix products; auto takes bfloat16 for minilm on a CPU that has units for
    it."""


def _lines() -> Iterator[str]:
    try:
        yield from sys.stdin
    except UnicodeDecodeError as error:
        raise ValueError(f"-: expected lines of UTF-8 on the standard input, got {error}") from None


def main(arguments: Sequence[str]) -> int:
    """Predict from the command line."""
    config = parse(PredictConfig, arguments, prog="python -m attention.predict")
    if config.html and not config.html.parent.is_dir():
        raise ValueError(f"--html: there is no folder {config.html.parent}")
    if config.html and config.html.is_dir():
        raise ValueError(f"--html: {config.html} is a folder; give a file")
    device = torch.device("cpu")
    model, tokenizer, _ = load_run(config.run, device)
    is_pretrained = model.config.is_pretrained
    if note := precision_note(config.precision, device, is_pretrained=is_pretrained):
        print(note, file=sys.stderr, flush=True)
    texts = _lines() if config.text == "-" else [config.text]
    # Colours are for a terminal only: a file or another program gets the plain words.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    kept = []
    for text in texts:
        prediction = predict(model, tokenizer, text.rstrip("\n"), precision=config.precision)
        if config.html:
            kept.append(prediction)
        if config.json:
            print(json.dumps(prediction), flush=True)
        else:
            print(f"{prediction['label']} ({prediction['probability']:.1%} positive)")
            tokens, weights = prediction["tokens"], prediction["weights"]
            print(words_as_ansi(tokens, weights) if coloured else " ".join(tokens), flush=True)
    if config.html:
        write_text(config.html, standalone_page(kept))
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

"""Ask a trained model about a text: ``python -m attention.predict RUN "A wonderful film."``."""

import html
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from tokenizers import Tokenizer
from torch import Tensor

from attention._files import write_text
from attention.command import parse, run_command
from attention.models import SentimentClassifier
from attention.report import words_as_ansi, words_as_html
from attention.runs import load_run


@dataclass(frozen=True)
class PredictConfig:
    """Say whether a review is positive, how sure the model is, and where it looked."""

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder that training wrote."""
    text: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
    """The review; - reads one a line from the standard input."""
    json: bool = False
    """Whether to print one JSON object a review."""
    html: Path | None = None
    """A file to write the weights to, as a page that stands alone."""


@torch.no_grad()
def predict(
    model: SentimentClassifier, tokenizer: Tokenizer, text: str, keep: str = "tail"
) -> dict[str, Any]:
    r"""Read one review.

    .. math:: \mathrm{probability} = \frac{1}{1 + e^{-\mathrm{logit}}}

    Args:
        model: In evaluation mode.
        tokenizer: The run's.
        text: The review. The model reads ``max_length`` of its words.
        keep: Which end of a longer review it reads, ``"tail"`` or ``"head"``; as in training.

    Returns:
        ``label`` (``"positive"`` above 0.5), ``probability`` of positive, ``tokens``, and
        ``weights``, one a token. With self-attention a token's weight is the mean it receives.

    Example:
        >>> from attention.tokenizer import train_tokenizer
        >>> tokenizer = train_tokenizer(["good food", "good wine"])
        >>> model = SentimentClassifier(4, embed_dim=2, attention="energy").eval()
        >>> predict(model, tokenizer, "Good beer")["tokens"]
        ['good', '<unk>']
    """
    # Bytes of the command line that are no UTF-8 arrive as lone surrogates.
    encoded = tokenizer.encode(text.encode("utf-8", "replace").decode())
    length = int(model.config["max_length"])
    end = slice(-length, None) if keep == "tail" else slice(length)
    ids, tokens = encoded.ids[end], encoded.tokens[end]
    device = next(model.parameters()).device
    # A text without a word is one padding: the model then says what it says of nothing.
    batch = torch.tensor([ids or [0]], device=device)  # (1, n)
    lengths = torch.tensor([len(ids)], device=device)  # (1,)
    logits, weights = model(batch, lengths, need_weights=True)  # (1,), (1, n) or (1, n, n)
    probability = logits.sigmoid().item()
    return {
        "label": "positive" if probability > 0.5 else "negative",
        "probability": probability,
        "tokens": tokens,
        "weights": _one_a_token(weights[0])[: len(ids)].tolist(),
    }


def _one_a_token(weights: Tensor) -> Tensor:
    return weights.mean(dim=0) if weights.dim() == 2 else weights  # (n,)


def standalone_page(predictions: Iterable[dict[str, Any]]) -> str:
    """Draw predictions as one HTML page that needs nothing else, in light and dark."""
    figures = "\n".join(
        words_as_html(p["tokens"], p["weights"], f"{p['label']}, {p['probability']:.1%} positive")
        for p in predictions
    )
    title = html.escape("Where the model looked")
    return (
        f'<!doctype html>\n<html lang="en-GB"><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<style>:root{color-scheme:light dark}body{font:1.1rem/1.8 system-ui;max-width:45rem;"
        "margin:2rem auto;padding:0 1rem}</style>\n"
        f"<h1>{title}</h1>\n{figures}\n</html>\n"
    )


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
    model, tokenizer, trained = load_run(config.run, torch.device("cpu"))
    texts = _lines() if config.text == "-" else [config.text]
    # Colours are for eyes: a file or another program gets the words alone.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    kept = []
    for text in texts:
        prediction = predict(model, tokenizer, text.rstrip("\n"), trained.keep)
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

"""Apply a trained model to a text or a file: ``python -m attention.predict RUN "A good film."``."""

import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from attention._command import RUN, click, parse, run_command
from attention._console import shown
from attention._distributed import print_status
from attention._files import write_text
from attention._precision import precision_note
from attention.evaluate import PRECISION
from attention.plotting.words import words_as_ansi, words_as_html
from attention.sentiment.classify import Classifier
from attention.sentiment.classify_file import classify_file
from attention.sentiment.evaluation import Prediction, predict
from attention.sentiment.files import KINDS, KINDS_HELP
from attention.sentiment.run_folder import load_run
from attention.sentiment.tokenizer import encode_reviews

__all__ = ["main", "predict"]

_PARAMETERS = (
    RUN,
    click.Argument(["text"], metavar="[TEXT]", nargs=-1),
    click.Option(
        ["--file"],
        type=click.Path(path_type=Path),
        help=f"In place of TEXT, a file of texts ({KINDS_HELP}).",
    ),
    click.Option(
        ["--out"],
        type=click.Path(path_type=Path, dir_okay=False),
        help="With --file, the file to write: its rows with the columns predicted and probability, "
        f"as {', '.join(KINDS)}.",
    ),
    click.Option(["--text-column"], help="With --file, its column of texts; by default the run's."),
    click.Option(["--json"], is_flag=True, help="Print one JSON object per review."),
    click.Option(
        ["--html"],
        type=click.Path(path_type=Path, dir_okay=False),
        help="A file to write the weights to, as a self-contained HTML page.",
    ),
    PRECISION,
)


def _lines() -> Iterator[str]:
    if isinstance(sys.stdin, io.TextIOWrapper):  # in some locales Python lets any byte pass
        sys.stdin.reconfigure(encoding="utf-8", errors="strict")
    try:
        yield from (line.rstrip("\n") for line in sys.stdin or ())
    except UnicodeDecodeError as error:
        raise ValueError(f"-: expected lines of UTF-8 on the standard input, got {error}") from None


def standalone_page(predictions: Iterable[Prediction]) -> str:
    """Draw predictions as one self-contained HTML page, which has a light and a dark theme."""
    figures = "\n".join(
        words_as_html(p["tokens"], p["weights"], f"{p['label']}, {p['probability']:.1%}")
        for p in predictions
    )
    title = "Attention weights"
    return (
        f'<!doctype html>\n<html lang="en-GB"><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width">\n'
        "<style>:root{color-scheme:light dark}body{font:1.1rem/1.8 system-ui;max-width:45rem;"
        "margin:2rem auto;padding:0 1rem}</style>\n"
        f"<h1>{title}</h1>\n{figures}\n</html>\n"
    )


def _check_line(given: dict[str, Any]) -> None:
    """Refuse a line that has neither text nor file, or both, or what the other one reads."""
    has_file, texts = "file" in given, given["text"]
    if has_file == bool(texts) or len(texts) > 1:
        raise ValueError(
            "TEXT: expected one text in quotes, - for one per line of the standard input, or "
            f"--file, got {'both' if has_file and texts else f'{len(texts)} texts'}"
        )
    for name in ("json", "html") if has_file else ("out", "text_column"):
        if given.get(name):
            option = name.replace("_", "-")
            raise ValueError(f"--{option}: expected {'TEXT' if has_file else '--file'} with it")
    if not has_file:
        if not texts[0].strip():
            raise ValueError(f"TEXT: expected a text, got {texts[0]!r}")
        if (page := given.get("html")) and page.exists():
            raise ValueError(f"--html: {shown(page)} exists; name another file")
        return
    out: Path | None = given.get("out")
    if out is None:
        raise ValueError("--out: expected a file to write, got none")
    if not out.parent.is_dir():
        raise ValueError(f"--out: there is no folder {shown(out.parent)}")
    if out.exists():
        raise ValueError(f"--out: {shown(out)} exists; name another file")


def main(arguments: Sequence[str]) -> int:
    """Predict from the command line."""
    about = (
        "Predict the label of a review, with the probability of the answer and the attention "
        "weights. RUN is the folder that training wrote, TEXT the review; - reads one "
        "per line from the standard input, and --file reads a file."
    )
    given: dict[str, Any] = parse("attention.predict", arguments, _PARAMETERS, about)
    page: Path | None = given.get("html")
    if page and not page.parent.is_dir():
        raise ValueError(f"--html: there is no folder {shown(page.parent)}")
    device, precision = torch.device("cpu"), given.get("precision", "auto")
    _check_line(given)
    model, tokenizer, trained = load_run(given["run"], device)
    if note := precision_note(precision, device, is_pretrained=model.config.is_pretrained):
        print_status(note)
    if "file" in given:
        classify = Classifier(model, tokenizer, precision)
        column = given.get("text_column", trained.text_column)
        count = classify_file(classify, given["file"], given["out"], column)
        print_status(f"{shown(given['out'])}: {count:,} rows")
        return 0
    is_piped = given["text"] == ("-",)
    # Colours are for a terminal only: a file or another program gets the plain words.
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    kept = []
    for line, text in enumerate(_lines() if is_piped else given["text"], 1):
        prediction = predict(model, tokenizer, text, precision=precision)
        where = f"line {line}" if is_piped else "TEXT"
        if prediction["known"] == 0:
            print_status(
                f"{where}: holds no word that the model knows; the answer ignores what it says"
            )
        elif prediction["known"] < 0.5:
            share = f"{prediction['known']:.0%}"
            print_status(f"{where}: the model knows {share} of the words, so read it with care")
        read, words = len(prediction["tokens"]), len(encode_reviews(tokenizer, [text]).flat)
        if read < words:
            end = {"tail": "last", "head": "first"}[model.config.keep]
            print_status(f"{where}: the model reads the {end} {read:,} of its {words:,} tokens")
        if page:
            kept.append(prediction)
        if given["json"]:
            print(json.dumps(prediction), flush=True)
        else:
            print(f"{prediction['label']} ({prediction['probability']:.1%})")
            tokens, weights = prediction["tokens"], prediction["weights"]
            tinted = words_as_ansi(tokens, weights) if coloured else " ".join(tokens)
            print(f"read as: {tinted}", flush=True)
    if page:
        write_text(page, standalone_page(kept))
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

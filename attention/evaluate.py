"""Measure a trained model: ``python -m attention.evaluate RUN --data FOLDER --split test``."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from attention._command import Positional, arg, parse, run_command
from attention.sentiment.evaluation import Measured, measure
from attention.sentiment.precision import Precision, precision_note
from attention.sentiment.prepare import measured_examples
from attention.sentiment.progress import print_status
from attention.sentiment.run_folder import load_run
from attention.sentiment.sources import DataError, load_reviews
from attention.sentiment.training import choose_device


@dataclass(frozen=True)
class EvaluateConfig:
    """Measure a trained model on reviews, alone and behind distractors."""

    run: Annotated[Path, Positional, arg(metavar="RUN")]
    """The run folder that training wrote."""
    data: str | None = None
    """yelp, imdb or a folder; by default what the model was trained on."""
    split: Literal["train", "validation", "test"] = "test"
    """Which split of the reviews."""
    device: str = "auto"
    """cpu, cuda, cuda:1 …; auto takes a GPU if there is one."""
    precision: Precision = "auto"
    """Precision of matrix products; auto takes bfloat16 if the GPU has units for it, or, with
    minilm on a CPU, if the CPU has them."""


def evaluate(config: EvaluateConfig) -> dict[str, Measured]:
    """Measure a run's model on the reviews of a split, alone and behind distractors.

    The distractors are drawn with seed 42, as in Lab 13, whatever the seed of the run.

    Args:
        config: The run, the data and the split.

    Returns:
        For ``clean`` and ``distractor``: ``accuracy``, ``loss`` (nats per review), their 95 %
        intervals, and ``n``.

    Raises:
        RunError: If the folder holds no run that can be read.
        DataError: If the reviews can't be loaded, or there is no such split.
    """
    device = choose_device(config.device)
    model, tokenizer, trained = load_run(config.run, device)
    is_pretrained = model.config.is_pretrained
    if note := precision_note(config.precision, device, is_pretrained=is_pretrained):
        print_status(note)
    source = config.data or trained.data
    reviews = load_reviews(source, lab_sample=trained.lab_sample)
    if config.split not in reviews:
        raise DataError(
            f"{source}: has no split {config.split}; give as --split {' or '.join(reviews)}"
        )
    examples = measured_examples(tokenizer, reviews[config.split])
    return {
        name: measure(model, some, precision=config.precision) for name, some in examples.items()
    }


def main(arguments: Sequence[str]) -> int:
    """Measure from the command line, and print a table and a last line of JSON."""
    config = parse(EvaluateConfig, arguments, prog="python -m attention.evaluate")
    result = evaluate(config)
    print(f"{'':12}{'accuracy':>10}{'95 % interval':>20}{'loss':>8}{'reviews':>10}")
    for name, row in result.items():
        low, high = row["accuracy_interval"]
        interval = f"{low:.4f} to {high:.4f}"
        print(f"{name:12}{row['accuracy']:10.4f}{interval:>20}{row['loss']:8.4f}{row['n']:10,}")
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

"""Measure a trained model: ``python -m attention.evaluate RUN``."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from attention._command import RUN, click, options_of, parse, run_command
from attention._console import shown
from attention._device import choose_device
from attention._distributed import print_status
from attention._precision import Precision, precision_note
from attention.sentiment.batches import SETS, measured_examples
from attention.sentiment.config import TrainConfig
from attention.sentiment.confusion import in_words
from attention.sentiment.evaluation import Measured, measure
from attention.sentiment.files import Columns, files_of, load_file
from attention.sentiment.reviews import fingerprint
from attention.sentiment.run_folder import load_run, read_fingerprints
from attention.sentiment.sources import SOURCES, SOURCES_HELP, load_reviews

# As in training, each with what its help says in addition.
_OF_TRAINING = {"device": "[default: auto]", "precision": "[default: auto]"}
DEVICE, PRECISION = options_of(TrainConfig, _OF_TRAINING)
_PARAMETERS = (
    RUN,
    click.Option(["--data"], help=f"{SOURCES_HELP}; by default the source of the training."),
    click.Option(["--text-column"], help="The column of the texts; by default the run's."),
    click.Option(["--label-column"], help="The column of the labels; by default the run's."),
    click.Option(
        ["--split"],
        type=click.Choice(["train", "validation", "test"]),
        default="validation",
        show_default=True,
        help="Which split of the reviews.",
    ),
    DEVICE,
    PRECISION,
)


def evaluate(
    run: Path,
    *,
    data: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    split: str = "validation",
    device: str = "auto",
    precision: Precision = "auto",
) -> dict[str, Measured]:
    """Measure a run's model on the reviews of a split, ``clean`` and behind a ``distractor``.

    The arguments are the options of the command. Without ``data``, the source of the reviews is
    that of the training; a column that is not given is called as in training. A file that is given
    is measured whole. A run without distractors is measured without them. Texts that splits have in
    common are counted where a run begins.
    """
    where = choose_device(device)
    model, tokenizer, trained = load_run(run, where)
    if note := precision_note(precision, where, is_pretrained=model.config.is_pretrained):
        print_status(note)
    source = trained.data if data is None else data
    for name, column in {"text": text_column, "label": label_column}.items():
        if column is not None and source in SOURCES:
            raise ValueError(f"--{name}-column: expected a file or a folder as data, got {source}")
    labels = model.config.labels
    columns = Columns(text_column or trained.text_column, label_column or trained.label_column)
    path, files = Path(source), {}
    if source not in SOURCES and path.is_dir():
        files = files_of(path)
    elif source not in SOURCES and data is not None and path.is_file():
        files = {split: path}
    if split in files:  # no other has to be read
        reviews = {split: load_file(files[split], columns, labels)}
    else:
        reviews = load_reviews(source, columns=columns)
    if split not in reviews:
        raise ValueError(
            f"{shown(source)}: has no split {split}; give as --split {' or '.join(reviews)}"
        )
    if reviews[split].names != labels:
        raise ValueError(
            f"{shown(source)}: expected the labels {', '.join(labels)}, which the model answers, "
            f"got {', '.join(reviews[split].names)}"
        )
    mark, marks = fingerprint(reviews[split]), read_fingerprints(run)
    # Of a file from which validation reviews were drawn, the others trained the model.
    is_same = files == {split: path} and path.resolve() == Path(trained.data).resolve()
    if is_same or mark == marks.get("train") or (data is None and split == "train"):
        print_status(
            f"{shown(source)}: the model was trained on some or all of these reviews; "
            "on new ones it is right less often"
        )
    was_measured = data is None and split == "validation" and trained.limit is None
    if was_measured and mark != marks.get(split):
        print_status(
            f"{shown(source)}: now has other validation reviews than those that training "
            "measured, and the model may have been trained on some of them"
        )
    examples = measured_examples(tokenizer, reviews[split], distractors=trained.distractors)
    return {name: measure(model, some, precision=precision) for name, some in examples.items()}


def main(arguments: Sequence[str]) -> int:
    """Measure from the command line, and print a table and a last line of JSON."""
    about = "Measure a trained model on reviews, alone and, as it was trained, behind distractors."
    given = parse("attention.evaluate", arguments, _PARAMETERS, about)
    result = evaluate(**given)
    data = given.get("data", "")
    what = "file" if data not in SOURCES and Path(data).is_file() else given["split"]
    print(
        f"{what:16}{'accuracy':>10}{'95 % interval':>20}{'macro F1':>10}{'loss':>8}{'reviews':>10}"
    )
    for name, row in result.items():
        low, high = row["accuracy_interval"]
        interval = f"{low:.4f} to {high:.4f}"
        share = f"{row['accuracy']:10.4f}{interval:>20}{row['macro_f1']:10.4f}"
        print(f"{SETS[name]:16}{share}{row['loss']:8.4f}{row['n']:10,}")
    if len(labels := result["clean"]["labels"]) > 2:
        print("\n".join(in_words(result["clean"]["confusion"], [*labels])))
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

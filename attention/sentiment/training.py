"""A whole training run: data, model, loop and run folder, from the start or from a checkpoint."""

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import distributed as dist

from attention._console import shown
from attention._device import check_memory, choose_device
from attention._distributed import is_first_process, on_all_processes, print_status
from attention._precision import precision_note
from attention.pretrained import load_encoder
from attention.sentiment import run_folder
from attention.sentiment.batches import Prepared, make_examples, measured_examples
from attention.sentiment.config import TrainConfig
from attention.sentiment.evaluation import encode_examples
from attention.sentiment.model import SentimentClassifier, build_model
from attention.sentiment.progress import Progress
from attention.sentiment.reviews import SENTIMENT, Reviews, fingerprint
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import (
    FOREIGN,
    Words,
    check_words,
    clean_tokenizer,
    encode_reviews,
    foreign_share,
    train_tokenizer,
)
from attention.sentiment.trainer import Metrics, Trainer

UNEQUAL = 3
"""How many times as many reviews the most frequent label has when this is said."""
MOST_SHOWN = 12


def train(config: TrainConfig) -> list[Metrics]:
    """Train from the start or from a checkpoint in ``config.out``; return the lines of metrics.

    Raises:
        ValueError: If the request can't be met, before anything is written, or the loss is not
            finite any more, which is a TrainingError.
        Stopped: If SIGINT or SIGTERM came. It is raised once the state has been saved.
    """
    if config.out is None:
        raise ValueError("--out: expected a folder for the run, got none")
    out = config.out
    with contextlib.ExitStack() as cleanup:
        config, prepared, model = on_all_processes(lambda: _prepare_all(config, out, cleanup))
        trainer = Trainer(model, prepared.examples, prepared.validation, config)
        on_all_processes(lambda: _start_or_resume(out, trainer, prepared))
        progress = Progress(trainer, out, prepared.fingerprints)
        cleanup.callback(progress.close)
        if model.is_frozen:
            _encode(out, trainer, prepared, progress)
        metrics = trainer.run(after_batch=progress.after_batch, after_epoch=progress.after_epoch)
        if is_first_process():
            run_folder.finish_folder(out, trainer)
    return metrics


def prepare(config: TrainConfig, reviews: dict[str, Reviews] | None = None) -> Prepared:
    """Load the reviews, build the vocabulary from the training reviews, and encode all of them.

    A pretrained encoder has its own vocabulary, so none is built for it. The distractors are drawn
    with seed 42, whatever the run's own seed, so that all runs read the same examples.

    Args:
        config: Determines the data, how texts become ids, and whether there are distractors.
        reviews: The splits, if they are already loaded.

    Raises:
        ValueError: If the reviews, or the pretrained encoder's files, can't be loaded, or the
            reviews hold no word that is read.

    Example:
        >>> from attention.sentiment.config import TrainConfig
        >>> from attention.sentiment.reviews import Reviews
        >>> splits = {"train": Reviews(["good food", "bad food"], [1, 0]),
        ...           "validation": Reviews(["good", "bad"], [1, 0])}
        >>> prepared = prepare(TrainConfig(min_frequency=1), splits)
        >>> len(prepared.examples), sorted(prepared.validation)
        (4, ['clean', 'distractor'])
    """
    if reviews is None:
        # Splits do not depend on the run's seed, or a test split could hold what was trained on.
        reviews = load_reviews(config.data, columns=config.columns, limit=config.limit)
    train = reviews["train"]
    if config.model.is_pretrained:
        tokenizer = clean_tokenizer(load_encoder("minilm")[1], config.clean_text)
    else:
        tokenizer = train_tokenizer(
            train.texts,
            min_frequency=config.min_frequency,
            clean_text=config.clean_text,
            words=_choose_words(train.texts) if config.words == "auto" else config.words,
        )
    ids = encode_reviews(tokenizer, train.texts)
    check_words(tokenizer, ids, "the training reviews")
    _say_labels(train, reviews["validation"])
    return Prepared(
        tokenizer,
        make_examples(ids, train.labels, pairs=config.distractors),
        measured_examples(tokenizer, reviews["validation"], distractors=config.distractors),
        train.names,
        {name: fingerprint(split) for name, split in reviews.items()},
    )


def _choose_words(texts: Sequence[str]) -> Words:
    """Choose what a word is by the letters of the training texts, and say if it is the new rule."""
    share = foreign_share(texts)
    if share <= FOREIGN:
        return "a-z"
    print_status(
        f"{share:.1%} of the characters are letters other than a to z, so words of any script are "
        "read, as --words unicode does"
    )
    return "unicode"


def _say_labels(train: Reviews, validation: Reviews) -> None:
    """Say which labels there are, unless there are two as usual, and which are rare or missing."""
    if never := {*range(len(train.names))} - {*validation.labels}:
        some = ", ".join(shown(train.names[i]) for i in sorted(never)[:MOST_SHOWN])
        print_status(f"labels that no validation review has, so that none is measured: {some}")
    counts = np.bincount(train.labels, minlength=len(train.names))
    if train.names == SENTIMENT and counts.max() < UNEQUAL * counts.min():
        return
    most = np.argsort(-counts, kind="stable")
    some = ", ".join(f"{shown(train.names[i])} {counts[i]:,}" for i in most[:MOST_SHOWN])
    rest = f" and {len(most) - MOST_SHOWN} more" if len(most) > MOST_SHOWN else ""
    print_status(f"training reviews by label: {some}{rest}")
    if counts.max() >= UNEQUAL * counts.min():
        print_status(
            f"answering {shown(train.names[most[0]])} always would be right for "
            f"{counts.max() / counts.sum():.1%} of them, so read macro_f1 in metrics.jsonl, too"
        )


def _prepare_all(
    config: TrainConfig, out: Path, cleanup: contextlib.ExitStack
) -> tuple[TrainConfig, Prepared, SentimentClassifier]:
    """Do everything that a bad request can make fail, and only then write to the folder."""
    device = choose_device(config.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    is_locked = is_first_process() and (out / run_folder.LOCK).exists()
    if is_locked:  # a folder in use is refused at once
        cleanup.callback(run_folder.lock(out).release)
    if config.model.is_pretrained and not config.model.fine_tune and dist.is_initialized():
        raise ValueError(
            f"--model {config.model.attention}: expected one process, got several; "
            "they can share the work with --fine-tune"
        )
    if note := precision_note(config.precision, device, is_pretrained=config.model.is_pretrained):
        print_status(note)
    if sys.stderr.isatty():
        print_status("reading the reviews and numbering their words")
    prepared = prepare(config)
    config = config.with_options(labels=prepared.labels)
    vocab_size = prepared.tokenizer.get_vocab_size()
    try:
        with torch.device("meta"):  # shapes without memory
            check_memory(SentimentClassifier(vocab_size, config.model))
        model = build_model(config, vocab_size).to(device)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"the model of this configuration can't be made: {reason}") from error
    if is_first_process():
        if not (out / run_folder.CHECKPOINT).exists():
            run_folder.refuse_taken(out)
        if not is_locked:
            cleanup.callback(run_folder.lock(out).release)
        run_folder.refuse_finished(out)
    return config, prepared, model


def _start_or_resume(out: Path, trainer: Trainer, prepared: Prepared) -> None:
    if (out / run_folder.CHECKPOINT).exists():
        run_folder.load_checkpoint(out, trainer, prepared.fingerprints)
        state = trainer.state
        where = f"in epoch {state.epoch + 1}, after {state.batch} of its batches"
        is_done = state.epoch == trainer.config.epochs
        print_status(f"resuming {'after the last epoch' if is_done else where}")
    elif is_first_process():
        if any(path.name != run_folder.LOCK for path in out.iterdir()):
            print_status(
                f"{shown(out)}: a run began here and ended before it was saved; starting afresh"
            )
        run_folder.start_folder(out, trainer, prepared)


def _encode(out: Path, trainer: Trainer, prepared: Prepared, progress: Progress) -> None:
    """Let the frozen encoder read each example once, and train on its outputs."""
    sets = {"train": prepared.examples, **prepared.validation}
    files = {name: run_folder.features_file(out, name) for name in sets}
    if not (out / run_folder.CHECKPOINT).exists():
        for path in files.values():
            path.unlink(missing_ok=True)
        # It records which model and reviews the features belong to.
        run_folder.save_checkpoint(out, trainer, prepared.fingerprints)
    count = sum(len(examples) for examples in sets.values())
    with progress.encoding(trainer, count) as after_encoded:
        encoded = {
            name: encode_examples(
                trainer.model,
                examples,
                files[name],
                precision=trainer.config.precision,
                after_batch=after_encoded,
            )
            for name, examples in sets.items()
        }
    trainer.examples = encoded.pop("train").to(trainer.device)
    trainer.validation = encoded

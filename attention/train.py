"""Train a sentiment classifier: ``python -m attention.train --data imdb --out runs/first``."""

import argparse
import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import torch
from torch import distributed as dist
from tqdm import tqdm

from attention import runs
from attention._files import write_text
from attention.command import parse, run_command
from attention.config import PRESETS, TrainConfig
from attention.models import SentimentClassifier
from attention.prepare import Prepared, prepare
from attention.trainer import Metrics, Trainer

SAVE_EVERY = 60.0
"""Seconds between checkpoints within an epoch."""


class Stopped(Exception):
    """Somebody asked training to stop, and it is saved."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def build_model(config: TrainConfig, vocab_size: int) -> SentimentClassifier:
    """Make the model a configuration describes, its weights drawn with the run's seed.

    Example:
        >>> build_model(TrainConfig(model="qk", key_dim=4), 100).attention.key_dim
        4
    """
    torch.manual_seed(config.seed)
    return SentimentClassifier(
        vocab_size,
        embed_dim=config.embed_dim,
        attention=config.model,
        key_dim=config.key_dim,
        value_dim=config.value_dim,
        bias=config.bias,
        scale=config.scale,
        bigram_buckets=config.bigram_buckets,
        segments=config.segments,
        positions=config.positions,
        position_base=config.position_base,
        max_length=config.max_length,
        mask_padding=config.mask_padding,
        dropout=config.dropout,
        word_dropout=config.word_dropout,
    )


def choose_device(name: str) -> torch.device:
    """Return the device a configuration names; ``auto`` takes this process's GPU if there is one.

    Raises:
        ValueError: If there is no such device.

    Example:
        >>> choose_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        name = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"--device: expected a device of this machine, got {name}: {reason}"
        ) from None
    return device


def train(config: TrainConfig) -> list[Metrics]:
    """Run a whole training: data, model, loop, run folder; go on where a checkpoint stands.

    Args:
        config: What to do; ``config.out`` is the run folder.

    Returns:
        A line of metrics an epoch, as in ``metrics.jsonl``.

    Raises:
        DataError: If the reviews can't be had or are not what they should be.
        RunError: If the folder is taken.
        ValueError: If there is no such device, or the loss is no number any more.
        Stopped: If SIGINT or SIGTERM came; what was learnt is saved.
    """
    if config.out is None:
        raise ValueError("--out: expected a folder for the run, got none")
    out = config.out
    is_writer = int(os.environ.get("RANK", 0)) == 0
    device = choose_device(config.device)
    guard = None
    if is_writer and out.exists():
        guard = runs.lock(out)
    say("reading the reviews and numbering their words", is_writer and sys.stderr.isatty())
    prepared = prepare(config)
    guard = guard or (runs.lock(out) if is_writer else None)
    model = build_model(config, prepared.tokenizer.get_vocab_size())
    trainer = Trainer(model, prepared.examples, prepared.validation, config, device)
    if (out / runs.CHECKPOINT).exists():
        runs.load_checkpoint(out, trainer)
        say(
            f"going on after {trainer.state.epoch} epochs, {trainer.state.batch} batches", is_writer
        )
    else:
        torch.manual_seed(config.seed + trainer.rank)  # each process drops other words
    if is_writer:
        start_folder(out, trainer, prepared)
    watch = Watch(trainer, out, is_writer)
    metrics = trainer.run(after_batch=watch.after_batch, after_epoch=watch.after_epoch)
    if is_writer:
        finish_folder(out, trainer)
    if guard:
        guard.release()
    return metrics


def start_folder(out: Path, trainer: Trainer, prepared: Prepared) -> None:
    """Write what is known before the first step."""
    about = {
        "model": trainer.model.config,
        "train": runs.config_json(trainer.config),
        "data": prepared.fingerprints,
        "environment": runs.environment(),
    }
    write_text(out / "tokenizer.json", prepared.tokenizer.to_str(pretty=True))
    write_text(out / "config.json", json.dumps(about, indent=2))


def finish_folder(out: Path, trainer: Trainer) -> None:
    """Write the model, and last of all the summary, which says that the run is finished."""
    about = json.loads((out / "config.json").read_text())
    about.pop("model")
    trainer.model.save_pretrained(out, **about)
    metrics = trainer.state.metrics
    summary = {
        "epochs": len(metrics),
        "seconds": sum(line["seconds"] for line in metrics),
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "last": metrics[-1],
    }
    write_text(out / "summary.json", json.dumps(summary, indent=2))


class Watch:
    """Show progress, save checkpoints, and stop when asked, between two batches."""

    def __init__(self, trainer: Trainer, out: Path, is_writer: bool) -> None:
        self.out = out
        self.is_writer = is_writer
        self.saved = time.monotonic()
        self.signal = 0
        self.handlers = {
            number: signal.signal(number, self._ask_to_stop)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        total = trainer.config.epochs * trainer.batches_an_epoch
        done = trainer.state.epoch * trainer.batches_an_epoch + trainer.state.batch
        # disable=None: a bar on a terminal, else the plain lines of after_epoch.
        self.bar = tqdm(
            total=total, initial=done, unit="batch", disable=None if is_writer else True
        )
        self.started = time.monotonic()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.signal = number

    def after_batch(self, trainer: Trainer) -> None:
        """Move the bar; save once a minute; stop if asked to."""
        self.bar.update()
        state = trainer.state
        if not self.bar.disable and state.batch % 20 == 0:
            loss, correct, count, tokens = state.sums.tolist()
            self.bar.set_postfix_str(
                f"loss {loss / count:.3f}, accuracy {correct / count:.3f}, "
                f"{tokens / state.seconds:,.0f} tokens/s"
            )
        stop = self.signal
        if trainer.world_size > 1:
            # All processes stop after the same batch, or the others would wait for ever.
            asked = torch.tensor(stop, device=trainer.device)
            dist.all_reduce(asked, dist.ReduceOp.MAX)
            stop = int(asked)
        if stop or time.monotonic() - self.saved > SAVE_EVERY:
            self._save(trainer)
        if stop:
            self.close()
            raise Stopped(stop)

    def after_epoch(self, trainer: Trainer) -> None:
        """Write the epoch's metrics and a checkpoint; say how it went."""
        self._save(trainer)
        line = trainer.state.metrics[-1]
        if self.is_writer:
            runs.write_metrics(self.out, trainer.state.metrics)
            left = (trainer.config.epochs - trainer.state.epoch) * line["seconds"]
            held = ", ".join(
                f"{name} {line[name]['accuracy']:.4f}"
                for name in ("train", "clean", "distractor")
                if name in line
            )
            self.bar.write(
                f"epoch {line['epoch']}/{trainer.config.epochs}: loss {line['train']['loss']:.4f}; "
                f"accuracy {held}; {line['tokens_per_second']:,.0f} tokens/s; "
                f"about {left:.0f} s left",
                file=sys.stderr,
            )
        if trainer.state.epoch == trainer.config.epochs:
            self.close()

    def _save(self, trainer: Trainer) -> None:
        if self.is_writer:
            runs.save_checkpoint(self.out, trainer)
        self.saved = time.monotonic()

    def close(self) -> None:
        """Give the terminal and the signals back."""
        self.bar.close()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)


def say(line: str, is_writer: bool = True) -> None:
    """Tell the person at the terminal; the standard output stays free for results."""
    if is_writer:
        print(line, file=sys.stderr, flush=True)


def configure(arguments: Sequence[str]) -> TrainConfig:
    """Read the command line: a preset first, the options over it; or ``--resume RUN`` alone.

    Raises:
        ValueError: If the line can't be parsed, an option is out of its range, or the folder
            can't be used.

    Example:
        >>> configure(["--preset", "lab13", "--model", "qk", "--out", "run"]).key_dim
        8
    """
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    first.add_argument("--preset", default="default")
    first.add_argument("--resume", type=Path)
    try:
        given, rest = first.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        raise ValueError(str(error)) from None
    if given.preset not in PRESETS:
        raise ValueError(f"--preset: expected one of {', '.join(PRESETS)}, got {given.preset}")
    if given.resume:
        if rest:
            raise ValueError(f"--resume: expected no other options, got {' '.join(rest)}")
        if (given.resume / "summary.json").exists():
            raise runs.RunError(f"{given.resume}: holds a finished run, there is nothing to resume")
        config: TrainConfig = runs.read_config(given.resume)["train"]
        return dataclasses.replace(config, out=given.resume)
    config = parse(
        TrainConfig,
        rest,
        default=PRESETS[given.preset],
        prog="python -m attention.train",
        description="Train a sentiment classifier on reviews. --preset lab13, lab13-corrected or "
        "default sets all options at once; --resume RUN goes on with a run that was stopped.",
    )
    if config.out is None:
        raise ValueError("--out: expected a folder for the run, got none")
    runs.refuse_finished(config.out)
    return config


def main(arguments: Sequence[str]) -> int:
    """Train from the command line; return the exit code."""
    if "RANK" in os.environ:
        dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        config = configure(arguments)
        train(config)
    except Stopped as stopped:
        again = f"python -m attention.train --resume {config.out}"
        say(f"stopped by {stopped}, saved; go on with: {again}")
        return 128 + stopped.number
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    say(f"finished; the model is in {config.out}")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

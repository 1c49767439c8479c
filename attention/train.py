"""Train a sentiment classifier: ``python -m attention.train --data imdb --out runs/first``."""

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import torch
from torch import distributed as dist
from tqdm import tqdm

from attention import runs
from attention._checks import check_memory
from attention._files import write_text
from attention.command import parse, run_command
from attention.config import PRESETS, TrainConfig
from attention.models import SentimentClassifier
from attention.prepare import Prepared, prepare
from attention.trainer import Metrics, Trainer, together

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
        num_heads=config.num_heads,
        bias=config.bias,
        scale=config.scale,
        bigram_buckets=config.bigram_buckets,
        segments=config.segments,
        positions=config.positions,
        position_base=config.position_base,
        max_length=config.max_length,
        mask_padding=config.mask_padding,
        embedding_std=config.embedding_std,
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
    wanted = name
    if name == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "cpu"
    if wanted == "cuda":
        wanted = f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
    try:
        device = torch.device(wanted)
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError("only cpu and cuda are known")
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
        TrainingError: If the loss is no number any more.
        ValueError: If there is no such device, or the model does not fit into memory.
        Stopped: If SIGINT or SIGTERM came; what was learnt is saved.
    """
    if config.out is None:
        raise ValueError("--out: expected a folder for the run, got none")
    out = config.out
    is_writer = is_first()
    with contextlib.ExitStack() as cleanup:
        prepared, model, device = together(lambda: _begin(config, out, is_writer, cleanup))
        trainer = Trainer(model, prepared.examples, prepared.validation, config, device)
        together(lambda: _start_or_go_on(out, trainer, prepared, is_writer))
        watch = Watch(trainer, out, prepared.fingerprints, is_writer)
        cleanup.callback(watch.close)
        metrics = trainer.run(after_batch=watch.after_batch, after_epoch=watch.after_epoch)
        if is_writer:
            finish_folder(out, trainer)
    return metrics


def _begin(
    config: TrainConfig, out: Path, is_writer: bool, cleanup: contextlib.ExitStack
) -> tuple[Prepared, SentimentClassifier, torch.device]:
    """Do all that can go wrong with what was asked, and only then take the folder."""
    device = choose_device(config.device)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    guard = None
    if is_writer and (out / runs.LOCK).exists():
        guard = runs.lock(out)  # a folder in use is refused at once
        cleanup.callback(guard.release)
    say("reading the reviews and numbering their words", is_writer and sys.stderr.isatty())
    prepared = prepare(config)
    vocab_size = prepared.tokenizer.get_vocab_size()
    try:
        with torch.device("meta"):  # shapes without memory
            outline = build_model(config, vocab_size)
        if (out / runs.CHECKPOINT).exists():
            runs.check_checkpoint(out, outline, config, prepared.fingerprints)
        check_memory(outline)
        model = build_model(config, vocab_size)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"the model of this configuration can't be made: {reason}") from error
    if is_writer:
        if guard is None:
            cleanup.callback(runs.lock(out).release)
        runs.refuse_finished(out)
    return prepared, model, device


def _start_or_go_on(out: Path, trainer: Trainer, prepared: Prepared, is_writer: bool) -> None:
    if (out / runs.CHECKPOINT).exists():
        runs.load_checkpoint(out, trainer, prepared.fingerprints)
        state = trainer.state
        where = f"in epoch {state.epoch + 1}, after {state.batch} of its batches"
        is_done = state.epoch == trainer.config.epochs
        say(f"going on {'after the last epoch' if is_done else where}", is_writer)
    elif is_writer:
        if any(path.name != runs.LOCK for path in out.iterdir()):
            say(f"{out}: a run began here and ended before it was saved; starting afresh")
        start_folder(out, trainer, prepared)


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
    about = json.loads((out / "config.json").read_text(encoding="utf-8"))
    trainer.model.save_pretrained(out, **{**about, "model": trainer.model.config})
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

    def __init__(self, trainer: Trainer, out: Path, data: dict[str, str], is_writer: bool) -> None:
        self.out = out
        self.data = data
        self.is_writer = is_writer
        self.signal = 0
        # Only the main thread may listen to signals; in another, nobody asks to stop.
        is_main = threading.current_thread() is threading.main_thread()
        self.handlers = {
            number: signal.signal(number, self._ask_to_stop)
            for number in (signal.SIGINT, signal.SIGTERM)
            if is_main
        }
        state = trainer.state
        self.done_before = state.epoch * trainer.batches_an_epoch + state.batch
        self.total = trainer.config.epochs * trainer.batches_an_epoch
        # disable=None: a bar on a terminal, else plain lines.
        self.bar = tqdm(
            total=self.total,
            initial=self.done_before,
            unit="batch",
            disable=None if is_writer else True,
        )
        self.started = self.saved = time.monotonic()

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self.signal = number

    def after_batch(self, trainer: Trainer) -> None:
        """Move the bar; save once a minute; stop if asked to."""
        self.bar.update()
        if not self.bar.disable and trainer.state.batch % 20 == 0:
            self.bar.set_postfix_str(self._progress(trainer))
        is_due = time.monotonic() - self.saved > SAVE_EVERY
        stop, is_due = self._agree(trainer, self.signal, is_due)
        if stop or is_due:
            self._save(trainer)
            if self.is_writer and self.bar.disable:
                where = f"batch {trainer.state.batch}/{trainer.batches_an_epoch}"
                say(f"epoch {trainer.state.epoch + 1}, {where}: {self._progress(trainer)}, saved")
        if stop:
            raise Stopped(stop)

    def after_epoch(self, trainer: Trainer) -> None:
        """Write the epoch's metrics and a checkpoint; say how it went."""
        metrics = trainer.state.metrics
        if self.is_writer:
            line = metrics[-1]
            held = ", ".join(
                f"{name} {line[name]['accuracy']:.4f}"
                for name in ("train", "clean", "distractor")
                if name in line
            )
            self.bar.write(
                f"epoch {line['epoch']}/{trainer.config.epochs}: loss {line['train']['loss']:.4f}; "
                f"accuracy {held}; {line['tokens_per_second']:,.0f} tokens/s; "
                f"about {self._seconds_left(trainer):.0f} s left",
                file=sys.stderr,
            )
        # The checkpoint last: a run killed in between goes on before this epoch's last batches,
        # and writes its line again.
        self._save(trainer, metrics)
        if trainer.state.epoch < trainer.config.epochs:
            stop, _ = self._agree(trainer, self.signal, False)
            if stop:  # asked for during the validation
                raise Stopped(stop)

    def _agree(self, trainer: Trainer, stop: int, is_due: bool) -> tuple[int, bool]:
        """Do after the same batch on all processes what one of them is asked to do."""
        if trainer.world_size > 1:
            # On the CPU, whatever the device: this waits for the other hosts, never for a GPU.
            asked = torch.tensor([stop, is_due])
            dist.all_reduce(asked, dist.ReduceOp.MAX)
            stop, is_due = int(asked[0]), bool(asked[1])
        return stop, is_due

    def _save(self, trainer: Trainer, metrics: Sequence[Metrics] = ()) -> None:
        trainer.check(weights=True)
        trainer.gather()

        def write() -> None:
            if self.is_writer:
                if metrics:
                    runs.write_metrics(self.out, list(metrics))
                runs.save_checkpoint(self.out, trainer, self.data)

        together(write)
        self.saved = time.monotonic()

    def _progress(self, trainer: Trainer) -> str:
        loss, correct, count, tokens = trainer.state.sums.tolist()
        return (
            f"loss {loss / count:.3f}, accuracy {correct / count:.3f}, "
            f"{tokens / trainer.state.seconds:,.0f} tokens/s, "
            f"about {self._seconds_left(trainer):.0f} s left"
        )

    def _seconds_left(self, trainer: Trainer) -> float:
        done = trainer.state.epoch * trainer.batches_an_epoch + trainer.state.batch
        spent = time.monotonic() - self.started
        return spent / max(done - self.done_before, 1) * (self.total - done)

    def close(self) -> None:
        """Give the terminal and the signals back."""
        self.bar.close()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)


def is_first() -> bool:
    """Tell whether this is the process that writes and speaks, the only one or the first."""
    return int(os.environ.get("RANK", 0)) == 0


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
        runs.refuse_finished(given.resume)
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
    runs.refuse_taken(config.out)
    return config


def join_group() -> None:
    """Join the other processes, so that this one can leave them again, too."""
    # Functions in here take the group there is, when they are imported, as a default. The model's
    # parallel wrapper imports them; were that after the group began, they would keep it for good,
    # and gloo's threads would abort the process (-6) now and then as Python is taken down.
    importlib.import_module("torch.distributed.nn.functional")
    dist.init_process_group()  # gloo for tensors on the CPU, NCCL for those on a GPU


def main(arguments: Sequence[str]) -> int:
    """Train from the command line; return the exit code."""
    if "RANK" in os.environ:
        join_group()
    try:
        config = together(lambda: configure(arguments))
        train(config)
    except Stopped as stopped:
        again = f"python -m attention.train --resume {shlex.quote(str(config.out))}"
        say(f"stopped by {stopped}, saved; go on with: {again}", is_first())
        return 128 + stopped.number
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    say(f"finished; the model is in {config.out}", is_first())
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

"""Progress, checkpoints and stopping, between two batches of a training run."""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

import torch
from torch import distributed as dist
from tqdm import tqdm

from attention._distributed import on_all_processes, print_status
from attention.sentiment import run_folder
from attention.sentiment.batches import SETS
from attention.sentiment.trainer import Metrics, Trainer

SAVE_EVERY = 60.0
"""Seconds between checkpoints within an epoch."""


class Stopped(Exception):
    """Training was stopped by a signal, after its state had been saved."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Progress:
    """Show progress, save checkpoints, and stop on request between two batches."""

    def __init__(self, trainer: Trainer, out: Path, data: dict[str, str]) -> None:
        self.out = out
        self.data = data
        self.signal = 0
        # Only the main thread may handle signals; in another thread there is no stopping.
        is_main = threading.current_thread() is threading.main_thread()
        self.handlers = {
            number: signal.signal(number, self._request_stop)
            for number in (signal.SIGINT, signal.SIGTERM)
            if is_main
        }
        self.done_before = trainer.batches_done
        self.total = trainer.config.epochs * trainer.batches_per_epoch
        # disable=None shows a bar on a terminal, and plain lines elsewhere.
        self.bar = tqdm(
            total=self.total,
            initial=self.done_before,
            unit="batch",
            disable=None if trainer.rank == 0 else True,
        )
        self.started = self.saved = time.monotonic()

    def _request_stop(self, number: int, frame: FrameType | None) -> None:
        self.signal = number

    @contextlib.contextmanager
    def encoding(self, trainer: Trainer, count: int) -> Iterator[Callable[[int], None]]:
        """Show how a frozen encoder encodes its examples, which stay encoded after a stop.

        It yields a function to call with the number of examples that were encoded.
        """
        started = time.monotonic()
        with tqdm(total=count, desc="encoding", unit="example", disable=None) as bar:
            done = 0

            def after_encoded(read: int) -> None:
                nonlocal done
                done += read
                bar.update(read)
                if bar.disable and time.monotonic() - self.saved > SAVE_EVERY:
                    self.saved = time.monotonic()
                    print_status(f"encoded {done:,} of {count:,} examples, saved")
                if self.signal:
                    raise Stopped(self.signal)

            try:
                yield after_encoded
            finally:
                trainer.state.seconds += time.monotonic() - started
                run_folder.save_checkpoint(self.out, trainer, self.data)
        self.started = self.saved = time.monotonic()
        self.bar.unpause()

    def after_batch(self, trainer: Trainer) -> None:
        """Move the bar, save once a minute, and stop if requested."""
        self.bar.update()
        if not self.bar.disable and trainer.state.batch % 20 == 0:
            self.bar.set_postfix_str(self._progress(trainer))
        is_due = time.monotonic() - self.saved > SAVE_EVERY
        stop, is_due = self._agree(trainer, self.signal, is_due)
        if stop or is_due:
            self._save(trainer)
            if trainer.rank == 0 and self.bar.disable:  # only there are the figures of all
                where = f"batch {trainer.state.batch}/{trainer.batches_per_epoch}"
                print_status(
                    f"epoch {trainer.state.epoch + 1}, {where}: {self._progress(trainer)}, saved"
                )
        if stop:
            raise Stopped(stop)

    def after_epoch(self, trainer: Trainer) -> None:
        """Write the epoch's metrics and a checkpoint, and print a summary."""
        metrics = trainer.state.metrics
        if trainer.rank == 0:
            line = metrics[-1]
            measured = [
                f"{SETS[name]} {line[name]['accuracy']:.4f}" for name in SETS if name in line
            ]
            self.bar.write(
                f"epoch {line['epoch']}/{trainer.config.epochs}: loss {line['train']['loss']:.4f}, "
                f"accuracy {line['train']['accuracy']:.4f}; validation: {', '.join(measured)}; "
                f"{line['tokens_per_second']:,.0f} tokens/s; "
                f"about {self._seconds_left(trainer):.0f} s left",
                file=sys.stderr,
            )
        # The checkpoint comes last: a run that is killed in between resumes before the last batches
        # of this epoch, and writes the epoch's line again.
        self._save(trainer, metrics)
        if trainer.state.epoch < trainer.config.epochs:
            stop, _ = self._agree(trainer, self.signal, False)
            if stop:  # requested during the validation
                raise Stopped(stop)

    def _agree(self, trainer: Trainer, stop: int, is_due: bool) -> tuple[int, bool]:
        """Act on all processes after the same batch, as soon as one of them has to."""
        if trainer.world_size > 1:
            # On the CPU, whatever the device, so that this waits for other hosts but never a GPU.
            requested = torch.tensor([stop, is_due])
            dist.all_reduce(requested, dist.ReduceOp.MAX)
            stop, is_due = int(requested[0]), bool(requested[1])
        return stop, is_due

    def _save(self, trainer: Trainer, metrics: Sequence[Metrics] = ()) -> None:
        trainer.check(weights=True)
        trainer.gather()

        def write() -> None:
            if trainer.rank == 0:
                if metrics:
                    run_folder.write_metrics(self.out, list(metrics), trainer.model.config.labels)
                run_folder.save_checkpoint(self.out, trainer, self.data)

        on_all_processes(write)
        self.saved = time.monotonic()

    def _progress(self, trainer: Trainer) -> str:
        loss, correct, count, tokens = trainer.state.sums.tolist()
        return (
            f"loss {loss / count:.3f}, accuracy {correct / count:.3f}, "
            f"{tokens / trainer.state.seconds:,.0f} tokens/s, "
            f"about {self._seconds_left(trainer):.0f} s left"
        )

    def _seconds_left(self, trainer: Trainer) -> float:
        done = trainer.batches_done
        spent = time.monotonic() - self.started
        return spent / max(done - self.done_before, 1) * (self.total - done)

    def close(self) -> None:
        """Restore the terminal and the signal handlers."""
        self.bar.close()
        for number, handler in self.handlers.items():
            signal.signal(number, handler)

"""One side of the race in its own process, which runs and times the requested steps.

Each line of standard input names a step; the answer is one line of JSON on standard output.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch

from experiments.speed.processes import peak_mib


class Corrected:
    """Ours, with the preset that has the models and sizes of Lab 13."""

    def __init__(self, folder: Path, lr: float | None = None) -> None:
        # Imported here so that the other side does not pay for it.
        from attention.sentiment import batches, model, trainer, training
        from attention.sentiment.config import PRESETS

        config = PRESETS["lab13-corrected"]
        config = config.with_options(data=str(folder), device="cpu")
        if lr is not None:  # a constant rate, as in Lab 13
            config = config.with_options(lr=lr, schedule="constant", epochs=20)
        self.config = config
        self.batches, self.model = batches, model
        self.prepare_data, self.Trainer = training.prepare, trainer.Trainer

    def prepare(self) -> dict[str, Any]:
        """Prepare everything from the files to a first batch."""
        self.prepared = self.prepare_data(self.config)
        examples, config = self.prepared.examples, self.config
        lengths = examples.lengths(config.model.reading)
        plan = self.batches.plan_batches(lengths, config.batch_size, seed=config.seed)
        examples.batch(plan[0], config.model.reading)
        return {"reviews": len(examples.ids), "tokens": len(examples.ids.flat)}

    def start(self) -> None:
        """Build the model and the optimiser."""
        vocab_size = self.prepared.tokenizer.get_vocab_size()
        model = self.model.build_model(self.config, vocab_size)
        examples, validation = self.prepared.examples, self.prepared.validation
        self.trainer = self.Trainer(model, examples, validation, self.config)

    def train_only(self) -> float:
        """Train an epoch without measuring, and return its processor time in seconds."""
        self.trainer.model.train()
        started = time.process_time()
        for batch, size in self.trainer._batches():
            self.trainer._step(batch, size)
        return time.process_time() - started

    def epoch(self) -> dict[str, Any]:
        """Train an epoch and measure."""
        cpu_seconds = 0.0
        trainer = self.trainer
        started = time.process_time()

        def after_batch(trainer: object) -> None:
            nonlocal cpu_seconds
            cpu_seconds = time.process_time() - started

        trainer.run(after_batch=after_batch, after_epoch=lambda trainer: True)
        line = trainer.state.metrics[-1]
        accuracies = [line[name]["accuracy"] for name in ("clean", "distractor")]
        return {
            "seconds": line["seconds"],
            "cpu_seconds": cpu_seconds,
            "train_loss": line["train"]["loss"],
            "train_accuracy": line["train"]["accuracy"],
            # There are as many pairs as reviews alone, and Lab 13 measures them together.
            "validation_accuracy": sum(accuracies) / 2,
            "clean": accuracies[0],
            "distractor": accuracies[1],
            "lr": self.config.lr,
        }


def main() -> None:
    """Answer one request after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=("lab13", "lab13-corrected"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--lr", type=float, help="instead of the preset's")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    peak_of_torch = peak_mib()
    side: Any
    if args.side == "lab13":
        from experiments.speed.lab13 import Lab13  # ours does not pay for these imports

        side = Lab13(args.data)
    else:
        side = Corrected(args.data, args.lr)
    for line in sys.stdin:
        step = line.strip()
        started = time.perf_counter(), time.process_time()
        measured = getattr(side, step)() or {}
        answer = {
            "step": step,
            "seconds": time.perf_counter() - started[0],
            "cpu_seconds": time.process_time() - started[1],
            **measured,
            "total_seconds": time.perf_counter() - started[0],
            "total_cpu_seconds": time.process_time() - started[1],
            "peak_mib": peak_mib(),
            "peak_mib_of_torch": peak_of_torch,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

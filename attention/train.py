"""Train a sentiment classifier: ``python -m attention.train --data imdb --out runs/first``."""

import dataclasses
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from torch import distributed as dist

from attention._command import arg, parse, parse_known, run_command
from attention.sentiment import run_folder
from attention.sentiment.config import MINILM, PRESETS, TrainConfig
from attention.sentiment.distributed import is_first_process, join_group, on_all_processes
from attention.sentiment.progress import Stopped, print_status
from attention.sentiment.training import train


@dataclass(frozen=True)
class StartingPoint:
    """What the options start from, which is read from the command line first."""

    preset: Literal[("auto", *PRESETS)] = "auto"  # type: ignore[valid-type]  # read by tyro alone
    """Sets all options at once; options given in addition override it. auto is minilm or
    minilm-fine-tuned for that model, and default for all others."""
    resume: Annotated[Path | None, arg(metavar="RUN")] = None
    """Resume the run in this folder, with the options it was started with and no others."""


@dataclass(frozen=True)
class _Model:
    """What determines the preset where none is given."""

    model: str | None = None
    fine_tune: bool = False

    @property
    def preset(self) -> str:
        if self.model != MINILM:
            return "default"
        return "minilm-fine-tuned" if self.fine_tune else "minilm"


@dataclass(frozen=True)
class TrainOptions(StartingPoint):
    """Train a sentiment classifier on reviews."""

    config: Annotated[TrainConfig, arg(name="")] = PRESETS["default"]


def configure(arguments: Sequence[str]) -> TrainConfig:
    """Read the command line: options that override a preset, or ``--resume RUN`` alone.

    Raises:
        ValueError: If the line can't be parsed, an option is out of range, or the folder can't
            be used.

    Example:
        >>> from attention.train import configure
        >>> configure(["--preset", "lab13", "--model", "qk", "--out", "run"]).model.key_dim
        8
    """
    start, others = parse_known(StartingPoint, arguments, add_help=False)
    if start.resume:
        if start.preset != "auto":
            others = ["--preset", start.preset, *others]
        if others:
            raise ValueError(f"--resume: expected no other options, got {' '.join(others)}")
        run_folder.refuse_finished(start.resume)
        return dataclasses.replace(run_folder.read_config(start.resume), out=start.resume)
    model, _ = parse_known(_Model, others, add_help=False)
    preset = model.preset if start.preset == "auto" else start.preset
    config = parse(
        TrainOptions,
        arguments,
        default=TrainOptions(preset=start.preset, config=PRESETS[preset]),
        prog="python -m attention.train",
        description=TrainConfig.__doc__.splitlines()[0] if TrainConfig.__doc__ else None,
    ).config
    if config.out is None:
        raise ValueError("--out: expected a folder for the run, got none")
    run_folder.refuse_taken(config.out)
    return config


def main(arguments: Sequence[str]) -> int:
    """Train from the command line; return the exit code."""
    if "RANK" in os.environ:
        join_group()
    try:
        config = on_all_processes(lambda: configure(arguments))
        train(config)
    except Stopped as stopped:
        command = f"python -m attention.train --resume {shlex.quote(str(config.out))}"
        print_status(f"stopped by {stopped}, saved; resume with: {command}", is_first_process())
        return 128 + stopped.number
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    print_status(f"finished; the model is in {config.out}", is_first_process())
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

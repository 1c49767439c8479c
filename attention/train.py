"""Train a sentiment classifier: ``python -m attention.train --data imdb --out runs/first``.

This is the command alone. The run is in ``sentiment/training.py``, its loop and learning rate are
in ``sentiment/trainer.py``, the device is chosen in ``_device.py``, the precision in
``_precision.py``.
"""

import gc
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from torch import distributed as dist

from attention._command import click, options_of, parse, run_command, spell
from attention._console import shown
from attention._distributed import join_group, on_all_processes, print_status
from attention.layers.variants import VARIANTS
from attention.sentiment import run_folder
from attention.sentiment.config import MINILM, PRESETS, ModelConfig, TrainConfig, models_reading
from attention.sentiment.progress import Stopped
from attention.sentiment.sources import SOURCES_HELP
from attention.sentiment.training import train

_ABOUT = (
    "Train a sentiment classifier on reviews; write it, its tokenizer and its curves to a folder."
)
_START = (
    click.Option(
        ["--preset"],
        type=click.Choice(["auto", *PRESETS]),
        help="Sets all options at once; options given in addition override it. auto is minilm or "
        "minilm-fine-tuned for that model, and default for all others.",
    ),
    click.Option(
        ["--resume"],
        type=click.Path(path_type=Path),
        metavar="RUN",
        help="Resume the run in this folder, with the options it was started with; only --data and "
        "--device may be given, for a run that was moved.",
    ),
)


# A saved model states them, and the command line does not.
_OF_DATA = {"dtype", "labels"}


def _notes() -> dict[str, str]:
    """Say of each option its default, and which models read it if not all do."""
    default = PRESETS["default"]
    defaults = {**vars(default), **vars(default.model)}
    for each in VARIANTS.values():
        defaults |= each.options
    notes = {}
    options = ModelConfig.model_fields | TrainConfig.model_fields
    for name in options.keys() - _OF_DATA - {"model"}:
        models = models_reading(name) if name in ModelConfig.model_fields else [*VARIANTS]
        some = "" if {*models} >= {*VARIANTS} else f"Read by {', '.join(models)}. "
        value = defaults[name]
        some = f"It is {SOURCES_HELP}. " if name == "data" else some
        shown = str(value).lower() if isinstance(value, bool) else value
        notes[name] = some + ("" if value is None else f"[default: {shown}]")
    return notes


def configure(arguments: Sequence[str]) -> TrainConfig:
    """Read the command line: options that override a preset, or ``--resume RUN`` alone."""
    notes = _notes()
    of_model = options_of(ModelConfig, notes, {"attention": "model"})
    options = [*_START, *options_of(TrainConfig, notes), *of_model]
    given = parse("attention.train", arguments, options, _ABOUT)
    resume = given.pop("resume", None)
    if resume is not None:
        # A run may be moved: to another device, and with its reviews to another folder.
        moved = {name: given.pop(name) for name in {"data", "device"} & given.keys()}
        if given:
            others = " ".join(f"--{name.replace('_', '-')}" for name in given)
            raise ValueError(f"--resume: expected no options but --data and --device, got {others}")
        run_folder.refuse_finished(resume)
        return run_folder.read_config(resume).replace(**moved)
    preset = given.pop("preset", "auto")
    if preset == "auto":
        of_minilm = "minilm-fine-tuned" if given.get("fine_tune") else "minilm"
        preset = of_minilm if given.get("model") == MINILM else "default"
    try:
        config = PRESETS[preset].with_options(**given)
    except ValueError as error:
        raise ValueError(spell(str(error))) from None
    if config.out is not None:  # which the training itself refuses
        run_folder.refuse_taken(config.out)
    return config


def main(arguments: Sequence[str]) -> int:
    """Train from the command line; return the exit code."""
    if "RANK" in os.environ:
        join_group()
    try:
        config = on_all_processes(lambda: configure(arguments))
        metrics = train(config)
    except Stopped as stopped:
        program = "torchrun …" if "RANK" in os.environ else "python"
        command = f"{program} -m attention.train --resume {shlex.quote(str(config.out))}"
        print_status(f"stopped by {stopped}, saved; resume with: {command}")
        return 128 + stopped.number
    finally:
        if dist.is_initialized():
            gc.collect()  # a stopped trainer in a cycle of references would keep the group alive
            dist.destroy_process_group()
    measured = metrics[-1]["clean"]["labels"]
    if never := [name for name, one in measured.items() if one["n"] and not one["recall"]]:
        print_status(
            f"no validation review was rightly answered {', '.join(map(shown, never[:9]))}; "
            "a larger --min-steps or --lr may help"
        )
    run = shown(str(config.out))
    print_status(f"finished; the model is in {run}; python -m attention.predict {run} TEXT uses it")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))

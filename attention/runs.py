"""The folder a run writes: what it was asked, what it learnt, and how to go on."""

import dataclasses
import io
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any, get_type_hints

import matplotlib.pyplot as plt
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from attention._checks import check_json
from attention._files import check_tensors, write_bytes, write_tensors, write_text
from attention.config import TrainConfig
from attention.models import SentimentClassifier
from attention.report import training_curves
from attention.tokenizer import train_tokenizer
from attention.trainer import Metrics, State, Trainer

CHECKPOINT = "checkpoint/state.safetensors"
LOCK = ".lock"

# What a run may leave behind that was killed before its first checkpoint.
_BEGUN = {"config.json", "tokenizer.json", "metrics.jsonl", "curves.svg", "checkpoint", LOCK}


class RunError(ValueError):
    """A run folder can't be used; the message says why and what to do."""


def lock(folder: Path) -> FileLock:
    """Keep every other run out of the folder, until it is released or this process ends.

    The empty file stays: the lock is held by the system, which drops it with the process, also
    with one that is killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # In a folder from elsewhere, a link could lead what is written to any file of this machine.
    for path in (*folder.iterdir(), *folder.glob("checkpoint/*")):
        if path.is_symlink():
            raise RunError(f"{path}: is a link, which a run folder holds none of; remove it")
    guard = FileLock(folder / LOCK, timeout=0)
    try:
        guard.acquire()
    except Timeout:
        raise RunError(
            f"{folder}: another run is writing here; wait for it, or take another"
        ) from None
    return guard


def refuse_taken(folder: Path) -> None:
    """Refuse a folder for a new run: one whose run is done or can go on, or no run's at all.

    Raises:
        RunError: If it is refused.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder}: is a file; give a folder as --out")
    refuse_finished(folder)
    if (folder / CHECKPOINT).exists():
        raise RunError(f"{folder}: holds a run that was stopped; go on with --resume {folder}")
    others = {path.name.removesuffix(".part") for path in folder.iterdir()} - _BEGUN
    if others:
        raise RunError(f"{folder}: holds other files ({min(others)} …); give a folder of its own")
    if (folder / "config.json").exists():
        read_config(folder)  # another program's config.json would be lost


def refuse_finished(folder: Path) -> None:
    """Refuse a folder whose run is done.

    Raises:
        RunError: If it is.
    """
    if (folder / "summary.json").exists():
        raise RunError(
            f"{folder}: holds a finished run; it needs no --resume, and a new run another folder"
        )


def read_config(folder: Path) -> dict[str, Any]:
    """Read what a run was asked, as ``train`` (a TrainConfig), ``model`` and what stands beside.

    Raises:
        RunError: If the folder holds no configuration that can be read.
    """
    path = folder / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        train, hints = config["train"], get_type_hints(TrainConfig)
        if hints.keys() != train.keys():
            # A default in place of what is missing might not be what that version did.
            differing = ", ".join(sorted(hints.keys() ^ train.keys()))
            raise RunError(
                f"{path}: was written by another version of this package; it differs in {differing}"
            )
        check_json(train, hints)
        config["train"] = TrainConfig(**{**train, "out": train["out"] and Path(train["out"])})
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no run, there is no config.json") from None
    except RunError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError) as error:
        raise RunError(f"{path}: is not a run's configuration: {_reason(error)}") from error
    return config


def _reason(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def load_run(
    folder: Path, device: torch.device
) -> tuple[SentimentClassifier, Tokenizer, TrainConfig]:
    """Load what a finished run learnt: the model, its tokenizer, and what it was asked.

    Raises:
        RunError: If the folder holds no finished run that can be read.
    """
    config = read_config(folder)
    if not (folder / "model.safetensors").exists():
        raise RunError(f"{folder}: holds no model yet; finish the run with --resume {folder}")
    try:
        model = SentimentClassifier.from_pretrained(folder).to(device)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        _check_rule(tokenizer, config["train"].clean_text)
    # tokenizers raises a bare Exception for a file it can't read.
    except Exception as error:
        raise RunError(f"{folder}: holds a run that can't be read: {_reason(error)}") from error
    ids, asked = sorted(tokenizer.get_vocab().values()), model.config["vocab_size"]
    if ids != list(range(asked)):
        raise RunError(
            f"{folder}: tokenizer.json holds {len(ids)} ids, the model {asked}, from 0 on; "
            "they are of different runs"
        )
    return model, tokenizer, config["train"]


def _check_rule(tokenizer: Tokenizer, clean_text: bool) -> None:
    """Refuse a tokenizer that differs from ours in more than its words."""
    found, ours = (
        json.loads(some.to_str())
        for some in (tokenizer, train_tokenizer((), clean_text=clean_text))
    )
    for rule in (found, ours):
        del rule["model"]["vocab"]
    if other := [part for part in ours if found.get(part) != ours[part]]:
        raise ValueError(f"tokenizer.json has another {', '.join(other)} than our tokenizers")


def config_json(config: TrainConfig) -> dict[str, Any]:
    """Put a configuration into what JSON can say."""
    # A folder of reviews in full, so that a run can go on and be measured from anywhere.
    is_named = config.data in ("yelp", "imdb")
    data = config.data if is_named else str(Path(config.data).absolute())
    out = str(config.out) if config.out else None
    return {**dataclasses.asdict(config), "data": data, "out": out}


def environment() -> dict[str, str]:
    """Say what a run ran on, so that its numbers can be read later."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,  # names its build, too, as in 2.13.0+cu130
        **{name: metadata.version(name) for name in ("tokenizers", "attention-tutorial")},
        "machine": platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def save_checkpoint(folder: Path, trainer: Trainer, data: dict[str, str]) -> None:
    """Write all that training needs to go on, in one file that takes the old one's place.

    Args:
        folder: The run's.
        trainer: Between two steps. What dropout will draw needs no saving, it follows from the
            seed and the step.
        data: Fingerprints of the reviews.
    """
    state = trainer.state
    tensors: dict[str, Tensor] = {"sums": state.sums}
    for name, tensor in trainer.model.state_dict().items():
        tensors[f"model.{name}"] = tensor
    for i, slots in trainer.optimizer.state_dict()["state"].items():
        for name, tensor in slots.items():
            tensors[f"optimizer.{i}.{name}"] = tensor
    about = {
        "epoch": state.epoch,
        "batch": state.batch,
        "seconds": state.seconds,
        "metrics": state.metrics,
        "config": config_json(trainer.config),
        "data": data,
    }
    path = folder / CHECKPOINT
    path.parent.mkdir(exist_ok=True)
    write_tensors(path, tensors, {"state": json.dumps(about)})


def load_checkpoint(folder: Path, trainer: Trainer, data: dict[str, str]) -> None:
    """Put a trainer where the checkpoint stood.

    Args:
        folder: The run's.
        trainer: Made from the same configuration.
        data: Fingerprints of the reviews at hand.

    Raises:
        RunError: If the checkpoint can't be read, or belongs to another configuration or to
            other reviews.
    """
    path = folder / CHECKPOINT
    state = check_checkpoint(folder, trainer.model, trainer.config, data)
    if state.epoch > trainer.config.epochs or state.batch > trainer.batches_an_epoch:
        raise RunError(
            f"{path}: stands at epoch {state.epoch}, batch {state.batch}, beyond the run"
        )
    tensors = load_file(path, str(trainer.device))
    state.sums = tensors.pop("sums")
    slots: dict[int, dict[str, Tensor]] = {}
    model: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "model":
            model[rest] = tensor
        else:
            i, _, slot = rest.partition(".")
            slots.setdefault(int(i), {})[slot] = tensor
    trainer.model.load_state_dict(model)
    trainer.optimizer.load_state_dict({**trainer.optimizer.state_dict(), "state": slots})
    if trainer.rank > 0:
        state.sums.zero_()  # they are of all processes; the first goes on with them
    trainer.state = state


def _read_about(path: Path) -> tuple[dict[str, Any], State]:
    """Read what a checkpoint says of itself, and where it stands; no tensor yet."""
    try:
        with safe_open(path, "pt") as file:
            about = json.loads(file.metadata()["state"])
        hints = {"epoch": int, "batch": int, "seconds": float, "metrics": list}
        check_json({name: about[name] for name in hints}, hints)
        check_json(
            {name: about[name] for name in ("config", "data")}, {"config": dict, "data": dict}
        )
        state = State(about["epoch"], about["batch"], about["seconds"], metrics=about["metrics"])
        [line["seconds"] + line["train"]["loss"] for line in state.metrics]  # else no lines of ours
        if not 0 <= state.epoch == len(state.metrics) or state.batch < 0:
            raise ValueError(f"{len(state.metrics)} lines of metrics, but {state.epoch} epochs")
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RunError(
            f"{path}: is no checkpoint that can be read: {_reason(error)}; "
            "put a good copy there, or begin again in another folder"
        ) from error
    return about, state


def _expected(model: SentimentClassifier) -> dict[str, Tensor]:
    """Name what a checkpoint of this model holds; the shapes count, so the meta device serves."""
    expected = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for i, weight in enumerate(model.parameters()):
        for slot in ("exp_avg", "exp_avg_sq"):
            expected[f"optimizer.{i}.{slot}"] = weight
        expected[f"optimizer.{i}.step"] = torch.empty((), device="meta")
    return {**expected, "sums": torch.empty(4, dtype=torch.float64, device="meta")}


def check_checkpoint(
    folder: Path, outline: SentimentClassifier, config: TrainConfig, data: dict[str, str]
) -> State:
    """Refuse a checkpoint of another run or model, before any of its tensors is read.

    Args:
        folder: The run's.
        outline: The model; on the meta device it takes no memory yet.
        config: What the run is asked.
        data: Fingerprints of the reviews at hand.

    Returns:
        Where the checkpoint stands, but for its sums.

    Raises:
        RunError: If it can't be read, or is of another run or model.
    """
    path = folder / CHECKPOINT
    about, state = _read_about(path)
    # A run may be moved, and go on elsewhere; everything else would make it another run.
    asked, then = config_json(config), about["config"]
    names = (asked.keys() | then.keys()) - {"device", "out", "data"}
    other = sorted(k for k in names if then.get(k) != asked.get(k))
    if other:
        raise RunError(f"{path}: was written with another {', '.join(other)}")
    changed = [k for k in ("train", "validation") if about["data"].get(k) != data.get(k)]
    if changed:
        raise RunError(
            f"{path}: --data {config.data} now gives other reviews ({', '.join(changed)}) "
            "than the run began with"
        )
    try:
        check_tensors(path, _expected(outline))
    except (SafetensorError, ValueError, OSError) as error:
        raise RunError(f"{path}: does not fit the model: {_reason(error)}") from error
    return state


def write_metrics(folder: Path, metrics: list[Metrics]) -> None:
    """Write a line an epoch, and draw them."""
    write_text(folder / "metrics.jsonl", "\n".join(json.dumps(line) for line in metrics))
    figure = training_curves(metrics)
    drawn = io.BytesIO()
    figure.savefig(
        drawn, format="svg", metadata={"Title": figure.get_label(), "Date": None}
    )  # the title is the picture's alternative text
    plt.close(figure)
    write_bytes(folder / "curves.svg", drawn.getvalue())

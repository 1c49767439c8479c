"""The folder a run writes: what it was asked, what it learnt, and how to go on."""

import dataclasses
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer
from torch import Tensor

from attention._files import write_bytes, write_tensors, write_text
from attention.config import TrainConfig
from attention.models import SentimentClassifier
from attention.report import training_curves
from attention.trainer import Metrics, State, Trainer

CHECKPOINT = "checkpoint/state.safetensors"


class RunError(ValueError):
    """A run folder can't be used; the message says why and what to do."""


def lock(folder: Path) -> FileLock:
    """Keep every other run out of the folder, until this process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    guard = FileLock(folder / ".lock", timeout=0)
    try:
        guard.acquire()
    except Timeout:
        raise RunError(
            f"{folder}: another run is writing here; wait for it, or take another"
        ) from None
    return guard


def refuse_finished(folder: Path) -> None:
    """Refuse a folder whose run is done, or could be gone on with."""
    if (folder / "summary.json").exists():
        raise RunError(f"{folder}: holds a finished run; give another folder as --out")
    if (folder / CHECKPOINT).exists():
        raise RunError(f"{folder}: holds a run that was stopped; go on with --resume {folder}")


def read_config(folder: Path) -> dict[str, Any]:
    """Read what a run was asked, as ``train`` (a TrainConfig), ``model`` and what stands beside.

    Raises:
        RunError: If the folder holds no configuration that can be read.
    """
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text())
        train = config["train"]
        out = train["out"] and Path(train["out"])
        config["train"] = TrainConfig(**{**train, "out": out})
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no run, there is no config.json") from None
    except (ValueError, TypeError, KeyError, OSError) as error:
        raise RunError(f"{folder}/config.json: is not a run's configuration: {error}") from error
    return config


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
    # tokenizers raises a bare Exception for a file it can't read.
    except Exception as error:
        raise RunError(f"{folder}: holds a run that can't be read: {error}") from error
    if tokenizer.get_vocab_size() != model.config["vocab_size"]:
        raise RunError(
            f"{folder}: tokenizer.json holds {tokenizer.get_vocab_size()} ids, "
            f"the model {model.config['vocab_size']}; they are of different runs"
        )
    return model, tokenizer, config["train"]


def config_json(config: TrainConfig) -> dict[str, Any]:
    """Put a configuration into what JSON can say."""
    return {**dataclasses.asdict(config), "out": str(config.out) if config.out else None}


def environment() -> dict[str, str]:
    """Say what a run ran on, so that its numbers can be read later."""
    return {
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "tokenizers", "attention-tutorial")},
        "machine": platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def save_checkpoint(folder: Path, trainer: Trainer) -> None:
    """Write all that training needs to go on, in one file that takes the old one's place."""
    state = trainer.state
    tensors: dict[str, Tensor] = {"random": torch.get_rng_state(), "sums": state.sums}
    if trainer.device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(trainer.device)
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
    }
    path = folder / CHECKPOINT
    path.parent.mkdir(exist_ok=True)
    write_tensors(path, tensors, {"state": json.dumps(about)})


def load_checkpoint(folder: Path, trainer: Trainer) -> None:
    """Put a trainer where the checkpoint stood.

    Raises:
        RunError: If the checkpoint can't be read, or belongs to another configuration.
    """
    path = folder / CHECKPOINT
    try:
        with safe_open(path, "pt", device=str(trainer.device)) as file:
            about = json.loads(file.metadata()["state"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 — no dict
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path}: is no checkpoint that can be read: {error}") from error
    asked = config_json(trainer.config)
    other = [k for k in asked if k != "device" and about["config"].get(k) != asked[k]]
    if other:
        raise RunError(f"{path}: was written with another {', '.join(other)}")
    parameters = trainer.optimizer.state_dict()
    slots: dict[int, dict[str, Tensor]] = {}
    model: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "model":
            model[rest] = tensor
        elif kind == "optimizer":
            i, _, slot = rest.partition(".")
            slots.setdefault(int(i), {})[slot] = tensor
    try:
        trainer.model.load_state_dict(model)
        trainer.optimizer.load_state_dict({**parameters, "state": slots})
    except (RuntimeError, ValueError) as error:
        raise RunError(f"{path}: does not fit the model: {error}") from error
    torch.set_rng_state(tensors["random"].cpu())
    if "random.cuda" in tensors and trainer.device.type == "cuda":
        torch.cuda.set_rng_state(tensors["random.cuda"].cpu(), trainer.device)
    trainer.state = State(
        about["epoch"], about["batch"], about["seconds"], tensors["sums"], about["metrics"]
    )


def write_metrics(folder: Path, metrics: list[Metrics]) -> None:
    """Write a line an epoch, and draw them."""
    write_text(folder / "metrics.jsonl", "\n".join(json.dumps(line) for line in metrics))
    figure = training_curves(metrics)
    beside = folder / "curves.part.svg"
    figure.savefig(beside)
    plt.close(figure)
    write_bytes(folder / "curves.svg", beside.read_bytes())
    beside.unlink()

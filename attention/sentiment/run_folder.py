"""The folder that a run writes: its configuration, its model, and what it needs to resume."""

import io
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import torch
from filelock import FileLock, Timeout
from pydantic import Field
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from attention._files import check_tensors, write_bytes, write_tensors, write_text
from attention.sentiment.batches import Prepared
from attention.sentiment.config import Config, TrainConfig, config_json, read_train_config
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.trainer import Metrics, State, Trainer

CHECKPOINT = "checkpoint/state.safetensors"
LOCK = ".lock"


def features_file(folder: Path, name: str) -> Path:
    """Return the file in which a run keeps its frozen encoder's output for a set of examples."""
    return folder / "checkpoint" / f"features-{name}.f32"


# Files that a run may leave if it is killed before its first checkpoint.
_BEGUN = {"config.json", "tokenizer.json", "metrics.jsonl", "curves.svg", "checkpoint", LOCK}


class RunError(ValueError):
    """A run folder can't be used; the message says why and what to do."""


def lock(folder: Path) -> FileLock:
    """Keep other runs out of the folder until the lock is released or this process ends.

    The empty lock file stays. The lock itself is held by the system, which releases it when the
    process ends, even if it is killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    guard = FileLock(folder / LOCK, timeout=0)
    try:
        guard.acquire()
    except Timeout:
        raise RunError(
            f"{folder}: another run is writing here; wait for it, or take another"
        ) from None
    return guard


def refuse_taken(folder: Path) -> None:
    """Refuse a folder for a new run if it holds another run, finished or not, or other files.

    Raises:
        RunError: If the folder is refused.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder}: is a file; give a folder as --out")
    refuse_finished(folder)
    if (folder / CHECKPOINT).exists():
        raise RunError(f"{folder}: holds a run that was stopped; resume it with --resume {folder}")
    others = {path.name.removesuffix(".part") for path in folder.iterdir()} - _BEGUN
    if others:
        raise RunError(f"{folder}: holds other files ({min(others)} …); give a folder of its own")
    if (folder / "config.json").exists():
        read_config(folder)  # another program's config.json would be lost


def refuse_finished(folder: Path) -> None:
    """Refuse a folder whose run is finished.

    Raises:
        RunError: If the run is finished.
    """
    if (folder / "summary.json").exists():
        raise RunError(
            f"{folder}: holds a finished run, which can't be resumed; give a new run another folder"
        )


def read_config(folder: Path) -> TrainConfig:
    """Read the configuration that a run was started with.

    Raises:
        RunError: If the folder holds no configuration that can be read.
    """
    try:
        return read_train_config(folder).replace(out=folder)
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no run, there is no config.json") from None
    except (ValueError, TypeError, RecursionError, OSError) as error:
        path = folder / "config.json"
        raise RunError(f"{path}: is not a run's configuration: {error}") from error


def load_run(
    folder: Path, device: torch.device
) -> tuple[SentimentClassifier, Tokenizer, TrainConfig]:
    """Load a finished run: the model, its tokenizer, and the configuration of the run.

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
    ids, vocab_size = sorted(tokenizer.get_vocab().values()), model.vocab_size
    if ids != list(range(vocab_size)):
        raise RunError(
            f"{folder}: tokenizer.json holds {len(ids)} ids, the model {vocab_size}, from 0 on; "
            "they belong to different runs"
        )
    return model, tokenizer, config


def environment() -> dict[str, str]:
    """Describe the versions and the machine of a run, so that its numbers can be understood."""
    versions = {}
    for name in ("tokenizers", "attention-tutorial"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # a folder that was copied, not installed
            versions[name] = "not installed"
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,  # includes the build, as in 2.13.0+cu130
        **versions,
        "machine": platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def save_checkpoint(folder: Path, trainer: Trainer, data: dict[str, str]) -> None:
    """Write all that training needs to resume, in one file that replaces the old one.

    Args:
        folder: The run folder.
        trainer: The trainer, between two steps. What dropout will draw is not saved, because it
            follows from the seed and the step.
        data: The fingerprints of the reviews.
    """
    state = trainer.state
    tensors: dict[str, Tensor] = {"sums": state.sums}
    for name, tensor in _trained(trainer.model).items():
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


class _About(Config):
    """What a checkpoint says about itself, in addition to its tensors."""

    epoch: Annotated[int, Field(ge=0)]
    batch: Annotated[int, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    metrics: list[dict[str, Any]]
    config: dict[str, dict[str, Any]]
    data: dict[str, str]


def _trained(model: SentimentClassifier) -> dict[str, Tensor]:
    """Collect the tensors that training changes, which those of a frozen encoder are not."""
    weights = model.state_dict()
    frozen = "encoder." if model.is_frozen else ()
    return {name: weights[name] for name in weights if not name.startswith(frozen)}


def _tensors_of(model: SentimentClassifier, *, has_stepped: bool) -> dict[str, Tensor]:
    """List the tensors in a checkpoint of this model, which may be on the meta device."""
    tensors = {f"model.{name}": tensor for name, tensor in _trained(model).items()}
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    # Before the first step, Adam has no state.
    for i, weight in enumerate(trained if has_stepped else ()):
        for slot in ("exp_avg", "exp_avg_sq"):
            tensors[f"optimizer.{i}.{slot}"] = weight
        tensors[f"optimizer.{i}.step"] = torch.empty((), dtype=torch.float32, device="meta")
    return {**tensors, "sums": torch.empty(4, dtype=torch.float64, device="meta")}


def check_checkpoint(
    folder: Path, outline: SentimentClassifier, config: TrainConfig, data: dict[str, str]
) -> State:
    """Refuse a checkpoint of another run or model, before any of its tensors is read.

    Args:
        folder: The run folder.
        outline: The model; on the meta device it takes no memory yet.
        config: The configuration of the run.
        data: The fingerprints of the reviews that were loaded.

    Returns:
        The state of the checkpoint, without the sums collected so far in the epoch.

    Raises:
        RunError: If it can't be read, or belongs to another run or model.
    """
    path = folder / CHECKPOINT
    try:
        with safe_open(path, "pt") as file:
            about = _About(**json.loads((file.metadata() or {}).get("state", "{}")))
        state = State(about.epoch, about.batch, about.seconds, metrics=about.metrics)
        [line["seconds"] + line["train"]["loss"] for line in state.metrics]  # else no lines of ours
        if state.epoch != len(state.metrics):
            raise ValueError(f"{len(state.metrics)} lines of metrics, but {state.epoch} epochs")
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise RunError(
            f"{path}: is not a checkpoint that can be read: {error}; "
            "replace it with an intact copy, or start again in another folder"
        ) from error
    # A run may be moved and resumed elsewhere; any other difference would make it another run.
    requested, recorded = (
        {name: value for fields in each.values() for name, value in fields.items()}
        for each in (config_json(config), about.config)
    )
    # The dtype is checked with the tensors below.
    names = (requested.keys() | recorded.keys()) - {"device", "data", "dtype"}
    other = sorted(name for name in names if recorded.get(name) != requested.get(name))
    if other:
        options = ["model" if name == "attention" else name for name in other]  # as one gives it
        raise RunError(f"{path}: was written with another {', '.join(options)}")
    changed = [k for k in ("train", "validation") if about.data.get(k) != data.get(k)]
    if changed:
        raise RunError(
            f"{path}: --data {config.data} now has other reviews ({', '.join(changed)}) "
            "than when the run began"
        )
    try:
        check_tensors(path, _tensors_of(outline, has_stepped=(state.epoch, state.batch) != (0, 0)))
    except (SafetensorError, ValueError, OSError) as error:
        raise RunError(f"{path}: does not fit the model: {error}") from error
    return state


def load_checkpoint(folder: Path, trainer: Trainer, data: dict[str, str]) -> None:
    """Restore a trainer to the state of the checkpoint; errors as in :func:`check_checkpoint`.

    Args:
        folder: The run folder.
        trainer: A trainer with the same configuration.
        data: The fingerprints of the reviews that were loaded.
    """
    path = folder / CHECKPOINT
    state = check_checkpoint(folder, trainer.model, trainer.config, data)
    if state.epoch > trainer.config.epochs or state.batch > trainer.batches_per_epoch:
        raise RunError(f"{path}: is at epoch {state.epoch}, batch {state.batch}, beyond the run")
    tensors = load_file(path, str(trainer.device))
    state.sums = tensors.pop("sums")
    model, slots = dict(trainer.model.state_dict()), dict[int, dict[str, Tensor]]()
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
        state.sums.zero_()  # they are those of all processes; the first one keeps them
    trainer.state = state


def start_folder(folder: Path, trainer: Trainer, prepared: Prepared) -> None:
    """Write everything that is known before the first step."""
    write_text(folder / "tokenizer.json", prepared.tokenizer.to_str(pretty=True))
    config = config_json(trainer.config)
    config["model"] = {"vocab_size": trainer.model.vocab_size, **config["model"]}
    where = {"data": prepared.fingerprints, "environment": environment()}
    write_text(folder / "config.json", json.dumps({**config, **where}, indent=2))


def finish_folder(folder: Path, trainer: Trainer) -> None:
    """Write the model, and then the summary, which marks the run as finished."""
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    content["train"] = config_json(trainer.config)["train"]  # the run may have been moved
    trainer.model.save_pretrained(folder, **content)
    metrics = trainer.state.metrics
    summary = {
        "epochs": len(metrics),
        "seconds": sum(line["seconds"] for line in metrics),
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "last": metrics[-1],
    }
    for path in folder.glob(f"checkpoint/{features_file(folder, '*').name}"):
        path.unlink()  # only training reads them
    write_text(folder / "summary.json", json.dumps(summary, indent=2))


def write_metrics(folder: Path, metrics: list[Metrics]) -> None:
    """Write one line per epoch, and draw the training curves."""
    from matplotlib.figure import Figure  # training needs it, prediction does not

    from attention.plotting.curves import training_curves

    write_text(folder / "metrics.jsonl", "\n".join(json.dumps(line) for line in metrics))
    # Not from pyplot, whose figures belong to the main thread; training may run in another.
    figure = training_curves(metrics, figure=Figure())
    drawn = io.BytesIO()
    figure.savefig(
        drawn, format="svg", metadata={"Title": figure.get_label(), "Date": None}
    )  # the title is the picture's alternative text
    write_bytes(folder / "curves.svg", drawn.getvalue())

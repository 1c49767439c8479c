"""The folder that a run writes: its configuration, its model, and what it needs to resume."""

import io
import json
import platform
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import tokenizers
import torch
from filelock import FileLock, Timeout
from pydantic import Field
from safetensors import safe_open
from tokenizers import Tokenizer
from torch import Tensor

from attention._console import shown
from attention._files import openable, read_tensors, write_bytes, write_tensors, write_text
from attention._model_files import read_errors, read_tokenizer
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
_BEGUN = {"config.json", "tokenizer.json", "metrics.jsonl", "curves.svg", "confusion.svg"}
_BEGUN |= {"checkpoint", LOCK}


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
        raise ValueError(
            f"{shown(folder)}: another run is writing here; wait for it, or take another"
        ) from None
    return guard


def refuse_taken(folder: Path) -> None:
    """Refuse a folder for a new run if it holds another run, finished or not, or other files."""
    there = next(
        (path for path in (folder, *folder.parents) if path.exists() or path.is_symlink()), Path()
    )
    if not there.is_dir():
        raise ValueError(f"{shown(there)}: is a file; give a folder as --out")
    if there != folder:
        return
    refuse_finished(folder)
    if (folder / CHECKPOINT).exists():
        raise ValueError(
            f"{shown(folder)}: holds a run that was stopped; "
            f"resume it with --resume {shown(folder)}"
        )
    if others := {path.name.removesuffix(".part") for path in folder.iterdir()} - _BEGUN:
        raise ValueError(
            f"{shown(folder)}: holds other files ({shown(min(others))} …); give a folder of its own"
        )
    if (folder / "config.json").exists():
        read_config(folder)  # another program's config.json would be lost


def refuse_finished(folder: Path) -> None:
    """Refuse a folder whose run is finished."""
    if (folder / "summary.json").exists():
        raise ValueError(
            f"{shown(folder)}: holds a finished run, which can't be resumed; "
            "give a new run another folder"
        )


def read_config(folder: Path) -> TrainConfig:
    """Read the configuration that a run was started with."""
    if not (folder / "config.json").exists():
        raise ValueError(f"{shown(folder)}: holds no run, there is no config.json")
    with read_errors(folder, "a run's configuration"):
        return read_train_config(folder).replace(out=folder)


def load_run(
    folder: Path, device: torch.device
) -> tuple[SentimentClassifier, Tokenizer, TrainConfig]:
    """Load a finished run: the model, its tokenizer, and the configuration of the run."""
    config = read_config(folder)
    if not (folder / "model.safetensors").exists():
        raise ValueError(
            f"{shown(folder)}: holds no model yet; finish the run with "
            f"python -m attention.train --resume {shown(folder)}"
        )
    model = SentimentClassifier.from_pretrained(folder).to(device)
    with read_errors(folder, "a run"):
        return model, read_tokenizer(folder, model.vocab_size), config


def read_fingerprints(folder: Path) -> dict[str, str]:
    """Read which reviews a run was trained and measured on, as the SHA-256 of each split."""
    content = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    recorded = content.get("data")
    return recorded if isinstance(recorded, dict) else {}


def environment() -> dict[str, str]:
    """Describe the versions and the machine of a run, so that its numbers can be understood."""
    ours = metadata.distributions(name="attention-tutorial")
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,  # includes the build, as in 2.13.0+cu130
        "tokenizers": tokenizers.__version__,
        "attention-tutorial": next((each.version for each in ours), "not installed"),
        "machine": platform.machine(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


class _About(Config):
    """What a checkpoint says about itself, in addition to its tensors."""

    batch: Annotated[int, Field(ge=0)]
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    metrics: list[dict[str, Any]]
    config: dict[str, Any]
    data: dict[str, str]


def _options(config: TrainConfig) -> dict[str, Any]:
    """List what makes a run the one it is; it may be moved, and its tensors tell their dtype."""
    moved = ("out", "device", "data", "dtype")
    return {name: value for name, value in config.options().items() if name not in moved}


def _tensors(trainer: Trainer, adam: dict[int, dict[str, Tensor]]) -> dict[str, Tensor]:
    """Name the tensors that training changes, which those of a frozen encoder are not."""
    weights = trainer.model.state_dict()
    frozen = "encoder." if trainer.model.is_frozen else ()
    tensors = {f"model.{name}": weights[name] for name in weights if not name.startswith(frozen)}
    for i, slots in adam.items():
        tensors |= {f"optimizer.{i}.{slot}": tensor for slot, tensor in slots.items()}
    return {"sums": trainer.state.sums, **tensors}


def save_checkpoint(folder: Path, trainer: Trainer, data: dict[str, str]) -> None:
    """Write all that training needs to resume between two steps; it replaces the old file.

    What dropout will draw is not saved, because it follows from the seed and the step.
    """
    state = trainer.state
    tensors = _tensors(trainer, trainer.optimizer.state_dict()["state"])
    about = _About(
        batch=state.batch,
        seconds=state.seconds,
        metrics=state.metrics,
        config=_options(trainer.config),
        data=data,
    )
    path = folder / CHECKPOINT
    path.parent.mkdir(exist_ok=True)
    write_tensors(path, tensors, {"state": json.dumps(vars(about))})


def load_checkpoint(folder: Path, trainer: Trainer, data: dict[str, str]) -> None:
    """Restore a trainer to the state of the checkpoint; data are the reviews' fingerprints.

    If it can't be read, or belongs to another run or model, the trainer is left as it was.
    """
    path = folder / CHECKPOINT
    try:
        with openable(path) as name, safe_open(name, "pt") as file:
            about = _About(**json.loads(file.metadata()["state"]))
    except Exception as error:  # safetensors has its own for a file that it can't read
        raise ValueError(
            f"{shown(path)}: is not a checkpoint that can be read: {error}; "
            "replace it with an intact copy, or start again in another folder"
        ) from error
    requested, recorded = _options(trainer.config), about.config
    names = requested.keys() | recorded.keys()
    if other := sorted(name for name in names if recorded.get(name) != requested.get(name)):
        raise ValueError(f"{shown(path)}: was written with another {', '.join(other)}")
    if changed := [k for k in ("train", "validation") if about.data.get(k) != data.get(k)]:
        raise ValueError(
            f"{shown(path)}: --data {shown(trainer.config.data)} now has other reviews "
            f"({', '.join(changed)}) than when the run began"
        )
    state = State(about.batch, about.seconds, trainer.state.sums, about.metrics)
    if state.epoch > trainer.config.epochs or state.batch > trainer.batches_per_epoch:
        raise ValueError(
            f"{shown(path)}: is at epoch {state.epoch}, batch {state.batch}, beyond the run"
        )
    trained = [weight for weight in trainer.model.parameters() if weight.requires_grad]
    adam = {
        i: {"step": torch.zeros(()), "exp_avg": weight.clone(), "exp_avg_sq": weight.clone()}
        for i, weight in enumerate(map(torch.zeros_like, trained))
        if state.epoch or state.batch  # before the first step, Adam has no state
    }
    restored = _tensors(trainer, adam)
    try:
        stored = read_tensors(path, restored)
    except ValueError as error:
        raise ValueError(f"{shown(path)}: does not fit the model: {error}") from error
    for name, tensor in restored.items():
        tensor.copy_(stored[name])
    trainer.optimizer.load_state_dict({**trainer.optimizer.state_dict(), "state": adam})
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


def write_metrics(folder: Path, metrics: list[Metrics], labels: Sequence[str]) -> None:
    """Write one line per epoch, and draw the training curves and the last confusion matrix."""
    import matplotlib as mpl  # training needs it, prediction does not
    from matplotlib.figure import Figure

    from attention.plotting.confusion import confusion_heatmap
    from attention.plotting.curves import training_curves

    write_text(folder / "metrics.jsonl", "\n".join(json.dumps(line) for line in metrics))
    # Not from pyplot, whose figures belong to the main thread; training may run in another.
    pictures = {
        "curves.svg": training_curves(metrics, figure=Figure()),
        "confusion.svg": confusion_heatmap(metrics[-1]["clean"]["confusion"], labels, Figure()),
    }
    # Written as text, for the fonts of whoever opens it: matplotlib's may lack a label's letters.
    with mpl.rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        for name, figure in pictures.items():
            drawn = io.BytesIO()
            figure.savefig(
                drawn, format="svg", metadata={"Title": figure.get_label(), "Date": None}
            )  # the title is the picture's alternative text
            write_bytes(folder / name, drawn.getvalue())

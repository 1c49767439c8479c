"""Configurations as JSON, read back strictly, also from older versions."""

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from attention.sentiment.config import ModelConfig, TrainConfig

Config = TypeVar("Config", ModelConfig, TrainConfig)

_STRICT = ConfigDict(strict=True, extra="forbid")
ModelConfig.__pydantic_config__ = TrainConfig.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]  # read by pydantic alone
_MODEL_FIELDS = {field.name for field in dataclasses.fields(ModelConfig)}
_TRAIN_FIELDS = {field.name for field in dataclasses.fields(TrainConfig)} - {"model"}


def config_json(config: TrainConfig) -> dict[str, dict[str, Any]]:
    """Turn the configuration of model and run into a dictionary that JSON can hold."""
    run = {name: getattr(config, name) for name in _TRAIN_FIELDS}
    # Absolute paths, so that a run can be resumed and evaluated from any folder.
    if config.data not in ("yelp", "imdb"):
        run["data"] = str(Path(config.data).absolute())
    run["out"] = str(config.out) if config.out else None
    return {"model": vars(config.model).copy(), "train": dict(sorted(run.items()))}


def read_json(path: Path) -> dict[str, Any]:
    """Read a run's ``config.json``.

    Raises:
        ValueError: If it is not JSON, or not an object with a ``model`` in it.
        OSError: If it can't be read.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise ValueError(f"{path}: expected a run's configuration, got no model")
    return content


def read_model_config(folder: Path) -> tuple[int, ModelConfig]:
    """Read the size of the vocabulary and the configuration of the model in a run folder.

    A field that an older version did not save with the model is taken from the configuration of the
    run, or else from the defaults, which reproduce the behaviour of that version.

    Raises:
        ValueError: If a field is unknown, has another type or is out of range.
        OSError: If the file can't be read.
    """
    content = read_json(folder / "config.json")
    run, model = content.get("train"), dict(content["model"])
    vocab_size = model.pop("vocab_size", None)
    if type(vocab_size) is not int:
        raise ValueError(f"vocab_size: expected an integer, got {json.dumps(vocab_size)[:40]}")
    earlier = {k: run[k] for k in _MODEL_FIELDS & run.keys()} if isinstance(run, dict) else {}
    return vocab_size, validated(ModelConfig, {"dtype": "float32"} | earlier | model)


def read_train_config(folder: Path, *, strict: bool) -> TrainConfig:
    """Read the configuration that a run was started with.

    Args:
        folder: The run folder.
        strict: Whether every field has to be there. Resuming requires this, because the default of
            a missing training option might not reproduce the behaviour of the version that began
            the run.

    Raises:
        ValueError: If a field is unknown, has another type, is out of range, or is missing
            although ``strict`` requires it.
        OSError: If the file can't be read.
    """
    content = read_json(folder / "config.json")
    if "train" not in content:
        raise ValueError(f"{folder / 'config.json'}: no 'train'")
    run = content["train"]
    if not isinstance(run, dict):
        raise ValueError(f"train: expected names and values, got {json.dumps(run)[:40]}")
    _, model = read_model_config(folder)
    if strict:
        there = run.keys() | {f"model.{name}" for name in content["model"]}
        expected = _TRAIN_FIELDS | {f"model.{name}" for name in {*_MODEL_FIELDS, "vocab_size"}}
        if differing := sorted({name.removeprefix("model.") for name in there ^ expected}):
            raise ValueError(
                "was written by another version of this package; "
                f"it differs in {', '.join(differing)}"
            )
    own = {name: value for name, value in run.items() if name not in {*_MODEL_FIELDS, "model"}}
    return validated(TrainConfig, {**own, "model": vars(model)})


def validated(kind: type[Config], fields: dict[str, Any]) -> Config:
    """Make a configuration from JSON, and refuse wrong types and unknown names.

    Raises:
        ValueError: If a field is refused; the message names the first such field in one line.
    """
    try:
        return TypeAdapter(kind).validate_json(json.dumps(fields))
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            message = f"another version of this package wrote it; it has {name}"
        elif first["type"] == "value_error":
            message = str(first["ctx"]["error"])
        else:
            expected = first["msg"].removeprefix("Input should be ")
            message = f"{name}: expected {expected}, got {json.dumps(first['input'])[:40]}"
        raise ValueError(message) from None

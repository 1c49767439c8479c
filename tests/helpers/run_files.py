"""Change the files of a run folder, as time, accidents and strangers do."""

import json

from processes import checkpoint_metadata
from safetensors.torch import load_file, save_file

from attention.sentiment.run_folder import CHECKPOINT


def edit_json(path, change):
    """Change what a JSON file holds."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def set_fields(run, part, **fields):
    """Set fields of a part of config.json: of the "model", or of how it is trained ("train")."""
    edit_json(run / "config.json", lambda content: content[part].update(fields))


def edit_tensors(path, change):
    """Change a checkpoint's tensors and keep what it says of itself."""
    metadata = {"state": checkpoint_metadata(path)} if path.name == "state.safetensors" else None
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata)


def make_unfinished(run):
    """Leave what a run leaves that is killed after its last checkpoint."""
    (run / "summary.json").unlink()
    (run / "model.safetensors").unlink()


def make_version_0_1_0(run):
    """Write a run's configuration, and its checkpoint's, as version 0.1.0 did.

    Which end is kept and whether there is a separator stood in "train" alone then, as did every
    option of the command line, and a model had no dtype. The weights' file was the same.
    """
    path = run / "config.json"
    content = json.loads(path.read_text())
    options = _flat(content["model"], content["train"])
    of_model = {name: content["model"][name] for name in _MODEL_FIELDS_0_1_0}
    path.write_text(json.dumps({**content, "model": of_model, "train": options}))
    checkpoint = run / CHECKPOINT
    state = json.loads(checkpoint_metadata(checkpoint))
    state["config"] = _flat(**state["config"])
    save_file(load_file(checkpoint), checkpoint, {"state": json.dumps(state)})


_MODEL_FIELDS_0_1_0 = (
    "vocab_size", "embed_dim", "attention", "key_dim", "value_dim", "num_heads", "bias", "scale",
    "bigram_buckets", "segments", "positions", "position_base", "max_length", "mask_padding",
    "embedding_std", "dropout", "word_dropout",
)  # fmt: skip
_OPTIONS_0_1_0 = (
    "data", "model", "out", "epochs", "batch_size", "lr", "schedule", "seed", "device", "limit",
    "embed_dim", "key_dim", "value_dim", "num_heads", "bias", "scale", "bigram_buckets",
    "embedding_std", "dropout", "word_dropout", "max_length", "keep", "positions", "position_base",
    "mask_padding", "distractors", "separator", "segments", "clean_text", "min_frequency",
    "lab_sample",
)  # fmt: skip


def _flat(model, train):
    options = model | train | {"model": model["attention"]}
    return {name: options[name] for name in _OPTIONS_0_1_0}

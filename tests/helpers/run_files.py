"""Change the files of a run folder, as older versions, accidents or attackers would."""

import json

import version_0_1_0
from processes import checkpoint_metadata
from safetensors.torch import load_file, save_file

from attention.sentiment.run_folder import CHECKPOINT


def edit_json(path, change):
    """Change the content of a JSON file."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def set_fields(run, part, **fields):
    """Set fields in one part of config.json, "model" or "train"."""
    edit_json(run / "config.json", lambda content: content[part].update(fields))


def edit_tensors(path, change):
    """Change the tensors of a checkpoint, and keep what it says about itself."""
    metadata = {"state": checkpoint_metadata(path)} if path.name == "state.safetensors" else None
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, metadata)


def make_unfinished(run):
    """Remove what a run that was killed after its last checkpoint has not written."""
    (run / "summary.json").unlink()
    (run / "model.safetensors").unlink()


def make_version_0_1_0(run):
    """Write the configuration of a run and of its checkpoint as version 0.1.0 did.

    In that version "train" contained every option of the command line. The end that is kept and the
    separator were only there, and a model had no dtype. The file of weights was the same.
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
    "vocab_size",
    "embed_dim",
    "attention",
    "key_dim",
    "value_dim",
    "num_heads",
    "bias",
    "scale",
    "bigram_buckets",
    "segments",
    "positions",
    "position_base",
    "max_length",
    "mask_padding",
    "embedding_std",
    "dropout",
    "word_dropout",
)


def _flat(model, train):
    options = model | train | {"model": model["attention"]}
    return {name: options[name] for name in version_0_1_0.OPTIONS["default"]}

"""Change the files of a run folder, as accidents or attackers would."""

import json

from processes import checkpoint_metadata
from safetensors.torch import load_file, save_file


def contents(folder):
    """Return the bytes of every file, and False for a folder."""
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


def edit_json(path, change):
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

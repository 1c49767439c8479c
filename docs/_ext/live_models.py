"""Put the trained models into the site, small enough for a browser.

A page opened from a folder may not fetch files, but it may load classic scripts. So each model
becomes a script: its table in 8 bits and a scale, its other numbers in 16 bits, all written as
base64. The experiment ``docs/experiments/playground`` trains the models.

The model that writes, of ``docs/experiments/language``, has all its matrices in 8 bits with a scale
per row. Its scales and norms keep 32 bits, with which the page computes what torch does.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from safetensors.torch import load_file
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from tokenizers import Tokenizer
from torch import Tensor

EXPERIMENTS = Path(__file__).parents[1] / "experiments"
MODELS = EXPERIMENTS / "playground" / "models"
WRITER = EXPERIMENTS / "language" / "model"
KINDS = ("mean", "energy", "qkv")
SOURCES = Path(__file__).parents[1] / "_static" / "lab"
# Which script needs which is the order in which they stand here.
REVIEW = ["tensors", "attention", "tokenizer", "classifier", "models", "dom", "tokens"]
BENCH = ["bench", "bench-texts", "bench-explain-gradients", "bench-explain", "bench-equation"]
BENCH += ["bench-state", "plane", "plane-drag", "workbench", "workbench-map", "workbench-planes"]
WHOLE = ["numbers", *BENCH, "bench-python", "workbench-sentence", "workbench-numbers"]
WHOLE += ["workbench-options", "workbench-learning", "workbench-share", "workbench-missions"]
WHOLE += ["workbench-start"]
WRITING = ["bpe", "writer", "writer-heads"]
WALK = ["bench-python", "walk-frames", "walk-texts", "walk"]
HOME = [*REVIEW, "home", "bench", "bench-state", "map", *WALK, *WRITING, "home-writer"]
LESSON_1 = ["tensors", "attention", "dom", "map", *BENCH, "workbench-start", *WALK]
LESSON_1 += ["lesson-numbers", "lesson-figures"]
SCRIPTS = {
    "index": HOME,
    "playground": ["tensors", "attention", "tokenizer", "models", "dom", "map", *WHOLE],
    "your_review": [*REVIEW, "map", "review-lab"],
    "writer": ["tensors", "models", "dom", "map", "numbers", *WRITING, "writer-lab"],
    "gallery/core/plot_1_qkv_derivation": LESSON_1,
    "puzzles": ["tensors", "dom", "numbers", "puzzle-judge", "puzzle-maps", "puzzle"],
}
STYLES = {
    "index": ["lab", "workbench", "walk", "writer", "home"],
    "playground": ["lab", "workbench"],
    "your_review": ["lab"],
    "writer": ["lab", "writer"],
    "gallery/core/plot_1_qkv_derivation": ["lab", "workbench", "walk", "lesson-figures"],
    "puzzles": ["lab", "workbench", "puzzle"],
}


def as_base64(tensor: Tensor, floats: str = "<f2") -> str:
    """Write numbers row by row, little-endian, as floats of 16 bits or as integers of 8."""
    kind = floats if tensor.is_floating_point() else "i1"
    return base64.b64encode(tensor.contiguous().numpy().astype(kind).tobytes()).decode()


def model_script(folder: Path) -> str:
    """Write one model as the call of a function that ``models.js`` defines."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    weights = load_file(folder / "model.safetensors")
    scale = weights.pop("embedding.scale").item()
    tensors: dict[str, Any] = {
        "embedding": {"scale": scale, "int8": as_base64(weights.pop("embedding"))},
        "w": as_base64(weights.pop("classifier.weight")),  # (1, d) or (1, v)
        "b": as_base64(weights.pop("classifier.bias")),  # (1,)
    }
    for name, weight in weights.items():
        # nn.Linear holds its matrix transposed: (d, k) or (d, v), and (d, 1) for the energy
        tensors[name.split(".")[1]] = as_base64(weight.T)
    return f"receiveModel({json.dumps(config)}, {json.dumps(tensors)});\n"


def writer_script(folder: Path) -> str:
    """Write the model that writes as the call of a function that ``writer.js`` defines.

    The vocabulary follows from the letters of its 256 bytes and from the merges: each merge makes
    the token with the next id, unless an earlier one made it already.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    bpe = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    letters = sorted(bpe["vocab"], key=bpe["vocab"].__getitem__)[1:257]
    merges = "\n".join(" ".join(pair) for pair in bpe["merges"])
    vocabulary = {"alphabet": "".join(letters), "merges": merges}
    weights = load_file(folder / "model.safetensors")
    # "encoder.blocks.0.norm1.weight" is "0.norm1" there, because each byte of a page counts.
    tensors = {
        re.sub(r"^encoder\.(blocks\.)?|\.weight", "", name): as_base64(weight, "<f4")
        for name, weight in weights.items()
    }
    written = json.dumps([config, vocabulary, tensors], ensure_ascii=False, separators=(",", ":"))
    return f"receiveWriter({written[1:-1]});\n"


def words_script(tokenizer: Path) -> str:
    """Write the words of a tokenizer in the order of their ids."""
    ids = Tokenizer.from_file(str(tokenizer)).get_vocab()
    return f"receiveWords({json.dumps(' '.join(sorted(ids, key=ids.__getitem__)))});\n"


def vectors_script(folder: Path) -> str:
    """Write the vectors of a small model's words as the call of a function of ``models.js``."""
    vectors = load_file(folder / "model.safetensors")["embedding.weight"]  # (number of words, d)
    return f'receiveVectors({vectors.shape[1]}, "{as_base64(vectors)}");\n'


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    scripts = {kind: model_script(MODELS / kind) for kind in KINDS}
    scripts["tiny"] = vectors_script(MODELS / "tiny")
    scripts["writer"] = writer_script(WRITER)
    scripts["words"] = words_script(MODELS / "tokenizer.json")
    for name, script in scripts.items():
        Path(app.outdir, "_static", f"lab-{name}.js").write_text(script, encoding="utf-8")


def bundle(page: str, kind: str) -> str:
    """Name the one file with a page's scripts or styles: a browser waits for each it asks for."""
    return f"lab/all-of-{page.rpartition('/')[2]}.{kind}"


def as_sent(path: Path) -> str:
    """Leave out of a script or style sheet what only who reads it needs."""
    text = path.read_text(encoding="utf-8")
    return jsmin(text) if path.suffix == ".js" else re.sub(r"(?s)/\*.*?\*/\n?", "", text)


def write_bundles(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Join the scripts and the styles of each page, and return the pages where these changed.

    Their addresses tell browsers by a hash that these are others, so such a page is written again.
    """
    if app.builder.name != "html":
        return []
    changed = set()
    for kind, pages in (("js", SCRIPTS), ("css", STYLES)):
        for page, names in pages.items():
            file = Path(app.outdir, "_static", bundle(page, kind))
            joined = "\n".join(as_sent(SOURCES / f"{name}.{kind}") for name in names)
            if not file.exists() or file.read_text(encoding="utf-8") != joined:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(joined, encoding="utf-8")
                changed.add(page)
    return sorted(changed & env.found_docs)


def add_scripts(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Load scripts and styles on the pages that use them, and on no other."""
    if page in SCRIPTS and app.builder.name == "html":
        app.add_css_file(bundle(page, "css"))
        app.add_js_file(bundle(page, "js"), defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-updated", write_bundles)
    app.connect("html-page-context", add_scripts, priority=400)  # before unused_files copies lists
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True}

"""Put the models that the training page trained into the site, small enough for a browser.

A page opened from a folder may not fetch files, but it may load classic scripts. So each model
becomes a script: its numbers rounded to 16 bits, written as base64, for the words seen most often.
"""

import base64
import json
import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging
from tokenizers import Tokenizer
from torch import Tensor

from attention.sentiment.saved_config import read_model_config
from attention.sentiment.tokenizer import SPECIALS

logger = logging.getLogger(__name__)

LESSON = Path("gallery", "core", "plot_8_sentiment_training.py")
KINDS = ("energy", "qkv")
WORDS = 8_000
# Which script needs which is the order in which they stand here.
REVIEW = ["tensors", "attention", "tokenizer", "classifier", "models", "dom", "tokens"]
BENCH = ["bench", "bench-texts", "bench-explain-gradients", "bench-explain", "bench-state"]
BENCH += ["plane", "workbench", "workbench-map", "workbench-planes"]
WHOLE = [*BENCH, "bench-python", "workbench-numbers", "workbench-options", "workbench-learning"]
WHOLE += ["workbench-share", "workbench-start"]
SCRIPTS = {
    "index": [*REVIEW, "home", *BENCH, "workbench-start"],
    "playground": [*REVIEW, "map", "review-lab", *WHOLE, "lab"],
    "gallery/core/plot_1_qkv_derivation": ["tensors", "attention", "dom", *WHOLE],
}


def kept_models(app: Sphinx) -> Path:
    """Name the folder in which a build keeps the models that its own gallery trained."""
    return Path(app.outdir).parent / "live"


def executed(app: Sphinx) -> Path:
    """Name the file that the gallery writes whenever it has executed the lesson."""
    return Path(app.srcdir, f"{LESSON}.md5")


def ask_for_models(app: Sphinx, config: Config) -> None:
    """Have the gallery execute the lesson again where its models are gone."""
    if not (kept_models(app) / "executed").exists():
        executed(app).unlink(missing_ok=True)


def keep_models(app: Sphinx) -> None:
    """Copy the models as soon as they are trained: a reader's own run may take their place."""
    kept, stamp = kept_models(app), executed(app)
    if not stamp.exists():
        logger.warning("live models: the gallery did not execute %s", LESSON)
        return
    when = str(stamp.stat().st_mtime_ns)
    if (kept / "executed").exists() and (kept / "executed").read_text() == when:
        return
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(app.srcdir.parent / LESSON.parent / "runs" / "plot_8", kept)
    (kept / "executed").write_text(when)


def as_base64(tensor: Tensor) -> str:
    """Write numbers row by row as little-endian floats of 16 bits."""
    return base64.b64encode(tensor.contiguous().numpy().astype("<f2").tobytes()).decode()


def model_script(run: Path) -> str:
    """Write one model as the call of a function that ``models.js`` defines."""
    vocab_size, model = read_model_config(run)
    # What the page's own code computes; anything else would need more of it.
    simple = {"bias": False, "scale": True, "positions": "end", "mask_padding": True}
    simple |= {"bigram_buckets": 0, "segments": False, "separator": True, "keep": "tail"}
    config = vars(model)
    other = {name: config[name] for name, value in simple.items() if config[name] != value}
    if other:
        raise ValueError(f"{run}: the page can't compute a model with {other}")
    weights = load_file(run / "model.safetensors")
    kind = model.attention
    tensors = {
        "embedding": weights["embedding.weight"][: len(SPECIALS) + WORDS],  # (8003, d)
        "w": weights["classifier.weight"],  # (1, v)
        "b": weights["classifier.bias"],  # (1,)
    }
    if kind == "energy":
        tensors["energy"] = weights["attention.energy.weight"]  # (1, d)
    else:
        for name in ("W_query", "W_key", "W_value"):
            # nn.Linear holds its matrix transposed.
            tensors[name] = weights[f"attention.{name}.weight"].T  # (d, k) or (d, v)
    page_config: dict[str, Any] = {
        "kind": kind,
        "embed_dim": model.embed_dim,
        "key_dim": model.key_dim,
        "value_dim": model.value_dim or model.embed_dim,
        "base": model.position_base,
        "max_length": model.max_length,
        "trained_words": vocab_size - len(SPECIALS),
    }
    written = {name: as_base64(tensor) for name, tensor in tensors.items()}
    return f"receiveModel({json.dumps(page_config)}, {json.dumps(written)});\n"


def words_script(run: Path) -> str:
    """Write the most frequent words in the order of their ids."""
    ids = Tokenizer.from_file(str(run / "tokenizer.json")).get_vocab()
    ranked = sorted(ids, key=ids.__getitem__)[: len(SPECIALS) + WORDS]
    return f"receiveWords({json.dumps(' '.join(ranked))});\n"


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    kept = kept_models(app)
    if exception or app.builder.format != "html" or not (kept / "executed").exists():
        return
    static = Path(app.outdir, "_static")
    for kind in KINDS:
        (static / f"lab-{kind}.js").write_text(model_script(kept / kind), encoding="utf-8")
    (static / "lab-words.js").write_text(words_script(kept / KINDS[0]), encoding="utf-8")


def add_scripts(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Load scripts and styles on the pages that use them, and on no other."""
    if page in SCRIPTS:
        app.add_css_file("lab/lab.css")
        app.add_css_file("lab/workbench.css")
        for name in SCRIPTS[page]:
            app.add_js_file(f"lab/{name}.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("config-inited", ask_for_models, priority=200)  # freshness: 100
    app.connect("builder-inited", keep_models, priority=900)  # the gallery: 500
    app.connect("html-page-context", add_scripts, priority=400)  # exercises, at 500, copies lists
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

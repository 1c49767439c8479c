r"""What the package computes, for the scripts of the site to agree with.

``PYTHONPATH=docs:docs/_ext python tests/javascript/expected.py`` writes ``expected.json`` anew. A
Python test beside this file holds that to the package, and the JavaScript tests hold the scripts to
it.
"""

import json
import tempfile
from pathlib import Path

import torch
from live_models import model_script, words_script
from tokenizers import Tokenizer
from torch import Tensor

from attention import (
    EnergyPooling,
    SelfAttentionV1,
    SinusoidalPositions,
    causal_mask,
    scaled_dot_product_attention,
)
from attention.exercises.sentence import X_OF_LESSON
from attention.sentiment.tokenizer import SEP_ID, train_tokenizer
from experiments.playground.model import (
    PageConfig,
    PageModel,
    clause_starts,
    read_model,
    write_model,
)

HERE = Path(__file__).parent
FILE = HERE / "expected.json"
# One of them has no positions.
MODELS = {
    "mean": {"embed_dim": 5},
    "energy": {"embed_dim": 6, "positions": "end"},
    "qkv": {"embed_dim": 6, "key_dim": 3, "value_dim": 4, "positions": "end"},
}
MAX_LENGTH = 8
VOCABULARY = [
    "the plot is thin but the music is good",
    "a bad film of the good old kind",
    "the music isn't good and not the old plot",
    "never a bad film",
]
TEXTS = [
    "The music is GOOD",
    "good",
    "a zebra is bad",
    r"The plot<br />is thin\n\nbut the <b class='x'>music is good",  # 9 words, of which 8 are read
    "the good the bad the plot the music the film",
    "the music isn't good and the plot is bad",  # 10 words: the first two are not read
    "not a bad film but never good",
    "not the zebra, not the good old plot",
    "never the old plot! Good film: not the good",
]
DISTRACTOR = "A bad film, of the old kind."


def worked_example() -> dict[str, object]:
    """Compute the first lesson, in float64 so that nothing but the formulas can differ."""
    x = X_OF_LESSON.double().round(decimals=2)  # (6, 3)
    torch.manual_seed(123)
    layer = SelfAttentionV1(3, 2).double()
    matrices = {name: W.detach() for name, W in layer.named_parameters()}
    query, key, value = (x @ matrices[f"W_{name}"] for name in ("query", "key", "value"))  # (6, 2)
    pooling = EnergyPooling(3).double()
    settings = {"plain": (None, None), "causal": (causal_mask(6), None), "unscaled": (None, 1.0)}
    layers = {}
    for name, (mask, scale) in settings.items():
        context, weights = scaled_dot_product_attention(query, key, value, mask, scale=scale)
        layers[name] = {"context": context, "weights": weights}
    context, weights = pooling(x, need_weights=True)
    return {
        "x": x,
        **matrices,
        "query": query,
        "key": key,
        "value": value,
        "scores": query @ key.T,
        "layers": layers,
        "energy": {"w": pooling.energy.weight[0], "weights": weights, "context": context},
    }


def write_small(kind: str, folder: Path) -> PageModel:
    """Write a small model as the experiment does, and return it as a page has it."""
    torch.manual_seed(1)
    config = PageConfig.with_words(
        tokenizer(), kind=kind, **MODELS[kind], max_length=MAX_LENGTH, recommended=kind == "mean"
    )
    model = PageModel(config, config.build())
    for parameter in model.classifier.parameters():
        parameter.data = torch.rand(parameter.shape) * 2 - 1
    write_model(model, folder)
    return read_model(folder)


def tokenizer() -> Tokenizer:
    return train_tokenizer(VOCABULARY, min_frequency=1)


def readings(kind: str, folder: Path) -> dict[str, object]:
    """Let a small model read every text, alone and behind a distractor."""
    model = write_small(kind, folder)
    found = []
    for distractor in ("", DISTRACTOR):
        front = [*tokenizer().encode(distractor).ids, SEP_ID] if distractor else []
        before = [*clause_starts(distractor), True] if distractor else []
        for text in ["", *TEXTS]:
            ids = [*front, *tokenizer().encode(text).ids]
            starts = [*before, *clause_starts(text)]
            marked = model.config.mark(ids[-MAX_LENGTH:], starts[-MAX_LENGTH:])
            found.append(
                {"text": text, "distractor": distractor, "ids": ids, "marked": marked}
                | model.read(ids, starts)._asdict()
            )
    tokenizer().save(str(folder / "tokenizer.json"))
    scripts = {"words": words_script(folder / "tokenizer.json"), "model": model_script(folder)}
    return {**scripts, "embedding": model.classifier.embedding.weight, "readings": found}


def halves() -> dict[str, object]:
    """Write numbers of 16 bits: signs, the smallest, the largest, and a thousand others."""
    torch.manual_seed(2)
    special = [
        0.0,
        -0.0,
        1.0,
        -2.5,
        65504.0,
        -65504.0,
        2.0**-24,
        -(2.0**-24),
        2.0**-14,
        1023 / 2**24,
    ]
    numbers = torch.cat([torch.tensor(special), torch.randn(90), torch.randn(50) * 2**-15]).half()
    return {"bits": numbers.view(torch.int16).int() & 0xFFFF, "numbers": numbers.double()}


def compute() -> dict[str, object]:
    """Compute everything."""
    with tempfile.TemporaryDirectory() as folder:
        models = {kind: readings(kind, Path(folder, kind)) for kind in MODELS}
    everything = {
        "written by": "PYTHONPATH=docs:docs/_ext python tests/javascript/expected.py",
        "worked_example": worked_example(),
        "positions": SinusoidalPositions(6, max_length=9, base=1_000.0).double().table,
        "halves": halves(),
        "models": models,
    }
    return json.loads(json.dumps(everything, default=Tensor.tolist))


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute()) + "\n", encoding="utf-8")

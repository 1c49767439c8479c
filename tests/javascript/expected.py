r"""What the package computes, for the scripts of the site to agree with.

``PYTHONPATH=docs:docs/_ext python tests/javascript/expected.py`` writes ``expected.json`` anew. A
Python test beside this file holds that to the package, and the JavaScript tests hold the scripts to
it.
"""

import json
import random
import tempfile
from pathlib import Path

import torch
from live_models import model_script, words_script, writer_script
from tokenizers import Tokenizer
from torch import Tensor

from attention import SelfAttentionV1, causal_mask, scaled_dot_product_attention
from attention.language import LanguageConfig, LanguageModel, load_language_model
from attention.language import encode as encode_pieces
from attention.sentiment.tokenizer import SEP_ID, train_tokenizer
from experiments.language import data as language_data
from experiments.language.train import save_language_model
from experiments.playground.model import (
    PageConfig,
    PageModel,
    clause_starts,
    encode,
    read_model,
    write_model,
)

HERE = Path(__file__).parent
FILE = HERE / "expected.json"
MODELS = {
    "mean": {"embed_dim": 5},
    "energy": {"embed_dim": 6},
    "qkv": {"embed_dim": 6, "key_dim": 3, "value_dim": 4},
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
    "the music ISNT good",
]
DISTRACTOR = "A bad film, of the old kind."
# Three layers, and sizes that differ from each other
WRITER = {"embed_dim": 24, "num_heads": 6, "num_kv_heads": 3, "num_layers": 3, "hidden_dim": 7}
WRITER_TEXTS = ["", "The music", "a film isn't good", "né 10 😀"]
FRAGMENTS = (
    "a|e|f|g|s|t|The|film| film|music| isn't|good|ooo|é|e\u0301|ñ|ß|Ω|фильм|映画| 映画|한국|שלום"
    "|  |   |\n|\n\n|\t|\r\n|\u00a0|\u0085 film|\ufeff film|\u3000|12| 345|½|²|٣|😀|👍🏽|❤️|🇬🇧|𝔘"
    "|ไทย|👨\u200d👩\u200d👧|...|!?| —|“|<b>|<start>|<star|_|$|'|''|\u0000|\u200b|�"
)


X_OF_LESSON = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)  # (6, 3)


def worked_example() -> dict[str, object]:
    """Compute the first lesson, in float64 so that nothing but the formulas can differ."""
    x = X_OF_LESSON.double().round(decimals=2)  # (6, 3)
    torch.manual_seed(123)
    layer = SelfAttentionV1(3, 2).double()
    matrices = {name: W.detach() for name, W in layer.named_parameters()}
    query, key, value = (x @ matrices[f"W_{name}"] for name in ("query", "key", "value"))  # (6, 2)
    settings = {"plain": (None, None), "causal": (causal_mask(6), None), "unscaled": (None, 1.0)}
    layers = {}
    for name, (mask, scale) in settings.items():
        context, weights = scaled_dot_product_attention(query, key, value, mask, scale=scale)
        layers[name] = {"context": context, "weights": weights}
    made = {"query": query, "key": key, "value": value, "scores": query @ key.T, "layers": layers}
    return {"x": x, **matrices, **made}


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
        front = [*encode(tokenizer(), distractor), SEP_ID] if distractor else []
        before = [*clause_starts(distractor), True] if distractor else []
        for text in ["", *TEXTS]:
            ids = [*front, *encode(tokenizer(), text)]
            starts = [*before, *clause_starts(text)]
            marked = model.config.mark(ids[-MAX_LENGTH:], starts[-MAX_LENGTH:])
            found.append(
                {"text": text, "distractor": distractor, "ids": ids, "marked": marked}
                | model.read(ids, starts)._asdict()
            )
    tokenizer().save(str(folder / "tokenizer.json"))
    scripts = {"words": words_script(folder / "tokenizer.json"), "model": model_script(folder)}
    return {**scripts, "embedding": model.classifier.embedding.weight, "readings": found}


def strings() -> list[str]:
    """Compose 200 texts of words, spaces, digits and signs of many scripts."""
    draw = random.Random(1)
    return ["".join(draw.choices(FRAGMENTS.split("|"), k=draw.randint(1, 9))) for _ in range(200)]


def rounded(tensor: Tensor) -> list[object]:
    return tensor.double().round(decimals=7).tolist()


@torch.no_grad()
def writing(folder: Path) -> dict[str, object]:
    """Let a small model that writes read every text."""
    torch.manual_seed(3)
    tokenizer = language_data.train_tokenizer([*VOCABULARY, *TEXTS, "ooooo " * 9], vocab_size=320)
    model = LanguageModel(LanguageConfig(vocab_size=tokenizer.get_vocab_size(), **WRITER))
    for parameter in model.parameters():
        parameter.data = torch.rand(parameter.shape) * 2 - 1
    save_language_model(model, tokenizer, folder)
    model, _ = load_language_model(folder)
    readings = []
    for text in WRITER_TEXTS:
        ids = encode_pieces(tokenizer, text)
        logits, weights = model(torch.tensor(ids), need_weights=True)  # (n, v), (L, h, n, n)
        # of all positions those of one text
        some = logits if text == WRITER_TEXTS[1] else logits[-1:]
        readings.append(
            {"text": text, "ids": ids, "logits": rounded(some), "weights": rounded(weights)}
        )
    encoded = [[text, encode_pieces(tokenizer, text)[1:]] for text in strings()]
    tokens = sorted(vocabulary := tokenizer.get_vocab(), key=vocabulary.__getitem__)
    script = writer_script(folder)
    return {"script": script, "tokens": tokens, "readings": readings, "encoded": encoded}


def halves() -> dict[str, object]:
    """Write numbers of 16 bits: signs, the smallest, the largest, and a thousand others."""
    torch.manual_seed(2)
    special = [0.0, -0.0, 1.0, -2.5, 65504.0, -65504.0]
    special += [2.0**-24, -(2.0**-24), 2.0**-14, 1023 / 2**24]
    numbers = torch.cat([torch.tensor(special), torch.randn(90), torch.randn(50) * 2**-15]).half()
    return {"bits": numbers.view(torch.int16).int() & 0xFFFF, "numbers": numbers.double()}


def compute() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        models = {kind: readings(kind, Path(folder, kind)) for kind in MODELS}
        writer = writing(Path(folder, "writer"))
    everything = {
        "written by": "PYTHONPATH=docs:docs/_ext python tests/javascript/expected.py",
        "worked_example": worked_example(),
        "halves": halves(),
        "models": models,
        "writer": writer,
    }
    return json.loads(json.dumps(everything, default=Tensor.tolist))


if __name__ == "__main__":
    FILE.write_text(json.dumps(compute()) + "\n", encoding="utf-8")

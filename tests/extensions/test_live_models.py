import base64
import json
import re
from pathlib import Path
from types import SimpleNamespace

import expected
import live_models
import numpy as np
import pytest
import torch
from sphinx.builders.html import _assets

from attention.language import load_language_model

LAB = Path(__file__).parents[2] / "docs" / "_static" / "lab"


def unpack(text: str, kind: str = "<f2") -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), kind).astype(np.float32))


def test_numbers_survive_to_16_bits():
    numbers = torch.randn(3, 4) * torch.tensor([1e-6, 1e-3, 1.0, 1e4])
    # Row by row, also where memory holds it column by column; the first byte is the low one.
    for some in (numbers, numbers.T):
        again = unpack(live_models.as_base64(some)).view(some.shape)
        assert torch.equal(again, some.half().float())
    assert base64.b64decode(live_models.as_base64(torch.tensor([1.0]))) == b"\x00\x3c"
    numbers = torch.tensor([[-127, 0], [5, 127]], dtype=torch.int8)  # as they are
    assert base64.b64decode(live_models.as_base64(numbers.T)) == bytes([0x81, 5, 0, 127])


def call(script: str) -> tuple[str, list]:
    """Take a script apart: the function it calls, and with what."""
    name, arguments = re.fullmatch(r"(\w+)\((.*)\);\n", script).groups()
    return name, json.loads(f"[{arguments}]")


@pytest.mark.parametrize("kind", ["mean", "energy", "qkv"])
def test_a_model_becomes_a_call(kind, tmp_path):
    model = expected.write_small(kind, tmp_path)
    name, (config, tensors) = call(live_models.model_script(tmp_path))
    assert name == "receiveModel"
    assert config == vars(model.config)
    classifier, table = model.classifier, tensors.pop("embedding")
    again = unpack(table["int8"], "i1").double() * table["scale"]
    assert torch.equal(again, classifier.embedding.weight.flatten())
    wanted = {"w": classifier.classifier.weight, "b": classifier.classifier.bias}
    for name, weight in classifier.attention.named_parameters():
        wanted[name.removesuffix(".weight")] = weight.T
    assert set(tensors) == set(wanted)
    for name, weight in wanted.items():
        assert torch.equal(unpack(tensors[name]).double(), weight.flatten()), name


def test_the_model_that_writes_becomes_a_call():
    """Check the committed model, every number of it; node checks the vocabulary."""
    name, (config, _, tensors) = call(live_models.writer_script(live_models.WRITER))
    assert name == "receiveWriter"
    model, _ = load_language_model(live_models.WRITER)
    assert config == vars(model.config)
    state = {
        full.removeprefix("encoder.").removeprefix("blocks.").removesuffix(".weight"): weight
        for full, weight in model.state_dict().items()
    }
    assert {name.removesuffix(".scale") for name in tensors} == set(state)
    for name, weight in state.items():
        is_table = weight.dim() == 2
        numbers = unpack(tensors[name], "i1" if is_table else "<f4").view(weight.shape)
        if is_table:
            numbers = numbers * unpack(tensors[f"{name}.scale"], "<f4")[:, None]
        assert torch.equal(numbers, weight), name


def test_a_build_writes_the_committed_models_and_words_in_the_order_of_their_ids(tmp_path):
    (tmp_path / "_static").mkdir()
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="epub"))
    live_models.write_scripts(app, None)
    app.builder.name = "html"
    live_models.write_scripts(app, RuntimeError("a page failed"))
    assert list((tmp_path / "_static").iterdir()) == []
    live_models.write_scripts(app, None)
    scripts = {path.name: path.read_text() for path in (tmp_path / "_static").iterdir()}
    names = ("words", "writer", *live_models.KINDS)
    assert set(scripts) == {f"lab-{name}.js" for name in names}
    sizes = {name: len(script.encode()) for name, script in scripts.items()}
    assert sizes.pop("lab-writer.js") <= 500_000
    assert sum(sizes.values()) < 1_200_000
    name, (words,) = call(scripts["lab-words.js"])
    assert name == "receiveWords"
    ids = json.loads((live_models.MODELS / "tokenizer.json").read_text())["model"]["vocab"]
    assert [ids[word] for word in words.split(" ")] == list(range(len(ids)))
    for kind in live_models.KINDS:
        _, (config, _) = call(scripts[f"lab-{kind}.js"])
        assert (config["kind"], config["shift"]) == (kind, len(ids))


def test_a_script_stands_after_those_it_takes_names_from():
    scripts = {path.stem: path.read_text() for path in LAB.glob("*.js")}
    makers = {
        made: name
        for name, script in scripts.items()
        for made in re.findall(r"^  lab\.(\w+) = ", script, re.MULTILINE)
    }
    for page, names in live_models.SCRIPTS.items():
        for i, name in enumerate(names):
            taken = re.findall(r"const \{.*?\} = lab\.(\w+);", scripts[name])
            assert {makers[one] for one in taken} <= set(names[:i]), f"{page}: {name}"


def test_scripts_are_on_the_pages_that_use_them_and_edited_ones_reach_the_site(
    site, monkeypatch, tmp_path
):
    for name in ("one", "two"):
        (tmp_path / f"{name}.js").write_text(f"old({name});")
    monkeypatch.setattr(live_models, "write_scripts", lambda *_: None)
    monkeypatch.setattr(live_models, "SOURCES", tmp_path)
    monkeypatch.setattr(live_models, "SCRIPTS", {"index": ["one", "two"], "elsewhere": ["one"]})

    def build() -> tuple[str, str]:
        _assets._file_checksum_inner.cache_clear()  # each build is a process of its own
        app = site("Text.", "live_models", pages={"other": ":orphan:\n\nOther\n=====\n"}).build()
        assert "_static/lab/" not in app.page("other")
        (address,) = re.findall(r'defer="defer" src="(_static/lab/[^"]+)"', app.page())
        return address, (app.outdir / address.partition("?")[0]).read_text()

    before = build()
    assert before[1] == "old(one);\nold(two);"
    (tmp_path / "two.js").write_text("new(two);")
    after = build()
    assert after[1] == "old(one);\nnew(two);"
    assert after[0] != before[0]  # else a browser shows what it has kept
    assert build() == after

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
from sphinx.testing.util import SphinxTestApp

from attention.language import load_language_model

LAB = Path(__file__).parents[2] / "docs" / "_static" / "lab"


def unpack(text: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), "<f2").astype(np.float32))


def test_numbers_survive_to_16_bits():
    numbers = torch.randn(3, 4) * torch.tensor([1e-6, 1e-3, 1.0, 1e4])
    assert torch.equal(unpack(live_models.as_base64(numbers)), numbers.half().float().flatten())
    # Row by row, also where memory holds it column by column; the first byte is the low one.
    assert torch.equal(
        unpack(live_models.as_base64(numbers.T)).view(4, 3), numbers.T.half().float()
    )
    assert base64.b64decode(live_models.as_base64(torch.tensor([1.0]))) == b"\x00\x3c"
    numbers = torch.tensor([[-127, 0], [5, 127]], dtype=torch.int8)  # as they are
    assert base64.b64decode(live_models.as_base64(numbers.T)) == bytes([0x81, 5, 0, 127])


def call(script: str) -> tuple[str, list]:
    """Take a script apart: the function it calls, and with what."""
    name, arguments = re.fullmatch(r"(\w+)\((.*)\);\n", script).groups()
    return name, json.loads(f"[{arguments}]")


@pytest.fixture(scope="module", params=["mean", "energy", "qkv"])
def written(request, tmp_path_factory):
    """A small model as the experiment writes it, and its folder: for reading only."""
    folder = tmp_path_factory.mktemp("written")
    return expected.write_small(request.param, folder), folder


def test_a_model_becomes_a_call(written):
    model, folder = written
    name, (config, tensors) = call(live_models.model_script(folder))
    assert name == "receiveModel"
    assert config == vars(model.config)
    classifier, table = model.classifier, tensors.pop("embedding")
    numbers = torch.tensor(list(base64.b64decode(table["int8"])), dtype=torch.uint8)
    again = numbers.view(torch.int8).double() * table["scale"]
    assert torch.equal(again, classifier.embedding.weight.flatten())
    wanted = {"w": classifier.classifier.weight, "b": classifier.classifier.bias}
    for name, weight in classifier.attention.named_parameters():
        wanted[name.removesuffix(".weight")] = weight.T
    assert set(tensors) == set(wanted)
    for name, weight in wanted.items():
        assert torch.equal(unpack(tensors[name]).double(), weight.flatten()), name


def test_the_model_that_writes_becomes_a_call():
    """Check the committed model, every number of it, and its vocabulary as the page rebuilds it."""
    name, (config, vocabulary, tensors) = call(live_models.writer_script(live_models.WRITER))
    assert name == "receiveWriter"
    model, tokenizer = load_language_model(live_models.WRITER)
    assert config == vars(model.config)
    tokens = ["<start>", *vocabulary["alphabet"]]
    for pair in vocabulary["merges"].split("\n"):
        if (token := pair.replace(" ", "")) not in tokens:
            tokens.append(token)
    assert {token: i for i, token in enumerate(tokens)} == tokenizer.get_vocab()
    state = model.state_dict()
    for full in list(state):
        name = full.removeprefix("encoder.").removeprefix("blocks.").removesuffix(".weight")
        state[name] = state.pop(full)
    assert {name.removesuffix(".scale") for name in tensors} == set(state)
    for name, weight in state.items():
        rows = np.frombuffer(base64.b64decode(tensors[name]), "i1" if weight.dim() == 2 else "<f4")
        numbers = torch.from_numpy(rows.astype(np.float32)).view(weight.shape)
        if weight.dim() == 2:
            scale = np.frombuffer(base64.b64decode(tensors[name + ".scale"]), "<f4").copy()
            numbers = numbers * torch.from_numpy(scale)[:, None]
        assert torch.equal(numbers, weight), name


def test_words_are_in_the_order_of_their_ids(tmp_path):
    tokenizer = expected.tokenizer()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    name, (words,) = call(live_models.words_script(tmp_path / "tokenizer.json"))
    assert name == "receiveWords"
    ids = tokenizer.get_vocab()
    assert [ids[word] for word in words.split(" ")] == list(range(len(ids)))


def test_a_build_writes_the_committed_models(tmp_path):
    (tmp_path / "_static").mkdir()
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(name="epub"))
    live_models.write_scripts(app, None)
    app.builder.name = "html"
    live_models.write_scripts(app, RuntimeError("a page failed"))
    assert list((tmp_path / "_static").iterdir()) == []
    live_models.write_scripts(app, None)
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "_static").iterdir()}
    names = ("words", "writer", *live_models.KINDS)
    assert set(sizes) == {f"lab-{name}.js" for name in names}
    assert sizes.pop("lab-writer.js") <= 500_000
    assert sum(sizes.values()) < 1_200_000
    _, (words,) = call((tmp_path / "_static" / "lab-words.js").read_text())
    for kind in live_models.KINDS:
        _, (config, _) = call((tmp_path / "_static" / f"lab-{kind}.js").read_text())
        assert config["kind"] == kind
        assert config["shift"] == len(words.split(" "))


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


@pytest.fixture
def prepare(site, monkeypatch):
    """Prepare a site with bundles of scripts, but without its models."""
    monkeypatch.setattr(live_models, "write_scripts", lambda *_: None)
    return lambda: site("Text.", "live_models")


def test_scripts_are_loaded_on_the_pages_that_use_them(prepare):
    app: SphinxTestApp = prepare()
    (app.srcdir / "other.rst").write_text(":orphan:\n\nOther\n=====\n")
    app.build()
    index = (app.outdir / "index.html").read_text()
    (found,) = re.findall(r'defer="defer" src="(_static/lab/[\w-]+\.js)', index)
    bundle = (app.outdir / found).read_text()
    places = [
        bundle.index((LAB / f"{name}.js").read_text()) for name in live_models.SCRIPTS["index"]
    ]
    assert places == sorted(places)
    assert "_static/lab/" not in (app.outdir / "other.html").read_text()


def test_an_edited_script_reaches_the_site_though_no_page_was_edited(
    prepare, monkeypatch, tmp_path
):
    for name in ("one", "two"):
        (tmp_path / f"{name}.js").write_text(f"old({name});")
    monkeypatch.setattr(live_models, "SOURCES", tmp_path)
    monkeypatch.setattr(live_models, "SCRIPTS", {"index": ["one", "two"], "elsewhere": ["one"]})

    def build() -> tuple[str, str]:
        _assets._file_checksum_inner.cache_clear()  # each build is a process of its own
        app = prepare()
        app.build()
        page = (app.outdir / "index.html").read_text()
        (address,) = re.findall(r'src="(_static/lab/[^"]+)"', page)
        return address, (app.outdir / address.partition("?")[0]).read_text()

    before = build()
    assert before[1] == "old(one);\nold(two);"
    (tmp_path / "two.js").write_text("new(two);")
    after = build()
    assert after[1] == "old(one);\nnew(two);"
    assert after[0] != before[0]  # else a browser shows what it has kept
    assert build() == after

import base64
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import live_models
import numpy as np
import pytest
import small_run
import torch
from safetensors.torch import load_file
from sphinx.testing.util import SphinxTestApp

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


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Train a model that the page can compute: for reading only."""
    out = tmp_path_factory.mktemp("trained") / "run"
    return small_run.train(out, "--epochs", "1", "--positions", "end")


def call(script: str) -> tuple[str, list]:
    """Take a script apart: the function it calls, and with what."""
    name, arguments = re.fullmatch(r"(\w+)\((.*)\);\n", script).groups()
    return name, json.loads(f"[{arguments}]")


def test_a_model_becomes_a_call(trained):
    name, (config, tensors) = call(live_models.model_script(trained))
    weights = load_file(trained / "model.safetensors")
    assert name == "receiveModel"
    assert {"kind": "energy", "embed_dim": 6, "max_length": 13}.items() <= config.items()
    rounded = {name: tensor.half().float().flatten() for name, tensor in weights.items()}
    assert torch.equal(unpack(tensors["energy"]), rounded["attention.energy.weight"])
    assert torch.equal(unpack(tensors["embedding"]), rounded["embedding.weight"])
    assert config["trained_words"] == len(weights["embedding.weight"]) - 3


def test_only_the_most_frequent_words_are_taken(trained, monkeypatch):
    monkeypatch.setattr(live_models, "WORDS", 5)
    name, (words,) = call(live_models.words_script(trained))
    assert name == "receiveWords"
    vocabulary = json.loads((trained / "tokenizer.json").read_text())["model"]["vocab"]
    assert [vocabulary[word] for word in words.split(" ")] == list(range(8))
    _, (_, tensors) = call(live_models.model_script(trained))
    assert len(unpack(tensors["embedding"])) == 8 * 6


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scale", False),
        ("positions", "start"),
        ("segments", True),
        ("keep", "head"),
    ],
)
def test_a_model_that_the_page_cannot_compute_is_refused(trained, tmp_path, name, value):
    run = shutil.copytree(trained, tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    config["model"][name] = value
    (run / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=rf"the page can't compute a model with .*'{name}'"):
        live_models.model_script(run)


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
def app(tmp_path, monkeypatch):
    """A build in which the gallery has executed the lesson that trains."""
    app = SimpleNamespace(
        srcdir=tmp_path / "docs",
        outdir=tmp_path / "docs/_build/html",
        builder=SimpleNamespace(format="html"),
    )
    new = tmp_path / "new"
    new.mkdir()
    (new / "model").write_text("first")
    stamp = live_models.executed(app)
    stamp.parent.mkdir(parents=True)
    stamp.touch()
    copytree = shutil.copytree
    monkeypatch.setattr(shutil, "copytree", lambda _, target: copytree(new, target))
    app.model = new / "model"
    return app


def test_models_are_kept_from_the_execution_that_trained_them(app):
    kept = live_models.kept_models(app) / "model"
    live_models.keep_models(app)
    assert kept.read_text() == "first"
    app.model.write_text("a reader's own")
    live_models.keep_models(app)
    assert kept.read_text() == "first"
    live_models.executed(app).unlink()
    live_models.executed(app).touch()
    live_models.keep_models(app)
    assert kept.read_text() == "a reader's own"


def test_a_lesson_that_was_not_executed_is_missed(app, logged_warnings):
    collected = logged_warnings(live_models)
    live_models.executed(app).unlink()
    live_models.keep_models(app)
    (message,) = collected
    assert message.startswith("live models: the gallery did not execute")


def test_a_lesson_whose_models_are_gone_is_executed_again(app):
    live_models.keep_models(app)
    live_models.ask_for_models(app, None)
    assert live_models.executed(app).exists()
    shutil.rmtree(live_models.kept_models(app))
    live_models.ask_for_models(app, None)
    assert not live_models.executed(app).exists()


def test_scripts_are_loaded_on_the_pages_that_use_them(site):
    app: SphinxTestApp = site("Text.")
    app.connect("html-page-context", live_models.add_scripts, priority=400)
    (app.srcdir / "other.rst").write_text(":orphan:\n\nOther\n=====\n")
    app.build()
    index = (app.outdir / "index.html").read_text()
    found = re.findall(r'defer="defer" src="_static/lab/([\w-]+)\.js', index)
    assert found == live_models.SCRIPTS["index"]
    assert "_static/lab/" not in (app.outdir / "other.html").read_text()

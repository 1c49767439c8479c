"""Run folders, tokenizers and texts from anywhere: refused at once, or harmless."""

import ast
import json
import os
import pickle
import resource
import sys
from pathlib import Path

import pytest
import torch
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refused
from run_files import edit_tensors, set_fields

import attention
from attention import SentimentClassifier
from attention.predict import main as predict_main
from attention.predict import standalone_page
from attention.sentiment.run_folder import CHECKPOINT, load_run
from attention.train import main as train_main

PACKAGE = Path(attention.__file__).parent
CPU = torch.device("cpu")

SIZES = [
    ({"vocab_size": 10**12}, r"embedding.weight as \(\d+, 6\) float32.*\(1000000000000, 6\)"),
    ({"embed_dim": 10**9}, r"embedding.weight as \(\d+, 6\) float32.*1000000000\)"),
    ({"vocab_size": 10**15, "embed_dim": 10**15}, "RuntimeError: "),
    ({"bigram_buckets": 10**12}, "lacks bigrams.table.weight"),
    ({"attention": "keys", "key_dim": 10**12}, "lacks attention"),
    ({"max_length": 10**12}, "max_length: expected 1 to"),
    (
        {"attention": "transformer", "num_layers": 10**8},
        "num_layers: expected a number less than or equal to 1000",
    ),
]
TYPES = [
    ({"vocab_size": "25"}, 'vocab_size: expected an integer, got "25"'),
    ({"embed_dim": 6.0}, "embed_dim: expected .*integer, got 6.0"),
    ({"embed_dim": True}, "embed_dim: expected .*integer, got true"),
    ({"mask_padding": 0}, "mask_padding: expected .*boolean, got 0"),
    ({"attention": "../../energy"}, "attention: expected 'mean'"),
    ({"dropout": float("nan")}, "dropout: expected .*, got (NaN|nan)"),
    ({"__class__": "os.system"}, "__class__: expected an option"),
    ({"trust_remote_code": True}, "trust_remote_code: expected an option"),
]


def restoring_config(run, action):
    """Put the run's own configuration back after each case."""
    good = (run / "config.json").read_text()

    def restored(*arguments):
        try:
            action(*arguments)
        finally:
            (run / "config.json").write_text(good)

    return restored


def test_a_hostile_configuration_is_refused_before_memory_is_taken(run):
    def load(loader, fields):
        set_fields(run, "model", **fields)
        loader(run)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loaders = SentimentClassifier.from_pretrained, lambda run: load_run(run, CPU)
    cases = [(loader, *case) for loader in loaders for case in SIZES + TYPES]
    check_refused(restoring_config(run, load), cases)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000 * (1000 if sys.platform == "darwin" else 1)  # KB, on a Mac bytes


LARGE = [{"embed_dim": 10**9}, {"bigram_buckets": 10**10}]


def resume(run):
    def resume_with(part, fields):
        set_fields(run, part, **fields)
        train_main(["--resume", str(run)])

    return restoring_config(run, resume_with)


def test_a_hostile_configuration_is_not_resumed(run):
    (run / "summary.json").unlink()
    cases = [
        *[("model", fields, "can't be made: training it takes .* GB") for fields in LARGE],
        ("model", {"embed_dim": 7}, "with another embed_dim"),
        ("model", {"embed_dim": "6"}, 'embed_dim: expected .*integer, got "6"'),
        ("model", {"keep": "../.."}, 'keep: expected .*, got "../.."'),
        ("train", {"lr": float("inf")}, "lr: expected .*, got (Infinity|inf)"),
        ("train", {"data": ["reviews"]}, "data: expected an instance of str"),
        ("train", {"hook": "os.system"}, "hook: expected an option of TrainConfig"),
    ]
    check_refused(resume(run), cases)


def test_a_hostile_configuration_is_not_begun_with_either(run):
    (run / "summary.json").unlink()
    (run / CHECKPOINT).unlink()
    expected = r"can't be made: training it takes .* GB of memory"
    check_refused(resume(run), [("model", fields, expected) for fields in LARGE])


def test_weights_that_are_not_the_configuration_s_are_named(run):
    path = run / "model.safetensors"
    good = path.read_bytes()

    def load(change):
        path.write_bytes(good)
        edit_tensors(path, change)
        SentimentClassifier.from_pretrained(run)

    bias = "classifier.bias"
    cases = [
        (lambda t: t.update({bias: torch.ones(2)}), r"\(2,\) float32.*requires \(1,\) float32"),
        (lambda t: t.update({bias: torch.ones(1).half()}), r"\(1,\) float16"),
        (lambda t: t.update({"more": torch.ones(1)}), "holds more, which the configuration"),
        (lambda t: t.pop(bias), "lacks classifier.bias"),
        (lambda t: t[bias].fill_(torch.nan), "not finite"),
        (lambda t: t["embedding.weight"].view(-1)[7:8].fill_(-torch.inf), "not finite"),
    ]
    check_refused(load, cases)


def test_a_header_that_claims_more_than_the_file_holds(run):
    entry = {"dtype": "F32", "shape": [10**12, 6], "data_offsets": [0, 24 * 10**12]}
    header = json.dumps({"embedding.weight": entry}).encode()
    set_fields(run, "model", vocab_size=10**12)
    for length in (len(header), 2**63):
        (run / "model.safetensors").write_bytes(length.to_bytes(8, "little") + header)
        with pytest.raises(ValueError, match="that can be read: SafetensorError"):
            load_run(run, CPU)


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_a_pickle_in_place_of_weights_is_not_executed(run, monkeypatch):
    monkeypatch.chdir(run)
    for name in ("model.safetensors", CHECKPOINT, "tokenizer.json", "config.json"):
        good = (run / name).read_bytes()
        for save in (pickle.dumps, lambda trap: (torch.save(trap, "p"), Path("p").read_bytes())[1]):
            (run / name).write_bytes(save(Trap()))
            if name == CHECKPOINT:
                summary = (run / "summary.json").read_bytes()
                (run / "summary.json").unlink()
                with pytest.raises(ValueError, match="not a checkpoint that can be read"):
                    train_main(["--resume", str(run)])
                (run / "summary.json").write_bytes(summary)
            else:
                with pytest.raises(ValueError, match=r"that can be read: |configuration"):
                    load_run(run, CPU)
        (run / name).write_bytes(good)
    assert not (run / "sprung").exists()


def test_nothing_in_the_package_can_load_a_pickle_or_run_a_text():
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    calls = {"eval", "exec", "compile", "__import__", "system", "popen"}
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        evaluates = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not forbidden & {name.split(".")[0] for name in names}, path
            if isinstance(node, ast.Attribute) and node.attr == "load":
                raise AssertionError(f"{path}: {ast.unparse(node)}")
            if isinstance(node, ast.Call):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                evaluates |= calls & {name}
        assert not evaluates, (path, evaluates)


def test_a_link_beside_a_page_is_not_followed(run, tmp_path, capsys):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "page.html.part").symlink_to(precious)
    assert predict_main([str(run), "good", "--html", str(tmp_path / "page.html")]) == 0
    assert precious.read_text() == "precious"


ALLOWED = {"html", "meta", "title", "style", "h1", "figure", "figcaption", "p", "span"}
nasty = st.text(
    st.sampled_from("<>&\"'/=;- \n\0abonscriptjv:\u2028\u202e\ud800"), max_size=30
) | st.sampled_from(
    ["</title><script>", "<img src=x onerror=alert(1)>", "&lt;", "--><svg/onload=1>"]
)


@settings(max_examples=1_000)
@given(tokens=st.lists(nasty, max_size=5), label=nasty)
def test_the_page_of_predictions_escapes_everything(tokens, label):
    weights = [1 / max(len(tokens), 1)] * len(tokens)
    page = standalone_page(
        [{"label": label, "probability": 0.5, "tokens": tokens, "weights": weights}]
    )
    assert ", 50.0%" in page
    parsed = BeautifulSoup(page, "html.parser").find_all(True)
    tags = [tag.name for tag in parsed]
    assert set(tags) <= ALLOWED
    assert tags.count("span") == len(tokens)
    assert tags.count("figure") == tags.count("h1") == 1
    names = {"lang", "charset", "name", "content", "class", "title", "style"}
    assert {name for tag in parsed for name in tag.attrs} <= names

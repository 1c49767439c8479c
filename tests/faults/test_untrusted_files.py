"""Run folders, tokenizers and texts from anywhere: refused at once, or harmless."""

import ast
import json
import os
import pickle
import resource
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from attention import SentimentClassifier, predict, runs, train

PACKAGE = Path(runs.__file__).parent
CPU = torch.device("cpu")


def edit(run, part, **fields):
    path = run / "config.json"
    content = json.loads(path.read_text())
    content[part].update(fields)
    path.write_text(json.dumps(content))


def rewrite(path, change):
    with runs.safe_open(path, "pt") as file:
        about = file.metadata()
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, about)


SIZES = [
    ({"vocab_size": 10**12}, r"embedding.weight as \(\d+, 6\) F32.*\(1000000000000, 6\)"),
    (
        {"vocab_size": 10**8},
        r"embedding.weight as \(\d+, 6\) F32.*\(100000000, 6\)",
    ),  # it would fit
    ({"embed_dim": 10**9}, r"embedding.weight as \(\d+, 6\) F32.*1000000000\)"),
    ({"vocab_size": 10**15, "embed_dim": 10**15}, "no model has these sizes"),
    ({"bigram_buckets": 10**12}, "lacks bigrams.table.weight"),
    ({"attention": "keys", "key_dim": 10**12}, "lacks attention"),
    ({"max_length": 10**12}, "max_length: expected 1 to"),
    ({"vocab_size": 0}, "vocab_size: expected at least 1"),
    ({"embed_dim": -6}, "embed_dim: expected at least 1"),
]
TYPES = [
    ({"embed_dim": "6"}, 'embed_dim: expected int, got "6"'),
    ({"embed_dim": 6.0}, "embed_dim: expected int, got 6.0"),
    ({"embed_dim": True}, "embed_dim: expected int, got true"),
    ({"scale": "no"}, 'scale: expected bool, got "no"'),
    ({"mask_padding": 0}, "mask_padding: expected bool, got 0"),
    ({"attention": ["energy"]}, "attention: expected str"),
    ({"attention": "../../energy"}, "attention: expected one of mean"),
    ({"dropout": float("nan")}, "dropout: expected .*, got NaN"),
    ({"max_length": None}, "max_length: expected int, got null"),
    ({"__class__": "os.system"}, "it has __class__"),
    ({"trust_remote_code": True}, "it has trust_remote_code"),
]


@pytest.mark.parametrize(("fields", "said"), SIZES + TYPES)
def test_a_hostile_configuration_is_refused_before_memory_is_taken(fields, said, run):
    edit(run, "model", **fields)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises((ValueError, TypeError), match=said):
        SentimentClassifier.from_pretrained(run)
    with pytest.raises(runs.RunError) as refused:
        runs.load_run(run, CPU)
    assert "\n" not in str(refused.value)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 50_000 * (1000 if sys.platform == "darwin" else 1)  # KB, on a Mac bytes


LARGE = [
    {"embed_dim": 10**9},
    {"bigram_buckets": 10**10},
    {"max_length": 10**12, "positions": "end"},
]


@pytest.mark.parametrize(
    ("fields", "said"),
    [(fields, f"with another .*{min(fields)}") for fields in LARGE]
    + [
        ({"embed_dim": "6"}, 'embed_dim: expected int, got "6"'),
        ({"bias": "no"}, 'bias: expected bool, got "no"'),
        ({"keep": "../.."}, 'keep: expected .*, got "../.."'),
        ({"lr": float("inf")}, "lr: expected float or int, got Infinity"),
        ({"data": ["reviews"]}, "data: expected str"),
        ({"hook": "os.system"}, "another version of this package; it differs in hook"),
    ],
)
def test_a_hostile_configuration_is_not_gone_on_with(fields, said, run):
    (run / "summary.json").unlink()
    edit(run, "train", **fields)
    with pytest.raises(runs.RunError, match=said):
        train.main(["--resume", str(run)])


@pytest.mark.parametrize("fields", LARGE)
def test_a_hostile_configuration_is_not_begun_with_either(fields, run):
    (run / "summary.json").unlink()
    (run / runs.CHECKPOINT).unlink()
    edit(run, "train", **fields)
    with pytest.raises(ValueError, match=r"can't be made: training it takes .* GB of memory"):
        train.main(["--resume", str(run)])


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "null", "7", '{"model": 7, "train": []}', '"\\ud800"']
)
def test_json_that_is_no_configuration(text, run):
    (run / "config.json").write_text(text)
    with pytest.raises(runs.RunError, match="configuration"):
        runs.load_run(run, CPU)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t: t.update({"classifier.bias": torch.ones(2)}),
            r"\(2,\) F32.*asks for \(1,\) F32",
        ),
        (lambda t: t.update({"classifier.bias": torch.ones(1).half()}), r"\(1,\) F16"),
        (lambda t: t.update({"more": torch.ones(1)}), "holds more, which the configuration"),
        (lambda t: t.pop("classifier.bias"), "lacks classifier.bias"),
        (lambda t: t["classifier.bias"].fill_(torch.nan), "not finite"),
        (lambda t: t["embedding.weight"].view(-1)[7:8].fill_(-torch.inf), "not finite"),
    ],
)
def test_weights_that_are_not_the_configuration_s_are_named(change, said, run):
    rewrite(run / "model.safetensors", change)
    with pytest.raises(ValueError, match=said):
        SentimentClassifier.from_pretrained(run)


def test_a_header_that_promises_more_than_the_file_holds(run):
    header = json.dumps(
        {
            "embedding.weight": {
                "dtype": "F32",
                "shape": [10**12, 6],
                "data_offsets": [0, 24 * 10**12],
            }
        }
    ).encode()
    (run / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    edit(run, "model", vocab_size=10**12)
    with pytest.raises(runs.RunError, match="can't be read"):
        runs.load_run(run, CPU)
    (run / "model.safetensors").write_bytes((2**63).to_bytes(8, "little") + header)
    with pytest.raises(runs.RunError, match="can't be read"):
        runs.load_run(run, CPU)


class Trap:
    def __reduce__(self):
        return os.mkdir, ("sprung",)


def test_a_pickle_in_place_of_weights_is_not_executed(run, monkeypatch):
    monkeypatch.chdir(run)
    for name in (
        "model.safetensors",
        "checkpoint/state.safetensors",
        "tokenizer.json",
        "config.json",
    ):
        good = (run / name).read_bytes()
        for save in (pickle.dumps, lambda trap: (torch.save(trap, "p"), Path("p").read_bytes())[1]):
            (run / name).write_bytes(save(Trap()))
            if name.startswith("checkpoint"):
                with pytest.raises(runs.RunError):
                    runs._read_about(run / name)
            else:
                with pytest.raises(runs.RunError):
                    runs.load_run(run, CPU)
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


@pytest.mark.parametrize("name", ["curves.svg.part", "metrics.jsonl.part", "checkpoint", ".lock"])
def test_a_link_in_a_run_folder_leads_nothing_astray(name, run, tmp_path):
    (run / "summary.json").unlink()
    elsewhere = tmp_path / "elsewhere"
    if name == "checkpoint":
        shutil.move(run / name, elsewhere)
    else:
        elsewhere.write_text("precious")
        (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(elsewhere)
    with pytest.raises(runs.RunError, match=f"{name}: is a link"):
        train.main(["--resume", str(run)])
    assert elsewhere.is_dir() or elsewhere.read_text() == "precious"


def test_a_link_beside_a_page_is_not_followed(run, tmp_path, capsys):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "page.html.part").symlink_to(precious)
    assert predict.main([str(run), "good", "--html", str(tmp_path / "page.html")]) == 0
    assert precious.read_text() == "precious"


def tokenizer(run):
    return json.loads((run / "tokenizer.json").read_text())


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t["model"]["vocab"].update(good=10**9),
        lambda t: t["model"]["vocab"].update(good=0),
        lambda t: t.update(normalizer=None),
        lambda t: t["pre_tokenizer"]["pattern"].update(Regex="(a+)+$"),
        lambda t: t["model"].update(type="BPE", merges=[]),
    ],
)
def test_another_tokenizer_is_refused(change, run):
    content = tokenizer(run)
    change(content)
    (run / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(runs.RunError, match=r"can't be read|different runs"):
        runs.load_run(run, CPU)


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes


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
    page = predict.standalone_page(
        [{"label": label, "probability": 0.5, "tokens": tokens, "weights": weights}]
    )
    found = Tags(page)
    assert set(found.tags) <= ALLOWED
    assert found.tags.count("span") == len(tokens)
    assert found.tags.count("figure") == found.tags.count("h1") == 1
    assert {name for name, _ in found.attributes} <= {
        "lang", "charset", "name", "content", "class", "title", "style",
    }  # fmt: skip


def test_a_hostile_review_on_the_command_line(run, tmp_path):
    page = tmp_path / "page.html"
    line = [
        sys.executable,
        "-m",
        "attention.predict",
        str(run),
        "<script>alert(1)</script> \033[2J",
    ]
    done = subprocess.run([*line, "--html", str(page)], capture_output=True, text=True, check=True)
    assert set(Tags(page.read_text()).tags) <= ALLOWED  # <unk> is a word, and no tag either
    assert "\033" not in done.stdout

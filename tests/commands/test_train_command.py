"""The options of training: presets, defaults, what is refused before anything is written."""

import subprocess
import sys
from pathlib import Path

import pytest
import version_0_1_0
from refusals import check_refused

from attention.layers.variants import VARIANTS
from attention.sentiment.config import PRESETS
from attention.sentiment.run_folder import RunError
from attention.train import configure, main

# Another value for each option, as it is written on the command line.
OTHER_VALUES = {
    "data": "imdb",
    "model": "multihead",
    "epochs": 3,
    "batch_size": 7,
    "lr": 0.5,
    "seed": 7,
    "device": "cpu",
    "limit": 9,
    "embed_dim": 24,
    "key_dim": 5,
    "value_dim": 7,
    "num_heads": 8,
    "bigram_buckets": 11,
    "embedding_std": 0.5,
    "dropout": 0.1,
    "word_dropout": 0.4,
    "max_length": 13,
    "position_base": 50.0,
    "min_frequency": 3,
}
CHOICES = {
    "schedule": ("linear", "constant"),
    "keep": ("tail", "head"),
    "positions": ("end", "start", "none"),
}


def spell(name, value):
    option = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [option if value else option.replace("--", "--no-", 1)]
    return [option, str(value)]


@pytest.mark.parametrize("preset", version_0_1_0.OPTIONS)
def test_every_option_of_version_0_1_0_has_its_default(preset):
    options = configure(["--preset", preset, "--out", "new"]).options()
    expected = version_0_1_0.OPTIONS[preset]
    assert {name: options[name] for name in expected if name != "out"} == {
        name: value for name, value in expected.items() if name != "out"
    }
    assert PRESETS[preset].out is None


@pytest.mark.parametrize("preset", version_0_1_0.OPTIONS)
def test_every_option_counts_over_its_preset_and_changes_no_other(preset):
    expected = version_0_1_0.OPTIONS[preset]
    failures = []
    for name, default in expected.items():
        if name in CHOICES:
            value = next(each for each in CHOICES[name] if each != default)
        elif isinstance(default, bool):
            value = not default
        elif name == "out":
            continue
        else:
            value = OTHER_VALUES[name]
        line = ["--preset", preset, "--out", "new", *spell(name, value)]
        changed = {name: value}
        if (name, value) == ("segments", True):  # the one option that needs another
            line += ["--separator"]
            changed["separator"] = True
        if (name, value) == ("separator", False) and default:
            line += ["--no-segments"]
            changed["segments"] = False
        options = configure(line).options()
        if {k: options[k] for k in expected} != expected | changed | {"out": options["out"]}:
            failures.append((name, options))
    assert not failures


def test_help_lists_every_option():
    line = [sys.executable, "-m", "attention.train", "--help"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    words = set(done.stdout.replace(",", " ").split())
    options = version_0_1_0.OPTIONS["default"]
    names = {"preset", "resume", *options, "num_kv_heads", "num_layers"}
    names |= {"fine_tune", "warmup", "precision"}
    assert not {spell(name, "")[0] for name in names} - words
    switches = [k for k, value in options.items() if isinstance(value, bool)]
    assert not {spell(name, False)[0] for name in switches} - words
    for preset in PRESETS:
        assert preset in done.stdout
    assert f"{{{','.join(VARIANTS)},minilm}}" in done.stdout
    assert "--dtype" not in done.stdout


def test_options_stand_over_the_preset():
    config = configure(["--preset", "lab13", "--model", "qk", "--lr", "0.5", "--out", "new"])
    assert config.model.attention == "qk"
    assert (config.lr, config.model.keep, config.model.mask_padding) == (0.5, "head", False)
    assert configure(["--lr", "0.5", "--out", "new", "--preset", "lab13"]).lr == 0.5
    assert configure(["--out", "new"]).data == "yelp"
    assert configure(["--data", "here", "--out", "new"]).data == "here"
    grouped = configure(["--out", "new", "--model", "gqa", "--num-kv-heads", "2"]).model
    assert (grouped.attention, grouped.num_kv_heads) == ("gqa", 2)


def test_a_pretrained_model_brings_its_own_preset():
    for line, preset in (
        (["--model", "minilm"], "minilm"),
        (["--model", "minilm", "--fine-tune"], "minilm-fine-tuned"),
        (["--fine-tune", "--model=minilm"], "minilm-fine-tuned"),
        (["--model", "qkv"], "default"),
    ):
        expected = PRESETS[preset].options() | {"out": Path("new")}
        if preset == "default":
            expected |= {"model": "qkv"}
        assert configure(["--out", "new", *line]).options() == expected
    given = configure(["--out", "new", "--model", "minilm", "--preset", "lab13", "--epochs", "2"])
    assert (given.model.attention, given.batch_size, given.epochs) == ("minilm", 1_024, 2)


def test_a_bad_line_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [
        ([], "^--out: expected a folder"),
        (
            ["--preset", "lab14", "--out", "x"],
            "^--preset: expected one of auto, default, minilm, .*, got lab14",
        ),
        (["--out", "x", "--epochs", "0"], "^--epochs: expected at least 1, got 0"),
        (["--out", "x", "--max-length", "0"], "^--max-length: expected at least 1, got 0"),
        (["--out", "x", "--epochs", "many"], "^--epochs: .*'many'"),
        (["--out", "x", "--lr", "nan"], "^--lr: expected a number above 0, got nan"),
        (["--out", "x", "--limit", "1"], "^--limit: expected at least 2, .*got 1"),
        (["--out", "x", "--seed", "-1"], "^--seed: expected 0 to .*, got -1"),
        (["--out", "x", "--model", "bert"], "^--model: expected one of mean, .*, got bert"),
        (["--out", "x", "--keep", "middle"], "^--keep: expected one of tail, head, got middle"),
        (["--out", "x", "--lr"], "^--lr: expected a value, got none"),
        (["--out", "x", "--learning-rate", "1"], "got --learning-rate 1"),
        (["--out", "x", "--dtype", "float64"], "got --dtype float64"),
        (["--out", "x", "stray"], "got stray"),
        (
            ["--out", "x", "--model", "multihead", "--num-heads", "5"],
            "^--num-heads: expected a divisor of --embed-dim = 32, got 5",
        ),
        (["--out", "x", "--fine-tune"], "^--fine-tune: expected the model minilm with it, got en"),
        (["--out", "x", "--model", "minilm", "--max-length", "600"], "^--max-length: .* 510 with"),
        (["--out", "x", "--no-separator"], "^--segments: expected a separator with it"),
        (["--resume", "x"], "^x: holds no run"),
        (["--resume"], "^--resume: expected a value, got none"),
        (["--resume", "x", "--lr", "1"], "^--resume: expected no other options, got --lr 1$"),
        (["--lr", "1", "--resume", "x"], "^--resume: expected no other options, got --lr 1$"),
        (["--resume", "x", "--model", "minilm"], "^--resume: .*, got --model minilm$"),
        (["--resume", "x", "--preset", "lab13"], "^--resume: .*, got --preset lab13$"),
    ]
    check_refused(main, cases)
    assert not list(tmp_path.iterdir())


def test_a_finished_run_is_refused(finished):
    cases = [
        (["--out", str(finished)], "holds a finished run"),
        (["--resume", str(finished)], "holds a finished run"),
    ]
    check_refused(main, cases, RunError)

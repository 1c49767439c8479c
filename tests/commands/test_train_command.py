"""The options of training: presets, defaults, what is refused before anything is written."""

import subprocess
import sys
from pathlib import Path

import pytest

from attention.layers.variants import VARIANTS
from attention.sentiment.config import MINILM, PRESETS, ModelConfig, models_reading
from attention.train import configure

# Another value for each option, as it is written on the command line.
OTHER_VALUES = {
    "data": "imdb",
    "epochs": 3,
    "batch_size": 7,
    "lr": 0.5,
    "warmup": 0.25,
    "seed": 7,
    "device": "cpu",
    "precision": "float32",
    "limit": 9,
    "embed_dim": 24,
    "key_dim": 5,
    "value_dim": 7,
    "num_heads": 2,
    "num_kv_heads": 1,
    "latent_dim": 3,
    "window": 5,
    "num_layers": 3,
    "scale": 0.5,
    "bigram_buckets": 11,
    "embedding_std": 0.5,
    "dropout": 0.15,
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


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("model", [None, *VARIANTS, MINILM])
def test_every_option_counts_over_its_preset_and_changes_no_other(preset, model):
    start = ["--preset", preset, "--out", "new", *(["--model", model] if model else [])]
    expected = configure(start).options()
    for name, default in expected.items():
        if name in CHOICES:
            value = next(each for each in CHOICES[name] if each != default)
        elif isinstance(default, bool):
            value = not default
        elif name in ("out", "model", "dtype"):
            continue
        else:
            value = OTHER_VALUES[name]
        changed, left_out = {name: value}, set()  # what an option brings, and takes, with it
        if name == "positions":
            changed |= {} if default != "none" else {"position_base": 1_000.0}
            left_out = {"position_base"} if value == "none" else set()
        if name == "separator":
            changed |= {"segments": False} if value and expected["model"] != MINILM else {}
            left_out = set() if value else {"segments"}
        options = configure([*start, *spell(name, value)]).options()
        assert options == {k: v for k, v in (expected | changed).items() if k not in left_out}
    assert PRESETS[preset].out is None


def test_an_option_that_the_model_does_not_read_is_refused_in_one_line():
    for model in (*VARIANTS, MINILM):
        for name in ModelConfig.model_fields.keys() - {"attention", "dtype"}:
            models = models_reading(name)
            if model in models:
                continue
            value = OTHER_VALUES.get(name, (*CHOICES.get(name, (True,)),)[0])
            expected = f"^--{name.replace('_', '-')}: expected .*{models[-1]}.*, got {model}$"
            line = ["--out", "new", "--model", model, *spell(name, value)]
            with pytest.raises(ValueError, match=expected):
                configure(line)


def test_help_lists_every_option():
    line = [sys.executable, "-m", "attention.train", "--help"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    words = set(done.stdout.replace(",", " ").split())
    names = {"preset", "resume", "schedule", "keep", "positions", "rotary", "fine_tune", "segments"}
    assert not {spell(name, "")[0] for name in names | OTHER_VALUES.keys()} - words
    assert {"--no-rotary", "--no-mask-padding", "--no-clean-text"} <= words
    for preset in PRESETS:
        assert preset in done.stdout
    assert f"[{'|'.join(VARIANTS)}|minilm]" in done.stdout
    assert "Read by multihead, transformer." in " ".join(done.stdout.split())
    assert "--dtype" not in done.stdout


def test_options_stand_over_the_preset():
    config = configure(["--preset", "lab13", "--model", "qk", "--lr", "0.5", "--out", "new"])
    assert config.model.attention == "qk"
    assert (config.lr, config.model.keep, config.model.mask_padding) == (0.5, "head", False)
    assert configure(["--lr", "0.5", "--out", "new", "--preset", "lab13"]).lr == 0.5
    assert configure(["--out", "new"]).data == "yelp"
    assert configure(["--data", "here", "--out", "new"]).data == "here"
    grouped = configure(["--out", "new", "--model", "multihead", "--num-kv-heads", "2"])
    assert grouped.model.num_kv_heads == 2


def test_a_pretrained_model_brings_its_own_preset():
    for line, preset in (
        (["--model", "minilm"], "minilm"),
        (["--model", "minilm", "--fine-tune"], "minilm-fine-tuned"),
        (["--fine-tune", "--model=minilm"], "minilm-fine-tuned"),
        (["--model", "qkv"], "default"),
    ):
        expected = PRESETS[preset].options() | {"out": Path("new")}
        if preset == "default":
            expected = PRESETS[preset].with_options(model="qkv").options() | {"out": Path("new")}
        assert configure(["--out", "new", *line]).options() == expected
    given = configure(["--out", "new", "--model", "minilm", "--preset", "lab13", "--epochs", "2"])
    assert (given.model.attention, given.batch_size, given.epochs) == ("minilm", 1_024, 2)

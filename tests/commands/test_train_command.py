"""The options of training: presets, defaults, what is refused before anything is written."""

from pathlib import Path

import pytest
from other_values import OF_MODEL, OF_RUN

from attention.layers.variants import VARIANTS
from attention.sentiment.config import MINILM, PRESETS
from attention.train import configure

OTHER_VALUES = OF_MODEL | OF_RUN
CHOICES = {
    "schedule": ("linear", "constant"),
    "keep": ("tail", "head"),
    "positions": ("end", "start", "none"),
    "optimizer": ("adam", "lazy-adam"),
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
        elif name in ("out", "model", "dtype", "labels"):
            continue
        else:
            value = OTHER_VALUES[name]
        changed, left_out = {name: value}, set()  # what an option brings, and takes, with it
        if name == "positions":
            changed |= {} if default != "none" else {"position_base": 1_000.0}
            left_out = {"position_base"} if value == "none" else set()
        if name == "fine_tune":
            changed |= {"optimizer": PRESETS[preset].optimizer} if value else {}
            left_out = set() if value else {"optimizer"}
        if name == "separator":
            changed |= {"segments": False} if value and expected["model"] != MINILM else {}
            left_out = set() if value else {"segments"}
        options = configure([*start, *spell(name, value)]).options()
        assert options == {k: v for k, v in (expected | changed).items() if k not in left_out}
    assert PRESETS[preset].out is None


def test_help_lists_every_option(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    with pytest.raises(SystemExit, match="0"):
        configure(["--help"])
    printed, errors = capsys.readouterr()
    assert errors == ""
    words = set(printed.replace(",", " ").split())
    names = {"preset", "resume", "schedule", "keep", "positions", "rotary", "fine_tune", "segments"}
    assert not {spell(name, "")[0] for name in names | OTHER_VALUES.keys()} - words
    assert {"--no-rotary", "--no-mask-padding", "--no-clean-text"} <= words
    for preset in PRESETS:
        assert preset in printed
    assert f"[{'|'.join(VARIANTS)}|minilm]" in printed
    assert "Read by multihead, transformer." in " ".join(printed.split())
    assert "--dtype" not in printed


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

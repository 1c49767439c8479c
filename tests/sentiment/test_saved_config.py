"""What is read from config.json: strictly, in one line, and from older versions too."""

import dataclasses
import json
import shutil

import pytest
import small_run
import torch
from refusals import check_refused
from run_files import edit_json, make_unfinished, make_version_0_1_0, set_fields
from safetensors.torch import load_file

from attention import SentimentClassifier
from attention.evaluate import main as evaluate_main
from attention.predict import main as predict_main
from attention.predict import predict
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.run_folder import RunError, load_run, read_config
from attention.sentiment.saved_config import config_json, read_model_config, validated
from attention.train import main as train_main

CPU = torch.device("cpu")
# Nothing here is what a version may have left out, or what a default would give.
CHANGED = ModelConfig(
    embed_dim=10,
    attention="qkv",
    key_dim=5,
    value_dim=7,
    num_heads=2,
    num_kv_heads=1,
    latent_dim=3,
    rotary=True,
    window=5,
    num_layers=3,
    bias=True,
    scale=False,
    bigram_buckets=11,
    positions="start",
    position_base=50.0,
    max_length=13,
    keep="head",
    mask_padding=False,
    separator=False,
    embedding_std=0.5,
    dropout=0.1,
    word_dropout=0.2,
    dtype="float64",
)


def test_every_field_comes_back(tmp_path):
    unchanged = ModelConfig()
    assert not [
        field.name
        for field in dataclasses.fields(ModelConfig)
        if field.name not in ("segments", "fine_tune")  # need a separator, need minilm
        and getattr(CHANGED, field.name) == getattr(unchanged, field.name)
    ]
    SentimentClassifier(23, CHANGED).save_pretrained(tmp_path)
    assert read_model_config(tmp_path) == (23, CHANGED)
    for model in (
        CHANGED,
        ModelConfig(segments=True),
        ModelConfig(attention="minilm", fine_tune=True),
    ):
        config = TrainConfig(
            model=model,
            data="imdb",
            out=tmp_path,
            epochs=2,
            batch_size=3,
            lr=0.5,
            seed=7,
            schedule="constant",
            device="cpu",
            limit=8,
            distractors=False,
            clean_text=False,
            min_frequency=3,
            lab_sample=True,
            warmup=0.5,
            precision="float32",
        )
        text = json.loads(json.dumps(config_json(config)))
        assert validated(TrainConfig, {**text["train"], "model": text["model"]}) == config


def test_wrong_fields_are_refused_by_name():
    of_model = [
        ({"embed_dim": "6"}, '^embed_dim: expected .*integer, got "6"$'),
        ({"embed_dim": 6.0}, "^embed_dim: expected .*integer, got 6.0$"),
        ({"embed_dim": True}, "^embed_dim: expected .*integer, got true$"),
        ({"embed_dim": None}, "^embed_dim: expected .*integer, got null$"),
        ({"embed_dim": 0}, "^embed_dim: expected at least 1, got 0$"),
        ({"scale": "no"}, '^scale: expected .*boolean, got "no"$'),
        ({"mask_padding": 0}, "^mask_padding: expected .*boolean, got 0$"),
        ({"attention": ["energy"]}, "^attention: expected 'mean', .*'multihead'"),
        ({"attention": "bert"}, "^attention: expected 'mean', .*, got \"bert\"$"),
        ({"keep": "middle"}, "^keep: expected 'tail' or 'head', got \"middle\"$"),
        ({"dropout": "half"}, '^dropout: expected .*number, got "half"$'),
        ({"dropout": 1.5}, "^dropout: expected 0 or more and less than 1, got 1.5$"),
        ({"temperature": 2}, "another version of this package wrote it; it has temperature$"),
    ]
    of_run = [
        ({"epochs": "many"}, '^epochs: expected .*integer, got "many"$'),
        ({"epochs": 0}, "^epochs: expected at least 1, got 0$"),
        ({"lr": None}, "^lr: expected .*number, got null$"),
        ({"data": ["reviews"]}, "^data: expected .*string, got "),
        ({"schedule": "cosine"}, "^schedule: expected 'linear' or 'constant', got \"cosine\"$"),
        ({"limit": 1}, "^limit: expected at least 2"),
        ({"model": 7}, "^model: expected "),
        ({"model": {"max_length": 0}}, "^max_length: expected at least 1, got 0$"),
        ({"model": {"max_length": "9"}}, '^model.max_length: expected .*integer, got "9"$'),
        ({"momentum": 3}, "another version of this package wrote it; it has momentum$"),
    ]
    check_refused(lambda fields: validated(ModelConfig, fields), of_model)
    check_refused(lambda fields: validated(TrainConfig, fields), of_run)


def test_a_wrong_field_of_a_run_is_refused_by_name(run):
    good = (run / "config.json").read_text()

    def load(part, fields):
        (run / "config.json").write_text(good)
        set_fields(run, part, **fields)
        load_run(run, CPU)

    cases = [
        ("train", {"temperature": 2}, "another version.*temperature"),
        ("train", {"epochs": 0}, "epochs: expected at least 1"),
        ("train", {"epochs": "many"}, "epochs: expected"),
        ("model", {"keep": "middle"}, "keep: expected 'tail' or 'head', got .middle."),
        ("model", {"vocab_size": "many"}, 'vocab_size: expected an integer, got "many"'),
    ]
    check_refused(load, cases, RunError)


@pytest.fixture(scope="module")
def reading_the_head(tmp_path_factory):
    """A finished run that differs from the defaults in what it reads."""
    out = tmp_path_factory.mktemp("saved_config") / "run"
    return small_run.train(out, "--epochs", "1", "--keep", "head", "--no-separator")


@pytest.fixture
def old_run(reading_the_head, tmp_path):
    """The same run as version 0.1.0 wrote it."""
    run = shutil.copytree(reading_the_head, tmp_path / "old")
    make_version_0_1_0(run)
    return run


def test_a_finished_run_of_version_0_1_0_is_read(old_run, reading_the_head, capsys):
    saved = json.loads((old_run / "config.json").read_text())
    assert not {"keep", "separator", "dtype"} & saved["model"].keys()  # they stood elsewhere
    model, tokenizer, config = load_run(old_run, CPU)
    assert (model.config.keep, model.config.separator) == ("head", False)
    now, _, config_now = load_run(reading_the_head, CPU)
    assert (model.config, config) == (now.config, config_now)
    # From python, for a text whose head and tail differ.
    text = "good soup " * 6 + "again and bad"
    prediction = predict(SentimentClassifier.from_pretrained(old_run), tokenizer, text)
    assert prediction == predict(now, tokenizer, text)
    assert prediction["tokens"][0] == "good"
    # From the command line.
    capsys.readouterr()
    results = []
    for run in (old_run, reading_the_head):
        assert predict_main([str(run), text, "--json"]) == 0
        assert evaluate_main([str(run), "--split", "validation", "--device", "cpu"]) == 0
        results.append(capsys.readouterr().out)
    assert results[0] == results[1]
    assert json.loads(results[0].splitlines()[0]) == prediction


def test_an_old_run_is_float32_whatever_the_default_dtype(old_run):
    torch.set_default_dtype(torch.float64)
    try:
        model = SentimentClassifier.from_pretrained(old_run)
    finally:
        torch.set_default_dtype(torch.float32)
    assert model.embedding.weight.dtype == torch.float32
    assert model.config.dtype == "float32"


def test_a_run_that_lacks_a_newer_option_has_its_default(run):
    good = json.loads((run / "config.json").read_text())
    saved = load_file(run / "model.safetensors")
    # Each option that the run left at its default could be newer than the run.
    defaults = TrainConfig()
    newer = [
        (part, name)
        for part, config in (("model", defaults.model), ("train", defaults))
        for name in good[part]
        if name != "vocab_size" and getattr(config, name) == good[part][name]
    ]
    assert {("model", "num_kv_heads"), ("model", "keep"), ("train", "clean_text")} <= set(newer)
    for part, name in newer:
        del good[part][name]
        (run / "config.json").write_text(json.dumps(good))
        model, _, config = load_run(run, CPU)
        assert getattr(config if part == "train" else model.config, name) == getattr(
            defaults if part == "train" else defaults.model, name
        )
        assert all(torch.equal(saved[k], v) for k, v in model.state_dict().items())
    assert SentimentClassifier.from_pretrained(run).config == model.config


def test_a_folder_without_a_run_is_read_by_its_model_alone(tmp_path):
    model = SentimentClassifier(23, CHANGED)
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text()).keys() == {"model"}
    assert SentimentClassifier.from_pretrained(tmp_path).config == CHANGED


def test_resuming_a_run_of_another_version_is_refused_by_name(run, old_run):
    make_unfinished(run)
    make_unfinished(old_run)
    good = (run / "config.json").read_text()

    def resume(change):
        (run / "config.json").write_text(good)
        edit_json(run / "config.json", change)
        train_main(["--resume", str(run)])

    of_another_version = "config.json: .*another version of this package; it differs in "
    cases = [
        (lambda c: c["train"].pop("schedule"), of_another_version + "schedule$"),
        (lambda c: c["model"].pop("keep"), of_another_version + "keep$"),
        (lambda c: c["train"].update(momentum=3), of_another_version + "momentum$"),
        (lambda c: c["model"].update(temperature=2), "it has temperature$"),
    ]
    check_refused(resume, cases, RunError)
    with pytest.raises(
        RunError, match=of_another_version + "(?!.*keep.*keep).*, dtype, .*, keep, .*, separator"
    ):
        train_main(["--resume", str(old_run)])
    with pytest.raises(RunError, match=of_another_version):
        read_config(old_run)

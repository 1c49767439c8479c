"""What is read from config.json: strictly, in one line, and from older versions too."""

import dataclasses
import json

import pytest
import torch
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.run_folder import RunError, load_run, read_config
from attention.sentiment.saved_config import config_json, read_model_config, validated
from refusals import check_refused
from run_files import edit_json, make_unfinished, make_version_0_1_0, set_fields
from safetensors.torch import load_file

from attention import SentimentClassifier, evaluate, train
from attention.predict import predict

CPU = torch.device("cpu")
# Nothing here is what a version may have left out, or what a default would give.
CHANGED = ModelConfig(
    embed_dim=10, attention="qkv", key_dim=5, value_dim=7, num_heads=2, bias=True, scale=False,
    bigram_buckets=11, positions="start", position_base=50.0, max_length=13, keep="head",
    mask_padding=False, separator=False, embedding_std=0.5, dropout=0.1, word_dropout=0.2,
    dtype="float64",
)  # fmt: skip


def test_every_field_comes_back(tmp_path):
    unchanged = ModelConfig()
    assert not [
        field.name
        for field in dataclasses.fields(ModelConfig)
        if field.name != "segments"  # needs a separator
        and getattr(CHANGED, field.name) == getattr(unchanged, field.name)
    ]
    SentimentClassifier(23, CHANGED).save_pretrained(tmp_path)
    assert read_model_config(tmp_path) == (23, CHANGED)
    for model in (CHANGED, ModelConfig(segments=True)):
        config = TrainConfig(
            model=model, data="imdb", out=tmp_path, epochs=2, batch_size=3, lr=0.5, seed=7,
            schedule="constant", device="cpu", limit=8, distractors=False, clean_text=False,
            min_frequency=3, lab_sample=True,
        )  # fmt: skip
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
        ({"warmup": 3}, "another version of this package wrote it; it has warmup$"),
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
        ("train", {"keep": 5}, None),  # the model's own field counts
        ("model", {"keep": "middle"}, "keep: expected 'tail' or 'head', got .middle."),
        ("model", {"vocab_size": "many"}, 'vocab_size: expected an integer, got "many"'),
    ]
    load("train", {"keep": 5})
    cases = [case for case in cases if case[-1]]
    check_refused(load, cases, RunError)


@pytest.fixture
def old_run(tmp_path, trained_with_head):
    """A finished run as version 0.1.0 wrote it, which reads the head and knows no separator."""
    import shutil

    run = shutil.copytree(trained_with_head, tmp_path / "old")
    make_version_0_1_0(run)
    return run


@pytest.fixture(scope="module")
def trained_with_head(tmp_path_factory):
    import small_run

    folder = tmp_path_factory.mktemp("head")
    return small_run.train(folder / "run", "--epochs", "1", "--keep", "head", "--no-separator")

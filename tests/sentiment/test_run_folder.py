"""The run folder: what is written and read back, and what is refused with which words."""

import json
from xml.etree import ElementTree

import pytest
import torch
from attention.sentiment.config import TrainConfig
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.prepare import prepare
from attention.sentiment.run_folder import RunError
from attention.sentiment.trainer import Trainer
from safetensors.torch import load_file, save_file

from attention import _files, runs
from attention.sentiment.model import build_model

CPU = torch.device("cpu")


def change(path, **fields):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"train": content["train"] | fields}))


def make_trainer(run, **fields):
    config = TrainConfig(**{**vars(runs.read_config(run)["train"]), **fields})
    prepared = prepare(config)
    model = build_model(config, prepared.tokenizer.get_vocab_size())
    return Trainer(model, prepared.examples, prepared.validation, config), prepared.fingerprints


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    _files.write_text(path, "old\n\n")
    assert path.read_text() == "old\n"

    def full(*_):
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(_files.os, step, full)
            with pytest.raises(OSError, match=r"No space left on device.*file\.json"):
                _files.write_text(path, "new")
        assert path.read_text() == "old\n"
        assert [p.name for p in tmp_path.iterdir()] == ["file.json"]
    _files.write_text(path, "new")
    assert path.read_text() == "new\n"


def test_metrics_and_curves(tmp_path):
    rows = [
        {"epoch": e, **{k: {"loss": 1 / e, "accuracy": 0.5} for k in ("train", "clean")}}
        for e in (1, 2)
    ]
    runs.write_metrics(tmp_path, rows)
    runs.write_metrics(tmp_path, rows)
    assert [
        json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()
    ] == rows
    drawn = ElementTree.parse(tmp_path / "curves.svg").getroot()
    assert drawn.tag.endswith("svg")
    assert "validation, clean 0.50 and 50.0%" in drawn[0].text  # the title
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curves.svg", "metrics.jsonl"]


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path):
    guard = runs.lock(tmp_path / "run")
    with pytest.raises(RunError, match="another run is writing here"):
        runs.lock(tmp_path / "run")
    guard.release()
    runs.lock(tmp_path / "run").release()


def test_folders_for_a_new_run(run, tmp_path):
    runs.refuse_taken(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    runs.refuse_taken(tmp_path / "empty")
    with pytest.raises(RunError, match="holds a finished run"):
        runs.refuse_taken(run)
    (run / "summary.json").unlink()
    with pytest.raises(RunError, match=f"go on with --resume {run}"):
        runs.refuse_taken(run)
    # A run killed before its first checkpoint leaves its folder to the next.
    (run / runs.CHECKPOINT).rename(run / f"{runs.CHECKPOINT}.part")
    (run / "model.safetensors").unlink()
    runs.refuse_taken(run)
    (run / "thesis.tex").touch()
    with pytest.raises(RunError, match=r"thesis\.tex"):
        runs.refuse_taken(run)
    with pytest.raises(RunError, match="is a file"):
        runs.refuse_taken(run / "thesis.tex")
    # Another program's configuration would be overwritten.
    other = tmp_path / "empty" / "config.json"
    other.write_text('{"hidden_size": 768}')
    with pytest.raises(RunError, match=r"config\.json"):
        runs.refuse_taken(other.parent)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", b"{}", "config.json: expected a run's configuration, got no model"),
        ("config.json", b"[]", "config.json: expected a run's configuration, got no model"),
        ("model.safetensors", b"broken", "model.safetensors: can't be read"),
    ],
)
def test_a_broken_file_is_a_value_error(name, content, said, run):
    (run / name).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        SentimentClassifier.from_pretrained(run)


def test_configuration_comes_back(run):
    config = runs.read_config(run)
    train = config["train"]
    assert (train.epochs, train.batch_size, train.model, train.out.name) == (
        1,
        5,
        "energy",
        "first",
    )
    assert json.loads((run / "config.json").read_text())["train"] == runs.config_json(train)
    assert set(config) == {"model", "train", "data", "environment"}
    assert set(config["data"]) == {"train", "validation", "test"}
    assert config["environment"]["torch"] == torch.__version__


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda p: p.unlink(), "holds no run"),
        (lambda p: p.write_text("{"), "is not a run's configuration"),
        (lambda p: p.write_text("[]"), "is not a run's configuration"),
        (lambda p: p.write_text('{"model": {}}'), "no 'train'"),
        (lambda p: p.write_bytes(b'"\xff"'), "is not a run's configuration"),
        (lambda p: change(p, temperature=2), "another version.*temperature"),
        (lambda p: change(p, epochs=0), "--epochs: expected at least 1"),
        (lambda p: change(p, epochs="many"), "is not a run's configuration"),
        (lambda p: change(p, keep="middle"), "keep: expected head or tail, got .middle."),
    ],
)
def test_a_broken_configuration_is_named(run, damage, said):
    damage(run / "config.json")
    with pytest.raises(RunError, match=said) as caught:
        runs.load_run(run, CPU)
    assert "\n" not in str(caught.value)


def test_a_configuration_that_lacks_a_field_is_of_another_version(run):
    content = json.loads((run / "config.json").read_text())
    del content["train"]["schedule"]
    (run / "config.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match=r"another version.*schedule"):
        runs.read_config(run)


def test_a_run_is_loaded_as_it_was_trained(run):
    model, tokenizer, config = runs.load_run(run, CPU)
    assert not model.training
    assert config.embed_dim == model.config["embed_dim"] == 6
    saved = load_file(run / "model.safetensors")
    assert all(torch.equal(saved[k], v) for k, v in model.state_dict().items())
    assert tokenizer.get_vocab_size() == len(saved["embedding.weight"])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda r: (r / "model.safetensors").unlink(), "finish the run with --resume"),
        (lambda r: (r / "model.safetensors").write_bytes(b"\0" * 50), "can't be read"),
        (lambda r: (r / "tokenizer.json").unlink(), "can't be read"),
        (lambda r: (r / "tokenizer.json").write_text("{}"), "can't be read"),
        (lambda r: save_file({"x": torch.ones(1)}, r / "model.safetensors"), "can't be read"),
    ],
)
def test_a_broken_run_is_not_loaded(run, damage, said):
    damage(run)
    with pytest.raises(RunError, match=said):
        runs.load_run(run, CPU)


def test_a_tokenizer_of_another_run_is_noticed(run):
    other = json.loads((run / "tokenizer.json").read_text())
    other["model"]["vocab"].popitem()
    (run / "tokenizer.json").write_text(json.dumps(other))
    with pytest.raises(RunError, match="different runs"):
        runs.load_run(run, CPU)


class Enough(Exception):
    pass


def test_a_checkpoint_puts_everything_back(run):
    trainer, data = make_trainer(run, epochs=2)

    def stop(trainer):
        if trainer.state.epoch == 1 and trainer.state.batch == 3:
            raise Enough

    with pytest.raises(Enough):
        trainer.run(after_batch=stop)
    runs.save_checkpoint(run, trainer, data)
    other, _ = make_trainer(run, epochs=2)
    runs.load_checkpoint(run, other, data)
    assert vars(other.state) | {"sums": None} == vars(trainer.state) | {"sums": None}
    assert torch.equal(other.state.sums, trainer.state.sums)
    assert trainer.state.sums.all()
    for a, b in zip(other.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(a, b)
        for slot in ("step", "exp_avg", "exp_avg_sq"):
            assert torch.equal(other.optimizer.state[a][slot], trainer.optimizer.state[b][slot])


def test_a_run_may_move_and_change_its_device(run, tmp_path):
    trainer, data = make_trainer(run)
    trainer.config = TrainConfig(**{**vars(trainer.config), "out": tmp_path, "device": "auto"})
    runs.load_checkpoint(run, trainer, data)
    assert trainer.state.epoch == 1


def test_another_configuration_or_other_reviews_are_refused(run):
    trainer, data = make_trainer(run, lr=0.5, schedule="constant")
    with pytest.raises(RunError, match="another lr, schedule"):
        runs.load_checkpoint(run, trainer, data)
    trainer, data = make_trainer(run)
    runs.load_checkpoint(run, trainer, data | {"test": "another"})
    with pytest.raises(RunError, match=r"other reviews \(train\)"):
        runs.load_checkpoint(run, trainer, data | {"train": "another"})


def rewrite(path, change):
    """Change a checkpoint's tensors and keep what it says of itself."""
    with runs.safe_open(path, "pt") as file:
        about = file.metadata()
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, about)


def other_shape(tensors):
    tensors["optimizer.0.exp_avg"] = tensors["optimizer.0.exp_avg"][:-1].clone()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda p: p.write_bytes(p.read_bytes()[:-7]), "no checkpoint that can be read"),
        (lambda p: p.write_bytes(b""), "no checkpoint that can be read"),
        (lambda p: save_file({"sums": torch.ones(4)}, p), "no checkpoint that can be read"),
        (lambda p: save_file({"sums": torch.ones(4)}, p, {"state": "{}"}), "no 'epoch'"),
        (lambda p: rewrite(p, lambda t: t.pop("sums")), "lacks sums"),
        (lambda p: rewrite(p, lambda t: t.pop("model.embedding.weight")), "does not fit"),
        (lambda p: rewrite(p, lambda t: t.pop("optimizer.1.exp_avg_sq")), "does not fit"),
        (lambda p: rewrite(p, other_shape), "does not fit"),
        (lambda p: rewrite(p, lambda t: t.update({"junk": torch.ones(1)})), "does not fit"),
    ],
)
def test_a_broken_checkpoint_is_never_half_loaded_in_silence(run, damage, said):
    trainer, data = make_trainer(run)
    damage(run / runs.CHECKPOINT)
    with pytest.raises(RunError, match=said):
        runs.load_checkpoint(run, trainer, data)

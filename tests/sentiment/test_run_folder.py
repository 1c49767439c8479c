"""The run folder: what is written and read back, and what is refused."""

import json
import re
import shutil
import threading
import warnings
from xml.etree import ElementTree

import matplotlib as mpl
import pytest
import small_run
import torch
from matplotlib import pyplot as plt
from processes import Interrupted, checkpoint_metadata, read_metrics
from refusals import check_refused
from run_files import contents, edit_json, edit_tensors, make_unfinished
from safetensors.torch import load_file, save, save_file

from attention import _files
from attention.evaluate import evaluate
from attention.sentiment import run_folder
from attention.sentiment.config import TrainConfig, config_json
from attention.sentiment.model import build_model
from attention.sentiment.run_folder import CHECKPOINT
from attention.sentiment.trainer import Trainer
from attention.sentiment.training import prepare
from attention.train import configure
from attention.train import main as train_main

CPU = torch.device("cpu")


def make_trainer(run, **options):
    config = run_folder.read_config(run).with_options(**options)
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


LABELS = ["tea", "coffee"]


def two_epochs():
    return [
        {
            "epoch": e,
            "train": {"loss": 1 / e, "accuracy": 0.5},
            "clean": {"loss": 1 / e, "accuracy": 0.5, "confusion": [[3, 1], [2, 0]]},
        }
        for e in (1, 2)
    ]


def test_metrics_and_curves(tmp_path):
    rows = two_epochs()
    run_folder.write_metrics(tmp_path, rows, LABELS)
    run_folder.write_metrics(tmp_path, rows, LABELS)
    assert read_metrics(tmp_path) == rows
    drawn = ElementTree.parse(tmp_path / "curves.svg").getroot()
    assert drawn.tag.endswith("svg")
    assert "validation, alone 0.50 and 50.0%" in drawn[0].text  # the title
    drawn = ElementTree.parse(tmp_path / "confusion.svg").getroot()
    expected = "Confusion matrix: of tea 75%, of coffee 0% are answered rightly."
    assert drawn[0].text == expected
    files = ["confusion.svg", "curves.svg", "metrics.jsonl"]
    assert sorted(p.name for p in tmp_path.iterdir()) == files


def test_labels_of_any_script_can_be_read_in_the_picture(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as one for each letter that matplotlib's font lacks
        run_folder.write_metrics(tmp_path, two_epochs(), ["悪い", "良い"])
    drawn = ElementTree.parse(tmp_path / "confusion.svg").getroot()
    assert [part.text for part in drawn.iter() if part.text in ("悪い", "良い")] == 2 * [
        "悪い",
        "良い",
    ]


def test_writing_curves_leaves_pyplot_and_its_settings_alone(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(plt, "figure", lambda *_, **__: opened.append("pyplot's"))
    monkeypatch.setitem(mpl.rcParams, "font.size", 37)
    settings = dict(mpl.rcParams)
    run_folder.write_metrics(tmp_path, two_epochs(), LABELS)
    # pyplot's figures belong to the main thread; a training run may be in another.
    thread = threading.Thread(
        target=run_folder.write_metrics, args=(tmp_path, two_epochs(), LABELS)
    )
    thread.start()
    thread.join()
    assert not opened
    assert not plt.get_fignums()
    assert dict(mpl.rcParams) == settings


def test_a_lock_keeps_others_out_until_it_is_released(tmp_path):
    lock = run_folder.lock(tmp_path / "run")
    with pytest.raises(ValueError, match="another run is writing here"):
        run_folder.lock(tmp_path / "run")
    lock.release()
    run_folder.lock(tmp_path / "run").release()


def test_folders_for_a_new_run(run, tmp_path):
    run_folder.refuse_taken(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    run_folder.refuse_taken(tmp_path / "empty")
    with pytest.raises(ValueError, match="holds a finished run"):
        run_folder.refuse_taken(run)
    (run / "summary.json").unlink()
    with pytest.raises(ValueError, match=f"resume it with --resume {run}"):
        run_folder.refuse_taken(run)
    # A run killed before its first checkpoint leaves its folder to the next.
    (run / CHECKPOINT).rename(run / f"{CHECKPOINT}.part")
    (run / "model.safetensors").unlink()
    run_folder.refuse_taken(run)
    (run / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"thesis\.tex"):
        run_folder.refuse_taken(run)
    with pytest.raises(ValueError, match="is a file"):
        run_folder.refuse_taken(run / "thesis.tex")
    # Another program's configuration would be overwritten.
    other = tmp_path / "empty" / "config.json"
    other.write_text('{"hidden_size": 768}')
    with pytest.raises(ValueError, match=r"config\.json"):
        run_folder.refuse_taken(other.parent)


def test_configuration_comes_back(run):
    config = run_folder.read_config(run)
    assert (config.epochs, config.batch_size, config.out) == (1, 5, run)
    assert (config.model.attention, config.model.max_length) == ("energy", 13)
    saved = json.loads((run / "config.json").read_text())
    assert set(saved) == {"model", "train", "data", "environment"}
    expected = config_json(config)
    assert saved["train"] == expected["train"]
    vocab_size = len(load_file(run / "model.safetensors")["embedding.weight"])
    assert saved["model"] == {"vocab_size": vocab_size, **expected["model"]}
    assert set(saved["data"]) == {"train", "validation", "test"}
    assert saved["environment"]["torch"] == torch.__version__


def test_a_run_is_loaded_as_it_was_trained(run):
    model, tokenizer, config = run_folder.load_run(run, CPU)
    assert not model.training
    assert config.model == model.config
    assert model.config.embed_dim == 6
    saved = load_file(run / "model.safetensors")
    assert all(torch.equal(saved[k], v) for k, v in model.state_dict().items())
    assert tokenizer.get_vocab_size() == len(saved["embedding.weight"]) == model.vocab_size


def test_a_broken_run_is_not_loaded_and_its_file_is_named(run):
    config, weights, tokenizer = (
        run / name for name in ("config.json", "model.safetensors", "tokenizer.json")
    )
    good = {path: path.read_bytes() for path in (config, weights, tokenizer)}

    def load(path, content):
        for each, before in good.items():
            each.write_bytes(before)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content)
        run_folder.load_run(run, CPU)

    def with_words(change):
        edited = json.loads(good[tokenizer])
        change(edited["model"]["vocab"])
        return json.dumps(edited).encode()

    unreadable = "does not hold a run's configuration that can be read"
    cases = [
        (config, None, "holds no run, there is no config.json"),
        (config, b"{", unreadable),
        (config, b"[]", "config.json: expected a run's configuration, got none of its train"),
        (config, b'{"train": {}}', "expected a run's configuration, got none of its model"),
        (config, b'"\xff"', unreadable),
        (config, b'"\\ud800"', "configuration"),
        (config, b"[" * 100_000, "configuration"),
        (config, b"null", "configuration"),
        (config, b'{"model": 7, "train": []}', "configuration"),
        (config, b'{"model": {"vocab_size": 25}, "train": []}', "configuration"),
        (config, b'{"model": {"vocab_size": 25}}', "configuration"),
        (weights, None, "finish the run with python -m attention.train --resume"),
        (weights, b"\0" * 50, "does not hold a classifier that can be read"),
        (weights, save({"x": torch.ones(1)}), "model.safetensors lacks"),
        (tokenizer, None, "does not hold a run that can be read"),
        (tokenizer, b"{}", "does not hold a run that can be read"),
        (tokenizer, with_words(dict.popitem), r"tokenizer.json has \d+ ids, config"),
        (tokenizer, with_words(lambda w: w.update(good=10**9)), "tokenizer.json"),
        (tokenizer, with_words(lambda w: w.update(good=0)), "tokenizer.json"),
    ]
    check_refused(load, cases)


def test_a_checkpoint_puts_everything_back(run):
    trainer, data = make_trainer(run, epochs=2)

    def stop(trainer):
        if trainer.state.epoch == 1 and trainer.state.batch == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        trainer.run(after_batch=stop)
    run_folder.save_checkpoint(run, trainer, data)
    other, _ = make_trainer(run, epochs=2)
    run_folder.load_checkpoint(run, other, data)
    assert vars(other.state) | {"sums": None} == vars(trainer.state) | {"sums": None}
    assert torch.equal(other.state.sums, trainer.state.sums)
    assert trainer.state.sums.all()
    for a, b in zip(other.model.parameters(), trainer.model.parameters(), strict=True):
        assert torch.equal(a, b)
        for slot in ("step", "exp_avg", "exp_avg_sq"):
            assert torch.equal(other.optimizer.state[a][slot], trainer.optimizer.state[b][slot])


def test_a_run_resumes_on_another_device_and_from_moved_reviews(run, tmp_path):
    """A run of a GPU could not be resumed where there is none."""
    make_unfinished(run)
    edit_json(run / "config.json", lambda content: content["train"].update(device="cuda:7"))
    moved = shutil.copytree(run_folder.read_config(run).data, tmp_path / "moved")
    line = ["--resume", str(run), "--device", "cpu", "--data", str(moved)]
    config = configure(line)
    assert (config.device, config.data, config.out) == ("cpu", str(moved), run)
    assert train_main(line) == 0
    assert run_folder.read_config(run).data == str(moved)  # where evaluate looks for them


def test_a_path_need_not_be_utf_8(tmp_path):
    """Training ended well, but no other command could read what it had written."""
    folder = tmp_path / "caf\udce9"
    shutil.move(small_run.write_reviews(tmp_path / "reviews"), folder / "reviews")
    out = small_run.train(folder / "run", "--epochs", "1", data=folder / "reviews")
    assert evaluate(out, split="test", device="cpu")["clean"]["n"] == 7
    make_unfinished(out)
    assert train_main(["--resume", str(out)]) == 0


def test_the_environment_of_a_folder_that_was_copied_not_installed(monkeypatch):
    monkeypatch.setattr(run_folder.metadata, "distributions", lambda **_: iter(()))
    assert run_folder.environment()["attention-tutorial"] == "not installed"


def test_another_configuration_or_other_reviews_are_refused(run):
    trainer, data = make_trainer(run, lr=0.5, schedule="constant", keep="head", model="mean")
    with pytest.raises(ValueError, match=r"another keep, lr, model, schedule$"):
        run_folder.load_checkpoint(run, trainer, data)
    trainer, data = make_trainer(run)
    run_folder.load_checkpoint(run, trainer, data | {"test": "another"})
    with pytest.raises(ValueError, match=r"other reviews \(train\)"):
        run_folder.load_checkpoint(run, trainer, data | {"train": "another"})


def test_a_broken_checkpoint_is_never_half_loaded_in_silence(run):
    path = run / CHECKPOINT
    good = path.read_bytes()

    def another_shape(tensors):
        tensors["optimizer.0.exp_avg"] = tensors["optimizer.0.exp_avg"][:-1].clone()

    def load(damage):
        path.write_bytes(good)
        trainer, data = make_trainer(run)
        before = {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}
        damage()
        damaged = contents(run)
        try:
            run_folder.load_checkpoint(run, trainer, data)
        finally:
            after = trainer.model.state_dict()
            assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
            assert not trainer.optimizer.state
            assert trainer.state.epoch == 0
            assert contents(run) == damaged

    def edited(change):
        return lambda: edit_tensors(path, change)

    def told(change):
        """Change what the checkpoint says about itself."""

        def tell():
            before = checkpoint_metadata(path)
            after = change(before)
            assert after != before
            save_file(load_file(path), path, {"state": after})

        return tell

    header = 8 + int.from_bytes(good[:8], "little")
    unreadable = "not a checkpoint that can be read"

    cases = [
        (lambda: path.write_bytes(good[:-7]), f"{unreadable}.*start again in another folder"),
        (lambda: path.write_bytes(good[: len(good) // 2]), unreadable),
        (lambda: path.write_bytes(good[: header - 1]), unreadable),
        (lambda: path.write_bytes(b""), unreadable),
        (lambda: save_file({"sums": torch.ones(4)}, path), unreadable),
        (told(lambda s: "{}"), f"{unreadable}: batch: .*required"),
        (told(lambda s: s[: len(s) // 2]), unreadable),
        (told(lambda s: "[" * 100_000), unreadable),
        (told(lambda s: s.replace('"batch": 0', '"batch": -1')), unreadable),
        (told(lambda s: s.replace('"batch": 0', '"batch": 99')), "beyond the run"),
        (told(lambda s: re.sub('"seconds": [^,}]+', '"seconds": NaN', s)), "seconds"),
        (told(lambda s: s.replace('"seed": 42', '"seed": "42"')), "another seed"),
        (told(lambda s: s.replace('"seed": 42', '"momentum": 3, "seed": 42')), "another momentum"),
        (edited(lambda t: t.pop("sums")), "lacks sums"),
        (edited(lambda t: t.pop("model.embedding.weight")), "does not fit"),
        (edited(lambda t: t.pop("optimizer.1.exp_avg_sq")), "does not fit"),
        (edited(another_shape), "does not fit"),
        (edited(lambda t: t.update({"junk": torch.ones(1)})), "does not fit"),
    ]
    check_refused(load, cases)


def test_a_folder_of_reviews_is_saved_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved = config_json(TrainConfig(data="here"))["train"]
    assert saved["data"] == str(tmp_path / "here")  # so that the run can be resumed from anywhere
    for name in ("yelp", "imdb"):
        assert config_json(TrainConfig(data=name))["train"]["data"] == name

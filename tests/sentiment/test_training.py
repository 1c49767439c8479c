"""The training command: its folder, its refusals, and that nothing that stops it is lost."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import tiny
import torch
from attention.sentiment.config import PRESETS, TrainConfig
from attention.sentiment.trainer import TrainingError
from processes import PROMISED, STOPPING, lines, place, python, same, weights, without_time
from safetensors.torch import load_file

from attention import SentimentClassifier, runs, train


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbs, with all that draws at random."""
    return tiny.run(tmp_path_factory.mktemp("train") / "whole", *tiny.DROPOUT)


def test_the_run_folder_holds_what_is_promised(whole):
    assert {path.name for path in whole.iterdir()} == PROMISED
    assert [path.name for path in (whole / "checkpoint").iterdir()] == ["state.safetensors"]
    metrics = lines(whole)
    assert [line["epoch"] for line in metrics] == [1, 2, 3]
    for line in metrics:
        assert set(line) == {
            "epoch", "seconds", "tokens_per_second", "train", "clean", "distractor",
        }  # fmt: skip
        assert line["seconds"] > 0
        assert line["tokens_per_second"] > 0
        assert [line[k]["n"] for k in ("train", "clean", "distractor")] == [46, 11, 11]
        for name in ("train", "clean", "distractor"):
            assert 0 <= line[name]["accuracy"] <= 1
            assert line[name]["loss"] > 0
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["epochs"] == 3
    assert summary["last"] == metrics[-1]
    assert summary["seconds"] == sum(line["seconds"] for line in metrics)
    assert summary["parameters"] == sum(w.numel() for w in weights(whole).values())
    assert "<svg" in (whole / "curves.svg").read_text()


def test_the_model_can_be_used_elsewhere(whole):
    model = SentimentClassifier.from_pretrained(whole)
    assert not model.training
    assert model(torch.tensor([[3, 4, 5]])).shape == (1,)


def test_seed_and_options_reach_the_model(whole, tmp_path):
    data = whole.parent / "reviews"
    again = tiny.run(tmp_path / "again", *tiny.DROPOUT, data=data)
    assert same(weights(again), weights(whole))
    other = tiny.run(tmp_path / "other", *tiny.DROPOUT, "--seed", "1", "--epochs", "1", data=data)
    assert not same(weights(other), weights(whole))
    qkv = tiny.run(
        tmp_path / "qkv", "--model", "qkv", "--value-dim", "2", "--bias", "--epochs", "1", data=data
    )
    assert weights(qkv)["attention.W_value.bias"].shape == (2,)
    assert weights(qkv)["attention.W_key.weight"].shape == (3, 6)


def test_options_stand_over_the_preset():
    config = train.configure(["--preset", "lab13", "--model", "qk", "--lr", "0.5", "--out", "new"])
    assert (config.model, config.lr, config.keep, config.mask_padding) == ("qk", 0.5, "head", False)
    assert train.configure(["--out", "new"]).data == "yelp"
    # A folder is noted in full, so that the run can go on from anywhere.
    config = train.configure(["--data", "here", "--out", "new"])
    assert config.data == "here"
    assert runs.config_json(config)["data"] == os.path.abspath("here")
    assert runs.config_json(PRESETS["default"])["data"] == "yelp"


def test_a_model_has_what_the_configuration_asks():
    config = TrainConfig(
        model="keys", embed_dim=6, key_dim=5, value_dim=7, num_heads=3, bias=True, scale=False,
        bigram_buckets=11, segments=True, positions="start", position_base=50.0, max_length=13,
        mask_padding=False, embedding_std=0.5, dropout=0.1, word_dropout=0.2,
    )  # fmt: skip
    asked, unasked = train.build_model(config, 50).config, SentimentClassifier(50).config
    # Each field that the two share carries over, none by chance.
    for name in vars(config).keys() & asked.keys():
        assert asked[name] == getattr(config, name) != unasked[name], name
    assert asked["attention"] == "keys"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "--out: expected a folder"),
        (["--preset", "lab14", "--out", "x"], "--preset: expected one of default, lab13"),
        (["--out", "x", "--epochs", "0"], "--epochs: expected at least 1, got 0"),
        (["--out", "x", "--model", "bert"], "bert"),
        (["--out", "x", "--lr"], "--lr"),
        (["--resume", "x"], "x: holds no run"),
        (["--resume"], "--resume"),
        (["--resume", "x", "--lr", "1"], "--resume: expected no other options, got --lr 1"),
    ],
)
def test_a_bad_line_is_refused_before_anything_is_written(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        train.main(options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("there", [False, True])
def test_bad_reviews_leave_no_trace(tmp_path, there):
    data = tiny.write_reviews(tmp_path / "reviews")
    (data / "train.csv").write_text("text,label\nLovely soup,1\nCold soup,3\n")
    out = tmp_path / "run"
    if there:
        out.mkdir()
    with pytest.raises(ValueError, match=r"train\.csv, row 2.*column label: '3'"):
        tiny.run(out, data=data)
    assert not there or not list(out.iterdir())
    assert out.exists() == there


@pytest.mark.parametrize("name", ["cuda:99", "abacus", "meta", "mps"])
def test_an_unknown_device_is_refused(name):
    with pytest.raises(
        ValueError, match=f"--device: expected a device of this machine, got {name}"
    ):
        train.choose_device(name)


def test_devices(monkeypatch):
    assert train.choose_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert train.choose_device("auto") == torch.device("cpu")
    # Each process of a machine takes its own GPU.
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "empty", lambda *_, device: device)
    assert train.choose_device("auto") == train.choose_device("cuda") == torch.device("cuda:3")
    assert train.choose_device("cuda:1") == torch.device("cuda:1")


def test_a_model_too_large_is_refused(tmp_path):
    with pytest.raises(ValueError, match="model of this configuration can't be made"):
        tiny.run(tmp_path / "run", "--embed-dim", str(10**13))
    assert not (tmp_path / "run").exists()


def test_a_finished_run_is_refused(whole):
    for options in (["--out", str(whole)], ["--resume", str(whole)]):
        with pytest.raises(runs.RunError, match="holds a finished run"):
            train.main(options)
    before = weights(whole)
    with pytest.raises(runs.RunError, match="holds a finished run"):
        train.train(runs.read_config(whole)["train"])
    assert same(weights(whole), before)


def test_two_runs_in_one_folder(tmp_path):
    guard = runs.lock(tmp_path / "run")
    with pytest.raises(runs.RunError, match="another run is writing"):
        tiny.run(tmp_path / "run")
    guard.release()
    tiny.run(tmp_path / "run", "--epochs", "1")


def test_a_run_stopped_thrice_ends_bit_for_bit_as_one_never_stopped(
    whole, tmp_path, monkeypatch, capsys
):
    data, out = whole.parent / "reviews", tmp_path / "run"
    # Ctrl-C in the midst of the first epoch: finishes the step, saves, says how to go on.
    options = ["--data", data, "--out", out, *tiny.OPTIONS, *tiny.DROPOUT]
    process = python("-c", STOPPING, "SIGINT", 4, 60, *options)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGINT, said
    again = f"stopped by SIGINT, saved; go on with: python -m attention.train --resume {out}"
    assert said.splitlines()[-1] == again
    assert place(out) == (0, 4)
    with pytest.raises(runs.RunError, match=f"go on with --resume {out}"):
        train.main(["--out", str(out)])
    # SIGKILL 9 batches later, while a checkpoint takes the place of the one before.
    process = python("-c", STOPPING, "CRASH", 9, -1, "--resume", out)
    _, said = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, said
    assert "going on in epoch 1, after 4 of its batches" in said
    assert len(lines(out)) == 1
    assert place(out) == (1, 2)  # the one before
    # SIGTERM, to this very process, and then on to the end from a folder that has been moved.
    after_batch = train.Watch.after_batch

    def stop(watch, trainer):
        if (trainer.state.epoch, trainer.state.batch) == (2, 3):
            os.kill(os.getpid(), signal.SIGTERM)
        after_batch(watch, trainer)

    with monkeypatch.context() as patch:
        patch.setattr(train.Watch, "after_batch", stop)
        assert train.main(["--resume", str(out)]) == 128 + signal.SIGTERM
    assert "stopped by SIGTERM, saved" in capsys.readouterr().err
    out = out.rename(tmp_path / "moved run")
    assert train.main(["--resume", str(out)]) == 0
    assert same(weights(out), weights(whole))
    assert without_time(lines(out)) == without_time(lines(whole))
    assert {path.name for path in out.iterdir()} == PROMISED
    checkpoints = [load_file(run / runs.CHECKPOINT) for run in (out, whole)]
    assert same(*checkpoints)


class Enough(Exception):
    pass


def stop_after(monkeypatch, epochs):
    after_epoch = train.Watch.after_epoch

    def stop(watch, trainer):
        after_epoch(watch, trainer)
        if trainer.state.epoch == epochs:
            raise Enough

    monkeypatch.setattr(train.Watch, "after_epoch", stop)


def test_an_error_in_the_midst_gives_signals_and_lock_back(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with monkeypatch.context() as patch:
        stop_after(patch, epochs=1)
        with pytest.raises(Enough):
            tiny.run(tmp_path / "run")
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert train.main(["--resume", str(tmp_path / "run")]) == 0


def test_killed_between_the_last_epoch_and_the_model(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, epochs=3)
        with pytest.raises(Enough):
            tiny.run(tmp_path / "run")
    assert not (tmp_path / "run" / "summary.json").exists()
    assert train.main(["--resume", str(tmp_path / "run")]) == 0
    assert len(lines(tmp_path / "run")) == 3
    assert {path.name for path in (tmp_path / "run").iterdir()} == PROMISED


def test_a_folder_left_before_the_first_checkpoint_starts_afresh(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise Enough

    with monkeypatch.context() as patch:
        patch.setattr(train.Watch, "after_batch", fail)
        with pytest.raises(Enough):
            tiny.run(tmp_path / "run")
    tiny.run(tmp_path / "run", "--epochs", "1")
    assert "ended before it was saved; starting afresh" in capsys.readouterr().err


@pytest.mark.parametrize(("epochs", "code"), [(2, 128 + signal.SIGTERM), (1, 0)])
def test_stopping_while_the_validation_runs(epochs, code, tmp_path, monkeypatch, capsys):
    measure = train.Trainer._finish_epoch

    def interrupted(trainer):
        os.kill(os.getpid(), signal.SIGTERM)
        measure(trainer)

    monkeypatch.setattr(train.Trainer, "_finish_epoch", interrupted)
    data = tiny.write_reviews(tmp_path / "reviews")
    out = tmp_path / "my run"
    options = ["--data", str(data), "--out", str(out), *tiny.OPTIONS, "--epochs", str(epochs)]
    assert train.main(options) == code
    assert len(lines(out)) == 1
    assert place(out) == (1, 0)  # no step of the next epoch
    said = capsys.readouterr().err
    if code:
        assert f"--resume '{out}'" in said
    else:  # nothing was left to stop
        assert f"finished; the model is in {out}" in said


def test_a_checkpoint_every_minute(tmp_path, monkeypatch, capsys):
    now, saved, expected = [0.0], [], []
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    after_batch, save = train.Watch.after_batch, runs.save_checkpoint

    def slowly(watch, trainer):
        now[0] += 25.0
        after_batch(watch, trainer)

    def noted(folder, trainer, data):
        epoch, batch = trainer.state.epoch, trainer.state.batch
        saved.append((epoch, batch))
        save(folder, trainer, data)
        if batch:
            loss, correct, count, tokens = trainer.state.sums.tolist()
            expected.append(
                f"epoch {epoch + 1}, batch {batch}/10: loss {loss / count:.3f}, "
                f"accuracy {correct / count:.3f}, {tokens / trainer.state.seconds:,.0f} tokens/s, "
                f"about {25 * (20 - 10 * epoch - batch)} s left, saved"
            )

    monkeypatch.setattr(train.Watch, "after_batch", slowly)
    monkeypatch.setattr(runs, "save_checkpoint", noted)
    tiny.run(tmp_path / "run", "--epochs", "2")
    # Three batches of 25 seconds are the first time over a minute.
    assert saved == [(0, 3), (0, 6), (0, 9), (1, 0), (1, 3), (1, 6), (1, 9), (2, 0)]
    said = capsys.readouterr().err
    for line in lines(tmp_path / "run"):
        accuracies = (f"{k} {line[k]['accuracy']:.4f}" for k in ("train", "clean", "distractor"))
        expected.append(
            f"epoch {line['epoch']}/2: loss {line['train']['loss']:.4f}; "
            f"accuracy {', '.join(accuracies)}; {line['tokens_per_second']:,.0f} tokens/s; "
            f"about {250 * (2 - line['epoch'])} s left"
        )
    assert len(expected) == 8
    for words in expected:
        assert words in said


def test_training_in_another_thread_goes_on_after_the_last_epoch(tmp_path, capsys):
    with ThreadPoolExecutor() as pool:
        run = pool.submit(tiny.run, tmp_path / "run", "--epochs", "1").result()
        (run / "summary.json").unlink()  # as if killed before its last file
        assert pool.submit(train.main, ["--resume", str(run)]).result() == 0
    assert "going on after the last epoch" in capsys.readouterr().err
    assert (run / "summary.json").exists()


def test_time_left_is_counted_from_where_it_went_on(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        stop_after(patch, epochs=1)
        with pytest.raises(Enough):
            tiny.run(tmp_path / "run")
    now, after_batch = [0.0], train.Watch.after_batch

    def slowly(watch, trainer):
        now[0] += 25.0
        after_batch(watch, trainer)

    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(train.Watch, "after_batch", slowly)
    assert train.main(["--resume", str(tmp_path / "run")]) == 0
    (second,) = (line for line in capsys.readouterr().err.splitlines() if "epoch 2/3" in line)
    assert second.endswith("about 250 s left")  # ten batches more


def test_a_loss_that_is_no_number_leaves_the_last_good_state(tmp_path, monkeypatch):
    after_batch = train.Watch.after_batch

    def break_it(watch, trainer):
        if trainer.state.epoch == 1 and trainer.state.batch == 4:
            with torch.no_grad():
                trainer.model.embedding.weight.fill_(torch.nan)
        after_batch(watch, trainer)

    monkeypatch.setattr(train.Watch, "after_batch", break_it)
    monkeypatch.setattr(train, "SAVE_EVERY", -1.0)  # a checkpoint after each batch
    with pytest.raises(TrainingError, match="since step 4 of epoch 2"):
        tiny.run(tmp_path / "run")
    kept = load_file(tmp_path / "run" / runs.CHECKPOINT)
    assert all(tensor.isfinite().all() for tensor in kept.values())
    monkeypatch.undo()
    assert train.main(["--resume", str(tmp_path / "run")]) == 0


def test_other_reviews_are_no_way_to_go_on(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, epochs=1)
        with pytest.raises(Enough):
            tiny.run(tmp_path / "run")
    train_file = tmp_path / "reviews" / "train.csv"
    train_file.write_text(train_file.read_text().replace("good", "lovely"))
    with pytest.raises(runs.RunError, match=r"other reviews \(train\)"):
        train.main(["--resume", str(tmp_path / "run")])


def test_reviews_without_a_word(tmp_path):
    data = tmp_path / "silent"
    data.mkdir()
    for name in ("train", "validation"):
        (data / f"{name}.csv").write_text("text,label\n123,1\n!!!,0\n")
    run = tiny.run(tmp_path / "run", "--epochs", "1", data=data)
    assert lines(run)[0]["train"]["n"] == 4

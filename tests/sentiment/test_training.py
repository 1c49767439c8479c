"""A training run: its folder, what it refuses, and that nothing that stops it is lost."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
import small_run
import torch
from processes import (
    RUN_FILES,
    Interrupted,
    are_equal,
    assert_nothing_was_lost,
    checkpoint_position,
    load_weights,
    python,
    read_metrics,
    signalled_at,
)
from refusals import check_refused
from safetensors.torch import load_file

from attention._device import check_memory, choose_device, memory_limit
from attention.sentiment import progress, run_folder
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.model import build_model
from attention.sentiment.progress import Progress
from attention.sentiment.reviews import Reviews
from attention.sentiment.run_folder import CHECKPOINT
from attention.sentiment.trainer import Trainer, TrainingError
from attention.sentiment.training import prepare, train
from attention.train import main


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing disturbs, with all that draws at random."""
    return small_run.train(tmp_path_factory.mktemp("train") / "whole", *small_run.DROPOUT)


def test_the_run_folder_holds_what_is_documented(whole):
    assert {path.name for path in whole.iterdir()} == RUN_FILES
    assert [path.name for path in (whole / "checkpoint").iterdir()] == ["state.safetensors"]
    metrics = read_metrics(whole)
    assert [line["epoch"] for line in metrics] == [1, 2, 3]
    for line in metrics:
        assert set(line) == {
            "epoch",
            "seconds",
            "tokens_per_second",
            "train",
            "clean",
            "distractor",
        }
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
    assert summary["parameters"] == sum(w.numel() for w in load_weights(whole).values())
    assert "<svg" in (whole / "curves.svg").read_text()


def test_reviews_of_which_nothing_is_read_are_refused_before_training(tmp_path, capsys):
    good, other = ["good soup", "bad soup"], ["とても美味しい 10/10", "Б 👎"]
    config = TrainConfig(min_frequency=1)
    for train_texts, validation_texts, what in (
        (["10/10", "★"], good, "the training reviews"),
        (good, other, "the reviews to measure on"),
        (good, ["wine", "beer"], "the reviews to measure on"),
    ):
        texts = {"train": train_texts, "validation": validation_texts}
        splits = {name: Reviews(each, [1, 0]) for name, each in texts.items()}
        with pytest.raises(ValueError, match=f"^{what}: expected words that the model knows"):
            prepare(config, splits)
    with pytest.raises(ValueError, match="at least --min-frequency times"):
        prepare(TrainConfig(), {"train": Reviews(["a", "b"], [1, 0])})
    mixed = Reviews([*good, "tea", other[1], *good * 8], [1, 0] * 10)
    capsys.readouterr()
    unread = Reviews([*good, "10/10", "★"], [1, 0, 1, 0])
    prepare(config, {"train": unread, "validation": mixed})
    said = "the training reviews: 2 of 4 hold no word that the model knows\n"
    assert capsys.readouterr().err == said  # of the others only a tenth
    mixed.texts[4] = "beer"
    prepare(config, {"train": Reviews(good, [1, 0]), "validation": mixed})
    said = "the reviews to measure on: 3 of 20 hold no word that the model knows\n"
    assert capsys.readouterr().err == said


def test_new_weights_follow_from_the_seed_of_the_run_alone():
    model = ModelConfig(attention="qkv", embed_dim=6, bigram_buckets=11, segments=True)
    config = TrainConfig(model=model)
    state = build_model(config, 50).state_dict()
    torch.rand(3)
    assert are_equal(state, build_model(config, 50).state_dict())
    assert not are_equal(state, build_model(config.replace(seed=1), 50).state_dict())


def test_an_unknown_device_is_refused():
    names = ("cuda:99", "abacus", "meta", "mps")
    expected = "^device: expected a device of this machine, got "
    check_refused(choose_device, [(name, expected + name) for name in names])


def test_devices(monkeypatch):
    # Safetensors reads nothing onto "cpu:0".
    assert choose_device("cpu") == choose_device("cpu:0") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    # Each process of a machine takes its own GPU.
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "empty", lambda *_, device: device)
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda:3")
    assert choose_device("cuda:1") == torch.device("cuda:1")


@pytest.mark.parametrize("file", ["memory.max", "memory/memory.limit_in_bytes"])
def test_the_limit_of_a_container_counts(file, tmp_path, monkeypatch):
    machine = memory_limit(tmp_path)  # no control group here
    assert machine == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    path = tmp_path / "sys/fs/cgroup" / file
    path.parent.mkdir(parents=True)
    for content, limit in (("12000\n", 12_000), ("max\n", machine), (f"{2**63}\n", machine)):
        path.write_text(content)
        assert memory_limit(tmp_path) == limit, content
    # A weight takes four numbers of 4 bytes: itself, its gradient and two of Adam's.
    monkeypatch.setattr("attention._device.memory_limit", lambda: 12_000)
    check_memory(torch.nn.Linear(750, 1, bias=False))
    with pytest.raises(ValueError, match=r"can't be made: training it takes 0\.0 GB of memory"):
        check_memory(torch.nn.Linear(751, 1, bias=False))


def test_a_finished_run_is_refused(whole):
    before = load_weights(whole)
    with pytest.raises(ValueError, match="holds a finished run"):
        train(run_folder.read_config(whole))
    assert are_equal(load_weights(whole), before)


def test_a_run_stopped_thrice_ends_bit_for_bit_as_one_never_stopped(
    whole, tmp_path, monkeypatch, capsys
):
    """Here in this process; processes that are killed for good are among the faults."""
    out, replace = tmp_path / "run", os.replace
    line = small_run.line(out, *small_run.DROPOUT, data=whole.parent / "reviews")

    # Ctrl-C in the first epoch: finishes the step, saves, says how to resume.
    with signalled_at(0, 4, signal.SIGINT):
        assert main(line) == 128 + signal.SIGINT
    last = f"stopped by SIGINT, saved; resume with: python -m attention.train --resume {out}"
    assert capsys.readouterr().err.splitlines()[-1] == last
    assert checkpoint_position(out) == (0, 4)
    with pytest.raises(ValueError, match=f"resume it with --resume {out}"):
        main(line)
    line = ["--resume", str(out)]

    # An error 9 batches later, while a checkpoint replaces the one before.
    def fail(source, target):
        if os.path.basename(target) == "state.safetensors" and checkpoint_position(out) == (1, 2):
            raise Interrupted
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(progress, "SAVE_EVERY", -1.0)
        patch.setattr(os, "replace", fail)
        with pytest.raises(Interrupted):
            main(line)
    assert "resuming in epoch 1, after 4 of its batches" in capsys.readouterr().err
    assert len(read_metrics(out)) == 1
    assert checkpoint_position(out) == (1, 2)  # the one before
    # SIGTERM, and then on to the end from a folder that has been moved.
    with signalled_at(2, 3, signal.SIGTERM):
        assert main(line) == 128 + signal.SIGTERM
    assert "stopped by SIGTERM, saved" in capsys.readouterr().err
    out = out.rename(tmp_path / "moved run")
    assert main(["--resume", str(out)]) == 0
    assert_nothing_was_lost(out, whole)


def train_until(monkeypatch, folder, epochs):
    """Start a run that an error ends after so many epochs."""
    after_epoch = Progress.after_epoch

    def stop(self, trainer):
        after_epoch(self, trainer)
        if trainer.state.epoch == epochs:
            raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "after_epoch", stop)
        with pytest.raises(Interrupted):
            small_run.train(folder)


def take_25_seconds_per_batch(monkeypatch):
    now, after_batch = [0.0], Progress.after_batch

    def slowly(self, trainer):
        now[0] += 25.0
        after_batch(self, trainer)

    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(Progress, "after_batch", slowly)


def test_an_error_in_the_midst_gives_signals_and_lock_back(tmp_path, monkeypatch):
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    train_until(monkeypatch, tmp_path / "run", epochs=1)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert main(["--resume", str(tmp_path / "run")]) == 0


@pytest.mark.parametrize(("epochs", "code"), [(2, 128 + signal.SIGTERM), (1, 0)])
def test_stopping_while_the_validation_runs(epochs, code, tmp_path, monkeypatch, capsys):
    measure = Trainer._finish_epoch

    def interrupted(trainer):
        os.kill(os.getpid(), signal.SIGTERM)
        measure(trainer)

    monkeypatch.setattr(Trainer, "_finish_epoch", interrupted)
    out = tmp_path / "my run"
    assert main(small_run.line(out, "--epochs", str(epochs))) == code
    assert len(read_metrics(out)) == 1
    assert checkpoint_position(out) == (1, 0)  # no step of the next epoch
    errors = capsys.readouterr().err
    if code:
        assert f"--resume '{out}'" in errors
    else:  # nothing was left to stop
        assert f"finished; the model is in {str(out)!r}" in errors


def test_a_checkpoint_every_minute(tmp_path, monkeypatch, capsys):
    saved, expected, save = [], [], run_folder.save_checkpoint

    def record(folder, trainer, data):
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

    take_25_seconds_per_batch(monkeypatch)
    monkeypatch.setattr(run_folder, "save_checkpoint", record)
    small_run.train(tmp_path / "run", "--epochs", "2")
    # Three batches of 25 seconds are the first time over a minute.
    assert saved == [(0, 3), (0, 6), (0, 9), (1, 0), (1, 3), (1, 6), (1, 9), (2, 0)]
    errors = capsys.readouterr().err
    for line in read_metrics(tmp_path / "run"):
        measured = (line[name]["accuracy"] for name in ("train", "clean", "distractor"))
        expected.append(
            f"epoch {line['epoch']}/2: loss {line['train']['loss']:.4f}, "
            "accuracy {:.4f}; validation: alone {:.4f}, behind another {:.4f}; ".format(*measured)
            + f"{line['tokens_per_second']:,.0f} tokens/s; "
            f"about {250 * (2 - line['epoch'])} s left"
        )
    assert len(expected) == 8
    for text in expected:
        assert text in errors


def test_training_in_another_thread_resumes_after_the_last_epoch(tmp_path, capsys):
    with ThreadPoolExecutor() as pool:
        run = pool.submit(small_run.train, tmp_path / "run", "--epochs", "1").result()
        (run / "summary.json").unlink()  # as if killed before its last file
        assert pool.submit(main, ["--resume", str(run)]).result() == 0
    assert "resuming after the last epoch" in capsys.readouterr().err
    assert (run / "summary.json").exists()


def test_time_left_is_counted_from_where_it_resumed(tmp_path, monkeypatch, capsys):
    train_until(monkeypatch, tmp_path / "run", epochs=1)
    take_25_seconds_per_batch(monkeypatch)
    assert main(["--resume", str(tmp_path / "run")]) == 0
    (second,) = (line for line in capsys.readouterr().err.splitlines() if "epoch 2/3" in line)
    assert second.endswith("about 250 s left")  # ten batches more


def test_a_loss_that_is_not_a_number_leaves_the_last_good_state(tmp_path, monkeypatch):
    after_batch = Progress.after_batch

    def break_it(self, trainer):
        if trainer.state.epoch == 1 and trainer.state.batch == 4:
            with torch.no_grad():
                trainer.model.embedding.weight.fill_(torch.nan)
        after_batch(self, trainer)

    monkeypatch.setattr(Progress, "after_batch", break_it)
    monkeypatch.setattr(progress, "SAVE_EVERY", -1.0)  # a checkpoint after each batch
    with pytest.raises(TrainingError, match="step 4 of epoch 2; what was saved before is kept"):
        small_run.train(tmp_path / "run")
    saved = load_file(tmp_path / "run" / CHECKPOINT)
    assert all(tensor.isfinite().all() for tensor in saved.values())
    monkeypatch.undo()
    assert main(["--resume", str(tmp_path / "run")]) == 0


def test_two_processes_train_the_model_of_one(tmp_path):
    one = small_run.train(tmp_path / "one", "--epochs", "2", "--model", "qkv")
    line = small_run.line(tmp_path / "two", "--epochs", "2", "--model", "qkv")
    process = python(
        *("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
        *("-m", "attention.train", *line),
    )
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    assert errors.count("epoch 1/2") == errors.count("finished") == 1
    assert {path.name for path in (tmp_path / "two").iterdir()} == RUN_FILES
    for a, b in zip(
        load_weights(one).values(), load_weights(tmp_path / "two").values(), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
    for a, b in zip(read_metrics(one), read_metrics(tmp_path / "two"), strict=True):
        for name in ("train", "clean", "distractor"):
            assert a[name]["n"] == b[name]["n"]
            assert a[name]["accuracy"] == b[name]["accuracy"]
            assert a[name]["loss"] == pytest.approx(b[name]["loss"], rel=1e-5)
        tokens = [line["tokens_per_second"] * line["seconds"] for line in (a, b)]
        assert tokens[0] == pytest.approx(tokens[1])

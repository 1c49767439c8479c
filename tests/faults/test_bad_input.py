"""Bad input to any command: code 2, one line that says what to do, no trace left."""

import hashlib
import json
import shutil
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from attention._command import run_command

from attention import evaluate, predict, train

COMMANDS = {"train": train.main, "evaluate": evaluate.main, "predict": predict.main}
GOOD = "text,label\nLovely soup.,1\nCold soup.,0\n"


def asked(*options):
    return ["train", "--data", "reviews", "--out", "new", *tiny.OPTIONS, *options]


def rows(content, name="train.csv"):
    """Train on reviews one of whose files holds something else."""

    def write(folder):
        (folder / "reviews" / name).write_bytes(
            content if isinstance(content, bytes) else content.encode()
        )
        return asked()

    return write


def run_with(damage, *line):
    """Damage a finished run, then ask it something."""

    def change(folder):
        damage(folder / "run")
        return list(line)

    return change


def files(change, *line):
    """Change the folder that the command will run in."""

    def prepare(folder):
        change(folder)
        return list(line)

    return prepare


def edit(name, change):
    def damage(run):
        content = json.loads((run / name).read_text())
        change(content)
        (run / name).write_text(json.dumps(content))

    return damage


def cut(name, keep):
    def damage(run):
        path = run / name
        path.write_bytes(path.read_bytes()[:keep])

    return damage


def parquet(columns, cut_off=0):
    def write(folder):
        (folder / "reviews" / "train.csv").unlink()
        path = folder / "reviews" / "train.parquet"
        pq.write_table(pa.table(columns), path)
        if cut_off:
            path.write_bytes(path.read_bytes()[:-cut_off])
        return asked()

    return write


def unfinished(run):
    (run / "summary.json").unlink()
    (run / "model.safetensors").unlink()


RESUME = ["train", "--resume", "run"]
ASK = ["predict", "run", "good soup"]
MEASURE = ["evaluate", "run", "--device", "cpu"]

# What is wrong: the line (or what makes it), and what the answer has to name: the culprit, and
# what came or what to do.
BAD = {
    # The line of train.
    "no folder for the run": (["train", "--data", "reviews"], ["--out", "expected a folder"]),
    "no passes": (asked("--epochs", "0"), ["--epochs", "at least 1", "0"]),
    "passes in words": (asked("--epochs", "many"), ["--epochs", "many", "--help"]),
    "an option without its value": (asked("--lr"), ["--lr", "--help"]),
    "a negative learning rate": (asked("--lr", "-1"), ["--lr", "above 0", "-1"]),
    "a learning rate that is no number": (asked("--lr", "nan"), ["--lr", "nan"]),
    "an infinite learning rate": (asked("--lr", "inf"), ["--lr", "inf"]),
    "an empty batch": (asked("--batch-size", "0"), ["--batch-size", "at least 1"]),
    "a batch beyond counting": (asked("--batch-size", str(10**30)), ["--batch-size", "at most"]),
    "an unknown attention": (asked("--model", "bert"), ["bert", "--help"]),
    "an unknown preset": (["train", "--preset", "lab14"], ["--preset", "lab13", "lab14"]),
    "an unknown option": (asked("--learning-rate", "1"), ["--learning-rate", "--help"]),
    "a stray word": (asked("stray"), ["stray", "--help"]),
    "an unknown device": (asked("--device", "abacus"), ["--device", "abacus"]),
    "an absent GPU": (asked("--device", "cuda:99"), ["--device", "cuda:99"]),
    "one review for two labels": (asked("--limit", "1"), ["--limit", "at least 2"]),
    "a seed below 0": (asked("--seed", "-1"), ["--seed", "0 to", "-1"]),
    "everything dropped": (asked("--dropout", "1"), ["--dropout", "less than 1"]),
    "a width of 0": (asked("--embed-dim", "0"), ["--embed-dim", "at least 1"]),
    "a width beyond this machine": (asked("--embed-dim", str(10**10)), ["GB", "--embed-dim"]),
    "a width beyond counting": (asked("--embed-dim", str(10**18)), ["can't be made"]),
    "a length beyond this machine": (
        asked("--positions", "end", "--max-length", str(10**12)),
        ["GB", "--max-length"],
    ),
    # Where the reviews are.
    "no such data": (["train", "--data", "nowhere", "--out", "new"], ["no folder nowhere"]),
    "a file for data": (
        ["train", "--data", "reviews/train.csv", "--out", "new"],
        ["no folder reviews/train.csv"],
    ),
    "an empty folder for data": (
        files(lambda f: (f / "empty").mkdir(), "train", "--data", "empty", "--out", "new"),
        ["empty", "train.parquet nor train.csv"],
    ),
    "no validation": (
        files(lambda f: (f / "reviews/validation.parquet").unlink(), *asked()),
        ["validation.parquet nor validation.csv"],
    ),
    "two files of one name": (
        files(lambda f: (f / "reviews/validation.csv").write_text(GOOD), *asked()),
        ["both validation.parquet and validation.csv", "keep one"],
    ),
    # What they hold.
    "nothing at all": (rows(""), ["train.csv", "no rows"]),
    "a header alone": (rows("text,label\n"), ["train.csv", "no rows"]),
    "another column": (rows("text,stars\na,1\n"), ["no column label", "text, stars"]),
    "a label in words": (rows("text,label\na,1\nb,maybe\n"), ["row 2", "label", "'maybe'"]),
    "a label out of range": (rows("text,label\na,1\nb,7\n"), ["row 2", "'7'", "0 or 1"]),
    "a label that is no number": (rows("text,label\na,nan\n"), ["row 1", "'nan'"]),
    "labels of two kinds": (rows("text,label\na,0\nb,2\n"), ["row 2", "0 in row 1"]),
    "one class": (rows("text,label\na,1\nb,1\n"), ["only one class"]),
    "a row without text": (rows("text,label\na,1\n ,0\n"), ["row 2", "text: empty"]),
    "a row too long": (rows("text,label\na,1\nb,0,x\n"), ["row 2", "3 columns"]),
    "a quote left open": (rows('text,label\na,1\n"b,0\n'), ["row 2", "broken row"]),
    "another encoding": (rows(b"text,label\na,1\ncaf\xe9,0\n"), ["row 2", "not UTF-8"]),
    "two bytes a letter": (rows(GOOD.encode("utf-16")), ["train.csv", "not UTF-8"]),
    "a null byte as label": (rows("text,label\na,1\nb,\0\n"), ["row 2"]),
    "a text that is none": (
        parquet({"text": ["a", None], "label": [0, 1]}),
        ["train.parquet", "row 2", "None"],
    ),
    "half a Parquet file": (
        parquet({"text": ["a", "b"], "label": [0, 1]}, cut_off=50),
        ["train.parquet", "cannot be read"],
    ),
    "a bad test file, before training": (
        rows("text,label\na,5\n", "test.csv"),
        ["test.csv", "row 1", "'5'"],
    ),
    # The run folder to write.
    "a file as run folder": (asked("--out", "reviews/train.csv"), ["is a file", "--out"]),
    "a run folder below a file": (asked("--out", "reviews/train.csv/run"), ["train.csv"]),
    "other files in it": (asked("--out", "reviews"), ["reviews", "a folder of its own"]),
    "a finished run in it": (asked("--out", "run"), ["finished run", "another folder"]),
    "a stopped run in it": (
        run_with(unfinished, *asked("--out", "run")),
        ["go on with --resume run"],
    ),
    "a place for no file": (asked("--out", "/proc/run"), ["/proc/run"]),
    # The run folder to go on with.
    "nothing to go on with": (["train", "--resume", "nowhere"], ["nowhere", "holds no run"]),
    "a finished run to go on with": (RESUME, ["run", "finished"]),
    "going on with other options": ([*RESUME, "--lr", "1"], ["--resume", "no other options"]),
    "half a configuration": (
        run_with(lambda r: (unfinished(r), cut("config.json", 90)(r)), *RESUME),
        ["config.json"],
    ),
    "a configuration of another version": (
        run_with(
            lambda r: (unfinished(r), edit("config.json", lambda c: c["train"].pop("keep"))(r)),
            *RESUME,
        ),
        ["another version", "keep"],
    ),
    "half a checkpoint": (
        run_with(lambda r: (unfinished(r), cut("checkpoint/state.safetensors", 1000)(r)), *RESUME),
        ["state.safetensors", "no checkpoint that can be read"],
    ),
    "reviews that have changed": (
        run_with(
            lambda r: (unfinished(r), (r.parent / "reviews/train.csv").write_text(GOOD)), *RESUME
        ),
        ["other reviews"],
    ),
    # The run folder to read.
    "nothing to measure": (["evaluate", "nowhere"], ["nowhere", "holds no run"]),
    "no run named": (["evaluate"], ["RUN", "--help"]),
    "a file to measure": (["evaluate", "reviews/train.csv"], ["train.csv"]),
    "an unknown split": ([*MEASURE, "--split", "all"], ["all", "--help"]),
    "a split that is not there": (
        files(lambda f: (f / "reviews/test.csv").unlink(), *MEASURE),
        ["no split test", "train or validation"],
    ),
    "another device to measure on": (["evaluate", "run", "--device", "abacus"], ["--device"]),
    "no such reviews to measure": ([*MEASURE, "--data", "nowhere"], ["no folder nowhere"]),
    "an unfinished run": (run_with(unfinished, *MEASURE), ["no model yet", "--resume run"]),
    "half the weights": (run_with(cut("model.safetensors", 300), *ASK), ["can't be read"]),
    "no tokenizer": (run_with(lambda r: (r / "tokenizer.json").unlink(), *ASK), ["can't be read"]),
    "another run's tokenizer": (
        run_with(edit("tokenizer.json", lambda c: c["model"]["vocab"].popitem()), *ASK),
        ["different runs"],
    ),
    "no run to ask": (["predict", "nowhere", "good"], ["nowhere", "holds no run"]),
    "nothing to ask": (["predict", "run"], ["TEXT", "--help"]),
    "a page in no folder": ([*ASK, "--html", "no/page.html"], ["--html", "no folder no"]),
    "a page that is a folder": ([*ASK, "--html", "reviews"], ["--html", "reviews is a folder"]),
    "an unknown option to predict": ([*ASK, "--colour"], ["--colour", "--help"]),
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Reviews, and a finished run on them."""
    folder = tmp_path_factory.mktemp("world")
    tiny.run(folder / "run", "--epochs", "1")
    return folder


def copy_world(world, target):
    folder = shutil.copytree(world, target)
    config = folder / "run" / "config.json"
    config.write_text(config.read_text().replace(str(world), str(folder)))
    return folder


@pytest.fixture
def folder(world, tmp_path, monkeypatch):
    folder = copy_world(world, tmp_path / "world")
    monkeypatch.chdir(folder)
    return folder


def content(folder):
    return {
        path: path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("wrong", BAD)
def test_bad_input_ends_in_one_line_and_code_2(wrong, folder, capfd, monkeypatch):
    line, words = BAD[wrong]
    command, *options = line(folder) if callable(line) else line
    monkeypatch.setattr(sys, "argv", [command, *options])
    before = content(folder)
    assert run_command(COMMANDS[command]) == 2
    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    for word in words:
        assert word in said.err
    assert content(folder) == before


def test_the_table_is_as_long_as_promised():
    assert len(BAD) >= 25
    assert {line[0] for line, _ in BAD.values() if isinstance(line, list)} == set(COMMANDS)


@pytest.mark.parametrize(
    "wrong", ["a label out of range", "an unknown split", "a page in no folder"]
)
def test_the_commands_themselves_do_so_and_debug_tells_where(wrong, folder):
    line, words = BAD[wrong]
    command, *options = line(folder) if callable(line) else line
    line = [sys.executable, "-m", f"attention.{command}", *options]
    plain = subprocess.run(line, capture_output=True, text=True)
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (2, "", 1)
    assert all(word in plain.stderr for word in words)
    debug = subprocess.run([*line, "--debug"], capture_output=True, text=True)
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr
    assert all(word in debug.stderr for word in words)

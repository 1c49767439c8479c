"""Bad input to any command: code 2, one line that says what to do, no trace left."""

import shlex
import shutil
import subprocess
import sys

import pytest
import small_run
from run_files import contents, make_unfinished, set_fields

from attention import evaluate, predict, train
from attention._command import run_command

COMMANDS = {"train": train.main, "evaluate": evaluate.main, "predict": predict.main}


def unfinished(folder):
    make_unfinished(folder / "run")


def with_another_option(folder):
    set_fields(folder / "run", "model", momentum=3)


def with_another_review(folder):
    with (folder / "reviews/train.csv").open("a") as file:
        file.write("\nLovely soup.,1")


NEW = " ".join(["train --data reviews --out new", *small_run.OPTIONS])
RESUME = "train --resume run"
PREDICT = "predict run 'good soup'"
OF_FILE = "predict run --file reviews/train.csv"
EVALUATE = "evaluate run --device cpu"

# What is wrong: the line; what the message has to name, which is the culprit, and what was given or
# what to do; and what was done before to the folder in which the command runs.
BAD = {
    # Other kinds of lines are in commands/test_command_line.py, each range in test_config.py.
    "the line of train": {
        "no folder for the run": ("train --data reviews", ["--out", "expected a folder"]),
        "no passes": (f"{NEW} --epochs 0", ["--epochs: ", "or equal to 1, got 0"]),
        "an unknown device": (f"{NEW} --device abacus", ["device: expected a device", "abacus"]),
        "a run below a file": (
            "train --data reviews --out reviews/train.csv/run",
            ["reviews/train.csv: is a file", "--out"],
        ),
        "an unknown preset": ("train --preset lab14", ["--preset", "lab13", "lab14"]),
        "more than the encoder reads": (
            "train --out new --model minilm --max-length 600",
            ["--max-length: ", "510 with"],
        ),
        "a width beyond this machine": (f"{NEW} --embed-dim 10000000000", ["GB", "--embed-dim"]),
        "a width beyond counting": (f"{NEW} --embed-dim 1000000000000000000", ["can't be made"]),
    },
    "where the reviews are": {
        "no such data": (
            "train --data nowhere --out new",
            ["expected a file or folder, and nowhere does not exist"],
        ),
    },
    # Every other fault of a file is in sentiment/test_sources.py.
    "what they hold": {
        "a label that training did not see": (
            NEW,
            ["validation.parquet", "row 1", "expected one of soup, tea, got"],
            lambda folder: (folder / "reviews/train.csv").write_text("text,label\na,tea\nb,soup\n"),
        ),
    },
    "the run folder to write": {
        "a file as run folder": (f"{NEW} --out reviews/train.csv", ["is a file", "--out"]),
        "other files in it": (f"{NEW} --out reviews", ["reviews", "a folder of its own"]),
        "a finished run in it": (f"{NEW} --out run", ["finished run", "another folder"]),
        "a folder that can't be written": (f"{NEW} --out /proc/run", ["/proc/run"]),
    },
    "the run folder to resume": {
        "nothing to resume": ("train --resume nowhere", ["nowhere", "holds no run"]),
        "a finished run to resume": (RESUME, ["run", "finished"]),
        "resuming with a preset": (f"{RESUME} --preset lab13", ["--resume", "got --preset"]),
        "resuming with other options": (
            "train --lr 1 --resume run --model minilm",
            ["--resume: expected no options but --data and --device, got --lr --model"],
        ),
        "resuming without a folder": ("train --resume", ["'--resume' requires an argument"]),
        "a configuration of another version": (
            RESUME,
            ["run: does not hold a run's", "momentum: expected an option"],
            unfinished,
            with_another_option,
        ),
        "a column of a source that has none": (
            "train --data imdb --label-column stars --out new",
            ["--label-column: expected a file or a folder as data, got imdb"],
        ),
        "a column to measure of a source that has none": (
            f"{EVALUATE} --data imdb --text-column review",
            ["--text-column: expected a file or a folder as data, got imdb"],
        ),
        "one column for both": (
            f"{NEW} --label-column text",
            ["--label-column: expected another than --text-column"],
        ),
        "reviews that have changed": (RESUME, ["other reviews"], unfinished, with_another_review),
    },
    "the run folder to read": {
        "nothing to measure": ("evaluate nowhere", ["nowhere", "holds no run"]),
        "no run named": ("evaluate", ["RUN", "--help"]),
        "an unknown split": (f"{EVALUATE} --split all", ["all", "--help"]),
        "a split that is not there": (
            f"{EVALUATE} --split test",
            ["no split test", "train or validation"],
            lambda folder: (folder / "reviews/test.csv").unlink(),
        ),
        "an unfinished run": (EVALUATE, ["no model yet", "--resume run"], unfinished),
        "no run to predict with": ("predict nowhere good", ["nowhere", "holds no run"]),
        "nothing to predict": (
            "predict run",
            ["TEXT: expected one text in quotes, - for", "or --file, got 0 texts"],
        ),
        "two texts": (f"{PREDICT} 'bad soup'", ["in quotes", "got 2 texts"]),
        "a text and a file": (f"{PREDICT} --file x.csv", ["or --file, got both"]),
        "a file without a place": (OF_FILE, ["--out: expected a file to write, got none"]),
        "a place without a file": (f"{PREDICT} --out x.csv", ["--out: expected --file with it"]),
        "JSON of a file": (f"{OF_FILE} --out x.csv --json", ["--json: expected TEXT with it"]),
        "a place in no folder": (f"{OF_FILE} --out no/x.csv", ["--out: there is no folder no"]),
        "a place that is taken": (
            f"{OF_FILE} --out reviews/test.csv",
            ["--out: reviews/test.csv exists"],
        ),
        "answers of a kind that is not written": (
            f"{OF_FILE} --out x.xlsx",
            ["--out: expected a file that ends in .csv, .tsv", "x.xlsx"],
        ),
        "a page in no folder": (f"{PREDICT} --html no/page.html", ["--html", "no folder no"]),
        "a page that is taken": (f"{PREDICT} --html reviews/test.csv", ["--html: ", "exists"]),
        "an empty text": ("predict run ''", ["TEXT: expected a text, got ''"]),
        "a text of spaces": ("predict run ' '", ["TEXT: expected a text, got ' '"]),
        "a page that is a folder": (
            f"{PREDICT} --html reviews",
            ["'--html': File 'reviews' is a directory"],
        ),
        "an unknown option to predict": (f"{PREDICT} --colour", ["--colour", "--help"]),
    },
}


def prepare(finished, folder, changes, monkeypatch):
    """Make a copy of a run and its reviews the working folder."""
    shutil.copytree(finished.parent, folder)
    set_fields(folder / "run", "train", data=str(folder / "reviews"))
    for change in changes:
        change(folder)
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("group", BAD)
def test_bad_input_ends_in_one_line_and_code_2(group, finished, tmp_path, capfd, monkeypatch):
    failures = []
    for i, (what, (text, words, *changes)) in enumerate(BAD[group].items()):
        line = shlex.split(text)
        folder = tmp_path / str(i)
        prepare(finished, folder, changes, monkeypatch)
        monkeypatch.setattr(sys, "argv", line)
        before = contents(folder)
        code = run_command(COMMANDS[line[0]])
        printed = capfd.readouterr()
        checks = {
            "code 2": code == 2,
            "no output": printed.out == "",
            "an error": printed.err.startswith("error: "),
            "one line": printed.err.count("\n") == 1,
            **{word: word in printed.err for word in words},
            "no trace": contents(folder) == before,
        }
        missing = [check for check, holds in checks.items() if not holds]
        if missing:
            failures.append(f"{what}: expected {', '.join(missing)}; got {code}: {printed.err}")
    assert not failures, "\n" + "\n".join(failures)


@pytest.mark.parametrize(
    ("group", "what"),
    [
        ("what they hold", "a label that training did not see"),
        ("the run folder to read", "an unknown split"),
        ("the run folder to read", "a page in no folder"),
    ],
)
def test_the_commands_themselves_do_so_and_debug_tells_where(
    group, what, finished, tmp_path, monkeypatch
):
    text, words, *changes = BAD[group][what]
    command, *options = shlex.split(text)
    prepare(finished, tmp_path / "folder", changes, monkeypatch)
    line = [sys.executable, "-m", f"attention.{command}", *options]
    plain = subprocess.run(line, capture_output=True, text=True)
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (2, "", 1)
    assert all(word in plain.stderr for word in words)
    debug = subprocess.run([*line, "--debug"], capture_output=True, text=True)
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr
    assert all(word in debug.stderr for word in words)

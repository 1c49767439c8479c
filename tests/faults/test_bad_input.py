"""Bad input to any command: code 2, one line that says what to do, no trace left."""

import hashlib
import shutil
import subprocess
import sys

import pytest
import small_run
from run_files import edit_json, make_unfinished

from attention import evaluate, predict, train
from attention._command import run_command

COMMANDS = {"train": train.main, "evaluate": evaluate.main, "predict": predict.main}
GOOD = "text,label\nLovely soup.,1\nCold soup.,0\n"


def new_run(*options):
    return ["train", "--data", "reviews", "--out", "new", *small_run.OPTIONS, *options]


def with_rows(content):
    """Train on reviews whose file holds something else."""

    def prepare(folder):
        (folder / "reviews/train.csv").write_text(content)
        return new_run()

    return prepare


def with_run(damage, *line):
    """Damage a finished run before the command reads it."""

    def prepare(folder):
        damage(folder / "run")
        return list(line)

    return prepare


def with_files(change, *line):
    """Change the folder that the command will run in."""

    def prepare(folder):
        change(folder)
        return list(line)

    return prepare


def truncate(name, length):
    def damage(run):
        path = run / name
        path.write_bytes(path.read_bytes()[:length])

    return damage


def unfinished(damage=lambda run: None):
    def stop_and_damage(run):
        make_unfinished(run)
        damage(run)

    return stop_and_damage


def with_another_option(run):
    edit_json(run / "config.json", lambda content: content["model"].update(momentum=3))


def other_reviews(run):
    with (run.parent / "reviews/train.csv").open("a") as file:
        file.write("\nLovely soup.,1")


RESUME = ["train", "--resume", "run"]
PREDICT = ["predict", "run", "good soup"]
EVALUATE = ["evaluate", "run", "--device", "cpu"]

# What is wrong: the line (or what makes it), and what the message has to name: the culprit, and
# what was given or what to do.
BAD = {
    "the line of train": {
        "no folder for the run": (["train", "--data", "reviews"], ["--out", "expected a folder"]),
        "no passes": (new_run("--epochs", "0"), ["--epochs: ", "or equal to 1, got 0"]),
        "passes in words": (new_run("--epochs", "many"), ["--epochs", "many", "--help"]),
        "an option without its value": (new_run("--lr"), ["--lr", "--help"]),
        "an unknown attention": (new_run("--model", "bert"), ["bert", "--help"]),
        "an unknown preset": (["train", "--preset", "lab14"], ["--preset", "lab13", "lab14"]),
        "an unknown option": (new_run("--learning-rate", "1"), ["--learning-rate", "--help"]),
        "an unknown end": (new_run("--keep", "middle"), ["'middle' is not one of 'tail', 'head'"]),
        "heads that do not divide": (
            new_run("--model", "multihead", "--num-heads", "5"),
            ["--num-heads: expected a divisor of --embed-dim = 6, got 5"],
        ),
        "what another model reads": (new_run("--fine-tune"), ["--fine-tune: expected minilm"]),
        "more than the encoder reads": (
            ["train", "--out", "new", "--model", "minilm", "--max-length", "600"],
            ["--max-length: ", "510 with"],
        ),
        "segments without separator": (
            new_run("--segments", "--no-separator"),
            ["--segments: expected a separator with it"],
        ),
        "a stray word": (new_run("stray"), ["stray", "--help"]),
        "an unknown device": (new_run("--device", "abacus"), ["--device", "abacus"]),
        "a width beyond this machine": (new_run("--embed-dim", str(10**10)), ["GB", "--embed-dim"]),
        "a width beyond counting": (new_run("--embed-dim", str(10**18)), ["can't be made"]),
        "a length beyond this machine": (
            new_run("--positions", "end", "--max-length", str(10**12)),
            ["--max-length: expected 1 to", "got 1000000000000"],
        ),
    },
    "where the reviews are": {
        "no such data": (["train", "--data", "nowhere", "--out", "new"], ["no folder nowhere"]),
        "an empty folder for data": (
            with_files(lambda f: (f / "empty").mkdir(), "train", "--data", "empty", "--out", "new"),
            ["empty", "train.parquet nor train.csv; it has no file"],
        ),
    },
    # Every other fault of a file is in sentiment/test_sources.py, each range in test_config.py.
    "what they hold": {
        "a label in words": (with_rows("text,label\na,1\nb,maybe\n"), ["row 2", "'maybe'"]),
        "half a Parquet file": (
            with_files(lambda f: truncate("validation.parquet", 99)(f / "reviews"), *new_run()),
            ["validation.parquet", "as Parquet"],
        ),
    },
    "the run folder to write": {
        "a file as run folder": (new_run("--out", "reviews/train.csv"), ["is a file", "--out"]),
        "a run folder below a file": (new_run("--out", "reviews/train.csv/run"), ["train.csv"]),
        "other files in it": (new_run("--out", "reviews"), ["reviews", "a folder of its own"]),
        "a finished run in it": (new_run("--out", "run"), ["finished run", "another folder"]),
        "a folder that can't be written": (new_run("--out", "/proc/run"), ["/proc/run"]),
    },
    "the run folder to resume": {
        "nothing to resume": (["train", "--resume", "nowhere"], ["nowhere", "holds no run"]),
        "a finished run to resume": (RESUME, ["run", "finished"]),
        "resuming with a preset": ([*RESUME, "--preset", "lab13"], ["--resume", "got --preset"]),
        "resuming with other options": (
            ["train", "--lr", "1", "--resume", "run", "--model", "minilm"],
            ["--resume: expected no options but --data and --device, got --lr --model"],
        ),
        "resuming without a folder": (["train", "--resume"], ["'--resume' requires an argument"]),
        "a configuration of another version": (
            with_run(unfinished(with_another_option), *RESUME),
            ["run: does not hold a run's", "momentum: expected an option"],
        ),
        "half a checkpoint": (
            with_run(unfinished(truncate("checkpoint/state.safetensors", 1000)), *RESUME),
            ["state.safetensors", "not a checkpoint that can be read"],
        ),
        "reviews that have changed": (
            with_run(unfinished(other_reviews), *RESUME),
            ["other reviews"],
        ),
    },
    "the run folder to read": {
        "nothing to measure": (["evaluate", "nowhere"], ["nowhere", "holds no run"]),
        "no run named": (["evaluate"], ["RUN", "--help"]),
        "an unknown split": ([*EVALUATE, "--split", "all"], ["all", "--help"]),
        "a split that is not there": (
            with_files(lambda f: (f / "reviews/test.csv").unlink(), *EVALUATE),
            ["no split test", "train or validation"],
        ),
        "an unfinished run": (with_run(unfinished(), *EVALUATE), ["no model yet", "--resume run"]),
        "half the weights": (
            with_run(truncate("model.safetensors", 300), *PREDICT),
            ["a classifier that can be read"],
        ),
        "no run to predict with": (["predict", "nowhere", "good"], ["nowhere", "holds no run"]),
        "nothing to predict": (["predict", "run"], ["TEXT", "--help"]),
        "a page in no folder": ([*PREDICT, "--html", "no/page.html"], ["--html", "no folder no"]),
        "a page that is a folder": (
            [*PREDICT, "--html", "reviews"],
            ["'--html': File 'reviews' is a directory"],
        ),
        "an unknown option to predict": ([*PREDICT, "--colour"], ["--colour", "--help"]),
    },
}


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Reviews, and a finished run on them."""
    folder = tmp_path_factory.mktemp("template")
    small_run.train(folder / "run", "--epochs", "1")
    return folder


def copy_template(template, target):
    folder = shutil.copytree(template, target)
    config = folder / "run" / "config.json"
    config.write_text(config.read_text().replace(str(template), str(folder)))
    return folder


def make_line(line, folder):
    command, *options = line(folder) if callable(line) else line
    return command, options


def content(folder):
    return {
        path: path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("group", BAD)
def test_bad_input_ends_in_one_line_and_code_2(group, template, tmp_path, capfd, monkeypatch):
    failures = []
    for i, (what, (line, texts)) in enumerate(BAD[group].items()):
        folder = copy_template(template, tmp_path / str(i))
        monkeypatch.chdir(folder)
        command, options = make_line(line, folder)
        monkeypatch.setattr(sys, "argv", [command, *options])
        before = content(folder)
        code = run_command(COMMANDS[command])
        printed = capfd.readouterr()
        checks = {
            "code 2": code == 2,
            "no output": printed.out == "",
            "an error": printed.err.startswith("error: "),
            "one line": printed.err.count("\n") == 1,
            **{text: text in printed.err for text in texts},
            "no trace": content(folder) == before,
        }
        missing = [check for check, holds in checks.items() if not holds]
        if missing:
            failures.append(f"{what}: expected {', '.join(missing)}; got {code}: {printed.err}")
    assert not failures, "\n" + "\n".join(failures)


@pytest.mark.parametrize(
    ("group", "what"),
    [
        ("what they hold", "a label in words"),
        ("the run folder to read", "an unknown split"),
        ("the run folder to read", "a page in no folder"),
    ],
)
def test_the_commands_themselves_do_so_and_debug_tells_where(
    group, what, template, tmp_path, monkeypatch
):
    folder = copy_template(template, tmp_path / "folder")
    monkeypatch.chdir(folder)
    line, texts = BAD[group][what]
    command, options = make_line(line, folder)
    line = [sys.executable, "-m", f"attention.{command}", *options]
    plain = subprocess.run(line, capture_output=True, text=True)
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (2, "", 1)
    assert all(text in plain.stderr for text in texts)
    debug = subprocess.run([*line, "--debug"], capture_output=True, text=True)
    assert debug.returncode == 1
    assert "Traceback" in debug.stderr
    assert all(text in debug.stderr for text in texts)

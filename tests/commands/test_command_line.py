"""How every command reads its line and fails: one line, code 2, nothing else."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
import torch
from pydantic import BaseModel, ConfigDict, Field
from refusals import check_refused

from attention._command import options_of, parse, run_command, spell
from attention._console import one_line, shown
from attention.sentiment.trainer import TrainingError


class Config(BaseModel):
    """Do something."""

    model_config = ConfigDict(use_attribute_docstrings=True)
    count: Annotated[int, Field(ge=1)] | None = 3
    """How often."""
    kind: Literal["near", "far"] = "near"
    """Where, as :class:`Config` says."""
    out: Path | None = None
    """A folder."""
    loud: bool = False
    """How."""
    inner: dict[str, int] = {}
    """Not for the line."""


NOTES = {"count": "[default: 3]", "kind": "", "out": "", "loud": ""}
PARAMETERS = [
    click.Argument(["source"], type=click.Path(path_type=Path), metavar="SOURCE"),
    *options_of(Config, NOTES, {"kind": "which-kind"}),
]


def read(line):
    return parse("attention.something", line, PARAMETERS, "Do something.")


def test_a_good_line_gives_what_was_given_and_no_more():
    line = ["here", "--count", "7", "--which-kind", "far", "--out", "a b", "--loud"]
    expected = {"source": Path("here"), "count": 7, "which_kind": "far", "out": Path("a b")}
    assert read(line) == expected | {"loud": True}
    assert read(["here", "--no-loud"]) == {"source": Path("here"), "loud": False}
    assert read(["here"]) == {"source": Path("here")}
    assert read(["--", "-5 stars"]) == {"source": Path("-5 stars")}


def test_each_kind_of_bad_line_is_one_sentence_that_names_option_and_value(capsys):
    cases = [
        (["here", "--count", "many"], "'--count'.*'many'[^;]*; --help lists the options$"),
        (["here", "--count"], "'--count' requires an argument"),
        (["here", "--which-kind", "away"], "'--which-kind'.*'away'.*'near', 'far'"),
        (["here", "--cuont", "7"], "'--cuont'.*'--count'"),
        (["here", "--coun", "7"], "'--coun'"),  # no option is taken for another, longer one
        (["here", "stray"], "stray"),
        ([], "Missing argument 'SOURCE'; --help"),
        (["-5 stars"], "'-5'; a text that begins with - goes behind --; --help"),
        (["--", "--never again", "stray  word"], r"\(stray  word\); a text that begins"),
        (["here", "--inner", "7"], "'--inner'"),
    ]
    check_refused(read, cases)
    assert capsys.readouterr() == ("", "")


def test_fields_of_a_configuration_s_error_are_spelled_as_options():
    spelled = "--num-heads: expected a divisor of --embed-dim = 7, got embed_dim"
    assert spell("num_heads: expected a divisor of embed_dim = 7, got embed_dim") == spelled


def test_names_are_shown_as_they_are():
    for name in "reviews.csv", "/a/b-c_d.e", r"C:\data", "text", "Größe", "良い":
        assert shown(name) == name
    for name in "", "a,b", "it's", "two  spaces", "end ", "two\nlines", "tab\t", Path("my reviews"):
        assert shown(name) == repr(str(name))
    for name in "cafe\u0301", "text\u200b", "\xa0text", "\u200etext", "\udce9", "\x1b[31m":
        assert shown(name) == repr(name)
    assert one_line(" a\n\t b  c\td\x1b[0m\udce9 é√ ") == r"a b  c\td\x1b[0m\udce9 é√"


COMMAND = r"""
import sys
from attention._command import run_command

def main(arguments):
    for i in range(100_000 if "many" in arguments else 1):
        print("√ →", i, "caf\udce9")
    if "bad" in arguments:
        raise ValueError("bad")
    return 0

sys.exit(run_command(main))
"""


@pytest.mark.parametrize(
    ("line", "environment", "expected"),
    [
        ("", {"PYTHONIOENCODING": "cp1252"}, (0, r"\u221a \u2192 0 caf\udce9" + "\n", "")),
        ("", {"PYTHONIOENCODING": "utf-8"}, (0, r"√ → 0 caf\udce9" + "\n", "")),
        ("many | head -c 1", {"PYTHONIOENCODING": "ascii"}, (141, "\\", "")),
        ("> /dev/full", {}, (2, "", "error: [Errno 28] No space left on device\n")),
        (">&-", {}, (0, "", "")),
        ("bad >&-", {}, (2, "", "error: bad\n")),
        ("bad 2>&-", {"PYTHONIOENCODING": "utf-8"}, (2, r"√ → 0 caf\udce9" + "\n", "")),
    ],
)
def test_whatever_takes_what_is_printed(tmp_path, line, environment, expected):
    (tmp_path / "command.py").write_text(COMMAND, encoding="utf-8")
    script = f"'{sys.executable}' '{tmp_path}/command.py' {line}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
    )
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_a_lesson_prints_on_any_console():
    lesson = "from attention.plotting import use_style; use_style(); print('σ·√5 → 1 − 2')"
    done = subprocess.run(
        [sys.executable, "-c", lesson],
        capture_output=True,
        encoding="cp1252",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONIOENCODING": "cp1252"},
    )
    assert (done.stdout, done.stderr) == (r"\u03c3·\u221a5 \u2192 1 \u2212 2" + "\n", "")


def test_ctrl_c_while_a_command_imports_is_not_a_traceback(tmp_path):
    slow = "import sys, time; print('here', file=sys.stderr, flush=True); time.sleep(60)"
    (tmp_path / "torch.py").write_text(slow)
    with subprocess.Popen(
        [sys.executable, "-m", "attention.predict", "nowhere", "a"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        # What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr.readline() == "here\n"
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == -signal.SIGINT


def test_help_is_not_an_error(capsys):
    with pytest.raises(SystemExit) as stop:
        read(["--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert "How often. [default: 3]" in printed
    assert "Where, as Config says." in printed


@pytest.mark.parametrize(
    "error",
    [ValueError("bad\n  news"), FileNotFoundError(" bad\r\nnews"), TrainingError("bad news")],
)
def test_errors_are_one_line_and_code_2(error, monkeypatch, capsys):
    def main(arguments):
        raise error

    monkeypatch.setattr(sys, "argv", ["command", "--x"])
    assert run_command(main) == 2
    assert capsys.readouterr() == ("", "error: bad news\n")
    monkeypatch.setattr(sys, "argv", ["command", "--debug", "--x"])
    with pytest.raises(type(error)):
        run_command(main)


@pytest.mark.parametrize(
    "allocate", [lambda: torch.empty(2**60), lambda: bytearray(2**62)], ids=["torch", "python"]
)
def test_out_of_memory_is_one_line(allocate, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["command"])
    assert run_command(lambda arguments: allocate()) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: this needs more memory than is available")
    assert errors.count("\n") == 1


def test_a_warning_is_one_line_without_code(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["command"])
    with warnings.catch_warnings(action="default"):  # which puts back how they are shown
        assert run_command(lambda arguments: warnings.warn("two\nlines", stacklevel=1) or 0) == 0
    assert capsys.readouterr() == ("", "warning: two lines\n")


def test_ctrl_c_is_not_a_traceback(monkeypatch, capsys):
    def main(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["command"])
    assert run_command(main) == 130
    assert capsys.readouterr() == ("", "stopped\n")


def test_faults_of_ours_stay_loud(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(ZeroDivisionError):
        run_command(lambda arguments: 1 // 0)


def test_main_gets_the_line_without_debug(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["command", "a", "--debug", "b"])
    assert run_command(lambda arguments: len(arguments)) == 2
    monkeypatch.setattr(sys, "argv", ["command"])
    assert run_command(lambda arguments: len(arguments)) == 0

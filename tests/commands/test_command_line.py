"""How commands fail: one line, code 2, nothing else."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
import torch
from attention._command import parse, run_command


@dataclass(frozen=True)
class Config:
    """Do something."""

    count: int = 3
    """How often."""
    kind: Literal["near", "far"] = "near"
    """Where."""
    out: Path | None = None
    """A folder."""
    loud: bool = False
    """How."""


def test_a_good_line():
    line = ["--count", "7", "--kind", "far", "--out", "a b", "--loud"]
    assert parse(Config, line) == Config(7, "far", Path("a b"), True)
    assert parse(Config, [], default=Config(5)) == Config(5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--count", "many"], "many"),
        (["--count"], "--count"),
        (["--kind", "away"], "away"),
        (["--cuont", "7"], "--cuont"),
        (["stray"], "stray"),
    ],
)
def test_a_bad_line_is_one_sentence_that_names_the_culprit(line, said, capsys):
    with pytest.raises(ValueError, match="--help") as caught:
        parse(Config, line)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert not set("│╭╮╰╯─") & set(message)
    assert capsys.readouterr() == ("", "")


def test_help_is_no_error(capsys):
    with pytest.raises(SystemExit) as stop:
        parse(Config, ["--help"])
    assert stop.value.code == 0
    assert "How often" in capsys.readouterr().out


@pytest.mark.parametrize("error", [ValueError("bad\n  news"), FileNotFoundError("bad news")])
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
    "ask", [lambda: torch.empty(2**60), lambda: bytearray(2**62)], ids=["torch", "python"]
)
def test_out_of_memory_is_one_line(ask, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["command"])
    assert run_command(lambda arguments: ask()) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: this needs more memory than there is")
    assert said.count("\n") == 1


def test_ctrl_c_is_no_traceback(monkeypatch, capsys):
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

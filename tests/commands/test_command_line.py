"""How every command reads its line and fails: one line, code 2, nothing else."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import pytest
import torch
import tyro
from refusals import check_refused

from attention._command import parse, parse_known, run_command


@dataclass(frozen=True)
class Config:
    """Do something."""

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
    """What to do it with."""
    count: int = 3
    """How often."""
    kind: Literal["near", "far"] = "near"
    """Where."""
    out: Path | None = None
    """A folder."""
    loud: bool = False
    """How."""

    def __post_init__(self):
        if self.count < 1:
            raise ValueError(f"count: expected at least 1, got {self.count}")


def test_a_good_line():
    line = ["here", "--count", "7", "--kind", "far", "--out", "a b", "--loud"]
    assert parse(Config, line) == Config(Path("here"), 7, "far", Path("a b"), True)
    assert parse(Config, ["here"], default=Config(Path("there"), 5)) == Config(Path("here"), 5)
    assert parse_known(Config, ["here", "--more", "1"]) == (Config(Path("here")), ["--more", "1"])


def test_each_kind_of_bad_line_is_one_sentence_that_names_option_and_value(capsys):
    # tyro has no public way to an error without its box. This test tells of a version that reports
    # errors in another way than attention._command expects.
    cases = [
        (["here", "--count", "many"], r"^--count: .*'many'.*; --help lists the options$"),
        (["here", "--count"], r"^--count: expected .*; --help"),
        (["here", "--kind", "away"], r"^--kind: expected one of near, far, got away; --help"),
        (["here", "--kind"], r"^--kind: expected .*; --help"),
        (["here", "--cuont", "7"], r"^expected only known options, got --cuont 7; --help"),
        (["here", "stray"], r"^expected only known options, got stray; --help"),
        ([], r"^expected SOURCE, got none; --help"),
        (["here", "--count", "0"], r"^--count: expected at least 1, got 0; --help"),
    ]
    check_refused(lambda line: parse(Config, line), cases)
    # No option is taken for another, shorter or longer one; and no box is printed besides.
    check_refused(lambda line: parse(Config, line), [(["here", "--coun", "7"], "--coun 7")])
    assert capsys.readouterr() == ("", "")


def test_no_message_has_a_box_or_colours():
    for line in (["--count", "many"], ["--kind", "away"], ["--x"], [], ["a", "b"]):
        with pytest.raises(ValueError, match="--help lists the options") as caught:
            parse(Config, line)
        assert not set("│╭╮╰╯─\033") & set(str(caught.value)), line


def test_help_is_not_an_error(capsys):
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
    "allocate", [lambda: torch.empty(2**60), lambda: bytearray(2**62)], ids=["torch", "python"]
)
def test_out_of_memory_is_one_line(allocate, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["command"])
    assert run_command(lambda arguments: allocate()) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: this needs more memory than is available")
    assert errors.count("\n") == 1


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

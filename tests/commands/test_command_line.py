"""How every command reads its line and fails: one line, code 2, nothing else."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
import torch
from pydantic import BaseModel, ConfigDict, Field
from refusals import check_refused

from attention._command import options_of, parse, run_command, spell


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


PARAMETERS = [
    click.Argument(["source"], type=click.Path(path_type=Path), metavar="SOURCE"),
    *options_of(Config, {"count": "[default: 3]"}, {"kind": "which-kind"}),
]


def read(line):
    return parse("attention.something", line, PARAMETERS, "Do something.")


def test_a_good_line_gives_what_was_given_and_no_more():
    line = ["here", "--count", "7", "--which-kind", "far", "--out", "a b", "--loud"]
    expected = {"source": Path("here"), "count": 7, "which_kind": "far", "out": Path("a b")}
    assert read(line) == expected | {"loud": True}
    assert read(["here", "--no-loud"]) == {"source": Path("here"), "loud": False}
    assert read(["here"]) == {"source": Path("here")}


def test_each_kind_of_bad_line_is_one_sentence_that_names_option_and_value(capsys):
    cases = [
        (["here", "--count", "many"], "'--count'.*'many'.*; --help lists the options$"),
        (["here", "--count"], "'--count' requires an argument"),
        (["here", "--which-kind", "away"], "'--which-kind'.*'away'.*'near', 'far'"),
        (["here", "--cuont", "7"], "'--cuont'.*'--count'"),
        (["here", "--coun", "7"], "'--coun'"),  # no option is taken for another, longer one
        (["here", "stray"], "stray"),
        ([], "SOURCE"),
        (["here", "--inner", "7"], "'--inner'"),
    ]
    check_refused(read, cases)
    assert capsys.readouterr() == ("", "")


def test_fields_of_a_configuration_s_error_are_spelled_as_options():
    spelled = "--num-heads: expected a divisor of --embed-dim = 7, got embed_dim"
    assert spell("num_heads: expected a divisor of embed_dim = 7, got embed_dim") == spelled


def test_help_is_not_an_error(capsys):
    with pytest.raises(SystemExit) as stop:
        read(["--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    assert "How often. [default: 3]" in printed
    assert "Where, as Config says." in printed


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

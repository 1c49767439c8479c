"""How every command of the project reads its arguments, and fails with one line and code 2."""

import contextlib
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from attention._console import one_line, show_any_character
from attention._extras import require

require("train", "click", "pydantic", "safetensors", "tokenizers")

import click  # noqa: E402 — after the check
from pydantic import BaseModel  # noqa: E402 — after the check

__all__ = ["RUN", "click", "options_of", "parse", "run_command", "spell"]

RUN = click.Argument(["run"], type=click.Path(path_type=Path), metavar="RUN")


def parse(
    command: str, arguments: Sequence[str], parameters: Sequence[click.Parameter], about: str
) -> dict[str, Any]:
    """Read a command line, and return what was given and what has a default, by parameter.

    The command is the module that is run, such as ``attention.train``. A wrong line is a ValueError
    that says what is wrong, a request for help a SystemExit.
    """
    program = click.Command(command, params=[*parameters], help=about)
    try:
        with program.make_context(f"python -m {command}", [*arguments]) as context:
            return {name: value for name, value in context.params.items() if value is not None}
    except click.exceptions.Exit as done:
        raise SystemExit(done.exit_code) from None
    except click.ClickException as error:
        message = one_line(error.format_message()).rstrip(".")
        has_text = any(isinstance(each, click.Argument) for each in parameters)
        is_value = type(error) is click.BadParameter  # what is wrong with it has been said
        if has_text and not is_value and any(each.startswith("-") for each in arguments):
            message += "; a text that begins with - goes behind --"
        raise ValueError(f"{message}; --help lists the options") from None


def options_of(
    config: type[BaseModel], notes: Mapping[str, str], names: Mapping[str, str] = {}
) -> list[click.Option]:
    """Make an option of each field that has a note, with the sentence below it as its help.

    Notes say what the help of a field says in addition, and names what an option is called that
    does not have its field's name.
    """
    options = []
    for field, info in config.model_fields.items():
        if field not in notes:
            continue
        kind = _simple_type(info.annotation)
        name = names.get(field, field).replace("_", "-")
        # How Sphinx links a name is not for a terminal.
        described = re.sub(r":\w+:`~?([^`]*)`", r"\1", info.description or "")
        options.append(
            click.Option(
                [f"--{name}/--no-{name}" if kind is bool else f"--{name}"],
                type=click.BOOL if kind is bool else kind,
                default=None,
                help=" ".join([*described.split(), *notes[field].split()]),
            )
        )
    return options


def _simple_type(annotation: Any) -> Any:
    """Find the type in which the command line reads a field."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        return _simple_type(get_args(annotation)[0])  # beside None, or what restricts it
    if get_origin(annotation) is Literal:
        return click.Choice(get_args(annotation))
    return click.Path(path_type=Path) if annotation is Path else annotation


def spell(message: str) -> str:
    """Spell the fields in a configuration's error, such as ``max_length: …``, as options."""
    expected, comma, value = message.partition(", got ")
    names = r"^[a-z_]+(?=: )|\b[a-z]+(_[a-z]+)+\b"
    return re.sub(names, lambda m: "--" + m[0].replace("_", "-"), expected) + comma + value


def run_command(main: Callable[[Sequence[str]], int]) -> int:
    """Run a command with this process's arguments; ``--debug`` shows an error's traceback.

    The exit code is what ``main`` returns, or 2 after invalid input, 130 after Ctrl-C, or 141 if
    another program stopped reading what this one prints.
    """
    # What is printed for a closed stderr would go to stdout.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 — it stays open, as stdout does
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 — likewise
    show_any_character()
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if len(arguments) < len(sys.argv) - 1:
        return main(arguments)
    warnings.showwarning = _show_warning
    try:
        if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:  # as attention/__init__.py leaves it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return main(arguments)
        finally:
            _flush()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr, flush=True)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        return 128 + 13  # SIGPIPE, a signal that Windows lacks
    except (ValueError, OSError) as error:
        return _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        # torch has no error of its own for a CPU that is out of memory.
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else "no memory left"
        return _fail(f"this needs more memory than is available; use less input at once: {reason}")


def _show_warning(message: Warning | str, *place: Any, **others: Any) -> None:
    """Print a warning as a line for people, without the place in the code that it comes from."""
    with contextlib.suppress(OSError):
        print("warning: " + one_line(str(message)), file=sys.stderr, flush=True)


def _flush() -> None:
    """Write what was printed; what nobody takes goes nowhere, or Python's end would fail, too."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _fail(reason: str) -> int:
    print("error: " + one_line(reason), file=sys.stderr, flush=True)
    return 2

"""How every command of the project reads its arguments, and fails with one line and code 2."""

import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from attention._extras import require

require("train", "tyro")

import tyro  # noqa: E402 — after the check
from tyro import _errors as tyro_errors  # noqa: E402 — private, but no other way around its box

# What the help of commands shows for an option, in addition to its type.
Positional, arg = tyro.conf.Positional, tyro.conf.arg

Config = TypeVar("Config")


class LineError(ValueError):
    """The command line can't be read; the message says why."""


def parse(config: type[Config], arguments: Sequence[str], **options: Any) -> Config:
    """Make a configuration from the command line.

    Args:
        config: The dataclass whose fields are the options.
        arguments: The command line, without the program.
        options: Options for :func:`tyro.cli`: a name, a description, defaults.

    Returns:
        The configuration.

    Raises:
        ValueError: If the line is wrong; the message says what is wrong.
        SystemExit: If help was requested.
    """
    with tyro_errors.on_parse_error(_refuse):
        try:
            parsed: Config = tyro.cli(config, args=arguments, **options)
        except LineError:
            raise
        except ValueError as error:  # the configuration's own
            raise ValueError(_with_options(str(error))) from None
    return parsed


def parse_known(
    config: type[Config], arguments: Sequence[str], **options: Any
) -> tuple[Config, list[str]]:
    """Make a configuration from the options that it knows, and return the rest of the line.

    Arguments, errors and options are those of :func:`parse`.
    """
    with tyro_errors.on_parse_error(_refuse):
        return tyro.cli(config, args=arguments, return_unknown_args=True, **options)


def _refuse(event: tyro_errors.ParseErrorEvent) -> NoReturn:
    """Say in one line what tyro found wrong."""
    match event:
        case tyro_errors.InvalidChoice():
            name, choices = event.argument.display_name(), ", ".join(event.choices)
            message = f"{name}: expected one of {choices}, got {event.value}"
        case tyro_errors.BadValue() if event.argument.is_positional():
            metavar = event.argument.lowered.metavar
            message = f"expected {metavar}, got none; an unknown option may have taken it"
        case tyro_errors.BadValue():
            message = f"{event.argument.display_name()}: expected a value, got none"
        case tyro_errors.UnrecognizedArgs():
            message = f"expected only known options, got {' '.join(event.tokens)}"
        case tyro_errors.MissingArgs():
            arguments = [each.arg for each in event.missing_arguments]
            names = [
                str(each.lowered.metavar) if each.is_positional() else each.display_name()
                for each in arguments
            ]
            message = f"expected {' and '.join(names)}, got none"
        case tyro_errors.InstantiationFailure() if event.argument is not None:
            name, kind = event.argument.display_name(), event.argument.lowered.metavar
            message = f"{name}: expected {kind}; {event.message.splitlines()[0]}"
        case tyro_errors.InstantiationFailure():
            message = _with_options(event.message)
        case _:
            message = f"this command line can't be read: {type(event).__name__}"
    raise LineError(f"{message}; --help lists the options")


def _with_options(message: str) -> str:
    """Spell the fields in a configuration's error, such as ``max_length: …``, as options."""
    expected, comma, value = message.partition(", got ")
    names = r"^[a-z_]+(?=: )|\b[a-z]+(_[a-z]+)+\b"
    return re.sub(names, lambda m: "--" + m[0].replace("_", "-"), expected) + comma + value


def run_command(main: Callable[[Sequence[str]], int]) -> int:
    """Run a command with the arguments of this process; ``--debug`` shows an error's traceback.

    Args:
        main: Takes the arguments, returns the exit code.

    Returns:
        What ``main`` returns, or 2 after invalid input, or 130 after Ctrl-C.
    """
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    if len(arguments) < len(sys.argv) - 1:
        return main(arguments)
    try:
        return main(arguments)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr, flush=True)
        return 128 + signal.SIGINT
    except (ValueError, OSError) as error:
        return _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        # torch has no error of its own for a CPU that is out of memory.
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else "no memory left"
        return _fail(f"this needs more memory than is available; use less input at once: {reason}")


def _fail(reason: str) -> int:
    print("error: " + " ".join(reason.split()), file=sys.stderr, flush=True)
    return 2

"""How every command of the project reads its line and fails: one sentence, exit code 2."""

import contextlib
import io
import re
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import tyro

Config = TypeVar("Config")


def parse(config: type[Config], arguments: Sequence[str], **options: Any) -> Config:
    """Make a configuration from the command line.

    Args:
        config: The dataclass whose fields are the options.
        arguments: The line, without the program.
        options: For :func:`tyro.cli`: a name, a description, defaults.

    Returns:
        The configuration.

    Raises:
        ValueError: If the line is wrong; the message says what is.
        SystemExit: If help was asked for.
    """
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            parsed: Config = tyro.cli(config, args=arguments, **options)
            return parsed
        except SystemExit as stop:
            if not stop.code:
                raise
    # tyro draws a box: a rule with a title, the cause, a thinner rule, advice.
    inside = re.sub(r"[│╭╮╰╯]", "", said.getvalue()).split("\n ──")[0]
    cause = [line.strip() for line in inside.splitlines()[1:] if line.strip(" ─")]
    raise ValueError(" ".join(cause) + "; --help lists the options")


def run_command(main: Callable[[Sequence[str]], int]) -> int:
    """Run a command on this process's arguments; ``--debug`` shows where an error came from.

    Args:
        main: Takes the arguments, returns the exit code.

    Returns:
        What ``main`` returns; 2 where the input was bad, 130 where Ctrl-C came.
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
        return _fail(f"this needs more memory than there is; give less at a time: {reason}")


def _fail(reason: str) -> int:
    print("error: " + " ".join(reason.split()), file=sys.stderr, flush=True)
    return 2

"""What people read on a terminal: names, messages, and characters that it may not have."""

import io
import re
import sys
from pathlib import Path


def shown(name: str | Path) -> str:
    """Spell a name or a path, in quotes and with escapes unless it can't be mistaken."""
    return str(name) if re.fullmatch(r"[\w./\\:+@%=~-]+", str(name)) else repr(str(name))


def one_line(message: str) -> str:
    """Join the lines of a message, and spell what a terminal does not show."""
    joined = re.sub(r"\s*[\r\n]\s*", " ", message.strip())
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in joined)


def spelled(text: str) -> str:
    """Spell what would control a terminal, or has no UTF-8, rather than be shown."""
    return re.sub("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", lambda m: repr(m[0])[1:-1], text)


def show_any_character() -> None:
    r"""Let a console that lacks a character, such as Windows' with √, show its escape, ``\u221a``.

    Python would end the program.
    """
    for stream in sys.stdout, sys.stderr:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

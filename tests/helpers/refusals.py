"""Check many inputs that must be refused in one test, and report each that is not."""

import re
import reprlib


def check_refused(action, cases, error=ValueError):
    """Call a function with the arguments of each case, and compare the error's message.

    Args:
        action: The function to call.
        cases: Each has the arguments, and last what the message must say, as a regular expression
            or as a list of texts that it must all contain.
        error: The type of the error.
    """
    assert cases
    failures = []
    for *arguments, expected in cases:
        try:
            action(*arguments)
        except Exception as caught:
            message = str(caught)
            if not isinstance(caught, error):
                failures.append(f"{_short(arguments)}: {type(caught).__name__}: {message}")
            elif "\n" in message:
                failures.append(f"{_short(arguments)}: more than one line: {message}")
            elif not _says(message, expected):
                failures.append(f"{_short(arguments)}: expected {expected}, got: {message}")
        else:
            failures.append(f"{_short(arguments)}: is accepted")
    assert not failures, "\n" + "\n".join(failures)


def _short(arguments):
    return ", ".join(map(reprlib.repr, arguments))


def _says(message, expected):
    if isinstance(expected, str):
        return re.search(expected, message, re.DOTALL)
    return all(text in message for text in expected)

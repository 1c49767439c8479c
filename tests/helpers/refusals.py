"""Many inputs that must be refused, in one test that reports every one that is not."""

import re
import reprlib


def check_refused(action, cases, error=ValueError):
    """Do an action with each case's arguments, and compare the error's message.

    Args:
        action: Called with a case's arguments.
        cases: Each the arguments, and last what the message must say: a regular expression, or a
            list of texts that must all be in it.
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

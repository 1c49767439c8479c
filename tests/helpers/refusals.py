"""Check many inputs that must be refused in one test, and report each that is not."""

import re
import reprlib


def check_refused(action, cases, error=ValueError):
    """Call a function with the arguments of each case, and compare the one line of its error.

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
            message = ""
        except error as caught:
            message = str(caught)
        if isinstance(expected, str):
            is_said = re.search(expected, message, re.DOTALL)
        else:
            is_said = all(text in message for text in expected)
        if not message or "\n" in message or not is_said:
            failures.append(f"{reprlib.repr(arguments)}: expected {expected}, got {message!r}")
    assert not failures, "\n".join(failures)

"""Check many wrong calls in one test, and report each whose error is not the one expected."""


def unexpected_errors(cases):
    """List the cases whose error has another type or beginning, or lacks some words.

    A case is (what is wrong, the call, the type of its error, how its message begins, the words
    that the message must also contain).
    """
    unexpected = []
    for description, call, error, beginning, words in cases:
        try:
            call()
        except Exception as caught:
            message = str(caught)
            if type(caught) is not error:
                unexpected.append(f"{description}: {type(caught).__name__}: {message}")
            elif not message.startswith(beginning) or any(word not in message for word in words):
                unexpected.append(f"{description}: {message}")
        else:
            unexpected.append(f"{description}: no error")
    return unexpected

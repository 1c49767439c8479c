"""Import what needs more than torch when it is first used, or name the extra that it needs."""

import importlib
import importlib.util
import sys
from collections.abc import Callable


def require(extra: str, *modules: str) -> None:
    """Refuse to continue if an extra is not installed.

    Args:
        extra: The name of the extra in pyproject.toml.
        modules: The modules that it installs.

    Raises:
        ImportError: If one of them is missing; the message says how to install the extra.
        SystemExit: With one line and code 2 instead, if a command of ours is what is run.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        reason = (
            f"this part of attention needs {', '.join(missing)}, which the extra [{extra}] "
            f"installs: pip install 'attention-tutorial[{extra}]'"
        )
        program = getattr(sys.modules["__main__"], "__spec__", None)
        if program is None or not program.name.startswith("attention."):
            raise ImportError(reason)
        print(f"error: {reason}", file=sys.stderr)
        raise SystemExit(2)


def lazily(package: str, homes: dict[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package whose names are imported when they are first used.

    Args:
        package: The name of the package.
        homes: For each name, the module that it comes from.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return load

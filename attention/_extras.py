"""Import what needs more than torch when it is first used, or name the extra that it needs."""

import importlib
import importlib.util
import sys
from collections.abc import Callable


def require(extra: str, *modules: str) -> None:
    """Refuse to continue if a module is missing, and say which extra in pyproject.toml installs it.

    It is an ImportError or, if a command of ours is what is run, one line and exit code 2.
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
        if sys.stderr:  # else print takes stdout
            print(f"error: {reason}", file=sys.stderr)
        raise SystemExit(2)


def lazily(package: str, homes: dict[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package that imports each name from its home at first use."""

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return load

"""What needs more than torch is loaded when it is first used, and an error names its extra."""

import importlib
import importlib.util
from collections.abc import Callable


def require(extra: str, *modules: str) -> None:
    """Refuse to go on where an extra is not installed.

    Args:
        extra: Its name in pyproject.toml.
        modules: What it brings, as one imports it.

    Raises:
        ImportError: If one of them is missing; the message says how to install the extra.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"this part of attention needs {', '.join(missing)}, which the extra [{extra}] brings: "
            f"pip install 'attention-tutorial[{extra}]'"
        )


def lazily(package: str, homes: dict[str, str]) -> Callable[[str], object]:
    """Make the ``__getattr__`` of a package whose names are imported when they are first used.

    Args:
        package: The package's name.
        homes: The module that each name comes from.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return load

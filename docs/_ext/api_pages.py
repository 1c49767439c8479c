"""Keep the API pages complete, and tie each entry to the pages that use it."""

import dataclasses
import inspect
from typing import Any, get_type_hints

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import attention
from attention.sentiment.config import ModelConfig, TrainConfig

logger = logging.getLogger(__name__)


def list_pages_that_use_it(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Close each entry with the gallery pages that use the object."""
    uses = app.srcdir / "gallery" / "uses" / f"{name}.examples"
    if what in ("class", "function") and uses.exists() and uses.read_text().strip():
        lines += ["", ".. rubric:: Pages that use it", "", f".. minigallery:: {name}", ""]


def keep_sentences(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Hide prose from napoleon, which takes what stands before a first colon for a type.

    Types stand in signatures here. An escaped space is a first line without a colon, and empty.
    """
    if what in ("attribute", "data", "property"):
        lines.insert(0, "\\ ")
    elif "Returns:" in lines:
        lines.insert(lines.index("Returns:") + 1, "    \\ ")


class Made:
    """Stand in a signature for a default that is made anew for each object."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"{self.kind.__name__}()"


def show_plain_types(kind: type) -> None:
    """Hide from autodoc what only the command line reads of a field's type."""
    hints = get_type_hints(kind)  # without what Annotated adds
    kind.__annotations__ = {name: hints[name] for name in kind.__annotations__}
    factories = {
        field.name for field in dataclasses.fields(kind) if callable(field.default_factory)
    }
    parameters = [
        each.replace(
            annotation=hints[name], default=Made(hints[name]) if name in factories else each.default
        )
        for name, each in inspect.signature(kind).parameters.items()
    ]
    kind.__signature__ = inspect.Signature(parameters)


def miss_nothing(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a public name that no page documents."""
    documented = env.domains.python_domain.objects
    for name in attention.__all__:
        if f"attention.{name}" not in documented:
            logger.warning("api: attention.%s is on no page", name)


def setup(app: Sphinx) -> dict[str, bool]:
    show_plain_types(ModelConfig)
    show_plain_types(TrainConfig)
    app.connect("autodoc-process-docstring", keep_sentences, priority=100)  # napoleon: 500
    app.connect("autodoc-process-docstring", list_pages_that_use_it, priority=900)
    app.connect("env-check-consistency", miss_nothing)
    return {"parallel_read_safe": True}

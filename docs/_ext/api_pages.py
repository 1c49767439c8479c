"""Keep the API pages complete, and tie each entry to the pages that use it."""

import inspect
from typing import Any, get_type_hints

from lessons import lessons
from pydantic import BaseModel
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import attention
from attention.sentiment.config import Config, ModelConfig, TrainConfig

logger = logging.getLogger(__name__)


def list_pages_that_use_it(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Close each entry with the lessons that use the object."""
    uses = app.srcdir / "gallery" / "uses" / f"{name}.examples"
    cards = uses.read_text() if what in ("class", "function") and uses.exists() else ""
    if pages := [page for page in lessons() if f"`/{page}`" in cards]:
        lines += ["", ".. rubric:: Pages that use it", "", *(f"- :doc:`/{page}`" for page in pages)]


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


def show_plain_types(kind: type[BaseModel]) -> None:
    """Hide from autodoc the ranges that pydantic reads in a field's type, and its signature."""
    hints = get_type_hints(kind)  # without what Annotated adds
    kind.__annotations__ = {name: hints[name] for name in kind.__annotations__}
    fields = inspect.Parameter("fields", inspect.Parameter.VAR_KEYWORD)
    kind.__signature__ = inspect.Signature([fields])


for kind in (Config, ModelConfig, TrainConfig):  # once, though the builders set up one by one
    show_plain_types(kind)


def miss_nothing(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a public name that no page documents."""
    documented = env.domains.python_domain.objects
    for name in attention.__all__:
        home = getattr(attention, name).__module__
        if not {f"attention.{name}", f"{home}.{name}"} & documented.keys():
            logger.warning("api: attention.%s is on no page", name)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", keep_sentences, priority=100)  # napoleon: 500
    app.connect("autodoc-process-docstring", list_pages_that_use_it, priority=900)
    app.connect("env-check-consistency", miss_nothing)
    return {"parallel_read_safe": True}

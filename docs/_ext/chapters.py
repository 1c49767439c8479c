"""Say above each lesson's title in which part it stands, at what place, and how long it takes."""

import copy
import html
from collections.abc import Iterator
from typing import Any

from lessons import PARTS, lessons
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def places(env: BuildEnvironment) -> Iterator[tuple[str, str, int, int]]:
    """List the pages of each part as the home page orders them: page, part, number, last."""
    for tree in env.get_doctree(env.config.root_doc).findall(addnodes.toctree):
        if tree["caption"] in PARTS.values():
            pages = tree["includefiles"]
            for number, page in enumerate(pages, 1):
                yield page, tree["caption"], number, len(pages)


def keep_places(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Remember the parts before the first page is written.

    Every page shows all others in its sidebar, in their order and by their titles. So all are
    written again if one came, went, moved or got another title.
    """
    env.attention_chapters = {page: place for page, *place in places(env)}
    titles = {page: title.astext() for page, title in env.titles.items()}
    shown = env.toctree_includes, titles
    moved = getattr(env, "attention_sidebar", shown) != shown
    env.attention_sidebar = copy.deepcopy(shown)
    return sorted(env.found_docs) if moved else []


def add_chapter(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Put the part, with a link to it, and the lesson's number above the page."""
    place = getattr(app.env, "attention_chapters", {}).get(page)
    if place is None or "body" not in context:
        return
    part, number, last = place
    lesson = lessons().get(page)
    minutes = f" · {lesson.minutes} minutes" if lesson else ""
    anchor = part.lower().replace(" ", "-")
    address = app.builder.get_relative_uri(page, "gallery/index")
    context["body"] = (
        f'<p class="chapter"><a href="{address}#{anchor}">{html.escape(part)}</a> · '
        f"{number} of {last}{minutes}</p>\n{context['body']}"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("env-updated", keep_places)
    app.connect("html-page-context", add_chapter, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

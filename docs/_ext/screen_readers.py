"""Mend markup of Sphinx and docutils that checkers of accessibility find wrong."""

import re
from typing import Any

from sphinx.application import Sphinx

# A long signature's parameters, a line each: a list of definitions without a term to define.
SIGNATURE = re.compile(r'(<span class="sig-paren">\(</span>)\s*<dl>(.*?)</dl>', re.DOTALL)


def as_lines(found: re.Match[str]) -> str:
    parameters = re.sub("<(/?)dd>", r"<\1span>", found[2])
    return found[1] + parameters.replace("<span><em", '<span class="sig-line"><em')


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if body := context.get("body"):
        body = body.replace('role="doc-biblioentry"', 'role="listitem"')  # the former is deprecated
        context["body"] = SIGNATURE.sub(as_lines, body)
    # Sphinx calls the captions of the sidebar headings, and of no level.
    if tree := context.get("furo_navigation_tree"):
        context["furo_navigation_tree"] = tree.replace(' role="heading"', "")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend, priority=600)  # the theme's tree: 500
    return {"parallel_read_safe": True}

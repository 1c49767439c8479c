"""Mend markup of Sphinx and docutils that checkers of accessibility find wrong."""

import re
from typing import Any

from sphinx.application import Sphinx

# A long signature's parameters, a line each: a list of definitions without a term to define.
SIGNATURE = re.compile(r'(<span class="sig-paren">\(</span>)\s*<dl>(.*?)</dl>', re.DOTALL)


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if not (body := context.get("body")):
        return
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')  # the former is deprecated
    context["body"] = SIGNATURE.sub(
        lambda found: (
            found[1]
            + re.sub("<(/?)dd>", r"<\1span>", found[2]).replace(
                "<span><em", '<span class="sig-line"><em'
            )
        ),
        body,
    )


def fix_navigation(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Leave the captions of the sidebar text: Sphinx calls them headings, and of no level."""
    if tree := context.get("furo_navigation_tree"):
        context["furo_navigation_tree"] = tree.replace(' role="heading"', "")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend)
    app.connect("html-page-context", fix_navigation, priority=600)  # the theme's tree: 500
    return {"parallel_read_safe": True}

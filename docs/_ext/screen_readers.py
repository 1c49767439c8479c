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


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True}

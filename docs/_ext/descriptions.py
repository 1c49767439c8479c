"""Describe each page in its own first sentences, for search engines and for whoever shares it.

``sphinxext.opengraph`` would begin with whatever stands first, which on every lesson is how to
download it (a paragraph with a class of its own), and would cut in the middle of a word. It takes
what a page's metadata say instead.
"""

import html
import re
import textwrap
from typing import Any

from docutils import nodes
from gallery_pages import without_tex
from sphinx import addnodes
from sphinx.application import Sphinx

LENGTH = 200  # about what a search engine shows
FIELD = "og:description"
SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+(?=[A-Z“])")


def opening(page: nodes.document) -> str:
    """Join the paragraphs between a page's title and its next heading.

    What names another page by the other's own title is not known while this page is read, so the
    opening ends before it.
    """
    texts: list[str] = []
    titles = 0
    for node in page.findall():
        titles += isinstance(node, nodes.title)
        if titles > 1:
            break
        in_prose = isinstance(node.parent, nodes.section | nodes.container)
        if isinstance(node, nodes.paragraph) and in_prose and not node["classes"]:
            text = ""
            for part in node.findall():
                if isinstance(part, addnodes.pending_xref) and not part.get("refexplicit"):
                    return " ".join([*texts, text])
                if isinstance(part, nodes.Text) and not isinstance(part.parent, nodes.raw):
                    text += without_tex(part) if isinstance(part.parent, nodes.math) else part
            texts.append(text)
    return " ".join(texts)


def describe(page: nodes.document) -> str:
    """Return a page's first sentences, as many as fit, or the beginning of a longer one."""
    text = " ".join(opening(page).split())
    fitting = ""
    for sentence in SENTENCE_ENDS.split(text):
        longer = f"{fitting} {sentence}".strip()
        if len(longer) > LENGTH or not sentence.endswith((".", "?", "!")):
            break
        fitting = longer
    return fitting or textwrap.shorten(text, LENGTH, placeholder=" …")


def keep_description(app: Sphinx, page: nodes.document) -> None:
    """Write the description where Sphinx keeps what a page says of itself."""
    if text := describe(page):
        app.env.metadata[app.env.docname].setdefault(FIELD, html.escape(text))


def add_tag(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    if text := (context.get("meta") or {}).get(FIELD):
        context["metatags"] += f'<meta name="description" content="{text}">\n'


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", keep_description)
    app.connect("html-page-context", add_tag, priority=400)  # opengraph, at 500, sees there is one
    return {"parallel_read_safe": True}

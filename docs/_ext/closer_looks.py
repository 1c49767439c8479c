"""Fold what a first reading leaves out: closer looks.

A closer look is a section whose title begins with "Closer look: " and then says what one gains by
it. On the site its heading is the summary of a ``<details>``, which is open as it is written, for
paper and for a page without scripts; ``site.js`` folds it, and adds the switch for all of them. In
the book, the notebook and the script it is a section like any other.
"""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

PREFIX = "Closer look: "


def fold_closer_looks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put each closer look into a fold; the table of contents knows its heading."""
    if app.builder.name != "html":
        return
    for section in list(doctree.findall(nodes.section)):
        title = section.next_node(nodes.title)  # which a list of functions lacks
        if title and title.astext().startswith(PREFIX):
            # A heading of a new kind below it, as the first "---" of a lesson after a "~~~", is
            # one level deeper, and the rest of the lesson would be in the fold.
            if inner := next(section.findall(nodes.section, include_self=False), None):
                heading = next(inner.findall(nodes.title)).astext()
                message = f"{docname}: “{title.astext()}” would fold the section “{heading}” too"
                raise ExtensionError(message)
            start = '<details class="closer-look" open><summary>'
            parts = (start, title, "</summary>", *section[section.index(title) + 1 :], "</details>")
            section[:] = [
                nodes.raw("", part, format="html") if isinstance(part, str) else part
                for part in parts
            ]


def setup(app: Sphinx) -> dict[str, bool]:
    # After the notebook was made from the page, at 900.
    app.connect("doctree-resolved", fold_closer_looks, priority=960)
    return {"parallel_read_safe": True}

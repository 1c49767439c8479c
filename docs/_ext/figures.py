"""Make a lesson's pictures figures with captions, and fold the code that draws them or sets up.

Sphinx-Gallery puts a cell's pictures under its code and knows no captions. In our lessons the
paragraph after them begins with an emphasised "Figure 3.": picture and paragraph become one
``<figure>``. The code above is a closed ``<details>``, which every browser opens by itself, from
the keyboard or when its own search finds something inside; ``site.css`` opens it on paper.
"""

import re
from pathlib import PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator
from sphinx_gallery._doctree_links import code_links_block
from sphinx_gallery.directives import imgsgnode

logger = logging.getLogger(__name__)

NUMBER = re.compile(r"Figure (\d+)\.")
DRAWS = re.compile(r"\bplt\.(subplots|figure)\(|\.set_label\(")
SUMMARY = "Show the code of this figure"
SETUP = "Show the setup ({} lines)"  # what a lesson imports, before it says anything
PRINTED = "sphx-glr-script-out"
LINE_BREAKS = re.compile(r"(<br ?/?>\s*)+\Z")


class lesson_figure(nodes.figure):
    """A figure whose caption has its number, so that Sphinx gives it none."""


class fold(nodes.General, nodes.Element):
    """What the page shows on request, below the line ``summary``; more attributes in ``data``."""


class folded_code(fold):
    """Code that the page shows on request."""


def visit_fold(translator: HTML5Translator, node: fold) -> None:
    start = translator.starttag(node, "details", "", **node.get("data", {}))
    translator.body.append(f"{start}<summary>{translator.encode(node['summary'])}</summary>\n")


def depart_fold(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append("</details>\n")


def is_lesson(docname: str) -> bool:
    return PurePosixPath(docname).match("gallery/*/plot_*")


def is_literal(node: nodes.Node) -> bool:
    """Tell code of any kind, also with the links that Sphinx-Gallery puts into it later."""
    return isinstance(node, nodes.literal_block | code_links_block)


def is_code(node: nodes.Node) -> bool:
    """Tell a cell of the script: Sphinx-Gallery alone writes its language with a capital."""
    return is_literal(node) and node.get("language", node.get("lang")) == "Python"


def is_picture(node: nodes.Node) -> bool:
    """Tell what a cell drew: one picture, several in a row, or what draws itself as HTML."""
    if isinstance(node, nodes.raw):
        return "rendered_html" in node.astext()
    pictures = (imgsgnode, nodes.image)
    if isinstance(node, nodes.bullet_list):
        return any(node.findall(lambda part: isinstance(part, pictures)))
    return isinstance(node, pictures)


def is_output(node: nodes.Node) -> bool:
    """Tell what belongs to the cell above: pictures, printed lines, HTML, invisible remarks."""
    printed = isinstance(node, nodes.Element) and PRINTED in node.get("classes", [])
    return printed or is_picture(node) or isinstance(node, nodes.comment | nodes.raw)


def figure_number(node: nodes.Node) -> int | None:
    """Read the number with which a caption begins; None where no caption is."""
    if not (isinstance(node, nodes.paragraph) and node.children):
        return None
    found = isinstance(node[0], nodes.emphasis) and NUMBER.match(node[0].astext())
    return int(found[1]) if found else None


def outputs_before(paragraph: nodes.paragraph) -> list[nodes.Node]:
    """List what the cell right before a paragraph left on the page, in its order."""
    siblings = paragraph.parent.children
    end = start = siblings.index(paragraph)
    while start and is_output(siblings[start - 1]):
        start -= 1
    return siblings[start:end]


def make_figures(app: Sphinx, doctree: nodes.document) -> None:
    """Join each caption with the pictures above it, and put the code that draws into a fold."""
    docname = app.env.docname
    if not is_lesson(docname):
        return
    for i, block in enumerate(list(doctree.findall(is_code))):
        code = block.astext().strip()
        draws, imports = DRAWS.search(code), i == 0 and code.startswith(("import ", "from "))
        if draws or imports:
            summary = SUMMARY if draws else SETUP.format(len(code.splitlines()))
            folded = folded_code("", classes=["folded-code"], summary=summary)
            block.replace_self(folded)
            folded += block
    executed = any(is_picture(node) for node in doctree.findall())
    numbers = []
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if (number := figure_number(paragraph)) is None:
            continue
        numbers.append(number)
        pictures = [node for node in outputs_before(paragraph) if is_picture(node)]
        if not pictures:
            if executed:
                logger.warning(
                    "figure %s: no picture above its caption", number, location=paragraph
                )
            continue
        figure = lesson_figure("", ids=[f"figure-{number}"], classes=["lesson-figure"])
        for picture in pictures:  # what the cell printed stays where it is, now above the figure
            picture.parent.remove(picture)
            if isinstance(picture, nodes.raw):
                text = LINE_BREAKS.sub("", picture.astext())
                picture = nodes.raw("", text, format="html")
            figure += picture
        figure += nodes.caption("", "", *paragraph.children)
        paragraph.replace_self(figure)
    if numbers != list(range(1, len(numbers) + 1)):
        logger.warning("figures are numbered %s, not 1, 2, 3, …", numbers, location=docname)


def leave_out_windows(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take out the cells that open a script's windows, for which a page has no use."""
    for block in list(doctree.findall(is_code)):
        if block.astext().strip() == "plt.show()":
            block.parent.remove(block)


def number_by_page(app: Sphinx, env: BuildEnvironment) -> None:
    """Let figures of every other page begin with 1, too; Sphinx counts through the whole site."""
    for numbers in env.toc_fignumbers.values():
        figures = numbers.get("figure", {})
        for i, name in enumerate(figures, 1):
            figures[name] = (i,)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(fold, html=(visit_fold, depart_fold))
    app.connect("doctree-read", make_figures)
    # Its notebook, which has them, was made from the page at 900.
    app.connect("doctree-resolved", leave_out_windows, priority=950)
    app.connect("env-check-consistency", number_by_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

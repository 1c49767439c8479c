"""Write each lesson's notebook from its page: the same text as Markdown, the same code, no role.

Sphinx-Gallery converts a script's text by patterns, which leave directives, roles and tables as
they are. Here the text has been read by Sphinx already, so that a term, a citation or an equation
is known as such, and links lead to the site where its address is known.
"""

import json
import os
import re
import shutil
from html import escape
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from figures import folded_code, is_code, is_lesson, is_literal, is_output
from mathml import aligned
from predictions import (
    TITLE,
    VERDICTS,
    answer_text,
    predicted_answer,
    predicted_result,
    prediction,
)
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_gallery.notebook import add_code_cell, add_markdown_cell, jupyter_notebook_skeleton
from sphinx_gallery.py_source_parser import (
    FLAG_START,
    Block,
    remove_ignore_blocks,
    split_code_and_text_blocks,
)
from wheel_of_the_site import notebook_cell

logger = logging.getLogger(__name__)

FLAGS = re.compile(rf"{FLAG_START}sphinx_gallery_\w+.*\n", re.MULTILINE)
SPECIAL = re.compile(r"[\\`*$<]|(?<!\w)_|_(?!\w)|\](?=[(\[])")
LISTED = re.compile(r"^(\d+)([.)] )|^([-+#>|] ?)")
# What belongs to the page alone.
ONLY_ON_THE_PAGE = ("run-it-yourself", "sphx-glr-script-out")
BOXES = nodes.container | nodes.compound | addnodes.only
BOXES |= nodes.definition_list | nodes.definition_list_item | nodes.definition


class Markdown:
    """Write parts of a page as Markdown; links start from its address, where the site has one."""

    def __init__(self, address: str = "") -> None:
        self.address = address

    def inline(self, node: nodes.Node) -> str:
        """Write what stands in a line."""
        if isinstance(node, nodes.Text):
            return SPECIAL.sub(r"\\\g<0>", " ".join(node.astext().split("\n")))
        if isinstance(node, nodes.literal):
            text = node.astext().replace("\n", " ")
            return f"`` {text} ``" if "`" in text else f"`{text}`"
        if isinstance(node, nodes.math):
            return f"${node.astext().strip()}$"
        inside = "".join(map(self.inline, node.children))
        if isinstance(node, nodes.strong):
            return f"**{inside}**"
        if isinstance(node, nodes.emphasis | nodes.title_reference | addnodes.literal_emphasis):
            return f"*{inside}*"
        if isinstance(node, nodes.reference):
            return self.link(node, inside)
        if isinstance(node, nodes.image):
            return node.get("alt", "")
        if not isinstance(node, nodes.inline | nodes.target | nodes.comment | nodes.Sequential):
            logger.warning("notebook: no Markdown for %s", node.tagname, location=node)
        return "" if isinstance(node, nodes.comment) else inside

    def link(self, node: nodes.reference, text: str) -> str:
        target = node.get("refuri", "")
        if not target.startswith(("http://", "https://")):
            target = urljoin(self.address, target) if self.address and target else ""
        return f"[{text}]({target})" if target else text

    def line(self, node: nodes.Element) -> str:
        """Write all that a paragraph holds, as one line that begins no list."""
        text = "".join(map(self.inline, node.children)).strip()
        return LISTED.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", text)

    def blocks(self, parent: nodes.Element) -> str:
        """Write everything below a node."""
        return "\n\n".join(filter(None, map(self.block, parent.children)))

    def block(self, node: nodes.Node) -> str:
        """Write one block; what belongs to the page alone is left out."""
        classes = node.get("classes", []) if isinstance(node, nodes.Element) else []
        is_hidden = isinstance(node, nodes.Invisible | nodes.raw | answer_text)
        if is_hidden or set(classes) & set(ONLY_ON_THE_PAGE):
            return ""
        if isinstance(node, nodes.paragraph | nodes.caption | nodes.term):
            return self.line(node)
        if isinstance(node, nodes.figure):  # the code draws the picture
            return "\n\n".join(self.block(part) for part in node.findall(nodes.caption))
        if isinstance(node, nodes.rubric):
            return f"**{self.line(node)}**"
        if isinstance(node, nodes.math_block):
            return f"$$\n{aligned(node.astext().strip())}\n$$"
        if is_literal(node):
            language = node.get("language", node.get("lang"))
            return f"```{'' if language == 'none' else language}\n{node.astext()}\n```"
        if isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            return self.listing(node)
        if isinstance(node, nodes.Admonition):
            return quoted(self.admonition(node))
        if isinstance(node, nodes.block_quote):
            return quoted(self.blocks(node))
        if isinstance(node, nodes.table):
            return self.table(node)
        if isinstance(node, prediction):
            return f"**{TITLE}**\n\n{self.blocks(node)}"
        if isinstance(node, predicted_answer):  # a notebook shows this element of HTML, too
            start = f"<details>\n<summary>{escape(node[0].astext())}</summary>"
            verdict = VERDICTS[bool(node.get("right"))]
            return f"{start}\n\n**{verdict}** {self.blocks(node)}\n\n</details>"
        if isinstance(node, BOXES):
            return self.blocks(node)
        logger.warning("notebook: no Markdown for %s", node.tagname, location=node)
        return node.astext()

    def listing(self, node: nodes.Element) -> str:
        items = [self.blocks(item) for item in node.children]
        gap = "\n\n" if any("\n\n" in item for item in items) else "\n"
        first = node.get("start", 1)
        marks = [f"{first + i}. " for i in range(len(items))]
        if isinstance(node, nodes.bullet_list):
            marks = ["- "] * len(items)
        return gap.join(
            mark + re.sub(r"\n(?=[^\n])", "\n" + " " * len(mark), item)
            for mark, item in zip(marks, items, strict=True)
        )

    def admonition(self, node: nodes.Element) -> str:
        first = node.next_node(nodes.title)
        title = self.line(first) if first else node.tagname.capitalize()
        rest = [self.block(child) for child in node.children if child is not first]
        return "\n\n".join([f"**{title}**", *filter(None, rest)])

    def table(self, node: nodes.Element) -> str:
        rows = [
            [self.blocks(entry).replace("\n", " ").replace("|", r"\|") for entry in row]
            for row in node.findall(nodes.row)
        ]
        if not list(node.findall(nodes.thead)):
            rows.insert(0, [""] * len(rows[0]))
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def text_between_cells(page: nodes.Element, write: Markdown) -> list[str]:
    """Write the page as the texts before, between and after its cells of code."""
    texts: list[list[str]] = [[]]

    def walk(parent: nodes.Element, depth: int) -> None:
        for node in parent.children:
            if isinstance(node, nodes.section):
                walk(node, depth + 1)
            elif isinstance(node, nodes.title):
                texts[-1].append(f"{'#' * depth} {write.line(node)}")
            elif isinstance(node, folded_code) or is_code(node):
                texts.append([])
            elif isinstance(node, predicted_result):
                walk(node, depth)
            elif not is_output(node):
                texts[-1].append(write.block(node))

    walk(page, 0)
    return ["\n\n".join(filter(None, parts)) for parts in texts]


def cells_of_code(blocks: list[Block]) -> list[str]:
    """Return the cells that the page shows, each with what it hides, and without any flag."""
    cells, hidden = [], ""
    for block in blocks:
        if block.type == "code":
            hidden += FLAGS.sub("", block.content).strip("\n") + "\n\n"
            if remove_ignore_blocks(block.content).strip():
                cells.append(hidden.strip("\n"))
                hidden = ""
    return cells


def notebook(page: nodes.document, script: Path, address: str, first: str) -> str:
    """Write a lesson's notebook: first the code that installs what the lesson needs."""
    texts = text_between_cells(page, Markdown(address))
    cells = cells_of_code(split_code_and_text_blocks(script)[1])
    if len(texts) != len(cells) + 1:
        logger.warning("notebook: %d cells, %d on the page", len(cells), len(texts) - 1)
    written = jupyter_notebook_skeleton()
    written["metadata"]["language_info"].pop("version")  # the reader's own says it
    add_code_cell(written, first)
    for text, code in zip(texts, [*cells, ""], strict=False):
        if text:
            add_markdown_cell(written, text)
        if code:
            add_code_cell(written, code)
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def write_notebook(app: Sphinx, page: nodes.document, docname: str) -> None:
    """Put our notebook in the place of Sphinx-Gallery's, and into the site.

    Sphinx has copied the downloads of this build already; a later build copies what is new.
    """
    path = Path(app.srcdir, f"{docname}.ipynb")
    if app.builder.name != "html" or not is_lesson(docname) or not path.exists():
        return
    baseurl = app.config.html_baseurl
    address = urljoin(baseurl.rstrip("/") + "/", f"{docname}.html") if baseurl else ""
    script = Path(app.srcdir).parent / f"{docname}.py"
    first = notebook_cell(app.config.release, baseurl, script)
    before = path.stat()
    path.write_text(notebook(page, script, address, first), encoding="utf-8")
    # With a new date Sphinx would read the page again, the next time.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    _, name = app.env.dlfiles[Path(f"{docname}.ipynb")]
    copy = Path(app.outdir, "_downloads", name)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", write_notebook, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

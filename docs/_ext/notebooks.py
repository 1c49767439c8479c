"""Write each lesson's notebook from its page: the same text as Markdown, the same code, no role.

Sphinx-Gallery converts a script's text by patterns, which leave directives, roles and tables as
they are. Here Sphinx itself writes the text as HTML, but equations as TeX, and ``markdownify``
makes Markdown of it. Links lead to the site where its address is known.
"""

import json
import os
import re
import shutil
from html import escape
from pathlib import Path
from urllib.parse import urljoin

from bs4 import Tag
from docutils import nodes
from figures import folded_code, is_code, is_lesson, is_output
from markdownify import MarkdownConverter
from mathml import aligned
from predictions import predicted_result
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx_gallery.notebook import add_code_cell, add_markdown_cell, jupyter_notebook_skeleton
from sphinx_gallery.py_source_parser import (
    Block,
    remove_config_comments,
    remove_ignore_blocks,
    split_code_and_text_blocks,
)
from wheel_of_the_site import notebook_cell

SPECIAL = re.compile(r"[\\`*$<]|(?<!\w)_|_(?!\w)|\](?=[(\[])")
LISTED = re.compile(r"^(\d+)([.)] )|^([-+#] |[>|])")
BOLD = {"admonition-title", "rubric", "prediction-title", "verdict"}
CELL = "\0"  # stands for a cell of code


class Markdown(MarkdownConverter):
    """Write a page as Markdown; links start from its address, where the site has one."""

    class Options(MarkdownConverter.DefaultOptions):
        heading_style, bullets = "atx", "-"
        wrap, wrap_width = True, None  # lines are joined

    def __init__(self, address: str = "") -> None:
        super().__init__(code_language_callback=self.language)
        self.address = address

    def language(self, pre: Tag) -> str:
        named = pre.find_parent(class_=re.compile("highlight-"))
        name = named["class"][0].removeprefix("highlight-") if named else "none"
        return "" if name == "none" else name

    def escape(self, text: str, parent_tags: set[str]) -> str:
        text = SPECIAL.sub(r"\\\g<0>", text)
        return LISTED.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", text)

    def convert_tex(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return el.get_text()

    def convert_cell(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"\n\n{CELL}\n\n"

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        target = "" if "headerlink" in el.get("class", []) else el.get("href", "")
        if not target.startswith(("http://", "https://")):
            target = urljoin(self.address, target) if self.address and target else ""
        el.attrs = {"href": target}
        return super().convert_a(el, text.strip("¶"), parent_tags)

    def convert_p(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if BOLD.intersection(el.get("class", [])):
            text = f"**{text.strip()}**"
        return super().convert_p(el, text, parent_tags)

    def convert_div(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "admonition" in el.get("class", []):
            text = self.convert_blockquote(el, text, parent_tags)
        return super().convert_div(el, text, parent_tags)

    convert_dt = convert_dd = convert_div

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return super().convert_td(el, text.replace("|", r"\|"), parent_tags)

    def convert_summary(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"<summary>{escape(el.get_text().strip(), quote=False)}</summary>\n\n"

    def convert_details(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        # A notebook shows this element of HTML, too.
        return f"\n\n<details>\n{text.strip()}\n\n</details>\n\n"


def with_tex(builder: StandaloneHTMLBuilder, page: nodes.document) -> str:
    """Write a page as HTML, with TeX for its equations, without what belongs to the page alone."""
    page = page.deepcopy()
    for node in list(page.findall(nodes.Element)):
        written = ""
        if isinstance(node, folded_code) or is_code(node):
            written = "<cell></cell>"
        elif isinstance(node, nodes.math):
            written = f"<tex>${escape(node.astext().strip())}$</tex>"
        elif isinstance(node, nodes.math_block):
            written = f"<p><tex>$$\n{escape(aligned(node.astext().strip()))}\n$$</tex></p>"
        if written:
            node.replace_self(nodes.raw("", written, format="html"))
        elif isinstance(node, predicted_result):
            node.replace_self(node[1:])  # without the line to click at
        elif is_output(node) or "run-it-yourself" in node.get("classes", []):
            node.parent.remove(node)
    builder.fignumbers, builder.secnumbers = {}, {}  # Sphinx sets them for each page it writes
    return builder.render_partial(nodes.container("", *page.children))["fragment"]


def cells_of_code(blocks: list[Block]) -> list[str]:
    """Return the cells that the page shows, each with what it hides, and without any flag."""
    cells, hidden = [], ""
    for block in blocks:
        if block.type == "code":
            hidden += remove_config_comments(block.content).strip("\n") + "\n\n"
            if remove_ignore_blocks(block.content).strip():
                cells.append(hidden.strip("\n"))
                hidden = ""
    return cells


def notebook(page: str, script: Path, address: str, first: str) -> str:
    """Write a lesson's notebook: first the code that installs what the lesson needs."""
    texts = [text.strip() for text in Markdown(address).convert(page).split(CELL)]
    cells = cells_of_code(split_code_and_text_blocks(script)[1])
    written = jupyter_notebook_skeleton()
    written["metadata"]["language_info"].pop("version")  # the reader's own says it
    add_code_cell(written, first)
    for text, code in zip(texts, [*cells, ""], strict=True):
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
    path.write_text(notebook(with_tex(app.builder, page), script, address, first), encoding="utf-8")
    # With a new date Sphinx would read the page again, the next time.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    _, name = app.env.dlfiles[Path(f"{docname}.ipynb")]
    copy = Path(app.outdir, "_downloads", name)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", write_notebook, priority=900)
    return {"parallel_read_safe": True}

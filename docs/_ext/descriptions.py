"""Tell search engines and language models what each page is, and list all pages for them.

A page is described by its own first sentences. ``sphinxext.opengraph`` would begin with whatever
stands first, which on every lesson is how to download it (a paragraph with a class of its own), and
would cut in the middle of a word. It takes what a page's metadata say instead.

``llms.txt`` is for language models, ``sitemap.xml`` for search engines: ``sphinx-llms-txt`` lists
copies of the sources, of which this site publishes none, and the sitemap of ``sphinx-sitemap``
holds what a build has written, so that a second build leaves most pages out.
"""

import html
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from docutils import nodes
from gallery_pages import title_of, without_tex
from sphinx import addnodes
from sphinx.application import Sphinx

LENGTH = 200  # about what a search engine shows
FIELD = "og:description"
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
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


def first_sentences(text: str) -> str:
    """Return the first sentences of a text, as many as fit, or the beginning of a longer one."""
    text = " ".join(text.split())
    fitting = ""
    for sentence in SENTENCE_ENDS.split(text):
        longer = f"{fitting} {sentence}".strip()
        if len(longer) > LENGTH or not sentence.endswith((".", "?", "!")):
            break
        fitting = longer
    return fitting or textwrap.shorten(text, LENGTH, placeholder=" …")


def keep_description(app: Sphinx, page: nodes.document) -> None:
    """Write the description where Sphinx keeps what a page says of itself."""
    if text := first_sentences(opening(page)):
        app.env.metadata[app.env.docname].setdefault(FIELD, html.escape(text))


def add_tag(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    if text := (context.get("meta") or {}).get(FIELD):
        context["metatags"] += f'<meta name="description" content="{text}">\n'


def sitemap(app: Sphinx) -> str:
    """Write the address of every page; without the site's own there is none to write."""
    root = ET.Element("urlset", xmlns=NAMESPACE)
    for page in sorted(app.env.found_docs):
        address = app.config.html_baseurl + app.builder.get_target_uri(page)
        ET.SubElement(ET.SubElement(root, "url"), "loc").text = address
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def llms_txt(app: Sphinx) -> str:
    """Write the sidebar as Markdown, each page with its description (see https://llmstxt.org)."""

    def description(page: str) -> str:
        return html.unescape(app.env.metadata[page].get(FIELD, ""))

    def entries(pages: list[str]) -> Iterator[str]:
        for page in pages:
            address = app.config.html_baseurl + app.builder.get_target_uri(page)
            text = description(page)
            yield f"- [{title_of(app, page)}]({address})" + (f": {text}" if text else "")
            yield from entries(app.env.toctree_includes.get(page, []))

    home = app.config.root_doc
    blocks = [f"# {title_of(app, home)}", f"> {description(home)}"]
    for tree in app.env.get_doctree(home).findall(addnodes.toctree):
        if tree["caption"]:
            blocks.append(f"## {tree['caption']}")
        blocks.append("\n".join(entries(tree["includefiles"])))
    return "\n\n".join(blocks) + "\n"


def write_lists(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    Path(app.outdir, "llms.txt").write_text(llms_txt(app), encoding="utf-8")
    if app.config.html_baseurl:
        Path(app.outdir, "sitemap.xml").write_text(sitemap(app), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", keep_description)
    app.connect("html-page-context", add_tag, priority=400)  # opengraph, at 500, sees there is one
    app.connect("build-finished", write_lists)
    return {"parallel_read_safe": True}

"""List all pages: ``llms.txt`` for language models, ``sitemap.xml`` for search engines.

``sphinx-llms-txt`` lists copies of the sources, of which this site publishes none. The sitemap of
``sphinx-sitemap`` holds what a build has written, so that a second build leaves most pages out.
"""

import html
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from descriptions import FIELD
from gallery_pages import title_of
from sphinx import addnodes
from sphinx.application import Sphinx

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


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
    app.connect("build-finished", write_lists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Let readers take every figure along as SVG, with its caption and its licence inside.

Whoever puts a figure on a slide soon has the file without the page. So the file says by itself what
it shows, who made it, and under which licence it may be reused.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from figures import NUMBER
from gallery_pages import plain
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator
from sphinx_gallery.directives import imgsgnode

Picture = nodes.image | imgsgnode

LINES = re.compile(r'(?<= d=")[^"]*')
DECIMALS = re.compile(r"(\.\d\d)\d+")
LICENCE = "https://opensource.org/license/mit"
METADATA = """<title>{title}</title>
 <desc>{text}</desc>
 <metadata>
  <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" \
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:cc="http://creativecommons.org/ns#">
   <cc:Work rdf:about="">
    <dc:title>{title}</dc:title>
    <dc:creator><cc:Agent><dc:title>{author}</dc:title></cc:Agent></dc:creator>
    <dc:rights><cc:Agent><dc:title>{rights}</dc:title></cc:Agent></dc:rights>
    <dc:source>{source}</dc:source>
    <cc:license rdf:resource="{licence}"/>
   </cc:Work>
  </rdf:RDF>
 </metadata>"""


class svg_links(nodes.General, nodes.Inline, nodes.Element):
    """The links to a figure's files; no text, which the site's search would find on every page."""


def visit_svg_links(translator: HTML5Translator, node: svg_links) -> None:
    files, number = node["files"], node["number"]
    links = []
    for i, file in enumerate(files, 1):
        label = "SVG" if len(files) == 1 else f"SVG {i}"
        name = f"Download figure {number} as {label}"
        links.append(f'<a href="{file}" download aria-label="{name}">{label}</a>')
    classes = " ".join(["svg-links", *node["classes"]])
    translator.body.append(f' <span class="{classes}">{" ".join(links)}</span>')


def depart_svg_links(translator: HTML5Translator, node: svg_links) -> None:
    pass


def describe(svg: str, *, title: str, text: str, author: str, source: str) -> str:
    """Write into a picture of matplotlib what it is, in the place of what matplotlib says of it.

    The file then begins without the address of a document type, which some programs fetch. Its
    lines end at a hundredth of a point, which no eye misses and takes a quarter off large files.
    """
    said = {"title": title, "text": text, "author": author, "source": source, "licence": LICENCE}
    said["rights"] = f"© {author}, MIT License, {LICENCE}"
    written = METADATA.format(**{name: escape(value) for name, value in said.items()})
    picture = svg[svg.index("<svg") :].replace("<svg", '<svg role="img" xml:lang="en-GB"', 1)
    picture = re.sub("<metadata>.*?</metadata>", lambda _: written, picture, count=1, flags=re.S)
    picture = LINES.sub(lambda line: DECIMALS.sub(r"\1", line[0]), picture)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{picture}'


def drawn_by_cells(cache: Path) -> dict[str, str]:
    """Map the name that MyST-NB gives to each picture in the outputs of pages to its SVG.

    The cache alone has them all: a page that was not executed again lies without its outputs in
    ``jupyter_execute``.
    """
    texts = (path.read_text(encoding="utf-8") for path in cache.glob("executed/*/base.ipynb"))
    cells = [cell for text in texts for cell in json.loads(text)["cells"]]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    return {
        sha256(b64decode(data["image/png"])).hexdigest(): "".join(data["image/svg+xml"])
        for data in outputs
        if "image/png" in data and "image/svg+xml" in data
    }


def figures_of(page: nodes.document) -> Iterator[tuple[nodes.Element, list[nodes.Element]]]:
    """List a page's figures, each with its pictures; a picture without a caption is a figure."""
    of_figures: list[nodes.Element] = []
    for node in page.findall(lambda node: isinstance(node, nodes.figure | Picture)):
        if node not in of_figures:
            pictures = list(node.findall(lambda part: isinstance(part, Picture)))
            of_figures += pictures
            yield node, pictures


def offer_figures(app: Sphinx, page: nodes.document, docname: str) -> None:
    """Write the files of a page's figures into the site, and link to them."""
    figures = list(figures_of(page))
    if app.builder.name != "html" or not figures:
        return
    own_uri = app.builder.get_target_uri(docname)
    cells = drawn_by_cells(Path(app.outdir).parent / ".jupyter_cache")
    of_page = plain(next(page.findall(nodes.title), page))
    number = 0
    for figure, pictures in figures:
        caption = next(figure.findall(nodes.caption), None)
        svgs = []
        for picture in pictures:
            saved = Path(app.srcdir, picture["uri"].lstrip("/")).with_suffix(".svg")
            found = saved.read_text(encoding="utf-8") if saved.exists() else cells.get(saved.stem)
            svgs += [(picture, found)] if found else []
        if not svgs:
            continue
        # A lesson numbers its figures by itself, those among them that are no picture; on other
        # pages they are counted.
        named = caption and NUMBER.match(plain(caption))
        number = int(named[1]) if named else number + 1
        files = []
        for i, (picture, svg) in enumerate(svgs, 1):
            part = f"-{i}" if len(svgs) > 1 else ""
            file = f"_downloads/figures/{docname}-figure-{number}{part}.svg"
            written = describe(
                svg,
                title=f"{of_page}, Figure {number}{part}",
                text=plain(caption) if caption else unescape(" ".join(picture["alt"].split())),
                author=app.config.author,
                source=(app.config.html_baseurl or f"{app.config.project}: ") + own_uri,
            )
            path = Path(app.outdir, file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written, encoding="utf-8")
            files.append(relative_uri(own_uri, file))
        links = svg_links("", files=files, number=number)
        if caption:
            caption += links
        else:
            links["classes"].append("without-caption")
            figure.parent.insert(figure.parent.index(figure) + 1, links)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(svg_links, html=(visit_svg_links, depart_svg_links))
    # After the notebooks, at 900: a file on the site is none beside the reader's notebook.
    app.connect("doctree-resolved", offer_figures, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

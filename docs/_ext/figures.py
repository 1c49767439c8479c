"""Make a lesson's pictures figures, fold what nobody reads at first, and offer each as a file.

Sphinx-Gallery puts a cell's pictures under its code and knows no captions. In our lessons the
paragraph after them begins with an emphasised "Figure 3.": picture and paragraph become one
``<figure>``. A figure in a closer look has the number before it and a letter, such as 3a, so that
whoever reads the main line misses none. The code goes below it, in a closed ``<details>``, which
every browser opens by itself, from the keyboard or when its own search finds something inside;
``site.css`` opens it on paper. What a lesson imports is folded, too, and so is any cell that says
by its first line, a comment such as "# Check: …", what it is for. Of a long output the first lines
stay in sight: see :class:`long_output`.

A picture of any page can be taken along as SVG. Whoever puts it on a slide soon has the file
without the page. So the file says by itself what it shows, who made it, and under which licence it
may be reused.
"""

import json
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from html import unescape
from pathlib import Path, PurePosixPath
from typing import Any

from docutils import nodes
from gallery_pages import plain
from lessons import render
from PIL import Image
from saved_pictures import wide
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator
from sphinx_gallery.directives import depart_imgsg_html, imgsgnode, visit_imgsg_html

logger = logging.getLogger(__name__)

NUMBER = re.compile(r"Figure (\d+[a-z]?)\.")
DRAWS = re.compile(r"\bplt\.(subplots|figure)\(|\.set_label\(")
SUMMARY = "Show the code of this figure"
# By the first line of the cell; the first cell of a lesson, which imports, is its setup.
FOLDS = {
    "# Setup: ": "Show the setup ({} lines)",
    "# Check: ": "Show the code of this check ({} lines)",
    "# Table: ": "Show the code of this table ({} lines)",
}
PRINTED = "sphx-glr-script-out"
LONG = 8  # lines of an output that are in sight
LINE_BREAKS = re.compile(r"(<br ?/?>\s*)+\Z")


class lesson_figure(nodes.figure):
    """A figure whose caption has its number, so that Sphinx gives it none."""


Picture = nodes.image | imgsgnode
PATHS = re.compile(r'(?<= d=")[^"]*')
DECIMALS = re.compile(r"(\.\d\d)\d+")
LICENCE = "https://opensource.org/license/mit"


class element(nodes.General, nodes.Element):
    """An element of HTML that docutils has no node for: ``tag``, and more attributes in ``data``.

    What its ``text`` says is not found by the site's search, because every lesson says it.
    """


class text_element(element, nodes.TextElement):
    """Such an element that holds what stands in a line."""


class folded_code(element):
    """Code that the page shows on request."""


class long_output(element):
    """An output of which the page shows the first lines, and the others on request.

    It is open as it is written, for paper and for a page without scripts; ``site.js`` closes it.
    """


def fold(kind: type[element], summary: str, *content: nodes.Node, **attributes: Any) -> element:
    """Fold what the page shows on request below a line."""
    return kind("", element(tag="summary", text=summary), *content, tag="details", **attributes)


def visit_element(translator: HTML5Translator, node: element) -> None:
    start = translator.starttag(node, node["tag"], "", **node.get("data", {}))
    translator.body.append(start + translator.encode(node.get("text", "")))


def depart_element(translator: HTML5Translator, node: element) -> None:
    translator.body.append(f"</{node['tag']}>")


def room(file: Path) -> str:
    """Say which width and height a picture takes that has two pixels per pixel of a page."""
    with Image.open(file) as picture:
        width, height = (pixels // 2 for pixels in picture.size)
    return f'width="{width}" height="{height}"'


def visit_picture(translator: HTML5Translator, node: imgsgnode) -> None:
    """Show a picture as it was drawn for the room that there is: see ``saved_pictures.widen``.

    A reader's device loads it when the reader comes near, and keeps its room until then.
    """
    visit_imgsg_html(translator, node)
    file = Path(translator.builder.srcdir, node["uri"].lstrip("/"))
    wider = Path(wide(str(file)))
    if translator.builder.name == "epub" or not wider.exists():
        return
    shutil.copy(wider, Path(translator.builder.outdir, translator.builder.imagedir))
    html = translator.body.pop()
    address = wide(re.search('src="([^"]+)"', html)[1])
    source = f'<source media="(min-width: 48em)" srcset="{address} 2x" {room(wider)}>'
    image = re.sub('srcset="[^"]*"', f'loading="lazy" {room(file)}', html, count=1)
    translator.body.append(f"<picture>{source}{image}</picture>")


def is_lesson(docname: str) -> bool:
    return PurePosixPath(docname).match("gallery/*/plot_*")


def is_code(node: nodes.Node) -> bool:
    """Tell a cell of the script: Sphinx-Gallery alone writes its language with a capital."""
    return isinstance(node, nodes.literal_block) and node.get("language") == "Python"


def is_picture(node: nodes.Node) -> bool:
    """Tell what a cell drew: one picture, several in a row, or what draws itself as HTML."""
    if isinstance(node, nodes.raw):
        return "rendered_html" in node.astext()
    if isinstance(node, nodes.bullet_list):
        return any(node.findall(lambda part: isinstance(part, Picture)))
    return isinstance(node, Picture)


def is_printed(node: nodes.Node) -> bool:
    """Tell what a cell printed."""
    return isinstance(node, nodes.Element) and PRINTED in node.get("classes", [])


def is_output(node: nodes.Node) -> bool:
    """Tell what belongs to the cell above: pictures, printed lines, HTML, invisible remarks."""
    others = nodes.comment | nodes.raw | long_output
    return is_printed(node) or is_picture(node) or isinstance(node, others)


def figure_number(node: nodes.Node) -> str | None:
    """Read the number with which a caption begins; None where no caption is."""
    if not (isinstance(node, nodes.paragraph) and node.children):
        return None
    found = isinstance(node[0], nodes.emphasis) and NUMBER.match(node[0].astext())
    return found[1] if found else None


def outputs_before(paragraph: nodes.paragraph) -> list[nodes.Node]:
    """List what the cell right before a paragraph left on the page, in its order."""
    siblings = paragraph.parent.children
    end = start = siblings.index(paragraph)
    while start and is_output(siblings[start - 1]):
        start -= 1
    return siblings[start:end]


def folded_as(code: str, *, is_first: bool) -> str | None:
    """Return the line above a cell that is folded; None if it is in sight."""
    if DRAWS.search(code):
        return SUMMARY
    kind = "# Setup: " if is_first and code.startswith(("import ", "from ")) else code
    found = [line for start, line in FOLDS.items() if kind.startswith(start)]
    return found[0].format(len(code.splitlines())) if found else None


def make_figures(app: Sphinx, doctree: nodes.document) -> None:
    """Join each caption with the pictures above it, and put the code that draws into a fold."""
    docname = app.env.docname
    if not is_lesson(docname):
        return
    for i, block in enumerate(list(doctree.findall(is_code))):
        if summary := folded_as(block.astext().strip(), is_first=i == 0):
            folded = fold(folded_code, summary, block.deepcopy(), classes=["folded-code"])
            block.replace_self(folded)
    for block in list(doctree.findall(is_printed)):
        # One line more would take as much room as the line that unfolds it.
        if (lines := len(block.astext().splitlines())) > LONG + 1:
            looks = {"classes": ["long-output"], "data": {"open": "open"}}
            block.replace_self(fold(long_output, f"All {lines} lines", block.deepcopy(), **looks))
    executed = any(is_picture(node) for node in doctree.findall())
    for paragraph in list(doctree.findall(nodes.paragraph)):
        if (number := figure_number(paragraph)) is None:
            continue
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


def describe(svg: str, *, title: str, text: str, author: str, source: str) -> str:
    """Write into a picture of matplotlib what it is, in the place of what matplotlib says of it.

    The file then begins without the address of a document type, which some programs fetch. Its
    lines end at a hundredth of a point, which no eye misses and takes a quarter off large files.
    """
    said = {"title": title, "text": text, "author": author, "source": source, "licence": LICENCE}
    written = render("figure-metadata.xml", said)
    picture = svg[svg.index("<svg") :].replace("<svg", '<svg role="img" xml:lang="en-GB"', 1)
    picture = re.sub("<metadata>.*?</metadata>", lambda _: written, picture, count=1, flags=re.S)
    picture = PATHS.sub(lambda line: DECIMALS.sub(r"\1", line[0]), picture)
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
    count = 0
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
        count += 1
        number = named[1] if named else count
        links = element(tag="span", classes=["svg-links"])
        for i, (picture, svg) in enumerate(svgs, 1):
            part, label = (f"-{i}", f"SVG {i}") if len(svgs) > 1 else ("", "SVG")
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
            says = {"href": relative_uri(own_uri, file), "download": ""}
            says["aria-label"] = f"Download figure {number} as {label}"
            links += [nodes.Text(" "), element(tag="a", text=label, data=says)]
        if caption:
            caption += links
        else:
            links["classes"].append("without-caption")
            figure.parent.insert(figure.parent.index(figure) + 1, links)


def leave_out_windows(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take out the cells that open a script's windows, for which a page has no use."""
    for block in list(doctree.findall(is_code)):
        if block.astext().strip() == "plt.show()":
            block.parent.remove(block)


def put_code_below(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the fold with a figure's code below the figure, which is what a reader comes for."""
    for figure in list(doctree.findall(lesson_figure)):
        siblings = figure.parent
        above = siblings.index(figure) - 1
        while isinstance(siblings[above], nodes.comment):
            above -= 1
        if isinstance(code := siblings[above], folded_code):
            siblings.remove(code)
            siblings.insert(siblings.index(figure) + 1, code)
            code["classes"].append("below-figure")


def number_by_page(app: Sphinx, env: BuildEnvironment) -> None:
    """Let figures of every other page begin with 1, too; Sphinx counts through the whole site."""
    for numbers in env.toc_fignumbers.values():
        figures = numbers.get("figure", {})
        for i, name in enumerate(figures, 1):
            figures[name] = (i,)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(element, html=(visit_element, depart_element))
    app.add_node(imgsgnode, html=(visit_picture, depart_imgsg_html), override=True)
    app.connect("doctree-read", make_figures)
    # A notebook, which has the windows and its cells in the order of the script, was made at 900.
    app.connect("doctree-resolved", leave_out_windows, priority=950)
    app.connect("doctree-resolved", put_code_below, priority=950)
    app.connect("doctree-resolved", offer_figures, priority=950)
    app.connect("env-check-consistency", number_by_page)
    return {"parallel_read_safe": True}

"""Typeset the sheet with the numbers that its page computes: PDF for two kinds of paper, and SVG.

Typst sets it, from ``_templates/sheet.typ`` and in the site's fonts. It needs no browser and no
TeX, one description is a sheet of A4, one of Letter and a column for a phone, and what does not fit
on one page stops the build. In the PDF one can select the text; in SVG the letters are shapes, so
that it looks the same in every program.
"""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import typst
from docutils import nodes
from fonts import FONTS
from lessons import TEMPLATES
from sphinx.application import Sphinx

SOURCE = TEMPLATES / "sheet.typ"
NUMBERS = re.compile(r'class="sheet-numbers">(.*?)</script>', re.DOTALL)
PLACE = '<div id="sheet"></div>'
ALT = (
    "The sheet: the formula above the weights of six words in numbers, then panels on code, "
    "shapes, masks, costs, heads, positions, block and KV cache, and a row of five mistakes."
)
FOLDER = "_downloads/sheet/"
FILES = {  # what is in the site, and on which paper it is set
    "attention-a4.pdf": "a4",
    "attention-letter.pdf": "us-letter",
    "attention.svg": "a4",
    "attention-phone.svg": "phone",
}
LABELS = {"attention-a4.pdf": "PDF, A4", "attention-letter.pdf": "PDF, US Letter"}
LABELS |= {"attention.svg": "SVG"}
NAMES = re.compile(rb"g[0-9A-F]{32}")
DECIMALS = re.compile(rb"(\.\d{3})\d+")
SIZE = re.compile(rb'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def typeset(said: dict[str, Any], paper: str, kind: str) -> bytes:
    """Set the sheet on a paper, ``a4``, ``us-letter`` or ``phone``, as ``pdf`` or ``svg``.

    Raises:
        typst.TypstError: If it does not fit on one page.
    """
    folders = {str(files(font.package)) for font in FONTS.values()}
    written = typst.compile(
        SOURCE,
        format=kind,
        font_paths=sorted(folders),
        ignore_system_fonts=True,
        sys_inputs={"paper": paper, "said": json.dumps(said)},
    )
    assert isinstance(written, bytes)  # several pages would be a list
    return with_a_name(slim(written), said["author"]) if kind == "svg" else written


def with_a_name(svg: bytes, author: str) -> bytes:
    """Say in the file what it is, whose, and under which licence."""
    says = f"<title>Self-attention on one sheet</title><desc>© {author}, MIT License</desc>"
    return svg.replace(b">", b">" + says.encode(), 1)


def slim(svg: bytes) -> bytes:
    """Number the letters instead of naming each by a hash, and round to a thousandth of a point."""
    names = dict.fromkeys(NAMES.findall(svg))
    short = {name: b"g%d" % i for i, name in enumerate(names)}
    svg = NAMES.sub(lambda found: short[found[0]], svg)
    return DECIMALS.sub(rb"\1", svg.replace(b' fill-rule="nonzero"', b""))


def write_sheet(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the sheet where the page leaves its place, and its files beside it."""
    raws = list(doctree.findall(nodes.raw))
    found = [match[1] for node in raws if (match := NUMBERS.search(node.astext()))]
    places = [node for node in raws if PLACE in node.astext()]
    if not places or not found:  # while somebody writes, pages may not be executed
        return
    config = app.config
    said = {
        "numbers": json.loads(found[0]),
        "author": config.author,
        "version": config.release,
        "address": config.html_baseurl,
    }
    in_book = app.builder.name == "epub"
    names = [name for name in FILES if name == "attention-phone.svg" or not in_book]
    folder = Path(app.outdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(typeset(said, FILES[name], name.rpartition(".")[2]))
    html = in_the_book(folder) if in_book else on_the_page(folder)
    places[0].replace_self(nodes.raw("", html, format="html"))


def picture(folder: Path, name: str) -> str:
    width, height = SIZE.search((folder / name).read_bytes()).groups()
    room = f'width="{float(width):.0f}" height="{float(height):.0f}"'
    return f'<img src="{FOLDER}{name}" alt="{ALT}" {room} />'


def in_the_book(folder: Path) -> str:
    return f'<figure class="sheet">{picture(folder, "attention-phone.svg")}</figure>'


def on_the_page(folder: Path) -> str:
    links = " · ".join(
        f'<a href="{FOLDER}{name}" download>{label}</a>' for name, label in LABELS.items()
    )
    narrow = f'media="screen and (max-width: 46em)" srcset="{FOLDER}attention-phone.svg"'
    return (
        f'<p class="sheet-files">Take it along: {links}</p><figure class="sheet">'
        f'<a href="{FOLDER}attention-a4.pdf"><picture><source {narrow}>'
        f"{picture(folder, 'attention.svg')}</picture></a></figure>"
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", write_sheet)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Typeset the sheet with the numbers that its page computes: A4, US Letter, a column for a phone.

Typst sets it from ``_templates/sheet.typ`` in the site's fonts, without a browser and without TeX.
What does not fit on one page stops the build. In SVG the letters are shapes: a picture in a page
may not load fonts.
"""

import json
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typst
from docutils import nodes
from figures import DECIMALS
from fonts import FONTS
from lessons import TEMPLATES
from sphinx.application import Sphinx

NUMBERS = re.compile(r'class="sheet-numbers">(.*?)</script>', re.DOTALL)
GLYPH = re.compile(r"\bg[0-9A-F]{20,32}\b")
SOURCE = TEMPLATES / "sheet.typ"
FOLDER = "_downloads/sheet"
PAPERS = {  # by the files to which sheet.md links
    "attention-a4.pdf": "a4",
    "attention-letter.pdf": "us-letter",
    "attention.svg": "a4",
    "attention-phone.svg": "phone",
}


def typeset(said: dict[str, Any], paper: str, kind: str) -> bytes:
    """Set the sheet as ``pdf`` or ``svg``; raise ``typst.TypstError`` if it is too long."""
    packages = sorted({font.package for font in FONTS.values()})
    fonts = [folder for name in packages for folder in find_spec(name).submodule_search_locations]
    inputs = {"paper": paper, "said": json.dumps(said)}
    options = {"font_paths": fonts, "ignore_system_fonts": True, "sys_inputs": inputs}
    written = typst.compile(SOURCE, format=kind, **options)
    return written if kind == "pdf" else slim(written.decode()).encode()


def slim(svg: str) -> str:
    """Leave out what no eye misses, more than half of the bytes: a page may weigh a megabyte."""
    names = {name: f"g{i}" for i, name in enumerate(dict.fromkeys(GLYPH.findall(svg)))}
    svg = GLYPH.sub(lambda found: names[found[0]], svg)
    ink, _ = Counter(re.findall(' fill="#[0-9a-f]{6}"', svg)).most_common(1)[0]
    svg = svg.replace(ink, "").replace(" xmlns=", f"{ink} xmlns=", 1)  # said once, for all it holds
    svg = svg.replace("<use xlink:href=", "<use href=")  # as browsers of today read it, too
    return DECIMALS.sub(r"\1", re.sub(' (fill-rule="nonzero"|[xy]="0")', "", svg))


def write_sheet(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    outputs = "".join(node.astext() for node in doctree.findall(nodes.raw))
    found = NUMBERS.search(outputs) if docname == "sheet" else None
    if not found or app.builder.name != "html":
        return
    config = app.config
    said = {"author": config.author, "version": config.release, "address": config.html_baseurl}
    folder = Path(app.outdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    for name, paper in PAPERS.items():
        written = typeset(said | {"numbers": json.loads(found[1])}, paper, name[-3:])
        (folder / name).write_bytes(written)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", write_sheet)
    return {"parallel_read_safe": True}

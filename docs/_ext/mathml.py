"""Turn equations into MathML when the site is built.

Every current browser sets MathML by itself: the page needs no script and no other host, and a
screen reader reads the equation. ``math-core`` converts. What it can't convert, or has no glyph in
the site's font, is a warning.
"""

import html
import re
from xml.etree import ElementTree as ET

from docutils import nodes
from fontTools import subset
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

CONVERTER = LatexToMathML(fancy_error=False)
ENTITY = re.compile(r"&(?!amp;|lt;|gt;)\w+;")
# What makes a root tall, beside brackets.
TALL = {"mfrac", "mover", "mroot", "msqrt", "msubsup", "msup", "mtable", "munder", "munderover"}
# What the font keeps: letters, Greek, mathematical alphabets, arrows, operators, brackets.
GLYPHS = frozenset(
    subset.parse_unicodes(
        "20-7E A0-FF 131 237 2C6-2DC 391-3CE 3D0-3D2 3D5-3D6 3F0-3F1 3F4-3F6 2009-200A "
        "2010-2022 2025-2026 2032-2037 203E 2044 "
        "2061-2064 20D7 210B 210E 2110 2112 2113 2115 211A 211B 211D 2124 212C 2130 2131 2133 "
        "2190-2199 21A6 21D0-21D5 2200-2297 2299 22A4 22A5 22C0-22C6 22EE 22EF 22F1 2308-230B "
        "239B-23B3 23DC-23DF 27E8-27EB 1D400-1D49B 1D49C-1D4B5 1D538-1D551 1D6A4 1D6A5 1D6A8-1D755 "
        "1D7CE-1D7D7"
    )
)


def aligned(tex: str) -> str:
    """Give an equation of several lines what TeX needs for it, as Sphinx does for MathJax."""
    if r"\\" in tex and r"\begin" not in tex:
        return rf"\begin{{aligned}}{tex}\end{{aligned}}"
    return tex


def to_mathml(tex: str, display: str) -> str:
    """Convert one equation.

    Raises:
        LatexError: If the TeX can't be converted, with what is wrong and where.
        ValueError: If the font has no glyph for a letter of it.
    """
    tex = aligned(tex.strip())
    mathml = CONVERTER.convert_with_local_state(tex, displaystyle=display == "block")
    # XML knows no names but its own.
    tree = ET.fromstring(ENTITY.sub(lambda name: html.unescape(name[0]), mathml))
    if missing := {letter for letter in "".join(tree.itertext()) if ord(letter) not in GLYPHS}:
        raise ValueError(f"the site's font does not carry {' '.join(sorted(missing))}")
    for root in tree.iter("msqrt"):
        inside = list(root.iter())[1:]
        if not any(part.tag in TALL or (part.text or "") in tuple("([{|") for part in inside):
            root.set("class", "low")
    # What EPUBCheck knows of MathML: a table has no level, and a fraction's style is around it.
    for part in list(tree.iter()):
        if part.tag == "mtable":
            part.attrib.pop("scriptlevel", None)
        for i, child in enumerate(part):
            if child.tag == "mfrac" and "displaystyle" in child.attrib:
                part[i] = ET.Element("mstyle", displaystyle=child.attrib.pop("displaystyle"))
                part[i].append(child)
    return ET.tostring(tree, encoding="unicode")


def _write(translator: HTML5Translator, node: nodes.Element, display: str) -> None:
    try:
        translator.body.append(to_mathml(node.astext(), display))
    except (LatexError, ValueError) as problem:
        logger.warning("math: %s in %r", problem, node.astext(), location=node, type="math")
        translator.body.append(f"<code>{translator.encode(node.astext())}</code>")


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    _write(translator, node, "inline")
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    # Furo's wrapper already carries the anchor of a numbered equation.
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate", IDS=[]))
    _write(translator, node, "block")
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True}

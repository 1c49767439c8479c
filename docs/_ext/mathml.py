"""Turn equations into MathML when the site is built, and bring the font they are set in.

Every current browser sets MathML by itself: the page needs no script and no other host, and a
screen reader reads the equation. ``latex2mathml`` converts; this module repairs the few things it
leaves half done, and says so, as a warning, when TeX can't be converted.
"""

import logging as stdlogging
import re
import unicodedata
from importlib.resources import as_file, files
from pathlib import Path
from xml.etree import ElementTree as ET

from docutils import nodes
from fontTools import subset
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

FONT = "_static/stix-two-math.woff"
CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2}
CHILDREN |= {"msubsup": 3, "munderover": 3}
ACCENTS = frozenset("~^ˆ˜¯→⃗ˇ˙¨.")
# What the font keeps: letters, Greek, mathematical alphabets, arrows, operators, brackets.
GLYPHS = frozenset(
    (*range(0x20, 0x7F), *range(0xA0, 0x100), 0x131, 0x237, *range(0x2C6, 0x2DD))
    + (*range(0x391, 0x3D7), *range(0x3F0, 0x3F7), *range(0x2009, 0x200B), *range(0x2010, 0x2027))
    + (*range(0x2032, 0x2038), 0x203E, 0x2044, *range(0x2061, 0x2065), 0x20D7)
    + (0x210B, 0x210E, 0x2110, 0x2112, 0x2113, 0x2115, 0x211A, 0x211B, 0x211D, 0x2124, 0x212C)
    + (0x2130, 0x2131, 0x2133, *range(0x2190, 0x219A), *range(0x21D0, 0x21D6), 0x21A6)
    + (*range(0x2200, 0x2298), 0x2299, 0x22A4, 0x22A5, *range(0x22C0, 0x22C7), 0x22EE, 0x22EF)
    + (0x22F1, *range(0x2308, 0x230C), *range(0x239B, 0x23B4), *range(0x23DC, 0x23E0))
    + (*range(0x27E8, 0x27EC), *range(0x1D400, 0x1D49C), *range(0x1D49C, 0x1D4B6))
    + (*range(0x1D538, 0x1D552), *range(0x1D6A4, 0x1D6A6), *range(0x1D6A8, 0x1D756))
)


def to_mathml(tex: str, display: str) -> str:
    """Convert one equation.

    Raises:
        ValueError: If the TeX can't be converted, with what is wrong.
    """
    tex = tex.strip().replace("{aligned}", "{split}")
    tex = re.sub(r"\\mathrm\{(\w)\}", r"\\text{\1}", tex)  # one upright letter would slant
    if r"\\" in tex and r"\begin" not in tex:
        tex = rf"\begin{{split}}{tex}\end{{split}}"
    if tex.replace(r"\{", "").count("{") != tex.replace(r"\}", "").count("}"):
        raise ValueError("braces don't match")
    xml = convert(tex, display=display).replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    tree = ET.fromstring(xml)
    for element in list(tree.iter()):
        _repair(element)
    for element in tree.iter():
        _check(element)
    return ET.tostring(tree, encoding="unicode")


def _repair(element: ET.Element) -> None:
    text = element.text or ""
    if element.tag == "mi" and text in tuple("⟨⟩"):
        element.tag = "mo"  # a bracket: the browser then spaces it as one
    elif element.tag == "mo" and len(text) > 1 and text.isalpha():
        element.tag = "mi"  # \operatorname{…} is a name
    elif element.tag == "mi" and element.get("mathvariant") == "bold-italic":
        # Browsers follow no mathvariant but "normal": spell the letter out.
        name = unicodedata.name(text).replace(" LETTER ", " ").replace("LATIN ", "")
        name = name.replace("GREEK ", "")
        element.text = unicodedata.lookup(f"MATHEMATICAL BOLD ITALIC {name}")
        del element.attrib["mathvariant"]
    elif element.tag == "mover" and len(element) == 2 and (element[1].text or "") in ACCENTS:
        element.set("accent", "true")
    # \mathrm{softmax} comes letter by letter: one word for the eye, one word for the ear.
    letters = list(element)
    for before, letter in zip(letters, letters[1:], strict=False):
        if before.tag == letter.tag == "mi" and (
            before.get("mathvariant") == letter.get("mathvariant") == "normal"
        ):
            letter.text = (before.text or "") + (letter.text or "")
            element.remove(before)


def _check(element: ET.Element) -> None:
    text = "".join(element.itertext()) if len(element) == 0 else ""
    if "\\" in text:
        raise ValueError(f"unknown command {text}")
    if len(element) != CHILDREN.get(element.tag, len(element)):
        raise ValueError(f"{element.tag} has {len(element)} parts")
    if missing := {letter for letter in text if ord(letter) not in GLYPHS}:
        raise ValueError(f"the site's font does not carry {' '.join(sorted(missing))}")


def _write(translator: HTML5Translator, node: nodes.Element, display: str) -> None:
    try:
        translator.body.append(to_mathml(node.astext(), display))
    except Exception as problem:  # latex2mathml has many kinds of error; all mean: mend the TeX
        message = str(problem) or type(problem).__name__
        logger.warning("math: %s in %r", message, node.astext(), location=node, type="math")
        translator.body.append(f"<code>{translator.encode(node.astext())}</code>")


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    _write(translator, node, "inline")
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math notranslate"))
    _write(translator, node, "block")
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def write_font(app: Sphinx, exception: Exception | None) -> None:
    """Cut STIX Two Math to the glyphs above; the MATH table, which sizes roots and bars, stays."""
    target = Path(app.outdir, FONT)
    if exception or app.builder.format != "html" or target.exists():
        return
    # fontTools tells every table it cuts; Sphinx would print that as its own news.
    stdlogging.getLogger("fontTools.subset").setLevel("WARNING")
    options = subset.Options(flavor="woff", hinting=False, layout_features=["ssty", "dtls"])
    with as_file(files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf") as source:
        font = subset.load_font(source, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=GLYPHS)
    subsetter.subset(font)
    subset.save_font(font, target, options)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

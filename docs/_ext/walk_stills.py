"""Draw the walk's steps when the site is built: for paper, the book, and where no script runs.

The pictures and words are those of the page's own scripts, which a small JavaScript engine runs
here, so they can't differ from what moves on the page.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import quickjs
from docutils import nodes
from sphinx.application import Sphinx

LAB = Path(__file__).parents[1] / "_static" / "lab"
SCRIPTS = [
    LAB / f"{name}.js" for name in ("tensors", "attention", "dom", "walk-frames", "walk-texts")
]
BEFORE = "globalThis.addEventListener = () => {};"  # of a page, the scripts want this alone
DRAW = """
const draw = (numbers, step, width) => {
  const { drawn, frame, layout, modelOf } = lab.walkFrames;
  const { HEAD, caption, plain, rows } = lab.walkTexts;
  const model = modelOf(numbers, numbers.at);
  const { title, text, sum } = caption(step, model);
  const size = layout(width, model.words.length);
  const parts = [...frame(step, model, size).values()].sort((a, b) => a.layer - b.layer);
  const shapes = parts.map((part) => ({ opacity: part.opacity, shapes: drawn(part) }));
  const texts = [text, sum].map(plain);
  return JSON.stringify({ ...size, title, texts, shapes, table: [HEAD, ...rows(model)] });
};
"""
NUMBERS = re.compile(r'class="(?:walk|workbench)-numbers">(.*?)</script>', re.DOTALL)
FORM = re.compile(r"<form.*?</form>\s*", re.DOTALL)
WIDTHS = {"wide": 720, "narrow": 358}


def picture(drawing: dict[str, Any], **looks: str) -> ET.Element:
    """Write the parts of a step as SVG."""
    size = f"0 0 {drawing['W']} {drawing['H']}"
    words = f"{drawing['title']}. {' '.join(drawing['texts'])}"
    svg = ET.Element("svg", {"viewBox": size, "role": "img", "aria-label": words} | looks)
    for part in drawing["shapes"]:
        group = ET.SubElement(svg, "g", opacity=f"{part['opacity']:.2g}")
        for tag, attributes, *text in part["shapes"]:
            written = {
                name: f"{value:.1f}" if isinstance(value, float) and abs(value) > 1 else str(value)
                for name, value in attributes.items()
            }
            ET.SubElement(group, tag, written).text = "".join(text)
    return svg


def stills(drawings: Iterator[dict[str, Any]]) -> ET.Element:
    """Write the steps one after the other, each with its words, and what they show as a table."""
    box = ET.Element("div", {"class": "walk-stills"})
    for step, drawing in enumerate(drawings, 1):
        figure = ET.SubElement(box, "figure")
        figure.append(picture(drawing))
        words = ET.SubElement(figure, "figcaption")
        ET.SubElement(words, "b").text = f"{step}. {drawing['title']}"
        words[0].tail = f" {' '.join(drawing['texts'])}"
    table = ET.SubElement(box, "table", {"class": "docutils"})
    for i, row in enumerate(drawing["table"]):
        line = ET.SubElement(table, "tr")
        for j, cell in enumerate(row):
            ET.SubElement(line, "td" if i and j else "th").text = cell
    return box


def add_stills(app: Sphinx, doctree: nodes.document) -> None:
    raws = [node for node in doctree.findall(nodes.raw) if node.get("format") == "html"]
    walks = [node for node in raws if 'id="walk"' in node.astext()]
    found = [match for node in raws if (match := NUMBERS.search(node.astext()))]
    for script in SCRIPTS if walks else ():
        app.env.note_dependency(str(script))
    if not walks or not found:  # while somebody writes, pages may not be executed
        return
    numbers = next(iter(json.loads(found[0][1]).values()))
    engine = quickjs.Context()
    engine.eval("\n".join([BEFORE, *(one.read_text(encoding="utf-8") for one in SCRIPTS), DRAW]))

    def draw(step: int, width: str) -> dict[str, Any]:
        return json.loads(engine.eval(f"draw({json.dumps(numbers)}, {step}, {WIDTHS[width]})"))

    for node in walks:
        first = (picture(draw(1, width), **{"class": f"walk-{width}"}) for width in WIDTHS)
        html = "".join(ET.tostring(one, encoding="unicode") for one in first)
        text = node.astext().replace('<svg data-part="stage"', f'{html}<svg data-part="stage"')
        if "vectors" not in numbers:
            text = FORM.sub("", text)
        node.children[:] = [nodes.Text(text)]
        rest = stills(draw(step, "narrow") for step in range(1, 8))
        after = nodes.raw("", ET.tostring(rest, encoding="unicode", method="html"), format="html")
        node.parent.insert(node.parent.index(node) + 1, after)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", add_stills)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

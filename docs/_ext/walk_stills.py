"""Draw the walk as stills, for paper, the book and no script, with the scripts of the page."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import quickjs
from docutils import nodes
from sphinx.application import Sphinx

LAB = Path(__file__).parents[1] / "_static" / "lab"
NAMES = ("tensors", "attention", "dom", "walk-frames", "walk-texts")
SCRIPTS = [LAB / f"{name}.js" for name in NAMES]
DRAW = """
function addEventListener() {} // all that these scripts want of a page
const draw = (numbers, step, width) => {
  const { drawn, frame, layout, modelOf } = lab.walkFrames;
  const { HEAD, caption, plain, rows } = lab.walkTexts;
  const model = modelOf(numbers, numbers.at);
  const { title, text, sum } = caption(step, model);
  const size = layout(width, model.words.length);
  const parts = [...frame(step, model, size).values()].sort((a, b) => a.layer - b.layer);
  const end = title.endsWith("?") ? "" : ".";
  const words = [`${step}. ${title}${end}`, plain(text), plain(sum)];
  const shapes = parts.map((part) => [part.opacity, drawn(part)]);
  return JSON.stringify({ ...size, words, shapes, table: [HEAD, ...rows(model)] });
};
"""
NUMBERS = re.compile(r'class="(walk|workbench)-numbers">(.*?)</script>', re.DOTALL)
WIDTHS = {"wide": 720, "narrow": 358}


def picture(drawing: dict[str, Any], **looks: str) -> ET.Element:
    """Write the parts of a step as SVG."""
    spoken = {"role": "img", "aria-label": " ".join(drawing["words"])}
    svg = ET.Element("svg", {"viewBox": f"0 0 {drawing['W']} {drawing['H']}"} | spoken | looks)
    for opacity, shapes in drawing["shapes"]:
        group = ET.SubElement(svg, "g", opacity=f"{opacity:.2g}")
        for tag, attributes, *text in shapes:
            kept = {
                name: f"{value:.5g}" if isinstance(value, float) else str(value)
                for name, value in attributes.items()
                if value not in ("", "none")
            }
            ET.SubElement(group, tag, kept).text = "".join(text)
    return svg


def stills(drawings: list[dict[str, Any]]) -> ET.Element:
    """Write the steps one after the other, each with its words, and all numbers as a table."""
    box = ET.Element("div", {"class": "walk-stills"})
    for drawing in drawings:
        figure = ET.SubElement(box, "figure")
        figure.append(picture(drawing))
        caption = ET.SubElement(figure, "figcaption")
        for tag, words in zip(("b", "span", "p"), drawing["words"], strict=True):
            ET.SubElement(caption, tag).text = f"{words} "
    table = ET.SubElement(box, "table", {"class": "docutils"})
    for i, row in enumerate(drawings[0]["table"]):
        line = ET.SubElement(table, "tr")
        for j, cell in enumerate(row):
            ET.SubElement(line, "td" if i and j else "th").text = cell
    return box


def add_stills(app: Sphinx, doctree: nodes.document) -> None:
    raws = [node for node in doctree.findall(nodes.raw) if node.get("format") == "html"]
    walks = [node for node in raws if 'id="walk"' in node.astext()]
    found = sorted(match.groups() for node in raws if (match := NUMBERS.search(node.astext())))
    if not walks or not found:  # while somebody writes, pages may not be executed
        return
    engine = quickjs.Context()
    engine.eval("\n".join([*(one.read_text(encoding="utf-8") for one in SCRIPTS), DRAW]))
    for script in SCRIPTS:
        app.env.note_dependency(str(script))
    bench = app.builder.get_relative_uri(app.env.docname, "playground")
    numbers = next(iter(json.loads(found[0][1]).values()))

    def draw(step: int, width: str) -> dict[str, Any]:
        return json.loads(engine.eval(f"draw({json.dumps(numbers)}, {step}, {WIDTHS[width]})"))

    first = "".join(
        ET.tostring(picture(draw(1, width), **{"class": f"walk-{width}"}), "unicode")
        for width in WIDTHS
    )
    rest = ET.tostring(stills([draw(step, "narrow") for step in range(1, 8)]), "unicode", "html")
    for node in walks:
        text = node.astext().replace('href="playground.html"', f'href="{bench}"')
        text = text.replace('<svg data-part="stage"', f'{first}<svg data-part="stage"')
        walk = text if "vectors" in numbers else re.sub(r"(?s)<form.*?</form>\s*", "", text)
        node.replace_self([nodes.raw("", html, format="html") for html in (walk, rest)])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", add_stills)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Draw the walk as stills, for paper, the book and no script, with the scripts of the page."""

import json
import re
from pathlib import Path
from typing import Any

import quickjs
from docutils import nodes
from lessons import TEMPLATES, render
from sphinx.application import Sphinx

LAB = Path(__file__).parents[1] / "_static" / "lab"
NAMES = ("tensors", "attention", "dom", "walk-frames", "walk-texts")
SCRIPTS = [*(LAB / f"{name}.js" for name in NAMES), TEMPLATES / "walk-stills.js"]
NUMBERS = re.compile(r'class="(walk|workbench)-numbers">(.*?)</script>', re.DOTALL)
# A lesson's walk has one sentence, and is no way to the lesson.
OF_THE_HOME_PAGE = re.compile(r'(?s)<form.*?</form>\s*|<a class="walk-door walk-begin".*?</a>\s*')
SIZES = {"wide": "720", "narrow": "358"}


def add_stills(app: Sphinx, doctree: nodes.document) -> None:
    raws = [node for node in doctree.findall(nodes.raw) if node.get("format") == "html"]
    walks = [node for node in raws if 'id="walk"' in node.astext()]
    found = sorted(match.groups() for node in raws if (match := NUMBERS.search(node.astext())))
    if not walks or not found:  # while somebody writes, pages may not be executed
        return
    engine = quickjs.Context()
    engine.eval("\n".join(one.read_text(encoding="utf-8") for one in SCRIPTS))
    for script in SCRIPTS:
        app.env.note_dependency(str(script))
    bench = app.builder.get_relative_uri(app.env.docname, "playground")
    numbers = next(iter(json.loads(found[0][1]).values()))
    is_home = "vectors" in numbers

    def draw(step: int, width: str) -> dict[str, Any]:
        return json.loads(engine.eval(f"draw({json.dumps(numbers)}, {step}, {SIZES[width]})"))

    first = {f"walk-{width}": draw(1, width) for width in SIZES}
    steps = [draw(step, "narrow") for step in range(1, 8)]
    first, rest = (
        render("walk-stills.html", said) for said in ({"first": first}, {"steps": steps})
    )
    for node in walks:
        text = node.astext().replace('href="playground.html"', f'href="{bench}"')
        text = text.replace('<svg data-part="stage"', f'{first}<svg data-part="stage"')
        walk = text if is_home else OF_THE_HOME_PAGE.sub("", text)
        node.replace_self([nodes.raw("", html, format="html") for html in (walk, rest)])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", add_stills)
    return {"parallel_read_safe": True}

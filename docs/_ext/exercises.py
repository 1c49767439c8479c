"""Fold the solutions of sphinx-exercise, and leave out what belongs to another theme.

A solution becomes ``<details>``: every browser folds it by itself, and keyboards and screen readers
know it. The extension's own way needs a second extension, and a script.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import is_extension_node, solution_node


def visit_solution(translator: HTML5Translator, node: solution_node) -> None:
    translator.body.append(translator.starttag(node, "details"))
    summary = translator.encode(node.pop(0).astext())
    translator.body.append(f"<summary>{summary}</summary>\n")


def depart_solution(translator: HTML5Translator, node: solution_node) -> None:
    translator.body.append("</details>\n")


def drop_repeated_ids(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Take the id away that every exercise on a page has alike."""
    for node in doctree.findall(is_extension_node):
        for section in node.findall(nodes.section):
            section["ids"] = []


def drop_foreign_style(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Leave out a style sheet that draws with an icon font this site does not have."""
    context["css_files"] = [
        sheet for sheet in context["css_files"] if str(sheet.filename) != "_static/exercise.css"
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.add_node(solution_node, override=True, html=(visit_solution, depart_solution))
    app.add_css_file("exercises.css")
    app.connect("doctree-resolved", drop_repeated_ids)
    app.connect("html-page-context", drop_foreign_style)
    return {"parallel_read_safe": True}

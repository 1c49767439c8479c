"""Fold the solutions of sphinx-exercise, check numbers in the page, and mark what is done.

A solution becomes ``<details>``: every browser folds it by itself, and keyboards and screen readers
know it. The extension's own way needs a second extension, and a script.

Below an exercise whose answer is numbers the page has a box for them. It says what ``check`` says,
because ``exercises.js`` compares with the same numbers, which the build takes from the package.
For text that is no number, the box says what to type, where ``check`` names a type of Python.
"""

import base64
import json
from pathlib import Path
from typing import Any

import torch
from docutils import nodes
from figures import depart_element, visit_element
from lessons import lessons, render, short_title
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import is_exercise_node, is_extension_node, solution_node

from attention.exercises import EXERCISES
from attention.exercises.judging import SENTENCES
from attention.exercises.puzzles import PREFIX, PUZZLES

MARKS = "exercises/index"  # the page that counts what is done
SOLVED = "Solved: <code>check</code> says “Right”"


def visit_solution(translator: HTML5Translator, node: solution_node) -> None:
    node["tag"] = "details"
    visit_element(translator, node)
    summary = translator.encode(node.pop(0).astext())
    translator.body.append(f"<summary>{summary}</summary>")


def plain(numbers: Any) -> Any:
    return torch.as_tensor(numbers, dtype=torch.float64).tolist()


def answer_key(name: str) -> dict[str, Any] | None:
    """Return what the page needs to judge an exercise's numbers; None where code is judged."""
    exercise = EXERCISES[name]
    if callable(exercise.right):
        return None
    return {
        "right": plain(exercise.right),
        "slips": [[hint, plain(slip)] for hint, slip in exercise.slips.items()],
        "tolerance": exercise.tolerance,
        "praise": exercise.praise,
        "sentences": SENTENCES,
    }


def answer_box(label: str) -> str:
    """Write the box below an exercise: a field for numbers, or a box to tick for code."""
    key = answer_key(label.removeprefix("ex-"))
    if key is None:
        return render("tick.html", {"label": label, "text": SOLVED})
    code = base64.b64encode(json.dumps(key, allow_nan=False).encode()).decode()
    shape = [*torch.tensor(key["right"]).shape]
    return render("answer-box.html", {"label": label, "key": code, "shape": shape})


def add_boxes(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in doctree.findall(is_extension_node):
        for section in node.findall(nodes.section):
            section["ids"] = []  # which every exercise on a page has alike
        label = node.get("label", "")
        if is_exercise_node(node) and label.removeprefix("ex-") in EXERCISES:
            node += nodes.raw("", answer_box(label), format="html")


def tasks(env: BuildEnvironment) -> dict[str, list[str]]:
    """Map the pages that have exercises or questions, to their labels, as they are read."""
    pages: dict[str, list[str]] = {}
    for label, (docname, _) in env.domains.standard_domain.anonlabels.items():
        if label.startswith(("ex-", "predict-")):
            pages.setdefault(docname, []).append(label)
    order = {docname: i for i, docname in enumerate(env.collect_relations())}
    return dict(sorted(pages.items(), key=lambda page: order.get(page[0], len(order))))


def add_counts(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for node in list(doctree.findall(nodes.container)):
        if "done-so-far" not in node["classes"]:
            continue
        pages = [
            (app.builder.get_relative_uri(docname, page), short_title(app, page), labels)
            for page, labels in tasks(app.env).items()
        ]
        counts = render("done-so-far.html", {"pages": pages})
        node.parent.replace(node, nodes.raw("", counts, format="html"))


def tasks_of_lessons(env: BuildEnvironment) -> dict[str, list[str]]:
    """Map each lesson to its questions and exercises, and the page of the puzzles to these."""
    asked = tasks(env)
    found = {
        page: [*asked.get(page, []), *(f"ex-{task}" for task in lesson.tasks)]
        for page, lesson in lessons().items()
    }
    return found | {"puzzles": [PREFIX + name for name in PUZZLES]}


def puzzles_of_lessons() -> dict[str, list[str]]:
    """Map each lesson to the puzzles that go with it."""
    found: dict[str, list[str]] = {}
    for name, puzzle in PUZZLES.items():
        found.setdefault(f"gallery/{puzzle['lesson']}", []).append(PREFIX + name)
    return found


def count_anew(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the page with the counts again: another page may have got an exercise.

    All pages mark lessons that are done, by a script that holds the tasks of each.
    """
    if app.builder.name == "html":
        file = Path(app.outdir, "_static", "lesson-tasks.js")
        file.parent.mkdir(parents=True, exist_ok=True)
        tasks_of, puzzles_of = json.dumps(tasks_of_lessons(env)), json.dumps(puzzles_of_lessons())
        file.write_text(f"const LESSON_TASKS = {tasks_of}, LESSON_PUZZLES = {puzzles_of};\n")
    return [MARKS] if MARKS in env.found_docs else []


def add_script(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    app.add_js_file("lesson-tasks.js", defer="defer")
    app.add_js_file("done.js", defer="defer")
    if page == MARKS or page in lessons() or page in tasks(app.env):
        app.add_js_file("lab/numbers.js", defer="defer")
        app.add_js_file("exercises.js", defer="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("sphinx_exercise")
    app.add_node(solution_node, override=True, html=(visit_solution, depart_element))
    app.add_css_file("exercises.css")
    app.connect("env-updated", count_anew)
    app.connect("doctree-resolved", add_boxes)
    app.connect("doctree-resolved", add_counts)
    app.connect("html-page-context", add_script, priority=400)  # before unused_files copies lists
    return {"parallel_read_safe": True}

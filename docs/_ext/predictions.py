"""Questions that a reader answers before a lesson's cell shows the result.

A question stands at the end of the text above its cell:

.. code-block:: rst

    .. predict:: largest-of-journey

       Which word has the largest weight?

       "journey" itself : ``weights[1].argmax() == 1``
           Its explanation, which is read once this answer is chosen.
       "starts" : ``weights[1].argmax() == 2``
           …

Each answer has a condition in the names of the script. When Sphinx-Gallery has run the cell,
exactly one condition must hold, and that answer is the right one. An answer is a ``<details>``, and
so is what the cell printed or drew: every browser opens them by itself. When an answer is chosen,
``exercises.js`` opens the result, marks this answer and the right one, and remembers the choice.
"""

import re
from itertools import dropwhile, takewhile
from typing import Any

from docutils import nodes
from figures import element, fold, folded_code, is_code, is_output, lesson_figure, text_element
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

logger = logging.getLogger(__name__)

TITLE = "Predict first"
SHOW = "Show the result"
RIGHT = "right answer: "  # a comment below a cell, with the number of the answer
VERDICTS = {True: "Right.", False: "No."}
CONDITION = re.compile(r"^ +\S.* : ``(.+)``$", re.MULTILINE)


class prediction(element):
    """A question, followed by its answers."""


class predicted_answer(element):
    """An answer, and its explanation folded under it."""


class predicted_result(element):
    """What the cell of a question left on the page, and what is drawn right below it, folded."""


def is_result(node: nodes.Node) -> bool:
    return is_output(node) or isinstance(node, lesson_figure | folded_code)


class Predict(SphinxDirective):
    """A question with its answers, of which the last list of its content consists."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        label = f"predict-{self.arguments[0]}"
        node = prediction(names=[label], tag="div", classes=["prediction"])
        self.set_source_info(node)
        self.state.document.note_explicit_target(node)
        titled = f"{label}-title"
        node["data"] = {"role": "group", "aria-labelledby": titled}
        node += element(tag="p", text=TITLE, ids=[titled], classes=["prediction-title"])
        *question, answers = self.parse_content_to_nodes()
        node += question
        for item in answers.findall(nodes.definition_list_item):
            says = text_element("", "", *item.next_node(nodes.term).children, tag="summary")
            node += predicted_answer("", says, *item[-1].children, tag="details")
        return [node]


def answers_that_hold(block: Any, block_vars: dict[str, Any], conf: dict[str, Any]) -> str:
    """Evaluate the conditions of the question above a cell, right after the cell has run."""
    _, blocks = split_code_and_text_blocks(block_vars["src_file"])
    at = next(i for i, other in enumerate(blocks) if other.lineno == block[2])
    text = blocks[at - 1].content if at else ""
    if ".. predict::" not in text:
        return ""
    conditions = CONDITION.findall(text.partition(".. predict::")[2])
    hold = [bool(eval(condition, block_vars["example_globals"])) for condition in conditions]
    if sum(hold) != 1 or len(hold) != 3:
        where = f"{block_vars['src_file']}, block at line {block[2]}"
        found = dict(zip(conditions, hold, strict=True))
        # an error, because what a worker logs does not reach the build
        raise ExtensionError(f"{where}: of three conditions exactly one should hold: {found}")
    return f".. {RIGHT}{hold.index(True)}\n\n"


def join(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the right answers, and fold what the cells of the questions left on the page."""
    for node in list(doctree.findall(prediction)):
        siblings = node.parent.children
        # Sphinx-Gallery notes in comments from which lines a cell is.
        below = siblings[siblings.index(node) + 1 :]
        below = list(dropwhile(lambda each: isinstance(each, nodes.comment), below))
        if not (below and (is_code(below[0]) or isinstance(below[0], folded_code))):
            logger.warning("a question is the last thing above its cell", location=node)
            continue
        # A figure whose cell follows at once would give the answer away.
        result = list(takewhile(is_result, below[1:]))
        while any(isinstance(each, folded_code) for each in result) and not isinstance(
            result[-1], lesson_figure
        ):
            result.pop()
        notes = [each for each in result if each.astext().startswith(RIGHT)]
        if not notes:
            logger.warning("no cell has run below the question", location=node)
        for i, answer in enumerate(node.findall(predicted_answer)):
            is_right = any(note.astext() == f"{RIGHT}{i}" for note in notes)
            answer["classes"] = ["right" if is_right else "wrong"]
            answer.insert(1, element(tag="p", text=VERDICTS[is_right], classes=["verdict"]))
        folded = fold(predicted_result, SHOW, *result, classes=["predicted-result"])
        folded["data"] = {"data-question": node["ids"][0]}
        at = siblings.index(below[0]) + 1
        node.parent[at : at + len(result)] = [folded]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("predict", Predict)
    app.connect("doctree-read", join, priority=600)  # figures: 500
    return {"parallel_read_safe": True}

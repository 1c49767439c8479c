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
from typing import Any

from docutils import nodes
from figures import depart_fold, fold, folded_code, is_code, is_output, lesson_figure
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

logger = logging.getLogger(__name__)

TITLE = "Predict first"
VERDICTS = {True: "Right.", False: "No."}
CONDITION = re.compile(r"^ +\S.* : ``(.+)``$", re.MULTILINE)


class prediction(nodes.General, nodes.Element):
    """A question, followed by its answers."""


class predicted_answer(nodes.General, nodes.Element):
    """An answer, and its explanation folded under it."""


class answer_text(nodes.General, nodes.TextElement):
    """The line to click at: what the answer says."""


class predicted_result(fold):
    """What the cell of a question left on the page, folded."""


class right_answer(nodes.Invisible, nodes.Element):
    """The number of the answer whose condition held; only while a page is read."""


class Predict(SphinxDirective):
    """A question with its answers, of which the last list of its content consists."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        label = f"predict-{self.arguments[0]}"
        node = prediction(names=[label])
        self.set_source_info(node)
        self.state.document.note_explicit_target(node)
        *question, answers = self.parse_content_to_nodes()
        node += question
        for item in answers.findall(nodes.definition_list_item):
            term = item.next_node(nodes.term)
            answer = answer_text("", "", *term.children)
            node += predicted_answer("", answer, *item[-1].children)
        return [node]


class RightAnswer(SphinxDirective):
    """What the scraper writes below a cell."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [right_answer(number=int(self.arguments[0]))]


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
    return f".. right-answer:: {hold.index(True)}\n\n"


def join(app: Sphinx, doctree: nodes.document) -> None:
    """Mark the right answers, and fold what the cells of the questions left on the page."""
    waiting = None
    for node in list(doctree.findall(lambda n: isinstance(n, prediction | right_answer))):
        if isinstance(node, prediction):
            waiting = node
        elif waiting is not None:
            for i, answer in enumerate(waiting.findall(predicted_answer)):
                answer["right"] = i == node["number"]
            waiting = node.parent.remove(node)
    for node in doctree.findall(prediction):
        if not all("right" in answer for answer in node.findall(predicted_answer)):
            logger.warning("no cell has run below the question", location=node)
        siblings = node.parent.children
        at = siblings.index(node) + 1
        while at < len(siblings) and isinstance(siblings[at], nodes.comment):
            at += 1  # Sphinx-Gallery notes there from which lines the cell is
        if not any(is_code(each) or isinstance(each, folded_code) for each in siblings[at:][:1]):
            logger.warning("a question is the last thing above its cell", location=node)
            continue
        end = at = at + 1
        while end < len(siblings) and (
            is_output(siblings[end]) or isinstance(siblings[end], lesson_figure)
        ):
            end += 1
        result = predicted_result("", *siblings[at:end], classes=["predicted-result"])
        result["summary"] = "Show what the code prints"
        result["data"] = {"data-question": node["ids"][0]}
        siblings[at:end] = [result]
        result.parent = node.parent


def visit_prediction(translator: HTML5Translator, node: prediction) -> None:
    (label,) = node["ids"]
    attributes = {"CLASS": "prediction", "role": "group", "aria-labelledby": f"{label}-title"}
    translator.body.append(translator.starttag(node, "div", **attributes))
    translator.body.append(f'<p class="prediction-title" id="{label}-title">{TITLE}</p>\n')


def depart_prediction(translator: HTML5Translator, node: prediction) -> None:
    translator.body.append("</div>\n")


def visit_answer(translator: HTML5Translator, node: predicted_answer) -> None:
    right = bool(node.get("right"))
    translator.body.append(f'<details class="{"right" if right else "wrong"}">')


def visit_answer_text(translator: HTML5Translator, node: answer_text) -> None:
    translator.body.append("<summary>")


def depart_answer_text(translator: HTML5Translator, node: answer_text) -> None:
    verdict = VERDICTS[bool(node.parent.get("right"))]
    translator.body.append(f'</summary>\n<p class="verdict">{verdict}</p>\n')


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(prediction, html=(visit_prediction, depart_prediction))
    app.add_node(predicted_answer, html=(visit_answer, depart_fold))
    app.add_node(answer_text, html=(visit_answer_text, depart_answer_text))
    app.add_directive("predict", Predict)
    app.add_directive("right-answer", RightAnswer)
    app.connect("doctree-read", join, priority=600)  # figures: 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}

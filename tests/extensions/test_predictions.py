"""A question above a cell: its answers, the condition that held, and the folded result."""

import json
import re

import pytest
from notebooks import notebook
from predictions import answers_that_hold
from sphinx.errors import ExtensionError
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

QUESTION = """
.. predict:: size

   How large is x?

   Small : ``x < 2``
       Because *one* is small.
   Medium & more : ``2 <= x < 4``
       Three is more.
   Large : ``x >= 4``
       Five would be.
"""
OUTPUT = """
.. rst-class:: sphx-glr-script-out

 .. code-block:: none

    3
"""
PAGE = (
    QUESTION
    + "\n.. Lines 1-2\n\n.. code-block:: Python\n\n   x = 3\n\n{key}"
    + OUTPUT
    + "\nAfterwards.\n"
)
KEY = ".. right-answer:: 1\n\n"
SCRIPT = (
    '"""\nTitle\n=====\n"""\n\n# %%\n# Text.\n#'
    + QUESTION.strip("\n").replace("\n", "\n# ").replace(".. predict", "\n# .. predict", 1)
    + "\n\nx = 3\nprint(x)\n"
)


def held(tmp_path, x, script=SCRIPT):
    path = tmp_path / "plot_a.py"
    path.write_text(script)
    block = split_code_and_text_blocks(path)[1][-1]
    return answers_that_hold(block, {"src_file": str(path), "example_globals": {"x": x}}, {})


@pytest.mark.parametrize(("x", "number"), [(1, 0), (3, 1), (5, 2)])
def test_the_result_of_the_cell_decides_which_answer_is_right(tmp_path, x, number):
    assert held(tmp_path, x).strip() == f".. right-answer:: {number}"
    assert held(tmp_path, x, '"""Title"""\n\nx = 3\n') == ""  # no question


@pytest.mark.parametrize(
    ("x", "script"),
    [
        (float("nan"), SCRIPT),
        (1, SCRIPT.replace("x >= 4", "x < 4")),
        (1, SCRIPT.replace("   Large : ``x >= 4``", "   Large")),
    ],
)
def test_a_question_without_one_right_answer_ends_the_build(tmp_path, x, script):
    expected = "plot_a.py, block at line 19: of three conditions exactly one should hold"
    with pytest.raises(ExtensionError, match=expected):
        held(tmp_path, x, script)


def test_answers_are_folds_and_the_one_whose_condition_held_is_right(build):
    page, warnings = build(PAGE.format(key=KEY), "predictions", "figures")
    assert warnings == ""
    answers = re.findall(
        r'<details class="(\w+)"><summary>(.*?)</summary>\s*<p class="verdict">(\w+)\.</p>', page
    )
    assert answers == [
        ("wrong", "Small", "No"),
        ("right", "Medium &amp; more", "Right"),
        ("wrong", "Large", "No"),
    ]
    assert "Because <em>one</em> is small." in page
    assert "x &lt; 2" not in page  # the conditions are for the build
    fold = '<details class="predicted-result" data-question="predict-size">.*?</details>'
    (result,) = re.findall(fold, page, re.DOTALL)
    assert ">3\n" in result
    assert "Afterwards" not in result
    assert 'id="predict-size"' in page


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (PAGE.format(key=""), "no cell has run below the question"),
        (
            PAGE.format(key=KEY).replace("\n.. code-block:: P", "\nText.\n\n.. code-block:: P"),
            "a question is the last thing above its cell",
        ),
    ],
)
def test_a_question_away_from_its_cell_or_its_result_is_warned_of(build, text, warning):
    assert warning in build(text, "predictions", "figures")[1]


def test_a_notebook_has_the_question_and_its_answers(site, tmp_path):
    pages = {}
    app = site(PAGE.format(key=KEY), "predictions", "figures")
    app.connect("doctree-resolved", lambda app, page, name: pages.update({name: page}))
    app.build()
    path = tmp_path / "plot_a.py"
    path.write_text(SCRIPT)
    cells = json.loads(notebook(pages["index"], path, "", "%pip install it"))["cells"]
    before, code, after = ("".join(cell["source"]) for cell in cells[1:])
    assert "**Predict first**\n\nHow large is x?" in before
    answer = (
        "<details>\n<summary>Medium &amp; more</summary>\n\n**Right.** Three is more.\n\n</details>"
    )
    assert answer in before
    assert code == "x = 3\nprint(x)"
    assert after == "Afterwards."

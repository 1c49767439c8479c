"""A question above a cell: its answers, the condition that held, and the folded result."""

import json
import re

import pytest
from bs4 import BeautifulSoup
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
CODE = ".. Lines 1-2\n\n.. code-block:: Python\n\n   x = 3\n\n"
KEY = ".. right answer: 1\n\n"
OUTPUT = ".. rst-class:: sphx-glr-script-out\n\n .. code-block:: none\n\n    3\n\n"
PAGE = f"{QUESTION}\n{CODE}{KEY}{OUTPUT}Afterwards.\n"
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


def test_the_result_of_the_cell_decides_which_answer_is_right(tmp_path):
    rights = [held(tmp_path, x).strip() for x in (1, 3, 5)]
    assert rights == [f".. right answer: {number}" for number in range(3)]
    assert held(tmp_path, 3, '"""Title"""\n\nx = 3\n') == ""  # no question


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


def test_answers_are_folds_and_the_one_whose_condition_held_is_right(site):
    app = site(PAGE, "predictions", "figures").build()
    page = app.page()
    assert app.warnings == ""
    answer = r'<details class="(\w+)"><summary>(.*?)</summary><p class="verdict">(\w+)\.</p>'
    answers = re.findall(answer, page)
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


def test_a_figure_that_follows_at_once_does_not_give_the_answer_away(site):
    drawn = (
        ".. code-block:: Python\n\n   fig, ax = plt.subplots()\n\n.. image:: /a.svg\n   :alt: a\n"
    )
    text = ":orphan:\n\nTitle\n=====\n" + PAGE.replace("Afterwards", f"{drawn}\n*Figure 1.* 3")
    name, picture = "gallery/core/plot_a", "<svg xmlns='http://www.w3.org/2000/svg'/>"
    pages = {name: f"{text}\n*Figure 2.* Not this.\n", "a.svg": picture}
    app = site("Text.", "predictions", "figures", pages=pages).build()
    folded = BeautifulSoup(app.page(name), "html.parser").select_one(".predicted-result").get_text()
    assert "Figure 1." in folded
    assert "subplots" in folded
    assert "Figure 2." not in folded


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (PAGE.replace(KEY, ""), "no cell has run below the question"),
        (PAGE.replace(CODE, f"Text.\n\n{CODE}"), "a question is the last thing above its cell"),
    ],
)
def test_a_question_away_from_its_cell_or_its_result_is_warned_of(site, text, warning):
    assert warning in site(text, "predictions", "figures").build().warnings


def test_a_notebook_has_the_question_and_its_answers(for_a_notebook, tmp_path):
    path = tmp_path / "plot_a.py"
    path.write_text(SCRIPT)
    page = for_a_notebook(PAGE, "predictions", "figures")
    cells = json.loads(notebook(page, path, "", "%pip install it"))["cells"]
    before, code, after = ("".join(cell["source"]) for cell in cells[1:])
    assert "**Predict first**\n\nHow large is x?" in before
    answer = "<summary>Medium &amp; more</summary>\n\n**Right.**\n\nThree is more."
    assert f"<details>\n{answer}\n\n</details>" in before
    assert (code, after) == ("x = 3\nprint(x)", "Afterwards.")

import re

import pytest

# sphinx-exercise uses what Sphinx 11 will lack; its own next version will have to know better.
pytestmark = pytest.mark.filterwarnings("ignore:.*app' is deprecated")

PAGE = """
.. container:: done-so-far

   Done so far:

.. exercise:: One & two
   :label: ex-divide-by

   Divide.

.. solution:: ex-divide-by
   :label: first-solution

   Three.

.. exercise:: A matrix
   :label: ex-all-contexts

   Mix.

.. exercise:: Code
   :label: ex-jacobian

   Write.
"""


@pytest.fixture(scope="module")
def page(shared_site):
    app = shared_site(PAGE, "exercises").build()
    assert app.warnings == ""
    return app.page()


def test_a_solution_is_folded_under_its_title(page):
    (folded,) = re.findall("<details.*?</details>", page, re.DOTALL)
    summary, rest = folded.split("</summary>")
    assert re.search(r"<summary>Solution to\s+Exercise 1 \(One &amp; two\)$", summary)
    assert "<p>Three.</p>" in rest
    assert "Solution to" not in rest
    assert 'id="first-solution"' in folded
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert {"ex-divide-by", "ex-all-contexts", "ex-jacobian"} <= set(ids)
    assert len(ids) == len(set(ids))
    assert "_static/exercises.css" in page


def test_an_exercise_with_numbers_has_a_box_which_a_browser_tries(page):
    number, matrix = re.findall(r'<form class="answer".*?</form>', page, re.DOTALL)
    assert "(one number)" in number
    assert "(6 lines of 2 numbers)" in matrix
    assert 'data-hint="Type one number, such as 0.25."' in number
    assert 'data-hint="Type 6 lines of 2 numbers, separated by commas."' in matrix
    assert '<textarea rows="6"' in matrix
    assert "42.4" not in number  # whoever reads the page's source sees no answer


def test_an_exercise_with_code_can_be_ticked_and_what_is_done_is_counted_page_by_page(page):
    assert re.findall(r'<input type="checkbox" data-task="(.*?)"', page) == ["ex-jacobian"]
    row = r'<li><a href="[^"]*">Page</a>: <span data-tasks="([^"]*)">0</span> of 3</li>'
    (labels,) = re.findall(row, page)
    assert labels.split() == ["ex-divide-by", "ex-all-contexts", "ex-jacobian"]

import re

import pytest

# sphinx-exercise uses what Sphinx 11 will lack; its own next version will have to know better.
pytestmark = pytest.mark.filterwarnings("ignore:.*app' is deprecated")

PAGE = """
.. exercise:: One & two
   :label: first

   Add.

.. solution:: first
   :label: first-solution

   Three.

.. exercise:: Another
   :label: second

   Add again.
"""


def test_a_solution_is_folded_under_its_title(build):
    page, warnings = build(PAGE, "exercises")
    assert warnings == ""
    (folded,) = re.findall("<details.*?</details>", page, re.DOTALL)
    summary, rest = folded.split("</summary>")
    assert re.search(r"<summary>Solution to\s+Exercise 1 \(One &amp; two\)$", summary)
    assert "<p>Three.</p>" in rest
    assert "Solution to" not in rest
    assert 'id="first-solution"' in folded


def test_no_id_stands_twice(build):
    page, _ = build(PAGE, "exercises")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert {"first", "second"} <= set(ids)
    assert len(ids) == len(set(ids))


def test_of_two_style_sheets_ours_is_loaded(build):
    page, _ = build(PAGE, "exercises")
    assert "_static/exercises.css" in page
    assert "_static/exercise.css" not in page

"""Run the pages' solutions, as the docs build does, and hold the pages to the checkers."""

import contextlib
import io
import re

import pytest
from pages import GALLERY

from attention.exercises import CHECKERS

PAGES = sorted(path for path in (GALLERY.parent / "docs/exercises").glob("*.md"))
PAGES = [path for path in PAGES if path.stem != "index"]
EXERCISE = re.compile(
    r"^::::\{exercise\}\n:label: ex-([\w-]+)\n(.*?)^::::\n+"
    r"^:::\{solution-start\} ex-\1\n:label: sol-\1\n:::\n(.*?)^:::\{solution-end\}",
    re.DOTALL | re.MULTILINE,
)
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)?(.*?)^```", re.DOTALL | re.MULTILINE)
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in PAGES}
EXERCISES = [found for text in TEXTS.values() for found in EXERCISE.findall(text)]


def test_every_checker_has_one_exercise_and_no_exercise_is_without():
    assert sorted(name for name, _, _ in EXERCISES) == sorted(CHECKERS)
    assert len(EXERCISES) == sum(text.count("{exercise}") for text in TEXTS.values()) >= 16


@pytest.mark.parametrize(
    ("name", "statement", "solution"), EXERCISES, ids=[name for name, _, _ in EXERCISES]
)
def test_an_exercise_has_a_statement_hints_its_checker_and_a_solution(name, statement, solution):
    assert f'check("{name}", ' in statement
    assert ":::{dropdown} Hint" in statement
    assert f'check("{name}", ' in "".join(CELL.findall(solution))


@pytest.mark.filterwarnings("ignore:The use of `x.T`")  # the bug on show
@pytest.mark.parametrize("page", TEXTS)
def test_every_solution_on_the_page_is_right(page):
    names, verdicts = {}, {}
    text = TEXTS[page]
    solutions = {cell: name for name, _, s in EXERCISES for cell in CELL.findall(s)}
    for cell in CELL.findall(text):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(cell, f"{page}.md", "exec"), names)
        if cell in solutions:
            verdicts.setdefault(solutions[cell], out.getvalue())
    assert len(verdicts) == text.count("{exercise}")
    for name, said in verdicts.items():
        assert "Right. " in said, name
        assert "Not yet" not in said, name

"""Run the pages' solutions, as the docs build does, and compare the pages with the checkers."""

import contextlib
import io
import re

import pytest
from run_pages import ROOT

from attention.exercises import CHECKERS

FOLDER = ROOT / "docs/exercises"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.stem != "index")
EXERCISE = re.compile(
    r"^::::\{exercise\}\n:label: ex-([\w-]+)\n(.*?)^::::\n+"
    r"^:::\{solution-start\} ex-\1\n:label: sol-\1\n:::\n(.*?)^:::\{solution-end\}",
    re.DOTALL | re.MULTILINE,
)
CELL = re.compile(r"^```\{code-cell\} ipython3\n(?::[^\n]*\n)?(.*?)^```", re.DOTALL | re.MULTILINE)
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in PAGES}
EXERCISES = [match for text in TEXTS.values() for match in EXERCISE.findall(text)]


def test_every_checker_has_one_exercise_and_no_exercise_is_without():
    assert sorted(name for name, _, _ in EXERCISES) == sorted(CHECKERS)
    assert len(EXERCISES) == sum(text.count("{exercise}") for text in TEXTS.values()) >= 16


def test_an_exercise_has_a_statement_hints_its_checker_and_a_solution():
    incomplete = [
        (name, part)
        for name, statement, solution in EXERCISES
        for part, place in (
            (f'check("{name}", ', statement),
            (":::{dropdown} Hint", statement),
            (f'check("{name}", ', "".join(CELL.findall(solution))),
        )
        if part not in place
    ]
    assert incomplete == []


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
    for name, message in verdicts.items():
        assert "Right. " in message, name
        assert "Not yet" not in message, name


def test_the_first_page_links_lab_13_and_the_documents_to_where_they_are_explained():
    text = " ".join((FOLDER / "index.md").read_text(encoding="utf-8").split())
    links = r"\[([^\]]+)\]\(\.\./credits\.md#the-five-documents\)|\{ref\}`([^`<]+) <source-lab>`"
    linked = [words or name for words, name in re.findall(links, text)]
    assert linked == ["the five teaching documents", "Lab 13"]

"""Each exercise has a statement with a hint, a box or a call of its checker, and a solution."""

from exercise_answers import CELL, EXERCISE, TEXTS, executed

from attention.exercises import EXERCISES

WRITTEN = [match for text in TEXTS.values() for match in EXERCISE.findall(text)]


def test_every_exercise_is_on_one_page_and_every_page_has_no_other():
    assert sorted(name for name, _, _ in WRITTEN) == sorted(EXERCISES)
    assert len(WRITTEN) == sum(text.count("{exercise}") for text in TEXTS.values())


def test_an_exercise_has_a_statement_hints_its_check_and_a_solution():
    incomplete = [
        (name, part)
        for name, statement, solution in WRITTEN
        for part, place in (
            (f'check("{name}", ', statement),
            (":::{dropdown} Hint", statement),
            (f'check("{name}", ', "".join(CELL.findall(solution))),
        )
        if part not in place
    ]
    assert incomplete == []


def test_every_solution_on_the_pages_is_right():
    solutions, _ = executed()
    assert set(solutions) == set(EXERCISES)
    assert [said for _, said in solutions.values() if not said.startswith("Right. ")] == []

"""Check answers to the exercises, and say what a wrong one got wrong."""

import difflib
import tomllib
from pathlib import Path
from typing import Any

from attention.exercises import low_rank, masks, reviews, sentence, today
from attention.exercises.judging import SENTENCES, Exercise, NotYet, judge
from attention.exercises.puzzles import PREFIX, PUZZLES, solve

_NUMBERS = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text(encoding="utf-8"))
EXERCISES = {name: Exercise(**entry) for name, entry in _NUMBERS.items()}
for _part in (sentence, masks, today, low_rank, reviews):
    EXERCISES |= _part.EXERCISES


def check(exercise: str, answer: object = None, **values: Any) -> None:
    """Print whether an answer is right, and if it is not, what seems to have gone wrong.

    Numbers are compared with the tolerance that their exercise states. Functions and modules are
    called with random inputs whose sizes are different primes, and compared with the package.

    Args:
        exercise: The exercise's name, as its page has it.
        answer: A number, a tensor or list of numbers, a function or a class: what its page asks
            for.
        values: What is set in a puzzle, such as ``W_query``; or ``impossible``, the number of the
            reason why no numbers solve it.

    Raises:
        ValueError: If no exercise has this name, or if a puzzle lets one set no such value.

    Example:
        >>> check("divide-by", 1800)
        Not yet. That is the variance. Dividing by c divides a variance by c squared.
        >>> check("divide-by", 1800**0.5)
        Right. The scores now have variance 1, and standard deviation 1.
        >>> check("puzzle-average-of-the-past", mask="causal")
        Not yet. “runs” gives “cat” a weight of 0.413; 0.500 is asked, give or take 0.02.
    """
    names = [*EXERCISES, *(PREFIX + name for name in PUZZLES)]
    if exercise not in names:
        nearest = difflib.get_close_matches(str(exercise), names, cutoff=0)
        raise ValueError(
            f"exercise: expected a name such as {', '.join(nearest)}; got {exercise!r}"
        )
    try:
        if exercise in EXERCISES:
            praise = judge(EXERCISES[exercise], answer)
        else:
            praise = solve(exercise.removeprefix(PREFIX), values)
    except NotYet as problem:
        print(SENTENCES["wrong"].format(problem=problem))
    else:
        print(SENTENCES["right"].format(praise=praise))

"""Check answers to the exercises, and say what a wrong one got wrong."""

from attention.exercises.block import CHECKERS as BLOCK
from attention.exercises.judging import SENTENCES, Checker, NotYet
from attention.exercises.low_rank import CHECKERS as LOW_RANK
from attention.exercises.masks import CHECKERS as MASKS
from attention.exercises.reading import CHECKERS as READING
from attention.exercises.scale import CHECKERS as SCALE
from attention.exercises.sentence import CHECKERS as SENTENCE
from attention.exercises.today import CHECKERS as TODAY
from attention.exercises.training import CHECKERS as TRAINING

CHECKERS: dict[str, Checker] = (
    SENTENCE | SCALE | MASKS | BLOCK | TODAY | LOW_RANK | TRAINING | READING
)


def check(exercise: str, answer: object) -> None:
    """Print whether an answer is right, and if it is not, what seems to have gone wrong.

    Numbers are compared with the tolerance that their exercise states. Functions and modules are
    called with random inputs whose sizes are different primes, and compared with the package.

    Args:
        exercise: The exercise's name, as its page has it.
        answer: A number, a tensor or list of numbers, a function or a class: what its page asks
            for.

    Raises:
        ValueError: If no exercise has this name.

    Example:
        >>> from attention.exercises import check
        >>> check("divide-by", 1800)
        Not yet. That is the variance. Dividing by c divides a variance by c squared.
        >>> check("divide-by", 1800**0.5)
        Right. The scores now have variance 1, and standard deviation 1.
    """
    if exercise not in CHECKERS:
        raise ValueError(f"exercise: expected one of {', '.join(CHECKERS)}; got {exercise!r}")
    try:
        print(SENTENCES["right"].format(praise=CHECKERS[exercise](answer)))
    except NotYet as problem:
        print(SENTENCES["wrong"].format(problem=problem))

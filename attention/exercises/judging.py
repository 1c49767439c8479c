"""What an exercise is, and the judge that compares an answer with the right one."""

import contextlib
import copy
import functools
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# The site's pages check numbers by themselves, in docs/_static/exercises.js, with these sentences.
SENTENCES = {
    "right": "Right. {praise}",
    "wrong": "Not yet. {problem}",
    "no number": "Expected one number, got {kind}.",
    "NaN": "Expected a number, got NaN, which is what 0/0 gives.",
    "another number": "The right number is not {value} (tolerance {tolerance}).",
    "no numbers": "Expected a list or tensor of numbers, got {kind}.",
    "shape": "Expected {right}, got {given}.",
    "other numbers": "The right numbers are not {value} (tolerance {tolerance}).",
}
OF_FUNCTIONS = 1e-5  # how far the results of two functions may be apart


class NotYet(Exception):
    """What is wrong with an answer, in words for the reader."""


@dataclass(frozen=True, eq=False)
class Exercise:
    """What a page asks for, and what a reader is told about an answer.

    Args:
        right: A number, several numbers (a list or tensor), or a function or class.
        slips: Each hint with the answer of a reader who needs it: numbers, a function, or the
            arguments by name that give the right function a fault.
        praise: What is said of a right answer.
        tolerance: How far a number may be from the right one.
        cases: Draws the arguments for functions, easy ones first, whose sizes differ.
        use: Takes a function and the arguments of a case, and returns what is compared; by
            default, what the function returns.
    """

    right: Any
    slips: Mapping[str, Any]
    praise: str
    tolerance: float = 1e-3
    cases: Callable[[], Iterable[Iterable[Any]]] = list
    use: Callable[..., Any] = lambda function, *case: function(*case)

    def wrong_answers(self) -> Iterator[tuple[str, Any]]:
        """Pair each hint with the answer of a reader who needs it."""
        for hint, slip in self.slips.items():
            is_fault = callable(self.right) and isinstance(slip, dict)
            yield hint, functools.partial(self.right, **slip) if is_fault else slip


def judge(exercise: Exercise, answer: object) -> str:
    """Return the praise, or raise :class:`NotYet` with the hint that a wrong answer needs."""
    wanted, given = _results(exercise, exercise.right), _results(exercise, answer)
    if not (problem := _problem(exercise, given, wanted)):
        return exercise.praise
    for hint, wrong in exercise.wrong_answers():
        if not _problem(exercise, given, _results(exercise, wrong)):
            errors = [_words(result) for result in given if isinstance(result, Exception)]
            raise NotYet(f"{hint} ({errors[0]})" if errors else hint)
    raise NotYet(problem)


def draw(*shape: int) -> Tensor:
    """Draw numbers in float64, so that functions differ by more than rounding or not at all."""
    return torch.randn(shape, dtype=torch.float64)


def use_layer(kind: type, read: Callable[..., Any] = lambda layer, x: layer(x)) -> Any:
    """Compare functions from a layer to a layer by what is read of the new one, given ``x``."""

    def use(function: Callable[..., Any], layer: Any, x: Tensor) -> Any:
        made = function(layer)
        if not isinstance(made, kind):
            raise NotYet(f"Expected a layer of class {kind.__name__} back, got {_kind(made)}.")
        return read(made, x)

    return use


def _results(exercise: Exercise, answer: Any) -> tuple[Any, ...]:
    """Return what is compared: the numbers, or what the function does in each case."""
    if not callable(exercise.right):
        return (_read(answer, one=torch.as_tensor(exercise.right).dim() == 0),)
    if not callable(answer):
        raise NotYet(f"Expected a function, got {_kind(answer)}.")
    return tuple(_result(exercise, answer, case) for case in _draw_cases(exercise))


def _read(answer: Any, *, one: bool) -> Tensor:
    """Return the numbers of an answer."""
    if one and isinstance(answer, Tensor) and answer.numel() == 1:
        answer = answer.item()
    if one and (isinstance(answer, bool) or not isinstance(answer, numbers.Real)):
        raise NotYet(SENTENCES["no number"].format(kind=_kind(answer)))
    try:
        given = torch.as_tensor(answer)
    except (TypeError, ValueError, RuntimeError):
        raise NotYet(SENTENCES["no numbers"].format(kind=_kind(answer))) from None
    if given.dtype == torch.bool or given.is_complex():
        raise NotYet(f"Expected real numbers, got {given.dtype}.")
    return torch.tensor(float(answer), dtype=torch.float64) if one else _plain(given)


def _plain(result: Any) -> Any:
    """Return a result with its numbers in float64, whatever dtype they came in."""
    if isinstance(result, tuple):
        return tuple(map(_plain, result))
    if not isinstance(result, Tensor):
        return result
    result = result.detach().cpu()
    return result if result.dtype == torch.bool else result.double()


@contextlib.contextmanager
def _seeded() -> Iterator[None]:
    """Start from a fixed seed, and leave the reader's random state and warnings as they were."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a deprecation is not what is being judged
        torch.default_generator.manual_seed(0)
        yield


def _draw_cases(exercise: Exercise) -> list[list[Any]]:
    """Draw the same arguments anew for each function, which may write into them."""
    with _seeded():
        return [copy.deepcopy(list(case)) for case in exercise.cases()]


def _result(exercise: Exercise, function: Callable[..., Any], case: list[Any]) -> Any:
    """Return what a function does in one case; an error is a result, too."""
    with _seeded():
        try:
            return _plain(exercise.use(function, *case))
        except NotYet:
            raise
        except Exception as error:
            return error


def _problem(exercise: Exercise, given: Any, wanted: Any) -> str:
    """Say in which way the results of an answer are not those that were wanted, if they are not."""
    if not callable(exercise.right):
        return _difference_of_numbers(given[0], wanted[0], exercise.tolerance)
    cases = map(_where, _draw_cases(exercise))
    return next(filter(None, map(_difference, given, wanted, cases)), "")


def _difference_of_numbers(given: Tensor, right: Tensor, tolerance: float) -> str:
    if given.shape != right.shape:
        return SENTENCES["shape"].format(right=_size(right), given=_size(given))
    if torch.allclose(given, right, rtol=0, atol=tolerance):
        return ""
    if given.dim() > 0:
        sentence, value = "other numbers", f"{[round(x, 4) for x in given.flatten().tolist()]}"
    else:
        sentence, value = "NaN" if given.isnan() else "another number", f"{given.item():g}"
    return SENTENCES[sentence].format(value=value, tolerance=f"{tolerance:g}")


def _size(numbers: Tensor) -> str:
    if numbers.dim() != 1:
        return f"shape {tuple(numbers.shape)}"
    return f"{len(numbers)} number{'s' * (len(numbers) != 1)}"


def _difference(given: Any, wanted: Any, where: str) -> str:
    if _kind(given) != _kind(wanted):
        is_error = isinstance(given, Exception)
        expected = f"Expected {_kind(wanted)}{where}, got {_kind(given)}."
        return f"It stops{where}. {_words(given)}" if is_error else expected
    if isinstance(wanted, tuple):
        differences = (_difference(*pair, where) for pair in zip(given, wanted, strict=True))
        return next(filter(None, differences), "")
    if not isinstance(wanted, Tensor):
        is_same = isinstance(wanted, Exception) or bool(given == wanted)
        return "" if is_same else f"Expected {wanted!r}{where}, got {given!r}."
    given, wanted = given.double(), wanted.double()
    if torch.allclose(given, wanted, rtol=0, atol=OF_FUNCTIONS, equal_nan=True):
        return ""
    if given.isnan().any():
        return f"There is NaN in the result{where}."
    gap = (given - wanted).abs().max().item()
    return f"The shape is right{where}, but numbers are off by up to {gap:.2g}."


def _where(case: list[Any]) -> str:
    shapes = ", ".join(str(tuple(arg.shape)) for arg in case if isinstance(arg, Tensor))
    return f" for inputs of shape {shapes}" if shapes else ""


def _words(error: Exception) -> str:
    first, _, _ = str(error).partition("\n")
    return f"{type(error).__name__}: {first}"


def _kind(thing: object) -> str:
    if isinstance(thing, tuple):
        return f"a tuple of {len(thing)}"
    if isinstance(thing, Tensor):
        return f"a tensor of shape {tuple(thing.shape)} and {thing.dtype}"
    return type(thing).__name__

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
    "shape": "Expected shape {right}, got {given}.",
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


def judge(exercise: Exercise, answer: object) -> None:
    """Raise :class:`NotYet` if an answer differs from the right one, with the hint it needs."""
    tolerance = OF_FUNCTIONS if callable(exercise.right) else exercise.tolerance
    wanted, given = _results(exercise, exercise.right), _results(exercise, answer)
    if _same(given, wanted, tolerance):
        return
    for hint, wrong in exercise.wrong_answers():
        if _same(given, _results(exercise, wrong), tolerance):
            errors = [_words(result) for result in given if isinstance(result, Exception)]
            raise NotYet(f"{hint} ({errors[0]})" if errors else hint)
    if not callable(exercise.right):
        raise NotYet(_other_numbers(given[0], wanted[0], tolerance))
    triples = zip(given, wanted, _draw_cases(exercise), strict=True)
    raise NotYet(next(_difference(*each) for each in triples if not _same(*each[:2], tolerance)))


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
    results = tuple(_result(exercise, answer, case) for case in _draw_cases(exercise))
    if refused := [result for result in results if isinstance(result, NotYet)]:
        raise refused[0]
    return results


def _read(answer: Any, *, one: bool) -> Tensor:
    """Return the numbers of an answer."""
    if one and isinstance(answer, Tensor) and answer.numel() == 1 and answer.dtype != torch.bool:
        answer = answer.item()
    if one and (isinstance(answer, bool) or not isinstance(answer, numbers.Real)):
        raise NotYet(SENTENCES["no number"].format(kind=_kind(answer)))
    if one:
        return torch.tensor(float(answer), dtype=torch.float64)
    try:
        given = torch.as_tensor(answer).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise NotYet(SENTENCES["no numbers"].format(kind=_kind(answer))) from None
    if given.dtype == torch.bool or given.is_complex():
        raise NotYet(f"Expected real numbers, got {given.dtype}.")
    return given


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
            return exercise.use(function, *case)
        except Exception as error:
            return error


def _alike(given: Any, wanted: Any) -> bool:
    """Say whether two results are of one kind and of one shape."""
    if isinstance(wanted, Tensor):
        has_shape = isinstance(given, Tensor) and given.shape == wanted.shape
        return has_shape and (given.dtype == torch.bool) == (wanted.dtype == torch.bool)
    if isinstance(wanted, tuple):
        return isinstance(given, tuple) and len(given) == len(wanted)
    return type(given) is type(wanted)


def _same(given: Any, wanted: Any, tolerance: float) -> bool:
    if not _alike(given, wanted):
        return False
    if isinstance(wanted, tuple):
        return all(_same(*pair, tolerance) for pair in zip(given, wanted, strict=True))
    if not isinstance(wanted, Tensor):
        return isinstance(wanted, Exception) or bool(given == wanted)
    given, wanted = given.detach().cpu().double(), wanted.detach().cpu().double()
    return torch.allclose(given, wanted, rtol=0, atol=tolerance, equal_nan=True)


def _other_numbers(given: Tensor, right: Tensor, tolerance: float) -> str:
    if given.shape != right.shape:
        return SENTENCES["shape"].format(right=tuple(right.shape), given=tuple(given.shape))
    if given.dim() > 0:
        sentence, value = "other numbers", f"{[round(x, 4) for x in given.flatten().tolist()]}"
    else:
        sentence, value = "another number", f"{given.item():g}"
    if value == "nan":
        return SENTENCES["NaN"]
    return SENTENCES[sentence].format(value=value, tolerance=f"{tolerance:g}")


def _difference(given: Any, wanted: Any, case: list[Any]) -> str:
    """Say in which way one result of a function is not the one that was wanted."""
    shapes = ", ".join(str(tuple(arg.shape)) for arg in case if isinstance(arg, Tensor))
    where = f" for inputs of shape {shapes}" if shapes else ""
    if isinstance(given, Exception):
        return f"It stops{where}. {_words(given)}"
    if not _alike(given, wanted):
        return f"Expected {_kind(wanted)}{where}, got {_kind(given)}."
    if isinstance(wanted, tuple):
        pairs = zip(given, wanted, strict=True)
        return next(_difference(*pair, case) for pair in pairs if not _same(*pair, OF_FUNCTIONS))
    if not isinstance(wanted, Tensor):
        return f"Expected {wanted!r}{where}, got {given!r}."
    if given.isnan().any():
        return f"There is NaN in the result{where}."
    gap = (given.double() - wanted.double()).abs().max().item()
    return f"The shape is right{where}, but numbers are off by up to {gap:.2g}."


def _words(error: Exception) -> str:
    first, _, _ = str(error).partition("\n")
    return f"{type(error).__name__}: {first}"


def _kind(thing: object) -> str:
    if isinstance(thing, tuple):
        return f"a tuple of {len(thing)}"
    if isinstance(thing, Tensor):
        return f"a tensor of shape {tuple(thing.shape)} and {thing.dtype}"
    return type(thing).__name__

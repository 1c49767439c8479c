"""Compare an answer with the right one, and a wrong one with the slips that are known."""

import copy
import math
import numbers
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Checker = Callable[[Any], str]
"""Takes an answer, returns why it is right, or raises :class:`NotYet`."""

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


class NotYet(Exception):
    """What is wrong with an answer, in words for the reader."""


@dataclass
class Description:
    """An answer that takes down what it is compared with; only numbers are compared so."""

    right: float | Tensor = math.nan
    slips: Mapping[str, float] | Mapping[str, Tensor] = field(default_factory=dict)
    tolerance: float = 0.0
    praise: str = ""


def describe(checker: Checker) -> Description | None:
    """Return what a checker compares numbers with, or None if it judges functions or classes."""
    description = Description()
    try:
        description.praise = checker(description)
    except NotYet:
        return None
    return description


def judge_number(
    answer: object, right: float, slips: Mapping[str, float], *, tolerance: float = 1e-3
) -> None:
    """Refuse what is not a number, or is further than the tolerance from the right one."""
    if isinstance(answer, Description):
        answer.right, answer.slips, answer.tolerance = right, slips, tolerance
        return
    if isinstance(answer, Tensor) and answer.numel() == 1 and answer.dtype != torch.bool:
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, numbers.Real):
        raise NotYet(SENTENCES["no number"].format(kind=_kind(answer)))
    value = float(answer)
    if math.isnan(value):
        raise NotYet(SENTENCES["NaN"])
    if abs(value - right) <= tolerance:
        return
    for message, slip in slips.items():
        if abs(value - slip) <= tolerance:
            raise NotYet(message)
    raise NotYet(SENTENCES["another number"].format(value=f"{value:g}", tolerance=f"{tolerance:g}"))


def judge_numbers(
    answer: object, right: Tensor, slips: Mapping[str, Tensor], *, tolerance: float = 1e-3
) -> None:
    """Refuse what is not a tensor of the right shape, or has a number too far from it."""
    if isinstance(answer, Description):
        answer.right, answer.slips, answer.tolerance = right, slips, tolerance
        return
    try:
        given = torch.as_tensor(answer).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise NotYet(SENTENCES["no numbers"].format(kind=_kind(answer))) from None
    if given.dtype == torch.bool or given.is_complex():
        raise NotYet(f"Expected real numbers, got {given.dtype}.")
    if given.shape != right.shape:
        raise NotYet(SENTENCES["shape"].format(right=tuple(right.shape), given=tuple(given.shape)))
    if _same(given, right, tolerance):
        return
    for message, slip in slips.items():
        if _same(given, slip, tolerance):
            raise NotYet(message)
    rounded = [round(number, 4) for number in given.flatten().tolist()]
    raise NotYet(SENTENCES["other numbers"].format(value=rounded, tolerance=f"{tolerance:g}"))


def judge_function(
    answer: object,
    right: Callable[..., Any],
    cases: Sequence[tuple[Any, ...]],
    slips: Mapping[str, Callable[..., Any]],
    *,
    tolerance: float = 1e-6,
    use: Callable[..., Any] | None = None,
) -> None:
    """Refuse a function that differs from the right one in any case.

    Args:
        answer: The reader's function.
        right: The right one.
        cases: Arguments to call both with, easy ones first.
        slips: Wrong functions, each under the message for a reader whose function does the same
            in every case.
        tolerance: How far numbers may be apart.
        use: Turns a function and a case into what is compared; by default, calls it.
    """
    if not callable(answer):
        raise NotYet(f"Expected a function, got {_kind(answer)}.")
    use = use or (lambda function, *case: function(*case))
    wanted = [_outcome(use, right, case) for case in cases]
    if failed := [outcome for outcome in wanted if isinstance(outcome, Exception)]:
        raise failed[0]  # ours, not the reader's
    given = [_outcome(use, answer, case) for case in cases]
    if refused := [outcome for outcome in given if isinstance(outcome, NotYet)]:
        raise refused[0]
    same = [_same(g, w, tolerance) for g, w in zip(given, wanted, strict=True)]
    if all(same):
        return
    first = same.index(False)
    stopped = next((g for g in given if isinstance(g, Exception)), None)
    for message, slip in slips.items():
        outcomes = [_outcome(use, slip, case) for case in cases]
        if all(_same(g, s, tolerance) for g, s in zip(given, outcomes, strict=True)):
            raise NotYet(message if stopped is None else f"{message} ({_words(stopped)})")
    raise NotYet(_difference(given[first], wanted[first], cases[first]))


def _outcome(use: Callable[..., Any], function: Any, case: tuple[Any, ...]) -> Any:
    """Call on copies of the arguments; an error is an outcome, too."""
    # The reader's random state is left as it was; a deprecation is not what is being judged.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            return use(function, *copy.deepcopy(case))
        except Exception as error:
            return error


def _same(given: Any, wanted: Any, tolerance: float) -> bool:
    if isinstance(given, Exception):
        return type(given) is type(wanted)
    if isinstance(wanted, Tensor):
        return (
            isinstance(given, Tensor)
            and given.shape == wanted.shape
            and (given.dtype == torch.bool) == (wanted.dtype == torch.bool)
            and torch.allclose(
                given.detach().cpu().double(),
                wanted.double(),
                rtol=0,
                atol=tolerance,
                equal_nan=True,
            )
        )
    if isinstance(wanted, tuple):
        return (
            isinstance(given, tuple)
            and len(given) == len(wanted)
            and all(_same(g, w, tolerance) for g, w in zip(given, wanted, strict=True))
        )
    return type(given) is type(wanted) and bool(given == wanted)


def _difference(given: Any, wanted: Any, case: tuple[Any, ...]) -> str:
    shapes = ", ".join(str(tuple(arg.shape)) for arg in case if isinstance(arg, Tensor))
    where = f" for inputs of shape {shapes}" if shapes else ""
    if isinstance(given, Exception):
        return f"It stops{where}. {_words(given)}"
    if isinstance(given, tuple) and isinstance(wanted, tuple) and len(given) == len(wanted):
        pairs = zip(given, wanted, strict=True)
        given, wanted = next((g, w) for g, w in pairs if not _same(g, w, 1e-6))
    if not isinstance(wanted, Tensor):
        return f"Expected {wanted!r}{where}, got {given!r}."
    if not isinstance(given, Tensor):
        return f"Expected a tensor{where}, got {_kind(given)}."
    if given.shape != wanted.shape:
        return f"Expected shape {tuple(wanted.shape)}{where}, got {tuple(given.shape)}."
    if (given.dtype == torch.bool) != (wanted.dtype == torch.bool):
        return f"Expected {wanted.dtype}{where}, got {given.dtype}."
    if bool(given.isnan().any()):
        return f"There is NaN in the result{where}."
    gap = (given.double() - wanted.double()).abs().max().item()
    return f"The shape is right{where}, but numbers are off by up to {gap:.2g}."


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".strip()


def _kind(thing: object) -> str:
    if isinstance(thing, Tensor):
        return f"a tensor of shape {tuple(thing.shape)} and {thing.dtype}"
    return f"{type(thing).__name__}"

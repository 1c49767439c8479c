"""Puzzles: numbers to set until a head does something, judged also on sentences not shown."""

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attention.exercises.judging import NotYet
from attention.functional import scaled_dot_product_attention
from attention.masks import causal_mask
from attention.rotary import apply_rotary

PUZZLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("puzzles.toml").read_text(encoding="utf-8")
)
PREFIX = "puzzle-"  # of a puzzle's name among the exercises
LIMIT = 99
RANGES = {"temperature": (0.05, 10.0), "angle": (-180.0, 180.0)}
MASKS = ("none", "causal", "not itself")
WHOM = {
    "best": "the word that fits best",
    "first": "the first word",
    "itself": "itself",
    "previous": "the word before",
    "two before": "the word two before",
    "twin": "the same word elsewhere",
    "padding": "the padding",
}
BY_POSITION = ("first", "previous", "two before")  # the others go by the word


@dataclass(frozen=True)
class Check:
    """A number that a goal bounds, for the word i of a sentence; ``on`` is what it attends to."""

    i: int
    what: str
    value: Tensor
    low: float
    high: float
    asked: str
    on: tuple[int, ...] = ()
    leads: bool = False  # what it should attend to has the largest weight, but not enough

    def holds(self) -> bool:
        """Say whether the number is within its bounds."""
        return bool(self.low <= self.value.item() <= self.high)


def judge_puzzle(name: str, values: Mapping[str, Any]) -> tuple[str, str]:
    """Return why a puzzle is solved or not: a word for programs, and a sentence for readers.

    The words are ``solved`` and ``impossible``, and for what is not solved ``here`` (not even for
    the sentence that is shown), ``word``, ``position`` or ``elsewhere`` (not for all sentences),
    and ``possible`` or ``claim`` (a wrong claim that no numbers do it).
    """
    puzzle = PUZZLES[name]
    if "impossible" in values:
        return _judge_claim(puzzle, values["impossible"])
    state = read_state(puzzle, values)
    for sentence in (puzzle["shown"], *puzzle["others"]):
        words = sentence.split()
        for check in checks(puzzle, state, words):
            if not check.holds():
                return _diagnose(puzzle, state, words, check)
    return "solved", puzzle["praise"]


def read_state(puzzle: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that is set: what the puzzle starts with, and the reader's values."""
    state = {
        name: start if name == "mask" else _numbers(name, start)
        for name, start in puzzle["start"].items()
    }
    for name, value in values.items():
        if name not in puzzle["settable"]:
            names = ", ".join(puzzle["settable"])
            raise ValueError(f"{name}: this puzzle lets one set {names}")
        if name == "mask":
            if value not in MASKS:
                raise ValueError(f"mask: expected one of {', '.join(MASKS)}, got {value!r}")
            state[name] = value
            continue
        given, expected = _numbers(name, value), tuple(state[name].shape)
        low, high = RANGES.get(name, (-LIMIT, LIMIT))
        if given.shape != expected:
            raise ValueError(f"{name}: expected shape {expected}, got {tuple(given.shape)}")
        if not bool(((given >= low) & (given <= high)).all()):
            raise ValueError(f"{name}: expected numbers from {low:g} to {high:g}, got {value}")
        state[name] = given
    return state


def _numbers(name: str, value: Any) -> Tensor:
    try:
        return torch.as_tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{name}: expected numbers, got {type(value).__name__}") from None


def forward(
    puzzle: dict[str, Any], state: dict[str, Any], words: list[str]
) -> tuple[Tensor, list[dict[str, Tensor]]]:
    """Compute the embeddings (n, d), and in each head queries, keys, weights and context."""
    n = len(words)
    x = _numbers("words", [puzzle["words"][word] for word in words])  # (n, d)
    if "positions" in puzzle:
        x = x + _numbers("positions", puzzle["positions"][:n])  # (n, d)
    heads = []
    for end in ("_1", "_2") if "W_query_1" in state else ("",):
        query = x @ state[f"W_query{end}"]  # (n, k)
        key = x @ state[f"W_key{end}"] + state.get("b_key", 0)  # (n, k)
        if "angle" in state:  # of a pair, the only one, for each step
            at = torch.arange(n) * torch.deg2rad(state["angle"])  # (n,)
            query, key = apply_rotary(query, at), apply_rotary(key, at)
        value = x @ state[f"W_value{end}"] if f"W_value{end}" in state else x  # (n, v)
        scale = 1 / math.sqrt(key.shape[-1]) / state.get("temperature", 1)
        mask = {"causal": causal_mask(n), "not itself": ~torch.eye(n, dtype=torch.bool)}.get(
            state.get("mask", "none")
        )
        context, weights = scaled_dot_product_attention(query * scale, key, value, mask, scale=1.0)
        heads.append({"scores": query @ key.mT, "weights": weights, "context": context})
    return x, heads


def checks(puzzle: dict[str, Any], state: dict[str, Any], words: list[str]) -> Iterator[Check]:
    """List the numbers that the goal bounds in one sentence."""
    goal = puzzle["goal"]
    x, heads = forward(puzzle, state, words)
    weights = heads[0]["weights"]  # (n, n)
    context = torch.cat([head["context"] for head in heads], dim=-1)  # (n, v)
    n = len(words)
    kind = goal["kind"]
    if kind == "weight":
        low, high = goal.get("at_least", 0), goal.get("at_most", 1)
        asked = f"at least {low}" if "at_least" in goal else f"at most {high}"
        for i, word in enumerate(words):
            js = whom(goal["of"], i, words, heads[0]["scores"])
            if js and goal.get("from", word) == word:
                name = f"“{words[js[0]]}”" if "from" in goal else WHOM[goal["of"]]
                rest = [weights[i, j].item() for j in range(n) if j not in js]
                leads = weights[i, js].max().item() > max(rest, default=0.0) + 1e-9
                value = weights[i, js].sum()
                what = f"gives {name} a weight of {{}}"
                yield Check(i, what, value, low, high + 1e-9, asked, tuple(js), leads)
    elif kind in ("alike", "map"):
        if kind == "map":
            other = {name: _numbers(name, goal[name]) for name in ("W_query", "W_key")}
            wanted_weights = forward(puzzle, state | other, words)[1][0]["weights"]  # (n, n)
        else:
            seen = (causal_mask(n) if goal["of"] == "past" else torch.ones(n, n)).double()
            wanted_weights = seen / seen.sum(dim=-1, keepdim=True)  # (n, n)
        for i, row in enumerate(wanted_weights.tolist()):
            for j, weight in enumerate(row):
                what = f"gives “{words[j]}” a weight of {{}}"
                yield _within(i, what, weights[i, j], weight, goal["within"])
    elif kind == "copy":
        c = puzzle["features"].index(goal["feature"])
        for i in range(n):
            for number, of in enumerate(goal["of"]):
                wanted = x[0 if of == "first" else n - 1, c].item()
                place = "from head" if len(heads) > 1 else "as context"
                what = f"receives {{}} {place} {number + 1}"
                yield _within(i, what, context[i, number], wanted, goal["within"])
    elif kind == "point":
        i = words.index(goal["word"])
        for number, wanted in enumerate(goal["point"]):
            what = f"receives {{}} as context {number + 1}"
            yield _within(i, what, context[i, number], wanted, goal["within"])
    else:
        c = puzzle["features"].index(goal["feature"])
        for i in range(n):
            if x[i, c] <= 0:
                continue
            result, least = x[i, c] + context[i, 0], goal["at_least"]
            if i > 0 and words[i - 1] == goal["flip"]:
                yield Check(i, "comes out at {}", result, -math.inf, -least, f"at most −{least}")
            else:
                yield Check(i, "comes out at {}", result, least, math.inf, f"at least {least}")


def _within(i: int, what: str, value: Tensor, wanted: float, within: float) -> Check:
    asked = f"{_digits(wanted)} is asked, give or take {within}"
    return Check(i, what, value, wanted - within, wanted + within, asked)


def whom(of: str, i: int, words: list[str], scores: Tensor) -> list[int]:
    """List the words that word i should attend to, or not; none where nothing is asked of it."""
    n = len(words)
    if of == "padding":
        return [j for j in range(n) if words[j] == "<pad>" != words[i]]
    if of == "twin":
        return [j for j in range(n) if words[j] == words[i] and j != i]
    if of == "best":
        return [int(scores[i].argmax())]
    j = {"first": 0, "itself": i, "previous": i - 1, "two before": i - 2}[of]
    return [j] if j >= 0 else []


def _diagnose(
    puzzle: dict[str, Any], state: dict[str, Any], words: list[str], check: Check
) -> tuple[str, str]:
    """Say what is missed, and what misleads the head in a sentence that was not shown."""
    shown = puzzle["shown"].split()
    if words == shown:
        return "here", _words(check, words)
    sentence = f"In “{' '.join(words)}”: "
    if puzzle["goal"]["kind"] == "weight" and "at_least" in puzzle["goal"]:
        weights = forward(puzzle, state, words)[1][0]["weights"][check.i]  # (n,)
        most = int(weights.argmax())
        right = {j for one in checks(puzzle, state, shown) for j in one.on}
        is_shown = words[most] in {shown[j] for j in right} - {words[j] for j in check.on}
        if puzzle["goal"]["of"] in BY_POSITION and is_shown:
            reason = (
                f"“{words[check.i]}” attends to “{words[most]}” because of its embedding, "
                "not because of its position."
            )
            return "word", sentence + reason
        if puzzle["goal"]["of"] == "twin" and most in right:
            reason = (
                f"“{words[check.i]}” attends to word {most + 1}, “{words[most]}”, because of its "
                "position or its own embedding, and not because it is the same word."
            )
            return "position", sentence + reason
    return "elsewhere", f"Right here, but not everywhere. {sentence}{_words(check, words)}"


def _words(check: Check, words: list[str]) -> str:
    asked = check.asked if "asked" in check.asked else f"{check.asked} is asked"
    value = check.value.item()
    # As many digits as tell a value that misses from its bound
    rounded = {places: float(f"{value:.{places}f}") for places in (3, 4, 5, 6)}
    missing = (n for n, each in rounded.items() if not check.low <= each <= check.high)
    what = check.what.format(_digits(value, next(missing, 6)))
    more = " It leads, but not by enough." if check.leads and check.value < check.low else ""
    return f"“{words[check.i]}” {what}; {asked}.{more}"


def _digits(number: float, places: int = 3) -> str:
    return f"{number:.{places}f}".replace("-", "−")


def _judge_claim(puzzle: dict[str, Any], claim: Any) -> tuple[str, str]:
    given = puzzle.get("impossible")
    if given is None:
        return "possible", "It is possible, and there is nothing here to claim."
    if claim not in range(len(given["claims"])):
        raise ValueError(f"impossible: expected the number of a reason, from 0 to 2, got {claim}")
    if "right" not in given:
        return "possible", given["answers"][claim]
    is_right = claim == given["right"]
    return "impossible" if is_right else "claim", given["answers"][claim]


def solve(name: str, values: Mapping[str, Any]) -> str:
    """Return the praise, or raise :class:`NotYet` with what is wrong."""
    reason, text = judge_puzzle(name, values)
    if reason not in ("solved", "impossible"):
        raise NotYet(text)
    return text

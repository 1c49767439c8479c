"""One contract for all exercises: what is right, what is wrong, and what is said of it."""

import itertools
import math

import pytest
import torch
from exercise_answers import CELL, EXERCISE, TEXTS, WRONG, solution, solutions
from loops import for_each
from torch import nn
from torch.nn import functional as F

from attention import QKSelfAttention
from attention.exercises import EXERCISES, check

NUMBERS = [name for name, exercise in EXERCISES.items() if not callable(exercise.right)]
CODE = [name for name in EXERCISES if name not in NUMBERS]
WRITTEN = [match for text in TEXTS.values() for match in EXERCISE.findall(text)]


def test_every_exercise_is_on_one_page_and_every_page_has_no_other():
    assert sorted(name for name, _, _ in WRITTEN) == sorted(EXERCISES)
    assert len(WRITTEN) == sum(text.count("{exercise}") for text in TEXTS.values())
    assert set(solutions()) == set(EXERCISES)
    # Those with numbers have wrong ones that were computed elsewhere.
    assert set(NUMBERS) < set(WRONG) < set(EXERCISES)


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


def verdict(capsys, name, answer):
    check(name, answer)
    return capsys.readouterr().out.strip()


@for_each(name=EXERCISES)
def test_the_right_answer_is_praised_and_each_slip_gets_its_own_hint(capsys, name):
    exercise = EXERCISES[name]
    for right in (exercise.right, solution(name)):
        assert verdict(capsys, name, right) == f"Right. {exercise.praise}"
    assert len(exercise.slips) == 3
    by_other_means = zip(exercise.slips, WRONG[name], strict=True) if name in WRONG else ()
    for hint, wrong in (*exercise.wrong_answers(), *by_other_means):
        assert verdict(capsys, name, wrong).startswith(f"Not yet. {hint}")


@for_each(name=NUMBERS)
def test_numbers_within_the_tolerance_pass_and_no_others_do(capsys, name):
    right = torch.as_tensor(EXERCISES[name].right, dtype=torch.float64)
    for part, beginning in ((0.9, "Right. "), (-0.9, "Right. "), (1.1, "Not yet. ")):
        answer = right + part * EXERCISES[name].tolerance
        assert verdict(capsys, name, answer).startswith(beginning)
    for _ in range(3):
        answer = right + 1e4 * torch.randn(right.shape)
        assert "The right number" in verdict(capsys, name, answer)


def shifted(result, by):
    """Change the first number of a result, a word of a list or an entry of a dictionary."""
    if isinstance(result, tuple):
        return (shifted(result[0], by), *result[1:])
    if isinstance(result, torch.Tensor):
        return ~result if result.dtype == torch.bool else result + by
    return {**result, "new": 99} if isinstance(result, dict) else [*result, 0]


@for_each(name=set(CODE) - {"copy-layer", "fold-keys", "drop-dead-bias", "add-queries"})
def test_a_function_must_be_right_to_the_last_digits(capsys, name):
    def nearly(*case):
        result = solution(name)(*case)
        return result + 1e-4 if isinstance(result, float) else shifted(result, 1e-4)

    assert verdict(capsys, name, nearly).startswith("Not yet. ")


@for_each(name=CODE)
def test_a_function_must_be_right_in_the_last_case_too(capsys, name):
    exercise, calls = EXERCISES[name], []
    last = len(list(exercise.cases()))

    def sometimes(*case):
        calls.append(case)
        return exercise.right(*case) if len(calls) < last else None

    assert verdict(capsys, name, sometimes).startswith("Not yet. ")
    assert len(calls) == last


@for_each(name=EXERCISES)
def test_nonsense_is_refused_and_nothing_is_changed(capsys, name):
    nonsense = [
        *[None, "1", True, math.nan, math.inf, 12345, [[1.0], [2.0]], torch.rand(2, 3, 5), {}],
        *[object(), len, lambda *args: None, lambda *args: args[0], torch.softmax, nn.Linear],
        *[{"turn": "T"}, torch.ones(2, dtype=torch.complex64), 1j, [True, False], nn.Linear(2, 2)],
    ]
    before = torch.random.get_rng_state()
    for answer in (*nonsense, EXERCISES[name].right):
        is_right = answer is EXERCISES[name].right
        assert verdict(capsys, name, answer).startswith("Right. " if is_right else "Not yet. ")
    assert torch.equal(torch.random.get_rng_state(), before)


@for_each(name=CODE)
def test_an_answer_that_writes_into_its_arguments_spoils_nothing(capsys, name):
    def careless(*case):
        result = EXERCISES[name].right(*case)
        if isinstance(result, tuple):
            result = tuple(each.clone() for each in result)
        elif isinstance(result, torch.Tensor):
            result = result.clone()  # it may be a view
        for argument in case:
            if isinstance(argument, torch.Tensor) and not argument.requires_grad:
                argument.zero_()
            elif isinstance(argument, list):
                argument.clear()
        return result

    for _ in range(2):
        assert verdict(capsys, name, careless).startswith("Right. ")


def test_an_answer_of_another_kind_is_told_which_was_expected(capsys):
    cases = [
        ("score-by-hand", "1", "Expected one number, got str."),
        ("score-by-hand", torch.ones(2), "Expected one number, got a tensor of shape (2,)"),
        ("score-by-hand", math.nan, "got NaN"),
        ("weights-by-hand", torch.rand(1, 3), "Expected 3 numbers, got shape (1, 3)."),
        ("weights-by-hand", "abc", "Expected a list or tensor of numbers, got str."),
        ("weights-by-hand", [True] * 3, "Expected real numbers, got torch.bool."),
        ("all-at-once", 3, "Expected a function, got int."),
        ("all-at-once", lambda x: x, "It stops for inputs of shape (5, 3), (3, 2), (3, 2), (3, 2)"),
        ("all-at-once", lambda x, q, k, v: x, "Expected a tensor of shape (5, 2)"),
        ("all-at-once", lambda x, q, k, v: x @ v / 0 * 0, "There is NaN in the result"),
        ("all-at-once", lambda x, q, k, v: x @ v, "The shape is right"),
        ("copy-layer", lambda v1: v1, "a layer of class SelfAttentionV2 back, got SelfAttentionV1"),
        ("true-means-ignore", lambda lengths, n: torch.rand(3, n), "(3, 7) and torch.bool"),
        ("other-pair", lambda Q, K, R: Q @ K.T, "Expected a tuple of 2 for inputs of shape"),
        ("absorbed-query", lambda q, C, K, V: C @ K, "You made keys or values of all tokens."),
        ("absorbed-query", lambda q, C, K, V: C @ V, "You made keys or values of all tokens."),
        ("add-queries", nn.Linear, "Expected self.W_query = nn.Linear("),
        ("add-queries", lambda d, k: QKSelfAttention(d, key_dim=k, bias=True), "bias=False"),
        ("add-queries", lambda d, k: QKSelfAttention(k, key_dim=d), "Expected self.W_query = "),
        ("keep-the-end", lambda front, review, most: tuple(front), "Expected list, got a tuple"),
    ]
    verdicts = [(expected, verdict(capsys, name, answer)) for name, answer, expected in cases]
    assert [pair for pair in verdicts if pair[0] not in pair[1]] == []


def test_a_misspelt_name_is_told_the_nearest_ones():
    with pytest.raises(ValueError, match=r"exercise: expected a name such as divide-by, .*'by'"):
        check("by", 1)
    with pytest.raises(ValueError, match=r"such as jacobian, .*; got 'Jakobian'"):
        check("Jakobian", 1)


def test_47_of_120_orders_of_five_words_agree_as_well_by_chance():
    orders = torch.tensor(list(itertools.permutations(range(5)))) - 2.0
    count = (orders @ (torch.arange(5) - 2.0) / 10 >= 0.2 - 1e-6).sum().item()
    assert f"of their {len(orders)} orders, {count} agree" in EXERCISES["rank-by-hand"].praise


def test_solutions_by_other_means_are_right_too(capsys):
    def by_torch(x, W_query, W_key, W_value):
        return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value)

    def in_one_product(query, latent, W_key, W_value):
        scores = torch.einsum("hnk,hrk,mr->hnm", query, W_key, latent) / query.shape[-1] ** 0.5
        return torch.einsum("hnm,mr,hrv->hnv", scores.softmax(-1), latent, W_value)

    for name, answer in (
        ("causal-window", lambda n, m, w: torch.ones(n, m).tril(m - n).triu(m - n + 1 - w) > 0),
        ("absorbed-query", in_one_product),
        ("all-at-once", by_torch),
        ("add-queries", lambda d, k: QKSelfAttention(d, key_dim=k)),
        # masked_fill passes no gradient to what it filled, not even NaN.
        ("blind-row", lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num()),
        ("score-by-hand", torch.tensor([1.0])),
        ("other-pair", lambda Q, K, R: (Q @ R, torch.linalg.solve(R, K.T).T)),
    ):
        assert verdict(capsys, name, answer).startswith("Right")

"""Each checker accepts its solution, and names what a likely wrong answer got wrong."""

import functools
import itertools
import math

import pytest
import torch
from exercise_answers import RIGHT, WRONG
from loops import for_each
from torch import nn
from torch.nn import functional as F

from attention import EnergyPooling, QKSelfAttention, SelfAttentionV2
from attention.exercises import (
    CHECKERS,
    block,
    check,
    judging,
    low_rank,
    masks,
    reading,
    scale,
    sentence,
    today,
    training,
)
from attention.exercises.judging import describe


def verdict(capsys, name, answer):
    check(name, answer)
    return capsys.readouterr().out.strip()


def test_every_checker_has_a_right_and_four_wrong_answers_here():
    assert set(RIGHT) == set(CHECKERS)
    assert {name for name, _, _ in WRONG} == set(CHECKERS)
    counts = {name: sum(name == exercise for exercise, _, _ in WRONG) for name in CHECKERS}
    assert {name: count for name, count in counts.items() if count < 4} == {}


@for_each(name=CHECKERS)
def test_a_right_answer_is_right_and_a_wrong_one_is_told_what_is_wrong(capsys, name):
    message = verdict(capsys, name, RIGHT[name])
    assert message.startswith("Right. ")
    assert "Not yet" not in message
    unexpected = []
    for _, answer, expected in (wrong for wrong in WRONG if wrong[0] == name):
        message = verdict(capsys, name, answer)
        if not message.startswith("Not yet. ") or expected not in message:
            unexpected.append((expected, message))
    assert unexpected == []


def test_no_checker_accepts_nonsense(capsys):
    nonsense = [
        *[None, "1", True, math.nan, math.inf, 12345, [[1.0], [2.0]], torch.rand(2, 3, 5), {}],
        *[object(), len, lambda *args: None, lambda *args: args[0], torch.softmax, nn.Linear],
    ]
    accepted = [
        (name, answer)
        for name, answer in itertools.product(CHECKERS, nonsense)
        if not verdict(capsys, name, answer).startswith("Not yet. ")
    ]
    assert accepted == []


def test_an_answer_of_another_kind_is_told_which_was_expected(capsys):
    cases = [
        ("score-by-hand", "1", "Expected one number, got str."),
        ("score-by-hand", [1.0], "Expected one number, got list."),
        ("score-by-hand", True, "Expected one number, got bool."),
        ("score-by-hand", torch.ones(2), "Expected one number, got a tensor of shape (2,)"),
        ("score-by-hand", math.nan, "got NaN"),
        ("weights-by-hand", 0.5, "Expected shape (3,), got ()."),
        ("weights-by-hand", torch.rand(1, 3), "Expected shape (3,), got (1, 3)."),
        ("weights-by-hand", "abc", "Expected a list or tensor of numbers, got str."),
        ("weights-by-hand", [[1], [1, 2]], "Expected a list or tensor of numbers, got list."),
        ("all-at-once", 3, "Expected a function, got int."),
        ("all-at-once", lambda x: x, "It stops for inputs of shape (5, 3), (3, 2), (3, 2), (3, 2)"),
        ("all-at-once", lambda x, q, k, v: x, "Expected shape (5, 2) for inputs"),
        ("all-at-once", lambda x, q, k, v: (x @ v).tolist(), "Expected a tensor"),
        ("all-at-once", lambda x, q, k, v: x @ v / 0 * 0, "There is NaN in the result"),
        ("all-at-once", lambda x, q, k, v: x @ v, "The shape is right"),
        ("copy-layer", lambda v1: v1, "Expected a SelfAttentionV2 back, got SelfAttentionV1."),
        ("fold-keys", lambda keyed: keyed, "Expected an EnergyPooling back, got KeyedPooling."),
        ("true-means-ignore", lambda lengths, n: torch.rand(3, n), "Expected torch.bool"),
        ("other-pair", lambda Q, K, R: Q @ K.T, "Expected (tensor"),
        ("add-queries", QKSelfAttention(3, key_dim=2), "Expected a class"),
        ("keep-the-end", lambda front, review, most: tuple(front + review)[-most:], "Expected ["),
        ("deletion", lambda logit, ids: logit(ids), "Expected shape (5,)"),
    ]
    verdicts = [(expected, verdict(capsys, name, answer)) for name, answer, expected in cases]
    assert [pair for pair in verdicts if pair[0] not in pair[1]] == []


def test_answers_within_the_tolerance_pass_and_beyond_it_do_not(capsys):
    for error in (0.0009, -0.0009):
        assert verdict(capsys, "score-by-hand", 1 + error).startswith("Right")
    for error in (0.0011, -0.0011):
        assert verdict(capsys, "score-by-hand", 1 + error).startswith("Not yet")
    right = torch.tensor(RIGHT["context-by-hand"])
    assert verdict(capsys, "context-by-hand", right + 0.0009).startswith("Right")
    assert verdict(capsys, "context-by-hand", right + torch.tensor([0, 2e-3])).startswith("Not yet")


def test_a_function_must_be_right_in_every_case_and_to_the_last_digits(capsys):
    def nearly(x, W_query, W_key, W_value):
        return RIGHT["all-at-once"](x, W_query, W_key, W_value) + 1e-5

    def sometimes(x, W_query, W_key, W_value):
        context = RIGHT["all-at-once"](x, W_query, W_key, W_value)
        return context if x.dim() == 2 else context.flip(0)

    assert verdict(capsys, "all-at-once", nearly).startswith("Not yet. The shape is right")
    assert "for inputs of shape (7, 5, 3)" in verdict(capsys, "all-at-once", sometimes)


def test_an_answer_that_writes_into_its_arguments_spoils_nothing(capsys):
    def careless(weights):
        jacobian = RIGHT["jacobian"](weights)
        weights.zero_()
        return jacobian

    for _ in range(2):
        assert verdict(capsys, "jacobian", careless).startswith("Right")


def test_checking_leaves_the_random_state_alone(capsys):
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    for name in CHECKERS:
        check(name, RIGHT[name])
        check(name, nn.Linear)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_description_says_what_its_checker_compares_with(capsys):
    described = {name: describe(checker) for name, checker in CHECKERS.items()}
    assert {name for name, found in described.items() if found is None} == {
        name for name in CHECKERS if callable(RIGHT[name])
    }
    for name, found in described.items():
        if found is None:
            continue
        assert verdict(capsys, name, found.right) == f"Right. {found.praise}"
        for message, slip in found.slips.items():
            assert verdict(capsys, name, slip) == f"Not yet. {message}"
        nearly = torch.as_tensor(found.right, dtype=torch.float64)
        for error, begin in ((0.9, "Right. "), (1.1, "Not yet. ")):
            answer = nearly + error * found.tolerance
            assert verdict(capsys, name, answer).startswith(begin)


def test_47_of_120_orders_of_five_words_agree_as_well_by_chance(capsys):
    orders = torch.tensor(list(itertools.permutations(range(5)))) - 2.0
    first = torch.arange(5) - 2.0
    count = (orders @ first / 10 >= 0.2 - 1e-6).sum().item()
    message = verdict(capsys, "rank-by-hand", 0.2)
    assert f"of their {len(orders)} orders, {count} agree" in message


def test_an_unknown_exercise_is_refused_with_the_names_of_all():
    with pytest.raises(ValueError, match=r"exercise: expected one of score-by-hand, .*; got 'x'"):
        check("x", 1)


def test_every_message_is_reached(monkeypatch, capsys):
    """A message that no answer reaches would be dead; a right one could never be a mistake."""
    known, printed = set(), set()

    def recording(judge):
        @functools.wraps(judge)
        def wrapper(answer, right, *rest, **options):
            mistakes = next(part for part in rest if isinstance(part, dict))
            known.update(mistakes)
            return judge(answer, right, *rest, **options)

        return wrapper

    for module in (block, low_rank, masks, reading, scale, sentence, today, training):
        for name in ("judge_number", "judge_numbers", "judge_function"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, recording(getattr(judging, name)))
    for name, answer, _ in WRONG:
        printed.add(verdict(capsys, name, answer).removeprefix("Not yet. "))
    assert len(known) > 100
    missed = [message for message in known if not any(line.startswith(message) for line in printed)]
    assert missed == []


def test_solutions_by_other_means_are_right_too(capsys):
    """A checker judges what an answer does, not how it is written."""

    def by_torch(x, W_query, W_key, W_value):
        return F.scaled_dot_product_attention(x @ W_query, x @ W_key, x @ W_value)

    def by_einsum(x, W_query, W_key, W_value):
        query, key, value = x @ W_query, x @ W_key, x @ W_value
        scores = torch.einsum("...ik,...jk->...ij", query, key) / math.sqrt(key.shape[-1])
        return torch.einsum("...ij,...jv->...iv", scores.softmax(-1), value)

    def copied(v1):
        v2 = SelfAttentionV2(*v1.W_query.shape)
        v2.load_state_dict({f"{name}.weight": W.T for name, W in v1.named_parameters()})
        return v2

    def folded(keyed):
        energy = EnergyPooling(keyed.embed_dim)
        energy.energy.weight = nn.Parameter((keyed.query @ keyed.W_key.weight)[None])
        return energy

    class OneLinear(nn.Module):
        def __init__(self, embed_dim, key_dim):
            super().__init__()
            self.inner = QKSelfAttention(embed_dim, key_dim=key_dim)
            self.W_query, self.W_key = self.inner.W_query, self.inner.W_key

        def forward(self, x):
            return self.inner(x)

    def by_expanding(key, num_heads):
        groups = key.shape[-3]
        several = key.unsqueeze(-3).expand(*key.shape[:-2], num_heads // groups, *key.shape[-2:])
        return several.flatten(-4, -3)

    def in_one_product(query, latent, W_key, W_value):
        scores = torch.einsum("hnk,hrk,mr->hnm", query, W_key, latent) / query.shape[-1] ** 0.5
        return torch.einsum("hnm,mr,hrv->hnv", scores.softmax(-1), latent, W_value)

    def by_logarithms(first, second):
        (top1, total1, context1), (top2, total2, context2) = first, second
        top = torch.maximum(top1, top2)
        sums = torch.stack([top1 + total1.log(), top2 + total2.log()])
        share = sums.softmax(0)[..., None]
        total = (sums.logsumexp(0) - top).exp()
        return top, total, share[0] * context1 + share[1] * context2

    for name, answer in (
        ("share-keys", by_expanding),
        ("causal-window", lambda n, m, w: torch.ones(n, m).tril(m - n).triu(m - n + 1 - w) > 0),
        ("absorbed-query", in_one_product),
        ("merge-blocks", by_logarithms),
        ("all-at-once", by_torch),
        ("all-at-once", by_einsum),
        ("copy-layer", copied),
        ("fold-keys", folded),
        ("add-queries", OneLinear),
        # masked_fill passes no gradient to what it filled, not even NaN.
        ("blind-row", lambda s, mask: s.masked_fill(~mask, -math.inf).softmax(-1).nan_to_num()),
        ("score-by-hand", torch.tensor([1.0])),
        ("other-pair", lambda Q, K, R: (Q @ R, torch.linalg.solve(R, K.T).T)),
    ):
        assert verdict(capsys, name, answer).startswith("Right")

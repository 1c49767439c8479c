"""What each word did for an answer, against its definition, and ranks against their formula."""

import functools
import math

import pytest
import torch
from errors import unexpected_errors
from loops import for_each

from attention import SentimentClassifier
from attention.analysis import (
    deletion_effects,
    deletion_from_weights,
    gradient_effects,
    rank_correlation,
    shuffled_effects,
)
from attention.layers.variants import VARIANTS

IDS = torch.tensor([5, 11, 2, 7, 11, 3, 19])  # a word twice, a separator


def classifier(variant, **options):
    model = SentimentClassifier(
        23, embed_dim=6, key_dim=3, num_heads=2, attention=variant, **options
    )
    return model.double().eval()


@for_each(variant=VARIANTS)
def test_deletion_is_the_logit_minus_that_of_the_review_without_the_word(variant):
    for options in ({}, {"positions": "none"}, {"bigram_buckets": 13}, {"segments": True}):
        model = classifier(variant, **options)
        effects = deletion_effects(model, IDS)
        for i in range(len(IDS)):
            rest = IDS[[j for j in range(len(IDS)) if j != i]]
            expected = (model(IDS[None]) - model(rest[None])).item()
            assert effects[i].item() == pytest.approx(expected, abs=1e-12), options
        assert effects.std() > 1e-3, options


def test_deletion_reads_a_review_longer_than_one_batch_of_texts():
    model = classifier("energy", positions="none")
    ids = torch.randint(3, 23, (131,))
    effects = deletion_effects(model, ids)
    for i in (0, 63, 64, 130):
        rest = torch.cat([ids[:i], ids[i + 1 :]])
        assert effects[i].item() == pytest.approx(
            (model(ids[None]) - model(rest[None])).item(), abs=1e-12
        )


@for_each(variant=("mean", "energy", "keys", "qk", "qkv"))
def test_deletion_follows_from_weights_and_evidence(variant):
    model = classifier(variant, positions="none")
    with torch.no_grad():
        logit, weights = model(IDS[None], need_weights=True)
        evidence = model(IDS[:, None])
    contexts = weights[0] @ evidence
    torch.testing.assert_close(contexts.mean(), logit[0])
    effects = deletion_from_weights(weights[0], evidence)
    torch.testing.assert_close(effects, deletion_effects(model, IDS))
    if weights.dim() == 2:
        a = weights[0]
        torch.testing.assert_close(effects, a / (1 - a) * (evidence - logit))


def test_deletion_does_not_follow_from_weights_where_positions_move():
    model = classifier("energy", positions="start")
    with torch.no_grad():
        _, weights = model(IDS[None], need_weights=True)
        evidence = model(IDS[:, None])
    difference = deletion_from_weights(weights[0], evidence) - deletion_effects(model, IDS)
    assert difference.abs().max() > 1e-3


def uneven(n, spread, generator):
    """Draw weights whose logarithms spread so far, and evidence independent of them."""
    scores = torch.randn(n, generator=generator, dtype=torch.float64)
    evidence = torch.randn(n, generator=generator, dtype=torch.float64)
    return (spread * scores).softmax(dim=-1), evidence


def test_weights_at_random_agree_with_deletion_as_they_become_uneven():
    """The old claim took such an agreement for a finding."""
    g = torch.Generator().manual_seed(5)
    means = []
    for spread in (0.05, 0.5, 1.3):
        measured, null = [], []
        for _ in range(60):
            weights, evidence = uneven(101, spread, g)
            effects = deletion_from_weights(weights, evidence).abs()
            measured.append(rank_correlation(weights, effects))
            effects = shuffled_effects(weights, evidence, generator=g).abs()
            null.append(rank_correlation(weights, effects))
        means.append((sum(measured) / 60, sum(null) / 60))
        assert means[-1][0] == pytest.approx(means[-1][1], abs=0.04)
    assert means[0][0] < 0.15 < 0.3 < means[1][0] < 0.5 < 0.7 < means[2][0]


def test_the_null_is_left_behind_where_weights_follow_the_evidence():
    g = torch.Generator().manual_seed(5)
    evidence = torch.randn(101, generator=g, dtype=torch.float64)
    weights = (0.5 * evidence.abs()).softmax(dim=-1)
    measured = rank_correlation(weights, deletion_from_weights(weights, evidence).abs())
    null = rank_correlation(weights, shuffled_effects(weights, evidence, generator=g).abs())
    assert measured > 0.9
    assert null < 0.6


@for_each(queries=(1, 7), shuffle=("evidence", "weights"))
def test_shuffled_effects_are_those_of_other_pairs(queries, shuffle):
    weights = torch.randn(queries, 7, dtype=torch.float64).softmax(dim=-1).squeeze(0)
    evidence = torch.randn(7, dtype=torch.float64)
    effects = shuffled_effects(
        weights, evidence, shuffle=shuffle, generator=torch.Generator().manual_seed(3)
    )
    order = torch.randperm(7, generator=torch.Generator().manual_seed(3))
    if shuffle == "evidence":
        expected = deletion_from_weights(weights, evidence[order])
    else:
        order = order.argsort()
        moved = weights[order] if queries == 1 else weights[order][:, order]
        expected = deletion_from_weights(moved, evidence)
    torch.testing.assert_close(effects, expected)


def test_weights_that_fit_no_evidence_are_refused():
    shapes = "weights and evidence: expected (n,) or (n, n) and (n,)"
    assert not unexpected_errors(
        (
            f"{tuple(weights.shape)}, {tuple(evidence.shape)}, {options}",
            functools.partial(function, weights, evidence, **options),
            ValueError,
            beginning,
            (words,),
        )
        for function, weights, evidence, options, beginning, words in (
            (deletion_from_weights, torch.rand(5), torch.rand(3), {}, shapes, "got (5,) and (3,)"),
            (deletion_from_weights, torch.rand(5, 3), torch.rand(3), {}, shapes, "got (5, 3)"),
            (deletion_from_weights, torch.rand(1), torch.rand(1), {}, shapes, "at least 2"),
            (deletion_from_weights, torch.rand(3), torch.rand(3, 3), {}, shapes, "(3, 3)"),
            (
                shuffled_effects,
                torch.rand(3),
                torch.rand(3),
                {"shuffle": "words"},
                "shuffle: expected evidence or weights",
                "got 'words'",
            ),
        )
    )


@for_each(variant=VARIANTS)
def test_gradient_is_the_slope_of_growing_one_vector(variant):
    model = classifier(variant)
    effects = gradient_effects(model, IDS)
    step = 1e-6

    def logit_with(i, factor):
        def grow(module, arguments, vectors):
            vectors = vectors.clone()
            vectors[0, i] *= factor
            return vectors

        hook = model.embedding.register_forward_hook(grow)
        with torch.no_grad():
            logit = model(IDS[None]).item()
        hook.remove()
        return logit

    for i in range(len(IDS)):
        slope = (logit_with(i, 1 + step) - logit_with(i, 1 - step)) / (2 * step)
        assert effects[i].item() == pytest.approx(slope, abs=1e-7)
    assert effects.std() > 1e-3


@for_each(training=(True, False), effects_of=(deletion_effects, gradient_effects))
def test_measuring_leaves_the_model_as_it_was(effects_of, training):
    model = classifier("energy", dropout=0.5, word_dropout=0.5).train(training)
    random_state = torch.random.get_rng_state()
    first = effects_of(model, IDS)
    assert torch.equal(effects_of(model, IDS), first)  # no dropout
    assert torch.equal(torch.random.get_rng_state(), random_state)
    assert model.training == training
    assert not model.embedding._forward_hooks
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not first.requires_grad


def test_a_failing_model_is_put_back_into_training_without_a_hook():
    model = classifier("energy", max_length=5).train()
    for effects_of in (deletion_effects, gradient_effects):
        with pytest.raises(ValueError, match="5"):
            effects_of(model, IDS)
        assert model.training
        assert not model.embedding._forward_hooks


def test_the_gradient_is_computed_even_where_gradients_are_off():
    model = classifier("energy")
    with torch.no_grad():
        assert gradient_effects(model, IDS).abs().max() > 0


def test_a_wrong_review_is_refused():
    one_review = "ids: expected one review of at least two words"
    assert not unexpected_errors(
        (
            f"{effects_of.__name__}, {beginning}",
            functools.partial(effects_of, classifier("mean"), ids),
            error,
            beginning,
            words,
        )
        for effects_of in (deletion_effects, gradient_effects)
        for ids, error, beginning, words in (
            ([3, 4], TypeError, "ids: expected a tensor, got list", ()),
            (
                torch.rand(3),
                TypeError,
                "ids: expected a tensor of integers, got torch.float32",
                (),
            ),
            (torch.tensor([3]), ValueError, one_review, ("(1,)",)),
            (torch.tensor([[3, 4]]), ValueError, "ids: expected", ("got (1, 2)",)),
            (torch.tensor([3, 23]), ValueError, "ids: expected", ()),
        )
    )


def spearman_by_formula(one, other):
    """The textbook formula, which knows no ties: 1 − 6 Σ difference² / (n (n² − 1))."""
    n = len(one)
    difference = one.argsort().argsort() - other.argsort().argsort()
    return 1 - 6 * difference.square().sum().item() / (n * (n * n - 1))


def test_rank_correlation_is_the_textbook_formula_where_nothing_ties():
    for n in (2, 3, 7, 61):
        one, other = torch.randn(2, n)
        assert rank_correlation(one, other) == pytest.approx(spearman_by_formula(one, other))
        assert rank_correlation(one, one.exp()) == pytest.approx(1)
        assert rank_correlation(one, -one) == pytest.approx(-1)


def test_equal_numbers_share_their_mean_rank():
    # ranks (1, 2.5, 2.5, 4) and (4, 1, 2.5, 2.5)
    correlation = rank_correlation(torch.tensor([1.0, 2, 2, 4]), torch.tensor([3.0, 1, 2, 2]))
    r, s = torch.tensor([[-1.5, 0, 0, 1.5], [1.5, -1.5, 0, 0]])
    assert correlation == pytest.approx((r @ s / math.sqrt(r @ r * (s @ s))).item())
    assert correlation == pytest.approx(-0.5)


def test_numbers_without_an_order_are_refused():
    beginning = "one and other: expected"
    assert not unexpected_errors(
        (
            f"{one.tolist()}, {other.tolist()}",
            functools.partial(rank_correlation, one, other),
            ValueError,
            beginning,
            (words,),
        )
        for one, other, words in (
            (torch.rand(3), torch.rand(5), "got (3,) and (5,)"),
            (torch.rand(2, 3), torch.rand(2, 3), "got (2, 3)"),
            (torch.ones(3), torch.rand(3), "no order"),
            (torch.rand(3), torch.zeros(3), "no order"),
            (torch.rand(1), torch.rand(1), "no order"),
            (torch.rand(0), torch.rand(0), "no order"),
        )
    )

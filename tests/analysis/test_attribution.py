"""What each word did for an answer, against its definition, and ranks against their formula."""

import functools
import math

import pytest
import small_encoder
import torch
from loops import for_each
from refusals import check_refused
from scipy.stats import spearmanr

from attention import SentimentClassifier
from attention.analysis import deletion_effects, gradient_effects, rank_correlation
from attention.layers.variants import VARIANTS

IDS = torch.tensor([5, 11, 2, 7, 11, 3, 19])  # a word twice, a separator


def classifier(variant, **options):
    sizes = {"key_dim": 3, "num_heads": 2}
    read = {name: sizes[name] for name in sizes.keys() & VARIANTS[variant].options.keys()}
    model = SentimentClassifier(23, embed_dim=6, attention=variant, **read, **options)
    return model.double().eval()


def loss_of(model, ids, i):
    """Compute what the logit loses without a word."""
    rest = torch.cat([ids[:i], ids[i + 1 :]])
    return (model(ids[None]) - model(rest[None])).item()


@for_each(variant=VARIANTS)
def test_deletion_is_the_logit_minus_that_of_the_review_without_the_word(variant):
    for options in ({}, {"positions": "none"}, {"bigram_buckets": 13}, {"segments": True}):
        model = classifier(variant, **options)
        effects = deletion_effects(model, IDS)
        for i in range(len(IDS)):
            assert effects[i].item() == pytest.approx(loss_of(model, IDS, i), abs=1e-12), options
        assert effects.std() > 1e-3, options


def test_deletion_reads_a_review_longer_than_one_batch_of_texts():
    model = classifier("energy", positions="none")
    ids = torch.randint(3, 23, (131,))
    effects = deletion_effects(model, ids)
    for i in (0, 63, 64, 130):
        assert effects[i].item() == pytest.approx(loss_of(model, ids, i), abs=1e-12)


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
    one_review = "ids: expected one review of at least two words, "
    for effects_of in (deletion_effects, gradient_effects):
        measure = functools.partial(effects_of, classifier("mean"))
        wrong_types = [
            ([3, 4], "ids: expected a tensor of integers, got list"),
            (torch.rand(3), "ids: expected a tensor of integers, got torch.float32"),
        ]
        check_refused(measure, wrong_types, TypeError)
        wrong_values = [
            (torch.tensor([3]), [one_review, "(1,)"]),
            (torch.tensor([[3, 4]]), [one_review, "(1, 2)"]),
            (torch.tensor([3, 23]), "ids: expected 0 to"),
        ]
        check_refused(measure, wrong_values)


@pytest.mark.parametrize("fine_tune", [True, False])
def test_a_pretrained_encoder_s_words_have_effects(tmp_path, monkeypatch, fine_tune):
    small_encoder.stand_in(monkeypatch, small_encoder.write(tmp_path / "encoder"))
    model = SentimentClassifier(
        small_encoder.CONFIG.vocab_size, attention="minilm", fine_tune=fine_tune, max_length=12
    ).eval()
    ids = torch.tensor([105, 108, 107, 108])
    effects = deletion_effects(model, ids)
    assert effects[0].item() == pytest.approx(loss_of(model, ids, 0), rel=1e-5, abs=1e-6)
    slopes = gradient_effects(model, ids)
    table = model.word_embedding.weight.data
    step = 1e-2
    for i in (0, 2):  # the words that occur once
        logits = []
        for factor in (1 + step, 1 - step):
            row = table[ids[i]].clone()
            table[ids[i]] *= factor
            with torch.no_grad():
                logits.append(model(ids[None]).item())
            table[ids[i]] = row
        assert slopes[i].item() == pytest.approx((logits[0] - logits[1]) / (2 * step), rel=0.02)
    assert slopes.abs().min() > 0


def test_padding_that_is_read_has_no_effect_of_its_own():
    model = classifier("energy", mask_padding=False, max_length=11)
    assert gradient_effects(model, IDS).shape == IDS.shape


@for_each(n=(2, 3, 7, 61))
def test_rank_correlation_is_scipys_with_ties_and_without(n):
    one, other = torch.randn(2, n)
    for x, y in ((one, other), (one, one.exp()), (one, -one)):
        assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic)
    with_ties = torch.cat([one, one]), torch.cat([other, other.flip(0)])
    assert rank_correlation(*with_ties) == pytest.approx(spearmanr(*with_ties).statistic)


def test_ranks_are_those_of_any_kind_of_number():
    for dtype in (torch.uint8, torch.int16, torch.float16):
        up = torch.tensor([1, 2, 3, 200 if dtype == torch.uint8 else -4], dtype=dtype)
        expected = rank_correlation(up.double(), torch.arange(4.0))
        assert rank_correlation(up, torch.arange(4)) == pytest.approx(expected)
    assert rank_correlation(torch.tensor([1, math.inf, 2]), torch.tensor([1, 3, 2])) == 1


def test_numbers_without_an_order_are_refused():
    nan = torch.tensor([1.0, math.nan, 3.0])
    check_refused(
        rank_correlation,
        [
            (torch.rand(3), torch.rand(5), ["one and other: expected", "got (3,) and (5,)"]),
            (torch.rand(2, 3), torch.rand(2, 3), ["got (2, 3)"]),
            (torch.ones(3), torch.rand(3), "no order"),
            (torch.rand(3), torch.zeros(3), "no order"),
            (torch.rand(1), torch.rand(1), "no order"),
            (torch.rand(0), torch.rand(0), "no order"),
            (nan, torch.arange(3), "got NaN"),
            (torch.arange(3), nan, "got NaN"),
        ],
    )

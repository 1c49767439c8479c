"""How good a model is: every figure against plain Python."""

import math

import pytest
import torch
from refusals import check_refused

from attention import SentimentClassifier
from attention.sentiment.batches import make_examples
from attention.sentiment.config import ModelConfig
from attention.sentiment.evaluation import measure, read_lengths, wilson_interval
from attention.sentiment.tokenizer import Ragged

Z95 = 1.959963984540054  # the standard normal quantile at 0.975


def texts_and_labels():
    generator = torch.Generator().manual_seed(1)
    lengths = torch.randint(0, 9, (19,), generator=generator).tolist()
    texts = [torch.randint(3, 23, (n,), generator=generator).tolist() for n in lengths]
    return texts, [i % 2 for i in range(19)]


def build(**fields):
    return SentimentClassifier(23, embed_dim=4, attention="energy", max_length=5, **fields)


def test_accuracy_loss_and_intervals_by_hand():
    texts, labels = texts_and_labels()
    model = build().eval()
    logits = [
        model(torch.tensor([ids[-5:] or [0]]), torch.tensor([min(len(ids), 5)])).item()
        for ids in texts
    ]
    result = measure(model, make_examples(Ragged.from_lists(texts), labels))
    correct = sum((logit > 0) == label for logit, label in zip(logits, labels, strict=True))
    losses = [
        math.log1p(math.exp(-logit if label else logit))
        for logit, label in zip(logits, labels, strict=True)
    ]
    mean = sum(losses) / 19
    half = Z95 * math.sqrt(sum((loss - mean) ** 2 for loss in losses) / 19 / 19)
    assert result["n"] == 19
    assert result["accuracy"] == correct / 19
    assert result["accuracy_interval"] == list(wilson_interval(correct, 19))
    assert result["loss"] == pytest.approx(mean, rel=1e-5)
    assert result["loss_interval"] == pytest.approx([mean - half, mean + half], rel=1e-4)


def test_an_even_chance_counts_as_negative():
    texts, labels = texts_and_labels()
    model = build()
    torch.nn.init.zeros_(model.classifier.weight)
    torch.nn.init.zeros_(model.classifier.bias)
    result = measure(model, make_examples(Ragged.from_lists(texts), labels))
    assert result["accuracy"] == labels.count(0) / 19


def test_batches_do_not_matter_and_pairs_do():
    texts, labels = texts_and_labels()
    model, ids = build(), Ragged.from_lists(texts)
    alone = make_examples(ids, labels)
    one, many = (measure(model, alone, batch_size=size) for size in (1, 1_024))
    assert one["accuracy"] == many["accuracy"]
    assert one["loss"] == pytest.approx(many["loss"], rel=1e-6)
    paired = measure(model, make_examples(ids, labels, clean=False, pairs=True))
    assert paired["n"] == 19
    assert paired["loss"] != one["loss"]


def test_the_end_that_is_kept_is_the_model_s():
    ids = Ragged.from_lists([[3, 4, 5, 6, 7, 8, 9]])
    for keep, kept in (("tail", [5, 6, 7, 8, 9]), ("head", [3, 4, 5, 6, 7])):
        model = build(keep=keep).eval()
        loss = measure(model, make_examples(ids, [1]))["loss"]
        assert loss == pytest.approx(-math.log(model(torch.tensor([kept])).sigmoid().item()))


def test_dropout_is_off_and_the_mode_comes_back():
    texts, labels = texts_and_labels()
    examples = make_examples(Ragged.from_lists(texts), labels)
    model = SentimentClassifier(23, embed_dim=4, attention="mean", dropout=0.5, max_length=5)
    assert measure(model.train(), examples) == measure(model, examples)
    assert model.training
    measure(model.eval(), examples)
    assert not model.training


def test_lengths_are_what_is_read():
    ids = Ragged.from_lists([[3, 4], [5, 6, 7, 8, 9, 3, 4]])
    examples = make_examples(ids, [0, 1], pairs=True, seed=42)
    front = [[2, 7][i] for i in examples.distractor[2:]]
    pairs = [min(front[0] + 1 + 2, 5), min(front[1] + 1 + 7, 5)]
    assert read_lengths(examples, ModelConfig(max_length=5)).tolist() == [2, 5, *pairs]
    without = ModelConfig(max_length=50, separator=False)
    assert read_lengths(examples, without).tolist() == [2, 7, front[0] + 2, front[1] + 7]


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Solutions of (p̂ − p)² = z² p (1 − p) / n for p, found by bisection.
    [(0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0), (90, 100, 0.825634, 0.944771)],
)
def test_wilson_interval_solves_its_equation(successes, n, low, high):
    ends = wilson_interval(successes, n)
    assert ends == pytest.approx((low, high), abs=1e-6)
    for p in ends:
        assert (successes / n - p) ** 2 == pytest.approx(Z95**2 * p * (1 - p) / n, abs=1e-12)


def test_wilson_interval_stays_within_all_shares():
    for n in range(1, 400):
        assert wilson_interval(0, n)[0] >= 0
        assert wilson_interval(n, n)[1] <= 1


def test_wilson_interval_refuses_what_is_not_a_count():
    cases = [(0, 0, "successes"), (3, 2, "successes"), (-1, 2, "successes")]
    check_refused(wilson_interval, cases)


def test_nothing_to_measure():
    with pytest.raises(ValueError, match="examples: expected at least one, got none"):
        measure(build(), make_examples(Ragged.from_lists([]), []))

"""How good a model is, and what it says of a text: every figure against plain Python."""

import math

import pytest
import torch
from refusals import check_refused
from scipy.stats import binomtest
from tokenizers import Tokenizer, models, pre_tokenizers

from attention import SentimentClassifier
from attention.sentiment import evaluation
from attention.sentiment.batches import make_examples
from attention.sentiment.evaluation import measure, predict, wilson_interval
from attention.sentiment.run_folder import load_run
from attention.sentiment.tokenizer import Ragged, train_tokenizer

CPU = torch.device("cpu")
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


def test_batches_do_not_matter_and_pairs_do(monkeypatch):
    texts, labels = texts_and_labels()
    model, ids = build(), Ragged.from_lists(texts)
    alone = make_examples(ids, labels)
    many = measure(model, alone)
    monkeypatch.setattr(evaluation, "_MEASURED_AT_ONCE", 1)
    one = measure(model, alone)
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


def test_wilson_interval_is_scipys():
    for n in (1, 2, 7, 19, 100, 399):
        for successes in {0, 1, n // 3, n - 1, n}:
            expected = binomtest(successes, n).proportion_ci(0.95, method="wilson")
            low, high = wilson_interval(successes, n)
            assert (low, high) == pytest.approx(tuple(expected), abs=1e-12)
            assert 0 <= low <= high <= 1


def test_wilson_interval_refuses_what_is_not_a_count():
    cases = [(0, 0, "successes"), (3, 2, "successes"), (-1, 2, "successes")]
    check_refused(wilson_interval, cases)


def test_nothing_to_measure():
    with pytest.raises(ValueError, match="examples: expected at least one, got none"):
        measure(build(), make_examples(Ragged.from_lists([]), []))


@pytest.mark.parametrize(
    ("attention", "options"),
    [("qk", {"key_dim": 7}), ("qkv", {"key_dim": 7}), ("multihead", {"num_heads": 2})],
)
def test_weight_is_the_mean_that_a_word_receives(attention, options):
    tokenizer = train_tokenizer(["the good soup"], min_frequency=1)
    model = SentimentClassifier(6, embed_dim=10, attention=attention, **options)
    prediction = predict(model, tokenizer, "the good soup")
    ids = torch.tensor([tokenizer.encode("the good soup").ids])
    rows = model.eval()(ids, need_weights=True)[1][0].tolist()
    received = [sum(row[word] for row in rows) / 3 for word in range(3)]
    assert prediction["weights"] == pytest.approx(received)
    assert max(received) - min(received) > 0.01


@pytest.mark.parametrize(
    ("logit", "label", "probability"),
    [
        (-math.log(4), "negative", 4 / 5),
        (0.0, "negative", 1 / 2),  # as when measuring
        (math.log(4), "positive", 4 / 5),
    ],
)
def test_probability_is_that_of_the_label(finished, logit, label, probability):
    model, tokenizer, _ = load_run(finished, CPU)
    torch.nn.init.zeros_(model.classifier.weight)
    torch.nn.init.constant_(model.classifier.bias, logit)
    prediction = predict(model, tokenizer, "good")
    assert (prediction["label"], prediction["probability"]) == (label, pytest.approx(probability))


@pytest.mark.parametrize(("keep", "kept"), [("tail", "soup bad"), ("head", "good soup")])
def test_the_end_that_the_model_keeps_is_read(keep, kept):
    tokenizer = train_tokenizer(["good soup bad"], min_frequency=1)
    model = SentimentClassifier(6, embed_dim=10, attention="energy", max_length=2, keep=keep)
    prediction = predict(model, tokenizer, "good soup bad")
    assert prediction["tokens"] == kept.split()
    ids = torch.tensor([tokenizer.encode(kept).ids])
    logit = model.eval()(ids)
    assert prediction["probability"] == pytest.approx(logit.abs().sigmoid().item())


def test_dropout_is_off_and_the_mode_comes_back():
    tokenizer = train_tokenizer(["good soup bad"], min_frequency=1)
    model = SentimentClassifier(6, embed_dim=10, dropout=0.5, word_dropout=0.5)
    examples = make_examples(Ragged.from_lists([[3, 4], [5]]), [1, 0])

    def answers():
        return measure(model, examples), predict(model, tokenizer, "good soup bad")

    model.train().dropout.eval()  # frozen by its owner
    modes = [module.training for module in model.modules()]
    first = answers()
    assert [module.training for module in model.modules()] == modes
    assert answers() == first
    model.eval()
    assert answers() == first
    assert not model.training


def test_the_caller_s_tokenizer_stays_as_it_was():
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[SEP]", "good", "[", "]"])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[SEP]"])
    prediction = predict(SentimentClassifier(6, embed_dim=10), tokenizer, "good [SEP]")
    assert prediction["tokens"] == ["good", "[", "[UNK]", "]"]
    assert not tokenizer.encode_special_tokens

"""What a model says of a text, from Python."""

import math
from html.parser import HTMLParser

import pytest
import torch

from attention import SentimentClassifier
from attention.predict import predict
from attention.sentiment.prediction import standalone_page
from attention.sentiment.run_folder import load_run
from attention.sentiment.tokenizer import train_tokenizer

CPU = torch.device("cpu")


@pytest.mark.parametrize("attention", ["qk", "qkv", "multihead", "gqa"])
def test_weight_is_the_mean_that_a_word_receives(attention):
    tokenizer = train_tokenizer(["the good soup"], min_frequency=1)
    model = SentimentClassifier(6, embed_dim=10, attention=attention, key_dim=7, num_heads=2)
    prediction = predict(model, tokenizer, "the good soup")
    ids = torch.tensor([tokenizer.encode("the good soup").ids])
    rows = model.eval()(ids, need_weights=True)[1][0].tolist()
    received = [sum(row[word] for row in rows) / 3 for word in range(3)]
    assert prediction["weights"] == pytest.approx(received)
    assert max(received) - min(received) > 0.01


@pytest.mark.parametrize(
    ("logit", "label", "probability"),
    [
        (-math.log(4), "negative", 1 / 5),
        (0.0, "negative", 1 / 2),  # as when measuring
        (math.log(4), "positive", 4 / 5),
    ],
)
def test_probability_is_that_of_positive_whatever_the_label(finished, logit, label, probability):
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
    assert prediction["probability"] == pytest.approx(model.eval()(ids).sigmoid().item())


def test_dropout_is_off_and_the_mode_comes_back():
    tokenizer = train_tokenizer(["good soup bad"], min_frequency=1)
    model = SentimentClassifier(
        6, embed_dim=10, attention="energy", dropout=0.5, word_dropout=0.5
    ).train()
    predictions = [predict(model, tokenizer, "good soup bad") for _ in range(5)]
    assert model.training
    assert predict(model.eval(), tokenizer, "good soup bad") == predictions[0]
    assert not model.training
    assert all(prediction == predictions[0] for prediction in predictions)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)


def test_a_hostile_vocabulary_is_escaped():
    hostile = "<img src=x onerror=alert(1)>"
    page = standalone_page(
        [{"label": hostile, "probability": 0.5, "tokens": [hostile], "weights": [1.0]}]
    )
    assert "img" not in Page(page).tags
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 2
    assert "50.0% positive" in page


def test_the_mode_comes_back_after_an_error_too():
    model = SentimentClassifier(6, embed_dim=10, attention="energy").train()
    tokenizer = train_tokenizer(["the good soup"] * 9, min_frequency=1)
    model.embedding = torch.nn.Embedding(2, 10)  # too few words
    with pytest.raises(ValueError, match="vocab_size"):
        predict(model, tokenizer, "the good soup")
    assert model.training

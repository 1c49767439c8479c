"""Asking a model from the command line: text, many lines, JSON, a page; odd texts."""

import io
import json
import math
from html.parser import HTMLParser

import pytest
import tiny
import torch
from attention.sentiment.tokenizer import train_tokenizer

from attention import SentimentClassifier, predict, runs


@pytest.fixture
def run(finished):
    return finished


def asked(capsys, *options):
    assert predict.main([*map(str, options)]) == 0
    return capsys.readouterr().out


def as_json(capsys, *options):
    return [json.loads(line) for line in asked(capsys, *options, "--json").splitlines()]


def test_json_is_what_the_model_says(run, capsys):
    (answer,) = as_json(capsys, run, "The GOOD soup, again?")
    model, tokenizer, _ = runs.load_run(run, torch.device("cpu"))
    logits, weights = model(
        torch.tensor([tokenizer.encode("the good soup again").ids]), need_weights=True
    )
    assert answer["probability"] == pytest.approx(logits.sigmoid().item())
    assert answer["label"] == ("positive" if logits > 0 else "negative")
    assert answer["tokens"] == ["the", "good", "soup", "again"]
    assert answer["weights"] == pytest.approx(weights[0].tolist())
    assert sum(answer["weights"]) == pytest.approx(1)


def test_text_has_label_probability_and_words_coloured_for_a_terminal(run, capsys, monkeypatch):
    (answer,) = as_json(capsys, run, "good soup")
    for is_terminal, no_color, words in (
        (True, "", "good\033[0m"),  # an empty NO_COLOR says nothing
        (True, "1", "good soup"),
        (False, "", "good soup"),
    ):
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setattr("sys.stdout.isatty", lambda is_terminal=is_terminal: is_terminal)
        said = asked(capsys, run, "good soup").splitlines()
        assert said[0] == f"{answer['label']} ({answer['probability']:.1%} positive)"
        assert words in said[1]
        assert ("\033" in said[1]) == (is_terminal and not no_color)


def test_a_line_of_standard_input_each(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good soup\n\nbad soup"))
    answers = as_json(capsys, run, "-")
    assert [answer["tokens"] for answer in answers] == [["good", "soup"], [], ["bad", "soup"]]
    assert answers[0] == as_json(capsys, run, "good soup")[0]


def test_standard_input_that_is_no_text(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))
    with pytest.raises(ValueError, match=r"UTF-8 on the standard input.*0xe9"):
        predict.main([str(run), "-"])


@pytest.mark.parametrize("kind", ["mean", "keys", "qk", "qkv", "multihead"])
def test_weights_of_each_kind_sum_to_1(kind, tmp_path, capsys):
    run = tiny.run(tmp_path / "run", "--epochs", "1", "--model", kind)
    capsys.readouterr()
    (answer,) = as_json(capsys, run, "the good soup")
    assert sum(answer["weights"]) == pytest.approx(1)
    assert len(answer["weights"]) == 3


@pytest.mark.parametrize("kind", ["qk", "qkv", "multihead"])
def test_weight_is_the_mean_that_a_word_receives(kind):
    tokenizer = train_tokenizer(["the good soup"], min_frequency=1)
    model = SentimentClassifier(6, embed_dim=10, attention=kind, key_dim=7, num_heads=2).eval()
    answer = predict.predict(model, tokenizer, "the good soup")
    ids = torch.tensor([tokenizer.encode("the good soup").ids])
    looks = model(ids, need_weights=True)[1][0].tolist()
    received = [sum(look[word] for look in looks) / 3 for word in range(3)]
    assert answer["weights"] == pytest.approx(received)
    assert max(received) - min(received) > 0.01


def test_odd_texts(run, capsys):
    for text in ("", "   ", "123 !?", "好吃", "\udcff", "\0"):
        (answer,) = as_json(capsys, run, text)
        assert answer["tokens"] == answer["weights"] == []
        assert 0 < answer["probability"] < 1
    assert as_json(capsys, run, "go\udcffod")[0]["tokens"] == ["<unk>", "<unk>"]


def test_a_very_long_text_counts_by_its_end(run, capsys):
    (answer,) = as_json(capsys, run, "bad " * 100_000 + "good soup " * 6 + "again")
    assert answer["tokens"] == [*["good", "soup"] * 6, "again"]
    assert answer == as_json(capsys, run, "good soup " * 6 + "again")[0]


def test_the_end_that_is_read_is_that_of_training(tmp_path, capsys):
    run = tiny.run(tmp_path / "run", "--epochs", "1", "--keep", "head")
    capsys.readouterr()
    (answer,) = as_json(capsys, run, "good soup " * 6 + "again and bad")
    assert answer["tokens"] == [*["good", "soup"] * 6, "again"]


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.links = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        self.words += data.split()


def test_a_page_that_stands_alone_and_lets_nothing_through(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good <script>alert(1)</script>\n& zebra"))
    path = tmp_path / "page.html"
    asked(capsys, run, "-", "--html", path)
    text = path.read_text()
    page = Page(text)
    assert not page.links
    assert "script" not in page.tags
    assert "<unk>" in page.words  # as text, from &lt;unk&gt;
    assert text.count("<figure") == 2
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_a_hostile_vocabulary_is_escaped():
    hostile = "<img src=x onerror=alert(1)>"
    page = predict.standalone_page(
        [{"label": hostile, "probability": 0.5, "tokens": [hostile], "weights": [1.0]}]
    )
    assert "img" not in Page(page).tags
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 2
    assert "50.0% positive" in page


@pytest.mark.parametrize(
    ("logit", "label", "probability"),
    [
        (-math.log(4), "negative", 1 / 5),
        (0.0, "negative", 1 / 2),  # as when measuring
        (math.log(4), "positive", 4 / 5),
    ],
)
def test_probability_is_that_of_positive_whatever_the_label(run, logit, label, probability):
    model, tokenizer, _ = runs.load_run(run, torch.device("cpu"))
    torch.nn.init.zeros_(model.classifier.weight)
    torch.nn.init.constant_(model.classifier.bias, logit)
    answer = predict.predict(model, tokenizer, "good")
    assert (answer["label"], answer["probability"]) == (label, pytest.approx(probability))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nowhere", "good"], "nowhere: holds no run"),
        (["nowhere"], "TEXT"),
        (["nowhere", "good", "--html", "no/such/page.html"], "--html: there is no folder"),
    ],
)
def test_bad_lines(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=said):
        predict.main(options)

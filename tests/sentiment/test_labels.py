"""Labels of any names and number, from the file to the answer."""

import json
import math
import random
import re
import signal

import pytest
import torch
from processes import assert_nothing_was_lost, signalled_at

from attention import SentimentClassifier, evaluate, load_classifier, train
from attention.analysis import deletion_effects
from attention.predict import main as predict_main
from attention.sentiment.batches import make_examples
from attention.sentiment.config import ModelConfig
from attention.sentiment.confusion import in_words, macro_f1, per_label
from attention.sentiment.evaluation import measure
from attention.sentiment.reviews import Reviews, fingerprint
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import Ragged

TOPICS = {"coffee": "espresso beans roast", "soup": "broth noodles bowl", "tea": "leaves pot green"}


def write_topics(path, count=300, names=TOPICS):
    """Write rows whose topic is that of one of their words."""
    draw = random.Random(0)
    rows = ["text\ttopic"]
    for _ in range(count):
        name = draw.choice([*names])
        words = draw.choices(["the", "a", "was", "we", "and", "very", "place"], k=6)
        words.insert(draw.randrange(7), draw.choice(TOPICS[name].split()))
        rows.append(f"{' '.join(words)} {draw.randrange(10**6)}\t{name}")
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Train on three topics, by the default preset."""
    folder = tmp_path_factory.mktemp("topics")
    line = ["--data", write_topics(folder / "topics.tsv"), "--label-column", "topic"]
    line += ["--out", folder / "run", "--bigram-buckets", "64", "--words", "a-z", "--epochs", "15"]
    assert train.main([*map(str, line), "--batch-size", "32", "--min-steps", "1"]) == 0
    return folder / "run"


def test_a_run_answers_the_names_of_its_labels(run, capsys):
    config = json.loads((run / "config.json").read_text())
    assert config["model"]["labels"] == [*TOPICS]
    classify = load_classifier(run)
    answers = classify(["a bowl of noodles", "green leaves", "the roast beans"])
    assert [one["label"] for one in answers] == ["soup", "tea", "coffee"]
    assert all(1 / 3 < one["probability"] < 1 for one in answers)
    explained = classify.explain("we drank green tea")
    assert explained["label"] == "tea"
    most = max(range(4), key=explained["contributions"].__getitem__)
    assert explained["words"][most] == "green"
    alone = classify.explain("noodles")
    assert alone["label"] == "soup"
    assert alone["contributions"][0] > 0
    predict_main([str(run), "broth", "--json"])
    assert json.loads(capsys.readouterr().out)["label"] == "soup"
    assert "of coffee" in (run / "confusion.svg").read_text()


def test_each_label_is_measured_and_the_confusions_are_told(run, tmp_path, capsys):
    result = evaluate.evaluate(run, split="validation")["clean"]
    assert result["accuracy"] > 0.9
    assert [*result["labels"]] == [*TOPICS]
    assert sum(one["n"] for one in result["labels"].values()) == result["n"]
    some = write_topics(tmp_path / "more.tsv", 40, ["tea", "soup"])  # of another set of labels
    capsys.readouterr()
    assert evaluate.main([str(run), "--data", str(some)]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert json.loads(last)["clean"]["labels"]["coffee"]["n"] == 0
    assert lines[-3:][0].startswith("coffee: 0 of 0 right")
    some.write_text("text\ttopic\ngreen\ttea\nmilk\tmilk")
    with pytest.raises(ValueError, match=r"row 2, column topic: expected one of coff.*got milk"):
        evaluate.evaluate(run, data=str(some))
    folder = tmp_path / "folder"
    folder.mkdir()
    write_topics(folder / "train.tsv", 40, ["tea", "soup"])
    with pytest.raises(ValueError, match=r"expected the labels coffee, soup, tea, .*got soup, tea"):
        evaluate.evaluate(run, data=str(folder), split="validation")
    with pytest.raises(ValueError, match=r"expected the labels coffee.*got negative, positive"):
        evaluate.evaluate(run, data="imdb")


def test_measures_follow_from_labels_and_answers_alone():
    draw = random.Random(1)
    labels = [draw.choice([0, 0, 0, 1, 2]) for _ in range(200)]
    answers = [one if draw.random() < 0.6 else draw.randrange(3) for one in labels]
    names = ["a", "b", "c", "never"]
    confusion = [[0] * 4 for _ in names]
    for label, answer in zip(labels, answers, strict=True):
        confusion[label][answer] += 1
    found = per_label(confusion, names)
    for i, name in enumerate(names[:3]):
        right = [a == i for a, label in zip(answers, labels, strict=True) if label == i]
        rightly = [label == i for a, label in zip(answers, labels, strict=True) if a == i]
        recall, precision = sum(right) / len(right), sum(rightly) / len(rightly)
        f1 = 2 / (1 / precision + 1 / recall)  # their harmonic mean
        expected = {"precision": precision, "recall": recall, "f1": f1, "n": len(right)}
        assert found[name] == pytest.approx(expected)
    assert [*found["never"].values()] == [0, 0, 0, 0]
    # A label that occurs nowhere has no part in the mean.
    assert macro_f1(confusion) == pytest.approx(sum(found[name]["f1"] for name in "abc") / 3)
    assert in_words(confusion, names)[3] == "never: 0 of 0 right"


def test_the_loss_is_that_of_the_softmax_and_two_labels_keep_one_logit():
    ids = Ragged.from_lists([[3, 4], [5], [4, 5, 3]])
    model = SentimentClassifier(6, embed_dim=4, labels=["tea", "soup", "milk"])
    examples = make_examples(ids, [2, 0, 2])
    logits = torch.cat([model(ids[i][None]) for i in range(3)])  # (3, C)
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([2, 0, 2]))
    result = measure(model, examples)
    assert math.isclose(result["loss"], expected.item(), rel_tol=1e-5)
    assert [sum(row) for row in result["confusion"]] == [1, 0, 2]  # a row per label
    assert result["n"] == 3
    assert SentimentClassifier(6, embed_dim=4).classifier.out_features == 1
    effects = deletion_effects(model, ids[2])

    def log_odds(row):
        return model(row[None]).softmax(-1)[0, logits[2].argmax()].logit()

    assert torch.allclose(effects[0], log_odds(ids[2]) - log_odds(ids[2][1:]), atol=1e-5)


@pytest.mark.parametrize(
    ("given", "names", "labels"),
    [
        ("0 1 1", ("negative", "positive"), [0, 1, 1]),
        ("2 1 1", ("negative", "positive"), [1, 0, 0]),
        ("positive negative", ("negative", "positive"), [1, 0]),
        ("5 10 1 5.0", ("1", "5", "10"), [1, 2, 0, 1]),
        ("-1 0 1", ("-1", "0", "1"), [0, 1, 2]),
        ("01067 1067 12_3 123 1e3", ("123", "12_3", "1e3", "01067", "1067"), [3, 4, 1, 0, 2]),
        ("10000000000001 10000000000002", ("10000000000001", "10000000000002"), [0, 1]),
        ("spam ham 5", ("5", "ham", "spam"), [2, 1, 0]),
    ],
)
def test_labels_are_read_in_the_order_of_numbers_or_the_alphabet(tmp_path, given, names, labels):
    rows = [f"text {i},{label}" for i, label in enumerate(given.split())]
    for name in "train", "validation":
        (tmp_path / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    splits = load_reviews(tmp_path)
    assert (splits["train"].names, splits["train"].labels) == (names, labels)
    assert splits["validation"].labels == labels


def test_each_label_validates_however_few_rows_there_are(tmp_path):
    rows = [f"{name} {i},{name}" for i in range(3) for name in TOPICS]
    (tmp_path / "few.csv").write_text("\n".join(["text,label", *rows]))
    splits = load_reviews(tmp_path / "few.csv")
    assert {*splits["validation"].labels} == {*splits["train"].labels} == {0, 1, 2}


def test_labels_take_part_in_what_tells_runs_apart():
    one = Reviews(["a", "b"], [0, 1], ("ham", "spam"))
    assert fingerprint(one) != fingerprint(Reviews(["a", "b"], [0, 1]))
    assert fingerprint(one) != fingerprint(Reviews(["a", "b"], [1, 0], ("ham", "spam")))
    with pytest.raises(ValueError, match=r"labels: expected different ones, got tea, tea$"):
        ModelConfig(labels=["tea", "tea"])
    with pytest.raises(ValueError, match="labels: expected 0 to 1, got 2"):
        Reviews(["a"], [2])


def test_unequal_labels_are_said(tmp_path, capsys):
    rows = [f"{{name}} number {i}" for i in range(60)]
    data = tmp_path / "data.csv"
    lines = ["text,label"]
    for count, name in (60, "tea"), (9, "soup"), (8, "milk"):
        lines += [f"{row.format(name=name)},{name}" for row in rows[:count]]
    data.write_text("\n".join(lines))
    line = ["--data", str(data), "--out", str(tmp_path / "run"), "--epochs", "1", "--model", "mean"]
    assert train.main([*line, "--bigram-buckets", "0"]) == 0
    said = capsys.readouterr().err
    assert re.search(r"training reviews by label: tea 5\d, soup [78], milk [78]\n", said)
    assert re.search(r"answering tea always would be right for 7\d\.\d% of them, so read", said)


def test_a_label_that_no_validation_review_has_is_said(tmp_path, capsys):
    for split, labels in {"train": ["tea", "soup", "milk"], "validation": ["tea", "milk"]}.items():
        lines = ["text,label", *(f"{label} {i},{label}" for i in range(9) for label in labels)]
        (tmp_path / f"{split}.csv").write_text("\n".join(lines))
    line = ["--data", str(tmp_path), "--out", str(tmp_path / "run"), "--epochs", "1"]
    assert train.main([*line, "--model", "mean", "--bigram-buckets", "0"]) == 0
    assert (
        "labels that no validation review has, so that none is measured: soup"
        in capsys.readouterr().err
    )


GOOD = ["とても美味しい店でした", "また来ます", "最高の味"]
BAD = ["二度と行きません", "まずい料理でした", "最悪の味"]


def test_texts_in_another_script_are_read_by_their_characters(tmp_path, capsys):
    draw = random.Random(2)
    rows = ["text,label"]
    for _ in range(120):
        i = draw.randrange(6)
        rows.append(f"{[*GOOD, *BAD][i]}{draw.randrange(100)}😀,{int(i < 3)}")
    data, out = tmp_path / "japanese.csv", tmp_path / "run"
    data.write_text("\n".join(rows), encoding="utf-8")
    line = ["--data", str(data), "--model", "mean", "--bigram-buckets", "0", "--batch-size", "32"]
    assert train.main([*line, "--out", str(out), "--lr", "0.03"]) == 0
    said = capsys.readouterr().err
    assert re.search(
        r"\d\d\.\d% of the characters are letters other than a to z, so words of", said
    )
    classify = load_classifier(out)
    answers = classify(["とても美味しい", "最悪の料理", "好吃"])
    assert [one["label"] for one in answers[:2]] == ["positive", "negative"]
    assert answers[0]["known"] == 1
    assert answers[2]["known"] == 0
    assert classify.explain("味😀7")["words"][:2] == ["味", "😀"]
    assert json.loads((out / "config.json").read_text())["train"]["words"] == "auto"
    with pytest.raises(ValueError, match=r"expected words that the model knows, got.*a to z"):
        train.train(train.configure([*line, "--words", "a-z", "--out", str(tmp_path / "other")]))


def test_a_run_with_several_labels_stops_and_resumes_bit_for_bit(tmp_path):
    data = write_topics(tmp_path / "topics.tsv", 80)
    line = ["--data", str(data), "--label-column", "topic", "--model", "qkv", "--epochs", "3"]
    line += ["--batch-size", "16", "--bigram-buckets", "0", "--min-steps", "1"]
    assert train.main([*line, "--out", str(tmp_path / "whole")]) == 0
    with signalled_at(1, 3, signal.SIGINT):
        assert train.main([*line, "--out", str(tmp_path / "run")]) == 128 + signal.SIGINT
    assert train.main(["--resume", str(tmp_path / "run")]) == 0
    assert_nothing_was_lost(tmp_path / "run", tmp_path / "whole")

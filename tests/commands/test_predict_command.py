"""Predicting from the command line: text, many lines, JSON, a page; odd texts."""

import io
import json

import pytest
import torch
from bs4 import BeautifulSoup

from attention.predict import main
from attention.sentiment.run_folder import load_run


@pytest.fixture
def run(finished):
    return finished


def output_of(capsys, *options):
    capsys.readouterr()
    assert main([*map(str, options)]) == 0
    return capsys.readouterr().out


def as_json(capsys, *options):
    return [json.loads(line) for line in output_of(capsys, *options, "--json").splitlines()]


def test_json_is_what_the_model_says(run, capsys):
    (prediction,) = as_json(capsys, run, "The GOOD soup, again?")
    model, tokenizer, _ = load_run(run, torch.device("cpu"))
    logits, weights = model(
        torch.tensor([tokenizer.encode("the good soup again").ids]), need_weights=True
    )
    assert prediction["probability"] == pytest.approx(logits.sigmoid().item())
    assert prediction["label"] == ("positive" if logits > 0 else "negative")
    assert prediction["tokens"] == ["the", "good", "soup", "again"]
    assert prediction["weights"] == pytest.approx(weights[0].tolist())
    assert sum(prediction["weights"]) == pytest.approx(1)


def test_text_has_label_probability_and_words_coloured_for_a_terminal(run, capsys, monkeypatch):
    (prediction,) = as_json(capsys, run, "good soup")
    for is_terminal, no_color, words in (
        (True, "", "good\033[0m"),  # an empty NO_COLOR says nothing
        (True, "1", "good soup"),
        (False, "", "good soup"),
    ):
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setattr("sys.stdout.isatty", lambda is_terminal=is_terminal: is_terminal)
        printed = output_of(capsys, run, "good soup").splitlines()
        assert printed[0] == f"{prediction['label']} ({prediction['probability']:.1%} positive)"
        assert words in printed[1]
        assert ("\033" in printed[1]) == (is_terminal and not no_color)


def test_one_prediction_per_line_of_standard_input(run, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good soup\n\nbad soup"))
    predictions = as_json(capsys, run, "-")
    tokens = [prediction["tokens"] for prediction in predictions]
    assert tokens == [["good", "soup"], [], ["bad", "soup"]]
    assert predictions[0] == as_json(capsys, run, "good soup")[0]


def test_standard_input_that_is_not_text(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))
    with pytest.raises(ValueError, match=r"UTF-8 on the standard input.*0xe9"):
        main([str(run), "-"])


def test_odd_texts(run, capsys):
    for text in ("", "   ", "123 !?", "好吃", "\udcff", "\0"):
        (prediction,) = as_json(capsys, run, text)
        assert prediction["tokens"] == prediction["weights"] == []
        assert 0 < prediction["probability"] < 1
    assert as_json(capsys, run, "go\udcffod")[0]["tokens"] == ["<unk>", "<unk>"]


def test_texts_of_which_nothing_is_read_are_named(run, capsys, monkeypatch):
    lines = "good soup\n好吃\n\ngood zebra\nzebra zebra"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    main([str(run), "-"])
    main([str(run), "5/5"])
    main([str(run), "soup"])
    ending = ": holds no word that the model knows; the answer ignores what it says\n"
    expected = "".join(each + ending for each in ("line 2", "line 3", "line 5", "TEXT"))
    assert capsys.readouterr().err == expected


def test_a_very_long_text_counts_by_its_end(run, capsys):
    (prediction,) = as_json(capsys, run, "bad " * 100_000 + "good soup " * 6 + "again")
    assert prediction["tokens"] == [*["good", "soup"] * 6, "again"]
    assert prediction == as_json(capsys, run, "good soup " * 6 + "again")[0]


def test_a_page_that_stands_alone_and_lets_nothing_through(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good <script>alert(1)</script>\n& zebra"))
    path = tmp_path / "page.html"
    output_of(capsys, run, "-", "--html", path)
    text = path.read_text()
    page = BeautifulSoup(text, "html.parser")
    assert not page.select("script, [src], [href]")
    assert "<unk>" in page.get_text().split()  # as text, from &lt;unk&gt;
    assert text.count("<figure") == 2
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]

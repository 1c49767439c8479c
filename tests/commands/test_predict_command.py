"""Predicting from the command line: text, many lines, JSON, a page; odd texts."""

import io
import json

import pytest
import torch
from bs4 import BeautifulSoup
from refusals import check_refused

from attention.predict import main
from attention.sentiment.run_folder import load_run


def output_of(capsys, *options):
    capsys.readouterr()
    assert main([*map(str, options)]) == 0
    return capsys.readouterr().out


def as_json(capsys, *options):
    return [json.loads(line) for line in output_of(capsys, *options, "--json").splitlines()]


def test_json_is_what_the_model_says(finished, capsys):
    (prediction,) = as_json(capsys, finished, "The GOOD soup, again?")
    model, tokenizer, _ = load_run(finished, torch.device("cpu"))
    logits, weights = model(
        torch.tensor([tokenizer.encode("the good soup again").ids]), need_weights=True
    )
    assert prediction["probability"] == pytest.approx(logits.abs().sigmoid().item())
    assert prediction["label"] == ("positive" if logits > 0 else "negative")
    assert prediction["tokens"] == ["the", "good", "soup", "again"]
    assert prediction["weights"] == pytest.approx(weights[0].tolist())
    assert sum(prediction["weights"]) == pytest.approx(1)


def test_text_has_label_probability_and_words_coloured_for_a_terminal(
    finished, capsys, monkeypatch
):
    (prediction,) = as_json(capsys, finished, "good soup")
    for is_terminal, no_color, words in (
        (True, "", "good\033[0m"),  # an empty NO_COLOR says nothing
        (True, "1", "good soup"),
        (False, "", "good soup"),
    ):
        monkeypatch.setenv("NO_COLOR", no_color)
        monkeypatch.setattr("sys.stdout.isatty", lambda is_terminal=is_terminal: is_terminal)
        printed = output_of(capsys, finished, "good soup").splitlines()
        assert printed[0] == f"{prediction['label']} ({prediction['probability']:.1%})"
        assert printed[1].startswith("read as: ")
        assert words in printed[1]
        assert ("\033" in printed[1]) == (is_terminal and not no_color)


def test_one_prediction_per_line_of_standard_input(finished, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good soup\n\nbad soup"))
    predictions = as_json(capsys, finished, "-")
    tokens = [prediction["tokens"] for prediction in predictions]
    assert tokens == [["good", "soup"], [], ["bad", "soup"]]
    assert predictions[0] == as_json(capsys, finished, "good soup")[0]


def test_standard_input_that_is_not_text(finished, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))
    with pytest.raises(ValueError, match=r"UTF-8 on the standard input.*0xe9"):
        main([str(finished), "-"])


def test_odd_texts(finished, capsys):
    for text in ("123 !?", "好吃", "\udcff", "\0"):
        (prediction,) = as_json(capsys, finished, text)
        assert prediction["tokens"] == prediction["weights"] == []
        assert 0 < prediction["probability"] < 1
    assert as_json(capsys, finished, "go\udcffod")[0]["tokens"] == ["<unk>", "<unk>"]


def test_a_file_is_answered_row_by_row(finished, tmp_path, capsys):
    def answer(file, out, *options):
        main([str(finished), "--file", str(file), "--out", str(out), *options])

    file, out, other = (tmp_path / name for name in ("reviews.csv", "scored.jsonl", "other.csv"))
    file.write_text("id;text\n7;good soup\n8;bad soup\n")
    answer(file, out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    expected = [as_json(capsys, finished, row["text"])[0] for row in rows]
    assert [(row["id"], row["predicted"]) for row in rows] == [
        (each, found["label"]) for each, found in zip("78", expected, strict=True)
    ]
    file.write_text("id;review\n7;good soup\n")
    cases = [
        (file, other, "no column text for --text-column; it has id, review"),
        (tmp_path, other, f"^{tmp_path}: expected one file, got a folder, such"),
        (
            tmp_path / "gone.csv",
            other,
            r"gone\.csv: expected one file, got a path that does not exist$",
        ),
    ]
    check_refused(answer, cases)
    answer(file, other, "--text-column", "review")
    assert other.read_text().startswith("id,review,predicted,probability")


def test_texts_of_which_nothing_is_read_are_named(finished, capsys, monkeypatch):
    lines = "good soup\n好吃\n\ngood zebra\nzebra zebra"
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    main([str(finished), "-"])
    main([str(finished), "5/5"])
    main([str(finished), "soup"])
    ending = ": holds no word that the model knows; the answer ignores what it says\n"
    expected = "".join(each + ending for each in ("line 2", "line 3", "line 5", "TEXT"))
    assert capsys.readouterr().err == expected
    main([str(finished), "soup zebra"])
    assert capsys.readouterr().err == ""
    main([str(finished), "soup zebra zebra zebra"])
    assert "TEXT: the model knows 25% of the words, so" in capsys.readouterr().err


def test_a_very_long_text_counts_by_its_end(finished, capsys):
    (prediction,) = as_json(capsys, finished, "bad " * 100_000 + "good soup " * 6 + "again")
    assert prediction["tokens"] == [*["good", "soup"] * 6, "again"]
    read = "TEXT: the model reads the last 13 of its 100,013 tokens\n"
    main([str(finished), "bad " * 100_000 + "good soup " * 6 + "again"])
    assert capsys.readouterr().err == read
    assert prediction == as_json(capsys, finished, "good soup " * 6 + "again")[0]


def test_a_page_that_stands_alone_and_lets_nothing_through(finished, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("good <script>alert(1)</script>\n& zebra"))
    path = tmp_path / "page.html"
    output_of(capsys, finished, "-", "--html", path)
    text = path.read_text()
    page = BeautifulSoup(text, "html.parser")
    assert not page.select("script, [src], [href]")
    assert "<unk>" in page.get_text().split()  # as text, from &lt;unk&gt;
    assert text.count("<figure") == 2
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]

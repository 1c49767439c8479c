"""The lesson that trains: what its text says holds for the numbers that its page was built with."""

import html
import re

import from_scratch
import pytest
from built_site import SITE

LESSON = SITE / "gallery" / "core" / "plot_8_sentiment_training.html"
FILE = SITE / from_scratch.NAME


@pytest.fixture(scope="module")
def verdicts():
    page = html.unescape(re.sub("<[^>]+>", "", LESSON.read_text(encoding="utf-8")))
    row = r"^(alone|clean|distractor) *(\w+) *- mean: \S+ \(\S+ to \S+\) (.+)$"
    return {match.group(1, 2): match[3] for match in re.finditer(row, page, re.MULTILINE)}


def test_attention_helps_where_words_must_be_left_out(verdicts):
    assert len(verdicts) == 7
    assert {verdicts["distractor", kind] for kind in ("energy", "qk", "qkv")} == {"better"}
    assert verdicts["alone", "block"] == "not told apart"


def test_the_whole_file_is_offered():
    assert 'href="../../attention_from_scratch.py"' in LESSON.read_text(encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == from_scratch.from_scratch(SITE.parents[2])

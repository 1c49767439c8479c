"""Each lesson asks before it shows, and ends with what its reader can do now."""

import re

import pytest
from lessons import lessons
from run_pages import ROOT

EXERCISES = "\n".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/exercises/*.md"))
LESSONS = sorted(lessons())


def text_of(lesson):
    lines = (ROOT / f"{lesson}.py").read_text(encoding="utf-8").splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines)


@pytest.mark.parametrize("lesson", LESSONS)
def test_it_ends_with_what_one_can_do_and_one_exercise(lesson):
    ending = text_of(lesson).rpartition("Takeaways ---------")[2]
    parts = re.findall(r"\*From memory:\*|\*Where next:\*|You can now ", ending)
    assert parts == ["*From memory:*", "*Where next:*", "You can now "]
    (said,) = re.findall(r"You can now .+? The exercise to do next is (.+)$", ending)
    (exercise,) = re.findall(r":ref:`[^`]+<(ex-[\w-]+)>`", said)
    assert f":label: {exercise}\n" in EXERCISES


@pytest.mark.parametrize("lesson", [each for each in LESSONS if "/cases/" not in each])
def test_it_asks_for_a_prediction(lesson):
    assert ".. predict::" in text_of(lesson)

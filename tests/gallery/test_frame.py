"""Each core lesson has the frame that its reader counts on: title, needs, time, aim, takeaways."""

import ast
import re

import pytest
from run_pages import GALLERY

LESSONS = sorted(GALLERY.glob("core/plot_*.py"))


def head_of(path):
    """Return the title of a lesson and the paragraphs below it."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    text = re.sub(r"\.\. lesson::.*?\n\n", "", text, count=1, flags=re.DOTALL)  # its header
    title, underline, *rest = text.split("\n")
    assert set(underline) == {"="}
    assert len(underline) >= len(title)
    return title, [part.replace("\n", " ") for part in "\n".join(rest).strip().split("\n\n")]


def test_the_core_lessons_are_nine_and_numbered_in_order():
    assert [path.name.split("_")[1] for path in LESSONS] == list("123456789")


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_title_says_what_is_searched_for_and_then_the_phrase(path):
    title, _ = head_of(path)
    assert re.fullmatch(r"[^:]{3,60}: \S.+", title)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_opens_with_a_question_and_says_need_time_and_aim(path):
    _, paragraphs = head_of(path)
    assert paragraphs[0].endswith("?")
    (frame,) = (part for part in paragraphs if "Afterwards you " in part)
    assert re.search(r"\b[Yy]ou need\b|\ball (that )?you need\b|\bneeds\b", frame)
    assert re.search(r"\b(second|minute|hour)s?\b", frame)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_ends_with_takeaways_and_the_way_on(path):
    text = path.read_text(encoding="utf-8")
    _, _, end = text.rpartition("# Takeaways\n# ---------\n")
    assert end != text
    assert len(re.findall(r"^# \* ", end, re.MULTILINE)) >= 3
    assert "# *Where next:*" in end


def test_no_text_stands_on_the_line_of_a_cell_s_marker():
    # sphinx-gallery drops it without a word.
    for path in GALLERY.rglob("plot_*.py"):
        lost = re.findall(r"^# *%% *\S.*$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert lost == [], path.name


def test_the_first_lesson_draws_weights_before_and_after_training_on_one_scale():
    tree = ast.parse((GALLERY / "core/plot_1_qkv_derivation.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    drawn = [call for call in calls if ast.unparse(call.func) == "draw_weights"]
    scales = [[ast.unparse(k.value) for k in call.keywords if k.arg == "vmax"] for call in drawn]
    assert len(scales) >= 2
    assert all(scale == ["1"] for scale in scales)

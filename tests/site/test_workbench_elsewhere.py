"""The workbench inside the first lesson."""

from accessibility import unsound
from workbench import cell, field, open_bench, shown, unfold

LESSON = "gallery/core/plot_1_qkv_derivation.html"


def test_the_first_lesson_has_it_with_the_lessons_numbers(visit, root):
    seen = visit(root + LESSON)
    page = seen.page
    page.locator("#workbench").wait_for()
    unfold(page)
    assert shown(page, "query.0", "score.1", "weight.1") == ["0.4306", "1.8524", "0.2264"]
    field(page, "W_key.0.1").fill("3")
    assert shown(page, "score.1") != ["1.8524"]
    # Weights have just been computed where it stands, and the formula comes after it.
    before = page.evaluate(
        """() => { const range = document.createRange(), box = document.querySelector("#workbench");
        range.setStart(document.querySelector("article"), 0); range.setEndBefore(box);
        return range.toString(); }"""
    )
    assert "print(weights.sum(dim=-1))" in before
    assert "scaled dot-product attention" not in before
    assert seen.complaints == []
    assert seen.foreign(root) == []


def test_it_is_accessible_there_and_fits(visit, http_root):
    page = open_bench(visit, http_root + LESSON)
    cell(page, "map.1.1").click()
    assert unsound(page, "desktop", "phone", within="#workbench") == []

"""The first lesson's figures in a browser: each number says where it comes from."""

import itertools
import re

import pytest
from accessibility import unsound
from playwright.sync_api import expect

LESSON = "gallery/core/plot_1_qkv_derivation.html"
NUMBER = re.compile(r"−?\d+\.\d+")


@pytest.fixture
def lesson(visit, root):
    """The lesson with its training, which is there once one is near."""
    seen = visit(root + LESSON)
    seen.page.locator("#figure-5").scroll_into_view_if_needed()
    seen.page.get_by_test_id("training").wait_for()
    yield seen.page
    assert seen.troubles(root) == []


def numbers(text):
    return [float(number.replace("−", "-")) for number in NUMBER.findall(text)]


def check_sum(box, pressed, tolerance, terms=3):
    """The last number of the sum is what its products add up to, and what the button says."""
    said = box.locator(".live-sum").inner_text()
    *factors, result = numbers(said)
    products = [a * b for a, b in zip(factors[::2], factors[1::2], strict=True)]
    assert len(products) == terms
    assert sum(products) == pytest.approx(result, abs=tolerance)
    assert float(pressed.inner_text()) == pytest.approx(result, abs=0.0051)


def printed(page, line):
    """The numbers of a line that the lesson prints."""
    outputs = page.locator(".sphx-glr-script-out pre", has_text=line)
    (text,) = outputs.all_text_contents()
    return numbers(next(one for one in text.splitlines() if one.startswith(line)))


def test_any_score_says_its_sum(lesson):
    box = lesson.get_by_test_id("scores")
    cells = box.locator("button")
    assert cells.count() == 36
    check_sum(box, box.locator("[aria-pressed=true]"), 0.011)
    for at in (0, 7, 20, 35):
        cells.nth(at).click()
        check_sum(box, cells.nth(at), 0.011)
        expect(cells.nth(at)).to_have_attribute("aria-pressed", "true")
    cells.nth(2 * 6 + 5).click()
    expect(box.locator(".live-sum")).to_contain_text("“starts” and “step” = x₃ · x₆")
    mirrored = box.locator(".mirrored")
    assert mirrored.count() == 1
    assert mirrored.evaluate(
        "(made) => made === [...made.closest('table').tBodies[0].rows][5].cells[3].firstChild"
    )
    assert mirrored.inner_text() == cells.nth(17).inner_text()


def test_the_keyboard_moves_from_score_to_score(lesson):
    box = lesson.get_by_test_id("scores")
    assert box.locator("button[tabindex='0']").count() == 1
    box.locator("[aria-pressed=true]").focus()
    for key in ("ArrowDown", "ArrowRight"):
        lesson.keyboard.press(key)
    pressed = box.locator("[aria-pressed=true]")
    expect(pressed).to_be_focused()
    assert pressed.evaluate(
        "(made) => [made.parentElement.cellIndex, made.closest('tr').sectionRowIndex]"
    ) == [4, 2]
    check_sum(box, pressed, 0.011)


def test_each_number_of_the_three_vectors_says_its_sum(lesson):
    box = lesson.get_by_test_id("product")
    results = box.locator("button")
    code = "//div[contains(@class, 'highlight')][contains(., 'print(query_2')]"
    below = lesson.locator(f"xpath={code}/following::pre[contains(., 'tensor')]").first
    wanted = numbers(below.inner_text())
    assert len(wanted) == 6
    for i, role in enumerate(("query", "key", "value")):
        box.get_by_label(f"W_{role}").check(force=True)
        assert results.count() == 2
        for made, number in zip(results.all(), wanted[2 * i : 2 * i + 2], strict=True):
            made.click()
            check_sum(box, made, 0.0002)
            said = numbers(box.locator(".result").inner_text())
            assert said == [pytest.approx(number, abs=5.1e-3)], role


def test_any_word_asks_and_its_scores_are_those_of_the_page(lesson):
    box = lesson.get_by_test_id("roles")
    scores = box.locator("button")
    rows = box.locator(".live-square tbody tr")
    own = [table.inner_text() for table in box.locator(".live-own table").all()[1:]]
    assert [one.split()[0] for one in own] == ["query_2", "key_2", "value_2"]
    wanted = lesson.evaluate("""() => {
      const { lesson } = JSON.parse(
        document.querySelector("script.workbench-numbers").textContent);
      const { matmul, transpose } = lab.tensors;
      return matmul(matmul(lesson.x, lesson.W_query), transpose(matmul(lesson.x, lesson.W_key)));
    }""")
    for i, word in ((1, "journey"), (4, "one"), (5, "step")):
        box.get_by_label(word, exact=True).check(force=True)
        assert numbers(" ".join(scores.all_inner_texts())) == pytest.approx(wanted[i], abs=5.1e-3)
        query = box.locator(f".live-matrix:has(caption:text-is('query_{i + 1}')) span")
        for c in range(2):  # one below the other, above each key
            assert set(rows.nth(c).locator("td").all_inner_texts()) == {query.nth(c).inner_text()}
        for j in (0, 3):
            scores.nth(j).click()
            check_sum(box, scores.nth(j), 0.016, terms=2)
            said = box.locator(".live-sum")
            expect(said).to_contain_text(f"query_{i + 1} · key_{j + 1}")
            assert said.locator(".equation .key").first.inner_text() == f"key_{j + 1}"
    lesson.mouse.move(0, 0)
    box.get_by_label("step", exact=True).press("ArrowLeft")
    expect(box.locator(".live-sum")).to_contain_text("score of “one” and “step”")


def test_on_a_phone_the_words_that_ask_cover_none_another(lesson):
    lesson.set_viewport_size({"width": 360, "height": 800})
    names = lesson.get_by_test_id("roles").locator("label span")
    boxes = [name.bounding_box() for name in names.all()]
    for one, other in itertools.pairwise(boxes):
        assert one["x"] + one["width"] <= other["x"]


def test_the_training_is_that_of_the_page(lesson):
    box = lesson.get_by_test_id("training")
    slider = box.get_by_role("slider")
    for key, when, step in (("End", "after: ", "step 2,000"), ("Home", "before:", "step 0")):
        slider.press(key)
        mean, _ = numbers(box.locator(".live-found").inner_text())
        assert [mean] == [
            pytest.approx(one, abs=0.0051)
            for one in printed(lesson, f"mean weight on the target, {when}")
        ]
        expect(box.locator("output")).to_have_text(step)
        expect(slider).to_have_attribute("aria-valuetext", step)
    slider.press("End")
    (said,) = lesson.locator("pre", has_text="Your     gives its target").all_text_contents()[:1]
    wanted = numbers("".join(line for line in said.splitlines() if "gives its target" in line))
    assert numbers(" ".join(box.locator(".target").all_inner_texts())) == [
        pytest.approx(one, abs=0.0051) for one in wanted
    ]
    rows = box.locator("tbody tr").all()
    assert all(sum(numbers(row.inner_text())) == pytest.approx(1, abs=0.031) for row in rows)


@pytest.mark.parametrize("root", ["http"], indirect=True)
def test_one_can_watch_it_learn_and_stop(lesson):
    box = lesson.get_by_test_id("training")
    slider, button = box.get_by_role("slider"), box.get_by_role("button")
    end = int(slider.input_value())
    button.click()
    lesson.wait_for_function(
        f"(slider) => 0 < slider.value && slider.value < {end}", arg=slider.element_handle()
    )
    button.click()
    at = slider.input_value()
    lesson.wait_for_timeout(300)
    assert slider.input_value() == at
    button.click()
    expect(button).to_have_text("Stop")
    expect(slider).to_have_value(str(end))
    expect(button).to_have_text("Watch it learn")


@pytest.mark.parametrize("root", ["http"], indirect=True)
def test_the_figures_are_sound_in_both_themes_and_fit(lesson):
    assert unsound(lesson, "narrow", "phone", "desktop", within=".live") == []


def test_who_wants_no_motion_has_the_slider(visit, http_root):
    page = visit(http_root + LESSON, motion="reduce").page
    page.locator("#figure-5").scroll_into_view_if_needed()
    box = page.get_by_test_id("training")
    expect(box.get_by_role("slider")).to_be_visible()
    expect(box.get_by_role("button", include_hidden=True)).to_be_hidden()


def test_paper_and_a_page_without_scripts_have_the_pictures(visit, http_root):
    seen = visit(http_root + LESSON)
    page = seen.page
    still = visit(http_root + LESSON, java_script_enabled=False).page
    for number in (1, 2, 3, 5):
        page.emulate_media(media="screen")
        figure = page.locator(f"#figure-{number}")
        figure.scroll_into_view_if_needed()
        expect(figure.locator("img")).to_be_hidden()
        page.emulate_media(media="print")
        expect(figure.locator("img")).to_be_visible()
        expect(figure.locator(".live")).to_be_hidden()
        expect(still.locator(f"#figure-{number} img")).to_be_visible()
    page.emulate_media(media="screen")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert seen.troubles(http_root) == []  # a figure without a size draws nothing wrong

"""The puzzles as a reader has them: what the page judges, keeps, sends and shows."""

import json
import random

import pytest
import torch
from accessibility import unsound
from playwright.sync_api import expect
from puzzle_solutions import MORE, SOLUTIONS, WRONG

from attention.exercises.puzzles import PUZZLES, RANGES, judge_puzzle, read_state

PAGE = "puzzles.html#puzzle=first-word"
PER_PUZZLE = 20  # states drawn at random


@pytest.fixture
def open_page(visit, http_root):
    return lambda address, **options: visit(http_root + address, **options).page


def drawn(name: str, generator: random.Random) -> dict:
    """Draw what may be set, near the solution half of the time."""
    puzzle = PUZZLES[name]
    solution = SOLUTIONS[name] if "impossible" not in SOLUTIONS[name] else {}
    near = generator.random() < 0.5
    values = {}
    for part in puzzle["settable"]:
        if part == "mask":
            values[part] = generator.choice(["none", "causal", "not itself"])
            continue
        start = torch.as_tensor(puzzle["start"][part], dtype=torch.float64)
        start = torch.as_tensor(solution.get(part, start) if near else start, dtype=torch.float64)
        noise = [generator.gauss(0, 0.2 if near else 3) for _ in range(start.numel())]
        low, high = RANGES.get(part, (-99, 99))
        moved = start + torch.tensor(noise, dtype=torch.float64).reshape(start.shape)
        values[part] = moved.clamp(low, high).tolist()
    return values


def hash_of(name: str, values: dict) -> str:
    """Write a state as the page's address has it."""
    parts = [name]
    for part, value in values.items():
        numbers = torch.as_tensor(value).flatten().tolist() if part != "mask" else []
        parts.append(f"{part}={','.join(map(str, numbers)) or value.replace(' ', '-')}")
    return "#puzzle=" + "&".join(parts)


def key_of_position(page):
    """Find the number that tells the keys where a word stands."""
    return page.get_by_role("textbox", name="W_key, position, number 1", exact=True)


def test_the_page_has_the_puzzles_of_the_package_and_judges_as_python_does(page):
    found = json.loads(page.locator("script.puzzles").text_content())
    assert all(one.pop("lesson_title") for one in found.values())
    assert found == PUZZLES
    generator = random.Random(0)
    states = [(name, drawn(name, generator)) for name in PUZZLES for _ in range(PER_PUZZLE)]
    states += [(name, one) for name, one in SOLUTIONS.items() if "impossible" not in one]
    states += [(name, one) for name, one, *_ in [*MORE, *WRONG] if "impossible" not in one]
    whole = []
    for name, values in states:
        state = read_state(PUZZLES[name], values)
        plain = {key: one if key == "mask" else one.tolist() for key, one in state.items()}
        whole.append([name, plain])
    found = page.evaluate(
        """states => {
          const puzzles = JSON.parse(document.querySelector("script.puzzles").textContent);
          return states.map(([name, state]) => {
            const { reason, text } = lab.puzzleJudge.judge(puzzles[name], state);
            return [reason, text];
          });
        }""",
        whole,
    )
    wanted = [list(judge_puzzle(name, values)) for name, values in states]
    assert len(found) > 300
    assert found == wanted
    assert {reason for reason, _ in wanted} >= {"solved", "here", "elsewhere", "word"}


def test_a_solution_in_the_address_is_seen_to_be_one(open_page):
    hashes = [
        hash_of(name, {} if "impossible" in values else values)
        for name, values in SOLUTIONS.items()
    ]
    assert list(SOLUTIONS) == list(PUZZLES)
    page = open_page("puzzles.html" + hashes[0])
    verdict = page.get_by_test_id("puzzle-verdict")
    for (name, values), written in zip(SOLUTIONS.items(), hashes, strict=True):
        page.evaluate("written => { location.hash = written; }", written)
        expect(page.get_by_test_id("puzzle")).to_have_attribute("data-name", name)
        if "impossible" in values:
            assert verdict.get_attribute("data-solved") == "false", name
            page.locator("[name=puzzle-claim]").nth(values["impossible"]).check()
            page.get_by_role("button", name="It is impossible").click()
            assert verdict.get_attribute("data-reason") == "impossible", name
        else:
            known = PUZZLES[name]["shortest"]
            assert f"shortest known: {known}" in page.get_by_test_id("puzzle-count").inner_text()
        assert verdict.get_attribute("data-solved") == "true", name
        is_done = page.evaluate("name => doneStore.done.has(`puzzle-${name}`)", name)
        assert is_done == ("impossible" in values), name  # to open a link is no deed


def test_typing_sliding_undoing_and_the_address(page):
    verdict, count = page.get_by_test_id("puzzle-verdict"), page.get_by_test_id("puzzle-count")
    page.get_by_role("textbox", name="W_query, always 1, number 1", exact=True).fill("1")
    key_of_position(page).fill("−5")  # with a real minus sign
    assert verdict.get_attribute("data-solved") == "true"
    assert count.inner_text().startswith("Yours: 2 numbers set")
    page.wait_for_function("location.hash.includes('W_key=0,0,-5,0')")
    assert page.evaluate("doneStore.done.has('puzzle-first-word')")
    page.locator(".puzzle-list button").nth(1).click()
    page.go_back()
    assert verdict.get_attribute("data-solved") == "true"
    page.get_by_role("button", name="Undo").click()
    assert verdict.get_attribute("data-reason") == "here"
    slider = page.locator("[data-part=slider]")
    key_of_position(page).focus()
    slider.fill("-6")
    assert key_of_position(page).input_value() == "−6"
    assert verdict.get_attribute("data-solved") == "true"
    page.get_by_role("button", name="Start again").click()
    assert count.inner_text().startswith("Yours: 0 numbers set")
    field = key_of_position(page)
    field.fill("one")
    assert field.get_attribute("aria-invalid") == "true"
    assert "expected a number from −99 to 99" in page.get_by_role("alert").inner_text()
    field.blur()
    assert field.input_value() == "0"


def test_what_was_taken_back_can_be_done_again_and_stays_so_on_coming_back(page):
    field = key_of_position(page)
    undo, redo = (page.get_by_role("button", name=name) for name in ("Undo", "Redo"))
    field.fill("7")
    undo.click()
    redo.click()
    assert (field.input_value(), redo.is_disabled(), undo.is_disabled()) == ("7", True, False)
    undo.click()
    field.fill("8")  # another way: what was taken back is gone
    assert redo.is_disabled()
    undo.click()
    for other in (1, 3):
        page.locator(".puzzle-list button").nth(other).click()
    assert field.input_value() == "0"


def test_a_wrong_reason_waits_for_numbers_before_the_next_claim(open_page):
    page = open_page("puzzles.html#puzzle=width-one")
    claim = page.get_by_role("button", name="It is impossible")
    wrong = next(i for i in range(3) if i != PUZZLES["width-one"]["impossible"]["right"])
    page.locator("[name=puzzle-claim]").nth(wrong).check()
    claim.click()
    assert claim.is_disabled()
    assert "Try some numbers before you claim again." in page.locator(".puzzle-claim").inner_text()
    page.locator("#puzzle [data-name^=W_query]").first.fill("3")
    assert claim.is_enabled()


def test_a_weight_is_changed_in_its_place(page):
    cell = page.locator('.puzzle-maps [data-name="map.1.0"]').element_handle()
    page.get_by_role("textbox", name="W_query, always 1, number 1", exact=True).fill("1")
    key_of_position(page).fill("-5")
    assert cell.evaluate("cell => cell.isConnected && Number(cell.dataset.value) > 0.9")
    assert "goal" in cell.get_attribute("class")
    assert "missed" not in cell.get_attribute("class")
    assert "as asked" in cell.get_attribute("aria-label")


def test_what_one_holds_stays_when_another_sentence_is_shown(open_page):
    page = open_page("puzzles.html#puzzle=one-takes-all")
    slider, temperature = map(page.locator, ("[data-part=slider]", "[data-name=temperature]"))
    temperature.fill("0.29")  # only another sentence fails
    assert page.get_by_test_id("puzzle-verdict").get_attribute("data-reason") == "elsewhere"
    before = slider.bounding_box()
    temperature.fill("0.1")
    assert page.get_by_test_id("puzzle-verdict").get_attribute("data-solved") == "true"
    assert slider.bounding_box() == before


def test_what_is_solved_is_counted_and_marked_on_the_map(page, http_root):
    progress = page.get_by_test_id("puzzle-progress")
    assert progress.inner_text() == "0 of 15 solved"
    page.evaluate("doneStore.mark('puzzle-first-word')")
    assert progress.inner_text() == "1 of 15 solved"
    page.goto(http_root + "gallery/index.html")
    station = page.locator('.lesson-map a[href*="plot_6_positions"]')
    assert "1 of 2 puzzles" in station.inner_text()


def test_hints_open_one_at_a_time(open_page):
    page = open_page("puzzles.html#puzzle=previous-word")
    hints = page.get_by_test_id("puzzle-hint")
    total = len(PUZZLES["previous-word"]["hints"])
    assert hints.count() == total
    for opened in range(total):
        expect(hints.filter(visible=True)).to_have_count(opened + 1)
        hints.nth(opened).locator("summary").click()


def test_a_bad_address_says_what_is_wrong_and_opens_a_puzzle(open_page):
    page = open_page("puzzles.html#puzzle=first-word&W_key=1,2")
    assert "W_key has 4 numbers" in page.get_by_role("alert").inner_text()
    expect(page.get_by_test_id("puzzle")).to_be_visible()


def test_with_keys_alone_one_goes_from_puzzle_to_puzzle_and_changes_a_number(open_page):
    page = open_page("puzzles.html#puzzle=one-takes-all")
    page.get_by_role("textbox", name="temperature", exact=True).focus()
    for _ in range(18):
        page.keyboard.press("ArrowDown")
    assert page.get_by_role("textbox", name="temperature", exact=True).input_value() == "0.1"
    assert page.get_by_test_id("puzzle-verdict").get_attribute("data-solved") == "true"
    page.get_by_role("button", name="Next puzzle").press("Enter")
    assert page.get_by_test_id("puzzle").get_attribute("data-name") == "average-of-the-past"
    assert page.evaluate("document.activeElement.tagName") == "H2"
    assert page.locator(".puzzle-list [aria-current]").inner_text().startswith("3")


@pytest.mark.parametrize("name", ["first-word", "two-heads", "not-good", "width-one"])
def test_it_is_sound_on_every_screen(open_page, name):
    # Colours that fade from theme to theme would be read on their way.
    page = open_page(f"puzzles.html#puzzle={name}", motion="reduce")
    assert unsound(page, "wide", "phone", within=".puzzle") == []

"""The workbench on any screen: the explanation in sight, nothing covered, numbers of any size."""

import itertools
import re

import pytest
from accessibility import unsound
from contrasts import contrast
from playwright.sync_api import expect
from workbench import cell, field, open_bench, show

WIDTHS = [390, 640, 768, 1280]


NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What of the element that has the focus lies below something else
COVERED = """() => { const part = document.activeElement, r = part.getBoundingClientRect();
  const isSeen = (y) => {
    const seen = document.elementFromPoint((r.left + r.right) / 2, y);
    return seen && (part.contains(seen) || seen.contains(part));
  };
  return part.closest(".workbench") && ![(r.top + r.bottom) / 2, r.bottom - 3].every(isSeen)
    ? part.outerHTML.slice(0, 150) : null; }"""


@pytest.fixture
def sized(visit, http_root):
    """The page without smooth scrolling, which would still be on its way when the test looks."""
    return open_bench(visit, http_root + "playground.html", motion="reduce")


def at_each_width(page):
    """Make the window as wide as each of WIDTHS, and begin at the top of the page."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        page.evaluate("scrollTo(0, 0)")
        page.evaluate(NEXT_FRAME)
        yield width


def box(part):
    """The edges of a part on the screen: left, top, right, bottom."""
    script = """part => { const r = part.getBoundingClientRect();
    return [r.left, r.top, r.right, r.bottom]; }"""
    return part.evaluate(script)


def overlap(a, b):
    return a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] - 1 and b[1] < a[3] - 1


def test_the_explanation_of_a_selected_number_is_on_the_screen(sized):
    where = sized.locator(".lab-where")
    for width in at_each_width(sized):
        for name in ("map.1.1", "context.5.1", "context.1", "score.0", "value.5.1"):
            number = cell(sized, name)
            if not number.is_visible():  # on a phone one of the context vectors is enough
                assert (name, width) == ("context.5.1", 390)
                continue
            number.click()
            expect(where).to_contain_text("=")
            _, top, _, bottom = box(where)
            assert 0 <= top < bottom <= 701, (width, name)
            assert not overlap(box(where), box(number)), (width, name)


def test_nothing_that_has_the_focus_is_covered(sized):
    of_all = f"""async (inputs) => {{ const found = [];
      for (const one of inputs) {{
        one.focus();
        await ({NEXT_FRAME})();
        found.push(({COVERED})());
      }}
      return found.filter(Boolean); }}"""
    for width in at_each_width(sized):
        field(sized, "x.0.0").focus()
        inputs = sized.locator("#workbench input[data-name]")
        assert inputs.evaluate_all(of_all) == [], width
        sized.locator('[data-part="sentence"]').focus()
        for _ in range(40):
            sized.keyboard.press("Tab")
            sized.evaluate(NEXT_FRAME)
            assert sized.evaluate(COVERED) is None, width


def test_large_numbers_stay_in_their_place(sized):
    parts = ["map", "plane-scores", "plane-values", "x", "W_query", "W_key", "W_value"]
    parts += ["steps", "dQKV"]
    for width in at_each_width(sized):
        for name in ("x.1.0", "W_key.0.0", "W_query.0.1", "W_value.0.0"):
            field(sized, name).fill("-99")
        together = {name: box(sized.locator(f'#workbench [data-part="{name}"]')) for name in parts}
        for one, other in itertools.combinations(together, 2):
            assert not overlap(together[one], together[other]), (width, one, other)
        edge = box(sized.locator("#workbench"))[2]
        for part in parts:
            assert together[part][2] <= edge + 1, (width, part)
        assert sized.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width


# What each field refuses, and what is said of it
REFUSED = {
    "[data-name='W_value.2.0']": (["", "120"], "W_value, row 3, number 1: expected"),
    "[data-part=sentence]": (["word"], "A sentence here has 2 to 12 words"),
    "[data-part=padding]": (["1000"], "expected a whole number from 0 to 5"),
    "[data-part=rate]": (["1000"], "Learning rate: expected"),
    "[data-part=goal-0]": (["1000"], "Target for the context vector: expected"),
}


def test_what_is_refused_is_said_and_does_not_stay(bench):
    context, alert = cell(bench, "context.0"), bench.get_by_role("alert")
    computed = context.inner_text()
    for name, (texts, said) in REFUSED.items():
        wrong = bench.locator(f"#workbench input{name}")
        before = wrong.input_value()
        for text in texts:
            wrong.fill(text)
            expect(alert).to_contain_text(said)
            expect(wrong).to_have_attribute("aria-invalid", "true")
            assert context.inner_text() == computed, name
            field(bench, "x.0.0").focus()
            expect(wrong).to_have_value(before)
            assert wrong.get_attribute("aria-invalid") is None, name
            expect(alert).to_have_text("")
    field(bench, "W_value.2.0").fill("1")
    assert context.inner_text() != computed


def test_what_is_typed_takes_the_place_of_a_number_that_shows_more_digits(bench):
    made = field(bench, "W_key.0.0")
    made.fill("-0.1234")
    field(bench, "x.0.0").focus()
    expect(made).to_have_value("−0.12")
    made.focus()
    expect(made).to_have_value("−0.1234")
    bench.keyboard.type("1")
    expect(made).to_have_value("1")


def test_a_refused_sentence_keeps_its_reason_after_enter(bench):
    sentence = bench.get_by_label("Your sentence")
    before = sentence.input_value()
    for text in ("Hello", "word " * 13):
        sentence.fill(text)
        sentence.press("Enter")
        expect(sentence).to_have_value(text)
        expect(sentence).to_have_attribute("aria-invalid", "true")
        expect(bench.get_by_role("alert")).to_contain_text("A sentence here has 2 to 12 words")
    sentence.fill(before)
    assert sentence.get_attribute("aria-invalid") is None
    expect(bench.get_by_role("alert")).to_have_text("")


def test_the_frame_of_a_target_and_the_mark_of_the_largest_cover_no_digit(sized):
    sized.get_by_role("radio", name="a target").check()
    weights = "all => all.map((one) => Number(one.dataset.value))"
    for width, words in itertools.product(at_each_width(sized), (6, 8, 12)):
        sized.get_by_label("Your sentence").fill(" ".join(f"w{i}" for i in range(words)))
        expect(sized.get_by_test_id("weight")).to_have_count(words**2)
        row = sized.locator('#workbench td[data-name^="map.1."]').evaluate_all(weights)
        largest = cell(sized, f"map.1.{row.index(max(row))}")
        largest.click()
        sized.keyboard.press("Escape")  # what is asked for has another outline
        # The mark is a sign at the upper right or, where there is less room, a solid frame.
        found = largest.evaluate(
            """part => { const look = getComputedStyle(part, "::after"), range = new Range();
            range.selectNodeContents(part);
            const [cell, text] = [part, range].map((one) => one.getBoundingClientRect());
            const frame = getComputedStyle(part);
            return { right: cell.right - text.right, left: text.left - cell.left,
                     sign: look.content === "none" ? 0
                       : parseFloat(look.width) + parseFloat(look.right),
                     style: frame.outlineStyle, frame: -parseFloat(frame.outlineOffset) }; }"""
        )
        assert min(found["left"], found["right"]) >= found["frame"] - 1, (width, words)
        if found["sign"]:
            assert found["style"] == "dashed"
            assert 6 <= found["sign"] <= found["right"], (width, words)
        else:
            assert found["style"] == "solid"
            assert words > 6 or width <= 640


def test_the_hatching_of_masked_cells_can_be_seen(bench):
    bench.get_by_label("causal mask").check()
    for scheme in ("light", "dark"):
        bench.emulate_media(color_scheme=scheme)
        lines, ground = bench.evaluate(
            """() => {
              const masked = getComputedStyle(document.querySelector("#workbench .masked"));
              const colors = masked.backgroundImage.match(/rgba?\\([^)]*\\)/g);
              const ground = getComputedStyle(document.body).getPropertyValue("background-color");
              return [colors.at(-1), ground]; }"""
        )
        both = ([int(part) for part in re.findall(r"\d+", color)[:3]] for color in (lines, ground))
        assert contrast(*both) >= 3  # WCAG 2.2, 1.4.11


def test_everything_shown_is_accessible_and_fits(bench):
    sentence = "a dozen words, some of them extraordinarilylong and some short as I"
    bench.get_by_label("Your sentence").fill(sentence)
    assert bench.get_by_test_id("weight").count() == 144
    bench.get_by_label("second head").check()
    bench.get_by_label("causal mask").check()
    bench.get_by_role("radio", name="a target").check()
    cell(bench, "map.1.0").click()
    bench.locator('[data-part="plane-values"]').click(position={"x": 90, "y": 60})
    bench.get_by_text("Take it away").click()
    assert unsound(bench, "narrow", "phone", "desktop", "wide", within="#workbench") == []


def test_what_learns_and_what_it_changes_are_one_screen_of_1280_by_720(bench):
    bench.set_viewport_size({"width": 1280, "height": 720})
    top = box(bench.locator("#workbench .bench-top"))[1]  # below the missions
    bench.locator("#workbench [data-part=all-next]").dispatch_event("click")
    for part in ("settings", "matrices", "options", "arithmetic"):
        bench.locator(f"#workbench [data-part={part}]").evaluate("part => (part.open = false)")
    bench.get_by_role("button", name="One step").click()
    for part in (".bench-map", ".bench-planes"):
        assert box(bench.locator(f"#workbench {part}"))[3] - top <= 720


@pytest.mark.parametrize("density", ["change", "train"])
def test_the_two_numbers_of_a_context_stand_apart(visit, http_root, density):
    page = open_bench(visit, http_root + "playground.html", size="laptop")
    page.get_by_label("Start from").select_option("trained")  # whose numbers are wide
    show(page, density)
    page.get_by_label("Your sentence").fill("the dull film had a dull ending")
    expect(page.get_by_test_id("weight")).to_have_count(49)
    gaps = page.evaluate(
        """() => [...document.querySelectorAll("#workbench tr:has(> td.context)")].map((row) => {
          const boxes = [...row.querySelectorAll("td.context")].map((cell) => {
            const text = document.createRange();
            text.selectNodeContents(cell);
            return text.getBoundingClientRect();
          });
          return boxes[1].left - boxes[0].right;
        })"""
    )
    assert len(gaps) == 7
    assert min(gaps) >= 4


def test_long_words_and_long_sentences_stay_in_their_place(sized):
    dozen = "a dozen words some of them extraordinarilylong and some as short"
    for width in at_each_width(sized):
        for sentence in (dozen, *(" ".join(["extraordinarilylong"] * n) for n in (6, 7, 8))):
            sized.get_by_label("Your sentence").fill(sentence)
            table = box(sized.locator("#workbench .lab-map"))
            assert table[2] <= box(sized.locator(".bench-map"))[2] + 1, (width, sentence)
            for part in ("x", "plane-scores", "plane-values") if sentence == dozen else ():
                beside = box(sized.locator(f'[data-part="{part}"]'))
                assert not overlap(table, beside), (width, part)


@pytest.mark.parametrize("density", ["look", "change"])
def test_a_phone_shows_what_to_do_and_what_it_is_done_to(visit, http_root, density):
    page = visit(http_root + "playground.html", size="phone").page
    show(page, density, folded=True)
    weights, plane = ".bench-map table", ".bench-planes figure:first-child"
    # One looks at rows, and changes arrows.
    order = [weights, plane] if density == "look" else [plane, weights]
    first, second = (box(page.locator(f"#workbench {part}")) for part in order)
    assert box(page.locator(".bench-missions"))[3] <= first[1]
    assert first[3] <= 844
    assert first[3] <= second[1]
    assert box(page.locator(".bench-from"))[1] >= second[3]
    # Both are one screen below Furo's bar, and so are the weights with the numbers of a word.
    assert second[3] - first[1] <= 844 - 64
    if density == "change":
        assert box(page.locator("#workbench .bench-set"))[3] - second[1] <= 844 - 64


def test_change_shows_weights_numbers_and_arrows_on_one_screen(visit, http_root):
    page = visit(http_root + "playground.html", size="laptop").page
    show(page, "change", folded=True)
    for part in ("[data-name='map.5.5']", "[data-name='x.2.0']", "[data-part=plane-scores]"):
        of_part = page.locator(f"#workbench {part}")
        expect(of_part).to_be_visible()
        assert box(of_part)[3] <= 720, part
    assert box(page.locator("#bench-steps"))[3] <= 900


def test_a_lesson_has_its_arrows_beside_the_weights_that_they_change(visit, http_root):
    page = visit(http_root + "gallery/core/plot_1_qkv_derivation.html").page
    weights, plane = (
        box(page.locator(f"#workbench {part}"))
        for part in (".bench-map", ".bench-planes figure:first-child")
    )
    assert weights[2] <= plane[0]
    assert plane[1] < weights[3]
    assert plane[3] <= weights[3] + 1


def test_more_than_six_words_are_turned_only_where_they_do_not_fit(visit, http_root):
    page = visit(http_root + "playground.html").page
    sentence = page.get_by_label("Your sentence")
    head = page.locator("#workbench [data-part=map-head] th span").nth(3)
    for words, size, mode in (
        ("the noisy dog chased the other dog today", 1440, "horizontal-tb"),
        ("the noisy dog disappointed the other dog today", 1440, "vertical-rl"),
        ("the noisy dog chased the other dog today", 390, "vertical-rl"),
    ):
        page.set_viewport_size({"width": size, "height": 900})
        sentence.fill(words)
        expect(page.get_by_test_id("weight")).to_have_count(64)
        expect(head).to_have_css("writing-mode", mode)


def test_keys_visit_what_is_in_sight_on_a_phone_from_above_to_below(visit, http_root):
    page = visit(http_root + "playground.html", size="phone").page
    show(page, "change", folded=True)
    cell(page, "map.0.5").focus()
    page.keyboard.press("ArrowRight")  # past the context vectors, for which there is no room
    expect(cell(page, "map.1.0")).to_be_focused()
    show(page, "look")
    page.locator("[data-testid=density]:checked").focus()
    places = []
    for _ in range(8):
        page.keyboard.press("Tab")
        places.append(page.evaluate("document.activeElement.getBoundingClientRect().y + scrollY"))
    assert all(below > above - 8 for above, below in itertools.pairwise(places))  # 8: side by side


def test_the_steps_stay_as_a_reader_left_them_and_are_printed(visit, http_root):
    page = visit(http_root + "playground.html").page
    show(page, "change", folded=True)
    steps = page.locator("#bench-steps table")
    expect(steps).to_be_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(steps).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(steps).to_be_hidden()
    page.get_by_text("Step by step", exact=True).click()
    page.set_viewport_size({"width": 600, "height": 800})
    expect(steps).to_be_visible()
    show(page, "train", folded=True)
    show(page, "change", folded=True)
    expect(steps).to_be_visible()


def test_an_asked_weight_leaves_its_key_alone_until_another_has_the_focus(visit, http_root):
    page = visit(http_root + "playground.html").page
    faded = page.locator("[data-part=plane-scores] .aside")
    cell(page, "map.2.5").click()
    expect(faded).to_have_count(5)
    handle = page.locator("[data-handle='key.1']")
    handle.focus()
    expect(handle).to_have_css("opacity", "1")
    page.get_by_role("button", name="Close the explanation").click()
    expect(faded).to_have_count(0)

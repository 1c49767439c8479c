"""The planes and the learning of the workbench: arrows to drag, targets, steps, what is undone."""

import re

import pytest
from playwright.sync_api import expect
from touch import middle
from workbench import cell, field, open_bench, shown, state


def drag(page, handle, dx, dy):
    """Drag an arrow's tip by so many pixels."""
    grip = page.locator(f'#workbench [data-handle="{handle}"] .grip')
    grip.scroll_into_view_if_needed()
    x, y = middle(grip)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()


def test_an_arrow_that_is_held_stays_in_its_picture(bench):
    grip = bench.locator('#workbench [data-handle="key.4"] .grip')
    grip.scroll_into_view_if_needed()
    before, y = middle(grip)
    bench.mouse.move(before, y)
    bench.mouse.down()
    plane = bench.locator('[data-part="plane-scores"]').bounding_box()
    edge = plane["x"] + plane["width"]
    seen = []
    for x in (before + 30, edge + 100, edge + 200):
        bench.mouse.move(x, y)
        says = bench.locator('[data-handle="key.4"]').get_attribute("aria-label")
        (key, _) = re.findall(r"−?[\d.]+", says)
        seen.append((middle(grip)[0], float(key.replace("−", "-"))))
    places, keys = zip(*seen, strict=True)
    assert places[0] == pytest.approx(before + 30, abs=1)
    assert max(places) <= edge
    # The picture shows more, so that the key follows the pointer further than its tip can.
    assert keys == tuple(sorted(set(keys)))
    assert keys[2] - keys[1] > 0.9 * (keys[1] - keys[0]) * 100 / (edge + 100 - before - 30)
    bench.mouse.up()


@pytest.mark.parametrize(("handle", "word"), [("query", 1), ("key.4", 4)])
def test_a_dragged_arrow_changes_its_word_and_all_that_follows(bench, handle, word):
    before = state(bench)
    weights = shown(bench, *(f"map.1.{j}" for j in range(6)))
    drag(bench, handle, 40, -25)
    after = state(bench)
    changed = [i for i in range(6) if before["x"][i] != after["x"][i]]
    assert changed == [word]
    assert before["heads"] == after["heads"]
    assert shown(bench, *(f"map.1.{j}" for j in range(6))) != weights
    made = field(bench, f"x.{word}.0")
    made.focus()
    expect(made).to_have_value(str(after["x"][word][0]).replace("-", "−"))
    bench.get_by_role("button", name="Undo").click()
    assert state(bench)["x"] == before["x"]


def test_the_arrow_keys_move_an_arrow_that_has_the_focus(bench):
    handle = bench.locator('[data-handle="query"]')
    bench.locator('[data-part="plane-scores"] [tabindex="0"]').focus()
    for _ in range(6):
        bench.keyboard.press("PageDown")
    expect(handle).to_be_focused()
    before = [float(text) for text in shown(bench, "query.0", "query.1")]
    bench.keyboard.press("ArrowRight")
    bench.keyboard.press("ArrowUp")
    after = [float(text) for text in shown(bench, "query.0", "query.1")]
    assert after == pytest.approx([number + 0.05 for number in before], abs=2e-4)
    expect(handle).to_be_focused()


def test_an_arrow_that_no_embedding_gives_is_said(bench):
    for i in range(3):
        field(bench, f"W_query.{i}.1").fill("0")
    before = state(bench)["x"]
    drag(bench, "query", 0, -30)
    expect(bench.get_by_role("alert")).to_contain_text("the columns of W_query are nearly parallel")
    assert state(bench)["x"] == before


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_learning_lowers_the_loss_and_one_undo_takes_the_run_back(visit, http_root, motion):
    bench = open_bench(visit, http_root + "playground.html", motion=motion)
    bench.get_by_role("button", name="Target:").click()
    before = state(bench)
    first = float(cell(bench, "loss").get_attribute("data-value"))
    bench.get_by_role("button", name="A hundred steps").click()
    expect(bench.get_by_role("img", name="Loss over 100 steps")).to_be_visible()
    assert float(cell(bench, "loss").get_attribute("data-value")) < first
    after = state(bench)
    steps = "s => lab.bench.step(s, 100).state.heads"
    assert after["heads"] == bench.evaluate(steps, before)
    assert after["heads"][0]["W_value"] == before["heads"][0]["W_value"]
    expect(bench.get_by_text("the gradient of W_value is 0")).to_be_visible()
    assert set(shown(bench, *(f"dW_value.{r}.{c}" for r in range(3) for c in range(2)))) == {
        "0.000"
    }
    bench.get_by_role("button", name="Undo").click()
    assert state(bench)["heads"] == before["heads"]


def test_a_target_for_the_context_vector_trains_the_values(bench):
    bench.locator('[data-part="plane-values"]').click(position={"x": 60, "y": 40})
    ((_, word, a, _),) = state(bench)["contexts"]
    assert word == 1
    expect(bench.locator('[data-part="goal-0"]')).to_have_value(str(a).replace("-", "−"))
    drag(bench, "goal", 30, 10)
    assert state(bench)["contexts"][0][2] > a
    bench.locator('[data-part="goal-1"]').fill("-0.5")
    bench.locator('[data-part="goal-0"]').fill("0.25")
    assert state(bench)["contexts"] == [[0, 1, 0.25, -0.5]]
    before = state(bench)["heads"][0]["W_value"]
    bench.get_by_role("button", name="One step").click()
    assert state(bench)["heads"][0]["W_value"] != before
    expect(bench.get_by_role("img", name="Loss over 1 step:")).to_be_visible()
    bench.get_by_role("button", name="Clear all targets").click()
    assert state(bench)["contexts"] == []


def test_a_rate_that_is_too_large_stops_and_says_so(bench):
    for part, number in (("goal-0", "40"), ("goal-1", "-40"), ("rate", "1.5")):
        bench.locator(f'[data-part="{part}"]').fill(number)
    bench.get_by_role("button", name="A hundred steps").click()
    alert = bench.get_by_role("alert")
    expect(alert).to_contain_text("Try a smaller learning rate, such as 0.15.")
    # The number of all steps of the run, whatever the number of steps per frame
    taken = bench.evaluate("lab.workbench.bench.view().curve.length") - 1
    assert taken > 5
    expect(alert).to_contain_text(f"Learning stopped after {taken} step")
    bench.get_by_role("button", name="One step").click()
    expect(alert).to_contain_text("No step was taken, because the next step would take a number")
    expect(bench.get_by_role("button", name="A hundred more")).to_be_visible()


def test_a_run_can_be_stopped(bench):
    bench.evaluate("lab.workbench.bench.set({ targets: [[0, 0, 1]] })")
    # From the page itself: a click from outside may come when all steps are taken.
    left = bench.evaluate(
        """async () => { const many = document.querySelector('[data-part="many-steps"]');
        const frame = () => new Promise(requestAnimationFrame);
        many.click(); await frame(); await frame(); many.click();
        const { length } = lab.workbench.bench.view().curve; await frame(); await frame();
        return [length, lab.workbench.bench.view().curve.length, many.textContent]; }"""
    )
    assert 1 < left[0] == left[1] < 101
    assert left[2] == "A hundred more"


def test_the_query_of_another_row_moves_to_its_place_unless_one_wants_no_motion(visit, http_root):
    tip = 'document.querySelector("[data-handle=query] .head").getAttribute("points")'
    seen = {}
    for motion in ("no-preference", "reduce"):
        page = visit("about:blank", motion=motion).page
        page.clock.install(time=0)
        page.goto(http_root + "playground.html#bench=lesson")
        page.locator("#workbench").wait_for()
        page.clock.pause_at(3_600_000)
        page.locator("#workbench [data-part=map] th").last.evaluate("row => row.click()")
        seen[motion] = [page.evaluate(tip)]
        for _ in range(4):
            page.clock.run_for(100)
            seen[motion].append(page.evaluate(tip))
    moving, calm = seen.values()
    assert len(set(moving)) >= 4
    assert set(calm) == {moving[-1]}


def test_the_scale_of_a_drag_stays_until_something_else_changes(visit, http_root):
    page = open_bench(visit, http_root + "playground.html", motion="reduce")
    places = "all => all.map(({ cx, cy }) => [cx, cy].map((one) => one.baseVal.value.toFixed(1)))"
    grips = page.locator('[data-part="plane-scores"] .grip')
    before = grips.evaluate_all(places)
    drag(page, "key.4", 60, -40)
    after = grips.evaluate_all(places)
    assert [a == b for a, b in zip(before, after, strict=True)] == [j != 4 for j in range(7)]
    ready = "new Promise((seen) => requestAnimationFrame(() => setTimeout(seen, 50)))"
    density = "lab.workbench.bench.density()"
    found = []
    for act in (
        lambda: page.evaluate("lab.workbench.bench.showAs('change')"),
        lambda: field(page, "x.2.0").fill("3"),
        lambda: page.set_viewport_size({"width": 1100, "height": 700}),
        lambda: page.get_by_label("Your sentence").fill("what a film"),
    ):
        drag(page, "key.2", 30, 20)
        act()
        page.evaluate(ready)
        drawn = grips.evaluate_all(places)
        found.append((page.viewport_size, page.evaluate(density), state(page), drawn))
    # Where nobody dragged
    fresh = open_bench(visit, http_root + "playground.html", motion="reduce")
    for size, shown_as, given, drawn in found:
        fresh.set_viewport_size(size)
        fresh.evaluate("name => lab.workbench.bench.showAs(name)", shown_as)
        fresh.evaluate("given => lab.workbench.bench.set(given)", given)
        fresh.evaluate(ready)
        assert fresh.locator('[data-part="plane-scores"] .grip').evaluate_all(places) == drawn

"""The lab on any screen, in any theme, without a mouse, without motion, without scripts."""

from accessibility import unsound
from built_site import SIZES
from playwright.sync_api import expect


def test_everything_unfolded_is_accessible_and_fits(lab):
    lab.get_by_test_id("review-input").fill("a hobbledehoy in a wonderful film: 映画")
    lab.get_by_test_id("distractor").check()
    lab.get_by_test_id("token").last.click()
    lab.get_by_test_id("asker").select_option("1")
    lab.locator("#review-lab canvas").wait_for()
    lab.get_by_test_id("effects").locator("tr").wait_for()
    assert unsound(lab, "narrow", "phone", "desktop", "wide", within=".lab") == []


def test_the_home_page_after_typing_is_accessible(visit, http_root):
    page = visit(http_root + "index.html", size="narrow").page
    page.get_by_test_id("review-input").fill("a hobbledehoy in a wonderful film")
    page.get_by_test_id("token").last.wait_for()
    assert unsound(page, "narrow", within=".lab") == []
    page.get_by_test_id("review-input").fill("10/10")
    page.get_by_test_id("notice").wait_for()
    assert unsound(page, "narrow", within=".lab") == []


def test_mistakes_and_texts_that_cannot_be_read_are_accessible(lab):
    names = lab.get_by_test_id("sample").locator("option:not([value=''])").all_inner_texts()
    for name in names:
        lab.get_by_test_id("sample").select_option(name)
        lab.get_by_test_id("token").last.wait_for()
        if lab.locator("[data-testid=mistake]:visible").count() > 0:
            break
    assert unsound(lab, "phone", within=".lab") == []
    lab.get_by_test_id("review-input").fill("10/10")
    lab.get_by_text("there is no probability").first.wait_for()
    assert unsound(lab, "phone", within=".lab") == []


def test_the_tab_key_reaches_every_control(lab):
    lab.get_by_test_id("token").first.click()
    lab.get_by_test_id("effects").locator("tr").wait_for()
    wanted = lab.evaluate(
        """() => { const all = document.querySelectorAll(
          "#review-lab :is(button, select, textarea, input:not([type=radio]), [tabindex='0'])");
        return [...all].filter((part) => part.checkVisibility() && part.tabIndex === 0).length; }"""
    )
    lab.get_by_test_id("sample").focus()
    seen = 1
    for _ in range(50):
        lab.keyboard.press("Tab")
        seen += lab.evaluate(
            """document.activeElement.matches("#review-lab *")
               && document.activeElement.type !== "radio" """
        )
        if lab.evaluate("document.activeElement.dataset.testid") == "reset":
            break
    # Each box of words is one stop.
    assert wanted == 10
    assert seen == wanted


def test_verdicts_are_side_by_side_where_there_is_room(lab):
    for size, columns in (("desktop", 3), ("phone", 1)):
        lab.set_viewport_size(SIZES[size])
        boxes = [one.bounding_box() for one in lab.locator(".lab-model").all()]
        across, down = ({round(box[name]) for box in boxes} for name in ("x", "y"))
        assert (len(across), len(down)) == (columns, 4 - columns)


def test_nothing_moves_for_who_wants_no_motion(visit, http_root):
    page = visit(http_root + "your_review.html", motion="reduce").page
    page.get_by_test_id("review-input").fill("a wonderful film")
    page.get_by_test_id("token").last.click()
    assert page.evaluate("document.getAnimations().length") == 0
    moving = """[...document.querySelectorAll(".lab, .lab *")].filter((part) => {
      const style = getComputedStyle(part);
      return style.animationName !== "none" || parseFloat(style.transitionDuration) > 0;
    }).length"""
    assert page.evaluate(moving) == 0


def test_without_scripts_the_worked_example_is_a_table_and_a_picture(visit, root):
    seen = visit(root + "playground.html", java_script_enabled=False)
    page = seen.page
    row = page.get_by_role("row", name="journey")
    for digits in ("0.4433", "1.1419", "1.8524", "0.2264", "0.3951", "1.0037"):
        expect(row).to_contain_text(digits)
    expect(page.get_by_text("(0.3061, 0.8210)")).to_be_visible()
    expect(page.get_by_role("img", name="Heatmap of the 6 by 6")).to_be_visible()
    expect(page.locator(".lab")).to_be_hidden()
    assert seen.complaints == []


def test_with_scripts_the_workbench_takes_the_place_of_the_table(bench):
    expect(bench.get_by_text("turn JavaScript on")).to_be_hidden()
    expect(bench.get_by_role("img", name="Heatmap of the 6 by 6")).to_be_hidden()
    expect(bench.locator("#workbench")).to_be_visible()


def test_the_map_follows_the_theme(lab):
    lab.locator("#review-lab canvas").wait_for()
    corner = """() => { const c = document.querySelector("canvas");
      return [...c.getContext("2d").getImageData(c.width - 3, c.height - 3, 1, 1).data].join(); }"""
    light = lab.evaluate(corner)
    lab.emulate_media(color_scheme="dark")
    lab.wait_for_function(f"({corner})() !== '{light}'")
    # The page's own switch, too: from "auto", which is dark by now, to light
    lab.evaluate("document.body.dataset.theme = 'light'")
    lab.wait_for_function(f"({corner})() === '{light}'")

"""What a reader takes away from the workbench: a link, a program, pictures."""

import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import expect
from trained_models import attention_between
from workbench import SIX, cell, field, open_bench, shown, state

DC = "{http://purl.org/dc/elements/1.1/}"


@pytest.fixture
def bench(visit, http_root):
    return open_bench(
        visit, http_root + "playground.html", permissions=["clipboard-read", "clipboard-write"]
    )


def change_much(page):
    """Change something of every kind."""
    page.get_by_label("Your sentence").fill("nothing ventured, nothing gained – 10/10")
    page.get_by_label("second head").check()
    page.get_by_label("causal mask").check()
    page.locator("#workbench").get_by_label("temperature").fill("0.3")
    field(page, "W_key.0.1").fill("-1.234567891")
    page.get_by_role("radio", name="a mask").check()
    cell(page, "map.3.1").click()
    page.get_by_role("radio", name="a target").check()
    cell(page, "map.3.2").click()
    page.locator('[data-part="plane-values"]').click(position={"x": 60, "y": 60})


def test_the_address_follows_when_the_reader_pauses_and_holds_everything(visit, http_root, bench):
    assert "#bench=1." not in bench.url
    change_much(bench)
    found = state(bench)
    # A slow machine may have paused in between.
    held = "lab.benchState.decode(location.hash.slice('#bench='.length))"
    is_link = "location.hash.startsWith('#bench=1.')"
    bench.wait_for_function(f"{is_link} && {held}.contexts.length === {len(found['contexts'])}")
    other = open_bench(visit, bench.url)
    assert state(other) == found
    assert other.get_by_label("Your sentence").input_value() == " ".join(found["words"])
    bench.get_by_text("Take it away").click()
    bench.get_by_role("button", name="Copy link").click()
    expect(bench.get_by_text("The link is copied")).to_be_visible()
    assert bench.evaluate("navigator.clipboard.readText()") == other.url


def test_the_address_follows_what_is_undone(bench):
    field(bench, "x.0.0").fill("2")
    bench.wait_for_url("**#bench=1.*")
    changed = bench.url
    bench.get_by_role("button", name="Undo").click()
    bench.wait_for_url(lambda url: url != changed)
    found = bench.evaluate("lab.benchState.decode(location.hash.slice('#bench='.length))")
    assert found["x"][0] == [0.43, 0.15, 0.89]


@pytest.mark.parametrize("fragment", ["2.abc", "1.%3Cscript%3E", "1." + "A" * 9000, ""])
def test_a_hostile_or_outdated_link_says_so_and_shows_the_start(visit, http_root, fragment):
    seen = visit(http_root + f"playground.html#bench={fragment}")
    page = seen.page
    page.locator("#workbench").wait_for()
    said = page.locator("#workbench").get_by_role("alert")
    expect(said).to_contain_text("can't be read")
    expect(said).to_contain_text("a trained model")
    weight = attention_between("the cheap pizza was rather tasty")[2, 5]
    assert shown(page, "map.2.5") == [f"{weight:.2f}"]
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    assert seen.complaints == []


def test_a_link_pasted_into_the_open_page_is_read(bench):
    before = state(bench)
    text = bench.evaluate("lab.benchState.encode({ ...lab.workbench.bench.state(), at: 4 })")
    bench.evaluate("text => { location.hash = `bench=${text}`; }", text)
    expect(bench.locator("#workbench tr.asks th")).to_have_text("one")
    bench.get_by_role("button", name="Undo").click()
    assert state(bench) == before


def test_a_program_of_the_state_is_copied(bench):
    """What it computes is compared with the page in test_bench_against_torch.py."""
    change_much(bench)
    bench.get_by_text("Take it away").click()
    bench.get_by_role("button", name="Copy as Python").click()
    expect(bench.get_by_text("The program is copied")).to_be_visible()
    program = bench.evaluate("lab.benchPython.toPython(lab.workbench.bench.state())")
    assert bench.evaluate("navigator.clipboard.readText()") == program


def test_without_the_clipboard_the_text_is_there_to_be_copied(visit, http_root):
    page = open_bench(visit, http_root + "playground.html")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    page.get_by_text("Take it away").click()
    page.get_by_role("button", name="Copy as Python").click()
    text = page.get_by_label("Text to copy")
    expect(text).to_be_focused()
    assert text.input_value().startswith("import torch")


def test_both_pictures_are_saved_in_the_colours_of_their_theme(bench):
    pictures = {}
    bench.get_by_text("Take it away").click()
    for theme in ("light", "dark"):
        with bench.expect_download() as download:
            bench.get_by_role("button", name=f"Save as SVG, {theme}").click()
        assert download.value.suggested_filename == f"attention-{theme}.svg"
        pictures[theme] = download.value.path().read_text(encoding="utf-8")
    assert bench.evaluate("document.body.dataset.theme") == "auto"
    svg = "{http://www.w3.org/2000/svg}"
    grounds = {}
    for theme, text in pictures.items():
        root = ET.fromstring(text)
        grounds[theme] = root.find(f"{svg}rect").get("fill")
        assert "Your journey starts with one step" in root.find(f"{svg}title").text
        assert root.find(f"{svg}desc").text
        assert "MIT License" in "".join(root.find(f".//{DC}rights").itertext())
        radii = [float(one.get("r")) for one in root.iter(f"{svg}circle")]
        assert max(radii) == 5  # the context vector's; no disc to drag by
        texts = [one.text for one in root.iter(f"{svg}text")]
        assert {"query", "context", *shown(bench, *(f"map.1.{j}" for j in SIX))} <= set(texts)
        assert texts.count("journey") == 4  # a row, a column, a key, a value
        assert "class=" not in text
        assert "var(" not in text
    assert grounds["light"] != grounds["dark"]


def test_the_menu_covers_nothing_that_the_reader_goes_on_to(bench):
    last = bench.get_by_role("button", name="Save as SVG, dark")
    for leave in ("Escape", "Tab", "click"):
        bench.get_by_text("Take it away").click()
        last.focus()
        if leave == "click":
            bench.get_by_label("Your sentence").click()
        else:
            bench.keyboard.press(leave)
        expect(last).to_be_hidden()

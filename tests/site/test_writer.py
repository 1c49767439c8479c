"""The model that writes, as its readers use it; the package computes what the page must show."""

import json
import re
from itertools import islice
from pathlib import Path

import pytest
import torch
from accessibility import unsound
from playwright.sync_api import expect

from attention.language import continuation, encode, load_language_model

FOLDER = Path(__file__).parents[2] / "docs" / "experiments" / "language"
MODEL, TOKENIZER = load_language_model(FOLDER / "model")
# True when the model is loaded and writes nothing
READY = "document.querySelector('#writer-lab').ariaBusy === 'false'"


def hook(page, name):
    return page.get_by_test_id(name)


def come_near(page):
    hook(page, "writer-text").scroll_into_view_if_needed()
    hook(page, "writer-token").first.wait_for()
    return page


@pytest.fixture
def writer(visit, http_root):
    """The section, its model loaded."""
    return come_near(visit(http_root + "writer.html").page)


def set_temperature(page, value):
    hook(page, "temperature").fill(str(value))


def text(page):
    return hook(page, "writer-text").input_value()


def write_many(page):
    hook(page, "write-many").click()
    page.wait_for_function(READY)
    return text(page)


def test_its_model_is_fetched_once_and_not_by_the_pages_beside_it(visit, http_root):
    for name, count in {"playground": 0, "your_review": 0, "writer": 1}.items():
        seen = visit(f"{http_root}{name}.html", until="networkidle")
        assert sum("lab-writer" in url for url in seen.requests) == count
    size = sum(each.numel() for each in MODEL.parameters())
    article = seen.page.locator("article")
    expect(article).to_contain_text(f"This model has {size:,} parameters")
    results = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))
    expect(article).to_contain_text(f"{results['words']['train'] / 1e6:.1f} million words")


def probabilities(written, temperature):
    with torch.no_grad():
        logits = MODEL(torch.tensor(encode(TOKENIZER, written)))[-1]
    return torch.softmax(logits / temperature, dim=-1)


def shown(page):
    """Read the list of the next tokens: ids and probabilities."""
    script = "parts => parts.map((part) => [Number(part.dataset.id), Number(part.dataset.value)])"
    return zip(*hook(page, "candidate").evaluate_all(script), strict=True)


def test_the_list_has_the_ten_most_probable_tokens(writer):
    hook(writer, "writer-text").fill("I saw this")
    for temperature in (0.5, 2):
        set_temperature(writer, temperature)
        ids, values = shown(writer)
        top = probabilities("I saw this", temperature).topk(10)
        assert list(ids) == top.indices.tolist()
        assert list(values) == pytest.approx(top.values.tolist(), abs=1e-4)
        first = hook(writer, "candidate").first
        expect(first).to_contain_text(f"{100 * top.values[0].item():.1f} %")
    set_temperature(writer, 0)  # one token has everything
    assert list(shown(writer))[1] == (1, *[0] * 9)
    expect(hook(writer, "candidate").first).to_contain_text("100.0 %")


def test_a_token_of_the_list_is_appended(writer):
    before = text(writer)
    ids, _ = shown(writer)
    hook(writer, "candidate").nth(2).click()
    expect(hook(writer, "writer-text")).to_have_value(before + TOKENIZER.decode([ids[2]]))
    expect(hook(writer, "writer-token").last).to_have_class(re.compile(r"\bwritten\b"))


def test_at_temperature_0_it_writes_what_the_package_writes(writer):
    hook(writer, "writer-text").fill("The best film")
    set_temperature(writer, 0)
    ids = encode(TOKENIZER, "The best film")
    drawn = continuation(MODEL, ids, temperature=0)
    wanted = [*ids[1:], *islice(drawn, 20)]
    assert write_many(writer) == TOKENIZER.decode(wanted)
    # Whole texts are compared in tests/javascript/bpe.test.js, with a small vocabulary.
    ask = "lab.models.load('writer').then(({ vocabulary }) => vocabulary.tokens)"
    vocabulary = TOKENIZER.get_vocab()
    assert writer.evaluate(ask) == sorted(vocabulary, key=vocabulary.__getitem__)
    # <start> is the first, and has a place of its own
    expect(hook(writer, "writer-token")).to_have_count(len(wanted) + 1)
    expect(hook(writer, "writer-token").first).to_contain_text("<start>")


def test_a_seed_gives_the_same_text_again_and_another_seed_another(writer):
    begun = text(writer)
    first = write_many(writer)
    hook(writer, "write-again").click()
    assert text(writer) == begun
    assert write_many(writer) == first
    hook(writer, "write-again").click()
    hook(writer, "seed").fill("5")
    assert write_many(writer) != first


def test_writing_can_be_stopped(visit, http_root):
    page = visit("about:blank").page
    page.clock.install()
    page.goto(http_root + "writer.html", wait_until="load")
    come_near(page)
    set_temperature(page, 0)
    page.clock.pause_at(page.evaluate("Date.now()") + 60_000)
    before = hook(page, "writer-token").count()
    hook(page, "write-many").click()
    expect(hook(page, "writer-token")).to_have_count(before + 1)
    page.clock.run_for(300)
    written = hook(page, "writer-token").count()
    assert before + 1 < written < before + 20
    expect(hook(page, "write-many")).to_have_text("Stop")
    hook(page, "write-many").click()
    page.clock.run_for(10_000)
    expect(hook(page, "writer-token")).to_have_count(written)
    expect(hook(page, "write-many")).to_have_text("Write 20")


def test_a_full_text_is_said_to_be_full(writer):
    hook(writer, "writer-text").fill("good film " * 80)
    expect(hook(writer, "writer-notice")).to_contain_text("The model reads 128 tokens")
    expect(hook(writer, "writer-token")).to_have_count(128)
    before = text(writer)
    for name in ("write-one", "write-many"):
        expect(hook(writer, name)).to_have_attribute("aria-disabled", "true")
        hook(writer, name).click(force=True)
    hook(writer, "candidate").first.click(force=True)
    assert text(writer) == before
    hook(writer, "writer-text").fill("good film")
    expect(hook(writer, "writer-notice")).to_be_hidden()
    expect(hook(writer, "write-one")).to_have_attribute("aria-disabled", "false")


def test_the_end_of_a_text_is_said(writer):
    whole = "A bad film. The script is good."
    hook(writer, "writer-text").fill(whole)
    seed = writer.evaluate(
        """async (text) => {
      const model = await lab.models.load("writer");
      const { chance, draw, logitsAt, newReading, probabilities, read } = lab.writer;
      const ids = [0, ...lab.bpe.encode(model.vocabulary, text)];
      const reading = newReading(model);
      read(model, reading, ids);
      const shares = probabilities(logitsAt(model, reading, ids.length - 1), 2);
      for (let seed = 0; ; seed += 1) if (draw(shares, chance(seed, ids.length)) === 0) return seed;
    }""",
        whole,
    )
    set_temperature(writer, 2)
    hook(writer, "seed").fill(str(seed))
    hook(writer, "write-many").click()
    expect(hook(writer, "writer-notice")).to_contain_text("The model drew <start>")
    expect(hook(writer, "write-many")).to_have_text("Write 20")
    assert text(writer) == whole
    hook(writer, "candidate").first.click()
    expect(hook(writer, "writer-notice")).to_be_hidden()


def test_a_head_is_enlarged_and_a_token_selected_from_the_keyboard(writer):
    hook(writer, "writer-text").fill("The film is dull")
    ids = torch.tensor(encode(TOKENIZER, "The film is dull"))
    with torch.no_grad():
        _, weights = MODEL(ids, need_weights=True)  # (L, h, n, n)
    hook(writer, "head").first.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        writer.keyboard.press(key)
    expect(writer.get_by_role("button", name="layer 2, head 3")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert writer.locator("#writer-lab [data-testid=head][aria-pressed=true]").count() == 1
    hook(writer, "writer-token").last.focus()
    for key in ("ArrowLeft", "ArrowLeft", "Enter"):
        writer.keyboard.press(key)
    at = len(ids) - 3
    ask = "all => all.map((one) => one.dataset.weight)"
    seen = hook(writer, "writer-token").evaluate_all(ask)
    assert seen[at + 1 :] == ["", ""]
    wanted = weights[1, 2, at, : at + 1].tolist()
    assert list(map(float, seen[: at + 1])) == pytest.approx(wanted, abs=1e-4)
    expect(hook(writer, "writer-map")).to_have_attribute(
        "aria-label", re.compile(r"^Layer 2, head 3: \d+ by \d+ weights\.")
    )


def test_a_point_of_the_map_is_read_and_its_row_chosen(writer):
    hook(writer, "writer-text").fill("The film")
    box = hook(writer, "writer-map").bounding_box()
    place = {"x": box["width"] - 5, "y": box["height"] - 5}
    hook(writer, "writer-map").hover(position=place)
    readout = writer.locator('#writer-lab [data-part="readout"]')
    expect(readout).to_contain_text("“␣film” attends to “␣film” with")
    hook(writer, "writer-map").click(position={"x": 90, "y": 90})
    expect(hook(writer, "writer-token").first).to_have_attribute("aria-pressed", "true")


def test_what_is_typed_is_only_ever_text(writer):
    hook(writer, "writer-text").fill('<img src=x onerror="window.hacked = 1"><script></script>')
    expect(hook(writer, "writer-token")).not_to_have_count(3)
    assert writer.locator("#writer-lab :is(img, script, iframe)").count() == 0
    assert writer.evaluate("window.hacked") is None


def test_a_screen_reader_hears_what_was_written_once(writer):
    writer.evaluate("""
      window.heard = [];
      const region = document.querySelector("#writer-lab [role=status]");
      new MutationObserver(() => heard.push(region.textContent))
        .observe(region, { childList: true });
    """)
    written = write_many(writer)
    writer.wait_for_function("window.heard.length > 0")
    (heard,) = writer.evaluate("window.heard")
    assert heard.startswith(f"The model wrote: {written.removeprefix('The film')}")
    assert "Most probable next" in heard


def test_a_model_that_does_not_load_is_said_and_tried_again(visit, http_root):
    page = visit("about:blank").page
    page.route("**/lab-writer.js", lambda route: route.abort())
    page.goto(http_root + "writer.html")
    hook(page, "writer-text").scroll_into_view_if_needed()
    expect(hook(page, "writer-notice")).to_contain_text("did not load")
    page.unroute("**/lab-writer.js")
    hook(page, "write-one").click()
    expect(hook(page, "writer-token")).to_have_count(len(encode(TOKENIZER, "The film")) + 1)
    expect(hook(page, "writer-notice")).to_be_hidden()


def test_it_is_accessible_and_fits(writer):
    set_temperature(writer, 0)
    write_many(writer)
    hook(writer, "head").nth(5).click()
    hook(writer, "writer-token").nth(3).click()
    assert unsound(writer, "narrow", "phone", "desktop", within=".lab") == []


def test_the_maps_follow_the_theme(writer):
    corner = """() => [...document.querySelector("[data-testid=head] canvas").getContext("2d")
      .getImageData(0, 0, 1, 1).data].join()"""
    light = writer.evaluate(corner)
    writer.emulate_media(color_scheme="dark")
    writer.wait_for_function(f"({corner})() !== '{light}'")


def test_reset_takes_all_of_it_back(writer):
    slider = writer.locator("#writer-lab").get_by_role("slider", name="Temperature")
    expect(writer.locator("#writer-lab").get_by_label("Temperature")).to_have_count(1)
    set_temperature(writer, 1.5)
    hook(writer, "writer-text").fill("Another text")
    hook(writer, "reset").click()
    expect(hook(writer, "writer-text")).to_have_value("The film")
    expect(slider).to_have_value("0.8")  # which has the name, not the number beside it
    expect(hook(writer, "seed")).to_have_value("1")

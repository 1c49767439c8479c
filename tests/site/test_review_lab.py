"""The review lab and its one line on the home page: what a reader does, and what answers."""

import re

import pytest
import torch
from playwright.sync_api import expect
from trained_models import KINDS, answer, ids_of, model, reviews

HOSTILE = """<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script> <svg
onload=window.hacked=1> "><iframe src="javascript:window.hacked=1"> good &lt;b&gt; film"""
RECOMMENDED = next(kind for kind in KINDS if model(kind).config.recommended)
TEXT = "A wonderful film, and the ending is perfect."
UNREADABLE = ["素晴らしい映画でした。", "Отличный фильм!", "👍🏽👍🏽 ❤️", "10/10", "…!"]
# Types texts one after the other, each until its words are drawn, and counts what the last one
# changes of the page
CHANGES = """async (texts) => {
  const box = document.querySelector("[data-testid=review-input]");
  const counts = { elements: 0, attributes: 0 };
  const count = (record) => {
    const added = [...record.addedNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE);
    for (const one of added) counts.elements += 1 + one.querySelectorAll("*").length;
    if (record.type === "attributes") counts.attributes += 1;
  };
  const observer = new MutationObserver((records) => records.forEach(count));
  for (const text of texts) {
    if (text === texts.at(-1)) {
      const kinds = { subtree: true, childList: true, attributes: true };
      observer.observe(document.documentElement, kinds);
    }
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    // One frame draws the words of one model.
    for (let i = 0; i < 6; i += 1) await new Promise(requestAnimationFrame);
  }
  return counts;
}"""


def hook(page, name):
    return page.get_by_test_id(name)


def column(page, kind=RECOMMENDED):
    """Find one model's part of the page."""
    return page.locator(f".lab-model[data-kind={kind}]")


def tokens(page, kind=RECOMMENDED):
    return column(page, kind).get_by_test_id("token")


def numbers(page, name="weight", kind=RECOMMENDED):
    script = "(parts, name) => parts.map((part) => Number(part.dataset[name]))"
    return tokens(page, kind).evaluate_all(script, name)


def probability(page, kind=RECOMMENDED):
    value = hook(column(page, kind), "probability").get_attribute("data-value")
    return float(value) if value else None


def write(page, text):
    """Put a text into the box, and wait until all that follows from it is drawn."""
    hook(page, "review-input").fill(text)
    settle(page)


def settle(page):
    expect(page.locator("#review-lab")).to_have_attribute("aria-busy", "false")


def sigmoid(logit):
    return torch.tensor(logit, dtype=torch.float64).sigmoid().item()


def test_three_models_read_what_is_typed_the_recommended_one_first(lab):
    kinds = lab.locator(".lab-model").evaluate_all("parts => parts.map((one) => one.dataset.kind)")
    assert sorted(kinds) == sorted(KINDS)
    assert kinds[0] == RECOMMENDED
    expect(lab.locator("[data-part=recommended]:visible")).to_have_count(1)
    write(lab, TEXT)
    for kind in KINDS:
        words = tokens(lab, kind).locator(".lab-word").all_inner_texts()
        assert words == ["a", "wonderful", "film", "and", "the", "ending", "is", "perfect"]
        expected = answer(kind, TEXT)
        label = "positive" if expected.logit > 0 else "negative"
        expect(hook(column(lab, kind), "label")).to_have_text(label)
        assert probability(lab, kind) == pytest.approx(sigmoid(expected.logit), abs=1e-5)
        said = float(hook(column(lab, kind), "probability").inner_text())
        assert said == pytest.approx(sigmoid(expected.logit), abs=5.1e-4)
        for name in ("weight", "contribution"):
            wanted = getattr(expected, f"{name}s").tolist()
            assert numbers(lab, name, kind) == pytest.approx(wanted, abs=1e-5)
    for kind in KINDS:  # one alone
        hook(lab, "model-select").select_option(kind)
        expect(lab.locator(".lab-model:visible")).to_have_count(1)
        expect(column(lab, kind)).to_be_visible()


def test_the_share_beside_a_verdict_is_that_of_the_verdict(lab):
    for text in ("Wonderful, excellent, great, a perfect film.", "It is not a good film."):
        write(lab, text)
        for kind in KINDS:
            share = column(lab, kind).locator("[data-part=percent]").inner_text()
            number = float(share.strip("()<> %"))
            of_positive = 100 * probability(lab, kind)
            assert number == pytest.approx(max(of_positive, 100 - of_positive), abs=0.6)


def test_a_sign_is_written_coloured_and_drawn(lab):
    write(lab, "A wonderful film with an awful ending and a boring hero.")
    for kind in KINDS:
        some = numbers(lab, "contribution", kind)
        assert min(some) < 0 < max(some)
        shown = tokens(lab, kind).locator(".lab-number").all_inner_texts()
        look = """parts => parts.map((part) => [getComputedStyle(part).backgroundColor,
          getComputedStyle(part, "::after").borderBottomStyle])"""
        looks = tokens(lab, kind).evaluate_all(look)
        for number, text, (colour, line) in zip(some, shown, looks, strict=True):
            assert float(text.replace("−", "-")) == pytest.approx(number, abs=0.006)
            if abs(number) < max(map(abs, some)) / 2:
                continue
            assert text[0] == ("+" if number > 0 else "−")
            _, green, blue = map(float, re.findall(r"[\d.]+", colour)[:3])
            assert (green > blue) == (number > 0)  # ochre, or pink
            assert line == ("solid" if number > 0 else "dashed")


def test_weights_are_still_to_be_had_and_only_words_of_qkv_have_rows_of_them(lab):
    write(lab, TEXT)
    lab.locator("#review-lab").get_by_role("radio", name="weight").check()
    settle(lab)
    expected = answer(RECOMMENDED, TEXT).weights
    shown = [float(text) for text in tokens(lab).locator(".lab-number").all_inner_texts()]
    assert shown == pytest.approx(expected.tolist(), abs=6e-4)
    expect(lab.get_by_text("A weight has no sign.")).to_be_visible()
    lab.locator("#review-lab").get_by_role("radio", name="contribution").check()
    map_, canvas = answer("qkv", TEXT).map, lab.locator("#review-lab canvas")
    expect(canvas).to_be_visible()
    assert canvas.get_attribute("aria-label").startswith("8 by 8 weights.")
    hook(lab, "asker").select_option("1")  # there is one
    settle(lab)
    assert numbers(lab, "weight", "qkv") == pytest.approx(map_[1].tolist(), abs=1e-5)
    # Whoever asks for weights sees them.
    shown = tokens(lab, "qkv").locator(".lab-number").first.inner_text()
    assert float(shown) == pytest.approx(map_[1, 0].item(), abs=6e-4)
    hook(lab, "model-select").select_option("mean")
    expect(canvas).to_be_hidden()


def test_whose_weights_are_shown_stays_the_same_word(lab):
    write(lab, "a wonderful film")
    asker = hook(lab, "asker")
    asker.select_option("1")
    write(lab, "what a truly wonderful film")
    assert asker.locator("option:checked").inner_text() == "those of “wonderful” (4)"
    expected = answer("qkv", "what a truly wonderful film").map[3]
    assert numbers(lab, "weight", "qkv") == pytest.approx(expected.tolist(), abs=1e-5)
    write(lab, "a dull film")
    assert asker.input_value() == ""


def test_the_map_is_painted_as_strong_as_the_weights(lab):
    write(lab, " ".join(reviews(3)))  # 256 words: no labels beside the map
    map_ = answer("qkv", " ".join(reviews(3))).map
    n = len(map_)
    assert n == 256
    paint = """(canvas, n) => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const at = (i) => Math.floor((i + 0.5) * canvas.width / n);
      return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) =>
        pixels.data[4 * (at(i) * canvas.width + at(j))]));
    }"""
    painted = torch.tensor(
        lab.locator("#review-lab canvas").evaluate(f"canvas => ({paint})(canvas, {n})")
    )
    style = lab.evaluate("getComputedStyle(document.body).getPropertyValue('--weight')")
    high = int(style.removeprefix("rgb(").split(",")[0])
    expected = 255 + (high - 255) * map_ / map_.max()
    assert (painted - expected).abs().max() <= 1.5


def test_pointing_at_the_map_names_two_words_and_their_weight(lab):
    write(lab, "wonderful film")
    canvas = lab.locator("#review-lab canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 10, "y": box["height"] - 10})
    weight = answer("qkv", "wonderful film").map[1, 1]
    expect(lab.locator('[data-part="map-readout"]')).to_have_text(
        f"“film” attends to “film” with {weight:.3f}.".replace("0.", ".", 1)
    )


def effect(page, row, kind):
    return hook(page, "effects").locator("tr").nth(row).locator(f"td[data-kind={kind}]")


def test_deleting_a_word_shows_its_effect_on_each_model(lab):
    write(lab, TEXT)
    tokens(lab).nth(1).click()
    settle(lab)
    for kind in KINDS:
        whole, without = (answer(kind, text) for text in (TEXT, TEXT.replace("wonderful ", "")))
        assert probability(lab, kind) == pytest.approx(sigmoid(without.logit), abs=1e-5)
        assert tokens(lab, kind).nth(1).get_attribute("aria-pressed") == "true"
        cell = effect(lab, 0, kind)
        weight = float(cell.get_attribute("data-weight"))
        assert weight == pytest.approx(whole.weights[1].item(), abs=1e-5)
        added = float(cell.get_attribute("data-effect"))
        assert added == pytest.approx(whole.logit - without.logit, abs=1e-4)
        shown, shares, _ = cell.locator(":scope > *").all_inner_texts()
        assert float(shown.replace("−", "-")) == pytest.approx(added, rel=0.06)
        assert len(set(shares.split(" → "))) == 2
    expect(hook(lab, "effects").locator("tr")).to_have_count(1)
    expect(hook(lab, "effects")).to_contain_text("wonderful")
    # Alone, also when another word is gone by now
    tokens(lab).nth(7).click()
    settle(lab)
    expect(hook(lab, "effects").locator("tr")).to_have_count(2)
    again = float(effect(lab, 0, KINDS[-1]).get_attribute("data-effect"))
    assert again == pytest.approx(added, abs=1e-9)
    both = answer(RECOMMENDED, "A film, and the ending is")
    assert probability(lab) == pytest.approx(sigmoid(both.logit), abs=1e-5)
    tokens(lab).nth(1).click()
    tokens(lab).nth(7).click()
    settle(lab)
    assert probability(lab) == pytest.approx(sigmoid(answer(RECOMMENDED, TEXT).logit), abs=1e-5)
    expect(lab.locator('[data-part="effects-field"]')).to_be_hidden()


def test_deleted_words_stay_deleted_while_others_are_typed(lab):
    write(lab, "a wonderful film")
    tokens(lab).nth(1).click()
    deleted = lab.locator(f".lab-model[data-kind={RECOMMENDED}] .lab-token.deleted .lab-word")
    hook(lab, "review-input").press("End")
    hook(lab, "review-input").press_sequentially(" today")
    settle(lab)
    assert deleted.all_inner_texts() == ["wonderful"]
    write(lab, "what a really wonderful film it was")
    assert deleted.all_inner_texts() == ["wonderful"]
    expected = answer(RECOMMENDED, "what a really film it was")
    assert probability(lab) == pytest.approx(sigmoid(expected.logit), abs=1e-5)
    write(lab, "what a wonder")  # the word itself is gone
    assert deleted.all_inner_texts() == []
    expect(lab.locator('[data-part="effects-field"]')).to_be_hidden()


def test_deleting_works_from_the_keyboard_and_keeps_its_place(lab):
    write(lab, "a wonderful film")
    assert column(lab).locator(".lab-token[tabindex='0']").count() == 1
    tokens(lab).first.focus()
    lab.keyboard.press("ArrowRight")
    lab.keyboard.press("Enter")
    settle(lab)
    assert tokens(lab).nth(1).get_attribute("aria-pressed") == "true"
    expect(tokens(lab).nth(1)).to_be_focused()
    lab.keyboard.press("ArrowRight")
    expect(tokens(lab).nth(2)).to_be_focused()
    lab.keyboard.press("Enter")
    settle(lab)
    assert tokens(lab).nth(2).get_attribute("aria-pressed") == "true"


def test_a_distractor_stands_in_front(lab):
    write(lab, "a wonderful film")
    hook(lab, "distractor").check()
    hook(lab, "distractor-input").fill("dull and long")
    settle(lab)
    words = tokens(lab).locator(".lab-word").all_inner_texts()
    assert words == ["dull", "and", "long", "next review", "a", "wonderful", "film"]
    tokens(lab).first.click(force=True)  # only words of the review itself can be deleted
    settle(lab)
    assert lab.locator(".lab-token.deleted").count() == 0


def test_a_long_review_loses_its_beginning_and_says_so(lab):
    text = " ".join(["good"] * 5 + ["film"] * 256)
    write(lab, text)
    assert set(tokens(lab).locator(".lab-word").all_inner_texts()) == {"film"}
    assert tokens(lab).count() == 256
    expect(column(lab).locator('[data-part="note"]')).to_contain_text("the first 5 are left out")


def test_unknown_words_are_marked_in_more_than_colour(lab):
    assert ids_of("hobbledehoy film") == [1, ids_of("film")[0]]
    write(lab, "hobbledehoy film")
    expect(column(lab).get_by_role("button", name="hobbledehoy")).to_contain_text("unknown word")
    line = "part => getComputedStyle(part.querySelector('.lab-word')).textDecorationLine"
    assert tokens(lab).nth(0).evaluate(line) == "underline"
    assert tokens(lab).nth(1).evaluate(line) == "none"
    expect(hook(lab, "notice")).to_contain_text("do not know 1 of the 2 words")


def has_no_verdict(page):
    for kind in KINDS:
        assert not hook(column(page, kind), "probability").get_attribute("data-value")
        expect(column(page, kind).locator("[data-part=needle]")).to_be_hidden()
        expect(hook(column(page, kind), "label")).to_have_text("no answer")
    return "NaN" not in page.locator("#review-lab").inner_text()


def test_what_the_models_cannot_read_gets_a_sentence_and_no_probability(lab):
    for text in UNREADABLE:
        write(lab, text)
        said = "they can't read it, and there is no probability"
        expect(hook(lab, "notice")).to_contain_text(said)
        assert tokens(lab).count() == 0
        assert has_no_verdict(lab)
        write(lab, TEXT)
        expect(hook(lab, "notice")).to_be_hidden()
        assert probability(lab) is not None


def test_reset_brings_the_sample_back_and_forgets_what_was_typed(lab):
    sample = hook(lab, "review-input").input_value()
    hook(lab, "review-input").fill("wonderful")
    hook(lab, "distractor").check()
    hook(lab, "reset").click()
    expect(hook(lab, "review-input")).to_have_value(sample)
    expect(hook(lab, "distractor")).not_to_be_checked()
    lab.reload()
    expect(hook(lab, "review-input")).to_have_value(sample)


def test_no_words_no_probability(lab):
    write(lab, "")
    expect(hook(lab, "notice")).to_have_text("There are no words yet.")
    assert has_no_verdict(lab)
    write(lab, "good")
    tokens(lab).first.click()
    settle(lab)
    expect(hook(lab, "notice")).to_have_text("All words are deleted.")
    assert has_no_verdict(lab)


def test_samples_say_where_a_model_is_wrong(lab):
    names = hook(lab, "sample").locator("option:not([value=''])").all_inner_texts()
    assert len(names) == 6
    wrong = 0
    samples = lab.evaluate("lab.reviewLab.SAMPLES")
    for name in names:
        hook(lab, "sample").select_option(name)
        settle(lab)
        text, label = samples[name]["text"], samples[name]["label"]
        assert hook(lab, "review-input").input_value() == text
        for kind in KINDS:
            judged = "positive" if answer(kind, text).logit > 0 else "negative"
            mark = hook(column(lab, kind), "mistake")
            expect(mark).to_be_visible(visible=judged != label)
            if judged != label:
                expect(mark).to_contain_text(f"wrong here: we wrote this as a {label} review")
                wrong += 1
    assert {one["label"] for one in samples.values()} == {"positive", "negative"}
    assert wrong >= 1
    # A reader's own text has no label.
    write(lab, text + " indeed")
    expect(lab.locator("[data-testid=mistake]:visible")).to_have_count(0)


def changes_of_a_key_press(page, n):
    """Count what one letter more changes of the page with a text of n words."""
    text = " ".join(" ".join(reviews(60)).split()[:n])
    return page.evaluate(CHANGES, [text, f"{text} a", f"{text} aa"])


def test_a_key_press_makes_no_word_again_and_6000_words_leave_the_page_usable(lab):
    before = lab.evaluate("document.documentElement.scrollHeight")
    full = changes_of_a_key_press(lab, 256)
    assert full["elements"] < 50  # 256 words are 1,024 elements in each model's column
    assert full["attributes"] < 5 * 256
    changes = changes_of_a_key_press(lab, 6_000)
    assert all(changes[kind] < 1.1 * full[kind] + 10 for kind in full)
    assert lab.evaluate("document.documentElement.scrollHeight") < before + 1_100
    box = column(lab).locator("[data-part=tokens]")
    assert box.bounding_box()["height"] < 500
    assert box.evaluate("box => box.scrollHeight > box.clientHeight")


@pytest.mark.parametrize("address", ["your_review.html", "index.html"])
def test_what_is_typed_is_only_ever_text(visit, http_root, address):
    seen = visit(http_root + address)
    page = seen.page
    before = page.evaluate("document.querySelectorAll('article script, article img').length")
    hook(page, "review-input").scroll_into_view_if_needed()
    hook(page, "review-input").fill(HOSTILE)
    hook(page, "token").first.wait_for()
    if address == "your_review.html":
        hook(page, "distractor").check()
        hook(page, "distractor-input").fill(HOSTILE)
        settle(page)
        tokens(page).last.click()
        settle(page)
    after = page.evaluate("document.querySelectorAll('article script, article img').length")
    assert after == before
    assert page.locator("article iframe").count() == 0
    assert page.evaluate("window.hacked") is None
    assert "good" in hook(page, "token").locator(".lab-word").all_inner_texts()
    assert seen.complaints == []


def test_one_forward_pass_a_keystroke(lab):
    # What keeps the page quick is that typing computes once, and only what is shown.
    # Each pass looks up every word's vector once.
    lab.evaluate(
        """async (kind) => {
      const model = await lab.models.load(kind);
      const plain = model.embedding;
      window.vectors = 0;
      model.embedding = (id) => {
        window.vectors += 1;
        return plain(id);
      };
    }""",
        RECOMMENDED,
    )
    n = tokens(lab).count()
    hook(lab, "review-input").press_sequentially(" abc")  # a space, then one word more
    settle(lab)
    assert lab.evaluate("window.vectors") == n + 3 * (n + 1)


def test_a_screen_reader_hears_the_result_and_not_each_letter(lab):
    lab.evaluate("""
      window.heard = [];
      for (const region of document.querySelectorAll("#review-lab [role=status]"))
        new MutationObserver(() => heard.push(region.textContent))
          .observe(region, { childList: true });
    """)
    lab.wait_for_timeout(1_500)
    assert lab.evaluate("window.heard") == []  # a page that was only opened says nothing
    hook(lab, "review-input").press_sequentially(" a dull and awful film", delay=20)
    lab.wait_for_function("window.heard.length > 0")
    lab.wait_for_timeout(1_500)
    heard = lab.evaluate("window.heard")
    assert 1 <= len(heard) < 5  # of 22 letters: a busy machine may pause between two of them
    assert all(one.count(" %)") == 3 for one in heard)
    assert lab.locator("[aria-live=assertive]").count() == 0


def test_weights_are_fetched_when_they_are_needed(visit, http_root):
    seen = visit(http_root + "index.html", until="networkidle")
    models = [f"lab-{kind}.js" for kind in (*KINDS, "writer")]
    assert not any(url.endswith(tuple(models)) for url in seen.requests)
    hook(seen.page, "review-input").fill("wonderful")
    hook(seen.page, "token").wait_for()
    fetched = [url.rpartition("/")[2] for url in seen.requests if url.endswith(tuple(models))]
    assert fetched == [f"lab-{RECOMMENDED}.js"]


def test_a_model_that_does_not_load_is_said_and_tried_again(visit, http_root):
    seen = visit("about:blank")
    page = seen.page
    page.route("**/lab-qkv.js", lambda route: route.abort())
    page.goto(http_root + "your_review.html")
    hook(page, "review-input").scroll_into_view_if_needed()
    expect(column(page, "qkv").locator('[data-part="note"]')).to_contain_text("did not load")
    hook(column(page, "mean"), "token").first.wait_for()
    assert probability(page, "mean") is not None
    page.unroute("**/lab-qkv.js")
    hook(page, "review-input").fill("a wonderful film")
    expect(page.locator("#review-lab canvas")).to_be_visible()
    assert tokens(page, "qkv").count() == 3


def test_the_home_page_answers_once_its_reader_comes_near(visit, root):
    seen = visit(root + "index.html")
    expect(hook(seen.page, "probability")).to_be_empty()
    hook(seen.page, "review-input").scroll_into_view_if_needed()
    hook(seen.page, "token").first.wait_for()
    # What it begins with is praise, and the page says that the model is wrong about it.
    assert float(hook(seen.page, "probability").get_attribute("data-value")) < 0.5
    text = "The plot is thin, but the music is wonderful."
    hook(seen.page, "review-input").fill(text)
    expect(hook(seen.page, "token").last).to_contain_text("wonderful")
    expected = answer(RECOMMENDED, text)
    value = float(hook(seen.page, "probability").get_attribute("data-value"))
    assert value == pytest.approx(sigmoid(expected.logit), abs=1e-5)
    script = "parts => parts.map((part) => Number(part.dataset.contribution))"
    contributions = hook(seen.page, "token").evaluate_all(script)
    assert contributions == pytest.approx(expected.contributions.tolist(), abs=1e-5)
    hook(seen.page, "review-input").fill(UNREADABLE[0])
    expect(hook(seen.page, "notice")).to_contain_text("they can't read it")
    assert not hook(seen.page, "probability").get_attribute("data-value")
    assert hook(seen.page, "probability").inner_text() == ""
    assert seen.troubles(root) == []

"""The review lab and its one line on the home page: what a reader does, and what answers."""

import pytest
import torch
from built_site import SITE
from playwright.sync_api import expect
from trained_models import answer, ids_of, reviews

HOSTILE = """<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script> <svg
onload=window.hacked=1> "><iframe src="javascript:window.hacked=1"> good &lt;b&gt; film"""


def hook(page, name):
    return page.get_by_test_id(name)


def tokens(page):
    return hook(page, "token")


def weights(page):
    return tokens(page).evaluate_all("parts => parts.map((part) => Number(part.dataset.weight))")


def probability(page):
    return float(hook(page, "probability").inner_text())


def choose(page, kind):
    hook(page, "model-select").select_option(kind)
    expect(page.locator("#review-lab")).to_have_attribute("aria-busy", "false")


def test_what_is_typed_is_read(lab):
    text = "A wonderful film, and the ending is perfect."
    hook(lab, "review-input").fill(text)
    expected, per_word = answer("energy", text)
    assert probability(lab) == pytest.approx(expected, abs=1e-5)
    assert weights(lab) == pytest.approx(per_word.tolist(), abs=1e-5)
    assert sum(weights(lab)) == pytest.approx(1)
    words = tokens(lab).locator(".lab-word").all_inner_texts()
    assert words == ["a", "wonderful", "film", "and", "the", "ending", "is", "perfect"]
    label = "positive" if expected > 0.5 else "negative"
    expect(hook(lab, "label")).to_have_text(label)


def test_both_labels_occur(lab):
    texts = ["Wonderful, excellent, great, a perfect film.", "The worst waste, awful and boring."]
    seen = []
    for text in texts:
        hook(lab, "review-input").fill(text)
        seen.append(hook(lab, "label").inner_text())
    assert seen == ["positive", "negative"]


def test_the_other_model_answers_with_a_map(lab):
    text = "A wonderful film, and the ending is perfect."
    hook(lab, "review-input").fill(text)
    expect(lab.locator("canvas")).to_be_hidden()
    choose(lab, "qkv")
    expected, map_ = answer("qkv", text)
    assert probability(lab) == pytest.approx(expected, abs=1e-5)
    assert weights(lab) == pytest.approx(map_.mean(dim=0).tolist(), abs=1e-5)
    expect(lab.locator("canvas")).to_be_visible()
    assert lab.locator("canvas").get_attribute("aria-label").startswith("8 by 8 weights.")
    # One word's own row, chosen by name
    hook(lab, "asker").select_option("1")
    assert weights(lab) == pytest.approx(map_[1].tolist(), abs=1e-5)


def test_the_map_is_painted_as_strong_as_the_weights(lab):
    hook(lab, "review-input").fill(" ".join(reviews(3)))  # 256 words: no labels beside the map
    choose(lab, "qkv")
    assert tokens(lab).count() > 256
    _, map_ = answer("qkv", " ".join(reviews(3)))
    n = len(map_)
    paint = """(canvas, n) => {
      const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const at = (i) => Math.floor((i + 0.5) * canvas.width / n);
      return Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) =>
        pixels.data[4 * (at(i) * canvas.width + at(j))]));
    }"""
    painted = torch.tensor(lab.locator("canvas").evaluate(f"canvas => ({paint})(canvas, {n})"))
    style = lab.evaluate("getComputedStyle(document.body).getPropertyValue('--lab-high')")
    high = int(style.split()[0])
    expected = 255 + (high - 255) * map_ / map_.max()
    assert (painted - expected).abs().max() <= 1.5


def test_pointing_at_the_map_names_two_words_and_their_weight(lab):
    hook(lab, "review-input").fill("wonderful film")
    choose(lab, "qkv")
    canvas = lab.locator("canvas")
    box = canvas.bounding_box()
    canvas.hover(position={"x": box["width"] - 10, "y": box["height"] - 10})
    _, map_ = answer("qkv", "wonderful film")
    expect(lab.locator('[data-part="map-readout"]')).to_have_text(
        f"film looks at film with {map_[1, 1]:.3f}.".replace("0.", ".", 1)
    )


def test_deleting_a_word_shows_its_effect_beside_its_weight(lab):
    text = "A wonderful film, and the ending is perfect."
    hook(lab, "review-input").fill(text)
    whole, per_word = answer("energy", text)
    without, _ = answer("energy", "A film, and the ending is perfect.")
    added = torch.tensor(whole).logit() - torch.tensor(without).logit()
    tokens(lab).nth(1).click()
    assert probability(lab) == pytest.approx(without, abs=1e-5)
    assert tokens(lab).nth(1).get_attribute("aria-pressed") == "true"
    assert sum(weights(lab)) == pytest.approx(1)
    row = hook(lab, "effects").locator("tr")
    expect(row).to_have_count(1)
    assert float(row.get_attribute("data-weight")) == pytest.approx(per_word[1].item(), abs=1e-5)
    assert float(row.get_attribute("data-effect")) == pytest.approx(added.item(), abs=1e-4)
    expect(row).to_contain_text("wonderful")
    # Alone, also when another word is gone by now
    tokens(lab).nth(7).click()
    expect(row).to_have_count(2)
    assert float(row.first.get_attribute("data-effect")) == pytest.approx(added.item(), abs=1e-4)
    both, _ = answer("energy", "A film, and the ending is")
    assert probability(lab) == pytest.approx(both, abs=1e-5)
    tokens(lab).nth(1).click()
    tokens(lab).nth(7).click()
    assert probability(lab) == pytest.approx(whole, abs=1e-5)
    expect(lab.locator('[data-part="effects-field"]')).to_be_hidden()


def test_deleting_works_from_the_keyboard_and_keeps_its_place(lab):
    hook(lab, "review-input").fill("a wonderful film")
    assert lab.locator(".lab-token[tabindex='0']").count() == 1
    tokens(lab).first.focus()
    lab.keyboard.press("ArrowRight")
    lab.keyboard.press("Enter")
    assert tokens(lab).nth(1).get_attribute("aria-pressed") == "true"
    expect(tokens(lab).nth(1)).to_be_focused()
    lab.keyboard.press("ArrowRight")
    expect(tokens(lab).nth(2)).to_be_focused()
    lab.keyboard.press("Enter")
    assert tokens(lab).nth(2).get_attribute("aria-pressed") == "true"


def test_a_distractor_stands_in_front(lab):
    hook(lab, "review-input").fill("a wonderful film")
    hook(lab, "distractor").check()
    hook(lab, "distractor-input").fill("dull and long")
    expected, per_word = answer("energy", "a wonderful film", "dull and long")
    assert probability(lab) == pytest.approx(expected, abs=1e-5)
    assert weights(lab) == pytest.approx(per_word.tolist(), abs=1e-5)
    words = tokens(lab).locator(".lab-word").all_inner_texts()
    assert words == ["dull", "and", "long", "next review", "a", "wonderful", "film"]
    tokens(lab).first.click(force=True)  # only words of the review itself can be deleted
    assert lab.locator(".lab-token.deleted").count() == 0


def test_a_long_review_loses_its_beginning_and_says_so(lab):
    text = " ".join(["good"] * 5 + ["film"] * 256)
    hook(lab, "review-input").fill(text)
    assert lab.locator(".lab-token.skipped").count() == 5
    assert weights(lab)[:5] == [0] * 5
    assert probability(lab) == pytest.approx(answer("energy", text)[0], abs=1e-5)
    expect(lab.locator('[data-part="note"]')).to_contain_text("the first 5 are left out")


def test_unknown_words_are_marked_in_more_than_colour(lab):
    assert ids_of("hobbledehoy film") == [1, ids_of("film")[0]]
    hook(lab, "review-input").fill("hobbledehoy film")
    expect(lab.get_by_role("button", name="hobbledehoy")).to_contain_text("unknown word")
    line = "part => getComputedStyle(part.querySelector('.lab-word')).textDecorationLine"
    assert tokens(lab).nth(0).evaluate(line) == "underline"
    assert tokens(lab).nth(1).evaluate(line) == "none"


def test_no_words_no_weights(lab):
    for text in ("", "12 !", "<b>"):
        hook(lab, "review-input").fill(text)
        assert tokens(lab).count() == 0
        expect(hook(lab, "label")).to_have_text("no words yet")
        choose(lab, "qkv")
        assert lab.locator("#review-lab").inner_text().count("NaN") == 0
        choose(lab, "energy")


def test_a_chosen_sample_is_put_into_the_box(lab):
    options = lab.get_by_label("A review that we wrote")
    for name in options.locator("option:not([value=''])").all_inner_texts():
        options.select_option(name)
        text = hook(lab, "review-input").input_value()
        assert probability(lab) == pytest.approx(answer("energy", text)[0], abs=1e-5)


@pytest.mark.parametrize("address", ["playground.html", "index.html"])
def test_what_is_typed_is_only_ever_text(visit, http_root, address):
    seen = visit(http_root + address)
    page = seen.page
    before = page.evaluate("document.querySelectorAll('article script, article img').length")
    hook(page, "review-input").fill(HOSTILE)
    tokens(page).first.wait_for()
    if address == "playground.html":
        hook(page, "distractor").check()
        hook(page, "distractor-input").fill(HOSTILE)
        tokens(page).last.click()
    after = page.evaluate("document.querySelectorAll('article script, article img').length")
    assert after == before
    assert page.locator("article iframe").count() == 0
    assert page.evaluate("window.hacked") is None
    assert "good" in tokens(page).locator(".lab-word").all_inner_texts()
    assert seen.complaints == []


def test_one_forward_pass_a_keystroke(lab):
    # What keeps the page quick is that typing computes once, and only what is shown.
    # Each pass looks up every word's vector once.
    lab.evaluate("""async () => {
      const model = await lab.models.load("energy");
      const plain = model.embedding;
      window.vectors = 0;
      model.embedding = (id) => {
        window.vectors += 1;
        return plain(id);
      };
    }""")
    n = tokens(lab).count()
    hook(lab, "review-input").press_sequentially(" abc")  # a space, then one word more
    assert lab.evaluate("window.vectors") == n + 3 * (n + 1)


def test_a_screen_reader_hears_the_result_and_not_each_letter(lab):
    lab.evaluate("""
      window.heard = [];
      for (const region of document.querySelectorAll("[role=status]"))
        new MutationObserver(() => heard.push(region.textContent))
          .observe(region, { childList: true });
    """)
    lab.wait_for_timeout(1_500)
    assert lab.evaluate("window.heard") == []  # a page that was only opened says nothing
    hook(lab, "review-input").press_sequentially(" a dull and awful film", delay=20)
    lab.wait_for_function("window.heard.length > 0")
    lab.wait_for_timeout(1_500)
    assert len(lab.evaluate("window.heard")) == 1
    assert "% positive" in lab.evaluate("window.heard[0]")
    assert lab.locator("[aria-live=assertive]").count() == 0


def test_weights_are_fetched_when_they_are_needed(visit, http_root):
    seen = visit(http_root + "index.html")
    assert not any("lab-" in url for url in seen.requests)
    hook(seen.page, "review-input").fill("wonderful")
    tokens(seen.page).wait_for()
    fetched = [url.rpartition("/")[2] for url in seen.requests if "/lab-" in url]
    assert sorted(fetched) == ["lab-energy.js", "lab-words.js"]


def test_a_model_that_does_not_load_is_said_and_tried_again(visit, http_root):
    seen = visit("about:blank")
    page = seen.page
    page.route("**/lab-qkv.js", lambda route: route.abort())
    page.goto(http_root + "playground.html")
    hook(page, "review-input").scroll_into_view_if_needed()
    tokens(page).first.wait_for()
    hook(page, "model-select").select_option("qkv")
    expect(page.locator('[data-part="note"]')).to_contain_text("did not load")
    page.unroute("**/lab-qkv.js")
    hook(page, "model-select").select_option("energy")
    choose(page, "qkv")
    expect(page.locator("canvas")).to_be_visible()


def test_the_home_page_answers_in_one_line(visit, root):
    seen = visit(root + "index.html")
    text = "The plot is thin, but the music is wonderful."
    hook(seen.page, "review-input").fill(text)
    tokens(seen.page).first.wait_for()
    expected, per_word = answer("energy", text)
    value = float(hook(seen.page, "probability").get_attribute("data-value"))
    assert value == pytest.approx(expected, abs=1e-5)
    assert weights(seen.page) == pytest.approx(per_word.tolist(), abs=1e-5)
    assert seen.complaints == []
    assert seen.foreign(root) == []


def test_all_of_it_works_from_a_folder(visit):
    root = SITE.as_uri() + "/"
    seen = visit(root + "playground.html")
    page = seen.page
    hook(page, "review-input").fill("a wonderful film")
    choose(page, "qkv")
    assert probability(page) == pytest.approx(answer("qkv", "a wonderful film")[0], abs=1e-5)
    assert seen.complaints == []
    assert seen.foreign(root) == []

"""The tokenizer in the page gives the ids of the Python one."""

import pytest
from trained_models import ids_of, reviews, tokenizer

ENCODE = """async (texts) => {
  const ids = await lab.models.load("words");
  return texts.map((text) => lab.tokenizer.encode(lab.tokenizer.splitWords(text), ids));
}"""
HOSTILE = {
    "nothing": "",
    "no letters": " 12 345 … ?! \t\r\n",
    "emoji": "good👍🏽film 👨‍👩‍👧‍👦 love❤️it 🇬🇧bad",
    "combining marks": "cafe\u0301 na\u0131\u0308ve e\u0301\u0327tude a\u0300bad",
    "right to left": "good \u202egnol oot\u202c שלום bad مرحبا film \u200fgood",
    "tags": "<b>good</b><br />bad<script>alert('film')</script><img src=x onerror=alert(1)>",
    "broken tags": "a < b and c > d << bad >> <> <good <film>> <unfinished",
    "signs that begin no tag": "I <3 this good film and 10 > 5, <> <_bad_> << film >>",
    "comments": "good<!-- bad --> film <!doctype html> the</p>end < p >bad",
    "a tag over lines": "good<br\n\nbad film\n>again",
    "tags of other cases": "<BR>Good<Br/>BAD",
    "null characters": "go\0od \0 bad <\0> film",
    "kelvin": "\u212aelvin boo\u212a ma\u212aE",
    "dotted i": "\u0130t was F\u0130LM d\u0130ll \u0130",
    "other lower cases": "ΣΑΣ ẞtraße ǅungla ﬁlm ﬀ Ångström ſoft \u2126 Ω",
    "backslash n": r"good\nbad \\nfilm \n\n and \N",
    "dropped apostrophes": r"It isnt, DONT\ndoesnt \Nwont<b>cant</b>haven’t isnts didnt.",
    "an entity": "good&amp;bad &lt;b&gt; film&nbsp;the",
    "full width": "ｇｏｏｄ film",
    "names of specials": "<pad> <unk> <sep> pad unk sep",
    "of every object": "constructor __proto__ toString hasOwnProperty length",
    "a long word": "a" * 100_000,
    "format": "{{good}} ${bad} %s %(film)s \\u0067ood",
    "zero width": "go\u200bod ba\ufeffd fi\u00adlm",
}


@pytest.fixture(scope="module")
def lab(browser, http_root):
    """A page whose scripts alone are asked."""
    page = browser.new_page()
    page.goto(http_root + "your_review.html")
    yield page
    page.close()


def test_hostile_strings(lab):
    found = dict(zip(HOSTILE, lab.evaluate(ENCODE, [*HOSTILE.values()]), strict=True))
    assert found == {name: ids_of(text) for name, text in HOSTILE.items()}


def test_1000_reviews(lab):
    texts = reviews(1_000)
    ids = list(map(ids_of, texts))
    assert lab.evaluate(ENCODE, texts) == ids
    seen = {i for one in ids for i in one}
    assert len(seen) > 5_000
    assert max(seen) < tokenizer().get_vocab_size()
    assert 1 in seen


def test_every_character_of_the_two_planes_with_letters(lab):
    # Between two letters, so that it shows whether a character separates, joins or becomes one.
    # "<" and ">" are compared by the tags above.
    points = [i for i in range(0x20000) if not 0xD800 <= i < 0xE000 and chr(i) not in "<>"]
    ask = """(points) => points.map((i) => {
      return lab.tokenizer.splitWords(`x${String.fromCodePoint(i)}y`).join(" ");
    })"""
    words = lab.evaluate(ask, points)
    text = " zz ".join(f"x{chr(i)}y" for i in points)
    split = tokenizer().pre_tokenizer.pre_tokenize_str(tokenizer().normalizer.normalize_str(text))
    expected = " ".join(word for word, _ in split).split(" zz ")
    assert words == expected
    assert set(words) >= {"x y", "xky", "xi y", "xay"}


def test_half_a_character(lab):
    words = lab.evaluate("lab.tokenizer.splitWords('go\\ud83dod ' + 'bad\\udc4d')")
    assert words == ["go", "od", "bad"]

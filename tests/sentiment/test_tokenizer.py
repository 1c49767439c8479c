"""Texts to ids: regular expressions as oracle, for the library's tokenizer and for many texts."""

import collections
import re
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import (
    FOREIGN,
    SEP_ID,
    SPECIALS,
    UNK_ID,
    Ragged,
    clean,
    clean_tokenizer,
    encode_reviews,
    foreign_share,
    train_tokenizer,
)

HOSTILE = [
    "",
    " \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u2028\u3000",
    "12345 !!! ...",
    "Good, GOOD food!",
    "don't STOP-believing",
    r"Lovely.\nWill come back\nsoon\\n",
    r"a \Not a newline",
    "great<br /><br />film",
    "a < b and c > d <e",
    "I <3 this wonderful film and 10 > 5",
    "<!-- a --> <!doctype> </b> <B> <_> <\u212abd> <\u0130> <1> <<b>",
    "a <b\nc> d <> e <<f>> g >h< i",
    "<> a <>b> c <<> d <a <b e> f <a<b> g <>",
    "<pad> <unk> <sep> pad unk sep",
    "<" * 50 + "a",
    "nul\x00inside <a\x00b> end",
    "emoji 😀good😀 👩‍🍳chef",
    "cafe\u0301 café naïve",
    "\u202eright to left שלום مرحبا",
    "273 \u212aelvin \u212a",
    "\u0130stanbul \u0131 \u017fhort ﬁne Ⅷ Å",
    "ΣΟΦΟΣ ΑΣ groß GROẞ",
    "\ufeffbom \uffff\U0010ffff end",
    "好吃 very 好吃",
    "ÿ \xff þ",
]
# Where the rules could come apart: their own marks, case, spaces and both odd letters.
texts = st.text(
    st.one_of(
        st.sampled_from("<>\\nN/ aAkKzZ\x00\x1c\x85\u0130\u212a\u0301\xff😀"),
        st.characters(exclude_categories=["Cs"]),
    )
)


def words_of(text, clean_text=True):
    """Cut a text into words as the lab does, or with newlines and tags as they should be."""
    tag = "<[a-z/!][^<>]*>" if clean_text else "<[^>]+>"
    lowered = (text.replace(r"\n", " ") if clean_text else text).lower()
    return re.findall("[a-z]+", re.sub(tag, " ", lowered))


def check_parity(some_texts, clean_text):
    tokenizer = train_tokenizer(some_texts, min_frequency=1, clean_text=clean_text)
    ids = encode_reviews(tokenizer, some_texts)
    loaded = Tokenizer.from_str(tokenizer.to_str())  # the file carries the rule
    again = encode_reviews(loaded, iter(some_texts))
    assert len(ids) == len(again) == len(some_texts)
    for i, encoding in enumerate(loaded.encode_batch(some_texts)):
        assert encoding.tokens == words_of(some_texts[i], clean_text), some_texts[i]
        assert again[i].tolist() == encoding.ids == ids[i].tolist()


@pytest.mark.parametrize("clean_text", [True, False])
def test_words_are_those_of_the_rule(clean_text):
    check_parity(HOSTILE, clean_text)


@given(st.lists(texts, max_size=7), st.booleans())
def test_words_are_the_rules_whatever_the_text(some_texts, clean_text):
    check_parity(some_texts, clean_text)


def test_words_are_the_rules_at_every_cased_character_and_in_real_reviews():
    characters = [chr(i) for i in range(0x20000) if not 0xD800 <= i < 0xE000]
    rows = ["a".join(characters[i : i + 4099]) for i in range(0, len(characters), 4099)]
    check_parity([*rows, *load_reviews("imdb", limit=503)["train"].texts], True)


def test_a_lone_surrogate_separates_words():
    tokenizer = train_tokenizer(["good\ud800food"], min_frequency=1)
    ids = encode_reviews(tokenizer, ["good\ud800food"])
    assert [tokenizer.id_to_token(i) for i in ids[0].tolist()] == ["food", "good"][::-1]


def pieces(clean_text=True):
    """Make a tokenizer of the kind that a pretrained encoder has."""
    words = ["[UNK]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz<>[]0123456789", "i", "this", "wonder"]
    words += ["##ful", "film", "and", "sep", "lovely", "\\", "."]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys(words))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(["[SEP]"])
    return clean_tokenizer(made, clean_text)


def test_all_agree_on_what_a_tag_is():
    text = "I <3 this wonderful film and 10 > 5 <br /><B>"
    words = ["i", "this", "wonderful", "film", "and"]
    assert clean(text) == "I <3 this wonderful film and 10 > 5   "
    assert train_tokenizer([text], min_frequency=1).encode(text).tokens == words
    tokenizer = pieces()
    ids = encode_reviews(tokenizer, [text])[0].tolist()
    expected = ["i", "<", "3", "this", "wonder", "##ful", "film", "and", "[UNK]", ">", "5"]
    assert [tokenizer.id_to_token(i) for i in ids] == expected
    shown = tokenizer.decode(tokenizer.encode("This film. I <3 film").ids)
    assert shown == "this film . i < 3 film"
    assert words_of(text, clean_text=False) == ["i"]  # the lab's fault, kept as it is
    lab = train_tokenizer([text], min_frequency=1, clean_text=False)
    assert lab.encode(text).tokens == ["i"]


def test_newlines_are_read_where_texts_are_cleaned():
    text = r"Lovely.\nWill"
    assert clean(r"Lovely.\nWill<br /><br />come < back\n\n") == "Lovely. Will  come < back  "
    for clean_text, words in (True, ["lovely", "will"]), (False, ["lovely", "nwill"]):
        tokenizer = train_tokenizer([text], min_frequency=1, clean_text=clean_text)
        assert tokenizer.encode(text).tokens == words
        assert ("\\" in pieces(clean_text).encode(text).tokens) != clean_text
    for hostile in HOSTILE:
        if "\u212a" not in hostile and "\u0130" not in hostile:  # in lower case they begin a tag
            assert words_of(clean(hostile)) == words_of(hostile)


@pytest.mark.parametrize("unit", ["<", "<a ", "<!", "<<a>", "<>"])
def test_the_time_grows_with_the_length_however_many_brackets_there_are(unit):
    own, lab = (train_tokenizer(["good food"] * 2, clean_text=is_ours) for is_ours in (True, False))
    for read in (clean, own.encode, lab.encode, pieces().encode):
        seconds = []
        for length in 10_000, 80_000:
            started = time.process_time()
            read(unit * (length // len(unit)))
            seconds.append(time.process_time() - started)
        # Eight times the text, or 64 times the work if every bracket is read to the end.
        assert seconds[1] < max(30 * seconds[0], 0.2), (read, seconds)


@pytest.mark.parametrize("before", [False, True])
def test_a_tokenizer_stays_as_it_was_given(before):
    tokenizer = pieces()
    tokenizer.encode_special_tokens = before
    text = tokenizer.to_str()
    ids = encode_reviews(tokenizer, ["[SEP] film"])[0].tolist()
    assert [tokenizer.id_to_token(i) for i in ids] == ["[", "sep", "]", "film"]
    assert (tokenizer.encode_special_tokens, tokenizer.to_str()) == (before, text)


def test_many_pieces_are_those_of_one_text_at_a_time():
    tokenizer, some = pieces(), ["this film", "", "wonderful [sep]", "a\ud800b"] * 500
    ids = encode_reviews(tokenizer, iter(some))
    one = [tokenizer.encode(text.replace("\ud800", "?"), add_special_tokens=False) for text in some]
    assert [ids[i].tolist() for i in range(len(some))] == [each.ids for each in one]


@given(st.lists(st.text("abAB <>"), max_size=11), st.integers(1, 3))
def test_vocabulary_is_frequent_first_and_alphabetical_in_ties(some_texts, min_frequency):
    tokenizer = train_tokenizer(some_texts, min_frequency=min_frequency)
    ids = encode_reviews(tokenizer, some_texts)
    words = [word for text in some_texts for word in words_of(text)]
    ranked = sorted(collections.Counter(words).items(), key=lambda item: (-item[1], item[0]))
    kept = [word for word, count in ranked if count >= min_frequency]
    expected = {word: i for i, word in enumerate([*SPECIALS, *kept])}
    assert tokenizer.get_vocab() == expected
    assert ids.flat.tolist() == [expected.get(word, UNK_ID) for word in words]
    assert (expected["<unk>"], expected["<sep>"]) == (UNK_ID, SEP_ID)
    assert (ids.flat.dtype, ids.offsets.dtype) == (torch.int32, torch.int64)  # 4 bytes a word


FOREIGN_TEXTS = {
    "Das Essen war SÜß, 5 Sterne!": ["das", "essen", "war", "süß", "5", "sterne"],
    "cafe\u0301 très bon 😀👍🏽": ["café", "très", "bon", "😀", "👍"],
    "この店は１２３だ": ["こ", "の", "店", "は", "123", "だ"],
    "อร่อยมาก": ["อ", "ร่", "อ", "ย", "ม", "า", "ก"],  # a tone mark stays with its letter
    "한국어 음식 맛있어요": ["한국어", "음식", "맛있어요"],
    "हिन्दी <br />भाषा": ["हिन्दी", "भाषा"],
}


@pytest.mark.parametrize("text", FOREIGN_TEXTS)
def test_unicode_words_are_of_any_script(text):
    tokenizer = train_tokenizer([text], min_frequency=1, words="unicode")
    loaded = Tokenizer.from_str(tokenizer.to_str())  # the file carries the rule
    assert tokenizer.encode(text).tokens == loaded.encode(text).tokens == FOREIGN_TEXTS[text]


def test_only_letters_beyond_a_to_z_are_foreign():
    assert foreign_share([]) == foreign_share(["5 stars 😀 — “good”"]) == 0
    assert foreign_share(["süß", "good"]) == 2 / 7
    english = foreign_share(load_reviews("imdb", limit=2_000)["train"].texts)
    german = "Das Essen war sehr gut, und wir können es jedem nur empfehlen."
    assert english * 10 < FOREIGN < foreign_share([german])


def test_ragged_rows():
    ids = Ragged.from_lists([[7, 8, 9], [], [5]])
    assert [row.tolist() for row in ids] == [ids[i].tolist() for i in range(3)]
    assert [row.tolist() for row in ids] == [[7, 8, 9], [], [5]]
    assert ids[-1].tolist() == [5]
    assert ids[0].data_ptr() == ids.flat.data_ptr()
    with pytest.raises(IndexError, match="out of range"):
        ids[3]


def test_bad_input():
    with pytest.raises(ValueError, match="min_frequency: expected at least 1, got 0"):
        train_tokenizer(["a"], min_frequency=0)
    for act in train_tokenizer, lambda text: encode_reviews(pieces(), text):
        with pytest.raises(TypeError, match="texts must be several texts; got one str"):
            act("good food")

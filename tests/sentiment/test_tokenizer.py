"""Words to ids: regular expressions as oracle, for the library's tokenizer and the fast path."""

import collections
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, normalizers

from attention.sentiment.reviews import clean
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import (
    PAD_ID,
    RULES,
    SEP_ID,
    SPECIALS,
    UNK_ID,
    encode_reviews,
    train_and_encode,
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


def lab_words(text: str, tag: str = r"<[^>]+>") -> list[str]:
    """Cut a text into words as the lab does."""
    lowered = text.lower()
    for pattern in tag, r"[^a-z\s]", r"\s+":
        lowered = re.sub(pattern, " ", lowered)
    return lowered.strip().split()


def clean_words(text: str) -> list[str]:
    r"""Cut a text into words, with newlines written as \n read, and only tags taken for tags."""
    return lab_words(text.replace(r"\n", " "), r"<[a-z/!][^>]*>")


def words_of(tokenizer: Tokenizer, ids: torch.Tensor) -> list[str | None]:
    return [tokenizer.id_to_token(i) for i in ids.tolist()]


def check_parity(some_texts: list[str], clean_text: bool) -> None:
    tokenizer, ids = train_and_encode(some_texts, min_frequency=1, clean_text=clean_text)
    again = encode_reviews(tokenizer, some_texts)
    encodings = tokenizer.encode_batch(some_texts)
    assert len(ids) == len(again) == len(some_texts)
    for i, text in enumerate(some_texts):
        expected = (clean_words if clean_text else lab_words)(text)
        assert encodings[i].tokens == expected, text
        assert words_of(tokenizer, ids[i]) == expected, text
        assert again[i].tolist() == encodings[i].ids == ids[i].tolist()


@pytest.mark.parametrize("clean_text", [True, False])
def test_words_are_those_of_the_rule(clean_text: bool) -> None:
    check_parity(HOSTILE, clean_text)


@given(st.lists(texts, max_size=7), st.booleans())
def test_words_are_the_rules_whatever_the_text(some_texts: list[str], clean_text: bool) -> None:
    check_parity(some_texts, clean_text)


def test_words_are_the_rules_at_every_cased_character() -> None:
    characters = [chr(i) for i in range(0x20000) if not 0xD800 <= i < 0xE000]
    check_parity(
        ["a".join(characters[i : i + 4099]) for i in range(0, len(characters), 4099)], True
    )


def test_words_are_the_rules_on_real_reviews() -> None:
    check_parity(list(load_reviews("imdb", limit=503)["train"].texts), True)


def test_more_texts_than_are_read_at_once() -> None:
    reviews = ["good food", "", "<br />good", "bad"] * 769
    tokenizer, ids = train_and_encode(iter(reviews))
    assert ids.lengths.tolist() == [2, 0, 1, 1] * 769
    assert torch.equal(encode_reviews(tokenizer, iter(reviews)).flat, ids.flat)


def test_a_lone_surrogate_separates_words() -> None:
    tokenizer, ids = train_and_encode(["good\ud800food"], min_frequency=1)
    assert words_of(tokenizer, ids[0]) == ["good", "food"]


def test_cleaning_first_changes_nothing_that_the_tokenizer_would_not() -> None:
    for text in HOSTILE:
        if "\u212a" not in text and "\u0130" not in text:  # these begin a tag in lower case alone
            assert clean_words(clean(text)) == clean_words(text)
    assert lab_words(r"Lovely.\nWill") == ["lovely", "nwill"]  # the lab's fault
    unclean, _ = train_and_encode([r"Lovely.\nWill"], min_frequency=1, clean_text=False)
    assert unclean.encode(r"Lovely.\nWill").tokens == ["lovely", "nwill"]


def test_signs_that_begin_no_tag_leave_the_words_between_them() -> None:
    text = "I <3 this wonderful film and 10 > 5"
    tokenizer = train_tokenizer([text], min_frequency=1)
    assert tokenizer.encode(text).tokens == ["i", "this", "wonderful", "film", "and"]
    assert lab_words(text) == ["i"]  # the lab's fault


def test_vocabulary_is_dense_frequent_first_and_alphabetical_in_ties() -> None:
    tokenizer = train_tokenizer(["soup pie wine", "Wine! cake", "soup pie wine", "rare"])
    vocabulary = tokenizer.get_vocab()
    assert sorted(vocabulary, key=vocabulary.__getitem__) == [*SPECIALS, "wine", "pie", "soup"]
    assert sorted(vocabulary.values()) == list(range(6))
    assert (PAD_ID, UNK_ID, SEP_ID) == (0, 1, 2)


@given(st.lists(st.text("abAB <>"), max_size=11), st.integers(1, 3), st.integers(3, 7))
def test_vocabulary_counts(some_texts: list[str], min_frequency: int, max_size: int) -> None:
    tokenizer, ids = train_and_encode(some_texts, min_frequency=min_frequency, max_size=max_size)
    counts = collections.Counter(word for text in some_texts for word in clean_words(text))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    kept = [word for word, count in ranked if count >= min_frequency]
    expected = {word: i for i, word in enumerate([*SPECIALS, *kept][:max_size])}
    assert tokenizer.get_vocab() == expected
    assert ids.flat.tolist() == [
        expected.get(word, UNK_ID) for text in some_texts for word in clean_words(text)
    ]


def test_the_file_carries_the_rule(tmp_path) -> None:
    tokenizer, ids = train_and_encode(HOSTILE, min_frequency=1)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    loaded = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [encoding.ids for encoding in loaded.encode_batch(HOSTILE)] == [
        ids[i].tolist() for i in range(len(HOSTILE))
    ]
    assert torch.equal(encode_reviews(loaded, HOSTILE).flat, ids.flat)


def test_the_tokenizer_of_an_older_run_keeps_its_rule() -> None:
    tokenizer, _ = train_and_encode(HOSTILE, min_frequency=1)
    tokenizer.normalizer, _ = RULES[True][1].components()
    for text in HOSTILE:
        expected = lab_words(text.replace(r"\n", " "))
        assert words_of(tokenizer, encode_reviews(tokenizer, [text]).flat) == [
            word if tokenizer.token_to_id(word) is not None else "<unk>" for word in expected
        ]


def test_ids_take_four_bytes() -> None:
    _, ids = train_and_encode(["good food"])
    assert ids.flat.dtype == torch.int32
    assert ids.offsets.dtype == torch.int64


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="min_frequency must be at least 1, got 0"):
        train_tokenizer(["a"], min_frequency=0)
    with pytest.raises(ValueError, match="max_size must be at least 3, got 2"):
        train_tokenizer(["a"], max_size=2)
    with pytest.raises(TypeError, match="texts must be several texts; got one str"):
        train_tokenizer("good food")
    tokenizer = train_tokenizer(["a"])
    tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(ValueError, match="tokenizer must come from"):
        encode_reviews(tokenizer, ["a"])

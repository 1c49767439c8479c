import csv
import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
import trained_models
from safetensors.torch import load_file

from attention.sentiment.batches import Examples
from attention.sentiment.reviews import Reviews
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import SEP_ID, SPECIALS, UNK_ID, Ragged, train_tokenizer
from experiments.playground import cooccurrence, templates, trained
from experiments.playground.__main__ import (
    CONFIG,
    OUT,
    examples,
    joined,
    missing_models,
    settings_of,
)
from experiments.playground.data import SENTENCES, cut_sentences, read_sentences, unmeasured
from experiments.playground.fit import best_scale
from experiments.playground.model import (
    PageConfig,
    PageModel,
    clause_starts,
    encode,
    quantise,
    read_model,
    spell,
    write_model,
)
from experiments.playground.students import (
    encode_marked,
    measure_sentences,
    start_apart,
    start_from,
)

RESULTS = json.loads(OUT.read_text(encoding="utf-8"))
TINY = load_file(trained.MODELS / "tiny" / "model.safetensors")
SIZES = {
    "mean": {"embed_dim": 5},
    "energy": {"embed_dim": 5},
    "qkv": {"embed_dim": 5, "key_dim": 3, "value_dim": 2},
}
TOKENIZER = train_tokenizer(
    ["the film is good but never dull", "the plot isn't good", "no zebra lacks a plot"],
    min_frequency=1,
)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def config_of(kind: str) -> PageConfig:
    return PageConfig.with_words(TOKENIZER, kind=kind, max_length=11, **SIZES[kind])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the film isn't good the good plot is good", "good the good plot"),  # four of them
        ("never dull but good", "dull"),
        *((f"never dull{mark} good", "dull") for mark in ".,;:!?"),
        ("isn't dull <br /> 'good' - the", "dull good the"),
        ("no plot never good the film is dull", "plot good the film is"),  # starts anew
        ("the plot isnt good", "good"),
    ],
)
def test_the_scope_of_a_negation(text, words):
    config, encoded = config_of("mean"), TOKENIZER.encode(spell(text))
    marked = config.mark(encoded.ids, clause_starts(text))
    read = zip(encoded.tokens, encoded.ids, marked, strict=True)
    assert [token for token, i, as_read in read if as_read == i + config.shift] == words.split()


def test_a_dropped_apostrophe_is_put_back():
    for text, spelled in {
        "It isnt good, DONT go": "It isn't good, DOn't go",
        r"a\nwont<b>cant dont dont": r"a\nwon't<b>can't don't don't",
        "isnts cantata event": "isnts cantata event",
    }.items():
        assert spell(text) == spelled
        assert encode(TOKENIZER, text) == TOKENIZER.encode(spelled).ids
        assert clause_starts(text) == clause_starts(spelled)


def test_as_many_clause_starts_are_told_as_there_are_words():
    texts = [*load_reviews("imdb")["train"].texts[:200], r"a\n\nb. <b class='x, y'>c</b>d <3 e, f"]
    for text in texts:
        assert len(clause_starts(text)) == len(encode(TOKENIZER, text))


def test_unknown_words_are_not_marked_but_counted_and_a_separator_ends_the_scope():
    config = config_of("mean")
    never, good = (TOKENIZER.token_to_id(word) for word in ("never", "good"))
    marked = config.mark([never, UNK_ID, good, good, good, good], [False] * 6)
    assert marked == [never, UNK_ID, *[good + config.shift] * 3, good]
    assert config.mark([never, SEP_ID, good], [False] * 3) == [never, SEP_ID, good]


def test_many_texts_are_marked_as_one_is():
    texts = ["never dull but good", "", "the plot isn't good", "never! good"]
    ids = encode_marked(TOKENIZER, texts, config_of("mean"))
    wanted = [
        config_of("mean").mark(TOKENIZER.encode(text).ids, clause_starts(text)) for text in texts
    ]
    assert [ids[i].tolist() for i in range(4)] == wanted


@pytest.mark.parametrize("kind", SIZES)
def test_what_is_written_is_read_again_but_for_the_rounding(kind, tmp_path):
    """What a model reads of a text is held by tests/javascript/test_expected.py."""
    config = config_of(kind)
    model = PageModel(config, config.build().double().eval())
    for parameter in model.classifier.parameters():
        parameter.data = torch.rand_like(parameter) * 2 - 1
    write_model(model, tmp_path)
    again = read_model(tmp_path)
    assert again.config.mark(range(40), [False] * 40) == model.config.mark(range(40), [False] * 40)
    state, wanted = again.classifier.state_dict(), model.classifier.state_dict()
    assert list(state) == list(wanted)
    for name, weight in state.items():
        bound = 1 / 254 if name == "embedding.weight" else 2**-11
        assert (weight - wanted[name]).abs().max() <= bound, name
    assert load_file(tmp_path / "model.safetensors")["embedding"].dtype == torch.int8
    assert quantise(torch.zeros(2, 3))[1] == 1.0


def test_a_model_begins_as_the_mean_that_was_fitted():
    ids = TOKENIZER.encode("the film is good").ids
    for kind in SIZES:
        config = PageConfig.with_words(TOKENIZER, kind=kind, **SIZES[kind])
        model = PageModel(config, config.build().eval())
        table = 5 * torch.randn(2 * config.shift)
        start_from(table, 3.0, model)
        # Attention is nearly even, because its matrices begin small.
        wanted = 3 * table[ids].mean().item()
        assert model.read(ids, [False] * len(ids)).logit == pytest.approx(wanted, rel=0.2)


def test_the_scale_is_the_one_of_the_least_loss():
    table, ids = torch.tensor([0.0, 1.0, -1.0]), Ragged.from_lists([[1, 1], [2], [1, 2, 1], [2]])
    # Three of four labels fit, for which the best probability is that of log 3 in these means.
    assert best_scale(table, ids, [1, 0, 1, 1]) < best_scale(table, ids, [1, 0, 1, 0])


def test_sentences_are_cut_at_their_ends_and_long_ones_at_commas():
    text = 'I saw it.<br />"Great!" he said, and left. ' + "so long, " * 20 + "it was."
    pieces = list(cut_sentences(text))
    assert pieces[:2] == ["I saw it.", "he said, and left."]
    assert pieces[2:] == ["so long,"] * 20 + ["it was."]


def test_templates_are_filled_and_balanced():
    texts, labels = templates.build(4_000, seed=2)
    assert sum(labels) == 2_000
    capitals = Counter(word for text in texts for word in text.split() if word.isupper())
    assert set(capitals) == {"I"}
    found = dict(zip(texts, labels, strict=True))
    for frame, words in ((r"the \w+ is not (\w+)", templates.BAD), (r"so (\w+)", templates.GOOD)):
        filled = {text: match for text in found if (match := re.fullmatch(frame, text))}
        assert {found[text] for text in filled} == {0, 1}
        for text, match in filled.items():
            assert found[text] == (match[1] in words), text


def test_no_word_or_phrase_is_both_good_and_bad_and_each_has_a_frame():
    good, bad = templates.lists_of("good"), templates.lists_of("bad")
    assert set(good) == set(bad)
    for slot, words in good.items():
        # A clause with slots takes its polarity from what fills them.
        assert not [w for w in set(words) & set(bad[slot]) if w == w.lower()], slot
    # Each slot of a frame has a list, and each list a frame.
    frames = [text for _, *both in templates.GROUPS for text in both]
    clauses = [clause for each in ("good", "bad") for clause in templates.lists_of(each)["CLAUSE"]]
    found = set(templates.SLOT.findall(" ".join([*frames, *clauses])))
    lists = {*templates.neutral_lists(), *templates.lists_of("good")}
    assert lists <= found <= lists | {f"UN{slot}" for slot in templates.lists_of("good")}


def test_joined_texts_keep_their_labels_and_distractors_are_of_the_same_source():
    parts = {"a": Ragged.from_lists([[3]] * 50), "b": Ragged.from_lists([[4, 4]] * 70)}
    found = {"a": Reviews(["x"] * 50, [0] * 50), "b": Reviews(["y"] * 70, [1] * 70)}
    ids, labels = joined(parts, found, {"b": 2, "a": 1})
    assert [ids[i].tolist() for i in range(190)] == [[4, 4]] * 140 + [[3]] * 50
    assert labels == [1] * 140 + [0] * 50
    chosen: Examples = examples(parts, found, {"texts": {"a": 40, "b": 60}, "behind": 0.5})
    is_first, behind = chosen.review < 50, chosen.distractor >= 0
    assert (is_first.sum().item(), len(chosen)) == (40, 100)
    assert 30 < behind.sum() < 70
    assert torch.equal((chosen.distractor < 50)[behind], is_first[behind])


def test_the_measured_sentences_are_balanced_and_train_nothing():
    texts = [row["text"].upper() for row in read_sentences()]
    assert len(unmeasured(Reviews([*texts, "Another one."], [1] * (len(texts) + 1)))) == 1
    rows = rows_of(SENTENCES)
    assert len(rows) >= 150
    assert len({row["text"] for row in rows}) == len(rows)
    counts = Counter((row["kind"], row["part"], row["label"]) for row in rows)
    for kind, part in itertools.product({row["kind"] for row in rows}, ("choice", "report")):
        assert counts[kind, part, "0"] == counts[kind, part, "1"] > 0


def ids_of(*texts: str) -> Ragged:
    """Let each letter be a word; a is 3, because three ids have no word."""
    return Ragged.from_lists(
        [[ord(letter) - ord("a") + len(SPECIALS) for letter in text] for text in texts]
    )


def test_neighbours_are_counted_within_a_text_and_a_window():
    counts = cooccurrence.count_neighbours(ids_of("abca", "bd"), rows=8, window=2).toarray()
    a, b, c, d = range(len(SPECIALS), len(SPECIALS) + 4)
    wanted = {(a, b): 2, (a, c): 2, (b, c): 1, (b, d): 1}
    for (one, other), count in wanted.items():
        assert counts[one, other] == counts[other, one] == count
    assert counts.sum() == 2 * sum(wanted.values())


def test_words_with_the_same_neighbours_begin_with_the_same_vector():
    # x and y stand in the same places, and so do p and q, in texts of their own
    texts = [f"{a}{x}{b}" for x in "xy" for a in "abc" for b in "abc"]
    texts += [f"{a}{p}{b}" for p in "pq" for a in "efg" for b in "efg"]
    vectors = cooccurrence.word_vectors(ids_of(*texts), rows=30, dims=2, window=2, power=0.75)
    x, y, p, q = (vectors[ord(letter) - ord("a") + len(SPECIALS)] for letter in "xypq")
    torch.testing.assert_close(x, y)
    torch.testing.assert_close(p, q)
    assert (x - p).norm() > 1
    torch.testing.assert_close(vectors.mean(dim=0), torch.zeros(2), atol=1e-6, rtol=0)
    torch.testing.assert_close(vectors.std(dim=0), torch.ones(2))


def test_vectors_of_words_tell_groups_apart_and_leave_out_what_all_share():
    # Two groups alike, and z beside both
    texts = [f"{a}{x}{b}z" for x in "xy" for a in "abc" for b in "abc"]
    texts += [f"{a}{p}{b}z" for p in "pq" for a in "efg" for b in "efg"]
    vectors = cooccurrence.word_vectors(ids_of(*texts), rows=30, dims=1, window=3, power=0.75)
    x, p = (vectors[ord(letter) - ord("a") + len(SPECIALS)] for letter in "xp")
    assert (x - p).abs() > 1


def test_a_model_begins_with_vectors_and_matrices_that_spread_them():
    config = config_of("qkv")
    model = PageModel(config, config.build())
    drawn = model.classifier.embedding.weight.detach().clone()
    vectors = torch.randn(config.shift, 4)
    start_apart(vectors, model)
    started = model.classifier.embedding.weight
    assert torch.equal(started[: config.shift, 1:], vectors)
    assert torch.equal(started[:, 0], drawn[:, 0])
    assert torch.equal(started[config.shift :], drawn[config.shift :])
    for matrix in model.classifier.attention.parameters():
        torch.testing.assert_close(matrix @ matrix.T, torch.eye(len(matrix)))


def test_a_model_is_missing_if_it_or_the_data_changed():
    assert missing_models(RESULTS, RESULTS["data"]) == []
    assert missing_models(RESULTS, RESULTS["data"] | {"snippets": {}}) == [*CONFIG["models"]]
    changed = RESULTS["models"] | {"tiny": RESULTS["models"]["tiny"] | {"settings": {}}}
    assert missing_models(RESULTS | {"models": changed}, RESULTS["data"]) == ["tiny"]


def test_the_tiny_models_arrows_do_not_lie_on_one_line():
    words = TINY["embedding.weight"][len(SPECIALS) :]  # (words, 3)
    for name in trained.MATRICES:
        large, small = torch.linalg.svdvals(
            (words - words.mean(dim=0)) @ TINY[f"attention.{name}.weight"].T
        )
        assert small > large / 4, name


def test_results_are_of_todays_settings():
    recorded = {name: entry["settings"] for name, entry in RESULTS["models"].items()}
    assert recorded == {name: settings_of(name) for name in CONFIG["models"]}


@pytest.mark.parametrize("kind", trained_models.KINDS)
def test_the_committed_models_get_right_what_is_recorded(kind):
    model = trained_models.model(kind)
    found = measure_sentences(model, trained_models.tokenizer(), "report")
    assert found == RESULTS["models"][kind]["sentences in 8 bits"]["report"]
    right, count = found["all"]
    assert right / count >= 0.85
    assert model.config.recommended is (kind == "energy")


@pytest.mark.parametrize("kind", trained_models.KINDS)
def test_at_least_88_of_100_sentences_of_somebody_else_are_right(kind):
    rows = rows_of(trained.STRANGERS)
    assert len(rows) == 120
    right = [
        (trained_models.answer(kind, row["text"]).logit > 0) is (row["label"] == "positive")
        for row in rows
    ]
    assert sum(right) >= 0.88 * len(rows)


def test_a_sentence_has_trained_vectors_and_matrices():
    found = trained.sentence(["Not", "bad", "don't", "qwxz"])
    assert found["words"] == ["Not", "bad", "don't", "qwxz"]
    ids = [trained_models.tokenizer().token_to_id(word) for word in ("not", "bad")]
    wanted = TINY["embedding.weight"][[*ids, UNK_ID, UNK_ID]]
    assert torch.equal(torch.tensor(found["x"]), wanted)
    assert wanted[0].ne(wanted[1]).all()
    for name in trained.MATRICES:
        matrix = torch.tensor(found[name])
        assert matrix.shape == (3, 2)
        assert torch.equal(matrix, TINY[f"attention.{name}.weight"].T)


def test_the_tiny_model_is_right_as_often_as_it_says():
    # Once more, by the words and the formula
    ids = trained_models.tokenizer().get_vocab()
    rows = rows_of(trained.STRANGERS)
    right = 0
    for row in rows:
        words = re.findall("[a-z]+", row["text"].lower())
        x = TINY["embedding.weight"][[ids.get(word, UNK_ID) for word in words]]  # (n, 3)
        query, key, value = (x @ TINY[f"attention.{name}.weight"].T for name in trained.MATRICES)
        mixed = (query @ key.T / math.sqrt(2)).softmax(dim=-1) @ value  # (n, 2)
        logit = mixed.mean(dim=0) @ TINY["classifier.weight"][0] + TINY["classifier.bias"]
        right += (logit > 0).item() is (row["label"] == "positive")
    assert trained.right_answers() == (right, len(rows))
    assert right > 0.75 * len(rows)

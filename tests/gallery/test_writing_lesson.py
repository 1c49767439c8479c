"""The lesson on the model that writes: its losses, its draws, and the heads that copy."""

import itertools
import math

import pytest
import torch
from torch.nn import functional as F

from attention.language import START_ID

LESSON = "deeper/plot_9f_writing"


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def test_each_model_predicts_better_than_the_one_before(page):
    values = list(page["nats"].values())
    assert values[0] == math.log(2048)
    assert all(after < before - 0.5 for before, after in itertools.pairwise(values))
    # What is counted are probabilities.
    assert page["single"].sum().item() == pytest.approx(1, abs=1e-4)
    torch.testing.assert_close(page["behind"].sum(dim=-1), torch.ones(2048))
    ids = page["held_out"][:4]  # the loss is the cross-entropy of the model's own logits
    logits = page["model"](ids)[:, :-1]
    whole = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    found = page["losses"](page["model"], ids).flatten()
    torch.testing.assert_close(found, whole, atol=1e-4, rtol=1e-4)


def test_a_lower_temperature_leaves_less_to_chance(page):
    write, written = page["write"], page["written"]
    assert write(0, seed=1) == write(0, seed=2) == written[0]
    assert write(0.8, seed=1) != write(0.8, seed=2)
    assert len(set(written.values())) == 3
    most_repeated = [max(map(words.count, words)) for words in map(str.split, written.values())]
    assert most_repeated[0] > most_repeated[-1]
    ids = [*page["ids"]]  # at 0 the likeliest token is taken
    for _ in range(5):
        ids.append(page["model"](torch.tensor(ids))[-1].argmax().item())
    assert written[0].startswith(page["tokenizer"].decode(ids))


def test_the_nearest_tokens_give_most_of_the_gain_if_start_is_kept(page):
    alone, kept = zip(*page["by_window"].values(), strict=True)
    for column in (alone, kept):
        assert list(column) == sorted(column, reverse=True)
    assert kept[0] - kept[3] > 0.75 * (kept[0] - kept[-1])
    assert alone[-2] > page["nats"]["by frequency"]  # 64 tokens without <start>
    assert alone[-1] == pytest.approx(kept[-1], abs=1e-5)


def test_the_second_time_is_copied_from_its_second_token_on(page):
    reviews, twice = page["at_position"].values()
    assert reviews[0] > reviews[1:].max() + 0.5
    assert twice[63] > 8  # the first token of the repetition
    assert twice[64:].max() < 1 < reviews[64:].min() - 2
    assert reviews[1:].std() < 0.4


def test_one_head_attends_behind_the_earlier_occurrence_and_one_to_the_token_before(page):
    ids, i = page["random_twice"], page["i"]
    assert torch.equal(ids[:, i], ids[:, i - 60])
    assert (ids[:, 0] == START_ID).all()
    assert page["induction"] == (3, 1)
    assert page["previous"] == (2, 0)
    tables = page["attended"]
    copying = tables["the token after the earlier one"].flatten().sort(descending=True).values
    assert copying[0] > 0.7
    assert copying[1] < 0.05
    before = tables["the token before"].flatten().sort(descending=True).values
    assert before[0] > 0.8
    assert before[1] < 1 / 3


def test_copying_ends_without_either_head_and_attention_without_the_earlier_alone(page):
    whole, removed = page["whole"], page["removed"]
    even = math.log(2048)
    for each in (page["induction"], page["previous"]):
        assert removed[each][0] > 11 > even > whole[0] + 6
        assert abs(removed[each][0] - page["first_time"]) < 1  # as if nothing were repeated
    assert removed[page["induction"]][2] == pytest.approx(whole[2].item(), abs=1e-4)
    assert removed[page["previous"]][2] < 0.05 < 0.7 < whole[2]
    assert removed[page["induction"]][1] - whole[1] < 0.15  # on reviews it is worth little


def test_copying_falls_also_without_four_heads_and_a_constant_replaces_three_of_them(page):
    two = page["induction"], page["previous"]
    others = {each: found for each, found in page["removed"].items() if each not in two}
    needed = {each for each, found in others.items() if found[0] > 6.5}
    assert needed == {(0, 2), (0, 3), (1, 2), (2, 3)}
    for each, (copied, _, weight) in others.items():
        assert (weight.item() < 0.25) is (each in needed)
        assert each in needed or (copied < 1.4 and weight > 0.6)
    for name in ("the token before", "the token after the earlier one"):
        assert max(page["attended"][name][each] for each in needed) < 0.05
    whole, constant = page["whole"], page["constant"]
    assert set(constant) == {*needed, *two}
    replaceable = {each for each, found in constant.items() if found[0] < whole[0] + 0.5}
    assert replaceable == {(0, 2), (0, 3), (2, 3)}
    assert all(found[0] > 8 for each, found in constant.items() if each not in replaceable)


def test_an_averaged_head_hands_over_the_same_everywhere_and_the_others_what_they_did(page):
    layer, head = 1, 2
    ids, handed = page["random_twice"][:4], []
    for model in (page["model"], page["averaged"](layer, head)):
        W_out = model.encoder.blocks[layer].attention.W_out
        hook = W_out.register_forward_pre_hook(lambda _, inputs: handed.append(inputs[0]))
        model(ids)
        hook.remove()
    before, after = (each.unflatten(-1, (page["h"], -1)) for each in handed)
    mean = before[..., head, :].mean(dim=(0, 1))
    torch.testing.assert_close(after[..., head, :], mean.expand_as(after[..., head, :]))
    others = [each for each in range(page["h"]) if each != head]
    torch.testing.assert_close(after[..., others, :], before[..., others, :])


def test_a_head_without_its_columns_hands_over_nothing(page):
    x = torch.randn(2, 5, 80)

    def attended(layer, *heads):
        changed = page["without"](*((layer, head) for head in heads))
        return changed.encoder.blocks[layer].attention(x, is_causal=True)

    for layer in range(page["L"]):
        assert not attended(layer, 0, 1, 2, 3).any()
        parts = attended(layer, 1) + attended(layer, 0, 2, 3)
        torch.testing.assert_close(parts, attended(layer), atol=1e-4, rtol=1e-4)


def test_start_is_the_same_in_every_text_and_is_missed_most(page):
    model, ids = page["model"], page["held_out"][:8]
    hidden = model.embedding(ids)
    for block in model.encoder.blocks:
        hidden = block(hidden, is_causal=True)
        assert (hidden[:, 0] - hidden[0, 0]).abs().max() < 1e-5
        assert (hidden[:, 1] - hidden[0, 1]).abs().max() > 0.1
    (zero, masked), (word_zero, word_masked) = page["sinks"].values()
    unchanged, nats = page["unchanged"], page["nats"]
    assert masked - unchanged > nats["by frequency"] - nats["the model"]
    assert 0 < zero - unchanged < 0.1 * (masked - unchanged)  # the place counts, not the value
    assert max(word_zero, word_masked) - unchanged < 0.1
    assert page["on_start"][page["induction"]] > 0.9
    assert page["attended"]["<start>"][page["induction"]] < 0.2  # where tokens repeat

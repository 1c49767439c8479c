"""The lessons on masks and heads: what they claim."""

import math

import pytest
import torch
from run_pages import check_lesson
from torch.testing import assert_close


def test_without_a_mask_a_model_copies_the_answer_and_with_one_it_stays_at_chance():
    page = check_lesson("core/plot_4_masks").names
    accuracy, ids = page["accuracy"], page["vectors"](page["ids"])
    assert accuracy(page["sees_all"](ids)[:, :-1]) > 0.99
    chance = [
        accuracy(page["predict_as_generator"](page[layer])) for layer in ("sees_all", "honest")
    ]
    chance.append(accuracy(page["honest"](ids)[:, :-1]))
    assert chance == pytest.approx([1 / 6] * 3, abs=0.03)
    assert page["next_word_loss"](page["honest"]).item() == pytest.approx(math.log(6), abs=0.05)


def test_rows_that_were_generated_with_a_cache_are_those_of_one_pass():
    page = check_lesson("core/plot_4_masks").names
    assert_close(torch.cat(page["rows"]), page["layer"](page["x"]).detach())
    assert (page["moved"] > 0).tolist() == [False, False, False, True, True, True]


def test_two_heads_meet_two_targets_and_one_does_not():
    page = check_lesson("core/plot_5_multi_head").names
    assert page["missed"][1] > 0.3
    assert page["missed"][2] < 0.005
    first, previous = page["weights"][0]
    assert first[1:, 0].min() > 0.9
    assert previous[range(1, 6), range(5)].min() > 0.8


def test_cross_attention_finds_the_translation_or_everything_but_it():
    page = check_lesson("core/plot_5_multi_head").names
    assert_close(page["cross_weights"], page["translation"], atol=0.02, rtol=0)
    missed, weight = torch.tensor(page["found"]).T
    assert missed.max() < 0.01
    found, avoided = weight > 0.9, weight < 0.1
    assert (found | avoided).all()
    assert found.any()
    assert avoided.sum() > 2

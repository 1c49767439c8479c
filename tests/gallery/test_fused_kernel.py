"""What the lesson on FlashAttention and the online softmax claims, and what would be false."""

import itertools
import math

import pytest
import torch
from run_pages import GALLERY, check_lesson, run
from torch.utils.flop_counter import FlopCounterMode

from attention import scaled_dot_product_attention

LESSON = "deeper/plot_9d_fused_kernel"


def test_of_the_six_scores_the_second_alone_raises_the_maximum(page):
    scores, largest, factors, totals = zip(*page["steps"], strict=True)
    assert largest == tuple(itertools.accumulate(scores, max))
    assert factors[0] == 0
    assert factors[1] == pytest.approx(math.exp(scores[0] - scores[1]))
    assert 0 < factors[1] < 1
    assert factors[2:] == (1, 1, 1, 1)
    assert totals[-1] == pytest.approx(sum(math.exp(score - largest[-1]) for score in scores))
    # Where the drawn maximum rises, the drawn total falls.
    steps = list(zip(page["drawn_largest"], page["drawn_total"], strict=True))
    rises, falls = set(), set()
    for block, ((top, total), (higher, after)) in enumerate(itertools.pairwise(steps), 2):
        rises |= {block} if higher > top else set()
        falls |= {block} if after < total else set()
    assert rises == falls == {3, 5}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (" total = shrink * ", " total = "),
        (" mixed = shrink * ", " mixed = "),
        ("(d_weights - shared)", "d_weights"),
    ],
)
def test_without_one_of_its_factors_the_kernel_is_wrong(right, wrong, tmp_path):
    lesson = GALLERY / f"{LESSON}.py"
    source = lesson.read_text(encoding="utf-8")
    assert source.count(right) == 1
    path = tmp_path / lesson.name
    path.write_text(source.replace(right, wrong), encoding="utf-8")
    with pytest.raises(AssertionError):
        run(path)


def test_the_order_of_the_blocks_does_not_matter(page):
    assert not page["empty_context"].any()
    query, key, value = torch.randn(3, 20, 4, dtype=torch.float64).unbind(0)
    order = torch.randperm(20)
    (right, right_lse), (context, lse) = (
        page["attend_in_blocks"](query, key[keys], value[keys], None, 3)
        for keys in (torch.arange(20), order)
    )
    torch.testing.assert_close(context, right)
    torch.testing.assert_close(lse, right_lse)
    scores = query @ key.T / 2
    torch.testing.assert_close(lse, scores.logsumexp(dim=-1, keepdim=True))


def test_the_backward_pass_by_hand_takes_one_product_more(page):
    counts, one = {}, 2 * 20 * 20 * 4
    for name, attend in (
        ("formula", lambda *inputs: scaled_dot_product_attention(*inputs)[0]),
        ("by hand", lambda *inputs: page["AttentionInBlocks"].apply(*inputs, None, 20)),
    ):
        leaves = [torch.randn(20, 4, requires_grad=True) for _ in range(3)]
        with FlopCounterMode(display=False) as forward:
            context = attend(*leaves)
        with FlopCounterMode(display=False) as backward:
            context.sum().backward()
        counts[name] = [each.get_total_flops() / one for each in (forward, backward)]
    assert counts == {"formula": [2, 4], "by hand": [2, 5]}


def test_the_peak_grows_with_the_length_or_with_its_square(page):
    assert "8,192            8.0 MiB   256 MiB     32 times as much" in check_lesson(LESSON).printed
    measured, lengths = page["measured"], page["LENGTHS"]

    def growth(name, which):
        return measured[name][-1][which] / measured[name][-2][which]

    assert lengths[-1] == 2 * lengths[-2]
    for name, grows in {
        "formula": (4, 4),
        "blocks, autograd": (2, 4),
        "blocks, by hand": (2, 2),
        "torch's kernel": (2, 2),
    }.items():
        for which in (0, 1):
            assert growth(name, which) == pytest.approx(grows[which], abs=0.25), (name, which)
    matrix = 4 * lengths[-1] ** 2
    assert measured["formula"][-1][0] > 2 * matrix
    for which in (0, 1):
        assert max(measured[name][-1][which] for name in list(measured)[2:]) < matrix / 3
    assert [pair[0] for pair in measured["blocks, autograd"]] == [
        pair[0] for pair in measured["blocks, by hand"]
    ]
    assert measured["blocks, autograd"][-1][1] > measured["formula"][-1][1]


def test_what_is_counted_is_what_is_alive(page):
    with page["PeakBytes"]() as peak:
        first = torch.zeros(1_000)
        second = first + 1
        view = second[:500]
        del first, second
        third = view + torch.zeros(500)
    assert peak.peak == 4 * (1_000 + 1_000)
    assert sum(peak.alive.values()) == 4 * (1_000 + 500)  # a view keeps all of its memory
    assert third.sum() == 500


def test_linear_attention_has_the_rank_of_its_features_unless_a_mask_is_causal(page):
    for (name, k), rank in page["ranks"].items():
        assert rank == (k if name in ("linear", "read back") else 64), (name, k)
    assert page["singular_values"]["softmax", 8][-1] > 1e-6
    for k in (8, 32):
        values = page["singular_values"]["linear", k]
        assert values[k - 1] > 1e-6
        assert values[k] < 1e-12

"""The lesson on what heads can share: its equalities, its counts, and where its claims end."""

import pytest
import torch
from run_pages import check_lesson
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attention import KVCache, LatentAttention, MultiHeadAttention

LESSON = "deeper/plot_9b_grouped_and_latent"


def test_the_published_models_keep_what_the_page_counts(page):
    kept = {name: 2 * h_kv * k * L for name, (L, _, h_kv, k) in page["published"].items()}
    printed = check_lesson(LESSON).printed
    for name, count in kept.items():
        row = next(line for line in printed.splitlines() if line.startswith(name))
        assert f"{count:,}" in row
        has_own = page["published"][name][1] == page["published"][name][2]
        assert (count * 2 * 2048 > 2**31) is has_own  # gigabytes, where each head has its own


def test_repeat_only_numbers_the_heads_of_queries_differently(page, monkeypatch):
    assert page["slip"] > 0.1
    for name, value in (("h", 6), ("h_kv", 2)):
        monkeypatch.setitem(page, name, value)
    x = torch.randn(3, 7, 24, dtype=torch.float64)
    layer, renumbered = (MultiHeadAttention(24, 6, num_kv_heads=2).double() for _ in range(2))
    state, order = layer.state_dict(), torch.tensor([0, 2, 4, 1, 3, 5])
    state["W_query.weight"] = state["W_query.weight"].unflatten(0, (6, 4))[order].flatten(0, 1)
    state["W_out.weight"] = state["W_out.weight"].unflatten(1, (6, 4))[:, order].flatten(1)
    renumbered.load_state_dict(state)
    by_repeat = page["grouped"](layer, x, page["repeated"])
    assert_close(by_repeat, renumbered(x, is_causal=True), rtol=0, atol=1e-12)


def test_windows_reach_further_with_every_layer_and_faintly(page):
    assert page["reach"] == {L: 4 * L for L in (1, 2, 3, 4)}
    for L in (2, 3, 4):
        assert page["influence"][L][4 * L] < 0.01 * page["influence"][L].max()


def test_the_absorbed_form_is_multi_query_attention(page):
    layer, (d, h, k, r) = page["latent_layer"], (32, 4, 8, 6)
    shared = MultiHeadAttention(d, h, num_kv_heads=1, head_dim=r).double()
    # The scale of the other layer is 1/√r, that of the latent 1/√k.
    query = (page["W_query"] @ page["W_key"].mT) * (r / k) ** 0.5  # (h, d, r)
    shared.load_state_dict(
        {
            "W_query.weight": query.mT.flatten(0, 1),
            "W_key.weight": layer.W_latent.weight,
            "W_value.weight": layer.W_latent.weight,
            "W_out.weight": (page["W_value"] @ page["W_out"]).flatten(0, 1).T,
        }
    )
    x = torch.randn(11, d, dtype=torch.float64)
    assert_close(shared(x), layer(x, absorbed=True), rtol=0, atol=1e-12)
    # With rotation, the matrix to absorb depends on the distance.
    assert page["changes"][0] == 0
    assert min(change for distance, change in page["changes"].items() if distance) > 0.3
    assert page["order_matters"][0] < 1e-12
    assert page["order_matters"][4] > 1e-3


def test_a_latent_holds_any_groups_and_groups_do_not_hold_a_latent(page):
    ranks = {name: int(rank) for name, (rank, _) in page["ranks"].items()}
    assert ranks == {"multi-head": 32, "two groups": 16, "latent, r = 6": 6}
    assert page["two"].W_query.weight.std() > 0.05  # not two layers of zeros
    key = page["as_latent"].W_key.weight  # (h k, r): the two heads of a group have the same keys
    assert torch.equal(key[:8], key[8:16])
    key = LatentAttention(32, 4, latent_dim=32).W_key.weight
    assert torch.linalg.matrix_rank(key[:16]) > 8


def test_a_truncation_that_knows_the_inputs_moves_a_real_encoder_least(page):
    moved = page["distances"]
    for name in ("by the matrix", "by the data"):
        assert moved[name, 96] > moved[name, 192] > moved[name, 288] > 0
    for r in (96, 192, 288):
        assert moved["by the data", r] < 0.5 * moved["by the matrix", r]
    assert moved["by the matrix", 192] < moved["mean of groups", 192]
    assert moved["mean of groups", 384] > moved["by the matrix", 288]
    assert page["moved"](page["stacked"]) < 1e-5  # the matrices are put back


def test_a_latent_keeps_as_much_for_any_number_of_heads(page):
    kept = page["kept"]
    for h in page["head_counts"]:
        assert kept["multi-head", h] == 2 * h * 32 * 4
        assert kept["4 heads per group", h] == kept["multi-head", h] / 4
        assert kept["multi-query", h] == 2 * 32 * 4
        assert kept["latent", h] == 4.5 * 32 * 4
    assert kept["4 heads per group", 8] < kept["latent", 8]
    assert kept["4 heads per group", 16] > kept["latent", 16]
    assert (512 + 64) / (2 * 128) == 2.25


@pytest.mark.parametrize(("n", "m"), [(1, 40), (7, 40), (40, 40)])
def test_the_multiplications_are_those_that_torch_counts(page, n, m):
    d, h, k, r = 24, 4, 6, 10
    layer = LatentAttention(d, h, head_dim=k, latent_dim=r).requires_grad_(False)
    in_both = n * d * (h * k + r + h * k)
    for absorbed in (False, True):
        cache = KVCache(m)
        if m > n:
            layer(torch.randn(m - n, d), is_causal=True, cache=cache)
        counter = FlopCounterMode(display=False)
        with counter:  # the formula spelled out, because the kernel pads its inputs
            layer(
                torch.randn(n, d), is_causal=True, cache=cache, absorbed=absorbed, need_weights=True
            )
        counted = page["multiplications"](n, m, h, k, r)[absorbed]
        assert counter.get_total_flops() == 2 * (counted + in_both)


def test_the_forms_break_even_where_the_page_says(page):
    h, k, r = 128, 128, 512
    for n, trained_wins in ((170, False), (172, True)):
        trained, absorbed = page["multiplications"](n, 10**9, h, k, r)
        assert (trained < absorbed) is trained_wins
    assert page["ratio"]["one token"] > 100
    assert page["ratio"]["a prompt"] < 0.3

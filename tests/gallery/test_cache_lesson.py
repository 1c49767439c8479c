"""The lesson on the KV cache: what a cache must not change, and what each slip changes."""

import pytest
import torch
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from attention import KVCache, MultiHeadAttention, TransformerBlock

LESSON = "deeper/plot_9c_cache"


def test_an_appended_token_moves_no_earlier_row_under_a_causal_mask(page):
    moved = page["moved_by_append"]
    assert len(moved) == 6
    for (is_causal, _), change in moved.items():
        assert (change < 1e-12) is is_causal
        assert is_causal or change > 1e-3
    # Without a mask the last token moves from the second layer on.
    assert page["unmasked"][1] < 1e-12
    assert min(page["unmasked"][2], page["unmasked"][3]) > 1e-3


@pytest.mark.parametrize("pieces", [[9], [4, 5], [1] * 9, [3, 1, 4, 1]])
@pytest.mark.parametrize("rotary", [False, True])
def test_the_cache_that_the_reader_writes_changes_no_number(page, pieces, rotary):
    layer = MultiHeadAttention(24, 3, rotary=rotary).double().requires_grad_(False)
    x = torch.randn(9, 24, dtype=torch.float64)
    cache, rows = page["Cache"](3, 9, 8), []
    for piece in x.split(pieces):
        positions = torch.arange(cache.length, cache.length + len(piece)) if rotary else None
        rows.append(page["attend"](layer, piece, cache, positions))
    assert_close(torch.cat(rows), layer(x, is_causal=True), rtol=0, atol=1e-12)


def test_each_slip_changes_the_numbers_and_its_cure_does_not(page):
    errors = page["position_errors"]
    assert errors["continued from the cache"] < 1e-12
    assert errors["from 0 at each step"] > 0.01
    assert page["top_left"].flatten().tolist() == [1, 0, 0, 0, 0]
    assert page["bottom_right"].min() > 0.01
    # More than one token is generated: one for ever would prove little.
    assert len(page["whole"]) == 14
    assert len(set(page["whole"][6:].tolist())) > 3


def test_a_full_cache_refuses_a_token_and_the_readers_drops_it_silently(page):
    assert "torch.no_grad()" in page["refusals"]["a gradient"]
    assert "max_length = 13" in page["refusals"]["a full cache"]
    cache = page["Cache"](2, 3, 4)
    cache.append(*torch.randn(2, 2, 3, 4, dtype=torch.float64))
    before = cache.keys.clone()
    keys, _ = cache.append(*torch.randn(2, 2, 1, 4, dtype=torch.float64))
    assert torch.equal(keys, before)


def test_the_bytes_follow_the_formula(page):
    for m, counted in page["measured_bytes"].items():
        assert counted == page["cache_bytes"](m, 3, 4, 8, size=8)
    assert page["kept_per_token"] == {
        "multi-head": 2 * 32 * 128 * 32 * 2,
        "grouped-query": 2 * 8 * 128 * 32 * 2,
        "latent": (512 + 64) * 32 * 2,
    }
    sizes = page["sizes"]
    level = sizes["with a window"]
    assert level[:3] == sizes["grouped-query"][:3]
    assert set(level[3:]) == {level[2]}
    assert page["lengths_of_texts"][2] == 4096


@pytest.mark.parametrize("m", [1, 5, 30])
def test_the_work_is_what_torch_counts(page, m):
    d = 24
    block = TransformerBlock(d, 3, bias=False).requires_grad_(False)
    x = torch.randn(m, d)
    cache = KVCache(m)
    if m > 1:
        block(x[1:], is_causal=True, cache=cache)
    for cached in (False, True):
        options = {"cache": cache} if cached else {}
        tokens = x[:1] if cached else x
        with FlopCounterMode(display=False) as counter:  # spelled out: the kernel pads its inputs
            block(tokens, is_causal=True, need_weights=True, **options)
        assert counter.get_total_flops() == 2 * page["work"](m, d, cached)
    assert page["work"](m, d, cached=False) == m * page["work"](m, d, cached=True)


def test_without_the_mask_the_padding_is_read(page):
    encoder, embedding = page["encoder"], page["embedding"]
    padded = encoder(embedding(page["batch"][1]), is_causal=True)[-1]
    alone = encoder(embedding(page["short"]), is_causal=True)[-1]
    assert (padded - alone).abs().max() > 1e-3

"""The lesson on rotary positions: what it claims, computed once more where that is possible."""

import pytest
import torch
from torch.testing import assert_close

from attention import apply_rotary, scaled_dot_product_attention

LESSON = "deeper/plot_9a_rotary"


@pytest.fixture
def in_64_bits(page):
    """Compute in float64, as the first part of the page does, whose functions take the default."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def mean(each):
    return torch.stack([curve.mean() for curve in each])


def test_scores_survive_a_common_shift_and_no_other_change(page):
    scores = page["scores"]
    survived = {name for name, s in page["moved"].items() if page["error"](s, scores) < 1e-12}
    assert survived == {"all words, by 1", "all words, by 1,000"}
    assert (
        min(page["error"](s, scores) for n, s in page["moved"].items() if n not in survived) > 0.1
    )
    assert_close(scores[1, 1], page["query"][1] @ page["key"][1])
    same = page["same"]  # of copies of one word, which are equal along each diagonal
    for distance in range(-5, 6):
        diagonal = same.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal))
    assert same[0].std() > 0.1


def test_permuted_rows_convert_a_layout_and_mixing_them_passes_every_other_check(page):
    assert max(page["checked"].values()) < 1e-12
    assert torch.equal(page["by_permute"], page["W_query"][page["order"]])
    assert mean(page["mixed_up"]).max() < 0.5  # the trained models read what they were trained on
    assert mean(page["curves"]["RoPE"][:, :27]).min() > 0.99


def test_k_of_k_squared_dimensions_of_the_gauge_survive(page, in_64_bits):
    k = page["k"]
    assert page["free"] == {
        "no rotation": k * k,
        "RoPE": k,
        "RoPE with one speed for all": k * k // 2,
    }
    for name in page["gauges"]:
        assert page["changed"][name, False] < 1e-12
        assert (page["changed"][name, True] < 1e-12) == (name == "a complex number per pair")
    # Each solution is a complex number per pair: blocks (a, b), (−b, a) and nothing between them.
    for R in page["commuting"](page["rotation"](1)):
        blocks = R.unflatten(0, (-1, 2)).unflatten(-1, (-1, 2)).transpose(1, 2)  # (4, 4, 2, 2)
        own = blocks.diagonal().movedim(-1, 0)  # (4, 2, 2)
        assert_close(own.square().sum(), R.square().sum(), atol=1e-9, rtol=0)
        assert_close(own[:, 0, 0], own[:, 1, 1], atol=1e-9, rtol=0)
        assert_close(own[:, 0, 1], -own[:, 1, 0], atol=1e-9, rtol=0)


def test_the_key_bias_is_dead_without_rotation_and_alive_with_it(page):
    for name in page["parts"]:
        assert (page["without"][name, False] < 1e-12) == name.startswith(("3", "4"))
        assert page["without"][name, True] > 0.05
    assert page["gradients"]["W_key", False] < 1e-15
    assert min(page["gradients"]["W_key", True], page["gradients"]["W_query", False]) > 1e-5
    # There is a product per distance, and they span k dimensions.
    assert page["error"](page["by_one"], page["with_rope"]) > 0.5
    assert page["independent"] == page["k"] < len(page["M"])


def test_the_small_model_is_attention_over_rotated_queries_and_keys(page):
    model = page["models"]["RoPE", 0]
    ids = torch.randint(page["TOKENS"], (3, 40))
    with torch.no_grad():
        x = model.embedding(ids)
        query, key = apply_rotary(model.W_query(x)), apply_rotary(model.W_key(x))
        causal = torch.ones(40, 40).tril().bool()
        context, _ = scaled_dot_product_attention(query, key, model.W_value(x), causal)
        assert_close(model(ids), model.classifier(context), atol=1e-3, rtol=1e-4)
        assert_close(model(ids)[:, :32], model(ids[:, :32]), atol=1e-3, rtol=1e-4)


def test_past_the_trained_length_rope_fails_later_than_sinusoids(page):
    rope, sinusoids = page["curves"]["RoPE"], page["curves"]["sinusoids"]
    for curve in (rope, sinusoids):
        assert mean(curve[:, :27]).min() > 0.99
    for n in (64, 128):
        assert mean(rope[:, : n - 5]).min() > mean(sinusoids[:, : n - 5]).max()
    # Sinusoids fail at once; RoPE where a distance that looks like 5 comes into reach.
    assert mean(sinusoids[:, 27:43]).max() < 0.9
    assert mean(rope[:, 27:44]).min() > 0.99
    assert mean(rope[:, -10:]).max() < 0.6
    # Which distances these are follows from the speeds.
    new = [distance for distance in page["alike"] if distance >= page["TRAINED"]]
    assert [distance for distance in page["alike"] if distance < page["TRAINED"]] == [4, 5, 6]
    assert 0 < len(new) < 8
    for shares in page["by_distance"]:
        assert shares[new].sum() > 0.4
        assert shares[page["TRAINED"] :].sum() > 0.5
        assert shares[5] > 0.05
    # A window of the trained length repairs RoPE alone.
    assert mean(page["windowed"]["RoPE"]).min() > 0.99
    assert mean(page["windowed"]["sinusoids"]).max() < 0.9


def test_interpolation_moves_the_copied_place_and_the_base_does_not(page):
    chance = 1 / page["TOKENS"]
    for n in (64, 128):
        assert mean(page["extended"]["interpolated", n]).max() < chance + 0.05
        assert mean(page["elsewhere"][n]).min() > 4 * chance
    assert page["back"] == {64: 10, 128: 20}
    assert mean(page["extended"]["NTK-aware base", 64]).min() > 0.95
    # The base slows the slowest pair by the ratio of lengths, and the fastest not at all.
    d = page["d"]
    new, old = (
        base ** -(torch.arange(0, d, 2) / d) for base in (page["ntk_aware"](64)["base"], 1e4)
    )
    assert_close((new / old)[[0, -1]], torch.tensor([1.0, 0.5]))
    tuned = page["tuned"]  # interpolated positions need more training than longer ones
    assert mean(tuned["as they are", 20]).min() > 0.95
    assert mean(tuned["interpolated", 20]).max() < 0.2
    assert mean(tuned["interpolated", 250]).min() > 0.9

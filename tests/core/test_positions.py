"""Positions against the sines and cosines of Python's own math."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import DTYPES

from attention import MultiHeadAttention, SinusoidalPositions, positions_from_end


def wave(position, feature, embed_dim, base):
    """Return one number of the table: feature pairs 2i, 2i + 1 turn at 1 / base^(2i/d)."""
    angle = position / base ** ((feature - feature % 2) / embed_dim)
    return math.cos(angle) if feature % 2 else math.sin(angle)


@for_each(leading=((), (2,), (2, 3), (1, 0)))
def test_positions_are_added_in_any_leading_dimensions(leading):
    add_positions, x = SinusoidalPositions(6), torch.randn(*leading, 7, 6)
    counted = torch.arange(7)
    assert torch.equal(add_positions(x), x + add_positions(torch.zeros(7, 6)))
    assert torch.equal(add_positions(x, counted), add_positions(x))
    assert torch.equal(add_positions(x, counted.expand(*leading, 7)), add_positions(x))


def test_each_token_gets_the_position_it_is_given():
    add_positions = SinusoidalPositions(6, max_length=11)
    positions = torch.randint(0, 11, (2, 3, 7))
    added = add_positions(torch.zeros(2, 3, 7, 6), positions)
    assert torch.equal(added[1, 2, 5], add_positions(torch.zeros(11, 6))[positions[1, 2, 5]])
    for dtype in (torch.int32, torch.uint8):
        narrow = positions.to(dtype)
        assert torch.equal(add_positions(torch.zeros(2, 3, 7, 6), narrow), added)


@for_each(
    sizes=((7, 10_000.0), (6, 1_000.0), (1, 10_000.0)),
    dtype=DTYPES,
    default=(torch.float32, torch.bfloat16),
)
def test_table_is_the_equation_wherever_the_model_is(sizes, dtype, default):
    d, base = sizes
    far = torch.tensor([0, 1, 10, 511, 9_999])
    expected = torch.tensor(
        [[wave(p, i, d, base) for i in range(d)] for p in far.tolist()], dtype=torch.float64
    )
    try:
        torch.set_default_dtype(default)
        with torch.device("meta"):
            add_positions = SinusoidalPositions(d, max_length=10_000, base=base)
        add_positions = copy.deepcopy(add_positions.to_empty(device="cpu").to(dtype))
    finally:
        torch.set_default_dtype(torch.float32)
    added = add_positions(torch.zeros(5, d, dtype=dtype), far)
    rounding = max(torch.finfo(dtype).eps, 1e-11)
    torch.testing.assert_close(added, expected.to(dtype), rtol=0, atol=rounding)
    nowhere = add_positions(torch.zeros(5, d, dtype=dtype, device="meta"))
    assert (nowhere.dtype, nowhere.device.type) == (dtype, "meta")


def test_table_is_neither_trained_nor_saved():
    add_positions = SinusoidalPositions(6)
    assert not list(add_positions.parameters())
    assert not add_positions.state_dict()
    x = torch.randn(7, 6, requires_grad=True)
    add_positions(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(7, 6))


def test_autocast():
    add_positions, x = SinusoidalPositions(6), torch.randn(7, 6, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(
            add_positions(x).float(), add_positions(x.float()), rtol=0.02, atol=0.02
        )


@given(
    lengths=st.lists(st.integers(0, 7), max_size=5),
    dtype=st.sampled_from((torch.int64, torch.int32, torch.int8, torch.uint8)),
)
def test_words_are_counted_from_the_last(lengths, dtype):
    positions = positions_from_end(torch.tensor(lengths, dtype=dtype), 7)
    expected = [[max(length - 1 - j, 0) for j in range(7)] for length in lengths]
    assert torch.equal(positions.long(), torch.tensor(expected, dtype=torch.int64).reshape(-1, 7))


def test_positions_from_end_maps_over_a_batch():
    lengths = torch.tensor([2, 0, 3])
    mapped = torch.vmap(lambda length: positions_from_end(length, 3))(lengths)
    assert torch.equal(mapped, positions_from_end(lengths, 3))
    add_positions, x = SinusoidalPositions(6, max_length=7), torch.randn(3, 3, 6)
    torch.testing.assert_close(torch.vmap(add_positions)(x, mapped), add_positions(x, mapped))


def test_positions_that_fit_no_call_are_refused():
    table = SinusoidalPositions(6, max_length=11)
    x = torch.zeros(2, 7, 6)
    shape = r"positions: expected a shape that broadcasts to \(2, 7\), got "
    for positions, error, message in (
        (list(range(7)), TypeError, "positions: expected a tensor of integers, got list"),
        (torch.zeros(3, 7).long(), ValueError, shape + r"\(3, 7\)"),
        (torch.zeros(2, 2, 7).long(), ValueError, shape + r"\(2, 2, 7\)"),
    ):
        for layer in (table, MultiHeadAttention(6, 1, rotary=True)):
            with pytest.raises(error, match=message):
                layer(x, positions=positions)
    for positions, message in (
        (torch.arange(7) - 1, "expected 0 to max_length - 1 = 10, got -1 to 5"),
        (torch.arange(7) + 5, "expected 0 to max_length - 1 = 10, got 5 to 11"),
    ):
        with pytest.raises(ValueError, match=message):
            table(x, positions)
    assert table(torch.zeros(11, 6)).shape == (11, 6)
    with pytest.raises(ValueError, match="x: expected at most max_length = 11 tokens, got 12"):
        table(torch.zeros(12, 6))


def test_wrong_arguments_are_refused():
    for call, arguments, error, message in (
        (SinusoidalPositions, {"embed_dim": 0}, ValueError, "embed_dim: expected at least 1, got"),
        (
            SinusoidalPositions,
            {"embed_dim": 4, "max_length": 0},
            ValueError,
            "max_length: expected",
        ),
        (SinusoidalPositions, {"embed_dim": 4, "base": 0.0}, ValueError, "base: expected a number"),
        (positions_from_end, {"lengths": [1], "n": 3}, TypeError, "lengths: expected a tensor of"),
        (positions_from_end, {"lengths": torch.tensor([4]), "n": 3}, ValueError, "expected 0 to n"),
    ):
        with pytest.raises(error, match=message):
            call(**arguments)

"""Positions against the sines and cosines of Python's own math."""

import copy
import functools
import math

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import DTYPES

from attention import SinusoidalPositions, positions_from_end


def wave(position, feature, embed_dim, base):
    """Return one number of the table: feature pairs 2i, 2i + 1 turn at 1 / base^(2i/d)."""
    angle = position / base ** ((feature - feature % 2) / embed_dim)
    return math.cos(angle) if feature % 2 else math.sin(angle)


@pytest.mark.parametrize(("embed_dim", "base"), [(6, 10_000.0), (7, 1_000.0), (1, 10_000.0)])
def test_table_is_the_equation(embed_dim, base):
    add_positions = SinusoidalPositions(embed_dim, max_length=11, base=base)
    expected = torch.tensor(
        [[wave(p, i, embed_dim, base) for i in range(embed_dim)] for p in range(11)]
    )
    torch.testing.assert_close(add_positions(torch.zeros(11, embed_dim)), expected)


def test_base_is_ten_thousand_by_default():
    default = SinusoidalPositions(4)(torch.zeros(3, 4))
    assert torch.equal(default, SinusoidalPositions(4, base=10_000.0)(torch.zeros(3, 4)))
    assert not torch.equal(default, SinusoidalPositions(4, base=1_000)(torch.zeros(3, 4)))


def test_one_step_turns_every_pair_by_one_angle():
    table = SinusoidalPositions(6, max_length=101).table.double().unflatten(-1, (3, 2))
    pairs = torch.complex(table[..., 1], table[..., 0])  # (101, 3)
    steps = pairs[1:] / pairs[:-1]  # (100, 3)
    torch.testing.assert_close(steps, steps[:1].expand(100, 3), rtol=0, atol=1e-5)
    assert steps[0].angle().unique().numel() == 3


@for_each(leading=((), (2,), (2, 3), (1, 0)))
def test_positions_are_added_in_any_leading_dimensions(leading):
    add_positions, x = SinusoidalPositions(6), torch.randn(*leading, 7, 6)
    counted = torch.arange(7)
    assert torch.equal(add_positions(x), x + add_positions.table[:7])
    assert torch.equal(add_positions(x, counted), add_positions(x))
    assert torch.equal(add_positions(x, counted.expand(*leading, 7)), add_positions(x))


def test_each_token_gets_the_position_it_is_given():
    add_positions = SinusoidalPositions(6, max_length=11)
    positions = torch.randint(0, 11, (2, 3, 7))
    added = add_positions(torch.zeros(2, 3, 7, 6), positions)
    assert torch.equal(added[1, 2, 5], add_positions.table[positions[1, 2, 5]])
    for dtype in (torch.int32, torch.uint8):
        narrow = positions.to(dtype)
        assert torch.equal(add_positions(torch.zeros(2, 3, 7, 6), narrow), added)


@for_each(dtype=DTYPES)
def test_table_follows_the_model(dtype):
    add_positions = SinusoidalPositions(6).to(dtype)
    added = add_positions(torch.zeros(7, 6, dtype=dtype))
    assert added.dtype == dtype
    assert SinusoidalPositions(6).to("meta").table.device.type == "meta"
    assert torch.equal(copy.deepcopy(add_positions).table, add_positions.table)


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


def test_last_word_has_position_zero_however_long_the_padding():
    lengths = torch.tensor([[4, 1], [7, 3]])
    short, long = positions_from_end(lengths, 7), positions_from_end(lengths, 11)
    assert short.shape == (2, 2, 7)
    assert torch.equal(long[..., :7], short)
    assert positions_from_end(lengths.to("meta"), 7).is_meta
    assert torch.equal(short.gather(-1, lengths[..., None] - 1)[..., 0], torch.zeros(2, 2).long())


def test_the_longest_text_fits_and_one_word_more_does_not():
    add_positions = SinusoidalPositions(6, max_length=7)
    assert add_positions(torch.zeros(7, 6)).shape == (7, 6)
    with pytest.raises(ValueError, match=r"x: expected at most max_length = 7 tokens, got 8"):
        add_positions(torch.zeros(8, 6))


def test_positions_from_end_maps_over_a_batch():
    lengths = torch.tensor([2, 0, 3])
    mapped = torch.vmap(lambda length: positions_from_end(length, 3))(lengths)
    assert torch.equal(mapped, positions_from_end(lengths, 3))
    add_positions, x = SinusoidalPositions(6, max_length=7), torch.randn(3, 3, 6)
    torch.testing.assert_close(torch.vmap(add_positions)(x, mapped), add_positions(x, mapped))


def test_wrong_input_is_refused():
    add_positions, tokens = SinusoidalPositions(6, max_length=11), torch.zeros(2, 7, 6)
    wrong_tokens = (
        ([[1.0] * 6], TypeError, ("list", "tensor")),
        (torch.zeros(7, 5), ValueError, ("(7, 5)", "(..., n, 6)")),
        (torch.zeros(6), ValueError, ("(6,)", "(..., n, 6)")),
        (torch.zeros(7, 6).long(), TypeError, ("int64", "floating-point")),
        (torch.zeros(7, 6).double(), TypeError, ("float64", "float32")),
        (torch.zeros(7, 6, device="meta"), ValueError, ("meta", "cpu")),
    )
    wrong_positions = (
        (list(range(7)), TypeError, ("list", "tensor")),
        (torch.zeros(7), TypeError, ("float32", "integers")),
        (torch.ones(7, dtype=torch.bool), TypeError, ("bool", "integers")),
        (torch.arange(7) - 1, ValueError, ("-1 to 5", "0 to", "10")),
        (torch.arange(7) + 5, ValueError, ("5 to 11", "0 to", "10")),
        (torch.arange(5), ValueError, ("(5,)", "(2, 7)")),
        (torch.zeros(3, 7).long(), ValueError, ("(3, 7)", "(2, 7)")),
        (torch.zeros(2, 2, 7).long(), ValueError, ("(2, 2, 7)", "(2, 7)")),
    )
    assert not unexpected_errors(
        (f"x, {words}", functools.partial(add_positions, x), error, "x: expected", words)
        for x, error, words in wrong_tokens
    )
    assert not unexpected_errors(
        (words, functools.partial(add_positions, tokens, p), error, "positions: expected", words)
        for p, error, words in wrong_positions
    )


def test_wrong_arguments_are_refused():
    def table(*args, **options):
        return functools.partial(SinusoidalPositions, *args, **options)

    def from_end(lengths, n):
        return functools.partial(positions_from_end, lengths, n)

    assert not unexpected_errors(
        (f"{argument}, {words}", call, error, f"{argument}: expected", words)
        for call, error, argument, words in (
            (table(0), ValueError, "embed_dim", ("at least 1", "0")),
            (table(2.0), TypeError, "embed_dim", ("integer", "float")),
            (table(4, max_length=0), ValueError, "max_length", ("at least 1",)),
            (table(4, base=0.0), ValueError, "base", ("above 0", "0.0")),
            (table(4, base=-2), ValueError, "base", ("above 0", "-2")),
            (table(4, base=math.inf), ValueError, "base", ("finite", "inf")),
            (table(4, base="e"), TypeError, "base", ("number", "str")),
            (from_end([1], 3), TypeError, "lengths", ("tensor", "list")),
            (from_end(torch.ones(2), 3), TypeError, "lengths", ("float32",)),
            (from_end(torch.tensor([4]), 3), ValueError, "lengths", ("n = 3", "4")),
            (from_end(torch.tensor([-1]), 3), ValueError, "lengths", ("-1",)),
            (from_end(torch.tensor([1]), 2.5), TypeError, "n", ("integer", "float")),
        )
    )

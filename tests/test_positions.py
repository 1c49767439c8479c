"""Positions against the sines and cosines of Python's own math."""

import copy
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attention import SinusoidalPositions, positions_from_end

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


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


def test_base_is_ten_thousand_unless_said():
    here = SinusoidalPositions(4)(torch.zeros(3, 4))
    assert torch.equal(here, SinusoidalPositions(4, base=10_000.0)(torch.zeros(3, 4)))
    assert not torch.equal(here, SinusoidalPositions(4, base=1_000)(torch.zeros(3, 4)))


def test_one_step_turns_every_pair_by_one_angle():
    table = SinusoidalPositions(6, max_length=101).table.double().unflatten(-1, (3, 2))
    pairs = torch.complex(table[..., 1], table[..., 0])  # (101, 3)
    steps = pairs[1:] / pairs[:-1]  # (100, 3)
    torch.testing.assert_close(steps, steps[:1].expand(100, 3), rtol=0, atol=1e-5)
    assert steps[0].angle().unique().numel() == 3


@pytest.mark.parametrize("leading", [(), (2,), (2, 3), (1, 0)])
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


@pytest.mark.parametrize("dtype", DTYPES)
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


def test_last_word_stands_at_zero_however_long_the_padding():
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


@pytest.mark.parametrize(
    ("x", "positions", "error", "words"),
    [
        ([[1.0] * 6], None, TypeError, ("x", "list", "tensor")),
        (torch.zeros(7, 5), None, ValueError, ("x", "(7, 5)", "(..., n, 6)")),
        (torch.zeros(6), None, ValueError, ("x", "(6,)", "(..., n, 6)")),
        (torch.zeros(7, 6).long(), None, TypeError, ("x", "int64", "floating-point")),
        (torch.zeros(7, 6).double(), None, TypeError, ("x", "float64", "float32")),
        (torch.zeros(7, 6, device="meta"), None, ValueError, ("x", "meta", "cpu")),
        (None, list(range(7)), TypeError, ("positions", "list", "tensor")),
        (None, torch.zeros(7), TypeError, ("positions", "float32", "integers")),
        (None, torch.ones(7, dtype=torch.bool), TypeError, ("positions", "bool", "integers")),
        (None, torch.arange(7) - 1, ValueError, ("positions", "-1 to 5", "0 to", "10")),
        (None, torch.arange(7) + 5, ValueError, ("positions", "5 to 11", "0 to", "10")),
        (None, torch.arange(5), ValueError, ("positions", "(5,)", "(2, 7)")),
        (None, torch.zeros(3, 7).long(), ValueError, ("positions", "(3, 7)", "(2, 7)")),
        (None, torch.zeros(2, 2, 7).long(), ValueError, ("positions", "(2, 2, 7)", "(2, 7)")),
    ],
)
def test_bad_input_is_named(x, positions, error, words):
    add_positions = SinusoidalPositions(6, max_length=11)
    with pytest.raises(error) as caught:
        add_positions(torch.zeros(2, 7, 6) if x is None else x, positions)
    assert str(caught.value).startswith(f"{words[0]}: expected")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: SinusoidalPositions(0), ValueError, ("embed_dim", "at least 1", "0")),
        (lambda: SinusoidalPositions(2.0), TypeError, ("embed_dim", "integer", "float")),
        (lambda: SinusoidalPositions(4, max_length=0), ValueError, ("max_length", "at least 1")),
        (lambda: SinusoidalPositions(4, base=0.0), ValueError, ("base", "above 0", "0.0")),
        (lambda: SinusoidalPositions(4, base=-2), ValueError, ("base", "above 0", "-2")),
        (lambda: SinusoidalPositions(4, base=math.inf), ValueError, ("base", "finite", "inf")),
        (lambda: SinusoidalPositions(4, base="e"), TypeError, ("base", "number", "str")),
        (lambda: positions_from_end([1], 3), TypeError, ("lengths", "tensor", "list")),
        (lambda: positions_from_end(torch.ones(2), 3), TypeError, ("lengths", "float32")),
        (lambda: positions_from_end(torch.tensor([4]), 3), ValueError, ("lengths", "n = 3", "4")),
        (lambda: positions_from_end(torch.tensor([-1]), 3), ValueError, ("lengths", "-1")),
        (lambda: positions_from_end(torch.tensor([1]), 2.5), TypeError, ("n", "integer", "float")),
    ],
)
def test_bad_arguments_are_named(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(f"{words[0]}: expected")
    for word in words:
        assert word in str(caught.value)

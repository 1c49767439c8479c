"""Rotary positions against the complex multiplication that they are."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from layer_oracle import rotate

from attention import apply_rotary


@given(
    leading=st.sampled_from(((), (2,), (3, 2), (0,))),
    n=st.sampled_from((1, 5, 7)),
    k=st.sampled_from((2, 4, 6, 26)),
    last=st.sampled_from((1, 100, 30_000)),
    per_text=st.booleans(),
    base=st.sampled_from((10_000.0, 100.0, 1e6)),
    interleaved=st.booleans(),
    dtype=st.sampled_from((torch.float32, torch.float64)),
    seed=st.integers(0, 2**16),
)
def test_rotation_is_a_complex_product(
    leading, n, k, last, per_text, base, interleaved, dtype, seed
):
    torch.manual_seed(seed)
    x = torch.randn(*leading, n, k, dtype=dtype, requires_grad=True)
    positions = torch.randint(0, last, (*leading, n) if per_text else (n,))
    rotated = apply_rotary(x, positions, base=base, interleaved=interleaved)
    expected = rotate(x.detach(), positions, base, interleaved)
    assert rotated.dtype == dtype
    precise = dtype == torch.float64
    atol = 1e-12 if precise else 1e-6
    torch.testing.assert_close(rotated.double(), expected, rtol=atol, atol=atol)
    # The gradient of a rotation is the rotation back.
    upstream = torch.randn_like(x)
    (grad,) = torch.autograd.grad(rotated, x, upstream)
    back = rotate(upstream, -positions, base, interleaved)
    torch.testing.assert_close(grad.double(), back, rtol=atol, atol=atol)


def test_the_first_position_is_zero_and_not_rotated():
    x = torch.randn(3, 5, 6)
    rotated = apply_rotary(x)
    assert torch.equal(rotated[:, 0], x[:, 0])
    torch.testing.assert_close(rotated, apply_rotary(x, torch.arange(5)))


def test_16_bits_are_rotated_in_32():
    x = torch.randn(5, 64).bfloat16()
    positions = torch.tensor([0, 1_000, 2_001, 30_003, 30_004])
    right = rotate(x.float(), positions, 10_000.0, False)
    rotated = apply_rotary(x, positions)
    assert rotated.dtype == torch.bfloat16
    torch.testing.assert_close(rotated.double(), right, rtol=4e-3, atol=4e-3)


def test_what_cannot_be_rotated_is_refused():
    x = torch.ones(2, 3, 4)
    for tokens, options, error, message in (
        (torch.ones(3, 5), {}, ValueError, r"an even k, got \(3, 5\)"),
        (torch.ones(4), {}, ValueError, r"expected shape \(..., n, k\)"),
        (x.int(), {}, TypeError, "x: expected a floating-point tensor, got torch.int32"),
        (x, {"base": 0.0}, ValueError, "base: expected a number above 0, got 0"),
        (x, {"base": "high"}, TypeError, "base: expected a number, got str"),
        (x, {"positions": [0, 1, 2]}, TypeError, "positions: expected a tensor of integers, got"),
        (x, {"positions": torch.arange(2)}, ValueError, r"that broadcasts to \(2, 3\), got \(2,\)"),
    ):
        with pytest.raises(error, match=message):
            apply_rotary(tokens, **options)


def test_in_32_bits_it_is_the_angle_that_is_rounded_and_not_its_sine():
    angle = torch.tensor(10_000.0)
    rounded = (torch.nextafter(angle, 2 * angle) - angle) / 2  # the largest error of rounding
    assert rounded.item() == pytest.approx(0.0005, rel=0.03)
    assert "rounded by up to 0.0005" in apply_rotary.__doc__
    assert abs(angle.sin().double() - angle.double().sin()) < 1e-7

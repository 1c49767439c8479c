"""The core and every layer against two oracles, over thousands of generated cases."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import (
    cases,
    check_against_oracles,
    spelled,
)

from attention import (
    fused_attention,
    scaled_dot_product_attention,
)

CASES = 2_000
many = settings(max_examples=CASES)


@many
@given(case=cases())
def test_formula_over_2000_cases(case):
    check_against_oracles(spelled, case)


@many
@given(case=cases())
def test_fused_over_2000_cases(case):
    check_against_oracles(fused_attention, case)


def finite(scale):
    return st.floats(-scale, scale, width=32)


@many
@given(
    numbers=st.lists(finite(1e4), min_size=1, max_size=40),
    added=st.none() | finite(1e4),
    n=st.sampled_from((7, 1)),
    m=st.sampled_from((7, 1, 0)),
    allowed=st.lists(st.booleans(), min_size=1, max_size=35),
    is_causal=st.booleans(),
)
def test_finite_numbers_never_make_nan(numbers, added, n, m, allowed, is_causal):
    def fill(*shape):
        count = math.prod(shape)
        cycle = torch.tensor(numbers * (count // len(numbers) + 1))[:count]
        return cycle.reshape(shape).requires_grad_()

    is_causal = is_causal and n == m
    mask = torch.tensor(allowed * (n * m + 1))[: n * m].reshape(n, m)
    if added is not None:
        mask = torch.full((n, m), added).masked_fill(~mask, -math.inf)
    tensors = fill(n, 3), fill(m, 3), fill(m, 2)
    for attend in (spelled, fused_attention):
        context = attend(*tensors, mask, is_causal=is_causal)
        assert context.isfinite().all()
        for grad in torch.autograd.grad(context.sum(), tensors):
            assert grad.isfinite().all()
    _, weights = scaled_dot_product_attention(*tensors, mask, is_causal=is_causal)
    assert (weights >= 0).all()

"""Attention block by block, compared with the oracles for every size of a block.

Sizes are different primes, so that a swapped axis fails.
"""

import math

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import DTYPES, cases, check_against_oracles, made_causal, reference
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention import causal_mask, online_softmax_attention, padding_mask

SIZES = (1, 2, 3, 5, 64)


@given(case=cases(), block_size=st.sampled_from(SIZES))
def test_blocks_give_torchs_value_and_gradient(case, block_size):
    def attend(*tensors, **options):
        return online_softmax_attention(*tensors, **options, block_size=block_size)

    check_against_oracles(attend, case)


@for_each(
    dtype=(torch.float32, torch.float64),
    block_size=(*SIZES, 11, 12),
    is_added=(False, True),
    is_causal=(False, True),
)
def test_blocks_are_the_formula_to_1e_6_and_1e_12(dtype, block_size, is_added, is_causal):
    n = 11 if is_causal else 7
    tensors = [torch.randn(2, 3, *size, dtype=torch.float64) for size in ((n, 5), (11, 5), (11, 2))]
    upstream = torch.randn(2, 3, n, 2, dtype=torch.float64)
    mask = torch.rand(3, n, 11) < 0.6
    mask[1, 4] = False
    if is_added:
        mask = torch.randn(3, n, 11).to(dtype).masked_fill(~mask, -math.inf)
    whole = made_causal(mask, n, 11) if is_causal else mask
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    right = reference(*leaves, whole.double() if is_added else whole, 5**-0.5)[0]
    rights = [right, *torch.autograd.grad(right, leaves, upstream)]
    leaves = [tensor.to(dtype).requires_grad_() for tensor in tensors]
    context = online_softmax_attention(*leaves, mask, is_causal=is_causal, block_size=block_size)
    ours = [context, *torch.autograd.grad(context, leaves, upstream.to(dtype))]
    limit = 1e-6 if dtype == torch.float32 else 1e-12
    for mine, exact in zip(ours, rights, strict=True):
        assert (mine.double() - exact).norm() <= limit * exact.norm()


@for_each(dtype=DTYPES, block_size=(1, 3, 64))
def test_blind_query_gives_zeros_and_passes_none_back(dtype, block_size):
    query, key, value = (
        torch.randn(2, *size, dtype=dtype, requires_grad=True) for size in ((5, 3), (7, 3), (7, 2))
    )
    mask = torch.rand(2, 5, 7) < 0.7
    mask[0, 3] = False
    mask[0, 1] = torch.arange(7) == 6  # sees nothing before the last block
    mask[1] = False
    # Anomaly mode looks at each step's gradient, also at those a later step sets to zero.
    with torch.autograd.set_detect_anomaly(True):
        context = online_softmax_attention(query, key, value, mask, block_size=block_size)
        context.sum().backward()
    assert context.dtype == dtype
    assert not context[0, 3].any()
    assert not context[1].any()
    torch.testing.assert_close(context[0, 1], value[0, 6])
    for tensor in (query, key, value):
        assert tensor.grad.isfinite().all()
        assert not tensor.grad[1].any()
    assert not query.grad[0, 3].any()
    assert value.grad[0].any()


@for_each(block_size=(1, 2, 64), is_causal=(False, True))
def test_masks_of_every_shape_are_cut_into_blocks(block_size, is_causal):
    n = 7 if is_causal else 5
    tensors = [torch.randn(2, 3, *size) for size in ((n, 3), (7, 3), (7, 2))]
    for shape in ((), (1,), (7,), (n, 1), (1, 7), (n, 7), (3, 1, 1), (2, 1, n, 1), (2, 3, n, 7)):
        allowed = torch.rand(shape) < 0.6
        for mask in (allowed, torch.randn(shape).masked_fill(~allowed, -math.inf)):
            whole = made_causal(mask, n, 7) if is_causal else mask
            torch.testing.assert_close(
                online_softmax_attention(
                    *tensors, mask, is_causal=is_causal, block_size=block_size
                ),
                reference(*tensors, whole, 3**-0.5)[0].expand(2, 3, n, 2),
                msg=lambda message, shape=shape: f"{shape}: {message}",
            )


def test_gradcheck():
    query, key, value = (
        torch.randn(2, *size, dtype=torch.float64, requires_grad=True)
        for size in ((5, 3), (7, 3), (7, 2))
    )
    mask = torch.randn(2, 5, 7, dtype=torch.float64).masked_fill(torch.rand(5, 7) < 0.3, -math.inf)
    mask[0, 1] = -math.inf
    assert torch.autograd.gradcheck(
        lambda *tensors: online_softmax_attention(*tensors, block_size=3),
        (query, key, value, mask.requires_grad_()),
    )


@for_each(block_size=(1, 3, 64))
def test_a_forbidden_key_is_hidden_whatever_it_holds(block_size):
    query, key, value = torch.randn(2, 5, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 2)
    for mask in (padding_mask(torch.tensor([4, 7]), 7), torch.zeros(7).index_fill(0, *_last(3))):
        clean = online_softmax_attention(query, key, value, mask, block_size=block_size)
        for bad in (math.nan, math.inf, 1e15):
            spoilt = key.clone()
            spoilt[0, 5] = bad
            context = online_softmax_attention(query, spoilt, value, mask, block_size=block_size)
            assert torch.equal(context, clean), bad


def _last(count):
    return torch.arange(7 - count, 7), -math.inf


@for_each(block_size=(1, 3, 64))
def test_scores_of_16_bits_may_exceed_what_16_bits_hold(block_size):
    query, key = torch.full((5, 3), 300.0).half(), torch.full((7, 3), 300.0).half()
    key[4:] = -300.0
    value = torch.randn(7, 2).half()
    context = online_softmax_attention(query, key, value, block_size=block_size)
    assert context.dtype == torch.float16
    right = value[:4].float().mean(0).expand(5, 2)
    torch.testing.assert_close(context.float(), right, rtol=1e-3, atol=1e-3)


class LargestStorage(TorchDispatchMode):
    """Record the bytes of the largest tensor that any operation makes."""

    def __init__(self):
        super().__init__()
        self.nbytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, torch.Tensor):
                self.nbytes = max(self.nbytes, each.untyped_storage().nbytes())
        return result


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_no_tensor_is_as_large_as_the_matrix_of_scores(is_causal, masked):
    n = m = 4_096
    query, key, value = torch.randn(3, n, 2).unbind(0)
    mask = padding_mask(torch.tensor(m - 7), m) if masked else None
    with LargestStorage() as largest:
        online_softmax_attention(query, key, value, mask, is_causal=is_causal, block_size=64)
    assert n * 64 * 4 <= largest.nbytes < n * m * 4 / 50
    with LargestStorage() as largest:  # what is measured would be found
        causal_mask(n)
    assert largest.nbytes == n * m


def test_compiles_into_one_graph():
    # aot_eager traces forward and backward and needs no C++ compiler.
    compiled = torch.compile(online_softmax_attention, backend="aot_eager", fullgraph=True)
    tensors = torch.randn(2, 7, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 2)
    mask = padding_mask(torch.tensor([4, 0]), 7)
    for options in ({}, {"attn_mask": mask}, {"attn_mask": mask, "is_causal": True, "scale": 0.5}):
        torch.testing.assert_close(
            compiled(*tensors, **options, block_size=3),
            online_softmax_attention(*tensors, **options),
        )


def test_wrong_arguments_are_named():
    query, key, value = torch.zeros(5, 3), torch.zeros(7, 3), torch.zeros(7, 2)

    def call(*tensors, **options):
        return lambda: online_softmax_attention(*tensors, **options)

    good = query, key, value
    cases = [
        ("blocks of no keys", call(*good, block_size=0), ValueError, "block_size", ("1", "0")),
        ("blocks below zero", call(*good, block_size=-3), ValueError, "block_size", ("-3",)),
        ("half a key", call(*good, block_size=2.5), TypeError, "block_size", ("float",)),
        ("a truth for a size", call(*good, block_size=True), TypeError, "block_size", ("bool",)),
        ("fewer values", call(query, key, value[:6]), ValueError, "value", ("7", "6")),
        ("no keys", call(query, None, value), TypeError, "key", ("NoneType",)),
        ("a scale in words", call(*good, scale="half"), TypeError, "scale", ("str",)),
        (
            "a mask of another size",
            call(*good, torch.ones(7, 5, dtype=torch.bool)),
            ValueError,
            "attn_mask",
            ("(7, 5)", "(5, 7)"),
        ),
    ]
    assert unexpected_errors(cases) == []

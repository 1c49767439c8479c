"""The core against torch's kernel and against the formula in float64.

Sizes are different primes, so that a swapped axis fails.
"""

import functools
import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import (
    DTYPES,
    allowed_by,
    build,
    cases,
    check_against_oracles,
    reference,
    rounding,
    spelled,
    whole_mask,
)
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention import (
    MultiHeadAttention,
    causal_mask,
    functional,
    fused_attention,
    online_softmax_attention,
    padding_mask,
    scaled_dot_product_attention,
)


@given(case=cases())
def test_formula_is_torchs_in_value_and_gradient(case):
    check_against_oracles(spelled, case)


@given(case=cases())
def test_fused_is_torchs_in_value_and_gradient(case):
    check_against_oracles(fused_attention, case)


@given(case=cases(), block_size=st.sampled_from((1, 2, 3, 5, 64)))
def test_blocks_are_torchs_in_value_and_gradient(case, block_size):
    check_against_oracles(functools.partial(online_softmax_attention, block_size=block_size), case)


@given(case=cases())
def test_weights_are_the_references_and_sum_to_one(case):
    leaves, views, mask = build(case)
    query, key, value = (view(t) for view, t in zip(views, leaves, strict=True))
    context, weights = scaled_dot_product_attention(
        query, key, value, mask, is_causal=case["is_causal"], scale=case["scale"]
    )
    whole = whole_mask(case, mask)
    wide = whole.double() if whole.is_floating_point() else whole
    right = reference(query.double(), key.double(), value.double(), wide, case["factor"])[1]
    assert weights.dtype == context.dtype == case["dtype"]
    assert weights.shape == right.shape
    torch.testing.assert_close(weights.double(), right, rtol=0.0, atol=8 * rounding(case))
    allowed = allowed_by(whole).expand(weights.shape)
    assert not weights[~allowed].any()
    torch.testing.assert_close(
        weights.double().sum(-1),
        allowed.any(-1).double(),
        rtol=0.0,
        atol=8 * torch.finfo(case["dtype"]).eps,
    )


def blocks(*tensors, **options):
    """Read three keys at once, so that a mask is cut and the last block is not full."""
    return online_softmax_attention(*tensors, **options, block_size=3)


def single_keys(*tensors, **options):
    return online_softmax_attention(*tensors, **options, block_size=1)


ATTENTIONS = (spelled, fused_attention, blocks, single_keys)
every_attention = for_each(attend=ATTENTIONS)


# The kernel is another one where values are as wide as keys.
@for_each(attend=ATTENTIONS, value_dim=(3, 2), dtype=DTYPES)
def test_blind_query_gives_zeros_and_passes_none_back(attend, value_dim, dtype):
    sizes = (5, 3), (7, 3), (7, value_dim)
    tensors = [torch.randn(2, *size, dtype=dtype, requires_grad=True) for size in sizes]
    mask = torch.rand(2, 5, 7) < 0.7
    mask[0, 3] = False
    mask[0, 1] = torch.arange(7) == 6  # sees nothing before the last block
    mask[1] = False  # no query attends to the second text at all
    # Anomaly mode looks at each step's gradient, also at those a later step sets to zero.
    with torch.autograd.set_detect_anomaly(True):
        context = attend(*tensors, mask)
        context.sum().backward()
    assert context.dtype == dtype
    assert not context[0, 3].any()
    assert not context[1].any()
    torch.testing.assert_close(context[0, 1], tensors[2][0, 6])
    for tensor in tensors:
        assert tensor.grad.isfinite().all()
        assert not tensor.grad[1].any()
    assert not tensors[0].grad[0, 3].any()
    assert tensors[2].grad[0].any()


@for_each(attend=ATTENTIONS, value_dim=(3, 2))
def test_forbidden_keys_get_nothing_however_low_the_other_scores(attend, value_dim):
    query, key = torch.full((5, 3), -1e6), torch.full((7, 3), 1e6)
    key[4:] = -1e6
    value = torch.zeros(7, value_dim)
    value[4:] = 1.0
    mask = torch.arange(7) < 4
    assert not attend(query, key, value, mask).any()
    assert attend(query, key, value).eq(1.0).all()


@every_attention
def test_scores_of_16_bits_may_exceed_what_16_bits_hold(attend):
    query, key = torch.full((5, 3), 300.0).half(), torch.full((7, 3), 300.0).half()
    key[4:] = -300.0
    value = torch.randn(7, 2).half()
    right = value[:4].float().mean(0).expand(5, 2)
    torch.testing.assert_close(attend(query, key, value).float(), right, rtol=1e-3, atol=1e-3)


def test_weights_pass_gradients_of_their_own():
    query, key = (torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in (5, 7))
    value = torch.eye(7, dtype=torch.float64)
    mask = torch.rand(5, 7) < 0.6
    mask[1] = False
    assert torch.autograd.gradcheck(
        lambda q, k: scaled_dot_product_attention(q, k, value, mask)[1], (query, key)
    )


@for_each(attend=ATTENTIONS, value_dim=(3, 2))
def test_masked_values_may_be_any_finite_number(attend, value_dim):
    query, key, value = torch.randn(2, 5, 3), torch.randn(2, 7, 3), torch.randn(2, 7, value_dim)
    mask = padding_mask(torch.tensor([4, 7]), 7)
    before = attend(query, key, value, mask)
    key[0, 4:], value[0, 4:] = 1e15, -1e30
    assert torch.equal(before, attend(query, key, value, mask))


@for_each(attend=(spelled, fused_attention), value_dim=(3, 2), masked=(False, True))
def test_nan_and_inf_reach_no_further_than_documented(attend, value_dim, masked):
    tensors = [torch.randn(2, 5, 3), torch.randn(2, 7, 3), torch.randn(2, 7, value_dim)]
    mask = torch.ones(5, 7, dtype=torch.bool).tril(2) if masked else None
    clean = attend(*tensors, mask)
    for i, bad in itertools.product(range(3), (math.nan, math.inf, -math.inf)):
        spoilt = [t.clone() for t in tensors]
        spoilt[i][0, 3] = bad
        context = attend(*spoilt, mask)
        # What is wrong in one text stays in it.
        assert torch.equal(context[1], clean[1]), (i, bad)
        if i == 0:  # a query affects its own context alone
            others = [0, 1, 2, 4]
            torch.testing.assert_close(context[0, others], clean[0, others])
            assert attend is not spelled or context[0, 3].isnan().all(), bad
        if i == 2:  # a NaN or infinite value never looks like a finite context
            assert not context[0, 1:].isfinite().all(-1).any(), bad


@for_each(attend=(spelled, blocks, single_keys))
def test_formula_hides_forbidden_keys_whatever_they_hold(attend):
    query, key, value = torch.randn(2, 5, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 2)
    added = torch.tensor([0.0] * 4 + [-math.inf] * 3)
    for mask in (padding_mask(torch.tensor([4, 7]), 7), added):
        clean = attend(query, key, value, mask)
        for bad in (math.nan, math.inf, -math.inf):
            spoilt = key.clone()
            spoilt[0, 5] = bad
            assert torch.equal(attend(query, spoilt, value, mask), clean), bad


@pytest.mark.parametrize(
    ("mask", "is_causal", "numbers"),
    [
        (None, True, 0),  # the kernel is causal by itself
        (padding_mask(torch.tensor([7, 4]), 7)[:, None], False, 2 * 7),
        (padding_mask(torch.tensor([7, 4]), 7)[:, None], True, 2 * 7 * 7),  # one for all 3 heads
        (torch.ones(7, 7, dtype=torch.bool), True, 7 * 7),  # … and for all texts
        (torch.ones(3, 1, 7, dtype=torch.bool), False, 2 * 3 * 7),
    ],
)
def test_fused_writes_out_no_more_of_a_mask_than_it_has(mask, is_causal, numbers, monkeypatch):
    kernel, sizes = functional.F.scaled_dot_product_attention, []

    def recorded(query, key, value, attn_mask, *more, **options):
        sizes.append(0 if attn_mask is None else attn_mask.numel())
        return kernel(query, key, value, attn_mask, *more, **options)

    monkeypatch.setattr(functional.F, "scaled_dot_product_attention", recorded)
    tensors = torch.randn(3, 2, 3, 7, 5)
    context = fused_attention(*tensors, mask, is_causal=is_causal)
    assert sizes == [numbers]
    torch.testing.assert_close(context, spelled(*tensors, mask, is_causal=is_causal))


@pytest.mark.parametrize(("key_dim", "value_dim"), [(3, 2), (2, 3), (5, 5), (19, 23)])
@for_each(masked=(False, True))
def test_fused_keeps_no_weights_for_the_backward_pass(key_dim, value_dim, masked):
    n, m = 41, 43
    query, key, value = (
        torch.randn(7, length, width, requires_grad=True)
        for length, width in ((n, key_dim), (m, key_dim), (m, value_dim))
    )
    mask = padding_mask(torch.arange(1, 8), m) if masked else None
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: saved.append(t.shape) or t, lambda t: t
    ):
        fused_attention(query, key, value, mask)
    assert saved
    assert not [shape for shape in saved if shape[-2:] == (n, m)]


@every_attention
def test_causality_needs_no_numbers(attend):
    tensors = torch.randn(3, 2, 5, 3, device="meta")
    assert attend(*tensors, is_causal=True).is_meta


@for_each(attend=ATTENTIONS, n=(2, 5, 1))
def test_causality_of_queries_that_may_be_first_or_last_is_refused(attend, n):
    query, key, value = torch.randn(2, n, 3), torch.randn(2, 3, 3), torch.randn(2, 3, 2)
    with pytest.raises(ValueError, match=f"is_causal: expected as many keys as queries, {n}, got"):
        attend(query, key, value, is_causal=True)


def test_each_of_torchs_two_causal_masks_has_a_spelling():
    query, key, value = torch.randn(2, 2, 3), torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    for mask, bias in (
        (causal_mask(2, 5), causal_lower_right(2, 5)),
        (causal_mask(5)[:2], causal_upper_left(2, 5)),
    ):
        right = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        torch.testing.assert_close(spelled(query, key, value, mask), right)
    first = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(spelled(query, key, value, causal_mask(5)[:2]), first)


@given(
    lengths=st.lists(st.integers(0, 7), max_size=5),
    dtype=st.sampled_from((torch.int64, torch.int32, torch.uint8)),
)
def test_padding_mask_allows_as_many_as_there_are(lengths, dtype):
    mask = padding_mask(torch.tensor(lengths, dtype=dtype), 7)
    expected = [[[j < length for j in range(7)]] for length in lengths]
    assert mask.dtype == torch.bool
    assert torch.equal(mask, torch.tensor(expected, dtype=torch.bool).reshape(-1, 1, 7))


def test_padding_mask_keeps_leading_dimensions_and_maps_over_a_batch():
    lengths = torch.tensor([[1, 2, 3], [4, 5, 0]])
    mask = padding_mask(lengths, 5)
    assert mask.shape == (2, 3, 1, 5)
    assert torch.equal(mask.sum((-2, -1)), lengths)
    assert padding_mask(torch.tensor(2), 3).tolist() == [[True, True, False]]
    assert (mask & causal_mask(5)).shape == (2, 3, 5, 5)
    assert padding_mask(lengths.to("meta"), 5).is_meta
    # vmap hides the values of a tensor, so the check of the lengths has to let them pass.
    mapped = torch.vmap(lambda length: padding_mask(length, 5))(lengths[0])
    assert torch.equal(mapped, mask[0])
    with pytest.raises(TypeError, match="lengths: expected a tensor of integers"):
        torch.vmap(lambda length: padding_mask(length, 5))(lengths[0].float())


@for_each(attend=(fused_attention, online_softmax_attention), is_training=(False, True))
def test_compiles_into_one_graph(attend, is_training):
    # The layers' own test compiles the formula. aot_eager needs no C++ compiler.
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    tensors = torch.randn(2, 7, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 2)
    if is_training:  # in 16 bits, for which a CPU has another way
        tensors = [each.bfloat16().requires_grad_() for each in tensors]
    options = {"attn_mask": padding_mask(torch.tensor([4, 0]), 7), "is_causal": True, "scale": 0.5}
    torch.testing.assert_close(compiled(*tensors, **options), attend(*tensors, **options))


@for_each(
    attend=(lambda *qkv: scaled_dot_product_attention(*qkv)[0], online_softmax_attention),
    dtype=(torch.float16, torch.bfloat16),
)
def test_autocast_does_not_reach_what_runs_in_32_bits(attend, dtype):
    tensors = [400 * each for each in torch.randn(3, 2, 5, 64).half().unbind()]
    expected = attend(*tensors)
    with torch.autocast("cpu", dtype=dtype):
        torch.testing.assert_close(attend(*tensors), expected, rtol=0, atol=0)
    assert attend(*(each.to("meta") for each in tensors)).is_meta


@for_each(added=(False, True), rows=(1, 5), at_once=(1, 1 << 21))
def test_bfloat16_trains_on_a_cpu_without_the_kernel(added, rows, at_once, monkeypatch):
    """As well as the kernel does: values and gradients of the formula, nothing for a blind row."""
    monkeypatch.setattr(functional, "SCORES_AT_ONCE", at_once)
    tensors = [torch.randn(2, 3, size, 11) for size in (5, 7, 7)]
    mask = torch.rand(2, 1, rows, 7) < 0.6
    mask[0, 0, 0] = False  # sees nothing
    mask[1, 0, 0, 0] = True
    if added:
        mask = torch.randn(mask.shape).masked_fill(~mask, float("-inf"))
    seed = torch.randn(2, 3, 5, 11)

    def derive(attend, dtype):
        leaves = [each.to(dtype).requires_grad_() for each in tensors]
        context = attend(*leaves, mask)
        return [context, *torch.autograd.grad(context, leaves, seed.to(dtype))]

    expected = derive(lambda *inputs: scaled_dot_product_attention(*inputs)[0], torch.float64)
    calls = []
    kernel = F.scaled_dot_product_attention
    with monkeypatch.context() as patch:
        patch.setattr(
            F, "scaled_dot_product_attention", lambda *a, **k: calls.append(a) or kernel(*a, **k)
        )
        ours = derive(fused_attention, torch.bfloat16)
        assert not calls
        with torch.no_grad():
            fused_attention(*(each.bfloat16().requires_grad_() for each in tensors), mask)
        patch.setattr(functional, "MOST_SCORES", 2 * 3 * 5 * 7 - 1)
        derive(fused_attention, torch.bfloat16)
        assert len(calls) == 2
    for each, exact in zip(ours, expected, strict=True):
        torch.testing.assert_close(each.double(), exact, rtol=0.03, atol=0.03)
    assert not ours[0][0, :, 0].any()
    assert not ours[1][0, :, 0].any()


@pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")  # torch.func's own
def test_forward_derivatives_are_exact_or_refused_with_a_way_out():
    layer = MultiHeadAttention(6, 2).double()
    x, tangent = torch.randn(2, 2, 5, 6, dtype=torch.float64)
    with pytest.raises(NotImplementedError, match="a layer with need_weights=True"):
        torch.func.jvp(layer, (x,), (tangent,))
    _, derivative = torch.func.jvp(lambda x: layer(x, need_weights=True)[0], (x,), (tangent,))
    numeric = (layer(x + 1e-6 * tangent) - layer(x - 1e-6 * tangent)) / 2e-6
    torch.testing.assert_close(derivative, numeric, rtol=1e-6, atol=1e-8)


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


# Of queries (2, 1, 5, 3), keys (2, 1, 7, 3) and values (2, 1, 7, 11): what is in their place, its
# error, and how the message begins.
SHAPES = "query, key, value: expected shapes (..., n, k), (..., m, k) and (..., m, v), got "
MASK = "attn_mask: expected a shape that broadcasts to the scores, (2, 1, 5, 7), got "
FLOATS = "expected a floating-point tensor, got "
WRONG = [
    ({"query": [[1.0]]}, TypeError, f"query: {FLOATS}list"),
    ({"key": None}, TypeError, f"key: {FLOATS}NoneType"),
    ({"value": zeros(2, 1, 7, 11).bool()}, TypeError, f"value: {FLOATS}torch.bool"),
    ({"query": zeros(5, 3, dtype=torch.complex64)}, TypeError, f"query: {FLOATS}torch.complex64"),
    (
        {"key": zeros(2, 1, 7, 3).half()},
        TypeError,
        "key: expected torch.float32, the query's dtype",
    ),
    ({"value": zeros(2, 1, 7, 11).double()}, TypeError, "value: expected torch.float32, the query"),
    ({"query": zeros(3)}, ValueError, SHAPES + "(3,), (2, 1, 7, 3), (2, 1, 7, 11)"),
    ({"query": zeros(5, 0), "key": zeros(7, 0)}, ValueError, SHAPES + "(5, 0), (7, 0)"),
    ({"key": zeros(2, 1, 7, 2)}, ValueError, SHAPES),
    # torch's kernel on the CPU takes this one, in four dimensions, and answers.
    ({"value": zeros(2, 1, 5, 11)}, ValueError, SHAPES),
    ({"value": zeros(2, 1, 1, 11)}, ValueError, SHAPES),
    ({"key": zeros(3, 1, 7, 3)}, ValueError, SHAPES + "(2, 1, 5, 3), (3, 1, 7, 3), (2, 1, 7, 11)"),
    (
        {"attn_mask": [[True]]},
        TypeError,
        "attn_mask: expected a tensor, boolean, True = may attend",
    ),
    ({"attn_mask": zeros(5, 7).byte()}, TypeError, "attn_mask: expected a tensor, boolean, True"),
    (
        {"attn_mask": zeros(5, 7).to("meta")},
        ValueError,
        "attn_mask: expected device cpu, the query",
    ),
    ({"attn_mask": zeros(7, 5)}, ValueError, MASK + "(7, 5)"),
    ({"attn_mask": zeros(2, 13, 5, 7).bool()}, ValueError, MASK + "(2, 13, 5, 7)"),
    ({"attn_mask": zeros(2, 1, 7)}, ValueError, MASK + "(2, 1, 7); one row of keys per text is"),
    ({"attn_mask": zeros(1, 2, 1, 5, 7)}, ValueError, MASK + "(1, 2, 1, 5, 7)"),
    ({"scale": "half"}, TypeError, "scale: expected a number, got str"),
    ({"scale": torch.ones(2, 1, 1, 1)}, TypeError, "scale: expected a number, got Tensor"),
    ({"scale": math.nan}, ValueError, "scale: expected a finite number, got nan"),
]


@every_attention
def test_wrong_input_is_refused(attend):
    good = {"query": zeros(2, 1, 5, 3), "key": zeros(2, 1, 7, 3), "value": zeros(2, 1, 7, 11)}
    assert attend(**good).shape == (2, 1, 5, 11)
    for changes, error, message in WRONG:
        with pytest.raises(error) as caught:
            attend(**good | changes)
        assert str(caught.value).startswith(message)


def test_wrong_lengths_are_refused():
    whole = "lengths: expected a tensor of integers, got"
    for mask, arguments, error, message in (
        (causal_mask, (2.0,), TypeError, "n: expected an integer, got float"),
        (causal_mask, (-1,), ValueError, "n: expected at least 0, got -1"),
        (padding_mask, ([1, 2], 3), TypeError, f"{whole} list"),
        (padding_mask, (torch.tensor([True]), 3), TypeError, f"{whole} torch.bool"),
        (padding_mask, (torch.tensor([1, 4]), 3), ValueError, "lengths: expected 0 to n = 3, got"),
        (padding_mask, (torch.tensor([-1]), 3), ValueError, "lengths: expected 0 to n = 3, got -1"),
        (padding_mask, (torch.tensor([1]), 2.5), TypeError, "n: expected an integer, got float"),
    ):
        with pytest.raises(error, match=f"^{message}"):
            mask(*arguments)


@for_each(attend=(scaled_dot_product_attention, fused_attention))
def test_wrong_dropout_is_refused(attend):
    for chance, error in ((-0.1, ValueError), (1.0, ValueError), (math.nan, ValueError)):
        with pytest.raises(error, match="dropout_p: expected"):
            attend(*torch.ones(3, 7, 5), dropout_p=chance)
    for chance in ("half", True):
        with pytest.raises(TypeError, match="dropout_p: expected a number"):
            attend(*torch.ones(3, 7, 5), dropout_p=chance)


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


def test_sizes_of_a_block_that_are_none_are_refused():
    tensors = torch.zeros(3, 5, 2)
    for size, error in ((0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="block_size: expected"):
            online_softmax_attention(*tensors, block_size=size)


FINITE = st.floats(-1e4, 1e4, width=32)


@given(
    numbers=st.lists(FINITE, min_size=1, max_size=40),
    added=st.none() | FINITE,
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

"""The core against torch's kernel and against the formula in float64.

Sizes are different primes, so that a swapped axis fails.
"""

import functools
import itertools
import math

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from oracles import (
    DTYPES,
    allowed_by,
    build,
    cases,
    check_against_oracles,
    made_causal,
    reference,
    rounding,
    spelled,
)
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from attention import (
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


@given(case=cases())
def test_weights_are_the_references_and_sum_to_one(case):
    leaves, views, mask = build(case)
    query, key, value = (view(t) for view, t in zip(views, leaves, strict=True))
    context, weights = scaled_dot_product_attention(
        query, key, value, mask, is_causal=case["is_causal"], scale=case["scale"]
    )
    n, m = case["n"], case["m"]
    whole = torch.ones(n, m, dtype=torch.bool) if mask is None else mask
    if case["is_causal"]:
        whole = made_causal(mask, n, m)
    scale = case["k"] ** -0.5 if case["scale"] is None else case["scale"]
    wide = whole.double() if whole.is_floating_point() else whole
    right = reference(query.double(), key.double(), value.double(), wide, scale)[1]
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


every_attention = for_each(attend=[spelled, fused_attention])


# The kernel is another one where values are as wide as keys.
@for_each(attend=(spelled, fused_attention), value_dim=(3, 2))
def test_blind_query_gives_zeros_and_passes_none_back(attend, value_dim):
    for dtype in DTYPES:
        check_fully_masked_query(attend, dtype, value_dim)


def check_fully_masked_query(attend, dtype, value_dim):
    query = torch.randn(2, 5, 3, dtype=dtype, requires_grad=True)
    key = torch.randn(2, 7, 3, dtype=dtype, requires_grad=True)
    value = torch.randn(2, 7, value_dim, dtype=dtype, requires_grad=True)
    mask = torch.rand(2, 5, 7) < 0.7
    mask[0, 3] = False
    mask[1] = False  # no query attends to the second text at all
    context = attend(query, key, value, mask)
    assert context.dtype == dtype
    assert torch.equal(context[0, 3], torch.zeros(value_dim, dtype=dtype))
    assert not context[1].any()
    assert context[0, 0].any()
    context.sum().backward()
    for tensor in (query, key, value):
        assert tensor.grad.isfinite().all()
        assert not tensor.grad[1].any()
    assert not query.grad[0, 3].any()
    assert value.grad[0].any()


def test_fully_masked_query_has_no_weights():
    query, key, value = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7, 2)
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[3] = False
    _, weights = scaled_dot_product_attention(query, key, value, mask)
    assert torch.equal(weights.sum(-1).round(decimals=5), torch.tensor([1.0, 1, 1, 0, 1]))


@every_attention
def test_fully_masked_query_makes_no_nan_in_the_backward_pass(attend):
    # Anomaly mode looks at each step's gradient, also at those a later step sets to zero.
    query, key, value = torch.randn(3, 5, 3, requires_grad=True).unbind(0)
    mask = torch.eye(5, dtype=torch.bool)
    mask[3] = False
    with torch.autograd.set_detect_anomaly(True):
        attend(query, key, value, mask).sum().backward()


@for_each(attend=(spelled, fused_attention), value_dim=(3, 2))
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


@for_each(attend=(spelled, fused_attention), is_causal=(False, True), value_dim=(3, 2))
def test_gradcheck(attend, is_causal, value_dim):
    n = 7 if is_causal else 5
    query, key, value = (
        torch.randn(2, length, width, dtype=torch.float64, requires_grad=True)
        for length, width in ((n, 3), (7, 3), (7, value_dim))
    )
    mask = torch.rand(2, n, 7) < 0.6
    mask[0, 1] = False
    assert torch.autograd.gradcheck(
        lambda q, k, v: attend(q, k, v, mask, is_causal=is_causal), (query, key, value)
    )


def test_weights_pass_gradients_of_their_own():
    query, key = (torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in (5, 7))
    value = torch.eye(7, dtype=torch.float64)
    mask = torch.rand(5, 7) < 0.6
    mask[1] = False
    assert torch.autograd.gradcheck(
        lambda q, k: scaled_dot_product_attention(q, k, value, mask)[1], (query, key)
    )


@for_each(attend=(spelled, fused_attention), value_dim=(3, 2))
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
        if i == 2:  # a NaN or infinite value never looks like a finite context
            assert not context[0, 1:].isfinite().all(-1).any(), bad


def test_formula_hides_forbidden_keys_whatever_they_hold():
    query, key, value = torch.randn(2, 5, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 2)
    mask = padding_mask(torch.tensor([4, 7]), 7)
    clean, _ = scaled_dot_product_attention(query, key, value, mask)
    for bad in (math.nan, math.inf, -math.inf):
        key[0, 5] = bad
        context, _ = scaled_dot_product_attention(query, key, value, mask)
        assert torch.equal(context, clean), bad


def test_formula_shows_a_query_that_is_not_finite():
    for bad in (math.nan, math.inf):
        query, key, value = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7, 3)
        query[2] = bad
        context, weights = scaled_dot_product_attention(query, key, value)
        assert context[2].isnan().all(), bad
        assert weights[2].isnan().all(), bad


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


def test_transposing_the_whole_batch_is_silently_wrong():
    # keys.T reverses all axes. With batch = tokens = key_dim that runs without an error.
    query, key, value = torch.randn(3, 5, 5, 5).unbind(0)
    reversed_axes = key.permute(2, 1, 0)  # what keys.T does, without its warning
    wrong = torch.softmax(query @ reversed_axes / 5**0.5, dim=-1) @ value
    ours, _ = scaled_dot_product_attention(query, key, value)
    one_by_one = torch.stack(
        [
            torch.softmax(q @ k.T / 5**0.5, dim=-1) @ v
            for q, k, v in zip(query, key, value, strict=True)
        ]
    )
    torch.testing.assert_close(ours, one_by_one)
    torch.testing.assert_close(fused_attention(query, key, value), one_by_one)
    assert wrong.shape == ours.shape
    assert (wrong - ours).abs().max() > 0.1


def test_is_causal_is_the_causal_mask():
    query, key, value = torch.randn(2, 5, 3), torch.randn(2, 5, 3), torch.randn(2, 5, 2)
    for attend in (spelled, fused_attention):
        causal = attend(query, key, value, is_causal=True)
        assert torch.equal(causal, attend(query, key, value, causal_mask(5)))
        elsewhere = (tensor.to("meta") for tensor in (query, key, value))
        assert attend(*elsewhere, is_causal=True).is_meta
        # A later token changes no earlier context.
        key2, value2 = key.clone(), value.clone()
        key2[:, 3:], value2[:, 3:] = 9.0, -9.0
        later = attend(query, key2, value2, is_causal=True)
        torch.testing.assert_close(later[:, :3], causal[:, :3])
        assert not torch.allclose(later[:, 3:], causal[:, 3:])


@for_each(attend=(spelled, fused_attention, online_softmax_attention), n=(2, 5, 1))
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


def test_causal_mask_lets_a_token_attend_to_itself_and_those_before():
    for n in (0, 1, 2, 7):
        expected = torch.tensor([[j <= i for j in range(n)] for i in range(n)], dtype=torch.bool)
        assert torch.equal(causal_mask(n), expected.reshape(n, n)), n
        assert causal_mask(n, device="meta").device.type == "meta"


@given(
    lengths=st.lists(st.integers(0, 7), max_size=5),
    dtype=st.sampled_from((torch.int64, torch.int32, torch.uint8)),
)
def test_padding_mask_allows_as_many_as_there_are(lengths, dtype):
    mask = padding_mask(torch.tensor(lengths, dtype=dtype), 7)
    expected = [[[j < length for j in range(7)]] for length in lengths]
    assert mask.dtype == torch.bool
    assert torch.equal(mask, torch.tensor(expected, dtype=torch.bool).reshape(-1, 1, 7))


def test_padding_mask_keeps_leading_dimensions():
    lengths = torch.tensor([[1, 2, 3], [4, 5, 0]])
    mask = padding_mask(lengths, 5)
    assert mask.shape == (2, 3, 1, 5)
    assert torch.equal(mask.sum((-2, -1)), lengths)
    assert padding_mask(torch.tensor(2), 3).tolist() == [[True, True, False]]
    assert (mask & causal_mask(5)).shape == (2, 3, 5, 5)
    assert padding_mask(lengths.to("meta"), 5).is_meta


@for_each(attend=(scaled_dot_product_attention, fused_attention))
def test_compiles_into_one_graph(attend):
    # aot_eager traces forward and backward and needs no C++ compiler.
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    query, key, value = torch.randn(2, 7, 3), torch.randn(2, 7, 3), torch.randn(2, 7, 2)
    mask = padding_mask(torch.tensor([4, 0]), 7)
    for options in ({}, {"attn_mask": mask}, {"attn_mask": mask, "is_causal": True, "scale": 0.5}):
        torch.testing.assert_close(
            compiled(query, key, value, **options), attend(query, key, value, **options)
        )


def good(**changes):
    """Arguments that fit, with some of them changed."""
    arguments = {
        "query": torch.zeros(2, 1, 5, 3),
        "key": torch.zeros(2, 1, 7, 3),
        "value": torch.zeros(2, 1, 7, 11),
    }
    return arguments | changes


# What is wrong, its error, and the words of the message: the argument, and what it was or should
# be.
WRONG = {
    "query is a list": ({"query": [[1.0]]}, TypeError, ("query", "list", "tensor")),
    "key is None": ({"key": None}, TypeError, ("key", "NoneType", "tensor")),
    "value is an array": ({"value": torch.zeros(7, 11).numpy()}, TypeError, ("value", "ndarray")),
    "query of integers": (
        {"query": torch.zeros(2, 1, 5, 3, dtype=torch.long)},
        TypeError,
        ("query", "int64", "floating-point"),
    ),
    "query of complex numbers": (
        {"query": torch.zeros(2, 1, 5, 3, dtype=torch.complex64)},
        TypeError,
        ("query", "complex64", "floating-point"),
    ),
    "value of booleans": (
        {"value": torch.zeros(2, 1, 7, 11, dtype=torch.bool)},
        TypeError,
        ("value", "bool", "floating-point"),
    ),
    "key in 16 bits": (
        {"key": torch.zeros(2, 1, 7, 3, dtype=torch.float16)},
        TypeError,
        ("key", "float16", "float32"),
    ),
    "value in 64 bits": (
        {"value": torch.zeros(2, 1, 7, 11, dtype=torch.float64)},
        TypeError,
        ("value", "float64", "float32"),
    ),
    "key elsewhere": (
        {"key": torch.zeros(2, 1, 7, 3, device="meta")},
        ValueError,
        ("key", "meta", "cpu"),
    ),
    "value elsewhere": (
        {"value": torch.zeros(2, 1, 7, 11, device="meta")},
        ValueError,
        ("value", "meta", "cpu"),
    ),
    "query of one dimension": (
        {"query": torch.zeros(3)},
        ValueError,
        ("query", "(3,)", "at least 2 dimensions"),
    ),
    "query of no dimension": ({"query": torch.tensor(1.0)}, ValueError, ("query", "()", "2")),
    "query of no width": (
        {"query": torch.zeros(5, 0), "key": torch.zeros(7, 0)},
        ValueError,
        ("query", "(5, 0)", "at least 1"),
    ),
    "key of another width": (
        {"key": torch.zeros(2, 1, 7, 2)},
        ValueError,
        ("key", "2", "(2, 1, 7, 2)", "3"),
    ),
    "key wider than the query": (
        {"key": torch.zeros(2, 1, 7, 5)},
        ValueError,
        ("key", "5", "(2, 1, 7, 5)", "3"),
    ),
    # torch's kernel on the CPU takes this one, in four dimensions, and answers.
    "value of another length": (
        {"value": torch.zeros(2, 1, 5, 11)},
        ValueError,
        ("value", "5", "(2, 1, 5, 11)", "7"),
    ),
    "value of another length, key_dim wide": (
        {"value": torch.zeros(2, 1, 11, 3)},
        ValueError,
        ("value", "11", "(2, 1, 11, 3)", "7"),
    ),
    "value of length 1": (
        {"value": torch.zeros(2, 1, 1, 11)},
        ValueError,
        ("value", "1", "(2, 1, 1, 11)", "7"),
    ),
    "leading dimensions apart": (
        {"key": torch.zeros(3, 1, 7, 3)},
        ValueError,
        ("query, key, value", "(2, 1)", "(3, 1)", "broadcast"),
    ),
    "mask is a list": ({"attn_mask": [[True]]}, TypeError, ("attn_mask", "list", "tensor")),
    "mask of complex numbers": (
        {"attn_mask": torch.zeros(5, 7, dtype=torch.complex64)},
        TypeError,
        ("attn_mask", "complex64", "boolean", "floating-point"),
    ),
    "added mask that does not fit": (
        {"attn_mask": torch.zeros(7, 5)},
        ValueError,
        ("attn_mask", "(7, 5)", "(2, 1, 5, 7)"),
    ),
    "added mask elsewhere": (
        {"attn_mask": torch.zeros(5, 7, device="meta")},
        ValueError,
        ("attn_mask", "meta", "cpu"),
    ),
    "mask of integers": (
        {"attn_mask": torch.ones(5, 7, dtype=torch.uint8)},
        TypeError,
        ("attn_mask", "uint8", "boolean", "floating-point"),
    ),
    "mask elsewhere": (
        {"attn_mask": torch.ones(5, 7, dtype=torch.bool, device="meta")},
        ValueError,
        ("attn_mask", "meta", "cpu"),
    ),
    "mask transposed": (
        {"attn_mask": torch.ones(7, 5, dtype=torch.bool)},
        ValueError,
        ("attn_mask", "(7, 5)", "(2, 1, 5, 7)"),
    ),
    "mask of another batch": (
        {"attn_mask": torch.ones(3, 1, 5, 7, dtype=torch.bool)},
        ValueError,
        ("attn_mask", "(3, 1, 5, 7)", "(2, 1, 5, 7)"),
    ),
    "mask that widens the batch": (
        {"attn_mask": torch.ones(2, 13, 5, 7, dtype=torch.bool)},
        ValueError,
        ("attn_mask", "(2, 13, 5, 7)", "(2, 1, 5, 7)"),
    ),
    "mask with a row for each text": (
        {"attn_mask": torch.ones(2, 1, 7, dtype=torch.bool)},
        ValueError,
        ("attn_mask", "(2, 1, 7)", "one row of keys per text is attn_mask[..., None, :]"),
    ),
    "mask of too many dimensions": (
        {"attn_mask": torch.ones(1, 2, 1, 5, 7, dtype=torch.bool)},
        ValueError,
        ("attn_mask", "(1, 2, 1, 5, 7)", "(2, 1, 5, 7)"),
    ),
    "mask that lengthens one query": (
        {"query": torch.zeros(2, 1, 1, 3), "attn_mask": torch.ones(5, 7, dtype=torch.bool)},
        ValueError,
        ("attn_mask", "(5, 7)", "(2, 1, 1, 7)"),
    ),
    "scale in words": ({"scale": "half"}, TypeError, ("scale", "str", "number")),
    "scale a tensor": ({"scale": torch.ones(2, 1, 1, 1)}, TypeError, ("scale", "Tensor", "number")),
    "scale not a number": ({"scale": math.nan}, ValueError, ("scale", "nan", "finite")),
    "scale infinite": ({"scale": math.inf}, ValueError, ("scale", "inf", "finite")),
}


@for_each(attend=(scaled_dot_product_attention, fused_attention))
def test_wrong_input_is_refused(attend):
    assert not unexpected_errors(
        (what, functools.partial(attend, **good(**changes)), error, words[0], words)
        for what, (changes, error, words) in WRONG.items()
    )


def test_good_input_is_accepted():
    for attend in (spelled, fused_attention):
        assert attend(**good()).shape == (2, 1, 5, 11)


def test_wrong_lengths_are_refused():
    assert not unexpected_errors(
        [
            ("n", lambda: causal_mask(2.0), TypeError, "n:", ("float", "integer")),
            ("n", lambda: causal_mask("2"), TypeError, "n:", ("str", "integer")),
            ("n", lambda: causal_mask(-1), ValueError, "n:", ("-1", "at least 0")),
            (
                "a list",
                lambda: padding_mask([1, 2], 3),
                TypeError,
                "lengths:",
                ("list", "tensor"),
            ),
            *(
                (
                    f"{lengths}, {n}",
                    functools.partial(padding_mask, torch.tensor(lengths), n),
                    *rest,
                )
                for lengths, n, *rest in (
                    ([1.0], 3, TypeError, "lengths:", ("float32",)),
                    ([True], 3, TypeError, "lengths:", ("bool",)),
                    ([1, 4], 3, ValueError, "lengths:", ("1 to 4", "n = 3")),
                    ([-1, 3], 3, ValueError, "lengths:", ("-1 to 3",)),
                    ([1], 2.5, TypeError, "n:", ("float", "integer")),
                    ([0], -1, ValueError, "n:", ("-1", "at least 0")),
                )
            ),
        ]
    )


def test_padding_mask_maps_over_a_batch():
    # vmap hides the values of a tensor, so the check of the lengths has to let them pass.
    lengths = torch.tensor([2, 0, 3])
    mapped = torch.vmap(lambda length: padding_mask(length, 3))(lengths)
    assert torch.equal(mapped, padding_mask(lengths, 3))
    with pytest.raises(TypeError, match="lengths: expected a tensor of integers"):
        torch.vmap(lambda length: padding_mask(length, 3))(lengths.float())


@for_each(attend=(scaled_dot_product_attention, fused_attention))
def test_wrong_dropout_is_refused(attend):
    for chance, error in ((-0.1, ValueError), (1.0, ValueError), (math.nan, ValueError)):
        with pytest.raises(error, match="dropout_p: expected"):
            attend(*torch.ones(3, 7, 5), dropout_p=chance)
    for chance in ("half", True):
        with pytest.raises(TypeError, match="dropout_p: expected a number"):
            attend(*torch.ones(3, 7, 5), dropout_p=chance)

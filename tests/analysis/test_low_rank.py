"""What QKᵀ can hold: identities over random sizes, and the errors of wrong input."""

import functools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from loops import for_each
from refusals import check_refused
from torch import nn
from wrapped import wrap

from attention import MultiHeadAttention, QKSelfAttention, SelfAttention, SelfAttentionV1
from attention.analysis import (
    balance,
    bilinear_form,
    effective_rank,
    parameter_count,
    truncate_rank,
)

BAR = 1e-10  # relative, in float64

widths = st.integers(1, 19)
seeds = st.integers(0, 2**32 - 1)


def error(got, expected):
    """Relative error in the Frobenius norm."""
    return ((got - expected).norm() / expected.norm()).item()


def tokens(d, *leading):
    return torch.randn(*leading, 7, d, dtype=torch.float64)


def random_layer(kind, d, k, seed, bias=False):
    torch.manual_seed(seed)
    layer = {
        "v1": lambda: SelfAttentionV1(d, k),
        "qk": lambda: QKSelfAttention(d, key_dim=k, bias=bias),
        "qkv": lambda: SelfAttention(d, key_dim=k, value_dim=3, bias=bias),
    }[kind]()
    return layer.double()


layers = st.builds(random_layer, st.sampled_from(["v1", "qk", "qkv"]), widths, widths, seeds)
biased = st.builds(
    random_layer, st.sampled_from(["qk", "qkv"]), widths, widths, seeds, st.just(True)
)


def matrices(layer):
    """Return W_query and W_key, (d, k) each."""
    pair = layer.W_query, layer.W_key
    return pair if isinstance(layer, SelfAttentionV1) else tuple(each.weight.T for each in pair)


def key_dim_of(layer):
    return matrices(layer)[0].shape[1]


def attend(layer, x):
    return layer(x, need_weights=True)


def random_gauge(k):
    """Draw R = U diag(s) V with s between 1 and 10, so that its condition number is at most 10."""
    U, _ = torch.linalg.qr(torch.randn(k, k, dtype=torch.float64))
    V, _ = torch.linalg.qr(torch.randn(k, k, dtype=torch.float64))
    return U * torch.empty(k, dtype=torch.float64).uniform_(1, 10) @ V


@given(layers | biased, seeds)
def test_scores_through_the_form(layer, seed):
    """Softmax of (x M + b W_keyᵀ) xᵀ / √k: with biases one of four terms more, not three."""
    torch.manual_seed(seed)
    M, k = bilinear_form(layer), key_dim_of(layer)
    x = tokens(len(M), 5)
    scores = x @ M @ x.mT
    if isinstance(layer, QKSelfAttention) and layer.W_query.bias is not None:
        scores = scores + (x @ layer.W_key.weight.T @ layer.W_query.bias)[..., None, :]
    assert error(attend(layer, x)[1], torch.softmax(scores / math.sqrt(k), dim=-1)) < BAR
    sigma = torch.linalg.svdvals(M)
    assert (sigma[k:] < BAR * sigma[0]).all()


@for_each(heads=((1, 1), (3, 3), (4, 2), (6, 1)), head_dim=(1, 5, 8))
def test_each_head_has_a_form_of_its_own_even_where_heads_share_their_keys(heads, head_dim):
    h, num_kv_heads = heads
    d = h * head_dim
    layer = MultiHeadAttention(d, h, num_kv_heads=num_kv_heads).double()
    M, x = bilinear_form(layer), tokens(d, 3)
    assert M.shape == (h, d, d)
    scores = x[:, None] @ M @ x[:, None].mT / math.sqrt(head_dim)
    assert error(attend(layer, x)[1], torch.softmax(scores, dim=-1)) < BAR


def test_the_form_keeps_the_dtype_and_leaves_the_graph():
    layer = QKSelfAttention(101, key_dim=37)
    M = bilinear_form(layer)
    assert not M.requires_grad
    exact = layer.W_query.weight.T.double() @ layer.W_key.weight.double()
    assert torch.equal(M, exact.float())  # only the last step rounds


def test_the_form_is_that_of_what_the_matrices_were_replaced_by():
    for layer in (QKSelfAttention(5, key_dim=3), MultiHeadAttention(6, 2, num_kv_heads=1)):
        torch.testing.assert_close(bilinear_form(wrap(layer)), bilinear_form(layer))


@given(layers, seeds)
def test_a_balanced_pair_has_equal_norms_and_the_same_weights(layer, seed):
    torch.manual_seed(seed)
    even = balance(layer)
    Q, K = matrices(even)
    assert error(Q.T @ Q, K.T @ K) < BAR
    assert error(Q.T @ Q, torch.diag(torch.diagonal(Q.T @ Q))) < BAR
    assert error(bilinear_form(even), bilinear_form(layer)) < BAR
    x = tokens(len(Q), 5)
    assert error(attend(even, x)[1], attend(layer, x)[1]) < BAR


def test_a_balanced_pair_has_the_smallest_sum_of_squares():
    layer = balance(random_layer("v1", 7, 5, seed=0))
    least = layer.W_query.square().sum() + layer.W_key.square().sum()
    assert least.item() == pytest.approx(2 * torch.linalg.svdvals(bilinear_form(layer)).sum())
    for seed in range(20):
        torch.manual_seed(seed)
        R = random_gauge(5)
        other = layer.W_query @ R, layer.W_key @ R.inverse().T
        assert sum(matrix.square().sum() for matrix in other) > least


def test_a_product_of_zeros_is_balanced_by_zeros():
    layer = QKSelfAttention(5, key_dim=3)
    nn.init.zeros_(layer.W_query.weight)
    assert not balance(layer).W_key.weight.any()


@given(layers, st.data(), seeds)
def test_a_truncated_layer_has_the_nearest_form_and_the_old_scale(layer, data, seed):
    torch.manual_seed(seed)
    M, k = bilinear_form(layer), key_dim_of(layer)
    r = data.draw(st.integers(0, min(len(M), k)))
    truncated = truncate_rank(layer, r)
    assert truncated is not layer
    assert type(truncated) is type(layer)
    U, sigma, Vh = torch.linalg.svd(M)
    nearest = U[:, :r] * sigma[:r] @ Vh[:r]
    assert (bilinear_form(truncated) - nearest).norm() < BAR * sigma.norm()
    x = tokens(len(M), 5)
    weights = torch.softmax(x @ nearest @ x.mT / math.sqrt(k), dim=-1)
    assert error(attend(truncated, x)[1], weights) < BAR


def test_wrong_layers_and_matrices_are_refused():
    layer = QKSelfAttention(5, key_dim=3)
    calls = balance, functools.partial(truncate_rank, r=1)
    of_layer = [
        (call, (wrong,), ["layer: expected SelfAttentionV1", f"got {type(wrong).__name__}"])
        for call in calls
        for wrong in (nn.MultiheadAttention(4, 2), MultiHeadAttention(4, 2))
    ]
    of_layer += [(bilinear_form, (nn.Linear(3, 3),), "layer: expected .* got Linear")]
    computed = torch.nn.utils.parametrizations.weight_norm(QKSelfAttention(5, key_dim=3).W_query)
    parametrized = QKSelfAttention(5, key_dim=3)
    parametrized.W_query = computed
    message = "expected matrices that are parameters, got a Parametrized"
    of_layer += [(call, (parametrized,), message) for call in calls]
    with_biases = QKSelfAttention(5, key_dim=3, bias=True)
    biases = [(call, (with_biases,), "expected one without biases") for call in calls]
    zeros, matrix = "matrix: expected one that is not zero everywhere", "expected a matrix, got"
    values = [
        *biases,
        (truncate_rank, (layer, -1), "r: expected at least 0, got -1"),
        (truncate_rank, (layer, 4), "= 3, got 4$"),
        (truncate_rank, (QKSelfAttention(3, key_dim=5), 4), "= 3, got 4$"),
        (effective_rank, (torch.full((3, 3), math.nan),), "matrix: expected finite"),
        (effective_rank, (torch.zeros(3, 5),), zeros),
        (effective_rank, (torch.ones(3),), [matrix, "shape (3,)"]),
    ]
    types = [
        *of_layer,
        *((truncate_rank, (layer, r), "r: expected an integer") for r in (True, 2.0, None)),
        (effective_rank, (torch.eye(3).int(),), "matrix: expected a floating-point"),
    ]
    for error_of, cases in ((ValueError, values), (TypeError, types)):
        check_refused(lambda call, arguments: call(*arguments), cases, error_of)


@given(widths, widths, seeds)
def test_the_effective_rank_is_between_1_and_the_rank(d, k, seed):
    torch.manual_seed(seed)
    matrix = torch.randn(d, k, dtype=torch.float64)
    rank = effective_rank(matrix)
    assert 1 - BAR <= rank <= min(d, k) * (1 + BAR)
    assert error(effective_rank(-3 * matrix.T), rank) < BAR


def test_the_effective_rank_by_hand():
    """Shares ½, ¼, ¼ have an entropy of 1.5 bits, and r equal ones one of log r."""
    matrix = torch.diag(torch.tensor([2.0, -1.0, 1.0], dtype=torch.float64))
    assert effective_rank(matrix).item() == pytest.approx(2**1.5, rel=1e-12)
    for r in (1, 2, 5):
        Q, _ = torch.linalg.qr(torch.randn(7, r, dtype=torch.float64))
        assert effective_rank(Q @ Q.T).item() == pytest.approx(r, rel=1e-10)
    stack = torch.randn(3, 5, 7, 11)
    assert effective_rank(stack).shape == (3, 5)
    assert effective_rank(stack)[1, 2].item() == effective_rank(stack[1, 2]).item()


def test_a_count_of_what_cannot_be_built_is_refused():
    wrong = [
        ("qk", 8, {"key_dim": 0}, "key_dim: expected at least 1, got 0"),
        ("multihead", 8, {"num_kv_heads": 0}, "num_kv_heads: expected at least 1, got 0"),
    ]
    check_refused(lambda kind, d, options: parameter_count(kind, d, **options), wrong)
    with pytest.raises(TypeError, match="embed_dim: expected an integer, got float"):
        parameter_count("qk", 5.0, key_dim=3)

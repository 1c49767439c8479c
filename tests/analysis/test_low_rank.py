"""What QKᵀ can hold: identities over random sizes, and the errors of wrong input."""

import functools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import check_refused
from torch import nn

from attention import (
    EnergyPooling,
    KeyedPooling,
    MultiHeadAttention,
    QKSelfAttention,
    SelfAttention,
    SelfAttentionV1,
    SentimentClassifier,
)
from attention.analysis import (
    balance,
    bilinear_form,
    change_gauge,
    effective_rank,
    parameter_count,
    truncate_rank,
)
from attention.layers.variants import VARIANTS

BAR = 1e-10  # relative, in float64

random_cases = settings(max_examples=200, deadline=None, derandomize=True, database=None)
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


layers = st.builds(
    random_layer, st.sampled_from(["v1", "qk", "qkv"]), widths, widths, seeds, st.booleans()
)


def width_of(layer):
    return bilinear_form(layer).shape[0]


def key_dim_of(layer):
    W = layer.W_query
    return W.shape[1] if isinstance(layer, SelfAttentionV1) else W.weight.shape[0]


def attend(layer, x):
    return layer(x, need_weights=True)


def random_gauge(k):
    """Draw R = U diag(s) V with s between 1 and 10, so that its condition number is at most 10."""
    U, _ = torch.linalg.qr(torch.randn(k, k, dtype=torch.float64))
    V, _ = torch.linalg.qr(torch.randn(k, k, dtype=torch.float64))
    return U * torch.empty(k, dtype=torch.float64).uniform_(1, 10) @ V


class TestOneGlobalQuery:
    @random_cases
    @given(widths, widths, seeds)
    def test_keys_are_an_energy(self, d, k, seed):
        torch.manual_seed(seed)
        keyed, energy = KeyedPooling(d, key_dim=k).double(), EnergyPooling(d).double()
        with torch.no_grad():
            energy.energy.weight.copy_(keyed.query @ keyed.W_key.weight)
        x = tokens(d, 5)
        for got, expected in zip(attend(keyed, x), attend(energy, x), strict=True):
            assert error(got, expected) < BAR

    @random_cases
    @given(widths, widths, seeds)
    def test_an_energy_is_keys_of_any_width(self, d, k, seed):
        torch.manual_seed(seed)
        keyed, energy = KeyedPooling(d, key_dim=k).double(), EnergyPooling(d).double()
        with torch.no_grad():
            q = keyed.query
            keyed.W_key.weight.copy_(torch.outer(q / q.square().sum(), energy.energy.weight[0]))
        x = tokens(d, 5)
        assert error(keyed(x), energy(x)) < BAR


class TestBilinearForm:
    @random_cases
    @given(layers, seeds)
    def test_scores_through_the_form(self, layer, seed):
        """Softmax of (x M + b W_keyᵀ) xᵀ / √k: with biases one of four terms more, not three."""
        torch.manual_seed(seed)
        M, k = bilinear_form(layer), key_dim_of(layer)
        x = tokens(len(M), 5)
        scores = x @ M @ x.mT
        if isinstance(layer, QKSelfAttention) and layer.W_query.bias is not None:
            scores = scores + (x @ layer.W_key.weight.T @ layer.W_query.bias)[..., None, :]
        weights = torch.softmax(scores / math.sqrt(k), dim=-1)
        assert error(attend(layer, x)[1], weights) < BAR

    @random_cases
    @given(layers)
    def test_rank_is_at_most_k(self, layer):
        sigma = torch.linalg.svdvals(bilinear_form(layer))
        assert (sigma[key_dim_of(layer) :] < BAR * sigma[0]).all()

    @random_cases
    @given(st.integers(1, 5), widths, seeds, st.booleans())
    def test_one_matrix_per_head_of_torch(self, heads, head_dim, seed, other_width):
        torch.manual_seed(seed)
        d = heads * head_dim
        kdim = d + 2 if other_width else d
        layer = nn.MultiheadAttention(
            d, heads, bias=False, kdim=kdim, batch_first=True, dtype=torch.float64
        )
        M = bilinear_form(layer)
        assert M.shape == (heads, d, kdim)
        x = tokens(d, 3)
        y = torch.randn(3, 11, kdim, dtype=torch.float64)
        scores = x[:, None] @ M @ y[:, None].mT / math.sqrt(head_dim)
        _, weights = layer(x, y, torch.randn(3, 11, d).double(), average_attn_weights=False)
        assert error(weights, torch.softmax(scores, dim=-1)) < BAR

    @random_cases
    @given(st.integers(1, 5), widths, seeds, st.booleans())
    def test_one_matrix_per_head_of_ours(self, heads, head_dim, seed, bias):
        torch.manual_seed(seed)
        d = heads * head_dim
        ours = MultiHeadAttention(d, heads, bias=bias).double()
        theirs = nn.MultiheadAttention(d, heads, bias=bias, batch_first=True).double()
        projections = (ours.W_query, ours.W_key, ours.W_value)
        with torch.no_grad():
            theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        M = bilinear_form(ours)
        assert M.shape == (heads, d, d)
        assert torch.equal(M, bilinear_form(theirs))
        if not bias:
            x = tokens(d, 3)
            scores = x[:, None] @ M @ x[:, None].mT / math.sqrt(head_dim)
            assert error(attend(ours, x)[1], torch.softmax(scores, dim=-1)) < BAR

    def test_heads_that_share_their_keys_have_forms_of_their_own(self):
        layer = MultiHeadAttention(8, 4, num_kv_heads=2).double()
        x = torch.randn(5, 8, dtype=torch.float64)
        scores = x @ bilinear_form(layer) @ x.T  # (h, n, n)
        _, weights = layer(x, need_weights=True)
        torch.testing.assert_close(torch.softmax(scores / 2**0.5, dim=-1), weights)

    def test_keeps_dtype_and_leaves_the_graph(self):
        layer = QKSelfAttention(101, key_dim=37)
        M = bilinear_form(layer)
        assert not M.requires_grad
        exact = layer.W_query.weight.T.double() @ layer.W_key.weight.double()
        assert torch.equal(M, exact.float())  # only the last step rounds

    def test_refuses_other_layers(self):
        with pytest.raises(TypeError, match=r"layer: expected .* got Linear"):
            bilinear_form(nn.Linear(3, 3))


class TestKeyBias:
    @random_cases
    @given(widths, widths, seeds)
    def test_changes_no_weight_and_gets_no_gradient(self, d, k, seed):
        layer = random_layer("qkv", d, k, seed, bias=True)
        x = tokens(d, 5)
        before = layer(x)
        before.square().sum().backward()
        size = layer.W_query.bias.grad.norm() + layer.W_key.weight.grad.norm()
        assert layer.W_key.bias.grad.norm() < BAR * size
        with torch.no_grad():
            layer.W_key.bias.uniform_(-10, 10)
        assert error(layer(x), before) < BAR


class TestChangeGauge:
    @random_cases
    @given(layers, seeds)
    def test_changes_no_score(self, layer, seed):
        torch.manual_seed(seed)
        R = random_gauge(key_dim_of(layer))
        assert torch.linalg.cond(R) <= 10 * (1 + 1e-12)
        changed = change_gauge(layer, R)
        x = tokens(width_of(layer), 5)
        assert error(bilinear_form(changed), bilinear_form(layer)) < BAR
        for got, expected in zip(attend(changed, x), attend(layer, x), strict=True):
            assert error(got, expected) < BAR
        if isinstance(layer, QKSelfAttention):
            pair = [each.W_query(x) @ each.W_key(x).mT for each in (changed, layer)]
            assert error(*pair) < BAR

    def test_returns_a_new_layer(self):
        layer = random_layer("qkv", 5, 3, seed=0, bias=True)
        before = {name: p.clone() for name, p in layer.named_parameters()}
        changed = change_gauge(layer, 2 * torch.eye(3).double())
        for name, p in layer.named_parameters():
            assert torch.equal(p, before[name])
        assert torch.equal(changed.W_query.weight, 2 * layer.W_query.weight)
        assert torch.equal(changed.W_key.bias, layer.W_key.bias / 2)
        assert torch.equal(changed.W_value.weight, layer.W_value.weight)

    def test_a_wrong_r_is_refused(self):
        change = functools.partial(change_gauge, QKSelfAttention(5, key_dim=3))
        invertible = "R: expected an invertible matrix"
        wrong_values = [
            (torch.ones(3, 3), invertible),
            (torch.diag(torch.tensor([1.0, 1e-20, 1.0])), invertible),
            (torch.eye(5), ["R: expected shape (3, 3)", "got (5, 5)"]),
            (torch.ones(3, 2), ["R: expected shape (3, 3)", "got (3, 2)"]),
            (torch.ones(3), ["R: expected a matrix, got shape (3,)"]),
            (torch.full((3, 3), math.nan), "R: expected finite"),
        ]
        check_refused(change, wrong_values)
        wrong_types = [
            (torch.eye(3, dtype=torch.int64), "R: expected a floating-point"),
            ([[1.0]], "R: expected a tensor, got list"),
        ]
        check_refused(change, wrong_types, TypeError)


class TestBalance:
    @random_cases
    @given(layers, seeds)
    def test_balances_the_pair_and_keeps_the_weights(self, layer, seed):
        torch.manual_seed(seed)
        even = balance(layer)
        if isinstance(layer, SelfAttentionV1):
            Q, K = even.W_query, even.W_key
        else:
            Q, K = even.W_query.weight.T, even.W_key.weight.T
        assert error(Q.T @ Q, K.T @ K) < BAR
        assert error(Q.T @ Q, torch.diag(torch.diagonal(Q.T @ Q))) < BAR
        assert error(bilinear_form(even), bilinear_form(layer)) < BAR
        x = tokens(len(Q), 5)
        assert error(attend(even, x)[1], attend(layer, x)[1]) < BAR

    def test_has_the_smallest_sum_of_squares(self):
        layer = balance(random_layer("v1", 7, 5, seed=0))
        least = layer.W_query.square().sum() + layer.W_key.square().sum()
        assert least.item() == pytest.approx(2 * torch.linalg.svdvals(bilinear_form(layer)).sum())
        for seed in range(20):
            torch.manual_seed(seed)
            other = change_gauge(layer, random_gauge(5))
            assert other.W_query.square().sum() + other.W_key.square().sum() > least

    def test_of_a_zero_product(self):
        layer = QKSelfAttention(5, key_dim=3)
        nn.init.zeros_(layer.W_query.weight)
        assert not balance(layer).W_key.weight.any()

    def test_refuses_a_bias_it_cannot_keep(self):
        layer = QKSelfAttention(5, key_dim=3, bias=True)
        nn.init.zeros_(layer.W_query.weight)
        with pytest.raises(ValueError, match="layer: expected a query bias"):
            balance(layer)


class TestTruncateRank:
    @random_cases
    @given(layers, st.data())
    def test_is_the_nearest(self, layer, data):
        M = bilinear_form(layer)
        r = data.draw(st.integers(0, min(len(M), key_dim_of(layer))))
        truncated = truncate_rank(layer, r)
        assert truncated is not layer
        nearest = bilinear_form(truncated)
        sigma = torch.linalg.svdvals(M)
        assert (torch.linalg.svdvals(nearest)[r:] < BAR * sigma[0]).all()
        assert abs((M - nearest).norm() - sigma[r:].norm()) < BAR * sigma.norm()

    @random_cases
    @given(layers, st.data(), seeds)
    def test_truncates_the_form_and_nothing_else(self, layer, data, seed):
        """The scale stays, and so does what the query bias does."""
        torch.manual_seed(seed)
        M, k = bilinear_form(layer), key_dim_of(layer)
        r = data.draw(st.integers(0, min(len(M), k)))
        U, sigma, Vh = torch.linalg.svd(M)
        x = tokens(len(M), 5)
        scores = x @ (U[:, :r] * sigma[:r] @ Vh[:r]) @ x.mT
        if isinstance(layer, QKSelfAttention) and layer.W_query.bias is not None:
            scores = scores + (x @ layer.W_key.weight.T @ layer.W_query.bias)[..., None, :]
        weights = torch.softmax(scores / math.sqrt(k), dim=-1)
        truncated = truncate_rank(layer, r)
        assert type(truncated) is type(layer)
        assert error(attend(truncated, x)[1], weights) < BAR

    def test_rank_0_without_biases_is_the_mean(self):
        x = tokens(5)
        weights = attend(truncate_rank(random_layer("qk", 5, 3, seed=0), 0), x)[1]
        assert torch.equal(weights, torch.full((7, 7), 1 / 7, dtype=torch.float64))

    def test_a_wrong_r_is_refused(self):
        layers = QKSelfAttention(5, key_dim=3), QKSelfAttention(3, key_dim=5)
        wrong = [(layer, r, f"= 3, got {r}$") for layer in layers for r in (-1, 4, 5, 6)]
        check_refused(truncate_rank, wrong)
        wrong = [(layers[0], r, "r: expected an integer") for r in (True, 2.0, None)]
        check_refused(truncate_rank, wrong, TypeError)


@pytest.mark.parametrize("layer", [nn.MultiheadAttention(4, 2), MultiHeadAttention(4, 2)])
def test_one_head_at_a_time(layer):
    calls = (balance, lambda x: truncate_rank(x, 1), lambda x: change_gauge(x, torch.eye(2)))
    expected = ["layer: expected SelfAttentionV1", f"got {type(layer).__name__}"]
    for call in calls:
        check_refused(call, [(layer, expected)], TypeError)


class TestEffectiveRank:
    @random_cases
    @given(widths, widths, seeds)
    def test_between_1_and_the_rank(self, d, k, seed):
        torch.manual_seed(seed)
        matrix = torch.randn(d, k, dtype=torch.float64)
        rank = effective_rank(matrix)
        assert 1 - BAR <= rank <= min(d, k) * (1 + BAR)
        assert error(effective_rank(-3 * matrix.T), rank) < BAR

    def test_of_r_equal_values_is_r(self):
        for r in (1, 2, 5):
            Q, _ = torch.linalg.qr(torch.randn(7, r, dtype=torch.float64))
            assert effective_rank(Q @ Q.T).item() == pytest.approx(r, rel=1e-10)

    def test_by_hand(self):
        """Shares ½, ¼, ¼ have an entropy of 1.5 bits."""
        matrix = torch.diag(torch.tensor([2.0, -1.0, 1.0], dtype=torch.float64))
        assert effective_rank(matrix).item() == pytest.approx(2**1.5, rel=1e-12)

    def test_of_a_stack(self):
        stack = torch.randn(3, 5, 7, 11)
        assert effective_rank(stack).shape == (3, 5)
        assert effective_rank(stack)[1, 2].item() == effective_rank(stack[1, 2]).item()

    def test_a_wrong_matrix_is_refused(self):
        wrong = [
            (torch.zeros(3, 5), "matrix: expected one that is not zero everywhere"),
            (torch.ones(3), ["matrix: expected a matrix, got shape (3,)"]),
            (torch.full((2, 2), math.inf), "matrix: expected finite"),
        ]
        check_refused(effective_rank, wrong)
        wrong = [(torch.eye(3).int(), "matrix: expected a floating-point")]
        check_refused(effective_rank, wrong, TypeError)


class TestParameterCount:
    @random_cases
    @given(st.sampled_from(list(VARIANTS)), widths, widths)
    def test_is_what_the_model_has(self, kind, d, k):
        given = {"key_dim": k, "num_heads": 1}
        options = {name: given[name] for name in VARIANTS[kind].options.keys() & given}
        model = SentimentClassifier(97, embed_dim=d, attention=kind, **options)
        counted = sum(p.numel() for p in model.attention.parameters())
        assert parameter_count(kind, d, **options) == counted

    def test_low_rank_saves_nothing_at_half_the_width(self):
        for d in (2, 16, 64):
            assert parameter_count("qk", d, key_dim=d // 2) == d**2
            assert parameter_count("keys", d, key_dim=1) == parameter_count("energy", d) + 1

    def test_without_options_it_is_what_the_variant_has(self):
        assert parameter_count("multihead", 16, num_kv_heads=2) < parameter_count("multihead", 16)

    def test_refuses(self):
        zeros = [("qk", "key_dim"), ("multihead", "num_kv_heads"), ("latent", "latent_dim")]
        wrong = [(kind, {name: 0}, f"{name}: expected at least 1, got 0") for kind, name in zeros]
        wrong += [
            ("kqv", {}, "attention: expected one of mean, .* got 'kqv'"),
            ("mean", {"key_dim": 3}, "key_dim: expected keys, qk or qkv, which read it, got mean"),
        ]
        check_refused(lambda kind, options: parameter_count(kind, 8, **options), wrong)
        with pytest.raises(TypeError, match="embed_dim: expected an integer, got float"):
            parameter_count("qk", 5.0, key_dim=3)

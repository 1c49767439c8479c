"""What QKᵀ can hold: identities over random sizes, and the errors of wrong input."""

import copy
import functools
import math

import pytest
import torch
from errors import unexpected_errors
from hypothesis import given, settings
from hypothesis import strategies as st
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
    fold_values,
    parameter_count,
    truncate_rank,
)
from attention.layers.variants import VARIANTS

BAR = 1e-10  # relative, in float64

random_cases = settings(max_examples=200, deadline=None, derandomize=True, database=None)
some_cases = settings(random_cases, max_examples=50)
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


def rotated(vectors):
    """Turn each pair of coordinates by matrices that are written out, one per position."""
    n, k = vectors.shape[-2:]
    rotations = []
    for position in range(n):
        angles = [position * 100.0 ** (-i / k) for i in range(0, k, 2)]
        blocks = [[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles]
        rotations.append(torch.block_diag(*torch.tensor(blocks, dtype=torch.float64)))
    return (vectors[..., None, :] @ torch.stack(rotations).mT)[..., 0, :]


def normalised(vectors):
    return vectors / vectors.norm(dim=-1, keepdim=True)


def weights_behind(between, layer, x):
    """Attend with something between the projections and the dot product."""
    query, key = between(layer.W_query(x)), between(layer.W_key(x))
    return torch.softmax(query @ key.mT, dim=-1)


def wide_layer(d, pairs, seed, bias=False):
    """Draw a layer with scores of some size, so that a change of them shows in the weights."""
    layer = random_layer("qk", d, 2 * pairs, seed, bias=bias)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


class TestConditions:
    """What holds for a plain dot product, and what is left where something comes before it."""

    @some_cases
    @given(st.integers(2, 11), st.integers(1, 5), seeds)
    def test_the_key_bias_is_alive_behind_rotations_and_norms(self, d, pairs, seed):
        layer = wide_layer(d, pairs, seed, bias=True)
        without = copy.deepcopy(layer)
        nn.init.zeros_(without.W_key.bias)
        x = tokens(d)
        assert error(attend(without, x)[1], attend(layer, x)[1]) < BAR
        for between in (rotated, normalised):
            assert error(*(weights_behind(between, each, x) for each in (without, layer))) > 1e-7

    @some_cases
    @given(st.integers(2, 11), st.integers(2, 5), seeds)
    def test_rotations_leave_a_rotation_and_a_scale_per_pair(self, d, pairs, seed):
        layer, x = wide_layer(d, pairs, seed), tokens(d)
        before = weights_behind(rotated, layer, x)
        a, b = torch.empty(2, pairs, dtype=torch.float64).uniform_(1, 2)
        blocks = torch.stack([a, -b, b, a], dim=-1).unflatten(-1, (2, 2))
        kept = change_gauge(layer, torch.block_diag(*blocks))
        assert error(weights_behind(rotated, kept, x), before) < BAR
        for R in (random_gauge(2 * pairs), torch.linalg.qr(random_gauge(2 * pairs)).Q):
            assert error(weights_behind(rotated, change_gauge(layer, R), x), before) > 1e-7

    @some_cases
    @given(st.integers(2, 11), st.integers(1, 5), seeds)
    def test_norms_leave_rotations_and_reflections(self, d, pairs, seed):
        layer, x = wide_layer(d, pairs, seed), tokens(d)
        before = weights_behind(normalised, layer, x)
        Q = torch.linalg.qr(torch.randn(2 * pairs, 2 * pairs, dtype=torch.float64)).Q
        assert error(weights_behind(normalised, change_gauge(layer, Q), x), before) < BAR
        stretched = change_gauge(layer, Q * torch.linspace(1, 3, 2 * pairs).double())
        assert error(weights_behind(normalised, stretched, x), before) > 1e-7

    @some_cases
    @given(st.integers(3, 19), st.integers(1, 5), seeds)
    def test_behind_a_layer_norm_one_direction_of_the_form_is_idle(self, d, pairs, seed):
        layer = wide_layer(d, pairs, seed)
        norm = nn.LayerNorm(d).double()
        nn.init.uniform_(norm.weight, 0.5, 2.0)
        nn.init.normal_(norm.bias)
        x = norm(tokens(d)).detach()
        shifted = copy.deepcopy(layer)
        with torch.no_grad():
            shifted.W_key.weight += torch.outer(torch.randn(2 * pairs), 1 / norm.weight)
        assert error(attend(shifted, x)[1], attend(layer, x)[1]) < BAR
        assert error(bilinear_form(shifted), bilinear_form(layer)) > 0.01
        elsewhere = tokens(d)  # not normalised
        assert error(attend(shifted, elsewhere)[1], attend(layer, elsewhere)[1]) > 1e-7


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
        layer = QKSelfAttention(5, key_dim=3)
        invertible = ("an invertible matrix",)
        assert not unexpected_errors(
            (words, functools.partial(change_gauge, layer, R), kind, "R: expected", words)
            for R, kind, words in (
                (torch.ones(3, 3), ValueError, invertible),
                (torch.diag(torch.tensor([1.0, 1e-20, 1.0])), ValueError, invertible),
                (torch.eye(5), ValueError, ("shape (3, 3)", "got (5, 5)")),
                (torch.ones(3, 2), ValueError, ("shape (3, 3)", "got (3, 2)")),
                (torch.ones(3), ValueError, ("a matrix, got shape (3,)",)),
                (torch.full((3, 3), float("nan")), ValueError, ("finite",)),
                (torch.eye(3, dtype=torch.int64), TypeError, ("a floating-point",)),
                ([[1.0]], TypeError, ("a tensor, got list",)),
            )
        )


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
        wide, narrow = QKSelfAttention(5, key_dim=3), QKSelfAttention(3, key_dim=5)
        for r in (-1, 4, 5, 6):
            for layer in (wide, narrow):
                with pytest.raises(ValueError, match=f"r: expected 0 to .* = 3, got {r}"):
                    truncate_rank(layer, r)
        for r in (True, 2.0, None):
            with pytest.raises(TypeError, match="r: expected an integer"):
                truncate_rank(wide, r)


def test_one_head_at_a_time():
    heads = (nn.MultiheadAttention(4, 2), MultiHeadAttention(4, 2))
    calls = (balance, lambda x: truncate_rank(x, 1), lambda x: change_gauge(x, torch.eye(2)))
    assert not unexpected_errors(
        (
            f"{i}, {type(layer).__name__}",
            functools.partial(call, layer),
            TypeError,
            "layer: expected",
            (f"got {type(layer).__name__}",),
        )
        for i, call in enumerate(calls)
        for layer in heads
    )


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
        assert not unexpected_errors(
            (words, functools.partial(effective_rank, matrix), kind, "matrix: expected", words)
            for matrix, kind, words in (
                (torch.zeros(3, 5), ValueError, ("not zero everywhere",)),
                (torch.ones(3), ValueError, ("a matrix, got shape (3,)",)),
                (torch.full((2, 2), float("inf")), ValueError, ("finite",)),
                (torch.eye(3).int(), TypeError, ("a floating-point",)),
            )
        )


class TestFoldValues:
    @random_cases
    @given(widths, widths, st.integers(1, 5), seeds, st.booleans())
    def test_same_logits(self, d, k, value_dim, seed, bias):
        torch.manual_seed(seed)
        model = SentimentClassifier(
            97, embed_dim=d, attention="qkv", key_dim=k, value_dim=value_dim, bias=bias
        ).double()
        folded = fold_values(model)
        assert folded.config.attention == "qk"
        ids, lengths = torch.randint(1, 97, (31, 7)), torch.randint(1, 8, (31,))
        assert error(folded(ids, lengths), model(ids, lengths)) < BAR

    def test_keeps_the_other_parts_of_the_model(self):
        model = SentimentClassifier(
            97,
            embed_dim=5,
            attention="qkv",
            key_dim=3,
            scale=False,
            bigram_buckets=11,
            segments=True,
            dropout=0.5,
        ).eval()
        nn.init.normal_(model.segment)
        ids = torch.randint(1, 97, (31, 7))
        folded = fold_values(model)
        assert not folded.training
        torch.testing.assert_close(folded(ids), model(ids))

    def test_not_through_a_nonlinearity(self):
        model = SentimentClassifier(97, embed_dim=5, attention="qkv")
        model.classifier = nn.Sequential(nn.ReLU(), nn.Linear(5, 1))
        with pytest.raises(ValueError, match="expected a linear classifier, got Sequential"):
            fold_values(model)

    def test_refuses(self):
        with pytest.raises(ValueError, match="expected attention 'qkv', got QKSelfAttention"):
            fold_values(SentimentClassifier(97, attention="qk"))
        with pytest.raises(TypeError, match="model: expected a SentimentClassifier, got Linear"):
            fold_values(nn.Linear(2, 2))


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

    def test_refuses(self):
        with pytest.raises(ValueError, match=r"attention: expected one of mean, .* got 'kqv'"):
            parameter_count("kqv", 5)
        with pytest.raises(ValueError, match="key_dim: expected at least 1, got 0"):
            parameter_count("qk", 5, key_dim=0)
        with pytest.raises(TypeError, match="embed_dim: expected an integer, got float"):
            parameter_count("qk", 5.0, key_dim=3)

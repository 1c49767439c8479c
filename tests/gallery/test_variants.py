"""The variants of attention: each the one of its equation, in value and in gradient."""

import json
import math
import runpy
import statistics
import types

import from_scratch
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from imports import imported
from layer_oracle import attend
from oracles import assert_same
from run_pages import ROOT

import attention

LESSON = "deeper/plot_9g_variants"
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    written = tmp_path_factory.mktemp("site") / from_scratch.VARIANTS
    written.write_text(from_scratch.from_scratch(ROOT, from_scratch.VARIANTS), encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def variants(path):
    """Execute the file, as a reader would who has it in the folder."""
    return types.SimpleNamespace(**runpy.run_path(path))


# ---- each equation again, of the scores of all pairs


def scores(query, key):
    return torch.einsum("nk,mk->nm", query, key) / math.sqrt(query.shape[-1])


def normalised(scores, value, allowed):
    """Sum over the allowed keys with exponentials divided by their sum, as the oracle does."""
    added = torch.zeros(allowed.shape, dtype=value.dtype).masked_fill(~allowed, -math.inf)
    return attend(scores, torch.eye(len(value), dtype=value.dtype), value, added, 1.0)[0]


def softmax(q, k, v, allowed):
    return normalised(scores(q, k), v, allowed)


def sink(q, k, v, allowed, sink):
    """One more key has this score for every query that sees any, and hands over nothing."""
    s = torch.cat([scores(q, k), sink.expand(len(q), 1)], dim=-1)
    seen = torch.cat([allowed, allowed.any(dim=-1, keepdim=True)], dim=-1)
    return normalised(s, torch.cat([v, torch.zeros_like(v[:1])]), seen)


def plus_one(q, k, v, allowed):
    return sink(q, k, v, allowed, torch.zeros((), dtype=torch.float64))


def gated(q, k, v, allowed, gate):
    return softmax(q, k, v, allowed) / (1 + torch.exp(-gate))


def qk_norm(q, k, v, allowed, gain=1.0):
    tiny = torch.finfo(q.dtype).eps
    q, k = (x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + tiny) * gain for x in (q, k))
    return softmax(q, k, v, allowed)


def soft_cap(q, k, v, allowed, cap):
    power = torch.exp(-2 * scores(q, k) / cap)
    return normalised(cap * (1 - power) / (1 + power), v, allowed)


def sigmoid(q, k, v, allowed, bias):
    return (1 / (1 + torch.exp(-scores(q, k) - bias))).masked_fill(~allowed, 0.0) @ v


def window(q, k, v, allowed, window):
    near = [[abs(i - j) < window for j in range(len(k))] for i in range(len(q))]
    return softmax(q, k, v, allowed & torch.tensor(near))


def top_k(q, k, v, allowed, k_):
    ranked = scores(q, k).masked_fill(~allowed, -math.inf).argsort(descending=True)
    kept = torch.zeros_like(allowed).scatter(-1, ranked[:, :k_], True)
    return softmax(q, k, v, allowed & kept)


def linear(q, k, v, allowed):
    q, k = (torch.where(x > 0, x + 1, torch.exp(torch.clamp(x, max=0.0))) for x in (q, k))
    products = (q @ k.T).masked_fill(~allowed, 0.0)
    total = products.sum(dim=-1, keepdim=True)
    return products / total.where(total > 0, 1.0) @ v


# For each function its equation, and what else it reads: n queries, keys of width k, values of v
CASES = {
    "softmax_attention": (softmax, lambda n, k, v: {}),
    "softmax_plus_one_attention": (plus_one, lambda n, k, v: {}),
    "sink_attention": (sink, lambda n, k, v: {"sink": torch.randn(())}),
    "gated_attention": (gated, lambda n, k, v: {"gate": torch.randn(n, v)}),
    "qk_norm_attention": (qk_norm, lambda n, k, v: {"gain": torch.randn(k)}),
    "soft_cap_attention": (soft_cap, lambda n, k, v: {"cap": 1.5}),
    "sigmoid_attention": (sigmoid, lambda n, k, v: {"bias": torch.randn(())}),
    "window_attention": (window, lambda n, k, v: {"window": 1 + torch.randint(4, ()).item()}),
    "top_k_attention": (top_k, lambda n, k, v: {"k": 1 + torch.randint(4, ()).item()}),
    "linear_attention": (linear, lambda n, k, v: {}),
}
sizes = st.integers(1, 5)


def options_for(name, n, k, v):
    """Draw what a function reads beside queries, keys and values, in float64."""
    drawn = CASES[name][1](n, k, v)
    return {one: each.double() if torch.is_tensor(each) else each for one, each in drawn.items()}


@pytest.mark.parametrize("name", CASES)
@given(
    n=sizes,
    m=sizes,
    k=sizes,
    v=sizes,
    is_causal=st.booleans(),
    is_masked=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_each_is_the_one_of_its_equation(variants, name, n, m, k, v, is_causal, is_masked, seed):
    torch.manual_seed(seed)
    m = n if is_causal else m
    query, key, value = (
        torch.randn(rows, width, dtype=torch.float64) for rows, width in ((n, k), (m, k), (m, v))
    )
    options = options_for(name, n, k, v)
    leaves = [query, key, value, *filter(torch.is_tensor, options.values())]
    for leaf in leaves:
        leaf.requires_grad_()
    mask = torch.rand(n, m) > 0.4 if is_masked else None
    allowed = torch.ones(n, m, dtype=torch.bool) if mask is None else mask
    allowed = allowed & (torch.arange(m) <= torch.arange(n)[:, None]) if is_causal else allowed
    ours = getattr(variants, name)(query, key, value, mask, is_causal, **options)
    theirs = CASES[name][0](query, key, value, allowed, *options.values())
    assert_same(ours, theirs, TOLERANCE, leaves)
    blind = ~allowed.any(dim=-1)
    assert not ours[blind].any()


@given(n=sizes, k=sizes, v=sizes, seed=st.integers(0, 2**31))
def test_recurrences_are_their_causal_forms(variants, n, k, v, seed):
    torch.manual_seed(seed)
    query, key = torch.randn(2, 2, n, k, dtype=torch.float64).requires_grad_().unbind()
    value = torch.randn(2, n, v, dtype=torch.float64, requires_grad=True)
    context, state = variants.linear_recurrence(query, key, value)
    assert state.shape == (2, k, v + 1)
    causal = variants.linear_attention(query, key, value, is_causal=True)
    assert_same(context, causal, TOLERANCE, [query, key, value])


@given(
    n=sizes,
    k=sizes,
    v=sizes,
    decays=st.booleans(),
    cut=st.integers(0, 5),
    seed=st.integers(0, 2**31),
)
def test_the_delta_rule_is_a_product_of_matrices(variants, n, k, v, decays, cut, seed):
    torch.manual_seed(seed)
    query, key = torch.randn(2, n, k, dtype=torch.float64).requires_grad_().unbind()
    value = torch.randn(n, v, dtype=torch.float64, requires_grad=True)
    beta, decay = torch.rand(2, n, dtype=torch.float64).requires_grad_().unbind()
    given_decay = decay if decays else None
    context, state = variants.delta_rule(query, key, value, beta, given_decay)
    # S_t = α_t (I − β_t k_t k_tᵀ) S_{t−1} + β_t k_t v_tᵀ, unrolled from the last token
    expected = []
    for t in range(n):
        row = torch.zeros(v, dtype=torch.float64)
        carried = query[t]
        for s in range(t, -1, -1):
            row = row + beta[s] * (carried @ key[s]) * value[s]
            carried = carried - beta[s] * (carried @ key[s]) * key[s]
            carried = carried * decay[s] if decays else carried
        expected.append(row)
    assert_same(context, torch.stack(expected), TOLERANCE, [query, key, value, beta, decay])
    cut = min(cut, n - 1)
    if cut:  # what is kept is all that the rest needs
        tensors = (query, key, value, beta, *([decay] if decays else []))
        first, kept = variants.delta_rule(*(each[:cut] for each in tensors))
        second, last = variants.delta_rule(*(each[cut:] for each in tensors), state=kept)
        together = torch.cat([first, second])
        torch.testing.assert_close(together, context, rtol=TOLERANCE, atol=TOLERANCE)
        torch.testing.assert_close(last, state, rtol=TOLERANCE, atol=TOLERANCE)


def test_differential_attention_is_a_difference_of_two(variants):
    query, key, query_2, key_2 = torch.randn(4, 3, 5, 4, dtype=torch.float64).unbind()
    value = torch.randn(3, 5, 2, dtype=torch.float64)
    lam = torch.tensor(0.3, dtype=torch.float64)
    ours = variants.differential_attention(query, key, query_2, key_2, value, lam, is_causal=True)
    maps = [
        attention.scaled_dot_product_attention(q, k, value, is_causal=True)[1]
        for q, k in ((query, key), (query_2, key_2))
    ]
    expected = (maps[0] - lam * maps[1]) @ value
    torch.testing.assert_close(ours, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("name", [name for name in CASES if name != "linear_attention"])
def test_heads_and_texts_are_computed_side_by_side(variants, name):
    B, h, n, k = 2, 3, 5, 4
    query, key, value = torch.randn(3, B, h, n, k, dtype=torch.float64)
    mask = torch.rand(B, 1, n, n) > 0.3
    options = options_for(name, n, k, k)
    each = {"sink": torch.randn(h).double(), "gate": torch.randn(B, h, n, k).double()}
    options |= {option: each[option] for option in options if option in each}
    together = getattr(variants, name)(query, key, value, mask, **options)
    for b in range(B):
        for head in range(h):
            alone = dict(options)
            if "sink" in alone:
                alone["sink"] = options["sink"][head]
            if "gate" in alone:
                alone["gate"] = options["gate"][b, head]
            one = getattr(variants, name)(
                query[b, head], key[b, head], value[b, head], mask[b, 0], **alone
            )
            torch.testing.assert_close(together[b, head], one, rtol=TOLERANCE, atol=TOLERANCE)


def test_the_file_needs_torch_alone_and_says_what_each_function_does(path, variants):
    assert imported(path) == {"torch"}
    for name in [*CASES, "differential_attention", "linear_recurrence", "delta_rule"]:
        assert getattr(variants, name).__doc__.count("\n") == 0, name
    assert len(path.read_text(encoding="utf-8").splitlines()) < 200


def test_what_the_lesson_says(page):
    assert page["orders"]["per pair"] < 1e-12
    assert page["orders"]["per channel"] > 0.1
    assert page["patterns"] == {"SSSS": 28, "SSSL": 63, "LLLL": 63}
    assert page["ranks"] == {
        "the map of one query": 2,
        "the maps of all queries, as rows of numbers": 2,
    }
    table = page["table"]
    dead = {name for name, found in table.items() if found["dead bias"]}
    assert dead == {"softmax", "gate", "top k", "differential"}
    no_gauge = {name for name, found in table.items() if not found["gauge"]}
    assert no_gauge == {"QK-norm", "linear", "delta rule"}
    assert {name for name, found in table.items() if not found["fold"]} == {"gate"}
    assert all(found["blind rows"] in (True, None) for found in table.values())
    holds = {name for name, found in table.items() if found["rank"]}
    assert holds == {"softmax", "plus one", "sink", "gate", "QK-norm"}
    recalled = {
        name: dict(zip(page["counts"], errors, strict=True))
        for name, errors in page["recall"].items()
    }
    assert recalled["least squares"][16] < 1e-9 < 0.1 < recalled["least squares"][20]
    assert (
        recalled["delta rule"][2]
        < 0.1
        < recalled["delta rule"][16]
        < 1
        < recalled["delta rule"][32]
    )
    curves = page["curves"]
    assert curves["NoPE"].min() > 5.5
    assert curves["rotary"][40:].max() < curves["half rotary"][40:].min() < curves["NoPE"].min()
    assert max(page["recall"]["softmax"]) < 0.05


RECORD = json.loads((ROOT / "docs/experiments/variants/results.json").read_text(encoding="utf-8"))


def runs(name):
    return [RECORD["runs"][f"{name}|0.01|{seed}"] for seed in (1, 2, 3)]


def interval(name, measured):
    """Return the ends of the 95 % interval of the difference from softmax, from its definition."""
    pairs = zip(runs(name), runs("softmax"), strict=True)
    gaps = [one[measured] - softmax[measured] for one, softmax in pairs]
    reach = 4.303 * statistics.stdev(gaps) / math.sqrt(3)
    return statistics.mean(gaps) - reach, statistics.mean(gaps) + reach


def mean_by_position(name):
    """Average the loss of each range of positions over the seeds."""
    each = [run["loss by position"] for run in runs(name)]
    return {one: statistics.mean(found[one] for found in each) for one in each[0]}


def written(low, high, places=3):
    """Write an interval as the text does."""
    mean, reach = (low + high) / 2, (high - low) / 2
    return f"{mean:+.{places}f} ± {reach:.{places}f}".replace("-", "−")


def test_the_text_says_which_losses_differ_from_that_of_softmax_by_more_than_noise():
    ends = {name: interval(name, "loss") for name in RECORD["costs"] if name != "softmax"}
    assert len(ends) == 16
    assert {name for name, (_, high) in ends.items() if high < 0} == {
        "gate",
        "delta rule",
        "hybrid",
    }
    assert {name for name, (low, _) in ends.items() if low > 0} == {
        "no positions",
        "linear",
        "QK-norm",
        "sigmoid",
        "soft cap",
    }
    text = (ROOT / "gallery" / f"{LESSON}.py").read_text(encoding="utf-8").replace("\n# ", " ")
    for name, (low, high) in ends.items():
        if low > 0 or high < 0 or name == "gate, as many parameters":
            assert f"({written(low, high)})" in text
    for name in ("delta rule", "hybrid", "sigmoid"):
        assert f"({written(*interval(name, 'loss beyond the trained length'))})" in text
    for name in ("sink", "gate", "sigmoid"):
        ends_of_value = interval(name, "norm of the first value, relative")
        assert written(*ends_of_value, places=2).removeprefix("+") in text
    for name, sign in (("sigmoid", -1), ("window", 1)):
        low, high = interval(name, "effective rank of the weights")
        assert f"(by {sign * (low + high) / 2:.0f} ± {(high - low) / 2:.0f})" in text


def test_the_text_says_what_copying_sinks_and_activations_there_are():
    mean = {
        name: {
            key: statistics.mean(run[key] for run in runs(name))
            for key, one in runs("softmax")[0].items()
            if isinstance(one, float)
        }
        for name in RECORD["costs"]
    }
    gains = {
        name: found["loss of a passage, first time"] - found["loss of a passage, second time"]
        for name, found in mean.items()
    }
    assert {name for name, gain in gains.items() if gain < 0} == {"window", "delta rule"}
    assert all(gain < 0 or 0.03 < gain < 0.095 for gain in gains.values())
    rise = {
        name: found["loss beyond the trained length"] - found["loss within the trained length"]
        for name, found in mean.items()
    }
    assert round(rise["softmax"], 2) == 0.2
    assert round(rise["no positions"], 2) == 0.03
    for name in ("delta rule", "hybrid", "half rotary", "window", "window and full"):
        assert 0.01 < rise[name] < 0.026
    gate = [
        mean_by_position("gate")[one] - mean_by_position("softmax")[one]
        for one in mean_by_position("gate")
    ]
    assert (round(min(gate), 3), round(max(gate), 3)) == (-0.064, -0.055)
    equal = statistics.mean(1 / keys for keys in range(33, 129))
    assert abs(mean["softmax"]["weight on the first token"] - equal) < 0.2 * equal
    largest = [round(run["largest activation over the median"]) for run in runs("sigmoid")]
    assert largest == [115, 15, 35]
    loss = {key: one["loss"] for key, one in RECORD["runs"].items()}
    for lr in (0.005, 0.01, 0.02):
        assert loss[f"gate|{lr}|1"] < loss[f"softmax|{lr}|1"] < loss[f"linear|{lr}|1"]
    for key, found in loss.items():
        name, lr, _ = key.split("|")
        assert lr == "0.01" or found > loss[f"{name}|0.01|1"]
    for name in ("sink", "one in the denominator"):
        assert round(loss["softmax|0.02|1"] - loss[f"{name}|0.02|1"], 2) == 0.06
    kept = {name: one["numbers kept after 4,096 tokens"] for name, one in RECORD["costs"].items()}
    assert kept["softmax"] == 512 * kept["delta rule"]

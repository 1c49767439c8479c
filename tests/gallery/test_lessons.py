"""Every lesson runs, its shape comments are true, and its figures have alternative texts."""

import copy
import re
import textwrap

import matplotlib.pyplot as plt
import pytest
import torch
from run_pages import GALLERY, run
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from torch import nn

from attention import SinusoidalPositions, TransformerBlock, causal_mask, padding_mask
from attention.analysis import deletion_effects, deletion_from_weights, rank_correlation
from attention.sentiment.tokenizer import UNK_ID

# Pages that train or measure for seconds or more. Here they read few reviews and take few steps.
SMALLER = {
    "deeper/plot_1_low_rank_qk.py": (
        (r"(?<=\nSTEPS, RATE, SEEDS = )300", "30"),
        (r"(?<=steps=)1000", "100"),
    ),
    "deeper/plot_2_gauge_and_biases.py": (
        (r"(?<=\nSTEPS = )1000", "100"),
        (r"(?<=in range\()1000", "10"),
    ),
    "deeper/plot_5_cost_of_the_product.py": ((r"(?<=seconds=)0\.5", "0.01"),),
    "deeper/plot_8_multi_head_bottleneck.py": ((r"(?<=steps=)300", "3"),),
    "deeper/plot_9e_scale_in_training.py": ((r"(?<=3\.0\), )200", "12"),),
    "deeper/plot_6_real_model.py": ((r"(?<=\.texts\[:)300", "60"),),
    "cases/plot_1_ten_pitfalls.py": (
        (r"limit=[\d_]+,\s+epochs=\d+", "limit=40, epochs=1"),
        (r'(?<=\nreviews = )load_reviews\("imdb"\)', 'load_reviews("imdb", limit=100)'),
        (r"(?<=\nNETS, TEXTS, known = )\d+, \d+", "8, 7"),
    ),
    "core/plot_7_transformer_block.py": (
        (r"(?<=\nROOMS, SEEDS, STEPS = )8, 5, 120", "8, 2, 3"),
        (r'(?<="steps": )500', "3"),
    ),
    "core/plot_9_reading_attention.py": (
        (r"limit=[\d_]+,\s+epochs=\d+", "limit=40, epochs=2"),
        (r"(?<=load_reviews\(config.data, )seed=seed\)", "limit=400, seed=seed)"),
        (r"(?<=\nHELD, SOME = )\d+, \d+", "7, 3"),
    ),
}
PAGES = sorted(path.relative_to(GALLERY).as_posix() for path in GALLERY.rglob("plot_*.py"))
PAGES.remove("core/plot_8_sentiment_training.py")  # trains for minutes, too; the docs build runs it


@pytest.mark.parametrize("name", PAGES)
def test_every_new_shape_has_a_true_comment(name):
    page = run(GALLERY / name, SMALLER.get(name, ()))
    assert page.problems == []
    assert len(page.checked) >= 3


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_has_its_own_alternative_text(name):
    figures = run(GALLERY / name, SMALLER.get(name, ())).figures
    assert all(len(text) > 40 for text in figures)
    assert len(set(figures)) == len(figures)


def test_the_pitfalls_do_what_their_page_says():
    name = "cases/plot_1_ten_pitfalls.py"
    page = run(GALLERY / name, SMALLER[name]).names
    negative, positive = (
        [mark for mark in page["possible"] if page["marks"][mark, label]] for label in (0, 1)
    )
    assert len(set(negative) | set(positive)) > 2  # more than the two ends
    assert page["sizes"]["as in Lab 13"] > page["sizes"]["cleaned first"]
    assert page["ids"].flat.min() > UNK_ID  # each review counted twice: nothing is unknown
    assert page["with_holes"] == {"a": 2, "soup": 4}
    assert len(page["both"]) == 2 * len(page["alone"])
    assert page["tokens"][1] / page["tokens"][0] == pytest.approx(3, abs=0.5)
    assert page["agree"] == pytest.approx(0.5, abs=0.2)
    lost = [
        max(256 - len(page["words"][d]), 0) < len(page["words"][i])
        for i, d in enumerate(page["distractor"].tolist())
    ]
    assert sum(lost) == (page["review"] > page["room"].clamp(min=0)).sum()
    # Untrained models give the padding about its share of the positions.
    for kind in ("energy", "qkv"):
        padding = 1 - page["batches"]["alone"].lengths / 256
        assert (page["shares"][kind, "alone"].mean(dim=0) - padding).abs().mean() < 0.1
        assert (
            page["shares"][kind, "alone"].mean()
            > page["shares"][kind, "behind a distractor"].mean()
        )
    assert page["starts"][0] != page["starts"][1]


READING = "core/plot_9_reading_attention.py"


def test_attention_is_compared_with_other_explanations_as_the_page_says():
    page = run(GALLERY / READING, SMALLER[READING]).names
    for kind in ("energy", "qkv"):
        model = page["models"][kind, 1]
        readings = zip(page["held"][1], page["readings"][kind, 1], strict=True)
        for ids, (weights, a, s) in readings:
            effects = deletion_effects(model, ids).double()
            torch.testing.assert_close(
                deletion_from_weights(weights, s), effects, atol=1e-4, rtol=1e-3
            )
            assert (a * s).sum().item() == pytest.approx(model(ids[None]).item(), abs=1e-4)
    other = page["other"]
    _, a, s = page["read"](page["models"]["energy", 1], page["ids_of_ours"])
    assert (other >= 0).all()
    assert other.sum().item() == pytest.approx(1, abs=1e-5)
    assert (other @ s).item() == pytest.approx((a @ s).item(), abs=1e-4)


def test_uneven_weights_agree_with_deletion_without_training():
    """So a high correlation is no sign of what was learned; the old page took it for one."""
    page = run(GALLERY / READING, SMALLER[READING]).names
    model = copy.deepcopy(page["history"]["energy", 1][0])
    _, _, rho, _ = page["follow"](model, 1).tolist()
    assert abs(rho) < 0.35
    with torch.no_grad():
        model.attention.energy.weight.mul_(30)
    spread, _, rho, null = page["follow"](model, 1).tolist()
    assert spread > 1
    assert rho > 0.5
    assert null == pytest.approx(rho, abs=0.2)


def test_every_correlation_is_printed_with_its_null():
    page = run(GALLERY / READING, SMALLER[READING])
    rows = 0
    for (kind, label), numbers in page.names["sizes"].items():
        row = rf"^{kind} +{re.escape(label)} +(-?\d\.\d+) +(-?\d\.\d+) +([-+]\d\.\d+) "
        rho, null, beyond = map(float, re.search(row, page.printed, re.MULTILINE).groups())
        expected = torch.tensor(numbers).mean(dim=0)
        assert rho == pytest.approx(expected[0].item(), abs=1e-3)
        assert null == pytest.approx(expected[2].item(), abs=1e-3)
        assert beyond == pytest.approx((expected[0] - expected[2]).item(), abs=1e-3)
        rows += 1
    assert rows == 10
    for line in page.printed.splitlines():
        assert "ρ" not in line or "null" in line
    by_seed = re.findall(
        r"^(energy|qkv) +(\d) +(-?\d\.\d+) \(null +-?\d\.\d+\) +[-+]\d\.\d+ \(null",
        page.printed,
        re.M,
    )
    assert len(by_seed) == 6
    for kind, seed, rho in by_seed:
        each = [
            rank_correlation(a, deletion_from_weights(weights, s).abs())
            for weights, a, s in page.names["readings"][kind, int(seed)]
        ]
        assert float(rho) == pytest.approx(sum(each) / len(each), abs=1e-3)


def gradients(module, x, *arguments):
    """Return what a module makes of x, and the gradients of x and of its parameters."""
    x = x.clone().requires_grad_()
    module.zero_grad()
    result = module(x, *arguments)
    (result * torch.arange(result.numel()).view_as(result).sin()).sum().backward()
    return [result, x.grad, *(parameter.grad for parameter in module.parameters())]


def with_the_parameters_of(module, other):
    with torch.no_grad():
        for own, theirs in zip(module.parameters(), other.parameters(), strict=True):
            own.copy_(theirs)
    return module


def test_the_positions_written_on_the_page_are_those_of_the_package():
    written = lesson("core/plot_6_positions.py")["sinusoidal_positions"]
    for n, d, options in ((9, 8, {}), (256, 16, {"base": 1000.0}), (40, 7, {"base": 50.0})):
        add = SinusoidalPositions(d, max_length=n, **options)
        x = torch.randn(2, n, d)
        table = written(n, d, **options)
        assert table.shape == (n, d)
        torch.testing.assert_close(
            gradients(nn.Identity(), x + table)[:2], gradients(add, x)[:2], atol=1e-4, rtol=1e-4
        )


def test_the_parts_of_the_block_written_on_the_page_are_those_of_torch():
    page = lesson("core/plot_7_transformer_block.py")
    x = torch.randn(3, 5, 6, dtype=torch.float64)
    theirs = nn.LayerNorm(6, dtype=torch.float64)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    ours = with_the_parameters_of(page["LayerNorm"](6).double(), theirs)
    torch.testing.assert_close(gradients(ours, x), gradients(theirs, x))
    theirs = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 6)).double()
    ours = with_the_parameters_of(page["FeedForward"](6).double(), theirs)
    torch.testing.assert_close(gradients(ours, x), gradients(theirs, x))


@pytest.mark.parametrize("norm_first", [True, False])
def test_the_block_written_on_the_page_is_that_of_the_package(norm_first):
    written = lesson("core/plot_7_transformer_block.py")["TransformerBlock"]
    x = torch.randn(3, 5, 6, dtype=torch.float64)
    theirs = TransformerBlock(6, 2, norm_first=norm_first).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.5)
    ours = with_the_parameters_of(written(6, 2, norm_first=norm_first).double(), theirs)
    nothing = torch.zeros(5, 5, dtype=torch.bool)
    for mask in (None, causal_mask(5), padding_mask(torch.tensor([5, 2, 3]), 5), nothing):
        torch.testing.assert_close(gradients(ours, x, mask), gradients(theirs, x, mask))


def lesson(name):
    return run(GALLERY / name, SMALLER.get(name, ())).names


def test_the_nearest_scores_need_independent_tokens_and_centred_keys():
    page = lesson("deeper/plot_1_low_rank_qk.py")
    exact, seen = (
        {name: torch.tensor(both[part]) for name, both in page["errors"].items()} for part in (0, 1)
    )
    assert (exact["nearest in the scores"] < exact["nearest, keys centred"]).all()
    assert (seen["nearest, keys centred"] < seen["nearest in the scores"]).all()
    closed, trained = page["met"]["every query meets every key"]
    assert trained > closed * (1 - 1e-9)
    closed, trained = page["met"]["tokens of one text"]
    assert trained < 0.95 * closed


def test_what_is_free_depends_on_what_comes_before_the_dot_product():
    page = lesson("deeper/plot_2_gauge_and_biases.py")
    free = {key for key, change in page["changed"].items() if change < 1e-12}
    assert all(change > 0.05 for key, change in page["changed"].items() if key not in free)
    by_kind = {name: {gauge for gauge, of in free if of == name} for name in page["between"]}
    assert by_kind == {
        "plain": set(page["gauges"]),
        "RoPE": {"a rotation and a scale per pair"},
        "QK-norm": {"a rotation of all coordinates", "signs"},
        "with gains": {"signs"},
    }


def test_rotary_positions_leave_only_the_distance():
    rotary = lesson("deeper/plot_2_gauge_and_biases.py")["rotary"]
    query, key = torch.randn(2, 1, 6, dtype=torch.float64).expand(2, 11, 6)  # all tokens alike
    scores = rotary(query) @ rotary(key).mT
    torch.testing.assert_close(scores[3, 1], scores[9, 7])
    assert not torch.isclose(scores[3, 1], scores[1, 3])
    torch.testing.assert_close(rotary(query).norm(dim=-1), query.norm(dim=-1))


def test_the_key_bias_is_dead_in_a_plain_dot_product_alone():
    page = lesson("deeper/plot_2_gauge_and_biases.py")
    assert page["of_key_bias"]["plain"] < 1e-12
    assert min(page["of_key_bias"][name] for name in ("RoPE", "QK-norm", "with gains")) > 0.05


def test_behind_a_layer_norm_equal_weights_have_unequal_products():
    page = lesson("deeper/plot_2_gauge_and_biases.py")
    error = page["error"]
    assert error(page["seen_shifted"], page["seen"]) < 1e-12
    assert error(page["M_shifted"], page["M"]) > 1
    assert error(page["spectra"][1], page["spectra"][0]) > 1
    assert error(page["left_shifted"], page["left_M"]) < 1e-12


def test_a_balanced_pair_costs_twice_the_nuclear_norm():
    page = lesson("deeper/plot_2_gauge_and_biases.py")
    assert page["least"] == pytest.approx(2 * page["nuclear_norm"], rel=1e-12)


def test_without_values_the_nonlinearity_stays():
    page = lesson("deeper/plot_3_values_fold.py")
    context, plain, w = page["context"], page["plain"], page["w"]
    bias = torch.ones(len(plain), 1)
    for name, logits, features in (
        ("ReLU before the mean", context.relu().mean(1) @ w, plain.relu().mean(1)),
        ("ReLU after the mean", context.mean(1).relu() @ w, plain.mean(1).relu()),
    ):
        design = torch.cat([features, bias.to(features)], dim=1)
        Q, _ = torch.linalg.qr(design)
        missed = (logits - Q @ (Q.T @ logits)).norm() / logits.norm()
        assert page["shares"][name] == pytest.approx(missed.item(), rel=1e-6)


def test_a_cache_may_hold_one_vector_for_all_heads():
    page = lesson("deeper/plot_5_cost_of_the_product.py")
    h, k, r, d = (page[name] for name in "hkrd")
    assert set(page["absorbed_errors"]) == {"the token itself", "a latent vector"}
    assert max(page["absorbed_errors"].values()) < 1e-14
    kept = {name: cache.shape[-1] for name, (cache, *_) in page["ways"].items()}
    assert kept == {"the token itself": d, "a latent vector": r}
    assert d == h * k  # so that keys and values are 2d numbers per token
    assert page["caches"]["keys and values"] == (2 * 128 * 128, 2 * 128 * 128)
    assert page["caches"]["the token itself"] == (5120, 2 * 128 * 5120)
    assert page["rotation_errors"]["an absorbed matrix per distance"] < 1e-12
    assert page["rotation_errors"]["one absorbed matrix"] > 0.1


def test_heads_are_worth_what_the_page_on_their_bottleneck_says():
    name = "deeper/plot_8_multi_head_bottleneck.py"
    page = run(GALLERY / name, SMALLER[name]).names
    error, sizes, d = page["error"], page["sizes"], page["d"]
    linear = 1 - page["HARMONICS"][0][1]
    for (comparisons, h, k), measured in error.items():
        if k >= page["r"]:
            assert (measured < 0.05) is (h >= comparisons)
        elif comparisons == 1 and k in sizes and h * k < d:
            assert measured > linear + 0.2
        elif comparisons == 1 and k in sizes:
            assert 0.2 < measured < linear + 0.02
    same = {h: error[2, h, 32 // h] for h in sizes}
    assert min(same, key=same.get) == 2
    assert same[1] > 0.5
    for h, k in page["live"]:  # narrow heads end a little above their bound, after more steps
        assert 0 <= error[1, h, k] - page["bound"](h, k) < 0.05
    exact = page["x"] @ page["X_plus"] @ page["log_weights"](page["P"])
    torch.testing.assert_close(exact.softmax(-1), page["P"])


def test_a_false_comment_is_found(tmp_path):
    cases = [
        ("y = x.T  # (2, 3)", "says (2, 3), is [(3, 2)]"),
        ("y = x.T  # (k, 2)", "name 'k' is not defined"),
        ("y = x.T", "y has a new shape (3, 2) and no comment"),
        ("x = x.T", "x has a new shape (3, 2) and no comment"),
        ("a, b = x  # (3,), (2,)", "says (3,), (2,), is [(3,), (3,)]"),
        ("def f(t):\n    return t.T  # (2, 3)\nf(x)", "says (2, 3), is [(3, 2)]"),
        ("d = {}\nd[0] = x.T  # (2, 3)", "says (2, 3), is [(3, 2)]"),
        ("a, b = (t for t in x)", "b has a new shape (3,) and no comment"),
        ("if n > 5:\n    y = x + 1  # (2, 3)", "(2, 3) was never reached"),
    ]
    missed = []
    for i, (line, problem) in enumerate(cases):
        path = tmp_path / f"plot_false_{i}.py"
        path.write_text(f"import torch\nn = 3\nx = torch.rand(2, n)  # (2, n)\n{line}\n")
        problems = run(path).problems
        if not any(problem in reported for reported in problems):
            missed.append((line, problem, problems))
    assert missed == []


def test_a_page_that_fails_leaves_no_figure_to_the_next(tmp_path):
    path = tmp_path / "plot_fails.py"
    path.write_text("import matplotlib.pyplot as plt\nplt.figure()\nassert False\n")
    with pytest.raises(AssertionError):
        run(path)
    assert plt.get_fignums() == []


def test_true_comments_pass(tmp_path):
    path = tmp_path / "plot_true.py"
    path.write_text(
        textwrap.dedent("""
        import torch
        n = 3
        x = torch.rand(2, n)  # (2, n)
        y = x + 1  # (2, n), and words
        total = y.sum()
        _, z = x, x.T  # (2, 3), (3, 2)
        def mix(k):
            free = torch.rand(k, 2)
            return free[:, 0]
        for k in (4, 5):  # (no shape at all)
            w = mix(
                k,
            )  # (k,)
        """)
    )
    page = run(path)
    assert page.problems == []
    assert len(page.checked) == 4


@pytest.mark.parametrize("name", sorted(path.name for path in GALLERY.rglob("plot_*.py")))
def test_a_lesson_that_measures_time_is_run_alone(name):
    (path,) = GALLERY.rglob(name)
    settings, _ = split_code_and_text_blocks(path)
    measures = "perf_counter" in path.read_text(encoding="utf-8")
    assert settings.get("parallel", True) is not measures

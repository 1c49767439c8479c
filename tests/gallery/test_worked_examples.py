"""Every number that the sources of the first lessons print, to its four decimals.

The pages hold the inputs as literals, for the reader's eyes. These tests run the pages and compare
what they compute with what the sources printed, so that no input is written down a second time.
"""

import math
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from exercise_answers import executed
from expected import X_OF_LESSON
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text
from run_pages import check_lesson
from torch.testing import assert_close

from attention import SelfAttentionV1, SelfAttentionV2

PRINTED = tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))
A, B = PRINTED["a"], PRINTED["b"]
SEED_789 = PRINTED["seed_789"]["context"]
MATRICES = ("W_query", "W_key", "W_value")


def page_a():
    return check_lesson("core/plot_1_qkv_derivation").names


def page_b():
    """Run the exercises' page with its solutions."""
    return executed("sentence")[1]


def page_modules():
    return check_lesson("core/plot_2_attention_layer").names


def page_variance():
    return check_lesson("core/plot_3_scaling_variance").names


def printed(numbers):
    """Round as ``print`` does, so that a comparison is digit by digit."""
    return (torch.as_tensor(numbers, dtype=torch.float64) * 1e4).round() / 1e4


def assert_prints(numbers, expected):
    assert_close(printed(numbers), printed(expected), rtol=0, atol=1e-9)


def test_every_number_is_what_the_sources_print():
    for page_of, expected in ((page_a, A), (page_b, B)):
        for name, numbers in expected.items():
            assert_prints(page_of()[name], numbers)
    plain, chapter = page_a(), page_variance()
    assert_prints(plain["plain_weights"][1], [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])
    assert_prints(plain["plain_context"][1], [0.4419, 0.6515, 0.5683])
    assert_prints(chapter["shared"], [0.1925, 0.1426, 0.2351, 0.1426, 0.2872])
    assert_prints(chapter["peaked"], [0.0326, 0.0030, 0.1615, 0.0030, 0.8000])


def test_the_embeddings_are_the_same_and_the_generator_still_draws_the_literals():
    assert torch.equal(page_a()["x"], X_OF_LESSON)
    assert torch.equal(page_modules()["x"], X_OF_LESSON)
    for page_of, seed in ((page_a, 123), (page_b, 100)):
        torch.manual_seed(seed)
        for name in MATRICES:
            assert_close(torch.rand(3, 2), page_of()[name], rtol=0, atol=1e-6)
    torch.manual_seed(789)
    layer = SelfAttentionV2(3, 2)
    for literal, name in zip(page_modules()["linear_weights"], MATRICES, strict=True):
        assert_close(getattr(layer, name).weight.detach(), literal, rtol=0, atol=1e-6)


def test_layers_of_the_seeds_give_what_the_sources_print():
    for p, kind, seed, expected in (
        (page_a(), SelfAttentionV1, 123, A["context"]),
        (page_b(), SelfAttentionV1, 100, B["context"]),
        (page_modules(), SelfAttentionV2, 789, SEED_789),
    ):
        torch.manual_seed(seed)
        assert_prints(kind(3, 2)(p["x"]).detach(), expected)
    assert_prints(page_modules()["context_v2"], SEED_789)


def test_untrained_weights_share_a_favourite():
    # With positive matrices nearly always; with matrices of both signs in a third of the seeds.
    assert page_a()["agree_rand"] == 944
    assert page_a()["agree_randn"] == 331
    assert page_b()["favourites"] == ["Your"] * 1000
    assert len(page_b()["of_both_signs"]) == 377


def test_training_moves_the_weights():
    p = page_a()
    target = p["target"]
    assert p["weights"][range(6), target].mean() < 0.2
    assert p["learned"][[0, 3, 4, 5], target[[0, 3, 4, 5]]].min() > 0.8
    # journey and starts have almost one query, and are to attend to different words
    assert p["learned"][[1, 2]].max() < 0.5
    W_query, W_key, W_value = p["trained"]
    assert W_value.grad is None
    assert torch.equal(W_value, p["W_value"])
    assert not torch.equal(W_query, p["W_query"])
    assert not torch.equal(W_key, p["W_key"])


def test_a_word_differs_by_its_neighbour_and_not_by_its_distance():
    p = page_a()
    assert (p["banks"]["river"] - p["banks"]["money"]).abs().max() > 0.05
    order = [1, 2, 3, 4, 5, 0]
    assert_close(p["moved_scores"], p["scores"][order][:, order])
    assert_close(torch.cat(p["one_by_one"]), p["context"])
    # Without a softmax the result leaves the hull of the values.
    result = p["no_softmax"][1] @ p["values"]
    assert (p["no_softmax"].sum(dim=-1) > 1.5).all()
    assert result.norm() > p["values"].norm(dim=-1).max() > p["context"][1].norm()


def test_the_trail_of_a_gradient_ends_where_it_is_kept_and_layers_start_where_the_page_says():
    p = page_modules()
    assert p["trail"][0] == "MmBackward0"
    assert p["trail"][-1] == "AccumulateGrad"
    assert "SoftmaxBackward0" in p["trail"]
    assert p["spread"]["nn.Linear"] == pytest.approx(1 / 3, rel=0.03)
    assert p["spread"]["variance 1/d"] == pytest.approx(1, rel=0.03)


def test_variance_of_dot_products():
    p = page_variance()
    for k, (before, _) in p["variances"].items():
        assert abs(before / k - 1) < 4 * math.sqrt((2 + 6 / k) / 1000)
    # the mean over 100 repeats strays a tenth as far, and the repeats scatter as theory says
    ratio = p["measured"] / p["width"][:, None]
    assert_close(ratio.mean(dim=-1), torch.ones(10).double(), rtol=0, atol=4 * 0.071 / 10)
    assert_close(ratio.std(dim=-1), p["scatter"], rtol=0.35, atol=0)
    for numbers in (p["one"], p["other"], p["one"] * p["other"]):
        assert numbers.var().item() == pytest.approx(1, abs=0.02)
    # Seeding torch leaves NumPy alone.
    assert (len(set(p["numpy_draws"])), len(set(p["torch_draws"]))) == (2, 1)


def test_what_the_scale_does_to_the_softmax():
    p = page_variance()
    entropy = {name: values.median(dim=-1).values for name, values in p["entropy"].items()}
    jacobian = {name: values.median(dim=-1).values for name, values in p["jacobian"].items()}
    assert entropy["no scale"][-1] < 0.05 < 0.5 < entropy["no scale"][0]
    assert jacobian["no scale"][-1] < 1e-3
    level = entropy["divided by √k"]
    assert level.max() - level.min() < 0.1
    assert entropy["divided by k"][-1] > 0.99
    # half of the lesson: the typical gradient vanishes, the mean one does not
    whole = p["whole"]
    assert whole["no scale"].median() < whole["divided by √k"].median()
    assert whole["no scale"].mean() > whole["divided by √k"].mean()
    # The start still depends on the number of keys.
    entropy = p["entropy_of_length"]
    share = [entropy[n] / math.log(n) for n in sorted(entropy)]
    assert share == sorted(share)
    assert share[-1] - share[0] > 0.03
    for n in (1024, 4096):
        assert entropy[n] == pytest.approx(math.log(n) - 0.5, abs=0.05)


def test_the_width_keeps_the_steps_of_adam_and_the_root_those_of_gradient_descent():
    p, widths, names = page_variance(), (16, 64, 256, 1024), ("divided by √k", "divided by k")

    def uneven(steps, name, power):
        growth = [p["growth"][steps, name, k] / k**power for k in widths]
        return max(growth) / min(growth)

    assert all(uneven("Adam", name, 1) < 1.3 for name in names)
    assert all(uneven("Adam", name, 0.5) > 5 for name in names)
    assert uneven("plain", "divided by √k", 0.5) < 1.3
    assert uneven("plain", "divided by k", 0) < 1.3
    by = {
        (steps, name): [p["reached"][steps, name, k] for k in widths]
        for steps in ("Adam", "plain")
        for name in names
    }
    assert by["Adam", "divided by √k"] == sorted(by["Adam", "divided by √k"])
    assert by["Adam", "divided by √k"][-1] > 5 * by["Adam", "divided by √k"][0]
    assert max(by["Adam", "divided by k"]) < 1.2 * min(by["Adam", "divided by k"])
    assert max(by["plain", "divided by √k"]) < 1.05 * min(by["plain", "divided by √k"])
    assert by["plain", "divided by k"][0] > 3 * by["plain", "divided by k"][-1]


WORDS = ["a", "good", "film", "and", "one", "soup"]
VECTORS = torch.tensor([[1, 0.5], [-0.5, 1], [0.2, 0.9], [-1, -1], [2, -0.3], [-2, -0.5]])


@pytest.fixture
def ax():
    yield plt.subplots()[1]
    plt.close("all")


def dots(ax):
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    return torch.tensor(line.get_xydata(), dtype=torch.float32)


def assert_in_sight(ax, points):
    for x, y in points.tolist():
        assert ax.get_xlim()[0] <= x <= ax.get_xlim()[1]
        assert ax.get_ylim()[0] <= y <= ax.get_ylim()[1]


def test_shadows_give_the_scores(ax):
    query = torch.tensor([1.0, 2.0], requires_grad=True)
    page_a()["draw_scores"](ax, query, VECTORS, WORDS)
    query, shadows = query.detach(), dots(ax)
    assert_in_sight(ax, shadows[:3])
    assert_close(shadows @ query, VECTORS @ query)
    # on the line of the query, and at a right angle to it from their keys
    assert_close(shadows[:, 1], 2 * shadows[:, 0])
    assert_close((VECTORS - shadows) @ query, torch.zeros(6), rtol=0, atol=1e-5)
    tied = torch.tensor([text.xy for text in ax.texts if text.get_text() in WORDS])  # (6, 2)
    assert sorted(tied.tolist()) == sorted(VECTORS.tolist())


def test_mixture_shades_the_convex_hull(ax):
    values = torch.tensor([[0.0, 0], [2, 0], [2, 2], [0, 2], [1, 1.5], [1, 1]], requires_grad=True)
    page_a()["draw_mixture"](ax, values, values.mean(dim=0), WORDS)
    corners = [path.vertices[:3] for path in ax.collections[0].get_paths()]
    areas = [np.linalg.det([b - a, c - a]) / 2 for a, b, c in corners]
    assert sum(map(abs, areas)) == pytest.approx(4.0)
    assert_close(dots(ax), values.mean(dim=0, keepdim=True).detach())


def test_a_sentence_with_prices_and_repeated_words_is_drawn_as_it_is(monkeypatch, ax):
    p, prices = page_a(), ["$5-$10", "or"] * 3
    monkeypatch.setitem(p["draw_roles"].__globals__, "words", prices)
    drawn_roles = p["draw_roles"](p["x_2"], p["roles"], p["keys"], p["scores_2"].tolist())
    p["draw_mixture"](ax, p["values"], p["context_2"], prices)
    for figure in drawn_roles, ax.figure:
        figure.canvas.draw()
        drawn = [text for text in figure.findobj(Text) if "$5" in text.get_text()]
        assert len(drawn) > 2
        assert not any(text.get_parse_math() for text in drawn)
    cells = drawn_roles.findobj(FancyBboxPatch)
    assert len({str(cell.get_extents()) for cell in cells}) == len(cells) == 3 + 3 * 2 + 6 * 5

"""Every number that the sources of the first lessons print, to its four decimals.

The pages hold the inputs as literals, for the reader's eyes. These tests run the pages and compare
what they compute with what the sources printed, so that no input is written down a second time.
"""

import contextlib
import functools
import io
import math
import re
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from expected import X_OF_LESSON
from PIL import Image
from run_pages import GALLERY, ROOT, check_lesson, run
from torch.testing import assert_close

from attention import SelfAttentionV1, SelfAttentionV2, scaled_dot_product_attention
from attention.exercises import sentence

# As printed, with the names the pages give them.
A = {
    "query_2": [0.4306, 1.4551],
    "key_2": [0.4433, 1.1419],
    "value_2": [0.3951, 1.0037],
    "score_22": 1.8524,
    "scores_2": [1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440],
    "weights_2": [0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820],
    "context_2": [0.3061, 0.8210],
    "W_query": [[0.2961, 0.5166], [0.2517, 0.6886], [0.0740, 0.8665]],
    "W_key": [[0.1366, 0.1025], [0.1841, 0.7264], [0.3153, 0.6871]],
    "W_value": [[0.0756, 0.1966], [0.3164, 0.4017], [0.1186, 0.8274]],
    "context": [
        [0.2996, 0.8053],
        [0.3061, 0.8210],
        [0.3058, 0.8203],
        [0.2948, 0.7939],
        [0.2927, 0.7891],
        [0.2990, 0.8040],
    ],
}
B = {
    "query_2": [0.3427, 0.9429],
    "score_22": 0.3438,
    "scores_2": [0.9411, 0.3438, 0.3838, 0.7801, 0.2483, 0.6807],
    "weights_2": [0.2143, 0.1405, 0.1445, 0.1912, 0.1313, 0.1782],
    "context_2": [1.1783, 1.3425],
    "W_query": [[0.1117, 0.8158], [0.2626, 0.4839], [0.6765, 0.7539]],
    "W_key": [[0.2627, 0.0428], [0.2080, 0.1180], [0.1217, 0.7356]],
    "W_value": [[0.7118, 0.7876], [0.4183, 0.9014], [0.9969, 0.7565]],
    "context": [
        [1.2705, 1.4457],
        [1.1783, 1.3425],
        [1.1593, 1.3236],
        [1.1985, 1.3688],
        [1.1366, 1.2980],
        [1.2373, 1.4083],
    ],
}
SEED_789 = [
    [-0.0739, 0.0713],
    [-0.0748, 0.0703],
    [-0.0749, 0.0702],
    [-0.0760, 0.0685],
    [-0.0763, 0.0679],
    [-0.0754, 0.0693],
]
MATRICES = ("W_query", "W_key", "W_value")


def page(name):
    return run(GALLERY / "core" / f"plot_{name}.py").names


def page_a():
    return page("1_qkv_derivation")


@functools.cache
def page_b():
    """Run the exercises' page with its solutions."""
    text = (ROOT / "docs/exercises/sentence.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\} ipython3\n(?::.*\n)?(.*?)^```", text, re.M | re.S)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bug on show
        for cell in cells:
            exec(compile(cell, "sentence.md", "exec"), names)
    return names


def page_modules():
    return page("2_attention_layer")


def printed(numbers):
    """Round as ``print`` does, so that a comparison is digit by digit."""
    return (torch.as_tensor(numbers, dtype=torch.float64) * 1e4).round() / 1e4


def assert_prints(numbers, expected):
    assert_close(printed(numbers), printed(expected), rtol=0, atol=1e-9)


def test_the_lessons_run_as_written():
    check_lesson("core/plot_1_qkv_derivation")
    check_lesson("core/plot_2_attention_layer")
    check_lesson("core/plot_3_scaling_variance")


def test_embeddings_a_with_seed_123():
    for name, expected in A.items():
        assert_prints(page_a()[name], expected)


def test_embeddings_b_with_seed_100():
    p = page_b()
    for name, expected in B.items():
        assert_prints(p[name], expected)
    # The context is that of the drawn layer; the literals give it too.
    context, _ = scaled_dot_product_attention(p["queries"], p["keys"], p["values"])
    assert_prints(context, B["context"])


def test_embeddings_start_as_printed():
    assert page_a()["x"][0].tolist() == pytest.approx([0.43, 0.15, 0.89])
    assert page_b()["x"][0].tolist() == pytest.approx([0.8938, 0.9003, 0.8978])


def test_the_exercises_have_the_embeddings_and_matrices_of_the_pages():
    assert torch.equal(page_a()["x"], X_OF_LESSON)
    assert torch.equal(page_b()["x"], sentence.X_OF_SIX)
    assert torch.equal(torch.stack([page_b()[name] for name in MATRICES]), sentence.MATRICES_OF_SIX)


def test_both_pages_on_sentence_a_have_the_same_embeddings():
    assert torch.equal(page_a()["x"], page_modules()["x"])


def test_the_generator_still_draws_the_literals():
    for page_of, seed in ((page_a, 123), (page_b, 100)):
        torch.manual_seed(seed)
        for name in MATRICES:
            assert_close(torch.rand(3, 2), page_of()[name], rtol=0, atol=1e-6)


def test_the_generator_still_draws_the_literals_of_the_linear_layers():
    torch.manual_seed(789)
    layer = SelfAttentionV2(3, 2)
    for literal, name in zip(page_modules()["linear_weights"], MATRICES, strict=True):
        assert_close(getattr(layer, name).weight.detach(), literal, rtol=0, atol=1e-6)


def from_literals(layer, matrices):
    with torch.no_grad():
        for name, matrix in zip(MATRICES, matrices, strict=True):
            parameter = getattr(layer, name)
            parameter = getattr(parameter, "weight", parameter)
            parameter.copy_(matrix)
    return layer


def test_layers_with_the_literals_and_with_the_seed_give_what_the_sources_print():
    for p, expected, seed in ((page_a(), A, 123), (page_b(), B, 100)):
        torch.manual_seed(seed)
        drawn = SelfAttentionV1(3, 2)
        layer = from_literals(SelfAttentionV1(3, 2), [p[name] for name in MATRICES])
        for each in (drawn, layer):
            assert_prints(each(p["x"]).detach(), expected["context"])
    p = page_modules()
    torch.manual_seed(789)
    drawn = SelfAttentionV2(3, 2)
    for each in (drawn, from_literals(SelfAttentionV2(3, 2), p["linear_weights"])):
        assert_prints(each(p["x"]).detach(), SEED_789)
    assert_prints(p["context_v2"], SEED_789)


def test_v2_with_the_matrices_of_v1_is_v1():
    torch.manual_seed(123)
    v1, v2 = SelfAttentionV1(3, 2), SelfAttentionV2(3, 2)
    from_literals(v2, [getattr(v1, name).T for name in MATRICES])
    x = torch.randn(5, 7, 3)
    assert_close(v1(x), v2(x))


def test_all_scores_and_weights_by_hand():
    # The blog prints neither table; so each entry again, without a matrix product.
    p = page_a()
    for i, x_i in enumerate(p["x"].tolist()):
        query = [
            sum(a * w for a, w in zip(x_i, column, strict=True))
            for column in p["W_query"].T.tolist()
        ]
        row = []
        for x_j in p["x"].tolist():
            key = [
                sum(a * w for a, w in zip(x_j, column, strict=True))
                for column in p["W_key"].T.tolist()
            ]
            row.append(sum(a * b for a, b in zip(query, key, strict=True)))
        assert p["scores"][i].tolist() == pytest.approx(row, abs=1e-5)
        total = sum(math.exp(s / math.sqrt(2)) for s in row)
        assert p["weights"][i].tolist() == pytest.approx(
            [math.exp(s / math.sqrt(2)) / total for s in row], abs=1e-5
        )


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


def test_attention_without_matrices_is_the_simplified_one_of_the_book():
    p = page_a()
    assert_prints(p["plain_weights"][1], [0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581])
    assert_prints(p["plain_context"][1], [0.4419, 0.6515, 0.5683])


def test_a_word_differs_by_its_neighbour_and_not_by_its_distance():
    p = page_a()
    assert (p["banks"]["river"] - p["banks"]["money"]).abs().max() > 0.05
    order = [1, 2, 3, 4, 5, 0]
    assert_close(p["moved_scores"], p["scores"][order][:, order])
    assert_close(torch.cat(p["one_by_one"]), p["context"])


def test_the_function_of_the_reader_is_the_packages_in_value_and_gradient():
    readers = page_a()["scaled_dot_product_attention"]
    assert readers is not scaled_dot_product_attention
    inputs = [
        torch.randn(5, *shape, dtype=torch.float64, requires_grad=True)
        for shape in ((7, 3), (11, 3), (11, 2))
    ]
    results = []
    for function in (readers, scaled_dot_product_attention):
        context, weights = function(*inputs)
        gradients = torch.autograd.grad(context.square().sum() + weights[..., 0].sum(), inputs)
        results.append((context, weights, *gradients))
    assert_close(*results)


def test_one_fused_matrix_is_three():
    p = page_modules()
    assert p["c_attn"].shape == (3, 9)
    assert_close(p["fused"], p["square"](p["batched"]))


def test_the_trail_of_a_gradient_ends_where_it_is_kept():
    assert page_modules()["trail"][0] == "MmBackward0"
    assert page_modules()["trail"][-1] == "AccumulateGrad"
    assert "SoftmaxBackward0" in page_modules()["trail"]


def test_softmax_of_the_chapter():
    p = page("3_scaling_variance")
    assert_prints(p["shared"], [0.1925, 0.1426, 0.2351, 0.1426, 0.2872])
    assert_prints(p["peaked"], [0.0326, 0.0030, 0.1615, 0.0030, 0.8000])


def test_variance_of_dot_products():
    p = page("3_scaling_variance")
    for k, (before, after) in p["variances"].items():
        scatter = math.sqrt((2 + 6 / k) / 1000)
        assert abs(before / k - 1) < 4 * scatter
        assert after == pytest.approx(before / k)
    # the mean over 100 repeats strays a tenth as far, and the repeats scatter as theory says
    ratio = p["measured"] / p["width"][:, None]
    assert_close(ratio.mean(dim=-1), torch.ones(10).double(), rtol=0, atol=4 * 0.071 / 10)
    assert_close(ratio.std(dim=-1), p["scatter"], rtol=0.35, atol=0)


def test_what_the_scale_does_to_the_softmax():
    p = page("3_scaling_variance")
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


def test_the_scale_leaves_the_start_dependent_on_the_number_of_keys():
    entropy = page("3_scaling_variance")["entropy_of_length"]
    share = [entropy[n] / math.log(n) for n in sorted(entropy)]
    assert share == sorted(share)
    assert share[-1] - share[0] > 0.03
    for n in (1024, 4096):
        assert entropy[n] == pytest.approx(math.log(n) - 0.5, abs=0.05)


def test_the_root_keeps_the_start_and_the_width_keeps_the_steps():
    p = page("3_scaling_variance")
    for name in ("divided by √k", "divided by k"):
        in_widths = [p["growth"][name, k] / k for k in (16, 64, 256, 1024)]
        in_roots = [p["growth"][name, k] / math.sqrt(k) for k in (16, 64, 256, 1024)]
        assert max(in_widths) < 1.3 * min(in_widths)
        assert in_roots[-1] > 5 * in_roots[0]
    by_root, by_width = (
        [p["reached"][name, k] for k in (16, 64, 256, 1024)]
        for name in ("divided by √k", "divided by k")
    )
    assert by_root == sorted(by_root)
    assert by_root[-1] > 5 * by_root[0]
    assert max(by_width) < 1.2 * min(by_width)


def test_linear_layers_start_where_the_page_says():
    assert page_modules()["spread"]["nn.Linear"] == pytest.approx(1 / 3, rel=0.03)
    assert page_modules()["spread"]["variance 1/d"] == pytest.approx(1, rel=0.03)


def test_transposing_all_dimensions_of_a_batch_is_silently_wrong_where_sizes_agree():
    torch.manual_seed(0)
    x = torch.rand(3, 3, 3)
    layer = SelfAttentionV1(3, 3)
    query, key, value = x @ layer.W_query, x @ layer.W_key, x @ layer.W_value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bug on show
        mixed = torch.softmax(query @ key.T / 3**0.5, dim=-1) @ value
    one_by_one = torch.stack([layer(sentence) for sentence in x])
    assert_close(layer(x), one_by_one)
    assert mixed.shape == one_by_one.shape
    assert (mixed - one_by_one).abs().max() > 0.01


def test_without_a_softmax_the_result_leaves_the_hull_of_the_values():
    p = page_a()
    result = p["no_softmax"][1] @ p["values"]
    assert (p["no_softmax"].sum(dim=-1) > 1.5).all()
    assert result.norm() > p["values"].norm(dim=-1).max() > p["context"][1].norm()


def test_a_width_read_from_a_global_changes_the_weights_without_an_error():
    p = page_b()
    assert_prints(p["right"][1], B["weights_2"])
    spread = p["wrong"].amax(dim=-1) - p["wrong"].amin(dim=-1)
    assert (spread < 0.1 * (p["right"].amax(dim=-1) - p["right"].amin(dim=-1))).all()


def test_typed_decimals_are_off_in_the_fourth():
    gap = (page_b()["typed"] - page_b()["context"]).abs().max().item()
    assert 2e-5 < gap < 5e-4


def test_seeding_torch_leaves_numpy_alone():
    p = page("3_scaling_variance")
    assert len(set(p["numpy_draws"])) == 2
    assert len(set(p["torch_draws"])) == 1


def test_a_product_has_the_variance_of_its_factors_and_the_check_cannot_fail():
    p = page("3_scaling_variance")
    for numbers in (p["one"], p["other"], p["one"] * p["other"]):
        assert numbers.var().item() == pytest.approx(1, abs=0.02)
    for before, after in p["variances"].values():
        assert before / after in (pytest.approx(5), pytest.approx(20))


WORDS = ["a", "good", "film", "and", "one", "soup"]
VECTORS = torch.tensor([[1, 0.5], [-0.5, 1], [0.2, 0.9], [-1, -1], [2, -0.3], [-2, -0.5]])


@pytest.fixture
def ax():
    yield plt.subplots()[1]
    plt.close("all")


def dots(ax):
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    return torch.tensor(line.get_xydata(), dtype=torch.float32)


def labelled(ax):
    """Find the points that the words are tied to."""
    return torch.tensor([text.xy for text in ax.texts if text.get_text() in WORDS])


def assert_in_sight(ax, points):
    for x, y in points.tolist():
        assert ax.get_xlim()[0] <= x <= ax.get_xlim()[1]
        assert ax.get_ylim()[0] <= y <= ax.get_ylim()[1]


def test_arrows_point_where_they_should_and_stay_in_sight(ax):
    tips, starts = VECTORS[:2], torch.tensor([[0.0, 0.0], [1.0, 3.0]])
    page_a()["draw_arrows"](ax, tips.clone().requires_grad_(), "k", starts=starts)
    assert_close(torch.tensor([arrow.xy for arrow in ax.texts]), tips)
    assert_close(torch.tensor([arrow.get_position() for arrow in ax.texts]), starts)
    assert ax.get_aspect() == 1
    assert_in_sight(ax, torch.cat([tips, starts]))


def test_labels_of_close_points_keep_their_distance_and_order(ax):
    points = torch.tensor([[0.0, 0.52], [0.0, 0.5], [0.0, 0.0]])
    page_a()["label_points"](ax, points, WORDS[1:4], x=1.0, gap=0.2)
    heights = [text.get_position()[1] for text in sorted(ax.texts, key=lambda t: t.xy[1])]
    assert heights[2] - heights[1] == pytest.approx(0.2)
    assert heights[1] - heights[0] == pytest.approx(0.5)
    assert sum(heights) == pytest.approx(points[:, 1].sum().item())
    assert sorted(labelled(ax).tolist()) == sorted(points.tolist())


def test_shadows_give_the_scores(ax):
    query = torch.tensor([1.0, 2.0], requires_grad=True)
    page_a()["draw_scores"](ax, query, VECTORS, WORDS)
    query, shadows = query.detach(), dots(ax)
    assert_in_sight(ax, shadows[:3])
    assert_close(shadows @ query, VECTORS @ query)
    # on the line of the query, and at a right angle to it from their keys
    assert_close(shadows[:, 1], 2 * shadows[:, 0])
    assert_close((VECTORS - shadows) @ query, torch.zeros(6), rtol=0, atol=1e-5)
    assert sorted(labelled(ax).tolist()) == sorted(VECTORS.tolist())


def test_mixture_shades_the_convex_hull(ax):
    values = torch.tensor([[0.0, 0], [2, 0], [2, 2], [0, 2], [1, 1.5], [1, 1]], requires_grad=True)
    page_a()["draw_mixture"](ax, values, values.mean(dim=0), WORDS)
    corners = [path.vertices[:3] for path in ax.collections[0].get_paths()]
    areas = [np.linalg.det([b - a, c - a]) / 2 for a, b, c in corners]
    assert sum(map(abs, areas)) == pytest.approx(4.0)
    assert_close(dots(ax), values.mean(dim=0, keepdim=True).detach())


def test_branches_name_the_three_roles_and_every_score():
    query, key, value = torch.arange(6.0).reshape(3, 2)
    scores = torch.tensor([0.5, 1.5, -1.0, 0.0, 2.0, 0.25])
    tree, bars = page_a()["draw_branches"](
        "film", torch.tensor([1.0, 2.0, 3.0]), query, key, value, scores
    ).axes
    text = "\n".join(t.get_text() for t in tree.texts)
    for part in ("“film”  (1.00, 2.00, 3.00)", "query\n", "key\n", "value\n"):
        assert part in text
    for numbers in ("(0.00, 1.00)", "(2.00, 3.00)", "(4.00, 5.00)"):
        assert numbers in text
    assert [float(t.get_text()) for t in bars.texts] == scores.tolist()
    assert [t.get_text() for t in bars.get_yticklabels()] == page_a()["words"]
    assert bars.yaxis_inverted()  # the first word on top
    plt.close("all")


@pytest.mark.parametrize("values", [VECTORS.abs(), VECTORS, -VECTORS.abs()])
def test_the_animation_adds_up_to_the_context_vector_in_sight(values):
    scores = VECTORS[:, 0]
    weights = torch.softmax(scores, dim=-1)
    shown = page_a()["animate_attention"](WORDS, scores, weights, values)
    top, middle, plane = shown.figure.axes
    assert [bar.get_height() for bar in top.patches] == pytest.approx(scores.tolist())
    assert [bar.get_height() for bar in middle.patches] == pytest.approx(weights.tolist())
    ends = (weights[:, None] * values).cumsum(0)
    arrows = [arrow for arrow in plane.texts if not arrow.get_text()]
    assert_close(torch.tensor([arrow.xy for arrow in arrows]), torch.cat([values, ends]))
    assert_close(torch.tensor([arrow.get_position() for arrow in arrows[7:]]), ends[:-1])
    assert_close(dots(plane), ends[-1:])
    assert sorted(labelled(plane).tolist()) == sorted(values.tolist())
    assert_in_sight(plane, torch.cat([values, ends, torch.zeros(1, 2)]))
    assert plane.get_xlim()[0] < plane.get_xlim()[1]  # left to right
    # one score per frame, then all weights, then one value per frame
    parts, visible = (top.patches, middle.patches, arrows[6:], plane.lines), []
    for frame in range(shown.n_frames):
        shown.draw(frame)
        visible.append(tuple(sum(artist.get_visible() for artist in part) for part in parts))
    assert visible[:14] == [
        *((i, 0, 0, 0) for i in range(7)),
        *((6, 6, i, 0) for i in range(6)),
        (6, 6, 6, 1),
    ]
    assert set(visible[13:]) == {(6, 6, 6, 1)}
    # The GIF merges frames that are equal.
    with Image.open(io.BytesIO(shown.gif)) as gif:
        assert 13 <= gif.n_frames <= 18
    html = shown._repr_html_()
    assert html.startswith("<details><summary>")
    assert 'alt="The scores appear one by one' in html
    assert "http" not in html
    assert "script" not in html
    plt.close("all")

"""The pictures show the numbers they are given, and their text can be read."""

import io

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch
from PIL import Image

from attention.plotting import (
    DIVERGING,
    PALETTE,
    animate_attention,
    animation,
    draw_arrows,
    draw_box,
    draw_branches,
    draw_flow,
    draw_matrices,
    draw_mixture,
    draw_scores,
    draw_weights,
    label_points,
    use_style,
)

WORDS = ["good", "film", "bad"]


@pytest.fixture(autouse=True)
def clean_figures():
    with mpl.rc_context():
        mpl.use("Agg")
        use_style()
        yield
        plt.close("all")


def luminance(colour):
    channels = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in mpl.colors.to_rgb(colour)
    ]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), channels, strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_figures_fit_a_phone_and_are_drawn_on_white():
    fig, _ = plt.subplots()
    assert fig.get_figwidth() <= 5
    assert mpl.colors.to_hex(fig.get_facecolor()) == "#ffffff"
    assert len(set(PALETTE)) == len(PALETTE)


def test_weights_show_every_number_and_word():
    _, ax = plt.subplots()
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]], requires_grad=True)
    draw_weights(ax, weights, WORDS[:2], WORDS)
    assert [text.get_text() for text in ax.texts] == [
        "0.25",
        "0.75",
        "0.00",
        "0.10",
        "0.20",
        "0.70",
    ]
    assert [text.get_position() for text in ax.texts] == [
        (column, row) for row in range(2) for column in range(3)
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == WORDS
    assert [label.get_text() for label in ax.get_yticklabels()] == WORDS[:2]
    assert ax.get_xlabel().startswith("key")
    assert ax.get_ylabel().startswith("query")


def test_numbers_in_cells_can_be_read():
    _, ax = plt.subplots()
    weights = torch.linspace(0.01, 0.31, 101)[None]
    draw_weights(ax, weights, ["query"], [str(i) for i in range(101)])
    (picture,) = ax.images
    assert picture.get_clim() == (0, pytest.approx(0.31))  # white is no weight at all
    for weight, text in zip(weights[0].tolist(), ax.texts, strict=True):
        assert contrast(picture.cmap(picture.norm(weight))[:3], text.get_color()) > 4.5


def test_a_number_has_a_rim_for_the_theme_in_which_it_is_near_its_cell():
    _, ax = plt.subplots()
    draw_weights(ax, torch.tensor([[0.2, 0.8]]), WORDS[:1], WORDS[:2])
    for text, rim in zip(ax.texts, ("white", "black"), strict=True):
        (stroke,) = (effect for effect in text.get_path_effects() if hasattr(effect, "_gc"))
        assert stroke._gc["foreground"] == rim


def test_heatmaps_to_be_compared_share_a_scale():
    shown = []
    for weights in (torch.tensor([[0.3, 0.7]]), torch.tensor([[0.1, 0.9]])):
        _, ax = plt.subplots()
        draw_weights(ax, weights, WORDS[:1], WORDS[:2], vmax=1)
        (picture,) = ax.images
        assert picture.get_clim() == (0, 1)
        shown.append(picture.cmap(picture.norm(0.3)))
    assert shown[0] == shown[1]


def test_a_scale_that_would_hide_a_weight_is_refused():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=r"vmax: expected at least .* 0\.7, got 0\.5"):
        draw_weights(ax, torch.tensor([[0.3, 0.7]]), WORDS[:1], WORDS[:2], vmax=0.5)


def test_both_ends_of_the_diverging_map_contrast_alike_with_zero():
    low, middle, high = (DIVERGING(x) for x in (0.0, 0.5, 1.0))
    assert contrast(low[:3], middle[:3]) > 4.5
    assert contrast(high[:3], middle[:3]) > 4.5


def test_weights_refuse_words_that_do_not_fit():
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match=r"weights: expected shape \(3, 3\).*got \(2, 3\)"):
        draw_weights(ax, torch.rand(2, 3), WORDS)


def test_arrows_point_where_they_should_and_stay_in_sight():
    _, ax = plt.subplots()
    tips, starts = torch.tensor([[1.0, 2.0], [-3.0, 0.5]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    draw_arrows(ax, tips, starts=starts)
    assert [list(arrow.xy) for arrow in ax.texts] == tips.tolist()
    assert [list(arrow.get_position()) for arrow in ax.texts] == starts.tolist()
    assert ax.get_aspect() == 1
    for x, y in [*tips.tolist(), *starts.tolist()]:
        assert ax.get_xlim()[0] <= x <= ax.get_xlim()[1]
        assert ax.get_ylim()[0] <= y <= ax.get_ylim()[1]


def labelled(ax):
    """Find the point that each word is tied to."""
    return {text.get_text(): list(text.xy) for text in ax.texts if text.get_text() in WORDS}


def tied(points):
    return {word: pytest.approx(point) for word, point in zip(WORDS, points.tolist(), strict=True)}


def test_labels_of_close_points_keep_their_distance_and_order():
    _, ax = plt.subplots()
    points = torch.tensor([[0.0, 0.52], [0.0, 0.5], [0.0, 0.0]])
    label_points(ax, points, WORDS, x=1.0, gap=0.2)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["bad"] < heights["film"] < heights["good"]
    assert heights["good"] - heights["film"] == pytest.approx(0.2)
    assert heights["film"] - heights["bad"] == pytest.approx(0.5)
    assert sum(heights.values()) == pytest.approx(points[:, 1].sum().item())
    assert labelled(ax) == tied(points)


def test_shadows_give_the_scores():
    _, ax = plt.subplots()
    query, keys = torch.tensor([1.0, 2.0]), torch.tensor([[1.0, 0.5], [-0.5, 1.0], [0.2, 0.9]])
    draw_scores(ax, query, keys, WORDS)
    assert labelled(ax) == tied(keys)
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    shadows = torch.tensor(dots.get_xydata(), dtype=torch.float32)
    lengths = shadows @ query / query.norm()
    torch.testing.assert_close(lengths * query.norm(), keys @ query)
    # on the line of the query, and straight below their keys
    torch.testing.assert_close(shadows[:, 1], 2 * shadows[:, 0])
    torch.testing.assert_close((keys - shadows) @ query, torch.zeros(3), rtol=0, atol=1e-6)


def test_mixture_shades_the_convex_hull():
    _, ax = plt.subplots()
    values = torch.tensor([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0], [1.0, 1.5]])
    draw_mixture(ax, values, torch.tensor([0.5, 0.5]), [*WORDS, "long", "dull"])
    assert labelled(ax) == tied(values[:3])
    (triangles,) = ax.collections[:1]
    area = 0.0
    for path in triangles.get_paths():
        (ax_, ay), (bx, by), (cx, cy) = path.vertices[:3]
        area += abs((bx - ax_) * (cy - ay) - (by - ay) * (cx - ax_)) / 2
    assert area == pytest.approx(4.0)
    (dot,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert dot.get_xydata().tolist() == [[0.5, 0.5]]


def test_branches_name_the_three_roles_and_every_score():
    x, query, key, value = torch.tensor([1.0, 2.0, 3.0]), *torch.arange(6.0).reshape(3, 2)
    fig = draw_branches(
        "film", x, query, key, value, dict(zip(WORDS, (0.5, 1.5, -1.0), strict=True))
    )
    tree, bars = fig.axes
    text = "\n".join(t.get_text() for t in tree.texts)
    assert "(1.00, 2.00, 3.00)" in text
    for name, numbers in (("query", "0.00, 1.00"), ("key", "2.00, 3.00"), ("value", "4.00, 5.00")):
        assert name in text
        assert f"({numbers})" in text
    assert [t.get_text().strip() for t in bars.texts] == ["0.50", "1.50", "-1.00"]
    assert [t.get_text() for t in bars.get_yticklabels()] == WORDS
    assert bars.yaxis_inverted()  # the first word on top


def test_matrices_are_to_scale_with_the_signs_between_them():
    _, ax = plt.subplots()
    tall, wide = ("W_query", "(d, k)", 3, 1, PALETTE[0]), ("W_keyᵀ", "(k, d)", 1, 3, PALETTE[1])
    ends = draw_matrices(ax, 5, (tall, "·", wide))
    assert not ax.axison
    assert ax.get_aspect() == 1
    drawn = [(box.get_x(), box.get_y(), box.get_width(), box.get_height()) for box in ax.patches]
    assert drawn == [(0, 3.5, 1, 3), (pytest.approx(1.6), 4.5, 3, 1)]
    assert ends == [(x, x + width) for x, _, width, _ in drawn]
    edges = [mpl.colors.to_hex(box.get_edgecolor()) for box in ax.patches]
    assert edges == list(PALETTE[:2])
    texts = {text.get_text(): text for text in ax.texts}
    assert set(texts) == {"W_query", "(d, k)", "·", "W_keyᵀ", "(k, d)"}
    assert texts["·"].get_position() == pytest.approx((1.3, 5))
    assert texts["W_query"].get_rotation() == 90  # no room for it otherwise
    assert texts["W_keyᵀ"].get_rotation() == 0
    assert texts["(d, k)"].get_position() == (0.5, pytest.approx(6.8))  # above its matrix


def test_a_box_is_as_wide_as_it_should_be_or_as_its_text_needs():
    fig, ax = plt.subplots()
    ax.set(xlim=(0, 10), ylim=(0, 10))
    for y, color, width in ((8, PALETTE[1], 4), (5, PALETTE[2], None), (2, None, None)):
        draw_box(ax, 6, y, "softmax", color, width=width)
    fig.canvas.draw()
    assert not ax.axison
    (wide,) = ax.patches
    assert wide.get_path().get_extents().extents == pytest.approx([4, 7.5, 8, 8.5])
    assert mpl.colors.to_hex(wide.get_edgecolor()) == PALETTE[1]
    _, fitting, bare = ax.texts
    around, inside = fitting.get_bbox_patch().get_window_extent(), fitting.get_window_extent()
    assert inside.width < around.width < 1.5 * inside.width
    assert mpl.colors.to_hex(fitting.get_bbox_patch().get_edgecolor()) == PALETTE[2]
    assert bare.get_bbox_patch() is None
    assert [text.get_position() for text in ax.texts] == [(6, 8), (6, 5), (6, 2)]


def test_what_flows_is_beside_its_arrow_and_under_the_boxes():
    _, ax = plt.subplots()
    draw_box(ax, 0, 0, "softmax", width=1)
    draw_flow(ax, (2, 0), (4, 6), "(n, d)")
    (box,), (word, arrow, shape) = ax.patches, ax.texts
    assert (arrow.get_position(), arrow.xy) == ((2, 0), (4, 6))
    assert (shape.get_text(), shape.get_ha()) == ("(n, d)", "left")
    assert shape.get_position()[0] > 3
    assert shape.get_position()[1] == 3
    assert arrow.zorder <= box.zorder < min(word.zorder, shape.zorder)


def test_animation_adds_one_score_per_frame_then_all_weights_then_one_value_per_frame(monkeypatch):
    monkeypatch.setattr(
        animation, "Animation", lambda fig, draw, n_frames, alt: (fig, draw, n_frames)
    )
    values = torch.tensor([[1.0, 0.0], [0.5, 1.0], [0.2, 0.9]])
    fig, draw, n_frames = animate_attention(WORDS, torch.ones(3), torch.full((3,), 1 / 3), values)
    top, middle, plane = fig.axes
    chain = [arrow for arrow in plane.texts if not arrow.get_text()][len(WORDS) :]
    (end,) = [line for line in plane.lines if line.get_marker() == "o"]
    parts, visible = (top.patches, middle.patches, chain, [end]), []
    for frame in range(n_frames):
        draw(frame)
        visible.append(tuple(sum(artist.get_visible() for artist in part) for part in parts))
    assert visible[:8] == [
        (0, 0, 0, 0),
        (1, 0, 0, 0),
        (2, 0, 0, 0),
        (3, 0, 0, 0),
        (3, 3, 0, 0),
        (3, 3, 1, 0),
        (3, 3, 2, 0),
        (3, 3, 3, 1),
    ]
    assert set(visible[7:]) == {(3, 3, 3, 1)}


def test_animation_ends_at_the_context_vector_and_plays_on_request_only():
    scores = torch.tensor([0.5, 1.5, -1.0])
    weights = torch.softmax(scores, dim=-1)
    values = torch.tensor([[1.0, 0.0], [0.5, 1.0], [0.2, 0.9]])
    shown = animate_attention(WORDS, scores, weights, values)
    top, middle, plane = shown.figure.axes
    assert [bar.get_height() for bar in top.patches] == pytest.approx(scores.tolist())
    assert [bar.get_height() for bar in middle.patches] == pytest.approx(weights.tolist())
    assert labelled(plane) == tied(values)
    steps = (weights[:, None] * values).cumsum(0)
    chain = [arrow for arrow in plane.texts if not arrow.get_text()][len(WORDS) :]
    assert [list(arrow.xy) for arrow in chain] == [pytest.approx(end) for end in steps.tolist()]
    assert [list(arrow.get_position()) for arrow in chain] == [
        pytest.approx(start) for start in [[0.0, 0.0], *steps[:-1].tolist()]
    ]
    (end,) = [line for line in plane.lines if line.get_marker() == "o"]
    assert end.get_xydata()[0].tolist() == pytest.approx((weights @ values).tolist())
    assert all(bar.get_visible() for ax in shown.figure.axes[:2] for bar in ax.patches)
    # 1 empty frame, 3 scores, 3 … : the GIF merges frames that are equal, so it holds no more
    with Image.open(io.BytesIO(shown.gif)) as gif:
        assert 2 * len(WORDS) + 1 <= gif.n_frames <= 2 * len(WORDS) + 6
    html = shown._repr_html_()
    assert html.startswith("<details><summary>")
    assert 'alt="The scores appear one by one' in html
    assert "http" not in html
    assert "script" not in html

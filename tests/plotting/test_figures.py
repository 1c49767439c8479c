"""The pictures show the numbers they are given, and their text can be read."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from contrasts import contrast
from refusals import check_refused

from attention.plotting import (
    DIVERGING,
    PALETTE,
    draw_box,
    draw_flow,
    draw_matrices,
    draw_weights,
    tint,
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


def contrast_of(*colours):
    return contrast(*([255 * part for part in mpl.colors.to_rgb(each)] for each in colours))


def test_weights_show_every_number_and_word():
    _, ax = plt.subplots()
    weights = torch.tensor([[0.25, 0.75, 0.0], [0.1, 0.2, 0.7]], requires_grad=True)
    draw_weights(ax, weights, WORDS[:2], WORDS)
    assert " ".join(text.get_text() for text in ax.texts) == "0.25 0.75 0.00 0.10 0.20 0.70"
    assert [text.get_position() for text in ax.texts] == [
        (column, row) for row in range(2) for column in range(3)
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == WORDS
    assert [label.get_text() for label in ax.get_yticklabels()] == WORDS[:2]
    assert ax.get_xlabel().startswith("key")
    assert ax.get_ylabel().startswith("query")


def test_words_with_dollars_are_words_and_no_formulas():
    figure, (ax, chart) = plt.subplots(2, figsize=(9, 9))
    words = ["$5-$10", "$$", r"$\foo$"]
    draw_weights(ax, torch.eye(3), words)
    draw_box(chart, 0, 0, words[0])
    draw_flow(chart, (0, 0), (1, 1), words[1])
    draw_matrices(chart, 2, (words[1], (words[2], words[0], 2, 2, PALETTE[0])))
    figure.canvas.draw()
    drawn = [*ax.get_xticklabels(), *ax.get_yticklabels(), *chart.texts]
    drawn = [text for text in drawn if text.get_text()]
    assert len(drawn) == 11
    assert not any(text.get_parse_math() for text in drawn)


def test_characters_that_no_font_has_are_spelled():
    figure, ax = plt.subplots()
    draw_weights(ax, torch.eye(2), ["a\ud800", "\x1b[31mb"])
    figure.canvas.draw()
    for labels in ax.get_xticklabels(), ax.get_yticklabels():
        assert [label.get_text() for label in labels] == [r"a\ud800", r"\x1b[31mb"]


def test_numbers_in_cells_can_be_read():
    _, ax = plt.subplots()
    weights = torch.linspace(0.01, 0.31, 101)[None]
    draw_weights(ax, weights, ["query"], [str(i) for i in range(101)])
    (picture,) = ax.collections
    assert picture.get_clim() == (0, pytest.approx(0.31))  # white is no weight at all
    for weight, text in zip(weights[0].tolist(), ax.texts, strict=True):
        cell = picture.cmap(picture.norm(weight))
        assert contrast_of(cell, text.get_color()) > 4.5


def test_a_number_has_a_rim_for_the_theme_in_which_it_is_near_its_cell():
    _, ax = plt.subplots()
    draw_weights(ax, torch.tensor([[0.1, 0.3, 0.5, 0.8]]), ["film"], list("abcd"))
    effects = [text.get_path_effects() for text in ax.texts]
    rims = [
        [effect._gc["foreground"] for effect in drawn if hasattr(effect, "_gc")]
        for drawn in effects
    ]
    # The others need none, and each would cost a downloaded figure some kilobytes.
    assert rims == [[], [], ["white"], []]


def test_heatmaps_to_be_compared_share_a_scale_whatever_the_readers_settings():
    mpl.rcdefaults()
    mpl.use("Agg")
    shown = []
    for weights in (torch.tensor([[0.3, 0.7]]), torch.tensor([[0.1, 0.9]])):
        _, ax = plt.subplots()
        draw_weights(ax, weights, WORDS[:1], WORDS[:2], vmax=1)
        (picture,) = ax.collections
        assert picture.get_clim() == (0, 1)
        assert min(picture.cmap(picture.norm(0.0))[:3]) > 0.95  # the colour of the page
        shown.append(picture.cmap(picture.norm(0.3)))
    assert shown[0] == shown[1]


def test_weights_that_cannot_be_shown_are_refused():
    _, ax = plt.subplots()
    check_refused(
        lambda weights, vmax: draw_weights(
            ax, torch.tensor(weights), WORDS[:1], WORDS[:2], vmax=vmax
        ),
        [
            ([[0.3, 0.7]], 0.5, "vmax: expected at least the largest weight, 0.7, got 0.5"),
            ([[-0.3, 0.7]], None, "weights: expected none below 0, got -0.3"),
            ([[0.3, 0.3, 0.4]], None, ["weights: expected shape (1, 2)", "got (1, 3)"]),
        ],
    )


def test_an_array_is_drawn_and_what_is_no_axes_is_named():
    _, ax = plt.subplots()
    draw_weights(ax, np.eye(2), WORDS[:2])
    assert len(ax.texts) == 4
    expected = "ax: expected matplotlib's Axes, got Tensor"
    check_refused(draw_weights, [(torch.eye(2), WORDS[:2], WORDS[:2], expected)], TypeError)


def test_both_ends_of_the_diverging_map_contrast_alike_with_zero():
    low, middle, high = (DIVERGING(x) for x in (0.0, 0.5, 1.0))
    assert contrast_of(low, middle) > 4.5
    assert contrast_of(high, middle) > 4.5


def test_matrices_are_to_scale_with_the_signs_between_them():
    _, ax = plt.subplots()
    tall, wide = ("W_query", "(d, k)", 3, 1, PALETTE[0]), ("W_keyᵀ", "(k, d)", 1, 3, PALETTE[1])
    ends = draw_matrices(ax, 5, (tall, "·", wide))
    assert ax.get_aspect() == 1
    drawn = [(box.get_x(), box.get_y(), box.get_width(), box.get_height()) for box in ax.patches]
    assert drawn == [(0, 3.5, 1, 3), (pytest.approx(1.6), 4.5, 3, 1)]
    assert ends == [(x, x + width) for x, _, width, _ in drawn]
    texts = {text.get_text(): text for text in ax.texts}
    assert set(texts) == {"W_query", "(d, k)", "·", "W_keyᵀ", "(k, d)"}
    assert [texts[name].get_rotation() for name in ("W_query", "W_keyᵀ")] == [90, 0]
    assert texts["(d, k)"].get_position() == (0.5, pytest.approx(6.8))  # above its matrix


def test_a_box_is_as_wide_as_it_should_be_or_as_its_text_needs():
    fig, ax = plt.subplots()
    ax.set(xlim=(0, 10), ylim=(0, 10))
    for y, color, width in ((8, PALETTE[1], 4), (5, PALETTE[2], None), (2, None, None)):
        draw_box(ax, 6, y, "softmax", color, width=width)
    fig.canvas.draw()
    (wide,) = ax.patches
    assert wide.get_path().get_extents().extents == pytest.approx([4, 7.5, 8, 8.5])
    _, fitting, bare = ax.texts
    for color, box in ((PALETTE[1], wide), (PALETTE[2], fitting.get_bbox_patch())):
        assert box.get_facecolor()[:3] == tint(color)
        assert contrast_of(tint(color), PALETTE[-1]) > 7  # its text is black
        assert box.get_edgecolor()[3] == 0
    around, inside = fitting.get_bbox_patch().get_window_extent(), fitting.get_window_extent()
    assert inside.width < around.width < 1.5 * inside.width
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

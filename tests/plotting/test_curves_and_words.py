"""Curves and coloured words show what was measured; markup in a word is escaped."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from loops import for_each

from attention.plotting import ORANGE, SKY, training_curves, words_as_ansi, words_as_html


def line(epoch, *names):
    return {"epoch": epoch} | {
        name: {"loss": 0.9 / epoch + i, "accuracy": 0.5 + 0.1 * epoch + 0.01 * i}
        for i, name in enumerate(names)
    }


def test_curves_show_every_measurement():
    metrics = [line(epoch, "train", "clean", "distractor") for epoch in (1, 2, 3)]
    figure = training_curves(metrics, "Two models")
    for panel, measure in zip(figure.axes, ("loss", "accuracy"), strict=True):
        assert len(panel.lines) == 3
        for drawn, name in zip(panel.lines, ("train", "clean", "distractor"), strict=True):
            assert list(drawn.get_xdata()) == [1, 2, 3]
            assert list(drawn.get_ydata()) == [row[name][measure] for row in metrics]
    styles = {(d.get_color(), d.get_linestyle(), d.get_marker()) for d in figure.axes[0].lines}
    assert len(styles) == 3
    assert {marker for _, _, marker in styles} == {"o", "s", "^"}
    alternative_text = figure.get_label()
    assert "Two models" in alternative_text
    assert "training 0.30 and 80.0%" in alternative_text
    plt.close(figure)


def test_curves_name_each_axis_and_line():
    figure = training_curves([line(epoch, "train", "clean") for epoch in (1, 2)], "Two models")
    top, bottom = figure.axes
    assert top.get_title() == "Two models"
    assert [top.get_ylabel(), bottom.get_ylabel()] == ["loss (nats per review)", "accuracy"]
    assert bottom.get_xlabel() == "epoch"
    assert [text.get_text() for text in bottom.get_legend().texts] == [
        "training",
        "validation, clean",
    ]
    assert [drawn.get_label() for drawn in top.lines] == ["training", "validation, clean"]
    plt.close(figure)


def test_curves_without_distractors():
    figure = training_curves([line(1, "train", "clean")])
    assert [len(panel.lines) for panel in figure.axes] == [2, 2]
    plt.close(figure)


def test_curves_leave_the_settings_of_matplotlib_as_they_are():
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.use("Agg")
        settings = dict(mpl.rcParams)
        figure = training_curves([line(1, "train", "clean")])
        assert dict(mpl.rcParams) == settings
        plt.close(figure)


HOSTILE = '<script>alert("x")</script>'


def test_html_escapes_words_and_caption():
    page = words_as_html([HOSTILE, "good"], [0.2, 0.8], HOSTILE)
    assert page.count("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;") == 2
    assert "<script" not in page


def test_html_shows_weights_in_proportion():
    page = words_as_html(["the", "good", "soup"], [0.125, 0.5, 0.375])
    assert re.findall(r'title="([\d.]+)"', page) == ["0.125", "0.500", "0.375"]
    shades = [float(shade) for shade in re.findall(r"233,([\d.]+)\)", page)]
    assert shades == pytest.approx([0.1, 0.4, 0.3])
    assert re.findall(r">(\w+)</span>", page) == ["the", "good", "soup"]


def test_html_shows_the_sign_of_a_contribution_by_colour_line_and_title():
    page = words_as_html(["dull", "the", "good"], [-0.5, 0.0, 0.25])
    assert re.findall(r'title="([-+.\d]+)"', page) == ["-0.500", "+0.000", "+0.250"]
    backgrounds = [tuple(map(float, c.split(","))) for c in re.findall(r"rgba\(([^)]*)\)", page)]
    for (*drawn, strength), color, expected in zip(
        backgrounds, (ORANGE, SKY, SKY), (0.4, 0.0, 0.2), strict=True
    ):
        assert [part / 255 for part in drawn] == pytest.approx(mpl.colors.to_rgb(color))
        assert strength == expected
    dull, rest = page.split("</span>", 1)
    assert "dashed" in dull
    assert "dashed" not in rest


def test_ansi_shades_rise_with_the_weight():
    words = words_as_ansi(["a", "b", "c"], [0.0, 0.3, 0.7]).split(" ")
    assert words[0] == "\033[0ma\033[0m"
    assert words[1] == "\033[30;48;5;153mb\033[0m"
    assert words[2] == "\033[1;97;48;5;25mc\033[0m"


@for_each(show=(words_as_html, words_as_ansi))
def test_no_words_and_no_weight(show):
    show([], [])
    assert "nan" not in show(["a", "b"], [0.0, 0.0])
    with pytest.raises(ValueError, match="2"):
        show(["a", "b"], [0.5])

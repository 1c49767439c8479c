"""Curves and coloured words: what is drawn is what was measured, and nothing gets through."""

import re

import matplotlib.pyplot as plt
import pytest
from attention.plotting import training_curves, words_as_ansi, words_as_html


def line(epoch, *names):
    return {"epoch": epoch} | {
        name: {"loss": 0.9 / epoch + i, "accuracy": 0.5 + 0.1 * epoch + 0.01 * i}
        for i, name in enumerate(names)
    }


def test_curves_hold_every_figure():
    metrics = [line(epoch, "train", "clean", "distractor") for epoch in (1, 2, 3)]
    figure = training_curves(metrics, "Two models")
    for panel, of in zip(figure.axes, ("loss", "accuracy"), strict=True):
        assert len(panel.lines) == 3
        for drawn, name in zip(panel.lines, ("train", "clean", "distractor"), strict=True):
            assert list(drawn.get_xdata()) == [1, 2, 3]
            assert list(drawn.get_ydata()) == [row[name][of] for row in metrics]
    looks = {(d.get_color(), d.get_linestyle(), d.get_marker()) for d in figure.axes[0].lines}
    assert len(looks) == 3
    assert {marker for _, _, marker in looks} == {"o", "s", "^"}
    said = figure.get_label()
    assert "Two models" in said
    assert "training 0.30 and 80.0%" in said
    plt.close(figure)


def test_curves_say_what_each_axis_and_line_is():
    figure = training_curves([line(epoch, "train", "clean") for epoch in (1, 2)], "Two models")
    above, below = figure.axes
    assert above.get_title() == "Two models"
    assert [above.get_ylabel(), below.get_ylabel()] == ["loss (nats a review)", "accuracy"]
    assert below.get_xlabel() == "epoch"
    assert [text.get_text() for text in below.get_legend().texts] == [
        "training",
        "validation, clean",
    ]
    assert [drawn.get_label() for drawn in above.lines] == ["training", "validation, clean"]
    plt.close(figure)


def test_curves_without_distractors():
    figure = training_curves([line(1, "train", "clean")])
    assert [len(panel.lines) for panel in figure.axes] == [2, 2]
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


def test_ansi_shades_rise_with_the_weight():
    words = words_as_ansi(["a", "b", "c"], [0.0, 0.3, 0.7]).split(" ")
    assert words[0] == "\033[0ma\033[0m"
    assert words[1] == "\033[30;48;5;153mb\033[0m"
    assert words[2] == "\033[1;97;48;5;25mc\033[0m"


@pytest.mark.parametrize("show", [words_as_html, words_as_ansi])
def test_no_words_and_no_weight(show):
    show([], [])
    assert "nan" not in show(["a", "b"], [0.0, 0.0])
    with pytest.raises(ValueError, match="2"):
        show(["a", "b"], [0.5])

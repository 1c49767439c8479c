"""Curves and coloured words show what was measured; markup in a word is escaped."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch
from loops import for_each

from attention.plotting import head_atlas, training_curves, words_as_ansi, words_as_html


def line(epoch, *names):
    return {"epoch": epoch} | {
        name: {"loss": 0.9 / epoch + i, "accuracy": 0.5 + 0.1 * epoch + 0.01 * i}
        for i, name in enumerate(names)
    }


@for_each(names=(("train", "clean", "distractor"), ("train", "clean")))
def test_curves_show_and_name_every_measurement_and_change_no_setting(names):
    metrics = [line(epoch, *names) for epoch in (1, 2, 3)]
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.use("Agg")
        settings = dict(mpl.rcParams)
        figure = training_curves(metrics)
        assert dict(mpl.rcParams) == settings
    top, bottom = figure.axes
    labels = ["training", "validation, alone", "validation, behind another"][: len(names)]
    for panel, measure in zip(figure.axes, ("loss", "accuracy"), strict=True):
        assert [drawn.get_label() for drawn in panel.lines] == labels
        for drawn, name in zip(panel.lines, names, strict=True):
            assert list(drawn.get_xdata()) == [1, 2, 3]
            assert list(drawn.get_ydata()) == [row[name][measure] for row in metrics]
    for of_line in ("get_color", "get_linestyle", "get_marker"):
        assert len({getattr(drawn, of_line)() for drawn in top.lines}) >= min(len(names), 2)
    assert len({drawn.get_marker() for drawn in top.lines}) == len(names)
    assert [top.get_ylabel(), bottom.get_ylabel()] == ["loss (nats per review)", "accuracy"]
    assert bottom.get_xlabel() == "epoch"
    assert [text.get_text() for text in bottom.get_legend().texts] == labels
    assert "training 0.30 and 80.0%" in figure.get_label()
    plt.close(figure)


def test_curves_of_no_epoch_are_refused():
    with pytest.raises(ValueError, match="metrics: expected one line per epoch, got none"):
        training_curves([])


HOSTILE = '<script>alert("x")</script>'


def test_html_escapes_words_and_caption():
    page = words_as_html([HOSTILE, "good"], [0.2, 0.8], HOSTILE)
    assert page.count("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;") == 2
    assert "<script" not in page


@for_each(
    show=(words_as_html, words_as_ansi, lambda words, _: head_atlas(torch.ones(1, 1, 2, 2), words))
)
def test_words_bring_no_escapes_formulas_or_surrogates(show):
    shown = show(["\x1b]0;a\x07\x9b1m", "\ud800$b$"], [0.0, 0.7])
    assert r"\x1b]0;a\x07\x9b1m" in shown
    assert r"\ud800$b$" in shown
    shown.encode()
    assert "mathjax_ignore tex2jax_ignore" in shown or "<figure" not in shown


VIOLET, OCHRE, PINK = [130, 80, 210], [200, 140, 20], [205, 60, 125]


@pytest.mark.parametrize(
    ("weights", "titles", "colours", "shades"),
    [
        ((0.125, 0.5, 0.375), ["0.125", "0.500", "0.375"], [VIOLET] * 3, (0.1, 0.4, 0.3)),
        ((-0.5, 0.0, 0.25), ["-0.500", "+0.000", "+0.250"], (PINK, OCHRE, OCHRE), (0.4, 0.0, 0.2)),
    ],
)
def test_html_shows_size_and_sign_by_title_colour_and_line(weights, titles, colours, shades):
    page = words_as_html(["dull", "the", "good"], weights)
    assert re.findall(r">(\w+)</span>", page) == ["dull", "the", "good"]
    assert re.findall(r'title="([-+.\d]+)"', page) == titles
    backgrounds = [list(map(float, c.split(","))) for c in re.findall(r"rgba\(([^)]*)\)", page)]
    expected = [[*colour, shade] for colour, shade in zip(colours, shades, strict=True)]
    assert backgrounds == [pytest.approx(each) for each in expected]
    dashed = ["dashed" in word for word in page.split("</span>")[:3]]
    assert dashed == [weight < 0 for weight in weights]


def test_ansi_shades_rise_with_the_size_and_show_the_sign():
    words = words_as_ansi(["a", "b", "c"], [0.0, 0.3, 0.7]).split(" ")
    assert words == ["\033[0ma\033[0m", "\033[30;48;5;183mb\033[0m", "\033[1;97;48;5;55mc\033[0m"]
    weak, strong, nothing = words_as_ansi(["a", "b", "c"], [-0.1, -0.7, 0.0]).split(" ")
    assert "1;" not in weak.split("m")[0]
    assert strong.startswith("\033[1;4;")  # bold, and underlined as no positive number is
    assert nothing == "\033[0mc\033[0m"
    only_negative = words_as_ansi(["a", "b"], [-1.0, -0.01]).split(" ")
    assert only_negative[1] == "\033[0mb\033[0m"


@for_each(show=(words_as_html, words_as_ansi))
def test_no_words_no_weight_and_too_few_weights(show):
    show([], [])
    assert "nan" not in show(["a", "b"], [0.0, 0.0])
    with pytest.raises(ValueError, match="weights: expected 2, one per word, got 1"):
        show(["a", "b"], [0.5])

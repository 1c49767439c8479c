"""Draw one picture per lesson, made for the size at which a card shows it.

A drawing has a handful of marks, strokes of one width, and at most a few letters. What a lesson
computes is computed here as well where that takes a line; the other curves and bars stand for what
the lesson is about, have no axes and state no number. As in the lessons, queries are orange, keys
blue and values green; without a query, orange is what the eye should find first.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Polygon, Rectangle

from attention import SinusoidalPositions, apply_rotary, causal_mask, scaled_dot_product_attention
from attention.plotting.style import BLUE, DIVERGING, GREEN, ORANGE

WIDTH, HEIGHT = 144, 96  # in CSS pixels, which are the unit of every coordinate here
SCALE = 3  # pixels per CSS pixel: what the densest screens show
POINTS = 0.75  # per CSS pixel
STROKE = 2.5
GREY, INK = "#8f969e", "#3b4148"
FONT = "DejaVu Sans"  # comes with matplotlib, so that a picture is the same on every machine

Colour = str | tuple[float, ...]
Point = tuple[float, float]


def pale(colour: Colour, share: float = 0.2) -> Colour:
    """Mix a colour with white."""
    return tuple(1 - share * (1 - part) for part in to_rgb(colour))


class Canvas:
    """A white sheet, 144 wide and 96 high, whose origin is its upper left corner."""

    def __init__(self) -> None:
        self.figure = Figure(figsize=(WIDTH / 96, HEIGHT / 96), dpi=96 * SCALE, facecolor="white")
        self.ax = self.figure.add_axes((0, 0, 1, 1))
        self.ax.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        self.ax.axis("off")

    def line(self, xs: Any, ys: Any, colour: Colour, width: float = STROKE, **looks: Any) -> None:
        looks = {"solid_capstyle": "round", "solid_joinstyle": "round"} | looks
        self.ax.plot(xs, ys, color=colour, lw=POINTS * width, **looks)

    def arrow(self, start: Point, end: Point, colour: Colour, bend: float = 0) -> None:
        """Draw an arrow; a positive bend bows it to the left of its way."""
        looks = {"color": colour, "lw": POINTS * STROKE, "joinstyle": "miter", "capstyle": "butt"}
        looks |= {"arrowstyle": "-|>,head_length=4.2,head_width=2.6", "shrinkA": 0, "shrinkB": 0}
        bow = f"arc3,rad={bend}"
        self.ax.add_patch(FancyArrowPatch(start, end, connectionstyle=bow, **looks))

    def box(self, x: float, y: float, w: float, h: float, colour: Colour, label: str = "") -> None:
        """Draw a box with round corners from its upper left corner, and its label."""
        look = {"fc": pale(colour), "ec": colour, "lw": POINTS * STROKE}
        self.ax.add_patch(FancyBboxPatch((x + 4, y + 4), w - 8, h - 8, "round,pad=4", **look))
        self.text(x + w / 2, y + h / 2, label)

    def dot(self, x: float, y: float, colour: Colour, radius: float, **looks: Any) -> None:
        self.ax.add_patch(Circle((x, y), radius, **{"fc": colour, "lw": 0, "zorder": 3} | looks))

    def cell(self, x: float, y: float, w: float, h: float, colour: Colour, **looks: Any) -> None:
        self.ax.add_patch(Rectangle((x, y), w, h, **{"fc": colour, "lw": 0} | looks))

    def cells(
        self, shades: Any, x: float, y: float, side: float, colour: Colour, gap: float = 1.5
    ) -> None:
        """Draw a matrix of shares from 0 to 1, a square per number; NaN leaves its place empty."""
        for i, row in enumerate(np.atleast_2d(shades)):
            for j, shade in enumerate(row):
                if not np.isnan(shade):
                    where = x + j * side, y + i * side, side - gap, side - gap
                    self.cell(*where, pale(colour, shade))

    def bars(self, heights: Any, x: float, base: float, step: float, colours: Sequence) -> None:
        for i, (height, colour) in enumerate(zip(heights, colours, strict=True)):
            self.cell(x + i * step, base - height, 0.72 * step, height, colour)

    def text(self, x: float, y: float, words: str, colour: Colour = INK, size: float = 14) -> None:
        looks = {"ha": "center", "va": "center_baseline", "weight": "bold", "family": FONT}
        looks |= {"color": colour, "size": POINTS * size, "parse_math": False, "zorder": 4}
        self.ax.text(x, y, words, **looks)


Drawing = Callable[[Canvas], None]
DRAWINGS: dict[str, Drawing] = {}


def of(lesson: str) -> Callable[[Drawing], Drawing]:
    """Register what follows as the drawing of a lesson, which is named as in ``gallery/``."""

    def register(drawing: Drawing) -> Drawing:
        DRAWINGS[lesson] = drawing
        return drawing

    return register


def softmax(scores: Sequence[float]) -> np.ndarray:
    return torch.softmax(torch.tensor(scores), dim=-1).numpy()


@of("core/plot_1_qkv_derivation")
def one_word_asks_six_answer(c: Canvas) -> None:
    places = np.linspace(16, 128, 6)
    for x, weight in zip(places, softmax([0.2, 1.6, 1.1, 0.0, -0.4, 0.7]), strict=True):
        c.line([places[1], x], [18, 76], pale(BLUE, 0.75), 24 * weight, solid_capstyle="butt")
        c.dot(x, 78, INK, 6)
    c.dot(places[1], 18, ORANGE, 9)


@of("core/plot_2_attention_layer")
def three_arrows_into_a_layer(c: Canvas) -> None:
    c.box(58, 10, 46, 76, GREY)
    for y, letter, colour in ((22, "q", ORANGE), (48, "k", BLUE), (74, "v", GREEN)):
        c.text(16, y, letter, colour, 17)
        c.arrow((28, y), (56, y), colour)
    c.cells(softmax([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 2.0]]), 66, 33, 10.5, BLUE)
    c.arrow((106, 48), (136, 48), INK)


@of("core/plot_3_scaling_variance")
def one_key_or_many(c: Canvas) -> None:
    scores = np.array([1.0, 4.0, 2.5, 0.5])
    for x, scale, colour in ((10, 1, ORANGE), (95, 4, BLUE)):
        c.bars(3 + 94 * softmax(scores / scale), x, 82, 11, 4 * [colour])
        c.line([x - 1, x + 40], [84, 84], GREY)
    c.text(72, 38, "÷√k")
    c.arrow((58, 54), (88, 54), INK)


@of("core/plot_4_masks")
def the_future_is_hidden(c: Canvas) -> None:
    x = torch.linspace(-1, 1, 6)[:, None]  # (6, 1)
    mask = causal_mask(6)
    _, weights = scaled_dot_product_attention(x, x, x, attn_mask=mask)  # (6, 6)
    c.cells(torch.where(mask, 0.25 + 0.75 * weights, torch.nan), 32, 8, 13.5, BLUE)
    for i, j in zip(*np.nonzero(~mask.numpy()), strict=True):
        c.cell(32 + 13.5 * j, 8 + 13.5 * i, 12, 12, "none", ec=GREY, hatch=8 * "/")


@of("core/plot_5_multi_head")
def three_heads(c: Canvas) -> None:
    n = torch.arange(4)
    before = -(n[:, None] - n - 1.0).abs()  # (4, 4)
    first = -n.expand(4, 4).float()
    alike = -(n[:, None] - n).abs() % 2.0
    for i, (scores, colour) in enumerate(((before, ORANGE), (first, BLUE), (alike, GREEN))):
        c.cells(0.08 + 0.92 * softmax((2.5 * scores).tolist()), 8 + 45 * i, 29, 9.8, colour)


@of("core/plot_6_positions")
def stripes_of_sinusoids(c: Canvas) -> None:
    sines = SinusoidalPositions(16, base=10).table[:32, 0::2].T.numpy()  # (8, 32)
    looks = {"cmap": DIVERGING, "vmin": -1.6, "vmax": 1.6}  # the ends of the palette are too dark
    c.ax.imshow(sines, extent=(8, 136, 88, 8), aspect="auto", **looks)


@of("core/plot_7_transformer_block")
def two_residual_bows(c: Canvas) -> None:
    c.arrow((6, 62), (138, 62), INK)
    for x, colour in ((24, BLUE), (80, GREEN)):
        c.box(x, 48, 28, 28, colour)
        turn = np.linspace(np.pi, 2 * np.pi, 50)
        c.line(x + 15 + 21 * np.cos(turn), 60 + 42 * np.sin(turn), ORANGE)
        c.dot(x + 36, 62, ORANGE, 6)
        c.text(x + 36, 62, "+", "white", 13)


@of("core/plot_8_sentiment_training")
def training_and_validation(c: Canvas) -> None:
    epoch = np.linspace(0, 1, 60)
    fall = np.exp(-3.5 * epoch)
    c.line(12 + 84 * epoch, 82 - 62 * fall, GREY)
    c.line(12 + 84 * epoch, 70 - 50 * fall - 22 * epoch**3, ORANGE)
    c.text(117, 78, "train", INK, 12)
    c.text(112, 48, "val", ORANGE, 12)


@of("core/plot_9_reading_attention")
def coloured_words_and_a_question(c: Canvas) -> None:
    lines = [[(20, 0.2), (34, 0.6), (22, 0.2)], [(38, 1.0), (16, 0.2), (22, 0.4)]]
    lines += [[(16, 0.2), (26, 0.3), (34, 0.8)]]
    for i, words in enumerate(lines):
        x = 8.0
        for width, share in words:
            c.cell(x, 16 + 24 * i, width, 16, pale(ORANGE, share))
            x += width + 4
    c.text(118, 48, "?", BLUE, 50)


@of("deeper/plot_1_low_rank_qk")
def tall_times_wide(c: Canvas) -> None:
    c.box(8, 28, 20, 40, ORANGE, "Q")
    c.box(33, 38, 40, 20, BLUE, "Kᵀ")
    c.text(84.5, 48, "=", size=18)
    c.box(96, 28, 40, 40, GREY)


@of("deeper/plot_2_gauge_and_biases")
def the_same_vectors_in_other_axes(c: Canvas) -> None:
    for turn, colour, style in ((0, GREY, "-"), (np.pi / 5, GREEN, (0, (2, 2)))):
        for angle in (turn, turn + np.pi / 2):
            x, y = 39 * np.cos(angle), 39 * np.sin(angle)
            c.line([72 - x, 72 + x], [48 + y, 48 - y], colour, linestyle=style)
    c.arrow((72, 48), (109, 36), ORANGE)
    c.arrow((72, 48), (86, 12), BLUE)


@of("deeper/plot_3_values_fold")
def two_matrices_become_one_vector(c: Canvas) -> None:
    c.box(8, 28, 40, 40, GREEN, "V")
    c.box(52, 28, 16, 40, BLUE, "w")
    c.arrow((76, 48), (104, 48), INK)
    c.box(112, 28, 16, 40, ORANGE)


@of("deeper/plot_4_rank_on_reviews")
def a_spectrum_that_falls(c: Canvas) -> None:
    values = 72 * np.exp(-0.55 * np.arange(12))
    c.bars(np.maximum(values, 2.5), 10, 84, 10.5, 3 * [ORANGE] + 9 * [GREY])


@of("deeper/plot_5_cost_of_the_product")
def where_the_brackets_are(c: Canvas) -> None:
    turn = np.linspace(-1, 1, 20)
    bow, height = 8 * np.cos(turn), 17 * np.sin(turn)
    colours = GREY, ORANGE, BLUE, GREY
    for y, places, brackets in (
        (27, (18, 40, 84, 106), ((19, 59), (85, 125))),
        (69, (18, 51, 73, 106), ((52, 92),)),
    ):
        for x, colour in zip(places, colours, strict=True):
            c.cell(x, y - 10, 20, 20, pale(colour, 0.8))
        for left, right in brackets:
            c.line(left - bow, y + height, INK)
            c.line(right + bow, y + height, INK)


@of("deeper/plot_6_real_model")
def a_look_at_one_of_72_heads(c: Canvas) -> None:
    for i in range(6):
        for j in range(12):
            c.dot(12 + 10.9 * j, 14 + 13 * i, pale(BLUE, 0.45), 3.2)
    c.line([105, 124], [57, 79], ORANGE, 2 * STROKE, zorder=3.4)
    c.ax.add_patch(Circle((90, 42), 20, fc="white", ec=ORANGE, lw=POINTS * STROKE, zorder=3.5))
    c.dot(90, 42, BLUE, 9, zorder=3.6)


@of("deeper/plot_7_qk_of_a_real_model")
def a_flat_and_a_steep_spectrum(c: Canvas) -> None:
    share = np.linspace(0, 1, 60)
    c.line(10 + 124 * share, 20 + 18 * share, BLUE)
    c.line(10 + 124 * share, 84 - 64 * np.exp(-5 * share), ORANGE)
    c.text(96, 60, "QKᵀ")


@of("deeper/plot_8_multi_head_bottleneck")
def narrow_heads_are_no_wide_one(c: Canvas) -> None:
    for i in range(4):
        c.box(8 + 14 * i, 16, 10, 64, BLUE)
    c.text(76, 48, "≠", size=22)
    c.box(90, 16, 46, 64, ORANGE)


@of("deeper/plot_9a_rotary")
def one_vector_at_five_positions(c: Canvas) -> None:
    c.ax.add_patch(Circle((72, 48), 38, fc="none", ec=pale(GREY, 0.6), lw=POINTS * STROKE))
    turned = 38 * apply_rotary(torch.tensor([[1.0, 0.0]]).expand(5, 2), torch.arange(5) * 0.6)
    for i, (x, y) in enumerate(turned.tolist()):
        c.arrow((72, 48), (72 + x, 48 - y), pale(ORANGE, 0.2 + 0.2 * i))


@of("deeper/plot_9b_grouped_and_latent")
def four_queries_share_two_keys(c: Canvas) -> None:
    for i, x in enumerate((21, 55, 89, 123)):
        key = 38 if i < 2 else 106
        c.line([x, key], [20, 76], GREY)
        c.dot(x, 20, ORANGE, 11)
        c.dot(key, 76, BLUE, 11)
        c.text(x, 20, "q", "white", 13)
        c.text(key, 76, "k", "white", 13)


@of("deeper/plot_9c_cache")
def a_row_that_grows(c: Canvas) -> None:
    for y, letter, colour in ((38, "K", BLUE), (66, "V", GREEN)):
        c.text(16, y + 8, letter, colour)
        c.cells(np.full(6, 0.35), 30, y, 15, colour)
        c.cell(30 + 6 * 15, y, 13.5, 13.5, colour)
    c.arrow((126.7, 14), (126.7, 36), ORANGE)


@of("deeper/plot_9d_fused_kernel")
def block_after_block(c: Canvas) -> None:
    for i in range(3):
        for j in range(5):
            read = i == 1 and j < 2
            c.cell(9 + 25.6 * j, 9 + 26.6 * i, 23, 24, pale(BLUE, 0.6) if read else pale(GREY, 0.3))
    c.cell(9 + 25.6 * 2, 35.6, 23, 24, ORANGE)
    c.arrow((87, 47.6), (118, 47.6), ORANGE)


@of("deeper/plot_9e_scale_in_training")
def scores_that_run_away(c: Canvas) -> None:
    step = np.linspace(0, 1, 60)
    for width in (0.5, 0.75, 1):
        c.line(10 + 84 * step, 82 - 66 * width * step**2, ORANGE)
        c.line(10 + 84 * step, 84 - (2 + 6 * width) * step, BLUE)
    c.text(118, 24, "1/√k", ORANGE)
    c.text(118, 80, "1/k", BLUE)


@of("deeper/plot_9f_writing")
def the_token_after_its_like(c: Canvas) -> None:
    colours = GREY, BLUE, GREY, GREY, ORANGE
    for i, (letter, colour) in enumerate(zip("AB…AB", colours, strict=True)):
        c.box(8 + 26 * i, 48, 24, 28, colour, letter)
    c.arrow((98, 44), (46, 44), ORANGE, bend=0.6)


@of("cases/plot_1_ten_pitfalls")
def ten_warnings(c: Canvas) -> None:
    corners = [(46, 16), (82, 80), (10, 80)]
    looks = {"fc": pale(ORANGE), "ec": ORANGE, "lw": POINTS * 2 * STROKE, "joinstyle": "round"}
    c.ax.add_patch(Polygon(corners, **looks))
    c.text(46, 61, "10", size=22)
    for y in (26, 48, 70):
        c.dot(97, y, ORANGE, 4)
        c.line([108, 134], [y, y], GREY, 2 * STROKE)

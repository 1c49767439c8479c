"""Figures in both themes: the larger a number, the more its cell differs from the page."""

import base64
import colorsys
import io

import matplotlib as mpl
import pytest
import torch
from contrasts import contrast
from matplotlib.figure import Figure
from PIL import Image

from attention.plotting import DIVERGING, draw_weights
from attention.plotting.style import STYLE

SHOW = """async (source) => {
  document.querySelector("#drawn")?.remove();
  const image = new Image();
  image.src = source;
  image.alt = "a test";
  image.id = "drawn";
  document.querySelector("article").prepend(image);
  await image.decode();
}"""


@pytest.fixture(scope="module", params=["light", "dark"])
def page(request, browser, http_root):
    """A page that each test shows another picture."""
    page = browser.new_page(color_scheme=request.param)
    page.goto(http_root + "glossary.html")
    yield page
    page.close()


def as_url(draw):
    """Draw a strip of cells that fills its figure, and write it as an address."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4, 0.4), dpi=100, layout="none")
        ax = figure.add_axes((0, 0, 1, 1))
        draw(ax)
        ax.axis("off")
        data = io.BytesIO()
        figure.savefig(data, format="png")
    return "data:image/png;base64," + base64.b64encode(data.getvalue()).decode()


def colours(page, draw, cells):
    """Return the colour of the page, then that of each cell, as a reader sees them."""
    page.evaluate(SHOW, as_url(draw))
    shot = page.locator("#drawn").screenshot()
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    width, height = picture.size
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

    of_page = tuple(map(int, ground[4:-1].split(", ")))
    # Beside the number in a cell's middle, on its lower edge
    places = [(round((i + 0.5) * width / cells), height - 4) for i in range(cells)]
    return of_page, [picture.getpixel(place) for place in places]


def test_a_larger_weight_differs_more_from_the_page(page):
    weights = torch.linspace(0, 1, 8)[None]  # (1, 8)
    words = [str(i) for i in range(8)]
    ground, cells = colours(page, lambda ax: draw_weights(ax, weights, ["q"], words, vmax=1), 8)
    ratios = [contrast(ground, cell) for cell in cells]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1.2
    assert ratios[-1] > 7


def test_a_number_without_a_rim_can_be_read_in_its_cell(page):
    weights = torch.linspace(0, 1, 21)[None]  # (1, 21)
    words = [str(i) for i in range(21)]
    drawn = []

    def draw(ax):
        draw_weights(ax, weights, ["q"], words, vmax=1)
        drawn.extend(ax.texts)

    _, cells = colours(page, draw, 21)
    _, inks = colours(page, lambda ax: ax.imshow([[0, 1]], cmap="gray", aspect="auto"), 2)
    ink = dict(zip(("black", "white"), inks, strict=True))
    plain = [
        contrast(cell, ink[text.get_color()])
        for cell, text in zip(cells, drawn, strict=True)
        if not text.get_path_effects()
    ]
    assert len(plain) == 17
    assert min(plain) > 4.5


def test_numbers_of_both_signs_keep_their_order_and_their_hue(page):
    numbers = torch.linspace(-1, 1, 9)[None].numpy()  # (1, 9)
    look = {"cmap": DIVERGING, "vmin": -1, "vmax": 1, "aspect": "auto"}
    ground, cells = colours(page, lambda ax: ax.imshow(numbers, **look), 9)
    ratios = [contrast(ground, cell) for cell in cells]
    assert ratios[:5] == sorted(ratios[:5], reverse=True)
    assert ratios[4:] == sorted(ratios[4:])
    assert ratios[4] < 1.2
    assert min(ratios[0], ratios[-1]) > 4.5
    hues = [360 * colorsys.rgb_to_hsv(*cell)[0] for cell in cells]
    assert all(10 < hue < 50 for hue in hues[:4])  # orange, and not pink
    assert all(185 < hue < 225 for hue in hues[5:])  # blue


def test_a_figure_has_no_background_of_its_own(page):
    ground, cells = colours(page, lambda ax: None, 2)
    assert cells == [ground, ground]

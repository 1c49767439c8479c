import re
from itertools import pairwise

import matplotlib as mpl
import matplotlib.image as mpimg
import pytest
import social_cards
from sphinx.testing.util import SphinxTestApp

ADDRESS = "https://example.org/site/"


@pytest.fixture
def share(site):
    """Build a page with an address, and return what it tells who shares it."""

    def build(title: str, address: str = ADDRESS) -> tuple[dict[str, str], SphinxTestApp]:
        text = "Text.\n\n.. toctree::\n\n   part/page"
        extensions = ["descriptions", "social_cards", *(["sphinxext.opengraph"] if address else [])]
        app = site(text, *extensions, html_baseurl=address)
        app.config.ogp_site_url = address
        (app.srcdir / "part").mkdir(exist_ok=True)
        line = "=" * len(title)
        page = f"{title}\n{line}\n\nWhat is it?\n"
        (app.srcdir / "part" / "page.rst").write_text(page, encoding="utf-8")
        app.build()
        assert "WARNING" not in app.warning.getvalue()
        written = (app.outdir / "part" / "page.html").read_text(encoding="utf-8")
        return dict(re.findall('<meta property="og:(.*?)" content="(.*?)" />', written)), app

    return build


def test_a_shared_page_shows_its_card(share):
    with mpl.rc_context({"savefig.dpi": 50, "figure.constrained_layout.use": True}):
        tags, app = share("A <page>")
    assert tags["title"] == "A <page>"
    assert tags["url"] == f"{ADDRESS}part/page.html"
    assert tags["description"] == "What is it?"
    assert tags["image"] == f"{ADDRESS}_images/cards/part/page.png"
    assert tags["image:alt"].endswith("A &lt;page&gt;")
    card = mpimg.imread(app.outdir / "_images/cards/part/page.png")
    assert card.shape[:2] == (630, 1200)
    assert (tags["image:width"], tags["image:height"]) == ("1200", "630")


def test_without_an_address_there_is_no_card(share):
    _, app = share("A page", address="")
    assert not (app.outdir / "_images").exists()


TITLES = [
    "K",
    "The transformer block: attention, residual connection, layer normalisation, feed-forward net",
    "Grouped-query, multi-query and latent attention (GQA, MQA, MLA): what heads can share",
    "QKᵀ in a real model: spectra, rank, biases and scores of 72 heads",
]


@pytest.mark.parametrize("title", TITLES)
def test_everything_on_a_card_stays_on_it(title):
    text = "What does a query matrix mean, if memory is the matter? " + 20 * "More than mentioned. "
    figure = social_cards.draw_card(title, "Going deeper", text, "attention", "example.org/site")
    figure.draw_without_rendering()
    boxes = [part.get_window_extent() for part in figure.texts]
    for box in boxes:
        assert box.x0 >= social_cards.MARGIN - 1
        assert box.x1 <= social_cards.WIDTH - social_cards.MARGIN / 2
        assert box.y0 >= 20
    tops = sorted(boxes, key=lambda box: -box.y1)
    for upper, lower in pairwise(tops):
        assert lower.y1 < upper.y0


def test_a_title_is_as_large_as_its_length_allows():
    sizes = [
        social_cards.lay_out(title)[0] for title in ("Glossary", 3 * "twenty-four letters in. ")
    ]
    assert sizes == sorted(sizes, reverse=True)
    size, lines = social_cards.lay_out(30 * "word ")
    assert (size, len(lines)) == (46, 3)
    assert lines[-1].endswith(" …")


def test_text_has_enough_contrast():
    def luminance(colour: str) -> float:
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in mpl.colors.to_rgb(colour)
        ]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    contrast = (luminance(social_cards.PALE) + 0.05) / (luminance(social_cards.BLUE) + 0.05)
    print(f"contrast {contrast:.1f}")
    assert contrast > 4.5

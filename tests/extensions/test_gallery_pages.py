import json
import pickle
import re
from types import SimpleNamespace

import gallery_pages
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from docutils import nodes
from PIL import Image
from sphinx.errors import ExtensionError
from sphinx_gallery import gen_rst
from wheel_of_the_site import install_line

LESSON = "gallery/core/plot_4_masks"


def test_every_script_starts_alike():
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.rand(3), np.random.rand(3)  # noqa: NPY002 — the generator that is reset
    gallery_pages.reset_randomness({}, "script")
    drawn = torch.rand(1).item(), np.random.rand()  # noqa: NPY002 — likewise
    assert drawn == pytest.approx((0.49625658988952637, 0.5488135039273248))
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()


def test_names_in_code_are_linked_after_all_else(site):
    attend = {"name": "attend", "module": "attention", "module_short": "attention"}
    objects = json.dumps({"attend": [attend | {"is_class": False, "is_explicit": False}]})
    text = ".. py:function:: attention.attend()\n\n.. code-block:: python\n\n   attend(1)"
    app = site(
        text,
        *("sphinx_gallery.gen_gallery", "gallery_pages"),
        pages={"index.codeobj.json": objects},
        sphinx_gallery_conf={"examples_dirs": [], "gallery_dirs": []},
    )
    blocks = []
    app.connect(
        "doctree-resolved",
        lambda app, doctree, docname: blocks.extend(doctree.findall(nodes.literal_block)),
        priority=980,
    )
    page = app.build().page()
    assert [block.astext() for block in blocks] == ["attend(1)"]
    assert re.search(r'href="#attention\.attend"[^>]*><span class="n">attend<', page)


@pytest.fixture
def saved(monkeypatch, tmp_path):
    """Save figures as Sphinx-Gallery would write about them, after one of an earlier cell."""
    mpl.use("Agg")
    paths = [str(tmp_path / "earlier.png")]

    def write(block, block_vars, conf, **settings):
        assert settings == gallery_pages.FINE  # a page shows two of its pixels as one
        names = [f"{number}.png" for number in plt.get_fignums()]
        plt.close("all")
        paths.extend(str(tmp_path / name) for name in names)
        for name in names:
            Image.new("RGBA", (4, 3)).save(tmp_path / name)
        return "".join(f".. image-sg:: /{name}\n   :alt: a script's title\n\n" for name in names)

    monkeypatch.setattr(gallery_pages, "matplotlib_scraper", write)

    def save(*labels: str) -> list[str]:
        for label in labels:
            plt.figure().set_label(label)
        drawn = SimpleNamespace(paths=paths)
        block_vars = {"src_file": "gallery/plot_example.py", "image_path_iterator": drawn}
        rst = gallery_pages.figures_with_alt_text(("code", "", 7), block_vars, {})
        return re.findall(":alt: (.*)", rst)

    yield save
    plt.close("all")


def test_a_figures_label_is_its_text_and_its_picture_is_light_with_an_svg_beside_it(
    saved, tmp_path
):
    texts = saved("Weights, the first\n  is the largest.", r'Is "a" < b & \g<0>?')
    assert texts == [
        "Weights, the first is the largest.",
        r"Is &quot;a&quot; &lt; b &amp; \g&lt;0&gt;?",
    ]
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == ["1.svg", "2.svg"]
    for name in ("1.png", "1_wide.png"):
        with Image.open(tmp_path / name) as picture:
            assert picture.mode == "P"  # by a palette


def test_a_figure_without_a_label_ends_the_build(saved):
    expected = "plot_example.py, block at line 7: a figure has no alternative text"
    with pytest.raises(ExtensionError, match=expected) as raised:
        saved("A label.", "")
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # from a worker


# A page's two ends, by the templates of the version that is installed
REFERENCE = "gallery_core_plot_4_masks.py"
SOURCE = (
    gen_rst.EXAMPLE_HEADER.format("plot_4_masks.py", REFERENCE, "")
    + "\nTitle\n=====\n"
    + gen_rst.DOWNLOAD_LINKS_HEADER.format(REFERENCE)
    + gen_rst.ZIP_DOWNLOAD.format("plot_4_masks.zip")
)


def offered(source, page=LESSON, **settings):
    """Return the source of a page with what it offers."""
    settings = {"release": "1.2", "html_baseurl": "https://a.b/", "colab_url": ""} | settings
    text = [source]
    app = SimpleNamespace(config=SimpleNamespace(**settings))
    gallery_pages.offer_downloads(app, page, text)
    return text[0]


def test_a_page_offers_itself_and_the_package():
    assert offered(SOURCE, "training") == SOURCE
    text = offered(SOURCE)
    assert text.index("Title\n=====\n") < text.index("run-it-yourself")
    for kind in ("Notebook <plot_4_masks.ipynb>", "script <plot_4_masks.py>"):
        assert text.count(f":download:`{kind}`") == 1
    for theirs in ("sphx-glr-download-link", "sphx-glr-footer"):
        assert theirs in SOURCE
        assert theirs not in text
    assert "only::" not in text.partition("Title")[0]
    assert "zip>" not in text
    assert "attention_tutorial-1.2-py3-none-any.whl <../../attention_tutorial-1.2-" in text
    assert f"    pip install {install_line('1.2', 'https://a.b/', 'plot')}\n" in text
    assert "Colab" not in text


def test_a_lesson_offers_itself_where_it_says_how_long_it_runs():
    begins = "=====\n\nWhat?\n\nYou need it. Running\nthe page\ntakes long.\n\nNext.\n"
    text = offered(SOURCE.replace("=====\n", begins))
    assert text.index("takes long.\n") < text.index("run-it-yourself")
    assert text.index("run-it-yourself") < text.index("\n\nNext.\n")


def test_a_release_opens_its_pages_in_colab():
    colab = "https://colab.research.google.com/github/a/b/blob/notebooks"
    link = f"      * `Open in Colab <{colab}/core/plot_4_masks.ipynb>`__"
    assert link in offered(SOURCE, colab_url=f"{colab}/")


def test_the_page_of_all_lessons_has_its_header_alone():
    lesson, index = ["Text"], ["cards"]
    gallery_pages.leave_out_cards(None, LESSON, lesson)
    assert lesson == ["Text"]
    gallery_pages.leave_out_cards(None, "gallery/index", index)
    assert ".. lesson-map::" in index[0]
    assert "cards" not in index[0]


def test_a_reference_names_a_page_by_its_short_title(site):
    masks = "Attention masks: causal and padding masks"
    pages = {
        LESSON: f":orphan:\n\n{masks}\n{'=' * len(masks)}\n",
        "notation": ":orphan:\n\nNotation\n========\n",
    }
    text = f":doc:`{LESSON}` :doc:`notation` :doc:`mine: a link <notation>` :guilabel:`{masks}`"
    app = site(text, "gallery_pages", pages=pages).build()
    words = re.findall(r'<span class="(?:doc|std std-doc|guilabel)">(.*?)</span>', app.page())
    assert words == ["Attention masks", "Notation", "mine: a link", masks]

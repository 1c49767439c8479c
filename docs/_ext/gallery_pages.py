"""What the gallery's pages need beyond Sphinx-Gallery: the same start for each, words for eyes."""

import html
import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from docutils import nodes
from lessons import GALLERY, lessons, render, short_title
from saved_pictures import FINE, lighten, save_as_svg, wide, widen
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.nodes import clean_astext
from sphinx_gallery._doctree_links import CodeLinksTransform
from sphinx_gallery.scrapers import matplotlib_scraper
from wheel_of_the_site import install_line, wheel_name

TITLE = re.compile(r"^\S.*\n=+\n", re.MULTILINE)
RUNNING = re.compile(r"\bRunning\s+the\s+page(?:.|\n(?!\n))*\n")  # to the end of its paragraph


def shorten_references(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Name another page in a sentence by its short title, where no other words are given.

    A title such as "Attention masks: causal and padding masks, and a word that may see nothing"
    takes a sentence apart.
    """
    pages = {clean_astext(title): page for page, title in app.env.titles.items()}
    for name in doctree.findall(nodes.inline):
        page = pages.get(name.astext())
        if page and isinstance(name.parent, nodes.reference):
            name.children = [nodes.Text(short_title(app, page))]


def link_code_last(app: Sphinx, config: Config) -> None:
    """Link the names in code when nothing else is left to do to a page.

    These links make a node of each token, and each transform that came after them would walk all
    of these nodes, which took a quarter of the time of writing the site.
    """
    if CodeLinksTransform in app.registry.post_transforms:
        app.registry.post_transforms.remove(CodeLinksTransform)
        app.connect("doctree-resolved", link_code, priority=990)


def link_code(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    CodeLinksTransform(doctree).apply()


def reset_randomness(gallery_conf: dict[str, Any], script: str) -> None:
    """Start every script as a new process would start it."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default")
    np.random.seed(0)  # noqa: NPY002 — a script may draw from the global generator
    np.set_printoptions(edgeitems=3, precision=8, suppress=False, threshold=1000)


def figures_with_alt_text(block: Any, block_vars: dict[str, Any], conf: dict[str, Any]) -> str:
    """Save the open figures in both formats; a figure's label is its alternative text."""
    figures = [plt.figure(number) for number in plt.get_fignums()]
    labels = [figure.get_label() for figure in figures]
    if not all(labels):  # an error, because what a worker logs does not reach the build
        script = Path(block_vars["src_file"]).name
        where = f"{script}, block at line {block[2]}"
        raise ExtensionError(f"{where}: a figure has no alternative text (fig.set_label)")
    rst = matplotlib_scraper(block, block_vars, conf, **FINE)
    pictures = block_vars["image_path_iterator"].paths
    for figure, picture in zip(figures, pictures[len(pictures) - len(figures) :], strict=True):
        save_as_svg(figure, Path(picture))
        widen(figure, Path(picture))
        lighten(Path(picture))
        lighten(Path(wide(picture)))
    texts = iter(labels)
    return re.sub(r"(?<=:alt: ).*", lambda _: html.escape(" ".join(next(texts).split())), rst)


def offer_downloads(app: Sphinx, docname: str, source: list[str]) -> None:
    """Offer the page as a program where it says how long it runs, and nothing at its end."""
    page = PurePosixPath(docname)
    if not page.match("gallery/*/plot_*"):
        return
    release, baseurl = app.config.release, app.config.html_baseurl
    line = install_line(release, baseurl, lessons()[docname].extra)
    said = {"stem": page.name, "wheel": wheel_name(release), "line": line}
    said |= {"colab": app.config.colab_url.rstrip("/"), "part": page.parent.name}
    run = "\n" + render("run-it-yourself.rst", said)
    note = r"\.\. only:: html\n\n +\.\. note::\n +:class: sphx-glr-download-link.*\n\n.*\n.*\n"
    text = re.sub(note, "", source[0])
    place = RUNNING.search(text) or TITLE.search(text)
    text = f"{text[: place.end()]}{run}{text[place.end() :]}" if place else text
    source[0] = re.split(r"\.\. _sphx_glr_download_", text)[0]


def leave_out_cards(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leave of the page of all lessons its header, which has a map in place of cards and lists."""
    if docname == "gallery/index":
        source[0] = (GALLERY / "GALLERY_HEADER.rst").read_text(encoding="utf-8")


def without_tex(text: str) -> str:
    """Write an equation as plain letters."""
    text = re.sub(r"\\(mathrm|text|operatorname)\{(.*?)\}", r"\2", text)
    text = re.sub(r"\\sqrt(\{(.*?)\}| )", r"√\2", text).replace(r"^\top", "ᵀ")
    return re.sub(r"\\(?=\w)", "", re.sub(r"\\[,;! ]", " ", text))


def plain(node: nodes.Element) -> str:
    """Write what a node says as plain text in one line, its equations as letters."""
    parts = [
        without_tex(text) if isinstance(text.parent, nodes.math) else text
        for text in node.findall(nodes.Text)
        if not isinstance(text.parent, nodes.raw)
    ]
    return " ".join("".join(parts).split())


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("colab_url", os.environ.get("COLAB_URL", ""), "env", str)
    app.connect("config-inited", link_code_last)
    app.connect("source-read", offer_downloads)
    app.connect("source-read", leave_out_cards)
    app.connect("doctree-resolved", shorten_references)
    return {"parallel_read_safe": True}

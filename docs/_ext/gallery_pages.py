"""What the gallery's pages need beyond Sphinx-Gallery: the same start for each, words for eyes."""

import html
import re
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_gallery.scrapers import matplotlib_scraper
from wheel_of_the_site import install_line, wheel_name

logger = logging.getLogger(__name__)

PARTS = ("core", "deeper", "cases")


def reading_order(path: str) -> tuple[int, str]:
    """Sort the parts of the gallery, and lessons of several parts, as they are to be read."""
    folder = next(part for part in reversed(PurePath(path).parts) if part in PARTS)
    return PARTS.index(folder), path


def reset_randomness(gallery_conf: dict[str, Any], script: str) -> None:
    """Start every script as a new process would start it."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default")
    np.random.seed(0)  # noqa: NPY002 — a script may draw from the global generator
    np.set_printoptions(edgeitems=3, precision=8, suppress=False, threshold=1000)


def figures_with_alt_text(block: Any, block_vars: dict[str, Any], conf: dict[str, Any]) -> str:
    """Save the open figures; a figure's label is its alternative text."""
    labels = [plt.figure(number).get_label() for number in plt.get_fignums()]
    if not all(labels):
        script = Path(block_vars["src_file"]).name
        where = f"{script}, block at line {block[2]}"
        logger.warning("%s: a figure has no alternative text (fig.set_label)", where)
    rst = matplotlib_scraper(block, block_vars, conf)
    texts = iter(labels)
    return re.sub(r"(?<=:alt: ).*", lambda _: html.escape(" ".join(next(texts).split())), rst)


def offer_downloads(app: Sphinx, docname: str, source: list[str]) -> None:
    """Say at the top that the page is a script, and at its end how to run it."""
    page = PurePosixPath(docname)
    if not page.match("gallery/*/plot_*"):
        return
    stem, wheel = page.name, wheel_name(app.config.release)
    head = (
        ".. rst-class:: run-it-yourself\n\n"
        f"    This page is a program. Download it as a :download:`notebook <{stem}.ipynb>` or a "
        f":download:`script <{stem}.py>`; "
        f":ref:`how to run it <sphx_glr_download_{docname.replace('/', '_')}.py>`.\n"
    )
    # Sphinx-Gallery offers a zip of both; the package that both import is of more use.
    package = f"`Download the package it imports: {wheel} <../../{wheel}>`__"
    install = (
        "\nNotebook and script run on any machine, from any folder, once the package is there:"
        "\n\n.. code-block:: text\n\n"
        f"    pip install {install_line(app.config.release, app.config.html_baseurl)}\n"
    )
    text = re.sub(r"\.\. note::\n +:class: sphx-glr-download-link.*\n\n.*\n.*\n", head, source[0])
    source[0] = re.sub(r":download:`Download zipped: .*`", package, text) + install


def drop_tag_lists(app: Sphinx, docname: str, source: list[str]) -> None:
    """Take out the lists of tags: our lessons have none, and a list per section repeats an id."""
    if docname.startswith("gallery/"):
        source[0] = re.sub(r"\.\. raw:: html\n\n +<div id='sg-tag-list'.*\n", "", source[0])


def plain_name(role: re.Match[str]) -> str:
    """Write a cross-reference as the name it shows: a notebook can't follow it."""
    text, _, target = role[1].partition(" <")
    if target:
        return text
    return f"`{text.rpartition('.')[2] if text.startswith('~') else text.rpartition('/')[2]}`"


def resolve_roles_in_notebooks(app: Sphinx) -> None:
    for path in Path(app.srcdir, "gallery").glob("*/*.ipynb"):
        notebook = path.read_text(encoding="utf-8")
        resolved = re.sub(r":[a-z]+:`([^`]+)`", plain_name, notebook)
        if resolved != notebook:  # a new date would have Sphinx read the page again
            path.write_text(resolved, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", resolve_roles_in_notebooks, priority=900)  # the gallery's: 500
    app.connect("source-read", offer_downloads)
    app.connect("source-read", drop_tag_lists)
    return {"parallel_read_safe": True}

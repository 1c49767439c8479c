"""What the gallery's pages need beyond Sphinx-Gallery: the same start for each, words for eyes."""

import html
import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_gallery.scrapers import matplotlib_scraper
from wheel_of_the_site import install_line, wheel_name

logger = logging.getLogger(__name__)


def reset_randomness(gallery_conf: dict[str, Any], script: str) -> None:
    """Start every script as a new process would start it."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_printoptions(profile="default")
    np.random.seed(0)
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


def offer_the_package(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the site's wheel where Sphinx-Gallery offers a zip, and say how to install it."""
    if not docname.startswith("gallery/plot_"):
        return
    release, wheel = app.config.release, wheel_name(app.config.release)
    source[0] = re.sub(
        r":download:`Download zipped: .*`",
        f"`Download the package they import: {wheel} <../{wheel}>`__",
        source[0],
    )
    source[0] += (
        "\nThe script and the notebook run on their own once the package is installed::\n\n"
        f"    pip install {install_line(release, app.config.html_baseurl)}\n"
    )


def list_pages_that_use_it(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Close each API entry with the gallery pages that use the object."""
    uses = app.srcdir / "gallery" / "uses" / f"{name}.examples"
    if what in ("class", "function") and uses.exists() and uses.read_text().strip():
        lines += ["", ".. rubric:: Pages that use it", "", f".. minigallery:: {name}", ""]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", offer_the_package)
    app.connect("autodoc-process-docstring", list_pages_that_use_it, priority=900)
    return {"parallel_read_safe": True}

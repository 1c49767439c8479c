"""Save each picture that a page draws as a light PNG, which the page shows, and as SVG.

This is how pages are executed, so a change in this file executes all of them again.
"""

import os
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image
from sphinx.application import Sphinx

# Letters become shapes: as text they would need DejaVu Sans on the machine that shows the slide,
# and labels in another font overlap. What can be read is in the file's title and description. With
# a salt of ours the ids are no random ones, so that two builds write the same file.
SETTINGS: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "attention"}
# A heatmap is an image inside the SVG; with this many pixels its cells stay sharp on a projector.
DPI = 300
WIDE = 7.36  # inches of 100 pixels: the width of a page
# A picture has the pixels of a fine screen. It is compressed once it has been lightened.
FINE: dict[str, Any] = {"dpi": 200, "pil_kwargs": {"compress_level": 1}}
# What the kernel of a page in docs/ is told; a lesson's figures are saved by its scraper. It
# also keeps quiet about talking to the build through a local port.
KERNEL = f"""
c.IPKernelApp.log_level = "ERROR"
c.InlineBackend.figure_formats = {{"png", "svg"}}
c.InlineBackend.rc = {SETTINGS}
"""


def save_as_svg(figure: Figure, picture: Path) -> None:
    """Save a figure beside its picture, under the same name and laid out in the same way."""
    layout = figure.get_layout_engine()
    figure.set_layout_engine("none")  # a layout takes as long as the drawing
    with plt.rc_context(SETTINGS):
        figure.savefig(picture.with_suffix(".svg"), dpi=DPI)
    figure.set_layout_engine(layout or "none")


def wide(picture: str) -> str:
    """Name the file of a picture for a wide screen."""
    return f"{picture.removesuffix('.png')}_wide.png"


def widen(figure: Figure, picture: Path) -> None:
    """Save a figure as wide as a page on a desktop, with letters of the size that it has already.

    It stays as tall as it is.
    """
    figure.set_size_inches(WIDE, figure.get_figheight())
    figure.savefig(wide(str(picture)), **FINE)


def lighten(picture: Path) -> None:
    """Keep the 256 colours that a PNG needs most: it then weighs a third, and nobody sees it."""
    with Image.open(picture) as drawn:
        colours = drawn.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    colours.save(picture)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let kernels start with these settings, and without their reader's own of IPython."""
    profile = Path(app.outdir).parent / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL, encoding="utf-8")
    os.environ["IPYTHONDIR"] = str(profile.parent)
    return {"parallel_read_safe": True}

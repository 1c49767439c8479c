"""Give each lesson's card a picture that is drawn for the card.

Sphinx-Gallery shrinks the first figure of a lesson to the width of a card, where its text can't be
read. Ours are in ``thumbnail_drawings``. A setting in the script would do for one lesson, but
readers download the scripts, so each picture is written where Sphinx-Gallery has put its own.
"""

import io
from pathlib import Path

import matplotlib.pyplot as plt
from sphinx.application import Sphinx
from sphinx.util import logging
from thumbnail_drawings import DRAWINGS, Canvas

logger = logging.getLogger(__name__)


def thumbnail(lesson: str) -> str:
    """Name the picture of a lesson, such as ``core/plot_4_masks``, so that any page can show it."""
    part, _, stem = lesson.partition("/")
    return f"gallery/{part}/images/thumb/sphx_glr_{stem}_thumb.png"


def draw(lesson: str) -> bytes:
    """Draw a lesson's picture."""
    with plt.style.context("default"):  # whatever the lessons before it have set
        canvas = Canvas()
        DRAWINGS[lesson](canvas)
        png = io.BytesIO()
        canvas.figure.savefig(png, metadata={"Software": None})
    return png.getvalue()


def write_thumbnails(app: Sphinx) -> None:
    """Write each picture whose bytes are new: a page that shows a touched file is read again.

    The site is built before the book and the doctests, which find its pictures.
    """
    if app.builder.name != "html":
        return
    gallery = app.srcdir.parent / "gallery"
    scripts = gallery.glob("*/plot_*.py")
    lessons = {path.relative_to(gallery).with_suffix("").as_posix() for path in scripts}
    for lesson in sorted(lessons - DRAWINGS.keys()):
        logger.warning("%s: the card has no picture (docs/_ext/thumbnail_drawings.py)", lesson)
    for lesson in sorted(DRAWINGS.keys() - lessons):
        logger.warning("%s: a picture is drawn for a lesson that does not exist", lesson)
    for lesson in sorted(lessons & DRAWINGS.keys()):
        file, png = Path(app.srcdir, thumbnail(lesson)), draw(lesson)
        if not file.exists() or file.read_bytes() != png:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(png)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write_thumbnails, priority=600)  # Sphinx-Gallery's own: 500
    return {"parallel_read_safe": True}

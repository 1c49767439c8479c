"""Show on each lesson's card the picture that was drawn for it, at the size of a card.

Sphinx-Gallery shrinks the first figure of a lesson, until its text can't be read. A setting in the
script would name another picture, but readers download the scripts. So the pictures of
``_static/thumbnails`` have the names of the lessons.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

SHRUNK = re.compile(r"/gallery/(\w+)/images/thumb/sphx_glr_(\w+)_thumb\.png")


class ShowDrawings(SphinxTransform):
    """Exchange the pictures before Sphinx collects them, and warns of one that is missing."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        for image in self.document.findall(nodes.image):
            image["uri"] = SHRUNK.sub(r"/_static/thumbnails/\1/\2.svg", image["uri"])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(ShowDrawings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

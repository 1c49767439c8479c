"""Leave out of a page the styles and scripts of libraries for what it does not have."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

# For an icon font, launch buttons, tags of lessons, tabs and tables of pandas: no page has them.
UNUSED = ("exercise.css", "sg_gallery-binder", "sg-tags", "design-tabs", "sg_gallery-dataframe")
# Where a file's name begins so, it is for what has this in its HTML.
MARKS = {"mystnb.": 'class="cell', "sg_gallery": "sphx-glr", "sphinx-design": "sd-"}


def drop(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    body = context.get("body", "")
    unused = (*UNUSED, *(name for name, mark in MARKS.items() if mark not in body))
    for files in ("css_files", "script_files"):
        context[files] = [
            one for one in context[files] if not Path(str(one.filename)).name.startswith(unused)
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", drop)
    return {"parallel_read_safe": True}

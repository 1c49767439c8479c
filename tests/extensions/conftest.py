"""Small sites, each built in a folder of its own."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from notebooks import with_tex
from sphinx.testing.util import SphinxTestApp


class Site(SphinxTestApp):
    """Sphinx's application for tests, which leaves nothing in docutils and reads what it wrote."""

    def build(self) -> "Site":
        try:
            super().build()
        finally:
            self.cleanup()
        return self

    def page(self, name: str = "index") -> str:
        return (self.outdir / f"{name}.html").read_text(encoding="utf-8")

    @property
    def warnings(self) -> str:
        return self.warning.getvalue()


def prepare(
    folder: Path,
    text: str,
    *extensions: str,
    pages: Mapping[str, str] | None = None,
    builder: str = "html",
    tags: tuple[str, ...] = (),
    **settings: object,
) -> Site:
    """Prepare a site, or another build of the one in that folder.

    Its first page holds a text under a title. Of the other files in its folder ``docs``, those
    without a suffix are pages, too.
    """
    source = folder / "docs"
    files = {"conf.py": "", "index": f"Page\n====\n\n{text}\n"} | dict(pages or {})
    for name, content in files.items():
        path = source / (name if "." in name else f"{name}.rst")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")
    settings = {
        "extensions": list(extensions),
        "html_theme": "basic",
        # Sphinx's own value is one dictionary, in which the extensions of all sites would add up.
        "source_suffix": {".rst": "restructuredtext"},
        **settings,
    }
    return Site(builder, srcdir=source, confoverrides=settings, tags=tags)


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Site]:
    """Prepare a site in the test's folder."""
    return partial(prepare, tmp_path)


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Site]:
    """Prepare a site that several tests read."""
    return lambda *a, **k: prepare(tmp_path_factory.mktemp("site"), *a, **k)


@pytest.fixture
def for_a_notebook(site: Callable[..., Site]) -> Callable[..., str]:
    """Read a page as Sphinx does; return the HTML that becomes Markdown."""

    def read(text: str, *extensions: str) -> str:
        pages = {}
        app = site(text, "mathml", *extensions, html_math_renderer="mathml")
        app.connect(
            "doctree-resolved",
            lambda app, page, name: pages.update({name: with_tex(app.builder, page)}),
        )
        app.build()
        return pages["index"]

    return read

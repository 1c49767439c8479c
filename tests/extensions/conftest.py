"""Small sites, built in a folder of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sphinx.testing.util import SphinxTestApp


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Callable[..., SphinxTestApp]]:
    """Prepare a site of one page; a second call prepares it again, as a second build would."""
    apps: list[SphinxTestApp] = []

    def prepare(text: str, *extensions: str, builder: str = "html", **settings) -> SphinxTestApp:
        source = tmp_path / "docs"
        source.mkdir(exist_ok=True)
        (source / "conf.py").touch()
        page, whole = source / "index.rst", f"Page\n====\n\n{text}\n"
        if not page.exists() or page.read_text(encoding="utf-8") != whole:
            page.write_text(whole, encoding="utf-8")
        settings = {"extensions": list(extensions), "html_theme": "basic", **settings}
        apps.append(SphinxTestApp(builder, srcdir=source, confoverrides=settings))
        return apps[-1]

    yield prepare
    for app in apps:
        app.cleanup()


@pytest.fixture
def build(site: Callable[..., SphinxTestApp]) -> Callable[..., tuple[str, str]]:
    """Build a site of one page; return the page and the warnings."""

    def build_(text: str, *extensions: str, **settings) -> tuple[str, str]:
        app = site(text, *extensions, **settings)
        app.build()
        return (app.outdir / "index.html").read_text(encoding="utf-8"), app.warning.getvalue()

    return build_


@pytest.fixture
def logged_warnings(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], list[str]]:
    """Collect what a module's logger warns of."""

    def collect(module) -> list[str]:
        collected: list[str] = []

        def add(text, *values, **_):
            collected.append(text % values)

        monkeypatch.setattr(module.logger, "warning", add, raising=False)
        return collected

    return collect

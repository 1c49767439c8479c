"""The built site and its pages."""

from pathlib import Path

BUILD = Path(__file__).parents[2] / "docs" / "_build"
SITE = BUILD / "html"


def page_names() -> list[str]:
    """List the pages of the site, as addresses relative to its root."""
    names = (path.relative_to(SITE) for path in SITE.rglob("*.html"))
    return sorted(name.as_posix() for name in names if name.parts[0] != "_static")


def redirect_names() -> list[str]:
    """List the pages that only redirect to another one."""
    return [
        name
        for name in page_names()
        if 'http-equiv="refresh"' in (SITE / name).read_text(encoding="utf-8")
    ]

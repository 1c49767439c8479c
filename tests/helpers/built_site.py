"""The built site and its pages."""

from pathlib import Path

BUILD = Path(__file__).parents[2] / "docs" / "_build"
SITE = BUILD / "html"


def page_names() -> list[str]:
    """List the pages of the site, as addresses relative to its root."""
    names = (path.relative_to(SITE) for path in SITE.rglob("*.html"))
    return sorted(name.as_posix() for name in names if name.parts[0] != "_static")

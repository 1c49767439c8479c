"""The built site and its pages."""

from pathlib import Path

BUILD = Path(__file__).parents[2] / "docs" / "_build"
SITE = BUILD / "html"
# The screens on which pages are looked at
SCREENS = {
    "narrow": (360, 740),
    "phone": (390, 844),
    "desktop": (1280, 900),
    "laptop": (1440, 900),
    "wide": (2200, 1200),
}
SIZES = {name: {"width": width, "height": height} for name, (width, height) in SCREENS.items()}


def page_names() -> list[str]:
    """List the pages of the site, as addresses relative to its root."""
    names = (path.relative_to(SITE) for path in SITE.rglob("*.html"))
    return sorted(name.as_posix() for name in names if name.parts[0] != "_static")

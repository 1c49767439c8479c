"""Every internal link of the site leads to a file, and to an anchor in it.

What leads to other sites can't be followed without a network. It is listed beside this file, and
``nox -s links`` follows it.
"""

import functools
import os
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from bs4 import BeautifulSoup
from built_site import SITE, page_names

ROOT = "http://site/"
FOREIGN = Path(__file__).parent / "foreign_links.txt"


@functools.cache
def links(name: str) -> tuple[list[str], set[str]]:
    """List what a page leads to or shows, and the places in it that a link may lead to."""
    parts = BeautifulSoup((SITE / name).read_text(encoding="utf-8"), "html.parser").find_all()
    targets = [part[key] for part in parts for key in ("href", "src", "data") if part.get(key)]
    anchors = {part[key] for part in parts for key in ("id", "name") if part.get(key)}
    return targets, anchors | {"", "top"}


@pytest.mark.parametrize("name", page_names())
def test_every_link_leads_somewhere(name):
    lost = []
    for target in links(name)[0]:
        url = urlsplit(urljoin(ROOT + name, target))
        if url.netloc != "site":
            continue
        path = unquote(url.path).lstrip("/") or "index.html"
        is_page = path.endswith(".html")
        if not (SITE / path).is_file():
            lost.append(f"{target}: no such file")
        elif is_page and unquote(url.fragment) not in links(path)[1]:
            lost.append(f"{target}: no such anchor")
    assert lost == []


def test_links_are_found_at_all():
    targets, anchors = links("index.html")
    assert len(targets) > 30
    assert "the-lessons" in anchors


def test_every_link_to_another_site_is_listed():
    """A site that knows where it and its source are has links to them, too."""
    own = tuple(
        address
        for name in ("SITE_URL", "REPOSITORY_URL", "COLAB_URL")
        if (address := os.environ.get(name))
    )
    listed = set(FOREIGN.read_text(encoding="utf-8").splitlines()[1:])
    found = {urldefrag(target)[0] for name in page_names() for target in links(name)[0]}
    foreign = {url for url in found if urlsplit(url).netloc and not url.startswith((*own, "//"))}
    assert sorted(foreign - listed) == []
    assert sorted(listed - foreign) == []
    assert all(url.startswith("https://") for url in foreign)

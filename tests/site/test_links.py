"""Every internal link of the site leads to a file, and to an anchor in it.

What leads to other sites can't be followed without a network. It is listed beside this file, and
``nox -s links`` follows it.
"""

import functools
import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import pytest
from built_site import SITE, page_names

ROOT = "http://site/"
FOREIGN = Path(__file__).parent / "foreign_links.txt"


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors = {"", "top"}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name in ("href", "src", "data") and value:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


@functools.cache
def links(name: str) -> Links:
    parser = Links()
    parser.feed((SITE / name).read_text(encoding="utf-8"))
    return parser


@pytest.mark.parametrize("name", page_names())
def test_every_link_leads_somewhere(name):
    lost = []
    for target in links(name).targets:
        url = urlsplit(urljoin(ROOT + name, target))
        if url.netloc != "site":
            continue
        path = unquote(url.path).lstrip("/") or "index.html"
        is_page = path.endswith(".html")
        if not (SITE / path).is_file():
            lost.append(f"{target}: no such file")
        elif is_page and unquote(url.fragment) not in links(path).anchors:
            lost.append(f"{target}: no such anchor")
    assert lost == []


def test_links_are_found_at_all():
    assert len(links("index.html").targets) > 30
    assert "the-lessons" in links("index.html").anchors


def test_every_link_to_another_site_is_listed():
    """A site that knows where it and its source are has links to them, too."""
    own = tuple(
        address
        for name in ("SITE_URL", "REPOSITORY_URL", "COLAB_URL")
        if (address := os.environ.get(name))
    )
    listed = set(FOREIGN.read_text(encoding="utf-8").splitlines()[1:])
    found = {urldefrag(target)[0] for name in page_names() for target in links(name).targets}
    foreign = {url for url in found if urlsplit(url).netloc and not url.startswith((*own, "//"))}
    assert sorted(foreign - listed) == []
    assert sorted(listed - foreign) == []
    assert all(url.startswith("https://") for url in foreign)

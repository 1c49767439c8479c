"""A real browser, and the built site in two ways: over HTTP and from a folder on the disk.

These tests belong to ``nox -s browser``, which says what they need, such as the built site.
"""

import contextlib
import functools
import http.server
import itertools
import os
import shutil
import threading
from collections.abc import Callable, Iterator

import pytest
from built_site import SITE, SIZES
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright
from workbench import open_bench

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
SLOWEST = 60_000  # milliseconds: what is not there by then does not come, on the slowest machine
expect.set_options(timeout=SLOWEST)
# Without these a browser calls home, and would be counted as a page that does.
QUIET = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
QUIET += ["--disable-quic", "--disable-gpu", "--no-first-run"]
# Chromium refuses its own sandbox to the user root; it reads nothing but our pages here.
SANDBOX = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def http_root() -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(params=["http", "file"])
def root(request: pytest.FixtureRequest, http_root: str) -> str:
    """Where the site starts, once over HTTP and once from its folder."""
    return http_root if request.param == "http" else SITE.as_uri() + "/"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *SANDBOX])
        yield browser
        browser.close()


# Tests find all parts of the workbench in sight, and what a first visit shows has tests of its own.
ALL_OF_THE_WORKBENCH = """try {
  const key = "attention-density";
  sessionStorage.setItem(key, sessionStorage.getItem(key) ?? "train");
} catch {}"""


class Visit:
    """A page, and what it asked for and complained about on the way."""

    def __init__(self, browser: Browser, options: dict[str, object], *, is_first: bool) -> None:
        self.context = browser.new_context(**options)
        if not is_first:
            self.context.add_init_script(ALL_OF_THE_WORKBENCH)
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(SLOWEST)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.complaints.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda message: (
                message.type in ("error", "warning") and self.complaints.append(message.text)
            ),
        )

    def leave(self) -> None:
        """Forget all that the page has seen and kept, so that it can be another test's."""
        # A clock of its own would stay, and whoever waits for the next frame would wait for ever.
        is_native = self.page.evaluate("/native code/.test(requestAnimationFrame)")
        assert is_native, "whoever sets the page's clock begins at about:blank"
        with contextlib.suppress(Error):  # about:blank may keep nothing
            # What a page saves as it is left would come after the clearing.
            self.page.evaluate("Storage.prototype.setItem = () => {}")
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.goto("about:blank")
        self.requests.clear()
        self.complaints.clear()

    def troubles(self, root: str) -> list[str]:
        """List the complaints, and the requests that left the site."""
        own = (root, "data:", "blob:")
        foreign = [f"asked for {url}" for url in self.requests if not url.startswith(own)]
        return self.complaints + foreign


@pytest.fixture(scope="session")
def left(browser: Browser) -> Iterator[dict[str, list[Visit]]]:
    """What tests have left, by the options of its profile: a new page costs seconds."""
    pages: dict[str, list[Visit]] = {}
    yield pages
    for one in itertools.chain(*pages.values()):
        one.context.close()


@pytest.fixture
def visit(browser: Browser, left: dict[str, list[Visit]]) -> Iterator[Callable[..., Visit]]:
    """Open an address in a page that remembers nothing.

    Whoever begins at about:blank gets a profile of its own, and may do to the page what no other
    test is to find there. Whoever is first at the workbench finds it as a first visit shows it.
    """
    visits: list[tuple[str, Visit]] = []

    def open_(
        url: str,
        scheme: str = "light",
        size: str = "desktop",
        *,
        until: str = "load",
        motion: str = "no-preference",
        is_first: bool = False,
        **options: object,
    ) -> Visit:
        kind = "" if url == "about:blank" else repr((is_first, options))
        idle = left.setdefault(kind, []) if kind else []
        seen = idle.pop() if idle else Visit(browser, options, is_first=is_first)
        visits.append((kind, seen))
        seen.page.set_viewport_size(SIZES[size])
        seen.page.emulate_media(media="null", color_scheme=scheme, reduced_motion=motion)
        seen.page.goto(url, wait_until=until)
        return seen

    yield open_
    for kind, one in visits:
        if kind:
            one.leave()
            left[kind].append(one)
        else:
            one.context.close()


@pytest.fixture
def page(visit: Callable[..., Visit], http_root: str, request: pytest.FixtureRequest) -> Page:
    """The file's PAGE."""
    return visit(http_root + request.module.PAGE).page


@pytest.fixture
def lab(visit: Callable[..., Visit], http_root: str) -> Page:
    """The page your_review.html, its first model loaded."""
    page = visit(http_root + "your_review.html").page
    page.get_by_test_id("review-input").scroll_into_view_if_needed()
    page.get_by_test_id("token").first.wait_for()
    return page


@pytest.fixture
def bench(visit: Callable[..., Visit], http_root: str) -> Page:
    """The page playground.html, its workbench there."""
    return open_bench(visit, http_root + "playground.html")

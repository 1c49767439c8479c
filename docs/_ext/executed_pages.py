"""Execute the pages of ``docs/`` while the lessons are executed, so that no core waits.

Sphinx executes a page when it reads it, after all lessons. A thread does so from the beginning, and
keeps the results where myst-nb looks for them. It waits while a lesson measures time.
"""

from contextlib import closing, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from jupyter_cache import get_cache
from jupyter_cache.executors.utils import create_cache_bundle, single_nb_execution
from jupyter_core.utils import ensure_event_loop
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

logger = getLogger(__name__)
MARK = "\nfile_format: mystnb\n"
running: list[Thread] = []
alone = Lock()


def execute(cache_folder: Path, pages: list[Path], timeout: int) -> None:
    """Execute pages, one after the other; one that fails is executed again where it is read."""
    cache = get_cache(cache_folder)
    with closing(ensure_event_loop()):  # this thread's, which nbclient leaves open
        for page in pages:
            listed = cache.add_nb_to_project(
                str(page), read_data={"name": "myst_nb_md", "type": "plugin"}
            )
            found = cache.get_project_notebook(listed.pk)
            with suppress(KeyError):
                cache.match_cache_notebook(found.nb)
                continue
            # Where a process writes a line in two pieces, myst-nb would make it two lines.
            settings = {"allow_errors": False, "coalesce_streams": True}
            with alone, suppress(Exception):  # such as that of a kernel that dies
                done = single_nb_execution(found.nb, str(page.parent), timeout, **settings)
                if not done.err:
                    bundle = create_cache_bundle(found, None, None, done.time, None)
                    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
                    logger.info("executed %s in %.1f s", page.name, done.time)


def begin(app: Sphinx) -> None:
    """Create the database of executed pages, which those who read would race for, and fill it."""
    folder = app.outdir.parent / ".jupyter_cache"
    get_cache(folder).get_cache_limit()
    if app.config.nb_execution_mode == "cache" and app.builder.name == "html":
        written = [*app.srcdir.glob("*.md"), *app.srcdir.glob("*/*.md")]
        pages = [path for path in sorted(written) if MARK in path.read_text(encoding="utf-8")]
        work = (folder, pages, app.config.nb_execution_timeout)
        thread = Thread(target=execute, args=work, daemon=True)  # a failed lesson ends the build
        thread.start()
        running.append(thread)


def leave_alone(conf: Any, script: str, when: str) -> None:
    """Hold the pages back from before a lesson to after it, if it runs in this process.

    Lessons that measure time do; the others have processes of their own, in which no page waits.
    """
    if when == "before":
        alone.acquire()
    else:
        alone.release()


def wait(*_: Any) -> None:
    """Wait until all pages are executed."""
    while running:
        running.pop().join()


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", begin, priority=100)  # at 500 the lessons follow
    app.connect("env-before-read-docs", wait)
    return {"parallel_read_safe": True}

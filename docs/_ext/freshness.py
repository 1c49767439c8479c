"""Execute every page again when something changed that pages read while they execute.

Sphinx-Gallery and myst-nb remember a page by the text of its script or its cells alone. So a
change in ``attention/`` would leave yesterday's numbers on the page. Sphinx in turn remembers a
page by its text, so that a change of an extension would leave yesterday's markup.
"""

import hashlib
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

# Whole folders that executed pages read, whatever the files in them are called.
READ = ("attention", "docs/_parts", "docs/experiments", "tests/faults")
# How pages are executed: their start, their pictures, the conditions of their questions.
EXECUTE = ("saved_pictures", "gallery_pages", "predictions", "executed_pages", "page_kernels")
WRITTEN = {"__pycache__", "runs"}  # by Python, and by experiments


def files(folder: Path) -> Iterator[Path]:
    """List the files in a folder, but what was written there."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not WRITTEN.intersection(path.relative_to(folder).parts):
            yield path


def digest(root: Path, paths: list[Path], *settings: str) -> str:
    """Hash settings, and files with their names."""
    found = hashlib.sha256(repr(settings).encode())
    for path in paths:
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def fingerprint(root: Path) -> str:
    """Hash what executed pages depend on beside their own text."""
    read = [path for folder in READ for path in files(root / folder)]
    execute = [root / "docs" / "_ext" / f"{name}.py" for name in EXECUTE]
    libraries = version("torch"), version("matplotlib")
    return digest(root, [root / "pyproject.toml", *execute, *read], *libraries)


def tools(docs: Path, *settings: str) -> str:
    """Hash how pages are read once they are executed."""
    paths = [docs / "conf.py", *files(docs / "_ext"), *files(docs / "_templates")]
    return digest(docs, paths, *settings)


def forget_stale_pages(app: Sphinx, config: Config) -> None:
    """Drop what was executed with another package, before anything reads it."""
    config.package_fingerprint = fingerprint(app.srcdir.parent)
    config.tools_fingerprint = tools(app.srcdir, config.html_baseurl)
    build = app.outdir.parent
    stamp = build / "package-fingerprint"
    if stamp.exists() and stamp.read_text() == config.package_fingerprint:
        return
    shutil.rmtree(app.srcdir / "gallery", ignore_errors=True)
    shutil.rmtree(build / ".jupyter_cache", ignore_errors=True)
    build.mkdir(parents=True, exist_ok=True)
    stamp.write_text(config.package_fingerprint)


def setup(app: Sphinx) -> dict[str, bool]:
    # rebuild="env": another fingerprint makes Sphinx read every page again by itself.
    app.add_config_value("package_fingerprint", "", "env", str)
    app.add_config_value("tools_fingerprint", "", "env", str)
    app.connect("config-inited", forget_stale_pages, priority=100)
    return {"parallel_read_safe": True}

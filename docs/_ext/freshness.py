"""Execute every page again when the package under it changed.

Sphinx-Gallery and myst-nb remember a page by the text of its script or its cells alone. So a
change in ``attention/`` would leave yesterday's numbers on the page.
"""

import hashlib
import shutil
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.ext.doctest import DocTestBuilder


def fingerprint(root: Path, *settings: str) -> str:
    """Hash what executed pages depend on beside their own text."""
    digest = hashlib.sha256(repr((version("torch"), version("matplotlib"), settings)).encode())
    # By suffix: beside the results may lie what Python compiled.
    read = (
        root.glob("attention/**/*.py"),
        root.glob("tests/faults/*.json"),
        root.glob("docs/_ext/saved_pictures.py"),
        *(root.glob(f"docs/experiments/**/*.{suffix}") for suffix in ("py", "json", "toml")),
    )
    for path in [root / "pyproject.toml", *sorted(chain(*read))]:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def forget_stale_pages(app: Sphinx, config: Config) -> None:
    """Drop what was executed with another package, before anything reads it."""
    config.package_fingerprint = fingerprint(app.srcdir.parent, config.html_baseurl)
    build = app.outdir.parent
    stamp = build / "package-fingerprint"
    if stamp.exists() and stamp.read_text() == config.package_fingerprint:
        return
    shutil.rmtree(app.srcdir / "gallery", ignore_errors=True)
    shutil.rmtree(build / ".jupyter_cache", ignore_errors=True)
    build.mkdir(parents=True, exist_ok=True)
    stamp.write_text(config.package_fingerprint)


class DocTests(DocTestBuilder):
    """Run the pages' examples, unless just these have passed with just this package."""

    def key(self) -> str:
        """Hash the package and every page."""
        digest = hashlib.sha256(self.config.package_fingerprint.encode())
        for page in sorted(self.env.found_docs):
            digest.update(self.env.doc2path(page).read_bytes())
        return digest.hexdigest()

    def get_outdated_docs(self) -> set[str]:
        stamp = self.outdir / "passed"
        passed = stamp.exists() and stamp.read_text() == self.key()
        return set() if passed else self.env.found_docs

    def finish(self) -> None:
        super().finish()
        if not (self.total_failures or self.setup_failures or self.cleanup_failures):
            (self.outdir / "passed").write_text(self.key())


def setup(app: Sphinx) -> dict[str, bool]:
    # rebuild="env": another fingerprint makes Sphinx read every page again by itself.
    app.add_config_value("package_fingerprint", "", "env", str)
    app.setup_extension("sphinx.ext.doctest")
    app.add_builder(DocTests, override=True)
    app.connect("config-inited", forget_stale_pages, priority=100)
    return {"parallel_read_safe": True}

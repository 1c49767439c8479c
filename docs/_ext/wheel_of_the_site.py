"""Let the site carry its own package, so that what is downloaded from it also runs.

The built wheel lies at the root of the site. Where the site knows its address, one line installs
from there; where it does not (a folder on a disk), the wheel is a download beside the script.
"""

import subprocess
import sys

from sphinx.application import Sphinx


def wheel_name(release: str) -> str:
    return f"attention_tutorial-{release}-py3-none-any.whl"


def install_line(release: str, baseurl: str) -> str:
    """Say what to type after ``pip install``: the wheel, and what the lessons need beside torch."""
    if baseurl:
        return f'"attention-tutorial[all] @ {baseurl.rstrip("/")}/{wheel_name(release)}"'
    return f'"./{wheel_name(release)}[all]"'


def notebook_cell(release: str, baseurl: str) -> str:
    """Write the first cell of every downloaded notebook."""
    beside = (
        "" if baseurl else f"# Download {wheel_name(release)} from the page, beside this file.\n"
    )
    return f"{beside}%pip install -q {install_line(release, baseurl)}"


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let pages name the wheel without knowing its version or the site's address."""
    release, baseurl = app.config.release, app.config.html_baseurl
    source[0] = source[0].replace("@WHEEL@", wheel_name(release))
    source[0] = source[0].replace("@INSTALL@", install_line(release, baseurl))


def build_wheel(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(app.outdir)]
    subprocess.run(command, cwd=app.srcdir.parent, check=True, capture_output=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", fill_in)
    app.connect("build-finished", build_wheel)
    return {"parallel_read_safe": True}

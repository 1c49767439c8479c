"""Execute the pages without leaving this machine.

Gallery scripts run in the build's own process; notebooks, and what they start, in others, which
find the guard through their path.
"""

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # its test runs where Sphinx is not installed
    from sphinx.application import Sphinx


def setup(app: "Sphinx") -> dict[str, bool]:
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    importlib.import_module("offline.sitecustomize")
    return {"parallel_read_safe": True}

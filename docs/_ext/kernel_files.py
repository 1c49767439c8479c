"""Let pages talk to their kernels through files instead of ports.

Jupyter looks for ports that are free, closes them and tells the kernel to open them again a second
later. Sphinx reads several pages at once, so meanwhile another page may take one, and the build
ends with "Kernel died before replying to kernel_info". Files with a name of their own are nobody
else's.
"""

import os
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

import jupyter_client
from sphinx.application import Sphinx


class KernelWithFiles(jupyter_client.AsyncKernelManager):
    """Start a kernel that is reached through sockets with names of its own."""

    def __init__(self, **options: Any) -> None:
        file = Path(gettempdir()) / f"kernel-{uuid4().hex}.json"
        super().__init__(transport="ipc", connection_file=str(file), **options)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let ``nbclient`` start such kernels, which it imports by this name whenever it needs one."""
    if os.name == "posix":  # elsewhere there are no such sockets, and Sphinx reads a page at a time
        jupyter_client.AsyncKernelManager = KernelWithFiles
    return {"parallel_read_safe": True}

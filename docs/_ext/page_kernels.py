"""Start the kernel of each page as a copy of a process that has imported torch and matplotlib.

Importing them takes a new process three quarters of the time of a short page. The copies share
nothing but what was imported. Where Python knows no such copies (Windows), kernels start as ever.

A kernel is reached through files of its own instead of ports, because Jupyter looks for free ports,
closes them and tells the kernel to open them again, and meanwhile another process may take one.
"""

import os
import signal
from importlib.metadata import EntryPoint
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

import jupyter_client
import matplotlib
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from sphinx.application import Sphinx

IMPORTED = ["torch", "matplotlib.pyplot", "ipykernel.ipkernel", "ipykernel.kernelapp"]


def run(options: list[str], cwd: str, env: dict[str, str]) -> None:
    """Run a kernel in this process, as ``python -m ipykernel_launcher`` would."""
    os.environ.update(env)
    os.chdir(cwd)
    matplotlib.use("module://matplotlib_inline.backend_inline")
    IPKernelApp.launch_instance([*options, f"--IPKernelApp.parent_handle={os.getppid()}"])


class Copy:
    """A process as Jupyter knows it from ``subprocess``; what is not here has the same name."""

    stdin = stdout = stderr = None

    def __init__(self, *arguments: Any) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(IMPORTED)
        self.process = context.Process(target=run, args=arguments, daemon=True)
        self.process.start()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.process, name)

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self) -> int | None:
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)


class Copies(LocalProvisioner):
    """Start kernels as copies."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> dict[str, Any]:
        self.process = Copy(cmd[cmd.index("-f") :], options["cwd"], options["env"])
        self.pid = self.process.pid
        return self.connection_info


class KernelWithFiles(jupyter_client.AsyncKernelManager):
    """Start a kernel that is reached through sockets with names of its own."""

    def __init__(self, **options: Any) -> None:
        file = Path(gettempdir()) / f"kernel-{uuid4().hex}.json"
        super().__init__(transport="ipc", connection_file=str(file), **options)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let ``nbclient`` start such kernels, which it imports by this name whenever it needs one."""
    if "forkserver" in get_all_start_methods():
        jupyter_client.AsyncKernelManager = KernelWithFiles
        factory = KernelProvisionerFactory.instance()
        group = KernelProvisionerFactory.GROUP_NAME
        factory.provisioners["copies"] = EntryPoint("copies", f"{__name__}:Copies", group)
        factory.default_provisioner_name = "copies"
    return {"parallel_read_safe": True}

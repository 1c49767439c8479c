"""Start the kernel of each page as a copy of a process that has imported torch and matplotlib.

Importing them takes longer than all else that a short page does. The copies share nothing but what
was imported. Elsewhere than on Linux kernels start as Jupyter starts them: Windows knows no such
copies, and on macOS some libraries do not bear to be copied.
"""

import atexit
import os
import signal
import sys
from importlib.metadata import EntryPoint
from multiprocessing import get_context, parent_process, set_start_method
from threading import Thread
from typing import Any

import matplotlib
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from sphinx.application import Sphinx

IMPORTED = ["__main__", "torch", "matplotlib.pyplot", "ipykernel.kernelapp"]


def run(options: list[str], cwd: str, env: dict[str, str]) -> None:
    """Run a kernel in this process, as ``python -m ipykernel_launcher`` would."""
    os.setsid()  # Ctrl-C is for the build, and what ends a kernel is for all that it started
    Thread(target=end_with_the_build, daemon=True).start()
    set_start_method(None, force=True)  # a page that starts processes does so by Python's default
    os.environ.update(env)
    os.chdir(cwd)
    # matplotlib.use would import the backend at once, which needs a kernel that runs.
    matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    try:
        IPKernelApp.launch_instance([*options, "--log-level=CRITICAL"])
    finally:
        atexit._run_exitfuncs()  # a copy would end without them, before Python 3.13


def end_with_the_build() -> None:
    if build := parent_process():
        build.join()
        os._exit(1)


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
    """Start kernels as copies, but in a process that Sphinx has forked, whose server it is not."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> dict[str, Any]:
        if parent_process():
            return await super().launch_kernel(cmd, **options)
        folder = options.get("cwd") or os.getcwd()
        self.process = Copy(cmd[cmd.index("-f") :], folder, options["env"])
        self.pid = self.pgid = self.process.pid
        return self.connection_info


def setup(app: Sphinx) -> dict[str, bool]:
    """Make copies Jupyter's default way to start a kernel, where there are any."""
    if sys.platform == "linux":
        factory = KernelProvisionerFactory.instance()
        group = KernelProvisionerFactory.GROUP_NAME
        factory.provisioners["copies"] = EntryPoint("copies", f"{__name__}:Copies", group)
        factory.default_provisioner_name = "copies"
    return {"parallel_read_safe": True}

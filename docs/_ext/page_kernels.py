"""Start the kernel of each page as a copy of a process that has imported torch and matplotlib.

Importing them takes a new process three quarters of the time of a short page. The copies share
nothing but what was imported. Where Python knows no such copies (Windows), kernels start as ever.
"""

import os
import signal
from importlib.metadata import EntryPoint
from multiprocessing import get_all_start_methods, get_context
from typing import Any

import matplotlib
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner
from sphinx.application import Sphinx

IMPORTED = ["torch", "matplotlib.pyplot", "ipykernel.ipkernel", "ipykernel.kernelapp"]


def run(options: list[str], cwd: str, env: dict[str, str]) -> None:
    """Run a kernel in this process, as ``python -m ipykernel_launcher`` would."""
    os.environ.update(env)
    os.chdir(cwd)
    # Not by matplotlib.use, which would import it before there is a page that it could draw on.
    matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    ends_with = f"--IPKernelApp.parent_handle={os.getppid()}"
    IPKernelApp.launch_instance([*options, ends_with, "--log-level=ERROR"])


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
        folder = options.get("cwd") or os.getcwd()
        self.process = Copy(cmd[cmd.index("-f") :], folder, options["env"])
        self.pid = self.process.pid
        return self.connection_info


def setup(app: Sphinx) -> dict[str, bool]:
    """Let Jupyter start kernels so."""
    if "forkserver" in get_all_start_methods():
        factory = KernelProvisionerFactory.instance()
        group = KernelProvisionerFactory.GROUP_NAME
        factory.provisioners["copies"] = EntryPoint("copies", f"{__name__}:Copies", group)
        factory.default_provisioner_name = "copies"
    return {"parallel_read_safe": True}

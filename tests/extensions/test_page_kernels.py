import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import get_all_start_methods, get_context
from pathlib import Path

import nbformat.v4
import page_kernels
import pytest
from jupyter_client.provisioning import KernelProvisionerFactory
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

pytestmark = pytest.mark.skipif("sys.platform != 'linux'", reason="no kernel is copied here")


@pytest.fixture
def client(monkeypatch, tmp_path):
    """Return a function that prepares a page of one cell to be executed."""
    factory = KernelProvisionerFactory.instance()
    monkeypatch.setattr(factory, "default_provisioner_name", factory.default_provisioner_name)
    page_kernels.setup(None)

    def prepare(code):
        page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        return NotebookClient(page, resources={"metadata": {"path": str(tmp_path)}}, timeout=60)

    return prepare


def printed(client):
    return client.execute().cells[0].outputs[0]["text"].strip()


def test_a_kernel_has_torch_before_its_first_cell(client):
    assert printed(client("import sys; print('torch' in sys.modules)")) == "True"


def test_a_page_starts_processes_as_python_does_by_default(client):
    code = "import multiprocessing as mp; print(mp.get_start_method())"
    assert printed(client(code)) == get_all_start_methods()[0]


def test_a_kernel_draws_below_its_cell(client):
    page = client("import matplotlib.pyplot as plt\nplt.plot([1, 2]);").execute()
    assert ["image/png" in output.data for output in page.cells[0].outputs] == [True]


def test_no_kernel_sees_what_another_did(client, tmp_path):
    code = "import os, torch\nprint(os.getcwd(), torch.get_default_dtype(), 'x' in globals())\n"
    change = "torch.set_default_dtype(torch.float64); os.chdir('/'); x = 1"
    said = f"{tmp_path} torch.float32 False"
    assert [printed(client(code + change)) for _ in range(2)] == [said, said]


def test_a_kernel_gets_the_environment_of_its_own_start(client, monkeypatch):
    for value in ("one", "two"):
        monkeypatch.setenv("FOR_THE_PAGE", value)
        assert printed(client("import os; print(os.environ['FOR_THE_PAGE'])")) == value


def test_a_kernel_that_dies_is_named(client):
    with pytest.raises(DeadKernelError):
        client(f"import os; os.kill(os.getpid(), {signal.SIGKILL:d})").execute()


def is_gone(pid):
    with suppress(ProcessLookupError):
        for _ in range(100):
            os.kill(pid, 0)
            time.sleep(0.1)
        return False
    return True


def test_a_kernel_that_takes_too_long_is_stopped(client):
    slow = client("import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    slow.timeout = 5
    with pytest.raises(TimeoutError):
        slow.execute()
    assert is_gone(int(slow.nb.cells[0].outputs[0]["text"]))


def test_a_key_pressed_for_the_build_is_not_for_its_kernels(client):
    assert printed(client("import os; print(os.getsid(0) == os.getpid())")) == "True"


def test_what_a_page_leaves_to_the_end_of_its_process_is_done(client):
    code = "import tempfile\nfolder = tempfile.TemporaryDirectory(); print(folder.name)"
    assert not Path(printed(client(code))).exists()


def test_a_process_that_sphinx_forks_starts_its_kernels_anew(client):
    printed(client("print(1)"))  # this process has a server now
    forked = get_context("fork").Process(target=lambda: printed(client("print(1)")))
    forked.start()
    forked.join()
    assert forked.exitcode == 0


def test_no_kernel_outlives_the_build():
    code = """import nbformat.v4, os, page_kernels, signal
from nbclient import NotebookClient
if __name__ == "__main__":
    page_kernels.setup(None)
    cell = nbformat.v4.new_code_cell("import os; os.getpid()")
    client = NotebookClient(nbformat.v4.new_notebook(cells=[cell]))
    with client.setup_kernel():
        client.execute_cell(cell, 0)
        print(cell.outputs[0]["data"]["text/plain"], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    build = subprocess.run(command, env=env, capture_output=True, timeout=300, check=False)
    assert is_gone(int(build.stdout)), build.stderr

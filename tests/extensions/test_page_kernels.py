import os
import signal
from multiprocessing import get_all_start_methods

import nbformat.v4
import page_kernels
import pytest
from jupyter_client.provisioning import KernelProvisionerFactory
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

pytestmark = pytest.mark.skipif(
    "forkserver" not in get_all_start_methods(), reason="Python knows no copies here"
)


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


def test_a_kernel_that_takes_too_long_is_stopped(client):
    slow = client("import os, time; print(os.getpid(), flush=True); time.sleep(600)")
    slow.timeout = 5
    with pytest.raises(TimeoutError):
        slow.execute()
    pid = int(slow.nb.cells[0].outputs[0]["text"])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

import jupyter_client
import kernel_files
import nbformat.v4
import pytest
from nbclient import NotebookClient


@pytest.mark.skipif("os.name != 'posix'", reason="there are no such sockets")
def test_a_page_is_executed_without_a_port_that_another_could_take(monkeypatch):
    monkeypatch.setattr(jupyter_client, "AsyncKernelManager", jupyter_client.AsyncKernelManager)
    kernel_files.setup(None)
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    client = NotebookClient(page)
    with client.setup_kernel():
        assert client.km.transport == "ipc"
        assert client.km.ip != NotebookClient(page).create_kernel_manager().ip
        client.execute_cell(page.cells[0], 0)
    assert page.cells[0].outputs[0]["data"]["text/plain"] == "2"

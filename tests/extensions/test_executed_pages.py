import threading
from unittest.mock import Mock

import executed_pages
import pytest
from myst_nb.core.execute import cache
from myst_nb.core.execute.base import ExecutionError
from sphinx.errors import ExtensionError

PAGE = """---
file_format: mystnb
kernelspec:
  name: python3
---

# A page

```{{code-cell}} ipython3
{code}
```
"""
TREE = ".. toctree::\n\n   page"


def site_of(site, code, **settings):
    pages = {"page.md": PAGE.format(code=code), "other.md": "# Not executed"}
    settings = {"nb_execution_mode": "cache", "nb_execution_raise_on_error": True} | settings
    extensions = ("executed_pages", "page_kernels", "myst_nb")
    return site(TREE, *extensions, pages=pages, **settings)


def test_a_page_is_executed_before_it_is_read(site, monkeypatch):
    def execute(*_, **__):
        raise AssertionError("the page was executed when it was read")

    monkeypatch.setattr(cache, "single_nb_execution", execute)
    app = site_of(site, "6 * 7").build()
    assert ">42\n" in app.page("page")
    assert not executed_pages.running


def test_a_page_that_fails_is_the_end_of_the_build(site):
    with pytest.raises((ExecutionError, ExtensionError), match=r"page\.md"):
        site_of(site, "1 / 0").build()


def test_a_page_is_executed_once(site, monkeypatch):
    app = site_of(site, "6 * 7").build()
    monkeypatch.setattr(executed_pages, "single_nb_execution", Mock())
    executed_pages.execute(app.outdir.parent / ".jupyter_cache", [app.srcdir / "page.md"], 60)
    assert not executed_pages.single_nb_execution.called


def test_a_kernel_that_dies_takes_no_other_page_with_it(tmp_path, monkeypatch):
    pages = [tmp_path / "one.md", tmp_path / "two.md"]
    for page in pages:
        page.write_text(PAGE.format(code=f"print('{page.name}')"))
    execution = Mock(side_effect=RuntimeError("Kernel died"))
    monkeypatch.setattr(executed_pages, "single_nb_execution", execution)
    executed_pages.execute(tmp_path / "cache", pages, 60)
    assert execution.call_count == 2


def test_a_line_that_is_written_in_pieces_stays_one_line(site):
    code = "import time\nprint('one', flush=True, end=' ')\ntime.sleep(1)\nprint('line')"
    assert "one line\n" in site_of(site, code).build().page("page")


def test_no_page_is_executed_while_a_lesson_measures_time(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(code="6 * 7"))
    execution = Mock()
    monkeypatch.setattr(executed_pages, "single_nb_execution", execution)
    executed_pages.leave_alone({}, "plot_5.py", "before")
    work = (tmp_path / "cache", [page], 60)
    thread = threading.Thread(target=executed_pages.execute, args=work)
    thread.start()
    thread.join(timeout=2)
    assert not execution.called
    executed_pages.leave_alone({}, "plot_5.py", "after")
    thread.join()
    execution.assert_called_once()


@pytest.mark.parametrize("different", [{"builder": "epub"}, {"nb_execution_mode": "off"}])
def test_nothing_is_executed_where_no_page_will_be(site, different):
    app = site_of(site, "6 * 7", **different)
    assert not executed_pages.running
    app.cleanup()

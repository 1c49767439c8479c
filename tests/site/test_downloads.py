"""What is downloaded from the site runs with the wheel that the site carries, from any folder."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from built_site import SITE

SCRIPTS = sorted(SITE.glob("_downloads/*/plot_*.py"), key=lambda path: path.name)


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    (wheel,) = SITE.glob("*.whl")
    folder = tmp_path_factory.mktemp("package")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def test_every_lesson_is_there_as_a_script_and_as_a_notebook():
    notebooks = {path.stem for path in SITE.glob("_downloads/*/plot_*.ipynb")}
    assert {path.stem for path in SCRIPTS} == notebooks
    assert len(notebooks) >= 12


def lines_of(text):
    """Return the lines of an output, but for what is rounding alone: 1e-15 may be 2e-15."""
    return re.sub(r"\b\de-1\d\b", "(rounding)", text).splitlines()


def shown(page):
    """Return the lines that a lesson's page shows as what its code printed or returned."""
    blocks = re.findall(r'<div class="sphx-glr-script-out.*?<pre>(.*?)</pre>', page, re.DOTALL)
    return set(lines_of("\n".join(html.unescape(re.sub("<[^>]+>", "", b)) for b in blocks)))


# What a lesson means to differ at every run: torch's seed leaves numpy's draws alone; a ratio of
# two times, by width.
DIFFERS = r"numpy after torch\.manual_seed|n = +\d+: k = 8: "


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_downloaded_script_prints_what_its_page_shows(script, package, tmp_path):
    shutil.copy(script, tmp_path)
    paths = {"PYTHONPATH": str(package), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env={**os.environ, **paths},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout
    # On the site it ran after other lessons: nothing random may have come over from them.
    (path,) = SITE.glob(f"gallery/*/{script.stem}.html")
    page = path.read_text(encoding="utf-8")
    printed = {line for line in lines_of(run.stdout) if not re.match(DIFFERS, line)}
    assert printed <= shown(page)


def test_the_package_under_test_is_the_one_from_the_site(package, tmp_path):
    ask = "import attention; print(attention.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", ask],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith(str(package))


def test_a_notebook_holds_the_same_program_as_its_script():
    for script in SCRIPTS:
        (path,) = SITE.glob(f"_downloads/*/{script.stem}.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert code[0].startswith(("%pip install", "# Download"))
        source = script.read_text(encoding="utf-8")
        for cell in code[1:]:
            assert cell.strip() in source

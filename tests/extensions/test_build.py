"""The settings of conf.py, tried on a small gallery in a folder whose path has a space."""

import runpy
import subprocess
import sys
from pathlib import Path

import joblib
import pytest

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("plot_1_qkv_derivation", "plot_2_attention_layer")  # which have a place in the order
SMALL = """
import runpy
real = runpy.run_path({conf!r})
extensions = ["offline", "sphinx_gallery.gen_gallery"]
suppress_warnings = real["suppress_warnings"]
without_torch = {{"image_scrapers": (), "reset_modules": ()}}  # three processes would import it
sphinx_gallery_conf = {{**real["sphinx_gallery_conf"], **without_torch, "parallel": 2}}
exclude_patterns = real["exclude_patterns"]
"""
LESSON = '''"""
A lesson
========
"""
import multiprocessing
import socket

try:
    socket.getaddrinfo("example.org", 80)
except PermissionError as error:
    print(error)
print("in a worker:", multiprocessing.parent_process() is not None)
'''


def settings() -> dict:
    return runpy.run_path(str(DOCS / "conf.py"))


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build a site of two lessons, as strictly as the session docs does."""
    for part in ("docs", "gallery/core"):
        (folder / part).mkdir(parents=True)
    for header in ("gallery", "gallery/core"):
        (folder / header / "GALLERY_HEADER.rst").write_text("Lessons\n=======\n")
    for name in NAMES:
        (folder / f"gallery/core/{name}.py").write_text(LESSON)
    (folder / "docs/conf.py").write_text(SMALL.format(conf=str(DOCS / "conf.py")))
    (folder / "docs/index.rst").write_text(
        "Home\n====\n\n.. toctree::\n   :glob:\n\n   gallery/*/*\n"
    )
    command = [sys.executable, "-m", "sphinx", "-W", "-b", "dummy", "docs", "docs/_build/dummy"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_lessons_run_in_workers_that_stay_on_this_machine(tmp_path):
    folder = tmp_path / "my work"
    done = build(folder)
    assert done.returncode == 0, done.stderr
    assert "generating gallery (with parallel=2)" in done.stdout
    for name in NAMES:
        page = (folder / f"docs/gallery/core/{name}.rst").read_text()
        assert "in a worker: True" in page
        assert "pages execute without leaving this machine; example.org was asked for" in page


def test_a_lesson_a_core():
    parallel = settings()["sphinx_gallery_conf"]["parallel"]
    assert type(parallel) is int  # True would mean one
    assert parallel == joblib.cpu_count()


@pytest.mark.parametrize(
    ("lesson", "pattern", "other_pages"),
    [(None, "plot_", "cache"), ("core/plot_4", "core/plot_4", "off")],
)
def test_a_variable_chooses_the_lessons_that_are_executed(
    monkeypatch, lesson, pattern, other_pages
):
    monkeypatch.delenv("LESSON", raising=False)
    if lesson:
        monkeypatch.setenv("LESSON", lesson)
    found = settings()
    assert found["sphinx_gallery_conf"]["filename_pattern"] == pattern
    assert found["nb_execution_mode"] == other_pages


def test_no_lesson_has_a_space_in_its_name():
    """Its address would have one; the warning of Sphinx-Gallery is about the whole path."""
    names = [path.relative_to(DOCS.parent) for path in (DOCS.parent / "gallery").rglob("*.*")]
    assert names
    assert not [name for name in names if " " in str(name)]

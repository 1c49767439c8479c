"""The release notes: the version's own section, and one line where it can't be released."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGELOG = """# Changelog

## 1.10.0 (unreleased)

- Later.

## 1.1.0 (2026-11-22)

New:

- A lesson on `softmax
  --axis`, with its gradient:
  - by hand.
- A figure.

## 1.0.0

- The first.
"""
DAY = "date-released: 2026-11-22"


def git(folder, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    """A repository with one commit of version 1.1.0."""
    shutil.copy(ROOT / ".github/release_notes.py", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "CITATION.cff").write_text(f"{DAY}\n")
    (tmp_path / ".gitignore").write_text("dist/\n")
    set_version(tmp_path, "1.1.0")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def set_version(project, version):
    (project / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')


def commit(project):
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "a version")


def run(project):
    command = [sys.executable, "release_notes.py", "dist/notes.md"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def refusal(project):
    finished = run(project)
    assert finished.returncode == 1
    assert not (project / "dist").exists()
    (line,) = finished.stderr.splitlines()
    return line


def test_the_notes_are_the_section_of_the_version_with_one_line_per_item(project):
    git(project, "tag", "v1.1.0")
    git(project, "tag", "reviewed")  # a tag that is no version has no say
    finished = run(project)
    assert finished.stdout == "dist/notes.md: 1.1.0, tagged v1.1.0\n", finished.stderr
    assert (project / "dist/notes.md").read_text() == (
        "New:\n\n- A lesson on `softmax --axis`, with its gradient:\n  - by hand.\n- A figure.\n"
    )


def test_without_a_tag_it_is_a_rehearsal_even_of_what_is_unreleased(project):
    set_version(project, "1.10.0")
    (project / "CITATION.cff").write_text(f"# {DAY}\n")
    commit(project)
    assert run(project).stdout == "dist/notes.md: 1.10.0, a rehearsal, as no tag is here\n"


def test_a_tree_with_uncommitted_work_or_without_a_repository_is_refused(project):
    (project / "new file.py").touch()
    (project / "CHANGELOG.md").write_text(CHANGELOG + "- One more.\n")
    line = "the tree is not clean, so commit or stash first what git status lists"
    assert refusal(project) == line
    shutil.rmtree(project / ".git")
    assert refusal(project).startswith("git status: fatal: not a git repository")


@pytest.mark.parametrize(
    ("version", "cited", "tag", "line"),
    [
        ("1.1", DAY, None, "CHANGELOG.md has no section on 1.1, the version in py"),
        ("1.1.0", DAY, "v1.2.0", "the tag v1.2.0 is not the version in pyproject.toml"),
        ("1.10.0", DAY, "v1.10.0", "CHANGELOG.md calls 1.10.0 unreleased"),
        ("1.1.0", "date-released: 2025-01-01", "v1.1.0", "CITATION.cff has 2025-01-01 as date"),
        ("1.1.0", f"# {DAY}", "v1.1.0", "CITATION.cff has no day as date-released, CHANGELOG"),
    ],
)
def test_a_version_that_cannot_be_released_is_refused(project, version, cited, tag, line):
    set_version(project, version)
    (project / "CITATION.cff").write_text(f"{cited}\n")
    git(project, "commit", "-q", "--allow-empty", "-a", "-m", "a version")
    if tag:
        git(project, "tag", tag)
    assert refusal(project).startswith(line)


def test_this_version_has_notes_and_is_the_one_that_is_cited():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()

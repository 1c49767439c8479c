"""The step of a release that puts its notebooks on the branch from which Colab opens them."""

import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

WORKFLOW = Path(__file__).parents[2] / ".github/workflows/release.yml"
NAME = "Put the notebooks where Colab opens them"


@pytest.fixture(scope="module")
def jobs():
    return yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]


def test_each_release_replaces_the_notebooks_of_the_one_before(jobs, tmp_path):
    (step,) = (step for step in jobs["announce"]["steps"] if step.get("name") == NAME)
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", remote], check=True)
    for version, lesson in (("v1", "core/plot_1_old.ipynb"), ("v2", "deeper/plot_1_new.ipynb")):
        machine = tmp_path / version
        made = machine / "made" / lesson
        made.parent.mkdir(parents=True)
        made.write_text("{}")
        (machine / "dist").mkdir()
        with tarfile.open(machine / "dist/notebooks.tar", "w") as tar:
            tar.add(made, lesson)
        said = {"REMOTE": str(remote), "GITHUB_ACTOR": "a", "GITHUB_REF_NAME": version}
        command = ["bash", "-e", "-c", step["run"]]
        subprocess.run(command, cwd=machine, check=True, env=said | {"PATH": "/usr/bin:/bin"})
        on_branch = subprocess.run(
            ["git", "ls-tree", "-r", "--name-only", "notebooks"],
            cwd=remote,
            check=True,
            capture_output=True,
            encoding="utf-8",
        )
        assert on_branch.stdout.split() == [lesson]


def test_the_link_leads_to_that_branch_of_the_repository(jobs):
    (build,) = (step for step in jobs["build"]["steps"] if "COLAB_URL" in step.get("env", {}))
    assert build["run"].startswith("nox -s docs browser")
    github = "https://colab.research.google.com/github"
    assert build["env"]["COLAB_URL"] == f"{github}/${{{{ github.repository }}}}/blob/notebooks"

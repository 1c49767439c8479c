"""What a file of results says about the code that wrote it."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import origin


def origins(part: object) -> Iterator[dict]:
    if isinstance(part, dict):
        yield from [part["origin"]] if "origin" in part else []
        for each in part.values():
            yield from origins(each)


def test_the_committed_results_say_where_they_come_from():
    found = []
    for path in sorted(Path(origin.__file__).parent.glob("*/results.json")):
        for each in origins(json.loads(path.read_text(encoding="utf-8"))):
            assert {"command", "date", "versions", "hardware"} <= each.keys(), path
            # A bare hash: the code was committed, with no changes beside it.
            assert re.fullmatch("[0-9a-f]{40}", each.get("commit", 40 * "0")), path
            found.append(path.parent.name)
    others = ["bottleneck", "language", "low_rank", *["playground"] * 4, "real_model"]
    assert found == [*others, *["speed"] * 3, "variants"]  # the comparison's has a schema


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "docs/experiments/low_rank/results.json"
    path.parent.mkdir(parents=True)
    path.write_text("1")
    yield path
    origin.commit.cache_clear()


def commit_all(folder):
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one")):
        subprocess.run([*git, *command], check=True)


def recorded(results):
    origin.commit.cache_clear()  # as a new process would see it
    return origin.origin("a command", results)["commit"]


def test_the_commit_names_changes_of_the_code_and_not_of_the_results(results, tmp_path):
    assert recorded(results) == "unknown, not a git repository"
    code = tmp_path / "code.py"
    code.write_text("1")
    commit_all(tmp_path)
    results.write_text("2")
    sha = recorded(results)
    assert re.fullmatch(r"[0-9a-f]{40}", sha)
    assert origin.commit(results) == {"sha": sha, "clean": True}
    code.write_text("2")
    assert recorded(results) == f"{sha}, with changes"
    assert origin.commit(results) == {"sha": sha, "clean": False}
    # A run names the commit that it has loaded.
    commit_all(tmp_path)
    assert origin.commit(results) == {"sha": sha, "clean": False}

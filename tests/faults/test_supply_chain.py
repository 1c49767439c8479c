"""What is installed and executed on our behalf: pinned, by hash, with the rights it needs."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
CONSTRAINTS = dict(
    line.split("==")
    for line in (ROOT / ".github/constraints.txt").read_text().splitlines()
    if not line.startswith("#")
)


def test_every_action_is_pinned_by_hash():
    uses = re.compile(r"^\s*(?:- )?uses: (.+)$", re.MULTILINE)
    used = [step for path in WORKFLOWS for step in uses.findall(path.read_text())]
    assert len(used) >= 5
    for step in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", step), step
    # One action, one hash.
    assert len({step.split("@")[0] for step in used}) == len(set(used))


def test_workflows_may_only_read_but_for_the_jobs_that_publish_and_those_run_nothing_of_ours():
    publish = {"ci.yml": ["publish"], "release.yml": ["attest", "index", "announce"]}
    for path in WORKFLOWS:
        text = path.read_text()
        top, _, rest = text.partition("\njobs:\n")
        jobs = re.split(r"(?m)^  (?=\w+:\n)", rest)
        assert "permissions:\n  contents: read\n" in top, path.name
        writing = {job.split(":")[0]: job for job in jobs if ": write" in job}
        assert [*writing] == publish.get(path.name, [])
        assert "checkout@" not in "".join(writing.values())
        assert "pull_request_target" not in text
        assert "secrets." not in text
        assert text.count("persist-credentials: false") == text.count("actions/checkout@")


def test_ci_and_the_published_site_install_what_is_pinned():
    names = (".github/workflows/ci.yml", ".github/workflows/release.yml", ".readthedocs.yaml")
    for name in names:
        text = (ROOT / name).read_text()
        for variable in ("PIP_CONSTRAINT", "UV_CONSTRAINT"):
            assert re.search(rf"{variable}[=:].*\.github/constraints\.txt", text), name
    newest = (ROOT / ".github/workflows/newest.yml").read_text()
    assert 'NEWEST: "1"' in newest
    assert "CONSTRAINT" not in newest
    assert "schedule:" in newest


def canonical(name):
    return re.sub("[-_.]+", "-", name).lower()


def test_each_direct_pin_stands_in_the_constraints():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = [r for group in project["dependency-groups"].values() for r in group]
    pinned = dict(r.split("==") for r in listed if isinstance(r, str))
    assert len(pinned) > 10
    for name, version in pinned.items():
        assert CONSTRAINTS.get(canonical(name)) == version, f"{name}: nox -s pins"
    extras = project["project"]["optional-dependencies"].values()
    required = [*project["project"]["dependencies"], *(line for extra in extras for line in extra)]
    assert len(required) > 8
    for requirement in required:
        if requirement.startswith(project["project"]["name"]):
            continue  # an extra made of the others
        assert canonical(re.match(r"[\w.-]+", requirement)[0]) in CONSTRAINTS


def test_what_is_brought_along_is_pinned_too():
    """Walk from the groups through all that the installed packages require."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging import requirements  # comes with pytest

    todo, seen = [*CONSTRAINTS], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        assert name in CONSTRAINTS, f"{name} is installed without a pin: nox -s pins"
        try:
            required = distribution(name).requires or []
        except PackageNotFoundError:
            continue  # of another group, or another system
        for line in map(requirements.Requirement, required):
            # CI takes torch's build for the CPU, which brings no CUDA.
            of_a_gpu = canonical(line.name).startswith(("nvidia-", "cuda-", "triton"))
            if not of_a_gpu and (line.marker is None or line.marker.evaluate({"extra": ""})):
                todo.append(canonical(line.name))
    assert len(seen) > 40

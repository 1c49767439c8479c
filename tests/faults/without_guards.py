"""Take each guard away, one at a time, and see who notices: ``nox -s guards`` (ten minutes).

A test that passes without the guard it is there for is no test. ``guards.toml`` names each guard
as a text of a file, what stands in its place, and the tests that must then fail. For the table of
bad input the line that refuses each row is found by running it. All this happens in copies of the
project; first of all, every test has to pass in one.

Words behind the command choose guards: ``nox -s guards -- checkpoint lock``.
"""

import ast
import contextlib
import datetime
import io
import json
import os
import platform
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import torch
from tqdm import tqdm

import attention

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "docs/results/guards.json"
TABLE = "faults/test_bad_input.py::test_bad_input_ends_in_one_line_and_code_2"
AT_ONCE = 2
TOO_LONG = 1200.0  # seconds; a test that hangs without its guard has not noticed


@dataclass(frozen=True)
class Guard:
    """A guard, its file as it would be without it, and the tests that must then fail."""

    what: str
    file: str
    without: str
    tests: list[str]


def listed() -> list[Guard]:
    """Read the guards that guards.toml names."""
    guards = []
    for guard in tomllib.loads((HERE / "guards.toml").read_text())["guard"]:
        text = (ROOT / guard["file"]).read_text()
        if text.count(guard["old"]) != 1:
            raise ValueError(f"{guard['what']}: expected its text once in {guard['file']}")
        without = text.replace(guard["old"], guard["new"])
        guards.append(Guard(guard["what"], guard["file"], without, guard["tests"]))
    return guards


def refusals() -> list[Guard]:
    """Run each row of bad input, find the statement of the package that refuses it."""
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    import tiny
    from test_bad_input import BAD, COMMANDS, copy_world

    package = Path(attention.__file__).parent
    rows = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        world = Path(folder, "world")
        tiny.run(world / "run", "--epochs", "1")
        for i, (name, (line, _)) in enumerate(BAD.items()):
            copy = copy_world(world, Path(folder, str(i)))
            with contextlib.chdir(copy):
                command, *options = line(copy) if callable(line) else line
                try:
                    COMMANDS[command](options)
                except Exception as error:  # whatever it is that the command would report
                    frames = traceback.extract_tb(error.__traceback__)
                    inside = [f for f in frames if Path(f.filename).is_relative_to(package)]
                    rows[Path(inside[-1].filename), inside[-1].lineno].append(name)
    guards = []
    for (path, number), names in rows.items():
        text = path.read_text()
        lines = text.splitlines(keepends=True)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Raise) and node.lineno <= number <= node.end_lineno:
                lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + "pass\n"]
                file = str(path.relative_to(ROOT))
                tests = [f"{TABLE}[{name}]" for name in names]
                said = f"the refusal of {names[0]} ({file}:{node.lineno})"
                guards.append(Guard(said, file, "".join(lines), tests))
    return guards


def copy_project(folder: Path) -> Path:
    """Copy what is or could be committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(command, cwd=ROOT, text=True).splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def run_tests(folder: Path, tests: list[str], *options: str) -> dict[str, str]:
    """Run tests in a copy; say for each case "failure", "error" around it, or nothing."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    options = ("-p", "no:cacheprovider", "--hypothesis-profile=first-failure", *options)
    outcomes: dict[str, str] = {}
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junitxml={report}"]
            + [f"tests/{test}" for test in tests],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TOO_LONG,
        )
    if not report.exists():
        return outcomes
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("classname").removeprefix("tests.").replace(".", "/")
        kinds = [kind for kind in ("failure", "error") if case.find(kind) is not None]
        # A test that fails and leaves an error behind stands there twice.
        outcomes.setdefault(f"{file}.py::{case.get('name')}", "".join(kinds))
    return outcomes


def named_tests() -> list[str]:
    """List all that tries to break something: the folder, and what the page of promises names."""
    sys.path[:0] = [str(HERE)]
    from test_promises import NAMED

    outside = [f"{file}::{test}" for file, test in NAMED if not file.startswith("faults/")]
    return ["faults", *dict.fromkeys(outside)]


def main(words: list[str]) -> int:
    """Take the guards away and say who noticed."""
    guards = [*listed(), *refusals()]
    chosen = [g for g in guards if not words or any(word in g.what for word in words)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base:
        copies: queue.Queue[Path] = queue.Queue()
        for i in range(AT_ONCE):
            copies.put(copy_project(Path(base, f"copy {i}")))

        def without(guard: Guard) -> dict[str, str]:
            copy = copies.get()
            path = copy / guard.file
            text = path.read_text()
            try:
                path.write_text(guard.without)
                return run_tests(copy, guard.tests)
            finally:
                path.write_text(text)
                copies.put(copy)

        whole: dict[str, str] = {}
        if not words:
            print("with all guards, every test has to pass (minutes)", file=sys.stderr)
            whole = run_tests(copy_project(Path(base, "whole")), named_tests(), "-n", str(AT_ONCE))
            broken = [case for case, outcome in whole.items() if outcome]
            if broken or not whole:
                print("these fail with all guards in place:", *broken, sep="\n  ")
                return 1
        never = set(whole)
        noticed, unnoticed = [], []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = tqdm(pool.map(without, chosen), total=len(chosen), unit="guard")
            for guard, cases in zip(chosen, found, strict=True):
                failed = sorted(case for case, outcome in cases.items() if outcome == "failure")
                never -= set(failed)
                for test in guard.tests:
                    if not any(case == test or case.startswith(f"{test}[") for case in failed):
                        unnoticed.append(f"{guard.what}: {test}")
                noticed.append(
                    {"without": guard.what, "file": guard.file, "failed": len(failed)}
                    | {"tests": sorted({case.partition("[")[0] for case in failed})}
                )
                if words:
                    print(guard.what, *failed, sep="\n  ")
    if unnoticed:
        print("passes without its guard:", *unnoticed, sep="\n  ")
    if never:
        print("was never seen failing:", *sorted(never), sep="\n  ")
    if unnoticed or never:
        return 1
    if not words:
        how = {
            "command": "nox -s guards",
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "torch": torch.__version__,
            "date": datetime.date.today().isoformat(),
        }
        results = {"how": how, "cases": len(whole), "guards": noticed}
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

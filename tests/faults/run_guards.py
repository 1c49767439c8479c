"""Take each guard out, one at a time, and see which tests notice: ``nox -s guards``.

Words behind the command choose guards: ``nox -s guards -- mask lock``. The exit code is 0 when
every test that is named for a guard fails without it, and passes with it. This file is also the
plugin that takes one guard out of a run of pytest: ``-p run_guards --without NAME``.
"""

import importlib
import os
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from guards import GUARDS
from tqdm import tqdm

import attention

HERE = Path(__file__).parent
PASSED, FAILED = 0, 1  # pytest's exit codes


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without", required=True, choices=GUARDS, help="the guard to take out")


def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--without")
    place, _, attribute = name.rpartition(".")
    for module in pkgutil.walk_packages(attention.__path__, "attention."):
        importlib.import_module(module.name)
    owner = pkgutil.resolve_name(place)  # a module, or a class in one
    guard, instead = getattr(owner, attribute), GUARDS[name].instead
    setattr(owner, attribute, instead)
    for module in list(sys.modules.values()):  # those that have imported it by name
        if module.__name__.startswith("attention") and vars(module).get(attribute) is guard:
            setattr(module, attribute, instead)


def run(tests: tuple[str, ...], *options: str) -> int:
    """Run tests in a process of their own; return pytest's exit code."""
    paths = [str(HERE.parent / test) for test in tests]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-x", *options, *paths]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # The plugin has to be found before pytest reads its own settings.
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    return subprocess.run(command, cwd=HERE.parents[1], env=environment, **silent).returncode


def main(words: list[str]) -> int:
    """Take the guards out and print the tests that do not notice."""
    chosen = [name for name in GUARDS if not words or any(word in name for word in words)]
    if not chosen:
        print(f"expected a part of a guard's name, got {' '.join(words)}: {', '.join(GUARDS)}")
        return 2
    pairs = [(name, test) for name in chosen for test in GUARDS[name].tests]
    if run(tuple(dict.fromkeys(test for _, test in pairs))) != PASSED:
        print("a test fails with all guards in place; run nox -s tests first")
        return 1

    def notices(pair: tuple[str, str]) -> bool:
        return run((pair[1],), "-p", "run_guards", "--without", pair[0]) == FAILED

    with ThreadPoolExecutor(2) as pool:
        noticed = list(tqdm(pool.map(notices, pairs), total=len(pairs)))
    missed = [pair for pair, seen in zip(pairs, noticed, strict=True) if not seen]
    for name, test in missed:
        print(f"passes without {name}: {test}")
    print(f"{len(chosen)} guards, {len(pairs)} tests, {len(missed)} that do not notice")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

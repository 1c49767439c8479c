"""Take each guard out, one at a time, and see which tests notice: ``nox -s guards``.

Words behind the command choose guards: ``nox -s guards -- mask lock``. The exit code is 0 when
every test that is named for a guard fails without it, and passes with it.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from guards import GUARDS
from tqdm import tqdm

HERE = Path(__file__).parent
PASSED, FAILED = 0, 1  # pytest's exit codes


def run(tests: tuple[str, ...], *options: str) -> int:
    """Run tests in a process of their own; return pytest's exit code."""
    paths = [str(HERE.parent / test) for test in tests]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-x", *options, *paths]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # The plugin has to be found before pytest reads its own settings.
    environment = os.environ | {"PYTHONPATH": str(HERE)}
    return subprocess.run(command, cwd=HERE.parents[1], env=environment, **silent).returncode


def notices(name: str, test: str) -> bool:
    """Say whether a test fails once a guard is out."""
    return run((test,), "-p", "without_guard", "--without", name) == FAILED


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
    with ThreadPoolExecutor(2) as pool:
        noticed = list(tqdm(pool.map(lambda pair: notices(*pair), pairs), total=len(pairs)))
    missed = [pair for pair, seen in zip(pairs, noticed, strict=True) if not seen]
    for name, test in missed:
        print(f"passes without {name}: {test}")
    print(f"{len(chosen)} guards, {len(pairs)} tests, {len(missed)} that do not notice")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

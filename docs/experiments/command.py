"""The command of an experiment that CI can try: all of it, or a small piece of it again."""

import argparse
import sys
from collections.abc import Callable

import torch


def run_or_check(
    command: str, about: str | None, run: Callable[[], None], check: Callable[[], bool]
) -> None:
    """Run an experiment, or its check; a check that finds another result ends with exit code 1."""
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("--check", action="store_true", help="train a small piece again, compare")
    options = parser.parse_args()
    torch.set_num_threads(1)  # so that sums round alike wherever it runs
    if not options.check:
        run()
    elif not check():
        sys.exit(1)

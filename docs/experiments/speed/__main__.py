"""Measure how fast the package is: ``nox -s experiments -- speed {race,causal,alternatives}``.

What is measured is added to ``results.json``, which ``docs/speed.md`` shows.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.speed import alternatives, causal, race
from experiments.speed.processes import OUT


def main(arguments: Sequence[str]) -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(prog="nox -s experiments -- speed", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for module in (race, causal, alternatives):
        name = module.__name__.rpartition(".")[2]
        command = commands.add_parser(
            name,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_options(command)
        command.add_argument("--out", type=Path, default=OUT, help="results to add to")
        command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    options.run(options)


if __name__ == "__main__":
    main(sys.argv[1:])

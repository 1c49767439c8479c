"""Take one guard out of the package, as a plugin of pytest: ``-p without_guard --without NAME``.

A guard is a function of the package, found by its name, and what stands in its place: one that
checks nothing, hides nothing, locks nothing. Its tests must then fail.
"""

import importlib
import pkgutil
import sys

import pytest
from guards import GUARDS

import attention


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without", required=True, choices=GUARDS, help="the guard to take out")


def pytest_configure(config: pytest.Config) -> None:
    name = config.getoption("--without")
    *path, attribute = name.split(".")
    for module in pkgutil.walk_packages(attention.__path__, "attention."):
        importlib.import_module(module.name)
    # What holds the function: a module, or a class in one.
    split = max(i for i in range(len(path) + 1) if ".".join(path[:i]) in sys.modules)
    owner = sys.modules[".".join(path[:split])]
    for part in path[split:]:
        owner = getattr(owner, part)
    guard, instead = getattr(owner, attribute), GUARDS[name].instead
    setattr(owner, attribute, instead)
    for module in list(sys.modules.values()):  # those that have imported it by name
        if module.__name__.startswith("attention") and vars(module).get(attribute) is guard:
            setattr(module, attribute, instead)

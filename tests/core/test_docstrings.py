"""Examples run as a reader pastes them: those of docstrings after `import torch` and the name."""

import doctest
import importlib
import pkgutil

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch

import attention

# With the private ones, whose functions have public names elsewhere, and stand on their pages.
MODULES = [module.name for module in pkgutil.walk_packages(attention.__path__, "attention.")]


def documented(module):
    """Find the examples of a module: each has the object that it documents at hand, and torch.

    Whatever else it needs, it has to import, as a reader would.
    """
    for example in doctest.DocTestFinder().find(module):
        name = example.name.removeprefix(module.__name__).strip(".").partition(".")[0]
        example.globs = {"torch": torch} | ({name: getattr(module, name)} if name else {})
        yield example


def test_examples_need_nothing_but_torch_and_their_own_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.REPORT_NDIFF)
    output, attempted = [], 0
    with mpl.rc_context():
        mpl.use("Agg")
        for name in MODULES:
            for example in documented(importlib.import_module(name)):
                torch.manual_seed(0)
                attempted += runner.run(example, out=output.append).attempted
                plt.close("all")
    assert not output, "".join(output)
    assert attempted > 100

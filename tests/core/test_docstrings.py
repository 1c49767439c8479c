"""Examples run as a reader pastes them: those of docstrings after `import torch` and the name."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

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


def test_the_lines_in_the_readme_run_and_give_the_shapes_beside_them():
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 3
    names: dict = {}
    exec(code, names)
    assert f"contexts of shape {tuple(names['context'].shape)} " in text
    assert f"weights of two heads, {tuple(names['weights'].shape)}." in text

"""Examples run as a reader pastes them: those of docstrings after `import torch` and the name."""

import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch

import attention

ROOT = Path(__file__).parents[2]
MODULES = [module.name for module in pkgutil.walk_packages(attention.__path__, "attention.")]


def documented(module):
    """Find the examples of a module, each with torch and the public name that it belongs to."""
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


def test_an_example_on_the_site_has_at_hand_the_object_that_it_documents():
    names: dict = {}
    exec(runpy.run_path(str(ROOT / "docs/conf.py"))["doctest_global_setup"], names)
    for module in MODULES:
        for example in documented(importlib.import_module(module)):
            if example.examples:
                assert example.globs.items() <= names.items(), example.name


def test_the_lines_in_the_readme_run_and_give_the_shapes_beside_them():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 3
    names: dict = {}
    exec(code, names)
    assert f"contexts of shape {tuple(names['context'].shape)} " in text
    assert f"weights of two heads, {tuple(names['weights'].shape)}." in text

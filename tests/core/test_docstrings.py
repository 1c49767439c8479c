"""Every example of a docstring runs as a reader pastes it: after `import torch` and the name."""

import doctest
import importlib
import inspect
import pkgutil

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch

import attention

MODULES = [
    module.name
    for module in pkgutil.walk_packages(attention.__path__, "attention.")
    if not module.name.rpartition(".")[2].startswith("_")
]


def documented(module):
    """Find the examples of a module, its public functions, classes and their methods."""
    finder = doctest.DocTestFinder(recurse=False)
    things = [(module.__name__, module, {})]
    for name, value in vars(module).items():
        is_here = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not is_here or not callable(value):
            continue
        things.append((name, value, {name: value}))
        if inspect.isclass(value):
            # A method's example is read with its class at hand.
            things += [
                (f"{name}.{part}", member, {name: value})
                for part, member in inspect.getmembers(value)
                if part in vars(value) and not part.startswith("_") and inspect.isroutine(member)
            ]
    for name, thing, own_name in things:
        for example in finder.find(thing, name, module, globs={}):
            example.globs = {"torch": torch, **own_name}
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


def test_examples_are_found_and_a_wrong_one_would_fail():
    names = [
        example.name
        for module in ("masks", "layers.multihead", "sentiment.model")
        for example in documented(importlib.import_module(f"attention.{module}"))
        if example.examples
    ]
    assert {"causal_mask", "MultiHeadAttention", "SentimentClassifier"} <= set(names)
    wrong = doctest.DocTestParser().get_doctest(">>> causal_mask(1)\n2\n", {}, "wrong", None, 0)
    result = doctest.DocTestRunner(verbose=False).run(wrong, out=lambda text: None)
    assert result.failed == 1

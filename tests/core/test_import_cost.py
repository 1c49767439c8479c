"""The core needs torch alone; what needs more is loaded late, and an error names its extra.

Each test is one new process, because a process that has imported a package can't show this.
"""

import subprocess
import sys

EXTRAS = {
    *("tokenizers", "safetensors", "pydantic", "click", "matplotlib", "datasets", "pandas"),
    *("pyarrow", "scipy", "tqdm", "filelock"),
}
# Hides packages from all that looks for them, as in an environment without them.
HIDING = """
import sys

hidden = set()

class Hiding:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            return None
        return self.finder.find_spec(name, path, target)

sys.meta_path[:] = [Hiding(finder) for finder in sys.meta_path]
"""


def run(code):
    """Run Python in a process of its own; return the lines it printed."""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_the_core_loads_no_package_of_an_extra_and_the_rest_on_request():
    loaded, _ = run("""
import sys
import torch
by_torch = set(sys.modules)  # torch uses some packages where it finds them
import attention, attention.functional, attention.layers.variants, attention.analysis
from attention.plotting import words_as_ansi
print(*{name.partition(".")[0] for name in set(sys.modules) - by_torch})

from attention.sentiment.model import SentimentClassifier
assert attention.SentimentClassifier is SentimentClassifier
assert set(attention.plotting.__all__) | {"draw_weights"} <= set(dir(attention.plotting))
assert attention.plotting.draw_weights.__module__ == "attention.plotting.heatmap"
for module in (attention, attention.plotting):
    try:
        module.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error) and module.__name__ in str(error)
    else:
        raise AssertionError(module)
print("done")
""")
    assert "attention" in loaded.split()
    assert set(loaded.split()) & EXTRAS == set()


def test_an_error_names_the_extra_that_is_missing():
    works, *errors = run(f"""
{HIDING}
hidden |= {EXTRAS!r}
import torch
import attention.plotting
from attention.analysis import bilinear_form, parameter_count
print(attention.MultiHeadAttention(6, 2)(torch.rand(5, 6), is_causal=True).shape)

for missing in ("pydantic", "tokenizers", "safetensors"):
    hidden.clear()
    hidden.add(missing)
    try:
        attention.SentimentClassifier
    except ImportError as error:
        print(missing, error)
hidden.add("matplotlib")
try:
    from attention import SentimentClassifier
except ImportError as error:
    print("safetensors", error)
try:
    attention.plotting.draw_weights
except ImportError as error:
    print("matplotlib", error)
hidden.clear()
attention.plotting.draw_weights, attention.SentimentClassifier
""")
    assert works == "torch.Size([5, 6])"
    assert len(errors) == 5
    for line in errors:
        missing, _, message = line.partition(" ")
        extra = "[plot]" if missing == "matplotlib" else "[train]"
        assert f"pip install 'attention-tutorial{extra}'" in message
        assert f"needs {missing}, which the extra {extra} installs" in message


def test_predict_loads_neither_matplotlib_nor_datasets():
    *_, loaded = run("""
import runpy, sys
sys.argv = ["predict", "--help"]
try:
    runpy.run_module("attention.predict", run_name="__main__")
except SystemExit as end:
    assert not end.code
print(*{name.partition(".")[0] for name in sys.modules})
""")
    assert set(loaded.split()) & {"matplotlib", "datasets", "pandas"} == set()
    assert "tokenizers" in loaded.split()

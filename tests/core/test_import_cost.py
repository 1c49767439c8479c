"""The core needs torch alone; what needs more is loaded late, and an error names its extra.

One new process shows it all, because a process that has imported a package can't.
"""

import json
import subprocess
import sys

import pytest

EXTRAS = {
    *("tokenizers", "safetensors", "pydantic", "click", "matplotlib", "datasets", "pandas"),
    *("pyarrow", "scipy", "tqdm", "filelock"),
}
SCRIPT = """
import contextlib, io, json, runpy, sys

import torch

by_torch = set(sys.modules)  # torch uses some packages where it finds them
found = {"errors": {}, "commands": {}}

def loaded():
    return [*{name.partition(".")[0] for name in set(sys.modules) - by_torch}]

def run(command, *arguments):
    sys.argv = [command, *arguments]
    try:
        runpy.run_module(f"attention.{command}", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        return end.code

@contextlib.contextmanager
def without(library):
    for name in [name for name in sys.modules if name.partition(".")[0] == "attention"]:
        del sys.modules[name]
    hidden, sys.modules[library] = sys.modules.get(library), None
    yield
    if hidden is None:
        del sys.modules[library]
    else:
        sys.modules[library] = hidden

import attention, attention.functional, attention.layers.variants, attention.analysis
from attention.plotting import words_as_ansi
found["core"] = loaded()
import attention.sentiment.config
found["config"] = loaded()
with contextlib.redirect_stdout(io.StringIO()):
    assert run("predict", sys.argv[1], "good soup") == 0
found["predict"] = loaded()
for library in ("pydantic", "tokenizers", "safetensors", "matplotlib"):
    with without(library):
        try:
            if library == "matplotlib":
                from attention.plotting import draw_weights
            else:
                from attention import SentimentClassifier
        except ImportError as error:
            found["errors"][library] = str(error)
missing = {"train": "click", "evaluate": "tokenizers", "predict": "tqdm", "write": "safetensors"}
for command, library in missing.items():
    out, err = io.StringIO(), io.StringIO()
    with without(library), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(command)
    found["commands"][command] = library, code, out.getvalue(), err.getvalue()
out = io.StringIO()
with without("click"), contextlib.redirect_stdout(out), contextlib.redirect_stderr(None):
    found["closed"] = run("train"), out.getvalue()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(finished):
    """What a new process loads on its way, and what it says where a library is missing."""
    command = [sys.executable, "-c", SCRIPT, str(finished)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("part", "needed", "others"),
    [
        ("core", "attention", EXTRAS),
        ("config", "pydantic", {"click", "tqdm", "matplotlib"}),
        ("predict", "tokenizers", {"matplotlib", "datasets", "pandas", "pyarrow"}),
    ],
)
def test_no_part_loads_what_it_does_not_need(found, part, needed, others):
    assert needed in found[part]
    assert set(found[part]) & others == set()


def test_an_error_names_the_extra_that_is_missing(found):
    assert len(found["errors"]) == 4
    for library, message in found["errors"].items():
        extra = "[plot]" if library == "matplotlib" else "[train]"
        assert f"pip install 'attention-tutorial{extra}'" in message
        assert f"needs {library}, which the extra {extra} installs" in message


def test_a_command_without_its_extra_says_so_in_one_line_and_code_2(found):
    for library, code, out, err in found["commands"].values():
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert f"error: this part of attention needs {library}, which the extra [train]" in err
    assert found["closed"] == [2, ""]  # where there is no stderr, nothing of it is on stdout


def test_what_is_loaded_late_is_listed_and_a_wrong_name_is_an_error():
    import attention.plotting

    assert set(attention.plotting.__all__) | {"draw_weights"} <= set(dir(attention.plotting))
    assert attention.plotting.draw_weights.__module__ == "attention.plotting.heatmap"
    for module in (attention, attention.plotting):
        with pytest.raises(AttributeError, match=f"{module.__name__}.*no_such_name"):
            module.no_such_name  # noqa: B018 — looking it up is the test

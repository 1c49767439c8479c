"""The program that the workbench writes computes with torch what the page shows, in float64.

What the page computes is tried in node too: its gradients are the slopes of its loss, and its steps
go down them (tests/javascript/bench.test.js).
"""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page
from torch import Tensor

ROOT = Path(__file__).parents[2]
NAMES = ["tensors", "attention", "bench", "bench-state", "bench-python"]
STATES = """(source) => {
  const module = {};
  new Function("module", source)(module);
  const random = module.exports.randomFrom(16);
  return Array.from({ length: 60 }, () => module.exports.randomState(random));
}"""
READ = """(states) => states.map((state) => {
  const layer = lab.bench.forward(state);
  const [gradients, loss] = [lab.bench.gradients(state, layer), lab.bench.loss(state, layer)];
  // JSON has no −∞, which masked scores are.
  const heads = layer.heads.map(({ scaled, ...head }) => head);
  const script = lab.benchPython.toPython(state);
  return { heads, context: layer.context, gradients, loss, script };
})"""


@pytest.fixture(scope="module")
def bench(browser: Browser) -> Iterator[Page]:
    """An empty page with the engine of the workbench."""
    page = browser.new_page()
    for name in NAMES:
        page.add_script_tag(path=ROOT / f"docs/_static/lab/{name}.js")
    yield page
    page.close()


@pytest.fixture
def default_dtype() -> Iterator[None]:
    """Undo what a script sets for all of torch."""
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")


def assert_near(found: list, computed: Tensor) -> None:
    wanted = torch.tensor(found, dtype=torch.float64)
    torch.testing.assert_close(computed.reshape(wanted.shape), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.usefixtures("default_dtype")
def test_the_python_script_holds_the_numbers_of_the_page(bench: Page) -> None:
    hard = ["日本語", 'say"', "back\\slash", "a,b", "🎓", "{x}", "'''", "#1", "%s", "слово"]
    source = (ROOT / "tests/javascript/bench-states.js").read_text(encoding="utf-8")
    states = bench.evaluate(STATES, source)
    for state in states:
        state["words"] = [*hard, "é", "1"][: len(state["words"])]
    losses = 0
    for state, seen in zip(states, bench.evaluate(READ, states), strict=True):
        assert max(map(len, seen["script"].splitlines())) <= 100
        space: dict = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(seen["script"], "<the page>", "exec"), space)
        assert space["words"] == state["words"]
        for name in ("query", "key", "value", "scores", "weights"):
            assert_near([head[name] for head in seen["heads"]], space[name])
        assert_near(seen["context"], space["context"])
        numbers = [float(text) for text in re.findall(r"-?\d+\.\d*", printed.getvalue())]
        for weight in space["weights"].flatten().tolist():
            assert min(abs(number - weight) for number in numbers) < 1e-6
        assert ("loss" in space) == (seen["loss"] is not None)
        if "loss" not in space:
            continue
        losses += 1
        assert_near(seen["loss"], space["loss"])
        for name in ("W_query", "W_key", "W_value"):
            grad = space[name].grad
            assert (grad is not None) == (f"respect to {name}:" in printed.getvalue())
            wanted = torch.zeros_like(space[name]) if grad is None else grad
            assert_near([gradients[f"d{name}"] for gradients in seen["gradients"]], wanted)
    assert losses > 30

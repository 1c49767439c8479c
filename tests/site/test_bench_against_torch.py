"""What the workbench computes is what torch computes, in value and gradient, in float64."""

import contextlib
import io
import math
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page
from torch import Tensor
from torch.nn import functional as F

SCRIPTS = Path(__file__).parents[2] / "docs/_static/lab"
NAMES = ["tensors", "attention", "bench", "bench-state", "bench-python"]
TOLERANCE = {"rel": 1e-6, "abs": 1e-6}
MATRICES = ("W_query", "W_key", "W_value")


@pytest.fixture(scope="module")
def bench(browser: Browser) -> Iterator[Page]:
    """An empty page with the engine of the workbench."""
    page = browser.new_page()
    for name in NAMES:
        page.add_script_tag(path=SCRIPTS / f"{name}.js")
    yield page
    page.close()


def random_states(count: int) -> list[dict]:
    """Draw states with every kind of choice in them, the same ones in every run."""
    draw = random.Random(16)

    def matrix(rows: int, columns: int, size: float) -> list[list[float]]:
        return [[draw.uniform(-size, size) for _ in range(columns)] for _ in range(rows)]

    states = []
    for number in range(count):
        n, heads = 2 + number % 11, 1 + number % 2
        size = (0.3, 1.0, 2.0)[number % 3]
        masked, aimed = draw.choice([0, 0.1, 0.4, 0.8]), draw.choice([0, 0.1, 0.4])
        cells = [(i, j) for i in range(n) for j in range(n)]
        states.append(
            {
                "words": [f"word{i}" for i in range(n)],
                "x": matrix(n, 3, size),
                "heads": [{name: matrix(3, 2, size) for name in MATRICES} for _ in range(heads)],
                "forbidden": [cell for cell in cells if draw.random() < masked],
                "isCausal": draw.random() < 0.4,
                "padding": draw.choice([0, 0, draw.randrange(n)]),
                "isScaled": draw.random() < 0.6,
                "temperature": draw.choice([1, draw.uniform(0.1, 1), draw.uniform(1, 10)]),
                "targets": [
                    (h, *cell) for h in range(heads) for cell in cells if draw.random() < aimed
                ],
                "contexts": [
                    (h, i, draw.uniform(-3, 3), draw.uniform(-3, 3))
                    for h in range(heads)
                    for i in range(n)
                    if draw.random() < aimed
                ],
                "rate": draw.uniform(0.01, 1),
                "at": draw.randrange(n),
                "head": draw.randrange(heads),
            }
        )
    return states


def compute(state: dict) -> dict[str, Tensor]:
    """Compute a state with torch: values, the loss, and the gradients that torch.autograd finds."""
    n, heads = len(state["words"]), len(state["heads"])
    made: dict[str, Tensor] = {
        name: torch.tensor([head[name] for head in state["heads"]], dtype=torch.float64)
        for name in MATRICES
    }  # each (heads, 3, 2)
    for matrix in made.values():
        matrix.requires_grad_()
    x = torch.tensor(state["x"], dtype=torch.float64)  # (n, 3)
    query, key, value = (x @ made[name] for name in MATRICES)  # each (heads, n, 2)
    allowed = torch.ones(n, n, dtype=torch.bool)
    for i, j in state["forbidden"]:
        allowed[i, j] = False
    if state["isCausal"]:
        allowed &= torch.arange(n)[:, None] >= torch.arange(n)
    allowed &= torch.arange(n) < n - state["padding"]
    scores = query @ key.mT  # (heads, n, n)
    scaled = scores / state["temperature"] / (math.sqrt(2) if state["isScaled"] else 1)
    open_rows = allowed.any(dim=1)  # (n,)
    masked = scaled.where(allowed | ~open_rows[:, None], -math.inf)
    weights = F.softmax(masked, dim=-1).where(open_rows[:, None], 0.0)
    context = weights @ value  # (heads, n, 2)
    for part in (scaled, query, key, value):
        part.retain_grad()
    made |= {"query": query, "key": key, "value": value, "scores": scores, "weights": weights}
    made |= {"context": context, "allowed": allowed, "scaled": scaled}

    # Cross-entropy, in which a row's targets share a total of 1, and half the squared distance
    share = torch.zeros(heads, n, n, dtype=torch.float64)
    for h, i, j in state["targets"]:
        share[h, i, j] = float(allowed[i, j])
    rows = share.sum(dim=-1) > 0  # (heads, n)
    losses = []
    if rows.any():
        share = share[rows] / share[rows].sum(dim=-1, keepdim=True)  # (rows, n)
        # 0 · −∞ would be NaN, so what is no target is left out before the product.
        logs = F.log_softmax(masked[rows], dim=-1).masked_fill(share == 0, 0.0)  # (rows, n)
        losses.append(-(share * logs).sum(dim=-1).mean())
    aimed = [(h, i, a, b) for h, i, a, b in state["contexts"] if open_rows[i]]
    if aimed:
        where = torch.tensor([one[:2] for one in aimed])  # (aimed, 2)
        goals = torch.tensor([one[2:] for one in aimed], dtype=torch.float64)  # (aimed, 2)
        reached = context[where[:, 0], where[:, 1]]  # (aimed, 2)
        losses.append(F.mse_loss(reached, goals, reduction="sum") / 2 / len(aimed))
    if losses:
        made["loss"] = sum(losses)
        made["loss"].backward()
    return made


READ = """(states) => states.map((state) => {
  const layer = lab.bench.forward(state);
  const [gradients, loss] = [lab.bench.gradients(state, layer), lab.bench.loss(state, layer)];
  // JSON has no −∞.
  const finite = (row) => row.map((number) => (number === -Infinity ? null : number));
  for (const head of layer.heads) head.scaled = head.scaled.map(finite);
  return { layer, gradients, loss };
})"""


def assert_near(found: object, wanted: Tensor, what: str) -> None:
    found = torch.tensor(found, dtype=torch.float64)
    assert found.shape == wanted.shape, what
    error = (found - wanted).abs()
    allowed = TOLERANCE["abs"] + TOLERANCE["rel"] * wanted.abs()
    assert (error <= allowed).all(), f"{what}: {error.max()}"


def test_values_loss_and_gradients_of_500_states(bench: Page) -> None:
    states = random_states(500)
    seen = bench.evaluate(READ, states)
    kinds = {"loss": 0, "none": 0, "blind": 0, "both": 0}
    for number, (state, one) in enumerate(zip(states, seen, strict=True)):
        made = compute(state)
        layer, allowed = one["layer"], made["allowed"]
        assert layer["allowed"] == allowed.tolist()
        assert_near(layer["context"], torch.cat([*made["context"]], dim=-1), f"context, {number}")
        for h, (head, gradients) in enumerate(zip(layer["heads"], one["gradients"], strict=True)):
            for name in ("query", "key", "value", "scores", "weights", "context"):
                assert_near(head[name], made[name][h], f"{name}, head {h}, state {number}")
            for i, row in enumerate(head["scaled"]):
                assert [score is not None for score in row] == allowed[i].tolist()
                open_ = [score for score in row if score is not None]
                assert_near(open_, made["scaled"][h, i][allowed[i]], f"scaled, state {number}")
            for name in (*MATRICES, "query", "key", "value", "scaled"):
                grad = made[name].grad
                wanted = torch.zeros_like(made[name]) if grad is None else grad
                title = name if name in MATRICES else name.capitalize()
                assert_near(gradients[f"d{title}"], wanted[h], f"d{title}, state {number}")
        if "loss" in made:
            assert one["loss"] == pytest.approx(made["loss"].item(), **TOLERANCE)
        else:
            assert one["loss"] is None
        kinds["loss" if "loss" in made else "none"] += 1
        kinds["blind"] += not allowed.any(dim=1).all()
        kinds["both"] += bool(state["targets"] and state["contexts"])
    assert min(kinds.values()) > 50, kinds


def test_20_steps_are_those_of_torch_sgd(bench: Page) -> None:
    states = [state for state in random_states(60) if state["targets"] or state["contexts"]][:20]
    ask = "(states) => states.map((state) => lab.bench.step({ ...state, rate: 0.05 }, 20))"
    trained = 0
    for state, one in zip(states, bench.evaluate(ask, states), strict=True):
        made = compute(state)
        if one["stopped"]:
            assert one["losses"] == []
            assert "loss" not in made
            continue
        assert len(one["losses"]) == 20
        for loss in one["losses"]:
            torch.optim.SGD([made[name] for name in MATRICES], lr=0.05).step()
            heads = [
                {name: made[name][h].tolist() for name in MATRICES}
                for h in range(len(state["heads"]))
            ]
            made = compute(state | {"heads": heads})
            assert loss == pytest.approx(made["loss"].item(), **TOLERANCE)
        for h, found in enumerate(one["state"]["heads"]):
            for name in MATRICES:
                assert_near(found[name], made[name][h], name)
        trained += 1
    assert trained > 12, trained


@pytest.fixture
def default_dtype() -> Iterator[None]:
    """Undo what a script sets for all of torch."""
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")


@pytest.mark.usefixtures("default_dtype")
def test_the_python_script_holds_the_numbers_of_the_page(bench: Page) -> None:
    hard = ["日本語", 'say"', "back\\slash", "a,b", "🎓", "{x}", "'''", "#1", "%s", "слово"]
    words = [*hard, "é", "1"]
    states = random_states(60)
    for state in states:
        state["words"] = words[: len(state["words"])]
    scripts = bench.evaluate("(states) => states.map(lab.benchPython.toPython)", states)
    losses = 0
    for state, script, one in zip(states, scripts, bench.evaluate(READ, states), strict=True):
        assert max(map(len, script.splitlines())) <= 100
        space: dict = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(script, "<the page>", "exec"), space)
        assert space["words"] == state["words"]
        heads = one["layer"]["heads"]

        def of_heads(tensor: Tensor, heads: list = heads) -> Tensor:
            return tensor.reshape(len(heads), *tensor.shape[-2:])

        assert_near([head["weights"] for head in heads], of_heads(space["weights"]), "weights")
        assert_near(one["layer"]["context"], space["context"], "context")
        numbers = [float(text) for text in re.findall(r"-?\d+\.\d*", printed.getvalue())]
        for weight in (weight for head in heads for row in head["weights"] for weight in row):
            assert min(abs(number - weight) for number in numbers) < 1e-6
        assert ("loss" in space) == (one["loss"] is not None)
        if "loss" not in space:
            continue
        losses += 1
        assert space["loss"].item() == pytest.approx(one["loss"], **TOLERANCE)
        for name in MATRICES:
            grad = space[name].grad
            assert (grad is not None) == (f"respect to {name}:" in printed.getvalue())
            wanted = torch.zeros_like(space[name]) if grad is None else grad
            found = [gradients[f"d{name}"] for gradients in one["gradients"]]
            assert_near(found, of_heads(wanted), name)
    assert losses > 30

"""The rule of a step: rows against torch's SparseAdam, all other weights against its Adam."""

import pytest
import torch
from torch import nn

from attention.sentiment.lazy_adam import LazyAdam

BETAS = (0.9, 0.99)


def make(sparse):
    torch.manual_seed(5)
    return nn.ModuleDict({"table": nn.Embedding(23, 3, sparse=sparse), "linear": nn.Linear(3, 2)})


def train(model, optimizers, steps=7):
    generator = torch.Generator().manual_seed(6)
    for _ in range(steps):
        for _ in range(2):  # a batch in pieces, whose gradients are added up
            ids = torch.randint(0, 17, (5,), generator=generator)  # ids 17 to 22 are never read
            model["linear"](model["table"](ids)).square().sum().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


def lazy(model, lr=0.03):
    return LazyAdam(model.parameters(), [model["table"].weight], lr)


@pytest.mark.parametrize("sparse", [True, False])
def test_rows_take_the_steps_of_sparse_adam_and_the_rest_those_of_adam(sparse):
    ours, expected = make(sparse), make(sparse=True)
    train(ours, [lazy(ours)])
    train(
        expected,
        [
            torch.optim.SparseAdam(expected["table"].parameters(), 0.03, BETAS),
            torch.optim.Adam(expected["linear"].parameters(), 0.03, BETAS),
        ],
    )
    for one, other in zip(ours.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_row_without_a_gradient_stays_with_its_means(sparse):
    model = make(sparse)
    table, optimizer = model["table"], lazy(model)
    train(model, [optimizer])
    state = optimizer.state[table.weight]
    before = [each.clone() for each in (table.weight, state["exp_avg"], state["exp_avg_sq"])]
    # Row 4 is read, and its gradient is 0 all the same.
    (table(torch.tensor([4, 8])).sum(-1) * torch.tensor([0.0, 1.0])).sum().backward()
    optimizer.step()
    after = table.weight, state["exp_avg"], state["exp_avg_sq"]
    for old, new in zip(before, after, strict=True):
        changed = (old != new).any(dim=-1)  # (23,)
        assert changed.nonzero().flatten().tolist() == [8]

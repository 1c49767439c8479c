"""Adam for a model whose tables hold far more rows than a batch reads."""

from collections.abc import Iterable

import torch
from torch import Tensor


class LazyAdam(torch.optim.Adam):
    r"""Adam, in which a step changes only those rows of a table that it has a gradient for.

    .. math::
        m_r \leftarrow \beta_1 m_r + (1 - \beta_1)\, g_r, \qquad
        v_r \leftarrow \beta_2 v_r + (1 - \beta_2)\, g_r^2, \qquad
        x_r \leftarrow x_r - \mathrm{lr} \,\frac{m_r}{1 - \beta_1^t} \Big/
        \left(\sqrt{\frac{v_r}{1 - \beta_2^t}} + \epsilon\right)

    Here r is a row with :math:`g_r \ne 0`, and t counts all steps. Adam moves the other rows, too,
    because its mean of past gradients lasts for a while, so each of its steps goes through the
    whole table, of which a batch reads a few rows in a hundred. What is no table is trained by
    Adam.

    The gradient of a table may be sparse, as that of ``nn.Embedding(..., sparse=True)`` is, which
    takes memory for the rows of the batch only. A dense one gives the same step.

    Args:
        params: All weights to train.
        tables: Those of them that are tables.
        lr: The learning rate.
        betas: How much is kept of the mean of gradients, and of that of their squares. The second
            one is below Adam's 0.999, because a row is updated in few steps, so that the mean of
            its squares would take too long to forget its first gradients.

    Shape:
        - each table: :math:`(N, d)`

    Example:
        >>> table = torch.nn.Embedding(1_000, 2, sparse=True)
        >>> before = table.weight.detach().clone()
        >>> optimizer = LazyAdam([table.weight], [table.weight], lr=0.1)
        >>> table(torch.tensor([7, 7, 3])).sum().backward()
        >>> optimizer.step()
        >>> (table.weight - before).detach()[[3, 7, 8]]
        tensor([[-0.1000, -0.1000],
                [-0.1000, -0.1000],
                [ 0.0000,  0.0000]])

    Source:
        Kingma & Ba (2015) for Adam; the steps of a table follow ``torch.optim.SparseAdam``, which
        trains tables alone.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        tables: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.99),
    ) -> None:
        super().__init__(params, lr, betas, fused=True)
        self.tables = list(tables)

    @torch.no_grad()
    # Adam's step may take a closure, whose gradients would come after the tables' steps.
    def step(self) -> None:  # type: ignore[override]
        """Update the tables' rows, and then all other weights as Adam does."""
        for table in self.tables:
            if table.grad is not None:
                self._step_rows(table, table.grad)
                table.grad = None
        super().step()

    def _step_rows(self, table: Tensor, grad: Tensor) -> None:
        group = self.param_groups[0]
        (beta1, beta2), state = group["betas"], self.state[table]
        if not state:
            state["step"] = torch.zeros((), device=table.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(table), torch.zeros_like(table)
        state["step"] += 1
        if grad.is_sparse:
            grad = grad.coalesce()
            rows, grad = grad.indices()[0], grad.values()  # (R,), (R, d)
            is_changed = grad.any(dim=-1)  # (R,)
            rows, grad = rows[is_changed], grad[is_changed]
        else:
            rows = grad.any(dim=-1).nonzero().squeeze(-1)  # (R,)
            grad = grad[rows]  # (R, d)
        mean = state["exp_avg"][rows].lerp_(grad, 1 - beta1)  # (R, d)
        square = state["exp_avg_sq"][rows].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = mean, square
        step = float(state["step"])
        root = square.div_(1 - beta2**step).sqrt_().add_(group["eps"])  # (R, d)
        table[rows] = table[rows].addcdiv_(mean, root, value=-group["lr"] / (1 - beta1**step))

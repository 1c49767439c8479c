"""Dropout whose random numbers cost little on a CPU."""

import torch
from torch import Tensor, nn


class Dropout(nn.Dropout):
    r"""Set numbers to 0 at random in training, and enlarge the others, so that their mean stays.

    .. math::
        y_i = \begin{cases} 0 & u_i < t \\ x_i \,/\, (1 - t / 2^{16}) & u_i \ge t \end{cases},
        \qquad t = \mathrm{round}(2^{16}\, p), \quad u_i \text{ uniform in } 0, \dots, 2^{16} - 1

    On a CPU, ``nn.Dropout`` makes a draw of its own for each number, one after the other, which
    took a third of a training step. Here a draw of 64 bits serves four numbers, so the probability
    is a multiple of :math:`2^{-16}`.

    Args:
        p: The probability that a number becomes 0.

    Shape:
        - x: any, and the same is returned

    Example:
        >>> Dropout(0.2)(torch.ones(1_000)).unique()
        tensor([0.0000, 1.2500])

    Source:
        Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return the input, of which numbers are dropped in training."""
        threshold = round(2**16 * self.p)
        if not self.training or not threshold:
            return x
        if threshold == 2**16:
            return x * 0
        count = x.numel()
        draws = torch.empty(-(-count // 4), dtype=torch.int64, device=x.device)
        drawn = draws.random_(-(2**63), None).view(torch.int16)[:count].view(x.shape)
        kept = drawn >= threshold - 2**15  # the integers are signed
        return x * kept.to(x.dtype).div_(1 - threshold / 2**16)

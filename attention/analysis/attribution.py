"""What each word contributes to a model's answer, to compare with its attention weight.

An attention weight says how much of a word's value goes into a context. Whether the answer depends
on that word is another question, which one can measure by deleting the word or by taking the
gradient. For one layer of attention the effect of deleting a word has a closed form, which the
lesson "Attention as explanation" derives.

Effects are in units of the logit, and are positive for words that raise it. Of a model with more
than two labels, that is the logit of its answer against all other labels, ln(p / (1 − p)).
"""

from typing import Any

import torch
from torch import Tensor, nn

from attention._checks import check_integers
from attention._evaluating import evaluating

_TEXTS_AT_ONCE = 64  # a review of n words has n versions with a word deleted


@torch.no_grad()
def deletion_effects(model: Any, ids: Tensor) -> Tensor:
    r"""Delete each word in turn, and compute by how much the logit falls.

    .. math:: \mathrm{effect}_i = \mathrm{logit}(\mathrm{ids})
              - \mathrm{logit}(\mathrm{ids}\ \text{without}\ i)

    The words after the deleted one move up, as if the review had been written without it.

    Args:
        model: Maps ids (B, n) to logits (B), or (B, C) for C labels, such as an
            :class:`attention.SentimentClassifier`. It is called in evaluation mode.
        ids: One review.

    Shape:
        - ids: :math:`(n)`, with :math:`n \ge 2`
        - returns: :math:`(n)`

    Raises:
        TypeError: If ``ids`` is not a tensor of integers.
        ValueError: If ``ids`` is not a single review of at least two words that the model knows.

    Example:
        >>> from attention import SentimentClassifier
        >>> model = SentimentClassifier(9, embed_dim=4, attention="mean", positions="none")
        >>> effects = deletion_effects(model, torch.tensor([3, 8, 3]))
        >>> effects.shape, bool(effects[0].isclose(effects[2]))
        (torch.Size([3]), True)

    Source:
        Li, Monroe & Jurafsky (2016), Understanding Neural Networks through Representation
        Erasure; the "leave-one-out" of Jain & Wallace (2019).
    """
    _check_review(ids)
    n = len(ids)
    others = ~torch.eye(n, dtype=torch.bool, device=ids.device)  # (n, n)
    without = ids.expand(n, n)[others].view(n, n - 1)  # (n, n − 1)
    with evaluating(model):
        versions = [ids[None], *without.split(_TEXTS_AT_ONCE)]
        logits = answer_logits(torch.cat([model(texts) for texts in versions]))  # (1 + n,)
    return logits[0] - logits[1:]  # (n,)


def answer_logits(logits: Tensor) -> Tensor:
    """Return one logit per text, (B,): of C labels, that of the first text's answer."""
    if logits.dim() == 1:
        return logits
    i = logits[0].argmax()
    others = torch.cat([logits[:, :i], logits[:, i + 1 :]], dim=-1)  # (B, C − 1)
    return logits[:, i] - others.logsumexp(dim=-1)


def gradient_effects(model: Any, ids: Tensor) -> Tensor:
    r"""Multiply each word's vector by the gradient of the logit with respect to it.

    .. math:: \mathrm{effect}_i = \frac{\partial\, \mathrm{logit}}{\partial x_i} \cdot x_i

    To first order this is what the logit would lose if the vector shrank to zero. It takes one
    forward and one backward pass, whereas deletion takes one forward pass per word. The effects do
    not include the vectors of bigrams, nor those of the tokens that an encoder puts around a text.

    Arguments, shapes and errors are those of :func:`deletion_effects`. The model must also have a
    ``word_embedding``, the table of its words' vectors.

    Example:
        >>> from attention import SentimentClassifier
        >>> model = SentimentClassifier(9, embed_dim=4, attention="mean", positions="none")
        >>> ids = torch.tensor([3, 8, 3])
        >>> effects = gradient_effects(model, ids)  # of a linear model, they add up to the logit
        >>> bool((effects.sum() + model.classifier.bias).isclose(model(ids[None])))
        True

    Source:
        Shrikumar et al. (2016), Not Just a Black Box; Denil et al. (2014).
    """
    _check_review(ids)
    read: list[Tensor] = []

    def start_here(embedding: nn.Module, arguments: tuple[Tensor], vectors: Tensor) -> Tensor:
        read.extend([arguments[0][0], vectors.detach().requires_grad_()])
        return read[1]

    hook = model.word_embedding.register_forward_hook(start_here)
    with hook, torch.enable_grad(), evaluating(model):
        logit = answer_logits(model(ids[None])).sum()
        (gradient,) = torch.autograd.grad(logit, read[1])  # (1, m, d)
    # What was read may have special tokens around the text, or padding behind it.
    is_text = (read[0].unfold(0, len(ids), 1) == ids).all(dim=-1)  # (m − n + 1,)
    start = int(is_text.nonzero()[0])
    effects = (gradient * read[1].detach()).sum(dim=-1)[0]  # (m,)
    return effects[start : start + len(ids)]  # (n,)


def rank_correlation(one: Tensor, other: Tensor) -> float:
    r"""Compute Spearman's rank correlation: 1 for equal orders, −1 for opposite ones.

    .. math:: \rho = \frac{\sum_i (r_i - \bar r)(s_i - \bar s)}
              {\sqrt{\sum_i (r_i - \bar r)^2 \sum_i (s_i - \bar s)^2}}

    Here r and s are the ranks of the two tensors' numbers, of shape :math:`(n)` each. Equal numbers
    share the mean of their ranks.

    Raises:
        ValueError: If shapes differ, a number is NaN, or all numbers of one tensor are equal and so
            have no order.

    Example:
        >>> rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.1, 10.0, 1_000.0]))
        1.0
        >>> round(rank_correlation(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([5.0, 5.0, 1.0])), 4)
        -0.866

    Source:
        Spearman (1904), The Proof and Measurement of Association between Two Things.
    """
    if one.dim() != 1 or one.shape != other.shape:
        raise ValueError(
            "one and other: expected one number per word each, (n,) and (n,), "
            f"got {tuple(one.shape)} and {tuple(other.shape)}"
        )
    if bool(one.isnan().any() or other.isnan().any()):
        raise ValueError("one and other: expected numbers, got NaN, which has no rank")
    r, s = _ranks(one), _ranks(other)  # (n,), (n,)
    spread = (r @ r * (s @ s)).sqrt()
    if spread == 0:
        raise ValueError("one and other: expected numbers that differ, got equal ones: no order")
    return (r @ s / spread).item()


def _ranks(numbers: Tensor) -> Tensor:
    """Rank numbers from the middle rank, where equal numbers share the mean of their ranks."""
    below = (numbers < numbers[:, None]).double()  # (n, n)
    return (below - below.T).sum(dim=-1) / 2  # (n,)


def _check_review(ids: Tensor) -> None:
    check_integers("ids", ids)
    if ids.dim() != 1 or len(ids) < 2:
        raise ValueError(
            f"ids: expected one review of at least two words, (n,), got {tuple(ids.shape)}"
        )

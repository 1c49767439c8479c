"""Check the answers to the exercises on what QKᵀ can hold.

A right answer prints a line; a wrong one raises an ``AssertionError`` that says what is wrong.
"""

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from attention.analysis import parameter_count
from attention.layers import QKSelfAttention
from attention.pooling import KeyedPooling


def check_largest_key_dim(answer: int, embed_dim: int = 64) -> None:
    """Check the largest k at which queries and keys hold fewer numbers than a free matrix.

    Example:
        >>> from attention.exercises_low_rank import check_largest_key_dim
        >>> check_largest_key_dim(3, embed_dim=8)
        Right: 48 numbers against 64, and k = 4 would take all 64.
    """
    d = embed_dim
    if not isinstance(answer, int) or answer < 1:
        raise AssertionError(f"k counts the columns of a matrix: expected 1 or more, got {answer}")
    pair, free = parameter_count("qk", d, answer), d * d
    if pair == free:
        raise AssertionError(f"k = {answer} takes {pair} numbers and so does a free matrix: equal")
    if pair > free:
        raise AssertionError(f"k = {answer} takes {pair} numbers, a free matrix only {free}")
    following = parameter_count("qk", d, answer + 1)
    if following < free:
        raise AssertionError(
            f"k = {answer} saves something, but k = {answer + 1} does too: {following} < {free}"
        )
    print(f"Right: {pair} numbers against {free}, and k = {answer + 1} would take all {following}.")


def check_energy(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Check a function that makes one energy vector of a key matrix (d, k) and a query (k).

    Example:
        >>> from attention.exercises_low_rank import check_energy
        >>> check_energy(lambda W_key, query: W_key @ query)
        Right: keys and query ask what one vector of width d asks.
    """
    d, k = 7, 3
    pooling = KeyedPooling(d, key_dim=k).double()
    x = torch.randn(5, d, dtype=torch.float64)  # (n, d)
    W_key, query = pooling.W_key.weight.detach().T, pooling.query.detach()  # (d, k), (k,)
    try:
        w = answer(W_key, query)
    except RuntimeError as error:
        raise AssertionError(
            f"W_key is (d, k) = ({d}, {k}) and the query (k,) = ({k},); your product of them "
            f"fails: {error}"
        ) from error
    if not isinstance(w, Tensor) or w.shape != (d,):
        got = tuple(w.shape) if isinstance(w, Tensor) else type(w).__name__
        raise AssertionError(f"an energy has one number for each of the d = {d} in a word; {got}")
    expected = pooling(x, need_weights=True)[1]
    if not torch.allclose(torch.softmax(x @ w, dim=-1), expected):
        raise AssertionError("the shape is right, but the weights of five words differ")
    print("Right: keys and query ask what one vector of width d asks.")


def check_drop_dead_bias(answer: Callable[[QKSelfAttention], QKSelfAttention]) -> None:
    """Check a function that takes a layer with biases and zeroes the ones that do nothing.

    Example:
        >>> from attention.exercises_low_rank import check_drop_dead_bias
        >>> def drop(layer):
        ...     torch.nn.init.zeros_(layer.W_key.bias)
        ...     return layer
        >>> check_drop_dead_bias(drop)
        Right: the key bias is gone, and no weight has changed.
    """
    layer = QKSelfAttention(7, key_dim=3, bias=True).double()
    torch.nn.init.normal_(layer.W_query.bias)
    torch.nn.init.normal_(layer.W_key.bias)
    x = torch.randn(5, 7, dtype=torch.float64)  # (n, d)
    changed = answer(copy.deepcopy(layer))
    if not isinstance(changed, QKSelfAttention):
        raise AssertionError(f"expected the layer back, got {type(changed).__name__}")
    weights, expected = (each(x, need_weights=True)[1] for each in (changed, layer))
    if not torch.allclose(weights, expected):
        raise AssertionError(
            "the attention weights have changed, so something that was removed was alive: "
            "which of the two biases meets the key of word j?"
        )
    if changed.W_key.bias is not None and bool(changed.W_key.bias.any()):
        raise AssertionError("no weight has changed, but a dead bias is still there")
    print("Right: the key bias is gone, and no weight has changed.")


def check_change_of_gauge(
    answer: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> None:
    """Check a function that writes W_query and W_key, (d, k) each, in the coordinates of R.

    Example:
        >>> from attention.exercises_low_rank import check_change_of_gauge
        >>> check_change_of_gauge(lambda Q, K, R: (Q @ R, K @ torch.linalg.inv(R).T))
        Right: other queries, other keys, the same product.
    """
    W_query, W_key = torch.randn(2, 7, 3, dtype=torch.float64)  # (d, k), (d, k)
    rotation = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64)).Q  # (k, k)
    stretch = torch.diag(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))  # (k, k)
    wrong = []
    for name, R in {
        "a diagonal R": stretch,
        "a rotation": rotation,
        "another R": rotation @ stretch @ rotation.mT + rotation,
    }.items():
        query, key = answer(W_query, W_key, R)
        if not torch.allclose(query, W_query @ R):
            raise AssertionError(f"with {name}: the queries should become W_query R")
        if not torch.allclose(query @ key.mT, W_query @ W_key.mT):
            wrong.append(name)
    if wrong:
        raise AssertionError(
            f"the product of queries and keys has changed with {', '.join(wrong)}: "
            "write down (W_query R)(W_key S)ᵀ; what must S be?"
        )
    print("Right: other queries, other keys, the same product.")

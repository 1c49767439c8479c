"""Attention block by block, beyond what ``test_functional`` shows: its memory and its blocks."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention import causal_mask, online_softmax_attention, padding_mask


class LargestStorage(TorchDispatchMode):
    """Record the bytes of the largest tensor that any operation makes."""

    def __init__(self):
        super().__init__()
        self.nbytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves(result):
            if isinstance(each, torch.Tensor):
                self.nbytes = max(self.nbytes, each.untyped_storage().nbytes())
        return result


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_no_tensor_is_as_large_as_the_matrix_of_scores(is_causal, masked):
    n = m = 4_096
    query, key, value = torch.randn(3, n, 2).unbind(0)
    mask = padding_mask(torch.tensor(m - 7), m) if masked else None
    with LargestStorage() as largest:
        online_softmax_attention(query, key, value, mask, is_causal=is_causal, block_size=64)
    assert n * 64 * 4 <= largest.nbytes < n * m * 4 / 50
    with LargestStorage() as largest:  # what is measured would be found
        causal_mask(n)
    assert largest.nbytes == n * m


def test_sizes_of_a_block_that_are_none_are_refused():
    tensors = torch.zeros(3, 5, 2)
    for size, error in ((0, ValueError), (-3, ValueError), (2.5, TypeError), (True, TypeError)):
        with pytest.raises(error, match="block_size: expected"):
            online_softmax_attention(*tensors, block_size=size)

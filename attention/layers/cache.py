"""The keys and values of earlier tokens, kept so that a new token needs no recomputation."""

import torch
from torch import Tensor

from attention._checks import check_size


class KVCache:
    r"""Hold the keys and values of the tokens that one attention layer has seen.

    A layer that is called with a cache appends the keys and values of the tokens it reads, and lets
    their queries attend to all that the cache holds. Memory is allocated when the first arrive.

    .. math:: \mathrm{bytes} = \mathrm{max\_length} \cdot (k + v) \cdot
        h_\mathrm{kv} \cdot \mathrm{batch} \cdot \mathrm{bytes\ per\ number}

    Here :math:`h_\mathrm{kv}` is the number of key–value heads, whose keys have width k and whose
    values have width v. A cache is for inference only: its memory is written in place, which would
    break a backward pass.

    Args:
        max_length: The number of tokens that it holds at most.

    Example:
        >>> from attention import MultiHeadAttention
        >>> layer = MultiHeadAttention(8, num_heads=2, rotary=True)
        >>> x = torch.rand(5, 3, 8)
        >>> cache = KVCache(max_length=10)
        >>> with torch.no_grad():
        ...     whole = layer(x, is_causal=True)
        ...     steps = [layer(x[:, [i]], is_causal=True, cache=cache) for i in range(3)]
        >>> torch.allclose(torch.cat(steps, dim=1), whole, atol=1e-6)
        True
        >>> cache.length, cache.nbytes  # bytes: 5 × 10 tokens × 2 heads × (4 + 4) × 4 bytes
        (3, 3200)

    Source:
        Pope et al. (2022), Efficiently scaling transformer inference, section 3.3.
    """

    def __init__(self, max_length: int) -> None:
        self.max_length = check_size("max_length", max_length)
        self.length = 0
        self._memory: tuple[Tensor, ...] | None = None

    @property
    def nbytes(self) -> int:
        """Number of bytes allocated for keys and values, filled or not."""
        return 0 if self._memory is None else sum(each.nbytes for each in self._memory)

    def check_room(self, n: int) -> None:
        """Raise a ValueError if n more tokens would make it hold more than ``max_length``."""
        if self.length + n > self.max_length:
            raise ValueError(
                f"cache: expected at most max_length = {self.max_length} tokens, "
                f"got {self.length} + {n}"
            )

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        r"""Add the keys and values of new tokens, and return those of all tokens.

        Shape:
            - key: :math:`(..., n, k)`
            - value: :math:`(..., n, v)`
            - returns: views of the memory, :math:`(..., m, k)` and :math:`(..., m, v)`

        Raises:
            RuntimeError: If a key or value carries a gradient.
            ValueError: If the cache is full, or shapes or dtype are not as before.
        """
        n = key.shape[-2]
        self.check_room(n)
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            raise RuntimeError(
                "cache: expected keys and values without gradients, got some that carry one; "
                "call the layer within torch.no_grad()"
            )
        pair = (key, value)
        if self._memory is None:
            self._memory = tuple(
                each.new_zeros(*each.shape[:-2], self.max_length, each.shape[-1]) for each in pair
            )  # (..., max_length, k), (..., max_length, v)
        end = self.length + n
        for memory, new in zip(self._memory, pair, strict=True):
            expected = (*memory.shape[:-2], n, memory.shape[-1])
            if new.shape != expected or new.dtype != memory.dtype:
                raise ValueError(
                    f"key, value: expected shape {expected} and {memory.dtype}, as of the tokens "
                    f"in the cache, got {tuple(new.shape)} and {new.dtype}"
                )
            memory[..., self.length : end, :] = new
        self.length = end
        keys, values = (memory[..., :end, :] for memory in self._memory)
        return keys, values


def check_cache(
    cache: KVCache | None, n: int, is_causal: bool, positions: Tensor | None = None
) -> int:
    """Refuse a cache that does not fit a call with n new tokens, and tell how many it holds."""
    if cache is None:
        return 0
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache: expected a KVCache, got {type(cache).__name__}")
    if not is_causal:
        raise ValueError(
            "is_causal: expected True with a cache, because the tokens in it can't see new ones; "
            "got False"
        )
    if positions is not None:
        raise ValueError(
            "positions: expected None with a cache, whose tokens stand at 0, 1, … in the order in "
            "which they came; got a tensor"
        )
    cache.check_room(n)
    return cache.length

"""Pairs of neighbouring words as vectors."""

from torch import Tensor, nn

from attention._checks import check_integers, check_size


class BigramEmbedding(nn.Module):
    r"""Give each word the learned vector of the pair it forms with the word before it.

    .. math:: x_i = \mathrm{table}\big[(a \cdot \mathrm{id}_{i-1} + b \cdot \mathrm{id}_i) \bmod p
              \bmod \mathrm{buckets}\big]

    No weighted mean of single words can express what "not good" means. There are too many pairs to
    give each its own vector, so a hash, with fixed primes a, b and p, assigns pairs to buckets, and
    the pairs of a bucket share its vector. Padding, unknown words and separators do not form pairs;
    ``is_pair`` tells where a pair ends.

    Args:
        embed_dim: Width ``d`` of a vector.
        buckets: The number of vectors that the pairs share.

    Shape:
        - ids: :math:`(..., n)`, integers
        - returns: :math:`(..., n, d)`

    Raises:
        TypeError, ValueError: If a size is not an integer or < 1, or ``ids`` are no integers.

    Example:
        >>> embedding = BigramEmbedding(4, buckets=1_000)
        >>> ids = torch.tensor([7, 8, 1, 7, 8])
        >>> x = embedding(ids)
        >>> torch.equal(x[1], x[4]), torch.equal(x[1], x[2])
        (True, False)
        >>> embedding.is_pair(ids).tolist()
        [False, True, False, False, True]

    Source:
        Joulin et al. (2017), Bag of tricks for efficient text classification, section 2.2.
    """

    FIRST_WORD = 3  # the ids below it are special
    # Two primes a and b that scatter small ids, and the Mersenne prime p = 2³¹ − 1.
    MULTIPLIERS = (1_000_003, 7_919)
    MODULUS = 2**31 - 1

    def __init__(self, embed_dim: int, *, buckets: int) -> None:
        super().__init__()
        embed_dim = check_size("embed_dim", embed_dim)
        self.buckets = check_size("buckets", buckets)
        self.table = nn.Embedding(self.buckets, embed_dim)

    def forward(self, ids: Tensor) -> Tensor:
        """Return a vector for each pair of neighbours."""
        check_integers("ids", ids)
        ids = ids.long()  # a prime times an id does not fit into 32 bits
        a, b = self.MULTIPLIERS
        bucket = (a * ids.roll(1, dims=-1) + b * ids) % self.MODULUS % self.buckets  # (..., n)
        pairs: Tensor = self.table(bucket)  # (..., n, d)
        return pairs

    @staticmethod
    def is_pair(ids: Tensor) -> Tensor:
        """Tell at which positions a pair of two words ends, (..., n), boolean."""
        check_integers("ids", ids)
        is_word = ids >= BigramEmbedding.FIRST_WORD  # (..., n)
        is_pair = is_word & is_word.roll(1, dims=-1)  # (..., n)
        is_pair[..., :1] = False
        return is_pair

"""The variants of attention that can be chosen by name, and the place to add another.

A variant is an entry of :data:`VARIANTS`, with a class of its own if it needs one. This registry is
read by the classifier, the choices and the help of the command line, the parameter counts, the
tables and the parametrised tests. An option that only a new variant needs becomes a field of
:class:`AttentionConfig`, which also makes it an option of the command line.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from attention.layers.block import TransformerEncoder
from attention.layers.latent import LatentAttention
from attention.layers.multihead import MultiHeadAttention
from attention.layers.pooling import EnergyPooling, KeyedPooling, MeanPooling
from attention.layers.self_attention import QKSelfAttention, SelfAttention


@dataclass(frozen=True, kw_only=True)
class AttentionConfig:
    """The options of all variants of attention; each variant reads the options that it needs."""

    embed_dim: int = 32
    """Width of a word's vector."""
    key_dim: int = 32
    """Width of queries and keys."""
    value_dim: int | None = None
    """Width of values; embed_dim if not given."""
    num_heads: int = 4
    """Number of heads of multihead, gqa, latent and transformer, among which embed_dim is
    divided."""
    num_kv_heads: int | None = None
    """Number of key-value heads that the heads of gqa share; half the number of heads if not
    given."""
    latent_dim: int | None = None
    """Width of the vector that latent makes keys and values from; half of embed_dim if not
    given."""
    rotary: bool = False
    """Whether multihead, gqa and transformer rotate queries and keys by their positions."""
    window: int | None = None
    """In multihead, gqa and transformer, the number of words that a word sees on either side,
    itself included; all if not given."""
    num_layers: int = 2
    """Number of blocks of transformer."""
    bias: bool = False
    """Whether the layers of qk, qkv, multihead, gqa and transformer have biases."""
    scale: bool = True
    """Whether scores are divided by √key_dim; with several heads they always are, by √head_dim."""

    @property
    def factor(self) -> float | None:
        """The factor on the scores in the form that the layers take: None means 1/√k."""
        return None if self.scale else 1.0


@dataclass(frozen=True)
class Variant:
    """A kind of attention that can be chosen by its name.

    Args:
        label: The name of the variant in tables and figures.
        build: Builds the layer.
        returns_contexts: Whether the layer returns a context for each token; if not, it pools the
            tokens into one vector.
    """

    label: str
    build: Callable[[AttentionConfig], nn.Module]
    returns_contexts: bool


VARIANTS: dict[str, Variant] = {
    "mean": Variant("mean", lambda c: MeanPooling(c.embed_dim), returns_contexts=False),
    "energy": Variant("energy", lambda c: EnergyPooling(c.embed_dim), returns_contexts=False),
    "keys": Variant(
        "keys", lambda c: KeyedPooling(c.embed_dim, key_dim=c.key_dim), returns_contexts=False
    ),
    "qk": Variant(
        "QK",
        lambda c: QKSelfAttention(c.embed_dim, key_dim=c.key_dim, bias=c.bias, scale=c.factor),
        returns_contexts=True,
    ),
    "qkv": Variant(
        "QKV",
        lambda c: SelfAttention(
            c.embed_dim, key_dim=c.key_dim, value_dim=c.value_dim, bias=c.bias, scale=c.factor
        ),
        returns_contexts=True,
    ),
    "multihead": Variant(
        "multi-head",
        lambda c: MultiHeadAttention(
            c.embed_dim, c.num_heads, rotary=c.rotary, window=c.window, bias=c.bias
        ),
        returns_contexts=True,
    ),
    "gqa": Variant(
        "grouped queries",
        lambda c: MultiHeadAttention(
            c.embed_dim,
            c.num_heads,
            num_kv_heads=c.num_kv_heads or max(c.num_heads // 2, 1),
            rotary=c.rotary,
            window=c.window,
            bias=c.bias,
        ),
        returns_contexts=True,
    ),
    "latent": Variant(
        "latent",
        lambda c: LatentAttention(
            c.embed_dim, c.num_heads, latent_dim=c.latent_dim or max(c.embed_dim // 2, 1)
        ),
        returns_contexts=True,
    ),
    "transformer": Variant(
        "transformer",
        lambda c: TransformerEncoder(
            c.embed_dim,
            c.num_heads,
            c.num_layers,
            bias=c.bias,
            rotary=c.rotary,
            window=c.window,
        ),
        returns_contexts=True,
    ),
}
"""The variants, by name."""


def variant(name: str) -> Variant:
    """Find a variant by its name.

    Raises:
        ValueError: If there is none of this name.

    Example:
        >>> from attention.layers.variants import variant
        >>> variant("qkv").label
        'QKV'
    """
    if name not in VARIANTS:
        raise ValueError(f"attention: expected one of {', '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name]

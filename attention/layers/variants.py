"""The variants of attention that can be chosen by name, and the place to add another.

The classifier, the command line with its help and its refusals, the parameter counts and the
parametrised tests read :data:`VARIANTS`. An option that no variant had before also becomes a field
of :class:`attention.sentiment.config.ModelConfig`, which gives it a type and a sentence of help.

All of them attend from tokens to the same tokens. Cross-attention is not among them; a lesson,
``gallery/core/plot_5_multi_head.py``, writes it.
"""

from dataclasses import dataclass, field
from typing import Any

from torch import nn

from attention.layers.block import TransformerEncoder
from attention.layers.latent import LatentAttention
from attention.layers.multihead import MultiHeadAttention
from attention.layers.pooling import EnergyPooling, KeyedPooling, MeanPooling
from attention.layers.self_attention import QKSelfAttention, SelfAttention


@dataclass(frozen=True)
class Variant:
    """A layer, and the options that can be chosen in addition to ``embed_dim``, with defaults."""

    layer: type[nn.Module]
    options: dict[str, Any] = field(default_factory=dict)

    def build(self, embed_dim: int, **options: Any) -> nn.Module:
        """Build the layer; options that are not given have their defaults.

        Raises:
            TypeError, ValueError: If the layer does not read an option, or refuses its value.
        """
        return self.layer(embed_dim, **self.options | options)


_HEADS = {"num_heads": 4, "num_kv_heads": None, "rotary": False, "window": None, "bias": False}

VARIANTS = {
    "mean": Variant(MeanPooling),
    "energy": Variant(EnergyPooling),
    "keys": Variant(KeyedPooling, {"key_dim": 32}),
    "qk": Variant(QKSelfAttention, {"key_dim": 32, "bias": False, "scale": None}),
    "qkv": Variant(SelfAttention, {"key_dim": 32, "value_dim": None, "bias": False, "scale": None}),
    "multihead": Variant(MultiHeadAttention, _HEADS),
    "latent": Variant(LatentAttention, {"num_heads": 4, "latent_dim": None}),
    "transformer": Variant(TransformerEncoder, {"num_layers": 2, **_HEADS}),
}
"""The variants, by name."""


def readers(option: str) -> list[str]:
    """List the names of the variants that read an option."""
    return [name for name, each in VARIANTS.items() if option in each.options]


def refusal(option: str, name: str, names: list[str]) -> str:
    """Say that a variant does not read an option, and which others do."""
    if not names:
        return f"{option}: expected an option of {name}, got one that no variant reads"
    *most, last = names
    others = f"{', '.join(most)} or {last}, which read it" if most else f"{last}, which reads it"
    return f"{option}: expected {others}, got {name}"

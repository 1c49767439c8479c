"""The variants of attention that can be chosen by name, and the place to add another.

A variant is an entry of :data:`VARIANTS`: a layer, and the options that it reads. The classifier,
the command line with its help and its refusals, the parameter counts, the tables and the
parametrised tests read this registry. An option that no variant had before also becomes a field of
:class:`attention.sentiment.config.ModelConfig`, which gives it a type and a sentence of help.

All of them attend from tokens to the same tokens. Cross-attention is not among them; a lesson,
``gallery/core/plot_5_multi_head.py``, writes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from attention.layers.block import TransformerEncoder
from attention.layers.latent import LatentAttention
from attention.layers.multihead import MultiHeadAttention
from attention.layers.pooling import EnergyPooling, KeyedPooling, MeanPooling, Pooling
from attention.layers.self_attention import QKSelfAttention, SelfAttention


@dataclass(frozen=True)
class Variant:
    """A kind of attention that can be chosen by its name.

    Args:
        name: The name by which it is chosen.
        label: What tables and figures call it.
        layer: The class of the layer.
        options: The arguments of the layer that can be chosen, in addition to ``embed_dim``, each
            with its default.
    """

    name: str
    label: str
    layer: type[nn.Module]
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def returns_contexts(self) -> bool:
        """Whether it returns a context for each token; if not, it pools them into one vector."""
        return not issubclass(self.layer, Pooling)

    def build(self, embed_dim: int, **options: Any) -> nn.Module:
        """Build the layer.

        Args:
            embed_dim: Width ``d`` of a token vector.
            options: Any of the variant's ``options``; the others have their defaults.

        Raises:
            TypeError, ValueError: If the variant does not read an option, or refuses its value.

        Example:
            >>> from attention.layers.variants import VARIANTS
            >>> VARIANTS["keys"].build(8, key_dim=3).query.shape
            torch.Size([3])
            >>> VARIANTS["energy"].build(8, key_dim=3)  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            ValueError: key_dim: expected keys, ..., which read it, got energy
        """
        for option in options.keys() - self.options.keys():
            raise ValueError(refusal(option, self.name, readers(option)))
        return self.layer(embed_dim, **{**self.options, **options})


_HEADS = {"num_heads": 4, "num_kv_heads": None, "rotary": False, "window": None, "bias": False}

VARIANTS: dict[str, Variant] = {
    each.name: each
    for each in (
        Variant("mean", "mean", MeanPooling),
        Variant("energy", "energy", EnergyPooling),
        Variant("keys", "keys", KeyedPooling, {"key_dim": 32}),
        Variant("qk", "QK", QKSelfAttention, {"key_dim": 32, "bias": False, "scale": None}),
        Variant(
            "qkv",
            "QKV",
            SelfAttention,
            {"key_dim": 32, "value_dim": None, "bias": False, "scale": None},
        ),
        Variant("multihead", "multi-head", MultiHeadAttention, _HEADS),
        Variant("latent", "latent", LatentAttention, {"num_heads": 4, "latent_dim": None}),
        Variant("transformer", "transformer", TransformerEncoder, {"num_layers": 2, **_HEADS}),
    )
}
"""The variants, by name."""


def variant(name: str) -> Variant:
    """Find a variant by its name.

    Raises:
        ValueError: If there is none of this name.
    """
    if name not in VARIANTS:
        raise ValueError(f"attention: expected one of {', '.join(VARIANTS)}, got {name!r}")
    return VARIANTS[name]


def readers(option: str) -> list[str]:
    """List the names of the variants that read an option.

    Example:
        >>> readers("window")
        ['multihead', 'transformer']
    """
    return [name for name, each in VARIANTS.items() if option in each.options]


def refusal(option: str, name: str, names: list[str]) -> str:
    """Say that a variant does not read an option, and which others do."""
    if not names:
        return f"{option}: expected an option of {name}, got one that no variant reads"
    last = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    return (
        f"{option}: expected {last}, which {'read' if len(names) > 1 else 'reads'} it, got {name}"
    )

"""The model that writes, with another attention in its layers."""

import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import torch
from from_scratch import VARIANTS as FILE
from from_scratch import from_scratch
from torch import Tensor, nn
from torch.nn import functional as F

from attention import apply_rotary
from attention.language import LanguageConfig, LanguageModel

ROOT = Path(__file__).parents[3]
LENGTH = 128
WINDOW = 16


@cache
def functions() -> types.ModuleType:
    """Execute the file that the lesson's cells make, so that what is measured is what is read."""
    module = types.ModuleType("attention_variants")
    exec(compile(from_scratch(ROOT, FILE), FILE, "exec"), module.__dict__)
    return module


@dataclass(frozen=True)
class Variant:
    """What is changed; ``kinds`` has one name per layer, or one for all."""

    kinds: tuple[str, ...] = ("softmax",)
    rotary: str = "all"
    gain: str = ""
    """Where QK-norm has its gain: before the rotation or after it, or nowhere."""
    hidden_dim: int = 128


VARIANTS = {
    "softmax": Variant(),
    "one in the denominator": Variant(("plus one",)),
    "sink": Variant(("sink",)),
    "gate": Variant(("gate",)),
    "gate, as many parameters": Variant(("gate",), hidden_dim=96),
    "QK-norm": Variant(("qk norm",)),
    "QK-norm, gain before rotation": Variant(("qk norm",), gain="before"),
    "QK-norm, gain after rotation": Variant(("qk norm",), gain="after"),
    "soft cap": Variant(("soft cap",)),
    "sigmoid": Variant(("sigmoid",)),
    "window": Variant(("window",)),
    "window and full": Variant(("window", "window", "window", "softmax")),
    "no positions": Variant(rotary="none"),
    "half rotary": Variant(rotary="half"),
    "linear": Variant(("linear",)),
    "delta rule": Variant(("delta rule",), rotary="none"),
    "hybrid": Variant(("delta rule", "delta rule", "delta rule", "softmax"), rotary="none"),
}


class VariantAttention(nn.Module):
    """Multi-head attention whose heads attend by one of the lesson's functions."""

    def __init__(self, embed_dim: int, num_heads: int, kind: str, rotary: str, gain: str) -> None:
        super().__init__()
        self.num_heads, self.kind, self.rotary, self.gain_at = num_heads, kind, rotary, gain
        self.W_query, self.W_key, self.W_value, self.W_out = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4)
        )
        if kind == "sink":
            self.sink = nn.Parameter(torch.zeros(num_heads))
        if kind == "gate":
            self.W_gate = nn.Linear(embed_dim, embed_dim, bias=False)
        if kind == "delta rule":
            self.W_rate = nn.Linear(embed_dim, num_heads)
            self.W_decay = nn.Linear(embed_dim, num_heads)
            nn.init.constant_(self.W_decay.bias, 4.0)  # it forgets slowly at first
        if gain:
            self.gain = nn.Parameter(torch.ones(embed_dim // num_heads))

    def split(self, projected: Tensor) -> Tensor:
        """Split the width into heads."""
        split: Tensor = projected.unflatten(-1, (self.num_heads, -1))  # (..., n, h, k)
        return split.transpose(-3, -2)  # (..., h, n, k)

    def turned(self, x: Tensor) -> Tensor:
        """Rotate all channels, the first half of them, or none."""
        if self.rotary == "none":
            return x
        if self.rotary == "all":
            return apply_rotary(x)
        turned, kept = x.chunk(2, dim=-1)  # (..., n, k / 2) each
        return torch.cat([apply_rotary(turned), kept], dim=-1)  # (..., n, k)

    def inputs(self, x: Tensor) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Make queries, keys and values, (..., h, n, k), and what else the function reads."""
        query, key, value = (self.split(W(x)) for W in (self.W_query, self.W_key, self.W_value))
        options: dict[str, Any] = {}
        if self.gain_at == "before":
            query, key = (F.rms_norm(each, each.shape[-1:], self.gain) for each in (query, key))
        query, key = self.turned(query), self.turned(key)
        if self.kind == "sink":
            options["sink"] = self.sink
        elif self.kind == "gate":
            options["gate"] = self.split(self.W_gate(x))
        elif self.kind == "soft cap":
            options["cap"] = 5.0
        elif self.kind == "sigmoid":
            options["bias"] = -torch.tensor(LENGTH / 2).log()  # the mean number of keys
        elif self.kind == "window":
            options["window"] = WINDOW
        elif self.kind == "qk norm" and self.gain_at == "after":
            options["gain"] = self.gain
        elif self.kind == "delta rule":
            query, key = F.normalize(query, dim=-1), F.normalize(F.silu(key), dim=-1)
            options["beta"] = torch.sigmoid(self.W_rate(x)).mT  # (..., h, n)
            options["decay"] = torch.sigmoid(self.W_decay(x)).mT  # (..., h, n)
        return {"query": query, "key": key, "value": value}, options

    def attend(
        self, tensors: dict[str, Tensor], options: dict[str, Any], *, is_causal: bool = True
    ) -> Tensor:
        """Apply the function of the lesson; a single new token may see all that is kept."""
        lesson = functions()
        if self.kind == "delta rule":
            context: Tensor = lesson.delta_rule(**tensors, **options)[0]
            return context
        name = "softmax_plus_one" if self.kind == "plus one" else self.kind.replace(" ", "_")
        name = {"gate": "gated"}.get(name, name)
        if self.gain_at == "before":  # the norm is taken already
            name = "softmax"
        attend: Callable[..., Tensor] = getattr(lesson, f"{name}_attention")
        return attend(**tensors, is_causal=is_causal, **options)

    def weights(self, x: Tensor) -> Tensor:
        """Return what each query takes of each value, (..., h, n, n), before a gate."""
        tensors, options = self.inputs(x)
        unit = torch.eye(x.shape[-2]).expand(*tensors["value"].shape[:-1], -1)  # (..., h, n, n)
        if self.kind == "gate":
            query, key = tensors["query"], tensors["key"]
            before: Tensor = functions().softmax_attention(query, key, unit, is_causal=True)
            return before
        return self.attend(tensors | {"value": unit}, options)

    def forward(self, x: Tensor, *, attn_mask: None = None, **options: Any) -> Tensor:
        """Return the context of each token, (..., n, d); always causal."""
        heads = self.attend(*self.inputs(x))  # (..., h, n, k)
        context: Tensor = self.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)
        return context


def attentions(model: LanguageModel) -> list[VariantAttention]:
    """List the attention of each layer."""
    return [cast(VariantAttention, block.attention) for block in model.encoder.blocks]


def build(name: str) -> LanguageModel:
    """Make the model of a variant.

    The same seed draws the same weights for what is shared, up to the first matrix that the variant
    adds or changes.
    """
    variant = VARIANTS[name]
    config = LanguageConfig(
        vocab_size=2_048,
        embed_dim=64,
        num_kv_heads=4,
        hidden_dim=variant.hidden_dim,
        max_length=LENGTH,
    )
    model = LanguageModel(config)
    kinds = variant.kinds * (config.num_layers // len(variant.kinds))
    for block, kind in zip(model.encoder.blocks, kinds, strict=True):
        block.attention = VariantAttention(
            config.embed_dim, config.num_heads, kind, variant.rotary, variant.gain
        )
    return model

"""One classifier for every rung of the ladder; what changes from rung to rung is the attention."""

import json
import os
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from attention._checks import check_size
from attention.functional import padding_mask
from attention.layers import QKSelfAttention, SelfAttention
from attention.pooling import EnergyPooling, KeyedPooling, MeanPooling
from attention.positions import SinusoidalPositions, positions_from_end

KINDS = ("mean", "energy", "keys", "qk", "qkv")
POSITIONS = ("end", "start", "none")


class SentimentClassifier(nn.Module):
    r"""Read a review and say how positive it is, as a logit.

    .. math::
        X = \mathrm{embedding}(\mathrm{ids}) + S, \qquad
        \mathrm{logit} = \mathrm{pooled}(X) \cdot w + b

    ``mean``, ``energy`` and ``keys`` pool the words into one vector by themselves; ``qk`` and
    ``qkv`` give each word a context, and the contexts of the words are averaged.

    Args:
        vocab_size: How many ids the embedding holds; id 0 is the padding.
        embed_dim: Width ``d`` of a word's vector.
        attention: One of ``"mean"``, ``"energy"``, ``"keys"``, ``"qk"``, ``"qkv"``.
        key_dim: Width ``k`` of queries and keys, for the kinds that have them.
        value_dim: Width of the values, for ``"qkv"``; None means ``embed_dim``.
        bias: Whether the projections of ``"qk"`` and ``"qkv"`` add a bias.
        positions: Count words from the ``"end"`` of the review, from its ``"start"``, or not
            at all, ``"none"``.
        position_base: The base of the sinusoids.
        max_length: The longest review in words.

    Shape:
        - ids: :math:`(B, n)`, integers
        - lengths: :math:`(B)`, integers; None means that every row is full
        - logits: :math:`(B)`
        - weights: :math:`(B, n)` for the poolings, :math:`(B, n, n)` for ``qk`` and ``qkv``

    Returns:
        The logits, or (logits, weights) with ``need_weights=True``.

    Raises:
        TypeError: If a size is no integer.
        ValueError: If a size < 1, or a choice is none of those listed.

    Example:
        >>> model = SentimentClassifier(100, embed_dim=8, attention="energy")
        >>> ids = torch.tensor([[5, 17, 3], [8, 0, 0]])
        >>> logits, weights = model(ids, torch.tensor([3, 1]), need_weights=True)
        >>> weights[1]
        tensor([1., 0., 0.], grad_fn=<SelectBackward0>)

    Source:
        Lab 13 (Nowakowski, 2024), with its faults put right: padding is masked, scores are
        scaled, positions are counted from the end.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        embed_dim: int = 32,
        attention: str = "qkv",
        key_dim: int = 32,
        value_dim: int | None = None,
        bias: bool = False,
        positions: str = "end",
        position_base: float = 1_000.0,
        max_length: int = 256,
    ) -> None:
        super().__init__()
        check_size("vocab_size", vocab_size)
        if attention not in KINDS:
            raise ValueError(f"attention: expected one of {', '.join(KINDS)}, got {attention!r}")
        if positions not in POSITIONS:
            raise ValueError(
                f"positions: expected one of {', '.join(POSITIONS)}, got {positions!r}"
            )
        self.config: dict[str, Any] = {
            "vocab_size": vocab_size,
            "embed_dim": embed_dim,
            "attention": attention,
            "key_dim": key_dim,
            "value_dim": value_dim,
            "bias": bias,
            "positions": positions,
            "position_base": position_base,
            "max_length": max_length,
        }
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.positions = (
            None
            if positions == "none"
            else SinusoidalPositions(embed_dim, max_length=max_length, base=position_base)
        )
        self.attention: nn.Module
        features = embed_dim
        if attention == "mean":
            self.attention = MeanPooling(embed_dim)
        elif attention == "energy":
            self.attention = EnergyPooling(embed_dim)
        elif attention == "keys":
            self.attention = KeyedPooling(embed_dim, key_dim=key_dim)
        elif attention == "qk":
            self.attention = QKSelfAttention(embed_dim, key_dim=key_dim, bias=bias)
        else:
            self.attention = SelfAttention(
                embed_dim, key_dim=key_dim, value_dim=value_dim, bias=bias
            )
            features = self.attention.value_dim
        self.average = MeanPooling(features) if attention in ("qk", "qkv") else None
        self.classifier = nn.Linear(features, 1)

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return a logit a review, and the weights if they are needed."""
        n = ids.shape[-1]
        if lengths is None:
            lengths = torch.full(ids.shape[:-1], n, device=ids.device)  # (B,)
        x = self.embedding(ids)  # (B, n, d)
        if self.positions is not None:
            from_end = self.config["positions"] == "end"
            x = self.positions(x, positions_from_end(lengths, n) if from_end else None)
        mask = padding_mask(lengths, n)  # (B, 1, n)
        if not need_weights:
            return self._classify(self.attention(x, mask), mask)
        context, weights = self.attention(x, mask, need_weights=True)
        return self._classify(context, mask), weights

    def _classify(self, context: Tensor, mask: Tensor) -> Tensor:
        if self.average is not None:
            context = self.average(context, mask)  # (B, v)
        logits: Tensor = self.classifier(context).squeeze(-1)  # (B,)
        return logits

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write ``model.json`` (the arguments) and ``model.safetensors`` (the weights)."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / "model.json").write_text(json.dumps(self.config, indent=2) + "\n")
        save_file(self.state_dict(), path / "model.safetensors")

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Load a model from the run folder that training wrote, ready to predict."""
        path = Path(folder)
        model = cls(**json.loads((path / "model.json").read_text()))
        model.load_state_dict(load_file(path / "model.safetensors"))
        return model.eval()

"""One classifier for every rung of the ladder; what changes from rung to rung is the attention."""

import json
import os
from pathlib import Path
from typing import Self, get_type_hints

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from attention._checks import check_dropout, check_ids, check_json, check_number, check_size
from attention._files import check_tensors, write_tensors, write_text
from attention.embedding import BigramEmbedding
from attention.functional import padding_mask
from attention.layers import QKSelfAttention, SelfAttention
from attention.multihead import MultiHeadAttention
from attention.pooling import EnergyPooling, KeyedPooling, MeanPooling
from attention.positions import SinusoidalPositions, positions_from_end
from attention.tokenizer import SEP_ID, UNK_ID

KINDS = ("mean", "energy", "keys", "qk", "qkv", "multihead")
POSITIONS = ("end", "start", "none")

# The longest review that a file may ask for, times a word's width: weights are checked against
# their file before any memory is taken, but positions and padding have no file.
_MAX_LENGTH_TIMES_WIDTH = 2**27


class SentimentClassifier(nn.Module):
    r"""Read a review and say how positive it is, as a logit.

    .. math::
        X = \mathrm{embedding}(\mathrm{ids}) + S, \qquad
        \mathrm{logit} = \mathrm{pooled}(X) \cdot w + b

    ``mean``, ``energy`` and ``keys`` pool the words into one vector by themselves; ``qk``,
    ``qkv`` and ``multihead`` give each word a context, and the contexts of the words are averaged.

    Args:
        vocab_size: How many ids the embedding holds; id 0 is the padding.
        embed_dim: Width ``d`` of a word's vector.
        attention: One of ``"mean"``, ``"energy"``, ``"keys"``, ``"qk"``, ``"qkv"``,
            ``"multihead"``.
        key_dim: Width ``k`` of queries and keys, for the kinds that have them; the heads of
            ``"multihead"`` share ``embed_dim`` instead.
        value_dim: Width of the values, for ``"qkv"``; None means ``embed_dim``.
        num_heads: How many heads ``"multihead"`` has, a divisor of ``embed_dim``.
        bias: Whether the projections of ``"qk"``, ``"qkv"`` and ``"multihead"`` add a bias.
        scale: Whether the scores of ``"qk"`` and ``"qkv"`` are divided by :math:`\sqrt{k}`; those
            of ``"multihead"`` always are.
        bigram_buckets: How many vectors pairs of neighbouring words share. With more than 0,
            pairs are attended to beside the words; a pair's weight is reported half at each of
            its two words.
        segments: Whether a separator (id 2) and the words in front of it get a learned vector
            added.
        positions: Count words from the ``"end"`` of the review, from its ``"start"``, or not
            at all, ``"none"``.
        position_base: The base of the sinusoids.
        max_length: The longest review in words.
        mask_padding: False lets attention fall on padding up to ``max_length``, as in the lab.
        embedding_std: Spread of the normal distribution that embeddings are drawn from.
        dropout: Share of the numbers of a vector set to 0 in training.
        word_dropout: Share of the words replaced by id 1, the unknown word, in training.

    Shape:
        - ids: :math:`(B, n)`, integers
        - lengths: :math:`(B)`, integers; None means that every row is full
        - logits: :math:`(B)`
        - weights: :math:`(B, n)` for the poolings, :math:`(B, n, n)` for the others; for
          ``multihead`` they are the mean over its heads. With ``bigram_buckets``, :math:`(B, n)`
          for all: the mean over the words and pairs that asked

    Returns:
        The logits, or (logits, weights) with ``need_weights=True``.

    Raises:
        TypeError: If a size is no integer, or a chance or spread no number.
        ValueError: If a size < 1, a chance is not in [0, 1), a choice is none of those listed, or
            a review is longer than ``max_length``.

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
        num_heads: int = 4,
        bias: bool = False,
        scale: bool = True,
        bigram_buckets: int = 0,
        segments: bool = False,
        positions: str = "end",
        position_base: float = 1_000.0,
        max_length: int = 256,
        mask_padding: bool = True,
        embedding_std: float = 1.0,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
    ) -> None:
        self.config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__()
        check_size("vocab_size", vocab_size)
        check_size("embed_dim", embed_dim)
        check_number("embedding_std", embedding_std)
        check_dropout("dropout", dropout)
        check_dropout("word_dropout", word_dropout)
        if attention not in KINDS:
            raise ValueError(f"attention: expected one of {', '.join(KINDS)}, got {attention!r}")
        if positions not in POSITIONS:
            raise ValueError(
                f"positions: expected one of {', '.join(POSITIONS)}, got {positions!r}"
            )
        # Padding that is attended to gets a vector of its own, which the lab trains.
        padding = 0 if mask_padding else None
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=padding)
        self.positions = (
            None
            if positions == "none"
            else SinusoidalPositions(embed_dim, max_length=max_length, base=position_base)
        )
        self.bigrams = (
            BigramEmbedding(embed_dim, buckets=bigram_buckets) if bigram_buckets else None
        )
        with torch.no_grad():
            for name, table in self.named_parameters():
                if name in ("embedding.weight", "bigrams.table.weight"):
                    table.mul_(embedding_std)  # nn.Embedding draws with a spread of 1
        self.segment = nn.Parameter(torch.zeros(embed_dim)) if segments else None
        self.dropout = nn.Dropout(dropout)
        factor = None if scale else 1.0
        self.attention: nn.Module
        features = embed_dim
        if attention == "mean":
            self.attention = MeanPooling(embed_dim)
        elif attention == "energy":
            self.attention = EnergyPooling(embed_dim)
        elif attention == "keys":
            self.attention = KeyedPooling(embed_dim, key_dim=key_dim)
        elif attention == "qk":
            self.attention = QKSelfAttention(embed_dim, key_dim=key_dim, bias=bias, scale=factor)
        elif attention == "multihead":
            self.attention = MultiHeadAttention(embed_dim, num_heads, bias=bias)
        else:
            self.attention = SelfAttention(
                embed_dim, key_dim=key_dim, value_dim=value_dim, bias=bias, scale=factor
            )
            features = self.attention.value_dim
        has_contexts = attention in ("qk", "qkv", "multihead")
        self.average = MeanPooling(features) if has_contexts else None
        self.classifier = nn.Linear(features, 1)

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return a logit a review, and the weights if they are needed."""
        check_ids(ids, lengths, self.embedding.weight)
        if ids.shape[-1] > self.config["max_length"]:
            raise ValueError(
                f"ids: expected at most max_length = {self.config['max_length']} words a review, "
                f"got {ids.shape[-1]}; attention.predict.predict cuts as training does"
            )
        if lengths is None:
            lengths = torch.full(ids.shape[:-1], ids.shape[-1], device=ids.device)  # (B,)
        if not self.config["mask_padding"]:
            ids = F.pad(ids, (0, self.config["max_length"] - ids.shape[-1]))  # (B, max_length)
            lengths = torch.full_like(lengths, ids.shape[-1])  # (B,)
        n = ids.shape[-1]
        if self.training and self.config["word_dropout"]:
            dropped = torch.rand(ids.shape, device=ids.device) < self.config["word_dropout"]
            ids = ids.masked_fill(dropped & (ids > SEP_ID), UNK_ID)
        mask = padding_mask(lengths, n)  # (B, 1, n)
        x = self._place(self.embedding(ids), ids, lengths, mask)  # (B, n, d)
        if self.bigrams is not None:
            pairs = self._place(self.bigrams(ids), ids, lengths, mask)  # (B, n, d)
            x = torch.cat([x, pairs], dim=-2)  # (B, 2n, d)
            is_pair = self.bigrams.is_pair(ids)[..., None, :]  # (B, 1, n)
            mask = torch.cat([mask, mask & is_pair], dim=-1)  # (B, 1, 2n)
        x = self.dropout(x)
        if not need_weights:
            return self._classify(self.attention(x, mask), mask)
        context, weights = self.attention(x, mask, need_weights=True)
        if self.config["attention"] == "multihead":
            weights = weights.mean(dim=-3)  # (B, n, n)
        return self._classify(context, mask), self._weights_of_words(weights, mask, n)

    def _place(self, x: Tensor, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Add where each word stands: its position, and whether a separator is yet to come."""
        if self.segment is not None:
            separator = (ids == SEP_ID) & mask.squeeze(-2)  # (B, n)
            in_front = separator.flip(-1).cumsum(-1).flip(-1) > 0  # (B, n)
            x = x + in_front[..., None] * self.segment  # (B, n, d)
        if self.positions is not None:
            n = ids.shape[-1]
            from_end = self.config["positions"] == "end"
            x = self.positions(x, positions_from_end(lengths, n) if from_end else None)
        return x

    def _weights_of_words(self, weights: Tensor, mask: Tensor, n: int) -> Tensor:
        if self.bigrams is None:
            return weights
        if self.average is not None:
            # Pairs ask as words do, and the logit averages over all that asked.
            asked = mask.transpose(-2, -1)  # (B, 2n, 1)
            weights = (weights * asked).sum(dim=-2) / asked.sum(dim=-2).clamp(min=1)  # (B, 2n)
        words, pairs = weights[..., :n], weights[..., n:]  # (B, n), (B, n)
        # The pair at i is of the words i − 1 and i; there is none at 0 to wrap around.
        return words + (pairs + pairs.roll(-1, dims=-1)) / 2

    def _classify(self, context: Tensor, mask: Tensor) -> Tensor:
        if self.average is not None:
            context = self.average(context, mask)  # (B, v)
        logits: Tensor = self.classifier(self.dropout(context)).squeeze(-1)  # (B,)
        return logits

    def save_pretrained(self, folder: str | os.PathLike[str], **more: object) -> None:
        """Write ``model.safetensors``, and the arguments and anything more to ``config.json``."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        write_text(path / "config.json", json.dumps({"model": self.config, **more}, indent=2))
        write_tensors(path / "model.safetensors", self.state_dict())

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Load a model from the run folder that training wrote, ready to predict.

        The folder may come from anywhere: nothing in it is executed, and memory is taken only
        when the weights are there in the sizes that the configuration asks for.

        Raises:
            ValueError: If the configuration is not one of ours, or the weights are not its.
            TypeError: If a field has another type.
            OSError: If a file can't be read.
        """
        path = Path(folder)
        about = json.loads((path / "config.json").read_text(encoding="utf-8"))
        if not isinstance(about, dict) or "model" not in about:
            raise ValueError(
                f"{path / 'config.json'}: expected a run's configuration, got no model"
            )
        hints = {k: v for k, v in get_type_hints(cls.__init__).items() if k != "return"}
        check_json(about["model"], hints)
        try:
            with torch.device("meta"):  # shapes without memory
                outline = cls(**about["model"])
        except RuntimeError as error:
            raise ValueError(f"no model has these sizes: {error}") from error
        try:
            check_tensors(path / "model.safetensors", outline.state_dict())
        except SafetensorError as error:
            raise ValueError(f"{path / 'model.safetensors'}: can't be read: {error}") from error
        length, width = outline.config["max_length"], outline.config["embed_dim"]
        if not 0 < length * width <= _MAX_LENGTH_TIMES_WIDTH:
            most = _MAX_LENGTH_TIMES_WIDTH // width
            raise ValueError(f"max_length: expected 1 to {most}, got {length}")
        weights = load_file(path / "model.safetensors")
        model = cls(**about["model"])
        model.load_state_dict(weights)
        if bad := [name for name, table in weights.items() if not table.isfinite().all()]:
            raise ValueError(f"{bad[0]} holds a number that is not finite")
        return model.eval()

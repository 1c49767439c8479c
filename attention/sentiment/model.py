"""One classifier for all variants of attention, and for a pretrained encoder in their place."""

import json
import os
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention._checks import check_ids, check_size
from attention._files import read_tensors, write_tensors, write_text
from attention._model_files import read_errors
from attention.functional import Attended
from attention.layers.bigrams import BigramEmbedding
from attention.layers.pooling import MeanPooling, Pooling
from attention.layers.positions import SinusoidalPositions, positions_from_end
from attention.layers.variants import VARIANTS
from attention.masks import padding_mask
from attention.pretrained import MINILM_CONFIG, PretrainedEncoder, load_encoder
from attention.sentiment.batches import Batch, FeatureBatch
from attention.sentiment.config import ModelConfig, TrainConfig, read_model_config
from attention.sentiment.dropout import Dropout
from attention.sentiment.tokenizer import PIECE_CLS_ID, PIECE_SEP_ID, SEP_ID, UNK_ID

# The encoder's batches are padded to multiples of this. On a CPU, torch keeps some 10 MB for each
# width that it meets in bfloat16, and having fewer widths took no longer where both were measured.
_WIDTH_STEP = 16


class ReviewEncoder(nn.Module):
    """Compute the hidden state of each word piece, and tell which pieces belong to the review.

    The encoder reads ``[CLS]`` distractor ``[SEP]`` review ``[SEP]``, as it was trained to read
    pairs of texts, in which the first text and the second have different token types (Devlin et al.
    2019, BERT). The ids come without the special ones around a text.
    """

    def __init__(self, *, fine_tune: bool) -> None:
        super().__init__()
        self.config = MINILM_CONFIG
        self.pretrained = PretrainedEncoder(self.config).requires_grad_(fine_tune)
        self.embed_dim = self.config.hidden_size

    def forward(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the hidden states (B, n, d), and a mask (B, 1, n), True for the review."""
        n = ids.shape[-1]
        width = -(-(n + 2) // _WIDTH_STEP) * _WIDTH_STEP
        framed = F.pad(ids, (1, width - n - 1))  # (B, width)
        column = torch.arange(width, device=ids.device)  # (width,)
        framed = framed.masked_fill(column == 0, PIECE_CLS_ID)
        framed = framed.masked_fill(column == lengths[:, None] + 1, PIECE_SEP_ID)
        mask = padding_mask(lengths, n)  # (B, 1, n)
        is_front = is_in_front(ids, mask, PIECE_SEP_ID)  # (B, n)
        types = F.pad(is_front.long(), (1, width - n - 1))  # (B, width)
        x = self.pretrained(framed, lengths + 2, token_types=types)  # (B, width, d)
        x = x[:, 1 : n + 1]  # (B, n, d)
        return x, mask & ~is_front[:, None]


def is_in_front(ids: Tensor, mask: Tensor, separator_id: int) -> Tensor:
    """Tell which ids (B, n) are a separator, or in front of one; the mask (B, 1, n) is of words."""
    separator = (ids == separator_id) & mask.squeeze(-2)  # (B, n)
    return separator.flip(-1).cumsum(-1).flip(-1) > 0


class SentimentClassifier(nn.Module):
    r"""Compute a logit for each review, above 0 if the review is more likely positive than not.

    .. math::
        X = \mathrm{embedding}(\mathrm{ids}) + S, \qquad
        \mathrm{logit} = \mathrm{pooled}(X) \cdot w + b

    With more than two ``labels``, there is a logit for each, with a w and a b of its own.

    Here S holds the positional encodings, and pooled(X) is the one vector that the words are pooled
    into. Some variants of attention, such as ``energy``, pool the words by themselves; others, such
    as ``qkv``, give each word a context, and the contexts are averaged. With ``bigram_buckets``,
    pairs of neighbouring words are attended to in addition to the words. A pair stands where its
    second word does, and half of its weight is reported at each of its words. With
    ``mask_padding=False``, padding up to ``max_length`` may get attention, as in Lab 13.

    With the attention ``minilm``, a pretrained encoder computes the hidden states of all word
    pieces. Only those of the review are pooled, not those of a distractor in front of it. The
    hidden states of a frozen encoder are pooled by their mean, and those of a fine-tuned encoder by
    attention with a single learned query. The class starts the encoder with random weights;
    ``attention.sentiment.model.build_model`` loads the published ones.

    Args:
        vocab_size: The number of ids in the embedding; id 0 is the padding.
        config: The configuration, whose fields can also be given one by one, such as
            ``embed_dim=8``.

    Shape:
        - ids: :math:`(B, n)`, integers
        - lengths: :math:`(B)`, integers; None means that no row has padding
        - logits: :math:`(B)`, or :math:`(B, C)` with more than two labels
        - weights: :math:`(B, n)` for pooling, :math:`(B, n, n)` for self-attention, as the mean
          over heads and layers if there are several. With ``bigram_buckets``, :math:`(B, n)` for
          both, which for self-attention is the mean over the words and pairs that attend

    Returns:
        The logits, or (logits, weights) with ``need_weights=True``.

    Raises:
        TypeError: If ``vocab_size`` is not an integer, or ids are not integers.
        ValueError: If ``vocab_size`` < 1, a field of the configuration is out of range, or a
            review is longer than ``max_length``.

    Example:
        >>> model = SentimentClassifier(100, embed_dim=8, attention="energy")
        >>> ids = torch.tensor([[5, 17, 3], [8, 0, 0]])
        >>> logits, weights = model(ids, torch.tensor([3, 1]), need_weights=True)
        >>> weights[1]
        tensor([1., 0., 0.], grad_fn=<SelectBackward0>)

    Source:
        Lab 13 (Nowakowski, 2024), with its faults corrected: padding is masked, scores are scaled,
        and positions are counted from the end.
    """

    def __init__(self, vocab_size: int, config: ModelConfig | None = None, **fields: Any) -> None:
        super().__init__()
        vocab_size = check_size("vocab_size", vocab_size)
        config = ModelConfig(**fields) if config is None else config.replace(**fields)
        dtype = config.dtype or str(torch.get_default_dtype()).removeprefix("torch.")
        self.config = config.replace(dtype=dtype)
        self.vocab_size = vocab_size
        self.encoder: ReviewEncoder | None = None
        self.bigrams: BigramEmbedding | None = None
        attention, width, options = config.attention, config.embed_dim, {}
        if config.is_pretrained:
            self.encoder = ReviewEncoder(fine_tune=config.fine_tune)
            attention, width = "energy" if config.fine_tune else "mean", self.encoder.embed_dim
            expected = self.encoder.config.vocab_size
            if vocab_size != expected:
                raise ValueError(
                    f"vocab_size: expected {expected}, the encoder's, got {vocab_size}"
                )
        else:
            options = config.attention_options
            self._add_embeddings()
        self.dropout = Dropout(config.dropout)
        self.attention = VARIANTS[attention].build(width, **options)
        # What goes by the order of the words, and must be told where a pair of them stands.
        self.reads_positions = bool({"rotary", "window"} & options.keys())
        # Contexts have the width of the values, if a layer has values.
        features = getattr(self.attention, "value_dim", width)
        pools = isinstance(self.attention, Pooling)
        self.average = None if pools else MeanPooling(features)
        count = len(config.labels)
        self.classifier = nn.Linear(features, 1 if count == 2 else count)
        self.to(getattr(torch, dtype))

    def _add_embeddings(self) -> None:
        """Make what turns words and pairs of them into vectors."""
        config, width = self.config, self.config.embed_dim
        # Padding that may be attended to has a vector of its own, which is trained as in Lab 13.
        padding = 0 if config.mask_padding else None
        self.embedding = nn.Embedding(self.vocab_size, width, padding_idx=padding)
        self.positions = (
            None
            if config.positions == "none"
            else SinusoidalPositions(width, max_length=config.max_length, base=config.position_base)
        )
        tables = [self.embedding.weight]
        if config.bigram_buckets:
            self.bigrams = BigramEmbedding(width, buckets=config.bigram_buckets)
            tables.append(self.bigrams.table.weight)
        with torch.no_grad():
            for table in tables:
                table.mul_(config.embedding_std)  # nn.Embedding draws with standard deviation 1
        self.segment = nn.Parameter(torch.zeros(width)) if config.segments else None

    @property
    def word_embedding(self) -> nn.Embedding:
        """The table of the words' vectors, which is a pretrained encoder's where there is one."""
        return self.embedding if self.encoder is None else self.encoder.pretrained.word

    @property
    def is_frozen(self) -> bool:
        """Whether a pretrained encoder reads the words and is left unchanged by training."""
        return self.encoder is not None and not self.config.fine_tune

    def forward(
        self, ids: Tensor, lengths: Tensor | None = None, *, need_weights: bool = False
    ) -> Attended:
        """Return the logits of each review, and the weights if they are needed."""
        if not need_weights:
            return self.classify(self.features(ids, lengths))
        x, mask = self._read(ids, lengths)
        context, weights = self.attention(
            x, attn_mask=mask, need_weights=True, **self._positions(x)
        )
        if weights.dim() == x.dim() + 2:
            weights = weights.mean(dim=0)  # (B, h, n, n), over the layers
        if weights.dim() == x.dim() + 1:
            weights = weights.mean(dim=-3)  # (B, n, n), over the heads
        return self.classify(self._pool(context, mask)), self._weights_of_words(weights, mask)

    def features(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the vector that each review's words are pooled into, (B, d).

        Training does not change that of a frozen encoder.
        """
        x, mask = self._read(ids, lengths)  # (B, n, d), (B, 1, n)
        return self._pool(self.attention(x, attn_mask=mask, **self._positions(x)), mask)

    def classify(self, features: Tensor) -> Tensor:
        """Return the logits of each review, (B,) or (B, C), from what :meth:`features` returned."""
        logits: Tensor = self.classifier(self.dropout(features))  # (B, 1) or (B, C)
        return logits.squeeze(-1)

    def _positions(self, x: Tensor) -> dict[str, Tensor]:
        """Return the positions of words and pairs, for a layer that goes by them."""
        if self.bigrams is None or not self.reads_positions:
            return {}
        n = x.shape[-2] // 2  # words, and as many pairs
        return {"positions": torch.arange(n, device=x.device).repeat(2)}  # (2n,)

    def _pool(self, context: Tensor, mask: Tensor) -> Tensor:
        return context if self.average is None else self.average(context, attn_mask=mask)  # (B, v)

    def _read(self, ids: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the vectors of words and pairs, and the mask of those that may be attended to."""
        # Another embedding may be in its place, also one that is no nn.Embedding.
        known = getattr(self.word_embedding, "num_embeddings", self.vocab_size)
        check_ids(ids, lengths, known)
        if ids.shape[-1] > self.config.max_length:
            raise ValueError(
                f"ids: expected at most max_length = {self.config.max_length} words per review, "
                f"got {ids.shape[-1]}; attention.predict.predict truncates as training does"
            )
        if lengths is None:
            lengths = torch.full(ids.shape[:-1], ids.shape[-1], device=ids.device)  # (B,)
        if self.encoder is not None:
            x, mask = self.encoder(ids, lengths)  # (B, n, d), (B, 1, n)
            return self.dropout(x), mask
        if not self.config.mask_padding:
            ids = F.pad(ids, (0, self.config.max_length - ids.shape[-1]))  # (B, max_length)
            lengths = torch.full_like(lengths, ids.shape[-1])  # (B,)
        n = ids.shape[-1]
        if self.training and self.config.word_dropout:
            dropped = torch.rand(ids.shape, device=ids.device) < self.config.word_dropout
            ids = ids.masked_fill(dropped & (ids > SEP_ID), UNK_ID)
        mask = padding_mask(lengths, n)  # (B, 1, n)
        x = self._add_positions(self.embedding(ids), ids, lengths, mask)  # (B, n, d)
        if self.bigrams is not None:
            pairs = self._add_positions(self.bigrams(ids), ids, lengths, mask)  # (B, n, d)
            x = torch.cat([x, pairs], dim=-2)  # (B, 2n, d)
            is_pair = BigramEmbedding.is_pair(ids)[..., None, :]  # (B, 1, n)
            mask = torch.cat([mask, mask & is_pair], dim=-1)  # (B, 1, 2n)
        return self.dropout(x), mask

    def _add_positions(self, x: Tensor, ids: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """Add each word's position, and whether it is in front of a separator."""
        if self.segment is not None:
            x = x + is_in_front(ids, mask, SEP_ID)[..., None] * self.segment  # (B, n, d)
        if self.positions is not None:
            n = ids.shape[-1]
            from_end = self.config.positions == "end"
            x = self.positions(x, positions_from_end(lengths, n) if from_end else None)
        return x

    def _weights_of_words(self, weights: Tensor, mask: Tensor) -> Tensor:
        if self.bigrams is None:
            return weights
        n = mask.shape[-1] // 2  # words, and as many pairs
        if self.average is not None:
            # Pairs attend like words, and the logit averages over all that attend.
            attends = mask.transpose(-2, -1)  # (B, 2n, 1)
            weights = (weights * attends).sum(dim=-2) / attends.sum(dim=-2).clamp(min=1)  # (B, 2n)
        words, pairs = weights[..., :n], weights[..., n:]  # (B, n), (B, n)
        # The pair at i is of the words i − 1 and i; there is none at 0 to wrap around.
        return words + (pairs + pairs.roll(-1, dims=-1)) / 2

    def save_pretrained(self, folder: str | os.PathLike[str], **metadata: object) -> None:
        """Write weights to ``model.safetensors``, configuration and metadata to ``config.json``."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        dtype = str(next(self.parameters()).dtype).removeprefix("torch.")
        config = {"vocab_size": self.vocab_size, **self.config.options(), "dtype": dtype}
        content = {"model": config} | metadata | {"model": config}
        write_text(path / "config.json", json.dumps(content, indent=2))
        write_tensors(path / "model.safetensors", self.state_dict())

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str]) -> Self:
        """Load a model from the run folder that training wrote, in evaluation mode.

        The folder may come from anywhere: nothing in it is executed, and memory is allocated only
        if the weights have the sizes that the configuration requires.

        Raises:
            ValueError: If a file can't be read, or the weights do not fit the configuration.
        """
        path = Path(folder)
        # Drawing weights that are then replaced must not change what the caller draws next.
        with read_errors(path, "a classifier"), torch.random.fork_rng(devices=[]):
            vocab_size, config = read_model_config(path)
            with torch.device("meta"):  # shapes without memory
                outline = cls(vocab_size, config)
            weights = read_tensors(path / "model.safetensors", outline.state_dict())
            model = cls(vocab_size, config)
            model.load_state_dict(weights)
            if bad := [name for name, table in weights.items() if not table.isfinite().all()]:
                raise ValueError(f"{bad[0]} holds a number that is not finite")
        return model.eval()


def build_model(config: TrainConfig, vocab_size: int) -> SentimentClassifier:
    """Build the model that a run trains, with weights drawn by the run's seed, or pretrained.

    Raises:
        ValueError: If the pretrained weights can't be found or downloaded.
    """
    with torch.random.fork_rng(devices=[]):  # the caller's next draw stays what it would have been
        torch.manual_seed(config.seed)
        model = SentimentClassifier(vocab_size, config.model)
    if model.encoder is not None:
        model.encoder.pretrained.load_state_dict(load_encoder("minilm")[0].state_dict())
    return model


def logits_of(model: Any, batch: Batch | FeatureBatch) -> Tensor:
    """Return the logits of a batch, (B,) or (B, C), also of a model that processes share."""
    if isinstance(batch, FeatureBatch):
        logits: Tensor = model.classify(batch.features)
    else:
        logits = model(batch.ids, batch.lengths)
    return logits

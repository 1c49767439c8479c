r"""The classifiers of the site: the package's, reading words that follow a negation as other words.

In "not a great film", what turns "great" around is two words before it. A mean adds up what the
words contribute, and pooling weights these contributions by positive numbers, so neither can let
"not" turn around what follows. Therefore each word has two vectors, one for the word and one for
the word in the scope of a negation, which here is the next few words of its clause (Das & Chen
2001, Yahoo! for Amazon; Pang, Lee & Vaithyanathan 2002, Thumbs up?,
https://aclanthology.org/W02-1011/).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from attention import SelfAttention
from attention._files import write_tensors, write_text
from attention.sentiment.model import SentimentClassifier
from attention.sentiment.tokenizer import SEP_ID, SPECIALS, TAG

#: The letter t is what the tokenizer leaves of "n't".
NEGATORS = (
    *("not", "t", "no", "never", "nothing", "nobody", "none", "neither", "nor", "hardly"),
    *("barely", "without", "cannot", "less", "least", "lacks", "lacking", "fails"),
)
SCOPE_ENDS = ("but", "yet", "although", "though", "because", "however")
SCOPE = 4
_TAG, _WORD = re.compile(TAG), re.compile("[a-z]+")
_STEMS = "ai|are|ca|could|did|do|does|had|has|have|is|must|need|should|was|were|wo|would"
# A word begins where no letter is before it, or after a newline that is written as \n.
_WITHOUT_APOSTROPHE = re.compile(rf"(^|[^a-z]|\\n)({_STEMS})nt(?![a-z])", re.IGNORECASE | re.ASCII)


def spell(text: str) -> str:
    """Put the apostrophe into words such as "isnt", which then are read as "isn't" is.

    Example:
        >>> spell("It isnt good, DONT go; cantankerous")
        "It isn't good, DOn't go; cantankerous"
    """
    return _WITHOUT_APOSTROPHE.sub(r"\1\2n't", text)


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    """Turn a text into ids as the models read it."""
    ids: list[int] = tokenizer.encode(spell(text)).ids
    return ids


def clause_starts(text: str) -> list[bool]:
    """Tell of each word whether a mark of punctuation stands between it and the word before it.

    Example:
        >>> clause_starts("Never again! It isn't good, <br />but short.")
        [False, False, True, False, False, False, True, False]
    """
    clean = _TAG.sub(" ", spell(text).replace(r"\n", " ").lower())
    starts, end = [], 0
    for word in _WORD.finditer(clean):
        starts.append(any(mark in ".,;:!?" for mark in clean[end : word.start()]))
        end = word.end()
    return starts


@dataclass(frozen=True, kw_only=True)
class PageConfig:
    """What the scripts of the site are told about a model.

    The vector of id i in the scope of a negation is that of id i + ``shift``.
    """

    kind: Literal["mean", "energy", "qkv"]
    embed_dim: int
    key_dim: int = 1
    value_dim: int = 1
    max_length: int = 256
    shift: int
    negators: Sequence[int]
    scope_ends: Sequence[int]
    scope: int = SCOPE
    recommended: bool = False

    @classmethod
    def with_words(cls, tokenizer: Tokenizer, **fields: Any) -> "PageConfig":
        """Describe a model that reads what a tokenizer returns."""
        ids = tokenizer.get_vocab()
        return cls(
            shift=len(ids),
            negators=[ids[word] for word in NEGATORS if word in ids],
            scope_ends=[SEP_ID, *(ids[word] for word in SCOPE_ENDS if word in ids)],
            **fields,
        )

    def mark(self, ids: Sequence[int], starts: Sequence[bool]) -> list[int]:
        """Replace the ids in the scope of a negation, which ends where a clause starts."""
        marked, left = [], 0
        for i, starts_clause in zip(ids, starts, strict=True):
            if i in self.scope_ends or starts_clause:
                left = 0
            is_marked = left > 0 and i >= len(SPECIALS) and i not in self.negators
            marked.append(i + self.shift if is_marked else i)
            left = self.scope if i in self.negators else max(left - 1, 0)
        return marked

    def build(self) -> SentimentClassifier:
        """Build the classifier, with weights that are drawn."""
        read: dict[str, Any] = {}  # what this model does not read is refused
        if self.kind == "qkv":
            read |= {"key_dim": self.key_dim, "value_dim": self.value_dim}
        return SentimentClassifier(
            2 * self.shift,
            **read,
            attention=self.kind,
            embed_dim=self.embed_dim,
            positions="none",
            max_length=self.max_length,
            embedding_std=0.1,
        )


class Reading(NamedTuple):
    """What a model says about one text of n words, and why.

    Shape:
        - weights: :math:`(n)`, the share of attention that each word receives
        - contributions: :math:`(n)`; their sum and the bias are the logit
        - map: :math:`(n, n)` for qkv, a row for the query of each word; None for the others
    """

    logit: float
    weights: Tensor
    contributions: Tensor
    map: Tensor | None


@dataclass(frozen=True)
class PageModel:
    """A classifier, and what the scripts of the site are told about it."""

    config: PageConfig
    classifier: SentimentClassifier

    @torch.no_grad()
    def read(self, ids: Sequence[int], starts: Sequence[bool]) -> Reading:
        r"""Classify one text, and tell what each word contributes to the logit.

        .. math:: \mathrm{contribution}_j = \mathrm{weight}_j \, (v_j \cdot w)

        The weight is the mean of those that a word receives, and :math:`v_j` is its value, which
        for mean and energy is its vector.
        """
        last = slice(-self.config.max_length, None)
        ids = self.config.mark(ids[last], starts[last])
        model = self.classifier
        bias = model.classifier.bias[0]
        if not ids:
            return Reading(bias.item(), bias.new_zeros(0), bias.new_zeros(0), None)
        seen: list[Tensor] = []
        handle = model.attention.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
        try:
            logits, weights = model(torch.tensor([ids]), need_weights=True)
        finally:
            handle.remove()
        value, grid = seen[0][0], None  # (n, d)
        if isinstance(model.attention, SelfAttention):
            value, grid = model.attention.W_value(value), weights[0]  # (n, v), (n, n)
            weights = weights.mean(dim=-2)  # (1, n)
        contributions = weights[0] * (value @ model.classifier.weight[0])  # (n,)
        return Reading(logits.item(), weights[0], contributions, grid)


def quantise(table: Tensor) -> tuple[Tensor, float]:
    r"""Round a table to 8 bits and one scale.

    .. math:: \mathrm{scale} = \max |\mathrm{table}| / 127, \qquad
              \mathrm{table} \approx \mathrm{scale} \cdot \mathrm{round}(\mathrm{table} /
              \mathrm{scale})

    Example:
        >>> numbers, scale = quantise(torch.tensor([[0.5, -1.27]]))
        >>> numbers.tolist(), round(scale, 6)
        ([[50, -127]], 0.01)
    """
    # Of 32 bits, as the file of the weights holds it
    scale = (table.detach().abs().max() / 127).float().item() or 1.0
    return (table.detach() / scale).round().clamp(-127, 127).to(torch.int8), scale


def write_model(model: PageModel, folder: Path) -> None:
    """Write a model as the site has it: its table in 8 bits and a scale, the rest in 16 bits."""
    state = model.classifier.state_dict()
    table, scale = quantise(state.pop("embedding.weight"))
    tensors = {name: weight.half() for name, weight in state.items()}
    tensors |= {"embedding": table, "embedding.scale": torch.tensor(scale)}
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors(folder / "model.safetensors", tensors)
    write_text(folder / "config.json", json.dumps(vars(model.config)))


def read_model(folder: Path) -> PageModel:
    """Read a model that :func:`write_model` wrote, in float64 so that only its numbers count."""
    config = PageConfig(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
    state = {name: each.double() for name, each in load_file(folder / "model.safetensors").items()}
    state["embedding.weight"] = state.pop("embedding") * state.pop("embedding.scale")
    classifier = config.build().double()
    classifier.load_state_dict(state)
    return PageModel(config, classifier.eval())

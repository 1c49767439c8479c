r"""The classifiers of the site: the package's layers, and pairs of words that are not neighbours.

In "not a great film", what turns "great" around is two words before it. The pairs of neighbours
that :class:`~attention.sentiment.model.SentimentClassifier` reads are "not a", "a great" and "great
film", and since the sum of their contributions is the same whichever adjective follows, no such sum
is negative here and positive for "not a bad film". So a pair here may skip words: the pair (not,
great) has one vector, whatever the distance between its words, up to ``bigram_span``. Such pairs
are called skip-bigrams (Guthrie et al. 2006, A closer look at skip-gram modelling).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from attention import EnergyPooling, MeanPooling, SelfAttention
from attention.functional import padding_mask
from attention.layers.bigrams import BigramEmbedding
from attention.layers.positions import SinusoidalPositions, positions_from_end
from attention.sentiment.tokenizer import SPECIALS

TABLES = ("embedding", "bigrams")


@dataclass(frozen=True, kw_only=True)
class PageConfig:
    """What the scripts of the site are told about a model."""

    kind: Literal["mean", "energy", "qkv"]
    embed_dim: int
    key_dim: int = 1
    value_dim: int = 1
    positions: Literal["end", "none"] = "none"
    base: float = 1_000.0
    max_length: int = 256
    bigram_buckets: int = 0
    bigram_span: int = 1
    trained_words: int = 0
    recommended: bool = False


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


class PageClassifier(nn.Module):
    r"""Compute for each text a logit, which is above 0 if the text is more likely positive.

    The rows that are attended to are the n words, followed by the pairs of words at distance 1, 2,
    … up to ``bigram_span``, each at the position of its second word.

    Args:
        config: Sizes and kind of the model.

    Shape:
        - ids: :math:`(B, n)`, integers
        - lengths: :math:`(B)`
        - logits: :math:`(B)`
    """

    def __init__(self, config: PageConfig) -> None:
        super().__init__()
        self.config = config
        width = config.embed_dim
        rows = config.trained_words + len(SPECIALS)
        self.embedding = nn.Embedding(rows, width, padding_idx=0)
        self.bigrams = (
            BigramEmbedding(width, buckets=config.bigram_buckets) if config.bigram_buckets else None
        )
        self.positions = (
            SinusoidalPositions(width, max_length=config.max_length, base=config.base)
            if config.positions == "end"
            else None
        )
        self.attention: MeanPooling | EnergyPooling | SelfAttention
        if config.kind == "mean":
            self.attention = MeanPooling(width)
        elif config.kind == "energy":
            self.attention = EnergyPooling(width)
        else:
            self.attention = SelfAttention(
                width, key_dim=config.key_dim, value_dim=config.value_dim
            )
        self.average = MeanPooling(config.value_dim) if config.kind == "qkv" else None
        self.classifier = nn.Linear(config.value_dim if config.kind == "qkv" else width, 1)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return one logit per text."""
        return self.classify(*self.rows(ids, lengths))

    def classify(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the logits of texts whose rows are known, (B, r, d) and (B, 1, r)."""
        context = self.attention(x, mask)  # (B, d) or (B, r, v)
        if self.average is not None:
            context = self.average(context, mask)  # (B, v)
        logits: Tensor = self.classifier(context).squeeze(-1)  # (B,)
        return logits

    def rows(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Return the vectors of words and pairs, and which of them there are."""
        n = ids.shape[-1]
        x, mask = [self.embedding(ids)], [padding_mask(lengths, n)]  # (B, n, d), (B, 1, n)
        if self.bigrams is not None:
            column = torch.arange(n, device=ids.device)
            for distance in range(1, self.config.bigram_span + 1):
                pairs = torch.stack([ids.roll(distance, dims=-1), ids], dim=-1)  # (B, n, 2)
                x.append(self.bigrams(pairs)[..., 1, :])  # (B, n, d)
                is_pair = self.bigrams.is_pair(pairs)[..., 1] & (column >= distance)  # (B, n)
                mask.append(is_pair[..., None, :])  # (B, 1, n)
        if self.positions is not None:
            positions = positions_from_end(lengths, n)  # (B, n)
            x = [self.positions(each, positions) for each in x]
        return torch.cat(x, dim=-2), torch.cat(mask, dim=-1)  # (B, r, d), (B, 1, r)

    @torch.no_grad()
    def read(self, ids: list[int]) -> Reading:
        """Classify one text, and divide weight and contribution of each pair between its words."""
        n = len(ids)
        bias = self.classifier.bias
        if not n:
            return Reading(bias.item(), bias.new_zeros(0), bias.new_zeros(0), None)
        x, mask = self.rows(torch.tensor([ids]), torch.tensor([n]))  # (1, r, d), (1, 1, r)
        is_row = mask[0, 0]  # (r,)
        values, grid = x[0], None  # (r, d)
        context, weights = self.attention(x, mask, need_weights=True)
        weights = weights[0]  # (r,) or (r, r)
        if self.average is not None:
            assert isinstance(self.attention, SelfAttention)
            values, grid = self.attention.values(x[0]), weights[:n]  # (r, v), (n, r)
            weights = weights[is_row].mean(dim=0)  # (r,)
        contributions = weights * (values @ self.classifier.weight[0])  # (r,)
        logit = contributions.sum() + bias
        return Reading(
            logit.item(),
            self._of_words(weights, n),
            self._of_words(contributions, n),
            None if grid is None else self._of_words(grid, n),
        )

    @staticmethod
    def _of_words(rows: Tensor, n: int) -> Tensor:
        """Add to each word's number half of that of each pair it is in, (..., r) to (..., n)."""
        words, *pairs = rows.split(n, dim=-1)  # (..., n) each
        for distance, pair in enumerate(pairs, start=1):
            # What has no pair has the weight 0, so nothing wraps around.
            words = words + (pair + pair.roll(-distance, dims=-1)) / 2
        return words


def quantise(table: Tensor) -> tuple[Tensor, float]:
    r"""Round a table to 8 bits and one scale.

    .. math:: \mathrm{scale} = \max |\mathrm{table}| / 127, \qquad
              \mathrm{table} \approx \mathrm{scale} \cdot \mathrm{round}(\mathrm{table} /
              \mathrm{scale})

    Example:
        >>> import torch
        >>> numbers, scale = quantise(torch.tensor([[0.5, -1.27]]))
        >>> numbers.tolist(), round(scale, 6)
        ([[50, -127]], 0.01)
    """
    # As the file of the weights holds it
    scale = (table.detach().abs().max() / 127).float().item() or 1.0
    return (table.detach() / scale).round().clamp(-127, 127).to(torch.int8), scale


def write_model(model: PageClassifier, folder: Path) -> None:
    """Write a model as the site has it: tables of 8 bits with their scales, the rest of 16 bits."""
    tensors: dict[str, Tensor] = {}
    for name, weight in model.state_dict().items():
        table = name.partition(".")[0]
        if table in TABLES:
            tensors[table], scale = quantise(weight)
            tensors[f"{table}.scale"] = torch.tensor(scale)
        else:
            tensors[name] = weight.half().contiguous()
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    text = json.dumps(vars(model.config), indent=1) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")


def read_model(folder: Path) -> PageClassifier:
    """Read a model that :func:`write_model` wrote, in float64 so that only its numbers count."""
    fields: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = PageClassifier(PageConfig(**fields)).double()
    tensors = load_file(folder / "model.safetensors")
    state = {}
    for name in model.state_dict():
        table = name.partition(".")[0]
        if table in TABLES:
            state[name] = tensors[table].double() * tensors[f"{table}.scale"].double()
        else:
            state[name] = tensors[name].double()
    model.load_state_dict(state)
    return model.eval()

"""The other side of the race: the procedure of Lab 13, step by step.

Pairs are joined as strings, every training text is tokenised once for the vocabulary and once more
for its ids, all rows are padded to 256, the scores of all pairs of positions are held in memory,
including those of the padding, and what a notebook keeps in global names is kept in attributes.
Steps and settings are those of Nowakowski (2024), Lab 13, "Towards self-attention";
the code is ours.
"""

import random
import re
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

MAX_LENGTH = 256
BATCH_SIZE = 1_024
EMBED_DIM = 16
KEY_DIM = 8
POSITION_BASE = 1_000

Loader = DataLoader[tuple[Tensor, ...]]


def read(folder: Path, split: str) -> tuple[list[str], list[int]]:
    """Read one split into Python lists."""
    table = pq.read_table(folder / f"{split}.parquet")
    return table["text"].to_pylist(), table["label"].to_pylist()


def with_distractors(texts: list[str], labels: list[int]) -> tuple[list[str], list[int]]:
    """Append each review once more, behind a random one and a space."""
    random.seed(42)
    joined = [texts[random.randint(0, len(texts) - 1)] + " " + text for text in texts]
    return texts + joined, labels + labels


def tokenize(text: str) -> list[str]:
    """Cut a text into lower-case words."""
    text = re.sub(r"<[^>]+>", " ", text.lower())
    text = re.sub(r"[^a-z\s]", " ", text)
    return re.sub(r"\s+", " ", text).strip().split()


def make_vocabulary(tokens: list[list[str]]) -> dict[str, int]:
    """Number the words that occur at least twice, which all do, as pairs repeat every review."""
    counts = Counter(word for words in tokens for word in words)
    vocabulary = {word: i + 2 for i, (word, n) in enumerate(counts.items()) if n >= 2}
    return vocabulary | {"<PAD>": 0, "<UNK>": 1}


def numbered(texts: list[str], vocabulary: dict[str, int]) -> list[list[int]]:
    """Tokenise each text, look up its words, and pad it with 0 or cut its end off."""
    rows = []
    for text in texts:
        ids = [vocabulary.get(word, 1) for word in tokenize(text)]
        rows.append(ids + [0] * (MAX_LENGTH - len(ids)) if len(ids) < MAX_LENGTH else ids[:256])
    return rows


def loader(rows: list[list[int]], labels: list[int], *, shuffle: bool = False) -> Loader:
    """Put all rows into one tensor of 64-bit integers, and make batches of it."""
    data = TensorDataset(torch.tensor(rows), torch.tensor(labels))
    return DataLoader(data, batch_size=BATCH_SIZE, shuffle=shuffle)


def sinusoids() -> Tensor:
    """Tabulate the positions, counted from the start."""
    i = torch.arange(EMBED_DIM)
    exponent = 2 * (i // 2) / EMBED_DIM
    angle = torch.arange(MAX_LENGTH)[:, None] / POSITION_BASE**exponent  # (n, d)
    return torch.where(i % 2 == 0, angle.sin(), angle.cos())  # (n, d)


class Net(nn.Module):
    """Embed, add positions, attend, average over all 256 positions, classify."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, EMBED_DIM)
        self.Q = nn.Linear(EMBED_DIM, KEY_DIM)
        self.K = nn.Linear(EMBED_DIM, KEY_DIM)
        self.V = nn.Linear(EMBED_DIM, EMBED_DIM)
        self.classifier = nn.Linear(EMBED_DIM, 1)
        self.S = sinusoids()

    def forward(self, ids: Tensor) -> Tensor:
        """Return one logit per row."""
        x = self.embedding(ids) + self.S  # (B, n, d)
        energies = self.Q(x) @ self.K(x).transpose(-2, -1)  # (B, n, n)
        context = F.softmax(energies, dim=-1) @ self.V(x)  # (B, n, d)
        pooled = context.mean(dim=1, keepdim=True)  # (B, 1, d)
        logits: Tensor = self.classifier(pooled).squeeze(-1).squeeze(-1)  # (B,)
        return logits


class Lab13:
    """The procedure of Lab 13, one step at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Go from the files to the two loaders, and to a first batch."""
        train_texts, train_labels = with_distractors(*read(self.folder, "train"))
        texts, labels = with_distractors(*read(self.folder, "validation"))
        tokens = [tokenize(text) for text in train_texts]
        self.vocabulary = make_vocabulary(tokens)
        train_rows, rows = numbered(train_texts, self.vocabulary), numbered(texts, self.vocabulary)
        self.held = train_texts, texts, tokens, train_rows, rows  # when training starts, still
        self.train = loader(train_rows, train_labels, shuffle=True)
        self.validation = loader(rows, labels)
        next(iter(self.train))

    def start(self) -> None:
        """Build the model and the optimiser."""
        torch.manual_seed(42)
        self.net = Net(max(self.vocabulary.values()) + 1)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.001)
        self.criterion = nn.BCEWithLogitsLoss()

    def epoch(self) -> dict[str, float]:
        """Train once over the data, then measure on the validation rows."""
        started = time.perf_counter(), time.process_time()
        self.net.train()
        loss_sum, correct, count = 0.0, 0.0, 0
        for ids, labels in self.train:
            labels = labels.float()
            self.optimizer.zero_grad()
            logits = self.net(ids)
            loss = self.criterion(logits, labels)
            loss.backward()
            self.optimizer.step()
            loss_sum += loss.item() * len(ids)
            correct += ((torch.sigmoid(logits) > 0.5).float() == labels).sum().item()
            count += len(ids)
        seconds = time.perf_counter() - started[0]
        cpu_seconds = time.process_time() - started[1]
        return {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "train_loss": loss_sum / count,
            "train_accuracy": correct / count,
            "validation_accuracy": self.validate(),
        }

    @torch.no_grad()
    def validate(self) -> float:
        """Measure reviews alone and behind distractors, together."""
        self.net.eval()
        correct, count = 0.0, 0
        for ids, labels in self.validation:
            logits = self.net(ids)
            self.criterion(logits, labels.float()).item()
            correct += ((torch.sigmoid(logits) > 0.5).float() == labels.float()).sum().item()
            count += len(ids)
        return correct / count

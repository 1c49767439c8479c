"""
.. lesson:: Sentiment classifier
   :minutes: 75
   :extra: train
   :needs: core/plot_4 core/plot_6 core/plot_7
   :exercises: training
   :tasks: keep-the-end margin
   :search: sentiment classification; training loop

Train a sentiment classifier: the loader, the loop, the validation
==================================================================

Does attention help to tell a good review from a bad one?

Trained on single film reviews, a transformer block and a plain mean of the words' vectors end about
equally accurate. When an unrelated review is put in front of each review and only the second one
counts, however, attention is several points more accurate than the mean, because a mean cannot
leave words out.

The first reading takes eleven minutes, and the whole page an hour and a quarter. You need the
lessons on :doc:`masks </gallery/core/plot_4_masks>`, on :doc:`positions
</gallery/core/plot_6_positions>` and on :doc:`the transformer block
</gallery/core/plot_7_transformer_block>`. Running the page takes two minutes.
"""

import csv
import random
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from attention import SentimentClassifier, SinusoidalPositions, TransformerBlock, padding_mask
from attention.plotting import BLACK, BLUE, ORANGE, draw_box, draw_flow, use_style, words_as_html
from attention.sentiment.config import ModelConfig, TrainConfig, config_json
from attention.sentiment.model import build_model
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer
from attention.sentiment.training import prepare

use_style()
QUICK = False  # True: fewer reviews and steps, for a first try

# %%

STEPS = {
    "B reviews": "texts",
    "encode, and pad to the longest": "ids (B, n), mask (B, 1, n)",
    "embedding + positions": "(B, n, d)",
    "transformer blocks, with the mask": "(B, n, d)",
    "mean over the words, with the mask": "(B, d)",
    "linear layer": "logits (B,)",
}
fig, ax = plt.subplots(figsize=(4.8, 5.4))
ax.set(xlim=(0, 10), ylim=(13.2, -0.5))
for i, (step, shape) in enumerate(STEPS.items()):
    draw_box(ax, 5, 2.2 * i, step)
    draw_flow(ax, (5, 2.2 * i + 0.5), (5, 2.2 * i + 1.7), shape)
fig.set_label(
    "Flow chart from top to bottom: B reviews are encoded and padded, which gives ids (B, n) and a "
    "mask (B, 1, n); embedding and positions make (B, n, d), and transformer blocks keep this "
    "shape; the mean over the words makes (B, d), and a linear layer makes logits (B,)."
)
plt.show()

# %%
# *Figure 1.* How a :term:`batch` of B reviews becomes B logits. In between, each review has n
# words, padding included, and each word has d numbers.
#
# The film reviews (:cite:t:`maas2011learning`) come with the package.

# Setup: the options, and the reviews.
DATA = "imdb"

config = TrainConfig(
    model=ModelConfig(embed_dim=24, embedding_std=0.1),
    data=DATA,
    limit=40 if QUICK else 6_000,
    epochs=1 if QUICK else 4,
    batch_size=128,
    lr=4e-3,
)
reviews = load_reviews(config.data, limit=200 if QUICK else None)
# A sample to train on, so that the page runs in minutes.
reviews["train"] = load_reviews(config.data, limit=config.limit)["train"]
for name, split in reviews.items():
    counts = Counter(split.labels)
    print(f"{name:10}  {counts[0]:5} negative  {counts[1]:5} positive")

# %%
# From text to logits
# -------------------
# A model reads integers, so a text is split into words, and each word of the :term:`vocabulary` has
# an id. The vocabulary holds the words that occur at least twice in the training reviews. Two ids
# are reserved: 0 for the :term:`padding`, and 1, ``<unk>``, for all other words.


# Setup: the words of a text, and their ids.
# attention_from_scratch.py
def words_of(text):
    """Split a text into words of the letters a to z, in lower case, without HTML tags."""
    return re.findall("[a-z]+", re.sub("<[a-z/!][^<>]*>", " ", text.lower()))


def build_vocabulary(texts, min_count=2):
    """Number the words that occur at least min_count times, the most frequent first."""
    counts = {}
    for text in texts:
        for word in words_of(text):
            counts[word] = counts.get(word, 0) + 1
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    kept = [word for word in ranked if counts[word] >= min_count]
    return {word: i for i, word in enumerate(["<pad>", "<unk>", *kept])}


def encode(text, vocabulary, max_length=256):
    """Return the ids of a text's words, of the last max_length words if it has more."""
    return [vocabulary.get(word, 1) for word in words_of(text)][-max_length:]


# %%
# Five beginnings, their words as the model knows them, and their ids:

# Table: five beginnings, and their ids.
vocabulary = build_vocabulary(reviews["train"].texts)
print(f"{len(vocabulary):,} ids in the vocabulary")
starts = (" ".join(text.split()[:9]) for text in reviews["train"].texts)
for start in [start for start in starts if 1 in encode(start, vocabulary)][:5]:
    known = [word if word in vocabulary else "<unk>" for word in words_of(start)]
    for line in (f"\n{start}", " ".join(known), str(encode(start, vocabulary))):
        print("\n".join(textwrap.wrap(line, 60, replace_whitespace=False)))

# %%
# The reviews of a batch share one tensor, so each is padded to the longest among them, and a
# padding :term:`mask` says which ids are words.


# Setup: batches of padded reviews.
# attention_from_scratch.py
def batches(examples, batch_size, shuffle=False):
    """Yield ids (B, n), mask (B, 1, n) and labels (B,); each example is a pair (ids, label)."""
    order = torch.randperm(len(examples)) if shuffle else torch.arange(len(examples))
    for rows in order.split(batch_size):
        texts, labels = zip(*(examples[i] for i in rows), strict=True)
        lengths = torch.tensor([len(text) for text in texts])
        n = max(lengths.max().item(), 1)
        ids = torch.tensor([text + [0] * (n - len(text)) for text in texts])  # (..., n)
        yield ids, padding_mask(lengths, n), torch.tensor(labels, dtype=torch.float32)


# %%

# Setup: the ids of all reviews, and the first batch.
examples = {}
for name in ("train", "validation"):
    ids_of = [encode(text, vocabulary, max_length=128) for text in reviews[name].texts]
    examples[name] = list(zip(ids_of, reviews[name].labels, strict=True))
ids, mask, labels = next(batches(examples["train"], 32))  # (32, 128), (32, 1, 128), (32,)
print(f"the first batch: {mask.sum()} words, {(~mask).sum()} ids of padding")

# %%

fig, ax = plt.subplots(figsize=(5, 2.8))
ax.imshow(mask[:, 0].int().numpy(), cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
ax.set(xlabel="position", ylabel="review")
fig.set_label(
    "The mask of a batch: one row per review, 32 in all, and one column per position, 128. Most "
    "rows are filled to the end, and a few short reviews leave the right part of their row empty."
)

# %%
# *Figure 2.* The mask of the first batch, with the words filled. What is empty is padding.
#
# In the model, the vectors of each word and of its position are added, and blocks follow. The mean
# over the words, without the padding, goes into a linear layer. Its result is the :term:`logit`,
# which is positive if the model takes a review to be positive.


# Setup: the table that you wrote in the lesson on positions.
def sinusoidal_positions(n, embed_dim):
    """Return the table that you wrote in the lesson on positions, from the package's class."""
    return SinusoidalPositions(embed_dim, max_length=n)(torch.zeros(n, embed_dim))


# %%


# attention_from_scratch.py
class ReviewClassifier(nn.Module):
    """Read reviews, and return one logit for each, above 0 for a positive review."""

    def __init__(self, vocab_size, embed_dim, num_heads, num_layers):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        with torch.no_grad():
            self.embedding.weight.mul_(0.1)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim)
        self.classifier = nn.Linear(embed_dim, 1)

    def forward(self, ids, mask):
        x = self.embedding(ids)  # (..., n, d)
        x = x + sinusoidal_positions(*x.shape[-2:])  # (..., n, d)
        for block in self.blocks:
            x = block(x, attn_mask=mask)  # (..., n, d)
        is_word = mask.mT  # (..., n, 1)
        total = (self.norm(x) * is_word).sum(dim=-2)  # (..., d)
        mean = total / is_word.sum(dim=-2).clamp(min=1)  # (..., d)
        return self.classifier(mean).squeeze(-1)  # (...)


# %%
# Closer look: train on reviews of restaurants
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# With ``DATA = "yelp"`` the page reads reviews of restaurants and other businesses
# (:cite:t:`zhang2015character`) instead, once they have been fetched. Each of their labels stands
# for several star ratings, as :doc:`a case study </gallery/cases/plot_1_ten_pitfalls>` explains in
# its first section.
#
# Closer look: why a word that occurs once gets no id
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Little can be learned about a word from a single occurrence, and most words of the reviews occur
# only once.

occurs = Counter(word for text in reviews["train"].texts for word in words_of(text))
number_of = Counter(min(count, 10) for count in occurs.values())
fig, ax = plt.subplots(figsize=(5, 3))
colors = [ORANGE, *[BLUE] * 9]
ax.bar(range(1, 11), [number_of[count] for count in range(1, 11)], color=colors)
ax.set_xticks(range(1, 11), [*map(str, range(1, 10)), "10 +"])
ax.set(xlabel="how often a word occurs", ylabel="words")
ax.yaxis.set_major_formatter("{x:,.0f}")
fig.set_label(
    "Bars: how many words of the training reviews occur once, twice and so on. Those that occur "
    "only once are by far the most, and the bars fall quickly from there. Those that occur ten "
    "times or more make up one bar again, which is high."
)

# %%
# *Figure 2a.* The words of the training reviews by how often they occur. Those that occur once get
# no id of their own.
#
# The section *Tokenizer* of :ref:`Lab 13 <source-lab>`, the notebook that these lessons grew from,
# sets out to "Print 5 real examples" with an unknown word, and finds none. The reason is that the
# lab uses each review twice, alone and behind another review, and counts the words only after this
# doubling. So no word occurs only once, and the vector of ``<unk>`` is never trained.
#
# Closer look: the package's model gives the same logits
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# In training, the order of the reviews is drawn anew for each epoch. With a ``DataLoader`` of
# torch, the padding would be the work of its ``collate_fn``. The mask is needed twice, by the
# blocks and by the mean. The embeddings are initialised at a tenth of the size that torch gives
# them, which is a choice that this page does not test.
#
# The package's :class:`~attention.SentimentClassifier` is the same function if it counts positions
# from the start, as yours does. (By default it counts from the end, for a reason given below.) With
# copied parameters, logits and gradients agree on the batch:

# Check: the package's model, in value and in gradient.
own = ReviewClassifier(len(vocabulary), embed_dim=16, num_heads=4, num_layers=2)
packages = SentimentClassifier(
    len(vocabulary),
    attention="transformer",
    embed_dim=16,
    num_heads=4,
    num_layers=2,
    bias=True,
    positions="start",
    position_base=10_000.0,
)
weight_pairs = list(zip(own.parameters(), packages.parameters(), strict=True))
with torch.no_grad():
    for weight, other in weight_pairs:
        other.copy_(weight)
logits = own(ids, mask)  # (32,)
other_logits = packages(ids, mask.sum(dim=(-2, -1)))  # (32,)
for each in (logits, other_logits):
    F.binary_cross_entropy_with_logits(each, labels).backward()
assert torch.allclose(logits, other_logits, atol=1e-5)
assert all(torch.allclose(w.grad, other.grad, atol=1e-6) for w, other in weight_pairs)
print("logits and gradients agree")

# %%
# The loss: binary cross-entropy
# ------------------------------
# The :term:`sigmoid` of the logit z is the probability of a positive review:
#
# .. math:: p = \frac{1}{1 + \exp(-z)}
#
# The :term:`loss` is −ln p if the label y is 1, and −ln(1 − p) if it is 0. An undecided p = 1/2
# costs ln 2 ≈ 0.69.

logit = torch.linspace(-5, 5, 100)  # (100,)
fig, ax = plt.subplots(figsize=(5, 3))
for label, color, line in ((1, BLUE, "-"), (0, ORANGE, "--")):
    answer = torch.full_like(logit, label)  # (100,)
    costs = F.binary_cross_entropy_with_logits(logit, answer, reduction="none")  # (100,)
    ax.plot(logit, costs, line, color=color, label=f"the label is {label}")
ax.set(xlabel="logit z", ylabel="loss (nats)")
ax.legend(loc="upper center")
fig.set_label(
    "The loss against the logit, from minus 5 to 5, for both labels. For label 1 it falls from 5 "
    "almost along a line and flattens out near 0; for label 0 it is the mirror image."
)

# %%
# *Figure 3.* The loss of one review. On the wrong side it rises by one per unit of the logit, and
# on the right side it is nearly level, so that hardly any gradient is left. Its unit is the *nat*,
# because the logarithm is the natural one.
#
# Closer look: the derivative of the loss is p − y
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Computed by the formula above, the loss fails where p rounds to 0, so torch computes it from the
# logit itself. For y = 1 the derivative of the loss with respect to z is
#
# .. math:: \frac{\mathrm{d}}{\mathrm{d}z} \ln\big(1 + \exp(-z)\big)
#           = \frac{-\exp(-z)}{1 + \exp(-z)} = p - 1 ,
#
# and for y = 0 the same steps give p, so in both cases the derivative is p − y. So only a review
# that is misjudged, or judged with little confidence, moves the weights much.

z = torch.tensor([2.0, -2.0, -120.0], requires_grad=True)  # (3,)
p, y = torch.sigmoid(z), torch.ones(3)  # (3,), (3,)
loss = F.binary_cross_entropy_with_logits(z, y, reduction="none")  # (3,)
loss.sum().backward()
print("−ln p:      ", (-p.log()).detach())
print("from logits:", loss.detach())
print("derivative: ", z.grad)
assert torch.allclose(z.grad, (p - y).detach())

# %%
# The loop, and the validation
# ----------------------------
# A step takes one batch, computes its logits, their loss and the gradients, and moves the
# parameters against the gradients. An :term:`epoch` is one pass over all batches.


# attention_from_scratch.py
def train_one_epoch(model, loader, optimizer):
    """Take a step per batch; return mean loss and accuracy, measured before each step."""
    model.train()
    total, right, count = 0.0, 0, 0
    for ids, mask, labels in loader:
        logits = model(ids, mask)
        loss = F.binary_cross_entropy_with_logits(logits, labels)
        optimizer.zero_grad()  # backward adds to the gradients that are there
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)  # the last batch may be smaller
        right += ((logits > 0) == (labels == 1)).sum().item()
        count += len(labels)
    return total / count, right / count


# %%
# Validation computes the same loss without gradients, on reviews that are not trained on. We train
# two models with :term:`Adam`: one with a single block, and one without any, which takes the mean
# of its words. It is the :term:`baseline` for what attention adds.


# Setup: the same without steps.
# attention_from_scratch.py
@torch.no_grad()
def validate(model, loader):
    """Return mean loss and accuracy, and leave the weights as they are."""
    model.eval()
    total, right, count = 0.0, 0, 0
    for ids, mask, labels in loader:
        logits = model(ids, mask)
        total += F.binary_cross_entropy_with_logits(logits, labels, reduction="sum").item()
        right += ((logits > 0) == (labels == 1)).sum().item()
        count += len(labels)
    return total / count, right / count


# %%

own_models, curves = {}, {}
for name, num_layers in (("mean alone", 0), ("block", 1)):
    torch.manual_seed(0)
    model = ReviewClassifier(len(vocabulary), embed_dim=32, num_heads=4, num_layers=num_layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    own_models[name], curves[name] = model, []
    for _ in range(config.epochs):
        row = train_one_epoch(model, batches(examples["train"], 32, shuffle=True), optimizer)
        row += validate(model, batches(examples["validation"], 100))
        curves[name].append(row)

# %%
# .. predict:: loss-of-the-block
#
#    The training loss of the block falls in each of four epochs. What does its validation loss do?
#
#    It falls in each epoch, too : ``lowest == config.epochs``
#        It would if the block learned only what all reviews have in common.
#    It falls at first, and then rises : ``1 < lowest < config.epochs``
#        At first the block learns what holds for all reviews, and later what is true of its own.
#    It rises from the first epoch on : ``lowest == 1``
#        Then one epoch would teach it all that helps with other reviews.

# Table: loss and accuracy after each epoch, and their curves.
losses = [row[2] for row in curves["block"]]
lowest = losses.index(min(losses)) + 1
print(f"{'':20}training      validation")
for name, rows in curves.items():
    for epoch, row in enumerate(rows, 1):
        print(f"{name:10} epoch {epoch} ", "  ".join(f"{number:.3f}" for number in row))


def draw_curves(panels, name, color, marker):
    """Draw training dashed and validation solid, the loss in one panel, accuracy in the other."""
    for column, values in enumerate(zip(*curves[name], strict=True)):
        what, style = ("training", "--") if column < 2 else ("validation", "-")
        epochs, label = range(1, len(values) + 1), f"{name}, {what}"
        panels[column % 2].plot(epochs, values, style, color=color, marker=marker, label=label)
    panels[0].set(ylabel="loss (nats per review)", ylim=(0, None))
    panels[1].set(ylabel="accuracy", xticks=epochs)


fig, panels = plt.subplots(2, 1, figsize=(5, 6), sharex=True)
draw_curves(panels, "mean alone", ORANGE, "s")
draw_curves(panels, "block", BLUE, "o")
panels[1].set_xlabel("epoch")
panels[1].legend(loc="lower right")
fig.set_label(
    "Loss above and accuracy below, by epoch. Both models' training curves improve to the end. The "
    "block's validation loss falls and then rises again, while its accuracy stays about the same."
)
plt.show()

# %%
# *Figure 4.* Training (dashed) and validation (solid) of a mean of the words (squares) and of one
# transformer block (circles).
#
# By its training curve alone, the block is far better than the mean. Validation says otherwise: the
# block *overfits*. Its loss on other reviews rises because it becomes more confident in its
# mistakes, while their number hardly changes. The remedy is to stop where the validation loss is
# lowest, or to find more reviews.
#
# Closer look: train and eval, and what else the loop assumes
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The two modes of a model, ``train`` and ``eval``, matter only to layers such as dropout. This
# model has no such layer, but another model may. Both models above are of the class
# ``ReviewClassifier`` and read the last 128 words of each review. The one without a block takes the
# mean of LayerNorm(word + position).
#
# Closer look: a program of your own
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# What is still missing is a way to run all this from the command line. The reviews are rows of a
# CSV file with two columns, ``label`` (0 or 1) and ``text``, and a tenth of the rows is held back
# for validation.


# attention_from_scratch.py
def read_reviews(path):
    """Read pairs of text and label from a CSV file with the columns label and text."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = csv.DictReader(file)
        if missing := {"label", "text"} - set(rows.fieldnames or ()):
            raise ValueError(f"the first line names no column {min(missing)!r}")
        reviews = []
        for row in rows:
            if row["label"] not in ("0", "1") or row["text"] is None:
                raise ValueError(f"line {rows.line_num}: expected a label, 0 or 1, and a text")
            reviews.append((row["text"], int(row["label"])))
    if len(reviews) < 10:
        raise ValueError(f"expected at least 10 reviews, got {len(reviews)}")
    return reviews


def main(arguments):
    """Train on the reviews of a CSV file, and print loss and accuracy after each epoch."""
    if len(arguments) != 1:
        print("usage: python attention_from_scratch.py reviews.csv", file=sys.stderr)
        return 2
    try:
        reviews = read_reviews(arguments[0])
    except (OSError, ValueError, csv.Error) as error:
        print(f"{arguments[0]}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    random.Random(0).shuffle(reviews)
    held_back = len(reviews) // 10
    vocabulary = build_vocabulary(text for text, _ in reviews[held_back:])
    examples = [(encode(text, vocabulary), label) for text, label in reviews]
    model = ReviewClassifier(len(vocabulary), embed_dim=32, num_heads=4, num_layers=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 6):
        loader = batches(examples[held_back:], 32, shuffle=True)
        loss, accuracy = train_one_epoch(model, loader, optimizer)
        print(f"epoch {epoch}  training: loss {loss:.3f}, accuracy {accuracy:.3f}", end="  ")
        loss, accuracy = validate(model, batches(examples[:held_back], 100))
        print(f"validation: loss {loss:.3f}, accuracy {accuracy:.3f}", flush=True)
    return 0


# %%
# With this last piece, the code of all lessons makes up one program that needs nothing but torch:
# `download the whole file, attention_from_scratch.py <../../attention_from_scratch.py>`__. Comments
# in the file say which lesson explains what, and its last two lines call ``main``.
#
# .. code-block:: console
#
#    $ python attention_from_scratch.py reviews.csv
#
# A distractor in front
# ---------------------
# In the next task, words must be left out. Each review is read twice per epoch: alone, and behind a
# :term:`distractor`, another review whose label does not count. From here on, the package does what
# you have written so far.

# Setup: the pairs.
prepared = prepare(config, reviews)
tokenizer = prepared.tokenizer
E, N = len(prepared.examples), len(reviews["train"])
behind = prepared.examples.distractor >= 0  # (E,)
drawn = prepared.examples.distractor[behind]  # (N,)
itself = (drawn == prepared.examples.review[behind]).sum().item()
print(f"{N:,} pairs to train on; in {itself} of them a review is its own distractor")

# %%
# A model reads at most 256 words, so a pair must often be cut. At which end?

# Table: what is lost at either end.
pairs = prepared.validation["distractor"]
N = len(pairs)
one = pairs.ids.lengths  # (N,)
review, front = one[pairs.review.long()], one[pairs.distractor.long()]  # (N,), (N,)
most = config.model.max_length
room = most - front - 1  # (N,)
print(f"keep the head: {(room <= 0).float().mean():.1%} of the labelled reviews are lost wholly,")
print(f"               {(review > room).float().mean():.1%} at least in part")
print(f"keep the tail: {(review > most).float().mean():.1%} lose their beginning")

# %%

fig, axes = plt.subplots(2, figsize=(5, 5.4))
rows = range(min(24, N))
first, second = front[: len(rows)].tolist(), review[: len(rows)].tolist()
for ax, title, start in ((axes[0], "keep the head", 0), (axes[1], "keep the tail", 1)):
    for row, one_front, one_review in zip(rows, first, second, strict=True):
        left = -start * (one_front + one_review)  # the pair ends at 0, or begins there
        ax.barh(row, one_front, left=left, color="0.7", height=0.8)
        ax.barh(row, one_review, left=left + one_front, color=BLUE, height=0.8)
    ax.axvline(-most if start else most, color=BLACK, lw=1.5)
    ax.set_title(title, loc="left", fontsize=11)
    ax.set(xlim=(-2 * most, 0) if start else (0, 2 * most), yticks=[], ylabel="pairs")
axes[1].set_xlabel("words")
fig.set_label(
    "Two panels of 24 bars, one per pair: a grey distractor, then a blue review. Above, a line at "
    "256 words from the beginning: left of it is mostly grey. Below, a line at 256 words from the "
    "end: right of it is mostly blue."
)

# %%
# *Figure 5.* Twenty-four pairs, the distractor in grey and the review that counts in blue. A model
# reads 256 words: those left of the line if the head is kept, those right of it if the tail is.
#
# The head is mostly the distractor, so we keep the tail, and count positions from the end.
#
# Closer look: a notebook that cut off the review that counts
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The task and the three networks below are those of :ref:`Lab 13 <source-lab>`.
#
# .. admonition:: What went wrong: cutting off the review that counts
#    :class: warning
#
#    The function ``pad`` of the lab keeps the beginning of a text, its *head*. What survives is
#    mostly the distractor, whereas the label belongs to the second review, and the model sees few
#    of its words or none.
#
# Distractors are drawn at random from all reviews, and only once, so a review has the same
# distractor in every epoch. It is followed by ``<sep>``, and the label of both together is always
# that of the second review. The 256 words include the separator. A review may even draw itself,
# which is to be expected for about one review in the whole data set. In the package, ``prepare``
# makes the vocabulary, the ids and the pairs, and :class:`~attention.sentiment.trainer.Trainer` is
# the loop.
#
# Three networks and a mean
# -------------------------
# In *mean*, the baseline, every word counts the same. The second model, *energy*, is attention
# pooling: one learned query serves all reviews. In *qk* every word has a query of its own, and
# receives a mean of the words' vectors under its own weights. In *qkv* it receives a mean of
# values. The mean of the results is taken, and one linear layer decides. Here are the accuracies
# after the last epoch, with a 95 % :term:`confidence interval` each, on validation reviews read
# alone (*clean*) and behind a *distractor*.

# Table: the four models, trained, and their accuracies.
models, history = {}, {}
options = {"mean": {}, "energy": {}, "qk": {"key_dim": 12}, "qkv": {"key_dim": 12}}
runs = {kind: config.with_options(model=kind, **chosen) for kind, chosen in options.items()}
for kind, run in runs.items():
    models[kind] = build_model(run, tokenizer.get_vocab_size())
    trainer = Trainer(models[kind], prepared.examples, prepared.validation, run)
    history[kind] = trainer.run()
    curves[kind] = [
        [line["train"][what] for what in ("loss", "accuracy")]
        + [(line["clean"][what] + line["distractor"][what]) / 2 for what in ("loss", "accuracy")]
        for line in history[kind]
    ]
    print(f"{kind:6} training {history[kind][-1]['train']['accuracy']:.3f}", end="")
    for name in prepared.validation:
        low, high = history[kind][-1][name]["accuracy_interval"]
        print(f"  {name} {history[kind][-1][name]['accuracy']:.3f} ({low:.3f}–{high:.3f})", end="")
    print()

# %%
fig, ax = plt.subplots(figsize=(5, 2.8))
for name, color, marker, above in (("clean", BLUE, "o", -0.15), ("distractor", ORANGE, "s", 0.15)):
    for i, kind in enumerate(history):
        last = history[kind][-1][name]
        label = name if i == 0 else None
        ax.plot(last["accuracy_interval"], [i + above] * 2, color=color, lw=1.5)
        ax.plot(last["accuracy"], i + above, marker, color=color, label=label)
ax.set_yticks(range(len(history)), history)
ax.set_xlabel("accuracy on validation reviews")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.invert_yaxis()
fig.legend(loc="outside upper center", ncols=2)
fig.set_label(
    "Accuracies of the four models as points with their 95 % intervals, read clean and behind a "
    "distractor. Behind a distractor the mean is the lowest by far; on clean reviews the four lie "
    "closer to each other."
)
plt.show()

# %%
# *Figure 6.* The accuracies with their 95 % intervals, of reviews read alone (circles) and
# behind a distractor (squares).
#
# Closer look: the four models in formulas
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Here :math:`x_i` is the sum of the vectors of word i and of its position, X has these sums as its
# rows, and w is a learned vector. In *qk* and *qkv* every word compares its query with every word's
# key, so there is one context per word, of which the mean is taken.
#
# .. math::
#
#    \text{mean:} \quad & \mathrm{context} = \tfrac{1}{n} \sum_i x_i \\
#    \text{energy:} \quad & e_i = x_i \cdot w, \quad a = \mathrm{softmax}(e), \\
#    & \mathrm{context} = \sum_i a_i\, x_i \\
#    \text{qk:} \quad & \mathrm{context} = \mathrm{softmax}(Q K^\top / \sqrt{k})\, X \\
#    \text{qkv:} \quad & \mathrm{context} = \mathrm{softmax}(Q K^\top / \sqrt{k})\, V
#
# Closer look: a bias that is never trained
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The models read the same batches, and the same seed is set before each of them is built, whereas
# Lab 13 sets a seed before its first network only. The weight of a word in *energy* depends on the
# word and on its position, counted from the end. Lab 13 computes its energy with ``nn.Linear(…,
# 1)``, which has a :term:`bias`. This bias adds one constant to all scores of a review, and a
# softmax takes no notice of that:

# Check: ten more on each score, and the gradient of the bias.
score = nn.Linear(24, 1).double()
x = torch.randn(5, 7, 24).double()  # (5, 7, 24)
weights, moved = score(x).softmax(dim=1), (score(x) + 10).softmax(dim=1)  # (5, 7, 1), (5, 7, 1)
loss = F.binary_cross_entropy_with_logits((weights * x).sum(dim=(1, 2)), torch.ones(5).double())
loss.backward()
print(f"scores + 10 change a weight by {(moved - weights).abs().max().item():.0e} at most")
print(f"largest gradient of the weights: {score.weight.grad.abs().max().item():.2f}")
print(f"gradient of the bias: {score.bias.grad.abs().item():.0e}")

# %%
# Apart from rounding errors, this bias is never trained, so our *energy* network does without it.
# Which other biases are never trained, and when, is the subject of :doc:`the lesson on gauge
# freedom and biases </gallery/deeper/plot_2_gauge_and_biases>`.
#
# Closer look: how each network learns, beside the mean
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~

fig, grid = plt.subplots(3, 2, figsize=(5.6, 7.4), sharex=True, sharey="col")
for panels, kind in zip(grid, ("energy", "qk", "qkv"), strict=True):
    draw_curves(panels, "mean", ORANGE, "s")
    draw_curves(panels, kind, BLUE, "o")
    panels[1].legend(loc="lower right", fontsize=8)
for ax in grid[-1]:
    ax.set_xlabel("epoch")
fig.set_label(
    "Loss on the left and accuracy on the right, by epoch, in one row each for energy pooling, QK "
    "and QKV, with the mean in every row. Training ends above validation in accuracy everywhere, "
    "and furthest above it for QKV."
)
plt.show()

# %%
# *Figure 6a.* Training (dashed) and validation (solid) of *energy*, *qk* and *qkv* (circles), each
# beside the mean (squares). In validation, each curve is the average of two tasks: reviews read
# alone, and reviews read behind distractors. The validation loss of *qkv* rises again, while that
# of each other model still falls or stays level.
#
# Does attention help, or is it chance?
# -------------------------------------
# All models read the same reviews and mostly fail on the same ones, so we compare two models review
# by review. A review counts as 1 if only the model with attention is right, as −1 if only the mean
# is right, and as 0 otherwise. The average of these N numbers is the difference of the accuracies.
# Its interval extends by ± 1.96 times their standard deviation, divided by √N. *Alone* stands for
# the two models of the first task.


# Table: the differences, with their intervals.
@torch.no_grad()
def is_right(model, examples):
    """Say for each example whether the model's answer is its label, as 1.0 or 0.0."""
    if isinstance(model, ReviewClassifier):
        answers = [(model(ids, mask), labels) for ids, mask, labels in batches(examples, 100)]
    else:
        rows = torch.arange(len(examples)).split(256)
        read = [examples.batch(some, model.config.reading) for some in rows]
        answers = [(model.eval()(batch.ids, batch.lengths), batch.labels) for batch in read]
    right = [(logits > 0) == (labels == 1) for logits, labels in answers]
    return torch.cat(right).double()  # (len(examples),)


gains = {}
comparisons = [("alone", own_models, "block", "mean alone", examples["validation"])]
for name, validation in prepared.validation.items():
    comparisons += [(name, models, kind, "mean", validation) for kind in ("energy", "qk", "qkv")]
for name, trained, kind, mean, validation in comparisons:
    N = len(validation)
    gain = is_right(trained[kind], validation) - is_right(trained[mean], validation)  # (N,)
    half = 1.96 * gain.std().item() / N**0.5
    low, high = gain.mean().item() - half, gain.mean().item() + half
    verdict = "better" if low > 0 else "worse" if high < 0 else "not told apart"
    print(f"{name:11}{kind:6} - mean: {gain.mean():+.3f} ({low:+.3f} to {high:+.3f}) {verdict}")
    gains[f"{name}, {kind}"] = gain.mean().item(), half

# %%
fig, ax = plt.subplots(figsize=(5, 3))
for i, (gain, half) in enumerate(gains.values()):
    ax.errorbar(gain, i, xerr=half, fmt="o", color=BLUE, lw=1.5)
ax.axvline(0, color=BLACK, lw=1, ls=":")
ax.set_yticks(range(len(gains)), gains)
ax.set_xlabel("difference of the accuracies")
ax.xaxis.set_major_formatter("{x:+.0%}")
ax.invert_yaxis()
fig.set_label(
    "Differences of seven models from the mean, each with its 95 % interval: "
    + "; ".join(f"{name} {gain:+.3f} ± {half:.3f}" for name, (gain, half) in gains.items())
)
plt.show()

# %%
# *Figure 7.* How much more accurate than the mean each model with attention is. An interval that
# reaches over the dotted line does not settle which of the two is better.
#
# All of this holds for these reviews, these settings and one seed.
#
# Closer look: what such intervals do not say
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# About 95 in 100 intervals like those of Figure 6 cover the accuracy on all reviews of this kind.
# They say nothing about another training seed, and two of them may overlap although the models
# differ. The factor is 1.96 because 95 % of a normal
# distribution lie within 1.96 standard deviations of its mean.
#
# The line marked *alone* compares two models that never met a distractor. The other lines compare
# models that were trained on both tasks at once. Among these models, the one called *mean* cannot
# tell the two tasks apart and has to compromise. So a model that beats *mean* on *clean* reviews,
# which are read alone, has not beaten a mean that was trained on such reviews only.
#
# Seven comparisons are made, and even if no two models differed, about one interval in twenty would
# exclude zero. Whoever chooses a setting by looking at these validation reviews makes the
# accuracies on them too favourable. This page leaves the test reviews alone. They are read on
# :doc:`the results page </results>`, which compares tuned models over several seeds.
#
# Closer look: where the models look, and what a word is worth
# ------------------------------------------------------------
# Here is a review that we wrote, as energy pooling reads it. The stronger a word's colour, the
# larger its weight. The weights sum to 1; point at a word to see its weight.

text = (
    "The trailer promised a thriller and the first hour is slow, but the ending is wonderful "
    "and the music is the best I have heard in years."
)
encoded = tokenizer.encode(text)
n = len(encoded.ids)
ids = torch.tensor([encoded.ids])  # (1, n)
with torch.no_grad():
    logit_of_energy, weights = models["energy"].eval()(ids, need_weights=True)  # (1,), (1, n)
probability = logit_of_energy.sigmoid().item()

words_as_html(encoded.tokens, weights[0].tolist(), f"Energy pooling: {probability:.0%} positive")

# %%
# In *qkv* every word has a query, so there is one row of weights per word. We average the rows, and
# print the eight words that receive the most weight. A large weight, however, only says that the
# model looked there, and not that the word decided. So we also delete words, now for energy
# pooling, and print by how much the logit changes.

with torch.no_grad():
    _, weights = models["qkv"].eval()(ids, need_weights=True)  # (1,), (1, n, n)
received = weights[0].mean(dim=0)  # (n,)
for i in received.topk(8).indices.tolist():
    print(f"{encoded.tokens[i]:9} {received[i]:.3f}")
print(f"on average {1 / n:.3f}\n")

energy, changes = models["energy"], {}
with torch.no_grad():
    x = energy.positions(energy.embedding(ids), torch.arange(n).flip(0)[None])  # (1, n, 24)
    print("change of the logit       deleted   deleted, no other word moves")
    for word in ("wonderful", "best", "slow", "the"):
        kept = [i for i, token in enumerate(encoded.tokens) if token != word]
        in_place = energy.classifier(energy.attention(x[:, kept])).item() - logit_of_energy
        change = energy(ids[:, kept]) - logit_of_energy
        count = f"({n - len(kept)} ×)"
        print(f"without {word!r:12} {count} {change.item():+6.2f} {in_place.item():+11.2f}")
        changes[word] = change.item(), in_place.item()

# %%
fig, ax = plt.subplots(figsize=(5, 2.8))
for place, (label, color) in enumerate((("deleted", BLUE), ("no other word moves", ORANGE))):
    at = [i + 0.4 * place - 0.2 for i in range(len(changes))]
    ax.barh(at, [both[place] for both in changes.values()], 0.38, color=color, label=label)
ax.axvline(0, color=BLACK, lw=0.8)
ax.set_yticks(range(len(changes)), [f"without “{word}”" for word in changes])
ax.tick_params(axis="y", length=0)
ax.set_xlabel("change of the logit")
ax.invert_yaxis()
fig.legend(loc="outside upper center", ncols=2)
fig.set_label(
    "Bars: how the logit changes without each of four words, once deleted and once with the other "
    "words in place: "
    + "; ".join(f"“{word}” {a:+.2f} and {b:+.2f}" for word, (a, b) in changes.items())
)
plt.show()

# %%
# *Figure 7a.* The change of the logit without a word, and without it while all others keep their
# positions.
#
# Deleting a word has two effects here. First, the word is gone. Second, every word before it moves
# nearer to the end, from which positions are counted, and so gets another vector and another
# weight. For the last column, the words that are left keep their positions, so only the first
# effect remains. The five occurrences of "the" have little weight, and nearly all of the change
# that their deletion brings is due to the movement of the other words. The :doc:`next lesson
# </gallery/core/plot_9_reading_attention>` avoids this movement by leaving positions out.
#
# Closer look: keep a model, and let it read
# ------------------------------------------
# A saved model consists of its parameters, its configuration and the words that it knows. These are
# three files in a folder of its own, below the folder in which you run this page. Once it is loaded
# again, the model gives the same answer.

for kind in ("energy", "qkv"):
    folder = Path("runs", "plot_8", kind)
    models[kind].save_pretrained(folder, **config_json(runs[kind]))
    tokenizer.save(str(folder / "tokenizer.json"))
    print(folder.as_posix(), sorted(path.name for path in folder.iterdir()))

loaded = SentimentClassifier.from_pretrained("runs/plot_8/energy")
with torch.no_grad():
    assert torch.equal(loaded(ids), logit_of_energy)

# %%
# You can also have a saved model read any review of your own, from a terminal in the folder in
# which you ran this page:
#
# .. code-block:: console
#
#    $ python -m attention.predict runs/plot_8/qkv "The plot is thin, but the music is wonderful."
#
# On :doc:`a page of its own </your_review>`, other models read your review in the browser. Those
# models also take negations into account.
#
# Closer look: what deletion and weights cannot settle
# ----------------------------------------------------
# Weights show where a model looked. Deleting a word shows how much this model's answer depends on
# the word, provided that the other words keep their positions. Neither shows that the task needs
# attention. To find that out, compare with a model that was trained without attention, like the
# mean here. What else can go wrong around a correct layer is in :doc:`the case study of ten
# pitfalls </gallery/cases/plot_1_ten_pitfalls>`.
#
# Takeaways
# ---------
# * Does attention help to tell a good review from a bad one? Behind a distractor, lines with the
#   verdict *better* say that it helps. Where a line ends in *not told apart*, these reviews do not
#   settle the question.
# * The training curve means little without the validation curve.
# * What is cut from a review is lost before any model sees it.
#
# *From memory:* close this page and write ``train_one_epoch``. Then check that gradients are set to
# zero in each step, that the loss takes logits, and that the mean loss counts reviews and not
# batches.
#
# *Where next:* :doc:`the last core lesson </gallery/core/plot_9_reading_attention>` asks whether
# the weights of such a model explain its answer.
#
# You can now train a classifier on any file of texts and labels, read its curves, and say how far
# two accuracies may differ by chance. The exercise to do next is to :ref:`find which end is cut
# <ex-keep-the-end>`, on :doc:`the page of exercises </exercises/training>`.

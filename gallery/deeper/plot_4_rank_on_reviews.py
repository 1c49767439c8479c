r"""
How much rank do real reviews need?
===================================

A key width k bounds the rank of :math:`M = W_\mathrm{query} W_\mathrm{key}^\top`. How much of that
rank does training use, and how small may k be before a classifier of film reviews notices?
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import attention
from attention.analysis import effective_rank, parameter_count
from attention.plotting import BLACK, BLUE, ORANGE, use_style

use_style()

# %%
# Fifty-five models
# -----------------
# Training them takes about a quarter of an hour on one core, too long for building a site. So this
# page reads a file of results, which says itself where it comes from. (In the repository it lies
# in ``docs/experiments/low_rank``, beside the script that writes it. The downloadable package
# carries it, too.)

package = Path(attention.__file__).parent
file = Path("experiments/low_rank/results.json")
places = package / file, package.parent / "docs" / file
results = json.loads(next(p for p in places if p.exists()).read_text(encoding="utf-8"))
for name in ("command", "date", "seeds", "data", "versions", "hardware", "cpu_seconds"):
    print(f"{name}: {results['origin'][name]}")
config = results["origin"]["config"]
d = config["embed_dim"]
key_dims = sorted({run["key_dim"] for run in results["runs"] if run["kind"] == "qk"})
print(f"d = {d}, k = {key_dims}, the last {config['max_length']} words of each review")

# %%
# Each model is a :class:`~attention.SentimentClassifier`: words, attention, the mean of the
# contexts, a linear classifier. The kinds are ``mean`` (no attention, the words' mean), ``qk``
# (the contexts mix the words themselves) and ``qkv`` (the contexts mix values). Every kind and key
# width was trained from five seeds.


def column(kind, key_dim, read):
    """Read one thing from the runs of one kind and width, one a seed."""
    runs = [run for run in results["runs"] if run["kind"] == kind]
    if key_dim is not None:
        runs = [run for run in runs if run["key_dim"] == key_dim]
    return torch.tensor([read(run) for run in runs], dtype=torch.float64)


COLOURS = {"qk": BLUE, "qkv": ORANGE}
widest = max(key_dims)

# %%
# Before and after training
# -------------------------
# First the widest models, k = 16, so that M could use 16 of its 32 directions. Here are its
# singular values at the start and at the end. Bands are one standard deviation over the seeds.

fig, axes = plt.subplots(2, figsize=(5, 5.6), sharex=True, sharey=True)
order = range(1, widest + 1)
for ax, kind in zip(axes, COLOURS, strict=True):
    for when, colour in (("before", BLACK), ("after", COLOURS[kind])):
        spectra = column(kind, widest, lambda run, when=when: run[f"spectrum_{when}"])  # (5, 16)
        mean, spread = spectra.mean(0), spectra.std(0)  # (16,), (16,)
        ax.plot(order, mean, "o-", ms=4, color=colour, label=f"{when} training")
        ax.fill_between(order, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        ranks = torch.stack([effective_rank(torch.diag(sigma)) for sigma in spectra])  # (5,)
        print(f"{kind:3} {when:6}: effective rank {ranks.mean():4.1f} ± {ranks.std():.1f}")
    ax.set(ylabel="singular value of M", title=kind, ylim=(0, None))
    ax.legend()
axes[1].set_xlabel("which singular value")
fig.set_label(
    "Two panels, for qk and qkv models with k = 16: the 16 singular values of M before and after "
    "training, with bands over five seeds. Before training they fall gently. After training a few "
    "at the left have grown many times over, and the rest are left behind."
)

# %%
# The *effective rank* sums a spectrum up in one number: r for r equal singular values, less if few
# of them carry most (:func:`~attention.analysis.effective_rank`). Training makes M larger and more
# lopsided. It grows a few directions and leaves the others near where they began.
#
# What does cutting cost?
# -----------------------
# Keep the r strongest directions of a trained M, drop the others, train nothing more, and measure
# on the test reviews (:func:`~attention.analysis.truncate_rank`). With r = 0 every score is the
# same, and what is left is a mean.

fig, ax = plt.subplots(figsize=(5, 3.6))
cut_ranks = range(widest + 1)
for kind, colour in COLOURS.items():
    accuracy = 100 * column(kind, widest, lambda run: run["cut_accuracy"])  # (5, 17)
    mean, spread = accuracy.mean(0), accuracy.std(0)  # (17,), (17,)
    ax.plot(cut_ranks, mean, "o-", ms=4, color=colour, label=f"{kind}, trained with k = {widest}")
    ax.fill_between(cut_ranks, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
    within = (accuracy - accuracy[:, -1:]).abs().mean(0) < 0.5  # (17,)
    enough = min(r for r in cut_ranks if within[r:].all())
    print(f"{kind:3}: rank 0 {mean[0]:.1f} %, rank {widest} {mean[-1]:.1f} %; ", end="")
    print(f"from rank {enough} on within half a point of the whole")
ax.set(xlabel="rank kept, r", ylabel="test accuracy, %")
ax.legend(loc="lower right")
fig.set_label(
    "Test accuracy against the rank that is kept of a trained M, for qk and qkv, with bands over "
    "five seeds. It rises over the first few ranks and is level from there to rank 16."
)

# %%
# A handful of directions does all the work, fewer than the effective rank counts. The others may
# go, after training.
#
# May they go before?
# -------------------
# Train with a small k from the start. The black line is the plain mean of the words.

fig, ax = plt.subplots(figsize=(5, 3.8))
plain = 100 * column("mean", None, lambda run: run["test"]["accuracy"])  # (5,)
ax.axhline(plain.mean(), color=BLACK, label="mean of the words")
ax.axhspan(plain.mean() - plain.std(), plain.mean() + plain.std(), color=BLACK, alpha=0.15, lw=0)
trained = 100 * column("mean", None, lambda run: run["train_accuracy"])  # (5,)
print(
    f"mean, no k : test {plain.mean():.1f} ± {plain.std():.1f} %, last epoch of training "
    f"{trained.mean():.1f} %, 0 numbers in the attention"
)
for kind, colour in COLOURS.items():
    means, spreads = [], []
    for k in key_dims:
        accuracy = 100 * column(kind, k, lambda run: run["test"]["accuracy"])  # (5,)
        trained = 100 * column(kind, k, lambda run: run["train_accuracy"])  # (5,)
        means.append(accuracy.mean().item())
        spreads.append(accuracy.std().item())
        count = parameter_count(kind, d, k)
        print(
            f"{kind:3}, k = {k:2}: test {means[-1]:.1f} ± {spreads[-1]:.1f} %, last epoch of "
            f"training {trained.mean():.1f} %, {count} numbers in the attention"
        )
    ax.errorbar(key_dims, means, spreads, fmt="o-", ms=5, color=colour, capsize=3, label=kind)
ax.set(xscale="log", xlabel="key width k", ylabel="test accuracy, %")
ax.set_xticks(key_dims, [str(k) for k in key_dims])
ax.minorticks_off()
ax.legend()
fig.set_label(
    "Test accuracy against key width, for qk and qkv models trained with k of 1, 2, 4, 8 and 16, "
    "with error bars over five seeds, beside a level line for the mean of the words, which lies "
    "above them. Wider keys gain nothing."
)

low, high = (100 * end for end in results["runs"][0]["test"]["accuracy_interval"])
print(f"one model's accuracy, 95 % interval over the test reviews: {low:.1f} to {high:.1f} %")

# %%
# Three things can be read off.
#
# - **k = 1 is enough here.** One number a query and one a key do as well as sixteen. Wider keys fit
#   the *training* reviews hardly better than k = 1, and the test reviews no better.
# - **The plain mean wins**, with the three epochs and the one learning rate that all models were
#   given. A whole review speaks of one film in one mood, and its words vote. The models with
#   attention fit the training reviews better or as well and lose on new ones. That is why the lab
#   puts a distractor in front of each review: then there is something to ignore.
# - **Values seem to help a little** where keys are wide, though :ref:`the page before
#   <sphx_glr_gallery_deeper_plot_3_values_fold.py>` proved that qk and qkv are the same set of
#   functions. What differs can only be the path of training.
#
# What others found
# -----------------
# Large models ask more of attention than one label a review. What is known there points both ways.
#
# - :cite:t:`bhojanapalli2020low` prove a *bottleneck*: a head with k below the number of words n
#   can't produce every n × n table of weights, however its matrices are chosen. They propose to
#   set k by the length of the text and not, as is usual, to d divided by the number of heads, and
#   measure better language models for it.
# - :cite:t:`cordonnier2020multihead` find that trained heads share key and query directions. Once
#   heads may share them openly, a translation model keeps its quality with keys a quarter as wide,
#   and trained models take half the width without being trained again.
# - :cite:t:`amsel2025quality` construct a task, finding the nearest neighbour of a vector. One head
#   of full rank solves it for texts of any length; of heads with low rank it takes a number that
#   grows exponentially with d.
#
# So how much rank attention needs is a question about the *task*. Some need all of it. The reviews
# of this page need next to none.
#
# What was learnt
# ---------------
# - Training grows a few singular values of M and leaves the others behind.
# - Afterwards, most directions can be cut at no cost that we can measure.
# - k = 1 classifies these reviews as well as k = 16, and the mean of the words does it better.
# - That says something about film reviews. It isn't a law about attention.
#
# *Practise:* :doc:`/exercises/low_rank`.
#
# *Where next:* :doc:`/gallery/deeper/plot_5_cost_of_the_product`, for what the scores cost to
# compute.

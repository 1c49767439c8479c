r"""
How much rank do real reviews need?
===================================

A key width k bounds the rank of :math:`M = W_\mathrm{query} W_\mathrm{key}^\top`. How much of that
rank does training use, and how small may k be before a classifier of film reviews notices? On these
reviews training uses a few directions, and k = 1 does about as well as k = 16. Whether a model with
attention does better than the mean of the words depends on how both are trained, so the last
comparison of this page is made under two settings and three learning rates.
"""

import base64
import json
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import attention
from attention.analysis import effective_rank, parameter_count
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, use_style

use_style()

# %%
# Many small models
# -----------------
# Training them takes about seven minutes of one core per seed, which is too long for building a
# site. So this page reads a file of results, which says itself where it comes from. (In the
# repository it is in ``docs/experiments/low_rank``, beside the script that writes it, and the
# downloadable package carries it, too.) Models are compared here, so they are measured on the
# validation reviews, and the test reviews are not read.

package = Path(attention.__file__).parent
file = Path("experiments/low_rank/results.json")
places = package / file, package.parent / "docs" / file
results = json.loads(next(p for p in places if p.exists()).read_text(encoding="utf-8"))
origin = results["origin"]
for name in ("command", "commit", "date", "seeds", "data", "versions", "hardware", "cpu_seconds"):
    print(f"{name}: {origin[name]}")
config = origin["config"]
d, seeds = config["embed_dim"], len(origin["seeds"])
key_dims = sorted({run["key_dim"] for run in results["runs"] if run["kind"] == "qk"})
print(f"d = {d}, k = {key_dims}, the last {config['max_length']} words of each review")
print(f"{config['epochs']} epochs, learning rate {config['lr']}, dropout {config['dropout']}")

# %%
# Each model is a :class:`~attention.SentimentClassifier`: word vectors, attention, the mean of the
# contexts, a linear classifier. The kinds are ``mean`` (the mean of the words, without attention),
# ``qk`` (the contexts mix the words themselves) and ``qkv`` (the contexts mix values). Every kind
# and key width was trained once per seed.


def column(kind, key_dim, read):
    """Read one thing from the runs of one kind and width, one per seed."""
    runs = [run for run in results["runs"] if (run["kind"], run["key_dim"]) == (kind, key_dim)]
    return torch.tensor([read(run) for run in runs], dtype=torch.float64)


COLOURS = {"qk": BLUE, "qkv": ORANGE}
widest = max(key_dims)

# %%
# Before and after training
# -------------------------
# First come the widest models, k = 16, whose M could use 16 of its 32 directions. Here are its
# singular values at the start and at the end.

fig, axes = plt.subplots(2, figsize=(5, 5.6), sharex=True, sharey=True)
order = range(1, widest + 1)
for ax, kind in zip(axes, COLOURS, strict=True):
    for when, colour in (("before", BLACK), ("after", COLOURS[kind])):
        spectra = column(
            kind, widest, lambda run, when=when: run[f"spectrum_{when}"]
        )  # (seeds, 16)
        mean, spread = spectra.mean(0), spectra.std(0)  # (16,), (16,)
        ax.plot(order, mean, "o-", ms=4, color=colour, label=f"{when} training")
        ax.fill_between(order, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        in_use = torch.stack([effective_rank(torch.diag(sigma)) for sigma in spectra])  # (seeds,)
        print(f"{kind:3} {when:6}: effective rank {in_use.mean():4.1f} ± {in_use.std():.1f}")
    ax.set(ylabel="singular value of M", title=kind, ylim=(0, None))
    ax.legend()
axes[1].set_xlabel("which singular value")
fig.set_label(
    "Two panels, for qk and qkv models with k = 16: the 16 singular values of M before and after "
    "training, with bands over the seeds. Before training they fall gently. After training a few "
    "at the left have grown many times over, and the rest are left behind."
)

# %%
# *Figure 1.* Singular values of M before and after training; bands are one standard deviation over
# the seeds. The *effective rank* sums a spectrum up in one number, which is r for r equal singular
# values and less if few of them carry most (:func:`~attention.analysis.effective_rank`). Training
# makes M larger and less even: it grows a few directions and leaves the others near where they
# began.
#
# What does truncation cost?
# --------------------------
# We keep the r strongest directions of a trained M, drop the others, train nothing more, and
# measure on the validation reviews (:func:`~attention.analysis.truncate_rank`). With r = 0 every
# score is the same, and what is left is a mean.

fig, ax = plt.subplots(figsize=(5, 3.6))
ranks = range(widest + 1)
for kind, colour in COLOURS.items():
    accuracy = 100 * column(kind, widest, lambda run: run["truncated_accuracy"])  # (seeds, 17)
    mean, spread = accuracy.mean(0), accuracy.std(0)  # (17,), (17,)
    ax.plot(ranks, mean, "o-", ms=4, color=colour, label=f"{kind}, trained with k = {widest}")
    ax.fill_between(ranks, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
    within = (accuracy - accuracy[:, -1:]).abs().mean(0) < 0.5  # (17,)
    enough = min(r for r in ranks if within[r:].all())
    print(f"{kind:3}: rank 0 {mean[0]:.1f} %, rank {widest} {mean[-1]:.1f} %; ", end="")
    print(f"from rank {enough} on within half a point of the whole")
ax.set(xlabel="rank kept, r", ylabel="validation accuracy, %")
ax.legend(loc="lower right")
fig.set_label(
    "Validation accuracy against the rank that is kept of a trained M, for qk and qkv, with bands "
    "over the seeds. It rises over the first few ranks and is level from there to rank 16."
)

# %%
# *Figure 2.* Accuracy after truncation, without further training of the rest. A handful of
# directions does all the work, fewer than the effective rank counts, so the others may go after
# training.
#
# May they go before?
# -------------------
# Now we train with a small k from the start. Two models read the same reviews, so we compare them
# review by review, and we let the interval speak of other seeds and of other reviews alike, by
# adding the variance of both means. What varies with both is counted twice, so the interval is
# rather too wide than too narrow unless the seeds differ more than the reviews do.


def answers(runs):
    """Read which reviews each run answered correctly, as rows of 0 and 1."""
    rows = []
    for measured in (run["validation"] for run in runs):
        data = torch.frombuffer(bytearray(base64.b64decode(measured["correct"])), dtype=torch.uint8)
        bits = data[:, None] >> torch.arange(7, -1, -1) & 1  # eight per byte
        rows.append(bits.flatten()[: measured["n"]].double())
    return torch.stack(rows)  # one row per run


def gain(runs, others):
    """Return the difference of two accuracies in percentage points, and its 95 % interval."""
    difference = 100 * (answers(runs) - answers(others))
    S, N = difference.shape
    of_seeds, of_reviews = difference.mean(1), difference.mean(0)  # (S,), (N,)
    mean = of_seeds.mean()
    half = 1.96 * (of_seeds.var() / S + of_reviews.var() / N).sqrt()
    return mean.item(), (mean - half).item(), (mean + half).item()


def of(kind, key_dim):
    """List the runs of one kind and width, in the order of their seeds."""
    return [run for run in results["runs"] if (run["kind"], run["key_dim"]) == (kind, key_dim)]


fig, ax = plt.subplots(figsize=(5, 3.8))
plain = 100 * column("mean", None, lambda run: run["validation"]["accuracy"])  # (seeds,)
ax.axhline(plain.mean(), color=BLACK, label="mean of the words")
ax.axhspan(plain.mean() - plain.std(), plain.mean() + plain.std(), color=BLACK, alpha=0.15, lw=0)
trained = 100 * column("mean", None, lambda run: run["train_accuracy"])  # (seeds,)
print(
    f"mean, no k : validation {plain.mean():.1f} ± {plain.std():.1f} %, last epoch of training "
    f"{trained.mean():.1f} %, 0 numbers in the attention"
)
for (kind, colour), style in zip(COLOURS.items(), ("o-", "s--"), strict=True):
    means, spreads = [], []
    for k in key_dims:
        accuracy = 100 * column(kind, k, lambda run: run["validation"]["accuracy"])  # (seeds,)
        trained = 100 * column(kind, k, lambda run: run["train_accuracy"])  # (seeds,)
        means.append(accuracy.mean().item())
        spreads.append(accuracy.std().item())
        count = parameter_count(kind, d, k)
        print(
            f"{kind:3}, k = {k:2}: validation {means[-1]:.1f} ± {spreads[-1]:.1f} %, last epoch of "
            f"training {trained.mean():.1f} %, {count} numbers in the attention"
        )
    ax.errorbar(key_dims, means, spreads, fmt=style, ms=5, color=colour, capsize=3, label=kind)
ax.set(xscale="log", xlabel="key width k", ylabel="validation accuracy, %")
ax.set_xticks(key_dims, [str(k) for k in key_dims])
ax.minorticks_off()
ax.legend()
fig.set_label(
    "Validation accuracy against key width, for qk and qkv models trained with k of 1, 2, 4, 8 and "
    "16, with error bars over the seeds, beside a level line for the mean of the words, which lies "
    "above them. Wider keys gain nothing that stands out from the spread of the seeds."
)

for kind in COLOURS:
    text = "{:+.1f} [{:.1f}, {:.1f}]".format(*gain(of(kind, widest), of(kind, 1)))
    print(f"{kind:3}: k = {widest} over k = 1, in points: {text}")

# %%
# *Figure 3.* Accuracy against key width, with one standard deviation over the seeds.
#
# Two things can be read off, both under the settings named at the top.
#
# - **k = 1 is about enough here.** One number per query and one per key do nearly as well as
#   sixteen; the intervals above say how far apart they may be. Wider keys fit the *training*
#   reviews hardly better either.
# - **Values change little.** :ref:`The page before
#   <sphx_glr_gallery_deeper_plot_3_values_fold.py>` proved that qk and qkv are the same set of
#   functions, so what differs can only be the path of training.
#
# The mean of the words lies above all of them. That is a third thing, and it needs a condition.
#
# Does the mean do better?
# ------------------------
# So far all models had three epochs, no dropout and the same learning rate, and their training
# accuracy shows that they overfit. The :doc:`comparison of models </results>` regularises its
# models and lets each choose its learning rate. Here some of our models are trained again with its
# dropout, its word dropout and its smaller initial embeddings, under three learning rates each:

for name, settings in origin["settings"].items():
    print(f"{name:12} {settings or 'none of these'}")

MODELS = (("mean", None), ("qk", 1), ("qk", widest), ("qkv", widest))


def label(kind, key_dim):
    """Name a model as the figure does."""
    return kind if key_dim is None else f"{kind}, k = {key_dim}"


def under(settings, lr, kind, key_dim):
    """List the runs of one model under one setting and learning rate."""
    wanted = {"settings": settings, "lr": lr, "kind": kind, "key_dim": key_dim}
    return [run for run in results["conditions"] if wanted.items() <= run.items()]


fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharey=True)
STYLES = ((BLACK, "o-"), (GREEN, "^:"), (BLUE, "s--"), (ORANGE, "D-."))
chosen = {}
for ax, settings in zip(axes, origin["settings"], strict=True):
    for model, (colour, style) in zip(MODELS, STYLES, strict=True):
        accuracy = [answers(under(settings, lr, *model)).mean().item() for lr in origin["lrs"]]
        chosen[settings, model] = origin["lrs"][accuracy.index(max(accuracy))]
        ax.plot(
            origin["lrs"],
            [100 * a for a in accuracy],
            style,
            ms=5,
            color=colour,
            label=label(*model),
        )
    ax.set(xscale="log", xlabel="learning rate", title=settings)
    ax.set_xticks(origin["lrs"], [str(lr) for lr in origin["lrs"]])
    ax.minorticks_off()
axes[0].set_ylabel("validation accuracy, %")
axes[0].legend(fontsize=9, loc="lower right")
fig.set_label(
    "Two panels, without and with regularisation: validation accuracy against learning rate for "
    "the mean and for three models with attention. Without regularisation the mean lies above the "
    "others where it is best; with it the curves come close to each other near a rate of 0.01."
)

ahead = {}
for settings in origin["settings"]:
    for model in MODELS[1:]:
        mean_runs = under(settings, chosen[settings, MODELS[0]], *MODELS[0])
        runs = under(settings, chosen[settings, model], *model)
        ahead[settings, model] = gain(mean_runs, runs)
        text = "{:+.1f} [{:.1f}, {:.1f}]".format(*ahead[settings, model])
        rates = f"{chosen[settings, MODELS[0]]:g} and {chosen[settings, model]:g}"
        print(f"{settings:11} mean over {label(*model):11} {text} points, rates {rates}")

# %%
# *Figure 4.* Accuracy under three learning rates, without and with regularisation.
#
# The printed lines compare the mean with each other model, both with the rate that was best for
# them on these very reviews, so all of them are flattered a little. Without regularisation the mean
# is ahead. With it the lead shrinks, and where the interval includes zero these reviews and seeds
# can't tell it from nothing. So "the mean does better" is a statement about models that overfit,
# among which attention overfits more, and no statement about how a review should be read. The
# comparison of models, which regularises, makes none either.
#
# What others found
# -----------------
# Large models ask more of attention than one label per review, and what is known there points both
# ways.
#
# - :cite:t:`bhojanapalli2020low` prove a *bottleneck*: a head with k below the number of tokens n
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
# So how much rank attention needs is a question about the *task*. Some tasks need all of it, and
# the reviews of this page need next to none.
#
# Takeaways
# ---------
# - How much rank do these reviews need? Training grows a few singular values of M and leaves the
#   others behind, and afterwards most directions can be dropped at no cost that we can measure.
# - Trained from the start, k = 1 classifies these reviews about as well as k = 16.
# - The mean of the words is ahead of attention where nothing regularises the models. With dropout,
#   smaller initial embeddings and a learning rate of their own the lead shrinks.
# - That says something about one label per film review, and it is no law about attention.
#
# *Practise:* :doc:`/exercises/low_rank`.
#
# *Where next:* :doc:`/gallery/deeper/plot_5_cost_of_the_product`, for what the scores cost to
# compute.

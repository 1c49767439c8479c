r"""
.. lesson:: Effective rank after training
   :minutes: 30
   :extra: plot
   :needs: core/plot_8 deeper/plot_1

Effective rank after training: how much film reviews need
=========================================================

A key width allows a certain rank: how much of it does training use, and how small may the width be?

On the film reviews of this page training uses a few directions, and a key width of k = 1 does about
as well as k = 16. Whether a model with attention does better than the mean of the words may depend
on how both are trained. The last comparison of this page is therefore made under two settings and
three learning rates, and under neither setting can its seeds and reviews tell the two apart.

You need two lessons. The one on :doc:`low rank </gallery/deeper/plot_1_low_rank_qk>` introduces the
product M of query and key matrix, whose rank is at most k, and the one on :doc:`training a
classifier </gallery/core/plot_8_sentiment_training>` introduces the task. Running the page takes
only five seconds, because the results are read from a file. Afterwards you can measure how much of
its rank a trained head uses, compare two models review by review, and say under which conditions
such a comparison holds.
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
# Training the models of this page takes about eight minutes per seed on one core, which is too long
# for building a site. This page therefore reads the results from a file, which also states how it
# was made. (The file is in ``docs/experiments/low_rank`` of the repository, beside the script that
# writes it, and in the downloadable package.) Because models are compared here, they are measured
# on the validation reviews, and the test reviews are not read.

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
# Each model is a :class:`~attention.SentimentClassifier`: n word vectors of width d, attention, the
# mean of the n contexts, and a linear classifier. There are three kinds: ``mean`` (the mean of the
# words, without attention), ``qk`` (the contexts mix the words themselves) and ``qkv`` (the
# contexts mix values). Every kind and key width was trained once per seed. The product of the two
# matrices is called M, as on the pages before, :math:`M = W_\mathrm{query} W_\mathrm{key}^\top`;
# its shapes are drawn in :doc:`figure 2 of the first page </gallery/deeper/plot_1_low_rank_qk>`.


def column(kind, key_dim, read):
    """Read one thing from the runs of one kind and width, one per seed."""
    runs = [run for run in results["runs"] if (run["kind"], run["key_dim"]) == (kind, key_dim)]
    return torch.tensor([read(run) for run in runs], dtype=torch.float64)


COLOURS = {"qk": BLUE, "qkv": ORANGE}
widest = max(key_dims)

# %%
# Before and after training
# -------------------------
# We begin with the widest models, k = 16, whose M could use 16 of its 32 directions. We read the
# :term:`singular values <singular value>` of M before and after training. The :term:`effective
# rank` summarises these values, the spectrum of M, in one number
# (:func:`~attention.analysis.effective_rank`). For r equal singular values it is r, and it is less
# if a few of them make up most of their sum.
#
# .. predict:: directions-that-grow
#
#    How many of the 16 singular values of M at least double in training?
#
#    All, since all are trained : ``(grown > 2).all()``
#        Training changes all of them, but makes only some of them grow.
#    One or two, for one label : ``(grown > 2).sum() < 3``
#        The strongest ones grow many times over, but others grow, too.
#    About half : ``4 < (grown > 2).sum() < 12``
#        The strongest grow most, and the others stay near where they began.

spectra = {}
for kind in COLOURS:
    for when in ("before", "after"):
        each = column(kind, widest, lambda run, when=when: run[f"spectrum_{when}"])  # (seeds, 16)
        in_use = torch.stack([effective_rank(torch.diag(sigma)) for sigma in each])  # (seeds,)
        print(f"{kind:3} {when:6}: effective rank {in_use.mean():4.1f} ± {in_use.std():.1f}")
        spectra[kind, when] = each
    grown = (spectra[kind, "after"] / spectra[kind, "before"]).mean(0)  # (16,)
    print(f"{kind:3}: {(grown > 2).sum()} of {widest} singular values at least double")
    assert widest / 4 < (grown > 2).sum() < 3 * widest / 4

# %%

fig, axes = plt.subplots(2, figsize=(5, 5.6), sharex=True, sharey=True)
order = range(1, widest + 1)
for ax, kind in zip(axes, COLOURS, strict=True):
    for when, colour in (("before", BLACK), ("after", COLOURS[kind])):
        mean, spread = spectra[kind, when].mean(0), spectra[kind, when].std(0)  # (16,), (16,)
        ax.plot(order, mean, "o-", ms=4, color=colour, label=f"{when} training")
        ax.fill_between(order, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
    ax.set(ylabel="singular value of M", title=kind, ylim=(0, None))
    ax.legend()
axes[1].set_xlabel("which singular value")
fig.set_label(
    "Two panels, for qk and qkv models with k = 16: the 16 singular values of M before and after "
    "training, with bands over the seeds. Before training they fall gently. After training about "
    "half have grown, those at the left many times over, and the rest are left behind."
)

# %%
# *Figure 1.* Singular values of M before and after training; bands are one standard deviation over
# the seeds. Training makes M larger and less even, because about half of the directions grow, and
# the strongest of them most of all, while the others stay near where they began.
#
# What truncation costs
# ---------------------
# We keep the r strongest directions of a trained M, drop the others, train nothing more, and
# measure the accuracy on the validation reviews (:func:`~attention.analysis.truncate_rank`). With r
# = 0 every score is the same, and what is left is a mean.

truncated = {}
ranks = range(widest + 1)
for kind in COLOURS:
    accuracy = 100 * column(kind, widest, lambda run: run["truncated_accuracy"])  # (seeds, 17)
    within = (accuracy - accuracy[:, -1:]).abs().mean(0) < 0.5  # (17,)
    enough = min(r for r in ranks if within[r:].all())
    ends = accuracy.mean(0)[[0, -1]]  # (2,)
    print(f"{kind:3}: rank 0 {ends[0]:.1f} %, rank {widest} {ends[1]:.1f} %; ", end="")
    print(f"from rank {enough} on within half a point of the whole")
    truncated[kind] = accuracy

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
for kind, colour in COLOURS.items():
    mean, spread = truncated[kind].mean(0), truncated[kind].std(0)  # (17,), (17,)
    ax.plot(ranks, mean, "o-", ms=4, color=colour, label=f"{kind}, trained with k = {widest}")
    ax.fill_between(ranks, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
ax.set(xlabel="rank kept, r", ylabel="validation accuracy (%)")
ax.legend(loc="lower right")
fig.set_label(
    "Validation accuracy against the rank that is kept of a trained M, for qk and qkv, with bands "
    "over the seeds. It rises over the first few ranks and is level from there to rank 16."
)

# %%
# *Figure 2.* Accuracy after truncation, without further training of the rest; bands are one
# standard deviation over the seeds. A handful of directions does nearly all the work, fewer than
# the effective rank suggests.
#
# Training with narrow keys from the start
# ----------------------------------------
# After training, all but a handful of directions can be dropped. To see whether they can be dropped
# before training, we now train with a small k from the start.
#
# All models read the same reviews, so we compare any two of them review by review. The
# :term:`confidence interval` of their difference should hold for other seeds as well as for other
# reviews. We therefore add two variances of the mean difference: one that comes from drawing other
# seeds and one that comes from drawing other reviews. What depends on seed and review together is
# counted in both, which can only make the interval wider. The interval extends 1.96 standard errors
# to either side of the mean. This factor may be too small, but only if most of the variance comes
# from the seeds, which are few.


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


measured = {}
for kind, k in (("mean", None), *((kind, k) for kind in COLOURS for k in key_dims)):
    accuracy = 100 * column(kind, k, lambda run: run["validation"]["accuracy"])  # (seeds,)
    trained = 100 * column(kind, k, lambda run: run["train_accuracy"])  # (seeds,)
    measured[kind, k] = accuracy.mean().item(), accuracy.std().item()
    name = "mean, no k " if k is None else f"{kind:3}, k = {k:2}"
    count = 0 if k is None else parameter_count(kind, d, key_dim=k)
    print(f"{name}: validation {accuracy.mean():.1f} ± {accuracy.std():.1f} %, ", end="")
    print(f"last epoch of training {trained.mean():.1f} %, {count} parameters in the attention")
for kind in COLOURS:
    text = "{:+.1f} [{:.1f}, {:.1f}]".format(*gain(of(kind, widest), of(kind, 1)))
    print(f"{kind:3}: k = {widest} over k = 1, in points: {text}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
mean, spread = measured["mean", None]
ax.axhline(mean, color=BLACK, label="mean of the words")
ax.axhspan(mean - spread, mean + spread, color=BLACK, alpha=0.15, lw=0)
for (kind, colour), style in zip(COLOURS.items(), ("o-", "s--"), strict=True):
    means, spreads = zip(*(measured[kind, k] for k in key_dims), strict=True)
    ax.errorbar(key_dims, means, spreads, fmt=style, ms=5, color=colour, capsize=3, label=kind)
ax.set(xscale="log", xlabel="key width k", ylabel="validation accuracy (%)")
ax.set_xticks(key_dims, [str(k) for k in key_dims])
ax.minorticks_off()
ax.legend()
fig.set_label(
    "Validation accuracy against key width, for qk and qkv models trained with k of 1, 2, 4, 8 and "
    "16, with error bars over the seeds, beside a level line for the mean of the words, which lies "
    "above them. Wider keys gain nothing that exceeds the spread of the seeds."
)

# %%
# *Figure 3.* Accuracy against key width, with one standard deviation over the seeds. The level line
# and its band are the mean of the words, without attention.
#
# Two results can be read off the figure. Both hold for the three epochs, the learning rate and the
# dropout that the first cell prints.
#
# - **k = 1 is about enough here.** One number per query and one per key do about as well as
#   sixteen; the printed intervals say how far apart the two may be. Wider keys don't fit the
#   *training* reviews much better, either.
# - **Values make little difference.** :ref:`The previous page
#   <sphx_glr_gallery_deeper_plot_3_values_fold.py>` proved that qk and qkv models have the same set
#   of functions, so any difference between them can only come from the path of training.
#
# In the figure, the mean of the words also lies above every model with attention. Whether this is
# more than chance, and whether it holds under other settings, is asked next.
#
# The mean of the words as a baseline
# -----------------------------------
# So far all models had three epochs, no :term:`dropout` and the same learning rate, and their
# training accuracy shows that they overfit. Another page, the :doc:`comparison of models
# </results>`, regularises its models and chooses a learning rate for each. Here some of our models
# are compared again at three learning rates each, once without regularisation, and once with the
# dropout, the word dropout and the smaller initial embeddings that are used on that other page:

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


curves, chosen = {}, {}
for settings in origin["settings"]:
    for model in MODELS:
        accuracy = [answers(under(settings, lr, *model)).mean().item() for lr in origin["lrs"]]
        chosen[settings, model] = origin["lrs"][accuracy.index(max(accuracy))]
        curves[settings, model] = [100 * share for share in accuracy]

ahead = {}
for settings in origin["settings"]:
    for model in MODELS[1:]:
        mean_runs = under(settings, chosen[settings, MODELS[0]], *MODELS[0])
        runs = under(settings, chosen[settings, model], *model)
        ahead[settings, model] = gain(mean_runs, runs)
        text = "{:+.1f} [{:.1f}, {:.1f}]".format(*ahead[settings, model])
        rates = f"{chosen[settings, MODELS[0]]:g} and {chosen[settings, model]:g}"
        print(f"{settings:11} mean over {label(*model):11} {text} points, rates {rates}")
assert all(low < 0 < high for _, low, high in ahead.values())

# %%

fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharey=True)
STYLES = ((BLACK, "o-"), (GREEN, "^:"), (BLUE, "s--"), (ORANGE, "D-."))
for ax, settings in zip(axes, origin["settings"], strict=True):
    for model, (colour, style) in zip(MODELS, STYLES, strict=True):
        curve = curves[settings, model]
        ax.plot(origin["lrs"], curve, style, ms=5, color=colour, label=label(*model))
    ax.set(xscale="log", xlabel="learning rate", title=settings)
    ax.set_xticks(origin["lrs"], [str(lr) for lr in origin["lrs"]])
    ax.minorticks_off()
axes[0].set_ylabel("validation accuracy (%)")
axes[0].legend(fontsize=9, loc="lower right")
fig.set_label(
    "Two panels, without and with regularisation: validation accuracy against learning rate for "
    "the mean and for three models with attention. Without regularisation the mean, at its best "
    "rate, lies above the others; with regularisation the curves come close to each other near a "
    "rate of 0.01."
)

# %%
# *Figure 4.* Accuracy under three learning rates, without regularisation on the left and with it on
# the right.
#
# The printed lines compare the mean with each of the other models. Every model is taken at the rate
# that was best for it on these very reviews, so all of them are flattered a little. All six
# intervals include zero, those without regularisation as well as those with it. So under neither
# setting do these seeds and reviews tell the mean from attention, although without regularisation
# the mean has the higher accuracy in all three comparisons. Regularised models are compared on
# :doc:`the results page </results>`, with more reviews.
#
# What others found
# -----------------
# Large models ask more of attention than one label per review, and what is known about them points
# both ways: some results call for more rank, and others for less.
#
# - :cite:t:`bhojanapalli2020low` prove a bottleneck (theorem 1) for the case that k and d are equal
#   and smaller than the number of tokens n. In this case one can find n tokens and an n × n table
#   of weights such that no head produces the table from these tokens, whatever its matrices are.
#   For linearly independent tokens :doc:`k = n − 1 is enough
#   </gallery/deeper/plot_8_multi_head_bottleneck>` to produce any table of positive weights. The
#   authors of the theorem propose to choose k by the length of the text, instead of the usual d
#   divided by the number of heads, and obtain better language models that way.
# - :cite:t:`cordonnier2020multihead` find that trained heads share key and query directions. If the
#   architecture lets the heads share these directions, a translation model keeps its quality with
#   keys a quarter as wide. Models that are already trained can be cut to half the width without
#   further training, as the abstract of an earlier version of their paper says; that of the last
#   version no longer does.
# - :cite:t:`amsel2025quality` construct a task, which is to find the nearest neighbour of a vector.
#   One head of full rank solves it for texts of any length. With heads of low rank, the number of
#   heads that are needed grows exponentially with d.
#
# How much rank attention needs is therefore a question about the *task*. Some tasks need all of it,
# and the reviews of this page need next to none.
#
# Takeaways
# ---------
# - How much of the rank does training use? Training makes about half of the singular values of M
#   grow and leaves the others behind. Afterwards most directions can be dropped at a cost of less
#   than half a point on our validation reviews. A model that is trained with k = 1 from the start
#   classifies these reviews about as well as one with k = 16.
# - At a learning rate chosen for each model, neither with regularisation nor without it do these
#   seeds and reviews tell the mean of the words from attention: every interval includes zero.
# - All of this is about one label per film review and need not carry over to other tasks, some of
#   which need full rank.
#
# *From memory:* close this page and write the truncation of a product :math:`W_\mathrm{query}
# W_\mathrm{key}^\top` to rank r. Check that at r = k no score changes, and at r = 0 all weights of
# a row are equal.
#
# *Where next:* :doc:`the lesson on the cost of the scores
# </gallery/deeper/plot_5_cost_of_the_product>`, which counts operations and bytes.
#
# You can now measure how much of its rank a trained layer uses, and say on what data this holds.
# The exercise to do next is to compute :ref:`the nearest matrix of rank r <ex-nearest-of-rank>`.

"""
.. lesson:: Attention as explanation
   :minutes: 120
   :extra: train
   :needs: core/plot_8
   :exercises: reading
   :tasks: deletion rank-by-hand deletion-from-weights bug-top-word
   :search: explanation; interpretability

Attention as explanation: what a weight says about a word
=========================================================

Does the attention weight of a word say how much the answer depends on that word?

Only together with what the weight multiplies, which is the evidence that the word hands over. When
a word is left out of a review, the answer of one layer of attention changes by an amount that can
be written down exactly, and both factors are in it. Evidence may speak for or against, and no
weight shows which. The picture to draw is therefore weight × evidence, with its sign.

The first reading takes ten minutes, and the whole page two hours. You need the models of :doc:`the
lesson on training a classifier </gallery/core/plot_8_sentiment_training>`. Running the page takes
two minutes.
"""

import copy
from collections import defaultdict

import matplotlib.pyplot as plt
import torch

from attention.analysis import (
    deletion_effects,
    gradient_effects,
    rank_correlation,
)
from attention.plotting import (
    AGAINST,
    BLACK,
    BLUE,
    FOR,
    ORANGE,
    VALUE,
    WEIGHT,
    Html,
    draw_box,
    draw_flow,
    use_style,
    words_as_html,
)
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.evaluation import measure
from attention.sentiment.model import build_model
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer
from attention.sentiment.training import prepare

use_style()
QUICK = False  # True: fewer reviews and steps, for a first try

# %%

# sphinx_gallery_start_ignore


def draw_shapes():
    """Draw how weights and evidence make up the answer, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 4.4))
    ax.set(xlim=(0, 10), ylim=(8.7, 0.4))
    draw_box(ax, 5, 0.8, "vectors of the words   (n, d)", None)
    for x, part, color, result, end in (
        (2.4, "softmax of scores", WEIGHT, "weights a   (n)", 4.2),
        (7.6, "values, classifier", VALUE, "evidence s   (n)", 5.8),
    ):
        draw_flow(ax, (5, 1.1), (x, 2.5))
        draw_box(ax, x, 2.9, part, color)
        draw_flow(ax, (x, 3.3), (x, 4.2))
        draw_box(ax, x, 4.5, result, None)
        draw_flow(ax, (x, 4.8), (end, 6))
    draw_box(ax, 5, 6.4, "multiply, word by word   (n)")
    draw_flow(ax, (5, 6.8), (5, 8))
    draw_box(ax, 5, 8.3, "sum: the logit   ( )", None)
    return fig


# sphinx_gallery_end_ignore
fig = draw_shapes()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart from top to bottom. The vectors of the words, of shape (n, d), take two paths: "
    "through scores and softmax to weights a, (n), and through values and classifier to evidence "
    "s, (n). Both are multiplied word by word, and the sum is the logit, a single number."
)

# %%
# *Figure 1.* An answer as two factors per word, for n words with vectors of width d.
#
# Does the model need its weights?
# --------------------------------
# In the task of :doc:`the last lesson </gallery/core/plot_8_sentiment_training>`, a
# :term:`distractor` is in front of half of the reviews. *energy* gives each word one weight. In
# *qkv* every word attends to every word, and the contexts are averaged. In *mean*, all weights are
# equal. Here no model knows positions, and each has three seeds. Where *mean* is as accurate as a
# model with learned weights, there is nothing that learned weights could explain.

# Setup: the splits, and the models from before the first epoch to after the last.
SEEDS = (1, 2, 3)
OPTIONS = {"mean": {}, "energy": {}, "qkv": {"key_dim": 16}}
config = TrainConfig(
    model=ModelConfig(embed_dim=32, embedding_std=0.1, positions="none", segments=True),
    data="imdb",
    limit=40 if QUICK else 4_000,
    epochs=2 if QUICK else 3,
    batch_size=128,
    lr=4e-3,
)


def split(seed):
    """Split the reviews: few to train on, all others to validate."""
    few = load_reviews(config.data, limit=config.limit, seed=seed)["train"]
    every = load_reviews(config.data, limit=400 if QUICK else None, seed=seed)
    return prepare(config, every | {"train": few})


def train(kind, seed):
    """Train a model and return its copies, from before the first epoch to after the last."""
    run = config.with_options(model=kind, seed=seed, **OPTIONS[kind])
    model = build_model(run, prepared[seed].tokenizer.get_vocab_size())
    copies = [copy.deepcopy(model).eval()]
    trainer = Trainer(model, prepared[seed].examples, {}, run)
    trainer.run(after_epoch=lambda trainer: copies.append(copy.deepcopy(trainer.model).eval()))
    return copies


prepared = {seed: split(seed) for seed in SEEDS}
history = {(kind, seed): train(kind, seed) for kind in OPTIONS for seed in SEEDS}
models = {key: copies[-1] for key, copies in history.items()}
for seed in SEEDS:
    models["equalised", seed] = copy.deepcopy(models["energy", seed])
    torch.nn.init.zeros_(models["equalised", seed].attention.energy.weight)

# %%

# Table: the accuracies of all models.
accuracies = defaultdict(list)
print("accuracy on validation reviews: mean over seeds (lowest to highest)")
print(f"{'':12} alone                     behind a distractor")
for kind in ("mean", "energy", "qkv", "equalised"):
    print(f"{kind:9}", end="")
    for name in ("clean", "distractor"):
        each = [measure(models[kind, seed], prepared[seed].validation[name]) for seed in SEEDS]
        accuracy = torch.tensor([measured["accuracy"] for measured in each])  # (3,)
        accuracies[name].append(accuracy)
        print(f"    {accuracy.mean():.1%} ({accuracy.min():.1%} to {accuracy.max():.1%})", end="")
    print()
low, high = measure(models["mean", 1], prepared[1].validation["clean"])["accuracy_interval"]
print(f"95 % interval of one accuracy, for other reviews: ± {(high - low) / 2:.1%}")

# %%

fig, ax = plt.subplots(figsize=(5, 2.8))
looks = {"clean": (BLUE, "o", -0.12, "alone"), "distractor": (ORANGE, "s", 0.12, "distractor")}
for name, (color, marker, above, label) in looks.items():
    points = torch.stack(accuracies[name])  # (4, 3)
    places = torch.arange(4)[:, None].expand(4, len(SEEDS)) + above  # (4, 3)
    ax.plot(points.flatten(), places.flatten(), marker, color=color, mfc="none", label=label)
ax.set_yticks(range(4), ("mean", "energy", "qkv", "equalised"))
ax.set_xlabel("accuracy on validation reviews")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.invert_yaxis()
fig.legend(loc="outside upper center", ncols=2)
fig.set_label(
    "Accuracies of the mean, energy pooling, QKV and equalised models, three seeds each. Both "
    "kinds of attention are more accurate than the mean, most of all energy pooling behind a "
    "distractor. Equalised models are hardly better than guessing behind one."
)

# %%
# *Figure 2.* The accuracies, one mark per seed, on reviews read alone (circles) and behind a
# distractor (squares). In *equalised*, the weights of trained energy pooling were set equal.
#
# Both kinds of attention are more accurate than the mean, so on this task the weights matter.
#
# Closer look: why equal weights after training are another test
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# :cite:t:`wiegreffe2019attention` begin with the test above, which looks at no weight at all: they
# train the same model with uniform weights. Here, this model is *mean*, for *energy* and for *qkv*
# alike. With uniform weights both take the mean of the words, and the value matrix of *qkv* merges
# into the classifier, as :doc:`another lesson </gallery/deeper/plot_3_values_fold>` shows.
#
# The last row, *equalised*, is a different test, which is easily mistaken for training with uniform
# weights. There the weights of a *trained* energy-pooling model are set equal. How far its accuracy
# falls then shows how closely the rest of the model was fitted to its weights. Whether the task
# requires weights is decided by the row marked *mean*.
#
# Each model is trained from three seeds, and a seed also draws its own split into training and
# validation reviews. We keep a copy of each model from before the first epoch, and another from
# after each epoch. To mark the distractor, a learned vector is added to the vector of each word in
# front of a separator. That the models know no positions makes a formula further down exact.
#
# What a word contributes
# -----------------------
# We call the answer that the model would give to word i alone, a :term:`logit`, the word's
# :term:`evidence` :math:`s_i`. Both the classifier and the mean over contexts are linear, and
# weights sum to 1. The logit of a review is therefore a weighted mean of the evidence of its words,
# with nothing left over:
#
# .. math:: \mathrm{logit} = \sum_i a_i\, s_i ,
#
# where :math:`a_i` is the weight of word i. For QKV it is the weight that the word *receives*,
# averaged over all queries. So word i contributes :math:`a_i s_i`, and a heatmap of weights shows
# the first factor only.


def read(model, ids):
    """Return the weights, what each word receives of them, and each word's evidence."""
    with torch.no_grad():
        weights = model(ids[None], need_weights=True)[1][0].double()
        received = weights if weights.dim() == 1 else weights.mean(dim=0)  # (len(ids),)
        return weights, received, model(ids[:, None]).double()


# %%
# Closer look: what the evidence is made of
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A single word has all the weight, so its evidence is what the classifier makes of its vector or,
# in QKV, of its value. Energy pooling has no values, so its evidence is read from the vectors
# themselves. For QKV the weights come as a table (n, n), which is averaged over the queries. The
# bias of the classifier is part of each :math:`s_i`.
#
# When a word is left out
# -----------------------
# If word i is left out, its contribution is gone, and the weights of the other words are divided by
# :math:`1 - a_i`, so that they sum to 1 again. For energy pooling the logit is then
#
# .. math:: \mathrm{logit}' = \frac{\mathrm{logit} - a_i s_i}{1 - a_i} .
#
# The old logit minus this new one is what the logit loses, the :term:`deletion effect`:
#
# .. math:: \mathrm{effect}_i = \mathrm{logit} - \mathrm{logit}'
#           = \frac{a_i}{1 - a_i}\, (s_i - \mathrm{logit})
#
# So a word that says what all the others say is not missed, however large its weight. In QKV each
# word is also a query with a verdict of its own. Leaving the word out takes this verdict from the
# mean and changes those of the others, and the function below adds up both.


def deletion_from_weights(weights, s):
    """Return the deletion effects from the weights, (n,) or (n, n), and the evidence, (n,)."""
    n = len(s)
    weights = weights.expand(n, n)  # (n, n): a single query stands for every one
    verdicts = weights @ s  # (n,)
    as_key = weights / (1 - weights) * (s - verdicts[:, None])  # (n, n)
    as_key = as_key.masked_fill(torch.eye(n, dtype=torch.bool), 0)  # (n, n)
    return (verdicts - verdicts.mean() + as_key.sum(dim=0)) / (n - 1)  # (n,)


# %%

# Setup: reviews to be read, and how the models read them.
HELD, SOME = (7, 3) if QUICK else (300, 100)
held = {}
for seed in SEEDS:
    every = prepared[seed].validation["clean"].ids
    held[seed] = [every[i].long() for i in range(len(every)) if 20 <= len(every[i]) <= 200][:HELD]
    assert len(held[seed]) == HELD
keys = [(kind, seed) for kind in ("energy", "qkv") for seed in SEEDS]
readings = {key: [read(models[key], ids) for ids in held[key[1]]] for key in keys}

# %%
# Here is a review that we wrote, as energy pooling reads it.

text = "The first hour is awful, but the ending is wonderful and the music is the best."
encoded = prepared[1].tokenizer.encode(text)
words, ids_of_ours = encoded.tokens, torch.tensor(encoded.ids)  # (16,)
_, a, s = read(models["energy", 1], ids_of_ours)  # (16,), (16,)

# %%

fig, axes = plt.subplots(4, figsize=(5, 8), sharex=True)
names = ("weight", "evidence", "weight × evidence", "deletion effect")
bars = zip(axes, names, (a, s, a * s, deletion_from_weights(a, s)), strict=True)
for ax, name, numbers in bars:
    signs = [FOR if number > 0 else AGAINST for number in numbers]
    ax.bar(range(len(a)), numbers.tolist(), color=WEIGHT if name == "weight" else signs)
    ax.axhline(0, color=BLACK, lw=0.8)
    ax.set_title(name, loc="left", fontsize=11)
axes[-1].set_xticks(range(len(a)), words, rotation=90, parse_math=False)
fig.set_label(
    "Four rows of bars over the words of the review, read by energy pooling: weight, evidence, "
    "weight times evidence, deletion effect. "
    + "; ".join(
        f"{word}: weight {a[i]:.2f}, evidence {s[i]:+.1f}, product {a[i] * s[i]:+.2f}"
        for i, word in enumerate(words)
        if word in ("awful", "wonderful", "best")
    )
)

# %%
# *Figure 3.* What energy pooling makes of each word; all rows but the first are in units of the
# logit. The products sum to the logit of the review.
#
# A weight is never negative, so it can't say that "awful" and "wonderful" pull in opposite
# directions. At best it tells how *strongly* a word pulls, and this is what is usually tested.
#
# Closer look: words with much evidence and little weight
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# That "the" and "is" have more positive evidence than "wonderful" is not an error. Their weights
# are so small that their evidence hardly moves the answer, so training had little reason to correct
# it.
#
# Closer look: the formula for QKV
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# In QKV each query j has a verdict of its own, :math:`c_j = \sum_l a_{jl} s_l`, where
# :math:`a_{jl}` is its weight on word l. The logit is the mean of these verdicts. Word i is
# therefore missed twice: as a key, by each of the other queries, and as a query, because its own
# verdict leaves the mean:
#
# .. math:: \mathrm{effect}_i = \frac{1}{n - 1} \Big( c_i - \mathrm{logit}
#           + \sum_{j \ne i} \frac{a_{ji}}{1 - a_{ji}}\, (s_i - c_j) \Big)
#
# In energy pooling a word without weight has no effect. In QKV it can have one, because as a query
# it has a verdict, whose difference from the logit does not have the weight as a factor. To see
# this, we set the weight of the first "is" in our review to zero in both models, and divide the
# other weights by their sum.

without_weight, at = {}, words.index("is")
for kind in ("energy", "qkv"):
    read_by = read(models[kind, 1], ids_of_ours)
    weights, s = read_by[0].expand(16, 16).clone(), read_by[2]  # (16, 16), (16,)
    weights[:, at] = 0
    weights /= weights.sum(dim=-1, keepdim=True)
    without_weight[kind] = deletion_from_weights(weights, s)[at].item()
    print(f"{kind:6} effect of a word without weight: {without_weight[kind]:+.3f}")
own_verdict = weights[at] @ s - (weights @ s).mean()  # ()
assert abs(without_weight["energy"]) < 1e-12
assert abs(without_weight["qkv"] - own_verdict / (len(s) - 1)) < 1e-12
assert abs(without_weight["qkv"]) > 1e-6

# %%
# Closer look: formula and deletion agree
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The function ``deletion_from_weights`` computes the effects by these formulas. They hold for one
# layer in which each score depends only on the words that it is computed from. Scores must not
# depend on positions, because these would shift when a word goes. We compare the formulas with
# :func:`~attention.analysis.deletion_effects`, which runs the model once without each word, on
# validation reviews of 20 to 200 words.

# Check: formula and deletion, on the same reviews.
by_both = {}
length = sum(map(len, held[1])) / HELD
print(f"{HELD} reviews per seed; with seed 1 they have {length:.0f} words on average")
for kind in ("energy", "qkv"):
    model, worst = models[kind, 1], 0.0
    for ids, (weights, a, s) in zip(held[1][:SOME], readings[kind, 1], strict=False):
        with torch.no_grad():
            assert abs(a @ s - model(ids[None]).item()) < 1e-4
        computed, measured = deletion_from_weights(weights, s), deletion_effects(model, ids)
        by_both[kind] = computed, measured
        difference = computed - measured
        worst = max(worst, difference.abs().max().item())
    assert worst < 1e-4
    print(f"{kind:6} formula against deletion in {SOME} reviews, largest difference: {worst:.0e}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
ax.axline((0, 0), slope=1, color="0.6", lw=1)
for (kind, (computed, measured)), color, mark in zip(
    by_both.items(), (BLUE, ORANGE), "os", strict=True
):
    ax.plot(computed, measured, mark, color=color, mfc="none", label=kind)
ax.set(xlabel="effect by the formula", ylabel="effect of deleting the word")
ax.legend()
fig.set_label(
    "Deletion effects of the words of one review, as measured against the formula, for both kinds "
    "of attention. All marks lie on the diagonal."
)

# %%
# *Figure 3a.* The words of one review: what the formula says of each, and what happens when it is
# deleted. Formula and deletion agree up to rounding.
#
# Do weights agree with deletion?
# -------------------------------
# In each review we rank the words by weight and by the size of their deletion effect, and compare
# the two orders by Spearman's :term:`rank correlation`. It is 1 if they are the same, and near 0 if
# one says nothing about the other.
#
# The formula has the weight *inside* the effect, however, and two quantities that share a factor
# are correlated even if all the rest is independent, as :cite:t:`pearson1897spurious` showed for
# ratios of measured bones. So we need a *null hypothesis*: the weights keep their sizes, but fall
# on words regardless of what the words say. We shuffle the evidence among the words, and compute
# the effects again. Any agreement beyond this *null* comes from the choice of the words that have
# the large weights.

generator = torch.Generator().manual_seed(0)


def shuffled_effects(weights, s, shuffle="evidence"):
    """Compute the deletion effects after weights and evidence are paired at random."""
    n = len(s)
    order = torch.randperm(n, generator=generator)  # (n,)
    effects = deletion_from_weights(weights, s[order])  # (n,)
    return effects if shuffle == "evidence" else effects[order.argsort()]


# %%


# Setup: the agreement of every ranking with deletion.
def agreement(ranking, effects):
    """Correlate a ranking with effects, and say whether both have the same top word."""
    return rank_correlation(ranking, effects), float(ranking.argmax() == effects.argmax())


# Numbers for the first table, for the section on the sign, and for the table of single seeds.
sizes, signs, apart = defaultdict(list), defaultdict(list), defaultdict(list)
for (kind, seed), of_reviews in readings.items():
    embedding, layer = models[kind, seed].embedding, models[kind, seed].attention
    for ids, (weights, a, s) in zip(held[seed], of_reviews, strict=True):
        n = len(ids)
        with torch.no_grad():  # what a word hands over is its value, or its vector
            x = embedding(ids)  # (n, 32)
            norm = (layer.W_value(x) if kind == "qkv" else x).norm(dim=-1)  # (n,)
        effects = deletion_from_weights(weights, s)  # (n,)
        shuffled = shuffled_effects(weights, s)  # (n,)
        moved = shuffled_effects(weights, s, shuffle="weights")  # (n,)
        for label, ranking in {
            "weight": a,
            "weight × norm": a * norm,
            "weight × evidence": (a * s).abs(),
            "gradient × input": gradient_effects(models[kind, seed], ids).abs(),
            "random order": torch.rand(n, generator=generator),
        }.items():
            pair = agreement(ranking, effects.abs()), agreement(ranking, shuffled.abs())
            sizes[kind, label] += [pair[0] + pair[1]]
        for label, ranking in {"weight": a, "evidence": s, "weight × evidence": a * s}.items():
            row = [rank_correlation(ranking, one) for one in (effects, shuffled, moved)]
            signs[kind, label] += [row]
        other = s[torch.randperm(n, generator=generator)]  # (n,)
        row = [rank_correlation(a, (one - a @ one).abs()) for one in (s, other)]
        apart[kind, seed] += [[*row, s[a <= a.median()].mean().item()]]


def mean_with_interval(found, draws=2_000):
    """Return the mean and two bounds that enclose 95 % of the means of reviews drawn anew."""
    picks = torch.randint(len(found), (draws, len(found)), generator=generator)
    low, high = found[picks].mean(dim=-1).quantile(torch.tensor([0.025, 0.975])).tolist()
    return f"{found.mean():+.3f} ({low:+.3f} to {high:+.3f})"


# %%
# .. predict:: weights-on-random-words
#
#    How closely would the ranking by weight agree with deletion in energy pooling if the same
#    weights fell on random words?
#
#    Not at all : ``by_weight[2] < 0.1``
#        The weight is a factor of the effect, wherever it falls.
#    Less closely than it does : ``0.1 <= by_weight[2] <= by_weight[0]``
#        This is so in QKV, which gives large weights to words with strong evidence.
#    More closely than it does : ``by_weight[2] > max(0.1, by_weight[0])``
#        The shared factor makes the rankings agree, and the choice of words lowers the agreement.

# Table: the means over reviews and seeds.
by_weight = torch.tensor(sizes["energy", "weight"]).mean(dim=0)  # (4,)
print("rank correlation with the size of deletion effects, and how often the top word is the same")
print(f"{'':26} measured   null   measured − null (95 %)          top word   null")
for (kind, label), found in sizes.items():
    table = torch.tensor(found)  # (3 * HELD, 4)
    rho, top, null, top_null = table.mean(dim=0).tolist()
    beyond = mean_with_interval(table[:, 0] - table[:, 2])
    print(f"{kind:6} {label:18} {rho:9.3f} {null:7.3f}   {beyond} {top:9.0%} {top_null:8.0%}")


fig, ax = plt.subplots(figsize=(5, 4.4))
for i, found in enumerate(sizes.values()):
    rho, _, null, _ = torch.tensor(found).mean(dim=0).tolist()
    ax.plot([null, rho], [i, i], color="0.6", lw=1.2, zorder=0)
    ax.plot(null, i, "o", color=BLACK, mfc="white", label=None if i else "null")
    ax.plot(rho, i, "o", color=BLUE, label=None if i else "measured")
ax.set_yticks(range(len(sizes)), [f"{kind}: {label}" for kind, label in sizes])
ax.axhline(len(sizes) / 2 - 0.5, color="0.8", lw=0.8)
ax.set_xlabel("rank correlation with deletion")
ax.invert_yaxis()
fig.legend(loc="outside upper center", ncols=2)
fig.set_label(
    "Rank correlations with the size of deletion effects for five rankings in each kind of "
    "attention, measured and null. Ranked by weight, the measured one is far above its null in QKV "
    "and below it in energy pooling."
)

# %%
# *Figure 4.* How well five rankings agree with deletion (filled), and how well they would agree if
# the weights fell on random words (hollow).
#
# Compare the two rows that are labelled *weight*. In QKV the correlation is far above its null,
# because these models give large weights to words whose evidence is strong. In energy pooling it is
# below its null, on average over three seeds. A correlation of this kind means little without its
# null.
#
# Closer look: the other rankings, and the top word
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The obvious :term:`baseline` is a random ranking, but it is not enough here, because a ranking by
# weight can agree with deletion better than a random ranking does, merely because the weight is in
# the formula. To judge a ranking that was made from the evidence, the same pairs of a weight and an
# evidence are put into the order of the evidence, as if the weights had been shuffled.
#
# Four other rankings are compared in the same way. :cite:t:`kobayashi2020attention` multiply each
# weight by the norm of the vector that it multiplies, because a large weight on a short vector
# moves little. *Gradient × input* (:func:`~attention.analysis.gradient_effects`) says to first
# order what the logit would lose if the word's vector shrank to zero. Of the last two rankings, one
# goes by the size of weight × evidence, and the other is random.
#
# Four of the five rankings contain the weight, so their nulls are far above that of the random
# order. Multiplying the weight by the norm helps energy pooling and hardly helps QKV. Gradient ×
# input is not the standard by which to judge the others. It describes a vector that shrinks to
# zero, and a vector of zeros stays in the softmax and keeps a share of the weight, whereas a
# deleted word keeps none.
#
# The top word is another matter: in energy pooling, the word with the largest weight is also the
# one with the largest effect far more often than under the null. Figure 3 suggests how both can be
# true. The few words with large weights are well chosen, but a word with hardly any weight may have
# any evidence, because that costs the model next to nothing.
#
# Closer look: each seed by itself
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The intervals come from drawing the reviews anew with replacement, which is called the bootstrap.
# They say how far the means would change with other reviews, but not how far they would change with
# other training seeds, so we look at each seed separately. The formula also lets us take the two
# factors apart and compare the weight with the other factor alone: do large weights fall on words
# whose evidence differs much from the verdict, in either direction?

# Table: one line per seed.
print(f"{'':8}   weight with deletion     weight with |evidence − logit|   evidence, lighter half")
for (kind, seed), found in apart.items():
    first = HELD * (seed - 1)
    of_seed = torch.tensor(sizes[kind, "weight"][first : first + HELD])  # (HELD, 4)
    rho, _, null, _ = of_seed.mean(dim=0)
    strength, strength_null, lighter = torch.tensor(found).mean(dim=0)
    print(f"{kind:6} {seed}   {rho:6.3f} (null {null:6.3f})", end="   ")
    print(f"{strength:+13.3f} (null {strength_null:+.3f}) {lighter:+22.2f}")

# %%

fig, ax = plt.subplots(figsize=(5, 2.8))
for i, ((kind, _), found) in enumerate(apart.items()):
    strength = torch.tensor(found)[:, 0]  # (HELD,)
    low, middle, high = strength.quantile(torch.tensor([0.25, 0.5, 0.75])).tolist()
    color, mark = (BLUE, "o") if kind == "energy" else (ORANGE, "s")
    ax.plot([low, high], [i, i], color=color)
    ax.plot(middle, i, mark, color=color)
ax.axvline(0, color=BLACK, lw=1, ls=":")
ax.set_yticks(range(len(apart)), [f"{kind}, seed {seed}" for kind, seed in apart])
ax.set_xlabel("weight with |evidence − logit|, rank correlation")
ax.invert_yaxis()
fig.set_label(
    "Rank correlation of the weight with the strength of the evidence, median and middle half of "
    "the reviews for each model. All three QKV models are clearly above zero; the three "
    "energy-pooling models lie on different sides of it."
)

# %%
# *Figure 4a.* Do large weights fall on strong evidence? For each model the median of the reviews
# and their middle half.
#
# In QKV the large weights do fall on such words, with each seed. In energy pooling even the sign of
# this correlation differs between the seeds, so what is found in one model belongs to that model
# and not to energy pooling.
#
# The last column suggests a reason. It takes the half of the words whose weights are smaller, and
# gives their mean evidence. In two of the three energy-pooling models, the evidence of these words,
# which hardly count, is shifted far to the positive side, like that of "the" and "is" in Figure 3.
# It is then further from the verdict than the evidence of the words which determined the verdict,
# so large weights go with small differences. The shift does no harm as long as these words keep
# their small weights. With equal weights it would weigh heavily, which may be why the accuracy of
# the equalised models falls so far.
#
# So weights agree with deletion beyond their null in all three
# QKV models, but in only one of the three energy-pooling models, and there only slightly.
#
# Closer look: why agreement grows with training
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Suppose that the size of an effect is the product of the weight and an independent strength,
# :math:`|s_i - \mathrm{logit}|`. Then the logarithm of this size is the sum of two logarithms, the
# log-weight and the log-strength. If their standard deviations are :math:`\sigma_a` and
# :math:`\sigma_s`, the correlation between log-weight and log-effect is
#
# .. math:: \frac{\sigma_a}{\sqrt{\sigma_a^2 + \sigma_s^2}} .
#
# In energy pooling the size of an effect really is such a product, apart from the divisor :math:`1
# - a_i`, which is near 1 for most words. For QKV, whose effect is a sum over the queries, it is a
# rough model. Where weight and strength are independent, the correlation must therefore rise as
# training spreads the weights, unless training spreads the strengths in at least the same
# proportion. It does not matter which words the large weights are on.
#
# We follow each model from before the first epoch to after the last. If the spread is what matters,
# even an *untrained* energy-pooling model must agree with deletion once its log-weights spread as
# far as those of the trained one. To reach this spread, we multiply its scores by a number, which
# *stretches* them. The stretched model has learned nothing, and its accuracy, printed last, is that
# of guessing.


# Setup: every model after every epoch, and the stretched ones.
def follow(model, seed):
    """Return means over reviews: σ of log-weights and of log-strengths, ρ, and its null."""
    numbers = []
    for ids in held[seed][:SOME]:
        weights, a, s = read(model, ids)
        effects = deletion_from_weights(weights, s)
        shuffled = shuffled_effects(weights, s)
        spreads = [one.log().std().item() for one in (a, (s - a @ s).abs())]
        numbers.append(spreads + [rank_correlation(a, one.abs()) for one in (effects, shuffled)])
    return torch.tensor(numbers).mean(dim=0)


curves = {
    (kind, epoch): torch.stack([follow(history[kind, seed][epoch], seed) for seed in SEEDS])
    for kind in ("energy", "qkv")
    for epoch in range(config.epochs + 1)
}
factor = curves["energy", config.epochs][:, 0] / curves["energy", 0][:, 0]  # (3,)
stretched, right = [], []
for seed, times in zip(SEEDS, factor, strict=True):
    model = copy.deepcopy(history["energy", seed][0])
    model.attention.energy.weight.data.mul_(times)
    stretched.append(follow(model, seed))
    right.append(measure(model, prepared[seed].validation["clean"])["accuracy"])
curves[f"energy, scores × {factor.mean():.0f},", 0] = torch.stack(stretched)  # (3, 4)

# %%

print(f"mean over {len(SEEDS)} seeds, {SOME} reviews each")
for (kind, epoch), points in curves.items():
    spread, _, rho, null = points.mean(dim=0).tolist()
    print(f"{kind:6} {epoch} epochs: σ of log-weights {spread:.3f}, ρ {rho:6.3f}, null {null:6.3f}")
print(f"accuracy of the untrained models: {min(right):.1%} to {max(right):.1%}")

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
marks = {
    kind: torch.cat([points for key, points in curves.items() if key[0] == kind])
    for kind in ("energy", "qkv")
}
for (kind, points), color, mark in zip(marks.items(), (BLUE, ORANGE), "os", strict=True):
    ax.plot(points[:, 0], points[:, 2], mark, color=color, label=f"{kind}, measured")
    label = f"{kind}, evidence shuffled"
    ax.plot(points[:, 0], points[:, 3], mark, color=color, mfc="none", label=label)
spreads = torch.linspace(0, 1.5, 100)  # (100,)
independent = spreads / (spreads**2 + marks["energy"][:, 1].mean() ** 2).sqrt()
ax.plot(spreads, independent, "--", color=BLACK, lw=1.2, label="independent factors")
points = torch.stack(stretched)  # (3, 4)
ax.plot(points[:, 0], points[:, 2], "x", color=BLACK, ms=8, label="energy untrained, stretched")
ax.set(xlabel="standard deviation of the log-weights", ylabel="rank correlation with deletion")
fig.legend(loc="outside upper center", ncols=2, fontsize=9)
fig.set_label(
    "Rank correlation of weights with deletion, against the spread of log-weights, one mark per "
    "model and epoch. Energy pooling with its evidence shuffled follows a rising curve, that of "
    "independent factors, as do untrained models with stretched scores; its measured marks lie "
    "on both sides of the curve, most of them below. QKV's measured marks lie far above its "
    "shuffled ones."
)

# %%
# *Figure 4b.* Each mark is a model after some epoch: filled marks show it as measured, and hollow
# ones with its evidence shuffled. Crosses are untrained models with stretched scores. The vertical
# distance between the filled and the hollow mark of a model is what the choice of words adds, or
# takes away.
#
# The curve is the correlation of logarithms given by the formula, with the :math:`\sigma_s` of
# energy pooling, whereas the marks are rank correlations. The two can be compared for two reasons.
# No rank changes when logarithms are taken, and for normally distributed numbers the rank
# correlation is at most 0.02 below the linear one. Our logarithms are only roughly normal, so
# hollow circles need not lie on the curve.
#
# In energy pooling, a correlation that appears with training is thus due to the growing spread, and
# in two of the three models the choice of words even lowers it. In QKV the agreement is there after
# one epoch, when the weights are less uneven than those of energy pooling after its last epoch.
# This agreement does result from the choice of words. We do not know why the two kinds of attention
# differ in this.
#
# Closer look: what decides the sign of an effect
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Effects can also be ranked *with* their sign, from the word that speaks most against the film to
# the one that speaks most for it. Evidence is a factor of the effect just as the weight is, so a
# ranking by evidence deserves the same suspicion as a ranking by weight. The null of a ranking by
# weight has the evidence shuffled, as before, and the null of a ranking by evidence has the weights
# shuffled.

print(f"{'':26} measured   evidence shuffled   weights shuffled")
for (kind, label), found in signs.items():
    measured, by_evidence, by_weights = torch.tensor(found).mean(dim=0).tolist()
    print(f"{kind:6} {label:18} {measured:9.3f} {by_evidence:19.3f} {by_weights:18.3f}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.2))
marks = (
    ("measured", BLUE, "o"),
    ("evidence shuffled", BLACK, "x"),
    ("weights shuffled", ORANGE, "s"),
)
for i, found in enumerate(signs.values()):
    for (label, color, mark), rho in zip(marks, torch.tensor(found).mean(dim=0), strict=True):
        ax.plot(rho, i, mark, color=color, mfc="none", label=None if i else label)
ax.axvline(0, color=BLACK, lw=1, ls=":")
ax.set_yticks(range(len(signs)), [f"{kind}: {label}" for kind, label in signs])
ax.set_xlabel("rank correlation with signed effects")
ax.invert_yaxis()
fig.legend(loc="outside upper center", ncols=3, fontsize=9, columnspacing=1)
fig.set_label(
    "Rank correlations with signed deletion effects, three rankings in each kind of attention, "
    "measured and with either factor shuffled. By weight all are near zero or below it; by "
    "evidence and by weight times evidence the measured ones are near 1."
)

# %%
# *Figure 4c.* How well three rankings with their sign agree with the signed effects, as measured
# and after one of the two factors was shuffled.
#
# A null need not be 0, and in energy pooling both nulls of the first ranking, the one by weight,
# differ from 0. With the evidence shuffled, the evidence of most words is still a little above the
# verdict, and that of a few words far below it. Most effects are therefore positive, and a larger
# weight makes a positive effect larger. With the weights shuffled, the effects follow the evidence.
# The original weights, by which the words are ranked, are correlated with the evidence: in these
# models, larger weights go with less positive evidence.
#
# In QKV the weight alone says nothing about the sign. In energy pooling it says little: larger
# weights are somewhat more often on words against the film. Evidence by itself puts the words
# nearly in the order of their effects, and does so nearly as well, or better, when the weights are
# shuffled. The order of the effects is therefore above all a matter of what the words say, and in
# these models a word says the same in every review.
#
# No correlation can decide between weight and evidence, because each agrees with effects that
# contain it. The formula does not have to decide: a contribution is the product of the two, and the
# contributions add up to the answer.
#
# Closer look: other weights, the same answer
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# :cite:t:`jain2019attention` ask whether very different weights would have given the same answer.
# For energy pooling the formula says when: any weights that give the same weighted mean of the
# evidence will do. For our review it is enough to give weight to two words, one with evidence above
# the verdict and one with evidence below it.

_, a, s = read(models["energy", 1], ids_of_ours)  # (16,), (16,)
above, below = (
    min((a[i].item(), i) for i in range(len(a)) if side * (s[i] - a @ s) > 0)[1] for side in (1, -1)
)
other = torch.zeros_like(a)
other[above] = (a @ s - s[below]) / (s[above] - s[below])
other[below] = 1 - other[above]
print(f"its own weights: logit {a @ s:+.4f}, most on {[words[i] for i in a.topk(3).indices]}")
print(f"other weights:   logit {other @ s:+.4f}, all on {[words[i] for i in (above, below)]}")
print(f"weight that had to be moved: {(a - other).clamp(min=0).sum():.0%}")

# %%
# Weights that are made up for one text are not a model, however, as
# :cite:t:`wiegreffe2019attention` object. One would have to find a *model* that gives the same
# answers as this one on all texts, but with other weights on each. They train such models, called
# adversaries, and report that the adversaries' weights do not help a simpler model that has to use
# them. We trained only the simplest alternative of this kind, the model with uniform weights, and
# it is less accurate.
#
# What to draw
# ------------
# The honest picture of one layer of attention colours each word by its signed contribution, weight
# × evidence. Its numbers sum to the logit that is explained. Here are the weights of energy
# pooling, and the contributions in both models. A word with a dashed line speaks against the film,
# and any other coloured word for it.

pictures = [words_as_html(words, a.tolist(), "energy: weights")]
for kind in ("energy", "qkv"):
    _, a, s = read(models[kind, 1], ids_of_ours)  # (16,), (16,)
    caption = f"{kind}: weight × evidence, in all {a @ s:+.2f}"
    pictures.append(words_as_html(words, (a * s).tolist(), caption))
    order = (a * s).abs().argsort(descending=True)[:5].tolist()
    print(caption, *(f"{words[i]} {a[i] * s[i]:+.2f}" for i in order), sep="   ")
Html("".join(pictures))

# %%
# A contribution is what the word added to the sum, and not what would change without it. And after
# more than one layer, vectors are mixtures of words, so evidence has to be defined anew.
#
# Closer look: what the picture does not need, and does not say
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The picture needs neither deletion nor gradient. What would change without a word, however, also
# depends on what the other words say. :doc:`The page on training </training>` trains such models on
# all of Yelp with one command.
#
# Closer look: what others found
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# * :cite:t:`jain2019attention` compare weights with gradients and deletion in recurrent networks on
#   many tasks, find them frequently uncorrelated, and conclude *Attention is not Explanation*.
# * :cite:t:`wiegreffe2019attention` reply with *Attention is not not Explanation* and with four
#   tests: uniform weights, the variance over seeds, weights transferred to a simpler model, and a
#   trained adversary. The first test is on this page. In their second one, they compare the weights
#   that different seeds give to the same words. We compare seeds, too, but only by how well their
#   weights agree with deletion.
# * :cite:t:`serrano2019attention` delete words in the order of their weights until the decision
#   changes. They find weights a noisy guide: rankings that use the gradient often change the
#   decision sooner.
# * :cite:t:`kobayashi2020attention` show for BERT that norms of weighted vectors tell a different
#   story from weights. Our classifier turns each weighted vector into a single number, weight ×
#   evidence. The norm of a single number is its size, and we know its sign as well.
# * :cite:t:`bastings2020elephant` ask why one should explain a prediction by weights at all, when
#   saliency methods were made for this purpose and follow the computation from input to output.
# * :cite:t:`deyoung2020eraser` collect the passages that people marked as reasons. They measure how
#   far an answer drops without a passage (comprehensiveness) and how well the passage alone keeps
#   it (sufficiency). We delete one word at a time, and have no passages that people marked.
#
# In a recurrent network the vector of a word already contains its neighbours, so the weight on this
# vector is not a weight on the word alone. In our models a vector represents its word alone, which
# makes the formula exact. Our correlations therefore cannot be compared, as numbers, with those
# measured in recurrent networks.
#
# Closer look: what is not known from this page
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# * *Deeper models.* After one layer, vectors are mixtures of words, so the evidence of a word has
#   to be defined anew. The formula also has to change for positions, residual connections or
#   several heads.
# * *Other tasks and larger models.* All of this was measured on two kinds of attention of one size,
#   with three seeds, on film reviews, and energy pooling differs even between the seeds.
# * *What deletion misses.* Words are deleted one at a time, so two words that say the same thing
#   cover for each other. Moreover, a review with a gap is a text that nobody would write.
# * *What a person would call a reason.* We compared the model with itself, and never with what a
#   reader of the review would have marked.
#
# Takeaways
# ---------
# * Does a weight say how much the answer depends on a word? It is one of two factors. The weight is
#   how much of the word was taken, and the evidence is what was taken.
# * A correlation of weight and effect needs a null that contains the weight, too.
# * Whether weights matter at all is answered by training the same model with uniform weights.
#
# *From memory:* close this page and write down the logit as a sum over words, and from it the
# effect of leaving one word out of energy pooling. Then say what is shuffled for the null.
#
# *Where next:* that was the last core lesson. :doc:`The page of questions </questions>` says what
# to read next.
#
# You can now take the answer of an attention layer apart word by word, and judge a correlation
# between weights and importance. The exercise to do next is to :ref:`compute deletion effects
# without deleting <ex-deletion-from-weights>`, on :doc:`the page of exercises
# </exercises/reading>`.

plt.show()

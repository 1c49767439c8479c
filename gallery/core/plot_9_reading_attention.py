"""
Is attention an explanation?
============================

An attention weight explains an answer only together with what it multiplies. When a word is left
out of a review, the answer of one layer of attention changes by an amount that can be written down
exactly: the word's weight is one factor of it, and the other is the evidence that the word hands
over, which may speak for or against. Weights therefore agree with the sizes of these effects as
soon as they are uneven, whichever words they are on. In the energy pooling trained here that is all
there is to it on average: the agreement is no higher than with the evidence of other words. In QKV
attention it is far higher. In neither does a weight say which side a word is on, so the picture to
draw is weight × evidence, with its sign.

This page trains the models, derives the formula, and puts beside each correlation the one that
would be found if weights and evidence had nothing to do with each other.
"""

import copy
from collections import defaultdict

import matplotlib.pyplot as plt
import torch

from attention.analysis import (
    deletion_effects,
    deletion_from_weights,
    gradient_effects,
    rank_correlation,
    shuffled_effects,
)
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, Html, use_style, words_as_html
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.evaluation import measure
from attention.sentiment.model import build_model
from attention.sentiment.prepare import prepare
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer

use_style()

# %%
# Does the model need its weights?
# --------------------------------
# The task is that of :doc:`/gallery/core/plot_8_sentiment_training`: half of the time an unrelated
# review, the distractor, is in front, and only the second review counts. *energy* gives each word
# one weight. In *qkv* every word attends to every word, and the contexts are averaged. Instead of
# positions, one learned vector marks what is in front of a separator, which makes one thing exact
# further down.
#
# :cite:t:`wiegreffe2019attention` begin with a test that needs no explanation at all: train the
# same model with uniform weights, because where it does as well, its weights have nothing to
# explain. With uniform weights both models take the mean of the words, and the value matrix of
# *qkv* merges into the classifier (:doc:`/gallery/deeper/plot_3_values_fold`), so *mean* is that
# model for both. Each is trained from three seeds, and a copy is kept from before the first epoch
# and after each one.

SEEDS = (1, 2, 3)
config = TrainConfig(
    model=ModelConfig(
        embed_dim=32, key_dim=16, embedding_std=0.1, positions="none", segments=True
    ),
    data="imdb", limit=4_000, epochs=3, batch_size=128, lr=4e-3,
)  # fmt: skip
reviews = load_reviews(config.data)
reviews["train"] = load_reviews(config.data, limit=config.limit)["train"]
prepared = prepare(config, reviews)
tokenizer = prepared.tokenizer


def train(kind, seed):
    """Train a model and return its copies, from before the first epoch to after the last."""
    run = config.with_options(model=kind, seed=seed)
    model = build_model(run, tokenizer.get_vocab_size())
    copies = [copy.deepcopy(model).eval()]
    trainer = Trainer(model, prepared.examples, {}, run)
    trainer.run(after_epoch=lambda trainer: copies.append(copy.deepcopy(trainer.model).eval()))
    return copies


history = {(kind, seed): train(kind, seed) for kind in ("mean", "energy", "qkv") for seed in SEEDS}
models = {key: copies[-1] for key, copies in history.items()}
for seed in SEEDS:
    models["equalised", seed] = copy.deepcopy(models["energy", seed])
    torch.nn.init.zeros_(models["equalised", seed].attention.energy.weight)

print("accuracy on validation reviews: mean over seeds (lowest to highest)")
print(f"{'':12} alone                     behind a distractor")
for kind in ("mean", "energy", "qkv", "equalised"):
    print(f"{kind:9}", end="")
    for examples in prepared.validation.values():
        measured = [measure(models[kind, seed], examples)["accuracy"] for seed in SEEDS]
        mean = sum(measured) / len(SEEDS)
        print(f"    {mean:.1%} ({min(measured):.1%} to {max(measured):.1%})", end="")
    print()
low, high = measure(models["mean", SEEDS[0]], prepared.validation["clean"])["accuracy_interval"]
print(f"95 % interval of one accuracy, for other reviews: ± {(high - low) / 2:.1%}")

# %%
# Both kinds of attention are more accurate than the mean, most of all energy pooling behind a
# distractor, so on this task the weights carry something. The last row is a different test, which
# is easily taken for the same: there the weights of a *trained* energy pooling are set equal
# afterwards. How far its accuracy falls differs from seed to seed, and shows how closely the rest
# of a model was fitted to its weights. Whether the task requires weights is decided by the row of
# *mean*.
#
# What a word contributes
# -----------------------
# What would the model answer if the whole review were word i alone? We call that logit the word's
# *evidence* :math:`s_i`. A single word has all the weight, so its evidence is what the classifier
# makes of its vector, or of its value. Both the classifier and the mean over contexts are linear,
# and weights sum to 1, so the logit of a review is a weighted mean of evidence, with nothing left
# over:
#
# .. math:: \mathrm{logit} = \sum_i a_i\, s_i ,
#
# where :math:`a_i` is the word's weight, and for QKV its mean over all queries, the weight that a
# word *receives*. So word i adds :math:`a_i s_i` to the logit, and a heatmap shows the first
# factor only. Because the bias of the classifier is part of :math:`s_i`, this sum does not depend
# on how a model happens to share a constant between its vectors and its bias.


def read(model, ids):
    """Return the weights, a row per query if there are several, and each word's evidence."""
    with torch.no_grad():
        _, weights = model(ids[None], need_weights=True)
        evidence = model(ids[:, None])  # (len(ids),)
    return weights[0].double(), evidence.double()


def received(weights):
    """Average over the queries."""
    return weights if weights.dim() == 1 else weights.mean(dim=0)


def contributions(model, ids):
    """Return weight × evidence; the sum over the words is the logit."""
    weights, evidence = read(model, ids)
    return received(weights) * evidence


# %%
# When a word is left out
# -----------------------
# If word i is left out, its contribution is gone, but the other words share its weight in
# proportion, so their weights are divided by :math:`1 - a_i`. For energy pooling a line of algebra
# gives what the logit loses, the *deletion effect*:
#
# .. math:: \mathrm{effect}_i = \frac{a_i}{1 - a_i}\, (s_i - \mathrm{logit})
#
# A word is missed by its weight, times how far its evidence differs from the verdict of the whole
# review. A word that says what all others say is not missed, however large its weight.
#
# In QKV the word is missed twice: as a key, by each of the other queries j, whose own verdict is
# :math:`c_j = \sum_i a_{ji} s_i`, and as a query, because its verdict leaves the mean:
#
# .. math:: \mathrm{effect}_i = \frac{1}{n - 1} \Big( c_i - \mathrm{logit}
#           + \sum_{j \ne i} \frac{a_{ji}}{1 - a_{ji}}\, (s_i - c_j) \Big)
#
# :func:`~attention.analysis.deletion_from_weights` computes both. They hold for one layer whose
# scores depend on no other words and on no positions, which would move when a word goes. Do they
# agree with :func:`~attention.analysis.deletion_effects`, which runs the model once without each
# word? We take validation reviews of 20 to 200 words.

HELD, SOME = 300, 100
every = prepared.validation["clean"].ids
held = [every[i].long() for i in range(len(every)) if 20 <= len(every[i]) <= 200][:HELD]
assert len(held) == HELD
print(f"{HELD} reviews, {sum(map(len, held)) / HELD:.0f} words on average")

READ = ("energy", "qkv")
readings = {
    (kind, seed): [read(models[kind, seed], ids) for ids in held] for kind in READ for seed in SEEDS
}
for kind in READ:
    model, worst = models[kind, SEEDS[0]], 0.0
    for ids, (weights, evidence) in zip(held[:SOME], readings[kind, SEEDS[0]], strict=False):
        with torch.no_grad():
            logit = model(ids[None]).item()
        assert abs(contributions(model, ids).sum() - logit) < 1e-4
        difference = deletion_from_weights(weights, evidence) - deletion_effects(model, ids)
        worst = max(worst, difference.abs().max().item())
    assert worst < 1e-4
    print(f"{kind:6} formula against deletion in {SOME} reviews, largest difference: {worst:.0e}")

# %%
# The two agree to rounding, so here are all four numbers for each word of a review that we wrote,
# read by energy pooling.

text = "The first hour is awful, but the ending is wonderful and the music is the best."
encoded = tokenizer.encode(text)
ids_of_ours = torch.tensor(encoded.ids)  # (16,)
a, s = read(models["energy", SEEDS[0]], ids_of_ours)  # (16,), (16,)
rows = {
    "weight": a,
    "evidence": s,
    "weight × evidence": a * s,
    "deletion effect": deletion_from_weights(a, s),
}
fig, axes = plt.subplots(4, figsize=(5, 8), sharex=True)
colors = (BLUE, PURPLE, GREEN, ORANGE)
for ax, (name, numbers), color in zip(axes, rows.items(), colors, strict=True):
    ax.bar(range(len(a)), numbers.tolist(), color=color)
    ax.axhline(0, color=BLACK, lw=0.8)
    ax.set_title(name, loc="left", fontsize=11)
axes[-1].set_xticks(range(len(a)), encoded.tokens, rotation=90)
fig.set_label(
    "Four rows of bars over the words of the review, read by energy pooling: weight, evidence, "
    "weight times evidence, deletion effect. "
    + "; ".join(
        f"{word}: weight {a[i]:.2f}, evidence {s[i]:+.1f}, product {a[i] * s[i]:+.2f}"
        for i, word in enumerate(encoded.tokens)
        if word in ("awful", "wonderful", "best")
    )
)

# %%
# *Figure 1. What energy pooling makes of each word, in units of the logit but for the weights. The
# products in the third row sum to the logit of the review.*
#
# A weight is never negative, so it can't say that "awful" and "wonderful" pull in opposite
# directions. At best it tells how *strongly* a word pulls, which is what is usually tested.
#
# Do weights agree with deletion?
# -------------------------------
# In each review we rank the words by weight and by the size of their deletion effect, and compare
# the orders by Spearman's *rank correlation*: 1 if they are the same, near 0 if one says nothing
# about the other (:func:`~attention.analysis.rank_correlation`). The obvious baseline is a random
# ranking, but the formula has the weight *inside* the effect, and two quantities that share a
# factor are correlated even if all the rest is independent, as :cite:t:`pearson1897spurious`
# showed for ratios of measured bones. To exceed a random ranking, a weight need only be in the
# formula.
#
# So we need another *null hypothesis*: the weights are as uneven as they are, but fall on words
# regardless of what these say. In each review we shuffle the evidence among the words, compute the
# effects again by the formula (:func:`~attention.analysis.shuffled_effects`), and correlate the
# same ranking with those. What exceeds this null results from *which* words have the large
# weights.
#
# Four other rankings are compared in the same way. :cite:t:`kobayashi2020attention` multiply the
# weight by the norm of the vector it multiplies, because a large weight on a short vector moves
# little. *Gradient × input* (:func:`~attention.analysis.gradient_effects`) says to first order
# what the logit would lose if the word's vector shrank to zero. The size of weight × evidence and
# a random order complete the list.

generator = torch.Generator().manual_seed(0)


def norms(model, ids):
    """Return the length of what each word hands over: its vector, or its value."""
    with torch.no_grad():
        x = model.embedding(ids)  # (len(ids), 32)
        value = model.attention.W_value(x) if model.config.attention == "qkv" else x
    return value.norm(dim=-1)


def agreement(ranking, effects):
    """Correlate a ranking with effects, and say whether both have the same top word."""
    return rank_correlation(ranking, effects), float(ranking.argmax() == effects.argmax())


found = defaultdict(list)  # by model and ranking: measured and null, for each seed and review
for (kind, seed), pairs in readings.items():
    model = models[kind, seed]
    for ids, (weights, evidence) in zip(held, pairs, strict=True):
        n = len(ids)
        a = received(weights)  # (n,)
        rankings = {
            "weight": a,
            "weight × norm": a * norms(model, ids),
            "weight × evidence": (a * evidence).abs(),
            "gradient × input": gradient_effects(model, ids).abs(),
            "random order": torch.rand(n, generator=generator),
        }
        effects = deletion_from_weights(weights, evidence).abs()  # (n,)
        shuffled = shuffled_effects(weights, evidence, generator=generator).abs()  # (n,)
        for label, ranking in rankings.items():
            found[kind, label] += [agreement(ranking, effects) + agreement(ranking, shuffled)]


def mean_with_interval(found, draws=2_000):
    """Draw the reviews anew, with replacement: 95 % of the means lie between the last two."""
    picks = torch.randint(len(found), (draws, len(found)), generator=generator)
    low, high = found[picks].mean(dim=-1).quantile(torch.tensor([0.025, 0.975])).tolist()
    return f"{found.mean():+.3f} ({low:+.3f} to {high:+.3f})"


print("rank correlation with the size of deletion effects, and how often the top word is the same")
print(f"{'':26} measured   null   measured − null (95 %)          top word   null")
for (kind, label), numbers in found.items():
    table = torch.tensor(numbers).view(len(SEEDS), HELD, 4)  # (3, HELD, 4)
    rho, top, null, top_null = table.mean(dim=(0, 1)).tolist()
    beyond = mean_with_interval((table[..., 0] - table[..., 2]).mean(dim=0))
    print(f"{kind:6} {label:18} {rho:9.3f} {null:7.3f}   {beyond} {top:9.0%} {top_null:8.0%}")

# %%
# Compare the two rows of *weight*. In energy pooling the correlation is high, but on average over
# the seeds it does not exceed that with shuffled evidence, so it follows from how uneven the
# weights are. In QKV the null is far below what was measured, because these models give large
# weights to words whose evidence is strong. If only the word with the largest weight counts,
# energy pooling, too, agrees with deletion more often than its null does. Figure 1 suggests how
# both can be true: the few words with large weights are well chosen, but a word with hardly any
# weight may have any evidence, because that costs the model nothing.
#
# Four of the five rankings contain the weight, so their nulls are far above the random order's,
# and no correlation of this kind means much without its null. Multiplying by the norm helps energy
# pooling and hardly helps QKV. Gradient × input is not a judge above the others, because a vector
# of zeros stays in the softmax and keeps a share of the weight, which a deleted word does not.
#
# The formula also lets us leave the shared factor out of the question. Do large weights fall on
# words whose evidence differs much from the verdict, in either direction?

apart = defaultdict(list)  # by kind: measured and null, for each seed and review
for (kind, _), pairs in readings.items():
    for weights, evidence in pairs:
        n = len(evidence)
        a = received(weights)  # (n,)
        other = evidence[torch.randperm(n, generator=generator)]  # (n,)
        sizes = [(one - a @ one).abs() for one in (evidence, other)]
        apart[kind] += [[rank_correlation(a, size) for size in sizes]]
for kind, numbers in apart.items():
    table = torch.tensor(numbers).view(len(SEEDS), HELD, 2).mean(dim=1)  # (3, 2)
    seeds = ", ".join(f"{rho:+.3f} (null {null:+.3f})" for rho, null in table.tolist())
    print(f"{kind:6} weight with |evidence − logit|, by seed: {seeds}")

# %%
# In QKV they do for each seed. In energy pooling even the sign may differ from one seed to the
# next, so what is found in one model belongs to that model and not to energy pooling.
#
# What training changes
# ---------------------
# If the weight is one factor of the effect and an independent strength is the other, then their
# logarithms add up. With standard deviations :math:`\sigma_a` of the log-weights and
# :math:`\sigma_s` of the log-strengths :math:`|s_i - \mathrm{logit}|`, the correlation between
# log-weight and log-effect is
#
# .. math:: \frac{\sigma_a}{\sqrt{\sigma_a^2 + \sigma_s^2}} .
#
# That neglects :math:`1 - a_i`, which is near 1 for most words. The correlation must therefore
# rise as training spreads the weights, whichever words they are on. Here is each copy of each
# model, from before the first epoch to after the last.


def follow(model):
    """Return σ of the log-weights, σ of the log-strengths, ρ, and its null: means over reviews."""
    numbers = []
    for ids in held[:SOME]:
        weights, evidence = read(model, ids)
        a = received(weights)
        effects = deletion_from_weights(weights, evidence)
        shuffled = shuffled_effects(weights, evidence, generator=generator)
        spreads = [one.log().std().item() for one in (a, (evidence - a @ evidence).abs())]
        numbers.append(spreads + [rank_correlation(a, one.abs()) for one in (effects, shuffled)])
    return torch.tensor(numbers).mean(dim=0)


curves = {
    (kind, epoch): torch.stack([follow(history[kind, seed][epoch]) for seed in SEEDS])
    for kind in READ
    for epoch in range(config.epochs + 1)
}
print(f"mean over {len(SEEDS)} seeds, {SOME} reviews")
for (kind, epoch), points in curves.items():
    spread, _, rho, null = points.mean(dim=0).tolist()
    print(f"{kind:6} {epoch} epochs: σ of log-weights {spread:.3f}, ρ {rho:6.3f}, null {null:6.3f}")

# %%
# If the spread is what matters, an *untrained* energy pooling must do as well as a trained one
# once its scores are multiplied until its log-weights spread as far. It has learned nothing, and
# it answers at chance level.

factor = curves["energy", config.epochs][:, 0] / curves["energy", 0][:, 0]  # (3,)
stretched = [copy.deepcopy(history["energy", seed][0]) for seed in SEEDS]
for model, times in zip(stretched, factor, strict=True):
    with torch.no_grad():
        model.attention.energy.weight.mul_(times)
stretched_points = torch.stack([follow(model) for model in stretched])  # (3, 4)
spread, _, rho, null = stretched_points.mean(dim=0).tolist()
print(f"energy untrained, scores × {factor.mean():.0f}: σ of log-weights {spread:.3f}, ", end="")
print(f"ρ {rho:.3f}, null {null:.3f}")

fig, ax = plt.subplots(figsize=(5, 4.6))
marks = {
    kind: torch.cat([points for key, points in curves.items() if key[0] == kind]) for kind in READ
}
for (kind, points), color, mark in zip(marks.items(), (BLUE, ORANGE), "os", strict=True):
    ax.plot(points[:, 0], points[:, 2], mark, color=color, label=f"{kind}, measured")
    label = f"{kind}, evidence shuffled"
    ax.plot(points[:, 0], points[:, 3], mark, color=color, mfc="none", label=label)
spreads = torch.linspace(0, 1.5, 100)  # (100,)
strength = marks["energy"][:, 1].mean()
independent = spreads / (spreads**2 + strength**2).sqrt()
ax.plot(spreads, independent, "--", color=BLACK, lw=1.2, label="independent factors")
ax.plot(*stretched_points[:, (0, 2)].T, "x", color=BLACK, ms=8, label="energy untrained, stretched")
ax.set(xlabel="standard deviation of the log-weights", ylabel="rank correlation with deletion")
fig.legend(loc="outside upper center", ncols=2, fontsize=9)
fig.set_label(
    "Rank correlation of weights with deletion, against the spread of log-weights, one mark per "
    "model and epoch. Energy pooling with its evidence shuffled follows a rising curve, that of "
    "independent factors, as do untrained models with stretched scores; its measured marks lie on "
    "both sides of the curve. QKV's "
    "measured marks lie far above its shuffled ones."
)

# %%
# *Figure 2. Each mark is a model after some epoch, filled as measured, hollow with its evidence
# shuffled; crosses are untrained models with stretched scores. The vertical distance between
# filled and hollow is what the choice of words adds.*
#
# A correlation that appears with training is thus, in energy pooling, above all a spread that
# grows. Single models are above or below their null, and which of the two depends on the seed. In
# QKV the agreement is there after one epoch, with weights that are much less uneven, and it does
# choose the words. Why the two kinds differ in this is not known to us.
#
# The sign
# --------
# So far only the sizes of effects were compared. They can also be ranked *with* their sign, from
# the word that speaks most against the film to the one that speaks most for it. Because evidence
# is a factor of the effect as the weight is, it deserves the same suspicion. One column therefore
# shuffles the evidence, as before, and another leaves it in place and shuffles the weights.

print(f"{'':26} measured   evidence shuffled   weights shuffled")
for kind in READ:
    numbers = defaultdict(list)
    for weights, evidence in (pair for seed in SEEDS for pair in readings[kind, seed]):
        effects = [deletion_from_weights(weights, evidence)] + [
            shuffled_effects(weights, evidence, shuffle=what, generator=generator)
            for what in ("evidence", "weights")
        ]
        n = len(evidence)
        a = received(weights)  # (n,)
        for label, ranking in (
            ("weight", a),
            ("evidence", evidence),
            ("weight × evidence", a * evidence),
        ):
            numbers[label].append([rank_correlation(ranking, one) for one in effects])
    for label, each in numbers.items():
        measured, by_evidence, by_weights = torch.tensor(each).mean(dim=0).tolist()
        print(f"{kind:6} {label:18} {measured:9.3f} {by_evidence:19.3f} {by_weights:18.3f}")

# %%
# For a ranking by weight the null is the column with the evidence shuffled, and for a ranking by
# evidence the one with the weights shuffled. The weight alone hardly knows the sign. Evidence by
# itself puts the words nearly in deletion's order, but most of that remains with the weights of
# other words, so the order of signed effects is above all a matter of what the words say. In these
# models that is a property of the word alone, the same in every review. No correlation can decide
# between the two factors, because each agrees with effects that contain it. The formula can: a
# contribution is their product, and the contributions add up to the answer.
#
# Other weights, the same answer
# ------------------------------
# :cite:t:`jain2019attention` ask whether very different weights would have given the same answer.
# For energy pooling the formula says when: any weights will do whose weighted mean of the evidence
# is the same. For our review two words are enough, one with evidence above the verdict, one below.

a, s = read(models["energy", SEEDS[0]], ids_of_ours)  # (16,), (16,)
above, below = [
    min((a[i].item(), i) for i in range(len(a)) if side * (s[i] - a @ s) > 0)[1] for side in (1, -1)
]
other = torch.zeros_like(a)
other[above] = (a @ s - s[below]) / (s[above] - s[below])
other[below] = 1 - other[above]
print(f"its own weights: logit {a @ s:+.4f}, most on", end=" ")
print([encoded.tokens[i] for i in a.topk(3).indices])
print(f"other weights:   logit {other @ s:+.4f}, all on", end=" ")
print([encoded.tokens[i] for i in (above, below)])
print(f"weight that had to be moved: {(a - other).clamp(min=0).sum():.0%}")

# %%
# Many weights lead to this answer, so nobody could infer them from the answer alone. But weights
# made up for one text are not a model, as :cite:t:`wiegreffe2019attention` object: one would have
# to find a *model* that answers as this one does on all texts, with other weights on each. They
# train such adversaries, and report that the weights which these arrive at do not help a simpler
# model that has to use them. We trained only the simplest alternative of this kind, the model with
# uniform weights, and it is less accurate.
#
# What to draw
# ------------
# The honest picture of one layer of attention colours each word by its signed contribution, weight
# × evidence. It needs neither deletion nor gradient, and its numbers sum to the logit that is
# explained. Our review comes first by the weights of energy pooling, then by the contributions of
# both kinds. Blue speaks for the film; orange with a dashed line speaks against it.

pictures = [words_as_html(encoded.tokens, a.tolist(), "energy: weights")]
for kind in READ:
    products = contributions(models[kind, SEEDS[0]], ids_of_ours)  # (16,)
    caption = f"{kind}: weight × evidence, in all {products.sum():+.2f}"
    pictures.append(words_as_html(encoded.tokens, products.tolist(), caption))
    order = products.abs().argsort(descending=True)[:5].tolist()
    print(caption, *(f"{encoded.tokens[i]} {products[i]:+.2f}" for i in order), sep="   ")
Html("".join(pictures))

# %%
# Two reservations belong under such a picture. A contribution is not a deletion effect: it says
# what was added up, and not what would change, which also depends on what the other words say. And
# it is exact only for one layer, because deeper vectors are mixtures of words, for which the
# evidence of a word has to be defined anew.
#
# What others found
# -----------------
# * :cite:t:`jain2019attention` compare weights with gradients and with deletion in recurrent
#   networks on many tasks, find them frequently uncorrelated, and conclude *Attention is not
#   Explanation*.
# * :cite:t:`wiegreffe2019attention` reply with *Attention is not not Explanation* and with four
#   tests: uniform weights, the variance over seeds, weights transferred to a simpler model, and a
#   trained adversary, of which the first two are on this page.
# * :cite:t:`serrano2019attention` delete words in the order of their weights until the decision
#   changes. They find weights a noisy guide; rankings that use the gradient often get there
#   sooner.
# * :cite:t:`kobayashi2020attention` show for BERT that norms of weighted vectors tell another
#   story than weights. Behind our classifier a single number is left of each weighted vector, so
#   its norm is the size of weight × evidence, and the sign is known besides.
# * :cite:t:`bastings2020elephant` ask why one should explain a prediction by weights at all, when
#   saliency methods were made for it and follow the computation from input to output.
# * :cite:t:`deyoung2020eraser` collect the passages that people marked as reasons, and measure how
#   far an answer drops without a passage (comprehensiveness) and how well it is kept by the
#   passage alone (sufficiency). We delete one word at a time, and ask no person.
#
# In a recurrent network the vector at a word has read its neighbours, so its weight is not the
# word's alone. In our models a vector *is* its word, which makes the formula exact. For that
# reason our correlations and theirs can't be compared as numbers.
#
# The answer
# ----------
# So attention weights are one factor of an explanation that has two. The weight says how much of a
# word was taken, the evidence says what was taken, and their product is what the word contributed.
# On these film reviews the agreement between weights and deletion is, on average, a mere
# consequence of the formula in our energy pooling, and mostly a choice of words in our QKV
# attention.
#
# What is not known from this page:
#
# * *Deeper models.* After one layer vectors are mixtures of words, and with positions, residual
#   connections or several heads the formula no longer holds as it is.
# * *Other tasks and larger models.* All of this is two kinds of attention in one size, from three
#   seeds, on film reviews.
# * *What deletion misses.* Words are deleted one at a time, so two words that say the same cover
#   for each other, and a review with a gap is a text that nobody would write.
# * *What a person would call a reason.* We compared the model with itself, and never with what a
#   reader of the review would have marked.
#
# Takeaways
# ---------
# * For one layer of energy pooling the effect of deleting a word is exactly its weight over one
#   minus its weight, times evidence minus verdict.
# * Weight and effect share a factor, so their correlation needs a null that shares it, too:
#   shuffle the evidence. Training spreads the weights, and that alone raises the correlation.
# * Whether weights carry anything is answered by training the same model with uniform ones.
# * The picture to draw is weight × evidence with its sign, because that is what the model adds up.
#
# *Practise:* :doc:`/exercises/reading`.
#
# *Where next:* that was the last lesson. :doc:`/training` trains on all of Yelp with one command,
# and :doc:`/questions` says what to read next.

plt.show()

"""
Is attention an explanation?
============================

A model calls a review good, and its weights are darkest on "wonderful". Is that why?

The picture says where the model looked. Whether its answer hangs on those words is another
question, and it can be put to the model itself: take a word away and ask again. Here we do that
to hundreds of reviews, one word at a time, and let the numbers judge.
"""

import copy

import matplotlib.pyplot as plt
import torch

from attention.analysis import deletion_effects, gradient_effects, rank_correlation
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, use_style
from attention.sentiment.config import ModelConfig, TrainConfig
from attention.sentiment.evaluation import measure, wilson_interval
from attention.sentiment.model import build_model
from attention.sentiment.prepare import measured_examples, prepare
from attention.sentiment.sources import load_reviews
from attention.sentiment.trainer import Trainer

use_style()

# %%
# Before any training
# -------------------
# :doc:`/gallery/core/plot_1_qkv_derivation` drew the matrices of one sentence from 1,000 seeds.
# Here is its count once more: how often do all six words have the same favourite?

numbers = "43 15 89  55 87 66  57 85 64  22 58 33  77 25 10  5 80 55"  # in hundredths
x = torch.tensor([int(number) / 100 for number in numbers.split()]).view(6, 3)  # (6, 3)
agree = 0
for seed in range(1_000):
    torch.manual_seed(seed)
    agree += len(((x @ torch.rand(3, 2)) @ (x @ torch.rand(3, 2)).T).argmax(dim=-1).unique()) == 1
print(f"one favourite for all six words in {agree} of 1,000 seeds")

# %%
# A clear picture, and nothing behind it. So models without training will stand beside trained ones.
#
# Two models to question
# ----------------------
# The task is that of :doc:`/gallery/core/plot_8_sentiment_training`: half of the time an unrelated
# review stands in front. *energy* gives each word one weight. In *qkv* every word looks at every
# word, and we take the mean weight that a word *receives*. Instead of positions, one learned vector
# marks what stands in front of a separator. That will make one thing exact further down.

config = TrainConfig(
    model=ModelConfig(
        embed_dim=32, key_dim=16, embedding_std=0.1, positions="none", segments=True
    ),
    data="imdb", limit=4_000, epochs=4, batch_size=128, lr=4e-3,
)  # fmt: skip
reviews = load_reviews(config.data)
reviews["train"] = load_reviews(config.data, limit=config.limit)["train"]
prepared = prepare(config, reviews)
tokenizer = prepared.tokenizer


def train(**changes):
    """Train a model; what differs from the configuration is named."""
    run = config.with_options(**changes)
    model = build_model(run, tokenizer.get_vocab_size())
    Trainer(model, prepared.examples, {}, run).run()
    return model.eval()


models = {}
for kind in ("energy", "qkv"):
    untrained = config.with_options(model=kind)
    models[f"{kind}, untrained"] = build_model(untrained, tokenizer.get_vocab_size()).eval()
    models[kind] = train(model=kind)

test = measured_examples(tokenizer, reviews["test"])
for name, model in models.items():
    right = [measure(model, examples)["accuracy"] for examples in test.values()]
    print(f"{name:18} right on test reviews: {right[0]:.1%}, behind a distractor: {right[1]:.1%}")

# %%
# Energy pooling is right more often than in the lesson before the last, with fewer reviews: here it
# has no positions, wider vectors, and a mark on what stands in front.
#
# Two ways to ask what a word did
# -------------------------------
# **Deletion.** Leave word i out, and see what is missing from the logit:
# :func:`~attention.analysis.deletion_effects`. A review of n words becomes n reviews of n − 1
# words, which the model reads as one batch. An effect is positive where the word spoke for a good
# review.
#
# **Gradient × input.** How much would the logit lose if the word's vector shrank towards zero?
# :func:`~attention.analysis.gradient_effects`. That takes one pass there and one back.
#
# First a review that we wrote.


def look(model, ids):
    """Return the logit and the weight that each word gets, or receives on average."""
    with torch.no_grad():
        logit, weights = model(ids[None], need_weights=True)
    received = weights[0] if weights.dim() == 2 else weights[0].mean(dim=0)
    return logit[0], received  # (), (n,)


text = "The first hour is awful, but the ending is wonderful and the music is the best."
encoded = tokenizer.encode(text)
ids = torch.tensor(encoded.ids)  # (16,)
rows = {
    "weight": look(models["energy"], ids)[1],
    "deletion": deletion_effects(models["energy"], ids),
    "gradient × input": gradient_effects(models["energy"], ids),
}

fig, axes = plt.subplots(3, figsize=(5, 6.8), sharex=True)
for ax, (name, numbers), color in zip(axes, rows.items(), (BLUE, ORANGE, GREEN), strict=True):
    ax.bar(range(len(ids)), numbers.tolist(), color=color)
    ax.axhline(0, color=BLACK, lw=0.8)
    ax.set_ylabel(name)
axes[-1].set_xticks(range(len(ids)), encoded.tokens, rotation=90)
fig.align_ylabels()
fig.set_label(
    "Three rows of bars over the words of the review, read by energy pooling: weights, effects of "
    "deletion, gradient times input. "
    + "; ".join(
        f"{word}: weight {rows['weight'][i]:.2f}, deletion {rows['deletion'][i]:+.2f}"
        for i, word in enumerate(encoded.tokens)
        if word in ("awful", "wonderful", "best")
    )
)

# %%
# A weight is never negative. It can't say that "awful" and "wonderful" pull against each other, and
# deletion can. What a weight may still tell is how *strongly* a word pulls, in either direction.
# So that is what we test it for.
#
# Three hundred reviews
# ---------------------
# We take test reviews of 20 to 200 words. In each, the words are ranked twice: by weight, and by
# the size of their deletion effect. If the two orders agree, *Spearman's rank correlation* is 1; if
# one tells nothing about the other, it is near 0
# (:func:`~attention.analysis.rank_correlation`). Three others are tried against deletion as well:
# the gradient, a ranking by lot, and the weights of the untrained models.

HELD, SOME = 300, 100
looked_at = ("energy", "qkv")
every = test["clean"].ids
held = [every[i].long() for i in range(len(every)) if 20 <= len(every[i]) <= 200][:HELD]
assert len(held) == HELD
print(f"{HELD} reviews, {sum(map(len, held)) / HELD:.0f} words on average")

# %%

weights = {name: [look(model, ids)[1] for ids in held] for name, model in models.items()}
effects = {name: [deletion_effects(model, ids) for ids in held] for name, model in models.items()}
gradients = {name: [gradient_effects(models[name], ids) for ids in held] for name in looked_at}
guesses = {}  # which order to try, and on which model's deletion effects
for name in looked_at:
    guesses[name, "weight"] = weights[name], name
    guesses[name, "gradient × input"] = gradients[name], name
    guesses[name, "by lot"] = [torch.rand(len(ids)) for ids in held], name
    guesses[name, "weight, untrained"] = weights[f"{name}, untrained"], f"{name}, untrained"


def compare(guess, effect):
    """Correlate ranks with deletion, one number a review."""
    pairs = zip(guess, effect, strict=True)
    return torch.tensor([rank_correlation(one, other) for one, other in pairs])


def without_sign(numbers):
    """Keep the size of each effect, for all reviews."""
    return [one.abs() for one in numbers]


correlations = {
    key: compare(without_sign(guess), without_sign(effects[model]))
    for key, (guess, model) in guesses.items()
}


def mean_with_interval(found, draws=2_000):
    """Draw the reviews anew, with replacement: 95 % of the means lie between the last two."""
    picks = torch.randint(len(found), (draws, len(found)))  # (draws, len(found))
    low, high = found[picks].mean(dim=-1).quantile(torch.tensor([0.025, 0.975])).tolist()
    return f"{found.mean():6.3f} ({low:6.3f} to {high:6.3f})"


print("rank correlation with deletion: mean, 95 % of bootstrap draws, spread over reviews")
for (kind, label), found in correlations.items():
    print(f"{kind:6} {label:18} {mean_with_interval(found)}   σ {found.std():.3f}")

# %%

fig, axes = plt.subplots(2, figsize=(5, 6.4), sharex=True)
looks = {"weight": "-", "gradient × input": "--", "weight, untrained": "-.", "by lot": ":"}
share = torch.arange(1, HELD + 1) / HELD  # (HELD,)
for ax, kind in zip(axes, looked_at, strict=True):
    for (label, line), color in zip(looks.items(), (BLUE, GREEN, ORANGE, BLACK), strict=True):
        ax.plot(correlations[kind, label].sort().values, share, line, color=color, label=label)
    ax.axvline(0, color="0.7", lw=1)
    ax.set(title=kind, ylabel="share of the reviews")
axes[1].set_xlabel("rank correlation with deletion, up to …")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
fig.set_label(
    "For energy pooling and for QKV, the share of reviews whose rank correlation with deletion is "
    "at most so much. The lines of rankings by lot and of the untrained weights rise within a few "
    "tenths of zero. Those of the trained weights and of the gradient rise far to the right of "
    "them, close to each other."
)

# %%
# Two things stand out. Trained weights are far from a ranking by lot: where these models look has
# much to do with what they need. And it is *training* that made it so: for the untrained models the
# weights rank all the words hardly better than luck, or worse.
#
# Nor is the gradient a judge above the others. Over all words it agrees with deletion about as
# well as the plain weights do. Shrinking a vector to zero is not leaving a word out: a word of
# zeros stays in the softmax, with an energy of 0, and takes its share.
#
# Is the top word the top word?
# -----------------------------
# A reader of a heatmap looks at its darkest word. How often is it the one whose loss changes the
# logit most?

chance = sum(1 / len(ids) for ids in held) / HELD
for (kind, label), (guess, model) in guesses.items():
    pairs = zip(guess, effects[model], strict=True)
    same = sum((one.abs().argmax() == effect.abs().argmax()).item() for one, effect in pairs)
    low, high = wilson_interval(same, HELD)
    print(f"{kind:6} {label:18} {same / HELD:5.0%}  (95 %: {max(low, 0):.0%} to {high:.0%})")
print(f"by luck, one word of each review: {chance:.1%}")

# %%
# Untrained weights of *energy* find the top word more often than luck, and far less often than
# trained ones. So a baseline without training belongs here, too.
#
# What a weight leaves out
# ------------------------
# For energy pooling we can do better than rank, because the logit is a sum over the words:
#
# .. math:: \mathrm{logit} = \sum_i a_i\, s_i + b, \qquad s_i = x_i \cdot w ,
#
# with the weight :math:`a_i`, and :math:`s_i` what the classifier reads in the word by itself: its
# *evidence*. A word contributes weight × evidence, and a heatmap shows the first factor only.
#
# Take word i out. The others share its weight in proportion, so each is divided by
# :math:`1 - a_i`, and a little algebra gives the deletion effect *exactly*:
#
# .. math:: \mathrm{effect}_i = \frac{a_i}{1 - a_i}\,
#           \Big(s_i - \sum_j a_j\, s_j\Big)
#
# So a word counts by its weight, times how far it disagrees with the verdict of the whole review.
# A word with a large weight that says what the others say anyway is not missed.


def evidence(model, ids):
    """Return what the classifier reads in each word: of its vector, or of its value."""
    with torch.no_grad():
        x = model.embedding(ids)  # (len(ids), 32)
        handed_over = model.attention.W_value(x) if model.config.attention == "qkv" else x
        return handed_over @ model.classifier.weight[0]  # (len(ids),)


evidences = {name: [evidence(models[name], ids) for ids in held] for name in looked_at}
worst = 0.0
for a, s, effect in zip(weights["energy"], evidences["energy"], effects["energy"], strict=True):
    by_formula = a / (1 - a) * (s - a @ s)
    worst = max(worst, (by_formula - effect).abs().max().item())
print(f"formula against deletion, largest difference in {HELD} reviews: {worst:.0e}")
assert worst < 1e-4

# %%
# With qkv, leaving a word out takes away one that asks as well as one that is asked, and no such
# formula holds. But mean weight received × evidence of its value still adds up to the logit. How
# well do the products rank the words? Now *with* their sign, from the word that speaks most
# against the film to the one that speaks most for it. Ranks forget by how much, so the ordinary
# correlation of the numbers stands beside them.

print(f"{'':26} rank correlation            correlation of the numbers")
for kind in looked_at:
    a, s = weights[kind], evidences[kind]
    products = [one * other for one, other in zip(a, s, strict=True)]
    orders = {"weight": a, "evidence": s, "weight × evidence": products}
    orders["gradient × input"] = gradients[kind]
    for name, guess in orders.items():
        ranks = compare(guess, effects[kind])  # (HELD,)
        pairs = zip(guess, effects[kind], strict=True)
        numbers = torch.tensor([torch.corrcoef(torch.stack(two))[0, 1] for two in pairs])  # (HELD,)
        print(f"{kind:6} {name:18} {mean_with_interval(ranks)}   {mean_with_interval(numbers)}")
    logit, bias = look(models[kind], held[0])[0], models[kind].classifier.bias.detach()[0]
    assert torch.isclose(products[0].sum() + bias, logit, atol=1e-4)

# %%
# The weight alone knows no sign and fails. The evidence supplies it: by itself it puts the words
# nearly in deletion's order. For energy pooling the *sizes* come out right where the weight
# comes in, in the product and in gradient × input.
# For qkv the evidence alone is nearer to the sizes, too; we don't know why. Gradient × input shows
# that one column is not enough: for energy pooling it is right about the few strong words, and
# wrong about the order of the many weak ones. So if you want to show what one layer of attention
# did, show what was handed over as well as how much of it. Nothing has to be deleted for that.
#
# Other weights, the same answer
# ------------------------------
# If very different weights give the same logit, how can the weights be *the* explanation of it?
# Here is our review again, read by energy pooling. Any weights with the same sum of weight ×
# evidence will do. Two words are enough: one with evidence above the verdict, one below.

ids = torch.tensor(encoded.ids)  # (16,)
(logit, a), s = look(models["energy"], ids), evidence(models["energy"], ids)
verdict = logit - models["energy"].classifier.bias.detach()[0]
above, below = [
    min((a[i].item(), i) for i in range(len(ids)) if side * (s[i] - verdict) > 0)[1]
    for side in (1, -1)
]
other = torch.zeros_like(a)
other[above] = (verdict - s[below]) / (s[above] - s[below])
other[below] = 1 - other[above]
print(f"its own weights: logit {a @ s + logit - verdict:+.4f}, most on", end=" ")
print([encoded.tokens[i] for i in a.topk(3).indices])
print(f"other weights:   logit {other @ s + logit - verdict:+.4f}, all on", end=" ")
print([encoded.tokens[i] for i in (above, below)])
print(f"weight that had to be moved: {(a - other).clamp(min=0).sum():.0%}")

# %%
# The answer to the objection: *we* made those weights up, for one review. A fairer question is
# whether the model needs its weights at all. Make them equal:

uniform = copy.deepcopy(models["energy"])
torch.nn.init.zeros_(uniform.attention.energy.weight)
for name, model in (("its own weights", models["energy"]), ("equal weights", uniform)):
    for kind, examples in test.items():
        result = measure(model, examples)
        low, high = result["accuracy_interval"]
        print(f"{name:16} {kind:11} {result['accuracy']:.3f} ({low:.3f} to {high:.3f})")

# %%
# It needs them. (A model that is trained without any may still do better than this one deprived of
# them: the *mean* of :doc:`/gallery/core/plot_8_sentiment_training`.)
#
# Would it come out the same again?
# ---------------------------------
# The intervals speak of other reviews. What of another training? Energy pooling once more, from
# three other seeds, for half of the epochs and for all:

for epochs in (config.epochs // 2, config.epochs):
    for seed in (1, 2, 3):
        model = train(model="energy", epochs=epochs, seed=seed)
        again = [deletion_effects(model, ids) for ids in held[:SOME]]
        guess = [look(model, ids)[1] for ids in held[:SOME]]
        found = compare(guess, without_sign(again))  # (SOME,)
        accuracy = measure(model, test["clean"])["accuracy"]
        print(f"{epochs} epochs, seed {seed}: {mean_with_interval(found)}, right on {accuracy:.1%}")

# %%
# Trained half as long, models of the same kind are right less often, and their weights say *far*
# less about what their words do. So agreement belongs to one trained model. Attention as such
# neither has it nor lacks it.
#
# What others found
# -----------------
# * :cite:t:`jain2019attention` compare weights with gradients and with deletion for recurrent
#   networks on many tasks, and find them often uncorrelated. They also construct very different
#   weights that leave the answer as it was. Their title: *Attention is not Explanation*.
# * :cite:t:`wiegreffe2019attention` reply, *Attention is not not Explanation*. Weights made up
#   for one text are no model; it depends on what one means by an explanation; and where equal
#   weights do as well, there was nothing to explain. They propose tests of that kind.
# * :cite:t:`serrano2019attention` erase words in the order of their weights. Weights are a noisy
#   guide to what matters. Orders that use the gradient often reach a changed decision sooner.
#
# In a recurrent network, the vector at a word's place has read its neighbours, so its weight is
# not the word's alone. In our models a vector *is* its word. That is one likely reason why we see
# more agreement than Jain and Wallace did; this page does not test it.
#
# The sentence, judged
# --------------------
# "Attention is an explanation." Taken as "dark words are words that the answer depends on", the
# numbers above support it for these models: well above luck, short of certainty, and only after
# enough training. Taken as "the weights say why", it fails here. They have no sign; they leave out
# what is handed over; and for one review other weights would have done.
#
# What is not known from this page:
#
# * *Deeper models.* After one layer, vectors are mixtures of words, and there is no evidence of a
#   word by itself.
# * *Other tasks and larger models.* Two kinds, one size, film reviews; qkv was trained once.
# * *What deletion misses.* It asks for one word at a time. Two words that say the same cover for
#   each other, and a review with a gap is a text that nobody would write.
# * *What a person would call a reason.* We compared the model with itself, never with a reader.
#
# What was learnt
# ---------------
# * Where a model looked and what its answer depends on are two questions. Deletion answers the
#   second.
# * In these models, after training, weights rank the words much as the size of deletion effects
#   does. Before it, or half way, they need not.
# * The contribution of a word is weight × evidence. The weight shows neither sign nor content.
# * A claim about an explanation needs a ranking by lot, an untrained model and other seeds beside
#   it.
#
# *Practise:* :doc:`/exercises/reading`.
#
# *Where next:* that was the last lesson. :doc:`/training` trains on all of Yelp with one command,
# and :doc:`/questions` says what to read next.

plt.show()

"""
One word asks, six words answer
===============================

How does a word find out which of its neighbours matter to it, and how can it *learn* to?

We take one sentence of six words and follow one of them, "journey", until it has gathered
something from all six. Every number is small enough to check by hand. You need to know what a
matrix product is and a little Python.
"""

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

import attention
from attention.plotting import (
    animate_attention,
    draw_branches,
    draw_mixture,
    draw_scores,
    draw_weights,
    use_style,
)

use_style()

# %%
# Six words, three numbers each
# -----------------------------
# A computer needs numbers, so each word is a vector: its *embedding*. These were made up by hand
# so that they fit on a page. Real ones have hundreds of numbers and are learned.
#
# There are ``n = 6`` words of width ``d = 3``. Python counts from 0, so "journey", the second
# word, is ``x[1]``. In formulas it is :math:`x_2`, and we keep that 2 in names.

words = ["Your", "journey", "starts", "with", "one", "step"]
x = torch.tensor(
    [
        [0.43, 0.15, 0.89],  # Your
        [0.55, 0.87, 0.66],  # journey
        [0.57, 0.85, 0.64],  # starts
        [0.22, 0.58, 0.33],  # with
        [0.77, 0.25, 0.10],  # one
        [0.05, 0.80, 0.55],  # step
    ]
)  # (6, 3)
x_2 = x[1]  # (3,)
n, d = x.shape

# %%
# Why these numbers alone can't learn
# -----------------------------------
# The shortest way to compare two words is the dot product of their embeddings. Try it.

similarity = x @ x.T  # (6, 6)
print("journey → starts", f"{similarity[1, 2]:.4f}")
print("starts → journey", f"{similarity[2, 1]:.4f}")
print("symmetric:", torch.equal(similarity, similarity.T))
print("can training change them:", x.requires_grad)

# %%
# Two things are wrong with that. "journey" looks at "starts" exactly as much as "starts" looks at
# "journey", whatever the sentence means. And nothing here can be adjusted: if this way of looking
# does not serve the task, it stays as it is.
#
# So we put something adjustable between the words: matrices. Three of them, because a word
# plays three roles.
#
# One word, three questions
# -------------------------
# .. list-table::
#    :header-rows: 1
#    :widths: 14 30 56
#
#    * - vector
#      - the question it answers
#      - for "journey"
#    * - query
#      - What do I look for?
#      - perhaps: who starts, and with what?
#    * - key
#      - What am I found by?
#      - perhaps: a noun, the one that acts
#    * - value
#      - What do I hand over?
#      - what the others should know about a journey
#
# Those answers are stories to remember the roles by. What queries and keys really hold is
# whatever training finds useful, and no one writes it down for them.
#
# Three pictures help, and each breaks somewhere.
#
# **A library.** Your query is "I want to bake a cake". The keys are the titles on the spines, the
# values what the books say. *Where it breaks:* you borrow one book or two. Attention opens every
# book a little and reads the mixture.
#
# **A search engine.** The query is what you type, the keys are the index, the values the pages.
# *Where it breaks:* the searcher stands outside. Here every page also types a query, and the
# language of the queries and that of the index are learned together.
#
# **A database.** ``SELECT value WHERE key = query``. *Where it breaks:* a key fits or it does not,
# and where none fits, no row comes back. Attention knows only degrees. It always returns
# something, even when nothing fits.
#
# The three words come from the database. The mixture is what makes it attention, and there is a
# good reason for it: a mixture changes smoothly when the matrices change, so gradients can train
# them.
#
# Three matrices
# --------------
# Each matrix takes a vector of width ``d = 3`` to one of width ``k = 2``. The two widths need not
# be equal; 2 is what fits on paper as an arrow.
#
# Before training, the matrices hold random numbers. Seed 123 drew these. They stand here as
# numbers, so that this page stays true should the random generator ever change; the last line
# says whether it has.

W_query = torch.tensor([[0.296112, 0.516562], [0.251671, 0.688557], [0.073972, 0.866522]])  # (3, 2)
W_key = torch.tensor([[0.136580, 0.102479], [0.184056, 0.726447], [0.315254, 0.687107]])  # (3, 2)
W_value = torch.tensor([[0.075635, 0.196638], [0.316412, 0.401740], [0.118568, 0.827395]])  # (3, 2)

torch.manual_seed(123)
drawn = torch.stack([torch.rand(3, 2) for _ in range(3)])  # (3, 3, 2)
same = torch.allclose(drawn, torch.stack([W_query, W_key, W_value]), rtol=0, atol=1e-6)
print("torch", torch.__version__, "still draws these numbers from seed 123:", same)

# %%
# "journey" in its three roles
# ----------------------------
# One product each.

query_2 = x_2 @ W_query  # (2,)
key_2 = x_2 @ W_key  # (2,)
value_2 = x_2 @ W_value  # (2,)
print("query_2", query_2)
print("key_2  ", key_2)
print("value_2", value_2)

# %%
# The first number by hand: 0.55 × 0.2961 + 0.87 × 0.2517 + 0.66 × 0.0740. Try the second.
#
# A score: does this key answer my query?
# ---------------------------------------
# "journey" asks with its query. Every word, "journey" included, is found by its key. So we need
# the keys of all six, and the same matrix makes them. The values we shall need soon.

keys = x @ W_key  # (6, 2)
values = x @ W_value  # (6, 2)
score_22 = query_2 @ keys[1]
print(f"journey asks journey: {score_22:.4f}")

# %%
# The *score* is a dot product: multiply the numbers pair by pair, add. It is large where query and
# key are long and point the same way. All six at once are one product with the keys turned on
# their side.

scores_2 = query_2 @ keys.T  # (6,)
for word, score in zip(words, scores_2, strict=True):
    print(f"journey asks {word:8}{score:.4f}")

# %%
# The whole way so far in one picture: one word branches into three vectors, and its query meets
# six keys.

fig = draw_branches(
    "journey", x_2, query_2, key_2, value_2, dict(zip(words, scores_2.tolist(), strict=True))
)
fig.set_label(
    "The embedding of journey branches into a query (what do I look for?), a key (what am I found "
    "by?) and a value (what do I hand over?). Below, its query's scores against the six keys: "
    + ", ".join(f"{word} {score:.2f}" for word, score in zip(words, scores_2, strict=True))
)

# %%
# From scores to weights
# ----------------------
# "journey" is about to take a mixture of the six values, and scores are no recipe for one: they
# may be negative, and they add up to anything. The *softmax* turns them into *weights* that are
# positive and add up to 1:
#
# .. math:: w_j = \frac{e^{s_j}}{\sum_{i=1}^{6} e^{s_i}}
#
# That serves two purposes. You can read a weight as a share: so much of the mixture comes from
# that word. And the share answers smoothly to every score, so training has a slope to follow.
# The order of the words stays the same: the highest score gets the highest weight.
#
# Before the softmax, the scores are divided by :math:`\sqrt{k} = \sqrt{2}`. Why that is so is a
# story of its own, told in :doc:`/gallery/core/plot_3_scaling_variance`.

key_dim = keys.shape[-1]
weights_2 = torch.softmax(scores_2 / key_dim**0.5, dim=-1)  # (6,)
for word, weight in zip(words, weights_2, strict=True):
    print(f"{word:8}{weight:.4f}")
print(f"sum     {weights_2.sum():.4f}")

# %%
# From weights to the context vector
# ----------------------------------
# Now every word hands over its value, as much of it as its weight says. The sum is what "journey"
# knows after having asked: its *context vector*.

context_2 = weights_2 @ values  # (2,)
print("context_2", context_2)

# %%
# It has 2 numbers, the width of a value, where the embedding had 3.
#
# The same in the plane
# ---------------------
# Two numbers are an arrow, so we can look. A dot product is a shadow: drop each key onto the line
# of the query, measure from the origin to where it lands, and multiply by the query's length.

shadow_lengths = keys @ (query_2 / query_2.norm())  # (6,)
assert torch.allclose(shadow_lengths * query_2.norm(), scores_2)
print("length of the query", f"{query_2.norm():.4f}")
print("lengths of the shadows", shadow_lengths)

fig, ax = plt.subplots(figsize=(5, 5.8))
draw_scores(ax, query_2, keys, words)
fig.set_label(
    "The query of journey and the six keys as arrows from the origin, all pointing up and to the "
    "right. A short line drops from each key onto the query's line. The shadow of journey's own "
    "key is the longest, closely followed by that of starts; that of one is the shortest."
)

# %%
# Look at how alike the directions are. All six keys point up and to the right, because every number
# that went in was positive. So the scores differ mostly by how *long* a key is. Keep that in mind:
# it comes back at the end of the page.
#
# The values make the second picture. Weights that are positive and sum to 1 can't leave the shape
# that the values span (their *convex hull*). Whatever the weights, the context vector lies inside.

fig, ax = plt.subplots(figsize=(5, 5.4))
draw_mixture(ax, values, context_2, words)
fig.set_label(
    "The six values as arrows, the region between their tips shaded. The context vector is a dot "
    "inside the region, nearer to its upper end, where journey, starts and Your are."
)

# %%
# And as a film: one score after the other, the softmax, then the weighted values laid tip to tail
# until they end at the context vector. The picture is the last frame; unfold it to play.

film = animate_attention(words, scores_2, weights_2, values)
film.figure.set_label(
    "Three panels. Bars: the six scores of journey. Bars: the six weights. Arrows: the six "
    "weighted values laid tip to tail from the origin, ending at the context vector."
)
film

# %%
# All words at once
# -----------------
# Nothing above was special to "journey". Give every word its query, and the six rows of scores are
# one product. Row i, column j: how well the key of word j answers the query of word i.

queries = x @ W_query  # (6, 2)
scores = queries @ keys.T  # (6, 6)
print(scores)

# %%
# Softmax along each row (``dim=-1``: across the keys), so that each query has one whole to share.

weights = torch.softmax(scores / key_dim**0.5, dim=-1)  # (6, 6)
context = weights @ values  # (6, 2)
print(weights)
print("row sums", weights.sum(dim=-1))
print(context)

# %%
# Five steps, then: project, compare, scale, softmax, mix, and you have
#
# .. math:: \mathrm{context} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{k}}\right) V
#
# with :math:`Q`, :math:`K`, :math:`V` the tables of all queries, keys and values, one row a word.
# The package spells out the same formula, and torch has it in one fast function. All three agree.

ours, _ = attention.scaled_dot_product_attention(queries, keys, values)  # (6, 2), (6, 6)
torchs = F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]  # (6, 2)
print("largest difference to the package", (context - ours).abs().max().item())
print("largest difference to torch      ", (context - torchs).abs().max().item())
assert torch.allclose(context, ours)
assert torch.allclose(context, torchs)

# %%
# .. admonition:: What went wrong: a formula without its softmax
#    :class: warning
#
#    :ref:`Lecture notes <source-notes>` on this sentence print :math:`(Q K^\top / \sqrt{d})\, V`,
#    and call the third matrix :math:`Q_v`. It is :math:`W_v`, and the softmax is missing. That is
#    more than spelling. Without it, the "shares" below add up to several wholes, and the result
#    leaves the hull of the values: it is longer than any of them.

no_softmax = scores / key_dim**0.5  # (6, 6)
print("row sums", no_softmax.sum(dim=-1))
print(f"longest value {values.norm(dim=-1).max():.4f}")
print("length of journey's result without softmax", f"{(no_softmax[1] @ values).norm():.4f}")
print("length of journey's context vector        ", f"{context[1].norm():.4f}")

# %%
# A picture of all the weights
# ----------------------------

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, weights, words)
ax.set_title("weights before any training", fontsize=11)
fig.set_label(
    "Heatmap of the 6 by 6 attention weights, words on both axes. Every row looks alike: the "
    "columns journey and starts are darkest, the column one is lightest."
)

# %%
# .. admonition:: What went wrong: reading meaning into random numbers
#    :class: warning
#
#    :ref:`A notebook <source-notebook>` that takes this sentence from :cite:t:`raschka2024build`
#    reads its scores as a result: "journey" attends "most to itself" and to "starts". But *every*
#    row above is darkest at "journey", although the matrices are random. So draw other random
#    matrices, 1,000 times, and count how often all six words agree on one favourite.

# %%


def count_agreement(draw, seeds=1000):
    """Count the seeds for which every word's highest score falls on the same word."""
    count = 0
    for seed in range(seeds):
        torch.manual_seed(seed)
        random_scores = (x @ draw(3, 2)) @ (x @ draw(3, 2)).T  # (6, 6)
        count += len(random_scores.argmax(dim=-1).unique()) == 1
    return count


agree_rand, agree_randn = count_agreement(torch.rand), count_agreement(torch.randn)
print(f"torch.rand : all six words share a favourite in {agree_rand} of 1,000 seeds")
print(f"torch.randn: all six words share a favourite in {agree_randn} of 1,000 seeds")

# %%
# ``torch.rand`` draws between 0 and 1. Positive words times positive matrices give queries and keys
# that all point the same way, as you saw in the plane, and then the longest key wins, whoever
# asks. ``torch.randn`` draws both signs, and most of the agreement is gone. The dark column says
# something about the draw, and nothing about journeys.
#
# Now let it learn
# ----------------
# Random weights mean nothing yet. But these can *change*. Suppose that a task wants each word to
# look at the next one, and the last at the first. The loss below is small when those six weights
# are large. Its gradient reaches the matrices through the softmax and the scores.

goal = torch.tensor([1, 2, 3, 4, 5, 0])  # (6,)
torch.manual_seed(123)
layer = attention.SelfAttentionV1(3, 2)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
for _ in range(500):
    _, learned = layer(x, need_weights=True)  # (6, 2), (6, 6)
    loss = -learned[range(6), goal].log().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"mean weight on the goal, before: {weights[range(6), goal].mean():.4f}")
print(f"mean weight on the goal, after:  {learned[range(6), goal].mean():.4f}")

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, learned, words)
ax.set_title("weights after training", fontsize=11)
fig.set_label(
    "Heatmap of the weights after training, words on both axes. Starts looks at with, with at one, "
    "one at step and step at Your, each almost wholly. Your and journey share their looks between "
    "journey and starts."
)

# %%
# Six numbers in each of two matrices were enough for four of the six wishes. The other two can't be
# told apart: "journey" and "starts" were given almost the same embedding, so almost the same key,
# and whoever looks at one looks at the other. What a layer can learn depends on what the
# embeddings let it see; real embeddings are therefore learned too.
#
# Takeaways
# ---------
# * A fixed comparison of embeddings is symmetric and can't adapt. Three matrices give each word
#   three roles, and those can be trained.
# * Query meets key: a score. Softmax makes scores into weights, which are positive and sum to 1.
#   Weights mix the values into a context vector, which lies inside the values' hull.
# * All words at once is the same in three matrix products.
# * Weights of an untrained layer say nothing about language.
#
# *Practise:* :doc:`/exercises/sentence`.
#
# *Where next:* :doc:`/gallery/core/plot_1b_same_steps_other_numbers` walks the same way with other
# numbers, so that you can go ahead of the page and check yourself.

plt.show()

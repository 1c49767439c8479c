"""
.. lesson:: Self-attention step by step
   :minutes: 45
   :extra: plot
   :exercises: sentence
   :tasks: score-by-hand weights-by-hand context-by-hand journey-scores all-contexts
      count-favourites
   :search: self-attention; how attention works; query, key and value; attention weights; softmax

Self-attention step by step: one word asks, six words answer
============================================================

How does a word find out which of its neighbours matter to it, and how can it *learn* to find this
out?

.. raw:: html
   :file: ../../_parts/walk.html

Every word asks with a vector of its own, its query, and every word of the sentence answers with
another vector, its key; the better the two match, the more of a third vector, its value, the word
hands over. Here "journey" asks. All these vectors come from the words of one sentence, hence the
name :term:`self-attention`. Three matrices make them out of the words, and the matrices are what is
learned.

The first reading takes ten minutes, and the whole page three quarters of an hour. You need a little
Python and the product of two matrices. Running the page takes ten seconds.
"""

from itertools import accumulate

import matplotlib.pyplot as plt
import torch
from matplotlib.patches import FancyBboxPatch
from torch.nn import functional as F

import attention
from attention.plotting import (
    BLACK,
    KEY,
    QUERY,
    VALUE,
    WEIGHT,
    draw_weights,
    tint,
    use_style,
)

use_style()
torch.set_printoptions(precision=2)  # as many decimals as in the figures

# %%
# Six words, three numbers each
# -----------------------------
# Each word is a vector, its :term:`embedding`. These were made up by hand to fit on a page, whereas
# real ones have hundreds of numbers and are learned. Python counts from 0, so "journey", the second
# word, is ``x[1]``; in formulas it is :math:`x_2`, and names such as ``x_2`` keep that 2.

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
# Attention without any matrices
# ------------------------------
# The simplest comparison of two words is the dot product of their embeddings: multiply the numbers
# pair by pair, and add. For all pairs at once, it is one matrix product, ``x`` times its transpose.
#
# To gather something from all six words, "journey" takes a weighted sum of their embeddings. Its
# dot products, its *scores* :math:`s_1, \ldots, s_6`, may be negative and may add up to anything,
# so the :term:`softmax` first turns them into :term:`weights <weight>`, which are positive, keep
# the order of the scores, and add up to 1:
#
# .. math:: w_j = \frac{e^{s_j}}{\sum_{i=1}^{6} e^{s_i}}
#
# .. predict:: weights-of-starts
#
#    To which word does "starts" give the largest weight?
#
#    "starts" itself : ``plain_weights[2].argmax() == 2``
#        It comes second: a dot product also grows with the length of the vectors, and "starts" is a
#        little shorter than "journey".
#    "journey", whose embedding is almost the same : ``plain_weights[2].argmax() == 1``
#        It points almost the same way, and is a little longer than "starts".
#    "step", with which the sentence ends : ``plain_weights[2].argmax() == 5``
#        Dot products know nothing of the meaning of a sentence.

similarity = x @ x.T  # (6, 6)
plain_weights = torch.softmax(similarity, dim=-1)  # (6, 6)
plain_context = plain_weights @ x  # (6, 3)
print("scores of journey ", similarity[1])
print("weights of journey", plain_weights[1])
print("weights of starts ", plain_weights[2])
print("what journey gathers", plain_context[1])
print("lengths of the six embeddings", x.norm(dim=-1))

# %%
# All scores make a table:


def draw_cell(ax, x, y, number, fill, **edge):
    """Draw a cell, whose lower left corner is (x, y), and its number."""
    shape = {"boxstyle": "round, pad=0, rounding_size=0.15", "lw": 0}
    ax.add_patch(FancyBboxPatch((x + 0.03, y + 0.04), 0.94, 0.92, fc=fill, **shape | edge))
    at = x + 0.5, y + 0.5
    ax.text(*at, f"{number:.2f}", ha="center", va="center_baseline", fontsize=10, zorder=3)


def grey_of(score, largest):
    """Choose the grey of a score: the larger the score, the more its cell stands out."""
    return str(1 - 0.45 * (score / largest) ** 2)


fig, ax = plt.subplots(figsize=(5, 4))
score_of = similarity[1, 2].item()
for i, row in enumerate(similarity.tolist()):
    for j, score in enumerate(row):
        edge = {"ec": BLACK, "lw": 2} if {i, j} == {1, 2} else {}
        draw_cell(ax, j, i, score, grey_of(score, similarity.max().item()), **edge)
ax.set(xlim=(-0.05, 6.05), ylim=(6.05, -0.05))
ax.set_xticks([i + 0.5 for i in range(n)], words)
ax.set_yticks([i + 0.5 for i in range(n)], words)
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
fig.set_label(
    "Table of the 36 scores, words on both axes. It is its own mirror image: the score of “starts” "
    f"for “journey” and that of “journey” for “starts”, which are framed, are both {score_of:.2f}."
)
assert torch.equal(similarity, similarity.T)  # as the caption says

# %%
# *Figure 1.* The larger the score of two words, the more their cell stands out. The table is its
# own mirror image.
#
# This is attention already, since each word has gathered a mixture of all six, but two things are
# wrong with it. "journey" gives "starts" exactly the score that "starts" gives "journey", and the
# comparison itself holds no number that training could change.
#
# Three matrices, three roles
# ---------------------------
# So we put matrices between the words, and training can change these: three, because a word plays
# three roles. Its :term:`query` says what it looks for, its :term:`key` what it is found by, and
# its :term:`value` what it hands over. Each matrix turns a vector of ``d = 3`` numbers into one of
# ``k = 2``, which can be drawn as an arrow. Before training, the numbers in the matrices are
# random.

W_query = torch.tensor([[0.296112, 0.516562], [0.251671, 0.688557], [0.073972, 0.866522]])  # (3, 2)
W_key = torch.tensor([[0.136580, 0.102479], [0.184056, 0.726447], [0.315254, 0.687107]])  # (3, 2)
W_value = torch.tensor([[0.075635, 0.196638], [0.316412, 0.401740], [0.118568, 0.827395]])  # (3, 2)
query_2 = x_2 @ W_query  # (2,)
key_2 = x_2 @ W_key  # (2,)
value_2 = x_2 @ W_value  # (2,)
print(query_2, key_2, value_2, sep="\n")

# %%

# sphinx_gallery_start_ignore


def draw_product(vector, matrix, product):
    """Draw a vector times a matrix as cells with numbers; those of the first sum stand out."""
    fig, ax = plt.subplots(figsize=(5, 2))
    parts = ((0, vector[None], BLACK, "x_2"), (3.7, matrix, QUERY, "W_query"))
    for left, numbers, color, name in (*parts, (6.4, product[None], QUERY, "query_2")):
        top = len(numbers) / 2
        for i, row in enumerate(numbers.tolist()):
            for j, number in enumerate(row):
                is_first = j == 0 or name == "x_2"
                fill = tint(color, 0.24 if is_first else 0.09)
                draw_cell(ax, left + j, top - i - 1, number, fill)
        middle = left + len(numbers[0]) / 2
        ax.text(middle, top + 0.35, name, ha="center", fontsize=10.5, color=color)
    for at, sign in ((3.35, "·"), (6.05, "=")):
        ax.text(at, 0, sign, ha="center", va="center", fontsize=13)
    ax.set(xlim=(-0.1, 8.5), ylim=(-1.6, 2.2), aspect="equal")
    ax.set_axis_off()
    return fig


# sphinx_gallery_end_ignore
fig = draw_product(x_2, W_query, query_2)
fig.set_label(
    "The three numbers of x_2, times the three rows and two columns of W_query, give the two "
    "numbers of query_2. What stands out are x_2, the first column and the result's first number."
)

# %%
# *Figure 2.* A word times a matrix. Each number of the result is a sum of three products; the cells
# that stand out are those of one sum.
#
# Closer look: three pictures to remember the roles by, and where each breaks
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The query of "journey" may ask: who starts, and with what? Its key may say: a noun, the one that
# acts. Its value may hold what the others should know about a journey. These answers are stories;
# what queries and keys really hold is whatever training finds useful.
#
# **A library.** Your query is "I want to bake a cake", the keys are the titles on the spines, and
# the values are what the books say. *Where it breaks:* you borrow one book or two, whereas
# attention opens every book a little and reads the mixture.
#
# **A search engine.** The query is what you type, the keys are the index, and the values are the
# pages. *Where it breaks:* the searcher is outside the index, whereas here every page also types
# a query, and the language of the queries and that of the index are learned together.
#
# **A database.** ``SELECT value WHERE key = query``. *Where it breaks:* a key fits or it does not,
# and if none fits, no row comes back. Attention knows only degrees, and it always returns
# something, even when nothing fits.
#
# The names *query*, *key* and *value* come from databases, but what distinguishes attention from a
# database is the mixture. A mixture changes smoothly with the matrices, so the matrices can be
# trained.
#
# The three matrices were drawn with seed 123, and they are written out so that this page stays
# correct even if the random generator should change one day. The printed line says whether the
# generator still draws them.

# Check: does torch still draw them?
torch.manual_seed(123)
drawn = torch.stack([torch.rand(3, 2) for _ in range(3)])  # (3, 3, 2)
same = torch.allclose(drawn, torch.stack([W_query, W_key, W_value]), rtol=0, atol=1e-6)
print("torch", torch.__version__, "still draws these numbers from seed 123:", same)

# %%
# From scores to the context vector
# ---------------------------------
# "journey" asks with its query, and every word, "journey" included, is found by its key. The
# attention :term:`score` is a dot product again, now of a query with a key.

keys = x @ W_key  # (6, 2)
values = x @ W_value  # (6, 2)
scores_2 = query_2 @ keys.T  # (6,)

# %%

# sphinx_gallery_start_ignore


def draw_word(ax, x, y, word, asks):
    """Draw a word as a pill, which is black where the word asks."""
    pill = {"boxstyle": "round, pad=0.4, rounding_size=0.75", "lw": 1}
    look = pill | ({"fc": BLACK, "ec": BLACK} if asks else {"fc": "none", "ec": "0.6"})
    text = ax.text(x, y, word, ha="center", va="center_baseline", fontsize=10, bbox=look)
    text.set(color="white" if asks else BLACK, parse_math=False)


def draw_vector(ax, x, y, numbers, color, down=False):
    """Draw the cells of a vector, darker the larger their numbers are."""
    for i, number in enumerate(numbers):
        place = (x, y - 0.95 * i) if down else (x + i, y)
        draw_cell(ax, *place, number, tint(color, 0.07 + 0.2 * number))


def draw_roles(x, roles, keys, scores):
    """Draw how a word becomes a query, a key and a value, and below, its query's scores."""
    fig, ax = plt.subplots(figsize=(4, 4.5))
    written = {"fontsize": 10.5, "va": "center", "parse_math": False}
    draw_vector(ax, 0, 9.5, x.tolist(), BLACK)
    draw_word(ax, 1.5, 11.2, "journey", asks=True)
    for (name, question, vector, color), y in zip(roles, (11.3, 9.5, 7.7), strict=True):
        arrow = {"arrowstyle": "-|>", "color": color, "shrinkA": 4, "shrinkB": 4}
        ax.annotate("", xy=(5.5, y + 0.5), xytext=(3, 10), arrowprops=arrow)
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        middle = {"ha": "center", "color": color, "bbox": behind}
        ax.text(4.15, (y + 10.5) / 2, f"× W_{name}", **written | middle)
        draw_vector(ax, 5.5, y, vector.tolist(), color)
        ax.text(7.65, y + 0.5, f"{name}: {question}", **written)
    ax.text(0, 6.85, "Its query meets each key:", **written)
    for j, (word, key, score) in enumerate(zip(words, keys.tolist(), scores, strict=True)):
        left = 1.85 * j
        draw_word(ax, left + 0.5, 5.9, word, asks=word == "journey")
        draw_vector(ax, left, 4.3, roles[0][2].tolist(), QUERY, down=True)
        draw_vector(ax, left, 2.25, key, KEY, down=True)
        draw_cell(ax, left, 0, score, grey_of(score, max(scores)))
    ax.set(xlim=(-0.1, 11), ylim=(-0.1, 12.4))
    ax.set_axis_off()
    return fig


# sphinx_gallery_end_ignore
roles = (
    ("query", "what\ndo I look for?", query_2, QUERY),
    ("key", "what\nam I found by?", key_2, KEY),
    ("value", "what\ndo I hand over?", value_2, VALUE),
)
fig = draw_roles(x_2, roles, keys, scores_2.tolist())
fig.set_label(
    "The embedding of journey branches into a query (what do I look for?), a key (what am I found "
    "by?) and a value (what do I hand over?). Below, its query's scores against the six keys: "
    + ", ".join(f"{word} {score:.2f}" for word, score in zip(words, scores_2, strict=True))
)

# %%
# *Figure 3.* One embedding becomes a query, a key and a value. Below, its query stands above
# each key, and under both the score, their dot product.
#
# The softmax turns these scores into weights, as before. Only one step is new: the scores are first
# divided by :math:`\sqrt{k} = \sqrt{2}`, and :doc:`a lesson of its own
# </gallery/core/plot_3_scaling_variance>` says why. Every word then hands over its value,
# multiplied by its weight. The sum is the :term:`context vector` of "journey", what the word knows
# after it has asked.

key_dim = keys.shape[-1]
weights_2 = torch.softmax(scores_2 / key_dim**0.5, dim=-1)  # (6,)
context_2 = weights_2 @ values  # (2,)
print(weights_2)
print(context_2)

# %%
# Closer look: how to see scores and the context vector as arrows
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The first score and weight of "journey" by hand:

score_22 = query_2 @ keys[1]
exponentials = torch.exp(scores_2 / key_dim**0.5)  # (6,)
print(f"journey asks journey: {score_22:.4f}")
print(f"its weight, by hand: {exponentials[1]:.4f} / {exponentials.sum():.4f} = {weights_2[1]:.4f}")

# %%
# The last line is the division in the softmax: :math:`e^{1.8524 / \sqrt 2}`, divided by the sum of
# six such exponentials.
#
# Two numbers are an arrow, so we can draw what happened. Project a key at a right angle onto the
# line of the query, as if it cast a shadow there. The dot product is the length of that shadow,
# measured from the origin, times the length of the query. If the shadow falls behind the origin,
# the dot product is negative.

shadow_lengths = keys @ (query_2 / query_2.norm())  # (6,)
assert torch.allclose(shadow_lengths * query_2.norm(), scores_2)
print("length of the query", f"{query_2.norm():.4f}")
print("lengths of the shadows", shadow_lengths)

# %%

# sphinx_gallery_start_ignore


def draw_arrows(ax, tips, color, width=1.5):
    """Draw vectors in the plane as arrows from the origin."""
    style = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0}
    for tip in tips.tolist():
        ax.annotate("", xy=tip, xytext=(0, 0), arrowprops=style)
    # Matplotlib ignores annotations when it chooses the limits, but not invisible points.
    ax.scatter(*zip([0, 0], *tips.tolist(), strict=True), s=0)
    ax.set_aspect("equal")


def label_points(ax, points, names, x, gap):
    """Write names in a column at x, joined to their points, so that close points stay readable."""
    order = points[:, 1].argsort().tolist()
    heights = points[order, 1].tolist()
    spread = list(accumulate(heights, lambda below, own: max(own, below + gap)))
    shift = (sum(heights) - sum(spread)) / len(order)
    line = {"arrowstyle": "-", "color": "0.6", "lw": 0.8}
    for i, height in zip(order, spread, strict=True):
        at = points[i].tolist()
        text = ax.annotate(names[i], at, (x, height + shift), va="center", arrowprops=line)
        text.set_parse_math(False)


def draw_scores(ax, query, keys, names):
    """Draw scores as projections of the keys onto the line of the query, like shadows."""
    direction = query / query.norm()  # (2,)
    shadows = (keys @ direction)[:, None] * direction  # (n, 2)
    tips = torch.cat([keys, query[None]])  # (n + 1, 2)
    right, top = tips.clamp(min=0).max(dim=0).values.tolist()
    ax.axline((0, 0), direction.tolist(), color=QUERY, ls=":", lw=1)
    draw_arrows(ax, query[None], QUERY, width=2.5)
    draw_arrows(ax, keys, KEY)
    for key, shadow in zip(keys.tolist(), shadows.tolist(), strict=True):
        ax.plot(*zip(key, shadow, strict=True), color="0.4", lw=1)
    ax.plot(*shadows.T.tolist(), "o", color=QUERY, ms=5)
    label = ax.annotate("query", query.tolist(), (8, 0), textcoords="offset points")
    label.set_color(QUERY)
    label_points(ax, keys, names, x=right + 0.12 * top, gap=0.07 * top)
    ax.set(xlim=(min(0, tips[:, 0].min().item()), right + 0.4 * top), ylim=(None, 1.05 * top))
    ax.set(xlabel="first dimension", ylabel="second dimension")


# sphinx_gallery_end_ignore
fig, ax = plt.subplots(figsize=(5, 5.8))
draw_scores(ax, query_2, keys, words)
fig.set_label(
    "The query of journey and the six keys as arrows from the origin, all pointing up and to the "
    "right. A short line drops from each key onto the query's line. The key of “journey” itself "
    "has the longest shadow, closely followed by that of “starts”; that of “one” has the shortest."
)

# %%
# *Figure 3a.* Scores as shadows of the keys on the line of the query. Every number that went in was
# positive, so the keys point in much the same direction, and their scores differ mostly by how
# *long* the keys are.
#
# The next picture shows the values. A sum with weights that are positive and add up to 1 can't
# leave the shape that the values span, their :term:`convex hull`. The context vector therefore lies
# inside this hull, whatever the weights are.

# sphinx_gallery_start_ignore


def draw_mixture(ax, values, context, names):
    """Draw values as arrows, their convex hull as an area, and the context vector as a dot."""
    right, top = values.clamp(min=0).max(dim=0).values.tolist()
    # The triangles between neighbouring tips fill the hull.
    x, y = values.T.tolist()
    ax.tripcolor(x, y, [1.0] * len(x), cmap="Greens", vmin=0, vmax=5)
    draw_arrows(ax, values, VALUE)
    at = context.tolist()
    ax.plot(*at, "o", color=BLACK)
    line = {"arrowstyle": "-", "lw": 0.8, "shrinkB": 3}
    label = ax.annotate("context", at, (-70, 30), textcoords="offset points", arrowprops=line)
    label.set(ha="right")
    label_points(ax, values, names, x=right + 0.12 * top, gap=0.07 * top)
    ax.set(xlim=(min(0, *x), right + 0.4 * top), ylim=(None, 1.05 * top))
    ax.set(xlabel="first dimension", ylabel="second dimension")


# sphinx_gallery_end_ignore
fig, ax = plt.subplots(figsize=(5, 5.4))
draw_mixture(ax, values, context_2, words)
fig.set_label(
    "The six values as arrows, the region between their tips shaded. The context vector is a dot "
    "inside the region, nearer to its upper end, where journey, starts and Your are."
)

# %%
# *Figure 3b.* The six values, their convex hull, and the context vector of "journey" inside it.
#
# All words at once
# -----------------
# With a query for every word, all scores are again one product, with one row per query and one
# column per key. The softmax runs along each row (``dim=-1``), so the weights of each query sum to
# 1. Row 1 has the weights of "journey" from before.

queries = x @ W_query  # (6, 2)
scores = queries @ keys.T  # (6, 6)
weights = torch.softmax(scores / key_dim**0.5, dim=-1)  # (6, 6)
context = weights @ values  # (6, 2)
print(weights[1])
print(weights.sum(dim=-1))

# %%
# .. raw:: html
#    :file: ../../_parts/workbench-numbers.html
#
# .. container:: bench-look
#
#    .. raw:: html
#       :file: ../../_parts/workbench.html
#
#    .. raw:: html
#       :file: ../../_parts/workbench-link.html
#
# Compare, scale, softmax, mix: these four steps are *scaled dot-product attention*
# (:cite:t:`vaswani2017attention`, equation 1). :math:`Q`, :math:`K` and :math:`V` are the tables of
# all queries, keys and values, with one row per word:
#
# .. math:: \mathrm{context} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{k}}\right) V

# sphinx_gallery_start_ignore


def draw_grid(ax, x, y, rows, columns, name, shape, color):
    """Draw a matrix as cells around the height y, and return where it ends."""
    look = {"boxstyle": "round, pad=0, rounding_size=0.1", "lw": 0, "fc": tint(color)}
    half = 0.3 * rows
    for i in range(rows):
        for j in range(columns):
            corner = x + j + 0.05, y - half + 0.6 * i + 0.05
            ax.add_patch(FancyBboxPatch(corner, 0.9, 0.5, **look))
    middle = x + columns / 2
    ax.text(middle, y + half + 0.3, name, ha="center", fontsize=10, color=color)
    ax.text(middle, y - half - 0.3, shape, ha="center", va="top", fontsize=10, color="0.25")
    return x + columns


def draw_shapes():
    """Draw all matrices with a cell per number, from the words to their context vectors."""
    fig, ax = plt.subplots(figsize=(4, 3.9))
    sign = {"ha": "center", "va": "center", "fontsize": 13}
    letters = (("query", "Q", QUERY), ("key", "K", KEY), ("value", "V", VALUE))
    end = draw_grid(ax, 0, 14.4, n, d, "X", "(n, d)", BLACK)
    for mark, names, rows, shape in (
        ("·", [f"W_{name}" for name, _, _ in letters], d, "(d, k)"),
        ("=", [letter for _, letter, _ in letters], n, "(n, k)"),
    ):
        ax.text(end + 0.7, 14.4, mark, **sign)
        end += 1.4
        for name, (_, _, color) in zip(names, letters, strict=True):
            end = draw_grid(ax, end, 14.4, rows, key_dim, name, shape, color) + 1.45
        end -= 1.45
    width = end
    end = draw_grid(ax, 0, 8.1, n, key_dim, "Q", "(n, k)", QUERY)
    ax.text(end + 0.7, 8.1, "·", **sign)
    end = draw_grid(ax, end + 1.4, 8.1, key_dim, n, "Kᵀ", "(k, n)", KEY)
    arrow = {"arrowstyle": "-|>", "color": "0.25", "lw": 1.3}
    ax.annotate("", xy=(end + 3.6, 8.1), xytext=(end + 0.3, 8.1), arrowprops=arrow)
    ax.text(end + 1.9, 8.4, "/ √k", ha="center", fontsize=10)
    ax.text(end + 1.9, 7.8, "softmax", ha="center", va="top", fontsize=10)
    draw_grid(ax, end + 3.9, 8.1, n, n, "weights", "(n, n)", WEIGHT)
    end = draw_grid(ax, 0, 1.8, n, n, "weights", "(n, n)", WEIGHT)
    ax.text(end + 0.7, 1.8, "·", **sign)
    end = draw_grid(ax, end + 1.4, 1.8, n, key_dim, "V", "(n, k)", VALUE)
    ax.text(end + 1, 1.8, "=", **sign)
    draw_grid(ax, end + 2, 1.8, n, key_dim, "context", "(n, k)", BLACK)
    ax.set(xlim=(-0.1, width + 0.3), ylim=(-1.3, 17.5), aspect="equal")
    ax.set_axis_off()
    return fig


# sphinx_gallery_end_ignore
fig = draw_shapes()  # its drawing commands are in the script of this page
fig.set_label(
    "Matrices of cells. X of shape (n, d) is multiplied by W_query, W_key and W_value, each "
    "(d, k), which gives Q, K and V, each (n, k). Q times Kᵀ, divided by √k, goes through the "
    "softmax, which gives the weights (n, n), and weights times V is the context (n, k)."
)

# %%
# *Figure 4.* All matrices, with a cell for each number, for n words of width d and vectors of width
# k, here 6, 3 and 2.
#
# As a function, the formula takes three lines. ``.mT`` transposes the last two axes, and
# ``.shape[-1]`` is the length of the last axis, k. The comments give the shapes, for n queries, m
# keys and values of width v; the dots stand for any axes in front. The first line names a file that
# grows from lesson to lesson.


# attention_from_scratch.py
def scaled_dot_product_attention(query, key, value):
    """Mix the values, each weighted by how well its key matches the query."""
    scores = query @ key.mT / key.shape[-1] ** 0.5  # (..., n, m)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    return weights @ value, weights  # (..., n, v), (..., n, m)


# %%

# Check: the steps above, the package's function and torch's own.
ours, _ = scaled_dot_product_attention(queries, keys, values)  # (6, 2), (6, 6)
packages, _ = attention.scaled_dot_product_attention(queries, keys, values)  # (6, 2), (6, 6)
torchs = F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]  # (6, 2)
for name, other in (("steps above", context), ("package", packages), ("torch", torchs)):
    print(f"largest difference from {name:12}{(ours - other).abs().max().item():.0e}")
    assert torch.allclose(ours, other)

# %%
# This site's package and torch return the same numbers.
#
# Closer look: what happens without the softmax
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The softmax is easily forgotten: :ref:`the lecture notes <source-notes>`, which use the same
# example sentence, print the formula as :math:`(Q K^\top / \sqrt{d})\, V`. (They also call the
# third matrix :math:`Q_v`, but mean :math:`W_v`.) Without the softmax, no row here sums to 1, and
# the result for "journey" leaves the hull of the values, since it is longer than any value.

no_softmax = scores / key_dim**0.5  # (6, 6)
print("row sums", no_softmax.sum(dim=-1))
print(f"longest value {values.norm(dim=-1).max():.4f}")
print("length of journey's result without softmax", f"{(no_softmax[1] @ values).norm():.4f}")
print("length of journey's context vector        ", f"{context[1].norm():.4f}")

# %%
# Closer look: how one word gets two meanings
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A word needs its neighbours because it may mean several things. The numbers for a word are looked
# up in a table, so "bank" starts with the same numbers in "the bank of the river" and in "the money
# in the bank". Only its neighbours can tell which bank is meant. The table below holds one
# embedding per word, also made up by hand. After attention, the two context vectors of "bank"
# differ.

table = {"river": [0.1, 0.9, 0.2], "money": [0.9, 0.1, 0.3], "bank": [0.6, 0.6, 0.4]}
banks = {}
for neighbour in ("river", "money"):
    pair = torch.tensor([table[neighbour], table["bank"]])  # (2, 3)
    mixed, _ = scaled_dot_product_attention(pair @ W_query, pair @ W_key, pair @ W_value)  # (2, 2)
    banks[neighbour] = mixed[1]
    print(f"context of bank beside {neighbour}", banks[neighbour])

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
value_of = {word: torch.tensor(numbers) @ W_value for word, numbers in table.items()}
for neighbour, mark in (("river", "s"), ("money", "^")):
    ends = torch.stack([value_of["bank"], value_of[neighbour]])  # (2, 2)
    ax.plot(*ends.T, color="0.6", lw=1)
    ax.plot(*banks[neighbour], mark, color=BLACK, ms=8, label=f"“bank” beside “{neighbour}”")
for word, value in value_of.items():
    ax.plot(*value, "o", color=VALUE, ms=8)
    ax.annotate(word, value.tolist(), (9, -3), textcoords="offset points", color=VALUE)
ax.set(xlabel="first dimension", ylabel="second dimension")
ax.margins(x=0.2, y=0.12)
ax.legend()
fig.set_label(
    "Three dots are the values of “river”, “bank” and “money”. Two marks are the context vectors "
    "of “bank”: beside “river” it lies on the line from “bank” to “river”, beside “money” on the "
    "line from “bank” to “money”."
)

# %%
# *Figure 4a.* The context vector of "bank" lies between its own value and that of its neighbour, so
# another neighbour leads it to another place.
#
# Closer look: why all words can ask at the same time, and at any distance
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# :ref:`Lab 13 <source-lab>` names two reasons for self-attention, that models can "process
# sequences in parallel" and that they capture dependencies "regardless of distance". To try the
# first, we ask with one query at a time and compare the results with those of one product for all
# queries.

one_by_one = [scaled_dot_product_attention(query[None], keys, values)[0] for query in queries]
print("one by one equals all at once:", torch.allclose(torch.cat(one_by_one), context))

# %%
# No query needs the result of another, so all of them can be answered at the same time. A recurrent
# network has to wait for the previous word if each of its steps applies a nonlinear function to the
# result of the step before. (If the steps are linear it need not wait, as :doc:`linear attention
# </gallery/deeper/plot_9d_fused_kernel>` shows.) To try the second reason, we move "Your" from the
# place beside "journey" to the end of the sentence.

moved = x[[1, 2, 3, 4, 5, 0]]  # (6, 3)
moved_scores = (moved @ W_query) @ (moved @ W_key).T  # (6, 6)
print(f"journey asks Your, one word away:    {scores[1, 0]:.4f}")
print(f"journey asks Your, five words away:  {moved_scores[0, 5]:.4f}")

# %%
# The score is made from the two words alone and does not know how far apart they are. This is also
# a shortcoming, because the order of the words does not count at all; positional encodings, the
# subject of :doc:`a later lesson </gallery/core/plot_6_positions>`, make it count.
#
# Now let it learn
# ----------------
# So far the weights follow from random matrices, and all rows look alike.
#
# Suppose that a task wants each word to attend to the next one, and the last word to the first.
# ``learned[range(n), target]`` picks the six weights on these targets. The :term:`loss` is the mean
# of :math:`-\ln w` over them, which is 0 if each weight is 1.
#
# The :term:`gradient` of the loss says, for each number of a matrix, how fast the loss grows with
# it. A training step therefore subtracts the gradient, multiplied by a :term:`learning rate`, from
# the matrix. ``loss.backward()`` leaves the gradient of each tensor that ``requires_grad`` in its
# ``.grad``.

target = torch.tensor([1, 2, 3, 4, 5, 0])  # (6,)
learning_rate = 0.5
trained = [W.clone().requires_grad_() for W in (W_query, W_key, W_value)]
for _ in range(2000):
    _, learned = scaled_dot_product_attention(*(x @ W for W in trained))  # (6, 2), (6, 6)
    loss = -learned[range(n), target].log().mean()
    loss.backward()
    with torch.no_grad():  # the step itself must not be recorded
        for W in trained[:2]:  # W_value does not enter this loss
            W -= learning_rate * W.grad
            W.grad = None  # the next gradient would be added to it
print(f"mean weight on the target, before: {weights[range(n), target].mean():.4f}")
print(f"mean weight on the target, after:  {learned[range(n), target].mean():.4f}")

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, learned, words, vmax=1)
ax.set_title("weights after training", fontsize=11)
fig.set_label(
    "Heatmap of the weights after training, words on both axes, colours from 0 to 1. “Your” "
    "attends to “journey”, “with” to “one”, “one” to “step”, and “step” to “Your”, each almost "
    "wholly. The rows of “journey” and “starts” spread their weights over several words."
)

# %%
# *Figure 5.* The weights that two thousand steps lead to, one row per query.
#
# Four words have learned whom to ask. "journey" and "starts" have not, because their embeddings,
# and therefore their queries, are almost the same.
#
# Closer look: why the weights of an untrained layer mean nothing
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# .. admonition:: What went wrong: reading meaning into random numbers
#    :class: warning
#
#    :ref:`A notebook <source-notebook>`, which takes our six-word sentence from
#    :cite:t:`raschka2024build`, reads a meaning into such weights: "journey" attends "most to
#    itself" and to "starts". But the matrices are random, and *every* row of the weights above is
#    largest at "journey", so the row of "journey" says nothing about this word. To see how often
#    all rows agree in this way, we draw the matrices with 1,000 seeds and count how often all six
#    words share a favourite, the word with the highest score.

print("largest weight of each row:", *(words[j] for j in weights.argmax(dim=-1)))


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
# ``torch.rand`` draws numbers between 0 and 1. Vectors of positive numbers times matrices of
# positive numbers give queries and keys that all point much the same way, as in Figure 3a, so the
# longest key mostly wins, whichever word asks. ``torch.randn`` draws numbers of both signs, and
# most of the agreement is gone. So the column with the largest weights tells us how the matrices
# were drawn, and nothing about journeys.
#
# Closer look: whether longer training finds all six targets
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Two thousand steps were enough for four of the six targets. The other two are those of "journey"
# and "starts", which should attend to different words although they have almost the same query. So
# a step that helps one of them tends to hurt the other.

for word, weight in zip(words, learned[range(n), target], strict=True):
    print(f"{word:8} gives its target {weight:.4f}")
print("gradient of W_value:", trained[2].grad)
print("distance between journey and starts", f"{(x[1] - x[2]).norm():.4f}")
print("mean distance between two words    ", f"{torch.pdist(x).mean():.4f}")

# %%
# The gradient reaches W_query and W_key through the softmax and the scores. W_value gets none here,
# because this loss is made from the weights alone; a loss made from the contexts trains all three.
# And since :math:`-\ln w` grows without bound as w nears 0, a target with hardly any weight counts
# most.
#
# Are these two embeddings too similar, or were the steps too few? We train again, for a thousand
# steps, but with :term:`Adam`, which gives each number of a matrix a step size of its own. This
# time, sixteen pairs of matrices are trained at once: that of this page and fifteen random ones. We
# then count the random pairs with which every word has its highest score at its target. With such a
# pair only the size of the scores is left to grow, because the softmax of scores that are
# multiplied by a large number gives nearly all of the weight to the highest.

torch.manual_seed(0)
W_queries, W_keys = (
    torch.cat([W[None], torch.randn(15, 3, 2)]).requires_grad_() for W in (W_query, W_key)
)  # (16, 3, 2), (16, 3, 2)
optimizer = torch.optim.Adam([W_queries, W_keys], lr=0.2, fused=True)
for _ in range(1000):
    of_all = (x @ W_queries) @ (x @ W_keys).mT / key_dim**0.5  # (16, 6, 6)
    on_target = of_all.softmax(dim=-1)[:, range(6), target]  # (16, 6)
    optimizer.zero_grad()
    (-on_target.log().mean(dim=-1)).sum().backward()
    optimizer.step()
is_highest = of_all.argmax(dim=-1) == target  # (16, 6)
for word, weight in zip(words, on_target[0], strict=True):
    print(f"{word:8} gives its target {weight:.4f}")
everyone = is_highest[1:].all(dim=-1).sum()
print(f"random pairs with which all six words have found their target: {everyone} of 15")
assert is_highest[0, 1:].all()
assert everyone >= 3

# %%
# From the matrices of this page, "journey" and "starts" now both attend to their targets, and the
# word that has not found its own is "Your". From most of the random matrices all six words find
# their targets. The embeddings are therefore different enough, and six numbers in each of two
# matrices can tell them apart. Two thousand steps of plain gradient descent were too few, because
# words that are nearly alike are told apart last.
#
# Takeaways
# ---------
# * A word finds out which neighbours matter by comparing its query with their keys, and it can
#   learn this, because the matrices that make queries and keys are trained.
# * The softmax turns scaled scores into weights, which mix the values into a context vector.
#
# *From memory:* close this page and write the function with the shape of each line. Check that the
# weights of each query sum to 1, and that you get the printed context of "journey".
#
# *Where next:* :doc:`the attention layer </gallery/core/plot_2_attention_layer>` holds the
# matrices.
#
# You can now compute attention by hand, write it as a function, and train it. The exercise to do
# next is :ref:`a score by hand <ex-score-by-hand>`.

plt.show()

"""
.. lesson:: Positional encodings
   :minutes: 45
   :extra: plot
   :needs: core/plot_2 core/plot_4
   :exercises: masks
   :tasks: count-from-end
   :search: positional encoding; positional embedding

Positional encodings: where a word stands
=========================================

How can a layer that does not notice the order of its words read a sentence?

Without help it can't, and the usual help is a positional encoding: each position in the sentence
has a vector of its own, which is added to the embedding of the word there. The same word at two
positions then becomes two different inputs. The classic encoding consists of sines and cosines at
several speeds.

The first reading takes nine minutes, and the whole page forty-five. You need :doc:`the attention
layer </gallery/core/plot_2_attention_layer>` and :doc:`masks </gallery/core/plot_4_masks>`. Running
the page takes a few seconds.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import attention
from attention.plotting import (
    BLACK,
    BLUE,
    DIVERGING,
    GREEN,
    ORANGE,
    draw_box,
    draw_flow,
    draw_weights,
    use_style,
)

use_style()

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

# %%

# sphinx_gallery_start_ignore


def draw_shapes():
    """Draw how words and positions become the input of attention, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 4.4))
    ax.set(xlim=(0, 10), ylim=(9, 0.2))
    for x, start, part, end, shape, at in (
        (2.5, "words   (B, n)", "embedding", 4.65, "x   (B, n, d)", 0.9),
        (7.5, "positions 0 … n − 1   (n)", "sines and cosines", 5.35, "S   (n, d)", 6.8),
    ):
        draw_box(ax, x, 0.4, start, None)
        draw_flow(ax, (x, 0.7), (x, 1.5))
        draw_box(ax, x, 2, part)
        draw_flow(ax, (x, 2), (end, 4.3))
        ax.text(at, 3.15, shape, va="center", fontsize=10, color="0.25")
    ax.plot(5, 4.6, "o", ms=19, mfc="white", mec=BLACK, mew=2)
    draw_box(ax, 5, 4.6, "+", None)
    draw_flow(ax, (5, 5), (5, 6), "(B, n, d)")
    draw_box(ax, 5, 6.5, "attention")
    draw_flow(ax, (5, 7), (5, 8.1))
    draw_box(ax, 5, 8.5, "context   (B, n, d)", None)
    return fig


# sphinx_gallery_end_ignore
fig = draw_shapes()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart from top to bottom. On the left words, of shape (B, n), become embeddings x, "
    "(B, n, d). On the right positions 0 to n minus 1 become sines and cosines S, (n, d). Both are "
    "added, (B, n, d), and go into attention, which returns a context of the same shape."
)

# %%
# *Figure 1.* A :term:`positional encoding <position>` is added before the first attention layer,
# the same n rows to each of the B texts.
#
# Attention without positions: shuffle the sentence
# -------------------------------------------------
# "One step starts with your journey" has the same words. We put the rows of x into that order, and
# give both sentences to a layer with random matrices.
#
# .. predict:: shuffled-sentence
#
#    "journey" was the second word and is now the last. What happens to its context vector?
#
#    It changes, because its neighbours do : ``not torch.allclose(shuffled[5], context[1])``
#        Without positions a word has no neighbours.
#    It stays the same : ``torch.allclose(shuffled[5], context[1])``
#        Its query meets the same six keys, so it gets the same weights for the same values.
#    It becomes that of "step", the former last word : ``torch.allclose(shuffled[5], context[5])``
#        A context vector belongs to a word and not to a position.

order = torch.tensor([4, 5, 2, 3, 0, 1])  # (6,)
print(*[words[i] for i in order])

torch.manual_seed(123)
layer = attention.SelfAttentionV1(3, 2)
with torch.no_grad():
    context, shuffled = layer(x), layer(x[order])  # (6, 2), (6, 2)
print("journey, as second word:", context[1])
print("journey, as last word:  ", shuffled[5])
print("largest difference, word by word:", (shuffled - context[order]).abs().max().item())
assert torch.allclose(shuffled, context[order])

# %%
# Each word gets the same context vector wherever it is. A score depends on two words and on nothing
# else, and a sum does not depend on the order of its terms. If the input rows are shuffled, the
# output rows are shuffled in the same way, which is called *permutation equivariance*. To attention
# without a mask and without positions, a sentence is therefore a bag of words.
#
# Closer look: what a causal mask tells of the order
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Stacking layers without a mask does not help, because each layer passes the shuffled rows on to
# the next. A sentence is a bag of words to them however many they are.
#
# Under a causal mask, each word in the first layer sees a bag of the words up to itself. Suppose
# that the five words before "step" are shuffled, as in the next cell. In the first layer, "step"
# still sees the same bag of words. But each of the other five words now sees a different bag, so
# its context vector changes. In the second layer, "step" attends to these changed vectors.

# Table: how far the context of "step" moves.
others = torch.tensor([3, 0, 4, 1, 2, 5])  # (6,), all but the last are shuffled
last_moved = {}
for kind in (attention.SelfAttention, attention.CausalSelfAttention):
    torch.manual_seed(0)
    with torch.no_grad():
        before, after = x.double(), x[others].double()  # (6, 3), (6, 3)
        for depth in (1, 2):
            another = kind(3, key_dim=2).double()
            before, after = another(before), another(after)  # (6, 3), (6, 3)
            moved = (before[5] - after[5]).norm() / before[5].norm()
            last_moved[kind.__name__, depth] = moved.item()
            print(f"{kind.__name__:20} layers: {depth}   step moved by {moved:.0e} of its length")

# %%
# Numbers near 1e-16 are rounding errors. With a causal mask and a second layer, the result thus
# depends on the order of the words even without positions. :cite:t:`haviv2022transformer` trained
# causal language models without positional encodings and still found positions in their hidden
# layers. :cite:t:`kazemnejad2023impact` tested such models on reasoning tasks with inputs longer
# than any in training, and report that they do as well as models with explicit positions, or
# better. A model without a causal mask, such as the classifiers of this site, has no such help.
#
# Sinusoidal positions
# --------------------
# The simplest encoding would add the number of the position: 0, 1, 2 and so on. But at position 200
# the embedding would drown in this number. We want vectors whose numbers stay between −1 and 1, and
# which differ from position to position.
#
# A clock does this: its hands turn at different speeds, and together they show another reading at
# every minute. :cite:t:`vaswani2017attention` (section 3.5) take d/2 hands and write down the sine
# and the cosine of the angle of each. At position p, hand number i has turned by the angle
# :math:`p\,\omega_i`, where :math:`\omega_i` is its speed:
#
# .. math::
#    S_{p,\,2i} = \sin(p\,\omega_i), \qquad S_{p,\,2i+1} = \cos(p\,\omega_i), \qquad
#    \omega_i = \mathrm{base}^{-2i/d}


# attention_from_scratch.py
def sinusoidal_positions(n, embed_dim, base=10_000.0):
    """Return the sines and cosines of n positions, one row per position."""
    position = torch.arange(n)[:, None]  # (n, 1)
    feature = torch.arange(embed_dim)  # (embed_dim,)
    angle = position / base ** (2 * (feature // 2) / embed_dim)  # (n, embed_dim)
    return torch.where(feature % 2 == 0, angle.sin(), angle.cos())  # (n, embed_dim)


# %%
# The result, (n, d), is added to words of shape (B, n, d). The first hand turns by 1 radian per
# position, and each of the others more slowly than the one before it. For d = 16 there are eight
# hands, and we choose the base 1,000.

d, base, length = 16, 1000.0, 256
S = sinusoidal_positions(length, d, base)  # (256, 16)
speed = base ** (-torch.arange(0, d, 2) / d)  # (8,)
print("positions for one turn:", [round(turn) for turn in (2 * torch.pi / speed).tolist()])

# %%

fig, grid = plt.subplots(4, 8, figsize=(5, 3.2))
circle = torch.linspace(0, 2 * torch.pi, 60)  # (60,)
for row, p in zip(grid, (0, 1, 8, 64), strict=True):
    for i, ax in enumerate(row):
        ax.plot(circle.cos(), circle.sin(), color="0.7", lw=0.8)
        sine, cosine = S[p, 2 * i : 2 * i + 2].tolist()
        ax.plot([0, sine], [0, cosine], color=BLUE, lw=2)  # as on a clock: from the top, clockwise
        ax.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        ax.set_axis_off()
    row[0].text(-1.6, 0, f"{p}", ha="right", va="center")
fig.supylabel("position", fontsize=11)
fig.set_label(
    "Four rows of eight clock faces with one hand each, for positions 0, 1, 8 and 64. At position "
    "0 all hands point up. After one position only the first two have moved visibly, after 8 about "
    "half of them, and after 64 all but the last two or three."
)

# %%
# *Figure 2.* The eight hands at positions 0, 1, 8 and 64, the fastest on the left. No two rows are
# the same.
#
# Closer look: how slow the slowest hand is
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The slowest hand has :math:`i = d/2 - 1` and turns by :math:`\mathrm{base}^{2/d} / \mathrm{base}`,
# which is more than 1/base. If d is odd, as in an example below, the last hand has only its sine.
# Base 1,000 and d = 16 are those of :ref:`Lab 13 <source-lab>`. We also compare our table with that
# of the package's :class:`~attention.SinusoidalPositions`, a module that adds its table to its
# input.

print(f"slowest: {speed[-1]:.4f} radians per position; 1/base: {1 / base:.4f}")
sinusoids = attention.SinusoidalPositions(d, max_length=length, base=base)
assert torch.allclose(sinusoids(torch.zeros(length, d)), S, atol=1e-4)

# %%
# Closer look: in which order the columns come
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The columns can be arranged in two ways, and both are in use. Either all sines come first and then
# all cosines, or the two are interleaved as in the formula, so that the two numbers of a hand are
# neighbours.

sine, cosine = S[:, 0::2], S[:, 1::2]  # (256, 8), (256, 8)
gap = torch.full((length, 1), torch.nan)  # (256, 1)
apart = torch.cat([sine, gap, cosine], dim=-1)  # (256, 17)

fig, axes = plt.subplots(2, figsize=(5, 8.4))
for ax, table, title in zip(axes, (apart, S), ("sines | cosines", "interleaved"), strict=True):
    look = {"cmap": DIVERGING.reversed(), "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    image = ax.imshow(table.numpy(), aspect="auto", **look)
    ax.set(facecolor="0.4", title=title, ylabel="position of the word")
    ax.tick_params(axis="x", length=0)
axes[0].set_xticks([0, 7, 9, 16], ["fast", "slow", "fast", "slow"])
axes[1].set_xticks([0.5, 14.5], ["fast", "slow"])
fig.colorbar(image, ax=axes, location="bottom", shrink=0.7, aspect=30, ticks=[-1, 0, 1])
fig.set_label(
    "Two heatmaps of the same 256 by 16 numbers, from minus 1 to 1, one row per position. Above, "
    "eight columns of sines and eight of cosines: on the left of each block stripes a few rows "
    "high, towards its right longer and longer waves. Below, sines and cosines alternate."
)

# %%
# *Figure 2a.* The same table twice, one row per position and one column per sine or cosine. The
# stripes of a column are the turns of its hand. They are short for the fast hands and become longer
# from hand to hand. The slowest hand does not complete a turn within 256 positions.
#
# A program may use either order of the columns, because the weight matrices of the next layer have
# one row per column of this table, and these rows are learned for that order. But once a model has
# been trained, the program that loads it must use the same order.
#
# The same sentence with positions
# --------------------------------
# We add six positions, of width 3 as the words, to both sentences and compare "journey" again:

P = sinusoidal_positions(6, 3)  # (6, 3)
with torch.no_grad():
    placed, placed_shuffled = layer(x + P), layer(x[order] + P)  # (6, 2), (6, 2)
print("journey, as second word:", placed[1])
print("journey, as last word:  ", placed_shuffled[5])
assert not torch.allclose(placed_shuffled, placed[order], atol=1e-2)

# %%
# Now "journey" has a different context vector in each sentence.
#
# Closer look: why add, and not concatenate
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The position is *added* to the word, number by number, and one might expect the two to be mixed up
# beyond recovery. To see what becomes of them, write :math:`x` for a word, :math:`S` for its
# position and :math:`M = W_\mathrm{query} W_\mathrm{key}^\top`, and multiply out one score:
#
# .. math::
#    (x_i + S_i)\, M\, (x_j + S_j)^\top = \underbrace{x_i M x_j^\top}_{\text{word, word}} +
#    \underbrace{x_i M S_j^\top}_{\text{word, position}} +
#    \underbrace{S_i M x_j^\top}_{\text{position, word}} +
#    \underbrace{S_i M S_j^\top}_{\text{position, position}}
#
# The score has four terms, and M decides how much each of them counts. In 3 dimensions, as in the
# next cell, words and positions interfere with each other. In hundreds of dimensions there is room
# for both, though how a trained model keeps them apart has to be measured in that model.
# Concatenating words and positions would keep them apart by construction, at the price of a wider
# layer. A sum has the shape of the words, so the layers that follow need no change.

with torch.no_grad():
    M = layer.W_query @ layer.W_key.T  # (3, 3)
    terms = torch.stack([x @ M @ x.T, x @ M @ P.T, P @ M @ x.T, P @ M @ P.T])  # (4, 6, 6)
    whole = (x + P) @ M @ (x + P).T  # (6, 6)
print("journey's query, step's key:", terms[:, 1, 5], f"sum {terms[:, 1, 5].sum():.4f}")
print("score of the sums:", f"{whole[1, 5]:.4f}")
assert torch.allclose(terms.sum(dim=0), whole, atol=1e-5)

# %%

fig, grid = plt.subplots(2, 2, figsize=(5, 5), sharex=True, sharey=True)
names = ("word, word", "word, position", "position, word", "position, position")
top = terms.abs().max().item()
for ax, name, term in zip(grid.flat, names, terms, strict=True):
    image = ax.imshow(term.numpy(), cmap=DIVERGING, vmin=-top, vmax=top)
    ax.set_title(name, fontsize=11)
    ax.set_xticks(range(6), words, rotation=90)
    ax.set_yticks(range(6), words)
    ax.tick_params(length=0)
fig.colorbar(image, ax=grid, location="bottom", shrink=0.7, aspect=30)
fig.set_label(
    "Four tables of 6 by 6 numbers, one per term of the score, with queries as rows and keys as "
    "columns. The term of two words is much the same in every row. Terms with positions change "
    "from row to row or from column to column, and are as large as the one of two words."
)

# %%
# *Figure 2b.* The four terms of all scores, with queries as rows and keys as columns. Only the last
# of them, the one of two positions, would be the same for another sentence.
#
# What the matrix M can hold is shown in :doc:`the lesson on low rank
# </gallery/deeper/plot_1_low_rank_qk>`.
#
# The distance between two positions
# ----------------------------------
# Why does each hand have two numbers? Because with a sine and a cosine, a shift along the sentence
# turns the hand by the same angle wherever it starts. The dot product of two positions therefore
# depends on their *distance* :math:`\Delta` alone:
#
# .. math:: S_p \cdot S_{p+\Delta} = \sum_i \cos(\Delta\,\omega_i)

likeness = S @ S.T  # (256, 256)
for shift in (0, 1, 2, 5, 31, 100):
    low, high = likeness.diagonal(shift).aminmax()
    print(f"distance {shift:3}: from {low:.4f} to {high:.4f}")
    assert high - low < 1e-3
farther, at = likeness[0, 3:].max(dim=0)  # (), ()
print(f"largest at any distance from 3 on: {farther:.4f}, at distance {at + 3}")

# %%

distance = torch.arange(-40, 41)  # (81,)
fig, ax = plt.subplots()
for p, color, line in ((60, BLUE, "-"), (128, ORANGE, "--"), (200, GREEN, ":")):
    ax.plot(distance, likeness[p, p + distance], line, color=color, label=f"position {p}")
ax.set(xlabel="distance to the other position", ylabel="dot product")
ax.legend(title="seen from")
fig.set_label(
    "Dot products of three positions with those up to 40 to the left and right. The curves lie "
    "on one another: 8 at the position itself, falling steeply to both sides, then wavering."
)

# %%
# *Figure 3.* Dot products of positions 60, 128 and 200 with those up to 40 before and after them.
# The three curves coincide, since only the distance counts.
#
# The dot product is largest at distance 0, where every cosine is 1. But it does not measure the
# distance like a ruler, because the fast hands come round again.
#
# Closer look: why a shift is a rotation
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# With a sine and a cosine, a shift by :math:`\Delta` positions becomes a *rotation*. The angle-sum
# formulas say:
#
# .. math::
#    \begin{pmatrix} \sin((p+\Delta)\,\omega) \\ \cos((p+\Delta)\,\omega) \end{pmatrix} =
#    \begin{pmatrix} \cos \Delta\omega & \sin \Delta\omega \\
#    -\sin \Delta\omega & \cos \Delta\omega \end{pmatrix}
#    \begin{pmatrix} \sin p\,\omega \\ \cos p\,\omega \end{pmatrix}
#
# The matrix contains the shift :math:`\Delta`, but *not the position p*. We build it for all eight
# hands and shift all positions at once:


def rotation(shift):
    """Return the matrix that shifts every position; positions are rows: S @ matrix."""
    sin, cos = (shift * speed).sin(), (shift * speed).cos()  # (8,), (8,)
    turns = torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2))  # (8, 2, 2)
    return torch.block_diag(*turns.mT)  # (16, 16)


for shift in (1, 5, 100):
    error = (S[:-shift] @ rotation(shift) - S[shift:]).abs().max().item()
    print(f"shifted by {shift:3}: largest error {error:.0e}")
    assert error < 1e-4

back = rotation(-7) @ rotation(7)  # (16, 16)
print("7 back and 7 forward is the identity:", torch.allclose(back, torch.eye(d), atol=1e-6))

# %%

fig, axes = plt.subplots(2, figsize=(5, 7.4))
circle = torch.linspace(0, 2 * torch.pi, 200)  # (200,)
for ax, hand, name in zip(axes, (0, 2), ("the fastest hand", "the third hand"), strict=True):
    pair = S[:6, 2 * hand : 2 * hand + 2].flip(-1)  # (6, 2), the cosine to the right
    ax.plot(circle.cos(), circle.sin(), color="0.8", lw=1)
    ax.plot(*pair.T, "o", color=BLUE)
    for word, (right, up) in zip(words, pair.tolist(), strict=True):
        ax.plot([0, right], [0, up], color=BLUE, lw=1, alpha=0.5)
        side = "left" if right > 0 else "right"
        ax.text(1.12 * right, 1.12 * up, word, ha=side, va="center", parse_math=False)
    ax.set(title=name, xlabel="cosine", ylabel="sine", aspect="equal")
    ax.set(xlim=(-1.75, 1.75), ylim=(-1.2, 1.2))
fig.set_label(
    "Two circles with a radius drawn to each of the six words. For the fastest hand the words are "
    "spread over almost the whole circle, each one radian further than the last. For the third "
    "hand they lie close together, each a small equal turn further."
)

# %%
# *Figure 3a.* The six words on the circles of two of the eight hands. From each word to the next,
# the angle grows by the same amount, which is large for the fastest hand and small for the third.
#
# If both positions are shifted by the same amount, both vectors are rotated in the same way, and a
# rotation leaves their dot product as it was. In Figure 3 distances of 5 and of 31 positions give
# nearly the same product. A single product can reliably distinguish only near neighbours, here
# those up to two positions away, from all other positions.
#
# Closer look: how a query can look one position back
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Because the product depends on the distance alone, a query can look for a *relative* position. If
# the query matrix is the rotation by −1 and the key matrix the identity, a query that is made from
# a position alone looks for the position before its own. Nothing is trained here, because we know
# the matrix. The code multiplies the query by 20, which makes the scores large enough for a clear
# choice.

positions = S[:6]  # (6, 16)
query, key = 20 * positions @ rotation(-1), positions  # (6, 16), (6, 16)
_, weights = attention.scaled_dot_product_attention(query, key, positions)  # (6, 16), (6, 6)
print("each word's largest weight is on:", [words[i] for i in weights.argmax(dim=-1)])

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, weights, words)
ax.set_title("a query rotated back by one position", fontsize=11)
fig.set_label(
    "Heatmap of weights, words on both axes. Each word from journey on attends mostly to the word "
    "before it. Your, which has none before it, attends mostly to itself."
)

# %%
# *Figure 3b.* Weights from positions alone, with the query rotated back by one. Each word attends
# mostly to the word before it. "Your" has no word before it and attends mostly to itself.
#
# Training will not necessarily find this matrix, but it exists, works for all positions at once,
# and needs no additional parameters.
#
# In a model, however, each position has a word added to it, and the words enter the scores as well.
# We add random words of several sizes to 64 positions, and count how often the highest score of a
# query is still that of the position before its own. The vector of a position has entries between
# −1 and 1, and the size is the standard deviation of the entries of a word's vector.

torch.manual_seed(0)
finds_previous = {}
for size in (0.0, 0.1, 0.3, 1.0):
    with_words = S[:64] + size * torch.randn(50, 64, d)  # (50, 64, 16)
    nearest = (with_words @ rotation(-1) @ with_words.mT).argmax(dim=-1)  # (50, 64)
    finds_previous[size] = (nearest[:, 1:] == torch.arange(63)).float().mean().item()
    print(f"words of size {size}: {finds_previous[size]:.1%} find the position before their own")
assert finds_previous[0.0] == 1
assert finds_previous[1.0] < 0.05

# %%

fig, ax = plt.subplots(figsize=(5, 2.6))
bars = ax.bar(list(map(str, finds_previous)), finds_previous.values(), color=BLUE)
ax.bar_label(bars, fmt="{:.0%}")
ax.set(xlabel="size of the words", ylabel="find the position", ylim=(0, 1.1))
ax.yaxis.set_major_formatter("{x:.0%}")
fig.set_label(
    "Bars: the share of queries that find the position before their own, against the size of the "
    "words. All find it without words, most with words of size 0.1, and next to none with words of "
    "size 1."
)

# %%
# *Figure 3c.* How many queries still find the position before their own when random words are
# added.
#
# With words as large as the positions the matrix finds next to nothing, because the terms of the
# score that contain words outweigh the one that does not. It works only if these terms are small,
# or if words and positions lie in different directions, so that a matrix can read the positions
# alone.
#
# Counting from the end
# ---------------------
# Reviews differ in length, and the verdict often comes last. If we count from the start, the
# position of the last word varies with the length of the text. If we count from the end, it is
# always 0:

lengths = torch.tensor([6, 4])  # (2,)
from_end = attention.positions_from_end(lengths, 6)  # (2, 6)
for text, count, positions_back in zip((words, words[2:]), lengths, from_end, strict=True):
    print("  ".join(f"{w} {p}" for w, p in zip(text, positions_back[:count], strict=True)))

# %%

fig, ax = plt.subplots(figsize=(5, 3))
for y, text, back in zip((0, 2.6), (words, words[2:]), from_end, strict=True):
    for i, word in enumerate(text):
        draw_box(ax, i, y, word, width=0.92)
        ax.text(i, y + 0.75, i, ha="center", va="center", color=ORANGE)
        ax.text(i, y + 1.2, back[i].item(), ha="center", va="center", color=BLUE)
    ax.text(6.4, y + 0.75, "from the start", va="center", color=ORANGE)
    ax.text(6.4, y + 1.2, "from the end", va="center", color=BLUE)
ax.set(xlim=(-0.5, 8.6), ylim=(4.2, -0.6))
fig.set_label(
    "Two sentences in boxes, the second being the last four words of the first. Counted from the "
    "start, “starts” is 2 in the first and 0 in the second. Counted from the end, it is 3 in both, "
    "and each word after it agrees as well."
)

# %%
# *Figure 4.* Positions in both texts, counted from the start and from the end.
#
# A text that is still being written has no end yet, so this works for complete texts only.
#
# Closer look: the end of a text has the same vectors whatever its length
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# In :ref:`Lab 13 <source-lab>`, half of the texts even begin with another review, and the review
# that counts follows it. Our second text is "starts with one step", the end of the sentence. If we
# count from the end, its words have the same positions in both texts, and therefore the same
# vectors. If we count from the start, they have different positions in the two texts. All padding
# counts as position 0, which does no harm as long as a padding mask hides it.

tail = nn.functional.pad(x[2:], (0, 0, 0, 2))  # (6, 3), two rows of padding
texts = torch.stack([x, tail])  # (2, 6, 3)
add = attention.SinusoidalPositions(3)
end, start = add(texts, from_end), add(texts)  # (2, 6, 3), (2, 6, 3)
print("from the end,   differ by", (end[0, 2:] - end[1, :4]).abs().max().item())
print("from the start, differ by", f"{(start[0, 2:] - start[1, :4]).abs().max():.2f}")
assert torch.equal(end[0, 2:], end[1, :4])

# %%
# Other encodings
# ---------------
# Many models, such as BERT (:cite:t:`devlin2019bert`), add *learned positional embeddings* instead,
# a table with one trained row per position. Many of today's language models use *rotary position
# embeddings* (RoPE, :cite:t:`su2024roformer`), which add nothing to the word. They rotate the
# queries and keys of every layer, so that each score depends on two words and on the distance
# between them.
#
# Closer look: what becomes of texts longer than those of training
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# :cite:t:`vaswani2017attention` tried both learned and sinusoidal positions and report nearly
# identical results. A learned table ends at its last row, whereas sines and cosines exist for every
# position:

learned = nn.Embedding(length, d)
try:
    learned(torch.tensor(length))
except IndexError as error:
    print(f"learned, position {length}: {error}")
print(f"sines, position {10 * length}:", sinusoidal_positions(10 * length + 1, d, base)[-1, :4])

# %%
# That a vector exists does not mean that a model can use it. The matrices of a model are trained on
# the positions that occur in its training texts, and :cite:t:`kazemnejad2023impact` report that
# several common encodings, absolute and rotary ones among them, are ill suited to inputs longer
# than those of training.
#
# The rotation that RoPE applies to queries and keys is that of this page. A later lesson, on
# :doc:`rotary positions </gallery/deeper/plot_9a_rotary>`, derives rotary embeddings from the
# sinusoids and measures both encodings on texts longer than those of training.
#
# Takeaways
# ---------
# * How does attention read a sentence in order? A vector added to each embedding tells it the
#   position. Without positions and without a mask, attention reads a bag of words.
# * Count positions from the end if what matters is at the end of the texts.
#
# *From memory:* close this page and write ``sinusoidal_positions``. Row 0 must read 0, 1, 0, 1 and
# so on, and the dot product of two rows must depend on their distance alone.
#
# *Where next:* attention becomes a part of :doc:`the transformer block
# </gallery/core/plot_7_transformer_block>`.
#
# You can now write sinusoidal positions, and say what a sentence is to attention without them. The
# exercise to do next is to :ref:`count from the end <ex-count-from-end>`.

plt.show()

"""
Where a word stands
===================

How can a layer that does not notice the order of its words read a sentence?

Without help it can't, and the usual help is a *positional encoding*, a vector added to each word
that says where in the sentence it is. First we shuffle the sentence and see what attention notices,
without a mask, with a causal mask, and with two causal layers, where some order gets in. Then we
make positions of sines and cosines, and find out why just those.
"""

import matplotlib.pyplot as plt
import torch

import attention
from attention.plotting import BLUE, GREEN, ORANGE, draw_weights, use_style

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
# Shuffle the sentence
# --------------------
# "One step starts with your journey" is another sentence with the same words. Put the rows of x
# into that order, and see what a layer with random matrices makes of both.

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
# Each word gets the same context vector, wherever it stands. The reason is in the formula: a score
# is a product of two words and of nothing else, and a sum does not depend on the order of its
# terms. To attention without a mask and without positions a sentence is a bag of words. Stacking
# layers does not help, because each hands shuffled rows to the next.
#
# With a causal mask that is true of the last word only, and of one layer only. Shuffle the five
# words before "step". In the first layer "step" sees the same bag as before. But the others do not,
# since each of them sees only those before it, so their context vectors depend on the order; and a
# second layer hands those context vectors to "step".

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
# (Digits near 1e-16 are rounding.) So a causal mask and depth let the order in without any
# positions. :cite:t:`haviv2022transformer` trained causal language models that way and found
# positions in their hidden layers. :cite:t:`kazemnejad2023impact` found such models to do as well
# as those with explicit positions, or better, on reasoning tasks with inputs longer than those of
# their training. A model without a causal mask, such as the classifiers of this site, has no such
# help.
#
# Numbers for a position
# ----------------------
# The simplest way would add the number of the position: 0, 1, 2, … But word 200 would drown in it.
# We want numbers that stay between −1 and 1, differ from position to position, and show how far two
# positions are from each other.
#
# Think of a clock. Its hands turn at different speeds, and together they tell every minute of half
# a day. Take d/2 hands and write down each one's sine and cosine, as
# :cite:t:`vaswani2017attention` do (section 3.5):
#
# .. math::
#    S_{p,\,2i} = \sin(p\,\omega_i), \qquad S_{p,\,2i+1} = \cos(p\,\omega_i), \qquad
#    \omega_i = \mathrm{base}^{-2i/d}
#
# The first hand turns by 1 radian per position, each further one more slowly. The slowest, the one
# with :math:`i = d/2 - 1`, turns by :math:`\mathrm{base}^{2/d} / \mathrm{base}`, which is more than
# 1/base. With base 1,000 and d = 16, as in the :ref:`lab <source-lab>` that this page follows:

d, base, length = 16, 1000.0, 256
sinusoids = attention.SinusoidalPositions(d, max_length=length, base=base)
S = sinusoids(torch.zeros(length, d))  # (256, 16)
speed = base ** (-torch.arange(0, d, 2) / d)  # (8,)
print("positions for one turn:", [round(turn) for turn in (2 * torch.pi / speed).tolist()])
print(f"slowest: {speed[-1]:.4f} radians per position; 1/base: {1 / base:.4f}")

# %%
# Two ways to draw the same table. On the left of the first one stand all sines, on the right all
# cosines, so you see the hands slow down. The second is the order of the formula, in which the two
# numbers of a hand are neighbours.

sine, cosine = S[:, 0::2], S[:, 1::2]  # (256, 8), (256, 8)
gap = torch.full((length, 1), torch.nan)  # (256, 1)
apart = torch.cat([sine, gap, cosine], dim=-1)  # (256, 17)

fig, axes = plt.subplots(2, figsize=(5, 8.4))
for ax, table, title in zip(axes, (apart, S), ("sine | cosine", "interleaved"), strict=True):
    look = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    image = ax.imshow(table.numpy(), aspect="auto", **look)
    ax.set(facecolor="0.4", title=title, ylabel="position of the word")
    ax.tick_params(axis="x", length=0)
axes[0].set_xticks([0, 7, 9, 16], ["fast", "slow", "fast", "slow"])
axes[1].set_xticks([0.5, 14.5], ["fast", "slow"])
fig.colorbar(image, ax=axes, location="bottom", shrink=0.7, aspect=30, ticks=[-1, 0, 1])
fig.set_label(
    "Two heatmaps of the same 256 by 16 numbers, from minus 1 to 1, one row per position. Above, "
    "eight columns of sines and eight of cosines: on the left of each block stripes a few rows "
    "high, towards its right longer and longer waves. Below, sines and cosines take turns."
)

# %%
# Which of the two orders a program uses does not matter. The matrices that follow have a row for
# each column of this table, and they learn. Only one thing must not happen: that training uses the
# one and the loaded model the other.
#
# A shift is a rotation
# ---------------------
# Why two numbers for each hand? Because then a step is a *rotation*. The angle-sum formulas say
#
# .. math::
#    \begin{pmatrix} \sin((p+\Delta)\,\omega) \\ \cos((p+\Delta)\,\omega) \end{pmatrix} =
#    \begin{pmatrix} \cos \Delta\omega & \sin \Delta\omega \\
#    -\sin \Delta\omega & \cos \Delta\omega \end{pmatrix}
#    \begin{pmatrix} \sin p\,\omega \\ \cos p\,\omega \end{pmatrix}
#
# and the matrix contains the shift :math:`\Delta`, but *not the position p*. Build it for all eight
# hands, and walk from every position at once:


def rotation(shift):
    """Return the matrix that moves every position by a shift; positions are rows, on its left."""
    sin, cos = (shift * speed).sin(), (shift * speed).cos()  # (8,), (8,)
    turns = torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2))  # (8, 2, 2)
    return torch.block_diag(*turns.mT)  # (16, 16)


for shift in (1, 5, 100):
    error = (S[:-shift] @ rotation(shift) - S[shift:]).abs().max().item()
    print(f"moved by {shift:3}: largest error {error:.0e}")
    assert error < 1e-4

back = rotation(-7) @ rotation(7)  # (16, 16)
print("there and back is where it was:", torch.allclose(back, torch.eye(d), atol=1e-6))

# %%

fig, axes = plt.subplots(2, figsize=(5, 7.4))
circle = torch.linspace(0, 2 * torch.pi, 200)  # (200,)
for ax, hand, name in zip(axes, (0, 2), ("the fastest hand", "the third hand"), strict=True):
    pair = S[:6, 2 * hand : 2 * hand + 2].flip(-1)  # (6, 2), the cosine to the right
    ax.plot(circle.cos(), circle.sin(), color="0.8", lw=1)
    ax.plot(*pair.T, "o", color=BLUE)
    for word, (right, up) in zip(words, pair.tolist(), strict=True):
        ax.plot([0, right], [0, up], color=BLUE, lw=1, alpha=0.5)
        ax.text(1.12 * right, 1.12 * up, word, ha="left" if right > 0 else "right", va="center")
    ax.set(title=name, xlabel="cosine", ylabel="sine", aspect="equal")
    ax.set(xlim=(-1.75, 1.75), ylim=(-1.2, 1.2))
fig.set_label(
    "Two circles with a radius drawn to each of the six words. For the fastest hand the words are "
    "spread over almost the whole circle, each one radian further than the last. For the third "
    "hand they lie close together, each a small equal turn further."
)

# %%
# What that is good for
# ---------------------
# A dot product of two positions depends on their *distance* alone. Rotate both by the same angle
# and nothing changes between them:
#
# .. math:: S_p \cdot S_{p+\Delta} = \sum_i \cos(\Delta\,\omega_i)

likeness = S @ S.T  # (256, 256)
for shift in (1, 5, 100):
    low, high = likeness.diagonal(shift).aminmax()
    print(f"distance {shift:3}: from {low:.4f} to {high:.4f}")
    assert high - low < 1e-3

distance = torch.arange(-40, 41)  # (81,)
fig, ax = plt.subplots()
for p, color, line in ((60, BLUE, "-"), (128, ORANGE, "--"), (200, GREEN, ":")):
    ax.plot(distance, likeness[p, p + distance], line, color=color, label=f"position {p}")
ax.set(xlabel="how far to the right the other position is", ylabel="dot product")
ax.legend(title="seen from")
fig.set_label(
    "Dot products of three positions with those up to 40 to the left and right. The curves lie "
    "on one another: 8 at the position itself, falling steeply to both sides, then wavering."
)

# %%
# And a query can ask for a *relative* position. Let the query matrix be the rotation by −1 and the
# key matrix do nothing. Then each word looks for the position before its own, whatever the words
# are. No training: we know the matrix. (The 20 makes the scores large enough for a clear choice.)

positions = S[:6]  # (6, 16)
query, key = 20 * positions @ rotation(-1), positions  # (6, 16), (6, 16)
_, weights = attention.scaled_dot_product_attention(query, key, positions)  # (6, 16), (6, 6)

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, weights, words)
ax.set_title("a query turned back by one position", fontsize=11)
fig.set_label(
    "Heatmap of weights, words on both axes. Each word from journey on looks mostly at the word "
    "before it. Your, which has none before it, looks mostly at itself."
)

# %%
# Training need not find this matrix. But one that works exists, for all positions at once and with
# no more numbers, so there is something to find.
#
# Added to the word
# -----------------
# The position is *added* to the word, number by number, and the sum goes into attention. Isn't that
# a muddle? Multiply out one score, with the word :math:`x`, its position :math:`S`, and
# :math:`M = W_\mathrm{query} W_\mathrm{key}^\top`:
#
# .. math::
#    (x_i + S_i)\, M\, (x_j + S_j)^\top = \underbrace{x_i M x_j^\top}_{\text{word, word}} +
#    \underbrace{x_i M S_j^\top}_{\text{word, position}} +
#    \underbrace{S_i M x_j^\top}_{\text{position, word}} +
#    \underbrace{S_i M S_j^\top}_{\text{position, position}}
#
# One score has four terms, and M weighs them. In 3 dimensions words and positions interfere with
# each other. In hundreds there is room for both, though how a trained model keeps them apart has to
# be measured in that model.

P = attention.SinusoidalPositions(3)(torch.zeros(6, 3))  # (6, 3)
with torch.no_grad():
    M = layer.W_query @ layer.W_key.T  # (3, 3)
    terms = torch.stack([x @ M @ x.T, x @ M @ P.T, P @ M @ x.T, P @ M @ P.T])  # (4, 6, 6)
    whole = (x + P) @ M @ (x + P).T  # (6, 6)
print("journey asks step:", terms[:, 1, 5], f"sum {terms[:, 1, 5].sum():.4f}")
print("score of the sums:", f"{whole[1, 5]:.4f}")
assert torch.allclose(terms.sum(dim=0), whole, atol=1e-5)

# %%
# Now the shuffled sentence is another one:

with torch.no_grad():
    placed, placed_shuffled = layer(x + P), layer(x[order] + P)  # (6, 2), (6, 2)
print("journey, as second word:", placed[1])
print("journey, as last word:  ", placed_shuffled[5])
assert not torch.allclose(placed_shuffled, placed[order], atol=1e-2)

# %%
# Counting from the end
# ---------------------
# A position need not be counted from the start. Reviews differ in length, and the verdict often
# comes last; in the :ref:`lab <source-lab>`, another review is even put *before* the one that
# counts. From the start, the last word stands now here, now there. From the end, it always stands
# at 0:

lengths = torch.tensor([6, 4])  # (2,)
from_end = attention.positions_from_end(lengths, 6)  # (2, 6)
for text, count, positions_back in zip((words, words[2:]), lengths, from_end, strict=True):
    print("  ".join(f"{w} {p}" for w, p in zip(text, positions_back[:count], strict=True)))

# %%
# "starts with one step" has the same positions alone and at the end of the sentence. So its vectors
# are the same too, where counting from the start gives it others:

tail = torch.nn.functional.pad(x[2:], (0, 0, 0, 2))  # (6, 3), two rows of padding
texts = torch.stack([x, tail])  # (2, 6, 3)
add = attention.SinusoidalPositions(3)
end, start = add(texts, from_end), add(texts)  # (2, 6, 3), (2, 6, 3)
print("from the end,   differ by", (end[0, 2:] - end[1, :4]).abs().max().item())
print("from the start, differ by", f"{(start[0, 2:] - start[1, :4]).abs().max():.2f}")
assert torch.equal(end[0, 2:], end[1, :4])

# %%
# All padding counts as position 0, which is no harm behind a padding mask. And a text that is being
# written has no end yet: counting from the end is for texts that are already there.
#
# Takeaways
# ---------
# * Attention without positions and without a mask reads a bag of words, however many layers there
#   are. Under a causal mask only the first layer does, and only for the last word, so a deeper
#   causal model can learn the order from its mask.
# * Sines and cosines at several speeds give each position a vector, bounded and different from
#   position to position. In which order the columns stand does not matter.
# * A shift is one rotation for all positions. So dot products depend on distance, and a fixed
#   query matrix can look "one back".
# * Added to the word, the position enters the score in three of four terms.
# * Count from the side where the texts agree.
#
# *Practise:* :doc:`/exercises/masks`.
#
# *Where next:* :math:`W_\mathrm{query} W_\mathrm{key}^\top` has come up as one matrix M. What can
# it hold? :doc:`/gallery/deeper/plot_1_low_rank_qk` finds out. What a transformer adds to attention
# and positions is in :doc:`/gallery/core/plot_7_transformer_block`.

plt.show()

"""
.. lesson:: Rotary embeddings
   :minutes: 45
   :extra: plot
   :needs: core/plot_6 deeper/plot_2
   :tasks: bug-rotary
   :search: RoPE; rotary positional embedding

Rotary positional embeddings (RoPE): positions as rotations
===========================================================

How can a score depend on the distance between two words, if nothing is added to their embeddings?

By rotating each query and each key through an angle that grows with its position. A dot product
does not change if both of its vectors are rotated by the same angle, so only the difference of the
two positions remains in the score. This has a price. The query matrix and the key matrix no longer
merge into one product, and programs have to agree on which two numbers form a pair. Distances
longer than those of training are new to the model.

You need the sinusoids of :doc:`the lesson on positions </gallery/core/plot_6_positions>` and the
change of coordinates of :doc:`the lesson on gauge freedom
</gallery/deeper/plot_2_gauge_and_biases>`. Running the page takes about fifteen seconds. Afterwards
you can write RoPE in eight lines, move weights from one layout to the other, say which redundant
parameters remain redundant under RoPE, and extend a trained model to longer texts while knowing
what to measure.
"""

import copy
import functools

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import attention
from attention.plotting import BLUE, GREEN, ORANGE, PURPLE, draw_weights, use_style

use_style()
QUICK = False  # True: one seed, for a first try

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

torch.manual_seed(123)
first_layer = attention.SelfAttentionV1(3, 2)  # the matrices of the first lesson
query = (x @ first_layer.W_query).detach().double()  # (6, 2)
key = (x @ first_layer.W_key).detach().double()  # (6, 2)
torch.set_default_dtype(torch.float64)


def error(got, expected):
    """Return the size of the difference, relative to the size of what was expected."""
    return ((got - expected).norm() / expected.norm()).item()


# %%
# From sinusoids to rotations
# ---------------------------
# The :term:`sinusoidal positions` have a pair of numbers, a sine and a cosine, for each *frequency*
# :math:`\omega`. This page calls :math:`\omega` a *speed*, because the pair turns by the angle
# :math:`\omega` per position, so a shift by :math:`\Delta` positions rotates it by the angle
# :math:`\Delta\omega`. If the cosine is written first, the pair of position 0 is (1, 0), and the
# pair of position p is therefore (1, 0), rotated by :math:`p\,\omega`:
#
# .. math::
#    (\cos p\,\omega,\ \sin p\,\omega) = (1, 0)
#    \begin{pmatrix} \cos p\,\omega & \sin p\,\omega \\
#    -\sin p\,\omega & \cos p\,\omega \end{pmatrix}
#
# Sinusoids are thus a fixed vector that is rotated and then added to the :term:`embedding`, so that
# the layers have to disentangle the two. :term:`RoPE` (rotary position embedding,
# :cite:t:`su2024roformer`) has no fixed vector and adds nothing: it rotates the :term:`query` and
# the :term:`key` themselves. The queries of our first lesson have width 2, so each of them is a
# single pair. This pair turns by 1 radian per position, so the query of "starts", at position 2,
# turns by 2 radians:

angle = torch.tensor(2.0)
first, second = query[2]
by_hand = torch.stack(
    [
        first * angle.cos() - second * angle.sin(),
        first * angle.sin() + second * angle.cos(),
    ]
)  # (2,)
print(f"cos 2 = {angle.cos():.4f}, sin 2 = {angle.sin():.4f}")
print(f"query of starts: ({first:.4f}, {second:.4f}), of length {query[2].norm():.4f}")
print(f"rotated:         ({by_hand[0]:.4f}, {by_hand[1]:.4f}), of length {by_hand.norm():.4f}")

# %%
# A wider query is cut into pairs, and each pair has its own speed, as in the sinusoids. For queries
# of width k the speeds are 1, :math:`\mathrm{base}^{-2/k}`, :math:`\mathrm{base}^{-4/k}` and so on;
# the base is 10,000 in the paper. All of RoPE is then eight lines:


def rotate(x, positions, base=10_000.0):
    """Rotate each pair of neighbouring numbers by an angle that grows with the row's position."""
    k = x.shape[-1]
    speed = base ** (-torch.arange(0, k, 2) / k)  # (k / 2,), one per pair
    angle = positions[..., None] * speed  # (..., n, k / 2)
    cos, sin = angle.cos(), angle.sin()
    first, second = x[..., 0::2], x[..., 1::2]  # (..., n, k / 2) each
    pairs = first * cos - second * sin, first * sin + second * cos
    return torch.stack(pairs, dim=-1).flatten(-2)  # (..., n, k)


positions = torch.arange(6)  # (6,)
rotated = rotate(query, positions)  # (6, 2)
assert torch.allclose(rotated[2], by_hand)

# %%

fig, axes = plt.subplots(1, 2, figsize=(5, 3), sharex=True, sharey=True)
for ax, vectors, title in zip(axes, (query, rotated), ("before", "rotated"), strict=True):
    for word, (right, up) in zip(words, vectors.tolist(), strict=True):
        ax.plot([0, right], [0, up], "-", color=BLUE, lw=1, alpha=0.5)
        ax.plot(right, up, "o", color=BLUE)
        if title == "rotated":
            stretch = 1 + (0.3 + 0.4 * abs(right)) / (right**2 + up**2) ** 0.5
            at = stretch * right, stretch * up
            ax.text(*at, word, ha="center", va="center", fontsize=9, parse_math=False)
    ax.set(title=title, xlabel="first number", aspect="equal")
    ax.set(xlim=(-3, 3), ylim=(-2.2, 2.2))
axes[0].set_ylabel("second number")
fig.set_label(
    "Two planes with the six queries as lines from the origin. Before the rotation all six point "
    "to the upper right, close together. After it each keeps its length, and each word has turned "
    "by one radian more than the last, so that the six are spread over almost the whole circle."
)

# %%
# *Figure 1.* The six queries of width 2, as the query matrix makes them and after the rotation.
# Lengths are kept, and every word turns by one radian more than the word before it.
#
# We check ``rotate`` in three ways. It does the same as the package's
# :func:`~attention.apply_rotary` with ``interleaved=True``, an option that a section below
# explains. It is also a multiplication of complex numbers. If each pair is taken as one complex
# number, rotating it by an angle means multiplying it by the complex number of length 1 that has
# this angle. Finally, if every pair of the input is (1, 0), ``rotate`` returns the sinusoids:


def times(x, factors):
    """Multiply each pair of neighbouring numbers, as one complex number, by a complex factor."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # (..., n, k / 2)
    return torch.view_as_real(pairs * factors).flatten(-2)  # (..., n, k)


n, k = 64, 8
some = torch.randn(n, k)  # (64, 8)
at = torch.arange(n)  # (64,)
speed = 10_000.0 ** (-torch.arange(0, k, 2) / k)  # (4,)
angles = at[:, None] * speed  # (64, 4)
unit = torch.polar(torch.ones_like(angles), angles)  # (64, 4)
ones = torch.tensor([1.0, 0.0]).repeat(n, k // 2)  # (64, 8)
sinusoids = attention.SinusoidalPositions(k, max_length=n)(torch.zeros(n, k))  # (64, 8)
sine, cosine = sinusoids[:, 0::2], sinusoids[:, 1::2]  # (64, 4), (64, 4)
cosine_first = torch.stack([cosine, sine], dim=-1).flatten(-2)  # (64, 8)
same_as = {
    "apply_rotary": attention.apply_rotary(some, interleaved=True),
    "complex multiplication": times(some, unit),
}
for name, expected in same_as.items():
    print(f"rotate and {name:22} relative difference {error(rotate(some, at), expected):.0e}")
    assert error(rotate(some, at), expected) < 1e-12
print("(1, 0), rotated, is a sinusoid:", torch.allclose(rotate(ones, at), cosine_first, atol=1e-5))

# %%
# Only the distance counts
# ------------------------
# Write :math:`\Theta_p` for the matrix that rotates all pairs of a row by their angles at position
# p. Two rotations in turn are one rotation by the sum of their angles, and the transpose of a
# rotation rotates back by the same angle. So the score of the query of word i and the key of word j
# is
#
# .. math::
#    (x_i W_\mathrm{query} \Theta_i)(x_j W_\mathrm{key} \Theta_j)^\top
#    = x_i W_\mathrm{query}\, \Theta_i \Theta_j^\top\, W_\mathrm{key}^\top x_j^\top
#    = x_i W_\mathrm{query}\, \Theta_{i-j}\, W_\mathrm{key}^\top x_j^\top .
#
# The score depends on the two words and on their distance i − j, but not on where the two are.
# Therefore the scores stay the same if all positions are shifted, and they change if the distances
# do:


def scores_at(query_positions, key_positions):
    """Return the scores of the sentence with these positions."""
    return rotate(query, query_positions) @ rotate(key, key_positions).T  # (6, 6)


scores = scores_at(positions, positions)  # (6, 6)
moved = {
    "all words, by 1": scores_at(positions + 1, positions + 1),
    "all words, by 1,000": scores_at(positions + 1000, positions + 1000),
    "the keys alone, by 1": scores_at(positions, positions + 1),
    "every distance, doubled": scores_at(2 * positions, 2 * positions),
}
for change, others in moved.items():
    print(f"{change:24} the scores change by {error(others, scores):.0e}")
print(f"journey for itself: {query[1] @ key[1]:.4f} without rotation, {scores[1, 1]:.4f} with it")

# %%
# A word is at distance 0 from itself, so RoPE leaves its score for itself unchanged. Values are not
# rotated, so the positions affect the weights, but not the vectors that the weights mix.
#
# To see the effect of the distance alone, put the same word in all six positions. Without rotation
# all scores are equal, and with rotation they are equal along each diagonal, where the distance is
# the same:

torch.manual_seed(0)
same_query, same_key = torch.randn(2, 1, k).expand(2, 6, k)  # (6, 8), (6, 8)
same = rotate(same_query, positions) @ rotate(same_key, positions).T  # (6, 6)
fig, ax = plt.subplots(figsize=(5, 4.4))
draw_weights(ax, (same / k**0.5).softmax(dim=-1), [f"{p}" for p in range(6)])
fig.set_label(
    "Heatmap of attention weights for one word repeated at positions 0 to 5. The pattern of each "
    "row is that of the row above it moved to the right by one, apart from a factor per row."
)

# %%
# *Figure 2.* Attention weights with RoPE between six copies of one word, at positions 0 to 5, for a
# random query and key of width 8. Along a diagonal, scores are equal, and weights are equal up to a
# factor per row, because the softmax divides each row by a sum of its own.
#
# RoPE interleaved, or in halves?
# -------------------------------
# Which two numbers form a pair? In the paper, and in the first code of LLaMA, they are neighbours:
# (0, 1), (2, 3) and so on, a layout that is called *interleaved*. In GPT-NeoX, and in the LLaMA of
# Hugging Face's library, number 0 is paired with number k/2, 1 with k/2 + 1, and so on; this layout
# is *in halves*. The package has both layouts, and halves are its default.

# sphinx_gallery_start_ignore


def draw_layouts():
    """Draw eight numbers twice, in the colours of their pairs."""
    fig, ax = plt.subplots(figsize=(5, 2.4))
    colours = (BLUE, ORANGE, GREEN, PURPLE)
    for y, pair_of, title in (
        (1.9, lambda i: i // 2, "interleaved"),
        (0, lambda i: i % 4, "in halves"),
    ):
        ax.text(-0.4, y + 1.1, title, fontsize=11)
        for i in range(8):
            colour = colours[pair_of(i)]
            ax.add_patch(plt.Rectangle((i - 0.4, y), 0.8, 0.8, fc="white", ec=colour, lw=2.5))
            ax.text(i, y + 0.53, f"{i}", ha="center", va="center", fontsize=11)
            ax.text(i, y + 0.2, f"pair {pair_of(i)}", ha="center", va="center", fontsize=8)
    ax.set(xlim=(-0.6, 7.6), ylim=(-0.2, 3.4))
    ax.set_axis_off()
    return fig


# sphinx_gallery_end_ignore
fig = draw_layouts()  # its drawing commands are in the script of this page
fig.set_label(
    "Two rows of eight boxes numbered 0 to 7, coloured by pair. Interleaved: 0 and 1 are pair 0, 2 "
    "and 3 are pair 1, 4 and 5 pair 2, 6 and 7 pair 3. In halves: 0 and 4 are pair 0, 1 and 5 pair "
    "1, 2 and 6 pair 2, 3 and 7 pair 3."
)

# %%
# *Figure 3.* The two layouts for k = 8; pair 0 is the fastest in both.
#
# Neither layout is better, because a permutation leads from one to the other. If queries and keys
# are permuted alike, no dot product changes, so trained weights can be converted. To go from
# neighbours to halves, we put the rows of ``W_query.weight`` and of ``W_key.weight`` into the order
# 0, 2, 4, 6, 1, 3, 5, 7, separately for each head. (Torch stores one row per query dimension.) The
# ``permute`` in `Hugging Face's conversion script
# <https://github.com/huggingface/transformers/blob/main/src/transformers/models/
# llama/convert_llama_weights_to_hf.py>`__ does this. Readers who missed this conversion have asked
# why the first code of LLaMA and Hugging Face's library rotate differently (`#25199
# <https://github.com/huggingface/transformers/issues/25199>`__, `#31859
# <https://github.com/huggingface/transformers/issues/31859>`__).

d = 16
tokens = torch.randn(n, d)  # (64, 16)
W_query, W_key = torch.randn(2, k, d) / d**0.5  # (8, 16), (8, 16), rows as torch stores them
order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # (8,)


def rotated_scores(W_query, W_key, **how):
    """Return the scores of all tokens, with queries and keys rotated by their positions."""
    query, key = tokens @ W_query.T, tokens @ W_key.T  # (64, 8), (64, 8)
    return attention.apply_rotary(query, **how) @ attention.apply_rotary(key, **how).T


paired = rotated_scores(W_query, W_key, interleaved=True)  # (64, 64)
converted = rotated_scores(W_query[order], W_key[order])  # (64, 64)
mixed = rotated_scores(W_query, W_key)  # (64, 64)
by_permute = W_query.view(1, k // 2, 2, d).transpose(1, 2).reshape(k, d)  # (8, 16)
print("permute gives the same rows:   ", torch.equal(by_permute, W_query[order]))
print(f"in halves, rows permuted:       scores differ by {error(converted, paired):.0e}")
print(f"in halves, rows as they were:   scores differ by {error(mixed, paired):.0e}")
assert error(converted, paired) < 1e-12 < 0.1 < error(mixed, paired)

# %%
# In the last printed line, weights of one layout meet the rotation of the other, and no error is
# raised, because shapes and dtypes agree. We try three checks that one might make.
#
# .. predict:: checks-of-a-mix
#
#    Which of these checks notices that weights of one layout meet the rotation of the other?
#
#    The lengths of the rotated queries : ``checked["lengths of the rotated queries"] > 1e-9``
#        A rotation keeps lengths in either layout.
#    The scores after a common shift : ``checked["scores after a common shift"] > 1e-9``
#        The mix depends on distances alone, too.
#    None of the three : ``max(checked.values()) < 1e-9``
#        The mix is RoPE as well, though not the RoPE of the training.

start = torch.arange(100, 100 + n)  # (64,)
mixed_shifted = rotated_scores(W_query, W_key, positions=start)  # (64, 64)
q = tokens @ W_query.T  # (64, 8)
lengths = attention.apply_rotary(q).norm(dim=-1)  # (64,)
checked = {
    "lengths of the rotated queries": error(lengths, q.norm(dim=-1)),
    "scores of words for themselves": error(mixed.diagonal(), paired.diagonal()),
    "scores after a common shift": error(mixed_shifted, mixed),
}
for check, difference in checked.items():
    print(f"{check} differ by {difference:.0e}")

# %%
# The mixed-up version passes all three checks: it keeps lengths, agrees with the original at
# distance 0, and does not notice a common shift. The reason is that it is RoPE as well, though not
# the RoPE with which the weights were trained. The bug is found by comparing the scores, or the
# logits, with those of the original program. A section below measures how much accuracy the bug
# costs a trained model.
#
# The gauge that survives
# -----------------------
# Without rotation, any invertible k × k matrix R may be put between queries and keys: if we replace
# :math:`W_\mathrm{query}` by :math:`W_\mathrm{query} R` and :math:`W_\mathrm{key}` by
# :math:`W_\mathrm{key} R^{-\top}`, no score changes. This is the :term:`gauge` freedom. With
# rotation, the same replacement turns the score into
#
# .. math::
#    x_i W_\mathrm{query}\, R\, \Theta_{i-j}\, R^{-1}\, W_\mathrm{key}^\top x_j^\top .
#
# Suppose that both matrices have rank k and that the tokens span all d dimensions. Then the new
# score equals the score without R for all tokens if and only if :math:`R\, \Theta_\Delta =
# \Theta_\Delta R` for each distance :math:`\Delta` that occurs. It is enough to require this for
# distance 1, since the rotations by all other distances are powers of :math:`\Theta_1`.
#
# So R has to solve the equation :math:`R\, \Theta_1 - \Theta_1 R = 0`. This is a linear system with
# k² unknowns, the entries of R, and the dimension of its solutions is k² minus its rank. To write
# the system as one matrix, the rows of R are concatenated into one long vector. Multiplying R by
# :math:`\Theta_1`, from the left or from the right, then means multiplying this vector by one
# matrix, a Kronecker product with the identity:


def rotation(distance, base=10_000.0):
    """Return the matrix that rotates a row of width k by a distance."""
    return rotate(torch.eye(k), torch.full((k,), float(distance)), base)  # (k, k)


def commuting(Theta):
    """Return a basis of all matrices that commute with Theta."""
    identity = torch.eye(k)  # (k, k)
    system = torch.kron(identity, Theta.T.contiguous()) - torch.kron(Theta, identity)
    rank = torch.linalg.matrix_rank(system)
    return torch.linalg.svd(system).Vh[rank:].unflatten(-1, (k, k))


between = {
    "no rotation": torch.eye(k),
    "RoPE": rotation(1),
    "RoPE with one speed for all": rotation(1, base=1.0),
}
free = {name: len(commuting(Theta)) for name, Theta in between.items()}
for name, dimension in free.items():
    print(f"{name:28} {dimension:2} free dimensions of {k * k}")

# %%
# Of k² dimensions, RoPE leaves k. If the speeds differ, R can't mix one pair with another, and
# within a pair only a rotation times a scale commutes with rotations. Angle and scale are two
# numbers per pair, or one complex number. If all pairs had the same speed, R could mix them as
# well, and half of the k² dimensions would be left.

order_of = {"interleaved": torch.arange(k), "in halves": order}
fig, axes = plt.subplots(1, 2, figsize=(5, 2.8))
for ax, (layout, rows) in zip(axes, order_of.items(), strict=True):
    basis = commuting(rotation(1)[rows][:, rows])  # (8, 8, 8)
    ax.imshow((basis.square().sum(dim=0) > 1e-9).numpy(), vmin=0, vmax=1.6)
    ax.set_title(layout, fontsize=11)
    ax.set(xlabel="query dimension")
axes[0].set_ylabel("query dimension")
fig.set_label(
    "Two 8 by 8 grids, whose filled cells show where a surviving R may be other than zero. "
    "Interleaved: four 2 by 2 blocks along the diagonal. In halves: the main diagonal and two more "
    "diagonals, four cells to either side of it."
)

# %%
# *Figure 4.* Where a surviving R may have entries other than zero, from the solutions of the linear
# system. Each pair fills four cells, but it has only two free numbers. The layouts differ by the
# permutation alone.
#
# One R that survives and some that don't, in the layout of neighbours:

torch.manual_seed(1)
columns = W_query.T, W_key.T  # of shape (d, k) each, as in the equations
per_pair = torch.complex(*torch.randn(2, k // 2))  # (4,)
gauges = {
    "any invertible matrix": torch.randn(k, k),
    "a rotation of all dimensions": torch.linalg.qr(torch.randn(k, k)).Q,
    "a scale per dimension": torch.diag(torch.rand(k) + 0.5),
    "two pairs swapped": torch.eye(k)[[2, 3, 0, 1, 4, 5, 6, 7]],
    "a complex number per pair": times(torch.eye(k), per_pair),
}


def scores_of(W_query, W_key, rotated):
    """Return the scores of all tokens, with RoPE or without."""
    query, key = tokens @ W_query, tokens @ W_key  # (64, 8), (64, 8)
    return rotate(query, at) @ rotate(key, at).T if rotated else query @ key.T  # (64, 64)


changed = {
    (name, rotated): error(
        scores_of(columns[0] @ R, columns[1] @ torch.linalg.inv(R).T, rotated),
        scores_of(*columns, rotated),
    )
    for name, R in gauges.items()
    for rotated in (False, True)
}
print(f"{'change of the scores by R':30} {'plain':>8} {'RoPE':>8}")
for name in gauges:
    print(f"{name:30} {changed[name, False]:8.0e} {changed[name, True]:8.0e}")

# %%
# In a plain dot product, all five leave the scores unchanged, but with RoPE only the last one does.
# It is therefore meaningful to say which pairs a head with RoPE uses: no gauge moves what is in one
# pair into another.
#
# The key bias comes alive
# ------------------------
# With :term:`biases <bias>` b for the queries and c for the keys, a score with RoPE has four terms:
#
# .. math::
#    \underbrace{x_i W_\mathrm{query} \Theta_{i-j} W_\mathrm{key}^\top x_j^\top}_{1}
#    + \underbrace{b\, \Theta_{i-j} W_\mathrm{key}^\top x_j^\top}_{2}
#    + \underbrace{x_i W_\mathrm{query} \Theta_{i-j}\, c^\top}_{3}
#    + \underbrace{b\, \Theta_{i-j}\, c^\top}_{4}
#
# Without rotation, :math:`\Theta` is the identity, and terms 3 and 4 don't contain j, so the
# softmax over the keys takes no notice of them. The query bias b therefore acts through term 2
# alone, whereas the key bias c is dead. With rotation, every term depends on j:

b, c = torch.randn(2, k)  # (8,), (8,)
xQ, xK = tokens @ columns[0], tokens @ columns[1]  # (64, 8), (64, 8)
parts = {
    "1  words": (xQ, xK),
    "2  query bias, words": (b.expand(n, k), xK),
    "3  words, key bias": (xQ, c.expand(n, k)),
    "4  query bias, key bias": (b.expand(n, k), c.expand(n, k)),
}
without = {}
for with_rotation in (False, True):
    turn = functools.partial(rotate, positions=at) if with_rotation else torch.clone
    terms = {name: turn(left) @ turn(right).T / k**0.5 for name, (left, right) in parts.items()}
    whole = sum(terms.values()).softmax(dim=-1)  # (64, 64)
    for left_out in parts:
        kept = sum(term for name, term in terms.items() if name != left_out)  # (64, 64)
        without[left_out, with_rotation] = error(kept.softmax(dim=-1), whole)
print(f"{'the weights change without':28} {'plain':>8} {'RoPE':>8}")
for name in parts:
    print(f"{name:28} {without[name, False]:8.0e} {without[name, True]:8.0e}")

# %%
# The key bias acts on the output through the weights alone, so where it does not affect the
# weights, its :term:`gradient` is zero. In a layer of the package, this gradient is zero up to
# rounding without rotation, and of ordinary size with rotation:

gradients = {}
for rotary in (False, True):
    torch.manual_seed(0)
    layer = attention.MultiHeadAttention(d, 1, head_dim=k, rotary=rotary, bias=True)
    layer(tokens).square().mean().backward()
    for name in ("W_query", "W_key"):
        gradients[name, rotary] = getattr(layer, name).bias.grad.norm().item()
        kind = "RoPE" if rotary else "plain"
        print(f"{kind:5} gradient of the bias of {name:7} {gradients[name, rotary]:.0e}")

# %%
# Term 4 contains no word at all. It is a :term:`relative position <relative positional encoding>`
# bias, a number per distance that is added to every score, whatever the words are. `Su (2023)
# <https://kexue.fm/archives/9577>`__ suggests biases of queries and keys for reading longer texts.
# A layer with RoPE but without these biases lacks terms 2 to 4, unless the embeddings have a
# constant part, which acts in the same way.
#
# No single product for all positions
# -----------------------------------
# Can :math:`W_\mathrm{query}` and :math:`W_\mathrm{key}` still be multiplied into one matrix, as
# the page about :doc:`low rank </gallery/deeper/plot_1_low_rank_qk>` does with :math:`M =
# W_\mathrm{query} W_\mathrm{key}^\top`? Only for one distance at a time, because the rotation by
# the distance comes between the two matrices:
#
# .. math:: M_\Delta = W_\mathrm{query}\, \Theta_\Delta\, W_\mathrm{key}^\top .

distances = torch.arange(1 - n, n)  # (127,)
M = torch.stack([columns[0] @ rotation(shift) @ W_key for shift in distances])  # (127, 16, 16)
with_rope = scores_of(*columns, rotated=True)  # (64, 64)
per_distance = M[at[:, None] - at + n - 1]  # (64, 64, 16, 16)
by_products = torch.einsum("id,ijde,je->ij", tokens, per_distance, tokens)  # (64, 64)
by_one = tokens @ M[n - 1] @ tokens.T  # (64, 64)
independent = torch.linalg.matrix_rank(M.flatten(1)).item()
print(f"one product per distance: scores differ by {error(by_products, with_rope):.0e}")
print(f"the product of distance 0 for all: they differ by {error(by_one, with_rope):.0e}")
print(f"{len(M)} products, of which {independent} are linearly independent")
assert error(by_products, with_rope) < 1e-12

# %%
# Each product has rank k at most, as without rotation. There are as many products as distances, but
# all of them are linear combinations of the same k matrices. Each pair contributes two of these:
# one is multiplied by :math:`\cos \Delta\omega` and the other by :math:`\sin \Delta\omega`, where
# :math:`\omega` is the speed of the pair. So a model with RoPE can be read pair by pair, though not
# as one matrix.
#
# Past the length of training
# ---------------------------
# Sines, cosines and rotations exist for every position. Can a model use positions that training
# never reached? We measure this on one task: at each position of a random text, the model has to
# copy the token five places before. The model is one causal layer of attention of width 32, with
# biases. We train it on texts of 32 tokens, once with sinusoids added to the embeddings and once
# with RoPE.

torch.set_default_dtype(torch.float32)
TOKENS, LAG, TRAINED, SEEDS, STEPS = 16, 5, 32, range(1 if QUICK else 3), 300
d = 32


class Copier(nn.Module):
    """One causal layer of attention, whose positions are sinusoids or rotations."""

    def __init__(self, rotary):
        super().__init__()
        self.rotary = rotary
        self.embedding = nn.Embedding(TOKENS, d)
        self.sinusoids = attention.SinusoidalPositions(d, max_length=128)
        self.W_query, self.W_key, self.W_value = (nn.Linear(d, d) for _ in range(3))
        self.classifier = nn.Linear(d, TOKENS)

    def forward(self, ids, window=None, **how):
        """Return the logits of the token to copy, at every position."""
        n = ids.shape[-1]
        x = self.embedding(ids)  # (..., n, d)
        if not self.rotary:
            x = self.sinusoids(x)  # (..., n, d)
        mask = attention.causal_mask(n)  # (n, n)
        if window is not None:
            mask = mask & attention.window_mask(n, window)  # (n, n)
        query, key = self.query_and_key(x, **how)
        context = F.scaled_dot_product_attention(query, key, self.W_value(x), attn_mask=mask)
        return self.classifier(context)  # (..., n, TOKENS)

    def query_and_key(self, x, **how):
        """Return queries and keys, rotated if ``rotary``; ``how`` goes to ``apply_rotary``."""
        both = self.W_query(x), self.W_key(x)
        return [attention.apply_rotary(each, **how) for each in both] if self.rotary else both


def train(model, steps, generator, n=TRAINED, **how):
    """Let a model learn to copy, on new random texts of n tokens in each step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        ids = torch.randint(TOKENS, (1024 // n, n), generator=generator)
        logits = model(ids, **how)[:, LAG:]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, :-LAG].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


@torch.no_grad()
def accuracy(model, n, lag=LAG, **how):
    """Return, per position, in what share of texts the model names the token ``lag`` before."""
    ids = torch.randint(TOKENS, (200, n), generator=torch.Generator().manual_seed(1000))  # (200, n)
    named = model(ids, **how).argmax(dim=-1)  # (200, n)
    return (named[:, lag:] == ids[:, :-lag]).float().mean(dim=0)


models, generators = {}, {}
for kind, rotary in (("sinusoids", False), ("RoPE", True)):
    for seed in SEEDS:
        torch.manual_seed(seed)
        generators[kind, seed] = torch.Generator().manual_seed(seed)
        models[kind, seed] = train(Copier(rotary), STEPS, generators[kind, seed])

# %%
# In a causal model a token does not see what follows it, so one measurement with texts of 128
# tokens covers shorter texts, too. There are 16 different tokens, so the :term:`chance level` is 1
# in 16.


def summary(curves):
    """Write the mean of a row of accuracies per seed, with the lowest and the highest seed."""
    means = torch.stack([curve.mean() for curve in curves])  # (len(curves),)
    return f"{means.mean():4.0%} ({means.min():.0%} to {means.max():.0%})"


curves = {
    kind: torch.stack([accuracy(models[kind, seed], 128) for seed in SEEDS])
    for kind in ("sinusoids", "RoPE")
}
print(f"{'accuracy on texts of':22}" + "".join(f"{f'{n} tokens':>20}" for n in (32, 64, 128)))
for kind, curve in curves.items():
    print(f"{kind:22}" + "".join(f"{summary(curve[:, : n - LAG]):>20}" for n in (32, 64, 128)))

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
for (kind, curve), colour, line in zip(curves.items(), (ORANGE, BLUE), ("--", "-"), strict=True):
    places = range(LAG, 128)
    ax.plot(places, 100 * curve.mean(dim=0), line, color=colour, label=kind)
    low, high = 100 * curve.amin(dim=0), 100 * curve.amax(dim=0)  # (123,), (123,)
    ax.fill_between(places, low, high, color=colour, alpha=0.2, lw=0)
ax.axvline(TRAINED, color="0.4", lw=1)
ax.text(TRAINED - 1, 3, "trained", fontsize=10, ha="right")
ax.set(xlabel="position of the token", ylabel="accuracy (%)", ylim=(0, 103))
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
fig.set_label(
    "Accuracy against the position of the token, from 5 to 127, as means and bands over three "
    "seeds. Both are at 100 % up to the trained length of 32. Beyond it sinusoids drop steeply "
    "and then go up and down with a wide band. RoPE stays at 100 % for some more positions and "
    "goes down in a few steps, with level stretches between them."
)

# %%
# *Figure 5.* Accuracy at each position, as the mean over three seeds; bands reach from the lowest
# to the highest seed, and the grey line is at the trained length.
#
# Both models are nearly perfect within the trained length. Beyond it, sinusoids fail at once and
# erratically, because every position is new. With RoPE, accuracy goes down in steps, and this must
# have another cause, since scores with RoPE contain only distances and no positions. The token at
# position 100 meets keys at distances up to 100, but in training no distance was longer than 31.
# Let us see which distances the last token of long texts attends to:


@torch.no_grad()
def weight_by_distance(model, n=128):
    """Return the weights of the last token by distance, as the mean over random texts."""
    ids = torch.randint(TOKENS, (200, n), generator=torch.Generator().manual_seed(1000))  # (200, n)
    query, key = model.query_and_key(model.embedding(ids))  # (200, n, d), (200, n, d)
    weights = (query[:, -1:] @ key.mT / d**0.5).softmax(dim=-1)  # (200, 1, n)
    return weights.mean(dim=(0, 1)).flip(0)  # (n,)


by_distance = [weight_by_distance(models["RoPE", seed]) for seed in SEEDS]
for seed, shares in zip(SEEDS, by_distance, strict=True):
    top = [f"{shares[i]:.0%} at {i}" for i in shares.argsort(descending=True)[:6].tolist()]
    print(f"seed {seed}: " + ", ".join(top))

# %%
# A good part of the weight is on distances other than 5, and these distances are nearly the same
# for all seeds. Most of them follow from the speeds alone. The pairs turn like the hands of a
# clock, and the fast ones come round again, so at some distances the three fastest pairs are
# rotated almost as they are at distance 5. Within the trained length, this is the case only at the
# neighbouring distances 4 and 6, so training had no reason to guard against any other.
#
# To find these distances, we compare each distance with distance 5. In each of the three fastest
# pairs, we take the cosine of the angle between the rotations by the two distances, and we list the
# distances for which the mean of the three cosines is above 0.7:

distance = torch.arange(128)  # (128,)
fastest = 10_000.0 ** (-torch.arange(0, 6, 2) / d)  # (3,)
likeness = ((distance - LAG)[:, None] * fastest).cos().mean(dim=-1)  # (128,)
alike = distance[likeness > 0.7].tolist()
print("distances that look like 5 to the three fastest pairs:", alike)

# %%
# This explains the steps of Figure 5: accuracy drops where such a distance comes into reach. If the
# explanation is right, a :term:`sliding window <sliding-window attention>` of 32 keys should repair
# RoPE, because it hides all distances that training has not shown. It can't repair sinusoids
# completely, because their positions remain new:

windowed = {
    kind: [accuracy(models[kind, seed], 128, window=TRAINED) for seed in SEEDS] for kind in curves
}
for kind, each in windowed.items():
    print(f"{kind:10} 128 tokens, each query sees the last {TRAINED}: {summary(each)}")

# %%
# The window does repair RoPE, and it helps sinusoids only in part. So RoPE alone does not enable a
# model to read longer texts: in this task the model fails because of scores at distances on which
# it was never trained.
#
# The trained models also show what it costs to mix up the two layouts, here on texts of the trained
# length:

rope = [models["RoPE", seed] for seed in SEEDS]
mixed_up = [accuracy(model, TRAINED, interleaved=True) for model in rope]
print(f"trained in halves, rotated as neighbours: {summary(mixed_up)}")

# %%
# Interpolating the positions
# ---------------------------
# What do people do when a trained model has to read longer texts? :cite:t:`chen2023extending`
# divide all positions by one factor, so that the text fits into the trained range. This is called
# :term:`position interpolation`. Our texts of 128 tokens then have the positions 0, ¼, ½ and so on.
# No distance is longer than those of training, although fractions of a position are new.
#
# Another way is to raise the base, which is called :term:`NTK-aware scaling`
# (:cite:t:`peng2024yarn`, section 3.1). Take the ratio of the new length to the trained length,
# raise it to the power k/(k − 2), and multiply the base by the result. This slows the slowest pair
# by the ratio and leaves the fastest as it was. We apply both ways to the trained models:


def interpolated(n):
    """Shrink the positions of n tokens to the trained length."""
    return {"positions": torch.arange(n) * TRAINED / n}


def ntk_aware(n):
    """Raise the base for n tokens."""
    return {"base": 10_000.0 * (n / TRAINED) ** (d / (d - 2))}


ways = {"as they are": lambda n: {}, "interpolated": interpolated, "NTK-aware base": ntk_aware}
extended = {
    (name, n): [accuracy(model, n, **way(n)) for model in rope]
    for name, way in ways.items()
    for n in (64, 128)
}
print(f"{'accuracy on texts of':22}" + "".join(f"{f'{n} tokens':>20}" for n in (64, 128)))
for name in ways:
    print(f"{name:22}" + "".join(f"{summary(extended[name, n]):>20}" for n in (64, 128)))

# %%
# Interpolation brings the accuracy on this task down to chance level. The reason is that it shrinks
# short distances as well. The models have learned the rotation for a distance of five tokens. When
# positions are half as far apart, this rotation belongs to a distance of ten tokens, and when they
# are a quarter as far apart, to a distance of twenty. So the models now copy the token ten or
# twenty places back, though less reliably at the longer distance:

back = {n: LAG * n // TRAINED for n in (64, 128)}
elsewhere = {
    n: [accuracy(model, n, lag=back[n], **interpolated(n)) for model in rope] for n in back
}
for n, each in elsewhere.items():
    print(f"interpolated, {n:3} tokens: the token {back[n]:2} places back is named {summary(each)}")

# %%
# The NTK-aware base keeps the fast pairs, and with them the short distances. At twice the trained
# length it therefore does no harm in this task. At four times the trained length the models lose
# accuracy with it, much as they do without it.
#
# :cite:t:`chen2023extending` train their interpolated models further, for up to 1,000 steps. We
# fine-tune our models on texts of 128 tokens, with interpolation and, for comparison, without it:

tuned = {}
for name, way, steps in (
    ("as they are", ways["as they are"], (0, 20)),
    ("interpolated", interpolated, (0, 20, 230)),
):
    reached = {seed: copy.deepcopy(models["RoPE", seed]) for seed in SEEDS}
    generator, done = torch.Generator().manual_seed(0), 0
    for more in steps:
        for model in reached.values():
            train(model, more, generator, n=128, **way(128))
        done += more
        tuned[name, done] = [accuracy(model, 128, **way(128)) for model in reached.values()]
        print(f"{name:12} after {done:3} further steps: {summary(tuned[name, done])}")

# %%
# With interpolation the model has to learn its short distance anew; without interpolation it only
# has to learn to ignore the long distances, which takes far fewer steps. This says nothing against
# interpolation in language models. Our task needs one exact short distance and nothing else,
# whereas :cite:t:`chen2023extending` measure LLaMA in language modelling, in retrieval of a passkey
# and in writing summaries. They report good results from interpolation with fine-tuning. What the
# small model does show is that an extension of the context has to be measured on the task at hand,
# on short distances as well as on long ones.
#
# Takeaways
# ---------
# - How can a score depend on the distance between two words without anything added to their
#   embeddings? Queries and keys are rotated by their positions, and a dot product keeps only the
#   difference of two rotations.
# - RoPE in neighbours and RoPE in halves differ by a permutation of the rows of ``W_query`` and
#   ``W_key``. If weights of one layout meet the rotation of the other, the model fails without an
#   error, and no test of lengths, of shapes or of shifts finds the mistake.
# - Of the k² dimensions of the gauge, RoPE leaves k, one complex number per pair, as long as the
#   speeds differ.
# - The key bias, which is dead in a plain dot product, changes the weights with RoPE, and each of
#   the four terms of a score matters.
# - There is one product :math:`M_\Delta` per distance, and all these products together span k
#   dimensions.
# - A model with RoPE that was trained to copy the token five places before fails step by step on
#   longer texts, because of distances that it never met in training. A window of the trained length
#   repairs this; interpolation without further training makes the model copy from the wrong
#   distance.
#
# *From memory:* close this page and write the rotation of queries and keys in both layouts. Then
# check that a common shift of all positions changes no score, and that one layout's weights fail
# with the other's rotation.
#
# *Where next:* :doc:`the lesson on what heads can share
# </gallery/deeper/plot_9b_grouped_and_latent>`, which also shows why a rotated key has to be kept
# apart from a latent.
#
# You can now write rotary positions, convert weights between the two layouts, and say what happens
# beyond the trained length. The exercise to do next is to find the bug in :ref:`two layouts of
# rotary positions <ex-bug-rotary>`.

plt.show()

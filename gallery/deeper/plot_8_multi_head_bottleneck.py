r"""
.. lesson:: Multi-head bottleneck
   :minutes: 30
   :extra: plot
   :needs: core/plot_5 deeper/plot_1

The multi-head bottleneck: how many heads, and how wide?
========================================================

How many heads does a layer need, and how wide must each of them be?

The usual rule divides the embedding dimension among the heads, so more heads are narrower heads. On
a task that needs scores of a high rank, the answer is a different one. There should be as many
heads as there are comparisons to make at once, and each head should be as wide as one comparison
needs, because many narrow heads do not add up to a wide one. We prove this for a small task,
measure it on a grid, and say where it stops holding.

The bottleneck was named by :cite:t:`bhojanapalli2020low`, and :cite:t:`amsel2025quality` proved for
one task that more heads can't make up for heads that are too narrow. You need the lessons on
:doc:`low rank </gallery/deeper/plot_1_low_rank_qk>` and on :doc:`several heads
</gallery/core/plot_5_multi_head>`. Running the page takes about fifteen seconds. Afterwards you can
tell how wide a head has to be for a given comparison, and which claims about "too narrow" heads
need a condition.
"""

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch.nn.functional import normalize

import attention
from attention import MultiHeadAttention
from attention.plotting import BLACK, BLUE, GREEN, KEY, ORANGE, QUERY, draw_matrices, use_style

torch.manual_seed(0)
use_style()
QUICK = False  # True: fewer reviews and steps, for a first try

# %%
# The same parameters, in one head or in two
# ------------------------------------------
# Under the usual rule, h heads have the width k = d / h each, where d is the :term:`embedding`
# dimension, so the product hk is always d. The rule does not say which comparisons a layer can
# make.

# sphinx_gallery_start_ignore


def draw_heads():
    """Draw the query and key matrices of one wide head, and of two narrow ones."""
    fig, ax = plt.subplots(figsize=(5, 3.6))
    wide = ("W_query", "(16, 16)", 3, 3, QUERY), ("W_keyᵀ", "(16, 16)", 3, 3, KEY)
    narrow = ("W_query", "(16, 8)", 3, 1.5, QUERY), ("W_keyᵀ", "(8, 16)", 1.5, 3, KEY)
    ends = draw_matrices(ax, -4.8, (narrow[0], "·", narrow[1], " ", narrow[0], "·", narrow[1]))
    draw_matrices(ax, 0, (wide[0], "·", wide[1]))
    ax.text(7.2, 0, "one head, one softmax,\nscores of rank ≤ 16", va="center", fontsize=10)
    for (left, _), (_, right), name in ((*ends[:2], "head 1"), (*ends[2:], "head 2")):
        text = f"{name}: rank ≤ 8"
        ax.text((left + right) / 2, -6.6, text, ha="center", va="top", fontsize=10)
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-7.3, 2.2))
    return fig


# sphinx_gallery_end_ignore
fig = draw_heads()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles to scale. Above, one head: a square W_query, (16, 16), times the transpose of "
    "W_key, (16, 16), with one softmax and scores of rank at most 16. Below, two heads: each has "
    "W_query, (16, 8), times the transpose of W_key, (8, 16), and scores of rank at most 8."
)

# %%
# *Figure 1.* Query and key matrices of one head of width 16, and of two heads of width 8, for d =
# 16. Both layers have the same number of parameters. The two heads have a softmax each, and their
# results are added, but neither head can make a comparison of rank 16.
#
# What one head can't hold
# ------------------------
# Let the n tokens of a text be linearly independent, and let P be an n × n matrix of attention
# weights, all positive. Can a head of width k produce exactly P? Take the logarithm of P, subtract
# from each row the mean of that row, and call the rank of the result :math:`\rho`. A head of width
# k can produce exactly P if and only if :math:`k \ge \rho`.
#
# *Proof.* Two rows of scores have the same :term:`softmax` exactly when they differ by a constant.
# So the scores S give P if and only if their centred rows, :math:`S\,(I - \tfrac1n \mathbf 1
# \mathbf 1^\top)`, equal the centred rows of :math:`\ln P`, which we call L. The rank of S is k at
# most, and centring can't raise it, so k must be at least :math:`\rho`, the rank of L. Conversely,
# let the tokens be the rows of X, and let :math:`X^+` be its pseudoinverse. Then L equals :math:`X
# M X^\top` for :math:`M = X^+ L\, (X^+)^\top`. This M has the rank of L, so it factors into a query
# and a key matrix of width :math:`\rho`. ∎
#
# Since a centred row sums to zero, k = n − 1 is always enough for such tokens.
# :cite:t:`bhojanapalli2020low` prove in their theorem 1, where k = d, that k ≥ n is enough, and
# that for k < n there are tokens and a P that no head produces. This does not contradict our
# statement that k = n − 1 is enough: if d = k < n, each token has fewer than n numbers, so n tokens
# are never linearly independent. We check the statement on the weights of a head with k = 3, and on
# a random P, which needs all n − 1 directions.

n, d, k = 12, 16, 3
x = torch.randn(n, d, dtype=torch.float64)  # (12, 16)


def log_weights(weights):
    """Return the logarithm of attention weights, centred in each row."""
    return weights.log() - weights.log().mean(-1, keepdim=True)


with torch.no_grad():
    head = MultiHeadAttention(d, 1, head_dim=k).double()
    _, weights = head(x, need_weights=True)  # (12, 16), (1, 12, 12)
P = torch.randn(n, n, dtype=torch.float64).softmax(-1)  # (12, 12)
X_plus = torch.linalg.pinv(x)  # (16, 12)
U, sigma, Vh = torch.linalg.svd(X_plus @ log_weights(P) @ X_plus.T)  # (16, 16), (16,), (16, 16)
rank_of = torch.linalg.matrix_rank
print(f"rank of the centred log weights: {rank_of(log_weights(weights[0]))} ", end="")
print(f"for a head with k = {k}, {rank_of(log_weights(P))} for P")
for rank in (n - 1, n - 2, k):
    M = U[:, :rank] * sigma[:rank] @ Vh[:rank]  # (16, 16)
    error = ((x @ M @ x.T).softmax(-1) - P).abs().max()
    print(f"M truncated to rank {rank:2}: largest error of a weight {error:.0e}")

# %%
# Two dimensions are enough to point at a token
# ---------------------------------------------
# The result above is about weights that have to be matched *exactly*; pointing at one token is far
# cheaper. Let k = 2, and put n keys on a circle. Each query has one token as its partner and equals
# the key of that token, multiplied by a large number :math:`\beta`. Every query then finds its
# partner among all n tokens, whichever permutation assigns the partners.

n = 64
angle = 2 * math.pi * torch.arange(n, dtype=torch.float64) / n  # (64,)
key = torch.stack([angle.cos(), angle.sin()], dim=-1)  # (64, 2)
partner = torch.randperm(n)  # (64,)
for beta in (100, 1000, 10_000):
    weights = (beta * key[partner] @ key.T).softmax(-1)  # (64, 64)
    least = weights[torch.arange(n), partner].min()
    print(f"k = 2, β = {beta:6}: each of {n} queries gives its partner {least:.4f} or more")

# %%
# The price is large queries: the cosine between neighbours on the circle is below 1 by only about
# :math:`2 \pi^2 / n^2`, so :math:`\beta` must grow like :math:`n^2`. The trick also works only if
# all tokens are known in advance, because each of them has to be placed on the circle. So weights
# that look like a permutation do not show that a task needs rank. A task that does need it has to
# ask about tokens which the layer has never met.
#
# A task that needs rank
# ----------------------
# Draw a point z on the unit sphere in r = 15 dimensions. One key lies at z and another at −z. Their
# tokens hold the answers 1 and −1 in one additional coordinate, so d = 16. A query q, drawn in the
# same way as z, is to retrieve the answer of the nearer key, which is
# :math:`\operatorname{sign}(q \cdot z)`. This task is the smallest case of the nearest-neighbour
# task that :cite:t:`amsel2025quality` study. The error is the mean squared error, which is 1 for a
# layer that always answers 0.
#
# With two opposite keys the scores are s and −s, and the difference of the two weights is the tanh
# of s. A head therefore returns the tanh of a score that is linear in q, times a number that does
# not depend on q. One head with k = r can have the score :math:`\beta\, q \cdot z`, and its error
# falls to zero as :math:`\beta` grows. For h heads of width k < r, however, the error has a lower
# bound,
#
# .. math::
#     \text{error} \;\ge\; \sum_{\ell\ \mathrm{odd}} w_\ell\, \max\!\left(0,\;
#     1 - \frac{h}{N_\ell} \binom{k + \ell - 1}{\ell}\right),
#     \qquad N_\ell = \binom{r + \ell - 1}{\ell} - \binom{r + \ell - 3}{\ell - 2} .
#
# The bound splits functions of q into *spherical harmonics* of degree :math:`\ell`, which are to
# the sphere what sines and cosines are to the circle. Here :math:`w_\ell` is the share of the
# target's mean square that has degree :math:`\ell`, and :math:`N_\ell` is the dimension of the
# space of spherical harmonics of that degree.
#
# *Proof.* Spherical harmonics of different degrees are orthogonal, so errors may be added degree by
# degree. Because the task is the same after any rotation, a random z spreads the target's mean
# square of degree :math:`\ell` evenly over all :math:`N_\ell` directions in the space of harmonics
# of that degree.
#
# How many of these directions can a head fill? It sees only the k coordinates of q in a subspace.
# What it returns therefore does not change if q is rotated in a way that leaves these k coordinates
# as they are, and the same holds for the part of degree :math:`\ell` of what it returns. A harmonic
# polynomial with that symmetry is determined by those of its terms that contain nothing but the k
# coordinates, because Laplace's equation gives all other terms. There are :math:`\binom{k + \ell -
# 1}{\ell}` such terms of degree :math:`\ell`. So one head fills at most that many of the
# :math:`N_\ell` directions, and h heads fill at most h times that number. The filled directions are
# the same for every z, and the target's share in the
# directions that are not filled is error. ∎
#
# The proof uses neither the softmax nor the size of a weight. It requires that q and z are
# independent and spread evenly over the sphere, that q reaches each head through k numbers, and
# that heads are *added*. The shares are :math:`w_\ell = N_\ell c_\ell^2`. Here :math:`c_\ell` is
# the mean of :math:`\operatorname{sign}(q \cdot z)` times the Legendre polynomial of degree
# :math:`\ell` in r dimensions, taken at :math:`q \cdot z`. The differential equation of these
# polynomials gives :math:`c_{\ell + 2} = -c_\ell\, \ell / (\ell + r)`, so the code computes
# :math:`c_1` first and then each further mean from the one before.

d, r = 16, 15


def degrees(r, largest=399):
    """List (degree, share of the target, dimension) for the odd degrees in r dimensions."""
    listed = []
    c = math.exp(math.lgamma(r / 2) - math.lgamma((r + 1) / 2)) / math.pi**0.5  # mean of |q · z|
    for degree in range(1, largest + 1, 2):
        size = math.comb(r + degree - 1, degree)
        size -= math.comb(r + degree - 3, degree - 2) if degree > 1 else 0
        listed.append((degree, size * c**2, size))
        c *= -degree / (degree + r)
    return listed


HARMONICS = degrees(r)


def bound(h, k):
    """Return a bound below which the error of h heads of width k can't fall."""
    if k >= r:
        return 0.0
    parts = ((w, h * math.comb(k + degree - 1, degree) / N) for degree, w, N in HARMONICS)
    return sum(w * max(0, 1 - reached) for w, reached in parts)


print("degree   share   dimension   heads needed at k = 1, 4, 8, 12")
for degree, share, size in HARMONICS[:4]:
    heads = [math.ceil(size / math.comb(k + degree - 1, degree)) for k in (1, 4, 8, 12)]
    print(f"{degree:6} {share:7.3f} {size:11,}   {', '.join(f'{h:,}' for h in heads)}")

# %%
# Degree 1 is the linear part of the sign. It comes within reach once hk is r or more, so the usual
# rule hk = d is just enough for it. Degree 3 needs about :math:`(r / k)^3` heads if k is not small,
# and each further odd degree needs about :math:`(r / k)^2` times as many as the one before; even
# degrees do not occur in the sign. If k ≤ r − 2, no number of heads is enough for all degrees.
#
# Three layers, trained here
# --------------------------
# We train one head of width 16, two heads of width 8, and four heads of width 4. All three layers
# have the same number of parameters, since hk = 16. Each training step draws new points, and the
# error is measured on points that no step has drawn.
#
# .. predict:: one-wide-or-four-narrow
#
#    Which of the three layers learns to name the nearer key?
#
#    All, with as many parameters each : ``max(live.values()) < 0.1``
#        The number of parameters is the same, but not the rank of what a head compares.
#    Only the one wide head : ``live[1, 16] < 0.1 < min(live[2, 8], live[4, 4])``
#        The comparison has rank 15, which only this head holds.
#    The four heads best, as they compare more : ``live[4, 4] < live[1, 16]``
#        Adding narrow heads does not make a wide one.


def sample(B, generator, m=8):
    """Draw B pairs of keys, m queries for each, and the answers that these are to retrieve."""
    points = normalize(torch.randn(B, m + 1, r, generator=generator), dim=-1)  # (B, m + 1, r)
    query, z = points[:, :m], points[:, m:]  # (B, m, r), (B, 1, r)
    x = torch.zeros(B, m + 2, d)  # (B, m + 2, d)
    x[..., :r] = torch.cat([query, z, -z], dim=1) * r**0.5  # coordinates of size 1
    x[:, -2:, -1] = torch.tensor([1.0, -1.0])
    return x, (query @ z.mT).sign()  # (B, m + 2, d), (B, m, 1)


def loss(layer, x, answers):
    """Return the mean squared error of the answers, read from the first coordinate."""
    m = answers.shape[1]
    keys_only = torch.arange(m + 2) >= m  # (m + 2,)
    return (layer(x, attn_mask=keys_only)[:, :m, :1] - answers).square().mean()


def train(h, k, steps, seed=0):
    """Train one layer and return its error on new points."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = MultiHeadAttention(d, h, head_dim=k)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.03)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(layer, *sample(128, generator)).backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        return loss(layer, *sample(10_000, generator)).item()


STEPS = 3 if QUICK else 300
live = {(h, k): train(h, k, STEPS) for h, k in ((1, 16), (2, 8), (4, 4))}
for (h, k), error in live.items():
    print(f"h = {h}, k = {k:2}: error {error:.3f}, bound {bound(h, k):.3f}")

# %%
# Only the wide head learns the task. Each of the other two layers ends a little above its bound.
# The bound is large: it is more than half of the error that a layer would have if it learned the
# linear part and nothing else.
#
# The grid
# --------
# Training a layer for every h and k with hk up to 64, each from three seeds and with more steps,
# takes too long for a page that is executed whenever the site is built. So the page reads the
# errors from a file, which says where it comes from. The file has a second task as well, in which
# each query has to retrieve *two* answers at once: the sign of :math:`q \cdot z` and the sign of
# :math:`q \cdot z'`. The second vector, z′, is made from z. Shift the coordinates of z cyclically
# by one place forwards, and subtract z shifted cyclically by one place backwards; the difference is
# z′, which is at a right angle to z.

package = Path(attention.__file__).parent
file = Path("experiments/bottleneck/results.json")
places = package / file, package.parent / "docs" / file
results = json.loads(next(p for p in places if p.exists()).read_text(encoding="utf-8"))
for name in ("command", "commit", "date", "seeds", "data", "versions", "hardware", "cpu_seconds"):
    print(f"{name}: {results['origin'][name]}")
measured = {}
for run in results["runs"]:
    cell = run["comparisons"], run["num_heads"], run["head_dim"]
    measured.setdefault(cell, []).append(run["error"])
error = {cell: sum(values) / len(values) for cell, values in measured.items()}
spread = max(max(values) - min(values) for values in measured.values())
print(f"largest difference between two seeds of a cell: {spread:.3f}")

# %%

sizes = results["origin"]["config"]["sizes"]
fig, axes = plt.subplots(2, figsize=(5, 8.6))
for comparisons, ax in enumerate(axes, 1):
    grid = [[error.get((comparisons, h, k), math.nan) for h in sizes] for k in sizes]
    ax.imshow(grid, origin="lower", vmin=0, vmax=1, aspect="auto")
    for j, k in enumerate(sizes):
        for i, h in enumerate(sizes):
            if (e := error.get((comparisons, h, k))) is not None:
                box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                ax.text(i, j, f"{e:.2f}", ha="center", va="center", fontsize=10, bbox=box)
    log_k = torch.linspace(-0.5, math.log2(r), 50)  # (50,)
    width = 2**log_k  # (50,)
    cubic = HARMONICS[1][2] / (width * (width + 1) * (width + 2) / 6)  # (50,)
    ax.plot((d / width).log2(), log_k, color=BLACK, label="hk = d, the usual coupling")
    if comparisons == 1:
        ax.plot(cubic.log2(), log_k, "--", color=ORANGE, label="degree 3 within reach")
    ax.axhline(math.log2(r), color=GREEN, ls=":", label="k = r, a comparison's rank")
    ax.set_xticks(range(len(sizes)), sizes)
    ax.set_yticks(range(len(sizes)), sizes)
    ax.set(xlim=(-0.5, 5.5), ylim=(-0.5, 5.5), xlabel="number of heads h", ylabel="head width k")
    ax.set_title(("one comparison", "two comparisons at once")[comparisons - 1])
axes[0].legend(loc="upper right", fontsize=9)
fig.set_label(
    "Two grids of errors, over 1 to 32 heads and head widths 1 to 32. For one comparison the error "
    "is near 0 in the rows of width 16 and 32. Below them it falls until the solid line hk = d and "
    "hardly further. For two comparisons at once, only cells with both width 16 or more and at "
    "least two heads are near 0; one head stays above one half."
)

# %%
# *Figure 2.* Mean squared error over three seeds, for hk up to 64. A layer has 4dhk parameters, so
# layers with equally many parameters lie on a diagonal parallel to the solid line, which marks hk =
# d. The dotted line marks k = r.
#
# Above the dotted line, where a head is at least as wide as a comparison needs, one head is enough
# for one comparison. Below the dotted line, the error falls as heads are added, but only up to the
# solid line, where the linear part is within reach. Further heads gain little. Figure 3 puts the
# bound beside the measured errors.

fig, ax = plt.subplots(figsize=(5, 3.8))
widths = sorted({k for c, h, k in error if (c, h) == (1, 1) and k <= d})
coupled = [k for k in sizes if k <= d]
for ks, heads, colour, marker, label in (
    (widths, [1] * len(widths), BLUE, "o", "one head"),
    (coupled, [d // k for k in coupled], ORANGE, "^", "h = d / k heads"),
):
    pairs = list(zip(heads, ks, strict=True))
    ax.plot(ks, [error[1, *pair] for pair in pairs], marker, ms=5, color=colour, label=label)
    ax.plot(ks, [bound(*pair) for pair in pairs], f"{marker}--", ms=5, mfc="w", lw=1, color=colour)
ax.axvline(r, color=GREEN, ls=":", label="k = r")
ax.set(xlabel="head width k", ylabel="mean squared error", ylim=(-0.02, 1.02))
ax.legend()
fig.set_label(
    "Error against head width, with the bound below it. With one head it falls steadily from 1, "
    "and drops to nearly 0 at k = 15. With h = d / k heads the error is level near one third up to "
    "k = 8 and meets the other curve at k = 16."
)

# %%
# *Figure 3.* Filled markers are measured errors. Hollow ones are the bound, joined to guide the
# eye. With the usual coupling hk = d, only a single head learns much more than the linear part.
#
# What several heads are for
# --------------------------
# Several heads are needed because each has one softmax. Take a single head on the second task. In
# this head, all that a query can choose is the difference t of its two weights, a number between −1
# and 1. The head's two answers are t times two numbers that z fixes, so for a given z they always
# lie along one direction, whatever the width. The answers to retrieve do not: they are two signs,
# and since z′ is at a right angle to z, all four pairs of signs are equally probable for every z.
# Such a pair, taken as a vector, has the squared length 2, and its part along any one direction
# that z fixes has the squared length 1 on average. The head misses at least the other half, so its
# error is at least ½. The error of two heads with k = r, however, can come as near to zero as one
# likes. The table compares layers with hk = 32, which all have the same number of parameters.

print("heads  width   one comparison (bound)   two at once")
for h in sizes:
    k = 32 // h
    print(f"{h:5} {k:6} {error[1, h, k]:14.3f} ({bound(h, k):.3f}) {error[2, h, k]:14.3f}")

# %%
# Two comparisons at once have their lowest error with two heads. A single head of double width
# misses half the answer, and four heads of half the width pay for the missing rank.
#
# What this does not say
# ----------------------
# The task was made to need rank: its fifteen directions are all alike, and the layer has never met
# its points before. Nothing here says that language is such a task. The heads of :doc:`a real
# encoder </gallery/deeper/plot_7_qk_of_a_real_model>` use fewer directions on real sentences than
# they have, and a classifier of film reviews needs :doc:`next to none
# </gallery/deeper/plot_4_rank_on_reviews>`.
#
# The proof no longer applies if the heads are followed by something other than a sum, such as the
# feed-forward layer of a block. :cite:t:`amsel2025quality` show that depth lets low-rank heads
# approximate the target of their task at short context lengths, and conjecture that long contexts
# need full rank.
#
# If a layer has to hold fixed relations between known items, more heads can even be better.
# :cite:t:`adler2026capacity` counts how many such relations one layer can hold. If there are more
# items than dimensions, the same budget hk holds more relations once it is split among several
# heads.
#
# Between the bound and the measured error there is a gap, which is large if there are many heads or
# if each is nearly r wide. We do not know whether training falls short of what is possible or the
# bound is too low. One learning rate, chosen on one cell of the grid, served all cells.
#
# Takeaways
# ---------
# - How many heads, and how wide? There should be as many heads as there are different comparisons
#   to make at once, because a head has one softmax. Each should be as wide as the rank of one
#   comparison, because adding narrow heads does not make a wide one.
# - This holds for one layer of attention that compares unseen points which use all directions
#   alike. In such a layer, hk = d is enough for the linear part of the comparison, and more narrow
#   heads gain little.
# - To match given weights exactly, a head without a mask has to be at least as wide as the rank of
#   their centred logarithm. Pointing at known tokens needs only two directions, but large norms.
# - When a model's heads seem too narrow, measure first how much rank their inputs use.
#
# *From memory:* close this page and write the task with two opposite keys, and the one head that
# solves it. Then say why two heads of half the width do not, although they have as many parameters.
#
# *Where next:* :doc:`the lesson on rotary positions </gallery/deeper/plot_9a_rotary>`, for the
# positions of today's language models, or :doc:`the lesson on attention as explanation
# </gallery/core/plot_9_reading_attention>`, which asks whether weights explain a model's answer.
#
# You can now say what more heads buy and what wider heads buy. The exercise to do next is the one
# on :ref:`heads that see half a sentence <ex-split-heads>`.

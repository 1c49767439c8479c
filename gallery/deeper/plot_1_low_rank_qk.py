"""
.. lesson:: Low-rank attention
   :minutes: 30
   :extra: plot
   :needs: core/plot_2
   :tasks: fold-keys largest-saving-width nearest-of-rank add-queries
   :search: low rank; QK circuit

Low-rank attention: what a product QKᵀ can hold
===============================================

Attention multiplies by a query matrix and by a key matrix. Which of their numbers have any effect?

With one query for all texts, a single vector can do all that the key matrix does. With a query per
token, the two matrices act as one matrix of limited rank. We find this out by writing the same
function with one vector, or with one matrix, in place of the two matrices, and by printing how much
the two versions differ. Everything here is computed in float64, so "the same" means a relative
error near 10⁻¹⁶.

You need the lesson on :doc:`the attention layer </gallery/core/plot_2_attention_layer>`, matrix
products and the idea of a singular value. Running the page takes about fifteen seconds. Afterwards
you can say which numbers of an attention layer are redundant, what a key width k allows and
forbids, and how to truncate a layer to a lower rank.
"""

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from attention import EnergyPooling, KeyedPooling, QKSelfAttention
from attention.analysis import bilinear_form, parameter_count, truncate_rank
from attention.plotting import BLACK, BLUE, GREEN, KEY, ORANGE, QUERY, draw_matrices, use_style

use_style()
QUICK = False  # True: fewer reviews and steps, for a first try
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def error(got, expected):
    """Return the size of the difference, relative to the size of what was expected."""
    return ((got - expected).norm() / expected.norm()).item()


# %%
# One query for every text
# ------------------------
# We begin with the smallest attention there is, :term:`pooling` with a single learned query. A text
# of n tokens, each a vector :math:`x_i` of width d, is pooled into one vector, and every text is
# pooled with the same query q. Each token has a :term:`key` :math:`x_i W_\mathrm{key}` of width k,
# and its score is
#
# .. math:: e_i = (x_i W_\mathrm{key}) \cdot q = x_i \cdot (W_\mathrm{key}\, q) .
#
# Once the brackets are moved, all that is left of the key matrix and the query is a single vector
# :math:`w = W_\mathrm{key}\, q` of width d. :ref:`Lab 13 <source-lab>`, from which the question of
# this page comes, calls the resulting score an :term:`energy`. We make two poolings, one with a key
# matrix and a query and one with a vector alone. Then we give the second the w of the first, and
# compare their results:

n, d, k = 7, 16, 8
x = torch.randn(5, n, d)  # (5, n, d)
keyed, energy = KeyedPooling(d, key_dim=k), EnergyPooling(d)
with torch.no_grad():
    w = keyed.W_key.weight.T @ keyed.query  # (d,)
    energy.energy.weight.copy_(w)
assert error(energy(x), keyed(x)) < 1e-12
print(f"keys against energy: relative error {error(energy(x), keyed(x)):.0e}")

# %%
# .. predict:: width-of-the-keys
#
#    An energy can do what a pooling with keys of width 8 does. How wide must keys be at least to do
#    the same?
#
#    As wide, k = 8 : ``error(narrow(x), keyed(x)) > 1e-9``
#        A narrower key matrix has fewer numbers, but what counts is its product with the query.
#    As wide as the tokens, d = 16 : ``error(energy(x), keyed(x)) > 1e-9``
#        The product w has 16 numbers at every width of the keys.
#    A single number, k = 1 : ``error(narrow(x), keyed(x)) < 1e-12``
#        The key matrix is then the single column w, and the query is the number 1.

narrow = KeyedPooling(d, key_dim=1)
with torch.no_grad():
    narrow.W_key.weight.copy_(w)
    narrow.query.fill_(1.0)
assert error(narrow(x), keyed(x)) < 1e-12
print(f"k = 1 against k = {k}:   relative error {error(narrow(x), keyed(x)):.0e}")

# %%
# So keys of width k > 1 add nothing. Both widths express the same functions, those of an energy,
# and differ in the number of parameters only:

print(f"energy         {parameter_count('energy', d):4} numbers")
for width in (1, k, d):
    print(f"keys, k = {width:<4} {parameter_count('keys', d, key_dim=width):4} numbers")

# %%
# In symbols, these are d for the energy, dk + k with keys, and :math:`d^2 + d` with keys as wide as
# the tokens. Lab 13 (section "Low-Rank Factorization") counts d + 1 for k = 1 and writes that this
# "exactly matches" the d of the energy, although d + 1 is one more. The extra number is redundant,
# because nothing changes when the query is doubled and the keys are halved. The same section also
# promises "richer attention structures" for k > 1. With one query for all texts, a width of k > 1
# can bring none of these, because the functions are the same.
#
# The same functions, another path
# --------------------------------
# An energy, and a key matrix together with a query, express the same functions, but the path of
# training may still depend on which of the two is trained. Let the loss have gradient g with
# respect to w. A small step of size :math:`\eta` down the energy's gradient moves w by :math:`-\eta
# g`. A step on the pair moves the key matrix by :math:`-\eta g q^\top` and the query by
# :math:`-\eta W_\mathrm{key}^\top g`, so their product moves by
#
# .. math:: \Delta w = -\eta \left(W_\mathrm{key} W_\mathrm{key}^\top
#           + \lVert q \rVert^2 I\right) g + O(\eta^2) .
#
# The redundant parameters change the path, because they multiply each gradient by a matrix, and
# this matrix itself changes while the model learns. First we check the formula on one step, with a
# gradient drawn at random:

g, eta = torch.randn(d), 1e-6  # (d,)
W_key, q = keyed.W_key.weight.detach().T, keyed.query.detach()  # (d, k), (k,)
moved = (W_key - eta * torch.outer(g, q)) @ (q - eta * W_key.T @ g) - W_key @ q  # (d,)
by_formula = -eta * (W_key @ W_key.T @ g + q.square().sum() * g)  # (d,)
print(f"the step, by formula: relative error {error(by_formula, moved):.0e}")
assert error(by_formula, moved) < 1e-4

# %%
# Now we train on a small task. In each text of this task one token is marked by a large number in
# the last place of its vector, and the label is the sign of the number in the first place of that
# vector. An energy and two pairs, with keys of width 1 and of width 16, start from the *same* w and
# the *same* classifier, and learn by plain gradient descent.

STEPS, RATE, SEEDS = 30 if QUICK else 300, 0.3, range(5)
texts = torch.randn(256, 12, d)  # (256, 12, d)
labels = (texts[:, 0, 0] > 0).double()  # (256,)
texts[:, 0, -1] += 3


def train(pooling, seed):
    """Descend from a classifier fixed by the seed; return loss and energy w at each step."""
    torch.manual_seed(seed)
    classifier = torch.nn.Linear(d, 1)
    optimizer = torch.optim.SGD([*pooling.parameters(), *classifier.parameters()], lr=RATE)
    losses, path = [], []
    for _ in range(STEPS):
        logits = classifier(pooling(texts)).squeeze(-1)  # (256,)
        loss = F.binary_cross_entropy_with_logits(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        path.append(energy_of(pooling))
    return torch.tensor(losses), torch.stack(path)  # (STEPS,), (STEPS, d)


def energy_of(pooling):
    """Write the query of a pooling as one vector on the tokens."""
    if isinstance(pooling, EnergyPooling):
        return pooling.energy.weight[0].detach().clone()  # (d,)
    return (pooling.W_key.weight.T @ pooling.query).detach()  # (d,)


poolings = {"energy": None, "keys, k = 1": 1, "keys, k = 16": 16}
curves = {name: [] for name in poolings}
starts = []
for seed in SEEDS:
    torch.manual_seed(seed)
    widest = KeyedPooling(d, key_dim=16)
    w = energy_of(widest)  # (d,)
    for name, width in poolings.items():
        pooling = EnergyPooling(d) if width is None else KeyedPooling(d, key_dim=width)
        with torch.no_grad():
            if width is None:
                pooling.energy.weight.copy_(w)
            elif width == 1:  # the direction in the keys, the length shared evenly
                pooling.W_key.weight.copy_(w / w.norm().sqrt())
                pooling.query.fill_(w.norm().sqrt())
            else:
                pooling.load_state_dict(widest.state_dict())
        curves[name].append(train(pooling, seed))
    starts += [abs(runs[-1][0][0] - curves["energy"][-1][0][0]).item() for runs in curves.values()]

print(f"largest difference of the losses before the first step: {max(starts):.0e}")
apart = {}
for name in list(poolings)[1:]:
    both = zip(curves[name], curves["energy"], strict=True)
    apart[name] = torch.stack([(w - v).norm(dim=-1) for (_, w), (_, v) in both])  # (5, STEPS)
    end = apart[name][:, -1]  # (5,)
    print(
        f"{name:12} after {STEPS} steps w is {end.mean():.2f} ± {end.std():.2f} from the energy's"
    )

# %%

fig, (above, below) = plt.subplots(2, figsize=(5, 5.6), sharex=True)
for (name, runs), colour in zip(curves.items(), (BLACK, ORANGE, BLUE), strict=True):
    losses = torch.stack([loss for loss, _ in runs])  # (5, STEPS)
    above.plot(losses.T, color=colour, lw=1, label=[name] + ["_"] * 4)
    if name in apart:
        mean, spread = apart[name].mean(0), apart[name].std(0)  # (STEPS,), (STEPS,)
        below.plot(mean, color=colour, label=name)
        low, high = mean - spread, mean + spread  # (STEPS,), (STEPS,)
        below.fill_between(range(STEPS), low, high, color=colour, alpha=0.2, lw=0)
above.set(ylabel="training loss", ylim=(0, None))
above.legend()
below.set(xlabel="step of gradient descent", ylabel="distance to the energy's w", ylim=(0, None))
below.legend(loc="upper left")
fig.set_label(
    "Two panels against steps, for an energy, keys of width 1 and keys of width 16, five seeds "
    "each. Above, training losses: three lines leave each common start and fall at different "
    "times. Below, the distance between the w of the keyed poolings and the energy's w grows from "
    "zero, as a band over the seeds."
)

# %%
# *Figure 1.* Training losses above, and below them the distance to the energy's w, for five seeds;
# the band is one standard deviation. Both keyed poolings leave the path of the energy at once.
#
# All three start as the same function and diverge at the first step. At every moment each of them
# could be rewritten as an energy, so only the optimisation path differs. Which path is better
# depends on the start, and five starts on one made-up task don't settle the question.
#
# A query per token
# -----------------
# In *self*-attention every token has a query of its own. Queries and keys are both made from the
# tokens, the rows of X, so the scores of all pairs of tokens are
#
# .. math:: \mathrm{scores} = \frac{(X W_\mathrm{query})(X W_\mathrm{key})^\top}{\sqrt k}
#           = \frac{X \, M X^\top}{\sqrt k},
#           \qquad M = W_\mathrm{query} W_\mathrm{key}^\top .
#
# Again the brackets can be moved, so the two matrices affect the scores only through their product
# M, a d × d matrix. It is the matrix of a :term:`bilinear form`, and
# :cite:t:`elhage2021mathematical` call it the *QK circuit* of a head. Lab 13 writes F for X, Q for
# :math:`W_\mathrm{query}` and K for :math:`W_\mathrm{key}`, so its scores are :math:`E = F
# (QK^\top) F^\top`. Its :math:`QK^\top`, which is also the product in the title of this page, is
# called M on all our pages.

# sphinx_gallery_start_ignore


def draw_product():
    """Draw X W_query W_keyᵀ Xᵀ as rectangles, and what M spans of them."""
    fig, ax = plt.subplots(figsize=(5, 2))
    tokens = ("X", "(n, d)", 2, 3, BLACK)
    pair = ("W_query", "(d, k)", 3, 0.9, QUERY), ("W_keyᵀ", "(k, d)", 0.9, 3, KEY)
    scores = ("scores", "(n, n)", 2, 2, BLACK)
    transposed = ("Xᵀ", "(d, n)", 3, 2, BLACK)
    ends = draw_matrices(ax, 0, (tokens, "·", pair[0], "·", pair[1], "·", transposed, "=", scores))
    left, right = ends[1][0], ends[2][1]
    ax.plot([left, left, right, right], [-1.8, -2, -2, -1.8], color=BLACK, lw=1.2)
    ax.text((left + right) / 2, -2.15, "M  (d, d), rank ≤ k", ha="center", va="top", fontsize=10)
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-2.8, 2.2))
    return fig


# sphinx_gallery_end_ignore
fig = draw_product()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles to scale, from left to right: X of shape (n, d), times the tall and narrow W_query "
    "of shape (d, k), times the low and wide transpose of W_key, (k, d), times the transpose of X, "
    "(d, n), is the square of scores, (n, n). A bracket under the two narrow ones says: M, (d, d), "
    "rank at most k."
)

# %%
# *Figure 2.* The scores of one head as a product of four matrices, without the division by √k. All
# that the scores take from the tokens passes through the k columns of the two narrow matrices,
# whose product is M.
#
# With a query per token nothing collapses to a vector, because M has a token on either side. This
# whole page is about plain dot products of queries and keys; with rotary positions or normalised
# queries there is no single M, as :ref:`the next page
# <sphx_glr_gallery_deeper_plot_2_gauge_and_biases.py>` shows. First we check that the weights of a
# layer can be computed through M:

d, k = 32, 8
layer = QKSelfAttention(d, key_dim=k)
x = torch.randn(n, d)  # (n, d)
_, weights = layer(x, need_weights=True)  # (n, d), (n, n)
M = bilinear_form(layer)  # (d, d)
through_M = torch.softmax(x @ M @ x.T / k**0.5, dim=-1)  # (n, n)
assert error(through_M, weights) < 1e-12
print(f"weights through M: relative error {error(through_M, weights):.0e}")

# %%
# M has d² entries, but it cannot be an arbitrary matrix. It factors through a bottleneck of width
# k, so its :term:`rank` is at most k, which means that its rows are all mixtures of the same k
# rows. The :term:`singular values <singular value>` of M make this visible. They say how strongly M
# stretches each of d directions, and all but k of them are zero:

spectra = {}
for width in (4, 8, 16):
    M = bilinear_form(QKSelfAttention(d, key_dim=width))  # (d, d)
    spectra[width] = torch.linalg.svdvals(M)  # (d,)
    after = (spectra[width][width] / spectra[width][0]).item()
    assert after < 1e-12
    print(f"k = {width:2}: singular value {width + 1} is {after:.0e} of the first")

# %%

fig, ax = plt.subplots(figsize=(5, 3.2))
for (width, sigma), colour in zip(spectra.items(), (ORANGE, BLUE, GREEN), strict=True):
    ax.semilogy(range(1, d + 1), sigma, "o", ms=4, color=colour, label=f"k = {width}")
ax.set(xlabel="which singular value of M", ylabel="its size", title=f"random layers, d = {d}")
ax.legend()
fig.set_label(
    f"Singular values of M for random layers of width {d} with k of 4, 8 and 16, on a logarithmic "
    "axis. After the k-th value each spectrum falls off a cliff, by about fifteen powers of ten."
)

# %%
# *Figure 3.* Singular values of M in three random layers, on a logarithmic axis. After the k-th
# there is nothing left but rounding.
#
# What low rank saves
# -------------------
# The pair of query and key matrix holds 2dk numbers. A free matrix M, which need not be the product
# of a pair, would hold d². The two counts are equal at k = d/2.

d = 16
widths = torch.arange(1, d + 1)  # (d,)
pair = torch.tensor([parameter_count("qk", d, key_dim=int(width)) for width in widths])  # (d,)
free = widths * (2 * d - widths)  # (d,)
assert pair[d // 2 - 1] == d * d
for k in (1, d // 4, d // 2, d):
    print(f"d = {d}, k = {k:2}: the pair holds {pair[k - 1]:3} numbers, a free M {d * d}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
ax.axhline(d * d, color=BLACK, label="a free matrix M: d²")
ax.plot(widths, pair, "o-", ms=4, color=BLUE, label="the pair: 2dk")
ax.plot(widths, free, "s--", ms=4, color=ORANGE, label="what M can use of it: 2dk − k²")
ax.annotate("k = d/2: nothing saved", (d / 2, d * d), (8.6, 150), arrowprops={"arrowstyle": "->"})
ax.set(xlabel=f"key width k (d = {d})", ylabel="parameters", ylim=(0, None))
ax.legend(loc="upper left")
fig.set_label(
    f"Parameters against key width k, for d = {d}. The line of the pair, 2dk, crosses the level "
    "d squared of a free matrix at k = 8, half of d. A curve below it, 2dk minus k squared, "
    "touches the level only at k = d."
)

# %%
# *Figure 4.* Parameters of the pair and of a free M; the dashed line counts only those degrees of
# freedom of the pair that change M. If k is less than d/2, the pair is the cheaper of the two.
#
# .. admonition:: What went wrong: "low rank" that saves nothing
#    :class: warning
#
#    :ref:`Lab 13 <source-lab>` (conclusion of "Introducing Queries") rightly says that for k far
#    below d the pair is "far more efficient" than a free matrix. The cell that follows, which
#    defines ``SelfAttention_QK``, then sets d = 16 and k = 8. That is k = d/2, where the pair holds
#    as many numbers as a free matrix, so the full price is paid for a matrix of half the rank. (The
#    biases, which that cell leaves in, add 2k more.)
#
# The dashed curve shows what is left of the pair's 2dk numbers once those that change nothing are
# dropped. It is at 2dk − k², because the matrices of rank k form a surface of this dimension. The
# other k² numbers only choose coordinates for queries and keys, which is the :ref:`next page's
# subject <sphx_glr_gallery_deeper_plot_2_gauge_and_biases.py>`.
#
# The nearest matrix of rank k
# ----------------------------
# Suppose that a task needs a certain M of full rank. How near can a pair of width k come to it?
# :cite:t:`eckart1936approximation` found the answer: keep the k largest singular values of M and
# set the others to zero. No other matrix of rank k is nearer to M in the Frobenius norm, and the
# distance is the root of the sum of the squares of the singular values that were dropped.
# :func:`~attention.analysis.truncate_rank` truncates a layer in this way.
#
# To see whether training finds this nearest matrix, we give Adam only the pair and the squared
# distance to M:

d = 12
target = QKSelfAttention(d, key_dim=d)
torch.nn.init.normal_(target.W_query.weight)
torch.nn.init.normal_(target.W_key.weight)
M = bilinear_form(target)  # (d, d)


def train_pair(M, k, steps=100 if QUICK else 1000):
    """Minimise the distance from a product of width k to M, starting from random numbers."""
    W_query, W_key = (torch.randn(d, k, requires_grad=True) for _ in "qk")  # (d, k), (d, k)
    optimizer = torch.optim.Adam([W_query, W_key], lr=0.05)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        (M - W_query @ W_key.T).square().sum().backward()
        optimizer.step()
        schedule.step()
    return (W_query @ W_key.T).detach()  # (d, d)


ranks = (1, 2, 4, 6, 8, 10)
cut = {r: error(bilinear_form(truncate_rank(target, r)), M) for r in range(d + 1)}
found = {r: error(train_pair(M, r), M) for r in ranks}
for r in ranks:
    print(f"rank {r:2}: nearest {cut[r]:.4f}, trained {found[r]:.4f}")
    assert found[r] > cut[r] - 1e-12

# %%

fig, ax = plt.subplots(figsize=(5, 3.2))
ax.plot(cut.keys(), cut.values(), color=BLACK, label="nearest of rank k (Eckart–Young)")
ax.plot(found.keys(), found.values(), "o", color=ORANGE, label="pair found by Adam")
ax.set(xlabel="rank k", ylabel="relative distance to M", ylim=(0, 1.05))
ax.legend()
fig.set_label(
    "Relative distance to a target matrix against rank. A falling curve gives the least distance "
    "possible; the dots that training a pair reached lie on it or, where training has not "
    "finished, above."
)

# %%
# *Figure 5.* The least distance possible, and the distance that training reached. Training lands on
# the curve, or stays above it where the weakest of the k directions are slow to learn. It never
# gets below the curve, because nothing can.
#
# The nearest matrix and the nearest scores
# -----------------------------------------
# The truncated matrix is nearest *as a matrix*, whereas attention uses the scores :math:`x_i M
# x_j^\top`. Real tokens do not spread equally in all directions, so an error of M counts more in
# some directions than in others.
#
# Let :math:`C_q` be the mean of :math:`x_i^\top x_i` over the tokens that act as queries, and
# :math:`C_k` the same mean over those that act as keys. If *every query meets every key*, so that
# the two are independent, a matrix :math:`M_r` of rank r in place of M gives the scores a mean
# squared error of :math:`\lVert C_q^{1/2} (M - M_r)\, C_k^{1/2} \rVert_F^2`. To find the pair with
# the nearest *scores*, we therefore truncate :math:`C_q^{1/2} M C_k^{1/2}` instead of M, and undo
# the two roots afterwards. :cite:t:`chen2021drone` use this idea to compress whole models.
#
# If a part of a score is the same for all keys of a query, it cancels in the softmax. So if only
# the rest of the score counts, the part that the softmax sees, the keys are centred on their mean
# before :math:`C_k` is computed.
#
# In the following example the tokens vary far more along some directions than along others, and
# their mean is not zero. We compare three truncations: that of the matrix, that of the scores, and
# that of the scores with centred keys. Each is measured twice, by its error in the whole score and
# by its error in what is left of the score once the mean over the keys is subtracted:

stretch = torch.logspace(0.5, -1, d)  # (d,)
tokens = torch.randn(2000, d) * stretch + 2 * torch.randn(d)  # (2000, d)
queries, keys = tokens[:1000], tokens[1000:]  # (1000, d), (1000, d)


def truncated(matrix, r):
    """Keep the r largest singular values."""
    U, sigma, Vh = torch.linalg.svd(matrix)  # (d, d), (d,), (d, d)
    return U[:, :r] * sigma[:r] @ Vh[:r]  # (d, d)


def root(vectors):
    """Return the symmetric square root of the mean of xᵀx."""
    values, directions = torch.linalg.eigh(vectors.T @ vectors / len(vectors))  # (d,), (d, d)
    return directions * values.sqrt() @ directions.T  # (d, d)


def nearest_scores(matrix, r, queries, keys):
    """Truncate between the roots of both second moments, and undo the roots."""
    of_queries, of_keys = root(queries), root(keys)  # (d, d), (d, d)
    kept = truncated(of_queries @ matrix @ of_keys, r)  # (d, d)
    return torch.linalg.solve(of_queries, torch.linalg.solve(of_keys, kept.T).T)  # (d, d)


def off_mean(scores):
    """Take the mean over the keys off each row, which no weight depends on."""
    return scores - scores.mean(dim=-1, keepdim=True)


ways = {
    "nearest as a matrix": lambda r: truncated(M, r),
    "nearest in the scores": lambda r: nearest_scores(M, r, queries, keys),
    "nearest, keys centred": lambda r: nearest_scores(M, r, queries, keys - keys.mean(0)),
}
scores = queries @ M @ keys.T  # (1000, 1000)
errors = {name: ([], []) for name in ways}
for name, way in ways.items():
    for r in range(1, d):
        near = queries @ way(r) @ keys.T  # (1000, 1000)
        errors[name][0].append(error(near, scores))
        errors[name][1].append(error(off_mean(near), off_mean(scores)))
    print(f"rank 4, {name}: error {errors[name][0][3]:.3f} of the scores, ", end="")
    print(f"{errors[name][1][3]:.3f} of what the softmax sees")
for r in range(d - 1):
    best = [min(errors, key=lambda name: errors[name][part][r]) for part in (0, 1)]
    assert best == ["nearest in the scores", "nearest, keys centred"]

# %%

fig, axes = plt.subplots(2, figsize=(5, 5.6), sharex=True)
for ax, part, title in zip(
    axes, (0, 1), ("the whole score", "without its mean over keys"), strict=True
):
    for (name, both), style in zip(errors.items(), ("o-", "s--", "^:"), strict=True):
        colour = {"o-": BLUE, "s--": ORANGE, "^:": GREEN}[style]
        ax.semilogy(range(1, d), both[part], style, ms=4, color=colour, label=name)
    ax.set(ylabel="relative error", title=title)
axes[0].legend(loc="lower left")
axes[1].set_xlabel("rank k")
fig.set_label(
    "Relative error against rank for three truncations, on logarithmic axes. Above, for the whole "
    "score, the truncation by second moments is best at every rank. Below, with the mean over the "
    "keys subtracted, the one with centred keys is best, that by second moments is slightly worse, "
    "and that of the matrix itself is far worse from rank 2 on."
)

# %%
# *Figure 6.* Three truncations, measured by the whole score (above) and by the part of it on which
# the weights depend (below). For this part, centring the keys is best at every rank.
#
# Is it best for the weights themselves, too? Both measures count an error the same wherever it
# occurs, whereas in a softmax an error in one of the highest scores of a row moves the weights far
# more than one in the lowest. Only where all scores are small is the softmax nearly linear in them.
# So we measure how far the weights move, by the :term:`total variation`: half the sum of the
# absolute differences between a query's weights before and after. This is done for eight draws of M
# and of the tokens at every rank, with scores that are multiplied by :math:`1/\sqrt d`, as in the
# layer that M was taken from, and by a tenth and a hundredth of this.


def weights_moved(scores, near, scale):
    """Return the mean total variation between two rows of weights."""
    return ((scale * scores).softmax(-1) - (scale * near).softmax(-1)).abs().sum(-1).mean() / 2


DRAWS, better = 8, {}
for scale in (1 / d**0.5, 0.1 / d**0.5, 0.01 / d**0.5):
    better[scale], spreads = 0, []
    for seed in range(DRAWS):
        draws = torch.Generator().manual_seed(seed)
        left, right = torch.randn(2, d, d, generator=draws)  # (d, d), (d, d)
        mean = torch.randn(d, generator=draws)  # (d,)
        own = torch.randn(400, d, generator=draws)  # (400, d)
        asking, asked = (own * stretch + 2 * mean).split(200)  # (200, d), (200, d)
        exact = asking @ left @ right.T @ asked.T  # (200, 200)
        spreads.append(scale * off_mean(exact).std())
        for r in range(1, d):
            plain, centred = (
                asking @ nearest_scores(left @ right.T, r, asking, each) @ asked.T
                for each in (asked, asked - asked.mean(0))
            )  # (200, 200), (200, 200)
            moved = [weights_moved(exact, near, scale) for near in (plain, centred)]
            better[scale] += int(moved[1] < moved[0])
    print(f"scores with a standard deviation near {torch.stack(spreads).mean():5.2f}: ", end="")
    print(f"centred keys move the weights less in {better[scale]} of {DRAWS * (d - 1)} cases")
assert 0.5 * DRAWS * (d - 1) < better[1 / d**0.5] < 0.9 * DRAWS * (d - 1) < better[0.01 / d**0.5]

# %%
# The smaller the scores, the more often centred keys are the better choice for the weights. With
# scores as large as these layers have, they lose in about a quarter of the cases: there, centring
# brings nearer what the softmax sees, and still moves the weights further.
#
# The truncation for the nearest scores is a closed form, a formula that needs no training. However,
# it assumes that queries and keys are independent, and in a text they are not: the tokens of a text
# share a topic, so a query meets keys that resemble it. In the next example each text has a topic
# vector that is added to its 6 tokens. We start a pair of matrices from the closed form and let
# Adam improve it, once for all pairs of tokens and once for pairs of tokens of the same text only:

own, topic = torch.randn(100, 6, d), torch.randn(100, 1, d)  # (100, 6, d), (100, 1, d)
together = (own + 2 * topic) * stretch  # (100, 6, d)
every = together.flatten(0, 1)  # (600, d), the same tokens


def improved(matrix, scores_of, r=4, steps=400):
    """Let Adam start from a matrix of rank r and bring its scores nearer to those of M."""
    U, sigma, Vh = torch.linalg.svd(matrix)  # (d, d), (d,), (d, d)
    left, right = U[:, :r] * sigma[:r].sqrt(), Vh[:r].T * sigma[:r].sqrt()  # (d, r), (d, r)
    optimizer = torch.optim.Adam([left.requires_grad_(), right.requires_grad_()], lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        (scores_of(left @ right.T) - scores_of(M)).square().mean().backward()
        optimizer.step()
        schedule.step()
    return (left @ right.T).detach()  # (d, d)


closed = nearest_scores(M, 4, every, every)  # (d, d)
cases = {
    "every query meets every key": lambda matrix: every @ matrix @ every.T,
    "tokens of one text": lambda matrix: together @ matrix @ together.mT,
}
met = {}
for name, scores_of in cases.items():
    met[name] = [error(scores_of(m), scores_of(M)) for m in (closed, improved(closed, scores_of))]
    print(f"{name:27}: error {met[name][0]:.4f} in closed form, {met[name][1]:.4f} after Adam")
assert met["every query meets every key"][1] > (1 - 1e-9) * met["every query meets every key"][0]
assert met["tokens of one text"][1] < 0.95 * met["tokens of one text"][0]

# %%
# Where every query meets every key, Adam can't improve on the closed form. Within texts the closed
# form is only a good start. We have now used two distances, that of the matrices and that of the
# scores, and neither of them weighs an error as the softmax does. Training minimises neither of the
# two: it minimises the loss of a task.
#
# So a small singular value of M does not prove that its direction is idle, and a large one does not
# prove that its direction is used, because the use of a direction depends on the tokens. What
# truncation costs on real reviews is measured on :ref:`a later page
# <sphx_glr_gallery_deeper_plot_4_rank_on_reviews.py>`. And the softmax gives weights of full rank
# from scores of rank k; in linear attention, one of the :doc:`variants of today
# </gallery/deeper/plot_9g_variants>`, the weights themselves have rank k at most.
#
# Takeaways
# ---------
# - Which of the numbers have any effect? With one query for all texts the key matrix is redundant,
#   whatever its width: it changes the path of training but not the set of functions. With a query
#   per token the two matrices act as one matrix M of rank at most k.
# - The pair holds 2dk numbers, which at k = d/2 are already as many as the d² of a free matrix.
# - The nearest matrix of rank k is known in closed form. So are the nearest scores, if queries and
#   keys are independent. With centred keys, the part of the scores that the softmax sees is
#   nearest; the weights then are nearer, too, in nearly all cases if the scores are small, and
#   otherwise only in most.
#
# *From memory:* close this page and write, for a query and a key matrix of width k, how many
# numbers the pair holds, how many have an effect, and from which k on the pair holds more than M
# does. Then compute the nearest matrix of rank 2 to a random M with ``torch.linalg.svd``, and check
# that no random matrix of rank 2 is nearer.
#
# *Where next:* :doc:`the lesson on gauge freedom and biases
# </gallery/deeper/plot_2_gauge_and_biases>` asks which of the pair's numbers change nothing, and
# finds that a single entry of a query matrix means nothing.
#
# You can now say which parameters of a query and a key matrix are redundant, and find the nearest
# product of rank k. The exercise to do next is the one that :ref:`adds queries <ex-add-queries>`.

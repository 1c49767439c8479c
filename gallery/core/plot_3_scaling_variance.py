"""
.. lesson:: Scaled dot products
   :minutes: 75
   :extra: plot
   :needs: core/plot_1
   :exercises: scale
   :tasks: product-variance divide-by jacobian bug-width
   :search: scaled dot product; square root; sqrt; temperature

Scaled dot products: why the scores are divided by √k
=====================================================

Why does attention divide its scores by the square root of the key width?

Because of the state in which a layer starts, before any training. As long as the numbers in queries
and keys are independent, with mean 0 and variance 1, the dot product of a query and a key of width
k has a standard deviation of √k. With wide keys the scores are then so large that the softmax gives
nearly all the weight to one key, and most queries can hardly be trained. Divided by √k, the scores
have the same standard deviation at every width.

The first reading takes eight minutes, and the whole page an hour and a quarter. You need the
:doc:`steps of attention </gallery/core/plot_1_qkv_derivation>`. Running the page takes ten seconds.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from attention.plotting import (
    BLACK,
    BLUE,
    GREEN,
    KEY,
    ORANGE,
    QUERY,
    WEIGHT,
    draw_box,
    draw_flow,
    use_style,
)

use_style()

# %%

# sphinx_gallery_start_ignore


def draw_shapes():
    """Draw the step from queries and keys to weights, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 3.7))
    ax.set(xlim=(0, 10), ylim=(7.7, 0.3))
    for x, name, color in ((2.2, "query   (n, k)", QUERY), (7.8, "key   (m, k)", KEY)):
        draw_box(ax, x, 0.8, name, color)
        draw_flow(ax, (x, 1.3), (x, 2.1))
    steps = ["query · key: sum of k products   (n, m)", "scaled scores: divided by √k   (n, m)"]
    steps += ["softmax over the m keys", "weights: each row sums to 1   (n, m)"]
    for y, step in zip((2.6, 4.1, 5.6, 7.1), steps, strict=True):
        draw_box(ax, 5, y, step, BLACK if "score" in step or "·" in step else WEIGHT)
        if y > 2.6:
            draw_flow(ax, (5, y - 1), (5, y - 0.45))
    return fig


# sphinx_gallery_end_ignore
fig = draw_shapes()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart. Queries, (n, k), and keys, (m, k), give dot products, (n, m), each a sum of k "
    "products. Divided by the root of k they are the scaled scores. A softmax over the m keys "
    "turns them into weights, (n, m), whose rows sum to 1."
)

# %%
# *Figure 1.* From n queries and m keys of width k to the weights. The width k is summed over in the
# first step and does not appear in any later shape, but the size of the scores depends on it. In
# this lesson a *score* is the dot product itself; divided by √k it is a *scaled score*.
#
# What large scores do to a softmax
# ---------------------------------
# Take five scores, and then the same scores times 8, in the same order and with the same ratios.

scores = torch.tensor([0.1, -0.2, 0.3, -0.2, 0.5])  # (5,)
shared = torch.softmax(scores, dim=-1)  # (5,)
peaked = torch.softmax(8 * scores, dim=-1)  # (5,)
print("   scores  8 × scores")
for key, *pair in zip("abcde", shared, peaked, strict=True):
    print(key, "{:7.4f} {:11.4f}".format(*pair))

# %%

fig, axes = plt.subplots(2, figsize=(5, 4.4), sharex=True, sharey=True)
both = {"softmax(scores)": shared, "softmax(8 × scores)": peaked}
for ax, (title, weights) in zip(axes, both.items(), strict=True):
    ax.bar_label(ax.bar(list("abcde"), weights.tolist(), color=WEIGHT), fmt="%.2f")
    ax.set_title(title, fontsize=11)
    ax.set(ylabel="weight", ylim=(0, 1))
fig.set_label(
    "Two bar charts of five weights. Above, the softmax of the scores spreads its weight over "
    "all five. Below, for 8 times the scores, one bar holds most of it."
)

# %%
# *Figure 2.* The same five scores, and the same scores times 8, after the softmax. The largest
# weight grows from 0.29 to 0.80.
#
# The softmax depends on *differences* between scores, since :math:`w_i / w_j = e^{s_i - s_j}`.
# Eight times the scores means eight times the differences, which raises each ratio of weights to
# the power of eight. At the start this harms learning: once one weight is nearly 1 and the others
# nearly 0, a small change of a score changes hardly any weight, so hardly any gradient reaches the
# scores.
#
# Closer look: how strongly each weight responds to each score
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# If training has given most of the weight to one word, this does no harm in itself. What large
# scores harm is learning. To see how strongly the weights respond, we raise one score, that of "c",
# by 0.01, and divide the change of each weight by 0.01:

nudge = torch.tensor([0.0, 0.0, 0.01, 0.0, 0.0])  # (5,)
change = (torch.softmax(scores + nudge, dim=-1) - shared) / 0.01  # (5,)
change_of_8 = (torch.softmax(8 * scores + nudge, dim=-1) - peaked) / 0.01  # (5,)
print("   scores  8 × scores")
for key, *pair in zip("abcde", change, change_of_8, strict=True):
    print(key, "{:7.4f} {:11.4f}".format(*pair))

# %%
# What "c" gains, the others lose, and most of these numbers are smaller in the second column, that
# of 8 × scores. Each printed number is approximately the derivative of one weight with respect to
# the score of "c". The derivatives of all weights with respect to all scores form a table, the
# :term:`Jacobian` of the softmax, which has one row per weight and one column per score. Each
# printed column is approximately the column of "c" in such a table:
#
# .. math::
#    J &= \mathrm{diag}(w) - w w^\top \\
#    J_{ij} &= \frac{\partial w_i}{\partial s_j} = w_i (\delta_{ij} - w_j)
#
# where :math:`\delta_{ij}` is 1 if i = j, else 0. By the chain rule every gradient that reaches the
# scores is multiplied by this table. When one weight approaches 1 and the others 0, every entry of
# the table approaches 0, and little of the gradient gets through. We first check the formula
# against torch's own derivative, and then measure the size of the Jacobian. Throughout this lesson,
# the size of a Jacobian is its :term:`Frobenius norm`, the square root of the sum of all squared
# entries.


def softmax_jacobian(weights):
    """Return how each weight responds to each score, for any number of leading dimensions."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


by_torch = torch.autograd.functional.jacobian(lambda s: s.softmax(dim=-1), scores)  # (5, 5)
assert torch.allclose(softmax_jacobian(shared), by_torch, atol=1e-7)
print(f"Jacobian at scores    : {softmax_jacobian(shared).norm():.4f}")
print(f"Jacobian at 8 × scores: {softmax_jacobian(peaked).norm():.4f}")

# %%
# Where a factor like 8 comes from
# --------------------------------
# Such a factor comes from the width of the keys, because the dot product of two vectors of width k
# is a sum of k products:
#
# .. math:: \mathrm{query} \cdot \mathrm{key} = \sum_{i=1}^{k} \mathrm{query}_i\, \mathrm{key}_i
#
# The :term:`variance`, :math:`\sigma^2`, is the mean squared distance from the mean, and its root
# is the :term:`standard deviation` :math:`\sigma`, which says how large a typical deviation is.
# Suppose, as footnote 4 of :cite:t:`vaswani2017attention` does, that all numbers in the two vectors
# are drawn independently, with mean 0 and variance 1.
#
# .. predict:: variance-of-the-sum
#
#    What is the variance of the dot product of two such vectors of width k = 20?
#
#    About 1, like that of each number : ``0.5 < variance < 2``
#        This is the variance of a single product.
#    About 20 : ``15 < variance < 25``
#        Each product has variance 1, and the variances of 20 independent products add up.
#    About 400 : ``300 < variance < 500``
#        Twenty times the same product would have this variance. Independent products partly cancel
#        each other.

pairs = torch.randn(2, 1_000, 20, generator=torch.Generator().manual_seed(0))  # (2, 1000, 20)
variance = (pairs[0] * pairs[1]).sum(dim=-1).var()
print(f"variance of 1,000 dot products: {variance:.1f}")

# %%
# Under this assumption the variance of a product is the product of the two variances, and the
# variance of a sum is the sum of the variances:
#
# .. math::
#    \mathrm{Var}(\mathrm{query}_i\, \mathrm{key}_i) &= 1 \cdot 1 = 1 \\
#    \mathrm{Var}(\mathrm{query} \cdot \mathrm{key}) &= \sum_{i=1}^{k} 1 = k
#
# So the variance grows as k and a typical score as :math:`\sqrt k`. If every score is divided by
# :math:`\sqrt k`, the standard deviation is divided by :math:`\sqrt k` and the variance by k, which
# brings both back to 1. We measure the variance for two widths, on 1,000 pairs of random vectors.

generator = torch.Generator().manual_seed(100)


def dot_products(trials, k):
    """Draw pairs of vectors of width k and multiply them."""
    query, key = torch.randn(2, trials, k, generator=generator)  # (trials, k), (trials, k)
    return (query * key).sum(dim=-1).double()


variances, drawn = {}, {}
print("variance before and after the scale")
for k in (5, 20):
    products = dot_products(1_000, k)  # (1000,)
    drawn[k] = products
    variances[k] = products.var().item(), (products / math.sqrt(k)).var().item()
    print(f"k = {k:2}: {variances[k][0]:7.4f}, {variances[k][1]:.4f}")

# %%

fig, axes = plt.subplots(2, figsize=(5, 4), sharex=True)
for k, color, line in ((5, BLUE, "-"), (20, ORANGE, "--")):
    for ax, numbers in zip(axes, (drawn[k], drawn[k] / math.sqrt(k)), strict=True):
        style = {"histtype": "step", "lw": 2, "ls": line, "color": color, "label": f"k = {k}"}
        ax.hist(numbers, bins=40, range=(-15, 15), density=True, **style)
axes[0].set_title("query · key", loc="left", fontsize=11)
axes[1].set_title("divided by √k", loc="left", fontsize=11)
axes[0].legend()
for ax in axes:
    ax.set_ylabel("density")
fig.set_label(
    "Histograms of 1,000 dot products for k = 5 and for k = 20. Above, before the division, that "
    "of k = 20 is twice as wide as that of k = 5. Below, divided by the root of k, both are alike."
)

# %%
# *Figure 3.* The dot products of both widths, before the division (above) and after it (below),
# where the two widths can no longer be told apart.
#
# So a layer starts in the same state whichever width you choose, and that is the purpose of the
# scale.
#
# Closer look: why it is the sum that has the large variance
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Two of the documents that these lessons follow give another reason. :ref:`The tutorial chapter
# <source-chapter>` explains the scale with the words "multiplying two random numbers increases the
# variance", and :ref:`the lecture notes <source-notes>` use nearly the same words. But a product of
# two such numbers has variance 1, as each of the two numbers has. What increases the variance is
# *adding* k of the products.

one, other = torch.randn(2, 1_000_000, generator=generator)  # (1000000,), (1000000,)
print(f"variance of the numbers   {one.var():.3f}, {other.var():.3f}")
print(f"variance of their product {(one * other).var():.3f}")

# %%
# Closer look: how to check the variance so that the check can fail
# -----------------------------------------------------------------
# .. admonition:: What went wrong: a check that can't fail
#    :class: warning
#
#    :ref:`The chapter <source-chapter>` prints the same two columns, the variance "before" and
#    "after" the scale, and takes the second as evidence. But "after" is "before" divided by k, up
#    to rounding, for *any* numbers whatever, so if the theory were wrong, "after" would be wrong by
#    the very same factor as "before". The following lines divide "before" by k and subtract
#    "after":

for k, (before, after) in variances.items():
    print(f"k = {k:2}: before / k - after = {before / k - after:+.1e}")
    assert math.isclose(before / k, after)

# %%
# The chapter has a second fault: the numbers that it prints can't be reproduced. It calls
# ``torch.manual_seed(100)`` and then draws with numpy, which has a generator of its own. We make
# this call twice and draw after each call: torch repeats its number, and numpy does not.

numpy_draws, torch_draws = [], []
for _ in range(2):
    torch.manual_seed(100)
    numpy_draws.append(np.random.randn())  # noqa: NPY002 - the mistake on show
    torch_draws.append(torch.randn(()).item())
print("after torch.manual_seed(100), twice")
for name, draws in {"numpy": numpy_draws, "torch": torch_draws}.items():
    print(name, "draws {:7.4f} and {:7.4f}".format(*draws))

# %%
# The measurements on this page draw from a ``torch.Generator`` that is passed explicitly.
#
# A measurement deserves the name only if it could have come out otherwise. So we now take ten
# widths from 2 to 1,024, and for each width we measure 100 times, each time on 1,000 new pairs. The
# repeats show the sampling variability, that is, how much the measured variance differs between
# repeats. The theory predicts this scatter as well; the dashed lines of Figure 3a are its
# prediction. The next paragraph derives the prediction for readers who know some statistics, and
# you can skip it.
#
# The variance of 1,000 numbers itself scatters from repeat to repeat. The standard deviation of
# this scatter is about :math:`\sqrt{(\mu_4 - \sigma^4) / 1000}`, where :math:`\mu_4` is the *fourth
# moment*, the mean of the fourth powers, which is large if a few numbers lie far out. The fourth
# moment of a standard normal variable is 3, and that of the product of two independent ones is 9.
# In the fourth moment of a sum of k such products, each product contributes 9 and each of the
# :math:`k(k-1)` ordered pairs of products contributes 3, which makes :math:`9k + 3k(k-1) = k^2 (3 +
# 6/k)`. Since :math:`\sigma^4 = k^2`, the predicted scatter is :math:`k\,\sqrt{(2 + 6/k)/1000}`.

widths = [2**i for i in range(1, 11)]
repeats, trials = 100, 1_000
measured = torch.empty(len(widths), repeats, dtype=torch.float64)  # (10, 100)
for i, k in enumerate(widths):
    for r in range(repeats):
        measured[i, r] = dot_products(trials, k).var()

width = torch.tensor(widths, dtype=torch.float64)  # (10,)
scatter = ((2 + 6 / width) / trials).sqrt()  # (10,)

# %%


def draw_band(ax, samples, color, label, **style):
    """Draw the median over repeats, and the middle 90 % of them as a band."""
    share = torch.tensor([0.05, 0.5, 0.95], dtype=samples.dtype)  # (3,)
    low, middle, high = samples.quantile(share, dim=-1)  # (10,), (10,), (10,)
    ax.fill_between(widths, low, high, color=color, alpha=0.25, lw=0)
    ax.plot(widths, middle, color=color, label=label, **style)


fig, (top, bottom) = plt.subplots(2, figsize=(5, 6.4), sharex=True)
draw_band(top, measured, BLUE, "variance σ²", marker="o", ls="")
draw_band(top, measured.sqrt(), ORANGE, "standard deviation σ", marker="s", ls="")
top.plot(widths, width, color=BLACK, lw=1, label="theory: k and √k")
top.plot(widths, width.sqrt(), color=BLACK, lw=1)
top.set(yscale="log", ylabel="of query · key")
top.legend()
draw_band(bottom, measured / width[:, None], BLUE, "measured, 90 % of repeats", marker="o", ls="")
bottom.axhline(1, color=BLACK, lw=1)
for sign in (-1, 1):  # 90 % of a normal distribution are within 1.645 standard deviations
    bottom.plot(widths, 1 + sign * 1.645 * scatter, color=BLACK, lw=1, ls="--")
bottom.plot([], [], color=BLACK, lw=1, ls="--", label="theory, 90 %")
bottom.set(xscale="log", ylim=(0.82, 1.13), xlabel="key width k", ylabel="the variance, over k")
bottom.set_xticks(widths[::3], [f"{k:,}" for k in widths[::3]])
bottom.legend(loc="lower right")
fig.set_label(
    "Above: measured variance of query · key on the line k, its standard deviation on the line √k, "
    "for widths from 2 to 1,024. Below: variance divided by k stays at 1 for all widths, and its "
    "band over repeats matches the one that theory predicts."
)

# %%
# *Figure 3a.* Measured variance (circles) and standard deviation (squares) of the dot products
# against the key width, with the middle 90 % of 100 repeats as a band. The lower panel shows the
# variance divided by k, which stays at 1, and the scatter agrees with the theory.
#
# Closer look: what √k does to the weights that k and no division do not
# ----------------------------------------------------------------------
# If it is the variance σ² that is k times too large, why not divide by k? Because dividing
# *numbers* by c divides their standard deviation by c and their variance by :math:`c^2`. If we
# divided by k, the variance of independent scores would fall from k to :math:`k/k^2 = 1/k`, and the
# weights of a wide layer would be nearly equal.
#
# To see it, one query meets 16 keys, 400 times for each width, and we measure two properties of the
# weights. The first is how evenly the weight is shared among the keys. It is measured by the
# :term:`entropy` :math:`-\sum_j w_j \ln w_j`, which is :math:`\ln 16` if all weights are equal and
# 0 if one key has all the weight. We divide the entropy by :math:`\ln 16`, so that its largest
# value is 1. The second is how well the scores can still be trained, and this is measured by the
# size of the Jacobian. If all :math:`m` = 16 weights are equal, this size is :math:`\sqrt{m-1}/m`,
# the dotted line in the figure.

m, repeats = 16, 400
scales = {
    "no scale": lambda k: 1.0,
    "divided by √k": lambda k: k**-0.5,
    "divided by k": lambda k: 1 / k,
}
entropy = {name: torch.empty(len(widths), repeats) for name in scales}
jacobian = {name: torch.empty(len(widths), repeats) for name in scales}
for i, k in enumerate(widths):
    query = torch.randn(repeats, 1, k, generator=generator)  # (400, 1, k)
    key = torch.randn(repeats, m, k, generator=generator)  # (400, 16, k)
    raw = (query * key).sum(dim=-1)  # (400, 16)
    for name, scale in scales.items():
        weights = torch.softmax(raw * scale(k), dim=-1)  # (400, 16)
        entropy[name][i] = torch.special.entr(weights).sum(dim=-1) / math.log(m)
        jacobian[name][i] = softmax_jacobian(weights).norm(dim=(-2, -1))

# %%

fig, (top, bottom) = plt.subplots(2, figsize=(5, 7), sharex=True)
for name, color, marker in zip(scales, (ORANGE, BLUE, GREEN), "so^", strict=True):
    draw_band(top, entropy[name], color, name, marker=marker)
    draw_band(bottom, jacobian[name], color, name, marker=marker)
bottom.axhline(math.sqrt(m - 1) / m, color=BLACK, lw=1, ls=":", label="all weights equal")
top.set(ylabel="entropy, as a share of ln 16", ylim=(-0.05, 1.05))
bottom.set(
    xscale="log", yscale="log", ylim=(1e-6, 1), xlabel="key width k", ylabel="size of the Jacobian"
)
bottom.set_xticks(widths[::3], [f"{k:,}" for k in widths[::3]])
bottom.legend()
fig.set_label(
    "Entropy and Jacobian of the softmax over 16 keys against the width, three lines each with "
    "bands over 400 repeats. Without a scale both fall towards 0 as the width grows. Divided by √k "
    "both stay level. Divided by k the weights become all equal."
)

# %%
# *Figure 3b.* Entropy of the weights and size of the Jacobian against the key width, as medians of
# 400 queries with bands for the middle 90 %. Without a scale (squares) both fall, with division by
# √k (circles) both stay level, and with division by k (triangles) the weights become nearly equal.
#
# The next table gives these medians at the largest width. Its last column is the share of the
# queries whose Jacobian is smaller than 0.01.

print("k = 1,024      entropy  Jacobian  <0.01")
for name in scales:
    e, j = entropy[name][-1], jacobian[name][-1]  # (400,), (400,)
    below = (j < 0.01).float().mean()
    print(f"{name:14}{e.median():8.3f}{j.median():10.6f}{below:7.0%}")

# %%
# By these medians over the 400 queries, a wide layer without the scale starts by giving nearly all
# the weight to one key, chosen at random. With division by k, it starts with nearly the same share
# for every key, whatever the query is. With division by :math:`\sqrt k`, it starts in the same
# state whichever width you choose, and that is the purpose of the scale.
#
# The usual explanation is "vanishing gradients", as in :ref:`the blog post <source-blog>`, and that
# is only half of the story. In Figure 3b the band for undivided scores is wide, because for a query
# whose two best keys happen to tie, the Jacobian is as large as ever. And the scale itself shrinks
# the gradient that flows back to :math:`\mathrm{query} \cdot \mathrm{key}`, since by the chain rule
# the Jacobian is multiplied by :math:`1/\sqrt k`. So we include this factor in the sizes of the
# gradients, and compare their median *and* their mean. The last column takes the largest tenth of
# the sizes, and gives their sum as a share of the sum of all.

whole = {
    "no scale": jacobian["no scale"][-1],
    "divided by √k": jacobian["divided by √k"][-1] / math.sqrt(widths[-1]),
}
print("k = 1,024        median     mean  tenth")
for name, size in whole.items():
    tenth = size.topk(repeats // 10).values.sum() / size.sum()
    print(f"{name:14}{size.median():9.6f}{size.mean():9.6f}{tenth:7.0%}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.4))
share = torch.arange(1, repeats + 1) / repeats  # (400,)
for (name, size), color, line in zip(whole.items(), (ORANGE, BLUE), ("-", "--"), strict=True):
    ax.plot(share, size.sort(descending=True).values.cumsum(dim=0), line, color=color, label=name)
ax.set(xlabel="share of the queries, largest gradient first", ylabel="their gradients, summed")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.set_ylim(0, None)
ax.legend()
fig.set_label(
    "Gradients of 400 queries, summed from the largest to the smallest. Without a scale the curve "
    "rises steeply over the first queries and is level from then on. Divided by the root of k, it "
    "rises in an almost straight line, to a smaller sum."
)

# %%
# *Figure 3c.* The sizes of the gradients at k = 1,024, added up from the largest to the smallest.
# Without the scale (solid) a few queries have most of the sum; with it (dashed) every query adds
# about as much as any other.
#
# On average the gradient is larger without the scale than with it, but most of it goes to the few
# queries whose best keys tie, while the typical query gets next to nothing. With the scale, every
# query gets about the same, so what the scale buys is *evenness*.
#
# All of this assumes independent numbers of variance 1 in queries and keys. Even for a fresh layer
# that is an idealisation, because the default initialisation of ``nn.Linear`` makes smaller
# numbers, as :doc:`the lesson on the layer </gallery/core/plot_2_attention_layer>` measures. The
# next two closer looks show two further limits.
#
# Closer look: what the scale leaves out, the number of keys
# ----------------------------------------------------------
# What matters besides the width k is the number m of keys that a query meets. To see how much it
# matters, we estimate the entropy of the weights for scaled scores that are independent and drawn
# from the normal distribution of mean 0 and variance 1. For one such score s, :math:`e^s` and
# :math:`s\,e^s` have the same mean, :math:`e^{1/2}`. For m scores, if there are many, the two sums
# :math:`\sum_j e^{s_j}` and :math:`\sum_j s_j e^{s_j}` are therefore both about :math:`m\,e^{1/2}`.
# The second sum divided by the first is the weighted mean of the scores, :math:`\sum_j w_j s_j`,
# which is thus about 1. The entropy is the logarithm of the first sum minus this mean:
#
# .. math::
#    -\sum_j w_j \ln w_j &= \ln \sum_j e^{s_j} - \sum_j w_j s_j \\
#    &\approx \ln m + \tfrac12 - 1 = \ln m - \tfrac12
#
# So :math:`e^{\mathrm{entropy}}` is about a fixed share of m and grows with the length of the text.
# It can be read as a number of keys: attention shared evenly among that many keys would have the
# same entropy. We print the measured entropy, this estimate of it, and the measured entropy as a
# share of its maximum, :math:`\ln m`. The last column is the largest weight.

k, repeats = 64, 50
lengths = [16, 64, 256, 1024, 4096]
entropy_of_length = {}
print(" keys entropy  ln m - ½  share  largest")
for m in lengths:
    query = torch.randn(repeats, 1, k, generator=generator)  # (50, 1, k)
    key = torch.randn(repeats, m, k, generator=generator)  # (50, m, k)
    weights = torch.softmax((query * key).sum(dim=-1) / math.sqrt(k), dim=-1)  # (50, m)
    entropy_of_length[m] = torch.special.entr(weights).sum(dim=-1).median().item()
    share, largest = entropy_of_length[m] / math.log(m), weights.amax(dim=-1).median()
    expected = math.log(m) - 0.5
    print(f"{m:5,}{entropy_of_length[m]:8.3f}{expected:10.3f}{share:7.3f}{largest:9.4f}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.2))
ends = torch.tensor(lengths[:: len(lengths) - 1]).log()  # (2,)
ax.plot(lengths, entropy_of_length.values(), "o", color=BLUE, label="measured")
ax.plot(lengths[:: len(lengths) - 1], ends, ":", color=BLACK, lw=1, label="largest possible, ln m")
ax.plot(lengths[:: len(lengths) - 1], ends - 0.5, color=BLACK, lw=1, label="estimate, ln m - ½")
ax.set(xscale="log", xlabel="number m of keys", ylabel="entropy (nats)")
ax.set_xticks(lengths, [f"{m:,}" for m in lengths])
ax.minorticks_off()
ax.legend()
fig.set_label(
    "Entropy of the weights against the number of keys, from 16 to 4,096. The measured entropies "
    "lie on the line of the estimate, half a nat below the largest possible entropy."
)

# %%
# *Figure 3d.* The entropy of scaled scores against the number of keys. It keeps half a nat below
# its maximum, and so grows with the length of the text, whatever the width.
#
# As these medians over 50 queries show, the weights of an untrained layer depend on the length of
# the text in spite of the scale: with more keys, the largest weight is smaller and the entropy is
# nearer to its maximum. No power of k can change that, since k says nothing about m.
# :cite:t:`chiang2022overcoming` multiply the scores by :math:`\ln m` for this reason.
#
# Closer look: how training makes the scores grow, by optimiser
# -------------------------------------------------------------
# The variance of a score is k only while queries and keys are independent. Training makes them
# dependent, because it moves a query and the key that the query should find towards each other, so
# that the k products no longer cancel. How much one step adds to each of them depends on the
# optimiser:
#
# * :term:`Adam` moves every entry of a matrix by about its learning rate. Each of the k products
#   grows by about the same amount at every width, and their sum grows as k.
# * In plain :term:`gradient descent <gradient>` the step is proportional to the gradient, which
#   contains the scale as a factor. With the scale :math:`1/\sqrt k` each product therefore grows by
#   :math:`1/\sqrt k` as much, and their sum grows as :math:`\sqrt k`.
#
# Most large models are trained with Adam or its relatives. For this case :cite:t:`yang2022tensor`
# divide by k (definition 4.1 of their parametrisation, μP), so that settings found for a narrow
# model also fit a wide one. (For plain gradient descent they also prescribe a learning rate that
# depends on the width.)
#
# To watch this happen, we train each of sixteen random tokens to attend to the next one, with ten
# steps of either optimiser at one learning rate for all widths. A token and the next one make a
# pair. We print the mean growth of the sixteen pairs' undivided scores, :math:`\mathrm{query} \cdot
# \mathrm{key}`, once in units of :math:`\sqrt k` and once in units of k. The last two columns are
# the mean weight of the pairs before the first step and after the last.

tokens = torch.randn(16, 64, generator=generator)  # (16, 64)
following = torch.arange(1, 17) % 16  # (16,)
optimizers = {
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-3),
    "plain": lambda parameters: torch.optim.SGD(parameters, lr=0.3),
}


def train(k, scale, make, steps=10):
    """Return the scores of the pairs and their weights, each before and after the steps."""
    draws = torch.Generator().manual_seed(0)
    W_query, W_key = torch.randn(2, 64, k, generator=draws) / 8  # (64, k), (64, k)
    optimizer = make([W_query.requires_grad_(), W_key.requires_grad_()])
    scores, weights = [], []
    for _ in range(steps + 1):
        raw = (tokens @ W_query) @ (tokens @ W_key).T  # (16, 16)
        log_weights = (raw * scale).log_softmax(dim=-1)[range(16), following]  # (16,)
        scores.append(raw[range(16), following].detach())
        weights.append(log_weights.exp().mean().item())
        optimizer.zero_grad()
        (-log_weights.mean()).backward()
        optimizer.step()
    return scores[0], scores[-1], weights[0], weights[-1]


growth, reached = {}, {}
print("steps  by     k growth/√k growth/k first  last")
for steps, make in optimizers.items():
    for name in ("divided by √k", "divided by k"):
        for k in (16, 64, 256, 1024):
            before, after, first, last = train(k, scales[name](k), make)  # (16,), (16,)
            growth[steps, name, k] = (after - before).mean().item()
            reached[steps, name, k] = last
            in_roots, in_widths = (growth[steps, name, k] / each for each in (math.sqrt(k), k))
            print(f"{steps:5}  {name[11:]:2}{k:6,}{in_roots:10.2f}{in_widths:9.3f}", end="")
            print(f"{first:6.3f}{last:6.3f}")

# %%

fig, axes = plt.subplots(2, figsize=(5, 5), sharex=True)
for ax, steps in zip(axes, optimizers, strict=True):
    for name, color, marker in (("divided by √k", BLUE, "o"), ("divided by k", GREEN, "^")):
        after = [reached[steps, name, k] for k in (16, 64, 256, 1024)]
        ax.plot((16, 64, 256, 1024), after, color=color, marker=marker, label=name)
    title = "Adam" if steps == "Adam" else "plain gradient descent"
    ax.set_title(title, loc="left", fontsize=11)
    ax.set(xscale="log", ylim=(0, 1), ylabel="weight reached")
axes[0].legend()
axes[1].set(xlabel="key width k")
axes[1].set_xticks((16, 64, 256, 1024), ("16", "64", "256", "1,024"))
axes[1].minorticks_off()
fig.set_label(
    "Mean weight of a pair after ten steps, against the width. Under Adam, division by the root of "
    "k reaches more the wider the layer, and division by k the same at every width. Under plain "
    "gradient descent, the root of k reaches the same at every width, and k less and less."
)

# %%
# *Figure 3e.* The weight of a token's partner after the same ten steps. The scale that takes all
# widths equally far is k under Adam (triangles, above), and √k under plain gradient descent
# (circles, below).
#
# Under Adam the growth rises with the width if it is measured in units of :math:`\sqrt k`, and
# stays nearly level in units of k, as the argument says. So with the scale :math:`1/\sqrt k` the
# same ten steps take a wide layer much further than a narrow one, whereas with :math:`1/k` they
# take all widths equally far. Under plain gradient descent at one learning rate it is the other way
# round: with :math:`1/\sqrt k` all widths get equally far, and with :math:`1/k` a wide layer hardly
# moves.
#
# Neither scale is right in itself. Division by :math:`\sqrt k` keeps the *start* the same at every
# width. Which division keeps the effect of the *steps* the same depends on the optimiser, and for
# Adam it is division by k. Under Adam with division by :math:`\sqrt k`, a learning rate that fits
# one width need not fit another. :doc:`A lesson on the scale in training
# </gallery/deeper/plot_9e_scale_in_training>` continues from here, to QK-norm and to a training run
# that fails.
#
# There need not be a division at all: T5 (:cite:t:`raffel2020exploring`) does without one, because
# its code starts the query matrix with numbers that are smaller by a factor of :math:`\sqrt k`
# (``fold_scaling_into_initializer`` in Mesh TensorFlow). At the start such a layer computes the
# same function, up to rounding, as one that divides. We check this at a width of 1,000 and not of
# 1,024: the root of 1,024 is 32, a power of two, and dividing by it would involve no rounding.

W_query, W_key = torch.randn(2, 64, 1000, generator=generator) / 8  # (64, 1000), (64, 1000)
divided = (tokens @ W_query) @ (tokens @ W_key).T / math.sqrt(1000)  # (16, 16)
folded = (tokens @ (W_query / math.sqrt(1000))) @ (tokens @ W_key).T  # (16, 16)
print(f"largest difference {(divided - folded).abs().max().item():.0e}")
assert torch.allclose(divided, folded, atol=1e-4)

# %%
# Takeaways
# ---------
# * Why divide by :math:`\sqrt k`? Because the sum of k products of independent numbers of mean 0
#   and variance 1 has the standard deviation :math:`\sqrt k`, and the division brings it back to 1,
#   so that layers of all widths start alike.
# * A softmax of large scores gives one word nearly all the weight, and passes hardly any gradient
#   on.
# * All of this is a statement about the start. It says nothing of the number of keys, nor of what
#   training does to the scores.
#
# *From memory:* close this page and derive the :math:`\sqrt k`, from the variance of one product to
# the standard deviation of a score. Which step needs independence? Then check the result on random
# vectors of width 64.
#
# *Where next:* which keys may a query attend to at all? That is decided by
# :doc:`masks </gallery/core/plot_4_masks>`.
#
# You can now derive the scale, and say for which state of a layer it holds. The exercise to do next
# is :ref:`the variance of a product <ex-product-variance>`.

plt.show()

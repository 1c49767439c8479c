"""
Why the scores are divided by √k
================================

Why does attention divide its scores by the square root of the key width?

Because of how a layer starts. As long as the numbers in queries and keys are independent, with mean
0 and variance 1, a score of width k has the standard deviation √k, and a softmax fed with scores
that large stops sharing and stops learning. Divided by √k, the scores start alike at every width.
The argument is a footnote of :cite:t:`vaswani2017attention` (section 3.2.1, footnote 4); here it is
computed and measured. The last two sections look at what it leaves out, which is the number of keys
and all that training does afterwards.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from attention.plotting import BLACK, BLUE, GREEN, ORANGE, use_style

use_style()

# %%
# A softmax that stops sharing
# ----------------------------
# Take five scores. Then take them 8 times as large. Their order is the same, and so is every ratio
# between them.

words = ["a", "b", "c", "d", "e"]
scores = torch.tensor([0.1, -0.2, 0.3, -0.2, 0.5])  # (5,)
shared = torch.softmax(scores, dim=-1)  # (5,)
peaked = torch.softmax(8 * scores, dim=-1)  # (5,)
print("scores    ", shared)
print("8 × scores", peaked)

# %%

fig, axes = plt.subplots(2, figsize=(5, 4.4), sharex=True, sharey=True)
for ax, weights, title in zip(
    axes, (shared, peaked), ("softmax(scores)", "softmax(8 × scores)"), strict=True
):
    ax.bar_label(ax.bar(words, weights.tolist(), color=BLUE), fmt="%.2f")
    ax.set_title(title, fontsize=11)
    ax.set(ylabel="weight", ylim=(0, 1))
fig.set_label(
    "Two bar charts of five weights. Above, the softmax of the scores shares its weight between "
    "all five. Below, for 8 times the scores, one bar holds most of it."
)

# %%
# The softmax looks at *differences* between scores: :math:`w_i / w_j = e^{s_i - s_j}`. Eight times
# the scores means eight times the differences, and each ratio of weights to the power of eight.
#
# One word holding most of the weight is no harm in itself, if training wanted it so. The harm is
# what happens to learning. How does weight :math:`i` change when score :math:`j` changes? The
# answer is a table, the *Jacobian* of the softmax:
#
# .. math:: J = \mathrm{diag}(w) - w w^\top, \qquad
#           J_{ij} = \frac{\partial w_i}{\partial s_j} = w_i (\delta_{ij} - w_j)
#
# where :math:`\delta_{ij}` is 1 if i = j, else 0. Every gradient that reaches the scores is
# multiplied by it. When one weight nears 1 and the
# others near 0, each entry nears 0, and little gets through. First we check the formula against
# torch's own derivative; then we measure its size.


def softmax_jacobian(weights):
    """Return how each weight answers to each score, for any number of leading dimensions."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def softmax_last(scores):
    """Share along the last dimension."""
    return torch.softmax(scores, dim=-1)


by_torch = torch.autograd.functional.jacobian(softmax_last, scores)  # (5, 5)
assert torch.allclose(softmax_jacobian(shared), by_torch, atol=1e-7)
print(f"size of the Jacobian at scores    : {softmax_jacobian(shared).norm():.4f}")
print(f"size of the Jacobian at 8 × scores: {softmax_jacobian(peaked).norm():.4f}")

# %%
# "Size" is the square root of the sum of all squared entries, and it will stay so on this page.
#
# Where would a factor like 8 come from?
# --------------------------------------
# From the width of the keys. A score of width k is a sum of k products,
#
# .. math:: \mathrm{query} \cdot \mathrm{key} = \sum_{i=1}^{k} \mathrm{query}_i\, \mathrm{key}_i .
#
# Suppose, as the footnote does, that all those numbers are drawn independently, with mean 0 and
# variance 1. Then the variance of one product is the product of two variances, and the variance of
# a sum is the sum:
#
# .. math::
#    \mathrm{Var}(\mathrm{query}_i\, \mathrm{key}_i) = 1 \cdot 1 = 1, \qquad
#    \mathrm{Var}(\mathrm{query} \cdot \mathrm{key}) = \sum_{i=1}^{k} 1 = k .
#
# *Variance*, :math:`\sigma^2`, is the mean squared distance from the mean. Its root is the
# *standard deviation* :math:`\sigma`, and that is how large a typical score is. So the variance
# grows as k, a typical score as :math:`\sqrt k`. Divide every score by :math:`\sqrt k`: the
# standard deviation is divided by :math:`\sqrt k`, the variance by k, and both are back at 1.
#
# .. admonition:: What went wrong: "multiplying two random numbers increases the variance"
#    :class: warning
#
#    :ref:`The chapter <source-chapter>` explains the scale in these words, and :ref:`the lecture
#    notes <source-notes>` in nearly the same. Multiplying does not increase it, because a product
#    of two such numbers has variance 1, as each factor has. *Adding* k of the products does.

generator = torch.Generator().manual_seed(100)
one, other = torch.randn(2, 1_000_000, generator=generator)  # (1000000,), (1000000,)
print(f"variance of one number      {one.var():.3f}")
print(f"variance of another         {other.var():.3f}")
print(f"variance of their product   {(one * other).var():.3f}")

# %%
# Measure it for two widths
# -------------------------
# 1,000 pairs of random vectors, one dot product each.


def dot_products(trials, k):
    """Draw pairs of vectors of width k and multiply them."""
    query, key = torch.randn(2, trials, k, generator=generator)  # (trials, k), (trials, k)
    return (query * key).sum(dim=-1).double()


variances = {}
for k in (5, 20):
    products = dot_products(1_000, k)  # (1000,)
    variances[k] = products.var().item(), (products / math.sqrt(k)).var().item()
    print(f"k = {k:2}: variance {variances[k][0]:7.4f}, after the scale {variances[k][1]:.4f}")

# %%
# Near k before, near 1 after.
#
# .. admonition:: What went wrong: a check that can't fail
#    :class: warning
#
#    :ref:`The chapter <source-chapter>` prints the same two columns and takes the second for
#    evidence. But "after" is "before" divided by k, up to rounding, for *any* numbers whatever, so
#    if the theory were wrong, "after" would be wrong by the very same factor.

for k, (before, after) in variances.items():
    print(f"k = {k:2}: before / k - after = {before / k - after:+.1e}")
    assert math.isclose(before / k, after)

# %%
# .. admonition:: What went wrong: seeding the wrong generator
#    :class: warning
#
#    :ref:`The chapter <source-chapter>` calls ``torch.manual_seed(100)`` and then draws with numpy,
#    which has a generator of its own and takes no notice. So the numbers printed there can't be
#    reproduced. Seed twice and look:

numpy_draws, torch_draws = [], []
for _ in range(2):
    torch.manual_seed(100)
    numpy_draws.append(np.random.randn())  # noqa: NPY002 - the mistake on show
    torch_draws.append(torch.randn(()).item())
print("numpy after torch.manual_seed(100):", numpy_draws)
print("torch after torch.manual_seed(100):", torch_draws)

# %%
# This page draws everything from one ``torch.Generator``, passed by hand.
#
# From k = 2 to k = 1,024
# -----------------------
# A measurement worth the name could come out otherwise. So: ten widths, and for each width 100
# repeats of the 1,000 trials. The repeats tell how far one estimate may stray by chance. Theory
# says that too. A sum of k products has the fourth moment :math:`k^2 (3 + 6/k)`, so the variance
# of 1,000 trials should itself scatter, with a standard deviation of about
# :math:`k\,\sqrt{(2 + 6/k)/1000}`.

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
for sign in (-1, 1):
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
# .. admonition:: What went wrong: σ or σ²?
#    :class: warning
#
#    Dividing by the root "keeps the variance close to 1", says :ref:`the chapter <source-chapter>`,
#    and readers ask: why not divide by k, if it is the variance that is k times too large? Because
#    dividing *numbers* by c divides their standard deviation by c and their variance by
#    :math:`c^2`. Divided by k, independent scores have variance :math:`1/k`, and the next section
#    shows what follows from that.
#
# What it does to the weights
# ---------------------------
# Now one query meets 16 keys, 400 times for each width, and we ask two things of the weights.
#
# Do they still share? The *entropy* :math:`-\sum_j w_j \ln w_j` is :math:`\ln 16` if all weights
# are equal and 0 if one key has it all. We divide it by :math:`\ln 16`.
#
# Can they still learn? That is the size of the Jacobian. If all :math:`n` weights are equal, it is
# :math:`\sqrt{n-1}/n`: the dotted line.

n, repeats = 16, 400
scales = {
    "no scale": lambda k: 1.0,
    "divided by √k": lambda k: k**-0.5,
    "divided by k": lambda k: 1 / k,
}
entropy = {name: torch.empty(len(widths), repeats) for name in scales}
jacobian = {name: torch.empty(len(widths), repeats) for name in scales}
for i, k in enumerate(widths):
    query = torch.randn(repeats, 1, k, generator=generator)  # (400, 1, k)
    key = torch.randn(repeats, n, k, generator=generator)  # (400, 16, k)
    raw = (query * key).sum(dim=-1)  # (400, 16)
    for name, scale in scales.items():
        weights = torch.softmax(raw * scale(k), dim=-1)  # (400, 16)
        entropy[name][i] = torch.special.entr(weights).sum(dim=-1) / math.log(n)
        jacobian[name][i] = softmax_jacobian(weights).norm(dim=(-2, -1))

# %%

fig, (top, bottom) = plt.subplots(2, figsize=(5, 7), sharex=True)
looks = zip(scales, (ORANGE, BLUE, GREEN), "so^", strict=True)
for name, color, marker in looks:
    draw_band(top, entropy[name], color, name, marker=marker)
    draw_band(bottom, jacobian[name], color, name, marker=marker)
bottom.axhline(math.sqrt(n - 1) / n, color=BLACK, lw=1, ls=":", label="all weights equal")
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

print("k = 1,024       entropy   Jacobian   queries with a Jacobian below 0.01")
for name in scales:
    e, j = entropy[name][-1], jacobian[name][-1]  # (400,), (400,)
    print(f"{name:14} {e.median():8.3f} {j.median():10.6f} {(j < 0.01).float().mean():14.0%}")

# %%
# (Medians over the 400 queries.) Without the scale a wide layer starts with one key taking nearly
# everything, chosen at random. Divided by k, a wide layer starts with the same share for every key,
# whatever the query is. Divided by :math:`\sqrt k`, the width no longer matters at the start, and
# that is the purpose: whichever width you choose, the layer starts in the same state.
#
# .. admonition:: What went wrong: "vanishing gradients"
#    :class: warning
#
#    So :ref:`the blog post <source-blog>` tells it, as many do, and it is half of the story. The
#    orange band is wide, because where the two best keys happen to tie, the Jacobian is as large as
#    ever. And the scale itself shrinks what flows back to :math:`\mathrm{query} \cdot
#    \mathrm{key}`, since by the chain rule the Jacobian is multiplied by :math:`1/\sqrt k`. So
#    compare whole gradients, median *and* mean.

whole = {
    "no scale": jacobian["no scale"][-1],
    "divided by √k": jacobian["divided by √k"][-1] / math.sqrt(widths[-1]),
}
print("k = 1,024         median       mean   share of the largest tenth")
for name, size in whole.items():
    tenth = size.topk(repeats // 10).values.sum() / size.sum()
    print(f"{name:14} {size.median():9.6f} {size.mean():10.6f} {tenth:14.0%}")

# %%
# On average the unscaled gradient is the larger one. But it falls to the few queries that tie,
# while the typical query gets next to nothing. With the scale, every query gets about the same.
# What the scale buys is *evenness*.
#
# All of this rests on independent numbers of variance 1, which is how one imagines a fresh layer.
# Even there it is an idealisation, because the default initialisation of ``nn.Linear`` is smaller,
# as :doc:`/gallery/core/plot_2_attention_layer` measured. Two further limits deserve a section
# each.
#
# The number of keys
# ------------------
# The width k is not the only number in a layer. How many keys does a query meet? For n independent
# scores of the normal distribution with variance 1, and n large, :math:`\sum_j e^{s_j}` is about
# :math:`n\,e^{1/2}`, and the mean of the scores, each counted by its weight, is about 1. The
# entropy is the logarithm of that sum less that mean:
#
# .. math:: -\sum_j w_j \ln w_j = \ln \sum_j e^{s_j} - \sum_j w_j s_j \approx \ln n - \tfrac12
#
# So :math:`e^{\mathrm{entropy}}`, which says among how many equal keys the attention might as well
# be shared, is a fixed share of n, and it grows with the text.

k, repeats = 64, 50
lengths = [16, 64, 256, 1024, 4096]
entropy_of_length = {}
print(" keys  entropy  ln n - 1/2  share of ln n  largest weight")
for n in lengths:
    query = torch.randn(repeats, 1, k, generator=generator)  # (50, 1, k)
    key = torch.randn(repeats, n, k, generator=generator)  # (50, n, k)
    weights = torch.softmax((query * key).sum(dim=-1) / math.sqrt(k), dim=-1)  # (50, n)
    entropy_of_length[n] = torch.special.entr(weights).sum(dim=-1).median().item()
    share, largest = entropy_of_length[n] / math.log(n), weights.amax(dim=-1).median()
    expected = math.log(n) - 0.5
    print(f"{n:5,} {entropy_of_length[n]:8.3f} {expected:11.3f} {share:14.3f} {largest:15.4f}")

# %%
# (Medians over 50 queries.) The scale makes the start independent of the width, and leaves it
# dependent on the length of the text: among more keys the largest weight is smaller and the entropy
# is nearer to its maximum. No power of k can change that, since k says nothing about n.
# :cite:t:`chiang2022overcoming` multiply the scores by :math:`\ln n` for this reason.
#
# What training does to the scores
# --------------------------------
# The variance of a score is k only while queries and keys are independent. Training makes them
# dependent, because a query and the key that it should find are moved towards each other. Then the
# k products no longer cancel, and their sum grows as k instead of :math:`\sqrt k`. For this reason
# :cite:t:`yang2022tensor` divide by k (definition 4.1 of their parametrisation, μP), so that
# settings found for a narrow model also fit a wide one.
#
# Watch it happen. Sixteen random tokens are trained to attend each to the next one, by ten steps of
# Adam at one learning rate for all widths. We print by how much the sixteen scores
# :math:`\mathrm{query} \cdot \mathrm{key}` of those pairs have grown, before any division.

tokens = torch.randn(16, 64, generator=generator)  # (16, 64)
following = torch.arange(1, 17) % 16  # (16,)


def train(k, scale, steps=10):
    """Return the scores of the pairs and their weights, each before and after the steps."""
    draws = torch.Generator().manual_seed(0)
    W_query, W_key = torch.randn(2, 64, k, generator=draws) / 8  # (64, k), (64, k)
    optimizer = torch.optim.Adam([W_query.requires_grad_(), W_key.requires_grad_()], lr=1e-3)
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
print("divided by     k   growth / √k   growth / k   weight before, after")
for name in ("divided by √k", "divided by k"):
    for k in (16, 64, 256, 1024):
        before, after, first, last = train(k, scales[name](k))  # (16,), (16,)
        growth[name, k] = (after - before).mean().item()
        reached[name, k] = last
        in_roots, in_widths = growth[name, k] / math.sqrt(k), growth[name, k] / k
        print(f"{name[11:]:10} {k:5,} {in_roots:13.2f} {in_widths:12.3f} {first:13.3f} {last:7.3f}")

# %%
# Measured in units of :math:`\sqrt k`, the growth rises with the width; measured in units of k it
# stays nearly level, as the argument says. So with :math:`1/\sqrt k` the same ten steps take a wide
# layer much further than a narrow one, whereas with :math:`1/k` they take all widths equally far.
# Neither scale is right in itself: the root keeps the *start* the same at every width, and k keeps
# the effect of the *steps* the same. With the root, a learning rate that fits one width need not
# fit another.
#
# Nor must there be a division at all. T5 (:cite:t:`raffel2020exploring`) does without one, because
# its code draws the query matrix smaller by the same factor (``fold_scaling_into_initializer`` in
# Mesh TensorFlow). At the start that is the same function:

W_query, W_key = torch.randn(2, 64, 1024, generator=generator) / 8  # (64, 1024), (64, 1024)
divided = (tokens @ W_query) @ (tokens @ W_key).T / math.sqrt(1024)  # (16, 16)
folded = (tokens @ (W_query / math.sqrt(1024))) @ (tokens @ W_key).T  # (16, 16)
print(f"largest difference {(divided - folded).abs().max().item():.0e}")
assert torch.allclose(divided, folded, atol=1e-4)

# %%
# Takeaways
# ---------
# * A softmax of large scores gives one word everything, and its Jacobian, through which every
#   gradient must pass, is close to 0 for most queries.
# * One product of two independent numbers of mean 0 and variance 1 has variance 1. The sum of k
#   of them has variance k and standard deviation :math:`\sqrt k`.
# * Why divide by :math:`\sqrt k`? Because it brings the standard deviation of such scores back to
#   1, so that layers of all widths start alike. At that start, dividing by k makes all weights
#   equal.
# * That is a statement about initialisation. It does not fix the dependence on the number of keys,
#   and after training, which aligns queries with keys, scores grow as k.
# * A check whose outcome follows from arithmetic is not evidence.
#
# *Practise:* :doc:`/exercises/scale`.
#
# *Where next:* :doc:`/gallery/core/plot_4_masks` decides which keys a query may see at
# all, and lets it look in several ways at once.

plt.show()

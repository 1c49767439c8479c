"""
Numbers that change nothing
===========================

What does one entry of a query matrix mean?

Nothing, by itself. Queries and keys can be written in other coordinates, and no score changes.
Every entry of both matrices does. This page turns a layer's matrices round, finds the fairest of
all equal pairs, and then meets a bias that no weight depends on but that an optimiser moves all
the same.
"""

import matplotlib.pyplot as plt
import torch

from attention import QKSelfAttention, SelfAttention
from attention.analysis import balance, bilinear_form, change_gauge
from attention.plotting import BLUE, GREEN, ORANGE, use_style

use_style()
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def error(got, expected):
    """Return the size of the difference, relative to the size of what was expected."""
    return ((got - expected).norm() / expected.norm()).item()


# %%
# Other coordinates
# -----------------
# A score is a dot product of a query and a key. Multiply every query by an invertible k × k matrix
# R, and every key by the inverse of its transpose. The two cancel:
#
# .. math:: (W_\mathrm{query} R)(W_\mathrm{key} R^{-\top})^\top
#           = W_\mathrm{query} R R^{-1} W_\mathrm{key}^\top
#           = W_\mathrm{query} W_\mathrm{key}^\top .
#
# Physicists call such a freedom a *gauge*: a choice that the description needs and the world does
# not. :func:`~attention.analysis.change_gauge` makes the other choice.

n, d, k = 6, 8, 4
x = torch.randn(n, d)  # (n, d)
layer = QKSelfAttention(d, key_dim=k)
R = torch.randn(k, k)  # (k, k)
other = change_gauge(layer, R)

context, weights = layer(x, need_weights=True)  # (n, d), (n, n)
context_2, weights_2 = other(x, need_weights=True)  # (n, d), (n, n)
print(f"condition number of R              {torch.linalg.cond(R):.1f}")
print(f"W_query: relative difference       {error(other.W_query.weight, layer.W_query.weight):.2f}")
print(f"M: relative difference             {error(bilinear_form(other), bilinear_form(layer)):.0e}")
print(f"weights: relative difference       {error(weights_2, weights):.0e}")
print(f"context: relative difference       {error(context_2, context):.0e}")
assert error(weights_2, weights) < 1e-12

# %%

fig, axes = plt.subplots(2, 2, figsize=(5, 4.6), width_ratios=(k, d))
for row, (each, name) in zip(axes, ((layer, "before"), (other, "after")), strict=True):
    for ax, matrix, title in zip(
        row,
        (each.W_query.weight.detach().T, bilinear_form(each)),
        (f"W_query, {name}", f"M, {name}"),
        strict=True,
    ):
        top = matrix.abs().max().item()
        ax.imshow(matrix.numpy(), cmap="RdBu", vmin=-top, vmax=top)
        ax.set_title(title, fontsize=11)
        ax.set(xticks=[], yticks=[], ylabel="number of a word")
for ax, label in zip(axes[1], ("number of a query", "number of a word"), strict=True):
    ax.set_xlabel(label)
fig.set_label(
    "Four heatmaps of matrix entries, red negative and blue positive. The query matrix before and "
    "after the change of coordinates shows two unrelated patterns. The product M shows the same "
    "pattern twice."
)

# %%
# So sentences such as "column 3 of the query matrix detects negation" or "this weight is near
# zero, so it is idle" describe a choice of coordinates. What may be read is whatever all gauges
# agree on: M itself, its singular values, and the directions in *word* space that belong to them.
#
# How far does the freedom go? Far enough to give one word any query that we like. Here the gauge
# is built so that the query of the first word becomes (1, 0, 0, 0):

queries = layer.W_query(x).detach()  # (n, k)
V = torch.linalg.qr(torch.cat([queries[:1], torch.randn(k - 1, k)]).T).Q  # (k, k)
R = V / (queries[0] @ V[:, :1])  # (k, k)
chosen = change_gauge(layer, R)
print(chosen.W_query(x)[0].detach().numpy().round(12) + 0.0)
print(f"weights: relative difference {error(chosen(x, need_weights=True)[1], weights):.0e}")

# %%
# The fairest pair
# ----------------
# If all pairs with one product are equal, take the one that is easiest to read. Split M by its
# singular values and give half of each, by square roots, to either side:
#
# .. math:: M = U \Sigma V^\top, \qquad W_\mathrm{query} = U \Sigma^{1/2}, \qquad
#           W_\mathrm{key} = V \Sigma^{1/2} .
#
# Then :math:`W_\mathrm{query}^\top W_\mathrm{query} = W_\mathrm{key}^\top W_\mathrm{key} = \Sigma`.
# Column 1 is the strongest direction, the columns are orthogonal, and queries and keys are equally
# long. :func:`~attention.analysis.balance` does this.

even = balance(layer)
Q, K = even.W_query.weight.detach().T, even.W_key.weight.detach().T  # (d, k), (d, k)
print("QᵀQ:\n", (Q.T @ Q).numpy().round(6) + 0.0)
print(f"QᵀQ against KᵀK: relative difference   {error(Q.T @ Q, K.T @ K):.0e}")
print(
    f"M: relative difference                 {error(bilinear_form(even), bilinear_form(layer)):.0e}"
)
assert error(Q.T @ Q, K.T @ K) < 1e-12

# %%
# It is also the smallest: no other gauge has a lower sum of squares. That is what weight decay
# asks for, so weight decay, unlike the scores, does prefer a gauge. A thousand random ones:

least = (Q.square().sum() + K.square().sum()).item()
sums = []
for _ in range(1000):
    R = torch.randn(k, k)  # (k, k)
    turned = change_gauge(even, R)
    sums.append(sum(p.square().sum() for p in turned.parameters()).item())
assert min(sums) > least

fig, ax = plt.subplots(figsize=(5, 2.8))
ax.hist(torch.tensor(sums).log10().tolist(), bins=40, color=BLUE)
ax.axvline(torch.tensor(least).log10().item(), color=ORANGE)
ax.set(xlabel="log₁₀ of the sum of squares of both matrices", ylabel="gauges")
ax.set_title("orange: the balanced pair", fontsize=11)
fig.set_label(
    "Histogram of the sum of squares of both matrices over 1,000 random gauges of one layer. All "
    "lie to the right of an orange line, the balanced pair; some by several powers of ten."
)

# %%
# Which biases survive?
# ---------------------
# The lab's projections are ``torch.nn.Linear`` with their default, a bias each: b for the queries,
# c for the keys. So its scores are not :math:`X M X^\top`. Multiply out:
#
# .. math::
#    (x_i W_\mathrm{query} + b)\cdot(x_j W_\mathrm{key} + c)
#    = \underbrace{x_i M x_j^\top}_{1}
#    + \underbrace{b \cdot x_j W_\mathrm{key}}_{2}
#    + \underbrace{x_i W_\mathrm{query} \cdot c}_{3}
#    + \underbrace{b \cdot c}_{4} .
#
# The softmax runs over the keys j of one query i. It takes no notice of a number that is added to
# all of them. Terms 3 and 4 don't contain j. Leave out one term at a time and look at the weights:

layer = SelfAttention(d, key_dim=k, bias=True)
with torch.no_grad():
    layer.W_query.bias.normal_()
    layer.W_key.bias.normal_()
b, c = layer.W_query.bias.detach(), layer.W_key.bias.detach()  # (k,), (k,)
xQ, xK = x @ layer.W_query.weight.detach().T, x @ layer.W_key.weight.detach().T  # (n, k), (n, k)
terms = {
    "1  x M xᵀ": xQ @ xK.T,
    "2  query bias · keys": (xK @ b)[None, :].expand(n, n),
    "3  queries · key bias": (xQ @ c)[:, None].expand(n, n),
    "4  bias · bias": (b @ c).expand(n, n),
}
_, weights = layer(x, need_weights=True)  # (n, d), (n, n)
whole = torch.softmax(sum(terms.values()) / k**0.5, dim=-1)  # (n, n)
print(f"all four terms: relative error {error(whole, weights):.0e}")
for left_out in terms:
    kept = sum(term for name, term in terms.items() if name != left_out)  # (n, n)
    change = error(torch.softmax(kept / k**0.5, dim=-1), weights.detach())
    print(f"without {left_out:22} the weights change by {change:.0e}")

# %%
# Two of four survive. The query bias is alive: it favours some keys whichever word asks. The key
# bias c stands in terms 3 and 4 alone, so **the key bias is dead**. Without it the layer is the
# same function.
#
# .. admonition:: What went wrong: biases left in
#    :class: warning
#
#    The lab derives :math:`E = F (QK^\top) F^\top` and counts 2dk numbers, but its code has biases
#    in both projections. The formula lacks term 2, and the count lacks 2k numbers, half of which
#    do nothing. In this project ``bias=False`` is the default.
#
# A dead bias that moves
# ----------------------
# If the output doesn't depend on c, its gradient is zero. Exactly zero, on paper. Computers round,
# so we look at what the gradient is in practice, beside those of its neighbours.


def losses(layer, x, wanted):
    """Ask each word for a context of its own."""
    return (layer(x) - wanted).square().mean()


for dtype in (torch.float64, torch.float32):
    torch.manual_seed(0)
    layer = SelfAttention(d, key_dim=k, bias=True).to(dtype)
    x, wanted = torch.randn(2, 32, n, d, dtype=dtype)  # (32, n, d), (32, n, d)
    losses(layer, x, wanted).backward()
    for name in ("W_query.bias", "W_key.bias"):
        size = layer.get_parameter(name).grad.norm().item()
        print(f"{dtype!s:14} gradient of {name:12} {size:.0e}")

# %%
# Zero up to rounding. Plain gradient descent multiplies that by a small rate, so c stays where it
# was. Adam does not look at the size of a gradient. It divides each gradient by its own running
# size, and noise divided by its own size is of size 1. Only the :math:`\epsilon = 10^{-8}` in its
# denominator stands in between. Train for 1,000 steps, in float32 as everybody does:

STEPS = 1000
optimizers = {
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-2),
    "Adam, ε = 1e-15": lambda p: torch.optim.Adam(p, lr=1e-2, eps=1e-15),
    "gradient descent": lambda p: torch.optim.SGD(p, lr=1e-2),
}
drifts, harms = {}, {}
for name, make in optimizers.items():
    torch.manual_seed(0)
    layer = SelfAttention(d, key_dim=k, bias=True).float()
    optimizer = make(layer.parameters())
    start = layer.W_key.bias.detach().clone()  # (k,)
    drift = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        losses(layer, x, wanted).backward()
        optimizer.step()
        drift.append((layer.W_key.bias.detach() - start).norm().item())
    drifts[name] = drift
    trained = layer(x).detach()  # (32, n, d)
    with torch.no_grad():
        layer.W_key.bias.copy_(start)
    harms[name] = error(layer(x).detach(), trained)
    print(
        f"{name:16} key bias moved by {drift[-1]:.0e} (it started at {start.norm():.2f}); "
        f"moving it back changes the output by {harms[name]:.0e}"
    )
    assert harms[name] < 1e-5
assert drifts["gradient descent"][-1] < 1e-6 < drifts["Adam"][-1]

# %%

fig, ax = plt.subplots(figsize=(5, 3.4))
for name, colour in (("Adam", ORANGE), ("Adam, ε = 1e-15", GREEN)):
    ax.loglog(range(1, STEPS + 1), drifts[name], color=colour, label=name)
ax.set(xlabel="step", ylabel="distance from its start", title="the key bias")
ax.legend()
fig.set_label(
    "Distance of the key bias from its start against steps, both axes logarithmic. Under Adam it "
    "grows to a sizeable number, and with a smaller epsilon it starts earlier and grows larger."
)

# %%
# Gradient descent is not in the picture: its steps are below the last digit of a float32.
#
# .. admonition:: What went wrong: a number that moved and learnt nothing
#    :class: warning
#
#    The lab trains such a bias in three of its models. That it differs from its start means
#    nothing. Its value is a record of rounding errors, and on another machine it would be another.
#    A test that compares trained parameters will fail on it for no fault of the model; compare
#    outputs.
#
# What was learnt
# ---------------
# - W_query → W_query R with W_key → W_key R⁻ᵀ changes no score. Read M, not the entries of a
#   factor.
# - The balanced pair has orthogonal columns in order of strength, and the least sum of squares.
# - Of four bias terms two survive the softmax, and the key bias is in neither.
# - Adam moves what has no gradient but rounding.
#
# *Practise:* :doc:`/exercises/low_rank`.
#
# *Where next:* the third matrix. Do the values do anything?
# :doc:`/gallery/deeper/plot_3_values_fold`.

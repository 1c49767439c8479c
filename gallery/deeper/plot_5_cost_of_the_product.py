r"""
Where to put the brackets
=========================

The scores can be computed as queries times keys, or with the one matrix M in the middle. Both
give the same numbers. Which is cheaper?

.. math:: (X W_\mathrm{query})(X W_\mathrm{key})^\top \qquad\text{or}\qquad (X M)\, X^\top,
          \quad M = W_\mathrm{query} W_\mathrm{key}^\top

We count multiplications and bytes, find the line where one way overtakes the other, and then hold
a clock beside the count.
"""

import time

import matplotlib.pyplot as plt
import torch

from attention.plotting import BLACK, BLUE, GREEN, ORANGE, use_style

use_style()
torch.manual_seed(0)


def through_pair(x, W_query, W_key):
    """Make queries, make keys, multiply."""
    query, key = x @ W_query, x @ W_key  # (n, k), (n, k)
    return query @ key.T  # (n, n)


def through_form(x, M):
    """Put M between the words."""
    return (x @ M) @ x.T  # (n, n)


n, d, k = 50, 32, 8
x = torch.randn(n, d, dtype=torch.float64)  # (n, d)
W_query, W_key = torch.randn(2, d, k, dtype=torch.float64)  # (d, k), (d, k)
pair, form = through_pair(x, W_query, W_key), through_form(x, W_query @ W_key.T)  # (n, n), (n, n)
print(f"relative difference {((pair - form).norm() / form.norm()).item():.0e}")
assert torch.allclose(pair, form)

# %%
# Counting operations
# -------------------
# A product of an a × b matrix and a b × c matrix takes abc multiplications and about as many
# additions, so 2abc operations. For n words of width d and keys of width k:
#
# ====================  ======================  ===========
# step                  queries and keys        M
# ====================  ======================  ===========
# projections           2 · 2ndk                2nd²
# all pairs of words    2n²k                    2n²d
# ====================  ======================  ===========
#
# (M is made once, before any text comes, so that is not counted.) Queries and keys win when
# :math:`2dk + nk < d^2 + nd`, which is
#
# .. math:: \frac{k}{d} < \frac{d + n}{2d + n} .
#
# The right side is 1/2 for very short texts and nears 1 for long ones. So for k ≤ d/2 the pair
# always wins, whatever n. Beyond d/2 a text must be long enough.


def operations(n, d, k):
    """Count the operations of both ways."""
    return 4 * n * d * k + 2 * n * n * k, 2 * n * d * d + 2 * n * n * d


# %%
# Counting bytes
# --------------
# Often a computer waits for memory, not for arithmetic. Let each product read its two factors and
# write its result, in numbers of 4 bytes. Every line is one product:


def bytes_moved(n, d, k):
    """Count the bytes that the products of both ways read and write, in float32."""
    projections = 2 * (n * d + d * k + n * k), n * d + d * d + n * d
    all_pairs = 2 * n * k + n * n, 2 * n * d + n * n
    return tuple(4 * (a + b) for a, b in zip(projections, all_pairs, strict=True))


for n in (16, 256, 4096):
    for count, name in ((operations, "operations"), (bytes_moved, "bytes     ")):
        pair, form = count(n, 256, 32)
        print(
            f"n = {n:4}, d = 256, k = 32: {name} pair {pair:.1e}, M {form:.1e}, {form / pair:.1f}×"
        )

# %%
# For long texts the n² scores are most of the bytes, and both ways write them. The advantage in
# bytes then nears 1 while that in operations nears d/k.
#
# Where do the bytes break even? Subtract the two counts, and the difference is a product,
# :math:`(d + 2n)(d - 2k)`. So in bytes the line is k = d/2 for texts of any length.

n, d, k = torch.randint(1, 5_000, (3, 1_000))  # (1000,), (1000,), (1000,)
pair, form = bytes_moved(n, d, k)  # (1000,), (1000,)
assert torch.equal(form - pair, 4 * (d + 2 * n) * (d - 2 * k))
print("1,000 random sizes: the difference is 4 (d + 2n)(d − 2k) bytes in each")

# %%
#
# The map of both counts, over the length of the text and the width of the keys:

d = 256
lengths = torch.logspace(0, 5, 200, dtype=torch.float64)[None, :]  # (1, 200)
widths = torch.linspace(1, 1.5 * d, 200, dtype=torch.float64)[:, None]  # (200, 1)

fig, axes = plt.subplots(2, figsize=(5, 6.4), sharex=True)
for ax, count, name in zip(axes, (operations, bytes_moved), ("operations", "bytes"), strict=True):
    pair, form = count(lengths, d, widths)  # (200, 200), (1, 200): M has no k
    ratio = (form / pair).log2()  # (200, 200)
    drawn = ax.contourf(
        lengths[0], widths[:, 0] / d, ratio, levels=torch.arange(-3, 3.5, 0.5), cmap="RdBu",
        extend="both",
    )  # fmt: skip
    ax.contour(lengths[0], widths[:, 0] / d, ratio, levels=[0], colors=BLACK, linewidths=2)
    ax.set(xscale="log", ylabel="key width, k/d", title=f"{name} (d = {d})")
    ax.text(3e3, 0.2, "pair wins", ha="center")
    ax.text(3, 1.25, "M wins", ha="center")
bar = fig.colorbar(drawn, ax=axes, location="bottom", ticks=range(-3, 4), aspect=40)
bar.set_label("log₂ of (cost with M / cost with pair)")
axes[1].set_xlabel("words in the text, n")
fig.set_label(
    "Two maps over text length and key width. In both, queries and keys are cheaper below a black "
    "line and M above it. For operations the line rises from k = d/2 at short texts to k = d at "
    "long ones. For bytes it stays at k = d/2, and for long texts the ratio is near one everywhere."
)

# %%
# Holding a clock beside it
# -------------------------
# Now both ways run on this machine, in turn, and we take the fastest of many runs, the one
# that other programs disturbed least. The count predicts a *ratio*: the time with M over the
# time with the pair.


def clocked(n, d, k, seconds=0.5):
    """Run both ways in turn for a while; return the fastest times."""
    x, M = torch.randn(n, d), torch.randn(d, d)  # (n, d), (d, d)
    W_query, W_key = torch.randn(2, d, k)  # (d, k), (d, k)
    ways = (lambda: through_pair(x, W_query, W_key)), (lambda: through_form(x, M))
    times = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[0]) < 5:
        for way, taken in zip(ways, times, strict=True):
            start = time.perf_counter()
            way()
            taken.append(time.perf_counter() - start)
    return tuple(min(taken) for taken in times)


d = 256
key_widths = (8, 16, 32, 64, 128, 192, 256, 384)
fig, axes = plt.subplots(2, figsize=(5, 5.6), sharex=True)
for ax, n in zip(axes, (64, 512), strict=True):
    counted = [operations(n, d, k)[1] / operations(n, d, k)[0] for k in key_widths]
    moved = [bytes_moved(n, d, k)[1] / bytes_moved(n, d, k)[0] for k in key_widths]
    measured = []
    for k in key_widths:
        with_pair, with_form = clocked(n, d, k)
        measured.append(with_form / with_pair)
    ax.loglog(key_widths, counted, color=BLUE, label="operations")
    ax.loglog(key_widths, moved, color=GREEN, ls="--", label="bytes")
    ax.loglog(key_widths, measured, "o-", color=ORANGE, label="measured time")
    ax.axhline(1, color=BLACK, lw=1)
    ax.set(ylabel="with M / with pair", title=f"n = {n} words")
    ax.set_xticks(key_widths, [str(k) for k in key_widths], fontsize=9)
    ax.minorticks_off()
    print(
        f"n = {n:4}:",
        "  ".join(f"k = {k}: {m:.2f}" for k, m in zip(key_widths, measured, strict=True)),
    )
axes[0].legend()
axes[1].set_xlabel(f"key width k (d = {d})")
fig.set_label(
    "Two panels, for texts of 64 and of 512 words: how many times dearer M is than the pair, "
    "against key width, both axes logarithmic. The count of operations falls as a line and crosses "
    "1 between d/2 and d, the count of bytes is flatter and crosses at d/2. The measured times "
    "lie below the operations for the narrowest keys and come near them for wide ones."
)

# %%
# Where keys are wide, the clock follows the count of operations. Where they are narrow it promises
# less than the count: products with 8 columns don't keep a processor's arithmetic busy. The orange
# line belongs to the machine that built this site, and to what else it was doing. Yours will bend
# it, and leave the other two as they are.
#
# Many heads
# ----------
# A transformer has h heads of width k = d/h. Each would need an M of its own, so with M the cost
# is h times the one above: d/k = h times as much per head for long texts, and h · d² numbers to
# hold instead of 2d². It is also worse at writing text word by word, where past words are kept:
# keys cost k numbers a word and head, but M wants the word itself, d numbers. Nobody multiplies
# the pair out. M is for understanding, queries and keys are for computing.
#
# What was learnt
# ---------------
# - Both bracketings give the same scores. The pair is cheaper in operations whenever
#   k/d < (d + n)/(2d + n), so always for k ≤ d/2.
# - In bytes the line is k = d/2, and for long texts little is at stake: both write n² scores.
# - Times follow the counts for wide keys. For the narrowest they do not: there, other costs than
#   multiplications decide.
#
# *Practise:* :doc:`/exercises/low_rank`.
#
# *Where next:* that closes the chapter. :doc:`/gallery/core/plot_8_sentiment_training` trains the
# whole ladder on real reviews.

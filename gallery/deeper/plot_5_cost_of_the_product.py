r"""
.. lesson:: Cost of the scores
   :minutes: 30
   :extra: plot
   :needs: deeper/plot_1

The cost of attention scores: where to put the brackets
=======================================================

Scores can be computed as queries times keys, or with one matrix M in the middle. Which is cheaper?

For all queries of a text at once, the pair of queries and keys is cheaper, as long as the keys are
at most half as wide as the tokens. Counted in operations, this limit on the width of the keys rises
with the length of the text. For one query at a time, as when a model generates text, memory
decides, and there the query takes over the key matrix, as in multi-head latent attention: the
brackets are moved, and the two matrices are still not multiplied into one. We count operations and
bytes, find the line on which both ways cost the same, measure times beside the counts, and end with
what a KV cache keeps.

You need the lesson on :doc:`low rank </gallery/deeper/plot_1_low_rank_qk>` for the matrix M.
Running the page takes about six seconds. Afterwards you can work out the cost of a product of
matrices before you write it, and you know what a model saves by caching a latent vector, and at
what price.
"""

import time

import matplotlib.pyplot as plt
import torch

from attention.plotting import (
    BLACK,
    BLUE,
    DIVERGING,
    GREEN,
    KEY,
    ORANGE,
    QUERY,
    draw_matrices,
    use_style,
)

torch.manual_seed(0)
use_style()
QUICK = False  # True: fewer reviews and steps, for a first try


# %%
# Two ways to the same scores
# ---------------------------
# With :math:`M = W_\mathrm{query} W_\mathrm{key}^\top`, the brackets can be put in two places:
#
# .. math:: (X W_\mathrm{query})(X W_\mathrm{key})^\top \qquad\text{or}\qquad (X M)\, X^\top .

# sphinx_gallery_start_ignore
# The page shows times that were measured while it was built, so nothing else runs then:
# sphinx_gallery_parallel = False


def draw_ways():
    """Draw the last product of either way, under what it is made of."""
    fig, axes = plt.subplots(2, figsize=(5, 4))
    queries = ("queries", "(n, k)", 3, 0.9, QUERY), ("keysᵀ", "(k, n)", 0.9, 3, KEY)
    tokens = ("X M", "(n, d)", 3, 2.4, BLACK), ("Xᵀ", "(d, n)", 2.4, 3, BLACK)
    scores = ("scores", "(n, n)", 3, 3, BLACK)
    for ax, (left, right), name in zip(
        axes, (queries, tokens), ("queries times keys", "M in the middle"), strict=True
    ):
        ends = draw_matrices(ax, 0, (left, "·", right, "=", scores))
        shift = (10 - ends[-1][1]) / 2
        ax.set(xlim=(-shift, 10 - shift), ylim=(-1.7, 2.2), title=name)
    return fig


# sphinx_gallery_end_ignore
fig = draw_ways()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles to scale, one product per row. Above: narrow queries, (n, k), times flat "
    "transposed keys, (k, n), make the square of scores, (n, n). Below: X M, (n, d), and the "
    "transpose of X, (d, n), both wider, make the same square."
)

# %%
# *Figure 1.* The last product in each of the two ways; the results are equal. With queries and
# keys, each pair of tokens takes a dot product of k numbers. With M in the middle, it takes a dot
# product of d numbers.


def through_pair(x, W_query, W_key):
    """Make queries, make keys, multiply."""
    query, key = x @ W_query, x @ W_key  # (n, k), (n, k)
    return query @ key.T  # (n, n)


def through_form(x, M):
    """Put M between the tokens."""
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
# additions, so 2abc operations. For n tokens of width d and keys of width k, the two ways take:
#
# ====================  ======================  ===========
# step                  queries and keys        M
# ====================  ======================  ===========
# projections           2 · 2ndk                2nd²
# all pairs of tokens   2n²k                    2n²d
# ====================  ======================  ===========
#
# (M is made once, before any text comes, so making it is not counted.) Queries and keys are cheaper
# if :math:`2dk + nk < d^2 + nd`, which is the same as
#
# .. math:: \frac{k}{d} < \frac{d + n}{2d + n} .
#
# The right side is a little above 1/2 for very short texts and nears 1 for long ones. So for k ≤
# d/2 the pair is always cheaper, whatever n is, and for k between d/2 and d it is cheaper if the
# text is long enough.


def operations(n, d, k):
    """Count the operations of both ways."""
    return 4 * n * d * k + 2 * n * n * k, 2 * n * d * d + 2 * n * n * d


# %%
# Counting bytes
# --------------
# Often a computer waits for memory and not for arithmetic. Let each product read its two factors
# and write its result, in numbers of 4 bytes. The first line of the function counts the
# projections, and the second the product of all pairs:


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
# For long texts the n² scores are most of the bytes, and both ways write them. The ratio of the
# bytes therefore nears 1, which means that neither way has an advantage, while the ratio of the
# operations nears d/k. How attention can do without writing the scores is the subject of :doc:`the
# lesson on FlashAttention </gallery/deeper/plot_9d_fused_kernel>`.
#
# The difference of the two counts of bytes is a multiple of :math:`(d + 2n)(d - 2k)`, so in bytes
# the two ways break even at k = d/2 for texts of any length.

n, d, k = torch.randint(1, 5_000, (3, 1_000))  # (1000,), (1000,), (1000,)
pair, form = bytes_moved(n, d, k)  # (1000,), (1000,)
assert torch.equal(form - pair, 4 * (d + 2 * n) * (d - 2 * k))
print("1,000 random sizes: the difference is 4 (d + 2n)(d − 2k) bytes in each")

# %%
# Here is the map of both counts, over the length of the text and the width of the keys:

d = 256
lengths = torch.logspace(0, 5, 200, dtype=torch.float64)[None, :]  # (1, 200)
widths = torch.linspace(1, 1.5 * d, 200, dtype=torch.float64)[:, None]  # (200, 1)

fig, axes = plt.subplots(2, figsize=(5, 6.4), sharex=True)
for ax, count, name in zip(axes, (operations, bytes_moved), ("operations", "bytes"), strict=True):
    pair, form = count(lengths, d, widths)  # (200, 200), (1, 200): M has no k
    ratio = (form / pair).log2()  # (200, 200)
    drawn = ax.contourf(
        lengths[0],
        widths[:, 0] / d,
        ratio,
        levels=torch.arange(-3, 3.5, 0.5),
        cmap=DIVERGING,
        extend="both",
    )
    ax.contour(lengths[0], widths[:, 0] / d, ratio, levels=[0], colors=BLACK, linewidths=2)
    ax.set(xscale="log", ylabel="key width, k/d", title=f"{name} (d = {d})")
    ax.text(3e3, 0.2, "pair wins", ha="center")
    ax.text(3, 1.25, "M wins", ha="center")
bar = fig.colorbar(drawn, ax=axes, location="bottom", ticks=range(-3, 4), aspect=40)
bar.set_label("log₂ of (cost with M / cost with pair)")
axes[1].set_xlabel("tokens in the text, n")
fig.set_label(
    "Two maps over text length and key width. In both, queries and keys are cheaper below a black "
    "line and M above it. For operations the line rises from k = d/2 at short texts to k = d at "
    "long ones. For bytes it stays at k = d/2, and for long texts the ratio is near one everywhere."
)

# %%
# *Figure 2.* The ratio of the two costs, over the length of the text and the width of the keys. On
# the line both ways cost the same. Below it the pair is cheaper, and above it M is.
#
# The time beside the count
# -------------------------
# Now both ways run on this machine, in turn, and we take the fastest of many runs, the one that
# other programs disturbed least. The count predicts a *ratio*, the time with M over the time with
# the pair.
#
# .. predict:: clock-and-count
#
#    For 512 tokens and keys of width 8, M takes 24 times as many operations as the pair. How many
#    times as long does it take by the clock?
#
#    About 24 times : ``measured[512, 8] > 18``
#        A count predicts times well as long as multiplying is what takes the time.
#    Between half of that and the count : ``12 < measured[512, 8] <= 18``
#        The gap is wider, because the narrow products leave arithmetic units idle.
#    Less than half of what the count says : ``measured[512, 8] <= 12``
#        The narrow products of the pair leave arithmetic units idle.


def clocked(n, d, k, seconds=0.01 if QUICK else 0.2):
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
measured = {}
for n in (64, 512):
    print(f"n = {n} tokens, time with M over time with the pair:")
    for k in key_widths:
        with_pair, with_form = clocked(n, d, k)
        measured[n, k] = with_form / with_pair
        print(f"    k = {k:3}: {measured[n, k]:.2f}")

# %%

fig, axes = plt.subplots(2, figsize=(5, 5.6), sharex=True)
for ax, n in zip(axes, (64, 512), strict=True):
    counted = [operations(n, d, k)[1] / operations(n, d, k)[0] for k in key_widths]
    moved = [bytes_moved(n, d, k)[1] / bytes_moved(n, d, k)[0] for k in key_widths]
    times = [measured[n, k] for k in key_widths]
    ax.loglog(key_widths, counted, color=BLUE, label="operations")
    ax.loglog(key_widths, moved, color=GREEN, ls="--", label="bytes")
    ax.loglog(key_widths, times, "o-", color=ORANGE, label="measured time")
    ax.axhline(1, color=BLACK, lw=1)
    ax.set(ylabel="with M / with pair", title=f"n = {n} tokens")
    ax.set_xticks(key_widths, [str(k) for k in key_widths], fontsize=9)
    ax.minorticks_off()
axes[0].legend()
axes[1].set_xlabel(f"key width k (d = {d})")
fig.set_label(
    "Two panels, for texts of 64 and of 512 tokens: how many times as expensive M is as the pair, "
    "against key width, both axes logarithmic. The count of operations falls as a line and crosses "
    "1 between d/2 and d, the count of bytes is flatter and crosses at d/2. The measured times "
    "lie below the operations for the narrowest keys and come near them for wide ones."
)

# %%
# *Figure 3.* The cost with M over the cost with the pair, by both counts and by the clock. The
# orange line was measured on the machine that built this site. This machine may have been doing
# other work at the time, and another machine gives a different line. The other two lines do not
# depend on the machine.
#
# If keys are wide, the measured ratio follows the count of operations. If they are narrow, M is
# still slower than the pair, but not by as much as the count predicts, presumably because the
# pair's products with only k = 8 columns don't keep a processor's arithmetic units busy.
#
# The KV cache: one vector for all heads
# --------------------------------------
# A model that generates text computes one new query at a time and keeps what it needs of the past
# tokens in a KV cache. There memory decides, so we now count the numbers that are kept per token.
# With h heads of width k = d/h, the keys of one token take k numbers per head and d in all, and the
# values take d more. The token itself, x, has only d numbers, and it can replace the keys and the
# values of all heads. To do so, we apply the matrices to the query and to the weighted sum of the
# tokens, instead of to each cached token. In each head, let q be the new token's query and
# :math:`a_j` its weight on token j:
#
# .. math:: q \cdot (x_j W_\mathrm{key}) = (q\, W_\mathrm{key}^\top) \cdot x_j, \qquad
#           \sum_j a_j (x_j W_\mathrm{value}) W_\mathrm{out}
#           = \Big(\sum_j a_j x_j\Big) W_\mathrm{value} W_\mathrm{out} .
#
# DeepSeek-V2 :cite:p:`deepseek2024v2` does this when it generates text, with one difference. In
# place of x, its multi-head latent attention (MLA, section 2.1.2 of the report) keeps a narrow
# *latent* vector :math:`c = x W_\mathrm{down}` of width r, from which the matrices
# :math:`W_\mathrm{UK}` and :math:`W_\mathrm{UV}` of each head make its keys and values. For
# generation it *absorbs* :math:`W_\mathrm{UK}` into the query and :math:`W_\mathrm{UV}` into the
# output projection. So in each head :math:`W_\mathrm{query}` and then :math:`W_\mathrm{UK}^\top`,
# together a map from d numbers to r, do the work of M.
#
# For the newest token of a text, we compute the context from keys and values, and compare it with
# the contexts from cached tokens and from cached latent vectors:

torch.manual_seed(0)
n, h, k, r = 50, 4, 16, 24
d = h * k
x = torch.randn(n, d, dtype=torch.float64)  # (n, d)
W_query, W_UK, W_UV, W_out, W_down = (
    torch.randn(*size, dtype=torch.float64) / size[-2] ** 0.5
    for size in ((h, d, k), (h, r, k), (h, r, k), (h, k, d), (d, r))
)  # (h, d, k), (h, r, k), (h, r, k), (h, k, d), (d, r)
W_key, W_value = W_down @ W_UK, W_down @ W_UV  # (h, d, k), (h, d, k)
query = x[-1:] @ W_query  # (h, 1, k), of the newest token


def with_keys_and_values():
    """Attend to keys and values, of which a cache keeps 2hk numbers per token."""
    key, value = x @ W_key, x @ W_value  # (h, n, k), (h, n, k)
    weights = torch.softmax(query @ key.mT / k**0.5, dim=-1)  # (h, 1, n)
    return (weights @ value @ W_out).sum(0)  # (1, d)


def absorbed(cache, W_key, W_value):
    """Compare and mix what is cached as it is, whatever its width."""
    weights = torch.softmax(query @ W_key.mT @ cache.T / k**0.5, dim=-1)  # (h, 1, n)
    return (weights @ cache @ W_value @ W_out).sum(0)  # (1, d)


latent = x @ W_down  # (n, r)
expected = with_keys_and_values()  # (1, d)
ways = {"the token itself": (x, W_key, W_value), "a latent vector": (latent, W_UK, W_UV)}
absorbed_errors = {}
for name, (cache, *matrices) in ways.items():
    absorbed_errors[name] = (
        (absorbed(cache, *matrices) - expected).norm() / expected.norm()
    ).item()
    print(f"{name} cached: relative difference of the context {absorbed_errors[name]:.0e}")
    assert absorbed_errors[name] < 1e-14

# %%
# The price of the saved memory is arithmetic: a score is now a dot product of r numbers instead of
# k, and the vectors that the weights mix have r numbers instead of k as well. The report gives the
# sizes of DeepSeek-V2 (section 3.1.2): 128 heads of width 128, tokens of width 5,120 and a latent
# vector of 512, beside which a rotated key of 64 is kept. Per token and layer this makes:


def per_cached_token(kept, score_width, value_width, heads):
    """Count the numbers that are kept of one token, and the multiplications that use them."""
    return kept, heads * (score_width + value_width)


heads, width, token_width, latent_width, rotated_width = 128, 128, 5_120, 512, 64
with_rotated = latent_width + rotated_width
caches = {
    "keys and values": per_cached_token(2 * heads * width, width, width, heads),
    "the token itself": per_cached_token(token_width, token_width, token_width, heads),
    "a latent vector": per_cached_token(latent_width, latent_width, latent_width, heads),
    "… and a rotated key": per_cached_token(with_rotated, with_rotated, latent_width, heads),
}
for name, (kept, multiplications) in caches.items():
    print(f"{name:19} {kept:6,} numbers kept, {multiplications:9,} multiplications per step")

# %%
# If h · k = d, as in our small layer, keys and values are 2d numbers, so keeping the token instead
# halves the cache. In DeepSeek-V2 the heads together are wider than a token, so keeping the token
# would save more than half, at the price of many times as many multiplications. The latent vector
# needs fewer numbers and fewer multiplications than the token. (The products that are computed once
# per step, for the new query alone, are not counted, because they do not grow with the text.)
#
# To absorb a matrix is to move the brackets and not to multiply two matrices once and for all. For
# one new query, the two products :math:`(x\, W_\mathrm{query})\, W_\mathrm{UK}^\top` read two
# narrow matrices per head, whereas their product would be one large matrix per head. DeepSeek's own
# code for generating text (``inference/model.py`` of DeepSeek-V3) makes the query first and
# multiplies it by :math:`W_\mathrm{UK}^\top` in each step. Its queries, too, are made from a latent
# vector, of width 1,536:

query_latent = 1_536
apart = heads * (query_latent * width + width * latent_width)
in_one = heads * query_latent * latent_width
print(f"read per step and layer: {apart / 1e6:.0f} million numbers in two factors, ", end="")
print(f"{in_one / 1e6:.0f} million in one matrix per head")
assert in_one > 2.5 * apart

# %%
# The rotated key is needed because of rotary positions (RoPE, :cite:t:`su2024roformer`), which turn
# the query at position i and the key at position j by angles that grow with the position. A
# rotation by the distance i − j then lies between :math:`W_\mathrm{query}` and
# :math:`W_\mathrm{UK}^\top`. As the report says, no single matrix can absorb it:


def rotated_by(vectors, positions):
    """Turn each pair of coordinates, taken as a complex number, by an angle per position."""
    half = vectors.shape[-1] // 2
    angles = torch.outer(positions, 1e4 ** (-torch.arange(half) / half))  # (..., half)
    pairs = torch.view_as_complex(vectors.unflatten(-1, (half, 2)).contiguous())  # (..., half)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


positions = torch.arange(n, dtype=torch.float64)  # (n,)
scores = rotated_by(query, positions[-1:]) @ rotated_by(latent @ W_UK, positions).mT  # (h, 1, n)
moving = torch.stack(
    [rotated_by(query, positions[-1:] - positions[j]) @ W_UK.mT @ latent[j] for j in range(n)],
    dim=-1,
)  # (h, 1, n)
fixed = rotated_by(query, positions[-1:]) @ W_UK.mT @ latent.T  # (h, 1, n)
rotation_errors = {
    "an absorbed matrix per distance": ((moving - scores).norm() / scores.norm()).item(),
    "one absorbed matrix": ((fixed - scores).norm() / scores.norm()).item(),
}
for name, difference in rotation_errors.items():
    print(f"rotary positions, {name:31}: relative error of the scores {difference:.0e}")
assert rotation_errors["an absorbed matrix per distance"] < 1e-12
assert rotation_errors["one absorbed matrix"] > 0.1

# %%
# With a matrix per distance the scores are right, but the query has to be multiplied anew for each
# cached token, so the arithmetic grows once more. DeepSeek-V2 therefore gives each head two parts.
# One has no positions and is absorbed. The other is narrow and rotated, and all heads share its
# key. The layer itself is written in :doc:`the lesson on what heads can share
# </gallery/deeper/plot_9b_grouped_and_latent>`.
#
# Takeaways
# ---------
# - Which is cheaper? For all queries of a text at once, queries and keys take fewer operations than
#   M if k/d < (d + n)/(2d + n), and so always for k ≤ d/2. Both bracketings give the same scores,
#   up to rounding.
# - Counted in bytes moved, the pair is cheaper up to k = d/2, and for long texts little is at
#   stake, because both ways write n² scores.
# - Times follow the counts for wide keys, but not for the narrowest, where costs other than
#   multiplication decide.
# - For one query at a time the cache decides. A cached token costs d numbers, which serve the keys
#   and the values of all heads, whereas keys and values cost 2d if hk = d. The vector that latent
#   attention caches is narrower still. The price is arithmetic, because a score takes d or r
#   numbers instead of k, and rotary positions have to be kept apart.
#
# *From memory:* close this page and count the operations and the bytes of both ways for n = 1,000,
# d = 512 and k = 64. Then say which way is cheaper for one query and a cache of 1,000 tokens.
#
# *Where next:* :doc:`the lesson on a real encoder </gallery/deeper/plot_6_real_model>`.
#
# You can now count what a product of attention costs before it is timed, and say where the count
# fails. The exercise to do next is to find :ref:`the largest width that saves
# <ex-largest-saving-width>`.

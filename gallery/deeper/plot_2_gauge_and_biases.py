"""
.. lesson:: Gauge freedom
   :minutes: 30
   :extra: plot
   :needs: deeper/plot_1
   :tasks: other-pair drop-dead-bias

Gauge freedom and the key bias: numbers that change nothing
===========================================================

What does one entry of a query matrix mean?

Nothing by itself, as long as queries and keys meet in a plain dot product. Queries and keys can
then be written in other coordinates, which changes every entry of the query and key matrices but no
score. Under the same condition, and if all scores of a softmax come from keys with this bias, the
key bias has no effect on any attention weight, although an optimiser may move it all the same.
Rotary positions and normalised queries leave only part of this freedom, and we measure which part.

You need the lesson on :doc:`low rank </gallery/deeper/plot_1_low_rank_qk>`, which introduces the
product M of the two matrices. Running the page takes about twelve seconds. Afterwards you can tell
which statements about a head survive a change of coordinates, bring two layers into comparable
coordinates, and name the biases that a layer could do without.
"""

import copy

import matplotlib.pyplot as plt
import torch

from attention import QKSelfAttention, SelfAttention
from attention.analysis import balance, bilinear_form
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

use_style()
QUICK = False  # True: fewer reviews and steps, for a first try
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def error(got, expected):
    """Return the size of the difference, relative to the size of what was expected."""
    return ((got - expected).norm() / expected.norm()).item()


# %%
# Other coordinates
# -----------------
# A score is a dot product of a query and a key. Multiply every query by an invertible k × k matrix
# R, and every key by :math:`R^{-\top}`, the inverse of the transpose of R. In the scores the two
# factors cancel:
#
# .. math:: (W_\mathrm{query} R)(W_\mathrm{key} R^{-\top})^\top
#           = W_\mathrm{query} R R^{-1} W_\mathrm{key}^\top
#           = W_\mathrm{query} W_\mathrm{key}^\top = M .

# sphinx_gallery_start_ignore


def draw_gauge():
    """Draw W_query R R⁻¹ W_keyᵀ as rectangles, and what becomes of each side."""
    fig, ax = plt.subplots(figsize=(5, 2.2))
    tall = ("W_query", "(d, k)", 3, 1, QUERY)
    square = ("R", "(k, k)", 1, 1, BLACK)
    inverse = ("R⁻¹", "(k, k)", 1, 1, BLACK)
    wide = ("W_keyᵀ", "(k, d)", 1, 3, KEY)
    product = ("M", "(d, d)", 3, 3, BLACK)
    ends = draw_matrices(ax, 0, (tall, "·", square, "·", inverse, "·", wide, "=", product))
    for (left, _), (_, right), name in (
        (ends[0], ends[1], "new W_query"),
        (ends[2], ends[3], "new W_key, transposed"),
    ):
        ax.plot([left, left, right, right], [-1.8, -2, -2, -1.8], color="0.25", lw=1.2)
        ax.text((left + right) / 2, -2.15, name, ha="center", va="top", fontsize=10)
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-2.8, 2.2))
    return fig


# sphinx_gallery_end_ignore
fig = draw_gauge()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles to scale: a tall W_query, (d, k), times a small square R, (k, k), times its "
    "inverse, (k, k), times a wide transpose of W_key, (k, d), is a large square M, (d, d). "
    "Brackets join the first two as the new W_query, and the next two as the new W_key, transposed."
)

# %%
# *Figure 1.* Between the two matrices of a head there is room for R and its inverse. Each side
# absorbs one of them, and M is unchanged.
#
# Physicists call such a choice of coordinates a :term:`gauge`: the description needs the choice,
# and the world does not. :cite:t:`vannierop2024transformer` uses their word for transformers. All
# invertible matrices R together are the group GL(k). This function applies one of them to a layer:


def change_gauge(layer, R):
    """Return a copy of a layer with W_query R and W_key R⁻ᵀ, whose transposes it stores."""
    other = copy.deepcopy(layer)
    other.W_query.weight.data = R.T @ layer.W_query.weight.data  # (k, d)
    other.W_key.weight.data = torch.linalg.solve(R, layer.W_key.weight.data)  # (k, d)
    return other


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
        ax.imshow(matrix.numpy(), cmap=DIVERGING, vmin=-top, vmax=top)
        ax.set_title(title, fontsize=11)
        ax.set(xticks=[], yticks=[], ylabel="embedding dimension")
for ax, label in zip(axes[1], ("query dimension", "embedding dimension"), strict=True):
    ax.set_xlabel(label)
fig.set_label(
    "Four heatmaps of matrix entries, orange negative and blue positive. The query matrix before "
    "and after the change of coordinates shows two unrelated patterns. The product M shows the "
    "same pattern twice."
)

# %%
# *Figure 2.* The query matrix and M, before the change of coordinates and after it. Every entry of
# the first has changed, and none of the second.
#
# Sentences such as "column 3 of the query matrix detects negation" or "this weight is near zero, so
# it is idle" describe a choice of coordinates. All gauges agree on M, on its singular values, and
# on the directions in *embedding* space that belong to them. (Even M is not fixed by the attention
# weights alone, as a section below shows.)
#
# The freedom goes far: the query of one token can be turned into any other query, if neither of the
# two is zero. Here the gauge is built so that the query of the first token becomes (1, 0, 0, 0),
# while the weights stay the same:

queries = layer.W_query(x).detach()  # (n, k)
V = torch.linalg.qr(torch.cat([queries[:1], torch.randn(k - 1, k)]).T).Q  # (k, k)
R = V / (queries[0] @ V[:, :1])  # (k, k)
chosen = change_gauge(layer, R)
print(chosen.W_query(x)[0].detach().numpy().round(12) + 0.0)
print(f"weights: relative difference {error(chosen(x, need_weights=True)[1], weights):.0e}")

# %%
# The balanced pair
# -----------------
# Since all pairs with the same product give the same scores, we may choose the pair that is easiest
# to read. Take the singular value decomposition of M, and give each side the square roots of the
# singular values:
#
# .. math:: M = U \Sigma V^\top, \qquad W_\mathrm{query} = U \Sigma^{1/2}, \qquad
#           W_\mathrm{key} = V \Sigma^{1/2} .
#
# Then :math:`W_\mathrm{query}^\top W_\mathrm{query} = W_\mathrm{key}^\top W_\mathrm{key} = \Sigma`.
# In each of the two matrices the columns are orthogonal, and column 1 is the strongest direction.
# Each column of the query matrix is as long as the same column of the key matrix.
# :func:`~attention.analysis.balance` brings a layer into this form.

even = balance(layer)
W_query, W_key = even.W_query.weight.detach().T, even.W_key.weight.detach().T  # (d, k), (d, k)
of_queries, of_keys = W_query.T @ W_query, W_key.T @ W_key  # (k, k), (k, k)
of_M = error(bilinear_form(even), bilinear_form(layer))
print("W_queryᵀ W_query:\n", of_queries.numpy().round(6) + 0.0)
print(f"W_keyᵀ W_key against it: relative difference   {error(of_keys, of_queries):.0e}")
print(f"M before and after:      relative difference   {of_M:.0e}")
assert error(of_queries, of_keys) < 1e-12

# %%
# No other gauge has a lower sum of squares of all entries. This least sum is exactly :math:`2
# \lVert M \rVert_*`, where the :term:`nuclear norm` :math:`\lVert M \rVert_*` is the sum of the
# singular values :cite:p:`srebro2004maximum`.
#
# A penalty on the squares of both matrices, which for plain gradient descent is the same as
# :term:`weight decay`, therefore prefers balanced pairs to all others, although every pair gives
# the same scores. (A rotation of both matrices keeps a pair balanced and does not change the
# penalty.) Where training is free to change the gauge, such a penalty acts on the nuclear norm of M
# and so favours low rank. :cite:t:`kobayashi2024weight` prove that each local minimum of a loss
# with the penalty on the squares is also a local minimum of the loss with the nuclear norm as its
# penalty. They also find lower rank in attention trained with weight decay.
#
# Here is the balanced pair beside a thousand random gauges:

least = (W_query.square().sum() + W_key.square().sum()).item()
nuclear_norm = torch.linalg.svdvals(bilinear_form(layer)).sum().item()
print(f"balanced pair: sum of squares {least:.6f}, twice the nuclear norm {2 * nuclear_norm:.6f}")
assert abs(least - 2 * nuclear_norm) < 1e-12 * least
sums = []
for _ in range(10 if QUICK else 1000):
    R = torch.randn(k, k)  # (k, k)
    other = change_gauge(even, R)
    sums.append(sum(p.square().sum() for p in other.parameters()).item())
assert min(sums) > least
print(f"random gauges: sums of squares from {min(sums):.0f} to {max(sums):.0e}")

# %%

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
# *Figure 3.* The sum of squares of both matrices in 1,000 random gauges of one layer. The balanced
# pair is in orange, and no other gauge has a lower sum.
#
# What rotary positions and normalised queries leave
# --------------------------------------------------
# In many of today's models something comes between the projections and the dot product. Rotary
# positions (RoPE, :cite:t:`su2024roformer`) turn pairs of coordinates by an angle that grows with
# the position. QK-norm (:cite:t:`henry2020query`) divides each query and each key by its length,
# and some models then multiply each coordinate by a learned factor, its *gain*. In these models R
# and :math:`R^{-\top}` no longer meet directly, and they cancel only if R commutes with what is
# between them:
#
# - with RoPE, R has to commute with rotations of all pairs of coordinates, each pair at its own
#   frequency, and only a matrix that rotates and scales each pair by itself does so;
# - with QK-norm, R has to keep lengths, so it is a rotation or reflection of the group O(k);
# - with QK-norm and different gains, only the signs of coordinates are free.
#
# (Multiplying R by a single number is not counted, because this drops out when a query is
# normalised.) The first of the three statements is proved in `Complete Characterization of Gauge
# Symmetries in Transformer Architectures <https://openreview.net/forum?id=KrkbYbK0cH>`_ (2025). Its
# abstract says of standard attention that "the gauge group equals exactly" these changes of
# coordinates, those of the values, and the order of the heads, and that they "persist through
# LayerNorm". They do, but after a LayerNorm they are not all, as the next section shows. The three
# statements can be checked in a few lines of code:


def rotary(vectors):
    """Turn each pair of coordinates by an angle that grows with the position."""
    n, half = vectors.shape[-2], vectors.shape[-1] // 2
    angles = torch.outer(torch.arange(n), 1e4 ** (-torch.arange(half) / half)).to(
        vectors
    )  # (n, half)
    pairs = torch.view_as_complex(vectors.unflatten(-1, (half, 2)).contiguous())  # (..., n, half)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


gains = torch.linspace(0.5, 2, k)  # (k,)
between = {
    "plain": lambda vectors: vectors,
    "RoPE": rotary,
    "QK-norm": lambda vectors: torch.nn.functional.normalize(vectors, dim=-1) * k**0.5,
    "with gains": lambda vectors: between["QK-norm"](vectors) * gains,
}


def weights_of(layer, x, name):
    """Compute a layer's weights with something between its projections and the dot product."""
    query, key = between[name](layer.W_query(x)), between[name](layer.W_key(x))  # (n, k), (n, k)
    return torch.softmax(query @ key.mT / k**0.5, dim=-1).detach()  # (n, n)


pairs = k // 2
a, b = torch.randn(2, pairs)  # (pairs,), (pairs,)
turns = torch.stack([a, -b, b, a], dim=-1).unflatten(-1, (2, 2))  # (pairs, 2, 2)
gauges = {
    "any invertible matrix": torch.randn(k, k),
    "a rotation and a scale per pair": torch.block_diag(*turns),
    "a rotation of all coordinates": torch.linalg.qr(torch.randn(k, k)).Q,
    "signs": torch.diag(torch.tensor([1.0, -1.0, -1.0, 1.0])),
}
changed = {
    (gauge, name): error(weights_of(change_gauge(layer, R), x, name), weights_of(layer, x, name))
    for gauge, R in gauges.items()
    for name in between
}
print(f"{'change of the weights by R':32}" + "".join(f"{name:>12}" for name in between))
for gauge in gauges:
    print(f"{gauge:32}" + "".join(f"{changed[gauge, name]:12.0e}" for name in between))

# %%
# Read a column from top to bottom. If a gauge leaves the weights as they are, up to rounding near
# :math:`10^{-16}`, it is free in that kind of layer.
#
# In the last three columns there is no longer a single M. With RoPE each distance between two
# tokens has its own product, :math:`W_\mathrm{query} \Theta_{i-j} W_\mathrm{key}^\top`, where
# :math:`\Theta_{i-j}` is the rotation for this distance. With QK-norm a score is not a
# :term:`bilinear form` of the tokens at all.
#
# Do the attention weights determine M itself?
# --------------------------------------------
# They do not if the layer reads the output of a :term:`layer normalisation`, as the attention of a
# transformer does. LayerNorm subtracts from a token the mean of its d numbers. Before the gain γ
# and the shift β are applied, all tokens are therefore orthogonal to the vector of ones
# :cite:p:`brody2023expressivity`. After gain and shift, every token has the same dot product with
# :math:`1/\gamma`, the vector of the reciprocals of the gains.
#
# Now add a matrix :math:`u\,(1/\gamma)^\top`, with any vector u, to M. It adds one and the same
# number to all scores of a query, and the softmax takes no notice of that number. We want to stay
# within layers of width k, so we change the key matrix instead of M: we add to it the outer product
# of :math:`1/\gamma` and a vector of width k, which adds a matrix of this kind to M:

norm = torch.nn.LayerNorm(d)
with torch.no_grad():
    norm.weight.uniform_(0.5, 2)
    norm.bias.normal_()
    normed = norm(x)  # (n, d)
ones = 1 / norm.weight.detach()  # (d,)
print(f"products of the tokens with 1/γ: {(normed @ ones).numpy().round(6)}")

shifted = QKSelfAttention(d, key_dim=k)
shifted.load_state_dict(layer.state_dict())
with torch.no_grad():
    shifted.W_key.weight += torch.outer(torch.randn(k), ones)
M, M_shifted = bilinear_form(layer), bilinear_form(shifted)  # (d, d), (d, d)
seen = weights_of(layer, normed, "plain")  # (n, n)
seen_shifted = weights_of(shifted, normed, "plain")  # (n, n)
spectra = torch.linalg.svdvals(M)[:k], torch.linalg.svdvals(M_shifted)[:k]
print(f"M: relative difference       {error(M_shifted, M):.2f}")
print(f"weights: relative difference {error(seen_shifted, seen):.0e}")
print("singular values of M   ", spectra[0].numpy().round(2))
print("… and after the change ", spectra[1].numpy().round(2))
assert error(seen_shifted, seen) < 1e-12 < 0.5 < error(M_shifted, M)

# %%
# The weights are the same up to rounding, while M and its singular values have changed. So to read
# a head by its M, a plain dot product is not enough: it is also necessary that no LayerNorm comes
# before the head. After a LayerNorm, and without biases, M is known only up to such a matrix
# :math:`u\,(1/\gamma)^\top`. To remove this part, subtract from each row of M its component along
# :math:`1/\gamma`. We do so before and after the change, and compare what is left:

along = torch.outer(ones, ones) / (ones @ ones)  # (d, d)
left_M, left_shifted = M - M @ along, M_shifted - M_shifted @ along  # (d, d), (d, d)
print(f"without the part along 1/γ: relative difference {error(left_shifted, left_M):.0e}")
assert error(left_shifted, left_M) < 1e-12

# %%
# If the queries have a bias b, as in BERT and GPT-2, the freedom is twice as large. Add the outer
# product of :math:`1/\gamma` and any vector of width k to the *query* matrix. Each token has the
# same product with :math:`1/\gamma`, namely :math:`\beta \cdot 1/\gamma`, so all queries move by
# the same multiple of that vector. Subtract this multiple from b, and the queries are what they
# were. So M is known only up to a matrix :math:`u\,(1/\gamma)^\top + (1/\gamma)\,t^\top`, with any
# vectors u and t. To remove it, take the components along :math:`1/\gamma` away from the columns,
# too:

b, step = torch.randn(k), torch.randn(k)  # (k,), (k,)
W_query, W_key = layer.W_query.weight.detach().T, layer.W_key.weight.detach().T  # (d, k), (d, k)
new_W_query = W_query + torch.outer(ones, step)  # (d, k)
new_b = b - (norm.bias.detach() @ ones) * step  # (k,)
keys = normed @ W_key  # (n, k)
seen, seen_moved = (
    torch.softmax((normed @ matrix + bias) @ keys.T / k**0.5, dim=-1)
    for matrix, bias in ((W_query, b), (new_W_query, new_b))
)  # (n, n), (n, n)
M_moved = new_W_query @ W_key.T  # (d, d)
rows, rows_moved = M - M @ along, M_moved - M_moved @ along  # (d, d), (d, d)
left, left_moved = rows - along @ rows, rows_moved - along @ rows_moved  # (d, d), (d, d)
print(f"M: relative difference                        {error(M_moved, M):.2f}")
print(f"weights: relative difference                  {error(seen_moved, seen):.0e}")
print(f"rows without the part along 1/γ: difference   {error(rows_moved, rows):.2f}")
print(f"rows and columns without it: difference       {error(left_moved, left):.0e}")
assert error(seen_moved, seen) < 1e-12 < 0.5 < error(rows_moved, rows)
assert error(left_moved, left) < 1e-12

# %%
# RMSNorm subtracts no mean and therefore leaves no such direction.
#
# Which biases survive the softmax
# --------------------------------
# A projection by ``torch.nn.Linear`` has a :term:`bias` by default, here b for the queries and c
# for the keys, so the scores are no longer :math:`X M X^\top`. Multiplied out, the score of token i
# for token j is
#
# .. math::
#    (x_i W_\mathrm{query} + b)\cdot(x_j W_\mathrm{key} + c)
#    = \underbrace{x_i M x_j^\top}_{1}
#    + \underbrace{b \cdot x_j W_\mathrm{key}}_{2}
#    + \underbrace{x_i W_\mathrm{query} \cdot c}_{3}
#    + \underbrace{b \cdot c}_{4} .
#
# The softmax runs over the keys j of one query i, and it takes no notice of a number that is added
# to all scores of this query. Terms 3 and 4 are such numbers, because they don't contain j. We
# leave out one term at a time and look at the weights:

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
# Terms 1 and 2 matter, and terms 3 and 4 do not. The query bias has an effect, because it favours
# some keys whichever token asks. The key bias c is in terms 3 and 4 alone, so **in a plain dot
# product, under a softmax all of whose keys carry it, the key bias is dead**: without it the layer
# is the same function. :cite:t:`namazifar2023role` prove this and test it on language models, and
# they credit :cite:t:`cordonnier2020multihead` with having seen it first.
#
# The condition of a plain dot product is needed, because rotary positions turn the same c
# differently at each position, and QK-norm divides :math:`x_j W_\mathrm{key} + c` by a length that
# depends on j. In both cases term 3 then depends on j, and taking the key bias away changes the
# weights:

without = SelfAttention(d, key_dim=k, bias=True)
without.load_state_dict(layer.state_dict())
torch.nn.init.zeros_(without.W_key.bias)
of_key_bias = {
    name: error(weights_of(without, x, name), weights_of(layer, x, name)) for name in between
}
for name, change in of_key_bias.items():
    print(f"{name:10} without the key bias the weights change by {change:.0e}")
assert of_key_bias["plain"] < 1e-12 < 0.01 < min(of_key_bias["RoPE"], of_key_bias["QK-norm"])

# %%
# The other condition is needed as well, because a number cancels in a softmax only if it is in
# *every* score of the row. Torch's layer can add to the keys one that is zero
# (``add_zero_attn=True``) or one that is learned (``add_bias_kv=True``), and neither of these
# carries c. The model gpt-oss gives each softmax a learned score that belongs to no key. And
# attention by sigmoids has no row over which anything could cancel.

query, key = layer.W_query(x).detach(), layer.W_key(x).detach()  # (n, k), (n, k)
extra = torch.zeros(n, 1)  # (n, 1)
of_scores = {
    "softmax over the keys": lambda scores: torch.softmax(scores, dim=-1),
    "… and a score of no key": lambda scores: torch.softmax(torch.cat([scores, extra], 1), dim=-1),
    "sigmoids": torch.sigmoid,
}
of_row = {
    name: error(weigh(query @ (key - c).T / k**0.5), weigh(query @ key.T / k**0.5))
    for name, weigh in of_scores.items()
}
for name in ("neither", "add_zero_attn", "add_bias_kv"):
    torch.manual_seed(0)
    options = {} if name == "neither" else {name: True}
    theirs = torch.nn.MultiheadAttention(d, num_heads=2, **options)
    with torch.no_grad():
        theirs.in_proj_bias[d : 2 * d].normal_()
        with_bias = theirs(x, x, x)[1][:, :n]  # (n, n), of the tokens
        theirs.in_proj_bias[d : 2 * d].zero_()
        of_row[f"torch's layer, {name}"] = error(theirs(x, x, x)[1][:, :n], with_bias)
for name, change in of_row.items():
    print(f"{name:28} without the key bias the weights change by {change:.0e}")
dead = {name for name, change in of_row.items() if change < 1e-12}
assert dead == {"softmax over the keys", "torch's layer, neither"}

# %%
# .. admonition:: What went wrong: biases left in
#    :class: warning
#
#    :ref:`Lab 13 <source-lab>` ("Matrix Formulation") derives :math:`E = F (QK^\top) F^\top`, with
#    F for our X and :math:`QK^\top` for our M, and counts 2dk numbers. Its cell with
#    ``SelfAttention_QK`` has biases in both projections, however. For this cell the formula lacks
#    term 2, and the count lacks 2k numbers. Half of these do nothing, because the projections meet
#    in a plain dot product. In this project ``bias=False`` is the default.
#
# A dead bias that moves
# ----------------------
# If the output doesn't depend on c, the :term:`gradient` of c is exactly zero on paper. Computers
# round, so we look at this gradient in practice, beside the gradient of the query bias.


def losses(layer, x, target):
    """Compare each token's context with a target of its own."""
    return (layer(x) - target).square().mean()


for dtype in (torch.float64, torch.float32):
    torch.manual_seed(0)
    layer = SelfAttention(d, key_dim=k, bias=True).to(dtype)
    x, target = torch.randn(2, 32, n, d, dtype=dtype)  # (32, n, d), (32, n, d)
    losses(layer, x, target).backward()
    for name in ("W_query.bias", "W_key.bias"):
        size = layer.get_parameter(name).grad.norm().item()
        print(f"{dtype!s:14} gradient of {name:12} {size:.0e}")

# %%
# The gradient of c is zero up to rounding. We train for 1,000 steps in float32, the usual
# precision, with :term:`Adam`, with Adam and a smaller ε, and with plain gradient descent.
#
# .. predict:: moves-without-a-gradient
#
#    Which optimisers move the key bias c away from where it started?
#
#    None, as its gradient is zero : ``max(map(max, drifts.values())) < 1e-6``
#        It is zero on paper, and rounding noise on a computer.
#    Adam, but not gradient descent : ``drifts["gradient descent"][-1] < 1e-6 < drifts["Adam"][-1]``
#        Adam divides each gradient by its own size, which makes a step of noise.
#    All three, by a little : ``min(drift[-1] for drift in drifts.values()) > 1e-6``
#        Gradient descent multiplies the noise by a small rate, which leaves next to nothing.

STEPS = 100 if QUICK else 1000
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
        losses(layer, x, target).backward()
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
# *Figure 4.* How far the key bias has moved under Adam. Gradient descent is not shown, because its
# steps are below the last digit of a float32.
#
# Gradient descent multiplies the gradient by a small learning rate, so c stays where it was. Adam
# divides each gradient by a running average of its size. Rounding noise divided by its own size is
# of size 1, and only the :math:`\epsilon = 10^{-8}` in the denominator damps it.
#
# Many models have such a bias. Lab 13 trains a key bias in each of its two models that have queries
# and keys. In its third model, attention pooling with one learned query, the bias in the score is
# dead for the same reason. When such a bias moves in training, this means nothing: where it ends is
# a record of rounding errors, and would be different on another machine. A test that compares
# trained parameters will fail on such a bias, although the model has no fault. Compare outputs
# instead.
#
# Takeaways
# ---------
# - What does one entry of a query matrix mean? Nothing by itself, because in a plain dot product
#   W_query → W_query R with W_key → W_key R⁻ᵀ changes no score.
# - Of this freedom, RoPE leaves a rotation and a scale per pair of coordinates, QK-norm leaves
#   O(k), and with gains only signs.
# - After a LayerNorm even M is known only up to a matrix u (1/γ)ᵀ, which changes no weight. Where
#   queries have a bias, a matrix (1/γ) tᵀ can be added as well.
# - The balanced pair has orthogonal columns in order of strength, and the least sum of squares,
#   twice the nuclear norm of M.
# - With biases a score has four terms, of which two survive the softmax. The key bias is in
#   neither, and so is dead, unless RoPE or QK-norm is between it and the dot product or the softmax
#   has a score without it, such as that of an extra key or of a learned sink
#   (:doc:`another lesson </gallery/deeper/plot_9g_variants>`).
# - Adam moves a parameter even if its gradient is nothing but rounding, so a number that moved need
#   not have learned anything.
#
# *From memory:* close this page and change the query and the key matrix of a layer so that every
# entry is another and no score is. Then write the four terms of a score with biases, and say which
# two the softmax removes.
#
# *Where next:* :doc:`the lesson on the value matrix </gallery/deeper/plot_3_values_fold>` asks
# whether the third matrix, that of the values, does anything.
#
# You can now say what training can't determine in a query matrix, and which biases do nothing. The
# exercise to do next is to :ref:`drop the dead bias <ex-drop-dead-bias>`.

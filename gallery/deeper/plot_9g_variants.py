r"""
.. lesson:: Attention variants
   :minutes: 60
   :extra: plot
   :needs: deeper/plot_1 deeper/plot_2 deeper/plot_3 deeper/plot_9d deeper/plot_9e deeper/plot_9f
   :search: attention variants; gated attention; attention sink; sliding window; soft capping;
      linear attention; DeltaNet; sigmoid attention; differential attention; NoPE

Attention variants: every attention of today, one changed line each
===================================================================

What do today's models change in attention, and how much code does each change take?

Most changes are a line or two. One more term in the denominator of the softmax lets a query attend
to nothing, and a factor behind the values can shut a whole head. A norm or a cap keeps the scores
small, and another mask keeps the keys few. The larger change is to drop the softmax: what a head
knows of the past then fits into a matrix of fixed size, which is updated token by token. Most
changes break some of the rules that the earlier lessons found for softmax attention, and a table at
the end, which is computed, says which.

You need the lessons on :doc:`low rank </gallery/deeper/plot_1_low_rank_qk>`, on :doc:`gauge and
biases </gallery/deeper/plot_2_gauge_and_biases>`, on :doc:`the value matrix
</gallery/deeper/plot_3_values_fold>`, on :doc:`the fused kernel
</gallery/deeper/plot_9d_fused_kernel>`, on :doc:`QK-norm
</gallery/deeper/plot_9e_scale_in_training>` and on :doc:`a model that writes
</gallery/deeper/plot_9f_writing>`. Running the page takes ten seconds. Afterwards you can read the
attention of a new model as a difference to the formula, write each of a dozen variants in a line or
two, and say which theorems about attention still hold for it.
"""

import difflib
import inspect
import json
import math
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import attention
from attention.plotting import BLACK, BLUE, KEY, ORANGE, VALUE, WEIGHT, draw_weights, use_style

use_style()
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

# %%
# The function of ten lines
# -------------------------
# This is attention as :doc:`lesson 1 </gallery/core/plot_1_qkv_derivation>` and :doc:`lesson 4
# </gallery/core/plot_4_masks>` wrote it, with both masks and without the weights as a result. All
# other functions of this page differ from it by the lines that are shown, and by what they read
# besides, which is in their first line, in the folded setup. Together they are a file that needs
# PyTorch alone, which you can `download <../../attention_variants.py>`__.


# attention_variants.py
def allowed_keys(scores, attn_mask, is_causal):
    """Say with True which keys each query may attend to."""
    n, m = scores.shape[-2:]
    allowed = torch.ones(n, m, dtype=torch.bool, device=scores.device)  # (n, m)
    allowed = allowed.tril() if is_causal else allowed  # (n, m), as many keys as queries
    return allowed if attn_mask is None else allowed & attn_mask  # (..., n, m)


def softmax_attention(query, key, value, attn_mask=None, is_causal=False):
    """Mix the values by a softmax of the scores; a query without any key gets zeros."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)  # else a query without any key had equal weights
    return weights @ value  # (..., n, v)


# %%
# In a boolean mask, True means "may attend". The smallest number of the dtype stands for −∞, which
# in a row without any key would make the softmax divide 0 by 0.
#
# The function hands over no weights, and it need not: with the unit matrix as values, the contexts
# *are* the weights. So we can see what any variant does, also one that has no weights at all.


def mixture(attend, query, key, *more, **options):
    """Return what each query takes of each value, if values may have any width."""
    m = key.shape[-2]
    return attend(query, key, torch.eye(m), *more, **options)  # (..., n, m)


def show_difference(attend, other=softmax_attention):
    """Print the lines of a function that are not those of the function above, and the reverse."""
    one, two = (
        [line.split("  #")[0].strip() for line in inspect.getsource(each).splitlines()[2:]]
        for each in (other, attend)
    )
    print(*(line for line in difflib.ndiff(one, two) if line[0] in "-+"), sep="\n")


# %%

n, k = 8, 4
query, key, value = torch.randn(3, n, k)  # (n, k), (n, k), (n, k)
ours = softmax_attention(query, key, value, is_causal=True)  # (n, k)
theirs = F.scaled_dot_product_attention(query, key, value, is_causal=True)  # (n, k)
print(f"largest difference from torch's function: {(ours - theirs).abs().max():.0e}")

# %%
# A query that takes nothing
# --------------------------
# The weights of a softmax sum to 1, so every query takes something, also where no key fits. Trained
# models then pile the weight on a token that says little, often the first one, which is called an
# :term:`attention sink`. :cite:t:`miller2023off` proposes to add 1 to the denominator:
#
# .. math:: w_{ij} = \frac{e^{s_{ij}}}{1 + \sum_l e^{s_{il}}}
#
# That is the softmax with one more score, which is 0 and belongs to no value. So one appends the 0,
# and drops its weight again:


# Setup: softmax_plus_one_attention
# attention_variants.py
def softmax_plus_one_attention(query, key, value, attn_mask=None, is_causal=False):
    """Use a softmax with one in the denominator: a query may take less than a whole."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(F.pad(scores, (0, 1)), dim=-1)[..., :-1]  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(softmax_plus_one_attention)

# %%
# In gpt-oss :cite:p:`openai2025gptoss` the extra score is learned, one number per head, and called
# a sink. Adding a number to all scores of a row leaves a softmax as it is, so a sink b beside the
# scores s is the same as a 0 beside the scores s − b:


# Setup: sink_attention
# attention_variants.py
def sink_attention(query, key, value, attn_mask=None, is_causal=False, *, sink):
    """Let each head (h) learn the score at which a query would rather take nothing."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    scores = scores - sink[..., None, None]  # (..., n, m)
    weights = torch.softmax(F.pad(scores, (0, 1)), dim=-1)[..., :-1]  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(sink_attention, softmax_plus_one_attention)

# %%
# What a sink leaves to a query follows from its other scores. If L is the logarithm of the sum of
# their powers, the *logsumexp*, then the softmax over the keys alone is multiplied by
#
# .. math:: \frac{e^{L}}{e^{b} + e^{L}} = \sigma(L - b) ,
#
# where :math:`\sigma` is the sigmoid. A learned sink is therefore a gate: it is open where the
# powers of all scores together are large against that of b, because one key fits well or because
# many fit a little, and nearly shut elsewhere.

scores = query @ key.T / k**0.5  # (n, n)
b = torch.tensor(0.5)  # ()
by_sink = sink_attention(query, key, value, sink=b)  # (n, k)
share = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - b)  # (n, 1)
by_gate = share * softmax_attention(query, key, value)  # (n, k)
print(f"sink against gate: {(by_sink - by_gate).abs().max():.0e}")

# %%

fig, ax = plt.subplots(figsize=(5, 3))
shifts = torch.linspace(-8, 8, 81)  # (81,)
for name, color, line, sink in (
    ("softmax", BLACK, ":", None),
    ("1 in the denominator", BLUE, "-", 0.0),
    ("a sink of 3", ORANGE, "--", 3.0),
):
    taken = [
        1.0 if sink is None else torch.sigmoid((scores[1] + shift).logsumexp(dim=-1) - sink)
        for shift in shifts
    ]
    ax.plot(shifts, taken, line, color=color, label=name)
ax.set(xlabel="number added to all scores of a query", ylabel="sum of its weights")
ax.legend()
fig.set_label(
    "Sum of the weights of one query against a number added to all its scores. Under softmax it is "
    "always 1. With one in the denominator it rises from 0 to 1, and with a sink of 3 it does so 3 "
    "further to the right."
)

# %%
# *Figure 1.* How much a query takes in all, when all its scores are raised by the same number.
# Softmax takes no notice, and the other two take nothing if all scores are low.
#
# The output gate
# ---------------
# A gate can also be given directly. In *gated attention* :cite:p:`qiu2025gated`, the vector of the
# query's own token makes one number per channel, whose sigmoid multiplies what the head hands over:
#
# .. math:: \mathrm{context}_i = \sigma(x_i W_\mathrm{gate}) \odot \sum_j w_{ij}\, v_j
#
# :cite:t:`qiu2025gated` tried the gate at several places, found it most useful here, and gave two
# reasons: it stands between W_value and W_out, which are otherwise one linear map after the other,
# and it can be nearly shut, so that the first token is no longer needed as a sink. In our function
# ``gate`` is :math:`x W_\mathrm{gate}`, before its sigmoid.


# Setup: gated_attention
# attention_variants.py
def gated_attention(query, key, value, attn_mask=None, is_causal=False, *, gate):
    """Multiply what each query takes by the sigmoid of its gate, (..., n, v)."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return torch.sigmoid(gate) * (weights @ value)  # (..., n, v)


# %%

show_difference(gated_attention)

# %%
# The gate costs one more matrix per layer, and the weights stay as they are. What it does to the
# two matrices can be seen in the linear map from the tokens whose values are mixed to the result of
# one query:

d, v = 6, 2
W_value, W_out = torch.randn(d, v), torch.randn(v, d)  # (d, v), (v, d)
gates = torch.randn(n, v)  # (n, v)
maps = torch.stack([W_value * g.sigmoid() @ W_out for g in gates])  # (n, d, d)
ranks = {
    "the map of one query": torch.linalg.matrix_rank(maps[0]).item(),
    "the maps of all queries, as rows of numbers": torch.linalg.matrix_rank(maps.flatten(1)).item(),
}
for name, rank in ranks.items():
    print(f"{name}: rank {rank}")

# %%
# The map of one query has rank v at most, as without a gate, but it is another map for each query.
# Without a gate all queries would have the same map, and the second number would be 1. With it the
# maps span a space of v dimensions, so that no single matrix in place of W_value and W_out computes
# the same: with a gate per channel, :doc:`the value matrix </gallery/deeper/plot_3_values_fold>`
# does not fold into what follows. With one gate per head, or with a sink, it does, because a single
# number may be moved past a matrix.
#
# Scores that stay small
# ----------------------
# If the scores grow during training, the softmax becomes so sharp that it passes on hardly any
# gradient, and in 16 bits they lose their digits. *QK-norm* gives all queries and all keys the same
# length before they meet. :cite:t:`henry2020query` divide by the length and learn one factor,
# :cite:t:`dehghani2023scaling` use a LayerNorm, and today's models mostly divide by the root mean
# square, with a learned *gain* g per channel:
#
# .. math:: s_{ij} = \frac{1}{\sqrt k} \Big(g \odot \frac{q_i}{\mathrm{rms}(q_i)}\Big) \cdot
#           \Big(g \odot \frac{k_j}{\mathrm{rms}(k_j)}\Big)


# Setup: qk_norm_attention
# attention_variants.py
def qk_norm_attention(query, key, value, attn_mask=None, is_causal=False, *, gain=None):
    """Give all queries and keys the same length, times a gain per channel, (k,)."""
    query, key = (F.rms_norm(each, each.shape[-1:], gain) for each in (query, key))
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(qk_norm_attention)

# %%
# Without a gain, no score exceeds :math:`\sqrt k`, whatever the matrices do, as long as each head
# is normalised by itself. With rotary positions, a question follows: is the norm taken before the
# rotation or after it? OLMo 2 :cite:p:`olmo2025` normalises first, over all heads at once. A
# rotation turns two channels at a time, a *pair*, and keeps lengths; a gain multiplies each channel
# by itself.
#
# .. predict:: norm-and-rotation
#
#    For which gains do the two orders give different scores?
#
#    For none : ``max(orders.values()) < 1e-9``
#        A gain that stretches one channel of a pair does not commute with turning the pair.
#    For any gain : ``orders["per pair"] > 1e-9``
#        A gain that is equal on both channels of a pair changes their length only.
#    For a gain that differs within a pair : ``orders["per pair"] < 1e-9 < orders["per channel"]``
#        Stretching one axis and turning do not commute.


def scores_by(order, gain):
    """Return the scores for a gain, with the norm before or after the rotation."""

    def norm(x):
        return F.rms_norm(x, x.shape[-1:], gain)

    def turn(x):
        return attention.apply_rotary(x)

    steps = (norm, turn) if order == "norm first" else (turn, norm)
    q, key_ = (steps[1](steps[0](x)) for x in (query, key))  # (n, k), (n, k)
    return q @ key_.T / k**0.5  # (n, n)


orders = {}
for name, gain in {
    "none": None,
    "per pair": torch.tensor([2.0, 0.5, 2.0, 0.5]),
    "per channel": torch.tensor([2.0, 1.0, 0.5, 1.5]),
}.items():
    orders[name] = (scores_by("norm first", gain) - scores_by("norm last", gain)).abs().max().item()
    print(f"gain {name:11} norm before and after the rotation differ by {orders[name]:.0e}")

# %%
# Without a gain the two orders are one function, and so they are if the gain is the same on both
# channels of each pair. Here a pair is channel c with channel c + k/2, as in LLaMA. Where
# neighbouring channels are paired, the gain has to be equal on neighbours.
#
# *Soft capping* bounds the scores themselves, with a hyperbolic tangent. Gemma 2
# :cite:p:`gemma2024` used a cap c of 50:
#
# .. math:: s_{ij} \leftarrow c \tanh(s_{ij} / c)


# Setup: soft_cap_attention
# attention_variants.py
def soft_cap_attention(query, key, value, attn_mask=None, is_causal=False, *, cap):
    """Keep every score between −cap and cap."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    scores = cap * torch.tanh(scores / cap)  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(soft_cap_attention)

# %%

fig, ax = plt.subplots(figsize=(5, 3))
factors = torch.logspace(-1, 2, 40)  # (40,)
largest = {"scaled dot product": [], "soft cap of 5": [], "QK-norm": []}
for factor in factors:
    raw = factor * scores  # (n, n), as when W_query grows by the factor
    normed = F.rms_norm(factor * query, (k,)) @ F.rms_norm(key, (k,)).T / k**0.5  # (n, n)
    for name, grown in zip(largest, (raw, 5 * torch.tanh(raw / 5), normed), strict=True):
        largest[name].append(grown.abs().max())
for (name, curve), color, line in zip(
    largest.items(), (BLACK, ORANGE, BLUE), (":", "--", "-"), strict=True
):
    ax.loglog(factors, curve, line, color=color, label=name)
ax.set(xlabel="factor on W_query", ylabel="largest score")
ax.legend()
fig.set_label(
    "Largest score against a factor on the matrix of the queries, both on logarithmic axes. "
    "Unchanged attention grows in proportion, the soft cap flattens out at 5, and QK-norm is level "
    "at less than 2."
)

# %%
# *Figure 2.* Scores when W_query grows. The cap flattens them, and the norm does not notice.
#
# A weight without competition
# ----------------------------
# A softmax lets keys compete: where one weight rises, others fall. In *sigmoid attention* each
# weight depends on its own score alone. :cite:t:`ramapuram2025sigmoid` add a bias of about −ln m
# for m keys, so that a row sums to about 1 as long as the scores are near 0:
#
# .. math:: w_{ij} = \sigma(s_{ij} + b), \qquad b \approx -\ln m


# Setup: sigmoid_attention
# attention_variants.py
def sigmoid_attention(query, key, value, attn_mask=None, is_causal=False, *, bias):
    """Weigh each key by the sigmoid of its own score."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    weights = torch.sigmoid(scores + bias)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(sigmoid_attention)

# %%

fig, ax = plt.subplots(figsize=(5, 3))
grown = scores[0].repeat(60, 1)  # (60, n)
grown[:, 2] = torch.linspace(-3, 5, 60)
for name, line, both in (
    ("softmax", "-", grown.softmax(dim=-1)),
    ("sigmoid", "--", torch.sigmoid(grown - math.log(n))),
):
    ax.plot(grown[:, 2], both[:, 2], line, color=WEIGHT, label=f"{name}: this key")
    ax.plot(grown[:, 2], both[:, 5], line, color=KEY, label=f"{name}: another key")
ax.set(xlabel="score of this key", ylabel="weight")
ax.legend()
fig.set_label(
    "Two weights of a query against the score of one key. Under softmax the weight of this key "
    "rises and that of another key falls. Under sigmoid attention the first rises too, and the "
    "other stays level."
)

# %%
# *Figure 3.* One score rises. Under a softmax the other keys lose what it gains.
#
# Fewer keys
# ----------
# A *window* lets a query see the last w keys only, so a layer caches w positions at most
# :cite:p:`beltagy2020longformer`. It changes nothing but the mask:


# Setup: window_attention
# attention_variants.py
def window_attention(query, key, value, attn_mask=None, is_causal=False, *, window):
    """Attend to keys less than ``window`` positions away."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    allowed = allowed.tril(window - 1).triu(1 - window)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(window_attention)

# %%
# Models of today mix both kinds of layers: gpt-oss alternates a window of 128 with full layers
# :cite:p:`openai2025gptoss`, and in Gemma 3 five layers with a window, of 1,024 in most sizes, are
# followed by a full one :cite:p:`gemma2025`. What such a stack reaches follows from the masks
# alone, because what a token knows has come along a path of allowed steps. We count the steps
# through four layers of 64 tokens, S with a window of 8 and L without one:

positions = 64
patterns = {"SSSS": 0.0, "SSSL": 0.0, "LLLL": 0.0}
one = torch.ones(positions, positions, dtype=torch.bool)  # (64, 64)
masks = {"S": one.tril() & one.triu(-7), "L": one.tril()}
for pattern in patterns:
    paths = torch.eye(positions)  # (64, 64)
    for kind in pattern:
        paths = (masks[kind].double() @ paths).clamp(max=1)  # (64, 64)
    reach = positions - 1 - paths[-1].nonzero().min().item()
    cached = sum(8 if kind == "S" else positions for kind in pattern)
    patterns[pattern] = reach
    print(f"{pattern}: the last token is reached from {reach} back, {cached:3} keys are cached")

# %%
# One full layer in four reaches everything, with less than half of the cache. It need not be the
# last one: the order of the layers changes by which path something comes, and not whether it can
# come.
#
# *Selection* keeps the keys with the largest scores instead of the nearest ones. In its plain form
# :cite:p:`gupta2021memory` it saves no score, because all are computed before some are chosen:


# Setup: top_k_attention
# attention_variants.py
def top_k_attention(query, key, value, attn_mask=None, is_causal=False, *, k):
    """Attend to the k keys with the largest scores; of equal ones, to all."""
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5  # (..., n, m)
    allowed = allowed_keys(scores, attn_mask, is_causal)  # (..., n, m)
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    allowed = allowed & (scores >= scores.topk(min(k, scores.shape[-1])).values[..., -1:])
    scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(top_k_attention)

# %%
# DeepSeek-V3.2 :cite:p:`deepseek2025v32` chooses 2,048 keys per query by a second, much cheaper set
# of scores, the *indexer*, and computes attention for these keys alone. The choice itself has no
# gradient, so the indexer is trained to imitate the weights. This takes more than fifteen lines,
# and so do selections by blocks; we leave them out.

fig, axes = plt.subplots(2, 2, figsize=(5.6, 5.6))
tokens = [str(i) for i in range(6)]
options = {"is_causal": True}
q, k_ = query[:6], key[:6]  # (6, k), (6, k)
pictures = {
    "softmax": mixture(softmax_attention, q, k_, **options),
    "1 in the denominator": mixture(softmax_plus_one_attention, q, k_, **options),
    "window of 3": mixture(window_attention, q, k_, **options, window=3),
    "top 2": mixture(top_k_attention, q, k_, **options, k=2),
}
for ax, (name, weights) in zip(axes.flat, pictures.items(), strict=True):
    draw_weights(ax, weights, tokens, vmax=1)
    ax.set_title(name, fontsize=11)
fig.set_label(
    "Four heatmaps of the weights of six queries on six keys, none above the diagonal. A window of "
    "3 leaves a band, the top 2 leave at most two cells per row, and one in the denominator makes "
    "all cells lighter."
)

# %%
# *Figure 4.* What each of six queries takes of each key, from the same scores.
#
# Positions for some layers, or for some channels
# -----------------------------------------------
# A causal layer without any positions, *NoPE*, still tells the first tokens from later ones, unless
# all are equal, because the first token sees nothing but itself
# :cite:p:`haviv2022transformer,kazemnejad2023impact`. Some models therefore rotate in some layers
# only, or only some of the channels; *half rotary* turns the first half. This changes queries and
# keys before attention, not attention itself:


def half_rotary(x):
    """Rotate the first half of the channels, and leave the others as they are."""
    turned, kept = x.chunk(2, dim=-1)  # (..., n, k / 2), (..., n, k / 2)
    return torch.cat([attention.apply_rotary(turned), kept], dim=-1)  # (..., n, k)


vectors = torch.randn(200, 1, 32).expand(-1, 64, -1)  # (200, 64, 32), each at 64 positions
curves = {}
for name, turn in {
    "NoPE": lambda x: x,
    "half rotary": half_rotary,
    "rotary": attention.apply_rotary,
}.items():
    turned = turn(vectors)  # (200, 64, 32)
    curves[name] = (turned * turned[:, :1]).sum(dim=-1).mean(dim=0) / 32**0.5  # (64,)
fig, ax = plt.subplots(figsize=(5, 3))
for (name, curve), color, line in zip(
    curves.items(), (BLACK, ORANGE, BLUE), (":", "--", "-"), strict=True
):
    ax.plot(curve, line, color=color, label=name)
ax.set(xlabel="distance of the key", ylabel="score")
ax.legend()
fig.set_label(
    "Score of a key with the same vector as the query, against its distance. Without positions it "
    "is level. With rotary positions it falls steeply and then wavers, and half rotary falls half "
    "as far."
)

# %%
# *Figure 5.* What a distance does to the score of a vector with itself, as a mean over 200 random
# vectors. The channels that are not rotated match at any distance.
#
# One map minus another
# ---------------------
# *Differential attention* :cite:p:`ye2025differential` computes two softmaxes, each with queries
# and keys of its own, and subtracts the second one, times a learned :math:`\lambda`:
#
# .. math:: \mathrm{context} = \big(\mathrm{softmax}(Q_1 K_1^\top / \sqrt k) - \lambda\,
#           \mathrm{softmax}(Q_2 K_2^\top / \sqrt k)\big)\, V
#
# What both maps give alike is reduced to a share of :math:`1 - \lambda`, which is also what a row
# sums to. A weight may become negative.


# Setup: differential_attention
# attention_variants.py
def differential_attention(query, key, query_2, key_2, value, lam, attn_mask=None, is_causal=False):
    """Subtract what a second set of queries and keys would take, times lam."""
    first = softmax_attention(query, key, value, attn_mask, is_causal)  # (..., n, v)
    second = softmax_attention(query_2, key_2, value, attn_mask, is_causal)  # (..., n, v)
    return first - lam * second  # (..., n, v)


# %%

query_2, key_2 = torch.randn(2, n, k)  # (n, k), (n, k)
signed = differential_attention(query, key, query_2, key_2, torch.eye(n), 0.8)  # (n, n)
print(f"rows sum to {signed.sum(dim=-1).min():.1f}; smallest weight {signed.min():.2f}")

# %%
# Plain multi-head attention can do something similar, because W_out may subtract what one head
# hands over from what another one does. But there each head has values of its own, and nothing
# asks the two to cancel.
#
# A state in place of the keys
# ----------------------------
# All variants so far keep every key and every value that may be needed again. *Linear attention*
# :cite:p:`katharopoulos2020transformers` replaces the exponential of the score by a product of two
# features, each made from one side alone. With :math:`\phi(x) = \mathrm{elu}(x) + 1`, which is
# positive,
#
# .. math:: w_{ij} = \frac{\phi(q_i) \cdot \phi(k_j)}{\sum_l \phi(q_i) \cdot \phi(k_l)} .


# Setup: linear_attention
# attention_variants.py
def linear_attention(query, key, value, attn_mask=None, is_causal=False):
    """Weigh each key by a product of features instead of the power of a score."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    weights = query @ key.transpose(-2, -1)  # (..., n, m)
    allowed = allowed_keys(weights, attn_mask, is_causal)  # (..., n, m)
    weights = torch.where(allowed, weights, 0.0)
    total = weights.sum(dim=-1, keepdim=True)  # (..., n, 1)
    weights = weights / torch.where(total > 0, total, 1.0)
    return weights @ value  # (..., n, v)


# %%

show_difference(linear_attention)

# %%
# The brackets can now be moved. Instead of comparing the query with each key, one first adds up
# :math:`\phi(k_j) v_j^\top` over all keys seen so far, a matrix S of k × v numbers, and multiplies
# it by the query's feature. A column of ones beside the values adds up the denominator in the same
# matrix. So a causal layer needs no cache but S, the *state*, which it updates with every token:


# attention_variants.py
def linear_recurrence(query, key, value, state=None):
    """Compute causal linear attention token by token; return the context and the last state."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    value = F.pad(value, (0, 1), value=1.0)  # (..., n, v + 1)
    state = torch.zeros_like(key.transpose(-2, -1) @ value) if state is None else state
    context = []
    for q, k, v in zip(query.unbind(-2), key.unbind(-2), value.unbind(-2), strict=True):
        state = state + k[..., :, None] * v[..., None, :]  # (..., k, v + 1)
        context.append((q[..., None, :] @ state).squeeze(-2))  # (..., v + 1)
    context = torch.stack(context, dim=-2)  # (..., n, v + 1)
    return context[..., :-1] / context[..., -1:], state


# %%

product = linear_attention(query, key, value, is_causal=True)  # (n, k)
context, state = linear_recurrence(query, key, value)  # (n, k), (k, k + 1)
early, kept = linear_recurrence(query[:5], key[:5], value[:5])  # (5, k), (k, k + 1)
late, _ = linear_recurrence(query[5:], key[5:], value[5:], kept)  # (3, k), (k, k + 1)
print(f"product against recurrence: {(product - context).abs().max():.0e}")
print(f"in two pieces:              {(product - torch.cat([early, late])).abs().max():.0e}")
print(f"kept between them: {kept.numel()} numbers, after any number of tokens")

# %%
# The state only ever adds. If a key comes again with another value, it holds the sum of both, and
# the old value can't be replaced. The *delta rule* :cite:p:`schlag2021linear` first reads what the
# state gives for the new key, and writes only the difference to the new value, times a rate
# :math:`\beta_i` between 0 and 1. A *decay* :math:`\alpha_i` forgets the rest a little with every
# token :cite:p:`yang2025gated`; in Kimi Linear :cite:p:`kimi2025linear` each channel has a decay of
# its own:
#
# .. math:: S_i = \alpha_i S_{i-1} + \beta_i\, k_i \big(v_i - \alpha_i S_{i-1}^\top k_i\big)^\top,
#           \qquad \mathrm{context}_i = S_i^\top q_i


# attention_variants.py
def delta_rule(query, key, value, beta, decay=None, state=None):
    """Write into the state what it does not say yet; return the context and the last state."""
    state = torch.zeros_like(key.transpose(-2, -1) @ value) if state is None else state
    decay = torch.ones_like(beta) if decay is None else decay
    context = []
    for t in range(key.shape[-2]):
        q, k, v = (each[..., t, None, :] for each in (query, key, value))  # (..., 1, k or v)
        state = decay[..., t, None, None] * state  # (..., k, v)
        state = state + beta[..., t, None, None] * k.transpose(-2, -1) * (v - k @ state)
        context.append((q @ state).squeeze(-2))  # (..., v)
    return torch.stack(context, dim=-2), state  # (..., n, v), (..., k, v)


# %%
# Right after a pair was written with a rate of 1, a key of length 1 is answered with exactly its
# value. A later key disturbs this answer, unless it is orthogonal. We write pairs of random keys
# and values, 16 numbers each, and then ask for all values again. For comparison, *least squares* is
# the matrix that answers best, computed from all pairs at once:

width = 16
recall = {"linear": [], "delta rule": [], "least squares": [], "softmax": []}
counts = (2, 4, 8, 12, 16, 20, 24, 32, 48, 64)
for count in counts:
    errors = {name: [] for name in recall}
    for _ in range(20):
        keys = F.normalize(torch.randn(count, width), dim=-1)  # (count, width)
        values = torch.randn(count, width)  # (count, width)
        asked = torch.cat([keys, keys])  # (2 * count, width)
        given = torch.cat([values, torch.zeros_like(values)])  # (2 * count, width)
        rate = torch.cat([torch.ones(count), torch.zeros(count)])  # (2 * count,)
        answers = {
            "linear": keys @ (keys.T @ values),
            "delta rule": delta_rule(asked, asked, given, rate)[0][count:],
            "least squares": keys @ torch.linalg.lstsq(keys, values, driver="gelsd").solution,
            "softmax": softmax_attention(40 * width**0.5 * keys, keys, values),  # scores up to 40
        }
        for name, answer in answers.items():
            errors[name].append((answer - values).square().mean() / values.square().mean())
    for name, found in errors.items():
        recall[name].append(torch.stack(found).mean().item())

fig, ax = plt.subplots(figsize=(5, 3.2))
for (name, curve), color, line in zip(
    recall.items(), (ORANGE, BLUE, VALUE, BLACK), ("--", "-", "-.", ":"), strict=True
):
    ax.plot(counts, curve, line, color=color, marker=".", label=name)
ax.axvline(width, color=BLACK, lw=0.8)
ax.set(xlabel="pairs written", ylabel="error of recall", ylim=(0, 1.5))
fig.legend(loc="outside upper center", ncols=2)
fig.set_label(
    "Error of recall against the number of pairs, with a line at 16, the width of the keys. "
    "Softmax stays at 0. Least squares is 0 up to 16 pairs and then rises. The delta rule is near "
    "0.6 with 16 pairs and above 1 from 32 on, and linear attention leaves the picture."
)

# %%
# *Figure 6.* What is recalled of a number of random pairs, as the mean square error relative to the
# values; always answering 0 costs 1. The first three have a state of 16 × 16 numbers (linear
# attention without features and denominator), and softmax attention keeps all keys.
#
# A state that is read by one product, as these are, can hold k arbitrary values exactly and no
# more, because it is a linear map of the keys: more than k keys depend on each other linearly, and
# so do the answers. The delta rule gets less out of it, as it sees each pair once. Softmax
# attention knows no such bound, and pays with a cache that grows. *Hybrids* want both: in Kimi
# Linear three layers with a delta rule are followed by one full layer. Like the window, that is a
# pattern of layers and not a line in this function.
#
# What still holds
# ----------------
# Five statements of earlier lessons, each as a check that is computed for every variant:
#
# - *Rank*: without a mask, the logarithms of the weights have rank k + 1 at most, because they are
#   the scores minus one number per row (:doc:`low rank </gallery/deeper/plot_1_low_rank_qk>`).
# - *Gauge*: replacing Q by Q A and K by :math:`K A^{-\top}` changes nothing, for any invertible A
#   (:doc:`gauge freedom </gallery/deeper/plot_2_gauge_and_biases>`).
# - *Dead bias*: a bias of the keys changes nothing (the same lesson).
# - *Fold*: W_value may be multiplied behind the weights (:doc:`the value matrix
#   </gallery/deeper/plot_3_values_fold>`).
# - *Blind rows*: a query that may attend to nothing gets zeros (:doc:`masks
#   </gallery/core/plot_4_masks>`).

# Setup: the variants with options, and the five checks.
n = 24
query, key, value = torch.randn(3, n, k)  # (n, k), (n, k), (n, k)
rate, gate = torch.rand(n), torch.randn(n, k)  # (n,), (n, k)


def differential(q, key_, v, attn_mask=None):
    """Take the second map from queries and keys that are the first ones, reversed."""
    return differential_attention(q, key_, q.flip(-2), key_.flip(-2), v, 0.5, attn_mask)


variants = {
    "softmax": softmax_attention,
    "plus one": softmax_plus_one_attention,
    "sink": lambda *given: sink_attention(*given, sink=torch.tensor(1.0)),
    "gate": lambda *given: gated_attention(*given, gate=gate),
    "QK-norm": qk_norm_attention,
    "soft cap": lambda *given: soft_cap_attention(*given, cap=2.0),
    "sigmoid": lambda *given: sigmoid_attention(*given, bias=-1.0),
    "top k": lambda *given: top_k_attention(*given, k=5),
    "differential": differential,
    "linear": linear_attention,
    "delta rule": lambda q, key_, v: delta_rule(q, key_, v, rate)[0],
}


def holds(name, attend):
    """Say of each statement whether it holds for a variant; None where it says nothing."""
    A = torch.randn(k, k)  # (k, k)
    W, b = torch.randn(k, k), torch.randn(k)  # (k, k), (k,)
    plain = attend(query, key, value)  # (n, k)

    def same(other):
        return torch.allclose(other, plain, rtol=1e-8, atol=1e-9)

    found = dict.fromkeys(("rank", "gauge", "dead bias", "fold", "blind rows"))
    if name not in ("top k", "differential", "delta rule"):
        same_weights = softmax_attention if name == "gate" else attend
        logs = mixture(same_weights, query, key).log()  # (n, n)
        found["rank"] = torch.linalg.matrix_rank(logs, rtol=1e-9).item() <= k + 1
    found["gauge"] = same(attend(query @ A, key @ torch.linalg.inv(A).T, value))
    found["dead bias"] = same(attend(query, key + b, value))
    found["fold"] = torch.allclose(attend(query, key, value @ W), plain @ W)
    if name != "delta rule":
        blind = torch.ones(n, n, dtype=torch.bool)  # (n, n)
        blind[3] = False
        found["blind rows"] = not attend(query, key, value, blind)[3].any()
    return found


# %%

table = {name: holds(name, attend) for name, attend in variants.items()}
print(f"{'':13}" + "".join(f"{statement:>12}" for statement in table["softmax"]))
for name, found in table.items():
    marks = ({True: "holds", False: "no", None: "–"}[one] for one in found.values())
    print(f"{name:13}" + "".join(f"{mark:>12}" for mark in marks))

# %%
# A bias of the keys adds the same number to all scores of a query, which a softmax over these keys
# does not notice. The bias comes to life where the sum of the weights depends on the scores (plus
# one, sink, sigmoid), where something nonlinear stands between the keys and the softmax (QK-norm,
# soft cap), and where there is no softmax (linear, delta rule). Of all A, QK-norm without a gain
# leaves the multiples of orthogonal matrices, the delta rule the orthogonal ones, and a feature per
# channel in general only permutations. The fold needs values that enter linearly and leave as they
# are, which only the gate prevents. The logarithms of the weights of linear attention have full
# rank, but the weights themselves have rank k at most, which is the same limit in another place. (A
# dash stands where a statement says nothing, for example where a weight can be 0.)

# %%
# Side by side on one small model
# -------------------------------
# What does each line do to a model that is trained with it? We took :doc:`the model that writes
# </gallery/deeper/plot_9f_writing>`, made it smaller (a width of 64, four layers of four heads),
# and trained it 17 times, each time with another attention in its layers, and all of this from
# three seeds. All variants have the same reviews in the same order, the same number of steps and
# the same learning rate, 0.01, which is that of the lesson on writing. Their embeddings begin with
# the same numbers, and so do all matrices that they share, except where a gate or a delta rule adds
# matrices: there the later layers begin with others.
#
# Besides the functions of this page, there are models without positions, with rotary positions on
# half of the channels, and with windows in three layers of four. The window is 16 tokens, the cap
# is 5, and the bias of sigmoid attention is −ln 64, for the mean number of keys in training. Linear
# attention has rotary positions before its features. The delta rule has no positions; its queries
# and keys have length 1, and its rates and decays are learned. The *hybrid* has this delta rule in
# three layers and softmax in the fourth, and no positions either. Since a gate has parameters of
# its own, there is also one whose feed-forward layers are narrower, and whose model has exactly as
# many parameters as that with softmax.
#
# The models were trained by a command that takes a long time, and this page reads the results that
# the command left:

# Setup: the results, and the differences from softmax with the same seed.
package = Path(attention.__file__).parent
folder = Path("experiments/variants")
places = package / folder, package.parent / "docs" / folder
folder = next(place for place in places if place.exists())
results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
settings = results["settings"]
runs = {tuple(key.split("|")): found for key, found in results["runs"].items()}
names = list(results["costs"])


def seeds(name, measured, lr=settings["lr"]):
    """Return what was measured with each seed."""
    return torch.tensor([runs[name, str(lr), str(s)][measured] for s in settings["seeds"]])


def against(name, measured):
    """Return the mean difference from softmax, and how far its 95 % interval reaches."""
    gaps = seeds(name, measured) - seeds("softmax", measured)  # (3,)
    t = 4.303  # of Student's distribution, for 95 % and two degrees of freedom
    return gaps.mean().item(), t * gaps.std().item() / len(gaps) ** 0.5


# %%

cpu_hours = sum(found["cpu seconds"] for found in runs.values()) / 3_600
print(f"made by: {results['origin']['command']}, in {cpu_hours:.1f} hours of one core")
print(f"{settings['steps']:,} steps of {settings['batch_size']} × {settings['length']} tokens")
print(f"measured on {settings['pieces']} pieces of other reviews, of {settings['length']} tokens")

# %%

# Table: parameters, and the loss in nats per token, as a mean of three seeds.
gap = {name: against(name, "loss") for name in names}
print(f"{'':31}{'parameters':>10}{'loss':>8}   minus softmax, 95 % interval")
for name in sorted(names, key=lambda name: gap[name][0]):
    count = runs[name, str(settings["lr"]), "1"]["parameters"]
    mean, reach = gap[name]
    interval = "" if name == "softmax" else f"{mean:+.3f} ± {reach:.3f}"
    print(f"{name:31}{count:10,}{seeds(name, 'loss').mean():8.3f}   {interval}")

# %%

fig, ax = plt.subplots(figsize=(5, 5.4))
order = sorted((name for name in names if name != "softmax"), key=lambda name: -gap[name][0])
for row, name in enumerate(order):
    mean, reach = gap[name]
    ax.plot([mean - reach, mean + reach], [row, row], color=BLUE, lw=7, alpha=0.25)
    each = seeds(name, "loss") - seeds("softmax", "loss")  # (3,)
    ax.plot(each.tolist(), [row] * len(each), "o", color=BLUE, ms=4)
ax.axvline(0, color=BLACK, lw=0.8)
ax.set_yticks(range(len(order)), order)
ax.set(xlabel="loss minus that of softmax, nats per token", xlim=(-0.2, 0.3))
fig.set_label(
    "Differences of the loss from softmax for sixteen variants, three points and an interval each. "
    "Gate, delta rule and hybrid lie left of 0, no positions and linear far to the right. The "
    "windows have one point far from the other two."
)

# %%
# *Figure 7.* Loss minus that of softmax with the same seed: a point for each seed, and the 95 %
# interval of their mean. Left of the line is better.
#
# The intervals say how much the start and the order of the reviews matter, and not how much the
# choice of the 300 pieces does. They are wide, because each rests on three seeds, and of sixteen
# intervals about one would miss 0 by chance. The loss is lower with the gate (−0.059 ± 0.016) and
# with the hybrid (−0.031 ± 0.015). The gate has a quarter more parameters in its attention, though,
# and with as many as softmax its interval just reaches 0 (−0.041 ± 0.042). So this experiment does
# not decide how much of the gain is due to the gating and how much to the parameters. The loss is
# clearly higher without positions (+0.168 ± 0.027) and with linear attention (+0.127 ± 0.022).
#
# Four intervals end near 0, and one such could be chance: those of the delta rule (−0.046 ± 0.036),
# of QK-norm without a gain (+0.052 ± 0.044), of sigmoid attention (+0.038 ± 0.036) and of the soft
# cap (+0.016 ± 0.008). All others can't be told from softmax: the learned sink and the one in the
# denominator, QK-norm with a gain, half rotary, and both kinds of windows, of which one seed is far
# from the others.
#
# Does the learning rate decide this? An earlier search, with a third of the steps, preferred 0.02
# for five variants. These were trained to the end at this rate, too, and three variants also at
# half the rate, once each:

# Table: the loss at other learning rates, with the first seed.
rates = sorted({float(lr) for _, lr, _ in runs})
print(f"{'learning rate':24}", *(f"{lr:>8}" for lr in rates))
for name in names:
    found = [runs.get((name, str(lr), "1")) for lr in rates]
    if found[-1]:
        print(f"{name:24}", *(f"{one['loss']:8.3f}" if one else " " * 8 for one in found))

# %%
# For all of these, 0.01 is the best of the rates that were tried. At the higher rate the loss of
# softmax suffers more than that of the sink and of the one in the denominator, which are then lower
# by 0.06, with one seed. Whether the delta rule, the hybrid and the rest would do better at another
# rate was not tried.
#
# Where in a text do the losses differ? The next table has the loss at four ranges of positions.

# Table: the loss by position, as a mean of three seeds.
lr = str(settings["lr"])
ranges = list(runs["softmax", lr, "1"]["loss by position"])
print(" " * 29, *(f"{one:>10}" for one in ranges))
for name in names:
    each = [runs[name, lr, str(s)]["loss by position"] for s in settings["seeds"]]
    means = [sum(found[one] for found in each) / len(each) for one in ranges]
    print(f"{name:29}", *(f"{mean:10.3f}" for mean in means))

# %%
# The gate is better by about as much everywhere, by 0.055 to 0.064 nats. What is lost without
# positions grows from the first range to the last by 0.041 ± 0.030, with linear attention by 0.049
# ± 0.019, and with sigmoid attention by 0.034 ± 0.030.
#
# What happens inside? The next table has means over three seeds: the weight on ``<start>``, the
# first token, of all queries from the 33rd on; the same of the head that gives it most; the length
# of its value, relative to that of other values; the :term:`effective rank` of the weights; and the
# largest absolute number behind a block, divided by the median. The weights of the gate are those
# before the gate, and a window can't reach ``<start>``.

# Table: what differs inside, as a mean of three seeds.
inside = {
    "on <start>": "weight on the first token",
    "one head": "weight on the first token, largest head",
    "its value": "norm of the first value, relative",
    "rank": "effective rank of the weights",
    "largest": "largest activation over the median",
}
print(" " * 30, *(f"{short:>10}" for short in inside))
for name in names:
    means = [seeds(name, measured).mean().item() for measured in inside.values()]
    print(
        f"{name:30}", *(f"{mean:10.{p}f}" for mean, p in zip(means, (3, 2, 2, 0, 0), strict=True))
    )
rows = torch.arange(33, 129)  # (96,), the number of keys of each query that is measured
print(f"{'equal weights':30} {(1 / rows).mean():10.3f}")

# %%
# On average these models have no attention sink: with softmax, the weight on ``<start>`` is that of
# equal weights. The model of the lesson on writing, which is hardly larger but has read 27 times as
# much, has one. So the sink, the one in the denominator and the gate are measured here without the
# reason for which they were proposed. One trace of it may be the value of ``<start>``. Under
# softmax it has 0.77 of the length of others, and with a sink, a gate or sigmoid attention it is
# longer by 0.26 ± 0.21, 0.24 ± 0.12 and 0.25 ± 0.12. The effective rank of the weights is lower
# than that of softmax with sigmoid attention (by 18 ± 5) and higher with the window (by 24 ± 12),
# as it must be with a band. Large activations were found once, with sigmoid attention, whose three
# seeds have 115, 15 and 35 medians.
#
# The last table goes beyond what was trained. In pieces of 256 tokens, it compares the loss at
# positions 65 to 128 with that from 129 on. Then a passage of 63 tokens comes twice in a row, and
# the losses of the first and of the second time are given. The columns at the right are how many
# numbers a model keeps for 4,096 tokens, in all four layers, and how many milliseconds attention
# takes for token 1,024: with what it keeps by then, and without, when all tokens come again.

# Table: beyond the trained length, a passage that comes twice, and what a new token costs.
lengths = ("within the trained length", "beyond the trained length")
times = ("of a passage, first time", "of a passage, second time")
print(f"{'':30} to 128   to 256     once   again   kept at 4,096    ms  no cache")
for name in names:
    losses = [seeds(name, f"loss {which}").mean().item() for which in (*lengths, *times)]
    cost = results["costs"][name]
    kept = cost["numbers kept after 4,096 tokens"]
    kept_or_not = cost["seconds for token 1,024"]
    milliseconds = [1_000 * kept_or_not[f"{which} a cache"] for which in ("with", "without")]
    numbers = "".join(f"{loss:8.3f}" for loss in losses)
    print(f"{name:29}{numbers}{kept:16,}{milliseconds[0]:6.2f}{milliseconds[1]:10.0f}")

# %%
# From the trained length on, softmax with rotary positions on all channels loses 0.20 nats. With
# the delta rule, the hybrid, half rotary and both kinds of windows it is about 0.02, and without
# positions 0.03. So what does not carry over here seems to be the rotation over distances that were
# never trained. Compared with softmax, the loss beyond the trained length is lowest with the delta
# rule (−0.232 ± 0.043) and the hybrid (−0.212 ± 0.029). With sigmoid attention it is above that of
# softmax in all three seeds, by 0.12 to 0.64, which is too uneven for an interval to exclude 0
# (+0.320 ± 0.701). A likely reason, which we did not test, is the fixed bias.
#
# No variant has learned to copy: the second time, the mean loss is lower by 0.03 to 0.09 nats, and
# with the window and the delta rule it is not lower at all. The model of the lesson on writing
# falls below 1 nat there. So nothing is said here about recall, for which a cache of all keys is
# kept.
#
# What a state saves is plain. After 4,096 tokens, softmax attention keeps 512 times as many numbers
# as the delta rule, and nearly four times as many as the hybrid. The times hardly show it, probably
# because in so small a model it takes longer to call the functions than to read the cache: to leave
# out the rotation saves more time than to have a state instead of keys.
#
# The same with FlexAttention
# ---------------------------
# Written as above, every variant but the two recurrences stores n × m scores. *FlexAttention*
# :cite:p:`dong2025flex` is PyTorch's way to have one of these lines inside a fused kernel:
# ``score_mod`` changes a score, given its indices, and ``mask_mod`` says whether a query may attend
# to a key. On a CPU, and not compiled, it computes what we compute; compiled for a GPU, it becomes
# a kernel that stores no scores and skips blocks that are masked.


def soft_cap(score, batch, head, q, kv):
    """Cap a score at 2."""
    return 2 * torch.tanh(score / 2)


def window_of_5(batch, head, q, kv):
    """Let a query see itself and the four tokens before it."""
    return (q >= kv) & (q - kv < 5)


heads = [each[None, None] for each in (query, key, value)]  # each (1, 1, n, k)
block_mask = create_block_mask(window_of_5, None, None, n, n, device="cpu")
with warnings.catch_warnings(action="ignore"):  # that it stores the scores unless it is compiled
    flex = flex_attention(*heads, score_mod=soft_cap, block_mask=block_mask)[0, 0]  # (n, k)
band = torch.ones(n, n, dtype=torch.bool).tril().triu(-4)  # (n, n)
ours = soft_cap_attention(query, key, value, band, cap=2.0)  # (n, k)
print(f"FlexAttention against ours: {(flex - ours).abs().max():.0e}")

# %%
# A variant whose line is behind the softmax, such as the gate, needs no such function. Linear
# attention could be written with features as queries and keys and the logarithm as ``score_mod``,
# but what it saves would then be lost.
#
# Takeaways
# ---------
# - What do today's models change in attention? One line, mostly: a term in the denominator (a
#   sink), a factor behind the values (a gate), a norm or a cap on the scores, a mask (a window, a
#   selection), or the softmax itself.
# - A learned sink is an output gate, :math:`\sigma(L - b)`, that the scores of the head compute.
# - QK-norm before and after a rotation are the same function, unless a gain differs within a pair.
# - The delta rule keeps k × v numbers in place of all keys and values, and linear attention k × (v
#   + 1). No state that is read by one product recalls more than k arbitrary values exactly.
# - In one small model a gate lowers the loss, though with as many parameters as softmax the
#   interval just reaches 0. A learned sink, for which this model has little use, changes little.
# - A bias of the keys is dead where plain dot products enter a softmax over these keys alone. Of
#   the variants here, the gate, the selection and the difference leave it dead.
#
# *From memory:* close this page and write ``softmax_attention``. Change one line for each of
# softmax with one in the denominator, the output gate, the soft cap and the window, and check them
# against ``attention_variants.py``.
#
# *Where next:* what to read beyond this site is at the end of :doc:`the questions </questions>`.
#
# You can now read the attention of a new model as a difference to the formula, and say what it
# costs and what it breaks. The exercise to do next is to decide :ref:`what to divide by
# <ex-divide-by>`.

plt.show()

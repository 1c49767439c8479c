r"""
.. lesson:: Scale in training
   :minutes: 30
   :extra: plot
   :needs: core/plot_3

1/√k, 1/k and QK-norm: the scale of attention during training
=============================================================

Does dividing by √k keep the scores in range while a layer is trained?

It does so at the start only. Training aligns the queries with the keys that they should find. The
dot product of two aligned vectors of width k is proportional to k, and not to √k. So if scores are
divided by √k, then under Adam those of a wide layer grow faster than those of a narrow one at the
same learning rate. A division by k keeps the scores of all widths alike if the queries start at
zero. Under plain gradient descent at one rate it is the other way round. QK-norm
bounds the scores by one learned number, the gain, whatever the matrices do. We watch all three, the
two divisions and QK-norm, in small layers that we train. We also compute how evenly a softmax of
random scores shares the weight, and we make the entropy of a layer collapse.

You need the lesson on :doc:`the scale </gallery/core/plot_3_scaling_variance>`. Running the page
takes about twenty seconds. Afterwards you can check how a scale behaves across widths, say how
sharp a softmax over m keys can be, and tell a collapsed entropy from a low entropy that the task
asks for.
"""

import math

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn.functional import cosine_similarity, normalize

from attention import QKSelfAttention, SelfAttention, scaled_dot_product_attention
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, use_style

use_style()
QUICK = False  # True: one seed, for a first try

# %%
# A task that aligns queries with keys
# ------------------------------------
# Our task is *associative recall*. Of the 32 tokens of a text, 16 hold an address and a payload,
# which are vectors of 8 numbers each. The other 16 hold the same addresses without a payload, and
# each of them asks for the payload that belongs to its address. So the :term:`query` of an asking
# token has to find one among 16 :term:`keys <key>`, those of the tokens with a payload. The
# addresses are new in each text. As vectors they all have the same length, because a longer one
# would have larger scores even if it were not the right one.

ADDRESS, PAYLOAD, m = 8, 8, 16
d = ADDRESS + PAYLOAD
holds = torch.arange(2 * m) >= m  # (32,)


def sample(B, generator):
    """Draw B texts, and the payloads that their first m tokens ask for."""
    address = torch.randn(B, m, ADDRESS, generator=generator)  # (B, m, ADDRESS)
    address = normalize(address, dim=-1) * ADDRESS**0.5
    payload = torch.randn(B, m, PAYLOAD, generator=generator)  # (B, m, PAYLOAD)
    asking = torch.cat([address, torch.zeros_like(payload)], dim=-1)  # (B, m, d)
    holding = torch.cat([address, payload], dim=-1)  # (B, m, d)
    return torch.cat([asking, holding], dim=1), payload  # (B, 2 * m, d), (B, m, PAYLOAD)


texts, payloads = sample(16, torch.Generator().manual_seed(99))  # (16, 32, 16), (16, 16, 8)
print(f"a text: {texts.shape[1]} tokens of width {d}; answering 0 costs", end=" ")
print(f"{payloads.square().mean():.2f}, the mean square of a payload")

# %%
# The coordinate check
# --------------------
# If a query and a key have coordinates of size 1, their dot product is k times the cosine of the
# angle between them. For independent vectors this cosine is a random number of size :math:`1/\sqrt
# k`, so the dot product has size :math:`\sqrt k`, which is the whole reason for the root. But once
# training has turned the two vectors towards each other, by an angle that is the same at all
# widths, their dot product is proportional to k.
#
# :cite:t:`yang2022tensor` therefore divide by k in their parametrisation μP (definition 4.1), a set
# of rules for the initialisation, the learning rates and the scale at each width. They test any
# parametrisation by a *coordinate check*: layers of several widths are trained for a few steps at
# the same settings, and the size of some quantity is compared. Our quantity is the :term:`standard
# deviation` of the scaled scores. In detail:
#
# - Only k grows, from 8 to 128, while d stays 16. For a matrix whose input keeps its width, μP asks
#   for the same initialisation and the same :term:`learning rate` of :term:`Adam` at all widths
#   (their table 3). So the entries of the query matrix and the key matrix are drawn with variance
#   1/d, and the learning rate is 0.005 throughout. If d grew as well, μP would divide the learning
#   rate by d.
# - The scale 1/k may be multiplied by any constant. We use :math:`\sqrt 8 / k`, which is equal to
#   :math:`1/\sqrt k` at k = 8.
# - Fresh queries and keys *are* independent, so under 1/k a wider layer starts with smaller scores.
#   If the queries start at zero, all widths start alike. The authors' package recommends `starting
#   the query matrix at zero <https://github.com/microsoft/mup#coord-check>`_, and we train with and
#   without this.
# - The layer is :class:`~attention.QKSelfAttention`, whose values are the tokens themselves, so
#   that only the query matrix and the key matrix are learned. The :term:`loss` is the mean squared
#   error of the payload.

WIDTHS, SEEDS, MARKS = (8, 16, 32, 64, 128), (0, 1, 2), (0, 10, 30)
SCALES = {
    "1/√k": (lambda k: k**-0.5, d**-0.5),
    "1/k": (lambda k: 8**0.5 / k, d**-0.5),
    "1/k, queries from 0": (lambda k: 8**0.5 / k, 0.0),
}


def check(
    k, scale, query_std, seed, make=lambda parameters: torch.optim.Adam(parameters, lr=0.005)
):
    """Train one layer; return score spread, cosine and weight of the pairs at each mark."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = QKSelfAttention(d, key_dim=k, scale=scale)
    nn.init.normal_(layer.W_query.weight, std=query_std)
    nn.init.normal_(layer.W_key.weight, std=d**-0.5)
    optimizer = make(layer.parameters())
    measured = []
    for step in range(MARKS[-1] + 1):
        if step in MARKS:
            with torch.no_grad():
                query = layer.W_query(texts[:, :m])  # (16, m, k)
                key = layer.W_key(texts[:, m:])  # (16, m, k)
                scores = query @ key.mT * scale  # (16, m, m)
                weights = scores.softmax(dim=-1)
                cosine = cosine_similarity(query, key, dim=-1).mean()
                found = weights.diagonal(dim1=-2, dim2=-1).mean()
                measured.append([scores.std(), cosine, found])
        x, target = sample(16, generator)  # (16, 2 * m, d), (16, m, PAYLOAD)
        loss = (layer(x, attn_mask=holds)[:, :m, ADDRESS:] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return measured


checked = {}
for name, (scale, std) in SCALES.items():
    rows = [[check(k, scale(k), std, seed) for seed in SEEDS] for k in WIDTHS]
    checked[name] = torch.tensor(rows)  # (5, 3, 3, 3)
print(f"{'scale':20}   k  std of scores: start, after 10, after 30  cosine  weight")
for name, table in checked.items():
    for k, row in zip(WIDTHS, table, strict=True):
        spread = row[..., 0].mean(dim=0)  # (3,)
        low, high = row[:, -1, 0].aminmax()
        cosine, found = row[:, -1, 1].mean(), row[:, -1, 2].mean()
        print(f"{name:20} {k:3} {spread[0]:9.2f} {spread[1]:8.2f} {spread[2]:8.2f}", end=" ")
        print(f"({low:.2f} to {high:.2f}) {cosine:7.2f} {found:7.2f}")

# %%

fig, axes = plt.subplots(3, figsize=(5, 8), sharex=True, sharey=True)
for ax, (name, table) in zip(axes, checked.items(), strict=True):
    for i, (color, marker) in enumerate(((BLACK, "^"), (ORANGE, "s"), (BLUE, "o"))):
        spread = table[:, :, i, 0]  # (5, 3)
        label = f"after {MARKS[i]} steps" if i else "at the start"
        ax.plot(WIDTHS, spread.mean(dim=1), marker=marker, color=color, label=label)
        ax.fill_between(WIDTHS, *spread.aminmax(dim=1), color=color, alpha=0.25, lw=0)
    ax.set_title(name)
    ax.set(xscale="log", ylim=(0, None), ylabel="std of the scores")
axes[-1].set_xticks(WIDTHS, [str(k) for k in WIDTHS])
axes[-1].minorticks_off()
axes[-1].set_xlabel("key width k")
axes[0].legend()
fig.set_label(
    "Three panels: standard deviation of the scores against key width from 8 to 128, at the start, "
    "after 10 and after 30 steps. Under 1/√k the curve is level at the start and rises steeply "
    "with the width after 30 steps. Under 1/k it falls at the start and is nearly level after 30. "
    "Under 1/k with queries from zero it is near level at every step."
)

# %%
# *Figure 1.* Standard deviation of the scaled scores over three seeds (mean, and lowest to highest
# as a band). Under 1/√k the widths start together and move apart; under 1/k they end together.
#
# Under 1/√k all widths start with about the same standard deviation, because queries and keys are
# still independent. After 30 steps, the wider the layer, the larger the standard deviation. Under
# 1/k with a random start, the wider layers start with a *smaller* standard deviation, and training
# makes up for the difference. With queries that start at zero, and only then, all widths have about
# the same standard deviation at the start, after 10 and after 30 steps, though that of the small
# widths is a little larger.
#
# The column of the cosine says why: from a random start, 30 steps turn queries and keys towards
# each other by about the same angle, at all widths and under both scales. If all coordinates have
# size 1, a dot product is k times this cosine. So under 1/√k a score is :math:`\sqrt k` times the
# cosine, and under 1/k it is a constant times the cosine. If nothing else contributed, the standard
# deviation under 1/√k would grow by the factor :math:`\sqrt{128/8} = 4` from k = 8 to k = 128. It
# grows by less, since it also contains the spread of the random start.
#
# The last column, the mean weight of the pairs that belong together, shows what a wide layer gains.
# Under 1/√k, the same 30 steps of Adam at the same learning rate take a layer of width 128 much
# further than one of width 8. Here this is an advantage, but in general a learning rate that is
# right for one width may then be wrong for another. This is what μP is meant to avoid. The
# coordinate check is about the first steps. Once a layer has solved its task, the task decides how
# large the scores have to be.
#
# All this holds for Adam, which moves every entry by about its learning rate, whatever the size of
# the gradient. In plain gradient descent the step contains the scale as a factor. We repeat the
# check with it for the narrowest and the widest layer, from a random start. The learning rate is 3
# at both widths, or, as μP prescribes for plain gradient descent, proportional to k:

descended = {}
print("plain gradient descent, after 30 steps")
for name, power in (("1/√k", 0), ("1/k", 0), ("1/k", 1)):
    scale, std = SCALES[name]
    for k in (WIDTHS[0], WIDTHS[-1]):
        rate = 3.0 * (k / WIDTHS[0]) ** power
        runs = [
            check(k, scale(k), std, seed, lambda p, rate=rate: torch.optim.SGD(p, lr=rate))[-1]
            for seed in SEEDS
        ]
        descended[name, power, k] = torch.tensor(runs).mean(dim=0)  # (3,)
        spread, cosine, found = descended[name, power, k].tolist()
        print(f"{name:5} k = {k:3}, rate {rate:3.0f}: std of scores {spread:.2f}, ", end="")
        print(f"cosine {cosine:.2f}, weight {found:.2f}")

# %%
# At one rate, the widths now end near each other under 1/√k, the wide layer somewhat behind the
# narrow one, whereas under 1/k the wide layer is left far behind. Under 1/k and with a rate
# proportional to k they end together. So no division keeps the widths together by itself: it has to
# fit the optimiser and its learning rate.
#
# How evenly do random scores share the weight?
# ---------------------------------------------
# A standard deviation says little until one knows what a :term:`softmax` makes of the scores. Let
# the scores of m keys be independent normal numbers with mean 0 and standard deviation
# :math:`\sigma`. If there are many keys, the sum of all :math:`e^{s_j}` is about
# :math:`m\,e^{\sigma^2/2}`, and the weighted mean of the scores, :math:`\sum_j w_j s_j`, is about
# :math:`\sigma^2`. So the :term:`entropy` is
#
# .. math::
#    -\sum_j w_j \ln w_j = \ln \sum_j e^{s_j} - \sum_j w_j s_j
#    \approx \ln m + \frac{\sigma^2}{2} - \sigma^2 = \ln m - \frac{\sigma^2}{2} .
#
# For :math:`\sigma = 1` this is the :math:`\ln m - \tfrac12` of :doc:`the earlier lesson
# </gallery/core/plot_3_scaling_variance>`. The formula can't hold for every :math:`\sigma`, because
# an entropy is never negative. The derivation says where the formula stops being valid. The weight
# lies on scores near :math:`\sigma^2`, that is, :math:`\sigma` standard deviations above the mean.
# Of the m keys, about :math:`m\,e^{-\sigma^2/2}` have such a score. There is at least one such key
# as long as :math:`\sigma < \sqrt{2 \ln m}`, which for 1,024 keys is about 3.7. Beyond this limit,
# the few largest scores dominate the sum. In physics this is known as the freezing of the random
# energy model (:cite:t:`derrida1981random`), and :cite:t:`giorlandino2025failure` carry it over to
# attention.
#
# .. predict:: entropy-at-the-limit
#
#    At the limit σ = √(2 ln m) the formula says 0. What is the entropy there, for 1,024 keys, of
#    which equal weights have 6.9?
#
#    About 0 : ``entropies[1024, 1.0] < 0.5``
#        The formula stops being valid before it reaches 0.
#    Between 1 and 4 : ``1 < entropies[1024, 1.0] < 4``
#        A few of the largest scores share the weight.
#    Nearly 6.9 : ``entropies[1024, 1.0] > 6``
#        At this spread the largest scores have most of the weight.

generator = torch.Generator().manual_seed(0)
LENGTHS = (16, 64, 256, 1024, 4096, 16384)
normal = {length: torch.randn(100, length, generator=generator) for length in LENGTHS}


def softmax_of_spread(length, std):
    """Return the weights of 100 queries over so many keys, for normal scores."""
    return (std * normal[length]).softmax(dim=-1)  # (100, length)


def entropy_of(weights):
    """Return the mean entropy of rows of weights."""
    return torch.special.entr(weights).sum(dim=-1).mean().item()


shares = (0.25, 0.5, 0.75, 1.0, 1.5)
entropies = {}
print(" keys  σ/√(2 ln m)     σ  entropy  ln m - σ²/2")
for length in (64, 1024, 16384):
    for share in shares:
        std = share * math.sqrt(2 * math.log(length))
        entropies[length, share] = entropy_of(softmax_of_spread(length, std))
        formula = math.log(length) - std**2 / 2
        print(f"{length:5} {share:12} {std:5.2f} {entropies[length, share]:8.2f} {formula:12.2f}")

# %%

spreads = torch.linspace(0, 7, 22)  # (22,)
fig, ax = plt.subplots(figsize=(5, 4))
for length, color, marker in ((16384, BLUE, "o"), (1024, ORANGE, "s"), (64, GREEN, "^")):
    curve = [entropy_of(softmax_of_spread(length, std)) for std in spreads]
    ax.plot(spreads, curve, color=color, marker=marker, ms=4, label=f"{length:,} keys")
    formula = math.log(length) - spreads**2 / 2  # (22,)
    above = formula >= 0  # (22,)
    ax.plot(spreads[above], formula[above], color=color, lw=1, ls="--")
    ax.plot(math.sqrt(2 * math.log(length)), 0, marker="x", color=color, ms=8, clip_on=False)
ax.plot([], [], color=BLACK, lw=1, ls="--", label="ln m − σ²/2")
ax.plot([], [], color=BLACK, marker="x", ms=8, ls="", label="σ = √(2 ln m)")
ax.set(xlabel="standard deviation σ of the scores", ylabel="entropy of the weights", ylim=(0, 10))
ax.legend()
fig.set_label(
    "Entropy of the weights against the standard deviation of the scores for 64, 1,024 and 16,384 "
    "keys. Each curve starts at ln m, follows its dashed formula down for about half of the way, "
    "and stays above it where the formula reaches zero at a cross, at 2.9, 3.7 and 4.4."
)

# %%
# *Figure 2.* Entropy of the weights for normal scores, as a mean of 100 queries. The formula
# (dashed) is a good approximation if :math:`\sigma` is at most about half of :math:`\sqrt{2 \ln
# m}`, and wrong where it meets the axis.
#
# For :math:`\sigma` up to half of :math:`\sqrt{2 \ln m}`, the formula is off by about a tenth of a
# :term:`nat` at most, and the more keys there are, the smaller the error. At :math:`\sigma =
# \sqrt{2 \ln m}` the formula gives 0, while the measured entropy is about 2 to 3 nats.
#
# Which temperature keeps attention sharp?
# ----------------------------------------
# If :math:`\sigma` is fixed, the largest weight falls as keys are added, since the number of keys
# that share the weight, :math:`m\,e^{-\sigma^2/2}`, is proportional to m. To keep this number from
# growing, :math:`\sigma` has to grow as :math:`\sqrt{\ln m}`. In other words, the :term:`softmax
# temperature` has to fall as :math:`1/\sqrt{\ln m}`.
#
# The factor before the root matters as well. If :math:`\sigma = c \sqrt{\ln m}`, the number of keys
# that share the weight is :math:`m^{1 - c^2/2}`. For :math:`c < \sqrt 2`, this number still grows
# with m. At :math:`c = \sqrt 2` it is 1 for every m, and the freezing begins. So c has to be above
# this limit if the largest weights are to stay large. We compare three cases: :math:`\sigma` is
# fixed, it grows as :math:`\sqrt{\ln m}`, or it grows as :math:`\ln m`. All three begin with
# :math:`\sigma = 1.5 \sqrt{2 \ln 16}` at 16 keys.

start = 1.5 * math.sqrt(2 * math.log(16))
growths = {
    "σ fixed": lambda length: 1.0,
    "σ as √ln m": lambda length: math.sqrt(math.log(length) / math.log(16)),
    "σ as ln m": lambda length: math.log(length) / math.log(16),
}
largest = {
    name: [
        softmax_of_spread(length, start * growth(length)).amax(dim=-1).median().item()
        for length in LENGTHS
    ]
    for name, growth in growths.items()
}
fig, ax = plt.subplots()
for (name, values), color, marker in zip(
    largest.items(), (ORANGE, BLUE, GREEN), "so^", strict=True
):
    ax.plot(LENGTHS, values, color=color, marker=marker, label=name)
    print(f"{name:12}", *(f"{value:6.2f}" for value in values))
ax.set(xscale="log", ylim=(0, 1), xlabel="number of keys m", ylabel="largest weight")
ax.set_xticks(LENGTHS, [f"{length:,}" for length in LENGTHS])
ax.minorticks_off()
ax.legend(loc="lower left")
fig.set_label(
    "Largest weight against the number of keys, from 16 to 16,384. All three curves start at the "
    "same weight. With a fixed standard deviation it falls to a fraction, with one that grows as "
    "the root of ln m it stays nearly level from 64 keys on, and with one that grows as ln m it "
    "rises from there."
)

# %%
# *Figure 3.* Largest weight, as a median of 100 queries with normal scores. With a fixed
# :math:`\sigma` the weights lose sharpness as keys are added. From 64 keys on, a :math:`\sigma`
# that grows as :math:`\sqrt{\ln m}` roughly keeps them sharp, and one that grows as :math:`\ln m`
# makes them sharper.
#
# The answer is different if a single key is right. Suppose that all other scores are equal, and
# that the score of the right key is higher by some margin. The weight of the right key is then
# :math:`1 / (1 + (m - 1)\, e^{-\mathrm{margin}})`. To keep this weight at some value, such as 0.9,
# the margin has to grow as :math:`\ln m`. For such a case :cite:t:`chiang2022overcoming` multiply
# the scores by :math:`\ln m`. So random scores need the root of the logarithm, and a margin needs
# the logarithm itself.

print("margin for a weight of 0.9, over ln m")
for length in LENGTHS:
    margin = math.log(length - 1) + math.log(0.9 / 0.1)
    print(f"{length:6} keys: {margin:5.2f}  {margin / math.log(length):5.2f}")

# %%
# QK-norm bounds the scores
# -------------------------
# All this assumes that :math:`\sigma` is known, but training changes it. :term:`QK-norm` takes the
# lengths of queries and keys out of the scores. :cite:t:`henry2020query` divide each query and each
# key by its length. They then multiply the dot products by one learned number, the *gain*, in place
# of :math:`1/\sqrt k`. :cite:t:`dehghani2023scaling` apply :term:`layer normalisation` to queries
# and keys in a vision transformer of 22 billion parameters, because a smaller one had diverged with
# attention weights that were nearly one-hot.
#
# We take the first form, in which a score is the gain times a cosine and so lies between −gain and
# gain. We start the gain at :math:`\sqrt k`. This is the score that the usual division by
# :math:`\sqrt k` gives to two vectors of length :math:`\sqrt k` that point the same way.


class QKNormSelfAttention(SelfAttention):
    """Self-attention with scores that are a learned gain times a cosine."""

    def __init__(self, embed_dim, *, key_dim, value_dim):
        super().__init__(embed_dim, key_dim=key_dim, value_dim=value_dim)
        self.gain = nn.Parameter(torch.tensor(key_dim**0.5))

    def forward(self, x, attn_mask=None, *, is_causal=False, need_weights=False):
        """Return the context, and the weights if they are needed."""
        query = self.gain * normalize(self.W_query(x), dim=-1)  # (..., n, k)
        key = normalize(self.W_key(x), dim=-1)  # (..., n, k)
        context, weights = scaled_dot_product_attention(
            query, key, self.W_value(x), attn_mask, is_causal=is_causal, scale=1.0
        )  # (..., n, v), (..., n, n)
        return (context, weights) if need_weights else context


# %%
# To test the bound, we take a fresh layer of each kind, one plain and one with QK-norm, and
# multiply its query matrix and its key matrix by 1, 10 and 100. We leave the gain as it is, because
# it sets the bound. We measure the largest *gap*, where a gap is the difference between two scores
# of the same query. A gap can be computed from two weights, because the difference of two scores is
# the logarithm of the ratio of their weights. With QK-norm every gap is at most twice the gain.

LAYERS = {"plain": SelfAttention, "QK-norm": QKNormSelfAttention}


def largest_gap(weights):
    """Return the largest difference between two scores of a query, from its weights' logarithm."""
    low, high = weights[:, :m, m:].log().aminmax(dim=-1)  # (16, m), (16, m)
    return (high - low).max().item()


gaps = {}
print("layer    factor  largest gap of scores  entropy")
for name, kind in LAYERS.items():
    for factor in (1, 10, 100):
        torch.manual_seed(0)
        layer = kind(d, key_dim=16, value_dim=PAYLOAD).double()
        with torch.no_grad():
            layer.W_query.weight *= factor
            layer.W_key.weight *= factor
            attended = layer(texts.double(), attn_mask=holds, need_weights=True)
        weights = attended[1]  # (16, 32, 32)
        gaps[name, factor] = largest_gap(weights)
        print(f"{name:8} {factor:6} {gaps[name, factor]:20.4f} {entropy_of(weights[:, :m]):10.4f}")

# %%
# In the plain layer the largest gap grows with the square of the factor, because both matrices are
# multiplied by it. In the end the smaller weights round to zero, and the gap that is computed from
# them is infinite. With QK-norm the scores do not change. The gain is 4 here, and the largest gap
# stays below twice the gain.
#
# The bound has its price. The best that a query can do is to score one key at +gain and all other
# keys at −gain. The weight of the one key is then :math:`1 / (1 + (m - 1)\,
# e^{-2\,\mathrm{gain}})`, the formula above with a margin of twice the gain. So if the gain is too
# small for the length of the text, no query can single out a key. This is why the gain has to be
# learned, or chosen in proportion to :math:`\ln m`.

print("largest possible weight")
for gain in (1, 2, 4, 8):
    bounds = (1 / (1 + (length - 1) * math.exp(-2 * gain)) for length in (16, 1024, 16384))
    print(f"gain {gain}:", "  ".join(f"{bound:.4f}" for bound in bounds), "  for 16, 1,024, 16,384")

# %%
# Entropy collapse
# ----------------
# :cite:t:`zhai2023stabilizing` follow the entropy of the weights through the training of
# transformers. They find that it falls to nearly zero where training is unstable, which they call
# :term:`entropy collapse`. :cite:t:`wortsman2023small` produce the instabilities of large models in
# small ones by raising the learning rate. We do the same on our task with a single layer, which now
# learns its values as well. We train it with and without QK-norm, at six learning rates and with
# three seeds each, for 200 steps of Adam. Every step draws new texts, so the loss is that of texts
# never seen before.

RATES, STEPS, S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), 200, 1 if QUICK else 3


def follow(name, rate, seed, value_rate=None):
    """Train one layer; return loss, entropy and mean weight of the right key at each step."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = LAYERS[name](d, key_dim=16, value_dim=PAYLOAD)
    groups = {"queries and keys": [], "values": []}
    for parameter_name, parameter in layer.named_parameters():
        part = "values" if parameter_name.startswith("W_value") else "queries and keys"
        groups[part].append(parameter)
    optimizer = torch.optim.Adam(
        [
            {"params": groups["queries and keys"], "lr": rate},
            {"params": groups["values"], "lr": rate if value_rate is None else value_rate},
        ]
    )
    history = []
    for _ in range(STEPS):
        x, target = sample(16, generator)  # (16, 2 * m, d), (16, m, PAYLOAD)
        context, weights = layer(
            x, attn_mask=holds, need_weights=True
        )  # (16, 2 * m, 8), (16, 2 * m, 2 * m)
        loss = (context[:, :m] - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            found = weights[:, :m, m:].diagonal(dim1=-2, dim2=-1).mean()
            history.append([loss.item(), entropy_of(weights[:, :m]), found.item()])
    return history


runs = {}
for name in LAYERS:
    rows = [[follow(name, rate, seed) for seed in SEEDS[:S]] for rate in RATES]
    runs[name] = torch.tensor(rows)  # (6, S, STEPS, 3)
high = RATES.index(1.0)
print("learning rate 1.0  step  entropy           weight of the right key")
for name, table in runs.items():
    for step in (0, 10, STEPS - 1):
        numbers = table[high, :, step, 1:].T  # (2, S)
        entropy, found = (" ".join(f"{value:.2f}" for value in row) for row in numbers)
        print(f"{name:18} {step + 1:4}  {entropy:16}  {found}")
collapsed = runs["plain"][high, :, 10, 2]  # (S,)
assert QUICK or collapsed.min() < 1 / 16 < collapsed.max() < 2 / 16

# %%

fig, axes = plt.subplots(2, figsize=(5, 6), sharex=True)
for name, color, style in (("plain", ORANGE, "-"), ("QK-norm", BLUE, "--")):
    for ax, column in zip(axes, (1, 0), strict=True):
        curves = runs[name][high, :, :, column].T  # (STEPS, S)
        lines = ax.plot(range(1, STEPS + 1), curves, color=color, ls=style, lw=1.2)
        lines[0].set_label(name)
axes[0].axhline(math.log(m), color=BLACK, lw=1, ls=":", label="ln 16")
axes[1].axhline(1, color=BLACK, lw=1, ls=":", label="answering 0")
axes[0].set(ylabel="entropy of the weights", ylim=(0, 3.2))
axes[1].set(ylabel="loss", yscale="log", xlabel="step")
axes[0].legend(loc=(0.04, 0.3))
axes[1].legend(loc="lower left")
fig.set_label(
    "Entropy and loss per step at a learning rate of 1, three seeds each. Without QK-norm the "
    "entropy is at zero within a few steps and the loss stays above that of answering zero. With "
    "QK-norm the entropy first rises to ln 16, falls after some tens of steps, and the loss falls "
    "with it to a few hundredths."
)

# %%
# *Figure 4.* Entropy of the weights and loss on new texts, per step, at a learning rate of 1; three
# seeds per layer. The plain layer collapses at once and does not recover, and QK-norm learns.
#
# Without QK-norm the entropy is near zero after ten steps, so each query gives nearly all of its
# weight to a single key. But this is seldom the right one: as the table prints, the mean weight of
# the right key lies around the 1/16 that equal weights would give it, in one seed below and in
# another above. Each query has settled on *some* key. Most queries then get next to no gradient, as
# :doc:`the earlier lesson </gallery/core/plot_3_scaling_variance>` measures for saturated weights,
# and the loss stays above that of answering 0. With QK-norm the entropy stays high in these first
# steps, and in all three seeds it falls only as the right key is found.
#
# So a low entropy is not a fault in itself. The task has one right key per query, and therefore
# both layers end with a low entropy at every learning rate at which they learn. A collapse is an
# entropy that is low *before* the right key is found. To notice one, follow the entropy and the
# loss together from the first step on.
#
# The values were trained at the same high learning rate, so are they to blame? To find out, we give
# queries and keys one learning rate and values another.

CONTROLS = (("plain", 1.0, 0.03), ("plain", 0.03, 1.0), ("QK-norm", 3.0, 0.03))
controls = {}
for name, rate, value_rate in CONTROLS:
    rows = [follow(name, rate, seed, value_rate) for seed in SEEDS[:S]]
    controls[name, rate, value_rate] = torch.tensor(rows)  # (S, STEPS, 3)
print("layer    rate of queries and keys, of values  entropy at step 11  loss, last 20 steps")
for (name, rate, value_rate), table in controls.items():
    entropy = " ".join(f"{value:.2f}" for value in table[:, 10, 1])
    losses = " ".join(f"{value:.3f}" for value in table[:, -20:, 0].mean(dim=1))
    print(f"{name:8} {rate:24} {value_rate:10}  {entropy:18}  {losses}")

# %%
# If only the queries and keys have the high rate, the plain layer collapses all the same, whereas
# it learns if only the values have the high rate. So it is the queries and keys that do not
# tolerate a rate of 1. With QK-norm they tolerate even a rate of 3. Here is how the two layers
# compare over all learning rates, now again with one rate for all parameters:

fig, ax = plt.subplots()
final = {name: table[:, :, -20:, 0].mean(dim=-1) for name, table in runs.items()}
for (name, losses), color, marker in zip(final.items(), (ORANGE, BLUE), "so", strict=True):
    ax.plot(RATES, losses.mean(dim=1), color=color, marker=marker, label=name)
    ax.fill_between(RATES, *losses.aminmax(dim=1), color=color, alpha=0.25, lw=0)
    for rate, row in zip(RATES, losses, strict=True):
        print(f"{name:8} learning rate {rate:4}: loss", *(f"{loss:.3f}" for loss in row))
ax.axhline(1, color=BLACK, lw=1, ls=":", label="answering 0")
ax.set(xscale="log", yscale="log", xlabel="learning rate", ylabel="loss, last 20 steps")
ax.set_xticks(RATES, [str(rate) for rate in RATES])
ax.minorticks_off()
ax.legend()
fig.set_label(
    "Final loss against learning rate. The plain layer is best at 0.01 and 0.03, gets worse from "
    "0.1 on and is above 1 at a rate of 1. QK-norm is worse at the low rates, best around 0.3, "
    "still low at 1, and above 1 at 3."
)

# %%
# *Figure 5.* Mean loss of the last 20 of 200 steps (mean of three seeds, lowest to highest as a
# band). QK-norm extends the range of usable learning rates upwards, and has a higher loss at the
# lowest rates.
#
# At low rates the plain layer is the better one on this task. The reason is probably that its
# scores may grow freely, whereas those of the layer with QK-norm are bounded by the gain, and
# :term:`Adam` moves the gain by about one learning rate per step at most.
#
# At a rate of 3 for all parameters both layers fail. With QK-norm this failure is not a collapse,
# since the entropy ends near :math:`\ln 16`, as the next cell prints. The cause is the rate of the
# values: in the experiment above, the layer with QK-norm learned with a rate of 0.03 for the values
# and of 3 for everything else.

print("entropy at the last step, learning rate 3.0")
for name, table in runs.items():
    print(f"{name:8}", *(f"{value:.2f}" for value in table[-1, :, -1, 1]))

# %%
# What this does not say
# ----------------------
# These are single layers of width 16 on one made-up task, and the highest learning rates are
# extreme. At a rate of 1, one step of Adam can move an entry of a matrix by 1, which is four times
# the largest value that ``nn.Linear`` draws for it. :cite:t:`zhai2023stabilizing` measure how
# entropies collapse in real transformers. :cite:t:`wortsman2023small` find that QK-norm makes small
# transformers less sensitive to the learning rate. They study two instabilities, and the growth of
# the scores is only one of them.
#
# QK-norm is one remedy among several. :cite:t:`zhai2023stabilizing` bound the matrices themselves:
# they divide each matrix by its largest :term:`singular value` and multiply it by a learned factor.
# A learning rate that rises slowly at first (*warm-up*) may also be enough. We tried neither of
# these two remedies.
#
# QK-norm also changes what a layer can express, since the length of a key no longer counts. On our
# task this does not matter, because all addresses have the same length. If their lengths differed,
# it would even help that lengths no longer count, since a dot product favours long addresses,
# whether they are right or not.
#
# Takeaways
# ---------
# - Does dividing by :math:`\sqrt k` keep the scores in range during training? No. It makes all
#   widths start alike, but as queries and keys align, under Adam at one learning rate the scores of
#   wide layers grow faster than those of narrow ones. Under plain gradient descent at one rate they
#   do not.
# - The scores of all widths stay together through the steps that we took if three conditions hold:
#   the scale is 1/k, the queries start at zero, and the learning rate is the one that μP
#   prescribes, which for Adam is here the same at every width.
# - Normal scores with standard deviation :math:`\sigma` give an entropy of about :math:`\ln m -
#   \sigma^2/2`, as long as :math:`\sigma` is well below :math:`\sqrt{2 \ln m}`.
# - If attention is to stay sharp over longer texts, the standard deviation of random scores has to
#   grow as :math:`\sqrt{\ln m}`, with a factor above :math:`\sqrt 2`. The margin of a single right
#   key has to grow as :math:`\ln m`.
# - QK-norm bounds every score by its gain. It kept our layer from entropy collapse at a high
#   learning rate, and made it learn more slowly at a low one.
# - A low entropy is a collapse only if the right key has not been found.
#
# *From memory:* close this page and write down how the entropy of the weights depends on the
# standard deviation of random scores, and up to which standard deviation this holds. Check it with
# 1,024 keys.
#
# *Where next:* :doc:`the lesson on a model that writes </gallery/deeper/plot_9f_writing>`, where a
# small model built from such parts writes texts, or :doc:`the lesson on gauge freedom and biases
# </gallery/deeper/plot_2_gauge_and_biases>`, which shows how queries and keys can be changed
# together without any effect, with QK-norm and without it.
#
# You can now say what the scale does at the start of training and what it no longer does later, and
# what QK-norm bounds. The exercise to do next is to decide :ref:`what to divide by <ex-divide-by>`.

plt.show()

r"""
.. lesson:: QKᵀ in a real model
   :minutes: 40
   :extra: train
   :needs: core/plot_3 deeper/plot_1 deeper/plot_2

QKᵀ in a real model: spectra, rank, biases and scores of 72 heads
=================================================================

Does a real encoder use only a handful of directions of QKᵀ, as our own classifiers did?

Its matrices say no, because their spectra are almost as flat as those of random matrices. Its
inputs say otherwise: once the directions are weighted by what each head reads, the scores need
fewer of them, and a truncation that knows the inputs does far less damage than one that knows the
matrices alone.

The product of the two matrices is called :math:`M = W_\mathrm{query} W_\mathrm{key}^\top` as
before, and the classifiers are those of :doc:`the lesson on rank after training
</gallery/deeper/plot_4_rank_on_reviews>`. You need the lessons on :doc:`low rank
</gallery/deeper/plot_1_low_rank_qk>`, on :doc:`gauge and biases
</gallery/deeper/plot_2_gauge_and_biases>` and on :doc:`the scale
</gallery/core/plot_3_scaling_variance>`. Running the page takes ten seconds. Afterwards you can
take the heads of any encoder apart in this way, and you know which control each number needs beside
it.
"""

import json
import math
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import attention
from attention import SelfAttention
from attention.analysis import bilinear_form, effective_rank, rank_correlation
from attention.plotting import BLACK, BLUE, GREEN, KEY, ORANGE, QUERY, draw_matrices, use_style
from attention.pretrained import MINILM_SHA256, load_encoder
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import clean

use_style()

# %%
# Seventy-two heads, and a file of results
# ----------------------------------------
# all-MiniLM-L6-v2 has 6 layers of 12 heads, with d = 384 and k = 32 (:cite:t:`wang2020minilm`,
# fine-tuned for sentence embeddings as :cite:t:`reimers2019sentence` proposed). Everything that
# follows from its parameters alone is computed on this page. What needs hundreds of reviews comes
# from a file in the repository, which names the command that wrote it; where the file and this page
# overlap, we check that they agree. Layers and heads are counted from 1 on this page, but from 0 on
# :doc:`the previous page </gallery/deeper/plot_6_real_model>` and in the model's file. So head 1 of
# layer 1 here is head 0 of layer 0 there.

encoder, tokenizer = load_encoder("minilm")
encoder.requires_grad_(False)
layers = [block.attention for block in encoder.encoder.blocks]
L, h, d, k = len(layers), layers[0].num_heads, layers[0].embed_dim, layers[0].head_dim

package = Path(attention.__file__).parent


def results_of(experiment):
    """Read an experiment's file from the repository, or from the downloaded package."""
    file = Path("experiments", experiment, "results.json")
    places = package / file, package.parent / "docs" / file
    return json.loads(next(p for p in places if p.exists()).read_text(encoding="utf-8"))


results = results_of("real_model")
origin = results["origin"]
assert origin["model"]["sha256"] == MINILM_SHA256["model.safetensors"]
for name in ("command", "date", "seeds", "data", "versions", "hardware", "cpu_seconds"):
    print(f"{name}: {origin[name]}")


def column(*path):
    """Read one number per head from the file, as a table of layers and heads."""
    numbers = results["heads"]
    for name in path:
        numbers = [each[name] for each in numbers]
    return torch.tensor(numbers).unflatten(0, (L, h)).double()


def table(columns):
    """Print the mean of each layer's heads, and the range from the smallest to the largest."""
    print("layer" + "".join(f"{name:>26}" for name in columns))
    for i in range(L):
        rows = [(each[i].mean(), each[i].min(), each[i].max()) for each in columns.values()]
        texts = ("{} ({} to {})".format(*(f"{float(x):.3g}" for x in row)) for row in rows)
        print(f"{i + 1:5}" + "".join(f"{text:>26}" for text in texts))


def split(linear, columns=False):
    """Cut a linear layer into its heads, each as the equations have it: a token is a row."""
    weight = linear.weight.double().T  # (d, h * k), or (h * k, d) for the output projection
    return weight.unflatten(0, (h, k)).mT if columns else weight.unflatten(1, (h, k)).movedim(1, 0)


# %%
# The spectra
# -----------
# Each head has two products of a d × k and a k × d matrix. The *QK circuit* :math:`M =
# W_\mathrm{query} W_\mathrm{key}^\top` decides who attends to whom, and the *OV circuit*
# :math:`W_\mathrm{value} W_\mathrm{out}` decides what is handed over; both names are from
# :cite:t:`elhage2021mathematical`.
#
# Each product is a d × d matrix, but only k of its singular values can differ from zero, and these
# can be computed without the large matrix. Write the product as :math:`A B^\top`, where A and B
# have k columns each, with the QR decompositions :math:`A = Q_A R_A` and :math:`B = Q_B R_B`. Since
# the columns of :math:`Q_A` and :math:`Q_B` are orthonormal, the k singular values are those of the
# k × k matrix :math:`R_A R_B^\top`.


def spectrum(left, right):
    """Return the singular values of left @ right.mT, which has rank k or less."""
    return torch.linalg.svdvals(torch.linalg.qr(left).R @ torch.linalg.qr(right).R.mT)


query = torch.stack([split(layer.W_query) for layer in layers])  # (6, 12, 384, 32)
key = torch.stack([split(layer.W_key) for layer in layers])  # (6, 12, 384, 32)
value = torch.stack([split(layer.W_value) for layer in layers])  # (6, 12, 384, 32)
out = torch.stack([split(layer.W_out, columns=True) for layer in layers])  # (6, 12, 384, 32)
qk, ov = spectrum(query, key), spectrum(value, out)  # (6, 12, 32), (6, 12, 32)
M = bilinear_form(layers[0])[0].double()  # (384, 384)
torch.testing.assert_close(qk[0, 0], torch.linalg.svdvals(M)[:k], rtol=1e-4, atol=1e-4)

# %%
# The control is a *Gaussian pair*, which stands for an untrained head: two matrices of the same
# sizes as a head's, with independent Gaussian entries. We draw twenty such pairs. Two numbers sum
# up a spectrum: the *effective rank* of :cite:t:`roy2007effective`, and the number of directions
# that hold 90 % of the energy, which is here the sum of the squared singular values.
#
# .. predict:: spectra-of-a-real-model
#
#    How large is the effective rank of the heads' QKᵀ, of which 32 is the most?
#
#    A handful, as in our classifiers : ``ranks(qk).mean() < 10``
#        Those models were trained for one label, and this one for all of language.
#    About half, so that training shows : ``10 <= ranks(qk).mean() < 24``
#        Training shows elsewhere: in how the heads' inputs meet these directions.
#    Nearly that of a Gaussian pair : ``ranks(qk).mean() > 0.9 * ranks(gaussian).mean()``
#        By their matrices alone, most heads can hardly be told from chance.


def directions(sigma, share=0.9):
    """Count the largest singular values whose squares make up a share of all squares."""
    energy = sigma.square().cumsum(-1) / sigma.square().sum(-1, keepdim=True)  # (..., k)
    return (energy < share).sum(-1) + 1


def ranks(sigma):
    """Return the effective rank of each spectrum."""
    return effective_rank(torch.diag_embed(sigma))


generator = torch.Generator().manual_seed(origin["seeds"][0])
draws = torch.randn(20, 2, d, k, generator=generator, dtype=torch.float64)  # (20, 2, 384, 32)
gaussian = spectrum(draws[:, 0], draws[:, 1])  # (20, 32)
assert torch.allclose(ranks(qk), column("QK", "effective_rank"), rtol=1e-4)
assert torch.allclose(ranks(ov), column("OV", "effective_rank"), rtol=1e-4)
print(f"Gaussian pair: effective rank {ranks(gaussian).mean():.1f} ± {ranks(gaussian).std():.2f},")
print(f"90 % of the energy in {directions(gaussian).min()} to {directions(gaussian).max()} of {k}")
table({"effective rank of QKᵀ": ranks(qk), "of OV": ranks(ov)})
table({"90 % of energy in, QKᵀ": directions(qk).double(), "OV": directions(ov).double()})

# %%
# A spectrum of M is a property of the head only up to what no weight depends on. Every head of this
# model reads the output of a :term:`layer normalisation` and has a query bias, so M may be changed
# in the two ways that :doc:`the lesson on gauge </gallery/deeper/plot_2_gauge_and_biases>` shows.
# We take both away, by projecting the columns of the query matrix and of the key matrix off one
# direction, that of the reciprocals of the LayerNorm's gains, and look at the spectra once more.

blocks = encoder.encoder.blocks
norms = [encoder.norm, *(block.norm2 for block in blocks[:-1])]
inverse = torch.stack([1 / norm.weight.double() for norm in norms])  # (6, 384)
off = inverse / inverse.norm(dim=-1, keepdim=True)  # (6, 384)


def off_inverse_gain(matrices):
    """Take the component along the reciprocals of the gains off every column."""
    along = torch.einsum("ld,lhdk->lhk", off, matrices)  # (6, 12, 32)
    return matrices - off[:, None, :, None] * along[:, :, None]  # (6, 12, 384, 32)


change = ranks(spectrum(off_inverse_gain(query), off_inverse_gain(key))) - ranks(qk)  # (6, 12)
print(f"effective rank without these parts: changed by {change.min():.2f} to {change.max():.2f}")
assert change.abs().max() < 0.3

# %%
# This makes little difference, far less than the heads differ from each other. Judged by their
# matrices, almost all heads use almost all of their 32 directions. Only some heads, most of them in
# the first and the fifth layer, fall well below a Gaussian pair. Our own classifiers are another
# matter, and figure 1 draws them beside the heads. Each curve adds up the energy, largest direction
# first. The horizontal axis counts directions as a share of k, because k is 16 in our classifiers
# and 32 in the heads.

low_rank = results_of("low_rank")
seeds = len(low_rank["origin"]["seeds"])
ours = torch.tensor(
    [r["spectrum_after"] for r in low_rank["runs"] if r["kind"] == "qkv" and r["key_dim"] == 16]
)  # (seeds, 16)
print(f"our classifiers: effective rank {ranks(ours).mean():.1f} of 16, ", end="")
print(f"90 % of the energy in {directions(ours).min()} to {directions(ours).max()} directions")

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
for sigma, colour, style, label in (
    (gaussian, BLACK, "-", "Gaussian pairs"),
    (qk.flatten(0, 1), BLUE, "--", "72 heads, QKᵀ"),
    (ov.flatten(0, 1), GREEN, ":", "72 heads, OV"),
    (ours, ORANGE, "-.", "our classifiers, QKᵀ"),
):
    count, width = sigma.shape
    squares = sigma.double().square()  # (count, width)
    energy = (squares.cumsum(-1) / squares.sum(-1, keepdim=True)).T  # (width, count)
    share = torch.arange(1, width + 1) / width  # (width,)
    ax.plot(share, energy.mean(1), style, color=colour, label=label)
    low, high = energy.min(1).values, energy.max(1).values  # (width,), (width,)
    ax.fill_between(share, low, high, color=colour, alpha=0.12, lw=0)
ax.axhline(0.9, color=BLACK, lw=0.8)
ax.set(xlabel="directions kept, as a share of k", ylabel="share of the energy", ylim=(0, 1.02))
ax.legend(loc="lower right")
fig.set_label(
    "Cumulative energy against the share of directions kept. The mean curves of the 72 heads, for "
    "QK and OV, lie just above that of Gaussian pairs; the band of QK reaches higher. The curve of "
    "our own classifiers rises far more steeply and is level long before its end."
)

# %%
# *Figure 1.* Energy of the largest directions: lines are means, bands reach from the lowest curve
# to the highest, and the thin line marks 90 %. The classifiers are those with k = 16 and a value
# matrix, one per seed. They learned a single label per review, whereas this encoder learned to
# embed whole sentences.
#
# Balanced pairs, and weight decay
# --------------------------------
# Many pairs of matrices have the same product M. A pair is *balanced* if
# :math:`W_\mathrm{query}^\top W_\mathrm{query} = W_\mathrm{key}^\top W_\mathrm{key}`, and of all
# pairs with the product M the balanced ones have the least sum of squares. That least sum is
# :math:`2 \lVert M \rVert_*`, where the *nuclear norm* :math:`\lVert M \rVert_*` is the sum of the
# singular values of M. A penalty on the squares of both matrices therefore acts as a penalty on the
# nuclear norm, which prefers low rank. :cite:t:`kobayashi2024weight` prove that it does so at the
# local minima of a loss with this penalty, and they also find lower rank in attention trained with
# weight decay.
#
# The table says how near to balance the pairs of this model are. It divides the sum of squares by
# the least possible sum, and the norm of the query matrix by the norm of the key matrix. For a
# balanced pair, both ratios are 1.

squares = query.square().sum((-2, -1)) + key.square().sum((-2, -1))  # (6, 12)
excess = squares / (2 * qk.sum(-1))  # (6, 12)
assert torch.allclose(excess, column("gauge", "squares_over_twice_nuclear"), rtol=1e-4)
assert (excess >= 1).all()
control = draws.square().sum((1, 2, 3)) / (2 * gaussian.sum(-1))  # (20,)
ratio = query.norm(dim=(-2, -1)) / key.norm(dim=(-2, -1))  # (6, 12)
table({"squares / 2‖M‖_*": excess, "‖W_query‖ / ‖W_key‖": ratio})
print(f"Gaussian pairs: squares / 2‖M‖_* {control.min():.3f} to {control.max():.3f}")

# %%
# All 72 pairs are near balance, but that alone proves nothing. With d much larger than k, the
# columns of a Gaussian matrix are nearly orthogonal and equally long, so a Gaussian pair is near
# balance without any training. The last line shows this, and most heads are no nearer. The spectra
# do not show a low rank, either. If weight decay acted on these products, neither their balance nor
# their rank shows it. How strong it was during pre-training can't be read from the files.
#
# The dead key bias
# -----------------
# The key bias adds the same number, :math:`q_i \cdot b_\mathrm{key}`, to every score of query i,
# and the softmax takes no notice of it. :cite:t:`cordonnier2020multihead` point this out, and
# :cite:t:`namazifar2023role` prove and test it. The bias is dead wherever queries and keys meet in
# a plain dot product and every score of the softmax contains it. Both hold in this model, which
# adds its positions to the embeddings and gives no weight to anything but its tokens. With rotary
# positions (RoPE), with normalised keys, or beside an extra key without the bias, a key bias does
# change the weights, as :doc:`the lesson on biases </gallery/deeper/plot_2_gauge_and_biases>`
# shows.

ids = torch.tensor([tokenizer.encode("The film was slow, but the soup was lovely.").ids])  # (1, 13)
_, before = encoder(ids, need_weights=True)  # (1, 13, 384), (6, 1, 12, 13, 13)
norms = [(layer.W_query.bias.norm().item(), layer.W_key.bias.norm().item()) for layer in layers]
saved = [layer.W_key.bias.clone() for layer in layers]
for layer in layers:
    layer.W_key.bias.zero_()
_, after = encoder(ids, need_weights=True)  # (1, 13, 384), (6, 1, 12, 13, 13)
for layer, bias in zip(layers, saved, strict=True):
    layer.W_key.bias.copy_(bias)
for i, (of_queries, of_keys) in enumerate(norms):
    print(f"layer {i + 1}: ‖b_query‖ {of_queries:.2f}, ‖b_key‖ {of_keys:.4f}")
print(f"all key biases removed: largest change of a weight {(after - before).abs().max():.0e}")
print(f"on the reviews, in float64: {results['key_bias_moves_weights_by']:.0e}")
assert (after - before).abs().max() < 1e-5
assert results["key_bias_moves_weights_by"] < 1e-12

# %%
# The small norms of the key biases fit this, but they do not follow from it. A bias that changes
# nothing has a gradient of zero, up to rounding, and Adam divides even rounding by its own size, so
# it can move the bias all the same. How far depends on Adam's ε and on the learning rate. We train
# a small layer with biases, d = 8 and k = 4, for 150 steps in float32 on random targets:

torch.manual_seed(0)
tokens, target = torch.randn(2, 32, 6, 8)  # (32, 6, 8), (32, 6, 8)
drift = {}
for eps, rate in ((1e-8, 1e-2), (1e-6, 1e-2), (1e-6, 1e-4)):
    torch.manual_seed(0)
    small = SelfAttention(8, key_dim=4, bias=True)
    start = small.W_key.bias.detach().clone()  # (4,)
    optimizer = torch.optim.Adam(small.parameters(), lr=rate, eps=eps)
    for _ in range(150):
        optimizer.zero_grad()
        (small(tokens) - target).square().mean().backward()
        optimizer.step()
    drift[eps, rate] = (small.W_key.bias.detach() - start).norm().item()
    print(f"ε = {eps:.0e}, rate {rate:.0e}: the key bias moved by {drift[eps, rate]:.0e}")
assert drift[1e-8, 1e-2] > 10 * drift[1e-6, 1e-2] > 100 * drift[1e-6, 1e-4]

# %%
# With a small rate and a large ε, as in the last line, Adam leaves such a bias near its start,
# which for BERT's family is zero. BERT's own code has an ε of :math:`10^{-6}` and rates of about
# :math:`10^{-4}`; with which settings this model was trained at each stage, its files do not say.
# The query bias is far larger, because it does have an effect: it adds :math:`b_\mathrm{query}
# \cdot k_j` to the score that key j gets from every query.
#
# What the heads see
# ------------------
# A singular value of M says nothing about whether any token points in its direction. Let C be the
# covariance of the head's inputs; then the singular values of :math:`C^{1/2} M C^{1/2}` measure
# each direction by the scores that it makes.

# sphinx_gallery_start_ignore


def draw_weighted():
    """Draw C½ M C½ as rectangles."""
    fig, ax = plt.subplots(figsize=(5, 2.1))
    root = ("C½", "(384, 384)", 3, 3, BLACK)
    pair = ("W_query", "(384, 32)", 3, 0.8, QUERY), ("W_keyᵀ", "(32, 384)", 0.8, 3, KEY)
    ends = draw_matrices(ax, 0, (root, "·", pair[0], "·", pair[1], "·", root))
    left, right = ends[1][0], ends[2][1]
    ax.plot([left, left, right, right], [-1.7, -1.9, -1.9, -1.7], color=BLACK, lw=1.2)
    ax.text((left + right) / 2, -2.05, "M", ha="center", va="top", fontsize=10)
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-2.7, 2.2))
    return fig


# sphinx_gallery_end_ignore
fig = draw_weighted()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles: the square C½, (384, 384), times the tall W_query, (384, 32), times the wide "
    "transpose of W_key, (32, 384), times a second square C½. A bracket joins the two in the "
    "middle as M."
)

# %%
# *Figure 2.* One head, weighted by its inputs on either side. Whatever C is, the rank is 32 at
# most, so no more than 32 singular values differ from zero.
#
# More exactly, there is one C for each side of M. On the side of the queries, the inputs are
# centred on their mean over all tokens. On the side of the keys, they are centred on the mean of
# *their own review*, because whatever is the same for all keys of a query cancels in the softmax.
# The energy of :math:`C^{1/2} M C^{1/2}` is then the mean square of :math:`(x_i - \bar x) M (x_j -
# \bar x_\mathrm{review})^\top` for independent i and j. The singular values can be computed from k
# × k matrices alone: they are those of :math:`\Sigma_q^{1/2} \Sigma_k^{1/2}`, where
# :math:`\Sigma_q` and :math:`\Sigma_k` are the covariances of the queries and of the keys.
#
# The inputs need a control of their own, because a C with a few strong directions lowers the
# effective rank, whatever M is. So the Gaussian pairs are weighted by the same inputs.
#
# The centring removes the mean query, although the mean query contributes to the scores, too: it
# adds a number to the score of each key, and this number is the same for every query. The last
# column of the second table is therefore the mean query's share of the variance within a row of
# scores.

plain = column("QK", "effective_rank")  # (6, 12)
weighted = column("weighted", "effective_rank")  # (6, 12)
count = column("weighted", "directions_90")  # (6, 12)
shared = column("weighted", "shared_query_energy")  # (6, 12)
chance = torch.tensor(
    [layer["weighted_gaussian"]["effective_rank"] for layer in results["layers"]]
)  # (6, 20)
print(f"covariances over {origin['config']['calibration_reviews']} training reviews")
table({"effective rank, weighted": weighted, "Gaussian pairs, weighted": chance})
table({"90 % of the energy in": count, "share of the mean query": shared})

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
places = torch.arange(1, L + 1)[:, None] + torch.linspace(-0.14, 0.14, h)  # (6, 12)
ax.axhline(ranks(gaussian).mean(), color=BLACK, lw=1, label="Gaussian pair")
level = chance.mean(1, keepdim=True).expand(L, 2)  # (6, 2)
ends = torch.arange(1, L + 1)[:, None] + torch.tensor([0.0, 0.36])  # (6, 2)
ax.plot(ends.T, level.T, color=GREEN, label=["Gaussian, C½ M C½"] + ["_"] * (L - 1))
ax.plot(places.flatten() - 0.18, plain.flatten(), "o", ms=4, color=BLUE, label="M")
ax.plot(places.flatten() + 0.18, weighted.flatten(), "^", ms=4, color=ORANGE, label="C½ M C½")
ax.set(xlabel="layer", ylabel="effective rank, of 32", ylim=(0, 34), xticks=range(1, L + 1))
ax.legend(loc="lower left", ncols=2, columnspacing=1, handletextpad=0.4)
fig.set_label(
    "Effective rank of the 12 heads in each of 6 layers. Dots for M lie just under the level of a "
    "Gaussian pair, but for some in the first and fifth layers. Triangles for the matrix weighted "
    "by the inputs are spread wide, and all of them lie below a short line per layer, the level of "
    "Gaussian pairs under the same weighting."
)

# %%
# *Figure 3.* One dot per head for M, and one triangle for the same head weighted by its inputs.
# The long line is the mean of the Gaussian pairs, and the short ones are their means after the
# same weighting.
#
# The fall from the long line to a short one is due to the inputs alone. The rest of the fall, from
# the short line to a triangle, is due to the head, because its strong directions meet strong
# directions of its inputs.
#
# Does the scale lesson's assumption hold?
# ----------------------------------------
# Dividing by :math:`\sqrt k` gives the scores a variance of 1 if queries and keys have independent
# entries with mean 0 and variance 1. Training is free to break every part of this assumption, and
# the file holds what is left of it on validation reviews. For queries and keys, the first two
# tables give the mean square of an entry, and the share of this mean square that is due to the mean
# query or the mean key. For the scores, we report the variance within a row, because the softmax
# sees only differences within a row.

scores = {name: column("scores", name) for name in results["heads"][0]["scores"]}
print(f"assumed: mean squares 1, shares of the mean 0, row variance {k}, after the scale 1")
table({"mean square, queries": scores["query_mean_square"], "keys": scores["key_mean_square"]})
table({"share of mean, queries": scores["query_mean_share"], "keys": scores["key_mean_share"]})
real = scores["row_variance"]  # (6, 12)
isotropic = k * scores["query_mean_square"] * scores["key_mean_square"]  # (6, 12)
table({"row variance": real, "after the scale": real / k})
print("row variance, divided by what the mean squares alone, or the covariances alone, would give")
table({"squares": real / isotropic, "covariances": real / scores["row_variance_if_independent"]})

# %%
# The assumption does not hold, and it need not, because the argument for the scale is about the
# start of training. In most layers the trained entries vary more than the assumption says, and
# neither queries nor keys have mean zero.
#
# The scores vary more as well. In every layer, their variance is on average larger than it would be
# if only the mean squares of the queries and keys mattered. The last table says why. The mean
# squares ignore that both projections stretch the same directions. The covariances of queries and
# keys take this into account. Independent tokens with the head's own covariances would give nearly
# the variance that was measured, so the pairing of tokens within one review adds hardly anything.
#
# Such scores make the weights sharp, and how sharp they are, as measured by their :term:`entropy`,
# depends on the number n of keys. A head that shares its weight evenly has the entropy :math:`\ln
# n`, while the entropy of a head that always spreads over the same number of keys does not grow
# with n. To tell such heads apart, we cut the same reviews to five lengths, and divide the growth
# of the entropy from the shortest to the longest by the growth of :math:`\ln n`. This is the slope
# in the table.

lengths = torch.tensor(origin["config"]["lengths"]).double()  # (5,)
entropy = column("entropy")  # (6, 12, 5)
slope = (entropy[..., -1] - entropy[..., 0]) / (lengths[-1] / lengths[0]).log()  # (6, 12)
table({"slope: nats per ln n": slope})

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
ax.plot(lengths, lengths.log(), color=BLACK, label="uniform: ln n")
for i, marker in enumerate("osD^vP"):
    shade = plt.get_cmap("viridis")(i / 6)
    ax.plot(lengths, entropy[i].mean(0), marker=marker, ms=5, lw=1.5, color=shade, label=f"{i + 1}")
ax.set_xscale("log", base=2)
ax.set_xticks(lengths.tolist(), [f"{int(n)}" for n in lengths])
ax.set(xlabel="tokens per review, n", ylabel="mean entropy of the weights, nats", ylim=(0, None))
ax.legend(title="layer", ncols=2, fontsize=9)
fig.set_label(
    "Mean entropy of the weights against text length, one line per layer, below the straight line "
    "of ln n. All rise nearly straight on the logarithmic axis, from different heights; layers two "
    "to five lie lowest."
)

# %%
# *Figure 4.* Entropy of the weights, a mean over queries, heads and reviews, for reviews of five
# lengths.
#
# The slope printed above the figure is 1 for a head that spreads over a fixed share of the keys and
# 0 for one that always takes the same number of them. Most heads are between the two; a slope above
# 1 belongs to a head that spreads over a larger share of the keys in longer texts.
#
# Truncating the heads
# --------------------
# What a spectrum says can be tested by truncating it. We keep r directions of every head, in all
# heads at once, and train nothing afterwards. The r directions are chosen in three ways, which
# differ in what they know:
#
# - *matrix*: the r largest singular values of M are kept, as
#   :func:`~attention.analysis.truncate_rank` does. The scores that the query bias adds, which are
#   the same for all queries, are kept whole.
# - *matrix and mean query*: the same r singular values of M are kept, and the scores of the mean
#   query are kept whole as well.
# - *data*: the r largest singular values of :math:`C^{1/2} M C^{1/2}` are kept, after which the
#   weighting is undone. The scores of the mean query are kept whole here, too.
#   :cite:t:`chen2021drone` compress whole models this way.
#
# As a check of the file, we first truncate one head by hand. It is a head of the first layer,
# because the inputs of that layer are the embeddings.

config, head = origin["config"], 7
texts = []
for text in map(clean, load_reviews("imdb")["validation"].texts):
    tokens = tokenizer.encode(text).ids
    if len(tokens) >= config["tokens"]:
        texts.append(tokens[: config["tokens"] - 1] + tokens[-1:])  # [SEP] stays last
    if len(texts) == config["weight_reviews"]:
        break
ids = torch.tensor(texts)  # (48, 128)
x = encoder.word(ids) + encoder.position.weight[: config["tokens"]]  # (48, 128, 384)
x = encoder.norm(x + encoder.token_type.weight[0]).double()  # (48, 128, 384)
bias = layers[0].W_query.bias.double().view(h, k)[head]  # (32,)


def softmax_of(form):
    """Return the weights for a matrix M, with the query bias's scores kept whole."""
    constant = x @ key[0, head] @ bias  # (48, 128)
    return ((x @ form @ x.mT + constant[:, None]) / math.sqrt(k)).softmax(-1)


U, sigma, Vh = torch.linalg.svd(bilinear_form(layers[0])[head].double())  # (d, d), (d,), (d, d)
whole = softmax_of(U[:, :k] * sigma[:k] @ Vh[:k])  # (48, 128, 128)
recorded = results["heads"][head]["weights_moved"]["matrix"]
for r in (1, 8, 24):
    moved = (softmax_of(U[:, :r] * sigma[:r] @ Vh[:r]) - whole).abs().sum(-1).mean() / 2
    there = recorded[config["ranks"].index(r)]
    print(f"layer 1, head {head + 1}, rank {r:2}: weights moved by {moved:.4f}, file {there:.4f}")
    assert math.isclose(moved, there, rel_tol=1e-3)

# %%
# How far the weights moved is measured by the :term:`total variation`: half the sum of the absolute
# differences between a query's weights before and after the truncation, which is the share of
# weight that went to other keys. Now we truncate all heads at once. For these truncations the file
# holds two more measures: the cosine distance between the sentence embeddings before and after, and
# the accuracy of a :term:`linear probe`, a ridge regression fitted to the embeddings of the
# untruncated model.

STYLES = {
    "matrix": (BLUE, "o-"),
    "matrix and mean query": (GREEN, "s--"),
    "data": (ORANGE, "^-."),
}


def sign_test(lost, gained):
    """Return how probable a split at least this uneven is if fair coins decide (two-sided)."""
    n = lost + gained
    tail = sum(math.comb(n, i) for i in range(min(lost, gained) + 1))
    return min(1.0, 2 * tail / 2**n)


last = next(row for row in results["truncation"] if row["kind"] == "whole")
rows = {kind: [r for r in results["truncation"] if r["kind"] == kind] for kind in STYLES}
rows["matrix and mean query"].insert(0, rows["data"][0])  # at rank 0 they are the same
reviews = config["validation_reviews"]
print(f"{reviews} validation reviews; probe fitted to {results['probe']['reviews']} training ones")
print("kind                   rank  weights   embedding       probe   lost, gained, sign test")
for kind in STYLES:
    for row in rows[kind]:
        lost, gained = row["probe_lost"], row["probe_gained"]
        print(f"{kind:22} {row['rank']:4}  {row['weights_moved']:7.3f}", end="")
        print(f"  {row['embedding_moved']:.3f} ± {row['embedding_moved_se']:.4f}", end="")
        print(f"  {100 * row['probe_accuracy']:5.1f} %  {lost}, {gained}, ", end="")
        print(f"p = {sign_test(lost, gained):.2g}")
print(f"whole model: {100 * last['probe_accuracy']:.1f} %")

# %%

fig, axes = plt.subplots(3, figsize=(5, 7.4), sharex=True)
for kind, (colour, style) in STYLES.items():
    r = [row["rank"] for row in [*rows[kind], last]]
    for ax, name in zip(axes, ("weights_moved", "embedding_moved", "probe_accuracy"), strict=True):
        ax.plot(
            r, [row[name] for row in [*rows[kind], last]], style, color=colour, ms=5, label=kind
        )
axes[0].set(ylabel="weights moved", ylim=(0, None))
axes[1].set(ylabel="embedding moved", ylim=(0, None))
error = math.sqrt(last["probe_accuracy"] * (1 - last["probe_accuracy"]) / reviews)
axes[2].axhspan(*(last["probe_accuracy"] + s * 1.96 * error for s in (-1, 1)), color="0.92", lw=0)
axes[2].set(xlabel="rank kept in every head, r", ylabel="probe accuracy")
axes[0].legend()
fig.set_label(
    "Three panels against the rank kept in all heads, for three ways to truncate. Weights and "
    "embeddings move less with every rank; truncating by the matrix moves them most, keeping the "
    "mean query whole less, and truncating by the data least. Below, three jagged lines of "
    "the probe's accuracy cross each other, mostly within a grey band."
)

# %%
# *Figure 5.* All 72 heads truncated at once. From top to bottom: the total variation of the
# weights, the cosine distance of the sentence embeddings, and the accuracy of the probe, with the
# 95 % interval of the whole model's accuracy as a band.
#
# In the table's last columns, *lost* counts the reviews that the probe classifies correctly only
# with the whole model, and *gained* those that it classifies correctly only with the truncated one.
# This is a finer comparison than that of two accuracies, because both models are judged on the same
# reviews.
#
# For weights and embeddings, the three ways come in the same order at every rank above 0:
# truncation by the matrix does the most damage, and truncation by the data the least. The step from
# the first way to the second is as instructive as the step from the second to the third. Both the
# first and the second keep the same directions of M, but the second also keeps the scores of the
# mean query. This already prevents much of the damage, because what all queries share is no longer
# cut off. With truncation by the matrix alone, keeping the first one or two directions even
# moves the embeddings further than keeping none.
#
# The probe does not tell the three ways apart. Its accuracy drops at the smallest ranks. However,
# there is one sign test per row of the table, and with only this many reviews none of the tests
# would survive a correction for their number. So it is left open here to what extent sentiment
# depends on who attends to whom.
#
# Which heads collapse first?
# ---------------------------
# Truncate one head to rank 1, by the matrix, and leave the other 71 whole. How far the sentence
# embeddings move then says what the head's other directions were worth to them. Beside this
# distance, we print the distance for the same head truncated by the data.

moved = column("embedding_moved_by_rank_1", "matrix")  # (6, 12)
by_data = column("embedding_moved_by_rank_1", "data")  # (6, 12)
for place in moved.flatten().argsort(descending=True)[:6].tolist():
    i, j = divmod(place, h)
    print(f"layer {i + 1}, head {j + 1:2}: moved by {moved[i, j]:.4f}, ", end="")
    print(f"by the data {by_data[i, j]:.4f}")
table({"moved × 1000, by matrix": 1000 * moved, "by the data": 1000 * by_data})
print(f"rank correlation with the distance moved, over {L * h} heads:")
for name, other in (
    ("effective rank of M", plain),
    ("effective rank weighted", weighted),
    ("mean query's share", shared),
    ("row variance of the scores", real),
    ("layer", torch.arange(L)[:, None].expand(L, h).double()),
):
    print(f"{name:26} {rank_correlation(moved.flatten(), other.flatten()):5.2f}")

# %%
# No single head carries the embedding. On average, heads of the last layer suffer most when they
# are truncated by the matrix, and least when they are truncated by the data. What collapses there
# is not the directions of M but the scores of the mean query: they hold most of the energy in that
# layer, and truncation by the matrix cuts them. The correlations agree with this, because the mean
# query's share predicts the damage, whereas the effective rank of M hardly does. But the
# correlations can't separate that share from the layer's number, because both rise together.
#
# What is not known
# -----------------
# This is one model, distilled and small, tested on one kind of text at one length, and the
# covariances are from the same kind of text. Nothing was trained again after truncation, although
# further training might recover part of what is lost. The weighting treats query and key tokens as
# independent, and it ignores that the softmax does not weigh all scores alike. Whether larger
# models behave in the same way has to be measured on them.
#
# Takeaways
# ---------
# - Does a real encoder use only a handful of directions of QKᵀ? Not by its matrices: their spectra
#   are nearly those of Gaussian pairs, far from those of our small classifiers.
# - Weighted by what the heads read, fewer directions matter than in a Gaussian pair weighted in the
#   same way, and a good part of the scores is the same for all queries. A truncation that takes
#   both into account does only a fraction of the damage of plain truncation.
# - A near-balanced pair is what chance gives at these widths, so it is no sign of weight decay.
# - The key bias is dead wherever queries meet keys in a plain dot product and every score of the
#   softmax contains it. In this model's file it is still close to zero, which says something about
#   the optimiser's ε and rate, and not only about the bias.
# - The scale :math:`1/\sqrt k` keeps the variance of the scores at 1 at the start of training, and
#   training is free to change it.
#
# *From memory:* close this page and write ``spectrum``, which finds the singular values of a
# product of a d × k and a k × d matrix without making the d × d matrix. Check it on a random pair.
#
# *Where next:* :doc:`the lesson on the multi-head bottleneck
# </gallery/deeper/plot_8_multi_head_bottleneck>`, for a task whose heads do need all their rank.
#
# You can now read the spectra of a real model's heads beside those of chance, and say what they do
# not show. The exercise to do next is to find :ref:`the other pair <ex-other-pair>` that makes the
# same scores.

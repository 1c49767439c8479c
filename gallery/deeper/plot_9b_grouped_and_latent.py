r"""
.. lesson:: Grouped queries
   :minutes: 40
   :extra: train
   :needs: core/plot_4 core/plot_5 deeper/plot_1 deeper/plot_9a
   :tasks: share-keys causal-window absorbed-query
   :search: grouped-query attention; GQA; MLA

Grouped-query, multi-query and latent attention (GQA, MQA, MLA): what heads can share
=====================================================================================

Does every head need keys and values of its own?

No, because heads that share their keys and values still differ in their queries, so each head has
attention weights of its own. Sharing matters when a model generates text, since the model then has
to keep the keys and values of every token. In grouped-query attention each small group of heads
shares one set of them, in multi-query attention all heads do, and in latent attention the keys and
values of all heads are made from one narrow vector. This page counts what each of these variants
keeps and computes, and shows what each cannot express. The effect on quality has been measured in
large training runs, which are cited at the end of the page.

You need the lessons on :doc:`several heads </gallery/core/plot_5_multi_head>` and on :doc:`masks
</gallery/core/plot_4_masks>`. For latent attention you also need the lesson on :doc:`low rank
</gallery/deeper/plot_1_low_rank_qk>`, and, where positions come in, the lesson on :doc:`rotary
positions </gallery/deeper/plot_9a_rotary>`. Running the page takes about ten seconds. Afterwards
you can write grouped-query attention and both forms of latent attention, count what a layer keeps
per token, and say why a rotary key has to be kept apart.
"""

import time

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from attention import (
    KVCache,
    LatentAttention,
    MultiHeadAttention,
    TransformerEncoder,
    apply_rotary,
    causal_mask,
    window_mask,
)
from attention.plotting import BLACK, BLUE, GREEN, KEY, ORANGE, PURPLE, QUERY, VALUE, use_style
from attention.pretrained import load_encoder
from attention.sentiment.sources import load_reviews

torch.manual_seed(0)
use_style()

# %%
# What a model keeps of each token
# --------------------------------
# An :term:`autoregressive` model adds one token after another, and each new query attends to the
# keys and values of all tokens before. These keys and values never change, so the model keeps them,
# in a :term:`KV cache`. With h heads of width k, a layer keeps for each token and each head k
# numbers for the key and k for the value. That makes 2hk numbers per token in one layer, and 2hkL
# in L layers. If the h heads of queries share :math:`h_\mathrm{kv}` heads of keys and values, it is
# :math:`2 h_\mathrm{kv} k L`. The sizes of the models below are from table 2.1 of
# :cite:t:`brown2020language`, table 1 and section 2 of :cite:t:`chowdhery2022palm`, table 1 of
# :cite:t:`jiang2023mistral` and table 3 of :cite:t:`grattafiori2024llama`.

published = {  # layers, heads, heads with keys and values, width of a head
    "GPT-3 175B": (96, 96, 96, 128),
    "Mistral 7B": (32, 32, 8, 128),
    "Llama 3 70B": (80, 64, 8, 128),
    "PaLM 540B": (118, 48, 1, 256),
}
print("              L    h  h_kv    k   numbers per token   in 16 bits, 2,048 tokens")
for name, (L, h, h_kv, k) in published.items():
    kept = 2 * h_kv * k * L
    gib = kept * 2 * 2048 / 2**30
    print(f"{name:12} {L:3}  {h:3}  {h_kv:4}  {k:3}   {kept:17,}   {gib:20.2f} GiB")

# %%
# In GPT-3, where each head has keys and values of its own, the text of one user thus takes
# gigabytes. All of the cache has to be read again for each new token, so generating text means
# waiting for memory and not for arithmetic. This is why :cite:t:`shazeer2019fast` lets all heads
# share one key and one value per token. A reader of code for multi-query attention `wondered why
# there are keys and values for one head only
# <https://github.com/lucidrains/memorizing-transformers-pytorch/issues/5>`__. The reason is the
# memory in the last column of the table, not a different kind of attention.

# sphinx_gallery_start_ignore
# The page shows times that were measured while it was built, so nothing else runs then:
# sphinx_gallery_parallel = False


def draw_sharing():
    """Draw which heads of queries share which keys and values, in four panels."""
    fig, axes = plt.subplots(4, figsize=(5, 6.2))
    heads = 8
    panels = (
        ("multi-head: keys and values per head", 8, (KEY, VALUE)),
        ("grouped-query: per group of 4 heads", 2, (KEY, VALUE)),
        ("multi-query: one for all heads", 1, (KEY, VALUE)),
        ("latent: one vector, from which each head makes its own", 1, (BLACK,)),
    )
    for ax, (title, shared, colors) in zip(axes, panels, strict=True):
        group = heads // shared
        for i in range(heads):
            centre = (i // group + 0.5) * group - 0.5
            ax.plot([i, centre], [1, 0.3], color="0.6", lw=1, zorder=0)
            ax.add_patch(plt.Rectangle((i - 0.3, 0.85), 0.6, 0.3, color=QUERY))
        for j in range(shared):
            centre = (j + 0.5) * group - 0.5
            width = 0.7 / len(colors) if shared == heads else 1.4 / len(colors)
            for k, color in enumerate(colors):
                corner = (centre + (k - len(colors) / 2) * width, 0.1)
                ax.add_patch(plt.Rectangle(corner, width, 0.3, color=color))
        ax.set(xlim=(-2.2, 7.6), ylim=(0, 1.25))
        ax.text(-0.6, 1, "queries", ha="right", va="center", fontsize=10)
        ax.text(-0.6, 0.25, "kept", ha="right", va="center", fontsize=10)
        ax.set_title(title, fontsize=11)
        ax.axis("off")
    return fig


# sphinx_gallery_end_ignore
fig = draw_sharing()  # its drawing commands are in the script of this page
fig.set_label(
    "Four panels, each with the queries of eight heads above and what is kept below. Multi-head: "
    "eight pairs of boxes below, one per head. Grouped-query: two pairs, each joined to four "
    "heads. Multi-query: one pair joined to all eight. Latent: one box of another colour, joined "
    "to all eight."
)

# %%
# *Figure 1.* What is kept of one token in one layer with eight heads. A pair of boxes is a key, in
# blue, and a value, in green; the box without a colour is a latent vector, which is neither.
#
# Grouped queries: one line more
# ------------------------------
# :term:`Grouped-query attention <grouped-query attention>` (:cite:t:`ainslie2023gqa`) is multi-head
# attention with one more line of code. This line lets each head of keys and values serve h /
# :math:`h_\mathrm{kv}` neighbouring heads of queries.

B, n, d, h, h_kv = 3, 7, 24, 6, 2
layer = MultiHeadAttention(d, h, num_kv_heads=h_kv).double().requires_grad_(False)
x = torch.randn(B, n, d, dtype=torch.float64)  # (B, n, d)


def split(projected, heads):
    """Split the width into heads, and put the heads before the tokens."""
    return projected.unflatten(-1, (heads, -1)).transpose(-3, -2)  # (..., heads, n, k)


def grouped(layer, x, share):
    """Attend causally, with keys and values shared in the way that is given."""
    query = split(layer.W_query(x), h)  # (..., h, n, k)
    key, value = (share(split(W(x), h_kv)) for W in (layer.W_key, layer.W_value))
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)  # (..., h, n, k)
    return layer.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)


def interleaved(heads):
    """Give each key or value to neighbouring heads: 0, 0, 0, 1, 1, 1."""
    return heads.repeat_interleave(h // h_kv, dim=-3)  # (..., h, n, k)


def by_torch(layer, x):
    """Let torch's kernel share the heads."""
    query = split(layer.W_query(x), h)  # (..., h, n, k)
    key, value = (split(W(x), h_kv) for W in (layer.W_key, layer.W_value))  # (..., h_kv, n, k)
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
    return layer.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)


ours = grouped(layer, x, interleaved)  # (B, n, d)
grouped_errors = {
    "the package's layer": (ours - layer(x, is_causal=True)).abs().max().item(),
    "torch's enable_gqa=True": (ours - by_torch(layer, x)).abs().max().item(),
}
for name, difference in grouped_errors.items():
    print(f"ours against {name:23}: {difference:.0e}")
    assert difference < 1e-12

# %%
# Torch also has ``repeat``, whose result has the same shape.
#
# .. predict:: repeat-or-interleave
#
#    Two heads of keys serve six heads of queries. How much do the contexts change if ``repeat``
#    shares the keys and values?
#
#    Not at all, as each is used three times : ``slip < 1e-6``
#        Each is used three times, but by other heads.
#    By rounding, in another order of sums : ``1e-12 < slip < 1e-3``
#        Other numbers are added, and not the same ones in another order.
#    By more than half of their size : ``slip > 0.5``
#        Some heads meet the keys and values of another group.


def repeated(heads):
    """Give the keys or values out in turn: 0, 1, 0, 1, 0, 1."""
    return heads.repeat(1, h // h_kv, 1, 1)  # (..., h, n, k)


wrong = grouped(layer, x, repeated)  # (B, n, d)
slip = ((wrong - ours).norm() / ours.norm()).item()
print("repeat_interleave:", torch.arange(h_kv).repeat_interleave(h // h_kv).tolist())
print("repeat:           ", torch.arange(h_kv).repeat(h // h_kv).tolist())
print(f"relative difference of the contexts: {slip:.2f}")

# %%
# .. admonition:: What went wrong: ``repeat`` in place of ``repeat_interleave``
#    :class: warning
#
#    ``repeat`` gives keys of the right shape in another order, so no error is raised, but some
#    heads meet the keys of another group.
#
# Neither order is better: a layer trained with ``repeat`` differs from one trained with
# ``repeat_interleave`` merely in how its heads are numbered. Weights that were trained with one
# order are wrong in the other, however, so the mistake shows when somebody else's model is loaded.
#
# Windows: fewer tokens instead of fewer heads
# --------------------------------------------
# :term:`Sliding-window attention <sliding-window attention>` (:cite:t:`beltagy2020longformer`)
# forbids distant keys, here all keys that are w or more tokens away. A window is a mask and nothing
# else, so it combines with the causal mask by ``&``. Each query is then left with w keys at most:
# its own and the w − 1 before it.

w = 3
both_sides = window_mask(6, w)  # (6, 6)
backwards = both_sides & causal_mask(6)  # (6, 6)
print(torch.cat([both_sides, backwards], dim=1).int())

windowed = MultiHeadAttention(d, h, num_kv_heads=h_kv, window=w).double().requires_grad_(False)
windowed.load_state_dict(layer.state_dict())
masked = layer(x, attn_mask=window_mask(n, w) & causal_mask(n))  # (B, n, d)
window_error = (windowed(x, is_causal=True) - masked).abs().max().item()
print(f"window=3 against a mask: {window_error:.0e}")
assert window_error < 1e-12

# %%
# A stack of layers sees further than one window. Layer 2 mixes outputs of layer 1, and each of
# these outputs already mixes the tokens within a window of its own. So information travels up to w
# − 1 tokens per layer, and up to (w − 1)L tokens in L layers. We measure this by the gradient of
# the last token's output with respect to each input.

n, w = 24, 5
reach, influence = {}, {}
for L in (1, 2, 3, 4):
    torch.manual_seed(0)
    stack = TransformerEncoder(16, 2, L, window=w).double()
    tokens = torch.randn(n, 16, dtype=torch.float64, requires_grad=True)  # (n, 16)
    last = stack(tokens, is_causal=True)[-1] @ torch.randn(16, dtype=torch.float64)
    gradient = torch.autograd.grad(last, tokens)[0]  # (n, 16)
    influence[L] = gradient.norm(dim=-1).flip(0)  # (n,), by the distance from the last token
    reach[L] = influence[L].nonzero().max().item()
    print(f"L = {L}: the last token sees {reach[L]:2} tokens back, (w − 1)L = {(w - 1) * L}")

# %%

fig, ax = plt.subplots()
looks = (BLUE, "o-"), (ORANGE, "s-"), (GREEN, "D-"), (PURPLE, "^-")
for (L, size), (color, style) in zip(influence.items(), looks, strict=True):
    farthest = reach[L]
    seen = size[: farthest + 1] / size.max()  # (farthest + 1,)
    ax.semilogy(range(len(seen)), seen, style, ms=4, color=color, label=f"L = {L}")
    ax.axvline((w - 1) * L, color=color, ls=":", lw=1)
ax.set(xlabel="distance from the last token", ylabel="gradient, largest = 1")
ax.legend(loc="upper right", title="layers")
fig.set_label(
    "Norm of the gradient against the distance from the last token, on a logarithmic axis, for one "
    "to four layers with windows of five. Each curve ends at a dotted line, at 4, 8, 12 and 16 "
    "tokens, and falls by orders of magnitude before it ends."
)

# %%
# *Figure 2.* How much the last token's output depends on each earlier token, in untrained stacks
# with windows of w = 5. The dotted lines are at (w − 1)L.
#
# A token within reach is not necessarily used. With two layers or more, the gradient of the
# farthest token within reach is orders of magnitude smaller than the largest gradient, because only
# one path leads to that token, the one with the longest possible step in every layer.
#
# The report of :cite:t:`jiang2023mistral` gives w = 4,096 and 32 layers in its table 1, and an
# attention span of about 131 thousand tokens in its section 2. The report counts w tokens per
# layer. We compute (w − 1)L, because a window of ours includes the token itself. A window also
# saves memory, because the cache of a layer with a window needs only the last w positions:

w, L = 4096, 32
print(f"(w − 1)L = {(w - 1) * L:,}")
for m in (2_048, 8_192, 32_768):
    print(f"{m:6,} tokens: {min(m, w):,} positions kept, 1 in {m / min(m, w):.0f}")

# %%
# (The package's :class:`~attention.KVCache` keeps all positions, even of layers with a window. To
# save the memory, it would have to overwrite the oldest position, as the rolling buffer in the
# report of :cite:t:`jiang2023mistral` does.)
#
# Latent attention: keys and values from one vector
# -------------------------------------------------
# :term:`Multi-head latent attention <multi-head latent attention>` (:cite:t:`deepseek2024v2`,
# section 2.1) projects each token to a *latent* vector :math:`c = x W_\mathrm{latent}` of width r,
# and makes the keys and values of all heads from c. For this, each head has a key matrix and a
# value matrix of its own. Only c is kept. In one of the heads, let q be the query of the new token,
# and let the key and the value of token j be
#
# .. math:: k_j = c_j W_\mathrm{key}, \qquad v_j = c_j W_\mathrm{value} .
#
# Making these keys anew for each new query would save memory, but at the price of much arithmetic.
# There is another way, because a score is a product of three factors, and :doc:`brackets in a
# product can be moved </gallery/deeper/plot_5_cost_of_the_product>`:
#
# .. math:: q \cdot (c_j W_\mathrm{key}) = (q\, W_\mathrm{key}^\top) \cdot c_j .
#
# In this *absorbed* form the query takes over the key matrix: it is multiplied by the transpose of
# that matrix, and then compared with the latents themselves. The value matrix can be moved as well.
# Instead of multiplying each latent by the value matrix and mixing the results, one mixes the
# latents and multiplies the mixture. Here are both forms of the layer, first the one in which it is
# trained, then the absorbed one:

n, d, h, k, r = 40, 32, 4, 8, 6
latent_layer = LatentAttention(d, h, latent_dim=r).double().requires_grad_(False)
x = torch.randn(n, d, dtype=torch.float64)  # (n, d)
W_latent = latent_layer.W_latent.weight.T  # (d, r)
W_query, W_key, W_value = (
    W.weight.unflatten(0, (h, k)).mT
    for W in (latent_layer.W_query, latent_layer.W_key, latent_layer.W_value)
)  # (h, d, k), (h, r, k), (h, r, k)
W_out = latent_layer.W_out.weight.T.unflatten(0, (h, k))  # (h, k, d)


def causal_softmax(scores):
    """Turn scores into weights, none of them on a later token."""
    return scores.masked_fill(~causal_mask(n), float("-inf")).softmax(dim=-1)  # (h, n, n)


def trained_form(x):
    """Make keys and values from the latents, and attend as always."""
    c = x @ W_latent  # (n, r)
    query, key, value = x @ W_query, c @ W_key, c @ W_value  # (h, n, k), (h, n, k), (h, n, k)
    weights = causal_softmax(query @ key.mT / k**0.5)  # (h, n, n)
    return (weights @ value @ W_out).sum(dim=0)  # (n, d)


def absorbed_form(x):
    """Let queries take over the key matrix, compare them with the latents, and mix the latents."""
    c = x @ W_latent  # (n, r)
    query = x @ W_query @ W_key.mT  # (h, n, r)
    weights = causal_softmax(query @ c.T / k**0.5)  # (h, n, n)
    return (weights @ c @ W_value @ W_out).sum(dim=0)  # (n, d)


ours = trained_form(x)  # (n, d)
latent_errors = {
    "our absorbed form": (ours - absorbed_form(x)).abs().max().item(),
    "LatentAttention": (ours - latent_layer(x, is_causal=True)).abs().max().item(),
    "LatentAttention, absorbed": (
        (ours - latent_layer(x, is_causal=True, absorbed=True)).abs().max().item()
    ),
}
for name, difference in latent_errors.items():
    print(f"our trained form against {name:25}: {difference:.0e}")
    assert difference < 1e-12

# %%
# The scale is :math:`1/\sqrt k` in both forms. The absorbed form compares vectors of width r, but
# its scores are the same numbers as in the trained form.
#
# In the absorbed form, latent attention *is* multi-query attention, with queries of width r and
# with the latent as the one key and value that all heads share. The heads still differ, because
# each reads the latent through matrices of its own.
#
# What a latent can hold
# ----------------------
# Concatenate the keys of all heads, so that each token has one row of hk numbers. Since these
# numbers are all made from the r numbers of the token's latent, the (n, hk) matrix of all keys has
# :term:`rank` r at most. In multi-head attention its rank can be as high as hk, if n and d allow,
# and in grouped-query attention as high as :math:`h_\mathrm{kv} k`.


def rank_of_keys(W_key, made_from, copies=1):
    """Return the rank of the keys of all heads; shared keys are repeated for each head."""
    keys = split(W_key(made_from), W_key.out_features // k)  # (..., n, k)
    return torch.linalg.matrix_rank(keys.repeat_interleave(copies, 0).movedim(0, 1).flatten(1))


full, two = MultiHeadAttention(d, h).double(), MultiHeadAttention(d, h, num_kv_heads=2).double()
ranks = {
    "multi-head": (rank_of_keys(full.W_key, x), 2 * h * k),
    "two groups": (rank_of_keys(two.W_key, x, h // 2), 2 * 2 * k),
    f"latent, r = {r}": (rank_of_keys(latent_layer.W_key, x @ W_latent), r),
}
for name, (rank, kept) in ranks.items():
    print(f"{name:13}: rank of all keys {rank:2}, numbers kept per token {kept}")

# %%
# Without rotary positions, a latent can hold everything that grouped-query attention can hold, if
# both keep equally many numbers per token. To see this, take the keys and values of the groups,
# concatenated, as the latent, which then has width :math:`r = 2 h_\mathrm{kv} k`, and let each
# head's matrices pick the columns of its group. :cite:t:`meng2025transmla` build on this. The
# converse is false: the heads of a group share one key, whereas heads that share a latent can still
# make different keys from it.

r_two = 2 * 2 * k
as_latent = LatentAttention(d, h, latent_dim=r_two).double().requires_grad_(False)
pick = torch.eye(r_two, dtype=torch.float64).unflatten(0, (2, 2, k))  # (2, 2, k, r_two)
pick = pick.repeat_interleave(h // 2, dim=1).flatten(1, 2)  # (2, h * k, r_two)
as_latent.W_query.load_state_dict(two.W_query.state_dict())
as_latent.W_out.load_state_dict(two.W_out.state_dict())
as_latent.W_latent.weight.copy_(torch.cat([two.W_key.weight, two.W_value.weight]))
as_latent.W_key.weight.copy_(pick[0])
as_latent.W_value.weight.copy_(pick[1])
group_error = (as_latent(x) - two(x)).abs().max().item()
print(f"two groups, written as a latent of width {r_two}: difference {group_error:.0e}")
assert group_error < 1e-12

# %%
# How narrow could the latents of a trained model be? Every multi-head layer can be written as a
# latent layer with r = d, in which :math:`W_\mathrm{latent}` is the identity. To narrow the latent,
# we stack the key and value matrices of each layer of :doc:`a real encoder
# </gallery/deeper/plot_7_qk_of_a_real_model>` and truncate them to rank r. The truncation keeps r
# directions, chosen in one of two ways: the strongest directions of the matrix itself, or the
# strongest directions of its outputs on a separate set of reviews.
#
# The test is how far the encoder's embeddings of some reviews move, measured as the mean of 1 minus
# the cosine between the old embedding and the new one. For comparison, we also replace the key and
# value matrices of each group of heads by their mean, which is where :cite:t:`ainslie2023gqa`
# (section 2.1) start before they train further.

encoder, tokenizer = load_encoder("minilm")
encoder.requires_grad_(False)
layers = [block.attention for block in encoder.encoder.blocks]
h, k, d = layers[0].num_heads, layers[0].head_dim, layers[0].embed_dim
texts = [tokenizer.encode(text).ids for text in load_reviews("imdb")["validation"].texts[:64]]
ids = torch.tensor([text[:48] for text in texts if len(text) >= 48])[:32]  # (32, 48)
other, ids = ids.split(16)  # (16, 48), (16, 48)


def pooled(ids):
    """Return the mean of each text's tokens, scaled to length 1."""
    return F.normalize(encoder(ids).mean(dim=1), dim=-1)  # (..., d)


inputs = []
hooks = [layer.register_forward_pre_hook(lambda _, x: inputs.append(x[0])) for layer in layers]
encoder(other)
for hook in hooks:
    hook.remove()
whole = pooled(ids)  # (16, d)
stacked = [torch.cat([layer.W_key.weight, layer.W_value.weight]) for layer in layers]


def basis(matrix):
    """Return the right singular vectors of a matrix, the strongest first."""
    return torch.linalg.eigh(matrix.T.double() @ matrix.double())[1].flip(-1).float()


bases = {  # a matrix of (2 * d, 2 * d) per layer
    "by the matrix": [basis(W.T) for W in stacked],
    "by the data": [basis(x.flatten(0, 1) @ W.T) for x, W in zip(inputs, stacked, strict=True)],
}


def put(matrices):
    """Replace the key and value matrices of all layers."""
    for layer, matrix in zip(layers, matrices, strict=True):
        for W, half in zip((layer.W_key, layer.W_value), matrix.chunk(2), strict=True):
            W.weight.copy_(half)


def moved(narrowed):
    """Return how far the embeddings move with other key and value matrices."""
    put(narrowed)
    distance = 1 - (pooled(ids) * whole).sum(dim=-1).mean().item()
    put(stacked)
    return distance


def mean_of_groups(W, groups):
    """Replace the matrices of all heads of a group by their mean."""
    heads = W.unflatten(0, (2, groups, h // groups, k))  # (2, groups, ..., k, d)
    return heads.mean(dim=2, keepdim=True).expand_as(heads).flatten(0, 3)  # (2 * d, d)


distances = {}
for name, directions in bases.items():
    for r in (96, 192, 288):
        distances[name, r] = moved(
            [V[:, :r] @ V[:, :r].T @ W for V, W in zip(directions, stacked, strict=True)]
        )
for groups in (3, 6):
    kept = 2 * groups * k
    distances["mean of groups", kept] = moved([mean_of_groups(W, groups) for W in stacked])
print(f"multi-head attention keeps {2 * h * k} numbers per token and layer")
for (name, kept), distance in distances.items():
    print(f"{kept:3} numbers kept, {name:14}: embeddings moved by {distance:.3f}")

# %%
# At r = d = 384 nothing would be lost, since the latent is then the token itself, which takes half
# as many numbers as its keys and values do. At a lower rank the embeddings move, but much less if
# the truncation knows the inputs. (In :doc:`the lesson on QKᵀ in this encoder
# </gallery/deeper/plot_7_qk_of_a_real_model>`, the matrices are weighted by the inputs as well.)
# With 192 numbers kept, either truncation moves the embeddings less than the mean of groups does.
# We measured this with one small encoder on sixteen reviews and trained nothing afterwards, whereas
# :cite:t:`ainslie2023gqa` train further, for a twentieth of the original steps.
#
# Why a rotary key is kept apart
# ------------------------------
# :term:`Rotary positions <RoPE>` (:cite:t:`su2024roformer`) rotate the query at position i and the
# key at position j, and what remains in the score is a rotation :math:`\Theta_{i-j}` by the
# distance:
#
# .. math:: (x_i W_\mathrm{query})\, \Theta_{i-j}\, (c_j W_\mathrm{key})^\top
#           = x_i\, \big(W_\mathrm{query}\, \Theta_{i-j}\, W_\mathrm{key}^\top\big)\, c_j^\top .
#
# The matrix to absorb is the one in the large brackets, and it depends on the distance:

d, h, k, r = 32, 4, 8, 6
identity = torch.eye(k, dtype=torch.float64)  # (k, k)
rotation = {
    distance: apply_rotary(identity, torch.tensor(distance)) for distance in (0, 1, 2, 8, 32)
}
absorbed = {
    distance: W_query @ theta @ W_key.mT for distance, theta in rotation.items()
}  # each (h, d, r)
changes = {
    distance: ((M - absorbed[0]).norm() / absorbed[0].norm()).item()
    for distance, M in absorbed.items()
}
for distance, change in changes.items():
    print(f"distance {distance:2}: the matrix to absorb differs by {change:.2f} from distance 0")

# %%
# There is no single matrix that a query could take over, because each cached token would need the
# matrix of its own distance. DeepSeek-V2 (section 2.1.3) therefore gives each query a second part
# of a few more numbers. This part is rotated, and it is compared with a rotated key that all heads
# share. A score is then the sum of two dot products: one is without positions and is absorbed as
# before, and the other is that of the rotated parts. In addition to c, only the rotated key has to
# be kept. The scale takes the width of both parts into account, :math:`1/\sqrt{k +
# \mathrm{rotary\_dim}}`. (The report's layer also makes its queries from a latent, and normalises
# both latents, which ours does not.)
#
# Without the rotated part, and without a mask, the layer does not notice the order of its tokens:
# if the tokens are reversed, the same attention weights come out in reversed order. With the
# rotated part, the weights change:

rotary = LatentAttention(d, h, latent_dim=r, rotary_dim=4).double().requires_grad_(False)
rotary_error = (rotary(x) - rotary(x, absorbed=True)).abs().max().item()
print(f"both forms with rotary_dim=4: difference {rotary_error:.0e}")
assert rotary_error < 1e-12
order_matters = {}
for dim, each in ((0, latent_layer), (4, rotary)):
    there, back = (each(y, need_weights=True)[1] for y in (x, x.flip(0)))  # (h, n, n), (h, n, n)
    order_matters[dim] = (there - back.flip(-1, -2)).abs().max().item()
    print(f"rotary_dim={dim}, tokens reversed: a weight changes by up to {order_matters[dim]:.0e}")

# %%
# Bytes per token
# ---------------
# A :class:`~attention.KVCache` counts its own bytes, so what each variant keeps can be measured. We
# make a cache that reserves room for many tokens, pass one token through the layer, and divide the
# bytes of the cache by the number of tokens that it has room for. The heads have width 32, in
# float32, and we vary their number. The latent is as wide as four heads and the rotated key as wide
# as half a head, as in DeepSeek-V2 (section 3.1.2).

k, room = 32, 128
kinds = {
    "multi-head": lambda h: MultiHeadAttention(64, h, head_dim=k),
    "4 heads per group": lambda h: MultiHeadAttention(64, h, head_dim=k, num_kv_heads=h // 4),
    "latent": lambda h: LatentAttention(64, h, head_dim=k, latent_dim=4 * k, rotary_dim=k // 2),
    "multi-query": lambda h: MultiHeadAttention(64, h, head_dim=k, num_kv_heads=1),
}
head_counts = (4, 8, 16, 32, 64)
kept = {}
for name, make in kinds.items():
    for h in head_counts:
        cache = KVCache(room)
        with torch.no_grad():
            make(h)(torch.randn(1, 1, 64), is_causal=True, cache=cache)
        kept[name, h] = cache.nbytes / room
print("bytes per token " + "".join(f"{f'h = {h}':>9}" for h in head_counts))
for name in kinds:
    print(f"{name:17}" + "".join(f"{kept[name, h]:9,.0f}" for h in head_counts))

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
looks = ((BLACK, "o-"), (BLUE, "s-"), (ORANGE, "D-"), (GREEN, "^-"))
for name, (color, style) in zip(kinds, looks, strict=True):
    ax.loglog(head_counts, [kept[name, h] for h in head_counts], style, color=color, label=name)
ax.set_xticks(head_counts, head_counts)
ax.minorticks_off()
ax.set(xlabel="heads of queries, h", ylabel="bytes per token and layer", ylim=(150, 60_000))
ax.legend(loc="upper left", fontsize=9)
fig.set_label(
    "Bytes per token and layer against the number of heads, both axes logarithmic. Multi-head "
    "attention and groups of four heads rise in parallel, the latter four times lower. The latent "
    "and multi-query attention are level; the latent is above multi-query, and meets the groups "
    "between 8 and 16 heads."
)

# %%
# *Figure 3.* Bytes that a cache holds per token in one layer, as counted by ``KVCache.nbytes``, for
# heads of width 32 in float32.
#
# A latent takes the same memory whether it serves four heads or sixty-four, so the more heads there
# are, the more it saves. DeepSeek-V2 has 128 heads of width 128, and keeps 576 numbers per token
# and layer. As table 1 of the report says, grouped-query attention with 2.25 groups would keep the
# same number. With few heads, groups keep less than a latent.
#
# Which form is cheaper when
# --------------------------
# The trained and the absorbed form give the same numbers, but not at the same price. Let n new
# tokens attend to m tokens in all, themselves included, and let the latents of all m tokens be in
# the cache. The trained form makes keys and values of all m tokens, and then compares and mixes
# vectors of width k. The absorbed form multiplies only the n queries and the n mixtures of latents
# by the matrices of the heads, but it compares and mixes vectors of width r. (The projections to
# queries and latents, the last matrix and the rotated part cost the same in both.) The counts of
# multiplications are:
#
# .. math:: \text{trained: } 2hk\,(mr + nm), \qquad \text{absorbed: } 2hr\,(nk + nm) .
#
# If r > k and m is large, the trained form needs fewer multiplications as soon as :math:`n > kr /
# (r - k)`.


def multiplications(n, m, h, k, r):
    """Count the multiplications of the trained and of the absorbed form."""
    return 2 * h * k * (m * r + n * m), 2 * h * r * (n * k + n * m)


h, k, r = 128, 128, 512  # DeepSeek-V2
ratio = {}
for name, n, m in (("one token", 1, 4096), ("a prompt", 4096, 4096)):
    trained, absorbed_count = multiplications(n, m, h, k, r)
    ratio[name] = trained / absorbed_count
    print(f"{name:9}: trained {trained:.1e}, absorbed {absorbed_count:.1e}, {ratio[name]:.2f}")
print(f"they break even near n = kr / (r − k) = {k * r / (r - k):.0f} new tokens")

# %%
# So a prompt is read in the trained form and a reply is generated in the absorbed one. Here is the
# time beside the count, for a small layer on the machine that built this page:

small = LatentAttention(256, 8, latent_dim=128)


def seconds(n, m, absorbed, repeats=5):
    """Let n new tokens attend to m in all, several times; return the shortest time."""
    times = []
    with torch.no_grad():
        for _ in range(repeats):
            cache = KVCache(m)
            if m > n:
                small(torch.randn(1, m - n, 256), is_causal=True, cache=cache)
            new = torch.randn(1, n, 256)
            start = time.perf_counter()
            small(new, is_causal=True, cache=cache, absorbed=absorbed)
            times.append(time.perf_counter() - start)
    return min(times)


clock = {}
for name, n, m in (("one token", 1, 512), ("a prompt", 512, 512)):
    counted = multiplications(n, m, 8, 32, 128)
    clock[name] = seconds(n, m, absorbed=False) / seconds(n, m, absorbed=True)
    print(f"{name:9}: trained over absorbed, counted {counted[0] / counted[1]:.2f}, ", end="")
    print(f"measured {clock[name]:.2f}")

# %%
# A measured time includes everything that both forms share, and also the time that it takes to
# start each operation. For one token this overhead weighs heavily, so the measured ratio is far
# smaller than the counted one. In a large model, it is memory that a step with one token waits for,
# and there the absorbed form saves writing and reading the keys and values of all m tokens.
#
# What this page does not show
# ----------------------------
# Whether a model loses quality when its heads share keys and values can be decided only by training
# large models, and the published answers differ. In table 1 of :cite:t:`ainslie2023gqa`, T5 XXL
# scores 47.2 on average over its tasks with multi-head attention, 47.1 with eight groups and 46.6
# with one. In the same order, a sample takes 1.51, 0.28 and 0.24 seconds. The two variants with
# sharing were converted from the multi-head model and trained further.
#
# :cite:t:`deepseek2024v2` train models of 7 billion parameters from scratch. In their comparison
# (table 8 of the appendix), multi-head attention is clearly ahead of grouped-query and of
# multi-query attention on hard benchmarks. Their table 9 compares mixture-of-experts models, and
# there latent attention is ahead of multi-head attention on most benchmarks, with a cache many
# times smaller. These are the authors' own measurements, of their own models.
#
# Takeaways
# ---------
# - Does every head need keys and values of its own? No: heads differ by their queries. Sharing keys
#   and values reduces what a layer keeps per token from 2hk numbers to :math:`2h_\mathrm{kv}k`, or
#   to the r numbers of a latent, plus a rotated key if there is one.
# - Grouped-query attention takes one more line, with ``repeat_interleave``. With ``repeat`` in its
#   place, the shapes are right and the numbers are wrong.
# - A layer with a window needs to keep only the last w positions. A stack of L such layers reaches
#   (w − 1)L tokens back, though faintly.
# - In latent attention the query can absorb the key matrix, since brackets in a product can be
#   moved. This absorbed form is cheaper for one token; for a long prompt, the trained form is
#   cheaper if r > k.
# - The keys that all heads make from a latent have rank r at most. Without rotary positions, a
#   latent can express everything that grouped-query attention can express with the same number of
#   cached numbers, but the converse is false.
# - A rotation between query and key matrix depends on the distance and cannot be absorbed, so the
#   rotated key is kept apart.
#
# *From memory:* close this page and write the trained and the absorbed form. Then check that both
# agree in float64, and find where a scale of :math:`1/\sqrt r` would go wrong.
#
# *Where next:* :doc:`the lesson on the KV cache </gallery/deeper/plot_9c_cache>`, where keys and
# values are kept and text is generated.
#
# You can now share keys and values among heads in three ways, and count what each keeps per token.
# The exercise to do next is the one on :ref:`a query that absorbs the key matrix
# <ex-absorbed-query>`.

plt.show()

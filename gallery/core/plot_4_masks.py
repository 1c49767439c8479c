"""
.. lesson:: Attention masks
   :minutes: 40
   :extra: plot
   :needs: core/plot_2 core/plot_3
   :exercises: masks
   :tasks: causal-by-hand true-means-ignore bug-mean bug-padding blind-row
   :search: padding mask; causal mask; attention mask

Attention masks: causal and padding masks, and a word that may see nothing
==========================================================================

How do you keep a word from attending to words that it must not see?

You set the scores of the forbidden words to −∞ before the softmax, so that they receive no weight
and the others share all of it. A mask says which words are forbidden. A causal mask hides all later
words, because a model in training would otherwise copy the very word that it should predict. A
padding mask hides the filler after short texts. A word that is not allowed to attend to anything
needs a rule of its own, because its softmax would be 0/0.

You need :doc:`a self-attention layer </gallery/core/plot_2_attention_layer>` and :doc:`its scale
</gallery/core/plot_3_scaling_variance>`. Running the page takes ten seconds. Afterwards you can
write both masks and a causal layer from memory, you know which mistakes they prevent, and you can
say why generation can cache its keys and values.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import attention
from attention import SelfAttentionV2
from attention.plotting import (
    BLACK,
    BLUE,
    KEY,
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
    """Draw the flow of data through a layer with masks, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 6.2))
    ax.set(xlim=(0, 10), ylim=(12.4, 0))
    draw_box(ax, 5.2, 0.35, "x   (B, n, d)", None)
    for x, name, color, shape, y in (
        (2, "W_query", QUERY, "(B, n, k)", 3.5),
        (5.2, "W_key", KEY, "(B, n, k)", 3.5),
        (8.4, "W_value", VALUE, "(B, n, v)", 9.6),
    ):
        draw_flow(ax, (5.2, 0.65), (x, 1.5))
        draw_box(ax, x, 2, name, color, width=2.3)
        draw_flow(ax, (x, 2.5), (x, y), shape)
    draw_box(ax, 3.6, 4, "Q Kᵀ / √k", width=4.6)
    draw_flow(ax, (3.6, 4.5), (3.6, 5.5), "scores (B, n, n)")
    draw_box(ax, 3.6, 6, "−∞ where causal & padding is False", width=6.8)
    for y, mask in ((5.05, "causal (n, n)"), (6.95, "padding (B, 1, n)")):
        ax.text(0.3, y, mask, fontsize=10, va="center")
    draw_flow(ax, (4.4, 6.5), (4.4, 7.5), "(B, n, n)")
    draw_box(ax, 4.4, 8, "softmax", WEIGHT, width=2.8)
    draw_flow(ax, (4.4, 8.5), (4.4, 9.6), "weights (B, n, n)")
    draw_box(ax, 5.6, 10.1, "weights · V", width=7.3)
    draw_flow(ax, (5.6, 10.6), (5.6, 11.6))
    draw_box(ax, 5.6, 12, "context   (B, n, v)", None)
    return fig


# sphinx_gallery_end_ignore
fig = draw_shapes()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart from top to bottom. x, of shape (B, n, d), becomes queries, keys and values. Their "
    "scores, (B, n, n), are set to minus infinity where the causal mask, (n, n), or the padding "
    "mask, (B, 1, n), is False. Softmax gives the weights, and weights times values the context."
)

# %%
# *Figure 1.* One attention layer with two masks, which act in a single place, between the scores
# and the softmax. B texts of n words pass through it. The causal mask is the same for all texts,
# and the padding mask is the same for all queries of a text. Both :term:`broadcast <broadcasting>`
# to the shape of the scores: an axis that is missing, or that has length 1, is repeated.
#
# A task, a loss and a loop
# -------------------------
# To see what a mask is for, we first train without one, on the task of predicting the *next* word.
# A model that predicts each word from those before it is called :term:`autoregressive`. It
# generates a text by appending its own prediction to the words so far and predicting again. Our
# sentences have six words, each drawn at random from a vocabulary of six, so nobody can know the
# next one. Any honest guess is correct in one case out of six, which is the *chance level* of the
# task.
#
# Attention needs vectors, and the simplest vector of a word is *one-hot*: it has one number per
# word of the vocabulary, 1 for the word itself and 0 for all others. We concatenate a second
# one-hot vector for the position, because attention alone does not notice the order, as
# :doc:`the lesson on positions </gallery/core/plot_6_positions>` shows.

positions = torch.eye(6)  # (6, 6)


def vectors(ids):
    """Concatenate the one-hot vector of each word and that of its position."""
    word = F.one_hot(ids, 6).float()
    return torch.cat([word, positions[: ids.shape[-1]].expand_as(word)], dim=-1)


print("word 3 at position 0:", vectors(torch.tensor([3]))[0].int().tolist())

# %%
# A layer with 12 numbers in and 6 numbers out gives one :term:`logit` per candidate for the next
# word, and a softmax turns the six logits into probabilities. The loss is the *cross-entropy*
# :math:`-\ln p`, where p is the probability that the model gave to the word which really came next.
# It is 0 for a model that is certain and correct, and ln 6 ≈ 1.79 for one that gives every word the
# probability 1/6.
#
# Training repeats four steps: compute the loss, clear the old gradients, compute the new ones, and
# let the optimiser (:term:`Adam`) move the parameters.


def next_word_loss(layer):
    """Return the mean cross-entropy of the next words in 64 random sentences."""
    ids = torch.randint(6, (64, 6))  # (64, 6)
    logits = layer(vectors(ids))[:, :-1]  # (64, 5, 6)
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())  # the last has no next word


def train(layer):
    """Take 150 steps down the loss; return its last value."""
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(150):
        loss = next_word_loss(layer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


ids = torch.randint(6, (1000, 6))  # (1000, 6), sentences for testing


def accuracy(logits):
    """Compare the predictions of words 2 to 6 with the words."""
    return (logits.argmax(dim=-1) == ids[:, 1:]).float().mean().item()


# %%
# A model that copies the answer
# ------------------------------
# We train ``SelfAttentionV2`` from lesson 2 without a mask. As in the training of language models,
# one pass over the whole sentence gives all its predictions at once.

torch.manual_seed(0)
sees_all = SelfAttentionV2(12, 6)
print(f"loss after training: {train(sees_all):.2f}, at chance level: {torch.tensor(6).log():.2f}")
print(f"accuracy, full sentence given:   {accuracy(sees_all(vectors(ids))[:, :-1]):.0%}")

# %%

with torch.no_grad():
    one = vectors(torch.arange(6))  # (6, 12)
    projected = (W(one) for W in (sees_all.W_query, sees_all.W_key, sees_all.W_value))
    _, copying = attention.scaled_dot_product_attention(*projected)  # (6, 6), (6, 6)
fig, ax = plt.subplots(figsize=(5, 4.4))
numbered = [f"word {i + 1}" for i in range(6)]
draw_weights(ax, copying, numbered)
fig.set_label(
    "Heatmap of the trained weights of one sentence, words 1 to 6 on both axes. Each of the first "
    "five words attends most to the word after it, just above the diagonal."
)

# %%
# *Figure 2.* What the model has learned: each word attends most to the word after it, which is the
# one that it should predict. Word 6 has nothing to predict.
#
# The model seems to know words that nobody can know. In fact it sees the full sentence, including
# the word to predict, and has learned to attend one position to the right. While a text is being
# generated, however, that position is still empty. So we now give the model the words so far and
# nothing after them:


def predict_as_generator(layer):
    """Predict each next word from the words so far."""
    so_far = [layer(vectors(ids[:, :length]))[:, -1] for length in range(1, 6)]
    return torch.stack(so_far, dim=1)  # (1000, 5, 6)


print(f"accuracy, only the words so far: {accuracy(predict_as_generator(sees_all)):.0%}")

# %%
# This is chance level, because the model has learned only to copy the answer, and the answer is no
# longer there. In generation no word can attend to later words, since they do not exist yet. So
# each word must be kept from attending to them in training as well.
#
# The causal mask
# ---------------
# A :term:`mask` says for each pair of a query i and a key j whether the query may attend to the
# key. In this project ``True`` means that it may. A :term:`causal mask` is ``True`` where j does
# not come after i:


# attention_from_scratch.py
def causal_mask(n):
    """Let token i attend to tokens 0 … i and to none after it."""
    return torch.ones(n, n, dtype=torch.bool).tril()  # (n, n)


# %%
# We return to the sentence and the matrices of :doc:`the first lesson
# </gallery/core/plot_1_qkv_derivation>`. Where the mask is ``False``, the score becomes
# :math:`-\infty`. Since :math:`e^{-\infty} = 0`, the softmax gives that key no weight, and the
# other keys share all of it.

# Setup: the embeddings and matrices of the first lesson.
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

# %%
# .. predict:: first-row
#
#    "Your" is the first word. What does its row of weights look like under a causal mask?
#
#    Each word has a sixth of the weight : ``weights[0].min() == weights[0].max()``
#        This is what six equal scores give. Here five of the six scores are −∞, so five words get
#        nothing.
#    All weights are 0, as no word comes before it : ``weights[0].sum() == 0``
#        A causal mask forbids what comes *after* a word, so a word may always attend to itself.
#    All of the weight is on "Your" itself : ``weights[0].tolist() == [1, 0, 0, 0, 0, 0]``
#        Five of its six scores are −∞, and a softmax over a single score gives 1, whatever the
#        score is.

causal = causal_mask(6)  # (6, 6)
scores = query @ key.T / 2**0.5  # (6, 6)
weights = scores.masked_fill(~causal, float("-inf")).softmax(dim=-1)  # (6, 6)
print(causal.int())
print("weights of Your", weights[0])

# %%


def hatch(ax, allowed):
    """Hatch the pairs that a mask forbids."""
    look = {"fill": False, "hatch": "////", "ec": "0.7", "lw": 0}
    for i, j in (~allowed).nonzero().tolist():
        ax.add_patch(plt.Rectangle((j - 0.5, i - 0.5), 1, 1, **look))


fig, ax = plt.subplots(figsize=(5, 4.4))
draw_weights(ax, weights, words)
hatch(ax, causal)
fig.set_label(
    "Heatmap of the causal weights, words on both axes. Everything above the diagonal is 0.00 and "
    "hatched. Your attends only to itself, with weight 1.00; step shares its weight among all six."
)

# %%
# *Figure 3.* Attention weights under a causal mask, before any training, with the masked pairs
# hatched. "Your" can attend to nothing but itself, so its context vector is its own value, whereas
# "step" shares its weight among all six words.
#
# The padding mask
# ----------------
# The texts of a batch differ in length, and the short ones are padded to the length of the longest.
# No word should attend to the padding. This condition differs from the causal one:
#
# * Whether a key is a word or padding depends on the text and not on the query. A mask for
#   :term:`padding` therefore has one row per text, and its shape is (B, 1, n).
# * Whether a key comes after the query depends on the two positions and not on the text. A causal
#   mask is therefore one square for all texts, (n, n), and is often called a 2-D mask.


# attention_from_scratch.py
def padding_mask(lengths, n):
    """Let every query attend to the words of its text and to no padding after them."""
    is_word = torch.arange(n, device=lengths.device) < lengths[..., None]  # (..., n)
    return is_word[..., None, :]  # (..., 1, n)


# %%
# The operator ``&`` joins the two masks by broadcasting them to (B, n, n). The batch of our example
# holds two texts: the sentence itself, and its first four words followed by two positions of
# padding. Padding is always at the end here, and ``padding_mask`` is given the lengths of the texts
# as a tensor.

padding = padding_mask(torch.tensor([6, 4]), 6)  # (2, 1, 6)
both = padding & causal  # (2, 6, 6)

# %%

fig, axes = plt.subplots(3, figsize=(5, 8.6), sharex=True)
panels = {
    "padding mask of the short text": padding[1].expand(6, 6),
    "causal mask, for every text": causal,
    "both": both[1],
}
short = [*words[:4], "(pad)", "(pad)"]
for ax, (title, allowed) in zip(axes, panels.items(), strict=True):
    ax.imshow(allowed.int().numpy(), vmin=0, vmax=2, aspect="auto")
    hatch(ax, allowed)
    ax.set_title(title, fontsize=11)
    ax.set_xticks(range(6), short, parse_math=False)
    ax.set_yticks(range(6), short, parse_math=False)
    ax.set_ylabel("query")
    ax.tick_params(length=0)
axes[-1].set_xlabel("key (hatched: masked)")
fig.set_label(
    "Three 6 by 6 squares for four words and two of padding, masked pairs hatched. Padding mask: "
    "the last two columns are hatched, for every query. Causal mask: everything above the diagonal "
    "is. Both: either of the two."
)

# %%
# *Figure 4.* The padding mask and the causal mask of a text of four words that is padded to six,
# and the two joined, with the masked pairs hatched. The rows of the padding still attend to words,
# which does no harm as long as nothing reads those rows.
#
# .. admonition:: What went wrong: a mask of 0.0 and 1.0
#    :class: warning
#
#    A mask may also consist of floating-point numbers, which torch and this package then *add* to
#    the scores. If you convert a boolean mask to floats, you therefore add 1 to every allowed score
#    and 0 to every forbidden one. Nothing is forbidden, and no error is raised. An additive mask
#    needs 0 where a query may attend and −∞ elsewhere.

leaky = F.scaled_dot_product_attention(query, key, torch.eye(6), attn_mask=causal.float())  # (6, 6)
print(f"weight on later words: {leaky[~causal].sum():.4f} of {leaky.sum():.0f}")

# %%
# A word that may attend to nothing
# ---------------------------------
# Sometimes a position has nothing to attend to. This happens in an empty text, and also under a
# causal mask if the padding is put *before* the text. The softmax over no scores at all is then
# 0/0.
#
# To see what this leads to, we forbid "starts" to attend to any of the six words. We compare what
# four programs return for this word; the last of them is torch's :term:`fused kernel`. The values
# are the rows of an identity matrix, so that each context vector shows its own weights.

allowed = causal_mask(6)  # (6, 6)
allowed[2] = False


def fill_with(number):
    """Make a program that sets all forbidden scores to the given number."""
    return lambda v: scores.masked_fill(~allowed, number).softmax(dim=-1) @ v


programs = {
    "filled with -inf": fill_with(float("-inf")),
    "filled with -1e9": fill_with(-1e9),
    "this package": lambda v: attention.fused_attention(query, key, v, allowed),
    "torch's kernel": lambda v: F.scaled_dot_product_attention(query, key, v, allowed),
}
for name, program in programs.items():
    v = torch.eye(6, requires_grad=True)  # (6, 6)
    rows = program(v)  # (6, 6)
    rows[[0, 1, 3, 4, 5]].square().sum().backward()  # a loss that never reads "starts"
    print(f"{name:17}", [round(weight, 2) for weight in rows[2].tolist()])
    print(f"{'':17} values get a finite gradient: {v.grad.isfinite().all().item()}")

# %%

fig, axes = plt.subplots(4, figsize=(5, 5), sharex=True, sharey=True)
for ax, (name, program) in zip(axes, programs.items(), strict=True):
    row = program(torch.eye(6))[2]  # (6,)
    ax.bar(words, row.nan_to_num().tolist(), color=WEIGHT)
    if row.isnan().any():
        for i in range(6):
            ax.text(i, 0.02, "NaN", ha="center", fontsize=10)
    ax.set_title(name, loc="left", fontsize=11)
    ax.set(ylim=(0, 0.25), ylabel="weight")
fig.set_label(
    "Four rows of bars, the weights of “starts” on the six words in four programs. Filled with "
    "minus infinity: NaN six times. Filled with minus a billion: six bars of a sixth. In this "
    "package and in torch's kernel: no weight at all."
)

# %%
# *Figure 5.* What "starts" receives from each word, although all six are forbidden. Only the second
# program hands it something.
#
# The four programs return three different results. Which of the three is right?
#
# **NaN** is an honest answer to 0/0, but it spreads. The loss never read the row of "starts", so
# the gradient of this context vector is 0. But in the backward pass it is multiplied by the weights
# of that row, and since 0 · NaN = NaN, the gradients of the values are lost.
#
# **Uniform weights** result from −1e9: all six scores are now the same number, so each weight is
# 1/6. They look harmless and are the worst of the three, because they mix a little of everything
# that was forbidden, padding included, and nothing shows that something is wrong.
#
# **Zeros** are the sum over no words: the word receives nothing and passes no gradient back. This
# project returns zeros, and so does torch's kernel, whereas ``nn.MultiheadAttention`` may still
# return NaN.
#
# With masks, the function of the first lesson becomes the following. Its variable ``blind`` marks
# the rows of words that may attend to nothing. These rows are left out of the masking, so their
# scores stay finite, and their weights are set to 0 after the softmax. In the file that grows from
# lesson to lesson, this function replaces the first one. It accepts boolean masks only.


# attention_from_scratch.py
def scaled_dot_product_attention(query, key, value, attn_mask=None):
    """Mix the values by how well their keys match each query, among those that it may attend to."""
    scores = query @ key.mT / key.shape[-1] ** 0.5  # (..., n, m)
    if attn_mask is None:
        weights = torch.softmax(scores, dim=-1)  # (..., n, m)
    else:
        blind = ~attn_mask.any(dim=-1, keepdim=True)  # (..., n, 1)
        scores = scores.masked_fill(~(attn_mask | blind), float("-inf"))
        weights = torch.softmax(scores, dim=-1).masked_fill(blind, 0.0)  # (..., n, m)
    return weights @ value, weights  # (..., n, v) and (..., n, m)


# %%

# Check: the package's function.
ours, _ = scaled_dot_product_attention(query, key, value, allowed)  # (6, 2)
packages, _ = attention.scaled_dot_product_attention(query, key, value, allowed)  # (6, 2)
print(f"largest difference from the package: {(ours - packages).abs().max().item():.0e}")
assert torch.allclose(ours, packages)

# %%
# A causal layer
# --------------
# To become causal, ``SelfAttentionV2`` needs only a few more lines. They make a causal mask and
# join it with any mask that the caller passes. The new layer also lets values have another width
# than queries and keys.


# attention_from_scratch.py
class CausalSelfAttention(nn.Module):
    """Self-attention in which each token attends to itself and to the tokens before it."""

    def __init__(self, embed_dim, key_dim, value_dim=None):
        super().__init__()
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_value = nn.Linear(embed_dim, value_dim or embed_dim, bias=False)

    def forward(self, x, attn_mask=None):
        """Return the context vectors."""
        n = x.shape[-2]
        causal = causal_mask(n).to(x.device)  # (n, n)
        attn_mask = causal if attn_mask is None else causal & attn_mask  # (..., n, n)
        query, key, value = self.W_query(x), self.W_key(x), self.W_value(x)
        context, _ = scaled_dot_product_attention(query, key, value, attn_mask)
        return context  # (..., n, v)


# %%
# A causal layer promises that a word has no effect on any output *before* its own. This can be
# tested on any model that claims to be causal. Here we change the numbers of one word, "with", and
# measure how far each context vector moves:

changed = x.clone()  # (6, 3)
changed[3] = torch.tensor([0.9, 0.1, 0.9])
layer = CausalSelfAttention(3, key_dim=2, value_dim=2)
with torch.no_grad():
    moved = (layer(changed) - layer(x)).norm(dim=-1)  # (6,)
for word, distance in zip(words, moved, strict=True):
    print(f"the context of {word:8} moved by {distance:.4f}")
assert moved[:3].max() == 0

# %%

fig, ax = plt.subplots(figsize=(5, 2.8))
ax.bar(words, moved.tolist(), color=BLUE)
ax.axvline(2.5, color=BLACK, lw=1, ls=":")
ax.set_ylabel("moved by")
fig.set_label(
    "Bars: how far the context of each word moves when the word “with” is changed. Nothing moves "
    "for the three words before it; “with” and the two words after it move."
)

# %%
# *Figure 6.* How far each context vector moves if the word "with" is changed. To the left of the
# dotted line are the words before it, for which the change does not exist.
#
# No row has seen the word that it has to predict, so one pass over a sentence trains all its
# predictions at once. We now train the causal layer on the task from above. It stays near chance
# level, whether it is given the full sentence or only the words so far, and on random sentences
# this is the correct result. If such a layer does better than chance on real sentences, it cannot
# be because it has seen the answer.

torch.manual_seed(0)
honest = CausalSelfAttention(12, key_dim=6, value_dim=6)
print(f"loss after training: {train(honest):.2f}, at chance level: {torch.tensor(6).log():.2f}")
print(f"accuracy, full sentence given:   {accuracy(honest(vectors(ids))[:, :-1]):.0%}")
print(f"accuracy, only the words so far: {accuracy(predict_as_generator(honest)):.0%}")

# %%
# The KV cache
# ------------
# A causal layer also saves work. Since a word has no effect on earlier outputs, earlier rows never
# change when a word is appended. Generation can therefore keep the keys and values of all words so
# far; this store is called the :term:`KV cache`. Each new word needs only its own query, key and
# value, and its query attends to the keys and values in the cache. We feed the sentence word by
# word and compare the rows with those of one pass over the whole sentence.

kept_keys, kept_values, rows = [], [], []
with torch.no_grad():
    for m in range(1, 7):
        word = x[m - 1]  # (3,)
        kept_keys.append(layer.W_key(word))
        kept_values.append(layer.W_value(word))
        keys, values = torch.stack(kept_keys), torch.stack(kept_values)  # (m, 2), (m, 2)
        row, _ = scaled_dot_product_attention(layer.W_query(word)[None], keys, values)  # (1, 2)
        rows.append(row)
    print(f"largest difference: {(torch.cat(rows) - layer(x)).abs().max().item():.0e}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
for m in range(1, 7):  # the words so far
    for j in range(m):
        is_new = j == m - 1
        style = {"fc": KEY if is_new else "white", "ec": KEY, "lw": 1.2}
        ax.add_patch(plt.Rectangle((j + 0.06, m - 0.94), 0.88, 0.88, **style))
        if not is_new:
            ax.text(j + 0.5, m - 0.5, "kept", ha="center", va="center", fontsize=10)
ax.set(xlim=(0, 6), ylim=(6, 0), ylabel="step", xlabel="keys and values of the word")
ax.set_xticks([i + 0.5 for i in range(6)], words)
ax.set_yticks([i + 0.5 for i in range(6)], range(1, 7))
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
fig.set_label(
    "Six steps from top to bottom, each with one word more. In every step only the key and value "
    "of the newest word are computed, on the diagonal; those of all words before it are kept."
)

# %%
# *Figure 7.* Which keys and values each step of generation needs. One pair per step is computed
# (filled), and all others lie in the cache. The shape is that of the causal mask.
#
# No mask appears in this loop, since keys of later words do not exist yet. The mask is needed
# wherever several words are processed in one pass, as in training or for a prompt (the given text
# that generation continues). :doc:`The lesson on the KV cache </gallery/deeper/plot_9c_cache>`
# generates text with whole stacks of layers.
#
# Takeaways
# ---------
# * How do you keep a word from attending to another? Set the score to −∞ before the softmax. A
#   causal mask does so for all later words, so that no output depends on what comes after it.
# * A padding mask is about the key, and its shape is (B, 1, n). A causal mask is about the pair of
#   query and key, (n, n). Join the two with ``&``, and before you pass a mask to a function, look
#   up what ``True`` means there.
# * A query that may attend to nothing gets zeros, because NaN spreads and uniform weights leak.
# * Since earlier rows never change, one pass trains all predictions of a sentence, and generation
#   can cache keys and values.
#
# *From memory:* close this page and write ``causal_mask``, ``padding_mask`` and
# ``CausalSelfAttention``. Then check three things: if one word changes, the results of all words
# before it stay the same; if the padding changes, the results of all words stay the same; and a
# word that may attend to nothing gets zeros.
#
# *Practise:* :doc:`/exercises/masks`.
#
# *Where next:* one row of weights per word is sometimes not enough, and :doc:`multi-head attention
# </gallery/core/plot_5_multi_head>` places several side by side.

plt.show()

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

You set their scores to −∞ before the softmax, which then gives them no weight. A causal mask
forbids all later words, because a model in training would otherwise copy the word that it
should predict. A padding mask forbids the filler after short texts.

The first reading takes nine minutes, and the whole page forty. You need :doc:`a self-attention
layer </gallery/core/plot_2_attention_layer>` and :doc:`its scale
</gallery/core/plot_3_scaling_variance>`. Running the page takes ten seconds.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

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
# *Figure 1.* Both masks of an attention layer act between the scores and the softmax, and
# :term:`broadcast <broadcasting>` to the shape of the scores: an axis that is missing, or that has
# length 1, is repeated.
#
# A model that copies the answer
# ------------------------------
# To see what a mask is for, we train ``SelfAttentionV2`` without one, on predicting the
# *next* word. Our sentences are six random words from a vocabulary of six, so a guess is correct
# in one case out of six. One pass over a whole sentence predicts all its words at once. The setup
# has its functions.

# Setup: the vectors of the words, the loss, the training steps and the two ways of testing.
positions = torch.eye(6)  # (6, 6)


def vectors(ids):
    """Concatenate the one-hot vector of each word and that of its position."""
    word = F.one_hot(ids, 6).float()
    return torch.cat([word, positions[: ids.shape[-1]].expand_as(word)], dim=-1)


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


def predict_as_generator(layer):
    """Predict each next word from the words so far."""
    so_far = [layer(vectors(ids[:, :length]))[:, -1] for length in range(1, 6)]
    return torch.stack(so_far, dim=1)  # (1000, 5, 6)


# %%

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
# *Figure 2.* After training, each word but the last attends most to the next one.
#
# The model has learned to copy the word that it should predict. While a text is being generated,
# however, this word does not exist yet. So we give it only the words so far:

print(f"accuracy, only the words so far: {accuracy(predict_as_generator(sees_all)):.0%}")

# %%
# This is no better than a guess, so a word must not attend to later words in training either.
#
# Closer look: what one step of this training does
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A model that predicts each word from those before it is called :term:`autoregressive`. It
# generates a text by appending its own prediction to the words so far and predicting again.
#
# A guess is correct in one case out of six here, which is the *chance level* of the task: nobody
# can know the next word of a random sentence.
#
# Attention needs vectors, and the simplest vector of a word is *one-hot*: it has one number per
# word of the vocabulary, 1 for the word itself and 0 for all others. The function ``vectors``
# concatenates a second one-hot vector for the position, because attention alone does not notice the
# order, as :doc:`the lesson on positions </gallery/core/plot_6_positions>` shows.

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
#
# The functions ``next_word_loss`` and ``train`` in the setup above do this for 150 batches of 64
# sentences each.
#
# The causal mask
# ---------------
# A :term:`mask` says for each query i and each key j whether the query may attend to the key, and
# here ``True`` means that it may, and in ``nn.MultiheadAttention`` that it may not. For n words the
# shape is (n, n), with one row per query. A :term:`causal mask` is ``True`` where j does not come
# after i: on the diagonal and below it, which ``tril`` keeps.


# attention_from_scratch.py
def causal_mask(n):
    """Let token i attend to tokens 0 … i and to none after it."""
    return torch.ones(n, n, dtype=torch.bool).tril()  # (n, n)


# %%
# We return to the sentence of :doc:`the first lesson </gallery/core/plot_1_qkv_derivation>`, whose
# scores are (6, 6). Where the mask is ``False``, the score becomes :math:`-\infty`. Since
# :math:`e^{-\infty} = 0`, the softmax gives that key no weight, and the other keys share all of it.

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
#    "Your" is the first word. Where does its weight go under a causal mask?
#
#    A sixth to each word : ``weights[0].min() == weights[0].max()``
#        Six equal scores give this, but five are −∞.
#    Nowhere, as no word comes before it : ``weights[0].sum() == 0``
#        A causal mask lets a word attend to itself.
#    All of it to "Your" itself : ``weights[0, 0] == 1``
#        The softmax of a single score is 1. So the context vector of "Your" is its own value.

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
# *Figure 3.* The weights under a causal mask, with the masked pairs hatched.
#
# The padding mask
# ----------------
# The short texts of a batch are padded at the end to the length of the longest. Whether a key is
# :term:`padding` depends on the text and not on the query, so a padding mask has one row for each
# of the B texts, (B, 1, n), made from their lengths, (B,). A causal mask is one square for all
# texts, (n, n), often called a 2-D mask.


# attention_from_scratch.py
def padding_mask(lengths, n):
    """Let every query attend to the words of its text and to no padding after them."""
    is_word = torch.arange(n, device=lengths.device) < lengths[..., None]  # (..., n)
    return is_word[..., None, :]  # (..., 1, n)


# %%
# The operator ``&`` joins the two masks, which broadcast to (B, n, n). Our batch holds the
# sentence, and its first four words with two positions of padding.

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
# *Figure 4.* The two masks of a text of four words that is padded to six, and both joined.
#
# Closer look: what goes wrong with a mask of 0.0 and 1.0
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A mask may also consist of floating-point numbers, which torch and this package then *add* to the
# scores. If you convert a boolean mask to floats, you therefore add 1 to every allowed score and 0
# to every forbidden one. Nothing is forbidden, and no error is raised. An additive mask needs 0
# where a query may attend and −∞ elsewhere. The function below accepts boolean masks only.

leaky = F.scaled_dot_product_attention(query, key, torch.eye(6), attn_mask=causal.float())  # (6, 6)
print(f"weight on later words: {leaky[~causal].sum():.4f} of {leaky.sum():.0f}")

# %%
# The attention function with a mask
# ----------------------------------
# The function of the first lesson now takes a mask. Here n queries meet m keys, where m is n in
# self-attention, and the dots are any axes in front, such as that of the texts. ``key.mT`` swaps
# the last two axes of the keys, so the scores are (..., n, m), to which the mask broadcasts.
#
# One case needs a rule: for a word that may attend to nothing, the softmax would be 0/0. Its row,
# ``blind``, is left out of the masking, and its weights are set to 0 after the softmax.


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

# Check: the package's function, with "starts" forbidden to attend to anything.
allowed = causal_mask(6)  # (6, 6)
allowed[2] = False
ours, _ = scaled_dot_product_attention(query, key, value, allowed)  # (6, 2)
packages, _ = attention.scaled_dot_product_attention(query, key, value, allowed)  # (6, 2)
print(f"largest difference from the package: {(ours - packages).abs().max().item():.0e}")
assert torch.allclose(ours, packages)

# %%
# Closer look: why zeros, and neither NaN nor equal weights
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# In the file that grows from lesson to lesson, the function above replaces the first one, and its
# queries and keys have the width k, its values the width v.
#
# The rows of the padding in Figure 4 still attend to words, which does no harm as long as nothing
# reads those rows. But a word without anything to attend to does occur: in an empty text, and also
# under a causal mask if the padding is put *before* the text. To see what the softmax over no
# scores leads to, we forbid "starts" to attend to any of the six words. The mask ``allowed`` is
# causal, except that its row of "starts" is ``False`` throughout. We compare what four programs
# return for this word; the last of them is torch's :term:`fused kernel`. The values are the rows of
# an identity matrix, so that each context vector shows its own weights.


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
# *Figure 4a.* What "starts" receives from each word, although all six are forbidden. Only the
# second program hands it something.
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
# Closer look: several texts in one row, and queries that are the last of the keys
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Long rows hold no padding if they are filled with one text after another. A causal mask alone then
# lets each text read those before it. What keeps them apart is one comparison, of the number of the
# text to which query and key belong. Positions begin anew with each text, which alone would hide
# nothing. Here "Your journey" and "starts with one step" share a row:

text = torch.tensor([0, 0, 1, 1, 1, 1])  # (6,)
mask = causal & (text[:, None] == text)  # (6, 6)
position = torch.arange(6) - torch.tensor([0, 0, 2, 2, 2, 2])  # (6,)
together, _ = scaled_dot_product_attention(query, key, value, mask)  # (6, 2)
q, k, v = query[2:], key[2:], value[2:]  # (4, 2), (4, 2), (4, 2)
alone, _ = scaled_dot_product_attention(q, k, v, causal_mask(4))  # (4, 2)
leaked, _ = scaled_dot_product_attention(query, key, value, causal)  # (6, 2)
print("positions", position.tolist())
print(f"the second text, in the row and alone: {(together[2:] - alone).abs().max():.0e} apart")
print(f"under the causal mask alone:           {(leaked[2:] - alone).abs().max():.2f} apart")

# %%
# With a cache the queries are fewer than the keys, because only new words ask. The last query then
# sees all keys, and the mask ends in the *lower right* corner. The package's ``causal_mask`` does
# this for two sizes, as torch's ``causal_lower_right`` does, whereas ``is_causal=True`` in torch's
# function begins in the upper left corner:

new = query[4:]  # (2, 2), the last two words
by_torch = F.scaled_dot_product_attention(
    new[None], key[None], value[None], causal_lower_right(2, 6)
)[0]  # (2, 2)
ours, _ = scaled_dot_product_attention(new, key, value, attention.causal_mask(2, 6))  # (2, 2)
begins = F.scaled_dot_product_attention(new, key, value, is_causal=True)  # (2, 2)
print(f"lower right against ours: {(by_torch - ours).abs().max():.0e}")
print(f"upper left against ours:  {(begins - ours).abs().max():.2f}")

# %%
# A causal layer
# --------------
# ``SelfAttentionV2`` becomes causal if it makes a causal mask and joins it with any mask that the
# caller passes.


# attention_from_scratch.py
class CausalSelfAttention(nn.Module):
    """Self-attention in which each token attends to itself and to the tokens before it."""

    def __init__(self, embed_dim, key_dim, value_dim=None):
        super().__init__()
        self.W_query = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_key = nn.Linear(embed_dim, key_dim, bias=False)
        self.W_value = nn.Linear(embed_dim, value_dim or embed_dim, bias=False)

    def forward(self, x, attn_mask=None):
        """Return the context vectors of x, (..., n, d)."""
        n = x.shape[-2]
        causal = causal_mask(n).to(x.device)  # (n, n)
        attn_mask = causal if attn_mask is None else causal & attn_mask  # (..., n, n)
        query, key = self.W_query(x), self.W_key(x)  # (..., n, k) each
        value = self.W_value(x)  # (..., n, v)
        context, _ = scaled_dot_product_attention(query, key, value, attn_mask)
        return context  # (..., n, v)


# %%
# .. predict:: causal-copy
#
#    Trained as above, how often is a causal layer right about the next word?
#
#    Always : ``copied > 0.9``
#        No word sees the one that it predicts.
#    One time in six : ``0.1 < copied < 0.25``
#        It can't copy, so it guesses.
#    Never : ``copied < 0.1``
#        A guess is right one time in six.

layer = CausalSelfAttention(3, key_dim=2, value_dim=2)
print("x", tuple(x.shape), "context", tuple(layer(x).shape))

torch.manual_seed(0)
honest = CausalSelfAttention(12, key_dim=6, value_dim=6)
print(f"loss after training: {train(honest):.2f}, at chance level: {torch.tensor(6).log():.2f}")
copied = accuracy(honest(vectors(ids))[:, :-1])
print(f"accuracy, full sentence given:   {copied:.0%}")
print(f"accuracy, only the words so far: {accuracy(predict_as_generator(honest)):.0%}")

# %%
# The causal layer stays at a sixth, because no row has seen the word it predicts.
#
# Closer look: how to test that a model is causal
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# A causal layer promises that a word has no effect on any output *before* its own. One pass over a
# sentence can therefore train all its predictions at once. If such a layer does better than chance
# on real sentences, it cannot be because it has seen the answer. The promise can be tested on any
# model that claims to be causal. Here we change the numbers of one word, "with", and measure how
# far each context vector moves:

changed = x.clone()  # (6, 3)
changed[3] = torch.tensor([0.9, 0.1, 0.9])
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
# *Figure 4b.* How far each context vector moves if the word "with" is changed. To the left of the
# dotted line are the words before it, for which the change does not exist.
#
# Closer look: what generation saves with a KV cache
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# Since no row of a causal layer changes when later words are appended, generation can keep the keys
# and values of all words so far, which is called the :term:`KV cache`. Each new word then needs
# only its own query, key and value, and its query attends to the keys and values in the cache. We
# feed the sentence word by word and compare the rows with those of one pass over the whole
# sentence.

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
# *Figure 4c.* Which keys and values each step of generation needs. One pair per step is computed
# (filled), and all others lie in the cache. The shape is that of the causal mask.
#
# No mask appears in this loop, since keys of later words do not exist yet. The mask is needed
# wherever several words are processed in one pass, as in training or for a prompt (the given text
# that generation continues). :doc:`The lesson on the KV cache </gallery/deeper/plot_9c_cache>`
# generates text with whole stacks of layers.
#
# Takeaways
# ---------
# * How do you keep a word from attending to another? Set its score to −∞ before the softmax. A
#   causal mask, (n, n), and a padding mask, (B, 1, n), say where.
# * ``True`` means "may attend" here and in ``F.scaled_dot_product_attention``, and the opposite in
#   ``nn.MultiheadAttention``.
#
# *From memory:* close this page and write both masks, the attention function and
# ``CausalSelfAttention``, with each new shape. Check that a changed word changes no result before
# it, that changed padding changes none, and that a word that may attend to nothing gets zeros.
#
# *Where next:* :doc:`multi-head attention </gallery/core/plot_5_multi_head>` has several rows of
# weights per word.
#
# You can now write both masks and a layer that obeys them, and say which mistake each mask
# prevents. The exercise to do next is :ref:`a causal mask by hand <ex-causal-by-hand>`.

plt.show()

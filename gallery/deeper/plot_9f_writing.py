r"""
.. lesson:: A model that writes
   :minutes: 40
   :extra: train
   :needs: core/plot_7 deeper/plot_9c
   :search: GPT; language model; decoder-only transformer

A language model that writes: next tokens, temperature and induction heads
==========================================================================

How can a model write a text when all that it has learned is to predict one token?

By predicting again and again. The model gives every :term:`token` of its :term:`vocabulary` a
probability of coming next. A token is drawn by these probabilities, appended to the text, and read
with the rest when the next one is predicted. Only attention carries anything from one token to
another, so all that the model knows about the earlier tokens was brought by its attention heads.
For some heads one can say what they do: some continue a repetition, and some attend to the first
token when nothing else matches.

The model of this page is small and has read nothing but film reviews. It knows how reviews sound
and nothing else, so do not believe what it writes. You need the lessons on :doc:`the transformer
block </gallery/core/plot_7_transformer_block>` and on :doc:`the KV cache
</gallery/deeper/plot_9c_cache>`. Running the page takes about twenty seconds. Afterwards you can
draw text from a model at a chosen :term:`temperature`, judge a loss in nats per token, find an
induction head, and test whether the model needs this head by removing it.
"""

import copy
import json
import math
from itertools import islice
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

import attention
from attention import window_mask
from attention.language import continuation, encode, load_language_model
from attention.plotting import BLACK, BLUE, ORANGE, draw_matrices, use_style
from attention.sentiment.sources import load_reviews
from attention.sentiment.tokenizer import clean

torch.set_grad_enabled(False)
use_style()
QUICK = False  # True: fewer reviews, for a first try
P, S = (50, 10) if QUICK else (150, 50)  # passages, and some of them

package = Path(attention.__file__).parent
folder = Path("experiments/language")
places = package / folder, package.parent / "docs" / folder
folder = next(place for place in places if place.exists())
model, tokenizer = load_language_model(folder / "model")
vocabulary, length = model.config.vocab_size, model.config.max_length
L, h, d = model.config.num_layers, model.config.num_heads, model.config.embed_dim

# %%
# The next token
# --------------
# The model is a stack of causal :term:`transformer blocks <transformer block>`. The last block
# gives each position a vector of :math:`d` numbers. The dot products of this vector with the
# embeddings of all tokens are the :term:`logits <logit>` of the token that follows. The matrix E of
# embeddings is therefore used at both ends of the model, which is called *tied weights*
# :cite:p:`press2017using`.
#
# The model has the form of GPT-2 :cite:p:`radford2019language` but is far smaller. Unlike GPT-2, it
# has :term:`rotary positions <RoPE>`, every two of its heads share their keys and values
# (:term:`grouped queries <grouped-query attention>`), and its layers have no biases.

# sphinx_gallery_start_ignore


def draw_logits():
    """Draw how the last vectors and the embeddings make the logits."""
    fig, ax = plt.subplots(figsize=(5, 2.7))
    hidden, E = ("hidden", "(n, 80)", 2.4, 2, BLACK), ("Eᵀ", "(80, 2048)", 2, 5, BLACK)
    ends = draw_matrices(ax, 0, (hidden, "·", E, "=", ("logits", "(n, 2048)", 2.4, 5, BLACK)))
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-1.6, 2.2))
    return fig


# sphinx_gallery_end_ignore
fig = draw_logits()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles in a row: hidden, (n, 80), times the wide Eᵀ, (80, 2048), are the logits, "
    "(n, 2048)."
)

# %%
# *Figure 1.* The shapes at the end of the model, not drawn to scale. The rows of *hidden* are the
# vectors of the n positions. A softmax turns each row of the logits into a probability for each of
# the 2,048 tokens.

prompt = "The acting was"
ids = encode(tokenizer, prompt)
n = len(ids)
print([tokenizer.id_to_token(i) for i in ids])
probabilities = model(torch.tensor(ids)).softmax(dim=-1)  # (n, vocabulary)
for probability, i in zip(*probabilities[-1].topk(6), strict=True):
    print(f"{probability:.3f} {tokenizer.decode([i.item()])!r}")

# %%
# A token is a word with the space before it (printed as ``Ġ``), or a piece of a rarer word. The
# tokenizer is a byte-pair encoding :cite:p:`sennrich2016neural`, which can spell any text with its
# tokens. The token ``<start>`` precedes every text, so that the first word is predicted from
# something, too.
#
# One pass predicts the token after every prefix of the text, and the causal mask keeps each
# prediction from seeing its answer. A text of n tokens after ``<start>`` is therefore n training
# examples at once. What training lowers is the mean :term:`cross-entropy` over all of them, in nats
# per token. If :math:`\mathrm{id}_0` is ``<start>``, this mean is
#
# .. math:: \mathrm{loss} = -\frac1n \sum_{i=1}^{n} \ln p(\mathrm{id}_i \mid \mathrm{id}_0, \dots,
#           \mathrm{id}_{i-1})
#
# What is a good loss? We compare the loss of our model with that of three simpler models that need
# no attention. All four are measured on 150 passages, the beginnings of reviews that were not used
# for training. The first simple model gives all tokens the same probability. The second gives each
# token its share of all tokens in 3,000 reviews. The third is a *bigram model*. It looks only at
# the token before, and gives each token the share of cases in which it followed that token in those
# reviews (smoothed towards the second model). Our model was trained on more text, on about seven
# times as many tokens as these 3,000 reviews hold.

reviews = load_reviews("imdb")


def read(split, count):
    """Return the ids of reviews, with single spaces between the words."""
    return [encode(tokenizer, " ".join(clean(t).split())) for t in reviews[split].texts[:count]]


passages = [review[:length] for review in read("validation", 400) if len(review) >= length][:P]
held_out = torch.tensor(passages)  # (P, 128)
pairs = torch.zeros(vocabulary, vocabulary)  # (2048, 2048)
for review in map(torch.tensor, read("train", 1000 if QUICK else 3000)):
    pairs.index_put_((review[:-1], review[1:]), torch.tensor(1.0), accumulate=True)
single = (pairs.sum(dim=0) + 1) / (pairs.sum() + vocabulary)  # (2048,)
behind = (pairs + 100 * single) / (pairs.sum(dim=1, keepdim=True) + 100)  # (2048, 2048)


def losses(model, ids, mask=None):
    """Compute the cross-entropy of every next token, in nats."""
    hidden = model.encoder(model.embedding(ids), attn_mask=mask, is_causal=True)  # (..., n, d)
    logits = hidden[..., :-1, :] @ model.embedding.weight.T  # (..., n - 1, vocabulary)
    return F.cross_entropy(logits.movedim(-1, 1), ids[..., 1:], reduction="none")


before, after = held_out[:, :-1], held_out[:, 1:]  # (P, 127), (P, 127)
per_token = losses(model, held_out)  # (P, 127)
nats = {
    "every token alike": math.log(vocabulary),
    "by frequency": -single[after].log().mean().item(),
    "by the token before": -behind[before, after].log().mean().item(),
    "the model": per_token.mean().item(),
}
print("                     nats per token   as good as a choice among")
for name, value in nats.items():
    print(f"{name:21}{value:8.2f}{math.exp(value):17.0f}")

# %%
# The last column is the *perplexity*, e to the power of the loss: a choice among that many equally
# likely tokens has the same loss. Loss and perplexity depend on the tokenizer and on the texts, so
# two models can be compared only if they read the same texts and cut them into the same tokens.
#
# Our model was trained once, by a command that takes a long time, and this page reads the files
# that the command left:

training = json.loads((folder / "results.json").read_text(encoding="utf-8"))
print("made by:", training["origin"]["command"], "in", training["cpu_seconds"] // 60, "minutes")
print(f"parameters: {training['parameters']:,}, {L} layers of {h} heads")
print(f"read: {training['tokens']['train']:,} tokens of {training['words']['train']:,} words")

# %%
# Drawing a text
# --------------
# Before the softmax, the logits can be divided by a :term:`temperature`, which changes how much is
# left to chance:
#
# .. math:: p_i = \mathrm{softmax}(\mathrm{logits} / \mathrm{temperature})_i
#
# At a temperature below 1 the likely tokens become even likelier, and above 1 all tokens become
# more equal. One can't divide by 0, so a temperature of 0 stands for always taking the likeliest
# token (greedy decoding).

logits = model(torch.tensor(ids))[-1]  # (vocabulary,)
print("temperature   likeliest   entropy")
for temperature in (0.3, 0.8, 1.0, 2.0):
    p = (logits / temperature).softmax(dim=-1)  # (vocabulary,)
    print(f"{temperature:11}{p.max():12.3f}{-(p * p.log()).sum():10.2f}")


def write(temperature, seed=4, tokens=40):
    """Continue the prompt."""
    generator = torch.Generator().manual_seed(seed)
    drawn = continuation(model, ids, temperature=temperature, generator=generator)
    return tokenizer.decode([*ids, *islice(drawn, tokens)])


written = {temperature: write(temperature) for temperature in (0, 0.8, 2.0)}
for temperature, text in written.items():
    print(f"\ntemperature {temperature}: {text}")

# %%
# At a temperature of 0 the text is the same each time, and it soon repeats itself. The training of
# this model may have added to the repetition, as we shall see. At 2, most of the tokens that are
# drawn are improbable ones, because there are so many of these. Soon the model reads a text unlike
# any that it was trained on. What one usually wants lies in between. Where exactly is a matter of
# taste, so a temperature is chosen by reading the texts and not by the loss.
#
# The function ``continuation``, which draws the tokens here, computes only one new row per token,
# with a :term:`KV cache`, and ``python -m attention.write`` does the same from the command line.
#
# How far back it reads
# ---------------------
# Do earlier tokens help at all? To find out, we let each token see only itself and the w − 1 tokens
# before it, by a mask, and measure the loss on the second half of each passage. In the last column
# of the table, ``<start>`` stays visible to all tokens as well. The window applies in each layer,
# but what a token has gathered in one layer can be read by other tokens in the next. So in 4
# layers, something may come from 4(w − 1) tokens back. This is a test of what the trained model
# uses, and a model that is trained with such a window might use it better.

seen = torch.arange(length) == 0  # (128,), True for <start>
by_window = {}
print("tokens seen   nats per token   with <start> kept")
for window in (1, 2, 4, 8, 16, 32, 64, length):
    mask = window_mask(length, window)  # (128, 128)
    by_window[window] = [
        losses(model, held_out, m)[:, 64:].mean().item() for m in (mask, mask | seen)
    ]
    print("{:11}{:15.2f}{:18.2f}".format(window, *by_window[window]))

# %%
# The losses without ``<start>`` hold a surprise: this model fails if ``<start>`` is hidden, even if
# each token sees 64 tokens. This has little to do with how far back the model reads.
# :cite:t:`xiao2024efficient` found that large models fail as well when a window leaves their first
# tokens behind, and the section on the first token comes back to this.
#
# The last column shows how much the earlier tokens help: a window of eight tokens already gives the
# model most of what it gains from all of them. The loss at each position, which Figure 2 will show,
# says the same: it falls within the first few tokens and then stays level.
#
# But a longer memory is worth a great deal where a text repeats itself, which reviews rarely do. So
# that the model learns to use repetitions all the same, a quarter of its training sequences consist
# of a piece of 8 to 64 tokens that is repeated until the sequence is full. To see what it has
# learned, we take the first 63 tokens of each of our 150 passages and let the model read them twice
# in a row. We compare the loss at each position with that on the passages themselves:

first = held_out[:, 1:64]  # (P, 63)
start = held_out[:, :1]  # (P, 1)
twice = torch.cat([start, first, first], dim=1)  # (P, 127)
at_position = {
    "reviews": per_token.mean(dim=0),
    "63 tokens twice": losses(model, twice).mean(dim=0),
}  # a number per position

fig, ax = plt.subplots(figsize=(5, 3.6))
for (name, curve), color in zip(at_position.items(), (BLUE, ORANGE), strict=True):
    ax.plot(range(1, len(curve) + 1), curve, color=color, label=name)
ax.axvline(63.5, color=BLACK, ls=":")
ax.set(xlabel="position that is predicted", ylabel="loss in nats per token")
ax.legend(loc="upper right")
fig.set_label(
    "Loss against position. On reviews it falls from above 5 at the first token to about 4 within "
    "a few tokens and stays there. On passages that repeat it jumps above 8 at token 64, the first "
    "of the repetition, and from token 65 on it is below 1."
)

# %%
# *Figure 2.* Mean loss at each position over 150 passages. The repetition begins at the dotted
# line. Its first token comes as a surprise to the model. From the second token on, the model
# continues what it has read.
#
# Who copies? A test with random tokens
# -------------------------------------
# Two things help the model with the repeated reviews: copying, and knowing how reviews usually
# continue. Random tokens separate the two, since only copying can predict them when they come for
# the second time. We draw 32 texts of 60 random tokens each and let each text come twice in a row.
# For each head we measure its weight on three places, as a mean over the second halves. The first
# place is the token just before the token that is being read, and the second is ``<start>``, the
# first token of the text. The third place is the token that has to be copied: the one that came
# *after the earlier occurrence* of the token that is being read.

torch.manual_seed(0)
half = torch.randint(257, vocabulary, (32, 60))  # (32, 60), without <start> and single bytes
random_twice = torch.cat([torch.zeros(32, 1, dtype=torch.long), half, half], dim=1)  # (32, 121)
_, weights = model(random_twice, need_weights=True)  # (32, 121, vocabulary), (L, 32, h, 121, 121)
i = torch.arange(61, 121)  # (60,), the second time
attended = {
    "the token before": weights[..., i, i - 1].mean(dim=(1, 3)),
    "<start>": weights[..., i, 0].mean(dim=(1, 3)),
    "the token after the earlier one": weights[..., i, i - 59].mean(dim=(1, 3)),
}  # each (L, h)

# sphinx_gallery_start_ignore


def draw_numbers(ax, table, top):
    """Draw a number for each head of each layer, in colour from 0 to the top."""
    ax.imshow(table.tolist(), vmin=0, vmax=top, aspect="auto")
    for layer in range(L):
        for head in range(h):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            text = f"{table[layer, head]:.2f}"
            ax.text(head, layer, text, ha="center", va="center", fontsize=10, bbox=box)
    ax.set(xlabel="head", ylabel="layer")
    ax.set_xticks(range(h))
    ax.set_yticks(range(L))


# sphinx_gallery_end_ignore
fig, axes = plt.subplots(3, figsize=(5, 8.4))
for ax, (name, table) in zip(axes, attended.items(), strict=True):
    draw_numbers(ax, table, 1)
    ax.set_title(f"weight on {name}")
fig.set_label(
    "Three maps, a number for each head of four layers. On the token before, head 0 of layer 2 has "
    "0.85 and no other more than 0.32. On <start>, those of layer 3 have from 0.12 to 0.77, the "
    "others less than 0.15. On the token after the earlier one, head 1 of layer 3 has 0.74, all "
    "others less than 0.02."
)

# %%
# *Figure 3.* Mean weights of each head in the second half of random tokens that repeat. Layers and
# heads are counted from 0.
#
# An :term:`induction head` :cite:p:`elhage2021mathematical,olsson2022context` is a head that
# continues a repetition. When it has read "… A B … A", it attends from the second A to B and makes
# B likelier as the next token. The head with much weight in the last map attends in this way.
#
# How does the query at the second A find B? In the models that :cite:t:`elhage2021mathematical`
# took apart, it does so by B's key. This key is made from the vector at B, to which a head in an
# earlier layer has added information about the token before it. The key at B then says "after A",
# which is what the query at the second A looks for. In our model, the head in the earlier layer
# would be the one with much weight in the first map. A single layer could not do this, because in a
# first layer the key at B knows of B alone. This is one mechanism of several: in GPT-2, which adds
# positions to its embeddings, the same authors report an induction head that computes with these
# positions instead. Our model has rotary positions, which no head can hand on in this way.
#
# Removing the heads
# ------------------
# If the copying works in this way, then removing either of the two heads must end it. Removing the
# earlier head must also end the *attention* of the induction head, which then has nothing to find B
# by. We remove each head of the model in turn, by setting its columns of W_out to 0, so that
# nothing from it reaches the next layer. Then we measure the loss on the copied tokens, the loss on
# reviews, and the *copying weight*, which is the mean weight of the induction head on the token
# that has to be copied. If no copying is left, the loss on the copied tokens should be about that
# of the first half, where nothing can be copied.
#
# .. predict:: heads-that-copy
#
#    How many heads raise the loss on copied tokens above 5 when they alone are removed?
#
#    Two, the induction head and one more : ``sum(each[0] > 5 for each in removed.values()) == 2``
#        Both end the copying, but they are not alone.
#    Six, these two and four more : ``sum(each[0] > 5 for each in removed.values()) == 6``
#        What the four more are for is examined below.
#    All of them : ``all(each[0] > 5 for each in removed.values())``
#        Most heads can be removed, and the copying goes on.


def without(*heads):
    """Return a copy of the model in which these heads, (layer, head), hand over nothing."""
    changed = copy.deepcopy(model)
    for layer, head in heads:
        W_out = changed.encoder.blocks[layer].attention.W_out.weight  # (d, d)
        W_out.unflatten(-1, (h, -1))[:, head] = 0
    return changed


def measure(changed):
    """Return the loss where tokens repeat, that on reviews, and the copying weight."""
    logits, weights = changed(random_twice, need_weights=True)
    return torch.tensor(
        [
            F.cross_entropy(logits[:, 61:-1].movedim(-1, 1), random_twice[:, 62:]),
            losses(changed, held_out[:S]).mean(),
            weights[..., i, i - 59].mean(dim=(1, 3))[induction],
        ]
    )  # (3,)


def largest(table):
    """Return the layer and the head with the most weight."""
    return divmod(table.argmax().item(), h)


induction = largest(attended["the token after the earlier one"])
previous = largest(attended["the token before"])
everyone = [(layer, head) for layer in range(L) for head in range(h)]
whole = measure(model)  # (3,)
removed = {each: measure(without(each)) for each in everyone}

print("removed, (layer, head)        copied tokens   reviews   copying weight")
rows = {"none": whole, f"the induction head, {induction}": removed[induction]}
rows[f"on the token before, {previous}"] = removed[previous]
for name, (copied, natural, on) in rows.items():
    print(f"{name:30}{copied:13.2f}{natural:10.2f}{on:14.2f}")
first_time = losses(model, random_twice)[:, :60].mean().item()
print(f"\nthe first half, with all heads{first_time:13.2f}")

fig, axes = plt.subplots(2, figsize=(5, 5.6))
titles = "loss on copied tokens", "copying weight"
for ax, title, column, top in zip(axes, titles, (0, 2), (12, 1), strict=True):
    table = torch.stack([removed[each][column] for each in everyone]).view(L, h)  # (L, h)
    draw_numbers(ax, table, top)
    ax.set_title(f"{title}, without this head")
fig.set_label(
    "Two maps, a number for each head of four layers. The loss on copied tokens is about 1 for "
    "most heads, above 11 for head 0 of layer 2 and head 1 of layer 3, and from 7 to 9.4 for four "
    "heads of layers 0 to 2. The copying weight is about 0.7 for most heads, that of the "
    "induction head included, and at most 0.2 for the other five."
)

# %%
# *Figure 4.* What remains of copying when each head is removed by itself. The numbers with all
# heads are in the first row of the table above.
#
# The losses are in nats per token. When either of the two heads is removed, the copying ends, and
# the loss is about that of the first half. In both cases it is above ln 2048 ≈ 7.62, the loss of a
# uniform guess, because the model expects what would be likely in a review.
#
# The copying weight distinguishes the two cases. When the induction head is removed, only its
# output is lost. Its attention weights stay as they were, because nothing that it reads has
# changed. When the head that attends to the token before is removed, the induction head also loses
# its weight on the token that has to be copied.
#
# Four other heads, in the first three layers, attend neither to the token before nor to the token
# to be copied, and yet removing any one of them lowers the copying weight, too. Do they take part
# in the copying? Setting a head to 0 does not answer this, because it also takes away what the head
# adds to all tokens alike, and the later layers were trained with this addition. So we make a
# stricter test: we replace the output of a head by its mean over all tokens of these texts, a
# constant that does not depend on what the head reads. We do this for each of the six heads, these
# four and the two above.


def averaged(layer, head):
    """Return a copy of the model in which a head hands over its mean output of the first call."""
    changed = copy.deepcopy(model)
    means = []

    def replace(module, inputs):
        context = inputs[0].clone()  # (..., n, d)
        part = context.unflatten(-1, (h, -1))[..., head, :]  # (..., n, d // h)
        means.append(part.mean(dim=(0, 1)))
        part[:] = means[0]
        return (context,)

    W_out = changed.encoder.blocks[layer].attention.W_out
    W_out.register_forward_pre_hook(replace)
    return changed


six = [each for each in everyone if removed[each][0] > 6]
constant = {each: measure(averaged(*each)) for each in six}
print("loss on copied tokens   head at 0   at its mean")
for each in six:
    print(f"{each!s:21}{removed[each][0]:12.2f}{constant[each][0]:14.2f}")

# %%
# For three of the four a constant will do: they are needed for what they add to all tokens alike,
# and not for what they read. By the stricter test, three of the six heads are still needed. These
# are the induction head, the head that attends to the token before, and one of the four others.
# What this last head reads, and how that helps the copying, is not yet known. To find out, one
# would have to trace what it hands on, and to which heads.
#
# On reviews the induction head is worth little. The first model that we trained for this page had
# read reviews alone, and none of its heads copied. (It also had another shape and was trained on
# fewer sequences.) This is why a quarter of the training sequences now repeat a piece.
# :cite:t:`olsson2022context` find that in larger models, trained on more text, such heads form by
# themselves.
#
# What does removing a head show? If the loss on the random texts rises, this model needs what the
# head hands over there, even if that is only a constant. If the loss does not rise, the head may
# still take part in the copying: another head may replace it, and then removing one head alone
# shows nothing.
#
# What the first token is for
# ---------------------------
# The heads of the last layer attend strongly to ``<start>``, although it says nothing about the
# text. Under the causal mask its position sees only itself, so its key and its value are the same
# in every text. A token with so much weight is called an :term:`attention sink`
# :cite:p:`xiao2024efficient`.
#
# Is it the value of ``<start>`` that matters, or only that there is a token to attend to? We try to
# do without ``<start>`` in two ways. In the first, we set its value to 0, so that later tokens may
# still attend to it but take nothing from it. In the second, we mask its position, so that the
# weight of later tokens has to go elsewhere. In both cases, the position of ``<start>`` still reads
# its own value. Otherwise its vector would change, and with it the keys that it has in the later
# layers.

_, weights = model(held_out[:S], need_weights=True)  # (S, 128, vocabulary), (L, S, h, 128, 128)
on_start = weights[:, :, :, 16:, 0].mean(dim=(1, 3))  # (L, h)
print("mean weight on <start> from the 16th token on:")
for layer, row in enumerate(on_start.tolist()):
    print(f"layer {layer}:", *(f"{weight:6.2f}" for weight in row))


def with_value_zero(place):
    """Measure the loss when later tokens take a value of 0 from a position, in all layers."""

    def clear(module, inputs, output):
        return output.index_fill(-2, torch.tensor(place), 0)

    kept = model.embedding(held_out)  # (P, 128, d)
    cleared = kept
    for block in model.encoder.blocks:
        kept = block(kept, is_causal=True)  # (P, 128, d)
        hook = block.attention.W_value.register_forward_hook(clear)
        cleared = block(cleared, is_causal=True)  # (P, 128, d)
        hook.remove()
        cleared[:, place] = kept[:, place]  # the position itself is as it was
    hidden = model.encoder.norm(cleared)[:, :-1]  # (P, 127, d)
    logits = hidden @ model.embedding.weight.T  # (P, 127, vocabulary)
    loss = F.cross_entropy(logits.movedim(-1, 1), held_out[:, 1:], reduction="none")  # (P, 127)
    return loss[:, 2:].mean().item()


def with_masked(place):
    """Measure the loss when no later token may attend to a position."""
    mask = torch.ones(length, length, dtype=torch.bool)  # (128, 128)
    mask[place + 1 :, place] = False
    return losses(model, held_out, mask)[:, 2:].mean().item()


unchanged = per_token[:, 2:].mean().item()
sinks = {place: (with_value_zero(place), with_masked(place)) for place in (0, 1)}
print(f"\nloss from the third token on, as it is: {unchanged:.2f}")
for place, name in enumerate(("<start>", "the first word")):
    zero, masked = sinks[place]
    print(f"{name:15} value 0: +{zero - unchanged:.2f}   masked: +{masked - unchanged:.2f}")

# %%
# On reviews, which rarely repeat, the induction head keeps nearly all of its weight on ``<start>``,
# which is its way of saying nothing about the text. When no later token may attend to ``<start>``,
# the loss rises by more than our model's whole advantage over the second of the simple models, the
# one that knows the token frequencies. When the first word is masked instead, the loss hardly
# changes.
#
# The value of ``<start>`` is hardly missed: when it is set to 0, the loss rises little. What is
# missed is a place to put weight. Weights sum to 1, so a query that finds no match still has to put
# its weight somewhere. If ``<start>`` is forbidden, the query gives more weight to other tokens and
# takes in values that it did not look for.
#
# This is also why the window failed without ``<start>``, and why :cite:t:`xiao2024efficient` keep
# the first tokens in the cache when they let a model write for longer than its window. The encoder
# of :doc:`another lesson </gallery/deeper/plot_6_real_model>` has an attention sink, too, and the
# values there add next to nothing. A learned sink in the softmax, or a gate behind the values, lets
# a head say nothing without such a token; :doc:`the lesson on variants
# </gallery/deeper/plot_9g_variants>` has both, in a line each.
#
# Limits
# ------
# The model has read eight million tokens, at most 128 at a time, and seldom gets further than one
# grammatical sentence. It was not trained to answer anybody. The places of its heads, layer by
# layer, are those of one training run, and another seed would put such heads elsewhere. Most
# systems that draw tokens do more than use a temperature: they also cut off the improbable tokens,
# by their rank or by their total probability. We left that out.
#
# Takeaways
# ---------
# - How can a model write when all that it has learned is to predict one token? By appending what it
#   drew and predicting again. One pass per text teaches it the token after every prefix, as long as
#   a causal mask hides the answers.
# - A loss in nats per token has a meaning only in comparison with the losses of other models on the
#   same texts, such as models that merely count, and only if all of them have the same tokenizer.
# - A temperature divides the logits. Here the text repeats itself at 0 and falls apart at 2.
# - An induction head continues a repetition. In this model it needs a head in an earlier layer that
#   marks each token with the one before; other mechanisms exist. Removing either head ends the
#   copying, and removing the earlier head also takes away the attention of the induction head.
# - Setting a head to 0 also takes away what it adds to all tokens alike. Of four more heads that
#   seemed to be needed for copying, three could be replaced by a constant, the mean of their
#   output.
# - Weight on the first token can be a way to attend to nothing. This model can do without the value
#   there, but not without the place.
#
# *From memory:* close this page and write the loop that draws a text from a model, with a
# temperature. Then describe a test with random tokens that finds the heads which copy.
#
# *Where next:* :doc:`let this model write </writer>` in the page, with the weights of all heads.
#
# You can now generate texts from a small model and show by removing a head what it does. The
# exercise to do next is to write :ref:`one step of decoding <ex-cached-step>`.

plt.show()

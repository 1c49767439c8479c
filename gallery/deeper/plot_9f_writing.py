r"""
A language model that writes: next tokens, temperature and induction heads
==========================================================================

How can a model write a text when all that it has learned is to predict one token?

By predicting again and again. The model gives every :term:`token` of its :term:`vocabulary` a
probability of coming next. A token is then drawn, appended, and read with the rest. Only attention
carries anything from one token to another, so all that the model knows about the earlier tokens was
brought by its heads. For some heads one can say what they do: some continue a repetition, and some
attend to the first token when nothing else matches.

The model of this page is small and has read nothing but film reviews. It knows how reviews sound
and nothing else, so do not believe what it writes. You need the lessons on :doc:`the transformer
block </gallery/core/plot_7_transformer_block>` and on :doc:`the KV cache
</gallery/deeper/plot_9c_cache>`. Reading takes forty minutes, and running the page about twenty
seconds. Afterwards you can draw text from a model at a chosen :term:`temperature`, judge a loss in
nats per token, find an induction head, and test by removing it whether the model needs it.
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
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, draw_matrices, use_style
from attention.sentiment.reviews import clean
from attention.sentiment.sources import load_reviews

torch.set_grad_enabled(False)
use_style()

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
# The model is a stack of causal :term:`transformer blocks <transformer block>` with :term:`rotary
# positions <RoPE>`. It gives each position a vector of :math:`d` numbers, and the products of this
# vector with the embeddings of all tokens are the :term:`logits <logit>` of the token that follows.
# The matrix E of embeddings therefore stands at both ends of the model, which is called *tied
# weights* :cite:p:`press2017using`. The model has the form of GPT-2 :cite:p:`radford2019language`
# but is far smaller. Its positions are rotary, every two heads share their keys and values
# (:term:`grouped queries <grouped-query attention>`), and its layers have no biases.

# sphinx_gallery_start_ignore


def draw_logits():
    """Draw how the last vectors and the embeddings make the logits."""
    fig, ax = plt.subplots(figsize=(5, 2.7))
    hidden, E = ("hidden", "(n, 80)", 2.4, 2, BLUE), ("Eᵀ", "(80, 2048)", 2, 5, ORANGE)
    ends = draw_matrices(ax, 0, (hidden, "·", E, "=", ("logits", "(n, 2048)", 2.4, 5, GREEN)))
    ax.set(xlim=(-0.2, ends[-1][1] + 0.2), ylim=(-1.6, 2.2))
    return fig


# sphinx_gallery_end_ignore
fig = draw_logits()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles in a row: hidden, (n, 80), times the wide Eᵀ, (80, 2048), are the logits, "
    "(n, 2048)."
)

# %%
# *Figure 1.* The shapes at the end of the model, not drawn to scale. Each row of the logits becomes
# a probability for each of the 2,048 tokens by a softmax.

prompt = "The acting was"
ids = encode(tokenizer, prompt)
n = len(ids)
print([tokenizer.id_to_token(i) for i in ids])
probabilities = model(torch.tensor(ids)).softmax(dim=-1)  # (n, vocabulary)
for probability, i in zip(*probabilities[-1].topk(6), strict=True):
    print(f"{probability:.3f} {tokenizer.decode([i.item()])!r}")

# %%
# A token is a word with the space before it (``Ġ``), or a piece of a rarer word, because the
# tokenizer is a byte-pair encoding :cite:p:`sennrich2016neural` that can spell any text. The token
# ``<start>`` precedes every text, so that the first word is predicted from something, too.
#
# One pass predicts the token after every prefix of the text, and the causal mask keeps each
# prediction from seeing its answer. A text of n tokens after ``<start>`` is therefore n examples at
# once, and what training lowers is the mean :term:`cross-entropy` over all of them, in nats per
# token:
#
# .. math:: \mathrm{loss} = -\frac1n \sum_{i=1}^{n} \ln p(\mathrm{id}_i \mid \mathrm{id}_0, \dots,
#           \mathrm{id}_{i-1})
#
# What is a good loss? We take 150 passages, which are the beginnings of reviews that were not used
# for training, and measure the loss of our model and of three simpler models that need no
# attention. The first takes all tokens as equally likely. The second takes each as likely as it was
# in 3,000 reviews, and the third as likely as it was in those reviews after the same preceding
# token (a *bigram model*, smoothed towards the second). Our model was trained on more text than
# these 3,000 reviews, on about seven times as many tokens.

reviews = load_reviews("imdb")


def read(split, count):
    """Return the ids of reviews, with single spaces between the words."""
    return [encode(tokenizer, " ".join(clean(t).split())) for t in reviews[split].texts[:count]]


passages = [review[:length] for review in read("validation", 400) if len(review) >= length][:150]
held_out = torch.tensor(passages)  # (150, 128)
pairs = torch.zeros(vocabulary, vocabulary)  # (2048, 2048)
for review in map(torch.tensor, read("train", 3000)):
    pairs.index_put_((review[:-1], review[1:]), torch.tensor(1.0), accumulate=True)
single = (pairs.sum(dim=0) + 1) / (pairs.sum() + vocabulary)  # (2048,)
behind = (pairs + 100 * single) / (pairs.sum(dim=1, keepdim=True) + 100)  # (2048, 2048)


def losses(model, ids, mask=None):
    """Compute the cross-entropy of every next token, in nats."""
    hidden = model.encoder(model.embedding(ids), mask, is_causal=True)  # (..., n, d)
    logits = hidden[..., :-1, :] @ model.embedding.weight.T  # (..., n - 1, vocabulary)
    return F.cross_entropy(logits.movedim(-1, 1), ids[..., 1:], reduction="none")


before, after = held_out[:, :-1], held_out[:, 1:]  # (150, 127), (150, 127)
per_token = losses(model, held_out)  # (150, 127)
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
# likely tokens has the same loss. Both numbers depend on the tokenizer and on the texts, so two
# models can be compared only if they read the same texts and cut them into the same tokens. The
# model was trained once, by a command that takes a long time, and the page reads the files that
# this command left:

training = json.loads((folder / "results.json").read_text(encoding="utf-8"))
print("made by:", training["origin"]["command"], "in", training["cpu_seconds"] // 60, "minutes")
print(f"parameters: {training['parameters']:,}, {L} layers of {h} heads")
print(f"read: {training['tokens']['train']:,} tokens of {training['words']['train']:,} words")

# %%
# Drawing a text
# --------------
# Dividing the logits by a :term:`temperature` before the softmax changes how much is left to
# chance. Below 1 the likely tokens become likelier, and above 1 the tokens become more equal. One
# can't divide by 0, so a temperature of 0 stands for always taking the likeliest (greedy decoding):
#
# .. math:: p_i = \mathrm{softmax}(\mathrm{logits} / \mathrm{temperature})_i

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
# At 0 the text is the same each time, and soon repeats itself. This model's training may have added
# to the repetition, as we shall see. At 2, most of the tokens that are drawn are improbable ones,
# because there are so many of these, and soon the model reads a text unlike any that it was trained
# on. In between lies what one usually wants, which is a matter of taste, so a temperature is chosen
# by reading and not by the loss. ``continuation`` computes one row per token with a :term:`KV
# cache`, and ``python -m attention.write`` does the same from the command line.
#
# How far back it reads
# ---------------------
# Do earlier tokens help at all? We let each token see itself and the w − 1 tokens before it, by a
# mask, and measure the loss of the second half of each passage. In the second column ``<start>``
# stays visible to all tokens as well. The window applies in each layer, and what a token has
# gathered in one layer can be read by other tokens in the next, so that in 4 layers something may
# come from 4(w − 1) tokens back. This is a test of what the trained model uses; a model trained
# with such a window might use it better.

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
# The first column holds a surprise, which has little to do with how far back the model reads:
# without ``<start>`` this model fails, even if it sees 64 tokens. :cite:t:`xiao2024efficient` found
# that large models fail as well when a window leaves their first tokens behind, and the section on
# the first token comes back to this. The second column shows how much the earlier tokens help: the
# nearest eight of them already give the model most of what it gains from all of them. The loss at
# each position, which Figure 2 will show, says the same: it falls within the first few tokens and
# then stays level. But a longer memory is worth a great deal where a text repeats itself. Reviews
# rarely do. For the model to learn it all the same, a quarter of the training sequences repeat a
# piece of 8 to 64 tokens until the sequence is full. We compare the loss at each position of our
# 150 passages with the loss on their first 63 tokens, read twice in a row:

first = held_out[:, 1:64]  # (150, 63)
start = held_out[:, :1]  # (150, 1)
twice = torch.cat([start, first, first], dim=1)  # (150, 127)
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
# *Figure 2.* Mean loss at each position over 150 passages; the repetition begins at the dotted
# line. Its first token is a surprise, and from the second on the model continues what it has read.
#
# Who copies? A test with random tokens
# -------------------------------------
# The repeated reviews mix two things, copying and knowing how reviews usually continue. Tokens
# drawn at random separate the two, since only copying can predict them when they come for the
# second time. We draw 32 such texts, each of 60 random tokens that come twice. For each head we
# average, over the second halves of these texts, the weight on three places: the token just before,
# the first token of the text, and the token *after the earlier occurrence* of the token that is
# being read. The last is what has to be copied.

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
# An :term:`induction head` :cite:p:`elhage2021mathematical,olsson2022context` that has read "… A B
# … A" attends from the second A to B, as the head with much weight in the last map does, and makes
# B likelier as the next token. How does the query at the second A find B? In the models that
# :cite:t:`elhage2021mathematical` took apart, it does so by B's key. That key is made from the
# vector at B, to which a head in an earlier layer has added information about the token before it.
# In our model this would be the head with much weight in the first map. The key at B then says
# "after A", which is what the query asks for. A single layer could not do this, because there the
# key knows of B alone.
#
# Removing the heads
# ------------------
# If this is how it works, then removing either head must end the copying, and removing the earlier
# one must also end the *attention* of the induction head, which then has nothing to find B by. We
# remove each head of the model in turn, by setting its columns of W_out to 0, so that nothing from
# it reaches the next layer. Beside the losses we measure the *copying weight*, which is the
# mean weight of the induction head on the token that has to be copied. Where no copying is left,
# the loss should be about that of the first half, where nothing can be copied.


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
            losses(changed, held_out[:50]).mean(),
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
# *Figure 4.* What remains of copying when one head is removed, for each head by itself. The numbers
# with all heads are in the first row of the table above.
#
# The losses are in nats per token. When either of the two heads is removed, the copying ends, and
# the loss is about that of the first half. Both losses are above ln 2048 ≈ 7.62, that of a uniform
# guess, because the model expects what would be likely in a review. When the induction head is
# removed, its attention weights stay as they were, because nothing that it reads has changed; only
# its output is lost. When the other head is removed, the one that attends to the token before, the
# induction head loses its attention weights as well.
#
# Four heads of the first three layers attend neither to the token before nor to the token to be
# copied, and yet removing any one of them lowers the copying weight, too. Do they take part?
# Setting a head to 0 also takes away what it adds to all tokens alike, which the later layers were
# trained with. So we take each of the six heads, these four and the two above, and replace its
# output by the mean of its output over all tokens of these texts, a constant that does not depend
# on what the head reads.


def averaged(layer, head):
    """Return a copy of the model in which a head hands over its mean over the first texts read."""
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
# and not for what they read. By this stricter test, three heads are still needed: the induction
# head, the head that attends to the token before, and the fourth of these four. What this fourth
# head reads that helps the copying is not yet known. To find out, one would have to trace what it
# hands to whom.
#
# On reviews the induction head is worth little, and this is why a quarter of the training sequences
# repeat a piece: the first model that we trained for this page, of another shape and trained on
# fewer sequences, had read reviews alone, and none of its heads copied. :cite:t:`olsson2022context`
# find that in larger models, trained on more text, such heads form by themselves.
#
# If the loss on the random texts rises without a head, this model needs what the head hands over
# there, even if that is only a constant. If the loss does not rise, the head may work all the same:
# another may replace it, and then removing one alone shows nothing.
#
# What the first token is for
# ---------------------------
# The heads of the last layer attend strongly to ``<start>``, although it says nothing about the
# text: under the causal mask its position sees itself only, so its key and its value are the same
# in every text. Such a place is called an :term:`attention sink` :cite:p:`xiao2024efficient`. We
# try to do without ``<start>`` in two ways. If its value is set to 0, later tokens may still attend
# to it, but take nothing from it; if its position is masked, their weight has to go to other
# tokens. The position of ``<start>`` itself goes on reading its own value, because otherwise its
# vector would change, and its keys in the later layers with it.

_, weights = model(held_out[:50], need_weights=True)  # (50, 128, vocabulary), (L, 50, h, 128, 128)
on_start = weights[:, :, :, 16:, 0].mean(dim=(1, 3))  # (L, h)
print("mean weight on <start> from the 16th token on:")
for layer, row in enumerate(on_start.tolist()):
    print(f"layer {layer}:", *(f"{weight:6.2f}" for weight in row))


def with_value_zero(place):
    """Measure the loss when later tokens take a value of 0 from a position, in all layers."""

    def clear(module, inputs, output):
        return output.index_fill(-2, torch.tensor(place), 0)

    kept = model.embedding(held_out)  # (150, 128, d)
    cleared = kept
    for block in model.encoder.blocks:
        kept = block(kept, is_causal=True)  # (150, 128, d)
        hook = block.attention.W_value.register_forward_hook(clear)
        cleared = block(cleared, is_causal=True)  # (150, 128, d)
        hook.remove()
        cleared[:, place] = kept[:, place]  # the position itself is as it was
    hidden = model.encoder.norm(cleared)[:, :-1]  # (150, 127, d)
    logits = hidden @ model.embedding.weight.T  # (150, 127, vocabulary)
    loss = F.cross_entropy(logits.movedim(-1, 1), held_out[:, 1:], reduction="none")  # (150, 127)
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
# the loss rises by more than the model's whole advantage over token frequencies (the second of the
# simple models), whereas masking the first word instead hardly matters.
#
# The value is hardly missed: when it is set to 0, the loss rises little. What is missed is the
# place. Weights sum to 1, so a query that finds no match has to put its weight somewhere, and where
# ``<start>`` is forbidden, the query gives more weight to other tokens and takes in values that it
# did not look for.
#
# This is also why the window failed without ``<start>``, and why :cite:t:`xiao2024efficient` keep
# the first tokens in the cache when they let a model write for longer than its window. In the
# encoder of :doc:`another lesson </gallery/deeper/plot_6_real_model>`, too, the values at such a
# place add next to nothing.
#
# Limits
# ------
# The model has read eight million tokens, at most 128 at a time, and seldom gets further than one
# grammatical sentence. It was not trained to answer anybody. The places of its heads are those
# of one training run, and another seed would put them elsewhere. For drawing, we left out what most
# systems add to a temperature, which is to cut off the improbable tokens, by their rank or by their
# total probability.
#
# Takeaways
# ---------
# - How can a model write when all that it has learned is to predict one token? By appending what it
#   drew and predicting again. One pass per text teaches it the token after every prefix, as long as
#   a causal mask hides the answers.
# - A loss in nats per token has a meaning only in comparison: with the loss of models that merely
#   count, and with that of models that have the same tokenizer.
# - A temperature divides the logits. Here the text repeats itself at 0 and falls apart at 2.
# - An induction head continues a repetition, and needs a head in an earlier layer that marks each
#   token with the one before. Removing either ends the copying, and removing the earlier one also
#   takes the induction head's attention away.
# - Setting a head to 0 also takes away what it adds to all tokens alike. Of four more heads that
#   seemed to be needed for copying, three could be replaced by their mean.
# - Weight on the first token can be a way to attend to nothing. This model can do without the value
#   there, but not without the place.
#
# *Practise:* :doc:`/exercises/today`.
#
# *Where next:* the :doc:`playground </playground>`, where this model writes in the page, with the
# weights of all its heads.

plt.show()

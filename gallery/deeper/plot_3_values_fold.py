"""
.. lesson:: The value matrix
   :minutes: 20
   :extra: train
   :needs: deeper/plot_1 deeper/plot_2

The value matrix: when it folds into the classifier
===================================================

When does the value matrix of an attention layer do anything?

It does nothing if only the mean of the contexts and a linear classifier follow, because it then
disappears into the classifier. It has an effect only if several linear paths follow, or a
nonlinearity without a linear map in front of it. With several heads or a residual connection, one
vector per path is enough to replace the matrix. With a nonlinearity the whole matrix is needed,
unless a linear map stands between the values and the nonlinearity: that map absorbs the matrix.

You need the lesson on :doc:`low rank </gallery/deeper/plot_1_low_rank_qk>`, which regroups the
product of queries and keys by moving its brackets, as this page does for the values, and the lesson
on :doc:`gauge and biases </gallery/deeper/plot_2_gauge_and_biases>`. Running the page takes seven
seconds. Afterwards you can say for a given architecture whether its value matrices fold away, and
you can test such a claim without relying on one particular way of folding them.
"""

import matplotlib.pyplot as plt
import torch
from torch.nn import functional as F

from attention import SelfAttention, SentimentClassifier
from attention.analysis import parameter_count
from attention.plotting import BLACK, BLUE, ORANGE, VALUE, WEIGHT, draw_matrices, use_style

use_style()
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def error(got, expected):
    """Return the size of the difference, relative to the size of what was expected."""
    return ((got - expected).norm() / expected.norm()).item()


# %%
# Three sums in a row
# -------------------
# The model of this page, the last one of :ref:`Lab 13 <source-lab>`, classifies a review. After the
# softmax has made the weights :math:`a_{ij}`, this model only adds up: values into :term:`context
# vectors <context vector>`, contexts into their mean, and the mean into a :term:`logit`, which is
# the number that a sigmoid turns into a probability.
#
# .. math:: \mathrm{logit}
#           = \Big(\frac1n \sum_{i,j} a_{ij}\, x_j W_\mathrm{value}\Big) \cdot w + b
#           = \Big(\frac1n \sum_{i,j} a_{ij}\, x_j\Big) \cdot (W_\mathrm{value}\, w) + b
#
# Here w is the vector of the classifier and b its bias.

# sphinx_gallery_start_ignore


def draw_sums():
    """Draw the logit as a product of matrices, and what the last two become."""
    fig, ax = plt.subplots(figsize=(5, 2.3))
    mean, logit = ("", "(1, n)", 0.7, 3, "0.25"), ("", "(1, 1)", 0.6, 0.6, "0.25")
    weights, X = ("weights", "(n, n)", 3, 3, WEIGHT), ("X", "(n, d)", 3, 2, BLACK)
    W_value, w = ("W_value", "(d, d)", 2, 2, VALUE), ("w", "(d, 1)", 2, 0.6, BLACK)
    parts = (mean, "·", weights, "·", X, "·", W_value, "·", w, "=", logit)
    ends = draw_matrices(ax, 0, parts)
    ax.text(1.5, 0, "1/n … 1/n", ha="center", va="center", fontsize=9)
    ax.text(sum(ends[-1]) / 2, -0.5, "logit", ha="center", va="top", fontsize=9)
    left, right = ends[3][0], ends[4][1]
    ax.plot([left, left, right, right], [-1.2, -1.4, -1.4, -1.2], color=BLACK, lw=1.2)
    ax.text((left + right) / 2, -1.55, "one vector (d, 1)", ha="center", va="top", fontsize=10)
    ax.set(xlim=(-0.2, ends[-1][1] + 0.5), ylim=(-2.2, 2.3))
    return fig


# sphinx_gallery_end_ignore
fig = draw_sums()  # its drawing commands are in the script of this page
fig.set_label(
    "Rectangles to scale: a row of n numbers 1/n, (1, n), times the weights, (n, n), times X, "
    "(n, d), times the square W_value, (d, d), times the column w, (d, 1), is one number, the "
    "logit. A bracket under W_value and w says: one vector, (d, 1)."
)

# %%
# *Figure 1.* The logit, apart from the biases, as a product of five matrices. The row on the left
# takes the mean over the tokens. The value matrix and the classifier's w are neighbours, so one
# vector can replace both.
#
# The function below turns a model with queries, keys and values into a model without values that
# has the same logits. A linear layer of torch holds its matrix transposed, so
# :math:`W_\mathrm{value}\, w` is the weight of the classifier times that of the values. We check
# this on 64 random texts:


def fold_values(model):
    """Return a classifier without values that has the same logits."""
    values, classifier = model.attention.W_value, model.classifier
    config = model.config.replace(attention="qk")
    state = {name: p for name, p in model.state_dict().items() if "W_value" not in name}
    state["classifier.weight"] = classifier.weight @ values.weight  # (1, d)
    state["classifier.bias"] = classifier.bias + classifier.weight @ values.bias  # (1,)
    folded = SentimentClassifier(model.vocab_size, config)
    folded.load_state_dict(state)
    return folded


d, k = 16, 8
model = SentimentClassifier(1_000, embed_dim=d, attention="qkv", key_dim=k, bias=True)
folded = fold_values(model)
ids = torch.randint(3, 1_000, (64, 20))  # (64, 20)
lengths = torch.randint(1, 21, (64,))  # (64,)
print(
    f"logits of both models: relative error {error(folded(ids, lengths), model(ids, lengths)):.0e}"
)
assert error(folded(ids, lengths), model(ids, lengths)) < 1e-12
for kind in ("qkv", "qk"):
    count = parameter_count(kind, d, key_dim=k)
    print(f"{kind:3}: {count} parameters in the attention, without biases")

# %%
# The :term:`bias` of the values folds, too: it adds the same vector to every value, and since the
# weights of each query sum to 1, it adds that vector to every context.
#
# .. admonition:: What went wrong: a redundancy, unnoticed
#    :class: warning
#
#    :ref:`Lab 13 <source-lab>` rightly argues, of a model with a single query q, that the key
#    matrix times this query, :math:`K q`, is one vector, so that keys add nothing there. The last
#    cell, ``Net_SelfAttention``, then learns a d × d matrix :math:`W_\mathrm{value}` that is only
#    ever used as the vector :math:`W_\mathrm{value} w`, so the same argument applies to it. The
#    section "Introducing Values" says of a value that it "represents the *content*" a token offers.
#    In this model that content is one number per token, :math:`x_j \cdot (W_\mathrm{value} w)`.
#
# What keeps a value matrix from folding?
# ---------------------------------------
# To find out whether a change to the model prevents folding, it is not enough to try one way of
# folding and give up. We have to ask whether *any* classifier can match the logits. So we take the
# values away, leave queries, keys and everything else as they are, and give the classifier the best
# vector and bias that exist. Without values, each text reaches the classifier as a single feature
# vector, so the best vector and bias are the solution of a least-squares problem, which can be
# computed exactly. What is left over after this fit is the share of the logits that no such model
# can produce.

n, TEXTS = 12, 2_000
x = torch.randn(TEXTS, n, d)  # (TEXTS, n, d)


def left_over(logits, features):
    """Return what no vector and bias on these features can explain, as a share of the logits."""
    width = features.shape[1] + 1
    design = torch.ones(TEXTS, width)  # (TEXTS, width), the last column for the bias
    design[:, :-1] = features
    best = torch.linalg.lstsq(design, logits[:, None]).solution  # (width, 1)
    return error(design @ best, logits[:, None])


def head():
    """Make one head and return its weights and values for all texts."""
    layer = SelfAttention(d, key_dim=k)
    with torch.no_grad():
        layer.W_query.weight.mul_(3)
        _, weights = layer(x, need_weights=True)  # (TEXTS, n, d), (TEXTS, n, n)
        return weights, layer.W_value(x)  # (TEXTS, n, n), (TEXTS, n, d)


w = torch.randn(d)  # (d,)
weights, values = head()  # (TEXTS, n, n), (TEXTS, n, d)
context, plain = weights @ values, weights @ x  # (TEXTS, n, d), (TEXTS, n, d)
shares = {"mean and classifier": left_over(context.mean(1) @ w, plain.mean(1))}

# %%
# This first model has the mean and the classifier of Lab 13. Each of the following models differs
# from it by one change.
#
# **An output projection**, :math:`\mathrm{context}\, W_\mathrm{out}`, as in every transformer, is
# one more matrix in the product. :cite:t:`elhage2021mathematical` call the product
# :math:`W_\mathrm{value} W_\mathrm{out}` of a head its *OV circuit*, and here it folds as a whole:

W_out = torch.randn(d, d)  # (d, d)
shares["output projection"] = left_over((context @ W_out).mean(1) @ w, plain.mean(1))

# %%
# **Two heads** have weights and values of their own, and their contexts are added up. Without the
# values one vector has to serve both heads:

weights_2, values_2 = head()  # (TEXTS, n, n), (TEXTS, n, d)
context_2, plain_2 = weights_2 @ values_2, weights_2 @ x  # (TEXTS, n, d), (TEXTS, n, d)
two = (context + context_2).mean(1) @ w  # (TEXTS,)
shares["two heads"] = left_over(two, (plain + plain_2).mean(1))

# %%
# Folding fails here, but a *vector* per head is enough to restore the logits. Values let heads
# differ in what they pass on, but with this classifier each head's value matrix matters only
# through one vector.

both = torch.cat([plain.mean(1), plain_2.mean(1)], dim=1)  # (TEXTS, 2 * d)
shares["two heads, two vectors"] = left_over(two, both)

# %%
# **A** :term:`residual connection`, :math:`x_i + \mathrm{context}_i`, lets the classifier's w act
# on the tokens directly, and on the mixed tokens after the value matrix. Without values, w reads
# tokens and contexts alike, and again two vectors would do, one for each:

residual = (x + context).mean(1) @ w  # (TEXTS,)
shares["residual"] = left_over(residual, (x + plain).mean(1))
apart = torch.cat([x.mean(1), plain.mean(1)], dim=1)  # (TEXTS, 2 * d)
shares["residual, two vectors"] = left_over(residual, apart)

# %%
# **A nonlinearity** may come between the contexts and their mean, or between the mean and the
# classifier. Brackets can't be moved past a nonlinearity, so the argument ends there. To show this,
# we first take only the values away. The :term:`ReLU` stays, and it now acts on plain contexts,
# which mix the tokens themselves. In two more cases we take the ReLU away as well, while the logits
# that have to be matched keep theirs.
#
# .. predict:: features-with-a-relu
#
#    Without the values, which features explain more of these logits?
#
#    Those with the ReLU, like the logits : ``[*shares.values()][-4] < [*shares.values()][-2]``
#        This ReLU acts on plain contexts, and so bends at other places than that of the logits.
#    Those without the ReLU : ``[*shares.values()][-4] > [*shares.values()][-2] > 0.1``
#        The plain mean explains more, though far from all.
#    Either explain all of them : ``[*shares.values()][-4] < 1e-6``
#        Brackets can't be moved past a ReLU, so the best vector misses something.

before, after = F.relu(context).mean(1) @ w, F.relu(context.mean(1)) @ w  # (TEXTS,), (TEXTS,)
shares["ReLU before the mean"] = left_over(before, F.relu(plain).mean(1))
shares["ReLU after the mean"] = left_over(after, F.relu(plain.mean(1)))
shares["… and no ReLU, before"] = left_over(before, plain.mean(1))
shares["… and no ReLU, after"] = left_over(after, plain.mean(1))
for name in list(shares)[-4:]:
    print(f"{name:22} left over {shares[name]:.2f}")

# %%
# More is left over with the ReLU in place than without it, so features with a ReLU explain less of
# the logits than the mean of the plain contexts does. Either way a large part of the logits is
# missing. In models of today an :doc:`output gate </gallery/deeper/plot_9g_variants>` plays this
# part: the sigmoid that multiplies a context depends on the token of the query.
#
# **A** :term:`feed-forward layer` also has a nonlinearity, but begins with a matrix of its own,
# :math:`\mathrm{ReLU}(\mathrm{context}\, W_1)\, W_2`. This matrix stands between the values and the
# ReLU and can absorb the value matrix: with :math:`W_\mathrm{value} W_1` in place of :math:`W_1`,
# nothing is left over on the plain contexts. If :math:`W_1` has to stay as it is, much is.

W_value = torch.linalg.lstsq(x.reshape(-1, d), values.reshape(-1, d)).solution  # (d, d)
W_1, W_2 = torch.randn(d, 4 * d), torch.randn(4 * d, d)  # (d, 4 * d), (4 * d, d)
fed = (F.relu(context @ W_1) @ W_2).mean(1) @ w  # (TEXTS,)
shares["feed-forward layer"] = left_over(fed, (F.relu(plain @ W_1) @ W_2).mean(1))
absorbing = F.relu(plain @ (W_value @ W_1)) @ W_2  # (TEXTS, n, d)
shares["feed-forward layer, W_1 absorbs"] = left_over(fed, absorbing.mean(1))

# %%
# **Another pooling** may replace the mean. Taking the context of the last token is as linear as
# taking a mean, so the values fold. The *maximum* over the tokens is not linear. Neither is
# attention pooling with one learned query, which uses the contexts twice, once to compute their
# weights and once to mix them.

shares["last token's context"] = left_over(context[:, -1] @ w, plain[:, -1])
shares["maximum over tokens"] = left_over(context.amax(1) @ w, plain.amax(1))
q = torch.randn(d)  # (d,)
of_context = torch.softmax(context @ q, dim=-1)[:, None]  # (TEXTS, 1, n)
pooled = (of_context @ context)[:, 0]  # (TEXTS, d)
same_query = torch.softmax(plain @ q, dim=-1)[:, None]  # (TEXTS, 1, n)
shares["attention pooling"] = left_over(pooled @ w, (same_query @ plain)[:, 0])

# %%
# Attention pooling is a special case, because the values can be folded into its query as well as
# into the classifier. With the query :math:`W_\mathrm{value}\, q` on the plain contexts, nothing is
# left over:

folded_query = torch.softmax(plain @ (W_value @ q), dim=-1)[:, None]  # (TEXTS, 1, n)
shares["attention pooling, query folded"] = left_over(pooled @ w, (folded_query @ plain)[:, 0])

# %%
# All cases together:

folds = [name for name, share in shares.items() if share < 1e-10]
for name, share in shares.items():
    print(f"{name:32} {share:.0e}  {'folds' if name in folds else 'values count'}")
counting = {"two heads", "residual", "ReLU before the mean", "ReLU after the mean"}
counting |= {"… and no ReLU, before", "… and no ReLU, after", "feed-forward layer"}
assert counting == set(shares) - set(folds) - {"maximum over tokens", "attention pooling"}

# %%

fig, ax = plt.subplots(figsize=(5, 4.4))
names = list(shares)[::-1]
colours = [BLUE if name in folds else ORANGE for name in names]
ax.barh(names, [max(shares[name], 1e-17) for name in names], color=colours, left=1e-17)
ax.set(xscale="log", xlim=(1e-17, 10), xlabel="share of logits left over", xticks=(1e-16, 1e-8, 1))
fig.set_label(
    "Horizontal bars on a logarithmic axis: how much of the logits is left over without a value "
    "matrix. Blue bars end near ten to the minus fifteen, which is rounding: mean and classifier, "
    "an output projection, the last token's context, and every case with a vector for each part. "
    "Orange bars reach a few tenths: two heads, residual, ReLU, maximum, attention pooling."
)

# %%
# *Figure 2.* The share of the logits that is left over without a value matrix. Blue bars are no
# more than rounding, so the values fold away there. Orange bars are more than rounding, so there
# the values count.
#
# The exact condition
# -------------------
# The cases follow a rule: if everything after the values is *linear in them*, the values of a head
# fold into one vector per linear path from that head to the logit.
#
# - With one path the values vanish, as in Lab 13's model, with or without an output projection.
# - With several paths to the logit (several heads, or a residual connection past the head) one
#   vector per path must stay, and nothing more is needed.
# - With a nonlinearity that reads the values directly, the value matrix can't be removed while the
#   rest stays as it is. If a linear map stands between the values and the nonlinearity, that map
#   can absorb it. Such a map may be an output projection, the first matrix of a feed-forward layer
#   or the query of an attention pooling. Only the product of the two matters, so they have a
#   :term:`gauge` freedom like that of queries and keys. (Behind a residual connection the map reads
#   the tokens, too; then it would have to be two maps, as there are two paths.)
#
# For *two* classes the classifier is one vector, while for C classes w has C columns, and the
# values fold into d × C numbers.
#
# Whether a redundant value matrix does harm is another question. Models with it and without it can
# compute the same functions, but their training takes different paths, just as with the keys of
# :ref:`the first page <sphx_glr_gallery_deeper_plot_1_low_rank_qk.py>`. The next page measures what
# the value matrix does on real reviews.
#
# Takeaways
# ---------
# - When does the value matrix do anything? Not under mean pooling and a linear classifier, which
#   turn it into one vector without any error.
# - An output projection folds together with the value matrix, whereas several heads, or a residual
#   connection, need one vector per path.
# - A nonlinearity after the values, with everything else left as it is, makes the *matrix* count.
#   If a linear map comes first, as in a feed-forward layer, that map can absorb the matrix.
#
# *From memory:* close this page and write down a model whose value matrix folds and one whose value
# matrix counts. Then show both with random texts, by the best classifier on contexts without
# values.
#
# *Where next:* :doc:`the lesson on rank after training </gallery/deeper/plot_4_rank_on_reviews>`,
# for what rank and values are worth on real reviews.
#
# You can now decide whether a value matrix does anything in a given model, and test it by least
# squares. The exercise to do next is the one on :ref:`folding the keys <ex-fold-keys>`, in which
# the same move of brackets takes a matrix away.

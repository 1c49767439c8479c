"""
.. lesson:: The attention layer
   :minutes: 50
   :extra: plot
   :needs: core/plot_1
   :exercises: sentence
   :tasks: global-width run-order typed-decimals all-at-once copy-layer
   :search: nn.Linear; attention layer; PyTorch module

The attention layer as a PyTorch module: two classes, one function
==================================================================

How does a formula become a layer that can be trained?

A layer is the formula together with the numbers that are learned. In PyTorch a layer is a subclass
of ``nn.Module``. We write it twice, with three bare matrices and with three ``nn.Linear``, and show
that the two classes are one function.

The first reading takes eight minutes, and the whole page fifty. You need the function from
:doc:`the first lesson </gallery/core/plot_1_qkv_derivation>`. Running the page takes ten seconds.
"""

import math
import time
import warnings

import matplotlib.pyplot as plt
import torch
from torch import nn

import attention
from attention import scaled_dot_product_attention
from attention.plotting import (
    BLACK,
    BLUE,
    KEY,
    ORANGE,
    QUERY,
    VALUE,
    draw_box,
    draw_flow,
    draw_matrices,
    tint,
    use_style,
)

use_style()

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

# %%

# sphinx_gallery_start_ignore
# The page shows times that were measured while it was built, so nothing else runs then:
# sphinx_gallery_parallel = False


def draw_layer():
    """Draw which part of the layer makes which shape."""
    fig, ax = plt.subplots(figsize=(5, 5))
    ax.set(xlim=(0, 10), ylim=(9.6, 0))
    for x, name, color in ((1.6, "query", QUERY), (5, "key", KEY), (8.4, "value", VALUE)):
        draw_flow(ax, (5, 1), (x, 2.3))
        draw_box(ax, x, 2.9, f"W_{name}\n(d_in, d_out)", color)
        draw_flow(ax, (x, 3.6), (x, 4.5))
        draw_box(ax, x, 5.1, f"{name}\n(…, n, d_out)", color)
        draw_flow(ax, (x, 5.8), (5 + (x - 5) / 2, 6.8))
    draw_box(ax, 5, 0.5, "x   (…, n, d_in)", BLACK)
    draw_box(ax, 5, 7.3, "scaled_dot_product_attention", BLACK)
    draw_flow(ax, (5, 7.8), (5, 8.6))
    draw_box(ax, 5, 9.1, "context   (…, n, d_out)", BLACK)
    return fig


# sphinx_gallery_end_ignore
fig = draw_layer()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart. x of shape (…, n, d_in) goes into W_query, W_key and W_value, each (d_in, d_out), "
    "which make query, key and value, each (…, n, d_out). scaled_dot_product_attention makes the "
    "context of them, (…, n, d_out)."
)

# %%
# *Figure 1.* The layer with its shapes. The three matrices are all that is learned, since the
# function below them has no parameters. The dots in a shape stand for axes in front of the others:
# none for one sentence, one for a :term:`batch` of sentences.
#
# A class with three matrices
# ---------------------------
# A layer takes the vectors of n words and returns one context vector for each. ``nn.Module`` is the
# base class of all layers in torch. A layer's ``__init__`` runs once, when the layer is made, and
# creates the matrices; ``super().__init__()`` prepares the module for them. Each matrix is wrapped
# in ``nn.Parameter``, which tells torch that it is to be trained. ``forward`` computes with the
# matrices whenever the layer is called, as in ``layer(x)``.


# attention_from_scratch.py
class SelfAttentionV1(nn.Module):
    """Self-attention with three bare matrices, each (d_in, d_out)."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        query = x @ self.W_query  # (..., n, d_out)
        key = x @ self.W_key  # (..., n, d_out)
        value = x @ self.W_value  # (..., n, d_out)
        context, _ = scaled_dot_product_attention(query, key, value)
        return context  # (..., n, d_out)


# %%
# .. predict:: parameters-of-a-layer
#
#    We give a layer a fourth matrix, ``layer.plain = torch.rand(3, 2)``. How many matrices does
#    ``layer.parameters()`` list?
#
#    Three : ``len(listed) == 3``
#        A tensor that is not an ``nn.Parameter`` is not listed, so no optimiser would ever change
#        it.
#    Four : ``len(listed) == 4``
#        The module keeps the fourth matrix, but only an ``nn.Parameter`` is listed.
#    None, until the layer has been called : ``len(listed) == 0``
#        The matrices are listed from the moment when ``__init__`` stores them.

torch.manual_seed(123)
v1 = SelfAttentionV1(d_in=3, d_out=2)
layer = SelfAttentionV1(d_in=3, d_out=2)
layer.plain = torch.rand(3, 2)
listed = [name for name, _ in layer.named_parameters()]
print("parameters:", listed)
print(v1(x))

# %%
# The layer ``v1`` was made right after setting seed 123, which also drew the matrices of the first
# lesson, so its context vectors are the same as there.
#
# What torch does with a module
# -----------------------------
# The list of the :term:`parameters <parameter>` is given to an :term:`optimiser`, which takes the
# training steps. Plain gradient descent, ``SGD`` in torch, takes the step that the first lesson
# wrote by hand; :term:`Adam`, which later lessons use, also gives each number a step size of its
# own.

before = [parameter.detach().clone() for parameter in layer.parameters()]
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(x).square().mean().backward()
optimizer.step()
for old, new in zip(before, layer.parameters(), strict=True):
    assert torch.allclose(new, old - 0.1 * new.grad)
print("optimizer.step() is the step written by hand")

# %%
# Closer look: which way a gradient takes back to a matrix
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# The ``grad_fn`` at the end of the printed ``v1(x)`` says which operation made the tensor, here a
# matrix product. Each such operation also knows the operations before it, so one can walk back from
# the result, and this is how ``backward()`` finds the matrices. We walk back in the same way, and
# wherever the path branches, we follow the first branch.

node, trail = v1(x).grad_fn, []
while node is not None:
    trail.append(type(node).__name__)
    node = next((made_by for made_by, _ in node.next_functions if made_by), None)
print(" ← ".join(trail))

# %%

fig, ax = plt.subplots(figsize=(5, 5))
ax.set(xlim=(0, 10), ylim=(9.2, -0.7))
made = ("context", "weights", "scaled scores", "scores", "query", "W_query.grad")
for i, (name, operation) in enumerate(zip(made, trail, strict=True)):
    color = QUERY if "query" in name else BLACK
    ax.text(2.9, 1.7 * i, name, ha="right", va="center", color=color)
    draw_box(ax, 6.2, 1.7 * i, operation, color, width=6)
    if i:
        draw_flow(ax, (6.2, 1.7 * i - 1.2), (6.2, 1.7 * i - 0.5))
fig.set_label(
    "A column of six boxes joined by arrows from top to bottom, what was made at the left of each: "
    + ", ".join(f"{name} by {operation}" for name, operation in zip(made, trail, strict=True))
    + "."
)

# %%
# *Figure 1a.* The way of a gradient, from the result at the top to a matrix at the bottom. On the
# left is what each operation made.
#
# The path leads from the mixture of values through the softmax, the scale and the scores to the
# product that made the query. (The function that we import is the package's, which also checks its
# arguments and takes masks. It multiplies by :math:`1/\sqrt k`, hence ``MulBackward0``, where the
# function of the first lesson divides.) The path ends in ``AccumulateGrad``, where the gradient is
# added to the ``.grad`` of a parameter, here W_query.
#
# The same with nn.Linear
# -----------------------
# ``nn.Linear`` is a module that holds one matrix and multiplies by it. A module inside a module
# brings its parameters along, so ``layer.parameters()`` lists all three matrices of the class
# below. ``nn.Linear`` stores its matrix as ``weight``, of shape (d_out, d_in), and computes
# :math:`x W^\top`. With ``qkv_bias=True`` it also adds a :term:`bias`, a learned vector.


# attention_from_scratch.py
class SelfAttentionV2(nn.Module):
    """Self-attention with three nn.Linear, whose weights are (d_out, d_in)."""

    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        query = self.W_query(x)  # (..., n, d_out)
        key = self.W_key(x)  # (..., n, d_out)
        value = self.W_value(x)  # (..., n, d_out)
        context, _ = scaled_dot_product_attention(query, key, value)
        return context  # (..., n, d_out)


# %%

# Table: the contexts of both versions.
torch.manual_seed(789)
v2 = SelfAttentionV2(d_in=3, d_out=2)
context_v1 = v1(x).detach()  # (6, 2)
context_v2 = v2(x).detach()  # (6, 2)
print("version 1, seed 123:")
print(context_v1)
print("version 2, seed 789:")
print(context_v2)

# %%
# The two classes start with different random numbers, so they return different contexts. As
# *functions*, however, they are one, which is the point of exercise 3.1 of
# :cite:t:`raschka2024build`: we copy the matrices of version 1, transposed, into version 2 and
# compare again.

with torch.no_grad():
    v2.W_query.weight.copy_(v1.W_query.T)
    v2.W_key.weight.copy_(v1.W_key.T)
    v2.W_value.weight.copy_(v1.W_value.T)
context_copied = v2(x).detach()  # (6, 2)
print(context_copied)
print("largest difference from version 1:", (context_copied - context_v1).abs().max().item())
assert torch.allclose(context_copied, context_v1)

# %%

fig, axes = plt.subplots(1, 2, figsize=(5, 2.2))
matrices = {"version 1: W_query": v1.W_query, "version 2: W_query.weight": v2.W_query.weight}
for ax, (title, matrix) in zip(axes, matrices.items(), strict=True):
    for i, row in enumerate(matrix.tolist()):
        for j, number in enumerate(row):
            ax.add_patch(plt.Rectangle((j, -i), 1, 1, fc=tint(QUERY), ec="white", lw=2))
            ax.text(j + 0.5, 0.5 - i, f"{number:.2f}", ha="center", va="center")
    ax.set_title(title, fontsize=11)
    ax.set(xlim=(-0.1, 3.1), ylim=(-2.1, 1.1))
    ax.set_axis_off()
fig.set_label(
    "The same six numbers twice. On the left, the matrix of version 1, three rows of two; on the "
    "right, the weight of version 2, two rows of three. What is a row here is a column there."
)

# %%
# *Figure 2.* The query matrix of both versions after copying. ``nn.Linear`` holds the transpose,
# and multiplies by the transpose of what it holds.
#
# The bare matrix reads like the formula, while ``nn.Linear`` brings the bias, a start that suits
# training, and a form that tools for loading and quantising recognise. The later lessons use
# ``nn.Linear``.
#
# Closer look: whether the two classes differ in anything else
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# One of the documents that these lessons follow, :ref:`the notebook on trainable weights
# <source-notebook>`, says that "the outputs are different" because of the seeds and the
# initialisation. That is true, but it hides that the functions are the same. The weights of version
# 2 are written out here, in case the random generator should ever change.

# Check: does torch still draw them?
linear_weights = torch.tensor(
    [
        [[0.31605908, 0.45680857, 0.51183486], [-0.1682854, -0.33787704, -0.09177387]],
        [[0.40580583, -0.47042054, 0.2368052], [0.21336074, -0.26005065, -0.51054299]],
        [[0.25256988, -0.14147827, -0.19618134], [0.5191074, -0.08516758, -0.20432705]],
    ]
)  # (3, 2, 3)
drawn = torch.stack([W.weight.detach() for W in (v2.W_query, v2.W_key, v2.W_value)])  # (3, 2, 3)
same = torch.allclose(drawn, linear_weights, rtol=0, atol=1e-6)
print("torch", torch.__version__, "still draws these numbers from seed 789:", same)

# %%
# The package has both classes under the same names, with checks and masks. For a batch of five
# sentences of seven words, our classes return the same contexts as the package's, and every matrix
# gets the same gradient.

# Check: five sentences, in value and in gradient.
sentences = torch.randn(5, 7, 3)  # (5, 7, 3)
pairs = (
    (v1, attention.SelfAttentionV1(3, 2)),
    (v2, attention.SelfAttentionV2(3, 2)),
    (SelfAttentionV2(3, 2, qkv_bias=True), attention.SelfAttentionV2(3, 2, qkv_bias=True)),
)
for ours, packages in pairs:
    packages.load_state_dict(ours.state_dict())  # copies all parameters by their names
    results = [module(sentences) for module in (ours, packages)]
    for result in results:
        result.square().mean().backward()
    assert torch.allclose(*results)
    for own, other in zip(ours.parameters(), packages.parameters(), strict=True):
        assert torch.allclose(own.grad, other.grad, atol=1e-4)
    print(type(ours).__name__, "equals the package's, parameters:", len(list(ours.parameters())))

# %%
# We also compare their speed on the machine that built this page. Each of the two is timed twenty
# times, in turn with the other, and the shortest time of ``nn.Linear`` is divided by the shortest
# time of the bare product.


# Table: the best of twenty times.
def time_ratio(linear, W, rows):
    """Return the best time of nn.Linear in units of the best time of the bare product."""
    best = [math.inf, math.inf]
    for _ in range(20):
        for i, compute in enumerate((lambda: linear(rows), lambda: rows @ W)):
            start = time.perf_counter()
            for _ in range(10):
                compute()
            best[i] = min(best[i], time.perf_counter() - start)
    return best[0] / best[1]


for tokens, width in ((6, 3), (256, 256)):
    linear = nn.Linear(width, width, bias=False)
    W = torch.rand(width, width)  # (width, width)
    with torch.no_grad():
        ratio = time_ratio(linear, W, torch.rand(tokens, width))
    print(f"{tokens:3} words of width {width:3}: nn.Linear takes {ratio:.2f} × the bare product")

# %%
# Calling a module runs some Python before the product begins, and how much this matters depends on
# the sizes and on the machine. So these two ratios, from a single run, are no reason to prefer
# either class.
#
# Several sentences at once
# -------------------------
# A batch of sentences is a tensor (batch, words, width), and our layers work on it without any
# change. That they can do so depends on two details of the function: ``key.mT`` transposes the last
# two dimensions and leaves the batch alone, and the width is read from the last dimension, −1.

batched = torch.stack([x, x.flip(0)])  # (2, 6, 3), the second sentence is the first one reversed
context_batch = v1(batched)  # (2, 6, 2)
print("a batch through SelfAttentionV1:", tuple(context_batch.shape))
print("first sentence as if alone:", torch.allclose(context_batch[0], v1(x), atol=1e-6))

# %%
# Closer look: what goes wrong with ``keys.T`` and with ``shape[1]``
# ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# .. admonition:: What went wrong: ``keys.T``
#    :class: warning
#
#    :ref:`The blog post <source-blog>`, :ref:`the notebook <source-notebook>`,
#    :ref:`the chapter <source-chapter>` and :ref:`the lecture notes <source-notes>` write
#    ``queries @ keys.T``, which is right for the one sentence that they have.
#    (:ref:`Lab 13 <source-lab>` has batches, and transposes the last two dimensions.) On a batch,
#    ``.T`` reverses *all* dimensions, and (batch, words, width) becomes (width, words, batch).

torch.set_warn_always(True)  # torch warns of this only once per process otherwise
batch = torch.rand(4, 6, 3)  # (4, 6, 3)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")  # whatever this Python is set to do with warnings
    print("all dimensions reversed:", tuple(batch.T.shape))
    try:
        batch @ batch.T
    except RuntimeError as error:
        print("RuntimeError:", error)
print("UserWarning:", str(caught[0].message).split(". Consider")[0])

# %%
# An error, as here, is the lucky case. If batch, words and width happen to be the same number, all
# shapes fit, the code runs, and the scores mix sentences with each other.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the warning shown above
    cube = torch.rand(3, 3, 3)  # (3, 3, 3)
    wrong = cube @ cube.T  # (3, 3, 3)
right = cube @ cube.transpose(-2, -1)  # (3, 3, 3)
alone = cube[0] @ cube[0].T  # (3, 3)
torch.set_warn_always(False)
print("first sentence of the batch, .T       :", wrong[0].flatten()[:4])
print("first sentence of the batch, transpose:", right[0].flatten()[:4])
print("first sentence, computed alone        :", alone.flatten()[:4])
assert torch.allclose(right[0], alone)
assert not torch.allclose(wrong[0], alone)

# %%

fig, axes = plt.subplots(2, figsize=(5, 3.2))
owner = torch.arange(4)[:, None, None].expand(4, 6, 3)  # (4, 6, 3), each number's sentence
views = {
    ".mT: (batch, width, words)": owner.mT,
    ".T: (width, words, batch)": owner.permute(2, 1, 0),
}
for ax, (title, sheets) in zip(axes, views.items(), strict=True):
    for i, sheet in enumerate(sheets):
        for row, column in torch.cartesian_prod(*map(torch.arange, sheet.shape)).tolist():
            fill = (BLUE, ORANGE, "white", "0.6")[sheet[row, column]]
            corner = (8 * i + column, -row)
            ax.add_patch(plt.Rectangle(corner, 1, 1, fc=fill, ec=BLACK, lw=0.8))
    ax.set_title(title, loc="left", fontsize=11)
    ax.set(xlim=(-0.2, 30.2), ylim=(-5.2, 1.2), aspect="equal")
    ax.set_axis_off()
fig.set_label(
    "Keys of four sentences of six words and width 3, one colour per sentence. Above, for .mT: "
    "four tables of 3 by 6, each in one colour. Below, for .T: three tables of 6 by 4, each with "
    "one column of every colour."
)

# %%
# *Figure 2a.* The keys of four sentences, in one colour per sentence. Transposed in the last two
# dimensions (above), each table holds the keys of one sentence. With all dimensions reversed
# (below), every table mixes the four sentences.
#
# ``keys.transpose(-2, -1)``, or ``keys.mT`` for short, transposes the last two dimensions and
# leaves the others alone. The index of the width should also be counted from the end: it is −1, and
# not 1. :ref:`The lecture notes <source-notes>` leave open which of the two is right, in the line
# ``d_k = keys.shape[1]...-1???``. For one sentence, keys are (words, width), and both indices name
# the width. For a batch, however, ``shape[1]`` is the number of words. The code then still runs,
# but with a wrong scale that changes with the length of the sentence.

for words_now in (6, 60):
    keys = torch.rand(4, words_now, 2)  # (4, words_now, 2)
    print(f"{words_now:2} words: shape[1] = {keys.shape[1]:2}, shape[-1] = {keys.shape[-1]}")

# %%
# Closer look: where nn.Linear starts, and how large its first scores are
# -----------------------------------------------------------------------
# The random numbers with which a matrix starts are its :term:`initialisation`. An initialisation
# rule sets the :term:`variance` of these numbers: their mean squared distance from the mean, which
# says how far they scatter. Kaiming's rule sets the variance to :math:`2/d_\mathrm{in}`, and
# Xavier's rule to :math:`2/(d_\mathrm{in} + d_\mathrm{out})`. Both rules are chosen so that the
# values passed from layer to layer neither grow nor shrink much.
#
# :ref:`The notebook <source-notebook>` says "Kaiming/Xavier by default", and a look into torch's
# code seems to confirm the first name, since ``nn.Linear`` calls ``kaiming_uniform_``. This
# function draws uniformly between plus and minus
#
# .. math:: \sqrt{\frac{2}{1 + a^2}} \cdot \sqrt{\frac{3}{d_\mathrm{in}}} ,
#
# where the argument a is meant to be the slope, for negative numbers, of the :term:`activation
# function` after the layer. With a = 0 this is Kaiming's rule. But ``nn.Linear`` calls the function
# with ``a=√5``, for which the product collapses to :math:`1/\sqrt{d_\mathrm{in}}`. The numbers
# drawn are therefore uniform between :math:`\pm 1/\sqrt{d_\mathrm{in}}`, which is neither Kaiming's
# initialisation nor Xavier's. Their mean is 0 and their mean square is a third of the square of
# this bound, so their variance is :math:`1/(3 d_\mathrm{in})`.

d, key_dim = 512, 64
torch.manual_seed(0)
fresh = nn.Linear(d, key_dim, bias=False).weight  # (64, 512)
print(f"largest weight       {fresh.abs().max():.5f}")
print(f"1 / √d_in            {1 / math.sqrt(d):.5f}")
print(f"variance             {fresh.var():.3e}")
print(f"1 / (3 d_in)         {1 / (3 * d):.3e}")
print(f"Kaiming: 2 / d_in    {2 / d:.3e}")
print(f"Xavier: 2 / (d_in + d_out) = {2 / (d + key_dim):.3e}")

# %%

fig, ax = plt.subplots(figsize=(5, 3.2))
ax.hist(fresh.detach().flatten(), bins=60, density=True, color=BLUE, alpha=0.5, label="nn.Linear")
rules = (("1 / (3 d_in)", 1 / (3 * d), BLUE, "-"), ("Kaiming", 2 / d, ORANGE, "--"))
for name, rule, color, line in (*rules, ("Xavier", 2 / (d + key_dim), BLACK, ":")):
    end = math.sqrt(3 * rule)  # uniform numbers up to here have this variance
    ax.plot([-end, -end, end, end], [0, 0.5 / end, 0.5 / end, 0], line, color=color, label=name)
ax.set(xlabel="number in the matrix", ylabel="density")
fig.legend(loc="outside upper center", ncols=4, fontsize=9, columnspacing=1)
fig.set_label(
    "Densities of the numbers of a fresh matrix. Those of nn.Linear fill a box between plus and "
    "minus 0.044, drawn by the variance 1 / (3 d_in). The boxes of Kaiming's and of Xavier's rule "
    "are more than twice as wide, and lower."
)

# %%
# *Figure 2b.* The numbers of a fresh ``nn.Linear`` from 512 to 64, filled, and as lines the uniform
# distributions of the three variances. The numbers fit that of 1 / (3 d_in), and both other rules
# would let them scatter more than twice as far.
#
# The size of the scores follows from this variance by a rule that :doc:`the next lesson
# </gallery/core/plot_3_scaling_variance>` explains: for independent numbers of mean 0, the variance
# of a product is the product of the variances, and the variance of a sum is the sum of the
# variances. Let each word be a vector of :math:`d = d_\mathrm{in}` independent numbers of mean 0
# and variance 1. Each entry of a query is a sum of d products, each of variance :math:`1/(3d)`, so
# the variance of the entry is :math:`d \cdot 1/(3d) = 1/3`, and the same holds for a key. The
# product of two such entries has variance 1/9, and a score adds up k of these products, so its
# variance is :math:`k/9`. The division by :math:`\sqrt k` divides the variance by k, so a scaled
# score has variance 1/9. The root of the variance is the :term:`standard deviation` σ, which says
# how large a typical score is. For a scaled score, σ is therefore one third.
#
# We now measure σ for three ways to start. Beside it we print the *top weight*, the largest of the
# weights of one query, as the median over all queries.

tokens = torch.randn(2048, d)  # (2048, 512)


def scaled_scores(draw):
    """Score random tokens with a query and a key matrix from ``draw``."""
    query = tokens @ draw()  # (2048, 64)
    key = tokens @ draw()  # (2048, 64)
    return query @ key.T / math.sqrt(key_dim)


starts = {
    "torch.rand": lambda: torch.rand(d, key_dim),
    "variance 1/d": lambda: torch.randn(d, key_dim) / math.sqrt(d),
    "nn.Linear": lambda: nn.Linear(d, key_dim, bias=False).weight.detach().T,
}
spread = {}
for name, draw in starts.items():
    scores = scaled_scores(draw)  # (2048, 2048)
    top = torch.softmax(scores, dim=-1).amax(dim=-1)  # (2048,)
    spread[name] = scores.std().item()
    print(f"{name:13} σ of the scores {spread[name]:9.3f}   median top weight {top.median():.4f}")
print(f"theory for nn.Linear: {1 / 3:.3f}. All 2,048 weights equal: {1 / 2048:.4f}")

# %%
# Version 1 starts with ``torch.rand``, which still gives moderate attention weights if the vectors
# have 3 numbers. If they have 512, a typical query gives all its attention weight to one word. A
# start of variance 1/d gives scaled scores of standard deviation 1. The start of ``nn.Linear``
# gives a third of this, so the attention weights of a fresh layer made of ``nn.Linear`` are much
# nearer to equal.

fig, ax = plt.subplots(figsize=(5, 3.4))
for name, color in (("variance 1/d", ORANGE), ("nn.Linear", BLUE)):
    scores = scaled_scores(starts[name])  # (2048, 2048)
    sample = scores.flatten()[:20_000]  # (20000,)
    ax.hist(sample, bins=80, range=(-4, 4), density=True, color=color, alpha=0.5, label=name)
grid = torch.linspace(-4, 4, 200)  # (200,)
for sigma in (1, 1 / 3):
    curve = torch.exp(-0.5 * (grid / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))  # (200,)
    ax.plot(grid, curve, color="black", lw=1)
ax.set(xlabel="score, after the division by √k", ylabel="density")
ax.legend()
fig.set_label(
    "Histograms of scaled scores for two starts, normal curves drawn over them. With matrices of "
    "variance 1/d the standard deviation is 1, with nn.Linear's start it is one third."
)

# %%
# *Figure 2c.* Scaled scores of random words for two initialisations, with normal curves of standard
# deviation 1 and 1/3; the narrow one is that of ``nn.Linear``.
#
# Closer look: why GPT holds the three matrices as one
# ----------------------------------------------------
# Two numbers per context vector are good for drawing, but models like GPT have ``d_out = d_in``.
# The output then has the shape of the input, so it can be added to the input, and layers can be
# stacked, as :doc:`the lesson on the transformer block </gallery/core/plot_7_transformer_block>`
# does.
#
# Such models also hold the three matrices as one, which `GPT-2's code
# <https://github.com/openai/gpt-2/blob/master/src/model.py>`__ calls ``c_attn``. This matrix has
# one row for each number in the vector of a word, and three times as many columns: 768 and 3 · 768
# in the smallest model. One product with it makes query, key and value side by side, and the result
# is split into three chunks.

square = SelfAttentionV1(d_in=3, d_out=3)
c_attn = torch.cat([square.W_query, square.W_key, square.W_value], dim=-1)  # (3, 9)
query, key, value = (batched @ c_attn).chunk(3, dim=-1)  # (2, 6, 3), (2, 6, 3), (2, 6, 3)
fused, _ = scaled_dot_product_attention(query, key, value)  # (2, 6, 3), (2, 6, 6)
print("largest difference:", (fused - square(batched)).abs().max().item())
assert torch.allclose(fused, square(batched))
print("can be added to x:", (batched + fused).shape == batched.shape)

# %%

fig, ax = plt.subplots(figsize=(5, 2.6))
product = [("x", "(n, d)", 3, 1.5, BLACK), "·"]
for name, color in (("W_query", QUERY), ("W_key", KEY), ("W_value", VALUE)):
    product.append((name, "(d, d)", 1.5, 1.5, color))
product.append("=")
for name, color in (("query", QUERY), ("key", KEY), ("value", VALUE)):
    product.append((name, "(n, d)", 3, 1.5, color))
draw_matrices(ax, 0, product)
ax.set(xlim=(-0.1, 11.8), ylim=(-1.7, 2.2))
fig.set_label(
    "x, (n, d), times a matrix that consists of W_query, W_key and W_value side by side, each "
    "(d, d), equals query, key and value side by side, each (n, d)."
)

# %%
# *Figure 2d.* One product with three matrices side by side makes query, key and value side by
# side. Each column of the result needs only the column of the matrix above which it stands.
#
# The single matrix gives the same numbers as the three matrices, because every column of the
# product is computed from one column of the matrix. GPT-2 stores ``c_attn`` as (in, out), like
# version 1, so whoever loads its weights into an ``nn.Linear`` has to transpose them.
#
# Takeaways
# ---------
# * A formula becomes a layer as a subclass of ``nn.Module``: ``__init__`` creates parameters,
#   ``forward`` computes with them, and an optimiser is given ``layer.parameters()``.
# * Transpose the last two dimensions of the keys, and take the width from the last one. Code that
#   runs may still be wrong, so compare a batch with its sentences one by one.
#
# *From memory:* close this page, and write ``SelfAttentionV2`` and the function that it calls. Then
# compare your code with the page: are the three ``nn.Linear`` made in ``__init__``, after
# ``super().__init__()``? Does a batch give what its sentences give alone?
#
# *Where next:* :doc:`the scale </gallery/core/plot_3_scaling_variance>`, with the reason for the
# :math:`\sqrt k`.
#
# You can now write attention as a layer for any number of sentences, and say how torch finds what
# it trains. The exercise to do next is :ref:`to copy a layer <ex-copy-layer>`.

plt.show()

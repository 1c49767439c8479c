r"""
.. lesson:: FlashAttention
   :minutes: 45
   :extra: plot
   :needs: core/plot_3 core/plot_4
   :tasks: merge-blocks
   :search: FlashAttention; flash attention; fused kernel

FlashAttention and the online softmax: attention without the matrix of weights
==============================================================================

How can attention be exact if the matrix of its weights is never in memory?

By reading the keys in blocks. For each query, we keep three things from the blocks read so far: the
highest score, the sum of the exponentials of the scores, and the sum of the values, each multiplied
by the exponential of its score. In every exponential, the highest score so far is subtracted from
the score. So when a later block holds a higher score, both sums are rescaled. After the last block,
the second sum divided by the first is the context vector itself, up to rounding, and not an
approximation. Rescaling the sum of the exponentials in this way is the :term:`online softmax` of
:cite:t:`milakov2018online`. :term:`FlashAttention` does the same with the sum of the values.

You need the lesson on :doc:`masks </gallery/core/plot_4_masks>` and, for the gradients, the
Jacobian of the softmax from the lesson on :doc:`the scale </gallery/core/plot_3_scaling_variance>`.
Running the page takes about ten seconds. Afterwards you can write attention in blocks, with its
backward pass, and say how much memory attention takes with blocks and without. You can also say
what a fused kernel saves, what linear attention saves beyond this, and at what price.
"""

import math

import matplotlib.pyplot as plt
import torch
from torch.nn.functional import elu
from torch.nn.functional import scaled_dot_product_attention as torchs_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from attention import causal_mask, online_softmax_attention, scaled_dot_product_attention
from attention.plotting import BLACK, BLUE, DIVERGING, GREEN, ORANGE, PURPLE, use_style

torch.manual_seed(0)
use_style()

# %%
# The matrix is what costs memory
# -------------------------------
# The memory for queries, keys, values and context vectors grows in proportion to the length n of
# the text, and the memory for the matrix of weights in proportion to n². Here are the bytes of
# both, for one head of width 64 and one text in float32:

k = 64
print("tokens   Q, K, V, context   weights")
for n in (512, 2_048, 8_192):
    vectors, matrix = 4 * 4 * n * k, 4 * n * n
    print(f"{n:6,} {vectors / 2**20:14.1f} MiB {matrix / 2**20:5.0f} MiB", end="")
    print(f"   {matrix / vectors:4.0f} times as much")

# %%
# A layer that spells the formula out holds such a matrix for each head of each text, and for a
# moment even two such matrices, the scores and the weights. The vectors are needed in any case. The
# matrix is not, because a layer hands on nothing but the context vectors, and each row of weights
# is used only once, to mix the values.
#
# Tiling and the online softmax
# -----------------------------
# Attention consists of two products of matrices, with a :term:`softmax` between them. Computing a
# product of matrices in blocks is called *tiling*. The first product, of queries and keys, is easy
# to tile, because a block of keys gives a few columns of the scores. So is the second, of weights
# and values, because a mixture of values is a sum, and a sum can be taken block by block.
#
# The obstacle is the softmax between the two products, because the denominator of every weight
# needs the scores of *all* keys. A stable softmax even reads each row of scores twice before it can
# divide: once to find the highest score, which it subtracts so that no exponential overflows, and
# once to add up the exponentials. The :term:`online softmax` removes this obstacle. The
# :term:`fused kernel` of this lesson, FlashAttention, rests on both tiling and the online softmax.
#
# Suppose we have read some of the scores :math:`s_j` of one query. We have kept the largest of
# these scores and two sums: the total of their exponentials, and the sum of the values, each
# multiplied by the exponential of its score. In every exponential, the largest score is subtracted:
#
# .. math::
#    \mathrm{total} &= \sum_{j\ \mathrm{read}} e^{s_j - \mathrm{largest}} \\
#    \mathrm{mixed} &= \sum_{j\ \mathrm{read}} e^{s_j - \mathrm{largest}}\, v_j
#
# (In the papers on FlashAttention, m is the largest score, ℓ the total and O the mixed values,
# which the first version of FlashAttention divides by ℓ after every block. On this page, m is the
# number of keys.)
#
# Now a block of new scores arrives, and one of them may exceed the largest so far. If it does, the
# number that was subtracted in every exponential of both sums is no longer the maximum. But all
# these exponentials are wrong by the same factor. So the two sums can be corrected without the
# scores from which they were made:
#
# .. math::
#    \mathrm{largest}' &= \max(\mathrm{largest},\ \text{the new } s_j) \\
#    \mathrm{total}' &= e^{\mathrm{largest} - \mathrm{largest}'}\, \mathrm{total}
#       + \sum_{j\ \mathrm{new}} e^{s_j - \mathrm{largest}'} \\
#    \mathrm{mixed}' &= e^{\mathrm{largest} - \mathrm{largest}'}\, \mathrm{mixed}
#       + \sum_{j\ \mathrm{new}} e^{s_j - \mathrm{largest}'}\, v_j
#
# Since :math:`e^{a}\, e^{b} = e^{a + b}`, the corrected sums are again what the definition says,
# now with the new scores among those read. The definition therefore holds after every block. After
# the last one, :math:`\mathrm{mixed} / \mathrm{total}` is the context vector, for blocks of any
# size and in any order. No exponent is ever positive, so nothing overflows.
#
# Six scores by hand
# ------------------
# We take the sentence and the matrices of :doc:`the first lesson
# </gallery/core/plot_1_qkv_derivation>` and compute the context vector of its second word,
# "journey". The six scaled scores of this word are read one after the other, in blocks of one key.
# The column headed "factor" gives :math:`e^{\mathrm{largest} - \mathrm{largest}'}`, by which the
# old sums are multiplied.
#
# .. predict:: how-often-corrected
#
#    How often do the sums have to be corrected, so that the factor is neither 0 nor 1?
#
#    With each new word, so five times : ``sum(0 < step[2] < 1 for step in steps) == 5``
#        Only a score above all earlier ones makes a correction necessary.
#    Once : ``sum(0 < step[2] < 1 for step in steps) == 1``
#        The second word that is read, "journey", has the largest score.
#    Never : ``sum(0 < step[2] < 1 for step in steps) == 0``
#        This would be so if the first word had the largest score.

words = ["Your", "journey", "starts", "with", "one", "step"]
x = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)  # (6, 3)
W_query = torch.tensor([[0.296112, 0.516562], [0.251671, 0.688557], [0.073972, 0.866522]])  # (3, 2)
W_key = torch.tensor([[0.136580, 0.102479], [0.184056, 0.726447], [0.315254, 0.687107]])  # (3, 2)
W_value = torch.tensor([[0.075635, 0.196638], [0.316412, 0.401740], [0.118568, 0.827395]])  # (3, 2)
scores = x[1] @ W_query @ (x @ W_key).T / 2**0.5  # (6,)
values = x @ W_value  # (6, 2)

steps = []
largest, total, mixed = -math.inf, 0.0, torch.zeros(2)  # (2,)
print("word     score  largest  factor  total   mixed")
for word, score, value in zip(words, scores.tolist(), values, strict=True):
    higher = max(largest, score)
    factor, exponential = math.exp(largest - higher), math.exp(score - higher)
    total = factor * total + exponential
    mixed = factor * mixed + exponential * value  # (2,)
    largest = higher
    steps.append((score, largest, factor, total))
    print(f"{word:8}{score:.4f} {largest:8.4f} {factor:7.4f} {total:6.4f}", end="")
    print("  {:6.4f} {:6.4f}".format(*mixed))
by_softmax = scores.softmax(dim=-1) @ values  # (2,)
print("mixed / total  {:.4f} {:.4f}".format(*(mixed / total)))
print("with a softmax {:.4f} {:.4f}".format(*by_softmax))
assert torch.allclose(mixed / total, by_softmax)

# %%
# The first word sets the maximum, and its factor of 0 changes nothing, because the sums are still
# empty. "journey" raises the maximum. So the total, which was 1, first shrinks by the factor in the
# row of "journey". Then 1 is added, the exponential of the new maximum minus itself. No later word
# scores higher, so all further factors are 1.
#
# The online softmax in twenty lines of PyTorch
# ---------------------------------------------
# For n queries at once, largest and total are columns, and mixed is a matrix. Where a mask forbids
# a key, the score becomes −∞, and its exponential is 0. This needs care at the start. Suppose that
# largest began at −∞ and that a query may attend to nothing in the first block. Its largest score
# would then still be −∞, and −∞ minus −∞ is NaN. So largest starts at the lowest finite number
# instead.


def block_scores(query, key, allowed, block):
    """Return the scaled scores of one block of keys, −∞ where a query may not attend."""
    # (n, k) @ (k, keys of the block), where the last block may be shorter
    scores = query @ key[block].T / query.shape[-1] ** 0.5
    return scores if allowed is None else scores.masked_fill(~allowed[:, block], -math.inf)


def attend_in_blocks(query, key, value, allowed=None, block_size=64):
    """Return the context of each query and the logarithm of the sum of its exponentials."""
    n, v = len(query), value.shape[-1]
    largest = query.new_full((n, 1), torch.finfo(query.dtype).min)  # (n, 1)
    total, mixed = query.new_zeros(n, 1), query.new_zeros(n, v)  # (n, 1), (n, v)
    for start in range(0, len(key), block_size):
        block = slice(start, start + block_size)
        scores = block_scores(query, key, allowed, block)  # n rows, one column per key
        higher = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))  # (n, 1)
        shrink, exponentials = (largest - higher).exp(), (scores - higher).exp()
        total = shrink * total + exponentials.sum(dim=-1, keepdim=True)  # (n, 1)
        mixed = shrink * mixed + exponentials @ value[block]  # (n, v)
        largest = higher
    total = total.masked_fill(total == 0, 1.0)  # (n, 1), for a query that may attend to nothing
    return mixed / total, largest + total.log()  # (n, v), (n, 1)


# %%
# Besides the context vectors, ``attend_in_blocks`` returns :math:`\mathrm{largest} + \ln\,
# \mathrm{total}` for each query. This is :math:`\ln \sum_j e^{s_j}`, the *log-sum-exp* of the row
# of scores, which the backward pass will need. We compare the context vectors with those of the
# formula in float64, for blocks of several sizes. We do so without a mask, with a causal mask, and
# with a mask under which the fourth query may attend to nothing. The package has the same loop, for
# any leading dimensions and any mask, in :func:`attention.online_softmax_attention`.

n, m, k, v = 50, 70, 8, 5
query, key, value = (
    torch.randn(*size, dtype=torch.float64) for size in ((n, k), (m, k), (m, v))
)  # (n, k), (m, k), (m, v)
with_empty = torch.rand(n, m) < 0.5  # (n, m)
with_empty[3] = False
masks = {"no mask": None, "causal": causal_mask(m)[:n], "an empty row": with_empty}
differences = {}
print("largest difference, for blocks of 1, 7, 64 and 100 keys; last, the package's")
for name, allowed in masks.items():
    formula, _ = scaled_dot_product_attention(query, key, value, allowed)  # (n, v), (n, m)
    ways = [attend_in_blocks(query, key, value, allowed, size)[0] for size in (1, 7, 64, 100)]
    ways.append(online_softmax_attention(query, key, value, allowed, block_size=7))
    differences[name] = [(way - formula).abs().max().item() for way in ways]
    print(f"{name:13}", *(f"{each:.0e}" for each in differences[name]))
    assert max(differences[name]) < 1e-14
empty_context = attend_in_blocks(query, key, value, with_empty)[0][3]  # (v,)
print("context of the query that may attend to nothing:", empty_context.tolist())

# %%
# Here is the same loop in pictures, for 8 queries and 24 keys in blocks of 4. One query is followed
# from block to block:

# sphinx_gallery_start_ignore


def draw_blocks(query, key, value, row, block_size):
    """Draw the scores in blocks, and what one query has kept after each of them."""
    n, m = len(query), len(key)
    ends = list(range(block_size, m + 1, block_size))
    # What is kept after some blocks is what the definition gives for their keys alone.
    scores = query @ key.T / query.shape[-1] ** 0.5  # (n, m)
    largest = [scores[row, :end].max().item() for end in ends]
    total = [
        (scores[row, :end] - top).exp().sum().item() for end, top in zip(ends, largest, strict=True)
    ]
    context = torch.stack([attend_in_blocks(query, key[:end], value[:end])[0][row] for end in ends])
    fig, axes = plt.subplots(4, figsize=(5, 7.6), sharex=True, height_ratios=(2.4, 1, 1, 1.3))
    limit = scores.abs().max().item()
    options = {"vmin": -limit, "vmax": limit, "aspect": "auto", "extent": (0, m, n - 0.5, -0.5)}
    shown = axes[0].imshow(scores.numpy(), cmap=DIVERGING, **options)
    fig.colorbar(shown, ax=axes[0], location="top", aspect=40, label="scaled score", pad=0.14)
    axes[0].add_patch(plt.Rectangle((0, row - 0.5), m, 1, fc="none", ec=BLACK, lw=2))
    for number, end in enumerate(ends, 1):
        name = f"block {number}" if number == 1 else str(number)
        axes[0].text(end - block_size / 2, -0.7, name, ha="center", va="bottom", fontsize=10)
        for ax in axes:
            ax.axvline(end, color=BLACK, lw=1, ls=":")
    axes[0].set(ylabel="query", yticks=range(n))
    for ax, numbers, name, style, color in (
        (axes[1], largest, "largest", "o", ORANGE),
        (axes[2], total, "total", "s", GREEN),
    ):
        ax.plot(ends, numbers, style, color=color)
        ax.plot(ends, numbers, color=color, drawstyle="steps-post")
        ax.set(ylabel=name, ylim=(0, 1.2 * max(numbers)))
    for i, (color, marker) in enumerate(((BLUE, "o"), (PURPLE, "^"))):
        label = f"number {i}"
        axes[3].plot(ends, context[:, i], marker, color=color, label=label)
        axes[3].plot(ends, context[:, i], color=color, drawstyle="steps-post")
        axes[3].axhline(context[-1, i], color=color, lw=1, ls="--")
    low, high = context.min().item(), context.max().item()
    axes[3].set(ylabel="mixed / total", xlabel="keys read", xlim=(0, m + 0.3))
    axes[3].set(ylim=(low - 0.1 * (high - low), high + 0.5 * (high - low)))
    axes[3].set_xticks([0, *ends])
    axes[3].legend(ncols=2, loc="upper right", fontsize=9)
    return fig, largest, total


# sphinx_gallery_end_ignore
# With this seed, query 2 meets its largest score late.
draws = torch.Generator().manual_seed(2182)
drawn_query = 1.5 * torch.randn(8, 4, generator=draws)  # (8, 4)
drawn_key = torch.randn(24, 4, generator=draws)  # (24, 4)
drawn_value = torch.randn(24, 2, generator=draws)  # (24, 2)
# The downloadable script holds the function that draws.
fig, drawn_largest, drawn_total = draw_blocks(drawn_query, drawn_key, drawn_value, 2, 4)
fig.set_label(
    "Above, scores of 8 queries and 24 keys as colours, cut into six blocks of four columns that "
    "are read from left to right; query 2 is framed. Below, for that query after each block: the "
    "largest score so far, a staircase that rises at blocks 3 and 5; the total, which falls at "
    "these blocks and grows at all others; and mixed over total, two numbers that reach their "
    "dashed final values at the last block."
)

# %%
# *Figure 1.* Scores in the order in which the blocks are read, and what is kept for the framed
# query after each block. In this example, the total falls wherever the largest score rises, because
# every exponential in the total is then taken relative to the new maximum. After each block, the
# quotient mixed / total is the exact context vector of the keys read so far.
#
# dQ, dK, dV by hand
# ------------------
# For a forward pass we are done, but training also needs a :term:`backward pass`. For this,
# autograd keeps intermediate results of every step. In our loop these include the exponentials of
# every block, so all n · m of them are in memory again, only in pieces. The remedy is to keep
# nothing of a block and to compute its weights a second time in the backward pass. With the
# log-sum-exp, which is written lse here, this takes a single step, since
#
# .. math::
#    w_{ij} &= e^{s_{ij} - \mathrm{lse}_i} \\
#    \mathrm{lse}_i &= \ln \sum_j e^{s_{ij}} .
#
# Let C be the matrix of context vectors, one row per query, and dC the gradient of the loss with
# respect to C, which the later layers hand back. In the same way, dQ, dK and dV are the gradients
# with respect to Q, K and V, and so on. The context vectors are a product of weights and values,
# and the scores are a product of queries and keys, divided by :math:`\sqrt k`. So four of the
# gradients follow from the rule that holds for every product of matrices:
#
# .. math::
#    \mathrm{d}V &= \mathrm{weights}^\top\, \mathrm{d}C \\
#    \mathrm{d}w_{ij} &= \mathrm{d}C_i \cdot v_j \\
#    \mathrm{d}Q &= \mathrm{d}\mathrm{scores}\, K / \sqrt k \\
#    \mathrm{d}K &= \mathrm{d}\mathrm{scores}^\top\, Q / \sqrt k
#
# The step from the gradient of the weights to that of the scores is still missing. In this step,
# the gradient of each row of weights is multiplied by the :term:`Jacobian` of the softmax, which is
# :math:`\mathrm{diag}(w) - w w^\top` for a row w of weights. This needs a sum over the whole row,
# which looks like the old obstacle. But the sum is a dot product of two vectors that we already
# have, the context vector of the query and its gradient:
#
# .. math::
#    \mathrm{d}s_{ij} &= w_{ij} \left( \mathrm{d}w_{ij}
#    - \sum_{j'} w_{ij'}\, \mathrm{d}w_{ij'} \right) \\
#    \sum_{j'} w_{ij'}\, \mathrm{d}w_{ij'} &= \mathrm{d}C_i \cdot \sum_{j'} w_{ij'}\, v_{j'}
#    = \mathrm{d}C_i \cdot C_i
#
# So a forward pass has to keep Q, K, V, C and one log-sum-exp per query. From these and dC, the
# backward pass can be computed block by block as well. This is the backward pass of FlashAttention
# (:cite:t:`dao2022flashattention`, section 3.1 and appendix B.2), written for one head:


class AttentionInBlocks(torch.autograd.Function):
    """Attention that keeps only the context and the log-sum-exp for its backward pass."""

    @staticmethod
    def forward(ctx, query, key, value, allowed, block_size):
        context, lse = attend_in_blocks(query, key, value, allowed, block_size)
        ctx.save_for_backward(query, key, value, allowed, context, lse)
        ctx.block_size = block_size
        return context

    @staticmethod
    def backward(ctx, d_context):
        query, key, value, allowed, context, lse = ctx.saved_tensors
        d_query, d_key, d_value = (torch.zeros_like(each) for each in (query, key, value))
        shared = (d_context * context).sum(dim=-1, keepdim=True)  # one dC_i · C_i per query
        for start in range(0, len(key), ctx.block_size):
            block = slice(start, start + ctx.block_size)
            weights = (block_scores(query, key, allowed, block) - lse).exp()
            d_weights = d_context @ value[block].T  # n rows, one column per key
            d_scores = weights * (d_weights - shared)
            d_query += d_scores @ key[block] / query.shape[-1] ** 0.5
            d_key[block] = d_scores.T @ query / query.shape[-1] ** 0.5
            d_value[block] = weights.T @ d_context
        return d_query, d_key, d_value, None, None


def gradients(attend, allowed):
    """Return dQ, dK and dV for one gradient of the context."""
    leaves = [each.clone().requires_grad_() for each in (query, key, value)]
    return torch.autograd.grad(attend(*leaves, allowed), leaves, d_context)


d_context = torch.randn(n, v, dtype=torch.float64)  # (n, v)
gradient_errors = {}
print("relative difference from autograd's, in float64")
for name, allowed in masks.items():
    by_hand = gradients(lambda *inputs: AttentionInBlocks.apply(*inputs, 16), allowed)
    by_autograd = gradients(lambda *inputs: scaled_dot_product_attention(*inputs)[0], allowed)
    gradient_errors[name] = [
        ((ours - theirs).norm() / theirs.norm()).item()
        for ours, theirs in zip(by_hand, by_autograd, strict=True)
    ]
    print(f"{name:13} dQ {{:.0e}}, dK {{:.0e}}, dV {{:.0e}}".format(*gradient_errors[name]))
    assert max(gradient_errors[name]) < 1e-14

# %%
# The price is arithmetic: the scores are computed twice. For the forward and the backward pass
# together, the formula takes six products of matrices (two forward and four backward), whereas our
# blocks take seven.
#
# Peak memory, measured
# ---------------------
# How much memory does attention hold at its worst moment? We compare four ways to compute it: the
# formula, our loop under autograd, our loop with the backward pass by hand, and torch's fused
# kernel. After each operation of torch we count the bytes of all tensors that are alive, and we
# keep the largest sum. The inputs are not counted, as they are the same in all four cases.
#
# This is a count of tensors, so buffers *inside* an operation are not in it. Torch's fused kernel
# is a single operation, so its working memory is missing from the count. Our loops consist of many
# operations, so their working memory is included.


class PeakBytes(TorchDispatchMode):
    """Count the bytes of all tensors that were made inside and are alive; keep the largest sum."""

    def __init__(self):
        super().__init__()
        self.alive, self.peak = WeakIdKeyDictionary(), 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count(args, made=False)  # a result may be a view of what was there before
        result = func(*args, **(kwargs or {}))
        self.count(result, made=True)
        self.peak = max(self.peak, sum(self.alive.values()))
        return result

    def count(self, tensors, made):
        for each in tree_leaves(tensors):
            if isinstance(each, torch.Tensor):
                memory = each.untyped_storage()
                self.alive.setdefault(memory, memory.nbytes() if made else 0)


def peaks(attend, n, k=64):
    """Return the peak bytes of a forward pass, and of one followed by a backward pass."""
    tensors = torch.randn(3, n, k).unbind(0)
    with torch.no_grad(), PeakBytes() as forward:
        attend(*tensors)
    leaves = [each.clone().requires_grad_() for each in tensors]
    with PeakBytes() as both:
        attend(*leaves).sum().backward()
    return forward.peak, both.peak


WAYS = {
    "formula": lambda *inputs: scaled_dot_product_attention(*inputs)[0],
    "blocks, autograd": lambda *inputs: attend_in_blocks(*inputs)[0],
    "blocks, by hand": lambda *inputs: AttentionInBlocks.apply(*inputs, None, 64),
    # a batch of one text and one head, since for inputs of two axes torch computes the formula
    "torch's kernel": lambda *inputs: torchs_kernel(*(each[None, None] for each in inputs)),
}
LENGTHS = (256, 512, 1_024, 2_048)
measured = {name: [peaks(attend, n) for n in LENGTHS] for name, attend in WAYS.items()}
print(f"peak at n = {LENGTHS[-1]:,}   forward   with backward")
for name, each in measured.items():
    forward, both = each[-1]
    print(f"{name:17} {forward / 2**20:8.2f} MiB {both / 2**20:9.2f} MiB")
last = zip(measured["formula"][-1], measured["blocks, by hand"][-1], strict=True)
saved = [formula / by_hand for formula, by_hand in last]
print("formula over blocks by hand: {:.0f} and {:.0f} times as much".format(*saved))

# %%

fig, axes = plt.subplots(2, figsize=(5, 6.6), sharex=True, sharey=True)
looks = ((BLUE, "o-", 5), (ORANGE, "s-", 10), (GREEN, "^-", 5), (PURPLE, "v:", 5))
titles = "forward pass, without gradients", "forward and backward pass"
for i, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    for (name, each), (color, style, size) in zip(measured.items(), looks, strict=True):
        numbers = [pair[i] / 2**20 for pair in each]
        ax.loglog(LENGTHS, numbers, style, color=color, ms=size, mfc="white", label=name)
    ax.set(ylabel="peak, MiB", title=title)
    ax.set_xticks(LENGTHS, [f"{n:,}" for n in LENGTHS])
    ax.minorticks_off()
axes[0].legend(fontsize=9)
axes[1].set_xlabel("tokens in the text, n")
fig.set_label(
    "Peak bytes against the length of the text, both axes logarithmic. Forward, the formula rises "
    "with the square of the length, and blocks and torch's kernel with the length. With the "
    "backward pass, blocks under autograd rise with the square as well, and only blocks with the "
    "backward pass by hand and torch's kernel rise with the length."
)

# %%
# *Figure 2.* Peak bytes of tensors, without the inputs, for one head of width 64 in float32 and
# blocks of 64 keys. Torch's kernel is drawn without its own buffers. In the upper panel the lines
# of our two loops coincide.
#
# Without gradients the loop is enough. With gradients, the peak of the loop under autograd grows
# with n², as that of the formula does. Only with the backward pass by hand does the peak of the
# loop grow with n alone. The two ratios in the last printed line come from one run at one length,
# and they roughly double when n doubles.
#
# What a real kernel does beyond this
# -----------------------------------
# Our loop saves memory, and we do not claim that it saves time. What follows is about graphics
# cards. It is taken from the papers that are cited here, and was not measured on this page.
#
# A graphics card has a large memory and, next to the units that do the arithmetic, a small fast
# one. The formula writes the scores and the weights to the large memory and reads them back. For
# long texts, most of the formula's time goes into this traffic rather than into the arithmetic.
# FlashAttention (:cite:t:`dao2022flashattention`) is *one* program for the whole computation. It
# cuts both the queries and the keys into blocks, and their sizes are chosen so that a tile of
# scores is made, used and forgotten within the fast memory.
#
# How much traffic does this save? Let us count the numbers that are moved to and from the large
# memory. For the formula, this count is of the order of nk + n². For FlashAttention, it is of the
# order of n²k² divided by the size of the fast memory (theorem 2, for a fast memory of k to nk
# numbers). This is less than for the formula as long as the fast memory holds many more numbers
# than k², which is 4,096 for k = 64. This is where the speed of FlashAttention comes from. It does
# not come from the arithmetic, because FlashAttention does no less of it than the formula, and in
# the backward pass even more.
#
# In the first version of FlashAttention the outer loop ran over keys, as ours does, so the sums of
# a query were written to the large memory and read again for each block. In FlashAttention-2
# (:cite:t:`dao2024flashattention2`, section 3) the outer loop runs over queries and the inner loop
# over keys. The sums of a block of queries then stay in the fast memory until they are done.
# Besides, blocks of queries do not depend on each other, so they can run in parallel, and a single
# long text can occupy a whole card. Like our code, FlashAttention-2 divides by the total once at
# the end, and keeps one log-sum-exp instead of a maximum and a total. Under a causal mask, it skips
# the tiles in which every key is later than every query.
#
# The idea itself doesn't depend on a kernel written by hand. :cite:t:`rabe2021memory` compute exact
# attention in code for JAX. Its memory grows as the square root of n, if inputs and outputs are not
# counted, and they report a running time within a few percent of that of the standard
# implementation.
#
# Linear attention: what one gets by giving the softmax up
# --------------------------------------------------------
# All of this saves memory and traffic, while the arithmetic still grows with n². To make the
# arithmetic grow more slowly, something has to be given up: :term:`sliding-window attention` gives
# up the distant keys, and :term:`linear attention` gives up the softmax.
# :cite:t:`katharopoulos2020transformers` replace :math:`e^{s_{ij}}` by a dot product
# :math:`\varphi(q_i) \cdot \varphi(k_j)` of positive features. They take :math:`\varphi(z) =
# \mathrm{elu}(z) + 1` number by number, which is :math:`z + 1` for positive z and :math:`e^z`
# otherwise. Now no exponential separates the two products of attention, and the brackets can be
# moved:
#
# .. math::
#    \mathrm{context}_i = \frac{\sum_j \varphi(q_i) \cdot \varphi(k_j)\, v_j}
#    {\sum_j \varphi(q_i) \cdot \varphi(k_j)}
#    = \frac{\varphi(q_i) \left(\varphi(K)^\top V\right)}
#    {\varphi(q_i) \cdot \sum_j \varphi(k_j)} .
#
# On the right, all keys and values of a text have been summed up in one matrix of shape (width of
# :math:`\varphi`, v) and one vector. Both are the same for every query, and their sizes do not
# depend on n, so the cost grows with n. The price is that so little is kept of a text.
#
# The weights show what this means. Without a mask they are :math:`\varphi(Q)\, \varphi(K)^\top`
# with each row divided by its sum. The :term:`rank` of such a product is at most the width of
# :math:`\varphi`, and dividing the rows doesn't change that. The softmax has no such limit. It
# takes the exponential of each score, and even if the matrix of scores has a low rank, the matrix
# of their exponentials can have full rank. We measure the rank of both kinds of weights on the same
# tokens, and that of linear attention under a causal mask, too.


def linear_attention(query, key, value):
    """Mix the values by products of positive features, in time that grows with n."""
    query, key = elu(query) + 1, elu(key) + 1
    # (k, v) and (k, 1), the same for every query
    mixed, total = key.T @ value, key.sum(dim=0)[:, None]
    return query @ mixed / (query @ total)  # one context per query


def linear_weights(query, key):
    """Return the weights of linear attention, which it never needs."""
    products = (elu(query) + 1) @ (elu(key) + 1).T  # (n, n)
    return products / products.sum(dim=-1, keepdim=True)


n = 64
ranks, singular_values = {}, {}
columns = "linear", "softmax", "causal", "read back"
print(f"rank of the weights of {n} tokens; causal and read back: linear, under a causal mask")
print("width", *(f"{name:>8}" for name in columns))
for k in (4, 8, 16, 32):
    query, key, value = torch.randn(3, n, k, dtype=torch.float64)  # (n, k), (n, k), (n, k)
    linear = linear_weights(query, key)  # (n, n)
    assert torch.allclose(linear @ value, linear_attention(query, key, value))
    causal = linear.tril() / linear.tril().sum(dim=-1, keepdim=True)  # (n, n)
    softmax = (query @ key.T / k**0.5).softmax(dim=-1)  # (n, n)
    for name, weights in {"linear": linear, "softmax": softmax, "causal": causal}.items():
        ranks[name, k] = torch.linalg.matrix_rank(weights).item()
        singular_values[name, k] = torch.linalg.svdvals(weights)  # (n,)
    ranks["read back", k] = torch.linalg.matrix_rank(causal[n // 2 :, : n // 2]).item()
    print(f"{k:5}", *(f"{ranks[name, k]:8}" for name in columns))

# %%

fig, ax = plt.subplots(figsize=(5, 3.6))
for (name, k), color, style in (
    (("softmax", 8), BLUE, "o"),
    (("linear", 8), ORANGE, "^"),
    (("linear", 32), GREEN, "s"),
):
    shown = singular_values[name, k]  # (n,)
    ax.semilogy(range(1, n + 1), shown, style, ms=4, color=color, label=f"{name}, width {k}")
ax.set(xlabel="number of the singular value", ylabel="singular value", ylim=(1e-18, 4))
ax.legend(loc="center right")
fig.set_label(
    "Singular values of the weights of 64 tokens on a logarithmic axis. Those of the softmax at "
    "width 8 fall slowly and stay above rounding to the last. Those of linear attention drop to "
    "rounding after the 8th at width 8, and after the 32nd at width 32."
)

# %%
# *Figure 3.* Singular values of the weights without a mask. With linear attention, the number of
# singular values above zero is the width of the features, and all further ones are rounding errors.
#
# Under a causal mask, with which :cite:t:`katharopoulos2020transformers` generate text, the rank is
# full, because the weights are then a lower triangle whose diagonal is positive. What is narrow in
# this case is the memory: all that later tokens can still read of the earlier ones has passed
# through a state of fixed size, the sum of the :math:`\varphi(k_j)^\top v_j` so far. The last
# column (*read back*) is the rank of that part of the weights with which the second half of the
# text reads the first. It is a product again, so its rank is the width of :math:`\varphi`.
#
# What does a low rank cost, without a mask? Suppose that each of n tokens should attend to a
# partner of its own. The weights are then a permutation matrix, with a single 1 in every row and
# column. All n singular values of such a matrix are 1, so every matrix of rank r misses it by at
# least n − r in squared
# :term:`Frobenius norm` (:cite:t:`eckart1936approximation`). For n = 64 and features of width 8,
# this is 56, while the squared norm of the permutation matrix itself is 64. Softmax attention with
# keys of width 2 can come as near to the permutation as one likes, as :doc:`the lesson on the
# bottleneck </gallery/deeper/plot_8_multi_head_bottleneck>` shows, although only with queries or
# keys of large norm.
#
# So :term:`FlashAttention` and linear attention answer different questions: the first computes the
# same function with less memory, and the second computes a different function with less arithmetic.
#
# Takeaways
# ---------
# - How can attention be exact without the matrix of its weights? For each query, it keeps only the
#   largest score and two sums, and it rescales both sums whenever a larger score arrives.
# - Tiling cuts the products into blocks, and the online softmax takes the step between the products
#   block by block as well. Blocks may have any size and come in any order.
# - Besides Q, K and V, the backward pass needs the context vectors and one log-sum-exp per query.
#   It computes the weights again, which costs one more product of matrices.
# - A loop over blocks saves memory as it stands if no gradients are needed. In training autograd
#   keeps the exponentials of every block, so the loop needs a backward pass of its own.
# - Linear attention also saves arithmetic, but it computes another function. Without a mask the
#   rank of its weights is at most the width of its features. Under a causal mask the rank is full,
#   and the limit is that each row is read from a state of fixed size.
#
# *From memory:* close this page and write attention for one query that reads keys and values in
# blocks of two and keeps the largest score and two sums. Check it against a softmax, with the
# blocks in another order.
#
# *Where next:* :doc:`the lesson on the scale during training
# </gallery/deeper/plot_9e_scale_in_training>`, in which one learned number bounds the scores, or
# :doc:`the page on speed </speed>`, for what the fused kernel does to a training run.
#
# You can now compute exact attention without its matrix of weights, and say what a fused kernel
# keeps for the backward pass. The exercise to do next is to :ref:`merge two blocks
# <ex-merge-blocks>`.

plt.show()

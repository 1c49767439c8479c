"""
The transformer block: attention, residual connection, layer normalisation, feed-forward layer
==============================================================================================

What does a transformer add to attention, and what is each addition for?

Attention lets tokens exchange information, and a transformer block adds three things to it: a
feed-forward layer, which computes with what was exchanged, residual connections, which keep what a
token was and let gradients through a deep stack, and layer normalisation, which keeps the numbers
at one size. We write each part as a class of a few lines, check that the block equals torch's, and
then train it with one part left out at a time.

You need the heads and masks of :doc:`/gallery/core/plot_4_masks`, half an hour to read and about a
minute to run. Afterwards you can write a block from memory, and you know which part to suspect when
a deep model does not train.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn import functional as F

import attention
from attention.plotting import BLACK, BLUE, GREEN, ORANGE, PURPLE, use_style

use_style()
torch.manual_seed(0)

# %%
# The whole block in one diagram
# ------------------------------
# A batch of B texts enters, with n tokens per text and d numbers per token. A block returns the
# same shape as it takes, which is why blocks can be stacked.

# sphinx_gallery_start_ignore


def draw_block():
    """Draw the flow of data through a block, from top to bottom."""
    fig, ax = plt.subplots(figsize=(5, 8.8))
    ax.set(xlim=(0, 10), ylim=(17.9, 0))
    ax.axis("off")

    def box(x, y, width, text, color=BLUE):
        """Draw a part of the block, centred at (x, y)."""
        frame = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": color, "lw": 1.5}
        patch = plt.matplotlib.patches.FancyBboxPatch((x - width / 2, y - 0.4), width, 0.8, **frame)
        ax.add_patch(patch)
        ax.text(x, y, text, ha="center", va="center", fontsize=10.5)

    def arrow(start, end, shape=""):
        """Draw what flows from one part to the next, with its shape beside the arrow."""
        style = {"arrowstyle": "-|>", "color": "0.25", "lw": 1.3, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=end, xytext=start, arrowprops=style)
        x, y = (start[0] + end[0]) / 2 + 0.15, (start[1] + end[1]) / 2
        ax.text(x, y, shape, va="center", fontsize=10, color="0.25")

    def add(y):
        """Draw a sum on the residual connection."""
        ax.plot(1, y, "o", ms=19, mfc="white", mec=ORANGE, mew=2, zorder=3)
        ax.text(1, y, "+", ha="center", va="center", fontsize=14, zorder=4)

    ax.plot([1, 1], [0.75, 16.9], color=ORANGE, lw=4, solid_capstyle="butt", zorder=0)
    ax.text(1, 0.35, "x   (B, n, d)", ha="center", va="center", fontsize=11)
    ax.text(0.35, 5.5, "residual connection", rotation=90, ha="center", va="center", color=ORANGE)
    ax.text(0.35, 13, "residual connection", rotation=90, ha="center", va="center", color=ORANGE)
    arrow((1, 1.2), (4, 1.2))
    box(5.6, 1.2, 3, "LayerNorm", GREEN)
    for x, name in ((3.1, "W_query"), (5.6, "W_key"), (8.1, "W_value")):
        arrow((5.6, 1.7), (x, 2.85))
        box(x, 3.35, 2.1, name)
    ax.text(7, 2.05, "(B, n, d)", fontsize=10, color="0.25")
    arrow((3.1, 3.85), (3.1, 4.9), "(B, h, n, k)")
    arrow((5.6, 3.85), (5.6, 4.9), "(B, h, n, k)")
    arrow((8.1, 3.85), (8.1, 6.45), "(B, h, n, k)")
    box(4.35, 5.4, 4.6, "softmax(Q Kᵀ / √k)")
    arrow((4.35, 5.9), (4.35, 6.45), "weights (B, h, n, n)")
    box(5.6, 6.95, 7.1, "weights · V, per head")
    arrow((5.6, 7.45), (5.6, 8.2), "(B, h, n, k) → (B, n, h·k)")
    box(5.6, 8.7, 3, "W_out")
    arrow((5.6, 9.2), (5.6, 9.75), "(B, n, d)")
    arrow((5.6, 9.75), (1.3, 9.75))
    add(9.75)
    arrow((1, 11.1), (4, 11.1))
    box(5.6, 11.1, 3, "LayerNorm", GREEN)
    arrow((5.6, 11.6), (5.6, 12.2), "(B, n, d)")
    box(5.6, 12.7, 3, "W_1")
    arrow((5.6, 13.2), (5.6, 13.8), "(B, n, 4d)")
    box(5.6, 14.3, 3, "GELU")
    arrow((5.6, 14.8), (5.6, 15.4), "(B, n, 4d)")
    box(5.6, 15.9, 3, "W_2")
    arrow((5.6, 16.4), (5.6, 16.85), "(B, n, d)")
    arrow((5.6, 16.85), (1.3, 16.85))
    add(16.85)
    ax.text(1.2, 17.65, "block(x)   (B, n, d)", ha="center", va="center", fontsize=11)
    return fig


# sphinx_gallery_end_ignore
fig = draw_block()  # its drawing commands are in the script of this page
fig.set_label(
    "Flow chart from top to bottom. A thick line, the residual connection, leads from x to the "
    "block's result. Twice a branch leaves it and is added to it again. First branch: LayerNorm, "
    "W_query, W_key and W_value, softmax of the scores, weights times values, W_out. Second "
    "branch: LayerNorm, W_1, GELU, W_2. Shapes are written at the arrows."
)

# %%
# *Figure 1.* In a transformer block with its norms first, two branches read the tokens from the
# residual connection and add their result to it: attention, in which the tokens meet, and the
# feed-forward layer, in which each token is by itself. The h heads have the width k = d / h each.
#
# Attention, with its heads
# -------------------------
# This is the multi-head attention of the earlier lesson, now with biases, as in the models that
# one meets. Masks and dropout are left out on this page because they change nothing in the
# argument.


class MultiHeadAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.W_query, self.W_key, self.W_value = (nn.Linear(d, d) for _ in range(3))
        self.W_out = nn.Linear(d, d)

    def heads(self, x):
        """Return what the heads found, before W_out mixes it."""
        projected = self.W_query(x), self.W_key(x), self.W_value(x)
        q, k, v = (p.unflatten(-1, (self.h, -1)).transpose(-3, -2) for p in projected)
        weights = torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1)  # (..., h, n, n)
        return (weights @ v).transpose(-3, -2).flatten(-2)  # (..., n, d)

    def forward(self, x):
        return self.W_out(self.heads(x))


# %%
# Layer normalisation: every token at one size
# --------------------------------------------
# :term:`Layer normalisation <layer normalisation>` (:cite:t:`ba2016layer`) subtracts from each
# token the mean of its d numbers and divides by their standard deviation. A learned factor and a
# learned shift per number follow.


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


token = torch.tensor([1.0, 2.0, 3.0, 6.0])  # (4,)
print("mean", token.mean().item(), "variance", token.var(correction=0).item())
print("normalised        ", LayerNorm(4)(token).detach())
print("ten times the size", LayerNorm(4)(10 * token).detach())
assert torch.allclose(LayerNorm(4)(token), nn.LayerNorm(4)(token))

# %%
# By hand, the first number is (1 − 3) / √3.5. A token that is ten times as large comes out the
# same, so the part that reads it never has to deal with its size. Nothing is shared between tokens
# or between texts, and this is the difference to batch normalisation.
#
# The feed-forward layer: each token by itself
# --------------------------------------------
# A context vector is a weighted *sum* of values, and W_out is linear as well. Whoever wants to
# compute something with the sum needs a nonlinear function. In a :term:`feed-forward layer` it is,
# for example, :term:`GELU` (:cite:t:`hendrycks2016gaussian`), between two matrices. The inner width
# of 4d follows :cite:t:`vaswani2017attention`, who had ReLU in that place.


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return self.W_2(F.gelu(self.W_1(x)))


# %%
# The block: add, don't replace
# -----------------------------
# A :term:`residual connection` adds what went into a part to what comes out of it
# (:cite:t:`he2016deep`). Since the derivative of x + f(x) is 1 plus that of f, a gradient has a way
# past every part. The norm is placed either before each part, which is called :term:`pre-norm`, or
# after each sum, which is called :term:`post-norm`.


class Block(nn.Module):
    def __init__(self, d, h, norm_first=True):
        super().__init__()
        self.attention = MultiHeadAttention(d, h)
        self.norm1, self.norm2 = LayerNorm(d), LayerNorm(d)
        self.feed_forward = FeedForward(d)
        self.norm_first = norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.attention(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed_forward(x))


# %%
# To see whether this is the block that everyone uses, we copy torch's layer into the package's
# :class:`~attention.TransformerBlock`, copy that into ours, whose parameters come in the same
# order, and compare results and gradients.

d, h, k = 32, 2, 16
x = torch.randn(5, 7, d, requires_grad=True)  # (5, 7, d)
target = torch.randn(5, 7, d)  # (5, 7, d)
for norm_first in (True, False):
    torchs = nn.TransformerEncoderLayer(
        d, h, 4 * d, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first
    )
    for parameter in torchs.parameters():  # some start at 0 or 1, which would hide a slip
        nn.init.normal_(parameter, std=0.2)
    packages, ours = attention.TransformerBlock.from_torch(torchs), Block(d, h, norm_first)
    with torch.no_grad():
        for own, other in zip(ours.parameters(), packages.parameters(), strict=True):
            own.copy_(other)
    results, gradients = [], []
    for block in (ours, packages, torchs):
        x.grad = None
        results.append(block(x))
        F.mse_loss(results[-1], target).backward()
        gradients.append(x.grad)
    for result, gradient in zip(results, gradients, strict=True):
        assert torch.allclose(results[0], result, atol=1e-5)
        assert torch.allclose(gradients[0], gradient, atol=1e-7)
    for own, other in zip(ours.parameters(), packages.parameters(), strict=True):
        assert torch.allclose(own.grad, other.grad, atol=1e-6)
    for own, other in (
        (ours.attention.W_out, torchs.self_attn.out_proj),
        (ours.feed_forward.W_1, torchs.linear1),
    ):
        assert torch.allclose(own.weight.grad, other.weight.grad, atol=1e-6)
    name = "pre-norm " if norm_first else "post-norm"
    print(name, f"largest difference to torch: {(results[0] - results[2]).abs().max().item():.0e}")

for name, part in ours.named_children():
    print(f"{name:12} {sum(p.numel() for p in part.parameters()):5} parameters")

# %%
# The feed-forward layer holds 8d² of the block's numbers and attention 4d², apart from biases.
#
# Why W_out?
# ----------
# Concatenated, the heads have width d again, so what is the output projection for? A reader of
# Transformer Explainer misses it there (`poloclub/transformer-explainer, #71
# <https://github.com/poloclub/transformer-explainer/issues/71>`__). Split W_out into groups of k
# rows, one group per head, and the context is a sum of one contribution per head, on which
# :cite:t:`elhage2021mathematical` base their analysis:
#
# .. math:: [\mathrm{head}_1, \ldots, \mathrm{head}_h]\, W_\mathrm{out}
#           = \sum_{i=1}^{h} \mathrm{head}_i\, W_\mathrm{out}^{(i)}
#
# Without W_out, a head of width k reads all d numbers of a token but can change only the k numbers
# of its own slice. We measure which share of the first head's contribution, as a sum of squares,
# lies outside that slice.

layer = ours.attention
heads = layer.heads(x).unflatten(-1, (h, -1))  # (5, 7, h, k)
W_of_head = layer.W_out.weight.T.unflatten(0, (h, -1))  # (h, k, d)
contributions = torch.einsum("bnhk,hkd->bnhd", heads, W_of_head)  # (5, 7, h, d)
assert torch.allclose(contributions.sum(dim=-2) + layer.W_out.bias, layer(x), atol=1e-5)

identity = torch.eye(d).unflatten(0, (h, -1))  # (h, k, d)
for name, W in (("with W_out   ", W_of_head), ("without W_out", identity)):
    first = torch.einsum("bnk,kd->bnd", heads[:, :, 0], W[0])  # (5, 7, d)
    outside = first[..., k:].square().sum() / first.square().sum()
    print(name, f"share of head 1's contribution outside its slice: {outside:.2f}")

# %%
# With W_out, a head writes wherever its group of rows points, and several heads can write to the
# same place. This only matters with several heads, because with a single one W_value and W_out act
# as one product, as :ref:`a page on values <sphx_glr_gallery_deeper_plot_3_values_fold.py>`
# explains.
#
# A task that needs every part
# ----------------------------
# There are eight rooms, and in each of them a note names the room to go to next. The notes are
# drawn at random, so a note may even name its own room. Token i is room i together with its note,
# and the model answers three questions about a walker who starts there:
#
# * In which room is the walker after **two steps**? Attention must fetch the note of one other
#   room.
# * In which room after **three steps**? The second note can be looked for only when the first has
#   been read, so this needs a second block.
# * What is the **sum** of these two room numbers, modulo 8? This has to be computed from them.

ROOMS, SEEDS, STEPS = 8, 5, 120
QUESTIONS = ("two steps", "three steps", "sum")


def draw_walks(batch):
    """Draw notes, and look up the three answers for each starting room."""
    notes = torch.randint(ROOMS, (batch, ROOMS))
    two = notes.gather(1, notes)
    three = notes.gather(1, two)
    return notes, torch.stack([two, three, (two + three) % ROOMS], dim=-1)


class Walker(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.note, self.room = nn.Embedding(ROOMS, d), nn.Embedding(ROOMS, d)
        self.blocks = nn.Sequential(*blocks)
        self.norm = LayerNorm(d)  # with the norms first, nothing has normalised the last sum
        self.answers = nn.Linear(d, len(QUESTIONS) * ROOMS)

    def forward(self, notes):
        x = self.blocks(self.note(notes) + self.room.weight)  # (..., ROOMS, d)
        return self.answers(self.norm(x)).unflatten(-1, (-1, ROOMS))


# %%
# A part is left out by putting something that does nothing in its place: zeros for a branch, and
# the identity for a norm. A block without residual connections passes on what its parts return.


class Zeros(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


class NoResidual(Block):
    def forward(self, x):
        return self.feed_forward(self.norm2(self.attention(self.norm1(x))))


def build(depth=3, block=Block, norms=True, factor=1, norm_first=True, **parts):
    """Make a model; leave parts out, or multiply the blocks' initial matrices by a factor."""
    model = Walker([block(d, h, norm_first) for _ in range(depth)])
    parts |= {} if norms else {"norm1": nn.Identity, "norm2": nn.Identity}
    model.norm = model.norm if norms else nn.Identity()
    for one in model.blocks:
        for name, part in parts.items():
            setattr(one, name, part())
        for parameter in one.parameters():
            parameter.data *= factor if parameter.dim() == 2 else 1
    return model


def train(seed, steps=STEPS, lr=8e-3, **options):
    """Train for a short while; return the accuracy on new walks, per question."""
    torch.manual_seed(seed)
    model = build(**options)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        notes, answers = draw_walks(32)
        loss = F.cross_entropy(model(notes).flatten(0, 2), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        notes, answers = draw_walks(500)
        return (model(notes).argmax(dim=-1) == answers).float().mean(dim=(0, 1))  # (3,)


variants = {
    "three complete blocks": {},
    "without attention": {"attention": Zeros},
    "one block": {"depth": 1},
    "without feed-forward": {"feed_forward": Zeros},
    "without residual": {"block": NoResidual},
    "without norms": {"norms": False},
    "matrices × 2": {"factor": 2},
    "× 2, without norms": {"factor": 2, "norms": False},
}
accuracy = {
    name: torch.stack([train(seed, **options) for seed in range(SEEDS)])
    for name, options in variants.items()
}
print(" " * 22, *(f"{question:>17}" for question in QUESTIONS))
for name, a in accuracy.items():
    cells = [f"{q.mean():.2f} [{q.min():.2f}, {q.max():.2f}]" for q in a.T]
    print(f"{name:22}", *cells)

# %%

fig, ax = plt.subplots(figsize=(5, 5.6))
for q, (color, marker) in enumerate(((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))):
    for row, a in enumerate(accuracy.values()):
        height = torch.full((SEEDS,), row + 0.25 * (q - 1))  # (SEEDS,)
        label = QUESTIONS[q] if row == 0 else None
        ax.plot(a[:, q], height, marker, mfc="none", color=color, ms=6, mew=1.3, label=label)
ax.axvline(1 / ROOMS, color="0.5", lw=1, ls=":")
ax.set_yticks(range(len(accuracy)), accuracy)
ax.set(xlabel="accuracy on new walks (dotted: chance)", xlim=(0, 1.03))
ax.invert_yaxis()
ax.hlines([row + 0.5 for row in range(len(accuracy) - 1)], 0, 1.03, color="0.85", lw=0.8)
fig.legend(loc="outside upper center", ncols=3, handletextpad=0.1, columnspacing=1)
fig.set_label(
    "Accuracy of eight models on three questions, a dot per seed. Complete blocks answer all. One "
    "block answers two steps only; without feed-forward layers the sum is wrong; without residual "
    "connections nearly everything is. Norms matter only where matrices are doubled."
)

# %%
# *Figure 2.* Accuracy with each part left out in turn, with one mark per seed: circles for two
# steps, squares for three, triangles for the sum. All models take the same number of steps at the
# same learning rate, so the figure shows what is learned in this time and not what could be
# learned.
#
# * **Attention** brings notes to other tokens, so that without it each room knows its own note only
#   and the model is left with the most probable answers given that note.
# * **Depth**: one block fetches one note, and the second fetch needs the result of the first.
# * **The feed-forward layer** computes the sum, for without it the model finds both rooms and is
#   often wrong about their sum.
# * **Residual connections** matter most, because without them no question is answered reliably.
# * **Norms** do not help here at torch's initialisation. Where the initial matrices are twice as
#   large, however, complete blocks learn the task as before and those without norms do not.
#
# The feed-forward layer raises two more questions, since two thirds of the matrices go with it. Is
# it the size that is missed, or the GELU, and is the sum out of reach without it, or only learned
# more slowly? We try each with one seed, and for W_out, too, ask whether this task needs it.


class NoGelu(FeedForward):
    def forward(self, x):
        return self.W_2(self.W_1(x))


class NoOutput(MultiHeadAttention):
    def forward(self, x):
        return self.heads(x)


trials = {
    "feed-forward without GELU": train(0, feed_forward=lambda: NoGelu(d)),
    "no feed-forward, 500 steps": train(0, steps=500, lr=3e-3, feed_forward=Zeros),
    "no W_out": train(0, attention=lambda: NoOutput(d, h)),
}
for name, a in trials.items():
    print(f"{name:27} two steps {a[0]:.2f}, three steps {a[1]:.2f}, sum {a[2]:.2f}")

# %%
# The two matrices without GELU do not learn the sum either, so it is the nonlinear function that is
# missed. Given more steps at a lower rate, attention alone comes close to the sum, because its
# softmax is not linear. Without W_out nothing is lost on this task, where the feed-forward layer
# that follows can mix the slices, too.
#
# What does a token lose without its residual connection? The usual answer is the gradient, to which
# we come below, but here there is another one. Fresh attention weights are nearly equal, so every
# token receives nearly the same mixture, and without a residual connection the mixture is all that
# it keeps. We subtract the mean of all tokens, and print the mean cosine between two tokens of a
# text after each block: unrelated tokens have a cosine near 0 and identical ones have 1.

torch.manual_seed(0)
notes, answers = draw_walks(64)  # (64, ROOMS), (64, ROOMS, 3)
for name, kind in (("with residual connections", Block), ("without", NoResidual)):
    model, cosines = build(block=kind), []
    x = model.note(notes) + model.room.weight  # (64, ROOMS, d)
    for block in model.blocks:
        x = block(x)
        unit = F.normalize(x - x.mean(dim=(0, 1)), dim=-1)  # (64, ROOMS, d)
        pairs = (unit @ unit.mT).sum() - unit.square().sum()
        cosines.append(pairs.item() / (64 * ROOMS * (ROOMS - 1)))
    print(f"{name:25}", *(f"{cosine:6.2f}" for cosine in cosines))

# %%
# Without residual connections the rooms of a text become one and the same vector, and no later
# block can tell which of them asked. :cite:t:`dong2021attention` prove such a collapse for stacks
# of attention alone.
#
# Pre-norm or post-norm: where does LayerNorm go?
# -----------------------------------------------
# In section 3.1, :cite:t:`vaswani2017attention` write LayerNorm(x + Sublayer(x)), which is
# post-norm. The Annotated Transformer quotes this formula, implements x + sublayer(norm(x))
# instead, and says so only in a docstring, "Note for code simplicity the norm is first as opposed
# to last." Its readers keep asking which of the two is right (`harvardnlp/annotated-transformer,
# #13 <https://github.com/harvardnlp/annotated-transformer/issues/13>`__). Both are in use, and they
# are different functions: in pre-norm nothing but additions lies on the residual connection,
# whereas in post-norm every norm rescales it.
#
# :cite:t:`xiong2020layer` derive what follows at initialisation. In the last block, the gradient of
# post-norm keeps its size whatever the depth L, while that of pre-norm shrinks like
# :math:`1/\sqrt{L}`, and they conclude that post-norm needs a warm-up of the learning rate where
# pre-norm does not. We measure both with Xavier's initialisation, which their analysis assumes, and
# print means over five seeds.


def gradient_norms(**options):
    """Return the norm of the gradient of W_2 in fresh models, per seed and block."""
    norms = []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model = build(**options)
        for parameter in model.blocks.parameters():
            if parameter.dim() == 2:
                nn.init.xavier_normal_(parameter)
        F.cross_entropy(model(notes).flatten(0, 2), answers.flatten()).backward()
        norms.append([block.feed_forward.W_2.weight.grad.norm() for block in model.blocks])
    return torch.tensor(norms)


for L in (3, 9, 27):
    pre, post = (gradient_norms(depth=L, norm_first=first)[:, -1].mean() for first in (True, False))
    print(f"last of {L:2} blocks: pre-norm {pre:.3f}, times √L {pre * L**0.5:.3f}; ", end="")
    print(f"post-norm {post:.3f}")

# %%
# The gradient of pre-norm falls with the depth, although at these depths somewhat more slowly than
# :math:`1/\sqrt{L}`, and that of post-norm does not fall. Now the gradients of all blocks of one
# depth, and beside the two placements three blocks that lack the norms, the residual connections
# or both:

variants = {
    "no norms": ({"norms": False}, GREEN, "^"),
    "post-norm": ({"norm_first": False}, ORANGE, "s"),
    "pre-norm": ({}, BLUE, "o"),
    "norms, no residual": ({"block": NoResidual}, PURPLE, "D"),
    "neither": ({"block": NoResidual, "norms": False}, BLACK, "v"),
}
fig, (above, below) = plt.subplots(2, figsize=(5, 7), sharex=True)
for name, (options, color, marker) in variants.items():
    norms = gradient_norms(depth=12, **options)  # (SEEDS, 12)
    for ax in (above, below) if name in ("post-norm", "pre-norm") else (above,):
        ax.plot(range(1, 13), norms.median(dim=0).values, color=color, marker=marker, ms=5)
        ax.fill_between(range(1, 13), norms.amin(dim=0), norms.amax(dim=0), color=color, alpha=0.2)
above.set(yscale="log", ylabel="gradient norm of W_2")
below.set(ylim=(0, None), ylabel="the same, not logarithmic", xlabel="block", xticks=range(1, 13))
fig.legend(above.lines, variants, loc="outside upper center", ncols=2)
fig.set_label(
    "Gradient norms in twelve fresh blocks, two panels. Above, logarithmic: without norms they "
    "grow by orders of magnitude towards the first block, with neither norms nor residual "
    "connections they vanish there, and with norms they stay level. Below, the two placements "
    "alone: pre-norm falls slowly towards the last block, post-norm is larger there."
)

# %%
# *Figure 3.* The norm of the gradient in each of twelve fresh blocks, as the median of five seeds
# with a band from the least to the greatest. The upper panel has a logarithmic axis, and the lower
# one repeats post-norm (squares) and pre-norm (circles) on a linear one.
#
# The upper panel shows what each of the two devices does. With neither, the gradient vanishes on
# its way down to the first block. Residual connections alone let it through, but it grows, because
# each block adds a derivative of its own to the 1. Norms alone keep its size, and yet they can't
# keep the tokens different, as the cosines showed. This is why a deep stack needs both.
#
# Takeaways
# ---------
# * What does a transformer add to attention? A feed-forward layer, which computes with what was
#   fetched, for each token by itself; residual connections, which keep what a token was and give
#   gradients a way past every part; and layer normalisation, which keeps what each part reads at
#   one size.
# * Whether a part is missed depends on the task and on the initialisation. On ours the norms were
#   missed only when the initial matrices were larger, and W_out not at all.
# * W_out lets each head write to all d numbers of a token instead of its own slice.
# * Pre-norm and post-norm are different functions. At initialisation post-norm has the larger
#   gradients in its last block, and the difference grows with the depth.
#
# The package stacks these blocks in :class:`~attention.TransformerEncoder`, with masks and dropout.
#
# *Where next:* :doc:`/gallery/core/plot_8_sentiment_training`, where attention is trained on
# reviews.

plt.show()
